/*-------------------------------------------------------------------------
 *
 * trigger_names.c
 *	  Lists the triggers that the upkeep puts on fact tables and index tables, and
 *	  recognizes them by name.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup.h"
#include "access/htup_details.h"
#include "catalog/pg_trigger.h"
#include "storage/lockdefs.h"
#include "utils/lsyscache.h"

#include "../util/compat.h"
#include "../util/relation.h"
#include "table_access.h"
#include "trigger_names.h"

#define ON_FOREIGN_TRUNCATE	(HAS_FOREIGN_TRUNCATE_TRIGGERS ? ON_FOREIGN : 0)

/* The triggers of fact tables. */
const FactTrigger fact_triggers[FACT_TRIGGERS] = {
	{"indextable_row", "AFTER INSERT OR UPDATE OR DELETE", "ROW", false, ON_PLAIN | ON_ROOT | ON_PARTITION | ON_FOREIGN | ON_DISTRIBUTED, true},
	{"indextable_end", "AFTER INSERT OR UPDATE OR DELETE", "STATEMENT", true, ON_PLAIN | ON_ROOT | ON_PARTITION | ON_FOREIGN, false},
	{"indextable_truncate", "AFTER TRUNCATE", "STATEMENT", false, ON_PLAIN | ON_ROOT | ON_DISTRIBUTED, false},
	{"indextable_before", "BEFORE TRUNCATE", "STATEMENT", false, ON_ROOT | ON_PARTITION | ON_FOREIGN_TRUNCATE, false},
};

/* is_our_trigger: returns whether a trigger of ours has this name */
bool
is_our_trigger(const char *name)
{
	Size		i;

	/* Those that fire most often come first. */
	for (i = 0; i < FACT_TRIGGERS; i++)
		if (strcmp(fact_triggers[i].name, name) == 0)
			return true;
	return strcmp(name, GUARD) == 0 || strcmp(name, GUARD_ROW) == 0;
}

/* is_our_copied_trigger: returns whether a trigger has the name of one of ours, with a number at the end perhaps */
bool
is_our_copied_trigger(const char *name)
{
	Size		i;

	for (i = 0; i < FACT_TRIGGERS; i++)
		if ((fact_triggers[i].on & ON_DISTRIBUTED) != 0 && strncmp(name, fact_triggers[i].name, strlen(fact_triggers[i].name)) == 0)
			return true;
	return false;
}

/*
 * has_triggers_of_ours
 *		Returns whether a table has a trigger of ours, enabled or not: with guard, one
 *		that guards an index table, otherwise one that maintains those of a fact table.
 *
 * Locks nothing, as the table may be any table of any user.
 */
bool
has_triggers_of_ours(Oid relid, bool guard)
{
	CatalogScan scan = catalog_scan_begin(TriggerRelationId, TriggerRelidNameIndexId, Anum_pg_trigger_tgrelid, relid, NULL);
	HeapTuple	tuple;
	bool		found = false;

	while (!found && HeapTupleIsValid(tuple = catalog_scan_next(&scan)))
	{
		Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(tuple);
		const char *name = NameStr(form->tgname);

		found = is_our_trigger(name) && guard == (strcmp(name, GUARD) == 0 || strcmp(name, GUARD_ROW) == 0) &&
			is_own_schema(get_func_namespace(form->tgfoid));
	}
	catalog_scan_end(&scan);
	return found;
}
