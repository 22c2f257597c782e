/*-------------------------------------------------------------------------
 *
 * lookup.h
 *	  Offers the parts of look-ups in index tables by name to each other.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_LOOKUP_H
#define INDEXTABLE_LOOKUP_H

#include "utils/jsonb.h"
#include "utils/tuplestore.h"

#include "../fetch/fetch.h"
#include "../indextable.h"

/* key_set.c: reads from JSON the keys that are looked up, and keeps them sorted */

/* Keys: values of the leading key columns, as many of each key. */
typedef struct KeySet
{
	int			ncolumns;
	int			n;				/* number of keys; 0: nothing can match */
	Datum	   *values;			/* those of one key after those of another, in
								 * the order of the index table, none twice */
} KeySet;

/* The values of key number i. */
#define KEY_VALUES(set, i)	(&(set)->values[(i) * (set)->ncolumns])

extern void key_set_read(IndexDef *def, Jsonb *json, bool all_allowed, KeySet *set);
extern void key_set_restrict(IndexDef *def, JsonbValue *value, KeySet *set);
extern bool key_set_has(IndexDef *def, KeySet *set, Datum *entry, bool *isnull);
extern int	key_set_find(IndexDef *def, KeySet *set, Datum *key, bool *isnull);
extern char *key_columns(IndexDef *def);
extern const char *key_column_name(IndexDef *def, int i);
extern int	find_key_column(IndexDef *def, const char *name);
extern char *condition_example(const char *column, const char *op, JsonbValue *value);
extern const char *operator_meant(const char *op);

/* row_fetch.c: fetches the fact rows of entries, and returns them or their documents */

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
	TupleTableSlot *entry;		/* the entry whose document is looked up, or
								 * NULL */
	Snapshot	snapshot;		/* sees the entries and the rows */
	Snapshot	latest;			/* the same one if this look-up has registered
								 * it, else NULL */

	/* The result, or without store one document at a time. */
	struct Tuplestorestate *store;
	TupleDesc	desc;
	MemoryContext cxt;			/* of the document */
	Datum		document;
	bool		found;
	FmgrInfo	to_jsonb;		/* makes a document of a row where the fact
								 * table has none; fn_oid is InvalidOid before
								 * it is needed */
	MemoryContext row_cxt;		/* of such a row, or NULL */

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

extern bool lookup_reads_whole_rows(Lookup *lookup);
extern void lookup_expect(Lookup *lookup, TupleTableSlot *entry);
extern bool lookup_document(Lookup *lookup, TupleTableSlot *entry, Datum *document);
extern void lookup_end_documents(Lookup *lookup);
extern void lookup_fetch(Lookup *lookup, TupleTableSlot *entry);
extern void fetch_pending_rows(Lookup *lookup);

/* lookup.c: opens the tables, and checks access */
extern void lookup_open(Lookup *lookup, Oid index_table, int64 max_lag, int64 timeout);
extern void lookup_check_access(Lookup *lookup);
extern void require_active(IndexDef *def);
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
						Datum *values, bool *isnull);

#endif							/* INDEXTABLE_LOOKUP_H */
