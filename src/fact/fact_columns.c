/*-------------------------------------------------------------------------
 *
 * fact_columns.c
 *	  Finds the columns of a fact table by the names that a definition has for them, and
 *	  those that identify its rows.
 *
 * The server allows no unique index on a partitioned table with foreign partitions.  The
 * user names the columns of the key instead.  Each partition keeps the key unique by
 * itself, and all columns that the table is partitioned by are among those of the key, so
 * that no two partitions can have the same key.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"

#include "../catalog/catalog.h"
#include "../expression/expression.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/arguments.h"
#include "../util/inherit.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "fact.h"

static FieldSpec *first_path(DefinitionRow *row);
static bool may_become_document(Form_pg_attribute att);
static int	hint_for_json_column(Relation fact, Form_pg_attribute att);
static char *possible_key(Oid fact);
static bool is_key_index(FactDef *def, Relation leaf, Relation index);
static bool has_key_columns(FactDef *def, Relation leaf, Relation index);

/*
 * document_column
 *		Returns the name of the JSONB column that holds the documents: the one that is wanted, or the only
 *		one if wanted is NULL.  Returns NULL if that leaves no column, or several, and the definition that
 *		is asked for needs none; a definition of NULL needs one.
 */
char *
document_column(Relation fact, const char *wanted, DefinitionRow *row)
{
	TupleDesc	desc = RelationGetDescr(fact);
	FieldSpec  *path = row == NULL ? NULL : first_path(row);
	bool		needed = row == NULL || row->strategy == STRATEGY_DENORMALIZED || path != NULL;
	char	   *found = NULL;
	List	   *others = NIL;
	Form_pg_attribute text = NULL;
	Nearest		nearest = {.written = wanted};

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped)
			continue;
		if (wanted != NULL && is_document_column(att))
			try_name(&nearest, NameStr(att->attname));
		if (may_become_document(att) && (text == NULL || getBaseType(att->atttypid) != TEXTOID))
			text = att;

		if (wanted != NULL && strcmp(wanted, NameStr(att->attname)) != 0)
			continue;
		if (wanted != NULL && !is_document_column(att))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("column \"%s\" of table \"%s\" is not a stored JSONB column",
							wanted, RelationGetRelationName(fact)),
					 errdetail("Its type is %s.", format_type_be(att->atttypid)),
					 may_become_document(att) ? hint_for_json_column(fact, att) :
					 errhint("Documents must be of type jsonb.")));
		if (!is_document_column(att))
			continue;
		if (found == NULL)
			found = pstrdup(NameStr(att->attname));
		else
			others = lappend(others, NameStr(att->attname));
	}
	if (wanted == NULL && !needed)
		return others == NIL ? found : NULL;
	if (others != NIL)
	{
		StringInfoData list;

		initStringInfo(&list);
		foreach_ptr(char, name, others)
			appendStringInfo(&list, ", \"%s\"", name);
		ereport(ERROR,
				(errcode(ERRCODE_AMBIGUOUS_COLUMN),
				 errmsg("table \"%s\" has several JSONB columns", RelationGetRelationName(fact)),
				 errdetail("They are \"%s\"%s.", found, list.data),
				 row != NULL && OidIsValid(row->index_table) ?
				 errhint("Create another index table, with document => %s for example, and drop this one.", quote_literal_cstr(found)) :
				 errhint("Name the one that holds the documents, as in document => %s.", quote_literal_cstr(found))));
	}
	if (found != NULL)
		return found;
	if (wanted != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of table \"%s\" does not exist",
						wanted, RelationGetRelationName(fact)),
				 nearest.name != NULL ? errhint("Perhaps you mean document => %s.", quote_literal_cstr(nearest.name)) : 0));
	if (path == NULL && row != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" has no JSONB column for the strategy \"denormalized\"", RelationGetRelationName(fact)),
				 errhint("Include the columns that queries read, as in include => '{@a,@b}'.")));
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("table \"%s\" has no JSONB column", RelationGetRelationName(fact)),
			 text !=NULL && get_typtype(text->atttypid) == TYPTYPE_DOMAIN ?
			 errdetail("The type of column \"%s\" is %s, a domain.", NameStr(text->attname), format_type_be(text->atttypid)) :
			 path != NULL ? errdetail("Field \"%s\" is a path into a document.", path->text) : 0,
			 path != NULL && get_attnum(RelationGetRelid(fact), path->steps[0].name) > 0 ?
			 errhint("A column of the table is written with \"@\", as in %s.",
					 array_literal(list_make1(psprintf("@%s", quote_identifier(path->steps[0].name))))) :
			 text !=NULL && getBaseType(text->atttypid) != TEXTOID ? hint_for_json_column(fact, text) :
			 row == NULL ? errhint("To judge a key of columns, name it, as in key => '{@column}'.") :
			 errhint("A column of the table is written with \"@\"; documents are kept in a column of type jsonb.")));
}

