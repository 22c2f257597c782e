/*-------------------------------------------------------------------------
 *
 * put_off.c
 *	  Keeps operations on index tables that cannot be applied yet, because an entry does not fit
 *	  into a primary key that is in use: see uncovered_key.c.
 *
 * What follows in the sequence of an index table's operations is put off, too.  All of it is
 * applied when a statement ends after which that is possible, and at the latest before the
 * transaction commits.  A subtransaction may apply what an outer one has put off.  If it aborts,
 * that has to be applied again, and so it is kept until then.
 *
 * Meanwhile plans do without the index tables of the fact table, and go on so until the
 * transaction ends: a snapshot may see the rows, and not the entries that were written later.
 * Queries that name the index table raise an error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/partition.h"
#include "nodes/parsenodes.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../entry/entry.h"
#include "../indextable.h"
#include "../util/subxact.h"
#include "../util/while_set.h"
#include "apply.h"

/* Operations that were put off together. */
typedef struct PutOff
{
	IndexDef   *def;			/* of a fact table that is pinned */
	OpList		list;
	MemoryContext cxt;			/* of this and the list */
	SubTransactionId owner;		/* the subtransaction that has put them off */
	SubTransactionId written_in;	/* they were applied by this one, which
									 * may still abort; invalid: they were not */
} PutOff;

static List *all = NIL;			/* of PutOff *, in sequence */
static List *facts = NIL;		/* OIDs of the fact tables of those that there
								 * have been in this transaction */

bool		applying_put_off = false;

static bool apply(PutOff *p, bool at_commit);
static bool write_ops(PutOff *p, bool at_commit, bool keep);
static void apply_those(bool own);
static PutOff *first_put_off(bool own);
static void apply_those_of_others(void *arg);
static void forget(PutOff *p);
static bool lags(Oid index_table);

/*
 * put_off_ops
 *		Puts off operations on an index table if they cannot be applied yet; returns whether it
 *		has.
 */
