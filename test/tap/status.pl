# What is shown of workers: who waits for a lock is not failing, and goes on when he has it; what DDL mends is tried again
# at once; an error is kept for the next worker, and logged once. The alerts of the documentation are silent under ordinary
# DDL, and pg_monitor is enough for all that is in monitoring/.

use strict;
use warnings;
use CPAN::Meta::YAML;
use FindBin;
use JSON::PP;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('status', "shared_preload_libraries = 'indextable'", 'indextable.naptime = 100ms', 'max_worker_processes = 20', 'autovacuum = off', 'wal_level = replica');
my $root = "$FindBin::RealBin/../..";

sub sql { return $node->safe_psql('postgres', $_[0]); }

# block PAGE, TEXT: the next block of SQL after a text in a page of docs/
sub block
{
	my ($page, $text) = @_;
	return slurp_file("$root/docs/$page.md") =~ /\Q$text\E.*?```sql\n(.*?)```/s ? $1 : die "docs/$page.md has no $text";
}
my @alerts = (block('consistency', 'As a check that returns nothing'), block('operating', 'last check found something or failed'));
$alerts[0] =~ s/lag > '1 minute'/lag > '1 day'/ or die "the alert has no limit of the lag\n";    # which grows while a slow machine waits

sub silent { my ($name) = @_; is(sql($_), '', "$name: no alert") for @alerts; return; }

sub waits
{
	my ($name, $what, $by) = @_;
	my $state = q(SELECT worker_state, last_error, blocked_by FROM indextable.queues WHERE fact_table = 'f'::regclass);
	ok(becomes_true($node, "SELECT worker_state = 'waiting' AND last_error = 'waiting for $what' AND blocked_by = '{$by}' FROM indextable.queues WHERE fact_table = 'f'::regclass"),
		"$name: a worker waits, it is seen for what, and for whom") or diag sql($state);
	# Several tries later
	my $since = sql(q(SELECT last_error_at FROM indextable.queues WHERE fact_table = 'f'::regclass));
	for (1 .. 6)
	{
		my $try = sql(q(SELECT next_try FROM indextable.queues WHERE fact_table = 'f'::regclass));
		becomes_true($node, "SELECT next_try > '$try' FROM indextable.queues WHERE fact_table = 'f'::regclass");
	}
	is(sql("SELECT worker_state, last_error_at = '$since', next_try < clock_timestamp() + interval '1 s' FROM indextable.queues WHERE fact_table = 'f'::regclass"),
		'waiting|t|t', "$name: since then, and it looks every second at least");
	ok(becomes_true($node, q(SELECT worker_state IN ('idle', 'draining') FROM indextable.queues WHERE fact_table = 'g'::regclass)), "$name: another fact table does not wait");
	silent($name);
	return;
}

sub goes_on
{
	my ($name) = @_;
	ok(drained($node), "$name: it goes on");
	ok(becomes_true($node, 'SELECT bool_and(last_error IS NULL AND last_error_at IS NULL AND next_try IS NULL AND blocked_by IS NULL) FROM indextable.queues'), "$name: and says so");
	drift_free($node, "$name: index tables equal their recompute");
	return;
}

sql(fact_table() . "INSERT INTO f SELECT g, d(g), 'n' FROM generate_series(1, 100) g;" . index_tables('async'));
sql(q(CREATE TABLE g (pk int PRIMARY KEY, doc jsonb); SELECT indextable.create('g_k', 'g', '{k}', maintenance => 'async'); INSERT INTO g VALUES (1, '{"k": "a"}')));
ok(drained($node), 'it works');

# ---- waiting

my $log = -s $node->logfile;
my $other = session($node);
my $pid = $other->query('SELECT pg_backend_pid()');
$other->query('BEGIN; LOCK TABLE f_v IN SHARE MODE');
sql('UPDATE f SET doc = d(pk + 1)');
waits('a locked index table', 'a lock', $pid);
$other->query('COMMIT');
goes_on('a locked index table');

# ALTER TABLE that waits for a reader: whoever comes later waits behind it.
my $ddl = session($node);
my $ddl_pid = $ddl->query('SELECT pg_backend_pid()');
$other->query('BEGIN; SELECT count(*) FROM f');
$ddl->start('ALTER TABLE f ADD COLUMN more int');
waits('ALTER TABLE that waits', 'a lock', $ddl_pid);
$other->query('COMMIT');
$ddl->answer;
sql('ALTER TABLE f DROP COLUMN more; UPDATE f SET doc = d(pk + 2)');
goes_on('ALTER TABLE that waits');

