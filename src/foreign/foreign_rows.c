/*-------------------------------------------------------------------------
 *
 * foreign_rows.c
 *	  Reads all rows of a partition that is on another server, checks that a row belongs
 *	  there, and has the methods by which rows of other servers are found.
 *
 * Partitions on other servers are read by SQL, with any foreign-data wrapper; single
 * rows are read by foreign_by_key.c.  What is read to keep entries right is
 * read as the owner of the partition, and what a look-up returns is read as its
 * caller.
 *
 * Another server shows its rows with a snapshot of its own, which it keeps until our
 * transaction ends.  The snapshot is taken when rows are first read there, so
 * whatever has to be locked is locked before: a writer commits on the other server
 * first, then here, and only then releases its locks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/typcache.h"

#include "../definition/definition.h"
#include "../entry/entry.h"
#include "../fetch/fetch.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/as_owner.h"
#include "../util/naming.h"
#include "../util/sql.h"
#include "foreign.h"

/* How many rows are fetched from a cursor at a time. */
#define FETCH_ROWS			1000

/* A scan of all rows of one partition. */
typedef struct ForeignPartitionScan
{
	FactDef    *def;
	Oid			owner;
	Portal		portal;
	MemoryContext cxt;			/* of the rows */
	Rows		rows;			/* fetched last */
	uint64		next;			/* the first row that was not returned yet */
	AttrNumber *columns;		/* the numbers that the columns of rows have
								 * in the fact table */
	TupleTableSlot *slot;
} ForeignPartitionScan;

static ForeignPartitionScan *begin_scan(FactDef *def, Relation leaf, const char *sql, AttrNumber *columns,
										int nargs, Oid *types, Datum *args);
static void append_after(StringInfo sql, FactDef *def);
static Bitmapset *upkeep_columns(FactDef *def);
static void expect_rows(LiveScan *scan, Datum **keys, int n);
static void find_rows(LiveScan *scan, Datum *key);
static void keep_row(TupleTableSlot *row, void *arg);
static void *foreign_scan_begin(FactDef *def, Relation leaf);
static TupleTableSlot *foreign_scan_next(void *rows);
static void foreign_scan_end(void *rows);

const RowSource foreign_rows = {
	.find = find_rows,
	.expect = expect_rows,
	.begin = foreign_scan_begin,
	.next = foreign_scan_next,
	.end = foreign_scan_end,
	.keys_in_order = foreign_keys_in_order,
	.keys = foreign_scan_keys,
	.in_bounds = in_bounds,
	.require_in_bounds = require_in_bounds,
	.gather = foreign_batch_begin,
	.gather_add = foreign_batch_add,
	.gather_run = foreign_batch_run,
	.gather_find = foreign_batch_find,
	.gather_next = foreign_batch_next
};

/*
 * foreign_scan_begin
 *		Begins to read all rows of a partition, in no order, with the columns that
 *		entries depend on.
 */
static void *
foreign_scan_begin(FactDef *def, Relation leaf)
{
	RowRequest	request = {.def = def,.relid = RelationGetRelid(leaf),.columns = upkeep_columns(def)};
	AttrNumber *columns;
	int			n;
	char	   *sql = select_rows(&request, &columns, &n);

	return begin_scan(def, leaf, sql, columns, 0, NULL, NULL);
}

/*
 * begin_scan
 *		Begins to read the rows that a SELECT returns, as the owner of the partition; the
 *		columns are those that select_rows() has set.
 */
