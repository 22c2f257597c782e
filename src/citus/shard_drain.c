/*-------------------------------------------------------------------------
 *
 * shard_drain.c
 *	  Drains the queue of a distributed fact table, as far as it is on this node: one batch of
 *	  keys from all shards that are here, in one transaction.
 *
 * Why index tables converge, whatever the interleaving, as the file comment of drain.c argues for
 * those on one server.  A row belongs to one shard.  What is needed is that the drains of a shard
 * come one after the other, that each sees all entries that those before it have written, and that
 * it consumes a key only if it sees the change that the key is of.
 *
 * 1. A shard is drained only by the node that has it, and never by two transactions at a time.
 *	  On a node, the lock on the queue table sees to that, which is an empty table there (drain.c).
 *	  It also keeps the positions of shards as they are, by which Citus locks metadata: a session
 *	  that adds shards locks this table. A move and a split of a shard lock its metadata exclusively
 *	  before the shard is on another node, or is other shards, and keep the lock until all nodes
 *	  know.  A drain locks the metadata of its shards first, which waits for such a command, and
 *	  only then looks whether they are here. So a shard that it finds here stays here until it has
 *	  ended.  Without the lock it might read the old copy of a row, and write its entry after the
 *	  new node has written that of the new one.
 *
 * 2. A change and its key are written to two shards of the same node by one transaction, so one
 *	  snapshot, which is taken under these locks, sees both or neither of them, also while that
 *	  transaction is only prepared.  Copies of the shards are made of both together.  A key that was
 *	  deleted by a drain is deleted in the copy, too, as it was deleted before the metadata were
 *	  locked for the move, or not at all.
 *
 * 3. Entries are written through Citus to shards on any node, in one transaction with the deletion
 *	  of the keys here.  Citus commits it in two phases: it prepares what was done on other nodes,
 *	  commits here, and then commits the prepared transactions, all before the locks of 1 are
 *	  released.  But a node or a connection can fail in between.  Then a prepared transaction is left
 *	  in doubt on another node, although the drain has ended, and a later drain of the same row would
 *	  not see the entries that it has written: these would stay for ever.  So before a drain reads
 *	  entries on a node it has this node look which prepared transactions hold locks on shards of the index
 *	  tables there, and wait until those that could be of its shards have ended.  If they do not
 *	  end soon, the batch is left for later.  What comes after it need not be waited for: it is not of
 *	  these shards, because of 1.  The other nodes need not be asked before: a transaction has prepared on a node
 *	  all that it has written there.  All of it was prepared before this drain had the locks of 1, and
 *	  the entries are read with a snapshot that is taken after the look.  The snapshot with which this drain
 *	  reads rows and keys may be older than the look: an earlier drain has committed its keys, or never will.
 *
 *	  A few rows are searched for by one call for each node, which looks, locks the shards that it has and
 *	  reads them (entries_here()).  The nodes say which shards these were, and together they have to be
 *	  all.  For many rows all nodes are asked first, and then Citus reads the shards (fetch_distributed_entries()).
 *
 *	  The transactions of earlier drains on this node bear its number in their names, and only these
 *	  are waited for as long as a shard stays here.  When a shard is met for the first time, those of
 *	  all nodes are, because another node may have drained it before.
 *
 * 4. Citus does not always need two phases: with a single statement for one shard, it would commit
 *	  that on the other node first, and here afterwards.  If the answer got lost, the keys would be
 *	  here again while the other node has still to commit, with nothing prepared that could be seen.
 *	  So each drain begins with a statement that changes a shard of this node through Citus (it deletes
 *	  nothing), which makes Citus use two phases.  A transaction that was to be prepared when its node
 *	  or this one failed leaves no trace: where no commit is recorded here, Citus rolls it back.
 *
 * An error or a crash before the commit here brings the keys back and undoes the entries, and after
 * it Citus completes the entries, from the record that it has committed with them.
 *
 * 5. Citus would move a shard of an index table although a transaction on it is in doubt, and lose what
 *	  that has written.  So the transactions on other nodes lock the metadata of these shards, too, as long
 *	  as they are in doubt: see fetch_distributed_entries().
 *
 * 6. A transaction that has read a shard on another node goes on to write there after a move has ended, as
 *	  Citus keeps the connection by the number of the placement, which a move leaves as it is on all nodes
 *	  but the coordinator.  What it writes is lost with the old copy.  So a drain locks the shards of the
 *	  index tables on its own node before it reads any of them.
 *
 * 7. A node may be down. If it has shards of the index tables, a drain leaves it out: it makes the
 *	  entries on all other nodes what they should be, by the same steps, but deletes no key. Each key that
 *	  it takes is held, which means that it gets another number, in the same transaction as the entries.
 *	  Held keys are not taken as long as such a node is left out, and as all others as soon as none is. So
 *	  it is as before: a key is consumed only by a drain that sees its change, has read all shards, and
 *	  has written to all. For that drain the entries are as those before it have left them, and it makes
 *	  no difference that these have written some of the entries already. Until then nothing is wrong but
 *	  entries on nodes that are left out, and only those of rows whose keys are held.
 *
 *	  Nothing depends on whether the node is down. Which ones are left out is settled before shards are
 *	  locked, once for the whole transaction, so that one which comes back meanwhile, or is reached by all
 *	  nodes but this one, gets its entries later. Which shards it has is told by Citus' catalog on this
 *	  node, as 6 has it locked: a move can end only after the drain. With those that the other nodes have
 *	  read, they are all, once each.
 *
 *	  Such a drain does not wait for what other nodes have prepared, which it would have to for shards
 *	  that it meets (3), because the node that is down does not end it. It may miss entries that appear
 *	  later. If the row has changed since, its key is held, and the drain that consumes it waits, as the
 *	  shards count as met only then; if not, they are right.
 *
 *	  A held key is about the same row, and as old. wait() looks for it under both numbers
 *	  (numbers_queued()), and so does what makes an index table active (is_applied()); verify() does not
 *	  report its row; it is moved and split with its shard. Rejected rows that are due are left for later:
 *	  if one was applied without a key, nobody would know that it has to be applied again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../queue/queue.h"
#include "../util/as_owner.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "../util/wait_point.h"
#include "citus.h"

static Oid	shard_with_key(void *reconciliation, Datum *key);
static void leave_out_strangers(FactDef *def, List *shards, Keys *keys);
static bool left_out_matter(Reconciliation *r);
static List *lock_shards(FactDef *def);
static void add_due_keys(FactDef *def, List *shards, Keys *keys);
static int	unite_equal_keys(FactDef *def, Datum *keys, int n);
static void use_two_phases(FactDef *def, Datum *key, int column);
static void finish_building(FactDef *def, int *again);
static void find_applied(void *building);
static bool is_applied(FactDef *def, int64 number);

/* An index table that is being built, and whether all of its entries have been written. */
typedef struct Building
{
	IndexDef   *def;
	bool		applied;
} Building;

