/*-------------------------------------------------------------------------
 *
 * page_cursor.c
 *	  Cursors: an entry's place in the order of a query, as text for the user.
 *
 * Called by query.c, as the owner and under fixed settings, so that a value has
 * the same text whoever writes it down.
 *
 * A cursor is, in base64 as in URLs: a version, two hashes that say what it is
 * of, the texts of the order's columns, and a checksum.  It may come back as
 * anything.  Nobody needs a secret to make one: it says no more than where to go
 * on, within conditions that are given anew, and its values are bound.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/base64.h"
#include "common/hashfn.h"
#include <ctype.h>
#include "executor/tuptable.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

#include "../indextable.h"
#include "../util/fixed_settings.h"
#include "../util/subxact.h"
#include "condition.h"
#include "page_cursor.h"

#define CURSOR_VERSION	1

/* No cursor of ours is longer, though few bytes may be a number of 131,072 digits. */
#define MAX_CURSOR_BYTES	(64 * 1024 * 1024)

/* What read_values() works on. */
typedef struct ReadArgs
{
	IndexDef   *def;
	int			from;
	char	  **texts;
	Datum	   *values;
	MemoryContext cxt;
} ReadArgs;

pg_noreturn static void cursor_error(void);
static char *decode(const char *cursor, int *len);

static uint64
hash_of(const char *bytes, int len)
{
	return hash_bytes_extended((const unsigned char *) bytes, len, 0);
}

/* column_text: a value of a column's type, or of that a domain is over, as text */
static char *
column_text(Form_pg_attribute att, Datum value)
{
	return value_text(getBaseType(att->atttypid), value);
}

/* add_text: in the server's encoding, with its zero byte */
static void
add_text(StringInfo bytes, const char *text)
{
	appendBinaryStringInfo(bytes, text, strlen(text) + 1);
}

static void
add_bound(StringInfo what, Form_pg_attribute att, const char *name, Bound *bound)
{
	if (!bound->given)
		return;
	appendStringInfo(what, "%s%s", name, bound->inclusive ? "=" : "");
	add_text(what, column_text(att, bound->value));
}

/*
 * cursor_identity
 *		An index table is the same as long as it is not created anew, whatever is
 *		renamed or altered: that leaves the columns of its order alone.
 */
void
cursor_identity(IndexDef *def, KeyRange *range, bool descending, CursorIdentity *identity)
{
	StringInfoData what;
	int			i;

	initStringInfo(&what);
	pq_sendint32(&what, def->relid);
	for (i = 0; i < def->nsearch; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->desc, def->search[i] - 1);

		pq_sendint32(&what, att->atttypid);
		pq_sendint32(&what, att->attcollation);
	}
	identity->index_table = hash_of(what.data, what.len);

	resetStringInfo(&what);
	pq_sendbyte(&what, descending);
	pq_sendbyte(&what, range->nequal);
	for (i = 0; i < range->nequal; i++)
		add_text(&what, column_text(TupleDescAttr(def->desc, def->search[i] - 1), range->equal[i]));
	if (range->nequal < def->nkeys)
	{
		Form_pg_attribute att = TupleDescAttr(def->desc, def->search[i] - 1);

		if (range->prefix != NULL)
		{
			appendStringInfoString(&what, "begins_with");
			add_text(&what, range->prefix);
		}
		else
		{
			add_bound(&what, att, ">", &range->lower);
			add_bound(&what, att, "<", &range->upper);
		}
	}
	identity->query = hash_of(what.data, what.len);
	pfree(what.data);
}

/* cursor_make: that of an entry, by the columns of the order from one on */
Datum
cursor_make(CursorIdentity *identity, IndexDef *def, int from, TupleTableSlot *entry)
{
	StringInfoData bytes;
	char	   *text;
	int			len;
	int			i;

	initStringInfo(&bytes);
	pq_sendbyte(&bytes, CURSOR_VERSION);
	pq_sendint64(&bytes, identity->index_table);
	pq_sendint64(&bytes, identity->query);
	for (i = from; i < def->nsearch; i++)
	{
		bool		isnull;
		Datum		value = slot_getattr(entry, def->search[i], &isnull);

		add_text(&bytes, column_text(TupleDescAttr(def->desc, def->search[i] - 1), value));
	}
	pq_sendint32(&bytes, (uint32) hash_of(bytes.data, bytes.len));

	len = pg_b64_enc_len(bytes.len);
	text = palloc(len + 1);

	len = pg_b64_encode((void *) bytes.data, bytes.len, (void *) text, len);
	if (len < 0)
		elog(ERROR, "could not encode a cursor");
	while (len > 0 && text[len - 1] == '=')
		len--;
	for (i = 0; i < len; i++)
		text[		i] = text[i] == '+' ? '-' : text[i] == '/' ? '_' : text[i];

	return PointerGetDatum(cstring_to_text_with_len(text, len));
}

