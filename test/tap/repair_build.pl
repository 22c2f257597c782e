# Index tables that are built, and mended, while others write: cancelled, killed, crashed, by two at once. In the end
# they are what a recompute gives.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('repair_build', 'restart_after_crash = on', 'max_connections = 40', 'autovacuum_naptime = 1s', 'max_prepared_transactions = 40');
my $tables = index_tables();
$node->safe_psql('postgres', fact_table() . <<'SQL' . ($tables =~ s/'\);/', populate => false);/gr));
INSERT INTO f SELECT g, d(g), 'n' FROM generate_series(1, 20000) g;
SQL
$node->safe_psql('postgres', <<'SQL');
SELECT indextable.create('f_a', 'f', '{k}', include => '{v}', maintenance => 'async', populate => false);
CREATE VIEW a_drift AS
SELECT 'f_a missing' AS what, count(*) AS n FROM (SELECT doc ->> 'k', pk, doc ->> 'v' FROM f EXCEPT ALL TABLE f_a) x
UNION ALL SELECT 'f_a extra', count(*) FROM (TABLE f_a EXCEPT ALL SELECT doc ->> 'k', pk, doc ->> 'v' FROM f) x;
SQL
my @names = ('f_k', 'f_v', 'f_d', 'f_t', 'f_a');

# ---- the load: on keys all over the table, that move, in subtransactions, in prepared ones

my $script = PostgreSQL::Test::Utils::tempdir . '/load';
my $set = '\set p random(1, 20000)
\set q random(1, 20000)
\set i random(1, 1000000)
\set kind random(1, 10)
';
append_to_file($script, $set . <<'SQL');
\if :kind <= 2
INSERT INTO f VALUES (:p, d(:i), 'i') ON CONFLICT (pk) DO UPDATE SET doc = excluded.doc;
\elif :kind <= 4
UPDATE f SET doc = d(:i), note = 'u' WHERE pk = :p;
\elif :kind = 5
DELETE FROM f WHERE pk = :p;
\elif :kind <= 7
UPDATE f SET pk = :q WHERE pk = :p AND NOT EXISTS (SELECT FROM f WHERE pk = :q);
\elif :kind = 8
BEGIN;
UPDATE f SET note = 'x' WHERE pk = :p;
SAVEPOINT s;
DELETE FROM f WHERE pk = :p;
INSERT INTO f VALUES (:q, d(:i), 's') ON CONFLICT DO NOTHING;
ROLLBACK TO s;
UPDATE f SET doc = d(:i + 1) WHERE pk = :p;
COMMIT;
\elif :kind = 9
BEGIN;
UPDATE f SET doc = d(:i) WHERE pk = :p;
DELETE FROM f WHERE pk = :p;
INSERT INTO f VALUES (:p, d(:i + 2), 'r') ON CONFLICT DO NOTHING;
ROLLBACK;
\else
UPDATE f SET doc = d(:i + pk) WHERE pk = (SELECT min(pk) FROM f WHERE pk > :p);
\endif
SQL
append_to_file("$script.prepared", $set . <<'SQL');
BEGIN;
UPDATE f SET doc = d(:i), note = 'p' WHERE pk = :p;
INSERT INTO f VALUES (:i + 100000, d(:i), 'p') ON CONFLICT DO NOTHING;
PREPARE TRANSACTION 'p:client_id';
\if :kind <= 7
COMMIT PREPARED 'p:client_id';
\else
ROLLBACK PREPARED 'p:client_id';
\endif
SQL
my $prepared = slurp_file("$script.prepared");
unlink "$script.prepared";

# Each client that prepares has a file of its own, as pgbench puts no variables into a name. A client that gives up, at a
# taken key or because the server has gone, starts again.
sub load
{
	my @load;
	my $round = shift;
	for my $n (1 .. 2)
	{
		my $file = "$script.prepared.$round.$n";
		append_to_file($file, $prepared =~ s/p:client_id/p$n/gr);
		push @load, start_load('-c', 1, '-f', $file);
	}
	push @load, start_load('-c', 1, '-f', $script) for 1 .. 4;
	return \@load;
}

sub start_load
{
	my (@args) = @_;
	my $command = join ' ', 'while [ ! -e', "$script.stop", ']; do pgbench -n -T 5 --max-tries=100', @args, '"' . $node->connstr('postgres') . ' application_name=pgbench"', '|| sleep 0.1; done';
	my $output = '';
	unlink "$script.stop";
	return IPC::Run::start([ 'sh', '-c', $command ], '>&' => \$output, IPC::Run::timeout(1800));
}

