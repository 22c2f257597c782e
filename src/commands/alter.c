/*-------------------------------------------------------------------------
 *
 * alter.c
 *	  indextable.alter(): gives an index table that exists another maintenance, strategy,
 *	  included fields, filter or partitions, makes it unique or not, lets it refuse or
 *	  skip values that are not possible as keys, and hides it from plain SQL.
 *
 * Another maintenance, uniqueness and on_mismatch leave the entries as they are (see
 * alter_in_place.c).  For everything else the entries are made anew in a second table,
 * beside the old ones (see replace.c): at once, or by rebuild() while other sessions
 * write.  With populate => false that is also how it is found out whether all keys are
 * unique, or all values can be keys, while other sessions write.
 *
 * Whether it is hidden is no part of its definition, and concerns plans only.  So that alone
 * is changed in any state, without a drain, and under no lock but one against DROP.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/arguments.h"
#include "../util/inherit.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "commands.h"

PG_FUNCTION_INFO_V1(indextable_alter);

/* The arguments of alter(), in order. */
enum
{
	ARG_INDEX_TABLE,
	ARG_MAINTENANCE,
	ARG_STRATEGY,
	ARG_INCLUDE,
	ARG_FILTER,
	ARG_POPULATE,
	ARG_PARTITIONS,
	ARG_PARTITION_BY,
	ARG_PARTITION_BOUNDS,
	ARG_PARTITION_TABLESPACES,
	ARG_IS_UNIQUE,
	ARG_ON_MISMATCH,
	ARG_SPARSE,					/* since version 1.2, as ... */
	ARG_HIDDEN
};

static void check_totals_args(FunctionCallInfo fcinfo, Oid index_table);
static void alter(FunctionCallInfo fcinfo, bool locked);
static bool has_hidden_arg(FunctionCallInfo fcinfo);
static bool asks_only_to_hide(FunctionCallInfo fcinfo);
static void hide(FunctionCallInfo fcinfo, Oid fact);
static bool has_sparse_arg(FunctionCallInfo fcinfo);
static bool has_partitioning_args(FunctionCallInfo fcinfo);
static bool read_new_partitioning(FunctionCallInfo fcinfo, DefinitionRow *pending, DefinitionRow *row);
static void lock_after_drain(LockWait *wait);
static void drain_and_lock(LockWait *wait);
static DefinitionRow *lock_definition(Oid index_table);
static void require_state(DefinitionRow *stored);
static bool read_new_definition(FunctionCallInfo fcinfo, DefinitionRow *stored, DefinitionRow *row, Relation fact);
static void refuse_over_feeds(DefinitionRow *row);

/*
 * indextable_alter
 *		Gives an index table what the arguments ask for; an argument that is NULL
 *		changes nothing.
 *
 * alter(index_table regclass, maintenance text, strategy text, include text[],
 * filter text, populate boolean, partitions integer, partition_by text,
 * partition_bounds text[], partition_tablespaces text[], is_unique boolean,
 * on_mismatch text, sparse boolean, hidden boolean)
 */
