/*-------------------------------------------------------------------------
 *
 * completeness.c
 *	  Records that fact rows lack entries, and tells which queries an index table can
 *	  answer by itself.
 *
 * A row has no entry if one of its key fields is null.  Under on_mismatch => 'skip' a
 * value that cannot be a key costs it one, too, and so does a JSON null in a field of type
 * jsonb, which is no key although SQL takes it for a value.  So what an index table on
 * (town, last_name) has for a town are all rows of that town only if no row has a town and
 * lacks an entry.
 *
 * The table completeness of the catalog has a row (index table, k) if some fact row
 * lacks an entry, though its first k key fields are not null.  A multi-valued field is
 * null if it has no elements; otherwise the row should have an entry for each element
 * that differs from the others.  A row that the filter of the index table leaves out does
 * not count.  A row (index table, NULL) says that all of this is recorded.  So if a
 * snapshot sees the latter, and no row with a k of at least n, then every fact row that it
 * sees and whose first n key fields are not null has its entries; if n is 0, that is every
 * row.  Rejected rows of an asynchronous index table are noted elsewhere.
 *
 * This holds for every snapshot of another transaction, because whoever writes a row that
 * lacks an entry records that before the end of his statement, unless the record is there
 * already: then he has read it with a snapshot, so it was committed before, or is his own,
 * and whoever sees his row sees the record, too.  If the transaction or the savepoint is
 * rolled back, the record goes with the row.  Writers that record the same at the same
 * time each insert a row, so that nobody waits for anybody.
 *
 * A transaction itself sees its rows even with a snapshot that is older than the record
 * it has found: at REPEATABLE READ, for example.  So a transaction that has written anything
 * reads the record with the latest snapshot, too.  That sees it: it is not removed before
 * the transaction ends, which has a lock on the fact table.
 *
 * What was recorded stays, even if there is no such row any more.  It is removed only by
 * those who lock writers out and know what holds from then on: where an index table is
 * new, takes the place of another, or is emptied with its fact table.  All of them send
 * an invalidation of the fact table, which writers receive with their lock on it, so
 * that sessions can remember in the IndexDef what they have found committed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/skey.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "../indextable.h"
#include "completeness.h"
#include "table_access.h"

/* The rows of an index table, by the bits of their fields. */
typedef struct Records
{
	bool		kept;			/* it is recorded which rows lack entries */
	uint32		committed;		/* what others have recorded */
	uint32		own;			/* what this transaction has recorded */
} Records;

StaticAssertDecl(INDEX_MAX_KEYS <= 32, "LACKING_BIT() has a bit for each number of key fields, of which there are fewer");

static Oid	completeness_relid(void);
static Relation open_if_free(Oid relid);
static SysScanDesc scan_rows(Relation rel, const char *index, Oid index_table, Snapshot snapshot);
static void read_records(Relation rel, Oid index_table, Snapshot snapshot, Records *records);
static bool all_records(Relation rel, Oid index_table, Snapshot snapshot, uint32 *lacking);
static bool has_rejections(Oid index_table, Snapshot snapshot);
static bool may_lack_whole_key(IndexDef *def);
static void insert_record(Oid index_table, int fields);

/*
 * completeness_relid
 *		Returns the OID of the table, or InvalidOid if the catalog has none, as while CREATE
 *		EXTENSION is under way.
 *
 * That the table is a member of the extension is looked up once: a table that others
 * make by this name has another OID.
 */
static Oid
completeness_relid(void)
{
	static Oid	known = InvalidOid;
	Oid			schema = get_namespace_oid(IT_INTERNAL, true);

	if (!OidIsValid(known) || !OidIsValid(schema) || get_relname_relid("completeness", schema) != known)
		known = catalog_relid("completeness", true);
	return known;
}

/* open_if_free: opens a table of the catalog for reading; NULL: there is none, or one would have to wait for it */
static Relation
open_if_free(Oid relid)
{
	Relation	rel;

	if (!OidIsValid(relid) || !ConditionalLockRelationOid(relid, AccessShareLock))
		return NULL;
	rel = try_relation_open(relid, NoLock);
	if (rel == NULL)
		UnlockRelationOid(relid, AccessShareLock);
	return rel;
}

