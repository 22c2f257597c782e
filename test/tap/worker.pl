# Background workers: they come by themselves, hold nothing while idle, get out of the way of whatever wants the database
# to itself, come back after whatever ends them, share the load as the settings say, and are stopped by nothing that one
# row, one fact table or one database does. And by hand, on a server where nothing is preloaded.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('worker', "shared_preload_libraries = 'indextable'", 'wal_level = logical', 'max_worker_processes = 20', 'indextable.naptime = 100ms');

sub workers { return $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE backend_type = 'indextable worker' AND datname = '$_[0]' ORDER BY pid"); }

sub number_of_workers
{
	my ($database, $number) = @_;
	return becomes_true($node, "SELECT count(*) = $number FROM pg_stat_activity WHERE backend_type = 'indextable worker' AND datname = '$database'");
}

# setting NAME VALUE…: from the next reload on, which comes at once
sub setting
{
	my %settings = @_;
	$node->safe_psql('postgres', "ALTER SYSTEM SET indextable.$_ = '$settings{$_}'") for keys %settings;
	$node->reload;
}

# notices SERVER, DATABASE, SQL: what psql shows beside the results
sub notices
{
	my ($server, $database, $sql) = @_;
	my (undef, undef, $shown) = $server->psql($database, "SET indextable.advice = on; $sql");
	return $shown =~ s/^psql:\S+ //gmr;
}

# database NAME: with a fact table and asynchronous index tables
sub database
{
	my ($name) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, fact_table() . "INSERT INTO f SELECT g, d(g), 'n' FROM generate_series(1, 1000) g;" . index_tables('async'));
}

my $step = 0;

sub change { $step++; return $node->safe_psql($_[0], "UPDATE f SET doc = d(pk + $step) WHERE pk % 3 = $step % 3"); }

# caught_up: changes are applied by a worker
sub caught_up
{
	my ($database, $name, $unchanged) = @_;
	change($database) unless $unchanged;
	ok(drained($node, $database), "$name: drained");
	drift_free($node, "$name: index tables equal their recompute", $database);
}

# ---- it comes, and shows itself

my $launcher = q(SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'indextable launcher');
ok(becomes_true($node, $launcher), 'there is a launcher');
database('one');
caught_up('one', 'a worker comes by itself');
ok( becomes_true($node, <<'SQL'), 'it shows itself, and holds nothing while idle');
SELECT count(*) = 1 FROM pg_stat_activity WHERE datname = 'one' AND backend_type = 'indextable worker' AND application_name = 'indextable worker'
AND state = 'idle' AND xact_start IS NULL AND backend_xid IS NULL AND backend_xmin IS NULL AND wait_event IN ('Extension', 'IndextableWorkerMain')
SQL
is($node->safe_psql('one', 'SELECT backlog, lag, workers, last_error FROM indextable.queues'), '0|00:00:00|1|', 'the view of queues');
is($node->safe_psql('one', q(SELECT applied > 0 AND applied_at IS NOT NULL FROM indextable.queues)), 't', 'counts what it has applied');
is($node->safe_psql('one', 'SELECT pid FROM indextable.workers()'), workers('one'), 'workers()');
caught_up('one', 'once more');

$node->safe_psql('one', 'SELECT indextable.stop_workers()');
change('one');
$node->restart;
ok(becomes_true($node, $launcher), 'after a restart');
caught_up('one', 'a backlog from before a restart', 1);
is($node->safe_psql('one', 'SELECT applied > 0 FROM indextable.queues'), 't', 'by a worker');

# ---- what others do to the database

database('two');
caught_up('two', 'two databases: the second');
caught_up('one', 'two databases: the first');
isnt(workers('one'), '', 'each has a worker');
isnt(workers('two'), '', 'each has a worker, too');
is(($node->psql('postgres', 'CREATE DATABASE copy TEMPLATE two'))[2], '', 'CREATE DATABASE … TEMPLATE with a worker there');
caught_up('copy', 'the copy has a worker of its own');
caught_up('two', 'and the original, still');
is(($node->psql('postgres', 'ALTER DATABASE copy RENAME TO renamed'))[2], '', 'ALTER DATABASE … RENAME with a worker there');
caught_up('renamed', 'renamed');
isnt(workers('renamed'), '', 'it has a worker');
is(($node->psql('postgres', 'DROP DATABASE renamed'))[2], '', 'DROP DATABASE with a worker there');
is(($node->psql('two', 'DROP EXTENSION indextable CASCADE; DROP VIEW IF EXISTS drift; DROP TABLE IF EXISTS f_k, f_v, f_d, f_t; DROP TABLE f; DROP FUNCTION d'))[0],
	0, 'DROP EXTENSION … CASCADE with a worker there');
