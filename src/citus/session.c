/*-------------------------------------------------------------------------
 *
 * session.c
 *	  Tells whether this session is one of Citus' own, and what its transaction has done with Citus.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/guc.h"

#include "../util/as_owner.h"
#include "../util/compat.h"
#include "citus.h"

static LocalTransactionId written_in = InvalidLocalTransactionId;
static LocalTransactionId sent_in = InvalidLocalTransactionId;

static bool sends_settings(void);

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

/*
 * Citus can send what SET LOCAL sets to the other nodes, over each connection of the transaction, also one that
 * is opened later, as whatever role.  With a search_path of the session's user, each query that is sent
 * there calls functions of his, as the owner of the extension or of a fact table.  So no node is asked as
 * another role then, and code that runs as another role does not send settings.
 */

/* sends_settings: returns whether Citus sends what SET LOCAL sets now */
static bool
sends_settings(void)
{
	const char *value = GetConfigOption("citus.propagate_set_commands", true, false);

	return value != NULL && strcmp(value, "none") != 0;
}

/* note_setting: notes, after SET, that this transaction may have sent a setting */
void
note_setting(void)
{
	if (sends_settings())
		sent_in = current_lxid();
}

/* has_sent_settings: returns whether it may have, also if a savepoint has undone it */
bool
has_sent_settings(void)
{
	return sent_in == current_lxid();
}

/* refuse_after_settings: raises an error if nodes would be asked as another role after that */
void
refuse_after_settings(void)
{
	if (has_sent_settings())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot ask nodes of Citus for index tables in a transaction whose settings were sent to them"),
				 errdetail("Citus sends what SET LOCAL sets if citus.propagate_set_commands is on. It would count for statements of another role there."),
				 errhint("Run the command in a transaction of its own.")));
}

/*
 * refuse_sent_setting
 *		Raises an error if code that runs as another role sends a setting.  Citus itself sets its own to truncate
 *		tables.
 */
void
refuse_sent_setting(const char *name)
{
	if (is_other_user() && sends_settings() && (name == NULL || strncmp(name, "citus.", 6) != 0))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("cannot run SET in code that indextable runs as the owner of a table"),
				 errdetail("Citus would send the setting to other nodes, where it would count for statements of another role.")));
}
