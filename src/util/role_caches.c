/*-------------------------------------------------------------------------
 *
 * role_caches.c
 *	  Keeps what the server has compiled, planned and bound for one role from others.
 *
 * The server keeps what it has made of functions of users for all roles of a session.  It looks up names by the
 * search_path of the moment, finds temporary objects of the session in it, reads literals and evaluates
 * constants under the settings of the moment, and then uses the result under others.  Natively that is the
 * matter of a session.  But where owners of tables are in charge, whose code runs under fixed settings and an
 * own search_path, it may neither be what a writer has made, nor be left behind for the writer.
 *
 * So there are contexts: outside, and one for each owner.  A function of a user is followed from one to the other:
 *
 * - One in PL/pgSQL is compiled once for each context, with all that is planned in it: see compiled.c.
 * - Checks of domains are planned anew at each switch to another context, and casts if they are made of functions
 *   that the server has asked for.  PL/pgSQL keeps casts, and the cache of types checks.
 * - Expressions of indexes and partition keys are, if they are made of such functions.  The server plans them once
 *   for an entry of the relcache: to plan a query that names the table is enough, also if it is refused then.
 * - What a function in SQL has been bound to, where it supports a type or an index, is dropped if it is called in
 *   another context.  A superuser may make an operator class of such functions, and anybody may make a type of
 *   ranges with such a SUBTYPE_DIFF.  The server calls them by one FmgrInfo for the session, wherever it compares
 *   arrays, records or ranges, finds partitions, or uses hash indexes, and before version 18 keeps what the first
 *   call in a transaction has found.
 * - From 18 on plans of functions in SQL are kept for all who call them.  Once two contexts have asked for the
 *   same function all plans are made anew at each switch.  18 keeps the text as it was read, too: owners have it
 *   read anew if backslashes may have meant something else.
 *
 * The server asks about each function before it makes it a part of an expression, or looks it up to call it
 * (needs_fmgr_hook), and tells of each call of those about which it was told so (fmgr_hook).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_amproc.h"
#include "catalog/pg_cast.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_language.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/functions.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "parser/analyze.h"
#include "parser/parser.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/guc_tables.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "compat.h"
#include "compiled.h"
#include "memory.h"
#include "role_caches.h"

/* From this number of expressions on that open relations have left behind they are freed. */
#define MAX_LEFT_BEHIND	64

/* Any code of users runs outside of our work for owners: the number of that context. */
#define OUTSIDE		0

/* A function of a user that the server has asked for in this session. */
typedef struct Function
{
	Oid			oid;			/* the key */
	uint64		classified;		/* at which number of changes of the catalog
								 * what follows was found */
	bool		is_sql;			/* whether it is in SQL */
	bool		is_plpgsql;		/* whether it is in PL/pgSQL */
	bool		is_unasked;		/* whether it has settings of its own, or is
								 * SECURITY DEFINER: the server does not ask
								 * about it, but tells of its calls */
	bool		has_escapes;	/* whether there are backslashes in a body in
								 * SQL that is a string, and kept as it was
								 * read */
	uint32		hash;			/* of the key in the server's cache */
	bool		is_support;		/* whether it supports a type or an index */
	bool		is_kept;		/* whether a cast or a check is made of it */
	List	   *indexes;		/* OIDs of those with expressions of it */
	List	   *keyed;			/* OIDs of tables that are partitioned by such
								 * expressions */
	bool		is_noted;		/* whether it is in noted */
	bool		is_planned;		/* whether expressions of it may have been
								 * planned since the last switch */
	uint64		context;		/* where it was asked for, or called, last */
	Compiled	compiled;		/* what the server has made of it */
} Function;

/* What belongs to the FmgrInfo of a function whose calls we are told. */
typedef struct Binding
{
	Function   *function;		/* NULL: it is none of users */
	uint64		to;				/* the context in which it was bound, or a
								 * time outside */
	int			nactive;		/* number of calls that are under way */
	Datum		private_of_next;	/* of the next hook */
} Binding;

static needs_fmgr_hook_type next_needs = NULL;
static fmgr_hook_type next_call = NULL;
static post_parse_analyze_hook_type next_analyze = NULL;
static ExecutorStart_hook_type next_start = NULL;
static ProcessUtility_hook_type next_utility = NULL;

