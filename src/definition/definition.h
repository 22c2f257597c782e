/*-------------------------------------------------------------------------
 *
 * definition.h
 *	  Offers what index tables are defined as: their fields, expressions and columns, resolved
 *	  against the tables as they are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DEFINITION_H
#define INDEXTABLE_DEFINITION_H

#include "catalog/pg_attribute.h"
#include "catalog/pg_depend.h"
#include "lib/stringinfo.h"
#include "partitioning/partdefs.h"

#include "../catalog/catalog.h"
#include "../indextable.h"

/*
 * cache.c: the definitions of fact tables and index tables, which are cached in the backend:
 * finds, locks and pins them.
 */
extern FactDef *definition_of_fact(Relation fact, Oid root);
extern FactDef *definition_for_writer(Relation fact, Oid root);
extern FactDef *fresh_definition(Oid root);
extern IndexDef *find_index_def(FactDef *fact, Oid index_table);
extern IndexDef *definition_of_index_table(Oid index_table);
extern IndexDef *definition_open(Oid index_table, Relation *fact, Relation *rel);
extern bool definition_lock(FactDef *fact, int from, int to);
extern bool definition_settled(FactDef *fact, bool more_locks);
extern void definition_pin(FactDef *fact);
extern void definition_unpin(FactDef *fact);
extern void definition_hold(FactDef *fact, MemoryContext cxt);

/* cast.c: the conversion of a text or a column to a field's type, under fixed settings */

/* Why a value cannot be converted to a field's type. */
typedef struct Mismatch
{
	int			sqlstate;
	char	   *message;
} Mismatch;

extern void cast_check_type(const char *spec, Oid type);
extern int	hint_for_type(const char *spec, Oid type);
extern void cast_init(Cast *cast, Oid type, int32 typmod, Oid collation, MemoryContext cxt);
extern bool cast_text(Cast *cast, char *str, int len, Datum *result, Mismatch *why);
extern bool has_zone(const char *str);
extern bool cast_column(RowExpression *expr, TupleTableSlot *row, Datum *result, Mismatch *why);

/* create_call.c: the statement that makes an index table as it is, and the comment that has it */
extern char *create_call(const char *index_table, const char *fact_table, DefinitionRow *row,
						 const char *first_column);
extern char *definition_statement(Oid index_table);
extern void describe_index_table(Oid index_table, bool is_made);

/*
 * expression.c: SQL expressions over a fact row: they are parsed, checked, compiled and
 * evaluated.
 */
extern RowExpression *expression_parse(Relation fact, const char *text, Oid type, int32 typmod,
									   const char **column_names, bool given);
extern RowExpression *compile_stored(IndexDef *def, Relation fact, const char *what, const char *text, Oid type,
									 const char **column_names);
extern RowExpression *expression_compile(Relation fact, const char *text, Oid type, int32 typmod,
										 const char **column_names, bool given);
extern bool expression_calls_users_code(RowExpression *expr);
extern bool expression_is_apart(RowExpression *expr);
extern bool expression_parallel_safe(RowExpression *expr);
extern char *expression_text(Relation fact, RowExpression *expr);
extern Node *expression_node(RowExpression *expr);
extern bool expression_eval(RowExpression *expr, TupleTableSlot *row, Datum *result);
extern Bitmapset *expression_columns(RowExpression *expr);
extern List *expression_code(RowExpression *expr);
extern List *add_code_function(List *code, Oid function);
extern bool expression_is(RowExpression *expr, Node *node, Index varno,
						  Node *(*unified) (Node *node, void *context));

/*
 * fact_columns.c: the columns of a fact table by name, which one holds the documents, and
 * which ones identify the rows.
 */
extern bool is_document_column(Form_pg_attribute att);
extern bool has_only_document(Relation fact);
extern AttrNumber named_column(Relation fact, const char *name, const char **column_names);
extern const char **get_stored_column_names(Relation fact, DefinitionRow *stored);
extern bool same_primary_key(FactDef *factdef, Relation fact, DefinitionRow *stored, const char **names);
extern char *document_column(Relation fact, const char *wanted, DefinitionRow *row);
extern List *stored_key(Oid fact);
extern bool resolve_row_key(FactDef *def, Relation fact, List *key, const char **names);
pg_noreturn extern void report_no_primary_key(Oid fact);
extern Oid	row_key_index(FactDef *def, Relation leaf);
extern bool orders_by_default(Relation index, int column, Oid type);
extern void check_row_key(FactDef *def, Relation root);

