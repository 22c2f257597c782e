/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  Bridges the differences between PostgreSQL 15 to 19 that concern this extension.
 *
 * indextable.h includes it.  What stays where it is used is a list that names what
 * only some versions have: test/run/layers knows the files that have such a list.
 *
 * Names: what a newer version has by a name is defined under that name for the older
 * ones, where it can be called in the same way.  A function of the server that has
 * other parameters in other versions is called by its name with _compat, with those
 * arguments that the callers choose.  Everything else, as what is done by other
 * functions in other versions, has a name of its own that says what it does.
 *
 * The order is that of the versions that have brought the differences.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_COMPAT_H
#define INDEXTABLE_COMPAT_H

#include "access/genam.h"
#include "access/tableam.h"
#include "catalog/pg_class.h"
#if PG_VERSION_NUM >= 180000
#include "catalog/pg_constraint.h"
#endif
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_tablespace.h"
#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#include "executor/executor.h"
#include "fmgr.h"
#if PG_VERSION_NUM >= 160000
#include "nodes/miscnodes.h"
#include "parser/parse_relation.h"
#endif
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "utils/acl.h"
#include "utils/guc_tables.h"
#include "utils/jsonb.h"
#include "utils/wait_event.h"

#if PG_VERSION_NUM < 150000
#error "indextable supports PostgreSQL 15 to 19"
#elif PG_VERSION_NUM >= 200000
#pragma message("indextable has been tested with PostgreSQL 15 to 19, not with this newer version")
#endif

/*
 * The functions that the server calls are exported, as its own macros do since 16; all others
 * are hidden.
 */
#if PG_VERSION_NUM < 160000 && !defined(WIN32)
#undef PGDLLEXPORT
#define PGDLLEXPORT __attribute__((visibility("default")))
#undef PG_FUNCTION_INFO_V1
#define PG_FUNCTION_INFO_V1(funcname) \
extern PGDLLEXPORT Datum funcname(PG_FUNCTION_ARGS); \
extern PGDLLEXPORT const Pg_finfo_record *CppConcat(pg_finfo_, funcname) (void); \
const Pg_finfo_record * \
CppConcat(pg_finfo_, funcname) (void) \
{ \
	static const Pg_finfo_record my_finfo = {1}; \
	return &my_finfo; \
} \
extern int no_such_variable
#endif

/* ---- since 16 ---- */

#if PG_VERSION_NUM < 160000
#define RelFileNumber			Oid
#define RelationSetNewRelfilenumber(rel, persistence)	RelationSetNewRelfilenode(rel, persistence)
#define RelationAssumeNewRelfilelocator(rel)	RelationAssumeNewRelfilenode(rel)
#define relation_file(rel)		((rel)->rd_node.relNode)
#define first_file_subid(rel)	((rel)->rd_firstRelfilenodeSubid)
#define forget_new_file(rel) \
	((rel)->rd_newRelfilenodeSubid = (rel)->rd_firstRelfilenodeSubid = InvalidSubTransactionId)
#define owns_relation(relid, role)	pg_class_ownercheck(relid, role)
#define owns_schema(schema, role)	pg_namespace_ownercheck(schema, role)
#define may_create_in(schema)	pg_namespace_aclcheck(schema, GetUserId(), ACL_CREATE)
#define may_execute(function, role)	(pg_proc_aclcheck(function, role, ACL_EXECUTE) == ACLCHECK_OK)
#define may_create_in_tablespace(tablespace) \
	(pg_tablespace_aclcheck(tablespace, GetUserId(), ACL_CREATE) == ACLCHECK_OK)
#define partition_strategy_name(spec)	((spec)->strategy)
#define build_attrmap_by_name_if_req_compat(in, out)	build_attrmap_by_name_if_req(in, out)
/* Before 16 a plain boolean tells whether an update has to add index entries. */
#define TU_UpdateIndexes	bool
#define TU_None				false
#define index_needs_update(update, info)	(update)
/* Before 16 foreign tables have no TRUNCATE triggers. */
#define HAS_FOREIGN_TRUNCATE_TRIGGERS	0
/* Before 16 postgres_fdw cannot be interrupted while it connects. */
#define FDW_BLOCKS_TO_CONNECT	true
/* Before 16 the server does not note when a table was scanned last. */
#define HAS_LAST_SCAN			0
#define is_scanned_value(var)	true
#define as_scanned(root, node)	(node)
#else
#define relation_file(rel)		((rel)->rd_locator.relNumber)
#define first_file_subid(rel)	((rel)->rd_firstRelfilelocatorSubid)
#define forget_new_file(rel) \
	((rel)->rd_newRelfilelocatorSubid = (rel)->rd_firstRelfilelocatorSubid = InvalidSubTransactionId)
