# Snapshots that another session has exported: they may be older than those that a session has seen before. Plain SQL with
# them answers as natively, and lookup() as plain SQL, or it says that the index table is newer.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('planner_snapshots', "shared_preload_libraries = 'indextable'", 'indextable.advice = off');
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION indextable;
CREATE FUNCTION d(k text) RETURNS jsonb LANGUAGE sql AS $$ SELECT jsonb_build_object('k', k, 'v', k || ' row') $$;
CREATE TABLE p (pk int PRIMARY KEY, doc jsonb) PARTITION BY RANGE (pk);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20);
INSERT INTO p SELECT i, d('a') FROM generate_series(0, 19) i;
SELECT indextable.create('p_k', 'p', '{k}', include => '{v}');
SQL

my $holder = session($node);
my $reader = session($node);
my $entries = "SELECT count(doc ->> 'v') FROM p WHERE doc ->> 'k' = 'a'";
my $rows = "SELECT count(doc) FROM p WHERE doc ->> 'k' = 'a'";
my $lookup = q(SELECT count(*) FROM indextable.lookup('p_k', '{"k": "a"}'));

# compare: whether all answers are the same number; what lookup() says is its last argument
sub compare
{
	my ($what, $count, $by_lookup) = @_;
	for my $planner ('off', 'force')
	{
		$reader->query("SET LOCAL indextable.planner = $planner");
		is($reader->query($entries), $count, "$what: entries, $planner");
		is($reader->query($rows), $count, "$what: rows, $planner");
	}
	if (ref $by_lookup) { like($reader->query("SAVEPOINT s; $lookup"), $by_lookup, "$what: lookup()"); }
	else { is($reader->query($lookup), $by_lookup, "$what: lookup()"); }
	$reader->query('ROLLBACK');
}

for (
	[ 'rows', "DELETE FROM p WHERE pk = 3; UPDATE p SET doc = d('b') WHERE pk = 4; INSERT INTO p VALUES (3, d('a'))", 20, 19, 20 ],
	[ 'TRUNCATE of a partition', 'TRUNCATE p1', 10, 10, 10 ],
	[ 'DROP and CREATE of an index table', "SELECT indextable.drop('p_k'); SELECT indextable.create('p_k', 'p', '{k}', include => '{v}')", 10, 10, qr/newer than the snapshot/ ],
	[ 'DETACH', 'ALTER TABLE p DETACH PARTITION p2', 0, 0, 0 ],
	[ 'ATTACH', 'ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (10) TO (20)', 10, 10, qr/newer than the snapshot/ ])
{
	my ($what, $sql, $old, $new, $old_lookup) = @$_;
	$holder->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
	my $snapshot = $holder->query('SELECT pg_export_snapshot()');
	$node->safe_psql('postgres', $sql);
	# the reader has seen everything by a newer snapshot, and keeps what it has found
	$reader->query('BEGIN');
	compare("after $what", $new, $new);
	$reader->query("BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$snapshot'");
	compare("before $what", $old, $old_lookup);
	$holder->query('ROLLBACK');
}

# A constraint that is validated, and believed, says nothing of rows that only an older snapshot sees: neither to a plan that
# is made for that snapshot, nor to one that was kept.
for (
	[ 'kept_1', q(ADD CONSTRAINT c CHECK (doc ->> 'name' IS NOT NULL) NOT VALID), 'VALIDATE CONSTRAINT c', '{town,name}' ],
	[ 'kept_2', 'ADD more int', 'ALTER more SET NOT NULL', '{town,@more}' ])
{
	my ($kept, $before, $after, $key) = @$_;
	my $count = q(SELECT count(*) FROM c WHERE doc ->> 'town' = 'a');
	$node->safe_psql('postgres', q(CREATE TABLE c (pk int PRIMARY KEY, doc jsonb); INSERT INTO c VALUES (1, '{"town": "a"}')));
	$node->safe_psql('postgres', "ALTER TABLE c $before; SELECT indextable.create('c_k', 'c', '$key')");
	$holder->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
	my $snapshot = $holder->query('SELECT pg_export_snapshot()');
	$node->safe_psql('postgres', 'DELETE FROM c');
	$node->safe_psql('postgres', "ALTER TABLE c $after");
	$node->safe_psql('postgres', 'CREATE TABLE later (); DROP TABLE later');
	$reader->query("SET indextable.planner = force; SET plan_cache_mode = force_generic_plan; PREPARE $kept AS $count");
	is($reader->query("$count; EXECUTE $kept"), "0\n0", "$after: the row is gone");
	like($reader->query("EXPLAIN (COSTS OFF) EXECUTE $kept"), qr/Index Table/, "$after: which the index table tells");
	$reader->query("BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$snapshot'");
	is($reader->query("EXECUTE $kept; $count"), "1\n1", "$after: a snapshot that was imported sees it");
	$reader->query('ROLLBACK; RESET ALL');
	$holder->query('ROLLBACK');
	$node->safe_psql('postgres', 'DROP TABLE c');
}
done_testing();
