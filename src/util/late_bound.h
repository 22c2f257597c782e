/*-------------------------------------------------------------------------
 *
 * late_bound.h
 *	  Forgets what the server has planned for a session with functions in SQL that were bound by others.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_LATE_BOUND_H
#define INDEXTABLE_LATE_BOUND_H

extern void late_bound_init(void);
extern bool is_late_bound(Oid function);
extern void late_bound_called(void);
extern void late_bound_forget(bool aborting);
extern bool is_path_of_owner(void);
extern void forget_plans(void);

#endif							/* INDEXTABLE_LATE_BOUND_H */
