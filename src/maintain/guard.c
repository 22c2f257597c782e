/*-------------------------------------------------------------------------
 *
 * guard.c
 *	  The trigger function of index tables, which refuses writes by hand.
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
 *		Statement trigger of index tables.  Our own writes do not come through
 *		the executor; only TRUNCATE does, which lifts the guard.
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
