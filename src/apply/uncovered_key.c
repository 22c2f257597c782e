/*-------------------------------------------------------------------------
 *
 * uncovered_key.c
 *	  Takes the included fields out of an index table's primary key, where entries
 *	  are too wide for them.
 *
 * The primary key covers the included fields for index-only scans, and a btree takes
 * entries of up to MAX_INDEX_DATA bytes.  A wider entry is to be written all the same, so
 * the key is rebuilt without the included fields, and meanwhile no other session may use
 * the index table.  If writers waited for that in their transactions, two of them that both
 * have the index table locked would wait for each other, and others behind them.  So nobody
 * ever waits for it in the queue of a lock:
 *
 * - Where the types of the columns keep every entry within the limit, nothing is ever
 *   to be done: see primary_key_max_covered_bytes().  Otherwise entries are measured when
 *   an index table is filled, and its primary key covers the included fields only if
 *   all entries are at most half as wide as the limit.
 * - An entry that is wider, but still fits, may be followed by others that do not fit.
 *   It is only noted.  When its transaction is about to commit, and not in the middle of a
 *   statement, the key is rebuilt, if the index table can be locked at once and is small
 *   enough for this to take a moment.  An error rolls back nothing but this attempt. If the
 *   key was not rebuilt, a warning is given, and the next such entry is another occasion.
 * - For an entry that does not fit, the key is rebuilt before the entry is written.  At the
 *   end of its statement this is done only if it can be done at once: if the owner of the table writes, this
 *   session does not use the index table itself, as the statement may that writes or a cursor, and if the
 *   locks are free.  Else the operations are put off (put_off.c), and the same is tried
 *   again whenever a statement ends.
 * - Before the commit nothing else is locked any more, and the session itself uses the index
 *   table no longer.  So now we try again and again to lock it, without waiting for the lock,
 *   and give up after some tries, so no other session can be in a deadlock with us.  If two
 *   sessions try, each has the index table locked as a writer: when the first of them gives
 *   up, its transaction is rolled back and releases that lock, and then the other session
 *   can lock the index table.
 * - A transaction that has the index table locked before its commit goes on, and may lock more
 *   rows, none of which may be locked by another writer that waits for the index table, as a
 *   writer locks a row of the fact table first.  So the fact table is locked in EXCLUSIVE
 *   mode, too, until the transaction ends: we get that lock only while no other transaction
 *   has rows of the fact table locked, and none can lock rows afterwards.
 *
 * While we have the index table locked in ACCESS EXCLUSIVE mode, no other session
 * reads or writes it, whatever its isolation level.  For a snapshot that is older, the
 * new key is like any index that was made meanwhile: it finds its entries by the key,
 * or indcheckxmin keeps it from using the key.  A rollback, also one to a savepoint,
 * or a crash undoes the lock and the new key together.  A definition that was cached
 * before is stale, as after any ALTER TABLE.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "../definition/definition.h"
#include "../entry/entry.h"
#include "../indextable.h"
#include "../util/as_owner.h"
#include "../util/compat.h"
#include "../util/inherit.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/sleep.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "../util/time_limit.h"
#include "apply.h"

/* How often we try to lock an index table before a commit, every 10 ms. */
#define TRIES				100

/* The largest number of pages of an index table, 32 MB, whose key is rebuilt in a moment. */
#define EARLY_PAGES			4096

/* An attempt to rebuild the key of an index table when the transaction commits. */
typedef struct CommitAttempt
{
	Oid			relid;
	const char *why;			/* why the key was not rebuilt; NULL: it was,
								 * or need not be any more */
} CommitAttempt;

static List *wide_tables = NIL; /* OIDs of those to which a wide entry was
								 * written; see note_table() */
static List *warned_of = NIL;	/* OIDs of the index tables that this session
								 * has warned of */

static Oid	next_wide_table(bool own, Oid *owner);
static bool acts_for(Oid role, Oid owner);
static void uncover_key_now(IndexDef *def, OpList *list);
static bool lock_with_retries(IndexDef *def);
static bool lock_before_commit(Oid relid);
static void refuse_wide_entry(IndexDef *def, OpList *list, const char *constraint, bool used_here);
static void try_uncover_key(Oid relid);
static void uncover_key_in_subxact(void *arg);
static void warn(Oid relid, const char *why);
static BlockNumber count_pages(Oid relid);
static bool used_by_us(Oid relid);
static char *covering_constraint(IndexDef *def);
static void uncover_primary_key(IndexDef *def);

