/*-------------------------------------------------------------------------
 *
 * foreign.c
 *	  Reads partitions of fact tables that are on other servers.
 *
 * Called by sample.c for all rows of one, by liverow.c and gather.c for rows by
 * their primary key, and by create.c, verify.c, repair.c and alter.c for what is
 * different with other servers.  All reading is by SQL, and so by whatever wrapper
 * the partition has.  The values that rows are asked for are parameters of
 * statements that are planned once, with these values: then they are constants to
 * the planner, which leaves out all other partitions, and to the other server.
 *
 * As whom: what serves the upkeep is read as the owner of the partition, what a
 * look-up returns as its caller.
 *
 * Another server shows its rows with a snapshot of its own, which it keeps until
 * our transaction ends.  It is taken when they are read first, so whatever has to
 * be locked is locked before.  Writers commit there first, then here, and only
 * then release their locks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_operator.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "indextable.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/* Rows that are taken from a cursor at a time. */
#define FETCH_ROWS			1000

/* Keys of several columns that one statement asks for, if they need a condition each. */
#define MAX_CONDITIONS		200

/* So often, and for so many ms each time, writers are tried to be kept out for a moment. */
#define MAX_TRIES			5
#define LOCK_TIMEOUT		200

struct ForeignRows_
{
	FactDef    *def;
	Oid			owner;
	Portal		portal;
	MemoryContext cxt;			/* of the rows at hand */
	HeapTuple  *tuples;
	uint64		n;
	uint64		next;
	TupleDesc	desc;			/* of these */
	AttrNumber *columns;		/* and their numbers in the fact table */
	TupleTableSlot *slot;
};

/* Facts whose writers this transaction has kept out since before it read them. */
static List *writers_out = NIL;

/* The moment that this transaction's view of some servers is of. */
typedef struct Moment
{
	Snapshot	snapshot;		/* of that moment, here */
	List	   *servers;
	List	   *owners;			/* as whom they are read */
} Moment;

static Moment *moment = NULL;

static void at_xact_event(XactEvent event, void *arg);
static bool within_moment(Oid fact);
static char *select_rows(RowRequest *request, AttrNumber **columns);
static void store_row(FactDef *def, HeapTuple tuple, TupleDesc desc, AttrNumber *columns, TupleTableSlot *slot);
static Bitmapset *upkeep_columns(FactDef *def);
static void fetch_some(RowRequest *request, Datum *keys, int n, bool as_list,
					   void (*each) (TupleTableSlot *row, void *arg), void *arg);
static int	differing_columns(FactDef *def, Datum *keys, int n, bool *differs);
static char *qualified_equality(Oid type);
static void unlock_fact(Oid relid, LOCKMODE mode);
static bool is_locked_here(Oid relid);

/*
 * select_rows
 *		The columns wanted, by their names, which partitions share; and their numbers
 *		in the fact table.
 */
static char *
select_rows(RowRequest *request, AttrNumber **columns)
{
	TupleDesc	desc = request->def->desc;
	StringInfoData sql;
	int			n = 0;
	int			i;

	initStringInfo(&sql);
	*columns = palloc(sizeof(AttrNumber) * desc->natts);
	for (i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		int			member = att->attnum - FirstLowInvalidHeapAttributeNumber;

		if (att->attisdropped ||
			(request->columns != NULL && !bms_is_member(member, request->columns) &&
			 !bms_is_member(member, request->def->pk_columns)))
			continue;
		appendStringInfo(&sql, "%s f.%s", n == 0 ? "SELECT" : ",", quote_identifier(NameStr(att->attname)));
		(*columns)[n++] = att->attnum;
	}
	appendStringInfo(&sql, " FROM %s f", quoted_relation(RelationGetRelid(request->rel)));
	return sql.data;
}

/* store_row: as the fact table has it; it points into the tuple */
static void
store_row(FactDef *def, HeapTuple tuple, TupleDesc desc, AttrNumber *columns, TupleTableSlot *slot)
{
	int			i;

	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, sizeof(bool) * def->desc->natts);
	for (i = 0; i < desc->natts; i++)
		slot->tts_values[columns[i] - 1] = heap_getattr(tuple, i + 1, desc, &slot->tts_isnull[columns[i] - 1]);
	ExecStoreVirtualTuple(slot);
}

/* upkeep_columns: that entries depend on */
static Bitmapset *
upkeep_columns(FactDef *def)
{
	return bms_union(bms_union(def->used, def->queued), def->pk_columns);
}

