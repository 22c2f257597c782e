/*-------------------------------------------------------------------------
 *
 * definition_rows.c
 *	  Reads and writes the catalog's definitions of index tables, and deletes what else the
 *	  catalog has of one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_type.h"
#include "storage/lmgr.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "../indextable.h"
#include "../place/place.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "catalog.h"

/* The number of rows of an index table in the table skipped that are replaced by their sum. */
#define MAX_SKIPPED_ROWS	100

/* The columns of the catalog's table definition. */
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
	DEF_SPARSE,
	DEF_NATTS_1_1 = DEF_REPLACES,	/* in version 1.1 */
	DEF_NATTS = DEF_SPARSE
};

const char *const strategy_names[] = {"normalized", "partial", "denormalized", "totals", NULL};
const char *const maintenance_names[] = {"transactional", "async", NULL};
const char *const mismatch_names[] = {"error", "skip", NULL};
const char *const state_names[] = {"building", "active", "invalid", NULL};

static int	value_named(Datum name, const char *const *names);
static void *read_definition(HeapTuple tuple, TupleDesc desc);
static void *read_hidden(HeapTuple tuple, TupleDesc desc);

/*
 * invalidate_definitions
 *		Sets index tables (DefinitionRow *) to invalid, with a warning for each that was not so
 *		already; why is a sentence for users.
 *
 * A replacement that rebuild() or alter() makes is set to invalid, too, but without a
 * warning, as users do not know of it.
 */
void
invalidate_definitions(List *definitions, const char *why)
{
	foreach_ptr(DefinitionRow, stored, definitions)
	{
		if (stored->state == STATE_INVALID)
			continue;
		if (!OidIsValid(stored->replaces))
			ereport(WARNING,
					(errcode(ERRCODE_WARNING),
					 errmsg("index table \"%s\" is now invalid", get_rel_name(stored->index_table)),
					 errdetail("%s", why),
					 errhint("To restore the triggers and to repair the entries, run %s", told_call("repair", stored->index_table))));
		catalog_set_state(stored->index_table, STATE_INVALID, why);
		CacheInvalidateRelcacheByRelid(stored->fact_table);
	}
}

/*
 * get_column_names_by_number
 *		Lists the names of a table's columns by number; that of a dropped one is empty.
 */
List *
get_column_names_by_number(Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);
	List	   *names = NIL;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		names = lappend(names, att->attisdropped ? "" : NameStr(att->attname));
	}
	return names;
}

/* catalog_insert: writes the row of a new index table */
void
catalog_insert(DefinitionRow *row, Relation fact)
{
	Datum		values[DEF_NATTS] = {0};
	bool		isnull[DEF_NATTS] = {0};

	values[DEF_INDEX_TABLE - 1] = ObjectIdGetDatum(row->index_table);
	values[DEF_FACT_TABLE - 1] = ObjectIdGetDatum(row->fact_table);
	values[DEF_FACT_OID - 1] = ObjectIdGetDatum(row->fact_table);
	values[DEF_FACT_COLUMNS - 1] = string_array(get_column_names_by_number(fact), NAMEOID);
	values[DEF_PRIMARY_KEY - 1] = string_array(row->primary_key, NAMEOID);
	if (row->document != NULL)
		values[DEF_DOCUMENT - 1] = DirectFunctionCall1(namein, CStringGetDatum(row->document));
	isnull[DEF_DOCUMENT - 1] = row->document == NULL;
	values[DEF_KEY - 1] = string_array(row->key, TEXTOID);
	values[DEF_INCLUDE - 1] = string_array(row->include, TEXTOID);
	isnull[DEF_INCLUDE - 1] = row->include == NIL;
	if (row->filter != NULL)
		values[DEF_FILTER - 1] = CStringGetTextDatum(row->filter);
	isnull[DEF_FILTER - 1] = row->filter == NULL;
	values[DEF_STRATEGY - 1] = CStringGetTextDatum(strategy_names[row->strategy]);
	values[DEF_MAINTENANCE - 1] = CStringGetTextDatum(maintenance_names[row->maintenance]);
	values[DEF_IS_UNIQUE - 1] = BoolGetDatum(row->is_unique);
	values[DEF_ON_MISMATCH - 1] = CStringGetTextDatum(mismatch_names[row->on_mismatch]);
	values[DEF_STATE - 1] = CStringGetTextDatum(state_names[row->state]);
	if (row->problem != NULL)
		values[DEF_PROBLEM - 1] = CStringGetTextDatum(row->problem);
	isnull[DEF_PROBLEM - 1] = row->problem == NULL;
	values[DEF_REPLACES - 1] = ObjectIdGetDatum(row->replaces);
	isnull[DEF_REPLACES - 1] = !OidIsValid(row->replaces);
	values[DEF_SPARSE - 1] = BoolGetDatum(row->sparse);
	insert_row("definition", values, isnull);
}

