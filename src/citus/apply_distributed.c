/*-------------------------------------------------------------------------
 *
 * apply_distributed.c
 *	  Reads and writes the entries of distributed index tables, through Citus.
 *
 * Entries are distributed by their key, so those of a row can be anywhere: they are searched for on
 * all shards, those of all rows of a batch at once.  What is to be written are the operations that
 * diff_entries() has found.  They are written by two statements: all deletes, then all inserts.
 * Values are sent as arrays, one for each column.
 *
 * To have Citus send a statement to each shard takes far longer than to find a few entries there.  So those
 * of a few rows are read by one call for each node, and what is to be written is sent only to the shards that
 * have it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "../indextable.h"
#include "../util/as_owner.h"
#include "../util/relation.h"
#include "../util/lock.h"
#include "../util/sql.h"
#include "../util/wait_point.h"
#include "../util/while_set.h"
#include "citus.h"

PG_FUNCTION_INFO_V1(indextable_lock_shards);
PG_FUNCTION_INFO_V1(indextable_entries_here);

/*
 * For so long a drain waits for a lock on another node, in ms: a move ends there a little
 * later than on the drain's.
 */
#define PATIENCE			20

/* The entries of no more rows are asked for by a call for each node. */
#define FEW_ROWS			64

/* No more operations are sent to their shards alone, and no more entries inserted as values. */
#define FEW_OPS				64

/* What entries_here() is told of an index table: its name, columns and a condition. */
#define SEARCH_PARTS		3

/* Columns of an index table as the parameters of a statement. */
typedef struct Parameters
{
	IndexDef   *def;
	AttrNumber *columns;
	int			n;
	Oid		   *types;			/* arrays of the columns' types */
	Datum	   *values;			/* set by set_parameter() */
	bool		as_texts;		/* the arrays are sent as texts */
} Parameters;

/* The entries of many rows, in the order of the rows' keys. */
typedef struct FetchedEntries
{
	IndexDef   *def;
	HeapTuple  *tuples;
	int			n;
	SortSupportData *order;		/* by which they are sorted: by fact->npk
								 * columns */
} FetchedEntries;

static bool fetch_from_nodes(Reconciliation *r, const char *gids, FetchedEntries **fetched);
static void fetch_from_shards(FetchedEntries *fetched, Datum *keys, int n);
static AttrNumber *all_columns(IndexDef *def, int *n);
static void key_parameters(Parameters *p, IndexDef *def, Datum *keys, int n);
static List *texts_of_keys(Parameters *p);
static int	take_entries(FetchedEntries *fetched, StringInfo shards, Datum *texts, bool *nulls);
static int	compare_numbers(const void *a, const void *b);
static char *in_order(char *numbers);
static void add_entries_here(char *name, const char *columns, const char *condition, List *keys,
							 ArrayBuildState *result);
static void init_parameters(Parameters *p, IndexDef *def, AttrNumber *columns, int n);
static void set_parameter(Parameters *p, int i, Datum *values, bool *nulls, int n);
static char *parameter(Parameters *p, int i);
static char *unnest(Parameters *p);
static char *row_condition(Parameters *p);
static void prepare_order(FetchedEntries *fetched);
static int	compare_tuples(const void *a, const void *b, void *arg);
static int	compare_to_key(FetchedEntries *fetched, HeapTuple tuple, Datum *key);
static void write_ops(IndexDef *def, OpList *list);
static OpList ops_within_reach(IndexDef *def, OpList *list);
static void write_tuples(IndexDef *def, OpList *list, bool delete);
static const char *in_their_shards(Parameters *p);
static void insert_few(Parameters *p, OpList *list);

bool		writing_distributed = false;

/*
 * indextable_lock_shards
 *		lock_shards(shards bigint[]): locks the metadata of shards on this node against moves, and
 *		returns true.
 *
 * It is declared to be stable, so that the query of a shard that it is a condition of calls it once,
 * whether or not there are rows.
 *
 * A move may hold a lock here and wait for the drain, which has locked the shards on its own node.  Citus would
 * end the move if the drain waited for it, too.  So the drain gives up soon, and begins anew.
 */
