/*-------------------------------------------------------------------------
 *
 * candidate.c
 *	  Finds out which of a query's conditions an index table can be searched by, and whether
 *	  it has an entry for every row that the query asks for.
 *
 * Entries are found as by a btree on the key fields and the primary key of the fact table: by
 * equality with the leading columns, and by a range of the next one.  One of the equalities may
 * be with any of several values; then there are several searches.
 *
 * A row that lacks one of the key fields has no entry.  So each key field has to be known not to
 * be NULL: by a condition of the query that is not true otherwise, or by a constraint of the
 * fact table.  What is not known when the query is planned is left to the record of rows
 * without entries, which is read when the scan starts.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "../catalog/completeness.h"
#include "../definition/expression.h"
#include "candidate.h"
#include "fact_checks.h"
#include "field_match.h"

/* What is asked of each clause; see null_rejecting(). */
typedef struct Column
{
	IndexDef   *def;
	AttrNumber	attno;
	Index		varno;
} Column;

static Node *clause_of(Node *clause);
static bool filter_is_implied(IndexDef *def, List *clauses, Index varno);
static List *conditions_of(IndexDef *def, Node *clause, Relation fact, Index varno);
static int	position_of(IndexDef *def, Node *operand, Index varno);
static Condition *comparison(IndexDef *def, int position, Oid operator, Oid collation, Node *value, bool array);
static bool is_value(Node *expr, Index varno);
static bool mentions_relation(Node *node, void *varno);
static List *contained_values(IndexDef *def, OpExpr *clause, Index varno);
static List *element_exists(IndexDef *def, OpExpr *clause, Relation fact, Index varno);
static Const *contained_value(Field *field, int nsteps, Jsonb *json);
static bool find_contained(JsonbContainer *container, PathStep *steps, int nsteps, JsonbValue *result);
static int	count_not_null(IndexDef *def, List *conditions, List *clauses, Relation fact, Index varno);
static bool rejects_null(Node *clause, Column *column);
static bool null_if_null(Node *node, Column *column);
static bool any_null_if_null(List *args, Column *column);

/* clause_of: returns the expression of a clause, which may be a RestrictInfo */
static Node *
clause_of(Node *clause)
{
	return IsA(clause, RestrictInfo) ? (Node *) ((RestrictInfo *) clause)->clause : clause;
}

/*
 * consider_index_table
 *		Returns what an index table can do for clauses that all rows have to satisfy; they are
 *		RestrictInfos, or expressions before those are made.  Returns NULL if it cannot be used,
 *		and a reason in *why.
 */
Candidate *
consider_index_table(IndexDef *def, List *clauses, Relation fact, Index varno, const char **why)
{
	Candidate  *c;
	List	   *found = NIL;
	bool		array = false;
	ListCell   *cell;
	int			position;

	if (!def->active)
	{
		*why = "it is not active";
		return NULL;
	}
	if (def->filter != NULL && !filter_is_implied(def, clauses, varno))
	{
		*why = "its filter does not follow from the conditions";
		return NULL;
	}
	foreach(cell, clauses)
	{
		Node	   *clause = lfirst(cell);
		ListCell   *inner;

		if (IsA(clause, RestrictInfo) && ((RestrictInfo *) clause)->pseudoconstant)
			continue;
		foreach(inner, conditions_of(def, clause_of(clause), fact, varno))
		{
			Condition  *condition = lfirst(inner);

			condition->rinfo = IsA(clause, RestrictInfo) ? (RestrictInfo *) clause : NULL;
			found = lappend(found, condition);
		}
	}
	c = palloc0(sizeof(Candidate));
	c->def = def;
	c->varno = varno;
	c->order_from = -1;
	for (position = 0; position < def->nsearch; position++)
	{
		Condition  *equal = NULL;
		Condition  *lower = NULL;
		Condition  *upper = NULL;

		foreach(cell, found)
		{
			Condition  *condition = lfirst(cell);

			if (condition->position != position)
				continue;
			if (condition->strategy == BTEqualStrategyNumber)
			{
				if (condition->array && array)
					continue;

				/*
				 * One value is better than several, and exact better than
				 * lossy.
				 */
				if (equal == NULL || (equal->array && !condition->array) ||
					(equal->array == condition->array && equal->lossy && !condition->lossy))
					equal = condition;
			}
			else if (condition->strategy > BTEqualStrategyNumber)
				lower = condition;
			else
				upper = condition;
		}
		if (equal == NULL)
		{
			if (lower != NULL)
				c->conditions = lappend(c->conditions, lower);
			if (upper != NULL)
				c->conditions = lappend(c->conditions, upper);
			break;
		}
		c->conditions = lappend(c->conditions, equal);
		c->nequal++;
		if (equal->array)
		{
			array = true;
			c->order_from = position;
		}
	}
	if (c->order_from < 0)
		c->order_from = c->nequal;

	/* A row would come once for each of its elements. */
	if (def->multi_field >= c->nequal)
	{
		*why = "no condition selects one element of its multi-valued field";
		return NULL;
	}
	c->not_null = count_not_null(def, c->conditions, clauses, fact, varno);
	return c;
}

