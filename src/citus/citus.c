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

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../util/inherit.h"
#include "../util/sql.h"
#include "citus.h"

/* How pg_dist_partition says what a table is. */
#define PARTMETHOD_NONE		'n' /* its rows are not divided */
#define REPMODEL_2PC		't' /* writes go to all nodes */
#define NO_COLOCATION		0

/* How the server writes the number of a column in a Var. */
#define VARATTNO			":varattno "

static Oid	citus_shard(Oid table, int64 number);
static char *shard_name(const char *table, int64 shard);
static int64 shard_number(const char *name);
static int64 last_value(Oid sequence);
static void lock_metadata(const char *numbers);
static int64 shard_with_bound(Relation rel, Oid table, Datum bound);
static int32 colocation_of(Oid relid);
static HeapTuple fetch_row(Relation rel, const char *column, const char *index, RegProcedure equal, Datum value);
static SysScanDesc begin_rows(Relation rel, const char *column, const char *index, RegProcedure equal,
							  Datum value);
static HeapTuple fetch_shard(Relation rel, int64 number);
static SysScanDesc begin_shards(Relation rel, Oid table);
static Datum column_value(Relation rel, HeapTuple tuple, const char *column);
static bool is_domain_or_row(Oid type);

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
	return OidIsValid(citus_table_of_part(relid)) ? CITUS_SHARD : CITUS_NONE;
}

/*
 * require_citus
 *		Refuses a function that only nodes of Citus call for each other, where there is no
 *		Citus.
 */
void
require_citus(const char *function)
{
	if (!OidIsValid(get_relname_relid("pg_dist_partition", PG_CATALOG_NAMESPACE)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("function \"%s.%s\" is only for nodes of Citus", IT_INTERNAL, function),
				 errdetail("This database does not have the extension \"citus\".")));
}

/*
 * citus_table_of_part
 *		Returns the Citus table of which a table in the same schema has the name of a shard, or
 *		InvalidOid.  Citus has no other sign of it.
 *
 * It is a shard, too, if it has been left behind by a move and Citus will drop it.
 */
Oid
citus_table_of_part(Oid relid)
{
	char	   *name = get_rel_name(relid);
	int64		number = name == NULL ? 0 : shard_number(name);
	Oid			catalog = number == 0 ? InvalidOid : get_relname_relid("pg_dist_shard", PG_CATALOG_NAMESPACE);
	Oid			table = InvalidOid;
	Relation	rel;
	HeapTuple	tuple;

	if (!OidIsValid(catalog) || (rel = try_relation_open(catalog, AccessShareLock)) == NULL)
		return InvalidOid;
	tuple = fetch_shard(rel, number);
	if (tuple != NULL)
		table = DatumGetObjectId(column_value(rel, tuple, "logicalrelid"));
	relation_close(rel, AccessShareLock);
	return OidIsValid(table) && citus_shard(table, number) == relid ? table : InvalidOid;
}

/*
 * root_of_shard
 *		Returns the shard that the shard of a partition belongs to, or the shard itself.
 *
 * A table with index tables of its own may have become a partition of one that has none.
 */
Oid
root_of_shard(Oid shard)
{
	Oid			result = shard;
	Oid			parent = shard;
	TransactionId detached;

	if (!get_rel_relispartition(shard) || catalog_has_fact(citus_table_of_part(shard)))
		return shard;
	while (OidIsValid(parent = tree_parent(parent, &detached)))
		result = parent;
	return result;
}

/*
 * citus_shard
 *		Returns the table that is the shard with a number on this node, or InvalidOid.
 *
 * Anybody who may create tables in its schema may give one this name, where the shard is not.  And its owner may
 * put something else in its place, past Citus.
 */
static Oid
citus_shard(Oid table, int64 number)
{
	char	   *name = get_rel_name(table);
	Oid			shard;

	if (name == NULL)
		return InvalidOid;
	shard = get_relname_relid(shard_name(name, number), get_rel_namespace(table));
	return OidIsValid(shard) && get_rel_relkind(shard) == get_rel_relkind(table) &&
		table_owner(shard) == table_owner(table) ? shard : InvalidOid;
}

/*
 * citus_takes
 *		Returns whether Citus is about to make a local table the shard of a table that will
 *		take its name: it renames the table to the name of a shard with the number that its
 *		sequence has just given out.
 */
