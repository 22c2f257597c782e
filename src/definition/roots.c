/*-------------------------------------------------------------------------
 *
 * roots.c
 *	  Finds the fact table that a partition belongs to.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/hsearch.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "../catalog/definition_rows.h"
#include "../catalog/fact_rows.h"
#include "../util/inherit.h"
#include "invalidation.h"
#include "roots.h"

typedef struct Root
{
	Oid			relid;			/* hash key: any partition */
	Oid			root;			/* what root_of() returns */
} Root;

static HTAB *roots = NULL;

static void forget_roots(Oid relid);
static Oid	find_root(Oid relid, bool *detached);

static ChangeListener roots_listener = {.any_relation = forget_roots};

/*
 * root_of
 *		Returns the fact table that a table is a partition of, at whatever depth; the table
 *		itself, if it is a partition of none; or InvalidOid, if the table is being detached
 *		from its fact table, so that its rows belong to no fact table any more.
 *
 * What is cached is right for a writer that has locked the table.  The mark of a partition
 * that is being detached is set under a lock that keeps out writers of the partition, and
 * they hear of it when they have got their own lock.
 */
Oid
root_of(Relation rel)
{
	Oid			relid = RelationGetRelid(rel);
	Root	   *root;
	bool		found;
	bool		detached;
	Oid			result;

	if (!rel->rd_rel->relispartition)
		return relid;
	if (roots == NULL)
	{
		HASHCTL		ctl;

		listen_to_changes(&roots_listener);
		ctl.keysize = sizeof(Oid);
		ctl.entrysize = sizeof(Root);
		roots = hash_create("indextable roots", 64, &ctl, HASH_ELEM | HASH_BLOBS);
	}
	root = hash_search(roots, &relid, HASH_FIND, NULL);
	if (root != NULL)
		return root->root;
	result = find_root(relid, &detached);
	if (detached && result == relid && !catalog_has_fact(relid))
		result = InvalidOid;
	root = hash_search(roots, &relid, HASH_ENTER, &found);
	root->root = result;
	return result;
}

/*
 * registered_root
 *		Returns the same as root_of(), but from the catalogs, and for a table that is being
 *		detached from its fact table the table itself.
 */
Oid
registered_root(Oid relid)
{
	bool		detached;

	return find_root(relid, &detached);
}

/*
 * find_root_detached_from
 *		Returns the fact table that a table is being detached from, by itself or together
 *		with a table that it is a partition of; InvalidOid if there is none.
 */
Oid
find_root_detached_from(Oid relid)
{
	Oid			result = InvalidOid;
	bool		detached = false;
	TransactionId mark;

	while (OidIsValid(relid = tree_parent(relid, &mark)))
	{
		detached |= TransactionIdIsValid(mark);
		if (detached && catalog_has_fact(relid))
			result = relid;
	}
	return result;
}

/*
 * check_not_detached
 *		Raises a serialization error if a table that is being detached from a fact table is
 *		still part of it to the snapshot of this transaction.
 *
 * Otherwise the rows of such a table belong to no fact table, and need no entries.  But to a
 * transaction that keeps to an older snapshot they are still rows of the fact table, in
 * which the rows that it writes would lack entries.
 */
void
check_not_detached(Relation rel)
{
	Oid			relid = RelationGetRelid(rel);
	TransactionId mark;
	bool		gone = false;

	if (!IsolationUsesXactSnapshot() || !catalog_fact_in_use(find_root_detached_from(relid)))
		return;
	while (!gone && OidIsValid(relid = tree_parent(relid, &mark)))
		gone = TransactionIdIsValid(mark) && !XidInMVCCSnapshot(mark, GetActiveSnapshot());
	if (!gone)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access because partition \"%s\" is being detached",
						RelationGetRelationName(rel)),
				 errhint("The transaction might succeed if retried.")));
}

/*
 * find_root
 *		Returns the fact table that a table is a partition of, or the table itself.
 *		Partitions that are being detached do not count; *detached is set to whether one of
 *		them is in the way up from the table.
 */
static Oid
find_root(Oid relid, bool *detached)
{
	Oid			result = relid;
	TransactionId mark;

	*detached = false;
	while (OidIsValid(relid = tree_parent(relid, &mark)))
	{
		if (TransactionIdIsValid(mark))
		{
			*detached = true;
			break;
		}
		if (catalog_has_fact(relid))
			result = relid;
	}
	return result;
}

/* forget_roots: takes a table that has changed out of the cache, or all tables, if relid is InvalidOid */
static void
forget_roots(Oid relid)
{
	HASH_SEQ_STATUS seq;
	Root	   *root;

	if (roots == NULL)
		return;
	if (OidIsValid(relid))
	{
		hash_search(roots, &relid, HASH_REMOVE, NULL);
		return;
	}
	hash_seq_init(&seq, roots);
	while ((root = hash_seq_search(&seq)) != NULL)
		hash_search(roots, &root->relid, HASH_REMOVE, NULL);
}
