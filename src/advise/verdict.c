/*-------------------------------------------------------------------------
 *
 * verdict.c
 *	  Decides from the numbers of a profile whether to advise an index table, and
 *	  which, a native index, or neither, and gives the reasons and the statement to
 *	  run.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/heaptoast.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "nodes/pg_list.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "../definition/primary_key.h"
#include "../indextable.h"
#include "../util/fixed_settings.h"
#include "costs.h"
#include "profile.h"
#include "readable.h"
#include "statement.h"
#include "verdict.h"

/* With fewer documents than these there is no verdict: reading all of them takes some milliseconds, if they are short. */
#define FEW_DOCUMENTS		1000

/* Fewer bytes of documents are read in no time. */
#define FEW_BYTES			(4 * 1024 * 1024)

/*
 * A look-up that finds more than this share of the documents might as well read all
 * of them: if a block holds twelve documents of 600 bytes, a tenth of the documents
 * is in 1 - 0.9^12 = 72 % of the blocks.
 */
#define POOR_SHARE			0.1

/* A filter may leave at most so many values out to come below that share. */
#define LEFT_OUT			3

/* If this share of the values does not fit the field's type, the type is wrong. */
#define MISMATCHING_SHARE	0.5

/* If this share of the rows has no entry, the field is rare, and the index table small. */
#define RARE_SHARE			0.9

/*
 * A look-up that finds fewer rows than these and then reads the documents is faster
 * with a native index: lookup() takes a third longer (test/bench/results.md).
 */
#define FEW_ROWS			2.0

/*
 * If each document has been updated so many times, and more often than the table was
 * read, the key may change too often for an index.  This number is a judgement, not
 * a measurement.
 */
#define VOLATILE_UPDATES	5.0

/*
 * A document that is so many times as wide as its entries is expensive to read: even
 * if documents have 600 bytes, entries with three fields are read in a third of the
 * time (test/bench/results.md).
 */
#define WIDE				10.0

/* If entries with included fields have this share of the document, they may as well have all of it. */
#define WHOLE_SHARE			0.5

const char *const verdict_names[] = {"undecided", "none", "native_index", "filter", "index_table"};

#define REASON(v, ...)	((v)->reasons = lappend((v)->reasons, psprintf(__VA_ARGS__)))

static void choose_for_poor_key(Profile *p, Verdict *v);
static void choose_for_selective_key(Profile *p, Verdict *v);
static bool may_change(Profile *p);
static bool stays_hot(Profile *p);
static bool native_possible(Profile *p);

/*
 * choose_verdict
 *		Returns what to advise.
 *
 * It asks in this order: whether the documents have the key at all, whether the key
 * tells documents apart, whether it seldom changes, and then which kind of index
 * serves it best.  A no to one question makes the next one pointless.
 */
Verdict *
choose_verdict(Profile *p, Relation fact)
{
	Verdict    *v = palloc0(sizeof(Verdict));
	int64		valued = p->with_entries + p->mismatching;
	bool		rare = p->missing > p->sampled * RARE_SHARE;
	int			left_out;
	int			i;

	v->kind = VERDICT_NONE;
	v->strategy = p->row->include != NIL ? STRATEGY_PARTIAL : STRATEGY_NORMALIZED;
	if (p->documents < FEW_DOCUMENTS)
	{
		v->kind = VERDICT_UNDECIDED;
		REASON(v, "%s", too_few_documents(p->documents, p->document_bytes));
	}
	else if (p->mismatching > valued * MISMATCHING_SHARE)
	{
		if (p->mismatch != NULL)
			REASON(v, "%s of the values do not fit: %s", in_percent((double) p->mismatching / valued), p->mismatch);
		else
			REASON(v, "%s of the values do not fit.", in_percent((double) p->mismatching / valued));
		REASON(v, "Use another type, as text, or correct the documents.");
	}
	else if (p->sampled_entries == 0)
	{
		if (p->filtered == p->sampled)
			REASON(v, "None of the %s rows that were looked at passes the filter.", in_count(p->sampled));
		else
			REASON(v, "None of the %s documents that were looked at has a value there. Case matters in paths.",
				   in_count(p->sampled - p->filtered));
	}
	else if (p->found[0] > POOR_SHARE)
		choose_for_poor_key(p, v);
	else
		choose_for_selective_key(p, v);

	if (v->kind == VERDICT_INDEX_TABLE && p->shows_fields && p->entry_bytes > WHOLE_SHARE * p->document_bytes &&
		p->stored_bytes < TOAST_TUPLE_THRESHOLD)
	{
		v->strategy = STRATEGY_DENORMALIZED;
		REASON(v, "With the included fields an entry has most of the document's %s: it may as well have all.",
			   in_bytes(p->document_bytes));
	}
	for (i = 0; i < p->def->nincludes && v->kind >= VERDICT_FILTER; i++)
		if (!p->included[i])
			REASON(v, "None of the documents that were looked at has the included field \"%s\".",
				   p->def->fields[p->def->nkeys + i].spec->text);
	if (v->kind >= VERDICT_FILTER && p->mismatching > 0)
	{
		if (p->mismatch != NULL)
			REASON(v, "%s of the values do not fit and would be skipped: %s",
				   in_percent((double) p->mismatching / valued), p->mismatch);
		else
			REASON(v, "%s of the values do not fit and would be skipped.", in_percent((double) p->mismatching / valued));
	}
	for (left_out = 0; v->kind == VERDICT_FILTER && p->found[left_out] > POOR_SHARE;)
		left_out++;
	v->filter = filter_without(p, left_out);
	v->entries = p->sampled_entries == 0 ? 0 :
		p->entries * (p->sampled_entries - p->common_entries[left_out]) / p->sampled_entries;
	if (v->kind == VERDICT_NATIVE_INDEX)
	{
		v->statement = native_statement(p, fact, v->filter, rare);
		v->when = "if queries only count or list the keys:";
		v->alternative = create_statement(p, fact, v->strategy, v->filter, v->async, v->is_unique);
	}
	else if (v->kind >= VERDICT_FILTER)
	{
		v->statement = create_statement(p, fact, v->strategy, v->filter, v->async, v->is_unique);
		if (p->def->multi)
		{
			v->when = "for documents that contain several elements at once, in no order:";
			v->alternative = gin_statement(p, fact);
		}
		else if (native_possible(p) && !p->shows_fields && !v->async)
		{
			v->when = "if all queries read the documents that they find:";
			v->alternative = native_statement(p, fact, v->filter, rare);
		}
	}
	return v;
}

