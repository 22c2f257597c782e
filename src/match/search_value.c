/*-------------------------------------------------------------------------
 *
 * search_value.c
 *	  Makes the value that entries are searched by of what a condition compares with: of a
 *	  constant when the query is planned, and of a parameter when the scan starts.  Of a document,
 *	  that is the value that any other has in a field that contains it, as the operator @> has it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

#include "../catalog/catalog.h"
#include "match.h"

static int	array_elements(ArrayType *array, Datum **elements, bool **nulls);
static Taken take_prefix(StrategyNumber strategy, const char *prefix, int len, Datum *result);
static Taken first_member(ArrayType *array, bool strict, Datum *result);
static bool leads_to_value(Field *field, Node *json, PathStep *steps, int nsteps);
static bool is_name(Node *arg, PathStep *step);
static bool becomes_value(Field *field, Node *value, PathStep *steps, int nsteps);
static bool suits(Field *field, Oid type);
static int	count_strings(Node *value, bool *in_array);
static List *add_values(List *values, Condition *condition);
static bool find_contained(Field *field, JsonbContainer *container, PathStep *steps, int nsteps, int *before,
						   Datum *result);
static bool contained_value(Field *field, int nsteps, int nth, Jsonb *json, Datum *result);

/*
 * take_value
 *		Sets *result to what entries are searched by if a condition compares a field with a
 *		value.  Its detail is the number of steps of the path after which a
 *		document contains the value, with the number of its element (contained_value()) 16 bits
 *		higher; or how many bits of an integer the comparison sees (0: all); or whether an array
 *		with NULL is contained in none.
 */
Taken
take_value(Field *field, Condition *condition, Datum value, Datum *result)
{
	StrategyNumber strategy = condition->strategy;
	int			detail = condition->detail;
	JsonbValue	scalar;
	Jsonb	   *json;

	switch (condition->taking)
	{
		case TAKE_AS_IS:
			*result = value;
			return TAKEN;
		case TAKE_NUMBER:
			switch (condition->from)
			{
				case INT2OID:
					*result = Int64GetDatum(DatumGetInt16(value));
					break;
				case INT4OID:
					*result = Int64GetDatum(DatumGetInt32(value));
					break;
				case INT8OID:
					*result = Int64GetDatum(DatumGetInt64(value));
					break;
				case FLOAT4OID:
					return take_float(field, detail, strategy, DatumGetFloat4(value), result);
				case FLOAT8OID:
					if (field->type == NUMERICOID)
						return take_bound(strategy, DatumGetFloat8(value), result);
					return take_float(field, detail, strategy, DatumGetFloat8(value), result);
				case NUMERICOID:
					return take_numeric(field, strategy, DatumGetNumeric(value), result);
				default:
					return TAKEN_UNKNOWN;
			}
			return TAKEN;
		case TAKE_TEXT:
			scalar.type = jbvString;
			scalar.val.string.val = VARDATA_ANY(DatumGetTextPP(value));
			scalar.val.string.len = VARSIZE_ANY_EXHDR(DatumGetTextPP(value));
			return take_scalar(field, strategy, &scalar, result);
		case TAKE_JSON:
			json = DatumGetJsonbP(value);
			if (!JB_ROOT_IS_SCALAR(json) || !JsonbExtractScalar(&json->root, &scalar) ||
				(strategy != BTEqualStrategyNumber && scalar.type != jbvNumeric))
				return TAKEN_UNKNOWN;
			return take_scalar(field, strategy, &scalar, result);
		case TAKE_DAY:
			return take_day(field, strategy, condition->from, detail, value, result);
		case TAKE_PREFIX:
			json = DatumGetJsonbP(value);
			if (!JB_ROOT_IS_SCALAR(json) || !JsonbExtractScalar(&json->root, &scalar) || scalar.type != jbvString)
				return TAKEN_NONE;
			return take_prefix(strategy, scalar.val.string.val, scalar.val.string.len, result);
		case TAKE_CONTAINED:
			return contained_value(field, detail & 0xffff, detail >> 16, DatumGetJsonbP(value), result) ?
				TAKEN :
				TAKEN_UNKNOWN;
		case TAKE_MEMBER:
			return first_member(DatumGetArrayTypeP(value), detail != 0, result);
		case TAKE_NULL:
		case TAKE_NOT_NULL:
			break;
	}
	return TAKEN_UNKNOWN;
}