/* foreign_rows_begin: all rows of a partition, in no order, with the columns that entries depend on */
ForeignRows *
foreign_rows_begin(FactDef *def, Relation leaf)
{
	ForeignRows *rows = palloc0(sizeof(ForeignRows));
	RowRequest	request = {.def = def,.rel = leaf,.columns = upkeep_columns(def)};
	char	   *sql = select_rows(&request, &rows->columns);
	Caller		caller;

	rows->def = def;
	rows->owner = leaf->rd_rel->relowner;
	rows->cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable foreign rows", ALLOCSET_DEFAULT_SIZES);
	rows->slot = MakeSingleTupleTableSlot(def->desc, &TTSOpsVirtual);
	become_owner(&caller, rows->owner);
	SPI_connect();
	rows->portal = SPI_cursor_open_with_args(NULL, sql, 0, NULL, NULL, NULL, true, 0);
	if (rows->portal == NULL)
		elog(ERROR, "%s: %s", SPI_result_code_string(SPI_result), sql);
	SPI_finish();
	become_caller(&caller);
	return rows;
}

/* foreign_rows_next: NULL if there is none left; valid until the next call */
TupleTableSlot *
foreign_rows_next(ForeignRows *rows)
{
	if (rows->next == rows->n)
	{
		Caller		caller;
		MemoryContext old;
		uint64		i;

		ExecClearTuple(rows->slot);
		MemoryContextReset(rows->cxt);
		become_owner(&caller, rows->owner);
		SPI_connect();
		SPI_cursor_fetch(rows->portal, true, FETCH_ROWS);
		rows->n = SPI_processed;
		rows->next = 0;
		old = MemoryContextSwitchTo(rows->cxt);
		rows->tuples = palloc(sizeof(HeapTuple) * Max(rows->n, 1));
		rows->desc = CreateTupleDescCopy(SPI_tuptable->tupdesc);
		for (i = 0; i < rows->n; i++)
			rows->tuples[i] = heap_copytuple(SPI_tuptable->vals[i]);
		MemoryContextSwitchTo(old);
		SPI_finish();
		become_caller(&caller);
		if (rows->n == 0)
			return NULL;
	}
	store_row(rows->def, rows->tuples[rows->next++], rows->desc, rows->columns, rows->slot);
	return rows->slot;
}

void
foreign_rows_end(ForeignRows *rows)
{
	SPI_connect();
	SPI_cursor_close(rows->portal);
	SPI_finish();
	ExecDropSingleTupleTableSlot(rows->slot);
	MemoryContextDelete(rows->cxt);
}

/*
 * fetch_rows
 *		Calls each with every row that has one of the primary keys, n * npk of them,
 *		in no order; a row is valid for the call.  Of the fact table as a whole, one
 *		statement asks all partitions concerned, and no others, as far as the wrapper
 *		can at the same time.
 */
void
fetch_rows(RowRequest *request, Datum *keys, int n, void (*each) (TupleTableSlot *row, void *arg), void *arg)
{
	FactDef    *def = request->def;
	bool		differs[INDEX_MAX_KEYS];
	bool		as_list;
	int			step = n;
	int			i;
	int			k;

	/* At most one column that differs: col = ANY (values); else (a AND b) OR ... */
	as_list = differing_columns(def, keys, n, differs) <= 1;
	for (k = 0; k < def->npk; k++)
		as_list &= !differs[k] || OidIsValid(get_array_type(TupleDescAttr(def->desc, def->pk_attno[k] - 1)->atttypid));
	if (!as_list)
		step = MAX_CONDITIONS;
	for (i = 0; i < n; i += step)
		fetch_some(request, keys + (Size) i * def->npk, Min(step, n - i), as_list, each, arg);
}

