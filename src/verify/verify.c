/*-------------------------------------------------------------------------
 *
 * verify.c
 *	  Provides indextable.verify(), which returns the discrepancies between an index
 *	  table and its fact table.  compare.c finds them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attnum.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "../catalog/definition_rows.h"
#include "../catalog/orphaned_rows.h"
#include "../entry/row_text.h"
#include "../indextable.h"
#include "compare.h"
#include "discrepancy.h"
#include "shard_check.h"

PG_FUNCTION_INFO_V1(indextable_verify);

PG_FUNCTION_INFO_V1(indextable_verify_shard);

static void require_owner(Oid index_table);
static void put_discrepancy(Discrepancy *d, void *arg);

/*
 * indextable_verify
 *		verify(index_table regclass, sample float8, OUT kind text, OUT key jsonb, OUT
 *		primary_key jsonb, OUT expected jsonb, OUT found jsonb, OUT problem text)
 */
Datum
indextable_verify(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid			relid = PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0);
	double		sample = PG_ARGISNULL(1) ? 100 : PG_GETARG_FLOAT8(1);

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	if (!(sample > 0 && sample <= 100))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sample must be greater than 0 and at most 100"),
				 errdetail("It is a percentage of both tables.")));
	require_owner(relid);
	forget_orphaned_rows(InvalidOid);
	verify_index_table(relid, sample, put_discrepancy, rsinfo);
	return (Datum) 0;
}

/*
 * indextable_verify_shard
 *		verify_shard(index_table regclass, shard bigint, number bigint): returns the
 *		discrepancies, as verify() does, of one shard of a distributed fact table that this
 *		node has.  Unless number is 0, it queues the keys of their rows with this number.
 */
Datum
indextable_verify_shard(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	require_owner(PG_GETARG_OID(0));
	verify_shard(PG_GETARG_OID(0), PG_GETARG_INT64(1), PG_GETARG_INT64(2), put_discrepancy, fcinfo->resultinfo);
	return (Datum) 0;
}

/* require_owner: raises an error if a table is an index table that is not the current user's */
static void
require_owner(Oid index_table)
{
	if (OidIsValid(catalog_fact_of(index_table)) && !owns_relation(index_table, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(index_table));
}

/* put_discrepancy: adds a discrepancy to the result, as a row */
static void
put_discrepancy(Discrepancy *d, void *arg)
{
	ReturnSetInfo *rsinfo = arg;
	MemoryContext cxt;
	MemoryContext old;
	TupleTableSlot *entry = d->expected != NULL ? d->expected : d->found;
	AttrNumber *payload;
	int			npayload = 0;
	Datum		values[VERIFY_COLUMNS] = {0};
	bool		isnull[VERIFY_COLUMNS];
	int			i;

	if (d->columns != NULL)
	{
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, d->columns, d->isnull);
		return;
	}
	cxt = AllocSetContextCreate(CurrentMemoryContext, "discrepancy", ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(cxt);
	payload = palloc(sizeof(AttrNumber) * d->def->desc->natts);
	for (i = d->def->nkeys; i < d->def->nkeys + d->def->nincludes; i++)
	{
		if (!d->def->fields[i].is_hint)
			payload[npayload++] = d->def->fields[i].attno;
	}
	if (d->def->doc_attno != 0)
		payload[npayload++] = d->def->doc_attno;

	memset(isnull, true, sizeof(isnull));
#define PUT(i, datum)	(values[i] = (datum), isnull[i] = false)
	PUT(VERIFY_KIND, CStringGetTextDatum(d->kind));
	if (entry != NULL)
		PUT(VERIFY_KEY, columns_to_jsonb(d->def->fact->owner, entry, d->def->ident, d->def->nkeys));
	if (entry != NULL || d->row != NULL)
		PUT(VERIFY_PRIMARY_KEY, JsonbPGetDatum(discrepancy_key(d)));
	if (d->expected != NULL)
		PUT(VERIFY_EXPECTED, columns_to_jsonb(d->def->fact->owner, d->expected, payload, npayload));
	if (d->found != NULL)
		PUT(VERIFY_FOUND, columns_to_jsonb(d->def->fact->owner, d->found, payload, npayload));
	if (d->problem != NULL)
		PUT(VERIFY_PROBLEM, CStringGetTextDatum(d->problem));
#undef PUT
	MemoryContextSwitchTo(old);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, isnull);
	MemoryContextDelete(cxt);
}
