/*-------------------------------------------------------------------------
 *
 * create.c
 *	  indextable.create(): checks what the user asks for, makes the index table,
 *	  fills it and registers it.
 *
 * Called by users.  Everything happens in the caller's transaction: an error
 * leaves nothing behind.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "commands/dbcommands.h"
#include "indextable.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

PG_FUNCTION_INFO_V1(indextable_create);

/* Arguments, in order. */
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
	ARG_PRIMARY_KEY
};

/* Of an array of fields or bounds: more than an index table can have. */
#define MAX_ELEMENTS		10000

const char *const strategies[] = {"normalized", "partial", "denormalized", NULL};
const char *const maintenances[] = {"transactional", "async", NULL};

static List *row_key(FunctionCallInfo fcinfo, Relation fact);
static Oid	target_schema(const char *index_table, Relation fact, char **name);
static Oid	make_table(DefinitionRow *row, IndexDef *def, Relation fact, Oid schema, const char *name);
static void record_dependencies(IndexDef *def, Oid fact);
static List *key_names(IndexDef *def);

Datum
indextable_create(PG_FUNCTION_ARGS)
{
	static const char *const mismatches[] = {"error", "skip", NULL};
	DefinitionRow row = {0};
	PartitioningRequest parts = {0};
	char	   *name = text_arg(fcinfo, ARG_INDEX_TABLE, NULL);
	Relation	fact;
	Relation	index_table;
	Oid			schema;
	FactDef    *factdef;
	IndexDef   *def;
	bool		populate;

	if (name == NULL || PG_ARGISNULL(ARG_FACT_TABLE) || PG_ARGISNULL(ARG_KEY))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("index_table, fact_table and key must not be null")));

	forget_dangling(InvalidOid);
	row.key = field_list(fcinfo, ARG_KEY, "key");
	row.include = PG_ARGISNULL(ARG_INCLUDE) ? NIL : field_list(fcinfo, ARG_INCLUDE, "include");
	row.strategy = (char *) one_of("strategy",
								   text_arg(fcinfo, ARG_STRATEGY,
											row.include != NIL ? "partial" : "normalized"),
								   strategies);
	row.maintenance = (char *) one_of("maintenance",
									  text_arg(fcinfo, ARG_MAINTENANCE, "transactional"),
									  maintenances);
	row.on_mismatch = (char *) one_of("on_mismatch",
									  text_arg(fcinfo, ARG_ON_MISMATCH, "error"),
									  mismatches);
	row.filter = text_arg(fcinfo, ARG_FILTER, NULL);
	row.is_unique = !PG_ARGISNULL(ARG_IS_UNIQUE) && PG_GETARG_BOOL(ARG_IS_UNIQUE);
	partitioning_args(fcinfo, ARG_PARTITIONS, ARG_PARTITION_BY, &parts);
	populate = PG_ARGISNULL(ARG_POPULATE) || PG_GETARG_BOOL(ARG_POPULATE);
	row.state = populate ? "active" : "building";

	check_definition(&row);
	require_fresh(PG_GETARG_OID(ARG_FACT_TABLE), "create()");

	/* Keeps writers out until the transaction ends, as CREATE TRIGGER does. */
	fact = open_fact(PG_GETARG_OID(ARG_FACT_TABLE), ShareRowExclusiveLock);
	row.fact_table = RelationGetRelid(fact);
	row.document = document_column(fact, PG_ARGISNULL(ARG_DOCUMENT) ? NULL :
								   NameStr(*PG_GETARG_NAME(ARG_DOCUMENT)));
	if (row.filter != NULL)
		row.filter = expression_check_filter(fact, row.filter);
	row.primary_key = row_key(fcinfo, fact);
	def = definition_resolve(&row, fact, NULL, 0, &factdef);
	check_row_key(factdef, fact);
	if (populate)
		warn_foreign(row.fact_table);

	row.primary_key = NIL;
	for (int i = 0; i < factdef->npk; i++)
		row.primary_key = lappend(row.primary_key,
								  get_attname(row.fact_table, factdef->pk_attno[i], false));

	schema = target_schema(name, fact, &name);
	row.partitioning = partitioning_asked(&parts, key_names(def));
	row.index_table = make_table(&row, def, fact, schema, name);
	index_table = table_open(row.index_table, AccessExclusiveLock);
	if (!definition_attach(def, fact, index_table))
		elog(ERROR, "index table \"%s\" is not as it was created", name);

	register_index_table(&row, def, fact, index_table, NULL);
	advise_on_new(&row, def);
	PG_RETURN_OID(row.index_table);
}

