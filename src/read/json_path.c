/*-------------------------------------------------------------------------
 *
 * json_path.c
 *	  Finds the comparisons of key fields that follow from conditions in jsonpath: @?, @@,
 *	  jsonb_path_exists() and jsonb_path_match().
 *
 * $.town ? (@ == "Genoa") finds something only if the value at the path is the string, and
 * $.town == "Genoa" is true only then, and so on with other scalars and comparisons.  A
 * comparison of a number is true of greater numbers, not of what is greater in the order of
 * jsonb.  Of several that are connected by &&, each is true.
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
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/jsonb.h"
#include "utils/jsonpath.h"

#include "../catalog/completeness.h"
#include "field_match.h"
#include "json_path.h"
#include "scalar_value.h"

/* A key field that is looked for in a jsonpath. */
typedef struct Sought
{
	IndexDef   *def;
	int			position;
	PathStep   *steps;
	int			nsteps;
	int			root;			/* the step that $ is before */
	Const	   *variables;		/* or NULL */
	List	   *found;			/* of Condition * */
} Sought;

static bool is_simple_after_wildcards(Field *field);
static void seek_path(Sought *sought, JsonPathItem *item, int current);
static int	follow(Sought *sought, JsonPathItem *item, int current, bool filters);
static void seek_predicate(Sought *sought, JsonPathItem *item, int current);
static void seek_comparison(Sought *sought, JsonPathItem *path, JsonPathItem *value, StrategyNumber strategy, int current);
static bool get_scalar(Sought *sought, JsonPathItem *item, JsonbValue *scalar);

/* json_path_conditions: returns the comparisons (Condition *) of key fields that follow from a clause */
List *
json_path_conditions(IndexDef *def, Node *clause, Index varno)
{
	List	   *args;
	Oid			function = function_of(clause, &args);
	bool		match;
	Const	   *path;
	List	   *result = NIL;
	int			i;
	ListCell   *cell;

	match = function == F_JSONB_PATH_MATCH_OPR || function == F_JSONB_PATH_MATCH;
	if (!match && function != F_JSONB_PATH_EXISTS_OPR && function != F_JSONB_PATH_EXISTS)
		return NIL;
	path = lsecond(args);
	if (!IsA(path, Const) || path->constisnull)
		return NIL;
	for (i = 0; i < def->nkeys && i < def->nsearch; i++)
	{
		Field	   *field = &def->fields[i];
		Sought		sought = {.def = def,.position = i,.steps = field->spec->steps,.nsteps = field->spec->nsteps};
		JsonPathItem item;

		if (!is_castable_field(field) || !is_simple_after_wildcards(field))
			continue;
		if (list_length(args) > 2 && IsA(lthird(args), Const) && !((Const *) lthird(args))->constisnull)
			sought.variables = lthird(args);
		while (sought.root < sought.nsteps &&
			   !expression_is_path(def->fact, def->fact->doc_attno[def->docno], sought.steps, sought.root, linitial(args), varno))
			sought.root++;
		if (sought.root == sought.nsteps)
			continue;
		jspInit(&item, DatumGetJsonPathP(path->constvalue));
		/* What is no path is a predicate, whose result is what is found. */
		if (match)
			seek_predicate(&sought, &item, sought.root);
		else if (item.type == jpiRoot)
			seek_path(&sought, &item, sought.root);
		foreach(cell, sought.found)
		{
			Condition  *condition = lfirst(cell);

			condition->lossy = true;
			condition->sparse = true;
			if (field->spec->multi || !(is_number_type(field->type) || field->type == BOOLOID || field->type == DATEOID ||
										field->type == TIMESTAMPOID || field->type == UUIDOID))
				condition->unless |= CONTAINER_BIT;
		}
		result = list_concat(result, sought.found);
	}
	return result;
}

/* is_simple_after_wildcards: returns whether the path of a field has only one member after each [*] */
static bool
is_simple_after_wildcards(Field *field)
{
	int			i;

	for (i = field->plain_steps + 2; i < field->spec->nsteps; i++)
	{
		if (!field->spec->steps[i].wildcard && !field->spec->steps[i - 1].wildcard)
			return false;
	}
	return true;
}

