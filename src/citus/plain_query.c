/*-------------------------------------------------------------------------
 *
 * plain_query.c
 *	  Plans queries that name distributed fact tables, if entries of index tables have all that these ask
 *	  for.
 *
 * Citus plans whatever names one of its tables, and sends it to all shards unless it compares the
 * distribution column.  Its planner has to come first in shared_preload_libraries, so the hook here is
 * called before it.  If each Citus table of a query is a fact table that an index table serves by its
 * entries, the server's own planner plans the query as one of ordinary tables: the paths of these tables
 * are those that read entries, and no others, and distributed_scan.c reads them.  Otherwise Citus plans all
 * of it, as if nobody had tried.
 *
 * Entries are asynchronous, so that the setting stale_reads has to allow them.  What they have is what the
 * query would have returned a moment ago.  Where rows that are found too much would have the query return
 * other rows that it never had, as under NOT EXISTS, nothing is served.
 *
 * What is recorded of rows without entries is of one node, and is not believed: see completeness.c.  A
 * plan may be kept, so what depends on the transaction is asked again when a scan starts, and then Citus
 * answers for it: why_not_now().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "commands/explain.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "../candidate/candidate.h"
#include "../definition/definition.h"
#include "../place/place.h"
#include "../planner/planner.h"
#include "../reasons/reasons.h"
#include "../scan/scan.h"
#include "../util/compat.h"
#include "../util/settings.h"
#include "../util/while_set.h"
#include "citus.h"
#include "late.h"

/*
 * The number of rows that a fact table is taken to have, as that of all shards is not known here; the planner
 * then takes 100 to have one key.
 */
#define ROWS				20000

/* What it costs to ask another node, beside what that does, in the planner's units. */
#define ASKING_COST			100

/* Why no index table is used. */
#define REASON_NAMES_SHARD	"the query names the distribution column, by which Citus finds the shard"

/* What is found of a query's tables. */
typedef struct Tables
{
	List	   *facts;			/* OIDs of distributed fact tables */
	List	   *others;			/* OIDs of tables that may be others of Citus */
	int			nlate;			/* number of fact tables that may be searched
								 * late */
	bool		has_conditions; /* a condition is on one of them, or on a
								 * subquery */
	bool		names_shard;	/* one names a distribution column */
	const char *why;			/* why it is not served, or NULL */
	const char *why_not_alone;	/* why not by entries alone, or NULL */
} Tables;

/* What is found while a query is planned by entries. */
typedef struct Pass
{
	List	   *facts;			/* OIDs of its distributed fact tables */
	bool		all_have_paths; /* all of these so far */
	bool		names_shard;	/* it names a distribution column */
	List	   *late;			/* those whose shards can be found by entries,
								 * LateTable * */
} Pass;

static planner_hook_type previous_planner = NULL;
static relation_hook_type previous_relation = NULL;
static set_rel_pathlist_hook_type previous_paths = NULL;

static Pass pass;
static bool left_to_others = false; /* what is planned is a part of a
									 * statement that Citus plans */

