/*-------------------------------------------------------------------------
 *
 * absent_fields.h
 *	  Warns of fields of a new index table that no document has.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_ABSENT_FIELDS_H
#define INDEXTABLE_ABSENT_FIELDS_H

#include "../indextable.h"

extern bool warn_of_absent_fields(DefinitionRow *row, IndexDef *def);

#endif							/* INDEXTABLE_ABSENT_FIELDS_H */