/*
 * uncover_key_for_ops
 *		Does what is to be done before operations are applied, some of which write wide
 *		entries to an index table whose primary key covers the included fields.
 */
void
uncover_key_for_ops(IndexDef *def, OpList *list)
{
	if (list->widest > MAX_INDEX_DATA)
		uncover_key_now(def, list);
	else if (def->active || !def->spec.async)
	{
		/* drain() for another owner leaves nothing for the commit. */
		if (is_time_limited() && MyBackendType != B_BG_WORKER)
			return;
		if (!list_member_oid(wide_tables, def->relid))
			note_table(&wide_tables, def->relid);
	}

	/*
	 * While the index table is being built, nobody reads it.  The sooner its
	 * key is rebuilt, the less work that is.
	 */
	else if (!used_by_us(def->relid) && lock_tree_now(def->relid, AccessExclusiveLock))
		uncover_primary_key(def);
}

/*
 * uncover_keys_at_commit
 *		Tries to rebuild the keys of the index tables that were noted: of those of the committing role, or,
 *		unless own is true, of those of another owner, or of the first one if that is InvalidOid.
 *
 * Those of others stay locked until the transaction has ended, and no code of a third may run meanwhile, as it
 * does where a definition is loaded.  This is only an occasion, and there will be others.
 */
void
uncover_keys_at_commit(bool own, Oid owner)
{
	Oid			relid;

	while (OidIsValid(relid = next_wide_table(own, &owner)))
	{
		wide_tables = list_delete_oid(wide_tables, relid);
		try_uncover_key(relid);
	}
}

/* next_wide_table: returns the first of these that is left, or InvalidOid */
static Oid
next_wide_table(bool own, Oid *owner)
{
	foreach_oid(relid, wide_tables)
	{
		Oid			its_owner = table_owner(relid);

		if (is_of_session(relid) != own || (!own && OidIsValid(*owner) && *owner != its_owner))
			continue;
		*owner = its_owner;
		return relid;
	}
	return InvalidOid;
}

/*
 * uncover_key_now
 *		Rebuilds the key before entries are written that do not fit; raises an error if
 *		that cannot be done.
 */
static void
uncover_key_now(IndexDef *def, OpList *list)
{
	char	   *constraint = covering_constraint(def);
	bool		used_here;

	/* An earlier part of the statement may have done so. */
	if (constraint == NULL)
		return;
	used_here = used_by_us(def->relid);
	if (used_here || !lock_with_retries(def))
		refuse_wide_entry(def, list, constraint, used_here);
	uncover_primary_key(def);
}

/*
 * lock_with_retries
 *		Locks an index table against all other sessions, when nothing else is locked any more;
 *		returns false if that cannot be done.
 *
 * A drain tries only once: it tries again later, row by row.
 */
static bool
lock_with_retries(IndexDef *def)
{
	for (int try = 1;; try++)
	{
		if (lock_before_commit(def->relid))
			return true;
		if (def->spec.async || try == TRIES)
			return false;
		sleep_interruptibly(10);
	}
}

/*
 * is_of_session
 *		Returns whether the session's role acts for the owner of an index table, or the table has been
 *		dropped.
 *
 * A SECURITY DEFINER function of the owner does not count: its caller is to hold no locks of that owner.
 * Neither does an expression of another owner, which is evaluated as that one, also by a superuser, a worker
 * or autovacuum.
 */
bool
is_of_session(Oid index_table)
{
	Oid			owner = table_owner(index_table);

	return !OidIsValid(owner) || (acts_for(GetOuterUserId(), owner) && acts_for(GetUserId(), owner));
}

/*
 * acts_for
 *		Returns whether a role is an owner, or has the owner's rights as a member.  That a superuser has all
 *		rights does not count.
 */
