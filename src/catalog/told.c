/*-------------------------------------------------------------------------
 *
 * told.c
 *	  Writes the calls that users are told to run.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "../indextable.h"
#include "../util/sql.h"
#include "catalog.h"

/* told_call: returns the call of a procedure of the extension for an index table */
char *
told_call(const char *procedure, Oid index_table)
{
	return psprintf("CALL " IT_SCHEMA ".%s(%s);", procedure, quote_literal_cstr(quoted_relation(index_table)));
}

/*
 * told_select
 *		Returns the call of a function of the extension for a table, with other arguments,
 *		each after a comma.
 */
char *
told_select(const char *function, Oid relid, const char *arguments)
{
	return psprintf("SELECT " IT_SCHEMA ".%s(%s%s);", function, quote_literal_cstr(quoted_relation(relid)),
					arguments);
}

/*
 * hint_at_damage
 *		Says what to do about the error that is being raised, if it is that an index table is damaged; for
 *		callbacks of error contexts.
 */
void
hint_at_damage(Oid index_table)
{
	if (geterrcode() == ERRCODE_DATA_CORRUPTED || geterrcode() == ERRCODE_INDEX_CORRUPTED)
		errhint("To make all entries anew, run %s", told_call("rebuild", index_table));
}

/*
 * damaged_index_table
 *		Calls hint_at_damage(), as a callback of an error context; arg is a pointer to the
 *		OID.
 */
void
damaged_index_table(void *arg)
{
	hint_at_damage(*(Oid *) arg);
}
