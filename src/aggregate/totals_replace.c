/*-------------------------------------------------------------------------
 *
 * totals_replace.c
 *	  Replaces what a query asks of the rows of a fact table by what groups of totals have: count(*)
 *	  by the sum of their numbers of rows, for example.
 *
 * Aggregates that depend only on which values there are, such as max() or count(DISTINCT ...), are
 * the same over groups.  But a group of which all rows are gone may still have entries.  So they
 * read the groups that have rows, in a subquery.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "../candidate/candidate.h"
#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../scan/scan.h"
#include "../util/compat.h"
#include "../util/json_members.h"
#include "aggregate.h"

/* What a document has in key fields. */
typedef struct Equal
{
	IndexDef   *def;
	Index		varno;			/* the fact table */
	Node	   *document;		/* of which a condition is, or a part of it */
	List	   *result;			/* comparisons */
	uint32		unless;			/* rows have values of these kinds */
	bool		failed;
} Equal;

static Node *replace_aggregate(Aggref *agg, Replaced *replaced);
static bool is_of_values(Aggref *agg);
static Node *aggregate_of_keys(Aggref *agg, Expr *filter, Replaced *replaced);
static AttrNumber match_key_column(Replaced *replaced, Node *expr);
static bool is_element_field(Replaced *replaced, Field *field, Node *expr);
static bool is_added_field(Replaced *replaced, int i, Node *expr);
static AttrNumber rows_column(Replaced *replaced);
static Expr *column(IndexDef *def, AttrNumber attno, Index varno);
static Expr *sum_of(Expr *arg, Expr *filter);
static Expr *as_bigint(Expr *numeric);
static Expr *count_of(Expr *arg, Expr *filter);
static Expr *if_any(Expr *count, Expr *result);
static Expr *case_expression(Expr *condition, Expr *result, Expr *otherwise);
static Expr *is_some(Expr *count);
static List *equal_element(IndexDef *def, Node *clause, Index varno);
static void add_contained(Equal *equal, List *names, JsonbValue *value);
static bool is_named(Equal *equal, Field *field, bool element, List *names);
static void add_equal(Equal *equal, List *names, bool element, Expr *value);
static Expr *text_constant(JsonbValue *string);

/* replace_by_totals: replaces what is asked of the rows of a fact table by what groups have */
Node *
replace_by_totals(Node *node, void *context)
{
	Replaced   *replaced = context;
	Candidate  *c = replaced->c;
	AttrNumber	attno;

	if (node == NULL || replaced->failed)
		return node;
	if (IsA(node, Aggref))
		return replace_aggregate((Aggref *) node, replaced);
	attno = match_key_column(replaced, node);
	if (attno != 0)
	{
		Expr	   *result = column(c->def, attno, c->varno);

		if (exprType((Node *) result) != exprType(node) || exprCollation((Node *) result) != exprCollation(node))
			result = (Expr *) makeRelabelType(result, exprType(node), exprTypmod(node), exprCollation(node),
											  COERCE_IMPLICIT_CAST);
		return (Node *) result;
	}

	/*
	 * A function that returns a set stands for an element, of which there is
	 * no other field.  It may be within an aggregate or a condition, where
	 * nobody else looks for it, and the array may be a field of its own.
	 */
	if ((IsA(node, Var) && ((Var *) node)->varno == (int) c->varno && ((Var *) node)->varlevelsup == 0) ||
		(IsA(node, FuncExpr) && ((FuncExpr *) node)->funcretset) || IsA(node, PlaceHolderVar) ||
		IsA(node, GroupingFunc))
	{
		replaced->failed = true;
		return node;
	}
	return expression_tree_mutator(node, replace_by_totals, context);
}

/* match_key_column: returns the column of the key field that an expression is, or 0 */
static AttrNumber
match_key_column(Replaced *replaced, Node *expr)
{
	IndexDef   *def = replaced->c->def;
	AttrNumber	attno;

	if (IsA(expr, TargetEntry) || IsA(expr, List))
		return 0;
	attno = column_of_candidate(replaced->c, expr);
	for (int i = 0; i < def->spec.nkeys; i++)
		if (def->spec.fields[i].attno == attno)
			return attno;
	for (int e = 0; replaced->by_element && e < def->spec.nkey_elements; e++)
	{
		Field	   *field = &def->spec.fields[def->spec.elements[e]];

		if (is_element_field(replaced, field, expr) && values_read_otherwise(def, field->attno) == 0)
			return field->attno;
	}
	return 0;
}

