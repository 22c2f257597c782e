/*-------------------------------------------------------------------------
 *
 * foreign.h
 *	  Offers the rows and the changes of partitions that are on other servers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FOREIGN_H
#define INDEXTABLE_FOREIGN_H

#include "../indextable.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/sql.h"

/* elsewhere.c: registers what is on other servers */
extern void foreign_init(void);

/* feed_client.c: takes changes from feeds on other servers, applies and acknowledges them */

extern List *feed_servers(Oid fact);
extern void feeds_require(FactDef *def, Oid relid);
extern void feeds_require_of(Relation fact, Oid partition);
extern void feed_take(FactDef *def, FeedBatch *batch);
extern int64 feed_ack_applied(void);
extern bool feeds_wait(Oid fact, int64 max_lag, TimestampTz until);
extern void feed_at_end(bool committed);
extern void feed_at_abort_of(SubTransactionId sub);
extern bool feed_take_unlocked(Oid fact_table, FeedBatch *batch, bool count);
extern void feed_apply(Oid fact_table, FeedBatch *batch, void (*queue_whole) (FactDef *def, Oid partition));

/*
 * foreign_plan_make.c: makes the plan that asks several partitions on other servers for rows
 * by their primary keys.
 */

extern bool is_of_postgres_fdw(Oid relid, Oid *server);
extern bool is_server_of_postgres_fdw(Oid server);
extern Oid	key_type(FactDef *def, int k);
extern const char *key_column(FactDef *def, int i);
extern char *select_rows(RowRequest *request, AttrNumber **columns, int *n);
extern void store_row(FactDef *def, HeapTuple tuple, TupleDesc desc, AttrNumber *columns, TupleTableSlot *slot);

/* A plan that asks partitions. */
typedef struct ForeignPlan
{
	struct ForeignPlan *next;	/* kept by the same definition */
	MemoryContext cxt;			/* has all of it */
	uint64		changes;		/* the number of changes when it was made */
	int			uses;			/* executions that have not ended */
	Bitmapset  *columns;		/* what is read, as in RowRequest */
	AttrNumber *attnos;			/* the same columns, in their order */
	int			nattnos;
	bool		joined;			/* partitions of a server are joined */
	int			n;
	Oid		   *relids;			/* the partitions, sorted */
	int		   *joins;			/* which join each is in */
	int			njoins;
	int			width;			/* partitions in the largest join */
	char	   *sql;
	PlannedStmt *stmt;
	Append	   *append;			/* NULL: the plan is always executed as a
								 * whole */
	Plan	  **members;		/* of append, by join */
} ForeignPlan;

extern uint64 foreign_plan_changes(void);
extern ForeignPlan *foreign_plan_make(FactDef *def, MemoryContext parent, Bitmapset *columns, bool joined,
									  Oid *relids, int n);

/* foreign_rows.c: reads rows of foreign partitions: all of them, by key, or gathered by key */
extern const RowSource foreign_rows;
extern bool foreign_keys_in_order(FactDef *def, Relation leaf);
extern Datum *foreign_scan_keys(FactDef *def, Relation root, Relation leaf, Datum *after, int limit, int *n);
extern bool in_bounds(FactDef *def, Relation root, Oid leaf, TupleTableSlot *row);
extern void require_in_bounds(FactDef *def, Relation root, Oid leaf, TupleTableSlot *row, bool found);

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

/* remote_table.c: tables of other servers */
extern bool is_foreign(Oid relid);
extern List *foreign_leaves(Oid relid);
extern Oid	reading_role(Oid fact, Oid partition);

/*
 * foreign_snapshot.c: takes snapshots of the same moment on all servers that have partitions
 * of a fact table, and warns and refuses where that is not enough.
 */
extern void release_foreign_snapshot(void);
extern void forget_foreign_snapshot(void);
extern void foreign_snapshot_at_abort_of_sub(void);
extern List *foreign_servers(Oid fact);
extern void check_servers_unused(Oid fact, const char *what);
extern void note_writers_locked_out(Oid fact);
extern Snapshot get_synchronized_snapshot(FactDef *def, Relation fact);
extern void warn_foreign(Oid fact, bool async);

#endif							/* INDEXTABLE_FOREIGN_H */
