/*-------------------------------------------------------------------------
 *
 * mismatch.h
 *	  Reports why a row cannot have its entries: a value cannot be cast to the type of
 *	  its field, or the key is too long.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_MISMATCH_H
#define INDEXTABLE_MISMATCH_H

#include "../definition/cast.h"
#include "../indextable.h"
#include "document.h"

/* The first value of a row that cannot be an entry. */
typedef struct RowMismatch
{
	Field	   *field;			/* NULL: there is none */
	char	   *value;			/* as text */
	Mismatch	why;
} RowMismatch;

extern char *excerpt(char *text);
extern bool key_fits(IndexDef *def, Datum *values, RowMismatch *mismatch);
extern void report_mismatch(IndexDef *def, FactRow *row, RowMismatch *mismatch);

#endif							/* INDEXTABLE_MISMATCH_H */
