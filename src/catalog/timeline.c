/*-------------------------------------------------------------------------
 *
 * timeline.c
 *	  Remembers on which timeline of this server the entries of a distributed index table were right.
 *
 * A standby that is promoted begins a new timeline.  It may lack commits: then rows that other nodes have
 * entries of, and entries of rows that other nodes have, are lost, and no queue says so.  So each node notes
 * its timeline for each asynchronous index table of Citus, when it gets to know it, and again when repair()
 * has found nothing wrong on any node.  In between, another timeline says that entries may be wrong.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xlog.h"

#include "catalog.h"

/* The columns of the table timeline. */
enum
{
	TIMELINE_INDEX_TABLE = 1,
	TIMELINE_TIMELINE,
	TIMELINE_NATTS = TIMELINE_TIMELINE
};

static void *read_timeline(HeapTuple tuple, TupleDesc desc);

/* present_timeline: returns the timeline of this server, which is not a standby */
int32
present_timeline(void)
{
	return (int32) GetWALInsertionTimeLine();
}

/*
 * catalog_timeline_changed
 *		Returns whether this server was promoted, or restored to a moment, since its timeline was noted for
 *		an index table.
 */
bool
catalog_timeline_changed(Oid index_table)
{
	List	   *rows = RecoveryInProgress() ? NIL :
		catalog_rows("timeline", "timeline_pkey", TIMELINE_INDEX_TABLE, index_table, read_timeline);

	return rows != NIL && *(int32 *) linitial(rows) != present_timeline();
}

/* catalog_note_timeline: notes the timeline of this server for an index table that has one */
void
catalog_note_timeline(Oid index_table)
{
	Datum		values[TIMELINE_NATTS] = {ObjectIdGetDatum(index_table), Int32GetDatum(present_timeline())};
	bool		isnull[TIMELINE_NATTS] = {0};

	if (delete_by_oid("timeline", "timeline_pkey", TIMELINE_INDEX_TABLE, index_table))
		insert_row("timeline", values, isnull);
}

/* read_timeline: reads a row of the table timeline; for catalog_rows() */
static void *
read_timeline(HeapTuple tuple, TupleDesc desc)
{
	int32	   *result = palloc(sizeof(int32));
	bool		isnull;

	check_version(desc, TIMELINE_NATTS);
	*result = DatumGetInt32(heap_getattr(tuple, TIMELINE_TIMELINE, desc, &isnull));
	return result;
}
