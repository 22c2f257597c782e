/*-------------------------------------------------------------------------
 *
 * commit_code.c
 *	  Keeps code of users that runs while a transaction commits from foreign tables.
 *
 * Such code is that of indexes on index tables, of fields and filters, where entries are written at the commit.
 * The server itself runs no code of users any more then.  So a foreign-data wrapper may have ended its part
 * of the transaction already, and one that has begun another part is in a panic later: postgres_fdw raises an
 * error after the commit.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "nodes/plannodes.h"
#include "optimizer/pathnode.h"
#include "optimizer/plancat.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "../util/compat.h"
#include "maintain.h"

bool		is_committing = false;

static table_hook_type next_table_hook = NULL;

static void meet_table(TABLE_HOOK_PARAMS);
static void refuse_tree(Oid relid);
static void refuse_foreign(Oid relid);

/* commit_code_init: installs the planner's hook, once, when the library is loaded */
void
commit_code_init(void)
{
	next_table_hook = table_hook;
	table_hook = meet_table;
}

/* meet_table: refuses a foreign table before its server may be asked for an estimate */
static void
meet_table(TABLE_HOOK_PARAMS)
{
	if (is_committing && rel->fdwroutine != NULL)
		refuse_foreign(planner_rt_fetch(rel->relid, root)->relid);
	if (next_table_hook != NULL)
		next_table_hook(TABLE_HOOK_ARGS);
}

/*
 * refuse_foreign_in_plan
 *		Refuses a plan with foreign tables, also where rows are routed to one.
 */
void
refuse_foreign_in_plan(PlannedStmt *plan)
{
	foreach_ptr(RangeTblEntry, rte, plan->rtable)
	{
		if (rte->rtekind == RTE_RELATION &&
			(rte->relkind == RELKIND_FOREIGN_TABLE ||
			 (rte->relkind == RELKIND_PARTITIONED_TABLE && writes_tables(plan))))
			refuse_tree(rte->relid);
	}
}

/* refuse_foreign_in_command: refuses other commands that may ask the server of a foreign table */
void
refuse_foreign_in_command(Node *command)
{
	List	   *names = NIL;

	if (IsA(command, TruncateStmt))
		names = ((TruncateStmt *) command)->relations;
	else if (IsA(command, CopyStmt) && ((CopyStmt *) command)->relation != NULL)
		names = list_make1(((CopyStmt *) command)->relation);
	else if (IsA(command, VacuumStmt))
	{
		foreach_ptr(VacuumRelation, table, ((VacuumStmt *) command)->rels)
			names = lappend(names, table->relation);
	}
	if (IsA(command, ImportForeignSchemaStmt) || (IsA(command, VacuumStmt) && names == NIL))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot ask other servers while the transaction commits")));
	foreach_ptr(RangeVar, name, names)
	{
		if (name != NULL)
			refuse_tree(RangeVarGetRelid(name, NoLock, true));
	}
}

/* refuse_tree: refuses a table if it, or what inherits from it, is a foreign table */
static void
refuse_tree(Oid relid)
{
	if (!OidIsValid(relid))
		return;
	foreach_oid(child, find_all_inheritors(relid, NoLock, NULL))
	{
		if (get_rel_relkind(child) == RELKIND_FOREIGN_TABLE)
			refuse_foreign(child);
	}
}

static void
refuse_foreign(Oid relid)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot use foreign table \"%s\" while the transaction commits", get_rel_name(relid)),
			 errdetail("An index, a field or a filter of an index table runs code then.")));
}
