/*-------------------------------------------------------------------------
 *
 * at_commit.c
 *	  Completes the index tables before a transaction ends, and afterwards forgets
 *	  what was collected for them.
 *
 * The server calls first the callbacks that were registered last.  So these callbacks
 * run before those of the queue, and what they do may still queue changes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"

#include "../entry/narrow_key.h"
#include "../entry/shared_keys.h"
#include "../entry/table_writer.h"
#include "at_commit.h"
#include "batch.h"
#include "shared_key_entries.h"

static void at_xact_event(XactEvent event, void *arg);
static void at_subxact_event(SubXactEvent event, SubTransactionId sub,
							 SubTransactionId parent, void *arg);

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
			narrow_keys_at_xact_end();
			forget_shared_keys();
			break;
		default:
			break;
	}
}

static void
at_subxact_event(SubXactEvent event, SubTransactionId sub, SubTransactionId parent, void *arg)
{
	if (event != SUBXACT_EVENT_ABORT_SUB && event != SUBXACT_EVENT_COMMIT_SUB)
		return;
	narrow_keys_at_subxact_event(event, sub, parent);
	batch_at_subxact_event(event, sub, parent);
}