Datum
indextable_lock_shards(PG_FUNCTION_ARGS)
{
	Oid			type = INT8ARRAYOID;
	Datum		value = PG_GETARG_DATUM(0);

	require_citus("lock_shards");
	WHILE_SET(LockTimeout, guard_is_left_out("the lock of the index tables' shards") ? 0 : PATIENCE,
			  (void) query_with(InvalidOid, "SELECT pg_catalog.lock_shard_metadata(5, $1)", 1, &type, &value));
	PG_RETURN_BOOL(true);
}

/*
 * fetch_distributed_entries
 *		Reads the entries of rows, given by their primary keys, as they are at this moment, from each of the index
 *		tables.  The result is in the current memory context.
 *
 * Before entries are read on a node, no transaction is prepared there any more that a drain of these shards may
 * have written to them: see 3 in shard_drain.c.
 *
 * In the transaction that each node runs for it, all shards of the index tables are locked against
 * being moved.  If that transaction is prepared and left in doubt, it keeps the locks, so that Citus
 * cannot copy a shard without what it has written.
 */
void	  **
fetch_distributed_entries(Reconciliation *r)
{
	FetchedEntries **fetched = palloc(sizeof(FetchedEntries *) * (r->to - r->from));
	const char *gids = guard_is_left_out("the fence of prepared transactions") ? "^$" : gids_of_drains(r->leaves);

	for (int i = 0; i < r->to - r->from; i++)
	{
		fetched[i] = palloc0(sizeof(FetchedEntries));
		fetched[i]->def = r->def->defs[r->from + i];
		prepare_order(fetched[i]);
	}
	if ((r->n > FEW_ROWS && nodes_left_out == NIL) || !fetch_from_nodes(r, gids, fetched))
	{
		AS_OWNER(get_extension_owner());
		{
			wait_for_prepared(r->def, gids);
		}
		END_AS_OWNER();
		for (int i = 0; i < r->to - r->from; i++)
			fetch_from_shards(fetched[i], r->keys, r->n);
	}
	if (!holding_keys)
		note_met(r->leaves);
	for (int i = 0; i < r->to - r->from; i++)
		qsort_arg(fetched[i]->tuples, fetched[i]->n, sizeof(HeapTuple), compare_tuples, fetched[i]);
	return (void **) fetched;
}

/*
 * fetch_from_nodes
 *		Reads entries by one call for each node that is not left out, which searches all shards that it has;
 *		returns false if that cannot be done.
 *
 * The nodes say which shards they have searched, and these have to be all, once each, with those that Citus has
 * placed on the nodes that are left out: no move ends while they are locked.
 */
