/*-------------------------------------------------------------------------
 *
 * users_index_path.c
 *	  Gives the planner paths that find entries by indexes that users have put on an index table.
 *
 * Our own scan searches the one index that is ours.  Where an index table has others, the server plans a
 * query of its entries, with those conditions on the fact table that entries can tell, and perhaps in the
 * order that is wanted.  If that plan uses one of the users' indexes, the scan executes it in place of its
 * own search, with the query's snapshot: see ../scan/users_index_search.c.  All else is as for any scan: whether
 * entries may stand for rows is decided by the same tests, and what entries do not tell is checked for
 * fetched rows.
 *
 * An entry of an index table with multi-valued fields is of one element.  So it is found by what the
 * conditions say of one element, if subqueries test elements, or the query joins the table with them.  Its row
 * is checked by the conditions themselves, and comes once.
 *
 * Users' indexes compare what no policy may hide, and say so by the time that they take.  So under row
 * security only conditions that come before all policies, or are leakproof, are part of the query.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "catalog/partition.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/planmain.h"
#include "rewrite/rewriteManip.h"
#include "storage/lmgr.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "../candidate/candidate.h"
#include "../definition/definition.h"
#include "../place/place.h"
#include "../reasons/reasons.h"
#include "../scan/scan.h"
#include "../util/as_owner.h"
#include "../util/compat.h"
#include "../util/inherit.h"
#include "../util/read_rights.h"
#include "../util/relation.h"
#include "../util/while_set.h"
#include "planner.h"

/* The number of elements of which it is found out how much a query says of them. */
#define MAX_ELEMENTS	16

/* The indexes of users on an index table. */
typedef struct UsersIndexes
{
	Oid			user;			/* by whose rights on the index table the
								 * server shows what it knows of entries */
	List	   *own;			/* OIDs of our indexes, and those of
								 * partitions */
	bool		any;			/* there are others */
	Bitmapset  *columns;		/* that users' indexes have */
	bool		predicates;		/* one of them has a predicate */
	List	   *exprs;			/* that they have, over entries */
} UsersIndexes;

static Candidate *candidate_of_query(PlannerInfo *root, RelOptInfo *rel, IndexDef *def, List *clauses,
									 UsersIndexes *indexes, List **quals);
static List *tests_of_element(PlannerInfo *root, Candidate *c, List *clauses, List *exprs);
static bool says_element_is_there(Candidate *c, Node *clause);
static bool is_for_search(Node *expr, List *exprs);
static bool find_users_indexes(IndexDef *def, UsersIndexes *found);
static bool find_indexes_of(IndexDef *def, Oid relid, UsersIndexes *found);
static Oid	user_of_statistics(PlannerInfo *root, RelOptInfo *rel, IndexDef *def);
static void begin_query(Candidate *c);
static void add_path_of_query(PlannerInfo *root, RelOptInfo *rel, Served *served, Candidate *c, List *clauses,
							  List *quals, List *sorted_by, UsersIndexes *indexes);
static bool concerns_indexes(Node *expr, UsersIndexes *indexes);
static PlannedStmt *plan_entries(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *clauses, List *quals,
								 List *sorted_by, Oid user);
static List *targets_of(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *clauses);
static Oid	users_index_of(Plan *plan, UsersIndexes *indexes);
static Oid	users_index_of_any(List *plans, UsersIndexes *indexes);

/*
 * add_users_index_paths
 *		Adds the paths of an index table by indexes that users have put on it: the cheapest one, and one in
 *		the order that the query wants.
 */
