/*-------------------------------------------------------------------------
 *
 * layout.c
 *	  Lays out index tables: their columns, their primary key, and the index by which a row's
 *	  entries are found.
 *
 * The columns of an index table are the key fields, the primary key of the fact row, and
 * then the included fields or the document.  The primary key of the index table consists of
 * the key fields and the primary key of the fact row, or of the key fields alone if the
 * index table is unique.  It also covers the included fields for index-only scans, if they
 * are narrow enough.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attnum.h"
#include "access/genam.h"
#include "access/htup.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/heap.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "commands/comment.h"
#include "commands/defrem.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "../catalog/owner.h"
#include "../indextable.h"
#include "../util/inherit.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "../util/uncounted.h"
#include "field_spec.h"
#include "layout.h"

#define ROW_INDEX_COMMENT	"Finds the entries of a fact row; made by indextable"

static List *layout_names(IndexDef *def, Relation fact);
static void add_column(List **names, const char *name, const char *what);
static void append_column(StringInfo sql, const char *name, Oid type, int32 typmod, Oid collation,
						  bool not_null);
static void set_column(TupleDesc desc, AttrNumber attno, List *names, Oid type, int32 typmod,
					   Oid collation, bool not_null);
static void place_index(Oid index_table, Oid index);
static int32 declared_size(Form_pg_attribute att);

/* layout_desc: returns the columns of an index table that is to be made */
TupleDesc
layout_desc(IndexDef *def, Relation fact)
{
	FactDef    *factdef = def->fact;
	List	   *names = layout_names(def, fact);
	TupleDesc	desc = CreateTemplateTupleDesc(list_length(names));
	AttrNumber	attno = 0;
	int			i;

	for (i = 0; i < def->nkeys; i++)
	{
		Field	   *field = &def->fields[i];

		set_column(desc, ++attno, names, field->type, field->typmod, field->collation, true);
	}
	for (i = 0; i < factdef->npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(fact), factdef->pk_attno[i] - 1);

		if (def->pk_attno[i] > def->nkeys)
			set_column(desc, ++attno, names, att->atttypid, att->atttypmod, att->attcollation, true);
	}
	for (i = def->nkeys; i < def->nkeys + def->nincludes; i++)
	{
		Field	   *field = &def->fields[i];

		set_column(desc, ++attno, names, field->type, field->typmod, field->collation, false);
	}
	if (def->doc_attno != 0)
		set_column(desc, ++attno, names, JSONBOID, -1, InvalidOid, false);
	return desc;
}

/* layout_columns: returns the same as layout_desc(), as the column list for CREATE TABLE */
char *
layout_columns(IndexDef *def, Relation fact)
{
	TupleDesc	desc = layout_desc(def, fact);
	StringInfoData sql;
	int			i;

	initStringInfo(&sql);
	for (i = 0; i < desc->natts; i++)
		appendStringInfo(&sql, "%s%s", i > 0 ? ", " : "", layout_column(TupleDescAttr(desc, i)));
	return sql.data;
}

/* layout_column: returns, for CREATE TABLE, a column like one that exists */
char *
layout_column(Form_pg_attribute att)
{
	StringInfoData sql;

	initStringInfo(&sql);
	append_column(&sql, NameStr(att->attname), att->atttypid, att->atttypmod, att->attcollation,
				  att->attnotnull);
	return sql.data;
}

/*
 * layout_names
 *		Returns the names of an index table's columns, in order.  Refuses names that columns
 *		cannot have, and more columns than an index can have.
 */
static List *
layout_names(IndexDef *def, Relation fact)
{
	FactDef    *factdef = def->fact;
	List	   *names = NIL;
	int			i;

	for (i = 0; i < def->nkeys; i++)
		add_column(&names, def->fields[i].spec->name, def->fields[i].spec->text);
	for (i = 0; i < factdef->npk; i++)
		if (def->pk_attno[i] > def->nkeys)
			add_column(&names,
					   get_attname(factdef->relid, factdef->pk_attno[i], false),
					   "primary key");
	for (i = def->nkeys; i < def->nkeys + def->nincludes; i++)
		add_column(&names, def->fields[i].spec->name, def->fields[i].spec->text);
	if (def->doc_attno != 0)
		add_column(&names,
				   get_attname(factdef->relid, factdef->doc_attno[def->docno], false),
				   "document");
	if (def->nident > INDEX_MAX_KEYS)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_COLUMNS),
				 errmsg("key and primary key must not have more than %d columns together", INDEX_MAX_KEYS),
				 errdetail("They have %d columns.", def->nident)));
	return names;
}

