/*-------------------------------------------------------------------------
 *
 * json_path.c
 *	  Finds the comparisons of key fields that follow from conditions in jsonpath: @?, @@,
 *	  jsonb_path_exists() and jsonb_path_match().
 *
 * $.town ? (@ == "Genoa") finds something only if the value at the path is the string, and
 * $.town == "Genoa" is true only then, and so on with other scalars and comparisons.  A
 * comparison of a number is true of greater numbers, not of what is greater in the order of
 * jsonb.  Of several that are connected by &&, each is true, and of several by ||, one.
 *
 * In its usual mode jsonpath takes the elements of an array where it expects something else: of
 * a document that is an array, of a value where it looks for a member, of one that it compares,
 * and once more of each of these.  A field takes them only where its path has a [*].  So these
 * conditions follow only if all rows have entries, and the record says that no key is an array, nor
 * what a member of which is a key after a [*].  Then the path leads through objects to a scalar,
 * or to an array at a [*], or something that is as good as an array of it, and jsonpath finds
 * what the entries have.  (What follows a [*] is one member at most: nothing is recorded of
 * arrays on the way to others.)  A field that is a number, a date or the like, is no array or
 * object anyway.
 *
 * !exists($.town) is true only if the path finds nothing: the field is NULL then.  This holds even
 * where there are arrays on the way, as a field has nothing there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonpath.h"
#include "utils/lsyscache.h"

#include "../catalog/catalog.h"
#include "match.h"

/*
 * The number of names of a path at whose end a string is looked for that starts with another
 * one.
 */
#define MAX_PREFIX_STEPS	16

/* A key field that is looked for in a jsonpath. */
typedef struct Sought
{
	IndexDef   *def;
	int			position;
	PathStep   *steps;
	int			nsteps;
	int			root;			/* the step that $ is before */
	Node	   *document;		/* what $ is */
	Index		varno;			/* of the fact table */
	Node	   *variables;		/* or NULL */
	const char *start;			/* of the path: see number_of_item() */
	bool		lax;
	int			number;			/* of what $ is, for scopes */
	List	   *scope;			/* of what @ is */
	List	   *reached;		/* of what the last path has led to */
	List	   *found;			/* of Condition * */
} Sought;

static bool is_simple_after_wildcards(Field *field);
static int	number_of_item(Sought *sought, JsonPathItem *item);
static int	follow(Sought *sought, JsonPathItem *item, int current, bool filters);
static void add_found(Sought *sought, Condition *condition);
static void seek_predicate(Sought *sought, JsonPathItem *item, int current);
static void seek_comparison(Sought *sought, JsonPathItem *path, JsonPathItem *value, StrategyNumber strategy,
							int current);
static void seek_any(Sought *sought, JsonPathItem *item, int current);
static void seek_absence(Sought *sought, JsonPathItem *path, int current);
static bool leads_to_field(Sought *sought, JsonPathItem *path, int current);
static bool is_later_variable(Sought *sought, JsonPathItem *item);
static Node *value_of_variable(Sought *sought, JsonPathItem *variable);
static void seek_prefix(Sought *sought, JsonPathItem *path, JsonPathItem *prefix, int current);
static bool get_scalar(Sought *sought, JsonPathItem *item, JsonbValue *scalar);

/*
 * json_path_conditions
 *		Returns the comparisons (Condition *) of key fields that follow from a clause, or, with negated, if
 *		it is not true.
 */
