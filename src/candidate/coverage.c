/*-------------------------------------------------------------------------
 *
 * coverage.c
 *	  Finds out whether entries have all that a query needs of fact rows, so that no fact row
 *	  has to be fetched.
 *
 * A scan that reads only entries returns the expressions of the query themselves, such as
 * doc ->> 'town', not the columns that they are made of, if everything above the scan asks for
 * just these expressions.  The planner asks for them where they are in the target list of a
 * query of one table.  In all other cases it asks for plain columns: for what is evaluated above
 * joins, for example.  Then the scan returns rows of the fact table, with a document that has
 * only the fields of the entry; see partial_row.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "rewrite/rewriteManip.h"

#include "../definition/definition.h"
#include "../scan/scan.h"
#include "../util/compat.h"
#include "candidate.h"

/* What an expression is made of for entries. */
typedef struct OverEntry
{
	Candidate  *c;
	bool		failed;			/* the entry lacks something */
} OverEntry;

static List *clauses_over_entry(Candidate *c, List *clauses, Index level, List **exprs);
static bool searches_check(Candidate *c, RestrictInfo *rinfo, uint32 *told);
static Node *over_entry(Node *node, void *over);
static bool is_key_not_null(Candidate *c, Node *clause);
static bool clauses_covered(Candidate *c, List *clauses);
static bool row_covered(PlannerInfo *root, RelOptInfo *rel, Candidate *c);
static bool is_made(Candidate *c, Var *var);
static List *expressions_of_query(PlannerInfo *root, RelOptInfo *rel);
static bool not_covered(Node *node, void *candidate);
static AttrNumber column_in_entries(Candidate *c, Node *node, int *source);
static AttrNumber column_of_presence(Candidate *c, Node *node);
static void note_column(Candidate *c, Node *node, AttrNumber attno, int source);
static bool fits_into_row(Candidate *c, AttrNumber attno, Node *node);
static bool columns_not_covered(Node *node, Candidate *c);
static bool target_covered(PlannerInfo *root, Candidate *c);
static bool is_postponed(PlannerInfo *root, TargetEntry *tle);

/*
 * is_checked_by_search
 *		Returns whether all rows that are found satisfy a clause.  The row of an asynchronous
 *		index table's entry may have changed since.  A newer version of a row, which another
 *		transaction has written meanwhile, was not found by the search at all.  A fallback does not
 *		search, and must check nothing before a policy that is left to the scan.
 */
bool
is_checked_by_search(Candidate *c, RestrictInfo *rinfo)
{
	if (c->def == NULL || c->tested_again || c->policy_in_scan || (c->def->spec.async && !c->entries_only))
		return false;
	return found_by_search(c, rinfo);
}

/* found_by_search: returns whether the entries that are found are of rows that satisfy a clause */
bool
found_by_search(Candidate *c, RestrictInfo *rinfo)
{
	uint32		told = 0;

	if (list_member_ptr(c->told, rinfo) || searches_check(c, rinfo, &told))
		return true;
	foreach_ptr(Candidate, part, c->parts)
	{
		if (searches_check(part, rinfo, &told))
			return true;
	}
	return false;
}

/*
 * searches_check
 *		Returns whether one search, together with what others before it have told of a clause,
 *		checks the clause.
 */
static bool
searches_check(Candidate *c, RestrictInfo *rinfo, uint32 *told)
{
	foreach_ptr(Condition, condition, c->conditions)
	{
		if (condition->rinfo != rinfo)
			continue;
		if (!condition->lossy)
			return true;
		if (condition->together == 0)
			continue;
		*told |= 1U << condition->nth;
		if (*told == (1U << condition->together) - 1)
			return true;
	}
	if (is_key_not_null(c, (Node *) rinfo->clause))
		return true;
	/* Entries are of rows that satisfy the filter. */
	return c->filter != NIL && !contain_mutable_functions((Node *) rinfo->clause) &&
		predicate_implied_by(list_make1(rinfo->clause), c->filter, false);
}

