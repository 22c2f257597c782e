/*-------------------------------------------------------------------------
 *
 * comment_call.c
 *	  Reads the statement that makes an index table from its comment.
 *
 * Whoever owns a table can write any text into its comment, and messages show the statement to
 * others, ready to be run: to a superuser who restores a dump, above all.  So it is read only if
 * it is what create_call() writes, and nothing else: one call of create(), with constants only,
 * that makes an index table of this name over a table of the same owner.  Constants are read as
 * any session reads them, whatever its settings.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_trigger.h"
#include "commands/comment.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/lsyscache.h"
#include "utils/varlena.h"

#include "../util/sql.h"
#include "comment_call.h"
#include "definition_rows.h"
#include "owner.h"
#include "validity.h"

static bool read_call(const char *text, char **index_table, char **fact_table);
static bool read_text(const char **text, const char *expected);
static bool read_value(const char **text);
static bool read_array(const char **text);
static char *read_string(const char **text);
static bool same_owner(Oid relid, const char *name);
static char *call_in_comment(Oid index_table);

/*
 * has_written_comment
 *		Returns whether the comment of a table says that it is an index table of a fact table, as
 *		the extension writes it.
 */
bool
has_written_comment(Oid index_table, Oid fact_table)
{
	char	   *comment = GetComment(index_table, RelationRelationId, 0);
	char	   *begins = psprintf(COMMENT_BEGINS "%s" STATEMENT_BEGINS, quoted_relation(fact_table));

	return comment != NULL && strncmp(comment, begins, strlen(begins)) == 0;
}

/*
 * call_in_comment
 *		Returns the statement that the comment of a table has, which makes it an index table;
 *		NULL: it has none that could be shown.
 */
static char *
call_in_comment(Oid index_table)
{
	char	   *comment = GetComment(index_table, RelationRelationId, 0);
	char	   *statement = comment == NULL ? NULL : strstr(comment, STATEMENT_BEGINS);
	char	   *name;
	char	   *fact_table;

	if (statement == NULL)
		return NULL;
	statement += strlen(": ");
	if (!read_call(statement, &name, &fact_table) || strcmp(name, quoted_relation(index_table)) != 0 ||
		strcmp(comment, psprintf(COMMENT_BEGINS "%s: %s", fact_table, statement)) != 0 ||
		!same_owner(index_table, fact_table))
		return NULL;
	return statement;
}

/* read_call: returns whether a text is a call of create() with constants only; sets the names of both tables */
static bool
read_call(const char *text, char **index_table, char **fact_table)
{
	const char *c;

	for (c = text; *c != '\0'; c++)
		if ((unsigned char) *c < ' ' || *c == 0x7f)
			return false;		/* terminals act upon such characters */
	if (!read_text(&text, STATEMENT_BEGINS + strlen(": ")) || (*index_table = read_string(&text)) == NULL ||
		!read_text(&text, ", ") || (*fact_table = read_string(&text)) == NULL ||
		!read_text(&text, ", ") || !read_array(&text))
		return false;
	while (read_text(&text, ", "))
	{
		text	  +=strspn(text, "abcdefghijklmnopqrstuvwxyz_");

		if (!read_text(&text, " => ") || !read_value(&text))
			return false;
	}
	return strcmp(text, ");") == 0;
}

/* read_text: skips a text that is expected; returns whether it is there */
static bool
read_text(const char **text, const char *expected)
{
	if (strncmp(*text, expected, strlen(expected)) != 0)
		return false;
	*text +=strlen(expected);
	return true;
}

/* read_value: skips a constant; returns whether there is one */
static bool
read_value(const char **text)
{
	Size		digits = strspn(*text, "0123456789");

	*text +=digits;
	return digits > 0 || read_text(text, "true") || read_text(text, "false") || read_array(text);
}

/* read_array: skips a string, which may be that of an array, or an ARRAY of strings */
static bool
read_array(const char **text)
{
	if (!read_text(text, "ARRAY["))
		return read_string(text) != NULL;
	do
	{
		if (read_string(text) == NULL)
			return false;
	} while (read_text(text, ", "));
	return read_text(text, "]");
}

/*
 * read_string
 *		Skips a string, and returns its value; NULL: there is none.
 *
 * It is in the form that sql_literal() writes.  A backslash is taken only where it escapes
 * another one in an E'', because what it means elsewhere depends on the session.
 */
