/*-------------------------------------------------------------------------
 *
 * create.c
 *	  indextable.create(): checks what the user asks for, makes the index table,
 *	  fills it and registers it.
 *
 * All of this happens in the caller's transaction, so an error leaves nothing behind.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/catalog.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/dbcommands.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"
#include "utils/varlena.h"

#include "../apply/apply.h"
#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../entry/entry.h"
#include "../expression/expression.h"
#include "../fact/fact.h"
#include "../fetch/fetch.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../reasons/reasons.h"
#include "../util/arguments.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "../util/uncounted_reads.h"
#include "../util/while_set.h"
#include "commands.h"

PG_FUNCTION_INFO_V1(indextable_create);

/* The arguments of create(), in order. */
enum
{
	ARG_INDEX_TABLE,
	ARG_FACT_TABLE,
	ARG_KEY,
	ARG_STRATEGY,
	ARG_INCLUDE,
	ARG_FILTER,
	ARG_MAINTENANCE,
	ARG_IS_UNIQUE,
	ARG_PARTITIONS,
	ARG_ON_MISMATCH,
	ARG_DOCUMENT,
	ARG_POPULATE,
	ARG_PARTITION_BY,
	ARG_PARTITION_BOUNDS,
	ARG_PARTITION_TABLESPACES,
	ARG_PRIMARY_KEY,
	ARG_IF_NOT_EXISTS,
	ARG_TOTALS,					/* since version 1.2, as the next one */
	ARG_SPARSE
};

void		(*index_table_created) (DefinitionRow *row, IndexDef *def) = NULL;

static bool sparse_arg(FunctionCallInfo fcinfo, DefinitionRow *row);
static List *row_key(FunctionCallInfo fcinfo, Relation fact);
static void fill_and_register(DefinitionRow *row, IndexDef *def, Relation fact, Relation index_table,
							  const char *tablespace);
static void add_primary_key(DefinitionRow *row, IndexDef *def, bool covering, const char *tablespace);
static Oid	make_table(DefinitionRow *row, IndexDef *def, Relation fact, Oid schema, const char *name);

/* After how many rows the progress is shown again. */
#define PROGRESS_ROWS		1000

/*
 * indextable_create
 *		Creates an index table over a fact table, and returns it.
 *
 * create(index_table text, fact_table regclass, key text[], strategy text,
 * include text[], filter text, maintenance text, is_unique boolean,
 * partitions integer, on_mismatch text, document name, populate boolean,
 * partition_by text, partition_bounds text[], partition_tablespaces text[],
 * primary_key name[], if_not_exists boolean, totals text[], sparse boolean)
 */
Datum
indextable_create(PG_FUNCTION_ARGS)
{
	CreateCall	call = {0};
	DefinitionRow *row = &call.row;
	PartitioningRequest *parts = &call.parts;
	char	   *name;
	Relation	fact;
	Relation	index_table;
	Oid			schema;
	FactDef    *factdef;
	IndexDef   *def;
	bool		populate;
	int			nparts = 0;		/* of an index table in parts; 0: as many as
								 * the fact table has */
	Oid			existing = InvalidOid;

	forget_orphaned_rows(InvalidOid);
	read_create_call(fcinfo, &call);
	name = call.name;
	populate = row->state != STATE_BUILDING;
	elsewhere->snapshots->check_unused(row->fact_table, "create()");

	/*
	 * This locks writers out until the transaction ends, as CREATE TRIGGER
	 * does.  An index table that exists is only looked at.  If there is none
	 * yet, another session that creates it holds the same lock until it has
	 * committed, so it is looked for once more.  A bare copy of it is
	 * replaced.
	 */
	if (call.accept_existing)
		existing = find_named_table(name, row->fact_table);
	if (!OidIsValid(existing))
		PreventCommandIfReadOnly("create()");
	if (is_bare_copy(existing, row->fact_table))
		existing = InvalidOid;
	fact = open_fact(row->fact_table, OidIsValid(existing) ? AccessShareLock : ShareRowExclusiveLock,
					 WAITING_CREATE);
	require_owner(RelationGetRelid(fact));
	if (call.accept_existing && !OidIsValid(existing))
		existing = replace_bare_copy(find_named_table(name, row->fact_table), fact);
	def = resolve_create_call(&call, fact);
	factdef = def->fact;
	if (factdef->place->index_tables->create != NULL && parts->by == NULL)
	{
		nparts = parts->partitions;
		parts->partitions = 0;
	}
	if (OidIsValid(existing))
	{
		check_existing(existing, row, def, parts, fact);
		table_close(fact, NoLock);
		PG_RETURN_OID(existing);
	}
	if (factdef->place->index_tables->check != NULL)
		factdef->place->index_tables->check(row, def, fact, populate, parts->by != NULL);

	/*
	 * A change that is not in a feed yet has been committed before the
	 * snapshot with which the index table is filled.
	 */
	if (is_async(row))
		elsewhere->feeds->require(factdef, row->fact_table);
	elsewhere->snapshots->warn(row->fact_table, is_async(row));

	row->primary_key = NIL;
	for (int i = 0; i < factdef->layout.npk; i++)
		row->primary_key = lappend(row->primary_key,
								   get_attname(row->fact_table, factdef->layout.pk_attno[i], false));

	schema = target_schema(name, fact, &name);
	row->partitioning = is_totals(def) ? NULL : partitioning_asked(parts, key_names(def));
	row->index_table = make_table(row, def, fact, schema, name);
	index_table = table_open(row->index_table, AccessExclusiveLock);
	if (!definition_complete(def, fact, index_table))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index table \"%s\" was altered while it was being created", name),
				 errhint("Check the event triggers of the database.")));

	if (factdef->place->index_tables->create != NULL)
	{
		factdef->place->index_tables->create(row, def, fact, index_table, nparts);
		describe_index_table(row->index_table, true);
		PG_RETURN_OID(row->index_table);
	}
	register_index_table(row, def, fact, index_table, NULL);
	if (!is_totals(def) && index_table_created != NULL)
		index_table_created(row, def);
	if (is_async(row))
		notice_nobody_drains(why_nobody_drains());
	missed_forget(row->fact_table);
	PG_RETURN_OID(row->index_table);
}

