# Crashes in the middle of load, and prepared transactions across restarts: whatever was committed is in the index
# tables, whatever was not is not.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('crash', 'restart_after_crash = on', 'wal_level = replica', 'full_page_writes = on');
# two of the index tables are partitioned
my $index_tables = index_tables() =~ s/'f_k', 'f', '\{k\}'\K/, partitions => 3/r
  =~ s/'f_v', 'f', .*\K\)/, partition_by => 'RANGE (n)', partition_bounds => '{FROM (0) TO (2),FROM (2) TO (4)}')/r;
$node->safe_psql('postgres', fact_table() . "INSERT INTO f SELECT g, d(g), 'n' FROM generate_series(1, 2000) g;" . $index_tables);
is($node->safe_psql('postgres', 'SELECT sum(partitions) FROM indextable.index_tables'), 6, 'partitioned index tables');

my $script = PostgreSQL::Test::Utils::tempdir . '/load';
append_to_file($script, <<'SQL');
\set p random(1, 3000)
\set i random(1, 1000000)
BEGIN;
INSERT INTO f VALUES (:p, d(:i), 'i') ON CONFLICT (pk) DO UPDATE SET doc = excluded.doc;
DELETE FROM f WHERE pk = :p + 1;
UPDATE f SET doc = d(:i + pk) WHERE pk BETWEEN :p + 2 AND :p + 5;
COMMIT;
SQL

# until QUERY is true: what the crash waits for, so that it comes in the middle
sub until_true { my ($query) = @_; return becomes_true($node, $query) || die "never: $query"; }

sub load
{
	my ($output) = @_;
	return IPC::Run::start([ 'pgbench', '-n', '-c', 4, '-T', 120, '-f', $script, $node->connstr('postgres') . ' application_name=pgbench' ], '>&' => $output,
		IPC::Run::timeout(1800));
}

for my $round (1 .. 4)
{
	my $output = '';
	my $before = $node->safe_psql('postgres', 'SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()');
	my $load = load(\$output);
	until_true(q(SELECT count(*) >= 1 FROM pg_stat_activity WHERE application_name = 'pgbench' AND backend_xid IS NOT NULL));
	until_true("SELECT count(*) > 0 FROM f WHERE note = 'i' AND pk % 4 = " . $round % 4);
	if ($round % 2)
	{
		$node->stop('immediate');
		$load->finish;
		$node->start;
	}
	else
	{
		# a backend that writes is killed; the server restarts by itself
		my $pid = $node->safe_psql('postgres',
			q(SELECT pid FROM pg_stat_activity WHERE application_name = 'pgbench' AND backend_xid IS NOT NULL ORDER BY pid LIMIT 1));
		$pid ||= $node->safe_psql('postgres', q(SELECT min(pid) FROM pg_stat_activity WHERE application_name = 'pgbench'));
		kill 'KILL', $pid;
		$load->finish;
		until_true('SELECT true');
		like(slurp_file($node->logfile), qr/terminated by signal 9/, "round $round: the server crashed");
	}
	drift_free($node, 'round ' . $round . ': after ' . ($round % 2 ? 'an immediate shutdown' : 'kill -9 of a backend'));
	is($node->safe_psql('postgres', "UPDATE f SET doc = d(pk + $round) WHERE pk % 10 = $round; SET indextable.planner = off; SELECT what, n FROM drift WHERE n > 0"),
		'', "round $round: and upkeep goes on");
}

# a large statement under way
my ($in, $out) = ('', '');
my $psql = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres') ], \$in, \$out, '2>' => \my $err, IPC::Run::timeout(1800));
$in .= "BEGIN; INSERT INTO f SELECT g, d(g) FROM generate_series(100001, 140000) g; UPDATE f SET doc = d(pk + 3); \\echo written\n";
$psql->pump until $out =~ /written/;
$node->safe_psql('postgres', 'CHECKPOINT');
$node->stop('immediate');
$in .= "\\q\n";
eval { $psql->finish };
$node->start;
drift_free($node, 'after a crash in a transaction that had written much');
is($node->safe_psql('postgres', 'SELECT count(*) FROM f WHERE pk > 100000'), 0, 'of which nothing is left');

# an index table being made
$node->psql('postgres', q(BEGIN; SELECT indextable.create('f_x', 'f', '{note}'); SELECT pg_terminate_backend(pg_backend_pid())));
is($node->safe_psql('postgres', q(SELECT to_regclass('f_x') IS NULL AND count(*) = 4 FROM indextable.index_tables)), 't', 'a create() that was cut off leaves nothing');

# ---- prepared transactions

$node->safe_psql('postgres', <<'SQL');
TRUNCATE f;
INSERT INTO f SELECT g, d(g), 'n' FROM generate_series(1, 50) g;
BEGIN; UPDATE f SET doc = d(pk + 1000) WHERE pk <= 10; DELETE FROM f WHERE pk = 11; INSERT INTO f VALUES (101, d(101)); PREPARE TRANSACTION 'commits';
BEGIN; UPDATE f SET doc = d(pk + 1000) WHERE pk BETWEEN 21 AND 30; DELETE FROM f WHERE pk = 31; INSERT INTO f VALUES (102, d(102)); PREPARE TRANSACTION 'aborts';
BEGIN; SAVEPOINT s; INSERT INTO f VALUES (103, d(103)); ROLLBACK TO s; UPDATE f SET pk = 104 WHERE pk = 40; PREPARE TRANSACTION 'after a crash';
SQL
drift_free($node, 'prepared transactions: nothing of them shows');
is($node->safe_psql('postgres', "UPDATE f SET doc = d(pk + 5) WHERE pk > 41; INSERT INTO f VALUES (105, d(105)); SET indextable.planner = off; SELECT what, n FROM drift WHERE n > 0"), '', 'others write meanwhile');
$node->stop('immediate');
$node->start;
drift_free($node, 'prepared transactions: nor after a crash');
$node->safe_psql('postgres', "COMMIT PREPARED 'commits'");
drift_free($node, 'COMMIT PREPARED');
$node->safe_psql('postgres', "ROLLBACK PREPARED 'aborts'");
drift_free($node, 'ROLLBACK PREPARED');
$node->restart;
$node->safe_psql('postgres', "COMMIT PREPARED 'after a crash'");
drift_free($node, 'COMMIT PREPARED after two restarts');
is($node->safe_psql('postgres', q(SELECT string_agg(pk::text, ' ' ORDER BY pk) FROM f WHERE pk IN (11, 31, 40) OR pk > 100)), '31 101 104 105', 'the right rows are there');
is($node->safe_psql('postgres', 'UPDATE f SET doc = d(pk + 7); DELETE FROM f WHERE pk % 2 = 0; SET indextable.planner = off; SELECT what, n FROM drift WHERE n > 0'), '', 'and upkeep goes on');

$node->stop;
done_testing();
