/*-------------------------------------------------------------------------
 *
 * recorded_code.c
 *	  Records which functions, operators and the like the expressions of an index table use, and
 *	  refuses to use others.
 *
 * An expression is stored as text, and each session parses it anew.  A role that may create objects
 * in the schema of a function that it calls can add one of the same name that fits better, and that
 * would be called as the owner.  So what an expression uses is recorded when its index table is
 * created, as dependencies, which also keep the objects from being dropped.  A text that comes to
 * use anything else is refused before it is planned, which may call functions.  Where nothing is
 * recorded the text is believed: a table that was restored is adopted later, and a text that used
 * nothing of users cannot come to use it, because all names in it are names in pg_catalog.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

#include "../catalog/catalog.h"
#include "../indextable.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "expression.h"

/* What finds_object() looks for. */
typedef struct ObjectSearch
{
	bool		(*is_found) (ObjectAddress object, void *arg);
	void	   *arg;
	ObjectAddress found;
} ObjectSearch;

/* What an expression of an index table is checked against. */
typedef struct TextCheck
{
	IndexDef   *def;
	const char *text;
	DefinitionRow *row;			/* of the one whose expression has come to use
								 * something else */
} TextCheck;

static Node *replace_vars(Node *node, void *context);
static bool finds_object(Node *node, void *context);
static bool is_newcomer(ObjectAddress object, void *arg);
static bool has_text(DefinitionRow *row, const char *text);
static bool is_recorded(Oid index_table, ObjectAddress object);
static bool is_any_code(Form_pg_depend form, void *arg);
static bool is_on_object(Form_pg_depend form, void *arg);
static bool copy_dependency(Form_pg_depend form, void *arg);
static bool is_temporary(ObjectAddress object, void *arg);
static void report_temporary(const char *what, const char *text);
static bool is_found(ObjectSearch *search, Oid class, Oid oid);

/*
 * record_used_code
 *		Records that an index table depends on what an expression uses.
 *
 * Without its columns, only dependencies on functions and types follow from it.  A dependency on
 * a column would make ALTER TABLE fail with an internal error.
 */
void
record_used_code(Oid index_table, Node *expr)
{
	ObjectAddress object;

	ObjectAddressSet(object, RelationRelationId, index_table);
	recordDependencyOnExpr(&object, (Node *) list_make1(replace_vars(expr, NULL)), NIL, DEPENDENCY_NORMAL);
}

/* replace_vars: returns an expression with NULLs in the place of columns */
static Node *
replace_vars(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
		return (Node *) makeNullConst(((Var *) node)->vartype, -1, ((Var *) node)->varcollid);
	return expression_tree_mutator(node, replace_vars, context);
}

/* forget_code_dependencies: has an index table depend no more on what its expressions use */
void
forget_code_dependencies(Oid index_table)
{
	(void) find_table_dependencies(index_table, is_code_dependency, NULL, true);
}

/*
 * move_code_dependencies
 *		Has an index table depend on what another one's expressions use, instead of what its
 *		own ones do.
 */
void
move_code_dependencies(Oid from, Oid to)
{
	forget_code_dependencies(to);
	(void) find_table_dependencies(from, copy_dependency, &to, false);
}

static bool
copy_dependency(Form_pg_depend form, void *arg)
{
	ObjectAddress object;
	ObjectAddress on;

	if (!is_code_dependency(form, NULL))
		return false;
	ObjectAddressSet(object, RelationRelationId, *(Oid *) arg);
	ObjectAddressSet(on, form->refclassid, form->refobjid);
	recordDependencyOn(&object, &on, DEPENDENCY_NORMAL);
	return true;
}

/*
 * is_code_dependency
 *		Returns whether a dependency of an index table is one of its expressions.
 *
 * It has no others of this kind, except on its schema, its access method, and the operator class by which
 * it is partitioned.
 */
bool
is_code_dependency(Form_pg_depend form, void *unused)
{
	return form->deptype == DEPENDENCY_NORMAL && form->objsubid == 0 &&
		form->refclassid != NamespaceRelationId && form->refclassid != AccessMethodRelationId &&
		form->refclassid != OperatorClassRelationId;
}

/*
 * require_recorded_code
 *		Raises an error if an expression of a definition, which has just been parsed, uses what it
 *		did not use when an index table of the fact table was created with the same text.
 *
 * One whose column has just got another type may well come to use others.
 */
void
require_recorded_code(IndexDef *def, const char *what, const char *sql, Node *expr)
{
	TextCheck	check = {.def = def,.text = sql};
	ObjectSearch search = {.is_found = is_newcomer,.arg = &check};
	Bitmapset  *columns = NULL;
	char	   *object;

	pull_varattnos(expr, 1, &columns);
	if (bms_overlap(columns, def->fact->retyped) || !finds_object(expr, &search))
		return;
	object = getObjectDescription(&search.found, false);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("%s \"%s\" of index table \"%s\" would use another object now: %s", what, sql,
					get_rel_name(OidIsValid(check.row->replaces) ? check.row->replaces : check.row->index_table),
					object),
			 errdetail("It was created or renamed since the index table was created, and fits better than what the %s has used so far.",
					   what),
			 errhint("Drop or rename it, and REVOKE CREATE on its schema from who should not create such objects. To have it used, run DROP TABLE %s; and create the index table again.",
					 quoted_relation(check.row->index_table))));
}

