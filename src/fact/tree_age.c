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
 * The transactions are read once and cached.  After news of a table without partitions its
 * own row is read again; after news of one with partitions, all rows.  A session hears of
 * news when it takes a lock.  If it has not heard of a change yet, it is as if it had asked
 * before the change.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_inherits.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "../indextable.h"
#include "../util/inherit.h"
#include "../util/memory.h"
#include "../util/relation.h"
#include "../util/subxact.h"
#include "fact.h"

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
static List *read_by_entries = NIL; /* partitioned tables; see
									 * note_read_by_entries() */

static void relation_changed(Oid relid);
static void forget_tree(Tree *tree);
static void read_tree(Tree *tree);
static void enter_member(Tree *tree, Oid relid);
static void read_changed(Tree *tree);
static bool read_table(Tree *tree, Oid relid);
static List *read_partitions(Tree *tree, Oid parent);
static bool is_deleted(HeapTuple tuple);
static char *emptied_table(Oid relid, Snapshot snapshot, CommandId begun, bool locked);
static bool has_happened(TransactionId xid);
static void add_xid(Tree *tree, TransactionId xid);
static bool lost_rows(Oid relid, Snapshot snapshot);
static bool has_other_file(Oid relid, Snapshot snapshot);
static bool begins_with_newer_row(Oid relid, Snapshot snapshot);

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

	if (trees == NULL)
	{
		listen_to_changes(&tree_listener);
		if (members == NULL)
			members = hash_by_oid("indextable tree members", 64, sizeof(Member), NULL);
		trees = hash_by_oid("indextable trees", 16, sizeof(Tree), NULL);
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
	for (int i = 0; i < tree->nxids && !TransactionIdPrecedes(tree->xids[i], snapshot->xmin); i++)
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
 *		Reads of all tables of a tree by which transactions they were changed.  If there is news meanwhile, it is
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

	hash_seq_init(&seq, members);
	while ((member = hash_seq_search(&seq)) != NULL)
		if (member->tree == tree->relid)
			hash_search(members, &member->relid, HASH_REMOVE, NULL);
	tree->partly = false;
	tree->is_foreign = false;
	tree->nxids = 0;
	/* The list grows. */
	foreach_oid(relid, tables)
	{
		enter_member(tree, relid);
		if (read_table(tree, relid))
			tables = list_concat(tables, read_partitions(tree, relid));
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

/* read_changed: reads the ages of tables without partitions again that there was news of */
static void
read_changed(Tree *tree)
{
	uint64		news = tree->news;
	HASH_SEQ_STATUS seq;
	Member	   *member;
	List	   *changed = NIL;

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
	foreach_oid(relid, changed)
		(void) read_table(tree, relid);
	list_free(changed);
	tree->is_read = tree->news == news;
}

/*
 * read_table
 *		Notes the transaction that has written a table's row in pg_class; returns whether the table
 *		may have partitions.
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

/*
 * read_partitions
 *		Lists the partitions of a table, and notes the transactions that have attached, detached
 *		and dropped some.
 */
static List *
read_partitions(Tree *tree, Oid parent)
{
	CatalogScan scan = catalog_scan_begin(InheritsRelationId, InheritsParentIndexId, Anum_pg_inherits_inhparent,
										  parent, SnapshotAny);
	List	   *result = NIL;
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = catalog_scan_next(&scan)))
	{
		if (has_happened(HeapTupleHeaderGetXmin(tuple->t_data)))
			add_xid(tree, HeapTupleHeaderGetXmin(tuple->t_data));
		if (is_deleted(tuple))
			add_xid(tree, HeapTupleHeaderGetUpdateXid(tuple->t_data));
		else
			result = list_append_unique_oid(result, ((Form_pg_inherits) GETSTRUCT(tuple))->inhrelid);
	}
	catalog_scan_end(&scan);
	return result;
}

/*
 * is_deleted
 *		Returns whether a row of a catalog was deleted, or replaced by another version of it.
 */
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
		tree->xids = grow_array(tree->xids, &tree->max_xids, 8, sizeof(TransactionId), TopMemoryContext);
	memmove(&tree->xids[i + 1], &tree->xids[i], sizeof(TransactionId) * (tree->nxids - i));
	tree->xids[i] = xid;
	tree->nxids++;
}

/*
 * was_rewritten
 *		Returns whether a table was written anew, since a snapshot was taken, by a command that
 *		keeps no row as that snapshot sees it: REPACK (CONCURRENTLY), and extensions that work in
 *		this way.  The caller has locked the table; root is the one that it is a partition of, or
 *		it.
 *
 * Such a command copies the rows as its own, so to an older snapshot the table looks empty.
 * VACUUM FULL and CLUSTER give a table another file, too, but its rows remain those of their
 * transactions.  So the first row tells, which is not removed as long as there is such a
 * snapshot.  TRUNCATE is not counted: it forgets how many rows there were.
 */
