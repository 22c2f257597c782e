/*-------------------------------------------------------------------------
 *
 * search_condition.h
 *	  Offers the comparisons that an index table can be searched by.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SEARCH_CONDITION_H
#define INDEXTABLE_SEARCH_CONDITION_H

#include "access/stratnum.h"
#include "nodes/pathnodes.h"

#include "search_value.h"

/* A comparison of a column of the index with a value. */
typedef struct Condition
{
	int			position;		/* of the column in the index, from 0 */
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

/* mark_lossy: has rows that a comparison finds be checked, whatever others find */
static inline void
mark_lossy(Condition *condition)
{
	condition->lossy = true;
	condition->together = 0;
}

extern int	index_position_of(IndexDef *def, Node *operand, Index varno);
extern List *compared_conditions(PlannerInfo *root, IndexDef *def, Node *clause, Relation fact, Index varno, bool *unknown);
extern Condition *json_comparison(IndexDef *def, int position, StrategyNumber strategy, JsonbValue *scalar);
extern List *bounds_of_pattern(Node *clause, Oid function, Oid collation);
extern Condition *boolean_condition(IndexDef *def, Node *expr, bool value, Index varno);

#endif							/* INDEXTABLE_SEARCH_CONDITION_H */
