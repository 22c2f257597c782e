/*-------------------------------------------------------------------------
 *
 * scan_plan.c
 *	  Writes what a plan of a scan of an index table says, and reads it when the plan is executed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/objectaccess.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/acl.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"

#include "../definition/definition.h"
#include "../place/place.h"
#include "../util/compat.h"
#include "../util/settings.h"
#include "scan.h"

/* The members of custom_private, of which the first two have bytes. */
enum
{
	SCAN_SCALARS,				/* of ScanPlan, those that are stored as they
								 * are */
	SCAN_CONDITIONS,
	SCAN_GROUPS,
	SCAN_COLUMNS,
	SCAN_SOURCES,
	SCAN_FUNCTIONS,
	SCAN_QUERY,
	SCAN_FALLBACK
};

static Const *bytes_of(const void *data, Size size);
static void copy_bytes(void *to, List *members, int which, Size size);

/* bytes_of: returns some bytes as a node that plans can have */
static Const *
bytes_of(const void *data, Size size)
{
	bytea	   *bytes = palloc(VARHDRSZ + size);

	SET_VARSIZE(bytes, VARHDRSZ + size);
	memcpy(VARDATA(bytes), data, size);
	return makeConst(BYTEAOID, -1, InvalidOid, -1, PointerGetDatum(bytes), false, false);
}

/* copy_bytes: copies those of a member */
static void
copy_bytes(void *to, List *members, int which, Size size)
{
	memcpy(to, VARDATA(DatumGetPointer(list_nth_node(Const, members, which)->constvalue)), size);
}

/* create_scan_state: makes the state of a scan, for its type to fill */
Node *
create_scan_state(CustomScan *plan)
{
	const ScanType *type = (const ScanType *) plan->methods;
	CustomScanState *state = (CustomScanState *) newNode(type->size, T_CustomScanState);

	state->methods = type->exec;
	return (Node *) state;
}

/* write_scan_plan: returns what read_scan_plan() reads, as custom_private of a plan */
List *
write_scan_plan(ScanPlan *plan)
{
	List	   *members = list_make5(bytes_of(plan, offsetof(ScanPlan, conditions)),
									 bytes_of(plan->conditions, sizeof(Condition) * plan->nconditions),
									 plan->groups, plan->columns, plan->sources);

	return lappend(lappend(lappend(members, plan->functions), plan->query), plan->fallback);
}

/* read_scan_plan: reads what write_scan_plan() has put into a plan */
void
read_scan_plan(CustomScan *scan, ScanPlan *plan)
{
	List	   *members = scan->custom_private;

	copy_bytes(plan, members, SCAN_SCALARS, offsetof(ScanPlan, conditions));
	plan->conditions = palloc(sizeof(Condition) * plan->nconditions);
	copy_bytes(plan->conditions, members, SCAN_CONDITIONS, sizeof(Condition) * plan->nconditions);
	plan->groups = list_nth(members, SCAN_GROUPS);
	plan->columns = list_nth(members, SCAN_COLUMNS);
	plan->sources = list_nth(members, SCAN_SOURCES);
	plan->functions = list_nth(members, SCAN_FUNCTIONS);
	plan->query = list_nth(members, SCAN_QUERY);
	plan->fallback = list_nth(members, SCAN_FALLBACK);
}

/*
 * definition_of_scan
 *		Returns the definition of an index table, held as long as a query is executed, if it still is
 *		one for which a plan could have been made; else NULL.  Sets *factdef to that of the fact
 *		table, if there is one.
 */
IndexDef *
definition_of_scan(EState *estate, Oid fact, Oid index_table, bool async, FactDef **factdef)
{
	IndexDef   *def;

	AcceptInvalidationMessages();	/* see in_step.c */
	*factdef = soft_definition(fact);
	if (*factdef == NULL)
		return NULL;
	definition_hold(*factdef, estate->es_query_cxt);
	def = find_index_def(*factdef, index_table);
	return def != NULL && def->active && (!def->hidden || setting_use_hidden) && def->spec.async == async ?
		def : NULL;
}

/*
 * require_execute
 *		Raises an error if the current user may not call a function of a query, as a native plan
 *		does when it starts, whether it comes to call the function or not.
 */
void
require_execute(List *functions)
{
	foreach_oid(function, functions)
	{
		if (!may_execute(function, GetUserId()))
			aclcheck_error(ACLCHECK_NO_PRIV,
						   get_func_prokind(function) == PROKIND_AGGREGATE ? OBJECT_AGGREGATE : OBJECT_FUNCTION,
						   get_func_name(function));
		InvokeFunctionExecuteHook(function);
	}
}

/*
 * return_stored_rows
 *		Prepares to return rows as they are stored.
 *
 * Wherever the executor locks rows or writes them, it has rows of this kind.  If such a row was
 * updated meanwhile, it tests the newest version instead of the one that the scan has found,
 * which it puts, or fetches, into the scan's slot.  So the slot is made again as that of the
 * table, and so is what is compiled for the slot that the executor has made.
 */
void
return_stored_rows(ScanState *node)
{
	ExecInitScanTupleSlot_compat(node->ps.state, node, RelationGetDescr(node->ss_currentRelation),
								 table_slot_callbacks(node->ss_currentRelation));
	node->ps.scanopsfixed = false;
	ExecAssignScanProjectionInfoWithVarno(node, ((Scan *) node->ps.plan)->scanrelid);
	node->ps.qual = ExecInitQual(node->ps.plan->qual, &node->ps);
}

/*
 * any_row_passes
 *		Tells the executor that a search would have found a newer version of a row, or another row
 *		in its place.  That is left to the conditions: all are checked for a row that may be tested
 *		again, see is_checked_by_search().
 */
bool
any_row_passes(ScanState *node, TupleTableSlot *slot)
{
	return true;
}

/*
 * why_not_stale
 *		Returns why a user, InvalidOid for the current one, may not read an asynchronous index table
 *		in place of its fact table, or NULL.
 *
 * Such an answer may be wrong for those who rely on it, and it is what the index table has, not what
 * the fact table has.  So it is given only to a user who wants it himself, and who may read the
 * index table: its owner decides about that.
 */
const char *
why_not_stale(IndexDef *def, Oid user)
{
	if (!OidIsValid(user))
		user = GetUserId();
	if (def->hidden && !use_hidden_set_by(user))
		return "it is hidden, and indextable.use_hidden was set by another role";
	if (!setting_stale_reads)
		return "it is asynchronous, and indextable.stale_reads is off";
	if (!stale_reads_set_by(user))
		return "it is asynchronous, and indextable.stale_reads was set by another role";
	/* Its shards are read as their owner. */
	if (def->fact->place->in_parts)
		return NULL;
	if (supposed_table(def->relid) == NULL &&
		(pg_class_aclcheck(def->relid, user, ACL_SELECT) != ACLCHECK_OK ||
		 check_enable_rls(def->relid, user, true) == RLS_ENABLED))
		return "it is asynchronous, and stale reads need the right to SELECT from it";
	return NULL;
}
