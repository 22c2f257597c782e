# Index tables over distributed fact tables under load: writers on all nodes, each node's own workers, and meanwhile
# shards that are moved and split, nodes that are stopped in the midst of it, and TRUNCATE. After each round, once all is
# applied, the index tables equal their recompute. SECONDS_OF_LOAD is for all rounds together, SEED for what is chosen; ROUNDS is
# a pattern of the names of those that are wanted.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Cluster;
use Load;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $seed = $ENV{SEED} // 1;
my $seconds = $ENV{SECONDS_OF_LOAD} // 240;
my $only = $ENV{ROUNDS} // '';
srand($seed);
my @nodes = new_cluster('load', settings => [ 'citus.shard_count = 4', 'indextable.batch_size = 200', 'citus.defer_shard_delete_interval = 1s',
	"citus.local_shared_pool_size = 40", 'deadlock_timeout = 200ms' ]);
my ($c, $w1, $w2) = @nodes;
my %count = map { $_ => 0 } qw(moves splits rebalances kills absences restarts truncates ends refused rounds missing extra);
my $last;

# may NAME, COMMAND: runs it at the coordinator and counts it. Citus may refuse it because of what else happens.
sub may
{
	my ($name, $command) = @_;
	my ($status, $out, $err) = $c->psql('postgres', "SET statement_timeout = '120s';\n$command");
	$count{ $status == 0 ? $name : 'refused' }++;
	note "$command: $err" if $status;
	return $status == 0;
}

