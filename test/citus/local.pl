# Index tables beside the shards of their fact tables, whose keys begin with the distribution column: entries are written in
# the transaction that writes the row, so they are right in each snapshot of a node, whatever happens to the shards; and the nodes
# use them for plain SQL. SECONDS_OF_LOAD and SEED are as for load.pl.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Cluster;
use Load;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

srand($ENV{SEED} // 1);
my $seconds = $ENV{SECONDS_OF_LOAD} // 120;
my @settings = (settings => [ 'citus.shard_count = 6', 'citus.defer_shard_delete_interval = 1s', 'citus.local_shared_pool_size = 40', 'deadlock_timeout = 200ms' ]);
my @nodes = new_cluster('local', coordinator_has_shards => 1, @settings);
my ($c, $w1, $w2) = @nodes;
my %count = map { $_ => 0 } qw(moves splits rebalances kills refused);

sub ports { return split /\n/, sql($c, 'SELECT nodeport FROM pg_dist_node WHERE shouldhaveshards ORDER BY 1'); }

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

# move TABLE, MODE: moves a shard of it, and so those that are beside it
sub move
{
	my ($table, $mode) = @_;
	my ($shard, $from) = shard_of($table);
	my $to = pick(grep { $_ != $from } ports());
	return may('moves', "SELECT citus_move_shard_placement($shard, 'localhost', $from, 'localhost', $to, '$mode')");
}

# split_shard TABLE, MODE: see load.pl for why both halves go to other nodes
sub split_shard
{
	my ($table, $mode) = @_;
	my ($shard, $from, $middle) = shard_of($table);
	my @ids = split /\n/, sql($c, 'SELECT nodeid FROM pg_dist_node WHERE shouldhaveshards' . ($mode eq 'block_writes' ? '' : " AND nodeport <> $from") . ' ORDER BY 1');
	return may('splits', "SELECT citus_split_shard_by_split_points($shard, ARRAY['$middle'], ARRAY[" . pick(@ids) . ', ' . pick(@ids) . "], '$mode')");
}

sub rebalance { return may('rebalances', "SELECT rebalance_table_shards(shard_transfer_mode => '$_[0]')"); }

sub kill_node
{
	my ($node) = @_;
	$node->stop('immediate');
	$node->start;
	$count{kills}++;
	return 1;
}

# planned NODE, QUERY, SETTING…: how the node plans it, with the plan of a task
sub planned
{
	my ($node, $query, @settings) = @_;
	return sql($node, join '', (map { "SET $_;" } @settings), "EXPLAIN (COSTS OFF) $query");
}

fact_tables($c);
my @beside = qw(fl_k fl_d gl_n gl_t gl_u gl_s gl_e);
index_tables($c, @beside);
is(sql($c, "SELECT string_agg(DISTINCT maintenance || ' ' || state, ', ') FROM indextable.index_tables"), 'transactional active', 'transactional, and active at once');
is(join(' ', everywhere(\@nodes, "SELECT count(*) FROM indextable.index_tables WHERE state = 'active'")), '7 7 7', 'on all nodes');
is(sql($c, "SELECT count(DISTINCT colocationid) FROM pg_dist_partition WHERE logicalrelid::text LIKE 'f%'"), '1', 'and distributed together with their fact tables');
converged($c, 'created over rows that are there');
is(moment(@nodes), '', 'as each node sees it');

# ---- writes of all kinds, by all nodes

foreach my $node (@nodes)
{
	my $n = 10000 * $node->port;
	sql($node, "INSERT INTO f SELECT $n + i, d(i), 'n' FROM generate_series(1, 200) i", "UPDATE f SET doc = d(pk + 3) WHERE pk % 3 = 0", "UPDATE f SET note = 'x' WHERE pk % 5 = 0", "DELETE FROM f WHERE pk % 11 = 0",
		"UPDATE f SET doc = doc - 'k' WHERE pk % 17 = 0", "UPDATE g SET b = b + 100000 WHERE b % 7 = 0", "DELETE FROM g WHERE a = 'a5'", "INSERT INTO g SELECT 'a5', i, d(i) FROM generate_series(1, 50) i",
		"INSERT INTO f VALUES ($n, d(1), 'a'), ($n + 1, d(2), 'b') ON CONFLICT (pk) DO UPDATE SET doc = excluded.doc", 'BEGIN; DELETE FROM f; DELETE FROM g; ROLLBACK',
		"BEGIN; UPDATE f SET doc = d(pk + 9) WHERE pk < 50; SAVEPOINT s; DELETE FROM f WHERE pk < 100; UPDATE g SET doc = d(1); ROLLBACK TO s; UPDATE g SET doc = d(b + 2) WHERE a = 'a9'; COMMIT",
		"COPY f FROM stdin;\n" . join('', map { 7 * $n + $_ . "\t{\"k\": \"copied\", \"v\": \"v$_\", \"n\": 1, \"tags\": [\"t1\", \"x\"]}\tcopied\n" } 1 .. 50) . "\\.\n");
	converged($c, 'writes by ' . $node->name);
}
sql($c, 'INSERT INTO g SELECT a, b + 1000000, doc FROM g');
converged($c, 'INSERT of a query');
sql($c, 'BEGIN; TRUNCATE g; ROLLBACK', 'TRUNCATE f');
converged($c, 'TRUNCATE, one that is undone');
is(sql($c, 'SELECT (SELECT count(*) FROM fl_k) + (SELECT count(*) FROM fl_d)'), '0', 'it has left nothing');
sql($c, 'INSERT INTO f SELECT i, d(i), $$n$$ FROM generate_series(1, 3000) i');

# ---- plain SQL: the nodes use the shards of the index tables

sql($c, 'ANALYZE');
my $served = q(SELECT b FROM g WHERE a = 'a7' AND (doc ->> 'n')::int = 3 AND doc ->> 'k' <> 'k7');
foreach my $node (@nodes)
{
	like(planned($node, $served), qr/IndexTable\) on g_\d+ .*Index Table( Only)?: gl_n_\d+/s, $node->name . ': SELECT');
	is(sql($node, "SELECT count(*) FROM ($served) x"), sql($node, "SELECT count(*) FROM (" . $served =~ s/a = 'a7'/a || '' = 'a7'/r . ') x'), 'which is right');
}
my $where = q(WHERE a = 'a7' AND (doc ->> 'n')::int = 3 AND doc ->> 'k' <> 'k7');
like(planned($c, "UPDATE g SET doc = d(1) $where"), qr/Update on g_\d+.*Index Table: gl_n_\d+/s, 'UPDATE');
like(planned($c, "DELETE FROM g $where"), qr/Delete on g_\d+.*Index Table: gl_n_\d+/s, 'DELETE');
like(planned($c, "SELECT * FROM g $where FOR UPDATE"), qr/LockRows.*Index Table: gl_n_\d+/s, 'FOR UPDATE');
like(planned($c, "SELECT count(*) FROM g $where"), qr/Aggregate.*Index Table( Only)?: gl_n_\d+/s, 'aggregates');
like(planned($c, q(SELECT count(*) FROM g WHERE a IN ('a1', 'a2', 'a3', 'a4') AND (doc ->> 'n')::int = 3 AND doc ->> 'k' <> 'k7')), qr/Index Table( Only)?: gl_n_\d+/s, 'several tenants');
is(sql($c, q(BEGIN; INSERT INTO g VALUES ('a7', -1, '{"n": 77, "k": "own"}'); SELECT b FROM g WHERE a = 'a7' AND (doc ->> 'n')::int = 77 AND doc ->> 'k' <> 'k7'; SELECT b FROM gl_n WHERE a = 'a7' AND n = 77; ROLLBACK)), "-1\n-1", 'a transaction sees its own changes');
is(join(' ', everywhere(\@nodes, q(SELECT count(*) FROM indextable.lookup('gl_u', '{"a": "a7", "twice": 14}')))), join(' ', (sql($c, q(SELECT count(*) FROM g WHERE a = 'a7' AND b * 2 = 14))) x 3), 'lookup() on every node');
is(sql($w1, "SELECT indextable.wait('gl_u')"), 't', 'and there is nothing to wait for');

