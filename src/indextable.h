/*-------------------------------------------------------------------------
 *
 * indextable.h
 *	  What the files of indextable share.
 *
 * Data flows one way, and so do the calls:
 *
 *	trigger.c -> definition.c (cache) -> extract.c -> diff.c -> batch.c -> apply.c
 *	apply.c	  -> claim.c -> liverow.c, extract.c (two rows of one unique key only)
 *				-> queue.c (asynchronous: the row's key only)
 *	worker.c  -> drain.c -> segment.c (queue) -> reconcile.c -> extract.c, diff.c, apply.c
 *	create.c  -> build.c -> extract.c, apply.c
 *	online.c  -> drain.c -> reconcile.c (as the drain, with keys from the fact table)
 *	repair.c  -> verify.c -> extract.c; diff.c, apply.c, or queue.c and drain.c
 *	lookup.c  -> definition.c, extract.c, gather.c
 *	query.c   -> condition.c, pagecursor.c, lookup.c
 *	refuse.c, alter.c, drop.c (event triggers) -> attach.c, definition.c, catalog.c
 *	extract.c -> expression.c, cast.c -> fixedsettings.c (so whoever extracts gets the same)
 *
 * extract.c is the only code that turns a fact row into entries, apply.c the
 * only code that writes index tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_H
#define INDEXTABLE_H

#include "postgres.h"

#include "access/attnum.h"
#include "access/htup.h"
#include "access/skey.h"
#include "access/xact.h"
#include "catalog/pg_depend.h"
#include "datatype/timestamp.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "nodes/execnodes.h"
#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"
#include "partitioning/partdefs.h"
#include "storage/block.h"
#include "storage/itemptr.h"
#include "storage/lockdefs.h"
#include "utils/hsearch.h"
#include "utils/jsonb.h"
#include "utils/rel.h"
#include "utils/sampling.h"
#include "utils/sortsupport.h"

#include "compat.h"

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

/* ---- fieldspec.c: the text of a field, parsed ---- */

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
	char	   *name;			/* name of the index table's column; may be NULL */
	Oid			type;			/* InvalidOid: not given */
	int32		typmod;
	Oid			collation;		/* InvalidOid: not given */
} FieldSpec;

typedef struct ParseContext
{
	ErrorContextCallback callback;
	const char *what;
	const char *text;
	int			offset;
	int			start;
} ParseContext;

extern void push_parse_context(ParseContext *context, const char *what, const char *text,
							   int offset, int start);
extern void pop_parse_context(ParseContext *context);
extern void check_name_length(const char *name, const char *hint);
extern FieldSpec *parse_field_spec(const char *text, bool with_type);
extern struct ResTarget *parse_lone_expression(const char *prefix, const char *text);

/* ---- fixedsettings.c: the settings under which values are made ---- */

/* Settings that making a value may read: those of float8, bytea and geometric types; of dates, times and XML. */
#define READS_OUTPUT		0x01
#define READS_DATETIME		0x02
#define READS_ALL			(READS_OUTPUT | READS_DATETIME)

/* What a session has them set to. */
typedef struct SessionSettings
{
	int			extra_float_digits;
	int			bytea_output;
	int			interval_style;
	int			date_style;
	int			date_order;
	struct pg_tz *timezone;
	int			xmlbinary;
} SessionSettings;

extern bool settings_fixed(int which);
extern void settings_fix(SessionSettings *saved);
extern void settings_restore(const SessionSettings *saved);
extern void fix_settings(void);
extern int	settings_read(struct Node *expr, bool *others);
extern char *value_text(Oid type, Datum value);

/* ---- cast.c: text to a field's type, under fixed settings ---- */

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
	bool		users;			/* calls functions that are not the server's own */
} Cast;

/* Why a value cannot be an entry. */
typedef struct Mismatch
{
	int			sqlstate;
	char	   *message;
} Mismatch;

extern bool is_datetime(Oid type);
extern void cast_check_type(const char *spec, Oid type);
extern void cast_init(Cast *cast, Oid type, int32 typmod, Oid collation, MemoryContext cxt);
extern bool cast_text(Cast *cast, char *str, int len, Datum *result, Mismatch *why);

typedef struct RowExpr_ RowExpression;

extern bool cast_column(RowExpression *expr, TupleTableSlot *row, Datum *result, Mismatch *why);

/* ---- expression.c: SQL expressions over a fact row ---- */

typedef struct Caller
{
	Oid			user;
	int			sec;
	int			nestlevel;
} Caller;

extern void become_owner(Caller *caller, Oid owner);
extern void become_caller(Caller *caller);

extern char *expression_check_filter(Relation fact, const char *text);
extern RowExpression *expression_compile(Relation fact, const char *text, Oid type, int32 typmod,
										 const char **column_names);
extern RowExpression *expression_parse(Relation fact, const char *text, Oid type, int32 typmod,
									   const char **column_names);
extern bool expression_is_foreign(RowExpression *expr);
extern char *expression_text(Relation fact, RowExpression *expr);
extern bool expression_eval(RowExpression *expr, TupleTableSlot *row, Datum *result);
extern Bitmapset *expression_columns(RowExpression *expr);
extern List *expression_code(RowExpression *expr);
extern List *expression_depends(RowExpression *expr);
extern List *add_function(List *code, Oid function);

/* ---- watch.c: hears what has changed ---- */

/* A function or a domain, as invalidations name it. */
typedef struct CodeObject
{
	int			cache;			/* PROCOID or TYPEOID */
	uint32		hash;			/* of its key; 0: it may be any */
} CodeObject;

/* Several of them: a bit each, which others may share. */
#define OBJECT_PLACES		8192
typedef uint8 ObjectSet[OBJECT_PLACES / 8];

/* A definition that is being loaded, and what has changed since that began. */
typedef struct Loading
{
	struct Loading *outer;
	bool		suspect;		/* maybe something it depends on, or certainly: */
	bool		changed;
	bool		any_function;
	ObjectSet	objects;
} Loading;

/* A cache that is told what has changed; watched: what some definition depends on. */
typedef struct ChangeListener
{
	void		(*any_relation) (Oid relid);
	void		(*watched_relation) (Oid relid);
	void		(*watched_object) (int cache, uint32 hash);
	bool		listening;
	struct ChangeListener *next;
} ChangeListener;

extern void listen_to_changes(ChangeListener *listener);
extern void watch_relation(Oid relid);
extern bool watch_objects(List *code, Loading *load);
extern void load_begin(Loading *load);
extern void load_end(Loading *load);

