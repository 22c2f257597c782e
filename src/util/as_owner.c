/*-------------------------------------------------------------------------
 *
 * as_owner.c
 *	  Switches to the owner of a table, and back to the caller.
 *
 * What a user has written runs as the owner of the table that it belongs to: "Whose code
 * runs as whom" in src/README.md.  No other file switches users, and none calls
 * enter_owner() and enter_caller() but through the macros of as_owner.h.
 *
 * User, security context and settings are restored on every way out.  After an error the
 * abort of the transaction or subtransaction restores them, which the server does for its own
 * switches as well.  Where an error is caught without a subtransaction, leave_roles() does so
 * (expression/cast.c): test/run/layers looks for others.  A restriction that the server, or an
 * outer switch, has set stays: flags are only added.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "as_owner.h"
#include "fixed_settings.h"
#include "memory.h"
#include "role_caches.h"

/* Of the server's tablespace.c, which no header declares. */
extern PGDLLIMPORT char *default_tablespace;

/* Contexts of what the server keeps, but for owners: those under the settings of the session, and callers. */
#define UNFIXED		(UINT64CONST(1) << 32)
#define CALLERS		(UINT64CONST(1) << 33)

/* A switch that is under way. */
typedef struct Switch
{
	Oid			user;			/* the user that has come there */
	int			sec;			/* the security context before */
	int			nestlevel;		/* of settings, to be ended; 0: none */
	int			level;			/* of nested transactions */
	Oid			role;			/* the user that runs the statements */
	int			role_sec;		/* the security context meanwhile */
	uint64		context;		/* of what the server keeps: see role_caches.c */
} Switch;

/*
 * The innermost is the last.  They are not on the stack, which an error gives up before a
 * transaction is aborted.
 */
static Switch *switches = NULL;
static int	nswitches = 0;
static int	max_switches = 0;

static Switch *enter(Oid role, int sec, uint64 context);
static uint64 context_now(void);

/*
 * enter_owner
 *		Begins a security-restricted operation of a user, under a fixed search_path, and where the
 *		caller's default_tablespace does not apply; with fixes_settings, also under the settings of
 *		fixed_settings.c.  Does nothing if owner is InvalidOid.  Returns the number of switches
 *		around it.
 *
 * Parsing and planning an expression need that, too: parsing looks up names, and planning calls
 * functions whose arguments are constants.
 */
int
enter_owner(Oid owner, bool fixes_settings)
{
	int			outer = nswitches;
	Oid			user;
	int			sec;

	if (!OidIsValid(owner))
		return outer;
	GetUserIdAndSecContext(&user, &sec);
	enter(owner, sec | SECURITY_RESTRICTED_OPERATION,
		  fixes_settings ? owner : UNFIXED | owner)->nestlevel = NewGUCNestLevel();
	if (strcmp(namespace_search_path, "pg_catalog, pg_temp") != 0)
		set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
						  GUC_ACTION_SAVE, true, 0, false);
	if (default_tablespace != NULL && default_tablespace[0] != '\0')
		set_config_option("default_tablespace", "", PGC_USERSET, PGC_S_SESSION,
						  GUC_ACTION_SAVE, true, 0, false);
	if (fixes_settings)
		fix_gucs();
	return outer;
}

/*
 * enter_caller
 *		Goes on as the user that has come to the innermost switch, if there is one; settings
 *		stay fixed.
 */
int
enter_caller(void)
{
	int			outer = nswitches;

	if (outer > 0)
		enter(switches[outer - 1].user, switches[outer - 1].sec, CALLERS);
	return outer;
}

static Switch *
enter(Oid role, int sec, uint64 context)
{
	Switch	   *new;

	if (nswitches == max_switches)
		switches = grow_array(switches, &max_switches, 8, sizeof(Switch), TopMemoryContext);
	new = &switches[nswitches];
	GetUserIdAndSecContext(&new->user, &new->sec);
	new->nestlevel = 0;
	new->level = GetCurrentTransactionNestLevel();
	new->role = role;
	new->role_sec = sec;
	new->context = context;
	nswitches++;
	SetUserIdAndSecContext(role, sec);
	role_caches_switched(context, false);
	return new;
}

/* context_now: returns the context of the innermost switch */
static uint64
context_now(void)
{
	return nswitches > 0 ? switches[nswitches - 1].context : 0;
}

/*
 * is_owner_in_charge
 *		Returns whether an owner runs what is run now, in a security-restricted operation.
 */
bool
is_owner_in_charge(Oid owner)
{
	return GetUserId() == owner && InSecurityRestrictedOperation();
}

/*
 * user_outside
 *		Returns the user who has come to the innermost switch, or the current user if there is
 *		none.
 */
Oid
user_outside(void)
{
	return nswitches > 0 ? switches[nswitches - 1].user : GetUserId();
}

/* is_other_user: returns whether the current user is not the one before all switches */
bool
is_other_user(void)
{
	return nswitches > 0 && switches[0].user != GetUserId();
}

/* roles_entered: returns the number of switches under way, for leave_roles() */
int
roles_entered(void)
{
	return nswitches;
}

/*
 * leave_roles
 *		Restores what there was when this many switches were under way.
 *
 * Nothing has left another user behind, unless an error has been caught.
 */
void
leave_roles(int outer, bool after_error)
{
	Switch	   *left = &switches[outer];
	int			nestlevel = 0;

	if (nswitches == outer)
		return;
#ifdef USE_ASSERT_CHECKING
	if (!after_error)
	{
		Oid			user;
		int			sec;

		GetUserIdAndSecContext(&user, &sec);
		Assert(nswitches == outer + 1 && user == left->role && sec == left->role_sec);
	}
#endif
	Assert(left->level == GetCurrentTransactionNestLevel());
	while (nswitches > outer)
		if (switches[--nswitches].nestlevel > 0)
			nestlevel = switches[nswitches].nestlevel;
	if (nestlevel > 0)
		AtEOXact_GUC(false, nestlevel);
	SetUserIdAndSecContext(left->user, left->sec);
	role_caches_switched(context_now(), after_error);
}

/*
 * forget_roles
 *		Forgets the switches of a transaction, by its level, that is aborted, and of those
 *		within it.
 */
void
forget_roles(int level)
{
	while (nswitches > 0 && switches[nswitches - 1].level >= level)
		nswitches--;
	role_caches_switched(context_now(), true);
}

/*
 * check_roles
 *		Has a server with assertions see that a transaction, by its level, ends without a
 *		switch under way.
 */
void
check_roles(int level)
{
	Assert(nswitches == 0 || switches[nswitches - 1].level < level);
}
