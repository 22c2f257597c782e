# ALTER EXTENSION UPDATE: to a next version made up here, with index tables in use. Definitions that sessions have cached,
# transactions that are open, workers and dumps get over it. A library that finds another catalog than its own says so.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('update');

# ---- versions before and after the one there is, in a copy of where the extension is installed

my ($setting, $installed, $share) = install_root($node);
plan skip_all => 'the server looks for extensions in one place only' if !$setting;
my $root = PostgreSQL::Test::Utils::tempdir . '/root';
system('cp', '-R', $installed, $root) == 0 or die 'no copy';
my $scripts = "$root$share/extension";

# A link, so that the server does not take the library for another one.
my $library = `pg_config --pkglibdir`;
chomp $library;
$library .= '/indextable.so';
unlink "$root$library";
symlink "$installed$library", "$root$library" or die 'no link';

sub default_version
{
	my $file = "$scripts/indextable.control";
	my $control = slurp_file($file) =~ s/^default_version = .*/default_version = '$_[0]'/mr;
	unlink $file;
	append_to_file($file, $control);
	return;
}

my $version = slurp_file("$scripts/indextable.control") =~ /^default_version = '(.*)'/m ? $1 : die 'no version';

# What a minor release may do: tables, columns of views, functions with other parameters, triggers made anew.
append_to_file("$scripts/indextable--$version--$version.1.sql", <<'SQL');
CREATE TABLE indextable_internal.extra (at timestamptz DEFAULT now(), what text);
SELECT pg_catalog.pg_extension_config_dump('indextable_internal.extra', '');
ALTER TABLE indextable_internal.skipped ALTER entries SET DEFAULT 0, ADD CONSTRAINT positive CHECK (entries >= 0);
ALTER TABLE indextable_internal.definition DROP CONSTRAINT definition_state_check;
ALTER TABLE indextable_internal.definition ADD CONSTRAINT definition_state_check CHECK (state IN ('building', 'active', 'invalid', 'paused'));
CREATE INDEX definition_state ON indextable_internal.definition (state);
DROP FUNCTION indextable.wait(regclass, interval, xid8);
CREATE FUNCTION indextable.wait(index_table regclass, timeout interval DEFAULT '2 minutes', xid xid8 DEFAULT NULL) RETURNS boolean
LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'indextable_wait';
CREATE OR REPLACE FUNCTION indextable_internal.maintain() RETURNS trigger LANGUAGE C AS 'MODULE_PATHNAME', 'indextable_maintain';
CREATE OR REPLACE FUNCTION indextable_internal.guard() RETURNS trigger LANGUAGE C AS 'MODULE_PATHNAME', 'indextable_guard';
DROP EVENT TRIGGER indextable_on_drop;
CREATE EVENT TRIGGER indextable_on_drop ON sql_drop EXECUTE FUNCTION indextable_internal.on_drop();
CREATE OR REPLACE TRIGGER restored AFTER INSERT ON indextable_internal.fact FOR EACH STATEMENT EXECUTE FUNCTION indextable_internal.restored();
DROP VIEW indextable.progress;
CREATE VIEW indextable.progress AS SELECT index_table, rows_done, true AS newer FROM indextable_internal.build;
GRANT SELECT ON indextable.progress TO PUBLIC;
SQL

# A catalog that lacks a column this library knows: what it meets between its own installation and the update.
my $old = slurp_file("$scripts/indextable--$version.sql");
$old =~ s/^    queue      regclass,\n    spare .*\n    feed .*\n/    queue      regclass\n/m or die 'no columns';
$old =~ s/^COMMENT ON COLUMN indextable_internal\.fact\.spare.*\nCOMMENT ON COLUMN indextable_internal\.fact\.feed.*\n//m or die 'no comments';
append_to_file("$scripts/indextable--$version.0.sql", $old);
append_to_file("$scripts/indextable--$version.0--$version.sql", "ALTER TABLE indextable_internal.fact ADD spare regclass, ADD feed boolean NOT NULL DEFAULT false;\n");

# And one that has a column which it does not.
append_to_file("$scripts/indextable--$version.1--$version.2.sql", "ALTER TABLE indextable_internal.fact ADD later text;\n");

# ---- index tables in use

