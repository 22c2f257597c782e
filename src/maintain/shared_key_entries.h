/*-------------------------------------------------------------------------
 *
 * shared_key_entries.h
 *	  Writes anew, before the transaction ends, the entries of rows that shared their
 *	  primary key.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SHARED_KEY_ENTRIES_H
#define INDEXTABLE_SHARED_KEY_ENTRIES_H

extern void write_shared_keys(void);

#endif							/* INDEXTABLE_SHARED_KEY_ENTRIES_H */
