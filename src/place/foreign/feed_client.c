/*-------------------------------------------------------------------------
 *
 * feed_client.c
 *	  Takes changes from feeds on other servers, applies them, a batch of a server at a time,
 *	  acknowledges them, and waits for them.
 *
 * The rows of a foreign partition are written on another server, by whoever may.  The
 * table over there has a feed; see feed_server.c.  The feeds of one server are a queue of their
 * own, so that a server that is down holds up no other.
 *
 * No change is lost and the newest state wins, because of the order of four steps.  A
 * drain takes changes under the drain lock.  Then it reads their rows, with a snapshot
 * over there that is younger: feed_take_unlocked() sees that this transaction has not
 * used the server before.  It writes the entries, and commits.  Only when it is known
 * that it has committed, and that no crash undoes it, the changes are acknowledged, in
 * another transaction.  A crash in between has the changes taken again.  Whoever drains
 * next has waited for the lock, and so reads the rows as they are or were later.
 *
 * Why the entries of foreign partitions converge.  A drain takes changes from the feeds of
 * a server, which consumes nothing; then it waits for the drain lock, and under the lock
 * it reads the rows.  The server takes its snapshot for that when it is first read from,
 * and this transaction has not read from it before: so each row is as its change has left
 * it, or newer.  The lock is held until the commit, so whoever drains later reads rows
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

#include "../../catalog/catalog.h"
#include "../../definition/definition.h"
#include "../../entry/entry.h"
#include "../../indextable.h"
#include "../../maintain/maintain.h"
#include "../../queue/queue.h"
#include "../../util/fixed_settings.h"
#include "../../util/inherit.h"
#include "../../util/lock.h"
#include "../../util/settings.h"
#include "../../util/subxact.h"
#include "../../util/wait_point.h"
#include "../place.h"
#include "foreign.h"

/* A table on another server. */
typedef struct RemoteTable
{
	Oid			server;
	Oid			owner;			/* the role that is mapped to one over there */
	char	   *literal;		/* its name, as a constant of SQL */
} RemoteTable;

/* Changes that were taken from one feed. */
typedef struct TakenItems
{
	Oid			server;
	Oid			owner;
	char	   *ack;			/* the statement that acknowledges them */
	SubTransactionId sub;		/* has applied them; invalid: it has
								 * committed, and they may be acknowledged */
} TakenItems;

/* What was applied by this session, and not acknowledged: of TakenItems *. */
static List *applied = NIL;
static RemoteTable *remote_table(Oid relid);
static List *leaves_on(Oid fact, Oid server);
static char *remote_columns(FactDef *def, Oid relid);
static Rows take_from(FactDef *def, Oid leaf, RemoteTable *table, int64 limit);
static void take_from_leaf(FactDef *def, Oid leaf, FeedBatch *batch, MemoryContext cxt);
static bool wait_for_feed(RemoteTable *table, int64 max_lag, TimestampTz until);
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

/* leaves_on: lists the partitions of a fact table that are on a server */
static List *
leaves_on(Oid fact, Oid server)
{
	List	   *leaves = NIL;

	foreach_oid(relid, foreign_leaves(fact))
	{
		if (GetForeignTable(relid)->serverid == server)
			leaves = lappend_oid(leaves, relid);
	}
	return leaves;
}

/* remote_table: returns the table on another server that a foreign table stands for */
static RemoteTable *
remote_table(Oid relid)
{
	ForeignTable *table = GetForeignTable(relid);
	const char *schema = get_namespace_name(get_rel_namespace(relid));
	const char *name = get_rel_name(relid);
	Relation	rel = relation_open(relid, AccessShareLock);
	RemoteTable *result = palloc(sizeof(RemoteTable));

	foreach_ptr(DefElem, option, table->options)
	{
		if (strcmp(option->defname, "schema_name") == 0)
			schema = defGetString(option);
		else if (strcmp(option->defname, "table_name") == 0)
			name = defGetString(option);
	}
	result->server = table->serverid;
	result->owner = rel->rd_rel->relowner;
	result->literal = quote_literal_cstr(quote_qualified_identifier(schema, name));

	/*
	 * The lock is not kept: a foreign table that this transaction has locked
	 * counts as one that it has read.
	 */
	relation_close(rel, AccessShareLock);
	return result;
}

