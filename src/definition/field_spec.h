/*-------------------------------------------------------------------------
 *
 * field_spec.h
 *	  Offers the parser of fields.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FIELD_SPEC_H
#define INDEXTABLE_FIELD_SPEC_H

#include "../indextable.h"

extern void check_name_length(const char *name, const char *hint);
extern bool is_hint_column(FieldSpec *spec);
extern char *name_field(const char *text, const char *name);
extern char *field_of_type(const char *text, const char *type, bool elements);
extern FieldSpec *parse_field_spec(const char *text, bool with_type);

#define USUAL_TYPES		"Use text, jsonb, or a type such as integer, numeric, boolean, uuid, date or timestamptz."


#endif							/* INDEXTABLE_FIELD_SPEC_H */
