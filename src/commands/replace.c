/*-------------------------------------------------------------------------
 *
 * replace.c
 *	  Puts an index table's new contents, and maybe a new definition, in the place
 *	  of the old ones.
 *
 * The new contents are collected in a table of their own, the replacement, which is
 * an index table like others; the old one serves meanwhile.  The replacement has,
 * column by column, the layout that the old one is going to have, so that in the end
 * the two exchange their files.  The index table stays the same object: what depends
 * on it, who may read it and its name are untouched.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attmap.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/pg_am.h"
#include "commands/comment.h"
#include "commands/defrem.h"
#include "commands/progress.h"
#include "commands/tablecmds.h"
#include "parser/parse_utilcmd.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/inval.h"

#include "../apply/apply.h"
#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../expression/expression.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../queue/queue.h"
#include "../util/as_owner.h"
#include "../util/inherit.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "../util/uncounted_reads.h"
#include "../util/wait_point.h"
#include "../util/while_set.h"
#include "commands.h"

static Relation create_like(IndexDef *def, Relation fact, Relation old, Columns *columns,
							Partitioning *partitioning);
static void clone_indexes(Relation old, Relation new, Oid of_entries);
static bool uses_dropped_column(Relation index, Relation new);
static List *match_partitions(Oid old, Oid new);
static PartSpec *find_bound(Partitioning *p, const char *bound);
static void take_contents(Oid old, IndexDef *def, bool async, bool was_async);
static void drop_emptied(Oid new);
static void copy_layout(Oid old, IndexDef *of_new, bool async, bool was_async);
static void check_same_layout(Oid old, Oid new);

/*
 * make_replacement
 *		Makes the table that is to take an index table's place, and has it kept in
 *		step; returns it.
 *
 * It is filled, unless its state says that it is to be built.  The fact table is
 * locked against writers.
 */
Oid
make_replacement(DefinitionRow *row, Oid index_table)
{
	Relation	fact = relation_open(row->fact_table, NoLock);
	DefinitionRow *pending = replacement_of(index_table);
	IndexDef   *old_def = get_definition(index_table);
	Columns		columns = compare_columns(row, old_def);
	IndexDef   *def;
	Relation	old = relation_open(index_table, AccessShareLock);
	Relation	new;
	Relation	primary_key;
	Oid			of_entries = InvalidOid;

	def = definition_resolve(row, fact, old,
							 columns.nkept - old_def->layout.nleading + old_def->spec.nkeys);

	/*
	 * An earlier one is dropped only now, because its expressions may not
	 * come to mean something else.
	 */
	definition_hold(old_def->fact, CurrentMemoryContext);
	if (pending != NULL)
		drop_index_table(pending->index_table);
	if (publications_of(index_table) != NIL)
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("index table \"%s\" is published", RelationGetRelationName(old)),
				 errdetail("The new contents will not be sent to subscribers."),
				 errhint("Refresh the subscriptions afterwards and copy the data, or publish only the fact table.")));

	/*
	 * Nothing is done as the caller from here on, because functions that the
	 * owner has put into indexes may be called.
	 */
	AS_OWNER(fact->rd_rel->relowner);
	{
		if (row->partitioning == NULL)
			row->partitioning = partitioning_of(old);
		new = create_like(def, fact, old, &columns, row->partitioning);
		row->index_table = RelationGetRelid(new);
		row->replaces = index_table;
		CreateComments(row->index_table, RelationRelationId, 0,
					   psprintf("Takes the place of %s when it is built", quoted_relation(index_table)));
		record_table_dependency(row->index_table, index_table);
		record_extension_dependency(row->index_table);
		primary_key = open_index_of_entries(old_def, old);
		register_index_table(row, def, fact, new, primary_key == NULL ? NULL : tablespace_of(primary_key));
		if (primary_key != NULL)
		{
			of_entries = RelationGetRelid(primary_key);
			index_close(primary_key, AccessShareLock);
		}
		new = table_open(row->index_table, NoLock);
		clone_indexes(old, new, of_entries);
		table_close(new, NoLock);
		relation_close(old, NoLock);
	}
	END_AS_OWNER();
	return row->index_table;
}

