/*-------------------------------------------------------------------------
 *
 * row_fetch.c
 *	  Fetches the fact rows of entries, and returns them or their documents.
 *
 * A row is fetched directly, by the primary key of its table.  Where row security
 * applies to the fact table, a plan of the executor fetches it.  Rows on other
 * servers are gathered and fetched by one statement.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "../definition/definition.h"
#include "../entry/entry.h"
#include "../fact/fact.h"
#include "../fetch/fetch.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/as_owner.h"
#include "../util/fixed_settings.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "lookup.h"

static void fetch_here(Lookup *lookup, Datum *key, ItemPointer place);
static Oid	partition_on_other_server(Lookup *lookup, Datum *key);
static void begin_foreign_batch(Lookup *lookup);
static void begin_reading(Lookup *lookup);
static void fetch_directly(Lookup *lookup, Datum *key, ItemPointer place);
static bool find_rows(Lookup *lookup, Datum *key, ItemPointer place);
static void put_rows(Lookup *lookup, List *rows);
static bool matches(Lookup *lookup, TupleTableSlot *row);
static void fetch_secured(Lookup *lookup, Datum *key);
static Datum row_as_document(Lookup *lookup, TupleTableSlot *row);
static void put_row(Lookup *lookup, TupleTableSlot *row);

/*
 * lookup_fetch
 *		Returns the row of an entry, or its document.  From the first row on that is on
 *		another server, all are left to fetch_pending_rows(), which returns them in their
 *		order.
 */
void
lookup_fetch(Lookup *lookup, TupleTableSlot *entry)
{
	Datum		key[INDEX_MAX_KEYS];
	Oid			partition;
	bool		isnull;

	if (lookup->copies)
	{
		Datum		document = slot_getattr(entry, lookup->def->layout.doc_attno, &isnull);

		tuplestore_putvalues(lookup->store, lookup->desc, &document, &isnull);
		return;
	}
	key_of_entry(lookup->def, entry, key);
	partition = partition_on_other_server(lookup, key);
	if (lookup->gathering == NULL && OidIsValid(partition))
		begin_foreign_batch(lookup);
	if (lookup->gathering != NULL)
		elsewhere->rows->gather_add(lookup->gathering, key, partition);
	else
		fetch_here(lookup, key, place_of_row(lookup->def, entry));
}

/*
 * fetch_here
 *		Returns a row that is on this server, by its primary key, and by its place if that is
 *		known.
 */
static void
fetch_here(Lookup *lookup, Datum *key, ItemPointer place)
{
	if (lookup->secured)
		fetch_secured(lookup, key);
	else
		fetch_directly(lookup, key, place);
}

/*
 * partition_on_other_server
 *		Returns the partition that has the row with a primary key, if there is one, if it is
 *		on another server; else InvalidOid.
 */
static Oid
partition_on_other_server(Lookup *lookup, Datum *key)
{
	/*
	 * Rows of a distributed table are in shards, wherever these are: Citus
	 * knows.
	 */
	if (lookup->factdef->place->in_parts)
		return lookup->factdef->relid;

	/*
	 * A partitioned table that has a primary key has no partitions on other
	 * servers.
	 */
	if (!lookup->factdef->layout.partitioned || OidIsValid(lookup->factdef->layout.pk_index))
		return InvalidOid;
	if (lookup->secured)
	{
		Oid			partition = route_key(lookup->factdef, lookup->fact, key);

		return elsewhere->has(partition) ? partition : InvalidOid;
	}
	begin_reading(lookup);
	return live_scan_is_elsewhere(&lookup->fact_rows, key) ?
		RelationGetRelid(lookup->fact_rows.current->rel) : InvalidOid;
}

/* begin_foreign_batch: begins to gather the primary keys of rows on other servers */
static void
begin_foreign_batch(Lookup *lookup)
{
	RowRequest	request = {.def = lookup->factdef,.relid = lookup->factdef->relid,.secured = lookup->secured};

	request.columns = lookup_reads_whole_rows(lookup) ? NULL : lookup->def->spec.used;
	lookup->gathering = elsewhere->rows->gather(&request);
}

