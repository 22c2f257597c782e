# Version 1.0, as it is on people's servers: this library works with its catalog; ALTER EXTENSION UPDATE makes of that the
# one of a new installation, and carries over index tables of every kind, queues, rejected rows and counters, amid
# sessions that go on; a dump of it is restored into a catalog of its version.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('update_1_0', 'wal_level = replica');

# everything there is in the catalogs of the server about the extension, without OIDs
my $catalog = <<'SQL';
WITH namespaces AS (SELECT oid, nspname FROM pg_namespace WHERE nspname IN ('indextable', 'indextable_internal')),
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
UNION ALL SELECT concat_ws(' | ', 'function', nspname, to_jsonb(f) - '{oid,pronamespace,nspname,proowner,prosqlbody,proargdefaults}'::text[], proowner::regrole, pg_get_functiondef(oid), obj_description(oid, 'pg_proc')) FROM functions f
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
	$node->safe_psql($database, fact_table() =~ s/EXTENSION indextable/EXTENSION indextable VERSION '1.0'/r . index_tables() . $make);
	$node->safe_psql($database, $_) for changes(), 'SELECT indextable.drain()';
	return;
}

# ---- the library with the catalog of 1.0

make('before');
my $version = q(SELECT extversion, to_regnamespace('indextable_internal') FROM pg_extension WHERE extname = 'indextable');
is($node->safe_psql('before', $version), '1.0|', 'a catalog of 1.0');
right('before', '1.0');
for my $sql (changes())
{
	$node->safe_psql('before', $sql);
	right('before', "1.0: $sql");
}
is($node->safe_psql('before', q(SELECT count(*) FROM indextable.lookup('f_k', '{"k": "k7"}'))), $node->safe_psql('before', q(SELECT count(*) FROM f WHERE doc ->> 'k' = 'k7')), '1.0: look-up');
is($node->safe_psql('before', q(SELECT count(document) FROM indextable.query('f_k', '{"k": "k7"}', document => true))), $node->safe_psql('before', q(SELECT count(*) FROM f WHERE doc ->> 'k' = 'k7')), '1.0: query()');
is($node->safe_psql('before', "SELECT count(*) FROM indextable.$_"), $node->safe_psql('before', 'SELECT count(*) FROM indextable.definition WHERE replaces IS NULL'), "1.0: the view $_") for 'index_tables', 'usage';
is($node->safe_psql('before', "SELECT count(*) >= 0 FROM indextable.$_"), 't', "1.0: the view $_") for 'unused', 'distribution', 'queues', 'progress', 'rejected', 'checks';
is($node->safe_psql('before', q(SELECT indextable.bar(0.5, 4) <> '', indextable.start_workers(), indextable.reset_usage('f_k'), indextable.stop_workers() >= 0)), 't|||t', '1.0: other functions');
is($node->safe_psql('before', q(SELECT index_table, skipped FROM indextable.index_tables WHERE skipped > 0)), $node->safe_psql('before', q(SELECT index_table, sum(entries) FROM indextable.skipped GROUP BY 1)), '1.0: entries are skipped');
isnt($node->safe_psql('before', 'SELECT primary_key FROM indextable.rejected'), '', '1.0: rows are rejected');
$node->safe_psql('before', q(CALL indextable.build('b_k'); CALL indextable.repair('i_k'); CALL indextable.rebuild('f_r'); SELECT indextable.create('f_n', 'f', '{n::int}', maintenance => 'async'); SELECT indextable.alter('f_n', 'transactional')));
$node->safe_psql('before', $_) for changes();
right('before', '1.0: built, repaired, rebuilt, created, altered');
is($node->safe_psql('before', q(SELECT index_table, state FROM indextable.index_tables WHERE state <> 'active')), '', '1.0: all are active');
is($node->safe_psql('before', q(SELECT i.index_table, v FROM indextable.index_tables i, indextable.verify(i.index_table) v WHERE v.kind <> 'rejected')), '', '1.0: verify() finds nothing');
$node->safe_psql('before', q(DROP VIEW drift, all_drift; SELECT indextable.drop('f_n'); DROP TABLE f_s; DROP TABLE f, g));
is($node->safe_psql('before', q(SELECT string_agg(index_table::text, ' ' ORDER BY index_table::text) FROM indextable.index_tables)), 'b_k i_k', '1.0: drop(), and DROP TABLE');
is($node->safe_psql('before', q(SELECT count(*) FROM pg_class WHERE relname ~ '^(queue|rebuild)_')), 0, '1.0: nothing is left of them');