static PlannedStmt *plan_query(PLANNER_HOOK_PARAMETERS);
static PlannedStmt *plan_either_way(PLANNER_HOOK_PARAMETERS);
static PlannedStmt *plan_as_otherwise(PLANNER_HOOK_PARAMETERS);
static PlannedStmt *plan_by_entries(PLANNER_HOOK_PARAMETERS);
static void give_reason_of_all(List *facts, const char *why);
static PlannedStmt *plan_copy(PLANNER_HOOK_PARAMETERS);
static PlannedStmt *plan_as_ordinary(List *facts, Pass *found, PLANNER_HOOK_PARAMETERS);
static PlannedStmt *plan_in_pass(Pass *found, PLANNER_HOOK_PARAMETERS);
static bool take_as_plain(Node *node, void *context);
static PlannedStmt *plan_by_keys(PlannedStmt *plan, List *tables, PLANNER_HOOK_PARAMETERS);
static void look_at_query(Query *query, bool more_is_right, Tables *tables);
static void look_at_join(Query *query, Node *node, bool more_is_right, Tables *tables);
static void look_at_set(Query *query, Node *node, bool more_is_right, Tables *tables);
static void look_at_conditions(Query *query, Node *quals, bool more_is_right, Tables *tables);
static void look_at_condition(Query *query, Node *qual, Tables *tables);
static Var *compared_column(Node *clause);
static bool has_column(Node *node, void *context);
static bool look_at_subqueries(Node *node, void *tables);
static void look_at_table(RangeTblEntry *rte, bool more_is_right, Tables *tables);
static bool is_planned_fact(RangeTblEntry *rte);
static void forget_indexes(RELATION_HOOK_PARAMETERS);
static void keep_paths_of_entries(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte);
static void set_limit(PlannerInfo *root, RelOptInfo *rel, Path *path);
static bool names_shard(RelOptInfo *rel, Oid relid);
static bool is_served(Path *path);
static bool finds_few(Candidate *c);
static List *which_find_few(List *candidates);
static bool reads_entries_only(PlannedStmt *plan, Pass *found);
static bool has_unserved_scan(Plan *plan, PlannedStmt *all, List *facts);
static bool have_unserved_scan(List *plans, PlannedStmt *all, List *facts);

void
plain_query_init(void)
{
	previous_planner = planner_hook;
	planner_hook = plan_query;
	previous_relation = relation_hook;
	relation_hook = forget_indexes;
	previous_paths = set_rel_pathlist_hook;
	set_rel_pathlist_hook = keep_paths_of_entries;
}

/* plan_query: plans a statement; functions that are called meanwhile may have others planned */
static PlannedStmt *
plan_query(PLANNER_HOOK_PARAMETERS)
{
	PlannedStmt *result = NULL;

	WHILE_SET(planned_by_entries, false, result = plan_either_way(PLANNER_HOOK_ARGUMENTS));
	return result;
}

/*
 * plan_either_way
 *		Plans a statement by entries, or as it would be planned otherwise.  Citus has parts of a statement planned
 *		by themselves, of which it is not known what becomes of their rows: none of them is served.
 */
static PlannedStmt *
plan_either_way(PLANNER_HOOK_PARAMETERS)
{
	PlannedStmt *result = NULL;

	if (setting_stale_reads && setting_planner != PLANNER_OFF && parse->commandType == CMD_SELECT &&
		!left_to_others && !is_planned_natively())
		result = plan_by_entries(PLANNER_HOOK_ARGUMENTS);
	if (result == NULL)
		WHILE_SET(left_to_others, true, result = plan_as_otherwise(PLANNER_HOOK_ARGUMENTS));
	return result;
}

/* plan_as_otherwise: plans a statement as if there were no index tables of distributed tables */
static PlannedStmt *
plan_as_otherwise(PLANNER_HOOK_PARAMETERS)
{
	return previous_planner ? previous_planner(PLANNER_HOOK_ARGUMENTS) : standard_planner(PLANNER_HOOK_ARGUMENTS);
}

/*
 * plan_by_entries
 *		Plans a query by entries alone, or so that they tell which shards have its rows; returns NULL if neither
 *		can be.
 */