ok(number_of_workers('two', 0), 'it leaves');
$node->safe_psql('two', fact_table() . "INSERT INTO f SELECT g, d(g), 'n' FROM generate_series(1, 1000) g;" . index_tables('async'));
caught_up('two', 'with the extension created again');

# The worker waits for locks of others again and again, which is no error.
{
	my $log = -s $node->logfile;
	my $holder = session($node, 'two');
	my $waits = q(FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE backend_type = 'indextable worker' AND NOT granted AND relation = 'indextable_internal.fact'::regclass);
	$holder->query('BEGIN; LOCK TABLE indextable_internal.fact IN ACCESS EXCLUSIVE MODE');
	ok(becomes_true($node, "SELECT count(*) > 0 $waits", 'two'), 'a worker waits for the catalog');
	my $since = $node->safe_psql('two', 'SELECT clock_timestamp()');
	ok(becomes_true($node, "SELECT count(*) > 0 $waits AND waitstart > '$since'", 'two'), 'and again, soon');
	$holder->query('ROLLBACK');
	caught_up('two', 'after a lock of the catalog');
	unlike(substr(slurp_file($node->logfile), $log), qr/lock timeout/, 'the log tells nothing of that');
}

# What a database sets is for its users. Fields that would be read in another way are among those that tell.
$node->safe_psql('two', <<'SQL');
CREATE TABLE h (pk int PRIMARY KEY, doc jsonb);
SELECT indextable.create('h_n', 'h', '{n::int}', maintenance => 'async');
SELECT indextable.create('h_at', 'h', '{at::timestamptz}', include => '{day::date,x::float8,i::interval,b::bytea}', maintenance => 'async');
CREATE ROLE nobody;
SQL
my @settings = (
	q(default_transaction_isolation = 'serializable'), 'default_transaction_read_only = on', 'default_transaction_deferrable = on', q(DateStyle = 'German'), q(TimeZone = 'Asia/Tokyo'),
	q(IntervalStyle = 'sql_standard'), 'extra_float_digits = -10', 'bytea_output = escape', 'search_path = nowhere', q(statement_timeout = '1ms'), q(lock_timeout = '1ms'),
	q(idle_in_transaction_session_timeout = '1ms'), 'session_replication_role = replica', 'row_security = off', 'role = nobody', 'enable_indexscan = off', 'work_mem = 64');
$node->safe_psql('postgres', "ALTER DATABASE two SET $_") for @settings;
{
	local $ENV{PGOPTIONS} = '-c default_transaction_isolation=read\ committed -c default_transaction_read_only=off -c search_path=public -c statement_timeout=0 -c lock_timeout=0'
	  . ' -c idle_in_transaction_session_timeout=0 -c session_replication_role=origin -c role=none -c DateStyle=ISO -c TimeZone=UTC';
	is($node->safe_psql('two', 'SELECT count(pg_terminate_backend(pid, 60000)) FROM indextable.workers()'), 1, 'a worker under the settings of its database');
	$node->safe_psql('two', q(INSERT INTO h SELECT g, jsonb_build_object('at', '2024-07-0' || g || ' 23:30', 'day', '2024-02-0' || g, 'x', 1 / 3.0, 'i', '1 day 02:00', 'b', '\\\\x41ff') FROM generate_series(1, 9) g));
	caught_up('two', 'settings of the database');
	is( $node->safe_psql('two', <<'SQL'), '9|0', 'and values are read as ever');
SELECT count(*), count(*) FILTER (WHERE r IS DISTINCT FROM h_at) FROM h_at FULL JOIN LATERAL
	(SELECT (doc ->> 'at')::timestamptz AS at, pk, (doc ->> 'day')::date AS day, (doc ->> 'x')::float8 AS x, (doc ->> 'i')::interval AS i, (doc ->> 'b')::bytea AS b FROM h) r USING (pk)
SQL
	$node->safe_psql('two', q(UPDATE h SET doc = doc || '{"n": "no"}' WHERE pk = 3; UPDATE h SET doc = doc || '{"n": 4}' WHERE pk = 4));
	ok(drained($node, 'two'), 'rejected under the settings of the database');
	is($node->safe_psql('two', 'SELECT primary_key, sqlstate FROM indextable.rejected; SELECT n, pk FROM h_n WHERE n IS NOT NULL OR pk = 3'), "{3}|22P02\n4|4", 'a row is rejected, another is not');
	unlike(slurp_file($node->logfile), qr/indextable worker.*(ERROR|PANIC)/, 'no worker had an error');
}
$node->safe_psql('postgres', 'ALTER DATABASE two RESET ALL');

