/*-------------------------------------------------------------------------
 *
 * fact.h
 *	  Offers what a fact table is like now: its columns, the key of its rows, its partitions, and
 *	  the news of changes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FACT_H
#define INDEXTABLE_FACT_H

#include "catalog/pg_attribute.h"
#include "partitioning/partdefs.h"

#include "../catalog/catalog.h"
#include "../indextable.h"

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

/*
 * invalidation.c: the news of changed relations, functions, domains and casts to the caches of
 * this backend.
 */

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

/*
 * partition_list.c: the partitions of a fact table as the server caches them, and how new that
 * is
 */
extern PartitionDesc partition_list(Relation rel);
extern Snapshot tree_snapshot(Relation root);
extern void refresh_partition_lists(Relation root);

/* table_rows.c: how many rows tables have */
extern double table_rows(Oid relid);

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

#endif							/* INDEXTABLE_FACT_H */
