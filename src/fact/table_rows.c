/*-------------------------------------------------------------------------
 *
 * table_rows.c
 *	  Knows how many rows tables have.
 *
 * That is cached, as a partitioned table has to be counted by partition.  ANALYZE sends news of a
 * table when it changes the number of its rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "utils/syscache.h"

#include "../catalog/catalog.h"
#include "../util/inherit.h"
#include "../util/relation.h"
#include "fact.h"

/* A table whose rows were counted, or a partition of one, or both. */
typedef struct Count
{
	Oid			relid;			/* hash key */
	double		rows;			/* -1: not counted */
	Oid			counted_in;		/* it is a partition of this table, or
								 * InvalidOid */
} Count;

static HTAB *counts = NULL;

static Count *enter_count(Oid relid);
static void forget_count(Oid relid);

static ChangeListener listener = {.any_relation = forget_count};

/*
 * table_rows
 *		Returns how many rows a table had according to its last VACUUM or ANALYZE; 0 if that is
 *		not known.  Those of a partitioned table are counted by partition, because autovacuum
 *		does not look at the table itself.
 *
 * Each of the tables is entered before its row of pg_class is read, so that news of it are
 * heard, and news of a partition are news for the table.
 */
double
table_rows(Oid relid)
{
	SupposedTable *supposed = supposed_table(relid);
	Count	   *count;
	double		result = 0;

	if (supposed != NULL)
		return supposed->entries;
	if (counts == NULL)
	{
		listen_to_changes(&listener);
		counts = hash_by_oid("indextable rows counted", 64, sizeof(Count), NULL);
	}
	count = hash_search(counts, &relid, HASH_FIND, NULL);
	if (count != NULL && count->rows >= 0)
		return count->rows;
	(void) enter_count(relid);	/* unknown until all are counted */
	foreach_oid(table, list_with_partitions(relid))
	{
		HeapTuple	tuple;

		if (table != relid)
			enter_count(table)->counted_in = relid;
		tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
		if (!HeapTupleIsValid(tuple))
			continue;
		if (((Form_pg_class) GETSTRUCT(tuple))->relkind != RELKIND_PARTITIONED_TABLE)
			result += Max(((Form_pg_class) GETSTRUCT(tuple))->reltuples, 0);
		ReleaseSysCache(tuple);
	}

	/*
	 * If there was news meanwhile, it is not there any more, and is not
	 * cached.
	 */
	count = hash_search(counts, &relid, HASH_FIND, NULL);
	if (count != NULL)
		count->rows = result;
	return result;
}

static Count *
enter_count(Oid relid)
{
	bool		found;
	Count	   *count = hash_search(counts, &relid, HASH_ENTER, &found);

	if (!found)
	{
		count->rows = -1;
		count->counted_in = InvalidOid;
	}
	return count;
}

/*
 * forget_count
 *		Forgets how many rows a table has that has changed, or all tables, if relid is
 *		InvalidOid.
 */
static void
forget_count(Oid relid)
{
	Count	   *count = hash_forget(counts, relid);

	if (count != NULL && OidIsValid(count->counted_in))
		(void) hash_forget(counts, count->counted_in);
}
