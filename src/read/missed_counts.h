/*-------------------------------------------------------------------------
 *
 * missed_counts.h
 *	  Counts the conditions on fields of documents for which the planner has found no index
 *	  table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_MISSED_COUNTS_H
#define INDEXTABLE_MISSED_COUNTS_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

#include "../util/memory.h"

/* The longest field that is counted. */
#define MAX_MISSED_FIELD	128

/* How a condition compares a field. */
typedef enum MissedKind
{
	MISSED_EQUAL,				/* with a value, or with several */
	MISSED_RANGE,
	MISSED_CONTAINED,			/* the documents, or an array, contain it */
	MISSED_JOINED				/* with a column of another table */
} MissedKind;

/* A condition that was counted. */
typedef struct MissedCondition
{
	Oid			fact;
	AttrNumber	document;		/* the column of the documents */
	MissedKind	kind;
	char		field[MAX_MISSED_FIELD];	/* as in create() */
	uint64		planned;		/* so often */
	TimestampTz since;			/* when it was counted first */
} MissedCondition;

extern const SharedPart missed_shared;
extern bool missed_is_kept(void);
extern void missed_count(Oid fact, AttrNumber document, MissedKind kind, const char *field);
extern void missed_forget(Oid fact);
extern bool may_see_missed(Oid fact);

#endif							/* INDEXTABLE_MISSED_COUNTS_H */