/* is_element_field: returns whether an expression is a field of the elements that are rows */
static bool
is_element_field(Replaced *replaced, Field *field, Node *expr)
{
	return expression_is_element(replaced->c->def, field, expr, replaced->c->varno) &&
		!depends_on_json_path(expr, NULL);
}

/*
 * is_added_field
 *		Returns whether an expression is included field number i, and totals have added it up for each row of
 *		a query.
 *
 * Totals add up a field of a row once for each group that the row is in.  A query with a row for each element
 * does so once for each element.  So no two elements of a row may be in one group.
 */
static bool
is_added_field(Replaced *replaced, int i, Node *expr)
{
	IndexDef   *def = replaced->c->def;
	Field	   *field = &def->spec.fields[def->spec.nkeys + i];

	if (field->spec->multi)
		return replaced->by_element && is_element_field(replaced, field, expr);
	if (!expression_is_field(def, field, expr, replaced->c->varno) ||
		(field->fact_attno != EXPRESSION_ATTNO && depends_on_json_path(expr, NULL)))
		return false;
	if (!replaced->by_element)
		return true;
	if (!def->spec.multi || def->spec.nkeys >= 23 || !index_table_has_none(def, REPEATED_BIT, NULL))
		return false;
	replaced->c->unless |= REPEATED_BIT;
	return true;
}

/* replace_aggregate: replaces an aggregate over rows by what it is over groups */
static Node *
replace_aggregate(Aggref *agg, Replaced *replaced)
{
	Candidate  *c = replaced->c;
	IndexDef   *def = c->def;
	Expr	   *rows = column(def, rows_column(replaced), c->varno);
	Expr	   *filter = (Expr *) replace_by_totals((Node *) agg->aggfilter, replaced);
	Expr	   *arg = list_length(agg->args) == 1 ? ((TargetEntry *) linitial(agg->args))->expr : NULL;
	AttrNumber	attno;
	int			i;

	replaced->failed |= agg->agglevelsup != 0;
	if (is_of_values(agg))
		return aggregate_of_keys(agg, filter, replaced);
	replaced->failed |= agg->aggorder != NIL;
	if (agg->aggfnoid == F_COUNT_ ||
		(agg->aggfnoid == F_COUNT_ANY && IsA(arg, Const) && !((Const *) arg)->constisnull))
		return (Node *) count_of(rows, filter);
	if (arg == NULL || replaced->failed)
	{
		replaced->failed = true;
		return (Node *) agg;
	}
	attno = agg->aggfnoid == F_COUNT_ANY ? match_key_column(replaced, (Node *) arg) : 0;
	if (attno != 0)
	{
		NullTest   *test = makeNode(NullTest);

		test->arg = column(def, attno, c->varno);
		test->nulltesttype = IS_NOT_NULL;
		test->location = -1;
		return (Node *) count_of(rows, filter == NULL ? (Expr *) test : make_andclause(list_make2(filter, test)));
	}
	for (i = 0; i < def->spec.nincludes; i++)
		if (is_added_field(replaced, i, (Node *) arg))
			break;
	if (i < def->spec.nincludes)
	{
		Expr	   *count = column(def, def->layout.count_attno[i], c->varno);
		Expr	   *sum = SUM_ATTNO(def, i) != 0 ? column(def, SUM_ATTNO(def, i), c->varno) : NULL;

		replaced->sums = true;
		if (agg->aggfnoid == F_COUNT_ANY)
			return (Node *) count_of(count, filter);
		if (sum != NULL)
			switch (agg->aggfnoid)
			{
				case F_SUM_INT2:
				case F_SUM_INT4:
					return (Node *) if_any(count_of(count, filter), as_bigint(sum_of(sum, filter)));
				case F_SUM_INT8:
				case F_SUM_NUMERIC:
					return (Node *) if_any(count_of(count, filter), sum_of(sum, filter));
				case F_AVG_INT2:
				case F_AVG_INT4:
				case F_AVG_INT8:
				case F_AVG_NUMERIC:
					return (Node *) if_any(count_of(count, filter),
										   (Expr *) makeFuncExpr(F_NUMERIC_DIV, NUMERICOID,
																 list_make2(sum_of(sum, filter),
																			sum_of(count, filter)),
																 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL));
			}
	}
	replaced->failed = true;
	return (Node *) agg;
}

/*
 * is_of_values
 *		Returns whether an aggregate depends only on which values there are, and not on how
 *		often.
 */
