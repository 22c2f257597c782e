/*-------------------------------------------------------------------------
 *
 * ask_node.c
 *	  Calls a function on each node that has shards of some tables, over the connections that Citus keeps.
 *
 * Citus' own functions that run something on all nodes open a new connection to each for every call, which
 * takes more than all else that a drain or wait() does.  So a node is asked by a query of one shard that it
 * has.  That shard is found by a value of the column by which its table is distributed: one whose hash is within
 * the bounds of the shard.  The query reads no row of it, but locks it until the transaction ends.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

#include "../indextable.h"
#include "../util/sql.h"
#include "citus.h"

/* The number of values that are tried to find one of a shard; of 1000 shards about 1000 are. */
#define MAX_TRIES			20000

static bool value_of_shard(Oid type, Oid collation, int32 min, int32 max, Datum *value);
static bool nth_value(Oid type, int n, Datum *value);
static const char *never_null(Oid relid, AttrNumber but);

/*
 * nodes_with_shards
 *		Lists the nodes that have shards of some tables (AskedNode *), as Citus' catalog says at this moment.  They
 *		can be asked by shards of one of the tables, or of any of them if that is InvalidOid.  Returns NIL if
 *		one of them cannot: it has no such shard, or values are of a type that is unknown here.  This node is the
 *		last, and the coordinator comes after the other nodes.
 */
List *
nodes_with_shards(List *tables, Oid asked)
{
	Oid			types[2] = {OIDARRAYOID, OIDOID};
	Datum		values[2] = {array_of_oids(tables), ObjectIdGetDatum(asked)};
	List	   *result = NIL;
	AskedNode  *here = NULL;
	Rows		rows;

	rows = query_kept("SELECT DISTINCT ON (p.groupid) p.groupid = g.groupid, s.logicalrelid::pg_catalog.oid,"
					  " s.shardminvalue::pg_catalog.int4, s.shardmaxvalue::pg_catalog.int4, p.groupid::pg_catalog.int4"
					  " FROM pg_catalog.pg_dist_shard s JOIN pg_catalog.pg_dist_placement p USING (shardid),"
					  "  pg_catalog.pg_dist_local_group g WHERE s.logicalrelid = ANY ($1)"
					  " ORDER BY p.groupid, s.logicalrelid <> $2, s.shardid",
					  2, types, values);
	for (uint64 i = rows.n; i-- > 0;)
	{
		AskedNode  *node = palloc0(sizeof(AskedNode));
		Oid			collation;
		int32		typmod;

		node->here = DatumGetBool(row_value(&rows, i, 1));
		node->group = DatumGetInt32(row_value(&rows, i, 5));
		if (node->here)
		{
			here = node;
			continue;
		}
		result = lappend(result, node);
		node->table = DatumGetObjectId(row_value(&rows, i, 2));
		node->column = citus_distribution_column(node->table);
		if (node->column == 0 || (OidIsValid(asked) && node->table != asked))
			return NIL;
		get_atttypetypmodcoll(node->table, node->column, &node->type, &typmod, &collation);
		node->type = getBaseType(node->type);
		if (!value_of_shard(node->type, collation, DatumGetInt32(row_value(&rows, i, 3)),
							DatumGetInt32(row_value(&rows, i, 4)), &node->value))
			return NIL;
	}
	return here == NULL ? result : lappend(result, here);
}

/* ask_node: returns the result of a function on a node */
Datum
ask_node(AskedNode *node, NodeCall *call, bool *isnull)
{
	Rows		rows;

	if (node->here)
		rows = query_kept(psprintf("SELECT %s", call->call), call->nargs, call->types, call->values);
	else
	{
		call->types[call->nargs] = node->type;
		call->values[call->nargs] = node->value;
		/* An aggregate makes it one row, and so the shard needs none. */
		rows = query_kept(psprintf("SELECT %s, pg_catalog.count(*) FROM %s WHERE %s = $%d%s", call->call,
								   quoted_relation(node->table), column_list(node->table, &node->column, 1),
								   call->nargs + 1, never_null(node->table, node->column)),
						  call->nargs + 1, call->types, call->values);
	}
	if (rows.n != 1)
		elog(ERROR, "unexpected number of answers of a node");
	return heap_getattr(rows.tuples[0], 1, rows.desc, isnull);
}

/* never_null: returns a condition on another column that no row fulfils, or "" */
static const char *
never_null(Oid relid, AttrNumber but)
{
	Relation	rel = RelationIdGetRelation(relid);
	const char *result = "";

	if (rel == NULL)
		return result;
	for (int i = RelationGetDescr(rel)->natts - 1; i >= 0; i--)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), i);

		if (!att->attisdropped && att->attnotnull && att->attnum != but)
			result = psprintf(" AND %s IS NULL", quote_identifier(NameStr(att->attname)));
	}
	RelationClose(rel);
	return result;
}

/* texts_of_array: lists the elements of an array of texts (char *) */
List *
texts_of_array(ArrayType *array)
{
	Datum	   *values;
	int			n;
	List	   *result = NIL;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &values, NULL, &n);
	for (int i = 0; i < n; i++)
		result = lappend(result, TextDatumGetCString(values[i]));
	return result;
}

/*
 * value_of_shard
 *		Sets *value to one of a base type that Citus looks for in the shard with these bounds; returns false if
 *		none is found.
 */
static bool
value_of_shard(Oid type, Oid collation, int32 min, int32 max, Datum *value)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_HASH_PROC_FINFO);

	for (int n = 0; n < MAX_TRIES && nth_value(type, n, value); n++)
	{
		int32		hash = DatumGetInt32(FunctionCall1Coll(&entry->hash_proc_finfo, collation, *value));

		if (min <= hash && hash <= max)
			return true;
	}
	return false;
}

/* nth_value: sets *value to one of many values of a type; returns false if it cannot */
static bool
nth_value(Oid type, int n, Datum *value)
{
	switch (type)
	{
		case INT2OID:
			*value = Int16GetDatum((int16) n);
			return true;
		case INT4OID:
			*value = Int32GetDatum(n);
			return true;
		case INT8OID:
			*value = Int64GetDatum(n);
			return true;
		case NUMERICOID:
			*value = NumericGetDatum(int64_to_numeric(n));
			return true;
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
			*value = CStringGetTextDatum(psprintf("%d", n));
			return true;
		case DATEOID:
			*value = DateADTGetDatum(n);
			return true;
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			*value = TimestampTzGetDatum((TimestampTz) n);
			return true;
		case UUIDOID:
			{
				pg_uuid_t  *uuid = palloc0(sizeof(pg_uuid_t));

				memcpy(uuid->data, &n, sizeof(n));
				*value = UUIDPGetDatum(uuid);
				return true;
			}
		default:
			return false;
	}
}
