/*-------------------------------------------------------------------------
 *
 * row_errors.h
 *	  Reports rows that cannot have their entries.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ROW_ERRORS_H
#define INDEXTABLE_ROW_ERRORS_H

#include "../definition/cast.h"
#include "../indextable.h"
#include "document.h"
#include "table_writer.h"

extern void rethrow_duplicate(Writer *w, MemoryContext cxt);

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
extern char *format_row_key(FactRow *row);

/* The key and the primary key of an entry may have so many bytes of data together, before compression. */
#define MAX_KEY_BYTES		2600

/* How long the key and the primary key of an entry are. */
typedef struct KeySize
{
	Size		bytes;			/* of both together */
	Field	   *longest;		/* the key field that has most of them */
	Size		longest_bytes;	/* how many that are */
} KeySize;

extern bool key_fits(IndexDef *def, Datum *values, KeySize *size);
extern void report_long_key(IndexDef *def, FactRow *row, KeySize *size);

#endif							/* INDEXTABLE_ROW_ERRORS_H */
