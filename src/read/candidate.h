/*-------------------------------------------------------------------------
 *
 * candidate.h
 *	  Offers what an index table can do for a query of its fact table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_CANDIDATE_H
#define INDEXTABLE_CANDIDATE_H

#include "nodes/pathnodes.h"
#include "utils/relcache.h"

#include "../indextable.h"
#include "search_condition.h"

#define REASON_UNKNOWN "the fields of a document that is a parameter are known only in a custom plan"

#define REASON_INCOMPLETE "some rows may have no entry, which the conditions do not rule out"

/* An index table that can find the rows of a query. */
typedef struct Candidate
{
	IndexDef   *def;
	Index		varno;			/* the fact table in the query */
	List	   *filter;			/* of the index table, over this relation */
	List	   *conditions;		/* of Condition *, by position */
	List	   *clauses;		/* what a scan of one arm of an OR has to
								 * check; else NIL, and the planner says it */
	List	   *known;			/* what all rows that are asked for satisfy, */
	Relation	fact;			/* of this table */
	bool		unknown;		/* there may be more when parameters are known */
	bool		secured;		/* row security or a security barrier applies */
	bool		policy_in_scan; /* only the scan can check all of what applies */
	const char *refuted;		/* why there are no more, or NULL */
	int			nequal;			/* so many leading columns are compared by = */
	int			order_from;		/* entries come in the order of the columns
								 * from this one on */
	int			not_null;		/* so many leading key fields are known not to
								 * be NULL in the rows that are asked for */
	uint32		unless;			/* VALUE_BITS: it serves unless rows have such */
	bool		distinct;		/* several entries of a row may be found */
	Bitmapset  *columns;		/* of the index table that are read, minus
								 * FirstLowInvalidHeapAttributeNumber */
	List	   *pathkeys;		/* that the order gives */
	bool		backward;
	bool		entries_only;	/* no fact row is needed */
	bool		partial_rows;	/* then it returns rows of the fact table that
								 * are made of entries; see partial_row.c */
	bool		stored_rows;	/* rows are returned as they are stored, with
								 * their places and other system columns */
	bool		tested_again;	/* as in Served */
	List	   *groups;			/* columns of the index from order_from on,
								 * whose different values are all that is
								 * asked for; see loose_path.c */
	bool		first;			/* of each group the first entry is returned */
	bool		last;			/* and, or only, the last one */
	bool		is_part;		/* rows are those that others find, too; see
								 * and_path.c */
	List	   *parts;			/* these others, Candidate * */
	List	   *exprs;			/* what the scan returns then, Node *, */
	List	   *attnos;			/* the columns that have it, */
	List	   *sources;		/* and with parts whose: 0 for its own, or the
								 * number of the part, from 1 */

	/* See path_cost.c. */
	double		entries;		/* that are read in one scan */
	double		tuples;			/* that the index table has */
	double		pages;			/* of its index */
} Candidate;

extern Candidate *consider_index_table(PlannerInfo *root, IndexDef *def, List *clauses, Relation fact, Index varno, List *used, const char **why);
extern bool is_used(Condition *condition, List *used);
extern bool are_of_query(List *conditions);
extern Candidate *consider_totals(IndexDef *def, List *clauses, Index varno);
extern AttrNumber column_of_candidate(Candidate *c, Node *expr);
extern bool is_left_to_scan(Node *clause);
extern void set_order(PlannerInfo *root, RelOptInfo *rel, Candidate *c);
extern Node *sort_expression(Candidate *c, RelOptInfo *rel, PathKey *key, int position);
extern bool is_complete_enough(Candidate *c, const char **why);

#endif							/* INDEXTABLE_CANDIDATE_H */
