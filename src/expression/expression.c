/*-------------------------------------------------------------------------
 *
 * expression.c
 *	  Parses, checks, compiles and evaluates SQL expressions over a fact row: filters, fields
 *	  that are expressions, casts of columns, and what virtual columns stand for.
 *
 * Every expression is parsed under search_path = pg_catalog, pg_temp.  One that calls
 * anything that is not the server's own is evaluated as the fact table's owner, in a
 * security-restricted operation.
 *
 * What a user writes is parsed under the settings of that user's session, as in
 * CREATE INDEX ... WHERE.  Everything after that happens under the settings of
 * util/fixed_settings.c.  The text for the catalog is written under them, too, so that
 * every session reads its constants alike.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/transam.h"
#include "catalog/pg_language_d.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parse_relation.h"
#include "rewrite/rewriteHandler.h"
#include "rewrite/rewriteManip.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "../indextable.h"
#include "../util/as_owner.h"
#include "../util/fixed_settings.h"
#include "../util/sql.h"
#include "../util/while_set.h"
#include "expression.h"

struct RowExpr_
{
	Expr	   *parsed;
	Expr	   *expr;			/* the same, planned; NULL: only parsed */
	ExprState  *state;			/* NULL: to be made */
	ExprContext *econtext;
	MemoryContext state_cxt;	/* of both; NULL: there was none yet */
	Oid			owner;
	bool		users_code;		/* calls functions that are not the server's
								 * own */
	bool		apart;			/* is evaluated as the owner, under settings
								 * that are fixed for it each time */
	int			reads;			/* if not apart: the settings that it may
								 * depend on */
	bool		busy;			/* is being evaluated; only set if apart */
	List	   *code;			/* of CodeObject *: what it calls */
};

static bool eval(RowExpression *expr, TupleTableSlot *row, Datum *result);
static bool eval_fixed(RowExpression *expr, TupleTableSlot *row, Datum *result);
static bool eval_as_owner(RowExpression *expr, TupleTableSlot *row, Datum *result);
static bool eval_apart(RowExpression *expr, TupleTableSlot *row, Datum *result);
static void make_state(RowExpression *expr);
static void refuse_dropped_code(MemoryContext cxt);
static Node *parse_over_fact(Relation fact, const char *text, Oid type, int32 typmod,
							 const char **column_names);
static void compile(RowExpression *result, Relation fact, const char *text, bool given);
static void stored_context(void *arg);
static void check_columns(Relation fact, Node *expr);
static bool calls_users_code(Node *node, void *by_type);
static bool collect_code(Node *node, void *context);

/* expression_text: returns an expression as SQL, with the names that the columns have now */
char *
expression_text(Relation fact, RowExpression *expr)
{
	char	   *result;

	/* Columns have no table's name then, and functions their schemas. */
	AS_OWNER(fact->rd_rel->relowner);
	{
		result = deparse_expression((Node *) expr->parsed,
									deparse_context_for(RelationGetRelationName(fact),
														RelationGetRelid(fact)),
									false, false);
	}
	END_AS_OWNER();
	return result;
}

/*
 * expression_parse
 *		Returns the expression text, coerced to a type, or of its own type if that is InvalidOid,
 *		only parsed: it cannot be evaluated.  column_names, if not NULL, are the names that text
 *		uses for columns, by column number; given is whether it comes from a user, by whose
 *		settings constants are read.
 */
RowExpression *
expression_parse(Relation fact, const char *text, Oid type, int32 typmod, const char **column_names, bool given)
{
	RowExpression *result = palloc0(sizeof(RowExpression));

	result->owner = fact->rd_rel->relowner;
	AS_OWNER_WITH(result->owner, !given);
	{
		result->parsed = (Expr *) parse_over_fact(fact, text, type, typmod, column_names);
	}
	END_AS_OWNER();
	return result;
}

