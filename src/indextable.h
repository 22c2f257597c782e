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
#define IT_QUEUES			"indextable_queues"

/* What an entry has beside the key and the primary key: nothing, included fields, the document. */
typedef enum Strategy
{
	STRATEGY_NORMALIZED,
	STRATEGY_PARTIAL,
	STRATEGY_DENORMALIZED,
	STRATEGY_TOTALS				/* what to add up: see apply/deltas.c */
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

/* An SQL expression over a fact row; see expression/expression.c. */
typedef struct RowExpr_ RowExpression;

/* A key field or an included field of an index table. */
typedef struct Field
{
	FieldSpec  *spec;
	AttrNumber	attno;			/* the column of the index table */
	AttrNumber	fact_attno;		/* in the fact table; 0: a path; or this: */
#define EXPRESSION_ATTNO	PG_INT16_MIN
	bool		is_hint;		/* it is @ctid; see fetch/fact_fetch.c */
	RowExpression *convert;		/* what it is computed by; NULL: it is stored */
	int			plain_steps;	/* of the path before the [*], or all; of a
								 * column that is an array: 0 */
	int			element_steps;	/* of the path up to the last [*], with it; 0:
								 * there is none */
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

/* What the user has said of an index table. */
typedef struct IndexSpec
{
	Strategy	strategy;
	bool		async;
	bool		is_unique;
	bool		sparse;			/* a row that lacks a key field has no entry */
	bool		skip_mismatch;
	AttrNumber	fact_document;	/* number of the fact table's column that
								 * holds the documents, or this, which no
								 * column has: */
#define NO_DOCUMENT	PG_INT16_MIN
	int			docno;			/* position of it in FactLayout.doc_attno, or
								 * -1 */
	int			nkeys;			/* number of key fields */
	int			nincludes;		/* number of included fields */
	Field	   *fields;			/* the key fields, then the included fields */
	bool		multi;			/* a key field is multi-valued */
	int			multi_field;	/* position of the first one in fields, or -1 */
	int			nelements;		/* number of multi-valued fields, all of the
								 * same array, included ones among them */
	int			nkey_elements;	/* number of key fields among these */
	int		   *elements;		/* positions of these in fields, in order */
	int			deepest;		/* position of the one whose path has the most
								 * [*]; entries stand for elements there */
	RowExpression *filter;		/* NULL: none */
	int			part_field;		/* position of the key field by which the
								 * index table is partitioned */
	Bitmapset  *used;			/* columns of the fact table that entries
								 * depend on, minus
								 * FirstLowInvalidHeapAttributeNumber */
} IndexSpec;

/*
 * The columns and indexes of an index table. An entry is identified by key and primary key,
 * the leading columns, and by the included fields that are multi-valued.
 */
typedef struct IndexLayout
{
	TupleDesc	desc;
	AttrNumber *pk_attno;		/* the fact row's primary key: FactLayout.npk
								 * columns */
	AttrNumber	doc_attno;		/* the document if denormalized, else 0 */
	AttrNumber	rows_attno;		/* totals: number of rows; else 0 */
	AttrNumber *count_attno;	/* totals: numbers of values, by included
								 * field */
	AttrNumber	hint_attno;		/* the place of the fact row when its entry
								 * was written, or 0 */
	AttrNumber	elements_attno; /* the number of elements that an entry stands
								 * for, or 0 */
	int			nleading;		/* number of columns of key and primary key */
	int			nident;
	AttrNumber *ident;			/* the nident columns that identify an entry */
	bool		has_primary_key;	/* none of these may be NULL */
	SortSupportData *ident_sort;	/* sorts as the primary key does */
	SortSupportData *write_sort;	/* sorts at less cost; see entry/entries.c */
	bool		brief_text;		/* the first of write_sort abbreviates text */
	Oid			primary_index;	/* by which entries are found; see
								 * definition/primary_key.c */
	IndexInfo  *primary_info;
	int			nsearch;		/* number of leading columns of ident that
								 * primary_index has as its key */
	ScanKeyData *search_keys;	/* to search primary_index with */
	bool		covering;		/* primary_index has the included fields, too */
	Size		max_covered_bytes;	/* size up to which entries fit easily
									 * then */
	Oid			row_index;		/* async: on the columns pk_attno */
	ScanKeyData *row_keys;		/* to search row_index with */
	bool		has_users_indexes;	/* there are others, which users have made */
	HTAB	   *parts;			/* of IndexPartition; NULL: not partitioned */
} IndexLayout;

/* What this session remembers of an index table from one use to the next. */
typedef struct IndexRun
{
	uint64		locked;			/* when writers have locked it ... */
	uint64		index_locked;	/* ... and its primary index: see util/lock.c */
	TransactionId lacking_by[64];	/* the transaction that has recorded each
									 * lack */
	uint64		own_lacking;	/* lacks that this transaction has recorded or
								 * keeps */
	uint64		own_lacking_in; /* ... in this subtransaction, a full XID */
} IndexRun;

/*
 * The definition of an index table; columns are those of the index table where nothing else is
 * said.
 */
typedef struct IndexDef
{
	struct FactDef *fact;
	Oid			relid;			/* OID of the index table */
	char	   *name;
	TransactionId xmin;			/* of the catalog row; see lookup/lookup.c */
	bool		active;
	bool		hidden;			/* from plain SQL: see util/settings.c */
	bool		ends_skipping;	/* alter() looks for values that were skipped */
	const char *misplaced;		/* why it cannot be so where its tables are, a
								 * constant; or NULL */
	IndexSpec	spec;
	IndexLayout layout;
	IndexRun	run;
} IndexDef;

/* A partition of an index table; see definition/index_partition.c. */
typedef struct IndexPartition
{
	Oid			relid;			/* hash key */
	Oid			primary_index;	/* these as in IndexDef */
	IndexInfo  *primary_info;
	Oid			row_index;
} IndexPartition;

/* A leaf partition, or a shard, of a fact table; see fact/fact_partition.c. */
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

/*
 * The columns of a fact table that its index tables need. Bitmapsets are offset as
 * IndexSpec.used is.
 */
typedef struct FactLayout
{
	TupleDesc	desc;			/* its columns if it has leaves */
	bool		is_partition;	/* rows may come through a parent */
	bool		partitioned;
	int			npk;
	AttrNumber *pk_attno;		/* the npk columns of the primary key */
	Bitmapset  *pk_columns;		/* the same as a set */
	Oid			pk_index;		/* InvalidOid: the user has named the primary
								 * key; see fact/fact_columns.c */
	bool		pk_deferrable;	/* in the table, or in one of its leaves */
	ScanKeyData *pk_keys;		/* to search pk_index with */
	int			ndocs;
	AttrNumber *doc_attno;		/* the ndocs JSONB columns in use */
	Bitmapset  *used;			/* columns that transactional entries depend
								 * on */
	Bitmapset  *queued;			/* columns that asynchronous entries depend on */
	AttrNumber	max_attno;		/* the last column in used and queued */
} FactLayout;

/* The queue of a fact table, and the feeds of its foreign partitions. */
typedef struct FactQueue
{
	Oid			current;		/* OID of the queue table that changes are
								 * appended to, or InvalidOid */
	Oid			spare;			/* the other one, which takes turns with it */
	bool		lost;			/* one was dropped with what was in it, and
								 * spare is InvalidOid; see queue/tables.c */
	bool		feed;			/* the queue is a feed */
	bool		has_feeds;		/* foreign partitions have feeds over there */
	bool		queued_here;	/* and their changes are queued here, too */
	TupleDesc	desc;			/* the columns of both */
	TupleTableSlot **slots;		/* of queue/append.c */
	int			nslots;
} FactQueue;

/* What this session remembers of a fact table from one use to the next. */
typedef struct FactRun
{
	MemoryContext cxt;			/* has all of the definition */
	int			pins;			/* number of uses across calls */
	bool		replaced;		/* no longer cached: the last unpin frees it */
	bool		stale;			/* may be out of date: to be loaded anew */
	bool		changed;		/* is out of date; see definition_settled() */
	HTAB	   *leaves;			/* of Leaf, as far as they have been used */
	Leaf	   *last_leaf;		/* the one used last */
	int32	   *slice;			/* number of bytes of each document to detoast
								 * first, by document column; see
								 * entry/document.c */
	struct ForeignPlan *foreign_plans;	/* see foreign/foreign_plan.c */
	struct FactChecks *checks;	/* of match/fact_checks.c, or NULL */
} FactRun;

/* A fact table and the definitions of its index tables; see definition/cache.c. */
typedef struct FactDef
{
	Oid			relid;
	char	   *name;
	Oid			owner;
	bool		for_writer;		/* see definition_for_writer() */
	Oid			part;			/* from which its columns were read, or
								 * InvalidOid; see
								 * definition_for_writer_of_part() */
	bool		registered;		/* it is in the catalog */
	List	   *wholes;			/* OIDs of the tables that it and its index
								 * tables are parts of, whose definitions
								 * these are; NIL: it is no part */
	bool		restored;		/* from a dump, and not adopted yet; see
								 * queue/adopt_restored.c */
	const struct Place *place;	/* of its rows, its queue and its entries */
	List	   *code;			/* of CodeObject *: functions and domains that
								 * it calls, unless the server's own */
	bool		users_code;		/* making entries calls functions of users */
	Bitmapset  *retyped;		/* columns that have just got another type,
								 * whose expressions may call other functions;
								 * offset as IndexSpec.used is */
	FactLayout	layout;
	FactQueue	queue;
	FactRun		run;
	List	   *missing;		/* OIDs of index tables that do not exist */
	int			nall;			/* number of its index tables, */
	int			ndefs;			/* of those that are no tables of totals, */
	int			nsync;			/* of the transactional ones of these, and */
	int			ntotals;		/* of tables of totals */
	IndexDef  **defs;			/* all: transactional ones, asynchronous ones,
								 * and then ... */
	IndexDef  **totals;			/* ... tables of totals, which are
								 * transactional, too */
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
