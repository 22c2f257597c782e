/*-------------------------------------------------------------------------
 *
 * table_access.c
 *	  Reads and writes rows of the extension's own tables.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attnum.h"
#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup.h"
#include "access/htup_details.h"
#include "access/skey.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "fmgr.h"
#include "nodes/pg_list.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "../indextable.h"
#include "table_access.h"

pg_noreturn static void no_relation(const char *name);

/*
 * catalog_relid
 *		The OID of one of the extension's own tables.
 *
 * A catalog of version 1.0 has them in the schema of the extension.  They are looked
 * for there, too, table by table: so this library serves such a catalog until ALTER
 * EXTENSION indextable UPDATE, and in the middle of that.  Whoever may create schemas
 * in a database, or tables in one of ours, can make tables by these names, with triggers
 * and functions that a worker would call as a superuser: only a member of the extension
 * is ours, which nobody else can make one.
 *
 * They are looked for there first.  A table that is not there any more, because another
 * session has moved it meanwhile, is found in the other schema, which is looked at
 * later; the other way round it could be found in neither.  Its OID stays, so that it
 * does not matter if what the backend has cached of it is from before.
 */
Oid
catalog_relid(const char *name, bool missing_ok)
{
	static const char *const schemas[] = {IT_SCHEMA, IT_INTERNAL};
	Size		i;

	for (i = 0; i < lengthof(schemas); i++)
	{
		Oid			schema = get_namespace_oid(schemas[i], true);
		Oid			relid = OidIsValid(schema) ? get_relname_relid(name, schema) : InvalidOid;

		if (OidIsValid(relid) && is_extension_member(RelationRelationId, relid))
			return relid;
	}
	if (!missing_ok)
		no_relation(name);
	return InvalidOid;
}

/* is_extension_member: whether an object belongs to the extension */
bool
is_extension_member(Oid class, Oid object)
{
	Oid			extension = get_extension_oid(IT_SCHEMA, true);

	return OidIsValid(extension) && getExtensionOfObject(class, object) == extension;
}

static void
no_relation(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE),
			 errmsg("relation " IT_INTERNAL ".%s does not exist", name),
			 errhint("Run CREATE EXTENSION indextable, or undo what was done to the extension's tables.")));
}

/* catalog_index: an index of one of these tables, which is where its table is */
Oid
catalog_index(Relation rel, const char *name)
{
	Oid			relid = get_relname_relid(name, RelationGetNamespace(rel));

	if (!OidIsValid(relid))
		no_relation(name);
	return relid;
}

/*
 * catalog_table
 *		The name of one of the extension's tables for a statement, with its schema.
 *		The table is locked until the transaction ends, as the statement would do it:
 *		ALTER EXTENSION UPDATE cannot move it before the statement is run.
 */
const char *
catalog_table(const char *name)
{
	Oid			relid = catalog_relid(name, false);

	LockRelationOid(relid, AccessShareLock);
	return psprintf("%s.%s", get_namespace_name(get_rel_namespace(relid)), name);
}

/*
 * catalog_schema
 *		Where the extension's tables are, and queue tables and the functions of our
 *		triggers with them.  It stays so until the transaction ends; see
 *		catalog_table().
 */
Oid
catalog_schema(void)
{
	Oid			relid = catalog_relid("definition", false);

	LockRelationOid(relid, AccessShareLock);
	return get_rel_namespace(relid);
}

/*
 * is_own_schema
 *		Whether what is in a schema is the extension's.  Either of its schemas is, so that
 *		the answer is right for an object that another session moves from one to the
 *		other, whichever of them the caller has seen it in.
 */
bool
is_own_schema(Oid schema)
{
	const char *name = get_namespace_name(schema);

	return name != NULL &&
		(strcmp(name, IT_SCHEMA) == 0 ||
		 (strcmp(name, IT_INTERNAL) == 0 && is_extension_member(NamespaceRelationId, schema)));
}

/* scan_by_oid: a scan of a catalog table for rows whose column is value */
SysScanDesc
scan_by_oid(Relation rel, const char *index, AttrNumber column, Oid value)
{
	ScanKeyData key;

	ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(value));
	return systable_beginscan(rel, catalog_index(rel, index), true, NULL, 1, &key);
}

/*
 * wait_for_row_writer
 *		Waits for whoever is writing a row that a scan has found; false if it was
 *		written, so that it has to be looked for once more.  Not all who write a row
 *		hold a lock that keeps the others out: DROP of an index table does not wait for
 *		what happens to its fact table.
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
	/* What this command has deleted itself is not found again. */
	CommandCounterIncrement();
	return false;
}

/* delete_by_oid: deletes those rows; true if there were any */
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

/* string_array: strings as an array of text or of names */
Datum
string_array(List *strings, Oid type)
{
	Datum	   *elems = palloc(sizeof(Datum) * Max(list_length(strings), 1));
	ListCell   *cell;
	int			n = 0;

	foreach(cell, strings)
		elems[n++] = type == TEXTOID ? CStringGetTextDatum((char *) lfirst(cell)) :
		DirectFunctionCall1(namein, CStringGetDatum(lfirst(cell)));
	return PointerGetDatum(type == TEXTOID ?
						   construct_array(elems, n, TEXTOID, -1, false, TYPALIGN_INT) :
						   construct_array(elems, n, NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR));
}

/* array_strings: the other way round */
List *
array_strings(Datum array, Oid type)
{
	ArrayType  *elements = DatumGetArrayTypeP(array);
	Datum	   *elems;
	int			n;
	int			i;
	List	   *result = NIL;

	if (type == TEXTOID)
		deconstruct_array(elements, TEXTOID, -1, false, TYPALIGN_INT, &elems, NULL, &n);
	else
		deconstruct_array(elements, NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR, &elems, NULL, &n);
	for (i = 0; i < n; i++)
		result = lappend(result, type == TEXTOID ? TextDatumGetCString(elems[i]) :
						 pstrdup(NameStr(*DatumGetName(elems[i]))));
	return result;
}

void
check_version(TupleDesc desc, int natts)
{
	if (desc->natts != natts)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the library and the catalog of indextable are of different versions"),
				 errhint("Run ALTER EXTENSION indextable UPDATE.")));
}

/* catalog_table_has_columns: whether a catalog table has so many, or is not there at all */
bool
catalog_table_has_columns(const char *table, int natts)
{
	Oid			relid = catalog_relid(table, true);

	return !OidIsValid(relid) || (get_attname(relid, natts, true) != NULL && get_attname(relid, natts + 1, true) == NULL);
}

/* all_rows: of a catalog table, none without the extension */
List *
all_rows(const char *table, void *(*read) (HeapTuple tuple, TupleDesc desc))
{
	Oid			relid = catalog_relid(table, true);
	Relation	rel;
	SysScanDesc scan;
	HeapTuple	tuple;
	List	   *result = NIL;

	if (!OidIsValid(relid))
		return NIL;
	rel = table_open(relid, AccessShareLock);
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		result = lappend(result, read(tuple, RelationGetDescr(rel)));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return result;
}
