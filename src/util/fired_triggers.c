/*-------------------------------------------------------------------------
 *
 * fired_triggers.c
 *	  Has the event triggers of users that our commands fire run as those of the caller.
 *
 * An event trigger runs as whoever runs the command, under the search_path of the session: one that
 * writes a log finds its table by that.  Our own commands run as the owner of the extension, or of a
 * table, and under a fixed search_path.  Under that path the function would not find its table; and
 * with the caller's path it must not run as anybody but the caller, who decides what the path finds.
 * So while such a function is called, both are the caller's.
 *
 * This holds for event triggers that our command itself fires.  Commands within it are those of users'
 * code, and fire theirs as natively.  A function that is SECURITY DEFINER, or sets search_path, keeps
 * to that.  The server tells of the call of a function by fmgr_hook.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/syscache.h"

#include "as_owner.h"
#include "compat.h"
#include "fired_triggers.h"

/* The call of a function as the caller. */
typedef struct Call
{
	int			roles;			/* number of switches of roles before it; -1:
								 * it makes none */
	int			nestlevel;		/* of settings, to be ended; 0: none */
} Call;

/* How a function is called. */
typedef struct Manner
{
	bool		is_definer;
	bool		has_settings;
	bool		sets_path;
} Manner;

/* Number of commands that run within each other, counted while there is one of ours. */
int			command_depth = 0;

/* For whom commands in a block of AS_OWNER() are run; NULL: for the current user. */
const Caller *commands_for = NULL;

static OwnCommand *running = NULL;	/* the innermost */
static const char *own_schema;
static needs_fmgr_hook_type next_needs_hook = NULL;
static fmgr_hook_type next_hook = NULL;

static bool needs_hook(Oid function);
static void hook(FmgrHookEventType event, FmgrInfo *flinfo, Datum *private);
static Call *begin_call(Oid function);
static bool is_fired_by_us(void);
static bool is_event_trigger(Oid function, Manner *manner);
static bool sets_path(ArrayType *settings);

/* fired_triggers_init: installs the hooks, once, when the library is loaded; event triggers of a schema are our own */
void
fired_triggers_init(const char *schema)
{
	own_schema = schema;
	next_needs_hook = needs_fmgr_hook;
	needs_fmgr_hook = needs_hook;
	next_hook = fmgr_hook;
	fmgr_hook = hook;
}

/* own_command_runs: returns whether a command of ours is being run */
bool
own_command_runs(void)
{
	return running != NULL;
}

/* note_caller: notes who is the current user, and under which search_path */
void
note_caller(Caller *caller)
{
	GetUserIdAndSecContext(&caller->user, &caller->sec);
	caller->path = pstrdup(namespace_search_path);
	caller->switches = roles_entered();
}

/*
 * own_command_begin
 *		Notes that a command of ours is about to run as the current user.  For whom was noted when
 *		run_command() was called.  A query, which is no utility command, fires no event triggers itself.
 *
 * Unless that was a user: within FOR_CALLER(), and where an event trigger of ours, fired by another
 * command of ours, runs this one.  Then it is run for the same caller.  Code of users that the server
 * runs within that other command is run by a role that is no superuser, or counts as a command.
 */
void
own_command_begin(OwnCommand *command, bool is_utility)
{
	const Caller *by = &command->caller;

	if (commands_for != NULL && by->switches == commands_for->switches + 1)
		command->caller = *commands_for;
	else if (running != NULL && superuser_arg(running->role) && command_depth == running->depth + 1 &&
			 by->switches == running->switches && by->user == running->role && by->sec == running->sec)
		command->caller = running->caller;
	command->switches = roles_entered();
	command->depth = command_depth;
	command->is_utility = is_utility;
	GetUserIdAndSecContext(&command->role, &command->sec);
	command->commands_for = commands_for;
	commands_for = NULL;
	command->outer = running;
	running = command;
}

