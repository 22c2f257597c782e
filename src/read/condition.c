/*-------------------------------------------------------------------------
 *
 * condition.c
 *	  Reads from JSON which entries a query pages through: its key and its condition.
 *
 * A key gives values of the leading key fields, as for lookup().  A condition is
 * about the field that follows them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"

#include "../entry/json_cast.h"
#include "../indextable.h"
#include "condition.h"
#include "key_set.h"
#include "search_condition.h"

static void read_condition(IndexDef *def, Jsonb *condition, KeyRange *range);
static void read_operators(IndexDef *def, int field, JsonbContainer *operators, KeyRange *range);
pg_noreturn static void operator_error(const char *detail);
static void set_bound(IndexDef *def, int field, JsonbValue *value, bool inclusive, Bound *bound,
					  KeyRange *range);
static void set_between(IndexDef *def, int field, JsonbValue *value, KeyRange *range);
static void set_prefix(IndexDef *def, int field, JsonbValue *value, KeyRange *range);

/*
 * key_range
 *		Reads key, or several keys; {} is that of all entries; and condition, which is NULL if there is
 *		none.  Both are checked even if no entry can match.
 */
void
key_range(IndexDef *def, Jsonb *key, Jsonb *condition, KeyRange *range)
{
	memset(range, 0, sizeof(KeyRange));
	key_set_read(def, key, true, &range->keys);
	if (condition != NULL)
		read_condition(def, condition, range);
	if (range->keys.n == 0)
		range->empty = true;
}

/* read_condition: reads {"column": {"operator": value, ...}} into the range */
static void
read_condition(IndexDef *def, Jsonb *condition, KeyRange *range)
{
	JsonbIterator *it;
	JsonbValue	value;
	char	   *name;
	int			field = range->keys.ncolumns;

	if (field == def->nkeys)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("condition cannot be used because key has all key columns of index table \"%s\"", def->name),
				 errhint("A condition applies to the first key column that is not in key. Leave that column out of key.")));
	if (!JsonContainerIsObject(&condition->root) || JsonContainerSize(&condition->root) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("condition must be an object with one column"),
				 errhint("For example: '{\"%s\": {\">=\": ...}}'.", key_column_name(def, field))));

	it = JsonbIteratorInit(&condition->root);
	JsonbIteratorNext(&it, &value, true);
	JsonbIteratorNext(&it, &value, true);
	name = pnstrdup(value.val.string.val, value.val.string.len);
	if (find_key_column(def, name) != field)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("condition must use the first key column that is not in key"),
				 errdetail("That column is \"%s\", not \"%s\".", key_column_name(def, field), name),
				 errhint("The key columns are %s.", key_columns(def))));

	JsonbIteratorNext(&it, &value, true);
	if (value.type != jbvBinary || !JsonContainerIsObject(value.val.binary.data) ||
		JsonContainerSize(value.val.binary.data) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("condition must compare its column with a value"),
				 errdetail("The value of the column is not an object, or it is an empty one."),
				 value.type == jbvBinary ? errhint("For example: '{\"%s\": {\">=\": ...}}'.", name) :
				 errhint("For example: %s.", condition_example(name, "=", &value))));
	read_operators(def, field, value.val.binary.data, range);
}

/* read_operators: reads {"operator": value}, with one operator or a lower and an upper bound, into the range */
static void
read_operators(IndexDef *def, int field, JsonbContainer *operators, KeyRange *range)
{
	int			n = JsonContainerSize(operators);
	JsonbIterator *it = JsonbIteratorInit(operators);
	JsonbIteratorToken token;
	JsonbValue	value;
	char	   *op = NULL;

	while ((token = JsonbIteratorNext(&it, &value, true)) != WJB_DONE)
	{
		Bound	   *bound = NULL;

		if (token == WJB_KEY)
			op = pnstrdup(value.val.string.val, value.val.string.len);
		if (token != WJB_VALUE)
			continue;
		if (strcmp(op, ">") == 0 || strcmp(op, ">=") == 0)
			bound = &range->lower;
		else if (strcmp(op, "<") == 0 || strcmp(op, "<=") == 0)
			bound = &range->upper;
		if (bound == NULL ? n > 1 : bound->given)
			operator_error("Its operators cannot be combined.");

		if (bound != NULL)
			set_bound(def, field, &value, op[1] == '=', bound, range);
		else if (strcmp(op, "=") == 0)
			/* As if the column were in the key. */
			key_set_restrict(def, &value, &range->keys);
		else if (strcmp(op, "between") == 0)
			set_between(def, field, &value, range);
		else if (strcmp(op, "begins_with") == 0)
			set_prefix(def, field, &value, range);
		else
			operator_error(operator_meant(op) == NULL ? psprintf("Operator \"%s\" is not recognized.", op) :
						   psprintf("Operator \"%s\" is not recognized. Perhaps you mean %s.", op,
									condition_example(key_column_name(def, field), operator_meant(op), &value)));
	}
}

