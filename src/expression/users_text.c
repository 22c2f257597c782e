/*-------------------------------------------------------------------------
 *
 * users_text.c
 *	  Parses SQL that is in a text of a user, a field or a filter, with errors that speak of
 *	  that text; and writes the parts of a field as create() takes them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "catalog/pg_type.h"
#include "common/string.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/json.h"

#include "expression.h"

static void parse_error_callback(void *arg);
static void append_member(StringInfo path, const char *name);

#define IS_PLAIN_START(c)	(isalpha((unsigned char) (c)) || (c) == '_' || IS_HIGHBIT_SET(c))
#define IS_PLAIN_CHAR(c)	(IS_PLAIN_START(c) || isdigit((unsigned char) (c)) || (c) == '$')

/*
 * parse_error_callback
 *		Turns the position of an error in what was parsed into one in the user's text.
 */
static void
parse_error_callback(void *arg)
{
	ParseContext *context = arg;
	int			position = geterrposition();

	if (position > context->offset)
	{
		errposition(0);
		internalerrposition(position - context->offset + context->start);
		internalerrquery(context->text);
	}
	if (context->what != NULL)
		errcontext("%s \"%s\"", context->what, context->text);
}

/*
 * push_parse_context, pop_parse_context
 *		Begin and end the parsing of a user's text, during which errors speak of this text and
 *		of what it is: a field or a filter, for example; NULL says nothing.  What is parsed consists of offset
 *		characters of ours and then of the text, from character start on.
 */
void
push_parse_context(ParseContext *context, const char *what, const char *text, int offset, int start)
{
	context->what = what;
	context->text = text;

	context->offset = offset;
	context->start = start;
	context->callback.callback = parse_error_callback;
	context->callback.arg = context;
	context->callback.previous = error_context_stack;
	error_context_stack = &context->callback;
}

void
pop_parse_context(ParseContext *context)
{
	error_context_stack = context->callback.previous;
}

/*
 * parse_lone_expression
 *		Returns the one target of "SELECT prefix text", or NULL if text is more than one
 *		expression: if it has another statement, a FROM clause or a second column, for
 *		example.
 */
ResTarget *
parse_lone_expression(const char *prefix, const char *text)
{
	List	   *parsed;
	SelectStmt *select;

	parsed = raw_parser(psprintf("SELECT %s%s", prefix, text), RAW_PARSE_DEFAULT);
	if (list_length(parsed) != 1)
		return NULL;
	select = (SelectStmt *) linitial_node(RawStmt, parsed)->stmt;
	if (!IsA(select, SelectStmt) ||
		list_length(select->targetList) != 1 ||
		select->op != SETOP_NONE ||
		select->distinctClause != NIL || select->intoClause != NULL ||
		select->fromClause != NIL || select->whereClause != NULL ||
		select->groupClause != NIL || select->havingClause != NULL ||
		select->windowClause != NIL || select->valuesLists != NIL ||
		select->sortClause != NIL || select->limitOffset != NULL ||
		select->limitCount != NULL || select->lockingClause != NIL ||
		select->withClause != NULL)
		return NULL;
	return linitial_node(ResTarget, select->targetList);
}

/* append_member: adds a member to the text of a path, in double quotes if it needs them */
static void
append_member(StringInfo path, const char *name)
{
	const char *p = name;

	if (path->len > 0)
		appendStringInfoChar(path, '.');
	if (IS_PLAIN_START(*p))
		while (IS_PLAIN_CHAR(*p))
			p++;
	if (p > name && *p == '\0')
		appendStringInfoString(path, name);
	else
		escape_json(path, name);
}

/* append_path_step: adds a member, a subscript or, if name is NULL, [*] to the text of a path */
void
append_path_step(StringInfo path, const char *name, bool subscript)
{
	if (name != NULL && !subscript)
		append_member(path, name);
	else
		appendStringInfo(path, "%s[%s]", path->len == 0 ? "$" : "", name == NULL ? "*" : name);
}

/*
 * is_subscript
 *		Returns whether the operator #> takes a name for the subscript of an array that it
 *		meets.
 */
bool
is_subscript(const char *name)
{
	char	   *end;

	errno = 0;
	(void) strtoint(name, &end, 10);
	return end != name && *end == '\0' && errno == 0;
}

/* field_type_name: returns the name of a type as people write it in a field */
const char *
field_type_name(Oid type)
{
	switch (type)
	{
		case INT4OID:
			return "int";
		case TIMESTAMPOID:
			return "timestamp";
		case TIMESTAMPTZOID:
			return "timestamptz";
		case FLOAT8OID:
			return "float8";
		default:
			return format_type_be(type);
	}
}
