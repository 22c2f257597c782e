/*-------------------------------------------------------------------------
 *
 * foreign_plan_make.c
 *	  Makes the plan that asks several partitions on other servers for rows by their
 *	  primary keys.
 *
 * Each partition gets only the keys whose rows it has, as a parameter: column = ANY ($1).
 * What takes time is the statements that a server is sent, so there is one for several
 * of its partitions: a FULL JOIN of these by primary key, which postgres_fdw sends as a
 * whole.  As a key belongs to one partition only, the join finds no pairs, and each row of
 * the result has the columns of one partition, and nulls for all others.  The plan is a
 * UNION ALL of these joins, which work at the same time if the servers are async_capable.
 *
 * A plan is out of date when its definition is, which hears of all changes of a
 * partition, or when a server, a foreign-data wrapper or a schema has changed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "foreign/foreign.h"
#include "parser/parsetree.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "../indextable.h"
#include "../util/compat.h"
#include "../util/naming.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "foreign.h"

/* The largest number of partitions that are joined. */
#define MAX_JOINED			16

/* How often a server, a foreign-data wrapper or a schema has changed; 0: not listening yet. */
static uint64 changes = 0;

static void check_tables(FactDef *def, ForeignPlan *plan, PlannedStmt *stmt);
static void choose_joins(FactDef *def, ForeignPlan *plan);
static char *plan_sql(FactDef *def, ForeignPlan *plan);
static void find_members(ForeignPlan *plan);
static void server_changed(Datum arg, int cache, uint32 hash);

/*
 * foreign_plan_changes
 *		Returns what ForeignPlan.changes is of a plan that is not out of date for a server.
 */
uint64
foreign_plan_changes(void)
{
	return changes;
}

/*
 * foreign_plan_make
 *		Makes a plan that asks partitions, whose OIDs are sorted, in a memory context below
 *		parent.
 */
ForeignPlan *
foreign_plan_make(FactDef *def, MemoryContext parent, Bitmapset *columns, bool joined, Oid *relids, int n)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable plan", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	ForeignPlan *plan = palloc0(sizeof(ForeignPlan));
	Oid		   *types;
	RawStmt    *statement;
	Query	   *query;
	PlannedStmt *stmt;

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

	types = palloc(sizeof(Oid) * n * def->layout.npk);
	for (int i = 0; i < n * def->layout.npk; i++)
		types[i] = get_array_type(key_type(def, i % def->layout.npk));
	statement = linitial_node(RawStmt, pg_parse_query(plan->sql));
	WHILE_NAMING(plan->relids, n, plan->sql,
				 query = linitial_node(Query,
									   pg_analyze_and_rewrite_fixedparams(statement, plan->sql, types,
																		  n * def->layout.npk, NULL)));
	stmt = pg_plan_query_compat(query, plan->sql, 0, NULL);
	check_tables(def, plan, stmt);
	plan_without_checks(stmt);
	MemoryContextSwitchTo(cxt);
	plan->stmt = copyObject(stmt);
	find_members(plan);
	MemoryContextSwitchTo(old);
	MemoryContextSetParent(cxt, parent);
	return plan;
}

/*
 * check_tables
 *		Raises an error if a plan is about other tables than the partitions that it was made for.  It is
 *		run without checks of rights, and its values are taken for those of their columns.
 */
