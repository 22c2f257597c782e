/*-------------------------------------------------------------------------
 *
 * ddl.c
 *	  Runs SQL that creates, alters and drops what belongs to index tables.
 *
 * Called by create.c, drop.c, alter.c, triggers.c, layout.c and trigger.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/genam.h"
#include "catalog/namespace.h"
#include "catalog/indexing.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_subscription_rel.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "commands/event_trigger.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "indextable.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/*
 * run_sql
 *		Runs one command as a role, or as the current user if role is InvalidOid,
 *		with search_path fixed.  Names in it must be qualified and quoted.  What a role
 *		other than the caller creates is in no tablespace of the caller's choice.
 */
void
run_sql(Oid role, const char *fmt,...)
{
	StringInfoData sql;
	Oid			save_user;
	int			save_sec;
	int			nestlevel;
	int			result;

	initStringInfo(&sql);
	for (;;)
	{
		va_list		args;
		int			needed;

		va_start(args, fmt);
		needed = appendStringInfoVA(&sql, fmt, args);
		va_end(args);
		if (needed == 0)
			break;
		enlargeStringInfo(&sql, needed);
	}

	GetUserIdAndSecContext(&save_user, &save_sec);
	if (OidIsValid(role))
		SetUserIdAndSecContext(role, save_sec | SECURITY_LOCAL_USERID_CHANGE |
							   SECURITY_RESTRICTED_OPERATION);
	nestlevel = NewGUCNestLevel();
	set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
					  GUC_ACTION_SAVE, true, 0, false);
	if (OidIsValid(role))
		set_config_option("default_tablespace", "", PGC_USERSET, PGC_S_SESSION,
						  GUC_ACTION_SAVE, true, 0, false);

	SPI_connect();
	result = SPI_execute(sql.data, false, 0);
	if (result < 0)
		elog(ERROR, "%s: %s", SPI_result_code_string(result), sql.data);
	SPI_finish();

	AtEOXact_GUC(false, nestlevel);
	SetUserIdAndSecContext(save_user, save_sec);
	pfree(sql.data);
}

/*
 * execute_now
 *		One statement, seeing what is there now, whatever the isolation level.  SPI
 *		is connected, and stays so.
 */
uint64
execute_now(const char *sql, int nargs, Oid *types, Datum *values)
{
	SPIPlanPtr	plan = SPI_prepare(sql, nargs, types);
	int			result;

	if (plan == NULL)
		elog(ERROR, "%s: %s", SPI_result_code_string(SPI_result), sql);
	result = SPI_execute_snapshot(plan, values, NULL, GetLatestSnapshot(), InvalidSnapshot,
								  false, true, 0);
	if (result < 0)
		elog(ERROR, "%s: %s", SPI_result_code_string(result), sql);
	return SPI_processed;
}

/* quoted_relation: schema.name, quoted */
char *
quoted_relation(Oid relid)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
									  get_rel_name(relid));
}

/* as_base_type: an expression in SQL as the type that a domain is over: not all operators take domains */
const char *
as_base_type(const char *expression, Oid type)
{
	Oid			base = getBaseType(type);

	return base == type ? expression :
		psprintf("%s::%s", expression,
				 format_type_extended(base, -1, FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY));
}

/* revoke_all: default privileges must not open what the fact table may protect */
void
revoke_all(Oid relid, Oid owner)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool		isnull;
	Datum		acl;
	Oid		   *roles;
	int			nroles = 0;
	int			i;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	acl = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relacl, &isnull);
	if (!isnull)
		nroles = aclmembers(DatumGetAclPCopy(acl), &roles);
	ReleaseSysCache(tuple);
	if (isnull)
		return;
	run_sql(catalog_owner(), "REVOKE ALL ON TABLE %s FROM PUBLIC", quoted_relation(relid));
	for (i = 0; i < nroles; i++)
		if (roles[i] != owner)
			run_sql(catalog_owner(), "REVOKE ALL ON TABLE %s FROM %s", quoted_relation(relid),
					quote_identifier(GetUserNameFromId(roles[i], false)));
}

/* depend_on_table: a table goes with another, as an index would */
void
depend_on_table(Oid relid, Oid other)
{
	ObjectAddress object;
	ObjectAddress on;

	ObjectAddressSet(object, RelationRelationId, relid);
	ObjectAddressSet(on, RelationRelationId, other);
	recordDependencyOn(&object, &on, DEPENDENCY_AUTO);
}

/*
 * table_dependencies
 *		Whether a table has dependencies that match; forgets these if told so.
 */
