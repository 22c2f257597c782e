/*-------------------------------------------------------------------------
 *
 * settings.c
 *	  Defines the settings indextable.*
 *
 * Each is described where it is defined, and docs/reference.md shows these texts.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/plancache.h"

#include "compat.h"
#include "settings.h"

int			setting_max_workers = 4;
int			setting_workers_per_database = 1;
int			setting_naptime = 1000;
int			setting_batch_size = 10000;
int			setting_batch_timeout = 30000;
int			setting_backlog_limit = 1000000;
int			setting_backlog_action = BACKLOG_WARN;
int			setting_check_interval = 0;
double		setting_check_sample = 100;
bool		setting_check_repair = false;
bool		setting_advice = true;
bool		setting_drop_table = true;
int			setting_planner = PLANNER_ON;
bool		setting_stale_reads = false;
bool		setting_use_hidden = false;
int			setting_late_rows = -1;

/* Set while queries run that no user has asked for: stale_reads is not for them. */
bool		exact_reads_only = false;

static const struct config_enum_entry backlog_actions[] = {
	{"nothing", BACKLOG_NOTHING, false},
	{"warn", BACKLOG_WARN, false},
	{"slow", BACKLOG_SLOW, false},
	{NULL, 0, false}
};
static const struct config_enum_entry planner_uses[] = {
	{"off", PLANNER_OFF, false},
	{"on", PLANNER_ON, false},
	{"force", PLANNER_FORCE, false},
	{"fallback", PLANNER_FALLBACK, true},
	{NULL, 0, false}
};

static void assign_use_hidden(bool value, void *extra);
static bool is_set_by(const char *name, struct config_generic **option, Oid user);

