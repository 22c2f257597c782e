/*-------------------------------------------------------------------------
 *
 * discrepancy.c
 *	  Adds discrepancies to the result of verify(), and tells what to run for one of the
 *	  setup.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../entry/entry.h"
#include "../indextable.h"
#include "../util/relation.h"
#include "verify.h"

static int	payload_columns(IndexDef *def, AttrNumber *columns);

static const char *const kinds[KINDS] = {
	[KIND_MISSING] = "missing",[KIND_DANGLING] = "dangling",[KIND_STALE] = "stale",[KIND_REJECTED] = "rejected",[KIND_SETUP] = "setup"
};

/* discrepancy_kind: returns the kind that verify() calls by a name */
DiscrepancyKind
discrepancy_kind(const char *name)
{
	for (int i = 0; i < KINDS; i++)
		if (strcmp(kinds[i], name) == 0)
			return i;
	elog(ERROR, "verify() on another node has found the unknown kind \"%s\"", name);
}

/* report_problem: calls the handler with a problem of the setup; by_hand says that repair() does not mend it */
void
report_problem(IndexDef *def, const char *problem, bool by_hand, discrepancy_handler handler, void *arg)
{
	Discrepancy d = {.kind = KIND_SETUP,.def = def,.problem = problem,.by_hand = by_hand};

	handler(&d, arg);
}

/* problem_to_repair: returns the text of a problem that repair() mends, with the SQL to run */
char *
problem_to_repair(const char *problem, Oid index_table)
{
	return psprintf("%s; run %s", problem, told_call("repair", index_table));
}

/* verify_require_owner: raises an error if a table is an index table or a fact table that is not the current user's */
void
verify_require_owner(Oid relid)
{
	if (OidIsValid(catalog_fact_of(relid)) || catalog_has_fact(relid))
		require_owner(relid);
}

/* payload_columns: sets columns to those that an entry has beside its key; returns how many there are */
static int
payload_columns(IndexDef *def, AttrNumber *columns)
{
	int			n = 0;

	if (is_totals(def))
		return added_columns(def, columns);
	for (int i = def->nkeys; i < def->nkeys + def->nincludes; i++)
		if (!def->fields[i].is_hint)
			columns[n++] = def->fields[i].attno;
	if (def->doc_attno != 0)
		columns[n++] = def->doc_attno;
	return n;
}

/* put_discrepancy: adds a discrepancy to the result, as a row */
void
put_discrepancy(Discrepancy *d, void *arg)
{
	VerifyResult *result = arg;
	ReturnSetInfo *rsinfo = result->rsinfo;
	MemoryContext cxt;
	MemoryContext old;
	TupleTableSlot *entry = d->expected != NULL ? d->expected : d->found;
	AttrNumber *payload;
	int			npayload;
	Datum		values[VERIFY_COLUMNS] = {0};
	bool		isnull[VERIFY_COLUMNS];

	memset(isnull, true, sizeof(isnull));
#define PUT(i, datum)	(values[i] = (datum), isnull[i] = false)
	PUT(VERIFY_IN_TABLE, ObjectIdGetDatum(result->index_table));
	if (d->columns != NULL)
	{
		memcpy(values, d->columns, sizeof(Datum) * VERIFY_SHARD_COLUMNS);
		memcpy(isnull, d->isnull, sizeof(bool) * VERIFY_SHARD_COLUMNS);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, isnull);
		return;
	}
	cxt = AllocSetContextCreate(CurrentMemoryContext, "discrepancy", ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(cxt);
	payload = entry == NULL ? NULL : palloc(sizeof(AttrNumber) * d->def->desc->natts);
	npayload = entry == NULL ? 0 : payload_columns(d->def, payload);

	PUT(VERIFY_KIND, CStringGetTextDatum(kinds[d->kind]));
	if (entry != NULL)
		PUT(VERIFY_KEY, columns_to_jsonb(d->def->fact->owner, entry, d->def->ident, d->def->nkeys));
	if (entry != NULL && !is_totals(d->def))
		PUT(VERIFY_PRIMARY_KEY, columns_to_jsonb(d->def->fact->owner, entry, d->def->pk_attno, d->def->fact->npk));
	if (d->row != NULL)
		PUT(VERIFY_PRIMARY_KEY, columns_to_jsonb(d->def->fact->owner, d->row, d->def->fact->pk_attno, d->def->fact->npk));
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
