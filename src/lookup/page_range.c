/*-------------------------------------------------------------------------
 *
 * page_range.c
 *	  Reads which entries a query pages through: from JSON its key and its condition, and from a
 *	  cursor, which is also made here, where the last page has ended.
 *
 * A key gives values of the leading key fields, as for lookup().  A condition is
 * about the field that follows them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "common/base64.h"
#include "common/hashfn.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "../entry/entry.h"
#include "../indextable.h"
#include "../match/match.h"
#include "../place/place.h"
#include "../util/fixed_settings.h"
#include "../util/json_members.h"
#include "../util/subxact.h"
#include "lookup.h"

/* The second version is that of cursors with NULL. */
#define CURSOR_VERSION	1
#define CURSOR_VERSION_NULLS	2

/* No cursor is longer, although few stored bytes may be a number of 131,072 digits. */
#define MAX_CURSOR_BYTES	(64 * 1024 * 1024)

/* What read_values() works on. */
typedef struct ReadArgs
{
	IndexDef   *def;
	int			from;			/* the first column of the order to be read */
	char	  **texts;			/* NULL: the value is NULL */
	Datum	   *values;			/* result, in cxt */
	MemoryContext cxt;
} ReadArgs;

static void read_condition(IndexDef *def, Jsonb *condition, KeyRange *range);
static void read_operators(IndexDef *def, int field, JsonbContainer *operators, KeyRange *range);
pg_noreturn static void operator_error(const char *detail);
static void set_bound(IndexDef *def, int field, JsonbValue *value, bool inclusive, Bound *bound,
					  KeyRange *range);
static void set_between(IndexDef *def, int field, JsonbValue *value, KeyRange *range);
static void set_prefix(IndexDef *def, int field, JsonbValue *value, KeyRange *range);
pg_noreturn static void cursor_error(void);
static void read_values(void *arg);
static char *decode(const char *cursor, int *len);
static void add_bound(StringInfo what, Form_pg_attribute att, const char *name, Bound *bound);
static void add_text(StringInfo bytes, const char *text);
static char *column_text(Form_pg_attribute att, Datum value);
static uint64 hash_of(const char *bytes, int len);

/*
 * key_range
 *		Reads key, or several keys; {} is that of all entries; and condition, which is NULL if there is
 *		none.  Both are checked even if no entry can match.
 */
void
key_range(IndexDef *def, Jsonb *key, Jsonb *condition, KeyRange *range)
{
	memset(range, 0, sizeof(KeyRange));
	key_set_read(def, key, true, &range->keys);
	if (condition != NULL)
		read_condition(def, condition, range);
	if (range->keys.n == 0)
		range->empty = true;
}

/* read_condition: reads {"column": {"operator": value, ...}} into the range */
static void
read_condition(IndexDef *def, Jsonb *condition, KeyRange *range)
{
	JsonMembers members;
	JsonbContainer *operators;
	int			field = range->keys.ncolumns;

	if (field == def->spec.nkeys)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("condition cannot be used because key has all key columns of index table \"%s\"", def->name),
				 errhint("A condition applies to the first key column that is not in key. Leave that column out of key.")));
	if (!JsonContainerIsObject(&condition->root) || JsonContainerSize(&condition->root) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("condition must be an object with one column"),
				 errhint("For example: '{\"%s\": {\">=\": ...}}'.", key_column_name(def, field))));

	members.it = JsonbIteratorInit(&condition->root);
	(void) next_member(&members);
	if (find_key_column(def, members.name) != field)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("condition must use the first key column that is not in key"),
				 errdetail("That column is \"%s\", not \"%s\".", key_column_name(def, field), members.name),
				 errhint("The key columns are %s.", key_columns(def))));

	operators = members.value.type == jbvBinary ? members.value.val.binary.data : NULL;
	if (operators == NULL || !JsonContainerIsObject(operators) || JsonContainerSize(operators) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("condition must compare its column with a value"),
				 errdetail("The value of the column is not an object, or it is an empty one."),
				 operators != NULL ? errhint("For example: '{\"%s\": {\">=\": ...}}'.", members.name) :
				 errhint("For example: %s.", condition_example(members.name, "=", &members.value))));
	read_operators(def, field, operators, range);
}

/*
 * read_operators
 *		Reads {"operator": value}, with one operator or a lower and an upper bound, into the
 *		range.
 */
