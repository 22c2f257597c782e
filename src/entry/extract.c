/*-------------------------------------------------------------------------
 *
 * extract.c
 *	  Turns a fact row into its entries in an index table.
 *
 * This is the only code that makes entries, whatever needs them: the triggers, the
 * drain, or a build.  It reads nothing but the row, so that the same row gives the
 * same entries at any time.  It allocates in the current memory context, which the
 * caller resets.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/lockdefs.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../expression/expression.h"
#include "../indextable.h"
#include "../util/fixed_settings.h"
#include "../util/memory.h"
#include "entry.h"

static bool extract_group(IndexDef *def, FactRow *row, RowDelta *delta, RowMismatch *mismatch);
static void add_groups(IndexDef *def, FactRow *row, bool report, RowDelta *delta, Elements *elements,
					   int *skipped);
static void put_elements(IndexDef *def, Elements *elements, int first, int n, Datum *values, bool *isnull);
static void extract_added(IndexDef *def, FactRow *row, RowDelta *delta, RowMismatch *mismatch);
static Datum summand(Field *field, bool exists, Datum value);
static void put_element(IndexDef *def, Elements *elements, int i, Datum *values, bool *isnull);
static void add_entry(Entries *entries, Datum *values, bool *isnull);

/*
 * passes_filter
 *		Returns whether a row asks for entries, as far as the filter of an index table tells.
 */
bool
passes_filter(IndexDef *def, TupleTableSlot *row)
{
	Datum		keep;

	return def->spec.filter == NULL || (expression_eval(def->spec.filter, row, &keep) && DatumGetBool(keep));
}

/*
 * extract_entries
 *		Fills entries, which are empty, with the entries of a row, ordered by identity
 *		and without duplicates; returns how many are left out and are to be counted.
 *
 * A value that cannot be an entry raises an error, or the entry is left out, as the
 * definition says.  If row->rejection is set, the error is noted there instead of
 * raised.  Without report, as for a row version that is not live any more, such
 * entries are left out without an error, and are not counted.
 *
 * A row that lacks a key field has no entry in a sparse index table, and NULL in it in another one.
 * Of multi-valued fields, rows without elements have no entry in either: a column that is NULL, or an
 * empty array, has none.  Elements that agree in all of these fields have one entry together.
 *
 * Bits in entries->lacking say whether a value was skipped, and of which field that was if it alone keeps
 * the row from having an entry, whether a key has the text of an array or
 * an object, or an array is on the way to it, and whether a time has no zone of its own: see
 * completeness.c.  A row that the filter leaves out, or that is rejected, has none of them.
 */
