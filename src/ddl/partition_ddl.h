/*-------------------------------------------------------------------------
 *
 * partition_ddl.h
 *	  Keeps index tables in step when partitions are created, attached or detached.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PARTITION_DDL_H
#define INDEXTABLE_PARTITION_DDL_H

struct AlterTableStmt;
struct AlterTableCmd;
struct CreateStmt;

extern void note_attach_detach(struct AlterTableStmt *stmt, struct AlterTableCmd *cmd);
extern void handle_attach_detach(struct AlterTableStmt *stmt);
extern void prepare_detach(struct AlterTableStmt *stmt, struct AlterTableCmd *cmd);
extern void handle_new_partition(struct CreateStmt *stmt, char *schema);

#endif							/* INDEXTABLE_PARTITION_DDL_H */
