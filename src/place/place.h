/*-------------------------------------------------------------------------
 *
 * place.h
 *	  What a place does: where the rows of a fact table, its queued changes and its entries are.
 *
 * A place is picked once for a definition.  The code above asks it to do something, and never
 * what kind of place it is.  What has no method, because there is nothing to do, is NULL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PLACE_H
#define INDEXTABLE_PLACE_H

#include "access/htup.h"
#include "datatype/timestamp.h"
#include "utils/rel.h"

#include "../indextable.h"

struct DefinitionRow;
struct Discrepancy;
struct Drain;
struct DrainCall;
struct Entries;
struct EntryScan;
struct FactTableRow;
struct LiveScan;
struct OpList;
struct QueueCount;

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
} RowSource;

/* Where entries are. */
typedef struct EntryStore
{
	/* NULL, or begins a search other than by the indexes of this server */
	void	   *(*search) (struct EntryScan *scan);
	TupleTableSlot *(*next) (void *search);
	void		(*end) (void *search);

	/* NULL, or fetches the entries of all rows of a batch at once */
	void	   *(*of_rows) (IndexDef *def, Datum *keys, int n);
	void		(*of_row) (void *fetched, Datum *key, struct Entries *entries);

	void		(*apply) (IndexDef *def, struct OpList *list);
	/* NULL, or returns whether an error has undone what was written before */
	bool		(*undone) (ErrorData *error);
	/* why the planner makes no use of index tables, or NULL */
	const char *not_planned;
} EntryStore;

/* The triggers of fact tables and index tables. */
typedef struct TriggerMethods
{
	/* the definition for a table with a trigger that has arguments */
	FactDef    *(*definition) (Relation part);
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
	void		(*check) (struct DefinitionRow *row, FactDef *def, Relation fact, bool populate, bool partitioned);
	/* registers it, in so many parts; 0: as many as the fact table has */
	void		(*create) (struct DefinitionRow *row, IndexDef *def, Relation fact, Relation index_table, int nparts);
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
} IndexTableMethods;

typedef struct Place
{
	const ChangeSource *changes;
	const RowSource *leaves;	/* of those leaves that are no tables here */
	const EntryStore *entries;
	const TriggerMethods *triggers;
	const IndexTableMethods *index_tables;

	/*
	 * Rows of fact tables and index tables are in parts, which only SQL
	 * reaches.  Such tables have no dependencies on each other, but each
	 * command is run for all parts, and DROP TABLE drops them.
	 */
	bool		in_parts;
	/* why an index table cannot be of totals, or NULL */
	const char *no_totals;
} Place;

extern const RowSource foreign_rows;
extern const Place local_place;
extern const Place citus_place;

/* What other extensions have made of a table; see citus/citus_table.c. */
extern bool place_is_taken(Oid relid);
extern Oid	place_table_of_part(Oid relid);
extern bool place_has_parts(Oid relid);
extern bool place_takes(Oid relid, const char *new_name);
extern bool place_is_governed_elsewhere(Oid relid);
extern void place_check_fact(Relation fact, bool async);
extern void place_check_unique(Oid fact);
extern void place_check_created(Oid relid);
extern void place_check_unchanging(Oid index_table, const char *function);
extern const char *place_problem(Oid fact, Oid index_table, bool async);
extern void place_check_index_table(Oid index_table);
extern void place_report_problem(const char *index_table, const char *problem);

/* place_of: returns where the rows of a table are, or of a queue or an index table of one */
static inline const Place *
place_of(Oid relid)
{
	return place_has_parts(relid) ? &citus_place : &local_place;
}

/* place_with_arguments: returns the place whose triggers have arguments */
static inline const Place *
place_with_arguments(void)
{
	return &citus_place;
}

#endif							/* INDEXTABLE_PLACE_H */