/* add_column: adds the name of a column to a list, unless it cannot be one; what it is of is for an error */
static void
add_column(List **names, const char *name, const char *what)
{
	ListCell   *cell;

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
	foreach(cell, *names)
	{
		if (strcmp(lfirst(cell), name) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_COLUMN),
					 errmsg("column name \"%s\" specified more than once", name),
					 errdetail("Columns are named after the last member of a path. The columns of the fact table's primary key keep their names."),
					 errhint("Name the field with AS.")));
	}
	*names = lappend(*names, pstrdup(name));
}

/* append_column: appends a column to the column list of CREATE TABLE */
static void
append_column(StringInfo sql, const char *name, Oid type, int32 typmod, Oid collation, bool not_null)
{
	appendStringInfo(sql, "%s%s %s", sql->len > 0 ? ", " : "", quote_identifier(name),
					 format_type_extended(type, typmod,
										  FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY));
	if (OidIsValid(collation) && collation != get_typcollation(type))
	{
		HeapTuple	tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
		Form_pg_collation form;

		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for collation %u", collation);
		form = (Form_pg_collation) GETSTRUCT(tuple);
		appendStringInfo(sql, " COLLATE %s",
						 quote_qualified_identifier(get_namespace_name(form->collnamespace),
													NameStr(form->collname)));
		ReleaseSysCache(tuple);
	}
	if (not_null)
		appendStringInfoString(sql, " NOT NULL");
}

/* set_column: sets a column of a tuple descriptor, with its name from a list of all */
static void
set_column(TupleDesc desc, AttrNumber attno, List *names, Oid type, int32 typmod, Oid collation, bool not_null)
{
	TupleDescInitEntry(desc, attno, list_nth(names, attno - 1), type, typmod, 0);
	if (OidIsValid(collation))
		TupleDescInitEntryCollation(desc, attno, collation);
	TupleDescAttr(desc, attno - 1)->attnotnull = not_null;
}

/*
 * find_kept_columns
 *		Returns, by column number, which columns of an index table stay when it gets other
 *		contents: the first nkept, and those that its owner has added, from first_own on.
 *		Dropped columns are not counted.
 */
bool *
find_kept_columns(TupleDesc desc, int nkept, int first_own)
{
	bool	   *stays = palloc0(sizeof(bool) * Max(desc->natts, 1));
	int			live = 0;
	int			i;

	for (i = 0; i < desc->natts; i++)
	{
		if (TupleDescAttr(desc, i)->attisdropped)
			continue;
		stays[i] = live < nkept || live >= first_own;
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
 * In the place of columns that do not stay there are columns that the caller has to drop.
 * Their names are added to *dropped.  If all columns of old stay, def and fact may be NULL.
 */
char *
layout_like(IndexDef *def, Relation fact, Relation old, int nkept, int first_own, List **dropped)
{
	TupleDesc	desc = RelationGetDescr(old);
	StringInfoData sql;
	List	   *names = NIL;
	bool	   *stays = find_kept_columns(desc, nkept, first_own);
	int			i;

	initStringInfo(&sql);
	for (i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (stays[i])
		{
			add_column(&names, NameStr(att->attname), "column");
			append_column(&sql, NameStr(att->attname), att->atttypid, att->atttypmod,
						  att->attcollation, att->attnotnull);
		}
		else
		{
			char	   *name = psprintf("........%d........", i + 1);

			append_column(&sql, name, INT4OID, -1, InvalidOid, false);
			*dropped = lappend(*dropped, name);
		}
	}
	if (def == NULL)
		return sql.data;
	for (i = nkept - def->nident; i < def->nincludes; i++)
	{
		Field	   *field = &def->fields[def->nkeys + i];

		add_column(&names, field->spec->name, field->spec->text);
		append_column(&sql, field->spec->name, field->type, field->typmod, field->collation, false);
	}
	if (def->doc_attno != 0 && nkept == def->nident)
	{
		char	   *name = get_attname(def->fact->relid, def->fact->doc_attno[def->docno], false);

		add_column(&names, name, "document");
		append_column(&sql, name, JSONBOID, -1, InvalidOid, false);
	}
	return sql.data;
}

/* layout_drop_columns: drops the columns that layout_like() has put in to be dropped */
void
layout_drop_columns(Oid relid, List *names)
{
	StringInfoData drops;
	ListCell   *cell;

	initStringInfo(&drops);
	foreach(cell, names)
		appendStringInfo(&drops, "%sDROP COLUMN %s", drops.len > 0 ? ", " : "", quote_identifier(lfirst(cell)));
	if (names != NIL)
		run_sql(get_extension_owner(), "ALTER TABLE %s %s", quoted_relation(relid), drops.data);
}

/*
 * layout_primary_key
 *		Returns the constraint that is to be added to an index table as its primary key.  The
 *		table exists.  covering is whether the index covers the included fields.
 */
char *
layout_primary_key(IndexDef *def, bool covering)
{
	StringInfoData sql;
	int			nkey = def->is_unique ? def->nkeys : def->nident;
	int			nall = covering ? def->nident + def->nincludes : def->nident;
	Relation	rel = table_open(def->relid, AccessShareLock);
	int			n = 0;
	int			i;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "PRIMARY KEY (");
	for (i = 0; i < RelationGetNumberOfAttributes(rel) && n < nall; i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), i);

		if (att->attisdropped)
			continue;
		appendStringInfo(&sql, "%s%s", n == 0 ? "" : n == nkey ? ") INCLUDE (" : ", ",
						 quote_identifier(NameStr(att->attname)));
		n++;
	}
	appendStringInfoChar(&sql, ')');
	table_close(rel, NoLock);
	return sql.data;
}

