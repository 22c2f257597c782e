/*-------------------------------------------------------------------------
 *
 * reasons.h
 *	  Offers why index tables are not used for a query, and what no index table has served.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_REASONS_H
#define INDEXTABLE_REASONS_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "../indextable.h"
#include "../util/memory.h"

/* Why an index table is not used. */
#define REASON_UNKNOWN "the fields of a document that is a parameter are known only in a custom plan"
#define REASON_INCOMPLETE "some rows may have no entry, as values were skipped or rejected: " \
	"correct these rows, then call verify()"
#define REASON_FAULT "some rows may have no entry, as their %s cannot be cast, and no condition keeps these out: " \
	"correct these rows, then call verify()"
#define REASON_MAY_LACK "some rows may have no entry, as a field cannot be cast or a key is too long, which only their node " \
	"knows, and no condition keeps these out"
#define REASON_HIDDEN	"it is hidden, and indextable.use_hidden is off"
#define REASON_COST	"another plan is estimated to cost less"

/* The same, where users could put an index on the index table; and what that needs of the extension pg_trgm. */
#define REASON_NO_INDEX	"only an index of yours on it would find its entries"
#define TRIGRAMS	"gin_trgm_ops"

/* The same, of those that nothing in the query is about; see nearest_condition(). */
#define REASON_NO_ELEMENTS	"no condition selects elements of its multi-valued field"
#define REASON_NO_CONDITION	"no condition is on its first key field" REASON_NOT_WHOLE
#define REASON_NOT_WHOLE	", nor is the query sorted by it, and entries lack something that is asked for"

/* The same, of a table of totals. */
#define REASON_NO_AGGREGATE	"the query asks for no aggregates of its fact table alone"

/* How an index table is used. */
#define REASON_SEARCHED	"searched"
#define REASON_WHOLE	"read as a whole"
#define REASON_ADDED_UP	"its totals are added up"

/* What was thought of an index table, or of all those of a fact table. */
typedef struct Opinion
{
	Oid			fact;
	Oid			index_table;	/* InvalidOid: all */
	bool		used;
	const char *reason;			/* why not, or how */
} Opinion;

typedef struct Opinions
{
	List	   *list;			/* of Opinion *, ... */
	MemoryContext cxt;			/* ... in this */
} Opinions;

extern Opinions *opinions;		/* what is thought is noted there; or NULL */
extern bool is_explained(void);
extern void note_use(Oid fact, Oid index_table, const char *how);
extern void take_back_uses(const char *reason);
extern void give_reason(Oid fact, Oid index_table, const char *reason);

/* explain.c: tells what was thought of index tables */
extern void notice_not_used(void);
extern PlannedStmt *plan_explained(const char *sql, int planner, List *facts, Opinions *noted);

/*
 * missed_counts.c: counts the conditions on fields of documents for which there is no index
 * table
 */

/* How a condition compares a field. */
typedef enum MissedKind
{
	MISSED_EQUAL,				/* with a value, or with several */
	MISSED_RANGE,
	MISSED_CONTAINED,			/* the documents, or an array, contain it */
	MISSED_JOINED,				/* with a column of another table */
	MISSED_INDEX				/* by an operator that an index on an index
								 * table would serve: what follows CREATE
								 * INDEX ON is in the place of the field */
} MissedKind;

extern const SharedPart missed_shared;
extern bool missed_is_kept(void);
extern void missed_count(PlannerInfo *root, RelOptInfo *rel, AttrNumber document, MissedKind kind,
						 const char *field);
extern void missed_forget(Oid fact);
extern bool may_see_missed(Oid fact);

/* missed.c: finds such conditions, and the one that is nearest to an index table */
extern void count_missed_fields(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);
extern const char *nearest_condition(RelOptInfo *rel, IndexDef *def);

#endif							/* INDEXTABLE_REASONS_H */
