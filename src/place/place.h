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

struct Drain;
struct DrainCall;
struct Entries;
struct EntryScan;
struct FactTableRow;
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
	/* NULL, or registers here what triggers on other nodes say */
	void		(*adopt) (void);
} TriggerMethods;

typedef struct Place
{
	const ChangeSource *changes;
	const EntryStore *entries;
	const TriggerMethods *triggers;
	bool		has_leaves;		/* rows are in leaves, if not partitioned too */
} Place;

extern const Place local_place;
extern const Place citus_place;

extern const Place *place_of(Oid relid);
extern const Place *place_with_arguments(void);

#endif							/* INDEXTABLE_PLACE_H */