void
add_users_index_paths(PlannerInfo *root, RelOptInfo *rel, Served *served, IndexDef *def)
{
	List	   *clauses;
	List	   *quals = NIL;
	List	   *sorted_by = NIL;
	List	   *pathkeys;
	UsersIndexes indexes = {0};
	Candidate  *c;

	if (!def->layout.has_users_indexes)
		return;
	clauses = in_safe_order(root, rel, in_server_order(root, rel->baserestrictinfo));
	c = candidate_of_query(root, rel, def, clauses, &indexes, &quals);
	if (c == NULL)
		return;
	c->tested_again = served->tested_again;
	c->stored_rows = served->system_columns || is_positionable(root, served->fact->layout.partitioned);
	if (c->stored_rows && served->fact->layout.partitioned)
		return;
	pathkeys = wanted_order(root, rel, c, &sorted_by);
	if (concerns_indexes((Node *) quals, &indexes))
		add_path_of_query(root, rel, served, c, clauses, quals, NIL, &indexes);
	if (pathkeys == NIL || (def->spec.async && !c->entries_only) ||
		!(concerns_indexes(expression_over_entry(c, linitial(sorted_by)), &indexes) ||
		  concerns_indexes((Node *) quals, &indexes)))
		return;
	c = memcpy(palloc(sizeof(Candidate)), c, sizeof(Candidate));
	c->pathkeys = pathkeys;
	add_path_of_query(root, rel, served, c, clauses, quals, sorted_by, &indexes);
}

/*
 * add_users_index_of_elements
 *		Adds the path of an index table by such indexes in place of a join of a fact table with elements of its
 *		rows, whose clauses come in the order in which they are checked.
 */
void
add_users_index_of_elements(PlannerInfo *root, RelOptInfo *joined, RelOptInfo *fact, Served *served, Candidate *c,
							List *clauses)
{
	UsersIndexes indexes = {0};
	List	   *quals = NIL;

	if (c->policy_in_scan || !find_users_indexes(c->def, &indexes))
		return;
	begin_query(c);
	c->told = clauses_of_entries(root, c, clauses, &quals);
	indexes.user = user_of_statistics(root, fact, c->def);
	if (concerns_indexes((Node *) quals, &indexes))
		add_path_of_query(root, joined, served, c, clauses, quals, NIL, &indexes);
}

/*
 * estimate_users_indexes
 *		Returns how many entries an index of a user finds by conditions on a table, which are no
 *		RestrictInfos yet: the fewest of all index tables; -1 if there is no such index.
 */
double
estimate_users_indexes(PlannerInfo *root, RelOptInfo *rel, Served *served, List *clauses)
{
	double		result = -1;

	foreach_ptr(IndexDef, def, served->defs)
	{
		UsersIndexes indexes = {0};
		List	   *quals = NIL;
		Candidate  *c = candidate_of_query(root, rel, def, clauses, &indexes, &quals);
		const char *why;

		if (c == NULL)
			continue;
		if (!concerns_indexes((Node *) quals, &indexes) || !is_complete_enough(c, &why))
			continue;
		c->entries_only = true;
		c->query = plan_entries(root, rel, c, clauses, quals, NIL, indexes.user);
		if (OidIsValid(users_index_of(c->query->planTree, &indexes)) &&
			(result < 0 || c->query->planTree->plan_rows < result))
			result = c->query->planTree->plan_rows;
	}
	return result;
}

/*
 * candidate_of_query
 *		Returns what candidate_of_entries() does, and finds the users' indexes; NULL if there are none, too.
 */
static Candidate *
candidate_of_query(PlannerInfo *root, RelOptInfo *rel, IndexDef *def, List *clauses, UsersIndexes *indexes,
				   List **quals)
{
	Candidate  *c = find_users_indexes(def, indexes) ?
		candidate_of_entries(root, rel, def, clauses, indexes->exprs, quals) : NULL;

	if (c != NULL)
		indexes->user = user_of_statistics(root, rel, def);
	return c;
}

/*
 * candidate_of_entries
 *		Returns a candidate for a query of entries by any index, which has no search of its own, and sets *quals
 *		to the conditions of that query, over entries; NULL if entries cannot be found so.
 *
 * The clauses come in the order in which they are checked.  An index may have any of these expressions.
 */
