# Plain SQL that asks a distributed fact table for more than entries have: these tell which shards Citus has to ask. The answers are
# those of Citus at rest, from all nodes, and each rule of what is left to Citus has a query here that would be wrong without it.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @nodes = new_cluster('late', settings => ['indextable.naptime = 100ms']);
my ($c, $w1, $w2) = @nodes;
my $on = 'SET indextable.stale_reads = on;';
my $off = 'SET indextable.planner = off;';
my $analyze = 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)';

sql($c, 'CREATE TABLE p (id bigint PRIMARY KEY, doc jsonb, note text)', "SELECT create_distributed_table('p', 'id')",
	q{INSERT INTO p SELECT i, jsonb_build_object('m', 'm' || i / 2, 'k', 'k' || i % 30, 'b', 'b' || i % 7, 'n', i % 11, 'x', repeat('x', 100)), 'note ' || i % 3 FROM generate_series(1, 900) i},
	"INSERT INTO p VALUES (1001, '{}'), (1002, NULL)",
	"SELECT indextable.create('p_m', 'p', '{m}', maintenance => 'async')", "SELECT indextable.create('p_k', 'p', '{k}', include => '{\@note}', maintenance => 'async')",
	'CREATE TABLE q (id bigint PRIMARY KEY, z text)', "SELECT create_distributed_table('q', 'id', colocate_with => 'p')", q{INSERT INTO q SELECT i, 'z' || i % 5 FROM generate_series(1, 900, 2) i},
	'CREATE TABLE ref (b text PRIMARY KEY, y int)', "SELECT create_reference_table('ref')", q{INSERT INTO ref SELECT 'b' || i, i FROM generate_series(0, 4) i},
	# Many rows of t have the same distribution column.
	'CREATE TABLE t (tenant smallint, id int, doc jsonb, PRIMARY KEY (tenant, id))', "SELECT create_distributed_table('t', 'tenant')",
	q{INSERT INTO t SELECT i % 40, i, jsonb_build_object('c', 'c' || i % 40 / 2, 'common', 'yes', 'w', i) FROM generate_series(1, 4000) i},
	"SELECT indextable.create('t_c', 't', '{c}', maintenance => 'async')", "SELECT indextable.create('t_common', 't', '{common}', maintenance => 'async')",
	'CREATE VIEW seen AS SELECT id, doc, note FROM p WHERE id > 0');
sql($c, "CALL indextable.build('$_')") for qw(p_m p_k t_c t_common);
sql($c, 'SET citus.enable_ddl_propagation = off; CREATE TABLE near (m text, z int)', q{INSERT INTO near VALUES ('m3', 1), ('m4', 2), ('none', 3), (NULL, 4)}, 'ANALYZE near');
ok(becomes_true($_, "SELECT count(*) = 4 FROM indextable.index_tables WHERE state = 'active'"), 'the index tables are active on ' . $_->name) for @nodes;

# answer NODE, SQL: what it returns, or the error
sub answer
{
	my ($node, $sql) = @_;
	my ($status, $out, $err) = $node->psql('postgres', $sql);
	return $status == 0 ? $out : "refused: $err";
}

