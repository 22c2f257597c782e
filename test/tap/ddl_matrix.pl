# Every command beside every other: the first is not committed yet while the second waits for it, or does not; then the first
# commits, or rolls back, the second ends, index tables are compared with a recompute in plain SQL, rows are written, and they are
# compared again.
#
#   PAIRS  how many pairs, chosen by the seed; default 30, which takes about a minute. Or: all (about 5,000, with TEST_TIMEOUT=30000),
#          or what the names of a pair are to match, such as '^create drop_\w+ commit$'
#   SEED   what the pairs are chosen by; default: the time. It is printed

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use List::Util 'shuffle';
use Oracle;
use Test::More;

my $seed = $ENV{SEED} || time() % 1000000;
my $pairs = $ENV{PAIRS} || 30;
srand($seed);
note "SEED=$seed";

my $node = new_server('ddl_matrix', 'client_min_messages = error', 'indextable.advice = off', 'statement_timeout = 600s', "search_path = 's, public'");
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION indextable;
-- what is wrong with the index tables that there are
CREATE FUNCTION problems() RETURNS SETOF text LANGUAGE plpgsql SET indextable.planner = off AS $$
DECLARE
	t record;
	doc name;
	keys text;
BEGIN
	PERFORM indextable.drain();
	FOR t IN SELECT index_table, fact_table, state, problem FROM indextable.index_tables LOOP
		IF t.state <> 'active' THEN
			RETURN NEXT format('%s is %s. %s', t.index_table, t.state, t.problem);
			CONTINUE;
		END IF;
		SELECT attname INTO doc FROM pg_attribute WHERE attrelid = t.fact_table AND atttypid = 'jsonb'::regtype AND NOT attisdropped;
		SELECT string_agg(attname, ', ' ORDER BY attnum) INTO keys FROM pg_attribute a JOIN pg_index i ON indrelid = attrelid AND attnum = ANY (indkey)
			WHERE attrelid = t.fact_table AND indisprimary;
		RETURN QUERY EXECUTE format('
			(SELECT ''%1$s missing '' || x::text FROM (SELECT %3$I ->> ''u'', %4$s FROM %2$s WHERE %3$I ->> ''u'' IS NOT NULL EXCEPT ALL SELECT u, %4$s FROM %1$s) x)
			UNION ALL (SELECT ''%1$s extra '' || x::text FROM (SELECT u, %4$s FROM %1$s EXCEPT ALL SELECT %3$I ->> ''u'', %4$s FROM %2$s) x)
			UNION ALL (SELECT concat_ws('' '', ''%1$s'', kind, primary_key, problem) FROM indextable.verify(''%1$s''))', t.index_table, t.fact_table, doc, keys);
	END LOOP;
END $$;
-- writes the fact tables that there are
CREATE FUNCTION writes() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	doc name;
	t text;
BEGIN
	FOREACH t IN ARRAY ARRAY['s.ev', 's.f'] LOOP
		SELECT attname INTO doc FROM pg_attribute WHERE attrelid = to_regclass(t) AND atttypid = 'jsonb'::regtype AND NOT attisdropped;
		CONTINUE WHEN NOT FOUND;
		EXECUTE format('INSERT INTO %s (%s, %I) VALUES (%s, ''{"u": "w"}'')', t, CASE t WHEN 's.ev' THEN 'day, id' ELSE 'id' END, doc,
			CASE t WHEN 's.ev' THEN '3, 4' ELSE '44' END);
		EXECUTE format('UPDATE %s SET %I = ''{"u": "w2"}'' WHERE id = 2', t, doc);
		EXECUTE format('DELETE FROM %s WHERE id = 3', t);
	END LOOP;
END $$;
SQL

my $tables = <<'SQL';
DROP SCHEMA IF EXISTS s, s2, s3 CASCADE; CREATE SCHEMA s; CREATE SCHEMA s3;
CREATE TABLE ev (day int, id int, doc jsonb, n int DEFAULT 0, x int, PRIMARY KEY (day, id)) PARTITION BY RANGE (day);
CREATE TABLE ev_0 PARTITION OF ev FOR VALUES FROM (0) TO (10); CREATE TABLE ev_1 PARTITION OF ev FOR VALUES FROM (10) TO (20);
CREATE TABLE ev_2 PARTITION OF ev FOR VALUES FROM (20) TO (30) PARTITION BY LIST (id);
CREATE TABLE ev_2a PARTITION OF ev_2 FOR VALUES IN (1, 2, 3, 4); CREATE TABLE ev_2b (LIKE ev INCLUDING ALL);
CREATE TABLE ev_3 (LIKE ev INCLUDING ALL); CREATE TABLE s3.ev_5 (LIKE ev INCLUDING ALL);
CREATE TABLE ev_6 (LIKE ev INCLUDING ALL) PARTITION BY LIST (id); CREATE TABLE ev_6a PARTITION OF ev_6 DEFAULT;
INSERT INTO ev SELECT d, i, jsonb_build_object('u', 'u' || d) FROM unnest('{1,2,11,12,21,22}'::int[]) d, generate_series(1, 3) i;
INSERT INTO ev_2b VALUES (21, 7, '{"u": "x"}'); INSERT INTO ev_3 VALUES (31, 1, '{"u": "y"}'), (32, 2, '{"u": "y"}');
INSERT INTO s3.ev_5 VALUES (51, 1, '{"u": "y"}'); INSERT INTO ev_6 VALUES (61, 1, '{"u": "y"}');
CREATE TABLE f (id int PRIMARY KEY, doc jsonb, n int DEFAULT 0, x int); INSERT INTO f SELECT g, jsonb_build_object('u', 'u' || g) FROM generate_series(1, 5) g;
SQL
my $index_tables = <<'SQL' =~ s/\n//gr;
SELECT indextable.create('i_n', 'ev', '{u}', include => '{@n}'), indextable.create('i_a', 'ev', '{u}', maintenance => 'async'),
indextable.create('i_p', 'ev', '{@day,u}', partition_by => 'RANGE (day)', partition_bounds => ARRAY['FROM (0) TO (10)', 'FROM (10) TO (20)', 'FROM (20) TO (70)']),
indextable.create('g_n', 'f', '{u}', include => '{@n}'), indextable.create('g_a', 'f', '{u}', maintenance => 'async', include => '{@n}')
SQL

# Those that create index tables come first where there are none.
my %creates = (
	create => "SELECT indextable.create('i_n', 'ev', '{u}', include => '{\@n}'), indextable.create('g_n', 'f', '{u}')",
	create_async => "SELECT indextable.create('i_a', 'ev', '{u}', maintenance => 'async'), indextable.create('g_a', 'f', '{u}', maintenance => 'async')",
	create_all => $index_tables,
	create_part => "SELECT indextable.create('i_3', 'ev_3', '{u}')");
my %commands = (
	create_more => "SELECT indextable.create('i_m', 'ev', '{u}'); SELECT indextable.create('g_m', 'f', '{u}')",
	create_part_more => "SELECT indextable.create('i_3', 'ev_3', '{u}')",
	attach => 'ALTER TABLE ev ATTACH PARTITION ev_3 FOR VALUES FROM (30) TO (40)',
	attach_sub => 'ALTER TABLE ev_2 ATTACH PARTITION ev_2b FOR VALUES IN (7, 8)',
	attach_s3 => 'ALTER TABLE ev ATTACH PARTITION s3.ev_5 FOR VALUES FROM (50) TO (60)',
	attach_tree => 'ALTER TABLE ev ATTACH PARTITION ev_6 FOR VALUES FROM (60) TO (70)',
	new => q[CREATE TABLE ev_4 PARTITION OF ev FOR VALUES FROM (40) TO (50); INSERT INTO ev VALUES (41, 1, '{"u": "n"}')],
	new_sub => q[CREATE TABLE ev_2c PARTITION OF ev_2 FOR VALUES IN (9); INSERT INTO ev VALUES (21, 9, '{"u": "n"}')],
	detach => 'ALTER TABLE ev DETACH PARTITION ev_1',
	detach_sub => 'ALTER TABLE ev_2 DETACH PARTITION ev_2a',
	detach_tree => 'ALTER TABLE ev DETACH PARTITION ev_2',
	drop_1 => 'DROP TABLE ev_1',
	drop_2 => 'DROP TABLE ev_2',
	drop_2a => 'DROP TABLE ev_2a',
	drop_two => 'DROP TABLE ev_3, ev_1',
	drop_3 => 'DROP TABLE ev_3',
	drop_2b => 'DROP TABLE ev_2b',
	drop_6a => 'DROP TABLE ev_6a',
	drop_s3 => 'DROP SCHEMA s3 CASCADE',
	truncate => 'TRUNCATE ev_1, f',
	truncate_3 => 'TRUNCATE ev_3, ev_2b',
	truncate_all => 'TRUNCATE ev',
	swap => 'ALTER TABLE ev_1 RENAME TO old; ALTER TABLE ev_3 RENAME TO ev_1',
	swap_3 => 'ALTER TABLE ev_3 RENAME TO old; ALTER TABLE ev_1 RENAME TO ev_3',
	schema => 'CREATE SCHEMA s2; ALTER TABLE ev_3 SET SCHEMA s2; ALTER TABLE f RENAME TO ff; ALTER TABLE ff RENAME TO f',
	type => 'ALTER TABLE ev ALTER COLUMN n TYPE bigint; ALTER TABLE f ALTER COLUMN n TYPE bigint',
	drop_column => 'ALTER TABLE ev DROP COLUMN x; ALTER TABLE f DROP COLUMN x',
	rename => 'ALTER TABLE ev RENAME COLUMN n TO nn; ALTER TABLE f RENAME COLUMN n TO nn',
	rename_doc => 'ALTER TABLE ev RENAME COLUMN doc TO dd; ALTER TABLE f RENAME COLUMN doc TO dd',
	drop => "SELECT indextable.drop('i_n'); SELECT indextable.drop('g_n')",
	drop_table => 'DROP TABLE i_n, g_n',
	alter => "SELECT indextable.alter('i_n', include => '{}'); SELECT indextable.alter('g_n', include => '{}')",
	alter_async => "SELECT indextable.alter('i_n', maintenance => 'async'); SELECT indextable.alter('g_n', maintenance => 'async')",
	alter_back => "SELECT indextable.alter('i_a', maintenance => 'transactional'); SELECT indextable.alter('g_a', maintenance => 'transactional')",
	dml => q[UPDATE ev SET doc = doc || '{"u": "z"}' WHERE id = 1; DELETE FROM f WHERE id = 2; INSERT INTO ev VALUES (13, 9, '{"u": "q"}')],
	dml_3 => q[INSERT INTO ev_3 VALUES (33, 9, '{"u": "q"}'); INSERT INTO ev_2b VALUES (21, 8, '{"u": "q"}')],
	drain => 'SELECT indextable.drain()',
	drop_fact => 'DROP TABLE f; DROP TABLE ev',
	logged => 'ALTER TABLE f SET LOGGED; CLUSTER f USING f_pkey',
	triggers => 'ALTER TABLE f DISABLE TRIGGER ALL',
	add => 'ALTER TABLE f ADD COLUMN z int DEFAULT 7');
# Those that are refused beside index tables, want what the first has made, or are transactions of their own come second.
my %seconds = (
	detach_3 => 'ALTER TABLE ev DETACH PARTITION ev_3',
	detach_4 => 'ALTER TABLE ev DETACH PARTITION ev_4',
	drop_4 => 'DROP TABLE IF EXISTS ev_3, ev_4',
	drop_n => 'ALTER TABLE ev DROP COLUMN n',
	unlogged => 'ALTER TABLE f SET UNLOGGED',
	drop_key => 'ALTER TABLE f DROP CONSTRAINT f_pkey',
	child => 'CREATE TABLE child () INHERITS (f)',
	parent => 'CREATE TABLE parent (id int NOT NULL, doc jsonb, n int); ALTER TABLE f INHERIT parent',
	foreign_key => 'CREATE TABLE k (u text, id int, FOREIGN KEY (u, id) REFERENCES g_n (u, id))',
	detach_conc => 'ALTER TABLE ev DETACH PARTITION ev_1 CONCURRENTLY',
	detach_3_conc => 'ALTER TABLE ev DETACH PARTITION ev_3 CONCURRENTLY',
	detach_sub_conc => 'ALTER TABLE ev_2 DETACH PARTITION ev_2a CONCURRENTLY',
	detach_tree_conc => 'ALTER TABLE ev DETACH PARTITION ev_2 CONCURRENTLY',
	rebuild => "CALL indextable.rebuild('i_n')",
	rebuild_p => "CALL indextable.rebuild('i_p')",
	repair => "CALL indextable.repair('ev')",
	verify => "SELECT count(*) FROM indextable.verify('ev')",
	full => 'VACUUM FULL i_n',
	reindex => 'REINDEX TABLE CONCURRENTLY i_n',
	drop_schema => 'DROP SCHEMA s CASCADE');
# They may make index tables invalid: the one has said so, the other is told so.
my $may_invalidate = qr/triggers|drop_s3/;

my @all = map { my $first = $_; map { my $second = $_; map { "$first $second $_" } qw(commit rollback) } sort keys(%commands), keys %seconds } sort keys(%creates),
	keys %commands;
my @chosen = $pairs eq 'all' ? @all : $pairs =~ /^\d+$/ ? (shuffle @all)[ 0 .. ($pairs < @all ? $pairs : @all) - 1 ] : grep { /$pairs/ } @all;
my ($first, $second, $third) = map { session($node) } 1 .. 3;
my ($pid) = $second->query("\\set VERBOSITY verbose\nSELECT pg_backend_pid()") =~ /(\d+)/;
my ($wrong, $blocked) = (0, 0);

for my $pair (@chosen)
{
	my ($a, $b, $end) = split / /, $pair;
	$third->query($tables . ($creates{$a} ? '' : $index_tables));
	my @problems = $first->query('BEGIN; ' . ($creates{$a} // $commands{$a})) =~ /^(ERROR.*)/mg;
	$second->start($commands{$b} // $seconds{$b});
	# It ends, or waits. If it does neither for long, it goes from one lock to the next: then the first ends a little earlier.
	for (1 .. 200)
	{
		last if $second->has_ended;
		if ($third->query("SELECT 'blocked' WHERE pg_blocking_pids($pid) <> '{}'") =~ /blocked/) { $blocked++; last }
		select undef, undef, undef, 0.02;
	}
	$first->query($end);
	push @problems, $second->answer =~ /^(ERROR: +(?:XX|40|55P03|57)[^\n]*)/mg;
	push @problems, grep { $_ !~ / is invalid/ || $pair !~ $may_invalidate } split /\n/, $third->query('SELECT * FROM problems()');
	push @problems, map { "afterwards: $_" } grep { $_ !~ / is invalid/ } split /\n/, $third->query("SELECT writes();\nSELECT * FROM problems()")
		unless $pair =~ $may_invalidate;
	$wrong++ if @problems;
	diag join "\n\t", "$pair:", @problems if @problems;
}
cmp_ok($blocked, '>', 0, 'the second command of some pairs waited: ' . $blocked) if @chosen > 20;
is($wrong, 0, @chosen . ' pairs of ' . @all . ' leave index tables as they have to be');
$_->finish for $first, $second, $third;
unlike(PostgreSQL::Test::Utils::slurp_file($node->logfile), qr/terminated by signal|TRAP/, 'nothing has crashed');

done_testing();
