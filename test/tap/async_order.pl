# Whatever the order in which transactions queue changes, commit them, and others apply them: nothing is lost, and no
# older state comes back. Clients that sleep between writing and committing, and between queueing and committing, while
# workers are caught up; a few hot rows with several drains side by side; mostly rollbacks. Another session compares all
# the while: what one snapshot does not see queued must be right in it.
#
#   LOAD_SECONDS  length of each of the loads; default 5

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = $ENV{LOAD_SECONDS} || 5;
my $node = new_server('async_order', "shared_preload_libraries = 'indextable'", 'max_connections = 60', 'max_prepared_transactions = 40', 'indextable.naptime = 10ms',
	'indextable.workers_per_database = 2');
$node->safe_psql('postgres', fact_table() . "INSERT INTO f SELECT g, d(g), 'n' FROM generate_series(1, 40) g;" . index_tables('async') . settled_drift() . <<'SQL');
CREATE PROCEDURE undone(statement text) LANGUAGE plpgsql AS
$$ BEGIN EXECUTE statement; RAISE EXCEPTION 'undone'; EXCEPTION WHEN raise_exception THEN NULL; END $$;
UPDATE f SET doc = d(pk + 1);
SQL

my $path = PostgreSQL::Test::Utils::tempdir;
my $set = '\set p random(1, 40)
\set i random(1, 1000000)
\set t random(0, 30)
\set kind random(1, 10)
';

# A client has its own rows, so that it sleeps without others waiting for it.
append_to_file("$path/sleep", $set . <<'SQL');
\set p :p + 100 * (:client_id + 1)
BEGIN;
INSERT INTO f VALUES (:p, d(:i), 'i') ON CONFLICT (pk) DO UPDATE SET doc = excluded.doc;
UPDATE f SET doc = d(:i + pk) WHERE pk BETWEEN :p + 1 AND :p + 3;
SELECT pg_sleep(:t / 1000.0);
\if :kind <= 1
ROLLBACK;
\else
COMMIT;
\endif
SQL

# PREPARE queues what COMMIT PREPARED makes visible, in another order.
append_to_file("$path/prepare", $set . <<'SQL');
\set p :p + 100 * (:client_id + 1)
BEGIN;
INSERT INTO f VALUES (:p, d(:i), 'i') ON CONFLICT (pk) DO UPDATE SET doc = excluded.doc;
UPDATE f SET doc = d(:i + pk) WHERE pk BETWEEN :p + 1 AND :p + 3;
DELETE FROM f WHERE pk = :p + 4;
PREPARE TRANSACTION 'p:client_id';
\sleep :t ms
\if :kind <= 2
ROLLBACK PREPARED 'p:client_id';
\else
COMMIT PREPARED 'p:client_id';
\endif
SQL

# Many changes, queued before the transaction ends
append_to_file("$path/large", $set . <<'SQL');
BEGIN;
INSERT INTO f SELECT g, d(g + :i) FROM generate_series(100000 * (:client_id + 1) + 1, 100000 * (:client_id + 1) + 20000) g ON CONFLICT (pk) DO UPDATE SET doc = excluded.doc;
SELECT pg_sleep(:t / 100.0);
\if :kind <= 3
ROLLBACK;
\else
COMMIT;
\endif
DELETE FROM f WHERE pk BETWEEN 100000 * (:client_id + 1) + :p * 400 AND 100000 * (:client_id + 1) + 20000;
SQL