static void
operator_error(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("condition must compare its column with a value"),
			 errdetail("%s", detail),
			 errhint("Use {\"op\": value} with one of the operators =, <, <=, >, >=, or {\">=\": value, \"<\": value}, {\"between\": [value, value]}, or {\"begins_with\": \"text\"}.")));
}

/* set_bound: sets a bound of the range; nothing matches if the value is null */
static void
set_bound(IndexDef *def, int field, JsonbValue *value, bool inclusive, Bound *bound, KeyRange *range)
{
	bound->given = true;
	bound->inclusive = inclusive;
	if (!key_value_cast(def, field, value, &bound->value))
		range->empty = true;
}

static void
set_between(IndexDef *def, int field, JsonbValue *value, KeyRange *range)
{
	JsonbContainer *values = value->type == jbvBinary ? value->val.binary.data : NULL;

	if (values == NULL || !JsonContainerIsArray(values) || JsonContainerSize(values) != 2)
		operator_error("The operator \"between\" requires an array of two values.");
	set_bound(def, field, getIthJsonbValueFromContainer(values, 0), true, &range->lower, range);
	set_bound(def, field, getIthJsonbValueFromContainer(values, 1), true, &range->upper, range);
}

/*
 * set_prefix
 *		Restricts the range to texts that begin with a prefix.  Only in the order of
 *		bytes such texts are next to each other, so that the prefix also bounds the range,
 *		as the server tells it; in other orders it is just a filter.
 */
static void
set_prefix(IndexDef *def, int field, JsonbValue *value, KeyRange *range)
{
	Form_pg_attribute att = TupleDescAttr(def->desc, def->fields[field].attno - 1);
	Oid			type = getBaseType(att->atttypid);
	Node	   *any_text;
	Const	   *prefix;
	ListCell   *cell;

	if (type != TEXTOID && type != VARCHAROID && type != BPCHAROID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("operator \"begins_with\" requires a text column"),
				 errdetail("Column \"%s\" of index table \"%s\" has type %s.", NameStr(att->attname),
						   def->name, format_type_be(att->atttypid))));
	if (!get_collation_isdeterministic(att->attcollation))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("operator \"begins_with\" is not supported for nondeterministic collations"),
				 errdetail("Column \"%s\" of index table \"%s\" has collation \"%s\".",
						   NameStr(att->attname), def->name, get_collation_name(att->attcollation))));
	if (value->type == jbvNull)
	{
		range->empty = true;
		return;
	}
	if (value->type != jbvString)
		operator_error("The operator \"begins_with\" requires a string.");

	range->prefix = pnstrdup(value->val.string.val, value->val.string.len);
	any_text = (Node *) makeVar(1, 1, TEXTOID, -1, att->attcollation, 0);
	prefix = makeConst(TEXTOID, -1, att->attcollation, -1, CStringGetTextDatum(range->prefix), false, false);
	foreach(cell, bounds_of_pattern((Node *) makeFuncExpr(F_STARTS_WITH, BOOLOID, list_make2(any_text, prefix), InvalidOid,
														  att->attcollation, COERCE_EXPLICIT_CALL),
									F_STARTS_WITH, att->attcollation))
	{
		OpExpr	   *op = lfirst_node(OpExpr, cell);
		Bound	   *bound = op->opno == TextGreaterEqualOperator ? &range->lower : &range->upper;

		bound->given = true;
		bound->inclusive = op->opno == TextGreaterEqualOperator;
		bound->value = lsecond_node(Const, op->args)->constvalue;
	}
}
