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

#include "../indextable.h"

/* A comparison of a column of the index with a value. */
typedef struct Condition
{
	int			position;		/* of the column in the index, from 0 */
	StrategyNumber strategy;
	Oid			operator;
	Oid			subtype;		/* the type of value, or of its elements */
	Expr	   *value;
	bool		array;			/* = ANY (value) */
	int			contained;		/* value is jsonb, and what is contained in a
								 * document after so many steps of the path;
								 * -1: it is not */
	bool		lossy;			/* rows that it finds have to be checked */
	RestrictInfo *rinfo;		/* NULL: the clause was not one yet */
} Condition;

extern int	index_position_of(IndexDef *def, Node *operand, Index varno);
extern List *search_conditions(PlannerInfo *root, IndexDef *def, Node *clause, Relation fact, Index varno, bool *unknown);

#endif							/* INDEXTABLE_SEARCH_CONDITION_H */
