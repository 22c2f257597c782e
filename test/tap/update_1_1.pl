# Version 1.1, as it is on people's servers: this library works with its catalog; ALTER EXTENSION UPDATE makes of that the
# one of a new installation, and carries over index tables of every kind, queues, rejected rows and counters; a dump of it
# is restored as the new version.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('update_1_1');

# everything there is in the catalogs of the server about the extension, without OIDs
my $catalog = <<'SQL';
WITH namespaces AS (SELECT oid, nspname FROM pg_namespace WHERE nspname IN ('indextable', 'indextable_internal', 'indextable_queues')),
extension AS (SELECT * FROM pg_extension WHERE extname = 'indextable'),
relations AS (SELECT c.*, n.nspname FROM pg_class c JOIN namespaces n ON n.oid = c.relnamespace),
functions AS (SELECT p.*, n.nspname FROM pg_proc p JOIN namespaces n ON n.oid = p.pronamespace),
objects AS (SELECT 'pg_class'::regclass AS class, oid FROM relations
	UNION ALL SELECT 'pg_proc'::regclass, oid FROM functions
	UNION ALL SELECT 'pg_namespace'::regclass, oid FROM namespaces
	UNION ALL SELECT 'pg_extension'::regclass, oid FROM extension
	UNION ALL SELECT 'pg_type'::regclass, t.oid FROM pg_type t JOIN namespaces n ON n.oid = t.typnamespace
	UNION ALL SELECT 'pg_event_trigger'::regclass, oid FROM pg_event_trigger
	UNION ALL SELECT 'pg_trigger'::regclass, t.oid FROM pg_trigger t JOIN relations r ON r.oid = t.tgrelid
	UNION ALL SELECT 'pg_constraint'::regclass, t.oid FROM pg_constraint t JOIN namespaces n ON n.oid = t.connamespace
	UNION ALL SELECT 'pg_rewrite'::regclass, t.oid FROM pg_rewrite t JOIN relations r ON r.oid = t.ev_class)
SELECT concat_ws(' | ', 'extension', extversion, extnamespace::regnamespace, extrelocatable, extconfig::regclass[], extcondition) FROM extension
UNION ALL SELECT concat_ws(' | ', 'schema', x.nspname, x.nspowner::regrole, x.nspacl, obj_description(x.oid, 'pg_namespace')) FROM namespaces JOIN pg_namespace x USING (oid)
UNION ALL SELECT concat_ws(' | ', 'relation', nspname, relname, relkind, relpersistence, relreplident, reloptions, relowner::regrole, relacl, relchecks, relhasrules, relhastriggers, relam, obj_description(oid, 'pg_class'),
	CASE relkind WHEN 'v' THEN pg_get_viewdef(oid) WHEN 'i' THEN pg_get_indexdef(oid) END) FROM relations
UNION ALL SELECT concat_ws(' | ', 'column', nspname, relname, attnum, attname, format_type(atttypid, atttypmod), attnotnull, attcollation, attstorage, attacl, (SELECT array_agg(o) FROM unnest(attoptions) o WHERE o !~ '^pg_attver='), pg_get_expr(adbin, adrelid), col_description(r.oid, attnum))
	FROM relations r JOIN pg_attribute a ON attrelid = r.oid LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attnum > 0
