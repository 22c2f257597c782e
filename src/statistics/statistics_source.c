/*-------------------------------------------------------------------------
 *
 * statistics_source.c
 *	  Knows which columns of index tables have the values of an expression over a fact table,
 *	  so that the planner can use their statistics, and which share of its rows they are about.
 *
 * Nothing depends on the result but estimates.  Nothing is locked for it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "../catalog/catalog.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../match/match.h"
#include "../util/relation.h"
#include "../util/settings.h"
#include "statistics.h"

/* Index tables with entries for fewer of the rows lend only what is certain. */
#define MIN_SHARE	0.5

/* Shares above this are 1: counts of rows are not that exact. */
#define ALL_ROWS	0.999

/* A column of an index table. */
typedef struct Lender
{
	Oid			index_table;
	AttrNumber	attno;
	Oid			type;
	Oid			cast_to;		/* the expression's, if another one */
	bool		partitioned;	/* the index table is */

	/*
	 * Factors that turn a fraction of the entries into a fraction of the fact
	 * table's rows:
	 */
	double		not_null;		/* of what is not NULL, */
	double		common;			/* and of common values */
	double		unknown;		/* share of the rows that may be otherwise */
	double		entries;
} Lender;

static void add_lender(List **lenders, FactDef *fact, IndexDef *def, int i, Oid cast_to);
static HeapTuple statistics_of(Lender *lender);
static bool are_of_type(HeapTuple statistics, Oid type);
static HeapTuple adapt(HeapTuple statistics, Lender *lender);
static Datum values_as_type(AttStatsSlot *slot, Oid type);
static int	compare_lenders(const ListCell *a, const ListCell *b);

/*
 * lenders_of
 *		Returns the columns (Lender *) that have the values of an expression over a fact table,
 *		relation varno of a query, the best first.
 *
 * Index tables with a filter are left out: what they have is not like the other rows.  So are
 * those with a multi-valued key, of which a row has any number of entries, and those that are
 * not complete.  An asynchronous one is as good as the others: statistics are late anyway.  One
 * that is hidden lends nothing, so that plans are as they would be without it.
 */
List *
lenders_of(FactDef *fact, Node *expr, Index varno)
{
	List	   *result = NIL;
	Node	   *bare = bare_value(without_length(expr, NULL));
	bool		rounded;
	bool		lossy;

	for (int i = 0; i < fact->ndefs; i++)
	{
		IndexDef   *def = fact->defs[i];

		if (!def->active || (def->hidden && !setting_use_hidden) || def->spec.filter != NULL || def->spec.multi)
			continue;
		for (int j = 0; j < def->spec.nkeys + def->spec.nincludes; j++)
		{
			if (expression_resembles_field(def, &def->spec.fields[j], expr, varno) ||
				(bare != expr && expression_resembles_field(def, &def->spec.fields[j], bare, varno)))
				add_lender(&result, fact, def, j, InvalidOid);
			/* Another type of numbers has the values, too, and so has text. */
			else if (is_number_cast(def, &def->spec.fields[j], bare, varno, &rounded, &lossy) ||
					 (def->spec.fields[j].type != TEXTOID && is_castable_field(&def->spec.fields[j]) &&
					  is_text_of_field(def, &def->spec.fields[j], bare, varno)))
				add_lender(&result, fact, def, j, exprType(bare));
		}
	}
	list_sort(result, compare_lenders);
	return result;
}

/*
 * add_lender
 *		Adds the column of field i of a definition to a list, if it can be said how its values
 *		are spread over the rows of the fact table.
 *
 * A row has an entry if all key fields are there.  So the share of the rows that have an entry
 * is, for the only key field, exactly the share of rows where it is not NULL.
 *
 * Of several key fields it is not known which of them the other rows lack.  The share of rows
 * where one of them is not NULL is at least that of the rows with an entry, and at most 1.  Its
 * square root is between the two, and the factor by which it can be wrong is the least.  Of
 * included fields nothing is known about rows without entries; they are taken to be NULL as
 * often as in the others.
 *
 * In either case the other rows may have the values that are common among entries, or others.
 * A common value is taken to have as many rows as it has entries, which is the least that it
 * can have, and what is left goes to the values that are not common.  Where fields do not
 * depend on each other that is too little for a common value by a factor of at most 2, because
 * index tables with entries for less than half of the rows lend nothing of this.
 *
 * Where all rows have entries everything is exact.
 */
