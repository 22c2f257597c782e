/*-------------------------------------------------------------------------
 *
 * apply.h
 *	  Offers the writing of entries and of totals into index tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_APPLY_H
#define INDEXTABLE_APPLY_H

#include "../indextable.h"
#include "../util/as_owner.h"
#include "../entry/entry.h"
#include "../fetch/fetch.h"

/* apply.c: applies a list of operations to an index table */
extern bool apply_ops(IndexDef *def, OpList *ops, bool keep);

/* deltas.c: adds up what rows add to the groups of a table of totals, and writes it */

/* What was collected for a table of totals. */
typedef struct Deltas
{
	IndexDef   *def;
	MemoryContext cxt;			/* of all of it */
	struct deltas_hash *groups;
	struct deltas_iterator *at; /* where deltas_next_group() is */
	AttrNumber *added;			/* the columns that are added up */
	int			nadded;
	Size		bytes;			/* of memory, roughly */
	int64		skipped;		/* values left out, to be counted */
	uint64		lacking;		/* of all rows, to be recorded */
} Deltas;

/* What a step from one version of a row to the next changes in its groups. */
typedef struct DeltaChange
{
	RowDelta	taken;			/* away, as the old version has added it */
	RowDelta	added;			/* by the new version */
} DeltaChange;

extern Deltas *deltas_begin(IndexDef *def, MemoryContext cxt);
extern void extract_change(IndexDef *def, FactRow *old, FactRow *new, DeltaChange *change);
extern void deltas_add_change(Deltas *deltas, DeltaChange *change);
extern void deltas_write_rows(IndexDef **defs, int n, Relation rel, Snapshot snapshot, bool insert);
extern Deltas *deltas_of_difference(IndexDef *def, Relation fact_table, Relation rel, Snapshot snapshot,
									bool report, Deltas *found);
extern bool deltas_find(Deltas *deltas, Datum *values, bool *isnull, Datum **found);
extern bool lock_folding(Oid relid, bool wait);
extern void deltas_rewind(Deltas *deltas);
extern bool deltas_next_group(Deltas *deltas, Datum **values, bool **isnull);
extern int64 deltas_write(Deltas *deltas);
extern int64 fold_totals(IndexDef *def, Relation rel, int64 limit);

/*
 * direct_write.c: writes the entries of one row straight into an index table that needs
 * nothing special.
 */
extern bool is_straight(IndexDef *def, OpList *list);
extern bool apply_straight(IndexDef *def, OpList *list);

/*
 * table_writer.c: opens one table for writing, an index table or one of its partitions, and
 * writes its indexes.
 */

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
	bool		users_code;		/* users have made indexes of their own: the
								 * owner of the table writes them */
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

/*
 * BEGIN_WRITER, END_WRITER: open a table for writing, and close it.  The statements between the
 * two, which must not leave them, run as the owner of the table if users have made indexes on it.
 */
#define BEGIN_WRITER(writer, def, rel) \
	AS_OWNER(owner_of_users_indexes(def, rel)); \
	open_writer(writer, def, rel)
#define END_WRITER(writer) \
	close_writer(writer); \
	END_AS_OWNER()

extern void begin_command(void);
extern void table_writer_at_end_of_transaction(void);
extern void close_writer(Writer *w);
extern CommandId command_id(Writer *w);
extern void insert_deferred(Writer *w);
extern bool insert_index_entries(Writer *w, TupleTableSlot *slot, bool update,
								 TU_UpdateIndexes which, bool defer);
extern void new_command(Writer *w);
extern void open_writer(Writer *w, IndexDef *def, Relation rel);
extern Oid	owner_of_users_indexes(IndexDef *def, Relation rel);
extern CommandId writing_command(void);

struct Tuplesortstate;

extern void bulk_load_write(IndexDef *def, Relation index_table, struct Tuplesortstate *sorted);
extern struct Tuplesortstate *bulk_load_begin_sort(IndexDef *def);

/*
 * uncovered_key.c: takes the included fields out of an index table's primary key, where
 * entries are too wide for them.
 */
extern bool make_room_for_ops(IndexDef *def, OpList *list, bool is_new);
extern void uncover_key_for_ops(IndexDef *def, OpList *list);
extern void uncover_keys_at_commit(bool own, Oid owner);
extern bool is_of_session(Oid index_table);

/* put_off.c: keeps operations that cannot be applied yet */
extern bool applying_put_off;

extern bool put_off_ops(IndexDef *def, OpList *list);
extern void put_off_try_again(void);
extern Oid	put_off_apply_all(void);
extern void refuse_to_prepare_put_off(void);
extern int	count_put_off(void);
extern bool was_put_off(Oid fact);
extern void refuse_put_off(Oid index_table);
extern void refuse_put_off_of_fact(Oid fact);
extern void refuse_put_off_in(List *rtable);
extern void put_off_discard(Oid fact);
extern void put_off_at_end(void);
extern void put_off_at_abort_of(SubTransactionId sub);
extern void put_off_at_commit_to(SubTransactionId parent);

/* unique_conflict.c: decides which of two entries with one unique key may have it, and words the error */

/* What is to be done where a new entry has the same unique key as an existing one. */
typedef enum KeyOwner
{
	KEY_STAYS,					/* no row has handed the key on to the other:
								 * the existing entry is in the way */
	KEY_UNDECIDED,				/* another transaction decides: wait for it */
	KEY_WENT_TO_NEW,			/* the existing entry's row has handed the key
								 * on to the new entry's row */
	KEY_WENT_TO_EXISTING		/* the new entry's row has handed the key on
								 * to the existing entry's row */
} KeyOwner;

extern KeyOwner decide_key_owner(IndexDef *def, TupleTableSlot *existing, TupleTableSlot *new,
								 TransactionId *wait);
pg_noreturn extern void rethrow_duplicate(Writer *w, MemoryContext cxt);

/* deferrable_key.c: notes rows that may share their primary key until a deferrable constraint is checked */

/* A primary key that rows may share, as it was when it was noted. */
typedef struct SharedKey
{
	Oid			fact;
	int			n;				/* number of columns */
	AttrNumber *attno;			/* their numbers in the fact table */
	Oid		   *types;
	Datum	   *values;
} SharedKey;

extern List *take_shared_keys(void);
extern int	count_shared_keys(void);
extern void note_shared_key(FactDef *def, TupleTableSlot *row, AttrNumber *columns);

/* write_entry.c: writes single entries into an open table */
extern void flush_inserts(Writer *w);
extern void settle_insert(Writer *w, HeapTuple tuple);
extern void write_op(Writer *w, Op *op, bool alone, bool keep);

#endif							/* INDEXTABLE_APPLY_H */