static bool
fetch_from_nodes(Reconciliation *r, const char *gids, FetchedEntries **fetched)
{
	int			n = r->to - r->from;
	NodeCall	call = {.call = IT_INTERNAL ".entries_here($1, $2, $3, $4)",.nargs = 4};
	List	   *tables = NIL;
	List	   *searches = NIL;
	List	   *keys = NIL;
	List	   *nodes;
	StringInfoData *shards = palloc(sizeof(StringInfoData) * n);

	for (int i = 0; i < n; i++)
		tables = lappend_oid(tables, fetched[i]->def->relid);
	nodes = catalog_is_old() ? NIL : nodes_with_shards(tables, InvalidOid);
	if (nodes == NIL)
		return false;
	for (int i = 0; i < n; i++)
	{
		IndexDef   *def = fetched[i]->def;
		int			ncolumns;
		AttrNumber *columns = all_columns(def, &ncolumns);
		Parameters	p;

		initStringInfo(&shards[i]);
		key_parameters(&p, def, r->keys, r->n);
		keys = texts_of_keys(&p);
		p.as_texts = true;
		searches = lappend(searches, quoted_relation(def->relid));
		searches = lappend(searches, column_list(def->relid, columns, ncolumns));
		searches = lappend(searches, row_condition(&p));
		foreach_ptr(ShardBounds, shard, holding_keys ? citus_shards_on(def->relid, nodes_left_out) : NIL)
			appendStringInfo(&shards[i], INT64_FORMAT ",", shard->number);
	}
	call.types[0] = TEXTOID;
	call.values[0] = CStringGetTextDatum(gids);
	call.types[1] = call.types[2] = call.types[3] = TEXTARRAYOID;
	call.values[1] = array_of_texts(prefixes_of_tables(r->def));
	call.values[2] = array_of_texts(searches);
	call.values[3] = array_of_texts(keys);
	foreach_ptr(AskedNode, node, nodes)
	{
		bool		isnull;
		Datum		answer;
		Datum	   *texts;
		bool	   *nulls;
		int			ntexts;
		int			at = 0;

		if (list_member_int(nodes_left_out, node->group))
			continue;
		answer = ask_node(node, &call, &isnull);
		deconstruct_array(DatumGetArrayTypeP(answer), TEXTOID, -1, false, TYPALIGN_INT, &texts, &nulls, &ntexts);
		for (int i = 0; i < n; i++)
			at += take_entries(fetched[i], &shards[i], texts + at, nulls + at);
	}
	for (int i = 0; i < n; i++)
	{
		if (strcmp(in_order(shards[i].data), in_order(citus_shard_numbers(fetched[i]->def->relid))) != 0 &&
			!guard_is_left_out("the lock of the index tables' shards"))
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("shards of index table \"%s\" have been moved", fetched[i]->def->name)));
	}
	return true;
}

/*
 * take_entries
 *		Adds what a node says of an index table: the numbers of its shards there, the number of entries, and their
 *		columns.  Returns the number of texts.
 */
static int
take_entries(FetchedEntries *fetched, StringInfo shards, Datum *texts, bool *nulls)
{
	TupleDesc	desc = fetched->def->layout.desc;
	int			n = atoi(TextDatumGetCString(texts[1]));
	Datum	   *row = palloc0(sizeof(Datum) * desc->natts);
	bool	   *isnull = palloc(sizeof(bool) * desc->natts);
	int			at = 2;

	appendStringInfo(shards, "%s,", TextDatumGetCString(texts[0]));
	fetched->tuples = fetched->tuples == NULL ? palloc(sizeof(HeapTuple) * Max(n, 1)) :
		repalloc_huge(fetched->tuples, sizeof(HeapTuple) * Max(fetched->n + n, 1));
	for (int i = 0; i < n; i++)
	{
		for (int k = 0; k < desc->natts; k++)
		{
			Form_pg_attribute att = TupleDescAttr(desc, k);
			Oid			input;
			Oid			param;

			isnull[k] = att->attisdropped || nulls[at];
			if (!isnull[k])
			{
				getTypeInputInfo(att->atttypid, &input, &param);
				row[k] = OidInputFunctionCall(input, TextDatumGetCString(texts[at]), param, att->atttypmod);
			}
			at += !att->attisdropped;
		}
		fetched->tuples[fetched->n++] = heap_form_tuple(desc, row, isnull);
	}
	return at;
}

static int
compare_numbers(const void *a, const void *b)
{
	int64		x = *(const int64 *) a;
	int64		y = *(const int64 *) b;

	return x < y ? -1 : x > y;
}

/* in_order: returns a text with the numbers that are in a text, in order */
static char *
in_order(char *numbers)
{
	int64	   *values = palloc(sizeof(int64) * (strlen(numbers) + 1));
	int			n = 0;
	StringInfoData list;

	for (char *at = numbers; *at != '\0';)
	{
		if (!isdigit((unsigned char) *at))
			at++;
		else
			values[n++] = strtoll(at, &at, 10);
	}
	qsort(values, n, sizeof(int64), compare_numbers);
	initStringInfo(&list);
	for (int i = 0; i < n; i++)
		appendStringInfo(&list, INT64_FORMAT ",", values[i]);
	return list.data;
}

