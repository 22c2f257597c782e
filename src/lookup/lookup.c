/*-------------------------------------------------------------------------
 *
 * lookup.c
 *	  Implements indextable.lookup(), which returns the fact documents or fact rows of a
 *	  key.
 *
 * It scans the index table's primary key, and searches the fact table's primary key
 * for each entry, with the query's own snapshot; no plan is made.  Only where row
 * security applies to the fact table, or rows are on other servers, does the executor
 * fetch them.  indextable.query() checks access and fetches documents with the same
 * functions.
 *
 * The partitions are those that the snapshot sees, also where the server has cached an older
 * list of them, with which a query of the fact table would leave rows out.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

#include "../apply/apply.h"
#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../fact/fact.h"
#include "../fetch/fetch.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/arguments.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "../util/wait_point.h"
#include "lookup.h"

PG_FUNCTION_INFO_V1(indextable_lookup_documents);
PG_FUNCTION_INFO_V1(indextable_lookup_rows);

pg_noreturn static void row_type_error(Oid type, const char *fact);
static void run_lookup(FunctionCallInfo fcinfo, int arg, bool rows);
static bool is_newer_than_snapshot(Lookup *lookup);
static void scan_entries(Lookup *lookup);
static bool may_compute_entries(Lookup *lookup);
static bool are_of_fact_rows(Lookup *lookup);
static bool calls_forbidden_function(Node *node, void *context);
static bool is_forbidden_function(Oid function, void *context);
static bool wait_until_fresh(Oid index_table, int64 max_lag, int64 timeout);

/* indextable_lookup_documents: lookup(index_table, key, max_lag, timeout) returns documents */
Datum
indextable_lookup_documents(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	else
		run_lookup(fcinfo, 0, false);
	return (Datum) 0;
}

/*
 * indextable_lookup_rows
 *		lookup(row_type, index_table, key, max_lag, timeout) returns rows of that type.
 */
Datum
indextable_lookup_rows(PG_FUNCTION_ARGS)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, 0);
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	/*
	 * A RECORD in a SELECT list has no known columns, so it is no fact
	 * table's row.
	 */
	if (!type_is_rowtype(type) ||
		(type == RECORDOID && rsinfo != NULL && IsA(rsinfo, ReturnSetInfo) && rsinfo->expectedDesc == NULL))
		row_type_error(type, NULL);
	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
	{
		InitMaterializedSRF(fcinfo, 0);
		return (Datum) 0;
	}
	run_lookup(fcinfo, 1, true);
	return (Datum) 0;
}

static void
row_type_error(Oid type, const char *fact)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("row_type must be the type of the fact table's rows"),
			 errdetail("It is of type %s.", format_type_be(type)),
			 fact != NULL ? errhint("Use NULL::%s.", fact) :
			 errhint("Use NULL::fact_table.")));
}

/*
 * run_lookup
 *		Looks up a key; the arguments from number arg on are index_table, key, max_lag and
 *		timeout.
 */
static void
run_lookup(FunctionCallInfo fcinfo, int arg, bool rows)
{
	Oid			index_table = PG_GETARG_OID(arg);
	Jsonb	   *key = PG_GETARG_JSONB_P(arg + 1);
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Lookup		lookup = {0};

	InitMaterializedSRF(fcinfo, rows ? 0 : MAT_SRF_USE_EXPECTED_DESC);
	lookup.store = rsinfo->setResult;
	lookup.desc = rsinfo->setDesc;
	lookup.rows = rows;
	lookup_open(&lookup, index_table, interval_arg(fcinfo, arg + 2, "max_lag"),
				interval_arg(fcinfo, arg + 3, "timeout"));
	lookup_check_access(&lookup);
	if (rows && get_fn_expr_argtype(fcinfo->flinfo, 0) != lookup.fact->rd_rel->reltype)
		row_type_error(get_fn_expr_argtype(fcinfo->flinfo, 0),
					   quoted_relation(lookup.factdef->relid));
	key_set_read(lookup.def, key, false, &lookup.keys);
	if (lookup.keys.n > 0)
		scan_entries(&lookup);
	lookup_close(&lookup);
}

/*
 * lookup_open
 *		Opens both tables, chooses the snapshot, and holds the definition in the current
 *		memory context.  Times are in microseconds; -1 means that there is none.
 *
 * The definition must not be older than the snapshot: an asynchronous index table may have
 * entries that are not of the row as the snapshot sees it.  The locks bring no news to a
 * transaction in which a plan has taken them.  maintain/in_step.c says why it is asked for
 * after the snapshot was taken.
 *
 * Nor are the entries of an index table that is newer than the snapshot those of the fact
 * rows that the snapshot sees.  A statement that has waited until the index table was
 * committed takes a newer snapshot, and asks for the news after that, until it has none that
 * is newer still.  A REPEATABLE READ transaction cannot: see lookup_check_access().
 */
