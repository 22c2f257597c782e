/*-------------------------------------------------------------------------
 *
 * replaceable.c
 *	  Tells whether, and how, one index table can take the place of another.
 *
 * The two exchange their files (see replace.c), so their columns have to be laid out
 * alike: a column that does not stay is a dropped one in the replacement, and new
 * columns come last.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/index.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../util/as_owner.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "commands.h"

/* What refuse_needed() looks at beside the columns of a table. */
#define PRIMARY_KEY_ALONE	0
#define ANY_COLUMN			(-1)

static int	live_count(TupleDesc desc);
static int	first_own_column(IndexDef *def);
static void refuse_needed(Oid relid, int column, const char *change);
static void refuse_invalid_indexes(Relation rel);

/* replacement_of: returns the definition of an index table's replacement; NULL: it has none */
DefinitionRow *
replacement_of(Oid index_table)
{
	foreach_ptr(DefinitionRow, stored, catalog_read_definitions(catalog_fact_of(index_table), InvalidOid))
	{
		if (stored->replaces == index_table)
			return stored;
	}
	return NULL;
}

/*
 * get_definition
 *		Returns the definition of an index table, or raises an error if it has
 *		been dropped meanwhile.
 */
IndexDef *
get_definition(Oid index_table)
{
	IndexDef   *def = definition_of_index_table(index_table);

	if (def == NULL)
		report_not_index_table(index_table);
	return def;
}

/*
 * compare_columns
 *		Compares the columns that an index table has with those that it is to have
 *		by another definition.
 */
Columns
compare_columns(DefinitionRow *row, IndexDef *old_def)
{
	DefinitionRow *stored = required_definition(old_def->relid);
	bool		had_doc = old_def->layout.doc_attno != 0;
	bool		has_doc = row->strategy == STRATEGY_DENORMALIZED;
	Columns		columns;
	ListCell   *a;
	ListCell   *b;

	columns.nkept = old_def->layout.nleading;
	forboth(a, stored->include, b, row->include)
	{
		if (strcmp(lfirst(a), lfirst(b)) != 0)
			break;
		columns.nkept++;
	}
	if (had_doc && has_doc)
		columns.nkept++;
	columns.first_own = first_own_column(old_def);
	columns.adds = old_def->layout.nleading + list_length(row->include) + (has_doc ? 1 : 0) > columns.nkept;
	columns.adds_elements = false;
	if (old_def->layout.elements_attno != 0 && !columns.adds)
		columns.first_own--;	/* it stays, too */
	else if (old_def->spec.multi && !is_totals(old_def))
		/* It is the last one, of those that are not the owner's. */
		columns.adds_elements = columns.adds || live_count(old_def->layout.desc) == columns.first_own;
	columns.adds |= columns.adds_elements;
	return columns;
}

/* live_count: returns the number of columns that have not been dropped */
static int
live_count(TupleDesc desc)
{
	int			n = 0;

	for (int i = 0; i < desc->natts; i++)
		n += !TupleDescAttr(desc, i)->attisdropped;
	return n;
}

/* is_own_column: returns whether a column of an index table is one that its owner has added */
bool
is_own_column(Oid index_table, const char *name)
{
	IndexDef   *def = definition_of_index_table(index_table);
	Relation	rel = open_existing(index_table, AccessShareLock);
	int			live = 0;
	bool		own = false;

	for (int i = 0; def != NULL && i < RelationGetNumberOfAttributes(rel); i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), i);

		if (!att->attisdropped && strcmp(NameStr(att->attname), name) == 0)
			own = live >= first_own_column(def);
		live += !att->attisdropped;
	}
	relation_close(rel, AccessShareLock);
	return own;
}

/*
 * first_own_column
 *		Returns how many columns an index table has before those that its owner has added.
 */
static int
first_own_column(IndexDef *def)
{
	return def->layout.nleading + def->spec.nincludes + (def->layout.doc_attno != 0) +
		(def->layout.elements_attno != 0);
}

/*
 * replacement_fits
 *		Returns whether a replacement and its index table are still laid out
 *		alike.
 *
 * The owner may have added columns since, and a dump does not carry dropped ones.
 */
bool
replacement_fits(DefinitionRow *replacement)
{
	Columns		columns = compare_columns(replacement, get_definition(replacement->replaces));
	Relation	old = open_existing(replacement->replaces, AccessShareLock);
	Relation	new = open_existing(replacement->index_table, AccessShareLock);
	TupleDesc	a = RelationGetDescr(old);
	TupleDesc	b = RelationGetDescr(new);
	bool	   *stays = find_kept_columns(a, columns.nkept, columns.first_own);
	bool		fits = a->natts <= b->natts;

	for (int i = 0; fits && i < a->natts; i++)
	{
		Form_pg_attribute x = TupleDescAttr(a, i);
		Form_pg_attribute y = TupleDescAttr(b, i);

		fits = stays[i] ? !y->attisdropped && x->atttypid == y->atttypid && x->atttypmod == y->atttypmod :
			y->attisdropped;
		/* The name of a new column may have been taken. */
		for (int k = a->natts; stays[i] && k < b->natts; k++)
			fits = fits && strcmp(NameStr(x->attname), NameStr(TupleDescAttr(b, k)->attname)) != 0;
	}
	relation_close(new, AccessShareLock);
	relation_close(old, AccessShareLock);
	return fits;
}

/*
 * check_replaceable
 *		Refuses, before anything is built, what could not be done in the end.
 *
 * 'row' is the definition that the index table is to have.
 */