/*
 * indextable_entries_here
 *		entries_here(gids text, prefixes text[], searches text[], keys text[]): returns the entries of rows in the
 *		shards of index tables that this node has, for fetch_from_nodes().
 *
 * It waits for prepared transactions, and locks shards, before it takes the snapshot with which it reads.
 */
Datum
indextable_entries_here(PG_FUNCTION_ARGS)
{
	List	   *searches = texts_of_array(PG_GETARG_ARRAYTYPE_P(2));
	List	   *keys = texts_of_array(PG_GETARG_ARRAYTYPE_P(3));
	ArrayBuildState *result = initArrayResult(TEXTOID, CurrentMemoryContext, false);

	require_citus("entries_here");
	if (list_length(keys) > INDEX_MAX_KEYS)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_COLUMNS),
				 errmsg("a primary key has no more than %d columns", INDEX_MAX_KEYS)));
	wait_for_prepared_here(text_to_cstring(PG_GETARG_TEXT_PP(0)), texts_of_array(PG_GETARG_ARRAYTYPE_P(1)));
	/* Values are texts under fixed settings. */
	AS_OWNER(GetUserId());
	{
		for (int i = 0; i + SEARCH_PARTS <= list_length(searches); i += SEARCH_PARTS)
			add_entries_here(list_nth(searches, i), list_nth(searches, i + 1), list_nth(searches, i + 2), keys,
							 result);
	}
	END_AS_OWNER();
	PG_RETURN_DATUM(makeArrayResult(result, CurrentMemoryContext));
}

/* add_entries_here: adds the entries in one index table, as take_entries() wants them */
static void
add_entries_here(char *name, const char *columns, const char *condition, List *keys, ArrayBuildState *result)
{
	Oid			relid = DatumGetObjectId(DirectFunctionCall1(regclassin, CStringGetDatum(name)));
	MemoryContext cxt = CurrentMemoryContext;
	Oid			types[INDEX_MAX_KEYS];
	Datum		values[INDEX_MAX_KEYS];
	StringInfoData sql;
	char	   *numbers;
	Rows		rows = {0};

	WHILE_SET(LockTimeout, guard_is_left_out("the lock of the index tables' shards") ? 0 : PATIENCE,
			  citus_lock_table(relid));
	initStringInfo(&sql);
	foreach_oid(shard, citus_shards_here(relid, &numbers))
		appendStringInfo(&sql, "%sSELECT %s FROM %s i WHERE %s", sql.len > 0 ? " UNION ALL " : "", columns,
						 quoted_relation(shard), condition);
	foreach_ptr(char, key, keys)
	{
		types[foreach_current_index(key)] = TEXTOID;
		values[foreach_current_index(key)] = CStringGetTextDatum(key);
	}
	if (sql.len > 0)
		rows = query_kept(sql.data, list_length(keys), types, values);
	(void) accumArrayResult(result, CStringGetTextDatum(numbers), false, TEXTOID, cxt);
	(void) accumArrayResult(result, CStringGetTextDatum(psprintf(UINT64_FORMAT, rows.n)), false, TEXTOID, cxt);
	for (uint64 i = 0; i < rows.n; i++)
		for (int k = 1; k <= rows.desc->natts; k++)
		{
			char	   *value = row_text(&rows, i, k);

			(void) accumArrayResult(result, value == NULL ? (Datum) 0 : CStringGetTextDatum(value), value == NULL,
									TEXTOID, cxt);
		}
}