bool
citus_takes(Oid relid, const char *name)
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
	int64		number;

	if (digits == NULL || strspn(digits + 1, "0123456789") != strlen(digits + 1))
		return 0;
	errno = 0;
	number = strtoll(digits + 1, NULL, 10);
	return errno == 0 ? number : 0;
}

/*
 * fetch_row
 *		Returns a copy of the row with a value in a column, or NULL if there is none.
 *		Searches the index of this name if there is one.
 */
static HeapTuple
fetch_row(Relation rel, const char *column, const char *index, RegProcedure equal, Datum value)
{
	SysScanDesc scan = begin_rows(rel, column, index, equal, value);
	HeapTuple	tuple;

	if (scan == NULL)
		return NULL;
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		tuple = heap_copytuple(tuple);
	systable_endscan(scan);
	return tuple;
}

/*
 * begin_rows
 *		Begins to read the rows of one of Citus' tables that have a value in a column; returns NULL if the column
 *		does not exist.  The index of that name is used if it exists.
 */
static SysScanDesc
begin_rows(Relation rel, const char *column, const char *index, RegProcedure equal, Datum value)
{
	Oid			indexid = get_relname_relid(index, PG_CATALOG_NAMESPACE);
	AttrNumber	attno = get_attnum(RelationGetRelid(rel), column);
	ScanKeyData key;

	if (attno == InvalidAttrNumber)
		return NULL;
	ScanKeyInit(&key, attno, BTEqualStrategyNumber, equal, value);
	return systable_beginscan(rel, indexid, OidIsValid(indexid), NULL, 1, &key);
}

/* fetch_shard: returns a copy of the row of pg_dist_shard about the shard with a number, or NULL */
static HeapTuple
fetch_shard(Relation rel, int64 number)
{
	return fetch_row(rel, "shardid", "pg_dist_shard_shardid_index", F_INT8EQ, Int64GetDatum(number));
}

/* begin_shards: begins to read the rows of pg_dist_shard about the shards of a table */
static SysScanDesc
begin_shards(Relation rel, Oid table)
{
	return begin_rows(rel, "logicalrelid", "pg_dist_shard_logical_relid_index", F_OIDEQ, ObjectIdGetDatum(table));
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

/*-------------------------------------------------------------------------
 * Reads in the catalog of Citus how tables are distributed and which shards this node has,
 * and locks shards against being moved.
 *
 * A shard is a table with the name of the distributed table and the number of the shard.  The
 * shards of tables that are distributed together (co-located) have the same bounds, and those
 * with the same bounds are always on the same node.  The callers of these functions may read
 * the catalog of Citus, as everybody may.
 *-------------------------------------------------------------------------
 */

/*
 * citus_is_installed
 *		Returns whether the database has Citus, after a single search in a cache of the
 *		server.
 */
bool
citus_is_installed(void)
{
	return OidIsValid(get_relname_relid("pg_dist_partition", PG_CATALOG_NAMESPACE));
}

/* citus_local_group: returns the number by which Citus knows this node; 0 is the coordinator */
int
citus_local_group(void)
{
	Rows		rows = query_kept("SELECT groupid::pg_catalog.int4 FROM pg_catalog.pg_dist_local_group", 0, NULL, NULL);

	return rows.n > 0 ? DatumGetInt32(row_value(&rows, 0, 1)) : 0;
}

/*
 * citus_distribution_column
 *		Returns the column by which a table is distributed, or 0.
 */
AttrNumber
citus_distribution_column(Oid relid)
{
	Relation	rel = try_relation_open(get_relname_relid("pg_dist_partition", PG_CATALOG_NAMESPACE), AccessShareLock);
	HeapTuple	tuple;
	Datum		key = (Datum) 0;
	const char *column;

	if (rel == NULL)
		return 0;
	tuple = fetch_row(rel, "logicalrelid", "pg_dist_partition_logical_relid_index", F_OIDEQ, ObjectIdGetDatum(relid));
	if (tuple != NULL)
		key = column_value(rel, tuple, "partkey");
	/* It is a Var as the server writes it. */
	column = key == (Datum) 0 ? NULL : strstr(TextDatumGetCString(key), VARATTNO);
	relation_close(rel, AccessShareLock);
	return column == NULL ? 0 : atoi(column + strlen(VARATTNO));
}

/* citus_read_table: fills *table with how a distributed table is distributed */
void
citus_read_table(Oid relid, CitusTable *table)
{
	Rows		rows = query_as(InvalidOid,
								"SELECT p.partmethod = 'h',"
								" EXISTS (SELECT FROM pg_catalog.pg_dist_shard s JOIN pg_catalog.pg_dist_placement pl USING (shardid)"
								"  WHERE s.logicalrelid = p.logicalrelid GROUP BY shardid HAVING count(*) > 1),"
								" CASE WHEN p.partkey IS NOT NULL THEN"
								"  pg_catalog.column_to_column_name(p.logicalrelid, p.partkey) END,"
								" (SELECT count(*)::int4 FROM pg_catalog.pg_dist_shard s WHERE s.logicalrelid = p.logicalrelid)"
								" FROM pg_catalog.pg_dist_partition p WHERE p.logicalrelid = '%u'", relid);

	memset(table, 0, sizeof(CitusTable));
	if (rows.n == 0)
		return;
	table->by_hash = DatumGetBool(row_value(&rows, 0, 1));
	table->replicated = DatumGetBool(row_value(&rows, 0, 2));
	table->column = row_text(&rows, 0, 3);
	table->nshards = DatumGetInt32(row_value(&rows, 0, 4));
}

/* citus_places_now: returns whether this transaction has had Citus place a shard */
bool
citus_places_now(Oid shard)
{
	Relation	rel = try_relation_open(get_relname_relid("pg_dist_shard", PG_CATALOG_NAMESPACE), AccessShareLock);
	HeapTuple	tuple;

	if (rel == NULL)
		return false;
	tuple = fetch_shard(rel, shard_number(get_rel_name(shard)));
	relation_close(rel, AccessShareLock);
	return tuple != NULL && TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data));
}