Datum
indextable_alter(PG_FUNCTION_ARGS)
{
	Oid			index_table = PG_GETARG_OID(ARG_INDEX_TABLE);
	Oid			fact;
	ErrorData  *error;

	require_arg(fcinfo, ARG_INDEX_TABLE, "index_table");
	if (!OidIsValid(catalog_fact_of(index_table)))
		report_not_index_table(index_table);
	require_owner(index_table);

	PreventCommandIfReadOnly("alter()");
	check_totals_args(fcinfo, index_table);
	check_place_of_index_table(index_table);
	place_check_unchanging(index_table, "alter()");
	fact = catalog_fact_of(index_table);
	if (asks_only_to_hide(fcinfo))
	{
		hide(fcinfo, fact);
		PG_RETURN_VOID();
	}
	elsewhere->snapshots->check_unused(fact, "alter()");

	/*
	 * What is queued already is applied before writers are locked out.  What
	 * this transaction has to queue is queued when it commits, which would be
	 * too late.
	 */
	if (queue_pending(fact))
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot alter an index table in a transaction that has changed its fact table"),
				 errdetail("The changes are queued when the transaction commits."),
				 errhint("Commit the transaction first.")));

	/*
	 * A transaction that has read the index table may write the fact table
	 * later, or drain its queue, and waits for us then, as we wait for it. So
	 * all is undone, which lets it go on, and done anew with both tables
	 * locked.  They are not both locked in the first place because that would
	 * keep readers out while entries are made.
	 */
	CATCHING_ERRORS(error, alter(fcinfo, false));
	if (error != NULL)
	{
		TableLock	locks[] = {{fact, ShareRowExclusiveLock, true}, {index_table, AccessExclusiveLock, true}};

		if (error->sqlerrcode != ERRCODE_T_R_DEADLOCK_DETECTED)
			ReThrowError(error);
		FreeErrorData(error);
		lock_all_in_turns(locks, lengthof(locks));
		alter(fcinfo, true);
	}
	if (has_hidden_arg(fcinfo))
		hide(fcinfo, fact);
	PG_RETURN_VOID();
}

/*
 * check_totals_args
 *		Raises an error if a table of totals would be given anything but another filter or
 *		on_mismatch, or be hidden: with other keys or sums it has other columns, and a new one is made as fast.
 */
static void
check_totals_args(FunctionCallInfo fcinfo, Oid index_table)
{
	DefinitionRow *stored = required_definition(index_table);

	if (!keeps_totals(stored))
		return;
	for (int i = ARG_MAINTENANCE; i < PG_NARGS(); i++)
		if (i != ARG_FILTER && i != ARG_ON_MISMATCH && i != ARG_HIDDEN && !PG_ARGISNULL(i) &&
			!(i == ARG_POPULATE && PG_GETARG_BOOL(i)))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("table of totals \"%s\" cannot be altered like this", get_rel_name(index_table)),
					 errdetail("Only filter, on_mismatch and hidden of totals can be altered."),
					 errhint("Create another table of totals, and then run %s", told_select("drop", index_table, ""))));
}

/*
 * alter
 *		Locks the tables, unless they are locked already, and does what the arguments of the
 *		function ask for.
 */
