/*-------------------------------------------------------------------------
 *
 * or_path.c
 *	  Gives the planner paths for conditions that are joined by OR, on different fields, for several
 *	  values of one field whose entries are to come in the order of another one, and for orders that
 *	  have NULLs at the other end than entries have.
 *
 * Each arm of the OR is searched in an index table of its own, and the scans are put under an
 * Append.  The scan of an arm leaves out the rows of the arms before it, by checking for each row
 * that they are not true.  So each row that satisfies one arm or several comes once, from the
 * first arm that it satisfies, and nothing has to be sorted or remembered.
 *
 * If the entries of all arms come in an order that the query asks for, they are merged, so that
 * a LIMIT reads no more of each arm than it returns.  An arm that is one value of an IN has no rows
 * of another one.
 *
 * An OR whose arms are all about one field is a search for several values, too, and so is an IN:
 * see implied.c.
 *
 * What an arm leaves out makes planning take time and memory in the square of the number of arms,
 * which is bounded for that.  Arms that compare the same expressions for equality, each with other
 * constants, as a list of pairs does, have no rows in common and leave out nothing.
 *
 * Entries have NULLs last, or first where they are read backward.  Where the first column that a query
 * sorts by has them at the other end, the entries with NULL there are one arm, and all others the other
 * one, of which the second one is read after the first: an Append that is in order.
 *
 * Where entries alone answer, but do not tell of the arms before, one scan reads the searches of all arms as
 * its parts.  It remembers the rows that it has found, and leaves out those that came before.  Or it merges the
 * parts, if all come in the order that the query asks for and then by primary key: each row is met in all of
 * them at once.
 *
 * One arm may be on plain columns, id = 7 for example, which an index of the fact table itself finds.
 * It comes first, and the others leave out its rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "partitioning/partprune.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "../candidate/candidate.h"
#include "../util/compat.h"
#include "../util/settings.h"
#include "planner.h"

/*
 * The number of values of a field, and of arms of an OR that may have rows in common, that are
 * searched for apart from each other.
 */
#define MAX_ARMS	32

/* The number of arms of which no row satisfies two. */
#define MAX_DISJOINT_ARMS	1000

/*
 * The number of arms, times that of the conditions that each is planned beside, after which no further
 * condition is split: otherwise planning takes time in the square of the number of conditions.
 */
#define MAX_PLANNED_ARMS	2000

/* What an OR, or an IN, is split into. */
typedef struct Arms
{
	List	   *exprs;			/* of Expr *, of which one has to be true */
	bool		disjoint;		/* never two of them are */
	bool		in_order;		/* the entries of each are to come in an order
								 * that the query asks for */
	bool		in_turn;		/* which those of the second one come after
								 * those of the first one in */
	bool		ranges;			/* some may be ranges, which a <> is split
								 * into */
	Expr	   *native;			/* one more, whose rows ... */
	Path	   *native_path;	/* ... this finds, or NULL */
} Arms;

static void add_path_of_arms(PlannerInfo *root, RelOptInfo *rel, Served *served, Node *clause, Arms *arms);
static void add_path_of_parts(PlannerInfo *root, RelOptInfo *rel, Served *served, Node *clause, Arms *arms);
static PathTarget *cover_arms(PlannerInfo *root, RelOptInfo *rel, List *candidates, bool all);
static List *common_order(List *candidates);
static bool take_native_arm(PlannerInfo *root, RelOptInfo *rel, Served *served, Arms *arms);
static Path *native_path_of(PlannerInfo *root, RelOptInfo *rel, Served *served, Expr *arm);
static bool add_paths_of_partitions(PlannerInfo *root, RelOptInfo *rel, Node *arm, List **paths);
static Path *path_of_index(PlannerInfo *root, IndexOptInfo *index, List *comparisons);
static bool is_on_column(IndexOptInfo *index, int column, Node *comparison);
static List *candidates_of_arms(PlannerInfo *root, RelOptInfo *rel, Served *served, List *clauses, Node *clause,
								Arms *arms);
static Expr *is_not_true(Expr *expr);
static Candidate *best_of_arm(PlannerInfo *root, RelOptInfo *rel, Served *served, List *clauses, Arms *arms);
static List *conjuncts(PlannerInfo *root, Node *like, Expr *expr);
static bool split_order(PlannerInfo *root, RelOptInfo *rel, Served *served, Arms *arms);
static Node *first_of_order(PlannerInfo *root, RelOptInfo *rel, IndexDef *def, PathKey *key);
static Node *expr_to_split(Node *clause);
static bool split_or(PlannerInfo *root, RelOptInfo *rel, Served *served, Node *clause, Arms *arms);
static void set_null_arms(PlannerInfo *root, RelOptInfo *rel, Served *served, List *exprs, Arms *arms);
static List *split_inequality(Expr *expr, List *exprs);
static List *grouped_by_field(List *exprs);
static bool is_comparison(Node *expr);
static bool same_comparison(Node *a, Node *b);
static bool set_disjoint(Arms *arms);
static int	compare_arms(const void *a, const void *b, void *context);
static bool split_values(Node *clause, Arms *arms);
static Expr *unless_equal(Expr *value, Expr *other, Oid operator, Oid collation);

