/*-------------------------------------------------------------------------
 *
 * follow_ddl.c
 *	  Keeps the catalog in step with fact tables and index tables that were altered.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "commands/tablecmds.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../expression/expression.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/arguments.h"
#include "../util/inherit.h"
#include "../util/lock.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "maintain.h"

static void load_definition(void *arg);
static List *present_specs(Field *fields, int n, Relation fact, bool names_changed);

/*
 * All tables without definitions, of whichever fact table.  If it is not known, or has changed
 * since it was begun to list them, some relation may be one or may not be one any more.
 */
static List *undefined = NIL;
static bool known = false;
static bool changed = false;

static void relation_changed(Oid relid);

static ChangeListener restored_listener = {.any_relation = relation_changed};

/*
 * invalidate_broken_definitions
 *		Marks the index tables of a fact table as invalid if its definition cannot be
 *		loaded any more.
 */
void
invalidate_broken_definitions(Oid relid)
{
	ErrorData  *error;

	/* A restore may not have created its primary key or its triggers yet. */
	if (get_rel_name(relid) == NULL || !triggers_intact(relid))
		return;
	error = run_catching_row_errors(load_definition, &relid);
	if (error != NULL)
		invalidate_definitions(catalog_read_definitions(relid, InvalidOid),
							   error->detail != NULL ? error->detail : error->message);
}

/* load_definition: loads the definition of a fact table, or raises an error */
static void
load_definition(void *arg)
{
	Oid			relid = *(Oid *) arg;
	Relation	fact = relation_open(relid, AccessShareLock);

	(void) definition_of_fact(fact, relid);
	relation_close(fact, AccessShareLock);
}

/*
 * update_definitions
 *		Brings the catalog up to date with a fact table and its index tables.  Loading the
 *		definitions checks them, and raises an error if they cannot follow.
 *
 * With fact_altered, or if triggers of ours are missing, the index tables get the owner
 * of the fact table; otherwise an index table with another owner is an error.  With
 * renamed, names are brought up to date even if triggers of ours are missing.
 */
void
update_definitions(Oid relid, bool fact_altered, bool renamed)
{
	Relation	fact = try_relation_open(relid, AccessShareLock);
	bool		intact;
	FactDef    *def;

	if (fact == NULL)
		return;

	/*
	 * A fact table without our triggers is invalid already, or it is being
	 * restored, or its last index table was dropped.
	 */
	intact = triggers_intact(relid);
	foreach_ptr(DefinitionRow, row, catalog_read_definitions(relid, InvalidOid))
		sync_index_table_owner(row->index_table, fact, fact_altered || !intact);
	if (!intact && !renamed)
	{
		relation_close(fact, NoLock);
		return;
	}

	def = definition_of_fact(fact, relid);
	definition_hold(def, CurrentMemoryContext);
	check_row_key(def, fact);
	for (int i = 0; i < def->nall; i++)
		update_definition(def->defs[i], fact, false);
	relation_close(fact, NoLock);
}

/*
 * invalidate_without_triggers
 *		Marks index tables as invalid that may be wrong, because a trigger of ours is
 *		missing or disabled: all of those of a fact table, or an index table without its
 *		guards.  relid is either of them, or a partition.
 */
void
invalidate_without_triggers(Oid relid)
{
	Oid			fact;

	if (!OidIsValid(relid))
		return;
	fact = catalog_fact_of(index_table_of(relid));
	if (!OidIsValid(fact))
		relid = registered_root(relid);
	if (OidIsValid(fact))
	{
		relid = index_table_of(relid);
		if (!guards_intact(relid))
			invalidate_definitions(catalog_read_definitions(InvalidOid, relid),
								   "The triggers that protect it against other writes are disabled or missing.");
	}
	else if (catalog_has_fact(relid) && !triggers_intact(relid))
		invalidate_definitions(catalog_read_definitions(relid, InvalidOid),
							   "The triggers of the fact table that maintain it are disabled or missing.");
}

/*
 * update_definition
 *		Writes the catalog row of an index table anew if names in it have changed, or its
 *		entries have, of which older snapshots learn by that.
 *
 * An expression whose names are as they were is left as it was written.  Written anew it would have
 * the casts that the types of its columns ask for now, and mean these whatever the types
 * become later.
 */
void
update_definition(IndexDef *def, Relation fact, bool entries_changed)
{
	DefinitionRow *stored = stored_definition(def->relid);
	DefinitionRow row;
	FactDef    *factdef = def->fact;
	bool		names_changed;
	bool		renamed;

	if (stored == NULL)
		return;
	row = *stored;
	if (row.document != NULL)
		row.document = get_attname(factdef->relid, def->spec.fact_document, false);
	row.primary_key = NIL;
	for (int i = 0; i < factdef->layout.npk; i++)
		row.primary_key = lappend(row.primary_key,
								  get_attname(factdef->relid, factdef->layout.pk_attno[i], false));
	names_changed = !same_strings(stored->columns, get_column_names_by_number(fact));
	row.key = present_specs(def->spec.fields, def->spec.nkeys, fact, names_changed);
	row.include = present_specs(def->spec.fields + def->spec.nkeys, def->spec.nincludes, fact, names_changed);
	if (def->spec.filter != NULL && names_changed)
		row.filter = expression_text(fact, def->spec.filter);

	renamed = (row.document != NULL && strcmp(row.document, stored->document) != 0) ||
		!same_strings(row.primary_key, stored->primary_key);
	if (entries_changed || renamed || names_changed)
	{
		renamed |= !same_strings(row.key, stored->key) || !same_strings(row.include, stored->include) ||
			(row.filter != NULL && strcmp(row.filter, stored->filter) != 0);
		catalog_update(&row, fact);
		CacheInvalidateRelcacheByRelid(factdef->relid);
		if (renamed && factdef->place->triggers->renew_guard != NULL)
			factdef->place->triggers->renew_guard(def->relid);
	}
}

