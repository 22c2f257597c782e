/*-------------------------------------------------------------------------
 *
 * role_caches.h
 *	  Keeps what the server has compiled, planned and bound for one role from others.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ROLE_CACHES_H
#define INDEXTABLE_ROLE_CACHES_H

extern void role_caches_init(void);
extern void role_caches_switched(uint64 to, bool aborting);
extern bool role_caches_forgets(void);

#endif							/* INDEXTABLE_ROLE_CACHES_H */