static void
add_lender(List **lenders, FactDef *fact, IndexDef *def, int i, Oid cast_to)
{
	double		rows = table_rows(fact->relid);
	double		entries = table_rows(def->relid);
	double		share = Min(entries / Max(rows, 1), 1);
	bool		certain = i < def->spec.nkeys && def->spec.nkeys == 1;
	Lender	   *lender;

	if (rows <= 0 || entries <= 0 || (!certain && share < MIN_SHARE))
		return;
	lender = palloc(sizeof(Lender));
	lender->index_table = def->relid;
	lender->attno = def->spec.fields[i].attno;
	lender->type = def->spec.fields[i].type;
	lender->cast_to = cast_to == lender->type ? InvalidOid : cast_to;
	lender->partitioned = def->layout.parts != NULL;
	lender->not_null = certain ? share : i < def->spec.nkeys ? sqrt(share) : 1;
	lender->common = share;
	lender->unknown = certain ? 0 : 1 - share;
	lender->entries = entries;
	*lenders = lappend(*lenders, lender);
}

/*
 * lent_statistics
 *		Returns the statistics of the first of the lenders that has any, in the current memory
 *		context, or NULL.
 */
HeapTuple
lent_statistics(List *lenders)
{
	foreach_ptr(Lender, lender, lenders)
	{
		HeapTuple	statistics = statistics_of(lender);
		HeapTuple	result;

		if (statistics == NULL)
			continue;
		result = lender->common < ALL_ROWS || OidIsValid(lender->cast_to) ? adapt(statistics, lender) :
			heap_copytuple(statistics);
		release_statistics(statistics);
		return result;
	}
	return NULL;
}

/*
 * statistics_of
 *		Returns the row of pg_statistic about a column of an index table, to be released with
 *		release_statistics(); NULL if there is none.
 *
 * The index table is not locked, and may have been dropped or altered since its definition
 * was read.  Then there is no such row, or one about something else, which is only a bad
 * estimate, as long as the values in it are of the type that the planner expects.
 */
static HeapTuple
statistics_of(Lender *lender)
{
	HeapTuple	tuple = column_statistics_row(lender->index_table, lender->attno, lender->partitioned);

	if (!HeapTupleIsValid(tuple) || are_of_type(tuple, lender->type))
		return tuple;
	release_statistics(tuple);
	return NULL;
}

/* are_of_type: returns whether all values in statistics are of a type, and said of such values */
static bool
are_of_type(HeapTuple statistics, Oid type)
{
	Form_pg_statistic form = (Form_pg_statistic) GETSTRUCT(statistics);

	for (int slot = 0; slot < STATISTIC_NUM_SLOTS; slot++)
	{
		int16		kind = (&form->stakind1)[slot];
		bool		isnull;
		Datum		values;

		if (kind == 0 || kind == STATISTIC_KIND_CORRELATION)
			continue;
		if (kind != STATISTIC_KIND_MCV && kind != STATISTIC_KIND_HISTOGRAM)
			return false;
		values = SysCacheGetAttr(STATRELATTINH, statistics, Anum_pg_statistic_stavalues1 + slot, &isnull);
		if (isnull || ARR_ELEMTYPE(DatumGetArrayTypeP(values)) != type)
			return false;
	}
	return true;
}

/*
 * adapt
 *		Returns a copy of statistics of an index table's column, made to be about an expression over
 *		the rows of the fact table.  The shares of NULL and of common values are shares of all rows,
 *		and so is the number of distinct values if it is negative; a histogram is of the rest,
 *		whatever its share is.  If the expression has another type, so have the values.
 */
