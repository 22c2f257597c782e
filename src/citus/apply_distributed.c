/*-------------------------------------------------------------------------
 *
 * apply_distributed.c
 *	  Reads and writes the entries of distributed index tables, through Citus.
 *
 * Entries are distributed by their key, so those of a row can be anywhere: they are searched for on
 * all shards, those of all rows of a batch at once.  What is to be written are the operations that
 * diff_entries() has found.  They are written by two statements: all deletes, then all inserts.
 *
 * Values are sent as arrays, one for each column.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "storage/proc.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "../indextable.h"
#include "../util/relation.h"
#include "../util/lock.h"
#include "../util/sql.h"
#include "../util/wait_point.h"
#include "../util/while_set.h"
#include "citus.h"

PG_FUNCTION_INFO_V1(indextable_lock_shards);

/*
 * For so long a drain waits for a lock on another node, in ms: a move ends there a little
 * later than on the drain's.
 */
#define PATIENCE			20

/* Columns of an index table as the parameters of a statement. */
typedef struct Parameters
{
	IndexDef   *def;
	AttrNumber *columns;
	int			n;
	Oid		   *types;			/* arrays of the columns' types */
	Datum	   *values;			/* set by set_parameter() */
} Parameters;

/* The entries of many rows, in the order of the rows' keys. */
typedef struct FetchedEntries
{
	IndexDef   *def;
	HeapTuple  *tuples;
	int			n;
	SortSupportData *order;		/* by which they are sorted: by fact->npk
								 * columns */
} FetchedEntries;

static void init_parameters(Parameters *p, IndexDef *def, AttrNumber *columns, int n);
static void set_parameter(Parameters *p, int i, Datum *values, bool *nulls, int n);
static char *unnest(Parameters *p);
static char *row_condition(Parameters *p);
static void prepare_order(FetchedEntries *fetched);
static int	compare_tuples(const void *a, const void *b, void *arg);
static int	compare_to_key(FetchedEntries *fetched, HeapTuple tuple, Datum *key);
static void write_tuples(IndexDef *def, OpList *list, bool delete);

bool		writing_distributed = false;

/*
 * indextable_lock_shards
 *		lock_shards(shards bigint[]): locks the metadata of shards on this node against moves, and
 *		returns true.
 *
 * It is declared to be stable, so that the query of a shard that it is a condition of calls it once,
 * whether or not there are rows.
 *
 * A move may hold a lock here and wait for the drain, which has locked the shards on its own node.  Citus would
 * end the move if the drain waited for it, too.  So the drain gives up soon, and begins anew.
 */
Datum
indextable_lock_shards(PG_FUNCTION_ARGS)
{
	Oid			type = INT8ARRAYOID;
	Datum		value = PG_GETARG_DATUM(0);

	require_citus("lock_shards");
	WHILE_SET(LockTimeout, guard_is_left_out("the lock of the index tables' shards") ? 0 : PATIENCE,
			  (void) query_with(InvalidOid, "SELECT pg_catalog.lock_shard_metadata(5, $1)", 1, &type, &value));
	PG_RETURN_BOOL(true);
}

/*
 * fetch_distributed_entries
 *		Reads the entries of n rows, given by their primary keys, as they are at this moment.  The
 *		result is in the current memory context.
 *
 * In the transaction that each node runs for it, all shards of the index table are locked against
 * being moved.  If that transaction is prepared and left in doubt, it keeps the locks, so that Citus
 * cannot copy a shard without what it has written.
 */
