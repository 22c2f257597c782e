# Dumps that are taken while others write and a worker drains, and restored where a worker looks for something to do:
# what a dump has of the fact table, it has in the index tables or in the queue, and workers leave half a restore alone.

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
CREATE VIEW later_drift AS
WITH f AS MATERIALIZED (SELECT * FROM f),
	a AS (SELECT doc ->> 'k', pk, doc ->> 'v', note FROM f),
	t AS (SELECT DISTINCT e, pk FROM f, jsonb_array_elements_text(doc -> 'tags') e WHERE note <> 'n1')
SELECT 'f_a missing' AS what, count(*) AS n FROM (TABLE a EXCEPT ALL TABLE f_a) x
UNION ALL SELECT 'f_a extra', count(*) FROM (TABLE f_a EXCEPT ALL TABLE a) x
UNION ALL SELECT 'f_at missing', count(*) FROM (TABLE t EXCEPT ALL TABLE f_at) x
UNION ALL SELECT 'f_at extra', count(*) FROM (TABLE f_at EXCEPT ALL TABLE t) x;
SQL
my $later = 'SELECT * FROM later_drift WHERE n > 0';

append_to_file("$dir/load", <<'SQL');
\set p random(1, 5000)
\set q random(1, 5000)
\set i random(1, 1000000)
\set kind random(1, 5)
\if :kind <= 2
UPDATE f SET doc = d(:i), note = 'n' || :i % 3 WHERE pk = :p;
\elif :kind = 3
INSERT INTO f VALUES (:p, d(:i), 'i') ON CONFLICT (pk) DO UPDATE SET doc = excluded.doc;
\elif :kind = 4
DELETE FROM f WHERE pk = :p;
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
	is($node->safe_psql($name, q(SELECT count(*) FROM indextable.definition d, indextable.verify(d.index_table))), 0, "$name: verify() finds nothing");
	$node->safe_psql($name, q(UPDATE f SET doc = d(pk + 1)));
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