/*
 * check_definition
 *		Refuses what does not go together.
 */
void
check_definition(DefinitionRow *row)
{
	if (row->key == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("key must have at least one field"),
				 errhint("For example: key => '{address.city}'.")));
	if (strcmp(row->strategy, "partial") == 0 && row->include == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("strategy \"partial\" needs included fields"),
				 errhint("Name them with include, or use the strategy \"normalized\".")));
	if (strcmp(row->strategy, "partial") != 0 && row->include != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("included fields are for the strategy \"partial\" only"),
				 errdetail("The strategy is \"%s\".", row->strategy),
				 errhint("Leave out include, or use the strategy \"partial\".")));
	if (row->is_unique && strcmp(row->maintenance, "async") == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("an asynchronous index table cannot be unique"),
				 errdetail("Uniqueness can only be enforced in the writer's transaction."),
				 errhint("Use maintenance => 'transactional'.")));
}

/*
 * register_index_table
 *		Fills an index table that is as its definition says, unless it is to be
 *		built, and has it kept in step from now on; closes both tables.  The fact
 *		table is locked against writers.  The primary key goes to a tablespace, NULL:
 *		that of the index table.
 */
void
register_index_table(DefinitionRow *row, IndexDef *def, Relation fact, Relation index_table,
					 const char *tablespace)
{
	bool		populate = strcmp(row->state, "building") != 0;
	bool		covering = (!populate || build_index_table(def, fact, index_table)) && layout_can_cover(def);
	int			uncounted;

	if (tablespace == NULL)
		tablespace = tablespace_of(index_table);
	table_close(index_table, NoLock);
	uncounted = begin_uncounted();
	layout_add_primary_key(def, covering, tablespace, NULL);
	end_uncounted(uncounted);
	if (is_queued(row))
		layout_make_row_index(row->index_table, layout_row_index(def));

	/* Not as one of those that lack what was lost. */
	if (is_queued(row))
		queues_restore(row->fact_table);
	/* First, as the definition is not believed without; see believe.c. */
	record_dependencies(def, row->fact_table);
	catalog_insert(row, fact);
	if (!OidIsValid(row->replaces))
		usage_from_now(row->index_table);
	table_close(fact, NoLock);
	triggers_guard(row->index_table);
	triggers_install(row->fact_table);
	if (is_queued(row))
		queues_create(def->fact);
	CacheInvalidateRelcacheByRelid(row->fact_table);
}

/* key_names: the names of its key fields */
static List *
key_names(IndexDef *def)
{
	List	   *names = NIL;
	int			i;

	for (i = 0; i < def->nkeys; i++)
		names = lappend(names, def->fields[i].spec->name);
	return names;
}

/* partitioning_args: those of create() and alter(), of which the last three are together */
void
partitioning_args(FunctionCallInfo fcinfo, int partitions, int by, PartitioningRequest *request)
{
	request->partitions = PG_ARGISNULL(partitions) ? 0 : PG_GETARG_INT32(partitions);
	request->by = text_arg(fcinfo, by, NULL);
	request->bounds = PG_ARGISNULL(by + 1) ? NIL : field_list(fcinfo, by + 1, "partition_bounds");
	request->tablespaces = PG_ARGISNULL(by + 2) ? NIL : field_list(fcinfo, by + 2, "partition_tablespaces");
}

char *
text_arg(FunctionCallInfo fcinfo, int arg, const char *missing)
{
	if (PG_ARGISNULL(arg))
		return missing ? pstrdup(missing) : NULL;
	return text_to_cstring(PG_GETARG_TEXT_PP(arg));
}

List *
field_list(FunctionCallInfo fcinfo, int arg, const char *name)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(arg);
	Datum	   *elems;
	bool	   *nulls;
	int			n;
	int			i;
	List	   *result = NIL;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("%s must be a one-dimensional array of fields", name)));
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &elems, &nulls, &n);
	if (n > MAX_ELEMENTS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%s must not have more than %d elements", name, MAX_ELEMENTS)));
	for (i = 0; i < n; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s must not contain nulls", name)));
		result = lappend(result, TextDatumGetCString(elems[i]));
	}
	return result;
}