/* define_gucs: defines the settings when the library is loaded */
void
define_gucs(void)
{
	DefineCustomIntVariable("indextable.max_workers",
							"Sets the number of workers that may run in the server.",
							"Each takes one of max_worker_processes. 0 starts none. Workers are started automatically only if indextable is in shared_preload_libraries.",
							&setting_max_workers, 4, 0, MAX_WORKERS, PGC_SIGHUP, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("indextable.workers_per_database",
							"Sets the number of workers that share the load of one database.",
							"A fact table is drained by one of them at a time.",
							&setting_workers_per_database, 1, 1, MAX_WORKERS, PGC_SIGHUP, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("indextable.naptime",
							"Sets how long a worker sleeps if no commit wakes it.",
							"No commit wakes it if indextable is not in shared_preload_libraries.",
							&setting_naptime, 1000, 10, INT_MAX / 1000, PGC_SIGHUP, GUC_UNIT_MS,
							NULL, NULL, NULL);
	DefineCustomIntVariable("indextable.batch_size",
							"Sets how many changes are applied together.",
							NULL,
							&setting_batch_size, 10000, 1, MAX_BATCH_SIZE, PGC_USERSET, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("indextable.batch_timeout",
							"Sets for how long a worker may be busy with one table before others have their turn.",
							"A batch that takes longer is rolled back, and tried again with fewer changes. 0 sets no limit.",
							&setting_batch_timeout, 30000, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_MS,
							NULL, NULL, NULL);
	DefineCustomIntVariable("indextable.backlog_limit",
							"Sets how many changes may be queued for a fact table before the action in indextable.backlog_action is taken.",
							"0 sets no limit.",
							&setting_backlog_limit, 1000000, 0, INT_MAX, PGC_SUSET, 0,
							NULL, NULL, NULL);
	DefineCustomEnumVariable("indextable.backlog_action",
							 "Sets what happens to writers of a fact table with more changes queued than indextable.backlog_limit.",
							 "They go on (nothing), are warned (warn), or wait a little before they commit (slow).",
							 &setting_backlog_action, BACKLOG_WARN, backlog_actions, PGC_SUSET, 0,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("indextable.check_interval",
							"Sets how often workers check each index table as verify() does.",
							"The view indextable.checks shows the results. 0 turns the checks off.",
							&setting_check_interval, 0, 0, INT_MAX / 1000, PGC_SIGHUP, GUC_UNIT_S,
							NULL, NULL, NULL);
	DefineCustomRealVariable("indextable.check_sample",
							 "Sets the share of an index table and its fact table that is checked each time.",
							 "The share is a percentage; the blocks are chosen at random.",
							 &setting_check_sample, 100, 0.001, 100, PGC_SIGHUP, 0,
							 NULL, NULL, NULL);
	DefineCustomBoolVariable("indextable.check_repair",
							 "Lets workers repair index tables when a check has found discrepancies.",
							 NULL,
							 &setting_check_repair, false, PGC_SIGHUP, 0,
							 NULL, NULL, NULL);
	DefineCustomBoolVariable("indextable.advice",
							 "Enables notices about index tables that may cost more than they save, and about asynchronous ones that no worker keeps in step.",
							 "They come from create(), alter() and wait(). The function indextable.advise() gives more details.",
							 &setting_advice, true, PGC_USERSET, 0,
							 NULL, NULL, NULL);
	DefineCustomBoolVariable("indextable.drop_table",
							 "Lets DROP TABLE drop index tables.",
							 "If it is off, they are dropped by indextable.drop(), or with their fact table, and not by schema tools that do not know them.",
							 &setting_drop_table, true, PGC_USERSET, 0,
							 NULL, NULL, NULL);
	DefineCustomEnumVariable("indextable.planner",
							 "Sets what the planner uses index tables for in queries of their fact tables.",
							 "They answer queries that they are cheaper for (on), all that they can answer (force, for tests), or none (off).",
							 &setting_planner, PLANNER_ON, planner_uses, PGC_USERSET, GUC_EXPLAIN,
							 NULL, NULL, NULL);
	DefineCustomBoolVariable("indextable.stale_reads",
							 "Lets asynchronous index tables answer queries of their fact tables.",
							 "Such an answer may lack what was committed last. EXPLAIN shows it. It counts for the queries of the role that has set it, of index tables that the role may SELECT from.",
							 &setting_stale_reads, false, PGC_USERSET, GUC_EXPLAIN,
							 NULL, NULL, NULL);
	DefineCustomBoolVariable("indextable.use_hidden",
							 "Lets index tables that are hidden answer queries of their fact tables, as others do.",
							 "alter() hides them. Asynchronous ones answer queries of the role that has set it, as with indextable.stale_reads.",
							 &setting_use_hidden, false, PGC_USERSET, GUC_EXPLAIN,
							 NULL, assign_use_hidden, NULL);
	DefineCustomIntVariable("indextable.late_rows",
							"Sets up to how many rows, found by an index table, Citus is asked for by their shards alone.",
							"It is asked so if indextable.stale_reads is on and entries lack something that a query asks for. If there are more rows, Citus asks all shards. -1 stands for half of the shards, and 0 turns this off.",
							&setting_late_rows, -1, -1, 1000, PGC_USERSET, GUC_EXPLAIN,
							NULL, NULL, NULL);
	MarkGUCPrefixReserved("indextable");
}

/*
 * assign_use_hidden
 *		Has plans that are kept made anew: which index tables they use depends on the setting.
 *
 * It may be called while a transaction is aborted, and only marks plans, as the server does for
 * session_replication_role.
 */
static void
assign_use_hidden(bool value, void *extra)
{
	if (value != setting_use_hidden)
		ResetPlanCache();
}

/* stale_reads_set_by: returns whether stale_reads is on, and a user has decided that */
bool
stale_reads_set_by(Oid user)
{
	static struct config_generic *option = NULL;

	return setting_stale_reads && !exact_reads_only && is_set_by("indextable.stale_reads", &option, user);
}

/* use_hidden_set_by: returns whether use_hidden is on, and a user has decided that */
bool
use_hidden_set_by(Oid user)
{
	static struct config_generic *option = NULL;

	return setting_use_hidden && is_set_by("indextable.use_hidden", &option, user);
}

/*
 * is_set_by
 *		Returns whether a user is the one who has decided about a setting; *option remembers it.
 *
 * The user that runs SET, or the owner of a function with a SET clause, decides for his own
 * queries: what he calls, as a function that is SECURITY DEFINER or a view, may rely on an exact
 * answer.  What the session has begun with (the settings of its role and database, and the options
 * of the client) is the choice of the session's user.  The server's configuration is for
 * everybody.
 */
static bool
is_set_by(const char *name, struct config_generic **option, Oid user)
{
	if (*option == NULL)
		*option = find_option_compat(name);
	if ((*option)->source < PGC_S_DATABASE)
		return true;
	return user == ((*option)->source < PGC_S_INTERACTIVE ? GetSessionUserId() : (*option)->srole);
}
