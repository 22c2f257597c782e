/*-------------------------------------------------------------------------
 *
 * replace.c
 *	  Puts an index table's new contents, and maybe a new definition, in the place
 *	  of the old ones.
 *
 * Called by redefine.c and online.c.  The new contents come together in a table
 * of their own, the replacement, which is an index table like others; the old one
 * serves meanwhile.  Column by column it is laid out as the old one will be, so
 * that in the end the two exchange their files.  The index table stays the same
 * object: what depends on it, who may read it and what it is called is untouched.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/attmap.h"
#include "access/genam.h"
#include "access/relation.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/toast_internals.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/dependency.h"
#include "catalog/index.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_publication.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "commands/tablespace.h"
#include "executor/spi.h"
#include "indextable.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "parser/parse_utilcmd.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* Columns of an index table, by the definition it has. */
typedef struct Columns
{
	int			nkept;			/* the first that are there that stay, */
	int			first_own;		/* and from here on, those that the owner has added */
	bool		adds;			/* the replacement has others */
} Columns;

static IndexDef *get_definition(Oid index_table);
static int	first_own_column(IndexDef *def);
static void refuse_invalid_indexes(Relation rel);
static void refuse_needed_partitions(Relation old);
static Columns compare_columns(DefinitionRow *row, IndexDef *old_def);
static void clone_indexes(Relation old, Relation new);
static Bitmapset *index_columns(Relation index);
static bool uses_dropped_column(Relation index, Relation new);
static void check_not_in_use(Oid relid, const char *what);
static List *match_partitions(Oid old, Oid new);
static PartSpec *find_bound(Partitioning *p, const char *bound);
static void alter_like(Oid old, Oid new, bool async, bool was_async);
static char *primary_key_like(Relation old, Relation new);
static char *column_like(Relation old, Relation new, AttrNumber attno);
static bool is_of_filter(Form_pg_depend form, Oid unused);

/* replacement_of: of an index table, NULL: there is none */
StoredDefinition *
replacement_of(Oid index_table)
{
	ListCell   *cell;

	foreach(cell, catalog_read(catalog_fact_of(index_table), InvalidOid))
	{
		StoredDefinition *stored = lfirst(cell);

		if (stored->row.replaces == index_table)
			return stored;
	}
	return NULL;
}

/* get_definition: or an error, if it has been dropped meanwhile */
static IndexDef *
get_definition(Oid index_table)
{
	FactDef    *factdef;
	IndexDef   *def = definition_of_index_table(index_table, &factdef);

	if (def == NULL)
		not_an_index_table(index_table);
	return def;
}

/* compare_columns: of an index table, and of the definition it is to have */
static Columns
compare_columns(DefinitionRow *row, IndexDef *old_def)
{
	List	   *rows = catalog_read(InvalidOid, old_def->relid);
	bool		had_doc = old_def->doc_attno != 0;
	bool		has_doc = strcmp(row->strategy, "denormalized") == 0;
	Columns		columns;
	ListCell   *a;
	ListCell   *b;

	if (rows == NIL)
		not_an_index_table(old_def->relid);
	columns.nkept = old_def->nident;
	forboth(a, ((StoredDefinition *) linitial(rows))->row.include, b, row->include)
	{
		if (strcmp(lfirst(a), lfirst(b)) != 0)
			break;
		columns.nkept++;
	}
	if (had_doc && has_doc)
		columns.nkept++;
	columns.first_own = first_own_column(old_def);
	columns.adds = old_def->nident + list_length(row->include) + (has_doc ? 1 : 0) > columns.nkept;
	return columns;
}