/*
 * checks_of_entries
 *		Lists those of a scan's clauses, which come in the order in which they are checked, that are
 *		checked for entries, before their rows are fetched.  Sets *exprs, unless it is NULL, to
 *		expressions over an entry, whose columns are those of INDEX_VAR.
 *
 * An entry has the value of a field, so that its clause cannot fail in a cast any more.  A clause
 * that may still raise an error is checked for entries only if all before it are: it must not be
 * evaluated for a row that another one leaves out.
 *
 * Asynchronous entries may be older than their rows.
 */
List *
checks_of_entries(Candidate *c, List *clauses, List **exprs)
{
	if (c->def == NULL || c->entries_only || c->is_part || c->policy_in_scan || c->def->spec.async)
		return NIL;
	return clauses_over_entry(c, clauses, PG_UINT32_MAX, exprs);
}

/*
 * clauses_of_entries
 *		Lists those of a scan's clauses that the server may check of entries in any order, as by an index, and
 *		sets *exprs to expressions over an entry, as checks_of_entries() does.  Of hidden rows only what is
 *		leakproof is compared, or what comes before all policies: none of clauses that are no RestrictInfos
 *		yet.
 */
List *
clauses_of_entries(PlannerInfo *root, Candidate *c, List *clauses, List **exprs)
{
	RelOptInfo *rel = root->simple_rel_array[c->varno];
	Index		level = c->secured && rel != NULL ? rel->baserestrict_min_security : PG_UINT32_MAX;

	return clauses_over_entry(c, clauses, level, exprs);
}

/*
 * clauses_over_entry
 *		Lists those of the clauses, which need not be RestrictInfos yet, that can be checked of entries, and
 *		unless exprs is NULL sets *exprs.  Those of a higher security level than this have to be leakproof.
 */
static List *
clauses_over_entry(Candidate *c, List *clauses, Index level, List **exprs)
{
	List	   *result = NIL;
	bool		all = true;

	foreach_ptr(Node, member, clauses)
	{
		RestrictInfo *rinfo = IsA(member, RestrictInfo) ? (RestrictInfo *) member : NULL;
		Node	   *clause = rinfo != NULL ? (Node *) rinfo->clause : member;
		OverEntry	over = {.c = c};
		Node	   *expr;

		if (rinfo != NULL && (rinfo->pseudoconstant || found_by_search(c, rinfo)))
			continue;
		expr = is_left_to_scan(clause) ? NULL : over_entry(clause, &over);
		if (expr == NULL || over.failed || !(all || cannot_raise_error(expr, c->secured)) ||
			((rinfo != NULL ? rinfo->security_level > level : c->secured) && contain_leaked_vars(expr)))
		{
			all = false;
			continue;
		}
		result = lappend(result, member);
		if (exprs != NULL)
			*exprs = lappend(*exprs, expr);
	}
	return result;
}

/*
 * checks_of_part
 *		Sets *exprs to what has to be checked of entries of one part of an OR, over an entry.  Returns false
 *		if entries lack something, or if a condition of the arm itself, which is not one of those that all
 *		rows have to satisfy, may raise an error: no row of an arm before it is left out.
 */
bool
checks_of_part(Candidate *c, List *others, List *clauses, List **exprs)
{
	*exprs = NIL;
	foreach_ptr(RestrictInfo, rinfo, clauses)
	{
		OverEntry	over = {.c = c};
		Node	   *expr;

		if (rinfo->pseudoconstant || found_by_search(c, rinfo))
			continue;
		if (is_left_to_scan((Node *) rinfo->clause))
			return false;
		expr = over_entry((Node *) rinfo->clause, &over);
		if (over.failed || !(list_member_ptr(others, rinfo) || cannot_raise_error(expr, c->secured)))
			return false;
		*exprs = lappend(*exprs, expr);
	}
	return true;
}

/* expression_over_entry: returns an expression over an entry, or NULL if entries lack something */
Node *
expression_over_entry(Candidate *c, Node *node)
{
	OverEntry	over = {.c = c};
	Node	   *result = over_entry(node, &over);

	return over.failed ? NULL : result;
}