static PlannedStmt *
plan_by_entries(PLANNER_HOOK_PARAMETERS)
{
	Tables		tables = {0};
	Pass		found;
	PlannedStmt *result;

	look_at_query(parse, true, &tables);
	if (tables.facts == NIL)
		return NULL;
	if (tables.why == NULL)
		tables.why = why_not_now();
	if (tables.why == NULL && contain_volatile_functions((Node *) parse))
		tables.why = "the query has volatile functions";
	foreach_oid(relid, tables.others)
	{
		if (tables.why == NULL && tables.why_not_alone == NULL && citus_is_taken(relid))
			tables.why_not_alone = "the query names other tables of Citus";
	}
	if (tables.why == NULL && tables.names_shard)
		tables.why = REASON_NAMES_SHARD;
	if (tables.why == NULL && (tables.nlate == 0 || !tables.has_conditions || setting_late_rows == 0))
		tables.why = tables.why_not_alone;
	if (tables.why != NULL)
	{
		give_reason_of_all(tables.facts, tables.why);
		return NULL;
	}
	result = plan_as_ordinary(tables.facts, &found, PLANNER_HOOK_ARGUMENTS);
	if (tables.why_not_alone == NULL && reads_entries_only(result, &found))
		return result;
	take_back_uses("Citus plans the query");
	result = found.names_shard ? NULL : plan_by_keys(result, found.late, PLANNER_HOOK_ARGUMENTS);
	if (result == NULL && tables.why_not_alone != NULL)
		give_reason_of_all(tables.facts, tables.why_not_alone);
	return result;
}

/* give_reason_of_all: notes why no index table of some fact tables is used */
static void
give_reason_of_all(List *facts, const char *why)
{
	foreach_oid(relid, facts)
		give_reason(relid, InvalidOid, why);
}

/* plan_copy: plans a copy of a query by the server itself, with fact tables without partitions */
static PlannedStmt *
plan_copy(PLANNER_HOOK_PARAMETERS)
{
	PlannedStmt *result = NULL;

	parse = copyObject(parse);
	(void) take_as_plain((Node *) parse, NULL);
	WHILE_SET(cursor_options, cursorOptions, result = standard_planner(PLANNER_HOOK_ARGUMENTS));
	return result;
}

/* plan_as_ordinary: plans a query by the server itself, with paths of entries for fact tables */
static PlannedStmt *
plan_as_ordinary(List *facts, Pass *found, PLANNER_HOOK_PARAMETERS)
{
	Pass		new = {.facts = facts,.all_have_paths = true};
	PlannedStmt *result = NULL;

	WHILE_SET(pass, new, result = plan_in_pass(found, PLANNER_HOOK_ARGUMENTS));
	return result;
}

/* plan_in_pass: plans a query, and sets *found to what is found meanwhile */
static PlannedStmt *
plan_in_pass(Pass *found, PLANNER_HOOK_PARAMETERS)
{
	PlannedStmt *result = NULL;

	WHILE_SET(planned_by_entries, true, result = plan_copy(PLANNER_HOOK_ARGUMENTS));
	*found = pass;
	return result;
}

/*
 * take_as_plain
 *		Has a query, or a part of it, name partitioned fact tables as tables without partitions: here, these
 *		have no rows either.
 */
static bool
take_as_plain(Node *node, void *context)
{
	RangeTblEntry *rte = (RangeTblEntry *) node;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, take_as_plain, context, QTW_EXAMINE_RTES_BEFORE);
	if (!IsA(node, RangeTblEntry))
		return expression_tree_walker(node, take_as_plain, context);
	if (rte->rtekind == RTE_RELATION && list_member_oid(pass.facts, rte->relid))
	{
		rte->relkind = RELKIND_RELATION;
		rte->inh = false;
	}
	return false;
}

/*
 * plan_by_keys
 *		Plans a query so that Citus asks only the shards of rows that entries of some tables find, with what the
 *		server's plan tells of the query; returns NULL if there are no such tables.
 */
static PlannedStmt *
plan_by_keys(PlannedStmt *plan, List *tables, PLANNER_HOOK_PARAMETERS)
{
	Query	   *query = parse;
	int			options = cursorOptions;
	Pass		found;

	foreach_ptr(LateTable, table, tables)
	{
		parse = table->keys;
		cursorOptions = 0;
		table->plan = plan_as_ordinary(list_make1_oid(table->relid), &found, PLANNER_HOOK_ARGUMENTS);
		if (!reads_entries_only(table->plan, &found))
			tables = foreach_delete_current(tables, table);
	}
	return tables == NIL ? NULL : plan_late(query, options, plan, tables);
}