/*
 * first_path
 *		Returns the first field of a definition that is a path into a document; NULL: there is
 *		none.
 */
static FieldSpec *
first_path(DefinitionRow *row)
{
	foreach_ptr(char, field, list_concat_copy(row->key, row->include))
	{
		FieldSpec  *spec = parse_field_spec(field, false);

		if (spec->column == NULL && spec->expression == NULL)
			return spec;
	}
	return NULL;
}

/* may_become_document: returns whether a column is of a type that may hold JSON */
static bool
may_become_document(Form_pg_attribute att)
{
	Oid			type = getBaseType(att->atttypid);

	return att->atttypid != JSONBOID && (type == JSONBOID || type == JSONOID || type == TEXTOID);
}

/*
 * hint_for_json_column
 *		Adds a hint to an error: how a column becomes one that can hold documents.
 */
static int
hint_for_json_column(Relation fact, Form_pg_attribute att)
{
	const char *name = quote_identifier(NameStr(att->attname));

	return errhint("If column \"%s\" holds the documents, run ALTER TABLE %s ALTER COLUMN %s TYPE jsonb USING %s::jsonb;",
				   NameStr(att->attname), quoted_relation(RelationGetRelid(fact)), name, name);
}

/*
 * is_document_column
 *		Returns whether a column can hold documents: it is of type jsonb, and stored.
 */
bool
is_document_column(Form_pg_attribute att)
{
	return att->atttypid == JSONBOID && !is_virtual_column(att);
}

/*
 * has_only_document
 *		Returns whether a fact table has no more than one column that can hold documents.
 */
bool
has_only_document(Relation fact)
{
	TupleDesc	desc = RelationGetDescr(fact);
	int			n = 0;

	for (int i = 0; i < desc->natts; i++)
		n += !TupleDescAttr(desc, i)->attisdropped && is_document_column(TupleDescAttr(desc, i));
	return n <= 1;
}

/*
 * named_column
 *		Returns the number of the fact table's column of this name: the name that it has in
 *		column_names or, if that is NULL, the one that it has now.
 */
AttrNumber
named_column(Relation fact, const char *name, const char **column_names)
{
	TupleDesc	desc = RelationGetDescr(fact);
	Nearest		nearest = {.written = name};

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped &&
			strcmp(column_names ? column_names[i] : NameStr(att->attname), name) == 0)
			return i + 1;
	}
	if (column_names != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("column \"%s\" of table \"%s\" does not exist, but index tables depend on it",
						name, RelationGetRelationName(fact)),
				 errhint("Drop the index tables that use the column.")));
	for (int i = 0; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped)
			try_name(&nearest, NameStr(TupleDescAttr(desc, i)->attname));
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("column \"%s\" of table \"%s\" does not exist",
					name, RelationGetRelationName(fact)),
			 nearest.name != NULL ? errhint("Perhaps you mean \"@%s\".", quote_identifier(nearest.name)) :
			 errhint("A member of the document is written without \"@\".")));
}

