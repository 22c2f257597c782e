/*-------------------------------------------------------------------------
 *
 * elements.c
 *	  Writes conditions on the elements of an array, which a query has unnested, as conditions
 *	  on the document.
 *
 * EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') e WHERE e ->> 'name' = 'x') is true
 * only if for some element, e ->> 'name' is x.  Here jsonb_array_elements(doc -> 'lines') stands
 * for the element, in place of the column e: jsonb_array_elements(doc -> 'lines') ->> 'name' =
 * 'x'.  No condition of a query has a function there that returns a set, so such an expression
 * is always one of these.  What it implies is true of some entry of the row, and all that is
 * derived of it is lossy: the row is checked for the condition as it is written, or joined.
 *
 * In the same way unnest(tags) stands for an element of an array column.
 *
 * Scopes.  Several conditions may be true of one element, or of different ones.  An index table with
 * several fields of elements can be searched by conditions of one element only.  So a comparison has the
 * numbers of the elements that it is true of, from the outermost array to the innermost: its scope.  An
 * element has a number where a query has a name for it: the column of a function in FROM, of which
 * the location of the function call is the number; an element of an array in a constant that is contained;
 * or the place in jsonpath where it goes on with each element of an array.  What has no number may be true
 * of any element, and is searched for alone.  Two comparisons are of one element if their scopes are the
 * same, and one of an outer element is of the same if its scope is the beginning of the other.
 *
 * The planner has replaced what a subquery uses of the query around it by parameters, whose
 * values are the arguments of its SubPlan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parsetree.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "../expression/expression.h"
#include "match.h"

/* The number of elements of an array in a constant up to which each can be searched for. */
#define MAX_SINGLE_ELEMENTS	4

/* What is replaced by any element. */
typedef struct AnyElement
{
	Field	   *field;			/* of a column: only its elements are */
	Index		varno;			/* the fact table */
	int			n;				/* number of things replaced */
	bool		may_be_member;	/* an object's member would do, too */
} AnyElement;

/* What is replaced in an expression. */
typedef struct Unnested
{
	List	   *rtable;			/* of the columns that are replaced */
	bool		inner;			/* these are a subquery's: others, and its
								 * parameters, have no meaning outside */
	Index		varno;			/* the only one that is, or 0 */
	SubPlan    *subplan;		/* has the values of parameters, or NULL */
	bool		nested;			/* below what was replaced: columns of other
								 * functions are replaced, too */
	bool		failed;
} Unnested;

/* The scope of what a clause has of elements. */
typedef struct ClauseScope
{
	List	   *scope;
	bool		several;		/* it has elements that do not agree */
}			ClauseScope;

static Node *equal_to_joined(PlannerInfo *root, SubPlan *subplan, List *quals, Relids joined, Node *qual);
static List *equal_to_member(Node *value, OpExpr *op);
static Query *query_of(PlannerInfo *root, SubPlan *subplan);
static Node *outside(Query *query, SubPlan *subplan, Node *expr);
static Node *replace(Node *node, void *context);
static void set_number(Node *node, int number);
static bool collect_scope(Node *node, void *context);
static List *single_elements(Jsonb *json, PathStep *steps, int nsteps);
static bool unnests_array(FuncExpr *call);
static bool read_column(RangeTblFunction *function, AttrNumber attno, char **name, Oid *type, int32 *typmod);
static Node *json_of_records(FuncExpr *call);
static Node *array_of(Node *arg);
static bool has_no_elements(Node *node);
static bool applies_to_all(PlannerInfo *root, Index varno);
static Node *any_element(Node *node, void *context);
static Node *without_last_name(Node *doc, Const *names);

/*
 * tested_clauses
 *		Returns what is true of some element if a condition that is a subquery, EXISTS (…) or value IN (…), is
 *		true; NIL if nothing is known.
 */
List *
tested_clauses(PlannerInfo *root, SubPlan *subplan)
{
	if (subplan->subLinkType != EXISTS_SUBLINK && subplan->subLinkType != ANY_SUBLINK)
		return NIL;
	return subplan_clauses(root, subplan, subplan->testexpr);
}

/*
 * all_tested_clauses
 *		Returns what is true of some element of each row of a table that satisfies clauses, RestrictInfos or
 *		expressions: of those that subqueries test, and that the table is joined with.
 */
List *
all_tested_clauses(PlannerInfo *root, List *clauses, Index varno)
{
	List	   *result = lateral_clauses(root, varno);

	foreach_ptr(Node, clause, clauses)
	{
		if (IsA(clause, RestrictInfo))
			clause = (Node *) ((RestrictInfo *) clause)->clause;
		if (IsA(clause, AlternativeSubPlan))
			clause = linitial(((AlternativeSubPlan *) clause)->subplans);
		if (IsA(clause, SubPlan))
			result = list_concat(result, tested_clauses(root, (SubPlan *) clause));
	}
	return result;
}

