/*-------------------------------------------------------------------------
 *
 * totals_lookup.c
 *	  Implements indextable.totals(), which returns the totals of each group by the name of their table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/tuplestore.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../entry/entry.h"
#include "../indextable.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "lookup.h"

PG_FUNCTION_INFO_V1(indextable_totals);

/* The query for the totals of the groups that are asked for. */
typedef struct TotalsQuery
{
	StringInfoData sql;
	int			nargs;
	Oid			types[INDEX_MAX_KEYS];
	Datum		values[INDEX_MAX_KEYS];
} TotalsQuery;

static void make_query(IndexDef *def, Jsonb *key, TotalsQuery *query);
static void add_conditions(IndexDef *def, Jsonb *key, TotalsQuery *query);
static void return_groups(IndexDef *def, Rows *rows, ReturnSetInfo *rsinfo);
static const char *column_name(IndexDef *def, AttrNumber attno);

/*
 * indextable_totals
 *		totals(index_table regclass, key jsonb, OUT key jsonb, OUT rows bigint, OUT counts jsonb,
 *		OUT sums jsonb): a row for each group, or for those with the key fields that key has
 */
Datum
indextable_totals(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	IndexDef   *def;
	TotalsQuery query = {0};
	Rows		rows;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	require_reader(PG_GETARG_OID(0));
	def = definition_of_index_table(PG_GETARG_OID(0));
	if (def == NULL)
		report_not_index_table(PG_GETARG_OID(0));
	if (!is_totals(def))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table of totals", def->name),
				 errhint("Such tables are made by indextable.create() with totals.")));
	definition_hold(def->fact, CurrentMemoryContext);
	require_active(def);
	make_query(def, PG_ARGISNULL(1) ? NULL : PG_GETARG_JSONB_P(1), &query);
	rows = query_as_caller(def->relid, query.sql.data, query.nargs, query.types, query.values);
	return_groups(def, &rows, rsinfo);
	return (Datum) 0;
}

/*
 * make_query
 *		Makes the query of the key fields, rows, counts and sums of the groups whose key fields
 *		have the values that key has, or of all groups if it is NULL.
 */
static void
make_query(IndexDef *def, Jsonb *key, TotalsQuery *query)
{
	StringInfo	sql = &query->sql;
	StringInfoData group;

	initStringInfo(sql);
	initStringInfo(&group);
	for (int i = 0; i < def->spec.nkeys; i++)
		appendStringInfo(&group, "%st.%s", i > 0 ? ", " : "",
						 quote_identifier(column_name(def, def->spec.fields[i].attno)));
	appendStringInfo(sql, "SELECT %s%s", group.data, def->spec.nkeys > 0 ? ", " : "");
	appendStringInfo(sql, "coalesce(pg_catalog.sum(t.%1$s), 0)::bigint, pg_catalog.jsonb_build_object(",
					 quote_identifier(column_name(def, def->layout.rows_attno)));
	if (def->layout.elements_attno != 0)
		appendStringInfo(sql, "%s, coalesce(pg_catalog.sum(t.%s), 0)",
						 quote_literal_cstr(column_name(def, def->layout.elements_attno)),
						 quote_identifier(column_name(def, def->layout.elements_attno)));
	for (int i = 0; i < def->spec.nincludes; i++)
		appendStringInfo(sql, "%s%s, coalesce(pg_catalog.sum(t.%s), 0)", sql->data[sql->len - 1] == '(' ? "" : ", ",
						 quote_literal_cstr(def->spec.fields[def->spec.nkeys + i].spec->name),
						 quote_identifier(column_name(def, def->layout.count_attno[i])));
	appendStringInfoString(sql, "), pg_catalog.jsonb_build_object(");
	for (int i = 0; i < def->spec.nincludes; i++)
		if (SUM_ATTNO(def, i) != 0)
			appendStringInfo(sql,
							 "%s%s, CASE WHEN pg_catalog.sum(t.%s) OPERATOR(pg_catalog.>) 0 THEN pg_catalog.sum(t.%s) END",
							 sql->data[sql->len - 1] == '(' ? "" : ", ",
							 quote_literal_cstr(def->spec.fields[def->spec.nkeys + i].spec->name),
							 quote_identifier(column_name(def, def->layout.count_attno[i])),
							 quote_identifier(column_name(def, SUM_ATTNO(def, i))));
	appendStringInfo(sql, ") FROM %s t WHERE true", quoted_relation(def->relid));
	if (key != NULL)
		add_conditions(def, key, query);
	if (def->spec.nkeys > 0)
		appendStringInfo(sql, " GROUP BY %s HAVING pg_catalog.sum(t.%s) OPERATOR(pg_catalog.>) 0 ORDER BY %s", group.data,
						 quote_identifier(column_name(def, def->layout.rows_attno)), group.data);
}

