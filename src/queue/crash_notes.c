/*-------------------------------------------------------------------------
 *
 * crash_notes.c
 *	  Keeps in a file what workers are at, for the time after a crash of the server.
 *
 * A worker that ends by a signal takes the whole server down, and with it the shared memory, where
 * trouble.c keeps how many workers some work has ended.  Code of a user that does so would be tried
 * again after each restart, for ever.  So each worker writes into a file what it is at, and takes it
 * out when that has ended.  When the first launcher of a server starts, what it finds there was
 * under way when the server crashed: it counts as one more death of it, be it the cause or not.
 * What was not the cause succeeds soon, and its deaths are forgotten.
 *
 * The file is in a folder of the server for files that nobody misses, and is not synced: it
 * survives the death of processes.  It is an image of what is in shared memory.  Errors of the file
 * are ignored, as what it is for is no reason to stop any work.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>

#include "pgstat.h"
#include "storage/fd.h"

#include "../indextable.h"
#include "queue.h"

#define NOTES_FILE			"pg_stat_tmp/indextable.crash_notes"

/* Another one when CrashNotes gets another form. */
#define NOTES_MAGIC			0x17AB0001

static int	file = -1;			/* of this process; -1: it is not open */

static bool open_file(void);
static void put(void *part, Size size);
static void count_death(CrashNotes *notes, const Work *work);

static bool
open_file(void)
{
	if (file < 0)
		file = BasicOpenFile(NOTES_FILE, O_CREAT | O_RDWR | PG_BINARY);
	return file >= 0;
}

/* put: writes a part of what is in shared memory to its place in the file */
static void
put(void *part, Size size)
{
	int			before = errno;

	if (!open_file() || pg_pwrite(file, part, size, (char *) part - (char *) &shared->notes) < 0)
		errno = before;
}

/* crash_note_attempt: writes what the worker with a slot is at; NULL: nothing; needs no lock */
void
crash_note_attempt(int slot, const Work *work)
{
	Work	   *note = &shared->notes.attempts[slot];

	if (work == NULL)
		memset(note, 0, sizeof(Work));
	else
		*note = *work;
	put(note, sizeof(Work));
}

/*
 * crash_forget
 *		Forgets that work was under way when the server crashed, because an attempt has ended.
 */
void
crash_forget(const Work *work)
{
	CrashNotes *notes = &shared->notes;

	if (!notes->any)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	for (int i = 0; i < MAX_WORKERS; i++)
		if (notes->crashed[i].deaths > 0 && memcmp(&notes->crashed[i].work, work, sizeof(Work)) == 0)
		{
			notes->crashed[i].deaths = 0;
			put(&notes->crashed[i], sizeof(CrashedWork));
		}
	LWLockRelease(shared->lock);
}

/*
 * crash_notes_read
 *		Reads what was under way when the server crashed, and calls a function for each with the number
 *		of deaths.  The launcher calls this before it starts any worker.
 */
void
crash_notes_read(void (*note_deaths) (const Work *work, int deaths))
{
	CrashNotes *notes = &shared->notes;
	CrashNotes	found;

	/* Workers of another launcher may be under way. */
	if (notes->magic == NOTES_MAGIC)
		return;
	if (open_file() && pg_pread(file, &found, sizeof(found), 0) == sizeof(found) && found.magic == NOTES_MAGIC)
	{
		memcpy(notes->crashed, found.crashed, sizeof(found.crashed));
		for (int i = 0; i < MAX_WORKERS; i++)
			if (OidIsValid(found.attempts[i].table))
				count_death(notes, &found.attempts[i]);
	}
	for (int i = 0; i < MAX_WORKERS; i++)
		if (notes->crashed[i].deaths > 0)
		{
			notes->any = true;
			note_deaths(&notes->crashed[i].work, notes->crashed[i].deaths);
		}
	notes->magic = NOTES_MAGIC;
	put(notes, sizeof(CrashNotes));
}

/*
 * count_death
 *		Counts a death of some work; if there is no room for it, in place of what has the
 *		fewest.
 */
static void
count_death(CrashNotes *notes, const Work *work)
{
	CrashedWork *fewest = &notes->crashed[0];

	for (int i = 0; i < MAX_WORKERS; i++)
	{
		CrashedWork *crashed = &notes->crashed[i];

		if (crashed->deaths > 0 && memcmp(&crashed->work, work, sizeof(Work)) == 0)
		{
			crashed->deaths++;
			return;
		}
		if (crashed->deaths < fewest->deaths)
			fewest = crashed;
	}
	fewest->work = *work;
	fewest->deaths = 1;
}