/* too_few_documents: returns why there is no verdict on a table; NULL: it has enough documents for one */
char *
too_few_documents(double documents, double document_bytes)
{
	if (documents >= FEW_DOCUMENTS)
		return NULL;
	if (documents > 1 && documents * document_bytes > FEW_BYTES)
		return psprintf("There are %.0f documents: too few to judge a key by, although reading %s takes time. Ask again when there are %d.",
						documents, in_bytes(documents * document_bytes), FEW_DOCUMENTS);
	return psprintf(documents == 1 ? "There is %.0f document: reading it takes no time. Ask again when there are %d." :
					"There are %.0f documents: reading all of them takes no time. Ask again when there are %d.",
					documents, FEW_DOCUMENTS);
}

/*
 * choose_for_poor_key
 *		Decides for a key by which a look-up finds too many documents, at least for
 *		its common values.
 */
static void
choose_for_poor_key(Profile *p, Verdict *v)
{
	double		most = (double) p->common[0].n / p->sampled;
	int			n;

	for (n = 1; n <= Min(LEFT_OUT, p->ncommon) && !p->def->multi; n++)
		if (p->found[n] <= POOR_SHARE && p->sampled_entries > p->common_entries[n])
			break;
	REASON(v, "%s of the documents have the value %s.", in_percent(most), common_key_text(p, 0));
	if (n <= LEFT_OUT && n <= p->ncommon && !p->def->multi)
	{
		v->kind = VERDICT_FILTER;
		if (n == 1)
		{
			REASON(v, "A look-up of it reads so much that it might as well read all, and every insert pays for the entry.");
			REASON(v, "Without it the index table has %s of the entries, and a look-up finds %s of the documents.",
				   in_percent(1 - (double) p->common_entries[n] / p->sampled_entries), in_percent(p->found[n]));
		}
		else
		{
			REASON(v, "A look-up of the commonest values reads so much that it might as well read all, and every insert pays for the entry.");
			REASON(v, "Without the %d commonest the index table has %s of the entries, and a look-up finds %s of the documents.",
				   n, in_percent(1 - (double) p->common_entries[n] / p->sampled_entries), in_percent(p->found[n]));
		}
	}
	else if (p->shows_fields && p->document_bytes >= WIDE * p->entry_bytes)
	{
		v->kind = VERDICT_INDEX_TABLE;
		REASON(v, "Its few values do not tell documents apart; but entries with the included fields have %s, documents %s.",
			   in_bytes(p->entry_bytes), in_bytes(p->document_bytes));
		REASON(v, "What is answered from entries alone is worth it. What goes on to read documents is not.");
	}
	else
	{
		REASON(v, "A look-up finds %s of the documents on average: reading all of them takes about as long.",
			   in_percent(p->found[0]));
		REASON(v, "Add a field to the key that tells them apart, or do without an index.");
	}
}

