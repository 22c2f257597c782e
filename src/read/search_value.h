/*-------------------------------------------------------------------------
 *
 * search_value.h
 *	  Offers what entries are searched by, made of what a condition compares with.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SEARCH_VALUE_H
#define INDEXTABLE_SEARCH_VALUE_H

#include "access/stratnum.h"
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

/*
 * A comparison of a column of the index with a value.  Plans have it, too; there the value is the
 * expression of the same number in custom_exprs.
 */
typedef struct Condition
{
	int			position;		/* of the column in the index, from 0 */
	AttrNumber	attno;			/* and in the index table */
	StrategyNumber strategy;
	Oid			operator;
	Oid			subtype;		/* the type that entries are searched by */
	Expr	   *value;
	bool		array;			/* = ANY (value) */
	Taking		taking;			/* what value is ... */
	int			detail;			/* ... and more of it: see take_value() */
	Oid			from;			/* the type of value, or of its elements */
	bool		lossy;			/* rows that it finds have to be checked */
	bool		implied;		/* the condition is spelled otherwise */
	bool		sparse;			/* rows without an entry may satisfy the
								 * condition, too */
	uint32		unless;			/* VALUE_BITS: entries tell which rows satisfy
								 * it, unless rows have such values */
	int			together;		/* so many of a condition tell as much as it,
								 * though each is lossy; else 0 */
	int			nth;			/* which of these, from 0 */
	RestrictInfo *rinfo;		/* NULL: the clause was not one yet */
} Condition;

extern int	array_elements(ArrayType *array, Datum **elements, bool **nulls);
extern List *array_constants(Const *constant);
extern Taken take_value(Field *field, Condition *condition, Datum value, Datum *result);
extern Taken take_values(Field *field, Condition *condition, Datum array, Datum **values, int *n);
extern bool contains_value(PlannerInfo *root, Field *field, int nsteps, Node *json);
extern bool only_string(const char *text, int len);
extern List *constant_values(Node *array, int max);
extern int	count_only_texts(IndexDef *def, Field *field, Node *value, uint32 *unless);

#endif							/* INDEXTABLE_SEARCH_VALUE_H */
