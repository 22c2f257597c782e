/*-------------------------------------------------------------------------
 *
 * sql_json.c
 *	  Reads SQL/JSON functions, JSON_EXISTS(), JSON_VALUE(), JSON_QUERY() and JSON_TABLE(), as those of jsonb that
 *	  find the same.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonpath.h"
#include "utils/lsyscache.h"

#include "../expression/expression.h"
#include "match.h"

#if PG_VERSION_NUM >= 170000
static Node *element_at(Node *document, JsonPath *path);
static Node *as_jsonb_function(JsonExpr *json, Node *clause);
static bool is_read_from_text(Oid type);
static bool is_equal_to_other_text(Node *clause);
static bool yields_nothing(JsonBehavior *behavior);
#endif

/*
 * without_sql_json
 *		Returns a condition with the functions of jsonb in place of SQL/JSON functions: it is true
 *		wherever the condition is.  Returns the condition itself if it has none that is known.
 *
 * JSON_VALUE() returns the text of the only value that its path finds, if that is a scalar, cast
 * by the type's input function, and JSON_QUERY() the value itself; both return NULL if there
 * is none, or several.  So what they return is what jsonb_path_query_first() does.
 */
Node *
without_sql_json(Node *clause)
{
#if PG_VERSION_NUM >= 170000
	if (IsA(clause, JsonExpr))
		return as_jsonb_function((JsonExpr *) clause, NULL);
	foreach_ptr(Node, operand, operands(clause))
	{
		if (IsA(operand, JsonExpr))
			return replace_node(clause, list_make2(operand, as_jsonb_function((JsonExpr *) operand, clause)));
	}
#endif
	return clause;
}

/*
 * context_of_sql_json
 *		Returns what an SQL/JSON function is called with, the document, or NULL if an expression is none.
 */
Node *
context_of_sql_json(Node *node)
{
#if PG_VERSION_NUM >= 170000
	if (IsA(node, JsonExpr))
		return ((JsonExpr *) node)->formatted_expr;
#endif
	return NULL;
}

/*
 * column_of_json_table
 *		Returns an expression that has the value of a column of JSON_TABLE() over each element of an array,
 *		or NULL if it is something else.
 *
 * $.lines[*] finds the elements that jsonb_array_elements(doc -> 'lines') returns, and others where it meets
 * something else than objects and one array: the column is an SQL/JSON function, whose path does so, too.
 */
Node *
column_of_json_table(RangeTblEntry *rte, AttrNumber attno)
{
#if PG_VERSION_NUM >= 170000
	TableFunc  *table = rte->tablefunc;
	JsonTablePathScan *rows = (JsonTablePathScan *) table->plan;
	JsonExpr   *document = (JsonExpr *) table->docexpr;
	JsonExpr   *column;
	Node	   *element;

	if (table->functype != TFT_JSON_TABLE || !IsA(rows, JsonTablePathScan) || document->passing_values != NIL ||
		attno < rows->colMin + 1 || attno > rows->colMax + 1)
		return NULL;
	column = list_nth(table->colvalexprs, attno - 1);
	if (column == NULL || !IsA(column, JsonExpr) || exprType(document->formatted_expr) != JSONBOID ||
		exprType(column->formatted_expr) != JSONBOID)
		return NULL;
	element = element_at(document->formatted_expr, DatumGetJsonPathP(rows->path->value->constvalue));
	return element == NULL ? NULL : replace_node((Node *) column, list_make2(column->formatted_expr, element));
#else
	return NULL;
#endif
}

#if PG_VERSION_NUM >= 170000
/*
 * element_at
 *		Returns a call of jsonb_array_elements() for the array at a path of members that ends with [*], or NULL
 *		if it is another path.
 */
static Node *
element_at(Node *document, JsonPath *path)
{
	JsonPathItem item;
	JsonPathItem next;
	FuncExpr   *element;

	jspInit(&item, path);
	if ((path->header & JSONPATH_LAX) == 0 || item.type != jpiRoot)
		return NULL;
	for (; jspGetNext(&item, &next) && next.type == jpiKey; item = next)
	{
		int			len;
		char	   *name = jspGetString(&next, &len);
		Const	   *member = makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
									   PointerGetDatum(cstring_to_text_with_len(name, len)), false, false);

		document = (Node *) makeFuncExpr(F_JSONB_OBJECT_FIELD, JSONBOID, list_make2(document, member), InvalidOid,
										 InvalidOid, COERCE_EXPLICIT_CALL);
	}
	if (!jspHasNext(&item) || next.type != jpiAnyArray || jspHasNext(&next))
		return NULL;
	element = makeFuncExpr(F_JSONB_ARRAY_ELEMENTS, JSONBOID, list_make1(document), InvalidOid, InvalidOid,
						   COERCE_EXPLICIT_CALL);
	element->funcretset = true;
	return (Node *) element;
}

