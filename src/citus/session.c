/*-------------------------------------------------------------------------
 *
 * session.c
 *	  Tells whether this session is one of Citus' own, and whether its transaction has written tables of
 *	  Citus.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/guc.h"

#include "../util/compat.h"
#include "citus.h"

static LocalTransactionId written_in = InvalidLocalTransactionId;

/*
 * is_for_citus
 *		Returns whether Citus has opened this session from another node, if the name that it has
 *		given itself is to be believed: anybody can set it.
 */
bool
is_for_citus(void)
{
	const char *name = application_name;

	return name != NULL &&
		(strncmp(name, "citus_internal ", 15) == 0 || strncmp(name, "citus_rebalancer ", 17) == 0);
}

/* note_write: notes that this transaction has written a table of Citus, or may have */
void
note_write(void)
{
	written_in = current_lxid();
}

/* has_written: returns whether it may have, also if a savepoint has undone it */
bool
has_written(void)
{
	return written_in == current_lxid();
}