/*
 * subplan_clauses
 *		Returns what is true of some element, if a subquery EXISTS (…), or the comparison with its
 *		values, compared, is true: NIL if nothing is known.  In compared, ARRAY(subquery) is in
 *		place of one value, or a parameter of the subplan is; or it is ARRAY(subquery) && values, of
 *		which one is equal to an element.
 */
List *
subplan_clauses(PlannerInfo *root, SubPlan *subplan, Node *compared)
{
	Query	   *query = query_of(root, subplan);
	List	   *result = NIL;
	List	   *quals;
	Relids		joined = NULL;
	Node	   *clause;
	ListCell   *cell;

	/* A query that aggregates may return a row where it finds none. */
	if (query == NULL || query->commandType != CMD_SELECT || query->hasAggs || query->groupClause != NIL ||
		query->groupingSets != NIL || query->havingQual != NULL || query->setOperations != NULL ||
		query->hasWindowFuncs)
		return NIL;
	quals = quals_of_join((Node *) query->jointree, &joined);
	foreach_ptr(Node, qual, quals)
	{
		clause = outside(query, subplan, qual);
		if (clause == NULL)
			clause = equal_to_joined(root, subplan, quals, joined, qual);
		if (clause != NULL)
			result = lappend(result, clause);
	}
	if (compared != NULL && query->targetList != NIL)
	{
		Node	   *value = outside(query, subplan, (Node *) linitial_node(TargetEntry, query->targetList)->expr);

		if (value != NULL && IsA(compared, ScalarArrayOpExpr))
		{
			ScalarArrayOpExpr *op = (ScalarArrayOpExpr *) compared;

			clause = (Node *) make_opclause(op->opno, BOOLOID, false, linitial(op->args), (Expr *) value,
											InvalidOid, op->inputcollid);
			result = lappend(result, clause);
		}
		else if (value != NULL && subplan->subLinkType == ARRAY_SUBLINK)
			result = list_concat(result, equal_to_member(value, (OpExpr *) compared));
		else if (value != NULL && IsA(compared, OpExpr) && list_length(subplan->paramIds) == 1)
		{
			OpExpr	   *op = copyObject((OpExpr *) compared);

			foreach(cell, op->args)
			{
				Param	   *param = lfirst(cell);

				if (IsA(param, Param) && param->paramkind == PARAM_EXEC &&
					param->paramid == linitial_int(subplan->paramIds))
					lfirst(cell) = value;
			}
			result = lappend(result, op);
		}
	}
	return result;
}

/*
 * equal_to_joined
 *		Returns the condition that follows for an element if it is equal to an expression over other tables of a
 *		subquery: it is equal to one of the values of that expression.  NULL: none follows.
 */
static Node *
equal_to_joined(PlannerInfo *root, SubPlan *subplan, List *quals, Relids joined, Node *qual)
{
	PlannerInfo *subroot = list_nth(root->glob->subroots, subplan->plan_id - 1);
	OpExpr	   *op = (OpExpr *) qual;

	if (!IsA(qual, OpExpr) || list_length(op->args) != 2 ||
		!op_mergejoinable(op->opno, exprType(linitial(op->args))))
		return NULL;
	for (int i = 0; i < 2; i++)
	{
		Node	   *element = outside(subroot->parse, subplan, list_nth(op->args, i));
		SubLink    *values = NULL;
		ScalarArrayOpExpr *any;

		if (element != NULL)
			values = joined_values(root, subroot, quals, joined, list_nth(op->args, 1 - i));
		if (values == NULL)
			continue;
		any = makeNode(ScalarArrayOpExpr);
		any->opno = i == 0 ? op->opno : get_commutator(op->opno);
		any->useOr = true;
		any->inputcollid = op->inputcollid;
		any->args = list_make2(element, values);
		any->location = -1;
		return OidIsValid(any->opno) ? (Node *) any : NULL;
	}
	return NULL;
}

/*
 * equal_to_member
 *		Returns what is true of some element, the value, if the array of all elements overlaps with
 *		another array, or contains it: the element is equal to a member.  An array without members
 *		is contained in any.
 */
static List *
equal_to_member(Node *value, OpExpr *op)
{
	Node	   *array = IsA(linitial(op->args), SubPlan) ? lsecond(op->args) : linitial(op->args);
	TypeCacheEntry *cache = lookup_type_cache(exprType(value), TYPECACHE_EQ_OPR);
	ScalarArrayOpExpr *any = makeNode(ScalarArrayOpExpr);
	List	   *result = NIL;

	if (get_element_type(exprType(array)) != cache->type_id || !OidIsValid(cache->eq_opr))
		return NIL;
	if (get_opcode(op->opno) != F_ARRAYOVERLAP)
	{
		foreach_ptr(Expr, member, constant_values(array, INT_MAX))
			result = lappend(result,
							 make_opclause(cache->eq_opr, BOOLOID, false, (Expr *) value, member, InvalidOid,
										   op->inputcollid));
		return result;
	}
	any->opno = cache->eq_opr;
	any->useOr = true;
	any->inputcollid = op->inputcollid;
	any->args = list_make2(value, array);
	any->location = -1;
	return list_make1(any);
}

