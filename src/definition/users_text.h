/*-------------------------------------------------------------------------
 *
 * users_text.h
 *	  Parses SQL that is in a text of a user.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_USERS_TEXT_H
#define INDEXTABLE_USERS_TEXT_H

#include "lib/stringinfo.h"

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
extern struct ResTarget *parse_lone_expression(const char *prefix, const char *text);
extern void append_path_step(StringInfo path, const char *name, bool subscript);
extern bool is_subscript(const char *name);
extern const char *field_type_name(Oid type);

#endif							/* INDEXTABLE_USERS_TEXT_H */
