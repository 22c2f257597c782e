/*-------------------------------------------------------------------------
 *
 * feed.c
 *	  Implements indextable.create_feed() and drop_feed(): a feed is a queue whose changes are applied on
 *	  another server; see foreign/feed_server.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "miscadmin.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../queue/queue.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/sql.h"

PG_FUNCTION_INFO_V1(indextable_create_feed);
PG_FUNCTION_INFO_V1(indextable_drop_feed);

/*
 * indextable_create_feed
 *		create_feed(fact_table regclass): has all changes of a table queued from now on.
 *
 * The lock waits for transactions that have changed the table, and keeps others out
 * until the triggers are there.  So whatever is committed after this is in the feed.
 */
Datum
indextable_create_feed(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	Relation	fact;
	FactDef    *def;

	PreventCommandIfReadOnly("create_feed()");
	forget_orphaned_rows(InvalidOid);
	fact = open_fact(relid, ShareRowExclusiveLock, WAITING_CREATE_FEED);
	if (catalog_is_feed(relid))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("table \"%s\" has a feed already", RelationGetRelationName(fact))));
	refuse_feed_over_foreign(relid);
	def = definition_of_fact(fact, relid);
	definition_hold(def, CurrentMemoryContext);
	relation_close(fact, NoLock);
	triggers_install(relid);
	queues_create(def, true);
	CacheInvalidateRelcacheByRelid(relid);
	PG_RETURN_VOID();
}

/*
 * indextable_drop_feed
 *		drop_feed(fact_table regclass): drops a feed, with what has not been taken from it.
 */
Datum
indextable_drop_feed(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	FactTableRow row;

	require_owner(relid);
	PreventCommandIfReadOnly("drop_feed()");
	if (lock_if_exists(relid, AccessExclusiveLock))
		lock_tree(relid, AccessExclusiveLock);
	if (!catalog_read_fact(relid, &row) || !row.feed)
	{
		if (get_rel_name(relid) == NULL)
			report_dropped(relid);
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("table \"%s\" has no feed", get_rel_name(relid))));
	}
	require_owner(relid);		/* it may be another's since */
	row.feed = false;
	catalog_write_fact(&row);
	CacheInvalidateRelcacheByRelid(relid);
	(void) queues_drop(relid, true);
	if (!catalog_fact_in_use(relid))
		triggers_remove(relid, true);
	PG_RETURN_VOID();
}
