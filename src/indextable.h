/*-------------------------------------------------------------------------
 *
 * indextable.h
 *	  Defines what all folders but util/ share: the types that describe fact tables and
 *	  index tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_H
#define INDEXTABLE_H

#include "postgres.h"

#include "access/attnum.h"
#include "access/skey.h"
#include "access/tupdesc.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "nodes/bitmapset.h"
#include "nodes/execnodes.h"
#include "nodes/pg_list.h"
#include "utils/hsearch.h"
#include "utils/sortsupport.h"

#include "util/compat.h"

/* The name of the extension, and of the schema of what users call. */
#define IT_SCHEMA			"indextable"
/* The schema of everything else since version 1.1. */
#define IT_INTERNAL			"indextable_internal"

/* What an entry has beside the key and the primary key: nothing, included fields, the document. */
typedef enum Strategy
{
	STRATEGY_NORMALIZED,
	STRATEGY_PARTIAL,
	STRATEGY_DENORMALIZED,
	STRATEGY_TOTALS				/* what to add up: see entry/deltas.c */
} Strategy;

/* When entries are written: in the writer's transaction, or through the queue. */
typedef enum Maintenance
{
	MAINTENANCE_TRANSACTIONAL,
	MAINTENANCE_ASYNC
} Maintenance;

/* What becomes of a value that cannot be a key. */
typedef enum OnMismatch
{
	MISMATCH_ERROR,
	MISMATCH_SKIP
} OnMismatch;

/* Whether an index table can be used: it is yet to be filled, it can, or it lacks changes. */
typedef enum IndexState
{
	STATE_BUILDING,
	STATE_ACTIVE,
	STATE_INVALID
} IndexState;

/* A step of a path into a document. */
typedef struct PathStep
{
	bool		wildcard;		/* it is [*] */
	char	   *name;			/* the member, or the subscript in digits */
	int			len;			/* of name */
	bool		is_index;		/* name can be the subscript of an array */
	int			index;			/* the subscript; < 0 counts from the end */
} PathStep;

/* A field as the user has specified it. */
typedef struct FieldSpec
{
	char	   *text;			/* as the user has written it */
	int			tail;			/* where in text AS, or a path's type, begins */
	char	   *column;			/* the name in @column, or NULL */
	char	   *expression;		/* SQL in parentheses, or NULL */
	PathStep   *steps;			/* the path into the document */
	int			nsteps;
	bool		multi;			/* the path has a [*] */
	char	   *name;			/* of the index table's column; may be NULL */
	Oid			type;			/* InvalidOid: not given */
	int32		typmod;
	Oid			collation;		/* InvalidOid: not given */
} FieldSpec;

/* How a text becomes a value. */
typedef enum CastKind
{
	CAST_NONE,					/* as it is: the type is stored like text */
	CAST_INPUT,					/* by the type's input function */
	CAST_FUNCTION				/* by a cast function that takes text */
} CastKind;

/* The cast of a text to the type of a field. */
typedef struct Cast
{
	CastKind	kind;
	Oid			type;
	int32		typmod;
	Oid			collation;
	bool		datetime;		/* a date or time type, read in ISO form only */
	FmgrInfo	convert;		/* of CAST_INPUT and CAST_FUNCTION */
	Oid			ioparam;		/* of CAST_INPUT */
	bool		has_length;		/* length is called with the result */
	FmgrInfo	length;			/* coerces it to typmod */
	bool		users;			/* it calls functions of users */
} Cast;

/* An SQL expression over a fact row; see definition/expression.c. */
typedef struct RowExpr_ RowExpression;

/* A key field or an included field of an index table. */
typedef struct Field
{
	FieldSpec  *spec;
	AttrNumber	attno;			/* the column of the index table */
	AttrNumber	fact_attno;		/* in the fact table; 0: a path; or this: */
#define EXPRESSION_ATTNO	PG_INT16_MIN
	bool		is_hint;		/* it is @ctid; see entry/fact_fetch.c */
	RowExpression *convert;		/* what it is computed by; NULL: it is stored */
	int			plain_steps;	/* of the path before the [*], or all; of a
								 * column that is an array: 0 */
	bool		is_jsonb;
	Oid			type;
	int32		typmod;
	Oid			collation;
	int16		typlen;
	bool		typbyval;
	char		typalign;
	Cast		cast;
	struct FieldCast *asked;	/* the cast as queries have it, or NULL; see
								 * match/field_match.c */
} Field;

