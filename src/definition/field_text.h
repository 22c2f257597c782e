/*-------------------------------------------------------------------------
 *
 * field_text.h
 *	  Writes the parts of a field, a path and a type, as create() takes them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_DEFINITION_FIELD_TEXT_H
#define INDEXTABLE_DEFINITION_FIELD_TEXT_H

#include "lib/stringinfo.h"

extern void append_member(StringInfo path, const char *name);
extern void append_path_step(StringInfo path, const char *name, bool subscript);
extern bool is_subscript(const char *name);
extern const char *field_type_name(Oid type);

#endif							/* INDEXTABLE_DEFINITION_FIELD_TEXT_H */
