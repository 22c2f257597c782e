/*-------------------------------------------------------------------------
 *
 * catalog.h
 *	  Offers what the extension's own tables say of index tables and fact tables, and of which
 *	  roles may do what.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_CATALOG_H
#define INDEXTABLE_CATALOG_H

#include "access/htup.h"
#include "storage/itemptr.h"
#include "storage/lock.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "../indextable.h"
#include "../util/compat.h"

/* comment_call.c: the comment of an index table, which has the statement that makes it */
#define COMMENT_BEGINS		"index table of "
#define STATEMENT_BEGINS	": SELECT indextable.create("

extern bool has_written_comment(Oid index_table, Oid fact_table);
extern bool is_undefined(Oid index_table);
extern List *undefined_tables(void);
extern List *undefined_of(List *undefined, Oid fact_table);
extern char *told_remaking(List *undefined);

/*
 * completeness.c: records that fact rows lack entries, and tells which queries an index table
 * can answer by itself.
 */

/*
 * The bit of a record, and those of entries that were skipped, and of totals that lack a value
 * or a row of a group.  From 32 on there is a bit for each field: entries were skipped because its text
 * cannot be cast.  The last one says that one of these texts is that of a number in JSON.
 */
#define RECORDS				64
#define LACKING_BIT(record)	((uint64) 1 << (record))
#define SKIPPED_BIT(def)	LACKING_BIT(Min((def)->spec.nkeys, 24))
#define SUM_LACKS_BIT(def)	SKIPPED_BIT(def)
#define GROUP_LACKS_BIT(def)	LACKING_BIT(Min((def)->spec.nkeys + 1, 24))
#define FIRST_FAULT			32
#define NUMBER_FAULT		63
#define FAULT_BITS			(~(uint64) 0 << FIRST_FAULT)
#define NUMBER_FAULT_BIT	LACKING_BIT(NUMBER_FAULT)
/*
 * The bits of rows that have another value than an array where the elements of one are looked for,
 * of rows that have an element that is no string, of rows whose elements are not one
 * for each of an array, of rows that have a time without a zone of its own in a field with a zone,
 * of rows that have an array or an object where a key has its text, of rows that have an array on the
 * way to that, and of all that being recorded.  And, where there are fewer key fields than that, the bits of
 * rows with elements that are equal and not the same, which one entry stands for, and of rows with an element
 * that is no object, though members of it are looked for.  Of totals, whose equal keys are the same, the first
 * of these says that a row has several elements in a group.
 */
#define UNLIKE_BIT			((uint64) 1 << 23)
#define REPEATED_BIT		UNLIKE_BIT
#define NO_OBJECT_BIT		((uint64) 1 << 24)
#define PASSED_ARRAY_BIT	((uint64) 1 << 25)
#define NO_ARRAY_BIT		((uint64) 1 << 26)
#define NO_STRING_BIT		((uint64) 1 << 27)
#define UNEVEN_BIT			((uint64) 1 << 28)
#define ZONELESS_BIT		((uint64) 1 << 29)
#define CONTAINER_BIT		((uint64) 1 << 30)
#define VALUE_BITS			(PASSED_ARRAY_BIT | NO_ARRAY_BIT | NO_STRING_BIT | UNEVEN_BIT | ZONELESS_BIT | CONTAINER_BIT)
#define VALUES_RECORDED		((uint64) 1 << 31)

extern uint64 fault_bits(IndexDef *def, Field *field, bool number);
extern bool index_table_complete(IndexDef *def, uint64 excluded, Snapshot snapshot);
extern Field *fault_not_excluded(IndexDef *def, uint64 excluded);
extern bool totals_complete(IndexDef *def, bool sums, Snapshot snapshot);
extern bool index_table_has_none(IndexDef *def, uint32 values, Snapshot snapshot);
extern uint64 lacking_unrecorded(IndexDef *def, uint64 lacking, Snapshot snapshot);
extern bool lacking_is_news(IndexDef *def, uint64 lacking);
extern void record_lacking(IndexDef *def, uint64 lacking);
extern void completeness_begin(Oid index_table);
extern void completeness_move(Oid from, Oid to);
extern LOCKTAG record_tag(Oid index_table, TransactionId xmin, int record);
extern List *lock_records(IndexDef *def);
extern void remove_unneeded_records(IndexDef *def, List *locked, uint64 lacking);

/*
 * definition_rows.c: reads and writes the catalog's definitions of index tables, and deletes
 * what else the catalog has of one.
 */

/* The values in the catalog and of users' arguments, by those in C; each list is ended by NULL. */
extern const char *const strategy_names[];
extern const char *const maintenance_names[];
extern const char *const mismatch_names[];
extern const char *const state_names[];

