/*-------------------------------------------------------------------------
 *
 * lost_partitions.c
 *	  Finds the fact tables and index tables that have lost partitions, with the entries of their
 *	  rows, or with entries, by a command that has not prepared for it.
 *
 * DROP SCHEMA, DROP OWNED and others drop partitions without naming them, and while a command
 * waits for its locks, or event triggers of users fire, a table may become a partition.  So it
 * counts what a table was a partition of when it was dropped.  The server's catalogs tell: this
 * transaction has deleted its rows there, and they are still to be read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup.h"
#include "access/htup_details.h"
#include "access/skey.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "../catalog/definition_rows.h"
#include "../catalog/fact_rows.h"
#include "../maintain/leaving.h"
#include "../util/inherit.h"
#include "lost_partitions.h"

static Oid	root_before_drop(Oid relid);
static Oid	parent_before_drop(Oid relid, TransactionId *detached);
static HeapTuple last_deleted(Oid catalog, Oid index, AttrNumber column, Oid relid, CommandId *when);

/*
 * lost_partitions
 *		Returns the fact tables and index tables that exist and have lost partitions, which are
 *		among the relations that a command has dropped, but for those that it had prepared.
 */
List *
lost_partitions(List *dropped)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, dropped)
	{
		Oid			root = is_leaving(lfirst_oid(cell)) ? InvalidOid : root_before_drop(lfirst_oid(cell));

		if (OidIsValid(root))
			result = list_append_unique_oid(result, root);
	}
	return result;
}

/*
 * root_before_drop
 *		Returns the fact table or the index table of which a table was a partition when it was
 *		dropped, at whatever depth, or InvalidOid.  Those that were dropped, too, are forgotten
 *		already, and partitions that were being detached do not count.
 */
static Oid
root_before_drop(Oid relid)
{
	Oid			result = InvalidOid;
	TransactionId detached;

	for (;;)
	{
		relid = SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)) ? tree_parent(relid, &detached) :
			parent_before_drop(relid, &detached);
		if (!OidIsValid(relid) || TransactionIdIsValid(detached))
			return result;
		if (catalog_has_fact(relid) || OidIsValid(catalog_fact_of(relid)))
			result = relid;
	}
}

/*
 * parent_before_drop
 *		Returns the same as tree_parent() did for a table when this transaction dropped it.
 *
 * The server deletes the rows of a table in pg_class and pg_inherits with one command id.  If the
 * row in pg_inherits has an earlier one, the table was detached before.
 */
static Oid
parent_before_drop(Oid relid, TransactionId *detached)
{
	CommandId	dropped;
	CommandId	left;
	HeapTuple	tuple = last_deleted(InheritsRelationId, InheritsRelidSeqnoIndexId, Anum_pg_inherits_inhrelid, relid, &left);
	HeapTuple	table = last_deleted(RelationRelationId, ClassOidIndexId, Anum_pg_class_oid, relid, &dropped);
	Form_pg_inherits form;

	*detached = InvalidTransactionId;
	/* A child that is no partition has no entries. */
	if (tuple == NULL || table == NULL || !((Form_pg_class) GETSTRUCT(table))->relispartition || dropped != left)
		return InvalidOid;
	form = (Form_pg_inherits) GETSTRUCT(tuple);
	if (form->inhdetachpending)
		*detached = HeapTupleHeaderGetXmin(tuple->t_data);
	return form->inhparent;
}

/*
 * last_deleted
 *		Returns the row of a table that this transaction has deleted last from a catalog, and with
 *		which command id, or NULL.
 */
static HeapTuple
last_deleted(Oid catalog, Oid index, AttrNumber column, Oid relid, CommandId *when)
{
	Relation	rel = table_open(catalog, AccessShareLock);
	HeapTuple	result = NULL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, index, true, SnapshotAny, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		HeapTupleHeader header = tuple->t_data;

		if ((header->t_infomask & HEAP_XMAX_INVALID) != 0 || HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask) ||
			!TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(header)))
			continue;
		if (result != NULL && HeapTupleHeaderGetCmax(header) < *when)
			continue;
		*when = HeapTupleHeaderGetCmax(header);
		result = heap_copytuple(tuple);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return result;
}
