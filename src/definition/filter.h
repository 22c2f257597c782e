/*-------------------------------------------------------------------------
 *
 * filter.h
 *	  Checks filters that users give.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FILTER_H
#define INDEXTABLE_FILTER_H

#include "utils/rel.h"

extern char *check_filter(Relation fact, const char *filter);

#endif							/* INDEXTABLE_FILTER_H */
