/*-------------------------------------------------------------------------
 *
 * create_call.c
 *	  Writes the call of create() that makes an index table, and describes index tables by it.
 *
 * The comment of an index table has the statement, too: it says what the table is, and a dump
 * takes it along, also one that has no rows of the catalog.  A comment that a user has written,
 * or has removed, is left alone.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_description.h"
#include "commands/comment.h"
#include "commands/tablespace.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "../catalog/catalog.h"
#include "../expression/expression.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "definition.h"

PG_FUNCTION_INFO_V1(indextable_definition);

static void append_partitioning(StringInfo sql, Partitioning *p, const char *first_column);
static int	read_column_names(Oid index_table, NameData *names);
static List *name_fields(List *fields, NameData *names);
static bool lock_comment(Oid index_table);
static bool others_write_comment(Oid relid);
static char *new_description(Oid index_table, bool is_made);

/*
 * indextable_definition
 *		Returns the statement that makes an index table as it is.
 *
 * definition(index_table regclass)
 */
Datum
indextable_definition(PG_FUNCTION_ARGS)
{
	char	   *statement;

	require_reader(PG_GETARG_OID(0));
	statement = definition_statement(PG_GETARG_OID(0));
	if (statement == NULL)
		report_not_index_table(PG_GETARG_OID(0));
	PG_RETURN_TEXT_P(cstring_to_text(statement));
}

/*
 * create_call
 *		Returns the call of create() for an index table, without the parameters that have their
 *		default.  The names of both tables are SQL; row->document and row->primary_key are
 *		given only where they have to be.
 */
char *
create_call(const char *index_table, const char *fact_table, DefinitionRow *row, const char *first_column)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT indextable.create(%s, %s, %s", sql_literal(index_table),
					 sql_literal(fact_table), array_literal(row->key));
	if (row->strategy == STRATEGY_DENORMALIZED)
		appendStringInfoString(&sql, ", strategy => 'denormalized'");
	if (keeps_totals(row))
		appendStringInfo(&sql, ", totals => %s", array_literal(totals_of_fields(row)));
	else if (row->include != NIL)
		appendStringInfo(&sql, ", include => %s", array_literal(row->include));
	if (row->filter != NULL)
		appendStringInfo(&sql, ", filter => %s", sql_literal(row->filter));
	if (is_async(row))
		appendStringInfoString(&sql, ", maintenance => 'async'");
	if (row->is_unique)
		appendStringInfoString(&sql, ", is_unique => true");
	appendStringInfo(&sql, ", sparse => %s", row->sparse ? "true" : "false");
	if (row->on_mismatch != MISMATCH_ERROR)
		appendStringInfo(&sql, ", on_mismatch => %s", sql_literal(mismatch_names[row->on_mismatch]));
	if (row->document != NULL)
		appendStringInfo(&sql, ", document => %s", sql_literal(row->document));
	if (row->partitioning != NULL)
		append_partitioning(&sql, row->partitioning, first_column);
	if (row->primary_key != NIL)
		appendStringInfo(&sql, ", primary_key => %s", array_literal(row->primary_key));
	appendStringInfoString(&sql, ");");
	return sql.data;
}

/*
 * append_partitioning
 *		Appends the parameters of create() that are about partitions.
 *
 * A default partition is made anyway, so it is named only if the tablespaces are listed, which
 * have to be as many as the bounds.
 */
static void
append_partitioning(StringInfo sql, Partitioning *p, const char *first_column)
{
	bool		hash = pg_strncasecmp(p->clause, "hash", 4) == 0;
	const char *usual = get_tablespace_name(MyDatabaseTableSpace);
	const char *first = ((PartSpec *) linitial(p->parts))->tablespace;
	bool		same = true;
	List	   *bounds = NIL;
	List	   *tablespaces = NIL;

	foreach_ptr(PartSpec, part, p->parts)
		same &= strcmp(part->tablespace, first) == 0;
	foreach_ptr(PartSpec, spec, p->parts)
	{
		bool		is_default = strcmp(spec->bound, "DEFAULT") == 0;

		if (!is_default || !same)
			bounds = lappend(bounds, is_default ? spec->bound : spec->bound + strlen("FOR VALUES "));
		tablespaces = lappend(tablespaces, spec->tablespace);
	}
	if (hash)
		appendStringInfo(sql, ", partitions => %d", list_length(p->parts));
	if (!hash || first_column == NULL ||
		strcmp(p->clause, psprintf("HASH (%s)", quote_identifier(first_column))) != 0)
		appendStringInfo(sql, ", partition_by => %s", sql_literal(p->clause));
	if (!hash && bounds != NIL)
		appendStringInfo(sql, ", partition_bounds => %s", array_literal(bounds));
	if (!same)
		appendStringInfo(sql, ", partition_tablespaces => %s", array_literal(tablespaces));
	else if (strcmp(first, usual) != 0)
		appendStringInfo(sql, ", partition_tablespaces => %s", array_literal(list_make1((char *) first)));
}

/*
 * definition_statement
 *		Returns the statement that makes an index table as it is, by what the catalog has of it
 *		and by the names that its columns have now; NULL: the table is not an index table.
 */
