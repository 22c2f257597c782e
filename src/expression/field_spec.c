/*-------------------------------------------------------------------------
 *
 * field_spec.c
 *	  Parses the text of a field: path [::type] [COLLATE "c"] [AS name], or an SQL expression
 *	  in parentheses AS name.
 *
 * The path is parsed here.  What follows it is SQL, and is parsed by the server's own
 * grammar.  So is an expression, in expression.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "catalog/namespace.h"
#include "common/string.h"
#include "mb/pg_wchar.h"
#include "parser/parse_type.h"
#include "parser/scansup.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/syscache.h"

#include "../indextable.h"
#include "../util/arguments.h"
#include "../util/sql.h"
#include "expression.h"

/* The longest field. */
#define MAX_FIELD_BYTES		(32 * 1024)
#define IS_MEMBER_START(c)	(isalpha((unsigned char) (c)) || (c) == '_' || IS_HIGHBIT_SET(c))
#define IS_MEMBER_CHAR(c)	(IS_MEMBER_START(c) || isdigit((unsigned char) (c)) || (c) == '$')
#define IS_SPACE(c)			(scanner_isspace(c))

/* What a field is: a hint where something else was written. */
#define FIELD_HINT \
	"A field is a path such as address.city or tags[*], a column such as @town, or an expression in parentheses, such as (lower(doc ->> 'city')) AS city. A path may have a type, as in age::int. Write members that have other characters than letters, digits and \"_\" in double quotes."

pg_noreturn static void spec_error(const char *text, const char *at, const char *what, const char *hint);
static const char *parse_column(FieldSpec *spec, const char *p);
static const char *parse_elements(FieldSpec *spec, const char *p);
static const char *parse_expression(FieldSpec *spec, const char *p);
static const char *parse_path(FieldSpec *spec, const char *p);
static const char *parse_member(FieldSpec *spec, const char *p);
static char *json_string(FieldSpec *spec, const char *start, int len);
static const char *parse_subscript(FieldSpec *spec, const char *p);
static void add_step(FieldSpec *spec, char *name, bool wildcard);
static void parse_tail(FieldSpec *spec, const char *tail);
static void check_type_name(const char *text, TypeName *type);
static ResTarget *parse_tail_expression(const char *text, const char *tail);
static char *name_after_as(const char *tail, const char **as);
static const char *nearest_type(const char *name);

/* What a type is called elsewhere. */
static const char *const others[][2] = {
	{"string", "text"}, {"str", "text"}, {"varchar2", "text"}, {"nvarchar", "text"}, {"nvarchar2", "text"}, {"nchar", "text"},
	{"clob", "text"}, {"nclob", "text"}, {"ntext", "text"}, {"tinytext", "text"}, {"mediumtext", "text"}, {"longtext", "text"},
	{"symbol", "text"}, {"keyword", "text"}, {"enum", "text"}, {"objectid", "text"},
	{"number", "numeric"}, {"num", "numeric"}, {"decimal128", "numeric"}, {"bigdecimal", "numeric"}, {"smallmoney", "numeric"},
	{"currency", "numeric"},
	{"long", "bigint"}, {"int64", "bigint"}, {"uint32", "bigint"}, {"bigserial", "bigint"}, {"serial8", "bigint"},
	{"uint64", "numeric"},
	{"int32", "integer"}, {"uint16", "integer"}, {"mediumint", "integer"}, {"serial", "integer"}, {"serial4", "integer"},
	{"short", "smallint"}, {"int16", "smallint"}, {"int1", "smallint"}, {"tinyint", "smallint"}, {"byte", "smallint"},
	{"smallserial", "smallint"}, {"serial2", "smallint"},
	{"double", "double precision"}, {"float64", "double precision"}, {"binary_double", "double precision"},
	{"single", "real"}, {"float32", "real"}, {"binary_float", "real"},
	{"logical", "boolean"},
	{"datetime", "timestamptz"}, {"datetime2", "timestamp"}, {"datetimeoffset", "timestamptz"}, {"smalldatetime", "timestamp"},
	{"instant", "timestamptz"}, {"isodate", "timestamptz"}, {"timestamp_tz", "timestamptz"}, {"timestamp_ntz", "timestamp"},
	{"localdate", "date"}, {"localdatetime", "timestamp"},
	{"guid", "uuid"}, {"uniqueidentifier", "uuid"},
	{"object", "jsonb"}, {"array", "jsonb"}, {"map", "jsonb"}, {"any", "jsonb"}, {"variant", "jsonb"}, {"bson", "jsonb"}
};