static char *
read_string(const char **text)
{
	StringInfoData value;
	bool		escapes = read_text(text, "E");
	const char *c;

	initStringInfo(&value);
	if (!escapes && read_text(text, "$$"))
	{
		for (c = *text; *c != '$' && *c != '\\' && *c != '\0'; c++)
			appendStringInfoChar(&value, *c);
		*text = c;
		return read_text(text, "$$") ? value.data : NULL;
	}
	if (!read_text(text, "'"))
		return NULL;
	for (c = *text; *c != '\0'; c++)
	{
		if (*c == '\'' && c[1] != '\'')
		{
			*text = c + 1;
			return value.data;
		}
		if (*c == '\\' && (!escapes || c[1] != '\\'))
			return NULL;
		if (*c == '\'' || *c == '\\')
			c++;
		appendStringInfoChar(&value, *c);
	}
	return NULL;
}

/*
 * same_owner
 *		Returns whether the table of a qualified name, if there is one, has the owner of another.
 *
 * An index table over the table of somebody else would run its owner's functions as that one.
 */
static bool
same_owner(Oid relid, const char *name)
{
	List	   *parts;
	Oid			schema;
	Oid			other;

	if (!SplitIdentifierString(pstrdup(name), '.', &parts) || list_length(parts) != 2)
		return false;
	schema = get_namespace_oid(linitial(parts), true);
	other = OidIsValid(schema) ? get_relname_relid(lsecond(parts), schema) : InvalidOid;
	return !OidIsValid(other) || table_owner(other) == table_owner(relid);
}

/*-------------------------------------------------------------------------
 * Finds the tables that a dump has brought as index tables without their definitions, and
 * says what to do about them.
 *
 * A dump of the schema alone, of single tables or of one schema has the tables and our triggers
 * on them, but not the rows of the catalog.  The index table is then a table with guards that
 * nobody keeps in step.  Its comment still says how it was made: see comment_call.c.
 *-------------------------------------------------------------------------
 */

/*
 * is_undefined
 *		Returns whether a table has the guard of an index table, but no definition.  A partition
 *		of such a table is none by itself.
 */
bool
is_undefined(Oid index_table)
{
	return OidIsValid(index_table) && !get_rel_relispartition(index_table) &&
		catalog_read_unchecked_definitions(InvalidOid, index_table) == NIL &&
		has_triggers_of_ours(index_table, true);
}

/* undefined_tables: returns all tables that have the guard of an index table, but no definition */
List *
undefined_tables(void)
{
	Relation	rel = table_open(TriggerRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	List	   *guarded = NIL;
	List	   *result = NIL;
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(tuple);

		if (strcmp(NameStr(form->tgname), GUARD) == 0)
			guarded = lappend_oid(guarded, form->tgrelid);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	foreach_oid(index_table, guarded)
		if (is_undefined(index_table))
		result = lappend_oid(result, index_table);
	return result;
}

/*
 * undefined_of
 *		Returns those of a list of tables without definitions that were index tables of a fact
 *		table, in the order of their names.  What a table of another owner says is of no account.
 */
List *
undefined_of(List *undefined, Oid fact_table)
{
	List	   *result = NIL;

	foreach_oid(index_table, undefined)
		if (has_written_comment(index_table, fact_table) &&
			table_owner(index_table) == table_owner(fact_table))
		result = lappend_oid(result, index_table);
	sort_by_name(result);
	return result;
}

/* told_remaking: returns what is to be run to make such tables index tables again */
char *
told_remaking(List *undefined)
{
	StringInfoData sql;
	StringInfoData others;

	initStringInfo(&sql);
	initStringInfo(&others);
	foreach_oid(index_table, undefined)
	{
		char	   *name = quoted_relation(index_table);
		char	   *call = call_in_comment(index_table);

		appendStringInfo(&sql, "%sDROP TABLE %s;", sql.len > 0 ? " " : "", name);
		if (call != NULL)
			appendStringInfo(&sql, " %s", call);
		else
			appendStringInfo(&others, "%s%s", others.len > 0 ? ", " : "", name);
	}
	if (others.len > 0)
		appendStringInfo(&sql, " Then create %s again with indextable.create(): no comment says how.", others.data);
	return sql.data;
}