static bool
is_of_values(Aggref *agg)
{
	static const char *const names[] = {"min", "max", "bool_and", "bool_or", "every", "bit_and", "bit_or"};

	if (agg->aggkind != AGGKIND_NORMAL)
		return false;
	if (agg->aggdistinct != NIL)
		return true;
	for (int i = 0; i < (int) lengthof(names); i++)
		if (agg->aggorder == NIL && get_func_namespace(agg->aggfnoid) == PG_CATALOG_NAMESPACE &&
			strcmp(get_func_name(agg->aggfnoid), names[i]) == 0)
			return true;
	return false;
}

/* aggregate_of_keys: returns such an aggregate over the key fields of groups */
static Node *
aggregate_of_keys(Aggref *agg, Expr *filter, Replaced *replaced)
{
	agg = copyObject(agg);
	agg->args = (List *) replace_by_totals((Node *) agg->args, replaced);
	agg->aggdirectargs = (List *) replace_by_totals((Node *) agg->aggdirectargs, replaced);
	agg->aggfilter = filter;
	replaced->fold = true;
	return (Node *) agg;
}

/* rows_column: returns the column with the number of rows of a query that groups stand for */
static AttrNumber
rows_column(Replaced *replaced)
{
	IndexLayout *layout = &replaced->c->def->layout;

	return replaced->by_element ? layout->elements_attno : layout->rows_attno;
}

/* has_rows: returns a condition on a group of entries, that it has rows of the query */
Node *
has_rows(Replaced *replaced, Index varno)
{
	return (Node *) is_some(count_of(column(replaced->c->def, rows_column(replaced), varno), NULL));
}

/*
 * then_check
 *		Returns a condition that is true if two are, and evaluates the second one only if the
 *		first one is true.
 */
Expr *
then_check(Expr *first, Expr *second)
{
	return (Expr *) case_expression(first, second, (Expr *) makeBoolConst(false, false));
}

/*
 * fold_groups
 *		Has a query read groups that have rows, each as one entry, in place of its only table, the
 *		table of totals: of the entries that satisfy some conditions.
 *
 * With a fence, the planner moves no condition of the query to the entries.
 */
void
fold_groups(Query *query, Replaced *replaced, List *quals, bool fence)
{
	IndexDef   *def = replaced->c->def;
	Query	   *groups = query_of_table(linitial(query->rtable), NIL,
										quals == NIL ? NULL : (Node *) make_ands_explicit(quals));
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	List	   *names = NIL;
	AttrNumber *added = palloc(sizeof(AttrNumber) * def->layout.desc->natts);
	int			nadded = added_columns(def, added);

	groups->hasAggs = true;
	move_permissions(query, groups);
	groups->havingQual = has_rows(replaced, 1);
	if (fence)
		groups->limitOffset = (Node *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(0), false,
												 FLOAT8PASSBYVAL);
	for (AttrNumber attno = 1; attno <= def->layout.desc->natts; attno++)
	{
		Form_pg_attribute att = TupleDescAttr(def->layout.desc, attno - 1);
		Expr	   *expr = NULL;
		TargetEntry *tle;
		bool		is_key = false;

		for (int i = 0; i < def->spec.nkeys; i++)
			is_key |= def->spec.fields[i].attno == attno;
		if (is_key)
			expr = column(def, attno, 1);
		for (int i = 0; i < nadded; i++)
			if (added[i] == attno)
				expr = att->atttypid == INT8OID ? count_of(column(def, attno, 1), NULL) :
					sum_of(column(def, attno, 1), NULL);
		if (expr == NULL)		/* dropped, or not ours */
			expr = (Expr *) makeNullConst(INT4OID, -1, InvalidOid);
		tle = makeTargetEntry(expr, attno, pstrdup(NameStr(att->attname)), false);
		if (is_key)
		{
			SortGroupClause *group = makeNode(SortGroupClause);

			tle->ressortgroupref = group->tleSortGroupRef = attno;
			get_sort_group_operators(att->atttypid, false, true, false, &group->sortop, &group->eqop, NULL,
									 &group->hashable);
			groups->groupClause = lappend(groups->groupClause, group);
		}
		groups->targetList = lappend(groups->targetList, tle);
		names = lappend(names, makeString(pstrdup(NameStr(att->attname))));
	}
	rte->rtekind = RTE_SUBQUERY;
	rte->subquery = groups;
	rte->eref = makeAlias(def->name, names);
	rte->inFromCl = true;
	query->rtable = list_make1(rte);
	pfree(added);
}

