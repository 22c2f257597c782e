/*-------------------------------------------------------------------------
 *
 * ddl.c
 *	  Runs SQL that creates, alters and drops what belongs to index tables.
 *
 * Called by create.c, drop.c, triggers.c, layout.c and trigger.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"
#include "indextable.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/*
 * run_sql
 *		Runs one command as a role, or as the current user if role is InvalidOid,
 *		with search_path fixed.  Names in it must be qualified and quoted.
 */
void
run_sql(Oid role, const char *fmt,...)
{
	StringInfoData sql;
	Oid			save_user;
	int			save_sec;
	int			nestlevel;
	int			result;

	initStringInfo(&sql);
	for (;;)
	{
		va_list		args;
		int			needed;

		va_start(args, fmt);
		needed = appendStringInfoVA(&sql, fmt, args);
		va_end(args);
		if (needed == 0)
			break;
		enlargeStringInfo(&sql, needed);
	}

	GetUserIdAndSecContext(&save_user, &save_sec);
	if (OidIsValid(role))
		SetUserIdAndSecContext(role, save_sec | SECURITY_LOCAL_USERID_CHANGE);
	nestlevel = NewGUCNestLevel();
	set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
					  GUC_ACTION_SAVE, true, 0, false);

	SPI_connect();
	result = SPI_execute(sql.data, false, 0);
	if (result < 0)
		elog(ERROR, "%s: %s", SPI_result_code_string(result), sql.data);
	SPI_finish();

	AtEOXact_GUC(false, nestlevel);
	SetUserIdAndSecContext(save_user, save_sec);
	pfree(sql.data);
}

/* quoted_relation: schema.name, quoted */
char *
quoted_relation(Oid relid)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
									  get_rel_name(relid));
}

/* lock_if_exists: false, without a lock, if the relation is gone */
bool
lock_if_exists(Oid relid, LOCKMODE mode)
{
	LockRelationOid(relid, mode);
	if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
		return true;
	UnlockRelationOid(relid, mode);
	return false;
}