$node->safe_psql('postgres', fact_table() . index_tables() . <<'SQL');
SELECT indextable.create('f_a', 'f', '{k}', include => '{v}', maintenance => 'async');
CREATE TABLE b (pk int PRIMARY KEY, doc jsonb);
INSERT INTO b SELECT g, d(g) FROM generate_series(1, 200) g;
SELECT indextable.create('b_k', 'b', '{k}', populate => false);
CREATE TABLE i (pk int PRIMARY KEY, doc jsonb);
SELECT indextable.create('i_k', 'i', '{k}');
ALTER TABLE i DISABLE TRIGGER USER;
INSERT INTO i SELECT g, d(g) FROM generate_series(1, 200) g;
INSERT INTO f SELECT g, d(g), 'n' FROM generate_series(1, 500) g;
CREATE VIEW mine AS SELECT index_table, state FROM indextable.index_tables;
CREATE VIEW a_drift AS
SELECT 'f_a missing' AS what, count(*) AS n FROM (SELECT doc ->> 'k', pk, doc ->> 'v' FROM f EXCEPT ALL TABLE f_a) x
UNION ALL SELECT 'f_a extra', count(*) FROM (TABLE f_a EXCEPT ALL SELECT doc ->> 'k', pk, doc ->> 'v' FROM f) x;
SQL
my $dump = PostgreSQL::Test::Utils::tempdir . '/dump';
$node->command_ok([ 'pg_dump', '-f', "$dump.before", $node->connstr('postgres') ], 'dumped before the update');
my $catalog = $node->safe_psql('postgres', 'TABLE indextable_internal.definition; TABLE indextable_internal.fact; TABLE mine');
my $triggers = 'SELECT tgrelid::regclass, tgname, tgenabled FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2';
my $before = $node->safe_psql('postgres', $triggers);

# Sessions that have the definitions cached, and plans; one of them in a transaction that began before.
my ($cached, $open, $snapshot) = map { session($node) } 1 .. 3;
for ($cached, $open, $snapshot)
{
	$_->query(q(PREPARE look AS SELECT count(*) FROM indextable.lookup('f_k', '{"k": "k7"}')));
	$_->query(q(PREPARE put (int, int) AS INSERT INTO f VALUES ($1, d($2), 'put') ON CONFLICT (pk) DO UPDATE SET doc = excluded.doc));
	is($_->query("EXECUTE put (1000, 7); EXECUTE look"), '11', 'a session uses index tables');
	$_->query('DELETE FROM f WHERE pk = 1000');
}
$open->query('BEGIN; EXECUTE put (1001, 7); SAVEPOINT s; UPDATE f SET doc = d(8) WHERE pk = 2');
$snapshot->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM f');
$node->safe_psql('postgres', 'SELECT indextable.start_workers()');

# ---- the update

$node->append_conf('postgresql.conf', $setting eq 'extension_destdir' ? "$setting = '$root'" : "$setting = '$root$share:\$system'");
$node->reload;
# Not the view of available versions: with Debian's patch it may show what the system has, and no more.
ok(becomes_true($node, "SELECT current_setting('$setting') LIKE '$root%'"), 'the server looks where the next version is');
$node->safe_psql('postgres', "ALTER EXTENSION indextable UPDATE TO '$version.1'");
is($node->safe_psql('postgres', q(SELECT extversion, cardinality(extconfig) FROM pg_extension WHERE extname = 'indextable')), "$version.1|9", 'updated');
is($node->safe_psql('postgres', 'TABLE indextable_internal.definition; TABLE indextable_internal.fact; TABLE mine'), $catalog, 'definitions are as they were');
is($node->safe_psql('postgres', $triggers), $before, 'so are triggers');

is($cached->query('EXECUTE look'), '10', 'plans of a session go on');
is($cached->query('EXECUTE put (1002, 57); UPDATE f SET doc = d(pk + 3) WHERE pk BETWEEN 3 AND 9 OR pk = 1002; DELETE FROM f WHERE pk = 20; EXECUTE look'), '10', 'and what it has cached');
is($open->query('EXECUTE put (1003, 7); EXECUTE look; UPDATE f SET pk = 1004 WHERE pk = 1001; ROLLBACK TO s; COMMIT; EXECUTE look'), "12\n11",
	'so does a transaction');
is($snapshot->query(q(EXECUTE put (1005, 7); EXECUTE look; COMMIT)), '11', 'and one with an old snapshot');
drift_free($node, 'index tables equal their recompute');
ok(drained($node), 'the worker from before goes on');
is($node->safe_psql('postgres', 'SET indextable.planner = off; SELECT * FROM a_drift WHERE n > 0'), '', 'and the asynchronous one does');
is($node->safe_psql('postgres', 'SELECT indextable.stop_workers()'), 1, 'it is still the same one');

my ($status, $out, $err) = $node->psql('postgres', 'DELETE FROM f_k');
like($err, qr/cannot change index table "f_k"/, 'guards stay');
($status, $out, $err) = $node->psql('postgres', 'ALTER TABLE f DROP COLUMN doc CASCADE');
like($err, qr/ALTER action DROP COLUMN cannot be performed on table "f" because index tables depend on it/, 'so do event triggers');
$node->safe_psql('postgres', q(CALL indextable.build('b_k'); CALL indextable.repair('i_k'); UPDATE b SET doc = d(pk + 1); UPDATE i SET doc = d(pk + 2)));
is($node->safe_psql('postgres', q(SET indextable.planner = off; SELECT count(*) FROM ((SELECT doc ->> 'k', pk FROM b EXCEPT ALL TABLE b_k) UNION ALL (TABLE b_k EXCEPT ALL SELECT doc ->> 'k', pk FROM b)
	UNION ALL (SELECT doc ->> 'k', pk FROM i EXCEPT ALL TABLE i_k) UNION ALL (TABLE i_k EXCEPT ALL SELECT doc ->> 'k', pk FROM i)) x)), 0, 'builds and repairs go on');
