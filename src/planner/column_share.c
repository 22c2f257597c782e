/*-------------------------------------------------------------------------
 *
 * column_share.c
 *	  Estimates by the statistics of a column of an index table the share of its entries with which a
 *	  comparison is true.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

#include "../candidate/candidate.h"
#include "../catalog/catalog.h"
#include "../util/compat.h"
#include "planner.h"

/*
 * null_share
 *		Returns the share of the entries in which a column is NULL, by its statistics; without
 *		them, a small one.
 */
static double
null_share(VariableStatData *column)
{
	return HeapTupleIsValid(column->statsTuple) ?
		((Form_pg_statistic) GETSTRUCT(column->statsTuple))->stanullfrac :
		DEFAULT_UNK_SEL;
}

/*
 * column_share
 *		Returns the share of the entries with which a comparison for equality is true, by the
 *		column's statistics.
 */
double
column_share(PlannerInfo *root, Candidate *c, Condition *condition)
{
	Form_pg_attribute att = TupleDescAttr(c->def->layout.desc, condition->attno - 1);
	VariableStatData column;
	Node	   *value = estimate_expression_value(root, (Node *) condition->value);
	double		result = 0;

	column_statistics(c->def->relid, att, c->def->layout.parts != NULL, c->tuples, &column);
	column.acl_ok = !c->secured;
	column.isunique = c->def->spec.is_unique && c->def->spec.nkeys == 1 && condition->position == 0;
	if (condition->taking == TAKE_NULL)
		result = null_share(&column);
	else if (condition->taking == TAKE_AS_IS && !condition->array)
		result = equal_share(&column, condition->operator, att->attcollation, value);
	else if (condition->taking == TAKE_AS_IS && IsA(value, Const) && !((Const *) value)->constisnull)
	{
		foreach_ptr(Node, constant, array_constants((Const *) value))
			result += equal_share(&column, condition->operator, att->attcollation, constant);
	}
	else
		result = (condition->array ? number_of_values(root, (Node *) condition->value) : 1) *
			equal_share(&column, condition->operator, att->attcollation, NULL);
	ReleaseVariableStats(column);
	return Min(result, 1);
}

/* range_share: returns the share of the entries for which a comparison for more or less is true */
double
range_share(PlannerInfo *root, Candidate *c, Condition *condition)
{
	Form_pg_attribute att = TupleDescAttr(c->def->layout.desc, condition->attno - 1);
	Const	   *value = (Const *) estimate_expression_value(root, (Node *) condition->value);
	bool		greater = condition->strategy > BTEqualStrategyNumber;
	bool		equal = condition->strategy == BTGreaterEqualStrategyNumber ||
		condition->strategy == BTLessEqualStrategyNumber;
	VariableStatData column;
	FmgrInfo	function;
	double		common = 0;
	double		in_common;
	double		in_others;
	double		nulls;
	Datum		bound;

	if (condition->taking == TAKE_NOT_NULL)
	{
		column_statistics(c->def->relid, att, c->def->layout.parts != NULL, c->tuples, &column);
		nulls = null_share(&column);
		ReleaseVariableStats(column);
		return 1 - nulls;
	}
	if ((condition->taking != TAKE_AS_IS && condition->taking != TAKE_DAY) || !IsA(value, Const) ||
		value->constisnull ||
		take_value(field_of_column(c->def, condition->attno), condition, value->constvalue, &bound) != TAKEN)
		return DEFAULT_INEQ_SEL;
	column_statistics(c->def->relid, att, c->def->layout.parts != NULL, c->tuples, &column);
	column.acl_ok = !c->secured;
	fmgr_info(get_opcode(condition->operator), &function);
	in_common = mcv_selectivity(&column, &function, att->attcollation, bound, true, &common);
	in_others = ineq_histogram_selectivity(root, &column, condition->operator, &function, greater, equal,
										   att->attcollation, bound,
										   condition->taking == TAKE_AS_IS ? value->consttype :
										   condition->subtype);
	nulls = null_share(&column);
	ReleaseVariableStats(column);
	return Max(in_common + (in_others < 0 ? DEFAULT_INEQ_SEL : in_others) * (1 - nulls - common), 0);
}

/*
 * column_statistics
 *		Sets *column to the statistics of a column of an index table with "tuples" entries;
 *		the caller releases them.
 */
void
column_statistics(Oid index_table, Form_pg_attribute att, bool partitioned, double tuples,
				  VariableStatData *column)
{
	memset(column, 0, sizeof(VariableStatData));
	column->rel = makeNode(RelOptInfo);
	column->rel->tuples = tuples;
	column->vartype = column->atttype = att->atttypid;
	column->atttypmod = att->atttypmod;
	column->acl_ok = true;
	column->statsTuple = column_statistics_row(index_table, att->attnum, partitioned);
	column->freefunc = release_statistics;
}

/*
 * equal_share
 *		Returns the share of the entries whose column is equal to a value; NULL: any value.
 */
double
equal_share(VariableStatData *column, Oid operator, Oid collation, Node *value)
{
	if (value != NULL && IsA(value, Const))
		return var_eq_const(column, operator, collation, ((Const *) value)->constvalue,
							((Const *) value)->constisnull, true, false);
	return var_eq_non_const(column, operator, collation, value, true, false);
}
