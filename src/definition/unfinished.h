/*-------------------------------------------------------------------------
 *
 * unfinished.h
 *	  Offers to refuse a fact table whose definitions a restore has not completed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_UNFINISHED_H
#define INDEXTABLE_UNFINISHED_H

#include "utils/rel.h"

extern void refuse_unfinished(Relation fact);

#endif							/* INDEXTABLE_UNFINISHED_H */
