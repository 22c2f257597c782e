/*-------------------------------------------------------------------------
 *
 * recommend.c
 *	  Lists the fields of a fact table's documents that are worth an index table.
 *
 * Fields are those by which queries filter, and those that a sample of the documents has.  The
 * ones that seem to be of most use are judged as advise() judges a key, and shown with the
 * statement to run.  What filters now and takes long comes first.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "nodes/execnodes.h"
#include "nodes/pg_list.h"
#include "parser/parse_coerce.h"
#include "parser/scansup.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "../definition/columns.h"
#include "../definition/fact_key.h"
#include "../definition/field_spec.h"
#include "../definition/request.h"
#include "../definition/resolve.h"
#include "../indextable.h"
#include "../util/inherit.h"
#include "existing.h"
#include "field_text.h"
#include "judge.h"
#include "profile.h"
#include "readable.h"
#include "recommend.h"
#include "sample.h"
#include "survey.h"
#include "verdict.h"
#include "workload.h"

/* The most fields that are judged, and that are recommended. */
#define MAX_JUDGED		15
#define MAX_RECOMMENDED 10

/* To judge each field, so much of the documents is read. */
#define JUDGED_BYTES	(SAMPLE_BYTES / 4)

/* A place is only looked at closer if so many rows have a value there. */
#define MIN_ROWS		10

/* If so many of its values are different, each look-up finds one document, or few. */
#define NEARLY_UNIQUE	0.9

/* With fewer different values a look-up finds too much, unless others are rare. */
#define FEW_VALUES		10

/* Texts that are longer on average are there to be read, not to be searched for. */
#define LONG_TEXT		100

/* A query that finds this many times as many rows as look-ups by a field, or as few, may be one by it. */
#define SIMILAR			1.5

/* The most names in a line, and the most characters of a query. */
#define MAX_NAMES		10
#define MAX_QUERY		120

typedef struct Candidate
{
	char	   *text;			/* the field */
	FieldSpec  *spec;
	List	   *steps;
	Oid			type;
	Place	   *place;			/* where it is in documents, or NULL */
	Load	   *load;			/* of queries that filter by it, or NULL */
	double		score;			/* how useful it may be, by the documents
								 * alone */
	int			order;			/* in the order of paths */
	Profile		profile;
	Verdict    *verdict;		/* NULL: not judged */
	double		fitting_ms;		/* of queries that may filter by it */
} Candidate;

typedef struct Advice
{
	ReturnSetInfo *rsinfo;
	Relation	fact;
	DefinitionRow *row;			/* of an index table without a key */
	const char *document;		/* as the caller has named it, or NULL */
	AttrNumber	doc;
	FactDef    *def;
	Survey	   *survey;
	Workload   *workload;
	int			rows;			/* of a sample */
	List	   *candidates;		/* of Candidate * */
	List	   *names;			/* of index tables in recommendations */
} Advice;

static void put_fields(Advice *advice);
static void put_queries(Advice *advice);
static void put_scans(Advice *advice);
static void list_candidates(Advice *advice);
static void add_candidate(Advice *advice, List *steps, Oid type, Place *place, Load *load);
static Place *place_at(Survey *survey, List *steps);
static bool is_loaded(Workload *workload, List *steps);
static double score_of_place(Survey *survey, Place *place);
static int	compare_usefulness(const ListCell *a, const ListCell *b);
static int	compare_advice(const ListCell *a, const ListCell *b);
static List *judge_candidates(Advice *advice);
static void judge_candidate(Advice *advice, Candidate *candidate);
static char *fitting_fields(HiddenQuery *query, List *judged);
static void put_hidden_queries(Advice *advice, List *judged);
static void put_candidate(Advice *advice, Candidate *candidate, int n);
static void put_names(Advice *advice, const char *topic, const char *what, List *names);
static char *load_text(Load *load);
static char *one_line(const char *text);

/*
 * recommend_fields
 *		Adds to the result of advise() lines with the fields that are worth an index table.
 */
