/*-------------------------------------------------------------------------
 *
 * relation.c
 *	  Looks up what the server knows of a table: whether it still exists, its primary
 *	  key, its tablespace, its subscriptions, its dependencies, and how its values are compared.
 *	  Keeps what is known of tables by their OIDs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_subscription_rel.h"
#include "catalog/pg_type.h"
#include "commands/tablespace.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "memory.h"
#include "relation.h"
#include "sql.h"
#include "subxact.h"

static const char *as_operand(const char *expression, Oid type, Oid declared, const char *suffix);
static bool is_on_table(Form_pg_depend form, void *table);
static void read_blocks(void *arg);

/* catalog_scan_begin: begins such a scan by an index, with a snapshot; NULL: a new one */
CatalogScan
catalog_scan_begin(Oid catalog, Oid index, AttrNumber column, Oid value, Snapshot snapshot)
{
	CatalogScan scan = {.rel = table_open(catalog, AccessShareLock)};
	ScanKeyData key;

	ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(value));
	scan.scan = systable_beginscan(scan.rel, index, true, snapshot, 1, &key);
	return scan;
}

/* catalog_scan_next: returns the next row, or NULL */
HeapTuple
catalog_scan_next(CatalogScan *scan)
{
	return systable_getnext(scan->scan);
}

/* catalog_scan_end: ends the scan */
void
catalog_scan_end(CatalogScan *scan)
{
	systable_endscan(scan->scan);
	table_close(scan->rel, AccessShareLock);
}

/* lock_if_exists: locks a relation; returns false, without a lock, if it has been dropped */
bool
lock_if_exists(Oid relid, LOCKMODE mode)
{
	LockRelationOid(relid, mode);
	if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
		return true;
	UnlockRelationOid(relid, mode);
	return false;
}

/*
 * open_if_free
 *		Opens a relation for callers that only look at it, and must not wait for a lock.
 *		Returns false if another session has it locked.  *rel is NULL then, and if the
 *		relation does not exist.
 */
bool
open_if_free(Oid relid, Relation *rel)
{
	*rel = NULL;
	if (!OidIsValid(relid))
		return true;
	if (!ConditionalLockRelationOid(relid, AccessShareLock))
		return false;
	*rel = try_relation_open(relid, NoLock);
	if (*rel == NULL)
		UnlockRelationOid(relid, AccessShareLock);
	return true;
}

/*
 * is_deleted_here
 *		Returns whether this transaction has deleted a row of a catalog, or replaced it.
 */
bool
is_deleted_here(HeapTupleHeader header)
{
	return (header->t_infomask & HEAP_XMAX_INVALID) == 0 && !HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask) &&
		TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(header));
}

/*
 * require_owner
 *		Raises an error if a table is not the current user's.  What has to wait for a lock asks before, because
 *		others could not be made to wait, and again in each transaction that has got one: the table may be
 *		another's since.
 */
void
require_owner(Oid relid)
{
	if (!owns_relation(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(relid));
}

/* may_read_some: returns whether the current user may read any column of a table */
bool
may_read_some(Oid relid)
{
	return pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK ||
		pg_attribute_aclcheck_all(relid, GetUserId(), ACL_SELECT, ACLMASK_ANY) == ACLCHECK_OK;
}

/*
 * lock_and_open
 *		Locks and opens a table; returns NULL, without a lock, if it has been dropped.
 *
 * The server's function for that looks for the table in its catalog first, each time.  But
 * once the table is locked and the news is heard, the relation cache knows, too.
 */
Relation
lock_and_open(Oid relid, LOCKMODE mode)
{
	Relation	rel;

	LockRelationOid(relid, mode);
	rel = RelationIdGetRelation(relid);
	if (rel == NULL)
	{
		UnlockRelationOid(relid, mode);
		return NULL;
	}
	if (RelationUsesLocalBuffers(rel))
		MyXactFlags |= XACT_FLAGS_ACCESSEDTEMPNAMESPACE;
	pgstat_init_relation(rel);
	return rel;
}

/*
 * open_existing
 *		Locks and opens a table as relation_open() does; if another session has dropped it
 *		meanwhile, that is an error for the user, and no internal one.
 */
Relation
open_existing(Oid relid, LOCKMODE mode)
{
	Relation	rel = try_relation_open(relid, mode);

	if (rel == NULL)
		report_dropped(relid);
	return rel;
}

/*
 * hash_by_oid
 *		Makes a hash table of about n entries that begin with the OID of a table, in a memory context;
 *		NULL: it lasts as long as the process.
 */
HTAB *
hash_by_oid(const char *name, long n, Size entry_size, MemoryContext cxt)
{
	return new_hash(name, n, sizeof(Oid), entry_size, cxt);
}

/*
 * hash_forget
 *		Removes from such a hash table the entry of a table, and returns it, which can be read until
 *		something is entered, or NULL if there was none; or removes all entries, if relid is
 *		InvalidOid, and returns NULL.  Does nothing if there is no hash table yet.
 */
void *
hash_forget(HTAB *entries, Oid relid)
{
	HASH_SEQ_STATUS seq;
	Oid		   *entry;

	if (entries == NULL)
		return NULL;
	if (OidIsValid(relid))
		return hash_search(entries, &relid, HASH_REMOVE, NULL);
	hash_seq_init(&seq, entries);
	while ((entry = hash_seq_search(&seq)) != NULL)
		hash_search(entries, entry, HASH_REMOVE, NULL);
	return NULL;
}

/* subscriptions_of: returns the OIDs of the subscriptions of this database that write a table */
List *
subscriptions_of(Oid relid)
{
	CatalogScan scan = catalog_scan_begin(SubscriptionRelRelationId, SubscriptionRelSrrelidSrsubidIndexId,
										  Anum_pg_subscription_rel_srrelid, relid, NULL);
	List	   *result = NIL;
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = catalog_scan_next(&scan)))
		result = lappend_oid(result, ((Form_pg_subscription_rel) GETSTRUCT(tuple))->srsubid);
	catalog_scan_end(&scan);
	return result;
}