# ---- it ends, and another one comes

$node->safe_psql('one', q(INSERT INTO f SELECT g, d(g) FROM generate_series(1001, 20000) g));
setting(batch_size => 200);
ok(drained($node, 'one'), 'a larger fact table');
my ($killed, $busy) = (0, 0);
for my $round (1 .. 5)
{
	$node->safe_psql('one', "UPDATE f SET doc = d(pk + $round)");
	# One may have left by itself meanwhile; or the last one is still ending.
	$killed += becomes_true($node, q(SELECT count(*) > 0 FROM indextable.workers() WHERE pg_terminate_backend(pid)), 'one');
	$busy += $node->safe_psql('one', 'SELECT backlog > 0 FROM indextable.queues') eq 't';
}
is($killed, 5, 'five workers terminated');
note "$busy of them at work";
caught_up('one', 'after workers were terminated');

# A worker whose launcher has ended: the server tells nobody when it ends, too.
my $worker = workers('one');
my $launcher_pid = $node->safe_psql('postgres', q(SELECT pid FROM pg_stat_activity WHERE application_name = 'indextable launcher'));
is($node->safe_psql('postgres', "SELECT pg_terminate_backend($launcher_pid, 60000)"), 't', 'the launcher was terminated');
ok(becomes_true($node, "SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'indextable launcher' AND pid <> $launcher_pid AND state IS NULL AND wait_event IN ('Extension', 'IndextableLauncherMain')"), 'there is another one');
is(workers('one'), $worker, 'the worker stays');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($worker, 60000)");
caught_up('one', 'a worker of an earlier launcher was terminated');
setting(batch_size => 10000);

# A worker that leaves because there is nothing to do. On a build with wait points it is stopped there: by then another one
# drains what is queued. Without it, nobody would look before ten minutes are over.
database('leaving');
caught_up('leaving', 'before a worker leaves');
my $stopper = session($node, 'leaving');
$stopper->query(q(SELECT pg_advisory_lock(1765, hashtext('worker is leaving'))));
$node->safe_psql('leaving', q(DROP VIEW drift; SELECT indextable.drop(t) FROM unnest('{f_k,f_v,f_d,f_t}'::regclass[]) t));
ok(becomes_true($node, q(SELECT count(*) = 0 OR bool_or(wait_event = 'advisory') FROM pg_stat_activity WHERE backend_type = 'indextable worker' AND datname = 'leaving')), 'a worker leaves');
my $leaving = workers('leaving');
$node->safe_psql('leaving', index_tables('async'));
{
	local $PostgreSQL::Test::Utils::timeout_default = 100;
	caught_up('leaving', 'another worker comes');
}
SKIP:
{
	skip 'no wait points', 1 if $leaving eq '';
	like(workers('leaving'), qr/^$leaving$/m, 'while the first one is leaving');
}
$stopper->finish;
$node->safe_psql('postgres', 'DROP DATABASE leaving');

# ---- settings

setting(max_workers => 0);
ok(number_of_workers($_, 0), "max_workers = 0 ends the worker of $_") for 'one', 'two';
change('one');
is($node->safe_psql('one', 'SELECT backlog > 0, workers, worker_state FROM indextable.queues'), 't|0|none', 'what is changed now is queued');
setting(max_workers => 4);
caught_up('one', 'max_workers = 4 brings it back', 1);
caught_up('two', 'and the other one');