/*
 * create_like
 *		Creates an empty table for the entries of an index table, with the columns that stay as they
 *		are there, and completes the definition with it.
 */
static Relation
create_like(IndexDef *def, Relation fact, Relation old, Columns *columns, Partitioning *partitioning)
{
	Oid			schema = catalog_schema();
	char	   *name = ChooseRelationName("rebuild", NULL, psprintf("%u", RelationGetRelid(old)), schema, false);
	List	   *dropped = NIL;
	char	   *list = layout_like(def, fact, old, columns->nkept, columns->first_own, columns->adds_elements,
								   &dropped);
	Oid			relid = create_bare_index_table(get_extension_owner(), schema, name, list, partitioning,
												tablespace_of(old), fact->rd_rel->relowner);
	Relation	new;

	drop_placeholders(relid, dropped);
	new = table_open(relid, AccessExclusiveLock);
	if (!definition_complete(def, fact, new))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index table \"%s\" was altered while it was being created", name),
				 errhint("Check the event triggers of the database.")));
	return new;
}

/*
 * clone_indexes
 *		Creates on the replacement the indexes that the owner has created on the index table: all but the
 *		one by which its entries are found.
 */
static void
clone_indexes(Relation old, Relation new, Oid of_entries)
{
	TupleDesc	desc = RelationGetDescr(new);
	AttrMap    *map = make_attrmap(RelationGetNumberOfAttributes(old));
	List	   *indexes = RelationGetIndexList(old);

	for (int i = 0; i < map->maplen; i++)
		map->attnums[i] = i < desc->natts ? i + 1 : 0;
	foreach_oid(index_oid, indexes)
	{
		Relation	index = index_open(index_oid, AccessShareLock);

		if (index->rd_index->indisvalid && index_oid != of_entries &&
			!uses_dropped_column(index, new) && !OidIsValid(find_matching_index(index, new)))
		{
			IndexStmt  *stmt = generateClonedIndexStmt(NULL, index, map, NULL);

			define_index(RelationGetRelid(new), stmt);
			CommandCounterIncrement();
		}
		index_close(index, AccessShareLock);
	}
}

/*
 * uses_dropped_column
 *		Returns whether an index of the index table uses a column that the
 *		replacement has dropped.
 */
static bool
uses_dropped_column(Relation index, Relation new)
{
	Bitmapset  *columns = index_columns(index);

	for (int i = -1; (i = bms_next_member(columns, i)) >= 0;)
	{
		AttrNumber	attno = i + FirstLowInvalidHeapAttributeNumber;

		if (attno > 0 && (attno > RelationGetNumberOfAttributes(new) ||
						  TupleDescAttr(RelationGetDescr(new), attno - 1)->attisdropped))
			return true;
	}
	return false;
}

/*
 * replace_index_table
 *		Puts a replacement in the place of its index table, and drops the
 *		replacement.
 *
 * The fact table is locked against writers, and the two index tables are locked
 * against all other sessions; what was queued is applied.  Code of the owner that was called meanwhile may
 * have dropped the replacement, or had another one take the place.
 */
void
replace_index_table(Oid new)
{
	DefinitionRow *replacement = required_definition(new);
	DefinitionRow row = *replacement;
	Oid			old = row.replaces;
	DefinitionRow *stored = required_definition(old);
	Relation	fact = relation_open(row.fact_table, NoLock);
	Relation	rel = table_open(old, NoLock);

	AS_OWNER(rel->rd_rel->relowner);
	{
		if (!replacement_fits(replacement))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("the columns of index table \"%s\" have changed since its replacement was made",
							RelationGetRelationName(rel)),
					 errhint("Run %s again.", told_call("rebuild", old))));
		table_close(rel, NoLock);

		/* The definition becomes that of the old table. */
		move_code_dependencies(new, old);
		take_contents(old, get_definition(new), is_async(&row), is_queued(stored));
		row.index_table = old;
		row.replaces = InvalidOid;
		row.state = STATE_ACTIVE;
		row.problem = NULL;
		catalog_update(&row, fact);
		CacheInvalidateRelcache(fact);
		relation_close(fact, NoLock);
		CommandCounterIncrement();

		triggers_install(row.fact_table);
		triggers_install_guard(old);
		(void) queues_drop(row.fact_table, false);
	}
	END_AS_OWNER();
	describe_index_table(old, true);
}

