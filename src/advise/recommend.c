/*-------------------------------------------------------------------------
 *
 * recommend.c
 *	  Lists the fields of a fact table's documents that are worth an index table.
 *
 * Fields are those by which queries have filtered without an index table, as the planner counts
 * them, and those that a sample of the documents has.  The ones that seem to be of most use are
 * judged as advise() judges a key, and shown with the statement to run.  What queries filter by
 * most often comes first.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "nodes/execnodes.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "../definition/columns.h"
#include "../definition/fact_key.h"
#include "../definition/field_spec.h"
#include "../definition/request.h"
#include "../definition/resolve.h"
#include "../indextable.h"
#include "../read/missed.h"
#include "../util/arguments.h"
#include "../util/inherit.h"
#include "existing.h"
#include "named_field.h"
#include "judge.h"
#include "profile.h"
#include "readable.h"
#include "recommend.h"
#include "sample.h"
#include "survey.h"
#include "verdict.h"

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

/* The most names in a line. */
#define MAX_NAMES		10

typedef struct Candidate
{
	char	   *text;			/* the field */
	FieldSpec  *spec;
	List	   *steps;
	Oid			type;
	Place	   *place;			/* where it is in documents, or NULL */
	uint64		planned;		/* queries that filter by it, as often as they
								 * were planned */
	double		score;			/* how useful it may be, by the documents
								 * alone */
	int			order;			/* in the order of paths */
	Profile		profile;
	Verdict    *verdict;		/* NULL: not judged */
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
	List	   *missed;			/* of MissedCondition * */
	int			rows;			/* of a sample */
	List	   *candidates;		/* of Candidate * */
	List	   *names;			/* of index tables in recommendations */
} Advice;

static void put_fields(Advice *advice);
static void put_queries(Advice *advice);
static void put_scans(Advice *advice);
static void list_candidates(Advice *advice);
static void add_missed(Advice *advice);
static void add_candidate(Advice *advice, List *steps, Oid type, Place *place, uint64 planned);
static Place *place_at(Survey *survey, List *steps);
static bool is_candidate(Advice *advice, List *steps);
static double score_of_place(Survey *survey, Place *place);
static int	compare_usefulness(const ListCell *a, const ListCell *b);
static int	compare_advice(const ListCell *a, const ListCell *b);
static List *judge_candidates(Advice *advice);
static void judge_candidate(Advice *advice, Candidate *candidate);
static void put_candidate(Advice *advice, Candidate *candidate, int n);
static void put_names(Advice *advice, const char *topic, const char *what, List *names);

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
	advice.missed = missed_conditions(fact_table);
	put_queries(&advice);
	list_candidates(&advice);
	judged = judge_candidates(&advice);
	list_sort(judged, compare_advice);
	foreach(cell, judged)
	{
		Candidate  *candidate = lfirst(cell);

		if (candidate->verdict->kind == VERDICT_NATIVE_INDEX && candidate->planned == 0)
			native = lappend(native, candidate->text);
		else if (candidate->verdict->kind != VERDICT_NONE && n < MAX_RECOMMENDED)
			put_candidate(&advice, candidate, ++n);
		else if (candidate->planned > 0 && candidate->verdict->kind == VERDICT_NONE)
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
	uint64		planned = 0;
	TimestampTz since = 0;
	ListCell   *cell;

	put_scans(advice);
	foreach(cell, advice->missed)
	{
		MissedCondition *condition = lfirst(cell);

		planned += condition->planned;
		since = since == 0 ? condition->since : Min(since, condition->since);
	}
	if (!missed_is_kept())
		put_line(advice->rsinfo, "queries", "not known, as the library is not in shared_preload_libraries");
	else if (!may_see_missed(RelationGetRelid(advice->fact)))
		put_line(advice->rsinfo, "queries", "hidden from you; the owner of the table sees them, and who has the role pg_read_all_stats");
	else if (planned == 0)
		put_line(advice->rsinfo, "queries", "none have filtered by fields that have no index table");
	else
		put_line(advice->rsinfo, "queries", "conditions on fields without an index table: planned %s time%s since %.10s",
				 in_count(planned), planned == 1 ? "" : "s", timestamptz_to_str(since));
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

	add_missed(advice);
	foreach(cell, advice->survey->scalars)
	{
		Place	   *place = lfirst(cell);
		List	   *steps = place_steps(place);

		/* The elements of an array have a scalar for an array of one. */
		if (place->rows >= MIN_ROWS && !is_candidate(advice, steps) &&
			(place->elements == NULL || place->elements->rows < place->rows))
			add_candidate(advice, steps, place_type(place), place, 0);
	}
	list_sort(advice->candidates, compare_usefulness);
}

/* add_missed: adds the fields by which queries filter, each once, however they compare it */
static void
add_missed(Advice *advice)
{
	ListCell   *cell;
	ListCell   *other;

	foreach(cell, advice->missed)
	{
		MissedCondition *condition = lfirst(cell);
		FieldSpec  *spec = parse_field_spec(condition->field, true);
		List	   *steps = NIL;
		uint64		planned = 0;
		bool		first = true;
		int			i;

		if (condition->document != advice->doc)
			continue;
		foreach(other, advice->missed)
		{
			MissedCondition *same = lfirst(other);

			if (same->document != condition->document || strcmp(same->field, condition->field) != 0)
				continue;
			first &= planned > 0 || same == condition;
			planned += same->planned;
		}
		for (i = 0; i < spec->nsteps; i++)
			steps = lappend(steps, spec->steps[i].name);
		if (first)
			add_candidate(advice, steps, OidIsValid(spec->type) ? spec->type : TEXTOID, place_at(advice->survey, steps), planned);
	}
}

/* add_candidate: adds a field to those that may be recommended, unless an index serves it */
static void
add_candidate(Advice *advice, List *steps, Oid type, Place *place, uint64 planned)
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
	candidate->planned = planned;
	candidate->score = place != NULL ? score_of_place(advice->survey, place) : 0;
	candidate->order = list_length(advice->candidates);
	existing = existing_index(advice->fact, advice->doc, candidate->spec, planned > 0 ? type : InvalidOid);
	if (existing != NULL)
		put_line(advice->rsinfo, "served", "%s: by %s", path_text(steps), existing);
	else if (planned > 0 || candidate->score > 0)
		advice->candidates = lappend(advice->candidates, candidate);
}

/* place_at: returns the place at the end of a path, or NULL */
static Place *
place_at(Survey *survey, List *steps)
{
	ListCell   *cell;

	foreach(cell, survey->scalars)
	{
		if (same_strings(place_steps(lfirst(cell)), steps))
			return lfirst(cell);
	}
	return NULL;
}

/* is_candidate: returns whether a field is a candidate already, with any type, as queries filter by it */
static bool
is_candidate(Advice *advice, List *steps)
{
	ListCell   *cell;

	foreach(cell, advice->candidates)
	{
		if (((Candidate *) lfirst(cell))->planned > 0 && same_strings(((Candidate *) lfirst(cell))->steps, steps))
			return true;
	}
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
	COMPARE(one->planned, other->planned);
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

	COMPARE(one->planned, other->planned);
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
		if (candidate->planned == 0 && candidate->type != TEXTOID && candidate->profile.mismatching > 0)
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
	if (candidate->planned > 0)
		put_line(rsinfo, "", "queries filter by it: planned %s time%s", in_count(candidate->planned),
				 candidate->planned == 1 ? "" : "s");
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
