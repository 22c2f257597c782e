/*-------------------------------------------------------------------------
 *
 * believe.c
 *	  Which rows of the catalog are to be believed.
 *
 * Called by catalog.c for every definition that is read, by definition.c and
 * rotate.c for queue tables, and by what users call, to forget rows that cannot be.
 *
 * The catalog names tables by OID.  A table that was dropped where no event trigger
 * fires, under session_replication_role = replica say, leaves its OID behind; in a
 * dump that is a plain number, and after the restore the number may be that of
 * anybody's table.  So a row is believed for what the tables show, not for its
 * number: what we have made or adopted depends on its fact table, and a restore
 * makes our triggers on both, which nobody else has.  Until it has, there is
 * nothing that would have to be kept in step.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "indextable.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

static bool is_queue_table(Oid relid, Oid fact, TupleDesc desc);
static bool has_columns(Oid relid, TupleDesc desc);
static bool is_on_other_table(Form_pg_depend form, Oid table);
static bool forget_definition(StoredDefinition *stored, Oid named);
static bool forget_fact(FactTableRow *row);

/*
 * believed
 *		Whether a definition is of the two tables that it names.  One whose tables are
 *		gone can do no harm, and whoever drops them has to find it.
 */
bool
believed(DefinitionRow *row)
{
	char		kind = get_rel_relkind(row->index_table);

	if (kind == '\0')
		return true;
	if ((kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE) ||
		get_rel_relispartition(row->index_table))
		return false;
	if (depends_on_table(row->index_table, row->fact_table))
		return true;
	return has_triggers_of_ours(row->index_table, true) &&
		(get_rel_relkind(row->fact_table) == '\0' || has_triggers_of_ours(row->fact_table, false));
}

/*
 * queue_tables
 *		The queue tables of a fact table that has a queue, as the catalog names them;
 *		InvalidOid for one that is gone, or is not what it was, and false then.  What is
 *		left is the one in use.  desc: their columns, NULL: any.
 */
bool
queue_tables(FactTableRow *row, TupleDesc desc)
{
	bool		queue = is_queue_table(row->queue, row->fact_table, desc);
	bool		spare = row->spare != row->queue && is_queue_table(row->spare, row->fact_table, desc);

	if (!queue)
		row->queue = spare ? row->spare : InvalidOid;
	if (!queue || !spare)
		row->spare = InvalidOid;
	return queue && spare;
}

/* is_queue_table: by name, columns, and that it is no other fact table's */
static bool
is_queue_table(Oid relid, Oid fact, TupleDesc desc)
{
	char	   *name = get_rel_name(relid);
	ListCell   *cell;

	if (name == NULL || strncmp(name, "queue_", 6) != 0 || get_rel_relkind(relid) != RELKIND_RELATION ||
		!is_own_schema(get_rel_namespace(relid)) ||
		(desc != NULL && !has_columns(relid, desc)))
		return false;
	if (depends_on_table(relid, fact))
		return true;
	if (table_dependencies(relid, is_on_other_table, fact, false))
		return false;
	/* Restored, and not adopted yet. */
	foreach(cell, catalog_queues())
	{
		FactTableRow *other = lfirst(cell);

		if (other->fact_table != fact && (other->queue == relid || other->spare == relid))
			return false;
	}
	return true;
}

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

static bool
is_on_other_table(Form_pg_depend form, Oid table)
{
	return form->refclassid == RelationRelationId && form->refobjid != table;
}

/*
 * forget_dangling
 *		Forgets what the catalog says of tables that are gone.  Called when users
 *		create, drop, verify or repair.
 *
 * In the middle of a restore a table may be there whose triggers are not yet: what is
 * said of a table that exists is forgotten only if the user names it, to drop() it.
 *
 * One at a time, and not where somebody uses the tables for DDL: two that delete the
 * same row would wait for each other.  What nobody has got round to is found the next
 * time.
 */
void
forget_dangling(Oid named)
{
	Oid			catalog = catalog_relid("definition", false);
	bool		any = false;
	ListCell   *cell;

	if (RecoveryInProgress() || XactReadOnly || IsInParallelMode() ||
		!ConditionalLockRelationOid(catalog, ShareUpdateExclusiveLock))
		return;
	foreach(cell, catalog_definitions())
		any |= forget_definition(lfirst(cell), named);
	foreach(cell, catalog_facts())
		any |= forget_fact(lfirst(cell));
	if (!any)
		UnlockRelationOid(catalog, ShareUpdateExclusiveLock);
}

static bool
forget_definition(StoredDefinition *stored, Oid named)
{
	Oid			index_table = stored->row.index_table;
	bool		exists = get_rel_relkind(index_table) != '\0';

	if ((exists && (index_table != named || believed(&stored->row))) ||
		!ConditionalLockRelationOid(index_table, ShareUpdateExclusiveLock))
		return false;
	if (exists)
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("\"%s\" is not an index table, and a definition that says so is forgotten",
						get_rel_name(index_table)),
				 errdetail("Neither a dependency on a fact table nor triggers of indextable show that it is one: the definition comes from a dump, and what it was of was gone by then."),
				 errhint("If it was to be an index table, create it again with indextable.create().")));
	catalog_forget_definition(index_table);
	return true;
}

/* forget_fact: a fact table that is gone, or of which nothing is left but its own row */
static bool
forget_fact(FactTableRow *row)
{
	Oid			fact = row->fact_table;
	bool		exists = get_rel_relkind(fact) != '\0';

	if (exists && (has_triggers_of_ours(fact, false) || catalog_read_any(fact, InvalidOid) != NIL))
		return false;
	(void) queue_tables(row, NULL);
	if (exists && (OidIsValid(row->queue) || OidIsValid(row->spare)))
		return false;
	if (!ConditionalLockRelationOid(fact, ShareUpdateExclusiveLock))
		return false;
	catalog_forget_fact(fact);
	queue_table_drop(row->queue);
	queue_table_drop(row->spare);
	return true;
}