/*
 * is_newcomer
 *		Returns whether an expression uses an object that it did not use when an index table of the fact table
 *		was created with the same text, and notes that index table in *arg (TextCheck).
 */
static bool
is_newcomer(ObjectAddress object, void *arg)
{
	TextCheck  *check = arg;

	if (OidIsValid(check->def->relid) && is_recorded(check->def->relid, object))
		return false;
	foreach_ptr(DefinitionRow, row, catalog_read_definitions(check->def->fact->relid, InvalidOid))
	{
		if (has_text(row, check->text) && !is_recorded(row->index_table, object) &&
			find_table_dependencies(row->index_table, is_any_code, NULL, false))
		{
			check->row = row;
			return true;
		}
	}
	return false;
}

/* has_text: returns whether a definition has an expression of this text */
static bool
has_text(DefinitionRow *row, const char *text)
{
	if (row->filter != NULL && strcmp(row->filter, text) == 0)
		return true;
	foreach_ptr(char, field, list_concat_copy(row->key, row->include))
	{
		FieldSpec  *spec = parse_field_spec(field, false);

		if (spec->expression != NULL && strcmp(spec->expression, text) == 0)
			return true;
	}
	return false;
}

/* is_recorded: returns whether it is recorded that expressions of an index table use an object */
static bool
is_recorded(Oid index_table, ObjectAddress object)
{
	return find_table_dependencies(index_table, is_on_object, &object, false);
}

static bool
is_on_object(Form_pg_depend form, void *arg)
{
	ObjectAddress *object = arg;

	return is_code_dependency(form, NULL) && form->refclassid == object->classId &&
		form->refobjid == object->objectId;
}

/* is_any_code: returns whether a dependency tells that what expressions use is recorded */
static bool
is_any_code(Form_pg_depend form, void *unused)
{
	return is_code_dependency(form, NULL) && form->refclassid != CollationRelationId;
}

/*
 * refuse_temporary
 *		Raises an error if a filter or a field that a user gives uses a temporary object, for
 *		which any session may have one of its own.
 */
void
refuse_temporary(const char *what, const char *text, Node *expr)
{
	ObjectSearch search = {.is_found = is_temporary};

	if (finds_object(expr, &search))
		report_temporary(what, text);
}

/* refuse_temporary_type: raises an error if the type that a user gives a field is temporary */
void
refuse_temporary_type(const char *field, Oid type)
{
	ObjectAddress object;

	ObjectAddressSet(object, TypeRelationId, type);
	if (type >= FirstNormalObjectId && is_temporary(object, NULL))
		report_temporary("field", field);
}

static void
report_temporary(const char *what, const char *text)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("%s \"%s\" uses a temporary function, operator or type", what, text),
			 errdetail("Other sessions do not have it, or have another one by its name."),
			 errhint("Create it in a schema that is not temporary.")));
}

static bool
is_temporary(ObjectAddress object, void *unused)
{
	return isAnyTempNamespace(get_object_namespace(&object));
}

/* is_found: returns whether an object is what is looked for; those of the server are not */
static bool
is_found(ObjectSearch *search, Oid class, Oid oid)
{
	if (oid < FirstNormalObjectId)
		return false;
	ObjectAddressSet(search->found, class, oid);
	return search->is_found(search->found, search->arg);
}

/*
 * finds_object
 *		Returns whether an expression uses an object that is looked for.
 *
 * It takes into account what the server records as a dependency of an expression, but for types that
 * follow from the rest.
 */
static bool
finds_object(Node *node, void *context)
{
	ObjectSearch *search = context;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_FuncExpr:
			if (is_found(search, ProcedureRelationId, ((FuncExpr *) node)->funcid))
				return true;
			break;
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			if (is_found(search, OperatorRelationId, ((OpExpr *) node)->opno))
				return true;
			break;
		case T_ScalarArrayOpExpr:
			if (is_found(search, OperatorRelationId, ((ScalarArrayOpExpr *) node)->opno))
				return true;
			break;
		case T_RowCompareExpr:
			foreach_oid(operator, ((RowCompareExpr *) node)->opnos)
			{
				if (is_found(search, OperatorRelationId, operator))
					return true;
			}
			break;
		case T_CollateExpr:
			if (is_found(search, CollationRelationId, ((CollateExpr *) node)->collOid))
				return true;
			break;
		case T_Const:
		case T_RelabelType:
		case T_CoerceViaIO:
		case T_ArrayCoerceExpr:
		case T_ConvertRowtypeExpr:
		case T_CoerceToDomain:
		case T_RowExpr:
			if (exprType(node) != RECORDOID && is_found(search, TypeRelationId, exprType(node)))
				return true;
			break;
		default:
			break;
	}
	return expression_tree_walker(node, finds_object, context);
}