/*
 * get_stored_column_names
 *		Returns the names that a stored definition uses for the fact table's columns, by
 *		column number.
 *
 * They are the names that the columns had when the definition was written, so that its
 * fields still mean the same columns after a rename that our event trigger did not see.
 * In a table that was restored from a dump the columns may have other numbers, but have
 * the same names: then the names that they have now are returned.  Such a table has
 * another OID, or a column where the definition knows of a dropped one.
 */
const char **
get_stored_column_names(Relation fact, DefinitionRow *stored)
{
	TupleDesc	desc = RelationGetDescr(fact);
	const char **names = palloc(sizeof(char *) * desc->natts);
	bool		by_number = stored->fact_oid == RelationGetRelid(fact) &&
		list_length(stored->columns) <= desc->natts;

	for (int i = 0; by_number && i < list_length(stored->columns); i++)
		if (*(char *) list_nth(stored->columns, i) == '\0')
			by_number = TupleDescAttr(desc, i)->attisdropped;
	for (int i = 0; i < desc->natts; i++)
		names[i] = !by_number ? NameStr(TupleDescAttr(desc, i)->attname) :
			i < list_length(stored->columns) ? list_nth(stored->columns, i) : "";
	return names;
}

/*
 * same_primary_key
 *		Returns whether the fact table's primary key is the one that a stored definition
 *		names.
 */
bool
same_primary_key(FactDef *factdef, Relation fact, DefinitionRow *stored, const char **names)
{
	int			i = 0;

	if (list_length(stored->primary_key) != factdef->layout.npk)
		return false;
	foreach_ptr(char, column, stored->primary_key)
	{
		if (named_column(fact, column, names) != factdef->layout.pk_attno[i++])
			return false;
	}
	return true;
}

/*
 * stored_key
 *		Returns the names of the columns by which the index tables of a fact table find its
 *		rows, as the catalog has them; NIL if there are no index tables.
 */
List *
stored_key(Oid fact)
{
	List	   *stored = catalog_read_definitions(fact, InvalidOid);

	return stored == NIL ? NIL : ((DefinitionRow *) linitial(stored))->primary_key;
}

/*
 * resolve_row_key
 *		Makes the columns that were named as the key that of the fact table's definition.
 *		Returns false if none were named, or if the table is not partitioned.
 */
bool
resolve_row_key(FactDef *def, Relation fact, List *key, const char **names)
{
	if (key == NIL || !def->layout.partitioned)
		return false;
	if (list_length(key) > INDEX_MAX_KEYS)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_COLUMNS),
				 errmsg("primary_key must not have more than %d columns", INDEX_MAX_KEYS)));
	def->layout.pk_index = InvalidOid;
	def->layout.pk_attno = palloc(sizeof(AttrNumber) * list_length(key));
	def->layout.pk_keys = palloc0(sizeof(ScanKeyData) * list_length(key));
	foreach_ptr(char, column, key)
	{
		AttrNumber	attno = named_column(fact, column, names);
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(fact), attno - 1);
		const char *why = NULL;

		if (bms_is_member(attno - FirstLowInvalidHeapAttributeNumber, def->layout.pk_columns))
			why = "It is named twice.";
		else if (!att->attnotnull)
			why = psprintf("It allows nulls. First run ALTER TABLE %s ALTER COLUMN %s SET NOT NULL;",
						   quoted_relation(def->relid), quote_identifier(NameStr(att->attname)));
		else if (!OidIsValid(GetDefaultOpClass(att->atttypid, BTREE_AM_OID)))
			why = "Its type has no default btree operator class.";
		else if (OidIsValid(att->attcollation) && !get_collation_isdeterministic(att->attcollation))
			why = "Its collation is not deterministic.";
		if (why != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
					 errmsg("column \"%s\" of table \"%s\" cannot be in primary_key",
							NameStr(att->attname), def->name),
					 errdetail("%s", why)));
		init_equality_key(&def->layout.pk_keys[def->layout.npk], def->layout.npk + 1, att->atttypid,
						  att->attcollation, def->run.cxt);
		def->layout.pk_attno[def->layout.npk++] = attno;
		def->layout.pk_columns = bms_add_member(def->layout.pk_columns,
												attno - FirstLowInvalidHeapAttributeNumber);
	}
	return true;
}

