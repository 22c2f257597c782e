/*-------------------------------------------------------------------------
 *
 * guard.c
 *	  Refuses writes to index tables by hand: the trigger function of index tables.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/trigger.h"
#include "fmgr.h"
#include "utils/rel.h"

#include "../definition/index_partition.h"
#include "../indextable.h"
#include "guard.h"

PG_FUNCTION_INFO_V1(indextable_guard);

Oid			guard_lifted = InvalidOid;

/*
 * indextable_guard
 *		Refuses every statement, and every row that comes through a parent table.  The
 *		extension's own writes do not fire triggers, except for its TRUNCATE, for which
 *		it sets guard_lifted.
 */
Datum
indextable_guard(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by the trigger manager",
						IT_INTERNAL ".guard")));
	if (!TRIGGER_FIRED_BY_TRUNCATE(trigdata->tg_event) ||
		index_table_of(RelationGetRelid(trigdata->tg_relation)) != guard_lifted)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot change index table \"%s\"",
						RelationGetRelationName(trigdata->tg_relation)),
				 errdetail("An index table is written only by the maintenance of its fact table."),
				 errhint("Change the fact table instead.")));
	return PointerGetDatum(NULL);
}
