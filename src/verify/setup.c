/*-------------------------------------------------------------------------
 *
 * setup.c
 *	  Checks what an index table needs to be kept in step: triggers, guards, owner,
 *	  indexes and state; and that no subscription interferes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_subscription.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/reltrigger.h"

#include "../catalog/table_access.h"
#include "../catalog/told_sql.h"
#include "../catalog/trigger_names.h"
#include "../definition/partition_spec.h"
#include "../definition/totals.h"
#include "../indextable.h"
#include "../maintain/install_triggers.h"
#include "../place/place.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "discrepancy.h"
#include "setup.h"

/* What is checked, and who is told of a problem. */
typedef struct Setup
{
	Discrepancy discrepancy;
	discrepancy_handler handler;
	void	   *arg;
} Setup;

static bool is_any_subscribed(List *relids);
static Oid	shared_truncate(Oid fact);
static bool refuses_truncate(Oid relid);
static char *subscription_names(List *relids);
static char *refusing_trigger(Oid relid);
static void check_that(Setup *setup, bool holds, const char *problem);
static void check_by_hand(Setup *setup, bool holds, const char *problem);

/*
 * check_setup
 *		Calls the handler for each thing that is not as the index table needs it.  The text says
 *		what to run: mostly repair(), which leaves alone what only the user can decide.
 */
void
check_setup(IndexDef *def, Relation fact, Relation index_table, discrepancy_handler handler, void *arg)
{
	Setup		setup = {{.kind = "setup",.def = def}, handler, arg};
	char	   *activation = told_activation(def->relid);
	List	   *catalog = list_make4_oid(def->fact->queue, def->fact->spare, catalog_relid("definition", false), catalog_relid("fact", false));
	Oid			truncated;

	check_that(&setup, triggers_intact(def->fact->relid),
			   "triggers of the fact table that maintain the index table are disabled or missing");
	check_that(&setup, guards_intact(def->relid),
			   "triggers that protect the index table against other writes are disabled or missing");
	if (index_table->rd_rel->relkind == RELKIND_RELATION)
		check_that(&setup, index_table->rd_rel->relpersistence == fact->rd_rel->relpersistence,
				   "only one of index table and fact table is unlogged");
	else
		check_by_hand(&setup, index_table->rd_rel->relpersistence == fact->rd_rel->relpersistence,
					  psprintf("only one of index table and fact table is unlogged; drop the index table with DROP TABLE %s; and create it again",
							   quoted_relation(def->relid)));
	check_that(&setup, index_table->rd_rel->relowner == fact->rd_rel->relowner,
			   "index table and fact table have different owners");
	check_that(&setup, partitioning_lacking(index_table) == NULL,
			   "partitions of the index table are missing, and there are values that fit no other");
	check_that(&setup, !def->async || OidIsValid(def->row_index),
			   "index table has no index on the primary key of the fact table");
	check_that(&setup, !is_totals(def) || def->nkeys == 0 || OidIsValid(def->primary_index),
			   "index table has no index on its key fields");
	check_that(&setup, !def->async || !def->fact->queue_lost,
			   "queue table of the fact table was dropped with changes that had not been applied");
	check_by_hand(&setup, !is_any_subscribed(find_all_inheritors(def->relid, NoLock, NULL)),
				  psprintf("index table is also written by a subscription; on the publisher, run ALTER PUBLICATION ... DROP TABLE %s; and here ALTER SUBSCRIPTION %s REFRESH PUBLICATION;",
						   quoted_relation(def->relid), subscription_names(find_all_inheritors(def->relid, NoLock, NULL))));
	check_by_hand(&setup, !is_any_subscribed(catalog),
				  psprintf("tables of schema " IT_INTERNAL " are also written by a subscription; on the publisher, run ALTER PUBLICATION ... DROP TABLES IN SCHEMA " IT_INTERNAL "; and here ALTER SUBSCRIPTION %s REFRESH PUBLICATION;",
						   subscription_names(catalog)));
	truncated = shared_truncate(def->fact->relid);
	check_by_hand(&setup, !OidIsValid(truncated),
				  psprintf("several subscriptions write the fact table, and a TRUNCATE on one publisher would delete the rows of all; publish it under the names of its partitions, or refuse TRUNCATE here by a trigger; run %s",
						   OidIsValid(truncated) ? refusing_trigger(truncated) : ""));
	check_by_hand(&setup, def->misplaced == NULL, def->misplaced);
	if (strcmp(activation, told_call("repair", def->relid)) == 0)
		check_that(&setup, def->active || def->misplaced != NULL, "state of the index table is not active");
	else
		check_by_hand(&setup, def->active || def->misplaced != NULL, psprintf("state of the index table is not active; run %s", activation));
}

