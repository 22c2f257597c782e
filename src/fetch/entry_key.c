/*-------------------------------------------------------------------------
 *
 * entry_key.c
 *	  Has the fact keys that entries have, and sorts keys in the order of an index table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/qunique.h"

#include "fetch.h"

/* How keys are compared. */
typedef struct KeyOrder
{
	SortSupport sort;			/* an element for each of ... */
	int			ncolumns;
} KeyOrder;

static int	compare_keys(const void *a, const void *b, void *order);

/* key_of_entry: gets the primary key of the row that an entry belongs to */
void
key_of_entry(IndexDef *def, TupleTableSlot *entry, Datum *key)
{
	bool		isnull;

	for (int i = 0; i < def->fact->layout.npk; i++)
		key[i] = slot_getattr(entry, def->layout.pk_attno[i], &isnull);
}

/*
 * sort_key_values
 *		Sorts n keys of ncolumns columns, and removes duplicates; returns the number of keys
 *		that are left.
 */
int
sort_key_values(Datum *keys, int n, int ncolumns, SortSupport sort)
{
	KeyOrder	order = {sort, ncolumns};

	qsort_arg(keys, n, sizeof(Datum) * ncolumns, compare_keys, &order);
	return qunique_arg(keys, n, sizeof(Datum) * ncolumns, compare_keys, &order);
}

/*
 * find_key_values
 *		Returns the number of a key among n that sort_key_values() has sorted, or -1 if it is
 *		none of them.
 */
int
find_key_values(Datum *keys, int n, int ncolumns, SortSupport sort, Datum *key)
{
	KeyOrder	order = {sort, ncolumns};
	Datum	   *found = bsearch_arg(key, keys, n, sizeof(Datum) * ncolumns, compare_keys, &order);

	return found == NULL ? -1 : (int) ((found - keys) / ncolumns);
}

static int
compare_keys(const void *a, const void *b, void *order)
{
	KeyOrder   *by = order;
	int			c = 0;

	for (int i = 0; i < by->ncolumns && c == 0; i++)
		c = ApplySortComparator(((const Datum *) a)[i], false, ((const Datum *) b)[i], false, &by->sort[i]);
	return c;
}
