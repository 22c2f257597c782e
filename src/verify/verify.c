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

PG_FUNCTION_INFO_V1(indextable_verify);

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
	if (OidIsValid(catalog_fact_of(relid)) && !owns_relation(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(relid));
	forget_orphaned_rows(InvalidOid);
	verify_index_table(relid, sample, put_discrepancy, rsinfo);
	return (Datum) 0;
}

/* put_discrepancy: adds a discrepancy to the result, as a row */
static void
put_discrepancy(Discrepancy *d, void *arg)
{
	ReturnSetInfo *rsinfo = arg;
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "discrepancy", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	TupleTableSlot *entry = d->expected != NULL ? d->expected : d->found;
	AttrNumber *payload = palloc(sizeof(AttrNumber) * d->def->desc->natts);
	int			npayload = 0;
	Datum		values[6] = {0};
	bool		isnull[6];
	int			i;

	for (i = d->def->nkeys; i < d->def->nkeys + d->def->nincludes; i++)
		payload[npayload++] = d->def->fields[i].attno;
	if (d->def->doc_attno != 0)
		payload[npayload++] = d->def->doc_attno;

	memset(isnull, true, sizeof(isnull));
#define PUT(i, datum)	(values[i] = (datum), isnull[i] = false)
	PUT(0, CStringGetTextDatum(d->kind));
	if (entry != NULL)
		PUT(1, columns_to_jsonb(d->def->fact->owner, entry, d->def->ident, d->def->nkeys));
	if (entry != NULL || d->row != NULL)
		PUT(2, JsonbPGetDatum(discrepancy_key(d)));
	if (d->expected != NULL)
		PUT(3, columns_to_jsonb(d->def->fact->owner, d->expected, payload, npayload));
	if (d->found != NULL)
		PUT(4, columns_to_jsonb(d->def->fact->owner, d->found, payload, npayload));
	if (d->problem != NULL)
		PUT(5, CStringGetTextDatum(d->problem));
#undef PUT
	MemoryContextSwitchTo(old);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, isnull);
	MemoryContextDelete(cxt);
}