#define owns_relation(relid, role)	object_ownercheck(RelationRelationId, relid, role)
#define owns_schema(schema, role)	object_ownercheck(NamespaceRelationId, schema, role)
#define may_create_in(schema)	object_aclcheck(NamespaceRelationId, schema, GetUserId(), ACL_CREATE)
#define may_execute(function, role) \
	(object_aclcheck(ProcedureRelationId, function, role, ACL_EXECUTE) == ACLCHECK_OK)
#define may_create_in_tablespace(tablespace) \
	(object_aclcheck(TableSpaceRelationId, tablespace, GetUserId(), ACL_CREATE) == ACLCHECK_OK)
#define partition_strategy_name(spec) \
	((spec)->strategy == PARTITION_STRATEGY_HASH ? "hash" : \
	 (spec)->strategy == PARTITION_STRATEGY_LIST ? "list" : "range")
#define build_attrmap_by_name_if_req_compat(in, out)	build_attrmap_by_name_if_req(in, out, false)
#define index_needs_update(update, info) \
	((update) == TU_All || ((update) == TU_Summarizing && (info)->ii_Summarizing))
#define HAS_FOREIGN_TRUNCATE_TRIGGERS	1
#define FDW_BLOCKS_TO_CONNECT	false
#define HAS_LAST_SCAN			1
/* Since 16 a column above an outer join, which may have made it NULL, is another one than below. */
#define is_scanned_value(var)	((var)->varnullingrels == NULL)
#define as_scanned(root, node)	remove_nulling_relids(node, nulling_relids(root), NULL)
#endif

/*
 * nullability
 *		Returns whether a column is not null, and since 18 whether that is known of all rows.
 */
#if PG_VERSION_NUM < 180000
#define nullability(desc, i)	TupleDescAttr(desc, i)->attnotnull
#else
#define nullability(desc, i)	TupleDescCompactAttr(desc, i)->attnullability
#endif

/*
 * compiled_xmin: tells PL/pgSQL whether a function was replaced since it was compiled;
 * compiled_use_count: whether what it has made of it may be freed;
 * compiled_is_in_table: whether PL/pgSQL finds it
 */
#if PG_VERSION_NUM < 180000
#define compiled_xmin(function)	((function)->fn_xmin)
#define compiled_use_count(function)	((function)->use_count)
#define compiled_is_in_table(function)	((function)->fn_hashkey != NULL)
#else
#define compiled_xmin(function)	((function)->cfunc.fn_xmin)
#define compiled_use_count(function)	((function)->cfunc.use_count)
#define compiled_is_in_table(function)	((function)->cfunc.fn_hashkey != NULL)
#endif

/* nulling_relids: returns what may make a column NULL above a scan; since 18 grouping sets, too */
#if PG_VERSION_NUM < 180000
#define nulling_relids(root)	((root)->outer_join_rels)
#else
#define nulling_relids(root) \
	((root)->group_rtindex > 0 ? bms_add_member(bms_copy((root)->outer_join_rels), (root)->group_rtindex) : \
	 (root)->outer_join_rels)
#endif

/*
 * grouping_keys
 *		Returns the grouping columns of a query; since 16 without those that are redundant.
 */
#if PG_VERSION_NUM < 160000
#define grouping_keys(root)		((root)->parse->groupClause)
#define distinct_keys_of(root)	((root)->parse->distinctClause)
#else
#define grouping_keys(root)		((root)->processed_groupClause)
#define distinct_keys_of(root)	((root)->processed_distinctClause)
#endif
#if PG_VERSION_NUM >= 190000
#define create_upper_unique_path(root, rel, path, ncolumns, groups) create_unique_path(root, rel, path, ncolumns, groups)
#endif

/*
 * plain_subtype
 *		Returns what a subcommand of ALTER TABLE does; before 16, another value says that it
 *		does so to children, too.
 */
static inline AlterTableType
plain_subtype(AlterTableCmd *cmd)
{
#if PG_VERSION_NUM < 160000
	if (cmd->subtype == AT_AddColumnRecurse)
		return AT_AddColumn;
	if (cmd->subtype == AT_AddConstraintRecurse)
		return AT_AddConstraint;
#endif
	return cmd->subtype;
}

/*
 * forget_permissions
 *		Makes nobody's rights on the only table of a query be checked, which was of another
 *		query, or, if that is NULL, of none that is known.
 */
