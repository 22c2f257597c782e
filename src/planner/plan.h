/*-------------------------------------------------------------------------
 *
 * plan.h
 *	  Offers to the planner which index tables may answer a query, how they are searched for it,
 *	  and what that costs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PLAN_H
#define INDEXTABLE_PLAN_H

#include "access/htup.h"
#include "access/stratnum.h"
#include "catalog/pg_attribute.h"
#include "nodes/extensible.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "nodes/primnodes.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"
#include "utils/selfuncs.h"
#include "utils/snapshot.h"

#include "../indextable.h"
#include "../util/memory.h"

/* scalar_value.c: what entries are searched by for a number, or a scalar in JSON */

/* What came of a value that entries are to be searched by. */
typedef enum Taken
{
	TAKEN,
	TAKEN_NONE,					/* no entry can satisfy the condition */
	TAKEN_UNKNOWN				/* there is nothing to search for */
} Taken;

extern bool is_integer_type(Oid type);
extern bool is_number_type(Oid type);
extern bool is_plain_type(Oid type);
extern bool is_castable_field(Field *field);
extern Taken take_scalar(Field *field, StrategyNumber strategy, JsonbValue *scalar, Datum *result);
extern Taken take_float(Field *field, int bits, StrategyNumber strategy, double value, Datum *result);
extern Taken take_bound(StrategyNumber strategy, double value, Datum *result);
extern Taken take_numeric(Field *field, StrategyNumber strategy, Numeric value, Datum *result);
extern bool number_of_field(IndexDef *def, Field *field, Node *expr, Index varno, int *bits, bool *lossy);
extern bool double_of_field(IndexDef *def, Field *field, Node *expr, Index varno, bool *lossy);
extern bool is_json_cast(IndexDef *def, Field *field, Node *expr, Index varno);
extern bool is_number_cast(IndexDef *def, Field *field, Node *expr, Index varno, bool *rounded, bool *lossy);
extern StrategyNumber number_strategy(Oid operator);

/* search_value.c: what entries are searched by, made of what a condition compares with */

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

/* The members of an object in JSON, or the elements of an array. */
typedef struct JsonMembers
{
	JsonbIterator *it;
	char	   *name;			/* of the one that it is at, unless that is an
								 * element, ... */
	JsonbValue	value;			/* ... and its value */
} JsonMembers;

extern bool next_member(JsonMembers *members);
extern List *array_constants(Const *constant);
extern Taken take_value(Field *field, Condition *condition, Datum value, Datum *result);
extern Taken take_values(Field *field, Condition *condition, Datum array, Datum **values, int *n);
extern bool contains_value(PlannerInfo *root, Field *field, int nsteps, Node *json);
extern bool only_string(const char *text, int len);
extern List *constant_values(Node *array, int max);
extern Node *without_length(Node *expr, Node *value);
extern int	index_position_of(IndexDef *def, Node *operand, Index varno);
extern int	position_of_text(IndexDef *def, Node **expr, Node *value, Index varno);
extern int	count_only_texts(IndexDef *def, Field *field, Node *value, uint32 *unless);

/* search_condition.c: the comparisons that an index table can be searched by */

/* mark_lossy: has rows that a comparison finds be checked, whatever others find */
static inline void
mark_lossy(Condition *condition)
{
	condition->lossy = true;
	condition->together = 0;
}

extern List *compared_conditions(PlannerInfo *root, IndexDef *def, Node *clause, Index varno, bool *unknown);
extern bool is_searchable(IndexDef *def, Oid operator, Oid collation, Node *expr, Index varno);
extern Condition *json_comparison(IndexDef *def, int position, StrategyNumber strategy, JsonbValue *scalar);
extern List *operands(Node *clause);
extern List *bounds_of_pattern(Node *clause, Oid function, Oid collation);
extern Condition *boolean_condition(IndexDef *def, Node *expr, bool value, Index varno);

