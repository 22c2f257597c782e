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
#include "utils/numeric.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../expression/expression.h"
#include "../indextable.h"
#include "../util/fixed_settings.h"
#include "../util/memory.h"
#include "entry.h"

static bool extract_groups(IndexDef *def, FactRow *row, bool report, RowDelta *delta);
static void extract_added(IndexDef *def, FactRow *row, RowDelta *delta, RowMismatch *mismatch);
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
 * Bits in entries->lacking say whether a value was skipped, whether a key has the text of an array or
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
			entries->lacking = SKIPPED_BIT(def);
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
		if (!entries_fit(def, row, values, isnull, &elements, report, &skipped))
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
 *		Fills what a row adds to its group, or to the groups of its elements, which are distinct as
 *		in extract_entries().  Returns false if it adds nothing.  report, row->rejection, and values
 *		that cannot be an entry are as there, too.
 *
 * There is a group for NULL, so that every row counts that has elements, if elements are a key.
 * If a key is skipped, GROUP_LACKS_BIT is noted in delta->lacking; SUM_LACKS_BIT, if only a sum lacks
 * a value.
 */
bool
extract_delta(IndexDef *def, FactRow *row, bool report, RowDelta *delta)
{
	RowMismatch mismatch = {0};

	memset(delta, 0, sizeof(RowDelta));
	if (!passes_filter(def, row->slot))
		return false;
	delta->values = palloc0(sizeof(Datum) * def->layout.desc->natts);
	delta->isnull = palloc(sizeof(bool) * def->layout.desc->natts);
	memset(delta->isnull, true, sizeof(bool) * def->layout.desc->natts);
	if (!extract_groups(def, row, report, delta))
		return false;
	extract_added(def, row, delta, &mismatch);
	if (mismatch.field != NULL)
	{
		if (report && !def->spec.skip_mismatch)
			report_mismatch(def, row, &mismatch);
		delta->lacking |= SUM_LACKS_BIT(def);
		delta->skipped += report && def->spec.skip_mismatch;
	}
	delta->lacking |= mismatch.values;
	return true;
}

/*
 * extract_groups
 *		Fills the key fields of what a row adds; returns false if it belongs to no group.
 */
static bool
extract_groups(IndexDef *def, FactRow *row, bool report, RowDelta *delta)
{
	RowMismatch mismatch = {0};
	RowMismatch element_mismatch = {0};
	Elements	elements = {0};
	int			skipped;
	int			i;

	for (i = 0; i < def->spec.nkeys; i++)
	{
		Field	   *field = &def->spec.fields[i];
		Datum	   *value = &delta->values[field->attno - 1];

		if (i == def->spec.multi_field)
			(void) collect_elements(def, row, &elements, &element_mismatch);
		else if (field_value(field, row, def->spec.docno, true, value, &mismatch) == VALUE_OK)
			delta->isnull[field->attno - 1] = false;
		else if (def->spec.sparse && mismatch.field == NULL)
			return false;
		else
			*value = (Datum) 0;
	}
	skipped = mismatch.field != NULL ? 1 : elements.mismatches;
	if (skipped > 0 && report && !def->spec.skip_mismatch)
		report_mismatch(def, row, mismatch.field != NULL ? &mismatch : &element_mismatch);
	delta->lacking |= mismatch.values | element_mismatch.values;
	if (def->spec.multi)
	{
		if (unite_equal_elements(def, &elements))
			delta->lacking |= UNEVEN_BIT;
		delta->elements = palloc(sizeof(Datum) * Max(elements.n, 1));
	}
	for (i = 0; mismatch.field == NULL && i < (def->spec.multi ? elements.n : 1); i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (def->spec.multi)
			set_element(def, delta, ELEMENT_VALUES(&elements, elements.order[i])[0]);
		if (!key_fits(def, row, delta->values, report, &skipped))
			continue;
		if (def->spec.multi)
			delta->elements[delta->n] = ELEMENT_VALUES(&elements, elements.order[i])[0];
		delta->n++;
	}
	if (skipped > 0)
		delta->lacking |= GROUP_LACKS_BIT(def);
	if (report && def->spec.skip_mismatch)
		delta->skipped += skipped;
	return delta->n > 0;
}

/* set_element: makes what a row adds to its groups what it adds to that of an element */
void
set_element(IndexDef *def, RowDelta *delta, Datum element)
{
	AttrNumber	attno = def->spec.fields[def->spec.multi_field].attno;

	delta->values[attno - 1] = element;
	delta->isnull[attno - 1] = false;
}

/* extract_added: fills the numbers that a row adds to each of its groups */
static void
extract_added(IndexDef *def, FactRow *row, RowDelta *delta, RowMismatch *mismatch)
{
	Datum	   *values = delta->values;
	bool	   *isnull = delta->isnull;

	values[def->layout.rows_attno - 1] = Int64GetDatum(1);
	isnull[def->layout.rows_attno - 1] = false;
	for (int i = 0; i < def->spec.nincludes; i++)
	{
		Field	   *field = &def->spec.fields[def->spec.nkeys + i];
		AttrNumber	sum = SUM_ATTNO(def, i);
		AttrNumber	count = def->layout.count_attno[i];
		Datum		value = (Datum) 0;
		ValueResult result = field_value(field, row, def->spec.docno, false, &value, mismatch);

		if (result == VALUE_OK && sum != 0 && field->type == NUMERICOID && numeric_is_nan(DatumGetNumeric(value)))
		{
			result = VALUE_MISMATCH;
			mismatch->field = field;
			mismatch->value = "NaN";
			mismatch->why.sqlstate = ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE;
			mismatch->why.message = "It cannot be taken away from a sum again.";
		}
		isnull[count - 1] = false;
		values[count - 1] = Int64GetDatum(result == VALUE_OK ? 1 : 0);
		if (sum == 0)
			continue;
		isnull[sum - 1] = false;
		if (field->type == INT2OID || field->type == INT4OID)
			values[sum - 1] = Int64GetDatum(result != VALUE_OK ? 0 :
											field->type == INT2OID ? DatumGetInt16(value) : DatumGetInt32(value));
		else if (result != VALUE_OK || field->type == INT8OID)
			values[sum - 1] = NumericGetDatum(int64_to_numeric(result == VALUE_OK ? DatumGetInt64(value) : 0));
		else
			values[sum - 1] = value;
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
