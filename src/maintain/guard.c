/*-------------------------------------------------------------------------
 *
 * guard.c
 *	  Refuses writes to index tables by hand: the trigger function of index tables.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/rel.h"

#include "../catalog/comment_call.h"
#include "../definition/index_partition.h"
#include "../indextable.h"
#include "guard.h"

PG_FUNCTION_INFO_V1(indextable_guard);

static Oid	root_table(Relation rel);

Oid			truncated_by_us = InvalidOid;
Oid			altered_by_us = InvalidOid;

/*
 * indextable_guard
 *		Refuses every statement, and every row that comes through a parent table.  The
 *		extension's own writes do not fire triggers, except for its TRUNCATE, for which
 *		it sets truncated_by_us.
 *
 * Triggers of the owner run during that TRUNCATE.  They cannot truncate the same index
 * table, because the statement uses it.
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
		index_table_of(RelationGetRelid(trigdata->tg_relation)) != truncated_by_us)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot change index table \"%s\"",
						RelationGetRelationName(trigdata->tg_relation)),
				 errdetail("An index table is written only by the maintenance of its fact table."),
				 is_undefined(root_table(trigdata->tg_relation)) ?
				 errhint("It was restored without its definition. Run: %s",
						 told_remaking(list_make1_oid(root_table(trigdata->tg_relation)))) :
				 errhint("Change the fact table instead.")));
	return PointerGetDatum(NULL);
}

/* root_table: returns the table that a table is a partition of, or itself */
static Oid
root_table(Relation rel)
{
	return rel->rd_rel->relispartition ? get_partition_parent(RelationGetRelid(rel), true) : RelationGetRelid(rel);
}

/*
 * is_own_alter
 *		Returns whether a command is the ALTER TABLE of the index table that the
 *		extension alters at this moment.
 *
 * Event triggers of others run during that command.  Whatever they do to other tables is
 * judged as at any other time.
 */
bool
is_own_alter(Node *command)
{
	return OidIsValid(altered_by_us) && IsA(command, AlterTableStmt) &&
		RangeVarGetRelid(((AlterTableStmt *) command)->relation, NoLock, true) == altered_by_us;
}
