# Index tables that get another definition, or new contents, while others write and look them up: cancelled, killed,
# crashed, at the swap and after. In the end they are what a recompute gives, and nobody has seen more of it than a
# serialization failure.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('rebuild', 'restart_after_crash = on', 'max_connections = 40', 'autovacuum_naptime = 1s', 'wal_level = replica', q(log_line_prefix = '%a:%e '));
$node->safe_psql('postgres', fact_table() . <<'SQL' . index_tables());
CREATE EXTENSION amcheck;
INSERT INTO f SELECT g, d(g), 'n' FROM generate_series(1, 6000) g;
SQL
$node->safe_psql('postgres', <<'SQL');
SELECT indextable.create('f_a', 'f', '{k}', include => '{v}', maintenance => 'async');
SELECT indextable.create('f_u', 'f', '{@pk AS p,n}', is_unique => true);
SELECT indextable.create('f_f', 'f', '{k}', filter => 'note = ''u''');
CREATE VIEW other_drift AS
SELECT 'f_a missing' AS what, count(*) AS n FROM (SELECT doc ->> 'k', pk, doc ->> 'v' FROM f EXCEPT ALL SELECT k, pk, v FROM f_a) x
UNION ALL SELECT 'f_a extra', count(*) FROM (SELECT k, pk, v FROM f_a EXCEPT ALL SELECT doc ->> 'k', pk, doc ->> 'v' FROM f) x
UNION ALL SELECT 'f_u missing', count(*) FROM (SELECT pk, doc ->> 'n' FROM f EXCEPT ALL SELECT p, n FROM f_u) x
UNION ALL SELECT 'f_u extra', count(*) FROM (SELECT p, n FROM f_u EXCEPT ALL SELECT pk, doc ->> 'n' FROM f) x
UNION ALL SELECT 'f_f missing', count(*) FROM (SELECT doc ->> 'k', pk FROM f WHERE note = 'u' EXCEPT ALL SELECT k, pk FROM f_f) x
UNION ALL SELECT 'f_f extra', count(*) FROM (SELECT k, pk FROM f_f EXCEPT ALL SELECT doc ->> 'k', pk FROM f WHERE note = 'u') x;
CREATE FUNCTION files() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE i record;
BEGIN
	FOR i IN SELECT index_table AS t FROM indextable.index_tables LOOP
		RETURN QUERY SELECT i.t || ': ' || msg FROM verify_heapam(i.t, check_toast => true);
		PERFORM bt_index_check(indexrelid, true) FROM pg_index WHERE indrelid = i.t;
	END LOOP;
	RETURN QUERY SELECT relname || ' is left' FROM pg_class WHERE relname ~ '^rebuild_[0-9]+$';
	RETURN QUERY SELECT 'file of ' || string_agg(relname, ', ') FROM pg_class WHERE relfilenode <> 0 GROUP BY relfilenode, reltablespace HAVING count(*) > 1;
