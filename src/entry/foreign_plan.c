/*-------------------------------------------------------------------------
 *
 * foreign_plan.c
 *	  Asks several partitions on other servers for rows by their primary keys, at the same
 *	  time, with plans that are kept.
 *
 * Each partition gets only the keys whose rows it has, as a parameter: column = ANY ($1).
 * What takes time is the statements that a server is sent, so there is one for several
 * of its partitions: a FULL JOIN of these by primary key, which postgres_fdw sends as a
 * whole.  As a key belongs to one partition only, the join finds no pairs, and each row of
 * the result has the columns of one partition, and nulls for all others.  The plan is a
 * UNION ALL of these joins, which work at the same time if the servers are async_capable.
 *
 * Planning takes longer than asking, so plans are kept with the definition of the fact
 * table.  A plan also serves for some of its partitions only: the others get no keys, and
 * joins without any keys are left out of its Append node.  Therefore plans with
 * partitions in common are merged into one.
 *
 * The partitions are not named by the user, so no rights on them are checked: the caller
 * has checked those on the fact table.  The caller has also locked the partitions.
 *
 * A plan is out of date when its definition is, which hears of all changes of a
 * partition, or when a server, a foreign-data wrapper or a schema has changed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attnum.h"
#include "catalog/pg_class.h"
#include "common/hashfn.h"
#include "executor/execdesc.h"
#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "nodes/params.h"
#include "nodes/pg_list.h"
#include "nodes/plannodes.h"
#include "parser/parsetree.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "../indextable.h"
#include "../util/compat.h"
#include "../util/relation.h"
#include "foreign_plan.h"
#include "foreign_scan.h"

/* So many partitions are asked by one plan, and by one join, at most. */
#define MAX_PARTITIONS		256
#define MAX_JOINED			16

/* For more keys the rows cost more than the statements, and are not sent through joins. */
#define MAX_KEYS_JOINED		10000

/* A plan that asks partitions. */
typedef struct ForeignPlan
{
	struct ForeignPlan *next;	/* kept by the same definition */
	MemoryContext cxt;			/* has all of it */
	uint64		changes;		/* the number of changes when it was made */
	int			uses;			/* executions that have not ended */
	Bitmapset  *columns;		/* what is read, as in RowRequest */
	AttrNumber *attnos;			/* the same columns, in their order */
	int			nattnos;
	bool		joined;			/* partitions of a server are joined */
	int			n;
	Oid		   *relids;			/* the partitions, sorted */
	int		   *joins;			/* which join each is in */
	int			njoins;
	int			width;			/* partitions in the largest join */
	char	   *sql;
	PlannedStmt *stmt;
	Append	   *append;			/* NULL: the plan can only be used as a whole */
	Plan	  **members;		/* of append, by join */
} ForeignPlan;

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

/* How often a server, a foreign-data wrapper or a schema has changed; 0: not listening yet. */
static uint64 changes = 0;

static void fetch_from(FactDef *def, Bitmapset *columns, PartitionKeys *parts, int nparts,
					   void (*each) (TupleTableSlot *row, void *arg), void *arg);
