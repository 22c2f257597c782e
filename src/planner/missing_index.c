/*-------------------------------------------------------------------------
 *
 * missing_index.c
 *	  Finds the index that users could put on an index table, by which the entries of a query would be
 *	  found that nothing finds now.
 *
 * It is for conditions, and orders, that no B-tree serves: patterns, overlapping ranges, words of a text, what
 * is nearest.  Their operator tells the access method and the operator class: those of which it is a
 * member.
 *
 * The index is told as what follows CREATE INDEX ON, and spelled as pg_get_indexdef() would.  Of an
 * expression it has the columns and no values, but for what says what a function does.  Who may read the
 * table has the index told to its owner, so it calls and uses nothing of other users: an index would call that
 * with the rights of the owner.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_index.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_ts_config.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "../candidate/candidate.h"
#include "../definition/definition.h"
#include "../reasons/reasons.h"
#include "../util/as_owner.h"
#include "planner.h"

/* By what an operator is searched, or sorted. */
typedef struct IndexKind
{
	Oid			method;			/* OID of the access method, or InvalidOid */
	const char *opclass;		/* with a blank before it; empty: the default
								 * one */
} IndexKind;

static List *clauses_in_order(PlannerInfo *root, RelOptInfo *rel);
static char *missing_index(PlannerInfo *root, RelOptInfo *rel, IndexDef *def, List *clauses, bool *exists);
static char *index_by(IndexDef *def, Node *expr, char purpose, bool *exists);
static void find_kind(Oid operator, Oid type, char purpose, IndexKind *found);
static bool is_default_family(Oid family, Oid method, Oid type);
static const char *opclass_name(Oid family, Oid method, Oid type);
static bool is_pattern(Oid operator);
static bool is_for_index(Node *node, Oid owner);
static bool has_values(Node *node, void *owner);
static bool is_of_another(Oid owner, int cache, AttrNumber column, Oid object);
static bool has_index(IndexDef *def, Oid method, Node *expr);

/*
 * count_missing_index
 *		Counts the index that is missing for a query of a table, on the first of its index tables that could
 *		have one.
 */
void
count_missing_index(PlannerInfo *root, RelOptInfo *rel, Served *served)
{
	bool		exists = false;
	List	   *clauses;

	if (!missed_is_kept())
		return;
	clauses = clauses_in_order(root, rel);
	foreach_ptr(IndexDef, def, served->defs)
	{
		char	   *index = def->spec.fact_document == NO_DOCUMENT ? NULL :
			missing_index(root, rel, def, clauses, &exists);

		if (exists)
			return;
		if (index == NULL)
			continue;
		missed_count(root, rel, def->spec.fact_document, MISSED_INDEX, index);
		return;
	}
}

/*
 * missing_index_reason
 *		Returns why an index table is not used that lacks such an index, with the statement that makes it;
 *		NULL if it lacks none, or nobody is told.
 */
const char *
missing_index_reason(PlannerInfo *root, RelOptInfo *rel, IndexDef *def)
{
	bool		exists = false;
	char	   *index = is_explained() ?
		missing_index(root, rel, def, clauses_in_order(root, rel), &exists) : NULL;

	return index == NULL ? NULL :
		psprintf(REASON_NO_INDEX ": %sCREATE INDEX ON %s",
				 strstr(index, TRIGRAMS) != NULL && !OidIsValid(get_extension_oid("pg_trgm", true)) ?
				 "CREATE EXTENSION pg_trgm; " : "", index);
}

/* clauses_in_order: lists the conditions on a table in the order in which they are checked */
static List *
clauses_in_order(PlannerInfo *root, RelOptInfo *rel)
{
	return in_safe_order(root, rel, in_server_order(root, rel->baserestrictinfo));
}

/*
 * missing_index
 *		Returns the index by which an index table would serve a query of its fact table, or NULL; sets
 *		*exists if there is such an index.
 */
static char *
missing_index(PlannerInfo *root, RelOptInfo *rel, IndexDef *def, List *clauses, bool *exists)
{
	List	   *quals = NIL;
	List	   *sorted_by = NIL;
	const char *why;
	char	   *result = NULL;
	Candidate  *c;

	if ((clauses == NIL && root->parse->limitCount == NULL && def->spec.nelements == 0) ||
		supposed_table(def->relid) != NULL)
		return NULL;
	c = candidate_of_entries(root, rel, def, clauses, NIL, &quals);
	if (c == NULL || c->secured)
		return NULL;
	if (!is_complete_enough(c, &why))
		return NULL;
	foreach_ptr(Node, qual, quals)
		result = result != NULL || *exists ? result : index_by(def, qual, AMOP_SEARCH, exists);
	if (result == NULL && !*exists && root->parse->limitCount != NULL &&
		wanted_order(root, rel, c, &sorted_by) != NIL)
		result = index_by(def, expression_over_entry(c, linitial(sorted_by)), AMOP_ORDER, exists);
	return *exists ? NULL : result;
}

