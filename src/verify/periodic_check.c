/*-------------------------------------------------------------------------
 *
 * periodic_check.c
 *	  Verifies index tables periodically, writes reports to the table checked and, if
 *	  the setting check_repair is on, has the index tables repaired.
 *
 * A worker does that between two batches, outside of any transaction.  The lock on
 * the table checked lets only one worker of a database check at a time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "executor/spi.h"
#include "nodes/pg_list.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "../catalog/definition_rows.h"
#include "../catalog/owner.h"
#include "../catalog/table_access.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/settings.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "compare.h"
#include "discrepancy.h"
#include "periodic_check.h"

/* The worker looks once in so many ms whether a check is due. */
#define LOOK_INTERVAL		10000

/* So many reports on each index table are kept. */
#define MAX_REPORTS			100

typedef struct Report
{
	TimestampTz began;
	int64		missing;
	int64		dangling;
	int64		stale;
	int64		rejected;
	int64		setup;
	char	   *example;		/* the first discrepancy; NULL if none was
								 * found */
	char	   *error;			/* why the check failed; NULL if it did not */
} Report;

static List *find_due(MemoryContext cxt);
static bool check_one(Oid index_table, MemoryContext cxt);
static bool is_no_conflict(ErrorData *error, void *arg);
static void count_discrepancy(Discrepancy *d, void *arg);
static void write_report(Oid index_table, Report *report);
static void repair_one(Oid index_table, MemoryContext cxt);

/*
 * run_periodic_checks
 *		Checks the index tables whose last check began longer ago than the setting
 *		check_interval.
 */
void
run_periodic_checks(void)
{
	static TimestampTz looked_at = 0;
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext cxt;
	List	   *volatile due;
	ListCell   *cell;

	if (setting_check_interval == 0 ||
		!TimestampDifferenceExceeds(looked_at, GetCurrentTimestamp(),
									Min((int64) setting_check_interval * 1000, LOOK_INTERVAL)))
		return;
	cxt = AllocSetContextCreate(TopMemoryContext, "indextable check", ALLOCSET_DEFAULT_SIZES);
	due = find_due(cxt);
	foreach(cell, due)
	{
		Oid			index_table = lfirst_oid(cell);

		PG_TRY();
		{
			if (check_one(index_table, cxt) && setting_check_repair)
				repair_one(index_table, cxt);
		}
		PG_CATCH();
		{
			ErrorData  *error = recover_from_error(caller, is_no_conflict, NULL);
			Report		report = {.began = GetCurrentTimestamp(),.error = error->message};

			StartTransactionCommand();
			PushActiveSnapshot(GetTransactionSnapshot());
			/* Where another session was in the way, it is still due. */
			if (!is_conflict(error) && OidIsValid(catalog_fact_of(index_table)))
				write_report(index_table, &report);
			PopActiveSnapshot();
			CommitTransactionCommand();
			MemoryContextSwitchTo(caller);
			FreeErrorData(error);
		}
		PG_END_TRY();
	}
	looked_at = GetCurrentTimestamp();
	MemoryContextDelete(cxt);
}

/* is_no_conflict: returns whether an error is none of those that pass with another session; for recover_from_error() */
static bool
is_no_conflict(ErrorData *error, void *arg)
{
	return !is_conflict(error);
}

/*
 * find_due
 *		Returns the OIDs of the index tables that are due; none if the database does
 *		not have the extension.
 */
static List *
find_due(MemoryContext cxt)
{
	Oid			type = FLOAT8OID;
	Datum		seconds = Float8GetDatum(setting_check_interval);
	List	   *due = NIL;
	Rows		rows = {0};

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	if (OidIsValid(catalog_relid("checked", true)))
		rows = query_as(get_extension_owner(), psprintf("SELECT index_table::oid FROM %s d"
														" WHERE replaces IS NULL AND state <> 'building' AND NOT EXISTS"
														" (SELECT FROM %s c WHERE c.index_table = d.index_table"
														" AND c.checked_at > clock_timestamp() - make_interval(secs => $1))"
														" ORDER BY 1", catalog_table("definition"), catalog_table("checked")),
						1, &type, &seconds);
	for (uint64 i = 0; i < rows.n; i++)
	{
		Oid			relid = DatumGetObjectId(row_value(&rows, i, 1));
		MemoryContext old;

		/* Those of Citus are checked once, by the coordinator. */
		if (place_is_governed_elsewhere(relid))
			continue;
		old = MemoryContextSwitchTo(cxt);
		due = lappend_oid(due, relid);
		MemoryContextSwitchTo(old);
	}
	PopActiveSnapshot();
	CommitTransactionCommand();
	return due;
}

/*
 * check_one
 *		Verifies an index table in a transaction of its own, writes the report, and
 *		returns whether there is something to mend.
 *
 * It does nothing if another worker is checking, or if the index table has been
 * dropped since it was found due.
 */
static bool
check_one(Oid index_table, MemoryContext cxt)
{
	Report		report = {.began = GetCurrentTimestamp()};
	bool		mend = false;
	Oid			checked;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	checked = catalog_relid("checked", false);
	if (ConditionalLockRelationOid(checked, ShareUpdateExclusiveLock) &&
		OidIsValid(catalog_fact_of(index_table)) && get_rel_name(index_table) != NULL)
	{
		pgstat_report_activity(STATE_RUNNING, psprintf("checking %s", quoted_relation(index_table)));
		verify_index_table(index_table, setting_check_sample, count_discrepancy, &report);
		write_report(index_table, &report);
		if (report.example != NULL)
			ereport(LOG,
					(errmsg("check of index table \"%s\" found discrepancies", get_rel_name(index_table)),
					 errdetail("Missing entries: " INT64_FORMAT ", dangling entries: " INT64_FORMAT ", stale entries: " INT64_FORMAT
							   ", rejected rows: " INT64_FORMAT ", setup problems: " INT64_FORMAT ".",
							   report.missing, report.dangling, report.stale, report.rejected, report.setup)));
		mend = report.missing + report.dangling + report.stale + report.setup > 0;
	}
	PopActiveSnapshot();
	CommitTransactionCommand();
	return mend;
}