/* is_own_column: whether an index table has a column that its owner has added */
bool
is_own_column(Oid index_table, const char *name)
{
	FactDef    *factdef;
	IndexDef   *def = definition_of_index_table(index_table, &factdef);
	Relation	rel = relation_open(index_table, AccessShareLock);
	int			live = 0;
	bool		own = false;
	int			i;

	for (i = 0; def != NULL && i < RelationGetNumberOfAttributes(rel); i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), i);

		if (!att->attisdropped && strcmp(NameStr(att->attname), name) == 0)
			own = live >= first_own_column(def);
		live += !att->attisdropped;
	}
	relation_close(rel, AccessShareLock);
	return own;
}

/* first_own_column: before how many columns of an index table its owner's come */
static int
first_own_column(IndexDef *def)
{
	return def->nident + def->nincludes + (def->doc_attno != 0 ? 1 : 0);
}

/*
 * replacement_fits
 *		Whether the two are laid out alike still.  An owner may have added columns, and
 *		a dump does not carry dropped ones.
 */
bool
replacement_fits(StoredDefinition *replacement)
{
	Columns		columns = compare_columns(&replacement->row, get_definition(replacement->row.replaces));
	Relation	old = relation_open(replacement->row.replaces, AccessShareLock);
	Relation	new = relation_open(replacement->row.index_table, AccessShareLock);
	TupleDesc	a = RelationGetDescr(old);
	TupleDesc	b = RelationGetDescr(new);
	bool	   *stays = columns_that_stay(a, columns.nkept, columns.first_own);
	bool		fits = a->natts <= b->natts;
	int			i;
	int			k;

	for (i = 0; fits && i < a->natts; i++)
	{
		Form_pg_attribute x = TupleDescAttr(a, i);
		Form_pg_attribute y = TupleDescAttr(b, i);

		fits = stays[i] ? !y->attisdropped && x->atttypid == y->atttypid && x->atttypmod == y->atttypmod :
			y->attisdropped;
		/* The name of a new column may have been taken. */
		for (k = a->natts; stays[i] && k < b->natts; k++)
			fits = fits && strcmp(NameStr(x->attname), NameStr(TupleDescAttr(b, k)->attname)) != 0;
	}
	relation_close(new, AccessShareLock);
	relation_close(old, AccessShareLock);
	return fits;
}

/*
 * check_replaceable
 *		Refuses what could not be done in the end, before anything is built.
 */
void
check_replaceable(DefinitionRow *row, Oid index_table)
{
	IndexDef   *def = get_definition(index_table);
	Columns		columns;
	Relation	old;
	Oid			types[] = {OIDOID, INT4OID};
	Datum		values[2];
	bool	   *stays;
	int			live = 0;
	int			i;

	columns = compare_columns(row, def);
	old = relation_open(index_table, AccessShareLock);
	stays = columns_that_stay(RelationGetDescr(old), columns.nkept, columns.first_own);
	refuse_invalid_indexes(old);
	SPI_connect();
	for (i = 0; i < RelationGetNumberOfAttributes(old); i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(old), i);

		if (att->attisdropped)
			continue;
		live++;
		if (live > columns.first_own && columns.adds)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("index table \"%s\" cannot have other columns", RelationGetRelationName(old)),
					 errdetail("Column \"%s\" was added by its owner, and would not come last.", NameStr(att->attname)),
					 errhint("Drop the column first.")));
		if (stays[i])
			continue;
		values[0] = ObjectIdGetDatum(index_table);
		values[1] = Int32GetDatum(att->attnum);
		/* Of the column, or of the primary key, by which a view may group. */
		if (execute_now("SELECT pg_catalog.pg_describe_object(classid, objid, 0) FROM pg_catalog.pg_depend"
						" WHERE deptype = 'n' AND (refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass"
						" AND refobjid = $1 AND refobjsubid = $2"
						" OR refclassid = 'pg_catalog.pg_constraint'::pg_catalog.regclass AND refobjid IN"
						" (SELECT oid FROM pg_catalog.pg_constraint WHERE conrelid = $1 AND contype = 'p'))",
						2, types, values) > 0)
			ereport(ERROR,
					(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
					 errmsg("column \"%s\" of index table \"%s\" cannot go, because other objects depend on it",
							NameStr(att->attname), RelationGetRelationName(old)),
					 errdetail("One of them is %s.",
							   SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1)),
					 errhint("Drop them first, and create them again afterwards.")));
	}
	SPI_finish();
	if (row->partitioning != NULL)
		refuse_needed_partitions(old);
	relation_close(old, AccessShareLock);
}

