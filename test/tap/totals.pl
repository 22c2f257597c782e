# Tables of totals under random changes of several sessions, while others fold, mend, and compare what is counted in the fact
# tables with what is added up, in one snapshot each; a backend that is ended and a crash come in between. Then a dump, a
# standby, and a subscriber that keeps totals of its own. SEED makes the same changes again.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use Oracle;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $SEED = $ENV{SEED} // time() % 100000;
my $CHANGES = $ENV{CHANGES} // 60;
srand($SEED);
note "SEED=$SEED";

my $tables = <<'SQL';
CREATE EXTENSION indextable;
CREATE TABLE f (id int PRIMARY KEY, doc jsonb NOT NULL);
CREATE TABLE p (id int PRIMARY KEY, doc jsonb NOT NULL) PARTITION BY RANGE (id);
CREATE TABLE p_0 PARTITION OF p FOR VALUES FROM (0) TO (100);
CREATE TABLE p_1 PARTITION OF p FOR VALUES FROM (100) TO (200);
CREATE FUNCTION d(x bigint) RETURNS jsonb IMMUTABLE LANGUAGE sql AS $$
	SELECT jsonb_strip_nulls(jsonb_build_object('a', CASE WHEN x % 11 > 0 THEN 'a' || x % 3 END, 'b', CASE WHEN x % 7 > 0 THEN x % 3 END,
		'n', CASE WHEN x % 13 > 0 THEN (x % 1000) / 8.0 END, 'i', CASE WHEN x % 17 > 0 THEN x % 100 - 50 END))
$$;
SQL
my $totals = join '', map { <<"SQL" } 'f', 'p';
SELECT indextable.create('${_}_t', '$_', '{a, b::int}', totals => '{count(*), sum(n::numeric(8,2)), sum(i::int)}');
SELECT indextable.create('${_}_all', '$_', '{}', totals => '{sum(i::int)}');
SQL
my @queries = (
	q(SELECT count(*) FROM %1$s WHERE doc ->> 'a' = 'a1'),
	q(SELECT doc ->> 'a', (doc ->> 'b')::int, count(*), sum((doc ->> 'n')::numeric(8,2)), avg((doc ->> 'i')::int) FROM %1$s GROUP BY 1, 2),
	q(SELECT sum((doc ->> 'i')::int) FROM %1$s));
my $compare = 'CREATE TABLE reached (what text); CREATE PROCEDURE compare(fact text) LANGUAGE plpgsql AS $$ DECLARE question text; native text; kept text; BEGIN FOREACH question IN ARRAY ARRAY['
  . join(', ', map { "\$q\$$_\$q\$" } @queries) . <<'SQL';
] LOOP
	question := format('SELECT string_agg(q::text, '' '' ORDER BY q::text) FROM (%s) q', format(question, fact));
	PERFORM set_config('indextable.planner', 'off', true);
	EXECUTE question INTO native;
	PERFORM set_config('indextable.planner', 'force', true);
	EXECUTE question INTO kept;
	IF native IS DISTINCT FROM kept THEN RAISE 'totals differ: % has %, not %', question, kept, native; END IF;
END LOOP; END $$;
SQL
my $node = new_server('totals', 'wal_level = logical', "shared_preload_libraries = 'indextable'", 'indextable.naptime = 100ms');
$node->safe_psql('postgres', $tables . $compare . join('', map { "INSERT INTO $_ SELECT g, d(g * 31) FROM generate_series(0, 199, 2) g;" } 'f', 'p') . $totals);
$node->backup('backup');

sub change
{
	my ($t, $id, $x) = (rand() < 0.5 ? 'f' : 'p', int(rand(200)), int(rand(100000)));
	my $other = int(rand(200));
	my @kinds = ("INSERT INTO $t VALUES ($id, d($x)) ON CONFLICT (id) DO UPDATE SET doc = excluded.doc",
		"INSERT INTO $t SELECT g, d(g * $x) FROM generate_series($id, least(199, $id + 20)) g ON CONFLICT DO NOTHING",
		"UPDATE $t SET doc = doc || '{\"i\": 7}' WHERE id = $id", "UPDATE $t SET doc = d($x) WHERE id BETWEEN $id AND $id + 3",
		"UPDATE $t SET id = $other WHERE id = $id AND NOT EXISTS (SELECT FROM $t WHERE id = $other)", "DELETE FROM $t WHERE id BETWEEN $id AND $id + 3",
		"WITH moved AS (DELETE FROM $t WHERE id BETWEEN $id AND $id + 2 RETURNING *) INSERT INTO $t SELECT (id + 137) % 200, doc FROM moved ON CONFLICT (id) DO UPDATE SET doc = excluded.doc",
		"SAVEPOINT s; UPDATE $t SET doc = d($x) WHERE id >= $id; ROLLBACK TO s", 'SELECT indextable.drain()');
	return $kinds[rand @kinds] . ";\n";
}

