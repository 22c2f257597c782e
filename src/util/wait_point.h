/*-------------------------------------------------------------------------
 *
 * wait_point.h
 *	  Stops a process at a chosen point, for tests of interleavings.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_WAIT_POINT_H
#define INDEXTABLE_WAIT_POINT_H

/* Without INDEXTABLE_WAIT_POINTS nothing is left of it. */
#ifdef INDEXTABLE_WAIT_POINTS
extern void wait_point(const char *name);
extern bool guard_is_left_out(const char *name);
#else
#define wait_point(name)	((void) 0)
#define guard_is_left_out(name)	false
#endif

#endif							/* INDEXTABLE_WAIT_POINT_H */
