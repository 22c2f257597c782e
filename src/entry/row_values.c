/*-------------------------------------------------------------------------
 *
 * row_values.c
 *	  Finds the values that fields have in a fact row: one, or those of the elements of an array.
 *
 * Multi-valued fields are all of the same elements, so that these are visited once, and each of them
 * has a value for every field: of itself, or of the element of an outer array that it is in.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/lockdefs.h"
#include "utils/array.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../expression/expression.h"
#include "../indextable.h"
#include "../util/fixed_settings.h"
#include "../util/memory.h"
#include "entry.h"

/* The element that is visited, and what is known of its fields. */
typedef struct Visit
{
	IndexDef   *def;
	Elements   *elements;
	RowMismatch *mismatch;		/* of all elements */
	Datum		values[INDEX_MAX_KEYS]; /* by multi-valued field */
	ValueResult results[INDEX_MAX_KEYS];
	RowMismatch mismatches[INDEX_MAX_KEYS];
}			Visit;

/* How elements are sorted. */
typedef struct ElementOrder
{
	Elements   *elements;
	int			nfields;		/* number of fields that they are compared by */
	SortSupport sorts[INDEX_MAX_KEYS];	/* by multi-valued field */
}			ElementOrder;

static ValueResult column_value(Field *field, Datum value, Datum *result);
static char *converted_text(Field *field, FactRow *row, int docno);
static void visit_arrays(Visit * visit, FactRow *row);
static void visit_elements(Visit * visit, JsonbValue *value, int step, bool of_array);
static void note_element_value(Visit * visit, int e, JsonbValue *value);
static void note_uncounted(Visit * visit);
static void take_element(Visit * visit, bool of_array);
static void note_mismatch(Visit * visit, int e);
static void grow_elements(Elements *elements);
static void sort_elements(IndexDef *def, Elements *elements, int nfields, ElementOrder * order);
static bool are_same_elements(IndexDef *def, Elements *elements, int a, int b);
static int	compare_elements(ElementOrder * order, int a, int b);
static int	compare_in_order(const void *a, const void *b, void *arg);

/*
 * field_value
 *		Finds the value of a field that is not multi-valued.
 */
ValueResult
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

/*
 * converted_text
 *		Returns the column that cannot be cast; of an expression the document or, without one, its text;
 *		of a virtual column its expression.
 */
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
 * collect_elements
 *		Collects the elements of a row, which are none before; returns whether there are any, or one had a value
 *		that could not be cast.
 *
 * Those that lack a key field are left out if it is sparse.  Those of which totals cannot add a field
 * up are counted in elements->unsummed.
 */
bool
collect_elements(IndexDef *def, FactRow *row, Elements *elements, RowMismatch *mismatch)
{
	Visit		visit;
	Field	   *field = &def->spec.fields[def->spec.elements[0]];
	JsonbValue	value;

	visit.def = def;
	visit.elements = elements;
	visit.mismatch = mismatch;
	elements->nfields = def->spec.nelements;
	if (field->fact_attno != 0)
		visit_arrays(&visit, row);
	else if (document_value(row, def->spec.docno, field->spec->steps, field->plain_steps, &value))
		visit_elements(&visit, &value, field->plain_steps, false);
	else if (path_meets_array(field, row, def->spec.docno))
		mismatch->values |= PASSED_ARRAY_BIT;
	return elements->n > 0 || elements->mismatches > 0;
}

/*
 * visit_arrays
 *		Takes the elements of a column that is an array, of all dimensions and whatever its subscripts are.
 */