/*
 * layout_add_primary_key
 *		Makes the primary key of an index table, in a tablespace.  Unless drop is NULL, it
 *		takes the place and the name of the constraint of this name, which is dropped in the
 *		same command: without a primary key the index table would be taken for broken.
 */
void
layout_add_primary_key(IndexDef *def, bool covering, const char *tablespace, const char *drop)
{
	Relation	rel;
	Relation	index;
	Oid			relid;
	char	   *how = "ADD";

	if (drop != NULL)
		how = psprintf("DROP CONSTRAINT %s, ADD CONSTRAINT %s", quote_identifier(drop), quote_identifier(drop));
	run_sql(get_extension_owner(), "ALTER TABLE %s %s %s%s", quoted_relation(def->relid), how, layout_primary_key(def, covering),
			in_tablespace("USING INDEX TABLESPACE", tablespace));
	/* Event triggers have run, and may have done anything. */
	rel = try_relation_open(def->relid, NoLock);
	index = rel != NULL ? open_primary_key(rel, AccessShareLock) : NULL;
	if (index == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index table \"%s\" was altered while its primary key was being created", def->name),
				 errhint("Check the event triggers of the database.")));
	relid = RelationGetRelid(index);
	relation_close(rel, NoLock);
	index_close(index, AccessShareLock);
	place_index(def->relid, relid);
}

/*
 * layout_mark_key
 *		Marks a constraint that was made anew as the one to cluster by, or as the replica
 *		identity, as the owner of the table has set it for the one that it replaces.
 */
void
layout_mark_key(Oid relid, const char *constraint, bool clustered, bool identity)
{
	if (clustered)
		run_sql(get_extension_owner(), "ALTER TABLE %s CLUSTER ON %s", quoted_relation(relid), quote_identifier(constraint));
	if (identity)
		run_sql(get_extension_owner(), "ALTER TABLE %s REPLICA IDENTITY USING INDEX %s", quoted_relation(relid),
				quote_identifier(constraint));
}

/*
 * place_index
 *		Moves the indexes that an index of a partitioned index table has on the partitions to
 *		the tablespaces of these partitions.
 */
static void
place_index(Oid index_table, Oid index)
{
	ListCell   *cell;

	foreach(cell, list_with_partitions(index_table))
	{
		Relation	leaf = relation_open(lfirst_oid(cell), AccessShareLock);
		Oid			place = leaf->rd_rel->reltablespace;
		char	   *tablespace = tablespace_of(leaf);
		Oid			leaf_index = lfirst_oid(cell) == index_table ? InvalidOid : index_get_partition(leaf, index);

		relation_close(leaf, NoLock);
		if (OidIsValid(leaf_index) && get_rel_tablespace(leaf_index) != place)
			run_sql(get_extension_owner(), "ALTER INDEX %s SET TABLESPACE %s", quoted_relation(leaf_index),
					quote_identifier(tablespace));
	}
}