# Ten rows for everybody
append_to_file("$path/hot", $set . <<'SQL');
\set p 1 + :p % 10
\if :kind <= 5
UPDATE f SET doc = d(:i) WHERE pk = :p;
\elif :kind = 6
DELETE FROM f WHERE pk = :p;
\elif :kind = 7
INSERT INTO f VALUES (:p, d(:i), 'i') ON CONFLICT DO NOTHING;
\elif :kind = 8
UPDATE f SET note = 'n' || :i % 3 WHERE pk = :p;
\else
INSERT INTO f VALUES (:p, d(:i), 'u') ON CONFLICT (pk) DO UPDATE SET doc = excluded.doc;
\endif
SQL
append_to_file("$path/drain", <<'SQL');
\set n random(1, 10)
SELECT indextable.drain('f', :n);
SQL
append_to_file("$path/drain_and_more", $set . <<'SQL');
\set n random(1, 10)
\set p 1 + :p % 10
\set r random(1, 2)
BEGIN ISOLATION LEVEL READ COMMITTED;
SELECT indextable.drain('f', :n);
UPDATE f SET doc = d(:i) WHERE pk = :p;
SAVEPOINT s;
SELECT indextable.drain('f', :n);
\if :r = 1
ROLLBACK TO s;
\endif
\if :kind <= 4
ROLLBACK;
\else
COMMIT;
\endif
SQL

# Levels of subtransactions, most of them undone
append_to_file("$path/undo", $set . <<'SQL');
BEGIN;
UPDATE f SET doc = d(:i) WHERE pk = :p;
SAVEPOINT a;
UPDATE f SET doc = d(:i + 1) WHERE pk = :p % 40 + 1;
SAVEPOINT b;
DELETE FROM f WHERE pk = (:p + 1) % 40 + 1;
\if :kind <= 3
RELEASE a;
\elif :kind <= 6
ROLLBACK TO b;
\else
RELEASE b;
ROLLBACK TO a;
\endif
CALL undone('UPDATE f SET doc = d(7) WHERE pk = ' || :p);
INSERT INTO f VALUES ((:p + 1) % 40 + 1, d(:i + 2)) ON CONFLICT DO NOTHING;
\if :t <= 20
ROLLBACK;
\else
COMMIT;
\endif
SQL

