/*-------------------------------------------------------------------------
 *
 * citus_table.c
 *	  Refuses tables of Citus as fact tables and as index tables, where index tables would
 *	  be silently wrong.
 *
 * What is written to a table of Citus is written to its shards, where neither the triggers
 * of the table fire, nor does anything here find the rows.  A shard itself is replaced by
 * another table whenever Citus moves or splits it.
 *
 * create() refuses such tables.  A table can become one of Citus later, too.  Citus refuses
 * to take a table with triggers, unless citus.enable_unsafe_triggers is on and the table is
 * empty, and ddl/before_alter.c refuses to have one made the shard of a new table.  Commands
 * that run without event triggers pass by both.  So whenever a definition is loaded, what
 * its tables are to Citus is looked up (make_index_def()).  Asynchronous index tables over tables that
 * Citus distributes are right: each node drains its shards (citus/shard_drain.c); and so are transactional ones
 * that it keeps beside the shards of their fact table (citus/shard_pair.c).  Citus invalidates the tables
 * that it takes in the relcache, and has the definitions in all sessions loaded anew by that.
 * An index table that must not be used is not active from then on; lookup(), verify(), the
 * planner and all others give the reason.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "../catalog/catalog.h"
#include "../util/sql.h"
#include "citus.h"

static bool is_refused(CitusKind kind, bool async);
static bool is_beside(Oid fact, CitusKind kind, Oid index_table, CitusKind index_kind);

/* What a table is, by its CitusKind; CITUS_NONE has nothing to say. */
static const char *const fact_problems[] =
{
	[CITUS_DISTRIBUTED] = "fact table is a distributed table of Citus",
	[CITUS_REFERENCE] = "fact table is a reference table of Citus",
	[CITUS_LOCAL] = "fact table is a local table that Citus manages",
	[CITUS_SHARD] = "fact table is a shard of a table of Citus"
};
static const char *const index_table_problems[] =
{
	[CITUS_DISTRIBUTED] = "index table is a distributed table of Citus",
	[CITUS_REFERENCE] = "index table is a reference table of Citus",
	[CITUS_LOCAL] = "index table is a local table that Citus manages",
	[CITUS_SHARD] = "index table is a shard of a table of Citus"
};

/*
 * is_refused
 *		Returns whether index tables over a table cannot be kept in step, because of what it
 *		is to Citus.
 */
static bool
is_refused(CitusKind kind, bool async)
{
	return kind != CITUS_NONE && !(kind == CITUS_DISTRIBUTED && async);
}

/*
 * citus_check_fact
 *		Raises an error if a table is one of Citus, over which such an index table cannot be
 *		kept in step.
 */
void
citus_check_fact(Relation fact, bool async)
{
	Oid			relid = RelationGetRelid(fact);
	CitusKind	kind = citus_kind(relid);
	const char *detail = NULL;
	const char *hint = NULL;
	Oid			table;

	if (!is_refused(kind, async))
		return;
	switch (kind)
	{
		case CITUS_NONE:
			break;
		case CITUS_DISTRIBUTED:
			detail = "It is a distributed table of Citus: its rows are written to its shards, where no triggers of this table fire.";
			hint = "Use maintenance => 'async', on the coordinator.";
			break;
		case CITUS_REFERENCE:
			detail = "It is a reference table of Citus: rows are written to its copy on each node, where no triggers of this table fire.";
			hint = "Create a plain index, or call undistribute_table() to make it an ordinary table.";
			break;
		case CITUS_LOCAL:
			detail = "It is a local table that Citus manages: its rows are written to a shard, where no triggers of this table fire.";
			hint = psprintf("To make it an ordinary table, drop its foreign keys from and to tables of Citus, and run SELECT undistribute_table(%s);",
							quote_literal_cstr(quoted_relation(relid)));
			break;
		case CITUS_SHARD:
			table = citus_table_of_part(relid);
			detail = psprintf("It is a shard of table %s of Citus, which replaces it by another table when it moves or splits the shard.",
							  OidIsValid(table) ? quoted_relation(table) : "");
			hint = "Create the index table over the whole table, on the coordinator.";
			break;
	}
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("table \"%s\" cannot be a fact table", RelationGetRelationName(fact)),
			 errdetail("%s", detail),
			 errhint("%s", hint)));
}

