/*-------------------------------------------------------------------------
 *
 * entry_statistics.c
 *	  Makes the statistics that ANALYZE would have of an index table, from entries of a sample.
 *
 * It has the types' own functions count the values, as the server does for statistics of
 * expressions, and puts the results into rows of pg_statistic, which are stored nowhere.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "commands/vacuum.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "../indextable.h"
#include "../util/as_owner.h"
#include "../util/compat.h"
#include "advise.h"

static HeapTuple column_statistics_of(IndexDef *def, AttrNumber attno, HeapTuple *entries, int n, double total);
static Datum fetch_value(VacAttrStatsP stats, int row, bool *isnull);
static HeapTuple statistics_row(VacAttrStats *stats, AttrNumber attno);

/*
 * entry_statistics
 *		Returns a row of pg_statistic for each column of an index table, NULL for some, made of n of its total
 *		entries, in its order.
 */
HeapTuple *
entry_statistics(IndexDef *def, HeapTuple *entries, int n, double total)
{
	TupleDesc	desc = def->layout.desc;
	HeapTuple  *result = palloc0(sizeof(HeapTuple) * desc->natts);

	AS_OWNER(def->fact->owner);
	{
		/* Nobody asks for those of documents, which are large. */
		for (int i = 1; i <= desc->natts && n > 0; i++)
			if (i != def->layout.doc_attno)
				result[i - 1] = column_statistics_of(def, i, entries, n, total);
	}
	END_AS_OWNER();
	return result;
}

/* column_statistics_of: returns the statistics of one column, or NULL */
static HeapTuple
column_statistics_of(IndexDef *def, AttrNumber attno, HeapTuple *entries, int n, double total)
{
	Form_pg_attribute att = TupleDescAttr(def->layout.desc, attno - 1);
	VacAttrStats stats = {0};
	bool		wanted;

	begin_statistics(&stats, att);
	stats.attrtypid = att->atttypid;
	stats.attrtypmod = att->atttypmod;
	stats.attrcollid = att->attcollation;
	stats.attrtype = (Form_pg_type) GETSTRUCT(SearchSysCacheCopy1(TYPEOID, ObjectIdGetDatum(att->atttypid)));
	stats.anl_context = CurrentMemoryContext;
	stats.tupattnum = attno;
	stats.rows = entries;
	stats.tupDesc = def->layout.desc;
	for (int i = 0; i < STATISTIC_NUM_SLOTS; i++)
	{
		stats.statypid[i] = stats.attrtypid;
		stats.statyplen[i] = stats.attrtype->typlen;
		stats.statypbyval[i] = stats.attrtype->typbyval;
		stats.statypalign[i] = stats.attrtype->typalign;
	}
	wanted = OidIsValid(stats.attrtype->typanalyze) ?
		DatumGetBool(OidFunctionCall1(stats.attrtype->typanalyze, PointerGetDatum(&stats))) :
		std_typanalyze(&stats);
	if (!wanted || stats.compute_stats == NULL)
		return NULL;
	stats.compute_stats(&stats, fetch_value, n, total);
	return stats.stats_valid ? statistics_row(&stats, attno) : NULL;
}

/* fetch_value: returns the value that an entry, by its number, has in the column */
static Datum
fetch_value(VacAttrStatsP stats, int row, bool *isnull)
{
	return heap_getattr(stats->rows[row], stats->tupattnum, stats->tupDesc, isnull);
}

/* statistics_row: returns what was counted as a row of pg_statistic, of no table */
static HeapTuple
statistics_row(VacAttrStats *stats, AttrNumber attno)
{
	Relation	catalog = table_open(StatisticRelationId, AccessShareLock);
	Datum		values[Natts_pg_statistic] = {0};
	bool		nulls[Natts_pg_statistic] = {0};
	HeapTuple	result;

#define PUT(column, value)	(values[(column) - 1] = (value))
	PUT(Anum_pg_statistic_staattnum, Int16GetDatum(attno));
	PUT(Anum_pg_statistic_stanullfrac, Float4GetDatum(stats->stanullfrac));
	PUT(Anum_pg_statistic_stawidth, Int32GetDatum(stats->stawidth));
	PUT(Anum_pg_statistic_stadistinct, Float4GetDatum(stats->stadistinct));
	for (int i = 0; i < STATISTIC_NUM_SLOTS; i++)
	{
		Datum	   *numbers = palloc(sizeof(Datum) * Max(stats->numnumbers[i], 1));

		for (int k = 0; k < stats->numnumbers[i]; k++)
			numbers[k] = Float4GetDatum(stats->stanumbers[i][k]);
		PUT(Anum_pg_statistic_stakind1 + i, Int16GetDatum(stats->stakind[i]));
		PUT(Anum_pg_statistic_staop1 + i, ObjectIdGetDatum(stats->staop[i]));
		PUT(Anum_pg_statistic_stacoll1 + i, ObjectIdGetDatum(stats->stacoll[i]));
		nulls[Anum_pg_statistic_stanumbers1 + i - 1] = stats->numnumbers[i] == 0;
		nulls[Anum_pg_statistic_stavalues1 + i - 1] = stats->numvalues[i] == 0;
		if (stats->numnumbers[i] > 0)
			PUT(Anum_pg_statistic_stanumbers1 + i,
				PointerGetDatum(construct_array(numbers, stats->numnumbers[i], FLOAT4OID, sizeof(float4), true,
												TYPALIGN_INT)));
		if (stats->numvalues[i] > 0)
			PUT(Anum_pg_statistic_stavalues1 + i,
				PointerGetDatum(construct_array(stats->stavalues[i], stats->numvalues[i], stats->statypid[i],
												stats->statyplen[i], stats->statypbyval[i],
												stats->statypalign[i])));
	}
#undef PUT
	result = heap_form_tuple(RelationGetDescr(catalog), values, nulls);
	table_close(catalog, AccessShareLock);
	return result;
}
