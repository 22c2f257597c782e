/*-------------------------------------------------------------------------
 *
 * advise.c
 *	  Provides indextable.advise() and indextable.profile(), which tell whether a key
 *	  should have an index table, and which, and the notice of create() that an index
 *	  table may cost more than it saves.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "../catalog/definition_rows.h"
#include "../definition/request.h"
#include "../definition/resolve.h"
#include "../indextable.h"
#include "../util/arguments.h"
#include "../util/inherit.h"
#include "../util/settings.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "advise.h"
#include "costs.h"
#include "judge.h"
#include "profile.h"
#include "readable.h"
#include "recommend.h"
#include "sample.h"
#include "statement.h"
#include "verdict.h"

PG_FUNCTION_INFO_V1(indextable_advise);
PG_FUNCTION_INFO_V1(indextable_profile);

/* The arguments of both functions, in their order. */
enum
{
	ARG_FACT_TABLE,
	ARG_KEY,
	ARG_INCLUDE,
	ARG_FILTER,
	ARG_DOCUMENT,
	ARG_SAMPLE_ROWS
};

#define SAMPLE_ROWS			10000
#define MIN_SAMPLE_ROWS		100
#define MAX_SAMPLE_ROWS		1000000

/* create() looks at so many rows, which takes a few milliseconds. */
#define NOTICE_ROWS			1000

typedef struct Notice
{
	Profile		profile;
	MemoryContext cxt;			/* for reason and hint */
	char	   *reason;			/* NULL: there is no need for a notice */
	char	   *hint;
} Notice;

static void evaluate_new_index_table(void *arg);
static bool may_read(Oid relid);
static int	sample_rows(FunctionCallInfo fcinfo);
static Verdict *advise(FunctionCallInfo fcinfo, Profile *p);
pg_noreturn static void other_version(void);
static void put_numbers(ReturnSetInfo *rsinfo, Profile *p, Verdict *v);
static double entries_per_row(Profile *p);

/*
 * indextable_advise
 *		advise(fact_table regclass, key text[], include text[], filter text, document
 *		name, sample_rows integer, OUT topic text, OUT advice text)
 */
Datum
indextable_advise(PG_FUNCTION_ARGS)
{
	static const char *const advice[] = {
		"undecided", "do without", "a native index", "an index table with a filter", "an index table"
	};
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Profile    *p = palloc0(sizeof(Profile));
	Verdict    *v;
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(ARG_KEY) && !PG_ARGISNULL(ARG_FACT_TABLE))
	{
		if (!PG_ARGISNULL(ARG_INCLUDE) || !PG_ARGISNULL(ARG_FILTER))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("include and filter need a key")));
		recommend_fields(rsinfo, PG_GETARG_OID(ARG_FACT_TABLE),
						 PG_ARGISNULL(ARG_DOCUMENT) ? NULL : NameStr(*PG_GETARG_NAME(ARG_DOCUMENT)), sample_rows(fcinfo));
		return (Datum) 0;
	}
	v = advise(fcinfo, p);
	put_numbers(rsinfo, p, v);
	if (v->kind >= VERDICT_FILTER)
		put_line(rsinfo, "advice", "%s: %s, %s%s", advice[v->kind], strategies[v->strategy],
				 maintenances[v->async], v->is_unique ? ", unique" : "");
	else
		put_line(rsinfo, "advice", "%s", advice[v->kind]);
	foreach(cell, v->reasons)
		put_line(rsinfo, "", "%s", (char *) lfirst(cell));
	if (v->statement != NULL)
		put_line(rsinfo, "do", "%s", v->statement);
	if (v->alternative != NULL)
	{
		put_line(rsinfo, "or", "%s", v->when);
		put_line(rsinfo, "", "%s", v->alternative);
	}
	return (Datum) 0;
}

/*
 * indextable_profile
 *		profile(fact_table regclass, key text[], include text[], filter text, document
 *		name, sample_rows integer, OUT ...)
 */
