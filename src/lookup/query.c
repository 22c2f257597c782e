/*-------------------------------------------------------------------------
 *
 * query.c
 *	  Implements indextable.query(), which returns a page of an index table in its
 *	  order.
 *
 * Whether the caller may read the entries is checked as for lookup().  Then they are
 * searched for as the owner, since functions of the owner may compare them or write
 * their values.  Documents are fetched as the caller, with the functions that lookup()
 * uses.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rls.h"

#include "../entry/entry.h"
#include "../fetch/fetch.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/arguments.h"
#include "../util/as_owner.h"
#include "../util/sql.h"
#include "lookup.h"

PG_FUNCTION_INFO_V1(indextable_query);

#define MAX_PAGE_SIZE	10000

/* A query for a page, and the search for its entries. */
typedef struct PageQuery
{
	Lookup		lookup;			/* fetches the documents */
	IndexDef   *def;
	KeyRange	range;
	bool		descending;		/* the order of the list of which this is a
								 * page */
	bool		backward;		/* the entries are read in descending order */
	int			page_size;
	char	   *cursor;			/* NULL: the first page, or the last one */
	CursorIdentity identity;

	/* The search. */
	AttrNumber *columns;		/* an entry's columns */
	int			ncolumns;
	Bitmapset  *wanted;			/* columns that the scan reads */
	Datum		after[INDEX_MAX_KEYS];	/* the values of the cursor, by their
										 * place in the order */
	bool		after_null[INDEX_MAX_KEYS]; /* which of them are NULL */
	bool		resuming;		/* the search begins after them */
	bool		stepwise;		/* by several searches: see next_after() */
	int			level;			/* the place in the order of the column that
								 * the search compares with the cursor's */
	bool		level_null;		/* NULL is searched for in that column */
	int			key;			/* the number of the key that is searched for */
	int			nkeys;			/* equal values, and where to begin and end */
	ScanKeyData keys[INDEX_MAX_KEYS + 2];
	RowComparison rows[2];		/* has what they point to */
	int			nrows;
	EntryScan	scan;
	int			found;			/* number of entries of the page that were
								 * read */
} PageQuery;

/*
 * A row of a page that is returned later: its document is still to be fetched, or other rows
 * come before it.
 */
typedef struct PageRow
{
	MinimalTuple entry;
	Datum		values[3];		/* the entry as JSON, its document if it has a
								 * copy, its cursor */
	bool		isnull[3];
} PageRow;

static void read_arguments(FunctionCallInfo fcinfo, PageQuery *query);
static void run_query(PageQuery *query, ReturnSetInfo *rsinfo);
static void read_page(PageQuery *query, MemoryContext row_cxt, PageRow *rows, ReturnSetInfo *rsinfo);
static void keep_row(TupleTableSlot *entry, Datum *values, bool *isnull, PageRow *row);
static PageRow *row_of_page(PageQuery *query, PageRow *rows, int i);
static void return_rows(PageQuery *query, PageRow *rows, bool fetch, ReturnSetInfo *rsinfo);
static void check_row_security(PageQuery *query);
static bool page_search_begin(PageQuery *query);
static void page_search_start(PageQuery *query);
static TupleTableSlot *page_search_next(PageQuery *query);
static int	cursor_key(PageQuery *query);
static bool has_condition(PageQuery *query);
static bool begin_after(PageQuery *query);
static bool next_after(PageQuery *query);
static void begin_scan(PageQuery *query);
static void set_key(PageQuery *query);
static void set_range(PageQuery *query);
static void add_after(PageQuery *query, Relation index);
static void add_bound(PageQuery *query, Relation index, Bound *bound, bool lower);
static StrategyNumber bound_strategy(Bound *bound, bool lower);
static void check_cursor_within(PageQuery *query, Bound *bound, bool lower);
static void add_comparison(PageQuery *query, Relation index, int first, int n, StrategyNumber strategy,
						   Datum *values);