my $prepare = sub { my ($database, $pk) = @_; $node->safe_psql($database, "BEGIN; INSERT INTO f VALUES ($pk, d($pk)); PREPARE TRANSACTION '$database'"); };
$prepare->('one', 50001);
caught_up('one', 'with a prepared transaction');
$node->safe_psql('one', "COMMIT PREPARED 'one'");
caught_up('one', 'COMMIT PREPARED', 1);

database('prepared');
$prepare->('prepared', 50001);
$node->safe_psql('prepared', "COMMIT PREPARED 'prepared'");
caught_up('prepared', 'COMMIT PREPARED is all there ever was', 1);
$node->safe_psql('postgres', 'DROP DATABASE prepared');

# The server's own SIGHUP would wake it: so naptime is seen to take effect by what comes later.
setting(naptime => '30min');
caught_up('one', 'naptime = 30min: a commit wakes it');
$prepare->('one', 50002);
caught_up('one', 'with a prepared transaction');
$node->safe_psql('one', "COMMIT PREPARED 'one'");
caught_up('one', 'naptime = 30min: COMMIT PREPARED wakes it', 1);
setting(naptime => '100ms');
caught_up('one', 'naptime = 100ms');

setting(workers_per_database => 2);
ok(number_of_workers('one', 2), 'workers_per_database = 2: another one comes');
$node->safe_psql('one', <<'SQL');
DO $$ BEGIN FOR i IN 1..4 LOOP
	EXECUTE format('CREATE TABLE m%1$s (pk int PRIMARY KEY, doc jsonb); SELECT indextable.create(''m%1$s_k'', ''m%1$s'', ''{k}'', maintenance => ''async'')', i);
END LOOP; END $$;
DO $$ BEGIN FOR i IN 1..4 LOOP
	EXECUTE format('INSERT INTO m%1$s SELECT g, d(g) FROM generate_series(1, 5000) g', i);
	COMMIT;
	EXECUTE format('UPDATE m%1$s SET doc = d(pk + 7)', i);
	COMMIT;
END LOOP; END $$;
SQL
caught_up('one', 'two workers, five fact tables');
is($node->safe_psql('one', 'SET indextable.planner = off; ' . join ' UNION ALL ', map { "SELECT * FROM (SELECT doc ->> 'k', pk FROM m$_ EXCEPT ALL TABLE m${_}_k) x UNION ALL (TABLE m${_}_k EXCEPT ALL SELECT doc ->> 'k', pk FROM m$_)" } 1 .. 4),
	'', 'index tables of all of them equal their recompute');
setting(workers_per_database => 1);
ok(number_of_workers('one', 1), 'workers_per_database = 1: one leaves');
caught_up('one', 'the other one stays');

# ---- more databases than workers

setting(max_workers => 1);
database($_) for 'three', 'four';
my @databases = ('one', 'two', 'three', 'four');
for my $round (1 .. 2)
{
	change($_) for @databases;
	caught_up($_, "one worker for four databases, round $round: $_", 1) for @databases;
}
$prepare->('three', 50001);
caught_up('four', 'the worker is elsewhere');
ok(number_of_workers('three', 0), 'it is');
$node->safe_psql('three', "COMMIT PREPARED 'three'");
caught_up('three', 'COMMIT PREPARED in a database without a worker', 1);
setting(max_workers => 4);

# ---- by hand

