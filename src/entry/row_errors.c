/*-------------------------------------------------------------------------
 *
 * row_errors.c
 *	  Reports rows that cannot have their entries: values that cannot be keys, and keys that are
 *	  too long.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/tupmacs.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../util/fixed_settings.h"
#include "entry.h"

static int	hint_to_skip(IndexDef *def);
static bool may_show_row(FactRow *row);
static Size value_bytes(IndexDef *def, AttrNumber attno, Datum value);
static void report_large_entries(IndexDef *def, FactRow *row, int n, Size bytes);
static void report_long_key(IndexDef *def, FactRow *row, Size bytes, Field *longest, Size longest_bytes);

/*
 * The largest size of the key and the primary key of an entry together, in bytes of data,
 * before compression.
 */
#define MAX_KEY_BYTES		2600

/*
 * The entries of one row in an index table may have this number of MB of data together, before
 * compression.
 */
#define MAX_ENTRIES_MB		64

/*
 * errindextable
 *		Adds to an error which fact table, index table and field it is about, as errtable(),
 *		errtableconstraint() and errtablecol() do; field is NULL if there is none.
 *
 * An index table refuses rows as a constraint of its fact table does, so it is the constraint.  The
 * fact table may be partitioned: its name is the one that users know, and not that of the
 * partition.  The column is the field: one column of the fact table has all fields of the documents.
 */
int
errindextable(IndexDef *def, Field *field)
{
	char	   *table = get_rel_name(def->fact->relid);

	if (table != NULL)
	{
		err_generic_string(PG_DIAG_SCHEMA_NAME, get_namespace_name(get_rel_namespace(def->fact->relid)));
		err_generic_string(PG_DIAG_TABLE_NAME, table);
	}
	if (field != NULL)
		err_generic_string(PG_DIAG_COLUMN_NAME,
						   NameStr(TupleDescAttr(def->layout.desc, field->attno - 1)->attname));
	err_generic_string(PG_DIAG_CONSTRAINT_NAME, def->name);
	return 0;					/* as errtable() does */
}

/*
 * report_mismatch
 *		Raises the error for a value that cannot be an entry, or notes it in
 *		row->rejection if that is set: an asynchronous index table cannot refuse a
 *		write.
 *
 * It is raised with the SQLSTATE of a check constraint, whatever that of the cast was, so that
 * an application does not take it for an error of a cast in its own statement.
 */
void
report_mismatch(IndexDef *def, FactRow *row, RowMismatch *mismatch)
{
	if (row->rejection != NULL)
	{
		row->rejection->sqlstate = mismatch->why.sqlstate;
		row->rejection->message = psprintf("field \"%s\" cannot hold the value \"%s\": %s",
										   mismatch->field->spec->text, excerpt(mismatch->value),
										   excerpt(mismatch->why.message));
		return;
	}
	if (!may_show_row(row))
		ereport(ERROR,
				(errcode(ERRCODE_CHECK_VIOLATION),
				 errmsg("field \"%s\" of index table \"%s\" cannot hold the value of a row of \"%s\"",
						mismatch->field->spec->text, def->name, row->fact->name),
				 hint_to_skip(def),
				 errindextable(def, mismatch->field)));
	ereport(ERROR,
			(errcode(ERRCODE_CHECK_VIOLATION),
			 errmsg("field \"%s\" of index table \"%s\" cannot hold the value \"%s\"",
					mismatch->field->spec->text, def->name, excerpt(mismatch->value)),
			 errdetail("Row %s of \"%s\": %s", format_row_key(row), row->fact->name,
					   excerpt(mismatch->why.message)),
			 hint_to_skip(def),
			 errindextable(def, mismatch->field)));
}

