/*-------------------------------------------------------------------------
 *
 * field_hint.c
 *	  Guesses which field a user means who has written something else: a path as in SQL,
 *	  JavaScript or JSON Pointer, for example, or a name that needs quotes.
 *
 * A guess is only shown in a hint, so it does no harm if it is wrong.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "nodes/pg_list.h"
#include "parser/scansup.h"
#include "utils/builtins.h"
#include "utils/json.h"

#include "../util/sql.h"
#include "field_hint.h"
#include "field_text.h"

#define IS_WORD_START(c)	(isalnum((unsigned char) (c)) || (c) == '_' || IS_HIGHBIT_SET(c))
#define IS_WORD_CHAR(c)		(IS_WORD_START(c) || (c) == '$')

/* A name of so many words is rather a sentence, or SQL. */
#define MAX_WORDS			3

/* A step of the path that a user may mean. */
typedef struct Step
{
	char	   *name;			/* NULL: a subscript */
	char	   *subscript;
	int			words;			/* of the name */
} Step;

/* A text that is being read. */
typedef struct Reading
{
	const char *p;
	List	   *steps;			/* of Step * */
	bool		rooted;			/* the text begins with "$" */
	bool		separated;		/* something stands between the last step and
								 * what comes next */
	bool		arrow;			/* it was an operator of SQL */
	bool		bracket;		/* it was a bracket */
	bool		spaced;			/* it was, or ended with, a space */
} Reading;

static char *read_field(const char *text);
static bool read_step(Reading *r);
static bool read_subscript(Reading *r);
static bool read_quoted(Reading *r);
static bool read_word(Reading *r);
static void add_name(Reading *r, char *name);
static void add_subscript(Reading *r, char *subscript);
static const char *tail_at(const char *p, bool spaced);
static bool starts_with_word(const char *p, const char *word);
static bool is_type(const char *text);
static char *path_of(List *steps);
static List *split_at_commas(const char *text);

/*
 * hint_for_field
 *		Returns a hint for a text that is not a field, or NULL.
 */
char *
hint_for_field(const char *text)
{
	List	   *fields = NIL;
	ListCell   *cell;
	const char *p = text;

	/* a function of SQL */
	while (*p == '(' || scanner_isspace(*p))
		p++;
	if (IS_WORD_START(*p) && !isdigit((unsigned char) *p))
	{
		while (IS_WORD_CHAR(*p))
			p++;
		if (*p == '(')
			return pstrdup("A field cannot be an expression. Add a generated column with the expression, and use \"@column\".");
	}

	foreach(cell, split_at_commas(text))
	{
		char	   *field = read_field(lfirst(cell));

		if (field == NULL)
			return NULL;
		fields = lappend(fields, field);
	}
	if (list_length(fields) > 1)
		return psprintf("Perhaps you mean these fields: %s.", array_literal(fields));
	if (strcmp(linitial(fields), text) == 0)
		return NULL;
	return psprintf("Perhaps you mean this field: %s.", array_literal(fields));
}

/* read_field: returns the field that a text may mean, or NULL */
static char *
read_field(const char *text)
{
	Reading		r = {0};
	char	   *copy = pstrdup(text);
	const char *tail = NULL;
	int			len;

	while (scanner_isspace(*copy))
		copy++;
	len = strlen(copy);
	while (len > 0 && scanner_isspace(copy[len - 1]))
		copy[--len] = '\0';
	/* '...' and {...} around the whole, or @. as in a filter of JSONPath */
	if (len > 2 && ((copy[0] == '\'' && strchr(copy + 1, '\'') == copy + len - 1) ||
					(copy[0] == '{' && copy[len - 1] == '}')))
	{
		copy[len - 1] = '\0';
		copy++;
	}
	if (copy[0] == '@' && copy[1] == '.')
		copy += 2;
	r.p = copy;
	if (*r.p == '$')
	{
		r.rooted = true;
		r.p++;
	}
	r.separated = true;
	while (*r.p != '\0')
	{
		tail = r.steps != NIL ? tail_at(r.p, r.spaced) : NULL;
		if (tail != NULL)
			break;
		if (!read_step(&r))
			return NULL;
	}
	return r.steps == NIL ? NULL : psprintf("%s%s", path_of(r.steps), tail != NULL ? tail : "");
}

