/*-------------------------------------------------------------------------
 *
 * setup.c
 *	  Checks what an index table needs to be kept in step: triggers, guards, owner,
 *	  indexes and state; and that no subscription interferes.  Puts back what is missing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/relation.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_subscription.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "../catalog/catalog.h"
#include "../definition/definition.h"
#include "../fact/fact.h"
#include "../indextable.h"
#include "../maintain/maintain.h"
#include "../place/place.h"
#include "../queue/queue.h"
#include "../util/lock.h"
#include "../util/relation.h"
#include "../util/sql.h"
#include "../util/subxact.h"
#include "verify.h"

/* What is checked, and who is told of a problem. */
typedef struct Setup
{
	IndexDef   *def;
	discrepancy_handler handler;
	void	   *arg;
} Setup;

static void restore_all(Oid index_table);
static Oid	shared_truncate(Oid fact);
static char *told_unsubscribe(const char *what, const char *subscription, Oid fact);
static char *subscription_names(List *relids);
static char *told_drop_row_trigger(Oid relid);
static char *refusing_trigger(Oid relid);
static void check_that(Setup *setup, bool holds, const char *problem);
static void check_by_hand(Setup *setup, bool holds, const char *problem);

static void restore_primary_key(Oid index_table, Oid fact_table);
static void restore_partitions(Oid index_table, Oid fact_table);
static void restore_owners(Oid fact_table);
static void restore_persistence(Oid index_table, Oid fact_table);
static void restore_row_index(Oid index_table, Oid fact_table);

/*
 * check_setup
 *		Calls the handler for each thing that is not as the index table needs it.  The text says
 *		what to run: mostly repair(), which leaves alone what only the user can decide.
 */
void
check_setup(IndexDef *def, Relation fact, Relation index_table, discrepancy_handler handler, void *arg)
{
	Setup		setup = {def, handler, arg};
	char	   *activation = told_activation(def->relid);
	List	   *catalog = list_make4_oid(def->fact->queue.current, def->fact->queue.spare,
										 catalog_relid("definition", false), catalog_relid("fact", false));
	char	   *writer = subscription_names(find_all_inheritors(def->relid, NoLock, NULL));
	char	   *catalog_writer = subscription_names(catalog);
	Oid			truncated;

	check_that(&setup, triggers_intact(def->fact->relid),
			   "triggers of the fact table that maintain the index table are disabled or missing");
	check_that(&setup, guards_intact(def->relid),
			   "triggers that protect the index table against other writes are disabled or missing");
	foreach_oid(table, find_all_inheritors(def->relid, NoLock, NULL))
	{
		char	   *drop = told_drop_row_trigger(table);

		if (drop != NULL)
			check_by_hand(&setup, false,
						  psprintf("entries are written without firing triggers for rows, such as those of a foreign key; run %s", drop));
	}
	if (index_table->rd_rel->relkind == RELKIND_RELATION)
		check_that(&setup, index_table->rd_rel->relpersistence == fact->rd_rel->relpersistence,
				   "only one of index table and fact table is unlogged");
	else
		check_by_hand(&setup, index_table->rd_rel->relpersistence == fact->rd_rel->relpersistence,
					  psprintf("only one of index table and fact table is unlogged; drop the index table with DROP TABLE %s; and create it again",
							   quoted_relation(def->relid)));
	check_that(&setup, index_table->rd_rel->relowner == fact->rd_rel->relowner,
			   "index table and fact table have different owners");
	check_that(&setup, partitioning_lacking(index_table) == NULL,
			   "partitions of the index table are missing, and there are values that fit no other");
	check_that(&setup, !def->spec.async || OidIsValid(def->layout.row_index),
			   "index table has no index on the primary key of the fact table");
	check_that(&setup, !is_totals(def) || def->spec.nkeys == 0 || OidIsValid(def->layout.primary_index),
			   "index table has no index on its key fields");
	check_that(&setup, !def->spec.async || !def->fact->queue.lost,
			   "queue table of the fact table was dropped with changes that had not been applied");
	check_by_hand(&setup, writer == NULL,
				  psprintf("index table is also written by a subscription; %s",
						   told_unsubscribe(psprintf("TABLE %s", quoted_relation(def->relid)), writer,
											def->fact->relid)));
	check_by_hand(&setup, catalog_writer == NULL,
				  psprintf("tables of schemas " IT_INTERNAL " and " IT_QUEUES " are also written by a subscription; %s",
						   told_unsubscribe("TABLES IN SCHEMA " IT_INTERNAL ", " IT_QUEUES, catalog_writer,
											def->fact->relid)));
	truncated = shared_truncate(def->fact->relid);
	check_by_hand(&setup, !OidIsValid(truncated),
				  psprintf("several subscriptions write the fact table, and a TRUNCATE on one publisher would delete the rows of all; publish it under the names of its partitions, or refuse TRUNCATE here by a trigger; run %s",
						   OidIsValid(truncated) ? refusing_trigger(truncated) : ""));
	check_by_hand(&setup, def->misplaced == NULL, def->misplaced);
	if (strcmp(activation, told_call("repair", def->relid)) == 0)
		check_that(&setup, def->active || def->misplaced != NULL, "state of the index table is not active");
	else
		check_by_hand(&setup, def->active || def->misplaced != NULL,
					  psprintf("state of the index table is not active; run %s", activation));
}