/* query_of: returns the query of a subplan, as it was planned */
static Query *
query_of(PlannerInfo *root, SubPlan *subplan)
{
	PlannerInfo *subroot;

	if (subplan->plan_id < 1 || subplan->plan_id > list_length(root->glob->subroots))
		return NULL;
	subroot = list_nth(root->glob->subroots, subplan->plan_id - 1);
	/* Columns of UNION ALL are those of several queries. */
	return subroot != NULL && subroot->append_rel_list == NIL ? subroot->parse : NULL;
}

/* outside: returns an expression of a subquery as one of the query around it, or NULL */
static Node *
outside(Query *query, SubPlan *subplan, Node *expr)
{
	Unnested	unnested = {.rtable = query->rtable,.inner = true,.subplan = subplan};

	expr = replace(expr, &unnested);
	return unnested.failed ? NULL : expr;
}

/*
 * lateral_clauses
 *		Returns what is true of some element of each row of a relation that a query joins with its
 *		own elements, as in FROM fact, jsonb_array_elements(doc -> 'lines') e WHERE e ->> 'name' =
 *		'x'.  A row without such an element is joined with nothing.
 *
 * This holds only if the condition is one on all rows of the query, or of a subquery of a
 * semijoin.
 */
List *
lateral_clauses(PlannerInfo *root, Index varno)
{
	List	   *result = NIL;

	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		RelOptInfo *rel = root->simple_rel_array[i];

		if (rel == NULL || (rel->rtekind != RTE_FUNCTION && rel->rtekind != RTE_TABLEFUNC) ||
			!bms_is_member(varno, rel->lateral_relids) || !applies_to_all(root, i))
			continue;
		foreach_ptr(RestrictInfo, rinfo, rel->baserestrictinfo)
		{
			bool		failed = false;
			Node	   *clause = with_elements((Node *) rinfo->clause, root->parse->rtable, i, &failed);

			if (!failed)
				result = lappend(result, clause);
		}
	}
	return result;
}

/*
 * with_elements
 *		Replaces the columns of a function by what they have of the document; sets *failed if
 *		it cannot.
 */
Node *
with_elements(Node *node, List *rtable, Index varno, bool *failed)
{
	Unnested	unnested = {.rtable = rtable,.varno = varno};

	node = replace(node, &unnested);
	*failed |= unnested.failed;
	return node;
}

/* applies_to_all: returns whether no outer join may have NULLs in place of a relation's rows */
static bool
applies_to_all(PlannerInfo *root, Index varno)
{
	foreach_ptr(SpecialJoinInfo, join, root->join_info_list)
	{
		if (join->jointype == JOIN_SEMI)
			continue;
		if (bms_is_member(varno, join->syn_righthand) ||
			(join->jointype == JOIN_FULL && bms_is_member(varno, join->syn_lefthand)))
			return false;
	}
	return true;
}

/* replace: replaces columns of functions by what they have of the document */
static Node *
replace(Node *node, void *context)
{
	Unnested   *unnested = context;

	if (node == NULL || unnested->failed)
		return node;
	if (IsA(node, Var) &&
		(unnested->inner || unnested->nested || ((Var *) node)->varno == (int) unnested->varno))
	{
		Var		   *var = (Var *) node;
		Node	   *column = NULL;
		bool		nested = unnested->nested;

		if (var->varlevelsup == 0 && var->varno > 0 && var->varno <= list_length(unnested->rtable))
			column = column_of_function(rt_fetch(var->varno, unnested->rtable), var->varattno);
		if (column == NULL)
		{
			unnested->failed |= !nested || unnested->inner;
			return node;
		}
		set_number(column, var->varno + (unnested->subplan == NULL ? 0 : unnested->subplan->plan_id << 16));
		unnested->nested = true;
		column = replace(column, context);
		unnested->nested = nested;
		return column;
	}
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC && unnested->inner)
	{
		ListCell   *id;
		ListCell   *arg;

		forboth(id, unnested->subplan->parParam, arg, unnested->subplan->args)
		{
			if (lfirst_int(id) == ((Param *) node)->paramid)
				return lfirst(arg);
		}
		unnested->failed = true;
		return node;
	}
	if (IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) || IsA(node, PlaceHolderVar))
	{
		unnested->failed = true;
		return node;
	}
	node = expression_tree_mutator(node, replace, context);
	/* As in SELECT jsonb_array_elements_text(coalesce(doc -> 'tags', '[]')). */
	if (IsA(node, FuncExpr) && unnested->inner && unnests_array((FuncExpr *) node))
		linitial(((FuncExpr *) node)->args) = array_of(linitial(((FuncExpr *) node)->args));
	return node;
}

