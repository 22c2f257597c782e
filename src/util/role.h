/*-------------------------------------------------------------------------
 *
 * role.h
 *	  Becomes the owner of a table for a while, as whom users' code may run, and the
 *	  caller again.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ROLE_H
#define INDEXTABLE_ROLE_H

typedef struct Caller
{
	Oid			user;
	int			sec;
	int			nestlevel;
} Caller;

extern void become_owner(Caller *caller, Oid owner);
extern void become_caller(Caller *caller);

#endif							/* INDEXTABLE_ROLE_H */
