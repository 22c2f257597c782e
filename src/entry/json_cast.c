/*-------------------------------------------------------------------------
 *
 * json_cast.c
 *	  Casts JSON values to the types of fields: those in documents, and in the same way the
 *	  keys of look-ups; and writes primary keys as text, and rows as JSON, for the extension's own
 *	  tables and for users.
 *
 * Keys that are stored are written under the drain's fixed settings, so that a key
 * has the same text in every session.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../expression/expression.h"
#include "../indextable.h"
#include "../util/as_owner.h"
#include "../util/fixed_settings.h"
#include "../util/sql.h"
#include "entry.h"

static void set_type(Field *field, Oid type, int32 typmod);
static Jsonb *value_to_jsonb(Datum value, Oid type);

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
		mismatch->number = value->type == jbvNumeric;
		mismatch->why = why;
	}
	return VALUE_MISMATCH;
}

/*
 * key_value_cast
 *		Casts a JSON value to the type of a key field, for look-ups; returns false if it is JSON null,
 *		which matches nothing there.  A value that cannot be cast raises an error.
 */
bool
key_value_cast(IndexDef *def, int keyno, JsonbValue *value, Datum *result)
{
	Field	   *field = &def->spec.fields[keyno];
	Field		plain = *field;
	RowMismatch mismatch = {0};
	ValueResult cast;
	bool		apart = field->fact_attno != 0 || field->type >= FirstNormalObjectId;

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
	if (value->type == jbvNull)
		return false;
	AS_OWNER(apart ? def->fact->owner : InvalidOid);
	{
		cast = cast_json(&plain, value, true, result, &mismatch);
	}
	END_AS_OWNER();
	switch (cast)
	{
		case VALUE_NULL:
			return false;
		case VALUE_OK:
			return true;
		default:
			ereport(ERROR,
					(errcode(mismatch.why.sqlstate),
					 errmsg("key column \"%s\" of index table \"%s\" cannot hold the value \"%s\"",
							NameStr(TupleDescAttr(def->layout.desc, field->attno - 1)->attname),
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
	return value->type != jbvNull && cast_json(&field, value, true, result, &mismatch) == VALUE_OK;
}

/* set_type: sets the type to which values of a field, which is a copy, are cast */
static void
set_type(Field *field, Oid type, int32 typmod)
{
	field->type = type;
	field->typmod = typmod;
	field->is_jsonb = (type == JSONBOID);
	if (!field->is_jsonb)
		cast_init(&field->cast, type, typmod, field->collation, CurrentMemoryContext);
}

/* key_texts: returns a primary key as an array of texts */
Datum
key_texts(FactDef *def, Datum *key)
{
	Datum	   *texts = palloc(sizeof(Datum) * def->layout.npk);

	for (int i = 0; i < def->layout.npk; i++)
		texts[i] = CStringGetTextDatum(value_text(TupleDescAttr(def->queue.desc, QUEUE_KEY - 1 + i)->atttypid,
												  key[i]));
	return PointerGetDatum(construct_array(texts, def->layout.npk, TEXTOID, -1, false, TYPALIGN_INT));
}

/*
 * key_from_texts
 *		Turns an array of texts back into a primary key, whose values are allocated in
 *		cxt.
 *
 * Input functions run as the owner of the fact table, as a domain may call code of
 * that user.  They raise an error if a text is not valid any more, as when the label
 * of an enum has been renamed.
 */
void
key_from_texts(FactDef *def, ArrayType *array, Datum *key, MemoryContext cxt)
{
	Datum	   *texts;
	int			n;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &texts, NULL, &n);
	if (n != def->layout.npk)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("a primary key with %d columns is none of \"%s\"", n, def->name),
				 errdetail("Its primary key has %d columns.", def->layout.npk)));
	AS_OWNER(def->owner);
	{
		for (int i = 0; i < n; i++)
		{
			Form_pg_attribute att = TupleDescAttr(def->queue.desc, QUEUE_KEY - 1 + i);
			Oid			input;
			Oid			ioparam;
			Datum		value;
			MemoryContext old;

			getTypeInputInfo(att->atttypid, &input, &ioparam);
			value = OidInputFunctionCall(input, TextDatumGetCString(texts[i]), ioparam, att->atttypmod);
			old = MemoryContextSwitchTo(cxt);
			key[i] = datumCopy(value, att->attbyval, att->attlen);
			MemoryContextSwitchTo(old);
		}
	}
	END_AS_OWNER();
}

/*
 * columns_to_jsonb
 *		Returns some columns of a row as JSON: {"column": value, ...}.
 *
 * This runs as owner, because a type may have a cast to JSON, which is code of users.
 * With InvalidOid, the caller has switched to the owner already.
 */
Datum
columns_to_jsonb(Oid owner, TupleTableSlot *slot, AttrNumber *columns, int n)
{
	JsonbInState state = {0};

	AS_OWNER(owner);
	{
		pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
		for (int i = 0; i < n; i++)
		{
			Form_pg_attribute att = TupleDescAttr(slot->tts_tupleDescriptor, columns[i] - 1);
			JsonbValue	value;
			bool		isnull;
			Datum		datum = slot_getattr(slot, columns[i], &isnull);

			value.type = jbvString;
			value.val.string.val = NameStr(att->attname);
			value.val.string.len = strlen(NameStr(att->attname));
			pushJsonbValue(&state, WJB_KEY, &value);
			value.type = jbvNull;
			if (!isnull)
				JsonbToJsonbValue(value_to_jsonb(datum, att->atttypid), &value);
			pushJsonbValue(&state, WJB_VALUE, &value);
		}
		pushJsonbValue(&state, WJB_END_OBJECT, NULL);
	}
	END_AS_OWNER();
	return JsonbPGetDatum(JsonbValueToJsonb(state.result));
}

/* value_to_jsonb: returns what to_jsonb() makes of a value */
static Jsonb *
value_to_jsonb(Datum value, Oid type)
{
	FmgrInfo	function;
	Const	   *arg = makeNullConst(type, -1, InvalidOid);
	FuncExpr   *call = makeFuncExpr(F_TO_JSONB, JSONBOID, list_make1(arg), InvalidOid, InvalidOid,
									COERCE_EXPLICIT_CALL);

	fmgr_info(F_TO_JSONB, &function);
	fmgr_info_set_expr((Node *) call, &function);
	return DatumGetJsonbP(FunctionCall1(&function, value));
}
