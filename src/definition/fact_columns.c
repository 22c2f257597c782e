/*-------------------------------------------------------------------------
 *
 * fact_columns.c
 *	  Finds the columns of a fact table by the names that a definition has for them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attnum.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "../indextable.h"
#include "../util/arguments.h"
#include "../util/sql.h"
#include "fact_columns.h"

static int	hint_for_json_column(Relation fact, Form_pg_attribute att);

/*
 * document_column
 *		Returns the name of the JSONB column that holds the documents: the one that is
 *		wanted, or the only one if wanted is NULL.
 */
char *
document_column(Relation fact, const char *wanted)
{
	TupleDesc	desc = RelationGetDescr(fact);
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
		if (att->atttypid == JSONOID || (att->atttypid == TEXTOID && text == NULL))
			text = att;

		if (wanted != NULL && strcmp(wanted, NameStr(att->attname)) != 0)
			continue;
		if (wanted != NULL && !is_document_column(att))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("column \"%s\" of table \"%s\" is not a stored JSONB column",
							wanted, RelationGetRelationName(fact)),
					 errdetail("Its type is %s.", format_type_be(att->atttypid)),
					 att->atttypid == JSONOID || att->atttypid == TEXTOID ? hint_for_json_column(fact, att) :
					 errhint("Documents must be of type jsonb.")));
		if (!is_document_column(att))
			continue;
		if (found == NULL)
			found = pstrdup(NameStr(att->attname));
		else
			others = lappend(others, NameStr(att->attname));
	}
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
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("table \"%s\" has no JSONB column", RelationGetRelationName(fact)),
			 text !=NULL ? hint_for_json_column(fact, text) :
			 errhint("A fact table keeps its documents in a column of type jsonb.")));
}

/* hint_for_json_column: adds a hint to an error: how a column becomes one that can hold documents */
static int
hint_for_json_column(Relation fact, Form_pg_attribute att)
{
	const char *name = quote_identifier(NameStr(att->attname));

	return errhint("If column \"%s\" holds the documents, run ALTER TABLE %s ALTER COLUMN %s TYPE jsonb USING %s::jsonb;",
				   NameStr(att->attname), quoted_relation(RelationGetRelid(fact)), name, name);
}

/* is_document_column: returns whether a column can hold documents: it is of type jsonb, and stored */
bool
is_document_column(Form_pg_attribute att)
{
	return att->atttypid == JSONBOID && !is_virtual_column(att);
}

/* has_only_document: returns whether a fact table has no more than one column that can hold documents */
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

/* same_primary_key: returns whether the fact table's primary key is the one that a stored definition names */
bool
same_primary_key(FactDef *factdef, Relation fact, DefinitionRow *stored, const char **names)
{
	int			i = 0;

	if (list_length(stored->primary_key) != factdef->npk)
		return false;
	foreach_ptr(char, column, stored->primary_key)
	{
		if (named_column(fact, column, names) != factdef->pk_attno[i++])
			return false;
	}
	return true;
}