/*
 * add_or_paths
 *		Adds a path for each condition of a table whose arms can all be searched, and one for an
 *		order that is read in two parts.
 *
 * Where the executor may test a newer version of a row, it offers that version to one of the
 * scans only; and it knows no row of an Append by its place.  Such queries are left to others.
 */
void
add_or_paths(PlannerInfo *root, RelOptInfo *rel, Served *served)
{
	Arms		of_order = {0};
	int			planned = 0;

	if (served->tested_again || served->fact->layout.pk_deferrable ||
		is_positionable(root, served->fact->layout.partitioned) ||
		(served->fact->layout.partitioned && served->system_columns))
		return;
	foreach_ptr(Node, clause, rel->baserestrictinfo)
	{
		Arms		arms = {0};

		if (planned > MAX_PLANNED_ARMS)
			break;
		if (split_or(root, rel, served, clause, &arms))
			add_path_of_arms(root, rel, served, clause, &arms);
		arms.in_order = true;
		if (root->query_pathkeys != NIL && (arms.exprs != NIL || split_values(clause, &arms)))
			add_path_of_arms(root, rel, served, clause, &arms);
		planned += list_length(arms.exprs) * list_length(rel->baserestrictinfo);
	}
	if (split_order(root, rel, served, &of_order))
		add_path_of_arms(root, rel, served, NULL, &of_order);
}

/*
 * add_path_of_arms
 *		Adds a path that searches for all arms of a condition, or of an order, if they can be
 *		searched.
 */
static void
add_path_of_arms(PlannerInfo *root, RelOptInfo *rel, Served *served, Node *clause, Arms *arms)
{
	List	   *candidates = candidates_of_arms(root, rel, served, rel->baserestrictinfo, clause, arms);
	PathTarget *target;
	List	   *paths = NIL;
	Cost		startup_cost = 0;
	Cost		total_cost = 0;
	double		rows = 0;
	Path	   *path;

	if (candidates == NIL && take_native_arm(root, rel, served, arms))
		candidates = candidates_of_arms(root, rel, served, rel->baserestrictinfo, clause, arms);
	if (candidates == NIL)
		return;
	target = cover_arms(root, rel, candidates, arms->native == NULL);
	if (arms->native != NULL)
		paths = list_make1(arms->native_path);
	foreach_ptr(Candidate, c, candidates)
	{
		CustomPath *scan = make_scan_path(rel, c);

		scan->path.rows = rows_of_search(root, rel, c, c->clauses);
		rows += scan->path.rows;
		if (scan->path.rows == 0)
			scan->path.rows = Min(rel->rows, c->entries);
		if (target != NULL)
			scan->path.pathtarget = target;
		finish_path(root, rel, c, c->clauses, 1, &scan->path);
		startup_cost += scan->path.startup_cost;
		total_cost += scan->path.total_cost;
		paths = lappend(paths, scan);
	}
	if (arms->in_order && !arms->in_turn)
	{
		path = (Path *) create_merge_append_path_compat(root, rel, paths, common_order(candidates));
		path->rows = Max(rel->rows, rows);
	}
	else
		path = (Path *) create_append_path_compat(root, rel, paths, arms->in_turn ? common_order(candidates) : NIL,
												  Max(rel->rows, rows));
	if (target != NULL)
		path->pathtarget = target;
	if (setting_planner != PLANNER_ON)
	{
		path->startup_cost = arms->in_order ? startup_cost : path->startup_cost;
		path->total_cost = total_cost;
	}
	add_scan_path(root, rel, path);
	if (target == NULL && !arms->in_turn && !arms->disjoint && arms->native == NULL)
		add_path_of_parts(root, rel, served, clause, arms);
}

/* What it takes to remember a row, in bytes. */
#define SEEN_ROW_SIZE	100

/*
 * add_path_of_parts
 *		Adds a path of one scan that reads the entries of all arms of a condition, and either merges them by
 *		the order that the query asks for or remembers their rows, if entries have all that is needed.
 *
 * An arm is evaluated for rows of others, so it must not raise an error.  Row security might be told of by one.
 */
