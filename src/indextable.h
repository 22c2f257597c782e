/*-------------------------------------------------------------------------
 *
 * indextable.h
 *	  What the files of indextable share.
 *
 * Data flows one way, and so do the calls:
 *
 *	trigger.c -> definition.c (cache) -> extract.c -> diff.c -> batch.c -> apply.c
 *	create.c  -> build.c -> extract.c, apply.c
 *	lookup.c  -> definition.c, extract.c
 *	alter.c, drop.c (event triggers) -> definition.c, catalog.c
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
#include "executor/tuptable.h"
#include "fmgr.h"
#include "nodes/execnodes.h"
#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/jsonb.h"
#include "utils/rel.h"
#include "utils/sortsupport.h"

#include "compat.h"

/* The schema of the extension. */
#define IT_SCHEMA			"indextable"

/*
 * A key and its primary key may have this many bytes of data together, before
 * compression.  A btree tuple takes 2704 with its header and alignment.
 */
#define MAX_KEY_BYTES		2600
/* The same limit as a btree sees it, with headers and padding of the columns. */
#define MAX_INDEX_DATA		2680

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
extern FieldSpec *parse_field_spec(const char *text, bool with_type);
extern struct ResTarget *parse_lone_expression(const char *prefix, const char *text);

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
} Cast;

/* Why a value cannot be an entry. */
typedef struct Mismatch
{
	int			sqlstate;
	char	   *message;
} Mismatch;

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
extern bool expression_is_foreign(RowExpression *expr);
extern char *expression_text(Relation fact, RowExpression *expr);
extern bool expression_eval(RowExpression *expr, TupleTableSlot *row, Datum *result);
extern Bitmapset *expression_columns(RowExpression *expr);
extern List *expression_depends(RowExpression *expr);

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
	bool		covering;		/* the primary key holds the included fields */
} IndexDef;

typedef struct FactDef
{
	Oid			relid;
	MemoryContext cxt;
	int			pins;
	bool		stale;
	char	   *name;
	Oid			owner;
	bool		registered;		/* in the catalog, with or without index tables */
	bool		is_partition;	/* rows may come without our statement trigger */
	bool		foreign;		/* making entries calls functions of users */
	int			npk;
	AttrNumber *pk_attno;
	Bitmapset  *pk_columns;		/* the same, offset as in used */
	Oid			pk_index;
	bool		pk_deferrable;
	ScanKeyData *pk_keys;
	int			ndocs;
	AttrNumber *doc_attno;		/* the JSONB columns in use */
	int32	   *slice;			/* how many bytes of them to try first; see document.c */
	Bitmapset  *used;			/* columns that entries depend on, offset */
	AttrNumber	max_attno;		/* the last of them */
	int			ndefs;
	IndexDef  **defs;
} FactDef;

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
	int			partitions;
	char	   *on_mismatch;
	char	   *state;
} DefinitionRow;

extern void definition_init(void);
extern FactDef *definition_of_fact(Relation fact, Oid root);
extern IndexDef *definition_of_index_table(Oid index_table, FactDef **fact);
extern void definition_lock(FactDef *fact);
extern void definition_pin(FactDef *fact);
extern void definition_unpin(FactDef *fact);
extern IndexDef *definition_resolve(DefinitionRow *row, Relation fact, FactDef **factdef);
extern bool definition_attach(IndexDef *def, Relation fact, Relation rel);
extern bool is_document_column(Form_pg_attribute att);
extern Oid	get_equality_operator(Oid type);

/* ---- catalog.c: the extension's own tables ---- */

extern void catalog_insert(DefinitionRow *row, Relation fact);
extern void catalog_update(DefinitionRow *row, Relation fact);
extern List *catalog_column_names(Relation rel);
extern List *catalog_read(Oid fact_table, Oid index_table);
extern Oid	catalog_fact_of(Oid index_table);
extern bool catalog_has_fact(Oid fact_table);
extern void catalog_insert_fact(Oid fact_table);
extern void catalog_forget_fact(Oid fact_table);
extern Oid	catalog_forget_index_table(Oid index_table);
extern bool catalog_fact_in_use(Oid fact_table);
extern void catalog_count_skipped(Oid index_table, int64 entries);
extern Oid	catalog_owner(void);