static const char *const usual[] = {"text", "varchar", "integer", "int", "int2",
	"int4", "int8", "bigint", "smallint", "numeric",
	"decimal", "real", "float4", "float8", "bool",
	"boolean", "uuid", "date", "time", "timestamp",
"timestamptz", "interval", "jsonb", "bytea", "inet"};

/*
 * check_name_length
 *		Refuses a name for something new if the server would cut it because it is too long.
 */
void
check_name_length(const char *name, const char *hint)
{
	if (strlen(name) >= NAMEDATALEN)
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("identifier \"%s\" is too long", name),
				 errdetail("It has %d bytes; at most %d are allowed.", (int) strlen(name), NAMEDATALEN - 1),
				 errhint("%s", hint)));
}

/*
 * parse_field_spec
 *		Returns the field that text describes.  Errors tell at which character they are.
 *		Without with_type, what follows the path is skipped: once an index table exists, its
 *		columns tell which type, collation and name the field has.
 */
FieldSpec *
parse_field_spec(const char *text, bool with_type)
{
	FieldSpec  *spec;
	const char *p;

	if (strlen(text) > MAX_FIELD_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("field \"%.*s...\" is too long", pg_mbcliplen(text, strlen(text), NAMEDATALEN), text),
				 errdetail("It has %zu bytes; at most %d are allowed.", strlen(text), MAX_FIELD_BYTES)));
	spec = palloc0(sizeof(FieldSpec));
	p = spec->text = pstrdup(text);
	spec->typmod = -1;

	while (IS_SPACE(*p))
		p++;
	if (*p == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("field must not be empty"),
				 errhint(FIELD_HINT)));

	if (*p == '(')
	{
		spec->tail = parse_expression(spec, p) - spec->text;
		return spec;
	}
	p = (*p == '@') ? parse_column(spec, p + 1) : parse_path(spec, p);

	if (*p != '\0' && !IS_SPACE(*p) && strncmp(p, "::", 2) != 0)
		spec_error(spec->text, p, "expected \".\", \"[\", \"::\" or the end of the path", NULL);
	spec->tail = p - spec->text;
	if (with_type)
		parse_tail(spec, p);
	return spec;
}

/* spec_error: raises a syntax error of a field, at a place in its text */
static void
spec_error(const char *text, const char *at, const char *what, const char *hint)
{
	int			position = pg_mbstrlen_with_len(text, at - text) + 1;

	ereport(ERROR,
			(errcode(ERRCODE_SYNTAX_ERROR),
			 errmsg("invalid field \"%s\": %s", text, what),
			 *at == '\0' ? errdetail("The text ends at character %d.", position) :
			 errdetail("The error is at character %d, \"%s\".", position, at),
			 errhint("%s", hint != NULL ? hint : FIELD_HINT)));
}

/*
 * parse_column
 *		Parses the name of a column, an SQL identifier, and perhaps [*] after it, and returns the
 *		place behind them.  The name is folded to lower case as SQL does it.
 */
static const char *
parse_column(FieldSpec *spec, const char *p)
{
	StringInfoData buf;
	const char *start = p;

	initStringInfo(&buf);
	if (*p == '"')
	{
		bool		closed = false;

		for (p++; *p != '\0' && !closed; p++)
		{
			if (*p == '"' && p[1] != '"')
				closed = true;
			else
			{
				if (*p == '"')
					p++;
				appendStringInfoChar(&buf, *p);
			}
		}
		if (!closed)
			spec_error(spec->text, start, "a double quote is not closed",
					   "Write a double quote within a name twice.");
		if (buf.len == 0)
			spec_error(spec->text, start, "expected a column name in double quotes after \"@\"", NULL);
		spec->column = buf.data;
	}
	else
	{
		if (!IS_MEMBER_START(*p))
			spec_error(spec->text, p, "expected a column name after \"@\"", NULL);
		while (IS_MEMBER_CHAR(*p))
			p++;
		check_name_length(pnstrdup(start, p - start), "The table has no column of this name.");
		spec->column = downcase_truncate_identifier(start, p - start, false);
	}
	/* No column can have the name of a system column. */
	spec->name = pstrdup(is_hint_column(spec) ? "fact_ctid" : spec->column);
	return *p == '[' ? parse_elements(spec, p) : p;
}

