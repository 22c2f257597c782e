/*-------------------------------------------------------------------------
 *
 * statement.c
 *	  Writes the SQL statement that reads a page.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attnum.h"
#include "access/genam.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "../definition/index_partition.h"
#include "../indextable.h"
#include "../util/sql.h"
#include "condition.h"
#include "page_cursor.h"
#include "statement.h"

static bool check_cursor_within(PageQuery *query, int column, StrategyNumber strategy, Datum value, Bound *bound);

/* attribute: that a column of the order is of */
static Form_pg_attribute
attribute(PageQuery *query, int column)
{
	return TupleDescAttr(query->def->desc, query->def->search[column] - 1);
}

static const char *
column_name(PageQuery *query, AttrNumber attno)
{
	return quote_identifier(NameStr(TupleDescAttr(query->def->desc, attno - 1)->attname));
}

/* argument: a value of the statement, as it is written there */
static char *
argument(PageQuery *query, Oid type, Datum value)
{
	query->types[query->nargs] = type;
	query->values[query->nargs++] = value;
	return psprintf("$%d", query->nargs);
}

/* column_argument: the same of a column's type, or of that a domain is over */
static char *
column_argument(PageQuery *query, int column, Datum value)
{
	return argument(query, getBaseType(attribute(query, column)->atttypid), value);
}

/* operator_of: the one that the index knows */
static Oid
operator_of(PageQuery *query, int column, StrategyNumber strategy)
{
	Oid			type = query->index->rd_opcintype[column];
	Oid			result = get_opfamily_member(query->index->rd_opfamily[column], type, type, strategy);

	if (!OidIsValid(result))
		elog(ERROR, "missing operator %d of index \"%s\"", strategy, RelationGetRelationName(query->index));
	return result;
}

/* operand: a column of the order */
static const char *
operand(PageQuery *query, int column)
{
	return as_base_type(column_name(query, query->def->search[column]), attribute(query, column)->atttypid);
}

static void
compare(PageQuery *query, StringInfo sql, int column, StrategyNumber strategy, const char *value)
{
	Oid			type = getBaseType(attribute(query, column)->atttypid);

	generate_operator_clause(sql, operand(query, column), type, operator_of(query, column, strategy), value, type);
}

static void
add_condition(PageQuery *query)
{
	appendStringInfoString(&query->sql, query->conditions ? " AND " : " WHERE ");
	query->conditions = true;
}

static void
add_bound(PageQuery *query, Bound *bound, bool lower)
{
	int			column = query->range.nequal;

	if (!bound->given)
		return;
	add_condition(query);
	compare(query, &query->sql, column,
			lower ? (bound->inclusive ? BTGreaterEqualStrategyNumber : BTGreaterStrategyNumber) :
			(bound->inclusive ? BTLessEqualStrategyNumber : BTLessStrategyNumber),
			column_argument(query, column, bound->value));
}

/* has_usual_operator: whether it is pg_catalog's < or >, as ROW() can be compared by */
static bool
has_usual_operator(PageQuery *query, int column, StrategyNumber strategy)
{
	Oid			op = operator_of(query, column, strategy);

	return op < FirstGenbkiObjectId &&
		strcmp(get_opname(op), strategy == BTLessStrategyNumber ? "<" : ">") == 0;
}

/*
 * add_after
 *		(columns) > (values), or < if descending.  Operators in a comparison of rows
 *		are looked up by one name; where types have operators of their own it is
 *		spelled out, and the index is searched by the first column alone.
 */
static void
add_after(PageQuery *query, Datum *values)
{
	StrategyNumber strategy = query->descending ? BTLessStrategyNumber : BTGreaterStrategyNumber;
	int			from = query->range.nequal;
	int			n = query->def->nsearch;
	char	   *arguments[INDEX_MAX_KEYS];
	bool		usual = true;
	int			i;

	for (i = from; i < n; i++)
	{
		arguments[i] = column_argument(query, i, values[i]);
		usual = usual && has_usual_operator(query, i, strategy);
	}
	add_condition(query);
	if (usual && from < n - 1)
	{
		appendStringInfoString(&query->sql, "ROW(");
		for (i = from; i < n; i++)
			appendStringInfo(&query->sql, "%s%s", i > from ? ", " : "", operand(query, i));
		appendStringInfo(&query->sql, ") OPERATOR(pg_catalog.%s) ROW(", query->descending ? "<" : ">");
		for (i = from; i < n; i++)
			appendStringInfo(&query->sql, "%s%s", i > from ? ", " : "", arguments[i]);
		appendStringInfoChar(&query->sql, ')');
		return;
	}
	if (from < n - 1)
	{
		compare(query, &query->sql, from, query->descending ? BTLessEqualStrategyNumber : BTGreaterEqualStrategyNumber,
				arguments[from]);
		appendStringInfoString(&query->sql, " AND ");
	}
	for (i = from; i < n; i++)
	{
		if (i < n - 1)
			appendStringInfoChar(&query->sql, '(');
		compare(query, &query->sql, i, strategy, arguments[i]);
		if (i < n - 1)
		{
			appendStringInfoString(&query->sql, " OR (");
			compare(query, &query->sql, i, BTEqualStrategyNumber, arguments[i]);
			appendStringInfoString(&query->sql, " AND ");
		}
	}
	for (i = from; i < n - 1; i++)
		appendStringInfoString(&query->sql, "))");
}

