/*-------------------------------------------------------------------------
 *
 * worker_slots.h
 *	  Keeps in shared memory what writers, workers and the launcher know of each other, and
 *	  wakes them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_WORKER_SLOTS_H
#define INDEXTABLE_WORKER_SLOTS_H

#include "nodes/pg_list.h"

extern void wake_workers(void);
extern bool wake_running_workers(void);
extern void request_workers(Oid database);
extern bool note_workers_stopped(Oid database, bool stop);
extern int	count_workers(Oid database, bool wake);
extern bool only_workers(List *pids);
extern void register_launcher(void);
extern int	take_worker_requests(Oid *databases);
extern int	slot_reserve(Oid database, bool *enough, uint64 *use);
extern bool slot_release(int slot, uint64 use);
extern int	slots_free_ended(void);
extern void note_short_of_workers(bool short_of_workers);
extern bool slot_take(int slot, uint64 use);
extern bool worker_woken(void);
extern void worker_note_leaving(bool leaving);
extern bool worker_may_stay(bool idle);
extern void prepared_init(void);

#endif							/* INDEXTABLE_WORKER_SLOTS_H */
