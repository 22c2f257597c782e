/*-------------------------------------------------------------------------
 *
 * lookup.c
 *	  indextable.lookup(): from a key to fact documents or fact rows.
 *
 * Called by users.  Scans the index table's primary key, and probes the fact
 * table's primary key for each entry, with the query's own snapshot; no plan is
 * made.  Only where row security applies to the fact table, or rows are on other
 * servers, does the executor fetch them.  query.c uses what checks access and
 * fetches documents.
 *
 * Partitions are those that a query of the fact table would read.  For the moment in
 * which one that was attached is visible, but not yet known to all, both leave its
 * rows out.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "indextable.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(indextable_lookup_documents);
PG_FUNCTION_INFO_V1(indextable_lookup_rows);

pg_noreturn static void row_type_error(Oid type, const char *fact);
static void lookup(FunctionCallInfo fcinfo, int arg, bool rows);
static bool wait_until_fresh(Oid index_table, int64 max_lag, int64 timeout);
static void scan_entries(Lookup *l);
static bool first_time(Lookup *l, TupleTableSlot *entry);
static void fetch(Lookup *l, TupleTableSlot *entry);
static bool is_away(Lookup *l, Datum *key);
static void begin_reading(Lookup *l);
static void begin_gathering(Lookup *l);
static void key_of_entry(Lookup *l, TupleTableSlot *entry, Datum *key);
static void fetch_here(Lookup *l, Datum *key);
static void put_rows(Lookup *l, List *rows);
static void fetch_directly(Lookup *l, Datum *key);
static void fetch_secured(Lookup *l, Datum *key);
static void fetch_gathered(Lookup *l);
static bool matches(Lookup *l, TupleTableSlot *row);
static void put_row(Lookup *l, TupleTableSlot *row);

Datum
indextable_lookup_documents(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	else
		lookup(fcinfo, 0, false);
	return (Datum) 0;
}

Datum
indextable_lookup_rows(PG_FUNCTION_ARGS)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, 0);
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	/* A record in a SELECT list has no columns, and is of no fact table. */
	if (!type_is_rowtype(type) ||
		(type == RECORDOID && rsinfo != NULL && IsA(rsinfo, ReturnSetInfo) && rsinfo->expectedDesc == NULL))
		row_type_error(type, NULL);
	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
	{
		InitMaterializedSRF(fcinfo, 0);
		return (Datum) 0;
	}
	lookup(fcinfo, 1, true);
	return (Datum) 0;
}

static void
row_type_error(Oid type, const char *fact)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("row_type must be the type of the fact table's rows"),
			 errdetail("It is of type %s.", format_type_be(type)),
			 fact != NULL ? errhint("Use NULL::%s.", fact) :
			 errhint("Use NULL::fact_table.")));
}

/* lookup: the arguments from arg on are index_table, key, max_lag and timeout */
static void
lookup(FunctionCallInfo fcinfo, int arg, bool rows)
{
	Oid			index_table = PG_GETARG_OID(arg);
	Jsonb	   *key = PG_GETARG_JSONB_P(arg + 1);
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Lookup		l = {0};
	ScanKeyData keys[INDEX_MAX_KEYS];

	InitMaterializedSRF(fcinfo, rows ? 0 : MAT_SRF_USE_EXPECTED_DESC);
	l.store = rsinfo->setResult;
	l.desc = rsinfo->setDesc;
	l.rows = rows;
	lookup_open(&l, index_table, interval_arg(fcinfo, arg + 2, "max_lag"),
				interval_arg(fcinfo, arg + 3, "timeout"));
	PG_TRY();
	{
		lookup_check_access(&l);
		if (rows && get_fn_expr_argtype(fcinfo->flinfo, 0) != l.fact->rd_rel->reltype)
			row_type_error(get_fn_expr_argtype(fcinfo->flinfo, 0),
						   quoted_relation(l.factdef->relid));
		l.keys = keys;
		l.nkeys = lookup_key(l.def, key, keys);
		if (l.nkeys > 0)
			scan_entries(&l);
	}
	PG_FINALLY();
	{
		definition_unpin(l.factdef);
	}
	PG_END_TRY();
	lookup_close(&l);
}

/*
 * lookup_open
 *		Opens both tables, and pins the definition: the caller unpins it, also if
 *		there is an error, and calls lookup_close().  Times are in microseconds, -1
 *		is none.
 */
