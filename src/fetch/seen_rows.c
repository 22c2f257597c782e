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

#include "../util/memory.h"
#include "fetch.h"

struct SeenRows
{
	MemoryContext cxt;
	IndexDef   *def;
	HTAB	   *keys;			/* of SeenKey */
};

/* A primary key that was seen. */
typedef struct SeenKey
{
	uint32		hash;			/* hash key: its hash, or the first number
								 * after that which was free */
	Datum	   *key;
} SeenKey;

static bool same_key(SeenRows *seen, Datum *a, Datum *b);

/* seen_rows_begin: begins to remember rows in a memory context, and forgets them with it */
SeenRows *
seen_rows_begin(IndexDef *def, MemoryContext cxt)
{
	SeenRows   *seen = MemoryContextAlloc(cxt, sizeof(SeenRows));

	seen->cxt = cxt;
	seen->def = def;
	seen->keys = new_hash("indextable seen rows", 256, sizeof(uint32), sizeof(SeenKey), cxt);
	return seen;
}

/*
 * seen_row
 *		Returns whether an entry's row was seen before, and remembers it; def is of the fact
 *		table's index tables any.
 */
bool
seen_row(SeenRows *seen, IndexDef *def, TupleTableSlot *entry)
{
	FactDef    *fact = seen->def->fact;
	MemoryContext old;
	Datum		key[INDEX_MAX_KEYS];
	uint32		hash = 0;
	SeenKey    *row;
	bool		found;

	key_of_entry(def, entry, key);
	for (int i = 0; i < fact->layout.npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(seen->def->layout.desc, seen->def->layout.pk_attno[i] - 1);

		hash = hash_combine(hash, datum_image_hash(key[i], att->attbyval, att->attlen));
	}
	while (row = hash_search(seen->keys, &hash, HASH_ENTER, &found), found)
	{
		if (same_key(seen, row->key, key))
			return true;
		hash++;
	}
	old = MemoryContextSwitchTo(seen->cxt);
	row->key = palloc(sizeof(Datum) * fact->layout.npk);
	for (int i = 0; i < fact->layout.npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(seen->def->layout.desc, seen->def->layout.pk_attno[i] - 1);

		row->key[i] = datumCopy(key[i], att->attbyval, att->attlen);
	}
	MemoryContextSwitchTo(old);
	return false;
}

static bool
same_key(SeenRows *seen, Datum *a, Datum *b)
{
	for (int i = 0; i < seen->def->fact->layout.npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(seen->def->layout.desc, seen->def->layout.pk_attno[i] - 1);

		if (!datum_image_eq(a[i], b[i], att->attbyval, att->attlen))
			return false;
	}
	return true;
}