/* fetch_from_shards: reads the entries of n rows in one index table by a query of all shards */
static void
fetch_from_shards(FetchedEntries *fetched, Datum *keys, int n)
{
	IndexDef   *def = fetched->def;
	MemoryContext cxt = CurrentMemoryContext;
	int			ncolumns;
	AttrNumber *columns = all_columns(def, &ncolumns);
	Parameters	p;
	char	   *sql;
	Rows		rows;

	key_parameters(&p, def, keys, n);
	sql = psprintf("SELECT %s FROM %s i WHERE %s AND " IT_INTERNAL ".lock_shards('%s')",
				   column_list(def->relid, columns, ncolumns), held_name(def->relid), row_condition(&p),
				   citus_shard_numbers(def->relid));
	rows = query_with(InvalidOid, sql, p.n, p.types, p.values);
	fetched->n = (int) rows.n;
	fetched->tuples = MemoryContextAllocHuge(cxt, sizeof(HeapTuple) * Max(rows.n, 1));
	for (uint64 i = 0; i < rows.n; i++)
	{
		Datum	   *row = palloc0(sizeof(Datum) * def->layout.desc->natts);
		bool	   *nulls = palloc(sizeof(bool) * def->layout.desc->natts);
		MemoryContext old;

		/* The table may have dropped columns, which the result has not. */
		memset(nulls, true, sizeof(bool) * def->layout.desc->natts);
		for (int k = 0; k < ncolumns; k++)
			row[columns[k] - 1] = heap_getattr(rows.tuples[i], k + 1, rows.desc, &nulls[columns[k] - 1]);
		old = MemoryContextSwitchTo(cxt);
		fetched->tuples[i] = heap_form_tuple(def->layout.desc, row, nulls);
		MemoryContextSwitchTo(old);
		heap_freetuple(rows.tuples[i]);
		pfree(row);
		pfree(nulls);
	}
}

/* all_columns: returns the columns of an index table, and sets *n to their number */
static AttrNumber *
all_columns(IndexDef *def, int *n)
{
	AttrNumber *columns = palloc(sizeof(AttrNumber) * def->layout.desc->natts);

	*n = 0;
	for (int k = 0; k < def->layout.desc->natts; k++)
		if (!TupleDescAttr(def->layout.desc, k)->attisdropped)
			columns[(*n)++] = k + 1;
	return columns;
}

/* key_parameters: makes the primary keys of n rows parameters */
static void
key_parameters(Parameters *p, IndexDef *def, Datum *keys, int n)
{
	int			npk = def->fact->layout.npk;
	Datum	   *values = palloc(sizeof(Datum) * Max(n, 1));

	init_parameters(p, def, def->layout.pk_attno, npk);
	for (int k = 0; k < npk; k++)
	{
		for (uint64 i = 0; i < (uint64) n; i++)
			values[i] = keys[i * npk + k];
		set_parameter(p, k, values, NULL, n);
	}
}

/* texts_of_keys: returns the arrays that are parameters as texts (char *) */
static List *
texts_of_keys(Parameters *p)
{
	List	   *texts = NIL;

	for (int k = 0; k < p->n; k++)
		texts = lappend(texts, OidOutputFunctionCall(F_ARRAY_OUT, p->values[k]));
	return texts;
}

