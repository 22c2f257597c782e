# A queue while somebody holds an old snapshot, or has queued a change and does not commit: nothing is lost, the work of
# a drain does not grow with what was drained before, and space is given back once the holder has ended. And a dump is
# such a holder: restored, it converges to what it holds.
#
#   CHANGES  while the snapshot is held; default 200000

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $changes = $ENV{CHANGES} || 200000;
my $chunks = 10;
my $chunk = int($changes / $chunks);
my $node = new_server('async_snapshot', "shared_preload_libraries = 'indextable'", 'autovacuum = off', 'max_wal_size = 4GB', 'indextable.naptime = 100ms',
	'indextable.backlog_action = nothing');

# The primary key is wide, so that queue tables grow large enough to be emptied in turn.
my $setup = <<'SQL';
CREATE TABLE wide (pk text PRIMARY KEY, doc jsonb);
CREATE FUNCTION w(i bigint) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT md5(i::text) || md5((i + 1)::text) || i $$;
INSERT INTO wide SELECT w(g), d(g) FROM generate_series(1, CHUNK + 100) g;
SELECT indextable.create('wide_v', 'wide', '{v}', maintenance => 'async');
CREATE VIEW wide_drift AS
SELECT 'missing' AS what, count(*) AS n FROM (SELECT doc ->> 'v', pk FROM wide EXCEPT ALL TABLE wide_v) x
UNION ALL SELECT 'extra', count(*) FROM (TABLE wide_v EXCEPT ALL SELECT doc ->> 'v', pk FROM wide) x;
SQL
$node->safe_psql('postgres', fact_table() . $setup =~ s/CHUNK/$chunk/r);
$node->safe_psql('postgres', 'SELECT indextable.stop_workers()');

my $tables = q(ARRAY(SELECT q FROM indextable_internal.fact, unnest(ARRAY[queue, spare]) q WHERE fact_table = 'wide'::regclass));
sub size { return $node->safe_psql('postgres', "SELECT sum(pg_relation_size(q)) FROM unnest($tables) q"); }
sub files { return $node->safe_psql('postgres', "SELECT string_agg(pg_relation_filenode(q)::text, ' ' ORDER BY q) FROM unnest($tables) q"); }
sub in_use { return $node->safe_psql('postgres', q(SELECT queue FROM indextable_internal.fact WHERE fact_table = 'wide'::regclass)); }

# blocks: of the queue tables that have been looked at so far, by this backend or others that have told
sub blocks
{
	my ($session) = @_;
	$session->query('SELECT pg_stat_force_next_flush()');
	$session->query('SELECT 1');
	return $node->safe_psql('postgres', "SELECT sum(heap_blks_read + heap_blks_hit) FROM pg_statio_all_tables WHERE relid = ANY ($tables)");
}

my $mb = 1024 * 1024;
my $row = 120;    # bytes of a queued change, at most

# churn: all changes in chunks, each drained before the next, by one session, while somebody holds what it holds. What a
# drain looks at is measured with few changes, as each that it applies costs a block anyway.
sub churn
{
	my ($name) = @_;
	my ($in_use, $before) = (in_use(), size());
	my $writer = session($node);
	my $drainer = session($node);
	my @cost;
	for my $round (1 .. $chunks)
	{
		$writer->query("UPDATE wide SET doc = d($round * 1000000 + substr(pk, 65)::bigint) WHERE substr(pk, 65)::bigint > 100");
		$drainer->query(q(SELECT indextable.drain('wide')));
		for my $few (1, 2)
		{
			$writer->query("UPDATE wide SET doc = d($round * 2000000 + $few) WHERE pk = w($round)");
			blocks($writer);
			my $looked = blocks($drainer);
			is($drainer->query(q(SELECT indextable.drain('wide'))), 1, "$name: one change is drained") if $few == 2;
			$drainer->query(q(SELECT indextable.drain('wide'))) if $few == 1;
			$cost[ $round - 1 ] = blocks($drainer) - $looked;
		}
	}
	note "$name: blocks of the queue tables looked at for one change, by chunk: @cost";
	cmp_ok($cost[-1] + $cost[-2], '<', 3 * ($cost[1] + $cost[2]) + 100, "$name: the work of a drain does not grow");
	my $size = size();
	note sprintf '%s: %.1f MB of queue tables', $name, $size / $mb;
	cmp_ok($size, '>', 16 * $mb, "$name: what was drained is there still");
	cmp_ok($size, '<', $before + $changes * $row + $mb, "$name: queue tables are no larger than what was queued");
	isnt(in_use(), $in_use, "$name: writers have changed over to the other one");
	$_->finish for $writer, $drainer;
}

