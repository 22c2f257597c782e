/*-------------------------------------------------------------------------
 *
 * on_drop.h
 *	  Deletes the entries of partitions that are about to be dropped.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ON_DROP_H
#define INDEXTABLE_ON_DROP_H

#include "nodes/nodes.h"
#include "nodes/pg_list.h"

struct DropStmt;
struct Node;

extern bool names_tables(struct Node *command);
extern void prepare_drop(struct DropStmt *stmt);

#endif							/* INDEXTABLE_ON_DROP_H */
