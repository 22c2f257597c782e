/*-------------------------------------------------------------------------
 *
 * filter.c
 *	  Checks filters that users give, and says what they may mean if it is no SQL condition.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/rel.h"

#include "../indextable.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "expression.h"
#include "filter.h"
#include "filter_hint.h"

/* The longest filter: it is parsed whenever the definition is loaded. */
#define MAX_FILTER_BYTES	(1024 * 1024)

/* A filter that may be what a user means. */
typedef struct Guess
{
	Relation	fact;
	const char *text;
} Guess;

static void rethrow_filter_error(MemoryContext cxt, Relation fact, const char *text);
static bool is_mistaken(int sqlerrcode);
static void try_guess(void *arg);

/*
 * check_filter
 *		Checks a filter that a user gives, and returns it in the form that the catalog keeps.
 */
char *
check_filter(Relation fact, const char *text)
{
	MemoryContext cxt = CurrentMemoryContext;
	RowExpression *volatile filter = NULL;

	if (strlen(text) > MAX_FILTER_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("filter is too long"),
				 errdetail("It has %zu bytes; at most %d are allowed.", strlen(text), MAX_FILTER_BYTES)));
	PG_TRY();
	{
		filter = expression_compile_filter(fact, text);
	}
	PG_CATCH();
	{
		rethrow_filter_error(cxt, fact, text);
	}
	PG_END_TRY();
	return expression_text(fact, filter);
}

/*
 * rethrow_filter_error
 *		Throws an error of a new filter on, with the filter that the user may mean in its hint,
 *		or at least how members of documents are read.
 */
static void
rethrow_filter_error(MemoryContext cxt, Relation fact, const char *text)
{
	ErrorData  *error;
	Guess		guess = {.fact = fact};

	MemoryContextSwitchTo(cxt);
	error = CopyErrorData();
	if (!is_mistaken(error->sqlerrcode))
		PG_RE_THROW();
	FlushErrorState();
	guess.text = meant_filter(fact, text);
	if (guess.text !=NULL && run_catching_errors(try_guess, &guess) == NULL)
	{
		const char *literal = sql_literal(guess.text);

		/* The server names a column that is spelled almost like it. */
		error->hint = error->hint != NULL && error->sqlerrcode == ERRCODE_UNDEFINED_COLUMN ?
			psprintf("%s For a member of the document, use filter => %s.", error->hint, literal) :
			psprintf("Perhaps you mean filter => %s.", literal);
	}
	else if (error->hint == NULL && error->sqlerrcode == ERRCODE_DATATYPE_MISMATCH)
		error->hint = psprintf("Compare the value, or cast it: (%s)::boolean.", text);
	else if (error->hint == NULL && (error->sqlerrcode == ERRCODE_UNDEFINED_COLUMN || error->sqlerrcode == ERRCODE_UNDEFINED_TABLE))
		error->hint = pstrdup("A filter is an SQL expression over the columns of the table. For a member of the document, write column ->> 'member'.");
	ReThrowError(error);
}

/* is_mistaken: returns whether an error may come from a member of the document that is not written as in SQL */
static bool
is_mistaken(int sqlerrcode)
{
	return sqlerrcode == ERRCODE_UNDEFINED_COLUMN || sqlerrcode == ERRCODE_UNDEFINED_TABLE ||
		sqlerrcode == ERRCODE_UNDEFINED_FUNCTION || sqlerrcode == ERRCODE_DATATYPE_MISMATCH ||
		sqlerrcode == ERRCODE_SYNTAX_ERROR || sqlerrcode == ERRCODE_INVALID_TEXT_REPRESENTATION;
}

/* try_guess: raises an error if a guess is no filter either */
static void
try_guess(void *arg)
{
	Guess	   *guess = arg;

	(void) expression_compile_filter(guess->fact, guess->text);
}
