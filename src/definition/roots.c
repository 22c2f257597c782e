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
	Oid			relid;			/* hash key: any table */
	Oid			root;			/* see root_of() */
} Root;

static HTAB *roots = NULL;

static void forget_roots(Oid relid);
static Oid	find_root(Oid relid, bool *detached);

static ChangeListener roots_listener = {.any_relation = forget_roots};

/* forget_roots: of a table that has changed, or of all */
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

/*
 * root_of
 *		The fact table that a table is a partition of, however deep; or the table
 *		itself.  InvalidOid if its rows are nobody's any more, as it is being detached;
 *		the mark that says so is set under a lock that keeps out its writers, who hear
 *		of it when they have theirs.
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

/* registered_root: the same by the catalogs; of one that is being detached, itself */
Oid
registered_root(Oid relid)
{
	bool		detached;

	return find_root(relid, &detached);
}

/* find_root: the fact table that a table is part of, or itself; *detached: whether it is being detached from another */
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

/* find_root_detached_from: the fact table that a table is being detached from, directly or with its parent; InvalidOid: none */
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
 *		Rows of a partition that is being detached are of no concern, but where the
 *		transaction's snapshot is from before that: to it they are still those of the
 *		fact table, and what it writes would lack entries.
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
