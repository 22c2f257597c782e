/*-------------------------------------------------------------------------
 *
 * fetch.h
 *	  Offers scans: of entries by their key, of fact rows by their primary key, and of whole
 *	  tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FETCH_H
#define INDEXTABLE_FETCH_H

#include "access/stratnum.h"
#include "storage/block.h"
#include "storage/buf.h"
#include "storage/lockdefs.h"
#include "utils/sampling.h"

#include "../indextable.h"
#include "../util/prefetch.h"

/* block_scan.c: reads the rows of a table and its partitions, or of a sample of their blocks */

/*
 * One reading of a table and its partitions that several processes share; it is in shared
 * memory.
 */
typedef struct SharedBlockScan
{
	int			ntables;
	struct
	{
		Oid			relid;
		Size		at;			/* where its ParallelTableScanDesc begins */
	}			tables[FLEXIBLE_ARRAY_MEMBER];
} SharedBlockScan;

/* Which rows of a table are read. */
typedef struct BlockSample
{
	double		percent;		/* percentage of the blocks; 100: all */
	uint32		seed;			/* for the choice of the blocks: the same seed
								 * chooses the same ones */
	double		foreign_limit;	/* number of rows of each partition on another
								 * server that are read; 0: all, of which
								 * percent is chosen */
} BlockSample;

typedef struct BlockScan
{
	MemoryContext cxt;			/* that the scans live in */
	MemoryContext row_cxt;		/* for what is made of a row; reset before the
								 * next one is read */
	Snapshot	snapshot;
	BlockSample sample;
	FactDef    *def;			/* NULL: an index table is read */
	List	   *rels;			/* OIDs of the tables that are still to be
								 * read */
	SharedBlockScan *shared;	/* NULL: this process reads all of it */
	int			ntable;			/* which of shared->tables is read next */
	Relation	rel;			/* the table that is being read; NULL: none */
	Leaf	   *leaf;
	void	   *foreign;		/* its rows, if it is no table of this server */
	double		foreign_read;	/* rows of the current one that were read */
	double		foreign_rows;	/* rows of those that were read with a limit,
								 * all of them, and those that were read */
	double		foreign_sampled;
	TableScanDesc scan;
	TupleTableSlot *slot;		/* the row as it is stored */
	TupleTableSlot *row;		/* the row with the columns of the fact table,
								 * if those of a partition differ */
	BlockSamplerData blocks;
	bool		in_block;		/* there may be more rows in the last block */
	uint64		nrows;
	Buffer		prefetched;		/* the last block that prefetch_block() has
								 * fetched */
} BlockScan;

extern void block_scan_begin(BlockScan *scan, FactDef *def, Relation rel, Snapshot snapshot,
							 const BlockSample *sample);
extern void block_scan_begin_in(BlockScan *scan, List *tables, Snapshot snapshot);
extern Size shared_block_scan_init(SharedBlockScan *shared, Relation rel, Snapshot snapshot);
extern void block_scan_join(BlockScan *scan, SharedBlockScan *shared);
extern double block_scan_count_blocks(Relation rel, double percent);
extern TupleTableSlot *block_scan_next(BlockScan *scan);
extern void block_scan_end(BlockScan *scan);

/* key_walk.c: searches an index for many keys that come in its order, and by ranges of keys */

/* A search key that compares several columns of an index together. */
typedef struct RowComparison
{
	ScanKeyData header;
	ScanKeyData members[INDEX_MAX_KEYS];
} RowComparison;

/* A search of a table for one key of an index after another. */
typedef struct KeySearch
{
	Relation	rel;
	Relation	index;			/* NULL: not opened yet */
	Snapshot	snapshot;
	int			nkeys;			/* columns of a key, the first of the index */
	bool		unpruned;		/* pages that rows are read from are not
								 * pruned: false, unless the caller sets it
								 * before a search */
	bool		walking;		/* a walk has come to the last key */
	IndexScanDesc scan;			/* finds the others; NULL: not begun */
	struct KeyWalk *walk;		/* NULL: not begun */
} KeySearch;

/* set_search_key: has a search key of equality find a value, or NULL */
static inline void
set_search_key(ScanKey key, Datum value, bool isnull)
{
	key->sk_argument = value;
	key->sk_flags = isnull ? SK_ISNULL | SK_SEARCHNULL : 0;
}

extern void row_comparison(RowComparison *key, Relation index, int first, int n, StrategyNumber strategy,
						   Datum *bounds);