Candidate *
candidate_of_entries(PlannerInfo *root, RelOptInfo *rel, IndexDef *def, List *clauses, List *exprs, List **quals)
{
	bool		of_elements = def->spec.nelements > 0;
	const char *why = NULL;
	Candidate  *c;

	if (def->fact->place->entries->search != NULL)
		return NULL;
	c = of_elements ? begin_candidate(root, def, clauses, rel->relid, &why) :
		consider_index_table(root, def, clauses, rel->relid, NIL, &why);
	if (c == NULL || c->policy_in_scan)
		return NULL;
	begin_query(c);
	c->unless = 0;
	c->told = clauses_of_entries(root, c, clauses, quals);
	if (of_elements)
	{
		List	   *tests = tests_of_element(root, c, clauses, exprs);

		*quals = list_concat(*quals, tests);
		return tests == NIL ? NULL : c;
	}
	return c;
}

/* begin_query: has a candidate find entries by a query, and not by a search of its own */
static void
begin_query(Candidate *c)
{
	c->conditions = NIL;
	c->nequal = c->order_from = 0;
	c->refuted = NULL;
}

/*
 * tests_of_element
 *		Returns what clauses say of one element of each row, over the entry of the element: of the one of which
 *		they say most.
 *
 * They say that a field of the innermost array is not NULL, so that there is an entry of the element.  A
 * subquery need not look at each element of a row, so that what is tested must not raise an error.
 */
static List *
tests_of_element(PlannerInfo *root, Candidate *c, List *clauses, List *exprs)
{
	List	   *tests = all_tested_clauses(root, clauses, c->varno);
	List	   *over_entry = NIL;
	List	   *result = NIL;
	List	   *chosen = NIL;
	int			n = 0;

	c->of_element = true;
	foreach_ptr(Node, test, tests)
	{
		Node	   *expr = is_deeply_nested(test) ? NULL : expression_over_entry(c, test);

		CHECK_FOR_INTERRUPTS();
		if (expr != NULL &&
			(contain_subplans(expr) || contain_volatile_functions(expr) ||
			 (c->secured && contain_leaked_vars(expr)) ||
			 !(cannot_raise_error(expr, c->secured) || is_for_search(expr, exprs))))
			expr = NULL;
		over_entry = lappend(over_entry, expr);
	}
	c->of_element = false;
	foreach_ptr(Node, deepest, tests)
	{
		List	   *quals = NIL;
		List	   *same = NIL;
		ListCell   *test;
		ListCell   *expr;

		CHECK_FOR_INTERRUPTS();
		if (list_member_ptr(chosen, deepest) || list_nth(over_entry, foreach_current_index(deepest)) == NULL ||
			!says_element_is_there(c, deepest))
			continue;
		if (++n > MAX_ELEMENTS)
			break;
		forboth(test, tests, expr, over_entry)
		{
			if (lfirst(expr) == NULL || !are_of_same_element(lfirst(test), deepest))
				continue;
			quals = lappend(quals, lfirst(expr));
			same = lappend(same, lfirst(test));
		}
		if (list_length(quals) <= list_length(result))
			continue;
		result = quals;
		chosen = same;
	}
	foreach_ptr(Node, test, chosen)
	{
		for (int i = 0; i < c->def->spec.nkeys; i++)
		{
			if (says_field_is_there(c, i, test))
				c->present = bms_add_member(c->present, i);
		}
	}
	c->known = list_concat_copy(c->known, chosen);
	c->distinct = true;
	return result;
}

/* says_element_is_there: returns whether a clause is true only of elements that have a field */
static bool
says_element_is_there(Candidate *c, Node *clause)
{
	IndexSpec  *spec = &c->def->spec;

	for (int e = 0; e < spec->nelements; e++)
	{
		if (spec->fields[spec->elements[e]].element_steps == spec->fields[spec->deepest].element_steps &&
			says_field_is_there(c, spec->elements[e], clause))
			return true;
	}
	return false;
}

/*
 * is_for_search
 *		Returns whether an expression compares a column of an entry, or one of these expressions, which an index
 *		has the values of, with a value of the query, by an operator that indexes search by.  These compare what
 *		they come to, in any order.
 */
