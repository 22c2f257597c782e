/*-------------------------------------------------------------------------
 *
 * profile_row.c
 *	  Gives SQL the numbers of a key, and what its fields are, as a row of the type
 *	  indextable_internal.key_profile.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/nbtree.h"
#include "catalog/pg_am.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../util/fixed_settings.h"
#include "advise.h"

/* How many columns the row has. */
#define COLUMNS		46

static Datum text_or_null(const char *text, bool *isnull);
static Datum text_array(Datum *texts, bool *isnull, int n);
static char *plain_path(Field *field);
static bool all_immutable(Profile *p);
static bool has_posting_lists(IndexDef *def);

/* profile_row: returns the numbers as a row; same has the index tables of the same key (char *) */
Datum
profile_row(Profile *p, List *same)
{
	TupleDesc	desc = lookup_rowtype_tupdesc_copy(profile_row_type(false), -1);
	IndexDef   *def = p->def;
	DefinitionRow *row = p->row;
	Datum		values[COLUMNS];
	bool		isnull[COLUMNS] = {0};
	Datum		counts[COMMON_KEYS];
	Datum		texts[4][INDEX_MAX_KEYS];	/* of each key field */
	bool		missing[4][INDEX_MAX_KEYS];
	Datum	   *included = palloc(sizeof(Datum) * Max(def->spec.nincludes, 1));
	List	   *common = NIL;
	int			n = 0;

	check_version(desc, COLUMNS);
#define PUT(datum)			(values[n++] = (datum))
#define PUT_BOOL(condition)	PUT(BoolGetDatum(condition))
#define PUT_COUNT(number)	PUT(Int64GetDatum(number))
#define PUT_NUMBER(number)	PUT(Float8GetDatum(number))
#define PUT_TEXT(string)	((string) != NULL ? PUT(CStringGetTextDatum(string)) : (isnull[n] = true, PUT((Datum) 0)))
#define PUT_LIST(list)		((list) != NIL ? PUT(string_array(list, TEXTOID)) : (isnull[n] = true, PUT((Datum) 0)))
	PUT(ObjectIdGetDatum(row->fact_table));
	PUT_TEXT(p->fact_name);
	PUT_LIST(row->key);
	PUT_LIST(row->include);
	PUT_TEXT(row->filter);
	PUT_TEXT(p->document);
	PUT_TEXT(row->document);
	PUT_LIST(row->primary_key);
	PUT_LIST(key_names(def));
	PUT_LIST(same);
	isnull[n] = !p->partitioned;
	PUT(Int32GetDatum(p->partitions));
	PUT_BOOL(def->spec.multi);
	PUT_BOOL(p->hinted);
	PUT_BOOL(p->shows_fields);
	PUT_BOOL(all_immutable(p));
	PUT_BOOL(p->widest <= def->layout.max_covered_bytes && primary_key_can_cover(def));
	PUT_BOOL(has_posting_lists(def));
	PUT_NUMBER(p->documents);
	PUT_BOOL(p->complete);
	PUT_COUNT(p->sampled);
	PUT_COUNT(p->filtered);
	PUT_COUNT(p->missing);
	PUT_COUNT(p->mismatching);
	PUT_TEXT(p->mismatch);
	PUT_COUNT(p->with_entries);
	PUT_COUNT(p->sampled_entries);
	PUT_COUNT(p->numbers);
	PUT_BOOL(p->all_differ);
	for (int i = 0; i < def->spec.nincludes; i++)
		included[i] = BoolGetDatum(p->included[i]);
	PUT(PointerGetDatum(construct_array(included, def->spec.nincludes, BOOLOID, 1, true, TYPALIGN_CHAR)));
	for (int i = 0; i < p->ncommon; i++)
	{
		counts[i] = Float8GetDatum(p->common[i].n);
		for (int k = 0; k < def->spec.nkeys; k++)
			common = lappend(common, value_text(def->spec.fields[k].type, p->common[i].values[k]));
	}
	PUT(PointerGetDatum(construct_array(counts, p->ncommon, FLOAT8OID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE)));
	PUT(string_array(common, TEXTOID));
	PUT_NUMBER(p->pairs);
	PUT_NUMBER(p->entries);
	PUT_NUMBER(p->keys);
	PUT_NUMBER(p->document_bytes);
	PUT_NUMBER(p->stored_bytes);
	PUT_NUMBER(p->key_bytes);
	PUT_NUMBER(p->ident_bytes);
	PUT_NUMBER(p->entry_bytes);
	PUT_BOOL(p->stored_bytes < TOAST_TUPLE_THRESHOLD);
	PUT_BOOL(p->document_bytes > TOAST_TUPLE_THRESHOLD);
	for (int i = 0; i < def->spec.nkeys; i++)
	{
		Field	   *field = &def->spec.fields[i];
		FieldSpec  *spec = field->spec;
		bool		as_it_is = spec->column != NULL ? field->convert == NULL : field->type == TEXTOID;

		texts[0][i] = text_or_null(spec->column != NULL || spec->expression != NULL ? NULL : plain_path(field),
								   &missing[0][i]);
		texts[1][i] = text_or_null(spec->column != NULL ? quote_identifier(spec->column) : spec->expression,
								   &missing[1][i]);
		texts[2][i] = text_or_null(as_it_is ? NULL :
								   field->is_jsonb ? "jsonb" :
								   format_type_with_typemod(field->type, field->typmod),
								   &missing[2][i]);
		texts[3][i] = text_or_null(OidIsValid(spec->collation) ? get_collation_name(spec->collation) : NULL,
								   &missing[3][i]);
	}
	for (int i = 0; i < 4; i++)
		PUT(text_array(texts[i], missing[i], def->spec.nkeys));
	isnull[n] = !def->spec.multi;
	PUT(Int32GetDatum(def->spec.multi_field + 1));
	Assert(n == COLUMNS);
	return HeapTupleGetDatum(heap_form_tuple(desc, values, isnull));
}

