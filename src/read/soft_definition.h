/*-------------------------------------------------------------------------
 *
 * soft_definition.h
 *	  Offers the definitions of fact tables to the planner, without errors and waiting.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_SOFT_DEFINITION_H
#define INDEXTABLE_SOFT_DEFINITION_H

#include "../indextable.h"

extern FactDef *soft_definition(Oid relid);

#endif							/* INDEXTABLE_SOFT_DEFINITION_H */
