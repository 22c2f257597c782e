/*-------------------------------------------------------------------------
 *
 * worker.h
 *	  Offers the background processes: the launcher, and the workers that drain queues.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_WORKER_H
#define INDEXTABLE_WORKER_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

/* drain_round.c: drains one batch of each queue of a database, as a worker does again and again */
extern void round_init(const char *synchronous_commit);

/* What a worker has to do in its database. */
typedef struct FoundWork
{
	MemoryContext cxt;			/* has the lists */
	List	   *queues;			/* Work *: those that are drained */
	List	   *totals;			/* Work *: tables that are folded */
	bool		forget;			/* what is kept of dropped tables is forgotten */
	bool		blocked;		/* another session has kept them from being
								 * found */
} FoundWork;

struct Work;

extern bool find_queues(MemoryContext cxt, FoundWork *found);
extern bool drain_queues(List *queues, TimestampTz *next_try);
extern bool round_has_news(void);
extern bool may_try(const struct Work *work, TimestampTz *next_try);
extern void put_in_turn(List *works);
extern void tried(const struct Work *work, const ErrorData *error, int ms, bool alone, TimestampTz *next_try);
extern void report_working(Oid table);

/* fold_round.c: folds the tables of totals of a database */
extern bool fold_round(List *totals, TimestampTz *next_try);

/* launcher.c: registers the launcher, which starts workers in the databases that need them */
extern void launcher_init(void);

/* main.c: registers a background worker that drains the queues of one database */
struct BackgroundWorkerHandle;

extern bool worker_register(Oid database, int slot, uint64 use, struct BackgroundWorkerHandle **handle);

#endif							/* INDEXTABLE_WORKER_H */
