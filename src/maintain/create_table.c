/*-------------------------------------------------------------------------
 *
 * create_table.c
 *	  Creates the bare table of an index table, with its partitions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../indextable.h"
#include "../place/place.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "../util/uncounted_reads.h"
#include "maintain.h"

static void copy_dropped_column_layout(Oid relid, Relation parent);

/*
 * create_bare_index_table
 *		Creates an empty table that has nothing but columns, with its partitions,
 *		and returns it.
 *
 * It is created by the role creator (InvalidOid: the caller) for the role owner.
 * 'columns' is the list for CREATE TABLE; partitioning and tablespace may be NULL.
 */
Oid
create_bare_index_table(Oid creator, Oid schema, const char *name, const char *columns,
						Partitioning *partitioning, const char *tablespace, Oid owner)
{
	char	   *quoted = quote_qualified_identifier(get_namespace_name(schema), name);
	Oid			relid;

	if (partitioning != NULL)
		run_sql(creator, "CREATE TABLE %s (%s) PARTITION BY %s%s", quoted, columns, partitioning->clause,
				tablespace ? in_tablespace("TABLESPACE", tablespace) : "");
	else
		run_sql(creator, "CREATE TABLE %s (%s) USING heap WITH (" STORAGE_PARAMETERS ")%s%s",
				quoted, columns, tablespace ? " TABLESPACE " : "", tablespace ? quote_identifier(tablespace) : "");
	relid = get_relname_relid(name, schema);
	if (!OidIsValid(relid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table %s was dropped or renamed while it was being created", quoted),
				 errhint("Check the event triggers of the database.")));
	if (owner != (OidIsValid(creator) ? creator : GetUserId()))
		run_sql(get_extension_owner(), "ALTER TABLE %s OWNER TO %s", quoted,
				quote_identifier(GetUserNameFromId(owner, false)));
	place_check_created(relid);
	revoke_all(relid, owner);
	if (partitioning != NULL)
		make_partitions(creator, relid, partitioning, columns, NIL, owner);
	return relid;
}

/*
 * make_partitions
 *		Creates the partitions of an index table, with its columns, and attaches
 *		them.
 *
 * They are created by the role creator (InvalidOid: the caller) for the role owner.
 * 'dropped' has the names of those columns that are dropped again, because they are
 * dropped in the parent, too.  The owner attaches the partitions, because the bounds
 * are values of types whose functions may be the owner's.
 */
void
make_partitions(Oid creator, Oid parent, Partitioning *p, const char *columns, List *dropped, Oid owner)
{
	Oid			schema = get_rel_namespace(parent);
	Relation	rel = relation_open(parent, NoLock);
	char	   *tablespace = tablespace_of(rel);
	int			uncounted = begin_uncounted();

	foreach_ptr(PartSpec, spec, p->parts)
	{
		char	   *name = ChooseRelationName(get_rel_name(parent), NULL, spec->suffix, schema, false);

		spec->relid = create_bare_index_table(creator, schema, name, columns, NULL,
											  spec->tablespace != NULL ? spec->tablespace : tablespace, owner);
		drop_placeholders(spec->relid, dropped);
		copy_dropped_column_layout(spec->relid, rel);
		relation_close(rel, NoLock);	/* ATTACH PARTITION checks that it is
										 * not open */
		run_sql(owner, "ALTER TABLE %s ATTACH PARTITION %s %s", quoted_relation(parent),
				quoted_relation(spec->relid), spec->bound);
		rel = relation_open(parent, NoLock);
	}
	end_uncounted(uncounted);
	relation_close(rel, NoLock);
}

/* drop_placeholders: drops the columns that layout_like() has put in to be dropped */
void
drop_placeholders(Oid relid, List *names)
{
	StringInfoData drops;

	initStringInfo(&drops);
	foreach_ptr(char, column, names)
		appendStringInfo(&drops, "%sDROP COLUMN %s", drops.len > 0 ? ", " : "", quote_identifier(column));
	if (names != NIL)
		run_sql(get_extension_owner(), "ALTER TABLE %s %s", quoted_relation(relid), drops.data);
}

/*
 * copy_dropped_column_layout
 *		Gives the dropped columns of a table without rows the sizes that they have
 *		in its parent, as pg_upgrade does it.
 *
 * Entries are formed for one of the two tables, and read from the other.
 */
static void
copy_dropped_column_layout(Oid relid, Relation parent)
{
	Relation	attributes = table_open(AttributeRelationId, RowExclusiveLock);

	for (int i = 0; i < RelationGetNumberOfAttributes(parent); i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(parent), i);
		HeapTuple	tuple;
		Form_pg_attribute form;

		if (!att->attisdropped)
			continue;
		tuple = SearchSysCacheCopy2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(att->attnum));
		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for attribute %d of relation %u", att->attnum, relid);
		form = (Form_pg_attribute) GETSTRUCT(tuple);
		form->attlen = att->attlen;
		form->attbyval = att->attbyval;
		form->attalign = att->attalign;
		form->attstorage = att->attstorage;
		CatalogTupleUpdate(attributes, &tuple->t_self, tuple);
		heap_freetuple(tuple);
	}
	table_close(attributes, RowExclusiveLock);
	CommandCounterIncrement();
}