# ---- totals: each node adds up what its shards have, and folds them

my @sums = (q(SELECT (doc ->> 'n')::int, count(*), count(doc ->> 'k'), sum(b), avg(b)::numeric(20,3) FROM g WHERE a = 'a7' GROUP BY 1 ORDER BY 1), q(SELECT count(*), sum(b) FROM g WHERE a = 'a8' AND (doc ->> 'n')::int > 2), q(SELECT count(*) FROM g),
	q(SELECT (doc ->> 'n')::int, count(*), sum(b), avg(b)::numeric(20,3) FROM g GROUP BY 1 ORDER BY 1), q(SELECT a, count(*) FROM g WHERE a IN ('a1', 'a2', 'a3') GROUP BY 1 HAVING count(*) > 1 ORDER BY 1), q(SELECT count(DISTINCT (doc ->> 'n')::int) FROM g WHERE a = 'a9'));
foreach my $query (@sums)
{
	foreach my $node (@nodes)
	{
		like(planned($node, $query), qr/IndexTableTotals\) on g_\d+ .*Totals: gl_s_\d+/s, $node->name . ": $query");
		is(sql($node, $query), sql($node, $query =~ s/FROM g\b/FROM (SELECT * FROM g OFFSET 0) g/r), 'which is right');
	}
}
my $own = q(SELECT count(*), sum(b) FROM g WHERE a = 'a7';);
my $before = sql($w1, $own);
is(sql($w1, "BEGIN; DELETE FROM g WHERE a = 'a7'; SAVEPOINT s; INSERT INTO g VALUES ('a7', 5, d(1)), ('a7', 6, NULL); $own ROLLBACK TO s; $own ROLLBACK; $own"), "2|11\n0|\n$before", 'a transaction sees what it has changed itself');
is(sql($w2, q(SELECT key, rows, sums FROM indextable.totals('gl_s', '{"a": "a7", "n": 3}'))), sql($w2, q(SELECT '{"a": "a7", "n": 3}', count(*), jsonb_build_object('b', sum(b)) FROM (SELECT * FROM g OFFSET 0) g WHERE a = 'a7' AND (doc ->> 'n')::int = 3)), 'totals()');
like(planned($c, q(SELECT e, count(*) FROM g, jsonb_array_elements_text(doc -> 'tags') e WHERE a = 'a7' GROUP BY 1)), qr/^(?!.*IndexTableTotals)/s, 'plain SQL of elements does without them');
sub unfolded { my ($name) = @_; return sql($c, $name eq 'gl_s' ? 'SELECT count(*) - count(DISTINCT (a, n)) FROM gl_s' : 'SELECT count(*) - count(DISTINCT (a, tags)) FROM gl_e'); }
everywhere(\@nodes, 'SELECT indextable.stop_workers()');
for my $i (1 .. 40) { sql(pick(@nodes), "UPDATE g SET doc = d($i) WHERE a = 'a$_'") for $i, $i + 1; }
cmp_ok(unfolded('gl_s'), '>', 200, 'what statements have added');
sql($c, "SELECT indextable.drain('g')");
is(join(' ', map { unfolded($_) } 'gl_s', 'gl_e'), '0 0', 'drain() has it folded on all nodes');
converged($c, 'folded');