/*
 * index_by
 *		Returns the index by which an operator, in a condition or an order over entries, is searched or
 *		sorted, or NULL; sets *exists if there is such an index.
 */
static char *
index_by(IndexDef *def, Node *expr, char purpose, bool *exists)
{
	OpExpr	   *clause = (OpExpr *) expr;
	IndexKind	kind = {0};
	Oid			operator;
	Node	   *field;
	Oid			owner;
	Oid			collation;
	bool		has_collation;
	char	   *text;

	if (!IsA(clause, OpExpr) || list_length(clause->args) != 2 ||
		contain_var_clause(linitial(clause->args)) == contain_var_clause(lsecond(clause->args)))
		return NULL;
	operator = clause->opno;
	field = linitial(clause->args);
	if (!contain_var_clause(field))
	{
		operator = get_commutator(operator);
		field = lsecond(clause->args);
	}
	field = strip_implicit_coercions(field);
	owner = table_owner(def->relid);
	if (!OidIsValid(operator) || !is_for_index(field, owner) ||
		is_of_another(owner, COLLOID, Anum_pg_collation_collowner, clause->inputcollid))
		return NULL;
	find_kind(operator, exprType(field), purpose, &kind);
	if (!OidIsValid(kind.method))
		return NULL;
	*exists = has_index(def, kind.method, field);
	if (*exists)
		return NULL;
	collation = IsA(field, Var) ?
		TupleDescAttr(def->layout.desc, ((Var *) field)->varattno - 1)->attcollation : exprCollation(field);
	has_collation = OidIsValid(clause->inputcollid) && OidIsValid(collation) && collation != clause->inputcollid;
	field = copyObject(field);
	ChangeVarNodes(field, INDEX_VAR, 1, 0);

	/*
	 * It is read under another search_path, by which others may have a
	 * function or a collation of the same name.
	 */
	AS_OWNER_WITH(IsA(field, Var) && !has_collation ? InvalidOid : owner, false);
	{
		text = deparse_expression(field, deparse_context_for(def->name, def->relid), false, false);

		if (has_collation)
			text = psprintf("%s COLLATE %s", text, generate_collation_name(clause->inputcollid));
	}
	END_AS_OWNER();
	return psprintf("%s USING %s (%s%s)",
					quote_qualified_identifier(get_namespace_name(get_rel_namespace(def->relid)), def->name),
					get_am_name(kind.method), text, kind.opclass);
}

/*
 * find_kind
 *		Finds the access method that an operator is searched, or sorted, by: GIN, or else GiST.  There is none
 *		for what a B-tree or a hash index serves.  Without the extension pg_trgm no method has patterns.
 */
static void
find_kind(Oid operator, Oid type, char purpose, IndexKind *found)
{
	static const Oid methods[] = {GIN_AM_OID, GIST_AM_OID};
	CatCList   *members = SearchSysCacheList1(AMOPOPID, ObjectIdGetDatum(operator));
	bool		native = false;

	for (int m = 0; m < (int) lengthof(methods); m++)
		for (int i = 0; i < members->n_members; i++)
		{
			Form_pg_amop member = (Form_pg_amop) GETSTRUCT(&members->members[i]->tuple);
			bool		is_default;

			native |= member->amopmethod == BTREE_AM_OID || member->amopmethod == HASH_AM_OID;
			if (member->amopmethod != methods[m] || member->amoppurpose != purpose ||
				(OidIsValid(found->method) && found->method != methods[m]))
				continue;
			is_default = is_default_family(member->amopfamily, methods[m], type);
			if (OidIsValid(found->method) && !is_default)
				continue;
			found->method = methods[m];
			found->opclass = is_default ? "" :
				opclass_name(member->amopfamily, methods[m], member->amoplefttype);
		}
	ReleaseSysCacheList(members);
	if (native)
		found->method = InvalidOid;
	else if (!OidIsValid(found->method) && purpose == AMOP_SEARCH && is_pattern(operator))
	{
		found->method = GIN_AM_OID;
		found->opclass = " " TRIGRAMS;
	}
}

/* is_default_family: returns whether a type has its default operator class in a family */
static bool
is_default_family(Oid family, Oid method, Oid type)
{
	Oid			opclass = GetDefaultOpClass(type, method);

	return OidIsValid(opclass) && get_opclass_family(opclass) == family;
}

