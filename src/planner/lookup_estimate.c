/*-------------------------------------------------------------------------
 *
 * lookup_estimate.c
 *	  Tells the planner how many rows lookup() and query() return, and what that costs.
 *
 * It knows the column names and the values of a key that is constant when the query is
 * planned, and takes their shares of the entries from the statistics of the index table.  Of
 * jsonb_build_object() it knows the names, and takes an average value; of anything else it
 * assumes a value for the first column.
 *
 * Planning must not fail because of it, nor wait: it reads cached catalogs only, opens and
 * locks nothing, and gives no estimate where anything is not as expected.  What is wrong is
 * reported when the function is called.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "../catalog/catalog.h"
#include "../entry/entry.h"
#include "../fact/fact.h"
#include "../lookup/lookup.h"
#include "../util/fixed_settings.h"
#include "../util/json_members.h"
#include "planner.h"

PG_FUNCTION_INFO_V1(indextable_read_support);

/*
 * The number of elements of an array that are looked up in the statistics; the others are
 * taken to be like them.
 */
#define MAX_ELEMENTS	32

/* An estimate of one call. */
typedef struct Estimate
{
	PlannerInfo *root;
	Oid			index_table;
	bool		partitioned;
	double		tuples;			/* entries of the index table */
	double		searches;
	double		rows;
	bool		entries_only;	/* no fact rows are fetched */
} Estimate;

/* A column of a key. */
typedef struct EstimatedColumn
{
	VariableStatData statistics;
	Oid			type;			/* the base type */
	int32		typmod;
	Oid			collation;
	TypeCacheEntry *cache;		/* has its operators in an index */
} EstimatedColumn;

static bool estimate_call(PlannerInfo *root, Node *node, Estimate *e);
static bool estimate_table(Estimate *e);
static bool may_know_statistics(Oid relid);
static Const *constant_argument(PlannerInfo *root, List *args, int arg);
static double share_of_key(Estimate *e, Node *key);
static double share_of_object(Estimate *e, JsonbContainer *object, double *searches);
static double share_of_built_object(Estimate *e, FuncExpr *call);
static double share_of_condition(Estimate *e, Jsonb *condition);
static bool get_column(Estimate *e, const char *name, EstimatedColumn *column);
static double share_of_value(EstimatedColumn *column, JsonbValue *value, double *searches);
static double equal_to(EstimatedColumn *column, JsonbValue *value);
static double average_share(Estimate *e, const char *name);
static double share_of_bounds(Estimate *e, EstimatedColumn *column, JsonbContainer *operators);
static double share_beyond(Estimate *e, EstimatedColumn *column, JsonbValue *value, StrategyNumber strategy);
static bool is_readable(Oid type);
static Oid	operator_of(EstimatedColumn *column, StrategyNumber strategy);

/* indextable_read_support: the support function of lookup() and query() */
Datum
indextable_read_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	Estimate	e = {0};

	if (IsA(request, SupportRequestRows))
	{
		SupportRequestRows *rows = (SupportRequestRows *) request;

		if (estimate_call(rows->root, rows->node, &e))
		{
			rows->rows = clamp_row_est(e.rows);
			PG_RETURN_POINTER(rows);
		}
	}
	else if (IsA(request, SupportRequestCost))
	{
		SupportRequestCost *cost = (SupportRequestCost *) request;

		/*
		 * The cost of all that a query reads decides nothing, and the
		 * statistics are not read once more for it.
		 */
		if (cost->root != NULL && list_length(cost->root->parse->rtable) > 1 &&
			estimate_call(cost->root, cost->node, &e))
		{
			cost->startup = 0;
			cost->per_tuple = estimate_searches(cost->root, e.tuples, e.searches, clamp_row_est(e.rows),
												e.entries_only);
			PG_RETURN_POINTER(cost);
		}
	}
	PG_RETURN_POINTER(NULL);
}

