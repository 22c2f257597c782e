/*-------------------------------------------------------------------------
 *
 * launcher.h
 *	  Registers the launcher, which starts workers in the databases that need them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_LAUNCHER_H
#define INDEXTABLE_LAUNCHER_H

extern void launcher_init(void);

#endif							/* INDEXTABLE_LAUNCHER_H */