pg_noreturn static void position_error(const char *detail);
static void choose_columns(PageQuery *query);
static bool has_prefix(PageQuery *query, TupleTableSlot *entry);
static bool page_search_next_key(PageQuery *query);

/* indextable_query: returns the entries, documents and cursors of a page */
Datum
indextable_query(PG_FUNCTION_ARGS)
{
	PageQuery	query = {0};

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(ARG_INDEX_TABLE) || PG_ARGISNULL(ARG_KEY))
		return (Datum) 0;
	read_arguments(fcinfo, &query);
	query.lookup.shows_entries = true;
	query.lookup.entries_only = PG_ARGISNULL(ARG_DOCUMENT) || !PG_GETARG_BOOL(ARG_DOCUMENT);
	lookup_open(&query.lookup, PG_GETARG_OID(ARG_INDEX_TABLE),
				interval_arg(fcinfo, ARG_MAX_LAG, "max_lag"),
				interval_arg(fcinfo, ARG_TIMEOUT, "timeout"));
	query.def = query.lookup.def;
	lookup_check_access(&query.lookup);
	key_range(query.def, PG_GETARG_JSONB_P(ARG_KEY),
			  PG_ARGISNULL(ARG_CONDITION) ? NULL : PG_GETARG_JSONB_P(ARG_CONDITION), &query.range);
	if (!query.range.empty)
		run_query(&query, (ReturnSetInfo *) fcinfo->resultinfo);
	lookup_close(&query.lookup);
	return (Datum) 0;
}

/* read_arguments: reads the arguments of the page; NULL means the default */
static void
read_arguments(FunctionCallInfo fcinfo, PageQuery *query)
{
	bool		previous = !PG_ARGISNULL(ARG_PREVIOUS) && PG_GETARG_BOOL(ARG_PREVIOUS);

	query->descending = !PG_ARGISNULL(ARG_DESCENDING) && PG_GETARG_BOOL(ARG_DESCENDING);
	query->backward = (query->descending != previous);
	query->page_size = PG_ARGISNULL(ARG_PAGE_SIZE) ? 100 : PG_GETARG_INT32(ARG_PAGE_SIZE);
	query->cursor = text_arg(fcinfo, ARG_CURSOR, NULL);
	/* What a parameter of a URL is that was left empty. */
	if (query->cursor != NULL && query->cursor[0] == '\0')
		query->cursor = NULL;
	if (query->page_size < 1 || query->page_size > MAX_PAGE_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("page_size must be between 1 and %d", MAX_PAGE_SIZE)));
}

/*
 * run_query
 *		Reads the entries and makes the cursors as the owner.  Documents, unless the index
 *		table has copies, are fetched afterwards, as the caller.
 */
static void
run_query(PageQuery *query, ReturnSetInfo *rsinfo)
{
	MemoryContext row_cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable entry",
												  ALLOCSET_DEFAULT_SIZES);
	bool		fetch = !query->lookup.entries_only && !query->lookup.copies;
	PageRow    *rows = NULL;

	if (fetch || query->backward != query->descending)
		rows = palloc(sizeof(PageRow) * query->page_size);
	check_row_security(query);
	AS_OWNER(query->def->fact->owner);
	{
		read_page(query, row_cxt, rows, rsinfo);
	}
	END_AS_OWNER();
	if (rows != NULL)
		return_rows(query, rows, fetch, rsinfo);
	MemoryContextDelete(row_cxt);
}

/*
 * read_page
 *		Reads the entries of a page, and returns the rows, or keeps them unless rows is NULL.
 */
static void
read_page(PageQuery *query, MemoryContext row_cxt, PageRow *rows, ReturnSetInfo *rsinfo)
{
	int			from;
	TupleTableSlot *entry;

	if (!page_search_begin(query))
		return;
	from = cursor_from(&query->range);
	page_search_start(query);
	while ((entry = page_search_next(query)) != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(row_cxt);
		Datum		values[3] = {0};
		bool		isnull[3] = {false, true, false};

		values[0] = columns_to_jsonb(InvalidOid, entry, query->columns, query->ncolumns);
		values[2] = cursor_make(&query->identity, query->def, from, entry);
		if (query->lookup.copies)
			values[1] = slot_getattr(entry, query->def->layout.doc_attno, &isnull[1]);
		MemoryContextSwitchTo(old);
		if (rows == NULL)
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, isnull);
		else
			keep_row(entry, values, isnull, &rows[query->found - 1]);
		MemoryContextReset(row_cxt);
	}
	entry_scan_end(&query->scan);
}

