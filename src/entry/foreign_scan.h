/*-------------------------------------------------------------------------
 *
 * foreign_scan.h
 *	  Reads all rows of a partition that is on another server, and checks that a row
 *	  belongs there.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FOREIGN_SCAN_H
#define INDEXTABLE_FOREIGN_SCAN_H

#include "access/attnum.h"
#include "access/htup.h"
#include "access/tupdesc.h"
#include "executor/tuptable.h"
#include "nodes/bitmapset.h"
#include "utils/rel.h"

#include "../indextable.h"

/* A scan of all rows of one partition. */
typedef struct ForeignPartitionScan ForeignPartitionScan;

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

extern ForeignPartitionScan *foreign_scan_begin(FactDef *def, Relation leaf);
extern TupleTableSlot *foreign_scan_next(ForeignPartitionScan *scan);
extern void foreign_scan_end(ForeignPartitionScan *scan);
extern bool foreign_keys_in_order(FactDef *def, Relation leaf);
extern Datum *foreign_scan_keys(FactDef *def, Relation root, Relation leaf, Datum *after, int limit, int *n);
extern bool in_bounds(FactDef *def, Relation root, Oid leaf, TupleTableSlot *row);
extern void require_in_bounds(FactDef *def, Relation root, Oid leaf, TupleTableSlot *row, bool found);
extern bool is_of_postgres_fdw(Oid relid, Oid *server);
extern const char *key_column(FactDef *def, int i);
extern char *select_rows(RowRequest *request, AttrNumber **columns, int *n);
extern void store_row(FactDef *def, HeapTuple tuple, TupleDesc desc, AttrNumber *columns, TupleTableSlot *slot);

#endif							/* INDEXTABLE_FOREIGN_SCAN_H */