static bool
is_for_search(Node *expr, List *exprs)
{
	OpExpr	   *op = (OpExpr *) expr;
	bool		result = false;

	if (!IsA(expr, OpExpr) || list_length(op->args) != 2)
		return false;
	for (int i = 0; i < 2 && !result; i++)
	{
		Node	   *key = list_nth(op->args, i);
		Node	   *value = list_nth(op->args, 1 - i);

		result = (IsA(value, Const) || IsA(value, Param)) &&
			(IsA(strip_implicit_coercions(key), Var) || list_member(exprs, key));
	}
	if (result)
	{
		CatCList   *members = SearchSysCacheList2(AMOPOPID, ObjectIdGetDatum(op->opno), CharGetDatum(AMOP_SEARCH));

		result = members->n_members > 0;
		ReleaseSysCacheList(members);
	}
	return result;
}

/*
 * find_users_indexes
 *		Finds the indexes on an index table that are not ours; returns whether there are any, and they and
 *		all partitions are free to be looked at: planning does not wait for REINDEX.
 */
static bool
find_users_indexes(IndexDef *def, UsersIndexes *found)
{
	bool		locked = true;

	/* The definition was looked up after the table was locked. */
	if (!def->layout.has_users_indexes)
		return false;
	foreach_oid(relid, list_with_partitions(def->relid))
		locked = locked && (relid == def->relid || ConditionalLockRelationOid(relid, AccessShareLock)) &&
		find_indexes_of(def, relid, found);
	return locked && found->any;
}

/*
 * find_indexes_of
 *		Adds the indexes of an index table, or of a partition of it, whose columns are numbered alike; returns
 *		whether all are free to be looked at.
 */
static bool
find_indexes_of(IndexDef *def, Oid relid, UsersIndexes *found)
{
	Relation	rel = try_relation_open(relid, NoLock);
	List	   *indexes;
	bool		locked = rel != NULL;

	if (rel == NULL)
		return false;
	indexes = RelationGetIndexList(rel);
	foreach_oid(oid, indexes)
	{
		Relation	index;

		locked = locked && ConditionalLockRelationOid(oid, AccessShareLock);
		index = locked ? try_relation_open(oid, NoLock) : NULL;
		if (index == NULL)
			continue;
		if (oid == def->layout.primary_index || oid == def->layout.row_index ||
			(relid != def->relid && (finds_entries(def, index) ||
									 (OidIsValid(def->layout.row_index) &&
									  oid == index_get_partition(rel, def->layout.row_index)))))
			found->own = lappend_oid(found->own, oid);
		else
		{
			found->any = true;
			for (int j = 0; j < index->rd_index->indnatts; j++)
				found->columns = bms_add_member(found->columns, index->rd_index->indkey.values[j] -
												FirstLowInvalidHeapAttributeNumber);
			found->predicates |= !heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);

			/* The server plans them when they are first asked for. */
			AS_OWNER(index->rd_indexprs != NIL ||
					 heap_attisnull(index->rd_indextuple, Anum_pg_index_indexprs, NULL) ?
					 InvalidOid : rel->rd_rel->relowner);
			{
				found->exprs = list_concat(found->exprs, RelationGetIndexExpressions(index));
			}
			END_AS_OWNER();
		}
		relation_close(index, NoLock);
	}
	list_free(indexes);
	ChangeVarNodes((Node *) found->exprs, 1, INDEX_VAR, 0);
	relation_close(rel, NoLock);
	return locked;
}

/*
 * user_of_statistics
 *		Returns the user whose rights on an index table decide whether operators that are not leakproof are
 *		shown common values of entries, when conditions are estimated; InvalidOid: the current one.
 *
 * It is the owner if the reader may read all columns of the fact table that entries depend on.  The query is
 * planned before the server checks these rights.
 */
static Oid
user_of_statistics(PlannerInfo *root, RelOptInfo *rel, IndexDef *def)
{
	return may_read_all_columns(root, rel, def->spec.used) ? table_owner(def->relid) : rel->userid;
}

