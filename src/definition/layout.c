/*-------------------------------------------------------------------------
 *
 * layout.c
 *	  Lays out the columns of index tables.
 *
 * The columns of an index table are the key fields, the primary key of the fact row, and
 * then the included fields or the document; and with multi-valued fields the number of
 * elements.  Its indexes are made by primary_key.c.  A table of totals has others: see totals_columns.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/heap.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "../catalog/catalog.h"
#include "../expression/expression.h"
#include "../indextable.h"
#include "../util/compat.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "definition.h"

static List *lay_out(IndexDef *def, Relation fact);
static void add_column(List **columns, IndexDef *def, const char *name, const char *what, Oid type, int32 typmod,
					   Oid collation, bool not_null);
static void add_field(List **columns, IndexDef *def, int i, bool not_null);
static void add_document(List **columns, IndexDef *def);
static void add_elements(List **columns, IndexDef *def);
static bool is_among_columns(List *columns, const char *name);
static char *other_name(IndexDef *def, const char *name);
static char *column_definitions(List *columns);

/* layout_desc: returns the columns of an index table that is to be made */
TupleDesc
layout_desc(IndexDef *def, Relation fact)
{
	List	   *columns = lay_out(def, fact);
	TupleDesc	desc = CreateTemplateTupleDesc(list_length(columns));

	foreach_ptr(ColumnDef, column, columns)
	{
		AttrNumber	attno = foreach_current_index(column) + 1;

		TupleDescInitEntry(desc, attno, column->colname, column->typeName->typeOid, column->typeName->typemod, 0);
		if (OidIsValid(column->collOid))
			TupleDescInitEntryCollation(desc, attno, column->collOid);
		TupleDescAttr(desc, attno - 1)->attnotnull = column->is_not_null;
	}
	TupleDescFinalize(desc);
	return desc;
}

/* key_names: returns the names of the key fields (char *) */
List *
key_names(IndexDef *def)
{
	List	   *names = NIL;

	for (int i = 0; i < def->spec.nkeys; i++)
		names = lappend(names, (char *) def->spec.fields[i].spec->name);
	return names;
}

/* layout_columns: returns the same as layout_desc(), as the column list for CREATE TABLE */
char *
layout_columns(IndexDef *def, Relation fact)
{
	return column_definitions(lay_out(def, fact));
}

/* layout_column: returns, for CREATE TABLE, a column like one that exists */
char *
layout_column(Form_pg_attribute att)
{
	ColumnDef  *column = makeColumnDef(NameStr(att->attname), att->atttypid, att->atttypmod, att->attcollation);

	column->is_not_null = att->attnotnull;
	return column_definitions(list_make1(column));
}

/* column_definitions: returns columns (ColumnDef *) as the column list for CREATE TABLE */
static char *
column_definitions(List *columns)
{
	StringInfoData sql;

	initStringInfo(&sql);
	foreach_ptr(ColumnDef, column, columns)
		appendStringInfo(&sql, "%s%s %s%s", sql.len > 0 ? ", " : "", quote_identifier(column->colname),
						 layout_type(column->typeName->typeOid, column->typeName->typemod, column->collOid),
						 column->is_not_null ? " NOT NULL" : "");
	return sql.data;
}

/*
 * lay_out
 *		Returns the columns of an index table (ColumnDef *), in order.  Refuses names that columns
 *		cannot have, and more columns than an index can have.
 */
static List *
lay_out(IndexDef *def, Relation fact)
{
	FactDef    *factdef = def->fact;
	List	   *columns = NIL;

	for (int i = 0; i < def->spec.nkeys; i++)
		add_field(&columns, def, i, def->spec.sparse && !is_totals(def));
	if (is_totals(def))
	{
		add_column(&columns, def, "rows", "count(*)", INT8OID, -1, InvalidOid, true);
		if (def->layout.elements_attno != 0)
			add_elements(&columns, def);
		for (int i = 0; i < def->spec.nincludes; i++)
		{
			Field	   *field = &def->spec.fields[def->spec.nkeys + i];

			if (SUM_ATTNO(def, i) != 0)
				add_column(&columns, def, psprintf("sum_%s", field->spec->name), field->spec->text,
						   sum_type(field->type, field->typmod), -1, InvalidOid, true);
			add_column(&columns, def, psprintf("count_%s", field->spec->name), field->spec->text, INT8OID, -1,
					   InvalidOid, true);
		}
		if (def->spec.nkeys > INDEX_MAX_KEYS)
			ereport(ERROR,
					(errcode(ERRCODE_TOO_MANY_COLUMNS),
					 errmsg("key must not have more than %d fields", INDEX_MAX_KEYS)));
		return columns;
	}
	for (int i = 0; i < factdef->layout.npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(fact), factdef->layout.pk_attno[i] - 1);

		if (def->layout.pk_attno[i] > def->spec.nkeys)
			add_column(&columns, def, NameStr(att->attname), "primary key", att->atttypid, att->atttypmod,
					   att->attcollation, true);
	}
	for (int i = def->spec.nkeys; i < def->spec.nkeys + def->spec.nincludes; i++)
		add_field(&columns, def, i, false);
	if (def->layout.doc_attno != 0)
		add_document(&columns, def);
	if (def->layout.elements_attno != 0)
		add_elements(&columns, def);
	if (def->layout.nident > INDEX_MAX_KEYS)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_COLUMNS),
				 errmsg("key and primary key must not have more than %d columns together", INDEX_MAX_KEYS),
				 errdetail("They have %d columns.", def->layout.nident)));
	return columns;
}

