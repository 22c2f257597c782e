/*-------------------------------------------------------------------------
 *
 * version_1_0.c
 *	  The functions that only the SQL of version 1.0 calls: bar() and last_scan(),
 *	  which its views distribution and usage use, and reset_usage().
 *
 * The catalog of a database is of version 1.0 until ALTER EXTENSION indextable
 * UPDATE, and a dump of it is restored as one of version 1.0.  Until then all of its
 * functions and views have to work with this library.  pg_upgrade, too, looks in the
 * library for every function that a database has.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "pgstat.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "../advise/readable.h"
#include "../catalog/usage.h"
#include "../indextable.h"

/* How many characters a bar may have. */
#define MAX_WIDTH	1000

PG_FUNCTION_INFO_V1(indextable_bar);
PG_FUNCTION_INFO_V1(indextable_last_scan);
PG_FUNCTION_INFO_V1(indextable_reset_usage);

/*
 * indextable_bar
 *		Draws a share of 1 as a bar.
 *
 * bar(share float8, width integer)
 */
Datum
indextable_bar(PG_FUNCTION_ARGS)
{
	int			width = PG_GETARG_INT32(1);

	if (width < 1 || width > MAX_WIDTH)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("width must be between 1 and %d", MAX_WIDTH)));
	PG_RETURN_TEXT_P(cstring_to_text(draw_bar(PG_GETARG_FLOAT8(0), width)));
}

/*
 * indextable_last_scan
 *		Returns when a table or an index was scanned last; NULL: that is not
 *		known.
 *
 * last_scan(relation oid)
 */
Datum
indextable_last_scan(PG_FUNCTION_ARGS)
{
	PgStat_StatTabEntry *entry = pgstat_fetch_stat_tabentry(PG_GETARG_OID(0));

	if (entry != NULL && last_scan_of(entry) != 0)
		PG_RETURN_TIMESTAMPTZ(last_scan_of(entry));
	PG_RETURN_NULL();
}

/*
 * reset_usage(index_table regclass): what is reset_stats() now.  That has a name here
 * which the library of 1.0 lacks, so that the upgrade script can tell them apart.
 */
Datum
indextable_reset_usage(PG_FUNCTION_ARGS)
{
	usage_reset(PG_GETARG_OID(0));
	PG_RETURN_VOID();
}
