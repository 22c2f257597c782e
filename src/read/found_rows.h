/*-------------------------------------------------------------------------
 *
 * found_rows.h
 *	  Plans statements that write or lock rows of a partitioned fact table when they start, for the
 *	  rows that an index table finds.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FOUND_ROWS_H
#define INDEXTABLE_FOUND_ROWS_H

extern void found_rows_init(void);

#endif							/* INDEXTABLE_FOUND_ROWS_H */