/* expression_compile: returns what expression_parse() does, checked and ready to be evaluated */
RowExpression *
expression_compile(Relation fact, const char *text, Oid type, int32 typmod, const char **column_names, bool given)
{
	RowExpression *result = expression_parse(fact, text, type, typmod, column_names, given);

	if (given)
		refuse_temporary(OidIsValid(type) ? "filter" : "field", text, (Node *) result->parsed);
	compile(result, fact, text, given);
	return result;
}

/* compile: checks an expression that has been parsed, and makes it ready to be evaluated */
static void
compile(RowExpression *result, Relation fact, const char *text, bool given)
{
	bool		by_type = false;

	AS_OWNER(result->owner);
	{
		/* A filter with a virtual column has been refused when it was given. */
		if (!given)
			result->parsed = (Expr *) expand_virtual_columns((Node *) result->parsed, fact);
		check_columns(fact, (Node *) result->parsed);
		result->users_code = calls_users_code((Node *) result->parsed, &by_type);

		/*
		 * Collect what it calls before planning, which inlines functions, and
		 * once more after it, because inlining may bring in domains.
		 */
		(void) collect_code((Node *) result->parsed, &result->code);
		result->expr = expression_planner(copyObject(result->parsed));
		(void) collect_code((Node *) result->expr, &result->code);
		if (contain_mutable_functions((Node *) result->expr))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
					 errmsg("expression \"%s\" must depend only on the fact row", text),
					 errdetail("It calls a function or a cast that is not immutable."),
					 errhint("Use immutable functions and operators only, as in the predicate of a partial index.")));
		result->reads = find_settings_read((Node *) result->expr, &result->apart);
		result->apart |= result->users_code;
		make_state(result);
	}
	END_AS_OWNER();
}

/*
 * make_state
 *		Makes what an expression is evaluated with, where the expression itself is, and frees
 *		what there was before.
 */
