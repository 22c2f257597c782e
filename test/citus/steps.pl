# Index tables over distributed tables, one step after the other: a backlog that is moved and split with its shards,
# transactions that are undone, TRUNCATE, rows that an index table refuses, the functions on every node, and the end.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Cluster;
use Load;
use PostgreSQL::Test::Utils;
use Test::More;

my @nodes = new_cluster('steps', settings => ['indextable.batch_size = 500']);
my ($c, $w1, $w2) = @nodes;

fact_tables($c);
index_tables($c);
converged($c, 'created over rows');
is(sql($c, "SELECT string_agg(DISTINCT state, ' ') FROM indextable.index_tables"), 'active', 'and active');

# ---- a backlog that nobody applies for the time being

everywhere(\@nodes, 'SELECT indextable.stop_workers()');
is(join(' ', everywhere(\@nodes, 'SELECT count(*) FROM indextable.workers()')), '0 0 0', 'no worker is there');
sql($c, 'BEGIN; UPDATE f SET doc = d(pk + 1); INSERT INTO f VALUES (100000, d(1)); ROLLBACK');
is(backlog($c), 0, 'what was rolled back is not queued');
sql($c, 'BEGIN; UPDATE f SET doc = d(pk + 1) WHERE pk = 1; SAVEPOINT s; UPDATE f SET doc = d(pk + 1) WHERE pk BETWEEN 2 AND 50; ROLLBACK TO s; DELETE FROM f WHERE pk = 51; COMMIT');
is(backlog($c), 2, 'nor what was rolled back to a savepoint');
sql($c, "UPDATE f SET note = note, doc = doc WHERE pk > 100");
is(backlog($c), 2, 'nor what changes nothing that index tables have');
sql($c, 'UPDATE f SET doc = d(pk + 3)', 'DELETE FROM f WHERE pk % 10 = 0', 'UPDATE f SET doc = d(pk + 5)', 'UPDATE g SET b = b + 10000, doc = d(b + 3)', 'INSERT INTO f SELECT i, d(i) FROM generate_series(5001, 6000) i');
my $backlog = backlog($c);
cmp_ok($backlog, '>', 8000, 'many changes are queued');
my @ids = split /\n/, sql($c, 'SELECT nodeid FROM pg_dist_node WHERE groupid > 0 ORDER BY 1');
foreach my $mode ('block_writes', 'force_logical')
{
	foreach my $table ('f', 'g', 'f_v')
	{
		my ($shard, $middle, $from, $to) = split /\|/, sql($c, "SELECT shardid, (shardminvalue::bigint + shardmaxvalue::bigint) / 2, nodeport, (SELECT nodeport FROM pg_dist_node n WHERE groupid > 0 AND n.nodeport <> m.nodeport)
			FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node m USING (groupid) WHERE logicalrelid = '$table'::regclass ORDER BY shardid LIMIT 1");
		sql($c, "SELECT citus_split_shard_by_split_points($shard, ARRAY['$middle'], ARRAY[$ids[0], $ids[1]], '$mode')");
		($shard, $from, $to) = split /\|/, sql($c, "SELECT shardid, nodeport, (SELECT nodeport FROM pg_dist_node n WHERE groupid > 0 AND n.nodeport <> m.nodeport)
			FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node m USING (groupid) WHERE logicalrelid = '$table'::regclass ORDER BY shardid DESC LIMIT 1");
		sql($c, "SELECT citus_move_shard_placement($shard, 'localhost', $from, 'localhost', $to, '$mode')");
	}
	is(backlog($c), $backlog, "all of them after splits and moves, $mode");
}
everywhere(\@nodes, 'SELECT indextable.start_workers()');
converged($c, 'a backlog that was split and moved');

# ---- TRUNCATE, of shards as they were made and as they were moved

sql($c, 'TRUNCATE g');
converged($c, 'TRUNCATE');
is(sql($c, 'SELECT (SELECT count(*) FROM g_k) + (SELECT count(*) FROM g_t)'), '0', 'no entry is left');
sql($c, q{INSERT INTO g SELECT 'a' || i % 97, i, d(i) FROM generate_series(1, 500) i}, 'BEGIN; TRUNCATE g; ROLLBACK');
converged($c, 'TRUNCATE that is undone');
is(sql($c, 'SELECT count(*) FROM g_k'), '500', 'all entries are there');

# ---- every node answers, and waits

foreach my $number (0 .. 2)
{
	my $node = $nodes[$number];
	sql($node, "INSERT INTO f VALUES (20000 + $number, '{\"k\": \"from node $number\", \"v\": \"v\"}')");
	is(sql($node, "SELECT indextable.wait('f_k')"), 't', "node $number waits");
	is(sql($node, "SET plan_cache_mode = force_generic_plan; SELECT indextable.wait('f_k')"), 't', "node $number: whatever plans the session prefers");
	is(join(' ', everywhere(\@nodes, "SELECT r ->> 'k' FROM indextable.lookup('f_k', '{\"k\": \"from node $number\"}') r")), join(' ', ("from node $number") x 3), 'and all nodes find the row');
}
foreach my $node ($c, $w1)
{
	fails($node, "BEGIN; $_; SELECT indextable.wait('f_k')", qr/25001: .*table "f" itself/, "nobody waits for changes of one's own: $_")
	  for q(UPDATE f SET doc = d(pk) WHERE pk = 1), 'INSERT INTO f SELECT 30000 + i, d(i) FROM generate_series(1, 9) i', 'DELETE FROM f';
	fails($node, q(BEGIN; DELETE FROM f WHERE pk = 1; SELECT count(*) FROM indextable.lookup('f_k', '{"k": "k7"}', max_lag => '0')), qr/25001: /, 'nor a look-up');
	is(sql($node, "BEGIN; SELECT count(*) > 0 FROM f; SELECT indextable.wait('f_k'); COMMIT"), "t\nt", 'for others, one who has read does');
	is(sql($node, "BEGIN; SAVEPOINT s; DELETE FROM f; ROLLBACK TO s; SELECT indextable.wait('f_k'); COMMIT"), 't', 'and one who has undone the changes');
}
fails($c, "BEGIN; TRUNCATE f; SELECT indextable.wait('f_k')", qr/25001: /, 'nor after TRUNCATE');
# Those who wait ask all nodes over connections that are kept: no session is begun by the calls after the first.
my $waiting = session($c);
$waiting->query("SELECT indextable.wait('f_k')");
my ($gpid) = $waiting->query('SELECT citus_backend_gpid()') =~ /(\d+)/;
my $sessions = "SELECT string_agg(pid || ' ' || backend_start, ', ' ORDER BY pid) FROM pg_stat_activity WHERE application_name = 'citus_internal gpid=$gpid'";
my @before = everywhere([ $w1, $w2 ], $sessions);
like("@before", qr/\d.* .*\d/, 'wait() asks other nodes');
$waiting->query("SELECT indextable.wait('f_k')") for 1 .. 5;
is(join(' ', everywhere([ $w1, $w2 ], $sessions)), "@before", 'and again over the same connections');
$waiting->finish;
# A drain asks each node once for the entries of a few rows in all index tables, over a connection that is kept, and sends what it
# writes only to the shards that have it: where one of f_k has the old entry, the node has more.
my ($pk) = grep { sql($c, "SELECT nodeport FROM citus_shards WHERE shardid = get_shard_id_for_distribution_column('f', $_)") == $w1->port } 1 .. 50;
sql($c, "UPDATE f SET doc = doc || '{\"k\": \"before\"}' WHERE pk = $pk", "SELECT indextable.wait('f_k')");
everywhere([ $w1, $w2 ], $_) for q(ALTER SYSTEM SET log_statement = 'all'), 'SELECT pg_reload_conf()';
becomes_true($_, "SELECT current_setting('log_statement') = 'all'") for $w1, $w2;
my $offset = -s $w2->logfile;
sql($c, "UPDATE f SET doc = doc || '{\"k\": \"after\"}' WHERE pk = $pk", "SELECT indextable.wait('f_k')");
my $log = slurp_file($w2->logfile, $offset);
is(scalar(() = $log =~ /: SELECT indextable_internal\.entries_here\(/g), 1, 'a drain asks another node once');
unlike($log, qr/citus_run_command|FROM public\.f_k_\d+ i WHERE .*lock_shards/, 'over no new connection, and no shard by itself');
cmp_ok(sql($c, "SELECT count(*) FROM citus_shards WHERE table_name = 'f_k'::regclass AND nodeport = " . $w2->port), '>', 2, 'of the shards of an index table');
cmp_ok(scalar(() = $log =~ /: DELETE FROM public\.f_k_/g), '<', 2, 'it deletes from the one that has the entry');
everywhere([ $w1, $w2 ], $_) for 'ALTER SYSTEM RESET log_statement', 'SELECT pg_reload_conf()';
# Of values of this type none is made to find a shard by, so all nodes are asked over new connections.
sql($c, 'CREATE TABLE h (pk bytea PRIMARY KEY, doc jsonb)', "SELECT create_distributed_table('h', 'pk', colocate_with => 'none')", "SELECT indextable.create('h_k', 'h', '{k}', maintenance => 'async')",
	"CALL indextable.build('h_k')", q{INSERT INTO h VALUES ('\x01', '{"k": "a"}')});
is(sql($c, "SELECT indextable.wait('h_k')", 'SELECT k FROM h_k'), "t\na", 'a key of another type');
sql($c, 'DROP TABLE h');
is(sql($c, q{SELECT count(*) FROM indextable.lookup('f_d', '{"v": "v"}')}), '3', 'a look-up of entries that have their documents');
is(sql($w1, q{SELECT count(*) FROM indextable.query('f_k', '{"k": "k7"}', page_size => 1000)}), sql($c, q{SELECT count(*) FROM f WHERE doc ->> 'k' = 'k7'}), 'query() on a worker');
is(sql($c, q{SELECT count(*) FROM indextable.verify('f_k')}), '0', 'verify()');

# ---- rows that an index table refuses

sql($c, q{INSERT INTO f VALUES (30000, '{"k": "k", "v": "w", "n": "no number"}')});
ok(becomes_true($c, q{SELECT count(*) = 1 FROM indextable.lookup('f_k', '{"k": "k"}')}), 'the others take it');
is(sql($c, q{SELECT count(*) FROM f_v WHERE pk = 30000}), '0', 'and one does not');
my $rejected = 0;
$rejected += $_ for everywhere(\@nodes, q{SELECT count(*) FROM indextable.rejected WHERE index_table = 'f_v'::regclass});
is($rejected, 1, 'its node shows it');
sql($c, q{UPDATE f SET doc = doc || '{"n": 4}' WHERE pk = 30000});
converged($c, 'a row that was refused and is right now');

# ---- entries that were lost

sql($c, "SET session_replication_role = replica; DELETE FROM f_k WHERE pk BETWEEN 10 AND 15");
cmp_ok(sql($c, q{SELECT count(*) FROM indextable.verify('f_k') WHERE kind = 'missing'}), '>', 0, 'verify() finds entries that were deleted by hand');
like(sql($c, "CALL indextable.repair('f_k')"), qr/^[1-9]\d*\|0\|0\|0$/, 'repair() mends them');
converged($c, 'repaired');

# ---- definitions are carried by triggers, which only the extension makes

sql($c, 'CREATE ROLE forger LOGIN', 'GRANT CREATE ON SCHEMA public TO forger');
my $queue = sql($c, q{SELECT split_part(encode(tgargs, 'escape'), '\\000', 1) FROM pg_trigger WHERE tgrelid = 'f'::regclass AND tgname = 'indextable_row'});
my $forged = qq{EXECUTE FUNCTION indextable_internal.guard('$queue', '0', '{"key": ["k"], "document": "doc", "primary_key": ["pk"], "state": "active", "maintenance": "async"}')};
my $as_forger = q{SET ROLE forger; SET citus.enable_unsafe_triggers = on;};
sql($c, "$as_forger CREATE TABLE forged (k text, pk int); SELECT create_distributed_table('forged', 'k')");
fails($c, "$as_forger CREATE TRIGGER indextable_guard BEFORE TRUNCATE ON forged FOR EACH STATEMENT $forged", qr/42501: permission denied to make trigger/, 'nobody else makes one');
fails($c, "$as_forger CREATE TRIGGER t BEFORE TRUNCATE ON forged FOR EACH STATEMENT $forged; ALTER TRIGGER t ON forged RENAME TO indextable_guard", qr/42501: permission denied to make trigger/, 'nor gives another one its name');
sql($c, "SET citus.enable_unsafe_triggers = on; CREATE TRIGGER indextable_guard BEFORE TRUNCATE ON forged FOR EACH STATEMENT $forged");
is(join(' ', everywhere(\@nodes, q{SELECT count(*) FROM indextable_internal.definition WHERE index_table = 'forged'::regclass})), '0 0 0', 'nor does a table of another owner become an index table');
sql($c, 'DROP TABLE forged');

# ---- other names, another owner

sql($c, 'ALTER TABLE f RENAME COLUMN doc TO renamed');
like(sql($c, q{SELECT encode(tgargs, 'escape') FROM pg_trigger WHERE tgrelid = 'f_k'::regclass AND tgname = 'indextable_guard'}), qr/"document": "renamed"/, 'a node that is added later learns of a new name');
sql($c, 'ALTER TABLE f RENAME COLUMN renamed TO doc', 'CREATE ROLE owner LOGIN', 'GRANT CREATE ON SCHEMA public TO owner', 'ALTER TABLE f OWNER TO owner');
is(sql($c, q{SELECT string_agg(DISTINCT result, ' ') FROM run_command_on_shards('f_k', $$SELECT relowner::regrole FROM pg_class WHERE oid = '%s'::regclass$$)}), 'owner', 'shards of index tables get the owner of the fact table');
sql($c, 'UPDATE f SET doc = d(pk + 8)');
converged($c, 'with another owner');

# ---- the end

sql($c, "SELECT indextable.drop('f_t')");
is(join(' ', everywhere(\@nodes, q{SELECT count(*) FROM indextable.index_tables})), '6 6 6', 'drop() drops it on all nodes');
sql($c, "UPDATE f SET doc = d(pk + 9)");
converged($c, 'the others go on');
sql($c, 'DROP TABLE f', 'DROP TABLE g');
is(join(' ', everywhere(\@nodes, q{SELECT (SELECT count(*) FROM indextable_internal.definition) + (SELECT count(*) FROM indextable_internal.fact)})), '0 0 0', 'nothing is left on any node');
is(sql($c, q{SELECT count(*) FROM pg_dist_partition}), '0', 'nor a distributed table');

$_->stop('immediate') for @nodes;
done_testing();
