/*-------------------------------------------------------------------------
 *
 * place.h
 *	  What a place does: where the rows of a fact table, its queued changes and its entries are.
 *
 * Each place registers itself when the library is loaded, and one is picked once for a definition.
 * The code above asks it to do something, and never what kind of place it is.  What has no method,
 * because there is nothing to do, is NULL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PLACE_H
#define INDEXTABLE_PLACE_H

#include "access/htup.h"
#include "datatype/timestamp.h"
#include "nodes/bitmapset.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "../indextable.h"

struct DefinitionRow;
struct Discrepancy;
struct Drain;
struct DrainCall;
struct Entries;
struct EntryScan;
struct FactTableRow;
struct ExplainState;
struct ForeignBatch;
struct LiveScan;
struct OpList;
struct QueueCount;
struct Reconciliation;
struct Trouble;

/* Where changes wait until they are applied to asynchronous index tables. */
typedef struct ChangeSource
{
	/* The three steps of a batch under the drain lock: see queue/drain.c. */
	bool		(*begin) (struct Drain *drain);
	void		(*take) (struct Drain *drain);
	void		(*end) (struct Drain *drain);

	/* drains all that was committed by now, for indextable.drain() */
	void		(*drain_all) (Oid fact_table, struct DrainCall *call);

	/* NULL, or raises an error if this transaction must not wait */
	void		(*check_wait) (Oid fact_table);

	/*
	 * waits until what is queued now is applied, but for changes that are
	 * younger than max_lag, in microseconds; returns false if that is not so
	 * by the time "until"
	 */
	bool		(*wait) (struct FactTableRow *queue, int64 max_lag, TimestampTz until);
	/* counts what is queued; returns false if that cannot be told now */
	bool		(*count) (struct FactTableRow *queue, struct QueueCount *count);
	/* NULL, or what else keeps changes from being applied; false: nothing */
	bool		(*trouble) (Oid fact_table, struct Trouble *trouble);

	/*
	 * Queue tables: how many there are, and what is to be done with a new
	 * one.
	 */
	int			ntables;
	void		(*made) (FactDef *def, Oid queue);
	/* opens one, which is that of a leaf if given, and appends rows */
	bool		(*append) (FactDef *def, Oid queue, HeapTuple *rows, int n);
	/* NULL, or each row has a number in its last column, which this returns */
	int64		(*next_number) (void);
} ChangeSource;

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

/* Where the rows of a leaf are that is no table of this server. */
typedef struct RowSource
{

	/* lists the rows with a key in scan->current */
	void		(*find) (struct LiveScan *scan, Datum *key);
	/* fetches in advance what it will list for those of n keys that are there */
	void		(*expect) (struct LiveScan *scan, Datum **keys, int n);
	/* reads all rows of a leaf */
	void	   *(*begin) (FactDef *def, Relation leaf);
	TupleTableSlot *(*next) (void *rows);
	void		(*end) (void *rows);

	/* reads the keys of a leaf in their order, if keys_in_order says so */
	bool		(*keys_in_order) (FactDef *def, Relation leaf);
	Datum	   *(*keys) (FactDef *def, Relation root, Relation leaf, Datum *after, int limit, int *n);
	/* whether a row is within the bounds of a leaf, which nobody checks there */
	bool		(*in_bounds) (FactDef *def, Relation root, Oid leaf, TupleTableSlot *row);
	void		(*require_in_bounds) (FactDef *def, Relation root, Oid leaf, TupleTableSlot *row, bool found);

	/* gathers primary keys, and fetches their rows by one statement */
	struct ForeignBatch *(*gather) (RowRequest *request);
	void		(*gather_add) (struct ForeignBatch *batch, Datum *key, Oid partition);
	void		(*gather_run) (struct ForeignBatch *batch);
	bool		(*gather_find) (struct ForeignBatch *batch, Datum *key, List **rows);
	bool		(*gather_next) (struct ForeignBatch *batch, Datum **key, bool *local, List **rows);
} RowSource;

/* Changes that were taken from the feeds of one server. */
typedef struct FeedBatch
{
	Oid			server;
	int64		limit;			/* at most this many are taken */
	int64		n;
	Datum	   *keys;			/* of those that name a row, nkeys * npk */
	int64		nkeys;
	List	   *whole;			/* OIDs of foreign partitions all rows of
								 * which may have changed */
	List	   *taken;			/* of TakenItems * */
	int64		backlog;		/* how many there are; -1: not asked */
	TimestampTz oldest;			/* when the oldest of them was made */
	TimestampTz until;			/* the server has to have answered by then */
	void		(*queue_whole) (FactDef *def, Oid partition);	/* see apply */
} FeedBatch;

