/*-------------------------------------------------------------------------
 *
 * totals_elements.c
 *	  Tells what a query asks of totals by parts of documents: a group for each element of an
 *	  array that it unnests, or the rows that have an element, or that contain a document.
 *
 * A row adds to the group of each of its elements once.  So these are the rows of
 * FROM fact, jsonb_array_elements_text(doc -> 'tags') unless an array has an element twice, or one
 * that is no key, or there is something else in place of an array: that is recorded by
 * UNEVEN_BIT.  And the rows of one group are all rows that have its element, each once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/jsonb.h"

#include "../catalog/completeness.h"
#include "elements.h"
#include "field_match.h"
#include "search_value.h"
#include "totals_elements.h"

/* What is replaced by the function that has it. */
typedef struct Unnesting
{
	RangeTblEntry *rte;
	Index		varno;
	bool		failed;
} Unnesting;

/* What a document has in key fields. */
typedef struct Equal
{
	IndexDef   *def;
	Index		varno;			/* the fact table */
	Node	   *document;		/* of which a condition is, or a part of it */
	List	   *result;			/* comparisons */
	uint32		unless;			/* rows have values of these kinds */
	bool		failed;
} Equal;

static Node *replace_columns(Node *node, void *context);
static void add_contained(Equal *equal, List *names, JsonbValue *value);
static void add_element(Equal *equal, List *names, Expr *value);
static bool is_named(Equal *equal, Field *field, int nsteps, List *names);
static void add_equal(Equal *equal, Field *field, Expr *value);
static Expr *text_constant(JsonbValue *string);

/*
 * find_unnested
 *		Returns whether a relation is a table, *rel, joined with nothing but what a function
 *		makes of each of its rows, *elements.
 */
bool
find_unnested(PlannerInfo *root, RelOptInfo *input, RelOptInfo **rel, RelOptInfo **elements)
{
	int			i = -1;

	if (input->reloptkind != RELOPT_JOINREL || root->join_info_list != NIL || bms_num_members(input->relids) != 2)
		return false;
	*rel = *elements = NULL;
	while ((i = bms_next_member(input->relids, i)) >= 0)
	{
		RelOptInfo *member = root->simple_rel_array[i];

		if (member == NULL || member->joininfo != NIL || member->has_eclass_joins)
			return false;
		if (member->rtekind == RTE_FUNCTION)
			*elements = member;
		else if (member->rtekind == RTE_RELATION)
			*rel = member;
	}
	return *rel != NULL && *elements != NULL && !planner_rt_fetch((*elements)->relid, root)->funcordinality &&
		column_of_function(planner_rt_fetch((*elements)->relid, root), 1) != NULL;
}

/* unnests_elements: returns whether a function returns a row for each element of the array that has a table's key */
bool
unnests_elements(IndexDef *def, RangeTblEntry *rte, Index varno)
{
	Field	   *field = &def->fields[def->multi_field];
	FuncExpr   *call = (FuncExpr *) linitial_node(RangeTblFunction, rte->functions)->funcexpr;
	int			i;

	for (i = field->plain_steps + 1; i < field->spec->nsteps; i++)
		if (field->spec->steps[i].wildcard)
			return false;
	return !depends_on_json_path((Node *) call->args, NULL) &&
		(call->funcid == F_JSONB_ARRAY_ELEMENTS || call->funcid == F_JSONB_ARRAY_ELEMENTS_TEXT ||
		 call->funcid == F_JSONB_TO_RECORDSET) &&
		is_value_after(def, field, field->plain_steps, whole_array_of(linitial(call->args)), varno);
}

/* with_elements: replaces the columns of a function by the function itself; sets *failed if it cannot */
Node *
with_elements(Node *node, RangeTblEntry *rte, Index varno, bool *failed)
{
	Unnesting	unnesting = {.rte = rte,.varno = varno};

	node = replace_columns(node, &unnesting);
	*failed |= unnesting.failed;
	return node;
}

static Node *
replace_columns(Node *node, void *context)
{
	Unnesting  *unnesting = context;
	Node	   *column;

	if (node == NULL || !IsA(node, Var) || ((Var *) node)->varno != (int) unnesting->varno)
		return node == NULL ? NULL : expression_tree_mutator(node, replace_columns, context);
	column = column_of_function(unnesting->rte, ((Var *) node)->varattno);
	unnesting->failed |= column == NULL;
	return column != NULL ? column : node;
}

/*
 * equal_keys
 *		Returns comparisons of key fields with values, at most one of them of the element, if just the
 *		rows that satisfy them all satisfy a condition; NIL if that is not so.  What rows must not
 *		have for that is added to *unless.
 *
 * The text of a number or of another value that is no string may be the same as that of a
 * string, but for most strings there is none.  Object members satisfy ?, too.
 */
