/*-------------------------------------------------------------------------
 *
 * filter_hint.h
 *	  Guesses which filter a user means who has written something else.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FILTER_HINT_H
#define INDEXTABLE_FILTER_HINT_H

#include "utils/rel.h"

extern char *meant_filter(Relation fact, const char *text);

#endif							/* INDEXTABLE_FILTER_HINT_H */
