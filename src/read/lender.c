/*-------------------------------------------------------------------------
 *
 * lender.c
 *	  Knows which columns of index tables have the values of expressions over a fact table,
 *	  so that the planner can use their statistics.
 *
 * Planning must not fail because of this, and must not wait, whatever state index tables,
 * fact table and catalog are in, and whatever other sessions do with them.  So the catalog is
 * read here in a way of its own, not by definition/cache.c: in a subtransaction, where any
 * error means that nothing is lent; and only if each lock is to be had at once.  Nothing
 * depends on the result but estimates.
 *
 * What is read is cached.  News of the fact table, of one of its partitions, or of an index
 * table or one of its partitions make it forgotten.  ANALYZE sends such news when it changes
 * the number of rows, of which the shares are made.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include <limits.h>
#include <math.h>
#include "nodes/nodeFuncs.h"
#include "storage/lmgr.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/reltrigger.h"
#include "utils/syscache.h"

#include "../catalog/definition_rows.h"
#include "../catalog/table_access.h"
#include "../catalog/trigger_names.h"
#include "../definition/columns.h"
#include "../definition/invalidation.h"
#include "../definition/resolve.h"
#include "../definition/roots.h"
#include "../indextable.h"
#include "../util/inherit.h"
#include "../util/subxact.h"
#include "field_spelling.h"
#include "lender.h"

/* Index tables with entries for fewer of the rows lend only what is certain. */
#define MIN_SHARE	0.5

/* A table that was planned, or that a fact table's lending depends on, or both. */
typedef struct Table
{
	Oid			relid;			/* hash key */
	bool		planned;		/* the next is known */
	Oid			fact;			/* it is this fact table, or a partition of
								 * it; or InvalidOid */
	Oid			watched_for;	/* the lending of this fact table depends on
								 * it; or InvalidOid */
	Lending    *lending;		/* of a fact table, or NULL: to be read */
} Table;

/* What is being read. */
typedef struct Reading
{
	Oid			relid;			/* the table that is planned */
	Oid			fact;			/* its fact table, once it is known */
	Lending    *lending;
	List	   *locked;			/* OIDs of relations */
	bool		busy;			/* a lock was not to be had */
	double		rows;
} Reading;

typedef struct Pin
{
	MemoryContextCallback callback;
	Lending    *lending;
} Pin;

static HTAB *tables = NULL;
static uint64 news = 0;			/* counts what has made something forgotten */

static void listen(void);
static void forget_table(Oid relid);
static void forget_entry(Table *table);
static Table *enter_table(Oid relid);
static void watch_for(Oid relid, Oid fact);
static Lending *read_lending(Oid relid);
static bool has_fact_trigger(Oid relid);
static void try_reading(void *arg);
static bool lock_now(Reading *reading, Oid relid);
static void read_index_table(Reading *reading, Relation fact, StoredDefinition *stored);
static void add_fields(Reading *reading, Relation fact, IndexDef *def, Relation rel);
static LentField *find_field(Lending *lending, List *spellings);
static int	compare_lenders(const ListCell *a, const ListCell *b);
static double count_rows(Oid relid, Oid fact);
static void unpin(void *arg);

static ChangeListener listener = {.any_relation = forget_table};

/*
 * lending_of
 *		Returns what index tables lend to a table that the planner has locked, if the table is a
 *		fact table or a partition of one; otherwise, or if nothing is lent, NULL.
 *
 * The caller pins the result before it does anything that reads a catalog.
 */
Lending *
lending_of(Oid relid)
{
	Table	   *table;
	Lending    *result = NULL;

	if (tables == NULL)
		listen();
	table = hash_search(tables, &relid, HASH_FIND, NULL);
	if (table == NULL || !table->planned)
		result = read_lending(relid);
	else if (OidIsValid(table->fact))
	{
		if (table->fact != relid)
			table = hash_search(tables, &table->fact, HASH_FIND, NULL);
		result = table != NULL && table->lending != NULL ? table->lending : read_lending(relid);
	}
	return result != NULL && result->fields != NIL ? result : NULL;
}

