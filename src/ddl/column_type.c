/*-------------------------------------------------------------------------
 *
 * column_type.c
 *	  Has index tables follow ALTER TABLE ... ALTER COLUMN ... TYPE of a column of their
 *	  fact table: of its primary key, above all.
 *
 * The command converts the values of the column by any expression, and its new type may
 * be sorted in another way.  So the index tables are filled anew, within the command:
 * they are emptied, get the new type for their own column, and are filled from the rows
 * as the command has left them.  They stay the same objects.  What is queued asks for
 * nothing more then, and its keys are of the old type: the queue is made anew, too.
 *
 * The command has locked the fact table against all others, and keeps that lock, so no
 * session uses the definition of an index table between the first of these steps and the
 * last.  An older snapshot sees neither rows nor entries, because both are written by this
 * transaction; the server's documentation says so of every ALTER TABLE that rewrites a
 * table.  Where the server need not rewrite it (varchar to text), such a snapshot sees the
 * rows, and for the entries it is told by the definition, which is written anew, that they
 * are newer.  If anything fails, all of it is rolled back with the command.
 *
 * Documents are left out: there is no other type for them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/index.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"

#include "../catalog/catalog.h"
#include "../commands/commands.h"
#include "../definition/definition.h"
#include "../expression/expression.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/as_owner.h"
#include "../util/inherit.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "../util/uncounted_reads.h"
#include "ddl.h"

static void refuse_building(Oid fact);
static Bitmapset *retyped_columns(Relation fact, AlterTableStmt *stmt);
static void refill(DefinitionRow *stored, Relation fact, AlterTableStmt *stmt);
static void check_layout(IndexDef *def, Relation fact, Oid index_table);
static void change_columns(Oid index_table, IndexDef *def, Relation fact);
static char *column_changes(IndexDef *def, Relation fact, Relation rel);

/*
 * can_follow_type
 *		Returns whether index tables can follow a change of the type of a column, which is no
 *		document.
 */
bool
can_follow_type(FactDef *fact, const char *column)
{
	AttrNumber	attno = get_attnum(fact->relid, column);

	for (int i = 0; i < fact->layout.ndocs; i++)
		if (fact->layout.doc_attno[i] == attno)
			return false;
	return !fact->place->in_parts && !fact->queue.feed && elsewhere->feeds->of(fact->relid) == NIL;
}

/*
 * prepare_type_change
 *		Refuses a change of a column's type that index tables could follow at another time
 *		only, before the command locks the fact table.
 */
void
prepare_type_change(FactDef *fact)
{
	elsewhere->snapshots->check_unused(fact->relid, "ALTER COLUMN ... TYPE");
	if (queue_pending(fact->relid))
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot alter the type of a column in a transaction that has changed the table"),
				 errdetail("The changes are queued when the transaction commits."),
				 errhint("Commit the transaction first.")));
	refuse_building(fact->relid);
}

/*
 * lock_for_type_change
 *		Locks a table whose column gets another type as the command is going to do, and the
 *		index tables that are to follow it, of this table or of one among its partitions,
 *		while both can still be released for sessions that have one and wait for the other.
 */
void
lock_for_type_change(Oid table)
{
	TableLock  *locks = palloc(sizeof(TableLock));
	int			n = 0;

	locks[n++] = (TableLock)
	{
		table, AccessExclusiveLock, true
	};
	foreach_oid(relid, list_with_partitions(table))
	{
		List	   *index_tables = catalog_has_fact(relid) ? index_tables_of(relid) : NIL;

		locks = repalloc(locks, sizeof(TableLock) * (n + list_length(index_tables)));
		foreach_oid(index_table, index_tables)
			locks[n++] = (TableLock)
		{
			index_table, AccessExclusiveLock, true
		};
	}
	lock_all_in_turns(locks, n);
	foreach_oid(relid, list_with_partitions(table))
		refuse_building(relid);
}

/*
 * refuse_building
 *		Raises an error if an index table of a fact table is being built: what build() has
 *		read is of the old type.
 */