static ForeignPartitionScan *
begin_scan(FactDef *def, Relation leaf, const char *sql, AttrNumber *columns, int nargs, Oid *types, Datum *args)
{
	ForeignPartitionScan *scan = palloc0(sizeof(ForeignPartitionScan));

	scan->def = def;
	scan->columns = columns;
	scan->owner = reading_role(def->relid, RelationGetRelid(leaf));
	scan->cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable foreign rows", ALLOCSET_DEFAULT_SIZES);
	scan->slot = MakeSingleTupleTableSlot(def->layout.desc, &TTSOpsVirtual);
	AS_OWNER(scan->owner);
	{
		SPI_connect();

		/*
		 * If the rows are to be in order, the other server sorts, which may
		 * have another collation.
		 */
		set_config_option("enable_sort", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
		set_config_option("enable_incremental_sort", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
						  false);
		WHILE_NAMING(&RelationGetRelid(leaf), 1, sql,
					 scan->portal = SPI_cursor_open_with_args(NULL, sql, nargs, types, args, NULL, true, 0));
		if (scan->portal == NULL)
			elog(ERROR, "%s: %s", SPI_result_code_string(SPI_result), sql);
		SPI_finish();
	}
	END_AS_OWNER();
	return scan;
}

/* foreign_scan_next: returns the next row, valid until the next call, or NULL if there is none */
static TupleTableSlot *
foreign_scan_next(void *rows)
{
	ForeignPartitionScan *scan = rows;

	if (scan->next == scan->rows.n)
	{

		ExecClearTuple(scan->slot);
		MemoryContextReset(scan->cxt);
		AS_OWNER(scan->owner);
		{
			SPI_connect();
			SPI_cursor_fetch(scan->portal, true, FETCH_ROWS);
			scan->rows = copy_rows(scan->cxt);
			scan->next = 0;
			SPI_finish();
		}
		END_AS_OWNER();
		if (scan->rows.n == 0)
			return NULL;
	}
	store_row(scan->def, scan->rows.tuples[scan->next++], scan->rows.desc, scan->columns, scan->slot);
	return scan->slot;
}

static void
foreign_scan_end(void *rows)
{
	ForeignPartitionScan *scan = rows;

	SPI_connect();
	SPI_cursor_close(scan->portal);
	SPI_finish();
	ExecDropSingleTupleTableSlot(scan->slot);
	MemoryContextDelete(scan->cxt);
}

/*
 * foreign_keys_in_order
 *		Returns whether a partition on another server can be read in pages by primary key.
 *
 * That server has to compare and sort the keys, which postgres_fdw has it do for the
 * types of PostgreSQL.  Then it does not matter in which order its collation has them.
 */
bool
foreign_keys_in_order(FactDef *def, Relation leaf)
{
	Oid			server;
	bool		result = is_of_postgres_fdw(RelationGetRelid(leaf), &server);

	for (int i = 0; i < def->layout.npk; i++)
	{
		Oid			type = key_type(def, i);

		result = result && type < FirstGenbkiObjectId &&
			OidIsValid(lookup_type_cache(type, TYPECACHE_GT_OPR)->gt_opr);
	}
	return result;
}

/*
 * foreign_scan_keys
 *		Returns the primary keys of the first rows, in their order, of a partition on
 *		another server, or those of all rows, in no order, if limit is 0.  Only keys after
 *		"after" are returned, unless it is NULL.  *n becomes the number of keys.
 *
 * The result has the columns of the first key, then those of the second, and so on.
 */
Datum *
foreign_scan_keys(FactDef *def, Relation root, Relation leaf, Datum *after, int limit, int *n)
{
	RowRequest	request = {.def = def,.relid = RelationGetRelid(leaf),.columns = def->layout.pk_columns};
	AttrNumber *columns;
	Oid			types[INDEX_MAX_KEYS];
	StringInfoData sql;
	TupleTableSlot *row;
	ForeignPartitionScan *scan;
	Datum	   *keys;
	int			max = Max(limit, FETCH_ROWS);

	initStringInfo(&sql);
	appendStringInfoString(&sql, select_rows(&request, &columns, n));
	if (after != NULL)
		append_after(&sql, def);
	for (int i = 0; i < def->layout.npk && limit > 0; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->layout.desc, def->layout.pk_attno[i] - 1);

		types[i] = att->atttypid;
		appendStringInfo(&sql, "%s f.%s", i == 0 ? " ORDER BY" : ",", quote_identifier(NameStr(att->attname)));
	}
	if (limit > 0)
		appendStringInfo(&sql, " LIMIT %d", limit);

	scan = begin_scan(def, leaf, sql.data, columns, after == NULL ? 0 : def->layout.npk, types, after);
	keys = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(Datum) * def->layout.npk * max);
	for (*n = 0; (row = foreign_scan_next(scan)) != NULL; (*n)++)
	{
		CHECK_FOR_INTERRUPTS();
		require_in_bounds(def, root, RelationGetRelid(leaf), row, true);
		if (*n == max)
			keys = repalloc_huge(keys, sizeof(Datum) * def->layout.npk * (max *= 2));
		for (int i = 0; i < def->layout.npk; i++)
		{
			Form_pg_attribute att = TupleDescAttr(def->layout.desc, def->layout.pk_attno[i] - 1);
			Datum		value = row->tts_values[att->attnum - 1];

			keys[(Size) *n * def->layout.npk + i] = att->attlen == -1 ?
				PointerGetDatum(PG_DETOAST_DATUM_COPY(value)) : datumCopy(value, att->attbyval, att->attlen);
		}
	}
	foreign_scan_end(scan);
	return keys;
}

/*
 * append_after
 *		Adds a condition that the primary key comes after the parameters: for two columns
 *		a >= $1 AND (a > $1 OR a = $1 AND b > $2), of which a server can use an index for the
 *		first part.  A comparison of rows would not be sent to it.
 */
static void
append_after(StringInfo sql, FactDef *def)
{
	appendStringInfo(sql, " WHERE f.%s OPERATOR(pg_catalog.>=) $1 AND (", key_column(def, 0));
	for (int i = 0; i < def->layout.npk; i++)
	{
		for (int k = 0; k < i; k++)
			appendStringInfo(sql, "%sf.%s OPERATOR(pg_catalog.=) $%d AND ", k == 0 ? " OR " : "",
							 key_column(def, k), k + 1);
		appendStringInfo(sql, "f.%s OPERATOR(pg_catalog.>) $%d", key_column(def, i), i + 1);
	}
	appendStringInfoChar(sql, ')');
}

