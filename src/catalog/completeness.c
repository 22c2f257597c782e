/*-------------------------------------------------------------------------
 *
 * completeness.c
 *	  Records that fact rows have values which entries do not tell as a query reads them, or
 *	  that were skipped, and tells which queries an index table can answer by itself.
 *
 * A row has no entry in a sparse index table if one of its key fields is null; of one that is not
 * sparse, every row has its entries.  That is not recorded: the conditions of a query say which rows it
 * asks for.  What no condition says is recorded in the table completeness of the catalog.  A row
 * (index table, number of key fields) says that some fact row lacks an entry because a value in it was
 * skipped, under on_mismatch => 'skip'.  If that is the text of a field that cannot be cast to its type, the
 * row of the record says so of this field instead: 32 times the number of the field, from 1, is added; and
 * if it is the text of a number in JSON, which conditions on JSON may ask for, 32 times 32 in another row.  One
 * such field is enough: a row that lacks entries because of it is in no result of a query whose conditions
 * cannot be true of it, as they cast the text, too, or compare it with what can be cast.  Of totals the row says
 * that a sum lacks a value, and a row with a number greater by one that a group lacks a row.  Rows with lower
 * numbers are left from version 1.1.
 * A row (index table, NULL) says that all of this is recorded.  So if a snapshot sees the latter, and no
 * row of the former kind, then every fact row that it sees has the entries that it should have.
 * Rejected rows of an asynchronous index table are noted elsewhere.
 *
 * Another row (index table, 30) says that some row had, or has, an array or an object at
 * a place of which a key has the text, or within an array that a [*] leads into; and a row
 * (index table, 25) says so of an array on the way to that place, the document itself included.
 * Conditions look into these, while a key does not tell what is in them.  A row
 * (index table, 29) says so of a time without a zone of its own, in a field of a type with a zone:
 * entries have it in UTC, while a query reads it in the zone of its session.  A row (index table, 27)
 * says so of an element that is no string, in a field of type text.  A row (index table, 28) says so
 * of a value in place of an array, which cannot be unnested, and where entries do not count elements, as
 * those of version 1.1, of an array that has an element twice, or one that is no key.  A row
 * (index table, 26) says so of such a value that is not null either.  A row
 * (index table, 24) says so of an element that is no object, although members of it are looked for; and a
 * row (index table, 23) of elements that are equal and not the same, such as 1 and 1.0; of totals, of
 * elements that are in one group.
 * All this is recorded of rows that are skipped, too, if they are recorded by field.
 * A row (index table, 31) says that all this is recorded: version 1.1 did not do so, nor did it make
 * entries of JSON null in a field of type jsonb, and where it made none it recorded that as skipped.
 * Index tables with 24 key fields or more do not record these values, and a number of 24 stands for
 * those key fields beyond it; those with 23 do not record 23.
 *
 * This holds for every snapshot of another transaction, because a transaction that writes
 * such a row records that before the end of its statement, unless the record is there
 * already: then it has read the record with a snapshot, so it was committed before, or is its
 * own, and a snapshot that sees the row sees the record, too.  If the transaction or the
 * savepoint is rolled back, the record goes with the row.  Writers that record the same at the
 * same time each insert a row, so that none waits for another.
 *
 * A transaction itself sees its rows even with a snapshot that is older than the record
 * it has found: at REPEATABLE READ, for example.  So a transaction that has written anything
 * reads the record with the latest snapshot, too.  That sees it: it is not removed before
 * the transaction ends, which keeps it.
 *
 * A writer that relies on a record of others keeps it: it has a lock on it until its
 * transaction ends, or the savepoint whose rows rely on it is rolled back.  The lock is on
 * no object of the database.  It is named by the index table, the transaction that has
 * inserted the record, and its number, which VACUUM FULL does not change
 * either.  Having got the lock the writer makes sure that the record is still there.
 *
 * A record is removed where writers are locked out: where an index table is new, takes the
 * place of another, or is emptied with its fact table.  And it is removed by verify(), which
 * locks nobody out, if no row is left that it is about.  verify() first locks the records,
 * so that nobody can keep them, and only those that nobody keeps now.  Then it takes its
 * snapshot, and reads the fact table.  If it sees no row that a record is about, it removes
 * the record, and has the lock until its transaction ends.  Every snapshot that does not see
 * the record any more was taken later than that of verify().  Suppose that it sees a row that
 * the record is about.  Then that of verify() did not see it, as it would have been found, so
 * its writer ended later.  So the writer cannot have kept the record before it was locked.
 * While it was locked, it could not, and afterwards the record was gone.  So it has inserted
 * a record of its own, and the snapshot sees that.  An older snapshot sees the removed one.  A
 * writer waits for nobody: where records are locked, it inserts its own, which the next keep.
 *
 * A row that lacked an entry before an update that leaves its key alone need not be
 * looked at.  If the snapshot of verify() saw neither version, it saw none that came after the
 * row began to lack it, and the transaction by which it began has ended later.
 *
 * All that remove records send an invalidation of the fact table.  Sessions remember in the
 * IndexDef which transactions have inserted those that they have found, and believe that, once
 * they have the lock, unless the definition has become stale.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"

#include "../indextable.h"
#include "../place/place.h"
#include "../util/relation.h"
#include "catalog.h"

/* The rows of an index table, by the bits of their fields. */
typedef struct Records
{
	bool		kept;			/* it is recorded which rows lack entries */
	uint64		lacking;
} Records;