UNION ALL SELECT concat_ws(' | ', 'constraint', conrelid::regclass, conname, pg_get_constraintdef(c.oid)) FROM pg_constraint c JOIN relations r ON r.oid = conrelid
UNION ALL SELECT concat_ws(' | ', 'function', nspname, to_jsonb(f) - '{oid,pronamespace,nspname,proowner,prosqlbody,proargdefaults,prorettype,proargtypes,proallargtypes}'::text[], proowner::regrole, pg_get_functiondef(oid), obj_description(oid, 'pg_proc')) FROM functions f
UNION ALL SELECT concat_ws(' | ', 'trigger', pg_get_triggerdef(t.oid), tgenabled, obj_description(t.oid, 'pg_trigger')) FROM pg_trigger t JOIN relations r ON r.oid = tgrelid
UNION ALL SELECT concat_ws(' | ', 'event trigger', evtname, evtevent, evtowner::regrole, evtfoid::regprocedure, evtenabled, evttags, obj_description(oid, 'pg_event_trigger')) FROM pg_event_trigger
UNION ALL SELECT concat_ws(' | ', 'rights at first', pg_describe_object(classoid, objoid, objsubid), privtype, initprivs) FROM pg_init_privs JOIN objects ON class = classoid AND oid = objoid
UNION ALL SELECT concat_ws(' | ', 'dependency', pg_describe_object(classid, objid, objsubid), deptype, pg_describe_object(refclassid, refobjid, refobjsubid))
	FROM pg_depend WHERE EXISTS (SELECT FROM objects WHERE class = classid AND oid = objid) OR EXISTS (SELECT FROM objects WHERE class = refclassid AND oid = refobjid)
ORDER BY 1
SQL

sub catalog
{
	my ($database) = @_;
	return [ sort split /\n/, $node->safe_psql($database, $catalog) =~ s/pg_toast_\d+/pg_toast/gr ];
}

# Index tables of every kind over f and g, and beside them what is being built or rebuilt, and what is invalid.
my $make = <<'SQL';
ALTER TABLE f ADD more text DEFAULT 'm';
INSERT INTO f SELECT g, d(g), 'n' || g % 3 FROM generate_series(1, 500) g;
SELECT indextable.create('f_u', 'f', '{v}', is_unique => true, filter => 'pk > 0');
SELECT indextable.create('f_s', 'f', '{j::int}', on_mismatch => 'skip');
SELECT indextable.create('f_h', 'f', '{k}', partitions => 3);
SELECT indextable.create('f_a', 'f', '{k}', include => '{v}', maintenance => 'async');
SELECT indextable.create('f_j', 'f', '{j::int}', maintenance => 'async');
SELECT indextable.create('f_r', 'f', '{n::int}', partition_by => 'RANGE (n)', partition_bounds => '{FROM (0) TO (3)}');
SELECT indextable.alter('f_r', include => '{k}', populate => false);
CREATE TABLE g (pk int, note text, doc jsonb, PRIMARY KEY (pk, note)) PARTITION BY LIST (note);
CREATE TABLE g_1 PARTITION OF g FOR VALUES IN ('n1');
CREATE TABLE g_rest PARTITION OF g DEFAULT;
INSERT INTO g SELECT pk, note, doc FROM f;
SELECT indextable.create('g_k', 'g', '{k}', partitions => 2);
SELECT indextable.create('g_a', 'g', '{v}', maintenance => 'async');
CREATE TABLE b (pk int PRIMARY KEY, doc jsonb);
INSERT INTO b SELECT g, d(g) FROM generate_series(1, 200) g;
SELECT indextable.create('b_k', 'b', '{k}', populate => false);
CREATE TABLE i (pk int PRIMARY KEY, doc jsonb);
SELECT indextable.create('i_k', 'i', '{k}');
ALTER TABLE i DISABLE TRIGGER USER;
INSERT INTO i SELECT g, d(g) FROM generate_series(1, 200) g;
CREATE VIEW all_drift AS
WITH u AS (SELECT doc ->> 'v', pk FROM f WHERE pk > 0), h AS (SELECT doc ->> 'k', pk FROM f), a AS (SELECT doc ->> 'k', pk, doc ->> 'v' FROM f),
	s AS (SELECT (doc ->> 'j')::int, pk FROM f WHERE doc ->> 'j' ~ '^\d+$'), r AS (SELECT (doc ->> 'n')::int, pk FROM f), gk AS (SELECT doc ->> 'k', pk, note FROM g),
	ga AS (SELECT doc ->> 'v', pk, note FROM g)
