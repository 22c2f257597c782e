/*-------------------------------------------------------------------------
 *
 * scan.h
 *	  Offers the parts of scans of index tables to each other, from the plan to the rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SCAN_H
#define INDEXTABLE_SCAN_H

#include "executor/execdesc.h"
#include "utils/tuplestore.h"

#include "../entry/scans.h"
#include "../indextable.h"
#include "../planner/plan.h"

/* key_set.c: reads from JSON the keys that are looked up, and keeps them sorted */

/* Keys: values of the leading key columns, as many of each key. */
typedef struct KeySet
{
	int			ncolumns;
	int			n;				/* so many keys; 0: nothing can match */
	Datum	   *values;			/* those of one key after those of another, in
								 * the order of the index table, none twice */
} KeySet;

/* The values of key number i. */
#define KEY_VALUES(set, i)	(&(set)->values[(i) * (set)->ncolumns])

extern void key_set_read(IndexDef *def, Jsonb *json, bool all_allowed, KeySet *set);
extern void key_set_restrict(IndexDef *def, JsonbValue *value, KeySet *set);
extern bool key_set_has(IndexDef *def, KeySet *set, Datum *entry);
extern int	key_set_find(IndexDef *def, KeySet *set, Datum *key);
extern int	sort_key_values(Datum *keys, int n, int ncolumns, SortSupport sort);
extern char *key_columns(IndexDef *def);
extern const char *key_column_name(IndexDef *def, int i);
extern int	find_key_column(IndexDef *def, const char *name);
extern char *condition_example(const char *column, const char *op, JsonbValue *value);
extern const char *operator_meant(const char *op);

/* fetch.c: fetches the fact rows of entries, and returns them or their documents */

/* A look-up in an index table, or a query that reads a page of it. */
typedef struct Lookup
{
	IndexDef   *def;
	FactDef    *factdef;		/* pinned */
	Relation	fact;
	Relation	index_table;
	bool		rows;			/* returns whole rows, else documents */
	bool		entries_only;	/* returns neither */
	bool		shows_entries;	/* returns what is in entries, maybe beside
								 * documents */
	bool		copies;			/* returns the documents that the index table
								 * has */
	bool		secured;		/* the executor fetches rows: row security
								 * applies to the fact table, or virtual
								 * columns are returned */
	bool		ambiguous;		/* several rows of one primary key may be seen */
	bool		recheck;		/* a row may not have the key that is looked
								 * up */
	KeySet		keys;			/* the keys that are looked up */
	Snapshot	snapshot;		/* sees the entries and the rows */
	Snapshot	latest;			/* the same one if this look-up has registered
								 * it, else NULL */

	/* The result, or without store one document at a time. */
	struct Tuplestorestate *store;
	TupleDesc	desc;
	MemoryContext cxt;			/* of the document */
	Datum		document;
	bool		found;

	/* Fetching directly. */
	bool		reading;		/* fact_rows has begun */
	LiveScan	fact_rows;
	bool		caught_up;		/* what is cached of the partitions is as new
								 * as the snapshot */

	/* Fetching through the executor. */
	struct _SPI_plan *plan;		/* NULL: not prepared yet */

	/* Fetching from other servers. */
	struct ForeignBatch *gathering; /* NULL: no row on another server yet */
	bool		gathered;		/* lookup_expect() is over: the rows have been
								 * fetched */
} Lookup;

extern void lookup_expect(Lookup *lookup, TupleTableSlot *entry);
extern bool lookup_document(Lookup *lookup, TupleTableSlot *entry, Datum *document);
extern void lookup_end_documents(Lookup *lookup);
extern void lookup_fetch(Lookup *lookup, TupleTableSlot *entry);
extern void fetch_pending_rows(Lookup *lookup);
extern void key_of_entry(IndexDef *def, TupleTableSlot *entry, Datum *key);

/* Rows whose entries were found. */
typedef struct SeenRows SeenRows;

extern SeenRows *seen_rows_begin(IndexDef *def, MemoryContext cxt);
extern bool seen_row(SeenRows *seen, TupleTableSlot *entry);

/* lookup.c: opens the tables, and checks access */
extern void lookup_open(Lookup *lookup, Oid index_table, int64 max_lag, int64 timeout);
extern void lookup_check_access(Lookup *lookup);
extern void lookup_close(Lookup *lookup);

/* The arguments of query(), in their order; those of lookup() begin in the same way. */
enum
{
	ARG_INDEX_TABLE,
	ARG_KEY,
	ARG_CONDITION,
	ARG_DESCENDING,
	ARG_PAGE_SIZE,
	ARG_CURSOR,
	ARG_DOCUMENT,
	ARG_MAX_LAG,
	ARG_TIMEOUT,
	ARG_PREVIOUS
};

