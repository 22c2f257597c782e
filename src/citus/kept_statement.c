/*-------------------------------------------------------------------------
 *
 * kept_statement.c
 *	  Runs statements that search index tables, and keeps them analyzed for other searches of the same kind.
 *
 * To parse and to analyze a statement takes as long as one shard takes to answer it.  It is planned for the values
 * of each search: of Citus' plans for all values, those of this node's own shards are made anew each time, and
 * kept for ever.
 *
 * A search has the text of its statement made, by which the kept one is found.  All else is left to the
 * server, as with the statements that users prepare: a statement is analyzed anew after a change of a table, or
 * under another search_path, and rights are checked when it is executed.
 * Only those statements are kept that were run last.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "lib/ilist.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/snapmgr.h"

#include "../util/sql.h"
#include "../util/while_set.h"
#include "citus.h"

/* The number of statements that are kept. */
#define MAX_KEPT			64

typedef struct KeptStatement
{
	dlist_node	node;
	Oid			relid;
	SPIPlanPtr	plan;
	int			running;		/* number of executions under way */
} KeptStatement;

/* The one that was run last is the first. */
static dlist_head kept = DLIST_STATIC_INIT(kept);
static int	nkept = 0;

static Rows query_planned_once(KeptStatement *statement, Datum *values);
static KeptStatement *find_or_keep(Oid relid, const char *sql, int nargs, Oid *types);
static KeptStatement *find_kept(Oid relid, const char *sql, int nargs, Oid *types);
static KeptStatement *keep(Oid relid, const char *sql, int nargs, Oid *types);
static bool is_of(KeptStatement *statement, Oid relid, const char *sql, int nargs, Oid *types);
static void forget_oldest(void);

/*
 * run_kept
 *		Runs a statement about one table as send_rows() does.  params may be NULL.
 */
void
run_kept(Oid relid, const char *sql, ParamListInfo params, Snapshot snapshot, DestReceiver *dest)
{
	int			n = params == NULL ? 0 : params->numParams;
	Oid		   *types = palloc(sizeof(Oid) * n);
	KeptStatement *statement;

	for (int i = 0; i < n; i++)
		types[i] = params->params[i].ptype;
	statement = find_or_keep(relid, sql, n, types);
	statement->running++;
	DO_AND_UNDO(statement->running--, send_rows(relid, statement->plan, params, snapshot, dest));
}

/*
 * query_kept
 *		Runs a query that changes nothing as query_with() does, as the current user, and keeps its plan.  It must
 *		not read shards of this node through Citus.
 */
Rows
query_kept(const char *sql, int nargs, Oid *types, Datum *values)
{
	int			nestlevel = fix_search_path();
	KeptStatement *statement = find_or_keep(InvalidOid, sql, nargs, types);
	Rows		rows;

	statement->running++;
	DO_AND_UNDO(statement->running--, rows = query_planned_once(statement, values));
	AtEOXact_GUC(false, nestlevel);
	return rows;
}

/* query_planned_once: runs it by the plan for all values: to plan it takes longer than that */
static Rows
query_planned_once(KeptStatement *statement, Datum *values)
{
	Rows		rows;

	/* It sees what this transaction has done. */
	CommandCounterIncrement();
	WHILE_SET(plan_cache_mode, PLAN_CACHE_MODE_FORCE_GENERIC_PLAN,
			  rows = query_by_plan(InvalidOid, statement->plan, values, GetLatestSnapshot()));
	return rows;
}

/* find_or_keep: returns the statement with a text and types, as the one that is run last */
static KeptStatement *
find_or_keep(Oid relid, const char *sql, int nargs, Oid *types)
{
	KeptStatement *statement = find_kept(relid, sql, nargs, types);

	if (statement == NULL)
		statement = keep(relid, sql, nargs, types);
	dlist_move_head(&kept, &statement->node);
	return statement;
}

/* find_kept: returns this statement, or NULL */
static KeptStatement *
find_kept(Oid relid, const char *sql, int nargs, Oid *types)
{
	dlist_iter	iter;

	dlist_foreach(iter, &kept)
	{
		KeptStatement *statement = dlist_container(KeptStatement, node, iter.cur);

		if (is_of(statement, relid, sql, nargs, types))
			return statement;
	}
	return NULL;
}

/* is_of: returns whether a statement is that one */
static bool
is_of(KeptStatement *statement, Oid relid, const char *sql, int nargs, Oid *types)
{
	CachedPlanSource *source = linitial(SPI_plan_get_plan_sources(statement->plan));

	return statement->relid == relid && strcmp(source->query_string, sql) == 0 && source->num_params == nargs &&
		(nargs == 0 || memcmp(source->param_types, types, sizeof(Oid) * nargs) == 0);
}

/* keep: prepares a statement, and forgets another if there are too many */
static KeptStatement *
keep(Oid relid, const char *sql, int nargs, Oid *types)
{
	SPIPlanPtr	plan = keep_query(relid, sql, nargs, types);
	KeptStatement *statement;

	if (nkept >= MAX_KEPT)
		forget_oldest();
	statement = MemoryContextAllocZero(TopMemoryContext, sizeof(KeptStatement));
	statement->relid = relid;
	statement->plan = plan;
	dlist_push_head(&kept, &statement->node);
	nkept++;
	return statement;
}

/* forget_oldest: forgets the statement that was run least recently, and is not being run */
static void
forget_oldest(void)
{
	dlist_iter	iter;

	dlist_reverse_foreach(iter, &kept)
	{
		KeptStatement *statement = dlist_container(KeptStatement, node, iter.cur);

		if (statement->running > 0)
			continue;
		dlist_delete(&statement->node);
		SPI_freeplan(statement->plan);
		pfree(statement);
		nkept--;
		return;
	}
}