/* opclass_name: returns the name of a type's operator class in a family, with a blank before it */
static const char *
opclass_name(Oid family, Oid method, Oid type)
{
	CatCList   *opclasses = SearchSysCacheList1(CLAAMNAMENSP, ObjectIdGetDatum(method));
	const char *result = "";

	for (int i = 0; i < opclasses->n_members; i++)
	{
		Form_pg_opclass opclass = (Form_pg_opclass) GETSTRUCT(&opclasses->members[i]->tuple);

		if (opclass->opcfamily != family || opclass->opcintype != type)
			continue;
		result = psprintf(" %s", OpclassIsVisible(opclass->oid) ? quote_identifier(NameStr(opclass->opcname)) :
						  quote_qualified_identifier(get_namespace_name(opclass->opcnamespace),
													 NameStr(opclass->opcname)));
	}
	ReleaseSysCacheList(opclasses);
	return result;
}

/* is_pattern: returns whether an operator compares a text with a pattern */
static bool
is_pattern(Oid operator)
{
	return operator == OID_TEXT_LIKE_OP || operator == OID_TEXT_ICLIKE_OP || operator == OID_TEXT_REGEXEQ_OP ||
		operator == OID_TEXT_ICREGEXEQ_OP;
}

/*
 * is_for_index
 *		Returns whether an index of an owner can have an expression, and it shows no values.
 */
static bool
is_for_index(Node *node, Oid owner)
{
	return IsA(node, Var) ||
		(IsA(node, FuncExpr) && !contain_mutable_functions(node) && !has_values(node, &owner));
}

/*
 * has_values
 *		Returns whether an expression has a value, other than the name of a configuration, and what tells which
 *		bounds a range has; or anything of others than the owner and superusers.
 */
static bool
has_values(Node *node, void *owner)
{
	FuncExpr   *call = (FuncExpr *) node;

	if (node == NULL)
		return false;
	if (IsA(node, Const))
		return ((Const *) node)->consttype != REGCONFIGOID ||
			is_of_another(*(Oid *) owner, TSCONFIGOID, Anum_pg_ts_config_cfgowner,
						  DatumGetObjectId(((Const *) node)->constvalue));
	if (IsA(node, FuncExpr) && (is_of_another(*(Oid *) owner, PROCOID, Anum_pg_proc_proowner, call->funcid) ||
								is_of_another(*(Oid *) owner, COLLOID, Anum_pg_collation_collowner,
											  call->inputcollid)))
		return true;
	if (IsA(node, FuncExpr) && list_length(call->args) == 3 && type_is_range(call->funcresulttype))
		return has_values(linitial(call->args), owner) || has_values(lsecond(call->args), owner);
	return !(IsA(node, Var) || IsA(node, FuncExpr) || IsA(node, RelabelType)) ||
		expression_tree_walker(node, has_values, owner);
}

/*
 * is_of_another
 *		Returns whether an object, which a cache finds and a column tells the owner of, belongs to somebody else
 *		than the owner and superusers.
 */
static bool
is_of_another(Oid owner, int cache, AttrNumber column, Oid object)
{
	HeapTuple	tuple = SearchSysCache1(cache, ObjectIdGetDatum(object));
	Oid			its_owner;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		return false;
	its_owner = DatumGetObjectId(SysCacheGetAttr(cache, tuple, column, &isnull));
	ReleaseSysCache(tuple);
	return its_owner != owner && !superuser_arg(its_owner);
}

/*
 * has_index
 *		Returns whether an index table has an index of this access method with a column; or, if expr is none,
 *		with any expression, which the planner has left aside then.
 */
static bool
has_index(IndexDef *def, Oid method, Node *expr)
{
	Relation	index_table;
	bool		result = false;

	if (!def->layout.has_users_indexes)
		return false;
	index_table = relation_open(def->relid, NoLock);
	foreach_oid(oid, RelationGetIndexList(index_table))
	{
		HeapTuple	relation = SearchSysCache1(RELOID, ObjectIdGetDatum(oid));
		HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(oid));

		if (HeapTupleIsValid(relation) && HeapTupleIsValid(tuple) &&
			((Form_pg_class) GETSTRUCT(relation))->relam == method)
		{
			Form_pg_index index = (Form_pg_index) GETSTRUCT(tuple);

			for (int i = 0; i < index->indnatts; i++)
				result |= index->indkey.values[i] == (IsA(expr, Var) ? ((Var *) expr)->varattno : 0);
		}
		if (HeapTupleIsValid(relation))
			ReleaseSysCache(relation);
		if (HeapTupleIsValid(tuple))
			ReleaseSysCache(tuple);
	}
	relation_close(index_table, NoLock);
	return result;
}