/*
 * told_unsubscribe
 *		Returns what to run so that a subscription (quoted; NULL: "") does not write what belongs to an index
 *		table, but only its fact table.
 */
static char *
told_unsubscribe(const char *what, const char *subscription, Oid fact)
{
	subscription = subscription == NULL ? "" : subscription;
	return psprintf("on the publisher, run ALTER PUBLICATION ... DROP %s; and here ALTER SUBSCRIPTION %s REFRESH PUBLICATION;"
					" if it is FOR ALL TABLES, run CREATE PUBLICATION ... FOR TABLE %s; there, and here ALTER SUBSCRIPTION %s SET PUBLICATION ...;",
					what, subscription, quoted_relation(fact), subscription);
}

/*
 * subscription_names
 *		Returns the name, quoted, of the first subscription that writes one of these
 *		relations, some of which may be InvalidOid; or NULL.
 */
static char *
subscription_names(List *relids)
{
	foreach_oid(relid, relids)
	{
		List	   *writers = subscriptions_of(relid);

		if (writers != NIL)
			return (char *) quote_identifier(get_subscription_name(linitial_oid(writers), false));
	}
	return NULL;
}

/*
 * told_drop_row_trigger
 *		Returns the SQL that drops a trigger for rows, or the foreign key that it is one of, from
 *		an index table or a partition of it; NULL if none is there but those of ours.
 *
 * They are refused; see ddl/own_objects.c.  Versions before that have let them be created.
 */
static char *
told_drop_row_trigger(Oid relid)
{
	Relation	rel = try_relation_open(relid, AccessShareLock);
	char	   *result = NULL;

	for (int i = 0; rel != NULL && rel->trigdesc != NULL && i < rel->trigdesc->numtriggers && result == NULL; i++)
	{
		/*
		 * What is looked up for the result may make the relcache free the
		 * name.
		 */
		Trigger		trigger = rel->trigdesc->triggers[i];

		if (!TRIGGER_FOR_ROW(trigger.tgtype) || trigger.tgisclone || is_our_trigger(trigger.tgname))
			continue;
		trigger.tgname = pstrdup(trigger.tgname);
		if (!trigger.tgisinternal)
			result = psprintf("DROP TRIGGER %s ON %s;", quote_identifier(trigger.tgname), quoted_relation(relid));
		else if (OidIsValid(trigger.tgconstraint) && OidIsValid(trigger.tgconstrrelid))
			result = psprintf("ALTER TABLE %s DROP CONSTRAINT %s;", quoted_relation(relid),
							  quote_identifier(get_constraint_name(trigger.tgconstraint)));
	}
	if (rel != NULL)
		relation_close(rel, NoLock);
	return result;
}