/*
 * add_conditions
 *		Adds that key fields are equal to the values of a key, or NULL where these are null.
 */
static void
add_conditions(IndexDef *def, Jsonb *key, TotalsQuery *query)
{
	StringInfoData names;
	int			nmembers = 0;

	initStringInfo(&names);
	for (int i = 0; i < def->spec.nkeys; i++)
	{
		Field	   *field = &def->spec.fields[i];
		const char *name = column_name(def, field->attno);
		char	   *column = psprintf("t.%s", quote_identifier(name));
		Oid			type = getBaseType(field->type);
		JsonbValue	value;

		appendStringInfo(&names, "%s%s", i > 0 ? ", " : "", name);
		if (!JB_ROOT_IS_OBJECT(key) ||
			getKeyJsonValueFromContainer(&key->root, name, strlen(name), &value) == NULL)
			continue;
		nmembers++;
		appendStringInfoString(&query->sql, " AND ");
		if (value.type == jbvNull)
			appendStringInfo(&query->sql, "%s IS NULL", column);
		else if (!key_value_cast(def, i, &value, &query->values[query->nargs]))
			appendStringInfoString(&query->sql, "false");
		else
		{
			query->types[query->nargs++] = type;
			generate_operator_clause(&query->sql, as_base_type(column, field->type), type,
									 get_equality_operator(type), psprintf("$%d", query->nargs), type);
		}
	}
	if (!JB_ROOT_IS_OBJECT(key) || nmembers < (int) JB_ROOT_COUNT(key))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("key must be an object whose members are key fields of %s", quoted_relation(def->relid)),
				 def->spec.nkeys > 0 ? errhint("Its key fields are: %s.", names.data) : errhint("It has no key fields.")));
}

/* return_groups: returns groups with their key fields as JSON, which may call code of the owner */
static void
return_groups(IndexDef *def, Rows *rows, ReturnSetInfo *rsinfo)
{
	TupleTableSlot *group = MakeSingleTupleTableSlot(rows->desc, &TTSOpsHeapTuple);
	AttrNumber	keys[INDEX_MAX_KEYS];

	for (int i = 0; i < def->spec.nkeys; i++)
		keys[i] = i + 1;
	for (uint64 i = 0; i < rows->n; i++)
	{
		Datum		values[4];
		bool		isnull[4] = {0};

		CHECK_FOR_INTERRUPTS();
		ExecStoreHeapTuple(rows->tuples[i], group, false);
		values[0] = columns_to_jsonb(def->fact->owner, group, keys, def->spec.nkeys);
		for (int k = 1; k < 4; k++)
			values[k] = slot_getattr(group, def->spec.nkeys + k, &isnull[k]);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, isnull);
	}
	ExecDropSingleTupleTableSlot(group);
}

static const char *
column_name(IndexDef *def, AttrNumber attno)
{
	return NameStr(TupleDescAttr(def->layout.desc, attno - 1)->attname);
}
