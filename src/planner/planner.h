/*-------------------------------------------------------------------------
 *
 * planner.h
 *	  Offers to the planner which index tables may answer a query, how they are searched for it,
 *	  and what that costs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PLANNER_H
#define INDEXTABLE_PLANNER_H

#include "catalog/pg_attribute.h"
#include "nodes/params.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "utils/selfuncs.h"

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
	bool		distinct;		/* several entries of a row may be found */
	bool		by_element;		/* it returns an entry as often as there are
								 * elements that it stands for, in place of
								 * the rows of ... */
	List	   *functions;		/* these functions, by their numbers: each
								 * unnests an array of the fact row, or of an
								 * element that the one before it returns;
								 * NIL: of those in the target list */
	List	   *rtable;			/* which has these functions */
	List	   *of_join;		/* the conditions on the fact table and the
								 * functions, in the order in which they are
								 * checked */
	Bitmapset  *present;		/* positions of fields that are not NULL in
								 * the element that is searched for, of
								 * several */
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

	/* In place of a search; see entry_query.c. */
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
extern bool may_be_null(Candidate *c, int position);
extern bool is_searched(Candidate *c, int i);
extern bool may_find_null(Candidate *c, int position);

/* coverage.c: tells whether entries have all that a query needs of fact rows */
extern bool cover_scan(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *clauses);
extern PathTarget *target_of_entries(PlannerInfo *root, RelOptInfo *rel, Candidate *c);
extern PathTarget *target_of_expressions(PlannerInfo *root, RelOptInfo *rel, List *exprs);
extern bool cover_aggregates(PlannerInfo *root, Candidate *c, List *clauses, PathTarget *target);
extern bool is_checked_by_search(Candidate *c, RestrictInfo *rinfo);
extern List *clauses_of_entries(PlannerInfo *root, Candidate *c, List *clauses, List **exprs);
extern Node *expression_over_entry(Candidate *c, Node *node);
extern List *checks_of_entries(Candidate *c, List *clauses, List **exprs);
extern bool checks_of_part(Candidate *c, List *others, List *clauses, List **exprs);

/* check_order.c: the order in which conditions are checked */
extern List *clauses_of_arm(Candidate *c, List *clauses);
extern List *in_safe_order(PlannerInfo *root, RelOptInfo *rel, List *clauses);
extern List *in_server_order(PlannerInfo *root, List *clauses);
extern Index security_level(PlannerInfo *root, RestrictInfo *rinfo, Cost *cost);
extern bool cannot_raise_error(Node *clause, bool secured);

/* path_cost.c: estimates how many entries a scan of an index table reads, and what it costs */
extern void estimate_index_size(Candidate *c);
extern double estimate_share(PlannerInfo *root, Candidate *c, List *used);
extern void estimate_entries(PlannerInfo *root, RelOptInfo *rel, Candidate *c);
extern void estimate_cost(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *checks, List *clauses,
						  double loops, Path *path);
extern double parallel_divisor(int workers);
extern void finish_path(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *clauses, double loops, Path *path);
extern void prefer_if_forced(Path *path);
extern void show_real_costs(Path *path);
extern void note_sequential_scan(RelOptInfo *rel, Oid relid);
extern Cost estimate_searches(PlannerInfo *root, double tuples, double searches, double entries,
							  bool entries_only);
extern void estimate_and(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *reading, double entries,
						 Path *path);

/* column_share.c: shares of entries, by the statistics of a column */
extern double column_share(PlannerInfo *root, Candidate *c, Condition *condition);
extern double range_share(PlannerInfo *root, Candidate *c, Condition *condition);
extern void column_statistics(Oid index_table, Form_pg_attribute att, bool partitioned, double tuples,
							  VariableStatData *column);
extern double equal_share(VariableStatData *column, Oid operator, Oid collation, Node *value);

/* path.c: gives the planner paths that read index tables, of several kinds */
extern void path_init(void);
extern const char *unfit_clauses(List *clauses);
extern Path *partial_path(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *clauses, Path *whole);

