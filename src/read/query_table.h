/*-------------------------------------------------------------------------
 *
 * query_table.h
 *	  Tells which index tables may serve a table in a query.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_QUERY_TABLE_H
#define INDEXTABLE_QUERY_TABLE_H

#include "nodes/pathnodes.h"

#include "../indextable.h"

/* A fact table in a query, and the index tables that may serve it. */
typedef struct Served
{
	FactDef    *fact;			/* pinned as long as the query is planned */
	Relation	rel;			/* open */
	bool		tested_again;	/* its rows are locked or written, and the
								 * executor may test newer versions of them */
	List	   *defs;			/* of IndexDef *, whose tables are locked */
	bool		system_columns; /* the query asks for some of the rows */
} Served;

/* The reason why an index table is not used that could be. */
#define REASON_COST	"another plan is estimated to cost less"

/* The same, of those that nothing in the query is about; see nearest_condition(). */
#define REASON_NO_ELEMENTS	"no condition selects elements of its multi-valued field"
#define REASON_NO_CONDITION	"no condition is on its first key field" REASON_NOT_WHOLE
#define REASON_NOT_WHOLE	", nor is the query sorted by it, and entries lack something that is asked for"

/* How an index table is used. */
#define REASON_SEARCHED	"searched"
#define REASON_WHOLE	"read as a whole"

/* Is told how index tables are used, and the reasons why others are not. */
typedef void (*ReasonListener) (Oid fact, Oid index_table, const char *reason);

extern bool may_be_served(PlannerInfo *root, Index rti);
extern bool open_served(PlannerInfo *root, Index rti, bool totals, Served *served);
extern bool find_conditions(Node *from, Index varno, List **quals);
extern bool is_positionable(PlannerInfo *root, bool partitioned);
extern void close_served(Served *served);
extern Query *query_of_table(RangeTblEntry *rte, List *targets, Node *quals);
extern PlannedStmt *plan_natively(Query *query, const char *text, ParamListInfo params);
extern bool is_planned_natively(void);
extern PlannedStmt *plan_without_index_tables(Query *query, ParamListInfo params);
extern bool is_explained(void);
extern void give_reason(Oid fact, Oid index_table, const char *reason);
extern ReasonListener listen_to_reasons(ReasonListener listener);

#endif							/* INDEXTABLE_QUERY_TABLE_H */
