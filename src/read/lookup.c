/*-------------------------------------------------------------------------
 *
 * lookup.c
 *	  indextable.lookup(): from a key to fact documents or fact rows.
 *
 * Called by users.  Scans the index table's primary key, and probes the fact
 * table's primary key for each entry, with the query's own snapshot; no plan is
 * made.  Only where row security applies to the fact table, or rows are on other
 * servers, does the executor fetch them.  query.c uses what checks access and
 * fetches documents.
 *
 * Partitions are those that a query of the fact table would read.  For the moment in
 * which one that was attached is visible, but not yet known to all, both leave its
 * rows out.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/skey.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "storage/lockdefs.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

#include "../catalog/definition_rows.h"
#include "../catalog/fact_rows.h"
#include "../definition/cache.h"
#include "../entry/entry_scan.h"
#include "../entry/extract.h"
#include "../indextable.h"
#include "../queue/wait.h"
#include "../util/arguments.h"
#include "../util/sql.h"
#include "fetch.h"
#include "lookup.h"

PG_FUNCTION_INFO_V1(indextable_lookup_documents);
PG_FUNCTION_INFO_V1(indextable_lookup_rows);

pg_noreturn static void row_type_error(Oid type, const char *fact);
static void lookup(FunctionCallInfo fcinfo, int arg, bool rows);
static void scan_entries(Lookup *l);
static bool wait_until_fresh(Oid index_table, int64 max_lag, int64 timeout);

Datum
indextable_lookup_documents(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	else
		lookup(fcinfo, 0, false);
	return (Datum) 0;
}

Datum
indextable_lookup_rows(PG_FUNCTION_ARGS)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, 0);
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	/* A record in a SELECT list has no columns, and is of no fact table. */
	if (!type_is_rowtype(type) ||
		(type == RECORDOID && rsinfo != NULL && IsA(rsinfo, ReturnSetInfo) && rsinfo->expectedDesc == NULL))
		row_type_error(type, NULL);
	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
	{
		InitMaterializedSRF(fcinfo, 0);
		return (Datum) 0;
	}
	lookup(fcinfo, 1, true);
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

/* lookup: the arguments from arg on are index_table, key, max_lag and timeout */
static void
lookup(FunctionCallInfo fcinfo, int arg, bool rows)
{
	Oid			index_table = PG_GETARG_OID(arg);
	Jsonb	   *key = PG_GETARG_JSONB_P(arg + 1);
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Lookup		l = {0};
	ScanKeyData keys[INDEX_MAX_KEYS];

	InitMaterializedSRF(fcinfo, rows ? 0 : MAT_SRF_USE_EXPECTED_DESC);
	l.store = rsinfo->setResult;
	l.desc = rsinfo->setDesc;
	l.rows = rows;
	lookup_open(&l, index_table, interval_arg(fcinfo, arg + 2, "max_lag"),
				interval_arg(fcinfo, arg + 3, "timeout"));
	PG_TRY();
	{
		lookup_check_access(&l);
		if (rows && get_fn_expr_argtype(fcinfo->flinfo, 0) != l.fact->rd_rel->reltype)
			row_type_error(get_fn_expr_argtype(fcinfo->flinfo, 0),
						   quoted_relation(l.factdef->relid));
		l.keys = keys;
		l.nkeys = lookup_key(l.def, key, keys);
		if (l.nkeys > 0)
			scan_entries(&l);
	}
	PG_FINALLY();
	{
		definition_unpin(l.factdef);
	}
	PG_END_TRY();
	lookup_close(&l);
}

/*
 * lookup_open
 *		Opens both tables, and pins the definition: the caller unpins it, also if
 *		there is an error, and calls lookup_close().  Times are in microseconds, -1
 *		is none.
 */
void
lookup_open(Lookup *l, Oid index_table, int64 max_lag, int64 timeout)
{
	if (wait_until_fresh(index_table, max_lag, timeout))
		l->latest = RegisterSnapshot(GetLatestSnapshot());
	l->snapshot = l->latest != NULL ? l->latest : GetActiveSnapshot();
	l->def = definition_open(index_table, &l->factdef, &l->fact, &l->index_table);
	if (l->def == NULL)
		report_not_index_table(index_table);
}

void
lookup_close(Lookup *l)
{
	if (l->latest != NULL)
		UnregisterSnapshot(l->latest);
	table_close(l->index_table, NoLock);
	table_close(l->fact, NoLock);
}

