/*-------------------------------------------------------------------------
 *
 * remote_table.c
 *	  Tells which tables on other servers the foreign partitions of a table stand for, as
 *	  statements over there name them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/indexing.h"
#include "catalog/pg_index.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "../catalog/catalog.h"
#include "../indextable.h"
#include "../util/inherit.h"
#include "../util/relation.h"
#include "foreign.h"
#include "remote.h"

static RemoteTable *remote_table(Oid fact, Oid relid);
static bool has_unique_index(Oid relid);

/*
 * tables_on
 *		Lists the tables (RemoteTable *) of the foreign partitions of a table, a fact table or a partition of
 *		one, that are on a server, or on any if that is InvalidOid.
 */
List *
tables_on(Oid fact, Oid relid, Oid server)
{
	List	   *tables = NIL;

	foreach_oid(leaf, foreign_leaves(relid))
	{
		if (!OidIsValid(server) || GetForeignTable(leaf)->serverid == server)
			tables = lappend(tables, remote_table(fact, leaf));
	}
	return tables;
}

/* remote_table: returns the table on another server that a foreign partition stands for */
static RemoteTable *
remote_table(Oid fact, Oid relid)
{
	ForeignTable *table = GetForeignTable(relid);
	const char *schema = get_namespace_name(get_rel_namespace(relid));
	const char *name = get_rel_name(relid);
	RemoteTable *result = palloc(sizeof(RemoteTable));

	foreach_ptr(DefElem, option, table->options)
	{
		if (strcmp(option->defname, "schema_name") == 0)
			schema = defGetString(option);
		else if (strcmp(option->defname, "table_name") == 0)
			name = defGetString(option);
	}
	result->relid = relid;
	result->server = table->serverid;
	result->owner = reading_role(fact, relid);
	result->literal = quote_literal_cstr(quote_qualified_identifier(schema, name));
	return result;
}

/*
 * reading_role
 *		Returns the role as which a foreign partition is read to keep entries right: its owner, by whose user
 *		mapping the other server knows the reader.  Raises an error if the owner of the fact table, who can
 *		read the entries, does not have the rights of that role.
 */
Oid
reading_role(Oid fact, Oid partition)
{
	Oid			role = table_owner(partition);
	Oid			owner = table_owner(fact);

	/* One that was dropped is found to be so when it is read. */
	if (OidIsValid(role) && OidIsValid(owner) && !has_privs_of_role(owner, role))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("foreign partition \"%s\" belongs to another role than table \"%s\"", get_rel_name(partition),
						get_rel_name(fact)),
				 errdetail("It is read by the user mapping of its owner, whose rights the owner of the table does not have."),
				 errhint("Run ALTER FOREIGN TABLE %s OWNER TO %s;", quoted_relation(partition),
						 quote_identifier(GetUserNameFromId(owner, false)))));
	return role;
}

/*
 * next_group
 *		Takes the first tables from a list that one statement can be about: of one server and
 *		one role.
 */
List *
next_group(List **tables)
{
	RemoteTable *first = linitial(*tables);
	List	   *group = NIL;
	List	   *others = NIL;

	foreach_ptr(RemoteTable, table, *tables)
	{
		if (table->server == first->server && table->owner == first->owner)
			group = lappend(group, table);
		else
			others = lappend(others, table);
	}
	*tables = others;
	return group;
}

/*
 * remote_columns
 *		Returns the names that the columns of the row key have on another server, as a
 *		constant of SQL.
 */
char *
remote_columns(FactDef *def, Oid relid)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < def->layout.npk; i++)
	{
		const char *name = get_attname(def->relid, def->layout.pk_attno[i], false);
		AttrNumber	attno = get_attnum(relid, name);

		foreach_ptr(DefElem, option, GetForeignColumnOptions(relid, attno))
			if (strcmp(option->defname, "column_name") == 0)
			name = defGetString(option);
		appendStringInfo(&list, "%s%s", i > 0 ? ", " : "", quote_literal_cstr(name));
	}
	return psprintf("ARRAY[%s]::pg_catalog.name[]", list.data);
}

/* is_foreign: returns whether a table is on another server */
bool
is_foreign(Oid relid)
{
	return get_rel_relkind(relid) == RELKIND_FOREIGN_TABLE;
}

/*
 * foreign_leaves
 *		Lists the partitions of a table, however deep, that are on other servers; locks none.
 *
 * The server allows none under a unique index.  That is looked up first, because a table
 * may have thousands of partitions, and few of those that are asked for have foreign ones.
 */
List *
foreign_leaves(Oid relid)
{
	List	   *result = NIL;

	if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE && has_unique_index(relid))
		return NIL;
	foreach_oid(table, list_with_partitions(relid))
	{
		if (get_rel_relkind(table) == RELKIND_FOREIGN_TABLE)
			result = lappend_oid(result, table);
	}
	return result;
}

/*
 * has_unique_index
 *		Returns whether a table has a unique index that is valid, and so on all of its
 *		partitions.
 */
static bool
has_unique_index(Oid relid)
{
	CatalogScan scan = catalog_scan_begin(IndexRelationId, IndexIndrelidIndexId, Anum_pg_index_indrelid, relid,
										  NULL);
	bool		found = false;
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = catalog_scan_next(&scan)))
	{
		Form_pg_index index = (Form_pg_index) GETSTRUCT(tuple);

		found |= index->indisunique && index->indisvalid;
	}
	catalog_scan_end(&scan);
	return found;
}
