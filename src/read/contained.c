/*-------------------------------------------------------------------------
 *
 * contained.c
 *	  Finds the string that a document has in a field if it contains a value, as the operator
 *	  @> has it.
 *
 * The value may be known only when a plan is executed.  The planner then has to know in which
 * fields it will have a string: a scan that searches for one in vain cannot use the index
 * table, so a plan that was taken for that costs more than it promised.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"

#include "contained.h"

static bool leads_to_string(Node *json, PathStep *steps, int nsteps);
static bool is_name(Node *arg, PathStep *step);
static bool becomes_string(Node *value, PathStep *steps, int nsteps);
static bool is_string(Oid type);
static bool find_contained(JsonbContainer *container, PathStep *steps, int nsteps, JsonbValue *result);

/*
 * contains_string
 *		Returns whether an expression, json, probably has a string for a field after nsteps of its
 *		path.
 *
 * In a custom plan parameters are known.  In a generic one a call as jsonb_build_object('town',
 * $1) tells.  Of a bare parameter nothing is known, and so the server goes on with custom plans;
 * but what is compared with an array itself, in doc -> 'tags' @> $1, is mostly one of its
 * elements.
 */
bool
contains_string(PlannerInfo *root, Field *field, int nsteps, Node *json)
{
	Node	   *known = estimate_expression_value(root, json);
	PathStep   *steps = field->spec->steps + nsteps;
	int			left = field->spec->nsteps - nsteps;

	if (IsA(known, Const))
		return contained_string(field, nsteps, known) != NULL;
	if (left == 1 && steps[0].wildcard)
	{
		if (!IsA(json, FuncExpr))
			return true;
		if (((FuncExpr *) json)->funcid == F_TO_JSONB && is_string(exprType(linitial(((FuncExpr *) json)->args))))
			return true;
	}
	return leads_to_string(json, steps, left);
}

/* contained_string: returns that string as a constant; NULL if the value is not a constant, or does not tell */
Node *
contained_string(Field *field, int nsteps, Node *json)
{
	Datum		value;

	if (!IsA(json, Const) || ((Const *) json)->constisnull ||
		!contained_value(field, nsteps, DatumGetJsonbP(((Const *) json)->constvalue), &value))
		return NULL;
	return (Node *) makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1, value, false, false);
}

/* leads_to_string: returns whether the calls that make up an expression put a string at the end of a path */
static bool
leads_to_string(Node *json, PathStep *steps, int nsteps)
{
	FuncExpr   *call = (FuncExpr *) json;
	Node	   *member = NULL;
	int			i;

	if (IsA(json, Const))
	{
		Const	   *constant = (Const *) json;
		JsonbValue	value;

		return !constant->constisnull && constant->consttype == JSONBOID &&
			find_contained(&DatumGetJsonbP(constant->constvalue)->root, steps, nsteps, &value) && value.type == jbvString;
	}
	if (!IsA(json, FuncExpr) || call->funcvariadic)
		return false;
	if (call->funcid == F_TO_JSONB)
		return becomes_string(linitial(call->args), steps, nsteps);
	if (nsteps == 0)
		return false;
	if (call->funcid == F_JSONB_BUILD_ARRAY_ANY && steps[0].wildcard)
		member = linitial(call->args);
	else if (call->funcid == F_JSONB_BUILD_OBJECT_ANY && !steps[0].wildcard && !steps[0].is_index)
	{
		/* Of members with the same name, the last one counts. */
		for (i = 0; i + 1 < list_length(call->args); i += 2)
		{
			if (is_name(list_nth(call->args, i), &steps[0]))
				member = list_nth(call->args, i + 1);
		}
	}
	return member != NULL && becomes_string(member, steps + 1, nsteps - 1);
}

/* is_name: returns whether an argument is the name of a step; a literal that is an argument of any type has none */
static bool
is_name(Node *arg, PathStep *step)
{
	Const	   *name = (Const *) arg;

	if (!IsA(arg, Const) || name->constisnull)
		return false;
	if (name->consttype == UNKNOWNOID)
		return strcmp(DatumGetCString(name->constvalue), step->name) == 0;
	return name->consttype == TEXTOID && (int) VARSIZE_ANY_EXHDR(DatumGetPointer(name->constvalue)) == step->len &&
		memcmp(VARDATA_ANY(DatumGetPointer(name->constvalue)), step->name, step->len) == 0;
}

/* becomes_string: returns whether an SQL value that is turned into JSON has a string at the end of a path */
static bool
becomes_string(Node *value, PathStep *steps, int nsteps)
{
	Oid			type = getBaseType(exprType(value));

	if (type == JSONBOID)
		return leads_to_string(value, steps, nsteps);
	if (nsteps == 0)
		return is_string(type);
	return nsteps == 1 && steps[0].wildcard && OidIsValid(get_element_type(type)) && is_string(get_element_type(type));
}

/* is_string: returns whether values of a type are strings in JSON */
static bool
is_string(Oid type)
{
	TYPCATEGORY category = TypeCategory(getBaseType(type));

	return category == TYPCATEGORY_STRING || category == TYPCATEGORY_DATETIME || category == TYPCATEGORY_ENUM ||
		type == UNKNOWNOID || type == UUIDOID;
}

/*
 * contained_value
 *		Gets the string that a document has in a field if it contains json after nsteps of the
 *		path.  Returns false if json does not tell.
 */
bool
contained_value(Field *field, int nsteps, Jsonb *json, Datum *result)
{
	JsonbValue	value;

	if (JB_ROOT_IS_SCALAR(json))
	{
		/*
		 * An array contains the scalars that are its elements, and a scalar
		 * itself.
		 */
		if (nsteps != field->spec->nsteps - 1 || !field->spec->steps[nsteps].wildcard)
			return false;
		(void) JsonbExtractScalar(&json->root, &value);
	}
	else if (!find_contained(&json->root, field->spec->steps + nsteps, field->spec->nsteps - nsteps, &value))
		return false;
	if (value.type != jbvString)
		return false;
	*result = PointerGetDatum(cstring_to_text_with_len(value.val.string.val, value.val.string.len));
	return true;
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