/* find_fetched_entries: sets *entries to those of the row with a key, ordered by identity */
void
find_fetched_entries(void *all, Datum *key, Entries *entries)
{
	FetchedEntries *fetched = all;
	IndexDef   *def = fetched->def;
	int			low = 0;
	int			high = fetched->n;
	int			n;

	entries_init(entries, def);
	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (compare_to_key(fetched, fetched->tuples[middle], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (n = 0; low + n < fetched->n && compare_to_key(fetched, fetched->tuples[low + n], key) == 0; n++)
		;
	if (n == 0)
		return;
	entries->n = entries->max = n;
	entries->values = palloc_extended(sizeof(Datum) * def->layout.desc->natts * n, MCXT_ALLOC_HUGE);
	entries->isnull = palloc_extended(sizeof(bool) * def->layout.desc->natts * n, MCXT_ALLOC_HUGE);
	/* Where they are is not known: invalid places are zeroed ones. */
	entries->places = palloc0(sizeof(EntryPlace) * n);
	while (n-- > 0)
		heap_deform_tuple(fetched->tuples[low + n], def->layout.desc, ENTRY_VALUES(entries, n),
						  ENTRY_NULLS(entries, n));
	if (entries->n > 1)
		entries_sort(def, entries);
}

/*
 * apply_distributed_ops
 *		Writes what a list, which is not empty, says to an index table.
 *
 * For many entries there always is a DELETE, also of those that do not exist and are only inserted.  Citus
 * inserts the rows of a query by COPY.  If it has only read from the shard before, in the same transaction,
 * it does not remember that it has written, and commits that in one phase, whatever the others do.
 * After the DELETE, which goes to all shards, it knows that each node may have been written to.  Of an INSERT
 * of values, by which a few are inserted, it knows that.
 *
 * Where nodes are left out, nothing may go to all shards: then a few entries are written at a time.
 */
void
apply_distributed_ops(IndexDef *def, OpList *list)
{
	WHILE_SET(writing_distributed, true, write_ops(def, list));
}

/*
 * write_ops
 *		Writes operations as apply_distributed_ops(), all deletes before all inserts.
 *
 * Within the function that catches errors, gcc 14 would warn of each variable that it has.
 */
pg_noinline static void
write_ops(IndexDef *def, OpList *list)
{
	OpList		within = holding_keys ? ops_within_reach(def, list) : *list;
	int			at_once = holding_keys ? FEW_OPS : Max(within.n, 1);

	for (int pass = 0; pass < 2; pass++)
	{
		for (int i = 0; i < within.n; i += at_once)
		{
			OpList		some = within;

			some.ops += i;
			some.n = Min(at_once, within.n - i);
			write_tuples(def, &some, pass == 0);
		}
	}
}

/* ops_within_reach: returns those of a list that write to shards on nodes that are not left out */
static OpList
ops_within_reach(IndexDef *def, OpList *list)
{
	List	   *shards = citus_shards_on(def->relid, nodes_left_out);
	AttrNumber	column = citus_distribution_column(def->relid);
	Form_pg_attribute att = TupleDescAttr(def->layout.desc, column - 1);
	FmgrInfo   *hash_proc = &lookup_type_cache(att->atttypid, TYPECACHE_HASH_PROC_FINFO)->hash_proc_finfo;
	OpList		within = *list;

	within.ops = palloc_extended(sizeof(list->ops[0]) * list->n, MCXT_ALLOC_HUGE);
	within.n = 0;
	for (int i = 0; i < list->n; i++)
	{
		bool		isnull;
		Datum		value = heap_getattr(list->ops[i].tuple, column, def->layout.desc, &isnull);
		int32		hash = isnull ? 0 : DatumGetInt32(FunctionCall1Coll(hash_proc, att->attcollation, value));
		bool		left_out = false;

		foreach_ptr(ShardBounds, shard, shards)
			left_out |= shard->min <= hash && hash <= shard->max;
		if (!left_out)
			within.ops[within.n++] = list->ops[i];
	}
	return within;
}

/*
 * write_tuples
 *		Deletes all entries of a list, or inserts those that are to be put in the place of others or
 *		are new.
 */
static void
write_tuples(IndexDef *def, OpList *list, bool delete)
{
	AttrNumber *columns = palloc(sizeof(AttrNumber) * def->layout.desc->natts);
	Datum	   *values = palloc_extended(sizeof(Datum) * list->n, MCXT_ALLOC_HUGE);
	bool	   *nulls = palloc_extended(sizeof(bool) * list->n, MCXT_ALLOC_HUGE);
	int			ncolumns = 0;
	int			n = 0;
	bool		few = list->n <= FEW_OPS;
	Parameters	p;
	int			k;

	for (k = 0; k < def->layout.desc->natts; k++)
		if (!delete && !TupleDescAttr(def->layout.desc, k)->attisdropped)
			columns[ncolumns++] = k + 1;
	if (delete)
		memcpy(columns, def->layout.ident, sizeof(AttrNumber) * (ncolumns = def->layout.nident));
	init_parameters(&p, def, columns, ncolumns);
	for (k = 0; k < ncolumns; k++)
	{
		n = 0;
		for (int i = 0; i < list->n; i++)
		{
			if (delete ? few && list->ops[i].kind == OP_INSERT : list->ops[i].kind == OP_DELETE)
				continue;
			values[n] = heap_getattr(list->ops[i].tuple, columns[k], def->layout.desc, &nulls[n]);
			n++;
		}
		set_parameter(&p, k, values, nulls, n);
	}
	if (n == 0)
		return;
	if (delete)
	{
		/*
		 * The index by row finds the entries, and the rest is compared: of
		 * those of a row, some may be right that were written while a node
		 * with others was left out.
		 */
		for (k = 0; columns[k] != def->layout.pk_attno[0]; k++)
			;
		(void) query_with(InvalidOid,
						  psprintf("DELETE FROM %s i WHERE %si.%s = ANY ($%d) AND (%s) IN (SELECT * FROM %s)",
								   held_name(def->relid), few ? in_their_shards(&p) : "",
								   column_list(def->relid, def->layout.pk_attno, 1), k + 1,
								   column_list(def->relid, columns, ncolumns), unnest(&p)),
						  p.n, p.types, p.values);
	}
	else if (few)
		insert_few(&p, list);
	else
		(void) query_with(InvalidOid,
						  psprintf("INSERT INTO %s (%s) SELECT * FROM %s", held_name(def->relid),
								   column_list(def->relid, columns, ncolumns), unnest(&p)),
						  p.n, p.types, p.values);
}

/*
 * in_their_shards
 *		Returns a condition that the entries in the parameters fulfil, by which Citus finds their shards, or "" if it
 *		cannot.  It looks at constants only.
 */
static const char *
in_their_shards(Parameters *p)
{
	AttrNumber	column = citus_distribution_column(p->def->relid);

	for (int k = 0; k < p->n; k++)
	{
		if (p->columns[k] == column && p->types[k] < FirstNormalObjectId)
			return psprintf("i.%s = ANY (%s::%s) AND ", column_list(p->def->relid, &column, 1),
							quote_literal_cstr(OidOutputFunctionCall(F_ARRAY_OUT, p->values[k])),
							format_type_extended(p->types[k], -1, FORMAT_TYPE_FORCE_QUALIFY));
	}
	return "";
}

/* insert_few: inserts the entries of a list as values, of which each Citus knows the shard */
static void
insert_few(Parameters *p, OpList *list)
{
	IndexDef   *def = p->def;
	Oid		   *types = palloc(sizeof(Oid) * p->n * list->n);
	Datum	   *values = palloc(sizeof(Datum) * p->n * list->n);
	int			n = 0;
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "INSERT INTO %s (%s) VALUES", held_name(def->relid),
					 column_list(def->relid, p->columns, p->n));
	for (int i = 0; i < list->n; i++)
	{
		if (list->ops[i].kind == OP_DELETE)
			continue;
		for (int k = 0; k < p->n; k++)
		{
			bool		null;

			appendStringInfoString(&sql, k > 0 ? ", " : n > 0 ? ", (" : " (");
			types[n] = TupleDescAttr(def->layout.desc, p->columns[k] - 1)->atttypid;
			values[n] = heap_getattr(list->ops[i].tuple, p->columns[k], def->layout.desc, &null);
			if (null)
				appendStringInfoString(&sql, "NULL");
			else
				appendStringInfo(&sql, "$%d", ++n);
		}
		appendStringInfoChar(&sql, ')');
	}
	(void) query_with(InvalidOid, sql.data, n, types, values);
}

/* init_parameters: prepares to send values of columns */
static void
init_parameters(Parameters *p, IndexDef *def, AttrNumber *columns, int n)
{
	p->def = def;
	p->columns = columns;
	p->n = n;
	p->as_texts = false;
	p->types = palloc(sizeof(Oid) * n);
	p->values = palloc(sizeof(Datum) * n);
	for (int i = 0; i < n; i++)
	{
		Oid			type = TupleDescAttr(def->layout.desc, columns[i] - 1)->atttypid;

		p->types[i] = get_array_type(type);
		if (!OidIsValid(p->types[i]))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("index table \"%s\" has a column of type %s, for which there are no arrays",
							def->name, format_type_be(type))));
	}
}

