/*-------------------------------------------------------------------------
 *
 * version_1_1.c
 *	  The functions that only the SQL of version 1.1 names.
 *
 * The catalog of a database is of version 1.1 until ALTER EXTENSION indextable UPDATE, and
 * pg_upgrade looks in the library for every function that a database has.  So the library
 * keeps a function for each that is gone, which tells what to do.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "../indextable.h"

pg_noreturn static void no_longer(const char *function);

PG_FUNCTION_INFO_V1(indextable_explain_query);

/* no_longer: raises the error of a function that this version does not have */
static void
no_longer(const char *function)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("%s() is not supported any more", function),
			 errhint("Run ALTER EXTENSION indextable UPDATE;")));
}

/* explain_query(): EXPLAIN tells how SQL is run */
Datum
indextable_explain_query(PG_FUNCTION_ARGS)
{
	no_longer("explain_query");
}
