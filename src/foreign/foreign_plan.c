/*-------------------------------------------------------------------------
 *
 * foreign_plan.c
 *	  Asks several partitions on other servers for rows by their primary keys, at the same
 *	  time, with plans that are kept.
 *
 * Planning takes longer than asking, so plans are kept with the definition of the fact
 * table.  A plan also serves for some of its partitions only: the others get no keys, and
 * joins without any keys are left out of its Append node.  Therefore plans with
 * partitions in common are merged into one.
 *
 * The partitions are not named by the user, so no rights on them are checked: the caller
 * has checked those on the fact table.  The caller has also locked the partitions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/execdesc.h"
#include "nodes/params.h"
#include "storage/lmgr.h"
#include "tcop/dest.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "../indextable.h"
#include "../util/compat.h"
#include "foreign.h"

/* The largest number of partitions that one plan asks. */
#define MAX_PARTITIONS		256

/* For more keys the rows cost more than the statements, and are not sent through joins. */
#define MAX_KEYS_JOINED		10000

/* Hands each row to a function. */
typedef struct RowReceiver
{
	DestReceiver pub;
	FactDef    *def;
	ForeignPlan *plan;
	int			key;			/* the place of a column of the primary key
								 * among those of a partition */
	TupleTableSlot *row;		/* with the columns of the fact table */
	MemoryContext cxt;			/* that the function is called in */
	void		(*each) (TupleTableSlot *row, void *arg);
	void	   *arg;
} RowReceiver;

static void fetch_from(FactDef *def, Bitmapset *columns, PartitionKeys *parts, int nparts,
					   void (*each) (TupleTableSlot *row, void *arg), void *arg);
static ForeignPlan *find_plan(FactDef *def, Bitmapset *columns, bool joined, PartitionKeys *parts, int nparts);
static List *relids_of(PartitionKeys *parts, int nparts);
static ForeignPlan *make_plan(FactDef *def, MemoryContext parent, Bitmapset *columns, bool joined, List *relids);
static int	largest_plan(int nparts);
static bool covers(ForeignPlan *plan, PartitionKeys *parts, int nparts, bool *overlaps);
static bool *find_used(ForeignPlan *plan, PartitionKeys *parts, int nparts);
static bool lock_others(FactDef *def, ForeignPlan *plan, PartitionKeys *parts, int nparts);
static PlannedStmt *leave_out_others(ForeignPlan *plan, PartitionKeys *parts, int nparts);
static ParamListInfo bind_keys(FactDef *def, ForeignPlan *plan, PartitionKeys *parts, int nparts);
static int	distinct_values(FactDef *def, int column, PartitionKeys *part, Datum *values);
static bool receive_row(TupleTableSlot *slot, DestReceiver *self);

/*
 * foreign_plan_fits
 *		Returns whether such a plan can ask for these keys.
 *
 * If the primary key has several columns, it asks for all combinations of their values:
 * these must not be many more than the keys.
 */
bool
foreign_plan_fits(FactDef *def, PartitionKeys *parts, int nparts)
{
	for (int k = 0; k < def->layout.npk; k++)
		if (!OidIsValid(get_array_type(key_type(def, k))))
			return false;
	for (int i = 0; i < nparts && def->layout.npk > 1; i++)
	{
		Datum	   *values = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(Datum) * parts[i].n);
		double		combinations = 1;

		for (int k = 0; k < def->layout.npk; k++)
			combinations *= distinct_values(def, k, &parts[i], values);
		pfree(values);
		if (combinations > 4.0 * parts[i].n + 16)
			return false;
	}
	return true;
}

/*
 * foreign_plan_fetch
 *		Calls each() with every row that has one of the primary keys, and maybe with
 *		others, in no order; parts is sorted by partition.  A row is valid for the call only.
 */
void
foreign_plan_fetch(FactDef *def, Bitmapset *columns, PartitionKeys *parts, int nparts,
				   void (*each) (TupleTableSlot *row, void *arg), void *arg)
{
	for (int i = 0; i < nparts; i += MAX_PARTITIONS)
		fetch_from(def, columns, parts + i, Min(nparts - i, MAX_PARTITIONS), each, arg);
}