/* ---- definition.c: the catalog rows, parsed and cached ---- */

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

	AttrNumber *pk_attno;		/* columns of the index table: the primary key, fact->npk */
	AttrNumber	doc_attno;		/* denormalized: the document */

	/* The index table.  Its identity is key and primary key, its leading columns. */
	TupleDesc	desc;
	int			nident;
	AttrNumber *ident;			/* their columns */
	SortSupportData *ident_sort;	/* in the order of the index */
	SortSupportData *write_sort;	/* in an order that is cheap; see diff.c */
	bool		brief_text;		/* the first is text, abbreviated to its first bytes */
	Oid			primary_index;	/* its primary key ... */
	IndexInfo  *primary_info;
	int			nsearch;		/* ... has these many columns, */
	AttrNumber *search;			/* these, */
	ScanKeyData *search_keys;	/* found with these */
	bool		covering;		/* the primary key holds the included fields ... */
	Size		roomy;			/* ... with ease, as long as entries have so many bytes */
	Oid			row_index;		/* async: on the fact row's primary key */
	ScanKeyData *row_keys;		/* for that */
	HTAB	   *parts;			/* of IndexPart: those that were met; NULL: not partitioned */
	int			part_field;		/* which of the key fields it is partitioned by */
	Bitmapset  *used;			/* columns that entries depend on, offset */
} IndexDef;

/* A partition of an index table; see part.c. */
typedef struct IndexPart
{
	Oid			relid;			/* hash key */
	Oid			primary_index;
	IndexInfo  *primary_info;
	Oid			row_index;
} IndexPart;

/* How a partition of a fact table stores its rows; see partition.c. */
typedef struct Leaf
{
	Oid			relid;			/* hash key */
	bool		is_foreign;		/* on another server; see foreign.c */
	Oid			pk_index;		/* on the primary key, InvalidOid: foreign */
	struct AttrMap *map;		/* to the columns of the fact table; NULL: the same */
	TupleTableSlot *slots[2];	/* for rows with these, if there is a map */
} Leaf;

typedef struct FactDef
{
	Oid			relid;
	MemoryContext cxt;
	int			pins;
	bool		replaced;		/* in the cache: goes with the last pin */
	bool		stale;			/* to be loaded anew when it is asked for: may be, or ... */
	bool		changed;		/* ... is out of date; see definition_settled() */
	List	   *code;			/* of CodeObject *: what it calls that is not the server's own */
	char	   *name;
	Oid			owner;
	bool		registered;		/* in the catalog, with or without index tables */
	bool		restored;		/* from a dump, and not adopted yet; see adopt.c */
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
	bool		pk_deferrable;	/* in the table, or in a partition that was met */
	ScanKeyData *pk_keys;
	int			ndocs;
	AttrNumber *doc_attno;		/* the JSONB columns in use */
	int32	   *slice;			/* how many bytes of them to try first; see document.c */
	Bitmapset  *used;			/* columns that transactional entries depend on, offset */
	Bitmapset  *queued;			/* those that asynchronous entries depend on */
	AttrNumber	max_attno;		/* the last of all of them */
	Oid			queue;			/* where changes are appended, InvalidOid: nowhere */
	Oid			spare;			/* where they were, or will be */
	bool		queue_lost;		/* one of them is gone, with what was in it, and InvalidOid; see rotate.c */
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

/* What create() and alter() are given. */
typedef struct PartitioningRequest
{
	int			partitions;
	char	   *by;				/* NULL: hash of the first key field */
	List	   *bounds;
	List	   *tablespaces;
} PartitioningRequest;

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
	Oid			replaces;		/* the index table whose place it is to take, if any */
	Partitioning *partitioning; /* not stored: of a table that is to be made; NULL: not partitioned */
} DefinitionRow;

/* ---- tree.c: partitions, however deep ---- */

extern List *tree_of(Oid relid, Snapshot snapshot, LOCKMODE mode, bool detached);
extern Oid	tree_parent(Oid relid, TransactionId *detached);
extern Snapshot tree_snapshot(Relation root);

/* ---- partition.c: the partitions of fact tables ---- */

extern Oid	root_of(Relation rel);
extern Oid	registered_root(Oid relid);
extern Oid	root_before(Oid relid);
extern void refuse_detached(Relation rel);
extern List *leaves_of(Oid relid, Snapshot snapshot, LOCKMODE mode);
extern List *with_partitions(Oid relid);
extern void lock_tree(Oid relid, LOCKMODE mode);
extern bool lock_tree_now(Oid relid, LOCKMODE mode);
extern void unlock_tree(Oid relid, LOCKMODE mode);
extern Leaf *leaf_of(FactDef *def, Relation rel);
extern TupleTableSlot *as_of_root(FactDef *def, Leaf *leaf, TupleTableSlot *row, int which);
extern void partition_rows(Oid root, Oid partition, bool comes);
extern List *foreign_leaves(Oid relid);
extern void note_partitions(void);
extern List *lost_partitions(void);

/* ---- rowkey.c: what identifies the rows of a table that cannot have a primary key ---- */

extern List *stored_key(Oid fact);
extern bool resolve_row_key(FactDef *def, Relation fact, List *key, const char **names);
pg_noreturn extern void no_primary_key(Oid fact);
extern Oid	row_key_index(FactDef *def, Relation leaf);
extern void check_row_key(FactDef *def, Relation root);

/* ---- leave.c: entries of a partition that goes, by its bounds ---- */

extern void note_leaving(Oid partition);
extern void entries_leave(FactDef *def, Relation partition);

/* ---- foreign.c: reads partitions that are on other servers ---- */

/* All rows of one. */
typedef struct ForeignRows_ ForeignRows;

extern void foreign_init(void);
extern void require_fresh(Oid fact, const char *what);
extern void note_writers_out(Oid fact);
extern Snapshot agree_on_snapshots(FactDef *def, Relation fact);
extern void warn_foreign(Oid fact);
extern ForeignRows *foreign_rows_begin(FactDef *def, Relation leaf);
extern TupleTableSlot *foreign_rows_next(ForeignRows *rows);
extern void foreign_rows_end(ForeignRows *rows);
extern bool in_bounds(FactDef *def, Relation root, Oid leaf, TupleTableSlot *row);
extern void require_in_bounds(FactDef *def, Relation root, Oid leaf, TupleTableSlot *row, bool found);

/* Which rows are asked for, of what, and in whose name. */
typedef struct RowRequest
{
	FactDef    *def;
	Relation	rel;			/* the fact table, or one of its partitions */
	Oid			role;			/* as whom, InvalidOid: as the current user */
	bool		all;			/* an error if row security hides any */
	Bitmapset  *columns;		/* of the fact table, offset, with the primary key in any case; NULL: all */
} RowRequest;

