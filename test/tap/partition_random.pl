# Random DML on a partitioned fact table by several sessions at once, through the root and through its partitions, while
# another session creates, attaches, detaches, drops and truncates partitions, and gives a column other types, and a worker
# drains. Some index tables are
# partitioned themselves. Now and then, and at the end, each index table is compared with a recompute in plain SQL.
#
#   SEED          what the statements are made from; default: the time. It is printed. How the sessions meet differs from
#                 run to run all the same
#   ROUNDS        how often each session gets a statement; default 350
#   CONCURRENTLY  0: without DETACH CONCURRENTLY

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = $ENV{SEED} || time() % 1000000;
my $rounds = $ENV{ROUNDS} || 350;
my $concurrently = $ENV{CONCURRENTLY} // 1;
srand($seed);
note "SEED=$seed";

my $node = new_server('partition_random', 'max_connections = 30', 'deadlock_timeout = 50ms', 'lock_timeout = 100ms', 'indextable.naptime = 100ms',
	'autovacuum_naptime = 1s');
my $setup = <<'SQL';
CREATE EXTENSION indextable;
-- r chooses the partition: s is a leaf, n has leaves by pk, h by hash, and p0 to p4 come and go
CREATE TABLE f (gone int, doc jsonb, pk int, r text, note text, PRIMARY KEY (pk, r)) PARTITION BY LIST (r);
ALTER TABLE f DROP COLUMN gone;
CREATE TABLE f_s PARTITION OF f FOR VALUES IN ('s', 't');
CREATE TABLE f_n (r text NOT NULL, note text, gone int, pk int NOT NULL, doc jsonb) PARTITION BY RANGE (pk);
ALTER TABLE f_n DROP COLUMN gone;
CREATE TABLE f_n1 PARTITION OF f_n FOR VALUES FROM (MINVALUE) TO (10);
CREATE TABLE f_n2 (pk int NOT NULL, doc jsonb, note text, r text NOT NULL);
ALTER TABLE f_n ATTACH PARTITION f_n2 DEFAULT;
ALTER TABLE f ATTACH PARTITION f_n FOR VALUES IN ('n');
CREATE TABLE f_h PARTITION OF f FOR VALUES IN ('h') PARTITION BY HASH (pk);
CREATE TABLE f_h0 PARTITION OF f_h FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE f_h1 PARTITION OF f_h FOR VALUES WITH (MODULUS 2, REMAINDER 1);
-- Missing fields and JSON null, values that are no number or no array, arrays that are empty or have duplicates; and u, which is rarely the same.
CREATE FUNCTION d(i int) RETURNS jsonb IMMUTABLE LANGUAGE sql AS $$
	SELECT CASE WHEN i % 23 = 0 THEN '{}' WHEN i % 2 = 0 THEN d ELSE jsonb_strip_nulls(d) END
	FROM jsonb_build_object('k', CASE WHEN i % 7 > 1 THEN 'k' || i % 5 END, 'u', CASE WHEN i % 10 > 2 THEN i % 700 END,
		'n', CASE i % 11 WHEN 0 THEN to_jsonb('x'::text) WHEN 1 THEN NULL WHEN 2 THEN 'null' ELSE to_jsonb(i % 9) END,
		't', CASE i % 13 WHEN 0 THEN '[]' WHEN 1 THEN '"t1"' WHEN 2 THEN NULL WHEN 3 THEN '[null, "t2"]' ELSE jsonb_build_array('t' || i % 3, 't' || i % 4) END, 'live', i % 3 = 0) d