/* refuse_needed_partitions: which other objects depend on, where others take their place */
static void
refuse_needed_partitions(Relation old)
{
	Oid			types[] = {OIDOID};
	ListCell   *cell;

	SPI_connect();
	foreach(cell, partitioning_of(old)->parts)
	{
		Oid			relid = ((PartSpec *) lfirst(cell))->relid;
		Datum		values[] = {ObjectIdGetDatum(relid)};

		if (execute_now("SELECT pg_catalog.pg_describe_object(classid, objid, 0) FROM pg_catalog.pg_depend"
						" WHERE deptype = 'n' AND refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND refobjid = $1",
						1, types, values) > 0)
			ereport(ERROR,
					(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
					 errmsg("partition \"%s\" of index table \"%s\" cannot go, because other objects depend on it",
							get_rel_name(relid), RelationGetRelationName(old)),
					 errdetail("One of them is %s.",
							   SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1)),
					 errhint("Drop them first, and create them again afterwards.")));
	}
	SPI_finish();
}

/* refuse_invalid_indexes: which would be built for the new contents, and may not be possible */
static void
refuse_invalid_indexes(Relation rel)
{
	ListCell   *cell;

	foreach(cell, RelationGetIndexList(rel))
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);

		if (!index->rd_index->indisvalid)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("index \"%s\" of index table \"%s\" is not valid",
							RelationGetRelationName(index), RelationGetRelationName(rel)),
					 errhint("Drop it, or REINDEX it, first.")));
		index_close(index, AccessShareLock);
	}
}

/* tell_of_lost_indexes: those over columns that go, as with DROP COLUMN, but for the primary key */
void
tell_of_lost_indexes(DefinitionRow *row, Oid index_table)
{
	Columns		columns = compare_columns(row, get_definition(index_table));
	Relation	old = relation_open(index_table, AccessShareLock);
	bool	   *stays = columns_that_stay(RelationGetDescr(old), columns.nkept, columns.first_own);
	Bitmapset  *going = NULL;
	Caller		caller;
	ListCell   *cell;
	int			i;

	become_owner(&caller, old->rd_rel->relowner);

	for (i = 0; i < RelationGetNumberOfAttributes(old); i++)
		if (!TupleDescAttr(RelationGetDescr(old), i)->attisdropped && !stays[i])
			going = bms_add_member(going, i + 1 - FirstLowInvalidHeapAttributeNumber);
	foreach(cell, RelationGetIndexList(old))
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);

		if (!index->rd_index->indisprimary && bms_overlap(index_columns(index), going))
			ereport(NOTICE,
					(errmsg("index \"%s\" will be dropped with a column", RelationGetRelationName(index)),
					 errhint("Create it again if the new column is to have one.")));
		index_close(index, AccessShareLock);
	}
	become_caller(&caller);
	relation_close(old, AccessShareLock);
}

/*
 * make_replacement
 *		Makes the table that is to take an index table's place, filled if it is not
 *		to be built, and has it kept in step.  The fact table is locked against
 *		writers.
 */
