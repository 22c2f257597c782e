/*-------------------------------------------------------------------------
 *
 * foreign_fetch.c
 *	  Collects many primary keys, and fetches the fact rows of those that are on other
 *	  servers all at once.
 *
 * A look-up, which returns rows in the order of its entries, collects all keys from
 * the first on whose row is on another server.  Rows on this server are left to the
 * caller.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "nodes/pg_list.h"
#include "utils/datum.h"
#include "utils/typcache.h"

#include "../indextable.h"
#include "foreign_fetch.h"
#include "foreign_rows.h"
#include "foreign_scan.h"

/* A key that was asked for. */
typedef struct Wanted
{
	Datum	   *key;
	bool		local;			/* the row is on this server */
	uint32		hash;
	int			next;			/* the next key in the same bucket, or -1 */
	List	   *rows;			/* of MinimalTuple */
} Wanted;

struct ForeignFetch
{
	RowRequest	request;
	MemoryContext cxt;
	TypeCacheEntry **types;		/* of the primary key's columns */
	Wanted	   *wanted;
	int			n;
	int			max;
	int			nforeign;		/* how many of them are on other servers */
	int		   *buckets;		/* a hash table of those */
	uint32		mask;
	int			next;			/* the one that foreign_fetch_next() returns */
};

static void take_row(TupleTableSlot *row, void *arg);
static uint32 hash_key(ForeignFetch *fetch, Datum *key);
static bool same_key(ForeignFetch *fetch, Datum *a, Datum *b);

/* foreign_fetch_begin: prepares to collect keys */
ForeignFetch *
foreign_fetch_begin(RowRequest *request)
{
	ForeignFetch *fetch = palloc0(sizeof(ForeignFetch));
	int			i;

	fetch->request = *request;
	fetch->cxt = CurrentMemoryContext;
	fetch->types = palloc(sizeof(TypeCacheEntry *) * request->def->npk);
	for (i = 0; i < request->def->npk; i++)
		fetch->types[i] = lookup_type_cache(TupleDescAttr(request->def->desc, request->def->pk_attno[i] - 1)->atttypid,
											TYPECACHE_EQ_OPR_FINFO | TYPECACHE_HASH_PROC_FINFO);
	return fetch;
}

/* foreign_fetch_add: adds a key; local says that its row is on this server, and that the caller fetches it */
void
foreign_fetch_add(ForeignFetch *fetch, Datum *key, bool local)
{
	MemoryContext old = MemoryContextSwitchTo(fetch->cxt);
	FactDef    *def = fetch->request.def;
	Wanted	   *wanted;
	int			i;

	if (fetch->n == fetch->max)
	{
		fetch->max = Max(fetch->max * 2, 16);
		fetch->wanted = fetch->wanted == NULL ? palloc(sizeof(Wanted) * fetch->max) :
			repalloc_huge(fetch->wanted, sizeof(Wanted) * fetch->max);
	}
	wanted = &fetch->wanted[fetch->n++];
	wanted->key = palloc(sizeof(Datum) * def->npk);
	for (i = 0; i < def->npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->desc, def->pk_attno[i] - 1);

		wanted->key[i] = att->attlen == -1 ? PointerGetDatum(PG_DETOAST_DATUM_COPY(key[i])) :
			datumCopy(key[i], att->attbyval, att->attlen);
	}
	wanted->local = local;
	wanted->rows = NIL;
	fetch->nforeign += !local;
	MemoryContextSwitchTo(old);
}

