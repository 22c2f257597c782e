/*-------------------------------------------------------------------------
 *
 * field.c
 *	  Resolves the text of a field into columns, types and casts, against the fact table as
 *	  it is.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "../expression/expression.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/sql.h"
#include "definition.h"

static void resolve_field(Field *field, IndexDef *def, Relation fact, Form_pg_attribute column,
						  const char **column_names);
static Oid	element_of_column(IndexDef *def, FieldSpec *spec, Form_pg_attribute att, int32 *typmod);
static void check_field(Field *field, IndexDef *def, bool is_key);
static void check_element(Field *field, IndexDef *def, bool is_key);
static void add_element(IndexDef *def, int i);
static void check_hint(Field *field, IndexDef *def, bool is_key);

/*
 * make_field
 *		Parses and resolves field i of a definition.  attno is the number of its column in
 *		the index table; column is that column, or NULL if there is none yet.  A field that
 *		is new is checked.
 */
void
make_field(IndexDef *def, int i, const char *text, AttrNumber attno, Relation fact, Form_pg_attribute column,
		   bool is_new, const char **column_names)
{
	Field	   *field = &def->spec.fields[i];

	field->spec = parse_field_spec(text, is_new);
	field->attno = attno;
	resolve_field(field, def, fact, column, column_names);
	if (is_new)
		check_field(field, def, i < def->spec.nkeys);
	if (field->spec->multi)
		add_element(def, i);
}

/* has_multi_field: returns whether one of some fields (char *) is multi-valued */
bool
has_multi_field(List *fields)
{
	foreach_ptr(char, field, fields)
	{
		if (parse_field_spec(field, false)->multi)
			return true;
	}
	return false;
}

/*
 * add_element
 *		Adds field i, which is multi-valued, to those of a definition, unless it is of another
 *		array.
 */
static void
add_element(IndexDef *def, int i)
{
	IndexSpec  *spec = &def->spec;

	if (spec->nelements == 0)
	{
		spec->elements = palloc(sizeof(int) * (spec->nkeys + spec->nincludes));
		spec->deepest = i;
	}
	else if (!are_of_same_array(&spec->fields[spec->deepest], &spec->fields[i]))
		return;
	if (i < spec->nkeys)
	{
		spec->multi = true;
		if (spec->multi_field < 0)
			spec->multi_field = i;
		spec->nkey_elements++;
	}
	spec->elements[spec->nelements++] = i;
	if (spec->fields[i].element_steps > spec->fields[spec->deepest].element_steps)
		spec->deepest = i;
}

/*
 * are_of_same_array
 *		Returns whether two multi-valued fields have values of the same elements: the paths up to their
 *		last [*] are the same, or one of these is the beginning of the other.
 */
bool
are_of_same_array(Field *a, Field *b)
{
	return a->fact_attno == b->fact_attno &&
		same_steps(a->spec, b->spec, Min(a->element_steps, b->element_steps));
}

/*
 * resolve_field
 *		Sets column, type, collation and cast of a parsed field.  Its type is the one that its
 *		column has or, if there is no column yet, the one that the text asks for.
 */
static void
resolve_field(Field *field, IndexDef *def, Relation fact, Form_pg_attribute column,
			  const char **column_names)
{
	FieldSpec  *spec = field->spec;

	while (field->plain_steps < spec->nsteps && !spec->steps[field->plain_steps].wildcard)
		field->plain_steps++;
	for (int i = 0; i < spec->nsteps; i++)
		if (spec->steps[i].wildcard)
			field->element_steps = i + 1;

	field->type = OidIsValid(spec->type) ? spec->type : TEXTOID;
	field->typmod = spec->typmod;
	field->collation = get_typcollation(field->type);
	if (is_hint_column(spec))
	{
		field->fact_attno = SelfItemPointerAttributeNumber;
		field->is_hint = true;
		if (!OidIsValid(spec->type))
			field->type = TIDOID;
		field->collation = InvalidOid;
	}
	else if (spec->expression != NULL)
	{
		field->fact_attno = EXPRESSION_ATTNO;
		field->convert = compile_stored(def, fact, "field", spec->expression, InvalidOid, column_names);
		field->type = exprType(expression_node(field->convert));
		field->typmod = exprTypmod(expression_node(field->convert));
		field->collation = exprCollation(expression_node(field->convert));
	}
	else if (spec->column != NULL)
	{
		Form_pg_attribute att;
		Oid			stored;		/* the type of the column, or of its elements */
		int32		typmod;

		field->fact_attno = named_column(fact, spec->column, column_names);
		att = TupleDescAttr(RelationGetDescr(fact), field->fact_attno - 1);
		stored = att->atttypid;
		typmod = att->atttypmod;
		if (spec->multi)
			stored = element_of_column(def, spec, att, &typmod);
		if (!OidIsValid(spec->type))
		{
			field->type = stored;
			field->typmod = typmod;
			field->collation = att->attcollation;
		}
		if (column != NULL)
		{
			field->type = column->atttypid;
			field->typmod = column->atttypmod;
		}
		if (field->type != stored || field->typmod != typmod || is_virtual_column(att))
			field->convert = expression_compile(fact, quote_identifier(spec->column),
												spec->multi ? get_array_type(field->type) : field->type,
												field->typmod, column_names, false);
	}
	else
	{
		if (column != NULL)
		{
			field->type = column->atttypid;
			field->typmod = column->atttypmod;
		}
		cast_check_type(spec->text, field->type);
		field->is_jsonb = (field->type == JSONBOID);
		if (!field->is_jsonb)
			cast_init(&field->cast, field->type, field->typmod, get_typcollation(field->type),
					  CurrentMemoryContext);
	}
	if (column != NULL)
		field->collation = column->attcollation;
	else if (OidIsValid(spec->collation) && OidIsValid(field->collation))
		field->collation = spec->collation;
	get_typlenbyvalalign(field->type, &field->typlen, &field->typbyval, &field->typalign);
}