static bool
acts_for(Oid role, Oid owner)
{
	return has_privs_of_role(role, owner) && (!superuser_arg(role) || is_member_of_role_nosuper(role, owner));
}

/*
 * lock_before_commit
 *		Locks an index table against all other sessions until the transaction, which is about to
 *		commit, has ended; returns false if others use it.
 *
 * The owner of another table may commit, and is not to keep it locked by not reading what the server sends.
 */
static bool
lock_before_commit(Oid relid)
{
	if (!is_of_session(relid))
		(void) set_config_option("client_min_messages", "error", PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_LOCAL, true, 0, false);
	return lock_tree_now(relid, AccessExclusiveLock);
}

/*
 * make_room_for_ops
 *		Rebuilds the key before operations are applied that write entries which do not fit, which are new
 *		or were put off; returns false if that cannot be done at once.
 *
 * It is left for the end of the transaction if the owner of the table is not the writer: a role that may only
 * write the table, or call a SECURITY DEFINER function of the owner, is not to keep others from it for as
 * long as it likes.  But a superuser is one who writes it, as what is put off takes memory, and much may be
 * loaded; what code of others has put off in a session of a superuser is not written by that one.
 */
bool
make_room_for_ops(IndexDef *def, OpList *list, bool is_new)
{
	bool		by_superuser = is_new && GetUserId() == GetOuterUserId() && superuser();

	if (!def->layout.covering || list->widest <= MAX_INDEX_DATA || covering_constraint(def) == NULL)
		return true;
	if ((!by_superuser && !is_of_session(def->relid)) || used_by_us(def->relid) ||
		!lock_tree_now(def->fact->relid, ExclusiveLock))
		return false;
	if (!lock_tree_now(def->relid, AccessExclusiveLock))
	{
		unlock_tree(def->fact->relid, ExclusiveLock);
		return false;
	}
	uncover_primary_key(def);
	return true;
}

/* refuse_wide_entry: raises the error for the widest of the entries to be written */
static void
refuse_wide_entry(IndexDef *def, OpList *list, const char *constraint, bool used_here)
{
	HeapTuple	widest = NULL;
	const char *field = NULL;
	Size		field_size = 0;

	for (int i = 0; i < list->n; i++)
		if (list->ops[i].kind != OP_DELETE && (widest == NULL || list->ops[i].tuple->t_len > widest->t_len))
			widest = list->ops[i].tuple;
	for (int i = def->spec.nkeys; i < def->spec.nkeys + def->spec.nincludes; i++)
	{
		Field	   *f = &def->spec.fields[i];
		bool		isnull;
		Datum		value = heap_getattr(widest, f->attno, def->layout.desc, &isnull);
		Size		size = isnull ? 0 : f->typbyval ? sizeof(Datum) : datumGetSize(value, false, f->typlen);

		if (field == NULL || size > field_size)
		{
			field = NameStr(TupleDescAttr(def->layout.desc, f->attno - 1)->attname);
			field_size = size;
		}
	}
	ereport(
			ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("an entry is too long for the primary key of index table \"%s\" with its included fields",
					def->name),
			 used_here ?
			 errdetail(
					   "The entry has %zu bytes, %zu of them in field \"%s\"; at most %d are possible. The key cannot be rebuilt without the included fields while the statement or a cursor of this transaction uses the index table.",
					   list->widest, field_size, field, MAX_INDEX_DATA) :
			 errdetail(
					   "The entry has %zu bytes, %zu of them in field \"%s\"; at most %d are possible. The key cannot be rebuilt without the included fields while other transactions use the index table.",
					   list->widest, field_size, field, MAX_INDEX_DATA),
			 errhint("Before you repeat the transaction, run ALTER TABLE %s DROP CONSTRAINT %s, ADD %s;",
					 quoted_relation(def->relid), quote_identifier(constraint),
					 primary_key_constraint(def, false))));
}

/*
 * try_uncover_key
 *		Rebuilds the key of an index table, if that is possible at once; gives a warning
 *		if it is not, or if an error undoes it.
 */
