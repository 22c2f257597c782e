/*-------------------------------------------------------------------------
 *
 * totals_columns.c
 *	  Knows what tables of totals are like: which aggregates they keep, and their columns.
 *
 * The columns are the key fields, which may be NULL, the number of rows, the number of elements if
 * fields are of elements, and for each included field its sum, if it has an exact one, and how many
 * values are in it.  What a group has is the
 * sum over all of its entries: see apply/deltas.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "../catalog/catalog.h"
#include "../expression/expression.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/inherit.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "definition.h"

static List *without_counts_of_elements(List *key, List *fields, List **summed);
static bool is_element_of_any(char *field, List *others);
static List *whole_aggregates(List *pieces);
static char *trimmed(const char *text, int len);

/*
 * summed_fields
 *		Returns the fields (char *) in a list of aggregates such as count(*), count(field) and
 *		sum(field), each once, for totals by key fields (char *).  The numbers of those that are summed are
 *		added to *summed.
 */
List *
summed_fields(List *key, List *totals, List **summed)
{
	static const char *const names[] = {"count", "sum", "avg"};
	List	   *result = NIL;

	foreach_ptr(char, text, whole_aggregates(totals))
	{
		int			len = strlen(text);
		int			name_len = strcspn(text, " (");
		char	   *paren = strchr(text, '(');
		char	   *field;
		int			at = -1;
		int			i;

		for (i = 0; i < (int) lengthof(names); i++)
			if ((int) strlen(names[i]) == name_len && pg_strncasecmp(text, names[i], name_len) == 0)
				break;
		if (i == (int) lengthof(names) || paren == NULL || text[len - 1] != ')')
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("\"%s\" cannot be kept as a total", text),
					 errdetail("Totals are count(*), count(field), sum(field) and avg(field), which is kept as the sum and the count."),
					 errhint("For example: totals => ARRAY['count(*)', 'sum(total::numeric(12,2))']. The least and the greatest value of a field are found by an ordinary index table.")));
		field = trimmed(paren + 1, text +len - 1 - (paren + 1));
		if (i == 0 && strcmp(field, "*") == 0)
			continue;
		foreach_ptr(char, other, result)
		{
			if (strcmp(other, field) == 0)
				at = foreach_current_index(other);
		}
		if (at < 0)
		{
			at = list_length(result);
			result = lappend(result, field);
		}
		if (i > 0)
			*summed = lappend_int(*summed, at);
	}
	return without_counts_of_elements(key, result, summed);
}

/*
 * without_counts_of_elements
 *		Returns the fields of totals without those that are an element as a whole, and are only counted, where
 *		another field is of these elements: their number is kept anyway.  *summed has the numbers of those that
 *		are summed.
 */
static List *
without_counts_of_elements(List *key, List *fields, List **summed)
{
	List	   *result = NIL;
	List	   *numbers = NIL;

	foreach_ptr(char, text, fields)
	{
		bool		is_summed = list_member_int(*summed, foreach_current_index(text));

		if (!is_summed && is_element_of_any(text, list_concat_copy(key, fields)))
			continue;
		if (is_summed)
			numbers = lappend_int(numbers, list_length(result));
		result = lappend(result, text);
	}
	*summed = numbers;
	return result;
}

/* is_element_of_any: returns whether a field is the whole element that another field is of */
static bool
is_element_of_any(char *field, List *others)
{
	FieldSpec  *whole = parse_field_spec(field, false);

	if (!whole->multi || field[whole->tail] != '\0')
		return false;
	foreach_ptr(char, other, others)
	{
		FieldSpec  *spec = parse_field_spec(other, false);
		int			n = spec->nsteps;

		while (n > 0 && !spec->steps[n - 1].wildcard)
			n--;
		if (other != field && spec->multi && n == whole->nsteps &&
			(spec->column == NULL) == (whole->column == NULL) &&
			(spec->column == NULL || strcmp(spec->column, whole->column) == 0) && same_steps(spec, whole, n))
			return true;
	}
	return false;
}

/*
 * whole_aggregates
 *		Returns a list of aggregates of which an array literal has made more elements than it
 *		was meant to have: a comma in parentheses, as in numeric(12,2), separates none.
 */
static List *
whole_aggregates(List *pieces)
{
	List	   *result = NIL;
	StringInfoData text;
	ListCell   *cell;
	int			open = 0;

	initStringInfo(&text);
	foreach(cell, pieces)
	{
		appendStringInfo(&text, "%s%s", open > 0 ? "," : "", (char *) lfirst(cell));
		for (const char *p = lfirst(cell); *p != '\0'; p++)
			open += *p == '(' ? 1 : *p == ')' ? -1 : 0;
		if (open > 0 && lnext(pieces, cell) != NULL)
			continue;
		result = lappend(result, trimmed(text.data, text.len));
		resetStringInfo(&text);
		open = 0;
	}
	return result;
}

