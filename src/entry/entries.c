/*-------------------------------------------------------------------------
 *
 * entries.c
 *	  Holds the entries of one row, and compares, sorts and merges them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/datum.h"
#include "utils/sortsupport.h"

#include "../indextable.h"
#include "entries.h"

/* One of several entries, for sorting. */
typedef struct Entry
{
	Datum	   *values;
	bool	   *isnull;
	EntryPlace	place;
} Entry;

static int	compare_entries(const void *a, const void *b, void *arg);
static bool is_among(IndexDef *def, Entries *entries, int *at, Datum *entry);

/* entries_init: makes entries empty */
void
entries_init(Entries *entries, IndexDef *def)
{
	memset(entries, 0, sizeof(Entries));
	entries->natts = def->desc->natts;
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

/* compare_identity: compares the identities of two entries, in the order of the index table */
int
compare_identity(IndexDef *def, Datum *a, Datum *b)
{
	int			i;

	for (i = 0; i < def->nident; i++)
	{
		int			c = ApplySortComparator(a[def->ident[i] - 1], false,
											b[def->ident[i] - 1], false,
											&def->ident_sort[i]);

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
	int			i;

	for (i = 0; i < def->desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->desc, i);

		if (i + 1 == def->hint_attno ||
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
	int			i;

	if (a->n != b->n)
		return false;
	for (i = 0; i < a->n; i++)
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
	int			i;

	for (i = 0; i < entries->n; i++)
	{
		order[i].values = ENTRY_VALUES(entries, i);
		order[i].isnull = ENTRY_NULLS(entries, i);
		order[i].place = entries->places[i];
	}
	qsort_arg(order, entries->n, sizeof(Entry), compare_entries, def);
	sorted.values = palloc_extended(sizeof(Datum) * entries->natts * entries->n, MCXT_ALLOC_HUGE);
	sorted.isnull = palloc_extended(sizeof(bool) * entries->natts * entries->n, MCXT_ALLOC_HUGE);
	for (i = 0; i < entries->n; i++)
	{
		memcpy(ENTRY_VALUES(&sorted, i), order[i].values, sizeof(Datum) * entries->natts);
		memcpy(ENTRY_NULLS(&sorted, i), order[i].isnull, sizeof(bool) * entries->natts);
		sorted.places[i] = order[i].place;
	}
	*entries = sorted;
}

static int
compare_entries(const void *a, const void *b, void *arg)
{
	return compare_identity(arg, ((const Entry *) a)->values, ((const Entry *) b)->values);
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
		int			c = a == into->n ? 1 : b == from->n ? -1 :
			compare_identity(def, ENTRY_VALUES(into, a), ENTRY_VALUES(from, b));
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
	int			i;

	for (i = 0; i < entries->n; i++)
	{
		if (!is_among(def, a, &in_a, ENTRY_VALUES(entries, i)) &&
			!is_among(def, b, &in_b, ENTRY_VALUES(entries, i)))
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
is_among(IndexDef *def, Entries *entries, int *at, Datum *entry)
{
	int			c = 1;

	while (*at < entries->n &&
		   (c = compare_identity(def, ENTRY_VALUES(entries, *at), entry)) < 0)
		(*at)++;
	return c == 0;
}