/* lending_pin: keeps a lending in memory as long as what is in cxt, even if it is forgotten */
void
lending_pin(Lending *lending, MemoryContext cxt)
{
	Pin		   *pin = MemoryContextAlloc(cxt, sizeof(Pin));

	pin->lending = lending;
	pin->callback.func = unpin;
	pin->callback.arg = pin;
	lending->pins++;
	MemoryContextRegisterResetCallback(cxt, &pin->callback);
}

static void
unpin(void *arg)
{
	Lending    *lending = ((Pin *) arg)->lending;

	Assert(lending->pins > 0);
	if (--lending->pins == 0 && lending->dropped)
		MemoryContextDelete(lending->cxt);
}

static void
listen(void)
{
	HASHCTL		ctl;

	listen_to_changes(&listener);
	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(Table);
	tables = hash_create("indextable tables planned", 64, &ctl, HASH_ELEM | HASH_BLOBS);
}

/* forget_table: forgets what depends on a table that has changed; on any table, if relid is InvalidOid */
static void
forget_table(Oid relid)
{
	HASH_SEQ_STATUS seq;
	Table	   *table;
	Oid			fact;

	if (tables == NULL)
		return;
	if (OidIsValid(relid))
	{
		table = hash_search(tables, &relid, HASH_FIND, NULL);
		if (table == NULL)
			return;
		news++;
		fact = table->watched_for;
		forget_entry(table);
		table = OidIsValid(fact) ? hash_search(tables, &fact, HASH_FIND, NULL) : NULL;
		if (table != NULL)
			forget_entry(table);
		return;
	}
	news++;
	hash_seq_init(&seq, tables);
	while ((table = hash_seq_search(&seq)) != NULL)
		forget_entry(table);
}

static void
forget_entry(Table *table)
{
	if (table->lending != NULL)
	{
		table->lending->dropped = true;
		if (table->lending->pins == 0)
			MemoryContextDelete(table->lending->cxt);
	}
	hash_search(tables, &table->relid, HASH_REMOVE, NULL);
}

static Table *
enter_table(Oid relid)
{
	bool		found;
	Table	   *table = hash_search(tables, &relid, HASH_ENTER, &found);

	if (!found)
	{
		table->planned = false;
		table->fact = InvalidOid;
		table->watched_for = InvalidOid;
		table->lending = NULL;
	}
	return table;
}

/* watch_for: notes that a fact table's lending depends on a table; before anything is read of that */
static void
watch_for(Oid relid, Oid fact)
{
	enter_table(relid)->watched_for = fact;
}

/*
 * read_lending
 *		Reads what is lent to a table, and caches it, unless there was news meanwhile, or
 *		something was locked by somebody else: then it serves this time only.
 */
static Lending *
read_lending(Oid relid)
{
	uint64		before;
	Reading		reading = {.relid = relid};
	MemoryContext cxt;
	ErrorData  *error;
	Table	   *table;

	/* What is planned while it is being read finds this, and goes without. */
	table = enter_table(relid);
	table->planned = true;
	table->fact = InvalidOid;
	before = news;
	if (!has_fact_trigger(relid))
		return NULL;

	/* There are no subtransactions while parallel workers run. */
	if (IsInParallelMode())
	{
		forget_table(relid);
		return NULL;
	}
	cxt = AllocSetContextCreate(CurrentMemoryContext, "indextable lending", ALLOCSET_SMALL_SIZES);
	reading.lending = MemoryContextAllocZero(cxt, sizeof(Lending));
	reading.lending->cxt = cxt;
	error = run_catching_errors(try_reading, &reading);
	if (error != NULL)
	{
		if (ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION)
		{
			forget_table(relid);
			ReThrowError(error);
		}
		elog(DEBUG1, "no statistics are lent to table %u: %s", relid, error->message);
		FreeErrorData(error);
		reading.lending->fields = NIL;
		reading.lending->nspellings = 0;
	}
	MemoryContextSetParent(cxt, CacheMemoryContext);
	reading.lending->fact = reading.fact;
	if (news != before || reading.busy)
	{
		forget_table(relid);
		reading.lending->dropped = true;
		if (reading.lending->fields != NIL)
			return reading.lending;
		MemoryContextDelete(cxt);
		return NULL;
	}
	if (!OidIsValid(reading.fact))
	{
		MemoryContextDelete(cxt);
		return NULL;
	}
	enter_table(relid)->fact = reading.fact;
	table = enter_table(reading.fact);
	table->planned = true;
	table->fact = reading.fact;
	if (table->lending != NULL)
	{
		/* Something that was planned meanwhile has read the same. */
		MemoryContextDelete(cxt);
		return table->lending;
	}
	return table->lending = reading.lending;
}