/* estimate_call: estimates a call of lookup() or query(); returns false if it cannot */
static bool
estimate_call(PlannerInfo *root, Node *node, Estimate *e)
{
	List	   *args;
	Const	   *table;
	double		share;

	if (root == NULL || node == NULL || !IsA(node, FuncExpr))
		return false;
	args = ((FuncExpr *) node)->args;
	foreach_ptr(Node, arg, args)
	{
		if (IsA(arg, NamedArgExpr))
			return false;
	}
	/* With a row type before them. */
	if (exprType(linitial(args)) != REGCLASSOID)
		args = list_copy_tail(args, 1);
	table = constant_argument(root, args, 0);
	if (table == NULL || list_length(args) <= ARG_KEY)
		return false;
	e->root = root;
	e->index_table = DatumGetObjectId(table->constvalue);
	if (!estimate_table(e))
		return false;
	share = share_of_key(e, estimate_expression_value(root, list_nth(args, ARG_KEY)));
	if (list_length(args) > ARG_PREVIOUS)
	{
		Const	   *condition = constant_argument(root, args, ARG_CONDITION);
		Const	   *page_size = constant_argument(root, args, ARG_PAGE_SIZE);
		Const	   *document = constant_argument(root, args, ARG_DOCUMENT);

		if (share >= 0 && condition != NULL)
			share *= share_of_condition(e, DatumGetJsonbP(condition->constvalue));
		e->entries_only = document != NULL && !DatumGetBool(document->constvalue);
		e->rows = Min(share * e->tuples, page_size != NULL ? DatumGetInt32(page_size->constvalue) : 100);
	}
	else
		e->rows = share * e->tuples;
	return share >= 0;
}

/*
 * estimate_table
 *		Sets the size of a table whose statistics the caller may know; returns false if that
 *		is not so.
 */
static bool
estimate_table(Estimate *e)
{
	char		kind;

	/*
	 * The statistics of a table with row security tell of rows that the
	 * caller may not see.
	 */
	if (!may_know_statistics(e->index_table) && !may_know_statistics(catalog_fact_of(e->index_table)))
		return false;
	if (check_enable_rls(e->index_table, InvalidOid, true) == RLS_ENABLED)
		return false;
	kind = get_rel_relkind(e->index_table);
	if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE)
		return false;
	e->partitioned = (kind == RELKIND_PARTITIONED_TABLE);
	e->tuples = table_rows(e->index_table);
	e->searches = 1;
	return e->tuples >= 1;
}

/*
 * may_know_statistics
 *		Returns whether the current user may read all rows of a table, which may not exist.
 */
static bool
may_know_statistics(Oid relid)
{
	bool		missing = false;

	return OidIsValid(relid) && pg_class_aclcheck_ext(relid, GetUserId(), ACL_SELECT, &missing) == ACLCHECK_OK &&
		!missing && check_enable_rls(relid, InvalidOid, true) != RLS_ENABLED;
}

/* constant_argument: returns the value of an argument if that is known and not null, or NULL */
static Const *
constant_argument(PlannerInfo *root, List *args, int arg)
{
	Node	   *value = estimate_expression_value(root, list_nth(args, arg));

	return IsA(value, Const) && !((Const *) value)->constisnull ? (Const *) value : NULL;
}

/*
 * share_of_key
 *		Returns the share of the entries that a key finds, and sets how many searches that
 *		takes; -1 if it is no key.
 */
static double
share_of_key(Estimate *e, Node *key)
{
	Jsonb	   *json;
	double		result = 0;
	int			n;

	if (IsA(key, FuncExpr) && ((FuncExpr *) key)->funcid == F_JSONB_BUILD_OBJECT_ANY)
		return share_of_built_object(e, (FuncExpr *) key);
	if (!IsA(key, Const))
		return average_share(e, NULL);
	if (((Const *) key)->constisnull)
		return 0;
	json = DatumGetJsonbP(((Const *) key)->constvalue);
	if (JB_ROOT_IS_OBJECT(json))
		return share_of_object(e, &json->root, &e->searches);
	if (!JB_ROOT_IS_ARRAY(json) || JB_ROOT_IS_SCALAR(json))
		return -1;
	n = JB_ROOT_COUNT(json);
	e->searches = 0;
	for (int i = 0; i < n && i < MAX_ELEMENTS; i++)
	{
		JsonbValue *value = getIthJsonbValueFromContainer(&json->root, i);
		double		searches = 1;
		double		share;

		if (value->type != jbvBinary || !JsonContainerIsObject(value->val.binary.data))
			return -1;
		share = share_of_object(e, value->val.binary.data, &searches);
		if (share < 0)
			return -1;
		result += share;
		e->searches += searches;
	}
	if (n > MAX_ELEMENTS)
	{
		result *= (double) n / MAX_ELEMENTS;
		e->searches *= (double) n / MAX_ELEMENTS;
	}
	return Min(result, 1);
}

/*
 * share_of_object
 *		Returns the share of a key that is a JSON object, and multiplies *searches by how many
 *		it takes.
 */
