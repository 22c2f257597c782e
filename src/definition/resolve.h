/*-------------------------------------------------------------------------
 *
 * resolve.h
 *	  Offers definitions resolved against the tables as they are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_RESOLVE_H
#define INDEXTABLE_RESOLVE_H

#include "access/tupdesc.h"
#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "../indextable.h"

/* Columns of a queue table. */
#define QUEUE_AT			1	/* when the statement began that changed the
								 * row */
#define QUEUE_KEY			2	/* its primary key, from here on */

extern void note_feeds(FactDef *factdef, DefinitionRow *row);
extern void note_feed(FactDef *factdef, Relation fact, bool feed);
extern FactDef *make_fact_def(Relation fact, List *key, const char **names, MemoryContext cxt);
extern IndexDef *make_index_def(FactDef *factdef, Relation fact, DefinitionRow *row, Relation rel, int nkept,
								const char **column_names);
extern bool definition_complete_primary_key(IndexDef *def, Relation rel);
extern IndexDef *definition_resolve(DefinitionRow *row, Relation fact, Relation replaced, int nkept,
									FactDef **factdef);
extern bool definition_complete(IndexDef *def, Relation fact, Relation rel);
extern bool definition_complete_columns(IndexDef *def, Relation fact, TupleDesc desc);
extern bool index_calls_users_code(IndexDef *def);
extern List *definition_code(IndexDef *def);
extern TupleDesc queue_columns(FactDef *def, Relation fact);

#endif							/* INDEXTABLE_RESOLVE_H */
