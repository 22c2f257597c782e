/*-------------------------------------------------------------------------
 *
 * shared_memory.h
 *	  Keeps in shared memory what writers, workers and the launcher know of each other, and
 *	  wakes them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SHARED_MEMORY_H
#define INDEXTABLE_SHARED_MEMORY_H

/* If more databases than this ask for a worker at a time, the launcher looks at all of them. */
#define MAX_REQUESTS		64

extern void shared_init(void);
extern bool shared_exists(void);
extern void wake_workers(void);
extern bool wake_running_workers(void);
extern void shared_request(Oid database);
extern bool shared_stop(Oid database, bool stop);
extern int	shared_count_workers(Oid database, bool wake);
extern void shared_set_launcher(void);
extern int	shared_take_requests(Oid *databases);
extern int	shared_reserve(Oid database, bool *enough, uint64 *use);
extern bool shared_release(int slot, uint64 use);
extern void shared_set_short(bool short_of_workers);
extern void shared_take_slot(int slot);
extern bool shared_woken(void);
extern void shared_begin_leaving(void);
extern bool shared_may_stay(bool idle);
extern void shared_count(Oid fact_table, int64 changes);
extern void shared_note_success(Oid fact_table);
extern void shared_note_error(Oid fact_table, const char *message);

#endif							/* INDEXTABLE_SHARED_MEMORY_H */
