/*-------------------------------------------------------------------------
 *
 * candidate.c
 *	  Finds out which of a query's conditions an index table can be searched by, and whether
 *	  it has an entry for every row that the query asks for.
 *
 * Entries are found as by a btree on the key fields and the primary key of the fact table: by
 * equality with the leading columns, and by a range of the next one.  One of the equalities may
 * be with any of several values; then there are several searches.
 *
 * A row that lacks one of the key fields has no entry in a sparse index table.  So each key field has
 * to be known not to be NULL there: by a condition of the query that is not true otherwise, or by a
 * constraint of the fact table.  What rows have values of some kinds, or were skipped, is recorded, and
 * read once more when the scan starts.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../expression/expression.h"
#include "../place/place.h"
#include "../reasons/reasons.h"
#include "candidate.h"

/* What is asked of each clause; see rejects_null(). */
typedef struct TestedColumn
{
	IndexDef   *def;
	Field	   *field;
	Index		varno;
	bool		cast;			/* what is asked is whether it cannot be cast */
} TestedColumn;

static Node *over_document(Candidate *c, Node *expr);
static AttrNumber column_of_element(Candidate *c, Node *expr);
static void choose_element(Candidate *c, List *found, List *used);
static int	position_of_element(IndexDef *def, int e);
static bool is_pinned(Candidate *c, int position);
static bool has_element_condition(Candidate *c);
static void choose_conditions(Candidate *c, List *found, List *used, Condition *deepest);
static Node *clause_of(Node *clause);
static bool may_concern(Node *node, void *context);
static bool contains_name(Const *constant, IndexDef *def);
static List *without_refuted(PlannerInfo *root, Candidate *c, List *conditions);
static bool may_be_compared(PlannerInfo *root, Candidate *c, Condition *condition);
static int	demands(Condition *condition);
static bool is_null_in_array(IndexDef *def, AttrNumber attno);
static bool filter_is_implied(IndexDef *def, List *clauses, Index varno, List **result);
static Field *key_maybe_null(Candidate *c);
static bool is_key_present(Candidate *c, int i);
static void note_castable(Candidate *c, List *found);
static void add_castable(Candidate *c, Condition *condition);
static uint64 excluded_faults(Candidate *c);
static bool excludes_long_keys(Candidate *c);
static bool finds_null(Candidate *c, int position);
static void skip_to_order(RelOptInfo *rel, Candidate *c, List *pathkeys);
static bool rejects_null(Node *clause, TestedColumn *column);
static bool null_if_null(Node *node, TestedColumn *column);
static bool any_null_if_null(List *args, TestedColumn *column);

/* clause_of: returns the expression of a clause, which may be a RestrictInfo */
static Node *
clause_of(Node *clause)
{
	return IsA(clause, RestrictInfo) ? (Node *) ((RestrictInfo *) clause)->clause : clause;
}

/* is_used: returns whether a list has a comparison of the same condition with the same value */
bool
is_used(Condition *condition, List *used)
{
	foreach_ptr(Condition, other, used)
	{
		if (condition->rinfo == other->rinfo &&
			condition->operator == other->operator && condition->taking == other->taking &&
			condition->detail == other->detail && equal(condition->value, other->value))
			return true;
	}
	return false;
}

/*
 * are_of_query
 *		Returns whether all comparisons are with one value, and follow from a condition on the
 *		table itself.
 */
bool
are_of_query(List *conditions)
{
	foreach_ptr(Condition, condition, conditions)
	{
		if (condition->array || condition->rinfo == NULL)
			return false;
	}
	return true;
}

/*
 * begin_candidate
 *		Returns an index table for clauses that all rows have to satisfy, before it is known what it can do;
 *		NULL, and a reason in *why, if its filter leaves rows out.
 */
Candidate *
begin_candidate(PlannerInfo *root, IndexDef *def, List *clauses, Index varno, const char **why)
{
	Candidate  *c = palloc0(sizeof(Candidate));

	c->def = def;
	c->varno = varno;
	c->known = clauses;
	c->order_from = -1;
	c->secured = planner_rt_fetch(varno, root)->securityQuals != NIL;
	if (def->spec.filter != NULL && !filter_is_implied(def, clauses, varno, &c->filter))
	{
		*why = "its filter does not follow from the conditions";
		return NULL;
	}
	foreach_ptr(Node, clause, clauses)
	{
		if (IsA(clause, RestrictInfo) && !((RestrictInfo *) clause)->pseudoconstant &&
			((RestrictInfo *) clause)->security_level < root->qual_security_level &&
			is_left_to_scan(clause_of(clause)))
			c->policy_in_scan = c->secured;
	}
	return c;
}