/* remote_columns: returns the names that the columns of the row key have on another server, as a constant of SQL */
static char *
remote_columns(FactDef *def, Oid relid)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < def->npk; i++)
	{
		const char *name = get_attname(def->relid, def->pk_attno[i], false);
		AttrNumber	attno = get_attnum(relid, name);

		foreach_ptr(DefElem, option, GetForeignColumnOptions(relid, attno))
			if (strcmp(option->defname, "column_name") == 0)
			name = defGetString(option);
		appendStringInfo(&list, "%s%s", i > 0 ? ", " : "", quote_literal_cstr(name));
	}
	return psprintf("ARRAY[%s]::pg_catalog.name[]", list.data);
}

/*
 * feeds_require
 *		Raises an error if a foreign partition of a fact table, or one of those under relid,
 *		has no feed over there, or one with another primary key.
 */
void
feeds_require(FactDef *def, Oid relid)
{
	foreach_oid(leaf, foreign_leaves(relid))
		(void) take_from(def, leaf, remote_table(leaf), 0);
}

/* feeds_require_of: does the same for a partition of a fact table that is open */
void
feeds_require_of(Relation fact, Oid partition)
{
	FactDef    *def = definition_of_fact(fact, RelationGetRelid(fact));

	definition_hold(def, CurrentMemoryContext);
	feeds_require(def, partition);
}

/* take_from: returns up to so many changes from the feed of a foreign partition, each with its item and its primary key */
static Rows
take_from(FactDef *def, Oid leaf, RemoteTable *table, int64 limit)
{
	return remote_query(table->server, table->owner,
						psprintf("SELECT item, primary_key FROM " IT_INTERNAL ".take(%s, " INT64_FORMAT ", %s)",
								 table->literal, limit, remote_columns(def, leaf)),
						"item pg_catalog.text, primary_key pg_catalog.text[]");
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
	MemoryContext leaf_cxt = AllocSetContextCreate(cxt, "indextable feed", ALLOCSET_DEFAULT_SIZES);
	int			nestlevel = NewGUCNestLevel();

	fix_gucs();
	foreach_oid(leaf, leaves_on(def->relid, batch->server))
	{
		if (batch->n >= batch->limit)
			break;
		MemoryContextSwitchTo(leaf_cxt);
		take_from_leaf(def, leaf, batch, cxt);
		MemoryContextSwitchTo(cxt);
		MemoryContextReset(leaf_cxt);
	}
	MemoryContextDelete(leaf_cxt);
	AtEOXact_GUC(false, nestlevel);
	wait_point("changes are taken from a feed");
}

/* take_from_leaf: adds to a batch, in the memory context cxt, the changes of one foreign partition */
static void
take_from_leaf(FactDef *def, Oid leaf, FeedBatch *batch, MemoryContext cxt)
{
	RemoteTable *table = remote_table(leaf);
	Rows		rows = take_from(def, leaf, table, batch->limit - batch->n);
	Size		size = sizeof(Datum) * def->npk * (batch->nkeys + rows.n);
	StringInfoData items;
	TakenItems *taken;
	bool		whole = false;

	if (rows.n == 0)
		return;
	initStringInfo(&items);
	batch->keys = batch->keys == NULL ? MemoryContextAllocHuge(cxt, size) : repalloc_huge(batch->keys, size);
	for (uint64 i = 0; i < rows.n; i++)
	{
		Datum		key = row_value(&rows, i, 2);

		CHECK_FOR_INTERRUPTS();
		appendStringInfo(&items, "%s%s", i > 0 ? "," : "", row_text(&rows, i, 1));
		if (key == (Datum) 0)
			whole = true;
		else
			key_from_texts(def, DatumGetArrayTypeP(key), batch->keys + (Size) batch->nkeys++ * def->npk, cxt);
	}
	batch->n += rows.n;
	MemoryContextSwitchTo(cxt);
	if (whole)
		batch->whole = lappend_oid(batch->whole, leaf);
	taken = palloc0(sizeof(TakenItems));
	taken->server = table->server;
	taken->owner = table->owner;
	taken->ack = psprintf("SELECT " IT_INTERNAL ".ack(%s, %s)", table->literal,
						  quote_literal_cstr(psprintf("{%s}", items.data)));
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
 * What cannot be acknowledged is forgotten: it will be taken again.
 */
int64
feed_ack_applied(void)
{
	int64		n = 0;
	List	   *due = NIL;

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
		(void) remote_query(server, owner, ack, "n pg_catalog.int8");
		pfree(ack);
		n++;
	}
	return n;
}