/* is_complete_enough: returns whether an index table has entries for all rows, as far as the query depends on it */
bool
is_complete_enough(Candidate *c, const char **why)
{
	if (index_table_complete(c->def, c->not_null, NULL))
		return true;
	*why = "some rows may have no entry, which the conditions do not rule out";
	return false;
}

/*
 * filter_is_implied
 *		Returns whether all rows that satisfy the clauses satisfy an index table's filter.  The
 *		filter is evaluated under fixed settings, so it must not depend on any.
 */
static bool
filter_is_implied(IndexDef *def, List *clauses, Index varno)
{
	Node	   *filter = expression_node(def->filter);
	List	   *predicate;

	if (filter == NULL || contain_mutable_functions(filter) || expression_calls_users_code(def->filter))
		return false;
	filter = copyObject(filter);
	ChangeVarNodes(filter, 1, varno, 0);
	predicate = make_ands_implicit((Expr *) canonicalize_qual((Expr *) eval_const_expressions(NULL, filter), false));
	return predicate_implied_by(predicate, clauses, false);
}

/* conditions_of: returns the comparisons of columns of the index that follow from a clause */
static List *
conditions_of(IndexDef *def, Node *clause, Relation fact, Index varno)
{
	Condition  *condition = NULL;

	if (IsA(clause, OpExpr) && list_length(((OpExpr *) clause)->args) == 2)
	{
		OpExpr	   *op = (OpExpr *) clause;
		Node	   *left = linitial(op->args);
		Node	   *right = lsecond(op->args);
		int			position;

		if (op->opfuncid == F_JSONB_CONTAINS)
			return contained_values(def, op, varno);
		if (op->opfuncid == F_JSONB_EXISTS)
			return element_exists(def, op, fact, varno);
		if ((position = position_of(def, left, varno)) >= 0 && is_value(right, varno))
			condition = comparison(def, position, op->opno, op->inputcollid, right, false);
		else if ((position = position_of(def, right, varno)) >= 0 && is_value(left, varno))
			condition = comparison(def, position, get_commutator(op->opno), op->inputcollid, left, false);
	}
	else if (IsA(clause, ScalarArrayOpExpr) && ((ScalarArrayOpExpr *) clause)->useOr)
	{
		ScalarArrayOpExpr *op = (ScalarArrayOpExpr *) clause;
		int			position = position_of(def, linitial(op->args), varno);

		if (position >= 0 && is_value(lsecond(op->args), varno))
			condition = comparison(def, position, op->opno, op->inputcollid, lsecond(op->args), true);
		if (condition != NULL && condition->strategy != BTEqualStrategyNumber)
			condition = NULL;
	}
	return condition != NULL ? list_make1(condition) : NIL;
}

/* position_of: returns the position in the index of the column that has the value of an operand, or -1 */
static int
position_of(IndexDef *def, Node *operand, Index varno)
{
	AttrNumber	attno = column_of_expression(def, operand, varno);
	int			i;

	/* The same bytes, called another type: a varchar is compared as text. */
	if (attno == 0 && IsA(operand, RelabelType))
		attno = column_of_expression(def, (Node *) ((RelabelType *) operand)->arg, varno);
	if (attno == 0)
		return -1;
	for (i = 0; i < def->nsearch; i++)
	{
		if (def->search[i] == attno)
			return i;
	}
	return -1;
}

/*
 * comparison
 *		Returns the comparison of a column with a value by an operator, if the btree knows the
 *		operator; otherwise NULL.  What is equal by one deterministic collation is equal by all
 *		of them.
 */
