/*-------------------------------------------------------------------------
 *
 * compiled.c
 *	  Has functions compiled for each context.
 *
 * A function in PL/pgSQL is compiled once in a session, for all roles.  The types and collations of its variables
 * are looked up then, by the search_path of the first call, and stay, as do the literals and constants in it, and
 * all that is planned in it.  So what PL/pgSQL has made of a function is kept for each context (role_caches.c).
 * PL/pgSQL tells of each function that it executes.
 *
 * PL/pgSQL, and from version 18 on the server for functions in SQL, takes what the FmgrInfo of a call has, or else
 * what is in a table, if that is of the row of pg_proc, by its xmin.  Anybody may have PL/pgSQL compile a function
 * without calling it, as its validator does, and may have bound a function in SQL before there were backslashes in
 * it.  So from the moment of a call until the server has found what it looks for, the row in its cache has an xmin
 * that nothing has but what was made in such a time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "nodes/nodeFuncs.h"
#include "pgstat.h"
#include "plpgsql.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/syscache.h"

#include "compat.h"
#include "compiled.h"
#include "memory.h"
#include "while_set.h"

/*
 * The xmin of what PL/pgSQL has made of a function, while we know in which context: one that it finds in the
 * current one, or not.  No row of a user's function has these.
 */
#define FOUND		BootstrapTransactionId
#define HIDDEN		FrozenTransactionId

/* The largest number of copies of a function that are pinned. */
#define MAX_PINNED	32

/*
 * From these numbers of copies of a function, and of all, on that cannot be freed any more no more are pinned.
 * These are copies of functions that were replaced.
 */
#define MAX_LOST		10
#define MAX_ALL_LOST	500

/* The largest number of copies that PL/pgSQL may give up in a session while they are executed. */
#define MAX_ORPHANED	500

/* What PL/pgSQL has made of a function in a context. */
typedef struct Copy
{
	PLpgSQL_function *compiled; /* the key */
	Compiled   *function;		/* whose copies it is one of, or NULL */
	uint64		context;
	bool		is_pinned;		/* whether PL/pgSQL does not free it */
} Copy;

/* What the server is looking up in its tables of functions. */
static struct
{
	Compiled   *function;		/* NULL: nothing */
	FmgrInfo   *called;
	bool		is_sql;
	HeapTuple	tuple;			/* of pg_proc, in the server's cache */
	ResourceOwner owner;		/* of the tuple */
}			looked_up;
static TransactionId last_stamp = MaxTransactionId;
static int	norphaned = 0;		/* see MAX_ORPHANED */
static int	nall_lost = 0;		/* number of copies that cannot be freed any
								 * more */

static HTAB *copies = NULL;		/* of Copy, for good */
static uint64 context = 0;		/* who is in charge; 0: outside */

static void find_copies(Compiled *function);
static bool is_made_for(Copy *copy, FmgrInfo *called);
static void count_orphans(Compiled *function);
static bool can_be_pinned(Copy *copy);
static void drop_copies(Compiled *function, bool pinned);
static void begin_lookup(Compiled *function, FmgrInfo *called, bool is_sql);
static void end_lookup(void);
static void know_to_statistics(FmgrInfo *called);
static void learn(PLpgSQL_function *compiled);
static void be_told(void);
static void note_function(PLpgSQL_execstate *estate, PLpgSQL_function *function);
static void function_begins(PLpgSQL_execstate *estate, PLpgSQL_function *function);
static void function_ends(PLpgSQL_execstate *estate, PLpgSQL_function *function);
static void statement_begins(PLpgSQL_execstate *estate, PLpgSQL_stmt *stmt);
static void statement_ends(PLpgSQL_execstate *estate, PLpgSQL_stmt *stmt);
static void tell_function(void (*callback) (PLpgSQL_execstate *, PLpgSQL_function *), PLpgSQL_execstate *estate,
						  PLpgSQL_function *function);
static void tell_statement(void (*callback) (PLpgSQL_execstate *, PLpgSQL_stmt *), PLpgSQL_execstate *estate,
						   PLpgSQL_stmt *stmt);
static void share_functions(void);

