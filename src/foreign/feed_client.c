/*-------------------------------------------------------------------------
 *
 * feed_client.c
 *	  Takes changes from feeds on other servers, applies them, a batch of a server at a time,
 *	  acknowledges them, and waits for them.
 *
 * The rows of a foreign partition are written on another server, by roles there.  The
 * table over there has a feed; see feed_server.c.  The feeds of one server are a queue of their
 * own, so that a server that is down holds up no other.
 *
 * No change is lost and the newest state wins, because of the order of four steps.  A drain
 * takes changes, which consumes nothing.  Then it gets the drain lock, and reads their rows, with a
 * snapshot over there that is younger: feed_take_unlocked() sees that this transaction has not used
 * the server before.  It writes the entries, and commits.  Only when it is known that it has
 * committed, and that no crash undoes it, the changes are acknowledged, in another
 * transaction.  A crash in between has the changes taken again.  The session that drains
 * next has waited for the lock, and so reads the rows as they are or were later.
 *
 * Why the entries of foreign partitions converge.  A drain takes changes from the feeds of
 * a server, which consumes nothing; then it waits for the drain lock, and under the lock
 * it reads the rows.  The server takes its snapshot for that when it is first read from,
 * and this transaction has not read from it before: so each row is as its change has left
 * it, or newer.  The lock is held until the commit, so a later drain reads rows
 * that are no older than these.  A change that is committed over there after the snapshot
 * is still in the feed, as only what was taken before is acknowledged.
 *
 * The primary key of a row tells which partition it is in.  A row that is moved from one
 * server to another changes its primary key, and has both keys queued, each where it was
 * written.  They may be applied in any order, and in between the row is found under
 * neither key or under both, as in a query of the fact table.
 *
 * What was applied is remembered in this session until it is acknowledged: by a worker at
 * once, otherwise when this session drains or waits the next time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../entry/entry.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/fixed_settings.h"
#include "../util/inherit.h"
#include "../util/lock.h"
#include "../util/settings.h"
#include "../util/sleep.h"
#include "../util/subxact.h"
#include "../util/wait_point.h"
#include "foreign.h"
#include "remote.h"

/* Changes that were taken from one feed. */
typedef struct TakenItems
{
	Oid			server;
	Oid			owner;
	char	   *ack;			/* the statement that acknowledges them */
	SubTransactionId sub;		/* has applied them; invalid: it has
								 * committed, and they may be acknowledged */
} TakenItems;

/* The longest lag of another server that is believed, in seconds: 30 years. */
#define MAX_LAG				1e9

/* What was applied by this session, and not acknowledged: of TakenItems *. */
static List *applied = NIL;

static Rows take_from(FactDef *def, List *tables, int64 limit, TimestampTz until);
static void take_group(FactDef *def, List *tables, FeedBatch *batch, MemoryContext cxt);
static void add_taken(FeedBatch *batch, RemoteTable *table, const char *items);
static bool wait_for_feed(RemoteTable *table, int64 max_lag, TimestampTz until, TimestampTz last);
static bool begin_batch(Drain *drain);
static void take_batch(Drain *drain);
static void end_batch(Drain *drain);
static void feed_note_applied(FeedBatch *batch);
static void feed_count(FactDef *def, FeedBatch *batch);

/* feed_servers: lists the OIDs of the servers whose feeds are drained for a fact table */
List *
feed_servers(Oid fact)
{
	bool		async = false;

	foreach_ptr(DefinitionRow, row, catalog_read_definitions(fact, InvalidOid))
		async |= is_async(row);
	return async ? foreign_servers(fact) : NIL;
}

/*
 * feeds_require
 *		Raises an error if a foreign partition of a fact table, or one of those under relid,
 *		has no feed over there, or one with another primary key.
 */
void
feeds_require(FactDef *def, Oid relid)
{
	List	   *tables = tables_on(def->relid, relid, InvalidOid);

	while (tables != NIL)
		(void) take_from(def, next_group(&tables), 0, answer_deadline());
}

/* feeds_require_of: calls feeds_require() for a partition of a fact table that is open */
void
feeds_require_of(Relation fact, Oid partition)
{
	FactDef    *def = definition_of_fact(fact, RelationGetRelid(fact));

	definition_hold(def, CurrentMemoryContext);
	feeds_require(def, partition);
}

/*
 * take_from
 *		Returns up to limit changes from the feeds of tables of one server and role, each with the
 *		number of its table, its item and its primary key; with a limit of 0 only raises the error
 *		of a table that has no feed.
 *
 * One statement asks for all, so that the time limit of a batch does not depend on how many
 * tables there are.
 */
