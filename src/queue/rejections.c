/*-------------------------------------------------------------------------
 *
 * rejections.c
 *	  Keeps the rows that have no entries in an asynchronous index table because of an
 *	  error.
 *
 * When the error occurs, the transaction that wrote the row has long ended, and nobody
 * can be told.  So the row is stored in the table rejection of the catalog, and other
 * rows are applied meanwhile.  It stays there until it has its entries, has changed so
 * that it needs none, or is deleted.
 *
 * A row with a value that cannot be an entry is tried again when it changes.  Any other
 * error may disappear by itself: then the row is also tried again after a while, which
 * grows from one attempt to the next.  A row that takes too long would keep others waiting
 * each time: it is tried again when it changes, or the code that is slow.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "../catalog/catalog.h"
#include "../entry/entry.h"
#include "../indextable.h"
#include "../util/as_owner.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "queue.h"

/* A row is first tried again after this time, then after twice as long, up to an hour. */
#define RETRY_SECONDS		"10"

/*
 * The condition that finds a row, with the hash that is in the index rejection_key: a
 * primary key itself may be too long for an index.
 */
#define THIS_ROW			"index_table = $1::regclass AND primary_key = $2" \
	" AND hash_array_extended(primary_key, 0) = hash_array_extended($2, 0)"

/* At most this many rows are tried again in one batch. */
#define RETRY_ROWS			1000

static List *due_keys(Oid index_table);
static bool read_key(FactDef *def, ArrayType *texts, Datum *key);

/*
 * reject_rows
 *		Stores rejected rows (RejectedRow *).  A row that is stored already has one more
 *		attempt then.
 */
void
reject_rows(FactDef *def, List *rejected)
{
	Oid			types[] = {OIDOID, TEXTARRAYOID, TEXTOID, TEXTOID, BOOLOID};

	foreach_ptr(RejectedRow, row, rejected)
	{
		const char *table;
		Datum		values[5];

		values[0] = ObjectIdGetDatum(def->defs[row->defno]->relid);
		AS_OWNER(def->owner);
		{
			values[1] = key_texts(def, row->key);
		}
		END_AS_OWNER();
		values[2] = CStringGetTextDatum(unpack_sql_state(row->why.sqlstate));
		values[3] = CStringGetTextDatum(row->why.message);
		values[4] = BoolGetDatum(row->retry);
		table = catalog_table("rejection");
		if (query_with(get_extension_owner(),
					   psprintf("UPDATE %s SET sqlstate = $3, message = $4, attempts = attempts + 1,"
								" last_at = clock_timestamp(),"
								" next_try = CASE WHEN $5 THEN clock_timestamp() + least(interval '1 hour',"
								" interval '" RETRY_SECONDS " seconds' * power(2, least(attempts, 12))) END"
								" WHERE " THIS_ROW,
								table),
					   5, types, values)
			.n == 0)
			(void)
				query_with(get_extension_owner(),
						   psprintf("INSERT INTO %s (index_table, primary_key, sqlstate, message,"
									" attempts, first_at, last_at, next_try)"
									" VALUES ($1::regclass, $2, $3, $4, 1, clock_timestamp(), clock_timestamp(),"
									" CASE WHEN $5 THEN clock_timestamp() + interval '" RETRY_SECONDS
									" seconds' END)",
									table),
						   5, types, values);
	}
}

/*
 * rejections_delete_resolved
 *		Deletes the rejections of n rows by an index table, but for those in the list
 *		rejected: all others have been applied.
 */
