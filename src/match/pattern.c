/*-------------------------------------------------------------------------
 *
 * pattern.c
 *	  Turns LIKE, regular expressions and prefixes into ranges of texts.
 *
 * The server tells which range a pattern has.  Rows that are found are checked.  ILIKE has no range: it is
 * checked on entries that have the text (../candidate/coverage.c), or found by an index of users
 * (../planner/users_index_path.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/supportnodes.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "match.h"


/*
 * pattern_range
 *		Returns the range that follows from doc ->> 'name' LIKE 'Ann%' and the like; a pattern
 *		may be shorter than what it finds: a{10}.
 */
List *
pattern_range(IndexDef *def, Node *clause, Oid function, List *args, Index varno)
{
	Node	   *expr = linitial(args);
	int			position = position_of_text(def, &expr, lsecond(args), varno);
	List	   *result = NIL;
	Form_pg_attribute att;

	if (position < 0 || function >= FirstNormalObjectId || !IsA(lsecond(args), Const))
		return NIL;
	att = TupleDescAttr(def->layout.desc, def->layout.ident[position] - 1);
	foreach_node(OpExpr, op, bounds_of_pattern(clause, function, att->attcollation))
	{
		Condition  *condition = make_comparison(def, position, op->opno, op->inputcollid, lsecond(op->args),
												false);

		if (condition != NULL &&
			(expr == linitial(args) || expr == without_length(linitial(args), lsecond(op->args))))
		{
			condition->lossy = true;
			result = lappend(result, condition);
		}
	}
	return result;
}

/*
 * prefix_comparison
 *		Returns one of the two comparisons, >= and <, of a text that starts with a string in JSON, which is
 *		evaluated before the fact table is read; NULL if there is none.  Texts are in the order of their bytes.
 */
Condition *
prefix_comparison(IndexDef *def, int position, StrategyNumber strategy, Node *json, Index varno)
{
	Field	   *field = &def->spec.fields[position];

	if (!is_castable_field(field) || field->type != TEXTOID || field->convert != NULL ||
		field->collation != C_COLLATION_OID || !is_value(json, varno))
		return NULL;
	return make_conversion(def, position, strategy, TAKE_PREFIX, 0, json, false);
}

/*
 * bounds_of_pattern
 *		Returns comparisons (OpExpr *) of texts that follow from a call of a function, LIKE for
 *		example, with a constant pattern, as the support functions of the server tell them for an
 *		index with a collation.  They look at nothing else of the index but its operator family.
 */
List *
bounds_of_pattern(Node *clause, Oid function, Oid collation)
{
	SupportRequestIndexCondition request = {.type = T_SupportRequestIndexCondition,
		.funcid = function,
	.node = clause};
	Oid			support = get_func_support(function);

	if (support != F_TEXTLIKE_SUPPORT && support != F_TEXTREGEXEQ_SUPPORT && support != F_TEXTICREGEXEQ_SUPPORT &&
		support != F_TEXT_STARTS_WITH_SUPPORT)
		return NIL;
	request.opfamily = lookup_type_cache(TEXTOID, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	request.indexcollation = collation;
	request.lossy = true;
	return (List *) DatumGetPointer(OidFunctionCall1(support, PointerGetDatum(&request)));
}