extern void key_search_begin(KeySearch *search, Relation rel, Relation index, Snapshot snapshot, int nkeys);
extern void key_search_start(KeySearch *search, ScanKey keys, bool in_order, KeySearch **holder);
extern bool key_search_next(KeySearch *search, TupleTableSlot *slot);
extern void key_search_end(KeySearch *search);

/*
 * entry_scan.c: reads entries of an index table by its key, or by the primary key of their
 * fact row, in either direction, and from the index alone where that has what is wanted.
 */

/* A scan of one table: of an index table, or of one of its partitions. */
typedef struct PartitionScan
{
	Oid			relid;			/* hash key */
	Relation	rel;
	KeySearch	search;			/* its index is NULL: it has not begun */
	bool		index_only;		/* entries are made of index tuples, ... */
	bool		in_place;		/* ... whose columns are the first of the
								 * table */
	TupleTableSlot *slot;		/* the entry */
	TupleTableSlot *stored;		/* the stored one: the same, or with
								 * index_only NULL until a table has to be
								 * read */
	Buffer		vm_buffer;		/* a page of the visibility map, if index_only */
} PartitionScan;

/*
 * What else entries must fulfil; only for searches that other servers run, which return fewer
 * then.
 */
typedef struct EntryFilter
{
	const char *prefix;			/* the text of column prefix_attno begins with
								 * it; NULL: any */
	AttrNumber	prefix_attno;
	int			limit;			/* no more entries are asked for; 0: all */
	AttrNumber	hash_attno;		/* the hash of this column is from hash_min to
								 * hash_max; 0: any */
	int32		hash_min;
	int32		hash_max;
} EntryFilter;

/* What a scan of an index table is to do otherwise; zero: nothing. */
typedef struct EntryScanOptions
{
	bool		by_row;			/* the index on the fact row's primary key is
								 * searched, not that of the index table */
	bool		counted;		/* its reads are counted in the statistics of
								 * the index */
	bool		in_order;		/* with by_row: many rows are searched for,
								 * mostly in the order of their primary keys,
								 * which last as long as the scan */
	bool		index_only;		/* only the columns in wanted are looked at.
								 * Where the index has all of them, entries
								 * come from the index alone, with null in the
								 * columns that it lacks */
	Bitmapset  *wanted;			/* numbers of these columns; lasts as long as
								 * the scan */
	ParallelIndexScanDesc parallel; /* shared with other processes, of which
									 * each reads some of the entries, only if
									 * the index table is not partitioned; or
									 * NULL */
	EntryFilter filter;
	bool		as_owner;		/* entries in parts are read as the owner of
								 * the index table, not as the current user */
} EntryScanOptions;

/* A scan of an index table. */
typedef struct EntryScan
{
	IndexDef   *def;
	Relation	rel;			/* the index table */
	Snapshot	snapshot;
	EntryScanOptions options;
	int			nkeys;
	ScanKey		keys;			/* of the current search */
	bool		backward;		/* its entries come in descending order */
	uint64		entries;		/* number of entries returned */
	uint64		heap_fetches;	/* so often a table was read for them */
	MemoryContext cxt;			/* that the scans live in */
	void	   *search;			/* what the store of the entries has begun, or
								 * NULL */
	PartitionScan only;			/* if the index table is not partitioned */
	HTAB	   *partition_scans;	/* of PartitionScan; NULL: not partitioned */
	PartitionScan *current;		/* the one that the last entry is of */
	PartitionDesc remaining;	/* partitions to be read one by one, or NULL */
	int			next;			/* the first of them that is still to be read */
	bool		merging;		/* the entries of all partitions are merged */
	struct binaryheap *heap;	/* of PartitionScan: those that are merged */
} EntryScan;

extern void entry_scan_begin(EntryScan *scan, IndexDef *def, Relation index_table, Snapshot snapshot, int nkeys,
							 const EntryScanOptions *options);
extern void entry_scan_start(EntryScan *scan, ScanKey keys, bool backward);
extern TupleTableSlot *entry_scan_next(EntryScan *scan);
extern void entry_scan_end(EntryScan *scan);
extern void probe_begin(EntryScan *scan, IndexDef *def, Relation index_table, Snapshot snapshot);
extern TupleTableSlot *probe_entry(EntryScan *scan, Datum *values, bool *isnull);

/* fact_fetch.c: finds the live version of a fact row by its primary key */

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

