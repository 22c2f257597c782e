/*-------------------------------------------------------------------------
 *
 * citus.h
 *	  Offers the rows, the queue and the entries of fact tables that Citus has distributed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_CITUS_H
#define INDEXTABLE_CITUS_H

#include "utils/array.h"

#include "../catalog/catalog.h"
#include "../entry/entry.h"
#include "../fetch/fetch.h"
#include "../indextable.h"
#include "../queue/queue.h"
#include "../util/sql.h"
#include "../verify/verify.h"

/* what Citus says of tables and shards */
typedef enum CitusKind
{
	CITUS_NONE,					/* nothing: an ordinary table */
	CITUS_DISTRIBUTED,			/* its rows are in shards: by hash, range or
								 * append, or all in a single one */
	CITUS_REFERENCE,			/* each node has all of its rows */
	CITUS_LOCAL,				/* the coordinator has all of its rows, in a
								 * shard */
	CITUS_SHARD					/* a shard of one of these */
} CitusKind;

/* citus_place.c: registers the place */
extern void citus_init(void);

extern CitusKind citus_kind(Oid relid);
extern void require_citus(const char *function);

/* How a table is distributed. */
typedef struct CitusTable
{
	bool		by_hash;
	bool		replicated;		/* a shard has more than one placement */
	char	   *column;			/* by which rows are distributed, or NULL */
	int			nshards;
} CitusTable;

/* A shard, wherever it is. */
typedef struct ShardBounds
{
	int64		number;			/* that Citus has given it */
	int32		min;			/* it has the rows whose hash is in these */
	int32		max;			/* bounds, both included */
} ShardBounds;

/* A shard of a fact table, and that of its queue, both of the same rows. */
typedef struct ShardPair
{
	int64		fact_shard;		/* the numbers that Citus has given them */
	int64		queue_shard;
	Oid			fact;			/* the tables that they are on this node */
	Oid			queue;
	int32		min;			/* they have the rows whose hash is in these */
	int32		max;			/* bounds, both included */
	int			column;			/* of the primary key, from 0, by which Citus
								 * distributes rows */
} ShardPair;

extern bool citus_is_taken(Oid relid);
extern Oid	citus_table_of_part(Oid relid);
extern Oid	root_of_shard(Oid shard);
extern bool citus_has_parts(Oid relid);
extern bool citus_takes(Oid relid, const char *name);
extern bool citus_is_governed_elsewhere(Oid relid);
extern void citus_check_fact(Relation fact, bool async);
extern void citus_check_unique(Oid fact);
extern void citus_check_created(Oid relid);
extern void citus_check_trigger(Oid relid, const char *trigger, const char *queue);
extern void citus_check_unchanging(Oid index_table, const char *function);
extern const char *citus_problem(Oid fact, Oid index_table, bool async);
extern bool citus_is_installed(void);
extern bool has_type_within(Oid type, bool (*test) (Oid type));
extern bool calls_code_of_owner(Oid type);
extern int	citus_local_group(void);
extern AttrNumber citus_distribution_column(Oid relid);
extern void citus_read_table(Oid relid, CitusTable *table);
extern bool citus_places_now(Oid shard);
extern bool is_altered_here(Relation shard, AttrNumber attno);
extern Oid	citus_colocated_shard(Oid shard, Oid table, Oid other);
extern int	citus_shard_count(Oid table);
extern bool citus_are_colocated(Oid table, Oid other);
extern List *citus_local_shards(Oid fact, Oid queue);
extern void citus_require_pair(ShardPair *pair, Oid fact);
extern List *citus_shards_here(Oid relid, char **numbers);
extern char *citus_shard_numbers(Oid relid);
extern List *citus_shards_on(Oid relid, List *groups);
extern List *groups_with_shards(List *tables);
extern void citus_lock_shards(List *pairs);
extern void citus_lock_table(Oid relid);
extern ShardPair *shard_of_key(List *shards, FactDef *def, Datum *key);
extern int	begin_citus_settings(void);
extern void use_one_connection(void);
extern void run_with_citus_settings(const char *sql);

/* shard_partition.c: shards of partitioned fact tables */
extern void follow_partition_of_shard(Oid partition, bool attached);
extern void queue_truncated(Oid relid);
extern Snapshot snapshot_of_shards(FactDef *def, List *shards);
extern Oid	leaf_of_shard(FactDef *def, Oid shard, Datum *key);

/* shard_pair.c: index tables beside their shards */
extern bool citus_is_part(Oid relid);
extern List *index_table_shards(Oid index_table);
extern List *folded_shards(Oid totals);
extern List *shard_definitions(Oid shard);
extern void number_columns_of_shard(DefinitionRow *row, Oid shard, Oid table);
extern bool shard_triggers_as_made(Relation shard);
extern FactDef *shard_definition_beside(Relation shard);
extern void fill_pair(ShardPair *pair);
extern Oid	fact_of_shard(Oid index_shard);

/* plain_query.c: queries that name fact tables */
extern void plain_query_init(void);

/* not_now.c: what keeps entries from answering at a moment */
extern void not_now_init(void);
extern const char *why_not_now(void);

/* session.c: what this session is, and has done */
extern bool is_for_citus(void);
extern void note_write(void);
extern bool has_written(void);
extern void note_setting(void);
extern bool has_sent_settings(void);
extern void refuse_after_settings(void);
extern void refuse_sent_setting(const char *name);

