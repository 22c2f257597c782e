/*-------------------------------------------------------------------------
 *
 * partition_rows.c
 *	  Writes or deletes the entries of a partition that is attached, detached, dropped
 *	  or truncated.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "../definition/cache.h"
#include "../definition/roots.h"
#include "../entry/block_scan.h"
#include "../entry/diff.h"
#include "../entry/document.h"
#include "../entry/entries.h"
#include "../entry/extract.h"
#include "../entry/foreign_scan.h"
#include "../indextable.h"
#include "../queue/append.h"
#include "../util/inherit.h"
#include "batch.h"
#include "detach_entries.h"
#include "partition_rows.h"

/* Rows of a partition that comes or goes, of which entries are written together. */
#define MAX_ROWS			10000

static void update_entries_by_rows(FactDef *def, Relation root, Relation rel, bool comes);
static void flush(FactDef *def, OpList *lists, MemoryContext cxt);

/*
 * update_entries_of_partition
 *		A table that is part of a fact table comes with its rows, or goes: has their
 *		entries written or deleted, or the rows queued.  It is locked against writers.
 *		What goes and is on another server may be out of reach: then the bounds tell
 *		which entries go, and nothing is read there.  So they do for one that is being
 *		detached, whose entries are gone already, or else (an older version of this
 *		library has left them) not those of the rows that it has by now.
 */
void
update_entries_of_partition(Oid root, Oid partition, bool comes)
{
	Relation	root_rel = relation_open(root, AccessShareLock);
	Relation	rel = relation_open(partition, NoLock);
	bool		by_bounds = !comes && (foreign_leaves(partition) != NIL || OidIsValid(find_root_detached_from(partition)));
	FactDef    *def;

	do
		def = definition_of_fact(root_rel, root);
	while (!definition_settled(def, definition_lock(def, 0, def->nsync)));
	definition_pin(def);
	PG_TRY();
	{
		if (by_bounds)
			delete_entries_in_bounds(def, rel);
		else
			update_entries_by_rows(def, root_rel, rel, comes);
	}
	PG_FINALLY();
	{
		definition_unpin(def);
	}
	PG_END_TRY();
	relation_close(rel, NoLock);
	relation_close(root_rel, NoLock);
}

static void
update_entries_by_rows(FactDef *def, Relation root, Relation rel, bool comes)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable partition",
											  ALLOCSET_DEFAULT_SIZES);
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	OpList	   *lists = palloc0(sizeof(OpList) * Max(def->nsync, 1));
	BlockScan	scan;
	TupleTableSlot *row;
	int			n = 0;
	int			i;

	block_scan_begin(&scan, def, rel, snapshot, 100, 0);
	while ((row = block_scan_next(&scan)) != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(cxt);
		FactRow		factrow;

		CHECK_FOR_INTERRUPTS();
		if (scan.foreign != NULL)
			require_in_bounds(def, root, RelationGetRelid(scan.rel), row, true);
		if (def->queued != NULL)
			queue_collect(def, row);
		if (def->nsync > 0)
			factrow_init(&factrow, def, row);
		for (i = 0; i < def->nsync; i++)
		{
			Entries		none;
			Entries		entries;
			int			skipped;

			entries_init(&none, def->defs[i]);
			entries_init(&entries, def->defs[i]);
			skipped = extract_entries(def->defs[i], &factrow, comes, &entries);
			if (comes)
				lists[i].skipped += skipped;
			diff_entries(def->defs[i], comes ? &none : &entries, comes ? &entries : &none,
						 &lists[i], cxt);
		}
		MemoryContextSwitchTo(old);
		if (++n % MAX_ROWS == 0)
			flush(def, lists, cxt);
	}
	block_scan_end(&scan);
	flush(def, lists, cxt);
	UnregisterSnapshot(snapshot);
	MemoryContextDelete(cxt);
}

static void
flush(FactDef *def, OpList *lists, MemoryContext cxt)
{
	batch_write_lists(def, lists, false);
	memset(lists, 0, sizeof(OpList) * def->nsync);
	MemoryContextReset(cxt);
}
