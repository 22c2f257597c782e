/*-------------------------------------------------------------------------
 *
 * repair.c
 *	  Provides indextable.repair(), which mends what verify() finds.
 *
 * What verify() has found is only a reason to look at a row again: before it is
 * mended, a writer may have changed the row and its entries.  So each row is locked
 * against writers, and its entries are made what the row asks for then.  That is
 * right because a transaction that writes a row holds the row's lock until it
 * commits, and writes the entries before that: to a session that gets the lock, row
 * and entries are both as that transaction left them.
 *
 * Rows that another session has locked are left for the next round, so that
 * sessions do not wait for each other.  A row that no longer exists cannot be
 * locked; while its entries are deleted, all writers are kept out.  The rows of an
 * asynchronous index table are queued, and drained as any others.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "../apply/apply.h"
#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../entry/entry.h"
#include "../fact/fact.h"
#include "../fetch/fetch.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/arguments.h"
#include "../util/as_owner.h"
#include "../util/inherit.h"
#include "../util/lock.h"
#include "../util/memory.h"
#include "../util/relation.h"
#include "../util/settings.h"
#include "../util/sleep.h"
#include "../util/sql.h"
#include "../util/wait_point.h"
#include "verify.h"

PG_FUNCTION_INFO_V1(indextable_repair);

/* The number of discrepancies that are mended together, unless another is asked for. */
#define BATCH				1000

/* The largest number of discrepancies that one round mends. */
#define MAX_SUSPECTS		100000

/*
 * The number of rounds that may mend nothing, because rows are locked, and the pause between
 * two, in ms.
 */
#define MAX_IDLE_ROUNDS		20
#define PAUSE				100

/* A row that verify() has found a discrepancy of, and the entry that may be wrong. */
typedef struct Suspect
{
	Datum	   *key;			/* the primary key of the row */
	HeapTuple	entry;			/* NULL: the row lacks an entry */
	bool		row_gone;		/* the row no longer exists */
} Suspect;

typedef struct Repair
{
	Oid			index_table;
	MemoryContext cxt;			/* reset before each round */
	bool		nonatomic;		/* it may commit */
	int64		found[KINDS];	/* what the first round of each index table
								 * found */
	int64		rejected;		/* rejected rows of a transactional index
								 * table that the last round found */
	int64		remaining;		/* discrepancies that the last round found */
	List	   *problems;		/* of the setup, for the user to mend, that
								 * the last round found */
	bool		first_round;
	Suspect    *suspects;
	int			nsuspects;
	int			max_suspects;	/* for which there is memory */
	int			next;			/* the first that was not looked at yet */
	bool		is_unique;
	bool		only_delete;	/* this pass deletes wrong entries, and writes
								 * none */
} Repair;

static void commit_if_allowed(Repair *r);
static void repair_index_table(Repair *r, int batch_size);
static void repair_in_rounds(Repair *r, int batch_size);
static void find_suspects(Repair *r);
static void note_suspect(Discrepancy *d, void *arg);
static void repair_suspects(Repair *r, int batch_size, bool only_delete);
static void repair_batch(Repair *r, int from, int to);
static int	queue_rows(Repair *r, FactDef *factdef);
static int	repair_rows(Repair *r, IndexDef *def, int from, int to);
static bool lock_out_writers_if_needed(Repair *r, LiveScan *rows, int from, int to);
static bool lock_row(LiveScan *rows, Datum *key, bool alone, TupleTableSlot **row);

/*
 * indextable_repair
 *		repair(index_table regclass, batch_size integer, INOUT missing bigint,
 *		INOUT dangling bigint, INOUT stale bigint, INOUT remaining bigint): index_table may
 *		be a fact table
 */
