# Workers are ended while they are busy, some of them while they wait for locks: by pg_terminate_backend() again and again,
# and by a fast shutdown of the server. None takes other processes down with it, and whatever was committed gets into the
# index tables.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $KILLS = $ENV{KILLS} // 100;
my $STOPS = $ENV{STOPS} // 12;
my $node = new_server('worker_kill', "shared_preload_libraries = 'indextable'", 'indextable.naptime = 100ms', 'indextable.batch_size = 200',
	'max_prepared_transactions = 2');

$node->safe_psql('postgres', fact_table() . "INSERT INTO f SELECT g, d(g), 'n' FROM generate_series(1, 1000) g;" . index_tables('async') . <<'SQL');
CREATE TABLE p (part int, id int, doc jsonb, PRIMARY KEY (part, id)) PARTITION BY LIST (part);
CREATE TABLE p0 PARTITION OF p FOR VALUES IN (0);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
INSERT INTO p SELECT g % 2, g, jsonb_build_object('a', g, 't', jsonb_build_array(g, g + 1)) FROM generate_series(1, 1000) g;
SELECT indextable.create('p_a', 'p', '{a::int}', maintenance => 'async');
SELECT indextable.create('p_t', 'p', '{t[*]::int,a::int}', strategy => 'denormalized', maintenance => 'async');
CREATE VIEW p_drift AS
WITH a AS (SELECT (doc ->> 'a')::int, part, id FROM p),
	t AS (SELECT e::int, (doc ->> 'a')::int, part, id, doc, count(*)::int FROM p, jsonb_array_elements_text(doc -> 't') e GROUP BY 1, 2, 3, 4, 5)
SELECT 'p_a', x::text FROM ((TABLE a EXCEPT ALL TABLE p_a) UNION ALL (TABLE p_a EXCEPT ALL TABLE a)) x
UNION ALL SELECT 'p_t', x::text FROM ((TABLE t EXCEPT ALL TABLE p_t) UNION ALL (TABLE p_t EXCEPT ALL TABLE t)) x;
SQL

# Changes without end, of both fact tables; and locks for which workers have to wait.
my $folder = PostgreSQL::Test::Utils::tempdir;
my %script = (
	writer => <<'SQL',
\set i random(1, 1000000)
UPDATE p SET doc = jsonb_build_object('a', :i + id, 't', jsonb_build_array(:i, id)) WHERE id % 5 = :i % 5;
UPDATE f SET doc = d(:i + pk) WHERE pk % 5 = :i % 5;
SQL
	locker => <<'SQL');
BEGIN;
LOCK TABLE p_t IN SHARE MODE;
SELECT pg_sleep(0.03);
COMMIT;
BEGIN;
LOCK TABLE f IN ACCESS EXCLUSIVE MODE;
SELECT pg_sleep(0.03);
COMMIT;
SQL
append_to_file("$folder/$_", $script{$_}) for keys %script;

my $log = '';

sub load
{
	return map { IPC::Run::start([ 'pgbench', '-n', '-c', 1, '-T', 1800, '-f', "$folder/$_", $node->connstr('postgres') . ' application_name=pgbench' ], '>&' => \$log) } sort keys %script;
}

# right: when the server is up, and all is applied
sub right
{
	my ($name) = @_;
	if (slurp_file($node->logfile) =~ /^.*(?:terminated by signal|PANIC:  ).*$/m)
	{
		fail("$name: no process has crashed");
		BAIL_OUT($&);
	}
	ok(drained($node), "$name: drained");
	drift_free($node, "$name: index tables equal their recompute");
	is($node->safe_psql('postgres', 'SET indextable.planner = off; SELECT * FROM p_drift'), '', "$name: those of the partitioned fact table, too");
	return;
}

my @load = load();
my $ended = 0;
while ($ended < $KILLS)
{
	# A worker that is in the middle of a batch, or waits for a lock in one; the server may have crashed.
	my ($status, $out) = $node->psql('postgres', q(SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_type LIKE 'indextable worker%' AND state = 'active'));
	last if slurp_file($node->logfile) =~ /terminated by signal/;
	$ended += $out if defined $out && $out =~ /^\d+$/;
}
$node->psql('postgres', q(SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pgbench'));
$_->finish for @load;
right("$ended workers were terminated");

for my $stop (1 .. $STOPS)
{
	@load = load();
	becomes_true($node, q(SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type LIKE 'indextable worker%' AND state = 'active'));
	$node->stop('fast');
	$_->finish for @load;
	last if slurp_file($node->logfile) =~ /terminated by signal/;
	$node->start;
}
right("$STOPS times the server was stopped");

$node->stop;
done_testing();
