/*-------------------------------------------------------------------------
 *
 * shared_keys.c
 *	  Rows that share their primary key with another one until it is checked.
 *
 * Called by trigger.c and apply.c, for deferrable primary keys only, and by batch.c before the
 * transaction commits or is prepared.  Until the key is checked there may be two
 * rows of one primary key, ours and one of another transaction, and if both have
 * the same key they have one entry in common: that of whoever wrote it first, maybe
 * before his row could be seen.  Whoever deletes the other row, or changes its key,
 * cannot see ours, and takes the entry away.
 *
 * So the entries of such a row are written once more in the end: those that are
 * there stay.  By then the deferred check is through, which waits for whoever is
 * deleting the other row, and fails if that row remains.  Only a row of ours has
 * its entries written: nobody else can have deleted it, while of another's row that
 * looks live a deletion may be about to commit.  A row that was rolled back with a
 * subtransaction is not found.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/attnum.h"
#include "executor/tuptable.h"
#include "nodes/pg_list.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "../indextable.h"
#include "shared_keys.h"

static List *shared_keys = NIL; /* of SharedKey *, as long as the transaction */

/*
 * note_shared_key
 *		Of a row, or an entry, that this transaction has written, and that may not be
 *		the only one under its primary key, which is in these columns of it.
 */
void
note_shared_key(FactDef *def, TupleTableSlot *row, AttrNumber *columns)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	SharedKey  *key = palloc(sizeof(SharedKey));
	int			i;

	slot_getallattrs(row);
	key->fact = def->relid;
	key->n = def->npk;
	key->attno = palloc(sizeof(AttrNumber) * key->n);
	key->types = palloc(sizeof(Oid) * key->n);
	key->values = palloc(sizeof(Datum) * key->n);
	for (i = 0; i < key->n; i++)
	{
		Form_pg_attribute att = TupleDescAttr(row->tts_tupleDescriptor, columns[i] - 1);

		key->attno[i] = def->pk_attno[i];
		key->types[i] = att->atttypid;
		key->values[i] = datumCopy(row->tts_values[columns[i] - 1], att->attbyval, att->attlen);
	}
	shared_keys = lappend(shared_keys, key);
	MemoryContextSwitchTo(old);
}

/* forget_shared_keys: the transaction has ended */
void
forget_shared_keys(void)
{
	shared_keys = NIL;
}

/* take_shared_keys: returns what was noted, and forgets it */
List *
take_shared_keys(void)
{
	List	   *keys = shared_keys;

	shared_keys = NIL;
	return keys;
}
