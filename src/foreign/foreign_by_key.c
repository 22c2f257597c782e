/*-------------------------------------------------------------------------
 *
 * foreign_by_key.c
 *	  Fetches rows of other servers by their primary keys, with as few statements as
 *	  possible.
 *
 * That is mostly done with plans that are kept: see foreign_plan.c.  Where row security
 * applies, or the keys do not fit such a plan, they are parameters of statements that are
 * planned once, with these values: so they are constants to the planner, which leaves
 * out all other partitions, and to the other server.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "../catalog/catalog.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/as_owner.h"
#include "../util/memory.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "foreign.h"

/* How many keys one statement asks for, if each needs a condition of its own. */
#define MAX_CONDITIONS		200

/* A key, and the partition that it belongs to. */
typedef struct PlacedKey
{
	Oid			relid;
	int			at;
} PlacedKey;

static PartitionKeys *by_partition(FactDef *def, Oid *partitions, Datum *keys, int n, int *nparts);
static int	compare_partitions(const void *a, const void *b);
static void fetch_planned(RowRequest *request, Oid role, Datum *keys, int n,
						  void (*each) (TupleTableSlot *row, void *arg), void *arg);
static void fetch_some(RowRequest *request, Oid role, Datum *keys, int n, bool as_list,
					   void (*each) (TupleTableSlot *row, void *arg), void *arg);
static int	differing_columns(FactDef *def, Datum *keys, int n, bool *differs);

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

/*
 * foreign_by_key_fetch
 *		Calls each() with every row that has one of n primary keys, and maybe with others,
 *		in no order.
 *
 * The request is for the fact table; partitions has the partition that each key belongs to,
 * which the caller has locked unless row security applies.  keys has the values of all
 * columns of the first key, then those of the second, and so on.  A row is valid for the
 * call only.  One statement asks all partitions concerned and no others, at the same time
 * if their foreign-data wrapper supports it.
 */
void
foreign_by_key_fetch(RowRequest *request, Oid *partitions, Datum *keys, int n,
					 void (*each) (TupleTableSlot *row, void *arg), void *arg)
{
	PartitionKeys *parts;
	int			nparts;
	int			to;

	/*
	 * The shards of a distributed table are not partitions: Citus plans for
	 * them.
	 */
	if (request->secured || request->def->place->in_parts)
	{
		fetch_planned(request, InvalidOid, keys, n, each, arg);
		return;
	}
	parts = by_partition(request->def, partitions, keys, n, &nparts);
	for (int from = 0; from < nparts; from = to)
	{
		Oid			role = request->as_owner ? reading_role(request->def->relid, parts[from].relid) : InvalidOid;

		for (to = from + 1; to < nparts && (!request->as_owner || table_owner(parts[to].relid) == role); to++)
			;
		if (foreign_plan_fits(request->def, parts + from, to - from))
		{
			AS_OWNER(role);
			{
				foreign_plan_fetch(request->def, request->columns, parts + from, to - from, each, arg);
			}
			END_AS_OWNER();
			continue;
		}
		for (int i = from; i < to; i++)
		{
			RowRequest	one = *request;

			if (request->as_owner)
				one.relid = parts[i].relid;
			fetch_planned(&one, role, parts[i].keys, parts[i].n, each, arg);
		}
	}
}

/*
 * by_partition
 *		Returns the keys of each partition, the partitions sorted, and sets *nparts to their
 *		number.
 */
static PartitionKeys *
by_partition(FactDef *def, Oid *partitions, Datum *keys, int n, int *nparts)
{
	PlacedKey  *placed = palloc_extended(sizeof(PlacedKey) * n, MCXT_ALLOC_HUGE);
	Datum	   *sorted = palloc_extended(sizeof(Datum) * def->layout.npk * n, MCXT_ALLOC_HUGE);
	PartitionKeys *parts = palloc_extended(sizeof(PartitionKeys) * n, MCXT_ALLOC_HUGE);

	for (int i = 0; i < n; i++)
	{
		placed[i].relid = partitions[i];
		placed[i].at = i;
	}
	qsort(placed, n, sizeof(PlacedKey), compare_partitions);
	*nparts = 0;
	for (int i = 0; i < n; i++)
	{
		memcpy(sorted + (Size) i * def->layout.npk, keys + (Size) placed[i].at * def->layout.npk,
			   sizeof(Datum) * def->layout.npk);
		if (i == 0 || placed[i].relid != placed[i - 1].relid)
		{
			parts[*nparts].relid = placed[i].relid;
			parts[*nparts].keys = sorted + (Size) i * def->layout.npk;
			parts[(*nparts)++].n = 0;
		}
		parts[*nparts - 1].n++;
	}
	pfree(placed);
	return parts;
}

