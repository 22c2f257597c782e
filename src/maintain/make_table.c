/*-------------------------------------------------------------------------
 *
 * make_table.c
 *	  Opens a table that is to be a fact table, and refuses those that cannot be one; creates the
 *	  bare table of an index table, with its partitions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/catalog.h"
#include "catalog/index.h"
#include "catalog/indexing.h"
#include "catalog/pg_am.h"
#include "catalog/pg_inherits.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/inherit.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "../util/uncounted_reads.h"
#include "../util/wait_point.h"
#include "maintain.h"

/*
 * The fact table for which an index table is being filled, or InvalidOid; see
 * refuse_write_beside().
 */
Oid			fact_being_filled = InvalidOid;

static void require_rights(Oid relid, LOCKMODE lock);
static bool is_created_here(Oid relid, Oid owner);
static void copy_dropped_column_layout(Oid relid, Relation parent);

/*
 * open_fact
 *		Opens and locks a table that can be a fact table, or raises an error that says
 *		why it cannot be one.  The current user has to own the table; with ACCESS SHARE
 *		the privilege to read it is enough.  Shows that the command waits for a stronger lock.
 *
 * Rights are asked for before the lock, which others could not be made to wait for, and once more
 * when it is there, because the table may have got another owner meanwhile.
 */
Relation
open_fact(Oid relid, LOCKMODE lock, WaitingCommand command)
{
	LockWait	wait = {.command = command,.table = relid};
	Relation	rel;
	const char *why = NULL;

	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
		report_dropped(relid);
	require_rights(relid, lock);
	if (lock >= ShareRowExclusiveLock)
		lock_politely(&wait, lock);
	rel = open_existing(relid, lock);
	require_rights(relid, lock);

	switch (rel->rd_rel->relkind)
	{
		case RELKIND_RELATION:
			break;
		case RELKIND_PARTITIONED_TABLE:
			lock_tree(relid, lock);
			if (lock >= ShareRowExclusiveLock)
				elsewhere->snapshots->note_writers_locked_out(relid);
			break;
		case RELKIND_FOREIGN_TABLE:
			why = "It is a foreign table: changes that are made on the other server would be missed.";
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("\"%s\" is not a table", RelationGetRelationName(rel)),
					 errhint("A fact table is an ordinary or a partitioned table with a primary key.")));
	}
	if (IsCatalogRelation(rel) || IsToastRelation(rel) ||
		is_own_schema(RelationGetNamespace(rel)))
		why = "It is a system table.";
	else if (OidIsValid(catalog_fact_of(relid)))
		why = "It is an index table: create another one over the same fact table.";
	else if (rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		why = "It is a temporary table, which only one session uses: a plain index serves it better.";
	else if (rel->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED)
		why = "It is an unlogged table: after a crash it would be empty, and its index tables would not.";
	else if (rel->rd_rel->relispartition)
		why = "It is a partition: create the index table over its partitioned table.";
	else if (rel->rd_rel->relkind == RELKIND_RELATION &&
			 (find_inheritance_children(relid, NoLock) != NIL || has_superclass(relid)))
		why = "It has parents or children by inheritance, and triggers of a table do not fire for the rows of its children.";
	else if (rel->rd_rel->relkind == RELKIND_RELATION && rel->rd_rel->relam != HEAP_TABLE_AM_OID)
		why = "Its access method is not \"heap\".";
	else if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		check_partitions(rel);
	if (why != NULL)
		ereport(ERROR,
				(errcode(rel->rd_rel->relkind == RELKIND_RELATION &&
						 OidIsValid(catalog_fact_of(relid)) ?
						 ERRCODE_WRONG_OBJECT_TYPE : ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" cannot be a fact table", RelationGetRelationName(rel)),
				 errdetail("%s", why),
				 errhint("A fact table is an ordinary or a partitioned table with a primary key.")));
	return rel;
}

/*
 * require_rights
 *		Raises an error unless the current user may read a table, by ACCESS SHARE, or owns it.
 */
static void
require_rights(Oid relid, LOCKMODE lock)
{
	if (lock == AccessShareLock ? pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) != ACLCHECK_OK :
		!owns_relation(relid, GetUserId()))
		aclcheck_error(lock == AccessShareLock ? ACLCHECK_NO_PRIV : ACLCHECK_NOT_OWNER,
					   get_relkind_objtype(get_rel_relkind(relid)), get_rel_name(relid));
}

/*
 * check_partitions
 *		Raises an error if a fact table has a partition that it cannot have: one that
 *		does not store its rows as a heap, whose persistence is another one, that has index
 *		tables of its own, or that belongs to Citus; or one on another server if changes are queued.
 */
