/*-------------------------------------------------------------------------
 *
 * before_alter.h
 *	  Refuses commands that would make index tables wrong.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_BEFORE_ALTER_H
#define INDEXTABLE_BEFORE_ALTER_H

struct Node;

extern void refuse_again(struct Node *command);

#endif							/* INDEXTABLE_BEFORE_ALTER_H */