static void
refuse_building(Oid fact)
{
	foreach_ptr(DefinitionRow, row, catalog_read_definitions(fact, InvalidOid))
	{
		if (row->state == STATE_BUILDING)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("cannot alter the type of a column of table \"%s\" while an index table is being built", get_rel_name(fact)),
					 OidIsValid(row->replaces) ?
					 errhint("To finish, run %s to abandon the rebuild, run DROP TABLE %s;",
							 told_call("rebuild", row->replaces), quoted_relation(row->index_table)) :
					 errhint("To finish, run %s to abandon the build, run DROP TABLE %s;",
							 told_call("build", row->index_table), quoted_relation(row->index_table))));
	}
}

/*
 * follow_type_change
 *		Fills those index tables of a fact table anew that use a column whose type a command
 *		has changed.
 */
void
follow_type_change(Oid fact_table, AlterTableStmt *stmt)
{
	bool		changes = false;
	List	   *stored;
	Relation	fact;

	foreach_ptr(AlterTableCmd, cmd, stmt->cmds)
		changes |= cmd->subtype == AT_AlterColumnType;
	stored = changes ? catalog_read_definitions(fact_table, InvalidOid) : NIL;
	if (stored == NIL || !triggers_intact(fact_table))
		return;
	fact = relation_open(fact_table, AccessExclusiveLock);
	elsewhere->snapshots->note_writers_locked_out(fact_table);
	foreach_ptr(DefinitionRow, row, stored)
		refill(row, fact, stmt);
	relation_close(fact, NoLock);
}

/* retyped_columns: returns the columns whose type a command has changed, offset as in IndexDef */
static Bitmapset *
retyped_columns(Relation fact, AlterTableStmt *stmt)
{
	Bitmapset  *result = NULL;

	foreach_ptr(AlterTableCmd, cmd, stmt->cmds)
	{
		if (cmd->subtype == AT_AlterColumnType)
			result = bms_add_member(result, get_attnum(RelationGetRelid(fact), cmd->name) -
									FirstLowInvalidHeapAttributeNumber);
	}
	return result;
}

/*
 * refill
 *		Gives an index table the types that its columns are to have now, and its entries anew.
 *
 * If the column is one of the key, all index tables use it, and what is queued is in none of
 * the new entries' way: but the queue holds keys of the old type.
 */
static void
refill(DefinitionRow *stored, Relation fact, AlterTableStmt *stmt)
{
	DefinitionRow row = *stored;
	const char **names = get_stored_column_names(fact, stored);
	FactDef    *factdef = make_fact_def(fact, RelationGetRelid(fact), row.primary_key, names,
										CurrentMemoryContext);
	Relation	rel = try_relation_open(row.index_table, AccessShareLock);
	IndexDef   *def;
	Relation	index;
	bool		covering;
	bool		fits;
	int			uncounted;

	if (rel == NULL)
		return;
	factdef->retyped = retyped_columns(fact, stmt);
	def = make_index_def(factdef, fact, &row, rel, 0, names);
	relation_close(rel, NoLock);
	forget_code_dependencies(row.index_table);
	record_code_dependencies(row.index_table, definition_expressions(def));
	CommandCounterIncrement();
	if (!bms_overlap(def->spec.used, factdef->retyped))
		return;
	if (!same_primary_key(factdef, fact, stored, names))
		report_altered_index_table(row.index_table, fact, "The fact table has another primary key now.");
	check_layout(def, fact, row.index_table);
	lock_tree(row.index_table, AccessExclusiveLock);
	check_not_in_use(row.index_table);
	AS_OWNER(fact->rd_rel->relowner);
	{
		uncounted = begin_uncounted();
		foreach_oid(leaf, lock_leaves(row.index_table, NULL))
			(void) truncate_without_replication(leaf);
		change_columns(row.index_table, def, fact);

		rel = table_open(row.index_table, NoLock);
		if (!definition_complete(def, fact, rel))
			report_altered_index_table(row.index_table, fact,
									   "Its columns cannot have the types of the fact table's columns.");
		completeness_begin(row.index_table);
		catalog_forget_skipped(row.index_table);
		catalog_forget_rejections(row.index_table);
		fits = fill_index_table(def, fact, rel);
		index = open_index_of_entries(def, rel);
		covering = index != NULL && primary_key_covers(def, index);
		if (index != NULL)
			index_close(index, NoLock);
		table_close(rel, NoLock);
		CommandCounterIncrement();
		if (covering && !fits)
			primary_key_replace(def, false);
		foreach_oid(leaf, lock_leaves(row.index_table, NULL))
			reindex_table(leaf);
		CommandCounterIncrement();
		end_uncounted(uncounted);
	}
	END_AS_OWNER();

	update_definition(def, fact, true);
	if (is_queued(&row) && bms_overlap(factdef->layout.pk_columns, factdef->retyped))
		queues_make_anew(factdef);
	CacheInvalidateRelcache(fact);
	CommandCounterIncrement();
}

