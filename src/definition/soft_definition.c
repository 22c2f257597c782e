/*-------------------------------------------------------------------------
 *
 * soft_definition.c
 *	  Finds the definition of the fact table that a table is, or is a partition of, for the
 *	  planner.
 *
 * Planning must not fail because of index tables, and must not wait for them, whatever state
 * they, the fact table and the catalog are in, and whatever other sessions do with them.  A
 * definition that is cached, and up to date, is at hand.  Otherwise definition/cache.c loads
 * it, in a subtransaction, where any error means that there is none, and only if each lock
 * is free at once.  What is in the way only for the moment, such as a lock, is tried again
 * the next time; what is wrong with the tables is not, before there is news of them.
 *
 * The locks under which a definition is loaded are released at once.  So what it says may
 * have changed when an index table is used: a caller that uses one locks it, and asks
 * definition_settled() after that.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>

#include "access/relation.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/guc.h"
#include "utils/resowner.h"

#include "../catalog/catalog.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../util/relation.h"
#include "../util/subxact.h"
#include "../util/wait_point.h"
#include "definition.h"

/* A table that was asked for. */
typedef struct Table
{
	Oid			relid;			/* hash key */
	Oid			root;			/* the fact table that it is, or is a
								 * partition of; InvalidOid: it is none */
	bool		failed;			/* there was an error, so root is InvalidOid */
} Table;

/* What is being loaded. */
typedef struct SoftReading
{
	Oid			relid;			/* the table that was asked for */
	Oid			root;			/* its fact table, if it has one */
	FactDef    *def;
	bool		busy;			/* something is in the way for the moment */
} SoftReading;

static HTAB *tables = NULL;
static uint64 news = 0;			/* counts what has made something forgotten */
static int	nfailed = 0;		/* number of tables, at least, that are marked
								 * as failed */
static bool reading_now = false;

static void forget_table(Oid relid);
static void forget_failures(Oid relid);
static Table *enter_table(Oid relid, Oid root);
static FactDef *read_softly(Oid relid);
static bool has_fact_trigger(Oid relid);
static ErrorData *try_without_waiting(SoftReading *reading);
static void try_reading(void *arg);
static void read_definition(SoftReading *reading);
static bool is_part_of_unknown(FactDef *def);
static bool lock_now(SoftReading *reading, Oid relid);
static bool lock_indexes_now(SoftReading *reading, Oid index_table);
static bool passes_by_itself(ErrorData *error);

static ChangeListener listener = {.any_relation = forget_table,.watched_relation = forget_failures};

/*
 * soft_definition
 *		Returns the definition of the fact table that a table is, or is a partition of.  The
 *		planner or the executor has locked the table.  Returns NULL if it is none, or if
 *		something is in the way.
 *
 * The caller holds the result (definition_hold()) before it does anything that reads a catalog.
 *
 * Called for every table of every query.  One that is no fact table costs a look-up in a hash
 * table.
 */
FactDef *
soft_definition(Oid relid)
{
	Table	   *table;
	FactDef    *def;

	if (relid < FirstNormalObjectId)
		return NULL;
	if (tables == NULL)
	{
		listen_to_changes(&listener);
		tables = hash_by_oid("indextable tables planned", 64, sizeof(Table), NULL);
	}
	table = hash_search(tables, &relid, HASH_FIND, NULL);
	if (table != NULL)
	{
		if (!OidIsValid(table->root))
			return NULL;
		def = fresh_definition(table->root);
		if (def != NULL)
			return def;
	}
	/* There are no subtransactions while parallel workers run. */
	return reading_now || IsInParallelMode() ? NULL : read_softly(relid);
}

/*
 * definition_to_plan
 *		Returns what soft_definition() does to what is planned, with the index tables that are supposed to exist.
 */
FactDef *
definition_to_plan(Oid relid)
{
	FactDef    *supposed = supposed_fact(relid);

	return supposed != NULL ? supposed : soft_definition(relid);
}

/*
 * forget_table
 *		Forgets what is known of a table that has changed, or of all tables, if relid is
 *		InvalidOid.
 */