$other->query('BEGIN; SELECT indextable.drain($$f$$)');
sql('UPDATE f SET doc = d(pk + 3)');
waits('drain() in a transaction block', 'a lock', $pid);
$other->query('COMMIT');
goes_on('drain() in a transaction block');

$other->query(q(BEGIN; LOCK TABLE f_k IN SHARE MODE; PREPARE TRANSACTION 'p'));
sql('UPDATE f SET doc = d(pk + 4)');
waits('a prepared transaction', 'a lock', 0);
$other->query(q(COMMIT PREPARED 'p'));
goes_on('a prepared transaction');
unlike(substr(slurp_file($node->logfile), $log), qr/ERROR:  /, 'none of that is written to the log');

# ---- a periodic check that waits is made later

$other->query('BEGIN; LOCK TABLE f_t IN ACCESS EXCLUSIVE MODE');
sql(q(ALTER SYSTEM SET indextable.check_interval = '1s'));
$node->reload;
ok(becomes_true($node, q(SELECT count(*) > 0 FROM pg_locks WHERE relation = 'f_t'::regclass AND NOT granted AND pid IN (SELECT pid FROM indextable.workers()))), 'a check waits');
ok(becomes_true($node, q(SELECT count(*) > 0 FROM indextable.checks WHERE index_table <> 'f_t'::regclass)), 'others are checked');
$other->query('COMMIT');
my $now = sql('SELECT clock_timestamp()');
ok(becomes_true($node, "SELECT count(*) > 0 FROM indextable.checks WHERE index_table = 'f_t'::regclass AND checked_at > '$now'"), 'it is made later');
is(sql('SELECT index_table, error FROM indextable.checks WHERE error IS NOT NULL'), '', 'and has not failed');
silent('a check');

# ---- what pg_monitor sees

sql(<<'SQL');
CREATE ROLE watcher LOGIN IN ROLE pg_monitor;
CREATE ROLE nobody LOGIN;
SELECT indextable.create('g_n', 'g', '{n::int}', maintenance => 'async');
INSERT INTO g VALUES (2, '{"k": "b", "n": "secret"}');
SQL
ok(becomes_true($node, 'SELECT count(*) = 1 FROM indextable.rejected'), 'a row is rejected');
# A worker would soon check again.
sql(q(SELECT indextable.stop_workers()));
sql(q(INSERT INTO indextable_internal.checked VALUES ('g_k', now(), '0', 100, 3, 0, 0, 0, 0, 'missing {"pk": "secret"}', NULL, NULL)));
for my $role ('watcher', 'nobody')
{
	my $sees = $role eq 'watcher';
	my @shown = map { $node->safe_psql('postgres', $_, extra_params => [ '-U', $role ]) } 'SELECT * FROM indextable.rejected',
	  q(SELECT * FROM indextable.checks WHERE missing = 3 AND index_table = 'g_k'::regclass), 'SELECT * FROM indextable.queues';
	is($shown[$_] ne '', $sees, "$role: sees " . ($sees ? 'that there is something' : 'nothing')) for 0 .. 1;
	unlike("@shown", qr/secret/, "$role: but no content");
}
is($node->safe_psql('postgres', q(SELECT index_table, primary_key, sqlstate, attempts FROM indextable.rejected), extra_params => [ '-U', 'watcher' ]), 'g_n||22P02|1', 'what it sees of a rejected row');
is((sql($alerts[1]) =~ /^g_k\|.*missing/m), 1, 'the alert of checks is raised');
is($node->safe_psql('postgres', $alerts[1], extra_params => [ '-U', 'watcher' ]) =~ /^g_k\|/m, 1, 'for pg_monitor, too');

# ---- monitoring/