/* begin_reading: begins to fetch rows directly, unless that has begun */
static void
begin_reading(Lookup *lookup)
{
	LiveScanOptions options = {0};

	if (lookup->reading)
		return;
	options.columns = lookup_reads_whole_rows(lookup) ? RelationGetNumberOfAttributes(lookup->fact) :
		lookup->def->spec.fact_document;
	live_scan_begin(&lookup->fact_rows, lookup->factdef, lookup->fact, lookup->snapshot, &options);
	lookup->reading = true;
}

/*
 * fetch_directly
 *		Returns the row, or rows, with a primary key that the snapshot sees.
 *
 * If there is none, it may be in a partition that was attached by a transaction that the
 * snapshot sees, but whose news have not come yet.  A look-up makes sure of that once.
 */
static void
fetch_directly(Lookup *lookup, Datum *key, ItemPointer place)
{
	begin_reading(lookup);
	if (find_rows(lookup, key, place) || !lookup->factdef->layout.partitioned || lookup->caught_up)
		return;
	refresh_partition_lists(lookup->fact);
	lookup->caught_up = true;
	(void) find_rows(lookup, key, place);
}

/* find_rows: returns whether the snapshot sees a row with a primary key; puts it, or all of them */
static bool
find_rows(Lookup *lookup, Datum *key, ItemPointer place)
{
	TupleTableSlot *row;
	bool		found = false;

	if (!lookup->ambiguous)
	{
		row = live_scan_only(&lookup->fact_rows, key, place);
		if (row != NULL && (!lookup->recheck || matches(lookup, row)))
			put_row(lookup, row);
		return row != NULL;
	}
	for (row = live_scan_first(&lookup->fact_rows, key); row != NULL; row = live_scan_next(&lookup->fact_rows))
	{
		found = true;
		if (!lookup->recheck || matches(lookup, row))
			put_row(lookup, row);
	}
	return found;
}

/*
 * fetch_pending_rows
 *		Returns the rows of the entries from the first one on whose row is on another
 *		server.  Those on other servers are fetched by one statement, as the current
 *		user.  They may have another key by now, since what is written directly over
 *		there is not noticed here, so it is checked.
 */
void
fetch_pending_rows(Lookup *lookup)
{
	Datum	   *key;
	bool		here;
	List	   *rows;

	elsewhere->rows->gather_run(lookup->gathering);
	while (elsewhere->rows->gather_next(lookup->gathering, &key, &here, &rows))
	{
		CHECK_FOR_INTERRUPTS();
		if (here)
			fetch_here(lookup, key, NULL);
		else
			put_rows(lookup, rows);
	}
}

/*
 * put_rows
 *		Returns those rows with one primary key that have the key looked up.  The rows
 *		came from another server, as MinimalTuples.
 */
static void
put_rows(Lookup *lookup, List *rows)
{
	TupleTableSlot *row = MakeSingleTupleTableSlot(lookup->factdef->layout.desc, &TTSOpsMinimalTuple);

	foreach_ptr(MinimalTupleData, stored, rows)
	{
		ExecStoreMinimalTuple(stored, row, false);
		if (matches(lookup, row))
			put_row(lookup, row);
	}
	ExecDropSingleTupleTableSlot(row);
}

/*
 * matches
 *		Returns whether a version of a row has the entry, or an entry with a key, that is
 *		looked up.
 */
static bool
matches(Lookup *lookup, TupleTableSlot *row)
{
	FactRow		version;
	Entries		entries;

	factrow_init(&version, lookup->factdef, row);
	entries_init(&entries, lookup->def);
	extract_entries(lookup->def, &version, false, &entries);
	for (int i = 0; i < entries.n; i++)
	{
		Datum	   *values = ENTRY_VALUES(&entries, i);
		bool	   *isnull = ENTRY_NULLS(&entries, i);

		if (lookup->entry == NULL ? key_set_has(lookup->def, &lookup->keys, values, isnull) :
			compare_identity(lookup->def, values, isnull, lookup->entry->tts_values,
							 lookup->entry->tts_isnull) == 0)
			return true;
	}
	return false;
}