/* Feeds, by which other servers tell what has changed in foreign partitions. */
typedef struct FeedMethods
{
	/* the servers that have a feed of a fact table, by OID */
	List	   *(*of) (Oid fact);
	/* raises an error if a partition has no feed */
	void		(*require) (FactDef *def, Oid relid);
	void		(*require_of) (Relation fact, Oid partition);
	void		(*take) (FactDef *def, FeedBatch *batch);
	bool		(*take_unlocked) (Oid fact_table, FeedBatch *batch, bool count);
	/* applies a batch; queue_whole queues here all rows of a partition */
	void		(*apply) (Oid fact_table, FeedBatch *batch, void (*queue_whole) (FactDef *def, Oid partition));
	int64		(*ack_applied) (void);
	bool		(*wait) (Oid fact, int64 max_lag, TimestampTz until);
	void		(*at_end) (bool committed);
	void		(*at_abort_of) (SubTransactionId sub);
} FeedMethods;

/* Snapshots of the same moment on all servers. */
typedef struct SnapshotMethods
{
	/* the latest snapshot, registered, as taken on all servers */
	Snapshot	(*get) (FactDef *def, Relation fact);
	void		(*release) (void);
	void		(*forget) (void);
	void		(*at_abort_of_sub) (void);
	void		(*note_writers_locked_out) (Oid fact);
	/* raises an error if this transaction has used a server before */
	void		(*check_unused) (Oid fact, const char *what);
	/* warns of what another server does not tell */
	void		(*warn) (Oid fact, bool async);
} SnapshotMethods;

/* What is on other servers, in foreign partitions. */
typedef struct Elsewhere
{
	/* whether a table is on another server */
	bool		(*has) (Oid relid);
	/* lists the leaves of a table that are, or the table itself, by OID */
	List	   *(*leaves) (Oid relid);
	const RowSource *rows;
	const FeedMethods *feeds;
	const SnapshotMethods *snapshots;
} Elsewhere;

/* Where entries are. */
typedef struct EntryStore
{
	/* NULL, or begins a search other than by the indexes of this server */
	void	   *(*search) (struct EntryScan *scan);
	TupleTableSlot *(*next) (void *search);
	void		(*end) (void *search);

	/*
	 * NULL, or fetches the entries of all rows of a batch at once, by index
	 * table
	 */
	void	  **(*of_rows) (struct Reconciliation *rows);
	void		(*of_row) (void *fetched, Datum *key, struct Entries *entries);

	void		(*apply) (IndexDef *def, struct OpList *list);
	/* NULL, or returns whether an error has undone what was written before */
	bool		(*undone) (ErrorData *error);

	/*
	 * why the planner makes no use of index tables, unless
	 * planned_by_entries, or NULL
	 */
	const char *not_planned;
	/* the same of transactional ones, which are used for each part */
	const char *planned_in_parts;
	/* NULL, or returns why they must not answer at this moment, or NULL */
	const char *(*not_now) (void);
	/* NULL, or adds to EXPLAIN what a search of an index table asks */
	void		(*explain) (Oid index_table, struct ExplainState *es);
} EntryStore;

/* The triggers of fact tables and index tables. */
typedef struct TriggerMethods
{
	/* the definition for a table with a trigger that has arguments */
	FactDef    *(*definition) (Relation part);
	/* NULL, or that of the entries which its writers write beside it, or NULL */
	FactDef    *(*definition_beside) (Relation part);
	/* NULL, or whether a fact table has the triggers that its writers need */
	bool		(*as_made) (Relation fact);
	/* NULL, or puts a trigger on a fact table; otherwise SQL does */
	void		(*install) (Oid fact, const char *trigger, const char *event, const char *level);
	/* the same of the guard of an index table */
	void		(*install_guard) (Oid index_table);
	/* NULL, or has the guard carry the definition as it is now */
	void		(*renew_guard) (Oid index_table);
	/* NULL, or drops the triggers of a fact table */
	void		(*remove) (Oid fact);
	/* NULL, or registers here what triggers on other nodes say */
	void		(*adopt) (void);
} TriggerMethods;

