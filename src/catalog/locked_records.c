/*-------------------------------------------------------------------------
 *
 * locked_records.c
 *	  Removes records of rows without entries that are about no row any more.
 *
 * completeness.c tells why none is missed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "utils/inval.h"

#include "completeness.h"
#include "locked_records.h"

/* A record that verify() has locked. */
typedef struct LockedRecord
{
	TransactionId xmin;			/* has inserted it */
	int			fields;
} LockedRecord;

static LockedRecord *find_locked(List *locked, TransactionId xmin, int fields);

/*
 * lock_records
 *		Locks what is recorded of an index table and nobody keeps, so that unlock_records() can
 *		remove it, and lists it.  Called before the snapshot is taken that is to show whether
 *		there are such rows.
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
		record->fields = record_fields(tuple, rel);
		if (record->fields >= 0 && LACKING_BIT(record->fields) != VALUES_RECORDED &&
			!TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data)) &&
			lock_record(def->relid, record->xmin, record->fields, AccessExclusiveLock))
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
unlock_records(IndexDef *def, List *locked, uint32 lacking)
{
	bool		removed = false;
	Relation	rel;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (locked == NIL)
		return;
	rel = relation_open(completeness_relid(), RowExclusiveLock);
	scan = scan_completeness(rel, "completeness_index_table", def->relid, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		int			fields = record_fields(tuple, rel);

		if (fields < 0 || (lacking & LACKING_BIT(fields)) != 0 ||
			find_locked(locked, HeapTupleHeaderGetRawXmin(tuple->t_data), fields) == NULL)
			continue;
		CatalogTupleDelete(rel, &tuple->t_self);
		removed = true;
	}
	systable_endscan(scan);
	relation_close(rel, NoLock);
	foreach_ptr(LockedRecord, record, locked)
	{
		LOCKTAG		tag = record_tag(def->relid, record->xmin, record->fields);

		if ((lacking & LACKING_BIT(record->fields)) != 0)
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
find_locked(List *locked, TransactionId xmin, int fields)
{
	foreach_ptr(LockedRecord, record, locked)
	{
		if (record->xmin == xmin && record->fields == fields)
			return record;
	}
	return NULL;
}