/* text_or_null: returns a text, or sets *isnull */
static Datum
text_or_null(const char *text, bool *isnull)
{
	*isnull = text == NULL;
	return text == NULL ? (Datum) 0 : CStringGetTextDatum(text);
}

/* text_array: returns n texts as an array */
static Datum
text_array(Datum *texts, bool *isnull, int n)
{
	int			lower = 1;

	return PointerGetDatum(construct_md_array(texts, isnull, 1, &n, &lower, TEXTOID, -1, false, TYPALIGN_INT));
}

/*
 * plain_path
 *		Returns a field's path into the document, up to its [*] if it has one, as the text of
 *		an array.
 */
static char *
plain_path(Field *field)
{
	List	   *names = NIL;

	for (int i = 0; i < field->plain_steps; i++)
		names = lappend(names, pnstrdup(field->spec->steps[i].name, field->spec->steps[i].len));
	return OidOutputFunctionCall(F_ARRAY_OUT, string_array(names, TEXTOID));
}

/*
 * all_immutable
 *		Returns whether a native index can have the key's expressions.
 *
 * The cast of a text to a date depends on a setting in SQL, and so an index cannot have it.
 */
static bool
all_immutable(Profile *p)
{
	for (int i = 0; i < p->def->spec.nkeys; i++)
	{
		Field	   *field = &p->def->spec.fields[i];

		if (field->fact_attno == 0 && field->cast.kind != CAST_NONE && !field->is_jsonb &&
			func_volatile(field->cast.convert.fn_oid) != PROVOLATILE_IMMUTABLE)
			return false;
	}
	return true;
}

/*
 * has_posting_lists
 *		Returns whether a B-tree on the key keeps equal keys once.
 *
 * The server does so if keys that are equal have the same bytes, for all that the operator
 * class and the collation know: numeric 1 and 1.0 do not, nor do the floats 0 and -0.
 */
static bool
has_posting_lists(IndexDef *def)
{
	for (int i = 0; i < def->spec.nkeys; i++)
	{
		Oid			opclass = GetDefaultOpClass(def->spec.fields[i].type, BTREE_AM_OID);
		Oid			type = get_opclass_input_type(opclass);
		Oid			function = get_opfamily_proc(get_opclass_family(opclass), type, type, BTEQUALIMAGE_PROC);

		if (!OidIsValid(function) ||
			!DatumGetBool(OidFunctionCall1Coll(function, def->spec.fields[i].collation, ObjectIdGetDatum(type))))
			return false;
	}
	return true;
}
