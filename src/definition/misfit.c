/*-------------------------------------------------------------------------
 *
 * misfit.c
 *	  Reports an index table that does not fit its fact table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "storage/lockdefs.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "../catalog/named.h"
#include "../indextable.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "misfit.h"

/*
 * report_altered_index_table
 *		Raises the error for an index table or a fact table that was altered in such a way that
 *		wrong entries would be written.
 */
void
report_altered_index_table(Oid index_table, Relation fact, const char *why)
{
	Relation	rel = try_relation_open(index_table, AccessShareLock);
	Relation	index = rel == NULL ? NULL : open_primary_key(rel, AccessShareLock);
	bool		lacks_primary_key = rel != NULL && index == NULL;

	if (index != NULL)
		index_close(index, AccessShareLock);
	if (rel != NULL)
		relation_close(rel, AccessShareLock);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("index table \"%s\" cannot be maintained because it does not fit its fact table \"%s\" any more",
					get_rel_name(index_table), RelationGetRelationName(fact)),
			 errdetail("%s", why),
			 lacks_primary_key ? errhint("Run %s", told_call("repair", index_table)) :
			 errhint("Undo the change, or run DROP TABLE %s; and create the index table again.", quoted_relation(index_table))));
}