/*-------------------------------------------------------------------------
 * Scopes
 *-------------------------------------------------------------------------
 */

/*
 * set_number
 *		Writes a number into the function call that stands for an element, as its location.  The call is
 *		node, or the innermost first argument of it.
 */
static void
set_number(Node *node, int number)
{
	List	   *args;

	while (!IsA(node, FuncExpr) || !((FuncExpr *) node)->funcretset)
	{
		if (IsA(node, CoerceViaIO))
			node = (Node *) ((CoerceViaIO *) node)->arg;
		else if (context_of_sql_json(node) != NULL)
			node = context_of_sql_json(node);
		else if (IsA(node, FuncExpr) && (args = ((FuncExpr *) node)->args) != NIL)
			node = linitial(args);
		else
			return;
	}
	((FuncExpr *) node)->location = number;
}

/*
 * new_scope
 *		Returns a number that no other element has in the planning of a query, unless that has
 *		a billion.
 */
int
new_scope(void)
{
	static int	last = 0;

	last = last % 0x3fffffff + 1;
	return -last;
}

/*
 * within_scope
 *		Returns the scope of an element of an array that is within another element, or of one.
 */
List *
within_scope(List *scope, int number)
{
	return lappend_int(list_copy(scope), number);
}

/* begins_with: returns whether a scope begins with another one */
static bool
begins_with(List *scope, List *with)
{
	ListCell   *a;
	ListCell   *b;

	if (list_length(with) > list_length(scope))
		return false;
	forboth(a, scope, b, with)
	{
		if (lfirst_int(a) != lfirst_int(b))
			return false;
	}
	return true;
}

/* element_field: returns the multi-valued field that a comparison is of */
static Field *
element_field(IndexDef *def, Condition *condition)
{
	return field_of_column(def, def->layout.ident[condition->position]);
}

/*
 * is_of_deepest
 *		Returns whether a comparison is of an element of the innermost array: an entry stands
 *		for it.
 */
bool
is_of_deepest(IndexDef *def, Condition *condition)
{
	return is_element_position(def, condition->position) &&
		element_field(def, condition)->element_steps == def->spec.fields[def->spec.deepest].element_steps;
}

/*
 * is_same_element
 *		Returns whether a comparison is true of the element, or of one that has it within, that another one is
 *		true of, which is of the innermost array.
 */
bool
is_same_element(IndexDef *def, Condition *condition, Condition *deepest)
{
	if (condition == deepest)
		return true;
	if (condition->scope == NIL || deepest->scope == NIL || !begins_with(deepest->scope, condition->scope))
		return false;
	return !is_of_deepest(def, condition) || list_length(condition->scope) == list_length(deepest->scope);
}

/* scope_of_call: returns the scope of the element that a call stands for; NIL: it has no number */
static List *
scope_of_call(FuncExpr *call)
{
	ClauseScope outer = {0};

	if (call->location == 0 || call->location == -1)
		return NIL;
	(void) expression_tree_walker((Node *) call->args, collect_scope, &outer);
	return outer.several ? NIL : within_scope(outer.scope, call->location);
}

/* collect_scope: collects the scope of all elements in an expression */
static bool
collect_scope(Node *node, void *context)
{
	ClauseScope *clause = context;
	List	   *scope;

	if (node == NULL)
		return false;
	if (!IsA(node, FuncExpr) || !((FuncExpr *) node)->funcretset)
		return expression_tree_walker(node, collect_scope, context);
	scope = scope_of_call((FuncExpr *) node);
	if (scope == NIL || (!begins_with(scope, clause->scope) && !begins_with(clause->scope, scope)))
		clause->several = true;
	else if (list_length(scope) > list_length(clause->scope))
		clause->scope = scope;
	return false;
}

/*
 * set_scope_of_clause
 *		Sets the scope of comparisons that follow from a clause, if it is of one element, or of one and those
 *		that have it within.
 *
 * Those of an outer element have its part of the scope: as many numbers as there are arrays.
 */
void
set_scope_of_clause(IndexDef *def, Node *clause, List *conditions)
{
	ClauseScope scope = {0};

	(void) collect_scope(clause, &scope);
	if (scope.several || scope.scope == NIL)
		return;
	foreach_ptr(Condition, condition, conditions)
	{
		int			narrays;

		if (condition->scope != NIL || !is_element_position(def, condition->position))
			continue;
		narrays = number_of_arrays(element_field(def, condition));
		if (narrays <= list_length(scope.scope))
			condition->scope = list_copy_head(scope.scope, narrays);
	}
}

/*
 * are_of_same_element
 *		Returns whether a clause is of the same element as another one, which is of one of the innermost array,
 *		or of an element that has it within.
 */