static void
make_state(RowExpression *expr)
{
	MemoryContext old;

	if (expr->state_cxt != NULL)
		MemoryContextDelete(expr->state_cxt);
	expr->state_cxt = NULL;
	expr->state_cxt = AllocSetContextCreate(GetMemoryChunkContext(expr), "indextable expression",
											ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(expr->state_cxt);
	expr->econtext = CreateStandaloneExprContext();
	expr->state = ExecInitExpr(expr->expr, NULL);
	MemoryContextSwitchTo(old);
}

/* An expression of a definition, for an error context callback. */
typedef struct StoredText
{
	const char *what;
	const char *text;
	Oid			index_table;
} StoredText;

/*
 * compile_stored
 *		Compiles a filter or an expression of a definition.  If the index table exists, an error
 *		tells that it is of this text, which had none when the index table was created.
 */
RowExpression *
compile_stored(IndexDef *def, Relation fact, const char *what, const char *sql, Oid type,
			   const char **column_names)
{
	StoredText	stored = {what, sql, def->relid};
	ErrorContextCallback callback = {.previous = error_context_stack,.callback = stored_context,.arg = &stored};
	RowExpression *result;

	if (OidIsValid(def->relid))
		error_context_stack = &callback;
	result = expression_parse(fact, sql, type, -1, column_names, false);
	/* This error has its own hint. */
	error_context_stack = callback.previous;
	require_recorded_code(def, what, sql, (Node *) result->parsed);
	if (OidIsValid(def->relid))
		error_context_stack = &callback;
	compile(result, fact, sql, false);
	error_context_stack = callback.previous;
	return result;
}

/*
 * stored_context
 *		Adds to an error which expression of which index table it is of; an error context
 *		callback.
 */
static void
stored_context(void *arg)
{
	StoredText *stored = arg;

	errcontext("%s \"%s\" of index table \"%s\"", stored->what, stored->text, get_rel_name(stored->index_table));
	if (geterrcode() == ERRCODE_AMBIGUOUS_FUNCTION)
		errhint("Drop or rename the function or operator of the same name that was created since, and REVOKE CREATE on its schema from who should not create such objects.");
	else if (geterrcode() != ERRCODE_QUERY_CANCELED)
		errhint("Undo the change of the objects that the %s uses, or run DROP TABLE %s;", stored->what,
				quoted_relation(stored->index_table));
}

/*
 * expression_calls_users_code
 *		Returns whether evaluating an expression runs functions that are not the server's own.
 */
bool
expression_calls_users_code(RowExpression *expr)
{
	return expr->users_code;
}

/*
 * expression_is_apart
 *		Returns whether an expression is evaluated as the owner, under settings that are fixed
 *		for it.
 */
bool
expression_is_apart(RowExpression *expr)
{
	return expr->apart;
}

/*
 * expression_is
 *		Returns whether an expression of a query over relation varno, which the planner has
 *		simplified, has the same value for each row, in every session, perhaps as unified() writes
 *		both.
 *
 * Functions of users are left out: they run as the owner, under other settings, when an entry
 * is written.
 */
bool
expression_is(RowExpression *expr, Node *node, Index varno, Node *(*unified) (Node *node, void *context))
{
	Node	   *own = (Node *) expr->expr;

	if (expr->apart || expr->reads != 0 || nodeTag(own) != nodeTag(node))
		return false;
	if (varno != 1)
	{
		own = copyObject(own);
		ChangeVarNodes(own, 1, varno, 0);
	}
	return equal(own, node) || equal(unified(own, NULL), unified(node, NULL));
}

/*
 * expression_parallel_safe
 *		Returns whether parallel workers may evaluate an expression that has been planned.
 */
bool
expression_parallel_safe(RowExpression *expr)
{
	PlannerInfo *root = makeNode(PlannerInfo);

	root->glob = makeNode(PlannerGlobal);
	return is_parallel_safe(root, (Node *) expr->expr);
}

/* expression_node: returns an expression as the parser has made it, over relation 1 */
Node *
expression_node(RowExpression *expr)
{
	return (Node *) expr->parsed;
}

/*
 * expression_eval
 *		Evaluates an expression over a row.  Sets *result, in the caller's memory context,
 *		and returns true; returns false where the result is NULL.
 */
bool
expression_eval(RowExpression *expr, TupleTableSlot *row, Datum *result)
{
	if (expr->apart)
		return eval_as_owner(expr, row, result);
	if (expr->reads != 0 && !are_settings_fixed(expr->reads))
		return eval_fixed(expr, row, result);
	return eval(expr, row, result);
}

static bool
eval(RowExpression *expr, TupleTableSlot *row, Datum *result)
{
	bool		isnull;

	expr->econtext->ecxt_scantuple = row;
	*result = ExecEvalExpr(expr->state, expr->econtext, &isnull);
	return !isnull;
}

/* eval_fixed: evaluates under fixed settings, in a session that has other ones */
static bool
eval_fixed(RowExpression *expr, TupleTableSlot *row, Datum *result)
{
	volatile bool found = false;

	WHILE_FIXED(found = eval(expr, row, result));
	return found;
}

/*
 * eval_as_owner
 *		Evaluates as the fact table's owner, under fixed settings, which functions of users
 *		see as well.
 */
static bool
eval_as_owner(RowExpression *expr, TupleTableSlot *row, Datum *result)
{
	bool		found;

	AS_OWNER(expr->owner);
	{
		found = eval_apart(expr, row, result);
	}
	END_AS_OWNER();
	return found;
}

/*
 * eval_apart
 *		Evaluates an expression that may call functions of users.
 *
 * Such a function may write the fact table, and so this function may be called again for
 * the same expression before it returns.  The inner call gets an expression state of its
 * own.
 *
 * After an error nobody may use the expression state again, because a function may have left in
 * it what is not valid any more, as PL/pgSQL does if a function that has been replaced cannot be
 * compiled.  The server itself never does so, but a drain goes on with the same definition.  So
 * the next evaluation makes another state.
 */
static bool
eval_apart(RowExpression *expr, TupleTableSlot *row, Datum *result)
{
	MemoryContext cxt = CurrentMemoryContext;
	RowExpression own;
	volatile bool found = false;
	bool		nested = expr->busy;

	if (!nested && expr->state == NULL)
		make_state(expr);
	own = *expr;
	PG_TRY();
	{
		expr->busy = true;
		if (nested)
		{
			own.econtext = CreateStandaloneExprContext();
			own.state = ExecInitExpr(expr->expr, NULL);
		}
		found = eval(&own, row, result);
		expr->busy = nested;
	}
	PG_CATCH();
	{
		expr->busy = nested;
		if (!nested)
			expr->state = NULL;
		refuse_dropped_code(cxt);
		PG_RE_THROW();
	}
	PG_END_TRY();
	return found;
}

/*
 * refuse_dropped_code
 *		Raises another error in PG_CATCH() if the server did not find a function or a type: the
 *		expression itself has dropped it while it was evaluated.
 */
static void
refuse_dropped_code(MemoryContext cxt)
{
	ErrorData  *error;

	if (geterrcode() != ERRCODE_INTERNAL_ERROR)
		return;
	MemoryContextSwitchTo(cxt);
	error = CopyErrorData();
	if (error->message_id == NULL || (strcmp(error->message_id, "cache lookup failed for function %u") != 0 &&
									  strcmp(error->message_id, "cache lookup failed for type %u") != 0))
		return;
	FlushErrorState();
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_IN_USE),
			 errmsg("an expression of an index table was dropped while it was being evaluated"),
			 errdetail("What it calls is gone: %s.", error->message)));
}