/* add_field: adds the column of field i to a list */
static void
add_field(List **columns, IndexDef *def, int i, bool not_null)
{
	Field	   *field = &def->spec.fields[i];

	add_column(columns, def, field->spec->name, field->spec->text, field->type, field->typmod, field->collation,
			   not_null);
}

/* add_document: adds the column that has the document to a list */
static void
add_document(List **columns, IndexDef *def)
{
	add_column(columns, def, get_attname(def->fact->relid, def->spec.fact_document, false), "document",
			   JSONBOID, -1, InvalidOid, false);
}

/*
 * add_elements
 *		Adds the column that has the number of elements to a list, with a name that no other
 *		one has.
 */
static void
add_elements(List **columns, IndexDef *def)
{
	const char *name = "elements";

	for (int i = 1; is_among_columns(*columns, name); i++)
		name = psprintf("elements_%d", i);
	add_column(columns, def, name, "number of elements", is_totals(def) ? INT8OID : INT4OID, -1, InvalidOid, true);
}

/* is_among_columns: returns whether a column of a list has a name */
static bool
is_among_columns(List *columns, const char *name)
{
	foreach_ptr(ColumnDef, column, columns)
	{
		if (strcmp(column->colname, name) == 0)
			return true;
	}
	return false;
}

/*
 * add_column
 *		Adds a column to a list, unless its name cannot be one; what it is of is for an error.
 */
static void
add_column(List **columns, IndexDef *def, const char *name, const char *what, Oid type, int32 typmod,
		   Oid collation, bool not_null)
{
	check_name_length(name, "Name the field with AS.");
	if (name[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("field \"%s\" has an empty name", what),
				 errhint("Name the field with AS.")));
	if (SystemAttributeByName(name) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_RESERVED_NAME),
				 errmsg("column name \"%s\" conflicts with a system column name", name),
				 errhint("Name the field with AS.")));
	if (is_among_columns(*columns, name))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_COLUMN),
				 errmsg("column name \"%s\" specified more than once", name),
				 errdetail("Columns are named after the last member of a path. The columns of the fact table's primary key keep their names."),
				 errhint("%s", other_name(def, name))));
	*columns = lappend(*columns, makeColumnDef(name, type, typmod, collation));
	llast_node(ColumnDef, *columns)->is_not_null = not_null;
}

/* other_name: returns a hint how to rename the last field whose column would have a name */
static char *
other_name(IndexDef *def, const char *name)
{
	FactDef    *fact;
	FieldSpec  *spec = NULL;
	StringInfoData longer;
	char	   *named;
	bool		is_key;
	bool		is_lone;
	int			i = -1;

	if (def != NULL)
		i = def->spec.nkeys + def->spec.nincludes - 1;
	for (; i >= 0; i--)
	{
		spec = def->spec.fields[i].spec;
		if (spec->column == NULL && spec->name != NULL && strcmp(spec->name, name) == 0)
			break;
	}
	if (i < 0)
		return pstrdup("Leave out one of the fields, or name it with AS.");
	is_key = i < def->spec.nkeys;
	is_lone = spec->nsteps == 1 && strcmp(spec->steps[0].name, name) == 0;
	fact = def->fact;

	/* the members that lead to it, or that it is one of the document */
	initStringInfo(&longer);
	for (i = 0; i < spec->nsteps; i++)
		if (spec->steps[i].name != NULL && !spec->steps[i].is_index)
			appendStringInfo(&longer, "%s%s", longer.len > 0 ? "_" : "", spec->steps[i].name);
	if (longer.len == 0 || strcmp(longer.data, name) == 0)
	{
		resetStringInfo(&longer);
		appendStringInfo(&longer, "%s_%s", get_attname(fact->relid, def->spec.fact_document, false), name);
	}
	if (longer.len >= NAMEDATALEN)
		return pstrdup("Name the field with AS.");
	named = array_literal(list_make1(name_field(spec->text, longer.data)));
	for (i = 0; i < fact->layout.npk && is_lone; i++)
		if (strcmp(get_attname(fact->relid, fact->layout.pk_attno[i], false), name) == 0)
			return is_key ?
				psprintf("Perhaps you mean the column of the table: %s. For a member of the document, name the field: %s.",
						 array_literal(list_make1(psprintf("@%s", quote_identifier(name)))), named) :
				psprintf("Entries have the column of the primary key anyway. For a member of the document, name the field: %s.",
						 named);
	return psprintf("Name the field with AS: %s.", named);
}