/*-------------------------------------------------------------------------
 * Looks at all tables of a query, and where they are in it.
 *
 * Of a fact table of which there are more rows than it has now, or fewer, the query must not return what it
 * would not have returned at any time: more_is_right says so of the place where a table is.  Such tables have
 * numbers, by which they are known in the copies of a query that the planner makes.
 *-------------------------------------------------------------------------
 */

static void
look_at_query(Query *query, bool more_is_right, Tables *tables)
{
	if (query->commandType != CMD_SELECT || query->rowMarks != NIL || query->hasModifyingCTE)
		tables->why = "the query locks or writes rows";
	if (query->hasRowSecurity)
		tables->why = "the query has row security";
	foreach_node(CommonTableExpr, cte, query->cteList)
		look_at_query((Query *) cte->ctequery, false, tables);
	if (query->setOperations != NULL)
		look_at_set(query, query->setOperations, more_is_right, tables);
	else
		look_at_join(query, (Node *) query->jointree, more_is_right, tables);
	(void) look_at_subqueries((Node *) query->targetList, tables);
	(void) look_at_subqueries(query->havingQual, tables);
	(void) look_at_subqueries(query->limitCount, tables);
	(void) look_at_subqueries(query->limitOffset, tables);
}

/* look_at_join: looks at a FROM clause, or a part of it */
static void
look_at_join(Query *query, Node *node, bool more_is_right, Tables *tables)
{
	if (node == NULL)
		return;
	if (IsA(node, RangeTblRef))
	{
		RangeTblEntry *rte = rt_fetch(((RangeTblRef *) node)->rtindex, query->rtable);

		if (rte->security_barrier || rte->securityQuals != NIL)
			tables->why = "the query has row security or a security barrier";
		if (rte->rtekind == RTE_RELATION)
			look_at_table(rte, more_is_right, tables);
		else if (rte->rtekind == RTE_SUBQUERY)
			look_at_query(rte->subquery, more_is_right, tables);
		else
			(void) range_table_entry_walker(rte, look_at_subqueries, tables, 0);
	}
	else if (IsA(node, FromExpr))
	{
		foreach_ptr(Node, item, ((FromExpr *) node)->fromlist)
			look_at_join(query, item, more_is_right, tables);
		look_at_conditions(query, ((FromExpr *) node)->quals, more_is_right, tables);
	}
	else
	{
		JoinExpr   *join = castNode(JoinExpr, node);
		bool		inner = join->jointype == JOIN_INNER;

		look_at_join(query, join->larg, more_is_right && (inner || join->jointype == JOIN_LEFT), tables);
		look_at_join(query, join->rarg, more_is_right && (inner || join->jointype == JOIN_RIGHT), tables);
		look_at_conditions(query, join->quals, more_is_right && inner, tables);
	}
}

/* look_at_set: looks at the queries of UNION, INTERSECT and EXCEPT */
static void
look_at_set(Query *query, Node *node, bool more_is_right, Tables *tables)
{
	if (IsA(node, SetOperationStmt))
	{
		SetOperationStmt *set = (SetOperationStmt *) node;

		look_at_set(query, set->larg, more_is_right, tables);
		look_at_set(query, set->rarg, more_is_right && set->op != SETOP_EXCEPT, tables);
	}
	else
		look_at_join(query, node, more_is_right, tables);
}

/*
 * look_at_conditions
 *		Looks at conditions.  EXISTS, IN and = ANY that are joined by AND find no rows but with those of their
 *		subqueries.
 */