END $$;
SQL
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('rebuild_standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nmax_standby_streaming_delay = 100ms\n");
$standby->start;

# ---- the load: rows that come, change, move and go; look-ups at each isolation level

my $script = PostgreSQL::Test::Utils::tempdir . '/load';
append_to_file("$script.write", <<'SQL');
\set p random(1, 6000)
\set q random(1, 6000)
\set i random(1, 1000000)
\set kind random(1, 10)
\if :kind <= 3
INSERT INTO f VALUES (:p, d(:i), 'i') ON CONFLICT (pk) DO UPDATE SET doc = excluded.doc;
\elif :kind <= 6
UPDATE f SET doc = d(:i), note = 'u' WHERE pk = :p;
\elif :kind = 7
DELETE FROM f WHERE pk = :p;
\elif :kind = 8
UPDATE f SET pk = :q WHERE pk = :p AND NOT EXISTS (SELECT FROM f WHERE pk = :q);
\elif :kind = 9
BEGIN ISOLATION LEVEL REPEATABLE READ;
UPDATE f SET note = 'x' WHERE pk = :p;
SAVEPOINT s;
DELETE FROM f WHERE pk = :p;
ROLLBACK TO s;
UPDATE f SET doc = d(:i + 1) WHERE pk = :p;
COMMIT;
\else
BEGIN;
UPDATE f SET doc = d(:i), note = 'u' WHERE pk = :p;
ROLLBACK;
\endif
SQL
append_to_file("$script.read", <<'SQL');
\set n random(0, 49)
\set kind random(1, 6)
\if :kind = 1
BEGIN ISOLATION LEVEL REPEATABLE READ;
\elif :kind = 2
BEGIN ISOLATION LEVEL SERIALIZABLE;
\else
BEGIN;
\endif
SELECT count(*) FROM indextable.lookup('f_k', jsonb_build_object('k', 'k' || :n));
SELECT count(*) FROM indextable.lookup(NULL::f, 'f_a', jsonb_build_object('k', 'k' || :n));
SELECT count(*) FROM f_v WHERE k = 'k' || :n;
SELECT count(*) FROM indextable.lookup('f_t', jsonb_build_object('tags', 't' || :n % 5));
COMMIT;
SQL

# A client that has given up, because the server has gone or a key is taken, starts again.
sub load
{
	my @kinds = @_;
	my @load;
	unlink "$script.stop";
	for my $kind (@kinds)
	{
		my $output = '';
		my $command = join ' ', "while [ -e $script.write -a ! -e $script.stop ]; do pgbench -n -c 1 -T 3 --max-tries=1000 -f $script.$kind", '"' . $node->connstr('postgres') . ' application_name=pgbench"', '|| sleep 0.1; done';
		push @load, IPC::Run::start([ 'sh', '-c', $command ], '>&' => \$output, IPC::Run::timeout(1800));
	}
	until_true('SELECT count(*) >= ' . @kinds . q( FROM pg_stat_activity WHERE application_name = 'pgbench'));
	return \@load;
}

# stop_load LOAD: as soon as the clients are where they are
sub stop_load
{
	my ($load) = @_;
	append_to_file("$script.stop", '');
	until_true(q(SELECT count(pg_terminate_backend(pid)) = 0 FROM pg_stat_activity WHERE application_name = 'pgbench'));
	$_->finish for @$load;
	return;
}

# errors_of_clients: by the server's log, but for serialization failures, and keys of the fact table that are taken
sub errors_of_clients
{
	my ($log) = @_;
	return join "\n", grep { /^pgbench:(?!40001 )\w+ ERROR/ && !/unique constraint "f_pkey"/ } split /\n/, $log;
}

sub until_true { my ($query) = @_; return becomes_true($node, $query) || die "never: $query"; }

# rebuild TABLE, ARGUMENTS, OUTPUT: in a session of its own
sub rebuild
{
	my ($table, $arguments, $output) = @_;
	return IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres') . ' application_name=rebuild', '-c', "CALL indextable.rebuild('$table', $arguments)" ],
		'>&' => $output, IPC::Run::timeout(1800));
}

sub under_way { my ($table) = @_; return until_true("SELECT count(*) = 1 FROM indextable.progress WHERE index_table = '$table'::regclass AND rows_done > 300"); }

# exact NAME: nothing drifts, and the files are sound. Asynchronous ones are exact when nothing is queued: rows that
# are queued do not count while others write.
sub exact
{
	my ($name, $all) = @_;
	my $queued = $all ? '' : q( AND what !~ ') . join('|', split /\n/, $node->safe_psql('postgres', q(SELECT index_table::text FROM indextable.index_tables WHERE maintenance = 'async' UNION ALL SELECT 'none'))) . q(');
	return is($node->safe_psql('postgres', ($all ? 'DO $$ BEGIN PERFORM indextable.drain(); END $$; ' : '') . "SET indextable.planner = off; SELECT what, n FROM (TABLE drift UNION ALL TABLE other_drift) d WHERE n > 0$queued; SELECT * FROM files() WHERE files !~ 'is left'"), '', $name);
}

my $load = load('write', 'write', 'write', 'read', 'read');
my $output = '';

