/*-------------------------------------------------------------------------
 *
 * search_value.h
 *	  Offers what entries are searched by, made of what a condition compares with.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SEARCH_VALUE_H
#define INDEXTABLE_SEARCH_VALUE_H

#include "nodes/pathnodes.h"
#include "nodes/primnodes.h"
#include "utils/array.h"
#include "utils/jsonb.h"

#include "../indextable.h"
#include "scalar_value.h"

/* What a condition compares with. */
typedef enum Taking
{
	TAKE_AS_IS,					/* a value to search for */
	TAKE_NUMBER,				/* a number, of any type */
	TAKE_TEXT,					/* the text of the field */
	TAKE_JSON,					/* the value of the field, as jsonb */
	TAKE_CONTAINED				/* jsonb that a document contains */
} Taking;

extern int	array_elements(ArrayType *array, Datum **elements, bool **nulls);
extern List *array_constants(Const *constant);
extern Taken take_value(Field *field, Taking taking, int detail, Oid from, StrategyNumber strategy, Datum value,
						Datum *result);
extern bool contains_value(PlannerInfo *root, Field *field, int nsteps, Node *json);
extern bool only_string(const char *text, int len);
extern List *constant_texts(Node *array);
extern int	count_only_texts(IndexDef *def, Field *field, Node *value, uint32 *unless);

#endif							/* INDEXTABLE_SEARCH_VALUE_H */
