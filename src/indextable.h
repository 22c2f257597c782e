/*-------------------------------------------------------------------------
 *
 * indextable.h
 *	  What all files of indextable share: the definitions of fact tables and index tables.
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
#include "storage/itemptr.h"
#include "utils/hsearch.h"
#include "utils/sortsupport.h"

#include "util/compat.h"

/* The extension, and the schema of what users call. */
#define IT_SCHEMA			"indextable"
/* The schema of everything else, since 1.1. */
#define IT_INTERNAL			"indextable_internal"
/*
 * A key and its primary key may have this many bytes of data together, before
 * compression.  A btree tuple takes 2704 with its header and alignment.
 */
#define MAX_KEY_BYTES		2600
/* The same limit as a btree sees it, with headers and padding of the columns. */
#define MAX_INDEX_DATA		2680
/*
 * Autovacuum comes early, because index-only scans need the visibility map, and
 * entries are narrow.
 */
#define STORAGE_PARAMETERS \
	"autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02, " \
	"autovacuum_analyze_scale_factor = 0.05"

typedef enum Strategy
{
	STRATEGY_NORMALIZED,
	STRATEGY_PARTIAL,
	STRATEGY_DENORMALIZED
} Strategy;

typedef struct PathStep
{
	bool		wildcard;		/* [*] */
	char	   *name;			/* member, or subscript in digits */
	int			len;
	bool		is_index;		/* whether it can subscript an array ... */
	int			index;			/* ... and with what; < 0 counts from the end */
} PathStep;

typedef struct FieldSpec
{
	char	   *text;			/* as the user wrote it */
	int			tail;			/* where in it the path or column ends */
	char	   *column;			/* @column: its name; else NULL */
	PathStep   *steps;			/* path into the document */
	int			nsteps;
	bool		multi;			/* has a [*] */
	char	   *name;			/* name of the index table's column; may be
								 * NULL */
	Oid			type;			/* InvalidOid: not given */
	int32		typmod;
	Oid			collation;		/* InvalidOid: not given */
} FieldSpec;

typedef enum CastKind
{
	CAST_NONE,					/* text, or a type stored like it */
	CAST_INPUT,					/* the type's input function */
	CAST_FUNCTION				/* a cast function that takes text */
} CastKind;

typedef struct Cast
{
	CastKind	kind;
	Oid			type;
	int32		typmod;
	Oid			collation;
	bool		datetime;		/* read in ISO form only */
	FmgrInfo	convert;		/* CAST_INPUT, CAST_FUNCTION */
	Oid			ioparam;
	bool		has_length;		/* length coercion follows */
	FmgrInfo	length;
	bool		users;			/* calls functions that are not the server's
								 * own */
} Cast;

typedef struct RowExpr_ RowExpression;

typedef struct Field
{
	FieldSpec  *spec;
	AttrNumber	attno;			/* column of the index table */
	AttrNumber	fact_attno;		/* @column: column of the fact table, else 0 */
	RowExpression *convert;		/* @column::type: the cast, else NULL */
	int			plain_steps;	/* of the path, before any [*] */
	bool		is_jsonb;
	Oid			type;
	int32		typmod;
	Oid			collation;
	int16		typlen;
	bool		typbyval;
	Cast		cast;
} Field;

typedef struct IndexDef
{
	struct FactDef *fact;
	Oid			relid;			/* the index table */
	char	   *name;
	Strategy	strategy;
	bool		async;
	bool		is_unique;
	bool		skip_mismatch;
	bool		active;
	bool		multi;			/* a key field is multi-valued */
	int			docno;			/* which of fact->docs */
	TransactionId xmin;			/* of the catalog row; see lookup.c */

	int			nkeys;			/* key fields */
	int			nincludes;
	Field	   *fields;			/* nkeys + nincludes */
	int			multi_field;	/* which key field is, or -1 */
	RowExpression *filter;		/* NULL: none */

	AttrNumber *pk_attno;		/* columns of the index table: the primary
								 * key, fact->npk */
	AttrNumber	doc_attno;		/* denormalized: the document */

	/*
	 * The index table.  Its identity is key and primary key, its leading
	 * columns.
	 */
	TupleDesc	desc;
	int			nident;
	AttrNumber *ident;			/* their columns */
	SortSupportData *ident_sort;	/* in the order of the index */
	SortSupportData *write_sort;	/* in an order that is cheap; see diff.c */
	bool		brief_text;		/* the first is text, abbreviated to its first
								 * bytes */
	Oid			primary_index;	/* its primary key ... */
	IndexInfo  *primary_info;
	int			nsearch;		/* ... has these many columns, */
	AttrNumber *search;			/* these, */
	ScanKeyData *search_keys;	/* found with these */
	bool		covering;		/* the primary key holds the included fields
								 * ... */
	Size		max_covered_bytes;	/* ... with ease, as long as entries have
									 * so many bytes */
	Oid			row_index;		/* async: on the fact row's primary key */
	ScanKeyData *row_keys;		/* for that */
	HTAB	   *parts;			/* of IndexPart: those that were met; NULL:
								 * not partitioned */
	int			part_field;		/* which of the key fields it is partitioned
								 * by */
	Bitmapset  *used;			/* columns that entries depend on, offset */
} IndexDef;

