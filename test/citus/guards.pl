# The guards of a drain over distributed tables, each seen to be needed: with the guard left out, which builds with
# -DINDEXTABLE_WAIT_POINTS allow (src/util/wait_point.c), an index table stays wrong for ever; with it, it does not.
#
# The lock of the shard's metadata: a drain has a snapshot with fact B and stops; the shard moves, with its writers blocked; fact B
# becomes C, and a drain at the new place writes entry C; then the first goes on, and writes entry B.
#
# The lock of the index tables' shards: a drain is about to read a shard of the index table, which is being moved between
# two other nodes; it waits for the move, and then writes to the shard's old copy.
#
# The fence of prepared transactions: a drain writes an entry on another node, and its node stops between its commit and
# COMMIT PREPARED; the fact is deleted; the next drain does not see the entry, which appears when Citus resolves the
# transaction. Such a stop is made by a standby that the commit waits for and that does not exist.
#
# The guard of entries: nobody writes them by hand, on any node.
#
# Roles: what the owner of a fact table has put into its indexes, or in the place of a shard, and transactions that somebody
# without rights has prepared.
#
# And wait(): a writer has changed rows on two nodes, and its own node stops like that.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @nodes = new_cluster('guards', settings => [ 'indextable.max_workers = 0', 'citus.recover_2pc_interval = -1', 'citus.defer_shard_delete_interval = -1' ]);
my ($c, $w1, $w2) = @nodes;
my %node = map { $_->port => $_ } @nodes;

sql($c, 'CREATE TABLE f (pk bigint PRIMARY KEY, doc jsonb)', "SELECT create_distributed_table('f', 'pk')", "INSERT INTO f SELECT i, '{\"k\": \"A\"}' FROM generate_series(1, 40) i",
	"SELECT indextable.create('f_k', 'f', '{k}', maintenance => 'async')");
my $queue = sql($c, "SELECT queue::regclass FROM indextable_internal.fact WHERE fact_table = 'f'::regclass");

# What a node's worker does for the shards that the node has
my $one_batch = "SELECT indextable_internal.drain_shards('f', 1000)";

# drain_all NODE…: until nothing is queued, by sessions at these nodes
sub drain_all
{
	for (1 .. 100)
	{
		$_->psql('postgres', "SELECT indextable.drain('f')") for @_;
		return 1 if sql($c, "SELECT count(*) FROM $queue") eq '0';
	}
	return 0;
}

# drift: entries without their rows, and rows without their entries
sub drift
{
	return sql($c, 'SET indextable.planner = off; CREATE TEMP TABLE a AS SELECT * FROM f; CREATE TEMP TABLE b AS SELECT * FROM f_k;' . q{
		SELECT string_agg(w || ' ' || k || ' of ' || pk, ', ' ORDER BY w, k, pk) FROM (
			SELECT 'missing' AS w, * FROM (SELECT doc ->> 'k' AS k, pk FROM a WHERE doc ? 'k' EXCEPT ALL SELECT k, pk FROM b) x
			UNION ALL SELECT 'extra', * FROM (SELECT k, pk FROM b EXCEPT ALL SELECT doc ->> 'k', pk FROM a) x) y});
}

# place ROW: the node that has it, and its shard
sub place
{
	my ($pk) = @_;
	my ($shard, $port) = split /\|/, sql($c, "SELECT shardid, nodeport FROM citus_shards WHERE shardid = get_shard_id_for_distribution_column('f', $pk)");
	return ($node{$port}, $shard);
}

ok(drain_all(@nodes), 'all is applied at first');
sql($c, "CALL indextable.build('f_k')");
is(sql($c, "SELECT state FROM indextable.index_tables WHERE index_table = 'f_k'::regclass"), 'active', 'the index table is complete');
is(drift(), '', 'and right');

# ---- the lock of the shard's metadata