# What others have made in the schema of the extension is not taken for the server's own by the views of 1.2.
$node->safe_psql('before', <<'SQL');
CREATE FUNCTION indextable.same(regclass, regclass) RETURNS boolean IMMUTABLE LANGUAGE sql RETURN $1::oid = $2::oid;
CREATE OPERATOR indextable.= (FUNCTION = indextable.same, LEFTARG = regclass, RIGHTARG = regclass);
DO $$ BEGIN
	EXECUTE 'CREATE OR REPLACE VIEW indextable.rejected WITH (security_barrier) AS ' ||
		replace(pg_get_viewdef('indextable.rejected'), '(d.index_table)::oid = (r.index_table)::oid', 'd.index_table OPERATOR(indextable.=) r.index_table');
END $$;
GRANT SELECT ON indextable.rejected TO pg_monitor;
SQL
my $captured = q(SELECT count(*) FROM pg_views WHERE schemaname = 'indextable' AND definition ~ 'indextable\.=');
is($node->safe_psql('before', $captured), 1, 'a view of 1.0 has an operator of others');
like(($node->psql('before', 'BEGIN ISOLATION LEVEL REPEATABLE READ; ALTER EXTENSION indextable UPDATE'))[2], qr/at isolation level READ COMMITTED only/, 'an old snapshot: no update');
$node->safe_psql('before', 'CREATE ROLE bob; ALTER SCHEMA indextable OWNER TO bob');
like(($node->psql('before', 'ALTER EXTENSION indextable UPDATE'))[2], qr/schema indextable is owned by role bob, which is not a superuser/, 'a schema of others: no update');
$node->safe_psql('before', <<'SQL');
ALTER SCHEMA indextable OWNER TO CURRENT_USER;
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO bob;
ALTER DEFAULT PRIVILEGES GRANT ALL ON SEQUENCES TO bob;
ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO bob;
GRANT SELECT, DELETE ON indextable.fact TO bob;
ALTER EXTENSION indextable UPDATE;
SQL
is($node->safe_psql('before', <<'SQL'), 'SELECT on fact, f, f', 'default privileges do not open the catalog to writers');
SELECT concat_ws(', ', string_agg(privilege_type || ' on ' || relname, ' ' ORDER BY relname) FILTER (WHERE relname = 'fact'),
	bool_or(privilege_type NOT IN ('SELECT', 'MAINTAIN')), has_schema_privilege('bob', 'indextable_internal', 'CREATE'))
FROM pg_class, aclexplode(relacl) a WHERE relnamespace = 'indextable_internal'::regnamespace AND grantee = 'bob'::regrole AND relname !~ '^queue_';
SQL
is($node->safe_psql('before', $captured), 0, 'updated: no operators of others');
is($node->safe_psql('before', q(SELECT has_table_privilege('pg_monitor', 'indextable.rejected', 'SELECT'))), 't', 'grants stay');
is($node->safe_psql('before', $version), '1.2|indextable_internal', 'and updated it is');

# ---- the update

make('postgres');
$node->safe_psql('postgres', $_) for changes();    # and they are queued
my $dump = PostgreSQL::Test::Utils::tempdir . '/dump';
$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ], 'a dump of 1.0');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dump.custom", $node->connstr('postgres') ], 'and another');

my %carried = map { $_ => "SET search_path = public, indextable, indextable_internal; SELECT md5(string_agg(x::text, E'\\n' ORDER BY x::text COLLATE \"C\")), count(*) FROM SCHEMA.$_ x" } qw(definition skipped rejection build checked counted);
$carried{fact} = 'SELECT fact_table::oid, queue::oid, spare::oid FROM SCHEMA.fact ORDER BY 1';
$carried{triggers} = 'SET search_path = public, indextable, indextable_internal; SELECT tgrelid::regclass, tgname, tgenabled, tgfoid::oid FROM pg_trigger WHERE NOT tgisinternal ORDER BY tgrelid::regclass::text, tgname';
$carried{queued} = 'SELECT fact_table, backlog FROM indextable.queues ORDER BY fact_table::text';
$carried{replacement} = 'SELECT index_table::oid, replaces FROM SCHEMA.definition WHERE replaces IS NOT NULL';

