/*-------------------------------------------------------------------------
 *
 * match.h
 *	  Offers what an expression of a query says about a field: the comparisons by which entries can be
 *	  searched, and their values.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_MATCH_H
#define INDEXTABLE_MATCH_H

#include "access/stratnum.h"
#include "nodes/pathnodes.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"
#include "utils/snapshot.h"

#include "../catalog/catalog.h"
#include "../indextable.h"

/* What came of a value that entries are to be searched by. */
typedef enum Taken
{
	TAKEN,
	TAKEN_NONE,					/* no entry can satisfy the condition */
	TAKEN_UNKNOWN				/* there is nothing to search for */
} Taken;

/* What a condition compares with. */
typedef enum Taking
{
	TAKE_AS_IS,					/* a value to search for */
	TAKE_NUMBER,				/* a number, of any type */
	TAKE_TEXT,					/* the text of the field */
	TAKE_JSON,					/* the value of the field, as jsonb */
	TAKE_CONTAINED,				/* jsonb that a document contains */
	TAKE_MEMBER,				/* an array that an array contains */
	TAKE_DAY,					/* a date or a time, near the field */
	TAKE_PREFIX,				/* a string in JSON that the field starts with */
	TAKE_NULL,					/* nothing: the field is NULL, ... */
	TAKE_NOT_NULL				/* ... or is not */
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
	bool		castable;		/* what it follows from is not true of a row
								 * whose text cannot be cast to the type of
								 * the field ... */
	bool		of_numbers;		/* ... unless that is a number in JSON */
	uint32		unless;			/* VALUE_BITS: entries tell which rows satisfy
								 * it, unless rows have such values */
	int			together;		/* number of comparisons that are exact
								 * together although each is lossy; 0 if there
								 * are none */
	int			nth;			/* which of these, from 0 */
	List	   *scope;			/* numbers of the elements of arrays that it
								 * is true of, each within the one before;
								 * NIL: of some element; see elements.c */
	RestrictInfo *rinfo;		/* NULL: the clause was not one yet */
} Condition;

/* implied.c: comparisons that follow from any condition */
extern List *implied_conditions(PlannerInfo *root, IndexDef *def, Node *clause, Index varno, bool *unknown);
extern bool is_deeply_nested(Node *clause);
extern List *implied_by_elements(PlannerInfo *root, IndexDef *def, List *clauses, Index varno, bool *unknown);
extern List *null_arms(PlannerInfo *root, List *defs, Node *clause, Index varno);
extern List *other_values(Oid equal, OpExpr *clause, Node **tested);
extern NullTest *null_test(Node *expr, NullTestType type);

/* search_condition.c: the comparisons that an index table can be searched by */
extern List *null_conditions(IndexDef *def, NullTest *test, Index varno);
extern List *compared_conditions(PlannerInfo *root, IndexDef *def, Node *clause, Index varno, bool *unknown);
extern bool is_searchable(IndexDef *def, Oid operator, Oid collation, Node *expr, Index varno);
extern Condition *boolean_condition(IndexDef *def, Node *expr, bool value, Index varno);

/* comparison.c: makes comparisons, of a value as it is or of what becomes of it */

/* mark_lossy: marks a comparison as one whose rows are checked, whatever others find */
static inline void
mark_lossy(Condition *condition)
{
	condition->lossy = true;
	condition->together = 0;
}

/* is_element_position: returns whether a column of the index, from 0, is a multi-valued field */
static inline bool
is_element_position(IndexDef *def, int position)
{
	return position < def->spec.nkeys ? def->spec.fields[position].spec->multi : position >= def->layout.nleading;
}

/*
 * mark_unwrapped
 *		Says of a comparison that jsonpath finds values within arrays, too, where the field is
 *		NULL or has another text.
 */
static inline void
mark_unwrapped(Condition *condition)
{
	condition->unless |= CONTAINER_BIT | PASSED_ARRAY_BIT;
}

extern Condition *make_comparison(IndexDef *def, int position, Oid operator, Oid collation, Node *value,
								  bool array);
extern Condition *make_conversion(IndexDef *def, int position, StrategyNumber strategy, Taking taking, int detail,
								  Node *value, bool array);