extern void catalog_insert(DefinitionRow *row, Relation fact);
extern void catalog_update(DefinitionRow *row, Relation fact);
extern void catalog_set_state(Oid index_table, IndexState state, const char *problem);
extern List *catalog_index_tables(void);
extern List *get_column_names_by_number(Relation rel);
extern List *catalog_read_definitions(Oid fact_table, Oid index_table);
extern DefinitionRow *stored_definition(Oid index_table);
extern void check_place_of_index_table(Oid index_table);
extern bool is_building(Oid index_table);
extern List *catalog_read_unchecked_definitions(Oid fact_table, Oid index_table);
extern List *catalog_definitions(void);
extern bool catalog_is_current_version(void);
extern Oid	catalog_fact_of(Oid index_table);
extern void require_reader(Oid index_table);
extern bool is_async(DefinitionRow *row);
extern bool is_queued(DefinitionRow *row);
extern List *catalog_queued_definitions(Oid fact_table);
extern bool catalog_has_transactional(Oid fact_table);
extern bool keeps_totals(DefinitionRow *row);
extern Oid	catalog_forget_index_table(Oid index_table);
extern void catalog_forget_definition(Oid index_table);
extern bool catalog_fact_in_use(Oid fact_table);
extern void catalog_set_hidden(Oid index_table, bool hidden);
extern List *catalog_hidden(void);
extern void catalog_count_skipped(Oid index_table, int64 entries);
extern void catalog_forget_skipped(Oid index_table);
extern void catalog_reassign_rows(Oid from, Oid to);
extern void catalog_forget_build(Oid index_table);
extern void catalog_forget_rejections(Oid index_table);
extern bool catalog_has_rejections(Oid index_table);
extern void invalidate_definitions(List *definitions, const char *why);

/* fact_rows.c: reads and writes the catalog's rows of fact tables, which name their queue tables */

/* The columns of the catalog's table fact. */
enum
{
	FACT_FACT_TABLE = 1,
	FACT_QUEUE,
	FACT_SPARE,
	FACT_FEED,
	FACT_NATTS = FACT_FEED
};

/*
 * The row of a fact table; it has queue tables if any of its index tables is maintained
 * through the queue.
 */
typedef struct FactTableRow
{
	Oid			fact_table;
	Oid			queue;			/* the queue table in use, or InvalidOid */
	Oid			spare;			/* the other one */
	bool		feed;			/* the queue is a feed: another server takes
								 * from it */
} FactTableRow;

extern List *catalog_fact_tables(void);
extern List *catalog_fact_rows(void);
extern bool catalog_has_fact(Oid fact_table);
extern bool catalog_read_fact(Oid fact_table, FactTableRow *row);
extern List *catalog_queues(bool feeds);
extern bool catalog_is_feed(Oid fact_table);
extern void catalog_write_fact(FactTableRow *row);
extern void catalog_forget_fact(Oid fact_table);

/* named_table.c: finds the index tables that users name */
extern List *index_tables_of(Oid relid);
pg_noreturn extern void report_not_index_table(Oid relid);
extern DefinitionRow *required_definition(Oid index_table);
extern char *told_activation(Oid index_table);
extern char *told_unqueue(Oid fact);
extern char *told_drop(Oid fact);

/* told.c: the calls that users are told to run */
extern char *told_call(const char *procedure, Oid index_table);
extern char *told_select(const char *function, Oid relid, const char *arguments);
extern void hint_at_damage(Oid index_table);
extern void damaged_index_table(void *arg);

/* orphaned_rows.c: deletes rows of the catalog that are about tables which no longer exist */
extern void forget_orphaned_rows(Oid named);

/* owner.c: tells which role owns the extension, and keeps others away */

/* The triggers that keep other roles from writing the catalog and queue tables. */
#define OWN_GUARD			"guard"
#define OWN_GUARD_TRUNCATE	"guard_truncate"

extern Oid	get_extension_owner(void);
extern Oid	table_owner(Oid relid);
extern void revoke_all(Oid relid, Oid owner);
extern void revoke_defaults(Oid relid, Oid owner);
extern bool is_own_guard(const char *name);
extern void guard_own_table(Oid relid);
extern void record_extension_dependency(Oid relid);
extern bool is_extension_table(Oid relid);

/* supposed.c: tables that are supposed to exist while a query is planned; statistics of columns */

/* An index table that does not exist. */
typedef struct SupposedTable
{
	Oid			relid;			/* that no table has */
	char	   *name;			/* as the user has written it */
	double		entries;
	double		index_pages;	/* of its primary key */
	uint64		recorded;		/* bits of what completeness.c would know */
	int			ncolumns;
	HeapTuple  *statistics;		/* a row of pg_statistic for each column, or
								 * NULL */
} SupposedTable;

