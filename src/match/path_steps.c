/*-------------------------------------------------------------------------
 *
 * path_steps.c
 *	  Tells which steps an expression takes from a column to a value in its document, in all ways
 *	  in which SQL spells that.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/jsonpath.h"

#include "../expression/expression.h"
#include "match.h"

static bool visit_text(Datum name, StepKind kind, StepVisitor visit, void *arg);
static bool visit_array(ArrayType *names, StepVisitor visit, void *arg);
static bool visit_json_path(JsonPath *path, StepVisitor visit, void *arg);
static bool note_name(void *names, StepKind kind, const char *name, int len);

/*
 * follow_path
 *		Visits the steps that an expression takes from a column to a value in its document, or to the
 *		text of it; returns the column.  Returns NULL if it is no such expression, or if visit() has
 *		returned false, after which it visits none.
 */
Var *
follow_path(Node *expr, StepVisitor visit, void *arg)
{
	List	   *args;
	Oid			function = function_of(expr, &args);
	Var		   *column;
	Const	   *name;

	if (IsA(expr, SubscriptingRef))
	{
		SubscriptingRef *ref = (SubscriptingRef *) expr;

		if (ref->refcontainertype != JSONBOID || ref->refassgnexpr != NULL || ref->reflowerindexpr != NIL)
			return NULL;
		column = follow_path((Node *) ref->refexpr, visit, arg);
		foreach_ptr(Const, subscript, column == NULL ? NIL : ref->refupperindexpr)
		{
			char		digits[MAXINT8LEN + 1];

			if (subscript == NULL || !IsA(subscript, Const) || subscript->constisnull)
				return NULL;
			if (subscript->consttype == INT4OID ?
				!visit(arg, STEP_NAME, digits, pg_ltoa(DatumGetInt32(subscript->constvalue), digits)) :
				subscript->consttype != TEXTOID || !visit_text(subscript->constvalue, STEP_NAME, visit, arg))
				return NULL;
		}
		return column;
	}
	/* Between jsonb and json. */
	if (IsA(expr, CoerceViaIO))
	{
		Node	   *of = (Node *) ((CoerceViaIO *) expr)->arg;

		return (exprType(expr) == JSONOID || exprType(expr) == JSONBOID) &&
			(exprType(of) == JSONOID || exprType(of) == JSONBOID) ? follow_path(of, visit, arg) : NULL;
	}
	switch (function)
	{
		case InvalidOid:
			return IsA(expr, Var) ? (Var *) expr : NULL;
		case F_JSONB_OBJECT_FIELD:
		case F_JSONB_OBJECT_FIELD_TEXT:
		case F_JSONB_EXTRACT_PATH:
		case F_JSONB_EXTRACT_PATH_TEXT:
		case F_JSON_OBJECT_FIELD:
		case F_JSON_OBJECT_FIELD_TEXT:
		case F_JSON_EXTRACT_PATH:
		case F_JSON_EXTRACT_PATH_TEXT:
		case F_JSONB_PATH_QUERY_FIRST:
			break;
		case F_TO_JSONB:
			return exprType(linitial(args)) == JSONBOID ? follow_path(linitial(args), visit, arg) : NULL;
		case F_JSONB_ARRAY_ELEMENTS:
		case F_JSONB_ARRAY_ELEMENTS_TEXT:
			column = follow_path(linitial(args), visit, arg);
			return column != NULL && visit(arg, STEP_ELEMENTS, NULL, 0) ? column : NULL;
		default:
			return NULL;
	}
	name = lsecond(args);
	if (!IsA(name, Const) || name->constisnull)
		return NULL;
	column = follow_path(linitial(args), visit, arg);
	if (column == NULL)
		return NULL;
	if (function == F_JSONB_PATH_QUERY_FIRST)
		return visit_json_path(DatumGetJsonPathP(name->constvalue), visit, arg) ? column : NULL;
	if (name->consttype == TEXTARRAYOID)
		return visit_array(DatumGetArrayTypeP(name->constvalue), visit, arg) ? column : NULL;
	return visit_text(name->constvalue, STEP_MEMBER, visit, arg) ? column : NULL;
}

static bool
visit_text(Datum name, StepKind kind, StepVisitor visit, void *arg)
{
	return visit(arg, kind, VARDATA_ANY(DatumGetPointer(name)), VARSIZE_ANY_EXHDR(DatumGetPointer(name)));
}

static bool
visit_array(ArrayType *names, StepVisitor visit, void *arg)
{
	Datum	   *elements;
	bool	   *nulls;
	int			n;
	int			i;

	deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &n);
	for (i = 0; i < n && !nulls[i] && visit_text(elements[i], STEP_NAME, visit, arg); i++)
		;
	return i == n;
}