static void
add_path_of_parts(PlannerInfo *root, RelOptInfo *rel, Served *served, Node *clause, Arms *arms)
{
	Arms		apart = *arms;
	List	   *arms_apart;
	Candidate  *c = palloc0(sizeof(Candidate));
	CustomPath *path;
	double		entries = 0;

	if (served->system_columns || planner_rt_fetch(rel->relid, root)->securityQuals != NIL)
		return;
	apart.disjoint = true;
	arms_apart = candidates_of_arms(root, rel, served, rel->baserestrictinfo, clause, &apart);
	foreach_ptr(Candidate, part, arms_apart)
	{
		List	   *checks;

		if (part->def->spec.async || !cover_scan(root, rel, part, NIL) ||
			!checks_of_part(part, rel->baserestrictinfo, part->clauses, &checks) ||
			(arms->in_order && !(is_in_one_order(part) && same_order(linitial(arms_apart), part))))
			return;
		if (c->def == NULL)
		{
			c->def = part->def;
			c->varno = part->varno;
			c->order_from = part->order_from;
			c->backward = part->backward;
			c->excluded = part->excluded;
			c->partial_rows = part->partial_rows;
			c->exprs = part->exprs;
		}
		if (part->partial_rows != c->partial_rows || !equal(part->exprs, c->exprs))
			return;
		entries += part->entries;
	}
	if (arms_apart == NIL || (!arms->in_order && entries * SEEN_ROW_SIZE > get_hash_memory_limit()))
		return;
	c->pathkeys = arms->in_order ? common_order(arms_apart) : NIL;
	c->known = rel->baserestrictinfo;
	c->entries_only = c->any_part = true;
	c->entries = entries;
	path = make_scan_path(rel, c);
	path->path.pathtarget = target_of_entries(root, rel, c);
	path->path.total_cost = 2 * cpu_operator_cost * entries;
	prefer_if_forced(&path->path);
	foreach_ptr(Candidate, part, arms_apart)
	{
		CustomPath *reading = part_of(root, rel, part);

		path->path.startup_cost += foreach_current_index(part) == 0 || arms->in_order ?
			reading->path.startup_cost : 0;
		path->path.total_cost += reading->path.total_cost;
		path->custom_paths = lappend(path->custom_paths, reading);
	}
	add_scan_path(root, rel, &path->path);
}

/*
 * cover_arms
 *		Has all arms be answered from entries alone, and returns what each returns then; NULL if they
 *		cannot be, or if one has the document where another one has fields of it.  If they are not all that
 *		there are, they have to return what the planner asks for.  What only some arms read, to check
 *		conditions, is left out.
 */
static PathTarget *
cover_arms(PlannerInfo *root, RelOptInfo *rel, List *candidates, bool all)
{
	bool		stored_rows = scan_wants_system_columns(rel, rel->baserestrictinfo);
	bool		partial_rows = false;
	bool		covered = true;
	List	   *exprs = NIL;
	PathTarget *target;

	foreach_ptr(Candidate, c, candidates)
	{
		c->stored_rows = stored_rows;
		covered = covered && !stored_rows && !c->def->spec.async && cover_scan(root, rel, c, NIL);
		if (foreach_current_index(c) == 0)
			exprs = list_copy(c->exprs);
		covered = covered && list_difference(exprs, c->exprs) == NIL && list_difference(c->exprs, exprs) == NIL;
		c->entries_only = covered = covered && cover_scan(root, rel, c, c->clauses);
		partial_rows |= c->partial_rows;
	}
	foreach_ptr(Candidate, c, candidates)
		covered = covered && (!partial_rows || target_of_entries(root, rel, c) == rel->reltarget);
	target = partial_rows ? rel->reltarget : target_of_expressions(root, rel, exprs);
	if (covered && (all || target == rel->reltarget))
		return target;
	foreach_ptr(Candidate, c, candidates)
	{
		c->entries_only = c->partial_rows = false;
		c->exprs = c->attnos = NIL;
	}
	return NULL;
}

/* common_order: returns the path keys that all of some candidates have */
static List *
common_order(List *candidates)
{
	List	   *result = list_copy(((Candidate *) linitial(candidates))->pathkeys);

	foreach_ptr(Candidate, c, candidates)
		result = list_truncate(result, list_length(c->pathkeys));
	return result;
}

/*
 * estimate_or_entries
 *		Returns how many entries are read for the OR among some conditions that takes the
 *		fewest, or -1.
 */
double
estimate_or_entries(PlannerInfo *root, RelOptInfo *rel, Served *served, List *clauses)
{
	double		result = -1;
	int			planned = 0;

	foreach_ptr(Node, clause, clauses)
	{
		double		entries = 0;
		Arms		arms = {0};
		List	   *candidates;

		if (planned > MAX_PLANNED_ARMS)
			break;
		if (!split_or(root, rel, served, clause, &arms))
			continue;
		planned += list_length(arms.exprs) * list_length(clauses);
		candidates = candidates_of_arms(root, rel, served, clauses, clause, &arms);
		foreach_ptr(Candidate, c, candidates)
			entries += c->entries;
		if (candidates != NIL && (result < 0 || entries < result))
			result = entries;
	}
	return result;
}

