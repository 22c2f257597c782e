/*-------------------------------------------------------------------------
 *
 * commit_prepared.h
 *	  Wakes workers when a prepared transaction is committed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_COMMIT_PREPARED_H
#define INDEXTABLE_COMMIT_PREPARED_H

extern void prepared_init(void);

#endif							/* INDEXTABLE_COMMIT_PREPARED_H */
