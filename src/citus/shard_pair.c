/*-------------------------------------------------------------------------
 *
 * shard_pair.c
 *	  Index tables beside the shards of their fact table: the first key field is the column by which Citus
 *	  distributes the fact table, so that the entries of a row belong on its own node.
 *
 * Such an index table is distributed together with its fact table.  On a node, each shard of the fact table
 * with the shard of the index table that has the same bounds is what a fact table with its index table is
 * elsewhere: the trigger of the shard writes the entries in the transaction that writes the row, and
 * the planner reads them in place of the rows.  The catalog has no definition of a pair.  It is that
 * of the two tables, with the shards in their place (shard_definitions()), so that there is nothing to
 * write down when shards come and go.
 *
 * What Citus 13.2 does with triggers, from trials by hand:
 *
 * 1. A trigger of a distributed table is on each shard, with the number of the shard at the end of its
 *	  name.  Those for rows and for statements fire there, in the transaction of the statement; what they
 *	  write commits with it, in two phases if it has to.  One for TRUNCATE is not on the shards, and fires
 *	  on the coordinator alone; only a shard that was moved or split has it, too.  Statement triggers of the
 *	  table itself do not fire.
 *
 * 2. A command for many rows is a statement for each shard, and COPY may be several.
 *
 * 3. Where a shard is moved or split to, the triggers are made last, when all rows have been copied,
 *	  whether writers are blocked or not.  What comes by logical replication afterwards fires none of them, as
 *	  they are not enabled ALWAYS.  The shards of all tables that are distributed together are copied from one
 *	  snapshot and by one stream of changes: entries come as they were written, and none is written twice.
 *
 * 4. A writer locks the metadata of its shard until it ends.  A move and a split lock those of all shards
 *	  that are distributed together, and wait until what was committed before is copied.  So the lock of the
 *	  fact table's shard keeps entries from being written to the old copy.  That is not so if Citus does not
 *	  distribute the two tables together any more: then writers get an error, and readers do without the
 *	  index table.
 *
 * 5. Shards that were moved are other tables, also of the same names.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "../catalog/catalog.h"
#include "../commands/commands.h"
#include "../definition/definition.h"
#include "../fact/fact.h"
#include "../util/as_owner.h"
#include "../util/compat.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "citus.h"

static void become_row_of_pair(DefinitionRow *row, Oid shard, Oid table);
static bool has_columns_of_table(Relation shard, Oid table);
static Oid	shard_beside(Oid shard, Oid table, Oid other);

/* No column has this name, which is too long for one. */
#define NO_COLUMN	"----------------------------------------------------------------"

/* citus_is_part: returns whether a table is a shard of a distributed table */
bool
citus_is_part(Oid relid)
{
	Oid			table = citus_table_of_part(relid);

	return OidIsValid(table) && citus_kind(table) == CITUS_DISTRIBUTED;
}

/* index_table_shards: lists the shards of an index table that this node has, by OID */
List *
index_table_shards(Oid index_table)
{
	char	   *numbers;

	return citus_shards_here(index_table, &numbers);
}

/*
 * folded_shards
 *		Lists the shards of a table of totals that this node folds, by OID: those that it has, and that are not
 *		being copied to another one.
 *
 * What becomes of a fold that ends there when the shard is no longer here does not matter: the copy has the
 * entries that it has replaced, or their sum.  But while Citus copies a shard that is written, it publishes it,
 * and to apply a deletion it reads the whole copy, which has no index yet.  Writers of totals only insert.
 */
List *
folded_shards(Oid totals)
{
	List	   *result = NIL;
	char	   *numbers;

	foreach_oid(shard, citus_shards_here(totals, &numbers))
	{
		CatCList   *published = SearchSysCacheList1(PUBLICATIONRELMAP, ObjectIdGetDatum(shard));

		if (published->n_members == 0)
			result = lappend_oid(result, shard);
		ReleaseSysCacheList(published);
	}
	return result;
}

/*
 * shard_definitions
 *		Lists the definitions (DefinitionRow *) of a shard: those of the transactional index tables of its
 *		table, with shards in place of the tables.
 *
 * News of these tables makes them be read again: they are watched before anything is read of them.
 */
List *
shard_definitions(Oid shard)
{
	Oid			table = citus_table_of_part(shard);
	List	   *rows = NIL;

	foreach_ptr(DefinitionRow, row, OidIsValid(table) ? catalog_read_definitions(table, InvalidOid) : NIL)
	{
		if (is_queued(row))
			continue;
		watch_relation(row->index_table);
		become_row_of_pair(row, shard, table);
		rows = lappend(rows, row);
	}
	return rows;
}

/* become_row_of_pair: makes the definition of an index table that of a pair of shards */
static void
become_row_of_pair(DefinitionRow *row, Oid shard, Oid table)
{
	Oid			beside = shard_beside(shard, table, row->index_table);

	if (!OidIsValid(beside))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index table \"%s\" is not beside the shards of table \"%s\"", get_rel_name(row->index_table),
						get_rel_name(table)),
				 errdetail("Citus does not distribute the two together any more, or shard \"%s\" has none of the index table beside it on this node.",
						   get_rel_name(shard)),
				 errhint("Run SELECT " IT_SCHEMA ".drop('%s'); on the coordinator, and create the index table again.",
						 quoted_relation(row->index_table))));
	number_columns_of_shard(row, shard, table);
	row->fact_oid = row->fact_table = shard;
	row->index_table = beside;
}

/*
 * shard_beside
 *		Returns the shard of another table that Citus keeps beside a shard of a table, or InvalidOid.
 */