/* implied.c: comparisons that follow from any condition */
extern List *implied_conditions(PlannerInfo *root, IndexDef *def, Node *clause, Index varno, bool *unknown);
extern List *implied_by_elements(PlannerInfo *root, IndexDef *def, List *clauses, Index varno, bool *unknown);

/* json_path.c: those that follow from one in jsonpath */
extern Node *without_sql_json(Node *clause);
extern List *json_path_conditions(IndexDef *def, Node *clause, Index varno);

/* candidate.c: what an index table can do for a query of its fact table */
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
	Node	   *split;			/* the clause whose arm that is, or NULL */
	List	   *known;			/* what all rows that are asked for satisfy */
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

extern Candidate *consider_index_table(PlannerInfo *root, IndexDef *def, List *clauses, Index varno, List *used, const char **why);
extern bool is_used(Condition *condition, List *used);
extern bool are_of_query(List *conditions);
extern Candidate *consider_totals(IndexDef *def, List *clauses, Index varno);
extern AttrNumber column_of_candidate(Candidate *c, Node *expr);
extern bool has_column_value(Candidate *c, Node *expr, AttrNumber attno);
extern bool is_left_to_scan(Node *clause);
extern void set_order(PlannerInfo *root, RelOptInfo *rel, Candidate *c);
extern Node *sort_expression(Candidate *c, RelOptInfo *rel, PathKey *key, int position, bool *last);
extern bool is_complete_enough(Candidate *c, const char **why);

/* coverage.c: tells whether entries have all that a query needs of fact rows */
extern bool cover_scan(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *clauses);
extern PathTarget *target_of_entries(PlannerInfo *root, RelOptInfo *rel, Candidate *c);
extern PathTarget *target_of_expressions(PlannerInfo *root, RelOptInfo *rel, List *exprs);
extern bool cover_aggregates(PlannerInfo *root, Candidate *c, List *clauses, PathTarget *target);
extern bool is_checked_by_search(Candidate *c, RestrictInfo *rinfo);

/* elements.c: conditions on elements of arrays as conditions on documents */
extern List *subplan_clauses(PlannerInfo *root, SubPlan *subplan, Node *compared);
extern Node *with_elements(Node *node, List *rtable, Index varno, bool *failed);
extern Node *with_any_element(Node *clause, bool *may_be_member);
extern Node *column_of_function(RangeTblEntry *rte, AttrNumber attno);
extern List *choices_of(Node *node);
extern Node *replace_node(Node *node, void *nodes);
extern Node *whole_array_of(Node *arg);
extern List *lateral_clauses(PlannerInfo *root, Index varno);

/* explain.c: shows scans of index tables in EXPLAIN */
extern void explain_scan(CustomScanState *node, List *ancestors, ExplainState *es);
extern void explain_index_table(const char *label, Oid index_table, ExplainState *es);

/* fact_checks.c: tells what constraints of a fact table say of the documents in it */
extern bool check_says_not_null(IndexDef *def, Field *field);
extern bool check_says_array(IndexDef *def, Field *field);
extern bool snapshot_precedes_checks(Snapshot snapshot);

/* field_match.c: tells which field of an index table an expression of a query is */

/* By what an expression goes on from a value in a document. */
typedef enum StepKind
{
	STEP_NAME,					/* a member, or an element of this number */
	STEP_MEMBER,				/* a member only */
	STEP_ELEMENTS				/* each element */
} StepKind;

typedef bool (*StepVisitor) (void *arg, StepKind kind, const char *name, int len);