# stop_load: what it has prepared, and not ended, it leaves to us
sub stop_load
{
	my ($load) = @_;
	append_to_file("$script.stop", '');
	until_true(q(SELECT count(pg_terminate_backend(pid)) = 0 FROM pg_stat_activity WHERE application_name = 'pgbench'));
	$_->finish for @$load;
	end_prepared();
	return;
}

sub until_true { my ($query) = @_; return becomes_true($node, $query) || die "never: $query"; }

# builds TABLE, ARGUMENTS: in a session of its own
sub build
{
	my ($table, $arguments, $output) = @_;
	return IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres') . ' application_name=build', '-c', "CALL indextable.build('$table', $arguments)" ],
		'>&' => $output, IPC::Run::timeout(1800));
}

sub end_prepared { $node->psql('postgres', "ROLLBACK PREPARED '$_'") for split /\n/, $node->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts'); return; }

my $load = load('build');
until_true(q(SELECT count(*) > 50 FROM f WHERE note IN ('u', 'x', 'i')));

# cancelled in the middle, and gone on with
my ($output, $other) = ('', '');
my $builder = build('f_k', "100, '20 ms'", \$output);
until_true(q(SELECT count(*) = 1 FROM indextable.progress WHERE index_table = 'f_k'::regclass AND rows_done > 500));
$node->safe_psql('postgres', q(SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'build'));
$builder->finish;
like($output, qr/canceling statement/, 'a build is cancelled');
my $done = $node->safe_psql('postgres', q(SELECT rows_done FROM indextable.progress WHERE index_table = 'f_k'::regclass));
cmp_ok($done, '>', 500, 'and what it has done is kept');
$node->psql('postgres', q(SELECT * FROM indextable.lookup('f_k', '{"k": "k1"}')), stderr => \my $error);
like($error, qr/not active/, 'nobody looks it up');
$output = '';
$builder = build('f_k', '1000', \$output);
$builder->finish;
is($output, '', 'a build goes on');
is($node->safe_psql('postgres', q(SET indextable.planner = off; SELECT what, n FROM drift WHERE what LIKE 'f\_k%' AND n > 0)), '', 'and is exact while others write');

# the builder is killed; the server restarts by itself
$builder = build('f_v', "100, '20 ms'", \$output);
until_true(q(SELECT count(*) = 1 FROM indextable.progress WHERE index_table = 'f_v'::regclass AND rows_done > 500));
kill 'KILL', $node->safe_psql('postgres', q(SELECT pid FROM pg_stat_activity WHERE application_name = 'build'));
$builder->finish;
for (1 .. 9000) { last if slurp_file($node->logfile) =~ /terminated by signal 9/; select(undef, undef, undef, 0.1) }
until_true('SELECT true');
like(slurp_file($node->logfile), qr/terminated by signal 9/, 'the server crashed');
end_prepared();
cmp_ok($node->safe_psql('postgres', q(SELECT rows_done FROM indextable.progress WHERE index_table = 'f_v'::regclass)), '>', 500, 'what was built is still there');
$output = '';
$builder = build('f_v', '1000', \$output);
$builder->finish;
is($output, '', 'a build goes on after a crash');
is($node->safe_psql('postgres', q(SET indextable.planner = off; SELECT what, n FROM drift WHERE what ~ '^f_[kv]' AND n > 0)), '', 'and is exact');

# the server is stopped at once
$builder = build('f_d', "100, '20 ms'", \$output);
until_true(q(SELECT count(*) = 1 FROM indextable.progress WHERE index_table = 'f_d'::regclass AND rows_done > 500));
$node->stop('immediate');
$builder->finish;
$node->start;
end_prepared();

# two index tables at once, and one by two
$output = '';
my @builders = map { build(@$_, \$output) } ([ 'f_d', '500' ], [ 'f_t', '300' ], [ 'f_a', '700' ]);
$_->finish for @builders;
is($output, '', 'three are built at once, one of them gone on with after a shutdown');
is($node->safe_psql('postgres', q(SELECT string_agg(state, ' ') FROM indextable.index_tables)), 'active active active active active', 'all are active');
drift_free($node, 'all are exact while others write');

$node->safe_psql('postgres', q(SELECT indextable.create('f_n', 'f', '{n::int,v}', populate => false)));
@builders = map { build('f_n', "200, '1 ms'", \$_) } ($output, $other);
$_->finish for @builders;
cmp_ok(($output eq '') + ($other eq ''), '>=', 1, 'by two at once: one of them finishes it') or diag "$output$other";
like($output . $other, qr/^$|not being built|not an index table/, 'the other finishes it, too, or has nothing left to do');
stop_load($load);
drift_free($node, 'when the load is over');
is($node->safe_psql('postgres', q(SET indextable.planner = off; SELECT count(*) FROM (SELECT (doc ->> 'n')::int, doc ->> 'v', pk FROM f EXCEPT ALL TABLE f_n) x)), 0, 'the one built by two lacks nothing');
is($node->safe_psql('postgres', q(SELECT indextable.drain() >= 0; SET indextable.planner = off; SELECT what, n FROM a_drift WHERE n > 0)), 't', 'nor does the asynchronous one, when it is drained');
is($node->safe_psql('postgres', q(SELECT i.index_table, v.kind, v.key, v.primary_key, v.problem FROM indextable.index_tables i, indextable.verify(i.index_table) v LIMIT 5)), '', 'verify() agrees');

# ---- damage, mended while others write

$node->safe_psql('postgres', <<'SQL');
SET session_replication_role = replica;
DELETE FROM f_k WHERE pk % 50 = 1;
UPDATE f_k SET k = 'wrong' WHERE pk % 50 = 2;
INSERT INTO f_k SELECT 'gone', g FROM generate_series(-300, -1) g;
UPDATE f_v SET v = 'wrong' WHERE pk % 50 = 3;
DELETE FROM f_v WHERE pk % 50 = 4;
INSERT INTO f_d SELECT 'x', pk, doc FROM f WHERE pk % 50 = 5;
UPDATE f_d SET doc = '{}' WHERE pk % 50 = 6;
DELETE FROM f_t WHERE pk % 50 IN (7, 8) AND tags = 't0';
INSERT INTO f_t SELECT 't-1', pk, 0, 1 FROM f WHERE pk % 50 = 9;
DELETE FROM f_a WHERE pk % 50 = 10;
UPDATE f_a SET v = 'wrong' WHERE pk % 50 = 11;
INSERT INTO f_a SELECT 'gone', g, 'gone' FROM generate_series(-300, -1) g;
SQL
isnt($node->safe_psql('postgres', q(SET indextable.planner = off; SELECT what, n FROM drift WHERE n > 0)), '', 'damaged');
$load = load('repair');
until_true(q(SELECT count(*) >= 4 FROM pg_stat_activity WHERE application_name = 'pgbench'));
my %remaining;
for my $name (@names)
{
	# Rows that are gone are mended when no writer is there for a moment, so that one call may leave some.
	for (1 .. 20)
	{
		my $counts = $node->safe_psql('postgres', "CALL indextable.repair('$name', 50)");
		note "$name: $counts";
		$remaining{$name} = ($counts =~ /(\d+)$/)[0];
		last if $remaining{$name} == 0;
	}
}
is(join(' ', map { "$_ $remaining{$_}" } @names), 'f_k 0 f_v 0 f_d 0 f_t 0 f_a 0', 'nothing remains to be mended while others write');
drift_free($node, 'and nothing is wrong');
is($node->safe_psql('postgres', q(SELECT i.index_table, v.kind, v.key, v.primary_key, v.problem FROM indextable.index_tables i, indextable.verify(i.index_table) v LIMIT 5)), '', 'as verify() sees it, too');
stop_load($load);
drift_free($node, 'nor when the load is over');
is($node->safe_psql('postgres', q(SELECT indextable.drain() >= 0; SET indextable.planner = off; SELECT what, n FROM a_drift WHERE n > 0)), 't', 'nor in the asynchronous one');

# two who repair the same at once
$node->safe_psql('postgres', q(SET session_replication_role = replica; DELETE FROM f_k WHERE pk % 20 = 1; UPDATE f_k SET k = 'wrong' WHERE pk % 20 = 2));
my @errors = ('', '');
my @repairs = map { IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', q(CALL indextable.repair('f_k', 10)) ], '>&' => \$errors[$_], IPC::Run::timeout(1800)) } (0, 1);
$_->finish for @repairs;
is(join('', map { /\|0$/ ? '' : $_ } @errors), '', 'two who repair at once do not hinder each other');
drift_free($node, 'and mend it');

# the server is stopped in the middle
$node->safe_psql('postgres', q(SET session_replication_role = replica; DELETE FROM f_k));
my $repair = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', q(CALL indextable.repair('f_k', 10)) ], '>&' => \$output, IPC::Run::timeout(1800));
until_true(q(SELECT count(*) > 100 FROM f_k));
$node->stop('immediate');
$repair->finish;
$node->start;
like($node->safe_psql('postgres', q(CALL indextable.repair('f_k'))), qr/\|0$/, 'a repair is done again after a crash');
drift_free($node, 'and mends the rest');

$node->stop;
done_testing();