my $queries = CPAN::Meta::YAML->read("$root/monitoring/postgres_exporter.yaml")->[0];
my %metrics;
for my $query (sort keys %$queries)
{
	my ($status, $out, $err) = $node->psql('postgres', $queries->{$query}{query}, extra_params => [ '-U', 'watcher', '-P', 'tuples_only=off', '-P', 'footer=off' ]);
	is("$status $err", '0 ', "$query: runs as pg_monitor");
	my ($header, @rows) = split /\n/, $out;
	cmp_ok(scalar @rows, '>', 0, "$query: has rows");
	my %usage = map { %$_ } @{ $queries->{$query}{metrics} };
	is(join(',', split /\|/, $header), join(',', map { keys %$_ } @{ $queries->{$query}{metrics} }), "$query: describes its columns");
	is(join(',', grep { $usage{$_}{usage} !~ /^(LABEL|GAUGE|COUNTER)$/ || !$usage{$_}{description} } sort keys %usage), '', "$query: all of them");
	my @columns = split /\|/, $header;
	for my $row (@rows)
	{
		my @values = split /\|/, $row, -1;
		my @wrong = grep { $usage{ $columns[$_] }{usage} ne 'LABEL' && $values[$_] !~ /^(-?[\d.]+(e[-+]?\d+)?)?$/ } 0 .. $#columns;
		is("@columns[@wrong]", '', "$query: metrics are numbers");
	}
	$metrics{"${query}_$_"} = 1 for grep { $usage{$_}{usage} ne 'LABEL' } keys %usage;
}
my $dashboard = decode_json(slurp_file("$root/monitoring/grafana.json"));
my @expressions = ((map { map { $_->{expr} } @{ $_->{targets} } } @{ $dashboard->{panels} }), map { ref $_->{query} ? $_->{query}{query} : $_->{query} } @{ $dashboard->{templating}{list} });
my %used = map { $_ => 1 } map { /\b(indextable_\w+)/g } @expressions, slurp_file("$root/docs/consistency.md") =~ /```\n(indextable_queue_lag.*?)```/s;
cmp_ok(scalar keys %used, '>', 10, 'the dashboard uses metrics');
is(join(' ', grep { !$metrics{$_} } sort keys %used), '', 'all of which there are');
is(join(' ', grep { !@{ $_->{targets} } || !$_->{title} } @{ $dashboard->{panels} }), '', 'each panel has something to show');

# ---- a check sees that no row is left that has no entry

my $recorded = q(SELECT count(*) FROM indextable_internal.completeness WHERE index_table = 'h_k'::regclass AND fields <> 31);    # which only says what is recorded
sql(q(CREATE TABLE h (pk int PRIMARY KEY, doc jsonb); SELECT indextable.create('h_k', 'h', '{k::int}', on_mismatch => 'skip'); INSERT INTO h VALUES (1, '{"k": "x"}')));
is(sql($recorded), '1', 'that a row has no entry is recorded');
sql('DELETE FROM h; SELECT indextable.start_workers()');
ok(becomes_true($node, "SELECT ($recorded) = 0"), 'until a check has seen that it is gone');
sql('DROP TABLE h');

# ---- failing, and mended by DDL

sql('ALTER SYSTEM RESET indextable.check_interval');
$node->reload;
sql('SELECT indextable.start_workers()');
sql(q(DELETE FROM g; SELECT indextable.drop('g_n'); DELETE FROM indextable_internal.checked));
ok(drained($node), 'all is applied');
silent('all is well');

# mended_early BREAK, MEND, FAILED, WELL: whether what is mended is tried again before it was due. A machine that is too slow
# to be early is given more chances.
my $changes = 10;

sub mended_early
{
	my ($break, $mend, $due, $well) = @_;
	for my $chance (1 .. 5)
	{
		sql($break);
		sql('UPDATE f SET doc = d(pk + ' . ++$changes . ')');
		my $ahead = 5 * $chance;
		becomes_true($node, "SELECT count(*) > 0 FROM ($due) x (due) WHERE due > clock_timestamp() + interval '$ahead s'") || return 0;
		my $try = sql("SELECT min(due) FROM ($due) x (due)");
		sql($mend);
		becomes_true($node, $well) || return 0;
		return 1 if sql("SELECT clock_timestamp() < '$try'") eq 't';
		note "not before $try";
	}
	return 0;
}

$log = -s $node->logfile;
ok( mended_early(
		'SET session_replication_role = replica; DROP INDEX IF EXISTS f_v_row_idx, f_v_pk_idx',
		'CREATE INDEX ON f_v (pk)',
		q(SELECT next_try FROM indextable.queues WHERE fact_table = 'f'::regclass AND worker_state = 'failing'),
		q(SELECT last_error IS NULL AND backlog = 0 FROM indextable.queues WHERE fact_table = 'f'::regclass)),
	'a batch that fails is tried again when an index is created');
goes_on('mended by an index');
my @told = substr(slurp_file($node->logfile), $log) =~ /ERROR:.*no index on the primary key/g;
cmp_ok(scalar @told, '>=', 1, 'the error is in the log');
cmp_ok(scalar @told, '<=', 5, 'once each time that it begins');

