/*-------------------------------------------------------------------------
 *
 * scan_path.c
 *	  Makes the plan of a scan of an index table from its path.
 *
 * The index table becomes one of the plan's relations: it is locked whenever the plan is used,
 * and the plan is made anew when it changes.  Nobody's rights on it are checked, because the
 * query names the fact table.
 *
 * The plan carries a query for the same rows, which reads the fact table alone.  It is planned
 * only if entries cannot answer exactly when the plan is executed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/sysattr.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "optimizer/planner.h"
#include "optimizer/subselect.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "../candidate/candidate.h"
#include "../reasons/reasons.h"
#include "../scan/scan.h"
#include "../util/compat.h"
#include "planner.h"

/* What is replaced by parameters in a fallback. */
typedef struct Replacing
{
	List	   *varnos;			/* relations whose columns stay */
	List	   *values;			/* of the parameters */
} Replacing;

static Plan *make_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
					   List *children);
static Expr *plan_joined_values(PlannerInfo *root, SubLink *values);
static List *needed_columns(RelOptInfo *rel, List *clauses);
static List *columns_of_elements(Candidate *c, RelOptInfo *rel, List *quals);
static void note_made_columns(Candidate *c, Var *var, int column, ScanPlan *plan);
static Query *fallback_query(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *clauses, List *columns,
							 List *targets, List **values);
static List *fallback_columns(RangeTblEntry *rte, Index varno, List *columns);
static List *order_of(Candidate *c, RelOptInfo *rel);
static Node *replace_values(Node *node, void *replacing);
static Bitmapset *columns_of_scan(RelOptInfo *rel, List *clauses);
static bool collect_functions(Node *node, void *context);
static bool add_function(Oid function, void *context);

static const CustomPathMethods path_methods = {.CustomName = SCAN_NAME,.PlanCustomPath = make_scan};

/* make_scan_path: returns a path, without its costs */
CustomPath *
make_scan_path(RelOptInfo *rel, Candidate *c)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.rows = rel->rows;
	path->path.pathkeys = c->pathkeys;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION | CUSTOMPATH_SUPPORT_BACKWARD_SCAN;
	path->methods = &path_methods;
	path->custom_private = list_make1(c);
	return path;
}

/*
 * add_scan_path
 *		Adds a path to those of a table.
 *
 * If the table is the only one of a query, and partitioned, the planner has to keep its paths:
 * it would make all of them again from those of the partitions, to compute the target list below
 * the Append.
 */
void
add_scan_path(PlannerInfo *root, RelOptInfo *rel, Path *path)
{
	if (path->parallel_workers > 0)
		add_partial_path(rel, path);
	else
		add_path(rel, path);
	if ((list_member_ptr(rel->pathlist, path) || list_member_ptr(rel->partial_pathlist, path)) &&
		rel->reloptkind == RELOPT_BASEREL && bms_membership(root->all_baserels) == BMS_SINGLETON)
		rel->part_scheme = NULL;
}