/* A record that verify() has locked. */
typedef struct LockedRecord
{
	TransactionId xmin;			/* has inserted it */
	int			number;			/* of its bit */
} LockedRecord;

static Oid	completeness_relid(void);
static SysScanDesc scan_completeness(Relation rel, const char *index, Oid index_table, Snapshot snapshot);
static int	record_of_row(HeapTuple tuple, Relation rel);
static void read_records(Relation rel, Oid index_table, Snapshot snapshot, Records *records);
static bool all_records(Relation rel, Oid index_table, Snapshot snapshot, uint64 *lacking);
static bool has_rejections(Oid index_table, Snapshot snapshot);
static uint64 faults_possible(IndexDef *def);
static bool read_if_free(IndexDef *def, Snapshot snapshot, uint64 *recorded);
static bool may_lack_json_null(IndexDef *def);
static bool records_values(IndexDef *def);
static void forget_records(IndexDef *def);
static bool lock_record(Oid index_table, TransactionId xmin, int record, LOCKMODE mode);
static void insert_record(Oid index_table, int number);
static uint64 keep_remembered(IndexDef *def, uint64 lacking);
static uint64 keep_committed(IndexDef *def, Relation rel, uint64 lacking);
static LockedRecord *find_locked(List *locked, TransactionId xmin, int number);

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

/*
 * scan_completeness
 *		Begins to read the rows of an index table, with a snapshot; NULL: the latest one.
 *
 * The index only makes it faster.
 */
static SysScanDesc
scan_completeness(Relation rel, const char *index, Oid index_table, Snapshot snapshot)
{
	Oid			relid = get_relname_relid(index, RelationGetNamespace(rel));
	ScanKeyData key;

	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(index_table));
	return systable_beginscan(rel, relid, OidIsValid(relid), snapshot, 1, &key);
}

/* record_of_row: returns the number of the bit that a row is the record of; -1: it has NULL */
static int
record_of_row(HeapTuple tuple, Relation rel)
{
	bool		isnull;
	Datum		fields = heap_getattr(tuple, 2, RelationGetDescr(rel), &isnull);
	int			number = isnull ? -1 : (uint16) DatumGetInt16(fields);

	return number < 32 ? number : number / 32 <= RECORDS - FIRST_FAULT ? FIRST_FAULT + number / 32 - 1 :
		number % 32;
}

/*
 * read_records
 *		Reads what is recorded of an index table, as a snapshot sees it; NULL: the latest one.
 */