static void
forget_table(Oid relid)
{
	if (hash_forget(tables, relid) != NULL || !OidIsValid(relid))
		news++;
}

/*
 * forget_failures
 *		Has tables tried again that there was an error about, now that something has changed
 *		that a definition depends on.  Everything that a definition is loaded from is watched
 *		before it is read, so that whatever mends the error is heard of.
 */
static void
forget_failures(Oid relid)
{
	HASH_SEQ_STATUS seq;
	Table	   *table;

	news++;
	if (nfailed == 0)
		return;
	nfailed = 0;
	hash_seq_init(&seq, tables);
	while ((table = hash_seq_search(&seq)) != NULL)
		if (table->failed)
			hash_search(tables, &table->relid, HASH_REMOVE, NULL);
}

static Table *
enter_table(Oid relid, Oid root)
{
	Table	   *table = hash_search(tables, &relid, HASH_ENTER, NULL);

	table->root = root;
	table->failed = false;
	return table;
}

/* read_softly: finds out of which fact table a table is, and has the definition of that loaded */
static FactDef *
read_softly(Oid relid)
{
	SoftReading reading = {.relid = relid};
	uint64		before;
	ErrorData  *error;

	/* This is entered before anything is read, so that news of it are heard. */
	enter_table(relid, InvalidOid);
	before = news;
	if (!has_fact_trigger(relid))
		return NULL;
	error = try_without_waiting(&reading);
	if (error != NULL)
	{
		bool		passes = passes_by_itself(error);

		if (is_interruption(error))
		{
			forget_table(relid);
			ReThrowError(error);
		}
		elog(DEBUG1, "the planner does without the definition of table %u: %s", relid, error->message);
		FreeErrorData(error);
		if (passes || news != before)
			forget_table(relid);
		else
		{
			enter_table(relid, InvalidOid)->failed = true;
			nfailed++;
		}
		return NULL;
	}
	if (reading.busy || news != before)
		forget_table(relid);
	else
		enter_table(relid, reading.def != NULL ? reading.root : InvalidOid);
	return reading.def;
}

/*
 * has_fact_trigger
 *		Returns whether a table has a trigger by the name of one of ours; most have none, and
 *		that is all.
 */
static bool
has_fact_trigger(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	bool		result = false;

	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers && !result; i++)
	{
		Trigger    *trigger = &rel->trigdesc->triggers[i];

		result = (is_our_trigger(trigger->tgname) && !is_our_guard(trigger->tgname)) ||
			(trigger->tgnargs > 0 && is_our_copied_trigger(trigger->tgname));
	}
	table_close(rel, NoLock);
	return result;
}

/*
 * try_without_waiting
 *		Loads a definition; returns the error that was raised meanwhile, or NULL.
 *
 * Everything that is known to be needed is locked at once or not at all, before it is opened.
 * Should anything else be locked by others, then it is waited for no longer than a millisecond.
 *
 * On a standby a conflict with recovery ends the session if it finds it in a subtransaction,
 * as it cannot end the statement alone.  So the server is not told of one before this is
 * over, which takes a few milliseconds at most.
 */