void
lookup_open(Lookup *l, Oid index_table, int64 max_lag, int64 timeout)
{
	if (wait_until_fresh(index_table, max_lag, timeout))
		l->latest = RegisterSnapshot(GetLatestSnapshot());
	l->snapshot = l->latest != NULL ? l->latest : GetActiveSnapshot();
	l->def = definition_open(index_table, &l->factdef, &l->fact, &l->index_table);
	if (l->def == NULL)
		not_an_index_table(index_table);
}

void
lookup_close(Lookup *l)
{
	if (l->latest != NULL)
		UnregisterSnapshot(l->latest);
	table_close(l->index_table, NoLock);
	table_close(l->fact, NoLock);
}

static void
scan_entries(Lookup *l)
{
	int			nkeys = l->nkeys;
	EntryScan	scan;
	TupleTableSlot *entry;

	entry_scan_begin(&scan, l->def, l->index_table, l->snapshot, false, nkeys);
	scan.counted = true;
	entry_scan_start(&scan, l->keys);
	while ((entry = entry_scan_next(&scan)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		/* The elements of an array bring a row in several times. */
		if (((l->def->multi && nkeys <= l->def->multi_field) ||
			 (l->ambiguous && !l->copies)) && !first_time(l, entry))
			continue;
		fetch(l, entry);
	}
	entry_scan_end(&scan);
	if (l->gathering != NULL)
		fetch_gathered(l);
	lookup_end_documents(l);
}

/*
 * lookup_check_access
 *		Whether the caller may read what is asked for, and what is there can be
 *		trusted; and how documents are fetched.
 */
void
lookup_check_access(Lookup *l)
{
	IndexDef   *def = l->def;
	AclResult	result;

	result = pg_class_aclcheck(def->relid, GetUserId(), ACL_SELECT);
	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_TABLE, def->name);

	if (check_enable_rls(def->relid, InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("row security of index table \"%s\" is not supported", def->name),
				 errhint("Enable row security on the fact table instead. Look-ups respect it.")));
	l->secured = !l->entries_only &&
		check_enable_rls(l->factdef->relid, InvalidOid, false) == RLS_ENABLED;
	l->copies = def->doc_attno != 0 && !l->rows && !l->secured;
	if (!l->copies && !l->entries_only)
	{
		result = pg_class_aclcheck(l->factdef->relid, GetUserId(), ACL_SELECT);
		if (result != ACLCHECK_OK)
			aclcheck_error(result, OBJECT_TABLE, l->factdef->name);
	}

	if (!def->active)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index table \"%s\" is not active", def->name),
				 errhint("The view indextable.index_tables shows its state.")));

	/*
	 * A snapshot that is kept may still see a row that somebody has deleted,
	 * beside the one that we have inserted in its place.
	 */
	l->ambiguous = IsolationUsesXactSnapshot() || l->factdef->pk_deferrable;

	/* An entry may be of a version of its row that is gone. */
	l->recheck = l->ambiguous || def->async;

	/*
	 * The entries of an index table that is younger than our snapshot are not
	 * those of the fact rows that the snapshot sees.  A statement that has waited
	 * for it may use a newer one, unless its transaction keeps to one.
	 */
	if (TransactionIdIsNormal(def->xmin))
	{
		if (!IsolationUsesXactSnapshot())
		{
			if (!TransactionIdIsCurrentTransactionId(def->xmin) && l->latest == NULL &&
				XidInMVCCSnapshot(def->xmin, l->snapshot))
				l->snapshot = l->latest = RegisterSnapshot(GetLatestSnapshot());
		}
		else if (TransactionIdIsCurrentTransactionId(def->xmin) ||
				 XidInMVCCSnapshot(def->xmin, l->snapshot))
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("index table \"%s\" is newer than the snapshot of this transaction",
							def->name),
					 errhint("Look it up in a new transaction.")));
		if (TransactionIdPrecedes(def->xmin, l->snapshot->xmin))
			def->xmin = FrozenTransactionId;
	}
}

/*
 * wait_until_fresh
 *		Where the caller says how far an asynchronous index table may be behind,
 *		waits until it is not further, or raises an error.  What is applied
 *		meanwhile is seen by a newer snapshot than the query's: true.
 */
static bool
wait_until_fresh(Oid index_table, int64 max_lag, int64 timeout)
{
	FactTableRow queue;

	if (max_lag < 0 && timeout < 0)
		return false;
	if (!queue_of_index_table(index_table, &queue))
		return false;
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("max_lag is not supported in a REPEATABLE READ or SERIALIZABLE transaction"),
				 errhint("Use the isolation level READ COMMITTED.")));
	if (!wait_for_queue(&queue, Max(max_lag, 0), Max(timeout, 0)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("lag of index table \"%s\" exceeds max_lag",
						get_rel_name(index_table)),
				 errhint("Try again, use a longer timeout, or look for the cause in the view indextable.queues.")));
	return true;
}