/*
 * present_specs
 *		Returns the texts of field specs, with the present names of the columns that they use,
 *		which may have changed.
 */
static List *
present_specs(Field *fields, int n, Relation fact, bool names_changed)
{
	List	   *result = NIL;

	for (int i = 0; i < n; i++)
	{
		FieldSpec  *spec = fields[i].spec;

		result = lappend(result,
						 spec->column == NULL ?
						 field_as_written(fact, spec, names_changed ? fields[i].convert : NULL) :
						 psprintf("@%s%s%s",
								  quote_identifier(
												   get_attname(RelationGetRelid(fact),
															   fields[i].fact_attno, false)),
								  spec->multi ? "[*]" : "", spec->text +spec->tail));
	}
	return result;
}

/*
 * sync_index_table_owner
 *		Gives an index table with its partitions and parts the owner of the fact table, or, if change
 *		is false, raises an error if one of them has another owner, unless another node governs it.  A table
 *		that is not adopted may be anybody's, and keeps its owner.
 *
 * Each node of Citus changes the tables and shards that it has itself, by their OIDs.  SQL that Citus would repeat
 * there as the owner of the extension would give away what has got these names on that node.
 */
void
sync_index_table_owner(Oid index_table, Relation fact, bool change)
{
	const IndexTableMethods *methods;

	if (get_rel_name(index_table) == NULL || (!change && place_is_governed_elsewhere(index_table)) ||
		(change && !is_adopted(index_table, RelationGetRelid(fact))))
		return;
	methods = place_of(index_table)->index_tables;
	/* The parts are known by the owner that the index table still has. */
	foreach_oid(table, list_concat(change && methods->parts != NULL ? methods->parts(index_table) : NIL,
								   list_with_partitions(index_table)))
	{
		Relation	rel = try_relation_open(table, AccessShareLock);
		Oid			owner;

		if (rel == NULL)
			continue;
		owner = rel->rd_rel->relowner;
		relation_close(rel, NoLock);
		if (owner == fact->rd_rel->relowner)
			continue;
		if (!change)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("cannot change the owner of index table \"%s\"", get_rel_name(index_table)),
					 errdetail("It belongs to the owner of its fact table."),
					 errhint("Change the owner of \"%s\" instead.", RelationGetRelationName(fact))));

		/*
		 * Not by SQL, which names the table: the name may be that of another
		 * table by the time that the lock is granted.
		 */
		LockRelationOid(table, AccessExclusiveLock);
		ATExecChangeOwner(table, fact->rd_rel->relowner, true, AccessExclusiveLock);
	}
}

/*
 * What follows warns of index tables that a dump brings without their definitions, and refuses to write
 * their fact tables.
 *
 * Users are given the statements that make such tables index tables again (catalog/comment_call.c):
 * at once, when the restore creates the guard, and whenever they write to one of the two tables.
 *
 * A fact table that was restored without its index tables lacks nothing: it is written as if it
 * had no triggers of ours.
 */

/*
 * warn_undefined
 *		Warns of a table that has just got the guard of an index table, but has no definition.
 */
void
warn_undefined(Oid index_table)
{
	if (is_undefined(index_table))
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("table \"%s\" was an index table, but its definition has not been restored", get_rel_name(index_table)),
				 errdetail("Nothing keeps it in step, and it cannot be written by hand."),
				 errhint("When the tables are restored, run: %s", told_remaking(list_make1_oid(index_table)))));
}

/*
 * refuse_undefined
 *		Raises an error if there are tables that were index tables of a fact table without a
 *		definition.  written is the fact table, or the partition of it, that is written.
 *
 * This is called for each row, so the tables are listed only when some relation has changed, which a
 * rollback to a savepoint does, too.  A change of their comments is not told as one of a relation: these are
 * read each time.
 */
void
refuse_undefined(Oid fact_table, Oid written)
{
	List	   *of_fact;

	if (!known)
	{
		MemoryContext old;
		List	   *found;

		listen_to_changes(&restored_listener);
		changed = false;
		found = undefined_tables();
		old = MemoryContextSwitchTo(TopMemoryContext);
		found = list_copy(found);
		MemoryContextSwitchTo(old);
		list_free(undefined);
		undefined = found;
		known = !changed;
	}
	of_fact = undefined == NIL ? NIL : undefined_of(undefined, fact_table);
	if (of_fact != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" has triggers of indextable but is not registered", get_rel_name(written)),
				 errdetail("Its index tables were restored without their definitions, and would not be maintained."),
				 errhint("Run: %s", told_remaking(of_fact))));
}

/* relation_changed: notes that the tables without definitions may be others now */
static void
relation_changed(Oid relid)
{
	known = false;
	changed = true;
}