/*
 * tablespace_of
 *		Returns the name of a table's tablespace, that of the database if the table names
 *		none.
 */
char *
tablespace_of(Relation rel)
{
	return get_tablespace_name(OidIsValid(rel->rd_rel->reltablespace) ?
							   rel->rd_rel->reltablespace : MyDatabaseTableSpace);
}

/*
 * in_tablespace
 *		Returns SQL that names a tablespace after the words of clause, or nothing for
 *		the database's own, which must not be named for a partitioned table.
 *
 * What is created without a name is in the database's own tablespace, as
 * default_tablespace does not apply under AS_OWNER().
 */
char *
in_tablespace(const char *clause, const char *name)
{
	return get_tablespace_oid(name, false) == MyDatabaseTableSpace ? "" :
		psprintf(" %s %s", clause, quote_identifier(name));
}

/*
 * is_identity_index
 *		Returns whether an index is the one by which the entries of an index table are found, as far as
 *		its kind tells: that of the primary key if the index table is sparse, else that of a constraint
 *		UNIQUE NULLS NOT DISTINCT.
 */
bool
is_identity_index(Relation index, bool sparse)
{
	Form_pg_index form = index->rd_index;

	return sparse ? form->indisprimary :
		form->indisunique && form->indnullsnotdistinct && form->indimmediate &&
		OidIsValid(get_index_constraint(RelationGetRelid(index)));
}

/*
 * open_identity_index
 *		Opens the index by which the entries of an index table are found; returns NULL if
 *		there is no valid one.
 */
Relation
open_identity_index(Relation rel, bool sparse)
{
	foreach_oid(index_oid, RelationGetIndexList(rel))
	{
		Relation	index = index_open(index_oid, AccessShareLock);

		if (index->rd_index->indisvalid && is_identity_index(index, sparse))
			return index;
		index_close(index, AccessShareLock);
	}
	return NULL;
}

/*
 * open_primary_key
 *		Opens the index of a table's primary key; returns NULL if there is no valid one.
 */
Relation
open_primary_key(Relation rel)
{
	return open_identity_index(rel, true);
}

/* get_equality_operator: returns the operator "=" of a type's default btree operator class */
Oid
get_equality_operator(Oid type)
{
	/*
	 * The type cache remembers it, while GetDefaultOpClass() would read the
	 * catalog each time.
	 */
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY);

	return get_opfamily_member(entry->btree_opf, entry->btree_opintype, entry->btree_opintype,
							   BTEqualStrategyNumber);
}

/*
 * equality_sql
 *		Returns SQL that compares two expressions of a type by its equality operator; if any is
 *		set, the second one is an array, of which an element is to be equal.
 *
 * Where others may create operators in the schema of this one, both are cast to the types for which
 * it is declared: no other operator fits better then.
 */
char *
equality_sql(const char *left, const char *right, Oid type, bool any)
{
	Oid			operator = get_equality_operator(type);
	HeapTuple	tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(operator));
	Form_pg_operator form;
	char	   *result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator %u", operator);
	form = (Form_pg_operator) GETSTRUCT(tuple);
	if (form->oprnamespace != PG_CATALOG_NAMESPACE)
	{
		left = as_operand(left, type, form->oprleft, "");
		right = as_operand(right, type, form->oprright, any ? "[]" : "");
	}
	result = psprintf(any ? "%s OPERATOR(%s.%s) ANY (%s)" : "%s OPERATOR(%s.%s) %s", left,
					  quote_identifier(get_namespace_name(form->oprnamespace)), NameStr(form->oprname), right);
	ReleaseSysCache(tuple);
	return result;
}

/*
 * as_operand
 *		Returns an expression of a type, or of its arrays, cast to the type for which an
 *		operator is declared.
 */