/* fetch_from: fetches the rows of partitions that one plan can ask */
static void
fetch_from(FactDef *def, Bitmapset *columns, PartitionKeys *parts, int nparts,
		   void (*each) (TupleTableSlot *row, void *arg), void *arg)
{
	RowReceiver receiver = {.def = def,.cxt = CurrentMemoryContext,.each = each,.arg = arg};
	ForeignPlan *volatile plan;
	QueryDesc  *query;
	double		nkeys = 0;

	for (int i = 0; i < nparts; i++)
		nkeys += parts[i].n;
	plan = find_plan(def, columns, nparts > 1 && nkeys <= MAX_KEYS_JOINED, parts, nparts);
	if (!lock_others(def, plan, parts, nparts))
		plan = make_plan(def, CurrentMemoryContext, columns, plan->joined, relids_of(parts, nparts));
	receiver.plan = plan;
	while (plan->attnos[receiver.key] != def->layout.pk_attno[0])
		receiver.key++;
	receiver.pub = *None_Receiver;
	receiver.pub.receiveSlot = receive_row;
	receiver.row = MakeSingleTupleTableSlot(def->layout.desc, &TTSOpsVirtual);
	plan->uses++;
	PG_TRY();
	{
		query = CreateQueryDesc(leave_out_others(plan, parts, nparts), plan->sql, GetActiveSnapshot(),
								InvalidSnapshot, &receiver.pub, bind_keys(def, plan, parts, nparts), NULL, 0);
		ExecutorStart(query, 0);
		executor_run_compat(query);
		ExecutorFinish(query);
		ExecutorEnd(query);
		FreeQueryDesc(query);
	}
	PG_FINALLY();
	{
		plan->uses--;
	}
	PG_END_TRY();
	ExecDropSingleTupleTableSlot(receiver.row);
}

/*
 * find_plan
 *		Returns a plan that reads the columns of at least these partitions: one that is
 *		kept, or a new one.
 *
 * A new plan is kept unless the definition is out of date.  It takes the place of those
 * with which it shares partitions, and has theirs, too, unless these are many more than
 * are asked for now.
 */
static ForeignPlan *
find_plan(FactDef *def, Bitmapset *columns, bool joined, PartitionKeys *parts, int nparts)
{
	ForeignPlan **link = &def->run.foreign_plans;
	List	   *relids = relids_of(parts, nparts);
	List	   *merged = NIL;
	ForeignPlan *plan;
	bool		kept;

	while (!def->run.stale && (plan = *link) != NULL)
	{
		bool		overlaps = false;

		if (plan->changes != foreign_plan_changes() && plan->uses == 0)
		{
			*link = plan->next;
			MemoryContextDelete(plan->cxt);
			continue;
		}
		if (plan->changes == foreign_plan_changes() && plan->joined == joined && bms_equal(plan->columns, columns))
		{
			if (covers(plan, parts, nparts, &overlaps))
				return plan;
			if (overlaps && plan->n > 1 && plan->uses == 0)
				merged = lappend(merged, plan);
		}
		link = &plan->next;
	}
	foreach_ptr(ForeignPlan, other, merged)
	{
		for (int i = 0; i < other->n; i++)
			relids = list_append_unique_oid(relids, other->relids[i]);
	}
	kept = !def->run.stale && list_length(relids) <= largest_plan(nparts);
	if (!kept)
		relids = list_truncate(relids, nparts);

	/* If something changes while the plan is made, it is not used again. */
	plan = make_plan(def, kept ? def->run.cxt : CurrentMemoryContext, columns, joined, relids);
	if (!kept)
		return plan;
	for (link = &def->run.foreign_plans; *link != NULL;)
	{
		ForeignPlan *other = *link;

		if (list_member_ptr(merged, other) && other->uses == 0)
		{
			*link = other->next;
			MemoryContextDelete(other->cxt);
		}
		else
			link = &other->next;
	}
	plan->next = def->run.foreign_plans;
	def->run.foreign_plans = plan;
	return plan;
}

static List *
relids_of(PartitionKeys *parts, int nparts)
{
	List	   *result = NIL;

	for (int i = 0; i < nparts; i++)
		result = lappend_oid(result, parts[i].relid);
	return result;
}