/* keep_row: keeps a row until it is returned */
static void
keep_row(TupleTableSlot *entry, Datum *values, bool *isnull, PageRow *row)
{
	row->entry = ExecCopySlotMinimalTuple(entry);
	for (int i = 0; i < 3; i++)
	{
		row->isnull[i] = isnull[i];
		row->values[i] = isnull[i] ? (Datum) 0 : datumCopy(values[i], false, -1);
	}
}

/* row_of_page: returns row number i of the page, whose rows may have been read from its end on */
static PageRow *
row_of_page(PageQuery *query, PageRow *rows, int i)
{
	return &rows[query->backward == query->descending ? i : query->found - 1 - i];
}

/*
 * return_rows
 *		Returns the rows that were kept, and fetches their documents, if these are wanted, all
 *		of them together.
 */
static void
return_rows(PageQuery *query, PageRow *rows, bool fetch, ReturnSetInfo *rsinfo)
{
	TupleTableSlot *entry = MakeSingleTupleTableSlot(query->def->layout.desc, &TTSOpsMinimalTuple);
	MemoryContext row_cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable document",
												  ALLOCSET_DEFAULT_SIZES);

	for (int i = 0; fetch && i < query->found; i++)
	{
		ExecStoreMinimalTuple(row_of_page(query, rows, i)->entry, entry, false);
		lookup_expect(&query->lookup, entry);
	}
	for (int i = 0; i < query->found; i++)
	{
		PageRow    *row = row_of_page(query, rows, i);

		CHECK_FOR_INTERRUPTS();
		if (fetch)
		{
			ExecStoreMinimalTuple(row->entry, entry, false);
			query->lookup.cxt = row_cxt;
			row->isnull[1] = !lookup_document(&query->lookup, entry, &row->values[1]);
		}
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, row->values, row->isnull);
		MemoryContextReset(row_cxt);
	}
	lookup_end_documents(&query->lookup);
	ExecDropSingleTupleTableSlot(entry);
	MemoryContextDelete(row_cxt);
}

/*
 * check_row_security
 *		Raises an error if row security of the index table applies to the owner, as whom it is
 *		read.
 */
static void
check_row_security(PageQuery *query)
{
	if (check_enable_rls(query->def->relid, query->lookup.factdef->owner, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("row security of index table \"%s\" is not supported", query->def->name),
				 errhint("Enable row security on the fact table instead.")));
}

/*-------------------------------------------------------------------------
 * Searches an index table for the entries of a page.
 *
 * The index table's primary key is searched for entries with the values of the key,
 * from where the last page ended, or where the condition begins, to where it ends; of
 * several keys, for one after the other.  A page before another one is read in the
 * opposite direction.  All of it is part of the search, so that nothing is read before
 * the page begins or after it ends; only texts that begin alike may lie among others,
 * which are left out.
 *-------------------------------------------------------------------------
 */

/*
 * page_search_begin
 *		Prepares to search for the entries of a page.  Returns false if the page cannot have
 *		any; otherwise the search is to be started, and query->scan to be ended.
 *
 * The current user is the owner of the fact table, as functions of types are called:
 * they compare values, and read those in the cursor.
 */
