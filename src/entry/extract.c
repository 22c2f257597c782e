/*-------------------------------------------------------------------------
 *
 * extract.c
 *	  Turns a fact row into its entries in an index table.
 *
 * This is the only code that makes entries, whoever needs them: the triggers, the
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
#include "../indextable.h"
#include "../util/fixed_settings.h"
#include "../util/memory.h"
#include "entry.h"

/* The values of a multi-valued field. */
typedef struct Elements
{
	Datum	   *values;
	int			n;
	int			max;
	int			mismatches;		/* how many could not be cast */
	bool		null;			/* one is NULL, and is not among values */
} Elements;

static bool extract_groups(IndexDef *def, FactRow *row, bool report, RowDelta *delta);
static void extract_added(IndexDef *def, FactRow *row, RowDelta *delta, RowMismatch *mismatch);
static ValueResult field_value(Field *field, FactRow *row, int docno, bool is_key,
							   Datum *result, RowMismatch *mismatch);
static ValueResult column_value(Field *field, Datum value, Datum *result);
static char *converted_text(Field *field, FactRow *row, int docno);
static ValueResult collect_row_elements(IndexDef *def, FactRow *row, Elements *elements, RowMismatch *mismatch);
static void collect_array(Field *field, FactRow *row, int docno, Elements *elements, RowMismatch *mismatch);
static void collect_elements(Field *field, JsonbValue *value, int step, bool of_array, Elements *elements,
							 RowMismatch *mismatch);
static void take_element(Elements *elements, Datum value);
static void sort_elements(IndexDef *def, Elements *elements);
static int	compare_elements(const void *a, const void *b, void *arg);
static void add_entry(Entries *entries, Datum *values, bool *isnull);