/*
 * expression_columns
 *		Returns the columns that an expression reads, offset as by pull_varattnos().
 */
Bitmapset *
expression_columns(RowExpression *expr)
{
	Bitmapset  *columns = NULL;

	pull_varattnos((Node *) expr->expr, 1, &columns);
	return columns;
}

/*
 * expression_code
 *		Returns the functions and domains of users that an expression uses (CodeObject *).
 */
List *
expression_code(RowExpression *expr)
{
	return expr->code;
}

/*
 * parse_over_fact
 *		Returns the expression text over a fact table's columns, coerced to a type; not if it
 *		is a field's.
 */
static Node *
parse_over_fact(Relation fact, const char *text, Oid type, int32 typmod,
				const char **column_names)
{
	ParseState *pstate = make_parsestate(NULL);
	ParseNamespaceItem *item;
	ParseContext context;
	ResTarget  *target;
	Alias	   *alias = NULL;
	bool		is_field = !OidIsValid(type);
	const char *what = is_field ? "field" : "filter";
	Node	   *expr;

	push_parse_context(&context, what, text, strlen("SELECT "), 0);
	target = parse_lone_expression("", text);
	if (target == NULL || target->name != NULL || target->indirection != NIL ||
		(IsA(target->val, ColumnRef) && IsA(llast(((ColumnRef *) target->val)->fields), A_Star)))
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("invalid %s: \"%s\" is not a single SQL expression", what, text),
				 is_field ? errhint("A field in parentheses is an SQL expression over the columns of the fact table, followed by AS and a name.") :
				 errhint("Write a condition on the columns of the fact table, as it would follow WHERE.")));

	if (column_names != NULL)
	{
		alias = makeAlias(RelationGetRelationName(fact), NIL);
		for (int i = 0; i < RelationGetNumberOfAttributes(fact); i++)
			if (!TupleDescAttr(RelationGetDescr(fact), i)->attisdropped)
				alias->colnames = lappend(alias->colnames,
										  makeString(pstrdup(column_names[i])));
	}
	item = addRangeTableEntryForRelation(pstate, fact, AccessShareLock, alias, false, true);
	addNSItemToQuery(pstate, item, false, true, true);

	expr = transformExpr(pstate, target->val, is_field ? EXPR_KIND_INDEX_EXPRESSION : EXPR_KIND_INDEX_PREDICATE);
	if (is_field)
	{
		if (exprType(expr) == UNKNOWNOID)
			expr = coerce_type(pstate, expr, UNKNOWNOID, TEXTOID, -1, COERCION_IMPLICIT, COERCE_IMPLICIT_CAST, -1);
		if (get_typtype(exprType(expr)) == TYPTYPE_PSEUDO)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("field \"%s\" has pseudo-type %s", text, format_type_be(exprType(expr))),
					 errhint("Cast the expression to a type.")));
	}
	else if (type == BOOLOID && typmod == -1)
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
	pop_parse_context(&context);
	return expr;
}