static ForeignPlan *find_plan(FactDef *def, Bitmapset *columns, bool joined, PartitionKeys *parts, int nparts);
static int	largest_plan(int nparts);
static bool covers(ForeignPlan *plan, PartitionKeys *parts, int nparts, bool *overlaps);
static ForeignPlan *make_plan(FactDef *def, MemoryContext parent, Bitmapset *columns, bool joined, Oid *relids, int n);
static void choose_joins(FactDef *def, ForeignPlan *plan);
static char *plan_sql(FactDef *def, ForeignPlan *plan);
static void find_members(ForeignPlan *plan);
static PlannedStmt *leave_out_others(ForeignPlan *plan, PartitionKeys *parts, int nparts);
static ParamListInfo bind_keys(FactDef *def, ForeignPlan *plan, PartitionKeys *parts, int nparts);
static int	distinct_values(FactDef *def, int column, PartitionKeys *part, Datum *values);
static bool receive_row(TupleTableSlot *slot, DestReceiver *self);
static void server_changed(Datum arg, int cache, uint32 hash);

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
	int			i;
	int			k;

	for (k = 0; k < def->npk; k++)
		if (!OidIsValid(get_array_type(TupleDescAttr(def->desc, def->pk_attno[k] - 1)->atttypid)))
			return false;
	for (i = 0; i < nparts && def->npk > 1; i++)
	{
		Datum	   *values = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(Datum) * parts[i].n);
		double		combinations = 1;

		for (k = 0; k < def->npk; k++)
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
	int			i;

	for (i = 0; i < nparts; i += MAX_PARTITIONS)
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
	int			i;

	for (i = 0; i < nparts; i++)
		nkeys += parts[i].n;
	plan = find_plan(def, columns, nparts > 1 && nkeys <= MAX_KEYS_JOINED, parts, nparts);
	receiver.plan = plan;
	while (plan->attnos[receiver.key] != def->pk_attno[0])
		receiver.key++;
	receiver.pub = *None_Receiver;
	receiver.pub.receiveSlot = receive_row;
	receiver.row = MakeSingleTupleTableSlot(def->desc, &TTSOpsVirtual);
	plan->uses++;
	PG_TRY();
	{
		query = CreateQueryDesc(leave_out_others(plan, parts, nparts), plan->sql, GetActiveSnapshot(), InvalidSnapshot,
								&receiver.pub, bind_keys(def, plan, parts, nparts), NULL, 0);
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
	ForeignPlan **link = &def->foreign_plans;
	List	   *relids = NIL;
	List	   *merged = NIL;
	ForeignPlan *plan;
	Oid		   *sorted;
	ListCell   *cell;
	bool		kept;
	int			i;

	for (i = 0; i < nparts; i++)
		relids = lappend_oid(relids, parts[i].relid);
	while (!def->stale && (plan = *link) != NULL)
	{
		bool		overlaps = false;

		if (plan->changes != changes && plan->uses == 0)
		{
			*link = plan->next;
			MemoryContextDelete(plan->cxt);
			continue;
		}
		if (plan->changes == changes && plan->joined == joined && bms_equal(plan->columns, columns))
		{
			if (covers(plan, parts, nparts, &overlaps))
				return plan;
			if (overlaps && plan->n > 1 && plan->uses == 0)
				merged = lappend(merged, plan);
		}
		link = &plan->next;
	}
	foreach(cell, merged)
	{
		ForeignPlan *other = lfirst(cell);

		for (i = 0; i < other->n; i++)
			relids = list_append_unique_oid(relids, other->relids[i]);
	}
	kept = !def->stale && list_length(relids) <= largest_plan(nparts);
	if (!kept)
		relids = list_truncate(relids, nparts);
	list_sort(relids, list_oid_cmp);
	sorted = palloc(sizeof(Oid) * list_length(relids));
	for (i = 0; i < list_length(relids); i++)
		sorted[i] = list_nth_oid(relids, i);

	/* If something changes while the plan is made, it is not used again. */
	plan = make_plan(def, kept ? def->cxt : CurrentMemoryContext, columns, joined, sorted, list_length(relids));
	if (!kept)
		return plan;
	for (link = &def->foreign_plans; *link != NULL;)
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
	plan->next = def->foreign_plans;
	def->foreign_plans = plan;
	return plan;
}

/* largest_plan: returns of how many partitions a plan may be that asks so many */
static int
largest_plan(int nparts)
{
	return nparts == 1 ? 1 : Min(8 * nparts, MAX_PARTITIONS);
}

/* covers: returns whether a plan can ask these partitions, and sets *overlaps if it could ask one of them */
static bool
covers(ForeignPlan *plan, PartitionKeys *parts, int nparts, bool *overlaps)
{
	int			found = 0;
	int			i = 0;
	int			k;

	for (k = 0; k < nparts; k++)
	{
		while (i < plan->n && plan->relids[i] < parts[k].relid)
			i++;
		if (i < plan->n && plan->relids[i] == parts[k].relid)
			found++;
	}
	*overlaps = found > 0;
	return found == nparts && plan->n <= largest_plan(nparts) && (plan->append != NULL || plan->n == nparts);
}

