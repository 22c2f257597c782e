/*-------------------------------------------------------------------------
 *
 * totals_path.c
 *	  Gives the planner paths that answer aggregates from tables of totals.
 *
 * Such a path has two queries in place of the table: one of the table of totals, in which
 * count(*) has become the sum of the numbers of rows, and one of the fact table, as it was.
 * Which of them is run is decided when the plan is executed (totals_node.c).  Both are planned
 * by the server, which so chooses by what entries are found, and how groups are made.
 *
 * A group of which all rows are gone may still have entries, whose sum is zero: GROUP BY leaves
 * it out.  A sum of no values is NULL, so the number of values decides.  What may raise an error
 * must not be shown such a group.  So a query that has it reads groups, in a subquery that knows
 * their sums, and its conditions are checked in the order in which the server would.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"

#include "../candidate/candidate.h"
#include "../catalog/catalog.h"
#include "../planner/planner.h"
#include "../reasons/reasons.h"
#include "../scan/scan.h"
#include "../util/compat.h"
#include "aggregate.h"

/* What is asked of totals. */
typedef struct Asked
{
	PlannerInfo *root;
	RelOptInfo *rel;			/* the fact table */
	RelOptInfo *elements;		/* a function that unnests an array of it, or
								 * NULL */
	RelOptInfo *grouped;
	PathTarget *target;			/* what it returns */
	List	   *groups;			/* SortGroupClauses, of GROUP BY or DISTINCT */
	List	   *clauses;		/* conditions on both */
} Asked;

static const char *unserved(Asked *asked);
static void add_path_of_totals(Asked *asked, Served *served, IndexDef *def);
static const char *why_uncounted(Replaced *replaced);
static const char *replace_rows(Asked *asked, Query *query, Replaced *replaced);
static const char *replace_elements(Asked *asked, Query *query, Replaced *replaced);
static Query *query_of(Asked *asked, RangeTblEntry *rte, List *filter);
static bool forget_plan(Node *node, void *context);
static List *relations_of(Asked *asked);
static void take_parameters(Query *query, Asked *asked, List **values);
static Plan *make_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
					   List *children);

static const CustomPathMethods path_methods = {.CustomName = TOTALS_NAME,.PlanCustomPath = make_plan};

/*
 * add_totals_paths
 *		Adds paths that answer what is asked of a relation that is grouped, or made distinct, from
 *		tables of totals of its only table, which may be joined with the elements of an array of it.
 */
void
add_totals_paths(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *grouped, UpperRelationKind stage)
{
	Asked		asked = {.root = root,.rel = rel,.grouped = grouped};
	Query	   *parse = root->parse;
	Served		served;
	const char *why;

	asked.target = grouped->reltarget;
	asked.groups = parse->groupClause;
	if (stage == UPPERREL_DISTINCT)
	{
		if (parse->hasDistinctOn || parse->hasAggs || parse->groupClause != NIL || parse->havingQual != NULL ||
			parse->hasWindowFuncs)
			return;
		asked.target = root->upper_targets[UPPERREL_DISTINCT];
		asked.groups = parse->distinctClause;
	}
	if (rel->reloptkind != RELOPT_BASEREL && !find_unnested(root, rel, &asked.rel, &asked.elements))
		return;
	asked.clauses = in_server_order(root, asked.rel->baserestrictinfo);
	if (asked.elements != NULL)
		asked.clauses = list_concat(asked.clauses, in_server_order(root, asked.elements->baserestrictinfo));
	why = unserved(&asked);
	if (find_served(root, asked.rel->relid, true, &served))
	{
		foreach_ptr(IndexDef, def, served.defs)
		{
			if (why == NULL)
				add_path_of_totals(&asked, &served, def);
			else
				give_reason(served.fact->relid, def->relid, why);
		}
	}
}

/* unserved: returns why no totals can answer a query, or NULL */
static const char *
unserved(Asked *asked)
{
	Query	   *parse = asked->root->parse;
	Node	   *exprs = (Node *) asked->target->exprs;
	const char *reason = unfit_clauses(asked->clauses);
	bool		depends_on_more = false;	/* than groups and parameters */

	if (reason != NULL)
		return reason;
	if (parse->groupingSets != NIL)
		return "the query has grouping sets";
	foreach_ptr(RestrictInfo, rinfo, asked->clauses)
	{
		if (is_deeply_nested((Node *) rinfo->clause))
			return "a condition is nested too deep";
	}
	foreach_ptr(RestrictInfo, rinfo, asked->clauses)
		depends_on_more |= rinfo->pseudoconstant || contain_subplans((Node *) rinfo->clause) ||
		contain_volatile_functions((Node *) rinfo->clause);
	if (depends_on_more || contain_subplans(exprs) || contain_subplans(parse->havingQual) ||
		contain_volatile_functions(exprs) || contain_volatile_functions(parse->havingQual))
		return "it has a condition or an aggregate with a subquery or a volatile function";
	return NULL;
}

