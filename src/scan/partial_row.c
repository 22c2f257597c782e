/*-------------------------------------------------------------------------
 *
 * partial_row.c
 *	  Makes rows of the fact table of entries, with those fields of the document that they have.
 *
 * The planner has expressions evaluated above joins, sorts and window functions, and hands the
 * columns that they are made of up to there.  So in place of the document a scan of entries
 * returns one that is made of the entry's fields, {"town": "Rome", "age": "33"}, as long as all
 * expressions of the query see no more of it; coverage.c tells.
 *
 * Each of these expressions is the text at a path, perhaps cast to the type of a field, or the
 * jsonb at a path.  A text field has the text.  From the text of a value of another type the
 * type's input makes the same value, but only if it is one of the types named below: their
 * output is exact, and reads no settings.  A field that is NULL is left out, and what leads
 * nowhere is NULL, too.  Paths with subscripts would need arrays.
 *
 * Where a scan returns elements in place of rows and functions that unnest them, a function's column is made in
 * the same way, of those fields that elements of its array have: {"sku": "x", "qty": "5"}.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/shortest_dec.h"
#include "utils/datetime.h"
#include "utils/json.h"
#include "utils/lsyscache.h"

#include "scan.h"

/* What becomes of a column of the entry. */
typedef struct Part
{
	AttrNumber	attno;			/* in the index table */
	int			column;			/* of the row, from 0, that it becomes, or the
								 * document that has it */
	Field	   *field;			/* of the document; NULL: a column */
	FmgrInfo	output;			/* makes a text of the field, or is not set */
} Part;

struct PartialRow
{
	int			nparts;
	Part	   *parts;			/* columns first, then fields by documents,
								 * and by their paths */
};

static AttrNumber fact_column(IndexDef *def, AttrNumber attno);
static int	compare_parts(const void *a, const void *b);
static int	common_steps(Field *a, Field *b);
static int	compare_steps(PathStep *a, PathStep *b);
static Datum make_document(struct PartialRow *row, int *next, TupleTableSlot *entry);
static void push_string(JsonbInState *state, JsonbIteratorToken token, char *text, int len);
static void push_value(JsonbInState *state, Part *part, Datum value);

/* field_in_document: returns the field of a column if it can be a part of a document, or NULL */
Field *
field_in_document(IndexDef *def, AttrNumber attno)
{
	Field	   *field = field_of_column(def, attno);

	if (field == NULL || field->fact_attno != 0 || field->is_hint || field->convert != NULL ||
		field->spec->nsteps == field->element_steps)
		return NULL;
	for (int i = field->element_steps; i < field->spec->nsteps; i++)
	{
		if (field->spec->steps[i].is_index)
			return NULL;
	}
	return is_plain_type(field->type) || field->type == TIMESTAMPTZOID || field->type == TEXTOID ||
		field->type == VARCHAROID || field->type == JSONBOID ?
		field :
		NULL;
}

/*
 * fields_fit_together
 *		Returns whether one document can have two fields, neither of which is at or below the
 *		other's path.
 */
bool
fields_fit_together(Field *a, Field *b)
{
	return a == b || common_steps(a, b) < Min(a->spec->nsteps, b->spec->nsteps);
}

/*
 * fact_column
 *		Returns the column of the fact table that a column of an index table is a copy of, or
 *		0.
 */
static AttrNumber
fact_column(IndexDef *def, AttrNumber attno)
{
	Field	   *field = field_of_column(def, attno);

	if (field != NULL)
		return Max(field->fact_attno, 0);
	for (int i = 0; i < def->fact->layout.npk; i++)
	{
		if (def->layout.pk_attno[i] == attno)
			return def->fact->layout.pk_attno[i];
	}
	return attno == def->layout.doc_attno ? def->spec.fact_document : 0;
}

/*
 * partial_row_begin
 *		Prepares to make rows of these columns of an index table.  Rows are those of the fact table if
 *		columns_of_rows is NIL; else it says by numbers, from 1, which columns of the rows these become, and with
 *		< 0, which are documents that have them.
 */
struct PartialRow *
partial_row_begin(IndexDef *def, List *columns, List *columns_of_rows)
{
	struct PartialRow *row = palloc(sizeof(struct PartialRow));

	row->nparts = list_length(columns);
	row->parts = palloc0(sizeof(Part) * Max(row->nparts, 1));
	foreach_int(attno, columns)
	{
		Part	   *part = &row->parts[foreach_current_index(attno)];
		int			column = columns_of_rows == NIL ? fact_column(def, attno) :
			list_nth_int(columns_of_rows, foreach_current_index(attno));
		Oid			output;
		bool		varlena;

		part->attno = attno;
		part->column = column - 1;
		if (column > 0)
			continue;
		part->column = (columns_of_rows == NIL ? def->spec.fact_document : -column) - 1;
		part->field = field_in_document(def, part->attno);
		if (part->field == NULL)
			elog(ERROR, "column %d of index table %u cannot be part of a document", part->attno, def->relid);
		getTypeOutputInfo(part->field->type, &output, &varlena);
		fmgr_info(output, &part->output);
	}
	qsort(row->parts, row->nparts, sizeof(Part), compare_parts);
	return row;
}

