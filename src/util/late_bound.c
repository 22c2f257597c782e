/*-------------------------------------------------------------------------
 *
 * late_bound.c
 *	  Forgets what the server has planned for a session with functions in SQL that were bound by others.
 *
 * What a function in SQL calls, if its body is a string, is looked up by the search_path of the moment when it
 * is planned or first called.  Where such a function is a part of a domain's check, or of a cast, the server keeps
 * the result for all roles: the checks in the cache of types, the casts in PL/pgSQL.  A role that may use the
 * domain could have the check call functions of its own in that way, as the owner of each table whose fields cast
 * to the domain; and the code of an owner could have it do so in the session of a superuser.
 *
 * The server asks us about each function before it makes it a part of an expression, or calls it.  If one that
 * is bound late has been asked for under another search_path than AS_OWNER() sets, and a domain, a cast or
 * another object is made of it, plans and checks are forgotten at the next switch of roles, to an owner or back.
 * So are the expressions of indexes and of partition keys, which the server plans once for an entry of the
 * relcache: to plan a query that names the table is enough, also if it is refused then.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_cast.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_language_d.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "tcop/utility.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "compat.h"
#include "late_bound.h"
#include "memory.h"

/* If a session calls more functions in SQL, it is supposed that something is made of one of them. */
#define MAX_SEEN	32

/* So a search_path begins among the settings of a function. */
#define SEARCH_PATH	"search_path="

static bool note_function(Oid function);
static bool is_kept(Oid function);
static void executor_start(QueryDesc *query, int eflags);
static void process_utility(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
							ProcessUtilityContext context, ParamListInfo params,
							QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc);
static void forget_in_relations(void);
static SysScanDesc begin_made_of(Relation depend, Oid class, Oid object);
static void add_made_of(Oid class, Oid object, List **functions, List **relations);
static void forget_expressions(Oid relid);

static needs_fmgr_hook_type next_hook = NULL;
static ExecutorStart_hook_type next_start = NULL;
static ProcessUtility_hook_type next_utility = NULL;

/* The functions bound late that the server has asked for in this session. */
static Oid	seen[MAX_SEEN];
static int	nseen = 0;			/* MAX_SEEN + 1: any */

/* Whether they may have been bound under another search_path than the owners' since that was looked at. */
static bool is_bound_outside = false;

/*
 * The functions bound late that have been asked for under such a path since expressions of relations were
 * forgotten; NULL: none.  After an abort, which could not forget them, the next statement does.
 */
static HTAB *bound = NULL;
static bool was_aborted = false;

/*
 * late_bound_init
 *		Has the server ask about functions.  What this session has planned with those that it has called before is
 *		forgotten.
 */
void
late_bound_init(void)
{
	next_hook = needs_fmgr_hook;
	needs_fmgr_hook = note_function;
	next_start = ExecutorStart_hook ? ExecutorStart_hook : standard_ExecutorStart;
	ExecutorStart_hook = executor_start;
	next_utility = ProcessUtility_hook ? ProcessUtility_hook : standard_ProcessUtility;
	ProcessUtility_hook = process_utility;
	if (!process_shared_preload_libraries_in_progress)
		forget_plans();
	if (IsTransactionState())
		InvalidateSystemCaches();
}

/*
 * note_function
 *		Notes a function that is to be called, or to become a part of an expression; a needs_fmgr_hook.
 */
static bool
note_function(Oid function)
{
	if (function >= FirstNormalObjectId && is_late_bound(function))
	{
		int			i = 0;

		while (i < nseen && i < MAX_SEEN && seen[i] != function)
			i++;
		if (i == nseen)
		{
			if (nseen < MAX_SEEN)
				seen[nseen] = function;
			nseen++;
		}
		if (!is_path_of_owner())
		{
			is_bound_outside = true;
			if (bound == NULL)
				bound = new_hash("functions bound late", 16, sizeof(Oid), sizeof(Oid), TopMemoryContext);
			(void) hash_search(bound, &function, HASH_ENTER, NULL);
		}
	}
	return next_hook != NULL && next_hook(function);
}