/*
 * over_entry
 *		Returns an expression with the columns of the entry in place of what they have the
 *		value of.
 */
static Node *
over_entry(Node *node, void *context)
{
	OverEntry  *over = context;
	Candidate  *c = over->c;
	AttrNumber	attno;

	if (node == NULL || over->failed)
		return NULL;
	attno = column_of_presence(c, node);
	if (attno != 0)
	{
		Form_pg_attribute att = TupleDescAttr(c->def->layout.desc, attno - 1);

		return (Node *) null_test((Node *) makeVar(INDEX_VAR, attno, att->atttypid, att->atttypmod,
												   att->attcollation, 0), IS_NOT_NULL);
	}
	attno = column_of_candidate(c, node);
	if (attno != 0)
	{
		Form_pg_attribute att = TupleDescAttr(c->def->layout.desc, attno - 1);
		Node	   *column = (Node *) makeVar(INDEX_VAR, attno, att->atttypid, exprTypmod(node),
											  att->attcollation, 0);

		/* As an index by an expression with COLLATE has it. */
		if (exprType(node) == att->atttypid && exprCollation(node) == att->attcollation)
			return column;
		return (Node *) makeRelabelType((Expr *) column, exprType(node), exprTypmod(node), exprCollation(node),
										COERCE_IMPLICIT_CAST);
	}
	over->failed = IsA(node, PlaceHolderVar) || (IsA(node, Var) && ((Var *) node)->varno == (int) c->varno);
	return over->failed ? NULL : expression_tree_mutator(node, over_entry, over);
}

/*
 * is_key_not_null
 *		Returns whether a clause says of a key field, its text or its number that it is there, as it
 *		is in all entries that are found.
 *
 * To check the number may be an error.  min() and max() add such a condition before others.
 */
static bool
is_key_not_null(Candidate *c, Node *clause)
{
	IndexDef   *def = c->def;
	Node	   *arg;
	bool		rounded;
	bool		lossy;

	if (!IsA(clause, NullTest) || ((NullTest *) clause)->nulltesttype != IS_NOT_NULL ||
		((NullTest *) clause)->argisrow)
		return false;
	arg = (Node *) ((NullTest *) clause)->arg;
	for (int i = 0; i < def->spec.nkeys; i++)
	{
		Field	   *field = &def->spec.fields[i];

		if (!def->spec.sparse && !is_searched(c, i))
			continue;

		/*
		 * Only where JSON null has no entry, a field of type jsonb says that
		 * there is a text.
		 */
		if (expression_is_field(def, field, arg, c->varno) ||
			(field->fact_attno == 0 && !field->spec->multi && !field->is_jsonb &&
			 (is_text_of_field(def, field, arg, c->varno) ||
			  is_number_cast(def, field, arg, c->varno, &rounded, &lossy))))
			return true;
	}
	return false;
}

/*
 * cover_scan
 *		Returns whether entries have all that is needed of the fact table above a scan, and by
 *		those clauses that the search does not check; sets what the scan returns then.
 */
bool
cover_scan(PlannerInfo *root, RelOptInfo *rel, Candidate *c, List *clauses)
{
	c->exprs = c->attnos = c->sources = NIL;
	if (!clauses_covered(c, clauses))
		return false;

	/* What the target list unnests it has to have. */
	if (c->by_element && c->functions == NIL)
		return !not_covered((Node *) root->processed_tlist, c);

	/*
	 * The columns that are asked for may be enough: the primary key, or the
	 * document that is copied.
	 */
	if (!not_covered((Node *) rel->reltarget->exprs, c))
		return true;
	if (bms_equal(root->all_baserels, rel->relids) && target_covered(root, c))
		return true;
	c->exprs = c->attnos = c->sources = NIL;
	c->partial_rows = true;
	return c->partial_rows = clauses_covered(c, clauses) && row_covered(root, rel, c);
}

