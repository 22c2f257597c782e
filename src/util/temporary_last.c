/*-------------------------------------------------------------------------
 *
 * temporary_last.c
 *	  Keeps temporary objects of a session from functions of owners that set a search_path of their own.
 *
 * The server looks into the schema of temporary objects first, unless search_path names it.  A function with
 * SET search_path = app would find a temporary view of its caller in place of a table in app.  That is the
 * caller's business as long as the caller calls it.  Where a field or a filter does, it runs as the owner of
 * the table, and so would the functions in that view; nor would a worker find the view.  So pg_temp is the
 * last of the path then, as in AS_OWNER(), in whatever way it is set.  A function that runs RESET asks for the
 * path of the caller.  A parallel worker has not entered a role, but works for one who is restricted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "utils/guc_tables.h"
#include "utils/varlena.h"

#include "as_owner.h"
#include "compat.h"
#include "temporary_last.h"

/* What is added to a search_path. */
#define TEMPORARY	"pg_temp"

static bool check_path(char **path, void **extra, GucSource source);
static bool names_temporary(const char *path);

static GucStringCheckHook next_check = NULL;

void
temporary_last_init(void)
{
	GucStringCheckHook *check = check_hook_of(find_option_compat("search_path"));

	next_check = *check;
	*check = check_path;
}

/*
 * check_path
 *		Adds pg_temp to a search_path that does not name it, if it is set while an owner is in charge; the
 *		check_hook of the setting.
 */
static bool
check_path(char **path, void **extra, GucSource source)
{
	if ((roles_entered() > 0 || IsParallelWorker()) && InSecurityRestrictedOperation() && !names_temporary(*path))
	{
		size_t		size = strlen(*path) + strlen(", " TEMPORARY) + 1;
		char	   *longer = guc_malloc_compat(size);

		if (longer == NULL)
			return false;
		snprintf(longer, size, "%s%s" TEMPORARY, *path, strspn(*path, " ") == strlen(*path) ? "" : ", ");
		guc_free_compat(*path);
		*path = longer;
	}
	return next_check == NULL || next_check(path, extra, source);
}

/* names_temporary: returns whether a search_path has the schema of temporary objects, or is bad */
static bool
names_temporary(const char *path)
{
	List	   *names;
	char	   *copy = pstrdup(path);
	bool		result = !SplitIdentifierString(copy, ',', &names);

	foreach_ptr(char, name, names)
		result |= strcmp(name, TEMPORARY) == 0;
	list_free(names);
	pfree(copy);
	return result;
}