/*
 * make_plan
 *		Makes a plan that asks these partitions, which it sorts, in a memory context below parent.
 *
 * If joins are not sent to the servers, as where "=" of a type is not, they gain nothing, and
 * would have all servers asked.
 */
static ForeignPlan *
make_plan(FactDef *def, MemoryContext parent, Bitmapset *columns, bool joined, List *relids)
{
	Oid		   *sorted = palloc(sizeof(Oid) * list_length(relids));
	ForeignPlan *plan;

	list_sort(relids, list_oid_cmp);
	foreach_oid(relid, relids)
		sorted[foreach_current_index(relid)] = relid;
	plan = foreign_plan_make(def, parent, columns, joined, sorted, list_length(relids));
	if (joined && plan->append == NULL && !IsA(plan->stmt->planTree, ForeignScan))
	{
		MemoryContextDelete(plan->cxt);
		plan = foreign_plan_make(def, parent, columns, false, sorted, list_length(relids));
		plan->joined = true;	/* so it is found in place of that one */
	}
	return plan;
}

/*
 * largest_plan
 *		Returns the largest number of partitions of a plan by which nparts of them are asked.
 */
static int
largest_plan(int nparts)
{
	return nparts == 1 ? 1 : Min(8 * nparts, MAX_PARTITIONS);
}

/*
 * covers
 *		Returns whether a plan can ask these partitions, and sets *overlaps if it could ask
 *		one of them.
 */
static bool
covers(ForeignPlan *plan, PartitionKeys *parts, int nparts, bool *overlaps)
{
	int			found = 0;
	int			i = 0;

	for (int k = 0; k < nparts; k++)
	{
		while (i < plan->n && plan->relids[i] < parts[k].relid)
			i++;
		if (i < plan->n && plan->relids[i] == parts[k].relid)
			found++;
	}
	*overlaps = found > 0;
	return found == nparts && plan->n <= largest_plan(nparts);
}

/* find_used: returns for each join of a plan whether it asks one of these partitions */
static bool *
find_used(ForeignPlan *plan, PartitionKeys *parts, int nparts)
{
	bool	   *used = palloc0(sizeof(bool) * plan->njoins);
	int			i = 0;

	for (int k = 0; k < nparts; k++)
	{
		while (plan->relids[i] != parts[k].relid)
			i++;
		used[plan->joins[i]] = true;
	}
	return used;
}

/*
 * lock_others
 *		Locks the partitions that are executed with those that are asked, though they get no keys,
 *		because one statement asks them, or the plan has no Append to leave them out of.  Returns
 *		false if a lock is not free at once, or if there is news of a partition, which may have
 *		been dropped: then a plan for just those that are asked is needed.
 */
static bool
lock_others(FactDef *def, ForeignPlan *plan, PartitionKeys *parts, int nparts)
{
	bool	   *used;

	if (nparts == plan->n)
		return true;
	used = find_used(plan, parts, nparts);
	for (int i = 0; i < plan->n; i++)
	{
		if ((plan->append == NULL || used[plan->joins[i]]) &&
			!ConditionalLockRelationOid(plan->relids[i], AccessShareLock))
			return false;
	}
	return !def->run.stale && plan->changes == foreign_plan_changes();
}

/*
 * leave_out_others
 *		Returns a statement that asks only these of the partitions of a plan, and those joined
 *		with them.
 */
static PlannedStmt *
leave_out_others(ForeignPlan *plan, PartitionKeys *parts, int nparts)
{
	PlannedStmt *stmt;
	Append	   *append;
	bool	   *used;

	if (nparts == plan->n || plan->append == NULL)
		return plan->stmt;
	used = find_used(plan, parts, nparts);
	stmt = palloc(sizeof(PlannedStmt));
	*stmt = *plan->stmt;
	append = palloc(sizeof(Append));
	*append = *plan->append;
	append->appendplans = NIL;
	append->nasyncplans = 0;
	for (int k = 0; k < plan->njoins; k++)
	{
		if (!used[k])
			continue;
		append->appendplans = lappend(append->appendplans, plan->members[k]);
		append->nasyncplans += plan->members[k]->async_capable;
	}
	append->first_partial_plan = list_length(append->appendplans);
	stmt->planTree = (Plan *) append;
	return stmt;
}