extern void fetch_rows(RowRequest *request, Datum *keys, int n,
					   void (*each) (TupleTableSlot *row, void *arg), void *arg);

/* ---- gather.c: the rows of many keys, in their order ---- */

typedef struct Gathering Gathering;

extern Gathering *gather_begin(RowRequest *request);
extern void gather_add(Gathering *gather, Datum *key, bool here);
extern void gather_fetch(Gathering *gather);
extern bool gather_find(Gathering *gather, Datum *key, List **rows);
extern bool gather_next(Gathering *gather, Datum **key, bool *here, List **rows);

/* ---- route.c: which partition has a row ---- */

extern Oid	route_key(FactDef *def, Relation root, Datum *key);
extern int	partition_of(PartitionKey key, PartitionDesc desc, Datum *values, bool *isnull);

/* ---- part.c: the partitions of index tables ---- */

extern bool parts_attach(IndexDef *def, Relation rel);
extern IndexPart *index_part(IndexDef *def, Relation leaf);
extern bool parts_use(IndexDef *def, Oid relid);
extern Oid	part_for(Relation rel, Datum value);
extern Oid	index_table_of(Oid relid);

/* ---- entryscan.c: reads entries ---- */

/* A scan of one table. */
typedef struct PartScan
{
	Oid			relid;			/* hash key */
	Relation	rel;
	Relation	index;
	IndexScanDesc scan;
	TupleTableSlot *slot;
} PartScan;

typedef struct EntryScan
{
	IndexDef   *def;
	Relation	rel;			/* the index table */
	Snapshot	snapshot;
	bool		by_row;
	bool		counted;		/* as a read, for users; see usage.h */
	int			nkeys;
	ScanKey		keys;
	MemoryContext cxt;			/* that the scans live in */
	PartScan	only;			/* of an index table that is not partitioned */
	HTAB	   *parts;			/* of PartScan: those of a partitioned one, as needed */
	PartScan   *current;		/* that gave the last entry */
	PartitionDesc waiting;		/* of which others come after it, or NULL */
	int			next;			/* the first of them */
	struct binaryheap *heap;	/* of those that are merged, or NULL */
} EntryScan;

extern void entry_scan_begin(EntryScan *scan, IndexDef *def, Relation index_table, Snapshot snapshot,
							 bool by_row, int nkeys);
extern void entry_scan_start(EntryScan *scan, ScanKey keys);
extern TupleTableSlot *entry_scan_next(EntryScan *scan);
extern void entry_scan_end(EntryScan *scan);

/* ---- resolve.c: definitions against the tables as they are ---- */

extern FactDef *make_fact(Relation fact, List *key, const char **names, MemoryContext cxt);
extern IndexDef *make_index(FactDef *factdef, Relation fact, DefinitionRow *row, Relation rel, int nkept,
							const char **column_names);
extern bool attach_primary_key(IndexDef *def, Relation rel);
pg_noreturn extern void not_as_created(Oid index_table, Relation fact, const char *why);
extern IndexDef *definition_resolve(DefinitionRow *row, Relation fact, Relation replaced, int nkept,
									FactDef **factdef);
extern bool definition_attach(IndexDef *def, Relation fact, Relation rel);
extern bool definition_attach_columns(IndexDef *def, Relation fact, TupleDesc desc);
extern bool calls_users_functions(IndexDef *def);
extern List *definition_code(IndexDef *def);
extern bool is_document_column(Form_pg_attribute att);
extern Oid	get_equality_operator(Oid type);
extern void equality_key(ScanKey key, AttrNumber attno, Oid type, Oid collation, MemoryContext cxt);
extern AttrNumber named_column(Relation fact, const char *name, const char **column_names);

/* ---- definition.c, its functions ---- */

extern FactDef *definition_of_fact(Relation fact, Oid root);
extern IndexDef *definition_of_index_table(Oid index_table, FactDef **fact);
extern IndexDef *definition_open(Oid index_table, FactDef **factdef, Relation *fact, Relation *rel);
extern bool lock_newly(Oid relid, LOCKMODE mode);
extern bool definition_lock(FactDef *fact, int from, int to);
extern bool definition_settled(FactDef *fact, bool more_locks);
extern void definition_pin(FactDef *fact);
extern void definition_unpin(FactDef *fact);

/* ---- catalog.c: the extension's own tables ---- */

/* A fact table, with its queue if any index table is asynchronous. */
typedef struct FactTableRow
{
	Oid			fact_table;
	Oid			queue;
	Oid			spare;
} FactTableRow;

extern Oid	catalog_relid(const char *name, bool missing_ok);
extern const char *catalog_table(const char *name);
extern Oid	catalog_schema(void);
extern bool is_own_schema(Oid schema);
extern bool is_extension_member(Oid class, Oid object);
extern void catalog_insert(DefinitionRow *row, Relation fact);
extern void catalog_update(DefinitionRow *row, Relation fact);
extern void catalog_set_state(Oid index_table, const char *state, const char *problem);
extern List *catalog_index_tables(void);
extern List *catalog_fact_tables(void);
extern List *catalog_column_names(Relation rel);
extern List *catalog_read(Oid fact_table, Oid index_table);
extern List *catalog_read_any(Oid fact_table, Oid index_table);
extern List *catalog_definitions(void);
extern bool catalog_is_known(void);
extern List *catalog_facts(void);
extern Oid	catalog_fact_of(Oid index_table);
extern bool is_queued(DefinitionRow *row);
extern bool catalog_has_fact(Oid fact_table);
extern bool catalog_read_fact(Oid fact_table, FactTableRow *row);
extern List *catalog_queues(void);
extern void catalog_write_fact(FactTableRow *row);
extern void catalog_forget_fact(Oid fact_table);
extern Oid	catalog_forget_index_table(Oid index_table);
extern void catalog_forget_definition(Oid index_table);
extern bool catalog_fact_in_use(Oid fact_table);
extern void catalog_count_skipped(Oid index_table, int64 entries);
extern void catalog_take_over(Oid from, Oid to);
extern void catalog_forget_build(Oid index_table);
extern void catalog_forget_rejections(Oid index_table);
extern bool catalog_has_rejections(Oid index_table);
extern Oid	catalog_owner(void);

typedef struct StoredDefinition
{
	DefinitionRow row;
	Oid			fact_oid;
	List	   *columns;		/* names of the fact table's columns, by number */
	TransactionId xmin;
	ItemPointerData tid;
} StoredDefinition;

extern const char **column_names(Relation fact, StoredDefinition *stored);

/* ---- believe.c: which rows of the catalog are to be believed ---- */