/* keyed_scan.c: scans a partition for rows whose primary keys are known */
extern void add_keyed_path(PlannerInfo *root, RelOptInfo *rel, FactDef *fact, List *keys);
extern Expr *key_condition(Index varno, Form_pg_attribute att, List *keys, int i);
extern bool is_key_condition(Expr *clause);
extern bool is_plan_for_any_partition(Query *statement);
extern bool is_planned_again(CustomScan *owner);
extern PlannedStmt *keep_plan(CustomScan *owner, Query *statement, FactDef *fact, Oid leaf, PlannedStmt *plan);
extern PlannedStmt *kept_plan(CustomScan *owner, FactDef *fact, Oid leaf, List *keys);

/*
 * page_range.c: reads which entries a query pages through, and makes and reads the cursors
 * that tell users as text where a page ends.
 */

/* A lower or an upper bound of a column. */
typedef struct Bound
{
	bool		given;
	bool		inclusive;
	Datum		value;
} Bound;

/* The entries that a query pages through. */
typedef struct KeyRange
{
	KeySet		keys;			/* their leading key fields have one of these */
	Bound		lower;			/* bounds of the key field after these */
	Bound		upper;
	char	   *prefix;			/* what the text of that field begins with, or
								 * NULL */
	bool		empty;			/* nothing can match, as a value is null */
} KeyRange;

/* What a cursor belongs to, as hashes: an index table, and a query of it. */
typedef struct CursorIdentity
{
	uint64		index_table;
	uint64		query;
} CursorIdentity;

extern void key_range(IndexDef *def, Jsonb *key, Jsonb *condition, KeyRange *range);
extern void cursor_identity(IndexDef *def, KeyRange *range, bool descending, CursorIdentity *identity);
extern int	cursor_from(KeyRange *range);
extern Datum cursor_make(CursorIdentity *identity, IndexDef *def, int from, TupleTableSlot *entry);
extern void cursor_read(const char *cursor, CursorIdentity *identity, IndexDef *def, int from,
						Datum *values);

/*
 * partial_row.c: makes rows of the fact table of entries, with those fields of the document
 * that they have.
 */
extern Field *field_in_document(IndexDef *def, AttrNumber attno);
extern bool fields_fit_together(Field *a, Field *b);
extern struct PartialRow *partial_row_begin(IndexDef *def, List *columns);
extern void partial_row_store(struct PartialRow *row, TupleTableSlot *entry, TupleTableSlot *slot);

/* scan_plan.c: makes and reads the plans of scans of index tables */

/* What the executor is told of a kind of scans. */
typedef struct ScanType
{
	CustomScanMethods methods;	/* first: it is all that plans know */
	const CustomExecMethods *exec;
	Size		size;			/* of the state */
} ScanType;

extern const ScanType index_table_scan;
extern const ScanType totals_scan;
extern const ScanType keyed_scan;

/* What EXPLAIN calls the node. */
#define SCAN_NAME	"IndexTable"

/* What custom_private of a plan says. */
typedef struct ScanPlan
{
	/* Stored as it is. */
	Oid			fact;
	Oid			index_table;	/* InvalidOid: only the fallback can be used */
	bool		entries_only;
	bool		backward;
	bool		async;
	Oid			reader;			/* whose rights on the fact table are checked;
								 * InvalidOid: the current user's */
	bool		secured;		/* policies may hide rows: EXPLAIN shows
								 * nothing that these are counted in */
	bool		stored_rows;	/* as in Candidate, and so are these */
	int			not_null;
	uint32		unless;
	bool		distinct;
	bool		partial_rows;
	bool		first;
	bool		last;
	int			nequal;			/* so many leading columns are compared by = */
	int			nconditions;

	/* Stored one by one. */
	Condition  *conditions;		/* without pointers */
	List	   *groups;
	List	   *columns;		/* entries_only: of the index table, for the
								 * columns of custom_scan_tlist, or to make
								 * rows of with partial_rows; otherwise those
								 * of the fact table that are needed, 0: all;
								 * NIL with stored_rows */
	List	   *sources;		/* whose these are, as in Candidate */
	Query	   *fallback;		/* returns the same rows, with stored_rows
								 * their places; its parameters are the
								 * expressions of custom_exprs after the
								 * conditions' values */
} ScanPlan;

/* check_order.c: the order in which conditions are checked */
extern List *clauses_of_arm(Candidate *c, List *clauses);
extern List *in_safe_order(PlannerInfo *root, RelOptInfo *rel, List *clauses);
extern List *in_server_order(PlannerInfo *root, List *clauses);
extern Index security_level(PlannerInfo *root, RestrictInfo *rinfo, Cost *cost);

