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

# read BY QUERY: how many entries it has read, of a plan that is executed
sub read_by
{
	my ($query) = @_;
	return sql($c, "$on EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $query") =~ /Entries: (\d+)/ ? $1 : 'none';
}

is(read_by("SELECT id FROM p WHERE doc ->> 'k' = 'k3' ORDER BY id DESC LIMIT 2 OFFSET 1"), 3, 'a LIMIT is passed on, if the order is that of entries');
is(read_by("SELECT id FROM p WHERE doc ->> 'k' = 'k3' LIMIT 4"), 4, 'or any');
is(read_by("SELECT id FROM p WHERE doc ->> 'k' = 'k3' AND doc ->> 'v' > 'v9' LIMIT 4"), 30, 'not with another condition');
is(read_by("SELECT id FROM p WHERE doc ->> 'k' = 'k3' ORDER BY note LIMIT 4"), 30, 'another order');
is(read_by("SELECT id FROM p WHERE doc ->> 'k' = 'k3' ORDER BY doc ->> 'k' FETCH FIRST 4 ROWS WITH TIES"), 30, 'or ties');
is(read_by("SELECT p.id FROM p JOIN near ON p.doc ->> 'k' = near.k WHERE doc ->> 'k' = 'k3' LIMIT 4") , 4, 'a join reads as many as it needs');

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
left("SELECT id FROM p JOIN ref ON doc ->> 'k' = ref.k", 'a reference table beside it');

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

# ---- a part of a statement that Citus runs for a shard, in this process or another one