static Rows
take_from(FactDef *def, List *tables, int64 limit, TimestampTz until)
{
	static const Oid types[] = {INT4OID, TEXTOID, TEXTARRAYOID};
	RemoteTable *first = linitial(tables);
	StringInfoData sql;
	int			n = 0;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT f.number, t.item, t.primary_key FROM (VALUES ");
	foreach_ptr(RemoteTable, table, tables)
	{
		appendStringInfo(&sql, "%s(%d, %s::pg_catalog.regclass, %s)", n > 0 ? ", " : "", n, table->literal,
						 remote_columns(def, table->relid));
		n++;
	}
	appendStringInfo(&sql, ") AS f (number, fact_table, columns), LATERAL " IT_INTERNAL ".take(f.fact_table, "
					 INT64_FORMAT ", f.columns) AS t", limit);
	if (limit > 0)
		appendStringInfo(&sql, " LIMIT " INT64_FORMAT, limit);
	return remote_query(first->server, first->owner, until, sql.data, limit, lengthof(types), types);
}

/*
 * feed_take
 *		Takes up to batch->limit changes from the feeds of one server, and puts them into
 *		the batch, allocated in the current memory context.  Nothing is consumed.
 */
void
feed_take(FactDef *def, FeedBatch *batch)
{
	MemoryContext cxt = CurrentMemoryContext;
	MemoryContext group_cxt = AllocSetContextCreate(cxt, "indextable feed", ALLOCSET_DEFAULT_SIZES);
	List	   *tables = tables_on(def->relid, def->relid, batch->server);
	int			nestlevel = NewGUCNestLevel();

	fix_gucs();
	batch->until = answer_deadline();
	while (tables != NIL && batch->n < batch->limit)
	{
		List	   *group = next_group(&tables);

		MemoryContextSwitchTo(group_cxt);
		take_group(def, group, batch, cxt);
		MemoryContextSwitchTo(cxt);
		MemoryContextReset(group_cxt);
	}
	MemoryContextDelete(group_cxt);
	AtEOXact_GUC(false, nestlevel);
	wait_point("changes are taken from a feed");
}

/*
 * take_group
 *		Adds to a batch, in the memory context cxt, the changes of tables of one server and
 *		role.
 */
static void
take_group(FactDef *def, List *tables, FeedBatch *batch, MemoryContext cxt)
{
	Rows		rows = take_from(def, tables, batch->limit - batch->n, batch->until);
	Size		size = sizeof(Datum) * def->layout.npk * (batch->nkeys + rows.n);
	int			ntables = list_length(tables);
	StringInfoData *items = palloc0(sizeof(StringInfoData) * ntables);

	if (rows.n == 0)
		return;
	batch->keys = batch->keys == NULL ? MemoryContextAllocHuge(cxt, size) : repalloc_huge(batch->keys, size);
	for (uint64 i = 0; i < rows.n; i++)
	{
		int			number = DatumGetInt32(row_value(&rows, i, 1));
		char	   *item = row_text(&rows, i, 2);
		Datum		key = row_value(&rows, i, 3);

		CHECK_FOR_INTERRUPTS();
		if (number < 0 || number >= ntables || item == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_FDW_ERROR),
					 errmsg("server \"%s\" has returned a change that names no feed",
							GetForeignServer(batch->server)->servername)));
		if (items[number].data == NULL)
			initStringInfo(&items[number]);
		appendStringInfo(&items[number], "%s%s", items[number].len > 0 ? "," : "", item);
		pfree(item);
		if (key != (Datum) 0)
			key_from_texts(def, DatumGetArrayTypeP(key), batch->keys + (Size) batch->nkeys++ * def->layout.npk,
						   cxt);
		else
		{
			MemoryContext old = MemoryContextSwitchTo(cxt);

			batch->whole = list_append_unique_oid(batch->whole, ((RemoteTable *) list_nth(tables, number))->relid);
			MemoryContextSwitchTo(old);
		}
	}
	batch->n += rows.n;
	MemoryContextSwitchTo(cxt);
	for (int i = 0; i < ntables; i++)
		if (items[i].data != NULL)
			add_taken(batch, list_nth(tables, i), items[i].data);
}

/* add_taken: adds to a batch what acknowledges items of a table, which have commas between them */
static void
add_taken(FeedBatch *batch, RemoteTable *table, const char *items)
{
	TakenItems *taken = palloc0(sizeof(TakenItems));

	taken->server = table->server;
	taken->owner = table->owner;
	taken->ack = psprintf("SELECT " IT_INTERNAL ".ack(%s, %s)", table->literal,
						  quote_literal_cstr(psprintf("{%s}", items)));
	batch->taken = lappend(batch->taken, taken);
}

/*
 * feed_note_applied
 *		Remembers that this transaction has applied a batch, so that it is acknowledged once
 *		the transaction has committed.
 *
 * The commit must not be undone by a crash, after which the changes would be gone: so it
 * is written to disk, whatever synchronous_commit is.
 */
