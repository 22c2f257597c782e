/*-------------------------------------------------------------------------
 *
 * diff.c
 *	  Compares the old version of a row with the new one, and its entries, and collects the
 *	  operations that turn the old entries into the new ones.
 *
 * Entries are the same if their bytes are: 1 and 1.0 are equal numbers, but a reader
 * of the index table can tell them apart.
 *
 * Operations are prepared for sorting: before they are written, those on entries
 * that are near each other in the index are to be brought near each other, and those
 * on the same entry together.  The order of the bytes of a text serves for that, and
 * comparing bytes costs a fraction of comparing by locale.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup.h"
#include "access/htup_details.h"
#include "fmgr.h"
#include "port/pg_bswap.h"
#include "storage/itemptr.h"
#include "utils/jsonb.h"

#include "../indextable.h"
#include "diff.h"
#include "document.h"
#include "entries.h"

static bool same_json(JsonbValue *a, JsonbValue *b);
static inline Datum in_tuple(IndexDef *def, HeapTuple tuple, AttrNumber attno, Datum *values);
static Op  *add_op(IndexDef *def, OpList *list, OpKind kind, Datum *values, bool *isnull,
				   MemoryContext cxt);
static void prepare_to_sort(IndexDef *def, Op *op, Datum *values);
static inline Datum leading_bytes(const char *bytes, Size len);

/*
 * entries_unchanged
 *		Returns whether two versions of a row with the same primary key surely have the
 *		same entries.
 *
 * That is told from the bytes of their fields without making any entries: if the
 * result is false, the entries may still be the same.
 */
bool
entries_unchanged(IndexDef *def, FactRow *old, FactRow *new)
{
	int			i;

	if (def->filter != NULL || def->doc_attno != 0)
		return false;
	for (i = 0; i < def->nkeys + def->nincludes; i++)
	{
		Field	   *field = &def->fields[i];
		JsonbValue	a;
		JsonbValue	b;
		bool		a_there;
		bool		b_there;

		if (field->is_hint)
			continue;
		if (field->convert != NULL)
			return false;
		if (field->fact_attno != 0)
		{
			int			attno = field->fact_attno - 1;

			if (!same_bytes(old->slot->tts_values[attno], old->slot->tts_isnull[attno],
							new->slot->tts_values[attno], new->slot->tts_isnull[attno],
							field->typlen, field->typbyval))
				return false;
			continue;
		}
		a_there = document_value(old, def->docno, field->spec->steps, field->plain_steps, &a);
		if (a_there && field->plain_steps == 1 && same_member(old, new, def->docno, &a))
			continue;
		b_there = document_value(new, def->docno, field->spec->steps, field->plain_steps, &b);
		if (a_there != b_there || (a_there && !same_json(&a, &b)))
			return false;
	}
	return true;
}

/* same_json: returns whether two values surely are the same, as they have the same bytes */
static bool
same_json(JsonbValue *a, JsonbValue *b)
{
	if (a->type != b->type)
		return false;
	switch (a->type)
	{
		case jbvNull:
			return true;
		case jbvString:
			return a->val.string.len == b->val.string.len &&
				memcmp(a->val.string.val, b->val.string.val, a->val.string.len) == 0;
		case jbvNumeric:
			return VARSIZE_ANY(a->val.numeric) == VARSIZE_ANY(b->val.numeric) &&
				memcmp(a->val.numeric, b->val.numeric, VARSIZE_ANY(a->val.numeric)) == 0;
		case jbvBool:
			return a->val.boolean == b->val.boolean;
		case jbvBinary:
			return a->val.binary.len == b->val.binary.len &&
				memcmp(a->val.binary.data, b->val.binary.data, a->val.binary.len) == 0;
		default:
			return false;
	}
}

/*
 * diff_entries
 *		Adds to ops the operations that turn the old entries into the new ones; both
 *		are ordered by identity.  The tuples of operations are allocated in cxt.
 */
void
diff_entries(IndexDef *def, Entries *old, Entries *new, OpList *ops, MemoryContext cxt)
{
	int			o = 0;
	int			n = 0;

	while (o < old->n || n < new->n)
	{
		int			c = o == old->n ? 1 : n == new->n ? -1 :
			compare_identity(def, ENTRY_VALUES(old, o), ENTRY_VALUES(new, n));

		if (c < 0)
		{
			Op		   *op = add_op(def, ops, OP_DELETE, ENTRY_VALUES(old, o), ENTRY_NULLS(old, o), cxt);

			if (old->places != NULL)
				op->place = old->places[o];
			o++;
		}
		else if (c > 0)
		{
			add_op(def, ops, OP_INSERT, ENTRY_VALUES(new, n), ENTRY_NULLS(new, n), cxt);
			n++;
		}
		else
		{
			if (!entry_equal(def, ENTRY_VALUES(old, o), ENTRY_NULLS(old, o),
							 ENTRY_VALUES(new, n), ENTRY_NULLS(new, n)))
				add_op(def, ops, OP_PUT, ENTRY_VALUES(new, n), ENTRY_NULLS(new, n), cxt);
			o++;
			n++;
		}
	}
}

