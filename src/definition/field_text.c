/*-------------------------------------------------------------------------
 *
 * field_text.c
 *	  Writes the parts of a field, a path and a type, as create() takes them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "catalog/pg_type.h"
#include "common/string.h"
#include "utils/builtins.h"
#include "utils/json.h"

#include "field_text.h"

#define IS_PLAIN_START(c)	(isalpha((unsigned char) (c)) || (c) == '_' || IS_HIGHBIT_SET(c))
#define IS_PLAIN_CHAR(c)	(IS_PLAIN_START(c) || isdigit((unsigned char) (c)) || (c) == '$')

/* append_member: adds a member to the text of a path, in double quotes if it needs them */
void
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

/* is_subscript: returns whether the operator #> takes a name for the subscript of an array that it meets */
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
