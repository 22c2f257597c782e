/*-------------------------------------------------------------------------
 *
 * row_text.c
 *	  Writes primary keys as text, and rows as JSON, for the extension's own tables and
 *	  for users.
 *
 * Keys that are stored are written under the drain's fixed settings, so that a key
 * has the same text in every session.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "../definition/definition.h"
#include "../indextable.h"
#include "../util/fixed_settings.h"
#include "../util/sql.h"
#include "entry.h"

static Jsonb *value_to_jsonb(Datum value, Oid type);

/* key_texts: returns a primary key as an array of texts */
Datum
key_texts(FactDef *def, Datum *key)
{
	Datum	   *texts = palloc(sizeof(Datum) * def->npk);

	for (int i = 0; i < def->npk; i++)
		texts[i] = CStringGetTextDatum(value_text(TupleDescAttr(def->queue_desc, QUEUE_KEY - 1 + i)->atttypid,
												  key[i]));
	return PointerGetDatum(construct_array(texts, def->npk, TEXTOID, -1, false, TYPALIGN_INT));
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
	Caller		caller;
	Datum	   *texts;
	int			n;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &texts, NULL, &n);
	if (n != def->npk)
		elog(ERROR, "a primary key of %d columns was written down, not of %d", n, def->npk);
	become_owner(&caller, def->owner);
	for (int i = 0; i < n; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->queue_desc, QUEUE_KEY - 1 + i);
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
	become_caller(&caller);
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
	Jsonb	   *result;
	Caller		caller;

	if (OidIsValid(owner))
		become_owner(&caller, owner);

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
		{
			Jsonb	   *json = value_to_jsonb(datum, att->atttypid);

			if (!JsonContainerIsScalar(&json->root) || !JsonbExtractScalar(&json->root, &value))
			{
				value.type = jbvBinary;
				value.val.binary.data = &json->root;
				value.val.binary.len = VARSIZE(json) - VARHDRSZ;
			}
		}
		pushJsonbValue(&state, WJB_VALUE, &value);
	}
	pushJsonbValue(&state, WJB_END_OBJECT, NULL);
	result = JsonbValueToJsonb(state.result);
	if (OidIsValid(owner))
		become_caller(&caller);
	return JsonbPGetDatum(result);
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