bool
was_rewritten(Oid relid, Oid root, Snapshot snapshot)
{
	HeapTuple	tuple;
	bool		counted;

	if (snapshot->snapshot_type != SNAPSHOT_MVCC || tree_is_older(root, snapshot))
		return false;
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	if (!HeapTupleIsValid(tuple))
		return false;
	counted = ((Form_pg_class) GETSTRUCT(tuple))->relkind == RELKIND_RELATION &&
		((Form_pg_class) GETSTRUCT(tuple))->reltuples >= 0;
	ReleaseSysCache(tuple);
	return counted && has_other_file(relid, snapshot) && begins_with_newer_row(relid, snapshot);
}

/*
 * begins_with_newer_row
 *		Returns whether a table has no row, or first one that a snapshot cannot know of.
 */
static bool
begins_with_newer_row(Oid relid, Snapshot snapshot)
{
	Relation	rel = table_open(relid, AccessShareLock);
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	TableScanDesc scan = table_beginscan_compat(rel, SnapshotAny);
	TransactionId xid = InvalidTransactionId;
	bool		empty = !table_scan_getnextslot(scan, ForwardScanDirection, slot);

	if (!empty)
		xid = HeapTupleHeaderGetXmin(((HeapTupleTableSlot *) slot)->tuple->t_data);
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	table_close(rel, NoLock);
	return empty || (TransactionIdIsNormal(xid) && !TransactionIdIsCurrentTransactionId(xid) &&
					 XidInMVCCSnapshot(xid, snapshot));
}

/*
 * refuse_rewritten
 *		Raises an error for a table that was written anew in that way before it was locked to
 *		be read.
 */
void
refuse_rewritten(Relation rel, Oid root, Snapshot snapshot)
{
	if (was_rewritten(RelationGetRelid(rel), root, snapshot))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("table \"%s\" was rewritten after the snapshot was taken", RelationGetRelationName(rel)),
				 errhint("The transaction might succeed if retried.")));
}

/*
 * lock_leaves_to_read
 *		Locks and lists the tables that hold the rows of a table as a snapshot sees them;
 *		refuses rewritten ones.
 */
List *
lock_leaves_to_read(Oid relid, Snapshot snapshot)
{
	List	   *result = lock_leaves(relid, snapshot);

	foreach_oid(leaf, result)
	{
		Relation	rel = relation_open(leaf, NoLock);

		refuse_rewritten(rel, relid, snapshot);
		relation_close(rel, NoLock);
	}
	return result;
}

/*
 * lock_changed_tree
 *		Locks the partitions of a table for a query that starts, if something was done to them that
 *		its snapshot does not know of; returns whether it was.
 *
 * The query will read rows then, and sees natively what was done before it locks the partitions.
 */
bool
lock_changed_tree(Oid relid, Snapshot snapshot)
{
	if (snapshot->snapshot_type != SNAPSHOT_MVCC || tree_is_older(relid, snapshot))
		return false;
	(void) tree_of(relid, NULL, AccessShareLock, true);
	return true;
}

/*
 * refuse_truncated
 *		Raises an error if a partition of a table was emptied since a query's snapshot was taken, or
 *		written anew without counting its rows.
 *
 * Nobody but TRUNCATE and ALTER TABLE forgets how many rows an old partition had.  A REPEATABLE
 * READ transaction sees natively, too, what others have done since its snapshot was taken.  What
 * our own transaction does to a partition, also DROP TABLE, while a query of it reads that natively,
 * the server refuses at once, since the query has opened the partition: begun is the command id as
 * of its start.  With locked, others have done nothing since then: see lock_changed_tree().
 */
void
refuse_truncated(Oid relid, Snapshot snapshot, CommandId begun, bool locked)
{
	if (snapshot->snapshot_type != SNAPSHOT_MVCC || tree_is_older(relid, snapshot))
		return;
	foreach_oid(partition, tree_of(relid, snapshot, NoLock, true))
	{
		char	   *emptied = emptied_table(partition, snapshot, begun, locked);

		if (emptied != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("partition \"%s\" was truncated after the query had begun", emptied),
					 errhint("Run the query again.")));
		if (!locked && !IsolationUsesXactSnapshot() && was_rewritten(partition, relid, snapshot))
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("partition \"%s\" was rewritten after the query had begun", get_rel_name(partition)),
					 errhint("Run the query again.")));
	}
}

