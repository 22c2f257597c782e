/*-------------------------------------------------------------------------
 *
 * field_match.c
 *	  Tells which field of an index table an expression of a query is, so that the column of
 *	  the index table has its value.
 *
 * An expression is a field if it has the same value for every row that has an entry; that
 * is proven here for each form of it, as a query may get the one in place of the other.  The
 * planner has simplified the expression: constants are folded, and arguments have their
 * defaults.
 *
 * A path.  The value of a field is what #> finds by the names of its path, and what #>> makes
 * of that as text; entry/document.c finds it as the server's functions do.  Other operators
 * find the same values as far as this goes:
 *
 * - #> and jsonb_extract_path() are one function, and so are #>> and
 *	 jsonb_extract_path_text(): variadic arguments become an array, too.
 * - A subscript is what #> does with it.  A number is turned into its digits there, so that
 *	 doc['tags'][0] is doc #> '{tags,0}'.
 * - -> and ->> with a text look for a member of an object, and find nothing in an array.  #>
 *	 takes a name that is a number for a subscript, if it finds an array.  So they are the same
 *	 only if the name is no number.
 * - -> and ->> with a number look for an element of an array, and find nothing in an object,
 *	 but a scalar in itself.  #> looks for a member there, or finds nothing.  So they are never
 *	 the same.
 * - One operator after another is a path of the steps of both, as in doc #> '{a,b}' -> 'c':
 *	 what is found by the first steps is the same document, and where they lead nowhere, so do
 *	 the others.  #> with an empty path is the value itself.
 * - JSON null is NULL as text to all of them, and JSON null as jsonb.
 * - The functions for json find in a text that jsonb was turned into what those for jsonb find,
 *	 and return the same texts of it.
 * - jsonb_array_elements() and jsonb_array_elements_text() return what a [*] in a path stands
 *	 for, where there is an array; where there is none, they raise an error.  They stand in place
 *	 of the columns that they return: see elements.c.
 *
 * Elements of a column.  unnest(tags) stands for each element of an array column in the same way,
 * also if the column is labeled as an array of another type with the same bytes: one of varchar as
 * one of text, or a domain as the array that it is based on.
 *
 * An expression.  A field that is one has the value of the same expression, simplified in the
 * same way, if it reads no settings and calls no functions of users.  Paths in it may be written
 * otherwise.
 *
 * A type.  A field of type T has the value of (doc #>> path)::T, which is made as the parser
 * makes it of an explicit cast; see cast.c.  So the expression must have the nodes that the
 * parser makes for that cast.
 *
 * What is read from the text has to be the same in every session.  The input functions of most
 * types are immutable.  Those of date and timestamp are not, as they read words like "today" and
 * orders of year, month and day by settings.  But entries are made only of what is_iso()
 * accepts: a year of at least four digits, month, and day, in this order, then perhaps a
 * time, and an offset in digits.  The server takes a number of at least three digits that comes
 * first for the year, and what follows for the month, whatever DateStyle is, and date and
 * timestamp do not use an offset at all.  (It looks up the Z for UTC among the names of
 * timezone_abbreviations.  Where that names a file without it a query may raise an error, but
 * has no other value.)  A timestamp with a zone is the same, too, if its text has an offset or
 * Z.  Whether a text has none is recorded: see completeness.c.  For the other types of times
 * the time zone or IntervalStyle counts.
 *
 * A row whose value cannot be cast has no entry, or its writer got an error: see extract_entries().
 *
 * A collation does not change a value.  A caller that compares or sorts takes care of it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_node.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/jsonpath.h"
#include "utils/lsyscache.h"

#include "../catalog/catalog.h"
#include "../expression/expression.h"
#include "match.h"

/* How a query casts the text of a field to its type. */
struct FieldCast
{
	bool		fixed;			/* the value is the same in every session, but
								 * for values_read_otherwise() */
	Node	   *chain;			/* the cast of a column of type text, or NULL */
};

/* A path that the steps of an expression are compared with. */
typedef struct Matching
{
	PathStep   *steps;
	int			nsteps;
	int			n;				/* number of steps compared */
} Matching;

static bool has_value(IndexDef *def, Field *field, Node *expr, Index varno, bool exactly);
static struct FieldCast *cast_of(IndexDef *def, Field *field);
static Node *below_cast(Node *chain, Node *expr);
static bool is_text_type(Oid type);
static Node *below_labels(Node *array);
static bool is_column(Node *expr, AttrNumber attno, Index varno);
static bool match_step(void *arg, StepKind kind, const char *name, int len);