bool
are_of_same_element(Node *clause, Node *deepest)
{
	ClauseScope scope = {0};
	ClauseScope inner = {0};

	(void) collect_scope(clause, &scope);
	(void) collect_scope(deepest, &inner);
	return !scope.several && !inner.several && scope.scope != NIL && begins_with(inner.scope, scope.scope);
}

/* number_of_arrays: returns how many arrays a multi-valued field is within, one within the other */
int
number_of_arrays(Field *field)
{
	int			result = 0;

	for (int i = 0; i < field->element_steps; i++)
		result += field->spec->steps[i].wildcard;
	return field->fact_attno != 0 ? 1 : result;
}

/*
 * is_of_elements
 *		Returns whether a comparison of an element is true of the one that the last of some functions returns,
 *		or of one that has it within; each of the functions, by their numbers, unnests what the one before it
 *		returns.
 */
bool
is_of_elements(IndexDef *def, Condition *condition, List *functions)
{
	return list_length(condition->scope) == number_of_arrays(element_field(def, condition)) &&
		begins_with(functions, condition->scope);
}

/*
 * unnest_elements
 *		Returns whether the last of such functions returns just the elements that entries of an index table
 *		stand for.
 */
bool
unnest_elements(IndexDef *def, List *rtable, List *functions, Index varno)
{
	Field	   *deepest = &def->spec.fields[def->spec.deepest];
	int			step = 0;

	foreach_int(function, functions)
	{
		RangeTblFunction *unnesting = linitial_node(RangeTblFunction, rt_fetch(function, rtable)->functions);
		FuncExpr   *call = (FuncExpr *) unnesting->funcexpr;
		Node	   *objects = call->funcretset ? json_of_records(call) : NULL;
		Node	   *array = whole_array_of(objects != NULL ? objects : linitial(call->args));
		bool		failed = false;

		if (call->funcid == F_UNNEST_ANYARRAY)
			return list_length(functions) == 1 && is_array_of_field(deepest, array, varno);
		if (!unnests_array(call) && objects == NULL)
			return false;
		foreach_int(outer, list_copy_head(functions, foreach_current_index(function)))
			array = with_elements(array, rtable, outer, &failed);
		while (step < deepest->element_steps && !deepest->spec->steps[step].wildcard)
			step++;
		if (failed || depends_on_json_path(array, NULL) || step == deepest->element_steps ||
			!is_value_after(def, deepest, step, array, varno))
			return false;
		step++;
	}
	return step == deepest->element_steps;
}

/*
 * asks_for_objects
 *		Returns whether a function raises an error for elements that are no objects.
 */
bool
asks_for_objects(RangeTblEntry *rte)
{
	return json_of_records((FuncExpr *) linitial_node(RangeTblFunction, rte->functions)->funcexpr) != NULL;
}

/*
 * tells_objects
 *		Returns whether it is recorded of an index table that rows have elements of the innermost array that
 *		are no objects: it has a member of them.
 */
bool
tells_objects(IndexDef *def)
{
	for (int e = 0; e < def->spec.nelements; e++)
	{
		Field	   *field = &def->spec.fields[def->spec.elements[e]];

		if (field->element_steps == def->spec.fields[def->spec.deepest].element_steps &&
			field->spec->nsteps > field->element_steps)
			return true;
	}
	return false;
}

/*
 * with_single_elements
 *		Returns the constants, of type jsonb, that have one element each of the arrays that the [*] of a path
 *		lead into: what contains a constant contains all of them.  NIL: there are no elements, or they
 *		are arrays.
 */
List *
with_single_elements(PathStep *steps, int nsteps, Const *json)
{
	List	   *result = NIL;

	foreach_ptr(Jsonb, single, single_elements(DatumGetJsonbP(json->constvalue), steps, nsteps))
		result = lappend(result, makeConst(JSONBOID, -1, InvalidOid, -1, JsonbPGetDatum(single), false, false));
	return result;
}

