/*-------------------------------------------------------------------------
 *
 * inherit.c
 *	  Lists the partitions of a table, however deep: those that exist now, or those
 *	  that a snapshot sees.
 *
 * They are read from pg_inherits each time, and nothing is cached.  What the server caches
 * of them is the subject of fact/partition_list.c.
 *
 * A partition that DETACH PARTITION CONCURRENTLY has marked is no longer listed.  As soon
 * as the mark is committed, the partitioned table does not show its rows any more, though
 * another transaction, or FINALIZE later on, has to undo the rest.  In the server's
 * functions it depends on the active snapshot whether such a partition is left out.
 * Here the snapshot is a parameter; without one, what is committed now counts.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "inherit.h"
#include "relation.h"


/*
 * list_with_partitions
 *		Lists a table and its partitions without those that are being detached; locks none.
 */
List *
list_with_partitions(Oid relid)
{
	if (!OidIsValid(relid))
		return NIL;
	return get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE ?
		tree_of(relid, NULL, NoLock, false) : list_make1_oid(relid);
}

/*
 * lock_leaves
 *		Locks, to be read, and lists the tables that hold the rows of a table.
 *
 * These are the leaf partitions that the snapshot sees, or those that exist now if it
 * is NULL.  A table that is not partitioned is listed itself, and is not locked here.
 */
List *
lock_leaves(Oid relid, Snapshot snapshot)
{
	List	   *result = NIL;

	if (get_rel_relkind(relid) != RELKIND_PARTITIONED_TABLE)
		return list_make1_oid(relid);
	foreach_oid(table, tree_of(relid, snapshot, AccessShareLock, false))
	{
		if (get_rel_relkind(table) != RELKIND_PARTITIONED_TABLE)
			result = lappend_oid(result, table);
	}
	return result;
}

/*
 * foreign_table_in_use
 *		Returns a foreign table on one of these servers that this transaction has used, or
 *		InvalidOid.  The locks on foreign tables tell: they are held until it ends.
 */
Oid
foreign_table_in_use(List *servers)
{
	Relation	rel = table_open(ForeignTableRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	Oid			result = InvalidOid;
	HeapTuple	tuple;

	while (!OidIsValid(result) && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_foreign_table form = (Form_pg_foreign_table) GETSTRUCT(tuple);

		if (list_member_oid(servers, form->ftserver) && is_locked_here(form->ftrelid))
			result = form->ftrelid;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return result;
}

/*
 * is_locked_here
 *		Returns whether this transaction has used a relation, and so has a lock on it until it
 *		ends.
 */
bool
is_locked_here(Oid relid)
{
	LOCKTAG		tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, relid);
	return lock_held_by_me(&tag);
}

/*
 * tree_of
 *		Lists a table and its partitions, however deep, and locks all of them but the
 *		table itself, unless mode is NoLock.
 *
 * A parent comes before its partitions, and the partitions of one parent are in the
 * order of their OIDs.  They are those that the snapshot sees, or those that exist now
 * if it is NULL.  With detached, partitions that are being detached are included.
 */
List *
tree_of(Oid relid, Snapshot snapshot, LOCKMODE mode, bool detached)
{
	List	   *result = list_make1_oid(relid);

	/* The list grows. */
	foreach_oid(table, result)
	{
		if (get_rel_relkind(table) != RELKIND_PARTITIONED_TABLE)
			continue;
		foreach_oid(child, tree_children(table, snapshot, detached))
		{
			if (mode == NoLock || lock_if_exists(child, mode))
				result = lappend_oid(result, child);
		}
	}
	return result;
}

/*
 * tree_children
 *		Lists the direct partitions of a table in the order of their OIDs; see tree_of().
 */
List *
tree_children(Oid parent, Snapshot snapshot, bool detached)
{
	CatalogScan scan = catalog_scan_begin(InheritsRelationId, InheritsParentIndexId, Anum_pg_inherits_inhparent,
										  parent, snapshot);
	List	   *result = NIL;
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = catalog_scan_next(&scan)))
	{
		Form_pg_inherits form = (Form_pg_inherits) GETSTRUCT(tuple);

		if (detached || !form->inhdetachpending)
			result = lappend_oid(result, form->inhrelid);
	}
	catalog_scan_end(&scan);
	list_sort(result, list_oid_cmp);
	return result;
}

/*
 * tree_parent
 *		Returns the table that a table is a partition of, or InvalidOid.
 *
 * Sets *detached to the transaction that has marked the partition if it is being
 * detached, and to InvalidTransactionId if it is not.
 */
Oid
tree_parent(Oid relid, TransactionId *detached)
{
	Oid			result = InvalidOid;
	CatalogScan scan;
	HeapTuple	tuple;

	*detached = InvalidTransactionId;
	if (!get_rel_relispartition(relid))
		return InvalidOid;
	scan = catalog_scan_begin(InheritsRelationId, InheritsRelidSeqnoIndexId, Anum_pg_inherits_inhrelid, relid,
							  NULL);
	tuple = catalog_scan_next(&scan);
	if (HeapTupleIsValid(tuple))
	{
		Form_pg_inherits form = (Form_pg_inherits) GETSTRUCT(tuple);

		result = form->inhparent;
		if (form->inhdetachpending)
			*detached = HeapTupleHeaderGetXmin(tuple->t_data);
	}
	catalog_scan_end(&scan);
	return result;
}