# A shard that Citus copies while it is written is published, and not folded. One of each node is, here by hand.
my %published = map { my ($node) = $_; $_->name => (split /\n/, sql($_, q(SELECT shardid FROM citus_shards JOIN pg_dist_node USING (nodeport) JOIN pg_dist_local_group USING (groupid) WHERE table_name = 'gl_s'::regclass ORDER BY 1)))[0] } @nodes;
sql($_, "SET citus.enable_ddl_propagation = off; CREATE PUBLICATION copied FOR TABLE gl_s_$published{$_->name}") for @nodes;
sql($c, 'UPDATE g SET doc = d(b + 5)', 'UPDATE g SET doc = d(b + 2)', "SELECT indextable.drain('g')");
my %left = map { split /\|/ } split /\n/, sql($c, q(SELECT shardid, result FROM run_command_on_shards('gl_s', 'SELECT count(*) - count(DISTINCT (a, n)) FROM %s')));
is(join(' ', sort grep { $left{$_} > 0 } keys %left), join(' ', sort values %published), 'but those that are copied');
sql($_, 'SET citus.enable_ddl_propagation = off; DROP PUBLICATION copied') for @nodes;
everywhere(\@nodes, 'SELECT indextable.start_workers()');
sql($c, 'UPDATE g SET doc = d(b + 1)', 'UPDATE g SET doc = d(b)');
ok(becomes_true($c, 'SELECT count(*) - count(DISTINCT (a, n)) < 300 FROM gl_s'), 'workers fold those of their nodes');
converged($c, 'by workers');

