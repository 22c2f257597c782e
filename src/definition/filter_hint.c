/*-------------------------------------------------------------------------
 *
 * filter_hint.c
 *	  Guesses which filter a user means who has written members of the document as if they were
 *	  columns, as in other languages, or without a cast.
 *
 * The text is read as words, literals and operators, without a grammar.  Words that are
 * neither columns nor keywords are members of the document or, behind a comparison, texts
 * without quotes.  The caller sees whether the guess is a filter.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "common/keywords.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"
#include "parser/scansup.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "columns.h"
#include "filter_hint.h"

#define IS_WORD_START(c)	(isalpha((unsigned char) (c)) || (c) == '_' || IS_HIGHBIT_SET(c))
#define IS_WORD_CHAR(c)		(IS_WORD_START(c) || isdigit((unsigned char) (c)) || (c) == '$')
#define OPERATOR_CHARS		"+-*/<>=~!@#%^&|`?"

typedef enum TokenKind
{
	TOKEN_END,
	TOKEN_WORD,					/* also a name in double quotes */
	TOKEN_STRING,
	TOKEN_NUMBER,
	TOKEN_OPERATOR,
	TOKEN_OTHER					/* a parenthesis, for example, or a "$" */
} TokenKind;

typedef struct Token
{
	TokenKind	kind;
	const char *start;			/* with what precedes it: white space */
	const char *at;
	const char *end;
	char	   *text;			/* without quotes */
	bool		keyword;		/* a word that SQL does not allow as the name
								 * of a column */
} Token;

/* The text as it is rewritten. */
typedef struct Rewriting
{
	Relation	fact;
	const char *document;		/* the column */
	Token	   *tokens;			/* begin and end with TOKEN_END */
	StringInfoData out;
	bool		changed;
} Rewriting;

static Token *read_tokens(const char *text);
static bool read_token(const char *p, Token *token);
static char *unquote(const char *p, const char *end);
static bool is_text(Token *token, const char *text);
static bool is_comparison(Token *token);
static bool is_name(Token *token);
static bool is_column(Rewriting *r, const char *name);
static Token *rewrite_path(Rewriting *r, Token *token);
static const char *needed_cast(Token *before, Token *after);
static bool is_literal_of(Token *token, bool number);
static bool is_value(Rewriting *r, Token *token, bool in_list);
static void put(Rewriting *r, Token *token, const char *text);

/*
 * meant_filter
 *		Returns the filter that a text may mean, or NULL.
 */
char *
meant_filter(Relation fact, const char *text)
{
	Rewriting	r = {.fact = fact};
	TupleDesc	desc = RelationGetDescr(fact);
	Token	   *token;
	int			in_list = 0;	/* the depth of parentheses behind IN */
	int			i;

	for (i = desc->natts - 1; i >= 0; i--)
		if (!TupleDescAttr(desc, i)->attisdropped && is_document_column(TupleDescAttr(desc, i)))
			r.document = NameStr(TupleDescAttr(desc, i)->attname);
	r.tokens = read_tokens(text);
	if (r.tokens == NULL || r.document == NULL)
		return NULL;
	initStringInfo(&r.out);
	token = r.tokens + 1;
	if (is_text(token, "where"))
	{
		r.changed = true;
		token++;
	}
	while (token->kind != TOKEN_END)
	{
		Token	   *next;

		if (is_text(token, "("))
			in_list += in_list > 0 || is_text(token - 1, "in");
		else if (is_text(token, ")"))
			in_list -= in_list > 0;
		if (is_text(token, "==") || is_text(token, "==="))
			put(&r, token++, "=");
		else if (is_text(token, "!=="))
			put(&r, token++, "<>");
		else if (is_text(token, ";") && token[1].kind == TOKEN_END)
		{
			r.changed = true;
			token++;
		}
		else if (is_value(&r, token, in_list > 0))
		{
			put(&r, token, quote_literal_cstr(token->text));
			token++;
		}
		else if ((next = rewrite_path(&r, token)) != NULL)
			token = next;
		else
		{
			appendBinaryStringInfo(&r.out, token->start, token->end - token->start);
			token++;
		}
	}
	for (i = 0; scanner_isspace(r.out.data[i]);)
		i++;
	return r.changed ? r.out.data + i : NULL;
}

/* read_tokens: returns the words, literals and operators of a text, or NULL if it has something else */
static Token *
read_tokens(const char *text)
{
	Token	   *tokens = palloc0(sizeof(Token) * (strlen(text) + 3));
	Token	   *token = tokens + 1;
	const char *p = text;

	for (;; token++)
	{
		token->start = p;
		while (scanner_isspace(*p))
			p++;
		token->at = p;
		if (*p == '\0')
			return tokens;
		if (!read_token(p, token))
			return NULL;
		p = token->end;
	}
}

