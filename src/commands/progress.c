/*-------------------------------------------------------------------------
 *
 * progress.c
 *	  Notes how far an online build has come, and tells where it goes on after an
 *	  interruption.
 *
 * Each batch of a build writes the last key that it has read, in its own transaction,
 * to the table build of the extension.  The view progress shows the same row to
 * users.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/progress.h"
#include "executor/spi.h"
#include "pgstat.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "../catalog/definition_rows.h"
#include "../catalog/owner.h"
#include "../catalog/table_access.h"
#include "../entry/row_text.h"
#include "../indextable.h"
#include "../queue/reconcile.h"
#include "../util/role.h"
#include "../util/sql.h"
#include "progress.h"

/*
 * progress_begin
 *		Shows in pg_stat_progress_create_index that an index table is being filled
 *		from its fact table, counted in rows.
 */
void
progress_begin(Relation fact, Oid index_table, int64 command)
{
	const int	params[] = {
		PROGRESS_CREATEIDX_COMMAND, PROGRESS_CREATEIDX_INDEX_OID,
		PROGRESS_CREATEIDX_PHASE, PROGRESS_CREATEIDX_TUPLES_TOTAL
	};
	int64		values[] = {
		command, index_table,
		PROGRESS_CREATEIDX_PHASE_BUILD, (int64) Max(fact->rd_rel->reltuples, 0)
	};

	pgstat_progress_start_command(PROGRESS_COMMAND_CREATE_INDEX, RelationGetRelid(fact));
	pgstat_progress_update_multi_param(lengthof(params), params, values);
}

/*
 * report_build_superseded
 *		Raises an error: what was being built has been dropped, or is not to be
 *		built any more.
 */
void
report_build_superseded(Build *b)
{
	if (get_rel_name(b->shown) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the index table was dropped while it was being built")));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("index table \"%s\" is not being built any more", get_rel_name(b->shown)),
			 errdetail("Another session has finished or abandoned the build.")));
}

/* note_progress: writes down the last row that a batch has read, and the table that the row is in */
void
note_progress(Build *b, Reconciliation *r, Datum *last_key)
{
	FactDef    *def = r->def;
	Oid			types[] = {OIDOID, TEXTARRAYOID, INT8OID, FLOAT8OID, OIDOID};
	Datum		values[5];
	const char *table;
	Caller		caller;

	become_owner(&caller, def->owner);
	values[1] = key_texts(def, last_key);
	become_caller(&caller);
	values[0] = ObjectIdGetDatum(b->index_table);
	values[2] = Int64GetDatum(r->n);
	values[3] = Float8GetDatum(Max(r->fact->rd_rel->reltuples, 0));
	values[4] = ObjectIdGetDatum(RelationGetRelid(r->part));
	become_owner(&caller, get_extension_owner());
	SPI_connect();
	table = catalog_table("build");
	if (execute_with_latest_snapshot(psprintf("UPDATE %s SET phase = 'reading rows', last_table = $5::regclass, last_key = $2,"
											  " rows_done = rows_done + $3, rows_total = $4, updated_at = clock_timestamp()"
											  " WHERE index_table = $1::regclass", table), 5, types, values) == 0)
		execute_with_latest_snapshot(psprintf("INSERT INTO %s (index_table, phase, last_table, last_key, rows_done, rows_total, started_at, updated_at)"
											  " VALUES ($1::regclass, 'reading rows', $5::regclass, $2, $3, $4, transaction_timestamp(), clock_timestamp())",
											  table), 5, types, values);
	SPI_finish();
	become_caller(&caller);
}

/*
 * read_build_position
 *		Returns the key of the last row that was read, and in *table where that
 *		row is; NULL: the build has not begun.
 */
ArrayType *
read_build_position(Build *b, Oid *table)
{
	MemoryContext cxt = CurrentMemoryContext;
	Oid			type = OIDOID;
	Datum		value = ObjectIdGetDatum(b->index_table);
	ArrayType  *result = NULL;
	Caller		caller;

	*table = InvalidOid;
	become_owner(&caller, get_extension_owner());
	SPI_connect();
	if (execute_with_latest_snapshot(psprintf("SELECT last_key, last_table FROM %s WHERE index_table = $1::regclass",
											  catalog_table("build")), 1, &type, &value) > 0)
	{
		bool		isnull;
		Datum		texts = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
		MemoryContext old = MemoryContextSwitchTo(cxt);

		*table = DatumGetObjectId(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2, &isnull));
		result = DatumGetArrayTypePCopy(texts);
		MemoryContextSwitchTo(old);
	}
	SPI_finish();
	become_caller(&caller);
	return result;
}

/* set_phase: writes down a phase for the view progress, and commits it */
void
set_phase(Build *b, const char *phase)
{
	Oid			types[] = {OIDOID, TEXTOID};
	Datum		values[] = {ObjectIdGetDatum(b->index_table), CStringGetTextDatum(phase)};
	Caller		caller;

	PushActiveSnapshot(GetTransactionSnapshot());
	if (!OidIsValid(catalog_fact_of(b->index_table)))
		report_build_superseded(b);
	become_owner(&caller, get_extension_owner());
	SPI_connect();
	execute_with_latest_snapshot(psprintf("UPDATE %s SET phase = $2, updated_at = clock_timestamp()"
										  " WHERE index_table = $1::regclass AND phase <> $2", catalog_table("build")), 2, types, values);
	SPI_finish();
	become_caller(&caller);
	PopActiveSnapshot();
	SPI_commit();
}
