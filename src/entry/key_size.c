/*-------------------------------------------------------------------------
 *
 * key_size.c
 *	  Measures keys, and reports those that are too long for an index.
 *
 * A row whose key is too long cannot have its entry.  Where only the included fields are
 * too long for the primary key of the index table, narrow_key.c takes them out of it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/tupmacs.h"

#include "../indextable.h"
#include "document.h"
#include "key_size.h"
#include "mismatch.h"
#include "row_error.h"

/*
 * key_fits
 *		Returns whether the key and primary key of an entry fit into a btree, even if
 *		they cannot be compressed; fills in *size.  A NULL, which only totals have, is 0.
 */
bool
key_fits(IndexDef *def, Datum *values, KeySize *size)
{
	Size		padded = 0;
	int			i;

	size->bytes = 0;
	size->longest = NULL;
	size->longest_bytes = 0;
	for (i = 0; i < def->nident; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->desc, def->ident[i] - 1);
		Size		bytes = att->attlen > 0 ? (Size) att->attlen :
			values[def->ident[i] - 1] == (Datum) 0 ? 0 :
			att->attlen == -1 ? toast_raw_datum_size(values[def->ident[i] - 1]) - VARHDRSZ :
			strlen(DatumGetCString(values[def->ident[i] - 1])) + 1;

		size->bytes += bytes;
		if (i < def->nkeys && bytes >= size->longest_bytes)
		{
			size->longest = &def->fields[i];
			size->longest_bytes = bytes;
		}
		padded = att_align_nominal(padded, att->attalign) + (att->attlen == -1 ? VARHDRSZ : 0) + bytes;
	}
	return size->bytes <= MAX_KEY_BYTES && padded <= MAX_INDEX_DATA;
}

/*
 * report_long_key
 *		Raises the error for a key that is too long, or notes it in row->rejection if that
 *		is set, as report_mismatch() does.
 */
void
report_long_key(IndexDef *def, FactRow *row, KeySize *size)
{
	char	   *detail = psprintf("Key and primary key have %zu bytes, %zu of them in field \"%s\"; at most %d are allowed.",
								  size->bytes, size->longest_bytes, excerpt(size->longest->spec->text),
								  MAX_KEY_BYTES);

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
				 errindextable(def, size->longest)));
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("key is too long for index table \"%s\"", def->name),
			 errdetail("Row %s of \"%s\": %s", format_row_key(row), row->fact->name, detail),
			 hint_to_skip(def),
			 errindextable(def, size->longest)));
}