/*
 * refusing_trigger
 *		Returns the SQL that has a table refuse every TRUNCATE, also one that a subscription
 *		applies.
 */
static char *
refusing_trigger(Oid relid)
{
	char	   *table = quoted_relation(relid);
	char	   *function = quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)), "refuse_truncate");

	return psprintf("CREATE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''TRUNCATE is refused''; END';"
					" CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON %s EXECUTE FUNCTION %s();"
					" ALTER TABLE %s ENABLE ALWAYS TRIGGER refuse_truncate;", function, table, function, table);
}

/*
 * shared_truncate
 *		Returns the table, a fact table or a partition of it, of which a TRUNCATE that a
 *		subscription applies would also delete rows that another subscription has written;
 *		InvalidOid: there is none.
 *
 * TRUNCATE of a partitioned table is one of all its partitions.  What the publishers publish
 * is known to them only, so a table for which a trigger of the user takes care of a TRUNCATE
 * that is applied is the only one that counts as safe: a trigger before it (34 in pg_trigger)
 * that fires there.
 */
static Oid
shared_truncate(Oid fact)
{
	Rows		tables = query_as(get_extension_owner(),
								  "SELECT t FROM (SELECT oid '%u', 0 UNION SELECT relid::oid, level FROM pg_partition_tree('%u')"
								  "               WHERE EXISTS (SELECT FROM pg_subscription_rel)) tree (t, level)"
								  " WHERE EXISTS (SELECT FROM pg_subscription_rel WHERE srrelid = t)"
								  " AND 1 < (SELECT count(DISTINCT srsubid) FROM pg_subscription_rel"
								  "          WHERE srrelid = t OR srrelid IN (SELECT relid FROM pg_partition_tree(t)))"
								  " AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = t AND tgenabled IN ('A', 'R')"
								  "                 AND tgtype & 34 = 34 AND tgname <> 'indextable_before')"
								  " ORDER BY level, t LIMIT 1", fact, fact);

	return tables.n > 0 ? DatumGetObjectId(row_value(&tables, 0, 1)) : InvalidOid;
}

/*
 * report_problem
 *		Calls the handler with a problem of the setup; by_hand says that repair() does not
 *		mend it.
 */
void
report_problem(IndexDef *def, const char *problem, bool by_hand, discrepancy_handler handler, void *arg)
{
	Discrepancy d = {.kind = KIND_SETUP,.def = def,.problem = problem,.by_hand = by_hand};

	handler(&d, arg);
}

/* problem_to_repair: returns the text of a problem that repair() mends, with the SQL to run */
char *
problem_to_repair(const char *problem, Oid index_table)
{
	return psprintf("%s; run %s", problem, told_call("repair", index_table));
}

/* check_that: calls the handler with a problem that repair() mends, unless a condition holds */
static void
check_that(Setup *setup, bool holds, const char *problem)
{
	if (!holds)
		report_problem(setup->def, problem_to_repair(problem, setup->def->relid), false, setup->handler,
					   setup->arg);
}

/*
 * check_by_hand
 *		Calls the handler with a problem that repair() does not mend, unless a condition
 *		holds.
 */
static void
check_by_hand(Setup *setup, bool holds, const char *problem)
{
	if (!holds)
		report_problem(setup->def, problem, true, setup->handler, setup->arg);
}

/*
 * What follows mends what is missing.
 *
 * DDL that takes them away is refused, or followed, by event triggers.  So they are
 * missing where event triggers do not fire: while they are disabled, or in a restore.
 * Disabled triggers are enabled again: an index table that lacks what is written
 * meanwhile is not what anybody wants to keep.  Nothing here looks at entries: what is
 * wrong with them is found and mended afterwards.
 *
 * Writers are locked out while something is put back, so that later ones see
 * it.
 */

