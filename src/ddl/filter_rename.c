/*-------------------------------------------------------------------------
 *
 * filter_rename.c
 *	  Rewrites the filters of index tables, and fields that are expressions, when a function,
 *	  a type, a schema or an enum label that they use is renamed.
 *
 * These expressions are stored as text, which a dump carries to a database where OIDs are
 * others.  Before the command each that depends on what it renames is parsed, by the names that
 * are valid then; after it, it is written with the new names.
 *
 * Any role may use a function of another one, and lock its own table as long as it likes.  So only
 * the fact tables of expressions that depend on the object are locked, only on behalf of roles
 * that may rename it, and a table of another owner is not waited for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_am.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "../catalog/catalog.h"
#include "../commands/commands.h"
#include "../definition/definition.h"
#include "../expression/expression.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../place/place.h"
#include "../util/arguments.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "ddl.h"

/* The expressions of an index table, parsed before a command. */
typedef struct Filter
{
	Oid			index_table;
	List	   *expressions;	/* as parse_expressions() returns them */
} Filter;

static CommandNotes *filters = NULL;	/* lists of Filter * */

static ObjectAddress renamed_object(Node *command);
static ObjectAddress object_by_name(ObjectType type, Node *name);
static bool uses_object(ObjectAddress user, ObjectAddress object, List **seen);
static bool is_object(ObjectAddress used, ObjectAddress object);
static ObjectAddress with_row_type(ObjectAddress address);
static void lock_fact_table(Oid index_table, ObjectAddress object);
static void parse_filter(void *arg);
static List *rewritten_fields(Relation fact, List *texts, List *expressions, int first);

/*
 * may_affect_filters
 *		Returns whether a command is about an object that an index table may
 *		depend on by way of its filter or of a type.
 */
bool
may_affect_filters(Node *command)
{
	ObjectType	type;

	switch (nodeTag(command))
	{
		case T_RenameStmt:
			type = ((RenameStmt *) command)->renameType;
			return type != OBJECT_COLUMN && type != OBJECT_TABLE && type != OBJECT_TRIGGER &&
				type != OBJECT_INDEX && type != OBJECT_TABCONSTRAINT;
		case T_AlterObjectSchemaStmt:
			return ((AlterObjectSchemaStmt *) command)->objectType != OBJECT_TABLE;
		case T_AlterEnumStmt:
			return true;
		case T_AlterTableStmt:
			return ((AlterTableStmt *) command)->objtype == OBJECT_TYPE;
		default:
			return false;
	}
}

/*
 * parse_filters_before_rename
 *		Parses all filters that use what is going to be renamed; one that is
 *		broken already is left out, and stays as it is.
 */
void
parse_filters_before_rename(Node *command)
{
	ObjectAddress object = renamed_object(command);
	MemoryContext old;

	begin_notes(&filters, command);
	if (!OidIsValid(object.objectId))
		return;
	old = MemoryContextSwitchTo(TopTransactionContext);
	foreach_oid(index_table, catalog_index_tables())
	{
		ObjectAddress user;
		List	   *seen = NIL;
		ErrorData  *error;

		ObjectAddressSet(user, RelationRelationId, index_table);
		if (!uses_object(user, object, &seen))
			continue;
		lock_fact_table(index_table, object);
		error = run_catching_failures(parse_filter, &index_table);
		if (error != NULL)
			FreeErrorData(error);
	}
	MemoryContextSwitchTo(old);
}

/*
 * renamed_object
 *		Returns the object that a command is going to rename, to move, or to give other attributes or
 *		labels; without an OID if expressions cannot use it, or if the command is going to be refused.
 *		Raises the error of the command if the current user may not alter it.
 */