/* feed_at_end: notes that what was applied may be acknowledged if the transaction has committed; otherwise forgets it */
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
	batch->backlog = 0;
	batch->oldest = DT_NOEND;
	foreach_oid(relid, leaves_on(def->relid, batch->server))
	{
		RemoteTable *table = remote_table(relid);
		Rows		rows = remote_query(table->server, table->owner,
										psprintf("SELECT backlog, pg_catalog.date_part('epoch', lag) FROM " IT_INTERNAL ".feed_status(%s)", table->literal),
										"backlog pg_catalog.int8, lag pg_catalog.float8");
		int64		backlog = rows.n == 0 ? 0 : DatumGetInt64(row_value(&rows, 0, 1));

		if (backlog == 0)
			continue;
		batch->backlog += backlog;
		batch->oldest = Min(batch->oldest, GetCurrentTimestamp() -
							(int64) (DatumGetFloat8(row_value(&rows, 0, 2)) * USECS_PER_SEC));
	}
}

/*
 * feeds_wait
 *		Waits until no change is in the feeds of a fact table any more that is committed over
 *		there by now and at least max_lag old, in microseconds; returns false if that takes
 *		until later.
 *
 * A change leaves a feed only after the transaction that has applied it has committed.
 */
bool
feeds_wait(Oid fact, int64 max_lag, TimestampTz until)
{
	List	   *servers = feed_servers(fact);

	if (servers == NIL)
		return true;
	(void) feed_ack_applied();
	foreach_oid(server, servers)
	{
		foreach_oid(relid, leaves_on(fact, server))
		{
			if (!wait_for_feed(remote_table(relid), max_lag, until))
				return false;
		}
	}
	return true;
}

/* wait_for_feed: does the same for one feed */
static bool
wait_for_feed(RemoteTable *table, int64 max_lag, TimestampTz until)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable wait", ALLOCSET_SMALL_SIZES);
	char	   *as_of = NULL;	/* the first snapshot, in quotes */
	long		length = 1;
	bool		pending;

	do
	{
		MemoryContext old = MemoryContextSwitchTo(cxt);
		Rows		rows = remote_query(table->server, table->owner,
										psprintf("SELECT pending, now::pg_catalog.text FROM " IT_INTERNAL ".feed_status(%s, %s::pg_catalog.pg_snapshot,"
												 " pg_catalog.make_interval(secs => " INT64_FORMAT " / 1000000.0))", table->literal,
												 as_of == NULL ? "NULL" : as_of, max_lag),
										"pending pg_catalog.bool, now pg_catalog.text");

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
	if (def->queue_desc != NULL)
		feed_take(def, batch);
	batch->backlog = batch->n;
	if (count && batch->n >= batch->limit)
		feed_count(def, batch);
	relation_close(fact, NoLock);
	return true;
}

/* feed_apply: applies changes that were taken from feeds */
void
feed_apply(Oid fact_table, FeedBatch *batch)
{
	static const ChangeSource feeds = {.begin = begin_batch,.take = take_batch,.end = end_batch};
	Drain		drain = {.source = &feeds,.arg = batch,.limit = setting_batch_size};

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

/* take_batch: sorts the keys of a batch, and queues here all rows of partitions any of whose rows may have changed */
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
			queue_rows_of_partition(r->def, relid);
	}
}

/* end_batch: has a batch acknowledged once it is committed */
static void
end_batch(Drain *drain)
{
	feed_note_applied(drain->arg);
}