Oid
make_replacement(DefinitionRow *row, Oid index_table)
{
	Relation	fact = relation_open(row->fact_table, NoLock);
	FactDef    *factdef;
	IndexDef   *old_def = get_definition(index_table);
	Oid			schema = catalog_schema();
	Columns		columns = compare_columns(row, old_def);
	IndexDef   *def;
	Relation	old = relation_open(index_table, AccessShareLock);
	Relation	new;
	Relation	primary_key;
	List	   *dropped = NIL;
	Caller		caller;
	char	   *name;
	char	   *list;

	def = definition_resolve(row, fact, old,
							 columns.nkept - old_def->nident + old_def->nkeys, &factdef);
	if (GetRelationPublications(index_table) != NIL || GetAllTablesPublications() != NIL)
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("index table \"%s\" is published", RelationGetRelationName(old)),
				 errdetail("Its new contents are not sent to subscribers."),
				 errhint("Refresh the subscriptions when they are in place, copying data; or publish the fact table only.")));
	/* Not a step as the caller: what the owner has put into indexes may be called. */
	become_owner(&caller, fact->rd_rel->relowner);
	name = ChooseRelationName("rebuild", NULL, psprintf("%u", index_table), schema, false);
	list = layout_like(def, fact, old, columns.nkept, columns.first_own, &dropped);
	if (row->partitioning == NULL)
		row->partitioning = partitioning_of(old);
	row->index_table = create_index_table(catalog_owner(), schema, name, list, row->partitioning,
										  tablespace_of(old), fact->rd_rel->relowner);
	row->replaces = index_table;
	run_sql(catalog_owner(), "COMMENT ON TABLE %s IS %s", quoted_relation(row->index_table),
			quote_literal_cstr(psprintf("Takes the place of %s when it is built", quoted_relation(index_table))));
	layout_drop_columns(row->index_table, dropped);
	depend_on_table(row->index_table, index_table);
	depend_on_extension(row->index_table);

	new = table_open(row->index_table, AccessExclusiveLock);
	if (!definition_attach(def, fact, new))
		elog(ERROR, "index table \"%s\" is not as it was created", name);
	primary_key = primary_key_of(old, AccessShareLock);
	register_index_table(row, def, fact, new, primary_key == NULL ? NULL : tablespace_of(primary_key));
	if (primary_key != NULL)
		index_close(primary_key, AccessShareLock);
	new = table_open(row->index_table, NoLock);
	clone_indexes(old, new);
	table_close(new, NoLock);
	relation_close(old, NoLock);
	become_caller(&caller);
	return row->index_table;
}

/* clone_indexes: those that the owner has made */
static void
clone_indexes(Relation old, Relation new)
{
	TupleDesc	desc = RelationGetDescr(new);
	AttrMap    *map = make_attrmap(RelationGetNumberOfAttributes(old));
	List	   *indexes = RelationGetIndexList(old);
	ListCell   *cell;
	int			i;

	for (i = 0; i < map->maplen; i++)
		map->attnums[i] = i < desc->natts ? i + 1 : 0;
	foreach(cell, indexes)
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);

		if (index->rd_index->indisvalid && !index->rd_index->indisprimary &&
			!uses_dropped_column(index, new) && !OidIsValid(find_like(index, new)))
		{
			IndexStmt  *stmt = generateClonedIndexStmt(NULL, index, map, NULL);

			define_index(RelationGetRelid(new), stmt);
			CommandCounterIncrement();
		}
		index_close(index, AccessShareLock);
	}
}

static bool
uses_dropped_column(Relation index, Relation new)
{
	Bitmapset  *columns = index_columns(index);
	int			i;

	for (i = -1; (i = bms_next_member(columns, i)) >= 0;)
	{
		AttrNumber	attno = i + FirstLowInvalidHeapAttributeNumber;

		if (attno > 0 && (attno > RelationGetNumberOfAttributes(new) ||
						  TupleDescAttr(RelationGetDescr(new), attno - 1)->attisdropped))
			return true;
	}
	return false;
}

/* index_columns: all columns that an index uses, offset */
static Bitmapset *
index_columns(Relation index)
{
	IndexInfo  *info = BuildIndexInfo(index);
	Bitmapset  *columns = NULL;
	int			i;

	for (i = 0; i < info->ii_NumIndexAttrs; i++)
		if (info->ii_IndexAttrNumbers[i] > 0)
			columns = bms_add_member(columns, info->ii_IndexAttrNumbers[i] - FirstLowInvalidHeapAttributeNumber);
	pull_varattnos((Node *) info->ii_Expressions, 1, &columns);
	pull_varattnos((Node *) info->ii_Predicate, 1, &columns);
	return columns;
}