/* expr_to_split: returns the expression of a clause, unless it has to be evaluated as a whole */
static Node *
expr_to_split(Node *clause)
{
	if (IsA(clause, RestrictInfo))
	{
		if (((RestrictInfo *) clause)->pseudoconstant)
			return NULL;
		clause = (Node *) ((RestrictInfo *) clause)->clause;
	}
	return is_left_to_scan(clause) || is_deeply_nested(clause) ? NULL : clause;
}

/*
 * split_or
 *		Sets the arms of a clause; returns false if it is no OR whose arms may be evaluated apart from each
 *		other, nor a condition that says as much as one with NULL, or if these are too many.
 */
static bool
split_or(PlannerInfo *root, RelOptInfo *rel, Served *served, Node *clause, Arms *arms)
{
	Node	   *expr = expr_to_split(clause);

	if (expr == NULL)
		return false;
	if (!is_orclause(expr))
	{
		List	   *others;

		arms->exprs = null_arms(root, served->defs, expr, rel->relid);
		others = list_truncate(list_copy(arms->exprs), Max(list_length(arms->exprs) - 1, 0));
		/* What is strict is not true of NULL. */
		arms->disjoint = !contain_nonstrict_functions((Node *) others);
		arms->ranges = IsA(expr, DistinctExpr);
		return arms->exprs != NIL;
	}
	set_null_arms(root, rel, served, ((BoolExpr *) expr)->args, arms);
	if (list_length(arms->exprs) <= MAX_ARMS || set_disjoint(arms))
		return true;
	arms->exprs = grouped_by_field(arms->exprs);
	if (list_length(arms->exprs) > MAX_ARMS)
		arms->exprs = NIL;
	return arms->exprs != NIL;
}

/*
 * set_null_arms
 *		Sets the arms of an OR, with several in the place of each that says as much as these, one that a
 *		field is NULL, and with ranges in the place of <> beside such a one.
 */
static void
set_null_arms(PlannerInfo *root, RelOptInfo *rel, Served *served, List *exprs, Arms *arms)
{
	if (list_length(exprs) > MAX_ARMS)
	{
		arms->exprs = exprs;
		return;
	}
	foreach_ptr(Expr, expr, exprs)
	{
		List	   *of_null = null_arms(root, served->defs, (Node *) expr, rel->relid);
		List	   *of_others = of_null == NIL ? split_inequality(expr, exprs) : NIL;

		if (of_null == NIL && of_others == NIL)
			arms->exprs = lappend(arms->exprs, expr);
		arms->exprs = list_concat(arms->exprs, list_concat(of_null, of_others));
		arms->ranges |= of_others != NIL || (of_null != NIL && IsA(expr, DistinctExpr));
		/* Less, greater, or NULL. */
		arms->disjoint |= of_others != NIL && list_length(exprs) == 2;
	}
}

/*
 * split_inequality
 *		Returns f < 'x' and f > 'x' for f <> 'x', if one of some arms is f IS NULL; else NIL.
 */
static List *
split_inequality(Expr *expr, List *exprs)
{
	Node	   *tested;
	List	   *result = NIL;
	Oid			equal_operator = IsA(expr, OpExpr) ? get_negator(((OpExpr *) expr)->opno) : InvalidOid;

	if (!OidIsValid(equal_operator) || list_length(((OpExpr *) expr)->args) != 2)
		return NIL;
	result = other_values(equal_operator, (OpExpr *) expr, &tested);
	foreach_ptr(NullTest, test, result != NIL ? exprs : NIL)
	{
		if (IsA(test, NullTest) && test->nulltesttype == IS_NULL && equal(test->arg, tested))
			return result;
	}
	return NIL;
}

/*
 * grouped_by_field
 *		Returns arms, with those as one OR that compare the same expression for equality with a constant
 *		each, in the place of the first of these.
 *
 * No error is raised that the server would not raise, although a member is evaluated before arms that
 * stood before it.  For a row of one group, the groups before it are tested, until one is true.  So a
 * group is tested only if all arms before its first member are not true, and then the server evaluates
 * this member for the row, and with it the expression that all members compare.  The comparison of its
 * value with another constant raises no error: its operator is the server's own, and the type one that a
 * key field can have.
 */
static List *
grouped_by_field(List *exprs)
{
	List	   *groups = NIL;
	List	   *result = NIL;

	foreach_ptr(Node, expr, exprs)
	{
		bool		found = false;

		CHECK_FOR_INTERRUPTS();
		foreach_ptr(List, group, is_comparison(expr) ? groups : NIL)
		{
			found = same_comparison(linitial(group), expr);
			if (found)
			{
				group = lappend(group, expr);	/* in its place */
				break;
			}
		}
		if (!found)
			groups = lappend(groups, list_make1(expr));
		if (list_length(groups) > MAX_ARMS)
			return exprs;
	}
	foreach_ptr(List, members, groups)
		result = lappend(result, list_length(members) == 1 ? linitial(members) : make_orclause(members));
	return result;
}

