/*-------------------------------------------------------------------------
 *
 * fold_round.c
 *	  Folds the tables of totals of a database to which enough was added, as a worker does again
 *	  and again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../queue/queue.h"
#include "../util/memory.h"
#include "../util/relation.h"
#include "../util/time_limit.h"
#include "worker.h"

/* A table of totals is folded once this number of entries has been added. */
#define MIN_ADDED			50

/* At most this number is replaced in one transaction. */
#define FOLDED_AT_ONCE		50000

/* How many entries had been inserted into a table of totals when it was last folded. */
typedef struct Added
{
	Oid			index_table;	/* hash key */
	int64		inserted;
} Added;

static HTAB *folded = NULL;		/* of Added */

/* The folding of a table of totals. */
typedef struct Folding
{
	Work		work;
	int			limit;			/* number of entries that it may replace */
	int64		n;				/* number of those that it has replaced */
} Folding;

static void fold_one(void *folding);
static bool note_failed(ErrorData *error, void *arg);

/*
 * fold_round
 *		Folds the tables of totals to which enough was added, each in a transaction of its own;
 *		returns whether one had more than that should replace.
 *
 * How often that pays depends on how many entries a reader meets who asks for all groups, and on
 * what folding reads, which is all of them: a tenth is left to be added up.
 */
bool
fold_round(List *totals, TimestampTz *next_try)
{
	bool		more = false;

	if (folded == NULL)
		folded = hash_by_oid("indextable folded", 16, sizeof(Added), NULL);
	owners_begin_round();
	put_in_turn(totals);
	foreach_ptr(Work, work, totals)
	{
		Folding		folding = {.work = *work};
		bool		one_row;
		ErrorData  *error;

		if (!may_try(&folding.work, next_try))
			continue;
		folding.limit = batch_limit(&folding.work, FOLDED_AT_ONCE, &one_row);
		error = run_task(&folding.work, fold_one, &folding, note_failed);
		tried(&folding.work, error, task_ms(), false, next_try);
		if (error != NULL)
			FreeErrorData(error);
		else
			batch_took(&folding.work, folding.n, task_ms(), turn_ms());
		more |= error == NULL && folding.n >= folding.limit;
	}
	return more;
}

/* note_failed: notes the error with which folding has failed; for run_task() */
static bool
note_failed(ErrorData *error, void *arg)
{
	Folding    *folding = arg;

	if (is_over_time(error))
		batch_was_cut(&folding->work, folding->limit);
	return trouble_note_error(&folding->work, error);
}

/* fold_one: folds a table of totals, if enough was added since the last time; for run_task() */
static void
fold_one(void *arg)
{
	Folding    *folding = arg;
	Oid			index_table = folding->work.table;
	Added	   *added;
	HeapTuple	tuple;
	int64		inserted;
	double		entries = 0;
	bool		found;

	inserted = DatumGetInt64(DirectFunctionCall1(pg_stat_get_tuples_inserted, ObjectIdGetDatum(index_table)));
	added = hash_search(folded, &index_table, HASH_ENTER, &found);
	if (!found || inserted < added->inserted)
		added->inserted = 0;
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(index_table));
	if (HeapTupleIsValid(tuple))
	{
		entries = ((Form_pg_class) GETSTRUCT(tuple))->reltuples;
		ReleaseSysCache(tuple);
	}
	if (HeapTupleIsValid(tuple) && inserted - added->inserted >= Max(MIN_ADDED, entries / 10))
	{
		report_working(index_table);
		folding->n = fold_if_free(index_table, folding->limit);
		if (folding->n < folding->limit)
			added->inserted = inserted + folding->n / 2;	/* as many it has
															 * inserted, at most */
	}
}
