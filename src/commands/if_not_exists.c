/*-------------------------------------------------------------------------
 *
 * if_not_exists.c
 *	  create(if_not_exists => true): compares the index table that exists with what is asked for.
 *
 * Two texts of a field are the same if they ask for the same column, and two of a filter if
 * they say the same now.  Of partitioning by range or list only the kind and the column count,
 * because such partitions come and go.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/varlena.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../expression/expression.h"
#include "../util/arguments.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "commands.h"

/* What differs: the names of parameters, and, as far as alter() can change them, its arguments. */
typedef struct Differences
{
	StringInfoData names;
	StringInfoData arguments;
	bool		alterable;		/* all of them */
} Differences;

static void compare(DefinitionRow *row, IndexDef *asked, PartitioningRequest *parts, DefinitionRow *stored,
					IndexDef *def, Relation rel, Relation fact, Differences *found);
static void differs(Differences *found, const char *name, const char *argument);
static void compare_partitioning(Partitioning *asked, Partitioning *now, Differences *found);
static bool same_fields(IndexDef *a, IndexDef *b, int an, int bn, int first_a, int first_b);
static bool same_field(Field *a, Field *b, const char *b_name);

/*
 * find_named_table
 *		Returns the relation that has the name of an index table that is to be made over a fact
 *		table, or InvalidOid.
 */
Oid
find_named_table(const char *name, Oid fact_table)
{
	RangeVar   *var = makeRangeVarFromNameList(qualified_name(name));
	Oid			schema = var->schemaname == NULL ? get_rel_namespace(fact_table) :
		LookupExplicitNamespace(var->schemaname, true);

	return OidIsValid(schema) ? get_relname_relid(var->relname, schema) : InvalidOid;
}

/*
 * is_bare_copy
 *		Returns whether a table is what schema tools make of an index table over a fact table: its
 *		columns, and the comment that says what it was, but not the guard that a dump has.
 */
bool
is_bare_copy(Oid table, Oid fact_table)
{
	char		relkind = OidIsValid(table) ? get_rel_relkind(table) : '\0';

	return (relkind == RELKIND_RELATION || relkind == RELKIND_PARTITIONED_TABLE) &&
		!get_rel_relispartition(table) && !OidIsValid(catalog_fact_of(table)) && !is_undefined(table) &&
		has_written_comment(table, fact_table) && table_owner(table) == table_owner(fact_table);
}

/*
 * replace_bare_copy
 *		Drops a table that is a bare copy of an index table and has no rows, so that the index table
 *		can be made.  Returns InvalidOid, or the table if it is another one.
 */
Oid
replace_bare_copy(Oid existing, Relation fact)
{
	ObjectAddress copy;

	/* The owner of the fact table owns the copy, too. */
	if (!is_bare_copy(existing, RelationGetRelid(fact)) || !lock_if_exists(existing, AccessExclusiveLock) ||
		!is_bare_copy(existing, RelationGetRelid(fact)))
		return existing;
	if (query_as(table_owner(existing), "SELECT FROM %s LIMIT 1", held_name(existing)).n > 0)
		return existing;
	ereport(NOTICE,
			(errmsg("table \"%s\" becomes an index table again", get_rel_name(existing)),
			 errdetail("It had no rows, and only the columns and the comment of one.")));

	/*
	 * By its OID: policies that the query has called may have given its name
	 * to another table.
	 */
	ObjectAddressSet(copy, RelationRelationId, existing);
	performDeletion(&copy, DROP_RESTRICT, 0);
	CommandCounterIncrement();
	return InvalidOid;
}

/*
 * refuse_existing
 *		Raises the error for a name that another relation has; if that was an index table and was
 *		restored without its definition, it says how it is made again.
 */
void
refuse_existing(Oid existing)
{
	Oid			of = catalog_fact_of(existing);

	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_TABLE),
			 errmsg("relation \"%s\" already exists", get_rel_name(existing)),
			 OidIsValid(of) ? errdetail("It is an index table of %s.", quoted_relation(of)) :
			 is_undefined(existing) ? errdetail("It was an index table, and was restored without its definition.") : 0,
			 is_undefined(existing) ? errhint("Run: %s", told_remaking(list_make1_oid(existing))) :
			 errhint("Choose another name.")));
}

/*
 * check_existing
 *		Says that a table of the name exists, if it is the index table that is asked for; else
 *		raises an error that says what differs, and how to change it.
 */