static bool
page_search_begin(PageQuery *query)
{
	IndexDef   *def = query->def;
	KeySet	   *set = &query->range.keys;

	cursor_identity(def, &query->range, query->descending, &query->identity);
	query->key = query->backward ? set->n - 1 : 0;
	if (query->cursor != NULL)
	{
		cursor_read(query->cursor, &query->identity, def, cursor_from(&query->range), query->after,
					query->after_null);
		query->key = cursor_key(query);
		check_cursor_within(query, query->backward ? &query->range.upper : &query->range.lower, !query->backward);

		query->resuming = begin_after(query);
		if (!query->resuming)
			query->key += query->backward ? -1 : 1;
	}
	if (query->key < 0 || query->key >= set->n)
		return false;
	choose_columns(query);
	begin_scan(query);
	return true;
}

/* cursor_key: returns the number of the key of the cursor's entry */
static int
cursor_key(PageQuery *query)
{
	KeySet	   *set = &query->range.keys;
	int			i;

	/* The cursor does not have what is the same in all entries. */
	if (set->n == 1)
		return 0;
	i = key_set_find(query->def, set, query->after, query->after_null);
	if (i < 0)
		position_error("Its position is outside the key.");
	return i;
}

/*
 * has_condition
 *		Returns whether there is a condition on the field after the key, which NULL does not
 *		satisfy.
 */
static bool
has_condition(PageQuery *query)
{
	return query->range.lower.given || query->range.upper.given || query->range.prefix != NULL;
}

/*
 * begin_after
 *		Has the search begin after the cursor; returns false if nothing with its key comes after it, as
 *		if the key has all columns of the order.
 */
static bool
begin_after(PageQuery *query)
{
	IndexDef   *def = query->def;
	int			from = query->range.keys.ncolumns;

	query->stepwise = !def->layout.has_primary_key;
	for (int i = from; i < def->layout.nsearch; i++)
		query->stepwise |= query->after_null[i];
	query->level = !query->stepwise ? from :
		def->layout.nident > def->layout.nleading ? def->layout.nsearch - 1 :
		def->spec.nkeys;
	if (query->level >= def->layout.nsearch || (!query->backward && query->after_null[query->level]))
		return next_after(query);
	return true;
}

/*
 * next_after
 *		Goes on to the next of the searches that together find what comes after the cursor; returns
 *		false if there is none.
 *
 * A comparison of rows is not true of an entry whose NULL decides it.  So where key fields may be NULL,
 * which comes last, the first search is for entries that are equal to the cursor in all of them and
 * have a greater primary key; or, where included fields follow that, that are equal in all columns but
 * the last.  The next ones are for those that are equal in all but the last field and have a greater
 * value there, or NULL; and so on to the field that follows the key.  Backward they are for those with
 * a lesser value, which all values are if the cursor has NULL.
 */
static bool
next_after(PageQuery *query)
{
	IndexDef   *def = query->def;
	int			from = query->range.keys.ncolumns;
	bool		may_be_null =
		(query->level < def->spec.nkeys ? !def->spec.sparse :
		 query->level >= def->layout.nleading && query->level < def->layout.nsearch) &&
		!(query->level == from && has_condition(query));

	if (!query->stepwise)
		return false;
	if (!query->backward && may_be_null && !query->level_null && !query->after_null[query->level])
	{
		query->level_null = true;
		return true;
	}
	query->level_null = false;
	while (--query->level >= from)
	{
		if (query->backward || !query->after_null[query->level])
			return true;
	}
	return false;
}

/* begin_scan: prepares a scan for the key that is searched for, with the range that follows it */
static void
begin_scan(PageQuery *query)
{
	IndexDef   *def = query->def;
	KeyRange   *range = &query->range;
	EntryScanOptions options = {.counted = true,.index_only = true,.wanted = query->wanted};

	memcpy(query->keys, def->layout.search_keys, sizeof(ScanKeyData) * range->keys.ncolumns);
	set_key(query);
	set_range(query);
	options.filter.limit = query->page_size;
	options.filter.prefix = range->prefix;
	options.filter.prefix_attno = def->layout.ident[Min(range->keys.ncolumns, def->layout.nsearch - 1)];
	entry_scan_begin(&query->scan, def, query->lookup.index_table, query->lookup.snapshot, query->nkeys, &options);
}