/* catalog_update: replaces the row of an index table */
void
catalog_update(DefinitionRow *row, Relation fact)
{
	delete_by_oid("definition", "definition_pkey", DEF_INDEX_TABLE, row->index_table);
	catalog_insert(row, fact);
}

/*
 * catalog_set_state
 *		Sets the state of an index table, and its problem, a sentence for users or NULL.
 *
 * Nothing else in the row changes, as names in it may be older than those of the tables.
 */
void
catalog_set_state(Oid index_table, IndexState state, const char *problem)
{
	Relation	rel = table_open(catalog_relid("definition", false), RowExclusiveLock);
	SysScanDesc scan = scan_by_oid(rel, "definition_pkey", DEF_INDEX_TABLE, index_table);
	HeapTuple	tuple;
	Datum		values[DEF_NATTS] = {0};
	bool		isnull[DEF_NATTS] = {0};
	bool		replace[DEF_NATTS] = {0};

	while (HeapTupleIsValid(tuple = systable_getnext(scan)) && !wait_for_row_writer(rel, tuple))
	{
		systable_endscan(scan);
		scan = scan_by_oid(rel, "definition_pkey", DEF_INDEX_TABLE, index_table);
	}
	if (HeapTupleIsValid(tuple))
	{
		values[DEF_STATE - 1] = CStringGetTextDatum(state_names[state]);
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

/*
 * catalog_is_current_version
 *		Returns whether the catalog's tables are those that this library works with, which are also
 *		those of version 1.1, whose index tables are sparse.
 *
 * If it is not, functions that read its rows raise an error.
 */
bool
catalog_is_current_version(void)
{
	return (catalog_table_has_columns("definition", DEF_NATTS) ||
			catalog_table_has_columns("definition", DEF_NATTS_1_1)) &&
		catalog_table_has_columns("fact", FACT_NATTS);
}

/*
 * value_named
 *		Returns the position of a value of the catalog in names, an array that is ended by NULL.  Constraints of
 *		the catalog allow no other values.
 */
static int
value_named(Datum name, const char *const *names)
{
	char	   *value = TextDatumGetCString(name);

	for (int i = 0; names[i] != NULL; i++)
		if (strcmp(value, names[i]) == 0)
			return i;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
			 errmsg("unexpected value in the catalog: \"%s\"", value),
			 errhint("Restore what was done to the table " IT_INTERNAL ".definition.")));
}

