/*-------------------------------------------------------------------------
 *
 * planner.h
 *	  Offers paths that read index tables, what they cost, and their plans.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PLANNER_H
#define INDEXTABLE_PLANNER_H

#include "utils/selfuncs.h"

#include "../candidate/candidate.h"

/* path_cost.c: estimates how many entries a scan of an index table reads, and what it costs */
extern void estimate_index_size(Candidate *c);
extern double estimate_share(PlannerInfo *root, Candidate *c, List *used);
extern double rows_of_elements(PlannerInfo *root, Candidate *c);
extern void estimate_entries(PlannerInfo *root, RelOptInfo *rel, Candidate *c);
extern double rows_of_search(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *clauses);
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
extern List *searched_by_entries;	/* with planned_by_entries: which index
									 * tables can be searched for a table,
									 * Candidate *, added to what citus/ has
									 * set */
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

/* users_index_path.c: which find entries by indexes that users have put on an index table */
extern void add_users_index_of_elements(PlannerInfo *root, RelOptInfo *joined, RelOptInfo *fact, Served *served,
										Candidate *c, List *clauses);
extern void add_users_index_paths(PlannerInfo *root, RelOptInfo *rel, Served *served, IndexDef *def);
extern double estimate_users_indexes(PlannerInfo *root, RelOptInfo *rel, Served *served, List *clauses);
extern Candidate *candidate_of_entries(PlannerInfo *root, RelOptInfo *rel, IndexDef *def, List *clauses,
									   List *exprs, List **quals);
extern List *wanted_order(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List **exprs);

/* missing_index.c: finds the index that users could put on an index table for a query */
extern void count_missing_index(PlannerInfo *root, RelOptInfo *rel, Served *served);
extern const char *missing_index_reason(PlannerInfo *root, RelOptInfo *rel, IndexDef *def);

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
extern List *searches_of_elements(PlannerInfo *root, RelOptInfo *joined, Path *outer, List *clauses);

/* and_path.c: which search several index tables, or one for several elements */
extern void add_and_paths(PlannerInfo *root, RelOptInfo *rel, Served *served, List *searches);
extern bool is_in_one_order(Candidate *c);
extern bool same_order(Candidate *a, Candidate *b);
extern CustomPath *part_of(PlannerInfo *root, RelOptInfo *rel, Candidate *c);

/* unexpanded_partitions.c: for tables whose partitions are not looked at */
extern void unexpanded_init(void);
extern PlannedStmt *plan_unexpanded(Query *query, ParamListInfo params);
extern bool is_unexpanded(RelOptInfo *rel);
extern void forget_dummy_path(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);
extern void add_last_resort(PlannerInfo *root, RelOptInfo *rel);

#endif							/* INDEXTABLE_PLANNER_H */