void *
fetch_distributed_entries(IndexDef *def, Datum *keys, int n)
{
	FetchedEntries *fetched = palloc0(sizeof(FetchedEntries));
	MemoryContext cxt = CurrentMemoryContext;
	int			npk = def->fact->layout.npk;
	Datum	   *values = palloc(sizeof(Datum) * Max(n, 1));
	Parameters	p;
	AttrNumber *columns = palloc(sizeof(AttrNumber) * def->layout.desc->natts);
	int			ncolumns = 0;
	char	   *shards;
	Rows		rows;

	fetched->def = def;
	prepare_order(fetched);
	init_parameters(&p, def, def->layout.pk_attno, npk);
	for (int k = 0; k < npk; k++)
	{
		for (uint64 i = 0; i < (uint64) n; i++)
			values[i] = keys[i * npk + k];
		set_parameter(&p, k, values, NULL, n);
	}
	shards = citus_shard_numbers(def->relid);
	for (int k = 0; k < def->layout.desc->natts; k++)
		if (!TupleDescAttr(def->layout.desc, k)->attisdropped)
			columns[ncolumns++] = k + 1;
	rows = query_with(InvalidOid, psprintf("SELECT %s FROM %s i WHERE %s AND " IT_INTERNAL ".lock_shards('%s')",
										   column_list(def->relid, columns, ncolumns), held_name(def->relid),
										   row_condition(&p), shards), npk, p.types, p.values);
	fetched->n = (int) rows.n;
	fetched->tuples = MemoryContextAllocHuge(cxt, sizeof(HeapTuple) * Max(rows.n, 1));
	for (uint64 i = 0; i < rows.n; i++)
	{
		Datum	   *row = palloc0(sizeof(Datum) * def->layout.desc->natts);
		bool	   *nulls = palloc(sizeof(bool) * def->layout.desc->natts);
		MemoryContext old;

		/* The table may have dropped columns, which the result has not. */
		memset(nulls, true, sizeof(bool) * def->layout.desc->natts);
		for (int k = 0; k < ncolumns; k++)
			row[columns[k] - 1] = heap_getattr(rows.tuples[i], k + 1, rows.desc, &nulls[columns[k] - 1]);
		old = MemoryContextSwitchTo(cxt);
		fetched->tuples[i] = heap_form_tuple(def->layout.desc, row, nulls);
		MemoryContextSwitchTo(old);
		heap_freetuple(rows.tuples[i]);
		pfree(row);
		pfree(nulls);
	}
	qsort_arg(fetched->tuples, fetched->n, sizeof(HeapTuple), compare_tuples, fetched);
	return fetched;
}

/* find_fetched_entries: sets *entries to those of the row with a key, ordered by identity */
void
find_fetched_entries(void *all, Datum *key, Entries *entries)
{
	FetchedEntries *fetched = all;
	IndexDef   *def = fetched->def;
	int			low = 0;
	int			high = fetched->n;
	int			n;

	entries_init(entries, def);
	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (compare_to_key(fetched, fetched->tuples[middle], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (n = 0; low + n < fetched->n && compare_to_key(fetched, fetched->tuples[low + n], key) == 0; n++)
		;
	if (n == 0)
		return;
	entries->n = entries->max = n;
	entries->values = palloc_extended(sizeof(Datum) * def->layout.desc->natts * n, MCXT_ALLOC_HUGE);
	entries->isnull = palloc_extended(sizeof(bool) * def->layout.desc->natts * n, MCXT_ALLOC_HUGE);
	/* Where they are is not known: invalid places are zeroed ones. */
	entries->places = palloc0(sizeof(EntryPlace) * n);
	while (n-- > 0)
		heap_deform_tuple(fetched->tuples[low + n], def->layout.desc, ENTRY_VALUES(entries, n),
						  ENTRY_NULLS(entries, n));
	if (entries->n > 1)
		entries_sort(def, entries);
}

/*
 * apply_distributed_ops
 *		Writes what a list, which is not empty, says to an index table.
 *
 * There always is a DELETE, also of entries that do not exist and are only inserted.  Citus inserts
 * the rows of a query by COPY.  If it has only read from the shard before, in the same transaction,
 * it does not remember that it has written, and commits that in one phase, whatever the others do.
 * After the DELETE, which goes to all shards, it knows that each node may have been written to.
 */
void
apply_distributed_ops(IndexDef *def, OpList *list)
{
	WHILE_SET(writing_distributed, true, (write_tuples(def, list, true), write_tuples(def, list, false)));
}

/*
 * write_tuples
 *		Deletes all entries of a list, or inserts those that are to be put in the place of others or
 *		are new.
 */
static void
write_tuples(IndexDef *def, OpList *list, bool delete)
{
	AttrNumber *columns = palloc(sizeof(AttrNumber) * def->layout.desc->natts);
	Datum	   *values = palloc_extended(sizeof(Datum) * list->n, MCXT_ALLOC_HUGE);
	bool	   *nulls = palloc_extended(sizeof(bool) * list->n, MCXT_ALLOC_HUGE);
	int			ncolumns = 0;
	int			n = 0;
	Parameters	p;
	int			k;

	for (k = 0; k < def->layout.desc->natts; k++)
		if (!delete && !TupleDescAttr(def->layout.desc, k)->attisdropped)
			columns[ncolumns++] = k + 1;
	if (delete)
		memcpy(columns, def->layout.ident, sizeof(AttrNumber) * (ncolumns = def->layout.nident));
	init_parameters(&p, def, columns, ncolumns);
	for (k = 0; k < ncolumns; k++)
	{
		n = 0;
		for (int i = 0; i < list->n; i++)
		{
			if (!delete && list->ops[i].kind == OP_DELETE)
				continue;
			values[n] = heap_getattr(list->ops[i].tuple, columns[k], def->layout.desc, &nulls[n]);
			n++;
		}
		set_parameter(&p, k, values, nulls, n);
	}
	if (n == 0)
		return;
	if (delete)
	{
		/*
		 * The index by row finds the entries, and the rest is compared,
		 * unless a row has no more than one.
		 */
		for (k = 0; columns[k] != def->layout.pk_attno[0]; k++)
			;
		(void) query_with(InvalidOid,
						  psprintf("DELETE FROM %s i WHERE i.%s = ANY ($%d)%s", held_name(def->relid),
								   column_list(def->relid, def->layout.pk_attno, 1), k + 1,
								   def->fact->layout.npk == 1 && !def->spec.multi ?
								   "" :
								   psprintf(" AND (%s) IN (SELECT * FROM %s)",
											column_list(def->relid, columns, ncolumns), unnest(&p))),
						  p.n, p.types, p.values);
	}
	else
		(void) query_with(InvalidOid,
						  psprintf("INSERT INTO %s (%s) SELECT * FROM %s", held_name(def->relid),
								   column_list(def->relid, columns, ncolumns), unnest(&p)),
						  p.n, p.types, p.values);
}

/* init_parameters: prepares to send values of columns */
static void
init_parameters(Parameters *p, IndexDef *def, AttrNumber *columns, int n)
{
	p->def = def;
	p->columns = columns;
	p->n = n;
	p->types = palloc(sizeof(Oid) * n);
	p->values = palloc(sizeof(Datum) * n);
	for (int i = 0; i < n; i++)
	{
		Oid			type = TupleDescAttr(def->layout.desc, columns[i] - 1)->atttypid;

		p->types[i] = get_array_type(type);
		if (!OidIsValid(p->types[i]))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("index table \"%s\" has a column of type %s, for which there are no arrays",
							def->name, format_type_be(type))));
	}
}