static void
alter(FunctionCallInfo fcinfo, bool locked)
{
	Oid			index_table = PG_GETARG_OID(ARG_INDEX_TABLE);
	bool		populate = PG_ARGISNULL(ARG_POPULATE) || PG_GETARG_BOOL(ARG_POPULATE);
	DefinitionRow *stored;
	DefinitionRow *pending;
	DefinitionRow row;
	Relation	fact;
	bool		asks_for_contents;
	bool		contents_change;
	LockWait	wait = {.command = WAITING_ALTER,.table = catalog_fact_of(index_table),.index = index_table};

	if (!locked)
		lock_after_drain(&wait);
	stored = lock_definition(index_table);
	require_state(stored);
	fact = relation_open(stored->fact_table, NoLock);
	pending = replacement_of(index_table);
	asks_for_contents = !PG_ARGISNULL(ARG_STRATEGY) || !PG_ARGISNULL(ARG_INCLUDE) || !PG_ARGISNULL(ARG_FILTER) ||
		has_partitioning_args(fcinfo) || has_sparse_arg(fcinfo) ||
		(!PG_ARGISNULL(ARG_IS_UNIQUE) && PG_GETARG_BOOL(ARG_IS_UNIQUE) && !stored->sparse) ||
		(!populate &&
		 (!PG_ARGISNULL(ARG_IS_UNIQUE) ||
		  (!PG_ARGISNULL(ARG_ON_MISMATCH) &&
		   check_allowed_value("on_mismatch", text_arg(fcinfo, ARG_ON_MISMATCH, NULL), mismatch_names) !=
		   MISMATCH_SKIP)));
	if (pending != NULL && !asks_for_contents &&
		(!PG_ARGISNULL(ARG_MAINTENANCE) || !PG_ARGISNULL(ARG_IS_UNIQUE) || !PG_ARGISNULL(ARG_ON_MISMATCH)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index table \"%s\" is being rebuilt", get_rel_name(index_table)),
				 errhint("To finish, run %s to abandon the rebuild, run DROP TABLE %s;",
						 told_call("rebuild", index_table), quoted_relation(pending->index_table))));

	/*
	 * What an earlier call has asked for still holds, as long as rebuild()
	 * has not carried it out.
	 */
	row = pending != NULL && asks_for_contents ? *pending : *stored;
	row.index_table = index_table;
	row.replaces = InvalidOid;
	row.state = stored->state;
	contents_change = read_new_definition(fcinfo, stored, &row, fact);
	contents_change |= read_new_partitioning(fcinfo, pending, &row);
	contents_change |= !populate &&
		(row.is_unique != stored->is_unique ||
		 (row.on_mismatch == MISMATCH_ERROR && stored->on_mismatch == MISMATCH_SKIP));
	relation_close(fact, NoLock);
	if (elsewhere->feeds->of(row.fact_table) != NIL &&
		(contents_change || row.on_mismatch != stored->on_mismatch ||
		 (!is_async(&row) && is_async(stored))))
		refuse_over_feeds(&row);
	if (pending != NULL && asks_for_contents && !contents_change)
		drop_index_table(pending->index_table);
	if (keeps_totals(&row) && (contents_change || row.on_mismatch != stored->on_mismatch))
		alter_totals(&row);
	else if (contents_change)
	{
		check_replaceable(&row, index_table);
		report_lost_indexes(&row, index_table);
		row.state = populate ? STATE_ACTIVE : STATE_BUILDING;
		make_replacement(&row, index_table);
		if (populate)
		{
			lock_tree_in_turns(index_table, AccessExclusiveLock);
			drain_queue(row.fact_table, 0);
			replace_index_table(row.index_table);
		}
	}
	else
		alter_in_place(stored, &row);
	describe_index_table(index_table, false);
	if (is_async(&row) && !is_async(stored))
		notice_nobody_drains(why_nobody_drains());
}

/* has_hidden_arg: returns whether the argument is given, which version 1.1 does not have */
static bool
has_hidden_arg(FunctionCallInfo fcinfo)
{
	return PG_NARGS() > ARG_HIDDEN && !PG_ARGISNULL(ARG_HIDDEN);
}

/* asks_only_to_hide: returns whether nothing but hidden is to change */
static bool
asks_only_to_hide(FunctionCallInfo fcinfo)
{
	bool		others = false;

	for (int i = ARG_MAINTENANCE; i < Min(PG_NARGS(), ARG_HIDDEN); i++)
		others |= i != ARG_POPULATE && !PG_ARGISNULL(i);
	return has_hidden_arg(fcinfo) && !others;
}

/*
 * hide
 *		Hides the index table, or no more, as the arguments say.
 *
 * Readers and writers go on meanwhile: with what definition a query is planned makes no difference
 * to its rows.  Plans that are kept are made anew.
 */
static void
hide(FunctionCallInfo fcinfo, Oid fact)
{
	Oid			index_table = PG_GETARG_OID(ARG_INDEX_TABLE);

	LockRelationOid(fact, AccessShareLock);
	LockRelationOid(index_table, AccessShareLock);
	if (catalog_fact_of(index_table) != fact || OidIsValid(required_definition(index_table)->replaces))
		report_not_index_table(index_table);
	require_owner(index_table);
	catalog_set_hidden(index_table, PG_GETARG_BOOL(ARG_HIDDEN));
	CacheInvalidateRelcacheByRelid(fact);
	CommandCounterIncrement();
}

/* has_sparse_arg: returns whether the argument is given, which version 1.1 does not have */
static bool
has_sparse_arg(FunctionCallInfo fcinfo)
{
	return PG_NARGS() > ARG_SPARSE && !PG_ARGISNULL(ARG_SPARSE);
}

