/*-------------------------------------------------------------------------
 *
 * scan.h
 *	  Offers the parts of scans of index tables to each other, from the plan to the rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SCAN_H
#define INDEXTABLE_SCAN_H

#include "commands/explain.h"
#include "executor/execdesc.h"
#include "nodes/extensible.h"
#include "nodes/params.h"
#include "utils/tuplestore.h"

#include "../fetch/fetch.h"
#include "../indextable.h"
#include "../match/match.h"

/* scan_plan.c: what plans of scans of index tables say */

/* What the executor is told of a kind of scans. */
typedef struct ScanType
{
	CustomScanMethods methods;	/* first: it is all that plans know */
	const CustomExecMethods *exec;
	Size		size;			/* of the state */
} ScanType;

extern const ScanType index_table_scan;
extern const ScanType totals_scan;

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
	bool		ordered;		/* the order of entries is wanted */
	bool		async;
	Oid			reader;			/* whose rights on the fact table are checked;
								 * InvalidOid: the current user's */
	bool		secured;		/* policies may hide rows: EXPLAIN shows
								 * nothing that these are counted in */
	bool		stored_rows;	/* as in Candidate, and so are these */
	uint32		unless;
	uint64		excluded;
	bool		distinct;
	bool		partial_rows;
	bool		first;
	bool		last;
	bool		null_groups;	/* columns that tell groups may be NULL */
	bool		null_ends;		/* the column after them may be NULL, of which
								 * the greatest value is read */
	AttrNumber	elements;		/* of the index table: how often an entry is
								 * returned; 0: once */
	int			nequal;			/* number of leading columns that are compared
								 * by = */
	int			limit;			/* number of entries of one search that are
								 * enough; 0: all */
	bool		any_part;		/* returns the rows that one of its parts
								 * finds or several, each once */
	bool		has_checks;		/* the last of custom_exprs lists conditions
								 * that are checked for entries, before rows
								 * are fetched */
	int			nconditions;

	/* Stored one by one. */
	Condition  *conditions;		/* without pointers */
	List	   *groups;
	List	   *columns;		/* entries_only: of the index table, for the
								 * columns of custom_scan_tlist, a negative
								 * one for whether it is not NULL, or to make
								 * rows of with partial_rows; otherwise those
								 * of the fact table that are needed, 0: all;
								 * NIL with stored_rows */
	List	   *sources;		/* whose these are, as in Candidate; with
								 * partial_rows: what they become, as for
								 * partial_row_begin() */
	List	   *functions;		/* OIDs of those that conditions and columns
								 * call, or have called for entries */
	PlannedStmt *query;			/* finds entries in place of a search, or
								 * NULL; its parameters are the first of those
								 * of the fallback */
	Query	   *fallback;		/* returns the same rows, with stored_rows
								 * their places; its parameters are the
								 * expressions of custom_exprs after the
								 * conditions' values */
} ScanPlan;

extern void return_stored_rows(ScanState *node);
extern bool any_row_passes(ScanState *node, TupleTableSlot *slot);
extern IndexDef *definition_of_scan(EState *estate, Oid fact, Oid index_table, bool async, FactDef **factdef);
extern Node *create_scan_state(CustomScan *plan);
extern List *write_scan_plan(ScanPlan *plan);
extern void read_scan_plan(CustomScan *scan, ScanPlan *plan);
extern const char *why_not_stale(IndexDef *def, Oid user);
extern void require_execute(List *functions);

/*
 * partial_row.c: makes rows of the fact table, and elements of them, of entries, with those fields of
 * the documents that they have.
 */
extern Field *field_in_document(IndexDef *def, AttrNumber attno);
extern bool fields_fit_together(Field *a, Field *b);
extern struct PartialRow *partial_row_begin(IndexDef *def, List *columns, List *columns_of_rows);
extern void partial_row_store(struct PartialRow *row, TupleTableSlot *entry, TupleTableSlot *slot);

/* Describes a scan of an index table that is executed, and offers its parts to each other */

