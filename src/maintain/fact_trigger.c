/*-------------------------------------------------------------------------
 *
 * fact_trigger.c
 *	  Maintains index tables: the trigger function of fact tables.
 *
 * The server calls it after each row, to collect what has changed; after each
 * statement, to write what was collected; and before and after TRUNCATE.
 *
 * Why the index tables are right after every statement, whatever other triggers
 * do: a row goes through versions v0, v1, ... vn, and each step from vk-1 to vk
 * brings one event here.  Nested statements make the events come out of order, but
 * all of them come.  An event deletes the entries that vk-1 has and the live version
 * lacks, and adds those that vk and the live version have and vk-1 lacks.  Take an
 * entry that vn has, and the last step that introduced it.  When the event of that
 * step came, every version from that step on had the entry, and vk and the live
 * version are among these.  So the entry was added, and no later event found that
 * the live version lacks it.  The same argument, the other way round, holds for an
 * entry that vn lacks.  A row that does not exist has no entries, and a step that
 * changes no entry can be left out.  An entry that the live version has and vk lacks
 * is left to the event of the step that introduced it: where primary keys move from
 * row to row, another entry may have its unique key until then.
 *
 * Whether a version of a row on another server is live can be found out only by
 * reading the row again, over there.  That is not necessary as long as events come
 * in order, for then each new version is the live one when its event comes.  Events
 * come out of order only if a statement is nested in another: its events come
 * before those that the outer statement has still to bring.  So as soon as an event
 * has come from a statement that began later, rows are read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "access/xact.h"
#include "commands/trigger.h"
#include "executor/tuptable.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "../apply/apply.h"
#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../entry/entry.h"
#include "../fact/fact.h"
#include "../fetch/fetch.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/sql.h"
#include "maintain.h"

PG_FUNCTION_INFO_V1(indextable_maintain);

/* The number of index tables up to which no memory is allocated for a version of a row. */
#define FEW					4

/* The entries of one version of the row that the trigger fired for. */
typedef struct Version
{
	Entries    *entries;		/* by transactional index table */
	int		   *skipped;		/* number of entries left out, by
								 * transactional index table */
	Entries		few_entries[FEW];
	int			few_skipped[FEW];
} Version;

/* Returns the definition by which a table is maintained, or NULL. */
typedef FactDef *(*definition_for_trigger) (Relation fact);

static void maintain_row(TriggerData *trigdata, definition_for_trigger find);
static void maintain_pinned_row(TriggerData *trigdata, definition_for_trigger find, FactDef *volatile *held);
static TupleTableSlot *row_of_writer(TriggerData *trigdata, HeapTuple stored);
static bool is_row_at(TupleTableSlot *slot, Oid relid, HeapTuple stored);
static void enqueue(FactDef *def, Leaf *leaf, TupleTableSlot *old, TupleTableSlot *new, bool moved);
static CommandId command_of_version(HeapTuple tuple);
static bool nothing_changed(FactDef *def, TupleTableSlot *old, TupleTableSlot *new,
							Bitmapset *columns);
static void no_version(FactDef *def, Version *version);
static bool extract_versions(FactDef *def, FactRow *old, FactRow *new, bool moved,
							 Version *before, Version *after);
static void collect_differences(FactDef *def, Version *before, Version *after);
static int	extract_live_versions(FactDef *def, Relation fact, TupleTableSlot *row, Version *before,
								  Version *after, Version *live);