/*
 * consider_index_table
 *		Returns what an index table can do for clauses that all rows have to satisfy; they are
 *		RestrictInfos, or expressions before those are made.  Elements that used comparisons of its
 *		multi-valued field are with are not searched for.  Returns NULL if it cannot be used, and a
 *		reason in *why.
 */
Candidate *
consider_index_table(PlannerInfo *root, IndexDef *def, List *clauses, Index varno, List *used, const char **why)
{
	Candidate  *c = begin_candidate(root, def, clauses, varno, why);
	List	   *found = NIL;
	List	   *implied;
	bool		unknown = false;

	if (c == NULL)
		return NULL;
	foreach_ptr(Node, clause, clauses)
	{
		CHECK_FOR_INTERRUPTS();
		if ((IsA(clause, RestrictInfo) && ((RestrictInfo *) clause)->pseudoconstant) ||
			!may_concern(clause_of(clause), def) || is_deeply_nested(clause_of(clause)))
			continue;
		implied = implied_conditions(root, def, clause_of(clause), varno, &unknown);
		if (def->spec.nelements > 0)
			set_scope_of_clause(def, clause_of(clause), implied);
		foreach_ptr(Condition, condition, implied)
		{
			condition->rinfo = IsA(clause, RestrictInfo) ? (RestrictInfo *) clause : NULL;
			found = lappend(found, condition);
		}
	}
	found = list_concat(found, implied_by_elements(root, def, lateral_clauses(root, varno), varno, &unknown));
	found = without_refuted(root, c, found);
	c->unknown = unknown;
	if (def->spec.nelements < 2)
		choose_conditions(c, found, used, NULL);
	else
		choose_element(c, found, used);
	note_castable(c, found);
	for (int e = 0; e < def->spec.nelements && c->conditions != NIL; e++)
		c->distinct |= !is_pinned(c, position_of_element(def, e));
	/* A row would come once for each of its elements. */
	if (def->spec.nelements > 0 && !has_element_condition(c))
	{
		*why = c->refuted != NULL ? c->refuted : unknown ? REASON_UNKNOWN :
			REASON_NO_ELEMENTS;
		return NULL;
	}
	return c;
}

/*
 * consider_elements
 *		Returns what an index table can do for the elements of rows, as rows of a query: those that functions
 *		unnest, or that its target list does if functions is NIL, as in Candidate.  The clauses, RestrictInfos,
 *		are on the fact table and the functions.  Returns NULL if it cannot be used, and a reason in *why.
 *
 * A condition on the document may be true of another element, so that elements are searched for by
 * conditions on the functions' columns only, as far as these are true of the very elements that are
 * returned.
 */
Candidate *
consider_elements(PlannerInfo *root, IndexDef *def, List *clauses, Index varno, List *functions,
				  const char **why)
{
	Candidate  *c = begin_candidate(root, def, clauses, varno, why);
	List	   *found = NIL;

	if (c == NULL)
		return NULL;
	c->by_element = true;
	c->functions = functions;
	c->rtable = root->parse->rtable;
	c->of_join = clauses;
	c->unless = UNEVEN_BIT;
	foreach_int(function, functions)
	{
		if (!asks_for_objects(rt_fetch(function, c->rtable)))
			continue;
		c->unless |= NO_OBJECT_BIT;
		if (function != llast_int(functions) || !tells_objects(def))
		{
			*why = "elements have to be objects, and it does not tell that of all of them";
			return NULL;
		}
	}
	if (!index_table_has_none(def, c->unless, NULL))
	{
		*why = "some rows may have something else in place of an array, or of an object";
		return NULL;
	}
	c->known = NIL;
	foreach_node(RestrictInfo, rinfo, clauses)
	{
		Node	   *clause = over_document(c, (Node *) rinfo->clause);
		bool		of_element = bms_membership(rinfo->clause_relids) == BMS_MULTIPLE ||
			!bms_is_member(varno, rinfo->clause_relids);
		List	   *implied;

		CHECK_FOR_INTERRUPTS();
		if (clause == NULL || rinfo->pseudoconstant || is_deeply_nested(clause))
			continue;
		c->known = lappend(c->known, clause);
		if (!may_concern(clause, def) || (of_element && contain_subplans(clause)))
			continue;
		implied = implied_conditions(root, def, clause, varno, &c->unknown);
		set_scope_of_clause(def, clause, implied);
		foreach_ptr(Condition, condition, implied)
		{
			if (is_element_position(def, condition->position) &&
				!(of_element && is_of_elements(def, condition, functions)))
				continue;
			condition->rinfo = rinfo;
			found = lappend(found, condition);
		}
	}
	found = without_refuted(root, c, found);
	choose_conditions(c, found, NIL, NULL);
	note_castable(c, found);
	return c;
}