/*
 * add_path_of_query
 *		Adds the path that finds entries by a query with these conditions, over entries, in the order of
 *		sorted_by, unless the server's plan of it uses none of the users' indexes.  The clauses are those of the
 *		relation.
 */
static void
add_path_of_query(PlannerInfo *root, RelOptInfo *rel, Served *served, Candidate *c, List *clauses, List *quals,
				  List *sorted_by, UsersIndexes *indexes)
{
	const char *why = NULL;
	CustomPath *path;
	Oid			index;

	c->values = NIL;
	c->sorted_by = sorted_by;
	c->entries_only = !c->stored_rows && cover_scan(root, rel, c, clauses);
	if (!c->entries_only && c->by_element)
		return;
	if (!c->entries_only && served->fact->layout.pk_deferrable)
		return;
	if (!is_complete_enough(c, &why))
	{
		give_reason(served->fact->relid, c->def->relid, why);
		return;
	}
	c->query = plan_entries(root, rel, c, clauses, quals, sorted_by, indexes->user);
	index = users_index_of(c->query->planTree, indexes);
	if (!OidIsValid(index))
		return;
	c->users_index = get_rel_relispartition(index) ? get_partition_parent(index, true) : index;
	estimate_index_size(c);
	c->entries = clamp_row_est(c->query->planTree->plan_rows);
	path = make_scan_path(rel, c);
	if (c->by_element)
		path->path.rows = rows_of_elements(root, c);
	else if (c->distinct)
		path->path.rows = Min(rel->rows, c->entries);
	if (c->entries_only)
		path->path.pathtarget = target_of_entries(root, rel, c);
	finish_path(root, rel, c, clauses, 1, &path->path);
	if (served->sorted_natively && !pathkeys_contained_in(root->sort_pathkeys, path->path.pathkeys))
		return;
	add_scan_path(root, rel, &path->path);
	give_reason(served->fact->relid, c->def->relid, REASON_COST);
}

/*
 * wanted_order
 *		Returns as many path keys of the query as entries can be sorted by, from the first one on, and sets
 *		*exprs to their expressions, over the fact table.
 *
 * What is sorted by is evaluated for all entries that the query finds.  So it raises no error, or all
 * conditions are the query's.
 */
List *
wanted_order(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List **exprs)
{
	List	   *result = NIL;

	foreach_ptr(PathKey, key, c->secured ? NIL : root->query_pathkeys)
	{
		Node	   *found = NULL;

		foreach_ptr(EquivalenceMember, em, key->pk_eclass->ec_has_volatile ? NIL : key->pk_eclass->ec_members)
		{
			Node	   *expr = em->em_is_const || !bms_equal(em->em_relids, rel->relids) ? NULL :
				expression_over_entry(c, (Node *) em->em_expr);

			if (expr != NULL && found == NULL && !contain_subplans(expr) &&
				(list_length(c->told) == list_length(rel->baserestrictinfo) || cannot_raise_error(expr, false)))
				found = (Node *) em->em_expr;
		}
		if (found == NULL)
			break;
		*exprs = lappend(*exprs, found);
		result = lappend(result, key);
	}
	return result;
}

/*
 * concerns_indexes
 *		Returns whether an expression over entries has a column that one of the users' indexes has, so that
 *		it may be worth while to ask for the server's plan.
 */
static bool
concerns_indexes(Node *expr, UsersIndexes *indexes)
{
	Bitmapset  *columns = NULL;

	pull_varattnos(expr, INDEX_VAR, &columns);
	return !bms_is_empty(columns) &&
		(indexes->predicates || indexes->exprs != NIL || bms_overlap(columns, indexes->columns));
}

/*
 * plan_entries
 *		Returns the server's plan of a query of entries, whose statistics it shows by the rights of a
 *		user on the index table.  Those of the reader on the fact table are checked for the query around it.
 */