static int
compare_parts(const void *a, const void *b)
{
	Field	   *left = ((const Part *) a)->field;
	Field	   *right = ((const Part *) b)->field;
	int			n = ((const Part *) a)->column - ((const Part *) b)->column;

	if (left == NULL || right == NULL)
		return (left != NULL) - (right != NULL);
	if (n != 0)
		return n;
	n = common_steps(left, right);
	if (n == left->spec->nsteps || n == right->spec->nsteps)
		return 0;				/* it is the same field */
	return compare_steps(&left->spec->steps[n], &right->spec->steps[n]);
}

/* common_steps: returns with how many same steps two paths begin */
static int
common_steps(Field *a, Field *b)
{
	int			n = 0;

	while (n < a->spec->nsteps && n < b->spec->nsteps &&
		   compare_steps(&a->spec->steps[n], &b->spec->steps[n]) == 0)
		n++;
	return n;
}

static int
compare_steps(PathStep *a, PathStep *b)
{
	/* A [*] has no name. */
	return a->len != b->len ? (a->len < b->len ? -1 : 1) : a->len == 0 ? 0 : memcmp(a->name, b->name, a->len);
}

/*
 * partial_row_store
 *		Stores the row that is made of an entry in a slot; what is computed for it is in the
 *		current memory context.
 */
void
partial_row_store(struct PartialRow *row, TupleTableSlot *entry, TupleTableSlot *slot)
{
	int			next = 0;

	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	for (; next < row->nparts && row->parts[next].field == NULL; next++)
	{
		int			column = row->parts[next].column;

		slot->tts_values[column] = slot_getattr(entry, row->parts[next].attno, &slot->tts_isnull[column]);
	}
	while (next < row->nparts)
	{
		int			column = row->parts[next].column;

		slot->tts_values[column] = make_document(row, &next, entry);
		slot->tts_isnull[column] = false;
	}
	ExecStoreVirtualTuple(slot);
}

/*
 * make_document
 *		Returns a document of those fields that are not NULL, from *next on, and sets *next to what follows;
 *		those of one object come one after the other.
 */
static Datum
make_document(struct PartialRow *row, int *next, TupleTableSlot *entry)
{
	JsonbInState state = {0};
	Part	   *first = &row->parts[*next];
	Field	   *last = NULL;
	int			root = first->field->element_steps;
	int			depth = root;	/* of the object that is open, as steps lead
								 * to it */

	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	for (; *next < row->nparts && row->parts[*next].column == first->column; (*next)++)
	{
		Part	   *part = &row->parts[*next];
		FieldSpec  *spec;
		int			common;
		bool		isnull;
		Datum		value;

		value = slot_getattr(entry, part->attno, &isnull);
		if (isnull)
			continue;
		spec = part->field->spec;
		common = last == NULL ? root : common_steps(last, part->field);
		for (; depth > common; depth--)
			pushJsonbValue(&state, WJB_END_OBJECT, NULL);
		for (; depth < spec->nsteps - 1; depth++)
		{
			push_string(&state, WJB_KEY, spec->steps[depth].name, spec->steps[depth].len);
			pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
		}
		push_string(&state, WJB_KEY, spec->steps[depth].name, spec->steps[depth].len);
		push_value(&state, part, value);
		last = part->field;
	}
	for (; depth >= root; depth--)
		pushJsonbValue(&state, WJB_END_OBJECT, NULL);
	return JsonbPGetDatum(JsonbValueToJsonb(state.result));
}

static void
push_string(JsonbInState *state, JsonbIteratorToken token, char *text, int len)
{
	JsonbValue	string;

	string.type = jbvString;
	string.val.string.val = text;

	string.val.string.len = len;
	pushJsonbValue(state, token, &string);
}

/*
 * push_value
 *		Adds the value of a field, as a text that has it exactly, whatever the settings are.  The
 *		text is only copied when the document is complete.
 */
static void
push_value(JsonbInState *state, Part *part, Datum value)
{
	static const int utc = 0;
	char	   *text = NULL;

	switch (part->field->type)
	{
		case TEXTOID:
		case VARCHAROID:
			{
				struct varlena *string = PG_DETOAST_DATUM_PACKED(value);

				push_string(state, WJB_VALUE, VARDATA_ANY(string), VARSIZE_ANY_EXHDR(string));
				return;
			}
		case JSONBOID:
			{
				JsonbValue	member;

				JsonbToJsonbValue(DatumGetJsonbP(value), &member);
				pushJsonbValue(state, WJB_VALUE, &member);
				return;
			}
		case FLOAT4OID:
			text = float_to_shortest_decimal(DatumGetFloat4(value));

			break;
		case FLOAT8OID:
			text = double_to_shortest_decimal(DatumGetFloat8(value));

			break;
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			/* The session's zone may have an offset that cannot be read. */
			text = JsonEncodeDateTime(palloc(MAXDATELEN + 1), value, part->field->type, &utc);

			break;
		default:
			text = OutputFunctionCall(&part->output, value);

			break;
	}
	push_string(state, WJB_VALUE, text, strlen(text));
}