static ErrorData *
try_without_waiting(SoftReading *reading)
{
	bool		standby = RecoveryInProgress();
	int			nestlevel = NewGUCNestLevel();
	sigset_t	conflicts;
	sigset_t	before;
	ErrorData  *error;

	set_config_option("lock_timeout", "1", PGC_SUSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	sigemptyset(&conflicts);
	sigaddset(&conflicts, SIGUSR1);
	if (standby)
		sigprocmask(SIG_BLOCK, &conflicts, &before);
	reading_now = true;
	error = run_catching_errors(try_reading, reading);
	reading_now = false;
	if (standby)
		sigprocmask(SIG_SETMASK, &before, NULL);
	AtEOXact_GUC(false, nestlevel);
	return error;
}

/*
 * try_reading
 *		Loads a definition; run by run_catching_errors(), which releases the locks only after
 *		an error.
 */
static void
try_reading(void *arg)
{
	ResourceOwner outer = CurrentResourceOwner;
	ResourceOwner locks = ResourceOwnerCreate(outer, "indextable definition");

	CurrentResourceOwner = locks;
	read_definition(arg);
	CHECK_FOR_INTERRUPTS();		/* a lock that was granted just as the time
								 * was up leaves a cancellation behind */
	CurrentResourceOwner = outer;
	ResourceOwnerRelease(locks, RESOURCE_RELEASE_BEFORE_LOCKS, false, false);
	ResourceOwnerRelease(locks, RESOURCE_RELEASE_LOCKS, false, false);
	ResourceOwnerRelease(locks, RESOURCE_RELEASE_AFTER_LOCKS, false, false);
	ResourceOwnerDelete(locks);
}

/*
 * read_definition
 *		Locks what a definition is loaded from, as far as that is known, and has it loaded.
 */
static void
read_definition(SoftReading *reading)
{
	Oid			definitions = catalog_relid("definition", true);
	Oid			facts = catalog_relid("fact", true);
	Relation	fact;

	if (!OidIsValid(definitions) || !OidIsValid(facts) || !lock_now(reading, definitions) ||
		!lock_now(reading, facts))
		return;
	reading->root = registered_root(reading->relid);
	if (!lock_now(reading, reading->root))
		return;
	foreach_ptr(DefinitionRow, row, definition_rows(reading->root))
	{
		Oid			index_table = row->index_table;

		if (!lock_now(reading, index_table))
			return;
		wait_point("the planner has locked an index table");
		if (!lock_indexes_now(reading, index_table))
			return;
	}
	fact = try_relation_open(reading->root, NoLock);
	if (fact == NULL)
		return;

	/*
	 * There may be news of it while it is loaded: every ANALYZE of one of the
	 * tables is.
	 */
	for (int attempt = 0; attempt < MAX_ATTEMPTS && (attempt == 0 || reading->def->run.changed); attempt++)
		reading->def = definition_of_fact(fact, reading->root);
	relation_close(fact, NoLock);
	reading->busy = reading->def->run.changed || is_part_of_unknown(reading->def);
	if (reading->def->run.changed || !reading->def->registered)
		reading->def = NULL;
}

/*
 * is_part_of_unknown
 *		Returns whether a table with our triggers is a part of one that is not registered on this server yet, as
 *		it may be at any moment.
 */
static bool
is_part_of_unknown(FactDef *def)
{
	return def->wholes != NIL && !def->registered && !catalog_has_fact(linitial_oid(def->wholes));
}

/*
 * lock_now
 *		Locks a relation against DDL until it is read; returns false if that would have to be
 *		waited for.
 */
static bool
lock_now(SoftReading *reading, Oid relid)
{
	if (!ConditionalLockRelationOid(relid, AccessShareLock))
		reading->busy = true;
	else
		watch_relation(relid);
	return !reading->busy;
}

/*
 * lock_indexes_now
 *		Locks the indexes of an index table as lock_now() does, as REINDEX locks them without
 *		the table.
 */
static bool
lock_indexes_now(SoftReading *reading, Oid index_table)
{
	Relation	rel = try_relation_open(index_table, NoLock);

	if (rel == NULL)
		return false;
	foreach_oid(index_oid, RelationGetIndexList(rel))
	{
		if (!ConditionalLockRelationOid(index_oid, AccessShareLock))
			reading->busy = true;
	}
	relation_close(rel, NoLock);
	return !reading->busy;
}

/*
 * passes_by_itself
 *		Returns whether an error is not about the tables, so that it makes sense to try again.
 */
static bool
passes_by_itself(ErrorData *error)
{
	switch (ERRCODE_TO_CATEGORY(error->sqlerrcode))
	{
		case ERRCODE_TRANSACTION_ROLLBACK:
		case ERRCODE_INSUFFICIENT_RESOURCES:
		case ERRCODE_OPERATOR_INTERVENTION:
		case ERRCODE_SYSTEM_ERROR:
			return true;
		default:
			return error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE || error->sqlerrcode == ERRCODE_OBJECT_IN_USE;
	}
}