static int
compare_partitions(const void *a, const void *b)
{
	const PlacedKey *x = a;
	const PlacedKey *y = b;

	return x->relid != y->relid ? (x->relid < y->relid ? -1 : 1) : x->at - y->at;
}

/*
 * fetch_planned
 *		Fetches rows with statements that are planned for these keys, as a role, or as the
 *		current user.
 */
static void
fetch_planned(RowRequest *request, Oid role, Datum *keys, int n,
			  void (*each) (TupleTableSlot *row, void *arg), void *arg)
{
	FactDef    *def = request->def;
	bool		differs[INDEX_MAX_KEYS];
	bool		as_list;
	int			step = n;

	/*
	 * If at most one column differs between the keys, the condition is column
	 * = ANY (values); else it is (a = 1 AND b = 2) OR (...) ...
	 */
	as_list = differing_columns(def, keys, n, differs) <= 1;
	for (int k = 0; k < def->layout.npk; k++)
		as_list &= !differs[k] ||
			OidIsValid(get_array_type(key_type(def, k)));
	if (!as_list)
		step = MAX_CONDITIONS;
	for (int i = 0; i < n; i += step)
		fetch_some(request, role, keys + (Size) i * def->layout.npk, Min(step, n - i), as_list, each, arg);
}

/*
 * fetch_some
 *		Fetches the rows of some keys with one statement; as_list says that its condition
 *		has the form column = ANY (values).
 */
