/*-------------------------------------------------------------------------
 *
 * field_spelling.h
 *	  Offers the expressions that queries of the fact table have for a field.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FIELD_SPELLING_H
#define INDEXTABLE_FIELD_SPELLING_H

#include "nodes/pg_list.h"
#include "nodes/primnodes.h"

#include "../indextable.h"

extern List *field_spellings(Field *field, AttrNumber doc);
extern Node *spelling_key(Node *spelling);
extern Node *spelling_over_column(Node *spelling, Var *column);

#endif							/* INDEXTABLE_FIELD_SPELLING_H */