static Plan *
make_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses, List *children)
{
	Candidate  *c = linitial(path->custom_private);
	CustomScan *scan = makeNode(CustomScan);
	ScanPlan	plan;
	List	   *others;			/* that are not those of an arm */
	List	   *quals = NIL;
	List	   *checks = NIL;
	List	   *checked;
	List	   *columns;
	List	   *targets = c->exprs; /* of entries alone */
	List	   *parameters = list_copy(c->values);
	Index		varno = c->functions != NIL ? c->varno : rel->relid;
	Query	   *fallback;
	ListCell   *cell;

	memset(&plan, 0, sizeof(plan));
	plan.fact = planner_rt_fetch(varno, root)->relid;
	plan.index_table = c->def == NULL ? InvalidOid : c->def->relid;
	plan.entries_only = c->entries_only;
	plan.backward = c->backward;
	plan.ordered = path->path.pathkeys != NIL;
	plan.async = c->def != NULL && c->def->spec.async;
	plan.reader = checked_as(root->parse, planner_rt_fetch(varno, root));
	plan.secured = root->qual_security_level > 0;
	plan.stored_rows = c->stored_rows;
	plan.distinct = c->distinct;
	plan.partial_rows = c->partial_rows;
	plan.first = c->first;
	plan.last = c->last;
	plan.null_groups = c->null_groups;
	plan.null_ends = c->null_ends;
	plan.elements = c->by_element && c->groups == NIL ? c->def->layout.elements_attno : 0;
	plan.nequal = c->nequal;
	plan.any_part = c->any_part;
	plan.conditions = palloc0(sizeof(Condition) * list_length(c->conditions));

	/* A join path has its conditions itself. */
	if (c->functions != NIL)
		clauses = list_copy(c->of_join);
	others = clauses;
	clauses = c->clauses != NIL ? clauses_of_arm(c, clauses) : clauses;
	/* What does not depend on the row is checked above the scan. */
	foreach_ptr(RestrictInfo, rinfo, clauses)
	{
		if (rinfo->pseudoconstant)
			clauses = foreach_delete_current(clauses, rinfo);
	}
	clauses = in_safe_order(root, rel, clauses);
	foreach_ptr(Condition, condition, c->conditions)
	{
		Condition  *planned = &plan.conditions[plan.nconditions++];

		scan->custom_exprs = lappend(scan->custom_exprs, is_joined_values((Node *) condition->value) ?
									 plan_joined_values(root, (SubLink *) condition->value) : condition->value);
		*planned = *condition;
		planned->value = NULL;
		planned->rinfo = NULL;
	}
	checked = checks_of_entries(c, clauses, &checks);
	if (c->is_part && c->clauses != NIL)
		(void) checks_of_part(c, others, clauses, &checks);
	foreach_ptr(RestrictInfo, rinfo, clauses)
	{
		if (!c->is_part && !c->any_part && !is_checked_by_search(c, rinfo) &&
			(c->tested_again || !list_member_ptr(checked, rinfo)))
			quals = lappend(quals, rinfo->clause);
	}
	plan.limit = quals == NIL && checks == NIL ? c->limit : 0;
	columns = c->stored_rows || c->is_part || c->by_element ? NIL : needed_columns(rel, clauses);
	plan.columns = c->entries_only ? c->attnos : columns;
	plan.sources = c->partial_rows ? NIL : c->sources;
	if (c->functions != NIL && c->partial_rows)
	{
		targets = columns_of_elements(c, rel, quals);
		plan.columns = plan.sources = NIL;
		foreach_ptr(Var, var, targets)
			note_made_columns(c, var, foreach_current_index(var) + 1, &plan);
	}
	fallback = c->is_part ? NULL : fallback_query(root, rel, c, clauses, columns, targets, &parameters);
	scan->custom_exprs = list_concat(scan->custom_exprs, parameters);
	plan.unless = c->unless;
	plan.excluded = c->excluded;
	plan.has_checks = checks != NIL;
	if (plan.has_checks)
		scan->custom_exprs = lappend(scan->custom_exprs, checks);
	if (c->functions != NIL || (c->entries_only && !c->partial_rows && !c->is_part))
		scan->custom_scan_tlist = add_to_flat_tlist(NIL, targets);
	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = quals;
	scan->scan.scanrelid = varno;
	scan->flags = path->flags;
	scan->methods = GetCustomScanMethods(SCAN_NAME, false);

	/*
	 * Parts are searched by this scan, above which is checked what does not
	 * depend on the row.
	 */
	foreach(cell, children)
	{
		if (IsA(lfirst(cell), Result))
			lfirst(cell) = outerPlan(lfirst(cell));
	}
	scan->custom_plans = children;
	plan.groups = c->groups;
	plan.fallback = fallback;
	plan.query = c->query;
	plan.functions = functions_called((Node *) fallback);
	scan->custom_private = write_scan_plan(&plan);
	if (c->query != NULL)
	{
		root->glob->invalItems = list_concat(root->glob->invalItems, copyObject(c->query->invalItems));
		root->glob->transientPlan |= c->query->transientPlan;
		/* A plan that is kept locks partitions before it is believed, too. */
		foreach_node(RangeTblEntry, rte, c->query->rtable)
		{
			RangeTblEntry *partition;

			if (rte->relid == c->def->relid || rte->rtekind != RTE_RELATION)
				continue;
			partition = relation_of_index_table(c->def);
			partition->relid = rte->relid;
			partition->relkind = rte->relkind;
			root->parse->rtable = lappend(root->parse->rtable, partition);
		}
	}
	if (c->def != NULL)
	{
		root->parse->rtable = lappend(root->parse->rtable, relation_of_index_table(c->def));
		note_use(c->def->fact->relid, c->def->relid,
				 c->query != NULL ? psprintf("searched by its index %s", get_rel_name(c->users_index)) :
				 c->conditions != NIL || c->any_part ? REASON_SEARCHED : REASON_WHOLE);
	}
	show_real_costs(&path->path);
	return &scan->scan.plan;
}

/*
 * plan_joined_values
 *		Returns a parameter for the array that a subquery returns.  The query's plan gets the subquery
 *		as an InitPlan, which is executed when a scan asks for the array.
 */
