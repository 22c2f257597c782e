/*-------------------------------------------------------------------------
 *
 * foreign_scan.c
 *	  Reads all rows of a partition that is on another server, and checks that a row
 *	  belongs there.
 *
 * Partitions on other servers are read by SQL, with any foreign-data wrapper; those
 * who want single rows use foreign_by_key.c.  What is read to keep entries right is
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

#include "access/attnum.h"
#include "access/htup.h"
#include "access/htup_details.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "nodes/bitmapset.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/rel.h"

#include "../definition/routing.h"
#include "../indextable.h"
#include "../util/role.h"
#include "../util/sql.h"
#include "foreign_scan.h"

/* How many rows are fetched from a cursor at a time. */
#define FETCH_ROWS			1000

struct ForeignPartitionScan
{
	FactDef    *def;
	Oid			owner;
	Portal		portal;
	MemoryContext cxt;			/* of the rows fetched last, and their desc */
	HeapTuple  *tuples;
	uint64		n;
	uint64		next;			/* the first row that was not returned yet */
	TupleDesc	desc;
	AttrNumber *columns;		/* the numbers that the columns of desc have
								 * in the fact table */
	TupleTableSlot *slot;
};

static Bitmapset *upkeep_columns(FactDef *def);

/*
 * foreign_scan_begin
 *		Begins to read all rows of a partition, in no order, with the columns that
 *		entries depend on.
 */
ForeignPartitionScan *
foreign_scan_begin(FactDef *def, Relation leaf)
{
	ForeignPartitionScan *scan = palloc0(sizeof(ForeignPartitionScan));
	RowRequest	request = {.def = def,.rel = leaf,.columns = upkeep_columns(def)};
	char	   *sql = select_rows(&request, &scan->columns);
	Caller		caller;

	scan->def = def;
	scan->owner = leaf->rd_rel->relowner;
	scan->cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable foreign rows", ALLOCSET_DEFAULT_SIZES);
	scan->slot = MakeSingleTupleTableSlot(def->desc, &TTSOpsVirtual);
	become_owner(&caller, scan->owner);
	SPI_connect();
	scan->portal = SPI_cursor_open_with_args(NULL, sql, 0, NULL, NULL, NULL, true, 0);
	if (scan->portal == NULL)
		elog(ERROR, "%s: %s", SPI_result_code_string(SPI_result), sql);
	SPI_finish();
	become_caller(&caller);
	return scan;
}

/* foreign_scan_next: returns the next row, valid until the next call, or NULL if there is none */
TupleTableSlot *
foreign_scan_next(ForeignPartitionScan *scan)
{
	if (scan->next == scan->n)
	{
		Caller		caller;
		MemoryContext old;
		uint64		i;

		ExecClearTuple(scan->slot);
		MemoryContextReset(scan->cxt);
		become_owner(&caller, scan->owner);
		SPI_connect();
		SPI_cursor_fetch(scan->portal, true, FETCH_ROWS);
		scan->n = SPI_processed;
		scan->next = 0;
		old = MemoryContextSwitchTo(scan->cxt);
		scan->tuples = palloc(sizeof(HeapTuple) * Max(scan->n, 1));
		scan->desc = CreateTupleDescCopy(SPI_tuptable->tupdesc);
		for (i = 0; i < scan->n; i++)
			scan->tuples[i] = heap_copytuple(SPI_tuptable->vals[i]);
		MemoryContextSwitchTo(old);
		SPI_finish();
		become_caller(&caller);
		if (scan->n == 0)
			return NULL;
	}
	store_row(scan->def, scan->tuples[scan->next++], scan->desc, scan->columns, scan->slot);
	return scan->slot;
}

void
foreign_scan_end(ForeignPartitionScan *scan)
{
	SPI_connect();
	SPI_cursor_close(scan->portal);
	SPI_finish();
	ExecDropSingleTupleTableSlot(scan->slot);
	MemoryContextDelete(scan->cxt);
}

/*
 * select_rows
 *		Returns a SELECT, without conditions, of the columns asked for, and sets
 *		*columns to their numbers in the fact table.
 *
 * Columns are named, because partitions number them in other ways.
 */
char *
select_rows(RowRequest *request, AttrNumber **columns)
{
	TupleDesc	desc = request->def->desc;
	StringInfoData sql;
	int			n = 0;
	int			i;

	initStringInfo(&sql);
	*columns = palloc(sizeof(AttrNumber) * desc->natts);
	for (i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		int			member = att->attnum - FirstLowInvalidHeapAttributeNumber;

		if (att->attisdropped ||
			(request->columns != NULL && !bms_is_member(member, request->columns) &&
			 !bms_is_member(member, request->def->pk_columns)))
			continue;
		appendStringInfo(&sql, "%s f.%s", n == 0 ? "SELECT" : ",", quote_identifier(NameStr(att->attname)));
		(*columns)[n++] = att->attnum;
	}
	appendStringInfo(&sql, " FROM %s f", quoted_relation(RelationGetRelid(request->rel)));
	return sql.data;
}

/*
 * store_row
 *		Stores a tuple that the SELECT of select_rows() has returned in a slot with the
 *		columns of the fact table, where its values point into the tuple.
 */
void
store_row(FactDef *def, HeapTuple tuple, TupleDesc desc, AttrNumber *columns, TupleTableSlot *slot)
{
	int			i;

	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, sizeof(bool) * def->desc->natts);
	for (i = 0; i < desc->natts; i++)
		slot->tts_values[columns[i] - 1] = heap_getattr(tuple, i + 1, desc, &slot->tts_isnull[columns[i] - 1]);
	ExecStoreVirtualTuple(slot);
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
	int			i;

	for (i = 0; i < def->npk; i++)
	{
		bool		isnull;

		key[i] = slot_getattr(row, def->pk_attno[i], &isnull);
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
	StringInfoData names;
	StringInfoData values;
	int			i;

	if (in_bounds(def, root, leaf, row))
		return;
	initStringInfo(&names);
	initStringInfo(&values);
	for (i = 0; i < def->npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->desc, def->pk_attno[i] - 1);
		bool		isnull;
		Datum		value = slot_getattr(row, att->attnum, &isnull);
		Oid			output;
		bool		varlena;

		getTypeOutputInfo(att->atttypid, &output, &varlena);
		appendStringInfo(&names, "%s%s", i > 0 ? ", " : "", NameStr(att->attname));
		appendStringInfo(&values, "%s%s", i > 0 ? ", " : "", isnull ? "null" : OidOutputFunctionCall(output, value));
	}
	ereport(ERROR,
			(errcode(ERRCODE_CHECK_VIOLATION),
			 found ? errmsg("foreign partition \"%s\" has a row that its bounds do not allow", get_rel_name(leaf)) :
			 errmsg("new row for foreign partition \"%s\" violates its bounds", get_rel_name(leaf)),
			 errdetail("The row with (%s)=(%s) would not be found by its primary key.", names.data, values.data),
			 !found ? errhint("Rows are not moved out of foreign partitions. Instead, delete the row and insert it into \"%s\".", def->name) :
			 errhint("Move or delete the row on the other server, and add a CHECK constraint there.")));
}

/* upkeep_columns: returns the columns that entries depend on */
static Bitmapset *
upkeep_columns(FactDef *def)
{
	return bms_union(bms_union(def->used, def->queued), def->pk_columns);
}
