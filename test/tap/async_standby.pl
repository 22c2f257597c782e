# A standby has no workers and applies nothing, but may be read, and waited on; when it is promoted, it goes on where the
# primary stopped. And a subscriber whose index tables are asynchronous, when the publisher has none.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @settings = ("shared_preload_libraries = 'indextable'", 'indextable.naptime = 100ms');
my $primary = new_server('primary', 'wal_level = replica', @settings);
$primary->safe_psql('postgres', fact_table() . "INSERT INTO f SELECT g, d(g), 'n' FROM generate_series(1, 1000) g;" . index_tables('async'));
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
# wait() keeps a snapshot there while it waits for the replay, which a clean-up of the primary would wait with for that snapshot to go.
$standby->append_conf('postgresql.conf', 'hot_standby_feedback = on');
$standby->start;

# changed: what was changed on the primary, by a transaction whose ID is returned
sub changed { return $primary->safe_psql('postgres', "BEGIN; $_[0]; SELECT pg_current_xact_id(); COMMIT"); }

my $xid = changed(q(UPDATE f SET doc = d(pk + 1); INSERT INTO f VALUES (2001, d(2001), 'x')));
is($standby->safe_psql('postgres', "SELECT indextable.wait('f_k', '30 minutes', '$xid')"), 't', 'wait() on a standby, for a transaction of the primary');
drift_free($standby, 'after which the index tables there are right');
is($standby->safe_psql('postgres', q(SELECT doc ->> 'v' FROM indextable.lookup('f_d', '{"v": "v2001"}') doc)), 'v2001', 'look-up there');
is($standby->safe_psql('postgres', q(SELECT count(*) FROM indextable.lookup('f_k', '{"k": "k1"}', timeout => '30 minutes'))), 21, 'look-up there that waits');
is($standby->safe_psql('postgres', q(SELECT count(*) FROM pg_stat_activity WHERE backend_type ~ 'indextable')), 0, 'no launcher and no worker there');
is($standby->safe_psql('postgres', 'SELECT backlog, workers, worker_state FROM indextable.queues'), '0|0|none', 'nor in the view of queues');

my ($status, $out, $err) = $standby->psql('postgres', 'SELECT indextable.drain()');
like($err, qr/cannot execute drain\(\)/, 'drain() is refused there');
($status, $out, $err) = $standby->psql('postgres', 'SELECT indextable.start_workers()');
is($standby->safe_psql('postgres', q(SELECT count(*) FROM pg_stat_activity WHERE backend_type ~ 'indextable')), 0, 'start_workers() starts none there');