typedef struct StoredDefinition
{
	DefinitionRow row;
	Oid			fact_oid;
	List	   *columns;		/* names of the fact table's columns, by number */
	TransactionId xmin;
} StoredDefinition;

/* ---- extract.c: a fact row in, its entries out ---- */

typedef struct Document
{
	Jsonb	   *json;			/* detoasted on demand; NULL: not yet */
	const char *end;			/* of the bytes at hand; NULL: all are */
} Document;

typedef struct FactRow
{
	FactDef    *fact;
	TupleTableSlot *slot;
	Document   *docs;			/* of the JSONB columns in use */
} FactRow;

/* Entries of one row in one index table, by columns of the index table. */
typedef struct Entries
{
	int			n;
	int			max;
	int			natts;
	bool		left_alone;		/* of no interest: a change does not touch them */
	Datum	   *values;			/* n * natts */
	bool	   *isnull;
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
	bool		oversize;		/* has a tuple too large for a covering index */
	Size		bytes;
	int64		skipped;		/* entries left out, to be counted */
} OpList;

extern bool entries_equal(IndexDef *def, Entries *a, Entries *b);
extern void diff_entries(IndexDef *def, Entries *old, Entries *new, OpList *ops, MemoryContext cxt);
extern void entries_merge(IndexDef *def, Entries *into, Entries *from);
extern bool same_bytes(Datum a, bool anull, Datum b, bool bnull, int16 typlen, bool typbyval);

/* ---- batch.c: operations collected until the end of the statement ---- */

extern void batch_init(void);
extern void batch_end_statement(Oid fact);
extern bool batch_lock(FactDef *fact);
extern OpList *batch_collect(FactDef *fact, MemoryContext *cxt);
extern void batch_row_done(FactDef *fact);
extern void batch_discard(Oid fact);
extern void batch_note_insert(Oid fact, CommandId cid);
extern bool batch_inserted_since(Oid fact, CommandId cid);

/* ---- apply.c: writes index tables ---- */

extern bool apply_ops(IndexDef *def, OpList *ops, bool keep);
extern void apply_load(Relation index_table, struct Tuplesortstate *sorted);
extern void apply_at_end_of_transaction(void);

/* ---- liverow.c: the live version of a fact row ---- */

extern bool row_is_live(Relation fact, TupleTableSlot *slot);
extern void live_rows(FactDef *def, Relation fact, TupleTableSlot *row,
					  void (*each) (FactRow *row, void *arg), void *arg);

/* ---- ddl.c: SQL run on the users' behalf ---- */

extern void run_sql(Oid role, const char *fmt,...) pg_attribute_printf(2, 3);
extern char *quoted_relation(Oid relid);
extern bool lock_if_exists(Oid relid, LOCKMODE mode);
pg_noreturn extern void not_an_index_table(Oid relid);
extern void require_event_trigger(FunctionCallInfo fcinfo, const char *function);
extern List *event_trigger_relations(const char *function, bool with_columns);

/* ---- layout.c: columns and primary key of an index table ---- */

extern char *layout_columns(IndexDef *def, Relation fact);
extern char *layout_primary_key(IndexDef *def, bool covering);
extern Relation primary_key_of(Relation rel, LOCKMODE mode);
extern bool layout_covers(IndexDef *def, Relation primary_key);
extern bool layout_can_cover(IndexDef *def);
extern void layout_demote(IndexDef *def);

/* ---- alter.c: what follows when tables are altered ---- */

extern void follow_triggers(Oid relid);

/* ---- build.c: fills an index table under a lock ---- */

extern bool build_index_table(IndexDef *def, Relation fact, Relation index_table);

/* ---- triggers.c: our triggers on the users' tables ---- */

extern void triggers_install(Oid fact);
extern bool triggers_intact(Oid fact);
extern bool guards_intact(Oid index_table);
extern bool is_our_trigger(const char *name);
extern bool triggers_remove(Oid fact, bool wait);
extern void triggers_guard(Oid index_table);
extern Oid	guard_lifted;			/* the index table that may be truncated */

#endif							/* INDEXTABLE_H */
