/*-------------------------------------------------------------------------
 *
 * tables.h
 *	  Creates, adopts, drops and empties the queue tables of a fact table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_TABLES_H
#define INDEXTABLE_TABLES_H

#include "../indextable.h"

extern void refuse_feed_over_foreign(Oid fact);
extern void queue_belongs_to(FactDef *def, Oid queue);
extern void queues_create(FactDef *def, bool feed);
extern void queues_adopt(Oid fact);
extern bool queues_drop(Oid fact, bool wait);
extern void queues_make_anew(FactDef *def);
extern List *queues_used_last(Oid fact, Oid index_table);
extern void queues_rotate(FactDef *def);
extern void queues_restore(Oid fact);
extern void refuse_queue_over_foreign(Oid fact);

#endif							/* INDEXTABLE_TABLES_H */