/* passes_filter: returns whether a row asks for entries, as far as the filter of an index table tells */
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
 * Of a multi-valued field, rows without elements have no entry in either: a column that is NULL, or an
 * empty array, has none.
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
			result = collect_row_elements(def, row, &elements, &element_mismatch);
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
					(element_mismatch.values & (UNEVEN_BIT | CONTAINER_BIT | PASSED_ARRAY_BIT));
				return 0;
			}
		}
	}
	for (; i < def->spec.nkeys + def->spec.nincludes; i++)
	{
		Field	   *field = &def->spec.fields[i];

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
		AttrNumber	attno = def->spec.fields[def->spec.multi_field].attno;

		i = elements.n;
		sort_elements(def, &elements);
		if (i > elements.n)
			element_mismatch.values |= UNEVEN_BIT;
		if (!entries_fit(def, row, values, isnull, elements.values, elements.n, report, &skipped))
			elements.n = 0;
		for (i = 0; i < elements.n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			values[attno - 1] = elements.values[i];
			if (key_fits(def, row, values, report, &skipped))
				add_entry(entries, values, isnull);
		}
		if (elements.null && !def->spec.sparse)
		{
			/* It comes last, as in the index table. */
			values[attno - 1] = (Datum) 0;
			isnull[attno - 1] = true;
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
	entries->lacking |= mismatch.values | (element_mismatch.values & ~NO_STRING_BIT);
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

/* extract_groups: fills the key fields of what a row adds; returns false if it belongs to no group */
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
			(void) collect_row_elements(def, row, &elements, &element_mismatch);
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
	i = elements.n;
	if (def->spec.multi)
		sort_elements(def, &elements);
	if (i > elements.n)
		delta->lacking |= UNEVEN_BIT;
	for (i = 0; mismatch.field == NULL && i < (def->spec.multi ? elements.n : 1); i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (def->spec.multi)
			set_element(def, delta, elements.values[i]);
		if (!key_fits(def, row, delta->values, report, &skipped))
			continue;
		if (def->spec.multi)
			elements.values[delta->n] = elements.values[i];
		delta->n++;
	}
	delta->elements = elements.values;
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
 * field_value
 *		Finds the value of a field that is not multi-valued.
 */
static ValueResult
field_value(Field *field, FactRow *row, int docno, bool is_key, Datum *result,
			RowMismatch *mismatch)
{
	JsonbValue	value;

	if (field->is_hint)
	{
		ItemPointer place = palloc(sizeof(ItemPointerData));

		/* The slot may have another row by the time the entry is written. */
		*place = row->slot->tts_tid;
		*result = PointerGetDatum(place);
		return ItemPointerIsValid(place) ? VALUE_OK : VALUE_NULL;
	}
	if (field->convert != NULL)
	{
		Mismatch	why = {0};

		if (cast_column(field->convert, row->slot, result, &why))
			return column_value(field, *result, result);
		if (why.message == NULL)
			return VALUE_NULL;
		if (mismatch->field == NULL)
		{
			mismatch->field = field;
			mismatch->value = converted_text(field, row, docno);
			mismatch->why = why;
		}
		return VALUE_MISMATCH;
	}
	if (field->fact_attno != 0)
		return row->slot->tts_isnull[field->fact_attno - 1] ? VALUE_NULL :
			column_value(field, row->slot->tts_values[field->fact_attno - 1], result);
	if (!document_value(row, docno, field->spec->steps, field->spec->nsteps, &value))
		return VALUE_NULL;
	return cast_json(field, &value, is_key, result, mismatch);
}

/* column_value: sets *result to the value of a column, or to what has become of it by a cast */
static ValueResult
column_value(Field *field, Datum value, Datum *result)
{
	*result = field->typlen == -1 ? PointerGetDatum(PG_DETOAST_DATUM_PACKED(value)) : value;
	return VALUE_OK;
}

/* converted_text: returns the column that cannot be cast; of an expression the document or, without one, its text; of a virtual column its expression */
static char *
converted_text(Field *field, FactRow *row, int docno)
{
	AttrNumber	attno = field->fact_attno != EXPRESSION_ATTNO ? field->fact_attno :
		docno >= 0 ? row->fact->layout.doc_attno[docno] :
		0;
	Relation	fact;
	char	   *result;

	if (attno > 0 && !row->slot->tts_isnull[attno - 1])
		return value_text(TupleDescAttr(row->slot->tts_tupleDescriptor, attno - 1)->atttypid,
						  row->slot->tts_values[attno - 1]);
	fact = relation_open(row->fact->relid, AccessShareLock);
	result = expression_text(fact, field->convert);
	relation_close(fact, NoLock);
	return result;
}

/*
 * collect_row_elements
 *		Collects the values that the multi-valued field has in a row.  Returns VALUE_OK if there are any,
 *		or one could not be cast, and VALUE_NULL if there are none.
 */
static ValueResult
collect_row_elements(IndexDef *def, FactRow *row, Elements *elements, RowMismatch *mismatch)
{
	Field	   *field = &def->spec.fields[def->spec.multi_field];
	JsonbValue	value;

	if (field->fact_attno != 0)
		collect_array(field, row, def->spec.docno, elements, mismatch);
	else if (document_value(row, def->spec.docno, field->spec->steps, field->plain_steps, &value))
		collect_elements(field, &value, field->plain_steps, false, elements, mismatch);
	else if (path_meets_array(field, row, def->spec.docno))
		mismatch->values |= PASSED_ARRAY_BIT;
	return elements->n > 0 || elements->mismatches > 0 || (elements->null && !def->spec.sparse) ? VALUE_OK :
		VALUE_NULL;
}

/*
 * collect_array
 *		Adds the elements of a column that is an array, of all dimensions and whatever its subscripts are.
 */
static void
collect_array(Field *field, FactRow *row, int docno, Elements *elements, RowMismatch *mismatch)
{
	Datum		value;
	ArrayType  *array;
	Datum	   *values;
	bool	   *nulls;
	int			n;

	if (field->convert != NULL)
	{
		Mismatch	why = {0};

		if (!cast_column(field->convert, row->slot, &value, &why))
		{
			if (why.message == NULL)
				return;
			mismatch->field = field;
			mismatch->value = converted_text(field, row, docno);
			mismatch->why = why;
			elements->mismatches++;
			return;
		}
	}
	else if (row->slot->tts_isnull[field->fact_attno - 1])
		return;
	else
		value = row->slot->tts_values[field->fact_attno - 1];

	array = DatumGetArrayTypeP(value);
	deconstruct_array(array, ARR_ELEMTYPE(array), field->typlen, field->typbyval, field->typalign, &values,
					  &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (nulls[i])
		{
			mismatch->values |= UNEVEN_BIT;
			elements->null = true;
		}
		else
		{
			(void) column_value(field, values[i], &value);
			take_element(elements, value);
		}
	}
}

/*
 * collect_elements
 *		Adds the values that a multi-valued field has in value, which is where its path
 *		leads to before the given step.  of_array is whether value is an element of an array to
 *		which the last [*] before that step has led.
 *
 * At a [*] the path leads to each element of an array; any other value counts as
 * one element, but for null.
 */
static void
collect_elements(Field *field, JsonbValue *value, int step, bool of_array, Elements *elements,
				 RowMismatch *mismatch)
{
	PathStep   *steps = field->spec->steps;
	bool		lacks_array = false;	/* null is in place of one */
	Datum		result;

	check_stack_depth();
	for (;; step++)
	{
		int			next = step;

		while (next < field->spec->nsteps && !steps[next].wildcard)
			next++;

		/*
		 * jsonpath goes on with the elements of an array, where #> finds
		 * nothing.
		 */
		if (next > step && step > field->plain_steps && value->type == jbvBinary &&
			JsonContainerIsArray(value->val.binary.data))
			mismatch->values |= CONTAINER_BIT;
		if (next > step && !json_walk(value, steps + step, next - step))
		{
			mismatch->values |= UNEVEN_BIT;
			elements->null |= of_array && next == field->spec->nsteps;
			return;
		}
		step = next;
		if (step == field->spec->nsteps)
			break;
		if (value->type == jbvBinary && JsonContainerIsArray(value->val.binary.data))
		{
			JsonbIterator *it = JsonbIteratorInit(value->val.binary.data);
			JsonbValue	element;
			JsonbIteratorToken token = JsonbIteratorNext(&it, &element, true);

			while ((token = JsonbIteratorNext(&it, &element, true)) == WJB_ELEM)
			{
				CHECK_FOR_INTERRUPTS();
				collect_elements(field, &element, step + 1, true, elements, mismatch);
			}
			return;
		}
		of_array = false;
		lacks_array = value->type == jbvNull;
		mismatch->values |= lacks_array ? UNEVEN_BIT : UNEVEN_BIT | NO_ARRAY_BIT;
	}

	if (value->type != jbvString && value->type != jbvNull)
		mismatch->values |= NO_STRING_BIT;
	if (lacks_array)
		return;
	switch (cast_json(field, value, true, &result, mismatch))
	{
		case VALUE_NULL:
			mismatch->values |= UNEVEN_BIT;
			elements->null |= of_array;
			break;
		case VALUE_MISMATCH:
			elements->mismatches++;
			break;
		case VALUE_OK:
			take_element(elements, result);
			break;
	}
}

/* take_element: adds a value to those of a multi-valued field */
static void
take_element(Elements *elements, Datum value)
{
	if (elements->n == elements->max)
		elements->values = grow_array(elements->values, &elements->max, 8, sizeof(Datum), CurrentMemoryContext);
	elements->values[elements->n++] = value;
}

/* sort_elements: sorts the values of a multi-valued field as the index table does, and removes duplicates */
static void
sort_elements(IndexDef *def, Elements *elements)
{
	SortSupport sort = &def->layout.ident_sort[def->spec.multi_field];
	int			n = 0;

	if (elements->n < 2)
		return;
	qsort_arg(elements->values, elements->n, sizeof(Datum), compare_elements, sort);
	for (int i = 1; i < elements->n; i++)
		if (compare_elements(&elements->values[n], &elements->values[i], sort) != 0)
			elements->values[++n] = elements->values[i];
	elements->n = n + 1;
}

static int
compare_elements(const void *a, const void *b, void *arg)
{
	SortSupport sort = arg;

	CHECK_FOR_INTERRUPTS();
	return ApplySortComparator(*(const Datum *) a, false, *(const Datum *) b, false, sort);
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
