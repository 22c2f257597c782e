/*-------------------------------------------------------------------------
 *
 * shared_key_entries.h
 *	  Writes once more, before the transaction ends, the entries of rows that shared
 *	  their primary key with another row.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SHARED_KEY_ENTRIES_H
#define INDEXTABLE_SHARED_KEY_ENTRIES_H

extern void write_shared_keys(void);

#endif							/* INDEXTABLE_SHARED_KEY_ENTRIES_H */
