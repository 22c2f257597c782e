/*-------------------------------------------------------------------------
 *
 * fact_table.c
 *	  Opens a table that is to be a fact table, and refuses those that cannot be one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/catalog.h"
#include "catalog/pg_am.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../place/foreign/foreign.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/inherit.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "../util/wait_point.h"
#include "maintain.h"

/*
 * open_fact
 *		Opens and locks a table that can be a fact table, or raises an error that says
 *		why it cannot be one.  The current user has to own the table; with ACCESS SHARE
 *		the privilege to read it is enough.
 */
Relation
open_fact(Oid relid, LOCKMODE lock)
{
	Relation	rel;
	const char *why = NULL;

	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
		report_dropped(relid);
	if (lock == AccessShareLock ? pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) != ACLCHECK_OK :
		!owns_relation(relid, GetUserId()))
		aclcheck_error(lock == AccessShareLock ? ACLCHECK_NO_PRIV : ACLCHECK_NOT_OWNER,
					   get_relkind_objtype(get_rel_relkind(relid)), get_rel_name(relid));
	rel = open_existing(relid, lock);

	switch (rel->rd_rel->relkind)
	{
		case RELKIND_RELATION:
			break;
		case RELKIND_PARTITIONED_TABLE:
			lock_tree(relid, lock);
			if (lock >= ShareRowExclusiveLock)
				note_writers_locked_out(relid);
			break;
		case RELKIND_FOREIGN_TABLE:
			why = "It is a foreign table: changes that are made on the other server would be missed.";
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("\"%s\" is not a table", RelationGetRelationName(rel)),
					 errhint("A fact table is an ordinary or a partitioned table with a primary key and a JSONB column.")));
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
				 errhint("A fact table is an ordinary or a partitioned table with a primary key and a JSONB column.")));
	return rel;
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
	if (def->ndefs == 0 && def->ntotals == 0 && !def->feed)
		refuse_undefined(root, RelationGetRelid(fact));
	if (!def->registered)
		return NULL;
	return def;
}