/* check_columns: refuses columns that are not in a stored row version */
static void
check_columns(Relation fact, Node *expr)
{
	Bitmapset  *columns = NULL;
	int			i = -1;

	pull_varattnos(expr, 1, &columns);
	while ((i = bms_next_member(columns, i)) >= 0)
	{
		AttrNumber	attno = i + FirstLowInvalidHeapAttributeNumber;
		List	   *context;

		if (attno <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
					 errmsg("system columns and whole rows cannot be used in a filter or a field")));
		context = deparse_context_for(RelationGetRelationName(fact), RelationGetRelid(fact));
		if (is_virtual_column(TupleDescAttr(RelationGetDescr(fact), attno - 1)))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("virtual generated column \"%s\" cannot be used in a filter or an expression",
							NameStr(TupleDescAttr(RelationGetDescr(fact), attno - 1)->attname)),
					 errhint("Use the expression that generates it: %s.",
							 quote_literal_cstr(deparse_expression(expand_virtual_columns(expr, fact),
																   context, false, false)))));
	}
}

/*
 * is_users_function
 *		Returns whether a function may run code of users; for check_functions_in_node().
 */
static bool
is_users_function(Oid function, void *context)
{
	/*
	 * This one opens a table of the user's choice, whose partition key is
	 * planned then.
	 */
	return function >= FirstNormalObjectId || function == F_SATISFIES_HASH_PARTITION;
}

/*
 * takes_only_enums
 *		Returns whether all arguments of a function are declared as enums, as those of
 *		comparisons are.
 */
static bool
takes_only_enums(Oid function)
{
	Oid		   *types;
	int			n;
	int			i = 0;

	(void) get_func_signature(function, &types, &n);
	while (i < n && types[i] == ANYENUMOID)
		i++;
	return i == n;
}

/*
 * looks_up_by_type
 *		Returns whether evaluating a node may look up code by the types of its arguments, as JSON_OBJECT() looks
 *		up their casts to json.
 *
 * Listed is what does not: it passes values on, or calls input and output functions, which only superusers make.
 * A function of the server whose arguments may have any type can do so as well.
 */
static bool
looks_up_by_type(Node *node)
{
	switch (nodeTag(node))
	{
		case T_FuncExpr:
			return !takes_only_enums(((FuncExpr *) node)->funcid);
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			return !takes_only_enums(get_opcode(((OpExpr *) node)->opno));
		case T_ScalarArrayOpExpr:
			return !takes_only_enums(get_opcode(((ScalarArrayOpExpr *) node)->opno));
		case T_RelabelType:
		case T_CoerceViaIO:
		case T_CollateExpr:
		case T_BoolExpr:
		case T_BooleanTest:
		case T_NullTest:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CoalesceExpr:
		case T_ArrayExpr:
		case T_SubscriptingRef:
		case T_FieldSelect:
			return false;
		default:
			return true;
	}
}

/*
 * calls_users_code
 *		Returns whether evaluating a node may run code that is not the server's own.
 *
 * by_type points to whether the node above may look up code by the type of this one.  A type that has a user's
 * type in it is a user's type itself; rows of no declared type have their columns among the nodes below.
 */