sub carried
{
	my ($schema) = @_;
	return { map { $_ => $node->safe_psql('postgres', $carried{$_} =~ s/SCHEMA/$schema/gr) } keys %carried };
}

my $before = carried('indextable');
isnt($before->{$_}, '', "before: $_") for 'definition', 'skipped', 'rejection', 'fact', 'replacement';
cmp_ok($node->safe_psql('postgres', 'SELECT sum(backlog) FROM indextable.queues'), '>', 100, 'before: changes are queued');
is($node->safe_psql('postgres', q(SELECT string_agg(DISTINCT state, ' ' ORDER BY state) FROM indextable.index_tables)), 'active building invalid', 'before: index tables in all states');

# What a user has made of it has to go first.
$node->safe_psql('postgres', 'CREATE VIEW mine AS SELECT index_table, state FROM indextable.index_tables');
my $as_it_was = catalog('postgres');
like(($node->psql('postgres', 'ALTER EXTENSION indextable UPDATE'))[2], qr/cannot drop view indextable.index_tables because other objects depend on it\n.*view public.mine depends on view indextable.index_tables/, 'a view of the user: refused');
is_deeply(catalog('postgres'), $as_it_was, '... and all is as it was');
$node->safe_psql('postgres', 'DROP VIEW mine');
$node->safe_psql('postgres', 'CREATE SCHEMA indextable_internal');
like(($node->psql('postgres', 'ALTER EXTENSION indextable UPDATE'))[2], qr/schema "indextable_internal" already exists/, 'so is a schema of the user');
# ... which nobody takes for the extension's
$node->safe_psql('postgres', 'CREATE TABLE indextable_internal.definition AS TABLE indextable.definition WITH NO DATA; CREATE TABLE indextable_internal.fact (LIKE indextable.fact); UPDATE f SET doc = d(7700000) WHERE pk = 9');
drift_free($node, '... which is no catalog');
$node->safe_psql('postgres', 'DROP SCHEMA indextable_internal CASCADE');
$node->safe_psql('postgres', 'CREATE TABLE late (pk int PRIMARY KEY, doc jsonb); INSERT INTO late SELECT g, d(g) FROM generate_series(1, 20) g');
$node->safe_psql('postgres', q(SELECT indextable.create('late_s', 'late', '{j::int}', on_mismatch => 'skip')));
$before = carried('indextable');

# Sessions that have definitions and plans cached; one with a transaction that has written, another with an old snapshot.
my ($cached, $open, $snapshot, $updates) = map { session($node) } 1 .. 4;
for ($cached, $open, $snapshot)
{
	$_->query(q(PREPARE look AS SELECT count(*) FROM indextable.lookup('f_k', '{"k": "k7"}')));
	$_->query(q(PREPARE page AS SELECT count(*) FROM indextable.index_tables));
	$_->query(q(PREPARE put (int, int) AS INSERT INTO f VALUES ($1, d($2), 'put') ON CONFLICT (pk) DO UPDATE SET doc = excluded.doc));
	is($_->query("EXECUTE put (-1000, 7); DELETE FROM f WHERE pk = -1000"), '', 'a session writes');
	$_->query('EXECUTE look');
}
$snapshot->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM f');
is($open->query(q(BEGIN; EXECUTE put (-1001, 7); UPDATE f SET doc = doc || '{"j": "skipped"}' WHERE pk = 10; SAVEPOINT s)), '', 'a transaction has written to the queue, and skipped an entry');