/* A scan of an index table. */
typedef struct IndexTableScan
{
	CustomScanState css;		/* first: it is all that the executor knows */
	ScanPlan	plan;
	List	   *values;			/* of ExprState *, by custom_exprs, but for
								 * the checks of entries */
	ExprState  *checks;			/* of entries, before rows are fetched, or
								 * NULL */
	Relation	fact_table;
	FactDef    *fact;			/* pinned, or NULL */
	IndexDef   *def;			/* NULL: entries cannot answer */
	Relation	index_table;
	CommandId	begun_at;		/* the command id of the start */
	bool		locked;			/* the partitions have been locked since then */
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
	bool		fetching;		/* rows and batch are valid */
	LiveScan	rows;
	FactBatch	batch;			/* of those that are fetched */
	QueryDesc  *query;			/* finds entries instead, or NULL */
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
	TupleTableSlot *counted;	/* the entry that was returned last, ... */
	int			times;			/* ... and how often it is to be returned yet */
	int			part;			/* with any_part: the number of the part that
								 * is read ... */
	struct IndexTableScan *returned;	/* ... or, in order, that the row was
										 * of which was returned last; or NULL */
	QueryDesc  *fallback;		/* answers instead, or NULL */
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

/* scan_node.c: returns the rows */
extern const char *why_not_entries_below(PlanState *node);

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

/* users_index_search.c: finds entries by the server's plan of a query of them */
extern void begin_users_index_search(IndexTableScan *scan);
extern TupleTableSlot *next_of_users_index_search(IndexTableScan *scan);
extern void explain_users_index_search(IndexTableScan *scan, ExplainState *es);

/* scan_fallback.c: answers for a scan of an index table by a native plan */
extern void begin_fallback(IndexTableScan *scan);
extern TupleTableSlot *next_of_fallback(IndexTableScan *scan);
extern void end_fallback(IndexTableScan *scan);

/* inner_query.c: a query in place of a part of another one */
extern Query *query_of_table(RangeTblEntry *rte, List *targets, Node *quals);
extern PlannedStmt *plan_natively(Query *query, const char *text, int options, ParamListInfo params);
extern bool is_planned_natively(void);
extern PlannedStmt *plan_without_index_tables(Query *query, int options, ParamListInfo params);
extern PlannedStmt *plan_fallback(EState *estate, Query *fallback, ParamListInfo params);
extern ParamListInfo parameters_of_scan(CustomScanState *scan, List *values, int first);
extern QueryDesc *begin_inner_query(PlannedStmt *plan, Snapshot snapshot, ParamListInfo params,
									QueryEnvironment *env, int instrument, int eflags);
extern TupleTableSlot *next_of_inner_query(QueryDesc *query);
extern void end_inner_query(QueryDesc *query);
extern QueryDesc *begin_query_of_scan(CustomScanState *scan, PlannedStmt *plan, List *values, int first,
									  int instrument);
extern void end_query_of_scan(QueryDesc **query);
extern void explain_inner_query(QueryDesc *query, ExplainState *es);
extern void explain_inner_plan(PlannedStmt *plan, EState *estate, ExplainState *es);
extern TupleTableSlot *return_columns(TupleTableSlot *slot, TupleTableSlot *row);

/* scan_explain.c: shows scans of index tables in EXPLAIN */
extern void explain_scan(CustomScanState *node, List *ancestors, ExplainState *es);
extern void explain_index_table(const char *label, Oid index_table, ExplainState *es);

/* totals_node.c: answers from totals, or the fact table */

/* The name that EXPLAIN shows. */
#define TOTALS_NAME		"IndexTableTotals"

/* The members of custom_private. */
enum
{
	TOTALS_TABLES,				/* OIDs: fact table, table of totals */
	TOTALS_NEEDS,				/* integers: whether sums must have all
								 * values, and VALUE_BITS that rows must not
								 * have */
	TOTALS_FUNCTIONS,			/* OIDs of those that the query calls */
	TOTALS_PLAN,				/* of the query of totals */
	TOTALS_FALLBACK,			/* the query of the fact table */

	/* A path has these, too. */
	TOTALS_VALUES,				/* parameters of both queries */
	TOTALS_DEF,					/* the table of totals, IndexDef * */
	TOTALS_VARNO				/* of the fact table in the query */
};

#endif							/* INDEXTABLE_SCAN_H */
