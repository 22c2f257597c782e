/*-------------------------------------------------------------------------
 *
 * role.h
 *	  Switches to the owner of a table, as whom code of users may run, and back to the
 *	  caller.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ROLE_H
#define INDEXTABLE_ROLE_H

/* What become_caller() restores. */
typedef struct Caller
{
	Oid			user;
	int			sec;			/* the security context */
	int			nestlevel;		/* of settings, to be ended */
} Caller;

extern void become_owner(Caller *caller, Oid owner);
extern void become_caller(Caller *caller);

#endif							/* INDEXTABLE_ROLE_H */