/* make_plan: makes a plan that asks partitions, whose OIDs are sorted, in a memory context below parent */
static ForeignPlan *
make_plan(FactDef *def, MemoryContext parent, Bitmapset *columns, bool joined, Oid *relids, int n)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable plan", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	ForeignPlan *plan = palloc0(sizeof(ForeignPlan));
	Oid		   *types;
	Query	   *query;
	PlannedStmt *stmt;
	int			i;

	if (changes == 0)
	{
		CacheRegisterSyscacheCallback(FOREIGNSERVEROID, server_changed, (Datum) 0);
		CacheRegisterSyscacheCallback(FOREIGNDATAWRAPPEROID, server_changed, (Datum) 0);
		CacheRegisterSyscacheCallback(NAMESPACEOID, server_changed, (Datum) 0);
		changes = 1;
	}
	plan->cxt = cxt;
	plan->changes = changes;
	plan->columns = bms_copy(columns);
	plan->joined = joined;
	plan->n = n;
	plan->relids = palloc(sizeof(Oid) * n);
	memcpy(plan->relids, relids, sizeof(Oid) * n);
	choose_joins(def, plan);
	plan->sql = plan_sql(def, plan);
	MemoryContextSwitchTo(old);

	types = palloc(sizeof(Oid) * n * def->npk);
	for (i = 0; i < n * def->npk; i++)
		types[i] = get_array_type(TupleDescAttr(def->desc, def->pk_attno[i % def->npk] - 1)->atttypid);
	query = linitial_node(Query, pg_analyze_and_rewrite_fixedparams(linitial_node(RawStmt, pg_parse_query(plan->sql)),
																	plan->sql, types, n * def->npk, NULL));
	stmt = pg_plan_query_compat(query, plan->sql, 0, NULL);
	plan_without_checks(stmt);
	MemoryContextSwitchTo(cxt);
	plan->stmt = copyObject(stmt);
	find_members(plan);
	MemoryContextSwitchTo(old);
	MemoryContextSetParent(cxt, parent);
	return plan;
}

/*
 * choose_joins
 *		Puts the partitions of each server into joins, if they are to be joined, and
 *		postgres_fdw can have the server join them; else each is by itself.
 */
static void
choose_joins(FactDef *def, ForeignPlan *plan)
{
	Oid		   *servers = palloc0(sizeof(Oid) * plan->n);
	int		   *sizes = palloc0(sizeof(int) * plan->n);
	bool		joinable = plan->joined;
	int			i;
	int			k;

	for (k = 0; k < def->npk; k++)
	{
		Oid			type = TupleDescAttr(def->desc, def->pk_attno[k] - 1)->atttypid;

		joinable = joinable && op_hashjoinable(get_equality_operator(type), type);
	}
	plan->joins = palloc(sizeof(int) * plan->n);
	plan->njoins = 0;
	plan->width = 1;
	for (i = 0; i < plan->n; i++)
	{
		Oid			server;
		bool		sent = is_of_postgres_fdw(plan->relids[i], &server) && joinable;

		for (k = 0; k < plan->njoins && (!sent || servers[k] != server || sizes[k] == MAX_JOINED); k++)
			;
		if (k == plan->njoins)
			plan->njoins++;
		servers[k] = sent ? server : InvalidOid;
		sizes[k]++;
		plan->joins[i] = k;
		plan->width = Max(plan->width, sizes[k]);
	}
	pfree(servers);
	pfree(sizes);
}

/* plan_sql: returns the statement of a plan, and sets the columns that it reads */
static char *
plan_sql(FactDef *def, ForeignPlan *plan)
{
	StringInfoData sql;
	StringInfoData from;
	StringInfoData list;
	int			join;
	int			i;
	int			k;

	initStringInfo(&sql);
	for (join = 0; join < plan->njoins; join++)
	{
		int			first = -1;
		int			size = 0;

		initStringInfo(&from);
		initStringInfo(&list);
		for (i = 0; i < plan->n; i++)
		{
			RowRequest	request = {.def = def,.relid = plan->relids[i],.columns = plan->columns};

			if (plan->joins[i] != join)
				continue;
			appendStringInfo(&from, "%s(%s WHERE ", size > 0 ? " FULL JOIN " : "", select_rows(&request, &plan->attnos, &plan->nattnos));
			for (k = 0; k < def->npk; k++)
				appendStringInfo(&from, "%sf.%s %s ANY ($%d)", k > 0 ? " AND " : "", key_column(def, k),
								 qualified_equality(TupleDescAttr(def->desc, def->pk_attno[k] - 1)->atttypid),
								 i * def->npk + k + 1);
			appendStringInfo(&from, ") t%d", i);
			if (first < 0)
				first = i;
			for (k = 0; k < def->npk && size > 0; k++)
				appendStringInfo(&from, " %s t%d.%s %s t%d.%s", k > 0 ? "AND" : "ON", first, key_column(def, k),
								 qualified_equality(TupleDescAttr(def->desc, def->pk_attno[k] - 1)->atttypid),
								 i, key_column(def, k));
			appendStringInfo(&list, "%st%d.*", size > 0 ? ", " : "", i);
			size++;
		}
		/* All members of a UNION ALL have the same number of columns. */
		for (; size < plan->width; size++)
			for (k = 0; k < plan->nattnos; k++)
			{
				Form_pg_attribute att = TupleDescAttr(def->desc, plan->attnos[k] - 1);

				appendStringInfo(&list, ", NULL::%s", format_type_extended(att->atttypid, att->atttypmod,
																		   FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY));
			}
		appendStringInfo(&sql, "%sSELECT %s FROM %s", join > 0 ? " UNION ALL " : "", list.data, from.data);
	}
	return sql.data;
}