extern AttrNumber column_of_expression(IndexDef *def, Node *expr, Index varno);
extern uint32 values_read_otherwise(IndexDef *def, AttrNumber attno);
extern bool expression_is_field(IndexDef *def, Field *field, Node *expr, Index varno);
extern bool expression_is_element(IndexDef *def, Field *field, Node *expr, Index varno);
extern bool depends_on_json_path(Node *node, void *context);
extern bool expression_resembles_field(IndexDef *def, Field *field, Node *expr, Index varno);
extern bool expression_is_path(AttrNumber doc, PathStep *steps, int nsteps, Node *expr, Index varno, bool as_text);
extern Var *follow_path(Node *expr, StepVisitor visit, void *arg);
extern bool is_value_after(IndexDef *def, Field *field, int nsteps, Node *expr, Index varno);
extern bool is_text_of_field(IndexDef *def, Field *field, Node *expr, Index varno);
extern Field *field_of_column(IndexDef *def, AttrNumber attno);
extern Node *bare_value(Node *expr);
extern Oid	function_of(Node *expr, List **args);
extern Node *without_casts(Node *expr);
extern Node *below_conversion(Node *expr);

/* Has the planner and the executor know what this folder adds to them */

/* Each is called once, when the library is loaded; the kinds of scans are registered, too. */
extern void planner_statistics_init(void);
extern void unexpanded_init(void);
extern void path_init(void);
extern void aggregate_path_init(void);
extern void found_rows_init(void);

/*
 * missed.c: counts the conditions on fields of documents for which the planner has found no
 * index table, and finds the nearest one there is.
 */
extern const SharedPart missed_shared;
extern bool missed_is_kept(void);
extern void count_missed_fields(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);
extern const char *nearest_condition(RelOptInfo *rel, IndexDef *def);
extern void missed_forget(Oid fact);
extern bool may_see_missed(Oid fact);

/* query_table.c: tells which index tables may serve a table in a query */

/* A fact table in a query, and the index tables that may serve it. */
typedef struct Served
{
	FactDef    *fact;			/* pinned as long as the query is planned */
	bool		tested_again;	/* its rows are locked or written, and the
								 * executor may test newer versions of them */
	List	   *defs;			/* of IndexDef *, whose tables are locked */
	bool		system_columns; /* the query asks for some of the rows */
} Served;

/* The reason why an index table is not used that could be. */
#define REASON_COST	"another plan is estimated to cost less"

/* The same, of those that nothing in the query is about; see nearest_condition(). */
#define REASON_NO_ELEMENTS	"no condition selects elements of its multi-valued field"
#define REASON_NO_CONDITION	"no condition is on its first key field" REASON_NOT_WHOLE
#define REASON_NOT_WHOLE	", nor is the query sorted by it, and entries lack something that is asked for"

/* The same, of a table of totals. */
#define REASON_NO_AGGREGATE	"the query asks for no aggregates of its fact table alone"

/* How an index table is used. */
#define REASON_SEARCHED	"searched"
#define REASON_WHOLE	"read as a whole"
#define REASON_ADDED_UP	"its totals are added up"

/* What was thought of an index table, or of all those of a fact table. */
typedef struct Opinion
{
	Oid			fact;
	Oid			index_table;	/* InvalidOid: all */
	bool		used;
	const char *reason;			/* why not, or how */
} Opinion;

typedef struct Opinions
{
	List	   *list;			/* of Opinion *, ... */
	MemoryContext cxt;			/* ... in this */
} Opinions;

extern Opinions *opinions;		/* what is thought is noted there; or NULL */
extern int	cursor_options;		/* of the query that is planned */

extern bool may_be_served(PlannerInfo *root, Index rti);
extern bool find_served(PlannerInfo *root, Index rti, bool totals, Served *served);
extern const char *why_not_stale(Oid index_table, Oid user);
extern bool find_conditions(Node *from, Index varno, List **quals);
extern bool is_positionable(PlannerInfo *root, bool partitioned);
extern Query *query_of_table(RangeTblEntry *rte, List *targets, Node *quals);
extern PlannedStmt *plan_natively(Query *query, const char *text, ParamListInfo params);
extern bool is_planned_natively(void);
extern PlannedStmt *plan_without_index_tables(Query *query, ParamListInfo params);
extern bool is_explained(void);
extern void give_reason(Oid fact, Oid index_table, const char *reason);

/* path.c: gives the planner paths that read index tables, of several kinds */
extern const char *unfit_clauses(List *clauses);
extern Path *partial_path(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *clauses, Path *whole);

