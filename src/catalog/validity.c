/*-------------------------------------------------------------------------
 *
 * validity.c
 *	  Decides which definitions in the catalog are to be believed.
 *
 * The catalog names tables by OID.  A table that was dropped where no event trigger
 * fires, under session_replication_role = replica for example, leaves its OID behind.  In
 * a dump the OID is a plain number, and after the restore any other table may have that
 * number.  So a row is not believed for its number but for what the tables show: an index
 * table that we have made or adopted depends on its fact table, and a restore makes our
 * triggers on both of them, which no other tables have.  Until the restore has made them,
 * there is nothing that would have to be maintained.  Queue tables are recognized by
 * queue_table.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "utils/lsyscache.h"

#include "../indextable.h"
#include "../place/place.h"
#include "../util/dependencies.h"
#include "trigger_names.h"
#include "validity.h"

/*
 * definition_matches_tables
 *		Returns whether a definition is that of the two tables that it names.
 *
 * A definition whose index table does not exist can do no harm, and has to be found when
 * the tables are dropped: so it counts.
 */
bool
definition_matches_tables(DefinitionRow *row)
{
	char		kind = get_rel_relkind(row->index_table);

	if (kind == '\0')
		return true;
	if ((kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE) ||
		get_rel_relispartition(row->index_table))
		return false;
	if (has_table_dependency(row->index_table, row->fact_table) ||
		(place_has_parts(row->index_table) && place_has_parts(row->fact_table)))
		return true;
	return has_triggers_of_ours(row->index_table, true) &&
		(get_rel_relkind(row->fact_table) == '\0' || has_triggers_of_ours(row->fact_table, false));
}

/*
 * is_adopted
 *		Returns whether an index table depends on its fact table, as one does that we have made
 *		or adopted.
 *
 * Those in parts do not: Citus forgets the shards of a table that is dropped as an index
 * would be.  They are dropped by forget_dropped_relation().  While Citus drops one of the two on
 * another node, it knows only the other one any more.
 */
bool
is_adopted(Oid index_table, Oid fact_table)
{
	return has_table_dependency(index_table, fact_table) || place_has_parts(index_table) || place_has_parts(fact_table);
}