void
check_existing(Oid existing, DefinitionRow *row, IndexDef *asked, PartitioningRequest *parts, Relation fact)
{
	char	   *name = get_rel_name(existing);
	Oid			of = catalog_fact_of(existing);
	Differences found = {.alterable = true};
	Relation	rel = NULL;
	IndexDef   *def;

	if (name != NULL && is_undefined(existing))
		refuse_existing(existing);
	if (name == NULL || of != RelationGetRelid(fact))
		ereport(ERROR,
				(errcode(name == NULL ? ERRCODE_UNDEFINED_TABLE : ERRCODE_DUPLICATE_TABLE),
				 name == NULL ? errmsg("the index table was dropped concurrently") :
				 errmsg("relation \"%s\" already exists, and is not an index table of table \"%s\"", name,
						RelationGetRelationName(fact)),
				 OidIsValid(of) ? errdetail("It is an index table of %s.", quoted_relation(of)) :
				 name != NULL && is_bare_copy(existing, RelationGetRelid(fact)) ?
				 errdetail("Its comment says that it was one, but it has rows.") : 0,
				 name != NULL ? errhint("Choose another name.") : 0));
	initStringInfo(&found.names);
	initStringInfo(&found.arguments);
	rel = lock_and_open(existing, AccessShareLock);
	def = definition_of_index_table(existing);
	if (def == NULL)
		report_not_index_table(existing);
	definition_hold(def->fact, CurrentMemoryContext);
	compare(row, asked, parts, required_definition(existing),
			def, rel, fact, &found);
	relation_close(rel, NoLock);
	if (found.names.len == 0)
	{
		ereport(NOTICE,
				(errcode(ERRCODE_DUPLICATE_TABLE),
				 errmsg("index table \"%s\" already exists, skipping", name)));
		return;
	}
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_TABLE),
			 errmsg("index table \"%s\" already exists with another definition", name),
			 errdetail("It differs in: %s. The one that exists is made by: %s", found.names.data, definition_statement(existing)),
			 found.alterable ? errhint("To change it, run %s", told_select("alter", existing, found.arguments.data)) :
			 errhint("To make it anew, run %s first.", told_select("drop", existing, ""))));
}

/* compare: collects in what an index table differs from the one that is asked for */
static void
compare(DefinitionRow *row, IndexDef *asked, PartitioningRequest *parts, DefinitionRow *stored, IndexDef *def,
		Relation rel, Relation fact, Differences *found)
{
	if (!same_fields(asked, def, asked->spec.nkeys, def->spec.nkeys, 0, 0))
		differs(found, "key", NULL);
	if (row->strategy != stored->strategy)
		differs(found, "strategy", psprintf("strategy => '%s'", strategy_names[row->strategy]));
	if (!same_fields(asked, def, asked->spec.nincludes, def->spec.nincludes, asked->spec.nkeys, def->spec.nkeys))
		differs(found, "include",
				psprintf("include => %s", row->include == NIL ? "'{}'" : array_literal(row->include)));

	/*
	 * The filter that is asked for was written as this, with the casts that
	 * the types of its columns ask for now.
	 */
	if (!same_or_null(row->filter, def->spec.filter != NULL ? expression_text(fact, def->spec.filter) : NULL))
		differs(found, "filter", psprintf("filter => %s", sql_literal(row->filter == NULL ? "" : row->filter)));
	if (row->maintenance != stored->maintenance)
		differs(found, "maintenance", psprintf("maintenance => '%s'", maintenance_names[row->maintenance]));
	if (row->is_unique != stored->is_unique)
		differs(found, "is_unique", psprintf("is_unique => %s", row->is_unique ? "true" : "false"));
	if (row->sparse != stored->sparse)
		differs(found, "sparse", psprintf("sparse => %s", row->sparse ? "true" : "false"));
	if (row->on_mismatch != stored->on_mismatch)
		differs(found, "on_mismatch", psprintf("on_mismatch => '%s'", mismatch_names[row->on_mismatch]));
	if (!same_or_null(row->document, stored->document))
		differs(found, "document", NULL);
	compare_partitioning(partitioning_asked(parts, key_names(asked)), partitioning_of(rel), found);
}

/*
 * differs
 *		Adds a parameter that differs; argument is what alter() is to be called with, NULL: it
 *		cannot change that.
 */
static void
differs(Differences *found, const char *name, const char *argument)
{
	appendStringInfo(&found->names, "%s%s", found->names.len > 0 ? ", " : "", name);
	if (argument != NULL)
		appendStringInfo(&found->arguments, ", %s", argument);
	else
		found->alterable = false;
}

static void
compare_partitioning(Partitioning *asked, Partitioning *now, Differences *found)
{
	if ((asked == NULL) != (now == NULL) || (asked != NULL && strcmp(asked->clause, now->clause) != 0))
		differs(found, "partition_by", NULL);
	else if (asked != NULL && pg_strncasecmp(asked->clause, "hash", 4) == 0 &&
			 list_length(asked->parts) != list_length(now->parts))
		differs(found, "partitions", psprintf("partitions => %d", list_length(asked->parts)));
}

/*
 * same_fields
 *		Returns whether an fields of a definition that is asked for are the same as bn fields
 *		of an index table.
 */
static bool
same_fields(IndexDef *a, IndexDef *b, int an, int bn, int first_a, int first_b)
{
	bool		same = an == bn;

	for (int i = 0; same && i < an; i++)
	{
		Field	   *field = &b->spec.fields[first_b + i];

		same = same_field(&a->spec.fields[first_a + i], field,
						  NameStr(TupleDescAttr(b->layout.desc, field->attno - 1)->attname));
	}
	return same;
}

/*
 * same_field
 *		Returns whether a field that is asked for has the same values, type and name as one of
 *		an index table.
 */
static bool
same_field(Field *a, Field *b, const char *b_name)
{
	return a->fact_attno == b->fact_attno && a->is_hint == b->is_hint && a->spec->nsteps == b->spec->nsteps &&
		a->type == b->type && a->typmod == b->typmod && a->collation == b->collation &&
		strcmp(a->spec->name, b_name) == 0 &&
		(a->fact_attno != EXPRESSION_ATTNO || equal(expression_node(a->convert), expression_node(b->convert))) &&
		same_steps(a->spec, b->spec, a->spec->nsteps);
}