char *
definition_statement(Oid index_table)
{
	DefinitionRow *stored = stored_definition(index_table);
	DefinitionRow row;
	NameData   *names;
	volatile int n = 0;
	ErrorData  *error;
	Relation	rel;
	Relation	key;

	if (stored == NULL || get_rel_name(index_table) == NULL)
		return NULL;
	row = *stored;
	names = palloc(sizeof(NameData) * (list_length(row.key) + list_length(row.include)));

	/*
	 * If the tables do not fit the definition, fields have the names that
	 * they were made with.
	 */
	CATCHING_ROW_ERRORS(error, n = read_column_names(index_table, names));
	if (error == NULL && n == list_length(row.key) + list_length(row.include))
	{
		row.key = name_fields(row.key, names);
		row.include = name_fields(row.include, names + list_length(row.key));
	}

	rel = try_relation_open(row.fact_table, AccessShareLock);
	if (rel == NULL)
		return NULL;
	key = open_primary_key(rel);
	if (has_only_document(rel))
		row.document = NULL;
	if (key != NULL)
	{
		row.primary_key = NIL;
		index_close(key, AccessShareLock);
	}
	relation_close(rel, NoLock);
	rel = try_relation_open(index_table, AccessShareLock);
	if (rel == NULL)
		return NULL;
	row.partitioning = partitioning_of(rel);
	relation_close(rel, NoLock);
	return create_call(quoted_relation(index_table), quoted_relation(row.fact_table), &row,
					   n > 0 ? NameStr(names[0]) : NULL);
}

/*
 * read_column_names
 *		Reads the names of the columns that an index table has for its fields, first those of
 *		the key; returns how many.
 */
static int
read_column_names(Oid index_table, NameData *names)
{
	IndexDef   *def = definition_of_index_table(index_table);

	if (def == NULL)
		return 0;
	for (int i = def->spec.nkeys; is_totals(def) && i < def->spec.nkeys + def->spec.nincludes; i++)
		namestrcpy(&names[i], def->spec.fields[i].spec->name);
	for (int i = 0; i < def->spec.nkeys + (is_totals(def) ? 0 : def->spec.nincludes); i++)
		names[i] = TupleDescAttr(def->layout.desc, def->spec.fields[i].attno - 1)->attname;
	return def->spec.nkeys + def->spec.nincludes;
}

/* name_fields: returns the texts of fields, with the names that their columns have */
static List *
name_fields(List *fields, NameData *names)
{
	List	   *result = NIL;

	foreach_ptr(char, field, fields)
		result = lappend(result, name_field(field, NameStr(names[foreach_current_index(field)])));
	return result;
}

/*
 * describe_index_table
 *		Writes the comment of an index table that says what it is now.
 *
 * A comment that is not of this kind stays, and a missing comment stays missing, unless the
 * index table is being made, or made anew.
 *
 * Where the comment is to change, and only there, other sessions that would write it are kept out
 * by a lock that nothing else takes: COMMENT locks the table as VACUUM does, and a session that
 * renames a fact table is not to wait for that.  So the lock of COMMENT is taken only if it is
 * free.  A comment that another transaction is writing is a user's.
 */
void
describe_index_table(Oid index_table, bool is_made)
{
	char	   *description;

	CommandCounterIncrement();	/* what the command has changed so far counts */
	description = new_description(index_table, is_made);
	if (description == NULL)
		return;
	if (!lock_comment(index_table))
		return;
	if (!ConditionalLockRelationOid(index_table, ShareUpdateExclusiveLock) && others_write_comment(index_table))
		return;
	description = new_description(index_table, is_made);
	if (description == NULL)
		return;
	CreateComments(index_table, RelationRelationId, 0, description);
	CommandCounterIncrement();
}

/*
 * lock_comment
 *		Keeps other sessions from having the comment of an index table follow; returns false if one does so,
 *		and would have to be waited for, and the table is of another owner.
 */
static bool
lock_comment(Oid index_table)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, DescriptionRelationId, index_table, 0);
	return LockAcquire(&tag, ShareUpdateExclusiveLock, false, table_owner(index_table) != GetUserId()) !=
		LOCKACQUIRE_NOT_AVAIL;
}

/*
 * others_write_comment
 *		Returns whether another transaction that has not ended has written the comment of a
 *		table.
 */
static bool
others_write_comment(Oid relid)
{
	Relation	rel = table_open(DescriptionRelationId, AccessShareLock);
	SnapshotData dirty;
	ScanKeyData keys[3];
	SysScanDesc scan;
	bool		found = false;

	InitDirtySnapshot(dirty);
	ScanKeyInit(&keys[0], Anum_pg_description_objoid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	ScanKeyInit(&keys[1], Anum_pg_description_classoid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&keys[2], Anum_pg_description_objsubid, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(0));
	scan = systable_beginscan(rel, DescriptionObjIndexId, true, &dirty, lengthof(keys), keys);
	while (HeapTupleIsValid(systable_getnext(scan)))
		found |= TransactionIdIsValid(dirty.xmin) || TransactionIdIsValid(dirty.xmax);
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

/*
 * new_description
 *		Returns what the comment of an index table should say; NULL: it does, or it is a
 *		user's.
 */
static char *
new_description(Oid index_table, bool is_made)
{
	char	   *comment = GetComment(index_table, RelationRelationId, 0);
	char	   *statement;
	char	   *description;

	if (comment == NULL ? !is_made :
		strncmp(comment, COMMENT_BEGINS, strlen(COMMENT_BEGINS)) != 0 || strstr(comment, STATEMENT_BEGINS) == NULL)
		return NULL;
	statement = definition_statement(index_table);
	if (statement == NULL)
		return NULL;
	description = psprintf(COMMENT_BEGINS "%s: %s", quoted_relation(catalog_fact_of(index_table)), statement);
	return comment != NULL && strcmp(comment, description) == 0 ? NULL : description;
}