SELECT 'f_u', x::text FROM ((TABLE u EXCEPT ALL TABLE f_u) UNION ALL (TABLE f_u EXCEPT ALL TABLE u)) x
UNION ALL SELECT 'f_h', x::text FROM ((TABLE h EXCEPT ALL TABLE f_h) UNION ALL (TABLE f_h EXCEPT ALL TABLE h)) x
UNION ALL SELECT 'f_s', x::text FROM ((TABLE s EXCEPT ALL TABLE f_s) UNION ALL (TABLE f_s EXCEPT ALL TABLE s)) x
UNION ALL SELECT 'f_r', x::text FROM ((TABLE r EXCEPT ALL SELECT n, pk FROM f_r) UNION ALL (SELECT n, pk FROM f_r EXCEPT ALL TABLE r)) x
UNION ALL SELECT 'g_k', x::text FROM ((TABLE gk EXCEPT ALL TABLE g_k) UNION ALL (TABLE g_k EXCEPT ALL TABLE gk)) x
UNION ALL SELECT 'f_a', x::text FROM ((TABLE a EXCEPT ALL TABLE f_a) UNION ALL (TABLE f_a EXCEPT ALL TABLE a)) x
UNION ALL SELECT 'f_j', x::text FROM ((TABLE s EXCEPT ALL TABLE f_j) UNION ALL (TABLE f_j EXCEPT ALL TABLE s)) x
UNION ALL SELECT 'g_a', x::text FROM ((TABLE ga EXCEPT ALL TABLE g_a) UNION ALL (TABLE g_a EXCEPT ALL TABLE ga)) x;
SQL

# writes, some of which are skipped, and rejected
my $round = 0;

sub changes
{
	$round++;
	my $base = 10000 * $round;
	return (
		"INSERT INTO f SELECT g, d(g * 3), NULL FROM generate_series($base, $base + 30) g",
		"UPDATE f SET doc = d(pk + 10000000 * $round) WHERE pk % 3 = 0", q(UPDATE f SET doc = doc || '{"j": "none"}' WHERE pk IN (5, 7)),
		q(UPDATE f SET doc = doc || '{"j": 8}' WHERE pk IN (8, 5)), "UPDATE f SET pk = - pk - 1000000 * $round WHERE pk % 50 = 11", "DELETE FROM f WHERE pk % 40 = $round",
		"INSERT INTO g SELECT g, 'n' || g % 4, d(g * 3) FROM generate_series($base, $base + 30) g", "UPDATE g SET doc = d(pk + $round), note = 'n1' WHERE pk % 3 = 0",
		"BEGIN; INSERT INTO f VALUES (-$round, d(-$round), 'n2'); SAVEPOINT s; DELETE FROM f; ROLLBACK TO s; COMMIT",
		"UPDATE b SET doc = d(pk + $round)", "DELETE FROM i WHERE pk = $round");
}

# right DATABASE, NAME: what is queued is applied, and all index tables that are active equal their recompute
sub right
{
	my ($database, $name) = @_;
	$node->safe_psql($database, 'SELECT indextable.drain()');
	is($node->safe_psql($database, 'SELECT sum(backlog) FROM indextable.queues'), 0, "$name: nothing is queued");
	drift_free($node, "$name: index tables equal their recompute", $database);
	is($node->safe_psql($database, 'SET indextable.planner = off; TABLE all_drift'), '', "$name: so do the others");
	return;
}

sub make
{
	my ($database) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $database") if $database ne 'postgres';
	$node->safe_psql($database, fact_table() =~ s/EXTENSION indextable/EXTENSION indextable VERSION '1.1'/r . index_tables() . $make);
	$node->safe_psql($database, $_) for changes(), 'SELECT indextable.drain()';
	return;
}

