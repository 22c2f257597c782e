/*-------------------------------------------------------------------------
 *
 * named_table.c
 *	  Finds the index tables that users name, and says which they may mean if a name is that
 *	  of another table.  Writes the SQL that messages tell users to run.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/partition.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "../indextable.h"
#include "../util/sql.h"
#include "catalog.h"

/* What to do without knowing which index table is meant. */
#define LIST_HINT	"To list the index tables, run SELECT index_table, fact_table FROM " IT_SCHEMA ".index_tables;"

pg_noreturn static void report_meant_index_tables(Oid relid, const char *name);
static Oid	partition_root(Oid relid);

/*
 * index_tables_of
 *		Returns the index tables that a user means by a table: itself, or those of a fact
 *		table in the order of their names, without replacements.  Raises an error if it is
 *		neither.
 */
List *
index_tables_of(Oid relid)
{
	List	   *result = NIL;

	if (OidIsValid(catalog_fact_of(relid)))
		return list_make1_oid(relid);
	if (!catalog_has_fact(relid))
		report_not_index_table(relid);
	foreach_ptr(DefinitionRow, row, catalog_read_definitions(relid, InvalidOid))
	{
		if (!OidIsValid(row->replaces) && get_rel_name(row->index_table) != NULL)
			result = lappend_oid(result, row->index_table);
	}
	sort_by_name(result);
	return result;
}

/*
 * report_not_index_table
 *		Raises the error for a relation that is not an index table, or does not exist; if a
 *		restore has left it without a definition, or a fact table's index tables, it says what to
 *		run.  Otherwise it names the index tables that the user may mean: those of a fact table or
 *		of its partition, the one that it is a partition of, or the one whose place it is to take.
 */
void
report_not_index_table(Oid relid)
{
	char	   *name = get_rel_name(relid);
	List	   *undefined;

	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid),
				 errhint(LIST_HINT)));
	undefined = is_undefined(relid) ? list_make1_oid(relid) : undefined_of(undefined_tables(), relid);
	if (undefined != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not an index table", name),
				 linitial_oid(undefined) == relid ? errdetail("It was restored without its definition.") :
				 errdetail("Its index tables were restored without their definitions."),
				 errhint("Run: %s", told_remaking(undefined))));
	report_meant_index_tables(relid, name);
}

/*
 * required_definition
 *		Returns the definition of an index table; raises that error if the table is not one.
 */
DefinitionRow *
required_definition(Oid index_table)
{
	DefinitionRow *stored = stored_definition(index_table);

	if (stored == NULL)
		report_not_index_table(index_table);
	return stored;
}

/*
 * report_meant_index_tables
 *		Raises that error with the index tables that the user may mean instead.
 */
static void
report_meant_index_tables(Oid relid, const char *name)
{
	List	   *meant = NIL;
	const char *what = NULL;
	Oid			root = partition_root(relid);
	DefinitionRow *stored = stored_definition(relid);
	StringInfoData list;

	if (stored != NULL)
	{
		meant = list_make1_oid(stored->replaces);
		what = "It is to take the place of an index table that is being rebuilt.";
	}
	else if (OidIsValid(catalog_fact_of(root)))
	{
		meant = list_make1_oid(root);
		what = "It is a partition of an index table.";
	}
	else if (catalog_has_fact(root))
	{
		meant = index_tables_of(root);
		what = root == relid ? "It is a fact table." : "It is a partition of a fact table.";
	}
	initStringInfo(&list);
	foreach_oid(index_table, meant)
		appendStringInfo(&list, "%s%s", list.len > 0 ? ", " : "",
						 quote_literal_cstr(quoted_relation(index_table)));
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("\"%s\" is not an index table", name),
			 what != NULL ? errdetail_internal("%s", _(what)) : 0,
			 list_length(meant) == 1 ? errhint("Name the index table instead: %s.", list.data) :
			 meant != NIL ? errhint("Name one of its index tables instead: %s.", list.data) :
			 errhint(LIST_HINT)));
}

/*
 * partition_root
 *		Returns the table at the top of the partitions that a table is one of, or itself.
 */
static Oid
partition_root(Oid relid)
{
	List	   *ancestors = get_rel_relispartition(relid) ? get_partition_ancestors(relid) : NIL;

	return ancestors == NIL ? relid : llast_oid(ancestors);
}

/* told_activation: returns the call that makes an index table active */
char *
told_activation(Oid index_table)
{
	return told_call(is_building(index_table) ? "build" : "repair", index_table);
}

/* told_unqueue: returns the calls after which no index table of a fact table needs its queue */
char *
told_unqueue(Oid fact)
{
	StringInfoData sql;

	initStringInfo(&sql);
	foreach_ptr(DefinitionRow, row, catalog_queued_definitions(fact))
	{
		if (sql.len > 0)
			appendStringInfoChar(&sql, ' ');
		if (OidIsValid(row->replaces))
			appendStringInfoString(&sql, told_call("rebuild", row->replaces));
		else if (!is_async(row))
			appendStringInfoString(&sql, told_call("build", row->index_table));
		else
			appendStringInfoString(&sql,
								   told_select("alter", row->index_table, ", maintenance => 'transactional'"));
	}
	return sql.data;
}

/*
 * told_drop
 *		Returns the command that drops all index tables of a fact table, or its feed if it has
 *		no index tables.
 */
char *
told_drop(Oid fact)
{
	List	   *index_tables = index_tables_of(fact);
	StringInfoData sql;

	if (index_tables == NIL)
		return told_select("drop_feed", fact, "");
	initStringInfo(&sql);
	foreach_oid(index_table, index_tables)
		appendStringInfo(&sql, "%s%s", sql.len > 0 ? ", " : "DROP TABLE ", quoted_relation(index_table));
	appendStringInfoChar(&sql, ';');
	return sql.data;
}