/*
 * replace_index_table
 *		The fact table is locked against writers, the index table and its
 *		replacement against everybody; what was queued is applied.
 */
void
replace_index_table(StoredDefinition *replacement)
{
	DefinitionRow row = replacement->row;
	Oid			new = row.index_table;
	Oid			old = row.replaces;
	StoredDefinition *stored = linitial(catalog_read(InvalidOid, old));
	Relation	fact = relation_open(row.fact_table, NoLock);
	Relation	rel = table_open(old, NoLock);
	FactDef    *factdef;
	IndexDef   *def;
	Caller		caller;
	ObjectAddress object;
	List	   *volatile emptied = NIL;
	ListCell   *cell;
	int			uncounted;

	become_owner(&caller, rel->rd_rel->relowner);
	if (!replacement_fits(replacement))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the columns of index table \"%s\" have changed since its replacement was made",
						RelationGetRelationName(rel)),
				 errhint("Call indextable.rebuild() again.")));
	table_close(rel, NoLock);
	check_not_in_use(old, "replace the contents of");
	check_not_in_use(new, "replace");
	/* A vacuum of a TOAST table locks nothing else, and overwrites its row of pg_class, which is written here, too. */
	foreach(cell, list_concat(toast_tables(old), toast_tables(new)))
		LockRelationOid(lfirst_oid(cell), AccessExclusiveLock);

	guard_lifted = old;
	uncounted = begin_uncounted();
	PG_TRY();
	{
		List	   *pairs = match_partitions(old, new);

		foreach(cell, pairs)
			empty_table(linitial_oid(lfirst(cell)));
		alter_like(old, new, strcmp(row.maintenance, "async") == 0, is_queued(&stored->row));
		foreach(cell, pairs)
		{
			exchange_files(linitial_oid(lfirst(cell)), lsecond_oid(lfirst(cell)));
			exchange_indexes(linitial_oid(lfirst(cell)), lsecond_oid(lfirst(cell)));
			emptied = lappend_oid(emptied, linitial_oid(lfirst(cell)));
		}
	}
	PG_FINALLY();
	{
		guard_lifted = InvalidOid;
	}
	PG_END_TRY();
	end_uncounted(uncounted);

	/* The definition goes over to the old one, and the replacement with the old contents. */
	catalog_take_over(new, old);
	catalog_forget_index_table(new);
	ObjectAddressSet(object, RelationRelationId, new);
	performDeletion(&object, DROP_RESTRICT, PERFORM_DELETION_INTERNAL);
	CommandCounterIncrement();
	foreach(cell, emptied)
		name_toast(lfirst_oid(cell));
	row.index_table = old;
	row.replaces = InvalidOid;
	row.state = "active";
	row.problem = NULL;
	catalog_update(&row, fact);
	CacheInvalidateRelcache(fact);
	relation_close(fact, NoLock);
	CommandCounterIncrement();

	(void) table_dependencies(old, is_of_filter, InvalidOid, true);
	def = definition_of_index_table(old, &factdef);
	depend_on_filter(old, def->filter);
	triggers_install(row.fact_table);
	triggers_guard(old);
	(void) queues_drop(row.fact_table, false);
	become_caller(&caller);
}

/* check_not_in_use: nor any of its partitions, by the transaction itself */
static void
check_not_in_use(Oid relid, const char *what)
{
	ListCell   *cell;

	foreach(cell, with_partitions(relid))
	{
		Relation	rel = relation_open(lfirst_oid(cell), NoLock);

		CheckTableNotInUse(rel, what);
		if (rel->rd_rel->relkind == RELKIND_RELATION)
			TransferPredicateLocksToHeapRelation(rel);
		relation_close(rel, NoLock);
	}
}

