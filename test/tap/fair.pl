# Fair shares of the workers: no filter, row, fact table, role or database keeps those of others from being drained, whatever
# it does: sleep, catch its cancellation, end the process, fail in hundreds of queues, or leave something in the session.
# What misbehaves is found in indextable.queues, and goes on when it is mended.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server(
	'fair', "shared_preload_libraries = 'indextable'", 'max_worker_processes = 20', 'indextable.naptime = 100ms', 'indextable.batch_timeout = 300ms', 'autovacuum = off');

sub sql { return $node->safe_psql('postgres', $_[0]); }

sub queue
{
	my ($table, $condition, $name) = @_;
	my $query = "SELECT $condition FROM indextable.queues WHERE fact_table = '$table'::regclass";
	return ok(becomes_true($node, $query), $name) || diag sql("SELECT * FROM indextable.queues WHERE fact_table = '$table'::regclass"), sql('TABLE indextable.rejected');
}

# The table of somebody else is drained, again and again.
my $rows = 0;

sub others_go_on
{
	my ($name) = @_;
	for (1 .. 2)
	{
		sql('INSERT INTO alice.g VALUES (' . ++$rows . q[, '{"k": "a"}')]);
		queue('alice.g', 'backlog = 0', "$name: others go on");
	}
	return;
}