# transaction: one of several changes, sometimes prepared
sub transaction
{
	my $name = 'g' . int(rand(1e9));
	my $isolation = ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')[rand 3];
	return "BEGIN ISOLATION LEVEL $isolation;\n" . join('', map { change() } 1 .. 1 + rand 4)
	  . (rand() < 0.1 ? "PREPARE TRANSACTION '$name';\n" . (rand() < 0.5 ? 'COMMIT' : 'ROLLBACK') . " PREPARED '$name';\n" : rand() < 0.2 ? "ROLLBACK;\n" : "COMMIT;\n");
}

# sessions: starts psql for each script; the pairs of what runs and of the file of its output
my $folder = PostgreSQL::Test::Utils::tempdir;
my $scripts = 0;

sub sessions
{
	return map {
		my $file = "$folder/" . ++$scripts;
		append_to_file($file, $_);
		[ IPC::Run::start([ 'psql', '-qXAt', '-d', $node->connstr('postgres') . ' application_name=changes', '-f', $file ], '>&', "$file.out", IPC::Run::timeout(1800)), "$file.out" ]
	} @_;
}

# exact: that nothing is wrong
sub exact
{
	my ($server, $when) = @_;
	is($server->safe_psql('postgres', q(SELECT v FROM unnest('{f, p}'::regclass[]) t, indextable.verify(t) v)), '', "$when: verify() finds nothing");
	my ($status, $out, $err) = $server->psql('postgres', q(CALL compare('f'); CALL compare('p')));
	is($err, '', "$when: plain queries are answered as without totals");
	like($server->safe_psql('postgres', 'SET indextable.planner = force; EXPLAIN ' . sprintf($queries[0], 'p')), qr/Totals: p_t/, "$when: and from totals");
}

for my $end ('all is done', 'a backend is ended', 'a crash')
{
	my $look = join '', map { "BEGIN ISOLATION LEVEL REPEATABLE READ;\nCALL compare('f');\nCALL compare('p');\nSELECT pg_sleep(0.01);\nCALL compare('p');\nCOMMIT;\n" } 1 .. $CHANGES / 4;
	my @running = sessions((map { join '', (map { transaction() } 1 .. $CHANGES / 4), "INSERT INTO reached VALUES ('$end');\n", map { transaction() } 1 .. $CHANGES } 1 .. 4), "SELECT indextable.drain();\n" x $CHANGES, $look,
		"CALL indextable.repair('f');\nCALL indextable.repair('p');\n" x ($CHANGES / 10));
	my @output;
	if ($end ne 'all is done')
	{
		becomes_true($node, "SELECT count(*) > 0 FROM reached WHERE what = '$end'");
		$node->stop('immediate') if $end eq 'a crash';
		$node->safe_psql('postgres', q(SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE application_name = 'changes' ORDER BY pid LIMIT 1;
			SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'indextable worker')) if $end ne 'a crash';

		# The others would wait for what it has prepared.
		$node->psql('postgres', "ROLLBACK PREPARED '$_'") for $end eq 'a crash' ? () : split /\n/, $node->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts');
	}
	for my $session (@running) { eval { $session->[0]->finish }; push @output, slurp_file($session->[1]); }
	unlike("@output", qr/totals differ|could not fold|XX000/, "$end: no snapshot saw totals that differ");
	is($output[-1] =~ s/^0\|0\|0\|0\n//gmr, '', "$end: repair() found nothing") if $end eq 'all is done';
	$node->start if $end eq 'a crash';
	$node->safe_psql('postgres', "ROLLBACK PREPARED '$_'") for split /\n/, $node->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts');
	exact($node, $end);
}

# a dump
my $dump = PostgreSQL::Test::Utils::tempdir . '/dump.sql';
$node->command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-f', $dump ], 'dump');
my $restored = new_server('restored', "shared_preload_libraries = 'indextable'");
$restored->command_ok([ 'psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-d', $restored->connstr('postgres'), '-f', $dump ], 'restore');
exact($restored, 'restored');
$restored->safe_psql('postgres', "INSERT INTO p VALUES (60, d(4)), (160, d(4)) ON CONFLICT (id) DO UPDATE SET doc = d(5)");
exact($restored, 'written after the restore');

# a standby
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
exact($standby, 'on a standby');
$standby->stop;

# a subscriber
$restored->safe_psql('postgres', 'TRUNCATE f, p');
$node->safe_psql('postgres', 'CREATE PUBLICATION pub FOR TABLE f, p');
my $connection = $node->connstr . ' dbname=postgres';
$restored->safe_psql('postgres', "CREATE SUBSCRIPTION sub CONNECTION '$connection' PUBLICATION pub");
$restored->wait_for_subscription_sync($node, 'sub');
$node->psql('postgres', join '', map { transaction() } 1 .. $CHANGES);
$node->wait_for_catchup('sub');
exact($restored, 'on a subscriber');
is($restored->safe_psql('postgres', 'SELECT count(*), md5(string_agg(p::text, chr(10) ORDER BY id)) FROM p'),
	$node->safe_psql('postgres', 'SELECT count(*), md5(string_agg(p::text, chr(10) ORDER BY id)) FROM p'), 'which has what was changed');
done_testing();