/* read_definition: reads a row of the table definition; for catalog_rows() */
static void *
read_definition(HeapTuple tuple, TupleDesc desc)
{
	DefinitionRow *row = palloc0(sizeof(DefinitionRow));
	Datum		values[DEF_NATTS];
	bool		isnull[DEF_NATTS];

	if (desc->natts != DEF_NATTS_1_1)
		check_version(desc, DEF_NATTS);
	heap_deform_tuple(tuple, desc, values, isnull);
	row->xmin = HeapTupleHeaderGetXmin(tuple->t_data);
	row->tid = tuple->t_self;
	row->fact_oid = DatumGetObjectId(values[DEF_FACT_OID - 1]);
	row->columns = array_strings(values[DEF_FACT_COLUMNS - 1], NAMEOID);
	row->primary_key = array_strings(values[DEF_PRIMARY_KEY - 1], NAMEOID);
	row->index_table = DatumGetObjectId(values[DEF_INDEX_TABLE - 1]);
	row->fact_table = DatumGetObjectId(values[DEF_FACT_TABLE - 1]);
	if (!isnull[DEF_DOCUMENT - 1])
		row->document = pstrdup(NameStr(*DatumGetName(values[DEF_DOCUMENT - 1])));
	row->key = array_strings(values[DEF_KEY - 1], TEXTOID);
	if (!isnull[DEF_INCLUDE - 1])
		row->include = array_strings(values[DEF_INCLUDE - 1], TEXTOID);
	if (!isnull[DEF_FILTER - 1])
		row->filter = TextDatumGetCString(values[DEF_FILTER - 1]);
	row->strategy = value_named(values[DEF_STRATEGY - 1], strategy_names);
	row->maintenance = value_named(values[DEF_MAINTENANCE - 1], maintenance_names);
	row->is_unique = DatumGetBool(values[DEF_IS_UNIQUE - 1]);
	row->on_mismatch = value_named(values[DEF_ON_MISMATCH - 1], mismatch_names);
	row->state = value_named(values[DEF_STATE - 1], state_names);
	if (!isnull[DEF_PROBLEM - 1])
		row->problem = TextDatumGetCString(values[DEF_PROBLEM - 1]);
	if (!isnull[DEF_REPLACES - 1])
		row->replaces = DatumGetObjectId(values[DEF_REPLACES - 1]);
	row->sparse = desc->natts < DEF_SPARSE || DatumGetBool(values[DEF_SPARSE - 1]);
	return row;
}

/*
 * catalog_read_definitions
 *		Lists the definitions (DefinitionRow *) of a fact table, or, if fact_table is
 *		InvalidOid, the one of an index table.
 *
 * They are in the order of the index tables' OIDs, normally that in which these were
 * made.  The order of the rows tells nothing, as an update moves a row.  Definitions that
 * do not fit the tables are left out; see validity.c.
 */
List *
catalog_read_definitions(Oid fact_table, Oid index_table)
{
	List	   *result = catalog_read_unchecked_definitions(fact_table, index_table);

	foreach_ptr(DefinitionRow, row, result)
	{
		if (!definition_matches_tables(row))
			result = foreach_delete_current(result, row);
	}
	return result;
}

/*
 * catalog_read_unchecked_definitions
 *		Lists the same definitions as catalog_read_definitions(), and those that do not fit
 *		the tables.
 */
List *
catalog_read_unchecked_definitions(Oid fact_table, Oid index_table)
{
	return OidIsValid(fact_table) ?
		catalog_rows("definition", "definition_fact_table", DEF_FACT_TABLE, fact_table, read_definition) :
		catalog_rows("definition", "definition_pkey", DEF_INDEX_TABLE, index_table, read_definition);
}

/*
 * catalog_definitions
 *		Lists all definitions (DefinitionRow *), also those that do not fit the tables.
 */
List *
catalog_definitions(void)
{
	return catalog_rows("definition", NULL, 0, InvalidOid, read_definition);
}

/* catalog_index_tables: lists the OIDs of all index tables */
List *
catalog_index_tables(void)
{
	List	   *result = NIL;

	foreach_ptr(DefinitionRow, row, catalog_definitions())
	{
		if (definition_matches_tables(row))
			result = lappend_oid(result, row->index_table);
	}
	return result;
}

/* keeps_totals: returns whether an index table is one of totals */
bool
keeps_totals(DefinitionRow *row)
{
	return row->strategy == STRATEGY_TOTALS;
}

/* is_async: returns whether an index table is to be maintained through the queue for good */
bool
is_async(DefinitionRow *row)
{
	return row->maintenance == MAINTENANCE_ASYNC;
}

/*
 * is_queued
 *		Returns whether an index table is maintained through the queue, for good or while it
 *		is built.
 */
