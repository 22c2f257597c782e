/*-------------------------------------------------------------------------
 *
 * table_writer.c
 *	  Opens one table for writing, an index table or one of its partitions, and writes
 *	  its indexes.
 *
 * The table may have more indexes than it was made with: users may add their own,
 * with expressions and predicates.  Only exclusion constraints are refused.
 *
 * Whatever such an index calls is the owner's: functions in expressions and predicates,
 * which are called already when they are planned, and support functions of types, as a GiST
 * index calls the subtype_diff of a range type.  So the owner of the table is in charge from
 * before the indexes are opened until they are closed, whatever writes, and when: the session
 * of a superuser, a worker, the commit of a transaction.  BEGIN_WRITER() has it so, and
 * open_writer(), which all have to call, raises an error if it is not so.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/hash.h"
#include "access/heapam.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
#include "utils/tuplesort.h"
#include "utils/typcache.h"

#include "../definition/definition.h"
#include "../indextable.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "apply.h"

/* The last command of this transaction that has written entries, or InvalidCommandId. */
static CommandId last_cid = InvalidCommandId;

/* How the entries of a new index table are written: see bulk_load_write(). */
#define LOAD_OPTIONS		(TABLE_INSERT_SKIP_FSM | TABLE_INSERT_FROZEN)

/* Entries on their way into a new index table, or into one partition of it. */
typedef struct Load
{
	Oid			relid;			/* hash key */
	Relation	rel;
	BulkInsertState state;		/* or NULL */
	MemoryContext cxt;			/* of the entries in slots */
	TupleTableSlot *slots[CHUNK];
	int			nslots;
	int			n;				/* how many slots hold an entry */
} Load;

pg_noreturn static void report_altered(IndexDef *def);
static IndexInfo *index_info(Relation index);
static List *planned_anew(Relation index, AttrNumber attno);
static Load *find_load(HTAB *loads, IndexDef *def, Relation rel, TupleTableSlot *entry);
static void flush_load(Load *load, CommandId cid);

/*
 * table_writer_at_end_of_transaction
 *		Forgets which command wrote last, as the next transaction has other command ids.
 */
void
table_writer_at_end_of_transaction(void)
{
	last_cid = InvalidCommandId;
}

/*
 * owner_of_users_indexes
 *		Returns the owner of rel, an index table or one of its partitions, if there are other
 *		indexes than those that we have made, which are on plain columns; else InvalidOid.
 */
Oid
owner_of_users_indexes(IndexDef *def, Relation rel)
{
	IndexPartition *part = def->layout.parts == NULL ? NULL : find_index_partition(def, rel);
	Oid			primary_index = part != NULL ? part->primary_index : def->layout.primary_index;
	Oid			row_index = part != NULL ? part->row_index : def->layout.row_index;

	/* The list is not to be copied for each statement. */
	if (!rel->rd_indexvalid)
		list_free(RelationGetIndexList(rel));
	foreach_oid(index, rel->rd_indexlist)
	{
		if (index != primary_index && index != row_index)
			return rel->rd_rel->relowner;
	}
	return InvalidOid;
}

/*
 * open_writer
 *		Opens the indexes of rel, which is an index table or one of its partitions.
 *
 * An index that is not ready for insertions is left out.  It is an error if the
 * table is not any more what its definition says.
 */
