/*-------------------------------------------------------------------------
 *
 * candidate.h
 *	  Offers which index tables may answer a query, by which conditions they are searched, and
 *	  what else of the query their entries tell.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_CANDIDATE_H
#define INDEXTABLE_CANDIDATE_H

#include "catalog/pg_attribute.h"
#include "nodes/pathnodes.h"

#include "../indextable.h"
#include "../match/match.h"

/* query_table.c: tells which index tables may serve a table in a query */

/* A fact table in a query, and the index tables that may serve it. */
typedef struct Served
{
	FactDef    *fact;			/* pinned as long as the query is planned */
	bool		tested_again;	/* its rows are locked or written, and the
								 * executor may test newer versions of them */
	List	   *defs;			/* of IndexDef *, whose tables are locked */
	bool		system_columns; /* the query asks for some of the rows */
	bool		sorted_natively;	/* see is_sorted_natively() */
	PartitionScheme part_scheme;	/* of its partitions; see add_scan_path() */
} Served;

extern int	cursor_options;		/* of the query that is planned */

extern void query_table_init(void);
extern bool may_be_served(PlannerInfo *root, Index rti);
extern bool find_served(PlannerInfo *root, Index rti, bool totals, Served *served);
extern bool find_conditions(Node *from, Index varno, List **quals);
extern bool is_positionable(PlannerInfo *root, bool partitioned);

/* candidate.c: what an index table can do for a query of its fact table */

/* An index table that can find the rows of a query. */
typedef struct Candidate
{
	IndexDef   *def;
	Index		varno;			/* the fact table in the query */
	List	   *filter;			/* of the index table, over this relation */
	List	   *conditions;		/* of Condition *, by position */
	List	   *clauses;		/* what a scan of one arm of an OR has to
								 * check; else NIL, and the planner says it */
	Node	   *split;			/* the clause whose arm that is, or NULL: it
								 * is one half of an order */
	List	   *known;			/* what all rows that are asked for satisfy */
	bool		unknown;		/* there may be more when parameters are known */
	bool		secured;		/* row security or a security barrier applies */
	bool		policy_in_scan; /* only the scan can check all of what applies */
	const char *refuted;		/* why there are no more, or NULL */
	int			nequal;			/* number of leading columns that are compared
								 * by = */
	int			order_from;		/* entries come in the order of the columns
								 * from this one on */
	uint32		unless;			/* VALUE_BITS: it serves unless rows have such */
	Bitmapset  *castable;		/* positions of fields whose text can be cast
								 * in rows that are asked for ... */
	Bitmapset  *of_numbers;		/* ... if it is that of no number in JSON, or
								 * can be cast */
	uint64		excluded;		/* FAULT_BITS of rows that are not asked for;
								 * see is_complete_enough() */
	bool		distinct;		/* several entries of a row may be found */
	bool		by_element;		/* it returns an entry as often as there are
								 * elements that it stands for, in place of
								 * the rows of ... */
	List	   *functions;		/* these functions, by their numbers: each
								 * unnests an array of the fact row, or of an
								 * element that the one before it returns;
								 * NIL: of those in the target list */
	List	   *rtable;			/* which has these functions */
	bool		of_element;		/* expressions are over an element of the row:
								 * see tests_of_element() */
	List	   *of_join;		/* the conditions on the fact table and the
								 * functions, in the order in which they are
								 * checked */
	Bitmapset  *present;		/* positions of fields that are not NULL in
								 * the element that is searched for, of
								 * several */
	List	   *pathkeys;		/* that the order gives */
	bool		backward;
	int			limit;			/* number of entries of one search that are
								 * enough, if all of them pass; 0: all */
	bool		entries_only;	/* no fact row is needed */
	bool		partial_rows;	/* then it returns rows of the fact table that
								 * are made of entries; see partial_row.c */
	bool		stored_rows;	/* rows are returned as they are stored, with
								 * their places and other system columns */
	bool		tested_again;	/* as in Served */
	List	   *groups;			/* columns of the index from order_from on,
								 * whose different values are all that is
								 * asked for; see aggregate_path.c */
	bool		first;			/* of each group the first entry is returned */
	bool		last;			/* and, or only, the last one */
	bool		null_groups;	/* these columns may be NULL */
	bool		null_ends;		/* the column after them may be NULL, of which
								 * the greatest value is read */
	bool		is_part;		/* rows are those that others find, too; see
								 * and_path.c */
	List	   *parts;			/* these others, Candidate * */
	bool		any_part;		/* it has no search of its own, and rows are
								 * those that some part finds; see or_path.c */
	List	   *exprs;			/* what the scan returns then, Node *, */
	List	   *attnos;			/* the columns that have it, or < 0: whether
								 * the one is not NULL, */
	List	   *sources;		/* and with parts whose: 0 for its own, or the
								 * number of the part, from 1 */

	/* In place of a search; see users_index_path.c. */
	PlannedStmt *query;			/* plan of a query of the entries, or NULL */
	Oid			users_index;	/* the index that it uses */
	List	   *told;			/* clauses that are its conditions */
	List	   *values;			/* of its parameters, over the outer query */
	List	   *sorted_by;		/* what the path keys are of */

	/* See path_cost.c. */
	double		entries;		/* that are read in one scan */
	double		tuples;			/* that the index table has */
	double		pages;			/* of its index */
} Candidate;