void
recommend_fields(ReturnSetInfo *rsinfo, Oid fact_table, const char *document, int rows)
{
	Advice		advice = {.rsinfo = rsinfo,.document = document,.rows = rows};
	char	   *too_few;
	List	   *judged;
	List	   *native = NIL;
	int			n = 0;
	ListCell   *cell;

	advice.row = new_request(NIL, NIL, NULL);
	advice.fact = open_judged(fact_table, advice.row, document);
	advice.doc = named_column(advice.fact, advice.row->document, NULL);
	advice.def = make_fact_def(advice.fact, advice.row->primary_key != NIL ? advice.row->primary_key : stored_key(fact_table),
							   NULL, CurrentMemoryContext);
	advice.survey = survey_documents(advice.def, advice.doc, advice.fact, rows);
	put_documents(rsinfo, advice.survey->documents, advice.survey->document_bytes,
				  advice.def->partitioned ? advice.survey->partitions : 0, advice.survey->complete, advice.survey->sampled);
	too_few = too_few_documents(advice.survey->documents, advice.survey->document_bytes);
	if (too_few != NULL)
	{
		put_line(rsinfo, "advice", "%s", too_few);
		relation_close(advice.fact, NoLock);
		return;
	}
	put_fields(&advice);
	advice.workload = read_workload(advice.fact, advice.row->document);
	put_queries(&advice);
	list_candidates(&advice);
	judged = judge_candidates(&advice);
	put_hidden_queries(&advice, judged);
	list_sort(judged, compare_advice);
	foreach(cell, judged)
	{
		Candidate  *candidate = lfirst(cell);

		if (candidate->verdict->kind == VERDICT_NATIVE_INDEX && candidate->load == NULL && candidate->fitting_ms == 0)
			native = lappend(native, candidate->text);
		else if (candidate->verdict->kind != VERDICT_NONE && n < MAX_RECOMMENDED)
			put_candidate(&advice, candidate, ++n);
		else if (candidate->load != NULL && candidate->verdict->kind == VERDICT_NONE)
			put_line(rsinfo, "without", "%s: %s", candidate->text, (char *) linitial(candidate->verdict->reasons));
	}
	put_names(&advice, "native", "if queries look for single documents by them, a native index is better for", native);
	if (n == 0)
		put_line(rsinfo, "advice", "There is no field to recommend an index table for.");
	relation_close(advice.fact, NoLock);
}

/* put_fields: adds lines with what the survey has found, and what it has left out */
static void
put_fields(Advice *advice)
{
	Survey	   *survey = advice->survey;
	List	   *maps = NIL;
	List	   *deep = NIL;
	ListCell   *cell;

	put_line(advice->rsinfo, "fields", "%d with values%s", list_length(survey->scalars),
			 survey->full ? " were followed; there are more" : "");
	if (survey->objects < survey->sampled)
		put_line(advice->rsinfo, "", "%s of the rows have no object and no array",
				 in_percent(1 - (double) survey->objects / survey->sampled));
	foreach(cell, survey->maps)
		maps = lappend(maps, ((Place *) lfirst(cell))->parent == NULL ? "the document itself" :
					   path_text(place_steps(lfirst(cell))));
	put_names(advice, "", "members that few of the objects there have were left out:", maps);
	foreach(cell, survey->not_followed)
		deep = lappend(deep, path_text(place_steps(lfirst(cell))));
	put_names(advice, "", psprintf("what is more than %d steps deep, or in arrays within arrays, was left out, below", MAX_DEPTH), deep);
}

/* put_queries: adds lines with what is known of queries */
static void
put_queries(Advice *advice)
{
	Workload   *workload = advice->workload;

	put_scans(advice);
	if (workload->problem != NULL)
		put_line(advice->rsinfo, "queries", "not known from pg_stat_statements: %s", workload->problem);
	else
		put_line(advice->rsinfo, "queries", "statements that filter by fields: %d, %s", workload->statements,
				 load_text(&workload->load));
	if (workload->invisible > 0)
		put_line(advice->rsinfo, "", "the texts of %lld statements are hidden from you; who has the role pg_read_all_stats sees them",
				 (long long) workload->invisible);
}