static PLpgSQL_plugin plugin = {.func_setup = note_function};
static PLpgSQL_plugin **first = NULL;	/* whom PL/pgSQL tells */
static PLpgSQL_plugin *next = NULL; /* of another extension, or NULL */
static bool is_telling = false; /* whether the next is told something: it may
								 * tell us in turn */

/* compiled_init: has PL/pgSQL tell of each function that it executes */
void
compiled_init(void)
{
	first = (PLpgSQL_plugin **) find_rendezvous_variable("PLpgSQL_plugin");
	be_told();
	copies = new_hash("functions in PL/pgSQL", 64, sizeof(void *), sizeof(Copy), TopMemoryContext);
}

/* compiled_switched: goes on in another context */
void
compiled_switched(uint64 to)
{
	context = to;
}

/*
 * compiled_begin
 *		Has PL/pgSQL use of a function only what it has made of it in this context.
 *
 * It has one for all contexts in its table, so that what was found there before is pinned, and put into the
 * FmgrInfo where there can be no other for the types and the collation of the arguments.
 */
void
compiled_begin(Compiled *function, FmgrInfo *called)
{
	bool		is_known = !function->is_trigger && called->fn_expr != NULL &&
		(IsA(called->fn_expr, FuncExpr) || IsA(called->fn_expr, OpExpr));
	PLpgSQL_function *own = NULL;

	be_told();
	if (function->context != context)
		find_copies(function);
	function->context = context;
	begin_lookup(function, called, false);
	if (looked_up.function == NULL || !function->is_shared)
		return;
	for (int i = 0; i < function->ncopies && is_known; i++)
	{
		Copy	   *copy = function->copies[i];

		if (copy->context == context && compiled_xmin(copy->compiled) == FOUND && is_made_for(copy, called))
			own = copy->compiled;
	}
	called->fn_extra = own;
}

/* compiled_begin_sql: has the server use of a function in SQL only what it has made of it here */
void
compiled_begin_sql(Compiled *function, FmgrInfo *called)
{
	begin_lookup(function, called, true);
}

/*
 * compiled_end
 *		Ends the look for a function, if it is still under way.  If it is in PL/pgSQL, it has not been executed:
 *		forgets what was made of it, and what may have been overwritten by that.
 */
void
compiled_end(Compiled *function)
{
	PLpgSQL_function *compiled;
	Copy	   *copy;

	if (looked_up.function != function)
		return;
	compiled = looked_up.is_sql ? NULL : looked_up.called->fn_extra;
	end_lookup();
	if (looked_up.is_sql)
		return;
	drop_copies(function, false);
	copy = hash_search(copies, &compiled, HASH_FIND, NULL);
	if (compiled != NULL && (copy == NULL || copy->function == NULL))
		compiled_xmin(compiled) = InvalidTransactionId;
}

/*
 * find_copies
 *		Has PL/pgSQL find the copies of a function for this context, and no others.
 *
 * What it has overwritten for others than us has another xmin than we have given it.
 */
static void
find_copies(Compiled *function)
{
	int			n = 0;

	for (int i = 0; i < function->ncopies; i++)
	{
		Copy	   *copy = function->copies[i];
		TransactionId xmin = compiled_xmin(copy->compiled);

		if (xmin != FOUND && xmin != HIDDEN)
		{
			copy->function = NULL;
			continue;
		}
		function->copies[n++] = copy;
		compiled_xmin(copy->compiled) = copy->context == context ? FOUND : HIDDEN;
		if (copy->context == context)
			continue;
		function->is_shared = true;
		if (can_be_pinned(copy))
		{
			copy->is_pinned = true;
			compiled_use_count(copy->compiled)++;
			function->npinned++;
		}
	}
	function->ncopies = n;
}

/* is_made_for: returns whether a copy is for the collation and the types of arguments of a call */
static bool
is_made_for(Copy *copy, FmgrInfo *called)
{
	PLpgSQL_function *compiled = copy->compiled;

	if (compiled->fn_input_collation != exprInputCollation(called->fn_expr))
		return false;
	for (int i = 0; i < compiled->fn_nargs && copy->function->is_polymorphic; i++)
	{
		PLpgSQL_datum *arg = compiled->datums[compiled->fn_argvarnos[i]];
		Oid			type = arg->dtype == PLPGSQL_DTYPE_REC ? ((PLpgSQL_rec *) arg)->rectypeid :
			arg->dtype == PLPGSQL_DTYPE_VAR ? ((PLpgSQL_var *) arg)->datatype->typoid : InvalidOid;

		if (type != get_fn_expr_argtype(called, i))
			return false;
	}
	return true;
}