void
rejections_delete_resolved(FactDef *def, int defno, Datum *keys, int n, List *rejected)
{
	Oid			types[] = {OIDOID, TEXTARRAYOID};
	Datum		values[2];
	Datum	   *resolved;
	ListCell   *next = list_head(rejected);
	Oid			output;
	bool		varlena;
	int			nresolved = 0;

	if (!catalog_has_rejections(def->defs[defno]->relid))
		return;
	getTypeOutputInfo(TEXTARRAYOID, &output, &varlena);
	AS_OWNER(def->owner);
	{
		resolved = palloc(sizeof(Datum) * n);
		for (int i = 0; i < n; i++)
		{
			Datum	   *key = keys + (Size) i * def->layout.npk;

			/* The list is in the order of the keys. */
			while (next != NULL && (((RejectedRow *) lfirst(next))->defno != defno ||
									((RejectedRow *) lfirst(next))->key < key))
				next = lnext(rejected, next);
			if (next == NULL || ((RejectedRow *) lfirst(next))->key != key)
				resolved[nresolved++] = CStringGetTextDatum(OidOutputFunctionCall(output,
																				  key_texts(def, key)));
		}
	}
	END_AS_OWNER();
	values[0] = ObjectIdGetDatum(def->defs[defno]->relid);
	values[1] = PointerGetDatum(construct_array(resolved, nresolved, TEXTOID, -1, false, TYPALIGN_INT));
	(void) query_with(get_extension_owner(),
					  psprintf("DELETE FROM %s r USING (SELECT unnest($2)::text[] AS key) k"
							   " WHERE r.index_table = $1::regclass AND r.primary_key = k.key"
							   " AND hash_array_extended(r.primary_key, 0) = hash_array_extended(k.key, 0)",
							   catalog_table("rejection")),
					  2, types, values);
}

/*
 * rejections_due
 *		Lists the keys (Datum *) of rejected rows that are due to be tried again, and sets them to
 *		be due in an hour.  If they fail again, reject_rows() sets when they are due the next time.
 */
List *
rejections_due(FactDef *def)
{
	List	   *keys = NIL;

	for (int i = def->nsync; i < def->ndefs; i++)
	{
		if (!catalog_has_rejections(def->defs[i]->relid))
			continue;
		foreach_ptr(ArrayType, texts, due_keys(def->defs[i]->relid))
		{
			Datum	   *key = palloc(sizeof(Datum) * def->layout.npk);

			if (read_key(def, texts, key))
				keys = lappend(keys, key);
		}
	}
	return keys;
}

/*
 * rejections_retry_now
 *		Has the next batches try again all rows that an index table has rejected for an
 *		error that may disappear by itself, or by other code; with values, also for a value that
 *		cannot be an entry.
 */
void
rejections_retry_now(Oid index_table, bool values)
{
	if (!catalog_has_rejections(index_table))
		return;
	(void) query_as(get_extension_owner(), "UPDATE %s SET next_try = clock_timestamp()"
					" WHERE index_table = '%u'::regclass%s", catalog_table("rejection"), index_table,
					values ? "" : " AND (next_try IS NOT NULL OR sqlstate = '57014')");
}

/* rejection_of: returns the message of the error for which an index table rejects a row, or NULL */
char *
rejection_of(FactDef *def, Oid index_table, Datum *key)
{
	Oid			types[] = {OIDOID, TEXTARRAYOID};
	Datum		values[2];
	Rows		rows;

	if (!catalog_has_rejections(index_table))
		return NULL;
	AS_OWNER(def->owner);
	{
		values[1] = key_texts(def, key);
	}
	END_AS_OWNER();
	values[0] = ObjectIdGetDatum(index_table);
	rows = query_with(get_extension_owner(),
					  psprintf("SELECT message FROM %s WHERE " THIS_ROW, catalog_table("rejection")), 2, types,
					  values);
	return rows.n > 0 ? row_text(&rows, 0, 1) : NULL;
}

/*
 * due_keys
 *		Returns the primary keys of rows that are due, as arrays of texts in the current
 *		memory context, and sets the rows to be due in an hour.
 */
static List *
due_keys(Oid index_table)
{
	List	   *keys = NIL;
	const char *table = catalog_table("rejection");
	Rows		rows = query_as(get_extension_owner(),
								"UPDATE %s r SET next_try = clock_timestamp() + interval '1 hour'"
								" FROM (SELECT ctid FROM %s WHERE index_table = '%u'::regclass"
								" AND next_try <= clock_timestamp() LIMIT " CppAsString2(RETRY_ROWS) ") due"
								" WHERE r.ctid = due.ctid RETURNING r.primary_key", table, table, index_table);

	for (uint64 i = 0; i < rows.n; i++)
		keys = lappend(keys, DatumGetArrayTypeP(row_value(&rows, i, 1)));
	return keys;
}

/* read_key: reads a primary key from its texts; returns whether they are values of its columns */
static bool
read_key(FactDef *def, ArrayType *texts, Datum *key)
{
	MemoryContext cxt = CurrentMemoryContext;
	ErrorData  *error;

	CATCHING_ROW_ERRORS(error, key_from_texts(def, texts, key, cxt));
	return error == NULL;
}