/* put_scans: adds a line with how often the table was read from end to end */
static void
put_scans(Advice *advice)
{
	int64		scans = 0;
	int64		rows = 0;
	ListCell   *cell;

	foreach(cell, lock_leaves(RelationGetRelid(advice->fact), NULL, AccessShareLock))
	{
		scans += DatumGetInt64(DirectFunctionCall1(pg_stat_get_numscans, ObjectIdGetDatum(lfirst_oid(cell))));
		rows += DatumGetInt64(DirectFunctionCall1(pg_stat_get_tuples_returned, ObjectIdGetDatum(lfirst_oid(cell))));
	}
	if (scans > 0)
		put_line(advice->rsinfo, "use", scans == 1 ? "read sequentially %s time, %s rows" :
				 "read sequentially %s times, %s rows each time", in_count(scans), in_count((double) rows / scans));
}

/* list_candidates: lists the fields that may be recommended; of those that an index serves it says so */
static void
list_candidates(Advice *advice)
{
	ListCell   *cell;

	foreach(cell, advice->workload->fields)
	{
		LoadedField *loaded = lfirst(cell);

		add_candidate(advice, loaded->field.steps, loaded->field.type, place_at(advice->survey, loaded->field.steps), &loaded->load);
	}
	foreach(cell, advice->survey->scalars)
	{
		Place	   *place = lfirst(cell);
		List	   *steps = place_steps(place);

		/* The elements of an array have a scalar for an array of one. */
		if (place->rows >= MIN_ROWS && !is_loaded(advice->workload, steps) &&
			(place->elements == NULL || place->elements->rows < place->rows))
			add_candidate(advice, steps, place_type(place), place, NULL);
	}
	list_sort(advice->candidates, compare_usefulness);
}

/* add_candidate: adds a field to those that may be recommended, unless an index serves it */
static void
add_candidate(Advice *advice, List *steps, Oid type, Place *place, Load *load)
{
	Candidate  *candidate = palloc0(sizeof(Candidate));
	char	   *existing;
	int			wildcards = 0;
	ListCell   *cell;

	foreach(cell, steps)
		wildcards += lfirst(cell) == NULL;
	if (wildcards > 1)
		return;
	candidate->text = field_text(advice->def, advice->row->document, steps, type);
	candidate->spec = parse_field_spec(candidate->text, true);
	candidate->steps = steps;
	candidate->type = type;
	candidate->place = place;
	candidate->load = load;
	candidate->score = place != NULL ? score_of_place(advice->survey, place) : 0;
	candidate->order = list_length(advice->candidates);
	existing = existing_index(advice->fact, advice->doc, candidate->spec, load != NULL ? type : InvalidOid);
	if (existing != NULL)
		put_line(advice->rsinfo, "served", "%s: by %s", path_text(steps), existing);
	else if (load != NULL || candidate->score > 0)
		advice->candidates = lappend(advice->candidates, candidate);
}

/* place_at: returns the place at the end of a path, or NULL */
static Place *
place_at(Survey *survey, List *steps)
{
	ListCell   *cell;

	foreach(cell, survey->scalars)
		if (same_steps(place_steps(lfirst(cell)), steps))
		return lfirst(cell);
	return NULL;
}

/* is_loaded: returns whether queries filter by a field, with any type */
static bool
is_loaded(Workload *workload, List *steps)
{
	ListCell   *cell;

	foreach(cell, workload->fields)
		if (same_steps(((LoadedField *) lfirst(cell))->field.steps, steps))
		return true;
	return false;
}

/*
 * score_of_place
 *		Returns how useful an index table on a field may be, from 0 to 1: what most documents
 *		have and what tells them apart.  It only says what to judge first.
 */