/*
 * is_comparison
 *		Returns whether an expression compares something for equality with a constant, by an operator
 *		and a type of the server's own: their functions are called when the query is planned.
 */
static bool
is_comparison(Node *expr)
{
	OpExpr	   *op = (OpExpr *) expr;
	Const	   *value;
	TypeCacheEntry *cache;

	if (!IsA(expr, OpExpr) || list_length(op->args) != 2 || !IsA(lsecond(op->args), Const) ||
		op->opno >= FirstNormalObjectId)
		return false;
	value = lsecond(op->args);
	if (value->constisnull || value->consttype >= FirstNormalObjectId || IsA(linitial(op->args), Const))
		return false;
	cache = lookup_type_cache(value->consttype, TYPECACHE_BTREE_OPFAMILY | TYPECACHE_CMP_PROC_FINFO);
	return OidIsValid(cache->btree_opf) && OidIsValid(cache->cmp_proc_finfo.fn_oid) &&
		get_op_opfamily_strategy(op->opno, cache->btree_opf) == BTEqualStrategyNumber;
}

/* same_comparison: returns whether two such expressions differ in their constants only */
static bool
same_comparison(Node *a, Node *b)
{
	OpExpr	   *x = (OpExpr *) a;
	OpExpr	   *y = (OpExpr *) b;

	return is_comparison(a) && is_comparison(b) && x->opno == y->opno && x->inputcollid == y->inputcollid &&
		((Const *) lsecond(x->args))->consttype == ((Const *) lsecond(y->args))->consttype &&
		equal(linitial(x->args), linitial(y->args));
}

/*
 * set_disjoint
 *		Returns whether no row satisfies two of the arms, and notes that in *arms: each is an AND of comparisons
 *		of the same expressions, with constants that differ from arm to arm.  Of equal arms one is left.
 */
static bool
set_disjoint(Arms *arms)
{
	List	   *first = make_ands_implicit(linitial(arms->exprs));
	List	  **sorted;
	int			n = 0;

	if (list_length(arms->exprs) > MAX_DISJOINT_ARMS)
		return false;
	sorted = palloc(sizeof(List *) * list_length(arms->exprs));
	foreach_ptr(Expr, expr, arms->exprs)
	{
		List	   *arm = make_ands_implicit(expr);
		ListCell   *cell;
		ListCell   *other;

		CHECK_FOR_INTERRUPTS();
		if (list_length(arm) != list_length(first))
			return false;
		forboth(cell, first, other, arm)
		{
			if (!same_comparison(lfirst(cell), lfirst(other)))
				return false;
		}
		sorted[n++] = arm;
	}
	qsort_arg(sorted, n, sizeof(List *), compare_arms, NULL);
	arms->exprs = NIL;
	for (int i = 0; i < n; i++)
	{
		if (i == 0 || compare_arms(&sorted[i - 1], &sorted[i], NULL) != 0)
			arms->exprs = lappend(arms->exprs, make_ands_explicit(sorted[i]));
	}
	arms->disjoint = true;
	return true;
}

/* compare_arms: compares the constants of two arms */
static int
compare_arms(const void *a, const void *b, void *context)
{
	ListCell   *x;
	ListCell   *y;

	forboth(x, *(List *const *) a, y, *(List *const *) b)
	{
		OpExpr	   *op = lfirst(x);
		Const	   *value = lsecond(op->args);
		Const	   *other = lsecond(lfirst_node(OpExpr, y)->args);
		TypeCacheEntry *cache = lookup_type_cache(value->consttype, TYPECACHE_CMP_PROC_FINFO);
		int			c = DatumGetInt32(FunctionCall2Coll(&cache->cmp_proc_finfo, op->inputcollid, value->constvalue,
														other->constvalue));

		if (c != 0)
			return c;
	}
	return 0;
}

/*
 * split_values
 *		Sets the arms of a clause that compares something for equality with each of several
 *		values, or looks for each of several elements; returns false if it does not.
 *
 * A value that is equal to one before it becomes NULL, which nothing is equal to: a constant now,
 * and any other when it is known.  If something is equal to two values, these are equal, too, as
 * far as one family of operators goes.  Of elements a row may have several.
 */