/* is_altered_here: returns whether this transaction has made or altered a column of a shard */
bool
is_altered_here(Relation shard, AttrNumber attno)
{
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(RelationGetRelid(shard)), Int16GetDatum(attno));
	bool		result = HeapTupleIsValid(tuple) &&
		TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data));

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return result;
}

/*
 * citus_colocated_shard
 *		Returns the shard of another table with the same bounds as a shard of this table, or
 *		InvalidOid if this node has none.
 */
Oid
citus_colocated_shard(Oid shard, Oid table, Oid other)
{
	Relation	rel = try_relation_open(get_relname_relid("pg_dist_shard", PG_CATALOG_NAMESPACE), AccessShareLock);
	HeapTuple	tuple;
	int64		number = 0;

	if (rel == NULL)
		return InvalidOid;
	tuple = fetch_shard(rel, shard_number(get_rel_name(shard)));
	if (tuple != NULL && DatumGetObjectId(column_value(rel, tuple, "logicalrelid")) == table)
		number = shard_with_bound(rel, other, column_value(rel, tuple, "shardminvalue"));
	relation_close(rel, AccessShareLock);
	return number == 0 ? InvalidOid : citus_shard(other, number);
}

/*
 * shard_with_bound
 *		Returns the number of the shard of a table that begins with a hash, a text of Citus' catalog, or 0.
 */
static int64
shard_with_bound(Relation rel, Oid table, Datum bound)
{
	int64		number = 0;
	SysScanDesc scan = begin_shards(rel, table);
	HeapTuple	tuple;

	if (scan == NULL)
		return 0;
	while (bound != (Datum) 0 && number == 0 && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Datum		other = column_value(rel, tuple, "shardminvalue");

		if (other != (Datum) 0 && strcmp(TextDatumGetCString(other), TextDatumGetCString(bound)) == 0)
			number = DatumGetInt64(column_value(rel, tuple, "shardid"));
	}
	systable_endscan(scan);
	return number;
}

/* citus_shard_count: returns the number of shards of a distributed table */
int
citus_shard_count(Oid table)
{
	Relation	rel = try_relation_open(get_relname_relid("pg_dist_shard", PG_CATALOG_NAMESPACE), AccessShareLock);
	SysScanDesc scan;
	int			result = 0;

	if (rel == NULL)
		return 0;
	scan = begin_shards(rel, table);
	while (scan != NULL && HeapTupleIsValid(systable_getnext(scan)))
		result++;
	if (scan != NULL)
		systable_endscan(scan);
	relation_close(rel, AccessShareLock);
	return result;
}

/* citus_are_colocated: returns whether Citus keeps the shards of two tables together */
bool
citus_are_colocated(Oid table, Oid other)
{
	int32		colocation = colocation_of(table);

	return colocation != NO_COLOCATION && colocation == colocation_of(other);
}

