/*-------------------------------------------------------------------------
 *
 * undefined.c
 *	  Finds the tables that a dump has brought as index tables without their definitions, and
 *	  says what to do about them.
 *
 * A dump of the schema alone, of single tables or of one schema has the tables and our triggers
 * on them, but not the rows of the catalog.  The index table is then a table with guards that
 * nobody keeps in step.  Its comment still says how it was made: see comment_call.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_trigger.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/lsyscache.h"

#include "../util/sql.h"
#include "comment_call.h"
#include "definition_rows.h"
#include "owner.h"
#include "trigger_names.h"
#include "undefined.h"

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
	ListCell   *cell;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(tuple);

		if (strcmp(NameStr(form->tgname), GUARD) == 0)
			guarded = lappend_oid(guarded, form->tgrelid);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	foreach(cell, guarded)
		if (is_undefined(lfirst_oid(cell)))
		result = lappend_oid(result, lfirst_oid(cell));
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
	ListCell   *cell;

	foreach(cell, undefined)
		if (has_written_comment(lfirst_oid(cell), fact_table) &&
			table_owner(lfirst_oid(cell)) == table_owner(fact_table))
		result = lappend_oid(result, lfirst_oid(cell));
	sort_by_name(result);
	return result;
}

/* told_remaking: returns what is to be run to make such tables index tables again */
char *
told_remaking(List *undefined)
{
	StringInfoData sql;
	StringInfoData others;
	ListCell   *cell;

	initStringInfo(&sql);
	initStringInfo(&others);
	foreach(cell, undefined)
	{
		char	   *name = quoted_relation(lfirst_oid(cell));
		char	   *call = call_in_comment(lfirst_oid(cell));

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
