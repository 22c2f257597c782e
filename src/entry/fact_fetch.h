/*-------------------------------------------------------------------------
 *
 * fact_fetch.h
 *	  Finds the live version of a fact row by its primary key.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FACT_FETCH_H
#define INDEXTABLE_FACT_FETCH_H

#include "access/genam.h"
#include "access/skey.h"
#include "executor/tuptable.h"
#include "nodes/pg_list.h"
#include "storage/block.h"
#include "storage/lockdefs.h"
#include "utils/hsearch.h"
#include "utils/snapshot.h"

#include "../indextable.h"
#include "document.h"
#include "key_walk.h"

/* A scan by primary key of one table: of the fact table, or of one of its partitions. */
typedef struct LeafScan
{
	Oid			relid;			/* hash key */
	Relation	rel;
	Leaf	   *leaf;			/* NULL: the fact table is not partitioned */
	const struct RowSource *source; /* of its rows; NULL: they are in rel */
	bool		by_place;		/* rows are tried where entries say they were */
	BlockNumber block;			/* where the last of them was tried */
	KeySearch	search;			/* by the primary key */
	List	   *rows;			/* foreign: of MinimalTuple, rows of the key
								 * that are still to be returned */
	TupleTableSlot *stored;		/* the row as it is stored */
	TupleTableSlot *slot;		/* the row with the columns of the fact table;
								 * the same slot if they do not differ */
} LeafScan;

/* A scan by primary key of a fact table. */
typedef struct LiveScan
{
	FactDef    *def;
	Relation	fact;
	Snapshot	snapshot;
	MemoryContext cxt;			/* that the scans live in */
	LeafScan	only;			/* if the fact table is not partitioned */
	HTAB	   *leaves;			/* of LeafScan; NULL: not partitioned */
	/* The leaf that has the row of a key; NULL: its partition. */
	Oid			(*leaf_of) (void *arg, Datum *key);
	void	   *leaf_arg;
	LeafScan   *current;		/* the one that the last key belongs to */
	KeySearch  *searched;		/* of the table that was searched last, or
								 * NULL */
	struct IndexFetchTableData *fetch;	/* of the table that a place was
										 * followed in last, or NULL */
	TupleTableSlot *shared;		/* the row as it is stored, in all partitions
								 * that store it like the fact table; NULL:
								 * none was read yet */
	struct ForeignBatch *fetched;	/* foreign rows that were fetched in
									 * advance, or NULL */
	MemoryContext fetched_cxt;	/* has these rows; NULL: none yet */
	bool		as_writer;		/* foreign rows are read as the current user,
								 * who has written them, not as their owner */
	bool		in_order;		/* many keys are searched for, mostly in the
								 * order of the primary key, and they last as
								 * long as the scan; false unless the caller
								 * sets it before the first search */
	LOCKMODE	lock;			/* that partitions are opened with */
	int			columns;		/* so many columns of a row, the first, are
								 * mostly used; 0 unless the caller sets it */
	ScanKey		keys;
} LiveScan;

extern bool row_is_live(Relation fact, TupleTableSlot *slot);
extern void live_scan_begin(LiveScan *scan, FactDef *def, Relation fact, Snapshot snapshot);
extern void live_scan_in_leaves(LiveScan *scan, Oid (*leaf_of) (void *arg, Datum *key), void *arg);
extern bool live_scan_is_elsewhere(LiveScan *scan, Datum *key);
extern TupleTableSlot *live_scan_first(LiveScan *scan, Datum *key);
extern Bitmapset *columns_to_fetch_by(IndexDef *def);
extern ItemPointer place_of_row(IndexDef *def, TupleTableSlot *entry);
extern TupleTableSlot *live_scan_only(LiveScan *scan, Datum *key, ItemPointer place);
extern TupleTableSlot *live_scan_next(LiveScan *scan);
extern TupleTableSlot *live_scan_row(LiveScan *scan);
extern void live_scan_end(LiveScan *scan);
extern void visit_live_rows(FactDef *def, Relation fact, TupleTableSlot *row,
							void (*each) (FactRow *row, void *arg), void *arg);

#endif							/* INDEXTABLE_FACT_FETCH_H */