/*
 * column_of_expression
 *		Returns the column of an index table that has the value of an expression over a row of
 *		the fact table, relation varno of a query, wherever the row has an entry; 0 if there is
 *		none.
 *
 * That the expression is not NULL does not say that there is an entry: in a sparse index table another
 * key field may be NULL.
 */
AttrNumber
column_of_expression(IndexDef *def, Node *expr, Index varno)
{
	for (int i = 0; i < def->spec.nkeys + def->spec.nincludes; i++)
	{
		if (expression_is_field(def, &def->spec.fields[i], expr, varno))
			return def->spec.fields[i].attno;
	}
	expr = bare_value(expr);
	if (!IsA(expr, Var))
		return InvalidAttrNumber;
	for (int i = 0; i < def->fact->layout.npk; i++)
	{
		if (is_column(expr, def->fact->layout.pk_attno[i], varno))
			return def->layout.pk_attno[i];
	}
	return def->layout.doc_attno != 0 && is_column(expr, def->spec.fact_document, varno) ? def->layout.doc_attno :
		0;
}

/*
 * values_read_otherwise
 *		Returns which values a column has otherwise than a query, if documents have them:
 *		ZONELESS_BIT or 0.
 */
uint32
values_read_otherwise(IndexDef *def, AttrNumber attno)
{
	Field	   *field = field_of_column(def, attno);

	return field != NULL && field->fact_attno == 0 && field->type == TIMESTAMPTZOID ? ZONELESS_BIT : 0;
}

/* field_of_column: returns the field that a column of an index table has, or NULL */
Field *
field_of_column(IndexDef *def, AttrNumber attno)
{
	for (int i = 0; i < def->spec.nkeys + def->spec.nincludes; i++)
	{
		if (def->spec.fields[i].attno == attno)
			return &def->spec.fields[i];
	}
	return NULL;
}

/*
 * expression_is_field
 *		Returns whether an expression has the value of a field, which is never so for a
 *		multi-valued one.
 */
bool
expression_is_field(IndexDef *def, Field *field, Node *expr, Index varno)
{
	return !field->spec->multi && has_value(def, field, expr, varno, true);
}

/*
 * expression_resembles_field
 *		Returns whether an expression has the value of a field, or would have it with the settings by which
 *		entries are made, which is enough for estimates.
 */
bool
expression_resembles_field(IndexDef *def, Field *field, Node *expr, Index varno)
{
	return !field->spec->multi && has_value(def, field, expr, varno, false);
}

/*
 * expression_is_element
 *		Returns whether an expression has the value that a multi-valued field has for an
 *		element, each in its turn.
 */
bool
expression_is_element(IndexDef *def, Field *field, Node *expr, Index varno)
{
	return field->spec->multi && has_value(def, field, expr, varno, true);
}

/* may_be_field: returns whether fields are spelled by nodes of a kind, as few are */
bool
may_be_field(Node *expr)
{
	switch (nodeTag(expr))
	{
		case T_OpExpr:
		case T_FuncExpr:
		case T_CoerceViaIO:
		case T_RelabelType:
		case T_Var:
		case T_CollateExpr:
		case T_SubscriptingRef:
			return true;
		default:
			return false;
	}
}

static bool
has_value(IndexDef *def, Field *field, Node *expr, Index varno, bool exactly)
{
	struct FieldCast *cast;
	Oid			type;

	if (field->fact_attno == EXPRESSION_ATTNO)
		return expression_is(field->convert, expr, varno, with_plain_paths);
	if (field->fact_attno != 0 && field->spec->multi)
	{
		List	   *args;

		return function_of(bare_value(expr), &args) == F_UNNEST_ANYARRAY &&
			is_array_of_field(field, linitial(args), varno);
	}
	if (!may_be_field(expr))
		return false;
	type = exprType(expr);
	if ((type != field->type && !(is_text_type(type) && is_text_type(field->type))) ||
		field->convert != NULL || field->is_hint)
		return false;
	expr = bare_value(expr);
	if (field->fact_attno != 0)
		return is_column(expr, field->fact_attno, varno);
	if (field->is_jsonb)
		return is_value_after(def, field, field->spec->nsteps, expr, varno);
	cast = cast_of(def, field);
	if (cast->chain == NULL || (exactly && !cast->fixed))
		return false;
	expr = below_cast(cast->chain, expr);
	return expr != NULL && is_text_of_field(def, field, expr, varno);
}

/*
 * is_value_after
 *		Returns whether an expression is the value, jsonb, after some steps of a field's path;
 *		after none: the document.
 */
