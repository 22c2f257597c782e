/*-------------------------------------------------------------------------
 *
 * survey.c
 *	  Finds out which values documents have at which places: how many, of which types, and how
 *	  many different ones.
 *
 * Documents may be anything, so all is bounded: how deep they are followed, how many
 * places are remembered, and how much of one document and of one array is looked at.  Objects
 * that are maps, with keys of data for names, have a new name in every document; names that
 * few objects have are forgotten when there are too many.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "access/detoast.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "funcapi.h"
#include "lib/hyperloglog.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "../catalog/catalog.h"
#include "../expression/expression.h"
#include "../indextable.h"
#include "../reasons/reasons.h"
#include "../util/as_owner.h"
#include "../util/memory.h"
#include "../util/sql.h"
#include "advise.h"

PG_FUNCTION_INFO_V1(indextable_survey);

/* Places that are remembered, all together and as members of one. */
#define MAX_PLACES			5000
#define MAX_MEMBERS			500

/*
 * Members that fewer than this share of the objects have are forgotten when there are too many:
 * more than MAX_MEMBERS at any time, and more than a record has in the end.
 */
#define RARE_MEMBER			0.02
#define MANY_MEMBERS		64

/* Values of one document, and elements of one array, that are looked at. */
#define MAX_VALUES			20000
#define MAX_ELEMENTS		1000

/* Longer names of members are left out. */
#define MAX_NAME_BYTES		200

/* Numbers with more characters than these would soon be too large for int, and for bigint. */
#define MANY_DIGITS			9
#define MAX_DIGITS			18

/*
 * The binary logarithm of the number of registers that count distinct values, to within some
 * percent.
 */
#define REGISTER_BITS		9

/* Steps of a path that are followed; advise_fields() says so, too. */
#define MAX_DEPTH			6

/* A place in documents: the root, a member of objects, or the elements of arrays. */
typedef struct DocumentPlace
{
	struct DocumentPlace *parent;	/* NULL: the root */
	char	   *name;			/* of the member; NULL: the root, or elements */
	int			len;			/* of name */
	int			depth;			/* steps from the root */
	bool		is_multi;		/* the path has a [*] */
	bool		is_map;			/* its objects have members of too many names
								 * to follow them */
	bool		pruned;			/* names that were rare were forgotten */
	bool		not_followed;	/* objects or arrays that are too deep, or
								 * arrays within arrays */
	struct DocumentPlace **members; /* sorted as jsonb sorts them */
	int			nmembers;
	int			room;			/* in members */
	struct DocumentPlace *elements; /* NULL: no array was seen */
	int64		seen;			/* values of any kind, */
	int64		objects;		/* and objects */

	/* Scalars that were seen here, without null */
	int64		row;			/* the row of the last one */
	int64		rows;			/* rows that have one */
	int64		values;
	int64		bytes;			/* of texts and numbers */
	int64		integers;		/* numbers without a fraction */
	int64		bigints;		/* of these, those of many digits */
	int64		fractions;		/* other numbers */
	int64		dates;			/* texts that look like these */
	int64		timestamps;
	int64		instants;		/* timestamps with an offset */
	int64		uuids;
	hyperLogLogState distinct;
} DocumentPlace;

typedef struct Survey
{
	MemoryContext cxt;
	DocumentPlace *root;
	int			nplaces;
	bool		full;			/* there were more places than are followed */
	int64		sampled;		/* documents */
	int64		objects;		/* of these, objects and arrays */
	double		documents;		/* an estimate for the whole table */
	double		document_bytes;
	bool		complete;		/* all rows were looked at */
	bool		partitioned;
	int			partitions;
	bool		queries_visible;	/* the caller may see what queries ask for */
	NameData	document;		/* the column */
	Datum		primary_key;	/* name[] */
} Survey;

typedef struct Walk
{
	Survey	   *survey;
	int64		row;
	int			values;			/* of this document, so far */
} Walk;