static uint64 context = OUTSIDE;	/* who is in charge: see as_owner.c */
static uint64 nswitches = 0;	/* of contexts */
static HTAB *functions = NULL;	/* of Function, for good */
static PGFunction plpgsql_handler = NULL;
static uint64 nchanges = 1;		/* of what functions are classified by */
static bool knows_kept_sql = false; /* whether something is made of one in SQL */
static bool is_forgetting = false;	/* whether callbacks are called by us */
static bool was_escaped = false;	/* whether standard_conforming_strings has
									 * been off */
static bool shares_plans = false;	/* whether two contexts have asked for the
									 * same function in SQL; from version 18
									 * on */

/*
 * The functions asked for since the last switch that something is made of.  After an abort, which could not forget
 * expressions of relations, the next statement does.
 */
static Function **noted = NULL;
static int	nnoted = 0;
static int	max_noted = 0;
static bool notes_kept = false; /* whether a cast or a check is made of one of
								 * them, or of one in SQL that was bound */
static bool was_aborted = false;

/* Relations that were open when their expressions were forgotten, and what these have left behind. */
static List *left_behind_in = NIL;
static int	nleft_behind = 0;
static MemoryContext left_behind = NULL;

static bool needs_call_hook(Oid oid);
static Function *user_function(Oid oid);
static void classify(Function *function);
static bool is_plpgsql(Oid language);
static void add_made_of(Oid class, Oid object, Function *function);
static bool is_equality(Oid operator);
static void note(Function *function);
static void note_sql(Function *function);
static bool is_path_of_owner(void);
static void at_call(FmgrHookEventType event, FmgrInfo *called, Datum *private);
static void begin_call(Function *function, Binding *binding, FmgrInfo *called);
static void begin_bound(Binding *binding, FmgrInfo *called);
static void note_body(ParseState *pstate, Query *query, JumbleState_compat *jstate);
static void forget_checks(void);
static void forget_casts(void);
static void forget_in_relations(void);
static void forget_expressions(Oid relid);
static void leave_expressions(Relation rel);
static void free_left_behind(void);
static void note_change(Datum unused, int cache, uint32 hash);
static void executor_start(QueryDesc *query, int eflags);
static void process_utility(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
							ProcessUtilityContext utility, ParamListInfo params,
							QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc);
static bool check_escapes(bool *on, void **extra, GucSource source);

/*
 * role_caches_init
 *		Has the server ask about functions, and tell of calls.  What this session has planned before is forgotten;
 *		what it has bound is not known, in a server that has not preloaded this library.
 */
void
role_caches_init(void)
{
	static const int caches[] = {PROCOID, OPEROID, CASTSOURCETARGET, CONSTROID, INDEXRELID, PARTRELID, AMPROCNUM,
	AMOPOPID, RANGETYPE};
	GucBoolCheckHook *check;

	next_needs = needs_fmgr_hook;
	needs_fmgr_hook = needs_call_hook;
	next_call = fmgr_hook;
	fmgr_hook = at_call;
	next_analyze = post_parse_analyze_hook;
	post_parse_analyze_hook = note_body;
	next_start = ExecutorStart_hook ? ExecutorStart_hook : standard_ExecutorStart;
	ExecutorStart_hook = executor_start;
	next_utility = ProcessUtility_hook ? ProcessUtility_hook : standard_ProcessUtility;
	ProcessUtility_hook = process_utility;
	for (int i = 0; i < (int) lengthof(caches); i++)
		CacheRegisterSyscacheCallback(caches[i], note_change, (Datum) 0);
	functions = new_hash("functions of users", 64, sizeof(Oid), sizeof(Function), TopMemoryContext);
	left_behind = AllocSetContextCreate(TopMemoryContext, "expressions of relations", ALLOCSET_SMALL_SIZES);
	was_escaped = !standard_conforming_strings || !process_shared_preload_libraries_in_progress;
	check = bool_check_hook_of(find_option_compat("standard_conforming_strings"));
	if (*check == NULL)
		*check = check_escapes; /* from version 19 on the server checks it */
	if (!process_shared_preload_libraries_in_progress)
		ResetPlanCache();
	if (IsTransactionState())
		InvalidateSystemCaches();
}

/*
 * role_caches_switched
 *		Goes on in another context, given by a number, and forgets what must not be used there.  In a transaction
 *		that is aborted it cannot be looked at relations.
 */
