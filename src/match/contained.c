/*-------------------------------------------------------------------------
 *
 * contained.c
 *	  Turns conditions on what jsonb contains into comparisons: @>, ?, ?| and ?&.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/jsonb.h"

#include "../util/relation.h"
#include "match.h"

/* The number of names of members of which a document has none that fields are looked for by. */
#define MAX_NAMES	32

static List *contained_fields(PlannerInfo *root, IndexDef *def, Node *whole, Node *json, bool array, bool elements,
							  bool others, Index varno, bool *unknown);
static Condition *contained_json(IndexDef *def, int position, int nsteps, Node *json);
static bool is_through_member(IndexDef *def, Field *field, Node *document, List *names, Index varno);

/*
 * contained_values
 *		Returns equalities of key fields that follow from doc -> 'tags' @> '["x"]' and the like:
 *		a document that contains the value has the scalars in it at the same paths.  They are mostly
 *		lossy, because the string "5" and the number 5 may have the same entry.
 *
 * What is not constant is searched for scalar by scalar when the scan starts.  If it then has
 * none in one of the fields, nothing can be searched for, and the plan costs more than it promised.
 * So only those fields count in which it will have one, as far as can be told.
 *
 * With array, json is an array of values, of which one is contained.  All have to tell what to search
 * for.
 */
List *
contained_values(PlannerInfo *root, IndexDef *def, Node *whole, Node *json, bool array, Index varno, bool *unknown)
{
	List	   *result;
	Field	   *deepest;

	if (!is_value(json, varno) || (IsA(json, Const) && ((Const *) json)->constisnull))
		return NIL;
	if (def->spec.nelements < 2 || !IsA(json, Const) || array)
		return contained_fields(root, def, whole, json, array, true, true, varno, unknown);

	/* Each element of an array in the constant is contained by itself. */
	result = contained_fields(root, def, whole, json, array, false, true, varno, unknown);
	deepest = &def->spec.fields[def->spec.deepest];
	for (int nsteps = 0; nsteps <= deepest->element_steps; nsteps++)
	{
		if (!is_value_after(def, deepest, nsteps, whole, varno))
			continue;
		foreach_ptr(Node, single, with_single_elements(deepest->spec->steps + nsteps,
													   deepest->element_steps - nsteps, (Const *) json))
		{
			List	   *conditions = contained_fields(root, def, whole, single, array, true, false, varno,
													  unknown);
			int			number = new_scope();

			foreach_ptr(Condition, condition, conditions)
				condition->scope = nsteps < deepest->element_steps ? within_scope(NIL, number) : NIL;
			result = list_concat(result, conditions);
		}
		return result;
	}
	return list_concat(result, contained_fields(root, def, whole, json, array, true, false, varno, unknown));
}

/* contained_fields: does what contained_values() says for fields of elements, or others, or both */
static List *
contained_fields(PlannerInfo *root, IndexDef *def, Node *whole, Node *json, bool array, bool elements, bool others,
				 Index varno, bool *unknown)
{
	List	   *result = NIL;

	for (int i = 0; i < def->spec.nkeys && i < def->layout.nsearch; i++)
	{
		Field	   *field = &def->spec.fields[i];
		bool		is_json = field->fact_attno == 0 && field->is_jsonb && !array;

		if ((!is_castable_field(field) && !is_json) || !(field->spec->multi ? elements : others))
			continue;
		for (int nsteps = 0; nsteps <= field->spec->nsteps; nsteps++)
		{
			Condition  *condition;

			if (!is_value_after(def, field, nsteps, whole, varno))
				continue;
			if (is_json)
				condition = contained_json(def, i, nsteps, json);
			else if (IsA(json, Const) || contains_value(root, field, nsteps, json))
				condition = make_conversion(def, i, BTEqualStrategyNumber, TAKE_CONTAINED, nsteps, json, array);
			else
				condition = NULL;
			if (condition == NULL)
				*unknown = *unknown || IsA(json, Param);
			/* All elements of an array are contained: see and_path.c. */
			for (int nth = 1; condition != NULL; nth++)
			{
				condition->lossy = true;
				condition->nth = nth - 1;
				result = lappend(result, condition);
				condition = nth < MAX_SEARCHED && i == def->spec.multi_field && def->spec.nelements == 1 &&
					IsA(json, Const) && !array ?
					make_conversion(def, i, BTEqualStrategyNumber, TAKE_CONTAINED, nsteps | nth << 16, json,
									false) :
					NULL;
			}
			break;
		}
	}
	return result;
}

/*
 * contained_json
 *		Returns the equality of a field of type jsonb with a scalar that a document contains,
 *		or NULL.
 */
static Condition *
contained_json(IndexDef *def, int position, int nsteps, Node *json)
{
	JsonbValue	scalar;

	if (!IsA(json, Const) ||
		!contained_scalar(&def->spec.fields[position], nsteps, DatumGetJsonbP(((Const *) json)->constvalue),
						  &scalar))
		return NULL;
	return make_comparison(def, position, get_equality_operator(JSONBOID), InvalidOid,
						   (Node *) json_constant(&scalar), false);
}

/*
 * element_exists
 *		Returns the equalities that follow from doc -> 'tags' ? 'x', and from ?| and ?& with an array
 *		of texts, of which one, or each, is an element.
 *
 * Of an object they look at the names of the members.  So a constraint has to say that it is an
 * array, or the record that no key is an object.
 */