/*
 * scan_rows
 *		Begins to read the rows of an index table, with a snapshot; NULL: the latest one.
 *
 * The index only makes it faster.
 */
static SysScanDesc
scan_rows(Relation rel, const char *index, Oid index_table, Snapshot snapshot)
{
	Oid			relid = get_relname_relid(index, RelationGetNamespace(rel));
	ScanKeyData key;

	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(index_table));
	return systable_beginscan(rel, relid, OidIsValid(relid), snapshot, 1, &key);
}

/* read_records: reads what is recorded of an index table, as a snapshot sees it; NULL: the latest one */
static void
read_records(Relation rel, Oid index_table, Snapshot snapshot, Records *records)
{
	SysScanDesc scan = scan_rows(rel, "completeness_index_table", index_table, snapshot);
	HeapTuple	tuple;

	memset(records, 0, sizeof(Records));
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool		isnull;
		Datum		fields = heap_getattr(tuple, 2, RelationGetDescr(rel), &isnull);

		if (isnull)
			records->kept = true;
		else if (TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data)))
			records->own |= LACKING_BIT(DatumGetInt16(fields) & 31);
		else
			records->committed |= LACKING_BIT(DatumGetInt16(fields) & 31);
	}
	systable_endscan(scan);
}

/*
 * index_table_complete
 *		Returns whether a query with this snapshot finds in an index table all fact rows whose
 *		first so many key fields are not null.  NULL for the snapshot: the latest one, to
 *		estimate whether a query will.
 *
 * A row whose key fields are not null has its entries anyway, unless they may be skipped:
 * then nothing has to be read.  There is no error, and nobody is waited for: where it
 * cannot be told, the result is false.
 *
 * A SERIALIZABLE transaction does not rely on the record.  Someone else's row that has
 * no entry would be no conflict with what it has read, as he may have found the record
 * there.
 */
bool
index_table_complete(IndexDef *def, int fields, Snapshot snapshot)
{
	bool		whole_key = fields >= def->nkeys && !may_lack_whole_key(def);
	Relation	rel;
	uint32		lacking;
	bool		complete;

	if (def->async && has_rejections(def->relid, snapshot))
		return false;
	if (whole_key || IsolationIsSerializable())
		return whole_key;
	rel = open_if_free(completeness_relid());
	if (rel == NULL)
		return false;
	complete = all_records(rel, def->relid, snapshot, &lacking) && (lacking >> fields) == 0;
	relation_close(rel, AccessShareLock);
	return complete;
}

/*
 * all_records
 *		Returns whether it is recorded which rows lack entries that a query of this transaction
 *		sees with a snapshot, and in *lacking their bits.
 */
static bool
all_records(Relation rel, Oid index_table, Snapshot snapshot, uint32 *lacking)
{
	Records		records;
	bool		kept;

	read_records(rel, index_table, snapshot, &records);
	kept = records.kept;
	*lacking = records.committed | records.own;
	if (snapshot != NULL && TransactionIdIsValid(GetTopTransactionIdIfAny()))
	{
		read_records(rel, index_table, NULL, &records);
		*lacking |= records.committed | records.own;
	}
	return kept;
}

/* has_rejections: returns whether an asynchronous index table has rejected rows, or may have, as a snapshot sees it */
static bool
has_rejections(Oid index_table, Snapshot snapshot)
{
	Relation	rel = open_if_free(catalog_relid("rejection", true));
	SysScanDesc scan;
	bool		found;

	if (rel == NULL)
		return true;
	scan = scan_rows(rel, "rejection_index_table", index_table, snapshot);
	found = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	relation_close(rel, AccessShareLock);
	return found;
}

/* may_lack_whole_key: returns whether a row may lack an entry though none of its key fields is null */
static bool
may_lack_whole_key(IndexDef *def)
{
	int			i;

	for (i = 0; i < def->nkeys; i++)
		if (def->fields[i].type == JSONBOID)
			return true;
	return def->skip_mismatch;
}

