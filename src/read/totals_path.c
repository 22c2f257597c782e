/*-------------------------------------------------------------------------
 *
 * totals_path.c
 *	  Gives the planner paths that answer aggregates from tables of totals.
 *
 * Such a path has two queries in place of the table: one of the table of totals, in which
 * count(*) has become the sum of the numbers of rows, and one of the fact table, as it was.
 * Which of them is run is decided when the plan is executed (totals_scan.c).  Both are planned
 * by the server, which so chooses by what entries are found, and how groups are made.
 *
 * A group of which all rows are gone may still have entries, whose sum is zero: GROUP BY leaves
 * it out.  A sum of no values is NULL, so the number of values decides.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"

#include "../catalog/completeness.h"
#include "../definition/totals.h"
#include "../util/compat.h"
#include "../util/settings.h"
#include "candidate.h"
#include "field_match.h"
#include "path.h"
#include "path_cost.h"
#include "scan_plan.h"
#include "served.h"
#include "totals_path.h"

/* What is replaced in a query of totals. */
typedef struct Replaced
{
	Candidate  *c;				/* the table of totals, and the fact table */
	bool		sums;			/* a sum is used */
	bool		failed;			/* totals do not have all that is needed */
} Replaced;

static const char *unserved(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *grouped);
static void add_path_of_totals(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *grouped, Served *served, IndexDef *def);
static Query *query_of(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *grouped, RangeTblEntry *rte, List *filter);
static void take_parameters(Query *query, Index varno, List **values);
static Plan *make_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses, List *children);
static Node *replace_by_totals(Node *node, void *context);
static Node *replace_aggregate(Aggref *agg, Replaced *replaced);
static AttrNumber key_column(Replaced *replaced, Node *expr);
static Expr *column(IndexDef *def, AttrNumber attno, Index varno);
static Expr *sum_of(Expr *arg, Expr *filter);
static Expr *as_bigint(Expr *numeric);
static Expr *count_of(Expr *arg, Expr *filter);
static Expr *if_any(Expr *count, Expr *result);
static Expr *is_positive(Expr *count);
static bool depends_on_more(List *clauses);

static const CustomPathMethods path_methods = {.CustomName = TOTALS_NAME,.PlanCustomPath = make_plan};

/* add_totals_paths: adds paths that answer what is asked of a grouped relation from tables of totals of its only table */
void
add_totals_paths(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *grouped)
{
	Served		served;
	const char *why;
	ListCell   *cell;

	if (!open_totals(root, rel->relid, &served))
		return;
	why = unserved(root, rel, grouped);
	foreach(cell, served.defs)
	{
		if (why == NULL)
			add_path_of_totals(root, rel, grouped, &served, lfirst(cell));
		else
			give_reason(served.fact->relid, ((IndexDef *) lfirst(cell))->relid, why);
	}
	close_served(&served);
}

/* unserved: returns why no totals can answer a query, or NULL */
static const char *
unserved(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *grouped)
{
	Query	   *parse = root->parse;
	const char *reason = unfit_clauses(rel->baserestrictinfo);

	if (reason != NULL)
		return reason;
	if (parse->groupingSets != NIL || parse->hasTargetSRFs || root->numOrderedAggs > 0)
		return "the query has grouping sets, or aggregates with DISTINCT or ORDER BY";
	if (depends_on_more(rel->baserestrictinfo) || contain_subplans((Node *) grouped->reltarget->exprs) ||
		contain_subplans(parse->havingQual) || contain_volatile_functions((Node *) grouped->reltarget->exprs) ||
		contain_volatile_functions(parse->havingQual))
		return "it has a condition or an aggregate with a subquery or a volatile function";
	return NULL;
}

/* depends_on_more: returns whether conditions depend on more than groups and parameters */
static bool
depends_on_more(List *clauses)
{
	ListCell   *cell;

	foreach(cell, clauses)
	{
		RestrictInfo *rinfo = lfirst(cell);

		if (rinfo->pseudoconstant || contain_subplans((Node *) rinfo->clause) || contain_volatile_functions((Node *) rinfo->clause))
			return true;
	}
	return false;
}

