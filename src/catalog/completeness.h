/*-------------------------------------------------------------------------
 *
 * completeness.h
 *	  Records that fact rows lack entries, and tells which queries an index table can
 *	  answer by itself.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_COMPLETENESS_H
#define INDEXTABLE_COMPLETENESS_H

#include "access/genam.h"
#include "storage/lock.h"
#include "utils/snapshot.h"

#include "../indextable.h"

/* The bit of rows that lack an entry though their first so many key fields are not null. */
#define LACKING_BIT(fields)	((uint32) 1 << (fields))
/*
 * The bits of rows that have another value than an array where the elements of one are looked for,
 * of rows that have an element that is no string, of rows whose elements are not one
 * for each of an array, of rows that have a time without a zone of its own in a field with a zone,
 * of rows that have an array or an object where a key has its text, and of all that being recorded.
 */
#define NO_ARRAY_BIT		((uint32) 1 << 26)
#define NO_STRING_BIT		((uint32) 1 << 27)
#define UNEVEN_BIT			((uint32) 1 << 28)
#define ZONELESS_BIT		((uint32) 1 << 29)
#define CONTAINER_BIT		((uint32) 1 << 30)
#define VALUE_BITS			(NO_ARRAY_BIT | NO_STRING_BIT | UNEVEN_BIT | ZONELESS_BIT | CONTAINER_BIT)
#define VALUES_RECORDED		((uint32) 1 << 31)

extern bool index_table_complete(IndexDef *def, int fields, Snapshot snapshot);
extern bool index_table_has_none(IndexDef *def, uint32 values, Snapshot snapshot);
extern uint32 lacking_unrecorded(IndexDef *def, uint32 lacking, Snapshot snapshot);
extern bool lacking_is_news(IndexDef *def, uint32 lacking);
extern void record_lacking(IndexDef *def, uint32 lacking);
extern void completeness_begin(Oid index_table);
extern void completeness_move(Oid from, Oid to);

/* For orphaned_rows.c. */
extern Oid	completeness_relid(void);
extern SysScanDesc scan_completeness(Relation rel, const char *index, Oid index_table, Snapshot snapshot);
extern int	record_fields(HeapTuple tuple, Relation rel);
extern void forget_records(IndexDef *def);
extern LOCKTAG record_tag(Oid index_table, TransactionId xmin, int fields);
extern bool lock_record(Oid index_table, TransactionId xmin, int fields, LOCKMODE mode);

#endif							/* INDEXTABLE_COMPLETENESS_H */