/*
 * is_late_bound
 *		Returns whether a function is in SQL, has a string as its body, and no search_path of its own.
 */
bool
is_late_bound(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Datum		settings;
	bool		isnull;
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	result = ((Form_pg_proc) GETSTRUCT(tuple))->prolang == SQLlanguageId &&
		heap_attisnull(tuple, Anum_pg_proc_prosqlbody, NULL);
	settings = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_proconfig, &isnull);
	if (result && !isnull)
	{
		Datum	   *elements;
		int			n;

		deconstruct_array(DatumGetArrayTypeP(settings), TEXTOID, -1, false, TYPALIGN_INT, &elements, NULL, &n);
		for (int i = 0; i < n; i++)
			result &= strncmp(TextDatumGetCString(elements[i]), SEARCH_PATH, strlen(SEARCH_PATH)) != 0;
	}
	ReleaseSysCache(tuple);
	return result;
}

/*
 * late_bound_called
 *		Notes that PL/pgSQL executes a function under another search_path than the owners': a cast that it has
 *		prepared under theirs in this transaction may be called for the first time.
 */
void
late_bound_called(void)
{
	is_bound_outside |= nseen > 0;
}

/*
 * late_bound_forget
 *		Forgets plans and checks of domains if functions in them may have been bound by others.  In a
 *		transaction that is aborted it cannot be looked whether anything is made of the functions.
 */
void
late_bound_forget(bool aborting)
{
	bool		forgets = aborting || nseen > MAX_SEEN;

	if (!is_bound_outside && !was_aborted)
		return;
	for (int i = 0; i < nseen && !forgets; i++)
		forgets = is_kept(seen[i]);
	is_bound_outside = false;
	if (forgets)
		forget_plans();
	if (!aborting)
		forget_in_relations();
	else
		was_aborted = bound != NULL;
}

/* executor_start, process_utility: forget what an abort could not */
static void
executor_start(QueryDesc *query, int eflags)
{
	if (was_aborted)
		forget_in_relations();
	next_start(query, eflags);
}

static void
process_utility(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc)
{
	if (was_aborted && IsTransactionState())
		forget_in_relations();
	next_utility(pstmt, queryString, readOnlyTree, context, params, queryEnv, dest, qc);
}

/*
 * forget_in_relations
 *		Has the expressions of indexes and partition keys planned anew that are made of the functions bound.
 */
static void
forget_in_relations(void)
{
	HTAB	   *forgotten = bound;
	HASH_SEQ_STATUS seq;
	Oid		   *function;
	List	   *functions = NIL;
	List	   *relations = NIL;

	if (bound == NULL)
		return;
	hash_seq_init(&seq, bound);
	while ((function = hash_seq_search(&seq)) != NULL)
		add_made_of(ProcedureRelationId, *function, &functions, &relations);
	foreach_oid(relid, relations)
		forget_expressions(relid);
	list_free(functions);
	list_free(relations);
	bound = NULL;
	was_aborted = false;
	hash_destroy(forgotten);
}

/* begin_made_of: begins to read the rows of pg_depend about what depends on an object */
static SysScanDesc
begin_made_of(Relation depend, Oid class, Oid object)
{
	ScanKeyData keys[2];

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(class));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(object));
	return systable_beginscan(depend, DependReferenceIndexId, true, NULL, lengthof(keys), keys);
}

/*
 * add_made_of
 *		Adds the relations that depend on a function or an operator, themselves or by way of others.
 */
