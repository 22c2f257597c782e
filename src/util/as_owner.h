/*-------------------------------------------------------------------------
 *
 * as_owner.h
 *	  Runs statements as the owner of a table, and gives everything back on every way out.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_AS_OWNER_H
#define INDEXTABLE_AS_OWNER_H

/*
 * AS_OWNER, END_AS_OWNER: run the statements between the two, which must not leave them by return, goto, break
 * or continue, as the owner of a table, in a security-restricted operation, under a fixed search_path and the
 * settings of fixed_settings.c; with InvalidOid, as the current user, under the settings that there are.
 */
#define AS_OWNER(owner)				AS_OWNER_WITH(owner, true)
#define END_AS_OWNER()				END_AS_ROLE_()

/*
 * AS_OWNER_WITH
 *		Does as AS_OWNER(); if fixes_settings is false, the session's settings stay, but for
 *		search_path.
 */
#define AS_OWNER_WITH(owner, fixes_settings)	AS_ROLE_(enter_owner(owner, fixes_settings))

/*
 * AS_CALLER, END_AS_CALLER
 *		Run statements within AS_OWNER() as the user that has come there, under its settings.
 */
#define AS_CALLER()					AS_ROLE_(enter_caller())
#define END_AS_CALLER()				END_AS_ROLE_()

#define AS_ROLE_(enter) \
	do { \
		int			roles_ = (enter); \
		\
		{
#define END_AS_ROLE_() \
		} \
		leave_roles(roles_, false); \
	} while (0)

extern int	enter_owner(Oid owner, bool fixes_settings);
extern int	enter_caller(void);
extern bool is_owner_in_charge(Oid owner);
extern bool is_other_user(void);
extern int	roles_entered(void);
extern Oid	user_outside(void);
extern void leave_roles(int outer, bool after_error);
extern void forget_roles(int level);
extern void check_roles(int level);

#endif							/* INDEXTABLE_AS_OWNER_H */