bool
put_off_ops(IndexDef *def, OpList *list)
{
	MemoryContext cxt;
	MemoryContext old;
	PutOff	   *p;

	if (all != NIL)
		put_off_try_again();
	if (!lags(def->relid) && make_room_for_ops(def, list, true))
		return false;
	cxt = AllocSetContextCreate(TopMemoryContext, "indextable put off", ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(cxt);
	p = palloc0(sizeof(PutOff));
	p->def = def;
	p->list = *list;
	p->cxt = cxt;
	p->owner = GetCurrentSubTransactionId();
	p->written_in = InvalidSubTransactionId;
	p->list.skipped = p->list.lacking = 0;	/* is noted at once */
	p->list.max = list->n;
	p->list.ops = palloc_extended(sizeof(Op) * Max(list->n, 1), MCXT_ALLOC_HUGE);
	for (int i = 0; i < list->n; i++)
	{
		p->list.ops[i] = copy_op(def, &list->ops[i]);
		ItemPointerSetInvalid(&p->list.ops[i].place.tid);
	}
	MemoryContextSwitchTo(TopMemoryContext);
	facts = list_append_unique_oid(facts, def->fact->relid);
	all = lappend(all, p);
	definition_pin(def->fact);
	MemoryContextSwitchTo(old);
	return true;
}

/*
 * apply
 *		Applies operations that were put off, and keeps them only if this subtransaction may abort
 *		without their owner.  Returns false if that has to wait; before the commit it raises an error.
 *		Those of an index table that has been dropped count as applied.
 */
static bool
apply(PutOff *p, bool at_commit)
{
	bool		keep = !belongs_to(p->owner, GetCurrentSubTransactionId());
	bool		pushed = !ActiveSnapshotSet();
	bool		dropped = get_rel_relkind(p->def->relid) == '\0';
	bool		done;

	/*
	 * SQL that rebuilds the key needs an active snapshot.  That a cursor has
	 * registered one, for which push_missing_snapshot() pushes none, is not
	 * enough.
	 */
	if (pushed)
		PushActiveSnapshot(GetTransactionSnapshot());
	WHILE_SET(applying_put_off, true, done = dropped || write_ops(p, at_commit, keep));
	if (pushed)
		PopActiveSnapshot();
	if (done && keep)
		p->written_in = GetCurrentSubTransactionId();
	else if (done)
		forget(p);
	return done;
}

/* write_ops: writes operations that were put off; returns false if that has to wait */
static bool
write_ops(PutOff *p, bool at_commit, bool keep)
{
	if (!at_commit && !make_room_for_ops(p->def, &p->list, false))
		return false;
	(void) apply_ops(p->def, &p->list, keep);
	return true;
}

static void
forget(PutOff *p)
{
	all = list_delete_ptr(all, p);
	definition_unpin(p->def->fact);
	MemoryContextDelete(p->cxt);
}

/* put_off_try_again: applies what was put off, as far as that is possible now */
void
put_off_try_again(void)
{
	List	   *blocked = NIL;

	if (all == NIL || applying_put_off)
		return;
	foreach_ptr(PutOff, p, list_copy(all))
	{
		Oid			index_table = p->def->relid;

		if (p->written_in == InvalidSubTransactionId && !list_member_oid(blocked, index_table) && !apply(p, false))
			blocked = lappend_oid(blocked, index_table);
	}
}

/*
 * put_off_apply_all
 *		Applies all that was put off, before the transaction commits; raises an error if that
 *		is not possible.  Returns the other owner whose index tables are locked, or InvalidOid.
 *
 * Applying locks an index table until the transaction ends, and meanwhile only code of its owner may run.
 * So tables of the committing role come first.  Those of another role follow in a subtransaction; if they
 * have two owners, that is an error.  An error there is raised only after the subtransaction has
 * released its locks: the server sends an error before it releases locks, and a client may never read it.
 */
Oid
put_off_apply_all(void)
{
	ErrorData  *error = NULL;
	Oid			locked = InvalidOid;

	while (all != NIL && error == NULL)
	{
		apply_those(true);
		if (all != NIL)
			error = run_catching_errors_at_commit(apply_those_of_others, &locked);
	}
	if (error != NULL)
		ReThrowError(error);
	return locked;
}

/* apply_those: applies what was put off for tables of the role that commits, or for the others */
static void
apply_those(bool own)
{
	PutOff	   *p;

	while ((p = first_put_off(own)) != NULL)
		(void) apply(p, true);
}

/*
 * first_put_off
 *		Returns the first operations not applied on a table of the role that commits, or of
 *		another; NULL if there are none.  One that has been dropped counts as its own.
 */
static PutOff *
first_put_off(bool own)
{
	foreach_ptr(PutOff, p, all)
	{
		if (p->written_in == InvalidSubTransactionId && is_of_session(p->def->relid) == own)
			return p;
	}
	return NULL;
}

/*
 * apply_those_of_others
 *		Applies what was put off for index tables of one other role, and sets *arg to it; raises an error if
 *		there are those of two others.
 */
static void
apply_those_of_others(void *arg)
{
	PutOff	   *first = first_put_off(false);

	if (first == NULL)
		return;
	*(Oid *) arg = table_owner(first->def->relid);
	foreach_ptr(PutOff, p, all)
	{
		Oid			owner = table_owner(p->def->relid);

		if (p->written_in == InvalidSubTransactionId && OidIsValid(owner) &&
			owner != table_owner(first->def->relid))
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("entries are too long for the primary keys of index tables of two owners"),
					 errdetail("Index tables \"%s\" and \"%s\" would have to be locked together, to make their primary keys anew.",
							   get_rel_name(first->def->relid), get_rel_name(p->def->relid)),
					 errhint("Write the tables of each owner in a transaction of its own.")));
	}
	apply_those(false);
}

/*
 * refuse_to_prepare_put_off
 *		Raises an error if anything is put off, before the transaction is prepared: what is locked to
 *		apply it would stay locked until the transaction is committed.
 */
void
refuse_to_prepare_put_off(void)
{
	foreach_ptr(PutOff, p, all)
	{
		if (!lags(p->def->relid) || get_rel_name(p->def->relid) == NULL)
			continue;
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot prepare a transaction whose entries are too long for the primary key of index table \"%s\"",
						get_rel_name(p->def->relid)),
				 errdetail("The primary key is made anew before the commit, and a prepared transaction would keep the index table locked."),
				 errhint("Run COMMIT, or have the owner run %s", told_call("rebuild", p->def->relid))));
	}
}

