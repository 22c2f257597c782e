/*-------------------------------------------------------------------------
 *
 * document.h
 *	  Paths into the documents of a fact row.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DOCUMENT_H
#define INDEXTABLE_DOCUMENT_H

#include "executor/tuptable.h"
#include "utils/jsonb.h"

#include "../indextable.h"

typedef struct Document
{
	Jsonb	   *json;			/* detoasted on demand; NULL: not yet */
	const char *end;			/* of the bytes at hand; NULL: all are */
} Document;

/* Why a row has no entry in an asynchronous index table. */
typedef struct Rejection
{
	int			sqlstate;		/* 0: it has */
	char	   *message;
} Rejection;

typedef struct FactRow
{
	FactDef    *fact;
	TupleTableSlot *slot;
	Document   *docs;			/* of the JSONB columns in use */
	Rejection  *rejection;		/* NULL: values that cannot be entries are
								 * errors */
} FactRow;

extern void factrow_init(FactRow *row, FactDef *fact, TupleTableSlot *slot);
extern bool document_value(FactRow *row, int docno, PathStep *steps, int nsteps,
						   JsonbValue *value);
extern bool json_walk(JsonbValue *value, PathStep *steps, int nsteps);

#endif							/* INDEXTABLE_DOCUMENT_H */
