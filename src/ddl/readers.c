/*-------------------------------------------------------------------------
 *
 * readers.c
 *	  Warns of roles that may read an index table, but not all that its fact table has, when a
 *	  command has taken something from them there; and revokes what default privileges have given
 *	  on index tables that a restore has created.
 *
 * Entries are copies.  A right to read them was granted on the index table itself, and only
 * the role that has granted it knows what it is for, so it is not revoked.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_attribute.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/aclchk_internal.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/syscache.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../util/inherit.h"
#include "../util/sql.h"
#include "ddl.h"

static bool takes_select(InternalGrant *grant);
static bool loses_by(Oid role, InternalGrant *grant);
static void warn_of_fact_table(Oid fact, InternalGrant *grant);
static List *readers_of(Oid relid);
static List *add_readers(List *roles, Datum acl, Oid owner);
static bool reads_less(Oid role, Oid fact);

/*
 * warn_of_readers
 *		Warns after ENABLE ROW LEVEL SECURITY, or REVOKE on tables, of roles that still read what
 *		the command has been meant to hide.
 */
void
warn_of_readers(CollectedCommand *command)
{
	if (command->type == SCT_AlterTable)
	{
		Oid			relid = command->d.alterTable.objectId;

		foreach_ptr(CollectedATSubcmd, subcommand, command->d.alterTable.subcmds)
		{
			if (castNode(AlterTableCmd, subcommand->parsetree)->subtype == AT_EnableRowSecurity &&
				catalog_has_fact(relid))
				warn_of_fact_table(relid, NULL);
		}
	}
	else if (command->type == SCT_Grant && takes_select(command->d.grant.istmt))
	{
		foreach_oid(relid, command->d.grant.istmt->objects)
		{
			if (catalog_has_fact(relid))
				warn_of_fact_table(relid, command->d.grant.istmt);
		}
	}
}

/* takes_select: returns whether a command revokes SELECT on tables, or on columns of them */
static bool
takes_select(InternalGrant *grant)
{
	if (grant->is_grant || grant->objtype != OBJECT_TABLE)
		return false;
	foreach_ptr(AccessPriv, privilege, grant->col_privs)
	{
		if (privilege->priv_name == NULL || strcmp(privilege->priv_name, "select") == 0)
			return true;
	}
	return grant->all_privs || (grant->privileges & ACL_SELECT) != 0;
}

/* loses_by: returns whether a role may have lost privileges by a REVOKE */
static bool
loses_by(Oid role, InternalGrant *grant)
{
	foreach_oid(grantee, grant->grantees)
	{
		if (grantee == ACL_ID_PUBLIC || (role != ACL_ID_PUBLIC && has_privs_of_role(role, grantee)))
			return true;
	}
	return false;
}

/*
 * warn_of_fact_table
 *		Warns of the roles that read more of the index tables than of a fact table; grant is
 *		the REVOKE, or NULL.
 */
static void
warn_of_fact_table(Oid fact, InternalGrant *grant)
{
	foreach_ptr(DefinitionRow, row, catalog_read_definitions(fact, InvalidOid))
	{
		StringInfoData roles;

		initStringInfo(&roles);
		foreach_oid(role, get_rel_name(row->index_table) != NULL ? readers_of(row->index_table) : NIL)
		{
			if ((grant == NULL || loses_by(role, grant)) && reads_less(role, fact))
				appendStringInfo(&roles, "%s%s", roles.len > 0 ? ", " : "",
								 role == ACL_ID_PUBLIC ? "PUBLIC" :
								 quote_identifier(GetUserNameFromId(role, false)));
		}
		if (roles.len > 0)
			ereport(WARNING,
					(errcode(ERRCODE_WARNING),
					 errmsg("entries of index table \"%s\" can be read by roles that may not read all rows of table \"%s\"",
							get_rel_name(row->index_table), get_rel_name(fact)),
					 errdetail("These roles have SELECT on the index table: %s.", roles.data),
					 errhint("Run REVOKE SELECT ON %s FROM %s;", quoted_relation(row->index_table), roles.data)));
	}
}

/*
 * readers_of
 *		Returns the roles that have SELECT on a table, or on some of its columns, except the
 *		owner.
 */
static List *
readers_of(Oid relid)
{
	Oid			owner = table_owner(relid);
	List	   *roles = NIL;
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	int			natts;
	bool		isnull;
	Datum		acl;

	if (!HeapTupleIsValid(tuple))
		return NIL;
	natts = ((Form_pg_class) GETSTRUCT(tuple))->relnatts;
	acl = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relacl, &isnull);
	if (!isnull)
		roles = add_readers(roles, acl, owner);
	ReleaseSysCache(tuple);
	for (int attno = 1; attno <= natts; attno++)
	{
		tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(attno));
		if (!HeapTupleIsValid(tuple))
			continue;
		acl = SysCacheGetAttr(ATTNUM, tuple, Anum_pg_attribute_attacl, &isnull);
		if (!isnull)
			roles = add_readers(roles, acl, owner);
		ReleaseSysCache(tuple);
	}
	return roles;
}

/* add_readers: returns a list of roles with those added that an access control list gives SELECT */
static List *
add_readers(List *roles, Datum acl, Oid owner)
{
	Acl		   *list = DatumGetAclPCopy(acl);

	/* ACL_DAT() draws a warning. */
	AclItem    *items = (AclItem *) ((char *) list + ARR_OVERHEAD_NONULLS(1));

	for (int i = 0; i < ACL_NUM(list); i++)
	{
		if ((ACLITEM_GET_PRIVS(items[i]) & ACL_SELECT) != 0 && items[i].ai_grantee != owner)
			roles = list_append_unique_oid(roles, items[i].ai_grantee);
	}
	return roles;
}

/* reads_less: returns whether a role may not read all rows and columns of a fact table */
static bool
reads_less(Oid role, Oid fact)
{
	HeapTuple	tuple;
	bool		secured;

	if (pg_class_aclcheck(fact, role, ACL_SELECT) != ACLCHECK_OK)
		return true;
	if (role != ACL_ID_PUBLIC)
		return check_enable_rls(fact, role, true) == RLS_ENABLED;
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(fact));
	secured = HeapTupleIsValid(tuple) && ((Form_pg_class) GETSTRUCT(tuple))->relrowsecurity;
	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return secured;
}

/*
 * revoke_default_privileges
 *		Revokes what default privileges have given on an index table, or on a partition of one, whose
 *		guard a restore has just created.
 *
 * What a dump says of privileges is restored later.  pg_upgrade fires no event triggers, and the
 * index tables that we make, or whose guard repair() has created, are adopted before.
 */
void
revoke_default_privileges(Oid relid)
{
	Oid			index_table = index_table_of(relid);
	Oid			fact = catalog_fact_of(index_table);

	if (OidIsValid(fact) ? is_adopted(index_table, fact) : !is_undefined(relid))
		return;
	foreach_oid(table, list_with_partitions(OidIsValid(fact) ? index_table : relid))
		revoke_defaults(table, table_owner(table));
}