/*
 * target_of_entries
 *		Returns what a scan that reads only entries returns.  If the query wants plain columns
 *		only, which entries have, or rows are made of entries, it is the query's own target;
 *		otherwise the expressions.
 */
PathTarget *
target_of_entries(PlannerInfo *root, RelOptInfo *rel, Candidate *c)
{
	return c->partial_rows ? rel->reltarget : target_of_expressions(root, rel, c->exprs);
}

/*
 * target_of_expressions
 *		Returns the target of a scan that returns these expressions, as target_of_entries() does for one of
 *		entries only.  Below an Append nothing computes the target of one of its members later.
 */
PathTarget *
target_of_expressions(PlannerInfo *root, RelOptInfo *rel, List *exprs)
{
	PathTarget *target = create_empty_pathtarget();

	if (rel->reloptkind == RELOPT_OTHER_MEMBER_REL || list_difference(rel->reltarget->exprs, exprs) == NIL)
		return rel->reltarget;
	foreach_ptr(Expr, expr, exprs)
		add_column_to_pathtarget(target, expr, 0);
	return set_pathtarget_cost_width(root, target);
}

/*
 * row_covered
 *		Returns whether rows with only those columns, and fields of the document, that entries
 *		have are enough for all that a query evaluates.
 *
 * What is evaluated is found by looking at all expressions, not at what a scan is asked for, which
 * is the whole document.  An expression is the same above an outer join, which may have made the
 * document NULL, and with it the expression.
 */
static bool
row_covered(PlannerInfo *root, RelOptInfo *rel, Candidate *c)
{
	if (root->parse->commandType != CMD_SELECT || root->parse->rowMarks != NIL ||
		not_covered(as_scanned(root, (Node *) expressions_of_query(root, rel)), c))
		return false;
	/* Other columns may be asked for although nothing needs them any more. */
	foreach_ptr(Var, var, pull_var_clause((Node *) rel->reltarget->exprs, PVC_RECURSE_PLACEHOLDERS))
	{
		if (!is_made(c, var) && not_covered((Node *) var, c))
			return false;
	}
	return true;
}

/* is_made: returns whether a column can be made of fields: a document, or an element */
static bool
is_made(Candidate *c, Var *var)
{
	return var->varno == (int) c->varno ? var->varattno == c->def->spec.fact_document : var->vartype == JSONBOID;
}

/*
 * expressions_of_query
 *		Lists all expressions of a query that may be evaluated with a table's columns, but for
 *		conditions on it alone.
 */
static List *
expressions_of_query(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *result = list_make2(root->processed_tlist, root->parse->havingQual);

	foreach_ptr(RestrictInfo, rinfo, rel->joininfo)
		result = lappend(result, rinfo->clause);
	foreach_ptr(EquivalenceClass, ec, root->eq_classes)
	{
		foreach_ptr(EquivalenceMember, member, ec->ec_members)
		{
			if (bms_overlap(rel->relids, member->em_relids))
				result = lappend(result, member->em_expr);
		}
	}
	foreach_ptr(PlaceHolderInfo, info, root->placeholder_list)
		result = lappend(result, info->ph_var->phexpr);
	foreach_ptr(SpecialJoinInfo, info, root->join_info_list)
		result = lappend(result, info->semi_rhs_exprs);
	foreach_ptr(AppendRelInfo, info, root->append_rel_list)
		result = lappend(result, info->translated_vars);
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		if (root->simple_rel_array[i] != NULL && !bms_is_member(i, rel->relids))
			result = lappend(result, root->simple_rel_array[i]->lateral_vars);
	}
	return result;
}

/*
 * cover_aggregates
 *		Returns whether entries cover a query that aggregates what it reads of one table: the
 *		scan has to return the grouping columns and the arguments of aggregates.  Sets target to
 *		these, with the numbers of the grouping columns.
 */
