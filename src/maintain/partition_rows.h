/*-------------------------------------------------------------------------
 *
 * partition_rows.h
 *	  Writes or deletes the entries of a partition that is attached, detached, dropped
 *	  or truncated.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PARTITION_ROWS_H
#define INDEXTABLE_PARTITION_ROWS_H

extern void update_entries_of_partition(Oid root, Oid partition, bool attached);

#endif							/* INDEXTABLE_PARTITION_ROWS_H */