static Survey *survey_documents(FactDef *def, AttrNumber doc, Relation fact, int rows);
static void put_place(ReturnSetInfo *rsinfo, Survey *survey, DocumentPlace *place);
static void look_at_document(Survey *survey, Jsonb *json);
static void look_at_container(Walk *walk, DocumentPlace *place, JsonbContainer *container);
static void look_at_value(Walk *walk, DocumentPlace *place, JsonbValue *value);
static void count_scalar(Walk *walk, DocumentPlace *place, JsonbValue *value);
static void count_number(DocumentPlace *place, Numeric number);
static void count_text(DocumentPlace *place, const char *text, int len);
static bool has_form(const char *text, int len, const char *form);
static Oid	place_type(DocumentPlace *place);
static List *place_steps(DocumentPlace *place);
static DocumentPlace *new_place(Survey *survey, DocumentPlace *parent, const char *name, int len);
static DocumentPlace *member_place(Survey *survey, DocumentPlace *parent, const char *name, int len);
static void forget_rare_members(Survey *survey, DocumentPlace *place);
static void free_place(Survey *survey, DocumentPlace *place);
static void list_places(ReturnSetInfo *rsinfo, Survey *survey, DocumentPlace *place);

/*
 * indextable_survey
 *		survey(fact_table regclass, document name, sample_rows integer, OUT ...): looks at a
 *		sample of the documents, and returns a row for each place, in the order of paths.
 */
Datum
indextable_survey(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	fact;
	AttrNumber	doc;
	FactDef    *def = open_documents(PG_GETARG_OID(0), PG_ARGISNULL(1) ? NULL : NameStr(*PG_GETARG_NAME(1)), &fact,
									 &doc);
	Survey	   *survey = survey_documents(def, doc, fact, PG_GETARG_INT32(2));
	List	   *primary_key = NIL;

	InitMaterializedSRF(fcinfo, 0);
	survey->partitioned = def->layout.partitioned;
	survey->queries_visible = may_see_missed(def->relid);
	namestrcpy(&survey->document, get_attname(def->relid, doc, false));
	for (int i = 0; i < def->layout.npk; i++)
		primary_key = lappend(primary_key, get_attname(def->relid, def->layout.pk_attno[i], false));
	survey->primary_key = string_array(primary_key, NAMEOID);
	list_places(rsinfo, survey, survey->root);
	relation_close(fact, NoLock);
	return (Datum) 0;
}

/*
 * survey_documents
 *		Surveys the documents in the column doc of a fact table, in a sample of at most about
 *		this number of rows.
 */
static Survey *
survey_documents(FactDef *def, AttrNumber doc, Relation fact, int rows)
{
	Survey	   *survey = palloc0(sizeof(Survey));
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable document", ALLOCSET_DEFAULT_SIZES);
	Sample		sample;
	TupleTableSlot *slot;

	survey->cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable survey", ALLOCSET_DEFAULT_SIZES);
	survey->root = new_place(survey, NULL, NULL, 0);
	def->layout.used = bms_add_member(def->layout.used, doc - FirstLowInvalidHeapAttributeNumber);
	def->layout.max_attno = Max(def->layout.max_attno, doc);
	sample_begin(&sample, def, doc, fact, rows, SAMPLE_BYTES);
	AS_OWNER(def->owner);
	{
		while ((slot = sample_next(&sample)) != NULL)
		{
			MemoryContext old = MemoryContextSwitchTo(cxt);
			bool		isnull;
			Datum		value = slot_getattr(slot, doc, &isnull);

			survey->sampled++;
			if (!isnull)
			{
				survey->document_bytes += toast_raw_datum_size(value);
				look_at_document(survey, DatumGetJsonbP(value));
			}
			MemoryContextSwitchTo(old);
			MemoryContextReset(cxt);
		}
		sample_stop(&sample);
	}
	END_AS_OWNER();
	sample_end(&sample);
	MemoryContextDelete(cxt);
	survey->document_bytes /= Max(survey->sampled, 1);
	survey->documents = sample.documents;
	survey->complete = sample.complete;
	survey->partitions = sample.partitions;
	return survey;
}

