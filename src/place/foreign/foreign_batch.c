/*-------------------------------------------------------------------------
 *
 * foreign_batch.c
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

#include "../../indextable.h"
#include "foreign_rows.h"

/* A key that was asked for. */
typedef struct Wanted
{
	Datum	   *key;
	Oid			partition;		/* that has the row; InvalidOid: it is on this
								 * server */
	uint32		hash;
	int			next;			/* the next key in the same bucket, or -1 */
	List	   *rows;			/* of MinimalTuple */
} Wanted;

struct ForeignBatch
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
	int			next;			/* the one that foreign_batch_next() returns */
};

static void take_row(TupleTableSlot *row, void *arg);
static uint32 hash_key(ForeignBatch *batch, Datum *key);
static bool same_key(ForeignBatch *batch, Datum *a, Datum *b);

/* foreign_batch_begin: prepares to collect keys */
ForeignBatch *
foreign_batch_begin(RowRequest *request)
{
	ForeignBatch *batch = palloc0(sizeof(ForeignBatch));
	int			i;

	batch->request = *request;
	batch->cxt = CurrentMemoryContext;
	batch->types = palloc(sizeof(TypeCacheEntry *) * request->def->npk);
	for (i = 0; i < request->def->npk; i++)
		batch->types[i] = lookup_type_cache(TupleDescAttr(request->def->desc, request->def->pk_attno[i] - 1)->atttypid,
											TYPECACHE_EQ_OPR_FINFO | TYPECACHE_HASH_PROC_FINFO);
	return batch;
}

/*
 * foreign_batch_add
 *		Adds a key, and the partition that has its row; InvalidOid: the row is on this
 *		server, and the caller fetches it.
 */
void
foreign_batch_add(ForeignBatch *batch, Datum *key, Oid partition)
{
	MemoryContext old = MemoryContextSwitchTo(batch->cxt);
	FactDef    *def = batch->request.def;
	Wanted	   *wanted;
	int			i;

	if (batch->n == batch->max)
	{
		batch->max = Max(batch->max * 2, 16);
		batch->wanted = batch->wanted == NULL ? palloc(sizeof(Wanted) * batch->max) :
			repalloc_huge(batch->wanted, sizeof(Wanted) * batch->max);
	}
	wanted = &batch->wanted[batch->n++];
	wanted->key = palloc(sizeof(Datum) * def->npk);
	for (i = 0; i < def->npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->desc, def->pk_attno[i] - 1);

		wanted->key[i] = att->attlen == -1 ? PointerGetDatum(PG_DETOAST_DATUM_COPY(key[i])) :
			datumCopy(key[i], att->attbyval, att->attlen);
	}
	wanted->partition = partition;
	wanted->rows = NIL;
	batch->nforeign += OidIsValid(partition);
	MemoryContextSwitchTo(old);
}

/* foreign_batch_run: fetches the rows that are on other servers */
void
foreign_batch_run(ForeignBatch *batch)
{
	MemoryContext old = MemoryContextSwitchTo(batch->cxt);
	int			npk = batch->request.def->npk;
	Datum	   *keys = palloc_extended(sizeof(Datum) * npk * batch->nforeign, MCXT_ALLOC_HUGE);
	Oid		   *partitions = palloc_extended(sizeof(Oid) * batch->nforeign, MCXT_ALLOC_HUGE);
	int			n = 0;
	int			i;

	for (batch->mask = 1; batch->mask < (uint32) batch->nforeign; batch->mask *= 2)
		;
	batch->buckets = palloc_extended(sizeof(int) * batch->mask, MCXT_ALLOC_HUGE);
	memset(batch->buckets, -1, sizeof(int) * batch->mask);
	batch->mask--;
	for (i = 0; i < batch->n; i++)
	{
		Wanted	   *wanted = &batch->wanted[i];

		if (!OidIsValid(wanted->partition))
			continue;
		wanted->hash = hash_key(batch, wanted->key);
		wanted->next = batch->buckets[wanted->hash & batch->mask];
		batch->buckets[wanted->hash & batch->mask] = i;
		partitions[n] = wanted->partition;
		memcpy(keys + (Size) n++ * npk, wanted->key, sizeof(Datum) * npk);
	}
	foreign_by_key_fetch(&batch->request, partitions, keys, n, take_row, batch);
	MemoryContextSwitchTo(old);
}

/*
 * foreign_batch_next
 *		Returns the next key and, unless it is local, its rows, a list of MinimalTuple;
 *		returns false if there is no other key.
 */
bool
foreign_batch_next(ForeignBatch *batch, Datum **key, bool *local, List **rows)
{
	if (batch->next == batch->n)
		return false;
	*key = batch->wanted[batch->next].key;
	*local = !OidIsValid(batch->wanted[batch->next].partition);
	*rows = batch->wanted[batch->next].rows;
	batch->next++;
	return true;
}

/*
 * foreign_batch_find
 *		Returns the rows of a key, a list of MinimalTuple; returns false if it was not
 *		asked for.
 */
bool
foreign_batch_find(ForeignBatch *batch, Datum *key, List **rows)
{
	uint32		hash = hash_key(batch, key);
	int			i;

	for (i = batch->buckets[hash & batch->mask]; i >= 0; i = batch->wanted[i].next)
		if (batch->wanted[i].hash == hash && same_key(batch, batch->wanted[i].key, key))
		{
			*rows = batch->wanted[i].rows;
			return true;
		}
	return false;
}

/* take_row: adds a row that was fetched to each wanted key that is equal to its own */
static void
take_row(TupleTableSlot *row, void *arg)
{
	ForeignBatch *batch = arg;
	FactDef    *def = batch->request.def;
	MinimalTuple tuple = NULL;
	Datum		key[INDEX_MAX_KEYS];
	uint32		hash;
	int			i;

	for (i = 0; i < def->npk; i++)
	{
		bool		isnull;

		key[i] = slot_getattr(row, def->pk_attno[i], &isnull);
	}
	hash = hash_key(batch, key);
	for (i = batch->buckets[hash & batch->mask]; i >= 0; i = batch->wanted[i].next)
	{
		if (batch->wanted[i].hash != hash || !same_key(batch, batch->wanted[i].key, key))
			continue;
		if (tuple == NULL)
			tuple = ExecCopySlotMinimalTuple(row);
		batch->wanted[i].rows = lappend(batch->wanted[i].rows, tuple);
	}
}

/*
 * hash_key
 *		Returns a hash of a key, by the hash functions of the types, because equal keys
 *		may differ in their bytes.  A column whose type has none is left out.
 */
static uint32
hash_key(ForeignBatch *batch, Datum *key)
{
	uint32		hash = 0;
	int			i;

	for (i = 0; i < batch->request.def->npk; i++)
		if (OidIsValid(batch->types[i]->hash_proc_finfo.fn_oid))
			hash = hash * 31 +
				DatumGetUInt32(FunctionCall1Coll(&batch->types[i]->hash_proc_finfo,
												 batch->request.def->pk_keys[i].sk_collation, key[i]));
	return hash;
}

/* same_key: returns whether two keys are equal */
static bool
same_key(ForeignBatch *batch, Datum *a, Datum *b)
{
	int			i;

	for (i = 0; i < batch->request.def->npk; i++)
		if (!DatumGetBool(FunctionCall2Coll(&batch->types[i]->eq_opr_finfo,
											batch->request.def->pk_keys[i].sk_collation, a[i], b[i])))
			return false;
	return true;
}