void
check_replaceable(DefinitionRow *row, Oid index_table)
{
	IndexDef   *def = get_definition(index_table);
	Columns		columns;
	Relation	old;
	const char *name = get_rel_name(index_table);
	bool	   *stays;
	int			live = 0;

	columns = compare_columns(row, def);
	old = open_existing(index_table, AccessShareLock);
	stays = find_kept_columns(RelationGetDescr(old), columns.nkept, columns.first_own);
	refuse_invalid_indexes(old);
	if (row->is_unique != def->spec.is_unique)
		refuse_needed(index_table, PRIMARY_KEY_ALONE,
					  psprintf("change the primary key of index table \"%s\"", name));
	for (int i = 0; i < RelationGetNumberOfAttributes(old); i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(old), i);

		if (att->attisdropped)
			continue;
		live++;
		if (live > columns.first_own && columns.adds)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("cannot add columns to index table \"%s\"", RelationGetRelationName(old)),
					 errdetail("Column \"%s\", which was added by its owner, must remain the last one.", NameStr(att->attname)),
					 errhint("First run ALTER TABLE %s DROP COLUMN %s;", quoted_relation(index_table), quote_identifier(NameStr(att->attname)))));
		if (!stays[i])
			refuse_needed(index_table, att->attnum,
						  psprintf("drop column \"%s\" of index table \"%s\"", NameStr(att->attname), name));
	}
	if (row->partitioning != NULL)
		foreach_ptr(PartSpec, part, partitioning_of(old)->parts)
			refuse_needed(part->relid, ANY_COLUMN,
						  psprintf("drop partition \"%s\" of index table \"%s\"", get_rel_name(part->relid),
								   name));
	relation_close(old, AccessShareLock);
}

/*
 * refuse_needed
 *		Raises an error that a change cannot be made if an object depends on a column of a table,
 *		or on its primary key; an example is a view that groups by it.
 */
static void
refuse_needed(Oid relid, int column, const char *change)
{
	Oid			types[] = {OIDOID, INT4OID};
	Datum		values[] = {ObjectIdGetDatum(relid), Int32GetDatum(column)};
	Rows		rows = query_with(InvalidOid, "SELECT pg_catalog.pg_describe_object(classid, objid, 0) FROM pg_catalog.pg_depend"
								  " WHERE deptype = 'n' AND (refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass"
								  " AND refobjid = $1 AND (refobjsubid = $2 AND $2 > 0 OR $2 < 0)"
								  " OR refclassid = 'pg_catalog.pg_constraint'::pg_catalog.regclass AND $2 >= 0 AND refobjid IN"
								  " (SELECT oid FROM pg_catalog.pg_constraint WHERE conrelid = $1 AND contype = 'p'))",
								  2, types, values);

	if (rows.n > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("cannot %s because other objects depend on it", change),
				 errdetail("One of them is %s.", row_text(&rows, 0, 1)),
				 errhint("Drop these objects first, and create them again afterwards.")));
}

/*
 * refuse_invalid_indexes
 *		Refuses an index table with an invalid index, which would have to be built
 *		for the new contents, and maybe cannot be.
 */
static void
refuse_invalid_indexes(Relation rel)
{
	foreach_oid(index_oid, RelationGetIndexList(rel))
	{
		Relation	index = index_open(index_oid, AccessShareLock);

		if (!index->rd_index->indisvalid)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("index \"%s\" of index table \"%s\" is not valid",
							RelationGetRelationName(index), RelationGetRelationName(rel)),
					 errhint("Drop the index, or run REINDEX INDEX %s;", quoted_relation(RelationGetRelid(index)))));
		index_close(index, AccessShareLock);
	}
}

/*
 * report_lost_indexes
 *		Tells which indexes will be dropped because one of their columns is, as
 *		DROP COLUMN drops them; the primary key is made anew.
 */
void
report_lost_indexes(DefinitionRow *row, Oid index_table)
{
	IndexDef   *def = get_definition(index_table);
	Columns		columns = compare_columns(row, def);
	Relation	old = open_existing(index_table, AccessShareLock);
	bool	   *stays = find_kept_columns(RelationGetDescr(old), columns.nkept, columns.first_own);
	Bitmapset  *dropped = NULL;

	AS_OWNER(old->rd_rel->relowner);
	{
		for (int i = 0; i < RelationGetNumberOfAttributes(old); i++)
			if (!TupleDescAttr(RelationGetDescr(old), i)->attisdropped && !stays[i])
				dropped = bms_add_member(dropped, i + 1 - FirstLowInvalidHeapAttributeNumber);
		foreach_oid(index_oid, RelationGetIndexList(old))
		{
			Relation	index = index_open(index_oid, AccessShareLock);

			if (!finds_entries(def, index) && bms_overlap(index_columns(index), dropped))
				ereport(NOTICE,
						(errmsg("index \"%s\" will be dropped because one of its columns is dropped", RelationGetRelationName(index)),
						 errhint("Create it again if the new column should have an index.")));
			index_close(index, AccessShareLock);
		}
	}
	END_AS_OWNER();
	relation_close(old, AccessShareLock);
}

/*
 * index_columns
 *		Returns the columns that an index uses, offset by FirstLowInvalidHeapAttributeNumber.
 */
Bitmapset *
index_columns(Relation index)
{
	IndexInfo  *info = BuildIndexInfo(index);
	Bitmapset  *columns = NULL;

	for (int i = 0; i < info->ii_NumIndexAttrs; i++)
		if (info->ii_IndexAttrNumbers[i] > 0)
			columns = bms_add_member(columns, info->ii_IndexAttrNumbers[i] - FirstLowInvalidHeapAttributeNumber);
	pull_varattnos((Node *) info->ii_Expressions, 1, &columns);
	pull_varattnos((Node *) info->ii_Predicate, 1, &columns);
	return columns;
}
