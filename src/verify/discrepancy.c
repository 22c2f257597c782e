/*-------------------------------------------------------------------------
 *
 * discrepancy.c
 *	  Tells which row a discrepancy is about, and what to run for one of the setup.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/jsonb.h"

#include "../catalog/named_table.h"
#include "../entry/row_text.h"
#include "discrepancy.h"

/*
 * discrepancy_key
 *		Returns the primary key of the row that a discrepancy is about, or NULL if it
 *		is about no row.
 */
Jsonb *
discrepancy_key(Discrepancy *d)
{
	TupleTableSlot *entry = d->expected != NULL ? d->expected : d->found;

	if (d->columns != NULL)
		return d->isnull[VERIFY_PRIMARY_KEY] ? NULL : DatumGetJsonbP(d->columns[VERIFY_PRIMARY_KEY]);
	if (entry != NULL)
		return DatumGetJsonbP(columns_to_jsonb(d->def->fact->owner, entry, d->def->pk_attno, d->def->fact->npk));
	if (d->row != NULL)
		return DatumGetJsonbP(columns_to_jsonb(d->def->fact->owner, d->row, d->def->fact->pk_attno, d->def->fact->npk));
	return NULL;
}

/* problem_to_repair: returns the text of a problem that repair() mends, with the SQL to run */
char *
problem_to_repair(const char *problem, Oid index_table)
{
	return psprintf("%s; run %s", problem, told_call("repair", index_table));
}