extern bool believed(DefinitionRow *row);
extern bool queue_tables(FactTableRow *row, TupleDesc desc);
extern void forget_dangling(Oid named);

/* ---- extract.c: a fact row in, its entries out ---- */

typedef struct Document
{
	Jsonb	   *json;			/* detoasted on demand; NULL: not yet */
	const char *end;			/* of the bytes at hand; NULL: all are */
} Document;

/* Why a row has no entry in an asynchronous index table. */
typedef struct Rejection
{
	int			sqlstate;		/* 0: it has */
	char	   *message;
} Rejection;

typedef struct FactRow
{
	FactDef    *fact;
	TupleTableSlot *slot;
	Document   *docs;			/* of the JSONB columns in use */
	Rejection  *rejection;		/* NULL: values that cannot be entries are errors */
} FactRow;

/* Where an entry is: in the index table, or in one of its partitions. */
typedef struct EntryPlace
{
	Oid			table;
	ItemPointerData tid;		/* invalid: not known */
} EntryPlace;

/* Entries of one row in one index table, by columns of the index table. */
typedef struct Entries
{
	int			n;
	int			max;
	int			natts;
	bool		left_alone;		/* of no interest: a change does not touch them */
	Datum	   *values;			/* n * natts */
	bool	   *isnull;
	EntryPlace *places;			/* where they are, if known; else NULL */
} Entries;

#define ENTRY_VALUES(e, i)	((e)->values + (Size) (i) * (e)->natts)
#define ENTRY_NULLS(e, i)	((e)->isnull + (Size) (i) * (e)->natts)

extern void entries_init(Entries *entries, IndexDef *def);
extern bool entries_unchanged(IndexDef *def, FactRow *old, FactRow *new);
extern int	extract_entries(IndexDef *def, FactRow *row, bool report, Entries *entries);
extern bool key_value_cast(IndexDef *def, int keyno, JsonbValue *value, Datum *result);

/* ---- document.c: paths into the documents of a fact row ---- */

extern void factrow_init(FactRow *row, FactDef *fact, TupleTableSlot *slot);
extern bool document_value(FactRow *row, int docno, PathStep *steps, int nsteps,
						   JsonbValue *value);
extern bool json_walk(JsonbValue *value, PathStep *steps, int nsteps);

/* ---- diff.c: old entries, new entries -> what to write ---- */

typedef enum OpKind
{
	OP_DELETE,
	OP_INSERT,					/* expected to be new */
	OP_PUT						/* new, or there with other payload */
} OpKind;

typedef struct Op
{
	HeapTuple	tuple;
	Datum		abbreviated;	/* for sorting: the first identity column in brief, */
	Datum		first;			/* in full, */
	Datum		second;			/* and the second */
	EntryPlace	place;			/* OP_DELETE: where the entry is, if known */
	uint32		seq;
	bool		short_first;	/* the brief form is all there is */
	OpKind		kind;
} Op;

typedef struct OpList
{
	Op		   *ops;
	int			n;
	int			max;
	bool		deletes;		/* has an OP_DELETE or OP_PUT */
	Size		widest;			/* of the entries that come, in bytes of data */
	Size		bytes;
	int64		skipped;		/* entries left out, to be counted */
} OpList;

extern int	compare_identity(IndexDef *def, Datum *a, Datum *b);
extern bool entry_equal(IndexDef *def, Datum *a, bool *anull, Datum *b, bool *bnull);
extern bool entries_equal(IndexDef *def, Entries *a, Entries *b);
extern void diff_entries(IndexDef *def, Entries *old, Entries *new, OpList *ops, MemoryContext cxt);
extern void entries_sort(IndexDef *def, Entries *entries);
extern void entries_merge(IndexDef *def, Entries *into, Entries *from);
extern void entries_confine(IndexDef *def, Entries *entries, Entries *a, Entries *b);
extern bool same_bytes(Datum a, bool anull, Datum b, bool bnull, int16 typlen, bool typbyval);

/* ---- batch.c: operations collected until the end of the statement ---- */

extern void batch_init(void);
extern void batch_write_all(void);
extern void batch_at_end_of_transaction(void);
extern void batch_at_subxact_event(SubXactEvent event, SubTransactionId sub, SubTransactionId parent);
extern void batch_end_statement(Oid fact);
extern bool batch_lock(FactDef *fact);
extern OpList *batch_collect(FactDef *fact, MemoryContext *cxt);
extern void batch_row_done(FactDef *fact);
extern void batch_write_lists(FactDef *def, OpList *lists, bool keep);
extern void batch_discard(Oid fact);
extern void batch_note_foreign(Oid fact, CommandId cid);
extern bool batch_foreign_since(Oid fact, CommandId cid);
extern bool batch_any_foreign(Oid fact);
extern void batch_note_insert(Oid fact, CommandId cid);
extern bool batch_inserted_since(Oid fact, CommandId cid);

/* ---- atcommit.c: what is done when a transaction ends ---- */

extern void at_commit_init(void);

/* ---- apply.c: writes index tables ---- */

extern bool apply_ops(IndexDef *def, OpList *ops, bool keep);
extern void apply_load(IndexDef *def, Relation index_table, struct Tuplesortstate *sorted);
extern void apply_at_end_of_transaction(void);

/* ---- claim.c: whose a unique key is ---- */

typedef enum Claim
{
	CLAIM_STAYS,				/* the row of the entry that is there has the key */
	CLAIM_WAIT,					/* another transaction decides that */
	CLAIM_NEW,					/* that row has handed it on to the row of the new entry, */
	CLAIM_NOT_NEW				/* or that one to it */
} Claim;

extern Claim claim_key(IndexDef *def, TupleTableSlot *there, TupleTableSlot *new, TransactionId *wait);

/* ---- liverow.c: the live version of a fact row ---- */

/* A scan of one table by its primary key. */
typedef struct LeafScan
{
	Oid			relid;			/* hash key */
	Relation	rel;
	Leaf	   *leaf;
	Relation	index;
	IndexScanDesc scan;
	List	   *rows;			/* foreign: what is left of those found, */
	struct Gathering *fetched;	/* and rows of keys that are known beforehand, or NULL */
	TupleTableSlot *stored;		/* the row as it is stored, */
	TupleTableSlot *slot;		/* and as the fact table has it: the same if they agree */
} LeafScan;

typedef struct LiveScan
{
	FactDef    *def;
	Relation	fact;
	Snapshot	snapshot;
	MemoryContext cxt;			/* that the scans live in */
	LeafScan	only;			/* of a table that is not partitioned */
	HTAB	   *leaves;			/* of LeafScan: those of a partitioned one, as needed */
	LeafScan   *current;
	MemoryContext fetched_cxt;	/* of rows of keys that are known beforehand, or NULL */
	bool		as_writer;		/* foreign rows as the current user has written them, not as their owner */
	LOCKMODE	lock;			/* of partitions */
	ScanKey		keys;
} LiveScan;

