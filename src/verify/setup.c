/*-------------------------------------------------------------------------
 *
 * setup.c
 *	  Checks what an index table needs to be kept in step: triggers, guards, owner,
 *	  indexes and state.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "../indextable.h"
#include "../maintain/install_triggers.h"
#include "../util/relation.h"
#include "discrepancy.h"
#include "setup.h"

/* What is checked, and who is told of a problem. */
typedef struct Setup
{
	Discrepancy discrepancy;
	discrepancy_handler handler;
	void	   *arg;
} Setup;

static void check_that(Setup *setup, bool holds, const char *problem);

/* check_setup: calls the handler for each thing that is not as the index table needs it */
void
check_setup(IndexDef *def, Relation fact, Relation index_table, discrepancy_handler handler, void *arg)
{
	Setup		setup = {{.kind = "setup",.def = def}, handler, arg};

	check_that(&setup, triggers_intact(def->fact->relid),
			   "triggers of the fact table that maintain the index table are disabled or missing");
	check_that(&setup, guards_intact(def->relid),
			   "triggers that protect the index table against other writes are disabled or missing");
	check_that(&setup, index_table->rd_rel->relpersistence == fact->rd_rel->relpersistence,
			   "only one of index table and fact table is unlogged");
	check_that(&setup, index_table->rd_rel->relowner == fact->rd_rel->relowner,
			   "index table and fact table have different owners");
	check_that(&setup, !def->async || OidIsValid(def->row_index),
			   "index table has no index on the primary key of the fact table");
	check_that(&setup, !def->async || !def->fact->queue_lost,
			   "queue table of the fact table was dropped with changes that had not been applied");
	check_that(&setup, !is_subscribed(def->relid),
			   "index table is also written by a subscription; remove it from the publication");
	check_that(&setup, def->citus == NULL, def->citus);
	check_that(&setup, def->active || def->citus != NULL, "state of the index table is not active");
}

/* check_that: calls the handler with a problem unless a condition holds */
static void
check_that(Setup *setup, bool holds, const char *problem)
{
	if (holds)
		return;
	setup->discrepancy.problem = problem;
	setup->handler(&setup->discrepancy, setup->arg);
}
