/*-------------------------------------------------------------------------
 *
 * query_fields.c
 *	  Finds the fields of documents by which a query filters.
 *
 * The text of the query is parsed by the server's parser, and its tree is looked at as it is.
 * It is not analyzed, because what the server keeps of a query has parameters for its
 * constants, whose types are not known.  The price is that names are taken as they are
 * written: a table without a schema may be one in another schema, and a user's operator may
 * be called ->>.  It is advice, which the user reads.
 *
 * pg_stat_statements has a parameter in place of each constant, also of the name of a
 * field: doc ->> $1 = $2.  That a query filters by a field is known then, but not by which.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"
#include "parser/parser.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/syscache.h"

#include "query_fields.h"

/* How deep a document in a query is followed. */
#define MAX_CONTAINED	8

/* One SELECT, UPDATE or DELETE, and what is the same for all of a query. */
typedef struct Scope
{
	const char *schema;
	const char *table;
	const char *document;
	QueryFields *found;
	List	   *names;			/* by which this query calls the fact table */
	int			tables;			/* in its FROM */
	int			conditions;		/* in its WHERE and in joins, all to be true */
} Scope;

static bool look_at_node(Node *node, void *arg);
static void look_at_select(SelectStmt *select, Scope *scope);
static bool is_plain(SelectStmt *select);
static void note_table(Node *item, Scope *scope);
static void note_joins(Node *item, Scope *scope);
static void note_condition(Node *node, Scope *scope);
static void note_comparison(A_Expr *expr, Scope *scope);
static void note_field(Node *expr, bool is_equality, Scope *scope);
static void note_contained(List *steps, JsonbContainer *container, int depth, Scope *scope);
static QueryField *add_field(List *steps, bool is_hidden, Oid type, bool is_equality, Scope *scope);
static bool is_path(Node *node, Scope *scope, QueryField *path, bool *as_text);
static bool is_document(ColumnRef *column, Scope *scope);
static bool add_step(Node *node, QueryField *path);
static bool add_names(Node *node, QueryField *path);
static const char *text_constant(Node *node);
static Oid	type_of_cast(TypeName *name);

/*
 * fields_of_query
 *		Returns by which fields of the documents of a table a query filters; NULL: it cannot be
 *		parsed, or does not.
 *
 * The parser holds nothing but memory, and so its errors need no subtransaction.
 */
QueryFields *
fields_of_query(const char *sql, const char *schema, const char *table, const char *document)
{
	Scope		scope = {.schema = schema,.table = table,.document = document};
	MemoryContext cxt = CurrentMemoryContext;
	QueryFields *found = palloc0(sizeof(QueryFields));
	volatile bool failed = false;

	scope.found = found;
	PG_TRY();
	{
		ListCell   *cell;

		foreach(cell, raw_parser(sql, RAW_PARSE_DEFAULT))
			(void) look_at_node(lfirst_node(RawStmt, cell)->stmt, &scope);
	}
	PG_CATCH();
	{
		int			category = ERRCODE_TO_CATEGORY(geterrcode());

		MemoryContextSwitchTo(cxt);
		if (category == ERRCODE_OPERATOR_INTERVENTION || category == ERRCODE_INSUFFICIENT_RESOURCES)
			PG_RE_THROW();
		FlushErrorState();
		failed = true;
	}
	PG_END_TRY();
	return failed || found->fields == NIL ? NULL : found;
}

/* look_at_node: looks at all queries in a node; a walker */
static bool
look_at_node(Node *node, void *arg)
{
	Scope		scope = *(Scope *) arg;

	if (node == NULL)
		return false;
	scope.names = NIL;
	scope.tables = scope.conditions = 0;
	switch (nodeTag(node))
	{
			/* The server's walker goes through queries only. */
		case T_DeclareCursorStmt:
			return look_at_node(((DeclareCursorStmt *) node)->query, arg);
		case T_ExplainStmt:
			return look_at_node(((ExplainStmt *) node)->query, arg);
		case T_CreateTableAsStmt:
			return look_at_node(((CreateTableAsStmt *) node)->query, arg);
		case T_PrepareStmt:
			return look_at_node(((PrepareStmt *) node)->query, arg);
		case T_CopyStmt:
			return look_at_node(((CopyStmt *) node)->query, arg);
		case T_SelectStmt:
			look_at_select((SelectStmt *) node, &scope);
			break;
		case T_UpdateStmt:
			note_table((Node *) ((UpdateStmt *) node)->relation, &scope);
			note_table((Node *) ((UpdateStmt *) node)->fromClause, &scope);
			note_condition(((UpdateStmt *) node)->whereClause, &scope);
			break;
		case T_DeleteStmt:
			note_table((Node *) ((DeleteStmt *) node)->relation, &scope);
			note_table((Node *) ((DeleteStmt *) node)->usingClause, &scope);
			note_condition(((DeleteStmt *) node)->whereClause, &scope);
			break;
		default:
			break;
	}
	return raw_expression_tree_walker(node, look_at_node, arg);
}