void
open_writer(Writer *w, IndexDef *def, Relation rel)
{
	IndexPartition *part = def->layout.parts == NULL ? NULL : find_index_partition(def, rel);
	Oid			primary_index = part != NULL ? part->primary_index : def->layout.primary_index;
	Oid			row_index = part != NULL ? part->row_index : def->layout.row_index;
	List	   *indexes;
	int			i = 0;

	memset(w, 0, offsetof(Writer, slots));
	w->def = def;
	w->rel = rel;
	w->users_code = OidIsValid(owner_of_users_indexes(def, rel));
	if (w->users_code && !is_owner_in_charge(rel->rd_rel->relowner))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index table \"%s\" is not being written as its owner", def->name),
				 errhint("If its owner is another than that of its fact table, run %s.",
						 told_call("repair", def->relid))));
	indexes = RelationGetIndexList(w->rel);
	w->primary_index = w->row_index = -1;
	w->nindexes = list_length(indexes);
	w->indexes = palloc(sizeof(Relation) * Max(w->nindexes, 1));
	w->infos = palloc(sizeof(IndexInfo *) * Max(w->nindexes, 1));
	foreach_oid(index_oid, indexes)
	{
		Relation	index = index_open(index_oid, RowExclusiveLock);

		if (!index->rd_index->indisready)
		{
			index_close(index, NoLock);
			w->nindexes--;
			continue;
		}

		/*
		 * What the definition was loaded with is not looked up again.  That
		 * of totals is not unique.
		 */
		if ((index_oid == primary_index && !is_totals(def)) || finds_entries(def, index))
			w->primary_index = i;
		else if (def->spec.async && RelationGetRelid(index) == row_index && !index->rd_index->indisunique)
			w->row_index = i;
		w->infos[i] = RelationGetRelid(index) != primary_index ? index_info(index) :
			part != NULL ? part->primary_info : def->layout.primary_info;
		if (w->infos[i]->ii_ExclusionOps != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("index table \"%s\" has an exclusion constraint", def->name),
					 errdetail("Maintenance does not check exclusion constraints when it writes entries."),
					 errhint("Run ALTER TABLE %s DROP CONSTRAINT %s;", quoted_relation(RelationGetRelid(w->rel)),
							 quote_identifier(RelationGetRelationName(index)))));
		if (w->estate == NULL &&
			(w->infos[i]->ii_Expressions != NIL || w->infos[i]->ii_Predicate != NIL))
			w->estate = CreateExecutorState();
		w->indexes[i++] = index;
	}

	/* The statement itself may have altered it, in a nested statement. */
	if ((w->primary_index < 0 && !is_totals(def)) ||
		(def->fact->run.stale && !same_columns(RelationGetDescr(w->rel), def->layout.desc)))
		report_altered(def);
}

/*
 * index_info
 *		Returns what BuildIndexInfo() does, with expressions and a predicate that were planned as the owner.
 *
 * The server plans those of an index once in a session, for all roles.  A function in SQL becomes a part of
 * the expression then, and what it calls is looked up by the search_path of that moment: a role that may have
 * a query of the index table planned could have the function call code of its own as the owner.
 */
static IndexInfo *
index_info(Relation index)
{
	bool		kept = index->rd_indexprs != NIL || index->rd_indpred != NIL;
	IndexInfo  *info = BuildIndexInfo(index);

	if (kept)
	{
		info->ii_Expressions = planned_anew(index, Anum_pg_index_indexprs);
		info->ii_Predicate = planned_anew(index, Anum_pg_index_indpred);
	}
	return info;
}

/* planned_anew: plans the expressions of an index, or its predicate, as the relcache does */
static List *
planned_anew(Relation index, AttrNumber attno)
{
	bool		isnull;
	Datum		stored = SysCacheGetAttr(INDEXRELID, index->rd_indextuple, attno, &isnull);
	Node	   *result;

	if (isnull)
		return NIL;
	result = eval_const_expressions(NULL, stringToNode(TextDatumGetCString(stored)));
	if (attno == Anum_pg_index_indpred)
		result = (Node *) make_ands_implicit(canonicalize_qual((Expr *) result, false));
	fix_opfuncids(result);
	return (List *) result;
}

/*
 * report_altered
 *		Raises an error because the statement that writes an index table has altered it
 *		meanwhile.
 */
static void
report_altered(IndexDef *def)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_IN_USE),
			 errmsg("index table \"%s\" was altered while a statement was writing it", def->name)));
}

void
close_writer(Writer *w)
{
	if (w->found != NULL)
	{
		key_search_end(&w->search);
		ExecDropSingleTupleTableSlot(w->found);
	}
	if (w->rival != NULL)
	{
		key_search_end(&w->rival_search);
		ExecDropSingleTupleTableSlot(w->rival);
	}
	for (int i = 0; i < w->nslots; i++)
		ExecDropSingleTupleTableSlot(w->slots[i]);
	for (int i = 0; i < w->nindexes; i++)
	{
		index_insert_cleanup(w->indexes[i], w->infos[i]);
		index_close(w->indexes[i], NoLock);
	}
	if (w->estate != NULL)
		FreeExecutorState(w->estate);
}

