/*-------------------------------------------------------------------------
 *
 * floor.c
 *	  Row triggers in C that do the least, for the benchmark: the floor under what an index table kept by triggers costs.
 *
 * empty() returns.  keep() has the entries (key, id) of a fact table (id bigint, doc jsonb)
 * in the table that its first argument names, whose primary key they are; its second
 * argument is the member of the document that is the key, a string or an array of strings.
 *
 * keep() is no way to keep an index table.  It opens table, index and scan once in a
 * transaction, which holds them open against DDL and knows nothing of savepoints.  It
 * does not ask whether a row is still live, nor whether an entry is there already, which
 * spares the index the search for one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/nbtree.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/varlena.h"

#define MAX_KEYS	64

PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(empty);
PG_FUNCTION_INFO_V1(keep);

/* What stays open until the transaction ends; index_of_table is NULL while nothing is open. */
static Relation table;
static Relation index_of_table;
static IndexInfo *info;
static IndexScanDesc scan;
static ScanKeyData search[2];

/* The keys of a document, which point into it */
typedef struct
{
	int			n;
	JsonbValue	key[MAX_KEYS];
} Keys;

/* close_all: closes what is open at the end of a transaction; after an error the resource owner has done that */
static void
close_all(XactEvent event, void *arg)
{
	ResourceOwner owner = CurrentResourceOwner;

	if (index_of_table == NULL)
		return;
	if (event == XACT_EVENT_PRE_COMMIT)
	{
		CurrentResourceOwner = TopTransactionResourceOwner;
		index_endscan(scan);
		index_close(index_of_table, NoLock);
		table_close(table, NoLock);
		CurrentResourceOwner = owner;
	}
	else if (event != XACT_EVENT_ABORT)
		return;
	index_of_table = NULL;
}

/* open_all: opens the table of that name, its primary key, and a scan of that, for the whole transaction */
static void
open_all(const char *name)
{
	static bool registered = false;
	ResourceOwner owner = CurrentResourceOwner;
	MemoryContext context = MemoryContextSwitchTo(TopTransactionContext);
	Relation	index;

	if (!registered)
		RegisterXactCallback(close_all, NULL);
	registered = true;
	CurrentResourceOwner = TopTransactionResourceOwner;
	table = table_openrv(makeRangeVarFromNameList(textToQualifiedNameList(cstring_to_text(name))), RowExclusiveLock);
	RelationGetIndexList(table);
	index = index_open(table->rd_pkindex, RowExclusiveLock);
	info = BuildIndexInfo(index);
#if PG_VERSION_NUM < 180000
	scan = index_beginscan(table, index, SnapshotSelf, 2, 0);
#elif PG_VERSION_NUM < 190000
	scan = index_beginscan(table, index, SnapshotSelf, NULL, 2, 0);
#else
	scan = index_beginscan(table, index, SnapshotSelf, NULL, 2, 0, SO_NONE);
#endif
	ScanKeyInit(&search[0], 1, BTEqualStrategyNumber, F_TEXTEQ, (Datum) 0);
	search[0].sk_collation = index->rd_indcollation[0];
	ScanKeyInit(&search[1], 2, BTEqualStrategyNumber, F_INT8EQ, (Datum) 0);
	index_of_table = index;
	CurrentResourceOwner = owner;
	MemoryContextSwitchTo(context);
}

static bool
has_key(Keys *keys, JsonbValue *key)
{
	for (int i = 0; i < keys->n; i++)
		if (keys->key[i].val.string.len == key->val.string.len &&
			memcmp(keys->key[i].val.string.val, key->val.string.val, key->val.string.len) == 0)
			return true;
	return false;
}

static void
add_key(Keys *keys, JsonbValue *key)
{
	if (key->type != jbvString || keys->n == MAX_KEYS)
		elog(ERROR, "a key is no string, or there are too many");
	if (!has_key(keys, key))
		keys->key[keys->n++] = *key;
}