/* look_at_select: notes by which fields one SELECT filters */
static void
look_at_select(SelectStmt *select, Scope *scope)
{
	bool		first = scope->found->fields == NIL;

	note_table((Node *) select->fromClause, scope);
	note_condition(select->whereClause, scope);
	note_joins((Node *) select->fromClause, scope);
	scope->found->returns_found = first && list_length(scope->found->fields) == 1 && scope->conditions == 1 &&
		scope->tables == 1 && is_plain(select);
}

/* is_plain: returns whether a SELECT returns each row that its conditions find, as far as can be seen */
static bool
is_plain(SelectStmt *select)
{
	ListCell   *cell;

	/* A function may be an aggregate. */
	foreach(cell, select->targetList)
		if (IsA(lfirst_node(ResTarget, cell)->val, FuncCall))
		return false;
	return select->distinctClause == NIL && select->groupClause == NIL && select->havingClause == NULL &&
		select->limitCount == NULL && select->limitOffset == NULL;
}

/* note_table: notes by which names a query calls the fact table, if it does, and how many tables it has */
static void
note_table(Node *item, Scope *scope)
{
	ListCell   *cell;

	check_stack_depth();
	if (item == NULL)
		return;
	if (IsA(item, List))
	{
		foreach(cell, (List *) item)
			note_table(lfirst(cell), scope);
		return;
	}
	if (IsA(item, JoinExpr))
	{
		note_table(((JoinExpr *) item)->larg, scope);
		note_table(((JoinExpr *) item)->rarg, scope);
		return;
	}
	scope->tables++;
	if (IsA(item, RangeVar))
	{
		RangeVar   *table = (RangeVar *) item;

		if (strcmp(table->relname, scope->table) == 0 &&
			(table->schemaname == NULL || strcmp(table->schemaname, scope->schema) == 0))
			scope->names = lappend(scope->names, table->alias != NULL ? table->alias->aliasname : table->relname);
	}
}

/* note_joins: notes the conditions of joins */
static void
note_joins(Node *item, Scope *scope)
{
	ListCell   *cell;

	if (item == NULL)
		return;
	if (IsA(item, List))
	{
		foreach(cell, (List *) item)
			note_joins(lfirst(cell), scope);
	}
	else if (IsA(item, JoinExpr))
	{
		note_joins(((JoinExpr *) item)->larg, scope);
		note_joins(((JoinExpr *) item)->rarg, scope);
		note_condition(((JoinExpr *) item)->quals, scope);
	}
}

/* note_condition: notes the fields in conditions that a row has to fulfil, all of them */
static void
note_condition(Node *node, Scope *scope)
{
	ListCell   *cell;

	check_stack_depth();
	if (node == NULL || scope->names == NIL)
		return;
	if (IsA(node, BoolExpr) && ((BoolExpr *) node)->boolop == AND_EXPR)
	{
		foreach(cell, ((BoolExpr *) node)->args)
			note_condition(lfirst(cell), scope);
		return;
	}
	scope->conditions++;
	if (IsA(node, A_Expr))
		note_comparison((A_Expr *) node, scope);
}