/*
 * begin_command
 *		Begins a new command, if the current one has written entries.
 *
 * A command cannot delete or update a row version that it has written itself.
 */
void
begin_command(void)
{
	if (last_cid == GetCurrentCommandId(false))
		CommandCounterIncrement();
}

/* writing_command: returns the current command id, and notes that this command writes entries */
CommandId
writing_command(void)
{
	return last_cid = GetCurrentCommandId(true);
}

/*
 * new_command
 *		Begins a new command, with which the writer goes on, if the current one has written
 *		entries.
 */
void
new_command(Writer *w)
{
	begin_command();
	w->cid = 0;
}

/* command_id: returns the command id that the writer writes with */
CommandId
command_id(Writer *w)
{
	if (w->cid == 0)
		w->cid = writing_command();
	return last_cid = w->cid;
}

/*
 * insert_index_entries
 *		Inserts the entry in slot, which the table has already, into the indexes;
 *		returns false if the primary key may have an equal one already.
 *
 * After an update, only the indexes that which names are written.  With defer, the
 * index on the fact row's primary key is left to insert_deferred().
 */
bool
insert_index_entries(Writer *w, TupleTableSlot *slot, bool update, TU_UpdateIndexes which,
					 bool defer)
{
	bool		is_new = true;

	/* The expression of an index may have given the table to another role. */
	if (w->users_code && !is_owner_in_charge(w->rel->rd_rel->relowner))
		report_altered(w->def);
	for (int i = 0; i < w->nindexes; i++)
	{
		IndexInfo  *info = w->infos[i];
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];
		IndexUniqueCheck check = !info->ii_Unique ? UNIQUE_CHECK_NO :
			i == w->primary_index && !w->def->spec.is_unique ? UNIQUE_CHECK_PARTIAL : UNIQUE_CHECK_YES;

		if ((update && !index_needs_update(which, info)) || (defer && i == w->row_index))
			continue;
		if (w->estate != NULL)
		{
			ResetPerTupleExprContext(w->estate);
			GetPerTupleExprContext(w->estate)->ecxt_scantuple = slot;
			if (info->ii_Predicate != NIL)
			{
				if (info->ii_PredicateState == NULL)
					info->ii_PredicateState = ExecPrepareQual(info->ii_Predicate, w->estate);
				if (!ExecQual(info->ii_PredicateState, GetPerTupleExprContext(w->estate)))
					continue;
			}
		}
		FormIndexDatum(info, slot, w->estate, values, isnull);
		if (!index_insert(w->indexes[i], values, isnull, &slot->tts_tid, w->rel,
						  check, false, info) && i == w->primary_index)
			is_new = false;
	}
	return is_new;
}

/*
 * insert_deferred
 *		Inserts the deferred entries into the index on the fact row's primary key, in its
 *		order.
 */
void
insert_deferred(Writer *w)
{
	TupleTableSlot *slot = w->deferred == NULL ? NULL :
		MakeSingleTupleTableSlot(RelationGetDescr(w->rel), &TTSOpsHeapTuple);

	for (int i = 0; i < w->ndeferred; i++)
	{
		Deferred   *entry = &w->deferred[i];
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];

		if (entry->tuple == NULL)
			continue;
		CHECK_FOR_INTERRUPTS();
		ExecStoreHeapTuple(entry->tuple, slot, false);
		FormIndexDatum(w->infos[w->row_index], slot, w->estate, values, isnull);
		index_insert(w->indexes[w->row_index], values, isnull, &entry->tid, w->rel, UNIQUE_CHECK_NO,
					 false, w->infos[w->row_index]);
	}
	if (slot != NULL)
		ExecDropSingleTupleTableSlot(slot);
}

