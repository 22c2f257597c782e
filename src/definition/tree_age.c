/*-------------------------------------------------------------------------
 *
 * tree_age.c
 *	  Knows whether something was done to a table or its partitions, other than to their rows,
 *	  that a snapshot does not know of.
 *
 * TRUNCATE, ALTER TABLE that rewrites a table, COPY FREEZE into a new table, and partitions
 * that are attached, detached or dropped make rows appear or vanish for older snapshots, too,
 * as the catalogs are always read as they are now.  But each of these leaves its transaction in
 * the catalogs: as that of the table's row in pg_class, which TRUNCATE and rewriting write
 * for the new file, or of a row in pg_inherits, which remains there after it was deleted as long
 * as there is a snapshot that sees it.  So if all these transactions are over for a snapshot, it
 * sees in each of the tables what its transactions have written.
 *
 * VACUUM and ANALYZE change rows of pg_class in place.  Other commands write them, too, like
 * GRANT, for which the answer is no without need, until there are no older snapshots.
 *
 * The transactions are read once and cached.  News of a table that has no partitions make its
 * own row be read again; news of one that has, all.  A session hears of news when it takes a
 * lock.  If it has not heard of a change yet, it is as if it had asked before the change.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/skey.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "storage/lockdefs.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "../indextable.h"
#include "../util/inherit.h"
#include "invalidation.h"
#include "tree_age.h"

/* A table that was asked for, with its partitions. */
typedef struct Tree
{
	Oid			relid;			/* hash key */
	bool		is_read;		/* the rest is known */
	bool		partly;			/* but for tables that have changed */
	uint64		news;			/* counts the news that make all of it be read
								 * again */
	bool		is_foreign;		/* a partition is on another server */
	int			nxids;
	int			max_xids;
	TransactionId *xids;		/* that have done something to it, the newest
								 * first */
} Tree;

/* A table of such a tree. */
typedef struct Member
{
	Oid			relid;			/* hash key */
	Oid			tree;
	bool		is_parent;		/* it has partitions, or may have */
	bool		changed;		/* its row in pg_class has to be read again */
} Member;

static HTAB *trees = NULL;
static HTAB *members = NULL;

static void relation_changed(Oid relid);
static void forget_tree(Tree *tree);
static void read_tree(Tree *tree);
static void enter_member(Tree *tree, Oid relid);
static void read_changed(Tree *tree);
static bool read_table(Tree *tree, Oid relid);
static List *read_partitions(Tree *tree, Oid parent);
static bool is_deleted(HeapTuple tuple);
static bool was_partition(Oid relid, Snapshot snapshot);
static bool has_happened(TransactionId xid);
static void add_xid(Tree *tree, TransactionId xid);

static ChangeListener tree_listener = {.any_relation = relation_changed};

/*
 * tree_is_older
 *		Returns whether all that was done to a table and its partitions, other than to their
 *		rows, was done before a snapshot was taken, and by other transactions.  The caller has
 *		locked the table.  With a partition on another server the answer is always no.
 */
bool
tree_is_older(Oid relid, Snapshot snapshot)
{
	Tree	   *tree;
	bool		found;
	int			i;

	if (trees == NULL)
	{
		HASHCTL		ctl;

		listen_to_changes(&tree_listener);
		ctl.keysize = sizeof(Oid);
		ctl.entrysize = sizeof(Member);
		if (members == NULL)
			members = hash_create("indextable tree members", 64, &ctl, HASH_ELEM | HASH_BLOBS);
		ctl.entrysize = sizeof(Tree);
		trees = hash_create("indextable trees", 16, &ctl, HASH_ELEM | HASH_BLOBS);
	}
	tree = hash_search(trees, &relid, HASH_ENTER, &found);
	if (!found)
	{
		memset(tree, 0, sizeof(Tree));
		tree->relid = relid;
	}
	if (!tree->is_read)
		read_tree(tree);
	else if (tree->partly)
		read_changed(tree);
	if (tree->is_foreign)
		return false;

	/* Snapshots differ in age: another session may have exported this one. */
	for (i = 0; i < tree->nxids && !TransactionIdPrecedes(tree->xids[i], snapshot->xmin); i++)
		if (TransactionIdIsCurrentTransactionId(tree->xids[i]) || XidInMVCCSnapshot(tree->xids[i], snapshot))
			return false;
	/* What is very old is forgotten, before its number can come round again. */
	while (tree->nxids > 0 && (int32) (snapshot->xmin - tree->xids[tree->nxids - 1]) > MAX_SNAPSHOT_AGE)
		tree->nxids--;
	return true;
}

