/*-------------------------------------------------------------------------
 *
 * advise.h
 *	  Tells users whether an index table that they have created is worth its cost.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ADVISE_H
#define INDEXTABLE_ADVISE_H

#include "../indextable.h"

extern void advise_on_new(DefinitionRow *row, IndexDef *def);

#endif							/* INDEXTABLE_ADVISE_H */
