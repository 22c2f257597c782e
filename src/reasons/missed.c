/*-------------------------------------------------------------------------
 *
 * missed.c
 *	  Finds the fields of documents in the conditions of a query for which there is no index
 *	  table, and counts them; and tells users which condition is nearly on a field.
 *
 * A condition counts if an index table could be searched by it: a comparison of a field, in one
 * of the spellings that field_match.c knows, or a document that contains a text.  It is counted
 * when the query is planned, so that a plan that is kept counts once.  Only names of fields are
 * kept, no values.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "../definition/definition.h"
#include "../expression/expression.h"
#include "../indextable.h"
#include "../match/match.h"
#include "../util/arguments.h"
#include "../util/json_members.h"
#include "reasons.h"

/* How deep a document in a query is followed. */
#define MAX_CONTAINED	8

/* A table in a query. */
typedef struct MissedQuery
{
	PlannerInfo *root;
	Oid			relid;
	Index		varno;
	FactDef    *fact;			/* NULL: it has no index tables */
	bool		fits;			/* it is known that it can have some */
} MissedQuery;

/* A value in a document. */
typedef struct MissedValue
{
	AttrNumber	document;
	StringInfoData path;		/* as in a field; empty: the document */
	bool		multi;			/* it has a [*] */
	bool		as_text;
	Oid			type;
} MissedValue;

/* The condition that is nearest to the first key field of an index table. */
typedef struct NearestCondition
{
	IndexDef   *def;
	Index		varno;
	char	   *path;			/* of the field, without a [*] and what
								 * follows */
	const char *other;			/* another path that is nearest to it, or NULL */
	int			distance;
	const char *type;			/* what a condition has this path as, or NULL */
	bool		same_type;		/* as the field */
} NearestCondition;

static bool find_nearest(Node *node, void *nearest);
static char *spell_path(FieldSpec *spec, bool plain);
static void count_clause(MissedQuery *query, Node *clause);
static bool count_joined(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *ec, EquivalenceMember *em,
						 void *arg);
static void count_contained(MissedQuery *query, MissedValue *value, JsonbContainer *container, int depth);
static void count_value(MissedQuery *query, MissedKind kind, MissedValue *value);
static bool is_served(MissedQuery *query, MissedValue *value);
static bool may_have_index_table(MissedQuery *query);
static bool read_compared(MissedQuery *query, Node *expr, Node *other, MissedValue *value);
static bool read_field(Node *expr, Index varno, MissedValue *value);
static bool read_value(Node *expr, Index varno, MissedValue *value);
static bool append_step(void *arg, StepKind kind, const char *name, int len);
static bool is_key_type(Oid type);

/*
 * count_missed_fields
 *		Counts the fields in the conditions on a table of a query; the caller has found none by
 *		which an index table can be searched, and asks only where one could serve.
 */
void
count_missed_fields(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	MissedQuery query = {.root = root,.relid = rte->relid,.varno = rel->relid};
	List	   *of_elements = all_tested_clauses(root, rel->baserestrictinfo, rel->relid);

	if (rel->baserestrictinfo == NIL && of_elements == NIL && !rel->has_eclass_joins)
		return;
	query.fact = soft_definition(rte->relid);
	foreach_ptr(RestrictInfo, rinfo, rel->baserestrictinfo)
		count_clause(&query, (Node *) rinfo->clause);
	foreach_ptr(Node, clause, of_elements)
		count_clause(&query, clause);
	if (rel->has_eclass_joins)
		(void) generate_implied_equalities_for_column(root, rel, count_joined, &query, NULL);
}

/* count_clause: counts the field in a condition, if it has one */
static void
count_clause(MissedQuery *query, Node *clause)
{
	bool		several = IsA(clause, ScalarArrayOpExpr);
	MissedValue value;
	Oid			operator;
	char	   *name;
	List	   *args;

	if (several ? !((ScalarArrayOpExpr *) clause)->useOr : !IsA(clause, OpExpr))
		return;
	operator = several ? ((ScalarArrayOpExpr *) clause)->opno : ((OpExpr *) clause)->opno;
	args = operands(clause);
	if (operator >= FirstNormalObjectId || list_length(args) != 2)
		return;
	if (!several &&
		(((OpExpr *) clause)->opfuncid == F_JSONB_CONTAINS || ((OpExpr *) clause)->opfuncid == F_JSONB_EXISTS))
	{
		Const	   *contained = lsecond(args);

		if (!read_value(linitial(args), query->varno, &value) || value.as_text || value.multi)
			return;
		if (((OpExpr *) clause)->opfuncid == F_JSONB_EXISTS)
		{
			if (value.path.len > 0)
			{
				append_path_step(&value.path, NULL, false);
				value.type = TEXTOID;
				count_value(query, MISSED_CONTAINED, &value);
			}
		}
		else if (IsA(contained, Const) && !contained->constisnull)
			count_contained(query, &value, &DatumGetJsonbP(contained->constvalue)->root, 0);
		return;
	}
	if (several ? contain_var_clause(lsecond(args)) || !read_field(linitial(args), query->varno, &value) :
		!read_compared(query, linitial(args), lsecond(args), &value) &&
		!read_compared(query, lsecond(args), linitial(args), &value))
		return;
	name = get_opname(operator);
	if (name == NULL)
		return;
	if (strcmp(name, "=") == 0)
		count_value(query, MISSED_EQUAL, &value);
	else if (!several && (name[0] == '<' || name[0] == '>') && (name[1] == '\0' || strcmp(name + 1, "=") == 0))
		count_value(query, MISSED_RANGE, &value);
}

