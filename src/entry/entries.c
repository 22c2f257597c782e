/*-------------------------------------------------------------------------
 *
 * entries.c
 *	  Holds the entries of one row, and compares, sorts and merges them; collects the operations
 *	  that turn those of the old version of a row into those of the new one.
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

#include "access/htup_details.h"
#include "port/pg_bswap.h"
#include "utils/datum.h"

#include "../indextable.h"
#include "../util/memory.h"
#include "entry.h"

/* One of several entries, for sorting. */
typedef struct Entry
{
	Datum	   *values;
	bool	   *isnull;
	EntryPlace	place;
} Entry;

static int	compare_entry_numbers(const void *a, const void *b, void *arg);
static bool is_among(IndexDef *def, Entries *entries, int *at, Datum *entry, bool *isnull);
static bool same_json(JsonbValue *a, JsonbValue *b);
static inline Datum in_tuple(IndexDef *def, HeapTuple tuple, AttrNumber attno, Datum *values);
static Op  *add_op(IndexDef *def, OpList *list, OpKind kind, Datum *values, bool *isnull,
				   MemoryContext cxt);
static void prepare_to_sort(IndexDef *def, Op *op, Datum *values, bool *isnull);
static inline Datum leading_bytes(const char *bytes, Size len);

/* entries_init: makes entries empty */
void
entries_init(Entries *entries, IndexDef *def)
{
	memset(entries, 0, sizeof(Entries));
	entries->natts = def->layout.desc->natts;
}

/*
 * same_bytes
 *		Returns whether two values have the same bytes as they are stored.
 *
 * Values are not detoasted: if the result is false, they may still be the same.
 */
bool
same_bytes(Datum a, bool anull, Datum b, bool bnull, int16 typlen, bool typbyval)
{
	Size		size;

	if (anull || bnull)
		return anull && bnull;
	if (typbyval)
		return a == b;
	if (typlen == -1)
	{
		size = VARSIZE_ANY(DatumGetPointer(a));
		return size == VARSIZE_ANY(DatumGetPointer(b)) &&
			memcmp(DatumGetPointer(a), DatumGetPointer(b), size) == 0;
	}
	size = datumGetSize(a, false, typlen);
	return size == datumGetSize(b, false, typlen) &&
		memcmp(DatumGetPointer(a), DatumGetPointer(b), size) == 0;
}

/*
 * entries_grow
 *		Doubles the room for entries; there is none before, or for "first" of them afterwards.
 */
void
entries_grow(Entries *entries, int first)
{
	int			rows = entries->max;
	Datum	   *values = entries->n == 0 ? NULL : entries->values;
	bool	   *isnull = entries->n == 0 ? NULL : entries->isnull;

	entries->values = grow_array(values, &entries->max, first, sizeof(Datum) * entries->natts,
								 CurrentMemoryContext);
	entries->isnull = grow_array(isnull, &rows, first, sizeof(bool) * entries->natts, CurrentMemoryContext);
}

/* store_entry: stores the values of an entry in a virtual slot, which refers to them */
void
store_entry(TupleTableSlot *slot, Datum *values, bool *isnull)
{
	int			natts = slot->tts_tupleDescriptor->natts;

	ExecClearTuple(slot);
	memcpy(slot->tts_values, values, sizeof(Datum) * natts);
	memcpy(slot->tts_isnull, isnull, sizeof(bool) * natts);
	ExecStoreVirtualTuple(slot);
}

/*
 * compare_identity
 *		Compares the identities of two entries, in the order of the index table, where NULL
 *		comes last.
 */
int
compare_identity(IndexDef *def, Datum *a, bool *anull, Datum *b, bool *bnull)
{
	for (int i = 0; i < def->layout.nident; i++)
	{
		int			column = def->layout.ident[i] - 1;
		int			c = ApplySortComparator(a[column], anull[column], b[column], bnull[column],
											&def->layout.ident_sort[i]);

		if (c != 0)
			return c;
	}
	return 0;
}

/*
 * entry_equal
 *		Returns whether two entries have the same bytes in every column, once detoasted, except
 *		that the place of the fact row does not matter: a row that has moved is not to be
 *		written about.
 */
