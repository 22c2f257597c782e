/*-------------------------------------------------------------------------
 *
 * table_relations.c
 *	  Refuses relations that fact tables and index tables cannot have with other tables: by
 *	  inheritance, as partitions, and by foreign keys.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/pg_inherits.h"
#include "storage/lockdefs.h"
#include "utils/lsyscache.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../util/relation.h"
#include "ddl.h"

static void refuse_related(Oid parent, Oid child, char relkind, bool is_partition);
static void refuse_child_of(Oid parent);
static void refuse_parent_of(Oid child, bool inherits);
static void refuse_own_index_tables(Oid parent, Oid child);
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
			Oid			relid = RangeVarGetRelid(parent, NoLock, true);

			if (stmt->partbound == NULL ||
				(IsA(stmt, CreateForeignTableStmt) && OidIsValid(index_table_of(relid))))
				refuse_child_of(relid);
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
		Oid			relid = RangeVarGetRelid(stmt->relation, NoLock, true);

		foreach_ptr(AlterTableCmd, cmd, stmt->cmds)
		{
			if (cmd->subtype == AT_AddInherit)
				refuse_related(RangeVarGetRelid((RangeVar *) cmd->def, NoLock, true), relid, RELKIND_RELATION,
							   false);
			else if (cmd->subtype == AT_AttachPartition)
				refuse_related(relid, RangeVarGetRelid(((PartitionCmd *) cmd->def)->name, NoLock, true),
							   RELKIND_RELATION, true);
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
refuse_child_of(Oid parent)
{
	if (!OidIsValid(parent))
		return;
	if (OidIsValid(index_table_of(parent)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot inherit from index table \"%s\"", get_rel_name(parent)),
				 errdetail("The rows of a child would appear as entries.")));
	if (catalog_has_fact(parent) && catalog_fact_in_use(parent))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot inherit from table \"%s\" because it has index tables", get_rel_name(parent)),
				 errdetail("The index tables would have no entries for the rows of a child."),
				 errhint("First run %s", told_drop(parent))));
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
refuse_parent_of(Oid child, bool inherits)
{
	if (OidIsValid(child) &&
		(OidIsValid(catalog_fact_of(child)) ||
		 (inherits && catalog_has_fact(child) && catalog_fact_in_use(child))))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 inherits ?
				 errmsg("table \"%s\" cannot inherit from another table", get_rel_name(child)) :
				 errmsg("table \"%s\" cannot be a partition of another table", get_rel_name(child)),
				 OidIsValid(catalog_fact_of(child)) ? errdetail("It is an index table.") :
				 errdetail("It has index tables."),
				 OidIsValid(catalog_fact_of(child)) ? 0 : errhint("First run %s", told_drop(child))));
}

/*
 * refuse_own_index_tables
 *		Refuses to attach a table that has index tables of its own to a table that
 *		has some.
 */
static void
refuse_own_index_tables(Oid parent, Oid child)
{
	if (OidIsValid(parent) && OidIsValid(child) && catalog_fact_in_use(registered_root(parent)) &&
		catalog_fact_in_use(child))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" cannot be a partition of a table with index tables", get_rel_name(child)),
				 errdetail("It has index tables of its own."),
				 errhint("First run %s", told_drop(child))));
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
 * refuse_relations_of
 *		Refuses such relations that a table has after a command that has created it, altered it or
 *		attached it, which undoes the command.
 *
 * While it waited for its locks, another session may have created an index table, or given the name of
 * one, or of a fact table, to a table that the command names.  Now they are locked.
 */
void
refuse_relations_of(Oid relid)
{
	Relation	rel = try_relation_open(relid, AccessShareLock);
	CatalogScan scan;
	HeapTuple	tuple;

	if (rel == NULL)
		return;
	foreach_ptr(ForeignKeyCacheInfo, key, RelationGetFKeyList(rel))
		report_reference(index_table_of(key->confrelid));
	scan = catalog_scan_begin(InheritsRelationId, InheritsRelidSeqnoIndexId, Anum_pg_inherits_inhrelid, relid,
							  NULL);
	while (HeapTupleIsValid(tuple = catalog_scan_next(&scan)))
		refuse_related(((Form_pg_inherits) GETSTRUCT(tuple))->inhparent, relid, rel->rd_rel->relkind,
					   rel->rd_rel->relispartition);
	catalog_scan_end(&scan);
	relation_close(rel, AccessShareLock);
}

/*
 * refuse_related
 *		Refuses that a table of a kind is a partition of another, or a child of it by
 *		inheritance.
 */
static void
refuse_related(Oid parent, Oid child, char relkind, bool is_partition)
{
	if (!is_partition || (relkind == RELKIND_FOREIGN_TABLE && OidIsValid(index_table_of(parent))))
		refuse_child_of(parent);
	refuse_parent_of(child, !is_partition);
	if (is_partition)
		refuse_own_index_tables(parent, child);
}

/*
 * report_reference
 *		Raises the error for a foreign key that references an index table; InvalidOid: it does
 *		not.
 */
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
