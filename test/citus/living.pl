# A node that is down: the others go on. What is changed on them is applied to the index tables' shards there, and is queued until
# it has been applied everywhere. After each step the entries on living nodes are those of the rows there, and when the node is
# back, all are right. That keys are held has a guard, which is left out once: then entries stay wrong.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @nodes = new_cluster('living', coordinator_has_shards => 1, settings => [ 'citus.recover_2pc_interval = 1s', 'citus.shard_count = 12' ]);
my ($c, $w1, $w2) = @nodes;
my $at = $c;    # who is asked where shards are

# By index table: its entries, by plain SQL of one shard of f, and the hash of their first key field
my %entries = (f_k => [ q{SELECT doc ->> 'k' AS k, pk FROM %s WHERE doc ->> 'k' IS NOT NULL}, 'hashtext(k)' ],
	f_t => [ q{SELECT e AS k, pk, (doc ->> 'n')::int, count(*)::int FROM %s, jsonb_array_elements_text(doc -> 'tags') e GROUP BY 1, 2, 3}, 'hashtext(k)' ]);

sql($c, q{CREATE FUNCTION d(doc jsonb, pk bigint) RETURNS jsonb IMMUTABLE LANGUAGE sql AS $$ SELECT doc || jsonb_build_object('k', 'more' || pk) $$},
	'CREATE TABLE f (pk bigint PRIMARY KEY, doc jsonb)', "SELECT create_distributed_table('f', 'pk')",
	q{INSERT INTO f SELECT i, jsonb_build_object('k', 'k' || i % 60, 'n', i % 5, 'tags', ARRAY['t' || i % 7, 't' || i % 40]) FROM generate_series(1, 600) i},
	"SELECT indextable.create('f_k', 'f', '{k}', maintenance => 'async')", "SELECT indextable.create('f_t', 'f', '{tags[*]}', include => '{n::int}', maintenance => 'async')");
sql($c, "CALL indextable.build('$_')") for sort keys %entries;
ok(becomes_true($_, "SELECT count(*) = 2 FROM indextable.index_tables WHERE state = 'active'"), 'the index tables are active on ' . $_->name) for @nodes;
my $queue = sql($c, "SELECT queue::regclass FROM indextable_internal.fact WHERE fact_table = 'f'::regclass");

# has NODES, TABLE, HASH: a condition: the shard of the table with this hash is on one of these nodes
sub has
{
	my ($nodes, $table, $hash) = @_;
	my $ports = join ', ', map { $_->port } @$nodes;
	return "EXISTS (SELECT FROM pg_dist_shard s JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node n USING (groupid) WHERE s.logicalrelid = '$table'::regclass
		AND n.nodeport IN ($ports) AND $hash BETWEEN s.shardminvalue::int AND s.shardmaxvalue::int)";
}

# in_shards NODE, TABLE, SQL, CONDITION: the result of a query, of which %s is the table, in the shards that the node has
sub in_shards
{
	my ($node, $table, $query, $condition) = @_;
	my @shards = split /\n/, sql($node, "SELECT shardid FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_local_group USING (groupid) WHERE logicalrelid = '$table'::regclass");
	return map { split /\n/ } sql($node, map { my $sql = sprintf $query, "${table}_$_"; "SELECT x::text FROM ($sql) x WHERE $condition" } @shards);
}

# drift NODE…: what is wrong with entries on these nodes of rows on these nodes
sub drift
{
	my @living = @_;
	my $wrong = '';
	foreach my $name (sort keys %entries)
	{
		my ($query, $hash) = @{ $entries{$name} };
		my %n;
		foreach my $node (@living)
		{
			$n{$_}++ for in_shards($node, 'f', $query, has(\@living, $name, $hash));
			$n{$_}-- for in_shards($node, $name, 'SELECT * FROM %s', has(\@living, 'f', 'hashint8(pk)'));
		}
		$wrong .= join '', map { "$name " . ($n{$_} > 0 ? 'lacks' : 'has') . " $_\n" } grep { $n{$_} } sort keys %n;
	}
	return $wrong;
}