/* read_token: reads the token at p; returns false if there is none */
static bool
read_token(const char *p, Token *token)
{
	const char *end = p + 1;

	if (IS_WORD_START(*p))
	{
		int			keyword;

		while (IS_WORD_CHAR(*end))
			end++;
		if (*end == '\'')
			return false;
		token->kind = TOKEN_WORD;
		token->text = pnstrdup(p, end - p);
		keyword = ScanKeywordLookup(downcase_identifier(token->text, end - p, false, false), &ScanKeywords);
		token->keyword = keyword >= 0 && ScanKeywordCategories[keyword] != UNRESERVED_KEYWORD;
	}
	else if (*p == '"' || *p == '\'')
	{
		for (;; end++)
		{
			if (*end == '\0')
				return false;
			if (*end != *p)
				continue;
			if (*++end != *p)
				break;
		}
		token->kind = *p == '"' ? TOKEN_WORD : TOKEN_STRING;
		token->text = unquote(p, end);
	}
	else if (isdigit((unsigned char) *p))
	{
		while (isdigit((unsigned char) *end) || *end == '.')
			end++;
		token->kind = TOKEN_NUMBER;
	}
	else if (strncmp(p, "--", 2) == 0 || strncmp(p, "/*", 2) == 0)
		return false;
	else if (*p == '@' && (*end == '.' || IS_WORD_START(*end)))
		token->kind = TOKEN_OTHER;
	else if (strchr(OPERATOR_CHARS, *p) != NULL)
	{
		/* a "-" or "@" before an operand is an operator of its own */
		while (*end != '\0' && strchr(OPERATOR_CHARS, *end) != NULL && (*end != '@' || !IS_WORD_START(end[1])) &&
			   (*end != '-' || end[1] == '>'))
			end++;
		token->kind = TOKEN_OPERATOR;
	}
	else
	{
		if (strncmp(p, "::", 2) == 0)
			end++;
		token->kind = TOKEN_OTHER;
	}
	token->end = end;
	if (token->text == NULL)
		token->text = pnstrdup(p, end - p);
	return true;
}

/* unquote: returns what is between quotes, which come in pairs there */
static char *
unquote(const char *p, const char *end)
{
	StringInfoData text;
	const char *c;

	initStringInfo(&text);
	for (c = p + 1; c < end - 1; c++)
	{
		appendStringInfoChar(&text, *c);
		c += *c == *p;
	}
	return text.data;
}

/* is_text: returns whether a token is that operator, or that word without quotes */
static bool
is_text(Token *token, const char *text)
{
	return token->kind != TOKEN_END && token->kind != TOKEN_STRING && *token->at != '"' &&
		pg_strcasecmp(token->text, text) == 0;
}

static bool
is_comparison(Token *token)
{
	static const char *const comparisons[] = {"=", "==", "===", "<>", "!=", "!==", "<", "<=", ">", ">=", "~", "~*", "!~", "!~*", "like", "ilike"};
	int			i;

	for (i = 0; i < (int) lengthof(comparisons); i++)
		if (is_text(token, comparisons[i]))
			return true;
	return false;
}

/* is_name: returns whether a token may be the name of a member, or its text */
static bool
is_name(Token *token)
{
	return token->kind == TOKEN_WORD && !token->keyword && token->text[0] != '\0';
}

/* is_column: returns whether the fact table has a column of that name, in whatever case */
static bool
is_column(Rewriting *r, const char *name)
{
	TupleDesc	desc = RelationGetDescr(r->fact);
	int			i;

	for (i = 0; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped && pg_strcasecmp(NameStr(TupleDescAttr(desc, i)->attname), name) == 0)
			return true;
	return false;
}

/*
 * rewrite_path
 *		Writes a member of the document as SQL reads it, and returns the token behind it; returns
 *		NULL if there is none at the token.
 */