foreach my $guard ('left out', 'in place')
{
	my $pk = $guard eq 'in place' ? 1 : 2;
	my ($from, $shard) = place($pk);
	my $to = $from == $w1 ? $w2 : $w1;
	my $held = hold($from, 'drain has its snapshot', $guard eq 'left out' ? "the lock of the shard's metadata" : ());
	sql($c, "UPDATE f SET doc = '{\"k\": \"B\"}' WHERE pk = $pk");
	my $drain = session($from);
	$drain->start($one_batch);
	ok(is_held($from), "metadata lock $guard: a drain is about to read fact B");

	my $move = session($c);
	my $mover = $move->query('SELECT pg_backend_pid()');
	$move->start("SELECT citus_move_shard_placement($shard, 'localhost', " . $from->port . ", 'localhost', " . $to->port . ", 'block_writes')");
	if ($guard eq 'left out')
	{
		unlike($move->answer, qr/ERROR/, 'the shard moves meanwhile');
		sql($c, "UPDATE f SET doc = '{\"k\": \"C\"}' WHERE pk = $pk");
		sql($to, $one_batch);
		is(sql($c, "SELECT k FROM f_k WHERE pk = $pk"), 'C', 'a drain at its new place writes entry C');
	}
	else
	{
		ok(becomes_true($from, "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND classid <> 1765 AND NOT granted"), 'the move waits for the drain');
	}
	$held->finish;
	my $answer = $drain->answer;
	note "the drain: $answer";
	if ($guard eq 'in place')
	{
		unlike($move->answer, qr/ERROR/, 'the shard moves then');
		sql($c, "UPDATE f SET doc = '{\"k\": \"C\"}' WHERE pk = $pk");
	}
	$_->finish for $drain, $move;
	is((place($pk))[0]->port, $to->port, 'the shard has moved');
	ok(drain_all(@nodes), 'all is applied');
	if ($guard eq 'left out') { is(drift(), "extra B of $pk, missing C of $pk", 'without the lock, fact is C and entry B'); }
	else { is(drift(), '', 'with the lock, fact and entry are C'); }
	sql($c, "UPDATE f SET doc = '{\"k\": \"A\"}' WHERE pk = $pk");
	sql($c, "CALL indextable.repair('f_k')");
	ok(drain_all(@nodes), 'repaired');
	is(drift(), '', 'and right again');
}

# ---- the fence of prepared transactions

foreach my $guard ('left out', 'in place')
{
	# a row on one worker whose new entry is on the other
	my ($pk, $key, $here, $there);
	foreach my $row (map { 100 + $_ + ($guard eq 'in place' ? 500 : 0) } 1 .. 50)
	{
		($here) = place($row);
		my $port = sql($c, "SELECT nodeport FROM citus_shards WHERE shardid = get_shard_id_for_distribution_column('f_k', 'key $row')");
		$there = $node{$port};
		($pk, $key) = ($row, "key $row");
		last if $port != $here->port;
	}
	isnt($here->port, $there->port, "fence $guard: the entry is on another node than its row");
	sql($c, "INSERT INTO f VALUES ($pk, '{\"k\": \"$key\"}')");
	$here->append_conf('postgresql.conf', "synchronous_standby_names = 'nobody'");
	$here->reload;
	becomes_true($here, "SELECT current_setting('synchronous_standby_names') = 'nobody'");
	my $drain = session($here);
	$drain->start($one_batch);
	ok(becomes_true($here, "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"), 'the drain is about to have committed');
	is(sql($there, 'SELECT count(*) FROM pg_prepared_xacts'), '1', 'and its entry is prepared');
	$here->stop('immediate');
	$drain->finish;
	$here->append_conf('postgresql.conf', "synchronous_standby_names = ''");
	$here->start;
	is(sql($c, "SELECT count(*) FROM $queue"), '0', 'its commit was the last that its node did');
	is(sql($there, 'SELECT count(*) FROM pg_prepared_xacts'), '1', 'the entry is in doubt');
	sql($c, "DELETE FROM f WHERE pk = $pk");
	my $held = $guard eq 'left out' ? hold($here, 'the fence of prepared transactions') : undef;
	my ($status, $out, $err) = $here->psql('postgres', $one_batch);
	note "the drain: $out $err";
	is(sql($c, "SELECT count(*) FROM $queue"), $guard eq 'left out' ? '0' : '1', $guard eq 'left out' ? 'the next drain consumes the deletion' : 'the next drain leaves the deletion for later');
	note sql($c, 'TABLE indextable.queues');
	is(sql($here, 'SELECT recover_prepared_transactions()'), '1', 'Citus resolves it');
	$held->finish if $held;
	ok(drain_all(@nodes), 'all is applied');
	if ($guard eq 'left out') { is(drift(), "extra $key of $pk", 'without the fence, an entry stays of a row that there is not'); }
	else { is(drift(), '', 'with the fence, none'); }
	sql($c, "CALL indextable.repair('f_k')");
	ok(drain_all(@nodes), 'repaired');
	is(drift(), '', 'and right again');
}

