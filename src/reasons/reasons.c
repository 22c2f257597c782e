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

/* is_explained: returns whether anybody is told reasons */
bool
is_explained(void)
{
	return opinions != NULL;
}

/*
 * give_reason
 *		Notes how an index table is used for a query, or why it, or all of a fact table, are not
 *		used.  A query may name its fact table several times, and each index table may be tried in
 *		several ways: what comes closest to its use counts.
 */
void
give_reason(Oid fact, Oid index_table, const char *reason)
{
	MemoryContext old;
	Opinion    *opinion;
	bool		used;
	ListCell   *cell;

	if (opinions == NULL)
		return;
	used = strcmp(reason, REASON_SEARCHED) == 0 || strcmp(reason, REASON_WHOLE) == 0 ||
		strcmp(reason, REASON_ADDED_UP) == 0;
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
