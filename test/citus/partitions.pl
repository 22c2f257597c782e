# Index tables, asynchronous and beside the shards, over fact tables that are partitioned and distributed: partitions that come
# and go, rows that move between them, shards that are moved and split, nodes that are added and killed, and plain SQL.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Cluster;
use Load;
use Test::More;
use Time::HiRes qw(sleep);

my @nodes = new_cluster('partitions', coordinator_has_shards => 1,
	settings => [ 'citus.shard_count = 4', 'indextable.batch_size = 200', 'citus.defer_shard_delete_interval = 1s', 'deadlock_timeout = 200ms' ]);
my ($c, $w1, $w2) = @nodes;

fact_tables($c, partitioned => 1);
index_tables($c);
index_tables($c, qw(fl_k fl_d gl_n gl_t gl_u gl_s gl_e));
converged($c, 'created over rows in partitions');
is(join(' ', everywhere(\@nodes, "SELECT count(*) FROM indextable.index_tables WHERE state = 'active'")), '14 14 14', 'all are active on all nodes');
is(join(' ', everywhere(\@nodes, 'SELECT count(DISTINCT fact_table) FROM indextable_internal.fact')), '2 2 2', 'no partition is a fact table');
fails($c, "SELECT indextable.create('x', 'f_1', '{k}', maintenance => 'async')", qr/0A000: .*\n(.*\n)*DETAIL: .*a partition/, 'nor may it become one');

# repeated NODE, COMMAND: runs it, and once more if Citus has undone it to end a distributed deadlock with a drain
sub repeated
{
	my ($node, $command) = @_;
	my ($status, $out, $err);
	for (1 .. 5)
	{
		($status, $out, $err) = $node->psql('postgres', $command, on_error_die => 0);
		return if $status == 0;
		last if $err !~ /involved in a distributed deadlock/;
	}
	die "$command: $err";
}

# right NAME, NODE, COMMAND…: the test that index tables are right after the commands, and verify() says so
sub right
{
	my ($name, $node, @commands) = @_;
	repeated($node, $_) for @commands;
	is(moment(@nodes), '', "$name: as each node sees it");
	converged($c, $name);
	return;
}

