/*-------------------------------------------------------------------------
 *
 * foreign_snapshot.c
 *	  Takes snapshots of the same moment on all servers that have partitions of a fact
 *	  table.
 *
 * Each server takes its snapshot when a transaction first reads from it, and shows
 * rows as of that snapshot until the transaction ends.  So all servers are read for
 * the first time while writers of the fact table are locked out.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "../fact/fact.h"
#include "../indextable.h"
#include "../util/as_owner.h"
#include "../util/inherit.h"
#include "../util/lock.h"
#include "../util/naming.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "foreign.h"

/* How often the lock that keeps writers out is asked for. */
#define MAX_TRIES			5

/*
 * The snapshot that this transaction uses, taken at one moment here and by these sources, or
 * NULL.
 */
static Snapshot synchronized = NULL;
static List *synchronized_sources = NIL;

/*
 * Fact tables whose writers this transaction has locked out since before it read their
 * partitions.
 */
static List *writers_out = NIL;

/* Whether this transaction has rolled back a subtransaction that may have used other servers. */
static bool use_was_rolled_back = false;

static List *source_of(Oid fact, Oid leaf);
static bool has_synchronized_snapshots(Oid fact);
static Portal open_row(Oid relid);
static void unlock_fact(Oid relid);

/* release_foreign_snapshot: releases the snapshot before the transaction ends */
void
release_foreign_snapshot(void)
{
	if (synchronized != NULL)
		UnregisterSnapshotFromOwner(synchronized, TopTransactionResourceOwner);
	synchronized = NULL;
}

/* forget_foreign_snapshot: forgets it, and all else, when the transaction has ended */
void
forget_foreign_snapshot(void)
{
	synchronized = NULL;
	writers_out = NIL;
	use_was_rolled_back = false;
}

/*
 * foreign_snapshot_at_abort_of_sub
 *		Notes that a subtransaction of the user is rolled back.
 *
 * What is undone of our own attempts either has not used other servers, or is followed
 * by another attempt that has used the same ones and is not undone.
 */
void
foreign_snapshot_at_abort_of_sub(void)
{
	use_was_rolled_back |= !undoing_attempt;
}

/* foreign_servers: lists the OIDs of the servers that have partitions of a fact table */
List *
foreign_servers(Oid fact)
{
	List	   *servers = NIL;

	foreach_oid(relid, foreign_leaves(fact))
		servers = list_append_unique_oid(servers, GetForeignTable(relid)->serverid);
	return servers;
}

/*
 * check_servers_unused
 *		Raises an error if this transaction has read or written a server that has a
 *		partition of a fact table.  That server shows its rows as they were then, and
 *		other sessions may have written them since, unless writers were locked out all
 *		the time.  The caller must not have locked any of the partitions yet.
 *
 * foreign_table_in_use() tells what was used.  The rollback of a subtransaction
 * releases its locks, but the other server keeps its snapshot, which belongs to the whole
 * transaction.  So after a rollback any server may have been used.
 */
void
check_servers_unused(Oid fact, const char *what)
{
	List	   *servers = foreign_servers(fact);
	Oid			used;

	if (servers == NIL)
		return;
	if (list_member_oid(writers_out, fact) && is_locked_here(fact) && !has_changed_elsewhere(fact))
		return;
	used = foreign_table_in_use(servers);
	if (OidIsValid(used))
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("%s cannot run in a transaction that has used foreign table \"%s\"", what,
						get_rel_name(used)),
				 errdetail("Until the transaction ends, the other server shows rows as they were at that time, without later changes."),
				 errhint("Call the function in a transaction of its own.")));
	if (use_was_rolled_back)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("%s cannot run in a transaction in which a subtransaction was rolled back", what),
				 errdetail("If that has used a server with partitions of table \"%s\", the server shows rows as they were at that time, without later changes.",
						   get_rel_name(fact)),
				 errhint("Call the function in a transaction of its own.")));
}

/*
 * note_writers_locked_out
 *		Notes that this transaction has locked a fact table against writers.  A rollback to
 *		a savepoint may release the lock, so check_servers_unused() looks whether it is held.
 */
void
note_writers_locked_out(Oid fact)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);

	writers_out = list_append_unique_oid(writers_out, fact);
	MemoryContextSwitchTo(old);
}

/*
 * source_of
 *		Returns the OIDs of the server that has a partition, which it locks, and of the role
 *		as which that is read.
 */
static List *
source_of(Oid fact, Oid leaf)
{
	Relation	rel = relation_open(leaf, AccessShareLock);
	List	   *source = list_make2_oid(GetForeignTable(leaf)->serverid, reading_role(fact, leaf));

	relation_close(rel, NoLock);
	return source;
}

/*
 * has_synchronized_snapshots
 *		Returns whether all servers that have a partition of a fact table have taken
 *		snapshots of the same moment in this transaction already.
 */
static bool
has_synchronized_snapshots(Oid fact)
{
	if (synchronized == NULL || has_changed_elsewhere(fact))
		return false;
	foreach_oid(relid, foreign_leaves(fact))
	{
		if (!list_member(synchronized_sources, source_of(fact, relid)))
			return false;
	}
	return true;
}