/* count_discrepancy: counts a discrepancy in the report, which keeps the first one as an example */
static void
count_discrepancy(Discrepancy *d, void *arg)
{
	Report	   *report = arg;

	report->missing += strcmp(d->kind, "missing") == 0;
	report->dangling += strcmp(d->kind, "dangling") == 0;
	report->stale += strcmp(d->kind, "stale") == 0;
	report->rejected += strcmp(d->kind, "rejected") == 0;
	report->setup += strcmp(d->kind, "setup") == 0;
	if (report->example == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
		Jsonb	   *key = discrepancy_key(d);

		report->example = psprintf("%s%s%s%s%s", d->kind, key != NULL ? " " : "",
								   key != NULL ? JsonbToCString(NULL, &key->root, VARSIZE(key)) : "",
								   d->problem != NULL ? ": " : "", d->problem != NULL ? d->problem : "");
		MemoryContextSwitchTo(old);
	}
}

/* write_report: adds a report to the table checked, and deletes the oldest if there are more than MAX_REPORTS */
static void
write_report(Oid index_table, Report *report)
{
	Oid			types[] = {OIDOID, TIMESTAMPTZOID, FLOAT8OID, INT8OID, INT8OID, INT8OID, INT8OID, INT8OID, TEXTOID, TEXTOID};
	Datum		values[10];
	char		nulls[10];
	const char *table = catalog_table("checked");
	SPIPlanPtr	plan;
	Caller		caller;

	values[0] = ObjectIdGetDatum(index_table);
	values[1] = TimestampTzGetDatum(report->began);
	values[2] = Float8GetDatum(setting_check_sample);
	values[3] = Int64GetDatum(report->missing);
	values[4] = Int64GetDatum(report->dangling);
	values[5] = Int64GetDatum(report->stale);
	values[6] = Int64GetDatum(report->rejected);
	values[7] = Int64GetDatum(report->setup);
	values[8] = report->example == NULL ? (Datum) 0 : CStringGetTextDatum(report->example);
	values[9] = report->error == NULL ? (Datum) 0 : CStringGetTextDatum(report->error);
	memset(nulls, ' ', sizeof(nulls));
	nulls[8] = report->example == NULL ? 'n' : ' ';
	nulls[9] = report->error == NULL ? 'n' : ' ';
	become_owner(&caller, get_extension_owner());
	SPI_connect();
	plan = SPI_prepare(psprintf("INSERT INTO %s (index_table, checked_at, duration, sample, missing,"
								" dangling, stale, rejected, setup, example, error)"
								" VALUES ($1::regclass, $2, clock_timestamp() - $2, $3, $4, $5, $6, $7, $8, $9, $10)",
								table), 10, types);
	if (plan == NULL || SPI_execute_plan(plan, values, nulls, false, 0) != SPI_OK_INSERT)
		elog(ERROR, "could not write to %s", table);
	execute_with_latest_snapshot(psprintf("DELETE FROM %s WHERE index_table = $1::regclass AND checked_at <"
										  " (SELECT checked_at FROM %s WHERE index_table = $1::regclass"
										  " ORDER BY checked_at DESC OFFSET %d LIMIT 1)", table, table, MAX_REPORTS - 1), 1, types, values);
	SPI_finish();
	become_caller(&caller);
}

/*
 * repair_one
 *		Calls repair() for an index table, and notes in its report that it did.
 *
 * The CALL runs in a portal, because only there repair() may commit.  Its plan is
 * made in a memory context that outlives these transactions.  All arguments have the
 * types of the parameters, so that no procedure of somebody else can be preferred.
 */
static void
repair_one(Oid index_table, MemoryContext cxt)
{
	MemoryContext old;
	char	   *sql;
	List	   *plans;
	Portal		portal;
	const char *table;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	old = MemoryContextSwitchTo(cxt);
	sql = psprintf("CALL " IT_SCHEMA ".repair(%u::pg_catalog.regclass, 1000, NULL::bigint, NULL::bigint,"
				   " NULL::bigint, NULL::bigint)", index_table);
	pgstat_report_activity(STATE_RUNNING, sql);
	plans = pg_plan_queries(pg_analyze_and_rewrite_fixedparams(linitial_node(RawStmt, pg_parse_query(sql)),
															   sql, NULL, 0, NULL),
							sql, 0, NULL);
	portal = CreatePortal("indextable repair", true, true);
	portal->visible = false;
	PortalDefineQuery(portal, NULL, sql, CMDTAG_CALL, plans, NULL);
	MemoryContextSwitchTo(old);
	PopActiveSnapshot();
	PortalStart(portal, NULL, 0, InvalidSnapshot);
	portal_run_all(portal);
	PortalDrop(portal, false);
	PushActiveSnapshot(GetTransactionSnapshot());
	table = catalog_table("checked");
	run_sql(get_extension_owner(), "UPDATE %s SET repaired_at = clock_timestamp() WHERE index_table = %u::regclass"
			" AND checked_at = (SELECT max(checked_at) FROM %s WHERE index_table = %u::regclass)",
			table, index_table, table, index_table);
	PopActiveSnapshot();
	CommitTransactionCommand();
}