static void
add_made_of(Oid class, Oid object, List **functions, List **relations)
{
	Relation	depend;
	SysScanDesc scan;
	HeapTuple	tuple;

	check_stack_depth();
	if (class == ProcedureRelationId)
	{
		if (list_member_oid(*functions, object))
			return;
		*functions = lappend_oid(*functions, object);
	}
	depend = table_open(DependRelationId, AccessShareLock);
	scan = begin_made_of(depend, class, object);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(tuple);

		if (form->classid == RelationRelationId)
			*relations = list_append_unique_oid(*relations, form->objid);
		else if (form->classid == ProcedureRelationId || form->classid == OperatorRelationId)
			add_made_of(form->classid, form->objid, functions, relations);
	}
	systable_endscan(scan);
	table_close(depend, AccessShareLock);
}

/*
 * forget_expressions
 *		Has the expressions of an index planned anew, and those of a partition key with the conditions of all
 *		partitions.
 *
 * The server keeps them for as long as the relation is open.  Statements that are under way may use the key, so
 * it stays until the transaction ends.
 */
static void
forget_expressions(Oid relid)
{
	char		kind = get_rel_relkind(relid);
	List	   *parts;

	if (kind == RELKIND_PARTITIONED_TABLE)
		parts = find_all_inheritors(relid, NoLock, NULL);
	else if (kind == RELKIND_INDEX || kind == RELKIND_PARTITIONED_INDEX)
		parts = list_make1_oid(relid);
	else
		return;
	foreach_oid(part, parts)
	{
		Relation	rel = RelationIdGetRelation(part);
		bool		is_open;

		if (rel == NULL)
			continue;
		rel->rd_indexprs = NIL;
		rel->rd_indpred = NIL;
		if (rel->rd_partkeycxt != NULL)
			MemoryContextSetParent(rel->rd_partkeycxt, TopTransactionContext);
		rel->rd_partkey = NULL;
		rel->rd_partkeycxt = NULL;
		if (rel->rd_partcheckcxt != NULL)
			MemoryContextSetParent(rel->rd_partcheckcxt, TopTransactionContext);
		rel->rd_partcheck = NIL;
		rel->rd_partcheckvalid = false;
		rel->rd_partcheckcxt = NULL;
		is_open = rel->rd_refcnt > 1;
		RelationClose(rel);
		if (!is_open)
			RelationCacheInvalidateEntry(part);
	}
	list_free(parts);
}

/*
 * is_kept
 *		Returns whether a cast, a constraint, an operator or another function is made of a function.
 */
static bool
is_kept(Oid function)
{
	Relation	depend = table_open(DependRelationId, AccessShareLock);
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		result = false;

	scan = begin_made_of(depend, ProcedureRelationId, function);
	while (!result && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Oid			class = ((Form_pg_depend) GETSTRUCT(tuple))->classid;

		result = class == CastRelationId || class == ConstraintRelationId || class == OperatorRelationId ||
			class == ProcedureRelationId;
	}
	systable_endscan(scan);
	table_close(depend, AccessShareLock);
	return result;
}

/*
 * is_path_of_owner
 *		Returns whether names are looked up as in AS_OWNER(): in pg_catalog, and then among temporary objects.
 *
 * Commands of the server may have another path than the setting says, as CREATE SCHEMA has.
 */
bool
is_path_of_owner(void)
{
	Oid			path[2];

	return strcmp(namespace_search_path, "pg_catalog, pg_temp") == 0 &&
		fetch_search_path_array(path, lengthof(path)) == 1 && path[0] == PG_CATALOG_NAMESPACE;
}

/*
 * forget_plans
 *		Has the plans that this session keeps made anew, and checks of domains, before code of an owner is
 *		called for whom it works, but whom it does not belong to.
 *
 * Code of another owner may have been called before, and may have called a function that this one calls, too.
 * The constants in a statement of a function, in PL/pgSQL for example, are read when it is first executed,
 * under the settings of that moment: the other owner's.
 */
void
forget_plans(void)
{
	ResetPlanCache();
	CallSyscacheCallbacks(CONSTROID, 0);
}
