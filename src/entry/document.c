/*-------------------------------------------------------------------------
 *
 * document.c
 *	  Follows paths into the documents of a fact row.
 *
 * Called by extract.c.  A long document is stored compressed or out of line, and
 * making it whole is most of the cost of an entry.  JSONB keeps the lengths and
 * the keys of an object at its beginning, and so a field is often found in the
 * first kilobyte: that is tried first.  Whether all bytes that are needed are
 * there is checked before they are read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attnum.h"
#include "access/detoast.h"
#include "executor/tuptable.h"
#include "utils/jsonb.h"

#include "../indextable.h"
#include "document.h"

/* How much of a stored document is tried first, and how much after a miss. */
#define FIRST_SLICE		1024
#define SECOND_SLICE	4096

typedef enum WalkResult
{
	WALK_FOUND,
	WALK_NOWHERE,				/* the path leads nowhere */
	WALK_BEYOND					/* the bytes at hand do not tell */
} WalkResult;

static bool load(FactRow *row, int docno);
static void load_more(FactRow *row, int docno);
static WalkResult walk(JsonbValue *value, PathStep *steps, int nsteps, const char *end);
static bool header_within(JsonbContainer *container, const char *end);
static bool value_within(JsonbValue *value, const char *end);

void
factrow_init(FactRow *row, FactDef *fact, TupleTableSlot *slot)
{
	row->fact = fact;
	row->slot = slot;
	row->rejection = NULL;
	row->docs = palloc0(sizeof(Document) * fact->ndocs);
	slot_getsomeattrs(slot, fact->max_attno);
}

/*
 * document_value
 *		The value a path without [*] leads to, as the #>> operator follows it;
 *		false if it leads nowhere.
 */
bool
document_value(FactRow *row, int docno, PathStep *steps, int nsteps, JsonbValue *value)
{
	if (!load(row, docno))
		return false;
	for (;;)
	{
		Document   *doc = &row->docs[docno];
		JsonbContainer *root = &doc->json->root;

		if (doc->end != NULL && (JsonContainerIsScalar(root) || nsteps == 0))
		{
			load_more(row, docno);
			continue;
		}
		if (JsonContainerIsScalar(root))
		{
			JsonbExtractScalar(root, value);
			return nsteps == 0;
		}
		value->type = jbvBinary;
		value->val.binary.data = root;
		value->val.binary.len = VARSIZE(doc->json) - VARHDRSZ;
		switch (walk(value, steps, nsteps, doc->end))
		{
			case WALK_FOUND:
				return true;
			case WALK_NOWHERE:
				return false;
			case WALK_BEYOND:
				load_more(row, docno);
				break;
		}
	}
}

/* json_walk: the same from a value that is all there */
bool
json_walk(JsonbValue *value, PathStep *steps, int nsteps)
{
	return walk(value, steps, nsteps, NULL) == WALK_FOUND;
}

/* load: makes a document, or its first slice, available; false if it is NULL */
static bool
load(FactRow *row, int docno)
{
	FactDef    *fact = row->fact;
	AttrNumber	attno = fact->doc_attno[docno];
	Document   *doc = &row->docs[docno];
	struct varlena *stored;

	if (row->slot->tts_isnull[attno - 1])
		return false;
	if (doc->json != NULL)
		return true;

	stored = (struct varlena *) DatumGetPointer(row->slot->tts_values[attno - 1]);
	if (fact->slice[docno] == 0)
		fact->slice[docno] = FIRST_SLICE;
	if (fact->slice[docno] > 0 &&
		(VARATT_IS_EXTERNAL_ONDISK(stored) || VARATT_IS_COMPRESSED(stored)) &&
		toast_raw_datum_size(PointerGetDatum(stored)) > 2 * (Size) fact->slice[docno])
	{
		doc->json = (Jsonb *) detoast_attr_slice(stored, 0, fact->slice[docno]);
		doc->end = (char *) doc->json + VARSIZE(doc->json);
	}
	else
		doc->json = DatumGetJsonbP(PointerGetDatum(stored));
	return true;
}

/* load_more: all of it; and from the next row on, a longer slice, then none */
static void
load_more(FactRow *row, int docno)
{
	FactDef    *fact = row->fact;
	Document   *doc = &row->docs[docno];

	fact->slice[docno] = fact->slice[docno] == FIRST_SLICE ? SECOND_SLICE : -1;
	doc->json = DatumGetJsonbP(row->slot->tts_values[fact->doc_attno[docno] - 1]);
	doc->end = NULL;
}

/* walk: from a value on; end is that of the bytes at hand, NULL if all are */
static WalkResult
walk(JsonbValue *value, PathStep *steps, int nsteps, const char *end)
{
	int			i;

	for (i = 0; i < nsteps; i++)
	{
		JsonbContainer *container;

		if (value->type != jbvBinary)
			return WALK_NOWHERE;
		container = value->val.binary.data;
		if (end != NULL && !header_within(container, end))
			return WALK_BEYOND;
		if (JsonContainerIsObject(container))
		{
			if (getKeyJsonValueFromContainer(container, steps[i].name, steps[i].len, value) == NULL)
				return WALK_NOWHERE;
		}
		else
		{
			int			index = steps[i].index;
			JsonbValue *element;

			if (!steps[i].is_index)
				return WALK_NOWHERE;
			if (index < 0)
				index += JsonContainerSize(container);
			if (index < 0 ||
				(element = getIthJsonbValueFromContainer(container, index)) == NULL)
				return WALK_NOWHERE;
			*value = *element;
		}
	}
	return end == NULL || value_within(value, end) ? WALK_FOUND : WALK_BEYOND;
}

/* header_within: whether what a look-up in a container reads is there: lengths and keys */
static bool
header_within(JsonbContainer *container, const char *end)
{
	char	   *base = (char *) container->children;
	int			n;

	if (base > end)
		return false;
	n = JsonContainerSize(container);
	if (!JsonContainerIsObject(container))
		return base + sizeof(JEntry) * (Size) n <= end;
	base += 2 * sizeof(JEntry) * (Size) n;
	return base <= end && base + getJsonbOffset(container, n) <= end;
}

static bool
value_within(JsonbValue *value, const char *end)
{
	switch (value->type)
	{
		case jbvNull:
		case jbvBool:
			return true;
		case jbvString:
			return value->val.string.val + value->val.string.len <= end;
		case jbvNumeric:
			return (char *) value->val.numeric +VARHDRSZ <= end &&
				(char *) value->val.numeric +VARSIZE_ANY(value->val.numeric) <= end;
		case jbvBinary:
			return (char *) value->val.binary.data + value->val.binary.len <= end;
		default:
			return false;
	}
}
