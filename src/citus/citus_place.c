/*-------------------------------------------------------------------------
 *
 * citus_place.c
 *	  The methods of the place whose tables Citus has distributed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/guc.h"

#include "citus.h"

static bool undoes_all(ErrorData *error);

static const ChangeSource changes = {
	.begin = shard_drain_begin,
	.take = shard_drain_take,
	.drain_all = drain_all_nodes,
	.wait = wait_for_distributed_queue,
	.count = count_distributed_queue,
	.trouble = trouble_with_nodes,
	.ntables = 1,
	.made = distribute_queue,
	.append = shard_append,
	.next_number = next_queue_number
};

static const EntryStore entries = {
	.search = distributed_scan_start,
	.next = distributed_scan_next,
	.end = distributed_scan_end,
	.of_rows = fetch_distributed_entries,
	.of_row = find_fetched_entries,
	.apply = apply_distributed_ops,
	.undone = undoes_all,
	.not_planned = "Citus has distributed it, and plans the query itself",
	.planned_in_parts = "Citus plans the query, and the nodes may use its shards, as EXPLAIN shows",
	.not_now = why_not_now,
	.explain = explain_shards
};

static const TriggerMethods triggers = {
	.definition = shard_definition,
	.definition_beside = shard_definition_beside,
	.install = distributed_install_fact,
	.install_guard = distributed_install_guard,
	.renew_guard = distributed_renew_guard,
	.remove = distributed_remove_triggers,
	.adopt = adopt_distributed
};

static const IndexTableMethods index_tables = {
	.check = check_distributed,
	.create = register_distributed,
	.build = build_distributed,
	.verify = verify_all_shards,
	.repair = repair_shards,
	.activate = activate_on_all_nodes,
	.parts = index_table_shards,
	.folded_parts = folded_shards
};

static const TableMethods tables = {
	.is_taken = citus_is_taken,
	.table_of_part = citus_table_of_part,
	.takes = citus_takes,
	.follow_partition = follow_partition_of_shard,
	.is_governed_elsewhere = citus_is_governed_elsewhere,
	.check_fact = citus_check_fact,
	.check_unique = citus_check_unique,
	.check_created = citus_check_created,
	.check_unchanging = citus_check_unchanging,
	.check_trigger = citus_check_trigger,
	.problem = citus_problem
};

static const Place citus_place = {
	.has = citus_has_parts,
	.changes = &changes,
	.entries = &entries,
	.triggers = &triggers,
	.index_tables = &index_tables,
	.tables = &tables,
	.in_parts = true
};

/* Of a shard, all is as of other tables of this server but its definitions and its triggers. */
static Place shard_place;
static TriggerMethods shard_triggers;

void
citus_init(void)
{
	place_register(&citus_place);
	shard_triggers = *place_of_all_others()->triggers;
	shard_triggers.as_made = shard_triggers_as_made;
	shard_place = *place_of_all_others();
	shard_place.has = citus_is_part;
	shard_place.triggers = &shard_triggers;
	shard_place.definitions = shard_definitions;
	shard_place.number_columns = number_columns_of_shard;
	shard_place.fact_of = fact_of_shard;
	place_register(&shard_place);
	/* Citus has to be loaded first.  Without it nothing costs more. */
	if (GetConfigOption("citus.enable_unsafe_triggers", true, false) == NULL)
		return;
	shard_guard_init();
	plain_query_init();
	not_now_init();
}

/*
 * undoes_all
 *		Returns whether an error has undone the whole batch: Citus raises an internal error if a
 *		connection is lost, and what was written over it is lost with it.
 */
static bool
undoes_all(ErrorData *error)
{
	suspect_nodes_after(error);
	return ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_INTERNAL_ERROR;
}