static Oid
shard_beside(Oid shard, Oid table, Oid other)
{
	return OidIsValid(table) && OidIsValid(other) && citus_are_colocated(table, other) ?
		citus_colocated_shard(shard, table, other) : InvalidOid;
}

/* fact_of_shard: returns the shard of the fact table beside one of an index table, or InvalidOid */
Oid
fact_of_shard(Oid index_shard)
{
	Oid			index_table = citus_table_of_part(index_shard);
	Oid			fact = OidIsValid(index_table) ? catalog_fact_of(index_table) : InvalidOid;

	return shard_beside(index_shard, index_table, fact);
}

/*
 * number_columns_of_shard
 *		Has a definition of a table list the names by which it calls columns by their numbers in a shard: one that
 *		was made later lacks columns that were dropped before.  One that was restored has the names of now.
 *
 * The shard is locked, and the table is not.  A command that alters both commits on each connection by itself.  So
 * it may have committed for the shard already and not for the table, but not the other way round.  Then it waits
 * for nobody, and can be waited for.  But not if it belongs to this transaction of Citus, which has altered the
 * table over another connection: then only columns that it has not touched can be told.
 */
void
number_columns_of_shard(DefinitionRow *row, Oid shard, Oid table)
{
	Relation	rel;
	List	   *names = NIL;
	bool		altered_here = false;

	if (row->fact_oid != table)
		return;
	rel = relation_open(shard, AccessShareLock);
	if (!has_columns_of_table(rel, table))
	{
		for (AttrNumber i = 1; i <= RelationGetNumberOfAttributes(rel); i++)
			altered_here |= is_altered_here(rel, i);
		if (!altered_here)
		{
			LockRelationOid(table, AccessShareLock);
			UnlockRelationOid(table, AccessShareLock);
		}
	}
	foreach_ptr(char, name, get_column_names_by_number(rel))
	{
		int			number = name[0] == '\0' ? 0 : get_attnum(table, name);

		if (altered_here && number > 0 && is_altered_here(rel, list_length(names) + 1))
			number = PG_INT16_MAX;
		if (number > 0)
			name = number <= list_length(row->columns) ? list_nth(row->columns, number - 1) : NO_COLUMN;
		names = lappend(names, name);
	}
	relation_close(rel, AccessShareLock);
	row->columns = names;
	row->fact_oid = shard;
}

/*
 * has_columns_of_table
 *		Returns whether a shard has the same columns as its table has now, in the same order.  Dropped ones do not
 *		count.
 */
static bool
has_columns_of_table(Relation shard, Oid table)
{
	TupleDesc	desc = RelationGetDescr(shard);
	AttrNumber	attno = 0;
	int			i = 0;
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(table), Int16GetDatum(++attno))))
	{
		Form_pg_attribute att = (Form_pg_attribute) GETSTRUCT(tuple);
		bool		same = att->attisdropped;

		while (!same && i < desc->natts && TupleDescAttr(desc, i)->attisdropped)
			i++;
		if (!same && i < desc->natts)
		{
			same = strcmp(NameStr(TupleDescAttr(desc, i)->attname), NameStr(att->attname)) == 0 &&
				TupleDescAttr(desc, i)->atttypid == att->atttypid;
			i++;
		}
		ReleaseSysCache(tuple);
		if (!same)
			return false;
	}
	while (i < desc->natts && TupleDescAttr(desc, i)->attisdropped)
		i++;
	return i == desc->natts;
}

/* shard_triggers_as_made: returns whether a shard has the triggers that write its entries */
bool
shard_triggers_as_made(Relation shard)
{
	for (int i = 0; i < FACT_TRIGGERS; i++)
	{
		const FactTrigger *trigger = &fact_triggers[i];

		if ((trigger->on & ON_DISTRIBUTED) != 0 && (trigger->type & TRIGGER_TYPE_TRUNCATE) == 0 &&
			!trigger_is_as_made(shard, trigger->name, TRIGGER_FIRES_ON_ORIGIN, true))
			return false;
	}
	return true;
}

/*
 * shard_definition_beside
 *		Returns the definition by which the writers of a shard write entries, or NULL if there is no such
 *		index table.
 *
 * As a writer's, it is right for the reasons that shard_definition() gives.
 */
FactDef *
shard_definition_beside(Relation shard)
{
	/* An index table may be dropped while its lock is waited for. */
	for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++)
	{
		FactDef    *def = shard_definition(shard);
		int			n = def == NULL ? 0 : def->nsync + def->ntotals;

		if (n == 0)
			return NULL;
		def = definition_for_writer(shard, root_of(shard));
		if (def->nsync + def->ntotals == n)
			return def;
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_IN_USE),
			 errmsg("index tables beside shard \"%s\" change again and again", RelationGetRelationName(shard)),
			 errhint("Try again.")));
}

/*
 * fill_pair
 *		Writes the entries of all rows of a shard to the one beside it of an index table that this transaction has
 *		made.
 */
void
fill_pair(ShardPair *pair)
{
	IndexDef   *def;
	Relation	fact;
	Relation	rel;

	def = definition_open(pair->queue, &fact, &rel);
	if (def == NULL || rel->rd_createSubid == InvalidSubTransactionId)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" has no new shard of an index table beside it", get_rel_name(pair->fact))));
	(void) fill_index_table(def, fact, rel);
	relation_close(rel, NoLock);
	relation_close(fact, NoLock);
	CommandCounterIncrement();
	reindex_table(pair->queue);
}