/*
 * restore_setup
 *		Puts back what an index table lacks, before any row is looked at; a procedure, which
 *		calls it, has no snapshot by itself.
 */
void
restore_setup(Oid index_table)
{
	PushActiveSnapshot(GetTransactionSnapshot());
	restore_all(index_table);
	PopActiveSnapshot();
}

/*
 * restore_all
 *		Puts back what an index table lacks; the caller has pushed a snapshot, which the
 *		server needs to write its catalogs.
 */
static void
restore_all(Oid index_table)
{
	Oid			fact = catalog_fact_of(index_table);
	IndexDef   *def;

	/*
	 * This comes first: a command that follows fails if any of them has
	 * another owner.
	 */
	restore_owners(fact);

	restore_primary_keys(index_table);
	if (!triggers_intact(fact))
	{
		lock_tree(fact, ShareRowExclusiveLock);
		require_owner(index_table);
		triggers_install(fact);
	}
	restore_partitions(index_table, fact);
	if (!guards_intact(index_table))
	{
		lock_tree(fact, ShareRowExclusiveLock);
		require_owner(index_table);
		triggers_install_guard(index_table);
	}
	def = definition_of_index_table(index_table);
	if (def != NULL && (def->fact->queue.lost || queue_is_damaged(def->fact)))
	{
		lock_tree(fact, ShareRowExclusiveLock);
		require_owner(index_table);
		queues_restore(fact);
	}
	if (place_has_parts(fact))
		return;
	restore_persistence(index_table, fact);
	restore_row_index(index_table, fact);
}

/*
 * restore_primary_keys
 *		Makes the primary keys that index tables of the same fact table have lost: without them, no
 *		definition of it can be loaded.
 */
void
restore_primary_keys(Oid index_table)
{
	Oid			lacking;

	while (OidIsValid(lacking = lacks_primary_key(index_table)))
		restore_primary_key(lacking, catalog_fact_of(index_table));
}

/*
 * lacks_primary_key
 *		Returns which of the index tables of the same fact table has no primary key;
 *		InvalidOid: none.
 */
Oid
lacks_primary_key(Oid index_table)
{
	Oid			fact = catalog_fact_of(index_table);

	foreach_ptr(DefinitionRow, row,
				OidIsValid(fact) && catalog_has_fact(fact) ? catalog_read_definitions(fact, InvalidOid) : NIL)
	{
		Relation	rel = keeps_totals(row) ? NULL : try_relation_open(row->index_table, AccessShareLock);
		Relation	index;

		if (rel == NULL)
			continue;
		index = open_identity_index(rel, identified_by_primary_key(row));
		relation_close(rel, AccessShareLock);
		if (index == NULL)
			return row->index_table;
		index_close(index, AccessShareLock);
	}
	return InvalidOid;
}

/*
 * restore_primary_key
 *		Makes the primary key of an index table that has lost it.
 *
 * It covers the included fields if all entries fit into an index with them; if one does not,
 * that is an error, and the key is made without.  If an entry is there twice, all are removed: each
 * is made anew of its row.
 */
