/*-------------------------------------------------------------------------
 *
 * table_writer.h
 *	  Opens an index table, or one of its partitions, for writing, and keeps its indexes
 *	  in step.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_TABLE_WRITER_H
#define INDEXTABLE_TABLE_WRITER_H

#include "access/genam.h"
#include "access/htup.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "storage/itemptr.h"
#include "utils/rel.h"

#include "../indextable.h"

/* Entries handed to the table at a time. */
#define CHUNK				256

/* An entry that the index on the fact row's primary key lacks. */
typedef struct Deferred
{
	HeapTuple	tuple;			/* NULL: none */
	ItemPointerData tid;
} Deferred;

typedef struct Writer
{
	IndexDef   *def;
	Relation	rel;
	int			nindexes;
	Relation   *indexes;
	IndexInfo **infos;
	int			primary;		/* which of them is the primary key */
	int			row;			/* which is on the fact row's primary key, or
								 * -1 */
	Deferred   *deferred;		/* for that, by sequence; NULL: it is written
								 * at once */
	int			ndeferred;
	EState	   *estate;			/* for indexes with expressions or predicates */
	CommandId	cid;
	IndexScanDesc scan;			/* on the primary key, SnapshotSelf; opened on
								 * demand */
	TupleTableSlot *found;		/* what it found */
	SnapshotData dirty;
	IndexScanDesc rivals;		/* the same with that: what others are
								 * writing, too */
	TupleTableSlot *rival;		/* what it found */
	int			nslots;
	int			nqueued;
	TupleTableSlot *slots[CHUNK];
	int			seqs[CHUNK];	/* -1: not to be deferred */
} Writer;

extern void apply_at_end_of_transaction(void);
extern void close_writer(Writer *w);
extern CommandId command_id(Writer *w);
extern void insert_deferred(Writer *w);
extern bool insert_index_entries(Writer *w, TupleTableSlot *slot, bool update,
								 TU_UpdateIndexes which, bool defer);
extern void new_command(Writer *w);
extern void open_writer(Writer *w, IndexDef *def, Relation rel);

#endif							/* INDEXTABLE_TABLE_WRITER_H */