/* bind_keys: returns the parameters of a plan; those of partitions that are not asked are null */
static ParamListInfo
bind_keys(FactDef *def, ForeignPlan *plan, PartitionKeys *parts, int nparts)
{
	ParamListInfo params = makeParamList(plan->n * def->layout.npk);
	int			part = 0;

	for (int i = 0; i < plan->n; i++)
	{
		bool		asked = part < nparts && parts[part].relid == plan->relids[i];

		for (int k = 0; k < def->layout.npk; k++)
		{
			Form_pg_attribute att = TupleDescAttr(def->layout.desc, def->layout.pk_attno[k] - 1);
			ParamExternData *param = &params->params[i * def->layout.npk + k];

			param->ptype = get_array_type(att->atttypid);
			param->pflags = 0;
			param->isnull = !asked;
			param->value = (Datum) 0;
			if (asked)
			{
				Datum	   *values = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(Datum) * parts[part].n);
				int			n = distinct_values(def, k, &parts[part], values);

				param->value = PointerGetDatum(construct_array(values, n, att->atttypid, att->attlen,
															   att->attbyval, att->attalign));
				pfree(values);
			}
		}
		part += asked;
	}
	return params;
}

/* A value with its hash, and where it was. */
typedef struct HashedValue
{
	uint32		hash;
	int			at;
} HashedValue;

static int
compare_hashes(const void *a, const void *b)
{
	const HashedValue *x = a;
	const HashedValue *y = b;

	return x->hash != y->hash ? (x->hash < y->hash ? -1 : 1) : x->at - y->at;
}

/*
 * distinct_values
 *		Puts the values of one column of the primary key into values, without those that
 *		are the same, byte by byte, as another one, and returns their number.  A key of one
 *		column is taken as it is.
 */
static int
distinct_values(FactDef *def, int column, PartitionKeys *part, Datum *values)
{
	Form_pg_attribute att = TupleDescAttr(def->layout.desc, def->layout.pk_attno[column] - 1);
	HashedValue *hashed;
	int			n = 0;

	if (def->layout.npk == 1)
	{
		memcpy(values, part->keys, sizeof(Datum) * part->n);
		return part->n;
	}
	hashed = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(HashedValue) * part->n);
	for (int i = 0; i < part->n; i++)
	{
		hashed[i].hash = datum_image_hash(part->keys[(Size) i * def->layout.npk + column], att->attbyval,
										  att->attlen);
		hashed[i].at = i;
	}
	qsort(hashed, part->n, sizeof(HashedValue), compare_hashes);
	for (int i = 0; i < part->n; i++)
	{
		Datum		value = part->keys[(Size) hashed[i].at * def->layout.npk + column];

		if (i == 0 || hashed[i].hash != hashed[i - 1].hash ||
			!datum_image_eq(values[n - 1], value, att->attbyval, att->attlen))
			values[n++] = value;
	}
	pfree(hashed);
	return n;
}

/* receive_row: hands each row of a partition in a row of the plan to the function that wants it */
static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	RowReceiver *receiver = (RowReceiver *) self;
	ForeignPlan *plan = receiver->plan;
	TupleTableSlot *row = receiver->row;
	MemoryContext old = MemoryContextSwitchTo(receiver->cxt);

	slot_getallattrs(slot);
	for (int first = 0; first < plan->width * plan->nattnos; first += plan->nattnos)
	{
		if (slot->tts_isnull[first + receiver->key])
			continue;
		ExecClearTuple(row);
		memset(row->tts_isnull, true, sizeof(bool) * receiver->def->layout.desc->natts);
		for (int i = 0; i < plan->nattnos; i++)
		{
			row->tts_values[plan->attnos[i] - 1] = slot->tts_values[first + i];
			row->tts_isnull[plan->attnos[i] - 1] = slot->tts_isnull[first + i];
		}
		ExecStoreVirtualTuple(row);
		receiver->each(row, receiver->arg);
	}
	MemoryContextSwitchTo(old);
	return true;
}