/* choose_for_selective_key: decides for a key by which a look-up finds few documents */
static void
choose_for_selective_key(Profile *p, Verdict *v)
{
	double		rows = p->entries / p->keys;
	double		without = 1 - (double) p->with_entries / p->sampled;

	v->kind = VERDICT_INDEX_TABLE;
	if (may_change(p))
	{
		v->is_volatile = true;
		v->async = true;
		REASON(v, "Each document was updated %.1f times, more often than the table was read, and the field is a number.",
			   p->updates / p->documents);
		REASON(v, "If it is what these updates change, do not build one, nor an index: every update would move an entry.");
		REASON(v, "Statistics do not tell which field changes. If it is needed all the same: async, off the writers' hands.");
	}
	else if (p->partitioned)
	{
		v->is_unique = p->all_differ && !p->def->multi && !p->shows_fields;
		REASON(v, "The table has %d partitions, and a local index would be searched in each; this is one for all.",
			   p->partitions);
		if (v->is_unique)
			REASON(v, "No value was met twice: it can be unique over all partitions, if it is meant to be.");
	}
	else if (native_possible(p) && !p->shows_fields && rows < FEW_ROWS)
	{
		if (stays_hot(p))
		{
			REASON(v, "Documents are updated, %s of these updates are HOT, and an index on the expression would end that.",
				   in_percent((double) p->hot_updates / p->updates));
			REASON(v, "An index table leaves them HOT as long as this field stays as it is.");
		}
		else
		{
			v->kind = VERDICT_NATIVE_INDEX;
			REASON(v, "A look-up finds %.1f documents, in one table, and goes on to read them.", rows);
			REASON(v, "A native index goes straight to the row, and is smaller (%s against %s); an insert into an index table costs %.1f times as much.",
				   in_bytes(p->native_size), in_bytes(p->normalized_size), INSERT_COST);
		}
	}
	else if (p->def->multi)
		REASON(v, "Documents that have an element come in the order of the key, a page at a time; GIN has no order.");
	else if (!p->shows_fields)
	{
		REASON(v, "A look-up finds about %s of %s documents; queries that count, or show only the key, read entries alone.",
			   in_count(rows), in_count(p->documents));
		if (rows < FEW_ROWS && !native_possible(p))
		{
			if (p->mismatching > 0)
				REASON(v, "An index on the expression cannot be made: it would refuse values that do not fit.");
			else
				REASON(v, "An index on the expression cannot be made: its cast is not immutable.");
		}
	}
	if (!p->shows_fields && v->kind == VERDICT_INDEX_TABLE && p->document_bytes > TOAST_TUPLE_THRESHOLD)
		REASON(v, "Documents are wide, %s: ask again with include, for the fields that queries read.",
			   in_bytes(p->document_bytes));
	if (p->shows_fields && v->kind == VERDICT_INDEX_TABLE)
		REASON(v, "An entry with the included fields has %s, a document %s: queries that show no other field do not read documents.",
			   in_bytes(p->entry_bytes), in_bytes(p->document_bytes));
	if (!p->shows_fields && !p->hinted && v->kind == VERDICT_INDEX_TABLE && !v->is_volatile && p->updates < p->documents)
		REASON(v, "Rows are seldom updated: with @ctid included, a look-up that reads documents takes about half the time.");
	if (p->row->include != NIL && (p->widest > p->def->max_covered_bytes || !primary_key_can_cover(p->def)))
		REASON(v, "Some entries are too wide for the index, and are read from the table: include less.");
	if (without >= RARE_SHARE)
		REASON(v, "%s of the rows have no entry: the index table is small, and they pay next to nothing.",
			   in_percent(without));
}

/* may_change: returns whether frequent updates of the table may be changes of the key */
static bool
may_change(Profile *p)
{
	/*
	 * Each update and each delete needs a scan to find its row, which is no
	 * read for its own sake.
	 */
	int64		reads = p->scans - p->updates - p->deletes;

	return p->updates >= VOLATILE_UPDATES * p->documents && p->updates > reads &&
		p->numbers > p->sampled_entries / 2;
}

/* stays_hot: returns whether updates are frequent, and most of them HOT */
static bool
stays_hot(Profile *p)
{
	return p->updates >= p->documents && p->hot_updates > p->updates / 2;
}

/*
 * native_possible
 *		Returns whether a native index on the key's expressions can be made, and
 *		serves look-ups as well.
 */
static bool
native_possible(Profile *p)
{
	int			i;

	if (p->partitioned || p->def->multi || p->mismatching > 0)
		return false;
	for (i = 0; i < p->def->nkeys; i++)
	{
		Field	   *field = &p->def->fields[i];

		/*
		 * The cast of a text to a date depends on a setting in SQL, and so an
		 * index cannot have it.
		 */
		if (field->fact_attno == 0 && field->cast.kind != CAST_NONE && !field->is_jsonb &&
			func_volatile(field->cast.convert.fn_oid) != PROVOLATILE_IMMUTABLE)
			return false;
	}
	return true;
}

/* common_key_text: returns the values of one of the most common keys, for people to read */
char *
common_key_text(Profile *p, int which)
{
	StringInfoData result;
	int			i;

	initStringInfo(&result);
	for (i = 0; i < p->def->nkeys; i++)
	{
		char	   *text;
		char	   *c;
		int			len;

		text = value_text(p->def->fields[i].type, p->common[which].values[i]);

		for (c = text; *c != '\0'; c++)
			if ((unsigned char) *c < ' ')
				*c = ' ';
		len = pg_mbcharcliplen(text, strlen(text), 40);
		appendStringInfo(&result, "%s\"%.*s%s\"", i > 0 ? ", " : "", len, text, text[len] != '\0' ? "..." : "");
	}
	return result.data;
}