/* read_step: reads what stands between members, or a step; returns false if nobody can tell what is meant */
static bool
read_step(Reading *r)
{
	static const char *const operators[] = {"->>", "->", "#>>", "#>"};
	int			i;

	for (i = 0; i < (int) lengthof(operators); i++)
	{
		if (strncmp(r->p, operators[i], strlen(operators[i])) == 0)
		{
			r->p += strlen(operators[i]);
			r->separated = r->arrow = true;
			return true;
		}
	}
	if (scanner_isspace(*r->p))
	{
		r->p++;
		r->spaced = true;
		return true;
	}
	if (strchr("()]", *r->p) != NULL)
	{
		r->p++;
		return true;
	}
	if (strchr("./:", *r->p) != NULL)
	{
		r->p++;
		r->separated = true;
		return true;
	}
	if (*r->p == '[')
		return read_subscript(r);
	if (*r->p == '*' && r->steps != NIL && r->separated)
	{
		r->p++;
		add_subscript(r, pstrdup("*"));
		return true;
	}
	if (*r->p == '\'' || *r->p == '"')
		return r->separated && read_quoted(r);
	return IS_WORD_START(*r->p) && read_word(r);
}

/* read_subscript: reads what follows a bracket, unless it is a name in quotes, which is read next */
static bool
read_subscript(Reading *r)
{
	int			len;

	r->p++;
	r->separated = r->bracket = true;
	if (*r->p == '\'' || *r->p == '"')
		return true;
	len = strcspn(r->p, "]");
	if (r->p[len] != ']')
		return false;
	/* Elsewhere [] means all elements. */
	if (len == 0)
		add_subscript(r, pstrdup("*"));
	else if ((len == 1 && *r->p == '*') || (int) strspn(r->p, "-0123456789") == len)
		add_subscript(r, pnstrdup(r->p, len));
	else
		return false;
	r->p += len;
	return true;
}

/*
 * read_quoted
 *		Reads a member in quotes.  What precedes a text in single quotes is a column, if they
 *		are connected by an operator or a subscript of SQL.
 */
static bool
read_quoted(Reading *r)
{
	char		quote = *r->p;
	const char *end = strchr(r->p + 1, quote);
	char	   *name;

	if (end == NULL || memchr(r->p, '\\', end - r->p) != NULL || end == r->p + 1)
		return false;
	name = pnstrdup(r->p + 1, end - r->p - 1);
	r->p = end + 1;
	if (quote == '\'' && !r->rooted &&
		(r->arrow || (r->bracket && list_length(r->steps) == 1)))
	{
		r->steps = NIL;
		/* only the first one */
		r->rooted = true;
	}
	/* the array of #>> */
	if (quote == '\'' && *name == '{' && name[strlen(name) - 1] == '}')
	{
		ListCell   *cell;

		name[strlen(name) - 1] = '\0';
		foreach(cell, split_at_commas(name + 1))
		{
			char	   *part = lfirst(cell);

			if (*part == '\0' || strpbrk(part, "\"{}") != NULL)
				return false;
			if (strspn(part, "-0123456789") == strlen(part) && r->steps != NIL)
				add_subscript(r, part);
			else
				add_name(r, part);
		}
		return true;
	}
	add_name(r, name);
	return true;
}

/* read_word: reads a word, which may be a member, a subscript without brackets, or a part of a name */
static bool
read_word(Reading *r)
{
	const char *start = r->p;
	char	   *word;

	while (IS_WORD_CHAR(*r->p) || (*r->p == '-' && IS_WORD_CHAR(r->p[1])))
		r->p++;
	word = pnstrdup(start, r->p - start);
	if (r->separated)
	{
		if (r->steps != NIL && strspn(word, "0123456789") == strlen(word))
		{
			if (r->arrow && !r->rooted && list_length(r->steps) == 1)
				return false;
			add_subscript(r, word);
		}
		else
			add_name(r, word);
		return true;
	}
	/* "odd name" */
	if (r->spaced)
	{
		Step	   *last = llast(r->steps);

		if (pg_strcasecmp(word, "asc") == 0 || pg_strcasecmp(word, "desc") == 0)
			return true;
		if (last->name == NULL || ++last->words > MAX_WORDS)
			return false;
		last->name = psprintf("%s %s", last->name, word);
		r->spaced = false;
		return true;
	}
	return false;
}