/*
 * take_contents
 *		Gives an index table the columns, indexes and entries of another table, which is dropped with
 *		what was there.  'def' is of that table; 'async' and 'was_async' are as of copy_layout().
 *
 * Both are locked against all other sessions.
 */
static void
take_contents(Oid old, IndexDef *def, bool async, bool was_async)
{
	Oid			new = def->relid;
	float4	   *rows;
	List	   *pairs;
	List	   *emptied = NIL;
	int			uncounted;

	definition_hold(def->fact, CurrentMemoryContext);
	check_not_in_use(old);
	check_not_in_use(new);

	/*
	 * A VACUUM of a TOAST table locks nothing else, and overwrites in place
	 * its row of pg_class, which is written here, too.
	 */
	foreach_oid(relid, list_concat(toast_tables(old), toast_tables(new)))
		LockRelationOid(relid, AccessExclusiveLock);

	uncounted = begin_uncounted();
	pairs = match_partitions(old, new);
	rows = palloc(sizeof(float4) * Max(list_length(pairs), 1));
	foreach_ptr(List, pair, pairs)
		rows[foreach_current_index(pair)] = truncate_without_replication(linitial_oid(pair));
	copy_layout(old, def, async, was_async);
	foreach_ptr(List, pair, pairs)
	{
		check_same_layout(linitial_oid(pair), lsecond_oid(pair));
		swap_files(linitial_oid(pair), lsecond_oid(pair), rows[foreach_current_index(pair)]);
		swap_indexes(linitial_oid(pair), lsecond_oid(pair));
		emptied = lappend_oid(emptied, linitial_oid(pair));
	}
	end_uncounted(uncounted);
	catalog_reassign_rows(new, old);
	completeness_move(new, old);
	catalog_forget_index_table(new);
	drop_emptied(new);
	CommandCounterIncrement();
	foreach_oid(relid, emptied)
		rename_toast_table(relid);
}

/*
 * drop_emptied
 *		Drops the table whose contents were taken.  Others need no right to have made something that depends on it.
 */
static void
drop_emptied(Oid new)
{
	ObjectAddress object;

	ObjectAddressSet(object, RelationRelationId, new);
	WHILE_SET(LockTimeout, OTHERS_TIMEOUT, performDeletion(&object, DROP_CASCADE, PERFORM_DELETION_INTERNAL));
}

/*
 * replace_contents
 *		Makes all entries of an index table that is being built anew, of the rows that a snapshot sees; returns
 *		the number of rows.  'shown' is what the view progress says of it.
 *
 * They are written to a table that nobody else sees, sorted, and indexed then, which takes less than half of
 * the time of one insertion for each, and a third of the WAL.  The index table is locked only while that table
 * takes the place of the contents.  Writers do not wait for anything: they queue.
 */