/* entries */
extern void *distributed_scan_start(EntryScan *search);
extern TupleTableSlot *distributed_scan_next(void *search);
extern void distributed_scan_end(void *search);
extern void explain_shards(Oid index_table, struct ExplainState *es);
extern void run_kept(Oid relid, const char *sql, ParamListInfo params, Snapshot snapshot, DestReceiver *dest);
extern Rows query_kept(const char *sql, int nargs, Oid *types, Datum *values);
extern void **fetch_distributed_entries(struct Reconciliation *r);
extern void find_fetched_entries(void *all, Datum *key, Entries *entries);
extern void apply_distributed_ops(IndexDef *def, OpList *list);

/* the queue */
extern void distribute_queue(FactDef *def, Oid queue);
extern void shard_find_queue(FactDef *def, Leaf *shard);
extern Oid	queue_of_shard(Oid shard, Oid fact, Oid queue);
extern int64 next_queue_number(void);
extern int64 new_command_number(void);
extern bool shard_append(FactDef *def, Oid queue, HeapTuple *rows, int n);
extern void queue_all_rows(Relation shard, Oid relid, Oid queue, int64 number);
extern List *shards_with_queues(FactDef *def);
extern bool shard_queue_has_rows(FactDef *def, Oid relid, bool held);
extern void read_shard_keys(FactDef *def, List *shards, Snapshot snapshot, Keys *keys);
extern bool shard_queues_wait(Oid fact_table);
extern bool count_distributed_queue(FactTableRow *queue, QueueCount *count);
extern char *numbers_queued(Oid queue, TimestampTz before);
extern bool still_queued(Oid queue, TimestampTz before, const char *numbers);
extern bool wait_for_distributed_queue(FactTableRow *queue, int64 max_lag, TimestampTz until);

/*
 * The number of a row in a queue that is applied as far as nodes can be reached; the others are between this and
 * its negative.
 */
#define HELD_NUMBER			(INT64CONST(1) << 62)

/* held_number: returns what the number of a row becomes when it is held */
static inline int64
held_number(int64 number)
{
	return number < 0 ? number - HELD_NUMBER : number + HELD_NUMBER;
}

/* drains */
extern bool shard_drain_begin(Drain *drain);
extern void shard_drain_take(Drain *drain);
extern void drain_all_nodes(Oid fact_table, DrainCall *call);

/* prepared.c: transactions that Citus has prepared on any node */

/* In their list: a node has begun a new timeline since the entries were right. */
#define NEW_TIMELINE	"new timeline"

/* A regular expression of the names that Citus gives to transactions which it prepares. */
#define GIDS_OF_NODE(node)	"^citus_" node "_[0-9]+_[0-9]+_[0-9]+$"
#define GIDS_OF_ALL_NODES	GIDS_OF_NODE("[0-9]+")

extern const char *gids_of_drains(List *shards);
extern void note_met(List *shards);
extern List *prefixes_of_tables(FactDef *def);
extern void wait_for_prepared(FactDef *def, const char *gids);
extern void wait_for_prepared_here(const char *gids, List *prefixes);
extern List *prepared_transactions(FactDef *def, const char *gids, bool may_lock);
extern List *committed_transactions(List *names);

/* ask_node.c: functions that are called on nodes, over the connections that Citus keeps */

/* A node that has shards, and how it is asked: by the shard of a table that has a value. */
typedef struct AskedNode
{
	int			group;			/* the number by which Citus knows it */
	bool		here;			/* it is this node, which needs no shard */
	Oid			table;
	AttrNumber	column;
	Oid			type;			/* of the column: its base type */
	Datum		value;
} AskedNode;

/* The call of a function, in SQL, with its parameters, and room for one more. */
typedef struct NodeCall
{
	const char *call;
	int			nargs;
	Oid			types[5];
	Datum		values[5];
} NodeCall;

extern List *nodes_with_shards(List *tables, Oid asked);
extern Datum ask_node(AskedNode *node, NodeCall *call, bool *isnull);
extern List *texts_of_array(ArrayType *array);

/* down_nodes.c: nodes that cannot be reached */
extern void suspect_nodes(void);
extern void suspect_nodes_after(ErrorData *error);
extern List *nodes_down(int *again);

/* Nodes that the present drain leaves out, by the numbers of their groups. */
extern List *nodes_left_out;

/* They have shards of the index tables, so that this drain consumes no key. */
extern bool holding_keys;

extern bool trouble_with_nodes(Oid fact_table, Trouble *trouble);

/* guard.c */
extern int64 guard_number(Oid index_table);
extern bool is_guarded(Oid relid);

/* triggers, and what they tell other nodes */
extern FactDef *shard_definition(Relation shard);
extern void distributed_install_fact(Oid fact, const char *trigger, const char *event, const char *level);
extern void install_guard_with(Oid index_table, int64 number);
extern void distributed_install_guard(Oid index_table);
extern void distributed_renew_guard(Oid index_table);
extern void distributed_remove_triggers(Oid fact);
extern void adopt_distributed(void);
extern void shard_guard_init(void);

/* This session is writing entries of distributed index tables. */
extern bool writing_distributed;

/* index tables */
extern void check_distributed(DefinitionRow *row, IndexDef *def, Relation fact, bool populate, bool partitioned);
extern void register_distributed(DefinitionRow *row, IndexDef *def, Relation fact, Relation index_table,
								 int nshards);
extern void build_distributed(Oid index_table, Oid fact_table);
extern void verify_all_shards(IndexDef *def, double sample, int64 repair, discrepancy_handler handler, void *arg);
extern void repair_shards(Oid index_table, bool commit, int64 *first, int64 *remaining);
extern void activate_on_all_nodes(Oid index_table);

#endif							/* INDEXTABLE_CITUS_H */