/*
 * over_document
 *		Returns an expression over a fact row and the elements that functions return for it as one over the
 *		fact row, in which calls of the functions stand for elements; NULL: it has other elements, or more
 *		of the functions than that.
 */
static Node *
over_document(Candidate *c, Node *expr)
{
	bool		failed = false;

	if (c->functions == NIL)
		return expr;
	if (expression_returns_set(expr))
		return NULL;
	foreach_int(function, c->functions)
		expr = with_elements(expr, c->rtable, function, &failed);
	return failed ? NULL : expr;
}

/*
 * choose_element
 *		Chooses the conditions of that element by which an index table with several fields of elements is
 *		searched best: by the most equalities, and then by the most comparisons.
 *
 * What a row has an entry for is an element of the innermost array: so one of the conditions has to be true
 * of such a one.  Those of other elements are left to be checked.
 */
static void
choose_element(Candidate *c, List *found, List *used)
{
	Candidate	none = *c;
	Candidate	best = *c;

	foreach_ptr(Condition, deepest, found)
	{
		if (!is_of_deepest(c->def, deepest) || deepest->taking == TAKE_NULL)
			continue;
		*c = none;
		choose_conditions(c, found, used, deepest);
		c->unless |= deepest->unless;
		foreach_ptr(Condition, condition, found)
		{
			if (!is_element_position(c->def, condition->position) || condition->taking == TAKE_NULL ||
				!is_same_element(c->def, condition, deepest))
				continue;
			c->present = bms_add_member(c->present, condition->position);
			if (c->def->spec.sparse)
				c->unless |= condition->unless;
		}
		if (best.conditions == NIL || c->nequal > best.nequal ||
			(c->nequal == best.nequal && list_length(c->conditions) > list_length(best.conditions)))
			best = *c;
	}
	*c = best;
}

/* position_of_element: returns the position in the index of a multi-valued field, by its number */
static int
position_of_element(IndexDef *def, int e)
{
	return e < def->spec.nkey_elements ? def->spec.elements[e] :
		def->layout.nleading + e - def->spec.nkey_elements;
}

/*
 * is_pinned
 *		Returns whether all entries that are found have one value in a column of the index,
 *		from 0.
 */
static bool
is_pinned(Candidate *c, int position)
{
	foreach_ptr(Condition, condition, c->conditions)
	{
		if (condition->position == position)
			return condition->strategy == BTEqualStrategyNumber && !condition->array;
	}
	return false;
}

/*
 * has_element_condition
 *		Returns whether entries are searched by an element; rows without elements have none.
 */
static bool
has_element_condition(Candidate *c)
{
	foreach_ptr(Condition, condition, c->conditions)
	{
		if (is_element_position(c->def, condition->position))
			return true;
	}
	return false;
}

/*
 * choose_conditions
 *		Chooses the conditions that entries are searched by: equalities with the leading columns of the
 *		index, and a range of the next one.  Unless deepest is NULL, those of elements are true of the same
 *		element as it.
 */
static void
choose_conditions(Candidate *c, List *found, List *used, Condition *deepest)
{
	IndexDef   *def = c->def;
	bool		array = false;

	for (int position = 0; position < def->layout.nsearch; position++)
	{
		Condition  *equal = NULL;
		Condition  *lower = NULL;
		Condition  *upper = NULL;
		Condition  *there = NULL;

		foreach_ptr(Condition, condition, found)
		{
			if (condition->position != position ||
				(is_element_position(def, position) && is_used(condition, used)))
				continue;
			if (deepest != NULL && is_element_position(def, position) &&
				!is_same_element(def, condition, deepest))
				continue;
			if (condition->strategy == BTEqualStrategyNumber)
			{
				if (condition->array && array)
					continue;

				/*
				 * One value is better than several, and exact better than
				 * lossy.
				 */
				if (equal == NULL || (equal->array && !condition->array) ||
					(equal->array == condition->array && demands(equal) > demands(condition)))
					equal = condition;
			}
			else if (condition->strategy > BTEqualStrategyNumber)
				lower = lower == NULL || demands(lower) >= demands(condition) ? condition : lower;
			else if (condition->taking == TAKE_NOT_NULL)
				there = condition;
			else
				upper = upper == NULL || demands(upper) >= demands(condition) ? condition : upper;
		}
		if (equal == NULL)
		{
			/* What is compared otherwise is not NULL anyway. */
			if (lower == NULL && upper == NULL)
				upper = there;
			if (lower != NULL)
				c->conditions = lappend(c->conditions, lower);
			/* One element may be above the one, and another below the other. */
			if (upper != NULL && (lower == NULL || deepest != NULL || c->by_element ||
								  !is_element_position(def, position) || is_same_element(def, upper, lower)))
				c->conditions = lappend(c->conditions, upper);
			break;
		}
		c->conditions = lappend(c->conditions, equal);
		c->nequal++;
		if (equal->array)
		{
			array = true;
			c->order_from = position;
		}
	}
	if (c->order_from < 0)
		c->order_from = c->nequal;

	foreach_ptr(Condition, condition, c->conditions)
	{
		c->unless |= condition->unless;
	}
}