# works DATABASE, NAME: what is not active is made so, one is created and altered, and all are right
sub works
{
	my ($database, $name) = @_;
	$node->safe_psql($database, q(CALL indextable.build('b_k'); CALL indextable.repair('i_k'); CALL indextable.rebuild('f_r'); SELECT indextable.create('f_n', 'f', '{n::int}', maintenance => 'async'); SELECT indextable.alter('f_n', 'transactional')));
	$node->safe_psql($database, $_) for changes();
	right($database, "$name: built, repaired, rebuilt, created, altered");
	is($node->safe_psql($database, q(SELECT index_table, state FROM indextable.index_tables WHERE state <> 'active')), '', "$name: all are active");
	is($node->safe_psql($database, q(SELECT i.index_table, v FROM indextable.index_tables i, indextable.verify(i.index_table) v WHERE v.kind <> 'rejected')), '', "$name: verify() finds nothing");
	like(($node->psql($database, 'DELETE FROM f_k'))[2], qr/cannot change index table "f_k"/, "$name: guards are there");
	like(($node->psql($database, 'ALTER TABLE f DROP COLUMN doc CASCADE'))[2], qr/ALTER action DROP COLUMN cannot be performed on table "f" because index tables depend on it/, "$name: so are event triggers");
	return;
}

# forgets DATABASE: whether verify() removes what is recorded of a row that was skipped and is gone
sub forgets
{
	my ($database) = @_;
	$node->safe_psql($database, q(CREATE TABLE m (pk int PRIMARY KEY, doc jsonb); SELECT indextable.create('m_k', 'm', '{k::int}', on_mismatch => 'skip'); INSERT INTO m VALUES (1, '{"k": "x"}')));
	$node->safe_psql($database, $_) for 'DELETE FROM m', q(SELECT indextable.verify('m'));
	my $left = $node->safe_psql($database, q(SELECT count(*) FROM indextable_internal.completeness WHERE index_table = 'm_k'::regclass AND fields <> 31));
	$node->safe_psql($database, 'DROP TABLE m');
	return $left == 0;
}

my $version = q(SELECT extversion FROM pg_extension WHERE extname = 'indextable');

# ---- the library with the catalog of 1.1

make('before');
is($node->safe_psql('before', $version), '1.1', 'a catalog of 1.1');
right('before', '1.1');
for my $sql (changes())
{
	$node->safe_psql('before', $sql);
	right('before', "1.1: $sql");
}
my $found = $node->safe_psql('before', q(SELECT count(*) FROM f WHERE doc ->> 'k' = 'k7'));
is($node->safe_psql('before', q(SELECT count(*) FROM indextable.lookup('f_k', '{"k": "k7"}'))), $found, '1.1: look-up');
is($node->safe_psql('before', q(SELECT count(document) FROM indextable.query('f_k', '{"k": "k7"}', with_document => true))), $found, '1.1: query()');
is($node->safe_psql('before', q(SELECT count(*) FROM indextable.index_tables)), $node->safe_psql('before', 'SELECT count(*) FROM indextable_internal.definition WHERE replaces IS NULL'), '1.1: the view index_tables');
is($node->safe_psql('before', "SELECT count(*) >= 0 FROM indextable.$_"), 't', "1.1: the view $_") for split /\n/,
	$node->safe_psql('before', q(SELECT viewname FROM pg_views WHERE schemaname = 'indextable'));
