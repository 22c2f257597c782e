/*-------------------------------------------------------------------------
 *
 * role.c
 *	  Becomes the owner of a table for a while, as whom users' code may run, and the
 *	  caller again.
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
 *		What is between them runs as a fact table's owner in a security-restricted
 *		operation with search_path fixed: parsing looks up names, planning calls
 *		functions of constants.
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
