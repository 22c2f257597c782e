/*-------------------------------------------------------------------------
 *
 * swap_files.c
 *	  Exchanges the files of two tables that are laid out alike, and of their
 *	  indexes.
 *
 * One of them is empty, and the other has its new contents.  Both are locked against
 * all other sessions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attmap.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/toast_internals.h"
#include "catalog/dependency.h"
#include "catalog/index.h"
#include "catalog/indexing.h"
#include "commands/tablecmds.h"
#include "utils/syscache.h"

#include "../indextable.h"
#include "../util/inherit.h"
#include "commands.h"

static bool same_index(Relation a, Relation b, int natts);
static void copy_options(Relation pg_class, Oid from, Oid to);
static void redo_toast_dependency(Oid relid, Oid toast);

/*
 * find_matching_index
 *		Returns the index of a table that is like an index of another table, which
 *		is laid out alike; InvalidOid: there is none.
 */
Oid
find_matching_index(Relation index, Relation rel)
{
	Oid			result = InvalidOid;
	List	   *indexes = RelationGetIndexList(rel);

	foreach_oid(index_oid, indexes)
	{
		Relation	other = index_open(index_oid, AccessShareLock);

		if (!OidIsValid(result) && same_index(index, other, RelationGetNumberOfAttributes(rel)))
			result = RelationGetRelid(other);
		index_close(other, AccessShareLock);
	}
	return result;
}

static bool
same_index(Relation a, Relation b, int natts)
{
	AttrMap    *map = make_attrmap(natts);

	if (!a->rd_index->indisvalid || !b->rd_index->indisvalid ||
		a->rd_index->indisprimary != b->rd_index->indisprimary)
		return false;
	for (int i = 0; i < natts; i++)
		map->attnums[i] = i + 1;
	if (!CompareIndexInfo(BuildIndexInfo(a), BuildIndexInfo(b), a->rd_indcollation,
						  b->rd_indcollation, a->rd_opfamily, b->rd_opfamily, map))
		return false;
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(a); i++)
		if (a->rd_indoption[i] != b->rd_indoption[i])
			return false;
	return true;
}

/*
 * swap_indexes
 *		Exchanges the files of the indexes that both tables have.
 *
 * An index that was created since the replacement was made is built instead, under
 * the lock that the table has.
 */
void
swap_indexes(Oid old, Oid new)
{
	Relation	old_rel = table_open(old, NoLock);
	Relation	new_rel = table_open(new, NoLock);
	List	   *indexes = RelationGetIndexList(old_rel);
	List	   *exchanges = NIL;
	List	   *builds = NIL;
	ListCell   *cell;
	ListCell   *other;

	foreach_oid(index_oid, indexes)
	{
		Relation	index = index_open(index_oid, AccessExclusiveLock);
		Oid			like = find_matching_index(index, new_rel);

		if (OidIsValid(like) && !list_member_oid(exchanges, like))
			exchanges = lappend_oid(lappend_oid(exchanges, index_oid), like);
		else
			builds = lappend_oid(builds, index_oid);
		index_close(index, NoLock);
	}
	table_close(new_rel, NoLock);
	table_close(old_rel, NoLock);
	for (cell = list_head(exchanges); cell != NULL; cell = lnext(exchanges, other))
	{
		other = lnext(exchanges, cell);
		swap_files(lfirst_oid(cell), lfirst_oid(other), -1);
	}
	foreach_oid(index_oid, builds)
		reindex_one(index_oid);
}

/*
 * swap_files
 *		Exchanges the files of two tables, or of two indexes, as CLUSTER does it with the
 *		table that it has written anew.  If the new one was not analyzed yet, it is taken to
 *		have this number of rows; -1: that is not known.
 */
void
swap_files(Oid old, Oid new, float4 rows)
{
	Relation	pg_class = table_open(RelationRelationId, RowExclusiveLock);
	HeapTuple	tuples[2];
	Form_pg_class a;
	Form_pg_class b;
	Relation	old_rel = relation_open(old, AccessExclusiveLock);
	Relation	new_rel = relation_open(new, AccessExclusiveLock);

	tuples[0] = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(old));
	tuples[1] = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(new));
	if (!HeapTupleIsValid(tuples[0]) || !HeapTupleIsValid(tuples[1]))
		elog(ERROR, "cache lookup failed for relation %u or %u", old, new);
	a = (Form_pg_class) GETSTRUCT(tuples[0]);
	b = (Form_pg_class) GETSTRUCT(tuples[1]);