static const char *
as_operand(const char *expression, Oid type, Oid declared, const char *suffix)
{
	if (type == declared || IsPolymorphicType(declared))
		return expression;
	return psprintf("%s::%s%s", expression,
					format_type_extended(declared, -1, FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY),
					suffix);
}

/*
 * prepare_sort
 *		Prepares to compare values of a type in its own order, with abbreviations if so asked;
 *		*sort is zeroed.
 */
void
prepare_sort(SortSupport sort, Oid type, Oid collation, bool abbreviate)
{
	sort->ssup_cxt = CurrentMemoryContext;
	sort->ssup_collation = collation;
	sort->abbreviate = abbreviate;
	PrepareSortSupportFromOrderingOp(lookup_type_cache(type, TYPECACHE_LT_OPR)->lt_opr, sort);
}

/*
 * init_equality_key
 *		Initializes a scan key that finds values equal to its argument, which is to be
 *		set later; what it refers to lives in cxt.
 */
void
init_equality_key(ScanKey key, AttrNumber attno, Oid type, Oid collation, MemoryContext cxt)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);

	ScanKeyEntryInitialize(key, 0, attno, BTEqualStrategyNumber, InvalidOid, collation,
						   get_opcode(get_equality_operator(type)), (Datum) 0);
	MemoryContextSwitchTo(old);
}

/*
 * same_columns
 *		Returns whether two tables have columns of the same types, and the same ones dropped.
 */
bool
same_columns(TupleDesc a, TupleDesc b)
{
	if (a->natts != b->natts)
		return false;
	for (int i = 0; i < a->natts; i++)
	{
		Form_pg_attribute x = TupleDescAttr(a, i);
		Form_pg_attribute y = TupleDescAttr(b, i);

		if (x->attisdropped != y->attisdropped ||
			(!x->attisdropped && (x->atttypid != y->atttypid || x->atttypmod != y->atttypmod)))
			return false;
	}
	return true;
}

/*
 * has_table_dependency
 *		Returns whether a table is dropped with the table on.
 *
 * Neither a dump nor pg_upgrade carries that over.
 */
bool
has_table_dependency(Oid relid, Oid on)
{
	return find_table_dependencies(relid, is_on_table, &on, false);
}

/*
 * record_table_dependency
 *		Makes a table depend on another, so that it is dropped with it, as an index would be.
 */
void
record_table_dependency(Oid relid, Oid other)
{
	ObjectAddress object;
	ObjectAddress on;

	ObjectAddressSet(object, RelationRelationId, relid);
	ObjectAddressSet(on, RelationRelationId, other);
	recordDependencyOn(&object, &on, DEPENDENCY_AUTO);
}

/*
 * find_table_dependencies
 *		Returns whether a table has dependencies for which matches() returns true, and
 *		deletes these if forget is set.
 *
 * arg is passed on to matches().
 */
bool
find_table_dependencies(Oid relid, bool (*matches) (Form_pg_depend form, void *arg), void *arg, bool forget)
{
	LOCKMODE	mode = forget ? RowExclusiveLock : AccessShareLock;
	Relation	rel = table_open(DependRelationId, mode);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found = false;

	ScanKeyInit(&keys[0], Anum_pg_depend_classid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_objid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, DependDependerIndexId, true, NULL, 2, keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		if (!matches((Form_pg_depend) GETSTRUCT(tuple), arg))
			continue;
		found = true;
		if (forget)
			CatalogTupleDelete(rel, &tuple->t_self);
	}
	systable_endscan(scan);
	table_close(rel, mode);
	return found;
}

static bool
is_on_table(Form_pg_depend form, void *table)
{
	return form->deptype == DEPENDENCY_AUTO && form->refclassid == RelationRelationId &&
		form->refobjid == *(Oid *) table;
}

/*
 * can_read_blocks
 *		Returns whether all pages of a table, without TOAST and indexes, can be read and look
 *		like pages.
 */
bool
can_read_blocks(Oid relid)
{
	ErrorData  *error = run_catching_errors(read_blocks, &relid);

	if (error == NULL)
		return true;
	if (!is_damage(error))
		ReThrowError(error);
	FreeErrorData(error);
	return false;
}

/* read_blocks: reads the pages of a table, or raises an error; for run_catching_errors() */
static void
read_blocks(void *arg)
{
	Relation	rel = relation_open(*(Oid *) arg, AccessShareLock);
	BlockNumber n = RelationGetNumberOfBlocks(rel);
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);

	for (BlockNumber block = 0; block < n; block++)
	{
		CHECK_FOR_INTERRUPTS();
		ReleaseBuffer(ReadBufferExtended(rel, MAIN_FORKNUM, block, RBM_NORMAL, strategy));
	}
	FreeAccessStrategy(strategy);
	relation_close(rel, NoLock);
}

/* is_damage: returns whether an error says that a table or an index is damaged */
bool
is_damage(ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_DATA_CORRUPTED || error->sqlerrcode == ERRCODE_INDEX_CORRUPTED;
}
