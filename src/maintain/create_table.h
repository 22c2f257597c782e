/*-------------------------------------------------------------------------
 *
 * create_table.h
 *	  Creates the bare table of an index table, with its partitions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_CREATE_TABLE_H
#define INDEXTABLE_CREATE_TABLE_H

#include "nodes/pg_list.h"

#include "../definition/partition_spec.h"

extern Oid	create_bare_index_table(Oid creator, Oid schema, const char *name, const char *columns,
									Partitioning *partitioning, const char *tablespace, Oid owner);
extern void make_partitions(Oid creator, Oid parent, Partitioning *p, const char *columns, List *dropped,
							Oid owner);
extern void drop_placeholders(Oid relid, List *names);

#endif							/* INDEXTABLE_CREATE_TABLE_H */
