/*-------------------------------------------------------------------------
 *
 * dependencies.c
 *	  Records and finds in pg_depend what a table depends on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup.h"
#include "access/htup_details.h"
#include "access/skey.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "storage/lockdefs.h"
#include "utils/fmgroids.h"

#include "dependencies.h"

static bool is_on_table(Form_pg_depend form, Oid table);

/*
 * has_table_dependency
 *		Returns whether a table is dropped with the table on.
 *
 * Neither a dump nor pg_upgrade carries that over.
 */
bool
has_table_dependency(Oid relid, Oid on)
{
	return find_table_dependencies(relid, is_on_table, on, false);
}

/* record_table_dependency: has a table be dropped with another one, as an index would be */
void
record_table_dependency(Oid relid, Oid other)
{
	ObjectAddress object;
	ObjectAddress on;

	ObjectAddressSet(object, RelationRelationId, relid);
	ObjectAddressSet(on, RelationRelationId, other);
	recordDependencyOn(&object, &on, DEPENDENCY_AUTO);
}

/*
 * find_table_dependencies
 *		Returns whether a table has dependencies for which matches() returns true, and
 *		deletes these if forget is set.
 *
 * arg is passed on to matches().
 */
bool
find_table_dependencies(Oid relid, bool (*matches) (Form_pg_depend form, Oid arg), Oid arg, bool forget)
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

static bool
is_on_table(Form_pg_depend form, Oid table)
{
	return form->deptype == DEPENDENCY_AUTO && form->refclassid == RelationRelationId &&
		form->refobjid == table;
}
