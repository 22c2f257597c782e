/*-------------------------------------------------------------------------
 *
 * catalog.c
 *	  Reads and writes the extension's own tables.
 *
 * Called by create.c, drop.c, definition.c, triggers.c, batch.c and rotate.c.  Rows are
 * read with a catalog snapshot, never with the transaction's: a REPEATABLE READ
 * transaction that is older than an index table must maintain it all the same.
 * Written without privilege checks, because whoever calls has made their own.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
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
#include "indextable.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* Rows of the table skipped for one index table before they are summed up. */
#define MAX_SKIPPED_ROWS	100

/* Columns of the table definition. */
enum
{
	DEF_INDEX_TABLE = 1,
	DEF_FACT_TABLE,
	DEF_FACT_OID,
	DEF_FACT_COLUMNS,
	DEF_PRIMARY_KEY,
	DEF_DOCUMENT,
	DEF_KEY,
	DEF_INCLUDE,
	DEF_FILTER,
	DEF_STRATEGY,
	DEF_MAINTENANCE,
	DEF_IS_UNIQUE,
	DEF_ON_MISMATCH,
	DEF_STATE,
	DEF_PROBLEM,
	DEF_REPLACES,
	DEF_NATTS = DEF_REPLACES
};

/* Columns of the table fact. */
enum
{
	FACT_FACT_TABLE = 1,
	FACT_QUEUE,
	FACT_SPARE,
	FACT_NATTS = FACT_SPARE
};

static bool is_member(Oid class, Oid object);
pg_noreturn static void no_relation(const char *name);
static int	compare_definitions(const ListCell *a, const ListCell *b);
static void read_fact(HeapTuple tuple, TupleDesc desc, FactTableRow *row);

/*
 * catalog_relid
 *		The OID of one of the extension's own tables.
 *
 * A catalog of version 1.0 has them in the schema of the extension.  They are looked
 * for there, too, table by table: so this library serves such a catalog until ALTER
 * EXTENSION indextable UPDATE, and in the middle of that.  Others may be able to
 * create tables by these names in the schema where ours are not: in the schema of the
 * extension only a member of it is ours.
 *
 * They are looked for there first.  A table that is not there any more, because another
 * session has moved it meanwhile, is found in the other schema, which is looked at
 * later; the other way round it could be found in neither.  Its OID stays, so that it
 * does not matter if what the backend has cached of it is from before.
 */
Oid
catalog_relid(const char *name, bool missing_ok)
{
	Oid			schema = get_namespace_oid(IT_SCHEMA, true);
	Oid			former = OidIsValid(schema) ? get_relname_relid(name, schema) : InvalidOid;
	Oid			relid;

	if (OidIsValid(former) && is_member(RelationRelationId, former))
		return former;
	schema = get_namespace_oid(IT_INTERNAL, true);
	relid = OidIsValid(schema) ? get_relname_relid(name, schema) : InvalidOid;
	if (!OidIsValid(relid))
		relid = former;
	if (!OidIsValid(relid) && !missing_ok)
		no_relation(name);
	return relid;
}

/* is_member: whether an object belongs to the extension */
static bool
is_member(Oid class, Oid object)
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
static Oid
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
		 (strcmp(name, IT_INTERNAL) == 0 && is_member(NamespaceRelationId, schema)));
}

/* scan_by_oid: a scan of a catalog table for rows whose column is value */
static SysScanDesc
scan_by_oid(Relation rel, const char *index, AttrNumber column, Oid value)
{
	ScanKeyData key;

	ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(value));
	return systable_beginscan(rel, catalog_index(rel, index), true, NULL, 1, &key);
}

/*
 * lock_row
 *		Waits for whoever is writing a row that a scan has found; false if it was
 *		written, so that it has to be looked for once more.  Not all who write a row
 *		hold a lock that keeps the others out: DROP of an index table does not wait for
 *		what happens to its fact table.
 */
static bool
lock_row(Relation rel, HeapTuple tuple)
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
static bool
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
			again = !lock_row(rel, tuple);
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

static void
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
static Datum
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
static List *
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

/* catalog_column_names: of a table, by number; dropped ones are empty */
List *
catalog_column_names(Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);
	List	   *names = NIL;
	int			i;

	for (i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		names = lappend(names, att->attisdropped ? "" : NameStr(att->attname));
	}
	return names;
}

