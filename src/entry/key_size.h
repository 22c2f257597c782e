/*-------------------------------------------------------------------------
 *
 * key_size.h
 *	  Measures keys, and reports those that are too long for an index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_KEY_SIZE_H
#define INDEXTABLE_KEY_SIZE_H

#include "../indextable.h"
#include "document.h"

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

#endif							/* INDEXTABLE_KEY_SIZE_H */
