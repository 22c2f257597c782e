/*-------------------------------------------------------------------------
 *
 * contained.h
 *	  Offers what a document has in a field if it contains a value.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_CONTAINED_H
#define INDEXTABLE_CONTAINED_H

#include "nodes/pathnodes.h"
#include "utils/jsonb.h"

#include "../indextable.h"

extern bool contains_value(PlannerInfo *root, Field *field, int nsteps, Node *json);
extern bool only_string(const char *text, int len);
extern List *constant_texts(Node *array);
extern int	count_only_texts(IndexDef *def, Field *field, Node *value, uint32 *unless);
extern bool contained_value(Field *field, int nsteps, int nth, Jsonb *json, Datum *result);

#endif							/* INDEXTABLE_CONTAINED_H */