static void
fetch_some(RowRequest *request, Datum *keys, int n, bool as_list,
		   void (*each) (TupleTableSlot *row, void *arg), void *arg)
{
	FactDef    *def = request->def;
	MemoryContext cxt = CurrentMemoryContext;
	TupleTableSlot *slot = MakeSingleTupleTableSlot(def->desc, &TTSOpsVirtual);
	Oid		   *types = palloc(sizeof(Oid) * n * def->npk);
	Datum	   *values = palloc(sizeof(Datum) * n * def->npk);
	bool		differs[INDEX_MAX_KEYS];
	int			nargs = 0;
	AttrNumber *columns;
	StringInfoData sql;
	Caller		caller;
	int			nestlevel;
	uint64		row;
	int			i;
	int			k;

	initStringInfo(&sql);
	appendStringInfo(&sql, "%s WHERE ", select_rows(request, &columns));
	(void) differing_columns(def, keys, n, differs);
	for (i = 0; i < (as_list ? 1 : n); i++)
	{
		appendStringInfoString(&sql, i > 0 ? " OR (" : "(");
		for (k = 0; k < def->npk; k++)
		{
			Form_pg_attribute att = TupleDescAttr(def->desc, def->pk_attno[k] - 1);
			bool		list = as_list && differs[k];

			appendStringInfo(&sql, list ? "%sf.%s %s ANY ($%d)" : "%sf.%s %s $%d", k > 0 ? " AND " : "",
							 quote_identifier(NameStr(att->attname)), qualified_equality(att->atttypid), nargs + 1);
			types[nargs] = list ? get_array_type(att->atttypid) : att->atttypid;
			if (list)
			{
				Datum	   *elements = palloc(sizeof(Datum) * n);
				int			e;

				for (e = 0; e < n; e++)
					elements[e] = keys[(Size) e * def->npk + k];
				values[nargs++] = PointerGetDatum(construct_array(elements, n, att->atttypid, att->attlen,
																  att->attbyval, att->attalign));
			}
			else
				values[nargs++] = keys[(Size) i * def->npk + k];
		}
		appendStringInfoChar(&sql, ')');
	}

	if (OidIsValid(request->role))
		become_owner(&caller, request->role);
	nestlevel = NewGUCNestLevel();
	if (request->all)
		set_config_option("row_security", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	SPI_connect();
	if (SPI_execute_with_args(sql.data, nargs, types, values, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read table \"%s\"", RelationGetRelationName(request->rel));
	for (row = 0; row < SPI_processed; row++)
	{
		MemoryContext old = MemoryContextSwitchTo(cxt);

		store_row(def, SPI_tuptable->vals[row], SPI_tuptable->tupdesc, columns, slot);
		each(slot, arg);
		MemoryContextSwitchTo(old);
	}
	ExecDropSingleTupleTableSlot(slot);
	SPI_finish();
	AtEOXact_GUC(false, nestlevel);
	if (OidIsValid(request->role))
		become_caller(&caller);
}

/* differing_columns: how many columns of the primary key have not the same value in all keys, and which */
static int
differing_columns(FactDef *def, Datum *keys, int n, bool *differs)
{
	int			count = 0;
	int			i;
	int			k;

	for (k = 0; k < def->npk; k++)
	{
		Form_pg_attribute att = TupleDescAttr(def->desc, def->pk_attno[k] - 1);

		differs[k] = false;
		for (i = 1; i < n && !differs[k]; i++)
			differs[k] = !datum_image_eq(keys[k], keys[(Size) i * def->npk + k], att->attbyval, att->attlen);
		count += differs[k];
	}
	return count;
}

/* qualified_equality: the operator by which a type's values are equal, as SQL */
static char *
qualified_equality(Oid type)
{
	Oid			operator = get_equality_operator(type);
	HeapTuple	tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(operator));
	char	   *result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator %u", operator);
	result = psprintf("OPERATOR(%s.%s)",
					  quote_identifier(get_namespace_name(((Form_pg_operator) GETSTRUCT(tuple))->oprnamespace)),
					  NameStr(((Form_pg_operator) GETSTRUCT(tuple))->oprname));
	ReleaseSysCache(tuple);
	return result;
}

/* in_bounds: whether a row of a partition on another server belongs there: nothing but that server's constraints keeps it so */
bool
in_bounds(FactDef *def, Relation root, Oid leaf, TupleTableSlot *row)
{
	Datum		key[INDEX_MAX_KEYS];
	int			i;

	for (i = 0; i < def->npk; i++)
	{
		bool		isnull;

		key[i] = slot_getattr(row, def->pk_attno[i], &isnull);
		if (isnull)
			return false;
	}
	return route_key(def, root, key) == leaf;
}

/* require_in_bounds: of a row that was found there, or that is written there now; the server itself moves and checks none */
void
require_in_bounds(FactDef *def, Relation root, Oid leaf, TupleTableSlot *row, bool found)
{
	StringInfoData names;
	StringInfoData values;
	int			i;

	if (in_bounds(def, root, leaf, row))
		return;
	initStringInfo(&names);
	initStringInfo(&values);
	for (i = 0; i < def->npk; i++)
	{
		Form_pg_attribute att = TupleDescAttr(def->desc, def->pk_attno[i] - 1);
		bool		isnull;
		Datum		value = slot_getattr(row, att->attnum, &isnull);
		Oid			output;
		bool		varlena;

		getTypeOutputInfo(att->atttypid, &output, &varlena);
		appendStringInfo(&names, "%s%s", i > 0 ? ", " : "", NameStr(att->attname));
		appendStringInfo(&values, "%s%s", i > 0 ? ", " : "", isnull ? "null" : OidOutputFunctionCall(output, value));
	}
	ereport(ERROR,
			(errcode(ERRCODE_CHECK_VIOLATION),
			 found ? errmsg("foreign partition \"%s\" has a row that its bounds do not allow", get_rel_name(leaf)) :
			 errmsg("new row for foreign partition \"%s\" violates its bounds", get_rel_name(leaf)),
			 errdetail("The row with (%s)=(%s) would not be found by its primary key.", names.data, values.data),
			 !found ? errhint("Rows are not moved out of foreign partitions. Instead, delete the row and insert it into \"%s\".", def->name) :
			 errhint("Move or delete the row on the other server, and add a CHECK constraint there.")));
}

/* foreign_init: called once, when the library is loaded */
void
foreign_init(void)
{
	RegisterXactCallback(at_xact_event, NULL);
}

static void
at_xact_event(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			if (moment != NULL)
				UnregisterSnapshotFromOwner(moment->snapshot, TopTransactionResourceOwner);
			moment = NULL;
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_ABORT:
			moment = NULL;
			writers_out = NIL;
			break;
		default:
			break;
	}
}