static Expr *
column(IndexDef *def, AttrNumber attno, Index varno)
{
	Form_pg_attribute att = TupleDescAttr(def->layout.desc, attno - 1);

	return (Expr *) makeVar(varno, attno, att->atttypid, att->atttypmod, att->attcollation, 0);
}

/* sum_of: returns the sum of a bigint or numeric expression, which is numeric */
static Expr *
sum_of(Expr *arg, Expr *filter)
{
	Aggref	   *agg = makeNode(Aggref);
	Oid			type = exprType((Node *) arg);

	agg->aggfnoid = type == INT8OID ? F_SUM_INT8 : F_SUM_NUMERIC;
	agg->aggtype = NUMERICOID;
	agg->aggargtypes = list_make1_oid(type);
	agg->args = list_make1(makeTargetEntry(copyObject(arg), 1, NULL, false));
	agg->aggfilter = copyObject(filter);
	agg->aggkind = AGGKIND_NORMAL;
	agg->aggsplit = AGGSPLIT_SIMPLE;
	agg->aggno = agg->aggtransno = -1;
	agg->location = -1;
	return (Expr *) agg;
}

static Expr *
as_bigint(Expr *numeric)
{
	return (Expr *) makeFuncExpr(F_INT8_NUMERIC, INT8OID, list_make1(numeric), InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CAST);
}

/* count_of: returns the sum of a column of counts, as a count: 0 if there is nothing */
static Expr *
count_of(Expr *arg, Expr *filter)
{
	CoalesceExpr *result = makeNode(CoalesceExpr);

	result->coalescetype = INT8OID;
	result->args = list_make2(as_bigint(sum_of(arg, filter)),
							  makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(0), false,
										FLOAT8PASSBYVAL));
	result->location = -1;
	return (Expr *) result;
}

/* if_any: returns an expression that is NULL if the count is 0 */
static Expr *
if_any(Expr *count, Expr *result)
{
	return case_expression(is_some(count), result,
						   (Expr *) makeNullConst(exprType((Node *) result), -1, InvalidOid));
}

/* case_expression: returns CASE WHEN condition THEN result ELSE otherwise END */
static Expr *
case_expression(Expr *condition, Expr *result, Expr *otherwise)
{
	CaseExpr   *expr = makeNode(CaseExpr);
	CaseWhen   *when = makeNode(CaseWhen);

	when->expr = condition;
	when->result = result;
	when->location = -1;
	expr->casetype = exprType((Node *) result);
	expr->args = list_make1(when);
	expr->defresult = otherwise;
	expr->location = -1;
	return (Expr *) expr;
}

/*
 * is_some
 *		Returns whether a count is not 0.  The planner expects nearly all of them to be so, as they
 *		are, but only a third to be greater.
 */
static Expr *
is_some(Expr *count)
{
	Oid			equal = lookup_type_cache(INT8OID, TYPECACHE_EQ_OPR)->eq_opr;

	return make_opclause(get_negator(equal), BOOLOID, false, count,
						 (Expr *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(0), false,
											FLOAT8PASSBYVAL),
						 InvalidOid, InvalidOid);
}

/*-------------------------------------------------------------------------
 * Tells what a query asks of totals by parts of documents: a group for each element of an array
 * that it unnests, or the rows that have an element, or that contain a document.
 *
 * A group has the number of its elements, and that of the rows that have any of these.  So by elements it has
 * the rows of FROM fact, jsonb_array_elements_text(doc -> 'tags') unless there is something else in place of
 * an array: that is recorded by UNEVEN_BIT.  And the rows of one group are all rows that have its
 * element, each once, if elements are all of the key.
 *-------------------------------------------------------------------------
 */

/*
 * find_unnested
 *		Returns whether a relation is a table, *rel, joined with nothing but what a function
 *		makes of each of its rows, *elements.
 */
bool
find_unnested(PlannerInfo *root, RelOptInfo *input, RelOptInfo **rel, RelOptInfo **elements)
{
	int			i = -1;

	if (input->reloptkind != RELOPT_JOINREL || root->join_info_list != NIL || bms_num_members(input->relids) != 2)
		return false;
	*rel = *elements = NULL;
	while ((i = bms_next_member(input->relids, i)) >= 0)
	{
		RelOptInfo *member = root->simple_rel_array[i];

		if (member == NULL || member->joininfo != NIL || member->has_eclass_joins)
			return false;
		if (member->rtekind == RTE_FUNCTION)
			*elements = member;
		else if (member->rtekind == RTE_RELATION)
			*rel = member;
	}
	return *rel != NULL && *elements != NULL && !planner_rt_fetch((*elements)->relid, root)->funcordinality &&
		column_of_function(planner_rt_fetch((*elements)->relid, root), 1) != NULL;
}

