/*-------------------------------------------------------------------------
 *
 * query.h
 *	  Pages of an index table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_QUERY_H
#define INDEXTABLE_QUERY_H

extern void query_init(void);

#endif							/* INDEXTABLE_QUERY_H */
