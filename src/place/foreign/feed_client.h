/*-------------------------------------------------------------------------
 *
 * feed_client.h
 *	  Takes changes from feeds on other servers, applies and acknowledges them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FEED_CLIENT_H
#define INDEXTABLE_FEED_CLIENT_H

#include "access/xact.h"
#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "../../indextable.h"
#include "../../queue/drain.h"

/* Changes that were taken from the feeds of one server. */
typedef struct FeedBatch
{
	Oid			server;
	int64		limit;			/* at most this many are taken */
	int64		n;
	Datum	   *keys;			/* of those that name a row, nkeys * npk */
	int64		nkeys;
	List	   *whole;			/* OIDs of foreign partitions all rows of
								 * which may have changed */
	List	   *taken;			/* of TakenItems * */
	int64		backlog;		/* how many there are; -1: not asked */
	TimestampTz oldest;			/* when the oldest of them was made */
} FeedBatch;

extern List *feed_servers(Oid fact);
extern void feeds_require(FactDef *def, Oid relid);
extern void feeds_require_of(Relation fact, Oid partition);
extern void feed_take(FactDef *def, FeedBatch *batch);
extern int64 feed_ack_applied(void);
extern bool feeds_wait(Oid fact, int64 max_lag, TimestampTz until);
extern void feed_at_end(bool committed);
extern void feed_at_abort_of(SubTransactionId sub);
extern bool feed_take_unlocked(Oid fact_table, FeedBatch *batch, bool count);
extern bool feed_apply(Oid fact_table, DrainLock lock, FeedBatch *batch);

#endif							/* INDEXTABLE_FEED_CLIENT_H */