static Condition *
comparison(IndexDef *def, int position, Oid operator, Oid collation, Node *value, bool array)
{
	Form_pg_attribute att = TupleDescAttr(def->desc, def->search[position] - 1);
	Oid			family = lookup_type_cache(att->atttypid, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	Condition  *condition;
	int			strategy;
	Oid			left;
	Oid			right;

	if (!OidIsValid(operator) || !OidIsValid(family) || !op_in_opfamily(operator, family))
		return NULL;
	get_op_opfamily_properties(operator, family, false, &strategy, &left, &right);
	if (OidIsValid(att->attcollation) && collation != att->attcollation &&
		(strategy != BTEqualStrategyNumber || !OidIsValid(collation) ||
		 !get_collation_isdeterministic(collation) || !get_collation_isdeterministic(att->attcollation)))
		return NULL;
	condition = palloc0(sizeof(Condition));
	condition->position = position;
	condition->strategy = strategy;
	condition->operator = operator;
	condition->subtype = right;
	condition->value = (Expr *) value;
	condition->array = array;
	return condition;
}

/* is_value: returns whether an expression can be evaluated before the fact table is read */
static bool
is_value(Node *expr, Index varno)
{
	return !mentions_relation(expr, &varno) && !contain_volatile_functions(expr) && !contain_subplans(expr);
}

static bool
mentions_relation(Node *node, void *varno)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varno == (int) *(Index *) varno && ((Var *) node)->varlevelsup == 0;
	/* What is evaluated elsewhere may be NULL above an outer join. */
	if (IsA(node, PlaceHolderVar))
		return true;
	return expression_tree_walker(node, mentions_relation, varno);
}

/*
 * contained_values
 *		Returns equalities of key fields that follow from doc -> 'tags' @> '["x"]' and the like:
 *		a document that contains the constant has the strings in it at the same paths.  They are
 *		lossy, because the field's text is the same for the string "5" and the number 5.
 */
static List *
contained_values(IndexDef *def, OpExpr *clause, Index varno)
{
	Const	   *constant = lsecond(clause->args);
	List	   *result = NIL;
	int			i;

	if (!IsA(constant, Const) || constant->constisnull)
		return NIL;
	for (i = 0; i < def->nkeys && i < def->nsearch; i++)
	{
		Field	   *field = &def->fields[i];
		int			nsteps;

		if (field->fact_attno != 0 || field->type != TEXTOID)
			continue;
		for (nsteps = 0; nsteps <= field->plain_steps; nsteps++)
		{
			Const	   *value;
			Condition  *condition;

			if (!expression_is_path(def->fact, def->fact->doc_attno[def->docno], field->spec->steps, nsteps,
									linitial(clause->args), varno))
				continue;
			value = contained_value(field, nsteps, DatumGetJsonbP(constant->constvalue));
			if (value == NULL)
				break;
			condition = comparison(def, i, TextEqualOperator, DEFAULT_COLLATION_OID, (Node *) value, false);
			if (condition != NULL)
			{
				condition->lossy = true;
				result = lappend(result, condition);
			}
			break;
		}
	}
	return result;
}

/*
 * element_exists
 *		Returns the equality that follows from doc -> 'tags' ? 'x', if a constraint says that
 *		it is an array.  Of an object the operator looks at the names of the members.
 */
static List *
element_exists(IndexDef *def, OpExpr *clause, Relation fact, Index varno)
{
	Field	   *field;
	AttrNumber	doc = def->fact->doc_attno[def->docno];
	Condition  *condition;

	if (def->multi_field < 0 || def->multi_field >= def->nsearch || !is_value(lsecond(clause->args), varno))
		return NIL;
	field = &def->fields[def->multi_field];
	if (field->type != TEXTOID || field->spec->nsteps != field->plain_steps + 1 ||
		!expression_is_path(def->fact, doc, field->spec->steps, field->plain_steps, linitial(clause->args), varno) ||
		!check_says_array(def->fact, fact, doc, field->spec->steps, field->plain_steps))
		return NIL;
	condition = comparison(def, def->multi_field, TextEqualOperator, DEFAULT_COLLATION_OID, lsecond(clause->args), false);
	if (condition == NULL)
		return NIL;
	condition->lossy = true;
	return list_make1(condition);
}

/* contained_value: returns the string that a document has in a field if it contains json after nsteps of the path */
static Const *
contained_value(Field *field, int nsteps, Jsonb *json)
{
	JsonbValue	value;

	if (JB_ROOT_IS_SCALAR(json))
	{
		/*
		 * An array contains the scalars that are its elements, and a scalar
		 * itself.
		 */
		if (nsteps != field->spec->nsteps - 1 || !field->spec->steps[nsteps].wildcard)
			return NULL;
		(void) JsonbExtractScalar(&json->root, &value);
	}
	else if (!find_contained(&json->root, field->spec->steps + nsteps, field->spec->nsteps - nsteps, &value))
		return NULL;
	if (value.type != jbvString)
		return NULL;
	return makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
					 PointerGetDatum(cstring_to_text_with_len(value.val.string.val, value.val.string.len)),
					 false, false);
}