/*
 * in_bounds
 *		Returns whether a row of a partition on another server belongs in this
 *		partition.
 *
 * Nothing but constraints on that server keeps out other rows.
 */
bool
in_bounds(FactDef *def, Relation root, Oid leaf, TupleTableSlot *row)
{
	Datum		key[INDEX_MAX_KEYS];

	for (int i = 0; i < def->layout.npk; i++)
	{
		bool		isnull;

		key[i] = slot_getattr(row, def->layout.pk_attno[i], &isnull);
		if (isnull)
			return false;
	}
	return route_key(def, root, key) == leaf;
}

/*
 * require_in_bounds
 *		Raises an error if a row of a partition on another server does not belong in
 *		this partition; found says that the row was found there, not written there now.
 *
 * PostgreSQL itself neither moves such a row to another partition nor refuses it.
 */
void
require_in_bounds(FactDef *def, Relation root, Oid leaf, TupleTableSlot *row, bool found)
{
	FactRow		factrow;

	if (in_bounds(def, root, leaf, row))
		return;
	factrow_init(&factrow, def, row);
	ereport(ERROR,
			(errcode(ERRCODE_CHECK_VIOLATION),
			 found ? errmsg("foreign partition \"%s\" has a row that its bounds do not allow", get_rel_name(leaf)) :
			 errmsg("new row for foreign partition \"%s\" violates its bounds", get_rel_name(leaf)),
			 errdetail("The row with %s would not be found by its primary key.", format_row_key(&factrow)),
			 !found ? errhint("Rows are not moved out of foreign partitions. Instead, delete the row and insert it into \"%s\".", def->name) :
			 errhint("Move or delete the row on the other server, and add a CHECK constraint there.")));
}

/* upkeep_columns: returns the columns that entries depend on */
static Bitmapset *
upkeep_columns(FactDef *def)
{
	return bms_union(bms_union(def->layout.used, def->layout.queued), def->layout.pk_columns);
}

/*
 * expect_rows
 *		Fetches in advance the rows with these keys that are on other servers.
 *
 * All partitions are asked at once.  Rows that were fetched before are forgotten: all
 * are as the other servers show them at this moment.
 */
static void
expect_rows(LiveScan *scan, Datum **keys, int n)
{
	RowRequest	request = {.def = scan->def,.relid = scan->def->relid,.as_owner = true};
	MemoryContext old;

	scan->fetched = NULL;
	if (scan->leaves == NULL)
		return;
	if (scan->fetched_cxt == NULL)
		scan->fetched_cxt = AllocSetContextCreate(scan->cxt, "indextable rows fetched", ALLOCSET_DEFAULT_SIZES);
	MemoryContextReset(scan->fetched_cxt);
	old = MemoryContextSwitchTo(scan->fetched_cxt);
	for (int i = 0; i < n; i++)
	{
		if (!live_scan_is_elsewhere(scan, keys[i]))
			continue;
		if (scan->fetched == NULL)
		{
			request.columns = bms_union(scan->def->layout.used, scan->def->layout.queued);
			scan->fetched = foreign_batch_begin(&request);
		}
		foreign_batch_add(scan->fetched, keys[i], RelationGetRelid(scan->current->rel));
	}
	if (scan->fetched != NULL)
		foreign_batch_run(scan->fetched);
	MemoryContextSwitchTo(old);
}

/*
 * find_rows
 *		Fetches the rows with a primary key from another server, in one round trip.
 *
 * That server shows what this transaction has written there only if it is asked as
 * the user who has written it.
 */
static void
find_rows(LiveScan *scan, Datum *key)
{
	LeafScan   *leaf = scan->current;
	List	   *fetched;
	RowRequest	request = {.def = scan->def,.relid = scan->def->relid,.as_owner = !scan->options.as_writer};
	Oid			partition = RelationGetRelid(leaf->rel);

	request.columns = bms_union(scan->def->layout.used, scan->def->layout.queued);
	list_free_deep(leaf->rows);
	leaf->rows = NIL;
	if (scan->fetched != NULL && foreign_batch_find(scan->fetched, key, &fetched))
		foreach_ptr(MinimalTupleData, row, fetched)
			leaf->rows = lappend(leaf->rows, heap_copy_minimal_tuple_compat(row));
	else
		foreign_by_key_fetch(&request, &partition, key, 1, keep_row, leaf);
}

/* keep_row: adds a row of another server to those of the key */
static void
keep_row(TupleTableSlot *row, void *arg)
{
	LeafScan   *leaf = arg;

	leaf->rows = lappend(leaf->rows, ExecCopySlotMinimalTuple(row));
}
