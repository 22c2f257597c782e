/*-------------------------------------------------------------------------
 *
 * search_condition.h
 *	  Offers the comparisons that an index table can be searched by.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SEARCH_CONDITION_H
#define INDEXTABLE_SEARCH_CONDITION_H

#include "search_value.h"

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
extern List *operands(Node *clause);
extern List *bounds_of_pattern(Node *clause, Oid function, Oid collation);
extern Condition *boolean_condition(IndexDef *def, Node *expr, bool value, Index varno);

/* implied.c: comparisons that follow from any condition. */
extern List *implied_conditions(PlannerInfo *root, IndexDef *def, Node *clause, Relation fact, Index varno, bool *unknown);
extern List *implied_by_elements(PlannerInfo *root, IndexDef *def, List *clauses, Relation fact, Index varno, bool *unknown);

/* json_path.c: those that follow from one in jsonpath. */
extern Node *without_sql_json(Node *clause);
extern List *json_path_conditions(IndexDef *def, Node *clause, Index varno);

#endif							/* INDEXTABLE_SEARCH_CONDITION_H */