const char *
one_of(const char *what, const char *value, const char *const *allowed)
{
	StringInfoData list;
	int			i;

	for (i = 0; allowed[i] != NULL; i++)
		if (strcmp(value, allowed[i]) == 0)
			return allowed[i];
	initStringInfo(&list);
	for (i = 0; allowed[i] != NULL; i++)
		appendStringInfo(&list, "%s\"%s\"", i == 0 ? "" : allowed[i + 1] ? ", " : " or ", allowed[i]);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized %s \"%s\"", what, value),
			 errhint("It can be %s.", list.data)));
}

/*
 * open_fact
 *		Opens and locks a table that can be a fact table, or says why not.  The caller
 *		has to own it or, with a lock that only reads, may read it.
 */
Relation
open_fact(Oid relid, LOCKMODE lock)
{
	Relation	rel;
	const char *what = NULL;
	const char *why = NULL;

	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	if (lock == AccessShareLock ? pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) != ACLCHECK_OK :
		!owns_relation(relid, GetUserId()))
		aclcheck_error(lock == AccessShareLock ? ACLCHECK_NO_PRIV : ACLCHECK_NOT_OWNER,
					   get_relkind_objtype(get_rel_relkind(relid)), get_rel_name(relid));
	rel = relation_open(relid, lock);

	switch (rel->rd_rel->relkind)
	{
		case RELKIND_RELATION:
			break;
		case RELKIND_PARTITIONED_TABLE:
			lock_tree(relid, lock);
			if (lock >= ShareRowExclusiveLock)
				note_writers_out(relid);
			break;
		case RELKIND_FOREIGN_TABLE:
			what = "foreign tables cannot be fact tables";
			why = "What is written on the other server would not be seen here.";
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("\"%s\" is not a table", RelationGetRelationName(rel)),
					 errhint("A fact table is an ordinary or a partitioned table with a primary key and a JSONB column.")));
	}
	if (IsCatalogRelation(rel) || IsToastRelation(rel) ||
		is_own_schema(RelationGetNamespace(rel)))
		what = "system tables cannot be fact tables";
	else if (OidIsValid(catalog_fact_of(relid)))
	{
		what = "an index table cannot have index tables";
		why = "Make one over the same fact table.";
	}
	else if (rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
	{
		what = "temporary tables cannot be fact tables";
		why = "A temporary table is seen by one session only and lives no longer; a plain index serves it better.";
	}
	else if (rel->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED)
	{
		what = "unlogged tables cannot be fact tables";
		why = "After a crash, an unlogged table is empty and its index tables would not be.";
	}
	else if (rel->rd_rel->relispartition)
		what = "a partition cannot be a fact table of its own";
	else if (rel->rd_rel->relkind == RELKIND_RELATION &&
			 (find_inheritance_children(relid, NoLock) != NIL || has_superclass(relid)))
	{
		what = "tables with inheritance cannot be fact tables";
		why = "Triggers of a table do not fire for the rows of its children.";
	}
	else if (rel->rd_rel->relkind == RELKIND_RELATION && rel->rd_rel->relam != HEAP_TABLE_AM_OID)
		what = "only tables with the access method \"heap\" can be fact tables";
	else if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		check_partitions(rel);
	if (what != NULL)
		ereport(ERROR,
				(errcode(rel->rd_rel->relkind == RELKIND_RELATION &&
						 OidIsValid(catalog_fact_of(relid)) ?
						 ERRCODE_WRONG_OBJECT_TYPE : ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s", what),
				 why != NULL ? errdetail("Table \"%s\": %s", RelationGetRelationName(rel), why) :
				 errdetail("Table \"%s\" is one.", RelationGetRelationName(rel)),
				 errhint("A fact table is an ordinary or a partitioned table with a primary key and a JSONB column.")));
	return rel;
}

/* check_partitions: each has to store its rows in a way we know, and to be nobody else's fact table */
void
check_partitions(Relation root)
{
	List	   *partitions = with_partitions(RelationGetRelid(root));
	ListCell   *cell;

	wait_point("partitions are listed");
	/* By the catalog: ATTACH PARTITION locks no other partition, and one may just be going. */
	foreach(cell, partitions)
	{
		Oid			relid = lfirst_oid(cell);
		HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
		Form_pg_class form;
		const char *why = NULL;

		if (!HeapTupleIsValid(tuple))
			continue;
		form = (Form_pg_class) GETSTRUCT(tuple);
		if (form->relkind == RELKIND_RELATION && form->relam != HEAP_TABLE_AM_OID)
			why = "Its access method is not \"heap\".";
		else if (form->relpersistence != root->rd_rel->relpersistence)
			why = "It is logged and the partitioned table is not, or the other way round.";
		else if (relid != RelationGetRelid(root) && catalog_fact_in_use(relid))
			why = "It has index tables of its own.";
		if (why != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("table \"%s\" cannot be a partition of a table with index tables",
							NameStr(form->relname)),
					 errdetail("%s", why)));
		ReleaseSysCache(tuple);
	}
	foreach(cell, catalog_read(RelationGetRelid(root), InvalidOid))
		if (is_queued(&((StoredDefinition *) lfirst(cell))->row))
			refuse_queue_over_foreign(RelationGetRelid(root));
}