void
check_partitions(Relation root)
{
	List	   *partitions = list_with_partitions(RelationGetRelid(root));
	bool		taken = place_is_taken(RelationGetRelid(root));

	wait_point("partitions are listed");

	/*
	 * The partitions are looked up in pg_class and not opened: ATTACH
	 * PARTITION locks no other partition, so another session may drop one at
	 * this moment.
	 */
	foreach_oid(relid, partitions)
	{
		HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
		Form_pg_class form;
		const char *why = NULL;

		if (!HeapTupleIsValid(tuple))
			continue;
		form = (Form_pg_class) GETSTRUCT(tuple);
		if (form->relkind == RELKIND_RELATION && form->relam != HEAP_TABLE_AM_OID)
			why = "Its access method is not \"heap\".";
		else if (form->relpersistence != root->rd_rel->relpersistence)
			why = "Only one of the two tables is unlogged.";
		else if (relid != RelationGetRelid(root) && catalog_fact_in_use(relid))
			why = "It has index tables of its own.";
		else if (!taken && place_is_taken(relid))
			why = "It is a table of Citus, or a shard of one.";
		if (why != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("table \"%s\" cannot be a partition of a table with index tables",
							NameStr(form->relname)),
					 errdetail("%s", why)));
		ReleaseSysCache(tuple);
	}
	if (catalog_is_feed(RelationGetRelid(root)))
		refuse_feed_over_foreign(RelationGetRelid(root));
	refuse_queue_over_foreign(RelationGetRelid(root));
}

/*
 * get_trigger_definition
 *		Returns the definition of the fact table whose trigger has fired for a table, or
 *		NULL if there is nothing to maintain: the table is a partition that is being
 *		detached, or it was restored without its index tables.
 */
FactDef *
get_trigger_definition(Relation fact)
{
	Oid			root = root_of(fact);
	FactDef    *def = OidIsValid(root) ? definition_for_writer(fact, root) : NULL;

	if (def == NULL)
		return NULL;
	/* The catalog may know the fact table, and have lost the definitions. */
	if (def->nall == 0 && !def->queue.feed)
		refuse_undefined(root, RelationGetRelid(fact));
	if (!def->registered)
		return NULL;
	return def;
}

/*
 * create_bare_index_table
 *		Creates an empty table that has nothing but columns, with its partitions,
 *		and returns it.
 *
 * It is created by the role creator (InvalidOid: the caller) for the role owner.
 * 'columns' is the list for CREATE TABLE; partitioning and tablespace may be NULL.
 */
Oid
create_bare_index_table(Oid creator, Oid schema, const char *name, const char *columns,
						Partitioning *partitioning, const char *tablespace, Oid owner)
{
	char	   *quoted = quote_qualified_identifier(held_schema_name(schema), name);
	Oid			relid;

	if (partitioning != NULL)
		run_sql(creator, "CREATE TABLE %s (%s) PARTITION BY %s%s", quoted, columns, partitioning->clause,
				tablespace ? in_tablespace("TABLESPACE", tablespace) : "");
	else
		run_sql(creator, "CREATE TABLE %s (%s) USING heap WITH (" STORAGE_PARAMETERS ")%s%s",
				quoted, columns, tablespace ? " TABLESPACE " : "", tablespace ? quote_identifier(tablespace) : "");
	relid = get_relname_relid(name, schema);
	if (!OidIsValid(creator))
		creator = GetUserId();
	if (!OidIsValid(relid) || !is_created_here(relid, creator))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table %s was dropped or renamed while it was being created", quoted),
				 errhint("Check the event triggers of the database.")));

	/*
	 * By SQL this takes a superuser, unless the creator has the role of the
	 * owner.
	 */
	if (owner != creator)
	{
		ATExecChangeOwner(relid, owner, true, AccessExclusiveLock);
		CommandCounterIncrement();
	}
	place_check_created(relid);
	revoke_all(relid, owner);
	if (partitioning != NULL)
		make_partitions(creator, relid, partitioning);
	return relid;
}

/*
 * is_created_here
 *		Returns whether a table was created in this subtransaction, and belongs to a role.
 */
static bool
is_created_here(Oid relid, Oid owner)
{
	Relation	rel = relation_open(relid, AccessShareLock);
	bool		result = rel->rd_createSubid == GetCurrentSubTransactionId() && rel->rd_rel->relowner == owner;

	relation_close(rel, NoLock);
	return result;
}

/*
 * make_partitions
 *		Creates the partitions of an index table, with its columns, and attaches
 *		them.
 *
 * They are created by the role creator (InvalidOid: the caller) for the owner of the index
 * table, who attaches them, because the bounds are values of types whose functions may be
 * the owner's.
 */
