/*-------------------------------------------------------------------------
 *
 * table_relations.h
 *	  Refuses relations that fact tables and index tables cannot have with other tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_TABLE_RELATIONS_H
#define INDEXTABLE_TABLE_RELATIONS_H

struct CreateStmt;
struct Node;

extern void refuse_relations(struct Node *command);
extern void refuse_foreign_keys_of(struct CreateStmt *stmt);

#endif							/* INDEXTABLE_TABLE_RELATIONS_H */