bool
entry_equal(IndexDef *def, Datum *a, bool *anull, Datum *b, bool *bnull)
{
	for (int i = 0; i < def->layout.desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->layout.desc, i);

		if (i + 1 == def->layout.hint_attno ||
			same_bytes(a[i], anull[i], b[i], bnull[i], att->attlen, att->attbyval))
			continue;
		if (anull[i] || bnull[i] || !datum_image_eq(a[i], b[i], att->attbyval, att->attlen))
			return false;
	}
	return true;
}

/* entries_equal: returns whether two rows have the same entries */
bool
entries_equal(IndexDef *def, Entries *a, Entries *b)
{
	if (a->n != b->n)
		return false;
	for (int i = 0; i < a->n; i++)
		if (!entry_equal(def, ENTRY_VALUES(a, i), ENTRY_NULLS(a, i),
						 ENTRY_VALUES(b, i), ENTRY_NULLS(b, i)))
			return false;
	return true;
}

/* entries_sort: sorts entries that were found in an index table by identity */
void
entries_sort(IndexDef *def, Entries *entries)
{
	Entry	   *order = palloc_extended(sizeof(Entry) * entries->n, MCXT_ALLOC_HUGE);
	Entries		sorted = *entries;

	for (int i = 0; i < entries->n; i++)
	{
		order[i].values = ENTRY_VALUES(entries, i);
		order[i].isnull = ENTRY_NULLS(entries, i);
		order[i].place = entries->places[i];
	}
	qsort_arg(order, entries->n, sizeof(Entry), compare_entry_numbers, def);
	sorted.values = palloc_extended(sizeof(Datum) * entries->natts * entries->n, MCXT_ALLOC_HUGE);
	sorted.isnull = palloc_extended(sizeof(bool) * entries->natts * entries->n, MCXT_ALLOC_HUGE);
	for (int i = 0; i < entries->n; i++)
	{
		memcpy(ENTRY_VALUES(&sorted, i), order[i].values, sizeof(Datum) * entries->natts);
		memcpy(ENTRY_NULLS(&sorted, i), order[i].isnull, sizeof(bool) * entries->natts);
		sorted.places[i] = order[i].place;
	}
	*entries = sorted;
}

static int
compare_entry_numbers(const void *a, const void *b, void *arg)
{
	const Entry *x = a;
	const Entry *y = b;

	return compare_identity(arg, x->values, x->isnull, y->values, y->isnull);
}

/*
 * entries_merge
 *		Adds to one row's entries those of another row whose identity they do not have
 *		yet; both are ordered by identity.
 *
 * Usually the former are empty: only under a deferrable primary key can there be two
 * rows whose entries are merged.
 */
void
entries_merge(IndexDef *def, Entries *into, Entries *from)
{
	Entries		merged;
	int			a = 0;
	int			b = 0;

	into->lacking = from->lacking |= into->lacking;
	if (into->n == 0)
		*into = *from;
	if (into->values == from->values || from->n == 0)
		return;

	merged = *into;
	merged.n = 0;
	merged.max = into->n + from->n;
	merged.values = palloc(sizeof(Datum) * merged.natts * merged.max);
	merged.isnull = palloc(sizeof(bool) * merged.natts * merged.max);
	while (a < into->n || b < from->n)
	{
		int			c = a == into->n ? 1 :
			b == from->n ? -1 :
			compare_identity(def, ENTRY_VALUES(into, a), ENTRY_NULLS(into, a),
							 ENTRY_VALUES(from, b), ENTRY_NULLS(from, b));
		Entries    *source = c <= 0 ? into : from;
		int			i = c <= 0 ? a : b;

		memcpy(ENTRY_VALUES(&merged, merged.n), ENTRY_VALUES(source, i),
			   sizeof(Datum) * merged.natts);
		memcpy(ENTRY_NULLS(&merged, merged.n), ENTRY_NULLS(source, i),
			   sizeof(bool) * merged.natts);
		merged.n++;
		if (c <= 0)
			a++;
		if (c >= 0)
			b++;
	}
	*into = merged;
}

/*
 * entries_confine
 *		Removes all entries except those whose identity is in a or in b; all three are
 *		ordered by identity.
 */