/*
 * read_create_call
 *		Reads the arguments of create(), and refuses those that do not go together.
 */
void
read_create_call(FunctionCallInfo fcinfo, CreateCall *call)
{
	DefinitionRow *row = &call->row;
	bool		has_totals = PG_NARGS() > ARG_TOTALS && !PG_ARGISNULL(ARG_TOTALS);

	require_arg(fcinfo, ARG_INDEX_TABLE, "index_table");
	require_arg(fcinfo, ARG_FACT_TABLE, "fact_table");
	require_arg(fcinfo, ARG_KEY, "key");
	call->name = text_arg(fcinfo, ARG_INDEX_TABLE, NULL);
	row->fact_table = PG_GETARG_OID(ARG_FACT_TABLE);
	row->key = field_list(fcinfo, ARG_KEY, "key");
	row->include = PG_ARGISNULL(ARG_INCLUDE) ? NIL : field_list(fcinfo, ARG_INCLUDE, "include");
	row->strategy = check_allowed_value("strategy",
										text_arg(fcinfo, ARG_STRATEGY, has_totals ? "totals" :
												 row->include != NIL ? "partial" : "normalized"),
										strategy_names);
	row->maintenance = check_allowed_value("maintenance",
										   text_arg(fcinfo, ARG_MAINTENANCE, "transactional"),
										   maintenance_names);
	row->on_mismatch = check_allowed_value("on_mismatch",
										   text_arg(fcinfo, ARG_ON_MISMATCH, "error"),
										   mismatch_names);
	row->filter = text_arg(fcinfo, ARG_FILTER, NULL);
	row->is_unique = !PG_ARGISNULL(ARG_IS_UNIQUE) && PG_GETARG_BOOL(ARG_IS_UNIQUE);
	partitioning_args(fcinfo, ARG_PARTITIONS, ARG_PARTITION_BY, &call->parts);
	row->state = PG_ARGISNULL(ARG_POPULATE) || PG_GETARG_BOOL(ARG_POPULATE) ? STATE_ACTIVE : STATE_BUILDING;
	call->accept_existing = !PG_ARGISNULL(ARG_IF_NOT_EXISTS) && PG_GETARG_BOOL(ARG_IF_NOT_EXISTS);
	row->sparse = sparse_arg(fcinfo, row);
	if (row->is_unique && is_async(row))
		place_check_unique(row->fact_table);
	if (keeps_totals(row))
		take_totals(row, has_totals ? field_list(fcinfo, ARG_TOTALS, "totals") : NIL,
					call->parts.partitions > 0 || call->parts.by != NULL, &call->summed);
	else if (has_totals)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("totals are allowed only with the strategy \"totals\""),
				 errdetail("The strategy is \"%s\".", strategy_names[row->strategy])));
	check_request(row);
	call->document = PG_ARGISNULL(ARG_DOCUMENT) ? NULL : NameStr(*PG_GETARG_NAME(ARG_DOCUMENT));
	call->fcinfo = fcinfo;
}