# What only reads works there; what writes says that it cannot, whatever it is called with.
for my $index_table ('f_k', 'f_v', 'f_d', 'f_t', 'f')
{
	is($standby->safe_psql('postgres', "SELECT v FROM indextable.verify('$index_table') v"), '', "verify('$index_table') there");
	is($standby->safe_psql('postgres', "SELECT v FROM indextable.verify('$index_table', 50) v"), '', "verify('$index_table') of a sample there");
}
is($standby->safe_psql('postgres', 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT count(*) FROM f; SELECT v FROM indextable.verify($$f$$) v; COMMIT'), 1001, 'verify() there in a transaction that keeps its snapshot');
for my $query ('SELECT count(*) FROM indextable.index_tables', 'SELECT count(*) FROM indextable.queues', 'SELECT count(*) FROM indextable.rejected', 'SELECT count(*) FROM indextable.checks', 'SELECT count(*) FROM indextable.progress',
	q(SELECT count(*) FROM indextable.advise('f')), q(SELECT count(*) FROM indextable.advise('f', '{k}')), q(SELECT count(*) FROM indextable.explain($$SELECT * FROM f WHERE doc ->> 'k' = 'k1'$$)), q(SELECT indextable.definition('f_k')), q(SELECT indextable.create('f_k', 'f', '{k}', maintenance => 'async', if_not_exists => true)),
	q(SELECT count(*) FROM indextable.profile('f', '{k}')), q(SELECT count(*) FROM indextable.query('f_k', '{"k": "k1"}')), q(SELECT count(*) FROM f WHERE doc ->> 'k' = 'k1'))
{
	my ($status, $out, $err) = $standby->psql('postgres', $query);
	unlike($err, qr/ERROR/, "there: $query");
	my ($primary_status, $primary_out) = $primary->psql('postgres', $query);
	is($status, $primary_status, 'as on the primary');
}
for my $sql ('SELECT indextable.drain()', q(SELECT indextable.create('f_n', 'f', '{k}')), q(SELECT indextable.create('f_m', 'f', '{k}', if_not_exists => true)), q(SELECT indextable.create_feed('f')), q(SELECT indextable.drop_feed('f')), q(SELECT indextable.drop('f_k')), q(SELECT indextable.alter('f_k', filter => 'true')),
	q(CALL indextable.build('f_k')), q(CALL indextable.rebuild('f_k')), q(CALL indextable.repair('f_k')), q(CALL indextable.repair('f')), q(SELECT indextable.reset_stats('f_k')), 'SELECT indextable.stop_workers()')
{
	my ($status, $out, $err) = $standby->psql('postgres', "\\set VERBOSITY verbose\n$sql");
	like($err, qr/ERROR:  25006: cannot execute/, "refused there: $sql");
}
is($standby->safe_psql('postgres', 'SELECT pg_is_in_recovery()'), 't', 'it is still there');

# Waiting there goes by what is replayed.
$primary->safe_psql('postgres', 'SELECT indextable.stop_workers()');
$xid = changed('UPDATE f SET doc = d(pk + 2)');
$primary->wait_for_catchup($standby);
is($standby->safe_psql('postgres', q(SELECT indextable.wait('f_k', '300ms'))), 'f', 'wait() there, while nobody drains');
is($standby->safe_psql('postgres', "SELECT indextable.wait('f_k', '300ms', '$xid')"), 'f', 'the same for a transaction');
is($standby->safe_psql('postgres', 'SELECT backlog FROM indextable.queues'), 1001, 'the backlog is seen there');
($status, $out, $err) = $standby->psql('postgres', q(SELECT count(*) FROM indextable.lookup('f_k', '{"k": "k1"}', max_lag => '0')));
isnt($err, '', 'and refuses a look-up that must not be behind');
my $session = session($standby)->start(q(SELECT indextable.wait('f_k', '30 minutes')));
$primary->safe_psql('postgres', 'SELECT indextable.drain()');
is($session->answer, 't', 'until it is drained');
$session->finish;
drift_free($standby, 'then it is right there');
is($standby->safe_psql('postgres', q(SELECT indextable.wait('f_k', '100ms', (pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 1000)::text::xid8))), 'f', 'a transaction that is still to come');

# The standby has looked at a queue that is emptied then, and filled again.
$primary->safe_psql('postgres', <<'SQL');
CREATE TABLE wide (pk text PRIMARY KEY, doc jsonb);
SELECT indextable.create('wide_v', 'wide', '{v}', maintenance => 'async');
INSERT INTO wide SELECT repeat(md5(g::text), 25) || g, d(g) FROM generate_series(1, 25000) g;
SQL
$primary->wait_for_catchup($standby);
$session = session($standby);
is($session->query(q(SELECT backlog, size > 16 * 1024 * 1024 FROM indextable.queues WHERE fact_table = 'wide'::regclass)), '25000|t', 'a large backlog there');
$primary->safe_psql('postgres', "SELECT indextable.drain(); UPDATE wide SET doc = d(1); SELECT indextable.drain();" x 2);
$primary->safe_psql('postgres', "UPDATE wide SET doc = d(5)");
$primary->wait_for_catchup($standby);
is($session->query(q(SELECT backlog FROM indextable.queues WHERE fact_table = 'wide'::regclass)), '25000', 'again');
$session->start(q(SELECT indextable.wait('wide_v', '30 minutes')));
$primary->safe_psql('postgres', 'SELECT indextable.drain(); SELECT indextable.drain()');
is($session->answer, 't', 'wait() there, for a queue that was emptied');
$primary->wait_for_catchup($standby);
is($session->query(q(SELECT count(*), count(DISTINCT v) FROM wide_v)), '25000|1', 'all is applied there');
$session->finish;

# ---- promotion

$primary->safe_psql('postgres', "UPDATE f SET doc = d(pk + 4); DELETE FROM f WHERE pk % 10 = 0; BEGIN; UPDATE f SET doc = d(pk + 50) WHERE pk BETWEEN 1 AND 5; PREPARE TRANSACTION 'p'");
$primary->wait_for_catchup($standby);
$primary->stop('immediate');
is($standby->safe_psql('postgres', 'SET indextable.planner = off; SELECT count(*) > 0 FROM drift WHERE n > 0'), 't', 'a backlog when the primary fails');
$standby->promote;
ok(becomes_true($standby, q(SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'indextable worker')), 'promoted: a worker comes');
ok(drained($standby), 'and drains');
drift_free($standby, 'promoted: index tables equal their recompute');
$standby->safe_psql('postgres', "COMMIT PREPARED 'p'");
ok(drained($standby), 'a transaction that the primary prepared is drained');
drift_free($standby, 'promoted: after COMMIT PREPARED');
is($standby->safe_psql('postgres', q(SELECT count(*) FROM f_v WHERE v LIKE 'v5_' AND pk <= 5)), 5, 'it is there');
$standby->safe_psql('postgres', q(UPDATE f SET doc = d(pk + 6); INSERT INTO f SELECT g, d(g) FROM generate_series(3001, 3100) g));
is($standby->safe_psql('postgres', q(SELECT indextable.wait('f_k', '30 minutes'))), 't', 'promoted: wait()');
drift_free($standby, 'promoted: upkeep goes on');
$standby->stop;

# ---- a subscriber

my $publisher = new_server('publisher', 'wal_level = logical');
my $subscriber = new_server('subscriber', 'wal_level = logical', @settings);
$publisher->safe_psql('postgres', fact_table() . "INSERT INTO f SELECT g, d(g), 'n' FROM generate_series(1, 500) g; CREATE PUBLICATION p FOR TABLE f");
$subscriber->safe_psql('postgres', fact_table() . index_tables('async'));
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION s CONNECTION '" . $publisher->connstr . " dbname=postgres' PUBLICATION p");
$subscriber->wait_for_subscription_sync($publisher, 's');
ok(drained($subscriber), 'initial copy: drained');
is($subscriber->safe_psql('postgres', 'SELECT count(*) FROM f_k'), 500, 'initial copy');
drift_free($subscriber, 'initial copy: index tables equal their recompute');
for my $step (
	[ 'insert', "INSERT INTO f SELECT g, d(g), 'x' FROM generate_series(501, 900) g" ],
	[ 'update of keys', 'UPDATE f SET doc = d(pk + 77) WHERE pk % 3 = 0' ],
	[ 'update of a plain column', "UPDATE f SET note = 'y' WHERE pk % 5 = 0" ],
	[ 'update of the primary key', 'UPDATE f SET pk = pk + 10000 WHERE pk % 4 = 0' ],
	[ 'update that leaves TOASTed documents alone', q(UPDATE f SET doc = doc || jsonb_build_object('pad', (SELECT string_agg(md5((g + pk)::text), '') FROM generate_series(1, 200) g)) WHERE pk % 50 = 1; UPDATE f SET note = 'toast' WHERE pk % 50 = 1) ],
	[ 'delete', 'DELETE FROM f WHERE pk % 9 = 0' ],
	[ 'many statements in a transaction', 'BEGIN; DELETE FROM f WHERE pk = 1; INSERT INTO f VALUES (1, d(1)); SAVEPOINT s; UPDATE f SET doc = d(3) WHERE pk = 1; ROLLBACK TO s; UPDATE f SET doc = d(5) WHERE pk = 1; COMMIT' ],
	[ 'a large transaction', 'INSERT INTO f SELECT g, d(g) FROM generate_series(20001, 50000) g' ],
	[ 'truncate and insert in a transaction', 'BEGIN; INSERT INTO f VALUES (1000001, d(1)); TRUNCATE f; INSERT INTO f SELECT g, d(g) FROM generate_series(1, 100) g; COMMIT' ],
	[ 'a prepared transaction', "BEGIN; UPDATE f SET doc = d(pk + 9); PREPARE TRANSACTION 'p'; COMMIT PREPARED 'p'" ])
{
	my ($name, $sql) = @$step;
	$publisher->safe_psql('postgres', $sql);
	$publisher->wait_for_catchup('s');
	ok(drained($subscriber), "$name: drained");
	drift_free($subscriber, "$name: index tables equal their recompute");
	is($subscriber->safe_psql('postgres', 'SELECT count(*), md5(string_agg(f::text, chr(10) ORDER BY pk)) FROM f'),
		$publisher->safe_psql('postgres', 'SELECT count(*), md5(string_agg(f::text, chr(10) ORDER BY pk)) FROM f'), "$name: was applied");
}
is($subscriber->safe_psql('postgres', q(SELECT count(*) FROM pg_stat_subscription_stats s, jsonb_each_text(to_jsonb(s)) c WHERE c.key ~ 'error_count$' AND c.value <> '0')), 0, 'the subscription had no error');

# session_replication_role
for my $sql ('UPDATE f SET doc = d(pk + 3) WHERE pk % 2 = 0', 'DELETE FROM f WHERE pk % 3 = 0', "INSERT INTO f SELECT g, d(g), 'r' FROM generate_series(2001, 2100) g", 'TRUNCATE f')
{
	$subscriber->safe_psql('postgres', "SET session_replication_role = replica; $sql");
	ok(drained($subscriber), "session_replication_role = replica: $sql: drained");
	drift_free($subscriber, "session_replication_role = replica: $sql");
}

$subscriber->stop;
$publisher->stop;
done_testing();
