/*-------------------------------------------------------------------------
 *
 * commit_prepared.h
 *	  COMMIT PREPARED.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_COMMIT_PREPARED_H
#define INDEXTABLE_COMMIT_PREPARED_H

extern void prepared_init(void);

#endif							/* INDEXTABLE_COMMIT_PREPARED_H */
