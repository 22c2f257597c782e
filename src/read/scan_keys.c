/*-------------------------------------------------------------------------
 *
 * scan_keys.c
 *	  Makes the search keys of a scan of an index table, and sets their values before a search.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/array.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/sortsupport.h"
#include "utils/typcache.h"

#include "../definition/tree_age.h"
#include "fetch.h"
#include "key_set.h"
#include "scan_state.h"

static Taken set_array(IndexTableScan *scan, Datum array, Condition *condition);

/* make_keys: makes the search keys, still without values */
void
make_keys(IndexTableScan *scan)
{
	int			i;

	scan->array_key = -1;
	scan->keys = palloc0(sizeof(ScanKeyData) * Max(nkeys_of_scan(scan), 1));
	for (i = 0; i < scan->plan.nconditions; i++)
	{
		Condition  *condition = &scan->plan.conditions[i];
		Oid			collation = TupleDescAttr(scan->def->desc, condition->attno - 1)->attcollation;

		ScanKeyEntryInitialize(&scan->keys[i], 0, condition->position + 1, condition->strategy,
							   condition->subtype, collation, get_opcode(condition->operator), (Datum) 0);
		if (condition->array)
			scan->array_key = i;
	}
}

/* set_keys: sets the values of the search keys; returns why nothing can be searched for by them, or NULL */
const char *
set_keys(IndexTableScan *scan)
{
	ExprContext *econtext = scan->css.ss.ps.ps_ExprContext;
	MemoryContext old;
	int			i;

	MemoryContextReset(scan->cxt);
	scan->nothing = false;
	scan->seen = scan->plan.distinct ? seen_rows_begin(scan->def, scan->cxt) : NULL;
	for (i = 0; i < scan->plan.nconditions; i++)
	{
		Condition  *condition = &scan->plan.conditions[i];
		bool		isnull;
		Datum		value = ExecEvalExprSwitchContext(list_nth(scan->values, i), econtext, &isnull);
		Taken		taken;
		int16		len;
		bool		byval;

		if (isnull)
		{
			scan->nothing = true;
			return NULL;
		}
		scan->keys[i].sk_flags = 0;
		old = MemoryContextSwitchTo(scan->cxt);
		if (condition->array)
			taken = set_array(scan, value, condition);
		else
			taken = take_value(&scan->def->fields[condition->position], condition, value, &scan->keys[i].sk_argument);
		if (taken == TAKEN && !condition->array)
		{
			value = scan->keys[i].sk_argument;
			get_typlenbyval(condition->subtype, &len, &byval);
			scan->keys[i].sk_argument = len == -1 ? PointerGetDatum(PG_DETOAST_DATUM_COPY(value)) :
				datumCopy(value, byval, len);
		}
		MemoryContextSwitchTo(old);
		if (taken == TAKEN_UNKNOWN)
			return "the value names nothing to search for";
		scan->nothing = taken == TAKEN_NONE;
		if (scan->nothing)
			return NULL;
	}
	if (scan->plan.entries_only && scan->fact->partitioned && !scan->plan.async)
		note_read_by_entries(scan->fact->relid);
	return NULL;
}

/*
 * set_array
 *		Sets the values that a column is searched by one after the other: those of an array,
 *		without NULLs, each once, and in the order of the scan.
 */
static Taken
set_array(IndexTableScan *scan, Datum value, Condition *condition)
{
	Form_pg_attribute att = TupleDescAttr(scan->def->desc, condition->attno - 1);
	Oid			family = lookup_type_cache(att->atttypid, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	SortSupportData sort = {0};
	Taken		taken = take_values(&scan->def->fields[condition->position], condition,
									PointerGetDatum(DatumGetArrayTypePCopy(value)), &scan->elements, &scan->nelements);

	if (taken != TAKEN)
		return taken;
	sort.ssup_cxt = CurrentMemoryContext;
	sort.ssup_collation = att->attcollation;
	PrepareSortSupportFromOrderingOp(get_opfamily_member(family, condition->subtype, condition->subtype,
														 BTLessStrategyNumber), &sort);
	sort.ssup_reverse = scan->plan.backward;
	scan->nelements = sort_key_values(scan->elements, scan->nelements, 1, &sort);
	scan->next_element = 0;
	return TAKEN;
}

/* search_whole_array: has the server search for several values by itself, as it can with workers; until the keys are set again */
void
search_whole_array(IndexTableScan *scan)
{
	ScanKey		key;
	Oid			type;
	int16		len;
	bool		byval;
	char		align;

	if (scan->array_key < 0)
		return;
	key = &scan->keys[scan->array_key];
	type = scan->plan.conditions[scan->array_key].subtype;
	get_typlenbyvalalign(type, &len, &byval, &align);
	key->sk_flags = SK_SEARCHARRAY;
	key->sk_argument = PointerGetDatum(construct_array(scan->elements, scan->nelements, type, len, byval, align));
}