Datum
indextable_repair(PG_FUNCTION_ARGS)
{
	Repair		r = {0};
	Oid			relid = PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0);
	int			batch_size = PG_ARGISNULL(1) ? BATCH : PG_GETARG_INT32(1);
	MemoryContext outer;
	List	   *index_tables;
	int64		remaining = 0;
	TupleDesc	desc;
	Datum		values[4];
	bool		isnull[4] = {0};

	PreventCommandIfReadOnly("repair()");
	require_arg(fcinfo, 0, "index_table");
	if (batch_size < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("batch_size must be at least 1")));
	r.nonatomic = fcinfo->context != NULL && IsA(fcinfo->context, CallContext) &&
		!castNode(CallContext, fcinfo->context)->atomic;
	outer = MemoryContextSwitchTo(r.nonatomic ? PortalContext : CurrentMemoryContext);
	index_tables = index_tables_of(relid);
	r.cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable repair", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(outer);
	require_owner(relid);
	foreach_oid(index_table, index_tables)
		check_place_of_index_table(index_table);
	forget_orphaned_rows(InvalidOid);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	desc = BlessTupleDesc(desc);

	if (!r.nonatomic && index_tables != NIL &&
		elsewhere->leaves(catalog_fact_of(linitial_oid(index_tables))) != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("repair() cannot run inside a transaction block if the fact table has foreign partitions"),
				 errdetail("It locks rows and then reads them again, but other servers show them as of the beginning of the transaction.")));
	SPI_connect_ext(r.nonatomic ? SPI_OPT_NONATOMIC : 0);
	foreach_oid(index_table, index_tables)
	{
		r.index_table = index_table;
		/* Of a fact table, one may have been dropped meanwhile. */
		if (r.index_table != relid && !OidIsValid(catalog_fact_of(r.index_table)))
			continue;
		if (r.index_table != relid && is_building(r.index_table))
		{
			ereport(WARNING,
					(errcode(ERRCODE_WARNING),
					 errmsg("index table \"%s\" is left out because it is being built", get_rel_name(r.index_table)),
					 errhint("Run %s", told_activation(r.index_table))));
			continue;
		}
		repair_index_table(&r, batch_size);
		remaining += r.remaining;
	}
	SPI_finish();
	MemoryContextDelete(r.cxt);

	values[0] = Int64GetDatum(r.found[KIND_MISSING]);
	values[1] = Int64GetDatum(r.found[KIND_DANGLING]);
	values[2] = Int64GetDatum(r.found[KIND_STALE]);
	values[3] = Int64GetDatum(remaining);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, isnull)));
}

/*
 * repair_index_table
 *		Mends an index table: its setup first, and then the entries, in rounds; adds up what
 *		the first round has found, and sets what remains.  What is left to the user is reported
 *		with the SQL to run.
 */
static void
repair_index_table(Repair *r, int batch_size)
{
	const IndexTableMethods *methods = place_of(catalog_fact_of(r->index_table))->index_tables;

	r->problems = NIL;
	r->first_round = true;
	r->remaining = r->rejected = 0;
	restore_setup(r->index_table);
	commit_if_allowed(r);
	if (methods->repair != NULL)
		methods->repair(r->index_table, r->nonatomic, r->found, &r->remaining);
	else if (!repair_if_totals(r->index_table, &r->found[KIND_STALE]))
		repair_in_rounds(r, batch_size);
	if (r->nsuspects > 0)
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("repair() has not mended all of index table \"%s\"", get_rel_name(r->index_table)),
				 errdetail_plural("%lld discrepancy remains.", "%lld discrepancies remain.", r->remaining, (long long) r->remaining),
				 errhint("To make all entries anew, run %s", told_call("rebuild", r->index_table))));
	foreach_ptr(char, problem, r->problems)
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("setup of index table \"%s\" cannot be mended by repair()", get_rel_name(r->index_table)),
				 errdetail("%s", problem)));
	if (r->remaining > 0 || r->rejected > 0)
		return;
	activate_repaired(r->index_table);

	/*
	 * Others have to see what was done here.
	 */
	if (methods->activate != NULL && r->nonatomic)
	{
		SPI_commit();
		methods->activate(r->index_table);
	}
}

