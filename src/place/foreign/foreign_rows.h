/*-------------------------------------------------------------------------
 *
 * foreign_rows.h
 *	  Reads rows of foreign partitions: all of them, by key, or gathered by key.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FOREIGN_ROWS_H
#define INDEXTABLE_FOREIGN_ROWS_H

#include "access/htup.h"
#include "executor/tuptable.h"
#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "../../indextable.h"

/* Which rows are read by SQL, and as which user. */
typedef struct RowRequest
{
	FactDef    *def;
	Oid			relid;			/* the fact table, or one of its partitions */
	bool		as_owner;		/* by the owner of the partition that has the
								 * row; else by the current user, whose rights
								 * have been checked */
	bool		secured;		/* row security of the fact table applies */
	Bitmapset  *columns;		/* of the fact table, offset by
								 * FirstLowInvalidHeapAttributeNumber; NULL:
								 * all.  The primary key is always read. */
} RowRequest;

extern bool foreign_keys_in_order(FactDef *def, Relation leaf);
extern Datum *foreign_scan_keys(FactDef *def, Relation root, Relation leaf, Datum *after, int limit, int *n);
extern bool in_bounds(FactDef *def, Relation root, Oid leaf, TupleTableSlot *row);
extern void require_in_bounds(FactDef *def, Relation root, Oid leaf, TupleTableSlot *row, bool found);
extern bool is_of_postgres_fdw(Oid relid, Oid *server);
extern const char *key_column(FactDef *def, int i);
extern char *select_rows(RowRequest *request, AttrNumber **columns, int *n);
extern void store_row(FactDef *def, HeapTuple tuple, TupleDesc desc, AttrNumber *columns, TupleTableSlot *slot);

/* Primary keys that are gathered, and the rows that they find. */
typedef struct ForeignBatch ForeignBatch;

extern ForeignBatch *foreign_batch_begin(RowRequest *request);
extern void foreign_batch_add(ForeignBatch *batch, Datum *key, Oid partition);
extern void foreign_batch_run(ForeignBatch *batch);
extern bool foreign_batch_find(ForeignBatch *batch, Datum *key, List **rows);
extern bool foreign_batch_next(ForeignBatch *batch, Datum **key, bool *local, List **rows);

extern void foreign_by_key_fetch(RowRequest *request, Oid *partitions, Datum *keys, int n,
								 void (*each) (TupleTableSlot *row, void *arg), void *arg);

/* The primary keys that a partition is asked for. */
typedef struct PartitionKeys
{
	Oid			relid;
	Datum	   *keys;			/* n * npk */
	int			n;
} PartitionKeys;

extern bool foreign_plan_fits(FactDef *def, PartitionKeys *parts, int nparts);
extern void foreign_plan_fetch(FactDef *def, Bitmapset *columns, PartitionKeys *parts, int nparts,
							   void (*each) (TupleTableSlot *row, void *arg), void *arg);

#endif							/* INDEXTABLE_FOREIGN_ROWS_H */