/* set_key: makes the search one for the values of the current key */
static void
set_key(PageQuery *query)
{
	Datum	   *values = KEY_VALUES(&query->range.keys, query->key);

	for (int i = 0; i < query->range.keys.ncolumns; i++)
		query->keys[i].sk_argument = values[i];
}

/* set_range: has the search begin and end where the page does, or where the condition says */
static void
set_range(PageQuery *query)
{
	KeyRange   *range = &query->range;
	int			from = range->keys.ncolumns;
	Relation	index = index_open(query->def->layout.primary_index, AccessShareLock);

	query->nkeys = from;
	query->nrows = 0;

	/*
	 * The cursor replaces the bound at which the search begins, so that it
	 * has only one place to begin at.
	 */
	if (!query->resuming || query->backward)
		add_bound(query, index, &range->lower, true);
	if (!query->resuming || !query->backward)
		add_bound(query, index, &range->upper, false);
	if (query->resuming)
		add_after(query, index);
	index_close(index, NoLock);
}

/* add_after: adds to the search that entries come after the cursor, at query->level */
static void
add_after(PageQuery *query, Relation index)
{
	IndexDef   *def = query->def;
	int			level = query->level;

	for (int i = query->range.keys.ncolumns; i < level; i++)
	{
		query->keys[query->nkeys] = def->layout.search_keys[i];
		set_search_key(&query->keys[query->nkeys++], query->after[i], query->after_null[i]);
	}
	if (query->level_null || query->after_null[level])
		ScanKeyEntryInitialize(&query->keys[query->nkeys++],
							   SK_ISNULL | (query->level_null ? SK_SEARCHNULL : SK_SEARCHNOTNULL),
							   level + 1, InvalidStrategy, InvalidOid, InvalidOid, InvalidOid, (Datum) 0);
	else
		add_comparison(query, index, level,
					   query->stepwise && (level < def->spec.nkeys || def->layout.nident > def->layout.nleading) ?
					   1 : def->layout.nsearch - level,
					   query->backward ? BTLessStrategyNumber : BTGreaterStrategyNumber, &query->after[level]);
}

/*
 * page_search_start
 *		Starts the search for the current key; what is in shards is read as the caller, whose
 *		rights Citus checks.
 */
static void
page_search_start(PageQuery *query)
{
	if (query->def->fact->place->entries->search == NULL)
	{
		entry_scan_start(&query->scan, query->keys, query->backward);
		return;
	}
	AS_CALLER();
	{
		entry_scan_start(&query->scan, query->keys, query->backward);
	}
	END_AS_CALLER();
}

/*
 * page_search_next_key
 *		Goes on to the next search after the cursor, or to the next key in the direction of the search;
 *		returns false if there is none.  The search for it is to be started.
 */
static bool
page_search_next_key(PageQuery *query)
{
	bool		resuming = query->resuming;

	if (!resuming || !next_after(query))
	{
		query->resuming = false;
		query->key += query->backward ? -1 : 1;
		if (query->key < 0 || query->key >= query->range.keys.n)
			return false;
	}
	if (resuming)
	{
		/* Another search has other comparisons. */
		entry_scan_end(&query->scan);
		begin_scan(query);
	}
	else
		set_key(query);
	return true;
}

/*
 * page_search_next
 *		Returns the next entry of the page, valid until the next call, or NULL if there is
 *		none.
 */
static TupleTableSlot *
page_search_next(PageQuery *query)
{
	TupleTableSlot *entry;

	if (query->found == query->page_size)
		return NULL;
	for (;;)
	{
		while ((entry = entry_scan_next(&query->scan)) != NULL)
		{
			CHECK_FOR_INTERRUPTS();
			if (query->range.prefix == NULL || has_prefix(query, entry))
			{
				query->found++;
				return entry;
			}
		}
		CHECK_FOR_INTERRUPTS();
		if (!page_search_next_key(query))
			return NULL;
		page_search_start(query);
	}
}

