/*-------------------------------------------------------------------------
 *
 * activity.h
 *	  Keeps in shared memory what workers have done with each queue.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ACTIVITY_H
#define INDEXTABLE_ACTIVITY_H

extern void activity_count(Oid fact_table, int64 changes);
extern void activity_note_success(Oid fact_table);
extern void activity_note_error(Oid fact_table, const char *message);

#endif							/* INDEXTABLE_ACTIVITY_H */