extern Condition *null_comparison(IndexDef *def, int position);
extern Condition *json_comparison(IndexDef *def, int position, StrategyNumber strategy, JsonbValue *scalar);
extern Condition *json_value_comparison(IndexDef *def, int position, StrategyNumber strategy, Node *json,
										Index varno);
extern Expr *json_constant(JsonbValue *scalar);
extern void mark_castable(IndexDef *def, Condition *condition);
extern bool is_value(Node *expr, Index varno);

/* pattern.c: LIKE, regular expressions and prefixes as ranges of texts */
extern List *pattern_range(IndexDef *def, Node *clause, Oid function, List *args, Index varno);
extern Condition *prefix_comparison(IndexDef *def, int position, StrategyNumber strategy, Node *json, Index varno);
extern List *bounds_of_pattern(Node *clause, Oid function, Oid collation);

/* contained.c: what jsonb contains: @>, ?, ?| and ?& */

/* The largest number of elements of an array that are each searched for. */
#define MAX_SEARCHED	4

extern List *contained_values(PlannerInfo *root, IndexDef *def, Node *whole, Node *json, bool array, Index varno,
							  bool *unknown);
extern List *element_exists(IndexDef *def, Oid function, List *args, Index varno);
extern List *presence_conditions(IndexDef *def, Oid function, List *args, Index varno);
extern List *absence_conditions(IndexDef *def, Node *clause, Index varno);
extern List *exact_if_text(IndexDef *def, List *conditions, Node *value);

/* elements.c: conditions on elements of arrays as conditions on documents */
extern List *tested_clauses(PlannerInfo *root, SubPlan *subplan);
extern List *all_tested_clauses(PlannerInfo *root, List *clauses, Index varno);
extern List *subplan_clauses(PlannerInfo *root, SubPlan *subplan, Node *compared);
extern Node *with_elements(Node *node, List *rtable, Index varno, bool *failed);
extern Node *with_any_element(Node *clause, Field *field, Index varno, bool *may_be_member);
extern Node *column_of_function(RangeTblEntry *rte, AttrNumber attno);
extern List *choices_of(Node *node);
extern Node *whole_array_of(Node *arg);
extern Node *element_of(Node *array);
extern List *lateral_clauses(PlannerInfo *root, Index varno);
extern int	new_scope(void);
extern List *within_scope(List *scope, int number);
extern bool is_same_element(IndexDef *def, Condition *condition, Condition *deepest);
extern bool is_of_deepest(IndexDef *def, Condition *condition);
extern bool are_of_same_element(Node *clause, Node *deepest);
extern void set_scope_of_clause(IndexDef *def, Node *clause, List *conditions);
extern int	number_of_arrays(Field *field);
extern bool is_of_elements(IndexDef *def, Condition *condition, List *functions);
extern bool unnest_elements(IndexDef *def, List *rtable, List *functions, Index varno);
extern bool asks_for_objects(RangeTblEntry *rte);
extern bool tells_objects(IndexDef *def);
extern List *with_single_elements(PathStep *steps, int nsteps, Const *json);

/* joined_values.c: values of other tables that elements are equal to */
extern List *quals_of_join(Node *node, Relids *joined);
extern SubLink *joined_values(PlannerInfo *root, PlannerInfo *subroot, List *quals, Relids joined, Node *expr);
extern bool is_joined_values(Node *expr);
extern double number_of_values(PlannerInfo *root, Node *array);

/* json_path.c: those that follow from one in jsonpath */
extern List *json_path_conditions(IndexDef *def, Node *clause, bool negated, Index varno);

/* path_steps.c: tells which steps an expression takes from a column to a value in its document */

/* By what an expression goes on from a value in a document. */
typedef enum StepKind
{
	STEP_NAME,					/* a member, or an element of this number */
	STEP_MEMBER,				/* a member only */
	STEP_ELEMENTS				/* each element */
} StepKind;

typedef bool (*StepVisitor) (void *arg, StepKind kind, const char *name, int len);

extern Var *follow_path(Node *expr, StepVisitor visit, void *arg);
extern bool depends_on_json_path(Node *node, void *context);
extern Oid	function_of(Node *expr, List **args);
extern List *operands(Node *clause);
extern Node *with_plain_paths(Node *node, void *context);
extern Node *replace_node(Node *node, void *nodes);