static void
look_at_conditions(Query *query, Node *quals, bool more_is_right, Tables *tables)
{
	foreach_ptr(Node, qual, make_ands_implicit((Expr *) quals))
	{
		SubLink    *link = (SubLink *) qual;

		if (is_andclause(qual))
			look_at_conditions(query, (Node *) make_andclause(((BoolExpr *) qual)->args), more_is_right,
							   tables);
		else if (IsA(qual, SubLink) && (link->subLinkType == EXISTS_SUBLINK || link->subLinkType == ANY_SUBLINK))
		{
			(void) look_at_subqueries(link->testexpr, tables);
			look_at_query((Query *) link->subselect, more_is_right, tables);
		}
		else
		{
			look_at_condition(query, qual, tables);
			(void) look_at_subqueries(qual, tables);
		}
	}
}

/*
 * look_at_condition
 *		Looks whether a condition leaves the query to Citus, or is on a table that may be searched late.  That is
 *		seen anyway when the query is planned by entries, but planning takes time.
 */
static void
look_at_condition(Query *query, Node *qual, Tables *tables)
{
	Var		   *column = compared_column(qual);
	Bitmapset  *varnos = pull_varnos(NULL, qual);
	int			varno;
	RangeTblEntry *rte;

	if (!bms_get_singleton_member(varnos, &varno))
		return;
	rte = rt_fetch(varno, query->rtable);
	if (rte->rtekind == RTE_RELATION && column != NULL && rte->relid >= FirstNormalObjectId &&
		column->varattno == citus_distribution_column(rte->relid))
		tables->names_shard = true;
	tables->has_conditions |= rte->rtekind == RTE_SUBQUERY ||
		(rte->rtekind == RTE_RELATION && list_member_oid(tables->facts, rte->relid));
}

/* compared_column: returns the column that a clause compares by = with what is known, or NULL */
static Var *
compared_column(Node *clause)
{
	List	   *args = IsA(clause, OpExpr) ? ((OpExpr *) clause)->args :
		IsA(clause, ScalarArrayOpExpr) ? ((ScalarArrayOpExpr *) clause)->args : NIL;

	if (list_length(args) != 2 || (IsA(clause, OpExpr) && get_oprrest(((OpExpr *) clause)->opno) != F_EQSEL))
		return NULL;
	foreach_ptr(Node, arg, args)
	{
		while (IsA(arg, RelabelType))
			arg = (Node *) ((RelabelType *) arg)->arg;
		if (IsA(arg, Var) && ((Var *) arg)->varlevelsup == 0 &&
			!has_column(list_nth(args, 1 - foreach_current_index(arg)), NULL))
			return (Var *) arg;
	}
	return NULL;
}

/* has_column: returns whether an expression has a column, also one of a query around it */
static bool
has_column(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return IsA(node, Var) || expression_tree_walker(node, has_column, context);
}

/* look_at_subqueries: looks at the queries within an expression, where nothing else is known */
static bool
look_at_subqueries(Node *node, void *tables)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		look_at_query((Query *) node, false, tables);
		return false;
	}
	return expression_tree_walker(node, look_at_subqueries, tables);
}

static void
look_at_table(RangeTblEntry *rte, bool more_is_right, Tables *tables)
{
	FactDef    *fact;

	if (rte->relid < FirstNormalObjectId)
		return;
	fact = soft_definition(rte->relid);
	if (fact == NULL || !fact->place->in_parts || fact->relid != rte->relid)
	{
		tables->others = lappend_oid(tables->others, rte->relid);
		return;
	}
	tables->facts = list_append_unique_oid(tables->facts, rte->relid);
	if (more_is_right)
		rte->enrtuples = ++tables->nlate;
	else
		tables->why_not_alone = "rows that are there no more would add others: the table is in a CTE, the subquery of an expression or NOT, an outer join or EXCEPT";
}

/*-------------------------------------------------------------------------
 * Plans the query.
 *-------------------------------------------------------------------------
 */