/*
 * may_concern
 *		Returns whether a clause may imply a comparison with a key of an index table: unless it has
 *		nothing but the document of the fact row, and constants that do not contain the first name
 *		of the path of any key.
 *
 * Most clauses concern one index table of many, and this is told much faster than what they imply.
 */
static bool
may_concern(Node *node, void *context)
{
	IndexDef   *def = context;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
			return ((Var *) node)->varattno != def->spec.fact_document;
		case T_Const:
			return contains_name((Const *) node, def);
		case T_Param:
		case T_SubPlan:
		case T_AlternativeSubPlan:
		case T_SubLink:
		case T_FieldSelect:
			return true;
		default:
			return expression_tree_walker(node, may_concern, context);
	}
}

/*
 * contains_name
 *		Returns whether the bytes of a constant contain the first name of the path of a key,
 *		or might stand for it.
 */
static bool
contains_name(Const *constant, IndexDef *def)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(constant->constvalue);

	for (int i = 0; i < def->spec.nkeys; i++)
	{
		Field	   *field = &def->spec.fields[i];
		PathStep   *step = field->spec->steps;

		if (field->fact_attno > 0)
			continue;
		if (field->fact_attno != 0 || field->spec->nsteps == 0 || step->wildcard || step->is_index ||
			constant->consttype == JSONOID)
			return true;
		if (constant->constisnull || constant->constlen > 0)
			continue;
		/* A literal that is unknown is a C string. */
		if (constant->constlen == -2 ? strstr(DatumGetCString(constant->constvalue), step->name) != NULL :
			VARATT_IS_EXTERNAL(value) || VARATT_IS_COMPRESSED(value) ||
			memmem(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value), step->name, step->len) != NULL)
			return true;
	}
	return false;
}

/*
 * without_refuted
 *		Returns those conditions that entries can be searched by as far as it is recorded what rows
 *		there are, and as the user may know of them, and sets c->refuted if others are left out.
 */
static List *
without_refuted(PlannerInfo *root, Candidate *c, List *conditions)
{
	IndexDef   *def = c->def;
	const char **why = &c->refuted;

	foreach_ptr(Condition, condition, conditions)
	{
		if (!may_be_compared(root, c, condition))
			*why = "row security or a security barrier applies, and entries are compared by an operator that is not leakproof";
		else if (condition->unless != 0 && !index_table_has_none(def, condition->unless, NULL))
			*why = condition->unless == ZONELESS_BIT ?
				"some rows may have a time without a zone of its own, which the session's TimeZone gives one" :
				"some rows may have arrays or objects in place of the field, which the condition looks into";
		else
			continue;
		conditions = foreach_delete_current(conditions, condition);
	}
	return conditions;
}

/*
 * may_be_compared
 *		Returns whether entries may be searched by a condition although the user may not know of all
 *		rows.  Entries of hidden rows are compared, too, so only by what neither raises errors that
 *		depend on them nor tells of them otherwise.
 *
 * The first of the policies may be anything: nothing has to hold before it.  Values to search by
 * are of no hidden row.  How the condition itself gets at what is compared does not matter, as it
 * is evaluated for visible rows only.
 */
static bool
may_be_compared(PlannerInfo *root, Candidate *c, Condition *condition)
{
	return !c->secured || get_func_leakproof(get_opcode(condition->operator)) ||
		(condition->rinfo != NULL &&
		 condition->rinfo->security_level <= root->simple_rel_array[c->varno]->baserestrict_min_security);
}

/*
 * is_left_to_scan
 *		Returns whether a clause is checked by a scan only, and not by the query of its fallback,
 *		for which the scan checks its clauses, too: it must not be evaluated twice, or it has
 *		subqueries, whose plans only the scan has.
 */
bool
is_left_to_scan(Node *clause)
{
	return contain_volatile_functions(clause) || contain_subplans(clause);
}

/*
 * demands
 *		Returns how much a condition asks beyond the search, in rows that have to be fetched,
 *		and in rows that must not be there.
 */
static int
demands(Condition *condition)
{
	return condition->lossy + 2 * (condition->unless != 0);
}