/*
 * require_fresh
 *		An error if this transaction has read or written a server that holds a part of
 *		a fact table: it shows its rows as they were then, and others may have written
 *		them since, unless they were kept out all the time.  Called before any of the
 *		partitions is locked.
 */
void
require_fresh(Oid fact, const char *what)
{
	List	   *servers = NIL;
	List	   *used = NIL;
	ListCell   *cell;
	Relation	rel;
	SysScanDesc scan;
	HeapTuple	tuple;

	foreach(cell, foreign_leaves(fact))
		servers = list_append_unique_oid(servers, GetForeignTable(lfirst_oid(cell))->serverid);
	if (servers == NIL)
		return;
	if (list_member_oid(writers_out, fact) && is_locked_here(fact) && !batch_any_foreign(fact))
		return;
	rel = table_open(ForeignTableRelationId, AccessShareLock);
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_foreign_table form = (Form_pg_foreign_table) GETSTRUCT(tuple);

		if (list_member_oid(servers, form->ftserver) && is_locked_here(form->ftrelid))
			used = lappend_oid(used, form->ftrelid);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	if (used != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("%s cannot run in a transaction that has used foreign table \"%s\"", what,
						get_rel_name(linitial_oid(used))),
				 errdetail("Until the transaction ends, the other server shows rows as they were at that time, without later changes."),
				 errhint("Call the function in a transaction of its own.")));
}

/* note_writers_out: a fact table is locked against writers until the transaction ends, or the subtransaction */
void
note_writers_out(Oid fact)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);

	writers_out = list_append_unique_oid(writers_out, fact);
	MemoryContextSwitchTo(old);
}

/* is_locked_here: whether this transaction has used a relation; whoever does keeps a lock until it ends */
static bool
is_locked_here(Oid relid)
{
	LOCKTAG		tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, relid);
	return lock_held_by_me(&tag);
}

/* within_moment: whether all servers with a part of a fact table are seen as of the same moment already */
static bool
within_moment(Oid fact)
{
	ListCell   *cell;
	ListCell   *server;
	ListCell   *owner;

	if (moment == NULL || batch_any_foreign(fact))
		return false;
	foreach(cell, foreign_leaves(fact))
	{
		Relation	leaf = relation_open(lfirst_oid(cell), AccessShareLock);
		bool		found = false;

		forboth(server, moment->servers, owner, moment->owners)
			found |= lfirst_oid(server) == GetForeignTable(lfirst_oid(cell))->serverid &&
				lfirst_oid(owner) == leaf->rd_rel->relowner;
		relation_close(leaf, NoLock);
		if (!found)
			return false;
	}
	return true;
}

