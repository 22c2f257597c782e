/*-------------------------------------------------------------------------
 *
 * scalar_value.h
 *	  Offers what entries are searched by for a number, or a scalar in JSON.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SCALAR_VALUE_H
#define INDEXTABLE_SCALAR_VALUE_H

#include "access/stratnum.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"

#include "../indextable.h"

/* What came of a value that entries are to be searched by. */
typedef enum Taken
{
	TAKEN,
	TAKEN_NONE,					/* no entry can satisfy the condition */
	TAKEN_UNKNOWN				/* there is nothing to search for */
} Taken;

extern bool is_integer_type(Oid type);
extern bool is_number_type(Oid type);
extern bool is_castable_field(Field *field);
extern Taken take_scalar(Field *field, StrategyNumber strategy, JsonbValue *scalar, Datum *result);
extern Taken take_float(Field *field, int bits, StrategyNumber strategy, double value, Datum *result);
extern Taken take_numeric(Field *field, StrategyNumber strategy, Numeric value, Datum *result);
extern bool number_of_field(IndexDef *def, Field *field, Node *expr, Index varno, int *bits, bool *lossy);
extern StrategyNumber number_strategy(Oid operator);

#endif							/* INDEXTABLE_SCALAR_VALUE_H */