static bool
split_values(Node *clause, Arms *arms)
{
	Node	   *expr = expr_to_split(clause);
	bool		elements = expr != NULL && IsA(expr, OpExpr) &&
		get_opcode(((OpExpr *) expr)->opno) == F_JSONB_EXISTS_ANY;
	Oid			operator;
	Node	   *array;
	List	   *values;

	if (elements)
		operator = OpernameGetOprid(list_make2(makeString("pg_catalog"), makeString("?")), JSONBOID, TEXTOID);
	else if (expr != NULL && IsA(expr, ScalarArrayOpExpr) && ((ScalarArrayOpExpr *) expr)->useOr)
		operator = ((ScalarArrayOpExpr *) expr)->opno;
	else
		return false;
	array = lsecond(operands(expr));
	if (IsA(array, ArrayExpr) && !((ArrayExpr *) array)->multidims)
		values = ((ArrayExpr *) array)->elements;
	else
		values = constant_values(array, MAX_ARMS);
	if (list_length(values) > MAX_ARMS)
		return false;
	foreach_ptr(Expr, value, values)
	{
		for (int i = 0; i < foreach_current_index(value) && value != NULL; i++)
			value = unless_equal(value, list_nth(values, i), operator, exprInputCollation(expr));
		if (value == NULL)
			return false;
		if (!IsA(value, Const) || !((Const *) value)->constisnull)
			arms->exprs = lappend(arms->exprs,
								  make_opclause(operator, BOOLOID, false, linitial(operands(expr)), value,
												InvalidOid, exprInputCollation(expr)));
	}
	arms->disjoint = !elements;
	return list_length(arms->exprs) > (IsA(array, Const) && !elements ? 1 : 0);
}

/*
 * unless_equal
 *		Returns NULLIF(value, other), where an operator tells of both what is equal to them; NULL if
 *		it is not known whether they are equal then.  Of elements, constants are as they are.
 */
static Expr *
unless_equal(Expr *value, Expr *other, Oid operator, Oid collation)
{
	TypeCacheEntry *cache = lookup_type_cache(exprType((Node *) other),
											  TYPECACHE_BTREE_OPFAMILY | TYPECACHE_CMP_PROC_FINFO);
	bool		known = IsA(value, Const) && IsA(other, Const);
	NullIfExpr *result;

	if (get_opcode(operator) == F_JSONB_EXISTS)
	{
		if (known)
			return value;
		collation = DEFAULT_COLLATION_OID;
	}
	else if (!OidIsValid(cache->btree_opf) || !OidIsValid(cache->cmp_proc_finfo.fn_oid) ||
			 get_op_opfamily_strategy(operator, cache->btree_opf) != BTEqualStrategyNumber)
		return NULL;
	else if (known)
		return ((Const *) value)->constisnull || ((Const *) other)->constisnull ||
			DatumGetInt32(FunctionCall2Coll(&cache->cmp_proc_finfo, collation, ((Const *) value)->constvalue,
											((Const *) other)->constvalue)) != 0 ? value :
			(Expr *) makeNullConst(((Const *) value)->consttype, -1, ((Const *) value)->constcollid);
	result = makeNode(NullIfExpr);
	result->opno = get_opfamily_member(cache->btree_opf, cache->btree_opintype, cache->btree_opintype,
									   BTEqualStrategyNumber);
	result->opfuncid = get_opcode(result->opno);
	result->opresulttype = exprType((Node *) value);
	result->opcollid = exprCollation((Node *) value);
	result->inputcollid = collation;
	result->args = list_make2(value, other);
	result->location = -1;
	return (Expr *) result;
}

/*
 * take_native_arm
 *		Takes the arm out of several that a btree of the fact table, or one of each partition, finds by all
 *		that it says, and sets the path.  Returns false if there is none, or one has been taken.
 *
 * It is tested before others although it may stand after them, so it must not raise errors.  The path
 * is checked for the whole of the clause, as all conditions of the table are.
 */
static bool
take_native_arm(PlannerInfo *root, RelOptInfo *rel, Served *served, Arms *arms)
{
	if (arms->native != NULL || list_length(arms->exprs) < 2 ||
		planner_rt_fetch(rel->relid, root)->securityQuals != NIL)
		return false;
	foreach_ptr(Expr, arm, arms->exprs)
	{
		arms->native_path = cannot_raise_error((Node *) arm, false) ? native_path_of(root, rel, served, arm) :
			NULL;
		if (arms->native_path == NULL)
			continue;
		arms->native = arm;
		arms->exprs = list_delete_ptr(list_copy(arms->exprs), arm);
		return true;
	}
	return false;
}

/*
 * native_path_of
 *		Returns a path that finds all rows of a table, and no others, for which an arm is
 *		true, or NULL.
 */
static Path *
native_path_of(PlannerInfo *root, RelOptInfo *rel, Served *served, Expr *arm)
{
	PartitionScheme scheme = rel->part_scheme;
	List	   *paths = NIL;
	bool		all;

	if (!served->fact->layout.partitioned)
	{
		foreach_node(IndexOptInfo, index, rel->indexlist)
		{
			Path	   *path = path_of_index(root, index, make_ands_implicit(arm));

			if (path != NULL)
				return path;
		}
		return NULL;
	}
	rel->part_scheme = served->part_scheme;
	all = rel->part_rels != NULL && add_paths_of_partitions(root, rel, (Node *) arm, &paths);
	rel->part_scheme = scheme;
	if (!all || paths == NIL)
		return NULL;
	return (Path *) create_append_path_compat(root, rel, paths, NIL, -1);
}

