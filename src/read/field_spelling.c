/*-------------------------------------------------------------------------
 *
 * field_spelling.c
 *	  Makes the expressions that queries of the fact table have for a field, as the planner
 *	  sees them.
 *
 * A field a.b of type numeric is written (doc -> 'a' ->> 'b')::numeric or
 * (doc #>> '{a,b}')::numeric.  The expressions are made by the parser's own functions, so
 * that they are equal() to what it makes of a query.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_node.h"
#include "parser/parse_oper.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "field_spelling.h"

static Node *apply_operator(ParseState *pstate, const char *name, Node *left, Const *right);
static bool is_known_form(Node *expr);
static Node *flat_copy(Node *node, Size size);

/*
 * field_spellings
 *		Returns the expressions (Node *) for a field, over the column doc of relation 1.
 *		There are none for plain columns and for jsonb and multi-valued fields, and only one
 *		for a path with a number in it: doc -> 'a' ->> 0 and doc -> 'a' ->> '0' are both other
 *		expressions, as the first finds nothing in an object, and the second nothing in an
 *		array.
 */
List *
field_spellings(Field *field, AttrNumber doc)
{
	FieldSpec  *spec = field->spec;
	Node	   *column = (Node *) makeVar(1, doc, JSONBOID, -1, InvalidOid, 0);
	ParseState *pstate;
	Node	   *by_steps = column;
	Datum	   *names;
	List	   *paths = NIL;
	List	   *result = NIL;
	ListCell   *cell;
	bool		number = false;
	int			i;

	if (spec->column != NULL || spec->multi || field->is_jsonb || spec->nsteps == 0)
		return NIL;
	pstate = make_parsestate(NULL);
	names = palloc(sizeof(Datum) * spec->nsteps);
	for (i = 0; i < spec->nsteps; i++)
	{
		PathStep   *step = &spec->steps[i];

		number |= step->is_index;
		names[i] = PointerGetDatum(cstring_to_text_with_len(step->name, step->len));
		by_steps = apply_operator(pstate, i == spec->nsteps - 1 ? "->>" : "->", by_steps,
								  makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1, names[i], false, false));
	}
	if (!number)
		paths = lappend(paths, by_steps);
	paths = lappend(paths,
					apply_operator(pstate, "#>>", column,
								   makeConst(TEXTARRAYOID, -1, DEFAULT_COLLATION_OID, -1,
											 PointerGetDatum(construct_array(names, spec->nsteps, TEXTOID, -1, false,
																			 TYPALIGN_INT)),
											 false, false)));
	foreach(cell, paths)
	{
		Node	   *expr = lfirst(cell);

		expr = coerce_to_target_type(pstate, expr, TEXTOID, field->type, field->typmod,
									 COERCION_EXPLICIT, COERCE_EXPLICIT_CAST, -1);
		if (expr == NULL)
			continue;
		assign_expr_collations(pstate, expr);
		expr = eval_const_expressions(NULL, expr);
		if (is_known_form(expr))
			result = lappend(result, expr);
	}
	free_parsestate(pstate);
	return result;
}

/* apply_operator: returns left, one of jsonb's operators, right */
static Node *
apply_operator(ParseState *pstate, const char *name, Node *left, Const *right)
{
	return (Node *) make_op(pstate, list_make2(makeString("pg_catalog"), makeString(pstrdup(name))),
							left, (Node *) right, NULL, -1);
}

/* spelling_key: returns the last name, or the path, that a spelling looks up, which is a constant */
Node *
spelling_key(Node *spelling)
{
	for (;;)
	{
		switch (nodeTag(spelling))
		{
			case T_CoerceViaIO:
				spelling = (Node *) ((CoerceViaIO *) spelling)->arg;
				break;
			case T_RelabelType:
				spelling = (Node *) ((RelabelType *) spelling)->arg;
				break;
			case T_FuncExpr:
				spelling = linitial(((FuncExpr *) spelling)->args);
				break;
			default:
				return lsecond(castNode(OpExpr, spelling)->args);
		}
	}
}

/*
 * spelling_over_column
 *		Returns a spelling with another column in place of its own.  Only the nodes above the
 *		column are copied; the constants are shared.
 */
Node *
spelling_over_column(Node *spelling, Var *column)
{
	Node	   *copy;
	List	   *args;

	switch (nodeTag(spelling))
	{
		case T_Var:
			return (Node *) column;
		case T_CoerceViaIO:
			copy = flat_copy(spelling, sizeof(CoerceViaIO));
			((CoerceViaIO *) copy)->arg = (Expr *) spelling_over_column((Node *) ((CoerceViaIO *) copy)->arg, column);
			return copy;
		case T_RelabelType:
			copy = flat_copy(spelling, sizeof(RelabelType));
			((RelabelType *) copy)->arg = (Expr *) spelling_over_column((Node *) ((RelabelType *) copy)->arg, column);
			return copy;
		case T_FuncExpr:
			copy = flat_copy(spelling, sizeof(FuncExpr));
			args = ((FuncExpr *) copy)->args = list_copy(((FuncExpr *) copy)->args);
			linitial(args) = spelling_over_column(linitial(args), column);
			return copy;
		default:
			copy = flat_copy(spelling, sizeof(OpExpr));
			args = ((OpExpr *) copy)->args = list_copy(((OpExpr *) copy)->args);
			linitial(args) = spelling_over_column(linitial(args), column);
			return copy;
	}
}

/* is_known_form: returns whether an expression has nodes that these functions know between its top and its column */
static bool
is_known_form(Node *expr)
{
	bool		found = false;

	for (;;)
	{
		switch (nodeTag(expr))
		{
			case T_Var:
				return found;
			case T_CoerceViaIO:
				expr = (Node *) ((CoerceViaIO *) expr)->arg;
				break;
			case T_RelabelType:
				expr = (Node *) ((RelabelType *) expr)->arg;
				break;
			case T_FuncExpr:
				if (((FuncExpr *) expr)->args == NIL)
					return false;
				expr = linitial(((FuncExpr *) expr)->args);
				break;
			case T_OpExpr:
				found = true;
				expr = linitial(((OpExpr *) expr)->args);
				break;
			default:
				return false;
		}
	}
}

static Node *
flat_copy(Node *node, Size size)
{
	return memcpy(palloc(size), node, size);
}
