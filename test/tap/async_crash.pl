# Crashes in the middle of load, with workers at work: of a worker, of a writer, of the server. Whatever was committed
# gets into the index tables once the server is back, by itself, and whatever was not does not. And prepared
# transactions across restarts.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('async_crash', "shared_preload_libraries = 'indextable'", 'restart_after_crash = on', 'wal_level = replica', 'full_page_writes = on',
	'indextable.workers_per_database = 2', 'indextable.naptime = 100ms', 'indextable.batch_size = 50');

# A second fact table, so that there is work for two workers.
$node->safe_psql('postgres', fact_table() . "INSERT INTO f SELECT g, d(g), 'n' FROM generate_series(1, 2000) g;" . index_tables('async') . <<'SQL');
CREATE TABLE g (a text, b int, doc jsonb, PRIMARY KEY (a, b));
INSERT INTO g SELECT 'a' || pk % 10, pk, doc FROM f;
SELECT indextable.create('g_t', 'g', '{tags[*],n::int}', include => '{v}', maintenance => 'async');
SELECT indextable.create('g_k', 'g', '{k}');
CREATE VIEW g_drift AS
WITH t AS (SELECT e, (doc ->> 'n')::int, a, b, doc ->> 'v', count(*)::int FROM g, jsonb_array_elements_text(doc -> 'tags') e GROUP BY 1, 2, 3, 4, 5),
	k AS (SELECT doc ->> 'k', a, b FROM g)
SELECT 'g_t missing' AS what, count(*) AS n FROM (TABLE t EXCEPT ALL TABLE g_t) x
UNION ALL SELECT 'g_t extra', count(*) FROM (TABLE g_t EXCEPT ALL TABLE t) x
UNION ALL SELECT 'g_k missing', count(*) FROM (TABLE k EXCEPT ALL TABLE g_k) x
UNION ALL SELECT 'g_k extra', count(*) FROM (TABLE g_k EXCEPT ALL TABLE k) x;
SQL

my $script = PostgreSQL::Test::Utils::tempdir . '/load';
append_to_file($script, <<'SQL');
\set p random(1, 3000)
\set i random(1, 1000000)
BEGIN;
INSERT INTO f VALUES (:p, d(:i), 'i') ON CONFLICT (pk) DO UPDATE SET doc = excluded.doc;
DELETE FROM f WHERE pk = :p + 1;
SAVEPOINT s;
UPDATE f SET doc = d(:i + pk) WHERE pk BETWEEN :p + 2 AND :p + 5;
ROLLBACK TO s;
UPDATE f SET doc = d(:i + pk) WHERE pk BETWEEN :p + 4 AND :p + 7;
UPDATE g SET doc = d(:i + b) WHERE b BETWEEN :p AND :p + 9;
COMMIT;
SQL

sub load
{
	my ($output) = @_;
	return IPC::Run::start([ 'pgbench', '-n', '-c', 4, '-T', 120, '-f', $script, $node->connstr('postgres') . ' application_name=pgbench' ], '>&' => $output,
		IPC::Run::timeout(1800));
}

# converged: when all is applied, by workers
sub converged
{
	my ($name) = @_;
	ok(drained($node), "$name: drained");
	drift_free($node, "$name: index tables equal their recompute");
	is($node->safe_psql('postgres', 'SET indextable.planner = off; SELECT what, n FROM g_drift WHERE n > 0'), '', "$name: those of the other fact table, too");
}

my @ends = ('an immediate shutdown', 'kill -9 of a worker', 'kill -9 of a writer');
my $worker = q(SELECT pid FROM pg_stat_activity WHERE backend_type = 'indextable worker' ORDER BY state = 'active' DESC, random() LIMIT 1);
my $writer = q(SELECT pid FROM pg_stat_activity WHERE application_name = 'pgbench' ORDER BY backend_xid IS NOT NULL DESC, random() LIMIT 1);

