/*-------------------------------------------------------------------------
 *
 * scan_and.c
 *	  Finds, of the entries of a scan, those whose rows other index tables find, too.
 *
 * The other searches are scans of their own below the scan, its parts, of which nothing but
 * entries is wanted.  All come in the same order; see and_path.c.  So each part goes on until it
 * is at the row of the scan's entry, or past it.
 *
 * A part decides as every scan whether entries can answer.  If one cannot, the scan does without
 * all index tables.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "miscadmin.h"

#include "scan.h"

static int	compare_rows(IndexTableScan *scan, TupleTableSlot *entry, IndexTableScan *part);

/* and_begin: initializes the parts of a scan */
void
and_begin(IndexTableScan *scan, EState *estate, int eflags)
{
	foreach_ptr(Plan, plan, ((CustomScan *) scan->css.ss.ps.plan)->custom_plans)
		scan->css.custom_ps = lappend(scan->css.custom_ps, ExecInitNode(plan, estate, eflags & ~EXEC_FLAG_BACKWARD));
}

/* and_go_on: has a part be at its next entry, and EXPLAIN ANALYZE count it */
void
and_go_on(IndexTableScan *part)
{
	PlanState  *node = &part->css.ss.ps;

	if (node->instrument != NULL)
		InstrStartNode(node->instrument);
	part->entry = next_entry(part);
	if (node->instrument != NULL)
		InstrStopNode(node->instrument, part->entry == NULL ? 0 : 1);
}

/* and_contains: returns whether all parts have an entry for the row of this one */
bool
and_contains(IndexTableScan *scan, TupleTableSlot *entry)
{
	foreach_ptr(IndexTableScan, part, scan->css.custom_ps)
	{
		int			order = 1;

		while (part->entry != NULL && (order = compare_rows(scan, entry, part)) > 0)
		{
			and_go_on(part);
			CHECK_FOR_INTERRUPTS();
		}
		/* No later entry is in this part, either. */
		scan->nothing = part->entry == NULL;
		if (order != 0 || scan->nothing)
			return false;
	}
	return true;
}

/* entry_of_part: returns the entry that a part has for the row of this one, which is part 0 */
TupleTableSlot *
entry_of_part(IndexTableScan *scan, TupleTableSlot *entry, int part)
{
	return part == 0 ? entry : ((IndexTableScan *) list_nth(scan->css.custom_ps, part - 1))->entry;
}

/* compare_rows: returns where the row of an entry is in the order of the scan, relative to the one that a part is at */
static int
compare_rows(IndexTableScan *scan, TupleTableSlot *entry, IndexTableScan *part)
{
	int			other = part->plan.nequal;

	for (int own = scan->plan.nequal; own < scan->def->nident; own++, other++)
	{
		bool		isnull;
		int			order = ApplySortComparator(slot_getattr(entry, scan->def->ident[own], &isnull), false,
												slot_getattr(part->entry, part->def->ident[other], &isnull), false,
												&scan->def->ident_sort[own]);

		if (order != 0)
			return scan->plan.backward ? -order : order;
	}
	return 0;
}

/* and_restart: has the parts be searched anew */
void
and_restart(IndexTableScan *scan)
{
	foreach_ptr(PlanState, state, scan->css.custom_ps)
		ExecReScan(state);
}

void
and_end(IndexTableScan *scan)
{
	foreach_ptr(PlanState, state, scan->css.custom_ps)
		ExecEndNode(state);
}