void
role_caches_switched(uint64 to, bool aborting)
{
	if (to == context)
		return;
	nswitches++;
	context = to;
	compiled_switched(to);
	if (shares_plans)
		ResetPlanCache();
	forget_checks();
	if (notes_kept)
		forget_casts();
	if (nnoted > 0 && aborting)
		was_aborted = true;
	else if (nnoted > 0)
		forget_in_relations();
}

/* role_caches_forgets: returns whether callbacks are called though the catalog has not changed */
bool
role_caches_forgets(void)
{
	return is_forgetting;
}

/*
 * needs_call_hook
 *		Notes a function that is to be called, or to become a part of an expression, and returns whether the server
 *		has to tell of its calls; a needs_fmgr_hook.  A function in SQL cannot become a part of an expression then.
 */
static bool
needs_call_hook(Oid oid)
{
	Function   *function = user_function(oid);
	bool		result = false;

	if (function != NULL)
	{
		note(function);
		result = function->is_plpgsql ||
			(function->is_sql && (function->is_support || (function->has_escapes && context != OUTSIDE)));
	}
	return result || (next_needs != NULL && next_needs(oid));
}

/* user_function: returns what is known of a function; NULL if it is none of users */
static Function *
user_function(Oid oid)
{
	Function   *function;
	bool		found;

	if (oid < FirstNormalObjectId)
		return NULL;
	function = hash_search(functions, &oid, HASH_ENTER, &found);
	if (!found)
	{
		memset(function, 0, sizeof(Function));
		function->oid = oid;
		function->context = context;
	}
	classify(function);
	return function;
}

/*
 * classify
 *		Finds out what a function is, and what is made of it, unless that is known.
 *
 * What is made of another function that is made of this one need not be known: the server asks about the other
 * one, too, when it plans that.
 */
static void
classify(Function *function)
{
	HeapTuple	tuple;
	Form_pg_proc form;
	uint64		began = nchanges;

	if (function->classified == nchanges)
		return;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function->oid));
	if (!HeapTupleIsValid(tuple))
		return;
	form = (Form_pg_proc) GETSTRUCT(tuple);
	function->is_sql = form->prolang == SQLlanguageId;
	function->is_plpgsql = is_plpgsql(form->prolang);
	function->is_unasked = form->prosecdef || !heap_attisnull(tuple, Anum_pg_proc_proconfig, NULL);
	function->compiled.oid = function->oid;
	function->compiled.is_trigger = form->prorettype == TRIGGEROID || form->prorettype == EVENT_TRIGGEROID;
	function->compiled.is_polymorphic = false;
	for (int i = 0; i < form->proargtypes.dim1; i++)
		function->compiled.is_polymorphic |= IsPolymorphicType(form->proargtypes.values[i]);
	function->hash = GetSysCacheHashValue1(PROCOID, ObjectIdGetDatum(function->oid));
	function->has_escapes = false;
	if (function->is_sql && keeps_sql_as_read && heap_attisnull(tuple, Anum_pg_proc_prosqlbody, NULL))
	{
		bool		isnull;
		Datum		body = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);

		function->has_escapes = strchr(TextDatumGetCString(body), '\\') != NULL;
	}
	ReleaseSysCache(tuple);
	function->is_support = false;
	function->is_kept = false;
	list_free(function->indexes);
	list_free(function->keyed);
	function->indexes = NIL;
	function->keyed = NIL;
	add_made_of(ProcedureRelationId, function->oid, function);
	knows_kept_sql |= function->is_sql && function->is_kept;
	function->classified = began;	/* after all that may raise an error */
}

/*
 * is_plpgsql
 *		Returns whether a language is PL/pgSQL, whatever its name is, and finds what the server calls for it.
 *
 * A function that was bound before it was replaced may be in another language than its row of pg_proc says.
 */
