/*-------------------------------------------------------------------------
 *
 * replaceable.h
 *	  Tells whether, and how, one index table can take the place of another.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_REPLACEABLE_H
#define INDEXTABLE_REPLACEABLE_H

#include "nodes/bitmapset.h"
#include "utils/rel.h"

#include "../indextable.h"

/* Which columns of an index table stay when it gets another definition. */
typedef struct Columns
{
	int			nkept;			/* so many, from the first one on */
	int			first_own;		/* and all from this one on, which the owner
								 * has added */
	bool		adds;			/* whether the new definition has others, too */
} Columns;

extern DefinitionRow *replacement_of(Oid index_table);
extern bool is_own_column(Oid index_table, const char *name);
extern bool replacement_fits(DefinitionRow *replacement);
extern void check_replaceable(DefinitionRow *row, Oid index_table);
extern void report_lost_indexes(DefinitionRow *row, Oid index_table);
extern Columns compare_columns(DefinitionRow *row, IndexDef *old_def);
extern IndexDef *get_definition(Oid index_table);
extern Bitmapset *index_columns(Relation index);

#endif							/* INDEXTABLE_REPLACEABLE_H */
