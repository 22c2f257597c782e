/*-------------------------------------------------------------------------
 *
 * compiled.c
 *	  Learns what PL/pgSQL has made of functions, so that others do not get it.
 *
 * Such a function is compiled once in a session, for all roles.  The types and collations of its variables are
 * looked up then, by the search_path of the first call, and stay, as do the literals and constants in it.  So
 * PL/pgSQL tells us of each function that it executes, and role_caches.c has it compiled anew elsewhere.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "plpgsql.h"

#include "compiled.h"
#include "role_caches.h"

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
	compiled_be_told();
}

/* compiled_be_told: has PL/pgSQL tell us, also if another extension that was loaded later has taken our place */
void
compiled_be_told(void)
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
	if (OidIsValid(function->fn_oid))
		role_caches_compiled(function);
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
	if (callback == NULL || is_telling)
		return;
	is_telling = true;
	PG_TRY();
	{
		callback(estate, function);
	}
	PG_FINALLY();
	{
		is_telling = false;
	}
	PG_END_TRY();
}

static void
tell_statement(void (*callback) (PLpgSQL_execstate *, PLpgSQL_stmt *), PLpgSQL_execstate *estate,
			   PLpgSQL_stmt *stmt)
{
	if (callback == NULL || is_telling)
		return;
	is_telling = true;
	PG_TRY();
	{
		callback(estate, stmt);
	}
	PG_FINALLY();
	{
		is_telling = false;
	}
	PG_END_TRY();
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