static void
add_path_of_totals(Asked *asked, Served *served, IndexDef *def)
{
	RelOptInfo *grouped = asked->grouped;
	RangeTblEntry *fact = planner_rt_fetch(asked->rel->relid, asked->root);
	Candidate  *c = consider_totals(def, asked->rel->baserestrictinfo, asked->rel->relid);
	Replaced	replaced = {.c = c};
	RangeTblEntry *rte;
	Query	   *query;
	Query	   *fallback;
	PlannedStmt *plan;
	CustomPath *path;
	List	   *values = NIL;
	const char *why;
	bool		fence;

	if (c == NULL)
	{
		give_reason(served->fact->relid, def->relid, "its filter does not follow from the conditions");
		return;
	}
	rte = relation_of_index_table(def);
	rte->inFromCl = true;
	query = query_of(asked, rte, c->filter);
	if (query == NULL)
		return;
	why = replace_rows(asked, query, &replaced);

	if (why == NULL && def->spec.sparse)
		why = why_uncounted(&replaced);

	/*
	 * Groups are shown to all conditions in any order.  So where row security
	 * applies, none may tell what it is shown.
	 */
	if (why == NULL && fact->securityQuals != NIL && contain_leaked_vars(query->jointree->quals))
		why = "a condition must not see what row security hides";

	if (why == NULL && !totals_complete(def, replaced.sums, NULL))
		why = "values were skipped";
	if (why != NULL)
	{
		give_reason(served->fact->relid, def->relid, why);
		return;
	}
	fence = shows_groups((Node *) query, NULL);
	if (replaced.fold || fence)
		fold_groups(query, &replaced, take_safe_conditions(query), fence);
	else if (query->groupClause != NIL)
		query->havingQual = (Node *) make_and_qual(query->havingQual,
												   has_rows(&replaced, c->varno));
	query->hasAggs = true;
	query->hasTargetSRFs = false;
	take_parameters(query, asked, &values);
	fallback = query_of(asked, fact, NIL);
	if (asked->elements != NULL)
		add_unnesting(fallback, planner_rt_fetch(asked->elements->relid, asked->root), relations_of(asked),
					  &values);
	take_parameters(fallback, asked, &values);
	plan = plan_without_index_tables(query, 0, NULL);
	path = makeNode(CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = grouped;
	path->path.pathtarget = asked->target;
	path->path.rows = plan->planTree->plan_rows;
	path->path.startup_cost = plan->planTree->startup_cost;
	path->path.total_cost = plan->planTree->total_cost;
	prefer_if_forced(&path->path);
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->methods = &path_methods;
	path->custom_private = list_make5(list_make2_oid(served->fact->relid, def->relid),
									  list_make2_int(replaced.sums, c->unless),
									  functions_called((Node *) fallback), plan, fallback);
	path->custom_private = lappend(path->custom_private, values);
	path->custom_private = lappend(path->custom_private, def);
	path->custom_private = lappend(path->custom_private, makeInteger(asked->rel->relid));
	give_reason(served->fact->relid, def->relid, REASON_COST);
	add_path(grouped, (Path *) path);
}

/*
 * why_uncounted
 *		Returns why a row that a query asks for may count in no group of a sparse table of totals, or NULL.
 *
 * What is compared for equality in place of a condition on documents is there.
 */
static const char *
why_uncounted(Replaced *replaced)
{
	Candidate	asked = *replaced->c;

	if (replaced->by_element)
		return "it is sparse, and the query has elements that are null";
	foreach_ptr(Node, equal, replaced->equal)
	{
		foreach_ptr(Var, var, IsA(equal, OpExpr) ? pull_var_clause(equal, 0) : NIL)
		{
			for (int i = 0; i < asked.def->spec.nkeys; i++)
			{
				Condition  *condition;

				if (asked.def->spec.fields[i].attno != var->varattno)
					continue;
				condition = palloc0(sizeof(Condition));
				condition->position = i;
				asked.conditions = lappend(asked.conditions, condition);
			}
		}
	}
	return why_lacking(&asked);
}

/* replace_rows: makes a query of rows one of totals; returns why that cannot be, or NULL */
static const char *
replace_rows(Asked *asked, Query *query, Replaced *replaced)
{
	const char *why = replace_elements(asked, query, replaced);

	if (why != NULL)
		return why;
	query->targetList = (List *) replace_by_totals((Node *) query->targetList, replaced);
	query->jointree->quals = replace_by_totals(query->jointree->quals, replaced);
	query->havingQual = replace_by_totals(query->havingQual, replaced);
	query->jointree->quals = (Node *) list_concat((List *) query->jointree->quals, replaced->equal);
	if (replaced->failed)
		return "the query needs more than its totals";
	return NULL;
}

/*
 * replace_elements
 *		Replaces what a query has of the elements of an array, and conditions on documents, by what
 *		totals have of it; returns why that cannot be, or NULL.
 */
static const char *
replace_elements(Asked *asked, Query *query, Replaced *replaced)
{
	Candidate  *c = replaced->c;
	List	   *rtable = asked->root->parse->rtable;
	List	   *quals = NIL;
	bool		one_element = false;

	if (asked->elements != NULL)
	{
		Index		varno = asked->elements->relid;

		if (c->def->spec.nelements == 0 ||
			!unnest_elements(c->def, rtable, list_make1_int(varno), c->varno))
			return "the query unnests something else";
		if (asks_for_objects(rt_fetch(varno, rtable)))
		{
			if (!tells_objects(c->def))
				return "elements have to be objects, and it does not tell that of all of them";
			c->unless |= NO_OBJECT_BIT;
		}
		query->targetList = (List *) with_elements((Node *) query->targetList, rtable, varno, &replaced->failed);
		query->jointree->quals = with_elements(query->jointree->quals, rtable, varno, &replaced->failed);
		query->havingQual = with_elements(query->havingQual, rtable, varno, &replaced->failed);
	}
	replaced->by_element = c->def->spec.nelements > 0 &&
		(asked->elements != NULL || expression_returns_set((Node *) query->targetList));
	if (replaced->by_element)
		c->unless |= UNEVEN_BIT;
	foreach_ptr(Node, qual, (List *) query->jointree->quals)
	{
		uint32		unless = 0;
		bool		element = false;
		List	   *equal = equal_keys(c->def, qual, c->varno, &unless, &element);

		/*
		 * One element only: two would be two groups, and each of them has
		 * rows that lack the other.
		 */
		if (equal != NIL && !(element && (one_element || replaced->by_element || c->def->spec.nkey_elements > 1)))
		{
			replaced->equal = list_concat(replaced->equal, equal);
			c->unless |= unless;
			one_element |= element;
		}
		else
			quals = lappend(quals, qual);
	}
	query->jointree->quals = (Node *) quals;
	if (c->def->spec.multi && !one_element && !replaced->by_element)
		return "a row counts for each of its elements";
	if (c->unless != 0 && !index_table_has_none(c->def, c->unless, NULL))
		return "there is something else in place of an array, an object or a string";
	return NULL;
}

/*
 * query_of
 *		Returns the query for what is asked, with rte as its only table.  It has the columns of the
 *		fact table still, and no conditions that all rows satisfy which satisfy the filter.  Its
 *		quals are a list.
 */
static Query *
query_of(Asked *asked, RangeTblEntry *rte, List *filter)
{
	Query	   *parse = asked->root->parse;
	PathTarget *target = asked->target;
	Query	   *query;
	List	   *quals = NIL;

	rte = copyObject(rte);
	if (rte->relid == planner_rt_fetch(asked->rel->relid, asked->root)->relid)
	{
		rte->inh = rte->relkind == RELKIND_PARTITIONED_TABLE;
		rte->self_reference = false;	/* see unexpanded_partitions.c */
	}
	rte->securityQuals = NIL;
	query = query_of_table(rte, NIL, NULL);
	forget_permissions(query, rte, parse);
	foreach_ptr(Expr, expr, target->exprs)
	{
		TargetEntry *tle = makeTargetEntry(copyObject(expr), foreach_current_index(expr) + 1, NULL, false);

		tle->ressortgroupref = get_pathtarget_sortgroupref(target, foreach_current_index(expr));
		query->targetList = lappend(query->targetList, tle);
	}

	/*
	 * Those that a condition makes constant are there, too: without them
	 * there would be a row of nothing.
	 */
	foreach_ptr(SortGroupClause, clause, asked->groups)
	{
		bool		found = false;

		foreach_ptr(TargetEntry, tle, query->targetList)
			found |= tle->ressortgroupref == clause->tleSortGroupRef;
		if (!found)
			return NULL;
		query->groupClause = lappend(query->groupClause, copyObject(clause));
	}

	foreach_ptr(RestrictInfo, rinfo, asked->clauses)
	{
		Expr	   *clause = rinfo->clause;

		if (filter == NIL || contain_mutable_functions((Node *) clause) ||
			!predicate_implied_by(list_make1(clause), filter, false))
			quals = lappend(quals, copyObject(clause));
	}
	query->hasAggs = parse->hasAggs;
	query->hasTargetSRFs = expression_returns_set((Node *) query->targetList);
	query->jointree->quals = (Node *) quals;
	if (parse->havingQual != NULL)
		query->havingQual = (Node *) make_ands_explicit(copyObject((List *) parse->havingQual));
	(void) forget_plan((Node *) query, NULL);
	return query;
}

/* forget_plan: removes what the planner has noted in the aggregates of a copied query */
static bool
forget_plan(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, forget_plan, context, 0);
	if (IsA(node, Aggref))
	{
		((Aggref *) node)->aggno = ((Aggref *) node)->aggtransno = -1;
		forget_presorted((Aggref *) node);
	}
	return expression_tree_walker(node, forget_plan, context);
}