void
make_partitions(Oid creator, Oid parent, Partitioning *p)
{
	Oid			schema = get_rel_namespace(parent);
	Relation	rel = relation_open(parent, NoLock);
	List	   *dropped = NIL;
	char	   *columns = layout_like(NULL, NULL, rel, INT_MAX, INT_MAX, false, &dropped);
	Oid			owner = rel->rd_rel->relowner;
	char	   *tablespace = tablespace_of(rel);
	int			uncounted = begin_uncounted();

	foreach_ptr(PartSpec, spec, p->parts)
	{
		char	   *name = ChooseRelationName(get_rel_name(parent), NULL, spec->suffix, schema, false);

		spec->relid = create_bare_index_table(creator, schema, name, columns, NULL,
											  spec->tablespace != NULL ? spec->tablespace : tablespace, owner);
		drop_placeholders(spec->relid, dropped);
		copy_dropped_column_layout(spec->relid, rel);
		relation_close(rel, NoLock);	/* ATTACH PARTITION checks that it is
										 * not open */
		run_on(parent, "ALTER TABLE %s ATTACH PARTITION %s %s", quoted_relation(parent), held_name(spec->relid),
			   spec->bound);
		rel = relation_open(parent, NoLock);
	}
	end_uncounted(uncounted);
	relation_close(rel, NoLock);
}

/* drop_placeholders: drops the columns that layout_like() has put in to be dropped */
void
drop_placeholders(Oid relid, List *names)
{
	StringInfoData drops;

	initStringInfo(&drops);
	foreach_ptr(char, column, names)
		appendStringInfo(&drops, "%sDROP COLUMN %s", drops.len > 0 ? ", " : "", quote_identifier(column));
	if (names != NIL)
		run_on(relid, "ALTER TABLE t %s", drops.data);
}

/*
 * copy_dropped_column_layout
 *		Gives the dropped columns of a table without rows the sizes that they have
 *		in its parent, as pg_upgrade does it.
 *
 * Entries are formed for one of the two tables, and read from the other.
 */
static void
copy_dropped_column_layout(Oid relid, Relation parent)
{
	Relation	attributes = table_open(AttributeRelationId, RowExclusiveLock);

	for (int i = 0; i < RelationGetNumberOfAttributes(parent); i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(parent), i);
		HeapTuple	tuple;
		Form_pg_attribute form;

		if (!att->attisdropped)
			continue;
		tuple = SearchSysCacheCopy2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(att->attnum));
		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for attribute %d of relation %u", att->attnum, relid);
		form = (Form_pg_attribute) GETSTRUCT(tuple);
		form->attlen = att->attlen;
		form->attbyval = att->attbyval;
		form->attalign = att->attalign;
		form->attstorage = att->attstorage;
		CatalogTupleUpdate(attributes, &tuple->t_self, tuple);
		heap_freetuple(tuple);
	}
	table_close(attributes, RowExclusiveLock);
	CommandCounterIncrement();
}

/*
 * refuse_write_beside
 *		Raises an error if a table that is about to be written is the fact table for which this
 *		transaction is filling an index table, or a partition of it.
 *
 * Functions of users may be called meanwhile, by indexes for example.  The index table has been filled by
 * then, and the triggers that keep it in step are not there yet.
 */
void
refuse_write_beside(Relation rel)
{
	if (RelationGetRelid(rel) != fact_being_filled && root_of(rel) != fact_being_filled)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_IN_USE),
			 errmsg("cannot write to table \"%s\" while an index table of it is being created",
					RelationGetRelationName(rel)),
			 errhint("Check the event triggers of the database.")));
}

/*
 * truncate_without_replication
 *		Empties a table as TRUNCATE does, except that subscribers are not told.  Returns how many
 *		rows it was known to have; -1: that was not known.
 */
float4
truncate_without_replication(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	Oid			toast = rel->rd_rel->reltoastrelid;
	char		persistence = rel->rd_rel->relpersistence;
	float4		rows = rel->rd_rel->reltuples;

	RelationSetNewRelfilenumber(rel, persistence);
	if (OidIsValid(toast))
	{
		Relation	toast_rel = relation_open(toast, AccessExclusiveLock);

		RelationSetNewRelfilenumber(toast_rel, persistence);
		relation_close(toast_rel, NoLock);
	}
	table_close(rel, NoLock);
	CommandCounterIncrement();
	reindex_table(relid);
	CommandCounterIncrement();
	return rows;
}

/* empty_index_table: removes all entries of an index table, which is locked against all others */
void
empty_index_table(Oid index_table)
{
	foreach_oid(table, list_with_partitions(index_table))
	{
		if (get_rel_relkind(table) == RELKIND_RELATION)
			(void) truncate_without_replication(table);
	}
}
