/*-------------------------------------------------------------------------
 *
 * json_cast.c
 *	  Casts JSON values to the types of fields: those in documents, and in the same way the
 *	  keys of look-ups.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "utils/datum.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../util/fixed_settings.h"
#include "../util/sql.h"
#include "entry.h"

static void set_type(Field *field, Oid type, int32 typmod);

/*
 * cast_json
 *		Casts a JSON value to the type of a field: as text, like #>> returns it; if the
 *		type is jsonb, the value is what #> returns.
 */
ValueResult
cast_json(Field *field, JsonbValue *value, bool is_key, Datum *result, RowMismatch *mismatch)
{
	char	   *str = NULL;
	int			len = 0;
	Mismatch	why = {0};

	if (field->is_jsonb)
	{
		if (is_key && value->type == jbvNull)
			return VALUE_JSON_NULL;
		*result = JsonbPGetDatum(JsonbValueToJsonb(value));
		return VALUE_OK;
	}

	switch (value->type)
	{
		case jbvNull:
			return VALUE_NULL;
		case jbvString:
			str = value->val.string.val;
			len = value->val.string.len;
			if (field->cast.kind != CAST_NONE)
				str = pnstrdup(str, len);
			break;
		case jbvBool:
			str = value->val.boolean ? "true" : "false";
			len = strlen(str);
			break;
		case jbvNumeric:
			if (field->type == NUMERICOID && field->typmod < 0)
			{
				/* The same as through text, which keeps digits and scale. */
				*result = datumCopy(NumericGetDatum(value->val.numeric), false, -1);
				return VALUE_OK;
			}
			str = DatumGetCString(DirectFunctionCall1(numeric_out,
													  NumericGetDatum(value->val.numeric)));
			len = strlen(str);
			break;
		case jbvBinary:
			if (is_key)
				mismatch->values |= CONTAINER_BIT;
			str = JsonbToCString(NULL, value->val.binary.data, value->val.binary.len);
			len = strlen(str);
			break;
		default:
			elog(ERROR, "unrecognized jsonb value type: %d", (int) value->type);
	}
	if (cast_text(&field->cast, str, len, result, &why))
	{
		if (field->type == TIMESTAMPTZOID && !has_zone(str))
			mismatch->values |= ZONELESS_BIT;
		return VALUE_OK;
	}
	if (mismatch->field == NULL)
	{
		mismatch->field = field;
		mismatch->value = pnstrdup(str, len);
		mismatch->why = why;
	}
	return VALUE_MISMATCH;
}

/*
 * key_value_cast
 *		Casts a JSON value to the type of a key field, for look-ups; returns false if
 *		the result is null.  A value that cannot be cast raises an error.
 */
bool
key_value_cast(IndexDef *def, int keyno, JsonbValue *value, Datum *result)
{
	Field	   *field = &def->fields[keyno];
	Field		plain = *field;
	RowMismatch mismatch = {0};
	ValueResult cast;
	Caller		caller;

	if (field->fact_attno != 0)
	{
		/*
		 * The checks of a domain do not decide what matches, and they may be
		 * code that the caller should not run.
		 */
		int32		typmod = field->typmod;
		Oid			type = getBaseTypeAndTypmod(field->type, &typmod);

		set_type(&plain, type, typmod);
	}

	/*
	 * Other types than those that a document's field can have may read any
	 * settings and tables in their input functions.
	 */
	if (field->fact_attno == 0 && field->type < FirstNormalObjectId)
		cast = cast_json(&plain, value, true, result, &mismatch);
	else
	{
		become_owner(&caller, def->fact->owner);
		fix_gucs();
		cast = cast_json(&plain, value, true, result, &mismatch);
		become_caller(&caller);
	}
	switch (cast)
	{
		case VALUE_NULL:
		case VALUE_JSON_NULL:
			return false;
		case VALUE_OK:
			return true;
		default:
			ereport(ERROR,
					(errcode(mismatch.why.sqlstate),
					 errmsg("key column \"%s\" of index table \"%s\" cannot hold the value \"%s\"",
							NameStr(TupleDescAttr(def->desc, field->attno - 1)->attname),
							def->name, excerpt(mismatch.value)),
					 errdetail("%s", excerpt(mismatch.why.message))));
	}
}

/*
 * json_value_cast
 *		Casts a JSON value to a base type whose input function is the server's own, as
 *		key_value_cast() does; returns false if the result is null, or the value cannot be
 *		cast.
 */
bool
json_value_cast(Oid type, int32 typmod, Oid collation, JsonbValue *value, Datum *result)
{
	Field		field = {.collation = collation};
	RowMismatch mismatch = {0};

	set_type(&field, type, typmod);
	return cast_json(&field, value, true, result, &mismatch) == VALUE_OK;
}

/* set_type: has values of a field, which is a copy, be cast to another type */
static void
set_type(Field *field, Oid type, int32 typmod)
{
	field->type = type;
	field->typmod = typmod;
	field->is_jsonb = (type == JSONBOID);
	if (!field->is_jsonb)
		cast_init(&field->cast, type, typmod, field->collation, CurrentMemoryContext);
}