/*
 * find_contained
 *		Finds a scalar at the end of a path.  A number in the path may be that of an element,
 *		which containment does not tell.
 */
static bool
find_contained(JsonbContainer *container, PathStep *steps, int nsteps, JsonbValue *result)
{
	JsonbValue *value;
	int			i;

	if (nsteps == 0)
		return false;
	if (steps[0].wildcard)
	{
		if (!JsonContainerIsArray(container))
			return false;
		for (i = 0; i < (int) JsonContainerSize(container); i++)
		{
			value = getIthJsonbValueFromContainer(container, i);
			if (value->type == jbvBinary ? find_contained(value->val.binary.data, steps + 1, nsteps - 1, result) :
				nsteps == 1)
			{
				if (value->type != jbvBinary)
					*result = *value;
				return true;
			}
		}
		return false;
	}
	if (!JsonContainerIsObject(container) || steps[0].is_index)
		return false;
	value = getKeyJsonValueFromContainer(container, steps[0].name, steps[0].len, NULL);
	if (value == NULL)
		return false;
	if (value->type == jbvBinary)
		return find_contained(value->val.binary.data, steps + 1, nsteps - 1, result);
	*result = *value;
	return nsteps == 1;
}

/* count_not_null: returns how many leading key fields are not NULL in any row that satisfies clauses and constraints */
static int
count_not_null(IndexDef *def, List *conditions, List *clauses, Relation fact, Index varno)
{
	int			i;

	for (i = 0; i < def->nkeys; i++)
	{
		Column		column = {.def = def,.attno = def->fields[i].attno,.varno = varno};
		bool		proven = check_says_not_null(def->fact, fact, def, &def->fields[i]);
		ListCell   *cell;

		foreach(cell, conditions)
			proven = proven || ((Condition *) lfirst(cell))->position == i;
		foreach(cell, clauses)
			proven = proven || rejects_null(clause_of(lfirst(cell)), &column);
		if (!proven)
			break;
	}
	return i;
}

/* rejects_null: returns whether a condition is false or NULL wherever a column is NULL */
static bool
rejects_null(Node *clause, Column *column)
{
	ListCell   *cell;

	if (IsA(clause, BoolExpr) && ((BoolExpr *) clause)->boolop != NOT_EXPR)
	{
		bool		or = ((BoolExpr *) clause)->boolop == OR_EXPR;

		foreach(cell, ((BoolExpr *) clause)->args)
		{
			if (rejects_null(lfirst(cell), column) != or)
				return !or;
		}
		return or;
	}
	if (IsA(clause, NullTest))
		return ((NullTest *) clause)->nulltesttype == IS_NOT_NULL && !((NullTest *) clause)->argisrow &&
			null_if_null((Node *) ((NullTest *) clause)->arg, column);
	if (IsA(clause, BooleanTest))
		return (((BooleanTest *) clause)->booltesttype == IS_TRUE || ((BooleanTest *) clause)->booltesttype == IS_FALSE) &&
			null_if_null((Node *) ((BooleanTest *) clause)->arg, column);
	/* Without any element it is false. */
	if (IsA(clause, ScalarArrayOpExpr))
		return ((ScalarArrayOpExpr *) clause)->useOr && op_strict(((ScalarArrayOpExpr *) clause)->opno) &&
			null_if_null(linitial(((ScalarArrayOpExpr *) clause)->args), column);
	return null_if_null(clause, column);
}

/* null_if_null: returns whether an expression is NULL wherever a column is NULL */
static bool
null_if_null(Node *node, Column *column)
{
	if (column_of_expression(column->def, node, column->varno) == column->attno)
		return true;
	switch (nodeTag(node))
	{
		case T_OpExpr:
			return op_strict(((OpExpr *) node)->opno) && any_null_if_null(((OpExpr *) node)->args, column);
		case T_FuncExpr:
			return !((FuncExpr *) node)->funcretset && func_strict(((FuncExpr *) node)->funcid) &&
				any_null_if_null(((FuncExpr *) node)->args, column);
		case T_RelabelType:
			return null_if_null((Node *) ((RelabelType *) node)->arg, column);
		case T_CoerceViaIO:
			return null_if_null((Node *) ((CoerceViaIO *) node)->arg, column);
		case T_BoolExpr:
			return ((BoolExpr *) node)->boolop == NOT_EXPR && any_null_if_null(((BoolExpr *) node)->args, column);
		default:
			return false;
	}
}

static bool
any_null_if_null(List *args, Column *column)
{
	ListCell   *cell;

	foreach(cell, args)
	{
		if (null_if_null(lfirst(cell), column))
			return true;
	}
	return false;
}