/* A condition on several columns of an index together. */
typedef struct RowComparison
{
	ScanKeyData header;
	ScanKeyData members[INDEX_MAX_KEYS];
} RowComparison;

extern void row_comparison(RowComparison *key, Relation index, int n, StrategyNumber strategy,
						   Datum *bounds);
extern bool row_is_live(Relation fact, TupleTableSlot *slot);
extern void live_scan_begin(LiveScan *scan, FactDef *def, Relation fact, Snapshot snapshot);
extern bool live_scan_is_foreign(LiveScan *scan, Datum *key);
extern void live_scan_fetch(LiveScan *scan, Datum **keys, int n);
extern TupleTableSlot *live_scan_first(LiveScan *scan, Datum *key);
extern TupleTableSlot *live_scan_next(LiveScan *scan);
extern TupleTableSlot *live_scan_row(LiveScan *scan);
extern void live_scan_end(LiveScan *scan);
extern void live_rows(FactDef *def, Relation fact, TupleTableSlot *row,
					  void (*each) (FactRow *row, void *arg), void *arg);

/* ---- lookup.c: from a key to fact rows ---- */

typedef struct Lookup
{
	IndexDef   *def;
	FactDef    *factdef;
	Relation	fact;
	Relation	index_table;
	bool		rows;			/* whole rows, else documents */
	bool		entries_only;	/* neither */
	bool		copies;			/* the index table's copy of the document will do */
	bool		secured;		/* row security applies to the fact table */
	bool		ambiguous;		/* a primary key may have several rows */
	bool		recheck;		/* whether a row has the key looked up */
	ScanKey		keys;
	int			nkeys;
	struct Tuplestorestate *store;		/* NULL: one document at a time, here: */
	TupleDesc	desc;			/* of the result */
	MemoryContext cxt;
	Datum		document;
	bool		found;
	HTAB	   *seen;			/* primary keys of rows that were returned, or NULL */
	Snapshot	snapshot;
	Snapshot	latest;			/* the same, if it is ours */
	bool		reading;		/* fetching directly: begun on demand */
	LiveScan	fact_rows;
	struct _SPI_plan *plan;		/* fetching through the executor */
	struct Gathering *gathering;	/* fetching from other servers: from the first such row on */
	bool		gathered;
} Lookup;

extern void lookup_open(Lookup *l, Oid index_table, int64 max_lag, int64 timeout);
extern void lookup_check_access(Lookup *l);
extern void lookup_close(Lookup *l);
extern int	lookup_key(IndexDef *def, Jsonb *key, ScanKey keys);
extern char *key_columns(IndexDef *def);
extern void lookup_expect(Lookup *l, TupleTableSlot *entry);
extern bool lookup_document(Lookup *l, TupleTableSlot *entry, Datum *document);
extern void lookup_end_documents(Lookup *l);

/* ---- query.c: pages of an index table ---- */

extern void query_init(void);

/* ---- condition.c: which entries a query pages through ---- */

typedef struct Bound
{
	bool		given;
	bool		inclusive;
	Datum		value;
} Bound;

typedef struct KeyRange
{
	int			nequal;			/* the first key fields are equal ... */
	Datum		equal[INDEX_MAX_KEYS];	/* ... to these */
	Bound		lower;			/* of the next one */
	Bound		upper;
	char	   *prefix;			/* what its text begins with; NULL: anything */
	bool		empty;			/* a value is null, so that nothing matches */
} KeyRange;

extern void key_range(IndexDef *def, Jsonb *key, Jsonb *condition, KeyRange *range);

/* ---- pagecursor.c: where a page ends, as text for the user ---- */

/* What a cursor belongs to: an index table as it is now, and a query of it. */
typedef struct CursorIdentity
{
	uint64		index_table;
	uint64		query;
} CursorIdentity;

extern void cursor_identity(IndexDef *def, KeyRange *range, bool descending, CursorIdentity *identity);
extern Datum cursor_make(CursorIdentity *identity, IndexDef *def, int from, TupleTableSlot *entry);
extern void cursor_read(const char *cursor, CursorIdentity *identity, IndexDef *def, int from,
						Datum *values);

/* ---- queue.c: writers append the keys of changed rows ---- */

/* Columns of a queue table. */
#define QUEUE_AT			1	/* when the statement began that changed the row */
#define QUEUE_KEY			2	/* its primary key, from here on */

extern void queue_init(void);
extern void queue_collect(FactDef *def, TupleTableSlot *row);
extern void queue_collect_key(FactDef *def, Datum *key);
extern void queue_write(void);
extern bool queue_pending(Oid fact);
extern bool push_missing_snapshot(void);
extern void queue_wake_at_commit(void);

/* ---- segment.c: reads queue tables ---- */

typedef bool (*segment_visitor) (HeapTuple tuple, void *arg);

extern bool segment_open(Oid relid, Relation *rel);
extern bool segment_scan(Relation rel, Snapshot snapshot, BlockNumber *position,
						 segment_visitor visit, void *arg);
extern BlockNumber segment_pending_blocks(Relation rel);
extern bool segment_removable(Relation rel);

/* ---- rotate.c: makes and empties queue tables ---- */

extern TupleDesc queue_columns(FactDef *def, Relation fact);
extern void queues_create(FactDef *def);
extern void queues_adopt(Oid fact);
extern bool queues_drop(Oid fact, bool wait);
extern void queues_lock_if_last(Oid fact, Oid index_table);
extern void queue_table_drop(Oid relid);
extern void queues_rotate(FactDef *def);
extern void queues_restore(Oid fact);
extern void queue_note_lost(FactDef *def);
pg_noreturn extern void queue_lost_error(FactDef *def);

/* ---- backlog.c: how much is queued ---- */

extern TimestampTz queue_row_time(HeapTuple tuple);
extern void backlog_check(FactDef *def, Relation queue, HeapTuple last);

/* ---- reconcile.c: what index tables need to be in step with live rows ---- */

/* A row that is rejected by an index table. */
typedef struct RejectedRow
{
	int			defno;
	Datum	   *key;
	Rejection	why;
	bool		retry;			/* after a while, whether the row changes or not */
} RejectedRow;