/*
 * add_paths_of_partitions
 *		Adds to *paths those that find the rows of partitions for which an arm is true.  Returns false if a
 *		partition has no index that does.
 *
 * Partitions are left out by the arm as by any other condition.
 */
static bool
add_paths_of_partitions(PlannerInfo *root, RelOptInfo *rel, Node *arm, List **paths)
{
	int			i = -1;
	List	   *conditions = rel->baserestrictinfo;
	Bitmapset  *parts;

	foreach_ptr(Expr, conjunct, make_ands_implicit((Expr *) arm))
		rel->baserestrictinfo = lappend(foreach_current_index(conjunct) == 0 ? NIL : rel->baserestrictinfo,
										make_simple_restrictinfo(root, conjunct));
	parts = rel->part_scheme == NULL ? rel->live_parts : prune_append_rel_partitions(rel);
	rel->baserestrictinfo = conditions;
	while ((i = bms_next_member(parts, i)) >= 0)
	{
		RelOptInfo *part = rel->part_rels[i];
		AppendRelInfo *appinfo;
		Node	   *translated;
		Path	   *path = NULL;

		if (part == NULL || IS_DUMMY_REL(part))
			continue;
		appinfo = root->append_rel_array[part->relid];
		translated = adjust_appendrel_attrs(root, arm, 1, &appinfo);
		if (part->nparts > 0)
		{
			if (!add_paths_of_partitions(root, part, translated, paths))
				return false;
			continue;
		}
		foreach_node(IndexOptInfo, index, part->indexlist)
			path = path != NULL ? path : path_of_index(root, index, make_ands_implicit((Expr *) translated));
		if (path == NULL)
			return false;
		*paths = lappend(*paths, path);
	}
	return true;
}

/*
 * path_of_index
 *		Returns a path that finds all rows, and no others, for which some comparisons are
 *		true, or NULL.
 */
static Path *
path_of_index(PlannerInfo *root, IndexOptInfo *index, List *comparisons)
{
	List	   *found = NIL;
	List	   *clauses = NIL;

	if (index->relam != BTREE_AM_OID || index->indpred != NIL)
		return NULL;
	for (int column = 0; column < index->nkeycolumns && (column == 0 || clauses != NIL); column++)
	{
		foreach_ptr(Node, comparison, comparisons)
		{
			IndexClause *clause;

			if (list_member_ptr(found, comparison) || !is_on_column(index, column, comparison))
				continue;
			clause = makeNode(IndexClause);
			clause->rinfo = make_simple_restrictinfo(root, (Expr *) comparison);
			clause->indexquals = list_make1(clause->rinfo);
			clause->indexcol = column;
			clauses = lappend(clauses, clause);
			found = lappend(found, comparison);
		}
	}
	if (list_length(found) < list_length(comparisons))
		return NULL;
	return (Path *) create_index_path(root, index, clauses, NIL, NIL, NIL, ForwardScanDirection, false, NULL, 1,
									  false);
}

/*
 * is_on_column
 *		Returns whether an expression compares a column of a btree with a value, or for
 *		equality with one of several.
 */
static bool
is_on_column(IndexOptInfo *index, int column, Node *comparison)
{
	ScalarArrayOpExpr *any = (ScalarArrayOpExpr *) comparison;
	Oid			operator = IsA(comparison, OpExpr) ? ((OpExpr *) comparison)->opno :
		IsA(comparison, ScalarArrayOpExpr) && any->useOr ? any->opno :
		InvalidOid;
	List	   *args = operands(comparison);
	int			strategy;

	if (!OidIsValid(operator) || list_length(args) != 2)
		return false;
	strategy = get_op_opfamily_strategy(operator, index->opfamily[column]);
	return strategy != InvalidStrategy && (IsA(comparison, OpExpr) || strategy == BTEqualStrategyNumber) &&
		match_index_to_operand(linitial(args), column, index) && !contain_var_clause(lsecond(args)) &&
		(!OidIsValid(index->indexcollations[column]) ||
		 index->indexcollations[column] == exprInputCollation(comparison));
}

/*
 * candidates_of_arms
 *		Returns a Candidate for each arm of a clause, one of several that all rows have to satisfy,
 *		or of an order, if clause is NULL; NIL if one of the arms cannot be searched.
 */