static ObjectAddress
renamed_object(Node *command)
{
	RangeVar   *relation = NULL;
	ObjectAddress result = InvalidObjectAddress;
	Oid			relid;

	if (IsA(command, RenameStmt))
	{
		RenameStmt *stmt = (RenameStmt *) command;

		relation = stmt->relation;
		if (relation == NULL)
			return object_by_name(stmt->renameType,
								  stmt->renameType == OBJECT_SCHEMA ? (Node *) makeString(stmt->subname) :
								  stmt->object);
	}
	else if (IsA(command, AlterObjectSchemaStmt))
	{
		relation = ((AlterObjectSchemaStmt *) command)->relation;
		if (relation == NULL)
			return object_by_name(((AlterObjectSchemaStmt *) command)->objectType,
								  ((AlterObjectSchemaStmt *) command)->object);
	}
	else if (IsA(command, AlterEnumStmt))
		return object_by_name(OBJECT_TYPE, (Node *) ((AlterEnumStmt *) command)->typeName);
	else
		relation = castNode(AlterTableStmt, command)->relation;
	relid = RangeVarGetRelid(relation, NoLock, true);
	if (OidIsValid(relid) && owns_relation(relid, GetUserId()))
		ObjectAddressSet(result, RelationRelationId, relid);
	return result;
}

/* object_by_name: returns such an object, which is not a relation, by its name in a command */
static ObjectAddress
object_by_name(ObjectType type, Node *name)
{
	ObjectAddress result = InvalidObjectAddress;
	Relation	rel = NULL;

	switch (type)
	{
		case OBJECT_TYPE:
		case OBJECT_DOMAIN:
			name = (Node *) makeTypeNameFromNameList(castNode(List, name));
			break;
		case OBJECT_AGGREGATE:
		case OBJECT_COLLATION:
		case OBJECT_EXTENSION:
		case OBJECT_FUNCTION:
		case OBJECT_OPERATOR:
		case OBJECT_PROCEDURE:
		case OBJECT_ROUTINE:
		case OBJECT_SCHEMA:
		case OBJECT_TSCONFIGURATION:
		case OBJECT_TSDICTIONARY:
			break;
		default:
			return result;
	}
	result = get_object_address(type, name, &rel, AccessShareLock, true);
	if (!OidIsValid(result.objectId))
		return result;

	/*
	 * The command takes a stronger lock: two sessions that held this one
	 * would wait for each other.
	 */
	UnlockDatabaseObject(result.classId, result.objectId, 0, AccessShareLock);
	check_object_ownership(GetUserId(), type, result, name, rel);
	return with_row_type(result);
}

/*
 * uses_object
 *		Returns whether the expressions of an index table, or a type that they use, depend on an object.
 *
 * A constant names what is in its type: the labels of an enum that is in an array, in a composite type, or
 * below a domain.  So types and their attributes are followed.
 */
static bool
uses_object(ObjectAddress user, ObjectAddress object, List **seen)
{
	bool		is_index_table = *seen == NIL;
	Relation	rel;
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	List	   *types = NIL;
	bool		found = false;

	*seen = list_append_unique_oid(*seen, user.objectId);
	rel = table_open(DependRelationId, AccessShareLock);
	ScanKeyInit(&keys[0], Anum_pg_depend_classid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(user.classId));
	ScanKeyInit(&keys[1], Anum_pg_depend_objid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(user.objectId));
	scan = systable_beginscan(rel, DependDependerIndexId, true, NULL, 2, keys);
	while (!found && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(tuple);
		ObjectAddress *used;

		if (is_index_table && !is_code_dependency(form, NULL))
			continue;
		used = palloc(sizeof(ObjectAddress));
		ObjectAddressSet(*used, form->refclassid, form->refobjid);
		found = is_object(*used, object);
		*used = with_row_type(*used);	/* which depends on the types of its
										 * columns */
		if (used->classId == TypeRelationId || used->classId == RelationRelationId)
			types = lappend(types, used);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	foreach_ptr(ObjectAddress, type, types)
	{
		if (found)
			break;
		if (!list_member_oid(*seen, type->objectId))
			found = uses_object(*type, object, seen);
	}
	return found;
}

/*
 * is_object
 *		Returns whether what an expression uses is an object, or is in it, if that is a schema
 *		or an extension.
 */
static bool
is_object(ObjectAddress used, ObjectAddress object)
{
	if (object.classId == NamespaceRelationId)
		return get_object_namespace(&used) == object.objectId;
	if (object.classId == ExtensionRelationId)
		return getExtensionOfObject(used.classId, used.objectId) == object.objectId;
	used = with_row_type(used);
	return used.classId == object.classId && used.objectId == object.objectId;
}

/*
 * with_row_type
 *		Returns an object, or in the place of the type of a relation's rows that relation.
 */
static ObjectAddress
with_row_type(ObjectAddress address)
{
	if (address.classId == TypeRelationId && OidIsValid(get_typ_typrelid(address.objectId)))
		ObjectAddressSet(address, RelationRelationId, get_typ_typrelid(address.objectId));
	return address;
}

/*
 * lock_fact_table
 *		Locks the fact table of an index table whose expressions use an object, until the
 *		transaction ends.
 */
static void
lock_fact_table(Oid index_table, ObjectAddress object)
{
	Oid			fact = catalog_fact_of(index_table);

	if (!OidIsValid(fact) || get_rel_name(fact) == NULL)
		return;
	if (table_owner(fact) == GetUserId())
		LockRelationOid(fact, AccessShareLock);
	else if (!ConditionalLockRelationOid(fact, AccessShareLock))
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("cannot alter %s while table %s is locked", getObjectDescription(&object, false), quoted_relation(fact)),
				 errdetail("Index table %s uses it, and follows its names.", quoted_relation(index_table)),
				 errhint("Try again when no other session has locked the table.")));
}

