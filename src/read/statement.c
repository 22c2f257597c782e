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

static bool check_cursor_within(PageQuery *query, int column, Datum value, Bound *bound, bool lower);
static void add_condition(PageQuery *query);
static void add_bound(PageQuery *query, Bound *bound, bool lower);
static StrategyNumber bound_strategy(Bound *bound, bool lower);
static void add_after(PageQuery *query, Datum *values);
static bool has_usual_operator(PageQuery *query, int column, StrategyNumber strategy);
static void compare(PageQuery *query, StringInfo sql, int column, StrategyNumber strategy, const char *value);
static Oid	operator_of(PageQuery *query, int column, StrategyNumber strategy);
static const char *operand(PageQuery *query, int column);
static char *column_argument(PageQuery *query, int column, Datum value);
static char *argument(PageQuery *query, Oid type, Datum value);
static Form_pg_attribute attribute(PageQuery *query, int column);
static const char *column_name(PageQuery *query, AttrNumber attno);

/*
 * make_statement
 *		Writes the statement that reads a page, with its values.  Returns false if the
 *		page cannot have any entries.
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

	/*
	 * The partition is named where one value tells it, since a generic plan
	 * would lock all partitions.
	 */
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
		 * The cursor replaces the bound at which the scan begins, so that the
		 * scan has only one condition to begin at.
		 */
		if (start->given && !check_cursor_within(query, from, values[from], start, !query->descending))
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

	/*
	 * If the key has all columns of the order there is only one entry, and
	 * none after it.
	 */
	return query->cursor == NULL || from < def->nsearch;
}

/* check_cursor_within: returns whether a value of a cursor is within the lower or the upper bound of a column */
static bool
check_cursor_within(PageQuery *query, int column, Datum value, Bound *bound, bool lower)
{
	Oid			op = operator_of(query, column, bound_strategy(bound, lower));

	return DatumGetBool(OidFunctionCall2Coll(get_opcode(op), query->index->rd_indcollation[column],
											 value, bound->value));
}

/* add_condition: begins another condition of the statement */
static void
add_condition(PageQuery *query)
{
	appendStringInfoString(&query->sql, query->conditions ? " AND " : " WHERE ");
	query->conditions = true;
}

/* add_bound: adds a lower or an upper bound of the key range to the statement, if it is given */
static void
add_bound(PageQuery *query, Bound *bound, bool lower)
{
	int			column = query->range.nequal;

	if (!bound->given)
		return;
	add_condition(query);
	compare(query, &query->sql, column, bound_strategy(bound, lower), column_argument(query, column, bound->value));
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
 * add_after
 *		Adds the condition that entries come after the cursor: (columns) > (values), or <
 *		if descending.
 *
 * The operators in a comparison of rows are looked up by one name.  Where types have
 * operators with other names the comparison is spelled out, and the index is searched
 * by the first column alone.
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
		compare(query, &query->sql, from,
				query->descending ? BTLessEqualStrategyNumber : BTGreaterEqualStrategyNumber,
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

/* has_usual_operator: returns whether a column is ordered by < and > of pg_catalog, by which ROW() can be compared */
static bool
has_usual_operator(PageQuery *query, int column, StrategyNumber strategy)
{
	Oid			op = operator_of(query, column, strategy);

	return op < FirstGenbkiObjectId &&
		strcmp(get_opname(op), strategy == BTLessStrategyNumber ? "<" : ">") == 0;
}

/* compare: writes the comparison of a column of the order with a value that is written already */
static void
compare(PageQuery *query, StringInfo sql, int column, StrategyNumber strategy, const char *value)
{
	Oid			type = getBaseType(attribute(query, column)->atttypid);

	generate_operator_clause(sql, operand(query, column), type, operator_of(query, column, strategy), value, type);
}

/* operator_of: returns the operator for a strategy by which the index orders a column */
static Oid
operator_of(PageQuery *query, int column, StrategyNumber strategy)
{
	Oid			type = query->index->rd_opcintype[column];
	Oid			result = get_opfamily_member(query->index->rd_opfamily[column], type, type, strategy);

	if (!OidIsValid(result))
		elog(ERROR, "missing operator %d of index \"%s\"", strategy, RelationGetRelationName(query->index));
	return result;
}

/* operand: returns how a column of the order is written in a comparison */
static const char *
operand(PageQuery *query, int column)
{
	return as_base_type(column_name(query, query->def->search[column]), attribute(query, column)->atttypid);
}

/* column_argument: adds a value of the type of a column, or of the type that a domain is over */
static char *
column_argument(PageQuery *query, int column, Datum value)
{
	return argument(query, getBaseType(attribute(query, column)->atttypid), value);
}

/* argument: adds a value of the statement, and returns how it is written in the statement */
static char *
argument(PageQuery *query, Oid type, Datum value)
{
	query->types[query->nargs] = type;
	query->values[query->nargs++] = value;
	return psprintf("$%d", query->nargs);
}

/* attribute: returns the attribute of a column of the order */
static Form_pg_attribute
attribute(PageQuery *query, int column)
{
	return TupleDescAttr(query->def->desc, query->def->search[column] - 1);
}

/* column_name: returns the quoted name of a column of the index table */
static const char *
column_name(PageQuery *query, AttrNumber attno)
{
	return quote_identifier(NameStr(TupleDescAttr(query->def->desc, attno - 1)->attname));
}