/*
 * shard_drain_begin
 *		Locks the shards on this node that have something queued, and takes the snapshot with which a
 *		batch is drained; returns false if there are none.
 */
bool
shard_drain_begin(Drain *drain)
{
	Reconciliation *r = &drain->rows;
	List	   *shards;

	queue_write();
	use_one_connection();
	nodes_left_out = nodes_down(&drain->again);
	holding_keys = nodes_left_out != NIL && left_out_matter(r);
	if (nodes_left_out == NIL)
		finish_building(r->def, &drain->again);
	AS_OWNER(get_extension_owner());
	{
		shards = lock_shards(r->def);
	}
	END_AS_OWNER();
	if (shards == NIL)
		return false;
	AS_OWNER(r->def->owner);
	{
		for (int i = r->from; i < r->to && !guard_is_left_out("the lock of the index tables' shards"); i++)
			citus_lock_table(r->def->defs[i]->relid);
	}
	END_AS_OWNER();
	r->leaf_of = shard_with_key;
	r->leaves = shards;
	r->snapshot = snapshot_of_shards(r->def, shards);
	return true;
}

/* left_out_matter: returns whether nodes that are left out have shards of the index tables */
static bool
left_out_matter(Reconciliation *r)
{
	List	   *tables = NIL;

	for (int i = r->from; i < r->to; i++)
		tables = lappend_oid(tables, r->def->defs[i]->relid);
	return list_intersection_int(groups_with_shards(tables), nodes_left_out) != NIL;
}