static void
parse_filter(void *arg)
{
	Oid			index_table = *(Oid *) arg;
	DefinitionRow *stored = stored_definition(index_table);
	Relation	fact;

	if (stored == NULL)
		return;
	fact = try_relation_open(stored->fact_table, AccessShareLock);
	if (fact == NULL)
		return;

	/*
	 * The filter can be parsed only if it has the names that columns have
	 * now.
	 */
	if (!same_strings(stored->columns, get_column_names_by_number(fact)) &&
		owns_relation(stored->fact_table, GetUserId()))
	{
		update_definitions(RelationGetRelid(fact), false, true);
		stored = stored_definition(index_table);
		if (stored == NULL)
			return;
	}
	if (same_strings(stored->columns, get_column_names_by_number(fact)))
	{
		MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
		Filter	   *filter = palloc(sizeof(Filter));

		filter->index_table = index_table;
		filter->expressions = parse_expressions(fact, stored, NULL);
		filters->notes = lappend(filters->notes, filter);
		MemoryContextSwitchTo(old);
	}
	relation_close(fact, AccessShareLock);
}

/* rewrite_filters_after_rename: writes the filters whose text has changed */
void
rewrite_filters_after_rename(Node *command)
{
	foreach_ptr(Filter, filter, take_notes(&filters, command))
	{
		DefinitionRow *row = stored_definition(filter->index_table);
		Relation	fact = row == NULL ? NULL : try_relation_open(row->fact_table, AccessShareLock);
		DefinitionRow old;

		if (fact == NULL)
			continue;
		old = *row;
		if (row->filter != NULL && linitial(filter->expressions) != NULL)
			row->filter = expression_text(fact, linitial(filter->expressions));
		row->key = rewritten_fields(fact, row->key, filter->expressions, 1);
		row->include = rewritten_fields(fact, row->include, filter->expressions, 1 + list_length(row->key));
		if (!same_strings(row->key, old.key) || !same_strings(row->include, old.include) ||
			(row->filter != NULL && strcmp(row->filter, old.filter) != 0))
		{
			catalog_update(row, fact);
			CacheInvalidateRelcache(fact);
			if (place_of(filter->index_table)->triggers->renew_guard != NULL)
				place_of(filter->index_table)->triggers->renew_guard(filter->index_table);
		}
		relation_close(fact, AccessShareLock);
	}
}

/*
 * rewritten_fields
 *		Returns fields with their expressions, which are in a list from the first one on, as
 *		they are written now.
 */
static List *
rewritten_fields(Relation fact, List *texts, List *expressions, int first)
{
	List	   *result = NIL;

	foreach_ptr(char, field, texts)
	{
		int			i = first + foreach_current_index(field);

		result = lappend(result, field_as_written(fact, parse_field_spec(field, false),
												  i < list_length(expressions) ? list_nth(expressions, i) : NULL));
	}
	return result;
}