void
lookup_open(Lookup *lookup, Oid index_table, int64 max_lag, int64 timeout)
{
	bool		newest;

	require_reader(index_table);
	refuse_put_off(index_table);
	newest = wait_until_fresh(index_table, max_lag, timeout);
	lookup->snapshot = GetActiveSnapshot();
	do
	{
		if (newest)
		{
			wait_point("a look-up takes a newer snapshot");
			if (lookup->latest != NULL)
				UnregisterSnapshot(lookup->latest);
			lookup->snapshot = lookup->latest = RegisterSnapshot(GetLatestSnapshot());
		}
		AcceptInvalidationMessages();
		lookup->def = definition_open(index_table, &lookup->fact, &lookup->index_table);
		if (lookup->def == NULL)
			report_not_index_table(index_table);
		lookup->factdef = lookup->def->fact;
		if (is_totals(lookup->def))
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("\"%s\" has totals, and no rows can be looked up by it", lookup->def->name),
					 errhint("Run SELECT * FROM " IT_SCHEMA ".totals(%s);", quote_literal_cstr(quoted_relation(index_table)))));
		newest = !IsolationUsesXactSnapshot() &&
			(is_newer_than_snapshot(lookup) ||
			 was_rewritten(lookup->factdef->relid, lookup->factdef->relid, lookup->snapshot));
		if (newest)
		{
			table_close(lookup->index_table, NoLock);
			table_close(lookup->fact, NoLock);
		}
	} while (newest);
}

/*
 * is_newer_than_snapshot
 *		Returns whether another transaction has made the entries, or written them anew as its own,
 *		which the snapshot does not see.
 */
static bool
is_newer_than_snapshot(Lookup *lookup)
{
	TransactionId xmin = lookup->def->xmin;

	return (TransactionIdIsNormal(xmin) && !TransactionIdIsCurrentTransactionId(xmin) &&
			XidInMVCCSnapshot(xmin, lookup->snapshot)) ||
		was_rewritten(lookup->def->relid, lookup->def->relid, lookup->snapshot);
}

/* lookup_close: releases what lookup_open() has opened */
void
lookup_close(Lookup *lookup)
{
	if (lookup->latest != NULL)
		UnregisterSnapshot(lookup->latest);
	table_close(lookup->index_table, NoLock);
	table_close(lookup->fact, NoLock);
}

/*
 * may_have_several_entries
 *		Returns whether a row may have several entries with the keys that are looked up.
 */
static bool
may_have_several_entries(IndexDef *def, KeySet *set)
{
	return def->spec.multi && (set->n > 1 || def->spec.nelements > def->spec.nkey_elements ||
							   set->ncolumns <= def->spec.elements[def->spec.nkey_elements - 1]);
}

/*
 * scan_entries
 *		Searches the entries of one key after the other, and returns their rows or documents.
 *		As the keys are in the order of the index table, so are all entries that are found.
 */
static void
scan_entries(Lookup *lookup)
{
	IndexDef   *def = lookup->def;
	KeySet	   *set = &lookup->keys;
	SeenRows   *seen = NULL;
	ScanKeyData keys[INDEX_MAX_KEYS];
	EntryScanOptions options = {.counted = true,.index_only = true};
	EntryScan	scan;
	TupleTableSlot *entry;

	/* A row may have several entries: one for each element of an array. */
	if ((lookup->ambiguous && !lookup->copies) || may_have_several_entries(def, set))
		seen = seen_rows_begin(def, CurrentMemoryContext);
	memcpy(keys, def->layout.search_keys, sizeof(ScanKeyData) * set->ncolumns);
	options.wanted = lookup->copies ? bms_add_member(columns_to_fetch_by(def), def->layout.doc_attno) :
		columns_to_fetch_by(def);
	entry_scan_begin(&scan, def, lookup->index_table, lookup->snapshot, set->ncolumns, &options);
	for (int i = 0; i < set->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (int k = 0; k < set->ncolumns; k++)
			keys[k].sk_argument = KEY_VALUES(set, i)[k];
		entry_scan_start(&scan, keys, false);
		while ((entry = entry_scan_next(&scan)) != NULL)
		{
			CHECK_FOR_INTERRUPTS();
			if (seen == NULL || !seen_row(seen, def, entry))
				lookup_fetch(lookup, entry);
		}
	}
	entry_scan_end(&scan);
	if (lookup->gathering != NULL)
		fetch_pending_rows(lookup);
	lookup_end_documents(lookup);
}

/*
 * lookup_check_access
 *		Raises an error if the current user may not read what is asked for, or if the
 *		index table cannot be trusted; and decides how documents are fetched.
 */