/*
 * take_prefix
 *		Sets *result to the least text that starts with a prefix, or, for <, to one that is greater than all
 *		of these and not than others, in the order of bytes.  It need not be valid in any encoding.
 */
static Taken
take_prefix(StrategyNumber strategy, const char *prefix, int len, Datum *result)
{
	text	   *value;

	while (strategy == BTLessStrategyNumber && len > 0 && (unsigned char) prefix[len - 1] == 0xff)
		len--;
	if (strategy == BTLessStrategyNumber && len == 0)
		return TAKEN_UNKNOWN;
	value = cstring_to_text_with_len(prefix, len);
	if (strategy == BTLessStrategyNumber)
		VARDATA(value)[len - 1]++;
	*result = PointerGetDatum(value);
	return TAKEN;
}

/*
 * first_member
 *		Sets *result to the first element of an array that is not NULL; with strict, none may
 *		be NULL.
 */
static Taken
first_member(ArrayType *array, bool strict, Datum *result)
{
	Datum	   *elements;
	bool	   *nulls;
	int			n = array_elements(array, &elements, &nulls);
	Taken		taken = TAKEN_UNKNOWN;

	for (int i = 0; i < n; i++)
	{
		if (nulls[i] && strict)
			return TAKEN_NONE;
		if (!nulls[i] && taken == TAKEN_UNKNOWN)
		{
			*result = elements[i];
			taken = TAKEN;
		}
	}
	return taken;
}

/*
 * take_values
 *		Takes each element of an array as take_value() does; sets *values to the n that can be
 *		searched for.
 */
Taken
take_values(Field *field, Condition *condition, Datum array, Datum **values, int *n)
{
	bool	   *nulls;
	int			nelements = array_elements(DatumGetArrayTypeP(array), values, &nulls);

	*n = 0;
	for (int i = 0; i < nelements; i++)
	{
		Taken		taken = nulls[i] ? TAKEN_NONE : take_value(field, condition, (*values)[i], &(*values)[*n]);

		if (taken == TAKEN_UNKNOWN)
			return TAKEN_UNKNOWN;
		*n += taken == TAKEN;
	}
	return *n > 0 ? TAKEN : TAKEN_NONE;
}

/* array_elements: gets the elements of an array, and returns how many there are */
static int
array_elements(ArrayType *array, Datum **elements, bool **nulls)
{
	int16		len;
	bool		byval;
	char		align;
	int			n;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &len, &byval, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), len, byval, align, elements, nulls, &n);
	return n;
}

/*
 * array_constants
 *		Returns the elements of a constant array that is not NULL, as constants (Const *).
 */
List *
array_constants(Const *constant)
{
	ArrayType  *array = DatumGetArrayTypeP(constant->constvalue);
	Oid			type = ARR_ELEMTYPE(array);
	List	   *result = NIL;
	int16		len;
	bool		byval;
	Datum	   *elements;
	bool	   *nulls;
	int			n = array_elements(array, &elements, &nulls);

	get_typlenbyval(type, &len, &byval);
	for (int i = 0; i < n; i++)
		result = lappend(result, makeConst(type, -1, get_typcollation(type), len, elements[i], nulls[i], byval));
	return result;
}

/*
 * contains_value
 *		Returns whether an expression, json, probably has a value for a field after nsteps of its
 *		path.
 *
 * In a custom plan parameters are known.  In a generic one a call as jsonb_build_object('town',
 * $1) tells.  Of a bare parameter nothing is known, and so the server goes on with custom plans;
 * but what is compared with an array itself, in doc -> 'tags' @> $1, is mostly one of its
 * elements.
 */
bool
contains_value(PlannerInfo *root, Field *field, int nsteps, Node *json)
{
	Node	   *known = estimate_expression_value(root, json);
	PathStep   *steps = field->spec->steps + nsteps;
	int			left = field->spec->nsteps - nsteps;
	Datum		value;

	if (IsA(known, Const) && ((Const *) known)->consttype == JSONBOID)
		return !((Const *) known)->constisnull &&
			contained_value(field, nsteps, 0, DatumGetJsonbP(((Const *) known)->constvalue), &value);
	if (left == 1 && steps[0].wildcard)
	{
		if (!IsA(json, FuncExpr))
			return true;
		if (((FuncExpr *) json)->funcid == F_TO_JSONB &&
			suits(field, exprType(linitial(((FuncExpr *) json)->args))))
			return true;
	}
	return leads_to_value(field, json, steps, left);
}