static void
read_records(Relation rel, Oid index_table, Snapshot snapshot, Records *records)
{
	SysScanDesc scan = scan_completeness(rel, "completeness_index_table", index_table, snapshot);
	HeapTuple	tuple;

	memset(records, 0, sizeof(Records));
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		int			record = record_of_row(tuple, rel);

		if (record < 0)
			records->kept = true;
		else
			records->lacking |= LACKING_BIT(record);
	}
	systable_endscan(scan);
}

/*
 * fault_bits
 *		Returns the bits of rows that are skipped because the text of a field cannot be cast, which may be that
 *		of a number: the bit of all skipped rows, where there are too many fields to tell them apart.
 */
uint64
fault_bits(IndexDef *def, Field *field, bool number)
{
	int			fault = FIRST_FAULT + (field - def->spec.fields);

	if (!records_values(def) || fault >= NUMBER_FAULT)
		return SKIPPED_BIT(def);
	return LACKING_BIT(fault) | (number ? NUMBER_FAULT_BIT : 0);
}

/*
 * index_table_complete
 *		Returns whether a query with this snapshot finds in an index table all fact rows that its filter
 *		takes, and whose key fields are not null if it is sparse, but for those that are skipped for a fault
 *		that its conditions exclude: these are FAULT_BITS.  NULL for the snapshot: the latest one, to
 *		estimate whether a query will.
 *
 * Where elements are a key, the caller makes sure that the rows in question have elements.  There is no
 * error, and nobody is waited for: where it cannot be told, the result is false.
 *
 * Of rows in parts each node records what is wrong with its own, so that no record is believed: no row must be
 * possible that is skipped or rejected, but for what the conditions exclude.
 *
 * A SERIALIZABLE transaction does not rely on a record, here and below.  A row of another transaction that
 * has no entry would be no conflict with what it has read, as the other may have found the record there.
 */
bool
index_table_complete(IndexDef *def, uint64 excluded, Snapshot snapshot)
{
	uint64		recorded;

	if (def->fact->place->in_parts)
		return (faults_possible(def) & ~excluded) == 0;
	if (def->spec.async && has_rejections(def->relid, snapshot))
		return false;
	if (!def->spec.skip_mismatch && !may_lack_json_null(def))
		return true;
	if (!read_if_free(def, snapshot, &recorded))
		return false;
	if (!def->spec.skip_mismatch && (recorded & VALUES_RECORDED) != 0 && records_values(def))
		return true;
	return !IsolationIsSerializable() && (recorded & ~excluded & (SKIPPED_BIT(def) | FAULT_BITS)) == 0;
}

/*
 * faults_possible
 *		Returns the FAULT_BITS of rows that may be skipped or rejected, and SKIPPED_BIT if others may be,
 *		as their keys may be too long.
 */
static uint64
faults_possible(IndexDef *def)
{
	uint64		result = 0;

	for (int i = 0; i < def->spec.nkeys + def->spec.nincludes; i++)
	{
		Field	   *field = &def->spec.fields[i];

		/* Version 1.1 has made no entry of JSON null. */
		if (field->fact_attno == EXPRESSION_ATTNO || (i < def->spec.nkeys && field->type == JSONBOID))
			return ~(uint64) 0;
		if (field->fact_attno == 0 ? field->type == TEXTOID || field->type == JSONBOID : field->convert == NULL)
			continue;
		if ((fault_bits(def, field, true) & FAULT_BITS) == 0)
			return ~(uint64) 0;
		result |= fault_bits(def, field, true);
	}
	for (int i = 0; i < def->layout.nident; i++)
		if (TupleDescAttr(def->layout.desc, def->layout.ident[i] - 1)->attlen < 0)
			result |= SKIPPED_BIT(def);
	return result;
}

/*
 * fault_not_excluded
 *		Returns the first field whose text cannot be cast in some row that is skipped, if that is all that
 *		keeps an index table from serving a query; else NULL.
 */