/* subscription_names: returns the name, quoted, of the first subscription that writes one of these relations; or "" */
static char *
subscription_names(List *relids)
{
	ListCell   *cell;

	foreach(cell, relids)
	{
		List	   *writers = subscriptions_of(lfirst_oid(cell));

		if (writers != NIL)
			return (char *) quote_identifier(get_subscription_name(linitial_oid(writers), false));
	}
	return "";
}

/* refusing_trigger: returns the SQL that has a table refuse every TRUNCATE, also one that a subscription applies */
static char *
refusing_trigger(Oid relid)
{
	char	   *table = quoted_relation(relid);
	char	   *function = quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)), "refuse_truncate");

	return psprintf("CREATE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''TRUNCATE is refused''; END';"
					" CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON %s EXECUTE FUNCTION %s();"
					" ALTER TABLE %s ENABLE ALWAYS TRIGGER refuse_truncate;", function, table, function, table);
}

/* is_any_subscribed: returns whether a subscription writes one of these relations; some may be InvalidOid */
static bool
is_any_subscribed(List *relids)
{
	ListCell   *cell;

	foreach(cell, relids)
	{
		if (is_subscribed(lfirst_oid(cell)))
			return true;
	}
	return false;
}

/*
 * shared_truncate
 *		Returns the table, a fact table or a partition of it, of which a TRUNCATE that a
 *		subscription applies would also delete rows that another subscription has written;
 *		InvalidOid: there is none.
 *
 * TRUNCATE of a partitioned table is one of all its partitions.  What the publishers publish
 * is known to them only, so a table for which a trigger of the user takes care of a TRUNCATE
 * that is applied is the only one that counts as safe.
 */
static Oid
shared_truncate(Oid fact)
{
	ListCell   *cell;
	ListCell   *below;

	foreach(cell, find_all_inheritors(fact, NoLock, NULL))
	{
		List	   *writers = subscriptions_of(lfirst_oid(cell));

		if (writers == NIL || refuses_truncate(lfirst_oid(cell)))
			continue;
		foreach(below, find_all_inheritors(lfirst_oid(cell), NoLock, NULL))
			writers = list_concat_unique_oid(writers, subscriptions_of(lfirst_oid(below)));
		if (list_length(writers) > 1)
			return lfirst_oid(cell);
	}
	return InvalidOid;
}

/* refuses_truncate: returns whether a table has a trigger of the user before a TRUNCATE that is applied by a subscription */
static bool
refuses_truncate(Oid relid)
{
	Relation	rel = try_relation_open(relid, AccessShareLock);
	bool		result = false;
	int			i;

	if (rel == NULL)
		return false;
	for (i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		Trigger    *trigger = &rel->trigdesc->triggers[i];

		result |= TRIGGER_FOR_BEFORE(trigger->tgtype) && TRIGGER_FOR_TRUNCATE(trigger->tgtype) &&
			(trigger->tgenabled == TRIGGER_FIRES_ALWAYS || trigger->tgenabled == TRIGGER_FIRES_ON_REPLICA) &&
			!is_our_trigger(trigger->tgname);
	}
	relation_close(rel, AccessShareLock);
	return result;
}

/* check_that: calls the handler with a problem that repair() mends, unless a condition holds */
static void
check_that(Setup *setup, bool holds, const char *problem)
{
	if (holds)
		return;
	setup->discrepancy.problem = problem_to_repair(problem, setup->discrepancy.def->relid);
	setup->discrepancy.by_hand = false;
	setup->handler(&setup->discrepancy, setup->arg);
}

/* check_by_hand: calls the handler with a problem that repair() does not mend, unless a condition holds */
static void
check_by_hand(Setup *setup, bool holds, const char *problem)
{
	if (holds)
		return;
	setup->discrepancy.problem = problem;
	setup->discrepancy.by_hand = true;
	setup->handler(&setup->discrepancy, setup->arg);
}