/*
 * shard_drain_take
 *		Takes at most as many keys as a batch may have, and those of rejected rows that are
 *		due.
 */
void
shard_drain_take(Drain *drain)
{
	Reconciliation *r = &drain->rows;
	List	   *shards = r->leaves;
	Keys		keys = {.def = r->def,.limit = drain->limit};

	read_shard_keys(r->def, shards, r->snapshot, &keys);

	/*
	 * Logical replication, by which Citus moves shards, does not wait for
	 * others.
	 */
	ForceSyncCommit();
	CommandCounterIncrement();
	/* Nothing would say that a rejected row has to be applied once more. */
	if (!holding_keys)
		add_due_keys(r->def, shards, &keys);
	drain->n = Min(keys.n, drain->limit);
	((DrainPosition *) drain->arg)->taken = drain->n;
	leave_out_strangers(r->def, shards, &keys);
	if (keys.n == 0)
		return;
	r->keys = keys.values;
	r->n = unite_equal_keys(r->def, r->keys, sort_keys(r->def, keys.values, keys.n));
	AS_OWNER(get_extension_owner());
	{
		use_two_phases(r->def, r->keys, ((ShardPair *) linitial(shards))->column);
	}
	END_AS_OWNER();
}

/*
 * leave_out_strangers
 *		Leaves out keys of rows that belong to none of the shards: a role with the right to insert rows can put
 *		some into another shard than their own, by hand.
 *
 * No query finds such a row by its key, and the entries of this key are those of the row in its own shard.
 */
static void
leave_out_strangers(FactDef *def, List *shards, Keys *keys)
{
	int			npk = def->layout.npk;
	int			n = 0;

	for (int i = 0; i < keys->n; i++)
	{
		Datum	   *key = keys->values + (Size) i * npk;

		if (shard_of_key(shards, def, key) == NULL)
			continue;
		if (n < i)
			memcpy(keys->values + (Size) n * npk, key, sizeof(Datum) * npk);
		n++;
	}
	keys->n = n;
}

/*
 * shard_with_key
 *		Returns the shard that has the row with a primary key, or the partition of it; one of those that are
 *		drained has to.
 */
static Oid
shard_with_key(void *reconciliation, Datum *key)
{
	Reconciliation *r = reconciliation;
	ShardPair  *pair = shard_of_key(r->leaves, r->def, key);

	if (pair == NULL)
		elog(ERROR, "a key of table \"%s\" belongs to none of the shards that are drained", r->def->name);
	return leaf_of_shard(r->def, pair->fact, key);
}

/*
 * lock_shards
 *		Lists the shards on this node that have something queued (ShardPair *), and locks them against
 *		being moved.
 */
static List *
lock_shards(FactDef *def)
{
	List	   *shards = shards_with_queues(def);
	List	   *present;
	List	   *result = NIL;
	bool		due = false;

	for (int i = 0; i < def->ndefs && !holding_keys; i++)
		due |= catalog_has_rejections(def->defs[i]->relid);
	foreach_ptr(ShardPair, pair, shards)
	{
		if (!due && !shard_queue_has_rows(def, pair->queue, !holding_keys))
			shards = foreach_delete_current(shards, pair);
	}
	if (shards == NIL)
		return NIL;
	if (!guard_is_left_out("the lock of the shard's metadata"))
		citus_lock_shards(shards);
	present = shards_with_queues(def);
	foreach_ptr(ShardPair, shard, shards)
	{
		foreach_ptr(ShardPair, other, present)
		{
			if (other->fact_shard == shard->fact_shard && other->queue_shard == shard->queue_shard &&
				other->min == shard->min && other->max == shard->max)
			{
				citus_require_pair(other, def->relid);
				result = lappend(result, other);
			}
		}
	}
	return result;
}