/* colocation_of: returns the number of those tables that are distributed together with a table */
static int32
colocation_of(Oid relid)
{
	Relation	rel = try_relation_open(get_relname_relid("pg_dist_partition", PG_CATALOG_NAMESPACE), AccessShareLock);
	HeapTuple	tuple;
	int32		colocation = NO_COLOCATION;

	if (rel == NULL)
		return NO_COLOCATION;
	tuple = fetch_row(rel, "logicalrelid", "pg_dist_partition_logical_relid_index", F_OIDEQ, ObjectIdGetDatum(relid));
	if (tuple != NULL)
		colocation = DatumGetInt32(column_value(rel, tuple, "colocationid"));
	relation_close(rel, AccessShareLock);
	return colocation;
}

/*
 * citus_local_shards
 *		Lists the shards of a fact table that this node has, each with that of its queue
 *		(ShardPair *), as Citus' catalog says at this moment; InvalidOid stands for one that is not there.
 */
List *
citus_local_shards(Oid fact, Oid queue)
{
	List	   *result = NIL;
	Oid			types[2] = {OIDOID, OIDOID};
	Datum		values[2] = {ObjectIdGetDatum(queue), ObjectIdGetDatum(fact)};
	Rows		rows = query_kept(
								  "SELECT f.shardid, q.shardid, f.shardminvalue::pg_catalog.int4, f.shardmaxvalue::pg_catalog.int4"
								  " FROM pg_catalog.pg_dist_shard f JOIN pg_catalog.pg_dist_shard q"
								  "  ON q.logicalrelid = $1 AND q.shardminvalue = f.shardminvalue"
								  " JOIN pg_catalog.pg_dist_placement p ON p.shardid = f.shardid"
								  " JOIN pg_catalog.pg_dist_placement r ON r.shardid = q.shardid AND r.groupid = p.groupid"
								  " JOIN pg_catalog.pg_dist_local_group g ON g.groupid = p.groupid"
								  " WHERE f.logicalrelid = $2 ORDER BY f.shardid", 2, types, values);

	for (uint64 i = 0; i < rows.n; i++)
	{
		ShardPair  *pair = palloc(sizeof(ShardPair));

		pair->fact_shard = DatumGetInt64(row_value(&rows, i, 1));
		pair->queue_shard = DatumGetInt64(row_value(&rows, i, 2));
		pair->min = DatumGetInt32(row_value(&rows, i, 3));
		pair->max = DatumGetInt32(row_value(&rows, i, 4));
		pair->fact = citus_shard(fact, pair->fact_shard);
		pair->queue = citus_shard(queue, pair->queue_shard);
		result = lappend(result, pair);
	}
	return result;
}

/* citus_require_pair: raises an error unless a node has both shards that Citus has placed there */
void
citus_require_pair(ShardPair *pair, Oid fact)
{
	if (!OidIsValid(pair->fact) || !OidIsValid(pair->queue))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shard " INT64_FORMAT " of table \"%s\" is not on this node, although Citus has placed it here",
						OidIsValid(pair->fact) ? pair->queue_shard : pair->fact_shard, get_rel_name(fact)),
				 errdetail("A shard is a table of the same kind and with the same owner as the distributed table.")));
}

/*
 * citus_shards_here
 *		Lists those shards of a distributed table that this node has, as Citus' catalog says at this moment,
 *		and sets *numbers to a text with their numbers.
 */
List *
citus_shards_here(Oid relid, char **numbers)
{
	List	   *result = NIL;
	Oid			type = OIDOID;
	Datum		value = ObjectIdGetDatum(relid);
	StringInfoData list;
	Rows		rows = query_kept("SELECT s.shardid FROM pg_catalog.pg_dist_shard s"
								  " JOIN pg_catalog.pg_dist_placement p USING (shardid)"
								  " JOIN pg_catalog.pg_dist_local_group g USING (groupid)"
								  " WHERE s.logicalrelid = $1 ORDER BY s.shardid", 1, &type, &value);

	initStringInfo(&list);
	for (uint64 i = 0; i < rows.n; i++)
	{
		int64		number = DatumGetInt64(row_value(&rows, i, 1));
		Oid			shard = citus_shard(relid, number);

		if (!OidIsValid(shard))
			continue;
		result = lappend_oid(result, shard);
		appendStringInfo(&list, "%s" INT64_FORMAT, i == 0 ? "" : ",", number);
	}
	*numbers = list.data;
	return result;
}

/*
 * citus_shard_numbers
 *		Returns the numbers of all shards of a distributed table, as the text of an array.
 */