static void
visit_arrays(Visit * visit, FactRow *row)
{
	IndexDef   *def = visit->def;
	Datum	   *values[INDEX_MAX_KEYS];
	bool	   *nulls[INDEX_MAX_KEYS];
	int			n = 0;

	for (int e = 0; e < def->spec.nelements; e++)
	{
		Field	   *field = &def->spec.fields[def->spec.elements[e]];
		Datum		value;
		ArrayType  *array;

		if (field->convert != NULL)
		{
			Mismatch	why = {0};

			if (!cast_column(field->convert, row->slot, &value, &why))
			{
				if (why.message == NULL)
					return;
				visit->mismatch->field = field;
				visit->mismatch->value = converted_text(field, row, def->spec.docno);
				visit->mismatch->why = why;
				visit->elements->mismatches++;
				return;
			}
		}
		else if (row->slot->tts_isnull[field->fact_attno - 1])
			return;
		else
			value = row->slot->tts_values[field->fact_attno - 1];

		array = DatumGetArrayTypeP(value);
		/* A cast of an array has the same number of elements. */
		if (e > 0 && ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) != n)
			elog(ERROR, "a cast of an array has another number of elements");
		deconstruct_array(array, ARR_ELEMTYPE(array), field->typlen, field->typbyval, field->typalign,
						  &values[e], &nulls[e], &n);
	}
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (int e = 0; e < def->spec.nelements; e++)
		{
			visit->results[e] = nulls[e][i] ? VALUE_NULL :
				column_value(&def->spec.fields[def->spec.elements[e]], values[e][i], &visit->values[e]);
			if (nulls[e][i])
				note_uncounted(visit);
		}
		take_element(visit, true);
	}
}

/*
 * visit_elements
 *		Takes the elements in value, which is where the path of the deepest field leads to before a step.
 *		of_array is whether value is an element of an array to which the [*] before that step has led.
 *
 * At a [*] the path leads to each element of an array; any other value counts as one element, but for null.
 */
static void
visit_elements(Visit * visit, JsonbValue *value, int step, bool of_array)
{
	IndexSpec  *spec = &visit->def->spec;
	Field	   *deepest = &spec->fields[spec->deepest];
	PathStep   *steps = deepest->spec->steps;

	check_stack_depth();
	for (;;)
	{
		int			next = step;

		for (int e = 0; e < spec->nelements; e++)
			if (spec->fields[spec->elements[e]].element_steps == step)
				note_element_value(visit, e, value);
		if (step == deepest->element_steps)
		{
			take_element(visit, of_array);
			return;
		}
		while (!steps[next].wildcard)
			next++;

		/*
		 * jsonpath goes on with the elements of an array, where #> finds
		 * nothing.
		 */
		if (next > step && step > deepest->plain_steps && value->type == jbvBinary &&
			JsonContainerIsArray(value->val.binary.data))
			visit->mismatch->values |= CONTAINER_BIT;
		if (next > step && !json_walk(value, steps + step, next - step))
		{
			note_uncounted(visit);
			return;
		}
		step = next + 1;
		if (value->type == jbvBinary && JsonContainerIsArray(value->val.binary.data))
		{
			JsonbIterator *it = JsonbIteratorInit(value->val.binary.data);
			JsonbValue	element;
			JsonbIteratorToken token = JsonbIteratorNext(&it, &element, true);

			while ((token = JsonbIteratorNext(&it, &element, true)) == WJB_ELEM)
			{
				CHECK_FOR_INTERRUPTS();
				visit_elements(visit, &element, step, true);
			}
			return;
		}
		of_array = false;
		visit->mismatch->values |= value->type == jbvNull ? UNEVEN_BIT : UNEVEN_BIT | NO_ARRAY_BIT;
		if (value->type == jbvNull)
			return;				/* null is in place of an array */
	}
}

/* note_element_value: notes the value that a multi-valued field has in an element */
static void
note_element_value(Visit * visit, int e, JsonbValue *value)
{
	Field	   *field = &visit->def->spec.fields[visit->def->spec.elements[e]];
	int			nsteps = field->spec->nsteps - field->element_steps;
	JsonbValue	member = *value;

	visit->results[e] = VALUE_NULL;
	if (nsteps > 0 && value->type == jbvBinary && JsonContainerIsArray(value->val.binary.data))
		visit->mismatch->values |= CONTAINER_BIT;
	if (nsteps > 0 && visit->def->spec.nkeys < 24 &&
		(value->type != jbvBinary || !JsonContainerIsObject(value->val.binary.data)))
		visit->mismatch->values |= NO_OBJECT_BIT;
	if (nsteps > 0 && !json_walk(&member, field->spec->steps + field->element_steps, nsteps))
	{
		note_uncounted(visit);
		return;
	}
	if (member.type != jbvString && member.type != jbvNull && field->type == TEXTOID)
		visit->mismatch->values |= NO_STRING_BIT;
	memset(&visit->mismatches[e], 0, sizeof(RowMismatch));
	visit->results[e] = cast_json(field, &member, true, &visit->values[e], &visit->mismatches[e]);
	visit->mismatch->values |= visit->mismatches[e].values;
	if (visit->results[e] == VALUE_NULL)
		note_uncounted(visit);
}