extern Candidate *consider_index_table(PlannerInfo *root, IndexDef *def, List *clauses, Index varno, List *used,
									   const char **why);
extern Candidate *begin_candidate(PlannerInfo *root, IndexDef *def, List *clauses, Index varno, const char **why);
extern Candidate *consider_elements(PlannerInfo *root, IndexDef *def, List *clauses, Index varno,
									List *functions, const char **why);
extern bool is_used(Condition *condition, List *used);
extern bool are_of_query(List *conditions);
extern Candidate *consider_totals(IndexDef *def, List *clauses, Index varno);
extern AttrNumber column_of_candidate(Candidate *c, Node *expr);
extern bool has_column_value(Candidate *c, Node *expr, AttrNumber attno);
extern bool is_left_to_scan(Node *clause);
extern void set_order(PlannerInfo *root, RelOptInfo *rel, Candidate *c);
extern Node *sort_expression(Candidate *c, RelOptInfo *rel, PathKey *key, int position, bool *last);
extern bool is_complete_enough(Candidate *c, const char **why);
extern const char *why_lacking(Candidate *c);
extern bool says_field_is_there(Candidate *c, int i, Node *clause);
extern bool may_be_null(Candidate *c, int position);
extern bool is_searched(Candidate *c, int i);
extern bool may_find_null(Candidate *c, int position);

/* coverage.c: tells whether entries have all that a query needs of fact rows */
extern bool cover_scan(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *clauses);
extern PathTarget *target_of_entries(PlannerInfo *root, RelOptInfo *rel, Candidate *c);
extern PathTarget *target_of_expressions(PlannerInfo *root, RelOptInfo *rel, List *exprs);
extern bool cover_aggregates(PlannerInfo *root, Candidate *c, List *clauses, PathTarget *target);
extern bool found_by_search(Candidate *c, RestrictInfo *rinfo);
extern bool is_checked_by_search(Candidate *c, RestrictInfo *rinfo);
extern List *clauses_of_entries(PlannerInfo *root, Candidate *c, List *clauses, List **exprs);
extern Node *expression_over_entry(Candidate *c, Node *node);
extern List *checks_of_entries(Candidate *c, List *clauses, List **exprs);
extern bool checks_of_part(Candidate *c, List *others, List *clauses, List **exprs);

/* condition_order.c: the order in which conditions are checked */
extern List *clauses_of_arm(Candidate *c, List *clauses);
extern List *in_safe_order(PlannerInfo *root, RelOptInfo *rel, List *clauses);
extern List *in_server_order(PlannerInfo *root, List *clauses);
extern Index security_level(PlannerInfo *root, RestrictInfo *rinfo, Cost *cost);
extern bool cannot_raise_error(Node *clause, bool secured);

#endif							/* INDEXTABLE_CANDIDATE_H */