/* hint_to_skip: adds a hint to the error that a row cannot have its entries */
static int
hint_to_skip(IndexDef *def)
{
	Relation	rel = RelationIdGetRelation(def->relid);
	bool		is_new = rel == NULL || rel->rd_createSubid != InvalidSubTransactionId;

	if (rel != NULL)
		RelationClose(rel);
	/* All elements of an array are cast together. */
	if (def->spec.multi && def->spec.fields[def->spec.multi_field].fact_attno != 0 &&
		def->spec.fields[def->spec.multi_field].convert != NULL)
		return errhint("Correct the row.");
	if (is_new)
		return errhint("Correct the document, or create the %s with on_mismatch => 'skip'.", is_totals(def) ? "totals" : "index table");
	if (def->ends_skipping)
		return errhint("Correct the document, and try again. To have such rows listed in " IT_SCHEMA
					   ".rejected, run %s and then %s",
					   told_select("alter", def->relid, ", on_mismatch => 'error', populate => false"),
					   told_call("rebuild", def->relid));
	return errhint("Correct the document, or leave %s: %s", is_totals(def) ? "it out of the totals" : "it without the entry",
				   told_select("alter", def->relid, ", on_mismatch => 'skip'"));
}

/* may_show_row: returns whether a user who writes a row may read it, too */
static bool
may_show_row(FactRow *row)
{
	return check_enable_rls(row->fact->relid, InvalidOid, true) != RLS_ENABLED &&
		pg_class_aclcheck(row->fact->relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK;
}

/* excerpt: returns the beginning of a text that may be long */
char *
excerpt(char *text)
{
	int			len = strlen(text);

	return len <= 200 ? text : psprintf("%.*s...", pg_mbcliplen(text, len, 200), text);
}

/*
 * format_row_key
 *		Returns the primary key of a row as "(pk1, pk2)=(1, x)", like the server does in its
 *		messages.
 */
char *
format_row_key(FactRow *row)
{
	TupleDesc	desc = row->slot->tts_tupleDescriptor;
	StringInfoData names;
	StringInfoData values;

	initStringInfo(&names);
	initStringInfo(&values);
	for (int i = 0; i < row->fact->layout.npk; i++)
	{
		int			column = row->fact->layout.pk_attno[i] - 1;
		Form_pg_attribute att = TupleDescAttr(desc, column);

		/* What is on another server may lack a value. */
		appendStringInfo(&names, "%s%s", i ? ", " : "", NameStr(att->attname));
		appendStringInfo(&values, "%s%s", i ? ", " : "",
						 row->slot->tts_isnull[column] ?
						 "null" :
						 excerpt(value_text(att->atttypid, row->slot->tts_values[column])));
	}
	return psprintf("(%s)=(%s)", names.data, values.data);
}

/*
 * Measures keys and entries, and reports those that are too long for an index, or too large.
 *
 * A row whose key is too long cannot have its entry.  Where only the included fields are
 * too long for the primary key of the index table, uncovered_key.c takes them out of it.
 */

/*
 * value_bytes
 *		Returns how many bytes of data the value of a column of an index table has before
 *		compression; 0: NULL.
 */
static Size
value_bytes(IndexDef *def, AttrNumber attno, Datum value)
{
	Form_pg_attribute att = TupleDescAttr(def->layout.desc, attno - 1);

	return att->attlen > 0 ? (Size) att->attlen :
		value == (Datum) 0 ? 0 :
		att->attlen == -1 ? toast_raw_datum_size(value) - VARHDRSZ :
		strlen(DatumGetCString(value)) + 1;
}

/*
 * entries_fit
 *		Returns whether n entries of a row, each with one of the elements and the other values, are
 *		not too large together; of totals, each with the key of one of the elements.  Otherwise, with
 *		report, raises or notes the error, or counts in *skipped what is left out, as key_fits() does.
 *
 * Each of them has a copy of the primary key, of the included fields, and of the document.  A
 * long array in a large document would be written as often as it is long: a role that may insert
 * one row could make all other writers wait.
 */
bool
entries_fit(IndexDef *def, FactRow *row, Datum *values, bool *isnull, Elements *elements, int n, bool report,
			int *skipped)
{
	int			nfields = is_totals(def) ? def->spec.nkey_elements : elements->nfields;
	Size		bytes = 0;

	if (n < 2)
		return true;
	/* What the elements have is not among the values yet. */
	for (int e = 0; e < nfields; e++)
		isnull[def->spec.fields[def->spec.elements[e]].attno - 1] = true;
	for (int i = 1; i <= def->layout.desc->natts; i++)
		if (!isnull[i - 1])
			bytes += value_bytes(def, i, values[i - 1]);
	bytes *= n;
	for (int i = 0; i < elements->n; i++)
		for (int e = 0; e < nfields; e++)
			bytes += value_bytes(def, def->spec.fields[def->spec.elements[e]].attno,
								 ELEMENT_VALUES(elements, elements->order[i])[e]);
	if (bytes <= (Size) MAX_ENTRIES_MB * 1024 * 1024)
		return true;
	if (report && !def->spec.skip_mismatch)
		report_large_entries(def, row, n, bytes);
	else
		*skipped += n;
	return false;
}

/*
 * report_large_entries
 *		Raises the error for entries that are too large together, or notes it in row->rejection if
 *		that is set, as report_mismatch() does.
 */
static void
report_large_entries(IndexDef *def, FactRow *row, int n, Size bytes)
{
	char	   *detail = psprintf("The %d entries have %zu MB together; at most %d are allowed.",
								  n, bytes / (1024 * 1024), MAX_ENTRIES_MB);

	if (row->rejection != NULL)
	{
		row->rejection->sqlstate = ERRCODE_PROGRAM_LIMIT_EXCEEDED;
		row->rejection->message = psprintf("entries are too large: %s", detail);
		return;
	}
	if (!may_show_row(row))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("entries of a row of \"%s\" are too large for index table \"%s\"", row->fact->name, def->name),
				 hint_to_skip(def),
				 errindextable(def, NULL)));
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("entries are too large for index table \"%s\"", def->name),
			 errdetail("Row %s of \"%s\": %s", format_row_key(row), row->fact->name, detail),
			 hint_to_skip(def),
			 errindextable(def, NULL)));
}

