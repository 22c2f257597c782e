/*-------------------------------------------------------------------------
 *
 * periodic_check.c
 *	  Checks index tables periodically and, if the setting check_repair is on, repairs them.
 *
 * A worker checks them between two batches, outside of any transaction.  What is due, what
 * is found and which reports are kept is SQL (see "Checks" in the install script); here is
 * what SQL cannot do: a transaction for each index table, errors that end it, and the CALL
 * of a procedure that commits.  The lock on the table checked lets only one worker of a
 * database check at a time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
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
#include "../util/time_limit.h"
#include "verify.h"

/* The interval, in ms, at which the worker looks whether a check is due. */
#define LOOK_INTERVAL		10000

/* A round of checks. */
typedef struct Checks
{
	MemoryContext cxt;			/* outlives their transactions */
	List	   *due;			/* OIDs of index tables, */
	List	   *owners;			/* and of their owners */
	Work		work;			/* the index table that is checked */
	int			share;			/* of the sample that the setting asks for, of
								 * WHOLE */
	bool		again;			/* the check is to be made of a smaller share */
	const char *error;			/* with which that has failed, or NULL */
	bool		mend;			/* it has found something to mend */
} Checks;

/* The share that is the sample of the setting, and the smallest that is tried. */
#define WHOLE				1000000
#define SMALLEST			100

static void check_one(Checks *c);
static bool note_failed(ErrorData *error, void *arg);
static void find_due(void *checks);
static void report_check(void *checks);
static void repair_checked(void *checks);

/*
 * run_periodic_checks
 *		Checks one of the index tables whose last check began longer ago than the setting
 *		check_interval; returns whether more of them may be due.
 *
 * A check that takes longer than a worker may be busy with one table is made of a smaller
 * sample.
 */
bool
run_periodic_checks(void)
{
	static TimestampTz looked_at = 0;
	static Oid	last = InvalidOid;
	MemoryContext caller = CurrentMemoryContext;
	Checks		c = {.work = {MyDatabaseId, InvalidOid, InvalidOid, WORK_CHECK}};
	bool		more = false;

	if (setting_check_interval == 0 ||
		!TimestampDifferenceExceeds(looked_at, GetCurrentTimestamp(),
									Min((int64) setting_check_interval * 1000, LOOK_INTERVAL)))
		return false;
	c.cxt = AllocSetContextCreate(TopMemoryContext, "indextable check", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(c.cxt);
	(void) run_limited(find_due, &c, is_no_conflict);
	owners_begin_round();
	/* They come in the order of their OIDs, each in its turn. */
	for (int i = 0; i < 2 * list_length(c.due) && !more; i++)
	{
		Trouble		trouble;
		TimestampTz next_try = DT_NOEND;
		TimestampTz begun_at = GetCurrentTimestamp();
		Oid			owner = list_nth_oid(c.owners, i % list_length(c.due));

		c.work.table = list_nth_oid(c.due, i % list_length(c.due));
		if ((i < list_length(c.due) && c.work.table <= last) ||
			(trouble_of(&c.work, &trouble) && begun_at < trouble.next_try) || !owner_may_try(owner, &next_try))
			continue;
		last = c.work.table;
		check_one(&c);
		owner_took(owner, TimestampDifferenceMilliseconds(begun_at, GetCurrentTimestamp()));
		more = true;
	}
	if (!more)
		looked_at = GetCurrentTimestamp();
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(c.cxt);
	return more;
}

/* check_one: checks an index table, and repairs it */
static void
check_one(Checks *c)
{
	ErrorData  *error;
	bool		unused;

	c->share = batch_limit(&c->work, WHOLE, &unused);
	c->error = NULL;
	error = run_task(&c->work, report_check, c, note_failed);
	if (error == NULL)
	{
		trouble_end(&c->work);
		batch_took(&c->work, c->share, task_ms(),
				   setting_batch_timeout == 0 ? PG_INT32_MAX : setting_batch_timeout);
		if (c->mend && setting_check_repair)
			error = run_task(&c->work, repair_checked, c, note_failed);
	}

	/*
	 * Where another session was in the way, or the sample was too large, it
	 * is still due.
	 */
	if (error == NULL || is_conflict(error) || c->again)
		return;
	c->error = error->message;
	(void) run_task(&c->work, report_check, c, is_no_conflict);
}

/* note_failed: notes the error with which a check has failed; for run_task() */
static bool
note_failed(ErrorData *error, void *arg)
{
	Checks	   *c = arg;

	c->again = !c->mend && c->share > SMALLEST && is_over_time(error);
	if (c->again)
		batch_was_cut(&c->work, c->share);
	return trouble_note_error(&c->work, error);
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
		rows = query_as(get_extension_owner(), "SELECT * FROM " IT_INTERNAL ".due_for_check(%d)",
						setting_check_interval);
	for (uint64 i = 0; i < rows.n; i++)
	{
		Oid			relid = DatumGetObjectId(row_value(&rows, i, 1));
		MemoryContext old = MemoryContextSwitchTo(c->cxt);

		/* Those of Citus are checked once, by the coordinator. */
		if (!place_is_governed_elsewhere(relid))
		{
			c->due = lappend_oid(c->due, relid);
			c->owners = lappend_oid(c->owners, table_owner(relid));
			owners_found(table_owner(relid));
		}
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
		!OidIsValid(catalog_fact_of(c->work.table)) || get_rel_name(c->work.table) == NULL)
		return;
	pgstat_report_activity(STATE_RUNNING, psprintf("checking %s", quoted_relation(c->work.table)));
	found = query_as(InvalidOid,
					 "SELECT r, r.missing + r.dangling + r.stale + r.setup > 0,"
					 " r.example, r.missing, r.dangling, r.stale, r.rejected, r.setup FROM " IT_INTERNAL
					 ".report_of_check(%u::regclass, %.17g, %s::text) r",
					 c->work.table, setting_check_sample * c->share / WHOLE,
					 c->error == NULL ? "NULL" : quote_literal_cstr(c->error));
	type = get_rel_type_id(checked);
	report = row_value(&found, 0, 1);
	c->mend = DatumGetBool(row_value(&found, 0, 2));
	(void) query_with(get_extension_owner(), "SELECT " IT_INTERNAL ".keep_report($1)", 1, &type, &report);
	if (row_text(&found, 0, 3) != NULL)
		ereport(LOG,
				(errmsg("check of index table \"%s\" found discrepancies", get_rel_name(c->work.table)),
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
 * types of the parameters, so that no procedure of another role can be preferred.
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
				   " NULL::bigint, NULL::bigint)", c->work.table);
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
			table, c->work.table, table, c->work.table);
}