static bool
has_partitioning_args(FunctionCallInfo fcinfo)
{
	return !PG_ARGISNULL(ARG_PARTITIONS) || !PG_ARGISNULL(ARG_PARTITION_BY) ||
		!PG_ARGISNULL(ARG_PARTITION_BOUNDS) || !PG_ARGISNULL(ARG_PARTITION_TABLESPACES);
}

/*
 * read_new_partitioning
 *		Writes to *row the partitions that the index table is to have, as the user
 *		wants them now or wanted them in an earlier call; returns whether they are
 *		to be made anew.
 *
 * 'pending' is the replacement that an earlier call has made, or NULL.
 */
static bool
read_new_partitioning(FunctionCallInfo fcinfo, DefinitionRow *pending, DefinitionRow *row)
{
	Relation	rel;
	IndexDef   *def;
	PartitioningRequest request;
	List	   *names = NIL;
	bool		partitioned = get_rel_relkind(row->index_table) == RELKIND_PARTITIONED_TABLE;

	if (!has_partitioning_args(fcinfo))
	{
		if (pending != NULL)
		{
			rel = open_existing(pending->index_table, AccessShareLock);
			row->partitioning = partitioning_of(rel);
			relation_close(rel, NoLock);
		}
		return pending != NULL && partitioned;
	}
	partitioning_args(fcinfo, ARG_PARTITIONS, ARG_PARTITION_BY, &request);
	def = definition_of_index_table(row->index_table);
	for (int i = 0; i < def->spec.nkeys; i++)
		names = lappend(names, NameStr(TupleDescAttr(def->layout.desc, def->spec.fields[i].attno - 1)->attname));
	rel = open_existing(row->index_table, AccessShareLock);
	if (partitioned && request.by == NULL && (request.bounds != NIL || request.tablespaces != NIL) &&
		request.partitions == 0)
	{
		Partitioning *now = partitioning_of(rel);

		/*
		 * Where only tablespaces are given, they are for the partitions that
		 * exist.
		 */
		request.by = now->clause;
		if (request.bounds == NIL)
			partitioning_request_current(&request, now);
	}
	row->partitioning = partitioning_asked(&request, names);
	if ((row->partitioning != NULL) != partitioned ||
		(partitioned && strcmp(row->partitioning->clause, partitioning_of(rel)->clause) != 0))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot change the partition key of index table \"%s\"", RelationGetRelationName(rel)),
				 partitioned ? errdetail("It is partitioned by %s.", partitioning_of(rel)->clause) :
				 errdetail("It is not partitioned."),
				 errhint("Create another index table, and drop this one when the other is built.")));
	relation_close(rel, NoLock);
	return partitioned;
}

/*
 * lock_after_drain
 *		Applies what is queued, and then locks writers of the fact table out, so that they
 *		do not have to wait for that.
 *
 * Only one session at a time goes past the first lock: two that drain the queue both lock
 * the fact table as writers do, and would then wait for each other to lock writers out.  A
 * transaction that has written and then drains waits for the queue, which we keep, just as
 * we wait for it.  Then what is queued is applied under the lock.
 */
static void
lock_after_drain(LockWait *wait)
{
	ErrorData  *error;

	LockRelationOid(wait->table, ShareUpdateExclusiveLock);
	CATCHING_ERRORS(error, drain_and_lock(wait));
	if (error == NULL)
		return;
	if (error->sqlerrcode != ERRCODE_T_R_DEADLOCK_DETECTED)
		ReThrowError(error);
	FreeErrorData(error);
	lock_tree(wait->table, ShareRowExclusiveLock);
}

/*
 * drain_and_lock
 *		Does what lock_after_drain() does; fails in a deadlock.
 *
 * Other servers must not be read before writers are locked out, because they go on to show
 * what they showed then.
 */
static void
drain_and_lock(LockWait *wait)
{
	if (elsewhere->leaves(wait->table) == NIL)
		drain_queue(wait->table, FEW_CHANGES);
	lock_politely(wait, ShareRowExclusiveLock);
}