/*
 * note_uncounted
 *		Notes that an element has a NULL, or that one has no elements within, where entries do not count the
 *		elements of a row.
 */
static void
note_uncounted(Visit * visit)
{
	if (visit->def->layout.elements_attno == 0)
		visit->mismatch->values |= UNEVEN_BIT;
}

/*
 * take_element
 *		Adds the element that is visited, unless it is to have no entry.
 *
 * What is in place of an array is no element if it has none of the fields.
 */
static void
take_element(Visit * visit, bool of_array)
{
	IndexSpec  *spec = &visit->def->spec;
	Elements   *elements = visit->elements;
	int			element_steps = spec->fields[spec->deepest].element_steps;
	Datum	   *values;
	bool	   *isnull;

	for (int e = 0; e < elements->nfields; e++)
	{
		if (visit->results[e] != VALUE_NULL)
			of_array |= spec->fields[spec->elements[e]].element_steps == element_steps;
		else if (e < spec->nkey_elements && spec->sparse)
			return;
	}
	if (!of_array)
		return;
	for (int e = spec->nkey_elements; is_totals(visit->def) && e < elements->nfields; e++)
	{
		Field	   *field = &spec->fields[spec->elements[e]];

		if (visit->results[e] == VALUE_OK)
			visit->results[e] = summed_value(field, visit->values[e], &visit->mismatches[e]);
		if (visit->results[e] != VALUE_MISMATCH)
			continue;
		note_mismatch(visit, e);
		elements->unsummed++;
		visit->results[e] = VALUE_NULL;
	}
	for (int e = 0; e < elements->nfields; e++)
	{
		if (visit->results[e] != VALUE_MISMATCH)
			continue;
		elements->mismatches++;
		note_mismatch(visit, e);
		return;
	}
	if (elements->n == elements->max)
		grow_elements(elements);
	values = ELEMENT_VALUES(elements, elements->n);
	isnull = ELEMENT_NULLS(elements, elements->n);
	for (int e = 0; e < elements->nfields; e++)
	{
		isnull[e] = visit->results[e] == VALUE_NULL;
		values[e] = isnull[e] ? (Datum) 0 : visit->values[e];
	}
	elements->n++;
}

/* note_mismatch: notes that a field of an element cannot be cast, if it is the first */
static void
note_mismatch(Visit * visit, int e)
{
	RowMismatch *mismatch = &visit->mismatches[e];

	if (visit->mismatch->field != NULL)
		return;
	visit->mismatch->field = mismatch->field;
	visit->mismatch->value = mismatch->value;
	visit->mismatch->why = mismatch->why;
}

/*
 * summed_value
 *		Returns VALUE_OK if totals can add up a value of a field, or VALUE_MISMATCH, and a mismatch.
 */
ValueResult
summed_value(Field *field, Datum value, RowMismatch *mismatch)
{
	if (field->type != NUMERICOID || !numeric_is_nan(DatumGetNumeric(value)))
		return VALUE_OK;
	mismatch->field = field;
	mismatch->value = "NaN";
	mismatch->why.sqlstate = ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE;
	mismatch->why.message = "It cannot be taken away from a sum again.";
	return VALUE_MISMATCH;
}

/* grow_elements: doubles the room for elements */
static void
grow_elements(Elements *elements)
{
	int			max = elements->max;

	elements->values = grow_array(elements->values, &elements->max, 8, sizeof(Datum) * elements->nfields,
								  CurrentMemoryContext);
	elements->isnull = grow_array(elements->isnull, &max, 8, sizeof(bool) * elements->nfields,
								  CurrentMemoryContext);
}

