/*-------------------------------------------------------------------------
 *
 * at_commit.c
 *	  Tells everybody that collects something in a transaction that it ends, or that a
 *	  subtransaction of it ends.
 *
 * No other file registers callbacks for these events, because the order matters before a
 * commit:
 *
 * - Index tables are completed first, but for entries that were put off.  Code of users
 *   that this calls, in an index on an index table or in an event trigger, may still change
 *   fact tables, and so queue changes.
 * - Then the queue writes all changes that were collected.  From now on it writes at once
 *   what is queued.
 * - Then the snapshot that was taken together with other servers is released, which waits for
 *   them.
 * - Entries that are too long for a primary key come last, as this locks index tables against
 *   their readers.  The code in an index on such a table may still queue changes, or take
 *   another snapshot.
 *
 * At all other events each of them looks after its own data only, so that the order does
 * not matter.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/sysattr.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/snapmgr.h"

#include "../apply/apply.h"
#include "../definition/definition.h"
#include "../fetch/fetch.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/as_owner.h"
#include "../util/lock.h"
#include "../util/subxact.h"
#include "../util/time_limit.h"
#include "maintain.h"

static void at_xact_event(XactEvent event, void *arg);
static void at_subxact_event(SubXactEvent event, SubTransactionId sub,
							 SubTransactionId parent, void *arg);
static void write_again(SharedKey *key);
static bool is_key_of(SharedKey *key, FactDef *def, Relation fact);
static bool is_ours(TupleTableSlot *stored);
static void write_shared_keys(void);

/* at_commit_init: registers the callbacks, once, when the library is loaded */
void
at_commit_init(void)
{
	RegisterXactCallback(at_xact_event, NULL);
	RegisterSubXactCallback(at_subxact_event, NULL);
}

static void
at_xact_event(XactEvent event, void *arg)
{
	Oid			locked;			/* owner of index tables that are locked */

	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			check_roles(1);
			is_committing = true;
			write_shared_keys();
			batch_write_all();
			if (event == XACT_EVENT_PRE_PREPARE)
				refuse_to_prepare_put_off();
			queue_before_commit();
			elsewhere->snapshots->release();
			refuse_to_stay();

			/*
			 * Making a primary key anew locks the index table against
			 * readers, and a prepared transaction would keep that lock until
			 * it is committed.
			 */
			if (event == XACT_EVENT_PRE_COMMIT)
				uncover_keys_at_commit(true, InvalidOid);
			locked = put_off_apply_all();
			if (event == XACT_EVENT_PRE_COMMIT)
			{
				uncover_keys_at_commit(false, locked);
				(void) put_off_apply_all();
			}
			elsewhere->snapshots->release();
			refuse_to_stay();

			/*
			 * No code of users runs from here on.  The server has closed
			 * cursors before, and not those that such code has left open.
			 */
			is_committing = false;
			(void) PreCommit_Portals(event == XACT_EVENT_PRE_PREPARE);
			time_limit_suspend();
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			is_committing = false;
			if (event != XACT_EVENT_ABORT)
				time_limit_resume();
			batch_at_end_of_transaction();
			put_off_at_end();
			table_writer_at_end_of_transaction();
			locks_are_released();
			queue_at_end(event == XACT_EVENT_COMMIT);
			elsewhere->feeds->at_end(event == XACT_EVENT_COMMIT);
			elsewhere->snapshots->forget();
			in_step_at_end();
			forget_roles(1);
			break;
		case XACT_EVENT_PARALLEL_ABORT:
			forget_roles(1);
			break;
		default:
			break;
	}
	forget_truncating();
}

