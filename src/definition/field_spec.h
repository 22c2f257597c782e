/*-------------------------------------------------------------------------
 *
 * field_spec.h
 *	  Offers the parser of fields, and what other parsers of users' texts share with it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FIELD_SPEC_H
#define INDEXTABLE_FIELD_SPEC_H


#include "../indextable.h"

struct ResTarget;

/* What is being parsed, for errors; see push_parse_context(). */
typedef struct ParseContext
{
	ErrorContextCallback callback;
	const char *what;
	const char *text;
	int			offset;
	int			start;
} ParseContext;

extern void push_parse_context(ParseContext *context, const char *what, const char *text,
							   int offset, int start);
extern void pop_parse_context(ParseContext *context);
extern void check_name_length(const char *name, const char *hint);
extern bool is_hint_column(FieldSpec *spec);
extern char *name_field(const char *text, const char *name);
extern FieldSpec *parse_field_spec(const char *text, bool with_type);
extern struct ResTarget *parse_lone_expression(const char *prefix, const char *text);

#endif							/* INDEXTABLE_FIELD_SPEC_H */
