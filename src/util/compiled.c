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
static void tell_next(void);

static PLpgSQL_plugin plugin = {.func_setup = note_function};
static PLpgSQL_plugin *next = NULL; /* of another extension, or NULL */

/* compiled_init: has PL/pgSQL tell of each function that it executes */
void
compiled_init(void)
{
	PLpgSQL_plugin **first = (PLpgSQL_plugin **) find_rendezvous_variable("PLpgSQL_plugin");

	next = *first;
	if (next != NULL)
	{
		plugin.func_beg = function_begins;
		plugin.func_end = function_ends;
		plugin.stmt_beg = statement_begins;
		plugin.stmt_end = statement_ends;
	}
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
		tell_next();
		next->func_setup(estate, function);
	}
}

static void
function_begins(PLpgSQL_execstate *estate, PLpgSQL_function *function)
{
	if (next->func_beg != NULL)
		next->func_beg(estate, function);
}

static void
function_ends(PLpgSQL_execstate *estate, PLpgSQL_function *function)
{
	if (next->func_end != NULL)
		next->func_end(estate, function);
}

static void
statement_begins(PLpgSQL_execstate *estate, PLpgSQL_stmt *stmt)
{
	if (next->stmt_beg != NULL)
		next->stmt_beg(estate, stmt);
}

static void
statement_ends(PLpgSQL_execstate *estate, PLpgSQL_stmt *stmt)
{
	if (next->stmt_end != NULL)
		next->stmt_end(estate, stmt);
}

/* tell_next: gives the other extension the functions that PL/pgSQL has given us */
static void
tell_next(void)
{
	PLpgSQL_plugin its = *next;

	*next = plugin;
	next->func_setup = its.func_setup;
	next->func_beg = its.func_beg;
	next->func_end = its.func_end;
	next->stmt_beg = its.stmt_beg;
	next->stmt_end = its.stmt_end;
}