static void
feed_note_applied(FeedBatch *batch)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

	foreach_ptr(TakenItems, items, batch->taken)
	{
		TakenItems *taken = palloc(sizeof(TakenItems));

		*taken = *items;
		taken->ack = pstrdup(items->ack);
		taken->sub = GetCurrentSubTransactionId();
		applied = lappend(applied, taken);
	}
	MemoryContextSwitchTo(old);
	if (batch->taken != NIL)
		ForceSyncCommit();
}

/*
 * feed_ack_applied
 *		Acknowledges what this session has applied, in transactions that have committed, and
 *		returns how many statements that took.
 *
 * What cannot be acknowledged is forgotten: it will be taken again.  So is what was taken from a
 * server that has been dropped.
 */
int64
feed_ack_applied(void)
{
	static const Oid types[] = {INT8OID};
	int64		n = 0;
	List	   *due = NIL;
	TimestampTz until = answer_deadline();

	foreach_ptr(TakenItems, items, applied)
	{
		if (items->sub == InvalidSubTransactionId)
			due = lappend(due, items);
	}
	if (due == NIL)
		return 0;
	wait_point("changes of a feed are applied and not acknowledged");
	foreach_ptr(TakenItems, taken, due)
	{
		Oid			server = taken->server;
		Oid			owner = taken->owner;
		char	   *ack = pstrdup(taken->ack);

		applied = list_delete_ptr(applied, taken);
		pfree(taken->ack);
		pfree(taken);
		if (GetForeignServerExtended(server, FSV_MISSING_OK) != NULL)
		{
			(void) remote_query(server, owner, until, ack, 1, lengthof(types), types);
			n++;
		}
		pfree(ack);
	}
	return n;
}

/*
 * feed_at_end
 *		Notes that what was applied may be acknowledged if the transaction has committed;
 *		otherwise forgets it.
 */
void
feed_at_end(bool committed)
{
	if (!committed)
		feed_at_abort_of(TopSubTransactionId);
	foreach_ptr(TakenItems, items, applied)
		items->sub = InvalidSubTransactionId;
}

/* feed_at_abort_of: forgets what was applied in a subtransaction that aborts */
void
feed_at_abort_of(SubTransactionId sub)
{
	foreach_ptr(TakenItems, taken, applied)
	{
		if (!belongs_to(taken->sub, sub))
			continue;
		applied = foreach_delete_current(applied, taken);
		pfree(taken->ack);
		pfree(taken);
	}
}

/* feed_count: sets batch->backlog and batch->oldest to what is in the feeds of a server */
static void
feed_count(FactDef *def, FeedBatch *batch)
{
	static const Oid types[] = {INT8OID, FLOAT8OID};
	List	   *tables = tables_on(def->relid, def->relid, batch->server);

	batch->backlog = 0;
	batch->oldest = DT_NOEND;
	while (tables != NIL)
	{
		List	   *group = next_group(&tables);
		RemoteTable *first = linitial(group);
		StringInfoData sql;
		Rows		rows;
		int64		backlog;
		double		lag;

		initStringInfo(&sql);
		appendStringInfoString(&sql, "SELECT pg_catalog.sum(s.backlog)::pg_catalog.int8,"
							   " pg_catalog.date_part('epoch', pg_catalog.max(s.lag)"
							   " FILTER (WHERE s.backlog OPERATOR(pg_catalog.>) 0)) FROM (VALUES ");
		foreach_ptr(RemoteTable, table, group)
			appendStringInfo(&sql, "%s(%s::pg_catalog.regclass)", table == first ? "" : ", ", table->literal);
		appendStringInfoString(&sql, ") AS f (fact_table), LATERAL "
							   IT_INTERNAL ".feed_status(f.fact_table) AS s");
		rows = remote_query(first->server, first->owner, batch->until, sql.data, 1, lengthof(types), types);
		backlog = rows.n == 0 ? 0 : DatumGetInt64(row_value(&rows, 0, 1));
		if (backlog <= 0)
			continue;
		lag = DatumGetFloat8(row_value(&rows, 0, 2));
		batch->backlog += backlog;
		batch->oldest = Min(batch->oldest, GetCurrentTimestamp() -
							(lag > 0 && lag < MAX_LAG ? (int64) (lag * USECS_PER_SEC) : 0));
	}
}

/*
 * feeds_wait
 *		Waits until no change is in the feeds of a fact table any more that is committed over
 *		there by now and at least max_lag old, in microseconds; returns false if that takes
 *		until later.
 *
 * A change leaves a feed only after the transaction that has applied it has committed.  A server
 * has the time of an answer even if there is no time to wait, but all servers together do not
 * have more than that beyond the time to wait.
 */