#define EXCHANGE(type, field) \
	do { type swap_ = a->field; a->field = b->field; b->field = swap_; } while (0)
	EXCHANGE(RelFileNumber, relfilenode);
	EXCHANGE(Oid, reltablespace);
	EXCHANGE(Oid, reltoastrelid);
	EXCHANGE(int32, relpages);
	EXCHANGE(float4, reltuples);
	EXCHANGE(int32, relallvisible);
	EXCHANGE(TransactionId, relfrozenxid);
	EXCHANGE(MultiXactId, relminmxid);
#undef EXCHANGE
	swap_all_frozen(a, b);
	if (a->reltuples < 0)
		a->reltuples = rows;

	/*
	 * Whether changes of a file need WAL depends on whether this transaction
	 * has created the file.  It has created those of the old table, in
	 * truncate_without_replication() or with the index itself.  It has
	 * created those of the replacement if that was filled at once, and not if
	 * it was built.
	 */
	if (new_rel->rd_createSubid != InvalidSubTransactionId ||
		first_file_subid(new_rel) != InvalidSubTransactionId)
		RelationAssumeNewRelfilelocator(old_rel);
	else
	{
		RelationAssumeNewRelfilelocator(new_rel);
		forget_new_file(old_rel);
		old_rel->rd_createSubid = InvalidSubTransactionId;
	}
	relation_close(new_rel, NoLock);
	relation_close(old_rel, NoLock);

	CatalogTupleUpdate(pg_class, &tuples[0]->t_self, tuples[0]);
	CatalogTupleUpdate(pg_class, &tuples[1]->t_self, tuples[1]);
	if (a->reltoastrelid != b->reltoastrelid)
	{
		copy_options(pg_class, b->reltoastrelid, a->reltoastrelid);
		redo_toast_dependency(old, a->reltoastrelid);
		redo_toast_dependency(new, b->reltoastrelid);
	}
	table_close(pg_class, RowExclusiveLock);
	close_files(old);
	close_files(new);
	CommandCounterIncrement();
}

/*
 * copy_options
 *		Copies to a TOAST table the storage parameters that its owner may have set
 *		for another one.
 */
static void
copy_options(Relation pg_class, Oid from, Oid to)
{
	HeapTuple	source = SearchSysCache1(RELOID, ObjectIdGetDatum(from));
	HeapTuple	target = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(to));
	Datum		values[Natts_pg_class] = {0};
	bool		isnull[Natts_pg_class] = {0};
	bool		replace[Natts_pg_class] = {0};
	int			i = Anum_pg_class_reloptions - 1;

	if (HeapTupleIsValid(source) && HeapTupleIsValid(target))
	{
		values[i] = SysCacheGetAttr(RELOID, source, Anum_pg_class_reloptions, &isnull[i]);
		replace[i] = true;
		target = heap_modify_tuple(target, RelationGetDescr(pg_class), values, isnull, replace);
		CatalogTupleUpdate(pg_class, &target->t_self, target);
	}
	if (HeapTupleIsValid(source))
		ReleaseSysCache(source);
}

/* toast_tables: returns the TOAST tables of a table and its partitions */
List *
toast_tables(Oid relid)
{
	List	   *result = NIL;

	foreach_oid(table, list_with_partitions(relid))
	{
		Relation	rel = relation_open(table, NoLock);

		if (OidIsValid(rel->rd_rel->reltoastrelid))
			result = lappend_oid(result, rel->rd_rel->reltoastrelid);
		relation_close(rel, NoLock);
	}
	return result;
}

/* rename_toast_table: names a TOAST table after its table, as pg_upgrade expects it */
void
rename_toast_table(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	Oid			toast = rel->rd_rel->reltoastrelid;

	table_close(rel, NoLock);
	if (!OidIsValid(toast))
		return;
	RenameRelationInternal(toast_get_valid_index(toast, AccessExclusiveLock),
						   psprintf("pg_toast_%u_index", relid), true, true);
	RenameRelationInternal(toast, psprintf("pg_toast_%u", relid), true, false);
	CommandCounterIncrement();
}

/* redo_toast_dependency: has a TOAST table depend on the table that it belongs to by now */
static void
redo_toast_dependency(Oid relid, Oid toast)
{
	ObjectAddress object;
	ObjectAddress on;

	if (!OidIsValid(toast))
		return;
	deleteDependencyRecordsFor(RelationRelationId, toast, false);
	ObjectAddressSet(object, RelationRelationId, toast);
	ObjectAddressSet(on, RelationRelationId, relid);
	recordDependencyOn(&object, &on, DEPENDENCY_INTERNAL);
}
