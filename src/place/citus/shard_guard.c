/*-------------------------------------------------------------------------
 *
 * shard_guard.c
 *	  Refuses writes by hand to distributed index tables and their shards.
 *
 * Triggers cannot: Citus puts those for TRUNCATE, as the guard of an index table is one, on no
 * shard, and for a trigger for rows the writes of a drain look the same.  So it is done where the
 * server checks rights, before a statement is executed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/objectaccess.h"
#include "commands/trigger.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "../../maintain/maintain.h"
#include "citus.h"

/* Since 16 the rights that are to be checked are in a list of their own. */
#if PG_VERSION_NUM < 160000
typedef RangeTblEntry CheckedTable;
#define RIGHTS_PARAMETERS	List *checked, bool raise
#define RIGHTS_ARGUMENTS	checked, raise
#else
typedef RTEPermissionInfo CheckedTable;
#define RIGHTS_PARAMETERS	List *tables, List *checked, bool raise
#define RIGHTS_ARGUMENTS	tables, checked, raise
#endif

static bool check_writes(RIGHTS_PARAMETERS);
static void check_truncate(ObjectAccessType access, Oid class, Oid object, int part, void *arg);
static void refuse_by_hand(Oid relid);
static bool is_guarded(Oid relid);

static ExecutorCheckPerms_hook_type previous_check = NULL;
static object_access_hook_type previous_access = NULL;

/* shard_guard_init: has statements checked, where there is Citus */
void
shard_guard_init(void)
{
	if (GetConfigOption("citus.enable_unsafe_triggers", true, false) == NULL)
		return;
	previous_check = ExecutorCheckPerms_hook;
	ExecutorCheckPerms_hook = check_writes;
	previous_access = object_access_hook;
	object_access_hook = check_truncate;
}

/* check_writes: refuses INSERT, UPDATE, DELETE and COPY */
static bool
check_writes(RIGHTS_PARAMETERS)
{
	foreach_ptr(CheckedTable, table, checked)
	{
		AclMode		writes = ACL_INSERT | ACL_DELETE;

		/* Who only locks rows needs the right to update them, but no column. */
		if (table->updatedCols != NULL)
			writes |= ACL_UPDATE;
		if (OidIsValid(table->relid) && (table->requiredPerms & writes) != 0)
			refuse_by_hand(table->relid);
	}
	return previous_check == NULL || previous_check(RIGHTS_ARGUMENTS);
}

/* check_truncate: refuses TRUNCATE, before the table is locked */
static void
check_truncate(ObjectAccessType access, Oid class, Oid object, int part, void *arg)
{
	if (previous_access != NULL)
		previous_access(access, class, object, part, arg);
	if (access == OAT_TRUNCATE && class == RelationRelationId && !OidIsValid(truncated_by_us))
		refuse_by_hand(object);
}

/*
 * refuse_by_hand
 *		Raises an error if a table is an index table or a shard of one, unless this session writes it
 *		on behalf of a drain: its own, or that of another session for which Citus has connected to
 *		this node.  Where triggers would not fire, who writes knows what they do.
 */
static void
refuse_by_hand(Oid relid)
{
	const char *name = application_name;

	if (writing_distributed || SessionReplicationRole == SESSION_REPLICATION_ROLE_REPLICA ||
		(name != NULL && (strncmp(name, "citus_internal ", 15) == 0 || strncmp(name, "citus_rebalancer ", 17) == 0)))
		return;
	if (is_guarded(relid))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot change index table \"%s\"", get_rel_name(relid)),
				 errdetail("An index table is written only by the maintenance of its fact table."),
				 errhint("Change the fact table instead.")));
}

/* is_guarded: returns whether a table is a distributed index table, or a shard of one, whose guard is not disabled */
static bool
is_guarded(Oid relid)
{
	Oid			table = place_table_of_part(relid);
	Relation	rel = try_relation_open(OidIsValid(table) ? table : relid, AccessShareLock);
	Trigger    *guard;
	bool		result;

	if (rel == NULL)
		return false;
	guard = find_guard(rel);
	result = guard != NULL && guard->tgenabled != TRIGGER_DISABLED;
	relation_close(rel, AccessShareLock);
	return result;
}
