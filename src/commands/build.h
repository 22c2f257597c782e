/*-------------------------------------------------------------------------
 *
 * build.h
 *	  indextable.build() and rebuild(): fill an index table while its fact table is
 *	  written.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_BUILD_H
#define INDEXTABLE_BUILD_H

extern void require_no_rejections(Oid index_table, Oid shown);

#endif							/* INDEXTABLE_BUILD_H */
