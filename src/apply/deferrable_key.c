/*-------------------------------------------------------------------------
 *
 * deferrable_key.c
 *	  Notes rows that may share their primary key with another row until a deferrable constraint is checked.
 *
 * Until a deferrable primary key is checked, two rows may have it: one of this
 * transaction, and one of another transaction.  If both have the same key in an
 * index table, they have one entry in common: the one that was written first, maybe
 * before the row that it was written for could be seen.  A transaction that deletes
 * the other row, or changes its key, does not see our row, and deletes the common
 * entry.
 *
 * So the entries of such a row are written once more before the transaction commits
 * or is prepared (maintain/at_commit.c); those that exist stay as they
 * are.  By then the deferred check has passed: it has waited for any transaction
 * that was deleting the other row, and would have failed if that row had remained.
 * Entries are written only for rows of this transaction, which no other transaction
 * can have deleted.  A row of another transaction may look live although its
 * deletion is about to commit.  A row that was rolled back with a subtransaction is
 * not found.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/datum.h"
#include "utils/memutils.h"

#include "../indextable.h"
#include "../util/subxact.h"
#include "apply.h"

static List *shared_keys = NIL; /* of SharedKey *, in TopTransactionContext */

/*
 * note_shared_key
 *		Notes the primary key of a row that this transaction has written, and that may
 *		not be the only one with that key.
 *
 * row may be the row itself, or one of its entries; columns are the numbers of its
 * columns that hold the primary key.
 */
void
note_shared_key(FactDef *def, TupleTableSlot *row, AttrNumber *columns)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	SharedKey  *key = palloc(sizeof(SharedKey));

	if (shared_keys == NIL)
		forget_at_end(&shared_keys);
	slot_getallattrs(row);
	key->fact = def->relid;
	key->n = def->layout.npk;
	key->attno = palloc(sizeof(AttrNumber) * key->n);
	key->types = palloc(sizeof(Oid) * key->n);
	key->values = palloc(sizeof(Datum) * key->n);
	for (int i = 0; i < key->n; i++)
	{
		Form_pg_attribute att = TupleDescAttr(row->tts_tupleDescriptor, columns[i] - 1);

		key->attno[i] = def->layout.pk_attno[i];
		key->types[i] = att->atttypid;
		key->values[i] = datumCopy(row->tts_values[columns[i] - 1], att->attbyval, att->attlen);
	}
	shared_keys = lappend(shared_keys, key);
	MemoryContextSwitchTo(old);
}

/* take_shared_keys: returns what was noted, and forgets it */
List *
take_shared_keys(void)
{
	List	   *keys = shared_keys;

	shared_keys = NIL;
	return keys;
}

/* count_shared_keys: returns how many are noted */
int
count_shared_keys(void)
{
	return list_length(shared_keys);
}