static double
score_of_place(Survey *survey, Place *place)
{
	double		different = estimateHyperLogLog(&place->distinct);
	double		score = (double) place->rows / survey->sampled;

	if (different < 1.5 || place->bytes > LONG_TEXT * place->values)
		return 0;
	if (different < FEW_VALUES)
		score *= 0.3;
	if (different > NEARLY_UNIQUE * place->values && survey->partitions == 1 && !place->is_multi)
		score *= 0.2;
	return score;
}

/* compare_usefulness: sorts candidates in the order in which they are judged */
static int
compare_usefulness(const ListCell *a, const ListCell *b)
{
	Candidate  *one = lfirst(a);
	Candidate  *other = lfirst(b);

#define COMPARE(x, y)	if ((x) != (y)) return (x) > (y) ? -1 : 1
	COMPARE(one->load != NULL, other->load != NULL);
	COMPARE(one->load != NULL ? one->load->ms : 0, other->load != NULL ? other->load->ms : 0);
	COMPARE(one->score, other->score);
	COMPARE(-one->order, -other->order);
	return 0;
}

/* compare_advice: sorts candidates in the order in which they are shown */
static int
compare_advice(const ListCell *a, const ListCell *b)
{
	Candidate  *one = lfirst(a);
	Candidate  *other = lfirst(b);

	COMPARE(one->load != NULL ? one->load->ms : 0, other->load != NULL ? other->load->ms : 0);
	COMPARE(one->load != NULL ? one->load->sessions : 0, other->load != NULL ? other->load->sessions : 0);
	COMPARE(one->fitting_ms, other->fitting_ms);
	COMPARE(one->verdict->kind, other->verdict->kind);
#undef COMPARE
	return compare_usefulness(a, b);
}

/* judge_candidates: judges the first candidates, and returns them */
static List *
judge_candidates(Advice *advice)
{
	List	   *judged = NIL;
	ListCell   *cell;

	foreach(cell, advice->candidates)
	{
		Candidate  *candidate = lfirst(cell);

		if (list_length(judged) == MAX_JUDGED)
			break;
		judge_candidate(advice, candidate);
		/* A type is only proposed if all values fit it. */
		if (candidate->load == NULL && candidate->type != TEXTOID && candidate->profile.mismatching > 0)
		{
			candidate->type = TEXTOID;
			candidate->text = field_text(advice->def, advice->row->document, candidate->steps, TEXTOID);
			judge_candidate(advice, candidate);
		}
		judged = lappend(judged, candidate);
	}
	return judged;
}

/* judge_candidate: judges a candidate as advise() judges a key */
static void
judge_candidate(Advice *advice, Candidate *candidate)
{
	DefinitionRow *row = palloc(sizeof(DefinitionRow));

	*row = *advice->row;
	row->key = list_make1(candidate->text);
	memset(&candidate->profile, 0, sizeof(Profile));
	candidate->profile.row = row;
	candidate->profile.document = advice->document;
	candidate->profile.names = &advice->names;
	candidate->verdict = judge_key(&candidate->profile, advice->fact, advice->rows, JUDGED_BYTES);
}

/*
 * put_hidden_queries
 *		Adds lines with the queries of which it is not known by which fields they filter, and
 *		with fields of which look-ups would find as many rows.
 */
static void
put_hidden_queries(Advice *advice, List *judged)
{
	ListCell   *cell;

	foreach(cell, advice->workload->hidden)
	{
		HiddenQuery *query = lfirst(cell);
		char	   *fitting = fitting_fields(query, judged);

		put_line(advice->rsinfo, foreach_current_index(cell) == 0 ? "unnamed" : "", "%s; %s", one_line(query->text), load_text(&query->load));
		if (query->found >= 0)
			put_line(advice->rsinfo, "", "pg_stat_statements keeps no names of fields; this query finds %.1f rows a call%s%s", query->found,
					 fitting != NULL ? ", as look-ups would by " : "", fitting != NULL ? fitting : "");
	}
}