/* fact_partition.c: the rows of a fact table's partitions with the columns of the fact table */
extern Leaf *leaf_of(FactDef *def, Relation rel);
extern TupleTableSlot *convert_row(struct AttrMap *map, TupleTableSlot *row, TupleTableSlot *slot);
extern TupleTableSlot *convert_to_root_row(FactDef *def, Leaf *leaf, TupleTableSlot *row, int slot_no);
extern Oid	root_of(Relation rel);
extern Oid	registered_root(Oid relid);
extern Oid	find_root_detached_from(Oid relid);
extern void check_not_detached(Relation rel);

/* field.c: a definition's fields with their columns, types and casts */
extern bool are_of_same_array(Field *a, Field *b);
extern char *field_as_written(Relation fact, FieldSpec *spec, RowExpression *expression);
extern List *stored_fields(Relation fact, List *texts);
extern List *definition_expressions(IndexDef *def);
extern void record_code_dependencies(Oid index_table, List *expressions);
extern List *definition_nodes(IndexDef *def);
extern List *parse_expressions(Relation fact, DefinitionRow *row, const char **column_names);
extern void make_field(IndexDef *def, int i, const char *text, AttrNumber attno, Relation fact,
					   Form_pg_attribute column, bool is_new, const char **column_names);

/* field_spec.c: the parser of fields */
extern void check_name_length(const char *name, const char *hint);
extern bool is_hint_column(FieldSpec *spec);
extern char *name_field(const char *text, const char *name);
extern char *field_of_type(const char *text, const char *type, bool elements);
extern FieldSpec *parse_field_spec(const char *text, bool with_type);

#define USUAL_TYPES		"Use text, jsonb, or a type such as integer, numeric, boolean, uuid, date or timestamptz."

/*
 * index_partition.c: the partitions of index tables: which one has an entry, and what its
 * indexes are.
 */
extern bool definition_complete_partitions(IndexDef *def, Relation rel);
extern IndexPartition *find_index_partition(IndexDef *def, Relation leaf);
extern bool is_partition_of_definition(IndexDef *def, Oid relid);
extern Oid	find_partition_for_value(Relation rel, Datum value, bool isnull);
extern Oid	index_table_of(Oid relid);
pg_noreturn extern void report_no_partition(IndexDef *def);

extern Oid	route_key(FactDef *def, Relation root, Datum *key);
extern int	partition_of(PartitionKey key, PartitionDesc desc, Datum *values, bool *isnull);

/*
 * invalidation.c: the news of changed relations, functions, domains and casts to the caches of
 * this backend.
 */

/* A function, a domain or a cast, as the server's invalidation messages name it. */
typedef struct CodeObject
{
	int			cache;			/* PROCOID, TYPEOID, or CASTSOURCETARGET */
	uint32		hash;			/* of its key; 0: it may be any */
} CodeObject;

/* A set of functions and domains: each has a bit, which it may share with others. */
#define OBJECT_PLACES		8192

typedef uint8 ObjectSet[OBJECT_PLACES / 8];

/* A definition that is being loaded, and what has changed since the loading began. */
typedef struct Loading
{
	struct Loading *outer;		/* the definition during the loading of which
								 * this one is loaded, or NULL */
	bool		suspect;		/* something that it depends on may have
								 * changed */
	bool		changed;		/* a relation has that a definition depends on */
	bool		any_function;	/* some function has */
	ObjectSet	objects;		/* these functions and domains have */
} Loading;

/*
 * A cache that is told what has changed.  Its functions are called with InvalidOid, or a hash of 0,
 * if anything may have changed; a function that is NULL is not called.
 */
typedef struct ChangeListener
{
	void		(*any_relation) (Oid relid);	/* of every relation */
	void		(*watched_relation) (Oid relid);	/* of those that
													 * definitions depend on */
	void		(*watched_object) (int cache, uint32 hash); /* of functions and
															 * domains that they
															 * depend on */
	bool		listening;		/* the rest belongs to listen_to_changes() */
	struct ChangeListener *next;
} ChangeListener;

extern void listen_to_changes(ChangeListener *listener);
extern void watch_relation(Oid relid);
extern bool watch_objects(List *code, Loading *load);
extern void watch_begin_load(Loading *load);
extern void watch_end_load(Loading *load);

/* layout.c: the columns that an index table has */

