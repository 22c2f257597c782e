/*-------------------------------------------------------------------------
 *
 * mismatch.h
 *	  Reports why a row cannot have its entries: a value cannot be cast to the type of
 *	  its field.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_MISMATCH_H
#define INDEXTABLE_MISMATCH_H

#include "../definition/cast.h"
#include "../indextable.h"
#include "document.h"

/* The first value of a row that cannot be an entry, and what is to be recorded of others. */
typedef struct RowMismatch
{
	Field	   *field;			/* NULL: there is none */
	char	   *value;			/* as text */
	Mismatch	why;
	uint32		values;			/* VALUE_BITS: kinds of values that there were */
} RowMismatch;

extern char *excerpt(char *text);
extern void report_mismatch(IndexDef *def, FactRow *row, RowMismatch *mismatch);
extern int	hint_to_skip(IndexDef *def);
extern bool may_show_row(FactRow *row);
extern char *format_row_key(FactRow *row);

#endif							/* INDEXTABLE_MISMATCH_H */