/*
 * match_partitions
 *		The tables that are to exchange their files, two by two: the index table and
 *		its replacement, or their partitions with equal bounds.  Where the replacement
 *		has others, the index table gets these, empty, in the place of its own.
 */
static List *
match_partitions(Oid old, Oid new)
{
	Relation	old_rel = relation_open(old, NoLock);
	Relation	new_rel = relation_open(new, NoLock);
	Partitioning *have = partitioning_of(old_rel);
	Partitioning *want = partitioning_of(new_rel);
	List	   *pairs = NIL;
	List	   *missing = NIL;
	List	   *dropped = NIL;
	char	   *columns = layout_like(NULL, NULL, old_rel, INT_MAX, INT_MAX, &dropped);
	Oid			owner = old_rel->rd_rel->relowner;
	ListCell   *cell;

	relation_close(new_rel, NoLock);
	relation_close(old_rel, NoLock);
	if (want == NULL)
		return list_make1(list_make2_oid(old, new));
	foreach(cell, want->parts)
		if (find_bound(have, ((PartSpec *) lfirst(cell))->bound) == NULL)
			missing = lappend(missing, lfirst(cell));
	/* If any is another one, then all are, as those that stay might overlap. */
	if (missing != NIL || list_length(have->parts) != list_length(want->parts))
	{
		foreach(cell, have->parts)
		{
			ObjectAddress object;

			ObjectAddressSet(object, RelationRelationId, ((PartSpec *) lfirst(cell))->relid);
			performDeletion(&object, DROP_RESTRICT, PERFORM_DELETION_INTERNAL);
		}
		CommandCounterIncrement();
		have = palloc0(sizeof(Partitioning));
		foreach(cell, want->parts)
		{
			PartSpec   *spec = palloc(sizeof(PartSpec));

			*spec = *(PartSpec *) lfirst(cell);
			have->parts = lappend(have->parts, spec);
		}
		make_partitions(catalog_owner(), old, have, columns, dropped, owner);
		usage_from_now(old);	/* the counters of the others have gone */
	}
	foreach(cell, want->parts)
	{
		PartSpec   *spec = lfirst(cell);

		pairs = lappend(pairs, list_make2_oid(find_bound(have, spec->bound)->relid, spec->relid));
	}
	return pairs;
}

static PartSpec *
find_bound(Partitioning *p, const char *bound)
{
	ListCell   *cell;

	foreach(cell, p->parts)
		if (strcmp(((PartSpec *) lfirst(cell))->bound, bound) == 0)
			return lfirst(cell);
	return NULL;
}

/*
 * alter_like
 *		Gives an index table, which is empty, the columns and indexes that its
 *		replacement has.
 */