# given_back: with the holder gone, the space is
sub given_back
{
	my ($name) = @_;
	my ($size, $files) = (size(), files());
	$node->safe_psql('postgres', q(SELECT indextable.drain('wide'))) for 1 .. 2;
	cmp_ok(size(), '<', $size / 2, "$name: space is given back");
	isnt(files(), $files, "$name: by emptying a queue table");
	is($node->safe_psql('postgres', 'SET indextable.planner = off; SELECT what, n FROM wide_drift WHERE n > 0'), '', "$name: nothing is lost");
}

# ---- a reader

my $holder = session($node);
my $rows = $chunk + 100;
is($holder->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM wide_v'), $rows, 'a reader holds a snapshot');
churn('a reader');
is($node->safe_psql('postgres', 'SET indextable.planner = off; SELECT what, n FROM wide_drift WHERE n > 0'), '', 'a reader: nothing is lost');
is($holder->query('SELECT count(*), count(DISTINCT v) FROM wide_v'), "$rows|$rows", 'a reader: sees what it saw');
is($holder->query('SET indextable.planner = off; SELECT what, n FROM wide_drift WHERE n > 0'), '', 'a reader: which is right for its snapshot');
$holder->query('COMMIT');
given_back('after a reader');

# ---- writers that have queued changes, and do not commit

my $before = size();
is($holder->query(q(BEGIN; INSERT INTO wide SELECT w(g), d(g) FROM generate_series(1000001, 1012000) g)), '', 'a writer has written much');
cmp_ok(size(), '>', $before + $mb / 2, 'a writer: and queued some of it');
$node->safe_psql('postgres', "BEGIN; UPDATE wide SET doc = d(7777) WHERE pk = w(50); DELETE FROM wide WHERE pk = w(51); PREPARE TRANSACTION 'p'");
churn('a writer');
is($node->safe_psql('postgres', 'SET indextable.planner = off; SELECT what, n FROM wide_drift WHERE n > 0'), '', 'a writer: nothing of it shows');
$node->safe_psql('postgres', q(COMMIT PREPARED 'p'; SELECT indextable.drain('wide')));
is($node->safe_psql('postgres', q(SELECT pk = w(50) FROM wide_v WHERE v = 'v7777')), 't', 'a writer: one that was prepared commits, and is applied');
is($node->safe_psql('postgres', 'SET indextable.planner = off; SELECT what, n FROM wide_drift WHERE n > 0'), '', 'a writer: and nothing else');
$holder->query('COMMIT');
cmp_ok($node->safe_psql('postgres', q(SELECT indextable.drain('wide'))), '>=', 12000, 'a writer: commits, and is applied');
given_back('after a writer');
is($node->safe_psql('postgres', 'SELECT count(*) FROM wide_v'), $rows + 12000 - 1, 'after a writer: all entries are there');

# ---- the same, by workers that are beside them

# enough for a queue table to be emptied
my $more = q(INSERT INTO wide SELECT repeat(md5(g::text), 25) || g, d(g) FROM generate_series(1, 25000) g);

$holder->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM wide_v');
$node->safe_psql('postgres', 'SELECT indextable.start_workers()');
$node->safe_psql('postgres', $more);
ok(drained($node), 'a worker: drained while a snapshot is held');
is($node->safe_psql('postgres', 'SET indextable.planner = off; SELECT what, n FROM wide_drift WHERE n > 0'), '', 'a worker: nothing is lost');
cmp_ok(size(), '>', 16 * $mb, 'a worker: what was drained is there still');
$holder->query('COMMIT');

# emptied: the queue of wide, by a worker, sooner or later
sub emptied
{
	my ($database) = @_;
	for my $step (1 .. 100)
	{
		$node->safe_psql($database, "UPDATE wide SET doc = d($step) WHERE pk = w(1)");
		return 1 if drained($node, $database) && $node->safe_psql($database, "SELECT size < $mb FROM indextable.queues WHERE fact_table = 'wide'::regclass") eq 't';
	}
	return 0;
}

ok(emptied('postgres'), 'a worker: gives space back');
is($node->safe_psql('postgres', 'SET indextable.planner = off; SELECT what, n FROM wide_drift WHERE n > 0'), '', 'a worker: nothing is lost then');
$node->safe_psql('postgres', 'DELETE FROM wide WHERE length(pk) > 100');
ok(drained($node), 'a worker: applies deletions');

# ---- dumps

$node->safe_psql('postgres', "INSERT INTO f SELECT g, d(g), 'n' FROM generate_series(1, 1000) g;" . index_tables('async') . 'SELECT indextable.stop_workers()');
$node->safe_psql('postgres', <<'SQL');
UPDATE f SET doc = d(pk + 1) WHERE pk <= 300;
INSERT INTO f SELECT g, d(g) FROM generate_series(2001, 2100) g;
DELETE FROM f WHERE pk > 2080;
UPDATE wide SET doc = d(-1) WHERE substr(pk, 65)::bigint <= 40;
SQL
my $snapshot = $holder->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_export_snapshot()');
my $backlog = 'SELECT sum(backlog) FROM indextable.queues';
is($node->safe_psql('postgres', $backlog), 460, 'there is a backlog in the snapshot');
$node->safe_psql('postgres', 'ALTER SYSTEM SET indextable.max_workers = 0');
$node->reload;
$node->safe_psql('postgres', <<'SQL');
SELECT indextable.drain();
UPDATE f SET doc = d(pk + 2) WHERE pk BETWEEN 200 AND 400;
DELETE FROM f WHERE pk < 50;
UPDATE wide SET doc = d(2 + substr(pk, 65)::bigint);
SELECT indextable.drain();
UPDATE f SET doc = d(pk + 3) WHERE pk > 2000;
SQL
my $path = PostgreSQL::Test::Utils::tempdir;
my $from = $node->connstr('postgres');
$node->command_ok([ 'pg_dump', "--snapshot=$snapshot", '-f', "$path/plain", $from ], 'dump');
$node->command_ok([ 'pg_dump', "--snapshot=$snapshot", '-Fd', '-j2', '-f', "$path/parallel", $from ], 'dump in parallel');
$holder->query('COMMIT');
$holder->finish;
$node->safe_psql('postgres', "CREATE DATABASE $_") for 'plain', 'parallel';
$node->command_ok([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-f', "$path/plain", '-d', $node->connstr('plain') ], 'restore');

my $some = 'SET indextable.planner = off; SELECT count(*) > 0 FROM (SELECT n FROM drift UNION ALL SELECT n FROM wide_drift) d WHERE n > 0';
my $none = q(SET indextable.planner = off; SELECT what, n FROM drift WHERE n > 0 UNION ALL SELECT what, n FROM wide_drift WHERE n > 0);
is($node->safe_psql('plain', "$some; $backlog"), "t\n460", 'restored: the backlog of the snapshot, and index tables that lack it');
is($node->safe_psql('plain', 'SELECT indextable.drain()'), 460, 'restored: drain()');
is($node->safe_psql('plain', $none), '', 'restored: index tables equal their recompute');

# Now with workers, which may come while it is under way.
$node->safe_psql('postgres', 'ALTER SYSTEM RESET indextable.max_workers');
$node->reload;
$node->command_ok([ 'pg_restore', '--exit-on-error', '-j2', '-d', $node->connstr('parallel'), "$path/parallel" ], 'restore in parallel');
$node->safe_psql('parallel', 'UPDATE f SET doc = d(pk + 4) WHERE pk = 1');
ok(drained($node, 'parallel'), 'restored in parallel: a worker drains, once something is written');
is($node->safe_psql('parallel', $none), '', 'restored in parallel: index tables equal their recompute');
for my $database ('plain', 'parallel')
{
	$node->safe_psql($database, 'UPDATE f SET doc = d(pk + 9); DELETE FROM wide WHERE substr(pk, 65)::bigint % 3 = 0');
	ok(drained($node, $database), "restored, $database: a worker drains what comes then");
	is($node->safe_psql($database, $none), '', "restored, $database: and upkeep goes on");
}

# Its queue is emptied as any other.
$node->safe_psql('plain', $more);
ok(emptied('plain'), 'restored: a worker gives space back');
is($node->safe_psql('plain', $none), '', 'restored: which are applied');
$node->safe_psql('plain', 'DROP VIEW drift, wide_drift; DROP TABLE f, wide');
is($node->safe_psql('plain', q(SELECT count(*) FROM pg_class WHERE relnamespace = 'indextable_queues'::regnamespace AND relname LIKE 'queue%' AND relkind = 'r')), 0, 'restored: queue tables go with their fact table');

$node->stop;
done_testing();