/*
 * count_orphans
 *		Counts the copies of a function that PL/pgSQL has given up while they were executed, and forgets them.
 *		Raises an error if there were too many, as it does not free them.
 */
static void
count_orphans(Compiled *function)
{
	int			n = 0;

	for (int i = 0; i < function->ncopies; i++)
	{
		Copy	   *copy = function->copies[i];

		if (copy->is_pinned || compiled_xmin(copy->compiled) != HIDDEN || compiled_is_in_table(copy->compiled))
			function->copies[n++] = copy;
		else
		{
			copy->function = NULL;
			norphaned++;
		}
	}
	function->ncopies = n;
	if (norphaned > MAX_ORPHANED && context != 0)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("functions were called too often for index tables while they were being executed"),
				 errdetail("What is compiled of them for either cannot be freed in this session."),
				 errhint("Functions of fields, filters and indexes should not write tables.")));
}

/* can_be_pinned: returns whether PL/pgSQL is to keep a copy, which it frees if that is hidden */
static bool
can_be_pinned(Copy *copy)
{
	Compiled   *function = copy->function;

	return !copy->is_pinned && !function->is_trigger && function->npinned < MAX_PINNED &&
		function->nlost < MAX_LOST && nall_lost < MAX_ALL_LOST;
}

/* drop_copies: forgets the copies of a function, or only those that are not pinned */
static void
drop_copies(Compiled *function, bool pinned)
{
	int			n = 0;

	for (int i = 0; i < function->ncopies; i++)
	{
		Copy	   *copy = function->copies[i];

		if (copy->is_pinned && !pinned)
		{
			function->copies[n++] = copy;
			continue;
		}
		if (copy->is_pinned)
		{
			compiled_use_count(copy->compiled)--;
			function->npinned--;
			if (!compiled_is_in_table(copy->compiled))
			{
				function->nlost++;
				nall_lost++;
			}
		}
		compiled_xmin(copy->compiled) = InvalidTransactionId;
		copy->function = NULL;
	}
	function->ncopies = n;
}

/*
 * begin_lookup
 *		Has the server find of a function none but what it has made of it while we had it look.
 */
static void
begin_lookup(Compiled *function, FmgrInfo *called, bool is_sql)
{
	HeapTuple	tuple;
	TransactionId row;

	if (looked_up.function != NULL)
		compiled_end(looked_up.function);
	know_to_statistics(called);
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function->oid));
	if (!HeapTupleIsValid(tuple))
		return;
	row = HeapTupleHeaderGetRawXmin(tuple->t_data);
	if (function->row != row || !ItemPointerEquals(&function->tid, &tuple->t_self))
	{
		drop_copies(function, true);
		function->row = row;
		function->tid = tuple->t_self;
		function->stamp = --last_stamp;
	}
	HeapTupleHeaderSetXmin(tuple->t_data, is_sql ? function->stamp : FOUND);
	looked_up.function = function;
	looked_up.called = called;
	looked_up.is_sql = is_sql;
	looked_up.tuple = tuple;
	looked_up.owner = CurrentResourceOwner;
}

/* end_lookup: gives the row of pg_proc in the server's cache its xmin back */
static void
end_lookup(void)
{
	ResourceOwner owner = CurrentResourceOwner;

	HeapTupleHeaderSetXmin(looked_up.tuple->t_data, looked_up.function->row);
	looked_up.function = NULL;
	CurrentResourceOwner = looked_up.owner;
	ReleaseSysCache(looked_up.tuple);
	CurrentResourceOwner = owner;
}

/*
 * know_to_statistics
 *		Has the statistics know a function.  Before the first call of one that they do not know the server takes
 *		messages of changed catalogs, by which the row of pg_proc may be read anew.
 */
static void
know_to_statistics(FmgrInfo *called)
{
	LOCAL_FCINFO(fcinfo, 0);
	PgStat_FunctionCallUsage usage;

	if (pgstat_track_functions <= called->fn_stats)
		return;
	InitFunctionCallInfoData(*fcinfo, called, 0, InvalidOid, NULL, NULL);
	pgstat_init_function_usage(fcinfo, &usage);
}