sql($c, q{CREATE FUNCTION within(bigint) RETURNS text LANGUAGE plpgsql AS $$ DECLARE line text; plan text := '';
	BEGIN FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT count(*) FROM p WHERE doc ->> ''k'' = ''k7''' LOOP plan := plan || line; END LOOP; RETURN plan; EXCEPTION WHEN OTHERS THEN RETURN SQLERRM; END $$});
foreach my $node ($w1, $w2)
{
	my ($id) = split /\n/, sql($node, "SELECT id FROM p WHERE id BETWEEN 1 AND 900 AND get_shard_id_for_distribution_column('p', id) IN
		(SELECT shardid FROM pg_dist_placement JOIN pg_dist_local_group USING (groupid)) ORDER BY id LIMIT 1");
	like(answer($node, "$on SELECT within($id)"), qr/IndexTable/, 'a function on ' . $node->name);
	unlike(answer($node, "$on SET citus.enable_local_execution = $_; SELECT within(id) FROM p WHERE id = $id"), qr/IndexTable/, "within a task, local execution $_") for 'on', 'off';
}

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
sql($c, 'CREATE ROLE part LOGIN', 'GRANT SELECT (id, doc) ON p TO part');
like(sql($c, $as->('part', "EXPLAIN (COSTS OFF) $count")), qr/IndexTable/, 'entries answer for a role that may read some columns');
is(sql($c, $as->('part', $count)), $before, 'of these');
fails($c, $as->('part', "SELECT note FROM p WHERE doc ->> 'k' = 'k7'"), qr/42501: permission denied for table p/, 'not of another column, which entries have');
fails($c, $as->('part', "SELECT id FROM p WHERE doc ->> 'k' = 'k7' AND note = 'note 1'"), qr/42501: permission denied for table p/, 'nor under a condition on it');
my $roles = session($c);
$roles->query("SET plan_cache_mode = force_generic_plan; SET ROLE reader; $on PREPARE s AS $count");
like($roles->query('EXPLAIN (ANALYZE, COSTS OFF) EXECUTE s'), qr/Entries: $before/, 'a plan is kept, of a role');
like($roles->query("SET ROLE nobody; $on EXECUTE s"), qr/permission denied for table p/, 'and executed by another one, which may not read the table');
like($roles->query("SET ROLE part; $on EXPLAIN (ANALYZE, COSTS OFF) EXECUTE s"), qr/Entries: $before/, 'by one that may');
sql($c, 'REVOKE SELECT ON p FROM reader');
like($roles->query("SET ROLE reader; $on EXECUTE s"), qr/permission denied for table p/, 'by the first one, which may not any more');
sql($c, 'GRANT SELECT ON p TO reader');
$roles->finish;
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
my ($half) = split /\n/, sql($c, "SELECT hashtext('k7')");
sql($c, "SELECT citus_split_shard_by_split_points($shard, ARRAY['$half'], ARRAY[(SELECT nodeid FROM pg_dist_node WHERE nodeport = $from), (SELECT nodeid FROM pg_dist_node WHERE nodeport = $to)], 'block_writes')");
is(sql($c, "SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = 'p_k'::regclass"), '9', 'its shard is split');
is($session->query("EXECUTE s ('k7')") =~ /(\d+)/ ? $1 : '', $before, 'and it finds the right half');
is($session->query("SET indextable.stale_reads = off; EXECUTE s ('k7')") =~ /(\d+)/ ? $1 : '', $before, 'and by Citus, when stale reads are not allowed any more');
$session->query("SET indextable.planner = fallback; SET indextable.stale_reads = on");
is($session->query("EXECUTE s ('k9')") =~ /(\d+)/ ? $1 : '', sql($c, "SELECT count(*) FROM p WHERE doc ->> 'k' = 'k9'"), 'by the fallback, with a parameter');
$session->finish;


# ---- the statement of a search, which is kept in the session

my $kept = session($c);
my $has = sub { my ($sql) = @_; return $kept->query($sql) =~ /^(.+)\z/ms ? $1 : '' };
my $natively = sub { my ($sql) = @_; return sql($c, "SET indextable.planner = off; $sql") };
$kept->query($on);
my $by_k = "SELECT string_agg(id || note, ',' ORDER BY id) FROM p WHERE doc ->> 'k' = 'k%d'";
is($has->(sprintf $by_k, $_), $natively->(sprintf $by_k, $_), "its statement is kept: k$_") for 7, 8, 9;
$has->("SELECT count(*) FROM (SELECT id FROM p WHERE doc ->> 'k' = 'k3' LIMIT $_) x") for 1 .. 40;
my $statements = "SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'CachedPlanSource' AND ident LIKE '%FROM public.p\\_%'";
is($has->($statements), 2, 'one statement serves all values');
sql($c, 'CREATE TABLE p_more (id int PRIMARY KEY, doc jsonb)', "SELECT create_distributed_table('p_more', 'id')",
	"SELECT indextable.create('p_more_k', 'p_more', '{k}', include => '{v,b,w}', maintenance => 'async')");
sql($c, "CALL indextable.build('p_more_k')");
foreach my $search ([ 'p', "doc ->> 'k' = 'k3'", 'note', "doc ->> 'v'" ], [ 'p', "doc ->> 'k' = 'k3' AND doc ->> 'b' = 'b3'", "doc ->> 'v'" ], [ 'p', "(doc ->> 'n')::int = 4", "doc ->> 'b'" ],
	[ 'p_more', "doc ->> 'k' = 'k3'", "doc ->> 'v'", "doc ->> 'b'", "doc ->> 'w'" ])
{
	my ($table, $where, @fields) = @$search;
	foreach my $columns (0 .. 2 ** @fields - 1)
	{
		my $list = join ', ', (map { $fields[$_] } grep { $columns & 1 << $_ } 0 .. $#fields), 1;
		$has->("SELECT $list FROM $table WHERE $where $_") for 'ORDER BY id DESC', 'ORDER BY id DESC LIMIT 2', 'ORDER BY id', 'ORDER BY id LIMIT 2', '', 'LIMIT 2';
	}
}
my $n = $has->($statements);
is($n, 64, 'many statements are kept, but not all');
$has->("SELECT set_config('search_path', '', false)");
is($has->(sprintf $by_k =~ s/FROM p/FROM public.p/r, 7), $natively->(sprintf $by_k, 7), 'another search_path');
$has->("SET search_path = public");
sql($c, 'CREATE SCHEMA moved', 'GRANT USAGE ON SCHEMA moved TO reader', 'ALTER TABLE p_k SET SCHEMA moved');
is($has->(sprintf $by_k, 8), $natively->(sprintf $by_k, 8), 'another schema of the index table');
sql($c, 'ALTER TABLE moved.p_k SET SCHEMA public', 'ALTER TABLE p_k RENAME TO p_kk');
is($has->(sprintf $by_k, 9), $natively->(sprintf $by_k, 9), 'another name');
sql($c, 'ALTER TABLE p_kk RENAME TO p_k');
sql($c, "SELECT indextable.drop('p_k')", "SELECT indextable.create('p_k', 'p', '{k}', include => '{\@note,v}', maintenance => 'async')");
sql($c, "CALL indextable.build('p_k')");
like($has->('EXPLAIN (COSTS OFF) ' . sprintf $by_k, 7), qr/IndexTable/, 'another index table of the same name, with its columns in another order');
is($has->(sprintf $by_k, 7), $natively->(sprintf $by_k, 7), 'answers');

# ---- planning asks no other node, and what a plan needs may be down when it is executed

my $down = session($c);
$down->query("$on SET plan_cache_mode = force_generic_plan; PREPARE s (text) AS SELECT count(*) FROM p WHERE doc ->> 'k' = \$1");
my $node_of = "SELECT nodeport FROM pg_dist_placement JOIN pg_dist_node USING (groupid) WHERE shardid = get_shard_id_for_distribution_column('p_k', 'k%d')";
my ($there) = grep { sql($c, sprintf $node_of, $_) == $w2->port } 1 .. 29;
my ($here) = grep { sql($c, sprintf $node_of, $_) == $w1->port } 1 .. 29;
my %rows = map { ($_ => $natively->("SELECT count(*) FROM p WHERE doc ->> 'k' = 'k$_'")) } $here, $there;
is($down->query("EXECUTE s ('k$_')"), $rows{$_}, "a plan is kept: k$_") for $here, $there;
$w2->stop('immediate');
like(planned($c, $covered), qr/IndexTable/, 'a node is down: a query is planned');
like($down->query("EXECUTE s ('k$there')"), qr/ERROR: .*(connection|connect)/, 'the entries are on it');
is($down->query("EXECUTE s ('k$here')"), $rows{$here}, 'they are on another one');
like($down->query("BEGIN; EXECUTE s ('k$here'); EXECUTE s ('k$there'); ROLLBACK"), qr/^$rows{$here}\n.*ERROR: .*(connection|connect)/s, 'both, in a transaction');
$w2->start;
is($down->query("EXECUTE s ('k$_')"), $rows{$_}, "it is back: k$_") for $there, $here;
$down->finish;
is(sql($c, "$on $covered"), sql($c, "SET indextable.planner = off; $covered"), 'and another session is answered');

$_->stop('immediate') for @nodes;
done_testing();