# It waits for that transaction, which asks for more all the while, and nobody waits for it.
$updates->start('ALTER EXTENSION indextable UPDATE');
ok(becomes_true($node, q(SELECT count(*) > 0 FROM pg_stat_activity WHERE query ~ '^ALTER EXTENSION' AND state = 'active')), 'the update has begun');
for my $again (1 .. 5)
{
	is($open->query(qq(UPDATE late SET doc = doc || '{"j": "skipped"}' WHERE pk = $again; SELECT count(*) > 0 FROM indextable.index_tables)), 't', 'the transaction goes on');
	is($cached->query("EXECUTE put (-2000 - $again, 57)"), '', 'so do others');
	is($cached->query("UPDATE late SET doc = d(pk) WHERE pk = 10 + $again"), '', 'with another table');
	$node->safe_psql('postgres', 'SELECT pg_sleep(0.1)');
}
is($node->safe_psql('postgres', $version), '1.0|', 'there is no update yet');
is($open->query('COMMIT'), '', 'it commits');
is($updates->answer, '', 'updated');
is($node->safe_psql('postgres', $version), '1.2|indextable_internal', 'it is the catalog of 1.2');

# ---- the same catalog as that of a new installation

$node->safe_psql('postgres', 'CREATE DATABASE anew');
$node->safe_psql('anew', q(CREATE EXTENSION indextable VERSION '1.2'));
$node->safe_psql('postgres', 'CREATE DATABASE updated');
$node->safe_psql('updated', q(CREATE EXTENSION indextable VERSION '1.0'; ALTER EXTENSION indextable UPDATE));
cmp_ok(scalar @{ catalog('anew') }, '>', 500, 'what there is to compare');
is_deeply(catalog('updated'), catalog('anew'), 'updated: the same as a new installation');
my $members = q(SELECT pg_describe_object(classid, objid, objsubid) FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'indextable') ORDER BY 1);
is($node->safe_psql('postgres', $members), $node->safe_psql('anew', $members), 'with index tables: the same members');
my $config = q(SELECT extconfig::regclass[], extcondition FROM pg_extension WHERE extname = 'indextable');
is($node->safe_psql('postgres', $config), $node->safe_psql('anew', $config), 'and the same tables are dumped');
is($node->safe_psql('postgres', q(SELECT relname FROM pg_class WHERE relnamespace = 'indextable'::regnamespace AND relkind <> 'v')), '', 'queues and what is rebuilt have moved, too');

# ---- what was there is there, and goes on

my $after = carried('indextable_internal');
is($after->{$_}, $before->{$_}, "carried over: $_") for grep { !/skipped|queued/ } sort keys %carried;
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_trigger WHERE tgname ~ $$^indextable_$$ AND tgfoid::regproc::text !~ $$^indextable_internal\.$$'), 0, 'triggers call what they called, where it is now');
is($node->safe_psql('postgres', q(SELECT count(*) FROM indextable.rejected WHERE attempts > 0)), (split /\|/, $before->{rejection})[1], 'carried over: rejected rows');
cmp_ok($node->safe_psql('postgres', q(SELECT skipped FROM indextable.index_table_stats WHERE index_table = 'f_s'::regclass)), '>', 1, 'carried over: skipped entries');
cmp_ok($node->safe_psql('postgres', 'SELECT sum(backlog) FROM indextable.queues'), '>', 100, 'carried over: what is queued');

is($snapshot->query(q(EXECUTE put (-1005, 7); COMMIT)), '', 'a transaction with an old snapshot writes');
is($_->query('EXECUTE put (-1002, 57); UPDATE f SET doc = d(8800000 + pk) WHERE pk BETWEEN 3 AND 9; DELETE FROM f WHERE pk = -1002; UPDATE late SET doc = d(pk + 1)'), '', 'sessions from before write') for $cached, $open, $snapshot;
my $found = $node->safe_psql('postgres', q(SELECT count(*) FROM f WHERE doc ->> 'k' = 'k7'));
is($_->query('EXECUTE look'), $found, 'and look up') for $cached, $open, $snapshot;
like($_->query('EXECUTE page'), qr/^\d+$/, 'and see the view') for $cached;
right('postgres', 'updated');
for my $sql (changes())
{
	is($cached->query($sql), '', "a session from before: $sql");
	right('postgres', "updated: $sql");
}
$node->safe_psql('postgres', q(CALL indextable.build('b_k'); CALL indextable.repair('i_k'); CALL indextable.rebuild('f_r'); SELECT indextable.create('f_n', 'f', '{n::int}', maintenance => 'async')));
is($cached->query($_), '', 'and once more') for changes();
right('postgres', 'built, repaired, rebuilt, created');
is($node->safe_psql('postgres', q(SELECT index_table, state FROM indextable.index_tables WHERE state <> 'active')), '', 'all are active');
is($node->safe_psql('postgres', q(SELECT i.index_table, v FROM indextable.index_tables i, indextable.verify(i.index_table) v WHERE v.kind <> 'rejected')), '', 'verify() finds nothing');
like(($node->psql('postgres', 'DELETE FROM f_k'))[2], qr/cannot change index table "f_k"/, 'guards stay');
like(($node->psql('postgres', 'ALTER TABLE f DROP COLUMN doc CASCADE'))[2], qr/ALTER action DROP COLUMN cannot be performed on table "f" because index tables depend on it/, 'so do event triggers');

