/*-------------------------------------------------------------------------
 *
 * orphaned_rows.h
 *	  Deletes the catalog's rows of tables that no longer exist.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ORPHANED_ROWS_H
#define INDEXTABLE_ORPHANED_ROWS_H

extern void forget_orphaned_rows(Oid named);

#endif							/* INDEXTABLE_ORPHANED_ROWS_H */