/* A partition of an index table; see part.c. */
typedef struct IndexPartition
{
	Oid			relid;			/* hash key */
	Oid			primary_index;
	IndexInfo  *primary_info;
	Oid			row_index;
} IndexPartition;

/* How a partition of a fact table stores its rows; see partition.c. */
typedef struct Leaf
{
	Oid			relid;			/* hash key */
	bool		is_foreign;		/* on another server; see foreign.c */
	Oid			pk_index;		/* on the primary key, InvalidOid: foreign */
	struct AttrMap *map;		/* to the columns of the fact table; NULL: the
								 * same */
	TupleTableSlot *slots[2];	/* for rows with these, if there is a map */
} Leaf;

typedef struct FactDef
{
	Oid			relid;
	MemoryContext cxt;
	int			pins;
	bool		replaced;		/* in the cache: goes with the last pin */
	bool		stale;			/* to be loaded anew when it is asked for: may
								 * be, or ... */
	bool		changed;		/* ... is out of date; see
								 * definition_settled() */
	List	   *code;			/* of CodeObject *: what it calls that is not
								 * the server's own */
	char	   *name;
	Oid			owner;
	bool		registered;		/* in the catalog, with or without index
								 * tables */
	bool		restored;		/* from a dump, and not adopted yet; see
								 * adopt.c */
	bool		is_partition;	/* rows may come without our statement trigger */
	bool		partitioned;
	TupleDesc	desc;			/* partitioned: its columns */
	HTAB	   *leaves;			/* of Leaf: those that were met */
	Leaf	   *last_leaf;
	bool		users_code;		/* making entries calls functions of users */
	int			npk;
	AttrNumber *pk_attno;
	Bitmapset  *pk_columns;		/* the same, offset as in used */
	Oid			pk_index;		/* InvalidOid: the key was named, see rowkey.c */
	bool		pk_deferrable;	/* in the table, or in a partition that was
								 * met */
	ScanKeyData *pk_keys;
	int			ndocs;
	AttrNumber *doc_attno;		/* the JSONB columns in use */
	int32	   *slice;			/* how many bytes of them to try first; see
								 * document.c */
	Bitmapset  *used;			/* columns that transactional entries depend
								 * on, offset */
	Bitmapset  *queued;			/* those that asynchronous entries depend on */
	AttrNumber	max_attno;		/* the last of all of them */
	Oid			queue;			/* where changes are appended, InvalidOid:
								 * nowhere */
	Oid			spare;			/* where they were, or will be */
	bool		queue_lost;		/* one of them is gone, with what was in it,
								 * and InvalidOid; see rotate.c */
	TupleDesc	queue_desc;
	TupleTableSlot **queue_slots;	/* for queue.c */
	int			nqueue_slots;
	int			ndefs;
	int			nsync;			/* the first of them are transactional */
	IndexDef  **defs;
} FactDef;

/* How an index table is partitioned, or is to be; see partitioning.c. */
typedef struct Partitioning
{
	char	   *clause;			/* what follows PARTITION BY */
	List	   *parts;			/* of PartSpec * */
} Partitioning;

typedef struct PartSpec
{
	char	   *bound;			/* FOR VALUES ..., or DEFAULT */
	char	   *tablespace;		/* NULL: that of the index table */
	char	   *suffix;			/* of its name */
	Oid			relid;			/* once it exists */
} PartSpec;

/* A row of the catalog, as create.c writes it. */
typedef struct DefinitionRow
{
	Oid			index_table;
	Oid			fact_table;
	List	   *primary_key;	/* of the fact table: names of its columns */
	char	   *document;
	List	   *key;			/* of char * */
	List	   *include;
	char	   *filter;
	char	   *strategy;
	char	   *maintenance;
	bool		is_unique;
	char	   *on_mismatch;
	char	   *state;
	char	   *problem;		/* why it is invalid, or NULL */
	Oid			replaces;		/* the index table whose place it is to take,
								 * if any */
	Partitioning *partitioning; /* not stored: of a table that is to be made;
								 * NULL: not partitioned */
} DefinitionRow;

typedef struct StoredDefinition
{
	DefinitionRow row;
	Oid			fact_oid;
	List	   *columns;		/* names of the fact table's columns, by
								 * number */
	TransactionId xmin;
	ItemPointerData tid;
} StoredDefinition;

#endif							/* INDEXTABLE_H */