/*
 * refuse_queue_over_foreign
 *		The drain needs to see rows as of the moment it has read the queue.  What
 *		another server shows is older, if the transaction has read it before.
 */
void
refuse_queue_over_foreign(Oid fact)
{
	if (foreign_leaves(fact) != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" has foreign partitions, whose changes cannot be queued", get_rel_name(fact)),
				 errdetail("Asynchronous index tables, and those that are built or rebuilt online, queue changes."),
				 errhint("Use maintenance => 'transactional' and populate => true.")));
}

/* row_key: what identifies a row, where the table has no primary key; NIL: it has */
static List *
row_key(FunctionCallInfo fcinfo, Relation fact)
{
	Relation	index = primary_key_of(fact, AccessShareLock);
	List	   *known = stored_key(RelationGetRelid(fact));
	List	   *named = NIL;
	Datum	   *elems;
	bool	   *nulls;
	int			n = 0;
	int			i;

	if (!PG_ARGISNULL(ARG_PRIMARY_KEY))
		deconstruct_array(PG_GETARG_ARRAYTYPE_P(ARG_PRIMARY_KEY), NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR,
						  &elems, &nulls, &n);
	for (i = 0; i < n; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("primary_key must not contain nulls")));
		named = lappend(named, pstrdup(NameStr(*DatumGetName(elems[i]))));
	}
	if (index != NULL)
		index_close(index, NoLock);
	if (named != NIL && (index != NULL || fact->rd_rel->relkind != RELKIND_PARTITIONED_TABLE))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("primary_key is for partitioned tables that cannot have a primary key"),
				 errhint("Leave it out, and add a primary key to the table if it has none.")));
	if (named != NIL && known != NIL && !same_strings(named, known))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("index tables of table \"%s\" go by another primary_key", RelationGetRelationName(fact)),
				 errhint("Leave it out.")));
	return index != NULL ? NIL : named != NIL ? named : known;
}

/* document_column: the JSONB column asked for, or (NULL) the only one */
char *
document_column(Relation fact, const char *wanted)
{
	TupleDesc	desc = RelationGetDescr(fact);
	char	   *found = NULL;
	int			i;

	for (i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped)
			continue;
		if (wanted != NULL && strcmp(wanted, NameStr(att->attname)) != 0)
			continue;
		if (wanted != NULL && !is_document_column(att))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("column \"%s\" of table \"%s\" is not a stored JSONB column",
							wanted, RelationGetRelationName(fact)),
					 errdetail("Its type is %s.", format_type_be(att->atttypid)),
					 errhint("Documents must be of type jsonb.")));
		if (!is_document_column(att))
			continue;
		if (found != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_AMBIGUOUS_COLUMN),
					 errmsg("table \"%s\" has several JSONB columns",
							RelationGetRelationName(fact)),
					 errdetail("Among them are \"%s\" and \"%s\".", found, NameStr(att->attname)),
					 errhint("Say which one holds the documents with the parameter document.")));
		found = pstrdup(NameStr(att->attname));
	}
	if (found != NULL)
		return found;
	if (wanted != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of table \"%s\" does not exist",
						wanted, RelationGetRelationName(fact))));
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("table \"%s\" has no JSONB column", RelationGetRelationName(fact)),
			 errhint("A fact table keeps its documents in a column of type jsonb.")));
}

