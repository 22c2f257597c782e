/*-------------------------------------------------------------------------
 *
 * local.h
 *	  Registers the place of all fact tables that are nowhere else.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_LOCAL_H
#define INDEXTABLE_LOCAL_H

extern void local_init(void);

#endif							/* INDEXTABLE_LOCAL_H */
