/*-------------------------------------------------------------------------
 *
 * build.h
 *	  Checks, when an index table is to become transactional, that no row is
 *	  rejected.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_BUILD_H
#define INDEXTABLE_BUILD_H

extern void require_no_rejections(Oid index_table, Oid shown);

#endif							/* INDEXTABLE_BUILD_H */