# ---- dumps of 1.0

for my $name ('plain', 'custom')
{
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, q(CREATE EXTENSION indextable VERSION '1.0'));
	if ($name eq 'plain')
	{
		my $sql = slurp_file($dump);
		ok($sql =~ s/^CREATE SCHEMA indextable;\n//m, 'the schema is there');
		append_to_file("$dump.without", $sql);
		$node->command_ok([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-f', "$dump.without", '-d', $node->connstr($name) ], "$name: restored");
	}
	else
	{
		my ($list) = run_command([ 'pg_restore', '-l', "$dump.custom" ]);
		append_to_file("$dump.list", join '', map { "$_\n" } grep { !/ SCHEMA - indextable / } split /\n/, $list);
		$node->command_ok([ 'pg_restore', '--exit-on-error', '-L', "$dump.list", '-d', $node->connstr($name), "$dump.custom" ], "$name: restored");
	}
	is($node->safe_psql($name, $version), '1.0|', "$name: a catalog of 1.0");
	cmp_ok($node->safe_psql($name, 'SELECT sum(backlog) FROM indextable.queues'), '>', 100, "$name: changes are queued");
	$node->safe_psql($name, 'ALTER EXTENSION indextable UPDATE');
	is($node->safe_psql($name, $members), $node->safe_psql('anew', $members), "$name: updated");
	right($name, "$name: updated");
	$node->safe_psql($name, $_) for changes();
	right($name, "$name: written");
	$node->safe_psql($name, q(CALL indextable.build('b_k'); CALL indextable.repair('i_k'); CALL indextable.rebuild('f_r')));
	is($node->safe_psql($name, q(SELECT i.index_table, v FROM indextable.index_tables i, indextable.verify(i.index_table) v WHERE v.kind <> 'rejected')), '', "$name: verify() finds nothing");
}

$_->finish for $cached, $open, $snapshot, $updates;
$node->stop;

# ---- a server that still has the library of 1.0 loaded: one without what that lacks

SKIP:
{
	my $old = new_server('old');
	my ($setting, $installed, $share) = install_root($old);
	skip 'the server looks for extensions in one place only', 3 if !$setting;
	my $root = PostgreSQL::Test::Utils::tempdir . '/root';
	system('cp', '-R', $installed, $root) == 0 or die 'no copy';
	chomp(my $libraries = `pg_config --pkglibdir`);
	my $library = slurp_file("$root$libraries/indextable.so") =~ s/indextable_reset_stats/indextable_not_in_1_0_/gr;
	unlink "$root$libraries/indextable.so";
	append_to_file("$root$libraries/indextable.so", $library);
	$old->append_conf('postgresql.conf', $setting eq 'extension_destdir' ? "$setting = '$root'" : "$setting = '$root$share:\$system'\ndynamic_library_path = '$root$libraries:\$libdir'");
	$old->reload;
	ok(becomes_true($old, "SELECT current_setting('$setting') LIKE '$root%'"), 'the server has that library');
	$old->safe_psql('postgres', q(CREATE EXTENSION indextable VERSION '1.0'));
	like(($old->psql('postgres', 'ALTER EXTENSION indextable UPDATE'))[2], qr/the library of indextable that is loaded is of version 1.0\n.*Restart the server/, 'the library of 1.0: no update');
	is($old->safe_psql('postgres', $version), '1.0|', '... and all is as it was');
	$old->stop;
}
done_testing();