/* What a scan of a fact table is to do otherwise; zero: nothing. */
typedef struct LiveScanOptions
{
	bool		as_writer;		/* foreign rows are read as the current user,
								 * who has written them, not as their owner */
	bool		in_order;		/* many keys are searched for, mostly in the
								 * order of the primary key, and they last as
								 * long as the scan */
	LOCKMODE	lock;			/* that partitions are opened with; NoLock:
								 * AccessShareLock */
	int			columns;		/* number of columns of a row, the first ones,
								 * that are mostly used */
} LiveScanOptions;

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
	LiveScanOptions options;
	ScanKey		keys;
} LiveScan;

extern bool row_is_live(Relation fact, TupleTableSlot *slot);
extern void live_scan_begin(LiveScan *scan, FactDef *def, Relation fact, Snapshot snapshot,
							const LiveScanOptions *options);
extern void live_scan_in_leaves(LiveScan *scan, Oid (*leaf_of) (void *arg, Datum *key), void *arg);
extern bool live_scan_is_elsewhere(LiveScan *scan, Datum *key);
extern TupleTableSlot *live_scan_first(LiveScan *scan, Datum *key);
extern bool relation_has_block(Relation rel, BlockNumber block);
extern Bitmapset *columns_to_fetch_by(IndexDef *def);
extern ItemPointer place_of_row(IndexDef *def, TupleTableSlot *entry);
extern TupleTableSlot *live_scan_only(LiveScan *scan, Datum *key, ItemPointer place);
extern TupleTableSlot *live_scan_next(LiveScan *scan);
extern TupleTableSlot *live_scan_row(LiveScan *scan);
extern void live_scan_end(LiveScan *scan);
extern LeafScan *live_scan_leaf(LiveScan *scan, Datum *key);
extern Relation live_scan_index(LiveScan *scan, LeafScan *leaf);
extern TupleTableSlot *live_scan_at(LiveScan *scan, LeafScan *leaf, ItemPointer place);

/* fact_batch.c: fetches the rows with many primary keys together */

/* A row that is fetched. */
typedef struct BatchRow
{
	Datum	   *key;			/* NULL until all rows were added */
	ItemPointerData hint;		/* where it was, or invalid */
	LeafScan   *leaf;			/* has it; NULL: there is none */
	bool		found;			/* it was returned */
} BatchRow;

/* Where a row may be. */
typedef struct KeyPlace
{
	ItemPointerData place;		/* invalid: the row is to be searched for */
	int			row;			/* number of the row */
} KeyPlace;

/* Places that were found. */
typedef struct KeyPlaces
{
	MemoryContext cxt;
	KeyPlace   *list;
	int			n;
	int			room;
} KeyPlaces;

typedef struct FactBatch
{
	LiveScan   *scan;
	bool		in_order;		/* rows come in the order in which they were
								 * added, else in the one in which they are
								 * stored */
	MemoryContext cxt;			/* has the arrays, which are kept, ... */
	MemoryContext key_cxt;		/* and what their keys point to */
	int			size;			/* number of rows of this batch at most */
	int			n;				/* number of rows that were added */
	int			room;
	BatchRow   *rows;
	Datum	   *keys;			/* of the rows, one after the other */
	KeyPlaces	places;
	int			next;			/* the place that is tried next */
	int			nfound;			/* number of rows that were returned */
	Prefetch	prefetch;		/* of the pages of the rows */
} FactBatch;

extern void fact_batch_begin(FactBatch *batch, LiveScan *scan, bool in_order);
extern void fact_batch_reset(FactBatch *batch);
extern void fact_batch_clear(FactBatch *batch);
extern bool fact_batch_is_full(FactBatch *batch);
extern void fact_batch_add(FactBatch *batch, Datum *key, ItemPointer hint);
extern void fact_batch_find(FactBatch *batch);
extern TupleTableSlot *fact_batch_next(FactBatch *batch);

/* key_places.c: finds where rows are by many keys of a btree */
extern void find_key_places(Relation index, Snapshot snapshot, BatchRow **rows, int n, BatchRow *all,
							KeyPlaces *places);
extern void add_key_place(KeyPlaces *places, ItemPointer place, int row);

/* seen_rows.c: the rows whose entries a scan has found */
typedef struct SeenRows SeenRows;

extern SeenRows *seen_rows_begin(IndexDef *def, MemoryContext cxt);
extern bool seen_row(SeenRows *seen, IndexDef *def, TupleTableSlot *entry);

/* entry_key.c: the fact keys that entries have, and keys in the order of an index table */
extern void key_of_entry(IndexDef *def, TupleTableSlot *entry, Datum *key);
extern int	sort_key_values(Datum *keys, int n, int ncolumns, SortSupport sort);
extern int	find_key_values(Datum *keys, int n, int ncolumns, SortSupport sort, Datum *key);

#endif							/* INDEXTABLE_FETCH_H */
