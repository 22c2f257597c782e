/*-------------------------------------------------------------------------
 *
 * query_table.c
 *	  Finds out whether a table in a query is a fact table that index tables may serve, and
 *	  locks these.
 *
 * Planning must neither fail nor wait because of this.  So an index table whose lock is not
 * free at once does not serve.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/transam.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "replication/logicalworker.h"
#include "storage/lmgr.h"

#include "../definition/definition.h"
#include "../place/place.h"
#include "../reasons/reasons.h"
#include "../scan/scan.h"
#include "../util/settings.h"
#include "../util/wait_point.h"
#include "../util/while_set.h"
#include "candidate.h"

int			cursor_options = 0;

static planner_hook_type previous_planner = NULL;

static PlannedStmt *plan_with_options(PLANNER_HOOK_PARAMETERS);
static List *conjuncts(Node *quals);
static bool is_considered(RangeTblEntry *rte);
static bool lock_served(PlannerInfo *root, Index rti, bool totals, Served *served);
static const char *unfit(PlannerInfo *root, RangeTblEntry *rte, bool tested_again);
static bool is_tested_again(PlannerInfo *root, Index rti);
static const char *why_not_planned_stale(PlannerInfo *root, RangeTblEntry *rte, IndexDef *def);

void
query_table_init(void)
{
	previous_planner = planner_hook;
	planner_hook = plan_with_options;
}

/*
 * plan_with_options
 *		Plans a statement, and has it known meanwhile with what options, and with which index tables that are
 *		only supposed to exist.  Functions that are called meanwhile plan what they execute, without these.
 */
static PlannedStmt *
plan_with_options(PLANNER_HOOK_PARAMETERS)
{
	int			outer_options = cursor_options;
	List	   *outer_facts = supposed_facts;
	PlannedStmt *result;

	cursor_options = cursorOptions;
	supposed_facts = parse == supposing_query ? supposing_facts : NIL;
	DO_AND_UNDO((cursor_options = outer_options, supposed_facts = outer_facts),
				result = previous_planner ? previous_planner(PLANNER_HOOK_ARGUMENTS) :
				standard_planner(PLANNER_HOOK_ARGUMENTS));
	return result;
}

/* unfit: returns why nothing of a table in a query can be served, or NULL */
static const char *
unfit(PlannerInfo *root, RangeTblEntry *rte, bool tested_again)
{
	if (rte->tablesample != NULL)
		return "the query has TABLESAMPLE";
	if (tested_again && rte->relkind == RELKIND_PARTITIONED_TABLE)
		return "the query locks or writes rows, and the table is partitioned";
	if (rte->relkind == RELKIND_PARTITIONED_TABLE && is_positionable(root, true))
		return "WHERE CURRENT OF the cursor would have to name a partition";
	if (!rte->inh && rte->relkind == RELKIND_PARTITIONED_TABLE)
		return "the query has ONLY";
	if (rte->inh && rte->relkind != RELKIND_PARTITIONED_TABLE)
		return "other tables inherit from it";
	return NULL;
}

/*
 * is_tested_again
 *		Returns whether newer versions of a table's rows may be put in the place of those that
 *		a scan has found.
 */
static bool
is_tested_again(PlannerInfo *root, Index rti)
{
	if ((int) rti == root->parse->resultRelation)
		return true;
	foreach_ptr(PlanRowMark, mark, root->rowMarks)
	{
		if (mark->rti == rti)
			return true;
	}
	/* A member of a UNION ALL is locked, or copied, with all of it. */
	return root->append_rel_array != NULL && root->append_rel_array[rti] != NULL &&
		is_tested_again(root, root->append_rel_array[rti]->parent_relid);
}

/*
 * is_positionable
 *		Returns whether the query reads one table, which may be partitioned, and is that of a cursor
 *		whose row WHERE CURRENT OF can name.  Then the row has to be read, for its place.
 *
 * With ORDER BY it can be named by some plans only, so a partitioned table needs none of these.
 */
bool
is_positionable(PlannerInfo *root, bool partitioned)
{
	Query	   *parse = root->parse;

	return (cursor_options & CURSOR_OPT_FAST_PLAN) && bms_membership(root->all_baserels) != BMS_MULTIPLE &&
		!parse->hasAggs && !parse->hasWindowFuncs && !parse->hasTargetSRFs && parse->groupClause == NIL &&
		parse->groupingSets == NIL && parse->distinctClause == NIL && parse->setOperations == NULL &&
		!(partitioned && parse->sortClause != NIL);
}

/*
 * conjuncts
 *		Returns conditions that are joined by AND, as the parser or the planner has them, as a
 *		list.
 */
static List *
conjuncts(Node *quals)
{
	return quals == NULL || IsA(quals, List) ? (List *) quals : make_ands_implicit((Expr *) quals);
}

/*
 * find_conditions
 *		Adds the conditions that all rows of a join have to satisfy, and returns whether a table
 *		is in the join, other than where an outer join may have NULLs in place of its rows.
 */
