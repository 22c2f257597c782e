/*-------------------------------------------------------------------------
 *
 * judge.h
 *	  Judges whether a key of a fact table should have an index table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_JUDGE_H
#define INDEXTABLE_JUDGE_H

#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "../indextable.h"
#include "profile.h"

extern DefinitionRow *new_request(List *key, List *include, char *filter);
extern Relation open_judged(Oid relid, DefinitionRow *row, const char *document);
extern FactDef *open_documents(Oid relid, const char *document, Relation *fact, AttrNumber *doc);
extern void judge_key(Profile *p, Relation fact, int rows, double bytes);
extern char *path_text(List *steps);

#endif							/* INDEXTABLE_JUDGE_H */