int
extract_entries(IndexDef *def, FactRow *row, bool report, Entries *entries)
{
	FactDef    *fact = row->fact;
	TupleTableSlot *slot = row->slot;
	Datum	   *values;
	bool	   *isnull;
	RowMismatch mismatch = {0};
	RowMismatch element_mismatch = {0};
	Elements	elements = {0};
	int			skipped = 0;
	int			i;

	if (!passes_filter(def, slot))
		return 0;
	values = palloc(sizeof(Datum) * entries->natts);
	isnull = palloc(sizeof(bool) * entries->natts);
	memset(isnull, true, sizeof(bool) * entries->natts);

	/*
	 * Keys come first: if one is null in a sparse index table there is no
	 * entry, whatever is wrong with the others.
	 */
	for (i = 0; i < def->spec.nkeys; i++)
	{
		Field	   *field = &def->spec.fields[i];
		ValueResult result;

		if (i == def->spec.multi_field)
			result = collect_elements(def, row, &elements, &element_mismatch) ? VALUE_OK : VALUE_NULL;
		else if (field->spec->multi)
			continue;
		else
			result = field_value(field, row, def->spec.docno, true, &values[field->attno - 1], &mismatch);
		isnull[field->attno - 1] = result == VALUE_NULL;
		if (result == VALUE_NULL)
		{
			values[field->attno - 1] = (Datum) 0;
			if (path_meets_array(field, row, def->spec.docno))
				mismatch.values |= PASSED_ARRAY_BIT;
			if (def->spec.sparse || i == def->spec.multi_field)
			{
				entries->lacking = (mismatch.values & PASSED_ARRAY_BIT) |
					(element_mismatch.values & (UNEVEN_BIT | NO_OBJECT_BIT | CONTAINER_BIT | PASSED_ARRAY_BIT));
				return 0;
			}
		}
	}
	for (; i < def->spec.nkeys + def->spec.nincludes; i++)
	{
		Field	   *field = &def->spec.fields[i];

		if (field->spec->multi)
			continue;
		isnull[field->attno - 1] =
			field_value(field, row, def->spec.docno, false, &values[field->attno - 1], &mismatch) == VALUE_NULL;
	}

	for (i = 0; i < fact->layout.npk; i++)
	{
		Datum		stored = slot->tts_values[fact->layout.pk_attno[i] - 1];

		/*
		 * A value that is sorted and put into an index must not be out of
		 * line.
		 */
		values[def->layout.pk_attno[i] - 1] =
			TupleDescAttr(def->layout.desc, def->layout.pk_attno[i] - 1)->attlen == -1 ?
			PointerGetDatum(PG_DETOAST_DATUM_PACKED(stored)) : stored;
		isnull[def->layout.pk_attno[i] - 1] = false;
	}
	if (def->layout.doc_attno != 0)
	{
		/* The document is taken as it is stored, compressed or out of line. */
		AttrNumber	attno = def->spec.fact_document;

		values[def->layout.doc_attno - 1] = slot->tts_values[attno - 1];
		isnull[def->layout.doc_attno - 1] = slot->tts_isnull[attno - 1];
	}

	if (mismatch.field != NULL)
	{
		if (report && !def->spec.skip_mismatch)
			report_mismatch(def, row, &mismatch);
		if (def->spec.skip_mismatch)
			entries->lacking = fault_bits(def, mismatch.field, mismatch.number) | mismatch.values |
				element_mismatch.values;
		return report && def->spec.skip_mismatch ? Max(elements.n + elements.mismatches, 1) : 0;
	}
	if (elements.mismatches > 0)
	{
		if (report && !def->spec.skip_mismatch)
			report_mismatch(def, row, &element_mismatch);
		skipped = elements.mismatches;
	}

	if (def->spec.multi)
	{
		if (unite_equal_elements(def, &elements) && def->layout.elements_attno == 0)
			element_mismatch.values |= UNEVEN_BIT;
		if (elements.unlike && def->spec.nkeys < 23)
			element_mismatch.values |= UNLIKE_BIT;
		if (!entries_fit(def, row, values, isnull, &elements, elements.n, report, &skipped))
			elements.n = 0;
		for (i = 0; i < elements.n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			put_element(def, &elements, i, values, isnull);
			if (key_fits(def, row, values, report, &skipped))
				add_entry(entries, values, isnull);
		}
	}
	else if (key_fits(def, row, values, report, &skipped))
	{
		/* Most rows have one entry, which needs no copy. */
		entries->n = entries->max = 1;
		entries->values = values;
		entries->isnull = isnull;
	}
	if (def->spec.skip_mismatch && skipped > 0)
		entries->lacking = SKIPPED_BIT(def);
	entries->lacking |= mismatch.values | element_mismatch.values;
	return report && def->spec.skip_mismatch ? skipped : 0;
}

/*
 * extract_delta
 *		Fills what a row adds to its group, or to the groups of its elements.  Returns false if it adds
 *		nothing.  report, row->rejection, and values that cannot be an entry are as in extract_entries().
 *
 * There is a group for NULL, so that every row and every element counts, unless the table is sparse.  A row
 * counts once in a group, and its fields are added up once, however many of its elements are in the group.
 * Fields of elements are added up for each of these.
 * If a key is skipped, GROUP_LACKS_BIT is noted in delta->lacking; SUM_LACKS_BIT, if only a sum lacks
 * a value; and REPEATED_BIT, if elements are in one group.
 */
