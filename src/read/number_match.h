/*-------------------------------------------------------------------------
 *
 * number_match.h
 *	  Tells whether an expression is the number that a field is, as another type.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_NUMBER_MATCH_H
#define INDEXTABLE_NUMBER_MATCH_H

#include "access/stratnum.h"

#include "../indextable.h"

extern bool number_of_field(IndexDef *def, Field *field, Node *expr, Index varno, int *bits, bool *lossy);
extern StrategyNumber number_strategy(Oid operator);

#endif							/* INDEXTABLE_NUMBER_MATCH_H */