/*
 * lock_definition
 *		Locks writers of the fact table out, and returns the definition of the
 *		index table with the names that its columns have now.  Raises an error if the index table has
 *		got another owner while the lock was waited for: a new filter would run as that one.
 */
static DefinitionRow *
lock_definition(Oid index_table)
{
	Oid			fact = catalog_fact_of(index_table);

	DefinitionRow *stored;

	lock_tree(fact, ShareRowExclusiveLock);
	elsewhere->snapshots->note_writers_locked_out(fact);
	update_definitions(fact, false, true);
	stored = required_definition(index_table);
	require_owner(index_table);
	return stored;
}

static void
require_state(DefinitionRow *stored)
{
	if (stored->state != STATE_ACTIVE)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index table \"%s\" is not active", get_rel_name(stored->index_table)),
				 errdetail("Its state is \"%s\".", state_names[stored->state]),
				 errhint("First run %s", told_activation(stored->index_table))));
	if (OidIsValid(stored->replaces))
		report_not_index_table(stored->index_table);
}

/*
 * read_new_definition
 *		Writes to *row the definition that the user wants; returns whether the
 *		index table would have other entries by it.
 */
static bool
read_new_definition(FunctionCallInfo fcinfo, DefinitionRow *stored, DefinitionRow *row, Relation fact)
{
	char	   *strategy = text_arg(fcinfo, ARG_STRATEGY, NULL);
	char	   *maintenance = text_arg(fcinfo, ARG_MAINTENANCE, NULL);
	char	   *filter = text_arg(fcinfo, ARG_FILTER, NULL);
	bool		includes = !PG_ARGISNULL(ARG_INCLUDE);

	if (maintenance != NULL)
		row->maintenance = check_allowed_value("maintenance", maintenance, maintenance_names);
	if (includes)
		row->include = stored_fields(fact, field_list(fcinfo, ARG_INCLUDE, "include"));
	if (strategy != NULL)
	{
		row->strategy = check_allowed_value("strategy", strategy, strategy_names);
		if (!includes && row->strategy != STRATEGY_PARTIAL)
			row->include = NIL;
	}
	else if (includes)
		row->strategy = row->include != NIL ? STRATEGY_PARTIAL :
			row->strategy == STRATEGY_PARTIAL ? STRATEGY_NORMALIZED : row->strategy;
	if (filter != NULL)
		row->filter = filter[strspn(filter, " \t\r\n")] == '\0' ? NULL :
			check_filter(fact, filter);
	if (!PG_ARGISNULL(ARG_IS_UNIQUE))
		row->is_unique = PG_GETARG_BOOL(ARG_IS_UNIQUE);
	if (has_sparse_arg(fcinfo))
		row->sparse = PG_GETARG_BOOL(ARG_SPARSE);
	else if (row->is_unique)
		row->sparse = true;
	if (!PG_ARGISNULL(ARG_ON_MISMATCH))
		row->on_mismatch = check_allowed_value("on_mismatch", text_arg(fcinfo, ARG_ON_MISMATCH, NULL),
											   mismatch_names);
	check_request(row);
	if (row->document == NULL)
		row->document = document_column(fact, NULL, row);

	return !same_strings(row->include, stored->include) || row->strategy != stored->strategy ||
		row->sparse != stored->sparse || !same_or_null(row->filter, stored->filter);
}

/*
 * refuse_over_feeds
 *		Raises an error because an index table cannot be altered like this while feeds of
 *		other servers are drained for its fact table.
 *
 * To make it transactional, all that is in the feeds would have to be applied in this
 * transaction; and what it has read from another server before writers are locked out
 * may be older than what others have applied by then.
 */
static void
refuse_over_feeds(DefinitionRow *row)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("index table \"%s\" cannot be altered because its fact table has changes in feeds of other servers",
					get_rel_name(row->index_table)),
			 errhint("Create another index table, and drop this one.")));
}
