/*-------------------------------------------------------------------------
 *
 * fetch.c
 *	  Fetches the fact rows that entries name: from here, through the executor, or from
 *	  other servers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/skey.h"
#include "catalog/pg_class.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "../definition/routing.h"
#include "../entry/document.h"
#include "../entry/entries.h"
#include "../entry/extract.h"
#include "../entry/fact_fetch.h"
#include "../entry/foreign_fetch.h"
#include "../entry/foreign_scan.h"
#include "../indextable.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "fetch.h"

typedef struct RowId
{
	char	   *bytes;
	int			len;
} RowId;

static void fetch_here(Lookup *l, Datum *key);
static bool is_on_other_server(Lookup *l, Datum *key);
static void key_of_entry(Lookup *l, TupleTableSlot *entry, Datum *key);
static void begin_foreign_fetch(Lookup *l);
static void begin_reading(Lookup *l);
static void fetch_directly(Lookup *l, Datum *key);
static void put_rows(Lookup *l, List *rows);
static bool matches(Lookup *l, TupleTableSlot *row);
static void fetch_secured(Lookup *l, Datum *key);
static void put_row(Lookup *l, TupleTableSlot *row);

void
fetch(Lookup *l, TupleTableSlot *entry)
{
	Datum		key[INDEX_MAX_KEYS];
	bool		isnull;

	if (l->copies)
	{
		Datum		document = slot_getattr(entry, l->def->doc_attno, &isnull);

		tuplestore_putvalues(l->store, l->desc, &document, &isnull);
		return;
	}
	key_of_entry(l, entry, key);
	if (l->gathering == NULL && is_on_other_server(l, key))
		begin_foreign_fetch(l);
	if (l->gathering != NULL)
		foreign_fetch_add(l->gathering, key, !is_on_other_server(l, key));
	else
		fetch_here(l, key);
}

/* fetch_here: a row that is on this server */
static void
fetch_here(Lookup *l, Datum *key)
{
	if (l->secured)
		fetch_secured(l, key);
	else
		fetch_directly(l, key);
}

/* is_on_other_server: whether a row is on another server */
static bool
is_on_other_server(Lookup *l, Datum *key)
{
	/* One with a primary key has none there. */
	if (!l->factdef->partitioned || OidIsValid(l->factdef->pk_index))
		return false;
	if (l->secured)
		return get_rel_relkind(route_key(l->factdef, l->fact, key)) == RELKIND_FOREIGN_TABLE;
	begin_reading(l);
	return live_scan_is_foreign(&l->fact_rows, key);
}

static void
key_of_entry(Lookup *l, TupleTableSlot *entry, Datum *key)
{
	bool		isnull;
	int			i;

	for (i = 0; i < l->factdef->npk; i++)
		key[i] = slot_getattr(entry, l->def->pk_attno[i], &isnull);
}

static void
begin_foreign_fetch(Lookup *l)
{
	RowRequest	request = {.def = l->factdef,.rel = l->fact,.columns = l->rows ? NULL : l->def->used};

	l->gathering = foreign_fetch_begin(&request);
}

static void
begin_reading(Lookup *l)
{
	if (l->reading)
		return;
	live_scan_begin(&l->fact_rows, l->factdef, l->fact, l->snapshot);
	l->reading = true;
}

static uint32
row_id_hash(const void *key, Size size)
{
	const RowId *id = key;

	return hash_bytes((unsigned char *) id->bytes, id->len);
}

static int
row_id_match(const void *a, const void *b, Size size)
{
	const RowId *x = a;
	const RowId *y = b;

	return x->len == y->len ? memcmp(x->bytes, y->bytes, x->len) : 1;
}

