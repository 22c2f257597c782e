/*-------------------------------------------------------------------------
 *
 * commands.h
 *	  Offers the steps of create(), alter() and drop() to each other: builds, replacements, and
 *	  how far they have come.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_COMMANDS_H
#define INDEXTABLE_COMMANDS_H

#include "portability/instr_time.h"
#include "utils/array.h"

#include "../definition/definition.h"
#include "../indextable.h"
#include "../queue/queue.h"
#include "../util/compat.h"
#include "../util/lock_wait.h"

/* alter_in_place.c: changes of an index table's definition that leave its entries as they are */
extern void alter_totals(DefinitionRow *row);
extern void alter_in_place(DefinitionRow *now, DefinitionRow *wanted);

/* build.c: checks, when an index table is to become transactional, that no row is rejected */
extern void require_no_rejections(Oid index_table, Oid shown);

/* build_batch.c: writes the entries of one batch of an online build */
extern void build_batch(FactDef *def, Relation fact, void *arg);

/* create.c: reads calls of create(); fills and registers an index table whose table exists */

/* What a call of create() asks for. */
typedef struct CreateCall
{
	DefinitionRow row;
	char	   *name;			/* as the user has written it */
	char	   *document;		/* NULL: not given */
	PartitioningRequest parts;
	List	   *summed;			/* see take_totals() */
	bool		accept_existing;
	FunctionCallInfo fcinfo;	/* has the arguments */
} CreateCall;

extern void read_create_call(FunctionCallInfo fcinfo, CreateCall *call);
extern IndexDef *resolve_create_call(CreateCall *call, Relation fact);
extern Oid	target_schema(const char *index_table, Relation fact, char **name);
extern void register_index_table(DefinitionRow *row, IndexDef *def, Relation fact,
								 Relation index_table, const char *tablespace);

/* NULL, or called for an index table that create() has made */
extern void (*index_table_created) (DefinitionRow *row, IndexDef *def);

extern bool fill_index_table(IndexDef *def, Relation fact, Relation index_table);
extern bool fill_from_snapshot(IndexDef *def, Relation fact, Relation index_table, Snapshot snapshot,
							   int64 *nrows);

/*
 * For so long locks on what others have made on a replacement are waited for, in ms: it is dropped while readers
 * and writers wait.  After deadlock_timeout autovacuum makes way.
 */
#define OTHERS_TIMEOUT	(DeadlockTimeout + 1000)

/* drop.c: drops an index table, and forgets what was dropped in another way */
extern void drop_index_table(Oid relid);
extern void forget_dropped_relation(Oid relid, bool wait, DropBehavior behavior);

/*
 * if_not_exists.c: what create() does about an index table that exists, if it is asked to
 * accept one.
 */
extern Oid	find_named_table(const char *name, Oid fact_table);
extern bool is_bare_copy(Oid table, Oid fact_table);
extern Oid	replace_bare_copy(Oid existing, Relation fact);
pg_noreturn extern void refuse_existing(Oid existing);
extern void check_existing(Oid existing, DefinitionRow *row, IndexDef *asked, PartitioningRequest *parts,
						   Relation fact);

/*
 * progress.c: notes how far an online build has come, tells where it goes on after an
 * interruption, and rests for writers.
 */

/* What was seen of writers while the build worked, or while it rested. */
typedef struct Seen
{
	double		seconds;
	double		bytes;			/* that they have appended to the queue */
} Seen;

/* Zeroed before it is used. */
typedef struct Throttle
{
	QueueEnds	ends;			/* of the queue, when it was last looked at */
	instr_time	looked_at;		/* and when that was; zero: never */
	Seen		work;			/* lately */
	Seen		rest;
	double		slice;			/* seconds of work since the last rest */
	double		allowance;		/* seconds that it may rest at most, in all */
} Throttle;

/* A call of build() or rebuild(). */
typedef struct Build
{
	Oid			index_table;	/* the one that is filled */
	Oid			shown;			/* the one that the user knows: the same, or
								 * the one that it replaces */
	Oid			fact_table;
	int			batch_size;
	int64		pause;			/* microseconds after each batch; -1: as long
								 * as writers need */
	bool		at_once;		/* whether the first batch may read all rows */
	Throttle	throttle;
	bool		transactional;	/* whether it will be, when it is built */
	int64		rows;			/* read by this call */
	bool		done;			/* all rows are read */
	bool		alone;			/* the index table is locked against all other
								 * sessions */
	int			tries;			/* how often that was tried in vain */
} Build;

extern LockWait build_wait(Build *b);
extern void progress_begin(Relation fact, Oid index_table, int64 command);
extern void note_progress(Build *b, Reconciliation *r, Datum *last_key);
extern void note_all_read(Build *b);
extern ArrayType *read_build_position(Build *b, Oid *table);
pg_noreturn extern void report_build_superseded(Build *b);
extern void set_phase(Build *b, const char *phase);
extern void throttle_look(Throttle *t, Oid fact_table, bool worked);
extern void throttle_rest(Throttle *t, bool reading);

/* replace.c: makes the replacement of an index table, and puts it in its place */
extern Oid	make_replacement(DefinitionRow *row, Oid index_table);
extern void check_not_in_use(Oid relid);
extern void replace_index_table(Oid new);
extern int64 replace_contents(IndexDef *def, Relation fact, Snapshot snapshot, LockWait *shown);

/* replaceable.c: tells whether, and how, one index table can take the place of another */

/* Which columns of an index table stay when it gets another definition. */
typedef struct Columns
{
	int			nkept;			/* number of columns that stay, from the first
								 * one on */
	int			first_own;		/* and all from this one on, which the owner
								 * has added */
	bool		adds;			/* whether the new definition has others, too */
	bool		adds_elements;	/* the last of these is the number of elements */
} Columns;

extern DefinitionRow *replacement_of(Oid index_table);
extern bool is_own_column(Oid index_table, const char *name);
extern bool replacement_fits(DefinitionRow *replacement);
extern void check_replaceable(DefinitionRow *row, Oid index_table);
extern void report_lost_indexes(DefinitionRow *row, Oid index_table);
extern Columns compare_columns(DefinitionRow *row, IndexDef *old_def);
extern IndexDef *get_definition(Oid index_table);
extern Bitmapset *index_columns(Relation index);

/* swap_files.c: exchanges the files of two tables, and what belongs to that */
extern Oid	find_matching_index(Relation index, Relation rel);
extern void swap_indexes(Oid old, Oid new);
extern void swap_files(Oid old, Oid new, float4 rows);
extern List *toast_tables(Oid relid);
extern void rename_toast_table(Oid relid);

#endif							/* INDEXTABLE_COMMANDS_H */
