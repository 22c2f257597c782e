/*-------------------------------------------------------------------------
 *
 * adopt_distributed.h
 *	  Registers on this node the distributed index tables that were created on another one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ADOPT_DISTRIBUTED_H
#define INDEXTABLE_ADOPT_DISTRIBUTED_H

extern void adopt_distributed(void);

#endif							/* INDEXTABLE_ADOPT_DISTRIBUTED_H */
