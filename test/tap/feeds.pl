# Asynchronous index tables over foreign partitions, fed by the servers that have the rows: writes over there and through the
# coordinator, crashes at each step between take, commit and acknowledgement, acknowledgements that are lost or come late, rows
# that move from server to server, TRUNCATE over there, and a server that is down. A recompute in plain SQL is the oracle.

use strict;
use warnings;
use CPAN::Meta::YAML;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $preload = "shared_preload_libraries = 'indextable'";
my $c = new_server('coordinator', $preload, 'indextable.check_interval = 0', 'indextable.naptime = 50ms', 'max_prepared_transactions = 5');
my %shard = map { $_ => new_server($_, $preload) } ('s1', 's2');
plan skip_all => 'postgres_fdw is not installed'
	unless $c->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'");

sub sql { return $c->safe_psql('postgres', $_[0]); }

sub on { my ($name, $sql) = @_; return $shard{$name}->safe_psql('postgres', $sql); }

# fails SQL, PATTERN, NAME: what is said when it does not work
sub fails
{
	my ($sql, $pattern, $name, $node) = @_;
	my ($status, $out, $err) = ($node // $c)->psql('postgres', "\\set VERBOSITY verbose\n$sql");
	return like($err, $pattern, $name);
}

# ---- the tables: on each server one with the key in another order, and one that is partitioned there

my $d = 'CREATE FUNCTION d(i int) RETURNS jsonb IMMUTABLE LANGUAGE sql AS $$ SELECT jsonb_build_object(\'k\', \'k\' || i % 10, \'u\', i, \'t\', ARRAY[\'t\' || i % 3, \'t\' || i % 4]) $$;';
on($_, <<"SQL") for sort keys %shard;
CREATE EXTENSION indextable;
$d
CREATE TABLE f_$_ (id int, r text, doc jsonb, note text, PRIMARY KEY (id, r));
CREATE SCHEMA "Other";
CREATE TABLE "Other"."p's" (r text, number int, doc jsonb, note text, PRIMARY KEY (r, number)) PARTITION BY HASH (number);
CREATE TABLE p0 PARTITION OF "Other"."p's" FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE p1 PARTITION OF "Other"."p's" FOR VALUES WITH (MODULUS 2, REMAINDER 1);
SQL
my $servers = join '', map { "CREATE SERVER $_ FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '" . $shard{$_}->host . "', port '" . $shard{$_}->port . "', dbname 'postgres', connect_timeout '5');\n"
	  . "CREATE USER MAPPING FOR PUBLIC SERVER $_ OPTIONS (user '" . on($_, 'SELECT current_user') . "', password_required 'false');\n" } sort keys %shard;
sql(<<"SQL");
CREATE EXTENSION indextable;
CREATE EXTENSION postgres_fdw;
$servers
$d
CREATE TABLE f (id int NOT NULL, r text NOT NULL, doc jsonb, note text) PARTITION BY LIST (r);
CREATE FOREIGN TABLE f1 PARTITION OF f FOR VALUES IN ('a') SERVER s1 OPTIONS (table_name 'f_s1');
CREATE FOREIGN TABLE f2 PARTITION OF f FOR VALUES IN ('b') SERVER s2 OPTIONS (table_name 'f_s2');
CREATE FOREIGN TABLE p1 (r text NOT NULL, id int OPTIONS (column_name 'number') NOT NULL, doc jsonb, note text) SERVER s1 OPTIONS (schema_name 'Other', table_name 'p''s');
CREATE FOREIGN TABLE p2 (r text NOT NULL, id int OPTIONS (column_name 'number') NOT NULL, doc jsonb, note text) SERVER s2 OPTIONS (schema_name 'Other', table_name 'p''s');
ALTER TABLE f ATTACH PARTITION p1 FOR VALUES IN ('pa');
ALTER TABLE f ATTACH PARTITION p2 FOR VALUES IN ('pb');
CREATE TABLE fl PARTITION OF f (PRIMARY KEY (r, id)) FOR VALUES IN ('l');
INSERT INTO f SELECT i, r, d(i) FROM generate_series(1, 50) i, unnest('{a,b,pa,pb,l}'::text[]) r;
SQL

# ---- what create() wants

my $create = "SELECT indextable.create('f_k', 'f', '{k}', maintenance => 'async', primary_key => '{r,id}')";
fails($create, qr/55000: +table "f_s1" has no feed.*HINT: +Run SELECT indextable\.create_feed\('public\.f_s1'\);.*CONTEXT: +statement on server "s1"/s, 'feeds are needed');
on($_, "SELECT indextable.create_feed('f_$_'), indextable.create_feed('\"Other\".\"p''s\"')") for sort keys %shard;
my ($status, $out, $err) = $c->psql('postgres', $create);
is($err, '', 'nothing to warn of');
sql(<<'SQL');
ALTER SERVER s1 OPTIONS (DROP connect_timeout);
SELECT indextable.create('f_t', 'f', '{t[*]}', include => '{u::int,@note}', maintenance => 'async');
ALTER SERVER s1 OPTIONS (ADD connect_timeout '5');
CREATE VIEW drift AS
WITH f AS MATERIALIZED (SELECT r, id, doc, note FROM f),
	k AS (SELECT doc ->> 'k', r, id FROM f),
	t AS (SELECT e, r, id, (doc ->> 'u')::int, note, count(*)::int FROM f, jsonb_array_elements_text(doc -> 't') e GROUP BY 1, 2, 3, 4, 5)
SELECT 'f_k missing' AS what, count(*) AS n FROM (TABLE k EXCEPT ALL TABLE f_k) x
UNION ALL SELECT 'f_k extra', count(*) FROM (TABLE f_k EXCEPT ALL TABLE k) x
UNION ALL SELECT 'f_t missing', count(*) FROM (TABLE t EXCEPT ALL TABLE f_t) x
UNION ALL SELECT 'f_t extra', count(*) FROM (TABLE f_t EXCEPT ALL TABLE t) x;
SQL

# converges NAME: as soon as everything is applied, by workers
sub converges
{
	my ($name) = @_;
	is(sql("SELECT indextable.wait('f_k', '3 minutes')"), 't', "$name: everything is applied");
	drift_free($c, $name);
	is(sql("SELECT v.* FROM unnest('{f_k,f_t}'::regclass[]) i, indextable.verify(i) v"), '', "$name: verify() says the same");
	return;
}

sub backlog { return on($_[0], "SELECT sum(backlog) FROM indextable.queues"); }

# workers START: starts them, or stops them, also for after a crash
sub workers
{
	my ($start) = @_;
	sql('ALTER SYSTEM SET indextable.max_workers = ' . ($start ? 1 : 0));
	$c->reload;
	becomes_true($c, 'SELECT NOT EXISTS (SELECT FROM indextable.workers())') unless $start;
	return;
}

# unknown SERVER, NAME: the test that nobody knows what is in its feeds, and since when
sub unknown
{
	my ($server, $name) = @_;
	return is(sql("SELECT backlog IS NULL AND lag IS NULL AND last_error_at <= clock_timestamp() FROM indextable.queues WHERE server = '$server'"), 't', "$name: the backlog of $server is not known, and since when");
}

# alerted WHERE: the alert of the documentation, and those of monitoring/, of queues like this, once they are a minute older
my $root = "$FindBin::RealBin/../..";
my ($alert) = slurp_file("$root/docs/consistency.md") =~ /As a check that returns nothing.*?```sql\n(.*?);\n```/s;
my $metrics = CPAN::Meta::YAML->read("$root/monitoring/postgres_exporter.yaml")->[0]{indextable_queue}{query};

sub alerted
{
	my ($where) = @_;
	my $later = "clock_timestamp() + interval '61 s'";
	(my $rows = $alert) =~ s/\bnow\(\)/($later)/;
	$rows =~ s/WHERE (.*)/WHERE ($1) $where/s;
	(my $values = $metrics) =~ s/pg_catalog\.clock_timestamp\(\)/($later)/;
	return sql($rows) ne '' && sql("SELECT count(*) FROM ($values) m WHERE unknown = 1 AND trouble_seconds > 60 $where") eq '1';
}

converges('created');
fails("SELECT indextable.create_feed('f_s1')", qr/42710/, 'one feed is enough', $shard{s1});
fails("SELECT indextable.create('x', 'f_s1', '{k}', maintenance => 'async')", qr/0A000: .*has a feed/s, 'no queue beside a feed', $shard{s1});
fails("SELECT indextable.create_feed('f')", qr/0A000: .*foreign partitions/s, 'no feed over foreign partitions');
is(on('s1', 'SELECT indextable.drain()'), '0', 'drain() leaves feeds alone');

# rowtriggers: the tables that have our row trigger
sub rowtriggers { return sql("SELECT string_agg(tgrelid::regclass::text, ' ' ORDER BY 1) FROM pg_trigger WHERE tgname = 'indextable_row'"); }

is(rowtriggers(), 'fl', 'only the local partition has a row trigger');
like(sql("EXPLAIN (VERBOSE, COSTS OFF) UPDATE f SET note = 'x' WHERE r = 'a'"), qr/Remote SQL: UPDATE/, 'rows over there are modified directly');

# ---- writes, everywhere, with a transactional index table over there

on('s1', "SELECT indextable.create('local_k', 'f_s1', '{k}')");
on('s1', "UPDATE f_s1 SET doc = d(id + 1) WHERE id % 3 = 0; DELETE FROM f_s1 WHERE id % 7 = 0; INSERT INTO f_s1 SELECT i, 'a', d(i) FROM generate_series(101, 150) i");
on('s2', q{UPDATE "Other"."p's" SET doc = d(number + 1), number = number + 1000 WHERE number % 3 = 0; BEGIN; DELETE FROM f_s2; ROLLBACK});
sql("UPDATE f SET doc = d(id + 2) WHERE id % 5 = 0; INSERT INTO f SELECT i, 'l', d(i) FROM generate_series(201, 250) i; UPDATE fl SET note = 'x'");
converges('written');
is(on('s1', "SELECT count(*) FROM indextable.verify('local_k')"), '0', 'the transactional index table over there is right');
is(backlog('s1') + backlog('s2'), 0, 'feeds are empty');
is(sql("SELECT count(*), count(server), bool_and(backlog = 0) FROM indextable.queues"), '3|2|t', 'a queue for each server');

# ---- drain(), which acknowledges what it has applied the next time

workers(0);
on('s1', "UPDATE f_s1 SET doc = d(id + 10) WHERE id < 20");
is(backlog('s1'), on('s1', 'SELECT count(*) FROM f_s1 WHERE id < 20'), 'changes are in the feed');
cmp_ok(sql("SELECT count(*) FROM indextable.verify('f_k')"), '==', 0, 'which verify() knows');
isnt(sql('SET indextable.planner = off; SELECT sum(n) FROM drift'), '0', 'and they are not applied');
my $taken = on('s1', "SELECT array_agg(item) FROM indextable_internal.take('f_s1', 5, '{id,r}')");
is(sql("SELECT indextable.drain('f') > 0"), 't', 'drain() applies them');
drift_free($c, 'drained');
cmp_ok(backlog('s1'), '>', 0, 'nothing is acknowledged before the commit');
is(sql("SELECT indextable.drain('f') > 0; SELECT indextable.wait('f_k', '10 s')"), "t\nt", 'in the next transaction it is');
is(backlog('s1'), '0', 'the feed is empty');
is(on('s1', "SELECT indextable_internal.ack('f_s1', '$taken')"), '0', 'late acknowledgements do nothing');
fails("BEGIN; SELECT count(*) FROM f; SELECT indextable.drain()", qr/25001: .*has used foreign table/s, 'drain() in a transaction that has used a server');
fails("BEGIN; SELECT count(*) FROM f1; SELECT indextable.drain('f')", qr/25001: .*has used foreign table/s, 'or one partition of it');
on('s1', "UPDATE f_s1 SET doc = d(id + 11) WHERE id = 1");
fails("BEGIN; SAVEPOINT s; SELECT count(*) FROM f; ROLLBACK TO s; SELECT indextable.drain('f')", qr/25001: .*subtransaction was rolled back/s, 'or has done so in what is rolled back: its snapshot is still used over there');
fails("BEGIN; UPDATE f SET doc = d(12) WHERE id = 1 AND r = 'a'; SELECT indextable.wait('f_k', '10 s')", qr/25001: .*has used foreign table "f1".*HINT: +Commit/s, 'nor does wait() mistake changes of the transaction for applied ones');
is(sql("BEGIN; SAVEPOINT s; SELECT indextable.drain('f'); ROLLBACK TO s; COMMIT; SELECT indextable.wait('f_k', '0.1 s')"), "1\nf", 'what is rolled back is not acknowledged');
is(sql("SELECT indextable.drain('f'); SELECT indextable.wait('f_k', '10 s')"), "1\nt", 'but applied again');
drift_free($c, 'drained again');

# another table on the same server, which shows it as of when it was read for the first
on('s1', "CREATE TABLE g_s1 (id int PRIMARY KEY, doc jsonb); SELECT indextable.create_feed('g_s1'); INSERT INTO g_s1 VALUES (1, d(1)); UPDATE f_s1 SET doc = d(id + 12) WHERE id = 1");
sql("CREATE TABLE g (id int NOT NULL, doc jsonb) PARTITION BY RANGE (id); CREATE FOREIGN TABLE g1 PARTITION OF g DEFAULT SERVER s1 OPTIONS (table_name 'g_s1')");
sql("SELECT indextable.create('g_k', 'g', '{k}', maintenance => 'async', primary_key => '{id}')");
on('s1', "UPDATE g_s1 SET doc = d(2)");
fails("SELECT indextable.drain()", qr/01000: .*could not drain table "g".*has used foreign table/s, 'drain() of all tables leaves out one for which it would read the same server again');
drift_free($c, 'the other one is drained');
is(sql("SELECT indextable.drain('g'); TABLE g_k"), "2\nk2|1", 'it is drained by itself');
sql("SELECT indextable.wait('g_k', '10 s'); DROP TABLE g");
on('s1', 'DROP TABLE g_s1');

# a place in the feed that is used again: an item names one change only
on('s1', "UPDATE f_s1 SET doc = d(id + 12) WHERE id = 1");
my $item = on('s1', "SELECT item FROM indextable_internal.take('f_s1', 1, '{id,r}')");
(my $other = $item) =~ s/(\d+)$/$1 + 1/e;
is(on('s1', "SELECT indextable_internal.ack('f_s1', ARRAY['$other'])"), '0', 'another transaction, the same place: not this change');
fails("SELECT indextable_internal.ack('f_s1', ARRAY['x'])", qr/22023/, 'what take() has not returned', $shard{s1});
is(on('s1', "SELECT indextable_internal.ack('f_s1', ARRAY['$item', '$item'])"), '1', 'twice in one call');
is(on('s1', "SELECT indextable_internal.ack('f_s1', ARRAY['$item'])"), '0', 'and in two');
on('s1', "UPDATE f_s1 SET note = 'again' WHERE id = 1");    # what was acknowledged and not applied

# ---- a row that is moved from server to server, with both keys pending

on('s1', "WITH x AS (DELETE FROM f_s1 WHERE id = 2 RETURNING *) SELECT FROM x");
on('s2', "INSERT INTO f_s2 VALUES (902, 'b', d(2))");
on('s1', "UPDATE f_s1 SET doc = doc || '{\"k\": \"moved\"}' WHERE id = 4");
sql("DELETE FROM f WHERE id = 3 AND r = 'a'; INSERT INTO f VALUES (3003, 'b', d(3))");
workers(1);
converges('moved');

# ---- TRUNCATE over there

workers(0);
on('s1', "TRUNCATE f_s1; INSERT INTO f_s1 SELECT i, 'a', d(i) FROM generate_series(1, 5) i");
on('s2', q{TRUNCATE p0});
is(sql("SELECT indextable.drain() > 0"), 't', 'drain() after TRUNCATE');
drift_free($c, 'truncated');
on('s2', q{TRUNCATE "Other"."p's"});
workers(1);
converges('truncated again');
on('s2', q{CREATE TABLE p2 (LIKE "Other"."p's"); INSERT INTO p2 SELECT 'pb', i, d(i) FROM generate_series(1, 500) i; ALTER TABLE "Other"."p's" DETACH PARTITION p0; DELETE FROM p2 WHERE NOT satisfies_hash_partition('"Other"."p''s"'::regclass, 2, 0, number); ALTER TABLE "Other"."p's" ATTACH PARTITION p2 FOR VALUES WITH (MODULUS 2, REMAINDER 0)});
converges('a partition over there attached');
sql("TRUNCATE f; INSERT INTO f SELECT i, r, d(i) FROM generate_series(1, 50) i, unnest('{a,b,pa,pb,l}'::text[]) r");
converges('TRUNCATE of the root');

# ---- crashes between take, commit and acknowledgement

workers(0);
for my $step ('before the commit', 'before the acknowledgement')
{
	my $n = $step =~ /commit/ ? 21 : 22;
	on('s1', "UPDATE f_s1 SET doc = d(id + $n)");
	on('s2', "UPDATE f_s2 SET doc = d(id + $n); DELETE FROM f_s2 WHERE id = $n");
	my $s = session($c);
	$s->query('BEGIN');
	$s->query("SELECT indextable.drain('f')");
	$s->query('COMMIT') if $step =~ /ack/;
	$c->stop('immediate');
	$s->finish;
	$c->start;
	if ($step =~ /ack/)
	{
		drift_free($c, "crash $step: what was committed is there");
		cmp_ok(backlog('s1'), '>', 0, 'and still in the feed');
	}
	else { isnt(sql('SET indextable.planner = off; SELECT sum(n) FROM drift'), '0', "crash $step: nothing is applied"); }
	workers(1);
	converges("crash $step");
	workers(0);
}

# an acknowledgement that is lost: that server crashes before it is committed there
on('s1', "UPDATE f_s1 SET doc = d(id + 31)");
my $s = session($c);
$s->query("SELECT indextable.drain('f')");
$shard{s1}->stop('immediate');
$s->query("SELECT count(*) FROM indextable.drain()");
$s->finish;
$shard{s1}->start;
cmp_ok(backlog('s1'), '>', 0, 'a feed survives a crash');
workers(1);
converges('an acknowledgement lost');

# ---- one server is down

$shard{s2}->stop('immediate');
on('s1', "UPDATE f_s1 SET doc = doc || '{\"k\": \"meanwhile\"}'");
sql("UPDATE fl SET doc = doc || '{\"k\": \"meanwhile\"}'");
ok(becomes_true($c, "SELECT count(*) = 100 FROM f_k WHERE k = 'meanwhile'"), 'one server is down, and the other and the local partition go on');
ok(becomes_true($c, "SELECT last_error IS NOT NULL AND worker_state = 'failing' FROM indextable.queues WHERE server = 's2'"), 'the view shows the error');
my $where = '"s2" \(host ' . quotemeta($shard{s2}->host) . ', port ' . $shard{s2}->port . '\)';
like(sql("SELECT last_error FROM indextable.queues WHERE server = 's2'"), qr/^could not connect to server $where$/, 'and where the server is');
unknown('s2', 'a server that is down');
is(sql("SELECT backlog IS NOT NULL AND lag IS NOT NULL FROM indextable.queues WHERE server = 's1'"), 't', 'the other one is known');
ok(alerted("AND server = 's2'"), 'an alert is raised');
is(sql("SELECT count(*) FROM indextable.queues WHERE last_error IS NOT NULL"), '1', 'of this one');
is(sql("SELECT count(*) FROM indextable.index_tables WHERE index_table = 'f_k'::regclass"), '1', 'views can be read');
fails("SELECT indextable.wait('f_k', '5 s')", qr/08001|08006/, 'wait() fails');
fails("SELECT indextable.drain('f')", qr/08001|08006/, 'so does drain() of the table');
fails("SELECT indextable.drain()", qr/01000: .*could not drain table "f"/, 'which is a warning with other tables');
$shard{s2}->start;
converges('it is up again');
ok(becomes_true($c, 'SELECT bool_and(backlog = 0 AND lag = $$0$$ AND last_error_at IS NULL) FROM indextable.queues'), 'and known again');

# ---- nobody asks the servers

sql('SELECT indextable.stop_workers()');
becomes_true($c, 'SELECT NOT EXISTS (SELECT FROM indextable.workers())');
on('s1', "UPDATE f_s1 SET doc = doc || '{\"k\": \"waiting\"}'");
unknown($_, 'no worker') for 's1', 's2';
is(sql("SELECT string_agg(DISTINCT worker_state, ' ') || count(last_error) FROM indextable.queues"), 'none0', 'which is no error');
is(sql("SELECT backlog FROM indextable.queues WHERE server IS NULL"), '0', 'the backlog here is known');
ok(alerted("AND server = 's1'"), 'an alert is raised');
$c->restart('fast');
workers(0);
unknown($_, 'not asked since the start') for 's1', 's2';
sql('SELECT indextable.start_workers()');
workers(1);
converges('a worker is there again');
ok(becomes_true($c, 'SELECT bool_and(backlog = 0 AND last_error_at IS NULL) FROM indextable.queues'), 'and all is known');

# ---- under load, with crashes of all of them

my @load;
for my $w (1 .. 3)
{
	my $name = ('', 's1', 's2', 'c')[$w];
	my $node = $name eq 'c' ? $c : $shard{$name};
	my ($table, $r) = $name eq 's1' ? ('f_s1', 'a') : $name eq 's2' ? ('f_s2', 'b') : ('f', 'pa');
	my $path = PostgreSQL::Test::Utils::tempdir() . "/load.$w.sql";
	open my $file, '>', $path or die;
	print $file <<"SQL";
\\set i random(1, 400)
BEGIN;
DELETE FROM $table WHERE id = :i AND r = '$r';
INSERT INTO $table (id, r, doc) SELECT :i, '$r', d(:i + (random() * 1000)::int) WHERE random() < 0.8;
END;
UPDATE $table SET doc = d((random() * 1000)::int) WHERE id = :i + 1 AND r = '$r';
SQL
	close $file;
	push @load, [ $node, $path ];
}
for my $round (1 .. 3)
{
	my @run = map { IPC::Run::start([ 'pgbench', '-n', '-T', '2', '-f', $_->[1], $_->[0]->connstr('postgres') ], '>', '/dev/null', '2>&1') } @load;
	select(undef, undef, undef, 0.6 + rand);
	my $victim = ($c, $shard{s1}, $shard{s2})[ $round - 1 ];
	$victim->stop('immediate');
	$victim->start;
	$_->finish for @run;
	converges("load, and a crash of " . $victim->name);
}

# ---- verify() and repair(); partitions that come and go

workers(0);
on('s1', "DELETE FROM f_s1 WHERE id % 2 = 0");
on('s1', "SELECT count(*) FROM (SELECT indextable_internal.ack('f_s1', array_agg(item)) FROM indextable_internal.take('f_s1', 1000, '{id,r}')) x");
cmp_ok(sql("SELECT count(*) FROM indextable.verify('f_k')"), '>', 0, 'what is lost is found');
sql("CALL indextable.repair('f_k'); CALL indextable.repair('f_t')");
workers(1);
converges('mended');
sql('ALTER TABLE f DETACH PARTITION f2');
converges('detached');
on('s2', "DELETE FROM f_s2 WHERE id % 2 = 0");
sql("ALTER TABLE f ATTACH PARTITION f2 FOR VALUES IN ('b')");
converges('attached');
sql('ALTER TABLE f DETACH PARTITION f2');
on('s2', "SELECT indextable.drop_feed('f_s2')");
is(on('s2', "SELECT count(*) FROM pg_trigger WHERE tgrelid = 'f_s2'::regclass"), '0', 'triggers go with a feed');
fails("ALTER TABLE f ATTACH PARTITION f2 FOR VALUES IN ('b')", qr/55000: +table "f_s2" has no feed/, 'not attached without a feed');
on('s2', "SELECT indextable.create_feed('f_s2')");
sql("ALTER TABLE f ATTACH PARTITION f2 FOR VALUES IN ('b')");
on('s2', "SELECT indextable.drop_feed('f_s2')");
like(sql("SELECT kind, problem FROM indextable.verify('f_k')"), qr/^setup\|.*feed/, 'a missing feed is told of');
on('s2', "SELECT indextable.create_feed('f_s2'); UPDATE f_s2 SET note = 'renamed'; ALTER TABLE f_s2 RENAME TO renamed");
sql("ALTER FOREIGN TABLE f2 OPTIONS (SET table_name 'renamed')");
converges('renamed over there');

sql("CREATE TABLE fm PARTITION OF f (PRIMARY KEY (r, id)) FOR VALUES IN ('m'); INSERT INTO f SELECT i, r, d(i) FROM generate_series(1001, 1010) i, unnest('{l,m,a}'::text[]) r");
is(rowtriggers(), 'fl fm', 'a new local partition has one');
sql("ALTER TABLE f DETACH PARTITION fm; DELETE FROM fm WHERE id = 1001; ALTER TABLE f ATTACH PARTITION fm FOR VALUES IN ('m'); DELETE FROM fm WHERE id = 1002");
sql("ALTER TABLE f DETACH PARTITION fl");
is(rowtriggers(), 'fm', 'a detached one has none');
converges('local partitions that come and go');

# a transactional index table beside the others
sql("SET client_min_messages = error; SELECT indextable.create('f_x', 'f', '{k}')");
is(rowtriggers(), 'f f1 f2 fm p1 p2', 'a transactional index table brings row triggers back');
# postgres_fdw finds a row by its place, which is not unique where the table is partitioned over there
sql("UPDATE f SET doc = d(id + 3) WHERE id % 2 = 1 AND r NOT LIKE 'p%'; DELETE FROM f WHERE id % 11 = 0 AND r NOT LIKE 'p%'");
is(sql("SET indextable.planner = off; SELECT count(*) FROM (SELECT doc ->> 'k', r, id FROM f EXCEPT ALL TABLE f_x) x") . sql("SET indextable.planner = off; SELECT count(*) FROM (TABLE f_x EXCEPT ALL SELECT doc ->> 'k', r, id FROM f) x"), '00', 'it is in step');
fails("SELECT indextable.alter('f_k', maintenance => 'transactional')", qr/0A000: .*feeds of other servers/, 'fed index tables stay asynchronous');
fails("SELECT indextable.alter('f_t', include => '{u}')", qr/0A000: .*feeds of other servers/, 'with what is in them');
sql("SELECT indextable.alter('f_x', maintenance => 'async')");
converges('one more asynchronous index table');
is(sql("SELECT count(*) FROM indextable.verify('f_x')"), '0', 'which is right, too');
sql("SELECT indextable.drop('f_x')");

# what is in feeds when an index table is built or rebuilt online is applied afterwards
my @building = map { IPC::Run::start([ 'pgbench', '-n', '-T', '4', '-f', $_->[1], $_->[0]->connstr('postgres') ], '>', '/dev/null', '2>&1') } @load;
sql("CALL indextable.rebuild('f_t', 20, '20 ms')");
sql("SELECT indextable.create('f_b', 'f', '{k}', maintenance => 'async', populate => false)");
sql("CALL indextable.build('f_b', 20, '20 ms')");
$_->finish for @building;
converges('rebuilt while shards are written');
is(sql("SET indextable.planner = off; SELECT count(*) FROM (SELECT doc ->> 'k', r, id FROM f EXCEPT ALL TABLE f_b) x") . sql("SET indextable.planner = off; SELECT count(*) FROM (TABLE f_b EXCEPT ALL SELECT doc ->> 'k', r, id FROM f) x"), '00', 'one that was built meanwhile is right');
sql("SELECT indextable.drop('f_b')");
fails("SELECT indextable.create('f_b', 'f', '{k}', populate => false)", qr/0A000: .*cannot be queued/, 'a transactional one is not built online beside them');

# ---- an owner that is no superuser, with the rights that the page names and no others

$_->safe_psql('postgres', "SET password_encryption = 'scram-sha-256'; CREATE ROLE app LOGIN PASSWORD 'secret'") for $c, $shard{s1};
$_->safe_psql('postgres', 'CREATE DATABASE granted') for $c, $shard{s1};
my $hba = $shard{s1}->data_dir . '/pg_hba.conf';
my $trust = slurp_file($hba);
unlink $hba;
append_to_file($hba, "local granted app scram-sha-256\n$trust");
$shard{s1}->reload;
$shard{s1}->safe_psql('granted', "CREATE EXTENSION indextable; CREATE TABLE c0 (id int PRIMARY KEY, doc jsonb); ALTER TABLE c0 OWNER TO app; SET ROLE app; SELECT indextable.create_feed('c0')");
my $shards = slurp_file("$root/docs/shards.md");
my ($grants) = $shards =~ /```sql\n(GRANT USAGE ON FOREIGN SERVER.*?)```/s;
my $make = "SET ROLE app; CREATE TABLE c (id int NOT NULL, doc jsonb) PARTITION BY HASH (id); CREATE FOREIGN TABLE c0 PARTITION OF c FOR VALUES WITH (MODULUS 1, REMAINDER 0) SERVER shard_1";
$c->safe_psql('granted', "CREATE EXTENSION indextable; CREATE EXTENSION postgres_fdw; CREATE SERVER shard_1 FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '"
	  . $shard{s1}->host . "', port '" . $shard{s1}->port . "', dbname 'granted', connect_timeout '5'); GRANT CREATE ON SCHEMA public TO app; REVOKE ALL ON ALL FUNCTIONS IN SCHEMA public FROM PUBLIC");
($status, $out, $err) = $c->psql('granted', "BEGIN; $make; COMMIT", on_error_stop => 1);
like($err, qr/permission denied for foreign server shard_1/, 'without the rights it may not');
$c->safe_psql('granted', "$grants; $make; SELECT indextable.create('c_k', 'c', '{k}', maintenance => 'async', primary_key => '{id}')");
$shard{s1}->safe_psql('granted', q(INSERT INTO c0 VALUES (1, '{"k": "a"}')));
is($c->safe_psql('granted', "SET ROLE app; DO 'BEGIN PERFORM indextable.drain(''c''); END'; SELECT indextable.wait('c_k', '60 s'); SELECT r FROM indextable.lookup('c_k', '{\"k\": \"a\"}') r; SELECT count(*) FROM indextable.verify('c_k')"),
	qq(t\n{"k": "a"}\n0), 'with them it has all that it needs');

# ---- dump and restore of a shard

workers(0);
on('s2', "UPDATE renamed SET doc = doc || '{\"k\": \"dumped\"}'");
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
$shard{s2}->command_ok([ 'pg_dump', '-f', $dump, 'postgres' ], 'a server with feeds is dumped');
on('s2', 'CREATE DATABASE copy');
$shard{s2}->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, 'copy' ], 'and restored');
sql("ALTER SERVER s2 OPTIONS (SET dbname 'copy')");
$shard{s2}->safe_psql('copy', "DELETE FROM renamed WHERE id % 3 = 0; TRUNCATE \"Other\".\"p's\"");
workers(1);
converges('restored, with what was in the feeds');
$shard{s2}->safe_psql('copy', 'DROP TABLE renamed');
is($shard{s2}->safe_psql('copy', "SELECT count(*) FROM indextable_internal.fact"), '1', 'a feed goes with its table');
$shard{s2}->safe_psql('copy', 'DROP EXTENSION indextable CASCADE');
is($shard{s2}->safe_psql('copy', "SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'indextable%'"), '0', 'or with the extension');
done_testing();