# cancelled, and gone on with; it rests after the first batch until it is cancelled, killed, or the server is stopped
my $builder = rebuild('f_k', "400, '1 hour'", \$output);
under_way('f_k');
$node->safe_psql('postgres', q(SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'rebuild'));
$builder->finish;
like($output, qr/canceling statement/, 'a rebuild is cancelled');
exact('the old entries serve');
my $file = $node->safe_psql('postgres', q(SELECT pg_relation_filenode('f_k')));
$output = '';
rebuild('f_k', 1000, \$output)->finish;
is($output, '', 'and goes on');
isnt($node->safe_psql('postgres', q(SELECT pg_relation_filenode('f_k'))), $file, 'the entries are new');
exact('and exact while others write');

# another definition each, at once; the number of elements stays the last column, so that no view may depend on it
my ($drift) = index_tables() =~ /(CREATE VIEW drift AS\n.*;\n)\z/s;
$node->safe_psql('postgres', q(DROP VIEW drift; SELECT indextable.alter('f_k', strategy => 'denormalized', populate => false), indextable.alter('f_t', include => '{n::int,v}', populate => false)));
$node->safe_psql('postgres', q(SELECT indextable.alter('f_u', include => '{v}', populate => false)));
my @outputs = ('') x 4;
my @builders = (rebuild('f_t', 300, \$outputs[0]), rebuild('f_u', 300, \$outputs[1]), rebuild('f_f', 300, \$outputs[2]), rebuild('f_a', 300, \$outputs[3]));
$_->finish for @builders;
is(join('', @outputs), '', 'four at once: unique, filtered, asynchronous, with elements of arrays');
is($node->safe_psql('postgres', q(SELECT string_agg(index_table || ' ' || state || ' ' || strategy, ', ' ORDER BY index_table::text) FROM indextable.index_tables WHERE index_table IN ('f_t'::regclass, 'f_u'::regclass))), 'f_t active partial, f_u active partial', 'they have their new definitions');
$node->safe_psql('postgres', q(SELECT indextable.alter('f_t', include => '{n::int}')));
$node->safe_psql('postgres', $drift);
exact('and are exact while others write');

# maintenance to and fro
for my $round (1, 2)
{
	$node->safe_psql('postgres', q(SELECT indextable.alter('f_v', maintenance => 'async')));
	$node->safe_psql('postgres', q(SELECT indextable.alter('f_f', maintenance => 'async')));
	$node->safe_psql('postgres', q(SELECT indextable.alter('f_v', maintenance => 'transactional')));
	$node->safe_psql('postgres', q(SELECT indextable.alter('f_f', maintenance => 'transactional', filter => 'note = ''u''')));
	exact("maintenance there and back under load, round $round");
}

# the builder is killed; the server restarts by itself
$builder = rebuild('f_k', "400, '1 hour'", \$output);
under_way('f_k');
kill 'KILL', $node->safe_psql('postgres', q(SELECT pid FROM pg_stat_activity WHERE application_name = 'rebuild'));
$builder->finish;
for (1 .. 9000) { last if slurp_file($node->logfile) =~ /terminated by signal 9/; select(undef, undef, undef, 0.1) }
like(slurp_file($node->logfile), qr/terminated by signal 9/, 'the server crashed');
until_true('SELECT true');
exact('after a crash the old entries serve');
cmp_ok($node->safe_psql('postgres', q(SELECT rows_done FROM indextable.progress WHERE index_table = 'f_k'::regclass)), '>', 300, 'what was built is still there');
$output = '';
rebuild('f_k', 1000, \$output)->finish;
is($output, '', 'the rebuild goes on');

# at once after the swap has been committed
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', q(SELECT strategy FROM indextable.index_tables WHERE index_table = 'f_k'::regclass)), 'denormalized', 'what was swapped in is there after a crash');
$node->safe_psql('postgres', q(SELECT indextable.alter('f_k', strategy => 'normalized')));
$node->stop('immediate');
$node->start;
exact('and exact, as is what alter() has made');