/*
 * key_fits
 *		Returns whether the key and primary key of an entry fit into a btree, even if
 *		they cannot be compressed.  A NULL is 0.  Otherwise, with report,
 *		raises or notes the error unless the definition says that such entries are skipped; what is
 *		left out without an error is counted in *skipped.
 */
bool
key_fits(IndexDef *def, FactRow *row, Datum *values, bool report, int *skipped)
{
	Size		padded = 0;
	Size		total = 0;
	Field	   *longest = NULL;
	Size		longest_bytes = 0;

	for (int i = 0; i < def->layout.nident; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->layout.desc, def->layout.ident[i] - 1);
		Size		bytes = value_bytes(def, def->layout.ident[i], values[def->layout.ident[i] - 1]);

		total += bytes;
		if (i < def->spec.nkeys && bytes >= longest_bytes)
		{
			longest = &def->spec.fields[i];
			longest_bytes = bytes;
		}
		padded = att_align_nominal(padded, att->attalign) + (att->attlen == -1 ? VARHDRSZ : 0) + bytes;
	}
	if (total <= MAX_KEY_BYTES && padded <= MAX_INDEX_DATA)
		return true;
	if (report && !def->spec.skip_mismatch)
		report_long_key(def, row, total, longest, longest_bytes);
	else
		(*skipped)++;
	return false;
}

/*
 * report_long_key
 *		Raises the error for a key that is too long, or notes it in row->rejection if that
 *		is set, as report_mismatch() does.
 */
static void
report_long_key(IndexDef *def, FactRow *row, Size bytes, Field *longest, Size longest_bytes)
{
	char	   *detail =
		psprintf("Key and primary key have %zu bytes, %zu of them in field \"%s\"; at most %d are allowed.",
				 bytes, longest_bytes, excerpt(longest->spec->text), MAX_KEY_BYTES);

	if (row->rejection != NULL)
	{
		row->rejection->sqlstate = ERRCODE_PROGRAM_LIMIT_EXCEEDED;
		row->rejection->message = psprintf("key is too long: %s", detail);
		return;
	}
	if (!may_show_row(row))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("key of a row of \"%s\" is too long for index table \"%s\"", row->fact->name, def->name),
				 hint_to_skip(def),
				 errindextable(def, longest)));
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("key is too long for index table \"%s\"", def->name),
			 errdetail("Row %s of \"%s\": %s", format_row_key(row), row->fact->name, detail),
			 hint_to_skip(def),
			 errindextable(def, longest)));
}