List *
json_path_conditions(IndexDef *def, Node *clause, bool negated, Index varno)
{
	List	   *args;
	Oid			function = function_of(clause, &args);
	int			number = new_scope();
	bool		match;
	Const	   *path;
	List	   *result = NIL;

	match = function == F_JSONB_PATH_MATCH_OPR || function == F_JSONB_PATH_MATCH;
	if (!match && function != F_JSONB_PATH_EXISTS_OPR && function != F_JSONB_PATH_EXISTS)
		return NIL;
	path = lsecond(args);
	if (!IsA(path, Const) || path->constisnull)
		return NIL;
	for (int i = 0; i < def->spec.nkeys && i < def->layout.nsearch; i++)
	{
		Field	   *field = &def->spec.fields[i];
		Sought		sought = {.def = def,.position = i,.steps = field->spec->steps,.nsteps = field->spec->nsteps};
		JsonPathItem item;

		/* Of a field of type jsonb only that it is not there. */
		if ((!is_castable_field(field) && (field->fact_attno != 0 || !field->is_jsonb)) ||
			!is_simple_after_wildcards(field))
			continue;
		sought.document = linitial(args);
		sought.varno = varno;
		if (list_length(args) > 2)
			sought.variables = lthird(args);
		while (sought.root < sought.nsteps && !is_value_after(def, field, sought.root, linitial(args), varno))
			sought.root++;
		if (sought.root == sought.nsteps)
			continue;
		sought.start = VARDATA(DatumGetJsonPathP(path->constvalue));
		sought.lax = (DatumGetJsonPathP(path->constvalue)->header & JSONPATH_LAX) != 0;
		sought.number = number;
		jspInit(&item, DatumGetJsonPathP(path->constvalue));
		/* What is no path is a predicate, whose result is what is found. */
		if (negated)
		{
			if (!match)
				seek_absence(&sought, &item, sought.root);
		}
		else if (match)
			seek_predicate(&sought, &item, sought.root);
		else if (item.type == jpiRoot)
			(void) follow(&sought, &item, sought.root, true);
		foreach_ptr(Condition, condition, sought.found)
		{
			condition->lossy = true;
			/* It says itself what rows must not have. */
			if (condition->taking != TAKE_NULL)
				mark_unwrapped(condition);
		}
		result = list_concat(result, sought.found);
	}
	return result;
}

/*
 * is_simple_after_wildcards
 *		Returns whether the path of a field has only one member after each [*].
 */
static bool
is_simple_after_wildcards(Field *field)
{
	for (int i = field->plain_steps + 2; i < field->spec->nsteps; i++)
	{
		if (!field->spec->steps[i].wildcard && !field->spec->steps[i - 1].wildcard)
			return false;
	}
	return true;
}

/*
 * number_of_item
 *		Returns a number for the elements that a path goes on with at an item of it, for
 *		scopes.
 */
static int
number_of_item(Sought *sought, JsonPathItem *item)
{
	return (int) (item->base - sought->start);
}

/* add_found: adds a comparison of what the last path has led to */
static void
add_found(Sought *sought, Condition *condition)
{
	condition->scope = sought->reached;
	sought->found = lappend(sought->found, condition);
}

/*
 * follow
 *		Returns the step of the field's path that a path leads to, and -1 if it leads somewhere
 *		else; seeks in its filters, if it may have any.  If it finds something, the predicates of
 *		its filters are true of something.
 */
static int
follow(Sought *sought, JsonPathItem *item, int current, bool filters)
{
	int			n = item->type == jpiRoot ? sought->root : current;
	List	   *scope = item->type == jpiRoot ? list_make1_int(sought->number) : sought->scope;
	JsonPathItem at = *item;
	JsonPathItem next;

	if (item->type != jpiRoot && item->type != jpiCurrent)
		return -1;
	while (jspGetNext(&at, &next))
	{
		char	   *name;
		int			len;

		switch (next.type)
		{
			case jpiKey:
				name = jspGetString(&next, &len);
				/* It looks into each element. */
				if (n < sought->nsteps && sought->steps[n].wildcard)
					scope = within_scope(scope, number_of_item(sought, &next));
				while (n < sought->nsteps && sought->steps[n].wildcard)
					n++;
				if (n == sought->nsteps || sought->steps[n].is_index || sought->steps[n].len != len ||
					memcmp(sought->steps[n].name, name, len) != 0)
					return -1;
				n++;
				break;
			case jpiAnyArray:
				/* What is no array is taken for an array of itself. */
				if (n < sought->nsteps && sought->steps[n].wildcard)
				{
					scope = within_scope(scope, number_of_item(sought, &next));
					n++;
				}
				break;
			case jpiFilter:
				{
					List	   *outer = sought->scope;
					JsonPathItem predicate;

					if (!filters)
						return -1;
					/* So is a filter in lax mode applied to each element. */
					if (sought->lax && n < sought->nsteps && sought->steps[n].wildcard)
					{
						scope = within_scope(scope, number_of_item(sought, &next));
						n++;
					}
					jspGetArg(&next, &predicate);
					sought->scope = scope;
					seek_predicate(sought, &predicate, n);
					sought->scope = outer;
					break;
				}
			default:
				return -1;
		}
		at = next;
	}
	sought->reached = scope;
	return n;
}

