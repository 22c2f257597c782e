# Plain SQL that names a distributed fact table: what entries answer is what Citus answers at rest, from all nodes, and each rule
# of what they do not answer has a query here that would be wrong without it.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Cluster;
use Digest::MD5 'md5_hex';
use PostgreSQL::Test::Utils;
use Test::More;

my @nodes = new_cluster('plain', settings => ['indextable.naptime = 100ms']);
my ($c, $w1, $w2) = @nodes;
my $on = 'SET indextable.stale_reads = on;';

sql($c, 'CREATE TABLE p (id bigint PRIMARY KEY, doc jsonb, note text)', "SELECT create_distributed_table('p', 'id')",
	q{INSERT INTO p SELECT i, jsonb_build_object('k', 'k' || i % 30, 'b', 'b' || i % 7, 'n', i % 11, 'v', 'v' || i, 'x', repeat('x', 100)), 'note ' || i % 3 FROM generate_series(1, 900) i},
	"INSERT INTO p VALUES (1000, '{\"k\": \"k1\"}'), (1001, '{}'), (1002, NULL)",
	"SELECT indextable.create('p_k', 'p', '{k}', include => '{v,\@note}', maintenance => 'async')",
	"SELECT indextable.create('p_n', 'p', '{n::int}', include => '{b}', maintenance => 'async')",
	"SELECT indextable.create('p_bk', 'p', '{b,k}', include => '{v}', maintenance => 'async')");
sql($c, "CALL indextable.build('$_')") for qw(p_k p_n p_bk);
sql($c, 'SET citus.enable_ddl_propagation = off; CREATE TABLE near (k text, z int)', q{INSERT INTO near VALUES ('k3', 1), ('k4', 2), ('none', 3), (NULL, 4)}, 'ANALYZE near');

# Each node knows by itself when they are complete.
ok(becomes_true($_, "SELECT count(*) = 3 FROM indextable.index_tables WHERE state = 'active'"), 'the index tables are active on ' . $_->name) for @nodes;

# planned NODE, QUERY, SETTING…: how it is planned, or the error with which Citus refuses it
sub planned
{
	my ($node, $query, @settings) = @_;
	return answer($node, join '', $on, (map { "$_;" } @settings), "EXPLAIN (COSTS OFF) $query");
}

# answer NODE, SQL: what it returns, or the error
sub answer
{
	my ($node, $sql) = @_;
	my ($status, $out, $err) = $node->psql('postgres', $sql);
	return $status == 0 ? $out : "refused: $err";
}

