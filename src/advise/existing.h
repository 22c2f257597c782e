/*-------------------------------------------------------------------------
 *
 * existing.h
 *	  Tells which index or index table serves look-ups by a field already.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_EXISTING_H
#define INDEXTABLE_EXISTING_H

#include "utils/rel.h"

#include "../indextable.h"

extern char *existing_index(Relation fact, AttrNumber doc, FieldSpec *spec, Oid type);

#endif							/* INDEXTABLE_EXISTING_H */