sql(q(CREATE FUNCTION answer() RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
CREATE FUNCTION wanted(jsonb) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN public.answer() = 1; END';
SELECT indextable.create('f_w', 'f', '{k}', filter => 'public.wanted(doc)', maintenance => 'async')));
ok( mended_early(
		q(CREATE OR REPLACE FUNCTION answer() RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN 1 / 0; END'),
		q(CREATE OR REPLACE FUNCTION answer() RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'),
		q(SELECT min(next_try) FROM indextable.rejected WHERE (SELECT sum(backlog) FROM indextable.queues) = 0),
		q(SELECT count(*) = 0 FROM indextable.rejected)),
	'rejected rows are tried again when a function is replaced that the filter calls');
is(sql(q(SET indextable.planner = off; SELECT count(*) FROM ((SELECT doc ->> 'k', pk FROM f EXCEPT ALL TABLE f_w) UNION ALL (TABLE f_w EXCEPT ALL SELECT doc ->> 'k', pk FROM f)) x)), 0, 'they have their entries');

# ---- any code, any error

sql('CREATE TABLE h (); CREATE OR REPLACE FUNCTION answer() RETURNS int LANGUAGE plpgsql AS $$ BEGIN LOCK TABLE public.h; RETURN 1; END $$');
$other = session($node);
$pid = $other->query('SELECT pg_backend_pid()');
$other->query('BEGIN; LOCK TABLE h IN ROW EXCLUSIVE MODE');
sql('UPDATE f SET doc = d(pk + ' . ++$changes . ')');
waits('a table that a function locks', 'a lock', $pid);
$other->query('COMMIT');
goes_on('a table that a function locks');

# The message of an error is kept, as far as there is room, in whole characters.
$log = -s $node->logfile;
sql(q(CREATE OR REPLACE FUNCTION answer() RETURNS int LANGUAGE plpgsql AS $$
BEGIN RAISE disk_full USING MESSAGE = 'x' || repeat(U&'\20AC', 100); END $$));
sql('UPDATE f SET doc = d(pk + ' . ++$changes . ')');
ok(becomes_true($node, q(SELECT last_error = 'x' || repeat(U&'\20AC', 84) FROM indextable.queues WHERE fact_table = 'f'::regclass)), 'a long message is cut off between characters');
like(substr(slurp_file($node->logfile), $log), qr/ERROR:  x[^\n]*\n[^\n]*CONTEXT:  .*\tentries in index table "f_w" of row \(pk\)=\(\d+\) of table "f"\n\tdraining the queue of public\.f\n/s, 'the log says which row of which table it is about');
sql('CREATE OR REPLACE FUNCTION answer() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$');
goes_on('a long message');

# Another worker of the database, which waits for the batch that fails, does not know that this is over.
sql('ALTER SYSTEM SET indextable.workers_per_database = 2');
$node->reload;
ok(becomes_true($node, 'SELECT count(*) = 2 FROM indextable.workers()'), 'there are two workers');
sql(q(CREATE OR REPLACE FUNCTION answer() RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_catalog.pg_sleep(0.4); RAISE disk_full; END $$));
sql('UPDATE f SET doc = d(pk + ' . ++$changes . ')');
ok(becomes_true($node, q(SELECT worker_state = 'failing' AND next_try - last_error_at > interval '5 s' FROM indextable.queues WHERE fact_table = 'f'::regclass)), 'two workers fail, and try again later and later')
  or diag sql('SELECT * FROM indextable.queues');
sql('CREATE OR REPLACE FUNCTION answer() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$');
goes_on('two workers');
sql('ALTER SYSTEM RESET indextable.workers_per_database');
$node->reload;

# ---- more databases than workers

sql('ALTER SYSTEM SET indextable.max_workers = 1');
$node->reload;
for my $database ('one', 'two', 'three')
{
	sql("CREATE DATABASE $database");
	$node->safe_psql($database, fact_table() . "INSERT INTO f SELECT g, d(g), 'n' FROM generate_series(1, 10) g;" . index_tables('async'));
}
$log = -s $node->logfile;
$node->safe_psql($_, 'SET session_replication_role = replica; DROP INDEX f_v_row_idx') for 'one', 'two', 'three';
$node->safe_psql($_, 'UPDATE f SET doc = d(pk + 1)') for 'one', 'two', 'three';
# What is kept grows from one try to the next, although these are other workers'.
for my $database ('one', 'two', 'three')
{
	ok(becomes_true($node, "SELECT worker_state = 'failing' AND next_try - last_error_at > interval '5 s' FROM indextable.queues", $database), "$database: fails several times")
	  or diag $node->safe_psql($database, 'SELECT * FROM indextable.queues');
}
@told = substr(slurp_file($node->logfile), $log) =~ /ERROR:.*no index on the primary key/g;
is(scalar @told, 3, 'each error is logged once, whichever worker has it');
$node->safe_psql($_, 'CREATE INDEX ON f_v (pk)') for 'one', 'two', 'three';
ok(becomes_true($node, 'SELECT last_error IS NULL AND backlog = 0 FROM indextable.queues', $_), "$_: mended") for 'one', 'two', 'three';
drift_free($node, "$_: index tables equal their recompute", $_) for 'one', 'two', 'three';
$node->stop;
done_testing();
