# A node that comes back without commits that it had made: no queue has what is lost, so the node says that entries may be wrong,
# by its timeline, until repair() has looked.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @nodes = new_cluster('failover');
my ($c, $w1, $w2) = @nodes;

sql($c, 'CREATE TABLE f (id bigint PRIMARY KEY, doc jsonb NOT NULL)', "SELECT create_distributed_table('f', 'id')",
	q{INSERT INTO f SELECT i, jsonb_build_object('k', 'k' || i % 30, 'v', i % 7) FROM generate_series(1, 300) i},
	map({ "SELECT indextable.create('f_$_', 'f', '{$_}', maintenance => 'async')" } qw(k v)), 'CREATE TABLE g (LIKE f INCLUDING ALL)', "SELECT create_distributed_table('g', 'id')",
	"SELECT indextable.create('g_k', 'g', '{k}', maintenance => 'async')");
sql($c, "CALL indextable.build('$_')") for qw(f_k f_v g_k);
ok(becomes_true($_, "SELECT count(*) = 3 FROM indextable_internal.timeline WHERE timeline = 1"), $_->name . ' has noted its timeline') for @nodes;
ok(becomes_true($_, "SELECT count(*) = 3 FROM indextable.index_tables WHERE state = 'active'"), 'and knows that the index tables are active') for @nodes;

# wait_for NODE, TABLE: what wait() returns, and its warning
sub wait_for
{
	my ($node, $table) = @_;
	my ($status, $out, $err) = $node->psql('postgres', "SELECT indextable.wait('$table')");
	return "$out $err";
}

# oracle TABLE: how many entries are missing or too many
sub oracle
{
	my ($field) = @_;
	return sql($c, "CREATE TEMP TABLE e AS SELECT $field AS x, id FROM f_$field; CREATE TEMP TABLE r AS SELECT doc ->> '$field' AS x, id FROM f WHERE doc ->> '$field' IS NOT NULL;
		SELECT (SELECT count(*) FROM (TABLE e EXCEPT ALL TABLE r) a) + (SELECT count(*) FROM (TABLE r EXCEPT ALL TABLE e) a)");
}

sub promote
{
	my ($node) = @_;
	$node->set_standby_mode;
	$node->start;
	$node->promote;
	return becomes_true($node, 'SELECT NOT pg_is_in_recovery()');
}

# ---- nothing is lost

is(wait_for($_, 'f_k'), 't ', 'wait() on ' . $_->name) for @nodes;
$w1->restart;
is(wait_for($w2, 'f_k'), 't ', 'a node that has crashed or was restarted says nothing');

# ---- commits are lost: the data of a node are as they were a moment ago

my $data = $w1->data_dir;
$w1->stop;
system_or_bail('cp', '-a', $data, "$data.before");
$w1->start;
sql($c, 'UPDATE f SET doc = doc || \'{"k": "new", "v": 9}\' WHERE id < 200', 'DELETE FROM f WHERE id > 250', q{INSERT INTO f SELECT i, '{"k": "more", "v": 8}' FROM generate_series(400, 450) i});
is(wait_for($c, 'f_k'), 't ', 'all is applied');
is(oracle('k'), 0, 'and right');
$w1->stop('immediate');
system_or_bail('rm', '-rf', $data);
system_or_bail('mv', "$data.before", $data);
ok(promote($w1), 'the node is back, on another timeline');
cmp_ok(oracle('k'), '>', 0, 'entries are wrong');
like(wait_for($_, 'f_k'), qr/^f .*WARNING: +entries of the index tables of "f" may be wrong/s, 'wait() says so on ' . $_->name) for @nodes;
like(wait_for($c, 'g_k'), qr/^f .*WARNING/s, 'and for another table');
is(sql($w1, "SELECT worker_state || ' ' || (last_error LIKE '%new timeline%') FROM indextable.queues WHERE fact_table = 'f'::regclass"), 'failing true', 'and so does the view, on that node');
like(sql($c, "INSERT INTO f VALUES (500, '{\"k\": \"k1\"}'); SELECT indextable.drain('f'); SELECT count(*) FROM f_k WHERE id = 500"), qr/1$/, 'drains go on');

# ---- repair

fails($c, "CREATE ROLE nobody LOGIN; SET ROLE nobody; SELECT indextable_internal.note_timeline('f_k')", qr/ERROR: +42501/, 'nobody else may say that it is right');
sql($c, "CALL indextable.repair('f_k')");
is(oracle('k'), 0, 'repair() mends them');
like(wait_for($c, 'f_k'), qr/WARNING/, 'the other index table of the table has not been repaired');
sql($c, "CALL indextable.repair('f_v')");
is(oracle('v'), 0, 'it is');
is(wait_for($_, 'f_k'), 't ', 'wait() is as before on ' . $_->name) for @nodes;
is(sql($w1, "SELECT last_error IS NULL FROM indextable.queues WHERE fact_table = 'f'::regclass"), 't', 'and so is the view');
like(wait_for($c, 'g_k'), qr/WARNING/, 'the other table is still to be repaired');
sql($w2, "CALL indextable.repair('g_k')");
is(wait_for($c, 'g_k'), 't ', 'which another node may do');
is(sql($w1, 'SELECT count(*) FROM indextable_internal.timeline WHERE timeline = 2'), '3', 'its timeline is noted');
sql($c, "SELECT indextable.drop('g_k')");
ok(becomes_true($_, "SELECT count(*) = 2 FROM indextable_internal.timeline"), 'and forgotten with an index table on ' . $_->name) for @nodes;

$_->stop('immediate') for @nodes;
done_testing();