/* foreign_fetch_run: fetches the rows that are on other servers */
void
foreign_fetch_run(ForeignFetch *fetch)
{
	MemoryContext old = MemoryContextSwitchTo(fetch->cxt);
	int			npk = fetch->request.def->npk;
	Datum	   *keys = palloc_extended(sizeof(Datum) * npk * fetch->nforeign, MCXT_ALLOC_HUGE);
	int			n = 0;
	int			i;

	for (fetch->mask = 1; fetch->mask < (uint32) fetch->nforeign; fetch->mask *= 2)
		;
	fetch->buckets = palloc_extended(sizeof(int) * fetch->mask, MCXT_ALLOC_HUGE);
	memset(fetch->buckets, -1, sizeof(int) * fetch->mask);
	fetch->mask--;
	for (i = 0; i < fetch->n; i++)
	{
		Wanted	   *wanted = &fetch->wanted[i];

		if (wanted->local)
			continue;
		wanted->hash = hash_key(fetch, wanted->key);
		wanted->next = fetch->buckets[wanted->hash & fetch->mask];
		fetch->buckets[wanted->hash & fetch->mask] = i;
		memcpy(keys + (Size) n++ * npk, wanted->key, sizeof(Datum) * npk);
	}
	fetch_foreign_rows(&fetch->request, keys, n, take_row, fetch);
	MemoryContextSwitchTo(old);
}

/*
 * foreign_fetch_next
 *		Returns the next key and, unless it is local, its rows, a list of MinimalTuple;
 *		returns false if there is no other key.
 */
bool
foreign_fetch_next(ForeignFetch *fetch, Datum **key, bool *local, List **rows)
{
	if (fetch->next == fetch->n)
		return false;
	*key = fetch->wanted[fetch->next].key;
	*local = fetch->wanted[fetch->next].local;
	*rows = fetch->wanted[fetch->next].rows;
	fetch->next++;
	return true;
}

/*
 * foreign_fetch_find
 *		Returns the rows of a key, a list of MinimalTuple; returns false if it was not
 *		asked for.
 */
bool
foreign_fetch_find(ForeignFetch *fetch, Datum *key, List **rows)
{
	uint32		hash = hash_key(fetch, key);
	int			i;

	for (i = fetch->buckets[hash & fetch->mask]; i >= 0; i = fetch->wanted[i].next)
		if (fetch->wanted[i].hash == hash && same_key(fetch, fetch->wanted[i].key, key))
		{
			*rows = fetch->wanted[i].rows;
			return true;
		}
	return false;
}

/* take_row: adds a row that was fetched to each wanted key that is equal to its own */
static void
take_row(TupleTableSlot *row, void *arg)
{
	ForeignFetch *fetch = arg;
	FactDef    *def = fetch->request.def;
	MinimalTuple tuple = NULL;
	Datum		key[INDEX_MAX_KEYS];
	uint32		hash;
	int			i;

	for (i = 0; i < def->npk; i++)
	{
		bool		isnull;

		key[i] = slot_getattr(row, def->pk_attno[i], &isnull);
	}
	hash = hash_key(fetch, key);
	for (i = fetch->buckets[hash & fetch->mask]; i >= 0; i = fetch->wanted[i].next)
	{
		if (fetch->wanted[i].hash != hash || !same_key(fetch, fetch->wanted[i].key, key))
			continue;
		if (tuple == NULL)
			tuple = ExecCopySlotMinimalTuple(row);
		fetch->wanted[i].rows = lappend(fetch->wanted[i].rows, tuple);
	}
}

/*
 * hash_key
 *		Returns a hash of a key, by the hash functions of the types, because equal keys
 *		may differ in their bytes.  A column whose type has none is left out.
 */
static uint32
hash_key(ForeignFetch *fetch, Datum *key)
{
	uint32		hash = 0;
	int			i;

	for (i = 0; i < fetch->request.def->npk; i++)
		if (OidIsValid(fetch->types[i]->hash_proc_finfo.fn_oid))
			hash = hash * 31 +
				DatumGetUInt32(FunctionCall1Coll(&fetch->types[i]->hash_proc_finfo,
												 fetch->request.def->pk_keys[i].sk_collation, key[i]));
	return hash;
}

/* same_key: returns whether two keys are equal */
static bool
same_key(ForeignFetch *fetch, Datum *a, Datum *b)
{
	int			i;

	for (i = 0; i < fetch->request.def->npk; i++)
		if (!DatumGetBool(FunctionCall2Coll(&fetch->types[i]->eq_opr_finfo,
											fetch->request.def->pk_keys[i].sk_collation, a[i], b[i])))
			return false;
	return true;
}
