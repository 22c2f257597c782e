# pg_upgrade carries everything over, queued changes included, and upkeep continues. From the server that OLD_PG_CONFIG
# names (test/run/majors does), else from this one to another of the same version.

use strict;
use warnings;
use File::Basename;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

sub bindir { return `$_[0] --bindir` =~ s/\n//r; }

my $bin = bindir($ENV{PG_CONFIG} // 'pg_config');
my $old_bin = $ENV{OLD_PG_CONFIG} ? bindir($ENV{OLD_PG_CONFIG}) : $bin;
note("from $old_bin to $bin");

# new: without checksums, as the old one
my $new = PostgreSQL::Test::Cluster->new('new');
$new->init(extra => [ `$bin/postgres --version` =~ / (\d+)/ && $1 >= 18 ? '--no-data-checksums' : () ]);
$new->append_conf('postgresql.conf', "fsync = off\njit = off\nindextable.naptime = 100ms");
$new->start;
if (($new->psql('postgres', q(LOAD '$libdir/indextable')))[0])
{
	die 'the library is not installed' if $ENV{OLD_PG_CONFIG};
	$new->stop;
	plan(skip_all => 'pg_upgrade finds the library only where it is installed for good, since PostgreSQL 18');
}
$new->stop;

# old: nothing is preloaded there, so changes stay queued
my $old;
{
	local %ENV = %ENV;
	delete $ENV{TEMP_CONFIG} if $ENV{OLD_PG_CONFIG};    # where the new version finds the extension is nothing to the old one
	$old = PostgreSQL::Test::Cluster->new('old', $ENV{OLD_PG_CONFIG} ? (install_path => dirname($old_bin)) : ());
	$old->init;
}
$old->append_conf('postgresql.conf', "fsync = off\njit = off");
$old->start;

# Transactional index tables in one database, asynchronous ones in another. A dropped column in between, so that
# columns would have other numbers if the tables were made anew.
my $more = <<'SQL';
ALTER TABLE f ADD gone int;
ALTER TABLE f ADD more text DEFAULT 'm';
ALTER TABLE f DROP COLUMN gone;
INSERT INTO f SELECT g, d(g), 'n' || g % 3 FROM generate_series(1, 500) g;
SQL
my $others = <<'SQL';
SELECT indextable.create('f_m', 'f', '{@more,k}', filter => $f$note <> 'n1'$f$, on_mismatch => 'skip', maintenance => 'MAINTENANCE');
-- partitioned ones: by hash, and by range after columns have gone; and a partitioned fact table
SELECT indextable.create('f_h', 'f', '{k}', partitions => 3, maintenance => 'MAINTENANCE');
SELECT indextable.create('f_r', 'f', '{n::int}', include => '{v}', partition_by => 'RANGE (n)', partition_bounds => '{FROM (0) TO (3)}', maintenance => 'MAINTENANCE');
SELECT indextable.alter('f_r', include => '{k}'), indextable.alter('f_r', partition_bounds => '{FROM (0) TO (2),FROM (2) TO (5)}');
CREATE TABLE g (pk int, note text, doc jsonb, PRIMARY KEY (pk, note)) PARTITION BY LIST (note);
CREATE TABLE g_1 PARTITION OF g FOR VALUES IN ('n1');
CREATE TABLE g_rest (doc jsonb, note text NOT NULL, gone int, pk int NOT NULL);
ALTER TABLE g_rest DROP COLUMN gone;
ALTER TABLE g ATTACH PARTITION g_rest DEFAULT;
INSERT INTO g SELECT pk, note, doc FROM f;
SELECT indextable.create('g_h', 'g', '{k}', partitions => 3, maintenance => 'MAINTENANCE');
CREATE VIEW m_drift AS WITH m AS (SELECT more, doc ->> 'k', pk FROM f WHERE note <> 'n1'),
	h AS (SELECT doc ->> 'k', pk FROM f), r AS (SELECT (doc ->> 'n')::int, pk, doc ->> 'k' FROM f), g AS (SELECT doc ->> 'k', pk, note FROM g)
	SELECT 'f_m', x::text FROM ((TABLE m EXCEPT ALL TABLE f_m) UNION ALL (TABLE f_m EXCEPT ALL TABLE m)) x
	UNION ALL SELECT 'f_h', x::text FROM ((TABLE h EXCEPT ALL TABLE f_h) UNION ALL (TABLE f_h EXCEPT ALL TABLE h)) x
	UNION ALL SELECT 'f_r', x::text FROM ((TABLE r EXCEPT ALL TABLE f_r) UNION ALL (TABLE f_r EXCEPT ALL TABLE r)) x
	UNION ALL SELECT 'g_h', x::text FROM ((TABLE g EXCEPT ALL TABLE g_h) UNION ALL (TABLE g_h EXCEPT ALL TABLE g)) x;
SQL
$old->safe_psql('postgres', fact_table() . $more . index_tables() . $others =~ s/MAINTENANCE/transactional/gr . <<'SQL');
CREATE SCHEMA "Other";
CREATE TABLE "Other"."Fact" ("B" text, a int, "Doc" jsonb, PRIMARY KEY ("B", a));
CREATE TABLE untouched (pk int PRIMARY KEY, doc jsonb);
SELECT indextable.create('untouched_k', 'untouched', '{k}');
SELECT indextable.create('"Key of it"', '"Other"."Fact"', '{k}', is_unique => true, filter => $f$a > 0$f$);
INSERT INTO "Other"."Fact" SELECT 'b', g, d(g) FROM generate_series(-5, 40) g;
SQL
$old->safe_psql('postgres', 'CREATE DATABASE later');
$old->safe_psql('later', fact_table() . $more . index_tables('async') . $others =~ s/MAINTENANCE/async/gr . <<'SQL');
SELECT indextable.create('f_j', 'f', '{j::int}', maintenance => 'async');
SQL

# A catalog of 1.1, which was not updated before the server is.
$old->safe_psql('postgres', 'CREATE DATABASE former');
$old->safe_psql('former', fact_table() =~ s/EXTENSION indextable/EXTENSION indextable VERSION '1.1'/r . $more . index_tables('async') . "UPDATE f SET doc = d(pk + 3) WHERE pk % 3 = 0; SELECT indextable.create('f_s', 'f', '{k}')");

# Changes that were applied, some in vain, then some that were not, from several transactions.
$old->safe_psql('later', $_) for
	q(UPDATE f SET doc = doc || '{"j": "none"}' WHERE pk = 5), 'SELECT indextable.drain()',
	'INSERT INTO f SELECT g, d(g * 3), NULL FROM generate_series(1001, 1100) g',
	'UPDATE f SET doc = d(pk + 3) WHERE pk % 3 = 0',
	'BEGIN; DELETE FROM f WHERE pk % 7 = 0; SAVEPOINT s; DELETE FROM f; ROLLBACK TO s; COMMIT',
	'UPDATE f SET pk = pk + 5000 WHERE pk % 10 = 1';

my %catalog = (
	'definitions' => q(SELECT index_table, fact_table, state, strategy, maintenance, key, include, filter, is_unique, on_mismatch, document FROM indextable.index_tables ORDER BY index_table::text),
	'triggers' => q(SELECT tgrelid::regclass, tgname, tgenabled FROM pg_trigger WHERE NOT tgisinternal ORDER BY tgrelid::regclass::text, tgname),
	'event triggers' => q(SELECT evtname, evtevent, evtenabled, evttags, evtfoid::regproc FROM pg_event_trigger ORDER BY evtname),
	'partitions' => q(SELECT i.inhparent::regclass, c.oid::regclass, pg_get_partkeydef(i.inhparent), pg_get_expr(relpartbound, c.oid) FROM pg_inherits i JOIN pg_class c ON c.oid = inhrelid WHERE relkind = 'r' ORDER BY c.oid::regclass::text),
	'backlog' => q(SELECT fact_table, backlog FROM indextable.queues ORDER BY fact_table::text),
	'rejected rows' => q(SELECT index_table, primary_key, sqlstate FROM indextable_internal.rejection ORDER BY 1, 2),
);
my %before;
for my $database ('postgres', 'later')
{
	$before{$database}{$_} = $old->safe_psql($database, $catalog{$_}) for keys %catalog;
	isnt($before{$database}{$_}, '', "$database: before, $_") for 'definitions', 'triggers', 'event triggers';
}
my $backlog = 'SELECT sum(backlog) FROM indextable.queues';
cmp_ok($old->safe_psql('later', $backlog), '>', 100, 'before: changes are queued');
isnt($before{later}{'rejected rows'}, '', 'before: a row is rejected');
isnt($old->safe_psql('later', 'SET indextable.planner = off; SELECT what FROM drift WHERE n > 0'), '', 'before: changes are not applied');
drift_free($old, 'before: transactional ones are right');
$old->stop;

chdir PostgreSQL::Test::Utils::tempdir;
command_ok([ 'pg_upgrade', '-d', $old->data_dir, '-D', $new->data_dir, '-b', $old_bin, '-B', $bin,
	'-s', $new->host, '-p', $old->port, '-P', $new->port ], 'pg_upgrade');
$new->start;

for my $database ('postgres', 'later')
{
	is($new->safe_psql($database, $catalog{$_}), $before{$database}{$_}, "$database: $_ as before") for sort keys %catalog;
}

$new->safe_psql('postgres', 'DROP TABLE untouched');
is($new->safe_psql('postgres', q(SELECT to_regclass('untouched_k'))), '', 'plain DROP TABLE of a fact table takes its index table along, as the first thing');

my $verify = 'SELECT i.index_table, v FROM indextable.index_tables i, indextable.verify(i.index_table) v';
my $other = q(SET indextable.planner = off; SELECT count(*) FROM ((SELECT "Doc" ->> 'k', "B", a FROM "Other"."Fact" WHERE a > 0 EXCEPT ALL TABLE "Other"."Key of it")
	UNION ALL (TABLE "Other"."Key of it" EXCEPT ALL SELECT "Doc" ->> 'k', "B", a FROM "Other"."Fact" WHERE a > 0)) x);

# right DATABASE, NAME: nothing is queued, and everything equals its recompute
sub right
{
	my ($database, $name) = @_;
	is($new->safe_psql($database, $backlog) || 0, 0, "$name: nothing queued");
	drift_free($new, "$name: index tables equal their recompute", $database);
	is($new->safe_psql($database, 'SET indextable.planner = off; TABLE m_drift'), '', "$name: so does the filtered one");
	is($new->safe_psql($database, $other), 0, "$name: so does the unique one") if $database eq 'postgres';
	is($new->safe_psql($database, "$verify WHERE v.kind <> 'rejected'"), '', "$name: verify() finds nothing");
}

my @changes = (
	'INSERT INTO f SELECT g, d(g * 3), NULL FROM generate_series(2001, 2100) g', 'UPDATE f SET doc = d(pk + 4) WHERE pk % 3 = 0',
	"INSERT INTO g SELECT g, 'n' || g % 4, d(g * 3) FROM generate_series(2001, 2100) g", q(UPDATE g SET doc = d(pk + 4), note = 'n1' WHERE pk % 3 = 0),
	"UPDATE f SET note = 'z', more = 'other' WHERE pk % 5 = 0", 'UPDATE f SET pk = pk + 50000 WHERE pk % 10 = 2', 'DELETE FROM f WHERE pk % 7 = 1',
	q(BEGIN; INSERT INTO f VALUES (-1, d(-1), 'n2'); SAVEPOINT s; DELETE FROM f; ROLLBACK TO s; COMMIT));

right('postgres', 'transactional');
for my $sql (@changes, 'UPDATE "Other"."Fact" SET "Doc" = d(a + 100); DELETE FROM "Other"."Fact" WHERE a > 30; UPDATE "Other"."Fact" SET a = 1000 - a WHERE a < 0')
{
	$new->safe_psql('postgres', $sql);
	right('postgres', $sql);
}
my ($status, $out, $err) = $new->psql('postgres', q(INSERT INTO "Other"."Fact" VALUES ('c', 1, (SELECT "Doc" FROM "Other"."Fact" WHERE a = 12))));
like($err, qr/duplicate key/, 'a unique index table is unique');
($status, $out, $err) = $new->psql('postgres', 'DELETE FROM f_k');
like($err, qr/cannot change index table "f_k"/, 'nobody writes it by hand');

# queued before, and after: by hand
isnt($new->safe_psql('later', 'SET indextable.planner = off; SELECT what FROM drift WHERE n > 0'), '', 'asynchronous: queued changes are not applied yet');
cmp_ok($new->safe_psql('later', 'SELECT indextable.drain()'), '>', 100, 'drain() applies them');
right('later', 'asynchronous, drained');
for my $sql (@changes)
{
	$new->safe_psql('later', $sql);
	$new->safe_psql('later', 'SELECT indextable.drain()');
	right('later', "asynchronous: $sql");
}
is($new->safe_psql('later', $catalog{'rejected rows'}), $before{later}{'rejected rows'}, 'the rejected row still is');
$new->safe_psql('later', q(UPDATE f SET doc = doc || '{"j": 5}' WHERE pk = 5; SELECT indextable.drain()));
is($new->safe_psql('later', 'SELECT * FROM f_j WHERE j IS NOT NULL; TABLE indextable.rejected'), '5|5', 'and is mended');

# that of 1.1, as it is and updated
for my $update ('', 'ALTER EXTENSION indextable UPDATE')
{
	$new->safe_psql('former', $update) if $update;
	$new->safe_psql('former', $_) for 'UPDATE f SET doc = d(pk + 4) WHERE pk % 3 = 1', 'SELECT indextable.drain()';
	drift_free($new, "1.1: index tables equal their recompute $update", 'former');
	is($new->safe_psql('former', q(SELECT count(*) FROM indextable.verify('f_s'))), 0, '1.1: so does a transactional one');
}
is($new->safe_psql('former', q(SELECT extversion FROM pg_extension WHERE extname = 'indextable')), '1.2', '1.1: updated');

# and by workers
$new->append_conf('postgresql.conf', "shared_preload_libraries = 'indextable'");
$new->restart;
$new->safe_psql('later', 'UPDATE f SET doc = d(pk + 11)');
ok(drained($new, 'later'), 'a worker applies changes');
right('later', 'by a worker');

for my $database ('postgres', 'later')
{
	$new->safe_psql($database, 'ALTER TABLE f RENAME note TO remark; DROP VIEW drift, m_drift; DROP TABLE f, g');
	is($new->safe_psql($database, q(SELECT count(*) FROM pg_class WHERE relname ~ '^[fg]_')), 0, "$database: DROP TABLE takes the index tables along");
}

$new->stop;
done_testing();