/* Rows, by primary key, and what their entries need. */
typedef struct Reconciliation
{
	FactDef    *def;
	Relation	fact;
	Snapshot	snapshot;		/* the rows as this one sees them */
	int			from;			/* for the index tables defs[from] ... */
	int			to;				/* ... to defs[to - 1] */
	bool		withhold;		/* the rows are to have no entries */
	Datum	   *keys;			/* n * npk, in order */
	ItemPointerData *tids;		/* the rows, if known; else NULL, ... */
	Relation	part;			/* ... in this table: the fact table, or one partition */
	bool		fresh;			/* they have no entries yet */
	int			n;
	OpList	   *lists;			/* by defno - from */
	List	   *rejected;		/* of RejectedRow * */
} Reconciliation;

extern void reconcile_rows(Reconciliation *r);
extern bool have_no_entries(Reconciliation *r, int defno);

/* ---- keytext.c: primary keys as texts ---- */

struct ArrayType;

extern Datum key_texts(FactDef *def, Datum *key);
extern void key_from_texts(FactDef *def, struct ArrayType *array, Datum *key, MemoryContext cxt);

/* ---- reject.c: rows that asynchronous index tables cannot take ---- */

extern void reject_rows(FactDef *def, List *rejected);
extern void rejections_resolved(FactDef *def, int defno, Datum *keys, int n, List *rejected);
extern void rejections_retry(FactDef *def);
extern void rejections_retry_now(Oid index_table);
extern char *rejection_of(FactDef *def, Oid index_table, Datum *key);

/* ---- verify.c: whether an index table is right ---- */

/*
 * A discrepancy: of the entry that should be there and the one that is, one is
 * NULL or both are different; for a row that cannot have its entries, both are
 * NULL, and key is the row's.  problem is text for the user, or NULL.
 */
typedef struct Discrepancy
{
	const char *kind;
	IndexDef   *def;
	TupleTableSlot *expected;
	TupleTableSlot *found;
	TupleTableSlot *row;
	const char *problem;
} Discrepancy;

typedef void (*discrepancy_handler) (Discrepancy *discrepancy, void *arg);

extern Datum columns_to_jsonb(Oid owner, TupleTableSlot *slot, AttrNumber *columns, int n);
extern Jsonb *discrepancy_key(Discrepancy *discrepancy);
extern void verify_index_table(Oid index_table, double sample, discrepancy_handler handler, void *arg);

/* ---- sample.c: some blocks of a table, and single entries ---- */

typedef struct BlockScan
{
	MemoryContext cxt;			/* that the scans live in */
	Snapshot	snapshot;
	double		percent;		/* of the blocks; 100: all */
	uint32		seed;
	FactDef    *def;			/* of a fact table; NULL: of an index table */
	List	   *rels;			/* OIDs of tables still to be read */
	Relation	rel;			/* NULL: none yet */
	Leaf	   *leaf;
	ForeignRows *foreign;		/* NULL: the table is here */
	TableScanDesc scan;
	TupleTableSlot *slot;
	TupleTableSlot *row;
	BlockSamplerData blocks;
	bool		in_block;
	uint64		nrows;
	Buffer		asked_for;		/* see ask_for_block() */
} BlockScan;

typedef struct Probe
{
	IndexDef   *def;
	EntryScan	scan;
	ScanKey		keys;
} Probe;

extern void sample_begin(BlockScan *scan, FactDef *def, Relation rel, Snapshot snapshot, double percent,
						 uint32 seed);
extern double sample_blocks(Relation rel, double percent);
extern TupleTableSlot *sample_next(BlockScan *scan);
extern void sample_end(BlockScan *scan);
extern void probe_begin(Probe *probe, IndexDef *def, Relation index_table, Snapshot snapshot);
extern TupleTableSlot *probe_entry(Probe *probe, Datum *values);
extern void probe_end(Probe *probe);

/* ---- profile.c: what a sample of the documents, and the server's statistics, tell ---- */

/* So many of the commonest keys are kept. */
#define COMMON_KEYS			5

typedef struct CommonKey
{
	Datum	   *values;			/* of the key fields */
	int64		n;				/* entries of the sample */
} CommonKey;

typedef struct Profile
{
	DefinitionRow *row;			/* what is asked for */
	IndexDef   *def;
	const char *document;		/* the JSONB column, if it was named */
	bool		partitioned;
	int			partitions;

	/* The sample, in rows ... */
	int64		sampled;
	bool		complete;		/* all there are */
	int64		filtered;		/* for which the filter is not true */
	int64		missing;		/* of the others: without a value */
	int64		mismatching;	/* with one that cannot be an entry */
	int64		with_entries;
	char	   *mismatch;		/* why, of one of them */
	/* ... and in entries */
	int64		sampled_entries;
	int64		numbers;		/* with a first key field that is one */
	bool		all_differ;		/* no two have one key */
	bool	   *included;		/* which included fields have a value at all */
	int			ncommon;
	CommonKey	common[COMMON_KEYS + 1];
	int64		common_entries[COMMON_KEYS + 1];	/* that the first i have together */
	double		found[COMMON_KEYS + 1]; /* share of the documents that a look-up finds, by any other key */

	/* Estimates, for the table */
	double		documents;
	double		entries;
	double		keys;			/* distinct ones */
	double		document_bytes; /* averages: of the document in full, */
	double		stored_bytes;	/* and as it is stored; */
	double		key_bytes;		/* of an entry: its key, */
	double		ident_bytes;	/* key and primary key, */
	double		entry_bytes;	/* all of it */
	Size		widest;			/* of the latter */
	double		normalized_size;	/* bytes */
	double		partial_size;
	double		denormalized_size;
	double		native_size;	/* of a B-tree on the same expressions */

	/* What the server has counted, of all partitions */
	int64		inserts;
	int64		updates;
	int64		hot_updates;
	int64		deletes;
	int64		scans;			/* of the table and its indexes */
	TimestampTz since;			/* 0: from the beginning */
} Profile;

extern void profile_table(Profile *p, Relation fact, int rows);

/* ---- verdict.c: what to make of a profile ---- */

typedef enum VerdictKind
{
	VERDICT_UNDECIDED,			/* too few documents */
	VERDICT_NONE,
	VERDICT_NATIVE_INDEX,
	VERDICT_FILTER,				/* an index table with another filter */
	VERDICT_INDEX_TABLE
} VerdictKind;

typedef struct Verdict
{
	VerdictKind kind;
	Strategy	strategy;		/* of an index table, if one is advised */
	bool		async;
	bool		is_unique;
	bool		is_volatile;	/* the key may be what many updates change */
	List	   *reasons;		/* of char *, sentences; the first is the main one */
	char	   *filter;			/* of an index table; NULL: none */
	char	   *statement;		/* to be run; NULL: none */
	char	   *when;			/* ... unless, which asks for ... */
	char	   *alternative;	/* ... this one; NULL: there is none */
} Verdict;