/*
 * leads_to_value
 *		Returns whether the calls that make up an expression put a value for a field at the
 *		end of a path.
 */
static bool
leads_to_value(Field *field, Node *json, PathStep *steps, int nsteps)
{
	FuncExpr   *call = (FuncExpr *) json;
	Node	   *member = NULL;

	if (IsA(json, Const))
	{
		Const	   *constant = (Const *) json;
		Datum		value;
		int			before = 0;

		return !constant->constisnull && constant->consttype == JSONBOID &&
			find_contained(field, &DatumGetJsonbP(constant->constvalue)->root, steps, nsteps, &before, &value);
	}
	if (!IsA(json, FuncExpr) || call->funcvariadic)
		return false;
	if (call->funcid == F_TO_JSONB)
		return becomes_value(field, linitial(call->args), steps, nsteps);
	if (nsteps == 0)
		return false;
	if (call->funcid == F_JSONB_BUILD_ARRAY_ANY && steps[0].wildcard)
		member = linitial(call->args);
	else if (call->funcid == F_JSONB_BUILD_OBJECT_ANY && !steps[0].wildcard && !steps[0].is_index)
	{
		/* Of members with the same name, the last one counts. */
		for (int i = 0; i + 1 < list_length(call->args); i += 2)
		{
			if (is_name(list_nth(call->args, i), &steps[0]))
				member = list_nth(call->args, i + 1);
		}
	}
	return member != NULL && becomes_value(field, member, steps + 1, nsteps - 1);
}

/*
 * is_name
 *		Returns whether an argument is the name of a step; a literal that is an argument of
 *		any type has none.
 */
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

/*
 * becomes_value
 *		Returns whether an SQL value that is turned into JSON has a value for a field at the
 *		end of a path.
 */
static bool
becomes_value(Field *field, Node *value, PathStep *steps, int nsteps)
{
	Oid			type = getBaseType(exprType(value));

	if (type == JSONBOID)
		return leads_to_value(field, value, steps, nsteps);
	if (nsteps == 0)
		return suits(field, type);
	return nsteps == 1 && steps[0].wildcard && OidIsValid(get_element_type(type)) &&
		suits(field, get_element_type(type));
}

/*
 * suits
 *		Returns whether values of an SQL type, turned into JSON, are such as a field has:
 *		numbers, booleans, or strings.
 */
static bool
suits(Field *field, Oid type)
{
	TYPCATEGORY category = TypeCategory(getBaseType(type));

	if (is_number_type(field->type))
		return category == TYPCATEGORY_NUMERIC;
	if (type == BOOLOID)
		return field->type == BOOLOID || field->type == TEXTOID;
	return field->type != BOOLOID &&
		(category == TYPCATEGORY_STRING || category == TYPCATEGORY_DATETIME || category == TYPCATEGORY_ENUM ||
		 type == UNKNOWNOID || type == UUIDOID);
}

/*
 * contained_value
 *		Sets *result to what entries are searched by, because a document contains json after nsteps
 *		of a field's path: of several elements that it has to contain, to the nth, from 0.  Returns
 *		false if json does not tell.
 *
 * What contains a scalar in an object or an array has an equal one at the same path; of that,
 * take_scalar() tells.
 */
static bool
contained_value(Field *field, int nsteps, int nth, Jsonb *json, Datum *result)
{
	JsonbValue	scalar;

	if (!JB_ROOT_IS_SCALAR(json))
		return find_contained(field, &json->root, field->spec->steps + nsteps, field->spec->nsteps - nsteps, &nth,
							  result);

	/*
	 * An array contains the scalars that are its elements, and a scalar
	 * itself.
	 */
	return nth == 0 && nsteps == field->spec->nsteps - 1 && field->spec->steps[nsteps].wildcard &&
		JsonbExtractScalar(&json->root, &scalar) &&
		take_scalar(field, BTEqualStrategyNumber, &scalar, result) == TAKEN;
}