/*
 * unite_equal_elements
 *		Sorts elements as the index table does, and counts those that are equal, of which the first one stands
 *		for all; returns whether there are such.
 */
bool
unite_equal_elements(IndexDef *def, Elements *elements)
{
	ElementOrder order;
	int			n = 0;
	bool		united;

	if (elements->n == 0)
		return false;
	elements->counts = palloc_extended(sizeof(int) * elements->n, MCXT_ALLOC_HUGE);
	sort_elements(def, elements, elements->nfields, &order);
	elements->counts[0] = 1;
	for (int i = 1; i < elements->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (compare_elements(&order, elements->order[n], elements->order[i]) == 0)
		{
			elements->counts[n]++;
			elements->unlike |= !are_same_elements(def, elements, elements->order[n], elements->order[i]);
		}
		else
		{
			elements->order[++n] = elements->order[i];
			elements->counts[n] = 1;
		}
	}
	united = n + 1 < elements->n;
	elements->n = n + 1;
	return united;
}

/* sort_elements: sorts elements by the first of their fields, as the index table does */
static void
sort_elements(IndexDef *def, Elements *elements, int nfields, ElementOrder * order)
{
	order->elements = elements;
	order->nfields = nfields;
	elements->order = palloc_extended(sizeof(int) * Max(elements->n, 1), MCXT_ALLOC_HUGE);
	for (int e = 0; e < nfields; e++)
		order->sorts[e] = &def->layout.ident_sort[e < def->spec.nkey_elements ? def->spec.elements[e] :
												  def->layout.nleading + e - def->spec.nkey_elements];
	for (int i = 0; i < elements->n; i++)
		elements->order[i] = i;
	if (elements->n > 1 && nfields > 0)
		qsort_arg(elements->order, elements->n, sizeof(int), compare_in_order, order);
}

/*
 * group_elements
 *		Sorts elements by their key fields, for totals, and sets elements->counts to the number of those that
 *		agree in them, for each group; returns the number of groups, which is 1 if no key field is of elements.
 */
int
group_elements(IndexDef *def, Elements *elements)
{
	ElementOrder order;
	int			ngroups = def->spec.nkey_elements > 0 ? 0 : 1;

	elements->counts = palloc_extended(sizeof(int) * Max(elements->n, 1), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	sort_elements(def, elements, def->spec.nkey_elements, &order);
	for (int i = 0; i < elements->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (def->spec.nkey_elements > 0 &&
			(i == 0 || compare_elements(&order, elements->order[i - 1], elements->order[i]) != 0))
			ngroups++;
		elements->counts[ngroups - 1]++;
	}
	return ngroups;
}

/* are_same_elements: returns whether two elements have the same bytes in their fields */
static bool
are_same_elements(IndexDef *def, Elements *elements, int a, int b)
{
	for (int e = 0; e < elements->nfields; e++)
	{
		Field	   *field = &def->spec.fields[def->spec.elements[e]];

		if (!same_bytes(ELEMENT_VALUES(elements, a)[e], ELEMENT_NULLS(elements, a)[e],
						ELEMENT_VALUES(elements, b)[e], ELEMENT_NULLS(elements, b)[e], field->typlen,
						field->typbyval))
			return false;
	}
	return true;
}

/* compare_elements: compares two elements by their fields */
static int
compare_elements(ElementOrder * order, int a, int b)
{
	int			c = 0;

	for (int e = 0; c == 0 && e < order->nfields; e++)
		c = ApplySortComparator(ELEMENT_VALUES(order->elements, a)[e], ELEMENT_NULLS(order->elements, a)[e],
								ELEMENT_VALUES(order->elements, b)[e], ELEMENT_NULLS(order->elements, b)[e],
								order->sorts[e]);
	return c;
}

/* compare_in_order: compares two elements by their fields, and equal ones by their numbers */
static int
compare_in_order(const void *a, const void *b, void *arg)
{
	int			x = *(const int *) a;
	int			y = *(const int *) b;
	int			c = compare_elements(arg, x, y);

	CHECK_FOR_INTERRUPTS();
	return c != 0 ? c : x - y;
}