static Expr *
plan_joined_values(PlannerInfo *root, SubLink *values)
{
	Param	   *param = SS_make_initplan_output_param(root, exprType((Node *) values), -1,
													  exprCollation((Node *) values));
	PlannerInfo *subroot = subquery_planner_compat(root, copyObject((Query *) values->subselect), "indextable");
	RelOptInfo *final = fetch_upper_rel(subroot, UPPERREL_FINAL, NULL);

	SS_make_initplan_from_plan(root, subroot, create_plan(subroot, final->cheapest_total_path), param);
	llast_node(SubPlan, root->init_plans)->subLinkType = ARRAY_SUBLINK;
	return (Expr *) param;
}

/*
 * columns_of_scan
 *		Returns the columns of the fact table that a scan has to return, or to check, offset as
 *		by pull_varattnos().
 */
static Bitmapset *
columns_of_scan(RelOptInfo *rel, List *clauses)
{
	Bitmapset  *attnos = NULL;

	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &attnos);
	foreach_ptr(RestrictInfo, rinfo, clauses)
		pull_varattnos((Node *) rinfo->clause, rel->relid, &attnos);
	return attnos;
}

/*
 * scan_wants_system_columns
 *		Returns whether a scan that checks these clauses needs system columns.
 */
bool
scan_wants_system_columns(RelOptInfo *rel, List *clauses)
{
	int			first = bms_next_member(columns_of_scan(rel, clauses), -1);

	return first >= 0 && first < -FirstLowInvalidHeapAttributeNumber;
}

/* needed_columns: lists the numbers of the columns that a scan needs; 0: all of them */
static List *
needed_columns(RelOptInfo *rel, List *clauses)
{
	Bitmapset  *attnos = columns_of_scan(rel, clauses);
	List	   *result = NIL;
	int			i = -1;

	while ((i = bms_next_member(attnos, i)) >= 0)
		result = lappend_int(result, i + FirstLowInvalidHeapAttributeNumber);
	return result;
}

/*
 * columns_of_elements
 *		Lists the columns of a fact table and of functions that a scan returns in their place, and
 *		those that it checks.
 */
static List *
columns_of_elements(Candidate *c, RelOptInfo *rel, List *quals)
{
	List	   *result = NIL;

	foreach_ptr(Var, var, pull_var_clause((Node *) list_concat_copy(rel->reltarget->exprs, quals),
										  PVC_RECURSE_PLACEHOLDERS))
	{
		if (var->varno == (int) c->varno || list_member_int(c->functions, var->varno))
			result = list_append_unique(result, var);
	}
	return result;
}

/*
 * note_made_columns
 *		Has a scan make a column of rows, by its number: of one column of its entries, or of the fields that
 *		are needed of a document, or of an element of the array that the function unnests.
 */
static void
note_made_columns(Candidate *c, Var *var, int column, ScanPlan *plan)
{
	AttrNumber	whole = column_of_candidate(c, (Node *) var);
	int			level = 0;		/* 0: the document */

	if (whole != 0)
	{
		plan->columns = lappend_int(plan->columns, whole);
		plan->sources = lappend_int(plan->sources, column);
		return;
	}
	foreach_int(function, c->functions)
	{
		if (function == var->varno)
			level = foreach_current_index(function) + 1;
	}
	foreach_int(attno, c->attnos)
	{
		Field	   *field = field_in_document(c->def, attno);

		if (IsA(list_nth(c->exprs, foreach_current_index(attno)), Var) || field == NULL ||
			number_of_arrays(field) != level || field->spec->multi != (level > 0))
			continue;
		plan->columns = lappend_int(plan->columns, attno);
		plan->sources = lappend_int(plan->sources, -column);
	}
}

/*
 * fallback_query
 *		Returns a query for the rows that a scan returns, in its order, as the scan returns them.
 *		What is not the fact table's becomes a parameter.
 *
 * The scan checks its clauses for the rows of a fallback, too, and some are left to it: see
 * is_left_to_scan().  The policies are those of the role that the plan was made for, and keep
 * their levels.  Where one of them is left to the scan, so is all that comes after it; but for
 * that nothing is that the search checks, as the scan does not (see policy_in_scan).
 */