sub shard_of
{
	my ($table) = @_;
	return split /\|/, sql($c, "SELECT shardid, nodeport, (shardminvalue::bigint + shardmaxvalue::bigint) / 2 FROM pg_dist_shard JOIN pg_dist_placement USING (shardid)
		JOIN pg_dist_node USING (groupid) WHERE logicalrelid = '$table'::regclass ORDER BY random() LIMIT 1");
}

sub ports { return split /\n/, sql($c, 'SELECT nodeport FROM pg_dist_node WHERE shouldhaveshards ORDER BY 1'); }

sub move
{
	my ($table, $mode) = @_;
	my ($shard, $from) = shard_of($table);
	my $to = pick(grep { $_ != $from } ports());
	return may('moves', "SELECT citus_move_shard_placement($shard, 'localhost', $from, 'localhost', $to, '$mode')");
}

# split_shard: where writers go on, both halves go to other nodes. A half that stays would be written to before it has its
# primary key, and Citus 13.2 then waits for ever ("publisher did not send replica identity column"), with or without us.
sub split_shard
{
	my ($table, $mode) = @_;
	my ($shard, $from, $middle) = shard_of($table);
	my @ids = split /\n/, sql($c, 'SELECT nodeid FROM pg_dist_node WHERE shouldhaveshards' . ($mode eq 'block_writes' ? '' : " AND nodeport <> $from") . ' ORDER BY 1');
	return may('splits', "SELECT citus_split_shard_by_split_points($shard, ARRAY['$middle'], ARRAY[" . pick(@ids) . ', ' . pick(@ids) . "], '$mode')");
}

# stop_and_start NODE, HOW: in the middle of whatever it does, with drains under way if there are changes to apply
sub stop_and_start
{
	my ($node, $how) = @_;
	becomes_true($node, q(SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'indextable worker' AND state = 'active')) if $node != $c;
	$node->stop($how);
	$node->start;
	$count{ $how eq 'immediate' ? 'kills' : 'restarts' }++;
	return 1;
}

# be_away NODE: it is down for a while, and the others go on without it
sub be_away
{
	my ($node) = @_;
	$node->stop('immediate');
	sleep(0.5 + rand 4);
	$node->start;
	return ++$count{absences};
}

# end_worker NODE: ends the worker of a node by a signal, or with the server, as kill -9 does
sub end_worker
{
	my ($node, $signal) = @_;
	my $pid = sql($node, q(SELECT pid FROM pg_stat_activity WHERE backend_type = 'indextable worker' ORDER BY state = 'active' DESC LIMIT 1)) || return 0;
	kill $signal, $pid;
	becomes_true($node, "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid AND backend_type = 'indextable worker')");
	$count{ends}++;
	return 1;
}

# others: the index table of a fact table by chance; its shards move and split by themselves
sub others { return pick(qw(f_k f_v f_d f_t g_t g_k)); }

sub round
{
	my ($name, $share, @acts) = @_;
	return if $name !~ /$only/;
	my $until = time() + $seconds * $share / 100;
	my $acts = 0;
	start_load(\@nodes, 4);
	do
	{
		sleep(0.5);
		if (@acts) { $acts += pick(@acts)->() ? 1 : 0; }
	} while (time() < $until);
	end_load();
	ok(!@acts || $acts, "$name: $acts times");
	$last = converged($c, $name);
	$count{$_} += $last->{$_} for qw(missing extra);
	$count{rounds}++;
	return;
}

fact_tables($c);
index_tables($c);
$last = converged($c, 'created over rows that are there');
is(sql($c, "SELECT count(*) FROM indextable.index_tables WHERE state = 'active'"), '7', 'all are active');

round('writes alone', 5);
round('shards of facts moved, writers at work', 12, map { my $t = $_; sub { move($t, 'force_logical') } } 'f', 'g');
round('shards of facts moved, writers blocked', 12, map { my $t = $_; sub { move($t, 'block_writes') } } 'f', 'g');
round('shards of index tables moved', 9, map { my $m = $_; sub { move(others(), $m) } } 'force_logical', 'block_writes');
round('shards split', 10, map { my $m = $_; (sub { split_shard(pick('f', 'g'), $m) }, sub { split_shard(others(), $m) }) } 'force_logical', 'block_writes');
sql($c, "SELECT citus_set_node_property('localhost', " . $c->port . ", 'shouldhaveshards', true)");
round('rebalanced to the coordinator, too', 8, sub { may('rebalances', "SELECT rebalance_table_shards(shard_transfer_mode => '" . pick('force_logical', 'block_writes') . "')") },
	sub { move(pick('f', 'g', others()), 'force_logical') });
round('workers stopped in the midst of it', 14, map { my $n = $_; sub { stop_and_start($n, 'immediate') } } $w1, $w2);
round('the coordinator stopped in the midst of it', 8, sub { stop_and_start($c, 'immediate') });
round('nodes down for a while', 12, map { my $n = $_; sub { be_away($n) } } @nodes);
round('nodes restarted', 5, map { my $n = $_; sub { stop_and_start($n, 'fast') } } @nodes);
round('background workers ended', 5, map { my $n = $_; (sub { end_worker($n, 'TERM') }, sub { end_worker($n, 'KILL') }) } @nodes);
round('TRUNCATE', 5, sub { may('truncates', 'TRUNCATE ' . pick('f', 'g', 'f, g')) });
round('all of it', 20, (map { my $m = $_; (sub { move(pick('f', 'g', others()), $m) }, sub { split_shard(pick('f', 'g', others()), $m) }) } 'force_logical', 'block_writes'),
	(map { my $n = $_; (sub { stop_and_start($n, 'immediate') }, sub { be_away($n) }, sub { end_worker($n, pick('TERM', 'KILL')) }) } @nodes),
	sub { may('truncates', 'TRUNCATE f') });

is(sql($c, "SELECT count(*) FROM indextable.verify('$_')"), '0', "verify() agrees: $_") for qw(f_k f_v f_d f_t f_s g_t g_k);
is(sql($c, "SELECT indextable.wait('$_')"), 't', "and nothing is to be waited for: $_") for qw(f_k g_k);
my ($done, $errors) = totals();
is($done->{wrong}, 0, "no look-up of $done->{lookups} gave a document without the key");
cmp_ok($done->{lookups}, '>', 0, 'there were look-ups');
ok(!grep({ /indextable|index table/ && !/^connection/ } keys %$errors), 'no error of writers is ours');

diag "what Citus and the stopped nodes told writers:";
diag sprintf '%6d  %s', $errors->{$_}, substr $_, 0, 140 for sort { $errors->{$b} <=> $errors->{$a} } keys %$errors;
diag "seed $seed; $count{rounds} rounds in which writers committed $done->{transactions} statements that wrote $done->{writes} rows; $done->{lookups} look-ups";
diag "$count{moves} moves, $count{splits} splits, $count{rebalances} rebalances, $count{kills} nodes stopped immediately, $count{absences} down for a while, $count{restarts} restarted, $count{ends} background workers ended, $count{truncates} TRUNCATE, $count{refused} of these refused by Citus";
diag "in the end $last->{facts} facts and $last->{entries} entries in 7 index tables; over all rounds missing $count{missing}, extra $count{extra}";
$_->stop('immediate') for @nodes;
done_testing();
