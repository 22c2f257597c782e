/*-------------------------------------------------------------------------
 *
 * role.c
 *	  Switches to the owner of a table, as whom code of users may run, and back to the
 *	  caller.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "miscadmin.h"
#include "utils/guc.h"

#include "role.h"

/*
 * become_owner, become_caller
 *		Switch to a fact table's owner, and back to the caller.
 *
 * What runs between the two is a security-restricted operation with a fixed
 * search_path.  Parsing and planning an expression need that, too: parsing looks up
 * names, and planning calls functions whose arguments are constants.
 */
void
become_owner(Caller *caller, Oid owner)
{
	GetUserIdAndSecContext(&caller->user, &caller->sec);
	SetUserIdAndSecContext(owner, caller->sec | SECURITY_RESTRICTED_OPERATION);
	caller->nestlevel = NewGUCNestLevel();
	if (strcmp(namespace_search_path, "pg_catalog, pg_temp") != 0)
		set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
						  GUC_ACTION_SAVE, true, 0, false);
}

void
become_caller(Caller *caller)
{
	AtEOXact_GUC(false, caller->nestlevel);
	SetUserIdAndSecContext(caller->user, caller->sec);
}
