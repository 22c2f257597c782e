/*-------------------------------------------------------------------------
 *
 * truncate.c
 *	  Truncates the index tables of a fact table that is truncated, and deletes the
 *	  entries of a partition that is truncated.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "nodes/pg_list.h"
#include "pgstat.h"
#include "storage/lockdefs.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "../catalog/completeness.h"
#include "../catalog/definition_rows.h"
#include "../definition/fact_partition.h"
#include "../definition/index_partition.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../queue/append.h"
#include "../util/inherit.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "../util/uncounted.h"
#include "batch.h"
#include "fact_table.h"
#include "install_triggers.h"
#include "partition_entries.h"
#include "truncate.h"

/* The partitioned fact table that is being truncated as a whole, or InvalidOid. */
static Oid	truncating = InvalidOid;

/*
 * prepare_truncate
 *		Deletes the entries of a partition before it is truncated, as long as its rows
 *		tell which entries they are.  Where the whole fact table is truncated, notes that:
 *		maintain_truncate() empties the index tables afterwards.
 */
void
prepare_truncate(Relation rel)
{
	Oid			root = root_of(rel);

	if (root == RelationGetRelid(rel))
		truncating = root;
	else if (!OidIsValid(root) || truncating == root)
		return;
	else if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		update_entries_of_partition(root, RelationGetRelid(rel), false, NULL);
	else if (!HAS_FOREIGN_TRUNCATE_TRIGGERS)
	{
		ListCell   *cell;

		foreach(cell, foreign_leaves(RelationGetRelid(rel)))
			update_entries_of_partition(root, lfirst_oid(cell), false, NULL);
	}
}

/*
 * maintain_truncate
 *		Empties the index tables of a fact table that was truncated, and queues in its feed
 *		that all rows have changed.  TRUNCATE of the fact table holds a lock that keeps
 *		every other session out.  Afterwards older snapshots see it empty, and likewise the
 *		index tables.
 *
 * Of a table in parts, Citus has locked the table that is without rows on all nodes, and
 * locks the index tables in the same way, so that the drains of all nodes have ended, and
 * transactions that they have prepared.  Each shard stays locked until the transaction has
 * committed on its node: entries of rows that are written where it already has are written
 * after that.  What is left in the queue are keys of rows that do not exist.
 */
void
maintain_truncate(Relation fact)
{
	FactDef    *def;
	List	   *index_tables = NIL;
	Oid			relid;
	ListCell   *cell;
	int			i;

	truncating = InvalidOid;
	/* A shard has this trigger, too, once Citus has moved or split it. */
	if (OidIsValid(place_table_of_part(RelationGetRelid(fact))))
		return;
	def = get_trigger_definition(fact);
	if (def == NULL)
		return;
	relid = def->relid;
	batch_discard(relid);
	if (def->feed)
		queue_collect_key(def, NULL, NULL);
	for (i = 0; i < def->ndefs; i++)
		index_tables = lappend_oid(index_tables, def->defs[i]->relid);
	for (i = 0; i < def->ntotals; i++)
		index_tables = lappend_oid(index_tables, def->totals[i]->relid);

	/*
	 * Who has read an index table may come to the fact table, which the
	 * command has locked already: then it is this command that gives way.
	 */
	foreach(cell, index_tables)
	{
		lock_tree_in_turns(lfirst_oid(cell), AccessExclusiveLock);
		if (lock_if_exists(lfirst_oid(cell), AccessExclusiveLock))
		{
			truncate_index_table(lfirst_oid(cell));
			catalog_forget_rejections(lfirst_oid(cell));
			completeness_begin(lfirst_oid(cell));
		}
	}
	CacheInvalidateRelcacheByRelid(relid);	/* see completeness.c */
}

/* truncate_index_table: truncates an index table and its partitions, or one of these, which is locked */
void
truncate_index_table(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	Oid			owner = rel->rd_rel->relowner;
	Oid			outer = truncated_by_us;
	ListCell   *cell;
	int			uncounted;

	table_close(rel, NoLock);

	/*
	 * TRUNCATE builds the indexes anew, which must not be counted as reading
	 * the index table.  What triggers of its owner do in the meantime is not
	 * counted either.  The truncation itself is reported afterwards.
	 */
	uncounted = begin_uncounted();
	truncated_by_us = index_table_of(relid);
	PG_TRY();
	{
		/*
		 * The index table may have triggers of its owner, who may not act as
		 * the current user.
		 */
		run_sql(owner, "TRUNCATE TABLE %s%s", get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE ||
				place_has_parts(relid) ? "" : "ONLY ",
				quoted_relation(relid));
	}
	PG_FINALLY();
	{
		truncated_by_us = outer;
	}
	PG_END_TRY();
	end_uncounted(uncounted);
	foreach(cell, list_with_partitions(relid))
	{
		rel = relation_open(lfirst_oid(cell), NoLock);
		pgstat_count_truncate(rel);
		relation_close(rel, NoLock);
	}
}

/* forget_truncating: forgets which fact table is being truncated, as a (sub)transaction ends, which may be the one that does */
void
forget_truncating(void)
{
	truncating = InvalidOid;
}
