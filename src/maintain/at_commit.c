/*-------------------------------------------------------------------------
 *
 * at_commit.c
 *	  Tells everybody that collects something in a transaction that it ends, or that a
 *	  subtransaction of it ends.
 *
 * No other file registers callbacks for these events, because the order matters before a
 * commit:
 *
 * - Index tables are completed first.  Code of users that this calls, in an index on an
 *   index table or in an event trigger, may still change fact tables, and so queue changes.
 * - Then the queue writes all changes that were collected.  From now on it writes at once
 *   what is queued.
 * - Then the snapshot that was taken together with other servers is released, because
 *   nothing reads with it any more.
 *
 * At all other events each of them looks after its own data only, so that the order does
 * not matter.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"

#include "../entry/narrow_key.h"
#include "../entry/shared_keys.h"
#include "../entry/table_writer.h"
#include "../queue/append.h"
#include "../queue/feed_client.h"
#include "../util/lock.h"
#include "at_commit.h"
#include "batch.h"
#include "foreign_snapshot.h"
#include "in_step.h"
#include "leaving.h"
#include "shared_key_entries.h"
#include "truncate.h"

static void at_xact_event(XactEvent event, void *arg);
static void at_subxact_event(SubXactEvent event, SubTransactionId sub,
							 SubTransactionId parent, void *arg);
static void entries_at_xact_event(XactEvent event);

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
	entries_at_xact_event(event);
	queue_at_xact_event(event);
	feed_at_xact_event(event);
	foreign_snapshot_at_xact_event(event);
	truncate_at_xact_event(event);
	leaving_at_xact_event(event);
	in_step_at_xact_event(event);
}

static void
at_subxact_event(SubXactEvent event, SubTransactionId sub, SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		locks_are_released();
	if (event == SUBXACT_EVENT_ABORT_SUB || event == SUBXACT_EVENT_COMMIT_SUB)
	{
		narrow_keys_at_subxact_event(event, sub, parent);
		batch_at_subxact_event(event, sub, parent);
	}
	queue_at_subxact_event(event, sub, parent);
	feed_at_subxact_event(event, sub, parent);
	foreign_snapshot_at_subxact_event(event);
	truncate_at_subxact_event(event);
	leaving_at_subxact_event(event, sub, parent);
	in_step_at_subxact_event(event, sub);
}

/*
 * entries_at_xact_event
 *		Completes the index tables before a transaction ends, and afterwards forgets what
 *		was collected for them.
 */
static void
entries_at_xact_event(XactEvent event)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			write_shared_keys();
			batch_write_all();

			/*
			 * Making a primary key anew locks the index table against
			 * readers, and a prepared transaction would keep that lock until
			 * it is committed.
			 */
			if (event == XACT_EVENT_PRE_COMMIT)
				narrow_keys_at_commit();
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			batch_at_end_of_transaction();
			table_writer_at_end_of_transaction();
			locks_are_released();
			narrow_keys_at_xact_end();
			forget_shared_keys();
			break;
		default:
			break;
	}
}