static void
add_name(Reading *r, char *name)
{
	Step	   *step = palloc0(sizeof(Step));

	step->name = name;
	step->words = 1;
	r->steps = lappend(r->steps, step);
	r->separated = r->arrow = r->bracket = r->spaced = false;
}

static void
add_subscript(Reading *r, char *subscript)
{
	Step	   *last = r->steps != NIL ? llast(r->steps) : NULL;
	Step	   *step;

	r->separated = r->arrow = r->bracket = r->spaced = false;
	/* [*].* means no more than [*]. */
	if (last != NULL && last->subscript != NULL && strcmp(last->subscript, "*") == 0 && strcmp(subscript, "*") == 0)
		return;
	step = palloc0(sizeof(Step));
	step->subscript = subscript;
	r->steps = lappend(r->steps, step);
}

/* tail_at: returns what follows the path if it begins at p, as it should be written; else NULL */
static const char *
tail_at(const char *p, bool spaced)
{
	int			depth = 0;
	int			i;

	if (*p == ':' && (p[1] == ':' || is_type(p + 1)))
	{
		/* A parenthesis that was opened before the path is left out. */
		char	   *tail = psprintf("::%s", p + (p[1] == ':' ? 2 : 1));

		for (i = 0; tail[i] != '\0' && depth >= 0; i++)
			depth += (tail[i] == '(') - (tail[i] == ')');
		if (depth < 0)
			tail[i - 1] = '\0';
		return tail;
	}
	if (spaced && (starts_with_word(p, "as") || starts_with_word(p, "collate")))
		return psprintf(" %s", p);
	if (spaced && is_type(p))
		return psprintf("::%s", p);
	return NULL;
}

static bool
starts_with_word(const char *p, const char *word)
{
	return pg_strncasecmp(p, word, strlen(word)) == 0 && !IS_WORD_CHAR(p[strlen(word)]);
}

/* is_type: returns whether a text is one of the types that fields mostly have */
static bool
is_type(const char *text)
{
	static const char *const types[] = {
		"int", "integer", "int2", "int4", "int8", "bigint", "smallint", "numeric", "decimal", "real", "float", "float4",
		"float8", "double precision", "bool", "boolean", "text", "varchar", "uuid", "date", "time", "timetz", "timestamp",
		"timestamptz", "interval", "jsonb"
	};
	int			i;

	for (i = 0; i < (int) lengthof(types); i++)
		if (pg_strcasecmp(text, types[i]) == 0)
			return true;
	return false;
}

static char *
path_of(List *steps)
{
	StringInfoData path;
	ListCell   *cell;

	initStringInfo(&path);
	foreach(cell, steps)
	{
		Step	   *step = lfirst(cell);

		if (step->name != NULL)
			append_member(&path, step->name);
		else
			appendStringInfo(&path, "[%s]", step->subscript);
	}
	return path.data;
}

/* split_at_commas: returns the parts of a text between commas that are not in quotes, brackets or parentheses */
static List *
split_at_commas(const char *text)
{
	List	   *parts = NIL;
	const char *start = text;
	const char *p;
	char		quote = '\0';
	int			depth = 0;

	for (p = text;; p++)
	{
		if (*p == '\0' || (*p == ',' && quote == '\0' && depth == 0))
		{
			parts = lappend(parts, pnstrdup(start, p - start));
			start = p + 1;
		}
		if (*p == '\0')
			return parts;
		if (quote != '\0')
			quote = *p == quote ? '\0' : quote;
		else if (*p == '\'' || *p == '"')
			quote = *p;
		else
			depth += (strchr("([{", *p) != NULL) - (strchr(")]}", *p) != NULL);
	}
}
