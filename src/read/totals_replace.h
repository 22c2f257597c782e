/*-------------------------------------------------------------------------
 *
 * totals_replace.h
 *	  Replaces what a query asks of the rows of a fact table by what groups of totals have.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_TOTALS_REPLACE_H
#define INDEXTABLE_TOTALS_REPLACE_H

#include "nodes/parsenodes.h"

#include "candidate.h"

/* What is replaced in a query of totals. */
typedef struct Replaced
{
	Candidate  *c;				/* the table of totals or of elements, and the
								 * fact table */
	bool		by_entry;		/* an entry stands for one row of the query */
	bool		by_element;		/* the query has a row for each element */
	List	   *equal;			/* comparisons of columns of totals that stand
								 * for conditions on documents */
	bool		sums;			/* a sum is used */
	bool		fold;			/* the query reads groups, not entries */
	bool		failed;			/* totals do not have all that is needed */
} Replaced;

extern Node *replace_by_totals(Node *node, void *context);
extern Node *has_rows(IndexDef *def, Index varno);
extern void fold_groups(Query *query, IndexDef *def);

/* What it asks by parts of documents. */
extern bool find_unnested(PlannerInfo *root, RelOptInfo *input, RelOptInfo **rel, RelOptInfo **elements);
extern bool unnests_elements(IndexDef *def, RangeTblEntry *rte, Index varno);
extern List *equal_keys(IndexDef *def, Node *clause, Index varno, uint32 *unless);

#endif							/* INDEXTABLE_TOTALS_REPLACE_H */