static void
add_path_of_totals(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *grouped, Served *served, IndexDef *def)
{
	Candidate  *c = consider_totals(def, rel->baserestrictinfo, rel->relid);
	Replaced	replaced = {.c = c};
	RangeTblEntry *rte;
	Query	   *query;
	Query	   *fallback;
	PlannedStmt *plan;
	CustomPath *path;
	List	   *values = NIL;

	if (c == NULL)
	{
		give_reason(served->fact->relid, def->relid, "its filter does not follow from the conditions");
		return;
	}
	fallback = query_of(root, rel, grouped, planner_rt_fetch(rel->relid, root), NIL);
	if (fallback == NULL)
		return;
	rte = makeNode(RangeTblEntry);
	rte->rtekind = RTE_RELATION;
	rte->relid = def->relid;
	rte->relkind = RELKIND_RELATION;
	rte->rellockmode = AccessShareLock;
	rte->eref = makeAlias(def->name, NIL);
	rte->inFromCl = true;
	query = query_of(root, rel, grouped, rte, c->filter);
	query->targetList = (List *) replace_by_totals((Node *) query->targetList, &replaced);
	query->jointree->quals = replace_by_totals(query->jointree->quals, &replaced);
	query->havingQual = replace_by_totals(query->havingQual, &replaced);
	if (replaced.failed)
	{
		give_reason(served->fact->relid, def->relid, "the query needs more than its totals");
		return;
	}

	/*
	 * Groups are shown to all conditions in any order.  So where row security
	 * applies, none may tell what it is shown.
	 */
	if (planner_rt_fetch(rel->relid, root)->securityQuals != NIL && contain_leaked_vars(query->jointree->quals))
	{
		give_reason(served->fact->relid, def->relid, "a condition must not see what row security hides");
		return;
	}
	if (!index_table_complete(def, def->nkeys + (replaced.sums ? 0 : 1), NULL))
	{
		give_reason(served->fact->relid, def->relid, "values were skipped");
		return;
	}
	if (query->groupClause != NIL)
		query->havingQual = (Node *) make_and_qual(query->havingQual,
												   (Node *) is_positive(count_of(column(def, def->rows_attno, rel->relid), NULL)));
	query->hasAggs = true;
	take_parameters(query, rel->relid, &values);
	take_parameters(fallback, rel->relid, &values);
	plan = plan_without_index_tables(query, NULL);
	path = makeNode(CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = grouped;
	path->path.pathtarget = grouped->reltarget;
	path->path.rows = plan->planTree->plan_rows;
	path->path.startup_cost = plan->planTree->startup_cost;
	path->path.total_cost = plan->planTree->total_cost;
	prefer_if_forced(&path->path);
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->methods = &path_methods;
	path->custom_private = list_make4(list_make2_oid(served->fact->relid, def->relid),
									  list_make2_int(def->nkeys + (replaced.sums ? 0 : 1), c->unless),
									  plan, fallback);
	path->custom_private = lappend(path->custom_private, values);
	path->custom_private = lappend(path->custom_private, def);
	give_reason(served->fact->relid, def->relid, REASON_COST);
	add_path(grouped, (Path *) path);
}

/*
 * query_of
 *		Returns the query for what is asked of a grouped relation, with rte as its only table.  It
 *		has the columns of the fact table still, and no conditions that all rows satisfy which
 *		satisfy the filter.
 */
static Query *
query_of(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *grouped, RangeTblEntry *rte, List *filter)
{
	PathTarget *target = grouped->reltarget;
	Query	   *query = makeNode(Query);
	RangeTblRef *ref = makeNode(RangeTblRef);
	List	   *quals = NIL;
	ListCell   *cell;

	rte = copyObject(rte);
	if (rte->relid == planner_rt_fetch(rel->relid, root)->relid)
	{
		rte->inh = rte->relkind == RELKIND_PARTITIONED_TABLE;
		rte->self_reference = false;	/* see unexpanded.c */
	}
	rte->securityQuals = NIL;
	query->rtable = list_make1(rte);
	forget_permissions(query, rte, root->parse);
	foreach(cell, target->exprs)
	{
		TargetEntry *tle = makeTargetEntry(copyObject(lfirst(cell)), foreach_current_index(cell) + 1, NULL, false);

		tle->ressortgroupref = get_pathtarget_sortgroupref(target, foreach_current_index(cell));
		query->targetList = lappend(query->targetList, tle);
	}

	/*
	 * Those that a condition makes constant are there, too: without them
	 * there would be a row of nothing.
	 */
	foreach(cell, root->parse->groupClause)
	{
		SortGroupClause *clause = lfirst(cell);
		ListCell   *tle;
		bool		found = false;

		foreach(tle, query->targetList)
			found |= ((TargetEntry *) lfirst(tle))->ressortgroupref == clause->tleSortGroupRef;
		if (!found)
			return NULL;
		query->groupClause = lappend(query->groupClause, copyObject(clause));
	}

	foreach(cell, rel->baserestrictinfo)
	{
		Expr	   *clause = ((RestrictInfo *) lfirst(cell))->clause;

		if (filter == NIL || contain_mutable_functions((Node *) clause) || !predicate_implied_by(list_make1(clause), filter, false))
			quals = lappend(quals, copyObject(clause));
	}
	ref->rtindex = 1;
	query->commandType = CMD_SELECT;
	query->querySource = QSRC_ORIGINAL;
	query->canSetTag = true;
	query->hasAggs = root->parse->hasAggs;
	query->jointree = makeFromExpr(list_make1(ref), quals == NIL ? NULL : (Node *) make_ands_explicit(quals));
	query->havingQual = root->parse->havingQual == NULL ? NULL :
		(Node *) make_ands_explicit(copyObject((List *) root->parse->havingQual));
	query->stmt_location = -1;
	return query;
}

/* take_parameters: makes a query one of its only table, and adds what it has of the query around it to values */
static void
take_parameters(Query *query, Index varno, List **values)
{
	query->targetList = (List *) replace_by_parameters((Node *) query->targetList, varno, values);
	query->jointree->quals = replace_by_parameters(query->jointree->quals, varno, values);
	query->havingQual = replace_by_parameters(query->havingQual, varno, values);
}

/* make_plan: makes the plan of a path */
static Plan *
make_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses, List *children)
{
	CustomScan *scan = makeNode(CustomScan);
	IndexDef   *def = llast(path->custom_private);
	PlannedStmt *plan = list_nth(path->custom_private, TOTALS_PLAN);
	ListCell   *cell;

	foreach(cell, path->path.pathtarget->exprs)
		scan->custom_scan_tlist = lappend(scan->custom_scan_tlist,
										  makeTargetEntry(copyObject(lfirst(cell)), foreach_current_index(cell) + 1, NULL, false));
	scan->scan.plan.targetlist = tlist;
	scan->flags = path->flags;
	scan->methods = GetCustomScanMethods(TOTALS_NAME, false);
	scan->custom_exprs = list_nth(path->custom_private, TOTALS_FALLBACK + 1);
	scan->custom_private = list_truncate(list_copy(path->custom_private), TOTALS_FALLBACK + 1);
	add_relation(root, def);
	root->glob->invalItems = list_concat(root->glob->invalItems, copyObject(plan->invalItems));
	give_reason(def->fact->relid, def->relid, "its totals are added up");
	return &scan->scan.plan;
}