bool
cover_aggregates(PlannerInfo *root, Candidate *c, List *clauses, PathTarget *target)
{
	Query	   *parse = root->parse;

	c->exprs = NIL;
	c->attnos = NIL;
	foreach_ptr(TargetEntry, tle, root->processed_tlist)
	{
		if (tle->ressortgroupref != 0 &&
			get_sortgroupref_clause_noerr(tle->ressortgroupref, parse->groupClause) != NULL)
		{
			AttrNumber	attno = column_of_candidate(c, (Node *) tle->expr);

			/* Anything else would have to be computed below the aggregate. */
			if (attno == 0 || list_member(c->exprs, tle->expr))
				return false;
			c->exprs = lappend(c->exprs, tle->expr);
			c->attnos = lappend_int(c->attnos, attno);
			add_column_to_pathtarget(target, tle->expr, tle->ressortgroupref);
		}
	}
	if (not_covered((Node *) root->processed_tlist, c) || not_covered(parse->havingQual, c))
		return false;
	for (int i = list_length(target->exprs); i < list_length(c->exprs); i++)
		add_column_to_pathtarget(target, list_nth(c->exprs, i), 0);
	return clauses_covered(c, clauses);
}

/*
 * clauses_covered
 *		Returns whether entries have all that is needed by those clauses that the search does not
 *		check.
 *
 * Where only the scan can decide whether a row may be seen, what entries have must not be computed
 * before, as a fallback would.
 */
static bool
clauses_covered(Candidate *c, List *clauses)
{
	if (c->policy_in_scan)
		return false;
	foreach_ptr(RestrictInfo, rinfo, clauses)
	{
		if (!rinfo->pseudoconstant && !is_checked_by_search(c, rinfo) && not_covered((Node *) rinfo->clause, c))
			return false;
	}
	return true;
}

/*
 * not_covered
 *		Returns whether an expression needs more of the fact row than the entry has; notes
 *		what it needs.
 */
static bool
not_covered(Node *node, void *candidate)
{
	Candidate  *c = candidate;
	AttrNumber	attno;
	int			source;

	if (node == NULL)
		return false;
	if (IsA(node, PlaceHolderVar))
		return c->partial_rows ? not_covered((Node *) ((PlaceHolderVar *) node)->phexpr, c) : true;
	attno = column_of_presence(c, node);
	if (attno != 0 && (!c->partial_rows || fits_into_row(c, attno, node)))
	{
		if (!list_member(c->exprs, node))
			note_column(c, node, c->partial_rows ? attno : -attno, 0);
		return false;
	}
	attno = column_in_entries(c, node, &source);
	if (attno != 0 && (!c->partial_rows || fits_into_row(c, attno, node)))
	{
		if (!list_member(c->exprs, node))
			note_column(c, node, attno, source);
		return false;
	}
	if (IsA(node, Var))
		return (((Var *) node)->varno == (int) c->varno || list_member_int(c->functions, ((Var *) node)->varno)) &&
			((Var *) node)->varlevelsup == 0;
	if (c->by_element && IsA(node, FuncExpr) && ((FuncExpr *) node)->funcretset)
		return true;
	return expression_tree_walker(node, not_covered, candidate);
}

/*
 * column_in_entries
 *		Returns the column that has the value of an expression, or 0, and sets *source as in
 *		Candidate.  Documents are made of a scan's own entries only.
 */
static AttrNumber
column_in_entries(Candidate *c, Node *node, int *source)
{
	AttrNumber	attno = column_of_candidate(c, node);

	*source = 0;
	if (attno != 0 || c->partial_rows)
		return attno;
	foreach_ptr(Candidate, part, c->parts)
	{
		attno = column_of_candidate(part, node);
		*source = foreach_current_index(part) + 1;
		if (attno != 0)
			return attno;
	}
	return 0;
}

/*
 * column_of_presence
 *		Returns the column that is not NULL just where an expression is true: the expression says that the
 *		text is there which the column has, cast to another type; 0 if it does not.
 */