# a prepared statement, planned once for the shard, whose index table is dropped
sql($c, "CREATE TABLE p (t int, id int, doc jsonb, PRIMARY KEY (t, id))", "SELECT create_distributed_table('p', 't')", q(INSERT INTO p SELECT i % 12, i, jsonb_build_object('k', i % 40) FROM generate_series(1, 4000) i), "SELECT indextable.create('p_k', 'p', '{\@t,k}')");
my $kept = session($c);
$kept->query("PREPARE kept (int, text) AS SELECT count(*) FROM p WHERE t = \$1 AND doc ->> 'k' = \$2");
is(join(' ', map { $kept->query("EXECUTE kept ($_, '3')") =~ /(\d+)/ } (0 .. 11) x 2), join(' ', map { sql($c, "SELECT count(*) FROM p WHERE t = $_ AND (doc ->> 'k')::int = 3") } (0 .. 11) x 2), 'a statement that is kept');
sql($c, "SELECT indextable.drop('p_k')");
is(join(' ', map { $kept->query("EXECUTE kept ($_, '3')") =~ /(\d+)/ } 0 .. 11), join(' ', map { sql($c, "SELECT count(*) FROM p WHERE t = $_ AND (doc ->> 'k')::int = 3") } 0 .. 11), 'after its index table was dropped');
$kept->finish;

# ---- roles that have no right on the index tables, and row security

sql($c, 'CREATE ROLE app LOGIN', 'GRANT SELECT, INSERT, UPDATE, DELETE ON g TO app');
like(planned($_, $served, 'ROLE app'), qr/Index Table( Only)?: gl_n_\d+/, 'a role with rights on the fact table alone, on ' . $_->name) for @nodes;
sql($w1, "SET ROLE app; UPDATE g SET doc = doc || '{\"n\": 5}' WHERE a = 'a8' AND b % 3 = 0; DELETE FROM g WHERE a = 'a8' AND b % 5 = 0; INSERT INTO g VALUES ('a8', -8, d(8))");
converged($c, 'which it writes');
sql($c, 'ALTER TABLE g ENABLE ROW LEVEL SECURITY', 'CREATE POLICY even ON g TO app USING (b % 2 = 0)');
is(sql($w2, "SET ROLE app; SELECT count(*) FROM ($served) x"), sql($c, "SELECT count(*) FROM ($served) x WHERE b % 2 = 0"), 'policies hold');
like(planned($w2, $served, 'ROLE app'), qr/Filter: \(\(b % 2\) = 0\)\s+Index Table( Only)?: gl_n_\d+/, 'and are tested on what it finds');
sql($c, 'DROP POLICY even ON g', 'ALTER TABLE g DISABLE ROW LEVEL SECURITY', 'REVOKE ALL ON g FROM app');

# ---- unique keys