/*
 * find_contained
 *		Finds a scalar at the end of a path that tells what to search for, after *before others. A
 *		number in the path may be that of an element, which containment does not tell.
 */
static bool
find_contained(Field *field, JsonbContainer *container, PathStep *steps, int nsteps, int *before, Datum *result)
{
	JsonbValue *value;

	if (nsteps == 0)
		return false;
	if (steps[0].wildcard)
	{
		if (!JsonContainerIsArray(container))
			return false;
		for (int i = 0; i < (int) JsonContainerSize(container); i++)
		{
			value = getIthJsonbValueFromContainer(container, i);
			if (value->type == jbvBinary ?
				find_contained(field, value->val.binary.data, steps + 1, nsteps - 1, before, result) :
				nsteps == 1 && take_scalar(field, BTEqualStrategyNumber, value, result) == TAKEN &&
				(*before)-- == 0)
				return true;
		}
		return false;
	}
	if (!JsonContainerIsObject(container) || steps[0].is_index)
		return false;
	value = getKeyJsonValueFromContainer(container, steps[0].name, steps[0].len, NULL);
	if (value == NULL)
		return false;
	if (value->type == jbvBinary)
		return find_contained(field, value->val.binary.data, steps + 1, nsteps - 1, before, result);
	return nsteps == 1 && take_scalar(field, BTEqualStrategyNumber, value, result) == TAKEN && (*before)-- == 0;
}

/*
 * contained_scalar
 *		Sets *scalar to what a document has at the path of a field without [*], because it contains json
 *		after nsteps of the path; returns false if json does not tell.
 */
bool
contained_scalar(Field *field, int nsteps, Jsonb *json, JsonbValue *scalar)
{
	JsonbContainer *container = &json->root;

	for (int i = nsteps; i < field->spec->nsteps; i++)
	{
		PathStep   *step = &field->spec->steps[i];
		JsonbValue *value;

		if (step->wildcard || step->is_index || !JsonContainerIsObject(container))
			return false;
		value = getKeyJsonValueFromContainer(container, step->name, step->len, NULL);
		if (value == NULL)
			return false;
		if (value->type != jbvBinary)
		{
			*scalar = *value;
			return i == field->spec->nsteps - 1;
		}
		container = value->val.binary.data;
	}
	return false;
}

/*
 * is_json_null
 *		Returns whether a constant that a condition compares a field with has JSON null in the place of the
 *		field, which is not of type jsonb.
 */
bool
is_json_null(Field *field, Taking taking, int detail, Const *constant)
{
	JsonbValue	scalar;
	Jsonb	   *json;

	if ((taking != TAKE_JSON && taking != TAKE_CONTAINED) || constant->constisnull)
		return false;
	json = DatumGetJsonbP(constant->constvalue);
	if (taking == TAKE_CONTAINED)
		return contained_scalar(field, detail, json, &scalar) && scalar.type == jbvNull;
	return JB_ROOT_IS_SCALAR(json) && JsonbExtractScalar(&json->root, &scalar) && scalar.type == jbvNull;
}

/* only_string: returns whether nothing but a JSON string has this text */
bool
only_string(const char *text, int len)
{
	return len == 0 || (strchr("-0123456789[{", text[0]) == NULL && !(len == 4 && memcmp(text, "true", 4) == 0) &&
						!(len == 5 && memcmp(text, "false", 5) == 0));
}

/*
 * constant_values
 *		Returns the elements of a constant array of at most max that are not NULL, as
 *		constants; else NIL.
 */
List *
constant_values(Node *array, int max)
{
	Const	   *constant = (Const *) array;
	List	   *result;

	if (!IsA(array, Const) || constant->constisnull ||
		ArrayGetNItems(ARR_NDIM(DatumGetArrayTypeP(constant->constvalue)),
					   ARR_DIMS(DatumGetArrayTypeP(constant->constvalue))) > max)
		return NIL;
	result = array_constants(constant);
	foreach_node(Const, element, result)
	{
		if (element->constisnull)
			result = foreach_delete_current(result, element);
	}
	return result;
}

/*
 * without_length
 *		Returns the expression below a cast to varchar(n), if a comparison with a value has the same
 *		result: with a constant text that is shorter, or texts that all are.  NULL for the value: if
 *		most comparisons have, as n is large.
 *
 * Such a cast cuts off what follows after n characters, so a text that it changes has n of them.
 */
