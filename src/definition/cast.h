/*-------------------------------------------------------------------------
 *
 * cast.h
 *	  Offers the conversion of a text or a column to a field's type, under fixed settings.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_CAST_H
#define INDEXTABLE_CAST_H

#include "executor/tuptable.h"

#include "../indextable.h"

/* Why a value cannot be converted to a field's type. */
typedef struct Mismatch
{
	int			sqlstate;
	char	   *message;
} Mismatch;

extern void cast_check_type(const char *spec, Oid type);
extern int	hint_for_type(const char *spec, Oid type);
extern void cast_init(Cast *cast, Oid type, int32 typmod, Oid collation, MemoryContext cxt);
extern bool cast_text(Cast *cast, char *str, int len, Datum *result, Mismatch *why);
extern bool has_zone(const char *str);
extern bool cast_column(RowExpression *expr, TupleTableSlot *row, Datum *result, Mismatch *why);

#endif							/* INDEXTABLE_CAST_H */