/*
 * fetch_secured
 *		Returns the rows with a primary key that a plain query of the current user would, by
 *		all policies.
 */
static void
fetch_secured(Lookup *lookup, Datum *key)
{
	FactDef    *factdef = lookup->factdef;
	TupleDesc	desc = RelationGetDescr(lookup->fact);
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable secured rows",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Rows		rows;

	if (lookup->plan == NULL)
	{
		Oid		   *types = palloc(sizeof(Oid) * factdef->layout.npk);
		StringInfoData sql;

		/* The server plans it with what is cached of the partitions. */
		if (factdef->layout.partitioned)
			refresh_partition_lists(lookup->fact);
		initStringInfo(&sql);
		/* "f" alone would be a column of this name. */
		appendStringInfo(&sql, "SELECT (f.*)::%1$s FROM %2$s%1$s f WHERE ", quoted_relation(factdef->relid),
						 factdef->layout.partitioned ? "" : "ONLY ");
		for (int i = 0; i < factdef->layout.npk; i++)
		{
			Form_pg_attribute att = TupleDescAttr(desc, factdef->layout.pk_attno[i] - 1);
			Oid			type = getBaseType(att->atttypid);
			char	   *column = psprintf("f.%s", quote_identifier(NameStr(att->attname)));

			if (i > 0)
				appendStringInfoString(&sql, " AND ");
			types[i] = type;
			generate_operator_clause(&sql, as_base_type(column, att->atttypid), type,
									 get_equality_operator(type), psprintf("$%d", i + 1), type);
		}
		lookup->plan = keep_query(factdef->relid, sql.data, factdef->layout.npk, types);
	}
	rows = query_by_plan(factdef->relid, lookup->plan, key, lookup->snapshot);

	/*
	 * The query is parsed again when something has changed, and policies may
	 * change anything.
	 */
	if (TupleDescAttr(rows.desc, 0)->atttypid != lookup->fact->rd_rel->reltype)
		report_renamed(factdef->name);
	for (uint64 n = 0; n < rows.n; n++)
	{
		TupleTableSlot *row = MakeSingleTupleTableSlot(desc, &TTSOpsHeapTuple);

		ExecStoreHeapTupleDatum(row_value(&rows, n, 1), row);
		if (!lookup->recheck || matches(lookup, row))
			put_row(lookup, row);
		ExecDropSingleTupleTableSlot(row);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
}

/*
 * lookup_expect
 *		Notes an entry whose document lookup_document() will be asked for, so that the
 *		rows on other servers are fetched together.
 */
void
lookup_expect(Lookup *lookup, TupleTableSlot *entry)
{
	Datum		key[INDEX_MAX_KEYS];
	Oid			partition;

	key_of_entry(lookup->def, entry, key);
	partition = partition_on_other_server(lookup, key);
	if (!OidIsValid(partition))
		return;
	if (lookup->gathering == NULL)
		begin_foreign_batch(lookup);
	elsewhere->rows->gather_add(lookup->gathering, key, partition);
}

/*
 * lookup_document
 *		Gets the document of one entry, in lookup->cxt, after lookup_expect() was called
 *		for the entry.  Returns false if there is no row, or none that the current user
 *		may see, or, where entries are rechecked, none that has this entry.
 */
bool
lookup_document(Lookup *lookup, TupleTableSlot *entry, Datum *document)
{
	Datum		key[INDEX_MAX_KEYS];

	slot_getallattrs(entry);
	lookup->entry = entry;
	lookup->found = false;
	key_of_entry(lookup->def, entry, key);
	if (lookup->gathering != NULL && OidIsValid(partition_on_other_server(lookup, key)))
	{
		List	   *rows = NIL;

		if (!lookup->gathered)
			elsewhere->rows->gather_run(lookup->gathering);
		lookup->gathered = true;
		(void) elsewhere->rows->gather_find(lookup->gathering, key, &rows);
		put_rows(lookup, rows);
	}
	else
		fetch_here(lookup, key, place_of_row(lookup->def, entry));
	*document = lookup->document;
	return lookup->found;
}

/* lookup_end_documents: releases what fetching rows has opened */
void
lookup_end_documents(Lookup *lookup)
{
	if (lookup->reading)
		live_scan_end(&lookup->fact_rows);
	if (lookup->plan != NULL)
		SPI_freeplan(lookup->plan);
}

/*
 * lookup_reads_whole_rows
 *		Returns whether all columns of fact rows are returned, maybe as documents.
 */
bool
lookup_reads_whole_rows(Lookup *lookup)
{
	return lookup->rows || lookup->def->spec.fact_document == NO_DOCUMENT;
}

/*
 * row_as_document
 *		Returns a row as to_jsonb() does, in memory that is kept until the next row.
 *
 * A type of a user may have a cast to JSON, which is code of that user: it runs as the owner, under
 * the session's settings of values, as to_jsonb() shows times in its time zone.
 */
static Datum
row_as_document(Lookup *lookup, TupleTableSlot *row)
{
	TupleDesc	desc = row->tts_tupleDescriptor;
	Oid			owner = InvalidOid;
	MemoryContext old;
	Datum		result;

	if (!OidIsValid(lookup->to_jsonb.fn_oid))
	{
		lookup->row_cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable row", ALLOCSET_DEFAULT_SIZES);
		fmgr_info(F_TO_JSONB, &lookup->to_jsonb);
		fmgr_info_set_expr((Node *) makeFuncExpr(F_TO_JSONB, JSONBOID,
												 list_make1(makeNullConst(desc->tdtypeid, -1, InvalidOid)),
												 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL),
						   &lookup->to_jsonb);
	}
	MemoryContextReset(lookup->row_cxt);
	old = MemoryContextSwitchTo(lookup->row_cxt);
	slot_getallattrs(row);
	for (int i = 0; i < desc->natts; i++)
	{
		if (TupleDescAttr(desc, i)->atttypid >= FirstNormalObjectId)
			owner = lookup->factdef->owner;
	}
	AS_OWNER_WITH(owner, false);
	{
		if (OidIsValid(owner))
			fix_code_gucs();
		result = FunctionCall1(&lookup->to_jsonb,
							   HeapTupleGetDatum(heap_form_tuple(desc, row->tts_values, row->tts_isnull)));
	}
	END_AS_OWNER();
	MemoryContextSwitchTo(old);
	return result;
}

/*
 * put_row
 *		Adds a row, or its document, to the result, or keeps the document for
 *		lookup_document().
 */
static void
put_row(Lookup *lookup, TupleTableSlot *row)
{
	/*
	 * Values are copied, not the stored row, which may lack columns that were
	 * added later.
	 */
	if (lookup->rows)
	{
		slot_getallattrs(row);
		tuplestore_putvalues(lookup->store, lookup->desc, row->tts_values, row->tts_isnull);
	}
	else
	{
		bool		isnull = false;
		Datum		document = lookup->def->spec.fact_document == NO_DOCUMENT ? row_as_document(lookup, row) :
			slot_getattr(row, lookup->def->spec.fact_document, &isnull);

		if (lookup->store != NULL)
			tuplestore_putvalues(lookup->store, lookup->desc, &document, &isnull);
		else if (!isnull)
		{
			MemoryContext old = MemoryContextSwitchTo(lookup->cxt);

			lookup->document = PointerGetDatum(PG_DETOAST_DATUM_COPY(document));
			lookup->found = true;
			MemoryContextSwitchTo(old);
		}
	}
}
