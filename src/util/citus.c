/*-------------------------------------------------------------------------
 *
 * citus.c
 *	  Reads in the catalog of Citus what a table is to it.
 *
 * Rows of a Citus table are in its shards, which are tables of their own, and the table
 * itself is an empty shell: what is written to it and read from it never reaches the
 * triggers and scans of this server.  So everything here that looks at a table has to know.
 *
 * The catalog is that of Citus 11 to 14.  Its tables and columns are looked up by name: they
 * have other OIDs in each database, and columns have been added and dropped.  Only a
 * superuser can create tables in pg_catalog, so they are not those of another user.  They
 * are read with a catalog snapshot: what the session itself, or another one that has
 * committed, has just made of a table counts.  Citus sends an invalidation message for a
 * table that it distributes, and for one that it does not distribute any more, so whatever
 * remembers the answer has to be told of changes of the table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attnum.h"
#include "access/genam.h"
#include "access/htup.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/skey.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "storage/lockdefs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "citus.h"

/* How pg_dist_partition says what a table is. */
#define PARTMETHOD_NONE		'n' /* its rows are not divided */
#define REPMODEL_2PC		't' /* writes go to all nodes */
#define NO_COLOCATION		0

static char *shard_name(const char *table, int64 shard);
static int64 shard_number(const char *name);
static int64 last_value(Oid sequence);
static HeapTuple fetch_row(Relation rel, const char *column, const char *index, RegProcedure equal, Datum value);
static Datum column_value(Relation rel, HeapTuple tuple, const char *column);

/*
 * citus_kind
 *		Returns what a table is to Citus, at once if the database has no Citus: then this is
 *		a single search in a cache of the server.
 *
 * A table with a single shard that belongs to a colocation group, as schema-based sharding
 * makes them, is distributed, too; it has no distribution column.
 */
CitusKind
citus_kind(Oid relid)
{
	Oid			catalog = get_relname_relid("pg_dist_partition", PG_CATALOG_NAMESPACE);
	CitusKind	kind = CITUS_DISTRIBUTED;
	Relation	rel;
	HeapTuple	tuple;

	if (!OidIsValid(catalog))
		return CITUS_NONE;
	rel = try_relation_open(catalog, AccessShareLock);
	if (rel == NULL)
		return CITUS_NONE;		/* Citus has just been dropped */
	tuple = fetch_row(rel, "logicalrelid", "pg_dist_partition_logical_relid_index",
					  F_OIDEQ, ObjectIdGetDatum(relid));
	if (tuple != NULL)
	{
		char		method = DatumGetChar(column_value(rel, tuple, "partmethod"));
		char		replication = DatumGetChar(column_value(rel, tuple, "repmodel"));
		int32		colocation = DatumGetInt32(column_value(rel, tuple, "colocationid"));

		if (method == PARTMETHOD_NONE && replication == REPMODEL_2PC)
			kind = CITUS_REFERENCE;
		else if (method == PARTMETHOD_NONE && colocation == NO_COLOCATION)
			kind = CITUS_LOCAL;
	}
	relation_close(rel, AccessShareLock);
	if (tuple != NULL)
		return kind;
	return OidIsValid(citus_table_of_shard(relid)) ? CITUS_SHARD : CITUS_NONE;
}

/*
 * citus_table_of_shard
 *		Returns the table that a shard belongs to, or InvalidOid if it is no shard: it has
 *		the name of a shard of a Citus table in the same schema.  Citus knows no other sign
 *		of a shard.
 *
 * It is a shard, too, if it has been left behind by a move and Citus will drop it.
 */
Oid
citus_table_of_shard(Oid relid)
{
	char	   *name = get_rel_name(relid);
	int64		number = name == NULL ? 0 : shard_number(name);
	Oid			catalog = number == 0 ? InvalidOid : get_relname_relid("pg_dist_shard", PG_CATALOG_NAMESPACE);
	Oid			table = InvalidOid;
	Relation	rel;
	HeapTuple	tuple;

	if (!OidIsValid(catalog) || (rel = try_relation_open(catalog, AccessShareLock)) == NULL)
		return InvalidOid;
	tuple = fetch_row(rel, "shardid", "pg_dist_shard_shardid_index", F_INT8EQ, Int64GetDatum(number));
	if (tuple != NULL)
		table = DatumGetObjectId(column_value(rel, tuple, "logicalrelid"));
	relation_close(rel, AccessShareLock);
	return OidIsValid(table) && citus_shard(table, number) == relid ? table : InvalidOid;
}