bool
is_queued(DefinitionRow *row)
{
	return is_async(row) || row->state == STATE_BUILDING ||
		(OidIsValid(row->replaces) && row->state == STATE_INVALID);
}

/*
 * catalog_queued_definitions
 *		Returns the definitions of those index tables of a fact table that are maintained
 *		through its queue.
 */
List *
catalog_queued_definitions(Oid fact_table)
{
	List	   *definitions = catalog_read_definitions(fact_table, InvalidOid);

	foreach_ptr(DefinitionRow, row, definitions)
	{
		if (!is_queued(row))
			definitions = foreach_delete_current(definitions, row);
	}
	return definitions;
}

/*
 * catalog_has_transactional
 *		Returns whether a fact table has index tables that its writers maintain.
 */
bool
catalog_has_transactional(Oid fact_table)
{
	foreach_ptr(DefinitionRow, row, catalog_read_definitions(fact_table, InvalidOid))
	{
		if (!is_queued(row))
			return true;
	}
	return false;
}

/* stored_definition: returns the definition of an index table, or NULL if the table is not one */
DefinitionRow *
stored_definition(Oid index_table)
{
	List	   *rows = catalog_read_definitions(InvalidOid, index_table);

	return rows == NIL ? NULL : linitial(rows);
}

/*
 * catalog_fact_of
 *		Returns the fact table of an index table, or InvalidOid if the table is not one.
 */
Oid
catalog_fact_of(Oid index_table)
{
	DefinitionRow *stored = stored_definition(index_table);

	return stored == NULL ? InvalidOid : stored->fact_table;
}

/*
 * require_reader
 *		Raises an error if the current user may read nothing of an index table, and nothing of its fact
 *		table either.
 *
 * Readers call it before they lock anything: a user without rights must not hold up those with
 * rights. What exactly they may read is checked when the tables are locked.
 */
void
require_reader(Oid index_table)
{
	Oid			fact = catalog_fact_of(index_table);

	if (OidIsValid(fact) && get_rel_name(index_table) != NULL && get_rel_name(fact) != NULL &&
		!may_read_some(index_table) && !may_read_some(fact))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, get_rel_name(index_table));
}

/* is_building: returns whether an index table is yet to be filled */
bool
is_building(Oid index_table)
{
	DefinitionRow *stored = stored_definition(index_table);

	return stored != NULL && stored->state == STATE_BUILDING;
}

/* catalog_fact_in_use: returns whether a table has index tables, or a feed */
bool
catalog_fact_in_use(Oid fact_table)
{
	return catalog_read_definitions(fact_table, InvalidOid) != NIL || catalog_is_feed(fact_table);
}

/*
 * catalog_forget_index_table
 *		Deletes what the catalog has of an index table, which may have been dropped;
 *		returns its fact table, or InvalidOid if the table is not an index table.
 */
Oid
catalog_forget_index_table(Oid index_table)
{
	Oid			fact = catalog_fact_of(index_table);

	if (OidIsValid(fact))
		catalog_forget_definition(index_table);
	return fact;
}

/* catalog_forget_definition: deletes all rows of an index table in all tables of the catalog */
void
catalog_forget_definition(Oid index_table)
{
	delete_by_oid("definition", "definition_pkey", DEF_INDEX_TABLE, index_table);
	catalog_forget_skipped(index_table);
	delete_by_oid("checked", "checked_index_table", 1, index_table);
	delete_by_oid("counted", "counted_pkey", 1, index_table);
	delete_by_oid("completeness", "completeness_index_table", 1, index_table);
	delete_by_oid("hidden", "hidden_index_table", 1, index_table);
	delete_by_oid("timeline", "timeline_pkey", 1, index_table);
	catalog_forget_rejections(index_table);
	catalog_forget_build(index_table);
}

/*
 * catalog_set_hidden
 *		Hides an index table from plain SQL, or no more.
 *
 * Two transactions that hide it at once both insert a row, which means the same as one.
 */