/* keys_of: finds the keys of a row */
static int64
keys_of(TupleTableSlot *slot, const char *member, Keys *keys)
{
	bool		isnull;
	Jsonb	   *doc = DatumGetJsonbP(slot_getattr(slot, 2, &isnull));
	JsonbValue	value;

	keys->n = 0;
	if (getKeyJsonValueFromContainer(&doc->root, member, strlen(member), &value) == NULL)
		;						/* no entry */
	else if (value.type == jbvBinary)
	{
		JsonbIterator *it = JsonbIteratorInit(value.val.binary.data);
		JsonbIteratorToken token;

		while ((token = JsonbIteratorNext(&it, &value, true)) != WJB_DONE)
			if (token == WJB_ELEM)
				add_key(keys, &value);
	}
	else
		add_key(keys, &value);
	return DatumGetInt64(slot_getattr(slot, 1, &isnull));
}

static void
insert_entry(JsonbValue *key, int64 id)
{
	Datum		values[2];
	bool		isnull[2] = {false, false};
	HeapTuple	tuple;

	values[0] = PointerGetDatum(cstring_to_text_with_len(key->val.string.val, key->val.string.len));
	values[1] = Int64GetDatum(id);
	tuple = heap_form_tuple(RelationGetDescr(table), values, isnull);
	tuple->t_tableOid = RelationGetRelid(table);
	heap_insert(table, tuple, GetCurrentCommandId(true), 0, NULL);
	index_insert(index_of_table, values, isnull, &tuple->t_self, table, UNIQUE_CHECK_NO, false, info);
}

/* delete_entry: finds the entry by its primary key, without pruning the page, and deletes it */
static void
delete_entry(JsonbValue *key, int64 id)
{
	ItemPointer tid;

	search[0].sk_argument = PointerGetDatum(cstring_to_text_with_len(key->val.string.val, key->val.string.len));
	search[1].sk_argument = Int64GetDatum(id);
	index_rescan(scan, search, 2, NULL, 0);
	while ((tid = index_getnext_tid(scan, ForwardScanDirection)) != NULL)
	{
		ItemPointerData place = *tid;
		Buffer		buffer = ReadBuffer(table, ItemPointerGetBlockNumber(tid));
		HeapTupleData tuple;
		bool		found;

		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		found = heap_hot_search_buffer(&place, table, buffer, SnapshotSelf, &tuple, NULL, true);
		UnlockReleaseBuffer(buffer);
		if (found)
		{
			simple_heap_delete(table, &place);
			break;
		}
	}
	/* Lets go of the leaf page, whose pin must not outlive this statement. */
	index_rescan(scan, search, 2, NULL, 0);
}

Datum
empty(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(NULL);
}

Datum
keep(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	const char *member = trigger->tg_trigger->tgargs[1];
	Keys		old_keys = {0};
	Keys		new_keys = {0};
	int64		old_id = 0;
	int64		new_id = 0;
	bool		is_update = TRIGGER_FIRED_BY_UPDATE(trigger->tg_event);

	if (index_of_table == NULL)
		open_all(trigger->tg_trigger->tgargs[0]);
	if (!TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		old_id = keys_of(trigger->tg_trigslot, member, &old_keys);
	if (!TRIGGER_FIRED_BY_DELETE(trigger->tg_event))
		new_id = keys_of(is_update ? trigger->tg_newslot : trigger->tg_trigslot, member, &new_keys);

	for (int i = 0; i < old_keys.n; i++)
		if (old_id != new_id || !has_key(&new_keys, &old_keys.key[i]))
			delete_entry(&old_keys.key[i], old_id);
	for (int i = 0; i < new_keys.n; i++)
		if (old_id != new_id || !has_key(&old_keys, &new_keys.key[i]))
			insert_entry(&new_keys.key[i], new_id);
	PG_RETURN_POINTER(NULL);
}
