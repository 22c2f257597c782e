/*-------------------------------------------------------------------------
 *
 * expression.c
 *	  SQL expressions over a fact row: filters, and casts of plain columns.
 *
 * Called by definition.c to check and compile, by extract.c to evaluate.
 * Everything is parsed under search_path = pg_catalog, pg_temp, and evaluated
 * as the fact table's owner in a security-restricted operation if it calls
 * anything that is not the server's own.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "indextable.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parse_relation.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

struct RowExpr_
{
	Expr	   *expr;
	ExprState  *state;
	ExprContext *econtext;
	Oid			owner;
	bool		foreign;		/* calls functions that are not the server's own */
};

static Node *parse_over_fact(Relation fact, const char *text, Oid type, int32 typmod,
							 const char **column_names);
static Expr *plan_as(Expr *expr, Oid owner, ExprState **state);
static void check_columns(Relation fact, Node *expr);
static bool calls_foreign(Node *node, void *context);
static int	fix_search_path(void);

/*
 * expression_check_filter
 *		The filter in the form the catalog keeps, or an error a user understands.
 */
char *
expression_check_filter(Relation fact, const char *text)
{
	Node	   *expr;
	char	   *result;
	int			nestlevel = fix_search_path();

	expr = parse_over_fact(fact, text, BOOLOID, -1, NULL);
	check_columns(fact, expr);
	if (contain_mutable_functions((Node *) plan_as((Expr *) expr, fact->rd_rel->relowner, NULL)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("filter must not depend on anything but the fact row"),
				 errdetail("The filter \"%s\" calls a function that is not immutable.", text),
				 errhint("Use immutable functions and operators only, as in the predicate of a partial index.")));

	/* Deparsed, it names columns without the table and functions with their schema. */
	result = deparse_expression(expr, deparse_context_for(RelationGetRelationName(fact),
														  RelationGetRelid(fact)),
								false, false);
	AtEOXact_GUC(false, nestlevel);
	return result;
}

/*
 * expression_compile
 *		text, coerced to type, ready to be evaluated as owner.  column_names, if
 *		given, are the names text uses, by column number.
 */
RowExpression *
expression_compile(Relation fact, const char *text, Oid type, int32 typmod,
				   const char **column_names, Oid owner)
{
	RowExpression *result = palloc0(sizeof(RowExpression));
	int			nestlevel = fix_search_path();
	Node	   *expr = parse_over_fact(fact, text, type, typmod, column_names);

	check_columns(fact, expr);
	if (contain_mutable_functions(expr))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("expression \"%s\" depends on more than the fact row", text),
				 errdetail("It calls a function or a cast that is not immutable.")));
	result->owner = owner;
	result->foreign = calls_foreign(expr, NULL);
	result->econtext = CreateStandaloneExprContext();
	result->expr = plan_as((Expr *) expr, owner, &result->state);
	AtEOXact_GUC(false, nestlevel);
	return result;
}

/*
 * plan_as
 *		Plans an expression, and makes it executable if state is given, as owner:
 *		planning calls functions of constants, and who executes a function must
 *		be allowed to.
 */
static Expr *
plan_as(Expr *expr, Oid owner, ExprState **state)
{
	Oid			save_user;
	int			save_sec;

	GetUserIdAndSecContext(&save_user, &save_sec);
	SetUserIdAndSecContext(owner, save_sec | SECURITY_RESTRICTED_OPERATION);
	expr = expression_planner(expr);
	if (state != NULL)
		*state = ExecInitExpr(expr, NULL);
	SetUserIdAndSecContext(save_user, save_sec);
	return expr;
}

/*
 * expression_eval
 *		Sets *result, in the caller's memory context; false where it is NULL.
 */
bool
expression_eval(RowExpression *expr, TupleTableSlot *row, Datum *result)
{
	Oid			save_user;
	int			save_sec;
	int			nestlevel = 0;
	bool		isnull;

	expr->econtext->ecxt_scantuple = row;
	if (expr->foreign)
	{
		GetUserIdAndSecContext(&save_user, &save_sec);
		SetUserIdAndSecContext(expr->owner, save_sec | SECURITY_RESTRICTED_OPERATION);
		nestlevel = fix_search_path();
	}
	*result = ExecEvalExpr(expr->state, expr->econtext, &isnull);
	if (expr->foreign)
	{
		AtEOXact_GUC(false, nestlevel);
		SetUserIdAndSecContext(save_user, save_sec);
	}
	return !isnull;
}