/* note_comparison: notes the fields that a condition compares */
static void
note_comparison(A_Expr *expr, Scope *scope)
{
	const char *name = strVal(llast(expr->name));
	bool		is_equality = strcmp(name, "=") == 0;
	QueryField	path = {0};
	bool		as_text = false;

	switch (expr->kind)
	{
		case AEXPR_OP:
			if (is_equality || strcmp(name, "<") == 0 || strcmp(name, "<=") == 0 || strcmp(name, ">") == 0 ||
				strcmp(name, ">=") == 0)
			{
				note_field(expr->lexpr, is_equality, scope);
				note_field(expr->rexpr, is_equality, scope);
			}
			else if (strcmp(name, "@>") == 0 && is_path(expr->lexpr, scope, &path, &as_text) && !as_text)
			{
				const char *contained = text_constant(expr->rexpr);

				if (contained != NULL && !path.is_hidden)
					note_contained(path.steps, &DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(contained)))->root,
								   0, scope);
				else
					add_field(lappend(path.steps, NULL), path.is_hidden || path.steps == NIL, TEXTOID, true, scope)->is_contained = true;
			}
			else if (strcmp(name, "?") == 0 && is_path(expr->lexpr, scope, &path, &as_text) && !as_text && path.steps != NIL)
				add_field(lappend(path.steps, NULL), path.is_hidden, TEXTOID, true, scope)->is_contained = true;
			break;
		case AEXPR_OP_ANY:
		case AEXPR_IN:
			if (is_equality)
				note_field(expr->lexpr, true, scope);
			break;
		case AEXPR_BETWEEN:
		case AEXPR_BETWEEN_SYM:
			note_field(expr->lexpr, false, scope);
			break;
		default:
			break;
	}
}

/* note_field: notes an expression if it is a field of the documents */
static void
note_field(Node *expr, bool is_equality, Scope *scope)
{
	QueryField	path = {0};
	bool		as_text = false;

	if (!is_path(expr, scope, &path, &as_text) || path.steps == NIL)
		return;
	(void) add_field(path.steps, path.is_hidden, as_text ? path.type : JSONBOID, is_equality, scope);
}