/*
 * element_of_column
 *		Returns the type of the elements of a column, and sets *typmod to that of the
 *		elements.
 */
static Oid
element_of_column(IndexDef *def, FieldSpec *spec, Form_pg_attribute att, int32 *typmod)
{
	Oid			element = get_element_type(getBaseTypeAndTypmod(att->atttypid, typmod));

	if (!OidIsValid(element))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("field \"%s\" is of a column that is not an array", spec->text),
				 errdetail("Column \"%s\" has type %s.", NameStr(att->attname),
						   format_type_with_typemod(att->atttypid, att->atttypmod)),
				 OidIsValid(def->relid) ?
				 errhint("Undo the change, or run DROP TABLE %s; and create the index table again.", quoted_relation(def->relid)) :
				 att->atttypid == JSONBOID ?
				 errhint("For the elements of an array in a document, write the path, as in tags[*], or $[*] for those of the document itself.") :
				 errhint("Leave out the [*]: %s.", array_literal(list_make1(psprintf("@%s", quote_identifier(spec->column)))))));
	return element;
}

/* check_field: refuses a field that a new index table cannot have */
static void
check_field(Field *field, IndexDef *def, bool is_key)
{
	FieldSpec  *spec = field->spec;

	if (field->is_hint)
		check_hint(field, def, is_key);
	if (OidIsValid(spec->type))
		refuse_temporary_type(spec->text, spec->type);
	if (spec->multi)
		check_element(field, def, is_key);
	if (spec->name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("field \"%s\" has no name", spec->text),
				 errhint("Name it with AS: %s.", array_literal(list_make1(psprintf("%s AS value", spec->text))))));
	if (OidIsValid(spec->collation) && !OidIsValid(field->collation))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("collations are not supported by type %s of field \"%s\"",
						format_type_be(field->type), spec->text)));
	if ((is_key || (spec->multi && !is_totals(def))) && !OidIsValid(GetDefaultOpClass(field->type, BTREE_AM_OID)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("type %s of %s field \"%s\" has no order",
						format_type_be(field->type), is_key ? "key" : "multi-valued", spec->text),
				 errdetail("A key needs a type with a default btree operator class."),
				 field->fact_attno == 0 ? hint_for_type(spec->text, field->type) : 0));

	if (def->spec.skip_mismatch && field->convert != NULL && spec->multi && OidIsValid(spec->type))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("field \"%s\" with a cast of elements cannot be used with on_mismatch => 'skip'", spec->text),
				 errdetail("All elements of an array are cast together."),
				 errhint("Leave out the type, or use on_mismatch => 'error'.")));

	/* Errors of such a cast are not caught; see cast_column(). */
	if (def->spec.skip_mismatch && field->convert != NULL && expression_calls_users_code(field->convert))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("field \"%s\" of type %s cannot be used with on_mismatch => 'skip'",
						spec->text, format_type_be(field->type)),
				 errhint("Use one of the server's own types, or on_mismatch => 'error'.")));
}