for my $round (1 .. 9)
{
	my $output = '';
	my $how = $ends[ $round % 3 ];
	my $before = -s $node->logfile;
	my $load = load(\$output);

	# In the middle: others write, workers have applied some of it, and some is queued.
	my $sum = q(SELECT coalesce(sum(applied), 0) FROM indextable.queues);
	ok(becomes_true($node, q(SELECT count(*) >= 1 FROM pg_stat_activity WHERE application_name = 'pgbench' AND backend_xid IS NOT NULL)), "round $round: load");
	my $applied = $node->safe_psql('postgres', $sum);
	ok(becomes_true($node, "SELECT ($sum) > $applied"), "round $round: workers are at work");
	note "round $round: a backlog of " . $node->safe_psql('postgres', 'SELECT sum(backlog) FROM indextable.queues');
	if ($how =~ /shutdown/)
	{
		$node->stop('immediate');
		$load->finish;
		$node->start;
	}
	else
	{
		kill 'KILL', $node->safe_psql('postgres', $how =~ /worker/ ? $worker : $writer);
		$load->finish;
		becomes_true($node, 'SELECT true');
		like(substr(slurp_file($node->logfile), $before), qr/terminated by signal 9/, "round $round: the server crashed");
	}
	converged("round $round: after $how");
	$node->safe_psql('postgres', "UPDATE f SET doc = d(pk + $round) WHERE pk % 10 = $round; UPDATE g SET doc = d(b + $round) WHERE b % 10 = $round");
	converged("round $round: and upkeep goes on");
}

# A batch under way that is large, of a worker and of a session
$node->append_conf('postgresql.conf', 'indextable.batch_size = 1000000');
$node->reload;
for my $who ('a worker', 'drain()')
{
	$node->safe_psql('postgres', 'SELECT indextable.stop_workers()');
	$node->safe_psql('postgres', "INSERT INTO f SELECT g, d(g) FROM generate_series(100001, 140000) g ON CONFLICT (pk) DO UPDATE SET doc = d(f.pk + 3)");
	my $session = session($node);
	if ($who eq 'drain()')
	{
		like($session->query('BEGIN; SELECT indextable.drain()'), qr/^40\d\d\d$/, 'a large backlog is drained, without a commit');
	}
	else
	{
		$node->safe_psql('postgres', 'SELECT indextable.start_workers()');
		becomes_true($node, q(SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'indextable worker' AND backend_xid IS NOT NULL));
	}
	$node->safe_psql('postgres', 'CHECKPOINT');
	$node->stop('immediate');
	$session->finish;
	$node->start;
	converged("after a crash in a large batch of $who");
}

# ---- prepared transactions

$node->safe_psql('postgres', <<'SQL');
TRUNCATE f, g;
INSERT INTO f SELECT g, d(g), 'n' FROM generate_series(1, 1000) g;
BEGIN; UPDATE f SET doc = d(pk + 1000) WHERE pk <= 10; DELETE FROM f WHERE pk = 11; INSERT INTO f VALUES (1001, d(1001)); PREPARE TRANSACTION 'commits';
BEGIN; UPDATE f SET doc = d(pk + 1000) WHERE pk BETWEEN 21 AND 30; DELETE FROM f WHERE pk = 31; INSERT INTO f VALUES (1002, d(1002)); PREPARE TRANSACTION 'aborts';
BEGIN; SAVEPOINT s; INSERT INTO f VALUES (1003, d(1003)); ROLLBACK TO s; UPDATE f SET pk = 1004 WHERE pk = 40; PREPARE TRANSACTION 'after a crash';
BEGIN; UPDATE f SET doc = d(pk + 1000) WHERE pk = 32; PREPARE TRANSACTION 'stays';
SQL
converged('prepared transactions: nothing of them shows');
$node->safe_psql('postgres', "UPDATE f SET doc = d(pk + 5) WHERE pk > 41; INSERT INTO f VALUES (1005, d(1005))");
converged('prepared transactions: others write meanwhile');
$node->stop('immediate');
$node->start;
converged('prepared transactions: nor after a crash');
$node->safe_psql('postgres', "UPDATE f SET doc = d(pk + 6) WHERE pk > 41");
converged('prepared transactions: and others write');
$node->safe_psql('postgres', "COMMIT PREPARED 'commits'");
converged('COMMIT PREPARED');
$node->safe_psql('postgres', "ROLLBACK PREPARED 'aborts'");
converged('ROLLBACK PREPARED');
$node->restart;
$node->safe_psql('postgres', "COMMIT PREPARED 'after a crash'");
converged('COMMIT PREPARED after two restarts');
$node->stop('immediate');
$node->start;
converged('COMMIT PREPARED, and a crash');
$node->safe_psql('postgres', "COMMIT PREPARED 'stays'");
converged('COMMIT PREPARED after three restarts');
is($node->safe_psql('postgres', q(SELECT string_agg(pk::text, ' ' ORDER BY pk) FROM f WHERE pk IN (11, 31, 40) OR pk > 1000)), '31 1001 1004 1005', 'the right rows are there');
$node->safe_psql('postgres', 'UPDATE f SET doc = d(pk + 7); DELETE FROM f WHERE pk % 2 = 0');
converged('and upkeep goes on');

$node->stop;
done_testing();
