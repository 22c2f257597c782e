/*-------------------------------------------------------------------------
 *
 * document.c
 *	  Follows paths into the documents of a fact row.
 *
 * A long document is stored compressed or out of line, and detoasting the whole of
 * it is most of the cost of an entry.  JSONB keeps the lengths and the keys of an
 * object at its beginning, and so a field is often found in the first few hundred
 * bytes, which are therefore tried first.  Before bytes are read, it is checked that
 * they are at hand.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"

#include "../indextable.h"
#include "entry.h"

/*
 * How many bytes of a stored document are tried at first.  To decompress them costs as much
 * as to fetch this number from a TOAST table.  When they are not enough, twice as many are
 * tried from the next row on, up to a limit.
 */
#define FIRST_SLICE		256
#define LAST_SLICE		4096

typedef enum WalkResult
{
	WALK_FOUND,
	WALK_NOWHERE,				/* the path leads nowhere */
	WALK_BEYOND					/* the bytes at hand are too few to tell */
} WalkResult;

static struct varlena *stored_document(FactRow *row, AttrNumber attno);
static bool load_document(FactRow *row, int docno);
static void load_whole_document(FactRow *row, int docno);
static WalkResult walk_path(JsonbValue *value, PathStep *steps, int nsteps, const char *end);
static bool header_within(JsonbContainer *container, const char *end);
static bool value_within(JsonbValue *value, const char *end);

/*
 * factrow_init
 *		Prepares row, which must not be copied, for reading the fact row in slot.
 *		Documents are detoasted later, so the slot has to keep its row.
 */
void
factrow_init(FactRow *row, FactDef *fact, TupleTableSlot *slot)
{
	row->fact = fact;
	row->slot = slot;
	row->written = NULL;
	row->rejection = NULL;
	row->docs = fact->layout.ndocs <= 1 ? &row->only : palloc(sizeof(Document) * fact->layout.ndocs);
	memset(row->docs, 0, sizeof(Document) * fact->layout.ndocs);
	slot_getsomeattrs(slot, fact->layout.max_attno);
}

/*
 * document_value
 *		Finds the value that a path without [*] leads to, as the #>> operator follows
 *		it; returns false if it leads nowhere.
 *
 * What was found last is kept, because a field that an update has changed is asked for
 * twice: to see that, and for the entry.  It stays where it is if more of the document is
 * detoasted later, since the bytes that were at hand until then are not freed.
 */
