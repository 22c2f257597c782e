/*-------------------------------------------------------------------------
 *
 * orphaned_rows.c
 *	  Deletes rows of the catalog that are about nothing any more: those of tables that no
 *	  longer exist, and records of fact rows without entries that are about no fact row.
 *
 * completeness.c tells why no record is missed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/indexing.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"

#include "../indextable.h"
#include "catalog.h"

/* A record that verify() has locked. */
typedef struct LockedRecord
{
	TransactionId xmin;			/* has inserted it */
	int			number;			/* of its bit */
} LockedRecord;

static bool forget_definition(DefinitionRow *stored, Oid named);
static bool forget_fact(FactTableRow *row);
static LockedRecord *find_locked(List *locked, TransactionId xmin, int number);

/*
 * forget_orphaned_rows
 *		Deletes the catalog's rows of tables that have been dropped.
 *
 * This is done when users create, drop, verify or repair index tables.
 *
 * While a restore is under way, a table may exist before its triggers do.  So the
 * definition of a table that exists is deleted only if the user has named that table,
 * to drop() it; named is InvalidOid if the user has not.
 *
 * Only one session does this at a time, and it leaves out tables that another session
 * has locked for DDL, because two sessions that delete the same rows would wait for each
 * other.  What is left out is found the next time.
 */
void
forget_orphaned_rows(Oid named)
{
	Oid			catalog = catalog_relid("definition", false);
	bool		any = false;

	if (RecoveryInProgress() || XactReadOnly || IsInParallelMode() ||
		!ConditionalLockRelationOid(catalog, ShareUpdateExclusiveLock))
		return;
	foreach_ptr(DefinitionRow, row, catalog_definitions())
		any |= forget_definition(row, named);
	foreach_ptr(FactTableRow, row, catalog_fact_rows())
		any |= forget_fact(row);
	if (!any)
		UnlockRelationOid(catalog, ShareUpdateExclusiveLock);
}

/*
 * forget_definition
 *		Deletes a definition whose index table does not exist, or is the table that the
 *		user has named and not an index table; returns whether it has.
 */
static bool
forget_definition(DefinitionRow *stored, Oid named)
{
	Oid			index_table = stored->index_table;
	bool		exists = get_rel_relkind(index_table) != '\0';

	if ((exists && (index_table != named || definition_matches_tables(stored))) ||
		!ConditionalLockRelationOid(index_table, ShareUpdateExclusiveLock))
		return false;
	if (exists)
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("removed the definition of \"%s\", which is not an index table",
						get_rel_name(index_table)),
				 errdetail("The table has neither a dependency on a fact table nor triggers of indextable. Its definition was restored from a dump, and the index table that it describes did not exist any more."),
				 errhint("If it should be an index table, create it again with indextable.create().")));
	catalog_forget_definition(index_table);
	return true;
}

/*
 * forget_fact
 *		Deletes the row of a fact table that does not exist, or of which the catalog has
 *		nothing else; returns whether it has.
 */
static bool
forget_fact(FactTableRow *row)
{
	Oid			fact = row->fact_table;
	bool		exists = get_rel_relkind(fact) != '\0';

	if (exists &&
		(has_triggers_of_ours(fact, false) || catalog_read_unchecked_definitions(fact, InvalidOid) != NIL))
		return false;
	(void) find_queue_tables(row, NULL);
	if (exists && (OidIsValid(row->queue) || OidIsValid(row->spare)))
		return false;
	if (!ConditionalLockRelationOid(fact, ShareUpdateExclusiveLock))
		return false;
	catalog_forget_fact(fact);
	queue_table_drop(row->queue);
	queue_table_drop(row->spare);
	return true;
}

/*
 * lock_records
 *		Locks the completeness records of an index table that no writer has locked, and returns them.
 *
 * The caller then takes its snapshot, looks for rows that the records are about, and calls
 * unlock_records().
 */
List *
lock_records(IndexDef *def)
{
	Oid			relid = completeness_relid();
	List	   *locked = NIL;
	Relation	rel;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (!OidIsValid(relid))
		return NIL;
	rel = relation_open(relid, RowExclusiveLock);
	scan = scan_completeness(rel, "completeness_index_table", def->relid, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		LockedRecord *record = palloc(sizeof(LockedRecord));

		record->xmin = HeapTupleHeaderGetRawXmin(tuple->t_data);
		record->number = record_of_row(tuple, rel);
		if (record->number >= 0 && LACKING_BIT(record->number) != VALUES_RECORDED &&
			!TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data)) &&
			lock_record(def->relid, record->xmin, record->number, AccessExclusiveLock))
			locked = lappend(locked, record);
	}
	systable_endscan(scan);
	relation_close(rel, NoLock);
	return locked;
}

/*
 * unlock_records
 *		Removes those of the records that are not about rows with these bits, all that there
 *		are, and unlocks the others.
 */
void
unlock_records(IndexDef *def, List *locked, uint64 lacking)
{
	bool		removed = false;
	Relation	rel;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (locked == NIL)
		return;

	/*
	 * Rows may rely on a record that tells no field: from now on they rely on
	 * those that do.
	 */
	foreach_ptr(LockedRecord, record, locked)
	{
		if (LACKING_BIT(record->number) == SKIPPED_BIT(def) && (lacking & SKIPPED_BIT(def)) == 0 &&
			(lacking & FAULT_BITS) != 0)
			record_lacking(def, lacking);
	}
	rel = relation_open(completeness_relid(), RowExclusiveLock);
	scan = scan_completeness(rel, "completeness_index_table", def->relid, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		int			number = record_of_row(tuple, rel);

		if (number < 0 || (lacking & LACKING_BIT(number)) != 0 ||
			find_locked(locked, HeapTupleHeaderGetRawXmin(tuple->t_data), number) == NULL)
			continue;
		CatalogTupleDelete(rel, &tuple->t_self);
		removed = true;
	}
	systable_endscan(scan);
	relation_close(rel, NoLock);
	foreach_ptr(LockedRecord, record, locked)
	{
		LOCKTAG		tag = record_tag(def->relid, record->xmin, record->number);

		if ((lacking & LACKING_BIT(record->number)) != 0)
			LockRelease(&tag, AccessExclusiveLock, false);
	}
	if (!removed)
		return;
	forget_records(def);
	CacheInvalidateRelcacheByRelid(def->fact->relid);
	CommandCounterIncrement();
}

/* find_locked: returns the record in a list that a transaction has inserted, or NULL */
static LockedRecord *
find_locked(List *locked, TransactionId xmin, int number)
{
	foreach_ptr(LockedRecord, record, locked)
	{
		if (record->xmin == xmin && record->number == number)
			return record;
	}
	return NULL;
}
