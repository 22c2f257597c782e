/*-------------------------------------------------------------------------
 *
 * lost_queue.h
 *	  Reports that a queue table was lost.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_LOST_QUEUE_H
#define INDEXTABLE_LOST_QUEUE_H

#include "../indextable.h"

extern void queue_note_lost(FactDef *def);
pg_noreturn extern void queue_lost_error(FactDef *def);

#endif							/* INDEXTABLE_LOST_QUEUE_H */