# right NAME, NODE…: the test that entries on these nodes become right
sub right
{
	my ($name, @living) = @_;
	my ($wrong, $until) = ('', time() + ($ENV{PG_TEST_TIMEOUT_DEFAULT} // 900));
	do { $wrong = drift(@living) } while ($wrong ne '' && time() < $until);
	return is($wrong, '', $name);
}

# whole NAME: the test that all is applied, on all nodes, and right
sub whole
{
	my ($name) = @_;
	ok(becomes_true($c, "SELECT count(*) = 0 FROM $queue"), "$name: all is applied");
	is(drift(@nodes), '', "$name: all entries are right");
	is(sql($_, "SELECT indextable.wait('f_k')"), 't', "$name: wait() on " . $_->name) for @nodes;
	return;
}

# queues_of_old NODE: as version 1.1 has made the queue, rows that are not held are not found by an index
sub queues_of_old
{
	my ($node) = @_;
	my $shards = "SELECT format('%s_%s', '$queue', shardid) FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_local_group USING (groupid) WHERE logicalrelid = '$queue'::regclass";
	foreach my $shard (split /\n/, sql($node, $shards))
	{
		my $key = sql($node, "SELECT conname FROM pg_constraint WHERE conrelid = '$shard'::regclass");
		sql($node, 'SET session_replication_role = replica; SET citus.enable_manual_changes_to_shards = on; SET citus.enable_ddl_propagation = off;' .
			"ALTER TABLE $shard DROP CONSTRAINT $key; ALTER TABLE $shard ADD CONSTRAINT $key PRIMARY KEY (key1, number)");
	}
	return;
}

# held NODE: how many keys a node holds, and how many more are queued there
sub held
{
	my ($node) = @_;
	my @held = in_shards($node, $queue, 'SELECT abs(number) >= 1::bigint << 62 AS held FROM %s', 'true');
	return scalar(grep { $_ eq '(t)' } @held) . ' ' . scalar(grep { $_ eq '(f)' } @held);
}

# keys NODE, N: keys whose entries are on a node
sub keys_of
{
	my ($node, $n, $prefix) = @_;
	return split /\n/, sql($at, "SELECT k FROM (SELECT '$prefix' || i AS k FROM generate_series(1, 1000) i) x WHERE " . has([$node], 'f_k', 'hashtext(k)') . " LIMIT $n");
}

# rows NODE, N, FROM: rows that are on a node, or would be
sub rows_of
{
	my ($node, $n, $from) = @_;
	return split /\n/, sql($at, "SELECT pk FROM generate_series(${from}::bigint, ${from} + 400) pk WHERE " . has([$node], 'f', 'hashint8(pk)') . " ORDER BY pk LIMIT $n");
}

sub doc
{
	my ($k, @tags) = @_;
	return qq('{"k": "$k", "n": 3, "tags": [) . join(', ', map { qq("$_") } @tags) . "]}'";
}

# ---- a worker is down; what is written by way of the coordinator is on it and on the other one

foreach my $gone ($w2, $c)
{
	my @living = grep { $_ != $gone } @nodes;
	my $name = $gone->name;
	my $port = $gone->port;
	my $through = $at = $gone == $c ? $w1 : $c;
	my ($here, $there) = ($gone == $c ? 'm' : 'h', $gone == $c ? 'o' : 'u');
	my @near = map { keys_of($_, 4, $here) } @living;
	my @far = keys_of($gone, 8, $there);
	my (@statements, @rows);
	foreach my $node (@living)
	{
		@rows = rows_of($node, 14, $gone == $c ? 300 : 1);
		# The first ones have entries on the node that will stop, the others on those that will go on.
		sql($c, map({ "UPDATE f SET doc = " . doc($far[$_], $far[$_], $near[$_]) . " WHERE pk = $rows[$_]" } 0 .. 5), map { "UPDATE f SET doc = " . doc($near[ $_ - 6 ], $near[ $_ - 6 ]) . " WHERE pk = $rows[$_]" } 6 .. 11);
		push @statements, "UPDATE f SET doc = " . doc($near[1], $far[2], $near[2]) . " WHERE pk = $rows[0]", "UPDATE f SET doc = " . doc($far[1], $far[3]) . " WHERE pk = $rows[1]",
			"DELETE FROM f WHERE pk = $rows[2]", "UPDATE f SET doc = doc - 'k' WHERE pk = $rows[3]", "UPDATE f SET doc = doc - 'tags' WHERE pk = $rows[4]",
			"UPDATE f SET doc = " . doc($far[4], $near[3], $near[3], $far[0]) . " WHERE pk = $rows[6]", "UPDATE f SET doc = " . doc($near[5]) . " WHERE pk = $rows[7]", "DELETE FROM f WHERE pk = $rows[8]",
			"BEGIN; DELETE FROM f WHERE pk = $rows[9]; INSERT INTO f VALUES ($rows[9], " . doc($near[6], $far[6]) . '); COMMIT', "BEGIN; DELETE FROM f WHERE pk = $rows[10]; ROLLBACK";
		my @new = rows_of($node, 4, $gone == $c ? 20000 : 10000);
		push @statements, map({ "INSERT INTO f VALUES ($new[$_], " . doc($near[$_], $far[$_], $near[7]) . ')' } 0 .. 2), "INSERT INTO f VALUES ($new[3], " . doc($far[3]) . ')';
	}
	# Many rows, whose entries are deleted by one statement when the node is back
	my @crowd = rows_of($living[1], 90, $gone == $c ? 70000 : 60000);
	sql($through, 'INSERT INTO f VALUES ' . join ', ', map { "($_, " . doc($far[ $_ % 8 ]) . ')' } @crowd);
	whole("$name: before");
	queues_of_old($_) for $gone == $c ? @living : ();

	$gone->stop('immediate');
	sql($through, @statements, "UPDATE f SET doc = " . doc($near[7]) . ' WHERE pk IN (' . join(', ', @crowd) . ')');
	right("$name is down: entries on the other nodes become right", @living);
	sql($through, map { "UPDATE f SET doc = " . doc($near[$_], $near[ $_ + 1 ], $far[$_]) . ' WHERE pk = ' . (rows_of($living[0], 14, $gone == $c ? 300 : 1))[$_] } 0 .. 3);
	right("$name is down: and again", @living);
	my $held = 0;
	foreach my $node (@living)
	{
		my ($n, $more) = split / /, held($node);
		cmp_ok($n, '>=', 12, "$name is down: " . $node->name . ' holds their keys');
		is($more, 0, 'and has no others');
		like(sql($node, "SELECT worker_state || ': ' || last_error FROM indextable.queues"), qr/^failing: .*wait for node localhost:$port,/, 'and says for which node it waits');
		fails($node, "SELECT indextable.wait('f_k', timeout => '1s')", qr/ERROR:.*localhost:$port/s, 'and so does wait()');
		fails($node, "SELECT indextable.drain('f')", qr/ERROR:.*could not drain table public\.f on all nodes.*localhost:$port/s, 'and drain()');
	}
	fails($living[0], 'TRUNCATE f', qr/ERROR:/, 'Citus does not truncate the table');

	# Nobody ends what the node has prepared elsewhere, and a new worker knows no shards yet.
	my $shard = sql($living[1], "SELECT format('%I', 'f_k_' || shardid) FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_local_group USING (groupid) WHERE logicalrelid = 'f_k'::regclass LIMIT 1");
	my $group = sql($through, "SELECT groupid FROM pg_dist_node WHERE nodeport = $port");
	sql($living[1], "BEGIN; PREPARE q AS DELETE FROM $shard; PREPARE TRANSACTION 'citus_${group}_1_1_1'");
	sql($living[0], q(SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE backend_type = 'indextable worker'));
	sql($through, "DELETE FROM f WHERE pk = $_") for (rows_of($living[0], 14, $gone == $c ? 300 : 1))[12];
	right("$name is down: a transaction is in doubt", @living);

	# ---- readers of living shards

	my $reader = $w1;
	my ($mine) = rows_of($living[0], 1, $gone == $c ? 31000 : 30000);
	my ($k) = keys_of($living[1], 1, $gone == $c ? 'read' : 'asked');
	sql($through, "INSERT INTO f VALUES ($mine, " . doc($k, $k) . ')');
	right("$name is down: one more row", @living);
	is(sql($reader, "SELECT count(*) FROM indextable.lookup('f_k', '{\"k\": \"$k\"}')"), '1', 'lookup() of a key on a living node');
	my $settings = 'SET indextable.stale_reads = on;';
	like(sql($reader, "$settings EXPLAIN (COSTS OFF) SELECT pk FROM f WHERE doc ->> 'k' = '$k'"), qr/IndexTable\).*f_k/s, 'plain SQL is planned by entries');
	is(sql($reader, "$settings SELECT pk FROM f WHERE doc ->> 'k' = '$k'"), $mine, 'and answered');
	like(sql($reader, "$settings EXPLAIN (COSTS OFF) SELECT * FROM f WHERE doc ->> 'k' = '$k'"), qr/IndexTableLate/, 'whole rows, too');
	is(sql($reader, "$settings SELECT doc ->> 'k' FROM f WHERE doc ->> 'k' = '$k'"), $k, 'and answered');

	# ---- a node that drains stops in the middle, too

	my @many = rows_of($w1, 120, $gone == $c ? 50000 : 40000);
	my $held_point = hold($w1, 'citus drain has read the facts');
	sql($w1, 'INSERT INTO f VALUES ' . join ', ', map { "($_, " . doc($near[ $_ % 8 ], $far[ $_ % 8 ]) . ')' } @many);
	ok(is_held($w1), "$name is down: another node drains");
	$w1->stop('immediate');
	eval { $held_point->finish };
	$w1->start;
	right("$name is down: another one has crashed meanwhile", @living);

	$gone->start;
	whole("$name is back");
	ok(becomes_true($_, 'SELECT last_error IS NULL FROM indextable.queues'), $_->name . ' has no trouble any more') for @living;
}

$at = $c;

# ---- an index table that is being built becomes active when all nodes were reached

everywhere(\@nodes, 'SELECT indextable.stop_workers()');
$entries{f_n} = [ q{SELECT (doc ->> 'n')::int AS k, pk FROM %s WHERE doc ->> 'n' IS NOT NULL}, 'hashint4(k)' ];
sql($c, "SELECT indextable.create('f_n', 'f', '{n::int}', maintenance => 'async')");
$w2->stop('immediate');
everywhere([ $c, $w1 ], 'SELECT indextable.start_workers()');
right('what is queued for a new index table is applied to living nodes', $c, $w1);
sql($c, "UPDATE f SET doc = doc || '{\"n\": 77}' WHERE pk = $_") for rows_of($w1, 5, 1);
right('and what is changed then', $c, $w1);
is(join(' ', everywhere([ $c, $w1 ], "SELECT state FROM indextable.index_tables WHERE index_table = 'f_n'::regclass")), 'building building', 'it is not active');

# ---- what is held is moved and split with its shard

everywhere([ $c, $w1 ], 'SELECT indextable.stop_workers()');
my ($row) = rows_of($w1, 1, 100);
my ($held) = split / /, held($w1);
cmp_ok($held, '>', 100, 'keys are held');
$w2->start;
$w2->safe_psql('postgres', 'SELECT indextable.stop_workers()');
my $before = sql($c, "SELECT count(*) FROM $queue WHERE number < -(1::bigint << 62) OR number >= 1::bigint << 62");
sql($c, "SELECT citus_move_shard_placement(get_shard_id_for_distribution_column('f', $row), 'localhost', " . $w1->port . ", 'localhost', " . $w2->port . ", 'force_logical')");
($row) = rows_of($w1, 1, 150);
my ($middle, $id) = split /\|/, sql($c, "SELECT (shardminvalue::bigint + shardmaxvalue::bigint) / 2, (SELECT nodeid FROM pg_dist_node WHERE nodeport = " . $w2->port . ") FROM pg_dist_shard WHERE shardid = get_shard_id_for_distribution_column('f', $row)");
sql($c, "SELECT citus_split_shard_by_split_points(get_shard_id_for_distribution_column('f', $row), ARRAY['$middle'], ARRAY[$id, $id], 'block_writes')");
is(sql($c, "SELECT count(*) FROM $queue WHERE number < -(1::bigint << 62) OR number >= 1::bigint << 62"), $before, 'all of them after a move and a split');
cmp_ok((split / /, held($w2))[0], '>', 0, 'the other node has some');
everywhere(\@nodes, 'SELECT indextable.start_workers()');
whole('moved, with what was held');
ok(becomes_true($_, "SELECT state = 'active' FROM indextable.index_tables WHERE index_table = 'f_n'::regclass"), 'the new index table is active on ' . $_->name) for @nodes;

# ---- a rejected row, and many

($row) = rows_of($w1, 1, 200);
sql($c, "UPDATE f SET doc = doc || '{\"n\": \"none\"}' WHERE pk = $row");
ok(becomes_true($w1, 'SELECT count(*) = 2 FROM indextable.rejected'), 'two index tables reject a row');
$w2->stop('immediate');
sql($c, "UPDATE f SET doc = doc || '{\"n\": 6, \"tags\": [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\"]}' WHERE pk = $row");
sql($w1, 'UPDATE f SET doc = d(doc, pk) WHERE pk IN (' . join(', ', rows_of($w1, 100, 40000)) . ')');
right('many rows, and one that was rejected', $c, $w1);
ok(becomes_true($w1, 'SELECT count(*) = 0 FROM indextable.rejected'), 'it is so no more');

# ---- entries that are wrong on the node that is down are kept, unless keys are consumed

$w2->start;
whole('many rows');
$w2->stop('immediate');
my ($far) = keys_of($w2, 1, 'lost');
my @rows = map { rows_of($_, 1, 250) } $c, $w1;
my @left_out = map { hold($_, 'the holding of keys') } $c, $w1;
sql($c, "UPDATE f SET doc = doc || '{\"k\": \"$far\"}' WHERE pk = $_") for @rows;
right('the guard is left out', $c, $w1);
is(join(' ', map { held($_) } $c, $w1), '0 0 0 0', 'no key is held');
$w2->start;
$_->finish for @left_out;
ok(becomes_true($_, 'SELECT last_error IS NULL FROM indextable.queues'), $_->name . ' has no trouble any more') for $c, $w1;
ok(becomes_true($c, "SELECT count(*) = 0 FROM $queue"), 'nothing is queued');
like(drift(@nodes), qr/f_k lacks \($far,$_\)/, 'and an entry is lacking for ever') for @rows;
sql($c, "CALL indextable.repair('f_k')");
whole('repaired');

$_->stop('immediate') for @nodes;
done_testing();