/* repair_in_rounds: mends entries until nothing is found, or nothing can be mended any more */
static void
repair_in_rounds(Repair *r, int batch_size)
{
	int			idle = 0;
	int64		before = -1;	/* what remained in the round before */

	for (;;)
	{
		MemoryContextReset(r->cxt);
		find_suspects(r);
		commit_if_allowed(r);
		if (r->nsuspects == 0 || idle == MAX_IDLE_ROUNDS)
			break;
		idle = before < 0 || r->remaining < before ? 0 : idle + 1;
		before = r->remaining;
		if (r->is_unique)
			repair_suspects(r, batch_size, true);
		repair_suspects(r, batch_size, false);
		if (idle > 0)
			sleep_interruptibly(PAUSE);
	}
}

/* repair_entries: mends the entries of an index table, or its totals, in this transaction */
void
repair_entries(Oid index_table)
{
	Repair		r = {.index_table = index_table};
	IndexDef   *def = definition_of_index_table(index_table);

	if (def != NULL && is_totals(def))
	{
		(void) add_missing_totals(index_table, false);
		return;
	}
	r.cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable repair", ALLOCSET_DEFAULT_SIZES);
	repair_in_rounds(&r, BATCH);
	MemoryContextDelete(r.cxt);
}

/* commit_if_allowed: commits what was done so far, unless the caller is in a transaction block */
static void
commit_if_allowed(Repair *r)
{
	if (r->nonatomic)
		SPI_commit();
	else
		CommandCounterIncrement();
}

/* activate_repaired: makes an invalid index table active, now that entries and setup are right */
void
activate_repaired(Oid index_table)
{
	DefinitionRow *stored = stored_definition(index_table);
	Relation	fact;

	if (stored == NULL || stored->state != STATE_INVALID)
		return;
	lock_tree(stored->fact_table, ShareRowExclusiveLock);
	fact = try_relation_open(stored->fact_table, NoLock);
	if (fact == NULL)
		return;					/* dropped while we waited for the lock */
	require_owner(index_table);
	if (triggers_intact(stored->fact_table) && guards_intact(index_table))
	{
		catalog_set_state(index_table, STATE_ACTIVE, NULL);
		/* It may have become invalid while it was being built. */
		catalog_forget_build(index_table);
		CacheInvalidateRelcacheByRelid(stored->fact_table);
		(void) queues_drop(stored->fact_table, false);
	}
	relation_close(fact, NoLock);
}

/* find_suspects: begins a round, by noting what verify() finds now */
static void
find_suspects(Repair *r)
{
	MemoryContext old = MemoryContextSwitchTo(r->cxt);

	r->nsuspects = r->max_suspects = 0;
	r->suspects = NULL;
	r->problems = NIL;
	r->remaining = r->rejected = 0;
	PushActiveSnapshot(GetTransactionSnapshot());
	verify_index_table(r->index_table, 100, note_suspect, r);
	PopActiveSnapshot();
	MemoryContextSwitchTo(old);
	r->first_round = false;
}

/*
 * note_suspect
 *		Counts a discrepancy, and notes its row and entry if there is still room.  What is
 *		not recorded of rows that lack entries is recorded at once.
 *
 * Writers have not recorded it because their triggers were missing.  These are back, so
 * such writers have ended, and verify() has seen all of their rows.
 */