int64
replace_contents(IndexDef *def, Relation fact, Snapshot snapshot, LockWait *shown)
{
	DefinitionRow row = *required_definition(def->relid);
	Columns		columns = compare_columns(&row, def);
	Relation	old = relation_open(def->relid, AccessShareLock);
	Relation	of_entries = open_index_of_entries(def, old);
	IndexDef   *made = definition_resolve(&row, fact, old, INT_MAX);
	Relation	new = create_like(made, fact, old, &columns, partitioning_of(old));
	Oid			relid = RelationGetRelid(new);
	char	   *tablespace = tablespace_of(of_entries);
	int64		nrows;
	bool		covering;
	int			uncounted;

	show_lock_wait(shown, PROGRESS_CREATEIDX_PHASE_BUILD);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, (int64) Max(fact->rd_rel->reltuples, 0));
	completeness_begin(relid);
	WHILE_SET(fact_being_filled, RelationGetRelid(fact),
			  covering = fill_from_snapshot(made, fact, new, snapshot, &nrows));
	table_close(new, NoLock);
	uncounted = begin_uncounted();
	primary_key_add(made, covering && primary_key_can_cover(made), tablespace, NULL);
	end_uncounted(uncounted);
	row_index_make(made);
	new = table_open(relid, NoLock);
	clone_indexes(old, new, RelationGetRelid(of_entries));
	if (!definition_complete_primary_key(made, new))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index table \"%s\" was altered while it was being created", made->name),
				 errhint("Check the event triggers of the database.")));
	table_close(new, NoLock);
	index_close(of_entries, NoLock);
	relation_close(old, NoLock);
	show_lock_wait(shown, PROGRESS_CREATEIDX_PHASE_WAIT_1);
	wait_point("a build has written all entries");
	while (!lock_with_timeout(def->relid, AccessExclusiveLock))
		wait_for_lockers(shown, def->relid, AccessExclusiveLock);
	take_contents(def->relid, made, true, true);
	CacheInvalidateRelcache(fact);
	CommandCounterIncrement();
	return nrows;
}

/*
 * check_not_in_use
 *		Raises an error if this transaction itself has a table, or one of its
 *		partitions, in use; turns predicate locks on their rows into locks on the
 *		tables.
 */
void
check_not_in_use(Oid relid)
{
	refuse_put_off(relid);
	foreach_oid(table, list_with_partitions(relid))
	{
		Relation	rel = relation_open(table, NoLock);

		CheckTableNotInUse(rel, "ALTER TABLE");
		if (rel->rd_rel->relkind == RELKIND_RELATION)
			TransferPredicateLocksToHeapRelation(rel);
		relation_close(rel, NoLock);
	}
}

/*
 * match_partitions
 *		Returns the tables that are to exchange their files, as pairs of OIDs: the
 *		index table and its replacement, or their partitions with equal bounds.
 *
 * Where the replacement has other partitions, the index table gets the same ones,
 * empty, in the place of its own.
 */
static List *
match_partitions(Oid old, Oid new)
{
	Relation	old_rel = relation_open(old, NoLock);
	Relation	new_rel = relation_open(new, NoLock);
	Partitioning *have = partitioning_of(old_rel);
	Partitioning *want = partitioning_of(new_rel);
	Partitioning *copy = partitioning_of(new_rel);
	List	   *pairs = NIL;
	bool		same;

	relation_close(new_rel, NoLock);
	relation_close(old_rel, NoLock);
	if (want == NULL)
		return list_make1(list_make2_oid(old, new));
	same = list_length(have->parts) == list_length(want->parts);
	foreach_ptr(PartSpec, part, want->parts)
		same &= find_bound(have, part->bound) != NULL;

	/*
	 * If any bounds differ, all partitions are made anew: one that stayed
	 * might overlap with a new one.
	 */
	if (!same)
	{
		foreach_ptr(PartSpec, part, have->parts)
		{
			ObjectAddress object;

			ObjectAddressSet(object, RelationRelationId, part->relid);
			performDeletion(&object, DROP_RESTRICT, PERFORM_DELETION_INTERNAL);
		}
		CommandCounterIncrement();
		have = copy;
		make_partitions(get_extension_owner(), old, have);
		usage_from_now(old);	/* the counters of the dropped ones are lost */
	}
	foreach_ptr(PartSpec, spec, want->parts)
		pairs = lappend(pairs, list_make2_oid(find_bound(have, spec->bound)->relid, spec->relid));
	return pairs;
}

/* find_bound: returns the partition with a bound; NULL: there is none */
static PartSpec *
find_bound(Partitioning *p, const char *bound)
{
	foreach_ptr(PartSpec, part, p->parts)
	{
		if (strcmp(part->bound, bound) == 0)
			return part;
	}
	return NULL;
}