# in the middle
until_true(q(SELECT count(*) >= 5 FROM pg_stat_activity WHERE application_name = 'pgbench'));
$builder = rebuild('f_d', "400, '1 hour'", \$output);
under_way('f_d');
$node->stop('immediate');
$builder->finish;
$node->start;
$output = '';
rebuild('f_d', 1000, \$output)->finish;
is($output, '', 'a rebuild goes on after a crash');
exact('and is exact while others write');

stop_load($load);
exact('when the load is over', 'all');
is($node->safe_psql('postgres', q(SELECT i.index_table, v.kind, v.key, v.primary_key, v.problem FROM indextable.index_tables i, indextable.verify(i.index_table) v LIMIT 5)), '', 'verify() agrees');
is($node->safe_psql('postgres', q(SELECT * FROM files())), '', 'and nothing is left behind');
is($node->safe_psql('postgres', q(SELECT c.relname FROM pg_class c JOIN indextable.index_tables ON oid = index_table WHERE age(relfrozenxid) < 0 OR age(relfrozenxid) > 1000000)), '', 'nor frozen that is not');
is(errors_of_clients(slurp_file($node->logfile)), '', 'readers and writers have seen no other error than serialization failures');

# ---- somebody has the TOAST table of what has been built, as a vacuum would: the rebuild lets go of the index table
# until it has both

$node->safe_psql('postgres', q(SELECT indextable.alter('f_k', strategy => 'denormalized', populate => false)));
my $toast = $node->safe_psql('postgres', q(SELECT reltoastrelid::regclass FROM pg_class WHERE relname ~ '^rebuild_[0-9]+$'));
my $holder = session($node);
$holder->query("BEGIN; SELECT count(*) FROM $toast");
$builder = rebuild('f_k', 1000, \$output);
until_true(q(SELECT phase = 'waiting for locks' FROM indextable.progress WHERE index_table = 'f_k'::regclass));
is($node->safe_psql('postgres', q(SET statement_timeout = '60s'; SELECT count(*) > 0 FROM f_k)), 't', 'a rebuild that waits for a TOAST table keeps nobody from reading');
$holder->query("COMMIT");
$holder->finish;
$builder->finish;
is($output, '', 'and goes on when it has it');
exact('and is exact', 'all');
unlike(slurp_file($node->logfile), qr/missing lock/, 'no row of pg_class was written that was not locked');
$node->safe_psql('postgres', q(SELECT indextable.alter('f_k', strategy => 'normalized')));

# ---- readers on a standby

$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', 'SET indextable.planner = off; SELECT what, n FROM (TABLE drift UNION ALL TABLE other_drift) d WHERE n > 0'), '', 'a standby has it all');
my $reader = PostgreSQL::Test::Utils::tempdir . '/reader';
append_to_file($reader, q(SELECT count(*) / (count(*) > 0)::int FROM indextable.lookup('f_k', '{"k": "k1"}');) . "\n");
my $read = '';
my $readers = IPC::Run::start([ 'sh', '-c', "while [ -e $reader -a ! -e $reader.stop ]; do pgbench -n -c 2 -t 20 --max-tries=1000 -f $reader \"" . $standby->connstr('postgres') . ' application_name=pgbench"; done' ], '>&' => \$read, IPC::Run::timeout(1800));
for my $strategy ('denormalized', 'normalized', 'denormalized')
{
	$node->safe_psql('postgres', "SELECT indextable.alter('f_k', strategy => '$strategy', populate => false)");
	$node->safe_psql('postgres', q(CALL indextable.rebuild('f_k', 2000)));
	$node->wait_for_catchup($standby);
}
append_to_file("$reader.stop", '');
$readers->finish;
is(errors_of_clients(slurp_file($standby->logfile)), '', 'its readers see a swap as others do');
is($standby->safe_psql('postgres', q(SELECT count(*) FROM f_k; SET indextable.planner = off; SELECT what, n FROM drift WHERE n > 0)), $node->safe_psql('postgres', 'SELECT count(*) FROM f_k'), 'and have the new entries');

$standby->stop;
$node->stop;

# ---- without WAL of what is new in a transaction: primary keys that are made for the new entries take over files from before it