/* single_elements: returns the list of with_single_elements() as values (Jsonb *) */
static List *
single_elements(Jsonb *json, PathStep *steps, int nsteps)
{
	JsonbContainer *container = &json->root;
	JsonbValue *value = NULL;
	Datum	   *names = palloc(sizeof(Datum) * Max(nsteps, 1));
	List	   *elements = NIL;
	List	   *result = NIL;
	bool		is_array;
	int			n = 0;

	check_stack_depth();
	while (n < nsteps && !steps[n].wildcard)
		n++;
	if (n == nsteps)
		return list_make1(json);
	for (int i = 0; i < n; i++)
	{
		if (steps[i].is_index || !JsonContainerIsObject(container) ||
			(value = getKeyJsonValueFromContainer(container, steps[i].name, steps[i].len, NULL)) == NULL ||
			value->type != jbvBinary)
			return NIL;
		names[i] = PointerGetDatum(cstring_to_text_with_len(steps[i].name, steps[i].len));
		container = value->val.binary.data;
	}
	if (JsonContainerIsScalar(container))
		return NIL;
	is_array = JsonContainerIsArray(container);
	for (int i = 0; is_array && i < (int) JsonContainerSize(container) && i < MAX_SINGLE_ELEMENTS; i++)
	{
		value = getIthJsonbValueFromContainer(container, i);
		if (value->type != jbvBinary || !JsonContainerIsArray(value->val.binary.data))
			elements = list_concat(elements, single_elements(JsonbValueToJsonb(value), steps + n + 1,
															 nsteps - n - 1));
	}
	if (!is_array)
		elements = single_elements(n == 0 ? json : JsonbValueToJsonb(value), steps + n + 1, nsteps - n - 1);
	foreach_ptr(Jsonb, element, elements)
	{
		Datum		in_place = JsonbPGetDatum(element);

		if (is_array)
			in_place = DirectFunctionCall2(jsonb_concat, DirectFunctionCall1(jsonb_in, CStringGetDatum("[]")),
										   in_place);
		if (n > 0)
		{
			ArrayType  *path = construct_array(names, n, TEXTOID, -1, false, TYPALIGN_INT);

			in_place = DirectFunctionCall4(jsonb_set, JsonbPGetDatum(json), PointerGetDatum(path), in_place,
										   BoolGetDatum(false));
		}
		result = lappend(result, DatumGetJsonbP(in_place));
	}
	return result;
}

/* unnests_array: returns whether a function returns the elements of an array, each as one value */
static bool
unnests_array(FuncExpr *call)
{
	return call->funcid == F_JSONB_ARRAY_ELEMENTS || call->funcid == F_JSONB_ARRAY_ELEMENTS_TEXT ||
		(call->funcid == F_UNNEST_ANYARRAY && !type_is_rowtype(call->funcresulttype));
}

/*
 * element_of
 *		Returns the expression that stands for an element of an array, or NULL if it is not an
 *		array.
 */
Node *
element_of(Node *array)
{
	Oid			type = get_base_element_type(exprType(array));
	FuncExpr   *result;

	if (!OidIsValid(type))
		return NULL;
	result = makeFuncExpr(F_UNNEST_ANYARRAY, type, list_make1(array), exprCollation(array), exprCollation(array),
						  COERCE_EXPLICIT_CALL);
	result->funcretset = true;
	return (Node *) result;
}

/*
 * column_of_function
 *		Returns an expression that has the value of a column of a function that unnests an array,
 *		or a document: jsonb_array_elements() or unnest() itself, or a member of it; NULL if there is none.
 *
 * A function that makes records has in a column of type text what ->> has, and in others a cast of it.
 */
Node *
column_of_function(RangeTblEntry *rte, AttrNumber attno)
{
	RangeTblFunction *function;
	FuncExpr   *call;
	Node	   *element;
	Node	   *member;
	char	   *name;
	Oid			type;
	int32		typmod;

	if (rte->rtekind == RTE_TABLEFUNC && attno >= 1)
		return column_of_json_table(rte, attno);
	if (rte->rtekind != RTE_FUNCTION || list_length(rte->functions) != 1 || attno < 1)
		return NULL;
	function = linitial(rte->functions);
	call = (FuncExpr *) function->funcexpr;
	if (!IsA(call, FuncExpr) || call->args == NIL)
		return NULL;
	if (unnests_array(call))
	{
		if (attno > 1)
			return NULL;
		call = copyObject(call);
		linitial(call->args) = array_of(linitial(call->args));
		return (Node *) call;
	}
	if (!read_column(function, attno, &name, &type, &typmod))
		return NULL;
	element = array_of(json_of_records(call));
	if (call->funcretset)
	{
		element = (Node *) makeFuncExpr(F_JSONB_ARRAY_ELEMENTS, JSONBOID, list_make1(element), InvalidOid,
										InvalidOid, COERCE_EXPLICIT_CALL);
		((FuncExpr *) element)->funcretset = true;
	}
	member = (Node *) makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1, CStringGetTextDatum(name), false, false);
	if (type == JSONBOID)
		return (Node *) makeFuncExpr(F_JSONB_OBJECT_FIELD, JSONBOID, list_make2(element, member), InvalidOid,
									 InvalidOid, COERCE_EXPLICIT_CALL);
	member = (Node *) makeFuncExpr(F_JSONB_OBJECT_FIELD_TEXT, TEXTOID, list_make2(element, member),
								   DEFAULT_COLLATION_OID, InvalidOid, COERCE_EXPLICIT_CALL);
	if (type != TEXTOID)
	{
		CoerceViaIO *cast = makeNode(CoerceViaIO);

		cast->arg = (Expr *) member;
		cast->resulttype = type;
		cast->resultcollid = get_typcollation(type);
		cast->coerceformat = COERCE_EXPLICIT_CAST;
		cast->location = -1;
		member = (Node *) cast;
	}
	if (typmod != -1)
		member = coerce_to_target_type(NULL, member, type, type, typmod, COERCION_EXPLICIT, COERCE_EXPLICIT_CAST,
									   -1);
	return member;
}