/* is_planned_fact: returns whether a table is a fact table that is planned by entries */
static bool
is_planned_fact(RangeTblEntry *rte)
{
	return planned_by_entries && rte->rtekind == RTE_RELATION && list_member_oid(pass.facts, rte->relid);
}

/* forget_indexes: forgets the indexes of a table that stands for the shards */
static void
forget_indexes(RELATION_HOOK_PARAMETERS)
{
	if (is_planned_fact(planner_rt_fetch(rel->relid, root)))
		rel->indexlist = NIL;
	else if (previous_relation)
		previous_relation(RELATION_HOOK_ARGUMENTS);
}

/*
 * keep_paths_of_entries
 *		Leaves a distributed fact table only the paths that find entries by the first key field.  The paths of the
 *		server itself read the table that stands for the shards, which has no rows.
 */
static void
keep_paths_of_entries(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	bool		fact = is_planned_fact(rte);
	List	   *others = rel->pathlist;
	List	   *paths = NIL;

	if (fact && !IS_DUMMY_REL(rel))
	{
		rel->consider_parallel = false;
		rel->pathlist = rel->partial_pathlist = NIL;
		rel->tuples = ROWS;
		set_baserel_size_estimates(root, rel);
	}
	searched_by_entries = NIL;
	if (previous_paths)
		previous_paths(root, rel, rti, rte);
	if (!fact)
	{
		if (planned_by_entries && rte->rtekind == RTE_RELATION && rte->relid >= FirstNormalObjectId)
			pass.names_shard |= names_shard(rel, rte->relid);
		return;
	}
	if (IS_DUMMY_REL(rel))
		pass.all_have_paths = false;
	else if (names_shard(rel, rte->relid))
	{
		give_reason(rte->relid, InvalidOid, REASON_NAMES_SHARD);
		pass.names_shard = true;
	}
	else
	{
		pass.late = note_late_table(pass.late, root, rel, rte, which_find_few(searched_by_entries));
		foreach_ptr(Path, path, rel->pathlist)
		{
			if (!is_served(path))
				continue;
			set_limit(root, rel, path);
			path->rows = path->param_info != NULL ? path->param_info->ppi_rows : rel->rows;
			path->startup_cost += ASKING_COST;
			path->total_cost += ASKING_COST;
			paths = lappend(paths, path);
		}
	}
	if (IS_DUMMY_REL(rel))
		return;
	pass.all_have_paths &= paths != NIL;
	rel->pathlist = paths != NIL ? paths : others;
}

/*
 * set_limit
 *		Sets how many entries of one search are enough for a path, if the query has a LIMIT.
 *
 * Entries come in their order.  That a scan tests none of them is seen when it is planned.
 */
static void
set_limit(PlannerInfo *root, RelOptInfo *rel, Path *path)
{
	Query	   *query = root->parse;
	Candidate  *c = linitial(((CustomPath *) path)->custom_private);
	bool		known = query->limitCount != NULL && IsA(query->limitCount, Const) &&
		(query->limitOffset == NULL || IsA(query->limitOffset, Const)) &&
		query->limitOption == LIMIT_OPTION_COUNT;

	if (known && root->limit_tuples >= 1 && root->limit_tuples <= INT_MAX && !c->distinct &&
		rel->reloptkind == RELOPT_BASEREL && bms_membership(root->all_baserels) == BMS_SINGLETON &&
		pathkeys_contained_in(root->sort_pathkeys, path->pathkeys))
		c->limit = (int) root->limit_tuples;
}

/* names_shard: returns whether a condition compares the distribution column with what is known */
static bool
names_shard(RelOptInfo *rel, Oid relid)
{
	AttrNumber	attno = InvalidAttrNumber;

	foreach_node(RestrictInfo, rinfo, rel->baserestrictinfo)
	{
		Var		   *column = compared_column((Node *) rinfo->clause);

		if (column == NULL)
			continue;
		if (attno == InvalidAttrNumber)
			attno = citus_distribution_column(relid);
		if (column->varattno == attno)
			return true;
	}
	return false;
}

