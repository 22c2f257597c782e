# Dumps that are taken while others write and a worker drains, and restored where a worker looks for something to do:
# what a dump has of the fact tables, partitioned or not, it has in the index tables, of which some are partitioned, or in
# the queue, and workers leave half a restore alone.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('dump_load', q(shared_preload_libraries = 'indextable'), q(indextable.naptime = '10 ms'), 'max_worker_processes = 16');
my $dir = PostgreSQL::Test::Utils::tempdir;
$node->safe_psql('postgres', 'CREATE DATABASE origin');
$node->safe_psql('origin', fact_table() . <<'SQL' . index_tables());
INSERT INTO f SELECT g, d(g), 'n' || g % 3 FROM generate_series(1, 5000) g;
SELECT indextable.create('f_a', 'f', '{k}', include => '{v,@note}', maintenance => 'async');
SELECT indextable.create('f_at', 'f', '{tags[*]}', filter => 'note <> ''n1''', maintenance => 'async');
SELECT indextable.create('f_hk', 'f', '{k}', include => '{v}', partitions => 3), indextable.create('f_rq', 'f', '{k,n::int}', maintenance => 'async', partition_by => 'RANGE (n)', partition_bounds => '{FROM (0) TO (2),FROM (2) TO (5)}');
CREATE TABLE g (pk int, doc jsonb, note text, PRIMARY KEY (pk, note)) PARTITION BY LIST (note);
CREATE TABLE g_0 PARTITION OF g FOR VALUES IN ('n0');
CREATE TABLE g_rest PARTITION OF g DEFAULT PARTITION BY HASH (pk);
CREATE TABLE g_rest0 PARTITION OF g_rest FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE g_rest1 PARTITION OF g_rest FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO g SELECT pk, doc, note FROM f;
SELECT indextable.create('g_k', 'g', '{k}'), indextable.create('g_hq', 'g', '{k}', maintenance => 'async', partitions => 3);
CREATE VIEW later_drift AS
WITH f AS MATERIALIZED (SELECT * FROM f),
	a AS (SELECT doc ->> 'k', pk, doc ->> 'v', note FROM f),
	h AS (SELECT doc ->> 'k', pk, doc ->> 'v' FROM f), r AS (SELECT doc ->> 'k', (doc ->> 'n')::int, pk FROM f), g AS (SELECT doc ->> 'k', pk, note FROM g),
	t AS (SELECT e, pk, count(*)::int FROM f, jsonb_array_elements_text(doc -> 'tags') e WHERE note <> 'n1' GROUP BY 1, 2)
SELECT 'f_a missing' AS what, count(*) AS n FROM (TABLE a EXCEPT ALL TABLE f_a) x
UNION ALL SELECT 'f_a extra', count(*) FROM (TABLE f_a EXCEPT ALL TABLE a) x
UNION ALL SELECT 'f_at missing', count(*) FROM (TABLE t EXCEPT ALL TABLE f_at) x
UNION ALL SELECT 'f_at extra', count(*) FROM (TABLE f_at EXCEPT ALL TABLE t) x
UNION ALL SELECT 'f_hk', count(*) FROM ((TABLE h EXCEPT ALL TABLE f_hk) UNION ALL (TABLE f_hk EXCEPT ALL TABLE h)) x
UNION ALL SELECT 'f_rq', count(*) FROM ((TABLE r EXCEPT ALL TABLE f_rq) UNION ALL (TABLE f_rq EXCEPT ALL TABLE r)) x
UNION ALL SELECT 'g_k', count(*) FROM ((TABLE g EXCEPT ALL TABLE g_k) UNION ALL (TABLE g_k EXCEPT ALL TABLE g)) x
UNION ALL SELECT 'g_hq', count(*) FROM ((TABLE g EXCEPT ALL TABLE g_hq) UNION ALL (TABLE g_hq EXCEPT ALL TABLE g)) x;
SQL
my $later = 'SET indextable.planner = off; SELECT * FROM later_drift WHERE n > 0';

append_to_file("$dir/load", <<'SQL');
\set p random(1, 5000)
\set q random(1, 5000)
\set i random(1, 1000000)
\set kind random(1, 5)
\if :kind <= 2
UPDATE f SET doc = d(:i), note = 'n' || :i % 3 WHERE pk = :p;
UPDATE g SET doc = d(:i), note = 'n' || :i % 4 WHERE pk = :p;
\elif :kind = 3
INSERT INTO f VALUES (:p, d(:i), 'i') ON CONFLICT (pk) DO UPDATE SET doc = excluded.doc;
\elif :kind = 4
DELETE FROM f WHERE pk = :p;
DELETE FROM g WHERE pk = :q;
\else
UPDATE f SET pk = :q WHERE pk = :p AND NOT EXISTS (SELECT FROM f WHERE pk = :q);
\endif
SQL
my $said = '';
my $load = IPC::Run::start([ 'pgbench', '-n', '-c', '2', '-T', '600', '-f', "$dir/load", $node->connstr('origin') ], '>&', \$said);
ok(becomes_true($node, 'SELECT sum(applied) > 100 FROM indextable.queues', 'origin'), 'the worker drains what others write');

my %restore = (
	plain => sub { [ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-f', $_[1], '-d', $_[0] ] },
	custom => sub { [ 'pg_restore', '--exit-on-error', '-d', $_[0], $_[1] ] },
	directory => sub { [ 'pg_restore', '--exit-on-error', '-j3', '-d', $_[0], $_[1] ] });
for my $name (sort keys %restore)
{
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	# not drained for a while, so that there is something in the queue
	$node->safe_psql('origin', 'SELECT indextable.stop_workers()');
	ok(becomes_true($node, 'SELECT sum(backlog) > 50 FROM indextable.queues', 'origin'), "$name: changes are queued");
	$node->safe_psql('origin', 'SELECT indextable.start_workers()');
	$node->command_ok([ 'pg_dump', '--format', $name, $name eq 'directory' ? '-j2' : (), '-f', "$dir/$name", $node->connstr('origin') ], "$name: dumped");
	$node->command_ok($restore{$name}->($node->connstr($name), "$dir/$name"), "$name: restored");
	ok(drained($node, $name), "$name: drained by a worker that comes by itself");
	drift_free($node, "$name: transactional index tables equal their recompute", $name);
	is($node->safe_psql($name, $later), '', "$name: asynchronous ones do");
	is($node->safe_psql($name, q(SELECT count(*) FROM indextable_internal.definition d, indextable.verify(d.index_table))), 0, "$name: verify() finds nothing");
	$node->safe_psql($name, q(UPDATE f SET doc = d(pk + 1); UPDATE g SET doc = d(pk + 1), note = 'n0' WHERE pk % 2 = 0));
	ok(drained($node, $name), "$name: the worker goes on");
	is($node->safe_psql($name, $later), '', "$name: in step");
	$node->safe_psql('postgres', "DROP DATABASE $name");
}

$load->kill_kill;
ok(drained($node, 'origin'), 'origin: drained');
drift_free($node, 'origin: transactional index tables equal their recompute', 'origin');
is($node->safe_psql('origin', $later), '', 'origin: asynchronous ones do');
$node->stop;
done_testing();