static double
share_of_object(Estimate *e, JsonbContainer *object, double *searches)
{
	JsonMembers members = {.it = JsonbIteratorInit(object)};
	double		result = 1;
	EstimatedColumn column;

	while (next_member(&members))
	{
		if (!get_column(e, members.name, &column))
			return -1;
		result *= share_of_value(&column, &members.value, searches);
		ReleaseVariableStats(column.statistics);
	}
	return result;
}

/*
 * share_of_built_object
 *		Returns the share of a key that jsonb_build_object() is going to make, whose values
 *		are not known.
 */
static double
share_of_built_object(Estimate *e, FuncExpr *call)
{
	double		result = 1;

	for (int i = 0; i < list_length(call->args) && !call->funcvariadic; i += 2)
	{
		Const	   *name = list_nth(call->args, i);
		double		share = -1;

		if (IsA(name, Const) && !name->constisnull &&
			(name->consttype == TEXTOID || name->consttype == UNKNOWNOID))
			share = average_share(e, name->consttype == TEXTOID ? TextDatumGetCString(name->constvalue) :
								  DatumGetCString(name->constvalue));
		if (share < 0)
			return -1;
		result *= share;
	}
	return call->funcvariadic ? average_share(e, NULL) : result;
}

/*
 * share_of_condition
 *		Returns the share of entries that fulfil the condition of a query, 1 if it is none.
 */
static double
share_of_condition(Estimate *e, Jsonb *condition)
{
	JsonMembers members;
	EstimatedColumn column;
	double		result = 1;

	if (!JB_ROOT_IS_OBJECT(condition) || JB_ROOT_COUNT(condition) != 1)
		return 1;
	members.it = JsonbIteratorInit(&condition->root);
	if (!next_member(&members) || !get_column(e, members.name, &column))
		return 1;
	if (members.value.type == jbvBinary && JsonContainerIsObject(members.value.val.binary.data))
		result = share_of_bounds(e, &column, members.value.val.binary.data);
	ReleaseVariableStats(column.statistics);
	return result;
}

/*
 * get_column
 *		Sets *column to a column of the index table, by its name, or without one to the
 *		first.  Returns false if there is none that can be compared; otherwise its statistics
 *		are to be released.
 */
static bool
get_column(Estimate *e, const char *name, EstimatedColumn *column)
{
	HeapTuple	tuple = name != NULL ? SearchSysCacheAttName(e->index_table, name) :
		SearchSysCacheAttNum(e->index_table, 1);
	Form_pg_attribute att;

	if (!HeapTupleIsValid(tuple))
		return false;
	att = (Form_pg_attribute) GETSTRUCT(tuple);
	memset(column, 0, sizeof(EstimatedColumn));
	column->typmod = att->atttypmod;
	column->type = getBaseTypeAndTypmod(att->atttypid, &column->typmod);
	column->collation = att->attcollation;
	column->cache = lookup_type_cache(column->type, TYPECACHE_BTREE_OPFAMILY);
	if (OidIsValid(column->cache->btree_opf) && att->attnum > 0)
		column_statistics(e->index_table, att, e->partitioned, e->tuples, &column->statistics);
	ReleaseSysCache(tuple);
	return column->statistics.rel != NULL;
}

/*
 * share_of_value
 *		Returns the share of entries that have a value, or one of an array, and multiplies
 *		*searches by how many these are.
 */
static double
share_of_value(EstimatedColumn *column, JsonbValue *value, double *searches)
{
	JsonbContainer *array = value->type == jbvBinary ? value->val.binary.data : NULL;
	double		result = 0;
	int			n;

	if (array == NULL || !JsonContainerIsArray(array) || column->type == JSONBOID)
		return equal_to(column, value);
	n = JsonContainerSize(array);
	*searches *= n;
	for (int i = 0; i < n && i < MAX_ELEMENTS; i++)
		result += equal_to(column, getIthJsonbValueFromContainer(array, i));
	return Min(n > MAX_ELEMENTS ? result * n / MAX_ELEMENTS : result, 1);
}

/* equal_to: returns the share of entries that have a value */
static double
equal_to(EstimatedColumn *column, JsonbValue *value)
{
	Oid			operator = operator_of(column, BTEqualStrategyNumber);
	Datum		datum;

	if (value->type == jbvNull)
		return 0;
	if (!is_readable(column->type))
		return equal_share(&column->statistics, operator, column->collation, NULL);
	if (!json_value_cast(column->type, column->typmod, column->collation, value, &datum))
		return 0;
	return equal_share(&column->statistics, operator, column->collation,
					   (Node *) makeConst(column->type, column->typmod, column->collation,
										  get_typlen(column->type), datum, false, get_typbyval(column->type)));
}