/* scan_path.c: makes the plans of scans of index tables from their paths */
extern CustomPath *make_scan_path(RelOptInfo *rel, Candidate *c);
extern List *functions_called(Node *query);
extern void add_scan_path(PlannerInfo *root, RelOptInfo *rel, Path *path);
extern void add_sort(Query *query, List *pathkeys, List *exprs);
extern bool scan_wants_system_columns(RelOptInfo *rel, List *clauses);
extern Node *replace_by_parameters(Node *node, List *varnos, List **values);
extern void add_unnesting(Query *query, RangeTblEntry *rte, List *varnos, List **values);
extern RangeTblEntry *relation_of_index_table(IndexDef *def);

/*
 * or_path.c: for conditions that are joined by OR, and values, or NULL, whose entries are to come
 * in another order.
 */
extern void add_or_paths(PlannerInfo *root, RelOptInfo *rel, Served *served);
extern double estimate_or_entries(PlannerInfo *root, RelOptInfo *rel, Served *served, List *clauses);

/* entry_query.c: which find entries by indexes that users have put on an index table */
extern void add_entry_query_paths(PlannerInfo *root, RelOptInfo *rel, Served *served, IndexDef *def);
extern double estimate_entry_queries(PlannerInfo *root, RelOptInfo *rel, Served *served, List *clauses);

/* element_join.c: for joins of tables with elements of a fact table */
extern void element_join_init(void);

/* element_rows.c: for joins of a fact table with the elements of its rows */

/* Elements as rows of a query. */
typedef struct ElementRows
{
	RelOptInfo *joined;			/* the join, or the fact table, if the target
								 * list unnests them */
	RelOptInfo *fact;
	List	   *functions;		/* as in Candidate */
	List	   *clauses;		/* all conditions on them, RestrictInfos */
}			ElementRows;

extern void note_element_rows(PlannerInfo *root, RelOptInfo *joined, RelOptInfo *outer, RelOptInfo *function,
							  List *clauses);
extern ElementRows * element_rows_of(RelOptInfo *rel);
extern ElementRows * elements_in_targets(PlannerInfo *root, RelOptInfo *rel);
extern bool find_served_elements(PlannerInfo *root, ElementRows * rows, Served *served);
extern Candidate *consider_element_rows(PlannerInfo *root, ElementRows * rows, IndexDef *def, const char **why);
extern double rows_of_elements(PlannerInfo *root, Candidate *c);
extern List *searches_of_elements(PlannerInfo *root, RelOptInfo *joined, Path *outer, List *clauses);

/* and_path.c: which search several index tables, or one for several elements */
extern void add_and_paths(PlannerInfo *root, RelOptInfo *rel, Served *served, List *searches);
extern CustomPath *part_of(PlannerInfo *root, RelOptInfo *rel, Candidate *c);

/* unexpanded_partitions.c: for tables whose partitions are not looked at */
extern void unexpanded_init(void);
extern PlannedStmt *plan_unexpanded(Query *query, ParamListInfo params);
extern bool is_unexpanded(RelOptInfo *rel);
extern void forget_dummy_path(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);
extern void add_last_resort(PlannerInfo *root, RelOptInfo *rel);

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
extern Node *has_rows(IndexDef *def, Index varno);
extern Expr *then_check(Expr *first, Expr *second);
extern void fold_groups(Query *query, IndexDef *def, List *quals, bool fence);

/* totals_guard.c: keeps groups without rows from expressions that may raise an error */
extern bool shows_groups(Node *node, void *context);
extern List *take_safe_conditions(Query *query);

/* What a query of totals asks by parts of documents. */
extern bool find_unnested(PlannerInfo *root, RelOptInfo *input, RelOptInfo **rel, RelOptInfo **elements);
extern List *equal_keys(IndexDef *def, Node *clause, Index varno, uint32 *unless, bool *element);

#endif							/* INDEXTABLE_PLANNER_H */