List *
equal_keys(IndexDef *def, Node *clause, Index varno, uint32 *unless)
{
	List	   *args;
	Oid			function = function_of(clause, &args);
	Equal		equal = {.def = def,.varno = varno};
	Node	   *value;

	if (list_length(args) != 2 || depends_on_json_path(clause, NULL))
		return NIL;
	equal.document = linitial(args);
	value = lsecond(args);
	if (function == F_JSONB_EXISTS)
	{
		if (contain_var_clause(value) || contain_volatile_functions(value) || contain_subplans(value))
			return NIL;
		add_element(&equal, NIL, (Expr *) value);
	}
	else if (IsA(value, Const) && !((Const *) value)->constisnull && (function == F_JSONB_CONTAINS || function == F_JSONB_EQ))
	{
		Jsonb	   *json = DatumGetJsonbP(((Const *) value)->constvalue);
		JsonbValue	whole;

		if (!JB_ROOT_IS_SCALAR(json))
		{
			whole.type = jbvBinary;
			whole.val.binary.data = &json->root;
		}
		else if (!JsonbExtractScalar(&json->root, &whole))
			return NIL;
		add_contained(&equal, NIL, &whole);

		/*
		 * An array contains a scalar that it has, too, and an object is equal
		 * only if it has no other members.
		 */
		equal.failed |= (function == F_JSONB_EQ) != JB_ROOT_IS_SCALAR(json);
	}
	if (equal.failed)
		return NIL;
	*unless |= equal.unless;
	return equal.result;
}

/* add_contained: adds the comparisons that say that a document contains a value at a path of names */
static void
add_contained(Equal *equal, List *names, JsonbValue *value)
{
	JsonbContainer *container = value->val.binary.data;
	JsonbIterator *it;
	JsonbIteratorToken token;
	JsonbValue	name;
	JsonbValue	member;
	int			i;

	if (value->type == jbvString)
	{
		for (i = 0; i < equal->def->nkeys; i++)
			if (i != equal->def->multi_field && is_named(equal, &equal->def->fields[i], equal->def->fields[i].spec->nsteps, names))
				break;
		equal->failed |= i == equal->def->nkeys || !only_string(value->val.string.val, value->val.string.len);
		if (!equal->failed)
			add_equal(equal, &equal->def->fields[i], text_constant(value));
		return;
	}
	if (value->type == jbvBinary && JsonContainerIsArray(container) && JsonContainerSize(container) == 1)
	{
		JsonbValue *element = getIthJsonbValueFromContainer(container, 0);

		if (element->type == jbvString)
		{
			add_element(equal, names, text_constant(element));
			return;
		}
	}
	if (value->type != jbvBinary || !JsonContainerIsObject(container) || JsonContainerSize(container) == 0)
	{
		equal->failed = true;
		return;
	}
	it = JsonbIteratorInit(container);
	token = JsonbIteratorNext(&it, &name, true);
	while ((token = JsonbIteratorNext(&it, &name, true)) == WJB_KEY)
	{
		token = JsonbIteratorNext(&it, &member, true);
		add_contained(equal, lappend(list_copy(names), pnstrdup(name.val.string.val, name.val.string.len)), &member);
	}
}

/* add_element: adds the comparison that says that the array at a path of names has an element */
static void
add_element(Equal *equal, List *names, Expr *value)
{
	Field	   *field = equal->def->multi ? &equal->def->fields[equal->def->multi_field] : NULL;
	Const	   *constant = (Const *) value;

	if (field == NULL || field->plain_steps + 1 != field->spec->nsteps || (equal->unless & UNEVEN_BIT) != 0 ||
		!is_named(equal, field, field->plain_steps, names))
	{
		equal->failed = true;
		return;
	}
	equal->unless |= UNEVEN_BIT;
	if (!IsA(value, Const) || constant->constisnull ||
		!only_string(VARDATA_ANY(DatumGetPointer(constant->constvalue)), VARSIZE_ANY_EXHDR(DatumGetPointer(constant->constvalue))))
		equal->unless |= NO_STRING_BIT;
	add_equal(equal, field, value);
}

/* is_named: returns whether the first nsteps of a text field's path lead to the document, and then by these names to its end */
static bool
is_named(Equal *equal, Field *field, int nsteps, List *names)
{
	int			first = nsteps - list_length(names);
	ListCell   *cell;

	if (field->type != TEXTOID || field->fact_attno != 0 || field->convert != NULL || first < 0 ||
		!is_value_after(equal->def, field, first, equal->document, equal->varno))
		return false;
	foreach(cell, names)
	{
		PathStep   *step = &field->spec->steps[first + foreach_current_index(cell)];
		const char *name = lfirst(cell);

		if (step->is_index || step->len != (int) strlen(name) || memcmp(step->name, name, step->len) != 0)
			return false;
	}
	return true;
}

static void
add_equal(Equal *equal, Field *field, Expr *value)
{
	Expr	   *column = (Expr *) makeVar(equal->varno, field->attno, field->type, field->typmod, field->collation, 0);

	equal->result = lappend(equal->result,
							make_opclause(TextEqualOperator, BOOLOID, false, column, value, InvalidOid, field->collation));
}

static Expr *
text_constant(JsonbValue *string)
{
	return (Expr *) makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
							  PointerGetDatum(cstring_to_text_with_len(string->val.string.val, string->val.string.len)), false, false);
}