/*
 * column_of_candidate
 *		Returns the column of the index table that has the value of an expression in all rows
 *		that there are, or 0.
 */
AttrNumber
column_of_candidate(Candidate *c, Node *expr)
{
	AttrNumber	attno = column_of_expression(c->def, expr, c->varno);
	uint32		unless;

	if (attno == 0 && (c->by_element || c->of_element))
		attno = column_of_element(c, expr);
	unless = attno == 0 ? 0 : values_read_otherwise(c->def, attno);

	if (attno != 0 && depends_on_json_path(expr, NULL) && is_null_in_array(c->def, attno))
		return 0;
	if ((unless & ~c->unless) != 0 && !index_table_has_none(c->def, unless, NULL))
		return 0;
	c->unless |= unless;
	return attno;
}

/*
 * column_of_element
 *		Returns the column of the index table that has the value of an expression over an element, in all
 *		elements that an entry stands for, or 0.
 */
static AttrNumber
column_of_element(Candidate *c, Node *expr)
{
	IndexDef   *def = c->def;
	bool		typed = false;

	/* Most expressions are told by this, before they are copied. */
	if (!may_be_field(expr))
		return 0;
	for (int e = 0; e < def->spec.nelements; e++)
	{
		Oid			type = def->spec.fields[def->spec.elements[e]].type;

		typed |= exprType(expr) == type || TypeCategory(exprType(expr)) == TypeCategory(type);
	}
	if (!typed || depends_on_json_path(expr, NULL) || (expr = over_document(c, expr)) == NULL)
		return 0;
	for (int e = 0; e < def->spec.nelements; e++)
	{
		Field	   *field = &def->spec.fields[def->spec.elements[e]];

		if (!expression_is_element(def, field, expr, c->varno))
			continue;
		if (is_image_equal(field->type, field->typmod, field->collation) || def->layout.elements_attno == 0)
			return field->attno;
		if (def->spec.nkeys >= 23 || !index_table_has_none(def, UNLIKE_BIT, NULL))
			return 0;
		c->unless |= UNLIKE_BIT;
		return field->attno;
	}
	return 0;
}

/*
 * has_column_value
 *		Returns whether an expression has the value of a column, or the same bytes called
 *		another type.
 */
bool
has_column_value(Candidate *c, Node *expr, AttrNumber attno)
{
	return column_of_candidate(c, expr) == attno ||
		(IsA(expr, RelabelType) && column_of_candidate(c, (Node *) ((RelabelType *) expr)->arg) == attno);
}

/*
 * is_null_in_array
 *		Returns whether an entry may have NULL in a column where jsonb_path_query_first() finds a
 *		value within an array: in an included field, or a key field unless the index table is sparse.
 */
static bool
is_null_in_array(IndexDef *def, AttrNumber attno)
{
	Field	   *field = field_of_column(def, attno);

	return field != NULL && field->fact_attno != EXPRESSION_ATTNO &&
		(is_totals(def) || !def->spec.sparse || field >= def->spec.fields + def->spec.nkeys);
}

/*
 * is_complete_enough
 *		Returns whether an index table has entries for all rows, as far as the query depends
 *		on it.  Sets c->excluded to which rows without entries it does not depend on.
 */
bool
is_complete_enough(Candidate *c, const char **why)
{
	const char *lacking = why_lacking(c);
	Field	   *fault;

	c->excluded = excluded_faults(c);
	if (lacking == NULL && !index_table_complete(c->def, c->excluded, NULL))
	{
		fault = fault_not_excluded(c->def, c->excluded);
		lacking = c->def->fact->place->in_parts ? REASON_MAY_LACK : fault == NULL ? REASON_INCOMPLETE :
			psprintf(REASON_FAULT, NameStr(TupleDescAttr(c->def->layout.desc, fault->attno - 1)->attname));
	}
	if (lacking != NULL)
		*why = lacking;
	return lacking == NULL;
}

/*
 * note_castable
 *		Notes which fields can be cast in rows for which these conditions hold, as far as they rely on
 *		nothing but what the search relies on.
 */
static void
note_castable(Candidate *c, List *found)
{
	foreach_ptr(Condition, condition, found)
	{
		if (condition->unless == 0)
			add_castable(c, condition);
	}
}

/* add_castable: notes that a field can be cast in rows for which a condition holds, if so */
static void
add_castable(Candidate *c, Condition *condition)
{
	if (condition->castable && condition->of_numbers)
		c->of_numbers = bms_add_member(c->of_numbers, condition->position);
	else if (condition->castable)
		c->castable = bms_add_member(c->castable, condition->position);
}

/*
 * excluded_faults
 *		Returns the FAULT_BITS of rows that satisfy no clause that casts the field, or that compares its
 *		text with what can be cast.
 */