/* has_fact_trigger: returns whether a table has a trigger by the name of one of ours; most have none, and that is all */
static bool
has_fact_trigger(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	bool		result = false;
	int			i;

	for (i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers && !result; i++)
	{
		const char *name = rel->trigdesc->triggers[i].tgname;

		result = is_our_trigger(name) && strcmp(name, GUARD) != 0 && strcmp(name, GUARD_ROW) != 0;
	}
	table_close(rel, NoLock);
	return result;
}

/* try_reading: reads what is lent; run by run_catching_errors() */
static void
try_reading(void *arg)
{
	Reading    *reading = arg;
	Oid			definitions = catalog_relid("definition", true);
	Oid			facts = catalog_relid("fact", true);
	Relation	fact;
	ListCell   *cell;

	if (!OidIsValid(definitions) || !OidIsValid(facts) ||
		!lock_now(reading, definitions) || !lock_now(reading, facts))
		goto end;
	reading->fact = registered_root(reading->relid);
	enter_table(reading->fact);
	if (!lock_now(reading, reading->fact))
		goto end;
	fact = try_relation_open(reading->fact, NoLock);
	if (fact == NULL)
		goto end;
	reading->rows = count_rows(reading->fact, reading->fact);
	foreach(cell, catalog_read_definitions(reading->fact, InvalidOid))
		read_index_table(reading, fact, lfirst(cell));
	foreach(cell, reading->lending->fields)
		list_sort(((LentField *) lfirst(cell))->lenders, compare_lenders);
	relation_close(fact, NoLock);
end:
	foreach(cell, reading->locked)
		UnlockRelationOid(lfirst_oid(cell), AccessShareLock);
}

/* lock_now: locks a relation against DDL until it is read; returns false if that would have to be waited for */
static bool
lock_now(Reading *reading, Oid relid)
{
	if (!ConditionalLockRelationOid(relid, AccessShareLock))
	{
		reading->busy = true;
		return false;
	}
	reading->locked = lappend_oid(reading->locked, relid);
	return true;
}

/*
 * read_index_table
 *		Adds the columns of an index table to what is lent.
 *
 * Index tables with a filter are left out: what they have is not like the other rows.  So are
 * those with a multi-valued key, of which a row has any number of entries, and those that are
 * not complete.  An asynchronous one is as good as the others: statistics are late anyway.
 */
static void
read_index_table(Reading *reading, Relation fact, StoredDefinition *stored)
{
	DefinitionRow *row = &stored->row;
	const char **names;
	Relation	rel;
	FactDef    *factdef;
	IndexDef   *def;

	watch_for(row->index_table, reading->fact);
	if (strcmp(row->state, "active") != 0 || OidIsValid(row->replaces) || row->filter != NULL ||
		!lock_now(reading, row->index_table))
		return;
	rel = try_relation_open(row->index_table, NoLock);
	if (rel == NULL)
		return;
	names = get_stored_column_names(fact, stored);
	factdef = make_fact_def(fact, row->primary_key, names, CurrentMemoryContext);
	def = make_index_def(factdef, fact, row, rel, INT_MAX, names);
	if (!def->multi && definition_complete_columns(def, fact, RelationGetDescr(rel)))
		add_fields(reading, fact, def, rel);
	relation_close(rel, NoLock);
}