/*
 * layout_type
 *		Returns the type of a column, with its collation, for CREATE TABLE or ALTER COLUMN ...
 *		TYPE.
 */
char *
layout_type(Oid type, int32 typmod, Oid collation)
{
	char	   *name = format_type_extended(type, typmod, FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY);
	HeapTuple	tuple;
	Form_pg_collation form;

	if (!OidIsValid(collation) || collation == get_typcollation(type))
		return name;
	tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for collation %u", collation);
	form = (Form_pg_collation) GETSTRUCT(tuple);
	name = psprintf("%s COLLATE %s", name,
					quote_qualified_identifier(get_namespace_name(form->collnamespace), NameStr(form->collname)));
	ReleaseSysCache(tuple);
	return name;
}

/*
 * find_kept_columns
 *		Returns, by column number, which columns of an index table stay when it gets other
 *		contents: the first nkept_columns, and those that its owner has added, from first_own on.
 *		Dropped columns are not counted.
 */
bool *
find_kept_columns(TupleDesc desc, int nkept_columns, int first_own)
{
	bool	   *stays = palloc0(sizeof(bool) * Max(desc->natts, 1));
	int			live = 0;

	for (int i = 0; i < desc->natts; i++)
	{
		if (TupleDescAttr(desc, i)->attisdropped)
			continue;
		stays[i] = live < nkept_columns || live >= first_own;
		live++;
	}
	return stays;
}

/*
 * layout_like
 *		Returns the column list for CREATE TABLE of a table that is to take the place of
 *		another index table, old, so that every column that stays has the same number in
 *		both (find_kept_columns()).  The columns that def has beyond these follow at the end.
 *
 * With adds_elements the last one is the number of elements.
 *
 * In the place of columns that do not stay there are columns that the caller has to drop.
 * Their names are added to *dropped.  If all columns of old stay, def and fact may be NULL.
 */
char *
layout_like(IndexDef *def, Relation fact, Relation old, int nkept_columns, int first_own, bool adds_elements,
			List **dropped)
{
	TupleDesc	desc = RelationGetDescr(old);
	List	   *columns = NIL;
	bool	   *stays = find_kept_columns(desc, nkept_columns, first_own);
	int			live = 0;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		bool		is_key = def != NULL && !att->attisdropped && live++ < def->spec.nkeys;

		if (stays[i])
			add_column(&columns, def, NameStr(att->attname), "column", att->atttypid, att->atttypmod,
					   att->attcollation, is_key ? def->spec.sparse && !is_totals(def) : att->attnotnull);
		else
		{
			char	   *name = psprintf("........%d........", i + 1);

			columns = lappend(columns, makeColumnDef(name, INT4OID, -1, InvalidOid));
			*dropped = lappend(*dropped, name);
		}
	}
	for (int i = nkept_columns; def != NULL && i < def->layout.nleading + def->spec.nincludes; i++)
		add_field(&columns, def, def->spec.nkeys + i - def->layout.nleading, false);
	if (def != NULL && def->layout.doc_attno != 0 && nkept_columns == def->layout.nleading)
		add_document(&columns, def);
	if (adds_elements)
		add_elements(&columns, def);
	return column_definitions(columns);
}

/*
 * report_altered_index_table
 *		Raises the error for an index table or a fact table that was altered in such a way that
 *		wrong entries would be written.
 */
void
report_altered_index_table(Oid index_table, Relation fact, const char *why)
{
	Relation	rel = try_relation_open(index_table, AccessShareLock);
	DefinitionRow *stored = stored_definition(index_table);
	Relation	index = rel == NULL ? NULL :
		open_identity_index(rel, stored == NULL || identified_by_primary_key(stored));
	bool		lacks_primary_key = rel != NULL && index == NULL;

	if (index != NULL)
		index_close(index, AccessShareLock);
	if (rel != NULL)
		relation_close(rel, AccessShareLock);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("index table \"%s\" cannot be maintained because it does not fit its fact table \"%s\" any more",
					get_rel_name(index_table), RelationGetRelationName(fact)),
			 errdetail("%s", why),
			 lacks_primary_key ? errhint("Run %s", told_call("repair", index_table)) :
			 errhint("Undo the change, or run DROP TABLE %s; and create the index table again.", quoted_relation(index_table))));
}