static void
try_uncover_key(Oid relid)
{
	CommitAttempt attempt = {.relid = relid};
	ErrorData  *error = run_catching_errors_at_commit(uncover_key_in_subxact, &attempt);

	if (error != NULL)
	{
		/* A cancellation or shutdown is meant for the whole transaction. */
		if (is_interruption(error))
			ReThrowError(error);
		warn(relid, psprintf("The key could not be rebuilt without them: %s.", error->message));
		FreeErrorData(error);
	}
	else if (attempt.why != NULL)
		warn(relid, attempt.why);
}

/* uncover_key_in_subxact: does the work of try_uncover_key(), where errors are caught */
static void
uncover_key_in_subxact(void *arg)
{
	CommitAttempt *attempt = arg;
	IndexDef   *def;

	PushActiveSnapshot(GetTransactionSnapshot());
	def = definition_of_index_table(attempt->relid);
	if (def != NULL && def->layout.covering)
	{
		if (count_pages(attempt->relid) > EARLY_PAGES)
			attempt->why = "The key was not rebuilt without them because the index table is large.";
		else if (used_by_us(attempt->relid) || !lock_before_commit(attempt->relid))
			attempt->why = "The key was not rebuilt without them because the index table is in use.";
		else
		{
			/* Event triggers may have it loaded anew. */
			definition_hold(def->fact, CurrentMemoryContext);
			uncover_primary_key(def);
		}
	}
	PopActiveSnapshot();
}

/*
 * warn
 *		Warns of an index table, once in a session, as there may be wide entries in every
 *		transaction.
 */
static void
warn(Oid relid, const char *why)
{
	MemoryContext old;

	if (list_member_oid(warned_of, relid))
		return;
	old = MemoryContextSwitchTo(TopMemoryContext);
	warned_of = lappend_oid(warned_of, relid);
	MemoryContextSwitchTo(old);
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("entries are becoming too long for the primary key of index table \"%s\" with its included fields",
					get_rel_name(relid)),
			 errdetail("%s", why),
			 errhint("Entries of more than %d bytes will lock the index table for the rebuild, or be refused. To avoid that, run %s",
					 MAX_INDEX_DATA, told_call("rebuild", relid))));
}

/* count_pages: returns how many pages an index table and its partitions have */
static BlockNumber
count_pages(Oid relid)
{
	BlockNumber pages = 0;

	foreach_oid(leaf, lock_leaves(relid, NULL))
	{
		Relation	rel = relation_open(leaf, AccessShareLock);

		pages += RelationGetNumberOfBlocks(rel);
		relation_close(rel, NoLock);
	}
	return pages;
}

/*
 * used_by_us
 *		Returns whether this session itself is using an index table at the moment: in the
 *		statement that writes, in another one, or in a cursor.
 *
 * ALTER TABLE would raise an error then.
 */
static bool
used_by_us(Oid relid)
{
	bool		used = false;

	foreach_oid(table, list_with_partitions(relid))
	{
		Relation	rel = relation_open(table, AccessShareLock);

		used |= rel->rd_refcnt > 1 || AfterTriggerPendingOnRel(RelationGetRelid(rel));
		relation_close(rel, NoLock);
	}
	return used;
}

/*
 * covering_constraint
 *		Returns the name of the primary key; NULL: it does not cover the included fields any
 *		more.
 */
static char *
covering_constraint(IndexDef *def)
{
	Relation	rel = table_open(def->relid, AccessShareLock);
	Relation	index = open_index_of_entries(def, rel);
	char	   *name = NULL;

	if (index != NULL && primary_key_covers(def, index))
		name = pstrdup(RelationGetRelationName(index));
	if (index != NULL)
		index_close(index, NoLock);
	table_close(rel, NoLock);
	return name;
}

/*
 * uncover_primary_key
 *		Replaces the primary key with one that does not cover the included fields.
 *
 * The caller has locked the index table in ACCESS EXCLUSIVE mode.
 */
static void
uncover_primary_key(IndexDef *def)
{
	if (covering_constraint(def) == NULL)
		return;
	ereport(LOG,
			(errmsg("rebuilding the primary key of index table \"%s\" without its included fields",
					get_rel_name(def->relid)),
			 errdetail("Entries are too long, or are becoming too long, for an index that holds them as a whole. Index-only scans cannot return included fields any more.")));
	primary_key_replace(def, false);
}