/*
 * equal_keys
 *		Returns comparisons of key fields with values, if just the rows that satisfy them all satisfy a
 *		condition; NIL if that is not so.  Sets *element if one of them, no more, is of the element.
 *		What rows must not have for that is added to *unless.
 *
 * The text of a number or of another value that is no string may be the same as that of a
 * string, but for most strings there is none.  Object members satisfy ?, too.
 */
List *
equal_keys(IndexDef *def, Node *clause, Index varno, uint32 *unless, bool *element)
{
	List	   *args;
	Oid			function = function_of(clause, &args);
	Equal		equal = {.def = def,.varno = varno};
	Node	   *value;

	if (IsA(clause, ScalarArrayOpExpr) || function == F_ARRAYCONTAINS || function == F_ARRAYCONTAINED ||
		function == F_ARRAYOVERLAP)
	{
		*element = true;
		return equal_element(def, clause, varno);
	}
	if (list_length(args) != 2 || depends_on_json_path(clause, NULL))
		return NIL;
	equal.document = linitial(args);
	value = lsecond(args);
	if (function == F_JSONB_EXISTS)
	{
		if (contain_var_clause(value) || contain_volatile_functions(value) || contain_subplans(value))
			return NIL;
		add_equal(&equal, NIL, true, (Expr *) value);
	}
	else if (IsA(value, Const) && !((Const *) value)->constisnull &&
			 (function == F_JSONB_CONTAINS || function == F_JSONB_EQ))
	{
		Jsonb	   *json = DatumGetJsonbP(((Const *) value)->constvalue);
		JsonbValue	whole;

		if (!JB_ROOT_IS_SCALAR(json))
		{
			whole.type = jbvBinary;
			whole.val.binary.data = &json->root;
		}
		else if (!JsonbExtractScalar(&json->root, &whole))
			return NIL;
		add_contained(&equal, NIL, &whole);

		/*
		 * An array contains a scalar that it has, too, and an object is equal
		 * only if it has no other members.
		 */
		equal.failed |= (function == F_JSONB_EQ) != JB_ROOT_IS_SCALAR(json);
	}
	if (equal.failed)
		return NIL;
	*element = equal.unless != 0;
	*unless |= equal.unless;
	return equal.result;
}

/*
 * equal_element
 *		Returns the comparison of the element that says the same as a condition on an array column: value =
 *		ANY (tags), or that it has the only member of another array; NIL if it is no such condition.
 */
static List *
equal_element(IndexDef *def, Node *clause, Index varno)
{
	Field	   *field = &def->spec.fields[def->spec.multi_field];
	ScalarArrayOpExpr *any = (ScalarArrayOpExpr *) clause;
	List	   *args;
	Oid			function = function_of(clause, &args);
	Oid			operator;
	Oid			collation = exprInputCollation(clause);
	Node	   *value;
	Oid			left;
	Oid			right;
	Expr	   *column;

	if (!def->spec.multi)
		return NIL;
	if (IsA(clause, ScalarArrayOpExpr))
	{
		if (!any->useOr || !is_array_of_field(field, lsecond(any->args), varno))
			return NIL;
		operator = get_commutator(any->opno);
		value = linitial(any->args);
	}
	else
	{
		List	   *members = NIL;
		Node	   *array = linitial(args);
		Node	   *other = lsecond(args);

		if (function == F_ARRAYCONTAINED ||
			(function == F_ARRAYOVERLAP && !is_array_of_field(field, array, varno)))
		{
			array = lsecond(args);
			other = linitial(args);
		}
		if (!is_array_of_field(field, array, varno))
			return NIL;
		if (IsA(other, ArrayExpr) && !((ArrayExpr *) other)->multidims)
			members = ((ArrayExpr *) other)->elements;
		else if (IsA(other, Const) && !((Const *) other)->constisnull)
			members = array_constants((Const *) other);
		if (list_length(members) != 1)
			return NIL;
		operator = lookup_type_cache(field->type, TYPECACHE_EQ_OPR)->eq_opr;
		value = linitial(members);
	}
	if (!OidIsValid(operator) || contain_var_clause(value) || contain_volatile_functions(value) ||
		contain_subplans(value) ||
		get_op_opfamily_strategy(operator, lookup_type_cache(field->type, TYPECACHE_BTREE_OPFAMILY)->btree_opf) !=
		BTEqualStrategyNumber)
		return NIL;
	if (OidIsValid(field->collation) && collation != field->collation &&
		(!OidIsValid(collation) || !get_collation_isdeterministic(collation) ||
		 !get_collation_isdeterministic(field->collation)))
		return NIL;
	op_input_types(operator, &left, &right);
	column = (Expr *) makeVar(varno, field->attno, field->type, field->typmod, field->collation, 0);
	if (left != field->type)
		column = (Expr *) makeRelabelType(column, left, -1, field->collation, COERCE_IMPLICIT_CAST);
	return list_make1(make_opclause(operator, BOOLOID, false, column, (Expr *) value, InvalidOid,
									field->collation));
}

