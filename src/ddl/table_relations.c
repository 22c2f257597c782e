/*-------------------------------------------------------------------------
 *
 * table_relations.c
 *	  Refuses relations that fact tables and index tables cannot have with other tables: by
 *	  inheritance, as partitions, and by foreign keys.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "storage/lockdefs.h"
#include "utils/lsyscache.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "ddl.h"

static void refuse_child_of(RangeVar *parent);
static void refuse_parent_of(RangeVar *child, bool inherits);
static void refuse_own_index_tables(Oid parent, RangeVar *child);
static void refuse_references(List *elements);
static void report_reference(Oid index_table);

/*
 * refuse_relations
 *		Refuses a command that would give a table such a relation, which may be a foreign table.
 */
void
refuse_relations(Node *command)
{
	/* The statement of CREATE FOREIGN TABLE begins with that of CREATE TABLE. */
	if (IsA(command, CreateStmt) || IsA(command, CreateForeignTableStmt))
	{
		CreateStmt *stmt = (CreateStmt *) command;

		foreach_ptr(RangeVar, parent, stmt->inhRelations)
		{
			if (stmt->partbound == NULL ||
				(IsA(stmt, CreateForeignTableStmt) && OidIsValid(index_table_of(RangeVarGetRelid(parent, NoLock, true)))))
				refuse_child_of(parent);
		}
		refuse_references(stmt->tableElts);
	}
	else if (IsA(command, CreateSchemaStmt))
	{
		foreach_ptr(Node, element, ((CreateSchemaStmt *) command)->schemaElts)
			refuse_relations(element);
	}
	else if (IsA(command, AlterTableStmt))
	{
		AlterTableStmt *stmt = (AlterTableStmt *) command;

		foreach_ptr(AlterTableCmd, cmd, stmt->cmds)
		{
			if (cmd->subtype == AT_AddInherit)
			{
				refuse_child_of((RangeVar *) cmd->def);
				refuse_parent_of(stmt->relation, true);
			}
			else if (cmd->subtype == AT_AttachPartition)
			{
				refuse_parent_of(((PartitionCmd *) cmd->def)->name, false);
				refuse_own_index_tables(RangeVarGetRelid(stmt->relation, NoLock, true), ((PartitionCmd *) cmd->def)->name);
			}
			else if (cmd->subtype == AT_AddConstraint || cmd->subtype == AT_AddColumn)
				refuse_references(list_make1(cmd->def));
		}
	}
}

/*
 * refuse_child_of
 *		Refuses a child of a fact table, whose triggers would not fire for the
 *		child's rows, or of an index table, whose entries would have the child's
 *		rows among them.
 */
static void
refuse_child_of(RangeVar *parent)
{
	Oid			relid = RangeVarGetRelid(parent, NoLock, true);

	if (!OidIsValid(relid))
		return;
	if (OidIsValid(index_table_of(relid)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot inherit from index table \"%s\"", parent->relname),
				 errdetail("The rows of a child would appear as entries.")));
	if (catalog_has_fact(relid) && catalog_fact_in_use(relid))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot inherit from table \"%s\" because it has index tables", parent->relname),
				 errdetail("The index tables would have no entries for the rows of a child."),
				 errhint("First run %s", told_drop(relid))));
}

/*
 * refuse_parent_of
 *		Refuses a parent for an index table, or, if it is a parent by inheritance,
 *		for a fact table.
 *
 * Statements on a parent do not fire the statement triggers of its children: neither
 * the guard of an index table nor the triggers of a fact table.  The extension allows
 * for that only where the fact table is a partition.
 */
static void
refuse_parent_of(RangeVar *child, bool inherits)
{
	Oid			relid = RangeVarGetRelid(child, NoLock, true);

	if (OidIsValid(relid) &&
		(OidIsValid(catalog_fact_of(relid)) ||
		 (inherits && catalog_has_fact(relid) && catalog_fact_in_use(relid))))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 inherits ?
				 errmsg("table \"%s\" cannot inherit from another table", child->relname) :
				 errmsg("table \"%s\" cannot be a partition of another table", child->relname),
				 OidIsValid(catalog_fact_of(relid)) ? errdetail("It is an index table.") :
				 errdetail("It has index tables."),
				 OidIsValid(catalog_fact_of(relid)) ? 0 : errhint("First run %s", told_drop(relid))));
}

/*
 * refuse_own_index_tables
 *		Refuses to attach a table that has index tables of its own to a table that
 *		has some.
 */
static void
refuse_own_index_tables(Oid parent, RangeVar *child)
{
	Oid			relid = RangeVarGetRelid(child, NoLock, true);

	if (OidIsValid(parent) && OidIsValid(relid) && catalog_fact_in_use(registered_root(parent)) &&
		catalog_fact_in_use(relid))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" cannot be a partition of a table with index tables", child->relname),
				 errdetail("It has index tables of its own."),
				 errhint("First run %s", told_drop(relid))));
}

/*
 * refuse_references
 *		Refuses foreign keys that reference an index table, because entries are
 *		written without firing triggers.
 */
static void
refuse_references(List *elements)
{
	foreach_ptr(Node, element, elements)
	{
		if (element == NULL)
			continue;
		if (IsA(element, ColumnDef))
			refuse_references(((ColumnDef *) element)->constraints);
		else if (IsA(element, Constraint) && ((Constraint *) element)->pktable != NULL)
			report_reference(index_table_of(RangeVarGetRelid(((Constraint *) element)->pktable, NoLock, true)));
	}
}

/*
 * refuse_foreign_keys_of
 *		Refuses those of a table that was created: its statement does not have them any more when it
 *		has been run.
 */
void
refuse_foreign_keys_of(CreateStmt *stmt)
{
	Oid			relid = RangeVarGetRelid(stmt->relation, NoLock, true);
	Relation	rel = OidIsValid(relid) ? try_relation_open(relid, AccessShareLock) : NULL;

	if (rel == NULL)
		return;
	foreach_ptr(ForeignKeyCacheInfo, key, RelationGetFKeyList(rel))
		report_reference(index_table_of(key->confrelid));
	relation_close(rel, AccessShareLock);
}

/* report_reference: raises the error for a foreign key that references an index table; InvalidOid: it does not */
static void
report_reference(Oid index_table)
{
	if (OidIsValid(index_table))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("foreign key cannot reference index table \"%s\"", get_rel_name(index_table)),
				 errdetail("Entries are inserted and deleted without checking foreign keys."),
				 errhint("Reference the fact table instead.")));
}