/*
 * resolve_create_call
 *		Returns the definition that a call of create() asks for, with one of the fact table, which is open
 *		and the current user's; refuses what cannot be.
 */
IndexDef *
resolve_create_call(CreateCall *call, Relation fact)
{
	DefinitionRow *row = &call->row;
	IndexDef   *def;

	/* A table in parts is checked once the definition is known. */
	place_check_fact(fact, is_async(row) || place_has_parts(row->fact_table));
	row->fact_table = RelationGetRelid(fact);
	row->document = document_column(fact, call->document, row);
	if (row->filter != NULL)
		row->filter = check_filter(fact, row->filter);
	row->key = stored_fields(fact, row->key);
	row->include = stored_fields(fact, row->include);
	row->primary_key = row_key(call->fcinfo, fact);
	def = definition_resolve(row, fact, NULL, 0);
	if (is_totals(def))
		check_totals(def, def->fact, call->summed);
	check_row_key(def->fact, fact);
	if (def->fact->place->index_tables->create != NULL && !row->sparse && !is_totals(def))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("an index table of the distributed table \"%s\" has to be sparse", def->fact->name),
				 errdetail("Where its shards are moved, its columns need a primary key, which has no NULL."),
				 errhint("Leave out sparse, or use sparse => true.")));
	return def;
}

/*
 * register_index_table
 *		Fills an index table that is as its definition says, unless it is to be
 *		built, and has it kept in step from now on; closes both tables.
 *
 * The fact table is locked against writers, and this transaction may not write it until it has the
 * triggers.  The primary key is put into the tablespace; NULL: that of the index table.
 */
void
register_index_table(DefinitionRow *row, IndexDef *def, Relation fact, Relation index_table,
					 const char *tablespace)
{
	WHILE_SET(fact_being_filled, row->fact_table, fill_and_register(row, def, fact, index_table, tablespace));
	if (is_queued(row))
		queues_create(def->fact, false);
	if (is_totals(def))
		queue_wake_at_commit(); /* a worker folds them */
	CacheInvalidateRelcacheByRelid(row->fact_table);
	if (!OidIsValid(row->replaces))
		describe_index_table(row->index_table, true);
}

/* fill_and_register: does the part of it during which the fact table must not be written */
static void
fill_and_register(DefinitionRow *row, IndexDef *def, Relation fact, Relation index_table,
				  const char *tablespace)
{
	bool		populate = row->state != STATE_BUILDING;
	bool		covering;
	int			uncounted;

	completeness_begin(row->index_table);
	covering = (!populate || fill_index_table(def, fact, index_table)) && !is_totals(def) &&
		primary_key_can_cover(def);
	if (tablespace == NULL)
		tablespace = tablespace_of(index_table);
	table_close(index_table, NoLock);
	uncounted = begin_uncounted();
	if (is_totals(def))
		finish_totals(def, tablespace);
	else
		add_primary_key(row, def, covering, tablespace);
	end_uncounted(uncounted);
	if (is_queued(row))
		row_index_make(def);

	/*
	 * This comes before the definition is registered: an index table that is
	 * registered when a lost queue is found becomes invalid, and this one
	 * lacks nothing of what was lost.
	 */
	if (is_queued(row))
		queues_restore(row->fact_table);

	/*
	 * The index table is dropped together with its fact table, as an index
	 * would be.  That dependency is on the table, and not on its columns,
	 * which would make ALTER TABLE fail with an obscure message.  It comes
	 * first: without it the definition is not believed, see validity.c.
	 */
	record_table_dependency(def->relid, row->fact_table);
	record_code_dependencies(def->relid, definition_expressions(def));
	catalog_insert(row, fact);
	if (!OidIsValid(row->replaces))
		usage_from_now(row->index_table);
	table_close(fact, NoLock);

	/*
	 * From now on the triggers that the fact table may have know the index
	 * table.
	 */
	CacheInvalidateRelcacheByRelid(row->fact_table);
	CommandCounterIncrement();
	if (triggers_intact(row->fact_table))
		fact_being_filled = InvalidOid;
	triggers_install_guard(row->index_table);
	triggers_install(row->fact_table);
}

