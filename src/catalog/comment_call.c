/*-------------------------------------------------------------------------
 *
 * comment_call.c
 *	  Reads the statement that makes an index table from its comment.
 *
 * The owner of a table can write any text into its comment, and messages show the statement to
 * others, ready to be run: to a superuser who restores a dump, above all.  So it is read only if
 * it is what create_call() writes, and nothing else: one call of create(), with constants only,
 * that makes an index table of this name over a table of the same owner.  Constants are read as
 * any session reads them, whatever its settings.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_trigger.h"
#include "commands/comment.h"
#include "lib/stringinfo.h"
#include "regex/regex.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/varlena.h"

#include "../util/sql.h"
#include "catalog.h"

/*
 * A statement that create_call() writes, after STATEMENT_BEGINS, as a regular expression: the names
 * of both tables, fields, and parameters with their values.  Strings have the forms of sql_literal().
 * A backslash is taken only where it escapes another one in an E'', because what it means elsewhere
 * depends on the session; control characters are not, because terminals act upon them.
 */
#define NO_CONTROL	"\\u0001-\\u001f\\u007f"
#define STRING		"(?:'(?:[^'\\\\" NO_CONTROL "]|'')*'|E'(?:[^'\\\\" NO_CONTROL "]|''|\\\\\\\\)*'|[$][$][^$\\\\" NO_CONTROL "]*[$][$])"
#define FIELDS		"(?:" STRING "|ARRAY\\[" STRING "(?:, " STRING ")*\\])"
#define PARAMETER	"(?:, [a-z_]+ => (?:[0-9]+|true|false|" FIELDS "))"
#define ARGUMENTS	"^" STRING ", " STRING ", " FIELDS PARAMETER "*\\);$"

/* A comment that is longer is none of ours: a key may have 32 fields of 32 kB. */
#define MAX_COMMENT	(4 * 1024 * 1024)

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
	bool		is_long = comment != NULL && strlen(comment) > MAX_COMMENT;
	char	   *statement = comment == NULL || is_long ? NULL : strstr(comment, STATEMENT_BEGINS);
	char	   *fact_table;
	char	   *arguments;
	char	   *names;

	if (statement == NULL || strncmp(comment, COMMENT_BEGINS, strlen(COMMENT_BEGINS)) != 0)
		return NULL;
	fact_table = pnstrdup(comment + strlen(COMMENT_BEGINS), statement - comment - strlen(COMMENT_BEGINS));
	arguments = statement + strlen(STATEMENT_BEGINS);
	names = psprintf("%s, %s, ", sql_literal(quoted_relation(index_table)), sql_literal(fact_table));
	if (strncmp(arguments, names, strlen(names)) != 0 || !same_owner(index_table, fact_table) ||
		!RE_compile_and_execute(cstring_to_text(ARGUMENTS), arguments, strlen(arguments), REG_ADVANCED,
								C_COLLATION_OID, 0, NULL))
		return NULL;
	return statement + strlen(": ");
}

/*
 * same_owner
 *		Returns whether the table of a qualified name has the owner of another.
 *
 * An index table over the table of another role would run its owner's functions as that one.  If there is
 * no such table yet, it may become another's before the statement is run.
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
	return OidIsValid(other) && table_owner(other) == table_owner(relid);
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
		appendStringInfo(&sql, " Then create %s again with indextable.create(): no comment says how.",
						 others.data);
	return sql.data;
}
