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

static bool check_cursor_within(PageQuery *q, int column, StrategyNumber strategy, Datum value, Bound *bound);

/* attribute: that a column of the order is of */
static Form_pg_attribute
attribute(PageQuery *q, int column)
{
	return TupleDescAttr(q->def->desc, q->def->search[column] - 1);
}

static const char *
column_name(PageQuery *q, AttrNumber attno)
{
	return quote_identifier(NameStr(TupleDescAttr(q->def->desc, attno - 1)->attname));
}

/* argument: a value of the statement, as it is written there */
static char *
argument(PageQuery *q, Oid type, Datum value)
{
	q->types[q->nargs] = type;
	q->values[q->nargs++] = value;
	return psprintf("$%d", q->nargs);
}

/* column_argument: the same of a column's type, or of that a domain is over */
static char *
column_argument(PageQuery *q, int column, Datum value)
{
	return argument(q, getBaseType(attribute(q, column)->atttypid), value);
}

/* operator_of: the one that the index knows */
static Oid
operator_of(PageQuery *q, int column, StrategyNumber strategy)
{
	Oid			type = q->index->rd_opcintype[column];
	Oid			result = get_opfamily_member(q->index->rd_opfamily[column], type, type, strategy);

	if (!OidIsValid(result))
		elog(ERROR, "missing operator %d of index \"%s\"", strategy, RelationGetRelationName(q->index));
	return result;
}

/* operand: a column of the order */
static const char *
operand(PageQuery *q, int column)
{
	return as_base_type(column_name(q, q->def->search[column]), attribute(q, column)->atttypid);
}

static void
compare(PageQuery *q, StringInfo sql, int column, StrategyNumber strategy, const char *value)
{
	Oid			type = getBaseType(attribute(q, column)->atttypid);

	generate_operator_clause(sql, operand(q, column), type, operator_of(q, column, strategy), value, type);
}

static void
add_condition(PageQuery *q)
{
	appendStringInfoString(&q->sql, q->conditions ? " AND " : " WHERE ");
	q->conditions = true;
}

static void
add_bound(PageQuery *q, Bound *bound, bool lower)
{
	int			column = q->range.nequal;

	if (!bound->given)
		return;
	add_condition(q);
	compare(q, &q->sql, column,
			lower ? (bound->inclusive ? BTGreaterEqualStrategyNumber : BTGreaterStrategyNumber) :
			(bound->inclusive ? BTLessEqualStrategyNumber : BTLessStrategyNumber),
			column_argument(q, column, bound->value));
}