static inline void
forget_permissions(Query *query, RangeTblEntry *rte, Query *other)
{
#if PG_VERSION_NUM < 160000
	rte->requiredPerms = 0;
#else
	RTEPermissionInfo *permissions = makeNode(RTEPermissionInfo);

	permissions->relid = rte->relid;
	permissions->inh = rte->inh;
	if (other != NULL && rte->perminfoindex != 0)
		permissions->checkAsUser = getRTEPermissionInfo(other->rteperminfos, rte)->checkAsUser;
	query->rteperminfos = list_make1(permissions);
	rte->perminfoindex = 1;
#endif
}

/* check_as: has rights on a query's only table, which may be a copy, be those of a user */
static inline void
check_as(Query *query, RangeTblEntry *rte, Oid user)
{
	forget_permissions(query, rte, NULL);
#if PG_VERSION_NUM < 160000
	rte->checkAsUser = user;
#else
	linitial_node(RTEPermissionInfo, query->rteperminfos)->checkAsUser = user;
#endif
}

/*
 * checked_as
 *		Returns the user whose rights on a table of a query are checked, or InvalidOid if it
 *		is the current one.
 */
static inline Oid
checked_as(Query *query, RangeTblEntry *rte)
{
#if PG_VERSION_NUM < 160000
	return rte->checkAsUser;
#else
	return rte->perminfoindex == 0 ? InvalidOid : getRTEPermissionInfo(query->rteperminfos, rte)->checkAsUser;
#endif
}

/* find_option_compat: returns what the server knows of a setting that is defined */
static inline struct config_generic *
find_option_compat(const char *name)
{
#if PG_VERSION_NUM < 160000
	struct config_generic **options = get_guc_variables();

	while (strcmp((*options)->name, name) != 0)
		options++;
	return *options;
#else
	return find_option(name, false, false, ERROR);
#endif
}

/* variable_of: returns where the value of a setting is that is a string */
static inline char **
variable_of(struct config_generic *option)
{
#if PG_VERSION_NUM < 190000
	return ((struct config_string *) option)->variable;
#else
	return option->_string.variable;
#endif
}

/* check_hook_of: returns where the function is that checks values of a setting that is a string */
static inline GucStringCheckHook *
check_hook_of(struct config_generic *option)
{
#if PG_VERSION_NUM < 190000
	return &((struct config_string *) option)->check_hook;
#else
	return &option->_string.check_hook;
#endif
}

/* bool_check_hook_of: the same of one that is a boolean */
static inline GucBoolCheckHook *
bool_check_hook_of(struct config_generic *option)
{
#if PG_VERSION_NUM < 190000
	return &((struct config_bool *) option)->check_hook;
#else
	return &option->_bool.check_hook;
#endif
}

/* guc_malloc_compat, guc_free_compat: allocate values of settings, and free them */
#if PG_VERSION_NUM < 160000
#define guc_malloc_compat(size)	malloc(size)
#define guc_free_compat(value)	free(value)
#else
#define guc_malloc_compat(size)	guc_malloc(LOG, size)
#define guc_free_compat(value)	guc_free(value)
#endif

/*
 * move_permissions
 *		Gives what is to be checked of a query's tables to another query, which has them now.
 */
static inline void
move_permissions(Query *from, Query *to)
{
#if PG_VERSION_NUM >= 160000
	to->rteperminfos = from->rteperminfos;
	from->rteperminfos = NIL;
#endif
}

/* forget_presorted: has the planner find out anew whether the input of an aggregate is sorted */
static inline void
forget_presorted(Aggref *agg)
{
#if PG_VERSION_NUM >= 160000
	agg->aggpresorted = false;
#endif
}

/* plan_without_checks: keeps the executor from checking rights when a plan is executed */
static inline void
plan_without_checks(PlannedStmt *plan)
{
	ListCell   *cell;

	foreach(cell, plan->rtable)
#if PG_VERSION_NUM < 160000
		((RangeTblEntry *) lfirst(cell))->requiredPerms = 0;
#else
		((RangeTblEntry *) lfirst(cell))->perminfoindex = 0;
	plan->permInfos = NIL;
#endif
}

/* forget_subplans: makes a plan that of a single node */
static inline void
forget_subplans(PlannedStmt *plan)
{
	plan->subplans = NIL;
	plan->rewindPlanIDs = NULL;
	plan->parallelModeNeeded = false;
	plan->jitFlags = 0;
#if PG_VERSION_NUM >= 180000
	plan->partPruneInfos = NIL;
#endif
}

/*
 * begin_statistics: sets the statistics target of a column to be analyzed to the default.  Before 17 it was
 * in a copy of the row of pg_attribute.
 */