/* The definition of an index table; columns are those of the index table where nothing else is said. */
typedef struct IndexDef
{
	struct FactDef *fact;
	Oid			relid;			/* the index table */
	char	   *name;
	Strategy	strategy;
	bool		async;
	bool		is_unique;
	bool		sparse;			/* a row that lacks a key field has no entry */
	bool		skip_mismatch;
	bool		ends_skipping;	/* alter() looks for values that were skipped */
	bool		active;
	const char *misplaced;		/* why it cannot be so where its tables are, a
								 * constant; or NULL */
	bool		multi;			/* a key field is multi-valued */
	AttrNumber	fact_document;	/* number of the fact table's column that holds
								 * the documents, or this, which no column has: */
#define NO_DOCUMENT	PG_INT16_MIN
	int			docno;			/* position of it in fact->doc_attno, or -1 */
	TransactionId xmin;			/* of the catalog row; see lookup/lookup.c */

	int			nkeys;			/* key fields */
	int			nincludes;
	Field	   *fields;			/* the key fields, then the included fields */
	int			multi_field;	/* the multi-valued one, or -1 */
	RowExpression *filter;		/* NULL: none */

	AttrNumber *pk_attno;		/* the fact row's primary key: fact->npk */
	AttrNumber	doc_attno;		/* the document if denormalized, else 0 */
	AttrNumber	rows_attno;		/* totals: how many rows; else 0 */
	AttrNumber *count_attno;	/* totals: how many values, by included field */
	AttrNumber	hint_attno;		/* where the fact row was when its entry was
								 * written, or 0 */

	/* An entry is identified by key and primary key, the leading columns. */
	TupleDesc	desc;
	int			nident;
	AttrNumber *ident;			/* these columns */
	SortSupportData *ident_sort;	/* sorts as the primary key does */
	SortSupportData *write_sort;	/* sorts at less cost; see entry/entries.c */
	bool		brief_text;		/* the first of write_sort abbreviates text */
	uint64		locked;			/* when writers have locked it ... */
	uint64		index_locked;	/* ... and its primary key: see util/lock.c */
	Oid			primary_index;	/* by which entries are found; see
								 * definition/primary_key.c */
	IndexInfo  *primary_info;
	int			nsearch;		/* its key has the first so many of ident */
	ScanKeyData *search_keys;	/* to search it with */
	bool		covering;		/* it has the included fields, too */
	Size		max_covered_bytes;	/* entries of this size fit easily then */
	Oid			row_index;		/* async: on the columns pk_attno */
	ScanKeyData *row_keys;		/* to search it with */
	HTAB	   *parts;			/* of IndexPartition; NULL: not partitioned */
	int			part_field;		/* the key field that it is partitioned by */
	Bitmapset  *used;			/* columns of the fact table that entries
								 * depend on, minus
								 * FirstLowInvalidHeapAttributeNumber */
	TransactionId lacking_by[INDEX_MAX_KEYS + 1];	/* who has recorded it */
	uint32		own_lacking;	/* what this transaction has recorded or keeps */
	uint64		own_lacking_in; /* ... in this subtransaction, a full XID */
} IndexDef;

/* A partition of an index table; see definition/index_partition.c. */
typedef struct IndexPartition
{
	Oid			relid;			/* hash key */
	Oid			primary_index;	/* these as in IndexDef */
	IndexInfo  *primary_info;
	Oid			row_index;
} IndexPartition;

/* A leaf partition, or a shard, of a fact table; see definition/fact_partition.c. */
typedef struct Leaf
{
	Oid			relid;			/* hash key */
	const struct RowSource *source; /* of its rows; NULL: they are here */
	Oid			pk_index;		/* on the primary key; InvalidOid: not here */
	Oid			queue;			/* of a shard: its part of the queue */
	struct AttrMap *map;		/* to the columns of the fact table; NULL:
								 * they are the same */
	TupleTableSlot *slots[2];	/* hold rows that map has converted */
} Leaf;