/* replace_by_totals: replaces what is asked of the rows of a fact table by what groups have */
static Node *
replace_by_totals(Node *node, void *context)
{
	Replaced   *replaced = context;
	Candidate  *c = replaced->c;
	AttrNumber	attno;

	if (node == NULL || replaced->failed)
		return node;
	if (IsA(node, Aggref))
		return replace_aggregate((Aggref *) node, replaced);
	attno = key_column(replaced, node);
	if (attno != 0)
	{
		Expr	   *result = column(c->def, attno, c->varno);

		if (exprType((Node *) result) != exprType(node) || exprCollation((Node *) result) != exprCollation(node))
			result = (Expr *) makeRelabelType(result, exprType(node), exprTypmod(node), exprCollation(node), COERCE_IMPLICIT_CAST);
		return (Node *) result;
	}
	if ((IsA(node, Var) && ((Var *) node)->varno == (int) c->varno && ((Var *) node)->varlevelsup == 0) ||
		IsA(node, PlaceHolderVar) || IsA(node, GroupingFunc))
	{
		replaced->failed = true;
		return node;
	}
	return expression_tree_mutator(node, replace_by_totals, context);
}

/* key_column: returns the column of the key field that an expression is, or 0 */
static AttrNumber
key_column(Replaced *replaced, Node *expr)
{
	IndexDef   *def = replaced->c->def;
	AttrNumber	attno = IsA(expr, TargetEntry) || IsA(expr, List) ? 0 : column_of_candidate(replaced->c, expr);

	for (int i = 0; i < def->nkeys; i++)
		if (def->fields[i].attno == attno)
			return attno;
	return 0;
}