# ---- writes by hand: to the index table on two nodes, and to one of its shards

my ($number, $port) = split /\|/, sql($c, "SELECT shardid, nodeport FROM citus_shards WHERE shardid = get_shard_id_for_distribution_column('f_k', 'A')");
my $shard = "f_k_$number";
my $by_hand = 'SET citus.enable_manual_changes_to_shards = on;';
foreach ([ $c, 'f_k', 'on the coordinator' ], [ $w1, 'f_k', 'on a worker' ], [ $node{$port}, $shard, 'of a shard' ])
{
	my ($node, $table, $where) = @$_;
	fails($node, "$by_hand $_", qr/42809: +cannot change index table "$table"/, "$where: $_")
	  for "INSERT INTO $table VALUES ('A', 0)", "INSERT INTO $table SELECT 'A', 0", "UPDATE $table SET pk = pk", "DELETE FROM $table", "COPY $table FROM PROGRAM 'echo'", "TRUNCATE $table";
}
is(sql($c, "SELECT pk FROM f_k WHERE k = 'A' AND pk = 3 FOR UPDATE"), '3', 'who only locks an entry may');
sql($node{$port}, "$by_hand SET session_replication_role = replica; DELETE FROM $shard WHERE pk = 3; INSERT INTO $shard VALUES ('A', 0)");
is(sql($c, "SELECT string_agg(concat_ws(' ', kind, primary_key), ', ' ORDER BY kind) FROM indextable.verify('f_k')"), 'dangling {"pk": 0}, missing {"pk": 3}', 'verify() finds what was written where no trigger fires');
sql($c, "CALL indextable.repair('f_k')");
ok(drain_all(@nodes), 'repaired');
is(drift(), '', 'and right again');

# ---- code of a fact table's owner, where the server calls it to plan a query