/* target_schema: where the index table goes, and its name without the schema */
static Oid
target_schema(const char *index_table, Relation fact, char **name)
{
	List	   *names = textToQualifiedNameList(cstring_to_text(index_table));
	RangeVar   *var = makeRangeVarFromNameList(names);
	List	   *uncut;
	ListCell   *cell;
	Oid			schema;
	Oid			existing;

	/* It has the same parts, and cuts none. */
	if (SplitGUCList(pstrdup(index_table), '.', &uncut))
		foreach(cell, uncut)
			check_name_length(lnext(uncut, cell) != NULL ? "schema" : "index table", lfirst(cell),
							  "Choose a shorter name.");
	if (var->catalogname != NULL && strcmp(var->catalogname, get_database_name(MyDatabaseId)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index table \"%s\" would be in another database", index_table)));
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
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_SCHEMA, get_namespace_name(schema));
	*name = var->relname;
	existing = get_relname_relid(var->relname, schema);
	if (OidIsValid(existing))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_TABLE),
				 errmsg("relation \"%s\" already exists", var->relname),
				 OidIsValid(catalog_fact_of(existing)) ?
				 errdetail("It is an index table of %s.",
						   quoted_relation(catalog_fact_of(existing))) : 0,
				 errhint("Choose another name.")));
	return schema;
}

/* make_table: creates the table as the caller, who must be allowed to, and hands it over */
static Oid
make_table(DefinitionRow *row, IndexDef *def, Relation fact, Oid schema, const char *name)
{
	return create_index_table(InvalidOid, schema, name, layout_columns(def, fact), row->partitioning,
							  NULL, fact->rd_rel->relowner);
}

/*
 * create_index_table
 *		An empty table with nothing but columns, created by one role (InvalidOid:
 *		the caller) for another; with its partitions.
 */
Oid
create_index_table(Oid creator, Oid schema, const char *name, const char *columns,
				   Partitioning *partitioning, const char *tablespace, Oid owner)
{
	char	   *quoted = quote_qualified_identifier(get_namespace_name(schema), name);
	Oid			relid;

	if (partitioning != NULL)
		run_sql(creator, "CREATE TABLE %s (%s) PARTITION BY %s%s", quoted, columns, partitioning->clause,
				tablespace ? in_tablespace("TABLESPACE", tablespace) : "");
	else
		run_sql(creator, "CREATE TABLE %s (%s) USING heap WITH (" STORAGE_PARAMETERS ")%s%s",
				quoted, columns, tablespace ? " TABLESPACE " : "", tablespace ? quote_identifier(tablespace) : "");
	relid = get_relname_relid(name, schema);
	if (!OidIsValid(relid))
		elog(ERROR, "could not find table %s", quoted);
	if (owner != (OidIsValid(creator) ? creator : GetUserId()))
		run_sql(catalog_owner(), "ALTER TABLE %s OWNER TO %s", quoted,
				quote_identifier(GetUserNameFromId(owner, false)));
	revoke_all(relid, owner);
	if (partitioning != NULL)
		make_partitions(creator, relid, partitioning, columns, NIL, owner);
	return relid;
}

/*
 * record_dependencies
 *		The index table goes with its fact table, as an index would.  On the
 *		table, not on columns: those would make ALTER TABLE fail obscurely.
 */
static void
record_dependencies(IndexDef *def, Oid fact)
{
	depend_on_table(def->relid, fact);
	depend_on_filter(def->relid, def->filter);
}

/* depend_on_filter: an index table needs what its filter, if any, calls */
void
depend_on_filter(Oid index_table, RowExpression *filter)
{
	ObjectAddress object;

	ObjectAddressSet(object, RelationRelationId, index_table);
	if (filter != NULL)
		recordDependencyOnExpr(&object, (Node *) expression_depends(filter), NIL,
							   DEPENDENCY_NORMAL);
}