/* sql_json.c: reads SQL/JSON functions as functions of jsonb */
extern Node *without_sql_json(Node *clause);
extern Node *context_of_sql_json(Node *node);
extern Node *column_of_json_table(RangeTblEntry *rte, AttrNumber attno);

/* field_match.c: tells which field of an index table an expression of a query is */
extern AttrNumber column_of_expression(IndexDef *def, Node *expr, Index varno);
extern uint32 values_read_otherwise(IndexDef *def, AttrNumber attno);
extern bool expression_is_field(IndexDef *def, Field *field, Node *expr, Index varno);
extern bool may_be_field(Node *expr);
extern bool expression_is_element(IndexDef *def, Field *field, Node *expr, Index varno);
extern bool expression_resembles_field(IndexDef *def, Field *field, Node *expr, Index varno);
extern bool expression_is_path(AttrNumber doc, PathStep *steps, int nsteps, Node *expr, Index varno, bool as_text);
extern bool is_value_after(IndexDef *def, Field *field, int nsteps, Node *expr, Index varno);
extern bool is_array_of_field(Field *field, Node *expr, Index varno);
extern bool is_text_of_field(IndexDef *def, Field *field, Node *expr, Index varno);
extern Field *field_of_column(IndexDef *def, AttrNumber attno);
extern Node *bare_value(Node *expr);
extern Node *without_casts(Node *expr);
extern Node *below_conversion(Node *expr);

/* search_value.c: what entries are searched by, made of what a condition compares with */

extern List *array_constants(Const *constant);
extern Taken take_value(Field *field, Condition *condition, Datum value, Datum *result);
extern Taken take_values(Field *field, Condition *condition, Datum array, Datum **values, int *n);
extern bool contained_scalar(Field *field, int nsteps, Jsonb *json, JsonbValue *scalar);
extern bool is_json_null(Field *field, Taking taking, int detail, Const *constant);
extern bool contains_value(PlannerInfo *root, Field *field, int nsteps, Node *json);
extern bool only_string(const char *text, int len);
extern Condition *any_of(List *arms, int position);
extern List *constant_values(Node *array, int max);
extern Node *without_length(Node *expr, Node *value);
extern int	index_position_of(IndexDef *def, Node *operand, Index varno);
extern int	position_of_text(IndexDef *def, Node **expr, Node *value, Index varno);
extern int	count_only_texts(IndexDef *def, Field *field, Node *value, uint32 *unless);

/* scalar_value.c: what entries are searched by for a number, or a scalar in JSON */

extern bool is_integer_type(Oid type);
extern bool is_number_type(Oid type);
extern bool is_plain_type(Oid type);
extern bool is_castable_field(Field *field);
extern bool is_cast_alike(Field *field);
extern Taken take_scalar(Field *field, StrategyNumber strategy, JsonbValue *scalar, Datum *result);
extern Taken take_float(Field *field, int bits, StrategyNumber strategy, double value, Datum *result);
extern Taken take_bound(StrategyNumber strategy, double value, Datum *result);
extern Taken take_numeric(Field *field, StrategyNumber strategy, Numeric value, Datum *result);
extern bool number_of_field(IndexDef *def, Field *field, Node *expr, Index varno, int *bits, bool *lossy);
extern bool double_of_field(IndexDef *def, Field *field, Node *expr, Index varno, bool *lossy);
extern bool is_json_cast(IndexDef *def, Field *field, Node *expr, Index varno);
extern bool is_number_cast(IndexDef *def, Field *field, Node *expr, Index varno, bool *rounded, bool *lossy);
extern StrategyNumber number_strategy(Oid operator);

/* time_value.c: what entries are searched by for a date or a time of another type */
extern bool is_time_type(Oid type);
extern StrategyNumber time_strategy(Oid operator);
extern bool time_of_field(IndexDef *def, Field *field, Node *expr, Index varno, int *days);
extern Taken take_day(Field *field, StrategyNumber strategy, Oid from, int days, Datum value, Datum *result);

/* fact_checks.c: tells what constraints of a fact table say of the documents in it */
extern bool check_says_not_null(IndexDef *def, Field *field);
extern bool check_says_array(IndexDef *def, Field *field);
extern bool check_says_object(IndexDef *def, Field *field);
extern bool snapshot_precedes_checks(Snapshot snapshot);

#endif							/* INDEXTABLE_MATCH_H */