static uint64
excluded_faults(Candidate *c)
{
	IndexDef   *def = c->def;
	bool		in_parts = def->fact->place->in_parts;
	uint64		result = NUMBER_FAULT_BIT | (in_parts && excludes_long_keys(c) ? SKIPPED_BIT(def) : 0);

	if (!def->spec.skip_mismatch && !in_parts)
		return 0;
	foreach_ptr(Condition, condition, c->conditions)
		add_castable(c, condition);
	for (int i = 0; i < def->spec.nkeys + def->spec.nincludes; i++)
	{
		TestedColumn column = {.def = def,.field = &def->spec.fields[i],.varno = c->varno,.cast = true};
		bool		excluded = i < def->spec.nkeys && bms_is_member(i, c->castable);

		foreach_ptr(Node, clause, is_cast_alike(column.field) ? c->known : NIL)
			excluded = excluded || (!depends_on_json_path(clause_of(clause), NULL) &&
									rejects_null(clause_of(clause), &column));
		if (!excluded && i < def->spec.nkeys && bms_is_member(i, c->of_numbers))
		{
			excluded = true;
			result &= ~NUMBER_FAULT_BIT;
		}
		if (excluded)
			result |= fault_bits(def, column.field, false) & FAULT_BITS;
	}
	return result;
}

/*
 * excludes_long_keys
 *		Returns whether all columns of the index whose values may be long are compared by =, so that rows that
 *		are rejected for the length of their key are not found if the values are short: see set_keys().
 */
static bool
excludes_long_keys(Candidate *c)
{
	for (int position = 0; position < c->def->layout.nident; position++)
	{
		Form_pg_attribute att = TupleDescAttr(c->def->layout.desc, c->def->layout.ident[position] - 1);
		bool		short_only = att->attlen > 0;

		foreach_ptr(Condition, condition, c->conditions)
			short_only = short_only || (condition->position == position && condition->taking != TAKE_NULL &&
										condition->strategy == BTEqualStrategyNumber);
		if (!short_only)
			return false;
	}
	return true;
}

/*
 * why_lacking
 *		Returns why rows that a query asks for may lack an entry because the index table is
 *		sparse, or NULL.
 */
const char *
why_lacking(Candidate *c)
{
	Field	   *unknown = c->def->spec.sparse ? key_maybe_null(c) : NULL;

	return unknown == NULL ? NULL :
		psprintf("it is sparse, and no condition says that %s is not NULL",
				 NameStr(TupleDescAttr(c->def->layout.desc, unknown->attno - 1)->attname));
}

/*
 * consider_totals
 *		Returns what a table of totals can do for a query with these conditions; NULL: its
 *		filter leaves rows out.
 */
Candidate *
consider_totals(IndexDef *def, List *clauses, Index varno)
{
	Candidate  *c = palloc0(sizeof(Candidate));

	c->def = def;
	c->varno = varno;
	c->known = clauses;
	return def->spec.filter == NULL || filter_is_implied(def, clauses, varno, &c->filter) ? c : NULL;
}

/*
 * filter_is_implied
 *		Returns whether all rows that satisfy the clauses satisfy an index table's filter, and
 *		sets *result to the filter.  It is evaluated under fixed settings, so it must not depend
 *		on any.
 */
static bool
filter_is_implied(IndexDef *def, List *clauses, Index varno, List **result)
{
	Node	   *filter = expression_node(def->spec.filter);

	if (filter == NULL || contain_mutable_functions(filter) || expression_calls_users_code(def->spec.filter))
		return false;
	filter = copyObject(filter);
	ChangeVarNodes(filter, 1, varno, 0);
	*result = make_ands_implicit((Expr *) canonicalize_qual((Expr *) eval_const_expressions(NULL, filter), false));
	return predicate_implied_by(*result, clauses, false);
}

/*
 * key_maybe_null
 *		Returns the first key field that may be NULL in a row, or an element, that satisfies clauses and
 *		constraints, or NULL.
 */
static Field *
key_maybe_null(Candidate *c)
{
	for (int i = 0; i < c->def->spec.nkeys; i++)
		if (!is_key_present(c, i))
			return &c->def->spec.fields[i];
	return NULL;
}

/*
 * is_key_present
 *		Returns whether a key field, by its number, is not NULL in any row that satisfies
 *		clauses and constraints.
 */
