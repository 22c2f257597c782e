/*-------------------------------------------------------------------------
 *
 * foreign_fetch.c
 *	  The fact rows of many primary keys, in the order of the keys, those on other
 *	  servers asked for all at once.
 *
 * Called by lookup.c, from the first key on whose row is on another server, and by
 * liverow.c for keys that are known beforehand.
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

typedef struct Wanted
{
	Datum	   *key;
	bool		here;			/* the caller finds it by himself */
	uint32		hash;
	int			next;			/* in the same bucket, or -1 */
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
	int			away;			/* of which so many are not here */
	int		   *buckets;
	uint32		mask;
	int			at;				/* foreign_fetch_next() goes on here */
};

static void take_row(TupleTableSlot *row, void *arg);
static uint32 hash_key(ForeignFetch *g, Datum *key);
static bool same_key(ForeignFetch *g, Datum *a, Datum *b);

ForeignFetch *
foreign_fetch_begin(RowRequest *request)
{
	ForeignFetch *g = palloc0(sizeof(ForeignFetch));
	int			i;

	g->request = *request;
	g->cxt = CurrentMemoryContext;
	g->types = palloc(sizeof(TypeCacheEntry *) * request->def->npk);
	for (i = 0; i < request->def->npk; i++)
		g->types[i] = lookup_type_cache(TupleDescAttr(request->def->desc, request->def->pk_attno[i] - 1)->atttypid,
										TYPECACHE_EQ_OPR_FINFO | TYPECACHE_HASH_PROC_FINFO);
	return g;
}

/* foreign_fetch_add: the next key; here: the caller finds the row by himself */
void
foreign_fetch_add(ForeignFetch *g, Datum *key, bool here)
{
	MemoryContext old = MemoryContextSwitchTo(g->cxt);
	FactDef    *def = g->request.def;
	Wanted	   *wanted;
	int			i;

	if (g->n == g->max)
	{
		g->max = Max(g->max * 2, 16);
		g->wanted = g->wanted == NULL ? palloc(sizeof(Wanted) * g->max) :
			repalloc_huge(g->wanted, sizeof(Wanted) * g->max);
	}
	wanted = &g->wanted[g->n++];
	wanted->key = palloc(sizeof(Datum) * def->npk);
	for (i = 0; i < def->npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->desc, def->pk_attno[i] - 1);

		wanted->key[i] = att->attlen == -1 ? PointerGetDatum(PG_DETOAST_DATUM_COPY(key[i])) :
			datumCopy(key[i], att->attbyval, att->attlen);
	}
	wanted->here = here;
	wanted->rows = NIL;
	g->away += !here;
	MemoryContextSwitchTo(old);
}

/* foreign_fetch_run: the rows that are not here */
void
foreign_fetch_run(ForeignFetch *g)
{
	MemoryContext old = MemoryContextSwitchTo(g->cxt);
	int			npk = g->request.def->npk;
	Datum	   *keys = palloc_extended(sizeof(Datum) * npk * g->away, MCXT_ALLOC_HUGE);
	int			n = 0;
	int			i;

	for (g->mask = 1; g->mask < (uint32) g->away; g->mask *= 2)
		;
	g->buckets = palloc_extended(sizeof(int) * g->mask, MCXT_ALLOC_HUGE);
	memset(g->buckets, -1, sizeof(int) * g->mask);
	g->mask--;
	for (i = 0; i < g->n; i++)
	{
		Wanted	   *wanted = &g->wanted[i];

		if (wanted->here)
			continue;
		wanted->hash = hash_key(g, wanted->key);
		wanted->next = g->buckets[wanted->hash & g->mask];
		g->buckets[wanted->hash & g->mask] = i;
		memcpy(keys + (Size) n++ * npk, wanted->key, sizeof(Datum) * npk);
	}
	fetch_foreign_rows(&g->request, keys, n, take_row, g);
	MemoryContextSwitchTo(old);
}

static void
take_row(TupleTableSlot *row, void *arg)
{
	ForeignFetch *g = arg;
	FactDef    *def = g->request.def;
	MinimalTuple tuple = NULL;
	Datum		key[INDEX_MAX_KEYS];
	uint32		hash;
	int			i;

	for (i = 0; i < def->npk; i++)
	{
		bool		isnull;

		key[i] = slot_getattr(row, def->pk_attno[i], &isnull);
	}
	hash = hash_key(g, key);
	for (i = g->buckets[hash & g->mask]; i >= 0; i = g->wanted[i].next)
	{
		if (g->wanted[i].hash != hash || !same_key(g, g->wanted[i].key, key))
			continue;
		if (tuple == NULL)
			tuple = ExecCopySlotMinimalTuple(row);
		g->wanted[i].rows = lappend(g->wanted[i].rows, tuple);
	}
}

/* foreign_fetch_next: the next key, and its rows (of MinimalTuple) unless it is here; false at the end */
bool
foreign_fetch_next(ForeignFetch *g, Datum **key, bool *here, List **rows)
{
	if (g->at == g->n)
		return false;
	*key = g->wanted[g->at].key;
	*here = g->wanted[g->at].here;
	*rows = g->wanted[g->at].rows;
	g->at++;
	return true;
}

/* foreign_fetch_find: the rows of a key (of MinimalTuple); false if it is none of those that were fetched */
bool
foreign_fetch_find(ForeignFetch *g, Datum *key, List **rows)
{
	uint32		hash = hash_key(g, key);
	int			i;

	for (i = g->buckets[hash & g->mask]; i >= 0; i = g->wanted[i].next)
		if (g->wanted[i].hash == hash && same_key(g, g->wanted[i].key, key))
		{
			*rows = g->wanted[i].rows;
			return true;
		}
	return false;
}

/* hash_key: equal keys may differ in their bytes; a type without a hash function does without */
static uint32
hash_key(ForeignFetch *g, Datum *key)
{
	uint32		hash = 0;
	int			i;

	for (i = 0; i < g->request.def->npk; i++)
		if (OidIsValid(g->types[i]->hash_proc_finfo.fn_oid))
			hash = hash * 31 +
				DatumGetUInt32(FunctionCall1Coll(&g->types[i]->hash_proc_finfo,
												 g->request.def->pk_keys[i].sk_collation, key[i]));
	return hash;
}

static bool
same_key(ForeignFetch *g, Datum *a, Datum *b)
{
	int			i;

	for (i = 0; i < g->request.def->npk; i++)
		if (!DatumGetBool(FunctionCall2Coll(&g->types[i]->eq_opr_finfo,
											g->request.def->pk_keys[i].sk_collation, a[i], b[i])))
			return false;
	return true;
}