/* add_bound: adds a lower or an upper bound of the key range to the search, if it is given */
static void
add_bound(PageQuery *query, Relation index, Bound *bound, bool lower)
{
	if (bound->given)
		add_comparison(query, index, query->range.keys.ncolumns, 1, bound_strategy(bound, lower), &bound->value);
}

/* bound_strategy: returns the strategy that compares a column with a lower or an upper bound */
static StrategyNumber
bound_strategy(Bound *bound, bool lower)
{
	if (lower)
		return bound->inclusive ? BTGreaterEqualStrategyNumber : BTGreaterStrategyNumber;
	return bound->inclusive ? BTLessEqualStrategyNumber : BTLessStrategyNumber;
}

/*
 * check_cursor_within
 *		Raises an error unless the cursor is within the bound that it replaces, if that is
 *		given.
 */
static void
check_cursor_within(PageQuery *query, Bound *bound, bool lower)
{
	int			column = query->range.keys.ncolumns;
	RowComparison key;
	Relation	index;

	if (has_condition(query) && query->after_null[column])
		position_error("Its position is outside the condition.");
	if (!bound->given)
		return;
	index = index_open(query->def->layout.primary_index, AccessShareLock);
	row_comparison(&key, index, column, 1, bound_strategy(bound, lower), &bound->value);
	index_close(index, NoLock);
	if (!DatumGetBool(FunctionCall2Coll(&key.header.sk_func, key.header.sk_collation,
										query->after[column], bound->value)))
		position_error("Its position is outside the condition.");
}

static void
position_error(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid cursor"),
			 errdetail("%s", detail)));
}

/* add_comparison: adds a comparison of n columns of the order, from number first on */
static void
add_comparison(PageQuery *query, Relation index, int first, int n, StrategyNumber strategy, Datum *values)
{
	RowComparison *row = &query->rows[query->nrows++];

	row_comparison(row, index, first, n, strategy, values);
	query->keys[query->nkeys++] = row->header;
}

/*
 * choose_columns
 *		Sets the columns of an entry that are returned, and those that the scan has to read.
 */
static void
choose_columns(PageQuery *query)
{
	IndexDef   *def = query->def;
	Bitmapset  *wanted = query->lookup.copies ? bms_make_singleton(def->layout.doc_attno) : NULL;

	query->columns = palloc(sizeof(AttrNumber) * (def->layout.nleading + def->spec.nincludes + 1));
	for (int i = 0; i < def->layout.nleading; i++)
		query->columns[query->ncolumns++] = def->layout.ident[i];
	for (int i = def->spec.nkeys; i < def->spec.nkeys + def->spec.nincludes; i++)
	{
		if (!def->spec.fields[i].is_hint)
			query->columns[query->ncolumns++] = def->spec.fields[i].attno;
	}
	if (def->layout.elements_attno != 0)
		query->columns[query->ncolumns++] = def->layout.elements_attno;
	for (int i = 0; i < query->ncolumns; i++)
		wanted = bms_add_member(wanted, query->columns[i]);
	if (def->layout.hint_attno != 0)
		wanted = bms_add_member(wanted, def->layout.hint_attno);
	query->wanted = wanted;
}

/* has_prefix: returns whether the text of an entry begins with the prefix in the condition */
static bool
has_prefix(PageQuery *query, TupleTableSlot *entry)
{
	int			column = query->range.keys.ncolumns;
	int			len = strlen(query->range.prefix);
	bool		isnull;
	Datum		stored = slot_getattr(entry, query->def->layout.ident[column], &isnull);
	text	   *value;
	int			value_len;

	if (isnull)
		return false;
	value = DatumGetTextPP(stored);
	value_len = VARSIZE_ANY_EXHDR(value);

	/*
	 * The blanks at the end of a char(n) do not count, as if it were cast to
	 * text.
	 */
	if (getBaseType(TupleDescAttr(query->def->layout.desc, query->def->layout.ident[column] - 1)->atttypid) ==
		BPCHAROID)
		value_len = bpchartruelen(VARDATA_ANY(value), value_len);
	return value_len >= len && memcmp(VARDATA_ANY(value), query->range.prefix, len) == 0;
}