static bool
is_plpgsql(Oid language)
{
	HeapTuple	tuple = SearchSysCache1(LANGOID, ObjectIdGetDatum(language));
	Oid			handler = InvalidOid;
	bool		result = false;
	bool		isnull;
	FmgrInfo	called;

	if (HeapTupleIsValid(tuple))
	{
		handler = ((Form_pg_language) GETSTRUCT(tuple))->lanplcallfoid;
		ReleaseSysCache(tuple);
	}
	tuple = OidIsValid(handler) ? SearchSysCache1(PROCOID, ObjectIdGetDatum(handler)) : NULL;
	if (HeapTupleIsValid(tuple))
	{
		result = strcmp(TextDatumGetCString(SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull)),
						"plpgsql_call_handler") == 0;
		ReleaseSysCache(tuple);
	}
	if (result && plpgsql_handler == NULL)
	{
		fmgr_info(handler, &called);
		plpgsql_handler = called.fn_addr;
	}
	return result;
}

/* add_made_of: notes for a function what depends on it, or on an operator that is made of it */
static void
add_made_of(Oid class, Oid object, Function *function)
{
	Relation	depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(class));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(object));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, lengthof(keys), keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(tuple);
		MemoryContext old;
		char		kind;

		switch (form->classid)
		{
			case RelationRelationId:
				kind = get_rel_relkind(form->objid);
				old = MemoryContextSwitchTo(TopMemoryContext);
				if (kind == RELKIND_PARTITIONED_TABLE)
					function->keyed = lappend_oid(function->keyed, form->objid);
				else if (kind == RELKIND_INDEX || kind == RELKIND_PARTITIONED_INDEX)
					function->indexes = lappend_oid(function->indexes, form->objid);
				MemoryContextSwitchTo(old);
				break;
			case CastRelationId:
				function->is_kept = true;
				function->is_support = true;	/* foreign keys keep it bound */
				break;
			case ConstraintRelationId:
				function->is_kept = true;
				break;
			case AccessMethodProcedureRelationId:
			case TypeRelationId:
				function->is_support = true;
				break;
			case OperatorRelationId:
				if (class != ProcedureRelationId)
					break;
				function->is_support |= is_equality(form->objid);
				add_made_of(OperatorRelationId, form->objid, function);
				break;
		}
	}
	systable_endscan(scan);
	table_close(depend, AccessShareLock);
}

/* is_equality: returns whether an operator is that by which an operator class finds equal values */
static bool
is_equality(Oid operator)
{
	CatCList   *members = SearchSysCacheList1(AMOPOPID, ObjectIdGetDatum(operator));
	bool		result = false;

	for (int i = 0; i < members->n_members; i++)
	{
		Form_pg_amop form = (Form_pg_amop) GETSTRUCT(&members->members[i]->tuple);

		result |= form->amopstrategy ==
			(form->amopmethod == HASH_AM_OID ? HTEqualStrategyNumber : BTEqualStrategyNumber);
	}
	ReleaseSysCacheList(members);
	return result;
}

/*
 * note
 *		Notes that a function has been asked for in this context, if something is made of it.
 *
 * An owner's own search_path gives expressions of relations no other meaning.
 */
static void
note(Function *function)
{
	function->is_planned |= (function->indexes != NIL || function->keyed != NIL) &&
		(context == OUTSIDE || !is_path_of_owner() || function->has_escapes);
	notes_kept |= function->is_kept;
	if ((function->is_kept || function->is_planned) && !function->is_noted)
	{
		if (nnoted == max_noted)
			noted = grow_array(noted, &max_noted, 8, sizeof(Function *), TopMemoryContext);
		function->is_noted = true;
		noted[nnoted++] = function;
	}
	if (function->is_sql && plans_sql_by_path)
		note_sql(function);
}

/*
 * note_sql
 *		Has all plans made anew at each switch once another context has asked for a function in SQL.
 *
 * The server asks when a function is bound, which may be long before it is called, and keeps plans of it for all
 * who have bound it.  So where it was asked for last does not tell where it was planned.
 */
static void
note_sql(Function *function)
{
	if (function->context == context)
		return;
	if (!shares_plans)
		ResetPlanCache();
	shares_plans = true;
	function->context = context;
}

/* is_path_of_owner: returns whether names are looked up as in AS_OWNER() */
static bool
is_path_of_owner(void)
{
	Oid			path[2];

	return strcmp(namespace_search_path, "pg_catalog, pg_temp") == 0 &&
		fetch_search_path_array(path, lengthof(path)) == 1 && path[0] == PG_CATALOG_NAMESPACE;
}