/* indextable_maintain: the trigger function, for all events of fact tables and their partitions */
Datum
indextable_maintain(PG_FUNCTION_ARGS)
{
	TriggerData *trigdata = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by the trigger manager",
						IT_INTERNAL ".maintain")));

	/*
	 * Everybody may execute this function, since the owners of partitions
	 * must.  But in a trigger of a user, which is refused where event
	 * triggers fire, it would run at other times, or a second time for a row.
	 */
	if ((!TRIGGER_FIRED_AFTER(trigdata->tg_event) && !TRIGGER_FIRED_BY_TRUNCATE(trigdata->tg_event)) ||
		(!is_our_trigger(trigdata->tg_trigger->tgname) &&
		 (trigdata->tg_trigger->tgnargs == 0 || !is_our_copied_trigger(trigdata->tg_trigger->tgname))))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("trigger \"%s\" was not created by indextable", trigdata->tg_trigger->tgname),
				 errhint("Run DROP TRIGGER %s ON %s;", quote_identifier(trigdata->tg_trigger->tgname),
						 quoted_relation(RelationGetRelid(trigdata->tg_relation)))));

	if (TRIGGER_FIRED_AFTER(trigdata->tg_event) && TRIGGER_FIRED_FOR_ROW(trigdata->tg_event))
	{
		if (!TRIGGER_FIRED_BY_DELETE(trigdata->tg_event))
			refuse_write_to_detaching(trigdata->tg_relation);
		if (trigdata->tg_trigger->tgnargs == 0)
			maintain_row(trigdata, get_trigger_definition);
		else
		{
			/* first what is queued, and then the entries beside the table */
			maintain_row(trigdata, place_definition_of_part);
			maintain_row(trigdata, place_definition_beside);
		}
	}
	else if (TRIGGER_FIRED_BY_TRUNCATE(trigdata->tg_event))
	{
		if (TRIGGER_FIRED_BEFORE(trigdata->tg_event))
			prepare_truncate(trigdata->tg_relation);
		else
			maintain_truncate(trigdata->tg_relation);
	}
	else if (OidIsValid(root_of(trigdata->tg_relation)))
		batch_end_statement(root_of(trigdata->tg_relation));
	return PointerGetDatum(NULL);
}

/*
 * maintain_row
 *		Handles an AFTER ROW event, with the definition pinned: functions of users that
 *		are called, or an index table that is altered, may cause the definition to be
 *		loaded anew in the meantime.
 */