/* own_command_end: notes that it has ended, with an error or without */
void
own_command_end(OwnCommand *command)
{
	running = command->outer;
	command_depth = command->depth;
	commands_for = command->commands_for;
}

/* needs_hook: has hook() be called for the event triggers that a command of ours fires */
static bool
needs_hook(Oid function)
{
	Manner		unused;
	Oid			user;
	int			sec;

	if (next_needs_hook && next_needs_hook(function))
		return true;
	if (!is_fired_by_us())
		return false;
	GetUserIdAndSecContext(&user, &sec);
	return user == running->role && sec == running->sec && is_event_trigger(function, &unused);
}

static void
hook(FmgrHookEventType event, FmgrInfo *flinfo, Datum *private)
{
	/* Others have an argument of their own, if there are others. */
	struct Arguments
	{
		Call	   *call;
		Datum		next;
	}		  *arguments = (struct Arguments *) DatumGetPointer(*private);

	if (arguments == NULL)
	{
		arguments = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(*arguments));
		*private = PointerGetDatum(arguments);
	}
	if (event == FHET_START)
		arguments->call = begin_call(flinfo->fn_oid);
	else if (event == FHET_END && arguments->call != NULL)
	{
		if (arguments->call->nestlevel > 0)
			AtEOXact_GUC(false, arguments->call->nestlevel);
		if (arguments->call->roles >= 0)
			leave_roles(arguments->call->roles, true);
	}
	if (next_hook)
		next_hook(event, flinfo, &arguments->next);
}

/*
 * begin_call
 *		Becomes the caller for the call of a function, and returns what it has changed; NULL if it is
 *		none that a command of ours fires.  After an error, all of that is restored by the abort of the transaction.
 */
static Call *
begin_call(Oid function)
{
	Manner		manner;
	Call	   *call;
	Oid			user;
	int			sec;

	GetUserIdAndSecContext(&user, &sec);
	if (!is_fired_by_us() || !is_event_trigger(function, &manner) ||
		(!manner.is_definer && (user != running->role || sec != running->sec)))
		return NULL;
	call = palloc(sizeof(Call));
	call->roles = manner.is_definer ? -1 : enter_user(running->caller.user, running->caller.sec);
	/* The server ends the level that it has begun for the function's own settings. */
	call->nestlevel = manner.has_settings ? 0 : NewGUCNestLevel();
	if (!manner.sets_path)
		set_config_option("search_path", running->caller.path, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	return call;
}

/* is_fired_by_us: returns whether what is called now, if it is an event trigger, is fired by a command of ours, and none within it */
static bool
is_fired_by_us(void)
{
	return running != NULL && running->is_utility && command_depth == running->depth + 1 && roles_entered() == running->switches;
}

/* is_event_trigger: returns whether a function is that of an event trigger, which is not ours, and how it is called */
static bool
is_event_trigger(Oid function, Manner *manner)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc proc;
	bool		result;
	bool		none;

	if (!HeapTupleIsValid(tuple))
		return false;
	proc = (Form_pg_proc) GETSTRUCT(tuple);
	result = proc->prorettype == EVENT_TRIGGEROID && proc->pronamespace != get_namespace_oid(own_schema, true);
	if (result)
	{
		Datum		settings = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_proconfig, &none);

		manner->is_definer = proc->prosecdef;
		manner->has_settings = !none;
		manner->sets_path = !none && sets_path(DatumGetArrayTypeP(settings));
	}
	ReleaseSysCache(tuple);
	return result;
}

/* sets_path: returns whether search_path is among the settings of a function */
static bool
sets_path(ArrayType *settings)
{
	Datum	   *texts;
	int			n;
	bool		result = false;

	deconstruct_array(settings, TEXTOID, -1, false, TYPALIGN_INT, &texts, NULL, &n);
	for (int i = 0; i < n; i++)
		result |= pg_strncasecmp(TextDatumGetCString(texts[i]), "search_path=", 12) == 0;
	return result;
}