/* in_tuple: returns the value that a column of the identity has in a tuple, which was made of values */
static inline Datum
in_tuple(IndexDef *def, HeapTuple tuple, AttrNumber attno, Datum *values)
{
	bool		isnull;

	return TupleDescAttr(def->desc, attno - 1)->attbyval ? values[attno - 1] :
		heap_getattr(tuple, attno, def->desc, &isnull);
}

/* op_value: returns the value of a column of the entry that an operation is about */
Datum
op_value(IndexDef *def, Op *op, AttrNumber attno, bool *isnull)
{
	*isnull = false;
	if (attno == def->ident[0] && !def->brief_text)
		return op->first;
	if (def->nident > 1 && attno == def->ident[1])
		return op->second;
	return heap_getattr(op->tuple, attno, def->desc, isnull);
}

/* add_op: adds an operation on the entry with these values, and returns it */
static Op  *
add_op(IndexDef *def, OpList *list, OpKind kind, Datum *values, bool *isnull, MemoryContext cxt)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Op		   *op;

	if (list->n == list->max)
	{
		list->max = list->max == 0 ? 4 : list->max * 2;
		list->ops = list->ops == NULL ? palloc(sizeof(Op) * list->max) :
			repalloc_huge(list->ops, sizeof(Op) * list->max);
	}
	op = &list->ops[list->n];
	op->kind = kind;
	ItemPointerSetInvalid(&op->place.tid);
	op->seq = list->n++;

	if (kind == OP_DELETE && def->nident < def->desc->natts)
	{
		/* The identity is enough to find the entry. */
		bool	   *only = palloc(sizeof(bool) * def->desc->natts);
		int			i;

		memset(only, true, sizeof(bool) * def->desc->natts);
		for (i = 0; i < def->nident; i++)
			only[def->ident[i] - 1] = false;
		op->tuple = heap_form_tuple(def->desc, values, only);
		pfree(only);
	}
	else
		op->tuple = heap_form_tuple(def->desc, values, isnull);
	prepare_to_sort(def, op, values);

	list->bytes += op->tuple->t_len + sizeof(HeapTupleData) + sizeof(Op);
	if (kind != OP_INSERT)
		list->deletes = true;
	if (kind != OP_DELETE)
		list->widest = Max(list->widest, op->tuple->t_len - op->tuple->t_data->t_hoff);
	MemoryContextSwitchTo(old);
	return op;
}

/*
 * prepare_to_sort
 *		Puts into an operation what it is compared by, so that most comparisons need not
 *		look at its tuple, which is in other memory.
 *
 * The server's abbreviation of a text is shorter, and made for an estimate of how many
 * different ones there are, too, which nobody here wants.
 */
static void
prepare_to_sort(IndexDef *def, Op *op, Datum *values)
{
	op->long_first = false;
	if (def->brief_text)
	{
		text	   *value = DatumGetTextPP(values[def->ident[0] - 1]);
		Size		len = VARSIZE_ANY_EXHDR(value);

		op->abbreviated = leading_bytes(VARDATA_ANY(value), len);
		op->first = len <= sizeof(Datum) ? 0 :
			leading_bytes(VARDATA_ANY(value) + sizeof(Datum), len - sizeof(Datum));
		op->long_first = len > 2 * sizeof(Datum);
		if (PointerGetDatum(value) != values[def->ident[0] - 1])
			pfree(value);
	}
	else
	{
		op->first = in_tuple(def, op->tuple, def->ident[0], values);
		op->abbreviated = def->write_sort[0].abbrev_converter == NULL ? op->first :
			def->write_sort[0].abbrev_converter(op->first, &def->write_sort[0]);
	}
	op->second = def->nident > 1 ? in_tuple(def, op->tuple, def->ident[1], values) : 0;
}

/* leading_bytes: returns a number that compares as the first of len bytes of a text do, which has no zeros */
static inline Datum
leading_bytes(const char *bytes, Size len)
{
	Datum		result = 0;

	memcpy(&result, bytes, Min(len, sizeof(Datum)));
	return DatumBigEndianToNative(result);
}
