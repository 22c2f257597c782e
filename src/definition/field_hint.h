/*-------------------------------------------------------------------------
 *
 * field_hint.h
 *	  Guesses which field a user means who has written something else, and writes fields as
 *	  arguments of create().
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FIELD_HINT_H
#define INDEXTABLE_FIELD_HINT_H

#include "nodes/pg_list.h"

extern char *hint_for_field(const char *text);

#endif							/* INDEXTABLE_FIELD_HINT_H */