/* is_served: returns whether a path reads few entries, and nothing else */
static bool
is_served(Path *path)
{
	Candidate  *c;

	if (!IsA(path, CustomPath) || strcmp(((CustomPath *) path)->methods->CustomName, SCAN_NAME) != 0)
		return false;
	c = linitial(((CustomPath *) path)->custom_private);
	return c->entries_only && c->query == NULL && c->parts == NIL && !c->any_part && !c->is_part &&
		c->groups == NIL && !c->by_element && finds_few(c);
}

/* finds_few: returns whether an index table is searched by its first key field */
static bool
finds_few(Candidate *c)
{
	Condition  *first;

	if (c->def == NULL || !c->def->spec.async || c->conditions == NIL || c->def->spec.nelements > 0)
		return false;
	foreach_ptr(Condition, condition, c->conditions)
	{
		/* It is evaluated as the owner of the index table. */
		if (OidIsValid(condition->operator) && condition->operator >= FirstNormalObjectId)
			return false;
	}
	first = linitial(c->conditions);
	return first->position == 0 && first->strategy == BTEqualStrategyNumber && first->taking != TAKE_NULL;
}

/* which_find_few: lists those of the candidates */
static List *
which_find_few(List *candidates)
{
	List	   *result = NIL;

	foreach_ptr(Candidate, c, candidates)
	{
		if (finds_few(c))
			result = lappend(result, c);
	}
	return result;
}

/* reads_entries_only: returns whether a plan reads tables of Citus by their entries alone */
static bool
reads_entries_only(PlannedStmt *plan, Pass *found)
{
	if (!found->all_have_paths)
		return false;
	foreach_node(RangeTblEntry, rte, plan->rtable)
	{
		if (rte->rtekind == RTE_RELATION && rte->relid >= FirstNormalObjectId && rte->inFromCl &&
			!list_member_oid(found->facts, rte->relid) && citus_is_taken(rte->relid))
			return false;
	}
	return !has_unserved_scan(plan->planTree, plan, found->facts) &&
		!have_unserved_scan(plan->subplans, plan, found->facts);
}

/* has_unserved_scan: returns whether a node, or one below it, reads a table of Citus itself */
static bool
has_unserved_scan(Plan *plan, PlannedStmt *all, List *facts)
{
	Index		relid = 0;

	if (plan == NULL)
		return false;
	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_SampleScan:
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapHeapScan:
		case T_TidScan:
		case T_TidRangeScan:
		case T_ForeignScan:
			relid = ((Scan *) plan)->scanrelid;
			break;
		case T_CustomScan:
			if (strcmp(((CustomScan *) plan)->methods->CustomName, SCAN_NAME) != 0)
				relid = ((Scan *) plan)->scanrelid;
			if (have_unserved_scan(((CustomScan *) plan)->custom_plans, all, facts))
				return true;
			break;
		case T_Append:
			if (have_unserved_scan(((Append *) plan)->appendplans, all, facts))
				return true;
			break;
		case T_MergeAppend:
			if (have_unserved_scan(((MergeAppend *) plan)->mergeplans, all, facts))
				return true;
			break;
		case T_SubqueryScan:
			if (has_unserved_scan(((SubqueryScan *) plan)->subplan, all, facts))
				return true;
			break;
		default:
			break;
	}
	return (relid > 0 && list_member_oid(facts, rt_fetch(relid, all->rtable)->relid)) ||
		has_unserved_scan(outerPlan(plan), all, facts) || has_unserved_scan(innerPlan(plan), all, facts);
}

static bool
have_unserved_scan(List *plans, PlannedStmt *all, List *facts)
{
	foreach_ptr(Plan, plan, plans)
	{
		if (has_unserved_scan(plan, all, facts))
			return true;
	}
	return false;
}