/*
 * add_primary_key
 *		Makes the primary key of an index table.  Where keys keep the replacement of one from being unique, the
 *		error speaks of that one, which users know, as rethrow_duplicate() does.
 */
static void
add_primary_key(DefinitionRow *row, IndexDef *def, bool covering, const char *tablespace)
{
	MemoryContext cxt = CurrentMemoryContext;
	char	   *made = get_rel_name(row->index_table);
	char	   *name = OidIsValid(row->replaces) ? get_rel_name(row->replaces) : NULL;
	char	   *schema = get_namespace_name(get_rel_namespace(row->fact_table));

	PG_TRY();
	{
		primary_key_add(def, covering, tablespace, NULL);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(cxt);
		error = CopyErrorData();
		if (name == NULL || error->sqlerrcode != ERRCODE_UNIQUE_VIOLATION || error->constraint_name == NULL ||
			strncmp(error->constraint_name, made, strlen(made)) != 0)
			PG_RE_THROW();
		FlushErrorState();
		error->message = psprintf("index table \"%s\" cannot be unique", name);
		error->schema_name = schema;
		error->table_name = pstrdup(def->fact->name);
		error->constraint_name = name;
		ReThrowError(error);
	}
	PG_END_TRY();
}

/*
 * sparse_arg
 *		Returns whether the index table is to be sparse: what is asked for, or else whether it has to be,
 *		as it is unique, its fact table is in a place whose index tables need a primary key, or version 1.1
 *		makes it.
 */
static bool
sparse_arg(FunctionCallInfo fcinfo, DefinitionRow *row)
{
	if (PG_NARGS() > ARG_SPARSE && !PG_ARGISNULL(ARG_SPARSE))
		return PG_GETARG_BOOL(ARG_SPARSE);
	if (keeps_totals(row))
		return false;
	return row->is_unique || PG_NARGS() <= ARG_SPARSE ||
		place_of(PG_GETARG_OID(ARG_FACT_TABLE))->index_tables->create != NULL;
}

/*
 * row_key
 *		Returns the columns that identify a row, where the fact table has no
 *		primary key; NIL: it has one.
 */
static List *
row_key(FunctionCallInfo fcinfo, Relation fact)
{
	Relation	index = open_primary_key(fact);
	List	   *known = stored_key(RelationGetRelid(fact));
	List	   *named = NIL;

	if (!PG_ARGISNULL(ARG_PRIMARY_KEY))
	{
		if (array_contains_nulls(PG_GETARG_ARRAYTYPE_P(ARG_PRIMARY_KEY)))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("primary_key must not contain nulls")));
		named = array_strings(PG_GETARG_DATUM(ARG_PRIMARY_KEY), NAMEOID);
	}
	if (index != NULL)
		index_close(index, NoLock);
	if (named != NIL && (index != NULL || fact->rd_rel->relkind != RELKIND_PARTITIONED_TABLE))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("primary_key is allowed only for partitioned tables that cannot have a primary key"),
				 errhint("Leave out primary_key, and add a primary key to the table if it has none.")));
	if (named != NIL && known != NIL && !same_strings(named, known))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("primary_key differs from that of other index tables of table \"%s\"", RelationGetRelationName(fact)),
				 errhint("Leave out primary_key.")));
	return index != NULL ? NIL : named != NIL ? named : known;
}

/*
 * target_schema
 *		Returns the schema that the index table is to be in; *name becomes its
 *		name without the schema.
 */
Oid
target_schema(const char *index_table, Relation fact, char **name)
{
	RangeVar   *var = makeRangeVarFromNameList(qualified_name(index_table));
	List	   *uncut;
	Oid			schema;
	Oid			existing;

	/* SplitGUCList() finds the same parts, and truncates none of them. */
	if (SplitGUCList(pstrdup(index_table), '.', &uncut))
		foreach_ptr(char, part, uncut)
			check_name_length(part, "Choose a shorter name.");
	if (var->catalogname != NULL && strcmp(var->catalogname, get_database_name(MyDatabaseId)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cross-database references are not implemented: \"%s\"", index_table)));
	schema = var->schemaname == NULL ? RelationGetNamespace(fact) :
		LookupExplicitNamespace(var->schemaname, false);
	if (isAnyTempNamespace(schema) || IsCatalogNamespace(schema) || IsToastNamespace(schema) ||
		is_own_schema(schema))
		ereport(ERROR,
				(errcode(ERRCODE_RESERVED_NAME),
				 errmsg("index table \"%s\" cannot be in schema \"%s\"", var->relname,
						isAnyTempNamespace(schema) ? "pg_temp" : get_namespace_name(schema)),
				 errhint("Put it into a schema of your own.")));
	if (may_create_in(schema) != ACLCHECK_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for schema %s", get_namespace_name(schema)),
				 errdetail("Index table \"%s\" is to be created there as a table.", var->relname),
				 errhint("Name another schema before that of the index table, or have somebody who may run GRANT CREATE ON SCHEMA %s TO %s;",
						 quote_identifier(get_namespace_name(schema)),
						 quote_identifier(GetUserNameFromId(GetUserId(), false)))));
	*name = var->relname;
	existing = get_relname_relid(var->relname, schema);
	if (OidIsValid(existing))
		refuse_existing(existing);
	return schema;
}