/*
 * check_layout
 *		Refuses a change after which a column of the primary key would be stored once instead of
 *		twice, or twice instead of once: a key field like @id::bigint is the column itself if
 *		that is a bigint, and a cast of it otherwise.
 *
 * Key fields and the primary key are what cannot be null in a sparse index table, and what entries are
 * found by in another one.
 */
static void
check_layout(IndexDef *def, Relation fact, Oid index_table)
{
	Relation	rel = table_open(index_table, AccessShareLock);
	TupleDesc	desc = RelationGetDescr(rel);
	bool		counts = def->layout.has_primary_key && (!def->spec.multi || def->spec.is_unique);
	Relation	index = counts ? NULL : open_identity_index(rel, def->layout.has_primary_key);
	AttrNumber	last = 0;
	int			nident = 0;

	for (int i = 0; i < desc->natts && counts; i++)
	{
		if (TupleDescAttr(desc, i)->attisdropped || !TupleDescAttr(desc, i)->attnotnull)
			continue;
		nident++;
		last = i + 1;
	}
	/* The number of elements is not NULL either. */
	if (counts && def->spec.multi && nident > def->layout.nident &&
		TupleDescAttr(desc, last - 1)->atttypid == INT4OID)
		nident--;
	if (index != NULL)
	{
		nident = index->rd_index->indnkeyatts;
		index_close(index, NoLock);
	}
	if (nident != def->layout.nident)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index table \"%s\" cannot follow the new type of a column of table \"%s\"",
						RelationGetRelationName(rel), RelationGetRelationName(fact)),
				 errdetail("A key field casts a column of the primary key, and %s.", nident < def->layout.nident ?
						   "would not be that column any more" : "would be that column itself"),
				 errhint("First run DROP TABLE %s; and create the index table again afterwards.", quoted_relation(index_table))));
	table_close(rel, NoLock);
}

/* change_columns: gives an index table, which is empty, the types that its columns are to have */
static void
change_columns(Oid index_table, IndexDef *def, Relation fact)
{
	Relation	rel = table_open(index_table, NoLock);
	char	   *changes = column_changes(def, fact, rel);
	List	   *old_keys = usage_keys(index_table);

	table_close(rel, NoLock);
	if (changes[0] == '\0')
		return;
	run_on(index_table, "ALTER TABLE t %s", changes);
	usage_follows(index_table, old_keys);
}

/*
 * column_changes
 *		Returns the subcommands of ALTER TABLE that give columns their new types; "": there
 *		are none.
 */
static char *
column_changes(IndexDef *def, Relation fact, Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);
	FormData_pg_attribute wanted = {0};
	StringInfoData sql;
	int			live = 0;

	initStringInfo(&sql);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped)
			continue;
		live++;
		wanted = *att;
		for (int k = 0; k < def->fact->layout.npk; k++)
			if (def->layout.pk_attno[k] == live)
				wanted = *TupleDescAttr(RelationGetDescr(fact), def->fact->layout.pk_attno[k] - 1);
		for (int k = 0; k < def->spec.nkeys + def->spec.nincludes; k++)
			if (def->spec.fields[k].attno == live)
			{
				wanted.atttypid = def->spec.fields[k].type;
				wanted.atttypmod = def->spec.fields[k].typmod;
				wanted.attcollation = def->spec.fields[k].collation;
			}
		if (wanted.atttypid == att->atttypid && wanted.atttypmod == att->atttypmod &&
			wanted.attcollation == att->attcollation)
			continue;
		appendStringInfo(&sql, "%sALTER COLUMN %s TYPE %s USING NULL", sql.len > 0 ? ", " : "",
						 quote_identifier(NameStr(att->attname)),
						 layout_type(wanted.atttypid, wanted.atttypmod, wanted.attcollation));
	}
	return sql.data;
}
