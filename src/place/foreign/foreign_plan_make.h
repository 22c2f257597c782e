/*-------------------------------------------------------------------------
 *
 * foreign_plan_make.h
 *	  Makes the plan that asks several partitions on other servers for rows by their
 *	  primary keys.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FOREIGN_PLAN_MAKE_H
#define INDEXTABLE_FOREIGN_PLAN_MAKE_H

#include "access/attnum.h"
#include "nodes/bitmapset.h"
#include "nodes/plannodes.h"

#include "../../indextable.h"

/* A plan that asks partitions. */
typedef struct ForeignPlan
{
	struct ForeignPlan *next;	/* kept by the same definition */
	MemoryContext cxt;			/* has all of it */
	uint64		changes;		/* the number of changes when it was made */
	int			uses;			/* executions that have not ended */
	Bitmapset  *columns;		/* what is read, as in RowRequest */
	AttrNumber *attnos;			/* the same columns, in their order */
	int			nattnos;
	bool		joined;			/* partitions of a server are joined */
	int			n;
	Oid		   *relids;			/* the partitions, sorted */
	int		   *joins;			/* which join each is in */
	int			njoins;
	int			width;			/* partitions in the largest join */
	char	   *sql;
	PlannedStmt *stmt;
	Append	   *append;			/* NULL: the plan can only be used as a whole */
	Plan	  **members;		/* of append, by join */
} ForeignPlan;

extern uint64 foreign_plan_changes(void);
extern ForeignPlan *foreign_plan_make(FactDef *def, MemoryContext parent, Bitmapset *columns, bool joined,
									  Oid *relids, int n);

#endif							/* INDEXTABLE_FOREIGN_PLAN_MAKE_H */