void
catalog_set_hidden(Oid index_table, bool hidden)
{
	Datum		values[] = {ObjectIdGetDatum(index_table)};
	bool		isnull[] = {false};

	if (!hidden)
		(void) delete_by_oid("hidden", "hidden_index_table", 1, index_table);
	else if (!list_member_oid(catalog_hidden(), index_table))
		insert_row("hidden", values, isnull);
}

/* catalog_hidden: lists the OIDs of the index tables that are hidden; there are few, if any */
List *
catalog_hidden(void)
{
	List	   *result = NIL;

	foreach_ptr(Oid, index_table, catalog_rows("hidden", NULL, 0, InvalidOid, read_hidden))
		result = lappend_oid(result, *index_table);
	return result;
}

/* read_hidden: reads a row of the table hidden; for catalog_rows() */
static void *
read_hidden(HeapTuple tuple, TupleDesc desc)
{
	Oid		   *result = palloc(sizeof(Oid));
	bool		isnull;

	*result = DatumGetObjectId(heap_getattr(tuple, 1, desc, &isnull));
	return result;
}

/*
 * catalog_count_skipped
 *		Adds to the number of entries that an index table lacks because they were skipped.
 *
 * Each statement inserts a row, as a single counter would make all writers wait for each
 * other.  When there are many rows, they are replaced by their sum, except for those that
 * another transaction is replacing at the same time.  Those of a part are counted with the others of the
 * whole table on this server.
 */
void
catalog_count_skipped(Oid index_table, int64 entries)
{
	Oid			whole = place_table_of_part(index_table);
	Relation	rel = table_open(catalog_relid("skipped", false), RowExclusiveLock);
	List	   *rows = NIL;
	ListCell   *cell;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	Datum		values[3];
	bool		isnull[3] = {0};

	if (OidIsValid(whole))
		index_table = whole;
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
			if (table_tuple_delete_compat(rel, &tuple->t_self, GetCurrentCommandId(true), false,
										  &failure) == TM_Ok)
				entries += DatumGetInt64(heap_getattr(tuple, 3, RelationGetDescr(rel), &null));
		}
	}
	table_close(rel, NoLock);

	values[0] = ObjectIdGetDatum(index_table);
	values[1] = TimestampTzGetDatum(GetCurrentTransactionStartTimestamp());
	values[2] = Int64GetDatum(entries);
	insert_row("skipped", values, isnull);
}

/*
 * catalog_forget_skipped
 *		Forgets how many entries were skipped, of an index table that lacks none.
 */
void
catalog_forget_skipped(Oid index_table)
{
	delete_by_oid("skipped", "skipped_index_table", 1, index_table);
}

/*
 * catalog_reassign_rows
 *		Gives what is noted of skipped entries and rejected rows of one index table to
 *		another.
 */
void
catalog_reassign_rows(Oid from, Oid to)
{
	static const char *const tables[] = {"skipped", "rejection"};

	for (int i = 0; i < 2; i++)
	{
		run_sql(get_extension_owner(), "DELETE FROM %s WHERE index_table = %u::regclass",
				catalog_table(tables[i]), to);
		run_sql(get_extension_owner(), "UPDATE %s SET index_table = %u::regclass"
				" WHERE index_table = %u::regclass", catalog_table(tables[i]), to, from);
	}
}

/* catalog_forget_build: deletes how far the build of an index table has come */
void
catalog_forget_build(Oid index_table)
{
	delete_by_oid("build", "build_pkey", 1, index_table);
}

/* catalog_forget_rejections: deletes the rows that an index table has rejected */
void
catalog_forget_rejections(Oid index_table)
{
	delete_by_oid("rejection", "rejection_index_table", 1, index_table);
}

/* catalog_has_rejections: returns whether an index table has rejected rows */
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

/*
 * check_place_of_index_table
 *		Raises an error if a registered index table, or its fact table, has become a table of
 *		Citus.
 */
void
check_place_of_index_table(Oid index_table)
{
	DefinitionRow *stored = stored_definition(index_table);

	if (stored != NULL)
		place_report_problem(get_rel_name(index_table),
							 place_problem(stored->fact_table, index_table, is_queued(stored)));
}