bool
is_value_after(IndexDef *def, Field *field, int nsteps, Node *expr, Index varno)
{
	return field->fact_attno == 0 &&
		expression_is_path(def->spec.fact_document, field->spec->steps, nsteps, expr, varno, false);
}

/* is_text_of_field: returns whether an expression is the text at a field's path */
bool
is_text_of_field(IndexDef *def, Field *field, Node *expr, Index varno)
{
	return field->fact_attno == 0 &&
		expression_is_path(def->spec.fact_document, field->spec->steps, field->spec->nsteps, expr, varno, true);
}

/*
 * is_array_of_field
 *		Returns whether an expression is the array column that a field has the elements of.
 */
bool
is_array_of_field(Field *field, Node *expr, Index varno)
{
	return field->spec->multi && field->fact_attno != 0 && field->convert == NULL &&
		is_column(below_labels(expr), field->fact_attno, varno);
}

/*
 * below_labels
 *		Returns the array of which an expression has the same elements, called another type.
 */
static Node *
below_labels(Node *array)
{
	for (;;)
	{
		Node	   *arg;
		Oid			from;
		Oid			to;

		if (IsA(array, CollateExpr))
			array = (Node *) ((CollateExpr *) array)->arg;
		else if (IsA(array, RelabelType))
		{
			arg = (Node *) ((RelabelType *) array)->arg;
			if (exprType(array) != exprType(arg) && exprType(array) != getBaseType(exprType(arg)))
				return array;
			array = arg;
		}
		else if (IsA(array, ArrayCoerceExpr))
		{
			arg = (Node *) ((ArrayCoerceExpr *) array)->elemexpr;
			if (!IsA(arg, RelabelType) || !IsA(((RelabelType *) arg)->arg, CaseTestExpr))
				return array;
			to = exprType(arg);
			from = exprType((Node *) ((RelabelType *) arg)->arg);
			if (to != getBaseType(from) && !(is_text_type(to) && is_text_type(getBaseType(from))))
				return array;
			array = (Node *) ((ArrayCoerceExpr *) array)->arg;
		}
		else
			return array;
	}
}

/*
 * bare_value
 *		Returns the expression that has the same value below what changes only how it is
 *		labeled: its collation, and text as varchar or the reverse, without a length.
 *
 * Values of varchar are always compared as text.  The planner leaves out labels below others.
 */
Node *
bare_value(Node *expr)
{
	for (;;)
	{
		if (IsA(expr, CollateExpr))
			expr = (Node *) ((CollateExpr *) expr)->arg;
		else if (IsA(expr, RelabelType))
		{
			RelabelType *label = (RelabelType *) expr;
			Oid			type = exprType((Node *) label->arg);

			if (label->resulttypmod != -1 ||
				(type != label->resulttype && !(is_text_type(type) && is_text_type(label->resulttype))))
				return expr;
			expr = (Node *) label->arg;
		}
		else
			return expr;
	}
}

static bool
is_text_type(Oid type)
{
	return type == TEXTOID || type == VARCHAROID;
}

/*
 * without_casts
 *		Returns the expression below all casts of an expression: what is NULL if and only if,
 *		or at least only if, the casts are.
 */
Node *
without_casts(Node *expr)
{
	for (;;)
	{
		FuncExpr   *call = (FuncExpr *) expr;
		Node	   *below = below_conversion(expr);

		if (IsA(expr, FuncExpr) && call->args != NIL && func_strict(call->funcid) &&
			(call->funcformat == COERCE_EXPLICIT_CAST || call->funcformat == COERCE_IMPLICIT_CAST))
			below = linitial(call->args);
		if (below == NULL)
			return expr;
		expr = below;
	}
}

/*
 * below_conversion
 *		Returns the expression that is labeled otherwise, or read from its text, by another
 *		one; NULL: by none.
 */
Node *
below_conversion(Node *expr)
{
	switch (nodeTag(expr))
	{
		case T_CollateExpr:
			return (Node *) ((CollateExpr *) expr)->arg;
		case T_RelabelType:
			return (Node *) ((RelabelType *) expr)->arg;
		case T_CoerceViaIO:
			return (Node *) ((CoerceViaIO *) expr)->arg;
		default:
			return NULL;
	}
}

/*
 * cast_of
 *		Returns how a query casts the text of a field to its type; made once for a definition.
 *
 * The parser makes it of a column that stands for the text.  Only the server's own types and
 * functions are considered, which cannot be dropped or replaced.
 */