caught_up('one', 'before it is stopped');
is($node->safe_psql('one', 'SELECT indextable.stop_workers()'), 1, 'stop_workers()');
change('one');
caught_up('two', 'another database is not concerned');
is($node->safe_psql('one', q(SELECT backlog > 0, workers, worker_state FROM indextable.queues WHERE fact_table = 'f'::regclass)), 't|0|none', 'stopped: what is changed now is queued');
like(notices($node, 'one', q(SELECT indextable.wait('f_k', '0'))), qr/no worker applies queued changes in this database because the workers of this database have been stopped\nHINT: .* run SELECT indextable.start_workers\(\)/, 'wait() says so');
is(notices($node, 'two', q(SELECT indextable.wait('f_k', '30 minutes'))), '', 'but not in another database');
is(notices($node, 'one', 'SELECT indextable.start_workers()'), '', 'start_workers() has nothing to say');
caught_up('one', 'start_workers()', 1);
is(notices($node, 'one', q(SELECT indextable.create('f_more', 'f', '{k}', maintenance => 'async'); SELECT indextable.wait('f_more', '30 minutes'); SELECT indextable.drop('f_more'))), '', 'nor have create() and wait() beside a worker');
setting(max_workers => 0);
ok(number_of_workers('one', 0), 'no worker may run');
like(notices($node, 'one', 'SELECT indextable.start_workers()'), qr/no worker is started because indextable\.max_workers is 0/, 'start_workers() says so');
my $said = notices($node, 'one', q(SELECT indextable.create('f_more', 'f', '{k}', maintenance => 'async')));
like($said, qr/because indextable\.max_workers is 0\nHINT: .* run SELECT indextable.drain\(\)/, 'so does create()');
unlike($said, qr/start_workers/, 'which does not name what starts none');
$node->safe_psql('one', q(SELECT indextable.drop('f_more')));
setting(max_workers => 4);

# ---- trouble

# The index is ours: only where no event trigger fires it can be dropped.
my $size = -s $node->logfile;
$node->safe_psql('one', 'SET session_replication_role = replica; DROP INDEX f_v_row_idx');
change('one');
ok(becomes_true($node, q(SELECT worker_state = 'failing' AND last_error LIKE '%has no index on the primary key%' AND backlog > 0 FROM indextable.queues WHERE fact_table = 'f'::regclass), 'one'),
	'a queue that fails says so');
$node->safe_psql('one', 'UPDATE m1 SET doc = d(pk + 8)');
ok(becomes_true($node, q(SELECT backlog = 0 FROM indextable.queues WHERE fact_table = 'm1'::regclass), 'one'), 'another fact table goes on');
is($node->safe_psql('one', q(SELECT worker_state <> 'failing', last_error FROM indextable.queues WHERE fact_table = 'm1'::regclass)), 't|', 'and does not fail');
# Each time that it fails it is left alone for longer.
ok(becomes_true($node, q(SELECT next_try > clock_timestamp() + interval '2 s' FROM indextable.queues WHERE fact_table = 'f'::regclass), 'one'), 'it is tried again, after a while that grows');
my @told = substr(slurp_file($node->logfile), $size) =~ /ERROR:.*no index on the primary key/g;
is(scalar @told, 1, 'it is written to the log once');
$node->safe_psql('one', 'CREATE INDEX ON f_v (pk)');
caught_up('one', 'mended', 1);
ok(becomes_true($node, q(SELECT bool_and(worker_state <> 'failing' AND last_error IS NULL) FROM indextable.queues), 'one'), 'it fails no longer');

# The same, but it is not the worker that applies what was left.
$node->safe_psql('one', 'SET session_replication_role = replica; DROP INDEX f_v_pk_idx');
change('one');
ok(becomes_true($node, q(SELECT worker_state = 'failing' FROM indextable.queues WHERE fact_table = 'f'::regclass), 'one'), 'it fails again');
$node->safe_psql('one', 'CREATE INDEX ON f_v (pk); SELECT indextable.drain()');
caught_up('one', 'mended, and drained by hand', 1);
ok(becomes_true($node, q(SELECT bool_and(worker_state <> 'failing' AND last_error IS NULL) FROM indextable.queues), 'one'), 'it fails no longer, either');

# A queue that is gone is trouble of one fact table, too.
$node->safe_psql('one', q(SET session_replication_role = replica; DO $$ BEGIN EXECUTE (SELECT 'DROP TABLE ' || queue FROM indextable_internal.fact WHERE fact_table = 'm2'::regclass); END $$));
change('one');
$node->safe_psql('one', 'UPDATE m2 SET doc = d(pk + 9); UPDATE m1 SET doc = d(pk + 9)');
ok(becomes_true($node, q(SELECT state = 'invalid' AND problem LIKE 'A queue table of its fact table was dropped%' FROM indextable.index_tables WHERE index_table = 'm2_k'::regclass), 'one'), 'an index table whose queue is gone is invalid');
caught_up('one', 'others go on', 1);
is($node->safe_psql('one', q(SELECT indextable.wait('m1_k', '10 minutes'))), 't', 'and can be waited for');
$node->safe_psql('one', q(CALL indextable.repair('m2_k'); UPDATE m2 SET doc = d(pk + 10) WHERE pk % 3 = 0));
caught_up('one', 'with the queue made anew', 1);
is($node->safe_psql('one', 'SET indextable.planner = off; SELECT count(*) FROM ((SELECT doc ->> $$k$$, pk FROM m2 EXCEPT ALL TABLE m2_k) UNION ALL (TABLE m2_k EXCEPT ALL SELECT doc ->> $$k$$, pk FROM m2)) x'), 0, 'it equals its recompute again');