/*
 * add_contained
 *		Adds the comparisons that say that a document contains a value at a path of names, which is no
 *		longer than that of some field.
 */
static void
add_contained(Equal *equal, List *names, JsonbValue *value)
{
	JsonbContainer *container = value->type == jbvBinary ? value->val.binary.data : NULL;
	JsonMembers members;
	JsonbValue *element;
	bool		named = false;

	for (int i = 0; i < equal->def->spec.nkeys; i++)
		named |= equal->def->spec.fields[i].spec->nsteps >= list_length(names);
	if (!named)
		equal->failed = true;
	else if (value->type == jbvString)
		add_equal(equal, names, false, text_constant(value));
	else if (container != NULL && JsonContainerIsArray(container) && JsonContainerSize(container) == 1 &&
			 (element = getIthJsonbValueFromContainer(container, 0))->type == jbvString)
		add_equal(equal, names, true, text_constant(element));
	else if (container != NULL && JsonContainerIsObject(container) && JsonContainerSize(container) > 0)
	{
		members.it = JsonbIteratorInit(container);
		while (!equal->failed && next_member(&members))
		{
			names = lappend(names, members.name);
			add_contained(equal, names, &members.value);
			names = list_delete_last(names);
		}
	}
	else
		equal->failed = true;
}

/*
 * add_equal
 *		Adds the comparison that says that there is a text at a path of names, or that an
 *		array there has it as an element.
 */
static void
add_equal(Equal *equal, List *names, bool element, Expr *value)
{
	IndexDef   *def = equal->def;
	Const	   *constant = (Const *) value;
	bool		string = IsA(value, Const) && !constant->constisnull &&
		only_string(VARDATA_ANY(DatumGetPointer(constant->constvalue)),
					VARSIZE_ANY_EXHDR(DatumGetPointer(constant->constvalue)));

	for (int i = 0; i < def->spec.nkeys; i++)
	{
		Field	   *field = &def->spec.fields[i];
		Expr	   *column = (Expr *) makeVar(equal->varno, field->attno, field->type,
											  field->typmod, field->collation,
											  0);

		if ((i == def->spec.multi_field) != element || !is_named(equal, field, element, names))
			continue;
		equal->failed |= element ? (equal->unless & UNEVEN_BIT) != 0 : !string;
		if (element)
			equal->unless |= string ? UNEVEN_BIT : UNEVEN_BIT | NO_STRING_BIT;
		equal->result = lappend(equal->result,
								make_opclause(TextEqualOperator, BOOLOID, false, column, value, InvalidOid,
											  field->collation));
		return;
	}
	equal->failed = true;
}

/*
 * is_named
 *		Returns whether a text field's path, without a [*] at its end, leads to the document
 *		and then by these names to its end.
 */
static bool
is_named(Equal *equal, Field *field, bool element, List *names)
{
	int			nsteps = field->spec->nsteps - (element ? 1 : 0);
	int			first = nsteps - list_length(names);

	if (field->type != TEXTOID || field->fact_attno != 0 || field->convert != NULL || first < 0 ||
		(element && nsteps != field->plain_steps) ||
		!is_value_after(equal->def, field, first, equal->document, equal->varno))
		return false;
	foreach_ptr(char, name, names)
	{
		PathStep   *step = &field->spec->steps[first + foreach_current_index(name)];

		if (step->is_index || step->len != (int) strlen(name) || memcmp(step->name, name, step->len) != 0)
			return false;
	}
	return true;
}

static Expr *
text_constant(JsonbValue *string)
{
	return (Expr *) makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
							  PointerGetDatum(cstring_to_text_with_len(string->val.string.val,
																	   string->val.string.len)),
							  false, false);
}