static Query *
fallback_query(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *clauses, List *columns, List *targets,
			   List **values)
{
	Index		varno = c->functions != NIL ? c->varno : rel->relid;
	List	   *varnos = lcons_int(varno, list_copy(c->functions));
	RangeTblEntry *rte = copyObject(planner_rt_fetch(varno, root));
	Query	   *query = query_of_table(rte, NIL, NULL);
	int			nlevels = list_length(rte->securityQuals);
	List	  **quals = palloc0((nlevels + 1) * sizeof(List *));
	int			last = nlevels;

	rte->inh = rte->relkind == RELKIND_PARTITIONED_TABLE;
	rte->self_reference = false;	/* see unexpanded_partitions.c */
	forget_permissions(query, rte, root->parse);
	if (c->functions != NIL || (c->entries_only && !c->partial_rows))
		query->targetList = add_to_flat_tlist(NIL, targets);
	else if (c->stored_rows)
	{
		Var		   *ctid = makeVar(varno, SelfItemPointerAttributeNumber, TIDOID, -1, InvalidOid, 0);

		query->targetList = list_make1(makeTargetEntry((Expr *) ctid, 1, "ctid", false));
	}
	else
		query->targetList = fallback_columns(rte, varno, columns);
	query->hasTargetSRFs = expression_returns_set((Node *) query->targetList);
	foreach_ptr(RestrictInfo, rinfo, clauses)
	{
		Node	   *clause = (Node *) rinfo->clause;
		int			level = Min((int) security_level(root, rinfo, NULL), nlevels);

		/* A policy is about the fact table alone. */
		if (!bms_is_subset(rinfo->clause_relids, bms_make_singleton(varno)) && c->functions != NIL)
			level = nlevels;
		if (is_left_to_scan(clause))
			last = (int) rinfo->security_level < nlevels ? Min(last, level) : last;
		else if (level <= last)
			quals[level] = lappend(quals[level], clause);
	}
	rte->securityQuals = NIL;
	for (int i = 0; i < nlevels; i++)
		rte->securityQuals = lappend(rte->securityQuals,
									 replace_by_parameters((Node *) make_ands_explicit(quals[i]), varnos, values));
	add_sort(query, c->pathkeys, order_of(c, rel));
	query->jointree->quals = replace_by_parameters((Node *) make_ands_explicit(quals[nlevels]), varnos, values);
	query->targetList = (List *) replace_by_parameters((Node *) query->targetList, varnos, values);
	foreach_int(function, c->functions)
		add_unnesting(query, planner_rt_fetch(function, root), varnos, values);
	return query;
}

/*
 * add_unnesting
 *		Adds a function that unnests an array to the query of a fact table; varnos and values as for
 *		replace_by_parameters().
 */
void
add_unnesting(Query *query, RangeTblEntry *rte, List *varnos, List **values)
{
	RangeTblRef *ref = makeNode(RangeTblRef);

	rte = copyObject(rte);
	rte->functions = (List *) replace_by_parameters((Node *) rte->functions, varnos, values);
	query->rtable = lappend(query->rtable, rte);
	ref->rtindex = list_length(query->rtable);
	query->jointree->fromlist = lappend(query->jointree->fromlist, ref);
}

/*
 * fallback_columns
 *		Returns a target list of all columns of a table, with NULL for those that are not
 *		needed.
 */
static List *
fallback_columns(RangeTblEntry *rte, Index varno, List *columns)
{
	Relation	fact = relation_open(rte->relid, NoLock);
	TupleDesc	desc = RelationGetDescr(fact);
	List	   *result = NIL;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		Expr	   *expr;

		if (!att->attisdropped && (list_member_int(columns, i + 1) || list_member_int(columns, 0)))
			expr = (Expr *) makeVar(varno, i + 1, att->atttypid, att->atttypmod, att->attcollation, 0);
		else
			expr = (Expr *) makeNullConst(INT4OID, -1, InvalidOid);
		result = lappend(result, makeTargetEntry(expr, i + 1, NULL, false));
	}
	relation_close(fact, NoLock);
	return result;
}

/* order_of: lists what the path keys of a scan are of, over its fact table */
static List *
order_of(Candidate *c, RelOptInfo *rel)
{
	int			position = c->order_from;
	List	   *result = NIL;
	bool		last;

	if (c->sorted_by != NIL)
		return c->sorted_by;
	foreach_ptr(PathKey, key, c->pathkeys)
		result = lappend(result, sort_expression(c, rel, key, position++, &last));
	return result;
}