# A value that is no key, and an entry that an index of the owner's refuses. A publication must not matter.
$node->safe_psql('one', <<'SQL');
CREATE PUBLICATION everything FOR ALL TABLES;
CREATE TABLE p (pk int PRIMARY KEY, doc jsonb);
SELECT indextable.create('p_n', 'p', '{n::int}', maintenance => 'async');
SELECT indextable.create('p_k', 'p', '{k}', maintenance => 'async');
CREATE INDEX refuses ON p_k ((1 / (length(k) - 1)));
INSERT INTO p SELECT g, jsonb_build_object('n', g, 'k', 'kk' || g) FROM generate_series(1, 100) g;
UPDATE p SET doc = doc || '{"n": "x"}' WHERE pk = 50;
UPDATE p SET doc = doc || '{"k": "k"}' WHERE pk = 60;
SQL
my $p = <<'SQL';
SELECT concat_ws(' ', (SELECT count(*) FROM p_n), (SELECT count(*) FROM p_k), (SELECT sum(backlog) FROM indextable.queues),
	(SELECT string_agg(concat_ws(' ', index_table, primary_key, sqlstate), ', ' ORDER BY index_table::text) FROM indextable.rejected)) AS state
SQL
my $rejected = 'p_k {60} 22012, p_n {50} 22P02';
ok(becomes_true($node, "SELECT state = '99 99 0 $rejected' FROM ($p) s", 'one'), 'rows that cannot be applied are written down') or diag $node->safe_psql('one', $p);
$node->safe_psql('one', q(UPDATE p SET doc = doc || '{"z": 1}' WHERE pk = 50; UPDATE p SET doc = doc || '{"n": 7}' WHERE pk < 10; DELETE FROM p WHERE pk > 90));
ok(drained($node, 'one'), 'and stop nothing');
is($node->safe_psql('one', $p), "89 89 0 $rejected", 'others are applied');
$node->safe_psql('one', q(DROP INDEX refuses; UPDATE p SET doc = doc || '{"n": 5}' WHERE pk = 50));
ok(becomes_true($node, 'SELECT count(*) = 0 FROM indextable.rejected', 'one'), 'mended: one changed, the other one was tried again');
is($node->safe_psql('one', $p), '90 90 0', 'nothing is lacking');
is($node->safe_psql('one', q(SET indextable.planner = off; SELECT * FROM (SELECT doc ->> 'k', pk FROM p EXCEPT ALL TABLE p_k) x UNION ALL SELECT * FROM (SELECT doc ->> 'n', pk FROM p EXCEPT ALL SELECT n::text, pk FROM p_n) x)), '', 'and all of it is right');