for my $sql (q(SELECT indextable.advise('f', '{k}')), q(SELECT indextable.advise('f')), q(SELECT indextable.profile('f', '{k}')))
{
	my (undef, undef, $err) = $node->psql('before', $sql);
	like($err, qr/the library and the catalog of indextable are of different versions\nHINT:  Run ALTER EXTENSION indextable UPDATE;/, "1.1: refused: $sql");
}
like($node->safe_psql('before', q(SELECT indextable.explain($$SELECT * FROM f WHERE doc ->> 'k' = 'k7'$$))), qr/f_k/, '1.1: explain()');
is($node->safe_psql('before', q(SELECT indextable.reset_stats('f_k'), indextable.start_workers(), indextable.stop_workers() >= 0)), '||t', '1.1: other functions');
works('before', '1.1');
ok(!forgets('before'), '1.1: verify() removes no record, since sessions with the library of 1.1 would not notice');
$node->safe_psql('before', q(DROP VIEW drift, all_drift; SELECT indextable.drop('f_n'); DROP TABLE f_s; DROP TABLE f, g));
is($node->safe_psql('before', q(SELECT string_agg(index_table::text, ' ' ORDER BY index_table::text) FROM indextable.index_tables)), 'b_k i_k', '1.1: drop(), and DROP TABLE');
is($node->safe_psql('before', q(SELECT count(*) FROM pg_class WHERE relname ~ '^(queue|rebuild)_')), 0, '1.1: nothing is left of them');

# ---- the update

make('postgres');
$node->safe_psql('postgres', $_) for changes();    # and they are queued
my $dump = PostgreSQL::Test::Utils::tempdir . '/dump';
$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ], 'a dump of 1.1');

my %carried = map { $_ => "SELECT x FROM indextable_internal.$_ x ORDER BY x::text" } qw(fact definition skipped rejection build checked counted completeness);
$carried{fact} = q(SELECT replace(x::text, 'indextable_queues.', 'indextable_internal.') FROM indextable_internal.fact x ORDER BY 1);
$carried{definition} = q(SELECT to_jsonb(x) - 'sparse' FROM indextable_internal.definition x ORDER BY x.index_table::text);
$carried{triggers} = q(SELECT tgrelid::regclass, tgname, tgenabled, tgfoid::oid FROM pg_trigger WHERE NOT tgisinternal AND tgname NOT LIKE 'guard%' ORDER BY tgrelid::regclass::text, tgname);
$carried{queued} = 'SELECT fact_table, backlog FROM indextable.queues ORDER BY fact_table::text';
my %before = map { $_ => $node->safe_psql('postgres', $carried{$_}) } keys %carried;
isnt($before{$_}, q(), "before: $_") for grep { !/build|checked/ } sort keys %carried;
cmp_ok($node->safe_psql('postgres', 'SELECT sum(backlog) FROM indextable.queues'), '>', 100, 'before: changes are queued');
is($node->safe_psql('postgres', q(SELECT string_agg(DISTINCT state, ' ' ORDER BY state) FROM indextable.index_tables)), 'active building invalid', 'before: index tables in all states');

# The library of 1.1 makes queue tables without guards.
$node->safe_psql('postgres', $_) for map { ("DROP TRIGGER guard ON $_", "DROP TRIGGER guard_truncate ON $_") }
	split /\n/, $node->safe_psql('postgres', q(SELECT oid::regclass FROM pg_class WHERE relnamespace = 'indextable_internal'::regnamespace AND relname LIKE 'queue\_%' AND relkind = 'r'));
my $unguarded = q(SELECT oid::regclass FROM pg_class c WHERE relnamespace::regnamespace::text IN ('indextable_internal', 'indextable_queues') AND relkind = 'r' AND relname NOT LIKE 'rebuild\_%'
	AND 2 <> (SELECT count(*) FROM pg_trigger WHERE tgrelid = c.oid AND tgenabled = 'A' AND tgname IN ('guard', 'guard_truncate')));
cmp_ok(scalar(split /\n/, $node->safe_psql('postgres', $unguarded)), '>', 10, 'neither the catalog nor queue tables have guards');

# Nor does it keep ANALYZE from their keys. A table that has numbers is one of Citus.
my $analyzed = q(SELECT attrelid::regclass, attname FROM pg_attribute a WHERE attname LIKE 'key_' AND attstattarget IS DISTINCT FROM 0
	AND (SELECT relnamespace::regnamespace::text IN ('indextable_internal', 'indextable_queues') AND relkind = 'r' FROM pg_class c WHERE c.oid = attrelid));