/* has_usual_operator: whether it is pg_catalog's < or >, as ROW() can be compared by */
static bool
has_usual_operator(PageQuery *q, int column, StrategyNumber strategy)
{
	Oid			op = operator_of(q, column, strategy);

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
add_after(PageQuery *q, Datum *values)
{
	StrategyNumber strategy = q->descending ? BTLessStrategyNumber : BTGreaterStrategyNumber;
	int			from = q->range.nequal;
	int			n = q->def->nsearch;
	char	   *arguments[INDEX_MAX_KEYS];
	bool		usual = true;
	int			i;

	for (i = from; i < n; i++)
	{
		arguments[i] = column_argument(q, i, values[i]);
		usual = usual && has_usual_operator(q, i, strategy);
	}
	add_condition(q);
	if (usual && from < n - 1)
	{
		appendStringInfoString(&q->sql, "ROW(");
		for (i = from; i < n; i++)
			appendStringInfo(&q->sql, "%s%s", i > from ? ", " : "", operand(q, i));
		appendStringInfo(&q->sql, ") OPERATOR(pg_catalog.%s) ROW(", q->descending ? "<" : ">");
		for (i = from; i < n; i++)
			appendStringInfo(&q->sql, "%s%s", i > from ? ", " : "", arguments[i]);
		appendStringInfoChar(&q->sql, ')');
		return;
	}
	if (from < n - 1)
	{
		compare(q, &q->sql, from, q->descending ? BTLessEqualStrategyNumber : BTGreaterEqualStrategyNumber,
				arguments[from]);
		appendStringInfoString(&q->sql, " AND ");
	}
	for (i = from; i < n; i++)
	{
		if (i < n - 1)
			appendStringInfoChar(&q->sql, '(');
		compare(q, &q->sql, i, strategy, arguments[i]);
		if (i < n - 1)
		{
			appendStringInfoString(&q->sql, " OR (");
			compare(q, &q->sql, i, BTEqualStrategyNumber, arguments[i]);
			appendStringInfoString(&q->sql, " AND ");
		}
	}
	for (i = from; i < n - 1; i++)
		appendStringInfoString(&q->sql, "))");
}

/*
 * make_statement
 *		Of the page; false if there can be nothing in it.
 */
bool
make_statement(PageQuery *q)
{
	IndexDef   *def = q->def;
	KeyRange   *range = &q->range;
	int			from = range->nequal;
	Bound	   *start = q->descending ? &range->upper : &range->lower;
	Datum		values[INDEX_MAX_KEYS];
	Oid			table = def->relid;
	int			i;

	cursor_identity(def, range, q->descending, &q->identity);
	if (q->cursor != NULL)
		cursor_read(q->cursor, &q->identity, def, from, values);

	/* A plan for all values would lock all partitions. */
	if (def->parts != NULL && from > def->part_field)
		table = find_partition_for_value(q->lookup.index_table, range->equal[def->part_field]);
	if (!OidIsValid(table))
		return false;

	q->columns = palloc(sizeof(AttrNumber) * (def->nident + def->nincludes + 1));
	for (i = 0; i < def->nident; i++)
		q->columns[q->ncolumns++] = def->ident[i];
	for (i = def->nkeys; i < def->nkeys + def->nincludes; i++)
		q->columns[q->ncolumns++] = def->fields[i].attno;
	q->nfields = q->ncolumns;
	if (q->copies)
		q->columns[q->ncolumns++] = def->doc_attno;

	q->index = index_open(def->primary_index, AccessShareLock);
	initStringInfo(&q->sql);
	for (i = 0; i < q->ncolumns; i++)
		appendStringInfo(&q->sql, "%s%s", i > 0 ? ", " : "SELECT ", column_name(q, q->columns[i]));
	appendStringInfo(&q->sql, " FROM %s", quoted_relation(table));

	for (i = 0; i < from; i++)
	{
		add_condition(q);
		compare(q, &q->sql, i, BTEqualStrategyNumber, column_argument(q, i, range->equal[i]));
	}
	if (q->cursor != NULL && from < def->nsearch)
	{
		/*
		 * It stands in for the bound that the scan begins at, so that there
		 * is one beginning.
		 */
		if (start->given && !check_cursor_within(q, from,
												 q->descending ?
												 (start->inclusive ? BTLessEqualStrategyNumber : BTLessStrategyNumber) :
												 (start->inclusive ? BTGreaterEqualStrategyNumber : BTGreaterStrategyNumber),
												 values[from], start))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("invalid cursor"),
					 errdetail("Its position is outside the condition.")));
		add_after(q, values);
	}
	if (q->cursor == NULL || q->descending)
		add_bound(q, &range->lower, true);
	if (q->cursor == NULL || !q->descending)
		add_bound(q, &range->upper, false);
	if (range->prefix != NULL)
	{
		add_condition(q);
		appendStringInfo(&q->sql, "pg_catalog.starts_with(%s::pg_catalog.text, %s)",
						 column_name(q, def->search[from]),
						 argument(q, TEXTOID, CStringGetTextDatum(range->prefix)));
	}
	for (i = from; i < def->nsearch; i++)
		appendStringInfo(&q->sql, "%s%s%s", i > from ? ", " : " ORDER BY ",
						 column_name(q, def->search[i]), q->descending ? " DESC" : "");
	appendStringInfo(&q->sql, " LIMIT %s", argument(q, INT8OID, Int64GetDatum(q->page_size)));
	index_close(q->index, NoLock);

	/* Where all is given there is one entry, and nothing after it. */
	return q->cursor == NULL || from < def->nsearch;
}

static bool
check_cursor_within(PageQuery *q, int column, StrategyNumber strategy, Datum value, Bound *bound)
{
	return DatumGetBool(OidFunctionCall2Coll(get_opcode(operator_of(q, column, strategy)),
											 q->index->rd_indcollation[column], value, bound->value));
}