void
entries_confine(IndexDef *def, Entries *entries, Entries *a, Entries *b)
{
	int			n = 0;
	int			in_a = 0;
	int			in_b = 0;

	for (int i = 0; i < entries->n; i++)
	{
		if (!is_among(def, a, &in_a, ENTRY_VALUES(entries, i), ENTRY_NULLS(entries, i)) &&
			!is_among(def, b, &in_b, ENTRY_VALUES(entries, i), ENTRY_NULLS(entries, i)))
			continue;
		if (n < i)
		{
			memcpy(ENTRY_VALUES(entries, n), ENTRY_VALUES(entries, i), sizeof(Datum) * entries->natts);
			memcpy(ENTRY_NULLS(entries, n), ENTRY_NULLS(entries, i), sizeof(bool) * entries->natts);
		}
		n++;
	}
	entries->n = n;
}

/*
 * is_among
 *		Returns whether one of entries has the same identity as entry.  The search
 *		begins at *at, and leaves it where the next one may begin.
 */
static bool
is_among(IndexDef *def, Entries *entries, int *at, Datum *entry, bool *isnull)
{
	int			c = 1;

	while (*at < entries->n &&
		   (c = compare_identity(def, ENTRY_VALUES(entries, *at), ENTRY_NULLS(entries, *at), entry, isnull)) < 0)
		(*at)++;
	return c == 0;
}

/*
 * entries_unchanged
 *		Returns whether two versions of a row with the same primary key surely have the
 *		same entries, and no more is to be recorded of the new one.
 *
 * That is told from the bytes of their fields without making any entries: if the
 * result is false, the entries may still be the same.
 */
bool
entries_unchanged(IndexDef *def, FactRow *old, FactRow *new)
{
	if (def->spec.filter != NULL || def->layout.doc_attno != 0)
		return false;
	for (int i = 0; i < def->spec.nkeys + def->spec.nincludes; i++)
	{
		Field	   *field = &def->spec.fields[i];
		JsonbValue	a;
		JsonbValue	b;
		bool		a_there;
		bool		b_there;

		/* Of an array that several fields are of, one tells. */
		if (field->is_hint || (field->spec->multi && field->convert == NULL && i != def->spec.elements[0]))
			continue;
		if (field->convert != NULL)
			return false;
		if (field->fact_attno != 0)
		{
			int			attno = field->fact_attno - 1;

			if (!same_bytes(old->slot->tts_values[attno], old->slot->tts_isnull[attno],
							new->slot->tts_values[attno], new->slot->tts_isnull[attno],
							field->spec->multi ? -1 : field->typlen, !field->spec->multi && field->typbyval))
				return false;
			continue;
		}
		a_there = document_value(old, def->spec.docno, field->spec->steps, field->plain_steps, &a);
		if (a_there && field->plain_steps == 1 && same_member(old, new, def->spec.docno, &a))
			continue;
		b_there = document_value(new, def->spec.docno, field->spec->steps, field->plain_steps, &b);
		if (a_there != b_there || (a_there && !same_json(&a, &b)))
			return false;
		/* What is NULL in both may be within an array now, which is recorded. */
		if (i < def->spec.nkeys && (!b_there || b.type == jbvNull) &&
			path_meets_array(field, new, def->spec.docno))
			return false;
	}
	return true;
}