/* relations_of: lists the relations of a query by their numbers, for replace_by_parameters() */
static List *
relations_of(Asked *asked)
{
	List	   *result = list_make1_int(asked->rel->relid);

	return asked->elements != NULL ? lappend_int(result, asked->elements->relid) : result;
}

/*
 * take_parameters
 *		Makes a query one of its own tables, and adds what it has of the query around it to
 *		values.
 */
static void
take_parameters(Query *query, Asked *asked, List **values)
{
	List	   *varnos = relations_of(asked);
	List	   *quals = (List *) query->jointree->quals;

	query->targetList = (List *) replace_by_parameters((Node *) query->targetList, varnos, values);
	query->jointree->quals = quals == NIL ? NULL :
		replace_by_parameters((Node *) make_ands_explicit(quals), varnos, values);
	query->havingQual = replace_by_parameters(query->havingQual, varnos, values);
	if (linitial_node(RangeTblEntry, query->rtable)->rtekind == RTE_SUBQUERY)
	{
		FromExpr   *from = linitial_node(RangeTblEntry, query->rtable)->subquery->jointree;

		from->quals = replace_by_parameters(from->quals, varnos, values);
	}
}

/* make_plan: makes the plan of a path */
static Plan *
make_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses, List *children)
{
	CustomScan *scan = makeNode(CustomScan);
	Index		varno = intVal(list_nth(path->custom_private, TOTALS_VARNO));
	IndexDef   *def = list_nth(path->custom_private, TOTALS_DEF);
	PlannedStmt *plan = list_nth(path->custom_private, TOTALS_PLAN);
	List	   *values = list_nth(path->custom_private, TOTALS_VALUES);

	/*
	 * The planner takes an expression that is found here from the row of the
	 * scan. There is none yet when the parameters of the queries are
	 * evaluated, so these must not be found.
	 */
	foreach_ptr(Node, expr, path->path.pathtarget->exprs)
	{
		expr = list_member(values, expr) ?
			(Node *) makeNullConst(exprType(expr), exprTypmod(expr), exprCollation(expr)) :
			copyObject(expr);
		scan->custom_scan_tlist = lappend(scan->custom_scan_tlist,
										  makeTargetEntry((Expr *) expr, foreach_current_index(expr) + 1, NULL,
														  false));
	}
	scan->scan.plan.targetlist = tlist;
	scan->scan.scanrelid = varno;
	scan->flags = path->flags;
	scan->methods = GetCustomScanMethods(TOTALS_NAME, false);
	scan->custom_exprs = values;
	scan->custom_private = list_truncate(list_copy(path->custom_private), TOTALS_VALUES);
	root->parse->rtable = lappend(root->parse->rtable, relation_of_index_table(def));
	root->glob->invalItems = list_concat(root->glob->invalItems, copyObject(plan->invalItems));
	note_use(def->fact->relid, def->relid, REASON_ADDED_UP);
	return &scan->scan.plan;
}