static bool
is_key_present(Candidate *c, int i)
{
	IndexDef   *def = c->def;
	bool		of_element = c->by_element && def->spec.fields[i].spec->multi;
	bool		proven = !of_element && check_says_not_null(def, &def->spec.fields[i]);

	/* Other elements than the one that is searched for do not matter. */
	if (def->spec.nelements > 1 && !c->by_element && def->spec.fields[i].spec->multi)
		return bms_is_member(i, c->present);
	foreach_ptr(Condition, condition, c->conditions)
		proven = proven || (condition->position == i && condition->taking != TAKE_NULL);
	foreach_ptr(Node, clause, c->known)
		proven = proven || says_field_is_there(c, i, clause_of(clause));
	return proven;
}

/*
 * says_field_is_there
 *		Returns whether a clause, on a row or on one of its elements, is true only if a field, by its number, is
 *		not NULL.
 */
bool
says_field_is_there(Candidate *c, int i, Node *clause)
{
	TestedColumn column = {.def = c->def,.field = &c->def->spec.fields[i],.varno = c->varno};

	return !depends_on_json_path(clause, NULL) && rejects_null(clause, &column);
}

/*
 * may_be_null
 *		Returns whether a column of the index, from 0, may be NULL in entries that are found.
 */
bool
may_be_null(Candidate *c, int position)
{
	return position >= c->def->layout.nleading ||
		(!c->def->spec.sparse && position < c->def->spec.nkeys && !is_key_present(c, position));
}

/*
 * is_searched
 *		Returns whether a key field, by its number, is compared by the search, which finds no
 *		NULL then.
 */
bool
is_searched(Candidate *c, int i)
{
	foreach_ptr(Condition, condition, c->conditions)
	{
		if (condition->position == i && condition->taking != TAKE_NULL)
			return true;
	}
	return false;
}

/*
 * may_find_null
 *		Returns whether a search may come to an entry with NULL in a column of the index, from 0.
 *
 * Conditions that are only checked of what was found do not keep it from that.  Nor do constraints in
 * an asynchronous index table, which may have entries that are older.
 */
bool
may_find_null(Candidate *c, int position)
{
	if (position >= c->def->layout.nleading)
		return !is_searched(c, position);
	return !c->def->spec.sparse && position < c->def->spec.nkeys && !is_searched(c, position) &&
		(c->def->spec.async || !check_says_not_null(c->def, &c->def->spec.fields[position]));
}

/*
 * rejects_null
 *		Returns whether a condition is false or NULL wherever a column is NULL, or an error, or false or NULL,
 *		wherever it cannot be cast.
 */
static bool
rejects_null(Node *clause, TestedColumn *column)
{
	if (IsA(clause, BoolExpr) && ((BoolExpr *) clause)->boolop != NOT_EXPR)
	{
		bool		or = ((BoolExpr *) clause)->boolop == OR_EXPR;

		foreach_ptr(Node, arg, ((BoolExpr *) clause)->args)
		{
			if (rejects_null(arg, column) != or)
				return !or;
		}
		return or;
	}
	if (IsA(clause, NullTest))
		return !column->cast && ((NullTest *) clause)->nulltesttype == IS_NOT_NULL &&
			!((NullTest *) clause)->argisrow && null_if_null((Node *) ((NullTest *) clause)->arg, column);
	if (IsA(clause, BooleanTest))
		return (((BooleanTest *) clause)->booltesttype == IS_TRUE ||
				((BooleanTest *) clause)->booltesttype == IS_FALSE) &&
			null_if_null((Node *) ((BooleanTest *) clause)->arg, column);
	/* Without any element it is false. */
	if (IsA(clause, ScalarArrayOpExpr))
		return ((ScalarArrayOpExpr *) clause)->useOr && op_strict(((ScalarArrayOpExpr *) clause)->opno) &&
			null_if_null(linitial(((ScalarArrayOpExpr *) clause)->args), column);
	return null_if_null(clause, column);
}

/* null_if_null: returns whether an expression is NULL, or an error, wherever a column is */
static bool
null_if_null(Node *node, TestedColumn *column)
{
	Field	   *field = column->field;

	if (column->cast && expression_is_field(column->def, field, node, column->varno))
		return true;
	if (!column->cast && column_of_expression(column->def, node, column->varno) == field->attno)
		return true;

	/*
	 * A cast of a text is never NULL, so the text is NULL wherever the field
	 * is.
	 */
	if (!column->cast && field->fact_attno == 0 && is_text_of_field(column->def, field, node, column->varno))
		return true;
	if (!column->cast && expression_is_element(column->def, field, node, column->varno))
		return true;
	switch (nodeTag(node))
	{
		case T_OpExpr:
			return op_strict(((OpExpr *) node)->opno) && any_null_if_null(((OpExpr *) node)->args, column);
		case T_FuncExpr:
			return !((FuncExpr *) node)->funcretset && func_strict(((FuncExpr *) node)->funcid) &&
				any_null_if_null(((FuncExpr *) node)->args, column);
		case T_BoolExpr:
			return ((BoolExpr *) node)->boolop == NOT_EXPR && any_null_if_null(((BoolExpr *) node)->args, column);
		default:
			node = below_conversion(node);
			return node != NULL && null_if_null(node, column);
	}
}