is($node->safe_psql('postgres', q(SELECT count(*) FROM indextable_internal.definition d, indextable.verify(d.index_table))), 0, 'verify() finds nothing');
$node->safe_psql('postgres', q(SELECT indextable.create('f_new', 'f', '{n::int}'); UPDATE f SET doc = d(pk + 1); INSERT INTO indextable_internal.extra (what) VALUES ('mine')));
is($node->safe_psql('postgres', q(SELECT count(*) FROM indextable.verify('f_new'))), 0, 'new ones are made');
drift_free($node, 'beside the others');

# ---- dumps from before and after, where the next version is the one that is installed

default_version("$version.1");
$node->safe_psql('postgres', q(UPDATE f SET note = 'queued' WHERE pk < 50; UPDATE f SET doc = d(pk + 5) WHERE pk % 2 = 0));
$node->command_ok([ 'pg_dump', '-f', "$dump.after", $node->connstr('postgres') ], 'dumped after the update');
for my $when ('before', 'after')
{
	$node->safe_psql('postgres', "CREATE DATABASE $when");
	$node->command_ok([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-f', "$dump.$when", '-d', $node->connstr($when) ], "$when: restored");
	is($node->safe_psql($when, q(SELECT extversion, (SELECT count(*) FROM indextable_internal.extra) FROM pg_extension WHERE extname = 'indextable')), "$version.1|" . ($when eq 'after' ? 1 : 0), "$when: as the next version");
	$node->safe_psql($when, 'INSERT INTO f SELECT g, d(g), NULL FROM generate_series(3001, 3020) g; UPDATE f SET doc = d(pk + 3) WHERE pk % 3 = 0; DELETE FROM f WHERE pk % 7 = 0; SELECT indextable.drain()');
	drift_free($node, "$when: index tables equal their recompute", $when);
	is($node->safe_psql($when, 'SET indextable.planner = off; SELECT * FROM a_drift WHERE n > 0'), '', "$when: so does the asynchronous one");
}

# ---- a library and a catalog that differ

my $different = qr/the library and the catalog of indextable are of different versions\n.*Run ALTER EXTENSION indextable UPDATE/;
my $write = 'UPDATE f SET doc = d(pk + 11)';

# The library is newer. It has no index tables of its own making then, but it finds those of the former.
$node->safe_psql('postgres', 'CREATE DATABASE older');
$node->safe_psql('older', fact_table() =~ s/EXTENSION indextable/EXTENSION indextable VERSION '$version.0'/r . <<'SQL');
CREATE TABLE plain (pk int PRIMARY KEY, doc jsonb);
INSERT INTO indextable_internal.fact VALUES ('f');
CREATE TRIGGER indextable_row AFTER INSERT OR UPDATE OR DELETE ON f FOR EACH ROW EXECUTE FUNCTION indextable_internal.maintain();
SQL
my $older = session($node, 'older');
for my $sql (q(INSERT INTO f VALUES (1, d(1), 'x')), q(SELECT indextable.create('f_k', 'f', '{k}')), q(ALTER TABLE f ADD more text), 'DROP TABLE f')
{
	like($older->query($sql), $different, "older: refused: $sql");
}
is($older->query('INSERT INTO plain VALUES (1, d(1)); ALTER TABLE plain ADD more text; CREATE TABLE another (a int); DROP TABLE another; SELECT count(*) FROM plain'), '1',
	'older: other tables are left alone');
is($older->query("ALTER EXTENSION indextable UPDATE TO '$version'"), '', 'older: updated');
is($older->query(q(SELECT indextable.create('f_k', 'f', '{k}'); INSERT INTO f SELECT g, d(g), 'x' FROM generate_series(1, 20) g; SELECT count(*) FROM f_k)), "f_k\n20", 'older: works in the same session');
is($older->query(q(SET indextable.planner = off; SELECT count(*) FROM ((SELECT doc ->> 'k', pk FROM f EXCEPT ALL TABLE f_k) UNION ALL (TABLE f_k EXCEPT ALL SELECT doc ->> 'k', pk FROM f)) x)), '0', 'older: right');
is($older->query(q(SELECT count(*) FROM indextable.verify('f_k'))), '0', 'older: verify() finds nothing');

# The catalog is newer: no write goes past it.
my $late = session($node);
$node->safe_psql('postgres', "ALTER EXTENSION indextable UPDATE TO '$version.2'");
my $documents = $node->safe_psql('postgres', 'SELECT md5(string_agg(f::text, $$ $$ ORDER BY pk)) FROM f');
like($_->query($write), $different, 'newer: refused in every session') for $late, $cached, $open;
is($node->safe_psql('postgres', 'SELECT md5(string_agg(f::text, $$ $$ ORDER BY pk)) FROM f'), $documents, 'newer: nothing is written');
drift_free($node, 'newer: index tables are as they were');

$_->finish for $cached, $open, $snapshot, $older, $late;
$node->stop;
done_testing();
