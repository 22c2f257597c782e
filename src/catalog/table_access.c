/*-------------------------------------------------------------------------
 *
 * table_access.c
 *	  Finds the extension's own tables, and reads and writes their rows.
 *
 * Rows are read with a catalog snapshot, never with that of the transaction: a REPEATABLE
 * READ transaction that is older than an index table must maintain it all the same.
 * They are written without privilege checks, because the callers have made their own.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "storage/bufmgr.h"
#include "storage/lockdefs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "../indextable.h"
#include "catalog.h"

static int	compare_by_oid(const ListCell *a, const ListCell *b);
pg_noreturn static void no_relation(const char *name);

/*
 * catalog_relid
 *		Returns the OID of one of the extension's own tables, or InvalidOid if it does not
 *		exist and missing_ok is set.
 *
 * A role that may create schemas in a database, or tables in one of ours, can create tables
 * by these names, with triggers and functions that a worker would call as a superuser.  So
 * a table is ours only if it is a member of the extension, which nobody else can make it.
 */
Oid
catalog_relid(const char *name, bool missing_ok)
{
	Oid			schema = get_namespace_oid(IT_INTERNAL, true);
	Oid			relid = OidIsValid(schema) ? get_relname_relid(name, schema) : InvalidOid;

	if (OidIsValid(relid) && is_extension_member(RelationRelationId, relid))
		return relid;
	if (!missing_ok)
		no_relation(name);
	return InvalidOid;
}

/* is_extension_member: returns whether an object is a member of the extension */
bool
is_extension_member(Oid class, Oid object)
{
	Oid			extension = get_extension_oid(IT_SCHEMA, true);

	return OidIsValid(extension) && getExtensionOfObject(class, object) == extension;
}

/* no_relation: raises the error for a table or index of the catalog that does not exist */
static void
no_relation(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE),
			 errmsg("relation " IT_INTERNAL ".%s does not exist", name),
			 errhint("Run CREATE EXTENSION indextable; or undo what was done to the extension's tables.")));
}

/*
 * catalog_index
 *		Returns the OID of an index of one of these tables, which is in the schema of the
 *		table.
 */
Oid
catalog_index(Relation rel, const char *name)
{
	Oid			relid = get_relname_relid(name, RelationGetNamespace(rel));

	if (!OidIsValid(relid))
		no_relation(name);
	return relid;
}

/* catalog_table: returns the qualified name of one of the extension's tables, for a statement */
const char *
catalog_table(const char *name)
{
	catalog_relid(name, false);
	return psprintf(IT_INTERNAL ".%s", name);
}

/*
 * catalog_schema
 *		Returns the schema of the extension's tables.
 */
Oid
catalog_schema(void)
{
	catalog_relid("definition", false);
	return get_namespace_oid(IT_INTERNAL, false);
}

/*
 * queue_schema
 *		Returns the schema of queue tables, in which only the extension's owner can name anything: others could
 *		lock a table that they can name, or make objects that depend on it.  Version 1.1 had none.
 */
Oid
queue_schema(void)
{
	Oid			schema = get_namespace_oid(IT_QUEUES, true);

	return OidIsValid(schema) && is_own_schema(schema) ? schema : catalog_schema();
}

/* find_queue_table: returns the queue table of a name, or InvalidOid; it may be of version 1.1 */
Oid
find_queue_table(const char *name)
{
	Oid			result = get_relname_relid(name, queue_schema());

	return OidIsValid(result) ? result : get_relname_relid(name, catalog_schema());
}

/* is_own_schema: returns whether a schema is one of the extension's */
bool
is_own_schema(Oid schema)
{
	const char *name = get_namespace_name(schema);

	return name != NULL &&
		(strcmp(name, IT_SCHEMA) == 0 ||
		 ((strcmp(name, IT_INTERNAL) == 0 || strcmp(name, IT_QUEUES) == 0) &&
		  is_extension_member(NamespaceRelationId, schema)));
}

/*
 * scan_by_oid
 *		Begins a scan, by an index, of a table of the catalog for the rows whose column is
 *		value.
 */
SysScanDesc
scan_by_oid(Relation rel, const char *index, AttrNumber column, Oid value)
{
	ScanKeyData key;

	ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(value));
	return systable_beginscan(rel, catalog_index(rel, index), true, NULL, 1, &key);
}

/*
 * wait_for_row_writer
 *		Waits for a transaction that is writing a row which a scan has found, and locks
 *		the row; returns false if it was written, so that it has to be looked for once more.
 *
 * Not every transaction that writes a row holds a lock on a table that keeps others from
 * it: DROP of an index table does not wait for what happens to its fact table.
 */
bool
wait_for_row_writer(Relation rel, HeapTuple tuple)
{
	HeapTupleData row = *tuple;
	TM_FailureData failure;
	Buffer		buffer;
	TM_Result	result = heap_lock_tuple(rel, &row, GetCurrentCommandId(true), LockTupleExclusive,
										 LockWaitBlock, false, &buffer, &failure);

	ReleaseBuffer(buffer);
	if (result == TM_Ok)
		return true;
	/* The next search does not find what this command has deleted itself. */
	CommandCounterIncrement();
	return false;
}

/*
 * delete_by_oid
 *		Deletes the rows of a table of the catalog whose column is value; returns whether any
 *		were found.
 */