bool
table_dependencies(Oid relid, bool (*matches) (Form_pg_depend form, Oid arg), Oid arg, bool forget)
{
	LOCKMODE	mode = forget ? RowExclusiveLock : AccessShareLock;
	Relation	rel = table_open(DependRelationId, mode);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found = false;

	ScanKeyInit(&keys[0], Anum_pg_depend_classid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_objid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, DependDependerIndexId, true, NULL, 2, keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		if (!matches((Form_pg_depend) GETSTRUCT(tuple), arg))
			continue;
		found = true;
		if (forget)
			CatalogTupleDelete(rel, &tuple->t_self);
	}
	systable_endscan(scan);
	table_close(rel, mode);
	return found;
}

/* depend_on_extension: a table goes with the extension, but is no member, and so is dumped */
void
depend_on_extension(Oid relid)
{
	ObjectAddress object;
	ObjectAddress on;

	ObjectAddressSet(object, RelationRelationId, relid);
	ObjectAddressSet(on, ExtensionRelationId, get_extension_oid(IT_SCHEMA, false));
	recordDependencyOn(&object, &on, DEPENDENCY_AUTO);
}

/* lock_if_exists: false, without a lock, if the relation is gone */
bool
lock_if_exists(Oid relid, LOCKMODE mode)
{
	LockRelationOid(relid, mode);
	if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
		return true;
	UnlockRelationOid(relid, mode);
	return false;
}

typedef struct LockRequest
{
	Oid			relid;
	LOCKMODE	mode;
} LockRequest;

static void
request_lock(void *arg)
{
	LockRequest *request = arg;

	lock_tree(request->relid, request->mode);
}

/*
 * lock_within
 *		False if a lock is not to be had for so many ms.  Half of them it takes to
 *		look for a deadlock, which is also when autovacuum gives way.
 */
bool
lock_within(Oid relid, LOCKMODE mode, int ms)
{
	LockRequest request = {relid, mode};
	int			nestlevel = NewGUCNestLevel();
	ErrorData  *error;

	set_config_option("lock_timeout", psprintf("%d", ms), PGC_SUSET, PGC_S_SESSION,
					  GUC_ACTION_SAVE, true, 0, false);
	set_config_option("deadlock_timeout", psprintf("%d", ms / 2), PGC_SUSET, PGC_S_SESSION,
					  GUC_ACTION_SAVE, true, 0, false);
	error = attempt_all(request_lock, &request);
	AtEOXact_GUC(false, nestlevel);
	if (error == NULL)
		return true;
	if (error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE &&
		error->sqlerrcode != ERRCODE_T_R_DEADLOCK_DETECTED)
		ReThrowError(error);
	FreeErrorData(error);
	return false;
}

/* not_an_index_table: the error for a relation that is none, or is gone */
void
not_an_index_table(Oid relid)
{
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 get_rel_name(relid) != NULL ?
			 errmsg("\"%s\" is not an index table", get_rel_name(relid)) :
			 errmsg("relation with OID %u does not exist", relid),
			 errhint("The view indextable.index_tables shows what there is.")));
}

/* is_catalog_table: whether a relation is the table definition or fact of the catalog */
bool
is_catalog_table(Oid relid)
{
	return OidIsValid(relid) &&
		(relid == catalog_relid("definition", true) || relid == catalog_relid("fact", true));
}

/* is_subscribed: whether a subscription of this database writes a table */
bool
is_subscribed(Oid relid)
{
	Relation	rel = table_open(SubscriptionRelRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	bool		found;

	ScanKeyInit(&key, Anum_pg_subscription_rel_srrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, SubscriptionRelSrrelidSrsubidIndexId, true, NULL, 1, &key);
	found = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

/* require_event_trigger: refuses a call that is not by the event trigger manager */
void
require_event_trigger(FunctionCallInfo fcinfo, const char *function)
{
	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s.%s\" was not called by the event trigger manager",
						IT_INTERNAL, function)));
}

/*
 * event_trigger_relations
 *		The relations among the objects that one of the server's functions for
 *		event triggers tells of, or of which it tells a column.
 */
List *
event_trigger_relations(const char *function, bool with_columns)
{
	MemoryContext cxt = CurrentMemoryContext;
	List	   *result = NIL;
	uint64		i;

	/* No operator, nothing but qualified names: search_path is anybody's. */
	SPI_connect();
	if (SPI_execute(psprintf("SELECT classid, objid, objsubid FROM %s", function),
					false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read the objects of the event");
	for (i = 0; i < SPI_processed; i++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[i];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		bool		isnull;
		Oid			class = DatumGetObjectId(SPI_getbinval(tuple, desc, 1, &isnull));
		Oid			object = DatumGetObjectId(SPI_getbinval(tuple, desc, 2, &isnull));
		int32		column = DatumGetInt32(SPI_getbinval(tuple, desc, 3, &isnull));
		MemoryContext old = MemoryContextSwitchTo(cxt);

		if (class == RelationRelationId && (with_columns || column == 0))
			result = list_append_unique_oid(result, object);
		MemoryContextSwitchTo(old);
	}
	SPI_finish();
	return result;
}