static void
read_operators(IndexDef *def, int field, JsonbContainer *operators, KeyRange *range)
{
	int			n = JsonContainerSize(operators);
	JsonMembers members = {.it = JsonbIteratorInit(operators)};

	while (next_member(&members))
	{
		const char *op = members.name;
		JsonbValue *value = &members.value;
		Bound	   *bound = NULL;

		if (strcmp(op, ">") == 0 || strcmp(op, ">=") == 0)
			bound = &range->lower;
		else if (strcmp(op, "<") == 0 || strcmp(op, "<=") == 0)
			bound = &range->upper;
		if (bound == NULL ? n > 1 : bound->given)
			operator_error("Its operators cannot be combined.");

		if (bound != NULL)
			set_bound(def, field, value, op[1] == '=', bound, range);
		else if (strcmp(op, "=") == 0)
			/* As if the column were in the key. */
			key_set_restrict(def, value, &range->keys);
		else if (strcmp(op, "between") == 0)
			set_between(def, field, value, range);
		else if (strcmp(op, "begins_with") == 0)
			set_prefix(def, field, value, range);
		else
			operator_error(operator_meant(op) == NULL ? psprintf("Operator \"%s\" is not recognized.", op) :
						   psprintf("Operator \"%s\" is not recognized. Perhaps you mean %s.", op,
									condition_example(key_column_name(def, field), operator_meant(op), value)));
	}
}

static void
operator_error(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("condition must compare its column with a value"),
			 errdetail("%s", detail),
			 errhint("Use {\"op\": value} with one of the operators =, <, <=, >, >=, or {\">=\": value, \"<\": value}, {\"between\": [value, value]}, or {\"begins_with\": \"text\"}.")));
}

/* set_bound: sets a bound of the range; nothing matches if the value is null */
static void
set_bound(IndexDef *def, int field, JsonbValue *value, bool inclusive, Bound *bound, KeyRange *range)
{
	bound->given = true;
	bound->inclusive = inclusive;
	if (!key_value_cast(def, field, value, &bound->value))
		range->empty = true;
}

static void
set_between(IndexDef *def, int field, JsonbValue *value, KeyRange *range)
{
	JsonbContainer *values = value->type == jbvBinary ? value->val.binary.data : NULL;

	if (values == NULL || !JsonContainerIsArray(values) || JsonContainerSize(values) != 2)
		operator_error("The operator \"between\" requires an array of two values.");
	set_bound(def, field, getIthJsonbValueFromContainer(values, 0), true, &range->lower, range);
	set_bound(def, field, getIthJsonbValueFromContainer(values, 1), true, &range->upper, range);
}

/*
 * set_prefix
 *		Restricts the range to texts that begin with a prefix.  Only in the order of
 *		bytes such texts are next to each other, so that the prefix also bounds the range,
 *		as the server tells it; in other orders it is just a filter.
 */
static void
set_prefix(IndexDef *def, int field, JsonbValue *value, KeyRange *range)
{
	Form_pg_attribute att = TupleDescAttr(def->layout.desc, def->spec.fields[field].attno - 1);
	Oid			type = getBaseType(att->atttypid);
	Node	   *any_text;
	Const	   *prefix;

	if (type != TEXTOID && type != VARCHAROID && type != BPCHAROID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("operator \"begins_with\" requires a text column"),
				 errdetail("Column \"%s\" of index table \"%s\" has type %s.", NameStr(att->attname),
						   def->name, format_type_be(att->atttypid))));
	if (!get_collation_isdeterministic(att->attcollation))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("operator \"begins_with\" is not supported for nondeterministic collations"),
				 errdetail("Column \"%s\" of index table \"%s\" has collation \"%s\".",
						   NameStr(att->attname), def->name, get_collation_name(att->attcollation))));
	if (value->type == jbvNull)
	{
		range->empty = true;
		return;
	}
	if (value->type != jbvString)
		operator_error("The operator \"begins_with\" requires a string.");

	range->prefix = pnstrdup(value->val.string.val, value->val.string.len);
	any_text = (Node *) makeVar(1, 1, TEXTOID, -1, att->attcollation, 0);
	prefix = makeConst(TEXTOID, -1, att->attcollation, -1, CStringGetTextDatum(range->prefix), false, false);
	foreach_node(OpExpr, op,
				 bounds_of_pattern((Node *) makeFuncExpr(F_STARTS_WITH, BOOLOID, list_make2(any_text, prefix),
														 InvalidOid, att->attcollation, COERCE_EXPLICIT_CALL),
								   F_STARTS_WITH, att->attcollation))
	{
		Bound	   *bound = op->opno == TextGreaterEqualOperator ? &range->lower : &range->upper;

		bound->given = true;
		bound->inclusive = op->opno == TextGreaterEqualOperator;
		bound->value = lsecond_node(Const, op->args)->constvalue;
	}
}