is($node->safe_psql('postgres', $analyzed), '', 'ANALYZE leaves out keys in queue tables');
$node->safe_psql('postgres', "ALTER TABLE $_ SET STATISTICS -1") for map { s/\|/ ALTER /r }
	split /\n/, $node->safe_psql('postgres', $analyzed =~ s/ IS DISTINCT FROM / = /r);
$node->safe_psql('postgres', 'CREATE TABLE indextable_internal.queue_1_1 (changed_at timestamptz, key1 int, number int8)');
cmp_ok(scalar(split /\n/, $node->safe_psql('postgres', $analyzed)), '>', 4, 'those of 1.1 are analyzed');

$node->safe_psql('postgres', 'CREATE VIEW held AS SELECT FROM ' . $node->safe_psql('postgres', q(SELECT oid::regclass FROM pg_class WHERE relname LIKE 'queue\_%' AND relname <> 'queue_1_1' AND relkind = 'r' LIMIT 1)));
my $warned = ($node->psql('postgres', 'ALTER EXTENSION indextable UPDATE'))[2];
like($warned, qr/WARNING:  rule _RETURN on view public\.held depends on queue table indextable_queues\.queue_/, 'the update tells of what has been made on queue tables');
is(() = $warned =~ /depends on queue table/g, 1, 'and of nothing else');
$node->safe_psql('postgres', 'DROP VIEW held');
is($node->safe_psql('postgres', q(SELECT DISTINCT relnamespace::regnamespace FROM pg_class WHERE relname LIKE 'queue\_%' AND relkind = 'r' ORDER BY 1)), "indextable_internal\nindextable_queues",
	'queue tables are where nobody else can name them, but for that with numbers');
$node->safe_psql('postgres', 'ALTER TABLE indextable_internal.queue_1_1 RENAME TO numbers');
is($node->safe_psql('postgres', $unguarded), 'indextable_internal.numbers', 'all of them have guards after the update');
is($node->safe_psql('postgres', $analyzed), '', 'and are not analyzed');
$node->safe_psql('postgres', 'DROP TABLE indextable_internal.numbers');
is($node->safe_psql('postgres', $version), '1.2', 'updated');
is($node->safe_psql('postgres', $carried{$_}), $before{$_}, "carried over: $_") for sort keys %carried;
is($node->safe_psql('postgres', 'SELECT bool_and(sparse) FROM indextable_internal.definition'), 't', 'index tables of 1.1 are sparse');

$node->safe_psql('postgres', 'CREATE DATABASE anew');
$node->safe_psql('anew', q(CREATE EXTENSION indextable VERSION '1.2'));
$node->safe_psql('postgres', 'CREATE DATABASE updated');
$node->safe_psql('updated', q(CREATE EXTENSION indextable VERSION '1.1'; ALTER EXTENSION indextable UPDATE));
cmp_ok(scalar @{ catalog('anew') }, '>', 500, 'what there is to compare');
is_deeply(catalog('updated'), catalog('anew'), 'the same catalog as that of a new installation');
my $members = q(SELECT pg_describe_object(classid, objid, objsubid) FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'indextable') ORDER BY 1);
is($node->safe_psql('postgres', $members), $node->safe_psql('anew', $members), 'with index tables: the same members');

right('postgres', 'updated');
for my $sql (changes())
{
	$node->safe_psql('postgres', $sql);
	right('postgres', "updated: $sql");
}
works('postgres', 'updated');
ok(forgets('postgres'), 'updated: verify() removes records');

# ---- a dump of 1.1

$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-f', $dump, '-d', $node->connstr('restored') ], 'the dump is restored');
is($node->safe_psql('restored', $version), '1.2', 'as the new version');
cmp_ok($node->safe_psql('restored', 'SELECT sum(backlog) FROM indextable.queues'), '>', 100, 'with what was queued');
right('restored', 'restored');
works('restored', 'restored');

$node->stop;
done_testing();