/* set_parameter: sets the values of one column in n entries; nulls may be NULL */
static void
set_parameter(Parameters *p, int i, Datum *values, bool *nulls, int n)
{
	Form_pg_attribute att = TupleDescAttr(p->def->layout.desc, p->columns[i] - 1);
	int			lower = 1;

	p->values[i] = PointerGetDatum(construct_md_array(values, nulls, 1, &n, &lower, att->atttypid,
													  att->attlen, att->attbyval, att->attalign));
}

/* parameter: returns an array as SQL has it */
static char *
parameter(Parameters *p, int i)
{
	return p->as_texts ? psprintf("$%d::%s", i + 1, format_type_extended(p->types[i], -1, FORMAT_TYPE_FORCE_QUALIFY)) :
		psprintf("$%d", i + 1);
}

/*
 * unnest
 *		Returns the parameters as a table; the parser knows unnest() of several arrays by its
 *		bare name only.
 */
static char *
unnest(Parameters *p)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < p->n; i++)
		appendStringInfo(&list, "%s%s", i > 0 ? ", " : "unnest(", parameter(p, i));
	appendStringInfoString(&list, ") p");
	return list.data;
}

/* row_condition: returns the condition that an entry is one of the rows in the parameters */
static char *
row_condition(Parameters *p)
{
	char	   *condition = psprintf("i.%s = ANY (%s)", column_list(p->def->relid, p->columns, 1), parameter(p, 0));

	return p->n == 1 ? condition :
		psprintf("%s AND (%s) IN (SELECT * FROM %s)", condition,
				 column_list(p->def->relid, p->columns, p->n), unnest(p));
}