static void
maintain_row(TriggerData *trigdata, definition_for_trigger find)
{
	FactDef    *volatile held = NULL;

	PG_TRY();
	{
		maintain_pinned_row(trigdata, find, &held);
	}
	PG_CATCH();
	{
		if (held != NULL)
			definition_unpin(held);
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (held != NULL)
		definition_unpin(held);
}

/*
 * maintain_pinned_row
 *		Collects what an AFTER ROW event changes in the index tables.  The definition
 *		that it uses is in *held, pinned; the caller unpins it.
 */
static void
maintain_pinned_row(TriggerData *trigdata, definition_for_trigger find, FactDef *volatile *held)
{
	Relation	fact = trigdata->tg_relation;
	TupleTableSlot *old = NULL;
	TupleTableSlot *new = NULL;
	TupleTableSlot *stored_old = NULL;
	TupleTableSlot *stored_new = NULL;
	HeapTuple	new_tuple = NULL;
	FactDef    *def;
	Leaf	   *leaf;
	Version		before;
	Version		after;
	Version		live;
	const RowSource *source;	/* of the row, if it is not here */
	bool		in_order = true;
	bool		moved;
	bool		changed;
	bool		enqueued = false;
	FactRow		old_row;
	FactRow		new_row;
	DeltaChange *changes = NULL;	/* by table of totals */

	if (TRIGGER_FIRED_BY_INSERT(trigdata->tg_event))
	{
		stored_new = trigdata->tg_trigslot;
		new_tuple = trigdata->tg_trigtuple;
	}
	else
	{
		stored_old = trigdata->tg_trigslot;
		if (TRIGGER_FIRED_BY_UPDATE(trigdata->tg_event))
		{
			stored_new = trigdata->tg_newslot;
			new_tuple = trigdata->tg_newtuple;
		}
	}

	do
	{
		def = find(fact);
		if (def == NULL)
		{
			check_not_detached(fact);
			return;
		}
		if (*held != def)
		{
			definition_pin(def);
			if (*held != NULL)
				definition_unpin(*held);
			*held = def;
		}
		if (def->nall == 0 && !def->queue.feed)
			return;				/* triggers are left, but no index tables */
		leaf = leaf_of(def, fact);
		source = leaf != NULL ? leaf->source : NULL;
		if (source != NULL)
		{
			CommandId	cid = GetActiveSnapshot()->curcid;

			in_order = !batch_foreign_since(def->relid, cid);
			batch_note_foreign(def->relid, cid);
		}
		old = convert_to_root_row(def, leaf, stored_old, 0);
		new = convert_to_root_row(def, leaf, stored_new, 1);
		moved = old != NULL && new != NULL && !nothing_changed(def, old, new, def->layout.pk_columns);
		if (source != NULL && new != NULL && (old == NULL || moved))
		{
			Relation	root = relation_open(def->relid, AccessShareLock);

			elsewhere->rows->require_in_bounds(def, root, RelationGetRelid(fact), new, false);
			relation_close(root, NoLock);
		}
		/* Where a foreign row is, a feed has its key. */
		if (def->layout.queued != NULL && !enqueued &&
			(source == NULL || !def->queue.has_feeds || def->queue.queued_here))
		{
			enqueue(def, leaf, old, new, moved);
			enqueued = true;
		}
		/* Of rows in parts, transactional entries are beside each part. */
		if ((def->nsync == 0 && def->ntotals == 0) || def->place->in_parts ||
			(old != NULL && new != NULL && nothing_changed(def, old, new, def->layout.used)))
			return;
		if (new != NULL && source == NULL)
			batch_note_version(def->relid, command_of_version(new_tuple));

		if (old != NULL)
			factrow_init(&old_row, def, old);
		if (new != NULL)
		{
			factrow_init(&new_row, def, new);
			if (new == stored_new && source == NULL)
				new_row.written = row_of_writer(trigdata, new_tuple);
		}
		changed = def->nsync > 0 &&
			extract_versions(def, old != NULL ? &old_row : NULL, new != NULL ? &new_row : NULL, moved, &before,
							 &after);
		if (!changed && def->ntotals == 0)
			return;

		/*
		 * apply/deltas.c says why the live version does not matter for
		 * totals.
		 */
		changes = def->ntotals > 0 ? palloc(sizeof(DeltaChange) * def->ntotals) : NULL;
		for (int i = 0; i < def->ntotals; i++)
			extract_change(def->totals[i], old != NULL ? &old_row : NULL, new != NULL ? &new_row : NULL,
						   &changes[i]);
	} while (!batch_lock(def));
	if (def->ntotals > 0)
	{
		OpSet	   *set = batch_get_set(def);

		for (int i = 0; i < def->ntotals; i++)
			deltas_add_change(set->deltas[i], &changes[i]);
	}
	if (!changed)
	{
		batch_row_done(def);
		return;
	}

	/*
	 * A row that keeps its primary key has its live version under the same
	 * one, and is compared below.
	 *
	 * Otherwise there may be a live row again under the primary key of the
	 * old version. That has to be looked for only if a version of some row
	 * was written by the command that deleted the old version or by a later
	 * one, and its event has come: events that come later add what is missing
	 * then.  An update counts, too, because it may have added entries of a
	 * row whose insertion has not come yet.
	 */
	if (old != NULL && (new == NULL || moved))
	{
		if (source != NULL ? !in_order : def->layout.pk_deferrable ||
			batch_written_since(def->relid, HeapTupleHeaderGetCmax(trigdata->tg_trigtuple->t_data)))
		{
			Version		gone;

			no_version(def, &gone);
			(void) extract_live_versions(def, fact, old, &before, &gone, &live);
		}
		else
			no_version(def, &live);
		collect_differences(def, &before, &live);
	}
	if (new != NULL)
	{
		if (old != NULL && moved)
			no_version(def, &before);
		if (source != NULL ? !in_order : def->layout.pk_deferrable || !row_is_live(fact, stored_new))
		{
			if (extract_live_versions(def, fact, new, &before, &after, &live) > 1)
				note_shared_key(def, new, def->layout.pk_attno);
			collect_differences(def, &before, &live);
		}
		else
			collect_differences(def, &before, &after);
	}
	batch_row_done(def);
}

/*-------------------------------------------------------------------------
 * Finds the new version of a row where the executor has it still.
 *
 * To detoast a document of 4 KB that was just stored is half of what an insert costs us, and the slot
 * that the row was stored from mostly has it in memory, as the last row of its statement.  What is
 * there is the same row, if the slot says that it was stored in this table under this TID, and the
 * tuple there was written by the same command.  The statement is under way, so nothing that its
 * command has written was rolled back, and no other tuple has got its TID.  One exception: a tuple
 * that ON CONFLICT has stored and killed again, when another session's came first, may be replaced by
 * another one of the same command.  That one was stored from the same slot, or, by ON CONFLICT DO
 * UPDATE, from another one, and brings an event of an update.  Statements in whose WITH others write
 * have more slots, and are left alone.
 *
 * The executor materializes rows before they are stored, so that nothing in the slot is in memory
 * that is used again.
 *-------------------------------------------------------------------------
 */

/* How many tables a statement may have for it to be worthwhile to look through their slots. */
#define MAX_LOOKED_AT		8

/* row_of_writer: returns the slot that a new version was stored from, or NULL if it has gone on */
static TupleTableSlot *
row_of_writer(TriggerData *trigdata, HeapTuple stored)
{
	EState	   *writer = innermost_writer();
	HeapTupleHeader header = stored->t_data;
	Oid			relid = RelationGetRelid(trigdata->tg_relation);

	if (writer == NULL || writer->es_plannedstmt->hasModifyingCTE ||
		(header->t_infomask & HEAP_COMBOCID) != 0 || HeapTupleHeaderXminFrozen(header) ||
		HeapTupleHeaderGetRawCommandId(header) != writer->es_output_cid ||
		!TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetRawXmin(header)) ||
		list_length(writer->es_opened_result_relations) +
		list_length(writer->es_tuple_routing_result_relations) > MAX_LOOKED_AT)
		return NULL;
	foreach_ptr(ResultRelInfo, target, writer->es_opened_result_relations)
	{
		bool		by_conflict = target->ri_onConflict != NULL && TRIGGER_FIRED_BY_UPDATE(trigdata->tg_event);
		TupleTableSlot *slot = by_conflict ? target->ri_onConflict->oc_ProjSlot : target->ri_newTupleSlot;

		if (is_row_at(slot, relid, stored))
			return slot;
	}
	foreach_ptr(ResultRelInfo, target, writer->es_tuple_routing_result_relations)
	{
		if (!TRIGGER_FIRED_BY_UPDATE(trigdata->tg_event) &&
			is_row_at(target->ri_PartitionTupleSlot, relid, stored))
			return target->ri_PartitionTupleSlot;
	}
	return NULL;
}

