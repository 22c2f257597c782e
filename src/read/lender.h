/*-------------------------------------------------------------------------
 *
 * lender.h
 *	  Offers the columns of index tables whose statistics are those of expressions over a fact
 *	  table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_LENDER_H
#define INDEXTABLE_LENDER_H

#include "access/attnum.h"
#include "nodes/pg_list.h"

/* A column of an index table. */
typedef struct Lender
{
	Oid			index_table;
	AttrNumber	attno;
	bool		partitioned;	/* the index table is */

	/*
	 * What is a share of the entries is so much less of the fact table's
	 * rows:
	 */
	double		not_null;		/* of what is not NULL, */
	double		common;			/* and of common values */
	double		unknown;		/* share of the rows that may be otherwise */
	double		entries;
} Lender;

/* A field of a fact table's documents. */
typedef struct LentField
{
	char	   *document;		/* the column */
	AttrNumber	doc_attno;		/* in the fact table */
	Oid			type;
	List	   *spellings;		/* of Node *, over relation 1 */
	List	   *lenders;		/* of Lender *, the best first */
} LentField;

/* All of a fact table. */
typedef struct Lending
{
	MemoryContext cxt;
	int			pins;
	bool		dropped;		/* goes with the last pin */
	Oid			fact;
	List	   *fields;			/* of LentField * */
	int			nspellings;		/* of all of them */
} Lending;

extern Lending *lending_of(Oid relid);
extern void lending_pin(Lending *lending, MemoryContext cxt);

#endif							/* INDEXTABLE_LENDER_H */
