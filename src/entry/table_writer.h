/*-------------------------------------------------------------------------
 *
 * table_writer.h
 *	  Opens one table for writing, an index table or one of its partitions, and writes
 *	  its indexes.
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

#include "../indextable.h"
#include "key_walk.h"

/* How many entries are handed to a table at a time. */
#define CHUNK				256

/* An entry that is still to be inserted into the index on the fact row's primary key. */
typedef struct Deferred
{
	HeapTuple	tuple;			/* NULL: there is none */
	ItemPointerData tid;
} Deferred;

/* A table that is open for writing: an index table, or one of its partitions. */
typedef struct Writer
{
	IndexDef   *def;
	Relation	rel;
	int			nindexes;
	Relation   *indexes;
	IndexInfo **infos;
	int			primary_index;	/* which of the indexes is the primary key */
	int			row_index;		/* which of them is on the fact row's primary
								 * key, if it may be written last; else -1 */
	Deferred   *deferred;		/* entries for that index, by the numbers of
								 * their operations; NULL: it is written
								 * together with the others */
	int			ndeferred;
	EState	   *estate;			/* for indexes with expressions or predicates */
	CommandId	cid;			/* of the command that writes; 0: not asked
								 * for yet */
	KeySearch	search;			/* by the primary key, with SnapshotSelf */
	bool		walks;			/* many entries are deleted, in about the
								 * order of the primary key */
	TupleTableSlot *found;		/* the entry that the search is at; NULL: it
								 * has not begun */
	SnapshotData dirty;
	KeySearch	rival_search;	/* by the primary key, with that snapshot,
								 * which shows what other transactions are
								 * writing */
	TupleTableSlot *rival;		/* the entry that it is at; NULL: it has not
								 * begun */
	int			nslots;
	int			nbuffered;		/* entries to be inserted, in the first slots */
	TupleTableSlot *slots[CHUNK];
	int			seqs[CHUNK];	/* their numbers in deferred; -1: all indexes
								 * are written at once */
} Writer;

extern void begin_command(void);
extern void table_writer_at_end_of_transaction(void);
extern void close_writer(Writer *w);
extern CommandId command_id(Writer *w);
extern void insert_deferred(Writer *w);
extern bool insert_index_entries(Writer *w, TupleTableSlot *slot, bool update,
								 TU_UpdateIndexes which, bool defer);
extern void new_command(Writer *w);
extern void open_writer(Writer *w, IndexDef *def, Relation rel);
extern CommandId writing_command(void);

struct Tuplesortstate;

extern void bulk_load_write(IndexDef *def, Relation index_table, struct Tuplesortstate *sorted);
extern struct Tuplesortstate *bulk_load_begin_sort(IndexDef *def);

#endif							/* INDEXTABLE_TABLE_WRITER_H */