/* seek_predicate: finds what follows if a predicate is true */
static void
seek_predicate(Sought *sought, JsonPathItem *item, int current)
{
	StrategyNumber strategy;
	JsonPathItem left;
	JsonPathItem right;

	check_stack_depth();
	switch (item->type)
	{
		case jpiAnd:
			jspGetLeftArg(item, &left);
			jspGetRightArg(item, &right);
			seek_predicate(sought, &left, current);
			seek_predicate(sought, &right, current);
			return;
		case jpiOr:
			seek_any(sought, item, current);
			return;
		case jpiExists:
			jspGetArg(item, &left);
			(void) follow(sought, &left, current, true);
			return;
		case jpiNot:
			jspGetArg(item, &left);
			if (left.type != jpiExists)
				return;
			jspGetArg(&left, &right);
			seek_absence(sought, &right, current);
			return;
		case jpiStartsWith:
			jspGetLeftArg(item, &left);
			jspGetRightArg(item, &right);
			seek_prefix(sought, &left, &right, current);
			return;
		case jpiEqual:
			strategy = BTEqualStrategyNumber;
			break;
		case jpiLess:
			strategy = BTLessStrategyNumber;
			break;
		case jpiLessOrEqual:
			strategy = BTLessEqualStrategyNumber;
			break;
		case jpiGreater:
			strategy = BTGreaterStrategyNumber;
			break;
		case jpiGreaterOrEqual:
			strategy = BTGreaterEqualStrategyNumber;
			break;
		default:
			return;
	}
	jspGetLeftArg(item, &left);
	jspGetRightArg(item, &right);
	seek_comparison(sought, &left, &right, strategy, current);
	seek_comparison(sought, &right, &left, BTCommuteStrategyNumber(strategy), current);
}

/*
 * seek_any
 *		Finds what follows if one of two predicates is true, each of which may be an OR of
 *		others.
 */
static void
seek_any(Sought *sought, JsonPathItem *item, int current)
{
	List	   *before = sought->found;
	List	   *arms = NIL;
	JsonPathItem either = *item;
	JsonPathItem arm;
	Condition  *condition;

	while (either.type == jpiOr)
	{
		jspGetRightArg(&either, &arm);
		sought->found = NIL;
		seek_predicate(sought, &arm, current);
		arms = lcons(sought->found, arms);
		jspGetLeftArg(&either, &arm);
		either = arm;
	}
	sought->found = NIL;
	seek_predicate(sought, &either, current);
	condition = any_of(lcons(sought->found, arms), sought->position);
	sought->found = condition != NULL ? lappend(before, condition) : before;
}

/*
 * seek_absence
 *		Finds what follows if a path finds nothing: the field is NULL, if it is at the end of the path or
 *		further on.  [*] finds nothing in an empty array, which is a value of the field.
 */
static void
seek_absence(Sought *sought, JsonPathItem *path, int current)
{
	int			n = follow(sought, path, current, false);
	JsonPathItem at = *path;
	JsonPathItem next;
	Condition  *condition;

	if (n <= (path->type == jpiRoot ? sought->root : current))
		return;
	for (; jspGetNext(&at, &next); at = next)
	{
		if (next.type != jpiKey)
			return;
	}
	condition = null_comparison(sought->def, sought->position);
	if (condition != NULL)
		add_found(sought, condition);
}

/*
 * leads_to_field
 *		Returns whether a path, of which each element is compared, leads to the field that is
 *		sought.
 */
static bool
leads_to_field(Sought *sought, JsonPathItem *path, int current)
{
	int			n = follow(sought, path, current, false);

	if (n >= 0 && n < sought->nsteps && sought->steps[n].wildcard)
		sought->reached = within_scope(sought->reached, new_scope());
	while (n >= 0 && n < sought->nsteps && sought->steps[n].wildcard)
		n++;
	return n == sought->nsteps;
}

/* seek_comparison: finds what follows if a path is compared with a scalar */
static void
seek_comparison(Sought *sought, JsonPathItem *path, JsonPathItem *value, StrategyNumber strategy, int current)
{
	JsonbValue	scalar;
	Condition  *condition = NULL;

	if (!is_castable_field(&sought->def->spec.fields[sought->position]) || !leads_to_field(sought, path, current))
		return;
	if (get_scalar(sought, value, &scalar))
		condition = json_comparison(sought->def, sought->position, strategy, &scalar);
	else if (is_later_variable(sought, value))
		condition = json_value_comparison(sought->def, sought->position, strategy,
										  value_of_variable(sought, value), sought->varno);
	/* null may be an element of an array at the end of the path. */
	if (condition != NULL && condition->taking == TAKE_NULL)
		condition->unless |= CONTAINER_BIT;
	if (condition != NULL)
		add_found(sought, condition);
}

/* is_later_variable: returns whether an item is a variable that is known when the scan starts */
static bool
is_later_variable(Sought *sought, JsonPathItem *item)
{
	return item->type == jpiVariable && !jspHasNext(item) && sought->variables != NULL &&
		!IsA(sought->variables, Const);
}

