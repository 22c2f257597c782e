/*-------------------------------------------------------------------------
 *
 * seen_rows.c
 *	  Remembers rows whose entries were found: where several elements of an array are searched
 *	  for, a row may have an entry for more than one of them.
 *
 * The entries of a row have the same bytes of its primary key, as they are written anew when
 * these change.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/datum.h"
#include "utils/hsearch.h"

#include "seen_rows.h"

struct SeenRows
{
	MemoryContext cxt;
	IndexDef   *def;
	HTAB	   *keys;			/* of SeenKey */
};

/* Primary keys with the same hash. */
typedef struct SeenKey
{
	uint32		hash;			/* hash key */
	List	   *rows;			/* of Datum * */
} SeenKey;

static bool same_key(SeenRows *seen, Datum *a, Datum *b);

/* seen_rows_begin: begins to remember rows in a memory context, and forgets them with it */
SeenRows *
seen_rows_begin(IndexDef *def, MemoryContext cxt)
{
	SeenRows   *seen = MemoryContextAlloc(cxt, sizeof(SeenRows));
	HASHCTL		control = {.keysize = sizeof(uint32),.entrysize = sizeof(SeenKey),.hcxt = cxt};

	seen->cxt = cxt;
	seen->def = def;
	seen->keys = hash_create("indextable seen rows", 256, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	return seen;
}

/* seen_row: returns whether an entry's row was seen before, and remembers it */
bool
seen_row(SeenRows *seen, TupleTableSlot *entry)
{
	FactDef    *fact = seen->def->fact;
	MemoryContext old = MemoryContextSwitchTo(seen->cxt);
	Datum		key[INDEX_MAX_KEYS];
	uint32		hash = 0;
	SeenKey    *row;
	Datum	   *copy;
	bool		found;
	bool		isnull;
	ListCell   *cell;
	int			i;

	for (i = 0; i < fact->npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(seen->def->desc, seen->def->pk_attno[i] - 1);

		key[i] = slot_getattr(entry, seen->def->pk_attno[i], &isnull);
		hash = hash_combine(hash, datum_image_hash(key[i], att->attbyval, att->attlen));
	}
	row = hash_search(seen->keys, &hash, HASH_ENTER, &found);
	if (!found)
		row->rows = NIL;
	foreach(cell, row->rows)
	{
		if (same_key(seen, lfirst(cell), key))
		{
			MemoryContextSwitchTo(old);
			return true;
		}
	}
	copy = palloc(sizeof(Datum) * fact->npk);
	for (i = 0; i < fact->npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(seen->def->desc, seen->def->pk_attno[i] - 1);

		copy[i] = datumCopy(key[i], att->attbyval, att->attlen);
	}
	row->rows = lappend(row->rows, copy);
	MemoryContextSwitchTo(old);
	return false;
}

static bool
same_key(SeenRows *seen, Datum *a, Datum *b)
{
	int			i;

	for (i = 0; i < seen->def->fact->npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(seen->def->desc, seen->def->pk_attno[i] - 1);

		if (!datum_image_eq(a[i], b[i], att->attbyval, att->attlen))
			return false;
	}
	return true;
}