/*
 * citus_check_unique
 *		Raises an error if a table is distributed: then an index table over it can be unique only if it
 *		is beside its shards.
 */
void
citus_check_unique(Oid fact)
{
	if (citus_kind(fact) == CITUS_DISTRIBUTED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" cannot have a unique index table", get_rel_name(fact)),
				 errdetail("It is a distributed table of Citus, and entries of its rows are written after the writer's transaction."),
				 errhint("Leave out is_unique, and use maintenance => 'async'; or begin the key with the distribution column, which makes it transactional.")));
}

/*
 * citus_check_created
 *		Raises an error if Citus has taken a table that was just created, whose rows are
 *		written past it: in a schema that is distributed, or because Citus manages all tables.
 */
void
citus_check_created(Oid relid)
{
	if (citus_kind(relid) != CITUS_NONE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" cannot be created in schema \"%s\"", get_rel_name(relid),
						get_namespace_name(get_rel_namespace(relid))),
				 errdetail("Citus has made it one of its own tables."),
				 errhint("Use a schema that is not distributed, and run SET citus.use_citus_managed_tables TO off;")));
}

/*
 * citus_problem
 *		Returns why an index table cannot be trusted because of what its fact table or itself
 *		is to Citus, as a constant; NULL: it can be.  index_table may be InvalidOid.
 */
const char *
citus_problem(Oid fact, Oid index_table, bool async)
{
	CitusKind	kind = citus_kind(fact);
	CitusKind	index_kind = OidIsValid(index_table) ? citus_kind(index_table) : kind;

	if (!async && is_beside(fact, kind, index_table, index_kind))
		return NULL;
	if (!async && kind == CITUS_DISTRIBUTED && index_kind == kind)
		return "index table is not distributed together with its fact table";
	if (is_refused(kind, async) || (kind == CITUS_DISTRIBUTED && index_kind != kind))
		return fact_problems[kind];
	return is_refused(index_kind, async) || (index_kind == CITUS_DISTRIBUTED && kind != index_kind) ?
		index_table_problems[index_kind] : NULL;
}

/*
 * is_beside
 *		Returns whether the shards of an index table, or this one, are beside those of its fact table, so
 *		that writers write both; without an index table, whether they can be.
 */
static bool
is_beside(Oid fact, CitusKind kind, Oid index_table, CitusKind index_kind)
{
	if (kind == CITUS_SHARD && index_kind == kind && OidIsValid(index_table))
		return citus_are_colocated(citus_table_of_part(fact), citus_table_of_part(index_table));
	return kind == CITUS_DISTRIBUTED && index_kind == kind &&
		(!OidIsValid(index_table) || citus_are_colocated(fact, index_table));
}

/*
 * citus_check_unchanging
 *		Raises an error if an index table is distributed, as the function cannot change its
 *		contents then.
 */
void
citus_check_unchanging(Oid index_table, const char *function)
{
	if (citus_kind(index_table) == CITUS_DISTRIBUTED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s is not supported for index table \"%s\"", function, get_rel_name(index_table)),
				 errdetail("Citus has distributed it."),
				 errhint("Create another index table, and drop this one when the other is active.")));
}

/*
 * citus_check_trigger
 *		Raises an error if a trigger that carries a definition to this node, and names the queue, has come
 *		to a table that is not distributed here, as the queue is.
 *
 * Citus repeats the command by the table's name, which the owner may have changed on some node: then it
 * would be for a table of somebody else, maybe for a shard.  A node that is added gets the triggers of all
 * tables before Citus tells it that any of these are distributed.
 */
void
citus_check_trigger(Oid relid, const char *trigger, const char *queue)
{
	if (OidIsValid(citus_table_of_part(relid)) ||
		(!citus_has_parts(relid) && citus_has_parts(find_queue_table(queue))))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot make trigger \"%s\" on table \"%s\"", trigger, get_rel_name(relid)),
				 errdetail("On this node, this is not a distributed table of Citus."),
				 errhint("If a table of the same name was renamed on this node only, give it its name back.")));
}