/* value_of_variable: returns an expression of the value of such a variable, jsonb */
static Node *
value_of_variable(Sought *sought, JsonPathItem *variable)
{
	int			len;
	char	   *name = jspGetString(variable, &len);
	Node	   *key = (Node *) makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
										 PointerGetDatum(cstring_to_text_with_len(name, len)), false, false);

	return (Node *) makeFuncExpr(F_JSONB_OBJECT_FIELD, JSONBOID, list_make2(sought->variables, key), InvalidOid,
								 InvalidOid, COERCE_EXPLICIT_CALL);
}

/*
 * seek_prefix
 *		Finds what follows if the string at a path starts with another one: the text of the field does,
 *		too.
 */
static void
seek_prefix(Sought *sought, JsonPathItem *path, JsonPathItem *prefix, int current)
{
	static const StrategyNumber bounds[] = {BTGreaterEqualStrategyNumber, BTLessStrategyNumber};
	Datum		names[MAX_PREFIX_STEPS];
	int			nnames = 0;
	JsonbValue	scalar;
	Node	   *text;
	Node	   *value;
	bool		unknown = false;
	bool		later = is_later_variable(sought, prefix);

	if (!leads_to_field(sought, path, current) ||
		(!later && (!get_scalar(sought, prefix, &scalar) || scalar.type != jbvString)))
		return;
	for (int i = sought->root; i < sought->nsteps; i++)
	{
		if (sought->steps[i].wildcard || nnames == MAX_PREFIX_STEPS)
			return;
		names[nnames++] = PointerGetDatum(cstring_to_text_with_len(sought->steps[i].name, sought->steps[i].len));
	}
	for (size_t i = 0; later && i < lengthof(bounds); i++)
	{
		Condition  *condition = prefix_comparison(sought->def, sought->position, bounds[i],
												  value_of_variable(sought, prefix), sought->varno);

		if (condition != NULL)
			sought->found = lappend(sought->found, condition);
	}
	if (later)
		return;
	text = (Node *) makeFuncExpr(F_JSONB_EXTRACT_PATH_TEXT, TEXTOID,
								 list_make2(sought->document,
											makeConst(TEXTARRAYOID, -1, InvalidOid, -1,
													  PointerGetDatum(construct_array(names, nnames, TEXTOID, -1,
																					  false, TYPALIGN_INT)),
													  false, false)),
								 DEFAULT_COLLATION_OID, InvalidOid, COERCE_EXPLICIT_CALL);

	value = (Node *) makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
							   PointerGetDatum(cstring_to_text_with_len(scalar.val.string.val,
																		scalar.val.string.len)),
							   false, false);
	foreach_ptr(Condition, condition,
				compared_conditions(NULL, sought->def,
									(Node *) makeFuncExpr(F_STARTS_WITH, BOOLOID, list_make2(text, value),
														  InvalidOid, DEFAULT_COLLATION_OID,
														  COERCE_EXPLICIT_CALL),
									sought->varno, &unknown))
	{
		if (condition->position == sought->position)
			sought->found = lappend(sought->found, condition);
	}
}

/* get_scalar: gets a string, a number, a boolean or null that is a constant, or a variable */
static bool
get_scalar(Sought *sought, JsonPathItem *item, JsonbValue *scalar)
{
	JsonbValue *variable;
	Const	   *variables;
	char	   *name;
	int			len;

	if (jspHasNext(item))
		return false;
	switch (item->type)
	{
		case jpiString:
			scalar->type = jbvString;
			scalar->val.string.val = jspGetString(item, &scalar->val.string.len);
			return true;
		case jpiNumeric:
			scalar->type = jbvNumeric;
			scalar->val.numeric = jspGetNumeric(item);
			return true;
		case jpiBool:
			scalar->type = jbvBool;
			scalar->val.boolean = jspGetBool(item);
			return true;
		case jpiNull:
			scalar->type = jbvNull;
			return true;
		case jpiVariable:
			name = jspGetString(item, &len);
			variables = (Const *) sought->variables;
			if (variables == NULL || !IsA(variables, Const) || variables->constisnull ||
				!JB_ROOT_IS_OBJECT(DatumGetJsonbP(variables->constvalue)))
				return false;
			variable = getKeyJsonValueFromContainer(&DatumGetJsonbP(variables->constvalue)->root, name, len, NULL);
			if (variable == NULL || variable->type == jbvBinary)
				return false;
			*scalar = *variable;
			return true;
		default:
			return false;
	}
}