Datum
indextable_profile(PG_FUNCTION_ARGS)
{
	Profile    *p = palloc0(sizeof(Profile));
	Verdict    *v = advise(fcinfo, p);
	TupleDesc	desc;
	Datum		values[34];
	bool		isnull[34] = {0};
	Datum	   *texts = palloc(sizeof(Datum) * Max(COMMON_KEYS, list_length(v->reasons)));
	Datum	   *shares = palloc(sizeof(Datum) * COMMON_KEYS);
	ListCell   *cell;
	bool		index_table = v->kind >= VERDICT_FILTER;
	int			n = 0;
	int			i;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE || desc->natts > (int) lengthof(values))
		other_version();
#define PUT(datum)			(values[n++] = (datum))
#define PUT_COUNT(number)	PUT(Int64GetDatum((int64) (number)))
#define PUT_NUMBER(number)	PUT(Float8GetDatum(number))
#define PUT_SHARE(number)	PUT_NUMBER(p->sampled > 0 ? (double) (number) / p->sampled : 0)
#define PUT_TEXT(string)	((string) != NULL ? PUT(CStringGetTextDatum(string)) : (isnull[n++] = true))
	PUT_COUNT(p->documents);
	PUT_COUNT(p->sampled);
	PUT(Int32GetDatum(p->partitions));
	PUT_NUMBER(p->document_bytes);
	PUT_SHARE(p->filtered);
	PUT_SHARE(p->missing);
	PUT_SHARE(p->mismatching);
	PUT_NUMBER(entries_per_row(p));
	PUT_COUNT(p->entries);
	PUT_COUNT(p->keys);
	PUT_NUMBER(p->found[0]);
	for (i = 0; i < p->ncommon; i++)
	{
		texts[i] = CStringGetTextDatum(common_key_text(p, i));
		shares[i] = Float8GetDatum((double) p->common[i].n / p->sampled);
	}
	PUT(PointerGetDatum(construct_array(texts, p->ncommon, TEXTOID, -1, false, TYPALIGN_INT)));
	PUT(PointerGetDatum(construct_array(shares, p->ncommon, FLOAT8OID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE)));
	PUT_NUMBER(p->key_bytes);
	PUT_NUMBER(p->entry_bytes);
	PUT_COUNT(p->inserts);
	PUT_COUNT(p->updates);
	PUT_COUNT(p->hot_updates);
	PUT_COUNT(p->deletes);
	PUT_COUNT(p->scans);
	isnull[n] = p->since == 0;
	PUT(TimestampTzGetDatum(p->since));
	PUT_COUNT(p->normalized_size);
	PUT_COUNT(p->partial_size);
	PUT_COUNT(p->denormalized_size);
	PUT_COUNT(p->native_size);
	PUT_NUMBER(p->def->multi ? ARRAY_INSERT_COST : INSERT_COST);
	PUT_TEXT(verdict_names[v->kind]);
	PUT_TEXT(index_table ? strategies[v->strategy] : NULL);
	PUT_TEXT(index_table ? maintenances[v->async] : NULL);
	isnull[n] = !index_table;
	PUT(BoolGetDatum(v->is_unique));
	i = 0;
	foreach(cell, v->reasons)
		texts[i++] = CStringGetTextDatum(lfirst(cell));
	PUT(PointerGetDatum(construct_array(texts, i, TEXTOID, -1, false, TYPALIGN_INT)));
	PUT_TEXT(v->statement);
	PUT_TEXT(v->alternative);
	if (n != desc->natts)
		other_version();
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, isnull));
}

/*
 * advise_on_new
 *		Raises a notice if an index table that was just created may cost more than it
 *		saves.
 *
 * It looks at some rows.  An error that one of them raises does not make create()
 * fail.  Functions of users may do anything, and so they are not called for advice.
 */