/* expression_columns: the fact table's columns it reads, offset as pull_varattnos() does */
Bitmapset *
expression_columns(RowExpression *expr)
{
	Bitmapset  *columns = NULL;

	pull_varattnos((Node *) expr->expr, 1, &columns);
	return columns;
}

static Node *
replace_vars(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
		return (Node *) makeNullConst(((Var *) node)->vartype, -1, ((Var *) node)->varcollid);
	return expression_tree_mutator(node, replace_vars, context);
}

/*
 * expression_depends
 *		The expression without its columns, for the dependencies on functions
 *		and types.  A dependency on a column would make ALTER TABLE fail with an
 *		internal error.
 */
List *
expression_depends(RowExpression *expr)
{
	return list_make1(replace_vars((Node *) expr->expr, NULL));
}

static Node *
parse_over_fact(Relation fact, const char *text, Oid type, int32 typmod,
				const char **column_names)
{
	ParseState *pstate = make_parsestate(NULL);
	ParseNamespaceItem *item;
	ResTarget  *target;
	Alias	   *alias = NULL;
	Node	   *expr;
	int			i;

	target = parse_lone_expression("", text);
	if (target == NULL || target->name != NULL || target->indirection != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("\"%s\" is not a single SQL expression", text),
				 errhint("Write what would follow WHERE, over the columns of the fact table.")));

	if (column_names != NULL)
	{
		alias = makeAlias(RelationGetRelationName(fact), NIL);
		for (i = 0; i < RelationGetNumberOfAttributes(fact); i++)
			if (!TupleDescAttr(RelationGetDescr(fact), i)->attisdropped)
				alias->colnames = lappend(alias->colnames,
										  makeString(pstrdup(column_names[i])));
	}
	item = addRangeTableEntryForRelation(pstate, fact, AccessShareLock, alias, false, true);
	addNSItemToQuery(pstate, item, false, true, true);

	expr = transformExpr(pstate, target->val, EXPR_KIND_INDEX_PREDICATE);
	if (type == BOOLOID && typmod == -1)
		expr = coerce_to_boolean(pstate, expr, "filter");
	else
	{
		Node	   *coerced = coerce_to_target_type(pstate, expr, exprType(expr), type, typmod,
													COERCION_EXPLICIT, COERCE_EXPLICIT_CAST, -1);

		if (coerced == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_CANNOT_COERCE),
					 errmsg("cannot cast type %s to %s",
							format_type_be(exprType(expr)), format_type_be(type)),
					 errdetail("The expression is \"%s\".", text)));
		expr = coerced;
	}
	assign_expr_collations(pstate, expr);
	free_parsestate(pstate);
	return expr;
}

/* check_columns: refuses what a stored row version does not tell */
static void
check_columns(Relation fact, Node *expr)
{
	Bitmapset  *columns = NULL;
	int			i = -1;

	pull_varattnos(expr, 1, &columns);
	while ((i = bms_next_member(columns, i)) >= 0)
	{
		AttrNumber	attno = i + FirstLowInvalidHeapAttributeNumber;

		if (attno <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
					 errmsg("system columns and whole rows cannot be used in a filter")));
		if (is_virtual_column(TupleDescAttr(RelationGetDescr(fact), attno - 1)))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("virtual generated column \"%s\" cannot be used in an index table",
							NameStr(TupleDescAttr(RelationGetDescr(fact), attno - 1)->attname)),
					 errhint("Use the expression that generates it.")));
	}
}

static bool
is_foreign_function(Oid function, void *context)
{
	return function >= FirstNormalObjectId;
}

static bool
calls_foreign(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (check_functions_in_node(node, is_foreign_function, context))
		return true;
	return expression_tree_walker(node, calls_foreign, context);
}

/* fix_search_path: until AtEOXact_GUC() of the level it returns */
static int
fix_search_path(void)
{
	int			nestlevel = NewGUCNestLevel();

	set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
					  GUC_ACTION_SAVE, true, 0, false);
	return nestlevel;
}