/*
 * visit_json_path
 *		Visits the steps of jsonb_path_query_first(document, path of members, …).
 *
 * Where a path meets an array, it goes on with the elements, while #> finds nothing there.  So
 * this is the same only in rows that have an entry, and depends_on_json_path() tells it.
 */
static bool
visit_json_path(JsonPath *path, StepVisitor visit, void *arg)
{
	JsonPathItem item;
	JsonPathItem next;

	jspInit(&item, path);
	if (item.type != jpiRoot)
		return false;
	for (; jspGetNext(&item, &next); item = next)
	{
		int			len;
		char	   *name = next.type == jpiKey ? jspGetString(&next, &len) : NULL;

		if (name == NULL || !visit(arg, STEP_MEMBER, name, len))
			return false;
	}
	return true;
}

/*
 * depends_on_json_path
 *		Returns whether an expression calls jsonb_path_query_first(), which may find a value in a
 *		row where a field, and so the entry, has none.
 */
bool
depends_on_json_path(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr) && ((FuncExpr *) node)->funcid == F_JSONB_PATH_QUERY_FIRST)
		return true;
	return expression_tree_walker(node, depends_on_json_path, context);
}

/*
 * function_of
 *		Returns the function that an expression calls, and the arguments; InvalidOid: none.
 */
Oid
function_of(Node *expr, List **args)
{
	Oid			function = InvalidOid;

	*args = NIL;
	if (IsA(expr, OpExpr))
	{
		set_opfuncid((OpExpr *) expr);
		function = ((OpExpr *) expr)->opfuncid;
		*args = ((OpExpr *) expr)->args;
	}
	else if (IsA(expr, FuncExpr))
	{
		function = ((FuncExpr *) expr)->funcid;
		*args = ((FuncExpr *) expr)->args;
	}
	return function;
}

/*
 * with_plain_paths
 *		Returns an expression with jsonb_extract_path() or jsonb_extract_path_text() in place of all
 *		other ways to follow the same path from a column.
 */
Node *
with_plain_paths(Node *node, void *context)
{
	List	   *names = NIL;
	Oid			type;
	Var		   *column;
	Datum	   *values;
	int			n = 0;

	if (node == NULL)
		return NULL;
	if (!IsA(node, OpExpr) && !IsA(node, FuncExpr) && !IsA(node, SubscriptingRef))
		return expression_tree_mutator(node, with_plain_paths, context);
	type = exprType(node);
	if ((type != TEXTOID && type != JSONBOID) || depends_on_json_path(node, NULL))
		return expression_tree_mutator(node, with_plain_paths, context);
	column = follow_path(node, note_name, &names);
	if (column == NULL || names == NIL || column->vartype != JSONBOID)
		return expression_tree_mutator(node, with_plain_paths, context);
	values = palloc(list_length(names) * sizeof(Datum));
	foreach_ptr(text, name, names)
		values[n++] = PointerGetDatum(name);
	return (Node *) makeFuncExpr(type == TEXTOID ? F_JSONB_EXTRACT_PATH_TEXT : F_JSONB_EXTRACT_PATH, type,
								 list_make2(copyObject(column),
											makeConst(TEXTARRAYOID, -1, InvalidOid, -1,
													  PointerGetDatum(construct_array(values, n, TEXTOID, -1,
																					  false, TYPALIGN_INT)),
													  false, false)),
								 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}

/*
 * note_name
 *		Adds the name of a member to a list of texts; returns false if an element might have
 *		the name, too, by other operators.
 */
static bool
note_name(void *names, StepKind kind, const char *name, int len)
{
	if (kind == STEP_ELEMENTS || (kind == STEP_MEMBER && is_subscript(pnstrdup(name, len))))
		return false;
	*(List **) names = lappend(*(List **) names, cstring_to_text_with_len(name, len));
	return true;
}

/*
 * replace_node
 *		Returns a copy of an expression with the second of two nodes in place of the first.
 */
Node *
replace_node(Node *node, void *nodes)
{
	return node == linitial(nodes) ? lsecond(nodes) : expression_tree_mutator(node, replace_node, nodes);
}

/* operands: returns the list of what a comparison compares, or of what NOT negates */
List *
operands(Node *clause)
{
	switch (nodeTag(clause))
	{
		case T_OpExpr:
			return ((OpExpr *) clause)->args;
		case T_ScalarArrayOpExpr:
			return ((ScalarArrayOpExpr *) clause)->args;
		case T_BoolExpr:
			return ((BoolExpr *) clause)->boolop == NOT_EXPR ? ((BoolExpr *) clause)->args : NIL;
		default:
			return NIL;
	}
}