/* citus_shard: returns the table that is the shard with a number on this node, or InvalidOid */
Oid
citus_shard(Oid table, int64 number)
{
	char	   *name = get_rel_name(table);

	return name == NULL ? InvalidOid : get_relname_relid(shard_name(name, number), get_rel_namespace(table));
}

/*
 * citus_makes_shard
 *		Returns whether Citus is about to make a local table the shard of a table that will
 *		take its name: it renames the table to the name of a shard with the number that its
 *		sequence has just given out.
 */
bool
citus_makes_shard(Oid relid, const char *name)
{
	Oid			sequence = get_relname_relid("pg_dist_shardid_seq", PG_CATALOG_NAMESPACE);
	char	   *table = get_rel_name(relid);
	int64		number = shard_number(name);

	return OidIsValid(sequence) && table != NULL && number != 0 &&
		strcmp(shard_name(table, number), name) == 0 && number == last_value(sequence);
}

/* last_value: returns the number that a sequence has given out last, or 0 */
static int64
last_value(Oid sequence)
{
	Relation	rel = try_relation_open(sequence, AccessShareLock);
	SysScanDesc scan;
	HeapTuple	tuple;
	int64		value;

	if (rel == NULL)
		return 0;
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	tuple = systable_getnext(scan);
	value = HeapTupleIsValid(tuple) ? ((Form_pg_sequence_data) GETSTRUCT(tuple))->last_value : 0;
	systable_endscan(scan);
	relation_close(rel, AccessShareLock);
	return value;
}

/*
 * shard_name
 *		Returns the name that Citus gives to a shard: that of its table, an underscore and
 *		the number of the shard.  If it is too long, the table's name is cut, and a hash of
 *		it put behind it.
 */
static char *
shard_name(const char *table, int64 shard)
{
	char	   *suffix = psprintf("_" INT64_FORMAT, shard);
	int			length = strlen(table);
	int			room = NAMEDATALEN - (int) strlen(suffix);
	const int	hash_length = 10;	/* an underscore, eight digits, and the
									 * zero at the end */

	if (length < room)
		return psprintf("%s%s", table, suffix);
	return psprintf("%.*s_%.8x%s", pg_mbcliplen(table, length, room - hash_length), table,
					DatumGetUInt32(hash_any((const unsigned char *) table, length)), suffix);
}

/* shard_number: returns the number at the end of what may be the name of a shard, or 0 */
static int64
shard_number(const char *name)
{
	const char *digits = strrchr(name, '_');
	int64		number = 0;

	if (digits == NULL)
		return 0;
	for (digits++; *digits != '\0'; digits++)
	{
		if (*digits < '0' || *digits > '9' || number > (PG_INT64_MAX - 9) / 10)
			return 0;
		number = number * 10 + (*digits - '0');
	}
	return number;
}

/*
 * fetch_row
 *		Returns a copy of the row with a value in a column, or NULL if there is none.
 *		Searches the index of this name if there is one.
 */
static HeapTuple
fetch_row(Relation rel, const char *column, const char *index, RegProcedure equal, Datum value)
{
	Oid			indexid = get_relname_relid(index, PG_CATALOG_NAMESPACE);
	AttrNumber	attno = get_attnum(RelationGetRelid(rel), column);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (attno == InvalidAttrNumber)
		return NULL;
	ScanKeyInit(&key, attno, BTEqualStrategyNumber, equal, value);
	scan = systable_beginscan(rel, indexid, OidIsValid(indexid), NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		tuple = heap_copytuple(tuple);
	systable_endscan(scan);
	return tuple;
}

/* column_value: returns the value of a column, 0 if it is null or the column does not exist */
static Datum
column_value(Relation rel, HeapTuple tuple, const char *column)
{
	AttrNumber	attno = get_attnum(RelationGetRelid(rel), column);
	bool		isnull = true;
	Datum		value = (Datum) 0;

	if (attno != InvalidAttrNumber)
		value = heap_getattr(tuple, attno, RelationGetDescr(rel), &isnull);
	return isnull ? (Datum) 0 : value;
}