/* parse_elements: parses the [*] after a column, and returns the place behind it */
static const char *
parse_elements(FieldSpec *spec, const char *p)
{
	if (strncmp(p, "[*]", 3) != 0)
		spec_error(spec->text, p, "expected \"[*]\" after a column",
				   "@tags[*] is each element of an array. One of them is an expression: (tags[1]) AS tag.");
	p = parse_subscript(spec, p + 1);
	if (*p == '.' || *p == '[')
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a path into the elements of column \"%s\" is not supported", spec->column),
				 errdetail("Field \"%s\" goes on after \"[*]\", which has all elements, of all dimensions.", spec->text),
				 errhint("Members of elements can be fields of a JSONB column, as in lines[*].name.")));
	return p;
}

/* parse_expression: takes what precedes AS for an expression, and returns the place behind it */
static const char *
parse_expression(FieldSpec *spec, const char *p)
{
	const char *end = p + strlen(p);

	spec->name = name_after_as(p, &end);
	if (spec->name != NULL)
		check_name_length(spec->name, "Choose a shorter name.");
	while (end > p && IS_SPACE(end[-1]))
		end--;
	spec->expression = pnstrdup(p, end - p);
	return end;
}

/* is_hint_column: returns whether a field is @ctid, the place of the fact row */
bool
is_hint_column(FieldSpec *spec)
{
	return spec->column != NULL && strcmp(spec->column, "ctid") == 0;
}

/*
 * parse_path
 *		Parses member { "." member | "[" subscript "]" }, after an optional "$", and returns
 *		the place behind it.
 */
static const char *
parse_path(FieldSpec *spec, const char *p)
{
	bool		rooted = (*p == '$');

	if (rooted)
	{
		p++;
		if (*p != '.' && *p != '[')
			spec_error(spec->text, p, "expected \".\" or \"[\" after \"$\"",
					   "The whole document cannot be a field. The strategy \"denormalized\" copies it.");
	}
	else if (*p != '[')
		p = parse_member(spec, p);

	for (;;)
	{
		if (*p == '.')
			p = parse_member(spec, p + 1);
		else if (*p == '[')
			p = parse_subscript(spec, p + 1);
		else
			return p;
	}
}

/*
 * parse_member
 *		Parses the name of a member, in double quotes or not, and returns the place behind it.
 */
static const char *
parse_member(FieldSpec *spec, const char *p)
{
	const char *start = p;
	char	   *name;

	if (*p == '"')
	{
		for (p++; *p != '\0' && *p != '"'; p++)
			if (*p == '\\' && p[1] != '\0')
				p++;
		if (*p == '\0')
			spec_error(spec->text, start, "a double quote is not closed", NULL);
		p++;
		name = json_string(spec, start, p - start);
	}
	else
	{
		if (!IS_MEMBER_START(*p))
			spec_error(spec->text, p, "expected the name of a member", NULL);
		while (IS_MEMBER_CHAR(*p))
			p++;
		name = pnstrdup(start, p - start);
	}
	add_step(spec, name, false);
	spec->name = name;
	return p;
}

/*
 * json_string
 *		Returns what a member in double quotes stands for: it is a JSON string, and has its
 *		escapes.
 */
static char *
json_string(FieldSpec *spec, const char *start, int len)
{
	MemoryContext cxt = CurrentMemoryContext;
	Jsonb	   *volatile json = NULL;
	JsonbValue	value;

	PG_TRY();
	{
		json = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(pnstrdup(start, len))));
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(cxt);
		error = CopyErrorData();
		if (ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_DATA_EXCEPTION)
			PG_RE_THROW();
		FlushErrorState();
		spec_error(spec->text, start, "a member in double quotes must be a JSON string",
				   "Write a double quote as \\\", a backslash as \\\\, and a control character as \\u and four digits.");
	}
	PG_END_TRY();
	JsonbExtractScalar(&json->root, &value);
	return pnstrdup(value.val.string.val, value.val.string.len);
}