/* prepare_order: prepares to sort entries by row */
static void
prepare_order(FetchedEntries *fetched)
{
	IndexDef   *def = fetched->def;

	fetched->order = palloc0(sizeof(SortSupportData) * def->fact->layout.npk);
	for (int i = 0; i < def->fact->layout.npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->layout.desc, def->layout.pk_attno[i] - 1);

		prepare_sort(&fetched->order[i], att->atttypid, att->attcollation, false);
	}
}

/* compare_tuples: compares two entries by row; for qsort_arg() */
static int
compare_tuples(const void *a, const void *b, void *arg)
{
	FetchedEntries *fetched = arg;
	Datum		key[INDEX_MAX_KEYS];
	bool		null;

	for (int i = 0; i < fetched->def->fact->layout.npk; i++)
		key[i] = heap_getattr(*(HeapTuple *) b, fetched->def->layout.pk_attno[i], fetched->def->layout.desc,
							  &null);
	return compare_to_key(fetched, *(HeapTuple *) a, key);
}

/* compare_to_key: compares the row of an entry with a key */
static int
compare_to_key(FetchedEntries *fetched, HeapTuple tuple, Datum *key)
{
	int			c = 0;

	for (int i = 0; i < fetched->def->fact->layout.npk && c == 0; i++)
	{
		bool		null;

		c = ApplySortComparator(heap_getattr(tuple, fetched->def->layout.pk_attno[i], fetched->def->layout.desc,
											 &null),
								false, key[i], false, &fetched->order[i]);
	}
	return c;
}
