/*-------------------------------------------------------------------------
 *
 * temporary_last.c
 *	  Keeps temporary objects of a session from functions of owners that have a search_path of their own.
 *
 * The server looks into the schema of temporary objects first, unless search_path names it.  A function with
 * SET search_path = app would find a temporary view of its caller in place of a table in app.  That is the
 * caller's business as long as the caller calls it.  Where a field or a filter does, it runs as the owner of
 * the table, and so would the functions in that view; nor would a worker find the view.  So pg_temp is the
 * last of the path then, as in AS_OWNER().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "fmgr.h"
#include "nodes/pg_list.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/varlena.h"

#include "as_owner.h"
#include "compat.h"
#include "temporary_last.h"

static void function_called(FmgrHookEventType event, FmgrInfo *function, Datum *private);
static void put_last(void);
static bool names_temporary(void);

static fmgr_hook_type next_hook = NULL;

void
temporary_last_init(void)
{
	next_hook = fmgr_hook;
	fmgr_hook = function_called;
}

/*
 * function_called
 *		Looks at the search_path of a function with settings of its own, when these have been set; a fmgr_hook.
 */
static void
function_called(FmgrHookEventType event, FmgrInfo *function, Datum *private)
{
	if (event == FHET_START && roles_entered() > 0)
		put_last();
	if (next_hook != NULL)
		next_hook(event, function, private);
}

/* put_last: adds pg_temp to a search_path that does not name it, until the function has ended */
static void
put_last(void)
{
	List	   *path;

	if (names_temporary())
		return;
	path = fetch_search_path(true);
	if (path != NIL && isTempNamespace(linitial_oid(path)))
		set_config_option("search_path",
						  namespace_search_path[0] == '\0' ? "pg_temp" : psprintf("%s, pg_temp", namespace_search_path),
						  PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	list_free(path);
}

/* names_temporary: returns whether search_path names the schema of temporary objects */
static bool
names_temporary(void)
{
	List	   *names;
	char	   *path = pstrdup(namespace_search_path);
	bool		result = false;

	(void) SplitIdentifierString(path, ',', &names);
	foreach_ptr(char, name, names)
		result |= strcmp(name, "pg_temp") == 0;
	list_free(names);
	pfree(path);
	return result;
}