/* note_contained: notes the fields that documents must have, below a path, to contain another; only texts are searched for so */
static void
note_contained(List *steps, JsonbContainer *container, int depth, Scope *scope)
{
	JsonbIterator *it = JsonbIteratorInit(container);
	JsonbIteratorToken token;
	JsonbValue	value;
	List	   *below = NIL;

	while ((token = JsonbIteratorNext(&it, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			below = lappend(list_copy(steps), pnstrdup(value.val.string.val, value.val.string.len));
		else if (token == WJB_ELEM)
			below = lappend(list_copy(steps), NULL);
		if (token != WJB_VALUE && token != WJB_ELEM)
			continue;
		if (value.type == jbvString)
			add_field(below, false, TEXTOID, true, scope)->is_contained = true;
		else if (value.type == jbvBinary && depth < MAX_CONTAINED)
			note_contained(below, value.val.binary.data, depth + 1, scope);
	}
}

/* add_field: notes a field, and returns it; NULL: no field of an index table is like it */
static QueryField *
add_field(List *steps, bool is_hidden, Oid type, bool is_equality, Scope *scope)
{
	QueryField *field;

	if (!OidIsValid(type))
		return NULL;
	field = palloc0(sizeof(QueryField));
	field->steps = is_hidden ? NIL : steps;
	field->is_hidden = is_hidden;
	field->type = type;
	field->is_equality = is_equality;
	scope->found->fields = lappend(scope->found->fields, field);
	return field;
}

/*
 * is_path
 *		Returns whether an expression is a value of the document, and fills in its path and
 *		whether it is a text, or the cast of a text to path->type.
 */
static bool
is_path(Node *node, Scope *scope, QueryField *path, bool *as_text)
{
	ListCell   *cell;

	check_stack_depth();
	if (node == NULL)
		return false;
	if (IsA(node, CollateClause))
		return is_path(((CollateClause *) node)->arg, scope, path, as_text);
	if (IsA(node, ColumnRef))
		return is_document((ColumnRef *) node, scope);
	if (IsA(node, TypeCast))
	{
		if (!is_path(((TypeCast *) node)->arg, scope, path, as_text) || !*as_text)
			return false;
		path->type = path->type == TEXTOID ? type_of_cast(((TypeCast *) node)->typeName) : InvalidOid;
		return true;
	}
	if (IsA(node, A_Expr) && ((A_Expr *) node)->kind == AEXPR_OP)
	{
		const char *name = strVal(llast(((A_Expr *) node)->name));
		bool		is_array = name[0] == '#';

		if ((strcmp(name + 1, ">") != 0 && strcmp(name + 1, ">>") != 0) || (name[0] != '-' && name[0] != '#') ||
			!is_path(((A_Expr *) node)->lexpr, scope, path, as_text) || *as_text)
			return false;
		*as_text = name[2] == '>';
		path->type = TEXTOID;
		return is_array ? add_names(((A_Expr *) node)->rexpr, path) : add_step(((A_Expr *) node)->rexpr, path);
	}
	if (IsA(node, FuncCall))
	{
		FuncCall   *call = (FuncCall *) node;
		const char *name = strVal(llast(call->funcname));
		bool		is_text = strcmp(name, "jsonb_extract_path_text") == 0;

		if ((!is_text && strcmp(name, "jsonb_extract_path") != 0) || call->func_variadic || call->args == NIL ||
			!is_path(linitial(call->args), scope, path, as_text) || *as_text)
			return false;
		*as_text = is_text;
		path->type = TEXTOID;
		for_each_from(cell, call->args, 1)
			if (!add_step(lfirst(cell), path))
			return false;
		return true;
	}
	if (IsA(node, A_Indirection))
	{
		if (!is_path(((A_Indirection *) node)->arg, scope, path, as_text) || *as_text)
			return false;
		foreach(cell, ((A_Indirection *) node)->indirection)
		{
			A_Indices  *subscript = lfirst(cell);

			if (!IsA(subscript, A_Indices) || subscript->is_slice || !add_step(subscript->uidx, path))
				return false;
		}
		return true;
	}
	return false;
}

/* is_document: returns whether a column is the document of the fact table */
static bool
is_document(ColumnRef *column, Scope *scope)
{
	Node	   *name = llast(column->fields);
	ListCell   *cell;

	if (!IsA(name, String) || strcmp(strVal(name), scope->document) != 0)
		return false;
	if (list_length(column->fields) == 1)
		return scope->names != NIL;
	name = list_nth(column->fields, list_length(column->fields) - 2);
	foreach(cell, scope->names)
		if (IsA(name, String) && strcmp(strVal(name), lfirst(cell)) == 0)
		return true;
	return false;
}

/* add_step: adds the name of a member to a path; returns false if it is none */
static bool
add_step(Node *node, QueryField *path)
{
	const char *name = text_constant(node);

	if (name != NULL)
		path->steps = lappend(path->steps, pstrdup(name));
	else if (node != NULL && IsA(node, ParamRef))
	{
		path->steps = lappend(path->steps, NULL);
		path->is_hidden = true;
	}
	else
		return false;
	return true;
}

/* add_names: adds the names of an array to a path; returns false if it is none */
static bool
add_names(Node *node, QueryField *path)
{
	const char *array = text_constant(node);
	ListCell   *cell;
	Datum	   *names;
	bool	   *nulls;
	int			n;
	int			i;

	if (array != NULL)
	{
		deconstruct_array(DatumGetArrayTypeP(OidInputFunctionCall(F_ARRAY_IN, pstrdup(array), TEXTOID, -1)),
						  TEXTOID, -1, false, TYPALIGN_INT, &names, &nulls, &n);
		for (i = 0; i < n && !nulls[i]; i++)
			path->steps = lappend(path->steps, TextDatumGetCString(names[i]));
		return i == n;
	}
	while (node != NULL && IsA(node, TypeCast))
		node = ((TypeCast *) node)->arg;
	if (node == NULL || !IsA(node, A_ArrayExpr))
		return add_step(node, path);
	foreach(cell, ((A_ArrayExpr *) node)->elements)
		if (!add_step(lfirst(cell), path))
		return false;
	return true;
}

/* text_constant: returns the text of a constant; NULL: it is none, or NULL */
static const char *
text_constant(Node *node)
{
	while (node != NULL && IsA(node, TypeCast))
		node = ((TypeCast *) node)->arg;
	if (node == NULL || !IsA(node, A_Const) || ((A_Const *) node)->isnull ||
		!IsA(&((A_Const *) node)->val, String))
		return NULL;
	return strVal(&((A_Const *) node)->val);
}

/* type_of_cast: returns the type that a query casts a text to; InvalidOid: it is none that a key should have */
static Oid
type_of_cast(TypeName *name)
{
	Oid			type;

	if (name->typmods != NIL || name->arrayBounds != NIL || name->setof || list_length(name->names) > 2)
		return InvalidOid;

	/*
	 * A type of another schema with this name would have to be created on
	 * purpose.
	 */
	type = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, PointerGetDatum(strVal(llast(name->names))),
						   ObjectIdGetDatum(PG_CATALOG_NAMESPACE));
	switch (type)
	{
		case TEXTOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case NUMERICOID:
		case FLOAT8OID:
		case BOOLOID:
		case UUIDOID:
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return type;
		case VARCHAROID:
			return TEXTOID;
		default:
			return InvalidOid;
	}
}