/*
 * count_joined
 *		Counts a field that is compared with columns of other tables; called for each
 *		expression, and wants no clause of it.
 */
static bool
count_joined(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *ec, EquivalenceMember *em, void *arg)
{
	MissedQuery *query = arg;
	MissedValue value;

	if (read_field((Node *) em->em_expr, query->varno, &value))
		count_value(query, MISSED_JOINED, &value);
	return false;
}

/*
 * count_contained
 *		Counts the fields that documents must have below a path to contain another: texts and
 *		numbers.
 */
static void
count_contained(MissedQuery *query, MissedValue *value, JsonbContainer *container, int depth)
{
	JsonMembers members = {.it = JsonbIteratorInit(container)};

	while (next_member(&members))
	{
		MissedValue below = *value;

		if (members.name == NULL && value->multi)
			continue;
		initStringInfo(&below.path);
		appendStringInfoString(&below.path, value->path.data);
		append_path_step(&below.path, members.name, false);
		below.multi = value->multi || members.name == NULL;
		below.type = members.value.type == jbvNumeric ? NUMERICOID : TEXTOID;
		if (members.value.type == jbvString || members.value.type == jbvNumeric)
			count_value(query, MISSED_CONTAINED, &below);
		else if (members.value.type == jbvBinary && depth < MAX_CONTAINED)
			count_contained(query, &below, members.value.val.binary.data, depth + 1);
	}
}

/* count_value: counts a condition on a value, unless there is an index table that begins with it */
static void
count_value(MissedQuery *query, MissedKind kind, MissedValue *value)
{
	if (!query->fits)
		query->fits = may_have_index_table(query);
	if (!query->fits || is_served(query, value))
		return;
	if (value->type != TEXTOID)
		appendStringInfo(&value->path, "::%s", field_type_name(value->type));
	missed_count(query->root, query->root->simple_rel_array[query->varno], value->document, kind,
				 value->path.data);
}

/*
 * is_served
 *		Returns whether the first key field of an index table has a value, whatever its state.
 *		If such an index table was not used, that is not because it does not exist.
 */
static bool
is_served(MissedQuery *query, MissedValue *value)
{
	for (int i = 0; query->fact != NULL && i < query->fact->ndefs; i++)
	{
		IndexDef   *def = query->fact->defs[i];
		FieldSpec  *spec = def->spec.fields[0].spec;

		if (spec->column != NULL || def->spec.fields[0].type != value->type ||
			def->spec.fact_document != value->document)
			continue;
		if (strcmp(spell_path(spec, false), value->path.data) == 0)
			return true;
	}
	return false;
}

/*
 * nearest_condition
 *		Returns why an index table is not used by the conditions on its fact table, none of which
 *		is on its first key field: what comes nearest to it, and what differs.
 */
const char *
nearest_condition(RelOptInfo *rel, IndexDef *def)
{
	FieldSpec  *spec = def->spec.fields[0].spec;
	NearestCondition nearest = {.def = def,.varno = rel->relid};

	if (!is_explained() || spec->column != NULL || spec->expression != NULL)
		return REASON_NO_CONDITION;
	nearest.path = spell_path(spec, true);
	foreach_ptr(RestrictInfo, rinfo, rel->baserestrictinfo)
		(void) find_nearest((Node *) rinfo->clause, &nearest);
	if (nearest.type != NULL && !nearest.same_type)
		return psprintf("a condition has %s as %s, but the first key field is %s" REASON_NOT_WHOLE, nearest.path,
						nearest.type, spec->text);
	if (nearest.type != NULL)
		return psprintf("a condition has the first key field, %s, but not in a comparison by which entries are searched" REASON_NOT_WHOLE,
						spec->text);
	if (nearest.other != NULL)
		return psprintf("a condition is on %s, but the first key field is %s" REASON_NOT_WHOLE, nearest.other,
						spec->text);
	return REASON_NO_CONDITION;
}