/* relation_changed: notes that a table has changed, or any table, if relid is InvalidOid */
static void
relation_changed(Oid relid)
{
	HASH_SEQ_STATUS seq;
	Member	   *member;
	Tree	   *tree;

	if (trees == NULL)
		return;
	if (OidIsValid(relid))
	{
		member = hash_search(members, &relid, HASH_FIND, NULL);
		tree = member == NULL ? NULL : hash_search(trees, &member->tree, HASH_FIND, NULL);
		if (tree == NULL)
			return;
		if (member->is_parent)
			forget_tree(tree);
		else
			member->changed = tree->partly = true;
		return;
	}
	hash_seq_init(&seq, trees);
	while ((tree = hash_seq_search(&seq)) != NULL)
		forget_tree(tree);
}

/* forget_tree: has a tree read again, also if it is being read */
static void
forget_tree(Tree *tree)
{
	tree->is_read = false;
	tree->news++;
}

/*
 * read_tree
 *		Reads of all tables of a tree who has changed them.  If there is news meanwhile, it is
 *		read again the next time; for this time it is as new as the news that this session
 *		had heard of before.
 */
static void
read_tree(Tree *tree)
{
	uint64		news = tree->news;
	List	   *tables = list_make1_oid(tree->relid);
	HASH_SEQ_STATUS seq;
	Member	   *member;
	ListCell   *cell;

	hash_seq_init(&seq, members);
	while ((member = hash_seq_search(&seq)) != NULL)
		if (member->tree == tree->relid)
			hash_search(members, &member->relid, HASH_REMOVE, NULL);
	tree->partly = false;
	tree->is_foreign = false;
	tree->nxids = 0;
	/* The list grows. */
	foreach(cell, tables)
	{
		enter_member(tree, lfirst_oid(cell));
		if (read_table(tree, lfirst_oid(cell)))
			tables = list_concat(tables, read_partitions(tree, lfirst_oid(cell)));
	}
	list_free(tables);
	tree->is_read = tree->news == news;
}

/*
 * enter_member
 *		Notes that a table belongs to a tree, before anything is read of it.  If it has been
 *		part of another tree, that one does not get its news any more.
 */
static void
enter_member(Tree *tree, Oid relid)
{
	bool		found;
	Member	   *member = hash_search(members, &relid, HASH_ENTER, &found);

	if (found && member->tree != tree->relid)
	{
		Tree	   *other = hash_search(trees, &member->tree, HASH_FIND, NULL);

		if (other != NULL)
			forget_tree(other);
	}
	member->tree = tree->relid;
	member->is_parent = true;
	member->changed = false;
}

/* read_changed: reads again who has changed the tables without partitions that there was news of */
static void
read_changed(Tree *tree)
{
	uint64		news = tree->news;
	HASH_SEQ_STATUS seq;
	Member	   *member;
	List	   *changed = NIL;
	ListCell   *cell;

	tree->is_read = false;
	tree->partly = false;
	hash_seq_init(&seq, members);
	while ((member = hash_seq_search(&seq)) != NULL)
	{
		if (member->tree != tree->relid || !member->changed)
			continue;
		changed = lappend_oid(changed, member->relid);
		member->changed = false;
	}
	foreach(cell, changed)
		(void) read_table(tree, lfirst_oid(cell));
	list_free(changed);
	tree->is_read = tree->news == news;
}

/*
 * read_table
 *		Notes who has written a table's row in pg_class; returns whether it may have
 *		partitions.
 *
 * The row is as the server caches it, so its transaction has committed, or is ours.  It may
 * be so old that the server does not know any more whether it has committed.
 */
static bool
read_table(Tree *tree, Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Member	   *member;
	char		kind;

	/* One that was dropped is not there in pg_inherits either. */
	if (!HeapTupleIsValid(tuple))
		return false;
	kind = ((Form_pg_class) GETSTRUCT(tuple))->relkind;
	add_xid(tree, HeapTupleHeaderGetXmin(tuple->t_data));
	ReleaseSysCache(tuple);
	member = hash_search(members, &relid, HASH_FIND, NULL);
	if (member != NULL)
		member->is_parent = kind == RELKIND_PARTITIONED_TABLE;
	if (kind == RELKIND_FOREIGN_TABLE)
		tree->is_foreign = true;
	return kind == RELKIND_PARTITIONED_TABLE;
}