/* report_no_primary_key: raises the error for a fact table that has no primary key */
void
report_no_primary_key(Oid fact)
{
	if (stored_key(fact) != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("table \"%s\" must have a primary key because index tables depend on it", get_rel_name(fact)),
				 errdetail("Entries of an index table refer to fact rows by their primary key."),
				 errhint("To drop it, first run %s To bring it back, run ALTER TABLE %s ADD %s;", told_drop(fact),
						 quoted_relation(fact), possible_key(fact))));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("table \"%s\" has no primary key", get_rel_name(fact)),
			 errdetail("Entries of an index table refer to fact rows by their primary key."),
			 elsewhere->leaves(fact) == NIL ?
			 errhint("Run ALTER TABLE %s ADD %s;", quoted_relation(fact), possible_key(fact)) :
			 errhint("A table with foreign partitions cannot have a primary key. Name the columns that identify a row with primary_key => '{...}'.")));
}

/*
 * possible_key
 *		Returns a primary key that a table may have, for ALTER TABLE ADD: the columns of a unique
 *		index, or a column "id", which may be a new one.
 */
static char *
possible_key(Oid fact)
{
	Relation	rel = relation_open(fact, AccessShareLock);
	TupleDesc	desc = RelationGetDescr(rel);
	char	   *found = NULL;

	foreach_oid(index_oid, RelationGetIndexList(rel))
	{
		Relation	index = index_open(index_oid, AccessShareLock);
		Form_pg_index form = index->rd_index;
		bool		fits = form->indisunique && form->indimmediate && form->indisvalid &&
			heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);

		for (int i = 0; i < form->indnkeyatts && fits; i++)
			fits = form->indkey.values[i] > 0 && TupleDescAttr(desc, form->indkey.values[i] - 1)->attnotnull;
		if (fits && found == NULL)
			found = psprintf("PRIMARY KEY (%s)", column_list(fact, form->indkey.values, form->indnkeyatts));
		index_close(index, AccessShareLock);
	}
	for (int i = 0; i < desc->natts && found == NULL; i++)
		if (!TupleDescAttr(desc, i)->attisdropped &&
			pg_strcasecmp(NameStr(TupleDescAttr(desc, i)->attname), "id") == 0)
			found = psprintf("PRIMARY KEY (%s)", quote_identifier(NameStr(TupleDescAttr(desc, i)->attname)));

	/* That of a partitioned table has the columns that it is partitioned by. */
	if (found == NULL)
		found = rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ? "PRIMARY KEY (...)" :
			"COLUMN id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY";
	relation_close(rel, AccessShareLock);
	return found;
}

/*
 * row_key_index
 *		Returns the index by which rows of a partition are found by their key, or raises an
 *		error.  The partition is on this server.
 */