static List *
candidates_of_arms(PlannerInfo *root, RelOptInfo *rel, Served *served, List *clauses, Node *clause, Arms *arms)
{
	List	   *others = list_delete_ptr(list_copy(clauses), clause);
	List	   *tests = NIL;	/* that the arms before are not true */
	List	   *result = NIL;

	if (arms->native != NULL)
		tests = conjuncts(root, clause, is_not_true(arms->native));
	foreach_ptr(Expr, arm, arms->exprs)
	{
		List	   *own = list_concat_copy(tests, conjuncts(root, clause, arm));
		Candidate  *c = best_of_arm(root, rel, served, list_concat(own, others), arms);

		CHECK_FOR_INTERRUPTS();
		if (c == NULL)
			return NIL;
		c->split = clause;
		result = lappend(result, c);
		if (!arms->disjoint)
			tests = list_concat(tests, conjuncts(root, clause, is_not_true(arm)));
	}
	return result;
}

/* is_not_true: returns the condition that another one is false or NULL */
static Expr *
is_not_true(Expr *expr)
{
	BooleanTest *test = makeNode(BooleanTest);

	test->arg = expr;
	test->booltesttype = IS_NOT_TRUE;
	test->location = -1;
	return (Expr *) test;
}

/*
 * best_of_arm
 *		Returns the index table that finds the rows that satisfy the clauses of an arm by the fewest
 *		entries, or NULL; with in_order, of those whose entries come in most of the order that is asked
 *		for.
 */
static Candidate *
best_of_arm(PlannerInfo *root, RelOptInfo *rel, Served *served, List *clauses, Arms *arms)
{
	Candidate  *best = NULL;

	foreach_ptr(IndexDef, def, served->defs)
	{
		const char *why;
		Candidate  *c = consider_index_table(root, def, clauses, rel->relid, NIL, &why);

		if (c == NULL || (c->nequal == 0 && !arms->in_turn && (!arms->ranges || c->conditions == NIL)) ||
			!is_complete_enough(c, &why))
			continue;
		if (arms->in_order)
		{
			set_order(root, rel, c);
			if (c->pathkeys == NIL || c->def->spec.async ||
				(best != NULL && list_length(c->pathkeys) < list_length(best->pathkeys)))
				continue;
		}
		c->clauses = clauses;
		estimate_entries(root, rel, c);
		if (best == NULL || list_length(c->pathkeys) > list_length(best->pathkeys) || c->entries < best->entries)
			best = c;
	}
	return best;
}

/*
 * split_order
 *		Sets the arms of the order that a query asks for if NULLs come at the other end of its first
 *		column than in the entries of an index table; returns false if not.
 */
static bool
split_order(PlannerInfo *root, RelOptInfo *rel, Served *served, Arms *arms)
{
	PathKey    *key = root->query_pathkeys == NIL ? NULL : linitial(root->query_pathkeys);
	Node	   *expr = NULL;

	if (key == NULL || key->pk_nulls_first == pathkey_descends(key) || key->pk_eclass->ec_has_volatile)
		return false;
	foreach_ptr(IndexDef, def, served->defs)
	{
		if (expr == NULL && !def->spec.sparse)
			expr = first_of_order(root, rel, def, key);
	}
	if (expr == NULL)
		return false;
	arms->exprs = list_make2(null_test(expr, key->pk_nulls_first ? IS_NULL : IS_NOT_NULL),
							 null_test(expr, key->pk_nulls_first ? IS_NOT_NULL : IS_NULL));
	return arms->disjoint = arms->in_order = arms->in_turn = true;
}

/*
 * first_of_order
 *		Returns the expression of a path key that entries come in the order of, if it may be NULL in them;
 *		else NULL.
 */
static Node *
first_of_order(PlannerInfo *root, RelOptInfo *rel, IndexDef *def, PathKey *key)
{
	const char *why;
	bool		last;
	Candidate  *c = consider_index_table(root, def, rel->baserestrictinfo, rel->relid, NIL, &why);

	return c != NULL && c->order_from < def->layout.nsearch && may_be_null(c, c->order_from) ?
		sort_expression(c, rel, key, c->order_from, &last) : NULL;
}

/*
 * conjuncts
 *		Returns what is joined by AND in an arm of a clause, as clauses like that one; of an order, as
 *		clauses that are checked after all others.
 */
static List *
conjuncts(PlannerInfo *root, Node *like, Expr *expr)
{
	List	   *result = NIL;

	foreach_ptr(Node, clause, make_ands_implicit(expr))
	{
		if (like == NULL || IsA(like, RestrictInfo))
		{
			RestrictInfo *rinfo = make_simple_restrictinfo(root, (Expr *) clause);

			rinfo->security_level = like == NULL ? root->qual_security_level :
				((RestrictInfo *) like)->security_level;
			rinfo->leakproof = like != NULL && ((RestrictInfo *) like)->leakproof;
			clause = (Node *) rinfo;
		}
		result = lappend(result, clause);
	}
	return result;
}