/* bulk_load_begin_sort: begins to sort entries by identity, in the order of the index table */
Tuplesortstate *
bulk_load_begin_sort(IndexDef *def)
{
	Oid		   *operators = palloc(sizeof(Oid) * def->layout.nident);
	Oid		   *collations = palloc(sizeof(Oid) * def->layout.nident);
	bool	   *nulls_first = palloc0(sizeof(bool) * def->layout.nident);

	for (int i = 0; i < def->layout.nident; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->layout.desc, def->layout.ident[i] - 1);

		operators[i] = lookup_type_cache(att->atttypid, TYPECACHE_LT_OPR)->lt_opr;
		collations[i] = att->attcollation;
	}
	return tuplesort_begin_heap(def->layout.desc, def->layout.nident, def->layout.ident, operators, collations,
								nulls_first, maintenance_work_mem, NULL, TUPLESORT_NONE);
}

/*
 * bulk_load_write
 *		Writes sorted entries into a new index table that has no indexes yet.
 *
 * The table was made in this transaction, so the entries can be written frozen: all
 * of them become visible together with the table, and the first queries are
 * index-only already.
 */
void
bulk_load_write(IndexDef *def, Relation rel, Tuplesortstate *sorted)
{
	TupleTableSlot *source = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsMinimalTuple);
	CommandId	cid = GetCurrentCommandId(true);
	HTAB	   *loads = hash_by_oid("partitions loaded", 16, sizeof(Load), CurrentMemoryContext);
	HASH_SEQ_STATUS seq;
	Load	   *load;

	while (tuplesort_gettupleslot(sorted, true, false, source, NULL))
	{
		MemoryContext old;

		load = find_load(loads, def, rel, source);
		if (load->n == load->nslots)
			load->slots[load->nslots++] = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsHeapTuple);
		old = MemoryContextSwitchTo(load->cxt);
		ExecStoreHeapTuple(ExecCopySlotHeapTuple(source), load->slots[load->n], true);
		load->slots[load->n++]->tts_tableOid = load->relid;
		MemoryContextSwitchTo(old);
		if (load->n == CHUNK)
			flush_load(load, cid);
	}
	hash_seq_init(&seq, loads);
	while ((load = hash_seq_search(&seq)) != NULL)
	{
		flush_load(load, cid);
		for (int i = 0; i < load->nslots; i++)
			ExecDropSingleTupleTableSlot(load->slots[i]);
		if (load->state != NULL)
			FreeBulkInsertState(load->state);
		table_finish_bulk_insert(load->rel, LOAD_OPTIONS);
		relation_close(load->rel, NoLock);
		MemoryContextDelete(load->cxt);
	}
	hash_destroy(loads);
	ExecDropSingleTupleTableSlot(source);
}

/* find_load: returns the load of the index table, or of the partition that an entry belongs to */
static Load *
find_load(HTAB *loads, IndexDef *def, Relation rel, TupleTableSlot *entry)
{
	Oid			relid = RelationGetRelid(rel);
	Load	   *load;
	bool		found;
	bool		isnull;

	if (def->layout.parts != NULL)
	{
		Datum		value = slot_getattr(entry, def->spec.fields[def->spec.part_field].attno, &isnull);

		relid = find_partition_for_value(rel, value, isnull);
	}
	if (!OidIsValid(relid))
		report_no_partition(def);
	load = hash_search(loads, &relid, HASH_ENTER, &found);
	if (!found)
	{
		load->rel = relation_open(relid, RowExclusiveLock);

		/*
		 * A state keeps a buffer pinned, and there may be more partitions
		 * than buffers.
		 */
		load->state = def->layout.parts == NULL ? GetBulkInsertState() : NULL;
		load->cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable load", ALLOCSET_DEFAULT_SIZES);
		load->nslots = load->n = 0;
	}
	return load;
}

/* flush_load: writes the entries that are in slots */
static void
flush_load(Load *load, CommandId cid)
{
	CHECK_FOR_INTERRUPTS();
	if (load->n > 0)
		table_multi_insert(load->rel, load->slots, load->n, cid, LOAD_OPTIONS, load->state);
	for (int i = 0; i < load->n; i++)
		ExecClearTuple(load->slots[i]);
	load->n = 0;
	MemoryContextReset(load->cxt);
}
