/*-------------------------------------------------------------------------
 *
 * elsewhere.c
 *	  The methods by which others read what is on other servers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "foreign.h"

static const FeedMethods feeds = {
	.of = feed_servers,
	.require = feeds_require,
	.require_of = feeds_require_of,
	.take = feed_take,
	.take_unlocked = feed_take_unlocked,
	.apply = feed_apply,
	.ack_applied = feed_ack_applied,
	.wait = feeds_wait,
	.at_end = feed_at_end,
	.at_abort_of = feed_at_abort_of
};

static const SnapshotMethods snapshots = {
	.get = get_synchronized_snapshot,
	.release = release_foreign_snapshot,
	.forget = forget_foreign_snapshot,
	.at_abort_of_sub = foreign_snapshot_at_abort_of_sub,
	.note_writers_locked_out = note_writers_locked_out,
	.check_unused = check_servers_unused,
	.warn = warn_foreign
};

static const Elsewhere methods = {is_foreign, foreign_leaves, &foreign_rows, &feeds, &snapshots};

void
foreign_init(void)
{
	place_register_elsewhere(&methods);
}
