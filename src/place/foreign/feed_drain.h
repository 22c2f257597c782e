/*-------------------------------------------------------------------------
 *
 * feed_drain.h
 *	  Applies the changes that are in the feeds of other servers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef INDEXTABLE_FEED_DRAIN_H
#define INDEXTABLE_FEED_DRAIN_H

#include "../../queue/drain.h"
#include "feed_client.h"

extern bool feed_take_unlocked(Oid fact_table, FeedBatch *batch, bool count);
extern bool feed_apply(Oid fact_table, DrainLock lock, FeedBatch *batch);

#endif							/* INDEXTABLE_FEED_DRAIN_H */
