/*-------------------------------------------------------------------------
 *
 * mismatch.c
 *	  Reports why a row cannot have its entries: a value cannot be cast to the type of
 *	  its field.  Keys that are too long are reported by key_size.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/rls.h"

#include "../catalog/told_sql.h"
#include "../definition/totals.h"
#include "../indextable.h"
#include "../util/fixed_settings.h"
#include "document.h"
#include "mismatch.h"
#include "row_error.h"

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
int
hint_to_skip(IndexDef *def)
{
	Relation	rel = RelationIdGetRelation(def->relid);
	bool		is_new = rel == NULL || rel->rd_createSubid != InvalidSubTransactionId;

	if (rel != NULL)
		RelationClose(rel);
	if (is_totals(def))
		return errhint("Correct the document, or make the totals again with on_mismatch => 'skip'.");
	if (is_new)
		return errhint("Correct the document, or create the index table with on_mismatch => 'skip'.");
	if (def->ends_skipping)
		return errhint("Correct the document, and try again. To have such rows listed in " IT_SCHEMA ".rejected, run %s and then %s",
					   told_refuse(def->relid), told_call("rebuild", def->relid));
	return errhint("Correct the document, or leave it without the entry: %s", told_skip(def->relid));
}

/* may_show_row: returns whether a user who writes a row may read it, too */
bool
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

/* format_row_key: returns the primary key of a row as "(pk1, pk2)=(1, x)", like the server does in its messages */
char *
format_row_key(FactRow *row)
{
	TupleDesc	desc = row->slot->tts_tupleDescriptor;
	StringInfoData names;
	StringInfoData values;
	int			i;

	initStringInfo(&names);
	initStringInfo(&values);
	for (i = 0; i < row->fact->npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, row->fact->pk_attno[i] - 1);

		appendStringInfo(&names, "%s%s", i ? ", " : "", NameStr(att->attname));
		appendStringInfo(&values, "%s%s", i ? ", " : "",
						 excerpt(value_text(att->atttypid,
											row->slot->tts_values[row->fact->pk_attno[i] - 1])));
	}
	return psprintf("(%s)=(%s)", names.data, values.data);
}