void
advise_on_new(DefinitionRow *row, IndexDef *def)
{
	Notice		notice = {.profile = {.row = row,.def = def},.cxt = CurrentMemoryContext};
	ErrorData  *error;

	if (!setting_advice || index_calls_users_code(def) || !may_read(row->fact_table) ||
		foreign_leaves(row->fact_table) != NIL)
		return;
	if (def->is_unique)
		return;
	error = run_catching_row_errors(evaluate_new_index_table, &notice);
	if (error == NULL && notice.reason != NULL)
		ereport(NOTICE,
				(errmsg("index table \"%s\" may cost more than it saves", def->name),
				 errdetail("%s", notice.reason),
				 notice.hint != NULL ? errhint("%s", notice.hint) :
				 errhint("See indextable.advise() for more. To turn these notices off, run SET indextable.advice = off;")));
}

/*
 * evaluate_new_index_table
 *		Finds out whether a new index table needs a notice, and with which reason and
 *		hint.
 */
static void
evaluate_new_index_table(void *arg)
{
	Notice	   *notice = arg;
	Profile    *p = &notice->profile;
	Relation	fact = relation_open(p->row->fact_table, NoLock);
	Verdict    *v;
	MemoryContext old;

	profile_table(p, fact, NOTICE_ROWS, SAMPLE_BYTES);
	v = choose_verdict(p, fact);
	relation_close(fact, NoLock);
	old = MemoryContextSwitchTo(notice->cxt);
	if (v->kind == VERDICT_NONE || v->kind == VERDICT_FILTER || (v->is_volatile && !p->def->async))
		notice->reason = list_length(v->reasons) > 1 ?
			psprintf("%s %s", (char *) linitial(v->reasons), (char *) lsecond(v->reasons)) : pstrdup(linitial(v->reasons));
	if (v->kind == VERDICT_FILTER)
		notice->hint = psprintf("To leave these entries out, run SELECT indextable.alter(%s, filter => %s);",
								sql_literal(quoted_relation(p->def->relid)), sql_literal(v->filter));
	MemoryContextSwitchTo(old);
}

/* may_read: returns whether the caller may see all rows */
static bool
may_read(Oid relid)
{
	return pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK &&
		check_enable_rls(relid, InvalidOid, true) != RLS_ENABLED;
}

/* sample_rows: returns the argument of this name */
static int
sample_rows(FunctionCallInfo fcinfo)
{
	int			rows = PG_ARGISNULL(ARG_SAMPLE_ROWS) ? SAMPLE_ROWS : PG_GETARG_INT32(ARG_SAMPLE_ROWS);

	if (rows < MIN_SAMPLE_ROWS || rows > MAX_SAMPLE_ROWS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sample_rows must be between %d and %d", MIN_SAMPLE_ROWS, MAX_SAMPLE_ROWS)));
	return rows;
}

/* advise: collects the profile of the key and fact table that the arguments name, and returns the verdict */
static Verdict *
advise(FunctionCallInfo fcinfo, Profile *p)
{
	DefinitionRow *row;
	int			rows = sample_rows(fcinfo);
	Relation	fact;
	Verdict    *v;
	ListCell   *cell;

	if (PG_ARGISNULL(ARG_FACT_TABLE) || PG_ARGISNULL(ARG_KEY))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("fact_table and key must not be null")));
	row = new_request(field_list(fcinfo, ARG_KEY, "key"), PG_ARGISNULL(ARG_INCLUDE) ? NIL : field_list(fcinfo, ARG_INCLUDE, "include"),
					  text_arg(fcinfo, ARG_FILTER, NULL));
	check_request(row);

	p->document = PG_ARGISNULL(ARG_DOCUMENT) ? NULL : NameStr(*PG_GETARG_NAME(ARG_DOCUMENT));
	fact = open_judged(PG_GETARG_OID(ARG_FACT_TABLE), row, p->document);
	p->row = row;
	v = judge_key(p, fact, rows, SAMPLE_BYTES);
	relation_close(fact, NoLock);
	foreach(cell, catalog_read_definitions(row->fact_table, InvalidOid))
	{
		DefinitionRow *existing = &((StoredDefinition *) lfirst(cell))->row;

		if (!OidIsValid(existing->replaces) && same_strings(existing->key, row->key))
			v->reasons = lappend(v->reasons, psprintf("The index table %s has this key already.",
													  quoted_relation(existing->index_table)));
	}
	return v;
}