/*
 * agree_on_snapshots
 *		The latest snapshot, registered; and at the same moment, with writers kept
 *		out, every server with a part of the fact table takes one.  Connecting may
 *		take long, so it is done before that.  Later calls in the same transaction
 *		are of the same moment.  Which partitions there are is read with the snapshot:
 *		one that is attached later has rows that it sees, and entries that it does not.
 */
Snapshot
agree_on_snapshots(FactDef *def, Relation fact)
{
	List	   *portals = NIL;
	List	   *servers = NIL;
	List	   *owners = NIL;
	bool		locked = false;
	Snapshot	snapshot;
	MemoryContext old;
	ListCell   *cell;
	ListCell   *inner;
	Caller		caller;
	int			try;

	if (foreign_leaves(def->relid) == NIL)
		return tree_snapshot(fact);
	if (moment != NULL && within_moment(def->relid))
	{
		moment->snapshot->curcid = GetCurrentCommandId(false);
		return RegisterSnapshot(moment->snapshot);
	}
	require_fresh(def->relid, "verify()");

	foreach(cell, foreign_leaves(def->relid))
	{
		Oid			server = GetForeignTable(lfirst_oid(cell))->serverid;
		Relation	leaf = relation_open(lfirst_oid(cell), AccessShareLock);
		Oid			owner = leaf->rd_rel->relowner;
		bool		known = false;
		ListCell   *other;
		Portal		portal;

		relation_close(leaf, NoLock);
		forboth(inner, servers, other, owners)
			known |= lfirst_oid(inner) == server && lfirst_oid(other) == owner;
		if (known)
			continue;
		servers = lappend_oid(servers, server);
		owners = lappend_oid(owners, owner);
		become_owner(&caller, owner);
		SPI_connect();
		portal = SPI_cursor_open_with_args(NULL, psprintf("SELECT FROM %s LIMIT 1", quoted_relation(lfirst_oid(cell))),
										   0, NULL, NULL, NULL, true, 0);
		SPI_finish();
		portals = lappend(portals, portal);
		become_caller(&caller);
	}

	for (try = 0; try < MAX_TRIES && !locked && !RecoveryInProgress(); try++)
		locked = lock_within(def->relid, ShareLock, LOCK_TIMEOUT);
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	forboth(cell, portals, inner, owners)
	{
		become_owner(&caller, lfirst_oid(inner));
		SPI_connect();
		SPI_cursor_fetch(lfirst(cell), true, 1);
		SPI_cursor_close(lfirst(cell));
		SPI_finish();
		become_caller(&caller);
	}
	if (!locked)
	{
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("rows of table \"%s\" that are being changed may be reported as discrepancies", def->name),
				 errdetail("The table could not be locked for the moment at which the snapshots of its foreign partitions and of the index table are taken."),
				 errhint("Check the discrepancies again, as indextable.repair() does.")));
		return snapshot;
	}
	unlock_fact(def->relid, ShareLock);
	if (moment == NULL)
	{
		old = MemoryContextSwitchTo(TopTransactionContext);
		moment = palloc(sizeof(Moment));
		moment->servers = list_copy(servers);
		moment->owners = list_copy(owners);
		moment->snapshot = RegisterSnapshotOnOwner(snapshot, TopTransactionResourceOwner);
		MemoryContextSwitchTo(old);
	}
	return snapshot;
}

/* unlock_fact: what lock_within() has locked */
static void
unlock_fact(Oid relid, LOCKMODE mode)
{
	ResourceOwner owner = CurrentResourceOwner;
	ListCell   *cell;

	CurrentResourceOwner = CurTransactionResourceOwner;
	foreach(cell, with_partitions(relid))
		UnlockRelationOid(lfirst_oid(cell), mode);
	CurrentResourceOwner = owner;
}

/* warn_foreign: what cannot be promised of index tables over other servers */
void
warn_foreign(Oid fact)
{
	if (foreign_leaves(fact) == NIL)
		return;
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("index tables of table \"%s\" have entries of partitions on other servers", get_rel_name(fact)),
			 errdetail("A commit on several servers is not atomic. Changes that are made directly on another server are neither applied to the index tables nor checked for uniqueness."),
			 errhint("Call indextable.verify() regularly, or set indextable.check_interval, and call indextable.repair() when discrepancies are found.")));
}