bool
document_value(FactRow *row, int docno, PathStep *steps, int nsteps, JsonbValue *value)
{
	if (steps != NULL && row->docs[docno].found_steps == steps && row->docs[docno].found_nsteps == nsteps)
	{
		*value = row->docs[docno].found;
		return true;
	}
	if (!load_document(row, docno))
		return false;
	for (;;)
	{
		Document   *doc = &row->docs[docno];
		JsonbContainer *root = &doc->json->root;

		if (doc->end != NULL && (JsonContainerIsScalar(root) || nsteps == 0))
		{
			load_whole_document(row, docno);
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
		switch (walk_path(value, steps, nsteps, doc->end))
		{
			case WALK_FOUND:
				doc->found_steps = steps;
				doc->found_nsteps = nsteps;
				doc->found = *value;
				return true;
			case WALK_NOWHERE:
				return false;
			case WALK_BEYOND:
				load_whole_document(row, docno);
				break;
		}
	}
}

/*
 * same_member
 *		Returns whether a document of b surely has the same value where a path of one step
 *		has led to value in the document of a.
 *
 * It has if both objects begin with the same bytes, which are the lengths and the keys of
 * all their members, and the bytes of the value are the same at the same place.  To see
 * that is cheaper than to look the key up once more.
 */
bool
same_member(FactRow *a, FactRow *b, int docno, JsonbValue *value)
{
	JsonbContainer *root = &a->docs[docno].json->root;
	Document   *other = &b->docs[docno];
	Size		len;
	const char *bytes = json_bytes(value, &len);
	Size		at = len == 0 ? 0 : bytes - (char *) root;
	Size		header;
	Size		at_hand;
	int			n = JsonContainerSize(root);

	if (!JsonContainerIsObject(root) || !load_document(b, docno))
		return false;
	header = (char *) (root->children + 2 * n) - (char *) root + getJsonbOffset(root, n);
	at_hand = VARSIZE(other->json) - VARHDRSZ;
	return header <= at_hand && at + len <= at_hand &&
		memcmp(root, &other->json->root, header) == 0 &&
		memcmp((char *) root + at, (char *) &other->json->root + at, len) == 0;
}

/*
 * json_walk
 *		Replaces *value, all bytes of which are at hand, with the value that a path
 *		leads to from there; returns false if it leads nowhere.
 */
bool
json_walk(JsonbValue *value, PathStep *steps, int nsteps)
{
	return walk_path(value, steps, nsteps, NULL) == WALK_FOUND;
}

/* stored_document: returns a document that is not NULL, from where it is cheapest to detoast */
static struct varlena *
stored_document(FactRow *row, AttrNumber attno)
{
	struct varlena *stored = (struct varlena *) DatumGetPointer(row->slot->tts_values[attno - 1]);
	struct varlena *written;

	if (row->written == NULL || !VARATT_IS_EXTENDED(stored))
		return stored;
	slot_getsomeattrs(row->written, attno);
	Assert(!row->written->tts_isnull[attno - 1]);
	written = (struct varlena *) DatumGetPointer(row->written->tts_values[attno - 1]);
	return VARATT_IS_EXTERNAL(written) ? stored : written;
}

/*
 * load_document
 *		Detoasts a document, or a slice of it, unless that was done before; returns
 *		false if it is NULL.
 */
static bool
load_document(FactRow *row, int docno)
{
	FactDef    *fact = row->fact;
	AttrNumber	attno = fact->layout.doc_attno[docno];
	Document   *doc = &row->docs[docno];
	struct varlena *stored;

	if (row->slot->tts_isnull[attno - 1])
		return false;
	if (doc->json != NULL)
		return true;

	stored = stored_document(row, attno);
	if (fact->run.slice[docno] == 0)
		fact->run.slice[docno] = FIRST_SLICE;
	if (fact->run.slice[docno] > 0 &&
		(VARATT_IS_EXTERNAL_ONDISK(stored) || VARATT_IS_COMPRESSED(stored)) &&
		toast_raw_datum_size(PointerGetDatum(stored)) > 2 * (Size) fact->run.slice[docno])
	{
		doc->json = (Jsonb *) detoast_attr_slice(stored, 0, fact->run.slice[docno]);
		doc->end = (char *) doc->json + VARSIZE(doc->json);
	}
	else
		doc->json = DatumGetJsonbP(PointerGetDatum(stored));
	return true;
}

/*
 * load_whole_document
 *		Detoasts the whole of a document of which a slice was not enough.
 *
 * From the next row on a longer slice is tried; if the longest is not enough either,
 * whole documents are detoasted at once.  So slices are in vain for a few rows of a
 * session only.
 */
static void
load_whole_document(FactRow *row, int docno)
{
	FactDef    *fact = row->fact;
	Document   *doc = &row->docs[docno];

	fact->run.slice[docno] = fact->run.slice[docno] < LAST_SLICE ? fact->run.slice[docno] * 2 : -1;
	doc->json = DatumGetJsonbP(PointerGetDatum(stored_document(row, fact->layout.doc_attno[docno])));
	doc->end = NULL;
}

/*
 * walk_path
 *		Replaces *value with the value that a path leads to from there; end is where
 *		the bytes at hand end, or NULL if all are at hand.
 */
static WalkResult
walk_path(JsonbValue *value, PathStep *steps, int nsteps, const char *end)
{
	for (int i = 0; i < nsteps; i++)
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

/*
 * header_within
 *		Returns whether the bytes at hand include all that a look-up in a container
 *		reads, which is the lengths and the keys.
 */
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

/* value_within: returns whether the bytes at hand include the whole of a value */
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

/*
 * path_meets_array
 *		Returns whether the path of a field, up to a [*], leads to an array before its end:
 *		jsonpath goes on with its elements.
 */
bool
path_meets_array(Field *field, FactRow *row, int docno)
{
	Jsonb	   *json;
	JsonbValue	value;

	if (field->fact_attno != 0 || (json = row->docs[docno].json) == NULL)
		return false;
	/* The document itself is not loaded for that as a whole. */
	if (JB_ROOT_IS_ARRAY(json) && !JB_ROOT_IS_SCALAR(json))
		return true;
	for (int i = 1; i < field->plain_steps; i++)
	{
		if (!document_value(row, docno, field->spec->steps, i, &value))
			break;
		if (value.type == jbvBinary && JsonContainerIsArray(value.val.binary.data))
			return true;
	}
	return false;
}
