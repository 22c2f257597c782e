/*-------------------------------------------------------------------------
 *
 * page_search.c
 *	  Searches an index table for the entries of a page.
 *
 * The index table's primary key is searched for entries with the values of the key,
 * from where the last page ended, or where the condition begins, to where it ends.  All
 * of it is part of the search, so that nothing is read before the page begins or after
 * it ends; only texts that begin alike may lie among others, which are left out.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attnum.h"
#include "access/genam.h"
#include "access/skey.h"
#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/bitmapset.h"
#include "nodes/makefuncs.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "../entry/entry_scan.h"
#include "../entry/fact_fetch.h"
#include "../indextable.h"
#include "condition.h"
#include "page_cursor.h"
#include "page_search.h"

static void add_bound(PageQuery *query, Relation index, Bound *bound, bool lower);
static StrategyNumber bound_strategy(Bound *bound, bool lower);
static void check_cursor_within(PageQuery *query, Relation index, Bound *bound, bool lower);
static void add_range(PageQuery *query, Relation index, int n, StrategyNumber strategy, Datum *values);
static void add_comparison(PageQuery *query, int column, int n, StrategyNumber strategy, Datum *values, ScanKey key);
static void choose_columns(PageQuery *query);
static bool has_prefix(PageQuery *query, TupleTableSlot *entry);
static void append_row(StringInfo text, PageQuery *query, Comparison *comparison, bool values);
static Form_pg_attribute attribute(PageQuery *query, int column);

/*
 * page_search_begin
 *		Prepares to search for the entries of a page.  Returns false if the page cannot have
 *		any; otherwise query->scan is to be started with query->keys, and to be ended.
 *
 * The current user is the owner of the fact table, as functions of types are called:
 * they compare values, and read those in the cursor.
 */
bool
page_search_begin(PageQuery *query)
{
	IndexDef   *def = query->def;
	KeyRange   *range = &query->range;
	int			from = range->nequal;
	Bound	   *start = query->descending ? &range->upper : &range->lower;
	Relation	index;
	int			i;

	cursor_identity(def, range, query->descending, &query->identity);
	if (query->cursor != NULL)
		cursor_read(query->cursor, &query->identity, def, from, query->after);

	/*
	 * If the key has all columns of the order there is only one entry, and
	 * none after it.
	 */
	if (query->cursor != NULL && from == def->nsearch)
		return false;

	for (i = 0; i < from; i++)
		add_comparison(query, i, 1, BTEqualStrategyNumber, &range->equal[i], &def->search_keys[i]);
	index = index_open(def->primary_index, AccessShareLock);
	if (query->cursor != NULL)
	{
		/*
		 * The cursor replaces the bound at which the search begins, so that
		 * it has only one place to begin at.
		 */
		check_cursor_within(query, index, start, !query->descending);
		add_range(query, index, def->nsearch - from,
				  query->descending ? BTLessStrategyNumber : BTGreaterStrategyNumber, &query->after[from]);
	}
	if (query->cursor == NULL || query->descending)
		add_bound(query, index, &range->lower, true);
	if (query->cursor == NULL || !query->descending)
		add_bound(query, index, &range->upper, false);
	index_close(index, NoLock);

	entry_scan_begin(&query->scan, def, query->lookup.index_table, query->lookup.snapshot, false,
					 query->ncomparisons);
	query->scan.backward = query->descending;
	query->scan.counted = true;
	query->scan.filter.limit = query->page_size;
	query->scan.filter.prefix = range->prefix;
	query->scan.filter.prefix_attno = def->search[Min(range->nequal, def->nsearch - 1)];
	choose_columns(query);
	return true;
}