/* layout_row_index: returns the columns of the index by which a row's entries are found */
char *
layout_row_index(IndexDef *def)
{
	StringInfoData sql;
	int			i;

	initStringInfo(&sql);
	for (i = 0; i < def->fact->npk; i++)
		appendStringInfo(&sql, "%s%s", i > 0 ? ", " : "",
						 quote_identifier(get_attname(def->relid, def->pk_attno[i], false)));
	return sql.data;
}

/*
 * layout_make_row_index
 *		Makes the index by which a row's entries are found, for an index table that is kept
 *		in step through the queue.  A comment distinguishes it from indexes that the owner
 *		has made.
 */
void
layout_make_row_index(Oid index_table, const char *columns)
{
	Oid			schema = get_rel_namespace(index_table);
	char	   *name = ChooseRelationName(get_rel_name(index_table), NULL, "row_idx", schema, false);
	Relation	rel = relation_open(index_table, AccessShareLock);
	const char *tablespace = tablespace_of(rel);
	int			uncounted = begin_uncounted();

	relation_close(rel, NoLock);
	run_sql(get_extension_owner(), "CREATE INDEX %s ON %s (%s)%s", quote_identifier(name),
			quoted_relation(index_table), columns, in_tablespace("TABLESPACE", tablespace));
	end_uncounted(uncounted);
	run_sql(get_extension_owner(), "COMMENT ON INDEX %s IS %s",
			quote_qualified_identifier(get_namespace_name(schema), name),
			quote_literal_cstr(ROW_INDEX_COMMENT));
	place_index(index_table, get_relname_relid(name, schema));
}

/*
 * layout_drop_row_index
 *		Drops that index, of an index table that is not kept in step through the queue any
 *		more.  The index table is locked against everybody.
 */
void
layout_drop_row_index(Oid index_table)
{
	Relation	rel = relation_open(index_table, NoLock);
	List	   *indexes = RelationGetIndexList(rel);
	ListCell   *cell;

	relation_close(rel, NoLock);
	foreach(cell, indexes)
	{
		char	   *comment = GetComment(lfirst_oid(cell), RelationRelationId, 0);

		if (comment != NULL && strcmp(comment, ROW_INDEX_COMMENT) == 0)
			run_sql(get_extension_owner(), "DROP INDEX %s", quoted_relation(lfirst_oid(cell)));
	}
}

/* layout_covers: returns whether the primary key of an index table covers the included fields */
bool
layout_covers(IndexDef *def, Relation primary_key)
{
	return def->nincludes > 0 &&
		primary_key->rd_index->indnatts >= def->nident + def->nincludes;
}

/*
 * layout_can_cover
 *		Returns whether an index can have the columns of the included fields.  It is not to
 *		have a column that is declared so long that it is meant for more bytes than an entry
 *		can have, even if each character has one byte.
 */
bool
layout_can_cover(IndexDef *def)
{
	int			i;

	for (i = def->nkeys; i < def->nkeys + def->nincludes; i++)
		if (declared_size(TupleDescAttr(def->desc, def->fields[i].attno - 1)) /
			pg_database_encoding_max_length() > MAX_INDEX_DATA)
			return false;
	return def->nincludes > 0 && def->nident + def->nincludes <= INDEX_MAX_KEYS;
}

/*
 * layout_max_covered_bytes
 *		Returns how many bytes an entry may have for the primary key to cover the included
 *		fields.  It is half of what fits into an index, because wider entries may come later;
 *		but all of it where the types of the columns keep every entry within what fits.
 */
Size
layout_max_covered_bytes(IndexDef *def)
{
	Size		widest = 0;
	int			i;

	for (i = 0; i < def->nident + def->nincludes; i++)
	{
		AttrNumber	attno = i < def->nident ? def->ident[i] : def->fields[def->nkeys + i - def->nident].attno;
		Form_pg_attribute att = TupleDescAttr(def->desc, attno - 1);
		int32		size = declared_size(att);

		if (size < 0)
			return MAX_INDEX_DATA / 2;
		widest = att_align_nominal(widest, att->attalign) + size;
	}
	return widest <= MAX_INDEX_DATA ? MAX_INDEX_DATA : MAX_INDEX_DATA / 2;
}

/* declared_size: returns how many bytes a value of a column can have at most, by its type; -1: any number */
static int32
declared_size(Form_pg_attribute att)
{
	int32		typmod = att->atttypmod;
	Oid			type;

	if (att->attlen >= 0)
		return att->attlen;
	type = getBaseTypeAndTypmod(att->atttypid, &typmod);
	return type_maximum_size(type, typmod);
}