/* catalog_insert: registers an index table */
void
catalog_insert(DefinitionRow *row, Relation fact)
{
	Datum		values[DEF_NATTS] = {0};
	bool		isnull[DEF_NATTS] = {0};

	values[DEF_INDEX_TABLE - 1] = ObjectIdGetDatum(row->index_table);
	values[DEF_FACT_TABLE - 1] = ObjectIdGetDatum(row->fact_table);
	values[DEF_FACT_OID - 1] = ObjectIdGetDatum(row->fact_table);
	values[DEF_FACT_COLUMNS - 1] = string_array(catalog_column_names(fact), NAMEOID);
	values[DEF_PRIMARY_KEY - 1] = string_array(row->primary_key, NAMEOID);
	values[DEF_DOCUMENT - 1] = DirectFunctionCall1(namein, CStringGetDatum(row->document));
	values[DEF_KEY - 1] = string_array(row->key, TEXTOID);
	if (row->include != NIL)
		values[DEF_INCLUDE - 1] = string_array(row->include, TEXTOID);
	else
		isnull[DEF_INCLUDE - 1] = true;
	if (row->filter != NULL)
		values[DEF_FILTER - 1] = CStringGetTextDatum(row->filter);
	else
		isnull[DEF_FILTER - 1] = true;
	values[DEF_STRATEGY - 1] = CStringGetTextDatum(row->strategy);
	values[DEF_MAINTENANCE - 1] = CStringGetTextDatum(row->maintenance);
	values[DEF_IS_UNIQUE - 1] = BoolGetDatum(row->is_unique);
	values[DEF_ON_MISMATCH - 1] = CStringGetTextDatum(row->on_mismatch);
	values[DEF_STATE - 1] = CStringGetTextDatum(row->state);
	if (row->problem != NULL)
		values[DEF_PROBLEM - 1] = CStringGetTextDatum(row->problem);
	else
		isnull[DEF_PROBLEM - 1] = true;
	values[DEF_REPLACES - 1] = ObjectIdGetDatum(row->replaces);
	isnull[DEF_REPLACES - 1] = !OidIsValid(row->replaces);
	insert_row("definition", values, isnull);
}

/* catalog_update: replaces the row of an index table */
void
catalog_update(DefinitionRow *row, Relation fact)
{
	delete_by_oid("definition", "definition_pkey", DEF_INDEX_TABLE, row->index_table);
	catalog_insert(row, fact);
}

/* catalog_set_state: of an index table, why, and nothing else: names may be older than the tables' */
void
catalog_set_state(Oid index_table, const char *state, const char *problem)
{
	Relation	rel = table_open(catalog_relid("definition", false), RowExclusiveLock);
	SysScanDesc scan = scan_by_oid(rel, "definition_pkey", DEF_INDEX_TABLE, index_table);
	HeapTuple	tuple;
	Datum		values[DEF_NATTS] = {0};
	bool		isnull[DEF_NATTS] = {0};
	bool		replace[DEF_NATTS] = {0};

	while (HeapTupleIsValid(tuple = systable_getnext(scan)) && !lock_row(rel, tuple))
	{
		systable_endscan(scan);
		scan = scan_by_oid(rel, "definition_pkey", DEF_INDEX_TABLE, index_table);
	}
	if (HeapTupleIsValid(tuple))
	{
		values[DEF_STATE - 1] = CStringGetTextDatum(state);
		replace[DEF_STATE - 1] = true;
		if (problem != NULL)
			values[DEF_PROBLEM - 1] = CStringGetTextDatum(problem);
		isnull[DEF_PROBLEM - 1] = problem == NULL;
		replace[DEF_PROBLEM - 1] = true;
		tuple = heap_modify_tuple(tuple, RelationGetDescr(rel), values, isnull, replace);
		CatalogTupleUpdate(rel, &tuple->t_self, tuple);
	}
	systable_endscan(scan);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

static void
check_version(TupleDesc desc, int natts)
{
	if (desc->natts != natts)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the library and the catalog of indextable are of different versions"),
				 errhint("Run ALTER EXTENSION indextable UPDATE.")));
}

/* has_columns: whether a catalog table has so many, or is not there at all */
static bool
has_columns(const char *table, int natts)
{
	Oid			relid = catalog_relid(table, true);

	return !OidIsValid(relid) || (get_attname(relid, natts, true) != NULL && get_attname(relid, natts + 1, true) == NULL);
}

