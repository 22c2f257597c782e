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

extern void activity_count(Oid fact_table, Oid server, int64 changes);
extern void activity_note_success(Oid fact_table, Oid server);
extern void activity_note_backlog(Oid fact_table, Oid server, int64 backlog, TimestampTz oldest);
extern void activity_note_error(Oid fact_table, Oid server, const char *message);

#endif							/* INDEXTABLE_ACTIVITY_H */