/*
 * is_row_at
 *		Returns whether a slot, or NULL, holds the values that were stored in a tuple.  A slot forgets its TID when
 *		it gets other values; where it has a tuple, the server has written there who has stored it, too.
 */
static bool
is_row_at(TupleTableSlot *slot, Oid relid, HeapTuple stored)
{
	HeapTuple	tuple;

	if (slot == NULL || TTS_EMPTY(slot) || slot->tts_tableOid != relid || !ItemPointerIsValid(&slot->tts_tid) ||
		!ItemPointerEquals(&slot->tts_tid, &stored->t_self))
		return false;
	if (TTS_IS_VIRTUAL(slot))
		return TTS_SHOULDFREE(slot);
	tuple = TTS_IS_BUFFERTUPLE(slot) ? ((HeapTupleTableSlot *) slot)->tuple : NULL;
	return tuple != NULL &&
		HeapTupleHeaderGetRawXmin(tuple->t_data) == HeapTupleHeaderGetRawXmin(stored->t_data) &&
		HeapTupleHeaderGetRawCommandId(tuple->t_data) == HeapTupleHeaderGetRawCommandId(stored->t_data);
}

/*
 * enqueue
 *		Queues the primary keys of a row, so that the drain looks at the row later.  The
 *		drain reads the version that is live then, so it does not matter whether this
 *		version is live.
 */
static void
enqueue(FactDef *def, Leaf *leaf, TupleTableSlot *old, TupleTableSlot *new, bool moved)
{
	if (old != NULL && new != NULL && nothing_changed(def, old, new, def->layout.queued))
		return;
	if (old != NULL)
		queue_collect(def, leaf, old);
	if (new != NULL && (old == NULL || moved))
		queue_collect(def, leaf, new);
}

/*
 * command_of_version
 *		Returns the command that wrote a new version; COPY FREEZE leaves no trace of its own.
 */
static CommandId
command_of_version(HeapTuple tuple)
{
	return HeapTupleHeaderXminFrozen(tuple->t_data) ? GetCurrentCommandId(false) :
		HeapTupleHeaderGetCmin(tuple->t_data);
}

/*
 * nothing_changed
 *		Returns whether the given columns are stored with the same bytes in both
 *		versions.  Nothing is detoasted: equal TOAST pointers mean equal values.
 */
static bool
nothing_changed(FactDef *def, TupleTableSlot *old, TupleTableSlot *new, Bitmapset *columns)
{
	int			i = -1;

	slot_getsomeattrs(old, def->layout.max_attno);
	slot_getsomeattrs(new, def->layout.max_attno);
	while ((i = bms_next_member(columns, i)) >= 0)
	{
		int			a = i + FirstLowInvalidHeapAttributeNumber - 1;
		Form_pg_attribute att = TupleDescAttr(old->tts_tupleDescriptor, a);

		if (!same_bytes(old->tts_values[a], old->tts_isnull[a],
						new->tts_values[a], new->tts_isnull[a], att->attlen, att->attbyval))
			return false;
	}
	return true;
}