/*
 * find_nearest
 *		Notes in *context (NearestCondition) the path in a condition whose name is nearest to that of the
 *		field; where a path is the same, whether the condition has the field's type.
 */
static bool
find_nearest(Node *node, void *context)
{
	NearestCondition *nearest = context;
	Field	   *field = &nearest->def->spec.fields[0];
	MissedValue value;
	int			distance;

	if (node == NULL)
		return false;
	if (!read_value(without_casts(node), nearest->varno, &value) || value.path.len == 0)
		return expression_tree_walker(node, find_nearest, context);
	if (value.document != nearest->def->spec.fact_document)
		return false;
	distance = name_distance(value.path.data, nearest->path);
	if (strcmp(value.path.data, nearest->path) == 0)
	{
		Oid			type = exprType(bare_value(node));

		nearest->same_type = nearest->same_type || type == field->type || field->spec->multi;
		nearest->type = format_type_be(type);
	}
	else if (is_near(value.path.data, nearest->path, distance) &&
			 (nearest->other == NULL || distance < nearest->distance))
	{
		nearest->other = value.path.data;
		nearest->distance = distance;
	}
	return false;
}

/* spell_path: returns the path of a field as in create(), or, if plain, what is before a [*] */
static char *
spell_path(FieldSpec *spec, bool plain)
{
	StringInfoData path;

	initStringInfo(&path);
	for (int i = 0; i < spec->nsteps && !(plain && spec->steps[i].wildcard); i++)
		append_path_step(&path, spec->steps[i].name, spec->steps[i].is_index);
	return path.data;
}

/*
 * may_have_index_table
 *		Returns whether a table is of a kind that index tables can be created over.
 */
static bool
may_have_index_table(MissedQuery *query)
{
	char		relkind = get_rel_relkind(query->relid);

	return missed_is_kept() && (relkind == RELKIND_RELATION || relkind == RELKIND_PARTITIONED_TABLE) &&
		!get_rel_relispartition(query->relid) && get_rel_persistence(query->relid) == RELPERSISTENCE_PERMANENT;
}

/*
 * read_compared
 *		Returns whether an expression is a field of a document, which is compared with something
 *		else than its table, and sets *value to the field.
 */
static bool
read_compared(MissedQuery *query, Node *expr, Node *other, MissedValue *value)
{
	return read_field(expr, query->varno, value) &&
		!bms_is_member(query->varno, pull_varnos(query->root, other));
}

/*
 * read_field
 *		Returns whether an expression is a field of a document, perhaps cast to another type,
 *		and sets *value to it.
 */
static bool
read_field(Node *expr, Index varno, MissedValue *value)
{
	Oid			type;

	expr = bare_value(expr);
	type = exprType(expr);
	if (IsA(expr, CoerceViaIO))
		expr = bare_value((Node *) ((CoerceViaIO *) expr)->arg);
	if (!read_value(expr, varno, value) || value->path.len == 0 || !is_key_type(type) ||
		value->as_text != (type != JSONBOID))
		return false;
	value->type = type;
	return true;
}

/* read_value: returns whether an expression is a value in a document, and sets *value to it */
static bool
read_value(Node *expr, Index varno, MissedValue *value)
{
	Var		   *var;

	memset(value, 0, sizeof(MissedValue));
	var = follow_path(expr, append_step, value);
	if (var == NULL || var->varno != (int) varno || var->varlevelsup != 0 || var->varattno <= 0 ||
		var->vartype != JSONBOID || !is_scanned_value(var))
		return false;
	if (value->path.data == NULL)
		initStringInfo(&value->path);
	value->document = var->varattno;
	value->as_text = exprType(expr) == TEXTOID;
	return true;
}

/* append_step: adds a step to a path; returns false if a field has no such step */
static bool
append_step(void *arg, StepKind kind, const char *name, int len)
{
	MissedValue *value = arg;
	char	   *step = kind == STEP_ELEMENTS ? NULL : pnstrdup(name, len);

	/* #> would take such a name for a subscript if it met an array. */
	if (kind == STEP_MEMBER && is_subscript(step))
		return false;
	/* Arrays within arrays are not counted. */
	if (kind == STEP_ELEMENTS && value->multi)
		return false;
	value->multi |= kind == STEP_ELEMENTS;
	if (value->path.data == NULL)
		initStringInfo(&value->path);
	append_path_step(&value->path, step, step != NULL && is_subscript(step));
	return true;
}

/*
 * is_key_type
 *		Returns whether an index table that has a key field of this type serves plain queries.
 */
static bool
is_key_type(Oid type)
{
	return (is_plain_type(type) && type != FLOAT4OID) || type == TEXTOID || type == JSONBOID;
}