/* look_at_document: counts what one document has; a scalar has no place that a field could name */
static void
look_at_document(Survey *survey, Jsonb *json)
{
	Walk		walk = {.survey = survey,.row = survey->sampled};

	if (JB_ROOT_IS_SCALAR(json))
		return;
	survey->objects++;
	look_at_container(&walk, survey->root, &json->root);
}

/* look_at_container: counts what an object or an array at a place has */
static void
look_at_container(Walk *walk, DocumentPlace *place, JsonbContainer *container)
{
	JsonbIterator *it;
	JsonbIteratorToken token;
	JsonbValue	value;
	int			seen = 0;

	if (JsonContainerIsArray(container))
	{
		/* One [*] in a path is followed. */
		if (place->is_multi || place->depth == MAX_DEPTH)
		{
			place->not_followed = true;
			return;
		}
		if (place->elements == NULL)
			place->elements = new_place(walk->survey, place, NULL, 0);
	}
	else
	{
		place->objects++;
		/* A map as large as that has nothing that other objects have. */
		if (JsonContainerSize(container) > MAX_MEMBERS)
		{
			place->pruned = true;
			return;
		}
		place->not_followed |= place->depth == MAX_DEPTH;
		if (place->is_map || place->depth == MAX_DEPTH)
			return;
	}
	it = JsonbIteratorInit(container);
	while ((token = JsonbIteratorNext(&it, &value, true)) != WJB_DONE)
	{
		DocumentPlace *member;

		if (token == WJB_ELEM)
		{
			if (++seen > MAX_ELEMENTS || place->elements == NULL)
				break;
			look_at_value(walk, place->elements, &value);
		}
		else if (token == WJB_KEY)
		{
			member = member_place(walk->survey, place, value.val.string.val, value.val.string.len);
			if (JsonbIteratorNext(&it, &value, true) == WJB_VALUE && member != NULL)
				look_at_value(walk, member, &value);
			if (place->is_map)
				break;
		}
		if (walk->values > MAX_VALUES)
			break;
	}
}

/* look_at_value: counts a value at a place */
static void
look_at_value(Walk *walk, DocumentPlace *place, JsonbValue *value)
{
	CHECK_FOR_INTERRUPTS();
	walk->values++;
	place->seen++;
	if (value->type == jbvBinary)
		look_at_container(walk, place, value->val.binary.data);
	else if (value->type != jbvNull)
		count_scalar(walk, place, value);
}

/* count_scalar: counts a scalar at a place */
static void
count_scalar(Walk *walk, DocumentPlace *place, JsonbValue *value)
{
	uint32		hash = 0;

	if (place->values == 0)
	{
		MemoryContext old = MemoryContextSwitchTo(walk->survey->cxt);

		initHyperLogLog(&place->distinct, REGISTER_BITS);
		MemoryContextSwitchTo(old);
	}
	if (place->row != walk->row)
	{
		place->row = walk->row;
		place->rows++;
	}
	place->values++;
	switch (value->type)
	{
		case jbvString:
			count_text(place, value->val.string.val, value->val.string.len);
			hash = hash_bytes((const unsigned char *) value->val.string.val, value->val.string.len);
			break;
		case jbvNumeric:
			count_number(place, value->val.numeric);
			hash = DatumGetUInt32(DirectFunctionCall1(hash_numeric, NumericGetDatum(value->val.numeric)));
			break;
		default:
			hash = hash_bytes_uint32(value->val.boolean);
	}
	addHyperLogLog(&place->distinct, hash);
}

/* count_number: counts by its digits a number at a place */
static void
count_number(DocumentPlace *place, Numeric number)
{
	char	   *digits = DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(number)));
	int			len = strlen(digits);

	place->bytes += len;
	if (len > MAX_DIGITS || strchr(digits, '.') != NULL)
		place->fractions++;
	else
	{
		place->integers++;
		if (len >= MANY_DIGITS)
			place->bigints++;
	}
}