/*
 * read_column
 *		Returns whether a function makes records of objects, and sets *name, *type and *typmod to those of a
 *		column.
 *
 * A text that is too long for a column of such a type is an error there, and truncated by a cast.
 */
static bool
read_column(RangeTblFunction *function, AttrNumber attno, char **name, Oid *type, int32 *typmod)
{
	FuncExpr   *call = (FuncExpr *) function->funcexpr;

	if (json_of_records(call) == NULL)
		return false;
	if (call->funcresulttype == RECORDOID)
	{
		if (attno > list_length(function->funccolnames))
			return false;
		*name = strVal(list_nth(function->funccolnames, attno - 1));
		*type = list_nth_oid(function->funccoltypes, attno - 1);
		*typmod = list_nth_int(function->funccoltypmods, attno - 1);
	}
	else
	{
		TupleDesc	desc = lookup_rowtype_tupdesc_copy(call->funcresulttype, -1);
		Form_pg_attribute att;

		if (attno > desc->natts)
			return false;
		att = TupleDescAttr(desc, attno - 1);
		if (att->attisdropped)
			return false;
		*name = NameStr(att->attname);
		*type = att->atttypid;
		*typmod = att->atttypmod;
	}
	return *typmod == -1 || (*type != VARCHAROID && *type != BPCHAROID);
}

/*
 * json_of_records
 *		Returns the argument of a function that makes a record of an object, or of each object of an array;
 *		NULL if it does not, or if members that are missing are not NULL in the record.
 */
static Node *
json_of_records(FuncExpr *call)
{
	Const	   *base = linitial(call->args);

	switch (call->funcid)
	{
		case F_JSONB_TO_RECORD:
		case F_JSONB_TO_RECORDSET:
			return linitial(call->args);
		case F_JSONB_POPULATE_RECORD:
		case F_JSONB_POPULATE_RECORDSET:
			return IsA(base, Const) && base->constisnull &&
				get_typtype(call->funcresulttype) == TYPTYPE_COMPOSITE ? lsecond(call->args) : NULL;
		default:
			return NULL;
	}
}

/* choices_of: returns the expressions of which CASE, coalesce() or NULLIF() is one, or NIL */
List *
choices_of(Node *node)
{
	List	   *result = NIL;

	if (IsA(node, CoalesceExpr))
		return ((CoalesceExpr *) node)->args;
	if (IsA(node, NullIfExpr))
		return list_make2(linitial(((NullIfExpr *) node)->args),
						  makeNullConst(exprType(node), -1, exprCollation(node)));
	if (!IsA(node, CaseExpr))
		return NIL;
	foreach_node(CaseWhen, when, ((CaseExpr *) node)->args)
		result = lappend(result, when->result);
	return lappend(result, ((CaseExpr *) node)->defresult);
}

/*
 * array_of
 *		Returns the only expression within CASE or coalesce() that may be an array with elements,
 *		as in CASE WHEN jsonb_typeof(doc -> 'tags') = 'array' THEN doc -> 'tags' ELSE '[]' END: an
 *		element is always one of it.
 */
static Node *
array_of(Node *arg)
{
	Node	   *result = NULL;

	foreach_ptr(Node, one, choices_of(arg))
	{
		if (has_no_elements(one))
			continue;
		if (result != NULL && !equal(result, one))
			return arg;
		result = one;
	}
	return result != NULL ? result : arg;
}

/*
 * whole_array_of
 *		Returns the array of array_of() if all of its elements are elements of the expression: if CASE
 *		asks for no more than that it is an array.
 */
Node *
whole_array_of(Node *arg)
{
	CaseExpr   *expr = (CaseExpr *) arg;
	Node	   *array = array_of(arg);
	CaseWhen   *when;
	Node	   *type;
	Const	   *name;
	List	   *args;

	if (!IsA(arg, CaseExpr))
		return IsA(arg, NullIfExpr) ? arg : array;
	when = linitial(expr->args);
	if (list_length(expr->args) != 1 || !equal(when->result, array) || !IsA(when->expr, OpExpr) ||
		((OpExpr *) when->expr)->opno != TextEqualOperator)
		return arg;
	type = linitial(((OpExpr *) when->expr)->args);
	if (IsA(type, CaseTestExpr))
		type = (Node *) expr->arg;
	name = lsecond(((OpExpr *) when->expr)->args);
	if (function_of(type, &args) == F_JSONB_TYPEOF && equal(linitial(args), array) && IsA(name, Const) &&
		!name->constisnull && strcmp(TextDatumGetCString(name->constvalue), "array") == 0)
		return array;
	return arg;
}

