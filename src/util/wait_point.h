/*-------------------------------------------------------------------------
 *
 * wait_point.h
 *	  Stops a process at a chosen point, for tests.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_WAIT_POINT_H
#define INDEXTABLE_WAIT_POINT_H

#ifdef INDEXTABLE_WAIT_POINTS
extern void wait_point(const char *name);
#else
#define wait_point(name)	((void) 0)
#endif


#endif							/* INDEXTABLE_WAIT_POINT_H */