bool
extract_delta(IndexDef *def, FactRow *row, bool report, RowDelta *delta)
{
	Elements	elements = {0};
	RowMismatch key = {0};
	RowMismatch element = {0};
	RowMismatch sum = {0};
	RowMismatch *wrong;
	int			skipped;

	memset(delta, 0, sizeof(RowDelta));
	if (!passes_filter(def, row->slot))
		return false;
	delta->natts = def->layout.desc->natts;
	delta->values = palloc0(sizeof(Datum) * delta->natts);
	delta->isnull = palloc(sizeof(bool) * delta->natts);
	memset(delta->isnull, true, sizeof(bool) * delta->natts);
	if (!extract_group(def, row, delta, &key))
		return false;
	if (def->spec.nelements > 0)
		(void) collect_elements(def, row, &elements, &element);
	if (key.field == NULL)
		extract_added(def, row, delta, &sum);

	wrong = key.field != NULL ? &key : element.field != NULL ? &element : &sum;
	if (wrong->field != NULL && report && !def->spec.skip_mismatch)
		report_mismatch(def, row, wrong);
	delta->lacking = key.values | element.values | sum.values;
	skipped = key.field != NULL ? 1 : elements.mismatches;
	if (key.field == NULL)
		add_groups(def, row, report, delta, &elements, &skipped);
	if (skipped > 0)
		delta->lacking |= GROUP_LACKS_BIT(def);
	if (elements.unsummed > 0 || sum.field != NULL)
		delta->lacking |= SUM_LACKS_BIT(def);
	if (report && def->spec.skip_mismatch)
		delta->skipped = skipped + elements.unsummed + (sum.field != NULL);
	return delta->n > 0;
}

/*
 * extract_group
 *		Fills the key fields of a row, but for those of elements; returns false if it belongs to no group.
 */
static bool
extract_group(IndexDef *def, FactRow *row, RowDelta *delta, RowMismatch *mismatch)
{
	for (int i = 0; i < def->spec.nkeys; i++)
	{
		Field	   *field = &def->spec.fields[i];
		Datum	   *value = &delta->values[field->attno - 1];

		if (field->spec->multi)
			continue;
		if (field_value(field, row, def->spec.docno, true, value, mismatch) == VALUE_OK)
			delta->isnull[field->attno - 1] = false;
		else if (def->spec.sparse && mismatch->field == NULL)
			return false;
		else
			*value = (Datum) 0;
	}
	return true;
}

/*
 * add_groups
 *		Makes what a row adds an entry for each of its groups.  Those whose key is too long are left out and
 *		added to *skipped.
 */
static void
add_groups(IndexDef *def, FactRow *row, bool report, RowDelta *delta, Elements *elements, int *skipped)
{
	int			ngroups = def->spec.nelements > 0 ? group_elements(def, elements) : 1;
	Datum	   *values = delta->values;
	bool	   *isnull = delta->isnull;
	int			first = 0;

	if (def->spec.nelements > 0 &&
		!entries_fit(def, row, values, isnull, elements, ngroups, report, skipped))
		return;
	if (ngroups > 1)
	{
		delta->values = palloc_extended(sizeof(Datum) * delta->natts * ngroups, MCXT_ALLOC_HUGE);
		delta->isnull = palloc_extended(sizeof(bool) * delta->natts * ngroups, MCXT_ALLOC_HUGE);
	}
	for (int i = 0; i < ngroups; i++)
	{
		int			n = def->spec.nelements > 0 ? elements->counts[i] : 0;

		CHECK_FOR_INTERRUPTS();
		if (n > 0)
			put_elements(def, elements, first, n, values, isnull);
		if (n > 1 && def->spec.nkeys < 23)
			delta->lacking |= REPEATED_BIT;
		first += n;
		if (!key_fits(def, row, values, report, skipped))
			continue;
		if (ngroups > 1)
		{
			memcpy(ENTRY_VALUES(delta, delta->n), values, sizeof(Datum) * delta->natts);
			memcpy(ENTRY_NULLS(delta, delta->n), isnull, sizeof(bool) * delta->natts);
		}
		delta->n++;
	}
}

/*
 * put_elements
 *		Fills an entry of totals with a group of n elements, which begin at a position of their order: sets
 *		their key, their number, and the count and the sum of each field of elements.
 */
