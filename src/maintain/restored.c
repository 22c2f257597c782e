/*-------------------------------------------------------------------------
 *
 * restored.c
 *	  Says what to do about index tables that a dump brings without their definitions.
 *
 * A dump of the schema alone, of single tables or of one schema has the tables and our triggers
 * on them, but not the rows of the catalog.  The index table is then a table with guards that
 * nobody keeps in step.  Its comment still says how it was made (definition/statement.c), so
 * users are given the statements that make it an index table again: at once, when the restore
 * creates the guard, and whenever they write to one of the two tables.
 *
 * A fact table that was restored without its index tables lacks nothing: it is written as if it
 * had no triggers of ours.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_trigger.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "../catalog/definition_rows.h"
#include "../catalog/table_access.h"
#include "../catalog/trigger_names.h"
#include "../definition/create_call.h"
#include "../util/sql.h"
#include "restored.h"

static Oid	owner_of(Oid relid);
static char *statements_for_fact(Oid fact_table);

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

/* statements_for_undefined: returns what is to be run to make such a table an index table again */
char *
statements_for_undefined(Oid index_table)
{
	char	   *statement = statement_of_restored(index_table, InvalidOid);

	return psprintf("DROP TABLE %s; %s", quoted_relation(index_table),
					statement != NULL ? statement : "SELECT indextable.create(...);");
}

/* warn_undefined: warns of a table that has just got the guard of an index table, but has no definition */
void
warn_undefined(Oid index_table)
{
	if (is_undefined(index_table))
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("table \"%s\" was an index table, but its definition has not been restored", get_rel_name(index_table)),
				 errdetail("Nothing keeps it in step, and it cannot be written by hand."),
				 errhint("When the tables are restored, run: %s", statements_for_undefined(index_table))));
}

/*
 * refuse_undefined
 *		Raises an error if there are tables that were index tables of a fact table without a
 *		definition.  written is the fact table, or the partition of it, that is written.
 *
 * That there are none is found out once in a transaction for each fact table.
 */
void
refuse_undefined(Oid fact_table, Oid written)
{
	static Oid	passed = InvalidOid;
	static FullTransactionId passed_in;
	FullTransactionId now = GetTopFullTransactionId();
	char	   *statements;

	if (passed == fact_table && FullTransactionIdEquals(passed_in, now))
		return;
	statements = statements_for_fact(fact_table);
	if (statements != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" has triggers of indextable but is not registered", get_rel_name(written)),
				 errdetail("Its index tables were restored without their definitions, and would not be maintained."),
				 errhint("Run: %s", statements)));
	passed = fact_table;
	passed_in = now;
}

/* owner_of: returns the owner of a table, or InvalidOid if that does not exist */
static Oid
owner_of(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			owner = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
		ReleaseSysCache(tuple);
	}
	return owner;
}

/*
 * statements_for_fact
 *		Returns what is to be run to make all tables index tables again that were some of a fact
 *		table; NULL: there are none.
 */
static char *
statements_for_fact(Oid fact_table)
{
	Relation	rel = table_open(TriggerRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	List	   *guarded = NIL;
	StringInfoData sql;
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

	initStringInfo(&sql);
	foreach(cell, guarded)
	{
		/* What a table of another owner says is of no account. */
		if (statement_of_restored(lfirst_oid(cell), fact_table) != NULL && is_undefined(lfirst_oid(cell)) &&
			owner_of(lfirst_oid(cell)) == owner_of(fact_table))
			appendStringInfo(&sql, "%s%s", sql.len > 0 ? " " : "", statements_for_undefined(lfirst_oid(cell)));
	}
	return sql.len > 0 ? sql.data : NULL;
}
