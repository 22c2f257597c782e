/*-------------------------------------------------------------------------
 *
 * owner.c
 *	  Tells which role owns the extension, and keeps other roles away from what it makes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "storage/lockdefs.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "../indextable.h"
#include "../util/as_owner.h"
#include "../util/sql.h"
#include "catalog.h"

PG_FUNCTION_INFO_V1(indextable_schema_is_new);

static void revoke_from(Oid relid, Oid owner, Acl *acl);

/* get_extension_owner: returns the role that owns the extension's tables */
Oid
get_extension_owner(void)
{
	Relation	rel = table_open(catalog_relid("definition", false), AccessShareLock);
	Oid			owner = rel->rd_rel->relowner;

	table_close(rel, AccessShareLock);
	return owner;
}

/* table_owner: returns the owner of a table, or InvalidOid if that does not exist */
Oid
table_owner(Oid relid)
{
	return GetSysCacheOid1(RELOID, Anum_pg_class_relowner, ObjectIdGetDatum(relid));
}

/*
 * revoke_all
 *		Revokes all privileges on a table from all roles but its owner.
 *
 * Otherwise default privileges would give access to copies of what the fact table protects.
 * None are copied from the fact table either: they would outlive those.
 */
void
revoke_all(Oid relid, Oid owner)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool		isnull;
	Datum		datum;
	Acl		   *acl;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	datum = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relacl, &isnull);
	acl = isnull ? NULL : DatumGetAclPCopy(datum);
	ReleaseSysCache(tuple);
	if (acl != NULL)
		revoke_from(relid, owner, acl);
}

/*
 * revoke_defaults
 *		Revokes all privileges on a table from the roles to which default privileges give some.
 *
 * What a dump grants to other roles stays: a restore by sections grants before it creates triggers.
 */
void
revoke_defaults(Oid relid, Oid owner)
{
	Acl		   *acl = get_user_default_acl(OBJECT_TABLE, owner, get_rel_namespace(relid));

	if (acl != NULL)
		revoke_from(relid, owner, acl);
}

/*
 * revoke_from
 *		Revokes all privileges on a table from PUBLIC, and from those in an access control
 *		list but its owner.
 */
static void
revoke_from(Oid relid, Oid owner, Acl *acl)
{
	Oid		   *roles;
	int			nroles = aclmembers(acl, &roles);

	AS_OWNER(owner);
	for (int i = -1; i < nroles; i++)
	{
		Oid			role = i < 0 ? ACL_ID_PUBLIC : roles[i];

		if (role == owner)
			continue;
		RemoveRoleFromObjectACL(role, RelationRelationId, relid);
		CommandCounterIncrement();
	}
	END_AS_OWNER();
}

/*
 * is_own_guard
 *		Returns whether one of our triggers on the catalog and on queue tables has this name.
 */
bool
is_own_guard(const char *name)
{
	return strcmp(name, OWN_GUARD) == 0 || strcmp(name, OWN_GUARD_TRUNCATE) == 0;
}

/*
 * guard_own_table
 *		Puts the triggers on a queue table, or a table of the catalog, that refuse what other
 *		roles write than its owner and superusers: see indextable_guard().
 *
 * The right to write it is not enough: members of pg_write_all_data have it.  The triggers are
 * for rows, because a subscription fires no others, and enabled ALWAYS.  They are made anew
 * after a restore has enabled them as it does those of users.
 */
void
guard_own_table(Oid relid)
{
	char	   *table = quoted_relation(relid);

	run_sql(get_extension_owner(),
			"CREATE OR REPLACE TRIGGER " OWN_GUARD " BEFORE INSERT OR UPDATE OR DELETE ON %s"
			" FOR EACH ROW EXECUTE FUNCTION " IT_INTERNAL ".guard()",
			table);
	run_sql(get_extension_owner(), "CREATE OR REPLACE TRIGGER " OWN_GUARD_TRUNCATE " BEFORE TRUNCATE ON %s"
			" FOR EACH STATEMENT EXECUTE FUNCTION " IT_INTERNAL ".guard()", table);
	run_sql(get_extension_owner(), "ALTER TABLE %s ENABLE ALWAYS TRIGGER " OWN_GUARD
			", ENABLE ALWAYS TRIGGER " OWN_GUARD_TRUNCATE, table);
}

/*
 * indextable_schema_is_new
 *		schema_is_new(): whether the schema of the extension was created by this
 *		transaction.
 *
 * Then no other session can have created anything in it, or can be about to.  A row with
 * the xmin of this transaction is not enough, because it may be a new version of one that
 * was there before.
 */
Datum
indextable_schema_is_new(PG_FUNCTION_ARGS)
{
	HeapTuple	tuple = SearchSysCache1(NAMESPACENAME, CStringGetDatum(IT_SCHEMA));
	bool		is_new = HeapTupleIsValid(tuple) &&
		TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data)) &&
		(tuple->t_data->t_infomask & HEAP_UPDATED) == 0;

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	PG_RETURN_BOOL(is_new);
}

/*
 * record_extension_dependency
 *		Has a table be dropped with the extension.
 *
 * It does not become a member of the extension, so that pg_dump includes it.
 */
void
record_extension_dependency(Oid relid)
{
	ObjectAddress object;
	ObjectAddress on;

	ObjectAddressSet(object, RelationRelationId, relid);
	ObjectAddressSet(on, ExtensionRelationId, get_extension_oid(IT_SCHEMA, false));
	recordDependencyOn(&object, &on, DEPENDENCY_AUTO);
}

/* is_extension_table: returns whether a relation is the table definition or fact of the catalog */
bool
is_extension_table(Oid relid)
{
	return OidIsValid(relid) &&
		(relid == catalog_relid("definition", true) || relid == catalog_relid("fact", true));
}