/* at_call: a fmgr_hook */
static void
at_call(FmgrHookEventType event, FmgrInfo *called, Datum *private)
{
	Binding    *binding = (Binding *) DatumGetPointer(*private);

	if (event == FHET_START)
	{
		if (binding == NULL)
		{
			Function   *function = user_function(called->fn_oid);

			binding = MemoryContextAllocZero(called->fn_mcxt, sizeof(Binding));
			binding->function = function;
			*private = PointerGetDatum(binding);
		}
		/* What raises an error at this event is not told of it. */
		if (next_call != NULL)
			next_call(event, called, &binding->private_of_next);
		if (binding->function != NULL)
		{
			classify(binding->function);
			begin_call(binding->function, binding, called);
		}
		binding->nactive++;
		return;
	}
	if (binding != NULL)
	{
		if (binding->function != NULL)
			compiled_end(&binding->function->compiled);
		binding->nactive--;
	}
	if (next_call != NULL)
		next_call(event, called, binding != NULL ? &binding->private_of_next : private);
}

/*
 * begin_call
 *		Has a function compiled, planned or bound anew if it was in another context.
 */
static void
begin_call(Function *function, Binding *binding, FmgrInfo *called)
{
	if (function->is_unasked || function->is_sql)
		note(function);
	if (!plans_sql_by_path && called->fn_addr == fmgr_sql && !called->fn_retset && function->is_support)
		begin_bound(binding, called);
	if (called->fn_addr == plpgsql_handler)
		compiled_begin(&function->compiled, called);
	if (called->fn_addr == fmgr_sql && function->has_escapes && was_escaped && context != OUTSIDE &&
		standard_conforming_strings)
		compiled_begin_sql(&function->compiled, called);
}

/*
 * begin_bound
 *		Drops what a function in SQL has been bound to in another context.
 *
 * Where it is under way in the same FmgrInfo, what it has there stays until the transaction ends.
 */
static void
begin_bound(Binding *binding, FmgrInfo *called)
{
	/* Another time outside is another context: others may be in charge of it. */
	uint64		now = context == OUTSIDE ? PG_UINT64_MAX - nswitches : context;

	if (called->fn_extra != NULL && binding->to != now)
	{
		MemoryContext bound = GetMemoryChunkContext(called->fn_extra);

		called->fn_extra = NULL;
		if (binding->nactive > 0)
			MemoryContextSetParent(bound, TopTransactionContext);
		else
			MemoryContextDelete(bound);
	}
	binding->to = now;
}

/*
 * note_body
 *		Notes that the body of a function in SQL is bound; a post_parse_analyze_hook.
 *
 * The server keeps the functions of checks and casts in some places for longer than a statement, as PL/Python does
 * for a function that returns a domain, and binds them when they are first called in a transaction without asking
 * about them again.  The parser has a hook for columns after its own look at them in such a body, and none before;
 * in no other text.
 */
static void
note_body(ParseState *pstate, Query *query, JumbleState_compat *jstate)
{
	if (pstate->p_post_columnref_hook != NULL && pstate->p_pre_columnref_hook == NULL)
		notes_kept |= knows_kept_sql && !plans_sql_by_path;
	if (next_analyze != NULL)
		next_analyze(pstate, query, jstate);
}

/*
 * forget_checks
 *		Has checks of domains planned anew.  Constants in them depend on settings, also where all functions in them
 *		are of the server, which we are not asked about.
 *
 * What the server keeps of a domain is forgotten when any constraint changes.  No constraint has this hash value.
 */
static void
forget_checks(void)
{
	is_forgetting = true;
	CallSyscacheCallbacks(CONSTROID, 1);
	is_forgetting = false;
}

/* forget_casts: has casts planned anew, and plans that name domains or the functions noted */
static void
forget_casts(void)
{
	is_forgetting = true;
	for (int i = 0; i < nnoted; i++)
		if (noted[i]->is_kept)
			CallSyscacheCallbacks(PROCOID, noted[i]->hash);
	CallSyscacheCallbacks(TYPEOID, 0);
	is_forgetting = false;
	notes_kept = false;
}

/*
 * forget_in_relations
 *		Has the expressions of indexes and partition keys planned anew that are made of the functions noted, with
 *		the conditions of all partitions, and forgets these functions.
 */