#if PG_VERSION_NUM < 170000
#define begin_statistics(stats, att) \
	((stats)->attr = memcpy(palloc(ATTRIBUTE_FIXED_PART_SIZE), (att), ATTRIBUTE_FIXED_PART_SIZE), \
	 (stats)->attr->attstattarget = -1)
#else
#define begin_statistics(stats, att)	((stats)->attstattarget = -1)
#endif

/* check_rights: raises an error if the user lacks a right on a table that a plan needs */
static inline void
check_rights(PlannedStmt *plan)
{
#if PG_VERSION_NUM < 160000
	(void) ExecCheckRTPerms(plan->rtable, true);
#else
	(void) ExecCheckPermissions(plan->rtable, plan->permInfos, true);
#endif
}

/* Since 16 an input function that finds no value in a text can say so without raising an error. */
#if PG_VERSION_NUM < 160000
typedef struct ErrorSaveContext
{
	ErrorData  *error_data;
} ErrorSaveContext;
#define SOFT_ERRORS				{NULL}
#define InputFunctionCallSafe_compat(function, str, ioparam, typmod, context, result) \
	((void) (context), *(result) = InputFunctionCall(function, str, ioparam, typmod), true)
#else
#define SOFT_ERRORS				{.type = T_ErrorSaveContext, .details_wanted = true}
#define InputFunctionCallSafe_compat(function, str, ioparam, typmod, context, result) \
	InputFunctionCallSafe(function, str, ioparam, typmod, (Node *) (context), result)
#endif

/*
 * bt_getroot_compat
 *		Returns the root of a btree, pinned and locked to be read, or InvalidBuffer if the
 *		btree is empty.
 */
#if PG_VERSION_NUM < 160000
#define bt_getroot_compat(index)	_bt_getroot(index, BT_READ)
#else
#define bt_getroot_compat(index)	_bt_getroot(index, NULL, BT_READ)
#endif

/* ---- since 17 ---- */

/* Since 17 no snapshot is too old. */
#if PG_VERSION_NUM >= 170000
#define TestForOldSnapshot(snapshot, rel, page)	((void) 0)
#endif

