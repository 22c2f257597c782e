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

#include "worker_slots.h"

/* The interval over which changes are counted to get a rate, in ms. */
#define RATE_INTERVAL		5000

extern void activity_count(Oid fact_table, Oid server, int64 changes);
extern void activity_note_backlog(Oid fact_table, Oid server, int64 backlog, TimestampTz oldest);

/*
 * A queue whose batch has failed is left alone for this time, in ms.  Each time that it
 * fails again it is twice as long, up to the maximum; up to the other one while it only
 * waits.
 */
#define MIN_BACKOFF			100
#define MAX_BACKOFF			60000
#define MAX_WAIT			500

extern bool trouble_of(Oid fact_table, Oid server, Trouble *trouble);
extern bool trouble_note_error(Oid fact_table, Oid server, ErrorData *error);
extern bool trouble_note_wait(Oid fact_table, Oid queue_table);
extern void trouble_end(Oid fact_table, Oid server);

#endif							/* INDEXTABLE_ACTIVITY_H */
