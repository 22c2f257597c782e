/*-------------------------------------------------------------------------
 *
 * primary_key.h
 *	  Makes the indexes of index tables: the primary key, and the row index, by which a fact
 *	  row's entries are found.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_PRIMARY_KEY_H
#define INDEXTABLE_PRIMARY_KEY_H

#include "utils/rel.h"

#include "../indextable.h"

/*
 * The limit for the data of a btree tuple, with the headers and the padding of its
 * columns.  The tuple may have 2704 bytes with its own header and alignment.
 */
#define MAX_INDEX_DATA		2680

extern char *primary_key_constraint(IndexDef *def, bool covering);
extern void primary_key_add(IndexDef *def, bool covering, const char *tablespace, const char *drop);
extern void primary_key_replace(IndexDef *def, bool covering);
extern void primary_key_mark(Oid relid, const char *constraint, bool clustered, bool identity);
extern char *row_index_columns(IndexDef *def);
extern void row_index_make(Oid index_table, const char *columns);
extern void row_index_drop(Oid index_table);
extern bool primary_key_covers(IndexDef *def, Relation primary_key);
extern bool primary_key_can_cover(IndexDef *def);
extern void primary_key_prepare_sorts(IndexDef *def);

#endif							/* INDEXTABLE_PRIMARY_KEY_H */