# mallory has a filter that does what the row says.
sql(<<'SQL');
CREATE EXTENSION indextable;
CREATE ROLE alice;
CREATE ROLE mallory;
CREATE SCHEMA mallory AUTHORIZATION mallory;
CREATE SCHEMA alice AUTHORIZATION alice;
SET ROLE mallory;
CREATE FUNCTION mallory.does(what text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN EXECUTE what; RETURN true; END $$;
CREATE FUNCTION mallory.run(doc jsonb) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN mallory.does(doc ->> 'run'); END $$;
CREATE TABLE mallory.f (pk int PRIMARY KEY, doc jsonb);
SELECT indextable.create('mallory.f_k', 'mallory.f', '{k}', filter => 'mallory.run(doc)', maintenance => 'async');
SET ROLE alice;
CREATE TABLE alice.g (pk int PRIMARY KEY, doc jsonb);
SELECT indextable.create('alice.g_k', 'alice.g', '{k}', maintenance => 'async');
SQL
my $key = 0;

sub mallory_runs
{
	my ($what) = @_;
	$key++;
	sql("SET ROLE mallory; INSERT INTO mallory.f VALUES ($key, jsonb_build_object('k', 'x', 'run', \$do\$DO \$\$ BEGIN $what; END \$\$\$do\$::text))");
	return $key;
}

# ---- a row that is too slow

mallory_runs('NULL') for 1 .. 5;
queue('mallory.f', 'backlog = 0', 'quick rows are applied');
my $slow = sub {
	my ($what, $name) = @_;
	my $row = mallory_runs($what);
	sql(q(INSERT INTO mallory.f SELECT g, '{"k": "y", "run": "SELECT"}' FROM generate_series(1001, 3000) g));
	others_go_on($name);
	queue('mallory.f', 'backlog = 0 AND rejected = 1', "$name: it is set aside, and the other rows are applied");
	is(sql('SELECT primary_key, sqlstate, message FROM indextable.rejected'), "{$row}|57014|row takes longer than indextable.batch_timeout allows", "$name: it is shown");
	is(sql('SELECT count(*) FROM mallory.f_k'), sql('SELECT count(*) - 1 FROM mallory.f'), "$name: the others have their entries");
	sql("DELETE FROM mallory.f WHERE pk = $row OR pk > 1000");
	queue('mallory.f', 'backlog = 0 AND rejected = 0 AND last_error IS NULL', "$name: it is gone");
};
$slow->('PERFORM pg_sleep(3600)', 'a filter that sleeps');
# A handler that catches the cancellation, and goes on, does not outlive it; nor what begins anew each time.
$slow->('BEGIN PERFORM pg_sleep(3600); EXCEPTION WHEN query_canceled THEN NULL; END; PERFORM pg_sleep(3600)', 'a filter that catches its cancellation');

# Whatever is slow is tried again when the code is other code.
sql(q(SET ROLE mallory; CREATE FUNCTION mallory.at_rest() RETURNS int LANGUAGE plpgsql AS 'BEGIN PERFORM pg_catalog.pg_sleep(3600); RETURN 1; END'));
my $mended = mallory_runs('PERFORM mallory.at_rest()');
queue('mallory.f', 'backlog = 0 AND rejected = 1', 'a function that sleeps');
sql(q(SET ROLE mallory; CREATE OR REPLACE FUNCTION mallory.at_rest() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'));
queue('mallory.f', 'backlog = 0 AND rejected = 0', 'with another body it is tried again');
is(sql("SELECT count(*) FROM mallory.f_k WHERE pk = $mended"), 1, 'and the row has its entry');

# A filter that drains something else has no more time by that.
sql(<<'SQL');
SET ROLE mallory;
CREATE TABLE mallory.q (pk serial PRIMARY KEY, doc jsonb);
SELECT indextable.create('mallory.q_k', 'mallory.q', '{k}', filter => 'mallory.run(doc)', maintenance => 'async');
SELECT indextable.create('mallory.q_j', 'mallory.q', '{j}', maintenance => 'async');
SQL
$slow->(q(FOR i IN 1..50 LOOP INSERT INTO mallory.q (doc) VALUES ('{"k": 1, "run": "SELECT pg_sleep(3600)"}'); BEGIN PERFORM indextable.drain('mallory.q'); EXCEPTION WHEN feature_not_supported THEN PERFORM pg_sleep(1); END; END LOOP),
	'a filter that drains another table');
sql('SET ROLE mallory; DROP TABLE mallory.q CASCADE');

# ---- a batch that ends the worker

my $log = -s $node->logfile;

sub deaths { return scalar(() = substr(slurp_file($node->logfile), $log) =~ /^.*FATAL:  .*/mg); }

# ends_worker WHAT, NAME: it is set aside after the third time, others go on, and when it is mended it goes on, too
sub ends_worker
{
	my ($what, $name) = @_;
	$log = -s $node->logfile;
	my $row = mallory_runs($what);
	others_go_on($name);
	queue('mallory.f', q(worker_state = 'failing' AND last_error LIKE '% times in a row%'), "$name: it is shown");
	queue('mallory.f', q(next_try > clock_timestamp() + interval '5 s'), "$name: it is set aside");
	note deaths() . ' workers';
	others_go_on("$name, set aside");
	sql("DELETE FROM mallory.f WHERE pk = $row; SET ROLE mallory; CREATE OR REPLACE FUNCTION mallory.at_rest() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN $row; END'");
	queue('mallory.f', 'backlog = 0 AND last_error IS NULL', "$name: mended");
	return;
}
ends_worker(q(PERFORM set_config('exit_on_error', 'on', true); RAISE 'the end'), 'a filter that makes its error fatal');
ends_worker('LOOP BEGIN PERFORM pg_sleep(3600); EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP', 'a filter that catches every cancellation');

# ---- what is left in the session

mallory_runs(q(PERFORM pg_advisory_lock(4711), set_config('exit_on_error', 'on', false), set_config('client_min_messages', 'debug5', false), )
	  . q(set_config('statement_timeout', '1', false), set_config('lock_timeout', '0', false), set_config('my.own', 'x', false)));
queue('mallory.f', 'backlog = 0', 'a filter that changes settings, and takes a lock');
ok(becomes_true($node, q(SELECT count(*) = 0 FROM pg_locks WHERE locktype = 'advisory' AND pid IN (SELECT pid FROM indextable.workers()))), 'its advisory lock is released');
mallory_runs(q(RAISE '% % % % % %', current_setting('exit_on_error'), current_setting('client_min_messages'), current_setting('statement_timeout'),
	current_setting('lock_timeout'), current_setting('my.own', true), pg_try_advisory_lock(4711)));
queue('mallory.f', 'backlog = 0 AND rejected = 1', 'a filter that reads settings');
is(sql('SELECT message FROM indextable.rejected'), 'off notice 0 200ms  t', 'they are those of the worker');
sql('DELETE FROM mallory.f');
queue('mallory.f', 'backlog = 0 AND rejected = 0', 'all is gone');

# ---- hundreds of queues that fail

my $many = 300;
sql("SELECT indextable.stop_workers()");
sql(<<"SQL");
SET ROLE mallory;
SET client_min_messages = error;
CREATE FUNCTION mallory.fails(pk int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS \$\$ BEGIN RAISE disk_full USING MESSAGE = 'no room for ' || pk || repeat('x', 100); END \$\$;
DO \$\$ BEGIN FOR i IN 1..$many LOOP
	EXECUTE format('CREATE TABLE mallory.m%s (pk int PRIMARY KEY, doc jsonb)', i);
	PERFORM indextable.create(format('mallory.m%s_k', i), format('mallory.m%s', i)::regclass, '{k}', maintenance => 'async', filter => 'mallory.fails(pk)');
	EXECUTE format('INSERT INTO mallory.m%s VALUES (%s)', i, i);
	COMMIT;
END LOOP; END \$\$;
SQL
$log = -s $node->logfile;
sql('SELECT indextable.start_workers()');
my $failing = "SELECT count(*) = $many FROM indextable.queues WHERE worker_state = 'failing' AND next_try - last_error_at > interval '5 s'";
ok(becomes_true($node, $failing), "$many queues fail, and all of them are shown") or diag sql(q(SELECT worker_state, count(*) FROM indextable.queues GROUP BY 1));
others_go_on("$many queues that fail");
my $told = () = substr(slurp_file($node->logfile), $log) =~ /ERROR:  no room for/g;
is($told, $many, 'each of them is logged once');
sql(<<"SQL");
DO \$\$ BEGIN FOR i IN 1..$many LOOP
	EXECUTE format('DROP TABLE mallory.m%s', i);
	COMMIT;
END LOOP; END \$\$;
SQL
ok(becomes_true($node, q(SELECT bool_and(last_error IS NULL) FROM indextable.queues)), 'none of them is left');

# ---- many queues whose batches take as long as they may

$many = 40;
sql('SELECT indextable.stop_workers()');
sql(<<"SQL");
SET ROLE mallory;
SET client_min_messages = error;
CREATE FUNCTION mallory.dawdles(pk int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS \$\$ BEGIN PERFORM pg_catalog.pg_sleep(0.1); RETURN true; END \$\$;
DO \$\$ BEGIN FOR i IN 1..$many LOOP
	EXECUTE format('CREATE TABLE mallory.s%s (pk int PRIMARY KEY, doc jsonb)', i);
	PERFORM indextable.create(format('mallory.s%s_k', i), format('mallory.s%s', i)::regclass, '{k}', maintenance => 'async', filter => 'mallory.dawdles(pk)');
	EXECUTE format('INSERT INTO mallory.s%s SELECT g FROM generate_series(1, 20) g', i);
	COMMIT;
END LOOP; END \$\$;
RESET ROLE;
SELECT indextable.start_workers();
SQL
my $longest = 0;
for (1 .. 10)
{
	my $begun = time;
	others_go_on("$many queues of another that are slow");
	$longest = time - $begun if time - $begun > $longest;
}
cmp_ok($longest, "<", 6, 'others wait for one batch of another owner, not for all of his tables');
ok(becomes_true($node, "SELECT count(*) = $many FROM indextable.queues WHERE fact_table::text LIKE 'mallory.s%' AND (last_error IS NOT NULL OR applied > 0)"), 'and each of them has its turn');
sql(<<"SQL");
DO \$\$ BEGIN FOR i IN 1..$many LOOP
	EXECUTE format('DROP TABLE mallory.s%s', i);
	COMMIT;
END LOOP; END \$\$;
SQL

# ---- folding, and checking

sql(<<'SQL');
SELECT indextable.stop_workers();
SET ROLE mallory;
CREATE FUNCTION mallory.rests(k text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN IF EXISTS (SELECT FROM mallory.slow) THEN PERFORM pg_catalog.pg_sleep(3600); END IF; RETURN true; END $$;
CREATE FUNCTION mallory.idx(k text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN mallory.rests(k); END $$;
CREATE TABLE mallory.slow ();
CREATE TABLE mallory.t (pk int PRIMARY KEY, doc jsonb);
SELECT indextable.create('mallory.t_n', 'mallory.t', '{k}', totals => '{count(*)}');
CREATE INDEX ON mallory.t_n (mallory.idx(k));
DO $$ BEGIN FOR i IN 1..200 LOOP
	EXECUTE format('INSERT INTO mallory.t VALUES (%s, ''{"k": "a"}'')', i);
END LOOP; END $$;
SELECT indextable.create('mallory.t_k', 'mallory.t', '{k}', filter => 'mallory.idx(doc ->> ''k'')');
INSERT INTO mallory.slow DEFAULT VALUES;
RESET ROLE;
SELECT indextable.start_workers();
SQL
queue('mallory.t', q(worker_state = 'failing' AND backlog = 0 AND last_error LIKE 'folding "t_n": canceling transaction of a worker due to indextable.batch_timeout%'),
	'folding that takes too long is shown');
others_go_on('folding that takes too long');
sql(q(ALTER SYSTEM SET indextable.check_interval = '1s'));
$node->reload;
queue('mallory.t', q(worker_state = 'failing' AND last_error LIKE 'folding %'), 'it is, still');
ok(becomes_true($node, q(SELECT count(*) > 0 FROM indextable.checks WHERE index_table = 'alice.g_k'::regclass AND error IS NULL)), 'others are checked');
ok( becomes_true($node, q(SELECT count(*) > 0 FROM indextable.checks WHERE index_table = 'mallory.t_k'::regclass AND error LIKE 'canceling transaction%')),
	'a check that takes too long of any sample has failed');
others_go_on('a check that takes too long');
sql(q(DELETE FROM mallory.slow; CREATE FUNCTION mallory.news() RETURNS int LANGUAGE sql RETURN 1));
ok(becomes_true($node, q(SELECT count(*) = 0 FROM indextable.queues WHERE fact_table = 'mallory.t'::regclass)), 'all is mended');
is(sql(q(SELECT count(*) FROM mallory.t_n)), 1, 'and folded');
my $checked = sql('SELECT clock_timestamp()');
ok( becomes_true($node, "SELECT count(*) > 0 FROM indextable.checks WHERE index_table = 'mallory.t_k'::regclass AND error IS NULL AND example IS NULL AND checked_at > '$checked' AND sample = 100"),
	'and checked as a whole');
sql('ALTER SYSTEM RESET indextable.check_interval');

# ---- drain() of all tables of others

sql('SELECT indextable.stop_workers()');
my $drain = sub {
	my ($what) = @_;
	my $row = mallory_runs($what);
	sql('INSERT INTO alice.g VALUES (' . ++$rows . q[, '{"k": "a"}')]);
	return ($row, $node->psql('postgres', 'SELECT indextable.drain()'));
};
my ($rests, $status, $out) = $drain->('PERFORM pg_sleep(3600)');
is("$status $out", '0 2', 'drain() of all tables ends');
is(sql('SELECT fact_table, primary_key, sqlstate FROM indextable.rejected'), "mallory.f|{$rests}|57014", '... and has set aside what takes too long');
my ($catches, $ended, undef, $why) = $drain->('FOR i IN 1..100 LOOP BEGIN PERFORM pg_sleep(3600); EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP');
like($why, qr/FATAL:  terminating process because code goes on after the time limit of a batch/, '... or with its session');
sql("DELETE FROM mallory.f WHERE pk IN ($rests, $catches)");

# The time of the statement ends earlier, and is caught as well.
my $sleeps = mallory_runs('FOR i IN 1..10 LOOP BEGIN PERFORM pg_sleep(10); EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP');
like(($node->psql('postgres', q(SET statement_timeout = '100ms'; SELECT indextable.drain())))[2], qr/FATAL:  terminating process because code goes on after/, '... also if its statement_timeout is caught');
sql("DELETE FROM mallory.f WHERE pk = $sleeps");

# What the commit would write, with code that nothing limits any more.
sql(<<'SQL');
SET ROLE mallory;
SET client_min_messages = error;
CREATE FUNCTION mallory.fails(k text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RAISE 'at the commit'; END $$;
CREATE TABLE mallory.late (pk int PRIMARY KEY, doc jsonb);
SELECT indextable.create('mallory.late_k', 'mallory.late', '{k}', include => '{v}');
CREATE TABLE mallory.pairs (pk int PRIMARY KEY DEFERRABLE, doc jsonb);
SELECT indextable.create('mallory.pairs_k', 'mallory.pairs', '{k}');
INSERT INTO mallory.pairs VALUES (1, '{"k": "a"}'), (2, '{"k": "a"}');
CREATE TABLE mallory.lost (pk int PRIMARY KEY, doc jsonb);
SELECT indextable.create('mallory.lost_k', 'mallory.lost', '{k}');
ALTER TABLE mallory.lost DISABLE TRIGGER indextable_end;
CREATE INDEX ON mallory.late_k (mallory.fails(k));
CREATE INDEX ON mallory.lost_k (mallory.fails(k));
SQL
for my $leaves (q(INSERT INTO mallory.late VALUES (1, jsonb_build_object('v', (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 200) i)))),
	'UPDATE mallory.pairs SET pk = 3 - pk', q(INSERT INTO mallory.lost VALUES (1, '{"k": "a"}')))
{
	my ($leaving, $drained, undef, $warned) = $drain->($leaves);
	is($drained, 0, 'what code of others leaves for the commit does not fail there');
	like($warned, qr/WARNING:  could not drain table "f": code of another owner leaves entries/, '... as its table is left out');
	is(sql(q(SELECT backlog FROM indextable.queues WHERE fact_table = 'alice.g'::regclass)), 0, '... and others are drained');
	sql("DELETE FROM mallory.f WHERE pk = $leaving; SELECT indextable.drain()");
}
mallory_runs('PERFORM mallory.rests(NULL)');
sql('INSERT INTO mallory.slow DEFAULT VALUES');
like(($node->psql('postgres', q(SET statement_timeout = '3s'; SELECT indextable.drain(), pg_sleep(3600))))[2], qr/canceling statement due to statement timeout/, 'the time of the statement goes on');
sql('DELETE FROM mallory.slow');
sql('SELECT indextable.start_workers()');

# ---- more databases than workers

sql('ALTER SYSTEM SET indextable.max_workers = 1');
$node->reload;
for my $database ('busy', 'other')
{
	sql("CREATE DATABASE $database");
	$node->safe_psql($database, <<'SQL');
CREATE EXTENSION indextable;
CREATE FUNCTION slow(pk int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.02); RETURN true; END $$;
CREATE TABLE f (pk int PRIMARY KEY, doc jsonb);
SQL
}
$node->safe_psql('busy', q(SELECT indextable.create('f_k', 'f', '{k}', filter => 'public.slow(pk)', maintenance => 'async'); INSERT INTO f SELECT g, '{"k": "a"}' FROM generate_series(1, 200000) g));
ok(becomes_true($node, 'SELECT applied > 0 FROM indextable.queues', 'busy'), 'a database is busy');
$node->safe_psql('other', q(SELECT indextable.create('f_k', 'f', '{k}', maintenance => 'async')));
for my $round (1 .. 2)
{
	$node->safe_psql('other', "INSERT INTO f VALUES ($round, '{}')");
	ok(drained($node, 'other'), 'another database has its turn');
}
others_go_on('and so has a third one');
ok(becomes_true($node, q(SELECT worker_state = 'none' AND last_error = 'all workers that indextable.max_workers allows are in other databases' FROM indextable.queues), 'busy'),
	'the first one is seen to wait then');
is($node->safe_psql('busy', 'SELECT backlog > 0 FROM indextable.queues'), 't', 'as it is still busy');
$node->safe_psql('busy', 'SELECT indextable.stop_workers()');
is($node->safe_psql('busy', 'SELECT worker_state, last_error FROM indextable.queues'), 'none|the workers of this database have been stopped', 'workers that were stopped');
$node->stop;
done_testing();
