/*-------------------------------------------------------------------------
 *
 * drain_all.h
 *	  indextable.drain(): applies all that is queued here and in the feeds of other servers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DRAIN_ALL_H
#define INDEXTABLE_DRAIN_ALL_H

#include "../queue/drain.h"

extern void drain_local_queue(Oid fact_table, DrainCall *call);

#endif							/* INDEXTABLE_DRAIN_ALL_H */