/* catalog_is_known: whether it is of this library's version; where it is not, whoever reads it gets an error */
bool
catalog_is_known(void)
{
	return has_columns("definition", DEF_NATTS) && has_columns("fact", FACT_NATTS);
}

static StoredDefinition *
read_row(HeapTuple tuple, TupleDesc desc)
{
	StoredDefinition *stored = palloc0(sizeof(StoredDefinition));
	DefinitionRow *row = &stored->row;
	Datum		values[DEF_NATTS];
	bool		isnull[DEF_NATTS];

	check_version(desc, DEF_NATTS);
	heap_deform_tuple(tuple, desc, values, isnull);
	stored->xmin = HeapTupleHeaderGetXmin(tuple->t_data);
	stored->tid = tuple->t_self;
	stored->fact_oid = DatumGetObjectId(values[DEF_FACT_OID - 1]);
	stored->columns = array_strings(values[DEF_FACT_COLUMNS - 1], NAMEOID);

	row->primary_key = array_strings(values[DEF_PRIMARY_KEY - 1], NAMEOID);
	row->index_table = DatumGetObjectId(values[DEF_INDEX_TABLE - 1]);
	row->fact_table = DatumGetObjectId(values[DEF_FACT_TABLE - 1]);
	row->document = pstrdup(NameStr(*DatumGetName(values[DEF_DOCUMENT - 1])));
	row->key = array_strings(values[DEF_KEY - 1], TEXTOID);
	if (!isnull[DEF_INCLUDE - 1])
		row->include = array_strings(values[DEF_INCLUDE - 1], TEXTOID);
	if (!isnull[DEF_FILTER - 1])
		row->filter = TextDatumGetCString(values[DEF_FILTER - 1]);
	row->strategy = TextDatumGetCString(values[DEF_STRATEGY - 1]);
	row->maintenance = TextDatumGetCString(values[DEF_MAINTENANCE - 1]);
	row->is_unique = DatumGetBool(values[DEF_IS_UNIQUE - 1]);
	row->on_mismatch = TextDatumGetCString(values[DEF_ON_MISMATCH - 1]);
	row->state = TextDatumGetCString(values[DEF_STATE - 1]);
	if (!isnull[DEF_PROBLEM - 1])
		row->problem = TextDatumGetCString(values[DEF_PROBLEM - 1]);
	if (!isnull[DEF_REPLACES - 1])
		row->replaces = DatumGetObjectId(values[DEF_REPLACES - 1]);
	return stored;
}

/*
 * catalog_read
 *		The definitions (StoredDefinition *) of a fact table, in the order in which its
 *		index tables were made, wherever their rows are by now; or the one of an index
 *		table, where fact_table is InvalidOid.
 */
List *
catalog_read(Oid fact_table, Oid index_table)
{
	List	   *result = catalog_read_any(fact_table, index_table);
	ListCell   *cell;

	foreach(cell, result)
		if (!believed(&((StoredDefinition *) lfirst(cell))->row))
			result = foreach_delete_current(result, cell);
	return result;
}

/* catalog_read_any: the same with those that are not to be believed */
List *
catalog_read_any(Oid fact_table, Oid index_table)
{
	Oid			relid = catalog_relid("definition", true);
	Relation	rel;
	SysScanDesc scan;
	HeapTuple	tuple;
	List	   *result = NIL;

	if (!OidIsValid(relid))
		return NIL;				/* CREATE or DROP EXTENSION is under way */
	rel = table_open(relid, AccessShareLock);
	scan = OidIsValid(fact_table) ?
		scan_by_oid(rel, "definition_fact_table", DEF_FACT_TABLE, fact_table) :
		scan_by_oid(rel, "definition_pkey", DEF_INDEX_TABLE, index_table);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		result = lappend(result, read_row(tuple, RelationGetDescr(rel)));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	list_sort(result, compare_definitions);
	return result;
}

static int
compare_definitions(const ListCell *a, const ListCell *b)
{
	Oid			x = ((StoredDefinition *) lfirst(a))->row.index_table;
	Oid			y = ((StoredDefinition *) lfirst(b))->row.index_table;

	return x < y ? -1 : x > y ? 1 : 0;
}

