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
#include "../definition/statement.h"
#include "../indextable.h"
#include "../util/fixed_settings.h"
#include "../util/sql.h"
#include "profile.h"
#include "readable.h"
#include "verdict.h"

/* With fewer documents than these there is no verdict: reading all of them takes some milliseconds. */
#define FEW_DOCUMENTS		1000

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
 * with a native index: it takes 11 us, and lookup() takes 15 (docs/costs.md).
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
 * time (docs/costs.md).
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
static char *field_sql(Profile *p, Field *field, bool as_text);
static char *filter_without(Profile *p, int n);
static char *create_statement(Profile *p, Relation fact, Verdict *v);
static char *native_statement(Profile *p, Relation fact, Verdict *v);
static char *gin_statement(Profile *p, Relation fact);

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
	int			left_out;
	int			i;

	v->kind = VERDICT_NONE;
	v->strategy = p->row->include != NIL ? STRATEGY_PARTIAL : STRATEGY_NORMALIZED;
	if (p->documents < FEW_DOCUMENTS)
	{
		v->kind = VERDICT_UNDECIDED;
		REASON(v, "There are %.0f documents: reading all of them takes no time. Ask again when there are %d.",
			   p->documents, FEW_DOCUMENTS);
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
			REASON(v, "None of the %lld rows that were looked at passes the filter.", (long long) p->sampled);
		else
			REASON(v, "None of the %lld documents that were looked at has a value there. Case matters in paths.",
				   (long long) (p->sampled - p->filtered));
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
	if (v->kind == VERDICT_NATIVE_INDEX)
	{
		v->statement = native_statement(p, fact, v);
		v->when = "if queries only count or list the keys:";
		v->alternative = create_statement(p, fact, v);
	}
	else if (v->kind >= VERDICT_FILTER)
	{
		v->statement = create_statement(p, fact, v);
		if (p->def->multi)
		{
			v->when = "for documents that contain several elements at once, in no order:";
			v->alternative = gin_statement(p, fact);
		}
		else if (native_possible(p) && !p->shows_fields && !v->async)
		{
			v->when = "if all queries read the documents that they find:";
			v->alternative = native_statement(p, fact, v);
		}
	}
	return v;
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
			REASON(v, "A native index goes straight to the row: it is smaller (%s against %s), and cheaper to keep.",
				   in_bytes(p->native_size), in_bytes(p->normalized_size));
		}
	}
	else if (p->def->multi)
		REASON(v, "Documents that have an element come in the order of the key, a page at a time; GIN has no order.");
	else if (!p->shows_fields)
	{
		REASON(v, "A look-up finds about %.0f of %.0f documents; queries that count, or show only the key, read entries alone.",
			   rows, p->documents);
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

/* path_sql: returns a field's path into the document as SQL, up to its [*] if it has one */
static char *
path_sql(Profile *p, Field *field, bool as_text)
{
	const char *document = quote_identifier(p->row->document);
	PathStep   *steps = field->spec->steps;
	Datum	   *names = palloc(sizeof(Datum) * Max(field->plain_steps, 1));
	int			i;

	if (field->plain_steps == 0)
		return pstrdup(document);
	if (field->plain_steps == 1 && !steps[0].is_index)
		return psprintf("%s %s %s", document, as_text ? "->>" : "->",
						quote_literal_cstr(pnstrdup(steps[0].name, steps[0].len)));
	for (i = 0; i < field->plain_steps; i++)
		names[i] = PointerGetDatum(cstring_to_text_with_len(steps[i].name, steps[i].len));
	return psprintf("%s %s %s", document, as_text ? "#>>" : "#>",
					quote_literal_cstr(OidOutputFunctionCall(F_ARRAY_OUT, PointerGetDatum(
																						  construct_array(names, field->plain_steps, TEXTOID, -1, false, TYPALIGN_INT)))));
}

/*
 * field_sql
 *		Returns SQL over the fact table for a field's value, or for its text before
 *		the cast if as_text is set.
 */
static char *
field_sql(Profile *p, Field *field, bool as_text)
{
	char	   *type = format_type_with_typemod(field->type, field->typmod);

	if (field->spec->column != NULL)
		return field->convert == NULL ? pstrdup(quote_identifier(field->spec->column)) :
			psprintf("(%s)::%s", quote_identifier(field->spec->column), type);
	if (field->is_jsonb)
		return path_sql(p, field, false);
	if (as_text || field->type == TEXTOID)
		return path_sql(p, field, true);
	return psprintf("(%s)::%s", path_sql(p, field, true), type);
}

/*
 * value_sql
 *		Returns a value as an SQL literal that can be compared with what field_sql()
 *		gives as text.
 *
 * Filters compare texts, because a cast would fail for a value that does not fit.
 */
static char *
value_sql(Field *field, Datum value)
{
	if (field->spec->column == NULL && field->type == BOOLOID)
		return pstrdup(DatumGetBool(value) ? "'true'" : "'false'");
	return quote_literal_cstr(value_text(field->type, value));
}

/*
 * filter_without
 *		Returns the caller's filter, extended so that it leaves the n most common
 *		keys out; NULL if there is neither.
 */
static char *
filter_without(Profile *p, int n)
{
	StringInfoData result;
	int			i;
	int			k;

	initStringInfo(&result);
	if (p->row->filter != NULL)
		appendStringInfo(&result, n > 0 ? "(%s) AND " : "%s", p->row->filter);
	if (p->def->nkeys == 1 && n > 0)
	{
		Field	   *field = &p->def->fields[0];

		appendStringInfo(&result, "%s %s", field_sql(p, field, true), n == 1 ? "<> " : "NOT IN (");
		for (i = 0; i < n; i++)
			appendStringInfo(&result, "%s%s", i > 0 ? ", " : "", value_sql(field, p->common[i].values[0]));
		appendStringInfoString(&result, n == 1 ? "" : ")");
	}
	for (i = 0; i < n && p->def->nkeys > 1; i++)
	{
		appendStringInfoString(&result, i > 0 ? " AND NOT (" : "NOT (");
		for (k = 0; k < p->def->nkeys; k++)
			appendStringInfo(&result, "%s%s = %s", k > 0 ? " AND " : "", field_sql(p, &p->def->fields[k], true),
							 value_sql(&p->def->fields[k], p->common[i].values[k]));
		appendStringInfoChar(&result, ')');
	}
	return result.len > 0 ? result.data : NULL;
}

/* fact_name: returns the name of the fact table, with its schema if the caller's search_path needs it */
static char *
fact_name(Relation fact)
{
	return OidOutputFunctionCall(F_REGCLASSOUT, ObjectIdGetDatum(RelationGetRelid(fact)));
}

/*
 * free_name
 *		Returns a name for an index table that no table has: fact_by_field_field,
 *		with a number if that is taken.
 */
static char *
free_name(Profile *p, Relation fact)
{
	StringInfoData by;
	char	   *name;
	int			i;

	initStringInfo(&by);
	appendStringInfoString(&by, "by");
	for (i = 0; i < p->def->nkeys; i++)
		appendStringInfo(&by, "_%s", p->def->fields[i].spec->name);
	name = makeObjectName(RelationGetRelationName(fact), by.data, NULL);
	for (i = 2; OidIsValid(get_relname_relid(name, RelationGetNamespace(fact))); i++)
		name = makeObjectName(RelationGetRelationName(fact), by.data, psprintf("%d", i));
	return pstrdup(quote_identifier(name));
}

/* create_statement: returns the call of create() that makes the index table of the verdict */
static char *
create_statement(Profile *p, Relation fact, Verdict *v)
{
	DefinitionRow row = *p->row;

	if (v->strategy == STRATEGY_DENORMALIZED)
		row.include = NIL;
	row.strategy = v->strategy == STRATEGY_DENORMALIZED ? "denormalized" : row.include != NIL ? "partial" : "normalized";
	row.filter = v->filter;
	row.maintenance = v->async ? "async" : "transactional";
	row.is_unique = v->is_unique;
	row.on_mismatch = p->mismatching > 0 ? "skip" : "error";
	row.document = (char *) p->document;
	row.partitioning = NULL;
	return create_call(free_name(p, fact), fact_name(fact), &row, NULL);
}

/* native_statement: returns the CREATE INDEX that makes a B-tree on the expressions of the key */
static char *
native_statement(Profile *p, Relation fact, Verdict *v)
{
	char	   *filter = v->filter;
	StringInfoData sql;
	int			i;

	initStringInfo(&sql);
	appendStringInfo(&sql, "CREATE INDEX ON %s (", fact_name(fact));
	for (i = 0; i < p->def->nkeys; i++)
	{
		Field	   *field = &p->def->fields[i];
		bool		plain = field->spec->column != NULL && field->convert == NULL;

		appendStringInfo(&sql, "%s%s%s%s", i > 0 ? ", " : "", plain ? "" : "(", field_sql(p, field, false),
						 plain ? "" : ")");
		if (OidIsValid(field->spec->collation))
			appendStringInfo(&sql, " COLLATE %s", quote_identifier(get_collation_name(field->spec->collation)));
	}
	appendStringInfoChar(&sql, ')');
	if (filter == NULL && p->missing > p->sampled * RARE_SHARE)
		filter = psprintf("%s IS NOT NULL", field_sql(p, &p->def->fields[0], true));
	if (filter != NULL)
		appendStringInfo(&sql, " WHERE %s", filter);
	appendStringInfoChar(&sql, ';');
	return sql.data;
}

/* gin_statement: returns the CREATE INDEX that serves @> on the part of the document that the array is in */
static char *
gin_statement(Profile *p, Relation fact)
{
	Field	   *field = &p->def->fields[p->def->multi_field];
	char	   *path = path_sql(p, field, false);

	return psprintf(field->plain_steps == 0 ? "CREATE INDEX ON %s USING gin (%s jsonb_path_ops);" :
					"CREATE INDEX ON %s USING gin ((%s) jsonb_path_ops);", fact_name(fact), path);
}
