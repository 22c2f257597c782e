/*-------------------------------------------------------------------------
 *
 * definition.h
 *	  Offers what index tables are defined as: their fields, columns and indexes, resolved
 *	  against the tables as they are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DEFINITION_H
#define INDEXTABLE_DEFINITION_H

#include "catalog/pg_attribute.h"
#include "partitioning/partdefs.h"

#include "../catalog/catalog.h"
#include "../indextable.h"

/*
 * cache.c: the definitions of fact tables and index tables, which are cached in the backend:
 * finds, locks and pins them.
 */
extern FactDef *definition_of_fact(Relation fact, Oid root);
extern FactDef *definition_for_writer(Relation fact, Oid root);
extern FactDef *definition_for_writer_of_part(Relation part, Oid root);
extern FactDef *fresh_definition(Oid root);
extern FactDef *fresh_definition_for_writer(Oid root);
extern List *definition_rows(Oid fact);
extern IndexDef *find_index_def(FactDef *fact, Oid index_table);
extern IndexDef *definition_of_index_table(Oid index_table);
extern IndexDef *definition_open(Oid index_table, Relation *fact, Relation *rel);
extern bool definition_lock(FactDef *fact, int from, int to);
extern bool definition_settled(FactDef *fact, bool more_locks);
extern void definition_pin(FactDef *fact);
extern void definition_unpin(FactDef *fact);
extern void definition_hold(FactDef *fact, MemoryContext cxt);
extern FactDef *definition_uncached(Relation fact, List *key);
extern IndexDef *definition_suppose(FactDef *factdef, Relation fact, DefinitionRow *row);

/* create_call.c: the statement that makes an index table as it is, and the comment that has it */
extern char *create_call(const char *index_table, const char *fact_table, DefinitionRow *row,
						 const char *first_column);
extern char *definition_statement(Oid index_table);
extern void describe_index_table(Oid index_table, bool is_made);

/* field.c: a definition's fields with their columns, types and casts */
extern bool has_multi_field(List *fields);
extern bool are_of_same_array(Field *a, Field *b);
extern char *field_as_written(Relation fact, FieldSpec *spec, RowExpression *expression);
extern List *stored_fields(Relation fact, List *texts);
extern List *definition_expressions(IndexDef *def);
extern void record_code_dependencies(Oid index_table, List *expressions);
extern List *definition_nodes(IndexDef *def);
extern List *parse_expressions(Relation fact, DefinitionRow *row, const char **column_names);
extern void make_field(IndexDef *def, int i, const char *text, AttrNumber attno, Relation fact,
					   Form_pg_attribute column, bool is_new, const char **column_names);

/*
 * index_partition.c: the partitions of index tables: which one has an entry, and what its
 * indexes are.
 */
extern bool definition_complete_partitions(IndexDef *def, Relation rel);
extern IndexPartition *find_index_partition(IndexDef *def, Relation leaf);
extern bool is_partition_of_definition(IndexDef *def, Oid relid);
extern Oid	find_partition_for_value(Relation rel, Datum value, bool isnull);
extern Oid	index_table_of(Oid relid);
extern bool is_one_table(IndexDef *def);
pg_noreturn extern void report_no_partition(IndexDef *def);

extern Oid	route_key(FactDef *def, Relation root, Datum *key);
extern int	partition_of(PartitionKey key, PartitionDesc desc, Datum *values, bool *isnull);

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
extern bool *find_kept_columns(TupleDesc desc, int nkept_columns, int first_own);
extern char *layout_like(IndexDef *def, Relation fact, Relation old, int nkept_columns, int first_own,
						 bool adds_elements, List **dropped);
pg_noreturn extern void report_altered_index_table(Oid index_table, Relation fact, const char *why);

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
extern FactDef *make_fact_def(Relation fact, Oid relid, List *key, const char **names, MemoryContext cxt);
extern IndexDef *make_index_def(FactDef *factdef, Relation fact, DefinitionRow *row, Relation rel,
								int nkept_fields, const char **column_names);
extern void require_kept(IndexDef *def);
extern bool definition_complete_primary_key(IndexDef *def, Relation rel);
extern IndexDef *definition_resolve(DefinitionRow *row, Relation fact, Relation replaced, int nkept_fields);
extern bool definition_complete(IndexDef *def, Relation fact, Relation rel);
extern bool definition_complete_columns(IndexDef *def, Relation fact, TupleDesc desc);
extern bool index_calls_users_code(IndexDef *def);
extern List *definition_code(IndexDef *def);
extern TupleDesc queue_columns(FactDef *def, Relation fact);

/* totals_columns.c: what tables of totals are like: which aggregates they keep, and their columns */
extern List *summed_fields(List *key, List *totals, List **summed);
extern List *totals_of_fields(DefinitionRow *row);
extern void make_summed_fields(IndexDef *def, List *texts, Relation fact, const char **column_names);
extern void check_totals(IndexDef *def, FactDef *fact, List *summed);
extern bool is_image_equal(Oid type, int32 typmod, Oid collation);
extern Oid	sum_type(Oid type, int32 typmod);
extern bool complete_totals_columns(IndexDef *def, TupleDesc desc, AttrNumber *live, int nlive);
extern bool complete_totals_index(IndexDef *def, Relation rel);
extern int	added_columns(IndexDef *def, AttrNumber *attnos);
extern void finish_totals(IndexDef *def, const char *tablespace);
extern void make_totals_index(IndexDef *def, const char *tablespace);

#define is_totals(def)	((def)->spec.strategy == STRATEGY_TOTALS)

/* The column that has the sum of an included field, or 0. */
#define SUM_ATTNO(def, i) \
	((def)->spec.fields[(def)->spec.nkeys + (i)].attno != (def)->layout.count_attno[i] ? \
		 (def)->spec.fields[(def)->spec.nkeys + (i)].attno : \
		 0)

/* soft_definition.c: the definitions of fact tables to the planner, without errors and waiting */

/*
 * How often a definition is asked for of which there is news each time, before the planner
 * does without it.
 */
#define MAX_ATTEMPTS	5

extern FactDef *soft_definition(Oid relid);
extern FactDef *definition_to_plan(Oid relid);

/* unfinished.c: refuses a fact table whose definitions a restore has not completed */
extern void refuse_unfinished(Relation fact);

#endif							/* INDEXTABLE_DEFINITION_H */