/*
 * copy_layout
 *		Gives an index table, which is empty, the columns and indexes that its
 *		replacement has.
 *
 * 'async' and 'was_async' say whether the index table is to be asynchronous, and whether it
 * is asynchronous now.
 */
static void
copy_layout(Oid old, IndexDef *of_new, bool async, bool was_async)
{
	Relation	old_rel = table_open(old, NoLock);
	Relation	new_rel = table_open(of_new->relid, NoLock);
	TupleDesc	a = RelationGetDescr(old_rel);
	TupleDesc	b = RelationGetDescr(new_rel);
	Relation	primary_key;
	StringInfoData columns;
	List	   *old_keys = NIL;
	char	   *constraint = NULL;
	bool		lacks_key;
	bool		lacks_row_index = false;
	bool		clustered = false;
	bool		identity = false;
	bool		was_primary = false;
	IndexDef	def = *of_new;	/* with the same columns */

	def.relid = old;
	initStringInfo(&columns);
	for (int i = 0; i < a->natts && i < b->natts; i++)
		if (!TupleDescAttr(a, i)->attisdropped && TupleDescAttr(b, i)->attisdropped)
			appendStringInfo(&columns, ", DROP COLUMN %s",
							 quote_identifier(NameStr(TupleDescAttr(a, i)->attname)));
	for (int i = a->natts; i < b->natts; i++)
		appendStringInfo(&columns, ", ADD COLUMN %s", layout_column(TupleDescAttr(b, i)));
	primary_key = open_index_of_entries(get_definition(old), old_rel);
	lacks_key = primary_key == NULL || !OidIsValid(find_matching_index(primary_key, new_rel));
	if (lacks_key && primary_key != NULL)
	{
		old_keys = usage_keys(old);
		constraint = pstrdup(RelationGetRelationName(primary_key));
		clustered = primary_key->rd_index->indisclustered;
		was_primary = primary_key->rd_index->indisprimary;
		/* It cannot be one with columns that may be NULL. */
		identity = def.layout.has_primary_key && primary_key->rd_index->indisreplident;
	}
	if (primary_key != NULL)
		index_close(primary_key, NoLock);
	if (async && OidIsValid(def.layout.row_index))
	{
		Relation	index = index_open(def.layout.row_index, AccessShareLock);

		lacks_row_index = !OidIsValid(find_matching_index(index, old_rel));
		index_close(index, AccessShareLock);
	}
	table_close(new_rel, NoLock);
	table_close(old_rel, NoLock);

	/*
	 * The constraint is dropped first: it would be dropped with a column that
	 * it covers.
	 */
	if (constraint != NULL)
		run_on(old, "ALTER TABLE t DROP CONSTRAINT %s%s", quote_identifier(constraint),
			   def.spec.sparse ? "" : drop_not_null_of_key(&def));
	if (columns.len > 0)
		run_on(old, "ALTER TABLE t %s", columns.data + 2);
	if (lacks_key)
	{
		/* One of another kind has the name that it would have been made with. */
		constraint = primary_key_add(&def, def.layout.covering, NULL,
									 was_primary == def.layout.has_primary_key ? constraint : NULL);
		usage_follows(old, old_keys);
	}
	primary_key_mark(old, constraint, clustered, identity);
	if (lacks_row_index)
		row_index_make(&def);
	if (was_async && !async)
		row_index_drop(old);
}

/*
 * check_same_layout
 *		Raises an error if two tables that are to exchange their files are not laid out
 *		alike.
 *
 * Event triggers have run since copy_layout(), and may have altered the index table.
 */
static void
check_same_layout(Oid old, Oid new)
{
	Relation	old_rel = table_open(old, NoLock);
	Relation	new_rel = table_open(new, NoLock);

	if (!same_columns(RelationGetDescr(old_rel), RelationGetDescr(new_rel)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index table \"%s\" was altered while it was given its new contents",
						RelationGetRelationName(old_rel)),
				 errhint("Check the event triggers of the database.")));
	table_close(new_rel, NoLock);
	table_close(old_rel, NoLock);
}