/*
 * make_table
 *		Creates the table as the caller, who must be allowed to, and makes the
 *		fact table's owner its owner.
 */
static Oid
make_table(DefinitionRow *row, IndexDef *def, Relation fact, Oid schema, const char *name)
{
	return create_bare_index_table(InvalidOid, schema, name, layout_columns(def, fact), row->partitioning, NULL,
								   fact->rd_rel->relowner);
}

/*
 * fill_index_table
 *		Writes all entries, or totals, while writers are locked out; returns what fill_from_snapshot() does, false
 *		for totals.
 *
 * Rows are read with the latest snapshot: that is what the table holds, even where the
 * transaction's own snapshot is older.
 */
bool
fill_index_table(IndexDef *def, Relation fact, Relation index_table)
{
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	int64		rows;
	bool		fits = false;

	if (is_totals(def))
		deltas_write_rows(&def, 1, fact, snapshot, true);
	else
	{
		progress_begin(fact, def->relid, PROGRESS_CREATEIDX_COMMAND_CREATE);
		fits = fill_from_snapshot(def, fact, index_table, snapshot, &rows);
		pgstat_progress_end_command();
	}
	UnregisterSnapshot(snapshot);
	return fits;
}

/*
 * fill_from_snapshot
 *		Writes the entries of all rows that a snapshot sees, and sets *nrows to the number of
 *		these; returns whether each entry would fit as a whole into an index, with room to grow:
 *		see uncovered_key.c.
 *
 * The entries are sorted once, then written, so that they can be indexed in the same order.
 */
bool
fill_from_snapshot(IndexDef *def, Relation fact, Relation index_table, Snapshot snapshot, int64 *nrows)
{
	BlockScan	scan;
	TupleTableSlot *row_slot;
	TupleTableSlot *entry_slot = MakeSingleTupleTableSlot(def->layout.desc, &TTSOpsVirtual);
	Tuplesortstate *sort;
	Size		widest = 0;
	int64		skipped = 0;
	uint64		lacking = 0;
	int64		rows = 0;

	sort = bulk_load_begin_sort(def);
	block_scan_begin(&scan, def->fact, fact, snapshot, NULL);
	while ((row_slot = block_scan_next(&scan)) != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(scan.row_cxt);
		FactRow		row;
		Entries		entries;

		if (scan.foreign != NULL)
			elsewhere->rows->require_in_bounds(def->fact, fact, RelationGetRelid(scan.rel), row_slot, true);
		if (++rows % PROGRESS_ROWS == 0)
			pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, rows);
		factrow_init(&row, def->fact, row_slot);
		entries_init(&entries, def);
		skipped += extract_entries(def, &row, true, &entries);
		lacking |= entries.lacking;
		for (int i = 0; i < entries.n; i++)
		{
			if (def->spec.nincludes > 0 || def->layout.elements_attno != 0)
				widest = Max(widest, heap_compute_data_size(def->layout.desc, ENTRY_VALUES(&entries, i),
															ENTRY_NULLS(&entries, i)));
			store_entry(entry_slot, ENTRY_VALUES(&entries, i), ENTRY_NULLS(&entries, i));
			tuplesort_puttupleslot(sort, entry_slot);
		}
		MemoryContextSwitchTo(old);
	}
	block_scan_end(&scan);
	ExecDropSingleTupleTableSlot(entry_slot);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, rows);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE);

	tuplesort_performsort(sort);
	bulk_load_write(def, index_table, sort);
	tuplesort_end(sort);
	if (skipped > 0)
		catalog_count_skipped(def->relid, skipped);
	record_lacking(def, lacking);
	*nrows = rows;
	return widest <= def->layout.max_covered_bytes;
}