# load NAME, [CLIENTS, RATE, SCRIPT…]…: each pgbench beside the others, while a session samples; again, if that is slow
sub load
{
	my ($name, @benches) = @_;
	my @all;
	my $sampler = session($node);
	my ($samples, $bad) = (0, '');
	while ($bad eq '' && $samples < 5)
	{
		my @running;
		for my $bench (@benches)
		{
			my ($clients, $rate, @scripts) = @$bench;
			my $log = '';
			push @running,
			  {
				log => \$log,
				run => IPC::Run::start(
					[ 'pgbench', '-n', '-c', $clients, '-j', 1, '-T', $seconds, '--max-tries=1000', ($rate ? ('-R', $rate) : ()), (map { ('-f', "$path/$_") } @scripts), $node->connstr('postgres') ],
					'>&' => \$log, IPC::Run::timeout(1800)),
				name => "@scripts"
			  };
		}
		do
		{
			$bad .= $sampler->query('SET indextable.planner = off; SELECT what, n FROM settled_drift WHERE n > 0');
			$samples++;
		} while ($bad eq '' && grep { $_->{run}->pumpable && eval { $_->{run}->pump_nb; 1 } } @running);
		$_->{run}->finish for @running;
		push @all, @running;
	}
	$sampler->finish;
	is($bad, '', "$name: what is not queued is right in each of $samples samples");
	for my $bench (@all)
	{
		my ($done) = ${ $bench->{log} } =~ /transactions actually processed: (\d+)/;
		note "$name: $bench->{name}: " . ($done // 0) . ' transactions';
		cmp_ok($done // 0, '>', 0, "$name: $bench->{name}: transactions") or diag ${ $bench->{log} };
		unlike(${ $bench->{log} }, qr/aborted|ERROR|FATAL/, "$name: $bench->{name}: none failed") or diag ${ $bench->{log} };
	}
	$node->safe_psql('postgres', 'SELECT indextable.drain()') if $name =~ /drains alone/;
	ok(drained($node), "$name: drained");
	drift_free($node, "$name: when the load is over, and all is drained");
	is($node->safe_psql('postgres', 'SELECT indextable.drain()'), 0, "$name: nothing is left for drain() either");
}

# In any order, and whether others share the block of the queue or not: whoever waits for a commit sees it.
for my $fill (0, 1, 40, 400)
{
	my $prepared = join '; ', map {
		"BEGIN; INSERT INTO f VALUES ($_, d($_)); PREPARE TRANSACTION 'p$_'" . ($fill ? "; UPDATE f SET doc = d(pk + $_) WHERE pk <= 40; INSERT INTO f SELECT g, d($_) FROM generate_series(1000, 1000 + $fill) g ON CONFLICT (pk) DO UPDATE SET doc = excluded.doc" : '')
	} 101 .. 108;
	$node->safe_psql('postgres', $prepared);
	ok(drained($node), "prepared, with $fill others in between: drained");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM f_v WHERE pk BETWEEN 101 AND 108'), 0, "prepared, with $fill others: nothing of them shows");
	my @seen;
	my $session = session($node);
	for my $pk (104, 101, 108, 102, 106, 105, 107, 103)
	{
		push @seen, $session->query("COMMIT PREPARED 'p$pk'; SELECT indextable.wait('f_v', '30 minutes'); SELECT pk FROM f_v WHERE pk = $pk");
		last if $seen[-1] !~ /^t/;
	}
	$session->finish;
	is("@seen", join(' ', map { "t\n$_" } 104, 101, 108, 102, 106, 105, 107, 103), "prepared, with $fill others: committed, applied, one after the other");
	ok(drained($node), "prepared, with $fill others: drained");
	drift_free($node, "prepared, with $fill others: index tables equal their recompute");
	$node->safe_psql('postgres', 'DELETE FROM f WHERE pk > 40');
}
load('sleeping commits', [ 12, 0, 'sleep', 'prepare' ]);
load('changes queued long before they are committed', [ 8, 0, 'prepare' ], [ 2, 0, 'large' ]);
$node->safe_psql('postgres', 'DELETE FROM f WHERE pk > 40');
load('hot rows, drains and workers', [ 6, 1000, 'hot' ], [ 3, 0, 'drain' ], [ 2, 0, 'drain_and_more' ]);
is($node->safe_psql('postgres', 'SELECT indextable.stop_workers() > 0'), 't', 'workers are stopped');
load('hot rows, drains alone', [ 6, 0, 'hot' ], [ 3, 0, 'drain' ], [ 2, 0, 'drain_and_more' ]);
$node->safe_psql('postgres', 'SELECT indextable.start_workers()');
load('mostly rollbacks', [ 8, 1000, 'undo' ], [ 1, 0, 'drain' ]);

# A subtransaction with more than is kept in memory is undone: the others' changes are there, its own are not.
$node->safe_psql('postgres', <<'SQL');
BEGIN;
UPDATE f SET doc = d(pk + 1);
SAVEPOINT a;
INSERT INTO f SELECT g, d(g) FROM generate_series(1001, 41000) g;
SAVEPOINT b;
UPDATE f SET doc = d(pk + 2);
ROLLBACK TO b;
DELETE FROM f WHERE pk > 40500;
ROLLBACK TO a;
INSERT INTO f SELECT g, d(g) FROM generate_series(2001, 2010) g;
COMMIT;
BEGIN;
INSERT INTO f SELECT g, d(g) FROM generate_series(1001, 41000) g ON CONFLICT DO NOTHING;
SAVEPOINT a;
UPDATE f SET doc = d(pk + 3);
RELEASE a;
DELETE FROM f WHERE pk > 30000;
ROLLBACK;
BEGIN;
SAVEPOINT a;
INSERT INTO f SELECT g, d(g) FROM generate_series(3001, 33000) g;
SAVEPOINT b;
DELETE FROM f WHERE pk > 20000;
RELEASE b;
SAVEPOINT c;
UPDATE f SET doc = d(pk + 4) WHERE pk > 10000;
RELEASE a;
COMMIT;
SQL
ok(drained($node), 'large subtransactions: drained');
drift_free($node, 'large subtransactions');
is($node->safe_psql('postgres', 'SELECT count(*), max(pk) FROM f WHERE pk > 2000'), '17010|20000', 'of which the right ones were undone');

$node->stop;
done_testing();