static void
put_elements(IndexDef *def, Elements *elements, int first, int n, Datum *values, bool *isnull)
{
	for (int e = 0; e < def->spec.nkey_elements; e++)
	{
		AttrNumber	attno = def->spec.fields[def->spec.elements[e]].attno;

		values[attno - 1] = ELEMENT_VALUES(elements, elements->order[first])[e];
		isnull[attno - 1] = ELEMENT_NULLS(elements, elements->order[first])[e];
	}
	values[def->layout.elements_attno - 1] = Int64GetDatum(n);
	for (int e = def->spec.nkey_elements; e < elements->nfields; e++)
	{
		int			i = def->spec.elements[e] - def->spec.nkeys;
		int64		count = 0;
		Field	   *field = &def->spec.fields[def->spec.elements[e]];
		Datum		sum = summand(field, false, (Datum) 0);

		for (int k = first; k < first + n; k++)
		{
			Datum		value = ELEMENT_VALUES(elements, elements->order[k])[e];

			CHECK_FOR_INTERRUPTS();
			if (ELEMENT_NULLS(elements, elements->order[k])[e])
				continue;
			count++;
			if (SUM_ATTNO(def, i) == 0)
				continue;
			sum = DirectFunctionCall2(sum_type(field->type, field->typmod) == INT8OID ? int8pl : numeric_add,
									  sum, summand(field, true, value));
		}
		values[def->layout.count_attno[i] - 1] = Int64GetDatum(count);
		if (SUM_ATTNO(def, i) != 0)
			values[SUM_ATTNO(def, i) - 1] = sum;
	}
}

/* extract_added: fills the numbers that a row adds to each of its groups, without its elements */
static void
extract_added(IndexDef *def, FactRow *row, RowDelta *delta, RowMismatch *mismatch)
{
	AttrNumber *added = palloc(sizeof(AttrNumber) * delta->natts);
	int			nadded = added_columns(def, added);

	for (int i = 0; i < nadded; i++)
		delta->isnull[added[i] - 1] = false;
	delta->values[def->layout.rows_attno - 1] = Int64GetDatum(1);
	for (int i = 0; i < def->spec.nincludes; i++)
	{
		Field	   *field = &def->spec.fields[def->spec.nkeys + i];
		Datum		value = (Datum) 0;
		ValueResult result = VALUE_NULL;

		if (!field->spec->multi)
			result = field_value(field, row, def->spec.docno, false, &value, mismatch);
		if (result == VALUE_OK && SUM_ATTNO(def, i) != 0)
			result = summed_value(field, value, mismatch);
		delta->values[def->layout.count_attno[i] - 1] = Int64GetDatum(result == VALUE_OK ? 1 : 0);
		if (SUM_ATTNO(def, i) != 0)
			delta->values[SUM_ATTNO(def, i) - 1] = summand(field, result == VALUE_OK, value);
	}
}

/* summand: returns a value of a field as its sum has it, bigint or numeric; 0 if there is none */
static Datum
summand(Field *field, bool exists, Datum value)
{
	switch (field->type)
	{
		case INT2OID:
			return Int64GetDatum(exists ? DatumGetInt16(value) : 0);
		case INT4OID:
			return Int64GetDatum(exists ? DatumGetInt32(value) : 0);
		case INT8OID:
			return NumericGetDatum(int64_to_numeric(exists ? DatumGetInt64(value) : 0));
		default:
			return exists ? value : NumericGetDatum(int64_to_numeric(0));
	}
}

/*
 * put_element
 *		Puts an element of a row, and the number of equal ones, into the values of an entry.
 */
static void
put_element(IndexDef *def, Elements *elements, int i, Datum *values, bool *isnull)
{
	for (int e = 0; e < elements->nfields; e++)
	{
		AttrNumber	attno = def->spec.fields[def->spec.elements[e]].attno;

		values[attno - 1] = ELEMENT_VALUES(elements, elements->order[i])[e];
		isnull[attno - 1] = ELEMENT_NULLS(elements, elements->order[i])[e];
	}
	if (def->layout.elements_attno != 0)
	{
		values[def->layout.elements_attno - 1] = Int32GetDatum(elements->counts[i]);
		isnull[def->layout.elements_attno - 1] = false;
	}
}

/* add_entry: adds a copy of an entry, though not of the bytes that its values point to */
static void
add_entry(Entries *entries, Datum *values, bool *isnull)
{
	if (entries->n == entries->max)
		entries_grow(entries, 8);
	memcpy(ENTRY_VALUES(entries, entries->n), values, sizeof(Datum) * entries->natts);
	memcpy(ENTRY_NULLS(entries, entries->n), isnull, sizeof(bool) * entries->natts);
	entries->n++;
}
