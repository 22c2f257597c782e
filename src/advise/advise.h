/*-------------------------------------------------------------------------
 *
 * advise.h
 *	  Advice for users.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ADVISE_H
#define INDEXTABLE_ADVISE_H

#include "../indextable.h"

extern void advise_on_new(DefinitionRow *row, IndexDef *def);

#endif							/* INDEXTABLE_ADVISE_H */