/*
 * or_path.c: for conditions that are joined by OR, and values whose entries are to come in
 * another order.
 */
extern void add_or_paths(PlannerInfo *root, RelOptInfo *rel, Served *served);
extern double estimate_or_entries(PlannerInfo *root, RelOptInfo *rel, Served *served, List *clauses);

/* and_path.c: which search several index tables, or one for several elements */
extern void add_and_paths(PlannerInfo *root, RelOptInfo *rel, Served *served, List *searches);

/* unexpanded_partitions.c: for tables whose partitions are not looked at */
extern PlannedStmt *plan_unexpanded(Query *query, ParamListInfo params);
extern bool is_unexpanded(RelOptInfo *rel);
extern void forget_dummy_path(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);
extern void add_last_resort(PlannerInfo *root, RelOptInfo *rel);

/* path_cost.c: estimates how many entries a scan of an index table reads, and what it costs */
extern void estimate_index_size(Candidate *c);
extern double estimate_share(PlannerInfo *root, Candidate *c, List *used);
extern void estimate_entries(PlannerInfo *root, RelOptInfo *rel, Candidate *c);
extern void estimate_cost(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *clauses, double loops, Path *path);
extern double parallel_divisor(int workers);
extern void finish_path(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *clauses, double loops, Path *path);
extern void prefer_if_forced(Path *path);
extern void show_real_costs(Path *path);
extern void note_sequential_scan(RelOptInfo *rel, Oid relid);
extern Cost estimate_searches(PlannerInfo *root, double tuples, double searches, double entries, bool entries_only);
extern void column_statistics(Oid index_table, Form_pg_attribute att, bool partitioned, double tuples,
							  VariableStatData *column);
extern void estimate_and(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *reading, double entries, Path *path);
extern double equal_share(VariableStatData *column, Oid operator, Oid collation, Node *value);

/* planner_statistics.c: lends the statistics of index tables to queries of their fact tables */
extern void lend_index(PlannerInfo *root, RelOptInfo *rel);

/* found_rows.c: the rows of statements that write or lock those of a partitioned fact table */
extern void replace_paths(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);

/*
 * statistics_source.c: the columns of index tables whose statistics are those of expressions
 * over a fact table.
 */
extern List *lenders_of(FactDef *fact, Node *expr, Index varno);
extern HeapTuple lent_statistics(List *lenders);
extern double table_rows(Oid relid);

/* totals_path.c: gives the planner paths that answer aggregates from tables of totals */
extern void add_totals_paths(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *grouped, UpperRelationKind stage);

/* The name that EXPLAIN shows. */
#define TOTALS_NAME		"IndexTableTotals"

/* The members of custom_private. */
enum
{
	TOTALS_TABLES,				/* OIDs: fact table, table of totals */
	TOTALS_NEEDS,				/* integers: how many fields must be complete,
								 * VALUE_BITS that rows must not have, and
								 * whether it is of totals */
	TOTALS_PLAN,				/* of the query of totals */
	TOTALS_FALLBACK				/* the query of the fact table */
};

/*
 * totals_replace.c: replaces what a query asks of the rows of a fact table by what groups of
 * totals have.
 */

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
extern Expr *then_check(Expr *first, Expr *second);
extern void fold_groups(Query *query, IndexDef *def, List *quals, bool fence);

/* totals_guard.c: keeps groups without rows from expressions that may raise an error */
extern bool shows_groups(Node *node, void *context);
extern List *take_safe_conditions(Query *query);

/* What a query of totals asks by parts of documents. */
extern bool find_unnested(PlannerInfo *root, RelOptInfo *input, RelOptInfo **rel, RelOptInfo **elements);
extern bool unnests_elements(IndexDef *def, RangeTblEntry *rte, Index varno);
extern List *equal_keys(IndexDef *def, Node *clause, Index varno, uint32 *unless);

#endif							/* INDEXTABLE_PLAN_H */