static HeapTuple
adapt(HeapTuple statistics, Lender *lender)
{
	Form_pg_statistic form = (Form_pg_statistic) GETSTRUCT(statistics);
	Relation	catalog = table_open(StatisticRelationId, AccessShareLock);
	Datum		values[Natts_pg_statistic] = {0};
	bool		isnull[Natts_pg_statistic] = {0};
	bool		replace[Natts_pg_statistic] = {0};
	HeapTuple	result;

#define REPLACE(attno, value)	(values[(attno) - 1] = (value), replace[(attno) - 1] = true)
	REPLACE(Anum_pg_statistic_stanullfrac, Float4GetDatum(1 - lender->not_null * (1 - form->stanullfrac)));
	if (form->stadistinct < 0)
		REPLACE(Anum_pg_statistic_stadistinct, Float4GetDatum(form->stadistinct * lender->not_null));
	for (int i = 0; i < STATISTIC_NUM_SLOTS; i++)
	{
		int			kind = (&form->stakind1)[i];
		int			parts = (kind == STATISTIC_KIND_MCV ? ATTSTATSSLOT_NUMBERS : 0) |
			(OidIsValid(lender->cast_to) ? ATTSTATSSLOT_VALUES : 0);
		AttStatsSlot slot;
		Datum	   *shares;

		if ((kind != STATISTIC_KIND_MCV && kind != STATISTIC_KIND_HISTOGRAM) || parts == 0 ||
			!get_attstatsslot(&slot, statistics, kind, InvalidOid, parts))
			continue;
		if (kind == STATISTIC_KIND_MCV)
		{
			shares = palloc(sizeof(Datum) * slot.nnumbers);
			for (int j = 0; j < slot.nnumbers; j++)
				shares[j] = Float4GetDatum(slot.numbers[j] * lender->common);
			REPLACE(Anum_pg_statistic_stanumbers1 + i,
					PointerGetDatum(construct_array(shares, slot.nnumbers, FLOAT4OID, sizeof(float4), true,
													TYPALIGN_INT)));
		}
		if (OidIsValid(lender->cast_to))
		{
			TypeCacheEntry *type = lookup_type_cache(lender->cast_to, TYPECACHE_EQ_OPR | TYPECACHE_LT_OPR);

			REPLACE(Anum_pg_statistic_staop1 + i,
					ObjectIdGetDatum(kind == STATISTIC_KIND_MCV ? type->eq_opr : type->lt_opr));
			REPLACE(Anum_pg_statistic_stavalues1 + i, values_as_type(&slot, type->type_id));
			/* Texts are in another order than what they were made into. */
			if (kind == STATISTIC_KIND_HISTOGRAM && type->type_id == TEXTOID)
				REPLACE(Anum_pg_statistic_stakind1 + i, Int16GetDatum(0));
		}
		free_attstatsslot(&slot);
	}
#undef REPLACE
	result = heap_modify_tuple(statistics, RelationGetDescr(catalog), values, isnull, replace);
	table_close(catalog, AccessShareLock);
	return result;
}

/*
 * values_as_type
 *		Returns an array of the values in statistics, cast to another type; none of these
 *		casts raises an error.
 */
static Datum
values_as_type(AttStatsSlot *slot, Oid type)
{
	Datum	   *values = palloc(sizeof(Datum) * slot->nvalues);
	Oid			function = InvalidOid;
	bool		is_output = type == TEXTOID && slot->valuetype != BOOLOID;	/* true, not t */
	bool		is_varlena;
	int16		len;
	bool		byval;
	char		align;

	if (is_output)
		getTypeOutputInfo(slot->valuetype, &function, &is_varlena);
	else if (slot->valuetype != NUMERICOID)
		(void) find_coercion_pathway(type, slot->valuetype, COERCION_EXPLICIT, &function);
	for (int i = 0; i < slot->nvalues; i++)
		values[i] = is_output ? CStringGetTextDatum(OidOutputFunctionCall(function, slot->values[i])) :
			slot->valuetype == NUMERICOID ? DirectFunctionCall1(numeric_float8_no_overflow, slot->values[i]) :
			OidFunctionCall1(function, slot->values[i]);
	get_typlenbyvalalign(type, &len, &byval, &align);
	return PointerGetDatum(construct_array(values, slot->nvalues, type, len, byval, align));
}

/*
 * compare_lenders
 *		Puts first what needs no cast, then what is most certain, what is about more rows, the
 *		older one.
 */
static int
compare_lenders(const ListCell *a, const ListCell *b)
{
	Lender	   *x = lfirst(a);
	Lender	   *y = lfirst(b);

	if (OidIsValid(x->cast_to) != OidIsValid(y->cast_to))
		return OidIsValid(x->cast_to) ? 1 : -1;
	if (x->unknown != y->unknown)
		return x->unknown < y->unknown ? -1 : 1;
	if (x->entries != y->entries)
		return x->entries > y->entries ? -1 : 1;
	return x->index_table < y->index_table ? -1 : x->index_table > y->index_table ? 1 : 0;
}