/* parse_subscript: parses what is between brackets, and returns the place behind them */
static const char *
parse_subscript(FieldSpec *spec, const char *p)
{
	const char *start = p;

	if (*p == '*')
	{
		p++;
		add_step(spec, NULL, true);
		spec->multi = true;
	}
	else
	{
		if (*p == '-')
			p++;
		while (isdigit((unsigned char) *p))
			p++;
		if (p == start || p[-1] == '-' || p - start > 9)
			spec_error(spec->text, start, "expected \"*\" or a number after \"[\"", NULL);
		add_step(spec, pnstrdup(start, p - start), false);
	}
	if (*p != ']')
		spec_error(spec->text, p, "expected \"]\"", NULL);
	return p + 1;
}

/* same_steps: returns whether the paths of two fields agree in the first n steps */
bool
same_steps(FieldSpec *a, FieldSpec *b, int n)
{
	for (int i = 0; i < n; i++)
	{
		PathStep   *x = &a->steps[i];
		PathStep   *y = &b->steps[i];

		if (x->wildcard != y->wildcard || (!x->wildcard && strcmp(x->name, y->name) != 0))
			return false;
	}
	return true;
}

/* add_step: adds a member, a subscript or a wildcard to the path of a field */
static void
add_step(FieldSpec *spec, char *name, bool wildcard)
{
	PathStep   *step;

	spec->steps = spec->steps == NULL ? palloc(sizeof(PathStep)) :
		repalloc(spec->steps, sizeof(PathStep) * (spec->nsteps + 1));
	step = &spec->steps[spec->nsteps++];
	memset(step, 0, sizeof(PathStep));
	step->wildcard = wildcard;
	if (name != NULL)
	{
		char	   *end;

		/*
		 * A name is also a subscript if the #>> operator takes it for one
		 * when it meets an array.
		 */
		step->name = name;
		step->len = strlen(name);
		errno = 0;
		step->index = strtoint(name, &end, 10);
		step->is_index = is_subscript(name);
	}
}

/*
 * parse_tail
 *		Parses what follows a path, [::type] [COLLATE "c"] [AS name], by the server's grammar.
 */
static void
parse_tail(FieldSpec *spec, const char *tail)
{
	ParseContext context;
	ResTarget  *target;
	Node	   *node;
	char	   *name;
	const char *as;

	while (IS_SPACE(*tail))
		tail++;
	if (*tail == '\0')
		return;
	name = name_after_as(tail, &as);
	/* The grammar would cut a name that is too long. */
	if (name != NULL)
		check_name_length(name, "Choose a shorter name.");

	push_parse_context(&context, "field", spec->text, strlen("SELECT NULL "),
					   pg_mbstrlen_with_len(spec->text, tail - spec->text));
	target = parse_tail_expression(spec->text, tail);
	if (target != NULL)
	{
		node = target->val;
		if (IsA(node, CollateClause))
		{
			spec->collation = get_collation_oid(((CollateClause *) node)->collname, false);
			node = ((CollateClause *) node)->arg;
		}
		if (IsA(node, TypeCast))
		{
			TypeName   *type = ((TypeCast *) node)->typeName;

			if (type->setof)
				target = NULL;
			else
			{
				check_type_name(spec->text, type);
				typenameTypeIdAndMod(NULL, type, &spec->type, &spec->typmod);
			}
			node = ((TypeCast *) node)->arg;
		}
		if (!IsA(node, A_Const) || !((A_Const *) node)->isnull)
			target = NULL;
		/* SQL allows a name without AS, which would hide "address city". */
		if (target != NULL && target->name != NULL)
		{
			if (name != NULL)
				spec->name = target->name;
			else
				target = NULL;
		}
	}
	pop_parse_context(&context);

	if (target == NULL)
		spec_error(spec->text, tail, "expected [::type] [COLLATE \"c\"] [AS name] after the path", NULL);
}

/*
 * check_type_name
 *		Refuses the name of a type that does not exist, with the one that is perhaps meant.
 */
static void
check_type_name(const char *text, TypeName *type)
{
	Type		found = LookupTypeName(NULL, type, NULL, false);
	const char *meant;

	if (found != NULL)
	{
		ReleaseSysCache(found);
		return;
	}
	meant = nearest_type(strVal(llast(type->names)));
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("type \"%s\" does not exist", TypeNameToString(type)),
			 meant == NULL ? errhint(USUAL_TYPES) :
			 errhint("Perhaps you mean this field: %s.", field_of_type(text, meant, type->arrayBounds != NIL))));
}