# A database without the extension, where somebody has made what looks like its catalog: workers look into every database,
# as a superuser, and call nothing of his.
$node->safe_psql('postgres', $_) for 'CREATE ROLE mallory LOGIN', 'CREATE DATABASE other OWNER mallory';
for my $schema ('indextable', 'indextable_internal')
{
	$node->safe_psql('other', <<"SQL");
SET ROLE mallory;
CREATE SCHEMA $schema;
CREATE TABLE IF NOT EXISTS public.called (by text);
CREATE OR REPLACE FUNCTION public.called() RETURNS boolean LANGUAGE plpgsql AS
\$\$ BEGIN INSERT INTO public.called VALUES (current_user); RETURN false; END \$\$;
CREATE OR REPLACE FUNCTION public.written() RETURNS trigger LANGUAGE plpgsql AS
\$\$ BEGIN INSERT INTO public.called VALUES (current_user); RETURN NEW; END \$\$;
CREATE TABLE $schema.fact (fact_table regclass, queue regclass, spare regclass);
CREATE VIEW $schema.definition AS SELECT 'public.called'::regclass AS index_table, NULL::regclass AS replaces, 'active'::text AS state WHERE public.called();
CREATE TABLE $schema.checked (index_table regclass, checked_at timestamptz);
CREATE TABLE $schema.counted (index_table regclass, since timestamptz, reads bigint, last_read timestamptz);
INSERT INTO $schema.counted VALUES ('public.called', now(), -1, NULL);
CREATE TRIGGER written BEFORE UPDATE ON $schema.counted FOR EACH ROW EXECUTE FUNCTION public.written();
SQL
}
my $commits = q(SELECT xact_commit FROM pg_stat_database WHERE datname = 'other');
becomes_true($node, q(SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = 'other'));
my $before_visit = $node->safe_psql('postgres', $commits);
setting(check_interval => '1s', max_workers => 5);
ok(becomes_true($node, "SELECT ($commits) > $before_visit"), 'a worker has looked into a database of somebody else');
is($node->safe_psql('other', 'TABLE called'), '', 'and has called nothing there');
setting(check_interval => 0);

$node->stop;

# ---- nothing preloaded

my $plain = new_server('plain', 'indextable.naptime = 100ms');
$plain->safe_psql('postgres', fact_table() . "INSERT INTO f SELECT g, d(g), 'n' FROM generate_series(1, 1000) g;" . index_tables('async'));
$plain->safe_psql('postgres', 'UPDATE f SET doc = d(pk + 1)');
is($plain->safe_psql('postgres', 'SELECT count(*) FROM indextable.workers()'), 0, 'not preloaded: no worker comes by itself');
my $nobody = qr/because indextable is not in shared_preload_libraries, and start_workers\(\) was not called\nHINT: .* run SELECT indextable.start_workers\(\)/;
like(notices($plain, 'postgres', q(SELECT indextable.create('f_more', 'f', '{k}', maintenance => 'async'))), $nobody, 'not preloaded: create() says so');
like(notices($plain, 'postgres', q(SELECT indextable.alter('f_more', maintenance => 'transactional'); SELECT indextable.alter('f_more', maintenance => 'async'))), $nobody, 'and alter()');
like(notices($plain, 'postgres', q(UPDATE f SET doc = d(pk + 7); SELECT indextable.wait('f_k', '0'))), $nobody, 'and wait()');
$plain->safe_psql('postgres', q(SELECT indextable.drop('f_more'); SELECT indextable.start_workers()));
ok(drained($plain), 'not preloaded: start_workers() starts one');
is(notices($plain, 'postgres', q(SELECT indextable.create('f_more', 'f', '{k}', maintenance => 'async'); SELECT indextable.wait('f_more'); SELECT indextable.drop('f_more'))), '', 'and nobody says anything');
drift_free($plain, 'that drains');
$plain->safe_psql('postgres', 'UPDATE f SET doc = d(pk + 2)');
ok(drained($plain), 'not preloaded: it looks by itself');
drift_free($plain, 'and drains again');
is($plain->safe_psql('postgres', 'SELECT workers FROM indextable.queues'), 1, 'it is seen');
is($plain->safe_psql('postgres', 'SELECT indextable.stop_workers()'), 1, 'not preloaded: stop_workers() ends it');
ok(becomes_true($plain, q(SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'indextable worker')), 'it is gone');
$plain->safe_psql('postgres', 'UPDATE f SET doc = d(pk + 3)');
is($plain->safe_psql('postgres', q(SELECT backlog > 0, (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'indextable worker') FROM indextable.queues)), 't|0', 'and nobody drains');
my $stopped = 0;
for (1 .. 5)
{
	$plain->safe_psql('postgres', 'SELECT indextable.start_workers()');
	$stopped += $plain->safe_psql('postgres', 'SELECT indextable.stop_workers()');
}
is($stopped, 5, 'a worker that has just been started is stopped, too');
$plain->safe_psql('postgres', 'SELECT indextable.start_workers()');
ok(drained($plain), 'not preloaded: started again');
is(($plain->psql('template1', 'DROP DATABASE postgres'))[2], '', 'not preloaded: DROP DATABASE with a worker there');
$plain->stop;
done_testing();