/* count_text: counts by its form a text at a place */
static void
count_text(DocumentPlace *place, const char *text, int len)
{
	place->bytes += len;
	if (has_form(text, len, "9999-99-99"))
		place->dates++;
	else if (len >= 19 && has_form(text, 10, "9999-99-99") && (text[10] == 'T' || text[10] == ' ') &&
			 has_form(text +11, 8, "99:99:99"))
	{
		/* A fraction of the second, and an offset, may follow. */
		int			at = 19;

		if (at < len && text[at] == '.')
			while (++at < len && isdigit((unsigned char) text[at]))
				;
		if (at == len)
			place->timestamps++;
		else if ((len - at == 1 && text[at] == 'Z') ||
				 ((text[at] == '+' || text[at] == '-') &&
				  (has_form(text +at + 1, len - at - 1, "99:99") || has_form(text +at + 1, len - at - 1, "99"))))
			place->instants++;
	}
	else if (has_form(text, len, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"))
		place->uuids++;
}

/*
 * has_form
 *		Returns whether a text has a form, in which 9 stands for a digit, x for a hexadecimal
 *		one, and others for themselves.
 */
static bool
has_form(const char *text, int len, const char *form)
{
	if (len != (int) strlen(form))
		return false;
	for (int i = 0; i < len; i++)
	{
		if (form[i] == '9' ? !isdigit((unsigned char) text[i]) :
			form[i] == 'x' ? !isxdigit((unsigned char) text[i]) : text[i] != form[i])
			return false;
	}
	return true;
}

/*
 * place_type
 *		Returns the type that fits all scalars that were seen at a place; they may be spelt in
 *		other ways as text.
 */
static Oid
place_type(DocumentPlace *place)
{
	if (place->integers + place->fractions == place->values)
		return place->fractions > 0 ? NUMERICOID : place->bigints > 0 ? INT8OID : INT4OID;
	if (place->dates == place->values)
		return DATEOID;
	if (place->timestamps == place->values)
		return TIMESTAMPOID;
	if (place->instants == place->values)
		return TIMESTAMPTZOID;
	if (place->uuids == place->values)
		return UUIDOID;
	return TEXTOID;
}

/* place_steps: returns the path of a place: names (char *), and NULL for [*] */
static List *
place_steps(DocumentPlace *place)
{
	return place->parent == NULL ? NIL : lappend(place_steps(place->parent), place->name);
}

/* new_place: returns a new place, or NULL if there are too many */
static DocumentPlace *
new_place(Survey *survey, DocumentPlace *parent, const char *name, int len)
{
	DocumentPlace *place;

	if (survey->nplaces == MAX_PLACES)
	{
		survey->full = true;
		return NULL;
	}
	survey->nplaces++;
	place = MemoryContextAllocZero(survey->cxt, sizeof(DocumentPlace));
	place->parent = parent;
	if (parent != NULL)
	{
		place->depth = parent->depth + 1;
		place->is_multi = parent->is_multi || name == NULL;
	}
	if (name != NULL)
	{
		place->name = MemoryContextAlloc(survey->cxt, len + 1);
		memcpy(place->name, name, len);
		place->name[len] = '\0';
		place->len = len;
	}
	return place;
}

/*
 * member_place
 *		Returns the place of a member of the objects at a place; NULL: it is not followed.
 */
static DocumentPlace *
member_place(Survey *survey, DocumentPlace *parent, const char *name, int len)
{
	int			low = 0;
	int			high = parent->nmembers;
	DocumentPlace *place;

	if (len > MAX_NAME_BYTES)
		return NULL;
	while (low < high)
	{
		int			middle = (low + high) / 2;
		int			order = len - parent->members[middle]->len;

		if (order == 0)
			order = memcmp(name, parent->members[middle]->name, len);
		if (order == 0)
			return parent->members[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	if (parent->nmembers == MAX_MEMBERS)
	{
		forget_rare_members(survey, parent);
		return parent->is_map ? NULL : member_place(survey, parent, name, len);
	}
	place = new_place(survey, parent, name, len);
	if (place == NULL)
		return NULL;
	if (parent->nmembers == parent->room)
		parent->members = grow_array(parent->members, &parent->room, 8, sizeof(DocumentPlace *), survey->cxt);
	memmove(&parent->members[low + 1], &parent->members[low], sizeof(DocumentPlace *) * (parent->nmembers - low));
	parent->members[low] = place;
	parent->nmembers++;
	return place;
}

/*
 * forget_rare_members
 *		Forgets the members that few of the objects at a place have; if that does not leave room
 *		for others, all.
 *
 * What is common is met again and again, and so stays once it has been met several times.
 */
static void
forget_rare_members(Survey *survey, DocumentPlace *place)
{
	int			members = place->nmembers;
	int			kept = 0;

	for (int i = 0; i < members; i++)
	{
		DocumentPlace *member = place->members[i];

		if (member->seen > 1 && member->seen >= place->objects * RARE_MEMBER)
			place->members[kept++] = member;
		else
			free_place(survey, member);
	}
	place->nmembers = kept;
	place->pruned |= kept < members;
	if (kept > MAX_MEMBERS / 2)
	{
		place->is_map = true;
		while (place->nmembers > 0)
			free_place(survey, place->members[--place->nmembers]);
	}
}

/* free_place: forgets a place and those below it */
static void
free_place(Survey *survey, DocumentPlace *place)
{
	while (place->nmembers > 0)
		free_place(survey, place->members[--place->nmembers]);
	if (place->elements != NULL)
		free_place(survey, place->elements);
	if (place->members != NULL)
		pfree(place->members);
	if (place->name != NULL)
		pfree(place->name);
	if (place->values > 0)
		freeHyperLogLog(&place->distinct);
	pfree(place);
	survey->nplaces--;
}

/* list_places: adds a row for a place and each of those below it */
static void
list_places(ReturnSetInfo *rsinfo, Survey *survey, DocumentPlace *place)
{
	if (place->pruned || place->nmembers > MANY_MEMBERS)
		forget_rare_members(survey, place);
	put_place(rsinfo, survey, place);
	if (place->elements != NULL)
		list_places(rsinfo, survey, place->elements);
	for (int i = 0; i < place->nmembers; i++)
		list_places(rsinfo, survey, place->members[i]);
}

/* put_place: adds a row for a place, which also has what is known of all documents */
static void
put_place(ReturnSetInfo *rsinfo, Survey *survey, DocumentPlace *place)
{
	Datum		values[20] = {0};
	bool		isnull[20] = {0};
	int			n = 0;

#define PUT(datum)	(values[n++] = (datum))
	PUT(CStringGetTextDatum(path_text(place_steps(place))));
	PUT(CStringGetTextDatum(field_type_name(place_type(place))));
	PUT(Int64GetDatum(place->rows));
	PUT(Int64GetDatum(place->values));
	PUT(Int64GetDatum(place->bytes));
	PUT(Int64GetDatum(place->elements == NULL ? 0 : place->elements->rows));
	PUT(Float8GetDatum(place->values > 0 ? estimateHyperLogLog(&place->distinct) : 0));
	PUT(BoolGetDatum(place->is_multi));
	PUT(BoolGetDatum(place->is_map || place->pruned));
	PUT(BoolGetDatum(place->not_followed));
	PUT(BoolGetDatum(survey->full));
	PUT(Float8GetDatum(survey->documents));
	PUT(Float8GetDatum(survey->document_bytes));
	PUT(BoolGetDatum(survey->complete));
	PUT(Int64GetDatum(survey->sampled));
	PUT(Int64GetDatum(survey->objects));
	isnull[n] = !survey->partitioned;
	PUT(Int32GetDatum(survey->partitions));
	isnull[n] = !missed_is_kept();
	PUT(BoolGetDatum(survey->queries_visible));
	PUT(NameGetDatum(&survey->document));
	PUT(survey->primary_key);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, isnull);
#undef PUT
}