extern const char *const verdict_names[];
extern Verdict *judge(Profile *p, Relation fact);
extern char *common_key_text(Profile *p, int which);
extern char *sql_literal(const char *text);
extern const char *in_bytes(double bytes);
extern const char *in_percent(double share);

/* ---- advise.c: advice for users ---- */

extern void advise_on_new(DefinitionRow *row, IndexDef *def);

/* ---- bar.c: shares as pictures ---- */

extern char *bar(double share, int width);
extern bool can_show_utf8(void);

/* ---- attempt.c: what may fail because of one row ---- */

extern ErrorData *attempt_all(void (*run) (void *arg), void *arg);
extern ErrorData *attempt(void (*run) (void *arg), void *arg);

/* ---- drain.c: applies what is queued ---- */

typedef enum DrainLock
{
	DRAIN_WAIT,					/* for whoever else drains the queue */
	DRAIN_TRY					/* leave it to him */
} DrainLock;

/* Where batches of one transaction go on, in the two queue tables, and where they end. */
typedef struct DrainPosition
{
	Snapshot	start;			/* NULL: with one batch */
	bool		caught_up;		/* with what this snapshot sees */
	bool		locked;			/* somebody else may be draining */
	Oid			relid[2];
	BlockNumber block[2];
} DrainPosition;

extern bool with_queue_locked(Oid fact_table, DrainLock lock,
							  void (*work) (FactDef *def, Relation fact, void *arg), void *arg);
/* So many changes may be queued when writers are kept out to drain them, if they can be had down to that. */
#define FEW_CHANGES			1000

extern void drain_queue(Oid fact_table, int few);
extern void check_row_indexes(FactDef *def);
extern void apply_keys(Reconciliation *r);
extern bool drain_batch(Oid fact_table, int limit, DrainLock lock, DrainPosition *position,
						int64 *changes);

/* ---- usage.c: how much index tables are read; and usage.h ---- */

extern int	begin_uncounted(void);
extern void end_uncounted(int nestlevel);
extern List *usage_keys(Oid index_table);
extern void usage_follows(Oid index_table, List *old_keys);
extern void usage_from_now(Oid index_table);
extern void usage_note_reads(void);

/* ---- waitpoint.c: stops a process at a chosen point, for tests ---- */

#ifdef INDEXTABLE_WAIT_POINTS
extern void wait_point(const char *name);
#else
#define wait_point(name)	((void) 0)
#endif

/* ---- settings.c ---- */

#define MAX_WORKERS			64
#define MAX_BATCH_SIZE		1000000

enum
{
	BACKLOG_NOTHING,
	BACKLOG_WARN,
	BACKLOG_SLOW
};

extern int	setting_max_workers;
extern int	setting_workers_per_database;
extern int	setting_naptime;		/* ms */
extern int	setting_batch_size;
extern int	setting_backlog_limit;	/* changes; 0: none */
extern int	setting_backlog_action;
extern int	setting_check_interval; /* s; 0: no checks */
extern double setting_check_sample; /* percent */
extern bool setting_check_repair;
extern bool setting_advice;

extern void settings_init(void);

/* ---- shared.c: what backends know of each other ---- */

/* Databases that may ask for a worker before the launcher looks at all of them. */
#define MAX_REQUESTS		64

extern void shared_init(void);
extern bool shared_exists(void);
extern void wake_workers(void);
extern bool wake_those_there(void);
extern void shared_request(Oid database);
extern bool shared_stop(Oid database, bool stop);
extern int	shared_count_workers(Oid database, bool wake);
extern void shared_set_launcher(void);
extern int	shared_take_requests(Oid *databases);
extern int	shared_reserve(Oid database, bool *enough, uint64 *use);
extern bool shared_release(int slot, uint64 use);
extern void shared_set_short(bool short_of_workers);
extern void shared_enter(int slot);
extern bool shared_woken(void);
extern void shared_leave(void);
extern bool shared_may_stay(bool idle);
extern void shared_count(Oid fact_table, int64 changes);
extern void shared_note_success(Oid fact_table);
extern void shared_note_error(Oid fact_table, const char *message);

/* ---- prepared.c: COMMIT PREPARED ---- */

extern void prepared_init(void);

/* ---- launcher.c ---- */

extern void launcher_init(void);

/* ---- worker.c: drains the queues of one database ---- */

struct BackgroundWorkerHandle;

extern bool wanted_alone(Oid database);
extern bool worker_register(Oid database, int slot, struct BackgroundWorkerHandle **handle);

extern ErrorData *worker_recover(MemoryContext cxt, bool log);

/* ---- check.c: the periodic check ---- */

extern void check_index_tables(void);

/* ---- wait.c ---- */

extern int64 interval_arg(FunctionCallInfo fcinfo, int arg, const char *name);
extern void rest_for(int64 ms);
extern bool queue_of_index_table(Oid index_table, FactTableRow *queue);
extern bool wait_for_queue(FactTableRow *queue, int64 max_lag, int64 timeout);

/* ---- ddl.c: SQL run on the users' behalf ---- */

extern void run_sql(Oid role, const char *fmt,...) pg_attribute_printf(2, 3);
extern uint64 execute_now(const char *sql, int nargs, Oid *types, Datum *values);
extern char *quoted_relation(Oid relid);
extern const char *as_base_type(const char *expression, Oid type);
extern void revoke_all(Oid relid, Oid owner);
extern void depend_on_table(Oid relid, Oid other);
extern void depend_on_extension(Oid relid);
extern bool table_dependencies(Oid relid, bool (*matches) (Form_pg_depend form, Oid arg), Oid arg,
							   bool forget);
extern bool is_catalog_table(Oid relid);
extern bool is_subscribed(Oid relid);
extern bool lock_within(Oid relid, LOCKMODE mode, int ms);
extern bool lock_if_exists(Oid relid, LOCKMODE mode);
pg_noreturn extern void not_an_index_table(Oid relid);
extern void require_event_trigger(FunctionCallInfo fcinfo, const char *function);
extern List *event_trigger_relations(const char *function, bool with_columns);

/* ---- layout.c: columns and primary key of an index table ---- */

extern TupleDesc layout_desc(IndexDef *def, Relation fact);
extern char *layout_columns(IndexDef *def, Relation fact);
extern char *layout_column(Form_pg_attribute att);
extern bool *columns_that_stay(TupleDesc desc, int nkept, int first_own);
extern char *layout_like(IndexDef *def, Relation fact, Relation old, int nkept, int first_own,
						 List **dropped);