Node *
without_length(Node *expr, Node *value)
{
	FuncExpr   *cast = (FuncExpr *) bare_value(expr);
	int			length;

	if (!IsA(cast, FuncExpr) || cast->funcid != F_VARCHAR_VARCHAR_INT4_BOOL || !IsA(lsecond(cast->args), Const) ||
		(value != NULL && (!IsA(value, Const) || ((Const *) value)->constisnull)))
		return expr;
	length = DatumGetInt32(((Const *) lsecond(cast->args))->constvalue) - (int) VARHDRSZ;
	if (value == NULL && length < 100)
		return expr;
	foreach_node(Const, text,
				 value == NULL ? NIL :
				 type_is_array(exprType(value)) ? constant_values(value, INT_MAX) :
				 list_make1(value))
	{
		if ((text->consttype != TEXTOID && text->consttype != VARCHAROID) ||
			DatumGetInt32(DirectFunctionCall1(textlen, text->constvalue)) >= length)
			return expr;
	}
	return bare_value(linitial(cast->args));
}

/*
 * any_of
 *		Returns the comparison of one column that follows if some of several lists of
 *		comparisons hold, or NULL.
 */
Condition *
any_of(List *arms, int position)
{
	Condition  *result = NULL;
	List	   *values = NIL;
	ArrayExpr  *array;

	foreach_ptr(List, arm, arms)
	{
		Condition  *best = NULL;

		foreach_ptr(Condition, condition, arm)
		{
			if (condition->position == position && condition->strategy == BTEqualStrategyNumber &&
				(best == NULL || (best->lossy && !condition->lossy)))
				best = condition;
		}
		if (best == NULL)
			return NULL;
		if (best->taking == TAKE_NULL || best->taking == TAKE_MEMBER)
			return NULL;		/* it is no value of an array */
		if (result == NULL)
		{
			result = palloc(sizeof(Condition));
			*result = *best;
		}
		else if (best->operator != result->operator || best->subtype != result->subtype ||
				 best->taking != result->taking || best->detail != result->detail || best->from != result->from)
			return NULL;
		if (!equal(result->scope, best->scope))
			result->scope = NIL;
		result->lossy = result->lossy || best->lossy || list_length(arm) > 1;
		result->castable = result->castable && best->castable;
		result->of_numbers = result->of_numbers || best->of_numbers;
		result->unless |= best->unless;
		values = add_values(values, best);
		if (values == NIL)
			return NULL;
	}
	array = makeNode(ArrayExpr);
	array->element_typeid = result->from;
	array->array_typeid = get_array_type(result->from);
	array->array_collid = get_typcollation(result->from);
	array->elements = values;
	array->location = -1;
	if (!OidIsValid(array->array_typeid))
		return NULL;
	result->value = (Expr *) eval_const_expressions(NULL, (Node *) array);
	result->array = true;
	result->together = 0;
	result->implied = true;
	result->rinfo = NULL;
	return result;
}

/*
 * add_values
 *		Adds the values that a comparison is with to a list; returns NIL if they are not known
 *		one by one.
 */
static List *
add_values(List *values, Condition *condition)
{
	Const	   *array = (Const *) condition->value;

	if (!condition->array)
		return lappend(values, condition->value);
	if (IsA(array, ArrayExpr) && !((ArrayExpr *) array)->multidims)
		return list_concat(values, ((ArrayExpr *) array)->elements);
	if (!IsA(array, Const) || array->constisnull)
		return NIL;
	return list_concat(values, array_constants(array));
}

/*
 * index_position_of
 *		Returns the position in the index of the column that has the value of an operand, or
 *		-1.
 */