/* other_version: raises an error, because another version of the extension has declared profile() */
static void
other_version(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the library and the catalog of indextable are of different versions"),
			 errhint("Run ALTER EXTENSION indextable UPDATE;")));
}

/* put_numbers: adds lines with the numbers of the profile */
static void
put_numbers(ReturnSetInfo *rsinfo, Profile *p, Verdict *v)
{
	StringInfoData line;
	int			i;

	initStringInfo(&line);
	put_documents(rsinfo, p->documents, p->document_bytes, p->partitioned ? p->partitions : 0, p->complete, p->sampled);
	if (p->sampled == 0)
		return;

	resetStringInfo(&line);
	if (p->filtered > 0)
		appendStringInfo(&line, "%s filtered out, ", in_percent((double) p->filtered / p->sampled));
	appendStringInfo(&line, "%s without a value", in_percent((double) p->missing / p->sampled));
	if (p->mismatching > 0)
		appendStringInfo(&line, ", %s with one that does not fit", in_percent((double) p->mismatching / p->sampled));
	if (p->def->multi)
		appendStringInfo(&line, "; %.1f entries for each of the others", entries_per_row(p));
	put_line(rsinfo, "", "%s", line.data);
	if (p->sampled_entries == 0)
		return;

	put_line(rsinfo, "keys", "%s%s of %s; %s documents to a key", p->complete ? "" : "about ", in_count(p->keys),
			 in_bytes(p->key_bytes),
			 p->entries < 10 * p->keys ? psprintf("%.1f", p->entries / p->keys) : in_count(p->entries / p->keys));
	for (i = 0; i < p->ncommon && p->common[i].n > 1; i++)
	{
		double		share = (double) p->common[i].n / p->sampled;
		char	   *picture = draw_bar(share, 20);

		put_line(rsinfo, "", "%5.1f %% %s%*s %s", share * 100, picture,
				 20 - pg_mbstrlen(picture), "", common_key_text(p, i));
	}

	resetStringInfo(&line);
	appendStringInfo(&line, "%.2f updates of each document, %s of them HOT; scanned %s time%s", p->updates / p->documents,
					 in_percent(p->updates > 0 ? (double) p->hot_updates / p->updates : 0), in_count(p->scans),
					 p->scans == 1 ? "" : "s");
	if (p->since != 0)
		appendStringInfo(&line, ", since %.10s", timestamptz_to_str(p->since));
	put_line(rsinfo, "use", "%s", line.data);

	put_line(rsinfo, "size", "%s", sizes_text(p, p->entries));
	if (v->kind == VERDICT_FILTER)
		put_line(rsinfo, "", "with the filter below: %s", sizes_text(p, v->entries));
	if (p->def->multi)
		put_line(rsinfo, "writes", "times GIN: insert %.1f, if async %.1f; a delete, which costs that nothing, as much as %.1f of its inserts",
				 ARRAY_INSERT_COST, ARRAY_QUEUED_COST, ARRAY_DELETE_COST);
	else
		put_line(rsinfo, "writes", "times a native index: insert %.1f, update %.1f, of the key %.1f; if async %.1f, %.1f, %.1f; "
				 "a delete, which costs that nothing, as much as %.1f of its inserts",
				 INSERT_COST, UPDATE_COST, MOVE_COST, QUEUED_INSERT_COST, QUEUED_UPDATE_COST, QUEUED_MOVE_COST, DELETE_COST);
}

/* entries_per_row: returns how many entries a row has on average, if it has any */
static double
entries_per_row(Profile *p)
{
	return p->with_entries > 0 ? (double) p->sampled_entries / p->with_entries : 0;
}