my $minimal = new_server('minimal');
$minimal->safe_psql('postgres', fact_table() . <<'SQL');
INSERT INTO f SELECT g, d(g), 'n' FROM generate_series(1, 500) g;
SELECT indextable.create('f_k', 'f', '{n::int}', partition_by => 'RANGE (n)', partition_bounds => '{FROM (0) TO (3), FROM (3) TO (7)}');
SELECT indextable.create('f_h', 'f', '{k}', partitions => 2);
SELECT indextable.alter('f_k', include => '{k}', populate => false);
CALL indextable.rebuild('f_k');
SELECT indextable.alter('f_h', partitions => 3, populate => false);
CALL indextable.rebuild('f_h');
UPDATE f SET doc = d(pk + 1) WHERE pk % 3 = 0;
SQL
is($minimal->safe_psql('postgres', 'SHOW wal_level'), 'minimal', 'wal_level = minimal');
$minimal->stop('immediate');
$minimal->start;
is($minimal->safe_psql('postgres', q(SELECT v FROM (VALUES ('f_k'::regclass), ('f_h')) t (t), indextable.verify(t) v)), '', 'verify() finds nothing after a crash');
my $differences = q(SET indextable.planner = off; SELECT x::text FROM ((SELECT (doc ->> 'n')::int, pk, doc ->> 'k' FROM f EXCEPT ALL SELECT n, pk, k FROM f_k) UNION ALL (SELECT n, pk, k FROM f_k EXCEPT ALL SELECT (doc ->> 'n')::int, pk, doc ->> 'k' FROM f)) x
	UNION ALL SELECT x::text FROM ((SELECT pk, doc ->> 'k' FROM f EXCEPT ALL SELECT pk, k FROM f_h) UNION ALL (SELECT pk, k FROM f_h EXCEPT ALL SELECT pk, doc ->> 'k' FROM f)) x);
is($minimal->safe_psql('postgres', $differences), '', 'and index tables equal their recompute');

# ---- all rows at once, while others write: cancelled, killed and crashed at any moment

$node = $minimal;
$node->append_conf('postgresql.conf', 'restart_after_crash = on');
$node->restart;
$node->safe_psql('postgres', 'INSERT INTO f SELECT g, d(g), \'n\' FROM generate_series(501, 6000) g ON CONFLICT DO NOTHING; CREATE INDEX f_k_k ON f_k (k)');
$load = load('write', 'write');
for my $round (1 .. 6)
{
	my ($table) = ('f_k', 'f_h')[$round % 2];
	$output = '';
	$builder = rebuild($table, 'NULL', \$output);
	select(undef, undef, undef, rand(0.3));
	my $pid = $node->safe_psql('postgres', q(SELECT pid FROM pg_stat_activity WHERE application_name = 'rebuild'));
	if ($round % 3 == 0) { $node->stop('immediate'); $node->start }
	elsif ($pid ne '' && $round % 3 == 1) { kill 'KILL', $pid; select(undef, undef, undef, 0.5) }
	elsif ($pid ne '') { $node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)") }
	$builder->finish;
	until_true('SELECT true');
	is($node->safe_psql('postgres', $differences), '', "round $round, cut off: nothing differs");
	$output = '';
	rebuild($table, 'NULL', \$output)->finish;
	is($output, '', 'it is rebuilt');
	is($node->safe_psql('postgres', $differences), '', 'and nothing differs');
}
stop_load($load);
is($node->safe_psql('postgres', q(SELECT v FROM (VALUES ('f_k'::regclass), ('f_h')) t (t), indextable.verify(t) v)), '', 'verify() agrees');
is($node->safe_psql('postgres', q(SELECT relname FROM pg_class WHERE relname ~ '^rebuild_')), '', 'nothing is left behind');
is($node->safe_psql('postgres', q(SELECT count(*) > 0 FROM pg_index WHERE indrelid = 'f_k'::regclass AND indexrelid::regclass::text = 'f_k_k')), 't', 'an index of the owner is there');
$minimal->stop;
done_testing();