bool
find_conditions(Node *node, Index varno, List **quals)
{
	bool		found = false;

	if (IsA(node, RangeTblRef))
		return ((RangeTblRef *) node)->rtindex == (int) varno;
	if (IsA(node, FromExpr))
	{
		foreach_ptr(Node, item, ((FromExpr *) node)->fromlist)
			found |= find_conditions(item, varno, quals);
		*quals = list_concat_copy(*quals, conjuncts(((FromExpr *) node)->quals));
		return found;
	}
	if (IsA(node, JoinExpr))
	{
		JoinExpr   *join = (JoinExpr *) node;

		switch (join->jointype)
		{
			case JOIN_INNER:
				found = find_conditions(join->larg, varno, quals);
				found |= find_conditions(join->rarg, varno, quals);
				*quals = list_concat_copy(*quals, conjuncts(join->quals));
				return found;
			case JOIN_RIGHT:	/* not known to the planner any more */
				return find_conditions(join->rarg, varno, quals);
			case JOIN_LEFT:
			case JOIN_SEMI:
			case JOIN_ANTI:
				return find_conditions(join->larg, varno, quals);
			default:
				return false;
		}
	}
	return false;
}

/*
 * is_considered
 *		Returns whether index tables are asked for at all when a table is planned that may be
 *		a fact table.
 */
static bool
is_considered(RangeTblEntry *rte)
{
	return setting_planner != PLANNER_OFF && !is_planned_natively() && rte->rtekind == RTE_RELATION &&
		rte->relid >= FirstNormalObjectId && !IsParallelWorker() && !IsLogicalWorker();
}

/*
 * may_be_served
 *		Returns whether a query that is about to be run could be served if there were an index
 *		table for it.
 */
bool
may_be_served(PlannerInfo *root, Index rti)
{
	RangeTblEntry *rte = planner_rt_fetch(rti, root);

	return is_considered(rte) && opinions == NULL && unfit(root, rte, is_tested_again(root, rti)) == NULL;
}

/*
 * find_served
 *		Finds the index tables that may serve a table in a query, or tables of totals.  Returns
 *		false if there are none.
 *
 * The definition is looked up again after the index tables were locked: from then on it does
 * not change.
 */
bool
find_served(PlannerInfo *root, Index rti, bool totals, Served *served)
{
	RangeTblEntry *rte = planner_rt_fetch(rti, root);

	memset(served, 0, sizeof(*served));

	/*
	 * Every ANALYZE of a table is news of it, so do not plan natively for
	 * want of one more attempt.
	 */
	for (int attempt = 0; attempt < MAX_ATTEMPTS && lock_served(root, rti, totals, served); attempt++)
	{
		if (definition_to_plan(rte->relid) == served->fact)
			return true;
	}
	return false;
}

/*
 * lock_served
 *		Looks up the definition of a table, and locks its index tables that may serve; returns
 *		whether there are any.
 */
static bool
lock_served(PlannerInfo *root, Index rti, bool totals, Served *served)
{
	RangeTblEntry *rte = planner_rt_fetch(rti, root);
	const char *reason;
	FactDef    *fact;
	int			n;

	if (!is_considered(rte))
		return false;
	fact = definition_to_plan(rte->relid);
	for (int i = 0; i < (fact == NULL || totals ? 0 : fact->ntotals); i++)
		give_reason(fact->relid, fact->totals[i]->relid, REASON_NO_AGGREGATE);
	n = fact == NULL ? 0 : totals ? fact->ntotals : fact->ndefs;
	if (n == 0)
		return false;
	definition_hold(fact, CurrentMemoryContext);
	wait_point("the planner has a definition");
	served->tested_again = is_tested_again(root, rti);
	if (fact->relid != rte->relid)
		reason = "the query names a partition";
	else if (!OidIsValid(fact->layout.pk_index))
		reason = "it has no primary key: rows may be on other servers";
	else
		reason = unfit(root, rte, served->tested_again);
	if (reason != NULL)
	{
		give_reason(fact->relid, InvalidOid, reason);
		return false;
	}
	served->fact = fact;
	served->defs = NIL;
	for (int i = 0; i < n; i++)
	{
		IndexDef   *def = totals ? fact->totals[i] : fact->defs[i];

		if (!def->active)
			give_reason(fact->relid, def->relid, def->misplaced != NULL ? def->misplaced : "it is not active");
		else if (fact->place->entries->not_planned != NULL && !planned_by_entries)
			give_reason(fact->relid, def->relid, def->spec.async ? fact->place->entries->not_planned :
						fact->place->entries->planned_in_parts);
		else if (def->hidden && !setting_use_hidden)
			give_reason(fact->relid, def->relid, REASON_HIDDEN);
		else if (def->spec.async && served->tested_again)
			give_reason(fact->relid, def->relid, "it is asynchronous, and the query locks or writes rows");
		else if (def->spec.async && (reason = why_not_planned_stale(root, rte, def)) != NULL)
			give_reason(fact->relid, def->relid, reason);
		else if (supposed_table(def->relid) == NULL && !ConditionalLockRelationOid(def->relid, AccessShareLock))
			give_reason(fact->relid, def->relid, "it is locked by another session");
		else
			served->defs = lappend(served->defs, def);
	}
	return served->defs != NIL;
}

/*
 * why_not_planned_stale
 *		Returns why a table in a query may not be read by an asynchronous index table, or NULL.
 *
 * Where row security or a security barrier is a part of a query, stale entries would decide what
 * may be seen.  The subqueries of policies, and what is behind a barrier, are planned below that
 * query.
 */
static const char *
why_not_planned_stale(PlannerInfo *root, RangeTblEntry *rte, IndexDef *def)
{
	for (PlannerInfo *query = root; setting_stale_reads && query != NULL; query = query->parent_root)
	{
		bool		secured = query->parse->hasRowSecurity;

		foreach_node(RangeTblEntry, other, query->parse->rtable)
			secured |= other->security_barrier || other->securityQuals != NIL;
		if (secured)
			return "it is asynchronous, and the query has row security or a security barrier";
	}
	return why_not_stale(def, checked_as(root->parse, rte));
}
