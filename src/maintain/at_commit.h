/*-------------------------------------------------------------------------
 *
 * at_commit.h
 *	  Offers the registration of what is done when a transaction ends.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_AT_COMMIT_H
#define INDEXTABLE_AT_COMMIT_H

extern void at_commit_init(void);

#endif							/* INDEXTABLE_AT_COMMIT_H */