static void
restore_primary_key(Oid index_table, Oid fact_table)
{
	Relation	fact;
	Relation	rel;
	DefinitionRow *stored;
	const char **names;
	IndexDef   *def;
	volatile bool covering;
	char	   *tablespace;
	ErrorData  *error;
	TableLock	locks[] = {{fact_table, ShareRowExclusiveLock, true}, {index_table, AccessExclusiveLock, true}};

	lock_all_in_turns(locks, lengthof(locks));
	stored = required_definition(index_table);
	fact = relation_open(fact_table, NoLock);
	rel = relation_open(index_table, NoLock);
	names = get_stored_column_names(fact, stored);
	def = make_index_def(make_fact_def(fact, fact_table, stored->primary_key, names, CurrentMemoryContext),
						 fact, stored, rel, INT_MAX, names);
	if (!definition_complete(def, fact, rel))
		report_altered_index_table(index_table, fact, "The columns of the index table, or the types of the fact table's columns, were altered.");
	tablespace = tablespace_of(rel);
	covering = primary_key_can_cover(def);
	relation_close(rel, NoLock);
	relation_close(fact, NoLock);
	CATCHING_ERRORS(error, primary_key_add(def, covering, tablespace, NULL));
	if (error != NULL && error->sqlerrcode == ERRCODE_PROGRAM_LIMIT_EXCEEDED && covering)
		CATCHING_ERRORS(error, primary_key_add(def, covering = false, tablespace, NULL));
	if (error != NULL && error->sqlerrcode != ERRCODE_UNIQUE_VIOLATION)
		ReThrowError(error);
	if (error != NULL)
	{
		invalidate_definitions(list_make1(stored), "It had entries twice, and all of them were removed.");
		empty_index_table(index_table);
		primary_key_add(def, covering, tablespace, NULL);
	}
	CommandCounterIncrement();
}

/*
 * restore_partitions
 *		Makes the partitions that an index table has lost and cannot do without, empty.
 *
 * Rows that were rejected because their entries fit no partition are tried again.
 */
static void
restore_partitions(Oid index_table, Oid fact_table)
{
	Relation	rel = open_existing(index_table, AccessShareLock);
	bool		lacks = partitioning_lacking(rel) != NULL;
	Partitioning *lacking;

	relation_close(rel, AccessShareLock);
	if (!lacks)
		return;
	lock_tree(fact_table, ShareRowExclusiveLock);
	lock_tree(index_table, AccessExclusiveLock);
	rel = open_existing(index_table, NoLock);
	lacking = partitioning_lacking(rel);
	relation_close(rel, NoLock);
	if (lacking == NULL)
		return;					/* mended meanwhile */
	make_partitions(get_extension_owner(), index_table, lacking);
	CommandCounterIncrement();
	rejections_retry_now(index_table, true);
}

/* restore_owners: gives the index tables of a fact table its owner */
static void
restore_owners(Oid fact_table)
{
	Relation	fact = open_existing(fact_table, AccessShareLock);

	foreach_oid(index_table, index_tables_of(fact_table))
	{
		Oid			owner = table_owner(index_table);

		if (!OidIsValid(owner) || owner == fact->rd_rel->relowner)
			continue;
		lock_tree(fact_table, ShareRowExclusiveLock);
		sync_index_table_owner(index_table, fact, true);
		CommandCounterIncrement();
	}
	relation_close(fact, NoLock);
}

/* restore_persistence: has an index table logged if its fact table is */
static void
restore_persistence(Oid index_table, Oid fact_table)
{
	if (get_rel_persistence(index_table) == get_rel_persistence(fact_table) ||
		get_rel_relkind(index_table) != RELKIND_RELATION)
		return;
	lock_tree(fact_table, ShareRowExclusiveLock);
	run_on(index_table, "ALTER TABLE t SET %s",
		   get_rel_persistence(fact_table) == RELPERSISTENCE_UNLOGGED ? "UNLOGGED" : "LOGGED");
	CommandCounterIncrement();
}

/*
 * restore_row_index
 *		Makes the index by which a row's entries are found, of an index table that needs it.
 */
static void
restore_row_index(Oid index_table, Oid fact_table)
{
	IndexDef   *def = definition_of_index_table(index_table);

	if (def != NULL && is_totals(def) && def->spec.nkeys > 0 && !OidIsValid(def->layout.primary_index))
	{
		make_totals_index(def, NULL);
		CommandCounterIncrement();
	}
	if (def == NULL || !def->spec.async || OidIsValid(def->layout.row_index))
		return;
	lock_tree(fact_table, ShareRowExclusiveLock);
	def = definition_of_index_table(index_table);
	if (def == NULL || !def->spec.async || OidIsValid(def->layout.row_index))
		return;					/* mended or dropped meanwhile */
	row_index_make(def);
	CommandCounterIncrement();
}