/*-------------------------------------------------------------------------
 * Makes and reads cursors, which tell users as text an entry's place in the order of a query.
 *
 * Both is done as the owner and under fixed settings, so that a value has the same
 * text whatever the settings of the session.
 *
 * A cursor consists of a version, two hashes that tell what it belongs to, the texts
 * of the columns of the order, and a checksum, all in base64 as in URLs.  If any of these columns
 * is NULL, it is of another version, in which a byte says of each column whether it is NULL, and
 * so has no text.  What a user
 * passes as a cursor may be anything.  A cursor is not secret, and users may make one
 * by themselves: it only tells where to go on, within conditions that are given again,
 * and its values are parameters of the statement.
 *-------------------------------------------------------------------------
 */

/*
 * cursor_identity
 *		Makes the hashes that tell what a cursor belongs to.  An index table stays the same
 *		until it is created anew, even if it is renamed or altered, which does not change
 *		the columns of its order.
 */
void
cursor_identity(IndexDef *def, KeyRange *range, bool descending, CursorIdentity *identity)
{
	StringInfoData what;
	int			ncolumns = range->keys.ncolumns;

	initStringInfo(&what);
	pq_sendint32(&what, def->relid);
	for (int i = 0; i < def->layout.nsearch; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->layout.desc, def->layout.ident[i] - 1);

		pq_sendint32(&what, att->atttypid);
		pq_sendint32(&what, att->attcollation);
	}
	identity->index_table = hash_of(what.data, what.len);

	resetStringInfo(&what);
	pq_sendbyte(&what, descending);
	pq_sendbyte(&what, ncolumns);
	for (int i = 0; i < range->keys.n * ncolumns; i++)
		add_text(&what,
				 column_text(TupleDescAttr(def->layout.desc, def->layout.ident[i % ncolumns] - 1),
							 range->keys.values[i]));
	if (ncolumns < def->spec.nkeys)
	{
		Form_pg_attribute att = TupleDescAttr(def->layout.desc, def->layout.ident[ncolumns] - 1);

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

/*
 * cursor_from
 *		Returns the first column of the order that cursors have: of one key, they do not
 *		repeat it.
 */
int
cursor_from(KeyRange *range)
{
	return range->keys.n == 1 ? range->keys.ncolumns : 0;
}

/* cursor_make: returns the cursor of an entry, with the columns of the order from number from on */
Datum
cursor_make(CursorIdentity *identity, IndexDef *def, int from, TupleTableSlot *entry)
{
	StringInfoData bytes;
	char	   *cursor;
	int			len;
	bool		nulls = false;

	for (int i = from; i < def->layout.nsearch; i++)
		nulls |= slot_attisnull(entry, def->layout.ident[i]);
	initStringInfo(&bytes);
	pq_sendbyte(&bytes, nulls ? CURSOR_VERSION_NULLS : CURSOR_VERSION);
	pq_sendint64(&bytes, identity->index_table);
	pq_sendint64(&bytes, identity->query);
	for (int i = from; i < def->layout.nsearch; i++)
	{
		bool		isnull;
		Datum		value = slot_getattr(entry, def->layout.ident[i], &isnull);

		if (nulls)
			pq_sendbyte(&bytes, isnull);
		if (!isnull)
			add_text(&bytes, column_text(TupleDescAttr(def->layout.desc, def->layout.ident[i] - 1), value));
	}
	pq_sendint32(&bytes, (uint32) hash_of(bytes.data, bytes.len));

	len = pg_b64_enc_len(bytes.len);
	cursor = palloc(len + 1);
	len = pg_b64_encode((void *) bytes.data, bytes.len, (void *) cursor, len);
	if (len < 0)
		elog(ERROR, "could not encode a cursor");
	while (len > 0 && cursor[len - 1] == '=')
		len--;
	for (int i = 0; i < len; i++)
		cursor[i] = cursor[i] == '+' ? '-' : cursor[i] == '/' ? '_' : cursor[i];

	return PointerGetDatum(cstring_to_text_with_len(cursor, len));
}

/*
 * cursor_read
 *		Reads the values in a cursor, those of the columns of the order from number from
 *		on.  Raises an error if it is not a cursor, or if it belongs to another index table
 *		or query.
 */
void
cursor_read(const char *cursor, CursorIdentity *identity, IndexDef *def, int from, Datum *values, bool *isnull)
{
	ReadArgs	args = {def, from, NULL, values, CurrentMemoryContext};
	StringInfoData bytes;
	const char *end;
	int			version;
	uint64		index_table;
	uint64		query;

	initStringInfo(&bytes);
	bytes.data = decode(cursor, &bytes.len);
	if (bytes.len < 1 + 8 + 8 + 4)
		cursor_error();
	end = bytes.data + bytes.len - 4;
	bytes.cursor = bytes.len - 4;
	if (pq_getmsgint(&bytes, 4) != (uint32) hash_of(bytes.data, bytes.len - 4))
		cursor_error();
	bytes.cursor = 0;
	version = pq_getmsgbyte(&bytes);
	if (version != CURSOR_VERSION && version != CURSOR_VERSION_NULLS)
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

	args.texts = palloc0(sizeof(char *) * def->layout.nsearch);
	for (int i = from; i < def->layout.nsearch; i++)
	{
		char	   *value;
		int			len;

		isnull[i] = version == CURSOR_VERSION_NULLS && bytes.data + bytes.cursor < end &&
			pq_getmsgbyte(&bytes) != 0;
		if (isnull[i])
		{
			/*
			 * The primary key cannot be NULL, nor can key fields that Citus
			 * distributes.
			 */
			if ((i >= def->spec.nkeys && i < def->layout.nleading) || def->fact->place->entries->search != NULL)
				cursor_error();
			continue;
		}
		value = bytes.data + bytes.cursor;
		len = strnlen(value, end - value);
		if (value + len >= end || !pg_verifymbstr(value, len, true))
			cursor_error();
		args.texts[i] = value;
		bytes.cursor += len + 1;
	}
	if (bytes.data + bytes.cursor != end)
		cursor_error();
	if (run_catching_row_errors(read_values, &args) != NULL)
		cursor_error();
}

/*
 * read_values
 *		Converts the texts of a cursor to values of the columns; calls input functions of
 *		types.
 */
static void
read_values(void *arg)
{
	ReadArgs   *args = arg;

	for (int i = args->from; i < args->def->layout.nsearch; i++)
	{
		Form_pg_attribute att = TupleDescAttr(args->def->layout.desc, args->def->layout.ident[i] - 1);
		int32		typmod = att->atttypmod;
		Oid			type = getBaseTypeAndTypmod(att->atttypid, &typmod);
		Oid			input;
		Oid			ioparam;
		Datum		value;
		MemoryContext old;

		if (args->texts[i] == NULL)
			continue;
		getTypeInputInfo(type, &input, &ioparam);
		value = OidInputFunctionCall(input, args->texts[i], ioparam, typmod);
		old = MemoryContextSwitchTo(args->cxt);
		args->values[i] = datumCopy(value, att->attbyval, att->attlen);
		MemoryContextSwitchTo(old);
	}
}

static void
cursor_error(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid cursor"),
			 errhint("Use a cursor unchanged as indextable.query() has returned it, or leave out cursor.")));
}

