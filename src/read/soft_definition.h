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

/* How often a definition is asked for of which there is news each time, before the planner does without it. */
#define MAX_ATTEMPTS	5

extern FactDef *soft_definition(Oid relid);

#endif							/* INDEXTABLE_SOFT_DEFINITION_H */