List *
element_exists(IndexDef *def, Oid function, List *args, Index varno)
{
	Field	   *field;
	Node	   *value = lsecond(args);
	List	   *result = NIL;

	if (def->spec.multi_field < 0 || def->spec.multi_field >= def->layout.nsearch || !is_value(value, varno))
		return NIL;
	field = &def->spec.fields[def->spec.multi_field];
	if (!is_castable_field(field) || field->spec->nsteps != field->plain_steps + 1 ||
		!is_value_after(def, field, field->plain_steps, linitial(args), varno))
		return NIL;
	foreach_ptr(Node, one,
				function == F_JSONB_EXISTS_ALL ? list_truncate(constant_values(value, INT_MAX), MAX_SEARCHED) :
				list_make1(value))
	{
		Condition  *condition = make_conversion(def, def->spec.multi_field, BTEqualStrategyNumber, TAKE_TEXT, 0,
												one, function == F_JSONB_EXISTS_ANY);

		if (condition == NULL)
			return NIL;
		condition->lossy = true;
		condition->nth = foreach_current_index(one);
		condition->unless = check_says_array(def, field) ? 0 : CONTAINER_BIT;
		result = lappend(result, condition);
	}
	return result;
}

/*
 * exact_if_text
 *		Has rows not be checked that comparisons find, if the value tells no more than that, or than
 *		all of the comparisons do together; returns the comparisons.
 */
List *
exact_if_text(IndexDef *def, List *conditions, Node *value)
{
	foreach_ptr(Condition, condition, conditions)
	{
		int			ntexts = count_only_texts(def, &def->spec.fields[condition->position], value,
											  &condition->unless);

		if (ntexts == 0 || (ntexts > MAX_SEARCHED && !condition->array) || condition->scope != NIL)
			continue;
		condition->lossy = ntexts > 1 && !condition->array;
		condition->together = condition->lossy ? ntexts : 0;
		condition->implied = true;
	}
	return conditions;
}

/*
 * presence_conditions
 *		Returns the comparisons that follow from doc ? 'town', and ?& with several names: a field of type
 *		jsonb is not NULL, as JSON null is no NULL there.
 *
 * An array may have the name for an element, and a string be the name.  So a constraint has to say that
 * the document is an object.
 */
List *
presence_conditions(IndexDef *def, Oid function, List *args, Index varno)
{
	List	   *result = NIL;
	List	   *names = NIL;

	if (function == F_JSONB_EXISTS && IsA(lsecond(args), Const) && !lsecond_node(Const, args)->constisnull)
		names = list_make1(lsecond(args));
	else if (function == F_JSONB_EXISTS_ALL)
		names = constant_values(lsecond(args), MAX_NAMES);
	for (int i = 0; i < def->spec.nkeys && i < def->layout.nsearch && names != NIL; i++)
	{
		Field	   *field = &def->spec.fields[i];
		Condition  *condition;

		if (!field->is_jsonb || field->spec->multi || field->spec->nsteps == 0 ||
			!is_value_after(def, field, field->spec->nsteps - 1, linitial(args), varno) ||
			!is_through_member(def, field, linitial(args), names, varno) || !check_says_object(def, field))
			continue;
		condition = null_comparison(def, i);
		if (condition == NULL)
			continue;
		condition->taking = TAKE_NOT_NULL;
		condition->strategy = BTLessStrategyNumber;
		result = lappend(result, condition);
	}
	return result;
}

/*
 * absence_conditions
 *		Returns the comparisons that follow if a condition is not true: of NOT (doc ? 'town') and the
 *		like, that key fields at a path through the member are NULL.
 *
 * A path leads nowhere where an object lacks the member, and where there is no object, unless the name
 * may be the number of an element.  JSON null is NULL, too, and an array may have the name for an
 * element, so rows are checked.
 */
List *
absence_conditions(IndexDef *def, Node *clause, Index varno)
{
	List	   *args;
	Oid			function = function_of(clause, &args);
	List	   *result = NIL;
	List	   *names = NIL;

	if (function == F_JSONB_EXISTS && IsA(lsecond(args), Const) && !lsecond_node(Const, args)->constisnull)
		names = list_make1(lsecond(args));
	else if (function == F_JSONB_EXISTS_ANY)
		names = constant_values(lsecond(args), MAX_NAMES);
	for (int i = 0; i < def->spec.nkeys && i < def->layout.nsearch && names != NIL; i++)
	{
		Condition  *condition = null_comparison(def, i);

		if (condition != NULL && is_through_member(def, &def->spec.fields[i], linitial(args), names, varno))
			result = lappend(result, condition);
	}
	return result;
}

/*
 * is_through_member
 *		Returns whether the path of a field leads through a member of a document with one of
 *		some names.
 */
static bool
is_through_member(IndexDef *def, Field *field, Node *document, List *names, Index varno)
{
	for (int i = 0; field->fact_attno == 0 && i < field->spec->nsteps; i++)
	{
		PathStep   *step = &field->spec->steps[i];

		if (step->wildcard)
			break;
		if (step->is_index || !is_value_after(def, field, i, document, varno))
			continue;
		foreach_ptr(Const, name, names)
		{
			text	   *value = DatumGetTextPP(name->constvalue);

			if (step->len == (int) VARSIZE_ANY_EXHDR(value) &&
				memcmp(step->name, VARDATA_ANY(value), step->len) == 0)
				return true;
		}
	}
	return false;
}