my $as_tenant = 'SET ROLE tenant; SET search_path = t; SET citus.enable_manual_changes_to_shards = on; SET citus.enable_ddl_propagation = off;';
sql($c, 'CREATE ROLE tenant LOGIN', 'CREATE ROLE nobody LOGIN', 'CREATE SCHEMA t AUTHORIZATION tenant', 'GRANT USAGE ON SCHEMA t TO nobody');
sql($c, "SET ROLE tenant; $_") for 'CREATE TABLE t.f (pk bigint PRIMARY KEY, doc jsonb)', "SELECT create_distributed_table('t.f', 'pk', colocate_with => 'none')",
  'CREATE TABLE t.g (a int, pk int, doc jsonb, PRIMARY KEY (a, pk))', "SELECT create_distributed_table('t.g', 'a', colocate_with => 'none')",
  q{CREATE FUNCTION t.mine(n int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$BEGIN IF current_user <> 'tenant' THEN RAISE 'called as %', current_user; END IF; RETURN n; END$$},
  'CREATE INDEX ON t.f ((t.mine(1)), pk) WHERE t.mine(2) = 2', 'CREATE INDEX ON t.g ((t.mine(1)), pk) WHERE t.mine(2) = 2', q{INSERT INTO t.f SELECT i, '{"k": "a"}' FROM generate_series(1, 40) i},
  q{INSERT INTO t.g SELECT i % 10, i, '{"k": "a"}' FROM generate_series(1, 40) i};
fails($c, 'SELECT count(*) FROM t.f', qr/called as/, 'a query that names a fact table calls functions of its owner');
foreach (map { ("SELECT indextable.create('t.f_$_', 't.f', '{k}', maintenance => 'async')", "SELECT indextable.create('t.g_$_', 't.g', '{\@a,k}')") } 1, 2)
{
	my ($status, $out, $err) = $c->psql('postgres', "SET ROLE tenant; $_");
	is($err, '', "not as somebody else: $_");
}
sql($c, "SET ROLE tenant; CALL indextable.build('t.f_$_')") for 1, 2;
is(sql($c, 'SET ROLE tenant; SELECT ' . join(', ', map { "(SELECT count(*) FROM t.$_)" } qw(f_1 f_2 g_1 g_2))), '40|40|40|40', 'they have all entries');
foreach ("SELECT indextable.drain('t.f')", "SELECT indextable.wait('t.f_1')", (map { ("SELECT * FROM indextable.verify('t.$_')", "CALL indextable.repair('t.$_')") } qw(f_1 g_1)), 'SELECT count(*) FROM indextable.queues')
{
	my ($status, $out, $err) = $c->psql('postgres', $_);
	is($err, '', "nor by a superuser: $_");
}

# ---- the same on a table of totals, which writers and workers write

sql($c, "SET ROLE tenant; $_") for 'CREATE TABLE t.h (a int, pk int, doc jsonb, PRIMARY KEY (a, pk))', "SELECT create_distributed_table('t.h', 'a', colocate_with => 'none')", 'INSERT INTO t.h SELECT i % 10, i FROM generate_series(1, 40) i',
  "SELECT indextable.create('t.h_s', 't.h', '{\@a,k}', totals => '{count(*)}')", 'CREATE INDEX ON t.h_s ((t.mine(1)), a) WHERE t.mine(2) = 2', 'GRANT ALL ON t.h TO nobody';
foreach my $role ('postgres', 'nobody')
{
	my ($status, $out, $err) = $c->psql('postgres', "SET ROLE $role;" . join '', map { "UPDATE t.h SET doc = '{\"k\": \"$role $_\"}';" } 1 .. 60);
	is($err, '', "$role writes the fact table");
}
foreach ("SELECT indextable.drain('t.h')", "SELECT * FROM indextable.verify('t.h_s')", "SET session_replication_role = replica; SET ROLE tenant; DELETE FROM t.h_s WHERE a = 3; RESET ROLE; SET session_replication_role = origin; CALL indextable.repair('t.h_s')")
{
	my ($status, $out, $err) = $c->psql('postgres', $_);
	is($err, '', "nor by a superuser: $_");
}
is(sql($c, 'SET ROLE tenant; SELECT count(*), sum(rows) FROM t.h_s'), '10|40', 'and they are right');
sql($c, 'SET ROLE tenant; DROP TABLE t.h');

# ---- transactions that somebody without rights has prepared, with names like those of Citus

foreach my $node (@nodes)
{
	sql($node, 'SET ROLE nobody; BEGIN; PREPARE q AS SELECT FROM t.f_1; ' . "PREPARE TRANSACTION 'citus_7_1_1_1'", "SET ROLE nobody; BEGIN; PREPARE q AS INSERT INTO t.f_1 VALUES ('a', 1); PREPARE TRANSACTION 'citus_7_1_2_1'",
		"SET ROLE nobody; BEGIN; PREPARE q AS SELECT FROM t.f_1; PREPARE TRANSACTION 'citus_7_1_3_1,new timeline'");
}
sql($c, q{SET ROLE tenant; UPDATE t.f SET doc = '{"k": "b"}'});

# One has the name of a transaction that Citus has committed there before.
my $same = sql($c, 'SELECT gid FROM pg_dist_transaction WHERE groupid = (SELECT groupid FROM pg_dist_node WHERE nodeport = ' . $w1->port . ') ORDER BY 1 LIMIT 1');
my $queue_shard = sql($w1, "SELECT shard_name(queue, shardid) FROM indextable_internal.fact JOIN pg_dist_shard ON logicalrelid = queue::oid JOIN pg_dist_placement USING (shardid) JOIN pg_dist_local_group USING (groupid) WHERE fact_table = 't.f'::regclass LIMIT 1");
like(($w1->psql('postgres', "SET ROLE nobody; PREPARE q AS INSERT INTO $queue_shard SELECT"))[2], qr/permission denied for schema indextable_queues/, 'nobody else can lock a queue');
sql($w1, "SET ROLE nobody; BEGIN; PREPARE q AS SELECT FROM t.f_1; PREPARE TRANSACTION '$same'");
foreach my $node (@nodes)
{
	my ($status, $out, $err) = $node->psql('postgres', "SET ROLE tenant; SELECT indextable.drain('t.f') >= 0, indextable.wait('t.f_1', '10s')");
	is("$out $err", 't|t ', 'do not hold up drains, nor wait()');
}
is(sql($c, "SET ROLE tenant; SELECT count(*) FROM t.f_1 WHERE k = 'b'"), '40', 'all is applied');
is(sql($c, "SET ROLE tenant; CALL indextable.repair('t.f_1')"), '0|0|0|0', 'nor repair()');
foreach my $node (@nodes) { sql($node, "ROLLBACK PREPARED 'citus_7_1_$_'") for '1_1', '2_1', '3_1,new timeline'; }
sql($w1, "ROLLBACK PREPARED '$same'");

# ---- something else in the place of a shard

foreach (q{CREATE TABLE %s (pk bigint PRIMARY KEY, doc jsonb) PARTITION BY HASH (pk)}, q{CREATE VIEW %s AS SELECT mine(3)::bigint AS pk, '{}'::jsonb AS doc}, 'CREATE SEQUENCE %s', 'CREATE TYPE %s AS (pk bigint, doc jsonb)')
{
	my ($number) = split /\n/, sql($c, "SELECT shardid FROM citus_shards WHERE table_name = 't.f'::regclass AND nodeport = " . $w1->port . ' ORDER BY 1 LIMIT 2');
	my $started = sql($w1, 'SELECT pg_postmaster_start_time()');
	sql($c, "SET ROLE tenant; UPDATE t.f SET doc = '{\"k\": \"before $number\"}'");
	sql($w1, "$as_tenant ALTER TABLE f_$number RENAME TO kept; " . sprintf($_, "f_$number"));
	$_->psql('postgres', "SET ROLE tenant; SELECT indextable.drain('t.f')") for @nodes;
	my ($status, $out, $err) = $c->psql('postgres', "SET ROLE tenant; SELECT kind, problem FROM indextable.verify('t.f_1')");
	note "$_: $out $err";
	fails($c, "SET ROLE tenant; SELECT indextable.create('t.f_3', 't.f', '{k}', maintenance => 'async'); CALL indextable.build('t.f_3')", qr/^(?!.*(called as|server closed))/s, "a superuser does not read it: $_");
	is(sql($w1, 'SELECT pg_postmaster_start_time()'), $started, 'and the server goes on');
	sql($w1, "$as_tenant DROP " . (/CREATE (\w+)/)[0] . " f_$number; ALTER TABLE kept RENAME TO f_$number");
	$c->psql('postgres', "SET ROLE tenant; SELECT indextable.drop('t.f_3')");
	ok(sql($c, "SET ROLE tenant; SELECT indextable.drain('t.f') >= 0") eq 't', 'the shard is back');
}
sql($c, 'DROP TABLE t.f', 'DROP TABLE t.g');

# ---- a writer that is in doubt while somebody waits

# What it has changed on one of them is not in the queue. This is to be seen from that node, whose sessions Citus shows no
# shards, and from the other one.
my $here = (place(1))[0];
my ($there) = grep { $_ != $here } $w1, $w2;
sql($c, 'CREATE TABLE elsewhere (pk bigint PRIMARY KEY)', "SELECT create_distributed_table('elsewhere', 'pk', colocate_with => 'none')");
my $pk = sql($c, "SELECT i FROM generate_series(1, 100) i JOIN citus_shards s ON s.shardid = get_shard_id_for_distribution_column('elsewhere', i) WHERE nodeport = " . $there->port . ' LIMIT 1');
my $writer = session($c);
$c->append_conf('postgresql.conf', "synchronous_standby_names = 'nobody'");
$c->reload;
becomes_true($c, "SELECT current_setting('synchronous_standby_names') = 'nobody'");
$writer->start("BEGIN; UPDATE f SET doc = '{\"k\": \"D\"}' WHERE pk = 1; INSERT INTO elsewhere VALUES ($pk); COMMIT");
ok(becomes_true($c, "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"), 'a writer is about to have committed');
$c->stop('immediate');
$writer->finish;
$c->append_conf('postgresql.conf', "synchronous_standby_names = ''");
$c->start;
is(join(' ', map { sql($_, 'SELECT count(*) FROM pg_prepared_xacts') } $w1, $w2), '1 1', 'it is committed, and in doubt on two nodes');
is(sql($_, "SELECT indextable.wait('f_k', '1s')"), 'f', 'a wait is not over') for $here, $there;
my $wait = session($here);
$wait->start("SELECT indextable.wait('f_k', '5s')");
ok(becomes_true($here, "SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE '%wait(''f_k%' AND state = 'active' AND pid <> pg_backend_pid()"), 'somebody waits');
is(sql($c, 'SELECT recover_prepared_transactions()'), '2', 'Citus resolves it');
is($wait->answer, 'f', 'the wait is not over, as nobody has applied the changes');
$wait->finish;
ok(drain_all(@nodes), 'now they are');
is(sql($w1, "SELECT indextable.wait('f_k', '5s')"), 't', 'and it is over');
is(drift(), '', 'and all is right');

# ---- the lock of the index tables' shards

sql($c, "SELECT citus_set_node_property('localhost', " . $c->port . ", 'shouldhaveshards', true)");
foreach my $guard ('left out', 'in place')
{
	my $pk = $guard eq 'in place' ? 3 : 4;
	my ($here) = place($pk);
	my $from = $here == $w1 ? $w2 : $w1;
	my $to_coordinator = "'localhost', " . $from->port . ", 'localhost', " . $c->port . ", 'block_writes'";

	# Of the shards of the index table, the other node keeps one, which is moved.
	my ($shard, @others) = split /\n/, sql($c, "SELECT shardid FROM citus_shards WHERE table_name = 'f_k'::regclass AND nodeport = " . $from->port . ' ORDER BY 1');
	sql($c, "SELECT citus_move_shard_placement($_, $to_coordinator)") for @others;
	my $key = sql($c, "SELECT k FROM (SELECT 'key ' || i FROM generate_series(1, 100) i) k (k) WHERE get_shard_id_for_distribution_column('f_k', k) = $shard LIMIT 1");
	my $held = session($from);
	$held->query("BEGIN; SELECT lock_shard_metadata(5, ARRAY[$shard])");
	my $move = session($c);
	$move->start("SELECT citus_move_shard_placement($shard, $to_coordinator)");
	my $waiting = "SELECT count(*) = %d FROM pg_locks WHERE locktype = 'advisory' AND classid <> 1765 AND NOT granted";
	ok(becomes_true($from, sprintf $waiting, 1), "index tables' lock $guard: a move is about to copy a shard");
	sql($c, "UPDATE f SET doc = '{\"k\": \"$key\"}' WHERE pk = $pk");
	my @left_out = $guard eq 'left out' ? map { hold($_, "the lock of the index tables' shards") } @nodes : ();
	my $drain = session($here);
	if (@left_out)
	{
		$drain->start($one_batch);
		ok(becomes_true($from, sprintf $waiting, 2), 'a drain is about to read it');
	}
	else
	{
		$drain->start("SELECT indextable.drain('f')");
		ok(becomes_true($here, sprintf $waiting, 1), 'a drain waits for the move');
	}
	$held->finish;
	unlike($move->answer, qr/ERROR/, 'the shard moves');
	is($drain->answer, '1', 'the drain has applied the change');
	$_->finish for $drain, $move, @left_out;
	ok(drain_all(@nodes), 'nothing is left');
	if (@left_out) { like(drift(), qr/missing \Q$key\E of $pk/, 'the entry is lost'); }
	else { is(drift(), '', 'the entry is there'); }
	sql($c, "CALL indextable.repair('f_k')");
	ok(drain_all(@nodes), 'repaired');
	is(drift(), '', 'and right again');
	sql($c, "SELECT citus_move_shard_placement($_, 'localhost', " . $c->port . ", 'localhost', " . $from->port . ", 'block_writes')") for $shard, @others;
}

$_->stop('immediate') for @nodes;
done_testing();