/* read_partitions: lists the partitions of a table, and notes who has attached, detached and dropped some */
static List *
read_partitions(Tree *tree, Oid parent)
{
	Relation	rel = table_open(InheritsRelationId, AccessShareLock);
	List	   *result = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_inherits_inhparent, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(parent));
	scan = systable_beginscan(rel, InheritsParentIndexId, true, SnapshotAny, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		if (has_happened(HeapTupleHeaderGetXmin(tuple->t_data)))
			add_xid(tree, HeapTupleHeaderGetXmin(tuple->t_data));
		if (is_deleted(tuple))
			add_xid(tree, HeapTupleHeaderGetUpdateXid(tuple->t_data));
		else
			result = list_append_unique_oid(result, ((Form_pg_inherits) GETSTRUCT(tuple))->inhrelid);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return result;
}

/* is_deleted: returns whether a row of a catalog was deleted, or replaced by another version of it */
static bool
is_deleted(HeapTuple tuple)
{
	return (tuple->t_data->t_infomask & HEAP_XMAX_INVALID) == 0 &&
		!HEAP_XMAX_IS_LOCKED_ONLY(tuple->t_data->t_infomask) &&
		has_happened(HeapTupleHeaderGetUpdateXid(tuple->t_data));
}

/*
 * has_happened
 *		Returns whether a transaction has committed, or is ours.  When one that is still
 *		running commits, there will be news.
 */
static bool
has_happened(TransactionId xid)
{
	return TransactionIdIsValid(xid) &&
		(TransactionIdIsCurrentTransactionId(xid) || TransactionIdDidCommit(xid));
}

/* add_xid: notes a transaction, in order */
static void
add_xid(Tree *tree, TransactionId xid)
{
	int			i;

	if (!TransactionIdIsNormal(xid))
		return;
	for (i = 0; i < tree->nxids && TransactionIdPrecedes(xid, tree->xids[i]); i++)
		;
	if (i < tree->nxids && tree->xids[i] == xid)
		return;
	if (tree->nxids == tree->max_xids)
	{
		int			more = Max(8, tree->max_xids * 2);

		tree->xids = tree->xids == NULL ? MemoryContextAlloc(TopMemoryContext, sizeof(TransactionId) * more) :
			repalloc(tree->xids, sizeof(TransactionId) * more);
		tree->max_xids = more;
	}
	memmove(&tree->xids[i + 1], &tree->xids[i], sizeof(TransactionId) * (tree->nxids - i));
	tree->xids[i] = xid;
	tree->nxids++;
}

/*
 * truncated_partition
 *		Returns a partition of a table that another transaction has emptied since a snapshot was
 *		taken, or written anew without counting its rows; InvalidOid if there is none.
 *
 * Nobody but TRUNCATE and ALTER TABLE forgets how many rows an old partition had.
 */
Oid
truncated_partition(Oid relid, Snapshot snapshot)
{
	ListCell   *cell;

	foreach(cell, list_with_partitions(relid))
	{
		HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(lfirst_oid(cell)));
		TransactionId xid;
		bool		unknown;

		if (!HeapTupleIsValid(tuple))
			continue;
		xid = HeapTupleHeaderGetXmin(tuple->t_data);
		unknown = ((Form_pg_class) GETSTRUCT(tuple))->reltuples < 0 &&
			((Form_pg_class) GETSTRUCT(tuple))->relkind == RELKIND_RELATION;
		ReleaseSysCache(tuple);
		if (unknown && TransactionIdIsNormal(xid) && !TransactionIdIsCurrentTransactionId(xid) &&
			XidInMVCCSnapshot(xid, snapshot) && was_partition(lfirst_oid(cell), snapshot))
			return lfirst_oid(cell);
	}
	return InvalidOid;
}

/* was_partition: returns whether a table was a partition already when a snapshot was taken */
static bool
was_partition(Oid relid, Snapshot snapshot)
{
	Relation	catalog = table_open(InheritsRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	bool		found;

	ScanKeyInit(&key, Anum_pg_inherits_inhrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(catalog, InheritsRelidSeqnoIndexId, true, snapshot, 1, &key);
	found = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return found;
}
