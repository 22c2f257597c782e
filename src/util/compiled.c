/*-------------------------------------------------------------------------
 *
 * compiled.c
 *	  Learns what PL/pgSQL has made of functions, so that others do not get it.
 *
 * Such a function is compiled once in a session, for all roles.  The types and collations of its variables are
 * looked up then, by the search_path of the first call, and stay, as do the literals and constants in it.  So
 * PL/pgSQL tells us of each function that it executes, and role_caches.c has it compiled anew elsewhere.
 *
 * Where this library is not preloaded, a function may have been compiled before.  One that has variables of types
 * that belong neither to its owner nor to superusers is refused once then.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "plpgsql.h"
#include "utils/guc.h"
#include "utils/syscache.h"

#include "compat.h"
#include "compiled.h"
#include "role_caches.h"

static void note_function(PLpgSQL_execstate *estate, PLpgSQL_function *function);
static void function_begins(PLpgSQL_execstate *estate, PLpgSQL_function *function);
static void function_ends(PLpgSQL_execstate *estate, PLpgSQL_function *function);
static void statement_begins(PLpgSQL_execstate *estate, PLpgSQL_stmt *stmt);
static void statement_ends(PLpgSQL_execstate *estate, PLpgSQL_stmt *stmt);
static void tell_next(void);
static bool has_types_of_others(PLpgSQL_function *function);
static bool is_of_another(PLpgSQL_function *function, int cache, AttrNumber owner_column, Oid object);
static PLpgSQL_type *type_of(PLpgSQL_datum *datum);
static void refuse_unknown(PLpgSQL_function *function);

static PLpgSQL_plugin plugin = {.func_setup = note_function};
static PLpgSQL_plugin *next = NULL; /* of another extension, or NULL */

/* Whether functions may have been compiled before this library was loaded. */
static bool may_be_unknown = false;

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
	may_be_unknown = !process_shared_preload_libraries_in_progress &&
		GetConfigOption("plpgsql.check_asserts", true, false) != NULL;
}

/* note_function: notes a function that is to be executed */
static void
note_function(PLpgSQL_execstate *estate, PLpgSQL_function *function)
{
	/* What DO executes is compiled for itself. */
	if (OidIsValid(function->fn_oid) && role_caches_compiled(function, function->fn_oid) && may_be_unknown &&
		InSecurityRestrictedOperation() && has_types_of_others(function))
		refuse_unknown(function);
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

/*
 * has_types_of_others
 *		Returns whether a variable of a function has a type, or a collation, that belongs neither to the owner of
 *		the function nor to a superuser.
 */
static bool
has_types_of_others(PLpgSQL_function *function)
{
	for (int i = 0; i < function->ndatums; i++)
	{
		PLpgSQL_datum *datum = function->datums[i];
		PLpgSQL_type *type = type_of(datum);

		if (is_of_another(function, TYPEOID, Anum_pg_type_typowner,
						  type != NULL ? type->typoid :
						  datum->dtype == PLPGSQL_DTYPE_REC ? ((PLpgSQL_rec *) datum)->rectypeid : InvalidOid) ||
			(type != NULL && is_of_another(function, COLLOID, Anum_pg_collation_collowner, type->collation)))
			return true;
	}
	return false;
}

/*
 * is_of_another
 *		Returns whether a type or a collation belongs neither to a function's owner nor to a superuser.
 */
static bool
is_of_another(PLpgSQL_function *function, int cache, AttrNumber owner_column, Oid object)
{
	Oid			owner;

	if (object < FirstNormalObjectId)
		return false;
	owner = GetSysCacheOid1(cache, owner_column, ObjectIdGetDatum(object));
	return owner != GetSysCacheOid1(PROCOID, Anum_pg_proc_proowner, ObjectIdGetDatum(function->fn_oid)) &&
		!superuser_arg(owner);
}

/* type_of: returns the type of a variable; NULL for records, and for what is made of variables */
static PLpgSQL_type *
type_of(PLpgSQL_datum *datum)
{
	return datum->dtype == PLPGSQL_DTYPE_VAR || datum->dtype == PLPGSQL_DTYPE_PROMISE ?
		((PLpgSQL_var *) datum)->datatype : NULL;
}

/*
 * refuse_unknown
 *		Raises an error for a function with types of others that may have been compiled before this library was
 *		loaded, in a server that has not preloaded it.  It is compiled anew when it is called again.
 */
static void
refuse_unknown(PLpgSQL_function *function)
{
	compiled_xmin(function) = InvalidTransactionId;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("function %s may have been compiled before indextable was loaded", function->fn_signature),
			 errdetail("It has variables of types that belong to others than its owner."),
			 errhint("Run the statement again. This does not happen if indextable is in shared_preload_libraries.")));
}
