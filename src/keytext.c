/*-------------------------------------------------------------------------
 *
 * keytext.c
 *	  Primary keys of fact rows as texts, for the extension's own tables.
 *
 * Called by reject.c and online.c, under the drain's fixed settings, so that the
 * same key has the same texts whoever writes it down.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "indextable.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/* key_texts: a key as an array of texts */
Datum
key_texts(FactDef *def, Datum *key)
{
	Datum	   *texts = palloc(sizeof(Datum) * def->npk);
	int			i;

	for (i = 0; i < def->npk; i++)
		texts[i] = CStringGetTextDatum(value_text(TupleDescAttr(def->queue_desc, QUEUE_KEY - 1 + i)->atttypid,
												  key[i]));
	return PointerGetDatum(construct_array(texts, def->npk, TEXTOID, -1, false, TYPALIGN_INT));
}

/*
 * key_from_texts
 *		The other way round, in cxt.  As the owner of the fact table, whose code a
 *		domain may call; an error if they are no key any more, as the label of an
 *		enum may have been renamed.
 */
void
key_from_texts(FactDef *def, ArrayType *array, Datum *key, MemoryContext cxt)
{
	Caller		caller;
	Datum	   *texts;
	int			n;
	int			i;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &texts, NULL, &n);
	if (n != def->npk)
		elog(ERROR, "a primary key of %d columns was written down, not of %d", n, def->npk);
	become_owner(&caller, def->owner);
	for (i = 0; i < n; i++)
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