/* decode: returns the bytes of base64 as in URLs, without padding */
static char *
decode(const char *cursor, int *len)
{
	char	   *base64;
	char	   *bytes;
	Size		n = strlen(cursor);

	if (n > MAX_CURSOR_BYTES)
		cursor_error();
	base64 = palloc(n + 4);
	for (Size i = 0; i < n; i++)
	{
		base64[i] = cursor[i] == '-' ? '+' : cursor[i] == '_' ? '/' : cursor[i];
		if (!isalnum((unsigned char) cursor[i]) && base64[i] == cursor[i])
			cursor_error();
	}
	while (n % 4 != 0)
		base64[n++] = '=';

	*len = pg_b64_dec_len(n);
	bytes = palloc(*len + 1);
	*len = pg_b64_decode((void *) base64, n, (void *) bytes, *len);
	if (*len < 0)
		cursor_error();
	return bytes;
}

/* add_bound: adds a bound of a key range to what a query is recognized by */
static void
add_bound(StringInfo what, Form_pg_attribute att, const char *name, Bound *bound)
{
	if (!bound->given)
		return;
	appendStringInfo(what, "%s%s", name, bound->inclusive ? "=" : "");
	add_text(what, column_text(att, bound->value));
}

/* add_text: adds a text in the server's encoding, with a zero byte at its end */
static void
add_text(StringInfo bytes, const char *text)
{
	appendBinaryStringInfo(bytes, text, strlen(text) + 1);
}

/* column_text: returns as text a value of a column's type, or of the type that a domain is over */
static char *
column_text(Form_pg_attribute att, Datum value)
{
	return value_text(getBaseType(att->atttypid), value);
}

/* hash_of: returns a hash of some bytes */
static uint64
hash_of(const char *bytes, int len)
{
	return hash_bytes_extended((const unsigned char *) bytes, len, 0);
}