# late QUERY, TASKS, NAME: entries tell which shards are asked, so many, and the answer is that of Citus
sub late
{
	my ($query, $tasks, $name) = @_;
	my $plan = answer($c, "$on EXPLAIN (COSTS OFF) $query");
	like($plan, qr/^Custom Scan \(IndexTableLate\)\n  Shards: those of the rows that are found when it starts\n.*Index Table Only: [pt]_.*Entry Cond:/s, "by entries: $name") || diag $plan;
	$plan = answer($c, "$on $analyze $query");
	my ($asked) = $plan =~ /Task Count: (\d+)/;
	is($asked // $plan, $tasks, "shards are asked: $name") || diag $plan;
	is(answer($_, "$on $query"), answer($_, "$off $query"), "and right on " . $_->name . ": $name") for $c, $w1;
	return;
}

# left QUERY, NAME, SETTING…: Citus plans all of it
sub left
{
	my ($query, $name, @settings) = @_;
	my $plan = answer($c, join '', $on, (map { "$_;" } @settings), "EXPLAIN (COSTS OFF) $query");
	ok($plan =~ /Citus|^refused/ && $plan !~ /IndexTable/, "left to Citus: $name") || diag $plan;
	return;
}

# ---- what is served

my $one = "SELECT * FROM p WHERE doc ->> 'm' = 'm7' ORDER BY id";
my $tasks = sql($c, "SELECT count(DISTINCT get_shard_id_for_distribution_column('p', i)) FROM generate_series(14, 15) i");
late($one, $tasks, 'whole rows');
late("SELECT doc FROM p WHERE doc ->> 'm' = 'm0'", 1, 'one row');
late("SELECT doc FROM p WHERE doc ->> 'm' = 'none'", 1, 'no row');
late("SELECT p.note, q.z FROM p LEFT JOIN q USING (id) JOIN ref ON p.doc ->> 'b' = ref.b WHERE doc ->> 'm' = 'none'", 1, 'no row of a join');
late("SELECT doc FROM p WHERE doc ->> 'm' IN ('m7', 'none', NULL) ORDER BY 1", $tasks, 'IN');
late("SELECT count(*), max(note), max(doc ->> 'x') FROM p WHERE doc ->> 'm' = 'none'", 1, 'aggregates of no row');
late("SELECT note, count(*), min(doc ->> 'x') FROM p WHERE doc ->> 'm' = 'm7' GROUP BY 1 ORDER BY 1", $tasks, 'groups');
late("SELECT max(doc ->> 'm'), max(doc ->> 'b'), min(id) FROM p WHERE doc ->> 'm' = 'm7'", $tasks, 'the greatest values');
late("SELECT FROM p WHERE doc ->> 'm' = 'm7' AND doc ->> 'x' LIKE 'x%'", $tasks, 'nothing but that there are rows');
late("SELECT id FROM p WHERE doc ->> 'm' = 'm7' AND doc ->> 'b' = 'b1' ORDER BY id", $tasks, 'another condition');
late("SELECT note, doc ->> 'x' AS x FROM seen WHERE doc ->> 'm' = 'm7' ORDER BY note DESC LIMIT 1", $tasks, 'a view, with the condition outside, and LIMIT');
late("SELECT * FROM (SELECT id, doc ->> 'b' AS b FROM p WHERE doc ->> 'm' = 'm7' OFFSET 0) x ORDER BY id", $tasks, 'a subquery');
late("SELECT p.note, q.z FROM p JOIN q USING (id) WHERE doc ->> 'm' = 'm7' ORDER BY 1", $tasks, 'a join with a table that is distributed with it');
late("SELECT p.note, q.z FROM p LEFT JOIN q ON p.id = q.id AND q.z <> 'z1' WHERE doc ->> 'm' = 'm7' ORDER BY 1", $tasks, 'on the side of an outer join that is kept');
late("SELECT p.note, ref.y FROM p JOIN ref ON p.doc ->> 'b' = ref.b WHERE doc ->> 'm' = 'm7' ORDER BY 1", $tasks, 'a join with a reference table');
late("SELECT a.note, b.doc ->> 'x' FROM p a JOIN p b USING (id) WHERE a.doc ->> 'm' = 'm7' AND b.doc ->> 'b' <> 'b99' ORDER BY 1", $tasks, 'a join with itself');
late("SELECT z FROM q WHERE EXISTS (SELECT FROM p WHERE p.id = q.id AND doc ->> 'm' = 'm7' AND doc ->> 'x' <> '')", $tasks, 'EXISTS');
late("SELECT note FROM p WHERE doc ->> 'm' = 'm0' UNION ALL SELECT note FROM p WHERE doc ->> 'm' = 'none' ORDER BY 1", 1, 'UNION ALL');
late("SELECT * FROM t WHERE doc ->> 'c' = 'c1' ORDER BY id", sql($c, "SELECT count(DISTINCT get_shard_id_for_distribution_column('t', i)) FROM generate_series(2, 3) i"), 'many entries of a few values of the distribution column');
late("SELECT 1 FROM p WHERE (doc ->> 'm') = lower('M7') AND doc ? 'x'", $tasks, 'an expression');

# ---- more rows than are worth it

sub fallback
{
	my ($sql) = @_;
	my ($why) = answer($c, "$on $sql") =~ /Fallback: (.*)/;
	return $why // 'none';
}

my $many = "SELECT doc FROM p WHERE doc ->> 'k' = 'k3'";
is(fallback("$analyze $many"), 'more than 4 rows are found', 'half of the shards by default');
is(fallback("SET indextable.late_rows = 29; $analyze $many"), 'more than 29 rows are found', 'a number that is set');
is(fallback("SET indextable.late_rows = 30; $analyze $many"), 'none', 'is the last that is enough');
left($many, 'it is turned off', 'SET indextable.late_rows = 0');
is(fallback("$analyze SELECT doc FROM t WHERE doc ->> 'common' = 'yes'"), 'more than 4 rows are found', 'values of the distribution column are counted');
is(fallback("SET indextable.late_rows = 100; $analyze SELECT doc FROM t WHERE doc ->> 'common' = 'yes'"), '1000 entries or more are found', 'and entries are');
is(answer($c, "$on $many ORDER BY id"), answer($c, "$off $many ORDER BY id"), 'the answer');
like(answer($c, "$on $analyze $many"), qr/Entries: 5\n/, 'not more entries are read than that takes');

# ---- random queries, from all nodes

srand($ENV{SEED} // 7);
sub of { return $_[ int rand @_ ]; }
my ($by_keys, $different) = (0, '');
foreach my $i (1 .. 40)
{
	my $key = of("= 'm" . int(rand 460) . "'", "IN ('m1', 'm" . int(rand 460) . "')", "= ANY (ARRAY['m2', NULL, 'm" . int(rand 460) . "'])", "BETWEEN 'm1' AND 'm2'");
	my $where = of("doc ->> 'm' $key", "doc ->> 'm' $key", "doc ->> 'm' $key AND doc ->> 'b' = 'b" . int(rand 8) . "'", "doc ->> 'm' $key AND " . of("note = 'note 1'", "p.id > 300", "doc ->> 'x' LIKE 'x%'"),
		"doc ->> 'm' $key OR p.id = 5", "doc ->> 'm' $key AND p.id = 33", "doc ->> 'k' = 'k" . int(rand 31) . "'");
	my $what = of('count(*)', 'p.id', 'doc', 'p', 'note, count(*), min(p.id)', 'max(note), max(doc::text)');
	my $from = of('p', 'p', 'p JOIN q USING (id)', 'p LEFT JOIN q USING (id)', "p JOIN ref ON ref.b = p.doc ->> 'b'");
	my $query = "SELECT x::text FROM (SELECT $what FROM $from WHERE $where" . ($what =~ /note, count/ ? ' GROUP BY note' : '') . ') x ORDER BY 1';
	my $node = of(@nodes);
	my $answer = answer($node, "$on $query");
	my $natively = answer($node, "$off $query");
	$by_keys++ if answer($node, "$on EXPLAIN $query") =~ /IndexTableLate/;
	$different .= "$query\n" if $answer ne $natively;
}
is($different, '', 'random queries');
cmp_ok($by_keys, '>', 15, 'some of them by entries first');

# ---- what is left to Citus

left("SELECT doc FROM p WHERE doc ->> 'm' > 'm3'", 'a range');
left('SELECT doc FROM p', 'no condition');
left("SELECT doc FROM p WHERE doc ->> 'b' = 'b1'", 'a condition on no key field');
left("SELECT doc FROM p WHERE doc ->> 'm' = 'm7' AND id = 14", 'the distribution column is given');
left("SELECT p.doc FROM p JOIN q USING (id) WHERE doc ->> 'm' = 'm7' AND q.id = 15", 'or that of another table');
left("SELECT note FROM p WHERE id = 5 UNION ALL SELECT note FROM p WHERE doc ->> 'm' = 'm7'", 'or in another part of the query');
left("SELECT doc FROM p WHERE doc ->> 'm' = (SELECT max(m) FROM near)", 'a value that the query computes');
left($one, 'stale reads are not allowed', 'SET indextable.stale_reads = off');
left("SELECT * FROM p WHERE doc ->> 'm' = 'm7' FOR UPDATE", 'FOR UPDATE');
left("SELECT * FROM p WHERE doc ->> 'm' = 'm7' AND random() < 2", 'a volatile condition');
left("SELECT tableoid, doc FROM p WHERE doc ->> 'm' = 'm7'", 'system columns');
left("SELECT * FROM p TABLESAMPLE system (100) WHERE doc ->> 'm' = 'm7'", 'TABLESAMPLE');
left("INSERT INTO q SELECT id + 5000, doc ->> 'x' FROM p WHERE doc ->> 'm' = 'm7'", 'INSERT of a query');

# Rows that are not found would have these return others.
my $gone = "SELECT FROM p WHERE p.id = q.id AND doc ->> 'm' = 'm7' AND doc ->> 'x' <> ''";
left("SELECT z FROM q WHERE NOT EXISTS ($gone)", 'NOT EXISTS');
left("SELECT z FROM q WHERE id NOT IN (SELECT id FROM p WHERE doc ->> 'm' = 'm7' AND doc ->> 'x' <> '')", 'NOT IN');
left("SELECT z FROM q EXCEPT SELECT doc ->> 'x' FROM p WHERE doc ->> 'm' = 'm7'", 'EXCEPT');
left("SELECT q.z FROM q LEFT JOIN p ON p.id = q.id AND doc ->> 'm' = 'm7' AND doc ->> 'x' <> '' WHERE p.id IS NULL", 'an anti-join');
left("SELECT q.z, p.doc FROM p RIGHT JOIN q ON p.id = q.id AND doc ->> 'm' = 'm7'", 'the side of an outer join that may be NULL');
left("WITH w AS MATERIALIZED (SELECT doc FROM p WHERE doc ->> 'm' = 'm7') SELECT count(*) FROM w", 'a CTE');
left("SELECT z, (SELECT count(*) FROM p WHERE doc ->> 'm' = 'm7' AND doc ->> 'x' <> '') FROM q", 'the subquery of an expression');
late("SELECT p.doc FROM p WHERE doc ->> 'm' = 'm7' AND NOT EXISTS (SELECT FROM q WHERE q.id = p.id AND z = 'none') ORDER BY id", $tasks, 'a table beside NOT EXISTS');
sql($c, 'CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM p');
left("SELECT * FROM barrier WHERE doc ->> 'm' = 'm7'", 'a security barrier');

# A row whose field cannot be cast has no entry, and no other node knows.
sql($c, "SELECT indextable.create('p_cast', 'p', '{x}', include => '{n::int}', maintenance => 'async')", q{INSERT INTO p VALUES (2002, '{"x": "xn", "n": "no number"}')});
sql($c, "SELECT indextable.wait('p_cast')");
ok(becomes_true($c, "SELECT count(*) = 5 FROM indextable.index_tables WHERE state = 'active'"), 'an index table that cannot have some rows');
left("SELECT doc FROM p WHERE doc ->> 'x' = 'xn'", 'a row may be rejected');
is(sql($c, "$on SELECT doc ->> 'n' FROM p WHERE doc ->> 'x' = 'xn'"), 'no number', 'and is found');
sql($c, "SELECT indextable.drop('p_cast')", 'DELETE FROM p WHERE id = 2002');

# The planner also plans each of several greatest values by itself, with a condition that says nothing of the others.
my @scans = answer($c, "$on EXPLAIN (COSTS OFF) SELECT max(doc ->> 'b'), max(note) FROM p WHERE doc ->> 'm' = 'm7'") =~ /Custom Scan \(IndexTable\)/g;
is(scalar @scans, 1, 'entries are searched once for several greatest values');
sql($c, "SELECT indextable.create('p_bk', 'p', '{b,k}', maintenance => 'async')", q{INSERT INTO p VALUES (2003, '{"b": "rare", "k": "k"}', 'a'), (2004, '{"b": "rare"}', 'b')});
sql($c, "CALL indextable.build('p_bk')", "SELECT indextable.wait('p_bk')");
is(answer($c, "$on SELECT max(doc ->> 'k'), max(note), max(doc ->> 'x') FROM p WHERE doc ->> 'b' = 'rare'"), 'k|b|', 'rows without a key field are found');
late("SELECT note FROM p WHERE doc ->> 'b' = 'rare' AND doc ->> 'k' = 'k'", 1, 'two key fields');
sql($c, "SELECT indextable.drop('p_bk')", 'DELETE FROM p WHERE id > 2002');

# ---- explain() says why not

my $why = sub { my ($query) = @_; return sql($c, "$on SELECT string_agg(DISTINCT used || ': ' || reason, '; ' ORDER BY used || ': ' || reason) FROM indextable.explain(\$\$$query\$\$) WHERE index_table IS NULL OR index_table = 'p_m'::regclass") };
is($why->($one), 'true: searched', 'explain(): it is used');
is($why->("SELECT p.note, ref.y FROM p JOIN ref ON p.doc ->> 'b' = ref.b WHERE doc ->> 'm' = 'm7'"), 'true: searched', 'beside other tables of Citus');
like($why->("SELECT doc FROM p WHERE doc ->> 'm' > 'm7'"), qr/^false: entries lack something that is asked for, and do not tell which shards/, 'a range');
like($why->("SELECT p.id, ref.y FROM p JOIN ref ON p.doc ->> 'm' = ref.b"), qr/false: the query names other tables of Citus/, 'other tables of Citus');
like($why->("SELECT z FROM q WHERE NOT EXISTS ($gone)"), qr/false: rows that are there no more/, 'NOT EXISTS');
like($why->("SELECT doc FROM p WHERE doc ->> 'm' = 'm7' AND id = 5"), qr/false: the query names the distribution column/, 'the distribution column');

# ---- what the transaction has written, the moment when it is asked, and kept plans

my $count = "SELECT count(*), max(doc ->> 'x') FROM p WHERE doc ->> 'm' = 'm7'";
my $own = q{INSERT INTO p VALUES (3000, '{"m": "m7"}')};
my $kept = "SET plan_cache_mode = force_generic_plan; PREPARE s AS $count; EXECUTE s;";
my $last = sub { my ($sql) = @_; my ($line) = answer($c, $sql) =~ /([^\n]*)\z/; return $line };
my ($two, $three) = map { $_ . '|' . 'x' x 100 } 2, 3;
is($last->("$on BEGIN; $own; $count; ROLLBACK"), $three, "one's own change");
is($last->("$on $kept BEGIN; $own; EXECUTE s; ROLLBACK"), $three, 'by a plan that was kept, too');
is($last->("$on BEGIN; DECLARE o CURSOR FOR $count; $own; FETCH o; ROLLBACK"), $last->("$off BEGIN; DECLARE o CURSOR FOR $count; $own; FETCH o; ROLLBACK"), 'made between DECLARE and FETCH');
is($last->("$on $kept BEGIN; TRUNCATE p; EXECUTE s; ROLLBACK"), '0|', 'TRUNCATE');
foreach my $level ('REPEATABLE READ', 'SERIALIZABLE')
{
	like(answer($c, "$on BEGIN ISOLATION LEVEL $level; EXPLAIN (COSTS OFF) $one"), qr/^Custom Scan \(Citus|^Sort/, $level);
	like(answer($c, "$on $kept BEGIN ISOLATION LEVEL $level; $analyze EXECUTE s"), qr/^  Fallback: each node has a snapshot/m, "$level, and a plan that was kept");
}
like(answer($c, "$on $kept SET indextable.stale_reads = off; $analyze EXECUTE s"), qr/^  Fallback: .*stale_reads is off/m, 'stale reads are not allowed any more');
is($last->("$on $kept SET indextable.planner = fallback; EXECUTE s"), $two, 'the fallback');
is(answer($c, "$on BEGIN; $count AND doc ->> 'b' = 'none'; EXPLAIN (COSTS OFF) $count") =~ /IndexTableLate/, 1, 'a query without rows is not taken for a function that another node calls');

# ---- how it is asked

my $texts = "SELECT note || (doc ->> 'b') FROM p WHERE doc ->> 'm' IN ('m7', 'm8') ORDER BY id";
foreach my $cursor ('CURSOR', 'SCROLL CURSOR', 'CURSOR WITH HOLD', 'SCROLL CURSOR WITH HOLD')
{
	my $moves = join ' ', map { "$_ c;" } 'FETCH 2 FROM', 'FETCH BACKWARD 1 FROM', 'FETCH ALL FROM', 'FETCH BACKWARD 2 FROM', 'FETCH ABSOLUTE 1 FROM', 'FETCH LAST FROM', 'MOVE ABSOLUTE 0 IN', 'FETCH 1 FROM';
	my ($with) = $cursor =~ / (WITH HOLD)/;
	my $name = $cursor =~ s/ WITH HOLD//r;
	my $ask = sub { my ($set) = @_; return answer($c, "$set BEGIN; DECLARE c $name " . ($with // '') . " FOR $texts; " . ($with ? 'COMMIT;' : '') . $moves) };
	is($ask->($on), $ask->($off), $cursor);
}
sql($c, q{CREATE FUNCTION texts(key text) RETURNS text LANGUAGE plpgsql AS $$ DECLARE r record; t text := ''; BEGIN FOR i IN 1..7 LOOP t := ''; FOR r IN SELECT note, doc FROM p WHERE doc ->> 'm' = key ORDER BY id LOOP t := t || r.note || (r.doc ->> 'b'); END LOOP; END LOOP; RETURN t; END $$},
	q{CREATE FUNCTION rows_of(key text) RETURNS SETOF p STABLE LANGUAGE sql AS $$ SELECT * FROM p WHERE doc ->> 'm' = key ORDER BY id $$});
foreach my $query ("SELECT texts('m7')", "SELECT id, note FROM rows_of('m7')", "COPY ($texts) TO stdout", "DO \$\$ BEGIN PERFORM * FROM p WHERE doc ->> 'm' = 'm7'; IF NOT FOUND THEN RAISE 'none'; END IF; END \$\$",
	"CREATE TEMP TABLE copied AS $texts; TABLE copied", "PREPARE s (text) AS SELECT id, doc FROM p WHERE doc ->> 'm' = \$1 ORDER BY id; EXECUTE s ('m1'); EXECUTE s ('m2'); EXECUTE s ('m3'); EXECUTE s ('m4'); EXECUTE s ('m5'); EXECUTE s ('m6'); EXECUTE s ('m7'); EXECUTE s (NULL)")
{
	is(answer($_, "$on $query"), answer($_, "$off $query"), 'on ' . $_->name . ': ' . substr $query, 0, 30) for @nodes;
}
append_to_file($c->basedir . '/one.sql', "\\set k random(1, 400)\nSELECT doc, note FROM p WHERE doc ->> 'm' = 'm' || :k;\n\\if false\n\\endif\n");
foreach my $protocol ('simple', 'extended', 'prepared')
{
	local $ENV{PGOPTIONS} = '-c indextable.stale_reads=on';
	$w1->command_like([ 'pgbench', '-n', '-M', $protocol, '-t', 12, '-f', $c->basedir . '/one.sql', '-h', $w1->host, '-p', $w1->port, 'postgres' ], qr/processed: 12\/12/, "the $protocol protocol");
}

# ---- rights

sql($c, 'CREATE ROLE reader LOGIN', 'CREATE ROLE nobody LOGIN', 'CREATE ROLE part LOGIN', 'GRANT SELECT ON p TO reader', 'GRANT SELECT (id) ON p TO nobody', 'GRANT SELECT (doc) ON p TO part');
my $as = sub { my ($role, $query) = @_; return "SET ROLE $role; $on $query" };
is($last->($as->('reader', $count)), $two, 'a role that may not read the index table');
like(answer($c, $as->('reader', "$analyze $count")), qr/Rows Found: 2/, 'has its entries read');
fails($c, $as->('nobody', $count), qr/42501: permission denied for table p/, 'a role that may not read the fact table');
is($last->($as->('part', $count)), $two, 'a role that may not read the distribution column');
like(answer($c, $as->('part', "$analyze $count")), qr/^  Fallback: the distribution column may not be read/m, 'is answered by Citus');
my $roles = session($c);
$roles->query("SET plan_cache_mode = force_generic_plan; SET ROLE reader; $on PREPARE s AS $count");
like($roles->query("$analyze EXECUTE s"), qr/Rows Found: 2/, 'a plan is kept, of a role');
like($roles->query("SET ROLE nobody; $on EXECUTE s"), qr/permission denied for table p/, 'and executed by another one, which may not read the table');
$roles->finish;
sql($c, 'ALTER TABLE p ENABLE ROW LEVEL SECURITY', 'CREATE POLICY low ON p USING (id < 100)');
left($one, 'row security');
sql($c, 'DROP POLICY low ON p', 'ALTER TABLE p DISABLE ROW LEVEL SECURITY');

# ---- kept plans, and what becomes of the shards and the index table

my $session = session($c);
$session->query("$on SET plan_cache_mode = force_generic_plan; PREPARE s (text) AS SELECT string_agg(note || (doc ->> 'b'), ',' ORDER BY id) FROM p WHERE doc ->> 'm' = \$1");
my $natively = sub { my ($key) = @_; return answer($c, "$off SELECT string_agg(note || (doc ->> 'b'), ',' ORDER BY id) FROM p WHERE doc ->> 'm' = '$key'") };
my $by_plan = sub { my ($key) = @_; my ($line) = $session->query("EXECUTE s ('$key')") =~ /^(note.*|ERROR.*|.*ERROR:.*)$/m; return $line // '' };
is($by_plan->('m7'), $natively->('m7'), 'a parameter');
my ($shard, $from, $to) = split /\|/, sql($c, "SELECT shardid, nodeport, (SELECT nodeport FROM pg_dist_node n WHERE groupid > 0 AND n.nodeport <> m.nodeport)
	FROM pg_dist_placement JOIN pg_dist_node m USING (groupid) WHERE shardid = get_shard_id_for_distribution_column('p', 14)");
sql($c, "SELECT citus_move_shard_placement($shard, 'localhost', $from, 'localhost', $to, 'block_writes')");
is($by_plan->('m7'), $natively->('m7'), 'after the shard of a row was moved');
my ($half) = split /\n/, sql($c, 'SELECT hashint8(14)');
sql($c, "SELECT citus_split_shard_by_split_points($shard, ARRAY['$half'], ARRAY[(SELECT nodeid FROM pg_dist_node WHERE nodeport = $from), (SELECT nodeid FROM pg_dist_node WHERE nodeport = $to)], 'block_writes')");
is($by_plan->('m7'), $natively->('m7'), 'and split');
# Citus itself makes no plan for all values of a parameter.
$session->query('SET plan_cache_mode = auto');
sql($c, "SELECT indextable.drop('p_m')");
is($by_plan->('m7'), $natively->('m7'), 'without the index table');
sql($c, "SELECT indextable.create('p_m', 'p', '{m}', maintenance => 'async')");
sql($c, "CALL indextable.build('p_m')");
is($by_plan->('m7'), $natively->('m7'), 'with another one');
like($session->query("$analyze EXECUTE s ('m7')"), qr/Rows Found: 2/, 'which it uses');
sql($c, 'ALTER TABLE p ADD COLUMN more int DEFAULT 5', 'ALTER TABLE p DROP COLUMN more');
is($by_plan->('m7'), $natively->('m7'), 'after the columns have changed');

# ---- nodes that are down

my %node_of = map { split /\|/ } split /\n/, sql($c, "SELECT m, nodeport FROM generate_series(1, 400) m JOIN pg_dist_placement ON shardid = get_shard_id_for_distribution_column('p', 2 * m) JOIN pg_dist_node USING (groupid)
	WHERE groupid = (SELECT groupid FROM pg_dist_placement WHERE shardid = get_shard_id_for_distribution_column('p', 2 * m + 1)) AND groupid =
	(SELECT groupid FROM pg_dist_placement WHERE shardid = get_shard_id_for_distribution_column('p_m', 'm' || m))");
my ($here) = grep { $node_of{$_} == $w1->port } sort keys %node_of;
my ($there) = grep { $node_of{$_} == $w2->port } sort keys %node_of;
my %rows = map { ($_ => $natively->("m$_")) } $here, $there;
is($by_plan->("m$_"), $rows{$_}, "before: m$_") for $here, $there;
$w2->stop('immediate');
is($by_plan->("m$here"), $rows{$here}, 'a node is down: rows on another one are found');
like($by_plan->("m$there"), qr/ERROR: .*connect/, 'rows on it are not');
like(answer($c, "$on EXPLAIN (COSTS OFF) $one"), qr/IndexTableLate/, 'planning asks no node');
$w2->start;
is($by_plan->("m$_"), $rows{$_}, "it is back: m$_") for $there, $here;
$session->finish;

# ---- rows are always right while others write: entries that are behind only keep rows from being found

append_to_file($c->basedir . '/writes.sql', "\\set i random(1, 900)\n\\set k random(1, 20)\nUPDATE p SET doc = doc || jsonb_build_object('m', 'm' || :k, 'x', 'x of m' || :k) WHERE id = :i;\n");
my $writes = IPC::Run::start([ 'pgbench', '-n', '-c', 2, '-T', 8, '-f', $c->basedir . '/writes.sql', '-h', $c->host, '-p', $c->port, 'postgres' ], '>', \my $out, '2>', \my $err);
my $reader = session($w1);
$reader->query("$on SET indextable.late_rows = 1000");
my ($wrong, $read, $found) = ('', 0, 0);
my $until = time + 8;
while (time < $until)
{
	my $key = 'm' . (1 + $read++ % 20);
	my $answer = $reader->query("SELECT id || '|' || (doc ->> 'm') || '|' || (doc ->> 'x') FROM p WHERE doc ->> 'm' = '$key' AND doc ->> 'x' LIKE 'x of%'");
	foreach my $line (grep { /\|/ } split /\n/, $answer)
	{
		$found++;
		$wrong .= "$key: $line\n" if $line !~ /\|$key\|x of $key$/;
	}
}
$writes->finish;
$reader->finish;
is($wrong, '', "rows are right while they are written ($found in $read queries)");
sql($c, "SELECT indextable.wait('p_m')");
is(answer($c, "$on SET indextable.late_rows = 1000; SELECT id, doc FROM p WHERE doc ->> 'm' = 'm$_' ORDER BY id"), answer($c, "$off SELECT id, doc FROM p WHERE doc ->> 'm' = 'm$_' ORDER BY id"), "and all are found at rest: m$_") for 1 .. 3;

$_->stop('immediate') for @nodes;
done_testing();