# served QUERY, NAME, NATIVELY: entries answer, and as Citus does, which may have to be asked otherwise
sub served
{
	my ($query, $name, $natively) = @_;
	my $plan = planned($c, $query);
	ok($plan =~ /Custom Scan \(IndexTable\)/ && $plan !~ /Citus/, "served: $name") || diag $plan;
	is(answer($c, "$on $query"), answer($c, 'SET indextable.planner = off; ' . ($natively // $query)), "and right: $name");
	return;
}

# left QUERY, NAME, SETTING…: Citus plans all of it
sub left
{
	my ($query, $name, @settings) = @_;
	my $plan = planned($c, $query, @settings);
	ok($plan =~ /Citus|^refused/ && $plan !~ /IndexTable/, "left to Citus: $name") || diag $plan;
	return;
}

# ---- what is served

my $covered = "SELECT id, doc ->> 'v', note FROM p WHERE doc ->> 'k' = 'k3' ORDER BY id";
served($covered, 'a key, and included fields');
like(planned($c, $covered), qr/Shards: 1 of 8/, 'EXPLAIN tells how many shards are asked');
served("SELECT count(*) FROM p WHERE doc ->> 'k' = 'k3'", 'nothing is wanted but that there is an entry');
served("SELECT id FROM p WHERE doc ->> 'k' IN ('k3', 'k5', 'k3', NULL, 'none') ORDER BY 1", 'IN');
served("SELECT doc ->> 'v', count(*) FROM p WHERE doc ->> 'b' = 'b3' AND doc ->> 'k' = 'k3' GROUP BY 1 ORDER BY 1", 'two key fields, and groups');
served("SELECT id, doc ->> 'b' FROM p WHERE (doc ->> 'n')::int = 4 ORDER BY 1", 'a number');
served("SELECT p.id, z FROM p JOIN near ON p.doc ->> 'k' = near.k ORDER BY 1", 'a join with a table of the node');
served("SELECT a.id, b.id FROM p a JOIN p b ON a.doc ->> 'v' = b.doc ->> 'v' WHERE a.doc ->> 'k' = 'k3' AND b.doc ->> 'k' = 'k3' ORDER BY 1", 'a join with itself, which Citus has not', "SELECT id, id FROM p WHERE doc ->> 'k' = 'k3' AND doc ? 'v' ORDER BY 1");
served("SELECT z FROM near WHERE EXISTS (SELECT FROM p WHERE doc ->> 'k' = near.k) ORDER BY 1", 'EXISTS, which Citus refuses', "SELECT z FROM near WHERE k IN ('k3', 'k4') ORDER BY 1");
served("SELECT id FROM p WHERE doc ->> 'k' = 'k3' UNION ALL SELECT id FROM p WHERE doc ->> 'k' = 'k4' ORDER BY 1", 'UNION ALL');
served("SELECT id FROM p WHERE doc ->> 'k' = 'k3' AND doc ->> 'v' > 'v5' ORDER BY id DESC LIMIT 3", 'another condition, and LIMIT');

# ---- random queries, from all nodes

srand($ENV{SEED} // 7);
sub of { return $_[ int rand @_ ]; }
my ($answered, $different) = (0, '');
foreach my $i (1 .. 40)
{
	my $key = of("= 'k" . int(rand 33) . "'", "IN ('k1', 'k" . int(rand 40) . "')", "= ANY (ARRAY['k2', NULL, 'k" . int(rand 40) . "'])", "BETWEEN 'k1' AND 'k2'", 'IS NULL');
	my $where = of("doc ->> 'k' $key", "doc ->> 'k' $key", "doc ->> 'k' $key AND doc ->> 'b' = 'b" . int(rand 8) . "'", "(doc ->> 'n')::int = " . int(rand 12),
		"doc ->> 'k' $key AND " . of("note = 'note 1'", "note IS NULL", "id > 300", "doc ->> 'v' LIKE 'v1%'", "doc ->> 'x' LIKE 'x%'"), "doc ->> 'k' $key OR id = 5", "doc ->> 'k' $key AND id = 33");
	my $what = of('count(*)', 'id', "doc ->> 'v'", "id, doc ->> 'k'", 'note, count(*), min(id)', 'doc', "doc ->> 'b'", 'max(note)');
	my $query = "SELECT $what FROM p WHERE $where" . ($what =~ /note, count/ ? ' GROUP BY note' : '');
	$query = "SELECT x::text FROM ($query) x ORDER BY 1";
	my $node = of(@nodes);
	my $answer = answer($node, "$on $query");
	my $natively = answer($node, "SET indextable.planner = off; $query");
	$answered++ if planned($node, $query) =~ /IndexTable/;
	$different .= "$query\n" if $answer ne $natively;
}
is($different, '', 'random queries');
cmp_ok($answered, '>', 10, 'of which entries have answered some');

# ---- a statement that writes, locks, or names other tables of Citus

left("INSERT INTO p SELECT id + 5000, doc FROM p WHERE doc ->> 'k' = 'k3'", 'INSERT of a query');
left("SELECT id FROM p WHERE doc ->> 'k' = 'k3' FOR UPDATE", 'FOR UPDATE');
sql($c, q{CREATE FUNCTION kept() RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE n bigint; BEGIN FOR i IN 1..8 LOOP SELECT count(*) INTO n FROM p WHERE doc ->> 'k' = 'k7'; END LOOP; RETURN n; END $$});
like(sql($c, "$on SELECT kept(); CREATE TEMP TABLE written AS SELECT 1 AS n; UPDATE written SET n = kept(); TABLE written"), qr/^(\d+)\n\1$/, 'a function that a statement calls which writes');
sql($c, 'CREATE TABLE ref (k text PRIMARY KEY)', "SELECT create_reference_table('ref')", "INSERT INTO ref VALUES ('k3')");
left("SELECT id FROM p JOIN ref ON doc ->> 'k' = ref.k WHERE doc ->> 'k' = 'k3'", 'a reference table beside it');

# ---- all entries, or many

left("SELECT id FROM p WHERE doc ->> 'k' > 'k3'", 'a range');
left("SELECT doc ->> 'k' FROM p", 'no condition');
left("SELECT doc ->> 'k' FROM p ORDER BY doc ->> 'k' LIMIT 3", 'the order alone');
left("SELECT id FROM p WHERE doc ->> 'k' IS NULL", 'rows without entries');
left($covered, 'stale reads are not allowed', 'SET indextable.stale_reads = off');

# ---- the distribution column

left("SELECT id FROM p WHERE doc ->> 'k' = 'k3' AND id = 33", 'the distribution column is given');

# ---- rows that are rejected, of which only one node knows

my $long = join '', map { md5_hex($_) } 1 .. 100;
sql($c, qq{INSERT INTO p VALUES (2000, '{"k": "$long"}'), (2001, '{"k": "kn", "b": "bn", "n": "no number"}')});
sql($c, "SELECT indextable.wait('p_k')");
is(sql($c, "$on SELECT count(*) FROM p WHERE doc ->> 'k' = '$long'"), '1', 'a row whose key is too long is found');
served("SELECT id FROM p WHERE doc ->> 'k' = 'kn'", 'a field that index tables need not cast here');
sql($c, "SELECT indextable.create('p_cast', 'p', '{v}', include => '{n::int}', maintenance => 'async')", q{INSERT INTO p VALUES (2002, '{"v": "vn", "n": "no number"}')});
sql($c, "SELECT indextable.wait('p_cast')");
ok(becomes_true($c, "SELECT count(*) = 4 FROM indextable.index_tables WHERE state = 'active'"), 'an index table that cannot have some rows');
left("SELECT id FROM p WHERE doc ->> 'v' = 'vn'", 'a row may be rejected for a field that no condition is on');
is(sql($c, "$on SELECT id FROM p WHERE doc ->> 'v' = 'vn'"), '2002', 'and is found');
left("SELECT id FROM p WHERE doc ->> 'b' = 'b3'", 'a key field of which no condition says that it is not too long or NULL');
sql($c, 'DELETE FROM p WHERE id IN (2001, 2002)');

# ---- where rows that are there no more would add others

my $gone = "SELECT FROM p WHERE doc ->> 'k' = near.k";
left("SELECT z FROM near WHERE NOT EXISTS ($gone)", 'NOT EXISTS');
left("SELECT z FROM near WHERE k NOT IN (SELECT doc ->> 'k' FROM p WHERE doc ->> 'k' = 'k3')", 'NOT IN');
left("SELECT k FROM near EXCEPT SELECT doc ->> 'k' FROM p WHERE doc ->> 'k' = 'k3'", 'EXCEPT');
left("SELECT z FROM near LEFT JOIN p ON doc ->> 'k' = near.k AND doc ->> 'k' = 'k3' WHERE p.id IS NULL", 'an anti-join');
left("WITH w AS MATERIALIZED (SELECT doc ->> 'k' AS k FROM p WHERE doc ->> 'k' = 'k3') SELECT z FROM near WHERE k NOT IN (SELECT k FROM w)", 'a CTE');
left("SELECT z, (SELECT count(*) FROM p WHERE doc ->> 'k' = 'k3') FROM near", 'the subquery of an expression');

# ---- what the transaction has written

my $count = "SELECT count(*) FROM p WHERE doc ->> 'k' = 'k7'";
my $before = sql($c, $count);
my $own = q{INSERT INTO p VALUES (3000, '{"k": "k7"}')};
sql($c, q{CREATE PROCEDURE write_one(i bigint) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO p VALUES (i, '{"k": "k7"}'); END $$}, "SELECT create_distributed_function('write_one(bigint)', '\$1', colocate_with => 'p')",
	q{CREATE FUNCTION write_two(i bigint) RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO p VALUES (i, '{"k": "k7"}'); RETURN 1; END $$}, "SELECT create_distributed_function('write_two(bigint)', '\$1', colocate_with => 'p')");
foreach my $write ($own, 'CALL write_one(3000)', 'SELECT write_two(3000)', "COPY p (id, doc) FROM stdin;\n3000\t{\"k\": \"k7\"}\n\\.\n")
{
	my ($answer) = (sql($c, "$on BEGIN; $write; $count; ROLLBACK") =~ /(\d+)\s*$/);
	is($answer, $before + 1, "one's own change: " . substr($write, 0, 24));
	($answer) = (sql($c, "$on SET plan_cache_mode = force_generic_plan; PREPARE s AS $count; EXECUTE s; BEGIN; $write; EXECUTE s; ROLLBACK") =~ /(\d+)\s*$/);
	is($answer, $before + 1, 'by a plan that was kept, too');
}
is(sql($c, "$on BEGIN; TRUNCATE p; $count; ROLLBACK"), '0', 'TRUNCATE');
like(sql($c, "$on BEGIN; SAVEPOINT s; $own; ROLLBACK TO s; EXPLAIN (COSTS OFF) $count; ROLLBACK"), qr/Citus/, 'what was undone counts');
like(sql($c, "$on BEGIN; $own; ROLLBACK; EXPLAIN (COSTS OFF) $count"), qr/IndexTable/, 'another transaction is served');

# ---- row security, and what has to be evaluated row by row

left("SELECT id FROM p WHERE doc ->> 'k' = 'k3' AND random() < 2", 'a volatile condition');
left("SELECT tableoid FROM p WHERE doc ->> 'k' = 'k3'", 'system columns') if sql($c, 'SHOW server_version_num') > 0;
left("SELECT id FROM p TABLESAMPLE system (100) WHERE doc ->> 'k' = 'k3'", 'TABLESAMPLE');
sql($c, "CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM p WHERE doc ->> 'k' = 'k3'");
left('SELECT id FROM barrier', 'a security barrier');
foreach my $level ('REPEATABLE READ', 'SERIALIZABLE')
{
	like(sql($c, "$on BEGIN ISOLATION LEVEL $level; EXPLAIN (COSTS OFF) $covered"), qr/Citus/, $level);
	like(sql($c, "$on SET plan_cache_mode = force_generic_plan; PREPARE s AS $covered; EXECUTE s; BEGIN ISOLATION LEVEL $level; EXPLAIN (ANALYZE, COSTS OFF) EXECUTE s"),
		qr/Fallback: each node has a snapshot/, "$level, and a plan that was kept");
}
like(sql($w1, "SET application_name = 'citus_internal gpid=1'; $on EXPLAIN (COSTS OFF) $covered"), qr/Citus/, 'a session of Citus');

# ---- rights

sql($c, 'CREATE ROLE reader LOGIN', 'CREATE ROLE nobody LOGIN', 'GRANT SELECT ON p TO reader', 'GRANT SELECT (id) ON p TO nobody',
	"INSERT INTO p VALUES (4000, '{\"k\": \"reader\"}')", q{CREATE FUNCTION me() RETURNS text STABLE LANGUAGE plpgsql AS $$ BEGIN RETURN current_user; END $$});
sql($c, "SELECT indextable.wait('p_k')");
my $as = sub { my ($role, $query) = @_; return "SET ROLE $role; $on $query" };
is(sql($c, "SELECT has_table_privilege('reader', 'p_k', 'SELECT')"), 'f', 'a role may not read the index table');
like(sql($c, $as->('reader', "EXPLAIN (COSTS OFF) $count")), qr/IndexTable/, 'which answers for it');
is(sql($c, $as->('reader', $count)), $before, 'as it may read the fact table');
is(sql($c, $as->('reader', "SELECT id FROM p WHERE doc ->> 'k' = me()")), '4000', 'values are computed as the caller');
fails($c, $as->('nobody', $count), qr/42501: permission denied for table p/, 'a role that may not read the fact table');
sql($c, 'ALTER TABLE p ENABLE ROW LEVEL SECURITY', 'CREATE POLICY low ON p USING (id < 100)');
left($covered, 'row security');
is(sql($c, $as->('reader', $count)), sql($c, "SET indextable.planner = off; SELECT count(*) FROM p WHERE doc ->> 'k' = 'k7' AND id < 100"), 'which hides rows');
sql($c, 'DROP POLICY low ON p', 'ALTER TABLE p DISABLE ROW LEVEL SECURITY');

# ---- kept plans, and what becomes of the shards

my $session = session($c);
$session->query("$on SET plan_cache_mode = force_generic_plan; PREPARE s (text) AS SELECT count(*) FROM p WHERE doc ->> 'k' = \$1");
like($session->query("EXPLAIN (COSTS OFF) EXECUTE s ('k7')"), qr/IndexTable/, 'a parameter');
is($session->query("EXECUTE s ('k7')") =~ /(\d+)/ ? $1 : '', $before, 'has its answer');
my ($shard, $from, $to) = split /\|/, sql($c, "SELECT shardid, nodeport, (SELECT nodeport FROM pg_dist_node n WHERE groupid > 0 AND n.nodeport <> m.nodeport)
	FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node m USING (groupid) WHERE logicalrelid = 'p_k'::regclass AND shardid = get_shard_id_for_distribution_column('p_k', 'k7')");
sql($c, "SELECT citus_move_shard_placement($shard, 'localhost', $from, 'localhost', $to, 'block_writes')");
is($session->query("EXECUTE s ('k7')") =~ /(\d+)/ ? $1 : '', $before, 'after its shard was moved');
is($session->query("SET indextable.stale_reads = off; EXECUTE s ('k7')") =~ /(\d+)/ ? $1 : '', $before, 'and by Citus, when stale reads are not allowed any more');
$session->query("SET indextable.planner = fallback; SET indextable.stale_reads = on");
is($session->query("EXECUTE s ('k9')") =~ /(\d+)/ ? $1 : '', sql($c, "SELECT count(*) FROM p WHERE doc ->> 'k' = 'k9'"), 'by the fallback, with a parameter');
$session->finish;

# ---- planning asks no other node

$w2->stop('immediate');
like(planned($c, $covered), qr/IndexTable/, 'a node is down: the query is planned');
$w2->start;
is(sql($c, "$on $covered"), sql($c, "SET indextable.planner = off; $covered"), 'and answered when it is back');

$_->stop('immediate') for @nodes;
done_testing();