/* count_put_off: returns how many lists of operations are put off */
int
count_put_off(void)
{
	return list_length(all);
}

/*
 * was_put_off
 *		Returns whether operations on an index table of a fact table were put off in this
 *		transaction.
 */
bool
was_put_off(Oid fact)
{
	return facts != NIL && list_member_oid(facts, fact);
}

/* lags: returns whether operations on an index table were put off, and not applied yet */
static bool
lags(Oid index_table)
{
	foreach_ptr(PutOff, p, all)
	{
		if (p->def->relid == index_table && p->written_in == InvalidSubTransactionId)
			return true;
	}
	return false;
}

/*
 * refuse_put_off
 *		Raises an error if an index table lacks what was put off, also after another try to apply it.
 *
 * When ROLLBACK TO a savepoint has undone what was applied, no statement has ended since.  The
 * statement that begins with the active snapshot is to see what is applied for it.
 */
void
refuse_put_off(Oid index_table)
{
	Snapshot	snapshot = ActiveSnapshotSet() ? GetActiveSnapshot() : NULL;

	if (!lags(index_table))
		return;
	if (snapshot != NULL && snapshot->curcid == GetCurrentCommandId(false) && !IsInParallelMode())
	{
		put_off_try_again();
		CommandCounterIncrement();
		snapshot->curcid = GetCurrentCommandId(false);
	}
	if (lags(index_table))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("index table \"%s\" lacks entries that this transaction has written", get_rel_name(index_table)),
				 errdetail("An entry is too long for its primary key, which cannot be rebuilt while the index table is in use."),
				 errhint("Close the cursors of this transaction that read it, or commit first.")));
}

/*
 * refuse_put_off_of_fact
 *		Raises an error if any index table of a fact table lacks what was put off.
 */
void
refuse_put_off_of_fact(Oid fact)
{
	foreach_ptr(PutOff, p, all)
	{
		if (p->def->fact->relid == fact)
			refuse_put_off(p->def->relid);
	}
}

/*
 * refuse_put_off_in
 *		Raises an error if a query names an index table, or a partition of one, that lacks
 *		what was put off.  One that the planner has added is not read then.
 */
void
refuse_put_off_in(List *rtable)
{
	if (all == NIL)
		return;
	foreach_ptr(RangeTblEntry, rte, rtable)
	{
		if (rte->rtekind != RTE_RELATION || !rte->inFromCl)
			continue;
		refuse_put_off(rte->relid);
		if (get_rel_relispartition(rte->relid))
			refuse_put_off(llast_oid(get_partition_ancestors(rte->relid)));
	}
}

/* put_off_discard: forgets what was put off for a fact table, because it was truncated */
void
put_off_discard(Oid fact)
{
	foreach_ptr(PutOff, p, list_copy(all))
	{
		if (p->def->fact->relid != fact)
			continue;
		if (belongs_to(p->owner, GetCurrentSubTransactionId()))
			forget(p);
		else if (p->written_in == InvalidSubTransactionId)
			p->written_in = GetCurrentSubTransactionId();
	}
}

/* put_off_at_end: forgets everything when a transaction has ended */
void
put_off_at_end(void)
{
	while (all != NIL)
		forget(linitial(all));
	list_free(facts);
	facts = NIL;
	applying_put_off = false;
}

/*
 * put_off_at_abort_of
 *		Forgets what a subtransaction that aborts has put off, and what it has applied.
 */
void
put_off_at_abort_of(SubTransactionId sub)
{
	for (int i = list_length(all) - 1; i >= 0; i--)
	{
		PutOff	   *p = list_nth(all, i);

		if (belongs_to(p->owner, sub))
			forget(p);
		else if (belongs_to(p->written_in, sub))
			p->written_in = InvalidSubTransactionId;
	}
}

/*
 * put_off_at_commit_to
 *		Forgets, when a subtransaction has committed to its parent, what the latter has put
 *		off and the former has applied.
 */
void
put_off_at_commit_to(SubTransactionId parent)
{
	for (int i = list_length(all) - 1; i >= 0; i--)
	{
		PutOff	   *p = list_nth(all, i);

		if (belongs_to(p->written_in, parent) && belongs_to(p->owner, parent))
			forget(p);
	}
}