/*
 * make_statement
 *		Of the page; false if there can be nothing in it.
 */
bool
make_statement(PageQuery *query)
{
	IndexDef   *def = query->def;
	KeyRange   *range = &query->range;
	int			from = range->nequal;
	Bound	   *start = query->descending ? &range->upper : &range->lower;
	Datum		values[INDEX_MAX_KEYS];
	Oid			table = def->relid;
	int			i;

	cursor_identity(def, range, query->descending, &query->identity);
	if (query->cursor != NULL)
		cursor_read(query->cursor, &query->identity, def, from, values);

	/* A plan for all values would lock all partitions. */
	if (def->parts != NULL && from > def->part_field)
		table = find_partition_for_value(query->lookup.index_table, range->equal[def->part_field]);
	if (!OidIsValid(table))
		return false;

	query->columns = palloc(sizeof(AttrNumber) * (def->nident + def->nincludes + 1));
	for (i = 0; i < def->nident; i++)
		query->columns[query->ncolumns++] = def->ident[i];
	for (i = def->nkeys; i < def->nkeys + def->nincludes; i++)
		query->columns[query->ncolumns++] = def->fields[i].attno;
	query->nfields = query->ncolumns;
	if (query->copies)
		query->columns[query->ncolumns++] = def->doc_attno;

	query->index = index_open(def->primary_index, AccessShareLock);
	initStringInfo(&query->sql);
	for (i = 0; i < query->ncolumns; i++)
		appendStringInfo(&query->sql, "%s%s", i > 0 ? ", " : "SELECT ", column_name(query, query->columns[i]));
	appendStringInfo(&query->sql, " FROM %s", quoted_relation(table));

	for (i = 0; i < from; i++)
	{
		add_condition(query);
		compare(query, &query->sql, i, BTEqualStrategyNumber, column_argument(query, i, range->equal[i]));
	}
	if (query->cursor != NULL && from < def->nsearch)
	{
		/*
		 * It stands in for the bound that the scan begins at, so that there
		 * is one beginning.
		 */
		if (start->given && !check_cursor_within(query, from,
												 query->descending ?
												 (start->inclusive ? BTLessEqualStrategyNumber : BTLessStrategyNumber) :
												 (start->inclusive ? BTGreaterEqualStrategyNumber : BTGreaterStrategyNumber),
												 values[from], start))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("invalid cursor"),
					 errdetail("Its position is outside the condition.")));
		add_after(query, values);
	}
	if (query->cursor == NULL || query->descending)
		add_bound(query, &range->lower, true);
	if (query->cursor == NULL || !query->descending)
		add_bound(query, &range->upper, false);
	if (range->prefix != NULL)
	{
		add_condition(query);
		appendStringInfo(&query->sql, "pg_catalog.starts_with(%s::pg_catalog.text, %s)",
						 column_name(query, def->search[from]),
						 argument(query, TEXTOID, CStringGetTextDatum(range->prefix)));
	}
	for (i = from; i < def->nsearch; i++)
		appendStringInfo(&query->sql, "%s%s%s", i > from ? ", " : " ORDER BY ",
						 column_name(query, def->search[i]), query->descending ? " DESC" : "");
	appendStringInfo(&query->sql, " LIMIT %s", argument(query, INT8OID, Int64GetDatum(query->page_size)));
	index_close(query->index, NoLock);

	/* Where all is given there is one entry, and nothing after it. */
	return query->cursor == NULL || from < def->nsearch;
}

static bool
check_cursor_within(PageQuery *query, int column, StrategyNumber strategy, Datum value, Bound *bound)
{
	return DatumGetBool(OidFunctionCall2Coll(get_opcode(operator_of(query, column, strategy)),
											 query->index->rd_indcollation[column], value, bound->value));
}
