/*-------------------------------------------------------------------------
 *
 * aggregate.h
 *	  Gives the planner paths that answer aggregates and DISTINCT from entries and totals.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_AGGREGATE_H
#define INDEXTABLE_AGGREGATE_H

#include "nodes/pathnodes.h"

#include "../candidate/candidate.h"

/* aggregate_path.c: for aggregates, DISTINCT, and ends of groups */
extern void aggregate_path_init(void);

/* totals_path.c: gives the planner paths that answer aggregates from tables of totals */
extern void add_totals_paths(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *grouped, UpperRelationKind stage);

/*
 * totals_replace.c: replaces what a query asks of the rows of a fact table by what groups of
 * totals have.
 */

/* What is replaced in a query of totals. */
typedef struct Replaced
{
	Candidate  *c;				/* the table of totals, and the fact table */
	bool		by_element;		/* the query has a row for each element */
	List	   *equal;			/* comparisons of columns of totals that stand
								 * for conditions on documents */
	bool		sums;			/* a sum is used */
	bool		fold;			/* the query reads groups, not entries */
	bool		failed;			/* totals do not have all that is needed */
} Replaced;

extern Node *replace_by_totals(Node *node, void *context);
extern Node *has_rows(Replaced *replaced, Index varno);
extern Expr *then_check(Expr *first, Expr *second);
extern void fold_groups(Query *query, Replaced *replaced, List *quals, bool fence);

/* totals_guard.c: keeps groups without rows from expressions that may raise an error */
extern bool shows_groups(Node *node, void *context);
extern List *take_safe_conditions(Query *query);

/* What a query of totals asks by parts of documents. */
extern bool find_unnested(PlannerInfo *root, RelOptInfo *input, RelOptInfo **rel, RelOptInfo **elements);
extern List *equal_keys(IndexDef *def, Node *clause, Index varno, uint32 *unless, bool *element);

#endif							/* INDEXTABLE_AGGREGATE_H */