Field *
fault_not_excluded(IndexDef *def, uint64 excluded)
{
	uint64		recorded;

	if (!def->spec.skip_mismatch || IsolationIsSerializable() || !read_if_free(def, NULL, &recorded) ||
		(recorded & SKIPPED_BIT(def)) != 0)
		return NULL;
	for (int i = 0; i < def->spec.nkeys + def->spec.nincludes; i++)
	{
		uint64		fault = fault_bits(def, &def->spec.fields[i], false);

		if ((recorded & fault) != 0 && (recorded & ~excluded & (fault | NUMBER_FAULT_BIT)) != 0)
			return &def->spec.fields[i];
	}
	return NULL;
}

/*
 * totals_complete
 *		Returns whether the groups of a table of totals have all rows, and, if sums is true, their sums all
 *		values, as index_table_complete() tells it of entries.
 */
bool
totals_complete(IndexDef *def, bool sums, Snapshot snapshot)
{
	uint64		recorded;

	return !def->spec.skip_mismatch ||
		(!IsolationIsSerializable() && read_if_free(def, snapshot, &recorded) &&
		 (recorded & (sums ? GROUP_LACKS_BIT(def) | SUM_LACKS_BIT(def) : GROUP_LACKS_BIT(def))) == 0);
}

/*
 * index_table_has_none
 *		Returns whether a query with this snapshot finds no fact row that has an entry, and has
 *		values of these kinds, which are VALUE_BITS.
 */
bool
index_table_has_none(IndexDef *def, uint32 values, Snapshot snapshot)
{
	uint64		recorded;

	return !IsolationIsSerializable() && records_values(def) && read_if_free(def, snapshot, &recorded) &&
		(recorded & VALUES_RECORDED) != 0 && (recorded & values) == 0;
}

/*
 * read_if_free
 *		Reads what is recorded of an index table, for a query with a snapshot.  Returns false if nothing
 *		is, or the catalog is locked.
 */
static bool
read_if_free(IndexDef *def, Snapshot snapshot, uint64 *recorded)
{
	SupposedTable *supposed = supposed_table(def->relid);
	Relation	rel;
	bool		kept;

	if (supposed != NULL)
	{
		*recorded = supposed->recorded;
		return true;
	}
	/* Each node records what is wrong with the rows that it has, or nothing. */
	if (def->fact->place->in_parts || def->fact->place->definitions != NULL)
		return false;
	(void) open_if_free(completeness_relid(), &rel);
	if (rel == NULL)
		return false;
	kept = all_records(rel, def->relid, snapshot, recorded);
	relation_close(rel, AccessShareLock);
	return kept;
}

/*
 * may_lack_json_null
 *		Returns whether version 1.1 would make no entry of a row with JSON null in a key
 *		field.
 */
static bool
may_lack_json_null(IndexDef *def)
{
	for (int i = 0; i < def->spec.nkeys && def->spec.sparse; i++)
		if (def->spec.fields[i].type == JSONBOID)
			return true;
	return false;
}

/*
 * records_values
 *		Returns whether it has few enough key fields that their numbers are not taken for
 *		other bits.
 */
static bool
records_values(IndexDef *def)
{
	return def->spec.nkeys < 24;
}

/*
 * all_records
 *		Returns whether it is recorded which rows lack entries that a query of this transaction
 *		sees with a snapshot, and in *lacking their bits.
 */
static bool
all_records(Relation rel, Oid index_table, Snapshot snapshot, uint64 *lacking)
{
	Records		records;
	bool		kept;

	read_records(rel, index_table, snapshot, &records);
	kept = records.kept;
	*lacking = records.lacking;
	if (snapshot != NULL && TransactionIdIsValid(GetTopTransactionIdIfAny()))
	{
		read_records(rel, index_table, NULL, &records);
		*lacking |= records.lacking;
	}
	return kept;
}

/*
 * has_rejections
 *		Returns whether an asynchronous index table has rejected rows, or may have, as a
 *		snapshot sees it.
 */