char *
citus_shard_numbers(Oid relid)
{
	Oid			type = OIDOID;
	Datum		value = ObjectIdGetDatum(relid);
	Rows		rows = query_kept("SELECT coalesce(pg_catalog.array_agg(shardid ORDER BY shardid)::pg_catalog.text, '{}')"
								  " FROM pg_catalog.pg_dist_shard WHERE logicalrelid = $1", 1, &type, &value);

	return row_text(&rows, 0, 1);
}

/*
 * citus_shards_on
 *		Lists the shards of a distributed table that Citus has placed on some nodes (ShardBounds *), which
 *		are given by the numbers of their groups.
 */
List *
citus_shards_on(Oid relid, List *groups)
{
	Oid			types[2] = {OIDOID, INT4ARRAYOID};
	Datum	   *numbers = palloc(sizeof(Datum) * Max(list_length(groups), 1));
	Datum		values[2] = {ObjectIdGetDatum(relid)};
	List	   *result = NIL;
	Rows		rows;

	foreach_int(group, groups)
		numbers[foreach_current_index(group)] = Int32GetDatum(group);
	values[1] = PointerGetDatum(construct_array(numbers, list_length(groups), INT4OID, sizeof(int32), true,
												TYPALIGN_INT));
	rows = query_kept("SELECT s.shardid, s.shardminvalue::pg_catalog.int4, s.shardmaxvalue::pg_catalog.int4"
					  " FROM pg_catalog.pg_dist_shard s JOIN pg_catalog.pg_dist_placement p USING (shardid)"
					  " WHERE s.logicalrelid = $1 AND p.groupid = ANY ($2)", 2, types, values);
	for (uint64 i = 0; i < rows.n; i++)
	{
		ShardBounds *shard = palloc(sizeof(ShardBounds));

		shard->number = DatumGetInt64(row_value(&rows, i, 1));
		shard->min = DatumGetInt32(row_value(&rows, i, 2));
		shard->max = DatumGetInt32(row_value(&rows, i, 3));
		result = lappend(result, shard);
	}
	return result;
}

/* groups_with_shards: lists the numbers of the groups of nodes that have shards of some tables */
List *
groups_with_shards(List *tables)
{
	Oid			type = OIDARRAYOID;
	Datum		value = array_of_oids(tables);
	List	   *result = NIL;
	Rows		rows = query_kept("SELECT DISTINCT p.groupid::pg_catalog.int4"
								  " FROM pg_catalog.pg_dist_shard s JOIN pg_catalog.pg_dist_placement p USING (shardid)"
								  " WHERE s.logicalrelid = ANY ($1)", 1, &type, &value);

	for (uint64 i = 0; i < rows.n; i++)
		result = lappend_int(result, DatumGetInt32(row_value(&rows, i, 1)));
	return result;
}

/*
 * citus_lock_shards
 *		Locks shards, and those of their queues, against being moved or split until the
 *		transaction ends, as Citus does it for those that it writes.
 */
void
citus_lock_shards(List *pairs)
{
	StringInfoData numbers;

	initStringInfo(&numbers);
	foreach_ptr(ShardPair, pair, pairs)
		appendStringInfo(&numbers, "," INT64_FORMAT "," INT64_FORMAT, pair->fact_shard, pair->queue_shard);
	if (pairs != NIL)
		lock_metadata(psprintf("{%s}", numbers.data + 1));
}

/* lock_metadata: locks the metadata of shards, whose numbers are the text of an array */
static void
lock_metadata(const char *numbers)
{
	Oid			type = TEXTOID;
	Datum		value = CStringGetTextDatum(numbers);

	(void) query_kept("SELECT pg_catalog.lock_shard_metadata(5, $1::pg_catalog._int8)", 1, &type, &value);
}

/*
 * citus_lock_table
 *		Locks all shards of a distributed table as citus_lock_shards() does, also those that a
 *		split has made meanwhile.
 */
void
citus_lock_table(Oid relid)
{
	char	   *numbers = citus_shard_numbers(relid);
	char	   *locked;

	do
	{
		lock_metadata(locked = numbers);
		numbers = citus_shard_numbers(relid);
	} while (strcmp(numbers, locked) != 0);
}

/*
 * begin_citus_settings
 *		Sets what commands on distributed tables need, until AtEOXact_GUC() of the result: triggers
 *		are allowed, shards have one placement, and a node runs all commands of the transaction in one
 *		session, so that each sees what the one before it has done.
 */
