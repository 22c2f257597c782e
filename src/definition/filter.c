/*-------------------------------------------------------------------------
 *
 * filter.c
 *	  Checks filters that users give, and says what they may mean if it is no SQL condition.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "utils/rel.h"

#include "../indextable.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "expression.h"
#include "filter.h"
#include "filter_hint.h"

/* The longest filter: it is parsed whenever the definition is loaded. */
#define MAX_FILTER_BYTES	(1024 * 1024)

/* A filter that is checked. */
typedef struct Attempt
{
	Relation	fact;
	const char *filter;
	char	   *result;			/* in the form that the catalog keeps */
	MemoryContext cxt;			/* of that */
} Attempt;

static void try_filter(void *arg);
static void add_hint(ErrorData *error, Attempt *attempt);
static bool is_mistaken(int sqlerrcode);

/*
 * check_filter
 *		Checks a filter that a user gives, and returns it in the form that the catalog keeps.
 *		An error has a hint with the filter that the user may mean.
 */
char *
check_filter(Relation fact, const char *filter)
{
	Attempt		attempt = {.fact = fact,.filter = filter,.cxt = CurrentMemoryContext};
	ErrorData  *error;

	if (strlen(filter) > MAX_FILTER_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("filter is too long"),
				 errdetail("It has %zu bytes; at most %d are allowed.", strlen(filter), MAX_FILTER_BYTES)));
	error = run_catching_errors(try_filter, &attempt);
	if (error != NULL)
	{
		if (is_mistaken(error->sqlerrcode))
			add_hint(error, &attempt);
		ReThrowError(error);
	}
	return attempt.result;
}

/* try_filter: raises an error if an attempt is no filter */
static void
try_filter(void *arg)
{
	Attempt    *attempt = arg;
	char	   *result = expression_text(attempt->fact, expression_compile_filter(attempt->fact, attempt->filter));

	attempt->result = MemoryContextStrdup(attempt->cxt, result);
}

/* add_hint: adds to an error the filter that the user may mean, or at least how members of documents are read */
static void
add_hint(ErrorData *error, Attempt *attempt)
{
	Attempt		guess = {.fact = attempt->fact,.filter = meant_filter(attempt->fact, attempt->filter),.cxt = attempt->cxt};

	if (guess.filter != NULL && run_catching_errors(try_filter, &guess) == NULL)
	{
		const char *literal = sql_literal(guess.filter);

		/* The server names a column that is spelled almost like it. */
		error->hint = error->hint != NULL && error->sqlerrcode == ERRCODE_UNDEFINED_COLUMN ?
			psprintf("%s For a member of the document, use filter => %s.", error->hint, literal) :
			psprintf("Perhaps you mean filter => %s.", literal);
	}
	else if (error->hint == NULL && error->sqlerrcode == ERRCODE_DATATYPE_MISMATCH)
		error->hint = psprintf("Compare the value, or cast it: (%s)::boolean.", attempt->filter);
	else if (error->hint == NULL && (error->sqlerrcode == ERRCODE_UNDEFINED_COLUMN || error->sqlerrcode == ERRCODE_UNDEFINED_TABLE))
		error->hint = pstrdup("A filter is an SQL expression over the columns of the table. For a member of the document, write column ->> 'member'.");
}

/* is_mistaken: returns whether an error may come from a member of the document that is not written as in SQL */
static bool
is_mistaken(int sqlerrcode)
{
	return sqlerrcode == ERRCODE_UNDEFINED_COLUMN || sqlerrcode == ERRCODE_UNDEFINED_TABLE ||
		sqlerrcode == ERRCODE_UNDEFINED_FUNCTION || sqlerrcode == ERRCODE_DATATYPE_MISMATCH ||
		sqlerrcode == ERRCODE_SYNTAX_ERROR || sqlerrcode == ERRCODE_INVALID_TEXT_REPRESENTATION;
}