static bool
has_rejections(Oid index_table, Snapshot snapshot)
{
	Relation	rel;
	SysScanDesc scan;
	bool		found;

	(void) open_if_free(catalog_relid("rejection", true), &rel);
	if (rel == NULL)
		return true;
	scan = scan_completeness(rel, "rejection_index_table", index_table, snapshot);
	found = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	relation_close(rel, AccessShareLock);
	return found;
}

/*
 * lacking_unrecorded
 *		Returns which of some bits are wrongly not recorded, as a snapshot sees it, and
 *		forgets that they were found there before.
 *
 * Where nothing is recorded at all, nothing is wrong.
 */
uint64
lacking_unrecorded(IndexDef *def, uint64 lacking, Snapshot snapshot)
{
	Oid			relid = completeness_relid();
	Relation	rel;
	uint64		recorded;
	bool		kept;

	if (lacking == 0 || !OidIsValid(relid))
		return 0;
	rel = relation_open(relid, AccessShareLock);
	kept = all_records(rel, def->relid, snapshot, &recorded);
	relation_close(rel, AccessShareLock);
	lacking &= ~recorded;
	/* That some row was skipped says that any may have been. */
	if ((recorded & SKIPPED_BIT(def)) != 0)
		lacking &= ~FAULT_BITS;
	/* Nothing is wrong where that is not recorded. */
	if ((recorded & VALUES_RECORDED) == 0 || !records_values(def))
		lacking &= ~VALUE_BITS;
	if (lacking != 0)
		forget_records(def);
	return kept ? lacking : 0;
}

/* forget_records: forgets what this session knows of what is recorded */
static void
forget_records(IndexDef *def)
{
	memset(def->run.lacking_by, 0, sizeof(def->run.lacking_by));
	def->run.own_lacking = 0;
}

/*
 * lacking_is_news
 *		Returns whether some bits may have to be recorded, as far as this session knows.
 *
 * What this transaction has recorded itself, or keeps, is known only as long as the
 * subtransaction lasts that has seen it: with another one it might be rolled back.
 */
bool
lacking_is_news(IndexDef *def, uint64 lacking)
{
	return lacking != 0 && def->fact->place->definitions == NULL &&
		((lacking & ~def->run.own_lacking) != 0 ||
		 def->run.own_lacking_in != U64FromFullTransactionId(GetCurrentFullTransactionIdIfAny()));
}

/*
 * record_lacking
 *		Records that rows lack entries.  The caller has locked the index table and the fact
 *		table as a writer does.
 */
void
record_lacking(IndexDef *def, uint64 lacking)
{
	uint64		xid;
	uint64		known;
	Oid			relid;
	Relation	rel;

	if (!records_values(def))
		lacking &= ~VALUE_BITS;
	if (!lacking_is_news(def, lacking))
		return;
	xid = U64FromFullTransactionId(GetCurrentFullTransactionId());
	known = def->run.own_lacking_in == xid ? def->run.own_lacking : 0;
	known |= keep_remembered(def, lacking & ~known);
	if ((lacking & ~known) != 0)
	{
		relid = completeness_relid();
		if (!OidIsValid(relid))
			return;
		rel = relation_open(relid, RowExclusiveLock);
		known |= keep_committed(def, rel, lacking & ~known);
		relation_close(rel, NoLock);
		for (int record = 0; record < RECORDS; record++)
			if (lacking & ~known & ~VALUES_RECORDED & LACKING_BIT(record))
				insert_record(def->relid, record < FIRST_FAULT ? record :
							  32 * (record - FIRST_FAULT + 1) + Min(def->spec.nkeys, 24));
	}
	def->run.own_lacking = known | lacking;
	def->run.own_lacking_in = xid;
}

/* record_tag: returns the name of the lock on a record */
LOCKTAG
record_tag(Oid index_table, TransactionId xmin, int record)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, index_table, xmin, record);
	return tag;
}