static void
at_subxact_event(SubXactEvent event, SubTransactionId sub, SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_START_SUB)
		time_limit_check();
	else if (event == SUBXACT_EVENT_PRE_COMMIT_SUB)
	{
		check_roles(GetCurrentTransactionNestLevel());
		queue_before_subcommit();
	}
	else if (event == SUBXACT_EVENT_COMMIT_SUB)
	{
		batch_at_commit_to(parent);
		put_off_at_commit_to(parent);
		queue_at_commit_to(parent);
		release_empty_context();
	}
	else if (event == SUBXACT_EVENT_ABORT_SUB)
	{
		forget_roles(GetCurrentTransactionNestLevel());
		locks_are_released();
		batch_at_abort_of(sub);
		put_off_at_abort_of(sub);
		queue_at_abort_of(sub);
		elsewhere->feeds->at_abort_of(sub);
		elsewhere->snapshots->at_abort_of_sub();
		forget_truncating();
		in_step_at_abort_of(sub);
	}
}

/*
 * left_for_commit
 *		Returns how much was left to be written before the transaction commits, which only grows while a
 *		subtransaction is under way.
 */
int
left_for_commit(void)
{
	return count_shared_keys() + batches_pending(InvalidOid) + count_put_off();
}

/*-------------------------------------------------------------------------
 * Writes once more, before the transaction ends, the entries of rows that shared
 * their primary key with another row.  apply/deferrable_key.c says why.
 *-------------------------------------------------------------------------
 */

/* write_shared_keys: writes the entries of the rows under all primary keys that were noted */
static void
write_shared_keys(void)
{
	List	   *keys = take_shared_keys();
	MemoryContext cxt;

	if (keys == NIL)
		return;
	cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable shared key", ALLOCSET_DEFAULT_SIZES);
	foreach_ptr(SharedKey, key, keys)
	{
		MemoryContext old = MemoryContextSwitchTo(cxt);
		bool		pushed = push_missing_snapshot();

		CHECK_FOR_INTERRUPTS();
		write_again(key);
		if (pushed)
			PopActiveSnapshot();
		MemoryContextSwitchTo(old);
		MemoryContextReset(cxt);
	}
	MemoryContextDelete(cxt);
}

/*
 * write_again
 *		Writes the entries of the row under a primary key as if they were new, if this
 *		transaction has written the row.  Values that cannot be in an entry were
 *		reported when the row was written.
 */
static void
write_again(SharedKey *key)
{
	Relation	fact = try_relation_open(key->fact, RowExclusiveLock);
	FactDef    *def;
	LiveScan	scan;
	OpSet	   *set;

	if (fact == NULL)
		return;
	do
	{
		def = definition_for_writer(fact, key->fact);
	} while (is_key_of(key, def, fact) && !batch_lock(def));

	/*
	 * If the fact table has another primary key by now, its index tables are
	 * new, and were filled from the rows.
	 */
	if (!is_key_of(key, def, fact) || def->nsync == 0)
	{
		relation_close(fact, NoLock);
		return;
	}
	definition_hold(def, CurrentMemoryContext);
	live_scan_begin(&scan, def, fact, SnapshotSelf, NULL);
	for (TupleTableSlot *row = live_scan_first(&scan, key->values); row != NULL; row = live_scan_next(&scan))
	{
		if (scan.current->source != NULL || !is_ours(scan.current->stored))
			continue;
		set = batch_get_set(def);
		batch_add_row(def, row, true, false, set->lists, set->cxt);
		batch_row_done(def);
	}
	live_scan_end(&scan);
	relation_close(fact, NoLock);
}

/*
 * is_key_of
 *		Returns whether the fact table still has the primary key that it had when the key was
 *		noted.
 */
static bool
is_key_of(SharedKey *key, FactDef *def, Relation fact)
{
	bool		same = def->layout.npk == key->n;

	for (int i = 0; same && i < key->n; i++)
		same = def->layout.pk_attno[i] == key->attno[i] &&
			TupleDescAttr(RelationGetDescr(fact), def->layout.pk_attno[i] - 1)->atttypid == key->types[i];
	return same;
}

/* is_ours: returns whether this transaction has written the row version that a scan has found */
static bool
is_ours(TupleTableSlot *stored)
{
	bool		isnull;
	Datum		xmin = slot_getsysattr(stored, MinTransactionIdAttributeNumber, &isnull);

	return TransactionIdIsCurrentTransactionId(DatumGetTransactionId(xmin));
}