/*
 * as_jsonb_function
 *		Returns an expression of functions of jsonb with the value that an SQL/JSON function has
 *		where a condition with it is true, or the function itself.
 *
 * To JSON_VALUE() the text of true is t, and of false f.
 */
static Node *
as_jsonb_function(JsonExpr *json, Node *clause)
{
	Oid			type = json->returning->typid;
	bool		exists = json->op == JSON_EXISTS_OP;
	Node	   *result;
	CoerceViaIO *cast;

	if (json->passing_values != NIL || exprType(json->formatted_expr) != JSONBOID ||
		json->returning->typmod != -1 || !yields_nothing(json->on_error) ||
		(!exists && !yields_nothing(json->on_empty)))
		return (Node *) json;
	result = (Node *) makeFuncExpr(exists ? F_JSONB_PATH_EXISTS : F_JSONB_PATH_QUERY_FIRST,
								   exists ? BOOLOID : JSONBOID,
								   list_make4(json->formatted_expr, json->path_spec,
											  makeConst(JSONBOID, -1, InvalidOid, -1,
														DirectFunctionCall1(jsonb_in, CStringGetDatum("{}")),
														false, false),
											  makeBoolConst(true, false)),
								   InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
	if (exists)
		return type == BOOLOID ? result : (Node *) json;
	if (json->op == JSON_QUERY_OP)
		return type == JSONBOID && !json->omit_quotes &&
			(json->wrapper == JSW_UNSPEC || json->wrapper == JSW_NONE) ?
			result :
			(Node *) json;
	if (json->op != JSON_VALUE_OP || json->use_json_coercion ||
		!(type == TEXTOID ? is_equal_to_other_text(clause) : is_read_from_text(type)))
		return (Node *) json;
	result = (Node *) makeFuncExpr(F_JSONB_EXTRACT_PATH_TEXT, TEXTOID,
								   list_make2(result,
											  makeConst(TEXTARRAYOID, -1, InvalidOid, -1,
														PointerGetDatum(construct_empty_array(TEXTOID)), false,
														false)),
								   DEFAULT_COLLATION_OID, DEFAULT_COLLATION_OID, COERCE_EXPLICIT_CALL);
	if (type == TEXTOID)
		return result;
	cast = makeNode(CoerceViaIO);
	cast->arg = (Expr *) result;
	cast->resulttype = type;
	cast->resultcollid = json->collation;
	cast->coerceformat = COERCE_EXPLICIT_CAST;
	cast->location = -1;
	return (Node *) cast;
}

/*
 * is_read_from_text
 *		Returns whether values of a type are told from t and f, if they can be read from these
 *		at all.
 */
static bool
is_read_from_text(Oid type)
{
	return is_plain_type(type) || type == TIMESTAMPTZOID;
}

/*
 * is_equal_to_other_text
 *		Returns whether a condition is a comparison by = with a constant other than t and f.
 */
static bool
is_equal_to_other_text(Node *clause)
{
	if (clause == NULL || !IsA(clause, OpExpr) || get_opcode(((OpExpr *) clause)->opno) != F_TEXTEQ)
		return false;
	foreach_ptr(Const, value, ((OpExpr *) clause)->args)
	{
		if (IsA(value, Const) && !value->constisnull)
		{
			char	   *other = TextDatumGetCString(value->constvalue);

			return strcmp(other, "t") != 0 && strcmp(other, "f") != 0;
		}
	}
	return false;
}

/*
 * yields_nothing
 *		Returns whether a function returns nothing that makes a condition true, where its path
 *		fails or finds nothing.
 */
static bool
yields_nothing(JsonBehavior *behavior)
{
	return behavior == NULL || behavior->btype == JSON_BEHAVIOR_NULL || behavior->btype == JSON_BEHAVIOR_ERROR ||
		behavior->btype == JSON_BEHAVIOR_FALSE || behavior->btype == JSON_BEHAVIOR_UNKNOWN;
}
#endif
