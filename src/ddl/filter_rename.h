/*-------------------------------------------------------------------------
 *
 * filter_rename.h
 *	  Rewrites the filters of index tables when something that they use is renamed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FILTER_RENAME_H
#define INDEXTABLE_FILTER_RENAME_H

struct Node;

extern bool may_affect_filters(struct Node *command);
extern void parse_filters_before_rename(struct Node *command);
extern void rewrite_filters_after_rename(struct Node *command);

#endif							/* INDEXTABLE_FILTER_RENAME_H */