/* find_members: finds which member of the plan's Append node asks the partitions of which join */
static void
find_members(ForeignPlan *plan)
{
	Append	   *append = (Append *) plan->stmt->planTree;
	ListCell   *cell;

	if (!IsA(append, Append) || list_length(append->appendplans) != plan->njoins)
		return;
	plan->members = palloc0(sizeof(Plan *) * plan->njoins);
	foreach(cell, append->appendplans)
	{
		ForeignScan *scan = lfirst(cell);
		int			rti = -1;
		int			join = -1;
		int			i;

		if (!IsA(scan, ForeignScan))
			return;
		while (join < 0 && (rti = bms_next_member(scan->fs_relids, rti)) >= 0)
			for (i = 0; i < plan->n; i++)
				if (rt_fetch(rti, plan->stmt->rtable)->relid == plan->relids[i])
					join = plan->joins[i];
		if (join < 0 || plan->members[join] != NULL)
			return;
		plan->members[join] = (Plan *) scan;
	}
	plan->append = append;
}

/* leave_out_others: returns a statement that asks only these of the partitions of a plan */
static PlannedStmt *
leave_out_others(ForeignPlan *plan, PartitionKeys *parts, int nparts)
{
	PlannedStmt *stmt;
	Append	   *append;
	bool	   *used;
	int			i = 0;
	int			k;

	if (nparts == plan->n)
		return plan->stmt;
	used = palloc0(sizeof(bool) * plan->njoins);
	for (k = 0; k < nparts; k++)
	{
		while (plan->relids[i] != parts[k].relid)
			i++;
		used[plan->joins[i]] = true;
	}
	stmt = palloc(sizeof(PlannedStmt));
	*stmt = *plan->stmt;
	append = palloc(sizeof(Append));
	*append = *plan->append;
	append->appendplans = NIL;
	append->nasyncplans = 0;
	for (k = 0; k < plan->njoins; k++)
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
	ParamListInfo params = makeParamList(plan->n * def->npk);
	int			part = 0;
	int			i;
	int			k;

	for (i = 0; i < plan->n; i++)
	{
		bool		asked = part < nparts && parts[part].relid == plan->relids[i];

		for (k = 0; k < def->npk; k++)
		{
			Form_pg_attribute att = TupleDescAttr(def->desc, def->pk_attno[k] - 1);
			ParamExternData *param = &params->params[i * def->npk + k];

			param->ptype = get_array_type(att->atttypid);
			param->pflags = 0;
			param->isnull = !asked;
			param->value = (Datum) 0;
			if (asked)
			{
				Datum	   *values = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(Datum) * parts[part].n);
				int			n = distinct_values(def, k, &parts[part], values);

				param->value = PointerGetDatum(construct_array(values, n, att->atttypid, att->attlen, att->attbyval,
															   att->attalign));
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
	Form_pg_attribute att = TupleDescAttr(def->desc, def->pk_attno[column] - 1);
	HashedValue *hashed;
	int			n = 0;
	int			i;

	if (def->npk == 1)
	{
		memcpy(values, part->keys, sizeof(Datum) * part->n);
		return part->n;
	}
	hashed = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(HashedValue) * part->n);
	for (i = 0; i < part->n; i++)
	{
		hashed[i].hash = datum_image_hash(part->keys[(Size) i * def->npk + column], att->attbyval, att->attlen);
		hashed[i].at = i;
	}
	qsort(hashed, part->n, sizeof(HashedValue), compare_hashes);
	for (i = 0; i < part->n; i++)
	{
		Datum		value = part->keys[(Size) hashed[i].at * def->npk + column];

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
	int			first;
	int			i;

	slot_getallattrs(slot);
	for (first = 0; first < plan->width * plan->nattnos; first += plan->nattnos)
	{
		if (slot->tts_isnull[first + receiver->key])
			continue;
		ExecClearTuple(row);
		memset(row->tts_isnull, true, sizeof(bool) * receiver->def->desc->natts);
		for (i = 0; i < plan->nattnos; i++)
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

/* server_changed: makes all plans out of date */
static void
server_changed(Datum arg, int cache, uint32 hash)
{
	changes++;
}
