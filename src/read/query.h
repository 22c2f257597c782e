/*-------------------------------------------------------------------------
 *
 * query.h
 *	  Offers the registration of what indextable.query() needs of the planner.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_QUERY_H
#define INDEXTABLE_QUERY_H

extern void query_init(void);

#endif							/* INDEXTABLE_QUERY_H */