sql($c, 'CREATE TABLE u (t int, id bigserial, doc jsonb, PRIMARY KEY (t, id))', "SELECT create_distributed_table('u', 't')", "SELECT indextable.create('u_mail', 'u', '{\@t,mail}', is_unique => true)");
sql($c, q(INSERT INTO u (t, doc) SELECT i, '{"mail": "m"}' FROM generate_series(1, 20) i));
foreach my $node (@nodes)
{
	fails($node, q(INSERT INTO u (t, doc) VALUES (7, '{"mail": "m"}')), qr/23505: /, 'a key that is there, by ' . $node->name);
	fails($node, q(UPDATE u SET doc = '{"mail": "m"}' WHERE t = 8; INSERT INTO u (t, doc) VALUES (8, '{"mail": "n"}'), (8, '{"mail": "n"}')), qr/23505: /, 'two keys of one statement');
	is(sql($node, "INSERT INTO u (t, doc) VALUES (7, jsonb_build_object('mail', '" . $node->name . "')) RETURNING 1"), '1', 'another one');
}
my @writers = map { my $node = $_; map { my ($in, $out) = ('', ''); $in = join '', map { my $m = int rand 40; "INSERT INTO u (t, doc) VALUES (" . int(rand 5) . ", '{\"mail\": \"x$m\"}');\n" } 1 .. 120;
	IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres') ], '<', \$in, '>', '/dev/null', '2>', '/dev/null') } 1 .. 2 } @nodes;
$_->finish for @writers;
is(sql($c, q(SELECT count(*) - count(DISTINCT (t, doc ->> 'mail')), count(*) FILTER (WHERE doc ->> 'mail' LIKE 'x%' AND t < 5) > 150 FROM u)), '0|t', 'six sessions on three nodes want the same keys, and each has one row');
is(sql($c, q(SET indextable.planner = off; SELECT count(*) FROM (SELECT t, doc ->> 'mail', id FROM u EXCEPT ALL SELECT t, mail, id FROM u_mail) x), 'SELECT (SELECT count(*) FROM u) - (SELECT count(*) FROM u_mail)'), "0\n0", 'with one entry');
sql($c, q(INSERT INTO u (t, doc) VALUES (30, '{"mail": "twice", "alias": "a"}'), (30, '{"mail": "once", "alias": "a"}')));
fails($c, "SELECT indextable.create('u_alias', 'u', '{\@t,alias}', is_unique => true)", qr/23505: /, 'rows that share a key cannot have a unique index table');
is(sql($c, "SELECT to_regclass('u_alias')"), '', 'nothing is left of it');
sql($c, 'DROP TABLE u', 'DROP TABLE p');

# ---- shards that move, are split and rebalanced, without and with writers

foreach my $mode ('block_writes', 'force_logical')
{
	foreach my $table ('f', 'gl_t')
	{
		ok(move($table, $mode), "a shard of $table is moved, $mode");
		ok(split_shard($table, $mode), "and one is split, $mode");
	}
	ok(rebalance($mode), "rebalanced, $mode");
	sql($c, 'UPDATE f SET doc = d(pk + 4) WHERE pk % 3 = 1', 'UPDATE g SET doc = d(b + 4) WHERE b % 3 = 1', 'DELETE FROM f WHERE pk % 50 = 3', "INSERT INTO g SELECT 'b' || i, i, d(i) FROM generate_series(1, 100) i ON CONFLICT DO NOTHING");
	converged($c, "written after that, $mode");
	is(moment(@nodes), '', 'as each node sees it');
}
like(planned($c, $served), qr/IndexTable\) on g_\d+ .*Index Table( Only)?: gl_n_\d+/s, 'plain SQL uses shards that were moved or split');
sql($c, 'TRUNCATE g');
is(sql($c, 'SELECT (SELECT count(*) FROM gl_n) + (SELECT count(*) FROM gl_t) + (SELECT count(*) FROM gl_u)'), '0', 'TRUNCATE of shards that were moved');
sql($c, "INSERT INTO g SELECT 'a' || i % 97, i, d(i) FROM generate_series(1, 3000) i");

# a column that later shards do not have, and names that have changed since
sql($c, 'CREATE TABLE n (t int, gone int, id int, doc jsonb, PRIMARY KEY (t, id))', "SELECT create_distributed_table('n', 't')", 'ALTER TABLE n DROP COLUMN gone', 'ALTER TABLE n ADD COLUMN tag text', "SELECT indextable.create('n_k', 'n', '{\@t,\@tag,k}')",
	'ALTER TABLE n RENAME COLUMN tag TO label', 'ALTER TABLE n ADD COLUMN tag int');
ok(move('n', 'block_writes'), 'a shard that lacks a dropped column') for 1 .. 3;
sql($c, q(INSERT INTO n SELECT i % 30, i, jsonb_build_object('k', 'k' || i % 5), 'label ' || i, i FROM generate_series(1, 600) i), 'UPDATE n SET label = label || $$!$$ WHERE id % 2 = 0', 'ALTER TABLE n RENAME TO renamed');
sql($c, 'DELETE FROM renamed WHERE id % 7 = 0');
is(sql($c, q(SET indextable.planner = off; SELECT count(*) FROM (SELECT t, label, doc ->> 'k', id FROM renamed EXCEPT ALL SELECT * FROM n_k) x), q(SELECT (SELECT count(*) FROM n_k) - (SELECT count(*) FROM renamed))), "0\n0", 'has its entries under other names');
sql($c, 'DROP TABLE renamed');

index_tables($c, 'f_k');
is(sql($c, "SELECT indextable.wait('f_k')"), 't', 'an asynchronous index table of the same fact table');

# load NAME, SHARE OF THE TIME IN PERCENT, ACT…: writers on all nodes, and looks at each moment
sub load
{
	my ($name, $share, @acts) = @_;
	my $until = time() + $seconds * $share / 100;
	my ($acts, %wrong) = (0);
	start_load(\@nodes, 4);
	do
	{
		$wrong{ moment(@nodes) } = 1;
		if (@acts) { $acts += pick(@acts)->() ? 1 : 0; }
		$wrong{ moment(@nodes) } = 1;
	} while (time() < $until);
	end_load();
	ok(!@acts || $acts, "$name: $acts times");
	is(join("\n", grep { $_ ne '' } sort keys %wrong), '', "$name: right at each moment");
	return converged($c, $name);
}

load('writes alone', 10);
load('shards moved', 25, map { my $m = $_; sub { move(pick('f', 'g', @beside), $m) } } 'force_logical', 'block_writes');
load('shards split', 15, map { my $m = $_; sub { split_shard(pick('f', 'g', @beside), $m) } } 'force_logical', 'block_writes');
load('rebalanced', 15, (map { my $m = $_; sub { rebalance($m) } } 'force_logical', 'block_writes'), sub { move(pick('f', 'g'), 'force_logical') });
load('nodes killed', 15, map { my $n = $_; sub { kill_node($n) } } @nodes);
my $last = load('all of it', 20, (map { my $m = $_; (sub { move(pick('f', 'g'), $m) }, sub { split_shard(pick('f', 'g'), $m) }) } 'force_logical', 'block_writes'), (map { my $n = $_; sub { kill_node($n) } } @nodes), sub { may('truncates', 'TRUNCATE g') });
my ($done, $errors) = totals();
ok(!grep({ /indextable|index table/ && !/^connection/ } keys %$errors), 'no error of writers is ours');

# ---- verify() and repair()

foreach my $name (@beside)
{
	is(sql(pick(@nodes), "SELECT count(*) FROM indextable.verify('$name')"), '0', "verify() agrees: $name");
}
sql($c, 'SET session_replication_role = replica; DELETE FROM gl_n WHERE b % 10 = 1; UPDATE gl_s SET sum_b = sum_b + 1 WHERE n = 3; UPDATE fl_k SET v = $$wrong$$ WHERE pk % 10 = 1; INSERT INTO fl_k VALUES (-5, $$gone$$, $$gone$$, $$gone$$)');
like(moment(@nodes), qr/gl_n .* lacks/, 'entries that are deleted by hand are missing');
is(sql($w1, "SELECT string_agg(DISTINCT kind, ' ' ORDER BY kind) FROM indextable.verify('fl_k')", "SELECT string_agg(DISTINCT kind, ' ') FROM indextable.verify('gl_n')"), "dangling stale\nmissing", 'verify() finds them');
start_load(\@nodes, 2);
like(sql($c, "CALL indextable.repair('fl_k')"), qr/^0\|1\|[1-9]\d*\|0$/, 'repair() mends them under load');
like(sql($w2, "CALL indextable.repair('gl_n')"), qr/^[1-9]\d*\|0\|0\|0$/, 'on every node');
like(sql($w1, "CALL indextable.repair('gl_s')"), qr/^0\|\d+\|[1-9]\d*\|0$/, 'and totals, also of groups without rows');
end_load();
converged($c, 'repaired');

# triggers that are disabled: the index tables are not used, on any node, until they are repaired
sql($c, 'SET citus.enable_unsafe_triggers = on; ALTER TABLE g DISABLE TRIGGER indextable_row', 'UPDATE g SET doc = d(b + 6) WHERE b % 9 = 1', "INSERT INTO g SELECT 'a7', 700000 + i, d(i) FROM generate_series(1, 1000) i");
is(join(' ', everywhere(\@nodes, "SELECT string_agg(DISTINCT state, ' ') FROM indextable.index_tables WHERE fact_table = 'g'::regclass")), 'invalid invalid invalid', 'triggers are disabled');
unlike(planned($_, $served), qr/IndexTable/, 'and no node uses the index tables: ' . $_->name) for @nodes;
sql($c, "CALL indextable.repair('g')");
is(join(' ', everywhere(\@nodes, "SELECT string_agg(DISTINCT state, ' ') FROM indextable.index_tables WHERE fact_table = 'g'::regclass")), 'active active active', 'repair() makes them active on all nodes');
like(planned($_, $served), qr/Index Table( Only)?: gl_n_\d+/, 'where they are used again: ' . $_->name) for @nodes;
converged($c, 'repaired with its triggers');

# ---- a node that is added, whose first shards say which index tables there are

my $new = new_node('local_3', @settings);
sql($c, "SET citus.enable_unsafe_triggers = on; SELECT citus_add_node('localhost', " . $new->port . ')');
sql($new, 'SELECT indextable.stop_workers()');
ok(rebalance('force_logical'), 'shards come to a new node');
push @nodes, $new;
cmp_ok(sql($c, "SELECT count(*) FROM citus_shards WHERE table_name = 'g'::regclass AND nodeport = " . $new->port), '>', 0, 'which has some');
is(sql($new, "SELECT string_agg(state, ' ') FROM indextable.index_tables WHERE maintenance = 'transactional'"), 'active active active active active active active', 'it knows the index tables');
sql($new, "INSERT INTO g SELECT 'new' || i % 50, i, d(i) FROM generate_series(1, 500) i", "UPDATE f SET doc = d(pk + 12) WHERE pk % 4 = 0");
sql($new, 'SELECT indextable.start_workers()');
converged($c, 'and writes them');
is(moment(@nodes), '', 'as each node sees it');

# ---- what is refused, and what is not beside the shards any more

fails($c, "SELECT indextable.create('x', 'f', $_->[0])", qr/0A000: .*\n(.*\n)*HINT: +$_->[1]/, "refused: $_->[0]")
	for [ "'{k}'", q(Use maintenance => 'async', or begin the key with @pk) ], [ "'{k,\@pk}'", 'Use maintenance' ], [ "'{\@pk::text}'", 'Use maintenance' ], [ "'{k}', is_unique => true", 'Leave out is_unique' ],
	[ "'{\@pk,k}', partitions => 2", 'Leave out partitions' ], [ "'{\@pk,k}', populate => false", 'Leave out populate' ], [ "'{\@pk,k}', sparse => false", 'Leave out sparse' ], [ "'{k}', totals => '{count(*)}'", 'Begin the key with @pk' ], [ "'{}', totals => '{count(*)}'", 'Begin the key with @pk' ];
fails($c, "SELECT indextable.alter('fl_k', maintenance => 'async')", qr/0A000: /, 'alter()');
fails($c, "CALL indextable.rebuild('fl_k')", qr/0A000: /, 'rebuild()');
fails($c, 'INSERT INTO gl_u VALUES ($$a1$$, 1, 1)', qr/42809: /, 'writes by hand');
sql($c, "SELECT update_distributed_table_colocation('gl_u', colocate_with => 'none')");
fails($_, "UPDATE g SET doc = d(b) WHERE a = 'a1'", qr/55000: .*"gl_u" is not beside the shards of table "g"(.*\n)*.*drop\('public.gl_u'\)/, 'writers of a table whose index table is not distributed together with it any more, on ' . $_->name) for @nodes;
is(sql($c, "SELECT count(*) > 0 FROM g WHERE a = 'a1'"), 't', 'readers do without it');
fails($c, q(SELECT * FROM indextable.lookup('gl_u', '{"a": "a7", "twice": 14}')), qr/not distributed together with its fact table/, 'look-ups say so');
sql($c, "SELECT indextable.drop('gl_u')", 'UPDATE g SET doc = d(b + 1)');
converged($c, 'without it all goes on');

# ---- the end

everywhere(\@nodes, 'SELECT indextable.stop_workers()');
sql($c, 'UPDATE f SET doc = d(pk + 2)', "SELECT indextable.drop('f_k')");
everywhere(\@nodes, 'SELECT indextable.start_workers()');
ok(becomes_true($c, 'SELECT coalesce(sum(backlog), 0) = 0 FROM indextable.queues'), 'what was queued for the asynchronous one does not stay');
converged($c, 'without the asynchronous one');
sql($c, 'DROP TABLE f', 'DROP TABLE g');
is(join(' ', everywhere(\@nodes, q{SELECT (SELECT count(*) FROM indextable_internal.definition) + (SELECT count(*) FROM indextable_internal.fact) + (SELECT count(*) FROM indextable_internal.completeness)})), '0 0 0 0', 'nothing is left on any node');
is(sql($c, 'SELECT count(*) FROM pg_dist_partition'), '0', 'nor a distributed table');

diag "$Load::compared{moments} moments with $Load::compared{pairs} comparisons of pairs; $count{moves} moves, $count{splits} splits, $count{rebalances} rebalances, $count{kills} nodes killed, $count{refused} of these refused by Citus";
diag "writers committed $done->{transactions} statements that wrote $done->{writes} rows; in the end $last->{facts} facts and $last->{entries} entries";
diag sprintf '%6d  %s', $errors->{$_}, substr $_, 0, 140 for sort { $errors->{$b} <=> $errors->{$a} } keys %$errors;
$_->stop('immediate') for @nodes;
done_testing();