/* A fact table, with index tables that do not exist. */
typedef struct SupposedFact
{
	FactDef    *def;			/* has them beside those that do */
	List	   *tables;			/* of SupposedTable * */
} SupposedFact;

extern List *supposed_facts;	/* of SupposedFact *, for what is planned now */
extern struct Query *supposing_query;	/* for which these are to be supposed: */
extern List *supposing_facts;	/* of SupposedFact * */

extern SupposedTable *supposed_table(Oid relid);
extern FactDef *supposed_fact(Oid relid);
extern HeapTuple column_statistics_row(Oid relid, AttrNumber attno, bool inherited);
extern void release_statistics(HeapTuple statistics);

/* table_access.c: finds the extension's own tables, and reads and writes their rows */
extern Oid	catalog_relid(const char *name, bool missing_ok);
extern const char *catalog_table(const char *name);
extern Oid	catalog_schema(void);
extern Oid	queue_schema(void);
extern Oid	find_queue_table(const char *name);
extern bool is_own_schema(Oid schema);
extern bool is_extension_member(Oid class, Oid object);
extern List *catalog_rows(const char *table, const char *index, AttrNumber column, Oid value,
						  void *(*read) (HeapTuple tuple, TupleDesc desc));
extern List *array_strings(Datum array, Oid type);
extern Oid	catalog_index(Relation rel, const char *name);
extern bool catalog_table_has_columns(const char *table, int natts);
extern Oid	profile_row_type(bool missing_ok);
extern bool catalog_is_old(void);
extern void check_version(TupleDesc desc, int natts);
pg_noreturn extern void report_other_version(void);
extern bool delete_by_oid(const char *table, const char *index, AttrNumber column, Oid value);
extern void insert_row(const char *table, Datum *values, bool *isnull);
extern SysScanDesc scan_by_oid(Relation rel, const char *index, AttrNumber column, Oid value);
extern Datum string_array(List *strings, Oid type);
extern bool wait_for_row_writer(Relation rel, HeapTuple tuple);

/* timeline.c: whether this server was promoted since entries were right */
extern int32 present_timeline(void);
extern bool catalog_timeline_changed(Oid index_table);
extern void catalog_note_timeline(Oid index_table);

/* usage.c: keeps the counters of how much index tables are read */
extern List *usage_keys(Oid index_table);
extern void usage_follows(Oid index_table, List *old_keys);
extern void usage_from_now(Oid index_table);
extern void usage_note_reads(void);

/*
 * validity.c: lists the triggers of the upkeep, and decides which definitions and queue tables
 * in the catalog are to be believed.
 */

/* The triggers of index tables, which keep users from writing them. */
#define GUARD		"indextable_guard"
#define GUARD_ROW	"indextable_guard_row"

/* The kinds of tables that a trigger can be on. */
#define ON_PLAIN		0x01	/* fact tables that are not partitioned */
#define ON_ROOT			0x02	/* fact tables that are partitioned */
#define ON_PARTITION	0x04	/* partitions on this server */
#define ON_FOREIGN		0x08	/* partitions on other servers */
#define ON_DISTRIBUTED	0x10	/* fact tables that Citus distributes */

/* A trigger of fact tables. */
typedef struct FactTrigger
{
	const char *name;
	const char *event;
	const char *level;
	int16		type;			/* the same as in pg_trigger */
	bool		batches;		/* only transactional index tables need it */
	int			on;				/* the tables that have it: ON_... */
	bool		cloned;			/* the server copies it from the root to the
								 * partitions */
} FactTrigger;

#define FACT_TRIGGERS			4

extern bool is_our_trigger(const char *name);
extern bool is_our_guard(const char *name);
extern bool is_our_copied_trigger(const char *name);
extern bool is_trigger_named(const char *trigger, const char *name);
extern bool has_triggers_of_ours(Oid relid, bool guard);

/* For trigger_is_as_made(): enabled or disabled. */
#define ANY_ENABLEMENT			'\0'

extern bool trigger_is_as_made(Relation rel, const char *name, char enabled, bool with_arguments);
extern bool fact_triggers_as_made(Relation fact, bool writers, bool with_arguments);
extern const FactTrigger fact_triggers[FACT_TRIGGERS];

extern bool is_adopted(Oid index_table, Oid fact_table);
extern bool definition_matches_tables(DefinitionRow *row);

/* The names of all queue tables begin with this. */
#define QUEUE_TABLE_PREFIX	"queue_"

extern bool find_queue_tables(FactTableRow *row, TupleDesc desc);
extern void queue_table_drop(Oid relid);
extern bool queue_stays_for_now(Oid queue);

#endif							/* INDEXTABLE_CATALOG_H */