static AttrNumber
column_of_presence(Candidate *c, Node *node)
{
	NullTest   *test = (NullTest *) node;

	if (!IsA(node, NullTest) || test->nulltesttype != IS_NOT_NULL || test->argisrow || is_totals(c->def) ||
		depends_on_json_path((Node *) test->arg, NULL) ||
		column_of_expression(c->def, (Node *) test->arg, c->varno) != 0)
		return 0;
	for (int i = 0; i < c->def->spec.nkeys + c->def->spec.nincludes; i++)
	{
		Field	   *field = &c->def->spec.fields[i];

		if (field->fact_attno == 0 && !field->spec->multi && !field->is_jsonb &&
			is_text_of_field(c->def, field, bare_value((Node *) test->arg), c->varno))
			return field->attno;
	}
	return 0;
}

/*
 * note_column
 *		Has a scan return an expression, of which a column of its entries has the value, or
 *		one of a part's.
 */
static void
note_column(Candidate *c, Node *node, AttrNumber attno, int source)
{
	c->exprs = lappend(c->exprs, node);
	c->attnos = lappend_int(c->attnos, attno);
	if (c->parts == NIL)
		return;
	c->sources = lappend_int(c->sources, source);
	if (source > 0)
	{
		Candidate  *part = list_nth(c->parts, source - 1);

		part->attnos = list_append_unique_int(part->attnos, attno);
	}
}

/*
 * fits_into_row
 *		Returns whether an expression that has the value of a column of the index table has it,
 *		too, if it is evaluated for a row that is made of this column and those noted before.
 */
static bool
fits_into_row(Candidate *c, AttrNumber attno, Node *node)
{
	Field	   *field;

	if (IsA(node, Var))
		return true;
	field = field_in_document(c->def, attno);
	if (field == NULL || (c->def->layout.doc_attno != 0 && !field->spec->multi))
		return false;
	foreach_int(column, c->attnos)
	{
		Field	   *other = field_in_document(c->def, column);

		if (other != NULL && other->element_steps == field->element_steps && !fields_fit_together(field, other))
			return false;
	}
	return true;
}

/*
 * columns_not_covered
 *		Returns whether the plain columns in an expression, as the planner asks for them, are
 *		not in entries.
 */
static bool
columns_not_covered(Node *node, Candidate *c)
{
	return not_covered((Node *) pull_var_clause(node, PVC_RECURSE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS |
												PVC_INCLUDE_PLACEHOLDERS), c);
}

/*
 * target_covered
 *		Returns whether entries have what grouping_planner() will ask a query's only table for.
 *		With grouping these are the grouping columns, and the plain columns in everything else.  Since
 *		16 a column that a condition makes constant is no grouping column.
 */
static bool
target_covered(PlannerInfo *root, Candidate *c)
{
	Query	   *parse = root->parse;
	bool		grouping = parse->groupClause != NIL || parse->hasAggs || root->hasHavingQual;

	if (parse->hasTargetSRFs || parse->hasWindowFuncs || parse->groupingSets != NIL ||
		parse->setOperations != NULL || parse->rowMarks != NIL)
		return false;
	foreach_ptr(TargetEntry, tle, root->processed_tlist)
	{
		bool		plain_columns;

		if (grouping)
			plain_columns = tle->ressortgroupref == 0 ||
				get_sortgroupref_clause_noerr(tle->ressortgroupref, grouping_keys(root)) == NULL;
		else
			plain_columns = is_postponed(root, tle);
		if (plain_columns ? columns_not_covered((Node *) tle->expr, c) : not_covered((Node *) tle->expr, c))
			return false;
	}
	return parse->havingQual == NULL || !columns_not_covered(parse->havingQual, c);
}

/*
 * is_postponed
 *		Returns whether make_sort_input_target() may have a target evaluated after the sort.
 */
static bool
is_postponed(PlannerInfo *root, TargetEntry *tle)
{
	QualCost	cost;

	if (root->parse->sortClause == NIL || tle->ressortgroupref != 0 || IsA(tle->expr, Var) ||
		IsA(tle->expr, Const))
		return false;
	cost_qual_eval_node(&cost, (Node *) tle->expr, root);
	return contain_volatile_functions((Node *) tle->expr) || cost.per_tuple > 10 * cpu_operator_cost;
}
