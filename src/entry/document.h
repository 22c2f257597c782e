/*-------------------------------------------------------------------------
 *
 * document.h
 *	  Represents a fact row, and finds values in its documents.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DOCUMENT_H
#define INDEXTABLE_DOCUMENT_H

#include "executor/tuptable.h"
#include "utils/jsonb.h"

#include "../indextable.h"

/* A document, as far as it has been detoasted. */
typedef struct Document
{
	Jsonb	   *json;			/* NULL: it has not been asked for yet */
	const char *end;			/* where the bytes at hand end; NULL: all
								 * bytes are at hand */
	PathStep   *found_steps;	/* the path that was found last; NULL: none */
	int			found_nsteps;	/* how many steps of it */
	JsonbValue	found;			/* where it led to */
} Document;

/* Why a row cannot have its entries in an asynchronous index table. */
typedef struct Rejection
{
	int			sqlstate;		/* 0: it can */
	char	   *message;
} Rejection;

/* A version of a fact row. */
typedef struct FactRow
{
	FactDef    *fact;
	TupleTableSlot *slot;
	Document   *docs;			/* its documents, one for each JSONB column in
								 * use */
	Rejection  *rejection;		/* filled in if a value cannot be an entry;
								 * NULL: that raises an error */
	Document	only;			/* its document, if there is but one */
} FactRow;

extern void factrow_init(FactRow *row, FactDef *fact, TupleTableSlot *slot);
extern bool document_value(FactRow *row, int docno, PathStep *steps, int nsteps,
						   JsonbValue *value);
extern bool same_member(FactRow *a, FactRow *b, int docno, JsonbValue *value);
extern bool json_walk(JsonbValue *value, PathStep *steps, int nsteps);

#endif							/* INDEXTABLE_DOCUMENT_H */
