/*-------------------------------------------------------------------------
 *
 * owner.c
 *	  Tells who owns the extension, and keeps other roles away from what it makes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "storage/lockdefs.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "../indextable.h"
#include "../util/sql.h"
#include "owner.h"
#include "table_access.h"

/* get_extension_owner: returns the role that owns the extension's tables */
Oid
get_extension_owner(void)
{
	Relation	rel = table_open(catalog_relid("definition", false), AccessShareLock);
	Oid			owner = rel->rd_rel->relowner;

	table_close(rel, AccessShareLock);
	return owner;
}

/*
 * revoke_all
 *		Revokes all privileges on a table from all roles but its owner.
 *
 * Otherwise default privileges could give access to what the fact table protects.
 */
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
	run_sql(get_extension_owner(), "REVOKE ALL ON TABLE %s FROM PUBLIC", quoted_relation(relid));
	for (i = 0; i < nroles; i++)
		if (roles[i] != owner)
			run_sql(get_extension_owner(), "REVOKE ALL ON TABLE %s FROM %s", quoted_relation(relid),
					quote_identifier(GetUserNameFromId(roles[i], false)));
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
