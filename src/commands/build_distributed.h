/*-------------------------------------------------------------------------
 *
 * build_distributed.h
 *	  Builds distributed index tables, and refuses what is not supported for them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_BUILD_DISTRIBUTED_H
#define INDEXTABLE_BUILD_DISTRIBUTED_H

extern void refuse_distributed(Oid index_table, const char *function);
extern void build_distributed(Oid index_table, Oid fact_table);

#endif							/* INDEXTABLE_BUILD_DISTRIBUTED_H */