bool
delete_by_oid(const char *table, const char *index, AttrNumber column, Oid value)
{
	Oid			relid = catalog_relid(table, true);
	Relation	rel;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found = false;
	bool		again;

	if (!OidIsValid(relid))
		return false;			/* DROP EXTENSION is under way */
	rel = table_open(relid, RowExclusiveLock);
	do
	{
		again = false;
		scan = scan_by_oid(rel, index, column, value);
		while (!again && HeapTupleIsValid(tuple = systable_getnext(scan)))
		{
			again = !wait_for_row_writer(rel, tuple);
			if (!again)
				CatalogTupleDelete(rel, &tuple->t_self);
			found |= !again;
		}
		systable_endscan(scan);
	} while (again);
	table_close(rel, NoLock);
	if (found)
		CommandCounterIncrement();
	return found;
}

/* insert_row: inserts a row into a table of the catalog */
void
insert_row(const char *table, Datum *values, bool *isnull)
{
	Relation	rel = table_open(catalog_relid(table, false), RowExclusiveLock);
	HeapTuple	tuple = heap_form_tuple(RelationGetDescr(rel), values, isnull);

	CatalogTupleInsert(rel, tuple);
	heap_freetuple(tuple);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

/* string_array: makes an array of strings (char *); type is that of its elements, text or name */
Datum
string_array(List *strings, Oid type)
{
	Datum	   *elems = palloc(sizeof(Datum) * Max(list_length(strings), 1));
	int			n = 0;

	foreach_ptr(char, string, strings)
		elems[n++] = type == TEXTOID ? CStringGetTextDatum(string) :
		DirectFunctionCall1(namein, CStringGetDatum(string));
	return PointerGetDatum(type == TEXTOID ?
						   construct_array(elems, n, TEXTOID, -1, false, TYPALIGN_INT) :
						   construct_array(elems, n, NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR));
}

/*
 * array_strings
 *		Lists the elements of an array of text or names as strings; the opposite of
 *		string_array().  A null, of which that makes none, is as empty as what no field and no
 *		column can be: all that use it refuse it, but what drops the index table.
 */
List *
array_strings(Datum array, Oid type)
{
	ArrayType  *elements = DatumGetArrayTypeP(array);
	Datum	   *elems;
	bool	   *nulls;
	int			n;
	List	   *result = NIL;

	if (type == TEXTOID)
		deconstruct_array(elements, TEXTOID, -1, false, TYPALIGN_INT, &elems, &nulls, &n);
	else
		deconstruct_array(elements, NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR, &elems, &nulls, &n);
	for (int i = 0; i < n; i++)
		result = lappend(result, nulls[i] ? pstrdup("") : type == TEXTOID ? TextDatumGetCString(elems[i]) :
						 pstrdup(NameStr(*DatumGetName(elems[i]))));
	return result;
}

/*
 * profile_row_type
 *		Returns the row type key_profile; InvalidOid if missing_ok, else an error: the catalog
 *		is of a version before it.
 */
Oid
profile_row_type(bool missing_ok)
{
	Oid			type = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum("key_profile"),
									   ObjectIdGetDatum(get_namespace_oid(IT_INTERNAL, true)));

	if (OidIsValid(type) && is_extension_member(TypeRelationId, type))
		return type;
	if (!missing_ok)
		report_other_version();
	return InvalidOid;
}

/*
 * catalog_is_old
 *		Returns whether the catalog is of version 1.1, which has no such type, as long as it
 *		is not updated.
 */
bool
catalog_is_old(void)
{
	return !OidIsValid(profile_row_type(true));
}

/*
 * check_version
 *		Raises an error unless a table of the catalog has natts columns, as in this version.
 */
void
check_version(TupleDesc desc, int natts)
{
	if (desc->natts != natts)
		report_other_version();
}

/* report_other_version: raises the error for a catalog that is not of this version */
void
report_other_version(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the library and the catalog of indextable are of different versions"),
			 errhint("Run ALTER EXTENSION indextable UPDATE;")));
}

/*
 * catalog_table_has_columns
 *		Returns whether a table of the catalog has exactly natts columns, or does not exist.
 */
bool
catalog_table_has_columns(const char *table, int natts)
{
	Oid			relid = catalog_relid(table, true);

	return !OidIsValid(relid) ||
		(get_attname(relid, natts, true) != NULL && get_attname(relid, natts + 1, true) == NULL);
}

/*
 * catalog_rows
 *		Lists what read() makes of those rows of a table of the catalog whose column is value, by
 *		an index, or of all rows, if index is NULL, in the order of the OIDs that it begins with.
 *		While CREATE or DROP EXTENSION is under way there are none.
 */
List *
catalog_rows(const char *table, const char *index, AttrNumber column, Oid value,
			 void *(*read) (HeapTuple tuple, TupleDesc desc))
{
	Oid			relid = catalog_relid(table, true);
	Relation	rel;
	SysScanDesc scan;
	HeapTuple	tuple;
	List	   *result = NIL;

	if (!OidIsValid(relid))
		return NIL;
	rel = table_open(relid, AccessShareLock);
	scan = index == NULL ? systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL) :
		scan_by_oid(rel, index, column, value);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		result = lappend(result, read(tuple, RelationGetDescr(rel)));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	list_sort(result, compare_by_oid);
	return result;
}

/* compare_by_oid: compares what begins with an OID; for list_sort() */
static int
compare_by_oid(const ListCell *a, const ListCell *b)
{
	Oid			x = *(Oid *) lfirst(a);
	Oid			y = *(Oid *) lfirst(b);

	return x < y ? -1 : x > y ? 1 : 0;
}