$$;
INSERT INTO f (pk, r, doc, note) SELECT i, (ARRAY['s', 't', 'n', 'h'])[1 + i % 4], d(i), 'n' FROM generate_series(1, 40) i;
SELECT indextable.create('f_k', 'f', '{k}');
SELECT indextable.create('f_p', 'f', '{k}', include => '{u,@note}');
SELECT indextable.create('f_d', 'f', '{u}', 'denormalized');
SELECT indextable.create('f_t', 'f', '{t[*]}');
SELECT indextable.create('f_u', 'f', '{u}', is_unique => true);
SELECT indextable.create('f_i', 'f', '{n::int}', on_mismatch => 'skip');
SELECT indextable.create('f_e', 'f', '{k}', sparse => true);
SELECT indextable.create('f_w', 'f', '{k}', filter => '(doc -> ''live'')::boolean');
-- Partitions of these can have entries of one or two partitions of f alone, and are emptied with one that goes.
SELECT indextable.create('f_r', 'f', '{@r, k}', partition_by => 'LIST (r)', partition_bounds => '{IN (''p0''),IN (''p1''),"IN (''p2'', ''p3'')",IN (''s'')}');
SELECT indextable.create('f_v', 'f', '{@r, u}', is_unique => true, partition_by => 'LIST (r)', partition_bounds => '{IN (''p0''),IN (''p3''),IN (''p4''),"IN (''h'', ''n'')"}');
SELECT indextable.create('f_q', 'f', '{k}', include => '{u,@note}', maintenance => 'async');
-- The first without its queued rows, which are all that it may lack.
DO $$ BEGIN EXECUTE (SELECT format('CREATE VIEW queued AS SELECT key1 AS pk, key2 AS r FROM %s UNION ALL SELECT key1, key2 FROM %s', queue, spare)
	FROM indextable_internal.fact WHERE fact_table = 'f'::regclass); END $$;
-- Functions, as the columns that a view reads cannot get another type.
CREATE FUNCTION make_drift() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	e record;
	side text[] := '{}';
BEGIN
	FOR e IN SELECT * FROM (VALUES
		('f_q', 'SELECT doc ->> ''k'', pk, r, doc ->> ''u'', note FROM m WHERE true'),
		('f_k', 'SELECT doc ->> ''k'', pk, r FROM m'),
		('f_p', 'SELECT doc ->> ''k'', pk, r, doc ->> ''u'', note FROM m'),
		('f_d', 'SELECT doc ->> ''u'', pk, r, doc FROM m'),
		('f_t', 'SELECT t, pk, r, count(*)::int FROM m, jsonb_array_elements_text(CASE WHEN jsonb_typeof(doc -> ''t'') = ''array'' THEN doc -> ''t'' WHEN jsonb_typeof(doc -> ''t'') <> ''null'' THEN jsonb_build_array(doc -> ''t'') END) t GROUP BY 1, 2, 3'),
		('f_u', 'SELECT doc ->> ''u'', pk, r FROM m WHERE doc ->> ''u'' IS NOT NULL'),
		('f_r', 'SELECT r, doc ->> ''k'', pk FROM m'),
		('f_e', 'SELECT doc ->> ''k'', pk, r FROM m WHERE doc ->> ''k'' IS NOT NULL'),
		('f_v', 'SELECT r, doc ->> ''u'', pk FROM m WHERE doc ->> ''u'' IS NOT NULL'),
		('f_i', 'SELECT (doc ->> ''n'')::int, pk, r FROM m WHERE doc ->> ''n'' IS NULL OR jsonb_typeof(doc -> ''n'') = ''number'''),
		('f_w', 'SELECT doc ->> ''k'', pk, r FROM m WHERE (doc -> ''live'')::boolean')) v (name, recompute)
	LOOP
		side := side || format('SELECT ''%1$s missing'' AS what, x::text AS entry FROM (%2$s EXCEPT ALL SELECT * FROM %1$s) x', e.name, e.recompute)
			|| format('SELECT ''%1$s extra'', x::text FROM (SELECT * FROM %1$s EXCEPT ALL %2$s) x', e.name, e.recompute);
	END LOOP;
	EXECUTE format('CREATE FUNCTION drift() RETURNS TABLE (what text, entry text) LANGUAGE sql AS %L', 'WITH m AS MATERIALIZED (SELECT pk, r, doc, note FROM f) ' || array_to_string(side, ' UNION ALL '));
	side[1] := replace(replace(side[1], ' FROM m WHERE', ' FROM m WHERE (pk, r) NOT IN (SELECT pk, r FROM queued) AND'), 'SELECT * FROM f_q', 'SELECT * FROM f_q WHERE (pk, r) NOT IN (SELECT pk, r FROM queued)');
	side[2] := replace(replace(side[2], ' FROM m WHERE', ' FROM m WHERE (pk, r) NOT IN (SELECT pk, r FROM queued) AND'), 'SELECT * FROM f_q', 'SELECT * FROM f_q WHERE (pk, r) NOT IN (SELECT pk, r FROM queued)');
	EXECUTE format('CREATE FUNCTION settled_drift() RETURNS TABLE (what text, entry text) LANGUAGE sql AS %L', 'WITH m AS MATERIALIZED (SELECT pk, r, doc, note FROM f) ' || array_to_string(side, ' UNION ALL '));