static void
check_tables(FactDef *def, ForeignPlan *plan, PlannedStmt *stmt)
{
	foreach_node(RangeTblEntry, rte, stmt->rtable)
	{
		bool		found = rte->rtekind != RTE_RELATION;

		for (int i = 0; i < plan->n && !found; i++)
			found = rte->relid == plan->relids[i];
		if (!found)
			report_renamed(def->name);
	}
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
	int			k;

	for (k = 0; k < def->layout.npk; k++)
	{
		Oid			type = key_type(def, k);

		joinable = joinable && op_hashjoinable(get_equality_operator(type), type);
	}
	plan->joins = palloc(sizeof(int) * plan->n);
	plan->njoins = 0;
	plan->width = 1;
	for (int i = 0; i < plan->n; i++)
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

	initStringInfo(&sql);
	for (int join = 0; join < plan->njoins; join++)
	{
		int			first = -1;
		int			size = 0;

		initStringInfo(&from);
		initStringInfo(&list);
		for (int i = 0; i < plan->n; i++)
		{
			RowRequest	request = {.def = def,.relid = plan->relids[i],.columns = plan->columns};

			if (plan->joins[i] != join)
				continue;
			appendStringInfo(&from, "%s(%s WHERE ", size > 0 ? " FULL JOIN " : "",
							 select_rows(&request, &plan->attnos, &plan->nattnos));
			for (int k = 0; k < def->layout.npk; k++)
				appendStringInfo(&from, "%s%s", k > 0 ? " AND " : "",
								 equality_sql(psprintf("f.%s", key_column(def, k)),
											  psprintf("$%d", i * def->layout.npk + k + 1),
											  key_type(def, k), true));
			appendStringInfo(&from, ") t%d", i);
			if (first < 0)
				first = i;
			for (int k = 0; k < def->layout.npk && size > 0; k++)
				appendStringInfo(&from, " %s %s", k > 0 ? "AND" : "ON",
								 equality_sql(psprintf("t%d.%s", first, key_column(def, k)),
											  psprintf("t%d.%s", i, key_column(def, k)),
											  key_type(def, k), false));
			appendStringInfo(&list, "%st%d.*", size > 0 ? ", " : "", i);
			size++;
		}
		/* All members of a UNION ALL have the same number of columns. */
		for (; size < plan->width; size++)
			for (int k = 0; k < plan->nattnos; k++)
			{
				Form_pg_attribute att = TupleDescAttr(def->layout.desc, plan->attnos[k] - 1);

				appendStringInfo(&list, ", NULL::%s",
								 format_type_extended(att->atttypid, att->atttypmod,
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

	if (!IsA(append, Append) || list_length(append->appendplans) != plan->njoins)
		return;
	plan->members = palloc0(sizeof(Plan *) * plan->njoins);
	foreach_ptr(ForeignScan, scan, append->appendplans)
	{
		int			rti = -1;
		int			join = -1;

		if (!IsA(scan, ForeignScan))
			return;
		while (join < 0 && (rti = bms_next_member(scan->fs_relids, rti)) >= 0)
			for (int i = 0; i < plan->n; i++)
				if (rt_fetch(rti, plan->stmt->rtable)->relid == plan->relids[i])
					join = plan->joins[i];
		if (join < 0 || plan->members[join] != NULL)
			return;
		plan->members[join] = (Plan *) scan;
	}
	plan->append = append;
}

/* server_changed: makes all plans out of date */
static void
server_changed(Datum arg, int cache, uint32 hash)
{
	changes++;
}

/*
 * is_of_postgres_fdw
 *		Returns whether postgres_fdw reads a partition, and sets *server to the foreign
 *		server.
 */
bool
is_of_postgres_fdw(Oid relid, Oid *server)
{
	*server = GetForeignTable(relid)->serverid;
	return is_server_of_postgres_fdw(*server);
}

/* is_server_of_postgres_fdw: returns whether a foreign server is one of postgres_fdw */
bool
is_server_of_postgres_fdw(Oid server)
{
	return strcmp(GetForeignDataWrapper(GetForeignServer(server)->fdwid)->fdwname, "postgres_fdw") == 0;
}

/* key_type: returns the type of the k-th column of a fact table's primary key */
Oid
key_type(FactDef *def, int k)
{
	return TupleDescAttr(def->layout.desc, def->layout.pk_attno[k] - 1)->atttypid;
}

/* key_column: returns the name of a column of the primary key, quoted */
const char *
key_column(FactDef *def, int i)
{
	return quote_identifier(NameStr(TupleDescAttr(def->layout.desc, def->layout.pk_attno[i] - 1)->attname));
}

/*
 * select_rows
 *		Returns a SELECT, without conditions, of the columns asked for, and sets
 *		*columns to their numbers in the fact table, and *n to how many they are.
 *
 * Columns are named, because partitions number them in other ways.
 */
char *
select_rows(RowRequest *request, AttrNumber **columns, int *n)
{
	TupleDesc	desc = request->def->layout.desc;
	StringInfoData sql;

	*n = 0;
	initStringInfo(&sql);
	*columns = palloc(sizeof(AttrNumber) * desc->natts);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		int			member = att->attnum - FirstLowInvalidHeapAttributeNumber;

		if (att->attisdropped ||
			(request->columns != NULL && !bms_is_member(member, request->columns) &&
			 !bms_is_member(member, request->def->layout.pk_columns)))
			continue;
		appendStringInfo(&sql, "%s f.%s", *n == 0 ? "SELECT" : ",", quote_identifier(NameStr(att->attname)));
		(*columns)[(*n)++] = att->attnum;
	}
	appendStringInfo(&sql, " FROM %s f", quoted_relation(request->relid));
	return sql.data;
}

/*
 * store_row
 *		Stores a tuple that the SELECT of select_rows() has returned in a slot with the
 *		columns of the fact table, where its values point into the tuple.  Raises an error if it is
 *		that of another table.
 */
void
store_row(FactDef *def, HeapTuple tuple, TupleDesc desc, AttrNumber *columns, TupleTableSlot *slot)
{
	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, sizeof(bool) * def->layout.desc->natts);
	for (int i = 0; i < desc->natts; i++)
	{
		if (TupleDescAttr(desc, i)->atttypid != TupleDescAttr(def->layout.desc, columns[i] - 1)->atttypid)
			report_renamed(def->name);
		slot->tts_values[columns[i] - 1] = heap_getattr(tuple, i + 1, desc, &slot->tts_isnull[columns[i] - 1]);
	}
	ExecStoreVirtualTuple(slot);
}