/* all_rows: of a catalog table, none without the extension */
static List *
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

static void *
read_definition(HeapTuple tuple, TupleDesc desc)
{
	return read_row(tuple, desc);
}

/* catalog_definitions: all of them (StoredDefinition *), with those that are not to be believed */
List *
catalog_definitions(void)
{
	return all_rows("definition", read_definition);
}

/* catalog_index_tables: all of them */
List *
catalog_index_tables(void)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, catalog_definitions())
		if (believed(&((StoredDefinition *) lfirst(cell))->row))
			result = lappend_oid(result, ((StoredDefinition *) lfirst(cell))->row.index_table);
	return result;
}

static void *
read_fact_row(HeapTuple tuple, TupleDesc desc)
{
	FactTableRow *row = palloc(sizeof(FactTableRow));

	read_fact(tuple, desc, row);
	return row;
}

/* catalog_facts: the rows (FactTableRow *) of all fact tables, with and without index tables */
List *
catalog_facts(void)
{
	return all_rows("fact", read_fact_row);
}

/* catalog_fact_tables: all of them */
List *
catalog_fact_tables(void)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, catalog_facts())
		result = lappend_oid(result, ((FactTableRow *) lfirst(cell))->fact_table);
	return result;
}

/* catalog_queues: the rows (FactTableRow *) of all fact tables that have a queue */
List *
catalog_queues(void)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, catalog_facts())
		if (OidIsValid(((FactTableRow *) lfirst(cell))->queue))
			result = lappend(result, lfirst(cell));
	return result;
}

/* is_queued: whether an index table is kept in step through the queue, for good or while it is built */
bool
is_queued(DefinitionRow *row)
{
	return strcmp(row->maintenance, "async") == 0 || strcmp(row->state, "building") == 0 ||
		(OidIsValid(row->replaces) && strcmp(row->state, "invalid") == 0);
}

/* catalog_fact_of: the fact table of an index table, InvalidOid if it is none */
Oid
catalog_fact_of(Oid index_table)
{
	List	   *rows = catalog_read(InvalidOid, index_table);

	return rows == NIL ? InvalidOid : ((StoredDefinition *) linitial(rows))->row.fact_table;
}

bool
catalog_fact_in_use(Oid fact_table)
{
	return catalog_read(fact_table, InvalidOid) != NIL;
}

/* catalog_forget_index_table: returns its fact table, InvalidOid if it was none */
Oid
catalog_forget_index_table(Oid index_table)
{
	Oid			fact = catalog_fact_of(index_table);

	if (OidIsValid(fact))
		catalog_forget_definition(index_table);
	return fact;
}

void
catalog_forget_definition(Oid index_table)
{
	delete_by_oid("definition", "definition_pkey", DEF_INDEX_TABLE, index_table);
	delete_by_oid("skipped", "skipped_index_table", 1, index_table);
	delete_by_oid("checked", "checked_index_table", 1, index_table);
	delete_by_oid("counted", "counted_pkey", 1, index_table);
	catalog_forget_rejections(index_table);
	catalog_forget_build(index_table);
}

/* catalog_read_fact: the row of a fact table; false if there is none */
bool
catalog_read_fact(Oid fact_table, FactTableRow *row)
{
	Oid			relid = catalog_relid("fact", true);
	Relation	rel;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (!OidIsValid(relid))
		return false;			/* CREATE or DROP EXTENSION is under way */
	rel = table_open(relid, AccessShareLock);
	scan = scan_by_oid(rel, "fact_pkey", FACT_FACT_TABLE, fact_table);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		read_fact(tuple, RelationGetDescr(rel), row);
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return HeapTupleIsValid(tuple);
}

static void
read_fact(HeapTuple tuple, TupleDesc desc, FactTableRow *row)
{
	Datum		values[FACT_NATTS];
	bool		isnull[FACT_NATTS];

	check_version(desc, FACT_NATTS);
	heap_deform_tuple(tuple, desc, values, isnull);
	row->fact_table = DatumGetObjectId(values[FACT_FACT_TABLE - 1]);
	row->queue = isnull[FACT_QUEUE - 1] ? InvalidOid : DatumGetObjectId(values[FACT_QUEUE - 1]);
	row->spare = isnull[FACT_SPARE - 1] ? InvalidOid : DatumGetObjectId(values[FACT_SPARE - 1]);
}