void
lookup_check_access(Lookup *lookup)
{
	IndexDef   *def = lookup->def;
	bool		granted = pg_class_aclcheck(def->relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK;
	AclResult	result;

	if (!granted && !may_compute_entries(lookup))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, def->name);
	if (check_enable_rls(def->relid, InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("row security of index table \"%s\" is not supported", def->name),
				 errhint("Enable row security on the fact table instead. Look-ups respect it.")));
	lookup->secured = !lookup->entries_only &&
		(check_enable_rls(lookup->factdef->relid, InvalidOid, false) == RLS_ENABLED ||
		 (lookup_reads_whole_rows(lookup) && has_virtual_columns(RelationGetDescr(lookup->fact))));
	lookup->copies = def->layout.doc_attno != 0 && !lookup->rows && !lookup->secured && !lookup->entries_only &&
		(granted || are_of_fact_rows(lookup));
	if (!lookup->copies && !lookup->entries_only)
	{
		result = pg_class_aclcheck(lookup->factdef->relid, GetUserId(), ACL_SELECT);
		if (result != ACLCHECK_OK)
			aclcheck_error(result, OBJECT_TABLE, lookup->factdef->name);
	}

	require_active(def);

	/*
	 * The snapshot of a REPEATABLE READ transaction may still see a row that
	 * another session has deleted, beside the one that this transaction has
	 * inserted with the same primary key.
	 */
	lookup->ambiguous = IsolationUsesXactSnapshot() || lookup->factdef->layout.pk_deferrable;

	/*
	 * In these cases the row that is found may not be the version that the
	 * entry is of.
	 */
	lookup->recheck = lookup->ambiguous || def->spec.async || lookup->factdef->place->in_parts;

	if (IsolationUsesXactSnapshot() &&
		((TransactionIdIsNormal(def->xmin) && TransactionIdIsCurrentTransactionId(def->xmin)) ||
		 is_newer_than_snapshot(lookup)))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("index table \"%s\" is newer than the snapshot of this transaction",
						def->name),
				 errhint("Look it up in a new transaction.")));

	/* The next snapshot may be older: another session may have exported it. */
	if (TransactionIdIsNormal(def->xmin) && (int32) (lookup->snapshot->xmin - def->xmin) > MAX_SNAPSHOT_AGE)
		def->xmin = FrozenTransactionId;
}

/* require_active: raises an error unless the entries of an index table can be trusted */
void
require_active(IndexDef *def)
{
	require_kept(def);
	if (!def->active)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index table \"%s\" is not active", def->name),
				 errhint("Run %s", told_activation(def->relid))));
}

/*
 * may_compute_entries
 *		Returns whether what is asked for tells the current user no more than queries of the fact table
 *		could, so that it takes no right on the index table.
 *
 * The user has to be allowed to read the whole fact table, and to call the functions that entries are
 * computed by.  Where entries are shown, no policy may hide rows from that user, and they must be those
 * of rows that a query of the fact table would return.
 */
static bool
may_compute_entries(Lookup *lookup)
{
	Oid			fact = lookup->factdef->relid;

	return pg_class_aclcheck(fact, GetUserId(), ACL_SELECT) == ACLCHECK_OK &&
		(!lookup->shows_entries ||
		 (are_of_fact_rows(lookup) && check_enable_rls(fact, InvalidOid, false) != RLS_ENABLED)) &&
		!calls_forbidden_function((Node *) definition_nodes(lookup->def), NULL);
}

/*
 * are_of_fact_rows
 *		Returns whether entries have only what a query of the fact table would read with the same right: not
 *		if they may be those of rows as they were, or of rows on other servers, which decide by the rights of
 *		a role there.
 */
static bool
are_of_fact_rows(Lookup *lookup)
{
	FactDef    *fact = lookup->factdef;

	return !lookup->def->spec.async &&
		(!fact->layout.partitioned || OidIsValid(fact->layout.pk_index) || elsewhere->leaves(fact->relid) == NIL);
}

/*
 * calls_forbidden_function
 *		Returns whether a node calls a function, also by an operator, that the current user
 *		may not call.
 */
static bool
calls_forbidden_function(Node *node, void *context)
{
	return node != NULL &&
		(check_functions_in_node(node, is_forbidden_function, context) ||
		 expression_tree_walker(node, calls_forbidden_function, context));
}

static bool
is_forbidden_function(Oid function, void *context)
{
	return !may_execute(function, GetUserId());
}

/*
 * wait_until_fresh
 *		Waits until an asynchronous index table is no further behind than max_lag, or
 *		raises an error after timeout.  Returns whether it has waited, so that a newer
 *		snapshot than the query's is needed to see what was applied meanwhile.  If neither
 *		max_lag nor timeout is given, there is nothing to wait for.
 */
static bool
wait_until_fresh(Oid index_table, int64 max_lag, int64 timeout)
{
	FactTableRow queue;

	if (max_lag < 0 && timeout < 0)
		return false;
	if (!queue_of_index_table(index_table, &queue))
		return false;
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("max_lag is not supported in a REPEATABLE READ or SERIALIZABLE transaction"),
				 errhint("Use the isolation level READ COMMITTED.")));
	if (!wait_for_queue(&queue, Max(max_lag, 0), Max(timeout, 0)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("lag of index table \"%s\" exceeds max_lag",
						get_rel_name(index_table)),
				 errhint("Try again, or use a longer timeout. To see the cause, run SELECT * FROM indextable.queues;")));
	return true;
}
