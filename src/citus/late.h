/*-------------------------------------------------------------------------
 *
 * late.h
 *	  Offers plans of queries that find out when they start which shards have their rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_LATE_H
#define INDEXTABLE_LATE_H

#include "../candidate/candidate.h"
#include "../scan/scan.h"

/* A table of such a query, in which keys are values of its distribution column. */
typedef struct LateTable
{
	double		number;			/* that look_at_table() has given it */
	Oid			relid;
	AttrNumber	column;			/* that keys are values of */
	int			limit;			/* number of keys that Citus is asked for; if
								 * there are more, it is asked for all rows */
	int			entries;		/* number of entries that are read at most */
	Query	   *keys;			/* returns the keys */
	PlannedStmt *plan;			/* of this query */
} LateTable;

/* The members of custom_private. */
enum
{
	LATE_QUERY,
	LATE_OPTIONS,				/* of the query as a cursor, an Integer */
	LATE_NUMBERS,				/* of each table an IntList: LATE_NUMBER, ... */
	LATE_PLANS					/* of each table the plan of its keys */
};

/* The members of LATE_NUMBERS, as in LateTable. */
enum
{
	LATE_NUMBER,
	LATE_COLUMN,
	LATE_LIMIT,
	LATE_ENTRIES
};

/* late_query.c: plans them */
extern List *note_late_table(List *tables, PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte,
							 List *candidates);
extern PlannedStmt *plan_late(Query *query, int options, PlannedStmt *plan, List *tables);

/* key_condition.c: adds the condition by which Citus finds shards */
extern void restrict_table(Query *query, int number, AttrNumber attno, Datum *keys, int n);

/* late_node.c: executes them */

/*
 * What EXPLAIN calls the node, as that of ../writes/found_rows.c.  The server knows this one by no name, as no
 * worker reads it: it is all of a plan.
 */
#define LATE_NAME	"IndexTableLate"

extern const ScanType late_scan;

#endif							/* INDEXTABLE_LATE_H */
