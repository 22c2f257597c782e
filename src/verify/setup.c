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

/* check_setup: calls the handler for each thing that is not as the index table needs it */
void
check_setup(IndexDef *def, Relation fact, Relation index_table, discrepancy_handler handler, void *arg)
{
	Discrepancy d = {.kind = "setup",.def = def};

#define CHECK_THAT(condition, text) \
	if (!(condition)) \
	{ \
		d.problem = text; \
		handler(&d, arg); \
	}
	CHECK_THAT(triggers_intact(def->fact->relid),
			   "triggers of the fact table that maintain the index table are disabled or missing");
	CHECK_THAT(guards_intact(def->relid),
			   "triggers that protect the index table against other writes are disabled or missing");
	CHECK_THAT(index_table->rd_rel->relpersistence == fact->rd_rel->relpersistence,
			   "only one of index table and fact table is unlogged");
	CHECK_THAT(index_table->rd_rel->relowner == fact->rd_rel->relowner,
			   "index table and fact table have different owners");
	CHECK_THAT(!def->async || OidIsValid(def->row_index),
			   "index table has no index on the primary key of the fact table");
	CHECK_THAT(!def->async || !def->fact->queue_lost,
			   "queue table of the fact table was dropped with changes that had not been applied");
	CHECK_THAT(!is_subscribed(def->relid),
			   "index table is also written by a subscription; remove it from the publication");
	CHECK_THAT(def->active, "state of the index table is not active");
#undef CHECK_THAT
}