static void
alter_like(Oid old, Oid new, bool async, bool was_async)
{
	Relation	old_rel = table_open(old, NoLock);
	Relation	new_rel = table_open(new, NoLock);
	TupleDesc	a = RelationGetDescr(old_rel);
	TupleDesc	b = RelationGetDescr(new_rel);
	Relation	primary_key;
	StringInfoData columns;
	Oid			owner = old_rel->rd_rel->relowner;
	List	   *old_keys = NIL;
	char	   *constraint = NULL;
	char	   *new_key = NULL;
	char	   *row_index = NULL;
	bool		clustered = false;
	bool		identity = false;
	FactDef    *factdef;
	IndexDef   *def;
	int			i;

	initStringInfo(&columns);
	for (i = 0; i < a->natts && i < b->natts; i++)
		if (!TupleDescAttr(a, i)->attisdropped && TupleDescAttr(b, i)->attisdropped)
			appendStringInfo(&columns, ", DROP COLUMN %s", quote_identifier(NameStr(TupleDescAttr(a, i)->attname)));
	for (i = a->natts; i < b->natts; i++)
		appendStringInfo(&columns, ", ADD COLUMN %s", layout_column(TupleDescAttr(b, i)));
	primary_key = primary_key_of(old_rel, AccessShareLock);
	if (primary_key == NULL || !OidIsValid(find_like(primary_key, new_rel)))
	{
		if (primary_key != NULL)
		{
			old_keys = usage_keys(old);
			constraint = pstrdup(RelationGetRelationName(primary_key));
			clustered = primary_key->rd_index->indisclustered;
			identity = primary_key->rd_index->indisreplident;
		}
		new_key = psprintf("%s%s %s", constraint != NULL ? "CONSTRAINT " : "",
						   constraint != NULL ? quote_identifier(constraint) : "",
						   primary_key_like(old_rel, new_rel));
	}
	if (primary_key != NULL)
		index_close(primary_key, NoLock);

	def = definition_of_index_table(new, &factdef);
	if (async && OidIsValid(def->row_index))
	{
		Relation	index = index_open(def->row_index, AccessShareLock);

		if (!OidIsValid(find_like(index, old_rel)))
		{
			StringInfoData list;

			initStringInfo(&list);
			for (i = 0; i < factdef->npk; i++)
				appendStringInfo(&list, "%s%s", i > 0 ? ", " : "",
								 quote_identifier(column_like(old_rel, new_rel, def->pk_attno[i])));
			row_index = list.data;
		}
		index_close(index, AccessShareLock);
	}
	table_close(new_rel, NoLock);
	table_close(old_rel, NoLock);

	/* Before columns that it covers, with which it would go. */
	if (constraint != NULL)
		run_sql(catalog_owner(), "ALTER TABLE %s DROP CONSTRAINT %s", quoted_relation(old),
				quote_identifier(constraint));
	/* As its owner: the type of a column may be a domain, which calls what he likes. */
	if (columns.len > 0)
		run_sql(owner, "ALTER TABLE %s %s", quoted_relation(old), columns.data + 2);
	if (new_key != NULL)
	{
		run_sql(catalog_owner(), "ALTER TABLE %s ADD %s", quoted_relation(old), new_key);
		usage_follows(old_keys);
	}
	layout_mark_key(old, constraint, clustered, identity);
	if (row_index != NULL)
		layout_make_row_index(old, row_index);
	if (was_async && !async)
		layout_drop_row_index(old);
}

/* column_like: the name that a column of the replacement has in the old one, or will have */
static char *
column_like(Relation old, Relation new, AttrNumber attno)
{
	TupleDesc	desc = RelationGetDescr(attno <= RelationGetNumberOfAttributes(old) ? old : new);

	return NameStr(TupleDescAttr(desc, attno - 1)->attname);
}

/* primary_key_like: a constraint for the old one, as the replacement has it */
static char *
primary_key_like(Relation old, Relation new)
{
	Relation	index = primary_key_of(new, AccessShareLock);
	int			nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	StringInfoData sql;
	int			i;

	initStringInfo(&sql);
	for (i = 0; i < IndexRelationGetNumberOfAttributes(index); i++)
		appendStringInfo(&sql, "%s%s", i == 0 ? "PRIMARY KEY (" : i == nkeys ? ") INCLUDE (" : ", ",
						 quote_identifier(column_like(old, new, index->rd_index->indkey.values[i])));
	appendStringInfoChar(&sql, ')');
	index_close(index, AccessShareLock);
	return sql.data;
}

/* is_of_filter: what else an index table needs is its schema and its access method */
static bool
is_of_filter(Form_pg_depend form, Oid unused)
{
	return form->deptype == DEPENDENCY_NORMAL && form->objsubid == 0 &&
		form->refclassid != NamespaceRelationId && form->refclassid != AccessMethodRelationId;
}

/* depends_on_objects: whether an index table's filter uses functions or types that are not the server's own */
bool
depends_on_objects(Oid index_table)
{
	return table_dependencies(index_table, is_of_filter, InvalidOid, false);
}
