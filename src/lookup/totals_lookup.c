/*-------------------------------------------------------------------------
 *
 * totals_lookup.c
 *	  Implements indextable.totals(), which returns the totals of each group by the name of their table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../util/sql.h"

PG_FUNCTION_INFO_V1(indextable_totals);

static char *totals_query(IndexDef *def, Jsonb *key);
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
	Jsonb	   *key = PG_ARGISNULL(1) ? NULL : PG_GETARG_JSONB_P(1);
	Oid			types[] = {JSONBOID};
	Datum		values[] = {PG_GETARG_DATUM(1)};
	IndexDef   *def;
	char	   *sql;

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
	sql = totals_query(def, key);
	SPI_connect();
	if (SPI_execute_with_args(sql, key == NULL ? 0 : 1, types, values, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not run: %s", sql);
	for (uint64 i = 0; i < SPI_processed; i++)
		tuplestore_puttuple(rsinfo->setResult, SPI_tuptable->vals[i]);
	SPI_finish();
	return (Datum) 0;
}

/* totals_query: returns the query for the groups whose key fields have the values that key has */
static char *
totals_query(IndexDef *def, Jsonb *key)
{
	StringInfoData sql;
	StringInfoData group;
	StringInfoData names;
	int			nmembers = 0;

	initStringInfo(&sql);
	initStringInfo(&group);
	initStringInfo(&names);
	appendStringInfoString(&sql, "SELECT pg_catalog.jsonb_build_object(");
	for (int i = 0; i < def->nkeys; i++)
	{
		const char *name = column_name(def, def->fields[i].attno);

		appendStringInfo(&sql, "%s%s, t.%s", i > 0 ? ", " : "", quote_literal_cstr(name), quote_identifier(name));
		appendStringInfo(&names, "%s%s", i > 0 ? ", " : "", name);
		appendStringInfo(&group, "%st.%s", i > 0 ? ", " : "", quote_identifier(name));
	}
	appendStringInfo(&sql, "), coalesce(pg_catalog.sum(t.%1$s), 0)::bigint, pg_catalog.jsonb_build_object(",
					 quote_identifier(column_name(def, def->rows_attno)));
	for (int i = 0; i < def->nincludes; i++)
		appendStringInfo(&sql, "%s%s, coalesce(pg_catalog.sum(t.%s), 0)", i > 0 ? ", " : "",
						 quote_literal_cstr(def->fields[def->nkeys + i].spec->name),
						 quote_identifier(column_name(def, def->count_attno[i])));
	appendStringInfoString(&sql, "), pg_catalog.jsonb_build_object(");
	for (int i = 0; i < def->nincludes; i++)
		if (SUM_ATTNO(def, i) != 0)
			appendStringInfo(&sql, "%s%s, CASE WHEN pg_catalog.sum(t.%s) OPERATOR(pg_catalog.>) 0 THEN pg_catalog.sum(t.%s) END",
							 sql.data[sql.len - 1] == '(' ? "" : ", ", quote_literal_cstr(def->fields[def->nkeys + i].spec->name),
							 quote_identifier(column_name(def, def->count_attno[i])),
							 quote_identifier(column_name(def, SUM_ATTNO(def, i))));
	appendStringInfo(&sql, ") FROM %s t WHERE true", quoted_relation(def->relid));
	for (int i = 0; key != NULL && i < def->nkeys; i++)
	{
		const char *name = column_name(def, def->fields[i].attno);
		JsonbValue	value;

		if (!JB_ROOT_IS_OBJECT(key) || getKeyJsonValueFromContainer(&key->root, name, strlen(name), &value) == NULL)
			continue;
		nmembers++;
		if (value.type == jbvNull)
			appendStringInfo(&sql, " AND t.%s IS NULL", quote_identifier(name));
		else
			appendStringInfo(&sql, " AND t.%s OPERATOR(pg_catalog.=) ($1 OPERATOR(pg_catalog.->>) %s)::%s",
							 quote_identifier(name), quote_literal_cstr(name),
							 format_type_extended(def->fields[i].type, def->fields[i].typmod,
												  FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY));
	}
	if (key != NULL && (!JB_ROOT_IS_OBJECT(key) || nmembers < (int) JB_ROOT_COUNT(key)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("key must be an object whose members are key fields of %s", quoted_relation(def->relid)),
				 def->nkeys > 0 ? errhint("Its key fields are: %s.", names.data) : errhint("It has no key fields.")));
	if (def->nkeys > 0)
		appendStringInfo(&sql, " GROUP BY %s HAVING pg_catalog.sum(t.%s) OPERATOR(pg_catalog.>) 0 ORDER BY %s", group.data,
						 quote_identifier(column_name(def, def->rows_attno)), group.data);
	return sql.data;
}

static const char *
column_name(IndexDef *def, AttrNumber attno)
{
	return NameStr(TupleDescAttr(def->desc, attno - 1)->attname);
}