/* key_columns: their names, for hints */
char *
key_columns(IndexDef *def)
{
	StringInfoData list;
	int			i;

	initStringInfo(&list);
	for (i = 0; i < def->nkeys; i++)
		appendStringInfo(&list, "%s\"%s\"", i > 0 ? ", " : "",
						 NameStr(TupleDescAttr(def->desc, def->fields[i].attno - 1)->attname));
	return list.data;
}

/*
 * lookup_key
 *		Turns {"column": value, ...} into search keys; 0 if a value is null, so
 *		that nothing can match.
 */
int
lookup_key(IndexDef *def, Jsonb *key, ScanKey keys)
{
	JsonbIterator *it;
	JsonbIteratorToken token;
	JsonbValue	value;
	bool		given[INDEX_MAX_KEYS] = {0};
	bool		null = false;
	int			n = 0;
	int			i = 0;

	if (!JsonContainerIsObject(&key->root) || JsonContainerSize(&key->root) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("key must be an object with at least one column"),
				 errhint("For example: '{\"%s\": ...}'.",
						 NameStr(TupleDescAttr(def->desc, def->ident[0] - 1)->attname))));

	memcpy(keys, def->search_keys, sizeof(ScanKeyData) * def->nkeys);
	it = JsonbIteratorInit(&key->root);
	while ((token = JsonbIteratorNext(&it, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
		{
			char	   *name = pnstrdup(value.val.string.val, value.val.string.len);

			for (i = 0; i < def->nkeys; i++)
				if (strcmp(name, NameStr(TupleDescAttr(def->desc,
													   def->fields[i].attno - 1)->attname)) == 0)
					break;
			if (i == def->nkeys)
				ereport(ERROR,
						(errcode(ERRCODE_UNDEFINED_COLUMN),
						 errmsg("\"%s\" is not a key column of index table \"%s\"", name, def->name),
						 errhint("The key columns are %s.", key_columns(def))));
			given[i] = true;
			n++;
		}
		else if (token == WJB_VALUE && !key_value_cast(def, i, &value, &keys[i].sk_argument))
			null = true;
	}
	for (i = 0; i < n; i++)
		if (!given[i])
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("key must have the leading key columns of index table \"%s\"", def->name),
					 errdetail("Column \"%s\" is missing.",
							   NameStr(TupleDescAttr(def->desc, def->fields[i].attno - 1)->attname)),
					 errhint("The key columns are %s.", key_columns(def))));
	return null ? 0 : n;
}


static void
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
	if (l->gathering == NULL && is_away(l, key))
		begin_gathering(l);
	if (l->gathering != NULL)
		gather_add(l->gathering, key, !is_away(l, key));
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

/* is_away: whether a row is on another server */
static bool
is_away(Lookup *l, Datum *key)
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
begin_gathering(Lookup *l)
{
	RowRequest	request = {.def = l->factdef,.rel = l->fact,.columns = l->rows ? NULL : l->def->used};

	l->gathering = gather_begin(&request);
}

static void
begin_reading(Lookup *l)
{
	if (l->reading)
		return;
	live_scan_begin(&l->fact_rows, l->factdef, l->fact, l->snapshot);
	l->reading = true;
}

typedef struct RowId
{
	char	   *bytes;
	int			len;
} RowId;

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

/* first_time: whether no entry of the same fact row came before this one */
static bool
first_time(Lookup *l, TupleTableSlot *entry)
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
 * fetch_gathered
 *		The rows from the first on that is on another server: those that are, by one
 *		statement as the caller.  They may have another key by now, as what is
 *		written over there is not seen here.
 */
static void
fetch_gathered(Lookup *l)
{
	Datum	   *key;
	bool		here;
	List	   *rows;

	gather_fetch(l->gathering);
	while (gather_next(l->gathering, &key, &here, &rows))
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
	if (!is_away(l, key))
		return;
	if (l->gathering == NULL)
		begin_gathering(l);
	gather_add(l->gathering, key, false);
}

/* put_gathered: the row of an entry that was expected */
static void
put_gathered(Lookup *l, Datum *key)
{
	List	   *rows = NIL;

	if (!l->gathered)
		gather_fetch(l->gathering);
	l->gathered = true;
	(void) gather_find(l->gathering, key, &rows);
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
	if (l->gathering != NULL && is_away(l, key))
		put_gathered(l, key);
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