static void
forget_in_relations(void)
{
	List	   *relations = NIL;

	for (int i = 0; i < nnoted; i++)
	{
		Function   *function = noted[i];

		if (function->is_planned)
		{
			relations = list_concat(relations, function->indexes);
			foreach_oid(relid, function->keyed)
				relations = list_concat(relations, find_all_inheritors(relid, NoLock, NULL));
		}
		function->is_planned = false;
		function->is_noted = false;
	}
	nnoted = 0;
	was_aborted = false;
	list_sort(relations, list_oid_cmp);
	list_deduplicate_oid(relations);
	foreach_oid(relid, relations)
		forget_expressions(relid);
	list_free(relations);
}

/*
 * forget_expressions
 *		Has the expressions of a relation planned anew.
 *
 * The server keeps them for as long as the relation is open, which takes a lock.
 */
static void
forget_expressions(Oid relid)
{
	LOCKTAG		tag;
	Relation	rel;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, relid);
	rel = lock_held_by_me(&tag) ? RelationIdGetRelation(relid) : NULL;
	if (rel != NULL)
	{
		bool		is_open = rel->rd_refcnt > 1;

		if (is_open)
			leave_expressions(rel);
		RelationClose(rel);
		if (is_open)
			return;
	}
	RelationCacheInvalidateEntry(relid);
}

/*
 * leave_expressions
 *		Takes the expressions out of a relation that is open.  Statements that are under way may use its key.
 */
static void
leave_expressions(Relation rel)
{
	if (rel->rd_indexprs == NIL && rel->rd_indpred == NIL &&
		rel->rd_partkeycxt == NULL && rel->rd_partcheckcxt == NULL)
		return;
	rel->rd_indexprs = NIL;
	rel->rd_indpred = NIL;
	if (rel->rd_partkeycxt != NULL)
		MemoryContextSetParent(rel->rd_partkeycxt, left_behind);
	rel->rd_partkey = NULL;
	rel->rd_partkeycxt = NULL;
	if (rel->rd_partcheckcxt != NULL)
		MemoryContextSetParent(rel->rd_partcheckcxt, left_behind);
	rel->rd_partcheck = NIL;
	rel->rd_partcheckvalid = false;
	rel->rd_partcheckcxt = NULL;
	if (!list_member_oid(left_behind_in, RelationGetRelid(rel)))
	{
		MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

		left_behind_in = lappend_oid(left_behind_in, RelationGetRelid(rel));
		MemoryContextSwitchTo(old);
	}
	nleft_behind++;
}

/* free_left_behind: frees what expressions have left behind, if no relation of these is open */
static void
free_left_behind(void)
{
	foreach_oid(relid, left_behind_in)
	{
		Relation	rel = RelationIdGetRelation(relid);
		bool		is_open;

		if (rel == NULL)
			continue;
		is_open = rel->rd_refcnt > 1;
		RelationClose(rel);
		if (is_open)
			return;
	}
	foreach_oid(relid, left_behind_in)
		RelationCacheInvalidateEntry(relid);
	MemoryContextReset(left_behind);
	list_free(left_behind_in);
	left_behind_in = NIL;
	nleft_behind = 0;
}

/* note_change: has functions classified anew; called when the catalog has changed */
static void
note_change(Datum unused, int cache, uint32 hash)
{
	if (!is_forgetting)
		nchanges++;
}

/* executor_start, process_utility: forget what an abort could not, and free what was left */
static void
executor_start(QueryDesc *query, int eflags)
{
	if (was_aborted)
		forget_in_relations();
	if (nleft_behind >= MAX_LEFT_BEHIND)
		free_left_behind();
	next_start(query, eflags);
}

static void
process_utility(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
				ProcessUtilityContext utility, ParamListInfo params,
				QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc)
{
	if (was_aborted && IsTransactionState())
		forget_in_relations();
	next_utility(pstmt, queryString, readOnlyTree, utility, params, queryEnv, dest, qc);
}

/*
 * check_escapes
 *		Refuses to have literals read with escapes while an owner is in charge; the check_hook of
 *		standard_conforming_strings.
 */
static bool
check_escapes(bool *on, void **extra, GucSource source)
{
	was_escaped |= !*on;
	if (*on || (context == OUTSIDE && !(IsParallelWorker() && InSecurityRestrictedOperation())))
		return true;
	GUC_check_errdetail("The code of fields, filters and indexes of index tables is read with "
						"standard_conforming_strings = on.");
	return false;
}