/*
 * average_share
 *		Returns the share of entries that have one value of a column, -1 if there is no such
 *		column.
 */
static double
average_share(Estimate *e, const char *name)
{
	EstimatedColumn column;
	double		result;

	if (!get_column(e, name, &column))
		return -1;
	result = equal_share(&column.statistics, operator_of(&column, BTEqualStrategyNumber), column.collation, NULL);
	ReleaseVariableStats(column.statistics);
	return result;
}

/* share_of_bounds: returns the share of entries that are within {"operator": value, ...} */
static double
share_of_bounds(Estimate *e, EstimatedColumn *column, JsonbContainer *operators)
{
	JsonMembers members = {.it = JsonbIteratorInit(operators)};
	double		unused = 1;
	double		beyond = 0;		/* the share of what the bounds leave out */

	while (next_member(&members))
	{
		const char *op = members.name;
		JsonbValue *value = &members.value;

		if (strcmp(op, "=") == 0)
			return share_of_value(column, value, &unused);
		if (strcmp(op, "begins_with") == 0)
			return DEFAULT_MATCH_SEL;
		if (strcmp(op, ">") == 0 || strcmp(op, ">=") == 0)
			beyond += share_beyond(e, column, value, BTLessStrategyNumber);
		else if (strcmp(op, "<") == 0 || strcmp(op, "<=") == 0)
			beyond += share_beyond(e, column, value, BTGreaterStrategyNumber);
		else if (strcmp(op, "between") == 0 && value->type == jbvBinary &&
				 JsonContainerIsArray(value->val.binary.data) && JsonContainerSize(value->val.binary.data) == 2)
		{
			JsonbContainer *ends = value->val.binary.data;

			beyond += share_beyond(e, column, getIthJsonbValueFromContainer(ends, 0), BTLessStrategyNumber);
			beyond += share_beyond(e, column, getIthJsonbValueFromContainer(ends, 1), BTGreaterStrategyNumber);
		}
	}
	return Max(1 - beyond, 0);
}

/*
 * share_beyond
 *		Returns the share of entries that are less, or greater, than a value, as the server's
 *		scalarltsel() does.
 */
static double
share_beyond(Estimate *e, EstimatedColumn *column, JsonbValue *value, StrategyNumber strategy)
{
	Oid			operator = operator_of(column, strategy);
	FmgrInfo	compare;
	double		common;
	double		result;
	double		others;
	Datum		datum;

	if (!OidIsValid(operator) || !HeapTupleIsValid(column->statistics.statsTuple) || !is_readable(column->type))
		return DEFAULT_INEQ_SEL;
	if (value->type == jbvNull || !json_value_cast(column->type, column->typmod, column->collation, value, &datum))
		return 1;
	fmgr_info(get_opcode(operator), &compare);
	result = mcv_selectivity(&column->statistics, &compare, column->collation, datum, true, &common);
	others = ineq_histogram_selectivity(e->root, &column->statistics, operator, &compare,
										strategy == BTGreaterStrategyNumber, false, column->collation, datum,
										column->type);
	if (others < 0)
		others = 0.5;
	return result +
		Max(1 - common - ((Form_pg_statistic) GETSTRUCT(column->statistics.statsTuple))->stanullfrac, 0) * others;
}

/*
 * is_readable
 *		Returns whether texts can be read as a type while a query is planned: its input function
 *		is the server's own and depends on nothing but the text, so that it can be called by
 *		anybody, and an error of it is about the text.  Those of the types of catalogs and of
 *		pseudo-types may take no text at all.
 */
static bool
is_readable(Oid type)
{
	Oid			input;
	Oid			ioparam;
	char		category;
	bool		preferred;

	if (type == JSONBOID || is_datetime(type))
		return true;
	if (type >= FirstNormalObjectId)
		return false;
	get_type_category_preferred(type, &category, &preferred);
	if (category == TYPCATEGORY_INTERNAL || category == TYPCATEGORY_PSEUDOTYPE)
		return false;
	getTypeInputInfo(type, &input, &ioparam);
	return func_volatile(input) == PROVOLATILE_IMMUTABLE;
}

static Oid
operator_of(EstimatedColumn *column, StrategyNumber strategy)
{
	return get_opfamily_member(column->cache->btree_opf, column->cache->btree_opintype,
							   column->cache->btree_opintype, strategy);
}