/* scan_plan.c */
extern CustomPath *make_scan_path(RelOptInfo *rel, Candidate *c);
extern void add_scan_path(PlannerInfo *root, RelOptInfo *rel, Path *path);
extern void return_stored_rows(ScanState *node);
extern bool any_row_passes(ScanState *node, TupleTableSlot *slot);
extern bool scan_wants_system_columns(RelOptInfo *rel, List *clauses);
extern Node *replace_by_parameters(Node *node, Index varno, Index second, List **values);
extern RangeTblEntry *relation_of_index_table(IndexDef *def);
extern IndexDef *definition_of_scan(EState *estate, Oid fact, Oid index_table, bool async, FactDef **factdef);
extern Node *create_scan_state(CustomScan *plan);
extern void read_scan_plan(CustomScan *scan, ScanPlan *plan);

/* Describes a scan of an index table that is executed, and offers its parts to each other */

/* A scan of an index table. */
typedef struct IndexTableScan
{
	CustomScanState css;		/* first: it is all that the executor knows */
	ScanPlan	plan;
	List	   *values;			/* of ExprState *, by custom_exprs */
	Relation	fact_table;
	FactDef    *fact;			/* pinned, or NULL */
	IndexDef   *def;			/* NULL: entries cannot answer */
	Relation	index_table;
	CommandId	begun_at;		/* the command id of the start */
	bool		in_step;		/* the snapshot sees the entries of just the
								 * rows that it sees */
	bool		complete;		/* no row that matters lacks its entry */
	const char *refused;		/* why its user may not read the index table,
								 * or NULL */
	const char *why;			/* entries could not answer some search, or
								 * NULL */
	TupleTableSlot *entry;		/* of a part of an AND: where it is, or NULL */

	/* The search. */
	MemoryContext cxt;			/* of the values of the search keys */
	bool		begun;			/* entries is valid */
	EntryScan	entries;
	bool		fetching;		/* rows is valid */
	LiveScan	rows;
	ScanKeyData *keys;
	int			array_key;		/* which key has one of several values, or -1 */
	Datum	   *elements;		/* its values, in the order of the scan */
	int			nelements;
	int			next_element;
	struct LooseScan *loose;	/* reads ends of groups only, or NULL */
	struct SeenRows *seen;		/* whose entries were found, or NULL */
	struct PartialRow *partial; /* makes rows of entries, or NULL */
	int			last_column;	/* of the fact row that is needed */

	/* Of the search since the last rescan. */
	bool		started;
	bool		nothing;		/* a value is NULL */
	QueryDesc  *fallback;		/* answers instead, or NULL, */
	MemoryContext fallback_cxt; /* and has this; */
	PlannedStmt *fallback_plan; /* its plan, or NULL */
	bool		fell_back;		/* a fallback has ended */

	/* For a cursor that goes back. */
	Tuplestorestate *kept;		/* rows that were found since the last rescan;
								 * NULL: none are kept */
	bool		all_kept;		/* there are no more */
	TupleTableSlot *kept_slot;

	/* With parallel workers; see scan_keys.c. */
	struct SharedScan *shared;	/* in shared memory, or NULL */
	Size		shared_size;	/* of the memory that was asked for; 0: none
								 * to share a scan */

	/* For EXPLAIN ANALYZE. */
	uint64		ended_entries;	/* what was read by parts of it that have
								 * ended, as in EntryScan */
	uint64		ended_heap_fetches;
	uint64		searches;
	uint64		rows_fetched;
} IndexTableScan;

/* scan_keys.c: the search keys, and what a leader and parallel workers share */
extern void make_keys(IndexTableScan *scan);
extern const char *set_keys(IndexTableScan *scan);
extern void start_search(IndexTableScan *scan);
extern TupleTableSlot *next_entry(IndexTableScan *scan);
extern void search_whole_array(IndexTableScan *scan);
extern Size shared_scan_size(IndexTableScan *scan, bool shared);
extern bool share_scan(IndexTableScan *scan, struct SharedScan *shared);
extern void join_scan(IndexTableScan *scan, struct SharedScan *shared);
extern void stop_sharing(IndexTableScan *scan);

/* scan_fallback.c: answers for a scan of an index table by a native plan */
extern void begin_fallback(IndexTableScan *scan);
extern TupleTableSlot *next_of_fallback(IndexTableScan *scan);
extern void end_fallback(IndexTableScan *scan);

extern PlannedStmt *plan_fallback(EState *estate, Query *fallback, ParamListInfo params);

/* Of any query that is executed for another one. */
extern ParamListInfo parameters_of_scan(CustomScanState *scan, List *values, int first);
extern QueryDesc *begin_inner_query(PlannedStmt *plan, Snapshot snapshot, ParamListInfo params, QueryEnvironment *env);
extern TupleTableSlot *next_of_inner_query(QueryDesc *query);
extern void end_inner_query(QueryDesc *query);
extern TupleTableSlot *return_columns(TupleTableSlot *slot, TupleTableSlot *row);

#endif							/* INDEXTABLE_SCAN_H */