/* fitting_fields: returns the fields by which a query may filter, for people to read, and notes its time with them; NULL: none */
static char *
fitting_fields(HiddenQuery *query, List *judged)
{
	StringInfoData names;
	ListCell   *cell;

	initStringInfo(&names);
	foreach(cell, judged)
	{
		Candidate  *candidate = lfirst(cell);
		double		finds = candidate->profile.found[0] * candidate->profile.documents;

		if (query->found <= 0 || candidate->profile.sampled_entries == 0 ||
			(candidate->spec->multi && !query->is_contained) ||
			TypeCategory(candidate->type) != TypeCategory(query->type) ||
			Max(finds, 1) > query->found * SIMILAR || Max(finds, 1) < query->found / SIMILAR)
			continue;
		candidate->fitting_ms += query->load.ms;
		appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "", candidate->text);
	}
	return names.len > 0 ? names.data : NULL;
}

/* put_candidate: adds the lines of a recommendation */
static void
put_candidate(Advice *advice, Candidate *candidate, int n)
{
	static const char *const kinds[] = {"", "", "a native index", "an index table with a filter", "an index table"};
	ReturnSetInfo *rsinfo = advice->rsinfo;
	Verdict    *v = candidate->verdict;
	ListCell   *cell;

	if (v->kind == VERDICT_NATIVE_INDEX)
		put_line(rsinfo, psprintf("%d", n), "%s: %s", candidate->text, kinds[v->kind]);
	else
		put_line(rsinfo, psprintf("%d", n), "%s: %s, %s, %s%s", candidate->text, kinds[v->kind], strategies[v->strategy],
				 maintenances[v->async], v->is_unique ? ", unique" : "");
	if (candidate->load != NULL)
		put_line(rsinfo, "", "queries filter by it: %s", load_text(candidate->load));
	foreach(cell, v->reasons)
	{
		/*
		 * The first one says why; the others, what to consider before it is
		 * done.
		 */
		if (foreach_current_index(cell) == 0 || v->is_unique || v->is_volatile)
			put_line(rsinfo, "", "%s", (char *) lfirst(cell));
	}
	put_line(rsinfo, "size", "%s", sizes_text(&candidate->profile, v->entries));
	put_line(rsinfo, "do", "%s", v->statement);
	if (v->kind == VERDICT_NATIVE_INDEX)
		put_line(rsinfo, "or", "%s", v->alternative);
}

/* put_names: adds a line with some names, unless there are none */
static void
put_names(Advice *advice, const char *topic, const char *what, List *names)
{
	StringInfoData line;
	ListCell   *cell;

	initStringInfo(&line);
	foreach(cell, names)
	{
		if (foreach_current_index(cell) == MAX_NAMES)
		{
			appendStringInfo(&line, ", and %d more", list_length(names) - MAX_NAMES);
			break;
		}
		appendStringInfo(&line, "%s%s", line.len > 0 ? ", " : "", (char *) lfirst(cell));
	}
	if (names != NIL)
		put_line(advice->rsinfo, topic, "%s %s", what, line.data);
}

/* load_text: returns for people to read how often queries ran, and how long */
static char *
load_text(Load *load)
{
	StringInfoData text;

	initStringInfo(&text);
	if (load->calls > 0 || load->sessions == 0)
		appendStringInfo(&text, "calls: %s, time: %s%s", in_count(load->calls), in_time(load->ms),
						 load->reads_all ? ", reading most of the table" : "");
	if (load->sessions > 0)
		appendStringInfo(&text, "%slast query of other sessions: %d", text.len > 0 ? ", " : "", load->sessions);
	return text.data;
}

/* one_line: returns the beginning of a query without line breaks and indentation */
static char *
one_line(const char *text)
{
	StringInfoData line;
	int			len;

	initStringInfo(&line);
	for (; *text !='\0'; text ++)
	{
		if (!scanner_isspace(*text))
			appendStringInfoChar(&line, *text);
		else if (line.len > 0 && line.data[line.len - 1] != ' ')
			appendStringInfoChar(&line, ' ');
	}
	len = pg_mbcharcliplen(line.data, line.len, MAX_QUERY);
	return psprintf("%.*s%s", len, line.data, len < line.len ? "..." : "");
}