/* catalog_has_fact: whether our triggers have been put on this table */
bool
catalog_has_fact(Oid fact_table)
{
	FactTableRow row;

	return catalog_read_fact(fact_table, &row);
}

/* catalog_write_fact: inserts or replaces the row of a fact table */
void
catalog_write_fact(FactTableRow *row)
{
	Datum		values[FACT_NATTS];
	bool		isnull[FACT_NATTS] = {0};

	delete_by_oid("fact", "fact_pkey", FACT_FACT_TABLE, row->fact_table);
	values[FACT_FACT_TABLE - 1] = ObjectIdGetDatum(row->fact_table);
	values[FACT_QUEUE - 1] = ObjectIdGetDatum(row->queue);
	isnull[FACT_QUEUE - 1] = !OidIsValid(row->queue);
	values[FACT_SPARE - 1] = ObjectIdGetDatum(row->spare);
	isnull[FACT_SPARE - 1] = !OidIsValid(row->spare);
	insert_row("fact", values, isnull);
}

void
catalog_forget_fact(Oid fact_table)
{
	delete_by_oid("fact", "fact_pkey", FACT_FACT_TABLE, fact_table);
}

/*
 * catalog_count_skipped
 *		A row a statement: a counter to update would make all writers wait for
 *		each other.  When there are many, whoever comes next replaces those that
 *		nobody else is replacing by their sum.
 */
void
catalog_count_skipped(Oid index_table, int64 entries)
{
	Relation	rel = table_open(catalog_relid("skipped", false), RowExclusiveLock);
	List	   *rows = NIL;
	ListCell   *cell;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	Datum		values[3];
	bool		isnull[3] = {0};

	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(index_table));
	scan = systable_beginscan(rel, catalog_index(rel, "skipped_index_table"), true,
							  SnapshotSelf, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		rows = lappend(rows, heap_copytuple(tuple));
	systable_endscan(scan);

	if (list_length(rows) >= MAX_SKIPPED_ROWS)
	{
		foreach(cell, rows)
		{
			TM_FailureData failure;
			bool		null;

			tuple = lfirst(cell);
			if (table_tuple_delete(rel, &tuple->t_self, GetCurrentCommandId(true), InvalidSnapshot,
								   InvalidSnapshot, false, &failure, false) == TM_Ok)
				entries += DatumGetInt64(heap_getattr(tuple, 3, RelationGetDescr(rel), &null));
		}
	}
	table_close(rel, NoLock);

	values[0] = ObjectIdGetDatum(index_table);
	values[1] = TimestampTzGetDatum(GetCurrentTransactionStartTimestamp());
	values[2] = Int64GetDatum(entries);
	insert_row("skipped", values, isnull);
}

/* catalog_take_over: what was noted of one index table is of another */
void
catalog_take_over(Oid from, Oid to)
{
	static const char *const tables[] = {"skipped", "rejection"};
	int			i;

	for (i = 0; i < 2; i++)
	{
		run_sql(catalog_owner(), "DELETE FROM %s WHERE index_table = %u::regclass", catalog_table(tables[i]), to);
		run_sql(catalog_owner(), "UPDATE %s SET index_table = %u::regclass"
				" WHERE index_table = %u::regclass", catalog_table(tables[i]), to, from);
	}
}

void
catalog_forget_build(Oid index_table)
{
	delete_by_oid("build", "build_pkey", 1, index_table);
}

void
catalog_forget_rejections(Oid index_table)
{
	delete_by_oid("rejection", "rejection_index_table", 1, index_table);
}

/* catalog_has_rejections: whether rows of an index table are rejected */
bool
catalog_has_rejections(Oid index_table)
{
	Relation	rel = table_open(catalog_relid("rejection", false), AccessShareLock);
	SysScanDesc scan = scan_by_oid(rel, "rejection_index_table", 1, index_table);
	bool		found = HeapTupleIsValid(systable_getnext(scan));

	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

/* catalog_owner: the role that owns the extension's objects */
Oid
catalog_owner(void)
{
	Relation	rel = table_open(catalog_relid("definition", false), AccessShareLock);
	Oid			owner = rel->rd_rel->relowner;

	table_close(rel, AccessShareLock);
	return owner;
}