/*
 * get_synchronized_snapshot
 *		Returns the latest snapshot, registered.  At the same moment, while writers are
 *		locked out, every server that has a partition of the fact table takes one.
 *
 * Connecting may take long, so it is done before the lock is taken.  Later calls in
 * the same transaction return the same snapshot.  Which partitions there are is read
 * with the snapshot: of a partition that is attached later it would see the rows and
 * not the entries.
 */
Snapshot
get_synchronized_snapshot(FactDef *def, Relation fact)
{
	List	   *portals = NIL;
	List	   *sources = NIL;
	bool		locked = false;
	Snapshot	snapshot;
	MemoryContext old;
	ListCell   *portal;
	ListCell   *source;

	if (foreign_leaves(def->relid) == NIL)
		return tree_snapshot(fact);
	if (has_synchronized_snapshots(def->relid))
	{
		synchronized->curcid = GetCurrentCommandId(false);
		return RegisterSnapshot(synchronized);
	}
	check_servers_unused(def->relid, "verify()");

	foreach_oid(relid, foreign_leaves(def->relid))
	{
		List	   *found = source_of(def->relid, relid);

		if (list_member(sources, found))
			continue;
		sources = lappend(sources, found);
		AS_OWNER(lsecond_oid(found));
		{
			portals = lappend(portals, open_row(relid));
		}
		END_AS_OWNER();
	}

	for (int try = 0; try < MAX_TRIES && !locked && !RecoveryInProgress(); try++)
		locked = lock_with_timeout(def->relid, ShareLock);
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	forboth(portal, portals, source, sources)
	{
		AS_OWNER(lsecond_oid(lfirst(source)));
		{
			SPI_connect();
			SPI_cursor_fetch(lfirst(portal), true, 1);
			SPI_cursor_close(lfirst(portal));
			SPI_finish();
		}
		END_AS_OWNER();
	}
	if (!locked)
	{
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("rows of table \"%s\" that are being changed may be reported as discrepancies", def->name),
				 errdetail("The table could not be locked for the moment at which the snapshots of its foreign partitions and of the index table are taken."),
				 errhint("Check the discrepancies again, as indextable.repair() does.")));
		return snapshot;
	}
	unlock_fact(def->relid);
	if (synchronized == NULL)
	{
		old = MemoryContextSwitchTo(TopTransactionContext);
		synchronized_sources = copyObject(sources);
		synchronized = RegisterSnapshotOnOwner(snapshot, TopTransactionResourceOwner);
		MemoryContextSwitchTo(old);
	}
	return snapshot;
}

/*
 * open_row
 *		Opens a cursor for one row of a table, so that the server that has it takes a snapshot
 *		when it is fetched.
 */
static Portal
open_row(Oid relid)
{
	char	   *sql = psprintf("SELECT FROM %s LIMIT 1", quoted_relation(relid));
	Portal		result;

	SPI_connect();
	WHILE_NAMING(&relid, 1, sql,
				 result = SPI_cursor_open_with_args(NULL, sql, 0, NULL, NULL, NULL, true, 0));
	SPI_finish();
	return result;
}

/*
 * unlock_fact
 *		Releases the locks that lock_with_timeout() has taken on a fact table and its
 *		partitions.
 */
static void
unlock_fact(Oid relid)
{
	ResourceOwner owner = CurrentResourceOwner;

	CurrentResourceOwner = CurTransactionResourceOwner;
	unlock_tree(relid, ShareLock);
	CurrentResourceOwner = owner;
}

/*
 * warn_foreign
 *		Warns of what cannot be promised if a fact table has partitions on other servers: if the index table
 *		is asynchronous, that a server which cannot be reached holds up the changes of the others.
 */
void
warn_foreign(Oid fact, bool async)
{
	if (foreign_leaves(fact) == NIL)
		return;
	if (async)
	{
		foreach_oid(server_oid, foreign_servers(fact))
		{
			ForeignServer *server = GetForeignServer(server_oid);
			bool		found = false;

			foreach_ptr(DefElem, option, server->options)
				found |= strcmp(option->defname, "connect_timeout") == 0;
			if (!found)
				ereport(WARNING,
						(errcode(ERRCODE_WARNING),
						 errmsg("server \"%s\" has no connect_timeout", server->servername),
						 errdetail("If it cannot be reached, changes of other servers may have to wait for long."),
						 errhint("Run ALTER SERVER %s OPTIONS (ADD connect_timeout '5');", quote_identifier(server->servername))));
		}
		return;
	}
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("index tables of table \"%s\" have entries of partitions on other servers", get_rel_name(fact)),
			 errdetail("A commit on several servers is not atomic. Changes that are made directly on another server are neither applied to the index tables nor checked for uniqueness."),
			 errhint("Call indextable.verify() regularly, or set indextable.check_interval, and call indextable.repair() when discrepancies are found.")));
}