static bool
calls_users_code(Node *node, void *by_type)
{
	bool		below;

	if (node == NULL)
		return false;
	if (IsA(node, List))
		return expression_tree_walker(node, calls_users_code, by_type);
	if (check_functions_in_node(node, is_users_function, NULL))
		return true;
	if (*(bool *) by_type && exprType(node) >= FirstNormalObjectId)
		return true;
	switch (nodeTag(node))
	{
		case T_CoerceToDomain:
			return true;		/* the domain has checks */
		case T_ArrayCoerceExpr:
		case T_CoerceViaIO:
		case T_ConvertRowtypeExpr:
		case T_RowExpr:
#if PG_VERSION_NUM >= 160000
		case T_JsonConstructorExpr:
#endif
#if PG_VERSION_NUM >= 170000
		case T_JsonExpr:
#endif
			if (exprType(node) >= FirstNormalObjectId)
				return true;	/* its element or column may be a domain */
			break;
		default:
			break;
	}
	below = looks_up_by_type(node);
	return expression_tree_walker(node, calls_users_code, &below);
}

static List *
add_code(List *code, int cache, uint32 hash)
{
	CodeObject *object = palloc(sizeof(CodeObject));

	object->cache = cache;
	object->hash = hash;
	return lappend(code, object);
}

/*
 * add_code_function
 *		Returns a list of CodeObject * with a function added, unless it is the server's own.
 *
 * A function in SQL is added as "any function": when it is inlined, the planner calls
 * functions within it whose arguments are constants, and which ones cannot be told.
 */
List *
add_code_function(List *code, Oid function)
{
	HeapTuple	tuple;

	if (function < FirstNormalObjectId)
		return code;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return code;
	code = add_code(code, PROCOID, ((Form_pg_proc) GETSTRUCT(tuple))->prolang == SQLlanguageId ? 0 :
					GetSysCacheHashValue1(PROCOID, ObjectIdGetDatum(function)));
	ReleaseSysCache(tuple);
	return code;
}

/*
 * collect_function
 *		Adds a function to the list that context points to; for check_functions_in_node().
 */
static bool
collect_function(Oid function, void *context)
{
	*(List **) context = add_code_function(*(List **) context, function);
	return false;
}

/* base_of: returns the type that a domain is based on, or InvalidOid if the type is no domain */
static Oid
base_of(Oid type)
{
	return GetSysCacheOid1(TYPEOID, Anum_pg_type_typbasetype, ObjectIdGetDatum(type));
}

/*
 * collect_code
 *		Adds to the list that context points to what an expression uses that can be altered
 *		under it: functions, and domains, whose constraints are compiled in, or left out
 *		where there are none.  Operators and casts cannot be altered, and nothing that is in
 *		use can be dropped, but for casts to json, which a constructor of JSON looks up.
 */
static bool
collect_code(Node *node, void *context)
{
	List	  **code = context;
	Oid			type = InvalidOid;
	Oid			base;

	if (node == NULL)
		return false;
	(void) check_functions_in_node(node, collect_function, context);
	if (IsA(node, CoerceToDomain))
		type = ((CoerceToDomain *) node)->resulttype;
	else if (IsA(node, RelabelType))
		type = ((RelabelType *) node)->resulttype;
	for (; type >= FirstNormalObjectId && OidIsValid(base = base_of(type)); type = base)
		*code = add_code(*code, TYPEOID, GetSysCacheHashValue1(TYPEOID, ObjectIdGetDatum(type)));
#if PG_VERSION_NUM >= 160000
	foreach_ptr(Node, arg, IsA(node, JsonConstructorExpr) ? ((JsonConstructorExpr *) node)->args : NIL)
	{
		type = getBaseType(exprType(arg));
		if (type >= FirstNormalObjectId)
			*code = add_code(*code, CASTSOURCETARGET,
							 GetSysCacheHashValue2(CASTSOURCETARGET, ObjectIdGetDatum(type),
												   ObjectIdGetDatum(JSONOID)));
	}
#endif
	return expression_tree_walker(node, collect_code, context);
}