/*
 * add_fields
 *		Adds the fields of a definition to what is lent.
 *
 * A row has an entry if all key fields are there.  So the share of the rows that have an entry
 * is, for the only key field, exactly the share of rows where it is not NULL.
 *
 * Of several key fields it is not known which of them the other rows lack.  The share of rows
 * where one of them is not NULL is at least that of the rows with an entry, and at most 1.  Its
 * square root is between the two, and the factor by which it can be wrong is the least.  Of
 * included fields nothing is known about rows without entries; they are taken to be NULL as
 * often as in the others.
 *
 * In either case the other rows may have the values that are common among entries, or others.
 * A common value is taken to have as many rows as it has entries, which is the least that it
 * can have, and what is left goes to the values that are not common.  Where fields do not
 * depend on each other that is too little for a common value by a factor of at most 2, because
 * index tables with entries for less than half of the rows lend nothing of this.
 *
 * Where all rows have entries everything is exact.
 */
static void
add_fields(Reading *reading, Relation fact, IndexDef *def, Relation rel)
{
	double		entries = count_rows(def->relid, reading->fact);
	double		share;
	MemoryContext old;
	int			i;

	if (reading->rows <= 0 || entries <= 0)
		return;
	share = Min(entries / reading->rows, 1);
	for (i = 0; i < def->nkeys + def->nincludes; i++)
	{
		Field	   *field = &def->fields[i];
		AttrNumber	doc = def->fact->doc_attno[def->docno];
		bool		certain = i < def->nkeys && def->nkeys == 1;
		List	   *spellings;
		LentField  *lent;
		Lender	   *lender;

		if (!certain && share < MIN_SHARE)
			continue;
		old = MemoryContextSwitchTo(reading->lending->cxt);
		spellings = field_spellings(field, doc);
		if (spellings != NIL)
		{
			lent = find_field(reading->lending, spellings);
			if (lent == NULL)
			{
				lent = palloc0(sizeof(LentField));
				lent->document = pstrdup(NameStr(TupleDescAttr(RelationGetDescr(fact), doc - 1)->attname));
				lent->doc_attno = doc;
				lent->type = field->type;
				lent->spellings = spellings;
				reading->lending->fields = lappend(reading->lending->fields, lent);
				reading->lending->nspellings += list_length(spellings);
			}
			lender = palloc(sizeof(Lender));
			lender->index_table = def->relid;
			lender->attno = field->attno;
			lender->partitioned = rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
			lender->not_null = certain ? share : i < def->nkeys ? sqrt(share) : 1;
			lender->common = share;
			lender->unknown = certain ? 0 : 1 - share;
			lender->entries = entries;
			lent->lenders = lappend(lent->lenders, lender);
		}
		MemoryContextSwitchTo(old);
	}
}

/* find_field: returns the field that is spelled like this, or NULL */
static LentField *
find_field(Lending *lending, List *spellings)
{
	ListCell   *cell;

	foreach(cell, lending->fields)
	{
		if (equal(((LentField *) lfirst(cell))->spellings, spellings))
			return lfirst(cell);
	}
	return NULL;
}

/* compare_lenders: puts first what is most certain, then what is about more rows, then the older one */
static int
compare_lenders(const ListCell *a, const ListCell *b)
{
	Lender	   *x = lfirst(a);
	Lender	   *y = lfirst(b);

	if (x->unknown != y->unknown)
		return x->unknown < y->unknown ? -1 : 1;
	if (x->entries != y->entries)
		return x->entries > y->entries ? -1 : 1;
	return x->index_table < y->index_table ? -1 : x->index_table > y->index_table ? 1 : 0;
}

/*
 * count_rows
 *		Returns how many rows a table had according to its last VACUUM or ANALYZE; 0 if that is
 *		not known.  Those of a partitioned table are counted by partition, because autovacuum
 *		does not look at the table itself.  News of them are news for the fact table.
 */
static double
count_rows(Oid relid, Oid fact)
{
	double		result = 0;
	ListCell   *cell;

	foreach(cell, list_with_partitions(relid))
	{
		HeapTuple	tuple;

		if (lfirst_oid(cell) != fact)
			watch_for(lfirst_oid(cell), fact);
		tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(lfirst_oid(cell)));
		if (!HeapTupleIsValid(tuple))
			continue;
		if (((Form_pg_class) GETSTRUCT(tuple))->relkind != RELKIND_PARTITIONED_TABLE)
			result += Max(((Form_pg_class) GETSTRUCT(tuple))->reltuples, 0);
		ReleaseSysCache(tuple);
	}
	return result;
}