/* What create(), build(), verify() and repair() do; each is NULL where their own code does it. */
typedef struct IndexTableMethods
{
	/* raises an error if a fact table cannot have the index table */
	void		(*check) (struct DefinitionRow *row, IndexDef *def, Relation fact, bool populate,
						  bool partitioned);
	/* registers it, in nparts parts; 0: as many as the fact table has */
	void		(*create) (struct DefinitionRow *row, IndexDef *def, Relation fact, Relation index_table,
						   int nparts);
	/* waits until it is active */
	void		(*build) (Oid index_table, Oid fact_table);
	/* reports what is wrong with entries, and may queue it with a number */
	void		(*verify) (IndexDef *def, double sample, int64 number,
						   void (*handler) (struct Discrepancy *d, void *arg), void *arg);

	/*
	 * mends entries; adds what was found first, by kind, and sets what
	 * remains
	 */
	void		(*repair) (Oid index_table, bool commit, int64 *found, int64 *remaining);
	/* has the other nodes make it active, too, once it is mended */
	void		(*activate) (Oid index_table);
	/* lists the parts of an index table that are here, by OID */
	List	   *(*parts) (Oid index_table);
	/* lists the parts of a table of totals that are folded here, by OID */
	List	   *(*folded_parts) (Oid index_table);
} IndexTableMethods;

/* What tables are to the extension that has made the place; see citus/citus_table.c. */
typedef struct TableMethods
{
	/* whether it has taken a table, of whatever kind */
	bool		(*is_taken) (Oid relid);
	/* the table that a table is a part of, or InvalidOid */
	Oid			(*table_of_part) (Oid relid);
	/* whether it is about to make a table a part, under this name */
	bool		(*takes) (Oid relid, const char *new_name);

	/*
	 * has entries and queues follow a partition of a part that was attached,
	 * or is about to go
	 */
	void		(*follow_partition) (Oid partition, bool attached);
	/* whether commands on a table are run on another node */
	bool		(*is_governed_elsewhere) (Oid relid);
	/* each raises an error if a table does not fit */
	void		(*check_fact) (Relation fact, bool async);
	void		(*check_unique) (Oid fact);
	void		(*check_created) (Oid relid);
	void		(*check_unchanging) (Oid index_table, const char *function);
	void		(*check_trigger) (Oid relid, const char *trigger, const char *queue);
	/* why an index table is not kept in step, a constant, or NULL */
	const char *(*problem) (Oid fact, Oid index_table, bool async);
} TableMethods;

typedef struct Place
{
	/* whether a table is there; NULL: all that are nowhere else */
	bool		(*has) (Oid relid);
	const ChangeSource *changes;
	const EntryStore *entries;
	const TriggerMethods *triggers;
	const IndexTableMethods *index_tables;
	const TableMethods *tables; /* NULL: there is nothing to ask */

	/*
	 * Rows of fact tables and index tables are in parts, which only SQL
	 * reaches.  Such tables have no dependencies on each other, but each
	 * command is run for all parts, and DROP TABLE drops them.
	 */
	bool		in_parts;

	/*
	 * NULL, or lists the definitions (DefinitionRow *) of a fact table, which
	 * the catalog has of the table that it is a part of.  Nothing is recorded
	 * there of rows that lack entries, or have values that entries do not
	 * tell.
	 */
	List	   *(*definitions) (Oid fact);

	/*
	 * has a definition of the table that a table is a part of name the
	 * columns as the part numbers them
	 */
	void		(*number_columns) (struct DefinitionRow *row, Oid part, Oid table);
	/* the same for an index table: its fact table, or InvalidOid */
	Oid			(*fact_of) (Oid index_table);
} Place;

/*
 * The statement is planned to read entries, and no rows, of tables whose statements an extension plans
 * otherwise.  None of that extension's hooks is called meanwhile.
 */
extern bool planned_by_entries;

extern const Elsewhere *elsewhere;

/* returns whether this transaction has changed rows on other servers */
extern bool (*has_changed_elsewhere) (Oid fact);

extern void place_register(const Place *place);
extern void place_register_elsewhere(const Elsewhere *methods);
extern const Place *place_of(Oid relid);
extern const Place *place_of_all_others(void);
extern FactDef *place_definition_of_part(Relation part);
extern FactDef *place_definition_beside(Relation part);
extern void place_adopt(void);

/* What the extension of a place says of tables, whatever place they are in; see TableMethods. */
extern bool place_is_taken(Oid relid);
extern Oid	place_table_of_part(Oid relid);
extern bool place_has_parts(Oid relid);
extern bool place_takes(Oid relid, const char *new_name);
extern void place_follow_partition(Oid partition, bool attached);
extern bool place_is_governed_elsewhere(Oid relid);
extern void place_check_fact(Relation fact, bool async);
extern void place_check_unique(Oid fact);
extern void place_check_created(Oid relid);
extern void place_check_unchanging(Oid index_table, const char *function);
extern void place_check_trigger(Oid relid, const char *trigger, const char *queue);
extern const char *place_problem(Oid fact, Oid index_table, bool async);
extern void place_report_problem(const char *index_table, const char *problem);

#endif							/* INDEXTABLE_PLACE_H */