/*
 * lacking_unrecorded
 *		Returns which of some bits are wrongly not recorded, as a snapshot sees it, and
 *		forgets that they were found there before.
 *
 * Where nothing is recorded at all, nothing is wrong.
 */
uint32
lacking_unrecorded(IndexDef *def, uint32 lacking, Snapshot snapshot)
{
	Oid			relid = completeness_relid();
	Relation	rel;
	uint32		recorded;
	bool		kept;

	if (lacking == 0 || !OidIsValid(relid))
		return 0;
	rel = relation_open(relid, AccessShareLock);
	kept = all_records(rel, def->relid, snapshot, &recorded);
	relation_close(rel, AccessShareLock);
	lacking &= ~recorded;
	def->lacking &= ~lacking;
	def->own_lacking &= ~lacking;
	return kept ? lacking : 0;
}

/*
 * lacking_is_news
 *		Returns whether some bits may have to be recorded, as far as this session knows.
 *
 * What this transaction has recorded itself is known only as long as the subtransaction
 * lasts that has seen it: with another one it might be rolled back.
 */
bool
lacking_is_news(IndexDef *def, uint32 lacking)
{
	lacking &= ~def->lacking;
	return lacking != 0 &&
		((lacking & ~def->own_lacking) != 0 ||
		 def->own_lacking_in != U64FromFullTransactionId(GetCurrentFullTransactionIdIfAny()));
}

/*
 * record_lacking
 *		Records that rows lack entries.  The caller has locked the index table and the fact
 *		table as a writer does.
 */
void
record_lacking(IndexDef *def, uint32 lacking)
{
	Oid			relid;
	Relation	rel;
	Records		records;
	int			fields;

	if (!lacking_is_news(def, lacking))
		return;
	relid = completeness_relid();
	if (!OidIsValid(relid))
		return;
	rel = relation_open(relid, RowExclusiveLock);
	read_records(rel, def->relid, NULL, &records);
	relation_close(rel, NoLock);
	for (fields = 0; fields <= def->nkeys; fields++)
		if (lacking & ~(records.committed | records.own) & LACKING_BIT(fields))
			insert_record(def->relid, fields);
	def->lacking |= records.committed;
	if ((lacking & ~records.committed) != 0)
	{
		def->own_lacking = lacking | records.own;
		def->own_lacking_in = U64FromFullTransactionId(GetCurrentFullTransactionId());
	}
}

/* insert_record: inserts a row of an index table; fields < 0: NULL */
static void
insert_record(Oid index_table, int fields)
{
	Datum		values[2] = {ObjectIdGetDatum(index_table), Int16GetDatum(fields)};
	bool		isnull[2] = {false, fields < 0};

	insert_row("completeness", values, isnull);
}

/*
 * completeness_begin
 *		Begins to record which rows lack entries in an index table, now that there are none:
 *		it is new, or its fact table is empty.
 */
void
completeness_begin(Oid index_table)
{
	if (!OidIsValid(completeness_relid()))
		return;
	(void) delete_by_oid("completeness", "completeness_index_table", 1, index_table);
	insert_record(index_table, -1);
}

/*
 * completeness_move
 *		Gives what is recorded of a replacement to the index table whose place it takes, and
 *		forgets what was recorded of that.
 *
 * The rows are read with the latest snapshot, so that nothing is missed that a drain has
 * recorded after the transaction's snapshot was taken.
 */
void
completeness_move(Oid from, Oid to)
{
	Oid			relid = completeness_relid();
	Relation	rel;
	Records		records;
	int			fields;

	if (!OidIsValid(relid))
		return;
	rel = relation_open(relid, RowExclusiveLock);
	read_records(rel, from, NULL, &records);
	relation_close(rel, NoLock);
	(void) delete_by_oid("completeness", "completeness_index_table", 1, from);
	(void) delete_by_oid("completeness", "completeness_index_table", 1, to);
	for (fields = records.kept ? -1 : 0; fields < 32; fields++)
		if (fields < 0 || ((records.committed | records.own) & LACKING_BIT(fields)))
			insert_record(to, fields);
}
