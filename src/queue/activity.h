/*-------------------------------------------------------------------------
 *
 * activity.h
 *	  Keeps in shared memory what workers have done with each queue.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ACTIVITY_H
#define INDEXTABLE_ACTIVITY_H

#include "datatype/timestamp.h"
#include "storage/lwlock.h"

#include "shared_memory.h"

/* The interval over which changes are counted to get a rate, in ms. */
#define RATE_INTERVAL		5000

extern void activity_lock(LWLockMode mode);
extern void activity_unlock(void);
extern QueueActivity *activity_of(Oid fact_table, Oid server, bool make);
extern void activity_count(Oid fact_table, Oid server, int64 changes);
extern void activity_note_backlog(Oid fact_table, Oid server, int64 backlog, TimestampTz oldest);

#endif							/* INDEXTABLE_ACTIVITY_H */
