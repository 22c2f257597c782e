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
#include "../queue/queue.h"
#include "../util/settings.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "verify.h"

/* The worker looks once in so many ms whether a check is due. */
#define LOOK_INTERVAL		10000

/* A round of checks. */
typedef struct Checks
{
	MemoryContext cxt;			/* outlives their transactions */
	List	   *due;			/* OIDs of index tables */
	Oid			index_table;	/* the one that is checked */
	const char *error;			/* with which that has failed, or NULL */
	bool		mend;			/* it has found something to mend */
} Checks;

static void find_due(void *checks);
static void report_check(void *checks);
static bool is_no_conflict(ErrorData *error, void *arg);
static void repair_checked(void *checks);

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
	Checks		c = {0};

	if (setting_check_interval == 0 ||
		!TimestampDifferenceExceeds(looked_at, GetCurrentTimestamp(),
									Min((int64) setting_check_interval * 1000, LOOK_INTERVAL)))
		return;
	c.cxt = AllocSetContextCreate(TopMemoryContext, "indextable check", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(c.cxt);
	(void) run_in_transaction(find_due, &c, NULL);
	foreach_oid(index_table, c.due)
	{
		ErrorData  *error;

		c.index_table = index_table;
		c.error = NULL;
		error = run_task(report_check, &c, is_no_conflict);
		if (error == NULL && c.mend && setting_check_repair)
			error = run_task(repair_checked, &c, is_no_conflict);
		/* Where another session was in the way, it is still due. */
		if (error != NULL && !is_conflict(error))
		{
			c.error = error->message;
			(void) run_task(report_check, &c, NULL);
		}
	}
	looked_at = GetCurrentTimestamp();
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(c.cxt);
}

/* is_no_conflict: returns whether an error is none of those that pass with another session; for run_in_transaction() */
static bool
is_no_conflict(ErrorData *error, void *arg)
{
	return !is_conflict(error);
}

/*
 * find_due
 *		Lists the index tables that are due; none if the database does not have the extension, or
 *		that of 1.1, which cannot report.
 */
static void
find_due(void *checks)
{
	Checks	   *c = checks;
	Rows		rows = {0};

	if (OidIsValid(catalog_relid("checked", true)) && !catalog_is_old())
		rows = query_as(get_extension_owner(), "SELECT * FROM " IT_INTERNAL ".due_for_check(%d)", setting_check_interval);
	for (uint64 i = 0; i < rows.n; i++)
	{
		Oid			relid = DatumGetObjectId(row_value(&rows, i, 1));
		MemoryContext old = MemoryContextSwitchTo(c->cxt);

		/* Those of Citus are checked once, by the coordinator. */
		if (!place_is_governed_elsewhere(relid))
			c->due = lappend_oid(c->due, relid);
		MemoryContextSwitchTo(old);
	}
}

/*
 * report_check
 *		Checks an index table, keeps the report, and notes whether there is something to mend.
 *		With an error, it reports only that the check has failed with it.
 *
 * It does nothing if another worker is checking, or if the index table or the extension has
 * been dropped since it was found due.  The check is the worker's, as a superuser, but the owner of the
 * extension writes the report, because that may fire triggers of his.
 */
static void
report_check(void *checks)
{
	Checks	   *c = checks;
	Oid			checked = catalog_relid("checked", true);
	Oid			type;
	Rows		found;
	Datum		report;

	c->mend = false;
	if (!OidIsValid(checked) || !ConditionalLockRelationOid(checked, ShareUpdateExclusiveLock) ||
		!OidIsValid(catalog_fact_of(c->index_table)) || get_rel_name(c->index_table) == NULL)
		return;
	pgstat_report_activity(STATE_RUNNING, psprintf("checking %s", quoted_relation(c->index_table)));
	found = query_as(InvalidOid, "SELECT r, r.missing + r.dangling + r.stale + r.setup > 0,"
					 " r.example, r.missing, r.dangling, r.stale, r.rejected, r.setup FROM "
					 IT_INTERNAL ".report_of_check(%u::regclass, %.17g, %s::text) r",
					 c->index_table, setting_check_sample, c->error == NULL ? "NULL" : quote_literal_cstr(c->error));
	type = get_rel_type_id(checked);
	report = row_value(&found, 0, 1);
	c->mend = DatumGetBool(row_value(&found, 0, 2));
	(void) query_with(get_extension_owner(), "SELECT " IT_INTERNAL ".keep_report($1)", 1, &type, &report);
	if (row_text(&found, 0, 3) != NULL)
		ereport(LOG,
				(errmsg("check of index table \"%s\" found discrepancies", get_rel_name(c->index_table)),
				 errdetail("Missing entries: %s, dangling entries: %s, stale entries: %s, rejected rows: %s, setup problems: %s.",
						   row_text(&found, 0, 4), row_text(&found, 0, 5), row_text(&found, 0, 6),
						   row_text(&found, 0, 7), row_text(&found, 0, 8))));
}

/*
 * repair_checked
 *		Calls repair() for an index table, and notes in its report that it did.
 *
 * The CALL runs in a portal, because only there repair() may commit.  Its plan is
 * made in a memory context that outlives these transactions.  All arguments have the
 * types of the parameters, so that no procedure of somebody else can be preferred.
 */
static void
repair_checked(void *checks)
{
	Checks	   *c = checks;
	MemoryContext old = MemoryContextSwitchTo(c->cxt);
	char	   *sql;
	List	   *plans;
	Portal		portal;
	const char *table;

	sql = psprintf("CALL " IT_SCHEMA ".repair(%u::pg_catalog.regclass, 1000, NULL::bigint, NULL::bigint,"
				   " NULL::bigint, NULL::bigint)", c->index_table);
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
			table, c->index_table, table, c->index_table);
}