/*
 * The storage parameters of index tables.  Autovacuum comes early, because index-only
 * scans need the visibility map, and entries are narrow.
 */
#define STORAGE_PARAMETERS \
	"autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02, " \
	"autovacuum_analyze_scale_factor = 0.05"

extern List *key_names(IndexDef *def);
extern TupleDesc layout_desc(IndexDef *def, Relation fact);
extern char *layout_columns(IndexDef *def, Relation fact);
extern char *layout_type(Oid type, int32 typmod, Oid collation);
extern char *layout_column(Form_pg_attribute att);
extern bool *find_kept_columns(TupleDesc desc, int nkept, int first_own);
extern char *layout_like(IndexDef *def, Relation fact, Relation old, int nkept, int first_own,
						 bool adds_elements, List **dropped);
pg_noreturn extern void report_altered_index_table(Oid index_table, Relation fact, const char *why);

/*
 * partition_list.c: the partitions of a fact table as the server caches them, and how new that
 * is
 */
extern PartitionDesc partition_list(Relation rel);
extern Snapshot tree_snapshot(Relation root);
extern void refresh_partition_lists(Relation root);

/*
 * request.c: the arguments of create() and alter() that describe an index table, read and
 * checked.
 */

/* How a user wants an index table to be partitioned, as given to create() or alter(). */
typedef struct PartitioningRequest
{
	int			partitions;		/* 0: not given */
	char	   *by;				/* NULL: hash of the first key field */
	List	   *bounds;			/* of char * */
	List	   *tablespaces;	/* of char * */
} PartitioningRequest;

extern void partitioning_args(FunctionCallInfo fcinfo, int partitions, int by, PartitioningRequest *request);
extern void check_request(DefinitionRow *row);
extern bool has_multi_field(List *fields);
extern bool identified_by_primary_key(DefinitionRow *row);
extern void take_totals(DefinitionRow *row, List *totals, bool partitioned, List **summed);
extern char *check_filter(Relation fact, const char *filter);

/* partition_spec.c: how an index table is partitioned, or is to be */

/* How an index table is, or is to be, partitioned. */
typedef struct Partitioning
{
	char	   *clause;			/* what follows PARTITION BY */
	List	   *parts;			/* of PartSpec * */
} Partitioning;

/* One of its partitions. */
typedef struct PartSpec
{
	char	   *bound;			/* FOR VALUES ..., or DEFAULT */
	char	   *tablespace;		/* NULL: that of the index table */
	char	   *suffix;			/* of its name */
	Oid			relid;			/* set once it exists */
} PartSpec;

extern Partitioning *partitioning_asked(PartitioningRequest *r, List *columns);
extern void partitioning_request_current(PartitioningRequest *r, Partitioning *now);
extern Partitioning *partitioning_of(Relation rel);
extern Partitioning *partitioning_lacking(Relation rel);

/*
 * primary_key.c: makes the indexes of index tables: the primary key, and the row index, by
 * which a fact row's entries are found.
 */

/*
 * The limit for the data of a btree tuple, with the headers and the padding of its
 * columns.  The tuple may have 2704 bytes with its own header and alignment.
 */
#define MAX_INDEX_DATA		2680

extern char *drop_not_null_of_key(IndexDef *def);
extern Oid	make_index(Oid index_table, const char *name, List *columns, int nkeys, const char *tablespace,
					   IndexDef *identity);
extern char *primary_key_constraint(IndexDef *def, bool covering);
extern char *primary_key_add(IndexDef *def, bool covering, const char *tablespace, const char *name);
extern void primary_key_replace(IndexDef *def, bool covering);
extern void primary_key_mark(Oid relid, const char *constraint, bool clustered, bool identity);
extern void row_index_make(IndexDef *def);
extern void row_index_drop(Oid index_table);
extern bool finds_entries(IndexDef *def, Relation index);
extern Relation open_index_of_entries(IndexDef *def, Relation rel);
extern bool primary_key_covers(IndexDef *def, Relation primary_key);
extern bool primary_key_can_cover(IndexDef *def);
extern void primary_key_prepare_sorts(IndexDef *def);

/* resolve.c: definitions resolved against the tables as they are */

/* Columns of a queue table. */
#define QUEUE_AT			1	/* when the statement began that changed the
								 * row */
#define QUEUE_KEY			2	/* its primary key, from here on */