static void
read_values(void *arg)
{
	ReadArgs   *args = arg;
	int			i;

	for (i = args->from; i < args->def->nsearch; i++)
	{
		Form_pg_attribute att = TupleDescAttr(args->def->desc, args->def->search[i] - 1);
		int32		typmod = att->atttypmod;
		Oid			type = getBaseTypeAndTypmod(att->atttypid, &typmod);
		Oid			input;
		Oid			ioparam;
		Datum		value;
		MemoryContext old;

		getTypeInputInfo(type, &input, &ioparam);
		value = OidInputFunctionCall(input, args->texts[i], ioparam, typmod);
		old = MemoryContextSwitchTo(args->cxt);
		args->values[i] = datumCopy(value, att->attbyval, att->attlen);
		MemoryContextSwitchTo(old);
	}
}

/*
 * cursor_read
 *		The values in a cursor, of the order's columns from one on; an error if it
 *		is no cursor, or one of another index table or query.
 */
void
cursor_read(const char *cursor, CursorIdentity *identity, IndexDef *def, int from, Datum *values)
{
	ReadArgs	args = {def, from, NULL, values, CurrentMemoryContext};
	StringInfoData bytes;
	const char *end;
	uint64		index_table;
	uint64		query;
	int			i;

	initStringInfo(&bytes);
	bytes.data = decode(cursor, &bytes.len);
	if (bytes.len < 1 + 8 + 8 + 4)
		cursor_error();
	end = bytes.data + bytes.len - 4;
	bytes.cursor = bytes.len - 4;
	if (pq_getmsgint(&bytes, 4) != (uint32) hash_of(bytes.data, bytes.len - 4))
		cursor_error();
	bytes.cursor = 0;
	if (pq_getmsgbyte(&bytes) != CURSOR_VERSION)
		cursor_error();
	index_table = pq_getmsgint64(&bytes);
	query = pq_getmsgint64(&bytes);
	if (index_table != identity->index_table)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cursor does not belong to index table \"%s\"", def->name),
				 errdetail("It belongs to another index table, or to one that was dropped and created again."),
				 errhint("Leave out cursor to begin with the first page.")));
	if (query != identity->query)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cursor belongs to another query"),
				 errhint("Use the key, condition and descending of the call that returned the cursor, or leave out cursor.")));

	args.texts = palloc(sizeof(char *) * def->nsearch);
	for (i = from; i < def->nsearch; i++)
	{
		char	   *text = bytes.data + bytes.cursor;
		int			len = strnlen(text, end - text);

		if (text +len >= end || !pg_verifymbstr(text, len, true))
			cursor_error();
		args.texts[i] = text;

		bytes.cursor += len + 1;
	}
	if (bytes.data + bytes.cursor != end)
		cursor_error();
	if (run_catching_row_errors(read_values, &args) != NULL)
		cursor_error();
}

static void
cursor_error(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid cursor"),
			 errhint("Use a cursor unchanged as indextable.query() has returned it, or leave out cursor.")));
}

/* decode: from base64 as in URLs */
static char *
decode(const char *cursor, int *len)
{
	char	   *text;
	char	   *bytes;
	Size		n = strlen(cursor);
	Size		i;

	if (n > MAX_CURSOR_BYTES)
		cursor_error();
	text = palloc(n + 4);

	for (i = 0; i < n; i++)
	{
		text[		i] = cursor[i] == '-' ? '+' : cursor[i] == '_' ? '/' : cursor[i];

		if (!isalnum((unsigned char) cursor[i]) && text[i] == cursor[i])
			cursor_error();
	}
	while (n % 4 != 0)
		text[		n++] = '=';

	*len = pg_b64_dec_len(n);
	bytes = palloc(*len + 1);
	*len = pg_b64_decode((void *) text, n, (void *) bytes, *len);
	if (*len < 0)
		cursor_error();
	return bytes;
}