# shards TABLE: the number, the port, the middle of each shard
sub shards
{
	my ($table) = @_;
	return map { [ split /\|/ ] } split /\n/, sql($c, "SELECT shardid, nodeport, (shardminvalue::bigint + shardmaxvalue::bigint) / 2 FROM pg_dist_shard JOIN pg_dist_placement USING (shardid)
		JOIN pg_dist_node USING (groupid) WHERE logicalrelid = '$table'::regclass ORDER BY shardid");
}

sub move
{
	my ($shard, $mode) = @_;
	my ($to) = grep { $_ != $shard->[1] } split /\n/, sql($c, 'SELECT nodeport FROM pg_dist_node WHERE shouldhaveshards ORDER BY random()');
	return $c->psql('postgres', "SET statement_timeout = '60s'; SELECT citus_move_shard_placement($shard->[0], 'localhost', $shard->[1], 'localhost', $to, '$mode')") == 0;
}

# split_shard: where writers go on, both halves go to other nodes: see load.pl
sub split_shard
{
	my ($shard, $mode) = @_;
	my $ids = join ', ', split /\n/, sql($c, "SELECT nodeid FROM pg_dist_node WHERE shouldhaveshards AND nodeport <> $shard->[1] ORDER BY 1 LIMIT 2");
	return $c->psql('postgres', "SET statement_timeout = '60s'; SELECT citus_split_shard_by_split_points($shard->[0], ARRAY['$shard->[2]'], ARRAY[$ids], '$mode')") == 0;
}

# ---- rows move between partitions, and are written through partitions

right('rows move between partitions', $w1, 'UPDATE g SET b = b + 1000 WHERE b % 7 = 0', "UPDATE g SET b = b - 500, doc = d(b) WHERE a IN ('a1', 'a2') AND b > 1000");
right('partitions are written by name', $w2, 'UPDATE g_1 SET doc = d(b + 5) WHERE b % 3 = 0', "DELETE FROM g_2 WHERE b % 11 = 0", "INSERT INTO f_1 VALUES (-1, d(1), 'by name')");

is(sql($w1, "BEGIN; INSERT INTO g_1 VALUES ('a1', -7, d(7)); SELECT count(*) FROM g WHERE a = 'a1' AND b * 2 = -14; ROLLBACK"), '1', 'and a transaction sees what it has written so');

# ---- partitions come and go

sub in_new { my ($table) = @_; return "INSERT INTO $table SELECT 'a' || i % 97, 500000 + i, d(i) FROM generate_series(1, 300) i"; }
my $bounds = 'FOR VALUES FROM (500000) TO (600000)';
my $present = "SELECT count(*) FROM g_k WHERE b BETWEEN 500000 AND 599999";

right('a new partition', $c, "CREATE TABLE g_new PARTITION OF g $bounds", in_new('g'));
is(sql($w1, $present), '300', 'has entries');
right('TRUNCATE of a partition', $w1, 'TRUNCATE g_new');
is(sql($c, $present), '0', 'has deleted them');
right('TRUNCATE that is undone, and rows after one', $c, in_new('g'), 'BEGIN; TRUNCATE g_new; ROLLBACK',
	"BEGIN; TRUNCATE g_new; INSERT INTO g VALUES ('a1', 500001, d(77)); COMMIT", "BEGIN; SAVEPOINT s; TRUNCATE g; ROLLBACK TO s; TRUNCATE g_1; COMMIT",
	"DO \$\$ BEGIN BEGIN TRUNCATE g; RAISE 'x'; EXCEPTION WHEN raise_exception THEN NULL; END; TRUNCATE g_2; END \$\$");
is(sql($c, $present), '1', 'has one');
sql($c, "INSERT INTO g SELECT 'a' || i % 97, i, d(i) FROM generate_series(1, 2200) i ON CONFLICT DO NOTHING");
# If there is news while TRUNCATE waits for its lock, the server looks up again what it truncates, and says so again.
my ($there) = grep { shards_on($c, $_, 'g_2') } $w1, $w2;
my ($waited_for) = shards_on($c, $there, 'g_2');
my $reader = session($there);
is($reader->query("SET citus.enable_manual_changes_to_shards = on; BEGIN; LOCK TABLE $waited_for IN ACCESS SHARE MODE"), '', 'a shard is locked');
my $truncating = session($c)->start('TRUNCATE g_2');
ok(becomes_true($there, "SELECT count(*) > 0 FROM pg_locks WHERE relation = '$waited_for'::regclass AND NOT granted"), 'TRUNCATE waits');
sql($there, 'SET citus.enable_ddl_propagation = off; CREATE TABLE news (); DROP TABLE news');
$reader->query('COMMIT');
is($truncating->answer, '', 'and goes on');
$_->finish for $reader, $truncating;
right('news while TRUNCATE waits', $c, "INSERT INTO g SELECT 'a' || i % 97, i, d(i) FROM generate_series(900, 1999) i");
right('DETACH', $c, in_new('g') . ' ON CONFLICT DO NOTHING', 'BEGIN; ALTER TABLE g DETACH PARTITION g_new; ROLLBACK', 'ALTER TABLE g DETACH PARTITION g_new');
is(sql($c, $present), '0', 'has deleted the entries');
right('ATTACH of a distributed table', $c, "UPDATE g_new SET doc = d(b + 1)", "ALTER TABLE g ATTACH PARTITION g_new $bounds");
is(sql($w2, $present), '300', 'has written them');
right('DROP TABLE of a partition', $w1, 'UPDATE g SET doc = d(b + 2) WHERE b > 500000');
right('DROP TABLE of a partition', $c, 'DROP TABLE g_new');
is(sql($c, $present), '0', 'has deleted the entries');
$c->psql('postgres', "CREATE TABLE g_new (doc jsonb, gone int, a text, b int, PRIMARY KEY (a, b)); ALTER TABLE g_new DROP COLUMN gone; INSERT INTO g_new SELECT d(i), 'a' || i % 97, 500000 + i FROM generate_series(1, 300) i");
right('ATTACH of a local table with other columns', $c, "ALTER TABLE g ATTACH PARTITION g_new $bounds");
is(sql($w1, $present), '300', 'has written entries');
right('all of it in one transaction', $c, "BEGIN; UPDATE g SET doc = d(b + 9) WHERE b > 500000; ALTER TABLE g DETACH PARTITION g_new; UPDATE g_new SET doc = d(b + 11); ALTER TABLE g ATTACH PARTITION g_new $bounds; COMMIT",
	'BEGIN; CREATE TABLE g_5 PARTITION OF g FOR VALUES FROM (600000) TO (700000); INSERT INTO g SELECT a, b + 100000, doc FROM g WHERE b BETWEEN 500000 AND 599999; DROP TABLE g_new; COMMIT');
is(sql($c, $present), '0', 'the entries of one are gone');
is(sql($c, 'SELECT count(*) FROM g_k WHERE b > 600000'), '300', 'and those of another are there');

# ---- a backlog: partitions come and go before it is applied, and its shards are moved and split

everywhere(\@nodes, 'SELECT indextable.stop_workers()');
sql($c, 'UPDATE f SET doc = d(pk + 3)', 'UPDATE g SET doc = d(b + 3)', 'ALTER TABLE g DETACH PARTITION g_5', 'TRUNCATE f_2', "INSERT INTO f SELECT i, d(i) FROM generate_series(1000, 1100) i", 'UPDATE g SET b = b + 1000 WHERE b < 500');
my $backlog = backlog($c);
foreach my $mode ('block_writes', 'force_logical')
{
	ok(split_shard((shards($_))[0], $mode), "a shard of $_ is split, $mode") for 'f', 'g';
	ok(move((shards($_))[-1], $mode), "and one is moved") for 'f', 'g';
	is(backlog($c), $backlog, 'nothing is queued by that') if $mode eq 'force_logical';
	$backlog = backlog($c);
}
everywhere(\@nodes, 'SELECT indextable.start_workers()');
converged($c, 'a backlog that was split and moved');
right('DROP of one that was detached', $c, 'DROP TABLE g_5');
is(sql($_, 'SELECT count(*) FROM f_1_' . (shards('f_1'))[0][0] . " WHERE false"), '0', 'the shards of partitions have moved, too') for grep { $_->port == (shards('f_1'))[0][1] } @nodes;

# ---- a new node

my $new = new_node('partitions_new', preload => undef, settings => ['citus.shard_count = 4']);
sql($c, "SELECT citus_add_node('localhost', " . $new->port . ')');
push @nodes, $new;
my $moved = 0;
foreach my $table ('f', 'g')
{
	my $shard = (shards($table))[1];
	$moved += $c->psql('postgres', "SELECT citus_move_shard_placement($shard->[0], 'localhost', $shard->[1], 'localhost', " . $new->port . ", 'block_writes')") == 0;
}
is($moved, 2, 'shards are moved to a new node');
right('written by a new node', $new, 'UPDATE f SET doc = d(pk + 7)', 'UPDATE g SET b = b + 1 WHERE b = 899', 'TRUNCATE f_1', "INSERT INTO f SELECT i, d(i) FROM generate_series(1, 700) i");
is(join(' ', everywhere(\@nodes, q{SELECT count(*) FROM indextable.lookup('f_k', '{"k": "k7"}')})), join(' ', (sql($c, "SELECT count(*) FROM f WHERE doc ->> 'k' = 'k7'")) x 4), 'all nodes look up the same');

# ---- plain SQL, as without index tables, from all nodes

foreach my $query ("SELECT count(*), min(pk), max(pk) FROM f WHERE doc ->> 'k' = 'k7'", "SELECT pk, doc ->> 'k' FROM f WHERE doc ->> 'k' IN ('k1', 'k2') ORDER BY pk", "SELECT * FROM f WHERE doc ->> 'k' = 'k9' AND pk < 900 ORDER BY pk",
	"SELECT doc, pk FROM f WHERE doc ->> 'v' = 'v33'", "SELECT a, b FROM g WHERE doc ->> 'k' = 'k4' ORDER BY b, a LIMIT 5", "SELECT * FROM g WHERE doc ->> 'k' = 'k4' AND b > 1500 ORDER BY a, b",
	"SELECT x.pk, y.doc ->> 'k' FROM f x JOIN f y USING (pk) WHERE x.doc ->> 'k' = 'k3' AND y.doc ->> 'k' = 'k3' ORDER BY 1")
{
	my $native = sql($c, "SET indextable.planner = off; $query");
	is(join("\n--\n", map { sql($_, "SET indextable.stale_reads = on; $query") } @nodes), join("\n--\n", ($native) x @nodes), $query);
	cmp_ok(length $native, '>', 0, 'has rows');
}
like(sql($w1, "SET indextable.stale_reads = on; EXPLAIN (COSTS OFF) SELECT pk FROM f WHERE doc ->> 'k' = 'k7'"), qr/Custom Scan \(IndexTable\) on f\n *Index Table Only: f_k\n/, 'entries answer');
like(sql($w1, "SET indextable.stale_reads = on; EXPLAIN (COSTS OFF) SELECT * FROM f WHERE doc ->> 'v' = 'v33'"), qr/Custom Scan \(IndexTable/, 'and tell where whole rows are');
is(sql($new, q{SELECT count(*) FROM indextable.query('g_k', '{"k": "k4"}', page_size => 1000)}), sql($c, q{SELECT count(*) FROM g WHERE doc ->> 'k' = 'k4'}), 'query()');

# ---- verify() and repair()

is(sql($c, "SELECT count(*) FROM indextable.verify('$_')"), '0', "verify() finds nothing: $_") for qw(f_k f_v f_d f_t f_s g_t g_k fl_k fl_d gl_n gl_t gl_u gl_s gl_e);
sql($c, 'SET session_replication_role = replica; DELETE FROM g_k WHERE b BETWEEN 700 AND 1000; UPDATE g SET doc = d(b + 21) WHERE b BETWEEN 1000 AND 1100');
cmp_ok(sql($w1, q{SELECT count(*) FROM indextable.verify('g_k') WHERE kind = 'missing'}), '>', 0, 'verify() finds what is wrong');
sql($w1, "CALL indextable.repair('g')");
converged($c, 'repaired');
is(join(' ', map { sql($_, "UPDATE f SET note = 'n' WHERE pk = 1; UPDATE f SET doc = d(8) WHERE pk = 1; SELECT indextable.wait('f_k')") } @nodes), 't t t t', 'wait() on all nodes');
cmp_ok(sql($w2, "UPDATE f SET doc = d(9) WHERE pk = 1; SELECT indextable.drain('f')"), '>=', 0, 'drain()');

# ---- load, with all of that

my %acts = (
	moved => sub { move((shards($_[0]))[ int rand scalar shards($_[0]) ], pick('block_writes', 'force_logical')) },
	split => sub { split_shard((shards($_[0]))[ int rand scalar shards($_[0]) ], pick('block_writes', 'force_logical')) },
	truncated => sub { pick(@nodes)->psql('postgres', "SET statement_timeout = '20s'; TRUNCATE $_[0]_2") == 0 },
	attached => sub { $c->psql('postgres', "SET statement_timeout = '20s'; ALTER TABLE $_[0] DETACH PARTITION $_[0]_1; UPDATE $_[0]_1 SET doc = d(3); ALTER TABLE $_[0] ATTACH PARTITION $_[0]_1 FOR VALUES FROM (MINVALUE) TO (900)") == 0 },
	dropped => sub { $c->psql('postgres', "SET statement_timeout = '20s'; BEGIN; DROP TABLE $_[0]_2; CREATE TABLE $_[0]_2 PARTITION OF $_[0] FOR VALUES FROM (900) TO (2000); COMMIT") == 0 },
	killed => sub { my $node = pick($w1, $w2); $node->stop('immediate'); sleep 1; $node->start; 1 });
srand($ENV{SEED} // 1);
start_load(\@nodes, 3);
my (%done, %wrong);
foreach my $act (qw(moved truncated split attached killed dropped moved killed attached truncated))
{
	$wrong{ moment(@nodes) } = 1;
	$done{$act} += $acts{$act}->(pick('f', 'g'));
	$wrong{ moment(@nodes) } = 1;
}
end_load();
is(join("\n", grep { $_ ne '' } sort keys %wrong), '', 'under load: right at each moment');
converged($c, 'under load');
my ($done, $errors) = totals();
is($done->{wrong}, 0, "no look-up of $done->{lookups} gave a document without the key");
ok(!grep({ /indextable|index table/ && !/^connection/ } keys %$errors), 'no error of writers is ours');
note join ', ', "$Load::compared{moments} moments with $Load::compared{pairs} comparisons of pairs", map { "$_ $done{$_} times" } sort keys %done;
diag sprintf '%6d  %s', $errors->{$_}, substr $_, 0, 140 for sort { $errors->{$b} <=> $errors->{$a} } keys %$errors;

# ---- TRUNCATE of all, and the end

right('TRUNCATE of the root', $w1, 'TRUNCATE f');
is(sql($c, 'SELECT count(*) FROM f_k'), '0', 'no entry is left');
sql($c, 'DROP TABLE f, g');
is(join(' ', everywhere(\@nodes, 'SELECT count(*) FROM indextable_internal.definition')), '0 0 0 0', 'no definition is left after DROP TABLE');

# ---- partitions that Citus makes

sql($c, 'CREATE TABLE event (tenant_id bigint, at timestamptz, id bigint, doc jsonb, PRIMARY KEY (tenant_id, at, id)) PARTITION BY RANGE (at)', "SELECT create_distributed_table('event', 'tenant_id')",
	"SELECT create_time_partitions('event', '1 month', '2025-04-01', '2025-01-01')", "SELECT indextable.create('event_k', 'event', '{k}', maintenance => 'async')", "CALL indextable.build('event_k')",
	"SELECT create_time_partitions('event', '1 month', '2025-08-01', '2025-04-01')", "INSERT INTO event SELECT i % 9, '2025-01-01'::timestamptz + i % 180 * interval '1 day', i, d(i) FROM generate_series(1, 900) i");
my $drift = "SELECT indextable.wait('event_k'); CREATE TEMP TABLE x AS SELECT doc ->> 'k' AS k, tenant_id, at, id FROM event; CREATE TEMP TABLE y AS SELECT k, tenant_id, at, id FROM event_k;
	SELECT count(*), (SELECT count(*) FROM (TABLE x EXCEPT ALL TABLE y) z), (SELECT count(*) FROM (TABLE y EXCEPT ALL TABLE x) z) FROM y";
is(sql($c, $drift), "t\n900|0|0", 'create_time_partitions()');

# A partition that is rewritten between the snapshot of a drain and its lock has no row for that snapshot.
my @held = map { hold($_, 'drain has its snapshot') } @nodes;
sql($c, "UPDATE event SET doc = doc || '{\"n\": 1}' WHERE at >= '2025-04-01' AND at < '2025-05-01'");
ok(is_held($_), 'a drain has its snapshot') for grep { shards_on($c, $_, 'event') } @nodes;
foreach my $node (@nodes)
{
	sql($node, map { "SET citus.enable_manual_changes_to_shards = on; ALTER TABLE $_ SET UNLOGGED" } shards_on($c, $node, 'event_p2025_04'));
}
$_->finish for @held;
is(sql($c, $drift), "t\n900|0|0", 'no row is taken for absent that a command has written anew');

sql($c, "CALL drop_old_time_partitions('event', '2025-03-01')");
is(sql($w1, $drift), "t\n605|0|0", 'drop_old_time_partitions()');

is(sql($c, "SELECT count(*) FROM indextable.verify('event_k')"), '0', 'verify() finds nothing');
my ($node) = grep { shards_on($c, $_, 'event_p2025_05') } @nodes;
my ($quiet) = shards_on($c, $node, 'event_p2025_05');
sql($node, "SET citus.enable_manual_changes_to_shards = on; ALTER TABLE $quiet DISABLE TRIGGER USER");
like(sql($c, "SELECT kind, problem FROM indextable.verify('event_k')"), qr/^setup\|trigger "indextable_row" of shard "$quiet" is missing or disabled/, 'but a trigger that was disabled on one node');
$_->stop('immediate') for @nodes;
done_testing();