/* same_json: returns whether two values surely are the same, as they have the same bytes */
static bool
same_json(JsonbValue *a, JsonbValue *b)
{
	Size		a_len;
	Size		b_len;
	const char *a_bytes = json_bytes(a, &a_len);
	const char *b_bytes = json_bytes(b, &b_len);

	return a->type == b->type && a_len == b_len && (a_len == 0 || memcmp(a_bytes, b_bytes, a_len) == 0) &&
		(a->type != jbvBool || a->val.boolean == b->val.boolean);
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
		int			c = o == old->n ? 1 :
			n == new->n ? -1 :
			compare_identity(def, ENTRY_VALUES(old, o), ENTRY_NULLS(old, o), ENTRY_VALUES(new, n),
							 ENTRY_NULLS(new, n));

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

/*
 * in_tuple
 *		Returns the value that a column of the identity has in a tuple, which was made of
 *		values; NULL: 0.
 */
static inline Datum
in_tuple(IndexDef *def, HeapTuple tuple, AttrNumber attno, Datum *values)
{
	bool		isnull;

	return TupleDescAttr(def->layout.desc, attno - 1)->attbyval ? values[attno - 1] :
		heap_getattr(tuple, attno, def->layout.desc, &isnull);
}

/* op_value: returns the value of a column of the entry that an operation is about */
Datum
op_value(IndexDef *def, Op *op, AttrNumber attno, bool *isnull)
{
	if (attno == def->layout.ident[0] && !def->layout.brief_text)
	{
		*isnull = op->first_null;
		return op->first;
	}
	if (def->layout.nident > 1 && attno == def->layout.ident[1])
	{
		*isnull = op->second_null;
		return op->second;
	}
	return heap_getattr(op->tuple, attno, def->layout.desc, isnull);
}

/* add_op: adds an operation on the entry with these values, and returns it */
static Op  *
add_op(IndexDef *def, OpList *list, OpKind kind, Datum *values, bool *isnull, MemoryContext cxt)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Op		   *op;

	if (list->n == list->max)
		list->ops = grow_array(list->ops, &list->max, 4, sizeof(Op), cxt);
	op = &list->ops[list->n];
	op->kind = kind;
	ItemPointerSetInvalid(&op->place.tid);
	op->seq = list->n++;

	if (kind == OP_DELETE && def->layout.nident < def->layout.desc->natts)
	{
		/* The identity is enough to find the entry. */
		bool	   *only = palloc(sizeof(bool) * def->layout.desc->natts);

		memset(only, true, sizeof(bool) * def->layout.desc->natts);
		for (int i = 0; i < def->layout.nident; i++)
			only[def->layout.ident[i] - 1] = isnull[def->layout.ident[i] - 1];
		op->tuple = heap_form_tuple(def->layout.desc, values, only);
		pfree(only);
	}
	else
		op->tuple = heap_form_tuple(def->layout.desc, values, isnull);
	prepare_to_sort(def, op, values, isnull);

	list->bytes += op->tuple->t_len + sizeof(HeapTupleData) + sizeof(Op);
	if (kind != OP_INSERT)
		list->deletes = true;
	if (kind != OP_DELETE)
		list->widest = Max(list->widest, op->tuple->t_len - op->tuple->t_data->t_hoff);
	MemoryContextSwitchTo(old);
	return op;
}

/* copy_op: returns a copy of an operation, with its entry in the current memory context */
Op
copy_op(IndexDef *def, const Op *op)
{
	Datum	   *values = palloc(sizeof(Datum) * def->layout.desc->natts);
	bool	   *isnull = palloc(sizeof(bool) * def->layout.desc->natts);
	Op			result = *op;

	result.tuple = heap_copytuple(op->tuple);
	heap_deform_tuple(result.tuple, def->layout.desc, values, isnull);
	prepare_to_sort(def, &result, values, isnull);
	pfree(values);
	pfree(isnull);
	return result;
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
prepare_to_sort(IndexDef *def, Op *op, Datum *values, bool *isnull)
{
	op->long_first = false;
	op->first_null = isnull[def->layout.ident[0] - 1];
	op->second_null = def->layout.nident > 1 && isnull[def->layout.ident[1] - 1];
	if (op->first_null)
		op->abbreviated = op->first = 0;
	else if (def->layout.brief_text)
	{
		text	   *value = DatumGetTextPP(values[def->layout.ident[0] - 1]);
		Size		len = VARSIZE_ANY_EXHDR(value);

		op->abbreviated = leading_bytes(VARDATA_ANY(value), len);
		op->first = len <= sizeof(Datum) ? 0 :
			leading_bytes(VARDATA_ANY(value) + sizeof(Datum), len - sizeof(Datum));
		op->long_first = len > 2 * sizeof(Datum);
		if (PointerGetDatum(value) != values[def->layout.ident[0] - 1])
			pfree(value);
	}
	else
	{
		op->first = in_tuple(def, op->tuple, def->layout.ident[0], values);
		op->abbreviated = def->layout.write_sort[0].abbrev_converter == NULL ? op->first :
			def->layout.write_sort[0].abbrev_converter(op->first, &def->layout.write_sort[0]);
	}
	op->second = def->layout.nident > 1 && !op->second_null ?
		in_tuple(def, op->tuple, def->layout.ident[1], values) :
		0;
}

/*
 * leading_bytes
 *		Returns a number that compares as the first of len bytes of a text do, which has no
 *		zeros.
 */
static inline Datum
leading_bytes(const char *bytes, Size len)
{
	Datum		result = 0;

	memcpy(&result, bytes, Min(len, sizeof(Datum)));
	return DatumBigEndianToNative(result);
}