int
begin_citus_settings(void)
{
	static const char *const settings[][2] = {
		{"citus.enable_unsafe_triggers", "on"},
		{"citus.multi_shard_modify_mode", "sequential"},
		{"citus.enable_ddl_propagation", "on"},
		{"citus.shard_replication_factor", "1"},
		{"client_min_messages", "warning"},
	};
	int			nestlevel = NewGUCNestLevel();

	for (Size i = 0; i < lengthof(settings); i++)
		set_config_option(settings[i][0], settings[i][1], PGC_USERSET, PGC_S_SESSION,
						  GUC_ACTION_SAVE, true, 0, false);
	return nestlevel;
}

/*
 * use_one_connection
 *		Has Citus use one connection to each node, which it keeps, for all queries until the caller's level of
 *		settings ends, and none for the shards of this node.
 */
void
use_one_connection(void)
{
	refuse_after_settings();
	set_config_option("citus.max_adaptive_executor_pool_size", "1", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
					  true, 0, false);
	set_config_option("citus.enable_local_execution", "on", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
					  false);
}

/* run_with_citus_settings: runs SQL under begin_citus_settings(), as the extension's owner */
void
run_with_citus_settings(const char *sql)
{
	int			nestlevel = begin_citus_settings();

	refuse_after_settings();
	run_command(get_extension_owner(), sql);
	AtEOXact_GUC(false, nestlevel);
}

/* citus_is_taken: returns whether a table is one of Citus, of whatever kind */
bool
citus_is_taken(Oid relid)
{
	return citus_kind(relid) != CITUS_NONE;
}

/* citus_has_parts: returns whether a table is distributed */
bool
citus_has_parts(Oid relid)
{
	return citus_kind(relid) == CITUS_DISTRIBUTED;
}

/*
 * citus_is_governed_elsewhere
 *		Returns whether a table is distributed and this node is not the coordinator, which runs
 *		all commands that change the table.
 */
bool
citus_is_governed_elsewhere(Oid relid)
{
	return citus_has_parts(relid) && citus_local_group() != 0;
}

/*
 * shard_of_key
 *		Returns which of the shards has the row with a primary key, or NULL if none of them does.
 *		Citus distributes rows by the hash by which the type is hashed everywhere else.
 */
ShardPair *
shard_of_key(List *shards, FactDef *def, Datum *key)
{
	int			column = ((ShardPair *) linitial(shards))->column;
	Form_pg_attribute att = TupleDescAttr(def->queue.desc, QUEUE_KEY - 1 + column);
	TypeCacheEntry *type = lookup_type_cache(att->atttypid, TYPECACHE_HASH_PROC_FINFO);
	int32		hash = DatumGetInt32(FunctionCall1Coll(&type->hash_proc_finfo, att->attcollation, key[column]));

	foreach_ptr(ShardPair, pair, shards)
	{
		if (pair->min <= hash && hash <= pair->max)
			return pair;
	}
	return NULL;
}

/* has_type_within: returns whether a type, or one that its values contain, passes a test */
bool
has_type_within(Oid type, bool (*test) (Oid type))
{
	TupleDesc	row;
	bool		result = false;

	if (test(type))
		return true;
	if (type < FirstNormalObjectId && !OidIsValid(get_element_type(type)))
		return false;
	if (getBaseType(type) != type)
		return has_type_within(getBaseType(type), test);
	if (OidIsValid(get_element_type(type)))
		return has_type_within(get_element_type(type), test);
	if (type_is_range(type))
		return has_type_within(get_range_subtype(type), test);
	if (type_is_multirange(type))
		return has_type_within(get_multirange_range(type), test);
	if (get_typtype(type) != TYPTYPE_COMPOSITE)
		return false;
	row = lookup_rowtype_tupdesc(type, -1);
	for (int i = 0; i < row->natts && !result; i++)
		result = !TupleDescAttr(row, i)->attisdropped && has_type_within(TupleDescAttr(row, i)->atttypid, test);
	ReleaseTupleDesc(row);
	return result;
}

/*
 * calls_code_of_owner
 *		Returns whether to make a value of a type, from text, may call code of the type's owner, who can add a
 *		domain to a composite type at any time.
 */
bool
calls_code_of_owner(Oid type)
{
	return has_type_within(type, is_domain_or_row);
}

static bool
is_domain_or_row(Oid type)
{
	char		kind = get_typtype(type);

	return kind == TYPTYPE_DOMAIN || kind == TYPTYPE_COMPOSITE;
}
