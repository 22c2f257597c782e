/*-------------------------------------------------------------------------
 *
 * alter_in_place.h
 *	  Changes of an index table's definition that leave its entries as they are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ALTER_IN_PLACE_H
#define INDEXTABLE_ALTER_IN_PLACE_H

#include "../indextable.h"

extern void alter_totals(DefinitionRow *row);
extern void alter_in_place(DefinitionRow *now, DefinitionRow *wanted);

#endif							/* INDEXTABLE_ALTER_IN_PLACE_H */
