/*-------------------------------------------------------------------------
 *
 * queue_table.c
 *	  Recognizes the queue tables that the catalog names, and drops them.
 *
 * The catalog names them by OID, which may by now be that of any other table: validity.c
 * says why.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup.h"
#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "nodes/pg_list.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "../place/place.h"
#include "../util/dependencies.h"
#include "../util/sql.h"
#include "fact_rows.h"
#include "owner.h"
#include "queue_table.h"
#include "table_access.h"

static bool is_queue_table(Oid relid, Oid fact, TupleDesc desc);
static bool has_columns(Oid relid, TupleDesc desc);
static bool is_on_other_table(Form_pg_depend form, Oid table);

/*
 * find_queue_tables
 *		Checks the queue tables that the catalog names for a fact table, which has a
 *		queue; returns whether both are really there.
 *
 * One that does not exist, or is another table by now, is set to InvalidOid in *row; if
 * the other is left, it becomes the one in use.  desc has the columns of queue tables;
 * NULL accepts any columns.
 */
bool
find_queue_tables(FactTableRow *row, TupleDesc desc)
{
	bool		queue = is_queue_table(row->queue, row->fact_table, desc);
	bool		spare = row->spare != row->queue && is_queue_table(row->spare, row->fact_table, desc);

	if (!queue)
		row->queue = spare ? row->spare : InvalidOid;
	if (!queue || !spare)
		row->spare = InvalidOid;
	return queue && spare;
}

/*
 * is_queue_table
 *		Returns whether a relation is a queue table of a fact table: it has such a name,
 *		these columns unless desc is NULL, and does not belong to another fact table.
 */
static bool
is_queue_table(Oid relid, Oid fact, TupleDesc desc)
{
	char	   *name = get_rel_name(relid);
	ListCell   *cell;

	if (name == NULL || strncmp(name, QUEUE_TABLE_PREFIX, strlen(QUEUE_TABLE_PREFIX)) != 0 || get_rel_relkind(relid) != RELKIND_RELATION ||
		!is_own_schema(get_rel_namespace(relid)) ||
		(desc != NULL && !has_columns(relid, desc)))
		return false;
	if (has_table_dependency(relid, fact))
		return true;
	if (find_table_dependencies(relid, is_on_other_table, fact, false))
		return false;
	/* It may have been restored, and not adopted yet. */
	foreach(cell, catalog_queues(true))
	{
		FactTableRow *other = lfirst(cell);

		if (other->fact_table != fact && (other->queue == relid || other->spare == relid))
			return false;
	}
	return true;
}

/* has_columns: returns whether a table has as many columns as desc, with the same types */
static bool
has_columns(Oid relid, TupleDesc desc)
{
	int			i;

	for (i = 0; i < desc->natts; i++)
	{
		HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(i + 1));
		Form_pg_attribute att;
		bool		same;

		if (!HeapTupleIsValid(tuple))
			return false;
		att = (Form_pg_attribute) GETSTRUCT(tuple);
		same = att->atttypid == TupleDescAttr(desc, i)->atttypid &&
			att->atttypmod == TupleDescAttr(desc, i)->atttypmod;
		ReleaseSysCache(tuple);
		if (!same)
			return false;
	}
	return !SearchSysCacheExists2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(desc->natts + 1));
}

/* is_on_other_table: returns whether a dependency is on a relation other than table */
static bool
is_on_other_table(Form_pg_depend form, Oid table)
{
	return form->refclassid == RelationRelationId && form->refobjid != table;
}

/*
 * queue_table_drop
 *		Drops a queue table if it still exists.  One that another node governs is left to
 *		that node, which drops it on all.
 */
void
queue_table_drop(Oid relid)
{
	if (OidIsValid(relid) && get_rel_name(relid) != NULL && !place_is_governed_elsewhere(relid))
		run_sql(get_extension_owner(), "DROP TABLE IF EXISTS %s", quoted_relation(relid));
}