/* is_first_of_row: whether no entry of the same fact row came before this one */
bool
is_first_of_row(Lookup *l, TupleTableSlot *entry)
{
	StringInfoData bytes;
	RowId		id;
	bool		found;
	int			i;

	if (l->seen == NULL)
	{
		HASHCTL		ctl;

		ctl.keysize = sizeof(RowId);
		ctl.entrysize = sizeof(RowId);
		ctl.hash = row_id_hash;
		ctl.match = row_id_match;
		ctl.hcxt = CurrentMemoryContext;
		l->seen = hash_create("rows looked up", 256, &ctl,
							  HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT);
	}

	/* All entries of a row hold its primary key with the same bytes. */
	initStringInfo(&bytes);
	for (i = 0; i < l->factdef->npk; i++)
	{
		bool		isnull;
		Datum		value = slot_getattr(entry, l->def->pk_attno[i], &isnull);
		Form_pg_attribute att = TupleDescAttr(l->def->desc, l->def->pk_attno[i] - 1);
		Size		size;

		if (att->attlen == -1)
			value = PointerGetDatum(PG_DETOAST_DATUM(value));
		size = datumGetSize(value, att->attbyval, att->attlen);
		appendBinaryStringInfo(&bytes, (char *) &size, sizeof(size));
		if (att->attbyval)
			appendBinaryStringInfo(&bytes, (char *) &value, sizeof(Datum));
		else
			appendBinaryStringInfo(&bytes, DatumGetPointer(value), size);
	}
	id.bytes = bytes.data;
	id.len = bytes.len;
	hash_search(l->seen, &id, HASH_ENTER, &found);
	if (found)
		pfree(bytes.data);
	return !found;
}

static void
fetch_directly(Lookup *l, Datum *key)
{
	TupleTableSlot *row;

	begin_reading(l);
	for (row = live_scan_first(&l->fact_rows, key); row != NULL; row = live_scan_next(&l->fact_rows))
	{
		if (l->recheck && !matches(l, row))
			continue;
		put_row(l, row);
		if (!l->ambiguous)
			break;
	}
}

/*
 * fetch_pending_rows
 *		The rows from the first on that is on another server: those that are, by one
 *		statement as the caller.  They may have another key by now, as what is
 *		written over there is not seen here.
 */
void
fetch_pending_rows(Lookup *l)
{
	Datum	   *key;
	bool		here;
	List	   *rows;

	foreign_fetch_run(l->gathering);
	while (foreign_fetch_next(l->gathering, &key, &here, &rows))
	{
		CHECK_FOR_INTERRUPTS();
		if (here)
			fetch_here(l, key);
		else
			put_rows(l, rows);
	}
}

/* put_rows: those of one key that came from another server (MinimalTuple), if they have the key looked up */
static void
put_rows(Lookup *l, List *rows)
{
	TupleTableSlot *row = MakeSingleTupleTableSlot(l->factdef->desc, &TTSOpsMinimalTuple);
	ListCell   *cell;

	foreach(cell, rows)
	{
		ExecStoreMinimalTuple(lfirst(cell), row, false);
		if (matches(l, row))
			put_row(l, row);
	}
	ExecDropSingleTupleTableSlot(row);
}

/* matches: whether a version of a row has an entry under the key looked up */
static bool
matches(Lookup *l, TupleTableSlot *row)
{
	FactRow		version;
	Entries		entries;
	int			i;
	int			k;

	factrow_init(&version, l->factdef, row);
	entries_init(&entries, l->def);
	extract_entries(l->def, &version, false, &entries);
	for (i = 0; i < entries.n; i++)
	{
		for (k = 0; k < l->nkeys; k++)
			if (!DatumGetBool(FunctionCall2Coll(&l->keys[k].sk_func, l->keys[k].sk_collation,
												ENTRY_VALUES(&entries, i)[l->def->ident[k] - 1],
												l->keys[k].sk_argument)))
				break;
		if (k == l->nkeys)
			return true;
	}
	return false;
}

