/*-------------------------------------------------------------------------
 *
 * request.c
 *	  Reads and checks what users ask for when they create or alter an index table, also the
 *	  filter, and says what they may mean if that is no SQL condition.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "../catalog/catalog.h"
#include "../expression/expression.h"
#include "../indextable.h"
#include "../util/arguments.h"
#include "../util/subxact.h"
#include "definition.h"

/* The longest filter: it is parsed whenever the definition is loaded. */
#define MAX_FILTER_BYTES	(1024 * 1024)

static bool includes_elements(DefinitionRow *row);
static void add_hint(ErrorData *error, const char *filter);

/*
 * check_request
 *		Refuses a definition whose parts do not go together.
 */
void
check_request(DefinitionRow *row)
{
	if (row->key == NIL && !keeps_totals(row))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("key must have at least one field"),
				 errhint("For example: key => '{address.city}'.")));
	if (row->strategy == STRATEGY_PARTIAL && row->include == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("strategy \"partial\" requires included fields"),
				 errhint("Name them with include, or use the strategy \"normalized\".")));
	if (row->strategy != STRATEGY_PARTIAL && !keeps_totals(row) && row->include != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("included fields are allowed only with the strategy \"partial\""),
				 errdetail("The strategy is \"%s\".", strategy_names[row->strategy]),
				 errhint("Leave out include, or use the strategy \"partial\".")));
	if (row->is_unique && is_async(row))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("an asynchronous index table cannot be unique"),
				 errdetail("Uniqueness can only be enforced in the writer's transaction."),
				 errhint("Use maintenance => 'transactional'.")));
	if (row->is_unique && !row->sparse)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a unique index table has to be sparse"),
				 errdetail("A row that lacks a key field violates no unique key, as NULL in SQL."),
				 errhint("Leave out sparse, or use sparse => true.")));
	if (row->is_unique && includes_elements(row))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a unique index table cannot include fields of elements"),
				 errdetail("Elements with one key and different included fields have several entries."),
				 errhint("Make them key fields, or leave out is_unique.")));
}

/*
 * includes_elements
 *		Returns whether an included field of an index table, not of totals, is multi-valued.
 */
static bool
includes_elements(DefinitionRow *row)
{
	return !keeps_totals(row) && has_multi_field(row->include);
}

/*
 * identified_by_primary_key
 *		Returns whether entries are found by a primary key, none of whose columns may be NULL.
 */
bool
identified_by_primary_key(DefinitionRow *row)
{
	return row->sparse && !includes_elements(row);
}

/*
 * take_totals
 *		Takes over what create() is told of totals, of which row->include has the fields then, and
 *		*summed the numbers of those that are summed; refuses what tables of totals cannot be.
 */
void
take_totals(DefinitionRow *row, List *totals, bool partitioned, List **summed)
{
	const char *what = row->include != NIL ? "have included fields" : row->is_unique ? "be unique" :
		is_async(row) ? "be asynchronous" : partitioned ? "be partitioned" :
		row->state == STATE_BUILDING ? "be filled later" : NULL;

	if (what != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a table of totals cannot %s", what),
				 row->include != NIL ? errhint("Name what is to be added up with totals, for example: totals => '{sum(items::int)}'.") :
				 is_async(row) ? errdetail("What a change takes away is known only in the writer's transaction.") : 0,
				 is_async(row) ? errhint("Leave out maintenance: writers of totals do not wait for each other.") : 0));
	row->include = summed_fields(row->key, totals, summed);
}

/*
 * partitioning_args
 *		Reads the arguments of create() or alter() that say how an index table is to be
 *		partitioned.  partitions and by are the numbers of the arguments "partitions" and
 *		"partition_by", which is followed by "partition_bounds" and "partition_tablespaces".
 */
void
partitioning_args(FunctionCallInfo fcinfo, int partitions, int by, PartitioningRequest *request)
{
	request->partitions = PG_ARGISNULL(partitions) ? 0 : PG_GETARG_INT32(partitions);
	request->by = text_arg(fcinfo, by, NULL);
	request->bounds = PG_ARGISNULL(by + 1) ? NIL : field_list(fcinfo, by + 1, "partition_bounds");
	request->tablespaces = PG_ARGISNULL(by + 2) ? NIL : field_list(fcinfo, by + 2, "partition_tablespaces");
}

/*
 * check_filter
 *		Checks a filter that a user gives, and returns it in the form that the catalog keeps.
 *		An error has a hint how members of documents are read, where that may be the mistake.
 */
char *
check_filter(Relation fact, const char *filter)
{
	MemoryContext cxt = CurrentMemoryContext;
	char	   *volatile result = NULL;
	ErrorData  *error;

	if (strlen(filter) > MAX_FILTER_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("filter is too long"),
				 errdetail("It has %zu bytes; at most %d are allowed.", strlen(filter), MAX_FILTER_BYTES)));
	CATCHING_ERRORS(error,
					result = MemoryContextStrdup(cxt,
												 expression_text(fact,
																 expression_compile(fact, filter, BOOLOID, -1,
																					NULL, true))));
	if (error != NULL)
	{
		add_hint(error, filter);
		ReThrowError(error);
	}
	return result;
}

/* add_hint: adds to an error how members of documents are read, unless it has a hint already */
static void
add_hint(ErrorData *error, const char *filter)
{
	if (error->hint != NULL)
		return;
	if (error->sqlerrcode == ERRCODE_DATATYPE_MISMATCH)
		error->hint = psprintf("Compare the value, or cast it: (%s)::boolean.", filter);
	else if (error->sqlerrcode == ERRCODE_UNDEFINED_COLUMN || error->sqlerrcode == ERRCODE_UNDEFINED_TABLE)
		error->hint = pstrdup("A filter is an SQL expression over the columns of the table. For a member of the document, write column ->> 'member'.");
}