/* The loops over a list that name its elements: foreach_delete_current() takes these names, too. */
#if PG_VERSION_NUM < 170000
#define foreach_value(type, var, lst, func) \
	for (type var = (type) 0, var##__outerloop = (type) 1; var##__outerloop; var##__outerloop = (type) 0) \
		for (ForEachState var##__state = {(lst), 0}; \
			 var##__state.l != NIL && var##__state.i < var##__state.l->length && \
			 (var = (type) func(&var##__state.l->elements[var##__state.i]), true); \
			 var##__state.i++)
#define foreach_ptr(type, var, lst)	foreach_value(typeof(type *), var, lst, lfirst)
#define foreach_node(type, var, lst)	foreach_ptr(type, var, lst)
#define foreach_int(var, lst)		foreach_value(int, var, lst, lfirst_int)
#define foreach_oid(var, lst)		foreach_value(Oid, var, lst, lfirst_oid)
#undef foreach_delete_current
#define foreach_delete_current(lst, var) \
	((List *) (var##__state.l = list_delete_nth_cell(lst, var##__state.i--)))
#endif
/*
 * DSHASH_PARAMETERS
 *		Initializes those of a shared hash table whose keys are compared byte by byte.
 */
#if PG_VERSION_NUM < 170000
#define DSHASH_PARAMETERS(key_size, entry_size, tranche) \
	{key_size, entry_size, dshash_memcmp, dshash_memhash, tranche}
#else
#define DSHASH_PARAMETERS(key_size, entry_size, tranche) \
	{key_size, entry_size, dshash_memcmp, dshash_memhash, dshash_memcpy, tranche}
#endif
#if PG_VERSION_NUM < 170000
#define index_insert_cleanup(rel, info)	((void) 0)
#define close_files(relid)	RelationCloseSmgrByOid(relid)
#define reindex_table(relid) \
	reindex_relation(relid, REINDEX_REL_PROCESS_TOAST | REINDEX_REL_CHECK_CONSTRAINTS, &(ReindexParams) {0})
#define reindex_one(relid) \
	reindex_index(relid, false, RELPERSISTENCE_PERMANENT, &(ReindexParams) {0})
#define new_wait_event(name)	PG_WAIT_EXTENSION
#define estimate_array_length_compat(root, expr)	((double) estimate_array_length(expr))
/* lock_held_by_me: returns whether this transaction holds a lock in any mode */
#define lock_held_by_me(tag) \
	(LockHeldByMe(tag, AccessShareLock) || LockHeldByMe(tag, RowShareLock) || \
	 LockHeldByMe(tag, RowExclusiveLock) || LockHeldByMe(tag, ShareUpdateExclusiveLock) || \
	 LockHeldByMe(tag, ShareLock) || LockHeldByMe(tag, ShareRowExclusiveLock) || \
	 LockHeldByMe(tag, ExclusiveLock) || LockHeldByMe(tag, AccessExclusiveLock))
#define lock_held_by_me_as_writer(tag)	LockHeldByMe(tag, RowExclusiveLock)
#define lock_held_by_me_exclusively(tag)	LockHeldByMe(tag, AccessExclusiveLock)
#else
#define close_files(relid)	((void) 0)
#define reindex_table(relid) \
	reindex_relation(NULL, relid, REINDEX_REL_PROCESS_TOAST | REINDEX_REL_CHECK_CONSTRAINTS, &(ReindexParams) {0})
#define reindex_one(relid) \
	reindex_index(NULL, relid, false, RELPERSISTENCE_PERMANENT, &(ReindexParams) {0})
#define new_wait_event(name)	WaitEventExtensionNew(name)
#define estimate_array_length_compat(root, expr)	estimate_array_length(root, expr)
#define lock_held_by_me(tag)	LockHeldByMe(tag, AccessShareLock, true)
#define lock_held_by_me_as_writer(tag)	LockHeldByMe(tag, RowExclusiveLock, false)
#define lock_held_by_me_exclusively(tag)	LockHeldByMe(tag, AccessExclusiveLock, false)
#endif

/* The number of this transaction, which no other of the session has. */
#if PG_VERSION_NUM < 170000
#define current_lxid()	(MyProc->lxid)
#else
#define current_lxid()	(MyProc->vxid.lxid)
#endif

/* ---- since 18 ---- */

#if PG_VERSION_NUM < 180000
#define get_op_index_interpretation(operator)	get_op_btree_interpretation(operator)
#define heap_copy_minimal_tuple_compat(tuple)	heap_copy_minimal_tuple(tuple)
#define portal_run_all(portal) \
	PortalRun(portal, FETCH_ALL, true, true, None_Receiver, None_Receiver, NULL)
#define is_virtual_column(att)	false
#define has_virtual_columns(desc)	false
#define expand_virtual_columns(node, rel)	(node)
#define pathkey_descends(key)	((key)->pk_strategy == BTGreaterStrategyNumber)
#define set_sort_reversed(sort, descends)	((void) 0)
#define swap_all_frozen(a, b)	((void) 0)
#define not_null_by_column(att)	((att)->attnotnull)
#define not_null_column(constraint)	InvalidAttrNumber
#define note_locked_table(plan, rti)	((void) 0)
/* plans_sql_by_path: whether functions in SQL are planned anew for another search_path */
#define plans_sql_by_path	false
#define is_without_overlaps(constraint)	false
#else
#define plans_sql_by_path	true
#define is_without_overlaps(constraint)	((constraint)->without_overlaps)
/* note_locked_table: has a kept plan lock a table before it is executed, whatever is pruned */
#define note_locked_table(plan, rti) \
	((plan)->unprunableRelids = bms_add_member((plan)->unprunableRelids, (rti)))
#define heap_copy_minimal_tuple_compat(tuple)	heap_copy_minimal_tuple(tuple, 0)
#define portal_run_all(portal) \
	PortalRun(portal, FETCH_ALL, true, None_Receiver, None_Receiver, NULL)
#define pathkey_descends(key)	((key)->pk_cmptype == COMPARE_GT)
#define set_sort_reversed(sort, descends)	((sort)->reverse_sort = (descends))
#define is_virtual_column(att)	((att)->attgenerated == ATTRIBUTE_GENERATED_VIRTUAL)
#define has_virtual_columns(desc)	((desc)->constr != NULL && (desc)->constr->has_generated_virtual)
#define expand_virtual_columns(node, rel)	expand_generated_columns_in_expr(node, rel, 1)
/* swap_all_frozen: exchanges the numbers of frozen pages in two rows of pg_class */
static inline void
swap_all_frozen(Form_pg_class a, Form_pg_class b)
{
	int32		pages = a->relallfrozen;

	a->relallfrozen = b->relallfrozen;
	b->relallfrozen = pages;
}

/*
 * Since 18 a constraint says which column is NOT NULL; the column itself says so before that
 * is validated.
 */
#define not_null_by_column(att)	false
/*
 * not_null_column
 *		Returns the column that a row of pg_constraint says to be NOT NULL, or
 *		InvalidAttrNumber.
 */
static inline AttrNumber
not_null_column(HeapTuple constraint)
{
	return ((Form_pg_constraint) GETSTRUCT(constraint))->contype == CONSTRAINT_NOTNULL ?
		extractNotNullColumn(constraint) : InvalidAttrNumber;
}
#endif

/* ---- since 19 ---- */

#if PG_VERSION_NUM < 190000
#define table_beginscan_compat(rel, snapshot)	table_beginscan(rel, snapshot, 0, NULL)
#define table_beginscan_parallel_compat(rel, scan)	table_beginscan_parallel(rel, scan)
#define table_beginscan_tidrange_compat(rel, snapshot, first, last) \
	table_beginscan_tidrange(rel, snapshot, first, last)
#define table_tuple_delete_compat(rel, tid, cid, wait, failure) \
	table_tuple_delete(rel, tid, cid, InvalidSnapshot, InvalidSnapshot, wait, failure, false)
#define table_tuple_update_compat(rel, tid, slot, cid, wait, failure, lockmode, which) \
	table_tuple_update(rel, tid, slot, cid, InvalidSnapshot, InvalidSnapshot, wait, failure, \
					   lockmode, which)
#define heap_delete_compat(rel, tid, cid, wait, failure) \
	heap_delete(rel, tid, cid, InvalidSnapshot, wait, failure, false)
#else
#define table_beginscan_compat(rel, snapshot)	table_beginscan(rel, snapshot, 0, NULL, SO_NONE)
#define table_beginscan_parallel_compat(rel, scan)	table_beginscan_parallel(rel, scan, SO_NONE)
#define table_beginscan_tidrange_compat(rel, snapshot, first, last) \
	table_beginscan_tidrange(rel, snapshot, first, last, SO_NONE)
#define table_tuple_delete_compat(rel, tid, cid, wait, failure) \
	table_tuple_delete(rel, tid, cid, 0, InvalidSnapshot, InvalidSnapshot, wait, failure)
#define table_tuple_update_compat(rel, tid, slot, cid, wait, failure, lockmode, which) \
	table_tuple_update(rel, tid, slot, cid, 0, InvalidSnapshot, InvalidSnapshot, wait, failure, \
					   lockmode, which)
#define heap_delete_compat(rel, tid, cid, wait, failure) \
	heap_delete(rel, tid, cid, 0, InvalidSnapshot, wait, failure)
#endif

/* The hook that the planner calls when it knows the indexes of a relation. */
#if PG_VERSION_NUM < 190000
#define relation_hook_type		get_relation_info_hook_type
#define relation_hook			get_relation_info_hook
#define RELATION_HOOK_PARAMETERS	PlannerInfo *root, Oid relid, bool inhparent, RelOptInfo *rel
#define RELATION_HOOK_ARGUMENTS	root, relid, inhparent, rel
#else
#define relation_hook_type		build_simple_rel_hook_type
#define relation_hook			build_simple_rel_hook
#define RELATION_HOOK_PARAMETERS	PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte
#define RELATION_HOOK_ARGUMENTS	root, rel, rte
#endif

/* writes_tables: returns whether a plan writes tables, also in WITH */
#if PG_VERSION_NUM < 190000
#define writes_tables(plan)		((plan)->resultRelations != NIL)
#else
#define writes_tables(plan)		(!bms_is_empty((plan)->resultRelationRelids))
#endif

/* Since 19 what is noted of a query that was analyzed cannot be changed any more. */
#if PG_VERSION_NUM < 190000
#define JumbleState_compat		JumbleState
#else
#define JumbleState_compat		const JumbleState
#endif

/* Since 19 the planner is told for which EXPLAIN it plans, if for any. */
#if PG_VERSION_NUM < 190000
#define PLANNER_HOOK_PARAMETERS \
	Query *parse, const char *query_string, int cursorOptions, ParamListInfo boundParams
#define PLANNER_HOOK_ARGUMENTS	parse, query_string, cursorOptions, boundParams
#define planner_compat(parse, query_string, options, params)	planner(parse, query_string, options, params)
#define pg_plan_query_compat(query, query_string, options, params) \
	pg_plan_query(query, query_string, options, params)
#else
#define PLANNER_HOOK_PARAMETERS \
	Query *parse, const char *query_string, int cursorOptions, ParamListInfo boundParams, ExplainState *es
#define PLANNER_HOOK_ARGUMENTS	parse, query_string, cursorOptions, boundParams, es
#define planner_compat(parse, query_string, options, params)	planner(parse, query_string, options, params, NULL)
#define pg_plan_query_compat(query, query_string, options, params) \
	pg_plan_query(query, query_string, options, params, NULL)
#endif

/* Since 19 the state that pushJsonbValue() takes keeps the result. */
#if PG_VERSION_NUM < 190000
typedef struct JsonbInState
{
	JsonbParseState *parseState;
	JsonbValue *result;
} JsonbInState;
#define pushJsonbValue(state, token, value) \
	((state)->result = pushJsonbValue(&(state)->parseState, token, value))
#endif

/*
 * has_known_row
 *		Returns whether conditions of a table compare all columns of a unique index with
 *		values.
 */
#if PG_VERSION_NUM < 190000
#define has_known_row(root, rel)	relation_has_unique_index_for(root, rel, NIL, NIL, NIL)
#else
#define has_known_row(root, rel)	relation_has_unique_index_for(root, rel, NIL, NULL)
#endif

/*
 * publications_of
 *		Lists the publications that have a table; since 19 "ALL TABLES EXCEPT" may exclude it.
 */
#if PG_VERSION_NUM < 190000
#define publications_of(relid) \
	list_concat(GetRelationPublications(relid), GetAllTablesPublications())
#else
#define publications_of(relid) \
	list_concat(GetRelationIncludedPublications(relid), \
				list_difference_oid(GetAllTablesPublications(), GetRelationExcludedPublications(relid)))
#endif

/*
 * Since 19 the setting standard_conforming_strings cannot be off.  18 keeps the text of functions in SQL as it was
 * read; before, each that calls them reads it.
 */
#if PG_VERSION_NUM >= 190000
#define standard_conforming_strings	true
#endif
#define keeps_sql_as_read	(PG_VERSION_NUM / 10000 == 18)

/* ---- changed more than once, or in the middle of a version ---- */

#if PG_VERSION_NUM < 160000
#define define_index(relid, stmt) \
	DefineIndex(relid, stmt, InvalidOid, InvalidOid, InvalidOid, true, false, false, false, true)
#elif PG_VERSION_NUM < 190000
#define define_index(relid, stmt) \
	DefineIndex(relid, stmt, InvalidOid, InvalidOid, InvalidOid, -1, true, false, false, false, true)
#else
#define define_index(relid, stmt) \
	DefineIndex(NULL, relid, stmt, InvalidOid, InvalidOid, InvalidOid, -1, true, false, false, false, true)
#endif

/* executor_run_compat: executes a query once, to its end; since 18 that need not be said */
#if PG_VERSION_NUM < 180000
#define executor_run_compat(query)	ExecutorRun(query, ForwardScanDirection, 0, true)
#define EXECUTOR_RUN_PARAMETERS		QueryDesc *query, ScanDirection direction, uint64 count, bool once
#define EXECUTOR_RUN_ARGUMENTS		query, direction, count, once
#else
#define executor_run_compat(query)	ExecutorRun(query, ForwardScanDirection, 0)
#define EXECUTOR_RUN_PARAMETERS		QueryDesc *query, ScanDirection direction, uint64 count
#define EXECUTOR_RUN_ARGUMENTS		query, direction, count
#endif

#if PG_VERSION_NUM < 180000
#define index_beginscan_compat(heap, index, snapshot, nkeys) \
	index_beginscan(heap, index, snapshot, nkeys, 0)
#elif PG_VERSION_NUM < 190000
#define index_beginscan_compat(heap, index, snapshot, nkeys) \
	index_beginscan(heap, index, snapshot, NULL, nkeys, 0)
#else
#define index_beginscan_compat(heap, index, snapshot, nkeys) \
	index_beginscan(heap, index, snapshot, NULL, nkeys, 0, SO_NONE)
#endif

#if PG_VERSION_NUM < 180000
#define index_beginscan_parallel_compat(heap, index, nkeys, shared) \
	index_beginscan_parallel(heap, index, nkeys, 0, shared)
#elif PG_VERSION_NUM < 190000
#define index_beginscan_parallel_compat(heap, index, nkeys, shared) \
	index_beginscan_parallel(heap, index, NULL, nkeys, 0, shared)
#else
#define index_beginscan_parallel_compat(heap, index, nkeys, shared) \
	index_beginscan_parallel(heap, index, NULL, nkeys, 0, shared, SO_NONE)
#endif

#if PG_VERSION_NUM >= 180000 && PG_VERSION_NUM < 190000
#define index_parallelscan_estimate_compat(index, nkeys, snapshot) \
	index_parallelscan_estimate(index, nkeys, 0, snapshot, false, true, 0)
#define index_parallelscan_initialize_compat(heap, index, snapshot, shared) \
	index_parallelscan_initialize(heap, index, snapshot, false, true, 0, NULL, shared)
#else
#if PG_VERSION_NUM < 170000
#define index_parallelscan_estimate_compat(index, nkeys, snapshot)	index_parallelscan_estimate(index, snapshot)
#else
#define index_parallelscan_estimate_compat(index, nkeys, snapshot) \
	index_parallelscan_estimate(index, nkeys, 0, snapshot)
#endif
#define index_parallelscan_initialize_compat(heap, index, snapshot, shared) \
	index_parallelscan_initialize(heap, index, snapshot, shared)
#endif

/* With 19, pruning may open the visibility map. */
#if PG_VERSION_NUM < 190000
#define heap_page_prune_opt_compat(rel, buffer)	heap_page_prune_opt(rel, buffer)
#else
#define heap_page_prune_opt_compat(rel, buffer) \
	do { \
		Buffer		vm_buffer_ = InvalidBuffer; \
		heap_page_prune_opt(rel, buffer, &vm_buffer_, false); \
		if (BufferIsValid(vm_buffer_)) \
			ReleaseBuffer(vm_buffer_); \
	} while (0)
#endif

#if PG_VERSION_NUM < 190000
#define table_index_fetch_begin_compat(heap)	table_index_fetch_begin(heap)
#else
#define table_index_fetch_begin_compat(heap)	table_index_fetch_begin(heap, SO_NONE)
#endif

/* Since 19 a descriptor has to be finished before it is used. */
#if PG_VERSION_NUM < 190000
#define TupleDescFinalize(desc)	((void) (desc))
#endif

#if PG_VERSION_NUM < 190000
#define ExecInitScanTupleSlot_compat(estate, node, desc, callbacks) \
	ExecInitScanTupleSlot(estate, node, desc, callbacks)
#else
#define ExecInitScanTupleSlot_compat(estate, node, desc, callbacks) \
	ExecInitScanTupleSlot(estate, node, desc, callbacks, 0)
#endif

/* The arguments are those of complete scans. */
#if PG_VERSION_NUM < 190000
#define create_append_path_compat(root, rel, subpaths, pathkeys, rows) \
	create_append_path(root, rel, subpaths, NIL, pathkeys, NULL, 0, false, rows)
#define create_merge_append_path_compat(root, rel, subpaths, pathkeys) \
	create_merge_append_path(root, rel, subpaths, pathkeys, NULL)
#else
#define create_append_path_compat(root, rel, paths, pathkeys, rows) \
	create_append_path(root, rel, (AppendPathInput) {.subpaths = paths}, pathkeys, NULL, 0, false, rows)
#define create_merge_append_path_compat(root, rel, subpaths, pathkeys) \
	create_merge_append_path(root, rel, subpaths, NIL, pathkeys, NULL)
#endif

/*
 * subquery_planner_compat
 *		Plans a subquery for an InitPlan, whose plan is called by a name in 19.
 */
#if PG_VERSION_NUM < 170000
#define subquery_planner_compat(root, query, name)	subquery_planner((root)->glob, query, root, false, 0)
#elif PG_VERSION_NUM < 190000
#define subquery_planner_compat(root, query, name)	subquery_planner((root)->glob, query, root, false, 0, NULL)
#else
#define subquery_planner_compat(root, query, name) \
	subquery_planner((root)->glob, query, choose_plan_name((root)->glob, name, true), root, NULL, false, 0, NULL)
#endif

/* What is allowed of joins is what the query allows. */
#if PG_VERSION_NUM < 190000
#define initial_cost_nestloop_compat(root, workspace, jointype, outer, inner, extra) \
	initial_cost_nestloop(root, workspace, jointype, outer, inner, extra)
#else
#define initial_cost_nestloop_compat(root, workspace, jointype, outer, inner, extra) \
	initial_cost_nestloop(root, workspace, jointype, PGS_NESTLOOP_PLAIN, outer, inner, extra)
#endif

#ifndef pg_noreturn
#define pg_noreturn				pg_attribute_noreturn()
#endif

#ifndef pg_fallthrough
#define pg_fallthrough			__attribute__((fallthrough))
#endif

/*
 * The hook that is called for each table of a query when the planner meets it, before a foreign-data
 * wrapper is asked about it.
 */
#if PG_VERSION_NUM >= 190000
#define table_hook			build_simple_rel_hook
#define table_hook_type		build_simple_rel_hook_type
#define TABLE_HOOK_PARAMS	PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte
#define TABLE_HOOK_ARGS		root, rel, rte
#else
#define table_hook			get_relation_info_hook
#define table_hook_type		get_relation_info_hook_type
#define TABLE_HOOK_PARAMS	PlannerInfo *root, Oid relid, bool inhparent, RelOptInfo *rel
#define TABLE_HOOK_ARGS		root, relid, inhparent, rel
#endif

#endif							/* INDEXTABLE_COMPAT_H */