extern void layout_drop_columns(Oid relid, List *names);
extern char *layout_primary_key(IndexDef *def, bool covering);
extern void layout_add_primary_key(IndexDef *def, bool covering, const char *tablespace, const char *drop);
extern void layout_mark_key(Oid relid, const char *constraint, bool clustered, bool identity);
extern char *layout_row_index(IndexDef *def);
extern void layout_make_row_index(Oid index_table, const char *columns);
extern char *tablespace_of(Relation rel);
extern char *in_tablespace(const char *clause, const char *name);
extern void layout_drop_row_index(Oid index_table);
extern Relation primary_key_of(Relation rel, LOCKMODE mode);
extern bool layout_covers(IndexDef *def, Relation primary_key);
extern bool layout_can_cover(IndexDef *def);
extern Size layout_roomy(IndexDef *def);

/* ---- demote.c: included fields that are too wide for the primary key leave it ---- */

extern void demote_for(IndexDef *def, OpList *list);
extern void demote_at_commit(void);
extern void demote_at_subxact_event(SubXactEvent event, SubTransactionId sub, SubTransactionId parent);
extern void demote_at_end_of_transaction(void);

/* ---- sharedkey.c: rows that share their primary key with another one until it is checked ---- */

/* A primary key that rows may share, as it was when it was noted. */
typedef struct SharedKey
{
	Oid			fact;
	int			n;				/* columns of the primary key: */
	AttrNumber *attno;			/* of the fact table */
	Oid		   *types;
	Datum	   *values;
} SharedKey;

extern List *take_shared_keys(void);
extern void note_shared_key(FactDef *def, TupleTableSlot *row, AttrNumber *columns);
extern void forget_shared_keys(void);
extern void write_shared_keys(void);

/* ---- trigger.c ---- */

extern void trigger_init(void);

/* ---- drop.c ---- */

extern void drop_index_table(Oid relid);
extern void before_drop(struct DropStmt *stmt);

/* ---- online.c ---- */

extern void require_no_rejections(Oid index_table, Oid shown);

/* ---- attach.c: what follows when partitions come and go ---- */

extern void follow_partitions(struct AlterTableStmt *stmt);
extern void before_detach(struct AlterTableStmt *stmt, struct AlterTableCmd *cmd);
extern void follow_new_partition(struct CreateStmt *stmt, char *schema);

/* ---- own.c: the extension's own objects ---- */

extern void refuse_change_of_own(struct Node *command);
extern void refuse_drop_of_own(const char *type, const char *schema, const char *name, const char *part);
extern void refuse_drop_of_queue(Oid relid, const char *name);
extern void refuse_drop_of_row_index(Oid schema);

/* ---- alter.c: what follows when tables are altered ---- */

extern bool may_rename(struct Node *command);
extern void follow_owner(Oid index_table, Relation fact, bool change);
extern void follow_table(Oid fact, bool fact_altered, bool renamed);
extern void follow_triggers(Oid relid);
extern void invalidate_definitions(List *definitions, Oid fact, const char *why);
extern void check_definitions(Oid relid);
extern bool same_strings(List *a, List *b);

/* ---- rename.c: filters follow renames ---- */

extern void rename_begins(void);
extern void rename_ends(void);

/* ---- adopt.c: what comes from a dump ---- */

extern void adopt_restored(Oid altered);
extern void adopt_all(void);
extern bool depends_on_table(Oid relid, Oid on);

/* ---- create.c ---- */

extern const char *const strategies[];
extern const char *const maintenances[];

extern void partitioning_args(FunctionCallInfo fcinfo, int partitions, int by, PartitioningRequest *request);
extern char *text_arg(FunctionCallInfo fcinfo, int arg, const char *missing);
extern List *field_list(FunctionCallInfo fcinfo, int arg, const char *name);
extern const char *one_of(const char *what, const char *value, const char *const *allowed);
extern Relation open_fact(Oid relid, LOCKMODE lock);
extern char *document_column(Relation fact, const char *wanted);
extern void check_partitions(Relation root);
extern void refuse_queue_over_foreign(Oid fact);
extern void check_definition(DefinitionRow *row);
extern void register_index_table(DefinitionRow *row, IndexDef *def, Relation fact,
								 Relation index_table, const char *tablespace);
extern Oid	create_index_table(Oid creator, Oid schema, const char *name, const char *columns,
							   Partitioning *partitioning, const char *tablespace, Oid owner);
extern void depend_on_filter(Oid index_table, RowExpression *filter);

/* ---- partitioning.c: how index tables are partitioned ---- */

extern Partitioning *partitioning_asked(PartitioningRequest *request, List *columns);
extern void partitioning_stays(PartitioningRequest *r, Partitioning *now);
extern Partitioning *partitioning_of(Relation rel);
extern void make_partitions(Oid creator, Oid parent, Partitioning *p, const char *columns, List *dropped,
							Oid owner);

/* ---- exchange.c: exchanges the files of tables ---- */

extern Oid	find_like(Relation index, Relation rel);
extern void empty_table(Oid relid);
extern void exchange_indexes(Oid old, Oid new);
extern void exchange_files(Oid old, Oid new);
extern List *toast_tables(Oid relid);
extern void name_toast(Oid relid);

/* ---- replace.c: puts an index table in the place of another ---- */

extern StoredDefinition *replacement_of(Oid index_table);
extern bool depends_on_objects(Oid index_table);
extern bool is_own_column(Oid index_table, const char *name);
extern bool replacement_fits(StoredDefinition *replacement);
extern Oid	make_replacement(DefinitionRow *row, Oid index_table);
extern void check_replaceable(DefinitionRow *row, Oid index_table);
extern void tell_of_lost_indexes(DefinitionRow *row, Oid index_table);
extern void replace_index_table(StoredDefinition *replacement);

/* ---- build.c: fills an index table under a lock ---- */

extern void progress_begin(Relation fact, Oid index_table, int64 command);
extern struct Tuplesortstate *begin_entry_sort(IndexDef *def);
extern bool build_index_table(IndexDef *def, Relation fact, Relation index_table);

/* ---- triggers.c: our triggers on the users' tables ---- */

extern void triggers_install(Oid fact);
extern void triggers_install_on(Oid relid, Oid fact);
extern void triggers_remove_from(Oid relid);
extern bool triggers_intact(Oid fact);
extern bool guards_intact(Oid index_table);
extern bool is_our_trigger(const char *name);
extern bool has_triggers_of_ours(Oid relid, bool guard);
extern bool triggers_remove(Oid fact, bool wait);
extern void triggers_guard(Oid index_table);
extern Oid	guard_lifted;			/* the index table that we truncate or alter */

#endif							/* INDEXTABLE_H */