/* add_sort: has a query return rows in the order of path keys, which are of these expressions */
void
add_sort(Query *query, List *pathkeys, List *exprs)
{
	foreach_ptr(PathKey, key, pathkeys)
	{
		SortGroupClause *sort = makeNode(SortGroupClause);
		TargetEntry *tle;
		Node	   *expr = list_nth(exprs, foreach_current_index(key));
		Oid			intype = lookup_type_cache(exprType(expr), TYPECACHE_BTREE_OPFAMILY)->btree_opintype;

		tle = makeTargetEntry(copyObject((Expr *) expr), list_length(query->targetList) + 1, NULL, true);
		tle->ressortgroupref = foreach_current_index(key) + 1;
		query->targetList = lappend(query->targetList, tle);
		sort->tleSortGroupRef = tle->ressortgroupref;
		sort->eqop = get_opfamily_member(key->pk_opfamily, intype, intype, BTEqualStrategyNumber);
		sort->sortop = get_opfamily_member(key->pk_opfamily, intype, intype,
										   pathkey_descends(key) ? BTGreaterStrategyNumber : BTLessStrategyNumber);
		set_sort_reversed(sort, pathkey_descends(key));
		sort->nulls_first = key->pk_nulls_first;
		query->sortClause = lappend(query->sortClause, sort);
	}
}

/*
 * replace_by_parameters
 *		Gives the columns of some relations in an expression the numbers of these in the list varnos, from 1,
 *		and replaces everything else that is not known there by parameters, whose values are added to
 *		*values.
 */
Node *
replace_by_parameters(Node *node, List *varnos, List **values)
{
	Replacing	replacing = {.varnos = varnos,.values = *values};

	node = replace_values(node, &replacing);
	*values = replacing.values;
	return node;
}

/*
 * number_of_relation
 *		Returns the number that a relation whose columns stay is given, or 0.
 */
static int
number_of_relation(Replacing *replacing, int varno)
{
	foreach_int(relation, replacing->varnos)
	{
		if (relation == varno)
			return foreach_current_index(relation) + 1;
	}
	return 0;
}

/*
 * replace_values
 *		Makes some relations the only ones of an expression, and everything that is known before they
 *		are read a parameter.
 */
static Node *
replace_values(Node *node, void *context)
{
	Replacing  *replacing = context;
	Bitmapset  *attnos = NULL;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && number_of_relation(replacing, ((Var *) node)->varno) != 0)
	{
		Var		   *var = copyObject((Var *) node);

		var->varno = number_of_relation(replacing, var->varno);
		/* Citus knows relations by these. */
		var->varnosyn = var->varno;
		var->varattnosyn = var->varattno;
		return (Node *) var;
	}
	/* What is computed of the fact row, as it is where the table is scanned. */
	foreach_int(varno, IsA(node, PlaceHolderVar) ? replacing->varnos : NIL)
		pull_varattnos(node, varno, &attnos);
	if (attnos != NULL)
		return replace_values((Node *) ((PlaceHolderVar *) node)->phexpr, replacing);
	if (IsA(node, Var) || IsA(node, Param) || IsA(node, PlaceHolderVar))
	{
		Param	   *param = makeNode(Param);

		replacing->values = lappend(replacing->values, node);
		param->paramkind = PARAM_EXTERN;
		param->paramid = list_length(replacing->values);
		param->paramtype = exprType(node);
		param->paramtypmod = exprTypmod(node);
		param->paramcollid = exprCollation(node);
		param->location = -1;
		return (Node *) param;
	}
	return expression_tree_mutator(node, replace_values, context);
}

/*
 * functions_called
 *		Lists the functions that a query calls by name or by operators, whose users the executor asks for
 *		the right EXECUTE when a native plan of it starts.  It asks for no right on others, such as
 *		input functions.
 */
List *
functions_called(Node *query)
{
	List	   *functions = NIL;

	(void) collect_functions(query, &functions);
	return functions;
}

/* collect_functions: adds the functions that a node calls to the list that context points to */
static bool
collect_functions(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (!IsA(node, CoerceViaIO) && !IsA(node, RowCompareExpr))
		(void) check_functions_in_node(node, add_function, context);
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, collect_functions, context, 0);
	return expression_tree_walker(node, collect_functions, context);
}

/*
 * add_function
 *		Adds a function to the list that context points to: an aggregate at its end, as it is
 *		above scans.
 */
static bool
add_function(Oid function, void *context)
{
	List	  **functions = context;

	if (!list_member_oid(*functions, function))
		*functions = get_func_prokind(function) == PROKIND_AGGREGATE ? lappend_oid(*functions, function) :
			lcons_oid(function, *functions);
	return false;
}

/*
 * relation_of_index_table
 *		Returns an index table as a relation of a query, which is not in its FROM clause.
 */
RangeTblEntry *
relation_of_index_table(IndexDef *def)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	rte->rtekind = RTE_RELATION;
	rte->relid = def->relid;
	rte->relkind = def->layout.parts != NULL ? RELKIND_PARTITIONED_TABLE : RELKIND_RELATION;
	rte->rellockmode = AccessShareLock;
	rte->eref = makeAlias(def->name, NIL);
	rte->inFromCl = false;
	return rte;
}