/* has_no_elements: returns whether an expression is NULL, or an array without elements */
static bool
has_no_elements(Node *node)
{
	Const	   *constant = (Const *) node;

	return IsA(node, Const) &&
		(constant->constisnull ||
		 (OidIsValid(get_base_element_type(constant->consttype)) &&
		  ARR_NDIM(DatumGetArrayTypeP(constant->constvalue)) == 0) ||
		 (constant->consttype == JSONBOID && JB_ROOT_IS_ARRAY(DatumGetJsonbP(constant->constvalue)) &&
		  JB_ROOT_COUNT(DatumGetJsonbP(constant->constvalue)) == 0));
}

/*
 * with_any_element
 *		Returns a condition with any element of an array in place of the one that it names by a
 *		number, or NULL if it does not name one: of an array in a document, or of the column that the field
 *		has the elements of.  Sets *may_be_member if the number may be that of an object's member, too.
 */
Node *
with_any_element(Node *clause, Field *field, Index varno, bool *may_be_member)
{
	AnyElement	any = {.field = field->fact_attno != 0 ? field : NULL,.varno = varno};

	clause = any_element(clause, &any);
	*may_be_member = any.may_be_member;
	return any.n == 1 ? clause : NULL;
}

static Node *
any_element(Node *node, void *context)
{
	AnyElement *any = context;
	List	   *args;
	Oid			function;
	Node	   *array = NULL;
	bool		as_text;

	if (node == NULL)
		return NULL;
	if (any->field != NULL)
	{
		SubscriptingRef *ref = (SubscriptingRef *) node;

		if (!IsA(node, SubscriptingRef) || ref->refassgnexpr != NULL || ref->reflowerindexpr != NIL ||
			!is_array_of_field(any->field, (Node *) ref->refexpr, any->varno))
			return expression_tree_mutator(node, any_element, context);
		any->n++;
		return element_of((Node *) ref->refexpr);
	}
	function = function_of(node, &args);
	as_text = function == F_JSONB_ARRAY_ELEMENT_TEXT || function == F_JSONB_EXTRACT_PATH_TEXT;
	if (function == F_JSONB_ARRAY_ELEMENT || function == F_JSONB_ARRAY_ELEMENT_TEXT)
		array = linitial(args);
	else if ((function == F_JSONB_EXTRACT_PATH || function == F_JSONB_EXTRACT_PATH_TEXT) &&
			 IsA(lsecond(args), Const))
	{
		array = without_last_name(linitial(args), lsecond(args));
		any->may_be_member = any->may_be_member || array != NULL;
	}
	else if (IsA(node, SubscriptingRef) && ((SubscriptingRef *) node)->refcontainertype == JSONBOID &&
			 ((SubscriptingRef *) node)->refassgnexpr == NULL &&
			 ((SubscriptingRef *) node)->reflowerindexpr == NIL &&
			 exprType(llast(((SubscriptingRef *) node)->refupperindexpr)) == INT4OID)
	{
		SubscriptingRef *ref = copyObject((SubscriptingRef *) node);

		ref->refupperindexpr = list_delete_last(ref->refupperindexpr);
		array = ref->refupperindexpr == NIL ? (Node *) ref->refexpr : (Node *) ref;
		any->may_be_member = true;
	}
	if (array == NULL)
		return expression_tree_mutator(node, any_element, context);
	any->n++;
	return (Node *) makeFuncExpr(as_text ? F_JSONB_ARRAY_ELEMENTS_TEXT : F_JSONB_ARRAY_ELEMENTS,
								 as_text ? TEXTOID : JSONBOID, list_make1(array),
								 as_text ? DEFAULT_COLLATION_OID : InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}

/*
 * without_last_name
 *		Returns what a path leads to before its last name, if that may be the number of an
 *		element; else NULL.
 */
static Node *
without_last_name(Node *doc, Const *names)
{
	Datum	   *elements;
	bool	   *nulls;
	int			n;

	if (names->constisnull || array_contains_nulls(DatumGetArrayTypeP(names->constvalue)))
		return NULL;
	deconstruct_array(DatumGetArrayTypeP(names->constvalue), TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls,
					  &n);
	if (n == 0 || !is_subscript(TextDatumGetCString(elements[n - 1])))
		return NULL;
	if (n == 1)
		return doc;
	names = makeConst(TEXTARRAYOID, -1, InvalidOid, -1,
					  PointerGetDatum(construct_array(elements, n - 1, TEXTOID, -1, false, TYPALIGN_INT)), false,
					  false);
	return (Node *) makeFuncExpr(F_JSONB_EXTRACT_PATH, JSONBOID, list_make2(doc, names), InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}