static bool
any_null_if_null(List *args, TestedColumn *column)
{
	foreach_ptr(Node, arg, args)
	{
		if (null_if_null(arg, column))
			return true;
	}
	return false;
}

/*-------------------------------------------------------------------------
 * Finds out which of the orders that a query is interested in entries come in.
 *
 * Entries come in the order of the columns of the index that follow those with one value, in
 * either direction, with NULLs last, or first if it is the opposite one.  In most of these columns
 * there are none, so that it does not matter where they come.  Nor does it in a column that is
 * searched for NULL.  The planner does not know that all rows are equal there, so the column may
 * be the first one of an order.
 *-------------------------------------------------------------------------
 */

/*
 * finds_null
 *		Returns whether a column of the index, from 0, is NULL in all entries that are found.
 */
static bool
finds_null(Candidate *c, int position)
{
	foreach_ptr(Condition, condition, c->conditions)
	{
		if (condition->position == position && condition->taking == TAKE_NULL)
			return true;
	}
	return false;
}

/*
 * skip_to_order
 *		Sets c->order_from to the column that has the first of some path keys, if that column and those
 *		after it are searched for NULL.
 */
static void
skip_to_order(RelOptInfo *rel, Candidate *c, List *pathkeys)
{
	bool		last;

	for (int position = c->order_from; pathkeys != NIL; position--)
	{
		if (position < c->def->layout.nsearch &&
			sort_expression(c, rel, linitial(pathkeys), position, &last) != NULL)
		{
			c->order_from = position;
			break;
		}
		if (position == 0 || !finds_null(c, position - 1))
			break;
	}
}

/* set_order: sets how many of the query's path keys the order of the entries has */
void
set_order(PlannerInfo *root, RelOptInfo *rel, Candidate *c)
{
	int			position;
	bool		last = false;

	c->pathkeys = NIL;
	c->backward = false;
	/* A fallback would evaluate what it sorts by for hidden rows. */
	if (c->policy_in_scan)
		return;
	skip_to_order(rel, c, root->query_pathkeys);
	position = c->order_from;
	foreach_ptr(PathKey, key, root->query_pathkeys)
	{
		if (last || position >= c->def->layout.nsearch || key->pk_eclass->ec_has_volatile ||
			(c->pathkeys != NIL && pathkey_descends(key) != c->backward) ||
			sort_expression(c, rel, key, position, &last) == NULL ||
			(key->pk_nulls_first != pathkey_descends(key) && may_be_null(c, position) &&
			 !finds_null(c, position)))
			break;
		c->backward = pathkey_descends(key);
		c->pathkeys = lappend(c->pathkeys, key);
		position++;
	}
}

/*
 * sort_expression
 *		Returns the expression that the query sorts by, if it is in the order of a column of the
 *		index, or NULL.  It has the value of the column, or is the same number as another type.
 *		Sets *last if that rounds numbers: those that become equal are in no order by what the
 *		query sorts by next.
 */
Node *
sort_expression(Candidate *c, RelOptInfo *rel, PathKey *key, int position, bool *last)
{
	Form_pg_attribute att = TupleDescAttr(c->def->layout.desc, c->def->layout.ident[position] - 1);
	Field	   *field = field_of_column(c->def, att->attnum);
	EquivalenceClass *ec = key->pk_eclass;
	Oid			family = lookup_type_cache(att->atttypid, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	bool		same_order = key->pk_opfamily == family &&
		(!OidIsValid(att->attcollation) || ec->ec_collation == att->attcollation);
	bool		rounded;
	bool		lossy;

	foreach_ptr(EquivalenceMember, em, ec->ec_members)
	{
		Node	   *expr = (Node *) em->em_expr;

		if (em->em_is_const || bms_is_empty(em->em_relids) ||
			!(c->by_element ? bms_is_subset(em->em_relids, rel->relids) : bms_equal(em->em_relids, rel->relids)))
			continue;
		if (same_order && has_column_value(c, expr, att->attnum))
			return expr;
		/* Not a cast of JSON, which is an error for strings. */
		if (field == NULL || field->spec->multi ||
			key->pk_opfamily != lookup_type_cache(exprType(expr), TYPECACHE_BTREE_OPFAMILY)->btree_opf ||
			!is_number_cast(c->def, field, expr, c->varno, &rounded, &lossy) || lossy)
			continue;
		*last = rounded;
		return expr;
	}
	return NULL;
}