/* fetch_secured: as a plain query of the user would, policies and all */
static void
fetch_secured(Lookup *l, Datum *key)
{
	FactDef    *factdef = l->factdef;
	TupleDesc	desc = RelationGetDescr(l->fact);
	uint64		n;
	int			i;

	SPI_connect();
	if (l->plan == NULL)
	{
		Oid		   *types = palloc(sizeof(Oid) * factdef->npk);
		StringInfoData sql;

		initStringInfo(&sql);
		appendStringInfo(&sql, "SELECT f FROM %s%s f WHERE ",
						 factdef->partitioned ? "" : "ONLY ", quoted_relation(factdef->relid));
		for (i = 0; i < factdef->npk; i++)
		{
			Form_pg_attribute att = TupleDescAttr(desc, factdef->pk_attno[i] - 1);
			Oid			type = getBaseType(att->atttypid);
			char	   *column = psprintf("f.%s", quote_identifier(NameStr(att->attname)));

			if (i > 0)
				appendStringInfoString(&sql, " AND ");
			types[i] = type;
			generate_operator_clause(&sql, as_base_type(column, att->atttypid), type,
									 get_equality_operator(type), psprintf("$%d", i + 1), type);
		}
		l->plan = SPI_prepare(sql.data, factdef->npk, types);
		if (l->plan == NULL)
			elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
		SPI_keepplan(l->plan);
	}
	if (SPI_execute_plan(l->plan, key, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read table \"%s\"", factdef->name);
	for (n = 0; n < SPI_processed; n++)
	{
		TupleTableSlot *row = MakeSingleTupleTableSlot(desc, &TTSOpsHeapTuple);
		bool		isnull;

		ExecStoreHeapTupleDatum(SPI_getbinval(SPI_tuptable->vals[n], SPI_tuptable->tupdesc,
											  1, &isnull), row);
		if (!l->recheck || matches(l, row))
			put_row(l, row);
		ExecDropSingleTupleTableSlot(row);
	}
	SPI_finish();
}

/* lookup_expect: an entry whose document will be asked for: those on other servers are fetched together */
void
lookup_expect(Lookup *l, TupleTableSlot *entry)
{
	Datum		key[INDEX_MAX_KEYS];

	key_of_entry(l, entry, key);
	if (!is_on_other_server(l, key))
		return;
	if (l->gathering == NULL)
		begin_foreign_fetch(l);
	foreign_fetch_add(l->gathering, key, false);
}

/* put_fetched_row: the row of an entry that was expected */
static void
put_fetched_row(Lookup *l, Datum *key)
{
	List	   *rows = NIL;

	if (!l->gathered)
		foreign_fetch_run(l->gathering);
	l->gathered = true;
	(void) foreign_fetch_find(l->gathering, key, &rows);
	put_rows(l, rows);
}

/*
 * lookup_document
 *		The document of one entry, in l->cxt; false if there is no row, or none that
 *		the caller may see, or where entries are rechecked none that has this entry.
 *		The entry was expected before: see lookup_expect().
 */
bool
lookup_document(Lookup *l, TupleTableSlot *entry, Datum *document)
{
	Datum		key[INDEX_MAX_KEYS];
	int			i;

	if (l->keys == NULL)
	{
		l->nkeys = l->def->nsearch;
		l->keys = palloc(sizeof(ScanKeyData) * l->nkeys);
		memcpy(l->keys, l->def->search_keys, sizeof(ScanKeyData) * l->nkeys);
	}
	for (i = 0; i < l->nkeys; i++)
	{
		bool		isnull;

		l->keys[i].sk_argument = slot_getattr(entry, l->def->search[i], &isnull);
	}
	l->found = false;
	key_of_entry(l, entry, key);
	if (l->gathering != NULL && is_on_other_server(l, key))
		put_fetched_row(l, key);
	else
		fetch_here(l, key);
	*document = l->document;
	return l->found;
}

void
lookup_end_documents(Lookup *l)
{
	if (l->reading)
		live_scan_end(&l->fact_rows);
	if (l->plan != NULL)
		SPI_freeplan(l->plan);
}

static void
put_row(Lookup *l, TupleTableSlot *row)
{
	/* By values: a stored row may be shorter than the columns are by now. */
	slot_getallattrs(row);
	if (l->rows)
		tuplestore_putvalues(l->store, l->desc, row->tts_values, row->tts_isnull);
	else
	{
		bool		isnull;
		Datum		document = slot_getattr(row, l->factdef->doc_attno[l->def->docno], &isnull);

		if (l->store != NULL)
			tuplestore_putvalues(l->store, l->desc, &document, &isnull);
		else if (!isnull)
		{
			MemoryContext old = MemoryContextSwitchTo(l->cxt);

			l->document = PointerGetDatum(PG_DETOAST_DATUM_COPY(document));
			l->found = true;
			MemoryContextSwitchTo(old);
		}
	}
}