/* replace_aggregate: replaces an aggregate over rows by what it is over groups */
static Node *
replace_aggregate(Aggref *agg, Replaced *replaced)
{
	Candidate  *c = replaced->c;
	IndexDef   *def = c->def;
	Expr	   *rows = column(def, def->rows_attno, c->varno);
	Expr	   *filter = (Expr *) replace_by_totals((Node *) agg->aggfilter, replaced);
	Expr	   *arg = list_length(agg->args) == 1 ? ((TargetEntry *) linitial(agg->args))->expr : NULL;
	AttrNumber	attno;
	int			i;

	replaced->failed |= agg->aggdistinct != NIL || agg->aggorder != NIL || agg->agglevelsup != 0;
	if (agg->aggfnoid == F_COUNT_ || (agg->aggfnoid == F_COUNT_ANY && IsA(arg, Const) && !((Const *) arg)->constisnull))
		return (Node *) count_of(rows, filter);
	if (arg == NULL || replaced->failed)
	{
		replaced->failed = true;
		return (Node *) agg;
	}
	attno = agg->aggfnoid == F_COUNT_ANY ? key_column(replaced, (Node *) arg) : 0;
	if (attno != 0)
	{
		NullTest   *test = makeNode(NullTest);

		test->arg = column(def, attno, c->varno);
		test->nulltesttype = IS_NOT_NULL;
		test->location = -1;
		return (Node *) count_of(rows, filter == NULL ? (Expr *) test : make_andclause(list_make2(filter, test)));
	}
	for (i = 0; i < def->nincludes; i++)
		if (expression_is_field(def, &def->fields[def->nkeys + i], (Node *) arg, c->varno))
			break;
	if (i < def->nincludes)
	{
		Expr	   *count = column(def, def->count_attno[i], c->varno);
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
																 list_make2(sum_of(sum, filter), sum_of(count, filter)),
																 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL));
			}
	}
	replaced->failed = true;
	return (Node *) agg;
}

static Expr *
column(IndexDef *def, AttrNumber attno, Index varno)
{
	Form_pg_attribute att = TupleDescAttr(def->desc, attno - 1);

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
	return (Expr *) makeFuncExpr(F_INT8_NUMERIC, INT8OID, list_make1(numeric), InvalidOid, InvalidOid, COERCE_EXPLICIT_CAST);
}

/* count_of: returns the sum of a column of counts, as a count: 0 if there is nothing */
static Expr *
count_of(Expr *arg, Expr *filter)
{
	CoalesceExpr *result = makeNode(CoalesceExpr);

	result->coalescetype = INT8OID;
	result->args = list_make2(as_bigint(sum_of(arg, filter)),
							  makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(0), false, FLOAT8PASSBYVAL));
	result->location = -1;
	return (Expr *) result;
}

/* if_any: returns an expression that is NULL if the count is 0 */
static Expr *
if_any(Expr *count, Expr *result)
{
	CaseExpr   *expr = makeNode(CaseExpr);
	CaseWhen   *when = makeNode(CaseWhen);

	when->expr = is_positive(count);
	when->result = result;
	when->location = -1;
	expr->casetype = exprType((Node *) result);
	expr->args = list_make1(when);
	expr->defresult = (Expr *) makeNullConst(expr->casetype, -1, InvalidOid);
	expr->location = -1;
	return (Expr *) expr;
}

static Expr *
is_positive(Expr *count)
{
	return (Expr *) makeFuncExpr(F_INT8GT, BOOLOID,
								 list_make2(count, makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(0), false, FLOAT8PASSBYVAL)),
								 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}