static Token *
rewrite_path(Rewriting *r, Token *token)
{
	Token	   *first = token;
	Token	   *end;
	List	   *names = NIL;	/* of Token * */
	bool		rooted = false;
	bool		braces = is_text(token, "{");
	bool		as_json = false;
	bool		as_text = false;
	const char *cast;
	StringInfoData path;
	ListCell   *cell;

	/* '{member}', $.member, @.member and @column */
	if (braces)
		token++;
	if ((is_text(token, "$") && is_text(token + 1, ".")) || is_text(token, "@"))
	{
		rooted = is_text(token + 1, ".");
		token += rooted ? 2 : 1;
	}
	if (!is_name(token) || (first > r->tokens + 1 && is_text(first - 1, "::")))
		return NULL;
	names = lappend(names, token++);
	for (;;)
	{
		bool		arrow = is_text(token, "->") || is_text(token, "->>");
		bool		subscript = is_text(token, "[") && token[1].kind == TOKEN_STRING && is_text(token + 2, "]");

		if (!subscript && !(is_text(token, ".") && token[1].kind == TOKEN_WORD) &&
			!(arrow && (token[1].kind == TOKEN_WORD || token[1].kind == TOKEN_STRING || token[1].kind == TOKEN_NUMBER)))
			break;
		as_json = is_text(token, "->");
		as_text = is_text(token, "->>");
		names = lappend(names, token + 1);
		token += subscript ? 3 : 2;
	}
	end = braces && is_text(token, "}") ? token + 1 : token;
	if ((braces && end == token) || is_text(end, "(") || is_text(end, "."))
		return NULL;

	/* fact.column ->> 'member' */
	if (!rooted && !braces && list_length(names) > 1 &&
		pg_strcasecmp(((Token *) linitial(names))->text, RelationGetRelationName(r->fact)) == 0)
		names = list_delete_first(names);
	if (!rooted && pg_strcasecmp(((Token *) linitial(names))->text, r->document) == 0)
	{
		if (list_length(names) == 1)
			return NULL;
		names = list_delete_first(names);
	}
	else if (!rooted && is_column(r, ((Token *) linitial(names))->text))
	{
		/* Only what surrounds the name of a column is left out. */
		if (list_length(names) > 1 || end == first + 1)
			return NULL;
		put(r, first, quote_identifier(((Token *) linitial(names))->text));
		return end;
	}

	initStringInfo(&path);
	appendStringInfoString(&path, quote_identifier(r->document));
	cast = needed_cast(first - 1, end);
	if (cast != NULL || is_comparison(end))
		as_json = false;
	else if (!as_text && end->kind == TOKEN_OPERATOR && strchr("@?<", *end->at) != NULL)
		as_json = true;
	foreach(cell, names)
	{
		Token	   *name = lfirst(cell);

		appendStringInfo(&path, " %s %s", lnext(names, cell) != NULL || as_json ? "->" : "->>",
						 name->kind == TOKEN_NUMBER ? name->text : quote_literal_cstr(name->text));
	}
	put(r, first, cast != NULL ? psprintf("(%s)%s%s", path.data, cast[0] == '\0' ? "" : "::", cast) : path.data);
	return end;
}

/*
 * needed_cast
 *		Returns the type that a member must be cast to, by what stands before and behind it: ""
 *		if that is a cast, which needs parentheses, and NULL if nothing is needed.
 */
static const char *
needed_cast(Token *before, Token *after)
{
	Token	   *next = after;

	if (is_text(after, "::"))
		return "";
	if (is_comparison(after) || is_text(after, "between"))
		next = after + 1;
	else if (is_text(after, "in") && is_text(after + 1, "("))
		next = after + 2;
	else if (is_text(after, "is"))
		next = after + (is_text(after + 1, "not") ? 2 : 1);
	if (next > after && is_literal_of(next, true))
		return "numeric";
	if (next > after && is_literal_of(next, false))
		return "boolean";
	if (is_comparison(before) && is_literal_of(before - 1, true))
		return "numeric";
	/* a member alone is a condition */
	if ((before->kind == TOKEN_END || is_text(before, "and") || is_text(before, "or") || is_text(before, "not") ||
		 is_text(before, "where")) &&
		(after->kind == TOKEN_END || is_text(after, "and") || is_text(after, "or")))
		return "boolean";
	return NULL;
}

/* is_literal_of: returns whether a token is a number, or else whether it is true or false */
static bool
is_literal_of(Token *token, bool number)
{
	if (number)
		return token->kind == TOKEN_NUMBER || (is_text(token, "-") && token[1].kind == TOKEN_NUMBER);
	return is_text(token, "true") || is_text(token, "false");
}

/* is_value: returns whether a word is the text that something is compared with */
static bool
is_value(Rewriting *r, Token *token, bool in_list)
{
	Token	   *before = token - 1;
	Token	   *left = before - 1;

	/* After a literal, which is not the name of a member, it is a member. */
	if (is_comparison(before) &&
		(left->kind == TOKEN_END || left->kind == TOKEN_NUMBER ||
		 (left->kind == TOKEN_STRING && !is_text(left - 1, "->") && !is_text(left - 1, "->>"))))
		return false;
	return is_name(token) && !is_column(r, token->text) &&
		(is_comparison(before) || (in_list && (is_text(before, "(") || is_text(before, ",")))) &&
		!is_text(token + 1, "(") && !is_text(token + 1, ".") && !is_text(token + 1, "->") && !is_text(token + 1, "->>");
}

/* put: writes a text in the place of a token and those behind it that belong to it */
static void
put(Rewriting *r, Token *token, const char *text)
{
	appendBinaryStringInfo(&r->out, token->start, token->at - token->start);
	appendStringInfoString(&r->out, text);
	r->changed = true;
}
