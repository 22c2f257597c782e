/*-------------------------------------------------------------------------
 *
 * periodic_check.c
 *	  Has index tables checked periodically and, if the setting check_repair is on,
 *	  repaired.
 *
 * A worker does that between two batches, outside of any transaction.  What is due, what is
 * found and which reports are kept is SQL (see "Checks" in the install script); here is what
 * SQL cannot do: a transaction for each index table, errors that end it, and the CALL of a
 * procedure that commits.  The lock on the table checked lets only one worker of a database
 * check at a time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "../catalog/catalog.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/settings.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "verify.h"

/* The worker looks once in so many ms whether a check is due. */
#define LOOK_INTERVAL		10000

static List *find_due(MemoryContext cxt);
static bool report_one(Oid index_table, const char *error);
static bool is_no_conflict(ErrorData *error, void *arg);
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
			if (report_one(index_table, NULL) && setting_check_repair)
				repair_one(index_table, cxt);
		}
		PG_CATCH();
		{
			ErrorData  *error = recover_from_error(caller, is_no_conflict, NULL);

			/* Where another session was in the way, it is still due. */
			if (!is_conflict(error))
				(void) report_one(index_table, error->message);
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
 *		not have the extension, or that of 1.1, which cannot report.
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
	if (OidIsValid(catalog_relid("checked", true)) && strcmp(extension_version(), "1.1") != 0)
		rows = query_as(get_extension_owner(), "SELECT * FROM " IT_INTERNAL ".due_for_check($1)", 1, &type, &seconds);
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
 * report_one
 *		Checks an index table in a transaction of its own, keeps the report, and returns
 *		whether there is something to mend.  With an error, it reports only that the check
 *		has failed with it.
 *
 * It does nothing if another worker is checking, or if the index table or the extension has
 * been dropped since it was found due.  The check is the worker's, as a superuser, but the owner of the
 * extension writes the report, because that may fire triggers of his.
 */
static bool
report_one(Oid index_table, const char *error)
{
	bool		mend = false;
	Oid			checked;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	checked = catalog_relid("checked", true);
	if (OidIsValid(checked) && ConditionalLockRelationOid(checked, ShareUpdateExclusiveLock) &&
		OidIsValid(catalog_fact_of(index_table)) && get_rel_name(index_table) != NULL)
	{
		Oid			type = get_rel_type_id(checked);
		Rows		found;
		Datum		report;

		pgstat_report_activity(STATE_RUNNING, psprintf("checking %s", quoted_relation(index_table)));
		found = query_as(InvalidOid, psprintf("SELECT r, r.missing + r.dangling + r.stale + r.setup > 0,"
											  " r.example, r.missing, r.dangling, r.stale, r.rejected, r.setup FROM "
											  IT_INTERNAL ".report_of_check(%u::regclass, %.17g, %s::text) r",
											  index_table, setting_check_sample, error == NULL ? "NULL" : quote_literal_cstr(error)),
						 0, NULL, NULL);
		report = row_value(&found, 0, 1);
		mend = DatumGetBool(row_value(&found, 0, 2));
		(void) query_as(get_extension_owner(), "SELECT " IT_INTERNAL ".keep_report($1)", 1, &type, &report);
		if (row_text(&found, 0, 3) != NULL)
			ereport(LOG,
					(errmsg("check of index table \"%s\" found discrepancies", get_rel_name(index_table)),
					 errdetail("Missing entries: %s, dangling entries: %s, stale entries: %s, rejected rows: %s, setup problems: %s.",
							   row_text(&found, 0, 4), row_text(&found, 0, 5), row_text(&found, 0, 6),
							   row_text(&found, 0, 7), row_text(&found, 0, 8))));
	}
	PopActiveSnapshot();
	CommitTransactionCommand();
	return mend;
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
