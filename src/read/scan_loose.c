/*-------------------------------------------------------------------------
 *
 * scan_loose.c
 *	  Reads of each group of entries only the first one, or the last one, or both.
 *
 * A group is all entries that are equal in the columns of the index that follow those which are
 * compared by =.  The first entry of a group that the snapshot sees tells the group.  Then the
 * index is searched for the first entry after the group, and so on: entries between are never
 * looked at.  The last entry of a group is the first one that is found within it in the opposite
 * direction.
 *
 * Every search goes on until it comes to an entry that the snapshot sees.  So a group is left out
 * only if the snapshot sees none of its entries, and what is returned of it is the first, or the
 * last, that the snapshot sees.  A serializable transaction locks the pages of the index where it
 * has searched, so what comes to be an end of a group, or a group between two others, is noticed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/datum.h"
#include "utils/memutils.h"

#include "scan.h"

/* The group that a scan is at. */
typedef struct LooseScan
{
	int			ngroups;		/* so many columns tell groups */
	bool		in_group;		/* the scan is at a group */
	bool		last_is_next;	/* of which the last entry is to be returned */
	MemoryContext cxt;			/* of ... */
	Datum		values[INDEX_MAX_KEYS]; /* what the columns are */
	RowComparison after;		/* comes after the group */
} LooseScan;

static TupleTableSlot *search(IndexTableScan *scan, bool backward);
static void search_all(IndexTableScan *scan, int from);
static void note_group(IndexTableScan *scan, TupleTableSlot *entry);

/* nkeys_of_scan: returns how many search keys a scan has: beside its conditions, those that tell a group, or what comes after it */
int
nkeys_of_scan(IndexTableScan *scan)
{
	return scan->plan.nconditions + (scan->plan.last ? list_length(scan->plan.groups) : scan->plan.groups != NIL ? 1 : 0);
}

/* loose_start: has a search begin with the first group */
void
loose_start(IndexTableScan *scan)
{
	if (scan->loose == NULL)
	{
		scan->loose = MemoryContextAllocZero(scan->css.ss.ps.state->es_query_cxt, sizeof(LooseScan));
		scan->loose->ngroups = list_length(scan->plan.groups);
		scan->loose->cxt = AllocSetContextCreate(scan->css.ss.ps.state->es_query_cxt, "indextable group", ALLOCSET_SMALL_SIZES);
	}
	scan->loose->in_group = scan->loose->last_is_next = false;
	scan->entries.backward = scan->plan.backward;
	search_all(scan, scan->plan.nconditions);
}

/* loose_next: returns the next entry that is the first or the last one of its group, as the plan says, or NULL */
TupleTableSlot *
loose_next(IndexTableScan *scan)
{
	LooseScan  *loose = scan->loose;
	TupleTableSlot *entry;

	for (;;)
	{
		if (loose->last_is_next)
		{
			loose->last_is_next = false;
			for (int i = 0; i < loose->ngroups; i++)
			{
				scan->keys[scan->plan.nconditions + i] = scan->def->search_keys[scan->plan.nequal + i];
				scan->keys[scan->plan.nconditions + i].sk_argument = loose->values[i];
			}
			return search(scan, !scan->plan.backward);
		}
		if (loose->in_group)
		{
			row_comparison(&loose->after, scan->entries.only.search.index, scan->plan.nequal, loose->ngroups,
						   scan->plan.backward ? BTLessStrategyNumber : BTGreaterStrategyNumber, loose->values);
			scan->keys[scan->plan.nconditions] = loose->after.header;
			search_all(scan, scan->plan.nconditions + 1);
			entry = search(scan, scan->plan.backward);
		}
		else
			entry = entry_scan_next(&scan->entries);
		loose->in_group = entry != NULL;
		if (entry == NULL)
			return NULL;
		note_group(scan, entry);
		loose->last_is_next = scan->plan.last;
		if (scan->plan.first)
			return entry;
	}
}

/* search: searches by the keys that are set, and returns the first entry in a direction, or NULL */
static TupleTableSlot *
search(IndexTableScan *scan, bool backward)
{
	scan->entries.backward = backward;
	entry_scan_start(&scan->entries, scan->keys);
	scan->searches++;
	return entry_scan_next(&scan->entries);
}

/* search_all: has the search keys from number from on be true of all entries, as an index is always searched by as many */
static void
search_all(IndexTableScan *scan, int from)
{
	for (int i = from; i < nkeys_of_scan(scan); i++)
		ScanKeyEntryInitialize(&scan->keys[i], SK_ISNULL | SK_SEARCHNOTNULL, scan->plan.nequal + 1, InvalidStrategy,
							   InvalidOid, InvalidOid, InvalidOid, (Datum) 0);
}

/* note_group: notes which group an entry is of */
static void
note_group(IndexTableScan *scan, TupleTableSlot *entry)
{
	LooseScan  *loose = scan->loose;
	MemoryContext old;

	MemoryContextReset(loose->cxt);
	old = MemoryContextSwitchTo(loose->cxt);
	foreach_int(attno, scan->plan.groups)
	{
		Form_pg_attribute att = TupleDescAttr(scan->def->desc, attno - 1);
		bool		isnull;
		Datum		value = slot_getattr(entry, attno, &isnull);

		loose->values[foreach_current_index(attno)] = att->attlen == -1 ? PointerGetDatum(PG_DETOAST_DATUM_COPY(value)) :
			datumCopy(value, att->attbyval, att->attlen);
	}
	MemoryContextSwitchTo(old);
}