/* lock_record: locks a record, unless it is locked in a mode that conflicts */
static bool
lock_record(Oid index_table, TransactionId xmin, int record, LOCKMODE mode)
{
	LOCKTAG		tag = record_tag(index_table, xmin, record);

	return LockAcquire(&tag, mode, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

/*
 * keep_remembered
 *		Keeps records that this session has found before, and returns which of the bits they
 *		are about.
 */
static uint64
keep_remembered(IndexDef *def, uint64 lacking)
{
	uint64		kept = 0;

	for (int record = 0; record < RECORDS; record++)
		if ((lacking & LACKING_BIT(record)) && TransactionIdIsValid(def->run.lacking_by[record]) &&
			lock_record(def->relid, def->run.lacking_by[record], record, AccessShareLock))
			kept |= LACKING_BIT(record);
	if (kept != 0)
		AcceptInvalidationMessages();
	return def->fact->run.stale ? 0 : kept;
}

/*
 * keep_committed
 *		Finds records, keeps those of others, and returns which of the bits they are about.
 *
 * They are read twice: to be locked, and to see that they have not been removed just before.
 */
static uint64
keep_committed(IndexDef *def, Relation rel, uint64 lacking)
{
	TransactionId locked[RECORDS] = {0};
	uint64		kept = 0;
	bool		again = false;

	do
	{
		SysScanDesc scan = scan_completeness(rel, "completeness_index_table", def->relid, NULL);
		HeapTuple	tuple;
		bool		lock = !again;

		again = false;
		while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		{
			TransactionId xmin = HeapTupleHeaderGetRawXmin(tuple->t_data);
			int			record = record_of_row(tuple, rel);

			if (record < 0 || (lacking & ~kept & LACKING_BIT(record)) == 0)
				continue;
			if (TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data)))
				kept |= LACKING_BIT(record);
			else if (lock && !TransactionIdIsValid(locked[record]))
			{
				if (!lock_record(def->relid, xmin, record, AccessShareLock))
					continue;
				locked[record] = xmin;
				again = true;
			}
			else if (!lock && locked[record] == xmin)
			{
				def->run.lacking_by[record] = xmin;
				kept |= LACKING_BIT(record);
			}
		}
		systable_endscan(scan);
	} while (again);
	return kept;
}

/*
 * lock_records
 *		Locks the completeness records of an index table that no writer has locked, and returns them.
 *
 * The caller then takes its snapshot, looks for rows that the records are about, and calls
 * remove_unneeded_records().
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
 * remove_unneeded_records
 *		Removes those of the locked records that are about no row, and unlocks the others.  lacking are the
 *		bits of all rows that the caller's snapshot sees.
 */
void
remove_unneeded_records(IndexDef *def, List *locked, uint64 lacking)
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

/* insert_record: inserts a row of an index table; number < 0: NULL */
static void
insert_record(Oid index_table, int number)
{
	Datum		values[2] = {ObjectIdGetDatum(index_table), Int16GetDatum(number)};
	bool		isnull[2] = {false, number < 0};

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
	/* A session that has the library of 1.1 records no arrays and objects. */
	if (!catalog_is_old())
		insert_record(index_table, 31);
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
	SysScanDesc scan;
	HeapTuple	tuple;
	List	   *numbers = NIL;

	if (!OidIsValid(relid))
		return;
	rel = relation_open(relid, RowExclusiveLock);
	scan = scan_completeness(rel, "completeness_index_table", from, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool		isnull;
		Datum		number = heap_getattr(tuple, 2, RelationGetDescr(rel), &isnull);

		numbers = list_append_unique_int(numbers, isnull ? -1 : DatumGetInt16(number));
	}
	systable_endscan(scan);
	relation_close(rel, NoLock);
	(void) delete_by_oid("completeness", "completeness_index_table", 1, from);
	(void) delete_by_oid("completeness", "completeness_index_table", 1, to);
	foreach_int(number, numbers)
		insert_record(to, number);
}