static void
fetch_some(RowRequest *request, Oid role, Datum *keys, int n, bool as_list,
		   void (*each) (TupleTableSlot *row, void *arg), void *arg)
{
	FactDef    *def = request->def;
	MemoryContext outer = CurrentMemoryContext;
	MemoryContext cxt = AllocSetContextCreate(outer, "indextable rows by key", ALLOCSET_DEFAULT_SIZES);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(def->layout.desc, &TTSOpsVirtual);
	Oid		   *types = palloc(sizeof(Oid) * n * def->layout.npk);
	Datum	   *values = palloc(sizeof(Datum) * n * def->layout.npk);
	bool		differs[INDEX_MAX_KEYS];
	int			nargs = 0;
	AttrNumber *columns;
	int			ncolumns;
	StringInfoData sql;
	Rows		rows;

	initStringInfo(&sql);
	appendStringInfo(&sql, "%s WHERE ", select_rows(request, &columns, &ncolumns));
	(void) differing_columns(def, keys, n, differs);
	for (int i = 0; i < (as_list ? 1 : n); i++)
	{
		appendStringInfoString(&sql, i > 0 ? " OR (" : "(");
		for (int k = 0; k < def->layout.npk; k++)
		{
			Form_pg_attribute att = TupleDescAttr(def->layout.desc, def->layout.pk_attno[k] - 1);
			bool		list = as_list && differs[k];

			appendStringInfo(&sql, "%s%s", k > 0 ? " AND " : "",
							 equality_sql(psprintf("f.%s", quote_identifier(NameStr(att->attname))),
										  psprintf("$%d", nargs + 1), att->atttypid, list));
			types[nargs] = list ? get_array_type(att->atttypid) : att->atttypid;
			if (list)
			{
				Datum	   *elements = palloc(sizeof(Datum) * n);

				for (int e = 0; e < n; e++)
					elements[e] = keys[(Size) e * def->layout.npk + k];
				values[nargs++] = PointerGetDatum(construct_array(elements, n, att->atttypid, att->attlen,
																  att->attbyval, att->attalign));
			}
			else
				values[nargs++] = keys[(Size) i * def->layout.npk + k];
		}
		appendStringInfoChar(&sql, ')');
	}

	AS_OWNER(role);
	{
		int			nestlevel = NewGUCNestLevel();

		if (!request->secured)
			set_config_option("row_security", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
		MemoryContextSwitchTo(cxt);
		rows = query_as_caller(request->relid, sql.data, nargs, types, values);
		MemoryContextSwitchTo(outer);
		for (uint64 row = 0; row < rows.n; row++)
		{
			store_row(def, rows.tuples[row], rows.desc, columns, slot);
			each(slot, arg);
		}
		ExecDropSingleTupleTableSlot(slot);
		AtEOXact_GUC(false, nestlevel);
	}
	END_AS_OWNER();
	MemoryContextDelete(cxt);
}

/*
 * differing_columns
 *		Returns how many columns of the primary key differ between the keys, and sets
 *		differs to which of them.
 */
static int
differing_columns(FactDef *def, Datum *keys, int n, bool *differs)
{
	int			count = 0;

	for (int k = 0; k < def->layout.npk; k++)
	{
		Form_pg_attribute att = TupleDescAttr(def->layout.desc, def->layout.pk_attno[k] - 1);

		differs[k] = false;
		for (int i = 1; i < n && !differs[k]; i++)
			differs[k] = !datum_image_eq(keys[k], keys[(Size) i * def->layout.npk + k], att->attbyval,
										 att->attlen);
		count += differs[k];
	}
	return count;
}

/*
 * What follows collects many primary keys, and fetches the fact rows of those that are on
 * other servers all at once.
 *
 * A look-up, which returns rows in the order of its entries, collects all keys from
 * the first on whose row is on another server.  Rows on this server are left to the
 * caller.
 */

/* foreign_batch_begin: prepares to collect keys */
ForeignBatch *
foreign_batch_begin(RowRequest *request)
{
	ForeignBatch *batch = palloc0(sizeof(ForeignBatch));

	batch->request = *request;
	batch->cxt = CurrentMemoryContext;
	batch->types = palloc(sizeof(TypeCacheEntry *) * request->def->layout.npk);
	for (int i = 0; i < request->def->layout.npk; i++)
		batch->types[i] = lookup_type_cache(key_type(request->def, i),
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

	if (batch->n == batch->max)
		batch->wanted = grow_array(batch->wanted, &batch->max, 16, sizeof(Wanted), batch->cxt);
	wanted = &batch->wanted[batch->n++];
	wanted->key = palloc(sizeof(Datum) * def->layout.npk);
	for (int i = 0; i < def->layout.npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->layout.desc, def->layout.pk_attno[i] - 1);

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
	int			npk = batch->request.def->layout.npk;
	Datum	   *keys = palloc_extended(sizeof(Datum) * npk * batch->nforeign, MCXT_ALLOC_HUGE);
	Oid		   *partitions = palloc_extended(sizeof(Oid) * batch->nforeign, MCXT_ALLOC_HUGE);
	int			n = 0;

	for (batch->mask = 1; batch->mask < (uint32) batch->nforeign; batch->mask *= 2)
		;
	batch->buckets = palloc_extended(sizeof(int) * batch->mask, MCXT_ALLOC_HUGE);
	memset(batch->buckets, -1, sizeof(int) * batch->mask);
	batch->mask--;
	for (int i = 0; i < batch->n; i++)
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

	for (int i = batch->buckets[hash & batch->mask]; i >= 0; i = batch->wanted[i].next)
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

	for (int i = 0; i < def->layout.npk; i++)
	{
		bool		isnull;

		key[i] = slot_getattr(row, def->layout.pk_attno[i], &isnull);
	}
	hash = hash_key(batch, key);
	for (int i = batch->buckets[hash & batch->mask]; i >= 0; i = batch->wanted[i].next)
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

	for (int i = 0; i < batch->request.def->layout.npk; i++)
		if (OidIsValid(batch->types[i]->hash_proc_finfo.fn_oid))
			hash = hash * 31 +
				DatumGetUInt32(FunctionCall1Coll(&batch->types[i]->hash_proc_finfo,
												 batch->request.def->layout.pk_keys[i].sk_collation, key[i]));
	return hash;
}

/* same_key: returns whether two keys are equal */
static bool
same_key(ForeignBatch *batch, Datum *a, Datum *b)
{
	for (int i = 0; i < batch->request.def->layout.npk; i++)
		if (!DatumGetBool(FunctionCall2Coll(&batch->types[i]->eq_opr_finfo,
											batch->request.def->layout.pk_keys[i].sk_collation, a[i], b[i])))
			return false;
	return true;
}