/* seek_path: finds what follows if a path finds something: the predicates of its filters are true of something */
static void
seek_path(Sought *sought, JsonPathItem *item, int current)
{
	(void) follow(sought, item, current, true);
}

/*
 * follow
 *		Returns the step of the field's path that a path leads to, and -1 if it leads somewhere
 *		else; seeks in its filters, if it may have any.
 */
static int
follow(Sought *sought, JsonPathItem *item, int current, bool filters)
{
	int			n = item->type == jpiRoot ? sought->root : current;
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
				while (n < sought->nsteps && sought->steps[n].wildcard)
					n++;
				if (n == sought->nsteps || sought->steps[n].is_index || sought->steps[n].len != len ||
					memcmp(sought->steps[n].name, name, len) != 0)
					return -1;
				n++;
				break;
			case jpiAnyArray:
				if (n == sought->nsteps || !sought->steps[n].wildcard)
					return -1;
				n++;
				break;
			case jpiFilter:
				{
					JsonPathItem predicate;

					if (!filters)
						return -1;
					jspGetArg(&next, &predicate);
					seek_predicate(sought, &predicate, n);
					break;
				}
			default:
				return -1;
		}
		at = next;
	}
	return n;
}

/* seek_predicate: finds what follows if a predicate is true */
static void
seek_predicate(Sought *sought, JsonPathItem *item, int current)
{
	StrategyNumber strategy = InvalidStrategy;
	StrategyNumber commuted = InvalidStrategy;
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
		case jpiExists:
			jspGetArg(item, &left);
			seek_path(sought, &left, current);
			return;
		case jpiEqual:
			strategy = commuted = BTEqualStrategyNumber;
			break;
		case jpiLess:
			strategy = BTLessStrategyNumber;
			commuted = BTGreaterStrategyNumber;
			break;
		case jpiLessOrEqual:
			strategy = BTLessEqualStrategyNumber;
			commuted = BTGreaterEqualStrategyNumber;
			break;
		case jpiGreater:
			strategy = BTGreaterStrategyNumber;
			commuted = BTLessStrategyNumber;
			break;
		case jpiGreaterOrEqual:
			strategy = BTGreaterEqualStrategyNumber;
			commuted = BTLessEqualStrategyNumber;
			break;
		default:
			return;
	}
	jspGetLeftArg(item, &left);
	jspGetRightArg(item, &right);
	seek_comparison(sought, &left, &right, strategy, current);
	seek_comparison(sought, &right, &left, commuted, current);
}

/* seek_comparison: finds what follows if a path is compared with a scalar */
static void
seek_comparison(Sought *sought, JsonPathItem *path, JsonPathItem *value, StrategyNumber strategy, int current)
{
	JsonbValue	scalar;
	int			n;
	Condition  *condition;

	if (!get_scalar(sought, value, &scalar))
		return;
	n = follow(sought, path, current, false);
	/* It compares each element. */
	while (n >= 0 && n < sought->nsteps && sought->steps[n].wildcard)
		n++;
	if (n != sought->nsteps)
		return;
	condition = json_comparison(sought->def, sought->position, strategy, &scalar);
	if (condition != NULL)
		sought->found = lappend(sought->found, condition);
}

/* get_scalar: gets a string, a number or a boolean that is a constant, or a variable */
static bool
get_scalar(Sought *sought, JsonPathItem *item, JsonbValue *scalar)
{
	JsonbValue *variable;
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
		case jpiVariable:
			name = jspGetString(item, &len);
			if (sought->variables == NULL || !JB_ROOT_IS_OBJECT(DatumGetJsonbP(sought->variables->constvalue)))
				return false;
			variable = getKeyJsonValueFromContainer(&DatumGetJsonbP(sought->variables->constvalue)->root, name, len, NULL);
			if (variable == NULL || variable->type == jbvNull || variable->type == jbvBinary)
				return false;
			*scalar = *variable;
			return true;
		default:
			return false;
	}
}
