/*-------------------------------------------------------------------------
 *
 * told_sql.c
 *	  Writes SQL that messages tell users to run, so that it can be pasted as it is.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "nodes/pg_list.h"
#include "utils/builtins.h"

#include "../indextable.h"
#include "../util/sql.h"
#include "definition_rows.h"
#include "named.h"
#include "told_sql.h"

/* told_call: returns the call of a procedure of the extension for an index table */
char *
told_call(const char *function, Oid index_table)
{
	return psprintf("CALL " IT_SCHEMA ".%s(%s);", function, quote_literal_cstr(quoted_relation(index_table)));
}

/* told_activation: returns the call that makes an index table active */
char *
told_activation(Oid index_table)
{
	List	   *rows = catalog_read_definitions(InvalidOid, index_table);
	bool		building = rows != NIL && strcmp(((StoredDefinition *) linitial(rows))->row.state, "building") == 0;

	return told_call(building ? "build" : "repair", index_table);
}

/* told_skip: returns the call that has an index table skip what cannot be a key */
char *
told_skip(Oid index_table)
{
	return psprintf("SELECT " IT_SCHEMA ".alter(%s, on_mismatch => 'skip');", quote_literal_cstr(quoted_relation(index_table)));
}

/* told_refuse: returns the call after which rebuild() finds what an index table has skipped, and has it refuse that from then on */
char *
told_refuse(Oid index_table)
{
	return psprintf("SELECT " IT_SCHEMA ".alter(%s, on_mismatch => 'error', populate => false);",
					quote_literal_cstr(quoted_relation(index_table)));
}

/* told_unqueue: returns the calls after which no index table of a fact table needs its queue */
char *
told_unqueue(Oid fact)
{
	StringInfoData sql;
	ListCell   *cell;

	initStringInfo(&sql);
	foreach(cell, catalog_read_definitions(fact, InvalidOid))
	{
		DefinitionRow *row = &((StoredDefinition *) lfirst(cell))->row;

		if (!is_queued(row))
			continue;
		if (sql.len > 0)
			appendStringInfoChar(&sql, ' ');
		if (OidIsValid(row->replaces))
			appendStringInfoString(&sql, told_call("rebuild", row->replaces));
		else if (!is_async(row))
			appendStringInfoString(&sql, told_call("build", row->index_table));
		else
			appendStringInfo(&sql, "SELECT " IT_SCHEMA ".alter(%s, maintenance => 'transactional');",
							 quote_literal_cstr(quoted_relation(row->index_table)));
	}
	return sql.data;
}

/* told_drop: returns the command that drops all index tables of a fact table, or its feed if it has no index tables */
char *
told_drop(Oid fact)
{
	List	   *index_tables = index_tables_of(fact);
	StringInfoData sql;
	ListCell   *cell;

	if (index_tables == NIL)
		return psprintf("SELECT " IT_SCHEMA ".drop_feed(%s);", quote_literal_cstr(quoted_relation(fact)));
	initStringInfo(&sql);
	foreach(cell, index_tables)
		appendStringInfo(&sql, "%s%s", sql.len > 0 ? ", " : "DROP TABLE ", quoted_relation(lfirst_oid(cell)));
	appendStringInfoChar(&sql, ';');
	return sql.data;
}
