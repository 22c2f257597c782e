/*-------------------------------------------------------------------------
 *
 * field_at.h
 *	  Writes paths of fields, so that create() takes them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FIELD_AT_H
#define INDEXTABLE_FIELD_AT_H

#include "nodes/pg_list.h"

extern char *path_text(List *steps);

#endif							/* INDEXTABLE_FIELD_AT_H */
