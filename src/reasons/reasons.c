/*-------------------------------------------------------------------------
 *
 * reasons.c
 *	  Notes why index tables are not used for a query, or how they are, if anybody is told.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "reasons.h"

Opinions   *opinions = NULL;

static void note_opinion(Oid fact, Oid index_table, bool used, const char *reason);

/* is_explained: returns whether anybody is told reasons */
bool
is_explained(void)
{
	return opinions != NULL;
}

/* note_use: notes how an index table is used for a query */
void
note_use(Oid fact, Oid index_table, const char *how)
{
	note_opinion(fact, index_table, true, how);
}

/* take_back_uses: notes that no index table is used so far, as the plan that did is not taken */
void
take_back_uses(const char *reason)
{
	foreach_ptr(Opinion, opinion, opinions == NULL ? NIL : opinions->list)
	{
		if (!opinion->used)
			continue;
		opinion->used = false;
		opinion->reason = MemoryContextStrdup(opinions->cxt, reason);
	}
}

/* give_reason: notes why an index table, or InvalidOid for all of a fact table, is not used */
void
give_reason(Oid fact, Oid index_table, const char *reason)
{
	note_opinion(fact, index_table, false, reason);
}

/*
 * note_opinion
 *		Notes what is thought of an index table, or of all of a fact table.  A query may name its
 *		fact table several times, and each index table may be tried in several ways: what comes
 *		closest to its use counts.
 */
static void
note_opinion(Oid fact, Oid index_table, bool used, const char *reason)
{
	MemoryContext old;
	Opinion    *opinion;
	ListCell   *cell;

	if (opinions == NULL)
		return;
	foreach(cell, opinions->list)
	{
		opinion = lfirst(cell);
		if (opinion->fact == fact && opinion->index_table == index_table)
		{
			if (!opinion->used &&
				(used || strcmp(reason, REASON_COST) == 0 || strcmp(opinion->reason, REASON_NO_AGGREGATE) == 0))
				opinion->reason = MemoryContextStrdup(opinions->cxt, reason);
			opinion->used = opinion->used || used;
			return;
		}
	}
	old = MemoryContextSwitchTo(opinions->cxt);
	opinion = palloc(sizeof(Opinion));
	opinion->fact = fact;
	opinion->index_table = index_table;
	opinion->used = used;
	opinion->reason = pstrdup(reason);
	opinions->list = lappend(opinions->list, opinion);
	MemoryContextSwitchTo(old);
}