/* set_parameter: sets the values of one column in n entries; nulls may be NULL */
static void
set_parameter(Parameters *p, int i, Datum *values, bool *nulls, int n)
{
	Form_pg_attribute att = TupleDescAttr(p->def->layout.desc, p->columns[i] - 1);
	int			lower = 1;

	p->values[i] = PointerGetDatum(construct_md_array(values, nulls, 1, &n, &lower, att->atttypid,
													  att->attlen, att->attbyval, att->attalign));
}

/*
 * unnest
 *		Returns the parameters as a table; the parser knows unnest() of several arrays by its
 *		bare name only.
 */
static char *
unnest(Parameters *p)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < p->n; i++)
		appendStringInfo(&list, "%s$%d", i > 0 ? ", " : "unnest(", i + 1);
	appendStringInfoString(&list, ") p");
	return list.data;
}

/* row_condition: returns the condition that an entry is one of the rows in the parameters */
static char *
row_condition(Parameters *p)
{
	char	   *condition = psprintf("i.%s = ANY ($1)", column_list(p->def->relid, p->columns, 1));

	return p->n == 1 ? condition :
		psprintf("%s AND (%s) IN (SELECT * FROM %s)", condition,
				 column_list(p->def->relid, p->columns, p->n), unnest(p));
}

/* prepare_order: prepares to sort entries by row */
static void
prepare_order(FetchedEntries *fetched)
{
	IndexDef   *def = fetched->def;

	fetched->order = palloc0(sizeof(SortSupportData) * def->fact->layout.npk);
	for (int i = 0; i < def->fact->layout.npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->layout.desc, def->layout.pk_attno[i] - 1);

		prepare_sort(&fetched->order[i], att->atttypid, att->attcollation, false);
	}
}

/* compare_tuples: compares two entries by row; for qsort_arg() */
static int
compare_tuples(const void *a, const void *b, void *arg)
{
	FetchedEntries *fetched = arg;
	Datum		key[INDEX_MAX_KEYS];
	bool		null;

	for (int i = 0; i < fetched->def->fact->layout.npk; i++)
		key[i] = heap_getattr(*(HeapTuple *) b, fetched->def->layout.pk_attno[i], fetched->def->layout.desc,
							  &null);
	return compare_to_key(fetched, *(HeapTuple *) a, key);
}

/* compare_to_key: compares the row of an entry with a key */
static int
compare_to_key(FetchedEntries *fetched, HeapTuple tuple, Datum *key)
{
	int			c = 0;

	for (int i = 0; i < fetched->def->fact->layout.npk && c == 0; i++)
	{
		bool		null;

		c = ApplySortComparator(heap_getattr(tuple, fetched->def->layout.pk_attno[i], fetched->def->layout.desc,
											 &null),
								false, key[i], false, &fetched->order[i]);
	}
	return c;
}
