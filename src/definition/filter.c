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

/*
 * check_filter
 *		Checks a filter that a user gives, and returns it in the form that the catalog keeps.
 *		An error has a hint how members of documents are read, where that may be the mistake.
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

/* add_hint: adds to an error how members of documents are read, unless it has a hint already */
static void
add_hint(ErrorData *error, Attempt *attempt)
{
	if (error->hint != NULL)
		return;
	if (error->sqlerrcode == ERRCODE_DATATYPE_MISMATCH)
		error->hint = psprintf("Compare the value, or cast it: (%s)::boolean.", attempt->filter);
	else if (error->sqlerrcode == ERRCODE_UNDEFINED_COLUMN || error->sqlerrcode == ERRCODE_UNDEFINED_TABLE)
		error->hint = pstrdup("A filter is an SQL expression over the columns of the table. For a member of the document, write column ->> 'member'.");
}