static PlannedStmt *
plan_entries(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *clauses, List *quals, List *sorted_by,
			 Oid user)
{
	RangeTblEntry *rte = relation_of_index_table(c->def);
	Query	   *query = query_of_table(rte, targets_of(root, rel, c, clauses), NULL);
	List	   *exprs = NIL;
	double		fraction = root->tuple_fraction / (root->tuple_fraction >= 1 ? Max(rel->rows, 1) : 1);
	PlannedStmt *result;

	rte->inFromCl = true;
	rte->inh = c->def->layout.parts != NULL;
	check_as(query, rte, user);
	query->jointree->quals = replace_by_parameters((Node *) make_ands_explicit(copyObject(quals)),
												   list_make1_int(INDEX_VAR), &c->values);
	foreach_ptr(Node, expr, sorted_by)
		exprs = lappend(exprs, replace_by_parameters(expression_over_entry(c, expr), list_make1_int(INDEX_VAR),
													 &c->values));
	add_sort(query, c->pathkeys, exprs);
	if (sorted_by == NIL || fraction <= 0 || fraction >= 1)
		return plan_without_index_tables(query, 0, NULL);
	WHILE_SET(cursor_tuple_fraction, fraction,
			  result = plan_without_index_tables(query, CURSOR_OPT_FAST_PLAN, NULL));
	return result;
}

/*
 * targets_of
 *		Lists the columns of entries as the targets of a query, with NULL for those that are not needed.
 */
static List *
targets_of(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *clauses)
{
	TupleDesc	desc = c->def->layout.desc;
	Bitmapset  *wanted = c->entries_only && !c->distinct ? NULL : columns_to_fetch_by(c->def);
	List	   *checks = NIL;
	List	   *result = NIL;

	foreach_int(attno, c->entries_only ? c->attnos : NIL)
		wanted = bms_add_member(wanted, abs(attno));
	if (c->by_element && c->def->layout.elements_attno != 0)
		wanted = bms_add_member(wanted, c->def->layout.elements_attno);
	(void) checks_of_entries(c, clauses, &checks);
	foreach_ptr(Var, var, pull_var_clause((Node *) checks, 0))
		wanted = bms_add_member(wanted, var->varattno);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		Expr	   *expr = bms_is_member(i + 1, wanted) ?
			(Expr *) makeVar(1, i + 1, att->atttypid, att->atttypmod, att->attcollation, 0) :
			(Expr *) makeNullConst(INT4OID, -1, InvalidOid);

		result = lappend(result, makeTargetEntry(expr, i + 1, NULL, false));
	}
	return result;
}

/* users_index_of: returns the first index in a plan that is not one of ours, or InvalidOid */
static Oid
users_index_of(Plan *plan, UsersIndexes *indexes)
{
	Oid			index = InvalidOid;

	if (plan == NULL)
		return InvalidOid;
	switch (nodeTag(plan))
	{
		case T_IndexScan:
			index = ((IndexScan *) plan)->indexid;
			break;
		case T_IndexOnlyScan:
			index = ((IndexOnlyScan *) plan)->indexid;
			break;
		case T_BitmapIndexScan:
			index = ((BitmapIndexScan *) plan)->indexid;
			break;
		case T_BitmapAnd:
			return users_index_of_any(((BitmapAnd *) plan)->bitmapplans, indexes);
		case T_BitmapOr:
			return users_index_of_any(((BitmapOr *) plan)->bitmapplans, indexes);
		case T_Append:
			return users_index_of_any(((Append *) plan)->appendplans, indexes);
		case T_MergeAppend:
			return users_index_of_any(((MergeAppend *) plan)->mergeplans, indexes);
		default:
			return users_index_of(outerPlan(plan), indexes);
	}
	return list_member_oid(indexes->own, index) ? InvalidOid : index;
}

static Oid
users_index_of_any(List *plans, UsersIndexes *indexes)
{
	Oid			result = InvalidOid;

	foreach_ptr(Plan, plan, plans)
		result = OidIsValid(result) ? result : users_index_of(plan, indexes);
	return result;
}