Oid
row_key_index(FactDef *def, Relation leaf)
{
	Relation	index = open_primary_key(leaf);
	Oid			result = InvalidOid;

	if (index != NULL)
	{
		if (OidIsValid(def->layout.pk_index) ? has_key_columns(def, leaf, index) : is_key_index(def, leaf, index))
			result = RelationGetRelid(index);
		index_close(index, AccessShareLock);
	}
	if (!OidIsValid(result) && !OidIsValid(def->layout.pk_index))
		foreach_oid(index_oid, RelationGetIndexList(leaf))
	{
		index = index_open(index_oid, AccessShareLock);
		if (is_key_index(def, leaf, index))
			result = RelationGetRelid(index);
		index_close(index, AccessShareLock);
	}
	if (!OidIsValid(result))
	{
		char	   *columns;

		if (elsewhere->leaves(def->relid) == NIL)
			report_no_primary_key(def->relid);
		columns = column_list(def->relid, def->layout.pk_attno, def->layout.npk);
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("partition \"%s\" has no primary key on (%s)", RelationGetRelationName(leaf), columns),
				 errdetail("Entries of index tables of \"%s\" refer to rows by these columns.", def->name),
				 errhint("Run ALTER TABLE %s ADD PRIMARY KEY (%s);", quoted_relation(RelationGetRelid(leaf)), columns)));
	}
	return result;
}

/* is_key_index: returns whether an index keeps the key unique, and can be searched by it */
static bool
is_key_index(FactDef *def, Relation leaf, Relation index)
{
	Form_pg_index form = index->rd_index;

	return form->indisunique && form->indisvalid && form->indimmediate &&
		heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL) && has_key_columns(def, leaf, index);
}

/*
 * has_key_columns
 *		Returns whether an index can be searched by the key.  The primary key of a shard of Citus may have
 *		other columns than that of its table, if its owner has altered it by hand.
 */
static bool
has_key_columns(FactDef *def, Relation leaf, Relation index)
{
	Form_pg_index form = index->rd_index;

	if (form->indnkeyatts != def->layout.npk || index->rd_rel->relam != BTREE_AM_OID)
		return false;
	for (int i = 0; i < def->layout.npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->layout.desc, def->layout.pk_attno[i] - 1);

		if (form->indkey.values[i] != get_attnum(RelationGetRelid(leaf), NameStr(att->attname)) ||
			index->rd_indcollation[i] != def->layout.pk_keys[i].sk_collation ||
			!orders_by_default(index, i, att->atttypid))
			return false;
	}
	return true;
}

/*
 * orders_by_default
 *		Returns whether an index compares a column of some type by the default operators of
 *		that type.
 */
bool
orders_by_default(Relation index, int column, Oid type)
{
	return index->rd_opfamily[column] == get_opclass_family(GetDefaultOpClass(type, BTREE_AM_OID));
}

/*
 * check_row_key
 *		Refuses a key that was named if its value does not determine the partition, or if a
 *		partition does not keep it unique.
 */
void
check_row_key(FactDef *def, Relation root)
{
	if (OidIsValid(def->layout.pk_index) || !def->layout.partitioned || def->layout.npk == 0)
		return;
	foreach_oid(relid, list_with_partitions(def->relid))
	{
		Relation	rel = try_relation_open(relid, AccessShareLock);
		PartitionKey key;

		if (rel == NULL)
			continue;			/* dropped meanwhile */
		key = RelationGetPartitionKey(rel);
		if (rel->rd_rel->relkind == RELKIND_RELATION)
			(void) row_key_index(def, rel);
		for (int i = 0; key != NULL && i < key->partnatts; i++)
		{
			char	   *column = key->partattrs[i] == 0 ? NULL :
				get_attname(RelationGetRelid(rel), key->partattrs[i], false);
			AttrNumber	attno = column == NULL ? InvalidAttrNumber : get_attnum(def->relid, column);

			if (attno == InvalidAttrNumber ||
				!bms_is_member(attno - FirstLowInvalidHeapAttributeNumber, def->layout.pk_columns))
				ereport(ERROR,
						(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						 errmsg("primary_key must have all columns that the table is partitioned by"),
						 column == NULL ?
						 errdetail("Table \"%s\" is partitioned by an expression.", RelationGetRelationName(rel)) :
						 errdetail("Column \"%s\", by which table \"%s\" is partitioned, is missing.", column,
								   RelationGetRelationName(rel))));
		}
		relation_close(rel, NoLock);
	}
}