extern void note_feeds(FactDef *factdef, DefinitionRow *row);
extern void note_feed(FactDef *factdef, Relation fact, bool feed);
extern FactDef *make_fact_def(Relation fact, List *key, const char **names, MemoryContext cxt);
extern IndexDef *make_index_def(FactDef *factdef, Relation fact, DefinitionRow *row, Relation rel, int nkept,
								const char **column_names);
extern void require_kept(IndexDef *def);
extern bool definition_complete_primary_key(IndexDef *def, Relation rel);
extern IndexDef *definition_resolve(DefinitionRow *row, Relation fact, Relation replaced, int nkept);
extern bool definition_complete(IndexDef *def, Relation fact, Relation rel);
extern bool definition_complete_columns(IndexDef *def, Relation fact, TupleDesc desc);
extern bool index_calls_users_code(IndexDef *def);
extern List *definition_code(IndexDef *def);
extern TupleDesc queue_columns(FactDef *def, Relation fact);

/* table_rows.c: how many rows tables have */
extern double table_rows(Oid relid);

/* totals.c: what tables of totals are like: which aggregates they keep, and their columns */
extern List *summed_fields(List *totals, List **summed);
extern List *totals_of_fields(DefinitionRow *row);
extern void make_summed_fields(IndexDef *def, List *texts, Relation fact, const char **column_names);
extern void check_totals(IndexDef *def, FactDef *fact, List *summed);
extern bool is_image_equal(Oid type, int32 typmod, Oid collation);
extern Oid	sum_type(Oid type, int32 typmod);
extern bool complete_totals_columns(IndexDef *def, TupleDesc desc, AttrNumber *live, int nlive);
extern bool complete_totals_index(IndexDef *def, Relation rel);
extern int	added_columns(IndexDef *def, AttrNumber *attnos);
extern void make_totals_index(IndexDef *def, const char *tablespace);

#define is_totals(def)	((def)->spec.strategy == STRATEGY_TOTALS)

/* The column that has the sum of an included field, or 0. */
#define SUM_ATTNO(def, i) \
	((def)->spec.fields[(def)->spec.nkeys + (i)].attno != (def)->layout.count_attno[i] ? \
		 (def)->spec.fields[(def)->spec.nkeys + (i)].attno : \
		 0)

/* recorded_code.c: the functions, operators and the like that expressions may use */
extern void record_used_code(Oid index_table, Node *expr);
extern void forget_code_dependencies(Oid index_table);
extern void move_code_dependencies(Oid from, Oid to);
extern bool is_code_dependency(Form_pg_depend form, void *unused);
extern void require_recorded_code(IndexDef *def, const char *what, const char *text, Node *expr);
extern void refuse_temporary(const char *what, const char *text, Node *expr);
extern void refuse_temporary_type(const char *field, Oid type);

/* soft_definition.c: the definitions of fact tables to the planner, without errors and waiting */

/*
 * How often a definition is asked for of which there is news each time, before the planner
 * does without it.
 */
#define MAX_ATTEMPTS	5

extern FactDef *soft_definition(Oid relid);

/*
 * tree_age.c: whether tables are stored as they were when a snapshot was taken, or when they
 * were read.
 */

/*
 * The largest age of a snapshot in use, in transactions; an imported one may be older than
 * others, but no older than this.
 */
#define MAX_SNAPSHOT_AGE	1000000000

extern bool tree_is_older(Oid relid, Snapshot snapshot);
extern bool was_rewritten(Oid relid, Oid root, Snapshot snapshot);
extern void refuse_rewritten(Relation rel, Oid root, Snapshot snapshot);
extern List *lock_leaves_to_read(Oid relid, Snapshot snapshot);
extern bool lock_changed_tree(Oid relid, Snapshot snapshot);
extern void refuse_truncated(Oid relid, Snapshot snapshot, CommandId begun, bool locked);
extern void note_read_by_entries(Oid relid);
extern void check_read_by_entries(List *rtable, Snapshot snapshot);

/* unfinished.c: refuses a fact table whose definitions a restore has not completed */
extern void refuse_unfinished(Relation fact);

/* users_text.c: parses SQL that is in a text of a user */
struct ResTarget;

/* What is being parsed, for errors; see push_parse_context(). */
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
extern struct ResTarget *parse_lone_expression(const char *prefix, const char *text);
extern void append_path_step(StringInfo path, const char *name, bool subscript);
extern bool is_subscript(const char *name);
extern const char *field_type_name(Oid type);

#endif							/* INDEXTABLE_DEFINITION_H */