/* A fact table and the definitions of its index tables; see definition/cache.c. */
typedef struct FactDef
{
	Oid			relid;
	MemoryContext cxt;			/* has all of it */
	int			pins;			/* how many use it across calls */
	bool		replaced;		/* no longer cached: the last unpin frees it */
	bool		stale;			/* may be out of date: to be loaded anew */
	bool		changed;		/* is out of date; see definition_settled() */
	bool		for_writer;		/* see definition_for_writer() */
	List	   *code;			/* of CodeObject *: functions and domains that
								 * it calls, unless the server's own */
	char	   *name;
	Oid			owner;
	bool		registered;		/* it is in the catalog */
	bool		restored;		/* from a dump, and not adopted yet; see
								 * queue/adopt_restored.c */
	Bitmapset  *retyped;		/* columns that have just got another type,
								 * whose expressions may call other functions;
								 * offset as in used */
	bool		is_partition;	/* rows may come through a parent */
	bool		partitioned;
	const struct Place *place;	/* of its rows, its queue and its entries */
	TupleDesc	desc;			/* its columns if it has leaves */
	HTAB	   *leaves;			/* of Leaf, as far as they have been used */
	Leaf	   *last_leaf;		/* the one used last */
	bool		users_code;		/* making entries calls functions of users */
	int			npk;
	AttrNumber *pk_attno;		/* the columns of the primary key */
	Bitmapset  *pk_columns;		/* the same, offset as in used */
	Oid			pk_index;		/* InvalidOid: the user has named the primary
								 * key; see definition/fact_columns.c */
	bool		pk_deferrable;	/* in the table, or in one of leaves */
	ScanKeyData *pk_keys;		/* to search pk_index with */
	int			ndocs;
	AttrNumber *doc_attno;		/* the JSONB columns in use */
	int32	   *slice;			/* how many bytes of each to detoast first;
								 * see entry/document.c */
	Bitmapset  *used;			/* columns that transactional entries depend
								 * on, offset as in IndexDef */
	Bitmapset  *queued;			/* the same for asynchronous entries */
	AttrNumber	max_attno;		/* the last column in used and queued */
	Oid			queue;			/* the queue table that changes are appended
								 * to, or InvalidOid */
	Oid			spare;			/* the other one, which takes turns with it */
	struct ForeignPlan *foreign_plans;	/* see foreign/foreign_plan.c */
	bool		queue_lost;		/* one was dropped with what was in it, and
								 * spare is InvalidOid; see queue/tables.c */
	bool		feed;			/* the queue is a feed */
	bool		has_feeds;		/* foreign partitions have feeds over there */
	bool		queued_here;	/* and their changes are queued here, too */
	TupleDesc	queue_desc;		/* the columns of both */
	TupleTableSlot **queue_slots;	/* of queue/append.c */
	int			nqueue_slots;
	int			ndefs;
	List	   *missing;		/* OIDs of index tables that do not exist */
	int			nsync;			/* so many are transactional, and come first */
	struct FactChecks *checks;	/* of match/fact_checks.c, or NULL */
	IndexDef  **defs;			/* all but tables of totals */
	int			ntotals;
	IndexDef  **totals;			/* these, which are transactional */
} FactDef;

/* An index table as the catalog's table definition describes it. */
typedef struct DefinitionRow
{
	Oid			index_table;
	Oid			fact_table;
	List	   *primary_key;	/* names (char *) of the fact table's columns */
	char	   *document;		/* the name of the JSONB column, or NULL */
	List	   *key;			/* specifications (char *) of the key fields */
	List	   *include;		/* and of the included fields */
	char	   *filter;
	Strategy	strategy;
	Maintenance maintenance;
	bool		is_unique;
	OnMismatch	on_mismatch;
	IndexState	state;
	char	   *problem;		/* why it is invalid, or NULL */
	Oid			replaces;		/* whose place it is to take, or InvalidOid */
	bool		sparse;
	struct Partitioning *partitioning;	/* of one to be made; NULL: none */
	/* Of a row that was read. */
	Oid			fact_oid;		/* of the fact table when the row was written */
	List	   *columns;		/* the names of its columns then, by number */
	TransactionId xmin;
	ItemPointerData tid;
} DefinitionRow;

#endif							/* INDEXTABLE_H */