static char *
trimmed(const char *text, int len)
{
	while (len > 0 && isspace((unsigned char) *text))
		text	  ++,
					len--;

	while (len > 0 && isspace((unsigned char) text[len - 1]))
		len--;
	return pnstrdup(text, len);
}

/*
 * totals_of_fields
 *		Returns the aggregates of a definition, as create() takes them.  A field without a type
 *		of its own is counted here, even if it is summed, too: the same table is made of it.
 */
List *
totals_of_fields(DefinitionRow *row)
{
	List	   *result = list_make1("count(*)");

	foreach_ptr(char, field, row->include)
	{
		FieldSpec  *spec = parse_field_spec(field, true);

		result = lappend(result,
						 psprintf("%s(%s)",
								  OidIsValid(spec->type) && OidIsValid(sum_type(spec->type, spec->typmod)) ?
								  "sum" :
								  "count",
								  field));
	}
	return result;
}

/*
 * sum_type
 *		Returns the type of the column with the sum of a field; InvalidOid: it has no sum that
 *		is exact.
 */
Oid
sum_type(Oid type, int32 typmod)
{
	switch (type)
	{
		case INT2OID:
		case INT4OID:
			return INT8OID;
		case INT8OID:
			return NUMERICOID;
		case NUMERICOID:
			return typmod >= 0 ? NUMERICOID : InvalidOid;
		default:
			return InvalidOid;
	}
}

/*
 * make_summed_fields
 *		Parses and resolves the included fields of a definition, and numbers the columns after
 *		its key fields.
 */
void
make_summed_fields(IndexDef *def, List *texts, Relation fact, const char **column_names)
{
	AttrNumber	attno = def->spec.nkeys;

	def->layout.rows_attno = ++attno;
	if (def->spec.multi || has_multi_field(texts))
		def->layout.elements_attno = ++attno;
	def->layout.count_attno = palloc(sizeof(AttrNumber) * Max(def->spec.nincludes, 1));
	foreach_ptr(char, text, texts)
	{
		int			i = foreach_current_index(text);
		Field	   *field = &def->spec.fields[def->spec.nkeys + i];

		make_field(def, def->spec.nkeys + i, text, ++attno, fact, NULL, true, column_names);
		def->layout.count_attno[i] = OidIsValid(sum_type(field->type, field->typmod)) ? ++attno : attno;
	}
}

/*
 * check_totals
 *		Refuses a table of totals that would not be exact.  summed has the numbers of the included
 *		fields that are to be summed.
 */
void
check_totals(IndexDef *def, FactDef *fact, List *summed)
{
	if (!OidIsValid(fact->layout.pk_index) || elsewhere->leaves(fact->relid) != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("totals cannot be kept of table \"%s\"", fact->name),
				 errdetail("Some of its rows are on other servers."),
				 errhint("Keep totals on each of the servers, and add them up.")));
	for (int i = 0; i < def->spec.nkeys; i++)
	{
		Field	   *field = &def->spec.fields[i];

		if (field->is_hint || !is_image_equal(field->type, field->typmod, field->collation))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("totals cannot be kept by key field \"%s\" of type %s", field->spec->text,
							format_type_with_typemod(field->type, field->typmod)),
					 errdetail("Values that are equal may be written differently, as 1.0 and 1.00 are, and it would not be known which of them are left."),
					 errhint("Use a type of which equal values are the same, such as text, integer, date, or numeric with a scale.")));
	}
	foreach_int(i, summed)
	{
		Field	   *field = &def->spec.fields[def->spec.nkeys + i];

		if (!OidIsValid(sum_type(field->type, field->typmod)))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("no exact sum can be kept of field \"%s\" of type %s", field->spec->text,
							format_type_with_typemod(field->type, field->typmod)),
					 errdetail("Sums are kept of smallint, integer, bigint, and numeric with a scale. A sum of floating-point numbers depends on their order."),
					 errhint("Give the field such a type, for example: sum(%.*s::numeric(12,2)).",
							 field->spec->tail, field->spec->text)));
	}
}

/* is_image_equal: returns whether values of a type that are equal always have the same bytes */
bool
is_image_equal(Oid type, int32 typmod, Oid collation)
{
	TypeCacheEntry *entry = lookup_type_cache(getBaseType(type), TYPECACHE_BTREE_OPFAMILY);
	Oid			proc;

	if (getBaseType(type) == NUMERICOID)
		return typmod >= 0;
	proc = OidIsValid(entry->btree_opf) ?
		get_opfamily_proc(entry->btree_opf, entry->btree_opintype, entry->btree_opintype, BTEQUALIMAGE_PROC) :
		InvalidOid;
	return OidIsValid(proc) &&
		DatumGetBool(OidFunctionCall1Coll(proc, collation, ObjectIdGetDatum(entry->btree_opintype)));
}