int
index_position_of(IndexDef *def, Node *operand, Index varno)
{
	AttrNumber	attno = column_of_expression(def, operand, varno);

	/* The same bytes, called another type: a varchar is compared as text. */
	if (attno == 0 && IsA(operand, RelabelType))
		attno = column_of_expression(def, (Node *) ((RelabelType *) operand)->arg, varno);

	/*
	 * An element is a value of the field, too, where a search is for any
	 * element.
	 */
	for (int e = 0; attno == 0 && e < def->spec.nelements; e++)
	{
		Field	   *field = &def->spec.fields[def->spec.elements[e]];

		if (expression_is_element(def, field, operand, varno) ||
			(IsA(operand, RelabelType) &&
			 expression_is_element(def, field, (Node *) ((RelabelType *) operand)->arg, varno)))
			attno = field->attno;
	}
	if (attno == 0)
		return -1;
	for (int i = 0; i < def->layout.nsearch; i++)
	{
		if (def->layout.ident[i] == attno)
			return i;
	}
	return -1;
}

/*
 * position_of_text
 *		Returns where in the index a text is that is compared with a value, or else the text
 *		below *expr without its length.
 */
int
position_of_text(IndexDef *def, Node **expr, Node *value, Index varno)
{
	int			position = index_position_of(def, *expr, varno);
	Node	   *bare = position < 0 ? without_length(*expr, value) : *expr;

	if (bare != *expr)
		position = index_position_of(def, *expr = bare, varno);
	return position;
}

/*
 * count_only_texts
 *		Returns the number of texts in a value that a document is to contain, if it consists of nothing
 *		else, and each row with entries of all of these texts contains it; else 0.  Adds to *unless what
 *		rows must not have for that.
 */
int
count_only_texts(IndexDef *def, Field *field, Node *value, uint32 *unless)
{
	bool		in_array = false;
	int			result;

	if (field->type != TEXTOID || field->convert != NULL || !get_collation_isdeterministic(field->collation))
		return 0;

	/*
	 * Whatever the text will be, or the texts are: if all rows have strings
	 * only, nothing else has it.
	 */
	if ((exprType(value) == TEXTOID || exprType(value) == TEXTARRAYOID) && !IsA(value, Const))
	{
		if (!index_table_has_none(def, NO_STRING_BIT, NULL))
			return 0;
		*unless |= NO_STRING_BIT;
		return 1;
	}
	result = count_strings(value, &in_array);
	if (result > 0 && in_array && field->spec->multi)
	{
		if (!index_table_has_none(def, NO_ARRAY_BIT, NULL))
			return 0;
		*unless |= NO_ARRAY_BIT;
	}
	return result;
}

/*
 * count_strings
 *		Returns how many strings a constant is: a text, texts in an array, or jsonb that is nothing but
 *		strings in one array, or one string, in as many arrays and objects as it takes; 0 if it is
 *		something else, or other JSON has the text of one of them.  Sets *in_array if it is JSON in
 *		an array, or an object.
 */
static int
count_strings(Node *value, bool *in_array)
{
	Const	   *constant = (Const *) value;
	JsonbContainer *container;
	JsonbIterator *it;
	JsonbValue	member;
	JsonbIteratorToken token;
	int			result = 0;

	if (!IsA(value, Const) || constant->constisnull)
		return 0;
	if (constant->consttype == TEXTOID)
		return only_string(VARDATA_ANY(DatumGetPointer(constant->constvalue)),
						   VARSIZE_ANY_EXHDR(DatumGetPointer(constant->constvalue)));
	if (constant->consttype == TEXTARRAYOID)
	{
		foreach_ptr(Node, element, constant_values(value, INT_MAX))
		{
			if (count_strings(element, in_array) == 0)
				return 0;
			result++;
		}
		return result;
	}
	if (constant->consttype != JSONBOID)
		return 0;
	container = &DatumGetJsonbP(constant->constvalue)->root;
	*in_array = !JsonContainerIsScalar(container);
	for (;;)
	{
		if (JsonContainerSize(container) != 1 && !JsonContainerIsArray(container))
			return 0;
		it = JsonbIteratorInit(container);
		(void) JsonbIteratorNext(&it, &member, true);
		if ((token = JsonbIteratorNext(&it, &member, true)) == WJB_KEY)
			token = JsonbIteratorNext(&it, &member, true);
		if (JsonContainerSize(container) != 1 || member.type != jbvBinary)
			break;
		container = member.val.binary.data;
	}
	for (; token == WJB_ELEM || token == WJB_VALUE; token = JsonbIteratorNext(&it, &member, true))
	{
		if (member.type != jbvString || !only_string(member.val.string.val, member.val.string.len))
			return 0;
		result++;
	}
	return result;
}