/* no_version: makes a version without entries, as that of a row that does not exist */
static void
no_version(FactDef *def, Version *version)
{
	version->entries = version->few_entries;
	version->skipped = version->few_skipped;
	if (def->nsync > FEW)
	{
		version->entries = palloc(sizeof(Entries) * def->nsync);
		version->skipped = palloc(sizeof(int) * def->nsync);
	}
	for (int i = 0; i < def->nsync; i++)
	{
		entries_init(&version->entries[i], def->defs[i]);
		version->skipped[i] = 0;
	}
}

/*
 * extract_versions
 *		Makes the entries of the old and the new version, either of which may be NULL.
 *		Returns false if there is nothing to do.  Index tables whose entries an update
 *		surely does not change are left out: left_alone is set in before.
 */
static bool
extract_versions(FactDef *def, FactRow *old, FactRow *new, bool moved,
				 Version *before, Version *after)
{
	bool		changed = moved;

	no_version(def, before);
	no_version(def, after);
	for (int i = 0; i < def->nsync; i++)
	{
		IndexDef   *index = def->defs[i];

		if (old != NULL && new != NULL && !moved && entries_unchanged(index, old, new))
		{
			before->entries[i].left_alone = true;
			continue;
		}
		if (old != NULL)
			extract_entries(index, old, false, &before->entries[i]);
		if (new != NULL)
			after->skipped[i] = extract_entries(index, new, true, &after->entries[i]);
		if (after->skipped[i] > 0 || lacking_is_news(index, after->entries[i].lacking) ||
			!entries_equal(index, &before->entries[i], &after->entries[i]))
			changed = true;
	}
	return changed;
}

/*
 * collect_differences
 *		Collects the operations that turn the entries of before into those of after.
 */
static void
collect_differences(FactDef *def, Version *before, Version *after)
{
	OpSet	   *set = batch_get_set(def);

	for (int i = 0; i < def->nsync; i++)
	{
		if (before->entries[i].left_alone)
			continue;
		diff_entries(def->defs[i], &before->entries[i], &after->entries[i], &set->lists[i], set->cxt);
		set->lists[i].skipped += after->skipped[i];
		set->lists[i].lacking |= after->entries[i].lacking;
	}
}

/*
 * extract_live_versions
 *		Makes the entries of the rows that are live now under the primary key of row,
 *		without those that neither the version before this step nor the one after it
 *		has.  Returns how many rows are live: at most one, unless a deferrable primary key has
 *		not been checked yet.
 */
static int
extract_live_versions(FactDef *def, Relation fact, TupleTableSlot *row, Version *before, Version *after,
					  Version *live)
{
	Relation	root = def->layout.partitioned ? relation_open(def->relid, AccessShareLock) : fact;
	TupleDesc	desc = CreateTupleDescCopy(def->layout.partitioned ? def->layout.desc : RelationGetDescr(root));
	LiveScanOptions options = {.as_writer = true};
	LiveScan	scan;
	Datum		key[INDEX_MAX_KEYS];
	bool		isnull;
	int			n = 0;

	no_version(def, live);
	for (int i = 0; i < def->layout.npk; i++)
		key[i] = slot_getattr(row, def->layout.pk_attno[i], &isnull);
	live_scan_begin(&scan, def, root, SnapshotSelf, &options);
	for (TupleTableSlot *slot = live_scan_first(&scan, key); slot != NULL; slot = live_scan_next(&scan), n++)
	{
		/* Entries that are made point into the row, and outlive the scan. */
		TupleTableSlot *copy = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
		FactRow		version;

		ExecCopySlot(copy, slot);
		copy->tts_tid = slot->tts_tid;
		factrow_init(&version, def, copy);
		for (int i = 0; i < def->nsync; i++)
		{
			Entries		entries;

			entries_init(&entries, def->defs[i]);
			live->skipped[i] += extract_entries(def->defs[i], &version, true, &entries);
			entries_merge(def->defs[i], &live->entries[i], &entries);
		}
	}
	live_scan_end(&scan);
	if (root != fact)
		relation_close(root, NoLock);
	for (int i = 0; i < def->nsync; i++)
		entries_confine(def->defs[i], &live->entries[i], &before->entries[i], &after->entries[i]);
	return n;
}