/* page_search_next: returns the next entry of the page, valid until the next call, or NULL if there is none */
TupleTableSlot *
page_search_next(PageQuery *query)
{
	TupleTableSlot *entry;

	if (query->found == query->page_size)
		return NULL;
	while ((entry = entry_scan_next(&query->scan)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (query->range.prefix == NULL || has_prefix(query, entry))
		{
			query->found++;
			return entry;
		}
	}
	return NULL;
}

/* page_search_text: returns the comparisons of the search as users may read them, "" if there are none */
char *
page_search_text(PageQuery *query)
{
	Relation	index = index_open(query->def->primary_index, AccessShareLock);
	StringInfoData text;
	int			i;

	initStringInfo(&text);
	for (i = 0; i < query->ncomparisons; i++)
	{
		Comparison *comparison = &query->comparisons[i];
		Oid			type = index->rd_opcintype[comparison->column];

		appendStringInfoString(&text, i > 0 ? " AND (" : "(");
		append_row(&text, query, comparison, false);
		appendStringInfo(&text, " %s ", get_opname(get_opfamily_member(index->rd_opfamily[comparison->column],
																	   type, type, comparison->strategy)));
		append_row(&text, query, comparison, true);
		appendStringInfoChar(&text, ')');
	}
	index_close(index, NoLock);
	return text.data;
}

/* add_bound: adds a lower or an upper bound of the key range to the search, if it is given */
static void
add_bound(PageQuery *query, Relation index, Bound *bound, bool lower)
{
	if (bound->given)
		add_range(query, index, 1, bound_strategy(bound, lower), &bound->value);
}

/* bound_strategy: returns the strategy that compares a column with a lower or an upper bound */
static StrategyNumber
bound_strategy(Bound *bound, bool lower)
{
	if (lower)
		return bound->inclusive ? BTGreaterEqualStrategyNumber : BTGreaterStrategyNumber;
	return bound->inclusive ? BTLessEqualStrategyNumber : BTLessStrategyNumber;
}

/* check_cursor_within: raises an error unless the cursor is within the bound that it replaces, if that is given */
static void
check_cursor_within(PageQuery *query, Relation index, Bound *bound, bool lower)
{
	int			column = query->range.nequal;
	RowComparison key;

	if (!bound->given)
		return;
	row_comparison(&key, index, column, 1, bound_strategy(bound, lower), &bound->value);
	if (!DatumGetBool(FunctionCall2Coll(&key.header.sk_func, key.header.sk_collation,
										query->after[column], bound->value)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid cursor"),
				 errdetail("Its position is outside the condition.")));
}

/* add_range: adds a comparison of n columns of the order, from the first one on that has no equal value */
static void
add_range(PageQuery *query, Relation index, int n, StrategyNumber strategy, Datum *values)
{
	int			from = query->range.nequal;
	RowComparison *row = &query->rows[query->ncomparisons - from];

	row_comparison(row, index, from, n, strategy, values);
	add_comparison(query, from, n, strategy, values, &row->header);
}

/* add_comparison: adds a comparison to the search, and its search key, whose own value counts only for ranges */
static void
add_comparison(PageQuery *query, int column, int n, StrategyNumber strategy, Datum *values, ScanKey key)
{
	Comparison *comparison = &query->comparisons[query->ncomparisons];

	comparison->column = column;
	comparison->n = n;
	comparison->strategy = strategy;
	comparison->values = values;
	query->keys[query->ncomparisons] = *key;
	if (strategy == BTEqualStrategyNumber)
		query->keys[query->ncomparisons].sk_argument = values[0];
	query->ncomparisons++;
}

/* choose_columns: sets the columns of an entry that are returned, and tells the scan which ones it has to read */
static void
choose_columns(PageQuery *query)
{
	IndexDef   *def = query->def;
	Bitmapset  *wanted = query->copies ? bms_make_singleton(def->doc_attno) : NULL;
	int			i;

	query->columns = palloc(sizeof(AttrNumber) * (def->nident + def->nincludes));
	for (i = 0; i < def->nident; i++)
		query->columns[query->ncolumns++] = def->ident[i];
	for (i = def->nkeys; i < def->nkeys + def->nincludes; i++)
	{
		if (!def->fields[i].is_hint)
			query->columns[query->ncolumns++] = def->fields[i].attno;
	}
	for (i = 0; i < query->ncolumns; i++)
		wanted = bms_add_member(wanted, query->columns[i]);
	if (def->hint_attno != 0)
		wanted = bms_add_member(wanted, def->hint_attno);
	entry_scan_want(&query->scan, wanted);
}

/* has_prefix: returns whether the text of an entry begins with the prefix in the condition */
static bool
has_prefix(PageQuery *query, TupleTableSlot *entry)
{
	int			column = query->range.nequal;
	int			len = strlen(query->range.prefix);
	bool		isnull;
	text	   *value = DatumGetTextPP(slot_getattr(entry, query->def->search[column], &isnull));
	int			value_len = VARSIZE_ANY_EXHDR(value);

	/*
	 * The blanks at the end of a char(n) do not count, as if it were cast to
	 * text.
	 */
	if (getBaseType(attribute(query, column)->atttypid) == BPCHAROID)
		value_len = bpchartruelen(VARDATA_ANY(value), value_len);
	return value_len >= len && memcmp(VARDATA_ANY(value), query->range.prefix, len) == 0;
}

/* append_row: writes the columns of a comparison, or with values what they are compared with */
static void
append_row(StringInfo text, PageQuery *query, Comparison *comparison, bool values)
{
	int			i;

	if (comparison->n > 1)
		appendStringInfoString(text, "ROW(");
	for (i = 0; i < comparison->n; i++)
	{
		Form_pg_attribute att = attribute(query, comparison->column + i);

		if (i > 0)
			appendStringInfoString(text, ", ");
		if (values)
			appendStringInfoString(text, deparse_expression((Node *) makeConst(getBaseType(att->atttypid), -1, InvalidOid,
																			   att->attlen, comparison->values[i], false,
																			   att->attbyval), NIL, false, false));
		else
			appendStringInfoString(text, quote_identifier(NameStr(att->attname)));
	}
	if (comparison->n > 1)
		appendStringInfoChar(text, ')');
}

/* attribute: returns the attribute of a column of the order */
static Form_pg_attribute
attribute(PageQuery *query, int column)
{
	return TupleDescAttr(query->def->desc, query->def->search[column] - 1);
}