END $$;
SELECT make_drift();
SELECT indextable.start_workers();
SQL
my %bounds = (k => [qw(k1 k3 k9)], u => [qw(1 3 6)], t => [qw(t1 t2 t3)], n => [qw(2 4 6)]);
$setup =~ s/(indextable\.create\('f_\w', 'f', '\{(\w).*)\);/$1 . partitions($2, @{ $bounds{$2} }) . ');'/ge;
note join "\n", $setup =~ /^SELECT indextable\.create.*/gm;
$node->safe_psql('postgres', $setup);

# ---- statements

sub pick { return $_[ int(rand(@_)) ]; }
sub chance { return rand() < $_[0]; }
sub num { return int(rand(1000000)); }
sub pk { return 1 + int(rand(24)); }
sub part { return 'p' . int(rand(5)); }
sub r { return pick('s', 't', 'n', 'h', part(), part()); }
sub tab { return pick('f', 'f', 'f', 'f', 'f', 'f_s', 'f_n', 'f_n1', 'f_n2', 'f_h', 'f_h0', 'f_h1', part(), part()); }
sub rows { return pick('pk = ' . pk(), 'pk = ' . pk(), 'pk % 5 = ' . int(rand(5)), "r = '" . r() . "'", 'pk = ' . pk() . " AND r = '" . r() . "'"); }

sub dml
{
	my ($pk, $r, $d, $where, $tab) = (pk(), r(), 'd(' . num() . ')', rows(), tab());
	my $insert = "(pk, r, doc, note) VALUES ($pk, '$r', $d, 'i')";
	return pick(
		"INSERT INTO $tab $insert",
		"INSERT INTO f $insert",
		"INSERT INTO f $insert ON CONFLICT DO NOTHING",
		"INSERT INTO $tab $insert ON CONFLICT (pk, r) DO UPDATE SET doc = excluded.doc",
		"INSERT INTO f (pk, r, doc) SELECT g, '$r', d(g + " . num() . ") FROM generate_series($pk, $pk + 5) g ON CONFLICT (pk, r) DO UPDATE SET doc = excluded.doc, note = 'c'",
		"UPDATE $tab SET doc = $d WHERE $where AND pk = $pk",
		"UPDATE $tab SET doc = d(pk + " . num() . ") WHERE $where",
		"UPDATE $tab SET note = 'n' || pk % 3, doc = doc || '{\"k\": \"w\"}' WHERE $where",
		"UPDATE f SET r = '$r' WHERE $where",
		"UPDATE f SET r = '$r', doc = $d WHERE $where AND pk = $pk",
		"UPDATE f_n SET pk = pk + " . pick(-10, 10) . " WHERE $where",
		"UPDATE f SET pk = 25 - pk, r = '$r' WHERE pk = $pk",
		"DELETE FROM $tab WHERE $where",
		"MERGE INTO f USING (VALUES ($pk, '$r')) s (pk, r) ON f.pk = s.pk AND f.r = s.r WHEN MATCHED AND f.pk % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET doc = $d, r = '" . r() . "' WHEN NOT MATCHED THEN INSERT (pk, r, doc) VALUES (s.pk, s.r, $d)",
		"WITH x AS (DELETE FROM $tab WHERE $where RETURNING *) INSERT INTO f (pk, r, doc, note) SELECT pk, '$r', doc, note FROM x ON CONFLICT DO NOTHING",
		"SELECT count(*) FROM indextable.lookup(NULL::f, '" . pick('f_k', 'f_p', 'f_q', 'f_w') . "', '{\"k\": \"k2\"}')");
}

sub ddl
{
	my ($p, $q) = (part(), part());
	my $for = "FOR VALUES IN ('$p')";
	my $rows = "INSERT INTO $p (pk, r, doc) SELECT g, '$p', d(g + " . num() . ') FROM generate_series(1, ' . int(rand(20)) . ') g ON CONFLICT DO NOTHING';
	return pick(
		"CREATE TABLE $p PARTITION OF f $for",
		"CREATE TABLE $p PARTITION OF f $for PARTITION BY RANGE (pk); CREATE TABLE ${p}_1 PARTITION OF $p FOR VALUES FROM (0) TO (12); CREATE TABLE ${p}_2 PARTITION OF $p DEFAULT",
		"CREATE TABLE $p (note text, gone int, pk int NOT NULL, doc jsonb, r text NOT NULL); ALTER TABLE $p DROP COLUMN gone; $rows",
		"CREATE TABLE $p (pk int NOT NULL, r text NOT NULL, doc jsonb, note text); $rows; ALTER TABLE f ATTACH PARTITION $p $for",
		"CREATE TABLE $p (r text NOT NULL, pk int NOT NULL, doc jsonb, note text) PARTITION BY HASH (r, pk); CREATE TABLE ${p}_1 PARTITION OF $p FOR VALUES WITH (MODULUS 1, REMAINDER 0); $rows; ALTER TABLE f ATTACH PARTITION $p $for",
		"ALTER TABLE f ATTACH PARTITION $p $for", "ALTER TABLE f ATTACH PARTITION $p $for",
		"$rows; ALTER TABLE f ATTACH PARTITION $p $for",
		"ALTER TABLE f DETACH PARTITION $p", "ALTER TABLE f DETACH PARTITION $p; $rows",
		"ALTER TABLE f DETACH PARTITION $p; ALTER TABLE f ATTACH PARTITION $p $for",
		"DROP TABLE $p", "DROP TABLE $p, $q", "DROP TABLE ${p}_1", "ALTER TABLE $p DETACH PARTITION ${p}_1",
		'ALTER TABLE f ALTER note TYPE ' . pick('varchar', 'varchar(40) USING left(note, 2)', 'text COLLATE "C"') . pick('', '; ALTER TABLE f ALTER note TYPE text'), 'ALTER TABLE f ALTER note TYPE text',
		"TRUNCATE $p", "TRUNCATE $p, f_n1", "TRUNCATE f_n", 'TRUNCATE ' . pick('f_s', 'f_n2', 'f_h1', 'f'));
}

# ---- the sessions

my $settings = "\\set VERBOSITY verbose\n\\set SHOW_CONTEXT never\nSET client_min_messages = error";
my @sessions = map { { session => session($node), open => 0, number => $_ } } 1 .. 4;
my $ddl = { session => session($node), open => 0, number => 'ddl' };
my $checker = session($node);
$checker->query(q(SET lock_timeout = '10min'));
$_->{session}->query($settings) for @sessions, $ddl;
$_->{session}->query("\\set ON_ERROR_ROLLBACK on\nSELECT 1") for @sessions[0 .. 2];

# What may fail by rule: unique keys, no partition for a row, the locks and the changes of others, tables that are there
# or not, partitions that are attached or not, or whose columns have other types than those of the fact table, which get no other
# type after changes that are still to be queued.
my %allowed = map { $_ => 1 } qw(23505 23514 42703 42P10 42P21 40001 40P01 55P03 25001 25P02 25P01 3B001 42P01 42P07 42P17 42809 55006 55000 42704 42P16 42804 21000 0A000);
my (@history, %failed, @prepared, $bad, %pending);
my ($number, $samples) = (0, 0);

sub plan_for
{
	my ($s) = @_;
	if (!$s->{open})
	{
		my $kind = rand();
		return dml() if $kind < 0.45;
		return pick('COMMIT', 'COMMIT', 'ROLLBACK') . " PREPARED '" . splice(@prepared, int(rand(@prepared)), 1) . "'" if $kind < 0.6 && @prepared;
		return 'SELECT indextable.drain()' if $kind < 0.63;
		$s->{open} = 1;
		return 'BEGIN ISOLATION LEVEL ' . pick('READ COMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');
	}
	my $kind = rand();
	return dml() if $kind < 0.55;
	return 'SAVEPOINT s; ' . dml() if $kind < 0.65;
	return pick('ROLLBACK TO s', 'ROLLBACK TO s', 'RELEASE s') if $kind < 0.75;
	return 'TRUNCATE ' . pick('f_s', 'f_n1', 'f_h', part()) if $kind < 0.77;
	$s->{open} = 0;
	if ($kind < 0.82 && @prepared < 2)
	{
		return "PREPARE TRANSACTION 'p$number'; ROLLBACK";
	}
	return pick('COMMIT', 'COMMIT', 'ROLLBACK');
}

sub plan_ddl
{
	# One that is half detached is in the way of others for as long as it is.
	return 'ALTER TABLE f DETACH PARTITION ' . (keys %pending)[0] . ' FINALIZE' if %pending && chance(0.4);
	if ($concurrently && chance(0.1))
	{
		my $p = part();
		return "ALTER TABLE f DETACH PARTITION $p CONCURRENTLY";
	}
	return ddl() if chance(0.3);
	return 'BEGIN; ' . join('; ', map { chance(0.2) ? 'SAVEPOINT s; ' . ddl() . '; ' . pick('ROLLBACK TO s', 'RELEASE s') : chance(0.3) ? dml() : ddl() } 1 .. pick(1, 1, 2, 3)) . '; ' . pick('COMMIT', 'COMMIT', 'ROLLBACK');
}

sub finished
{
	my ($s) = @_;
	my $answer = $s->{session}->answer;
	for my $state ($answer =~ /(?:ERROR|FATAL|PANIC):  (\w{5}):/g)
	{
		$failed{$state}++;
		push @history, "-- session $s->{number}: $state";
		$bad //= $answer if !$allowed{$state};
	}
	$bad //= $answer if $answer =~ /server closed|is not registered/;
}

# No partition may come or go between the plan and the snapshot of the comparison.
sub check
{
	my ($view) = @_;
	push @history, "-- check $view";
	my $answer = $checker->query("BEGIN; SET LOCAL lock_timeout = '200ms'; SET LOCAL indextable.planner = off; LOCK TABLE f IN SHARE UPDATE EXCLUSIVE MODE; SELECT * FROM $view(); COMMIT");
	return if $answer =~ /lock timeout|deadlock/;
	$samples++;
	$bad //= $answer if $answer ne '';
}

for my $round (1 .. $rounds)
{
	for my $s (@sessions, $ddl)
	{
		my $sql = $s == $ddl ? plan_ddl() : plan_for($s);
		push @history, "-- session $s->{number}\n$sql;";
		$s->{session}->start($sql);
		$number++;
	}
	finished($_) for @sessions, $ddl;
	# What was prepared indeed, and who is half detached.
	@prepared = split /\n/, $checker->query('SELECT gid FROM pg_prepared_xacts ORDER BY gid');
	%pending = map { $_ => 1 } split /\n/, $checker->query('SELECT inhrelid::regclass FROM pg_inherits WHERE inhdetachpending');
	check('settled_drift') if chance(0.4);
	last if defined $bad;
}

if (!defined $bad)
{
	$_->{session}->query(pick('COMMIT', 'ROLLBACK')) for @sessions, $ddl;
	$ddl->{session}->query("COMMIT PREPARED '$_'") for @prepared;
	$ddl->{session}->query("ALTER TABLE f DETACH PARTITION $_ FINALIZE") for keys %pending;
	check('settled_drift');
	drained($node) || diag 'not drained';
	check('drift');
	is($checker->query(q(SELECT t.index_table, v.* FROM indextable.index_tables t, indextable.verify(t.index_table) v)), '', 'verify() finds nothing at the end');
	is($checker->query(q(SELECT count(*) FROM indextable.index_tables WHERE state <> 'active')), '0', 'all are active');
}
ok(!defined $bad, "index tables equal their recompute in $number statements, SEED=$seed") or diag "$bad\nThe last statements before it:\n" . join "\n", @history > 80 ? @history[ -80 .. -1 ] : @history;
note "$samples comparisons; " . join ', ', map { "$_: $failed{$_}" } sort keys %failed;
cmp_ok($samples, '>', $rounds / 10, 'enough comparisons') if !defined $bad;
append_to_file(PostgreSQL::Test::Utils::tempdir . '/history.sql', join "\n", @history);

$_->{session}->finish for @sessions, $ddl;
$checker->finish;
$node->stop;
done_testing();