/*
 * complete_totals_columns
 *		Completes a definition with the columns of its table, of which those at live are not
 *		dropped.  Returns false if they are not those that the definition calls for.
 */
bool
complete_totals_columns(IndexDef *def, TupleDesc desc, AttrNumber *live, int nlive)
{
	int			expected = def->spec.nkeys + 1 + (def->layout.elements_attno != 0);

	for (int i = 0; i < def->spec.nincludes; i++)
		expected += SUM_ATTNO(def, i) != 0 ? 2 : 1;
	if (nlive < expected)
		return false;
	for (int i = 0; i < nlive; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, live[i] - 1);

		/* Entries have NULL in columns that a user has added. */
		if (att->attnotnull && (i < def->spec.nkeys || i >= expected))
			return false;
	}
	for (int i = 0; i < def->spec.nkeys; i++)
	{
		Field	   *field = &def->spec.fields[i];

		def->layout.ident[i] = field->attno = live[field->attno - 1];
		if (TupleDescAttr(desc, field->attno - 1)->atttypid != field->type ||
			TupleDescAttr(desc, field->attno - 1)->atttypmod != field->typmod)
			return false;
	}
	def->layout.rows_attno = live[def->layout.rows_attno - 1];
	if (TupleDescAttr(desc, def->layout.rows_attno - 1)->atttypid != INT8OID)
		return false;
	if (def->layout.elements_attno != 0)
	{
		def->layout.elements_attno = live[def->layout.elements_attno - 1];
		if (TupleDescAttr(desc, def->layout.elements_attno - 1)->atttypid != INT8OID)
			return false;
	}
	for (int i = 0; i < def->spec.nincludes; i++)
	{
		Field	   *field = &def->spec.fields[def->spec.nkeys + i];
		bool		summed = SUM_ATTNO(def, i) != 0;

		field->attno = live[field->attno - 1];
		def->layout.count_attno[i] = live[def->layout.count_attno[i] - 1];
		if (TupleDescAttr(desc, def->layout.count_attno[i] - 1)->atttypid != INT8OID ||
			(summed && TupleDescAttr(desc, field->attno - 1)->atttypid != sum_type(field->type, field->typmod)))
			return false;
	}
	def->layout.desc = CreateTupleDescCopy(desc);
	return true;
}

/*
 * added_columns
 *		Sets attnos to the columns whose values are added up, of which there are at most
 *		def->desc->natts; returns how many.
 */
int
added_columns(IndexDef *def, AttrNumber *attnos)
{
	int			n = 0;

	attnos[n++] = def->layout.rows_attno;
	if (def->layout.elements_attno != 0)
		attnos[n++] = def->layout.elements_attno;
	for (int i = 0; i < def->spec.nincludes; i++)
	{
		attnos[n++] = def->layout.count_attno[i];
		if (SUM_ATTNO(def, i) != 0)
			attnos[n++] = SUM_ATTNO(def, i);
	}
	return n;
}

/*
 * complete_totals_index
 *		Completes a definition with the index on the key fields; without one, all entries are
 *		read, so it returns true.
 */
bool
complete_totals_index(IndexDef *def, Relation rel)
{
	foreach_oid(index_oid, def->spec.nkeys == 0 ? NIL : RelationGetIndexList(rel))
	{
		Relation	index = index_open(index_oid, AccessShareLock);
		Form_pg_index form = index->rd_index;
		bool		fits = form->indisvalid && !form->indisunique && form->indnatts == def->spec.nkeys &&
			index->rd_rel->relam == BTREE_AM_OID &&
			heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);

		for (int i = 0; fits && i < def->spec.nkeys; i++)
		{
			Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), def->layout.ident[i] - 1);

			fits = form->indkey.values[i] == def->layout.ident[i] &&
				index->rd_indcollation[i] == att->attcollation && index->rd_indoption[i] == 0 &&
				orders_by_default(index, i, att->atttypid);
		}
		if (fits)
		{
			def->layout.primary_index = RelationGetRelid(index);
			def->layout.primary_info = BuildIndexInfo(index);
		}
		index_close(index, AccessShareLock);
	}
	return true;
}

/*
 * finish_totals
 *		Makes the index of a new table of totals, and has changes of its entries replicated.
 *
 * Folding deletes, which must not be lost where all tables are published, or Citus moves them.
 */
void
finish_totals(IndexDef *def, const char *tablespace)
{
	run_on_table(def->relid, "ALTER TABLE t REPLICA IDENTITY FULL");
	make_totals_index(def, tablespace);
}

/*
 * make_totals_index
 *		Makes the index on the key fields, of which a group has several equal ones until they
 *		are folded.
 */
void
make_totals_index(IndexDef *def, const char *tablespace)
{
	if (def->spec.nkeys > 0)
		(void) make_index(def->relid, NULL, column_names(def->relid, def->layout.ident, def->spec.nkeys),
						  def->spec.nkeys, tablespace, NULL);
}