bool
feeds_wait(Oid fact, int64 max_lag, TimestampTz until)
{
	List	   *servers = feed_servers(fact);
	TimestampTz last = Max(until, answer_deadline());

	if (servers == NIL)
		return true;
	(void) feed_ack_applied();
	foreach_oid(server, servers)
	{
		foreach_ptr(RemoteTable, table, tables_on(fact, fact, server))
		{
			if (!wait_for_feed(table, max_lag, until, last))
				return false;
		}
	}
	return true;
}

/*
 * wait_for_feed
 *		Waits in the same way for one feed; its server has to have answered when the time
 *		"last" comes.
 */
static bool
wait_for_feed(RemoteTable *table, int64 max_lag, TimestampTz until, TimestampTz last)
{
	static const Oid types[] = {BOOLOID, TEXTOID};
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable wait", ALLOCSET_SMALL_SIZES);
	char	   *as_of = NULL;	/* the first snapshot, in quotes */
	long		length = 1;
	bool		pending;

	do
	{
		MemoryContext old = MemoryContextSwitchTo(cxt);
		char	   *sql = psprintf("SELECT pending, now::pg_catalog.text FROM "
								   IT_INTERNAL ".feed_status(%s, %s::pg_catalog.pg_snapshot,"
								   " pg_catalog.make_interval(secs => " INT64_FORMAT " / 1000000.0))",
								   table->literal, as_of == NULL ? "NULL" : as_of, max_lag);
		Rows		rows = remote_query(table->server, table->owner, Min(answer_deadline(), last), sql, 1,
										lengthof(types), types);

		MemoryContextSwitchTo(old);
		pending = rows.n > 0 && DatumGetBool(row_value(&rows, 0, 1));
		if (as_of == NULL && rows.n > 0 && row_text(&rows, 0, 2) != NULL)
			as_of = quote_literal_cstr(row_text(&rows, 0, 2));
		if (as_of == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("table %s on server \"%s\" has no feed", table->literal,
							GetForeignServer(table->server)->servername),
					 errhint("Over there, run SELECT indextable.create_feed(%s);", table->literal)));
		MemoryContextReset(cxt);
	} while (pending && sleep_longer(&length, LOOK_PAUSE, until));
	MemoryContextDelete(cxt);
	return !pending;
}

/*
 * feed_take_unlocked
 *		Takes a batch of changes from the feeds of a server, and counts what is there if so
 *		asked.  Returns false if the table does not exist any more.
 *
 * No drain lock is needed yet, and a server that does not answer should not keep others
 * from draining.  The fact table stays locked, so that its primary key stays the same.
 */
bool
feed_take_unlocked(Oid fact_table, FeedBatch *batch, bool count)
{
	Relation	fact;
	FactDef    *def;

	check_servers_unused(fact_table, "drain()");
	fact = try_relation_open(fact_table, AccessShareLock);
	if (fact == NULL)
		return false;
	def = definition_of_fact(fact, fact_table);
	definition_hold(def, CurrentMemoryContext);
	if (def->queue.desc != NULL)
		feed_take(def, batch);
	batch->backlog = batch->n;
	if (count && batch->n >= batch->limit)
		feed_count(def, batch);
	relation_close(fact, NoLock);
	return true;
}

/* feed_apply: applies changes that were taken from feeds */
void
feed_apply(Oid fact_table, FeedBatch *batch, void (*queue_whole) (FactDef *def, Oid partition))
{
	static const ChangeSource feeds = {.begin = begin_batch,.take = take_batch,.end = end_batch};
	Drain		drain = {.source = &feeds,.arg = batch,.limit = setting_batch_size};

	batch->queue_whole = queue_whole;
	if (batch->n > 0)
		drain_from(fact_table, &drain);
}

/* begin_batch: takes the snapshot with which a batch is applied */
static bool
begin_batch(Drain *drain)
{
	drain->rows.snapshot = tree_snapshot(drain->rows.fact);
	return true;
}

/*
 * take_batch
 *		Sorts the keys of a batch, and queues here all rows of partitions any of whose rows
 *		may have changed.
 */
static void
take_batch(Drain *drain)
{
	FeedBatch  *batch = drain->arg;
	Reconciliation *r = &drain->rows;

	wait_point("a feed is drained");
	r->keys = batch->keys;
	r->n = sort_keys(r->def, batch->keys, batch->nkeys);
	foreach_oid(relid, batch->whole)
	{
		if (list_member_oid(foreign_leaves(r->def->relid), relid))
			batch->queue_whole(r->def, relid);
	}
}

/* end_batch: has a batch acknowledged once it is committed */
static void
end_batch(Drain *drain)
{
	feed_note_applied(drain->arg);
}