/* parse_tail_expression: parses what follows a path; syntax errors speak of the field */
static ResTarget *
parse_tail_expression(const char *text, const char *tail)
{
	MemoryContext cxt = CurrentMemoryContext;
	ResTarget  *volatile target = NULL;

	PG_TRY();
	{
		target = parse_lone_expression("NULL ", tail);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(cxt);
		error = CopyErrorData();
		if (error->sqlerrcode != ERRCODE_SYNTAX_ERROR)
			PG_RE_THROW();
		FlushErrorState();

		/*
		 * parse_error_callback() has turned its position into one in the
		 * field
		 */
		spec_error(text, error->internalpos <= 0 ? tail + strlen(tail) :
				   text +pg_mbcharcliplen(text, strlen(text), error->internalpos - 1),
				   error->message,
				   "In an array literal, put a field with a comma or a double quote into double quotes, or write ARRAY['...'] instead.");
	}
	PG_END_TRY();
	return target;
}

/*
 * name_after_as
 *		Returns the name at the end of a tail if AS precedes it, without quotes, or else in
 *		lower case, and sets *as to the place of AS; else returns NULL.
 */
static char *
name_after_as(const char *tail, const char **as)
{
	const char *p = tail + strlen(tail);
	const char *end;
	StringInfoData name;
	const char *c;
	bool		quoted;

	while (p > tail && IS_SPACE(p[-1]))
		p--;
	end = p;
	if (p > tail && p[-1] == '"')
	{
		/* back over the name, in which double quotes come in pairs */
		for (p--; p > tail; p--)
		{
			if (p[-1] != '"')
				continue;
			if (p - 1 > tail && p[-2] == '"')
				p--;
			else
				break;
		}
		p--;
	}
	else
		while (p > tail && IS_MEMBER_CHAR(p[-1]))
			p--;
	initStringInfo(&name);
	for (c = p; c < end; c++)
	{
		if (*c != '"')
			appendStringInfoChar(&name, *c);
		else if (c > p && c < end - 1)
			appendStringInfoChar(&name, *c++);
	}
	quoted = *p == '"';
	while (p > tail && IS_SPACE(p[-1]))
		p--;
	if (p - tail < 2 || pg_strncasecmp(p - 2, "as", 2) != 0 || (p - tail > 2 && IS_MEMBER_CHAR(p[-3])))
		return NULL;
	*as = p - 2;
	return quoted ? name.data : downcase_identifier(name.data, name.len, false, false);
}

/*
 * name_field
 *		Returns the text of a field so that its column gets a name: with AS, unless the column
 *		has the name anyway.
 *
 * Once an index table exists, its columns can be renamed, while the field keeps its text.
 */
char *
name_field(const char *text, const char *name)
{
	FieldSpec  *spec = parse_field_spec(text, false);
	const char *end = text +strlen(text);
	char	   *named = name_after_as(text +spec->tail, &end);

	if (named == NULL)
		named = spec->name;
	if (named != NULL && strcmp(named, name) == 0)
		return pstrdup(text);
	while (end > text &&IS_SPACE(end[-1]))
		end--;
	return psprintf("%s AS %s", pnstrdup(text, end - text), quote_identifier(name));
}

/*
 * field_of_type
 *		Returns a field with another type, as an argument of create(): of each element of the
 *		array that it is, or of its value.
 */
char *
field_of_type(const char *text, const char *type, bool elements)
{
	FieldSpec  *spec = parse_field_spec(text, false);
	const char *as = text +strlen(text);

	(void) name_after_as(text +spec->tail, &as);
	return array_literal(
						 list_make1(psprintf("%.*s%s::%s%s%s", spec->tail, text, elements && !spec->multi ? "[*]" : "", type,
											 *as == '\0' ? "" : " ", as)));
}

/*-------------------------------------------------------------------------
 * Guesses which type a user means who has written one of another language or database.
 *-------------------------------------------------------------------------
 */

/* nearest_type: returns the type that is meant by the name of one that does not exist, or NULL */
static const char *
nearest_type(const char *name)
{
	Nearest		nearest = {.written = name};

	for (int i = 0; i < (int) lengthof(others); i++)
		if (pg_strcasecmp(others[i][0], name) == 0)
			return others[i][1];
	for (int i = 0; i < (int) lengthof(usual); i++)
		try_name(&nearest, usual[i]);
	return nearest.name;
}