/* add_due_keys: adds the keys of rejected rows that are due and in one of the shards */
static void
add_due_keys(FactDef *def, List *shards, Keys *keys)
{
	List	   *due = rejections_due(def);

	if (due == NIL)
		return;
	keys->values = repalloc_huge(keys->values, sizeof(Datum) * def->layout.npk * (keys->limit + list_length(due)));
	foreach_ptr(Datum, key, due)
	{
		if (shard_of_key(shards, def, key) == NULL)
			continue;
		memcpy(keys->values + (Size) keys->n * def->layout.npk, key, sizeof(Datum) * def->layout.npk);
		keys->n++;
	}
}

/*
 * unite_equal_keys
 *		Leaves out of n keys in order all but one of those that are equal, though their bytes may not
 *		be, and returns how many are left: the entries of a row are to be inserted once.
 */
static int
unite_equal_keys(FactDef *def, Datum *keys, int n)
{
	int			left = 1;
	int			k;

	for (int i = 1; i < n; i++)
	{
		Datum	   *a = keys + (Size) (left - 1) * def->layout.npk;
		Datum	   *b = keys + (Size) i * def->layout.npk;

		for (k = 0; k < def->layout.npk; k++)
			if (!DatumGetBool(FunctionCall2Coll(&def->layout.pk_keys[k].sk_func,
												def->layout.pk_keys[k].sk_collation, a[k], b[k])))
				break;
		if (k < def->layout.npk)
			memmove(keys + (Size) left++ * def->layout.npk, b, sizeof(Datum) * def->layout.npk);
	}
	return left;
}

/* use_two_phases: has Citus commit this transaction in two phases, whatever else it writes */
static void
use_two_phases(FactDef *def, Datum *key, int column)
{
	Oid			type = TupleDescAttr(def->queue.desc, QUEUE_KEY - 1 + column)->atttypid;

	/*
	 * Citus makes a constant of the value, in SQL that the owner of the queue
	 * runs. On this node, the name of the type may be that of a domain.
	 */
	if (calls_code_of_owner(type))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" cannot have asynchronous index tables", def->name),
				 errdetail("In the queue, its primary key has values of a domain or a composite type, or with one within, for which code of its owner may be called."),
				 errhint("Drop these index tables.")));
	/* No row has this number. */
	(void) query_with(InvalidOid,
					  psprintf("DELETE FROM %s WHERE key%d = $1 AND number = 0",
							   quoted_relation(def->queue.current), column + 1),
					  1, &type, &key[column]);
}

/*
 * finish_building
 *		Makes index tables active whose entries have all been written.  Each node does so for itself.
 */
static void
finish_building(FactDef *def, int *again)
{
	for (int i = 0; i < def->ndefs; i++)
	{
		Building	building = {.def = def->defs[i]};
		ErrorData  *error;

		if (def->defs[i]->active || !is_building(def->defs[i]->relid))
			continue;
		error = run_catching_errors(find_applied, &building);
		if (error != NULL)
		{
			suspect_nodes_after(error);
			ReThrowError(error);
		}
		if (building.applied)
		{
			catalog_set_state(def->defs[i]->relid, STATE_ACTIVE, NULL);
			CacheInvalidateRelcacheByRelid(def->relid);
		}
		else
			*again = MIN_BACKOFF;
	}
}

/*
 * find_applied
 *		Looks whether all entries of an index table have been written; for run_catching_errors().
 */
static void
find_applied(void *building)
{
	Building   *b = building;

	AS_OWNER(get_extension_owner());
	{
		b->applied = is_applied(b->def->fact, guard_number(b->def->relid));
	}
	END_AS_OWNER();
}

/*
 * is_applied
 *		Returns whether all keys are applied that were queued under a number, as every node sees it.
 *
 * The transaction that has queued them may be committed here and only prepared elsewhere, so that
 * is waited for before the queue is looked at.  Those that have applied them may be, too, and since
 * then: a drain has committed the end of its keys before its entries on other nodes.
 */
static bool
is_applied(FactDef *def, int64 number)
{
	bool		applied;

	wait_for_prepared(def, GIDS_OF_ALL_NODES);
	applied = query_as(InvalidOid, "SELECT FROM %s WHERE number IN (" INT64_FORMAT ", " INT64_FORMAT ") LIMIT 1",
					   quoted_relation(def->queue.current), number, held_number(number))
		.n == 0;
	if (applied)
		wait_for_prepared(def, GIDS_OF_ALL_NODES);
	return applied;
}