static void
note_suspect(Discrepancy *d, void *arg)
{
	Repair	   *r = arg;
	TupleTableSlot *entry = d->found != NULL ? d->found : d->expected;
	MemoryContext old;
	FactDef    *fact;
	Suspect    *suspect;

	if (d->by_hand)
	{
		old = MemoryContextSwitchTo(r->cxt);
		r->problems = lappend(r->problems, pstrdup(d->problem));
		MemoryContextSwitchTo(old);
	}
	if (d->def == NULL)
		return;
	r->is_unique = d->def->spec.is_unique;
	record_lacking(d->def, d->lacking);
	if (d->kind == KIND_REJECTED && !d->def->spec.async)
		r->rejected++;
	if (entry == NULL || d->kind == KIND_REJECTED)
		return;					/* mending entries would not change it */
	r->remaining++;
	r->found[d->kind] += r->first_round;
	if (r->nsuspects == MAX_SUSPECTS)
		return;
	old = MemoryContextSwitchTo(r->cxt);
	if (r->nsuspects == r->max_suspects)
		r->suspects = grow_array(r->suspects, &r->max_suspects, 64, sizeof(Suspect), r->cxt);
	suspect = &r->suspects[r->nsuspects++];
	fact = d->def->fact;
	suspect->key = palloc(sizeof(Datum) * fact->layout.npk);
	for (int i = 0; i < fact->layout.npk; i++)
	{
		AttrNumber	attno = d->def->layout.pk_attno[i];
		Form_pg_attribute att = TupleDescAttr(d->def->layout.desc, attno - 1);

		suspect->key[i] = datumCopy(entry->tts_values[attno - 1], att->attbyval, att->attlen);
	}
	suspect->row_gone = d->kind == KIND_DANGLING;
	suspect->entry = d->found != NULL ? ExecCopySlotHeapTuple(d->found) : NULL;
	MemoryContextSwitchTo(old);
}

/*
 * repair_suspects
 *		Mends all suspects, in batches.
 *
 * For a unique index table it is called twice, and only deletes wrong entries the
 * first time, because these may have the keys of right ones.
 */
static void
repair_suspects(Repair *r, int batch_size, bool only_delete)
{
	int			from;

	r->only_delete = only_delete;
	for (from = 0; from < r->nsuspects; from = r->next)
	{
		repair_batch(r, from, Min(from + batch_size, r->nsuspects));
		commit_if_allowed(r);
	}
}

/*
 * repair_batch
 *		Mends some of the suspects, or queues all of them if the index table is asynchronous.
 */
static void
repair_batch(Repair *r, int from, int to)
{
	IndexDef   *def;
	bool		more_locks;

	/* Locks are taken in the order in which writers take them. */
	do
	{
		def = definition_of_index_table(r->index_table);
		if (def == NULL)
			report_not_index_table(r->index_table);
		more_locks = lock_newly(def->fact->relid, RowExclusiveLock);
		more_locks |= lock_newly(r->index_table, RowExclusiveLock);
	} while (!definition_settled(def->fact, more_locks));
	require_owner(r->index_table);
	definition_hold(def->fact, CurrentMemoryContext);
	PushActiveSnapshot(GetTransactionSnapshot());
	r->next = def->spec.async ? queue_rows(r, def->fact) : repair_rows(r, def, from, to);
	PopActiveSnapshot();
}

/*
 * queue_rows
 *		Queues the rows of all suspects, drains them, and returns how many suspects there
 *		were.
 */
static int
queue_rows(Repair *r, FactDef *factdef)
{
	Oid			fact_table = factdef->relid;
	DrainPosition position = {0};
	int64		changes = 0;

	for (int i = 0; i < r->nsuspects; i++)
		queue_collect_key(factdef, NULL, r->suspects[i].key);
	position.start = RegisterSnapshot(GetLatestSnapshot());
	while (drain_batch(fact_table, setting_batch_size, &position, &changes))
		CommandCounterIncrement();
	drain_end(&position);
	UnregisterSnapshot(position.start);
	return r->nsuspects;
}

/*
 * repair_rows
 *		Mends the suspects from "from" up to "to", but for rows that other sessions
 *		have locked, and returns the next suspect.
 */