/* check_element: refuses a multi-valued field that a new index table cannot have beside others */
static void
check_element(Field *field, IndexDef *def, bool is_key)
{
	FieldSpec  *spec = field->spec;
	Field	   *other = def->spec.nelements == 0 ? NULL : &def->spec.fields[def->spec.deepest];

	if (!is_key && other == NULL && !is_totals(def))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("included field \"%s\" cannot be multi-valued", spec->text),
				 spec->column != NULL ? errhint("Include the whole array: leave out the [*].") :
				 errhint("Include the whole array: leave out the [*] and add \"::jsonb\".")));
	if (other == NULL)
		return;
	if (!are_of_same_array(other, field))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("fields \"%s\" and \"%s\" are of the elements of different arrays",
						other->spec->text, spec->text),
				 errdetail("The paths of multi-valued fields have to be the same up to the last [*]."),
				 errhint("Create an index table for each of the arrays.")));
	if (!is_key && def->fact->place->in_parts)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("included field \"%s\" cannot be multi-valued for a distributed table", spec->text),
				 errhint("Make it a key field.")));
}

/*
 * field_as_written
 *		Returns the text of a field with its expression, if it has one, as the server writes
 *		it now.
 */
char *
field_as_written(Relation fact, FieldSpec *spec, RowExpression *expression)
{
	return expression == NULL || spec->expression == NULL ? spec->text :
		psprintf("(%s)%s", expression_text(fact, expression), spec->text +spec->tail);
}

/*
 * stored_fields
 *		Returns fields that a user gives as the catalog keeps them: expressions are written by the
 *		server, which qualifies names and has read constants under the user's settings.
 */
List *
stored_fields(Relation fact, List *texts)
{
	List	   *result = NIL;

	foreach_ptr(char, field, texts)
	{
		FieldSpec  *spec = parse_field_spec(field, false);
		RowExpression *expression = NULL;

		/* One without a name is refused, and shown as it was given. */
		if (spec->expression != NULL && spec->name != NULL)
			expression = expression_compile(fact, spec->expression, InvalidOid, -1, NULL, true);
		result = lappend(result, field_as_written(fact, spec, expression));
		/* It may be too long now. */
		(void) parse_field_spec(llast(result), false);
	}
	return result;
}

/*
 * definition_expressions
 *		Returns the filter and the expressions of fields, RowExpression * or NULL.
 */
List *
definition_expressions(IndexDef *def)
{
	List	   *result = list_make1(def->spec.filter);

	for (int i = 0; i < def->spec.nkeys + def->spec.nincludes; i++)
		if (def->spec.fields[i].spec->expression != NULL)
			result = lappend(result, def->spec.fields[i].convert);
	return result;
}

/*
 * record_code_dependencies
 *		Records that an index table depends on what expressions, RowExpression * or NULL, use.
 */
void
record_code_dependencies(Oid index_table, List *expressions)
{
	foreach_ptr(RowExpression, expr, expressions)
		if (expr != NULL)
		record_used_code(index_table, expression_node(expr));
}

/*
 * definition_nodes
 *		Lists what entries are computed by, parsed: the filter, and the expressions and casts
 *		of columns.
 */
List *
definition_nodes(IndexDef *def)
{
	List	   *result = def->spec.filter == NULL ? NIL : list_make1(expression_node(def->spec.filter));

	for (int i = 0; i < def->spec.nkeys + def->spec.nincludes; i++)
		if (def->spec.fields[i].convert != NULL)
			result = lappend(result, expression_node(def->spec.fields[i].convert));
	return result;
}

/*
 * parse_expressions
 *		Returns the filter of a row of the catalog, and then for each key field and each included
 *		one its expression, parsed only; NULL for what is none.
 */
List *
parse_expressions(Relation fact, DefinitionRow *row, const char **column_names)
{
	List	   *result = list_make1(row->filter == NULL ? NULL :
									expression_parse(fact, row->filter, BOOLOID, -1, column_names, false));

	foreach_ptr(char, field, list_concat_copy(row->key, row->include))
	{
		FieldSpec  *spec = parse_field_spec(field, false);

		result = lappend(result, spec->expression == NULL ? NULL :
						 expression_parse(fact, spec->expression, InvalidOid, -1, column_names, false));
	}
	return result;
}

/* check_hint: refuses @ctid where it is of no use: the place of a row changes, and is only tried */
static void
check_hint(Field *field, IndexDef *def, bool is_key)
{
	FieldSpec  *spec = field->spec;
	Field	   *other;

	if (is_key)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("\"%s\" cannot be a key field", spec->text),
				 errdetail("The place of a row changes without its entries."),
				 errhint("Include it, which makes look-ups faster.")));
	if (field->type != TIDOID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("included field \"%s\" must be of type %s", spec->text, format_type_be(TIDOID)),
				 errhint("Leave out the type.")));
	if (def->fact->place->in_parts)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("included field \"%s\" is not supported for distributed tables", spec->text)));
	for (other = def->spec.fields + def->spec.nkeys; other < field; other++)
		if (other->is_hint)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("include must have only one of the fields \"%s\" and \"%s\"",
							other->spec->text, spec->text)));
}
