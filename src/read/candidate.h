/*-------------------------------------------------------------------------
 *
 * candidate.h
 *	  Offers what an index table can do for a query of its fact table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_CANDIDATE_H
#define INDEXTABLE_CANDIDATE_H

#include "access/stratnum.h"
#include "nodes/pathnodes.h"

#include "../indextable.h"

/* What has to hold when the scan starts, so that no row is missed that has no entry. */
typedef enum Needed
{
	NEEDS_NOTHING,				/* the query asks only for rows that have entries */
	NEEDS_FIRST_KEY,			/* rows that have the first key field have entries */
	NEEDS_EVERY_ROW				/* all rows have entries */
} Needed;

/* A comparison of a column of the index with a value. */
typedef struct Condition
{
	int			position;		/* of the column in the index, from 0 */
	StrategyNumber strategy;
	Oid			operator;
	Oid			subtype;		/* the type of value, or of its elements */
	Expr	   *value;
	bool		array;			/* = ANY (value) */
	bool		lossy;			/* rows that it finds have to be checked */
	RestrictInfo *rinfo;		/* NULL: the clause was not one yet */
} Condition;

/* An index table that can find the rows of a query. */
typedef struct Candidate
{
	IndexDef   *def;
	Index		varno;			/* the fact table in the query */
	List	   *conditions;		/* of Condition *, by position */
	int			nequal;			/* so many leading columns are compared by = */
	int			order_from;		/* entries come in the order of the columns
								 * from this one on */
	Needed		needed;
	Bitmapset  *columns;		/* of the index table that are read, minus
								 * FirstLowInvalidHeapAttributeNumber */
	List	   *pathkeys;		/* that the order gives */
	bool		backward;
	bool		entries_only;	/* no fact row is needed */
	List	   *exprs;			/* what the scan returns then, Node *, */
	List	   *attnos;			/* and the columns that have it */

	/* See path_cost.c. */
	double		entries;		/* that are read in one scan */
	double		tuples;			/* that the index table has */
	double		pages;			/* of its index */
} Candidate;

/* The reason why an index table is not used, for indextable.explain_planner(). */
extern Candidate *consider_index_table(IndexDef *def, List *clauses, Relation fact, Index varno, const char **why);
extern Node *clause_of(Node *clause);

#endif							/* INDEXTABLE_CANDIDATE_H */