static int
repair_rows(Repair *r, IndexDef *def, int from, int to)
{
	FactDef    *factdef = def->fact;
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable mend",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Relation	fact = relation_open(factdef->relid, NoLock);
	OpList		list = {0};
	LiveScanOptions options = {.lock = RowExclusiveLock};
	LiveScan	rows;
	bool		alone;

	live_scan_begin(&rows, factdef, fact, SnapshotSelf, &options);
	wait_point("repair has a snapshot and is going to mend");
	alone = lock_out_writers_if_needed(r, &rows, from, to);
	if (alone)
	{
		Datum	  **keys = palloc(sizeof(Datum *) * (to - from));

		for (int i = from; i < to; i++)
			keys[i - from] = r->suspects[i].key;
		elsewhere->rows->expect(&rows, keys, to - from);
	}
	for (int i = from; i < to; i++)
	{
		Suspect    *suspect = &r->suspects[i];
		TupleTableSlot *row;
		Entries		before;
		Entries		after;
		int			n;

		CHECK_FOR_INTERRUPTS();
		if (!lock_row(&rows, suspect->key, alone, &row))
			continue;
		entries_init(&before, def);
		entries_init(&after, def);
		if (suspect->entry != NULL)
		{
			before.n = 1;
			before.values = palloc(sizeof(Datum) * before.natts);
			before.isnull = palloc(sizeof(bool) * before.natts);
			heap_deform_tuple(suspect->entry, def->layout.desc, before.values, before.isnull);
		}
		if (row != NULL)
		{
			FactRow		factrow;
			Rejection	rejection = {0};

			AS_OWNER(factdef->owner);
			{
				factrow_init(&factrow, factdef, row);
				factrow.rejection = &rejection;
				extract_entries(def, &factrow, true, &after);
			}
			END_AS_OWNER();
		}
		n = list.n;
		diff_entries(def, &before, &after, &list, cxt);
		for (int k = n; k < list.n; k++)
		{
			/* Those entries of the row that are right exist already. */
			if (list.ops[k].kind == OP_INSERT)
				list.ops[k].kind = OP_PUT;
			if (!r->only_delete || list.ops[k].kind == OP_DELETE)
				list.ops[n++] = list.ops[k];
		}
		list.n = n;
		list.deletes = true;
	}
	live_scan_end(&rows);
	if (list.n > 0)
	{
		AS_OWNER(factdef->owner);
		{
			apply_ops(def, &list, false);
		}
		END_AS_OWNER();
	}
	relation_close(fact, NoLock);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
	return to;
}

/*
 * lock_out_writers_if_needed
 *		Locks the fact table against writers if a row of these suspects no longer
 *		exists or is on another server, and returns whether it has that lock.
 *
 * It does so before it locks any row, or reads it on the other server.  It waits for
 * a moment only, because other sessions have to wait behind it.
 */
static bool
lock_out_writers_if_needed(Repair *r, LiveScan *rows, int from, int to)
{
	int			i;

	for (i = from; i < to && !r->suspects[i].row_gone && !live_scan_is_elsewhere(rows, r->suspects[i].key); i++)
		;
	return i < to && lock_with_timeout(rows->def->relid, ShareRowExclusiveLock);
}

/*
 * lock_row
 *		Keeps writers, and other sessions that repair, from the row under a primary
 *		key until the transaction ends.
 *
 * *row is the row, or NULL if there is none.  "alone" says that all writers are kept
 * out already.  Returns false if another session has locked the row, or if there is
 * none that could be locked, and writers are not kept out.
 *
 * The partition that the row is in is locked, too, as its writers lock it, because
 * even a locked row may lose its entries, when its partition is detached
 * concurrently.  If the partition has been detached by the time it is locked, the
 * row is no row of the fact table, whatever our snapshot says.
 */
static bool
lock_row(LiveScan *rows, Datum *key, bool alone, TupleTableSlot **row)
{
	TM_FailureData failure;
	ItemPointerData tid;
	TM_Result	result;

	if (!alone && live_scan_is_elsewhere(rows, key))
		return false;
	*row = live_scan_first(rows, key);
	if (*row != NULL && root_of(rows->current->rel) != rows->def->relid)
		*row = NULL;

	/*
	 * Another transaction may be inserting the row, or its deletion may be
	 * rolled back.
	 */
	if (*row == NULL || alone)
		return alone;
	tid = rows->current->stored->tts_tid;
	result = table_tuple_lock(rows->current->rel, &tid, SnapshotSelf, rows->current->stored,
							  GetCurrentCommandId(true), LockTupleNoKeyExclusive, LockWaitSkip, 0, &failure);
	if (result == TM_Ok)
		*row = live_scan_row(rows);
	return result == TM_Ok;
}