static void
scan_entries(Lookup *l)
{
	int			nkeys = l->nkeys;
	EntryScan	scan;
	TupleTableSlot *entry;

	entry_scan_begin(&scan, l->def, l->index_table, l->snapshot, false, nkeys);
	scan.counted = true;
	entry_scan_start(&scan, l->keys);
	while ((entry = entry_scan_next(&scan)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		/* The elements of an array bring a row in several times. */
		if (((l->def->multi && nkeys <= l->def->multi_field) ||
			 (l->ambiguous && !l->copies)) && !is_first_of_row(l, entry))
			continue;
		fetch(l, entry);
	}
	entry_scan_end(&scan);
	if (l->gathering != NULL)
		fetch_pending_rows(l);
	lookup_end_documents(l);
}

/*
 * lookup_check_access
 *		Whether the caller may read what is asked for, and what is there can be
 *		trusted; and how documents are fetched.
 */
void
lookup_check_access(Lookup *l)
{
	IndexDef   *def = l->def;
	AclResult	result;

	result = pg_class_aclcheck(def->relid, GetUserId(), ACL_SELECT);
	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_TABLE, def->name);

	if (check_enable_rls(def->relid, InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("row security of index table \"%s\" is not supported", def->name),
				 errhint("Enable row security on the fact table instead. Look-ups respect it.")));
	l->secured = !l->entries_only &&
		check_enable_rls(l->factdef->relid, InvalidOid, false) == RLS_ENABLED;
	l->copies = def->doc_attno != 0 && !l->rows && !l->secured;
	if (!l->copies && !l->entries_only)
	{
		result = pg_class_aclcheck(l->factdef->relid, GetUserId(), ACL_SELECT);
		if (result != ACLCHECK_OK)
			aclcheck_error(result, OBJECT_TABLE, l->factdef->name);
	}

	if (!def->active)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index table \"%s\" is not active", def->name),
				 errhint("The view indextable.index_tables shows its state.")));

	/*
	 * A snapshot that is kept may still see a row that somebody has deleted,
	 * beside the one that we have inserted in its place.
	 */
	l->ambiguous = IsolationUsesXactSnapshot() || l->factdef->pk_deferrable;

	/* An entry may be of a version of its row that is gone. */
	l->recheck = l->ambiguous || def->async;

	/*
	 * The entries of an index table that is younger than our snapshot are not
	 * those of the fact rows that the snapshot sees.  A statement that has
	 * waited for it may use a newer one, unless its transaction keeps to one.
	 */
	if (TransactionIdIsNormal(def->xmin))
	{
		if (!IsolationUsesXactSnapshot())
		{
			if (!TransactionIdIsCurrentTransactionId(def->xmin) && l->latest == NULL &&
				XidInMVCCSnapshot(def->xmin, l->snapshot))
				l->snapshot = l->latest = RegisterSnapshot(GetLatestSnapshot());
		}
		else if (TransactionIdIsCurrentTransactionId(def->xmin) ||
				 XidInMVCCSnapshot(def->xmin, l->snapshot))
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("index table \"%s\" is newer than the snapshot of this transaction",
							def->name),
					 errhint("Look it up in a new transaction.")));
		if (TransactionIdPrecedes(def->xmin, l->snapshot->xmin))
			def->xmin = FrozenTransactionId;
	}
}

/*
 * wait_until_fresh
 *		Where the caller says how far an asynchronous index table may be behind,
 *		waits until it is not further, or raises an error.  What is applied
 *		meanwhile is seen by a newer snapshot than the query's: true.
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
				 errhint("Try again, use a longer timeout, or look for the cause in the view indextable.queues.")));
	return true;
}

/* key_columns: their names, for hints */
char *
key_columns(IndexDef *def)
{
	StringInfoData list;
	int			i;

	initStringInfo(&list);
	for (i = 0; i < def->nkeys; i++)
		appendStringInfo(&list, "%s\"%s\"", i > 0 ? ", " : "",
						 NameStr(TupleDescAttr(def->desc, def->fields[i].attno - 1)->attname));
	return list.data;
}

/*
 * lookup_key
 *		Turns {"column": value, ...} into search keys; 0 if a value is null, so
 *		that nothing can match.
 */
int
lookup_key(IndexDef *def, Jsonb *key, ScanKey keys)
{
	JsonbIterator *it;
	JsonbIteratorToken token;
	JsonbValue	value;
	bool		given[INDEX_MAX_KEYS] = {0};
	bool		null = false;
	int			n = 0;
	int			i = 0;

	if (!JsonContainerIsObject(&key->root) || JsonContainerSize(&key->root) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("key must be an object with at least one column"),
				 errhint("For example: '{\"%s\": ...}'.",
						 NameStr(TupleDescAttr(def->desc, def->ident[0] - 1)->attname))));

	memcpy(keys, def->search_keys, sizeof(ScanKeyData) * def->nkeys);
	it = JsonbIteratorInit(&key->root);
	while ((token = JsonbIteratorNext(&it, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
		{
			char	   *name = pnstrdup(value.val.string.val, value.val.string.len);

			for (i = 0; i < def->nkeys; i++)
				if (strcmp(name, NameStr(TupleDescAttr(def->desc,
													   def->fields[i].attno - 1)->attname)) == 0)
					break;
			if (i == def->nkeys)
				ereport(ERROR,
						(errcode(ERRCODE_UNDEFINED_COLUMN),
						 errmsg("\"%s\" is not a key column of index table \"%s\"", name, def->name),
						 errhint("The key columns are %s.", key_columns(def))));
			given[i] = true;
			n++;
		}
		else if (token == WJB_VALUE && !key_value_cast(def, i, &value, &keys[i].sk_argument))
			null = true;
	}
	for (i = 0; i < n; i++)
		if (!given[i])
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("key must have the leading key columns of index table \"%s\"", def->name),
					 errdetail("Column \"%s\" is missing.",
							   NameStr(TupleDescAttr(def->desc, def->fields[i].attno - 1)->attname)),
					 errhint("The key columns are %s.", key_columns(def))));
	return null ? 0 : n;
}