static struct FieldCast *
cast_of(IndexDef *def, Field *field)
{
	struct FieldCast *cast;
	ParseState *pstate;
	Node	   *text = (Node *) makeVar(1, 1, TEXTOID, -1, DEFAULT_COLLATION_OID, 0);
	Node	   *chain;
	MemoryContext old;

	if (field->asked != NULL)
		return field->asked;
	cast = MemoryContextAllocZero(def->fact->run.cxt, sizeof(struct FieldCast));
	if (field->type < FirstNormalObjectId && get_typtype(field->type) == TYPTYPE_BASE && !field->cast.users)
	{
		pstate = make_parsestate(NULL);
		chain = coerce_to_target_type(pstate, text, TEXTOID, field->type, field->typmod,
									  COERCION_EXPLICIT, COERCE_EXPLICIT_CAST, -1);
		if (chain != NULL)
		{
			assign_expr_collations(pstate, chain);
			chain = bare_value(eval_const_expressions(NULL, chain));
			cast->fixed = !contain_mutable_functions(chain) || field->type == DATEOID ||
				field->type == TIMESTAMPOID || field->type == TIMESTAMPTZOID;
			old = MemoryContextSwitchTo(def->fact->run.cxt);
			cast->chain = copyObject(chain);
			MemoryContextSwitchTo(old);
		}
		free_parsestate(pstate);
	}
	return field->asked = cast;
}

/*
 * below_cast
 *		Returns the expression that a cast, chain, is applied to in an expression; NULL if
 *		that is no such cast.
 */
static Node *
below_cast(Node *chain, Node *expr)
{
	for (;;)
	{
		if (IsA(chain, Var))
			return bare_value(expr);
		if (nodeTag(chain) != nodeTag(expr))
			return NULL;
		switch (nodeTag(chain))
		{
			case T_RelabelType:
				if (((RelabelType *) chain)->resulttype != ((RelabelType *) expr)->resulttype ||
					((RelabelType *) chain)->resulttypmod != ((RelabelType *) expr)->resulttypmod)
					return NULL;
				chain = (Node *) ((RelabelType *) chain)->arg;
				expr = (Node *) ((RelabelType *) expr)->arg;
				break;
			case T_CoerceViaIO:
				if (((CoerceViaIO *) chain)->resulttype != ((CoerceViaIO *) expr)->resulttype)
					return NULL;
				chain = (Node *) ((CoerceViaIO *) chain)->arg;
				expr = (Node *) ((CoerceViaIO *) expr)->arg;
				break;
			case T_FuncExpr:
				{
					FuncExpr   *a = (FuncExpr *) chain;
					FuncExpr   *b = (FuncExpr *) expr;

					/* Or a user has made a cast of text to this type since. */
					if (a->funcid != b->funcid || a->funcid >= FirstNormalObjectId ||
						list_length(a->args) != list_length(b->args))
						return NULL;
					for (int i = 1; i < list_length(a->args); i++)
						if (!equal(list_nth(a->args, i), list_nth(b->args, i)))
							return NULL;
					chain = linitial(a->args);
					expr = linitial(b->args);
					break;
				}
			default:
				return NULL;
		}
	}
}

/* is_column: returns whether an expression is a column of relation varno, as it is scanned */
static bool
is_column(Node *expr, AttrNumber attno, Index varno)
{
	Var		   *var = (Var *) expr;

	return IsA(expr, Var) && var->varno == (int) varno && var->varattno == attno && var->varlevelsup == 0 &&
		is_scanned_value(var);
}

/*
 * expression_is_path
 *		Returns whether an expression is the value at a path in the document doc, as jsonb or
 *		as text.
 */
bool
expression_is_path(AttrNumber doc, PathStep *steps, int nsteps, Node *expr, Index varno, bool as_text)
{
	Matching	matching = {steps, nsteps, 0};
	Var		   *column = follow_path(expr, match_step, &matching);

	return column != NULL && matching.n == nsteps && is_column((Node *) column, doc, varno) &&
		(exprType(expr) == TEXTOID) == as_text;
}

/* match_step: returns whether a step is the next one of a path */
static bool
match_step(void *arg, StepKind kind, const char *name, int len)
{
	Matching   *matching = arg;
	PathStep   *step = &matching->steps[matching->n];

	if (matching->n++ == matching->nsteps || step->wildcard != (kind == STEP_ELEMENTS))
		return false;
	return kind == STEP_ELEMENTS ||
		(step->len == len && memcmp(step->name, name, len) == 0 && (kind == STEP_NAME || !step->is_index));
}