/* emptied_table: returns the name of a table if refuse_truncated() refuses it, or NULL */
static char *
emptied_table(Oid relid, Snapshot snapshot, CommandId begun, bool locked)
{
	HeapTuple	current = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	TransactionId xid = InvalidTransactionId;
	bool		ours = true;	/* we have changed it, or dropped it */
	bool		unknown = false;
	CatalogScan scan;
	HeapTuple	seen;
	char	   *result = NULL;

	if (HeapTupleIsValid(current))
	{
		xid = HeapTupleHeaderGetXmin(current->t_data);
		ours = TransactionIdIsCurrentTransactionId(xid);
		unknown = ((Form_pg_class) GETSTRUCT(current))->reltuples < 0 &&
			((Form_pg_class) GETSTRUCT(current))->relkind == RELKIND_RELATION;
		ReleaseSysCache(current);
	}
	if (!ours &&
		(locked || !unknown || IsolationUsesXactSnapshot() || !TransactionIdIsNormal(xid) ||
		 !XidInMVCCSnapshot(xid, snapshot)))
		return NULL;
	scan = catalog_scan_begin(RelationRelationId, ClassOidIndexId, Anum_pg_class_oid, relid, snapshot);
	seen = catalog_scan_next(&scan);
	if (HeapTupleIsValid(seen) &&
		(!ours ||
		 (is_deleted(seen) && TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(seen->t_data)) &&
		  HeapTupleHeaderGetCmax(seen->t_data) >= begun && has_other_file(relid, snapshot))))
		result = pstrdup(NameStr(((Form_pg_class) GETSTRUCT(seen))->relname));
	catalog_scan_end(&scan);
	return result;
}

/*
 * note_read_by_entries
 *		Notes that a query has read entries in place of the rows of a partitioned table, with a
 *		snapshot that its transaction keeps.
 *
 * A native plan would have locked the partitions until the end of the transaction, so that nobody
 * takes rows from them that a later query is to see.  Entries are read without that lock, however
 * many partitions there are.  So it is for a later query to find out: see check_read_by_entries().
 */
void
note_read_by_entries(Oid relid)
{
	MemoryContext old;

	if (!IsolationUsesXactSnapshot())
		return;
	old = MemoryContextSwitchTo(TopTransactionContext);
	if (read_by_entries == NIL)
		forget_at_end(&read_by_entries);
	read_by_entries = list_append_unique_oid(read_by_entries, relid);
	MemoryContextSwitchTo(old);
}

/*
 * check_read_by_entries
 *		Raises an error if a query that has locked its tables reads a table that this transaction
 *		has read by entries, and another has taken rows from it since then.
 *
 * What was done before the first of the two queries does not count: then that one has read rows,
 * as its snapshot is the same.
 */
void
check_read_by_entries(List *rtable, Snapshot snapshot)
{
	if (read_by_entries == NIL || snapshot == InvalidSnapshot || snapshot->snapshot_type != SNAPSHOT_MVCC)
		return;
	foreach_ptr(RangeTblEntry, rte, rtable)
	{
		Oid			root;

		if (rte->rtekind != RTE_RELATION)
			continue;
		root = get_rel_relispartition(rte->relid) ? registered_root(rte->relid) : rte->relid;
		if (list_member_oid(read_by_entries, root) && !tree_is_older(root, snapshot) && lost_rows(root, snapshot))
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("could not serialize access because a partition of table \"%s\" was emptied, or has left it",
							get_rel_name(root)),
					 errhint("The transaction might succeed if retried.")));
	}
}

/*
 * lost_rows
 *		Returns whether a table has lost rows that a snapshot may see: a partition has left it since
 *		the snapshot was taken, or has another file.  TRUNCATE leaves no other trace once the rows
 *		were counted again.  What our own transaction has done the snapshot sees, too.
 */
static bool
lost_rows(Oid relid, Snapshot snapshot)
{
	List	   *now = tree_of(relid, NULL, NoLock, true);

	foreach_oid(table, tree_of(relid, snapshot, NoLock, true))
	{
		if (!list_member_oid(now, table) || has_other_file(table, snapshot))
			return true;
	}
	return false;
}

/*
 * has_other_file
 *		Returns whether a table has another file than when a snapshot was taken, or was
 *		dropped.
 */
static bool
has_other_file(Oid relid, Snapshot snapshot)
{
	HeapTuple	current = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	CatalogScan scan = catalog_scan_begin(RelationRelationId, ClassOidIndexId, Anum_pg_class_oid, relid, snapshot);
	HeapTuple	tuple = catalog_scan_next(&scan);
	bool		result;

	result = !HeapTupleIsValid(current) ||
		(HeapTupleIsValid(tuple) &&
		 ((Form_pg_class) GETSTRUCT(tuple))->relfilenode != ((Form_pg_class) GETSTRUCT(current))->relfilenode);
	catalog_scan_end(&scan);
	if (HeapTupleIsValid(current))
		ReleaseSysCache(current);
	return result;
}