/*
 * learn
 *		Learns what PL/pgSQL has made of a function, when it is executed.  Raises an error if it is not known when
 *		that was made, which is no matter outside.
 */
static void
learn(PLpgSQL_function *compiled)
{
	Compiled   *function = looked_up.function;
	bool		is_looked_up = function != NULL && function->oid == compiled->fn_oid;
	Copy	   *copy = hash_search(copies, &compiled, HASH_FIND, NULL);
	bool		is_ours = copy != NULL && copy->function != NULL && copy->context == context;
	bool		found;

	if (is_looked_up ? compiled_xmin(compiled) != FOUND : context != 0 && !is_ours)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("function %s was changed while it was called", compiled->fn_signature),
				 errhint("Run the statement again. If that does not help, put indextable into "
						 "shared_preload_libraries.")));
	if (!is_looked_up)
		return;					/* the FmgrInfo is older than this library, or
								 * it is told twice */
	if (function->ncopies == function->max_copies)
		function->copies = grow_array(function->copies, &function->max_copies, 2, sizeof(Copy *),
									  TopMemoryContext);
	copy = hash_search(copies, &compiled, HASH_ENTER, &found);
	if (!found)
		copy->function = NULL;
	if (copy->function == NULL)
		count_orphans(function);
	end_lookup();				/* after all that may raise an error */
	if (copy->function == NULL)
	{
		copy->function = function;
		copy->is_pinned = false;
		function->copies[function->ncopies++] = copy;
	}
	copy->context = context;
}

/* be_told: has PL/pgSQL tell us, also if an extension that was loaded later has taken our place */
static void
be_told(void)
{
	if (*first == &plugin)
		return;
	next = *first;
	plugin.func_beg = next != NULL ? function_begins : NULL;
	plugin.func_end = next != NULL ? function_ends : NULL;
	plugin.stmt_beg = next != NULL ? statement_begins : NULL;
	plugin.stmt_end = next != NULL ? statement_ends : NULL;
	*first = &plugin;
}

/* note_function: notes a function that is to be executed */
static void
note_function(PLpgSQL_execstate *estate, PLpgSQL_function *function)
{
	/* What DO executes is compiled for itself. */
	if (function->fn_oid >= FirstNormalObjectId)
		learn(function);
	if (next != NULL && next->func_setup != NULL)
	{
		share_functions();
		tell_function(next->func_setup, estate, function);
	}
}

static void
function_begins(PLpgSQL_execstate *estate, PLpgSQL_function *function)
{
	tell_function(next->func_beg, estate, function);
}

static void
function_ends(PLpgSQL_execstate *estate, PLpgSQL_function *function)
{
	tell_function(next->func_end, estate, function);
}

static void
statement_begins(PLpgSQL_execstate *estate, PLpgSQL_stmt *stmt)
{
	tell_statement(next->stmt_beg, estate, stmt);
}

static void
statement_ends(PLpgSQL_execstate *estate, PLpgSQL_stmt *stmt)
{
	tell_statement(next->stmt_end, estate, stmt);
}

/* tell_function, tell_statement: tell the next extension, unless it has told us */
static void
tell_function(void (*callback) (PLpgSQL_execstate *, PLpgSQL_function *), PLpgSQL_execstate *estate,
			  PLpgSQL_function *function)
{
	if (callback != NULL && !is_telling)
		WHILE_SET(is_telling, true, callback(estate, function));
}

static void
tell_statement(void (*callback) (PLpgSQL_execstate *, PLpgSQL_stmt *), PLpgSQL_execstate *estate,
			   PLpgSQL_stmt *stmt)
{
	if (callback != NULL && !is_telling)
		WHILE_SET(is_telling, true, callback(estate, stmt));
}

/* share_functions: gives the other extension the functions that PL/pgSQL has given us */
static void
share_functions(void)
{
	PLpgSQL_plugin its = *next;

	*next = plugin;
	next->func_setup = its.func_setup;
	next->func_beg = its.func_beg;
	next->func_end = its.func_end;
	next->stmt_beg = its.stmt_beg;
	next->stmt_end = its.stmt_end;
}
