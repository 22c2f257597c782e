# A managed service: nothing is preloaded, and a role that is no superuser, and has no right but CREATE on the database,
# installs the extension and does all that docs/managed.md says; and it gets nothing by that which it should not have.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('managed');
my $page = slurp_file("$FindBin::RealBin/../../docs/managed.md");
my $dump = PostgreSQL::Test::Utils::tempdir() . '/app.sql';

sub super { return $node->safe_psql($_[0], $_[1]); }

# As the role app, or as another: what the session says, errors included.
sub as
{
	my ($role, $database, $sql) = @_;
	my ($stdout, $stderr) = ('', '');
	$node->psql($database, $sql, stdout => \$stdout, stderr => \$stderr, on_error_stop => 0, extra_params => [ '-U', $role ]);
	return "$stdout$stderr";
}
sub app { return as('app', @_); }

my $installed = "SELECT extowner::regrole FROM pg_extension WHERE extname = 'indextable'";

super('postgres', $_) for ('CREATE ROLE app LOGIN', 'CREATE ROLE other LOGIN', 'CREATE DATABASE app', 'CREATE DATABASE hostile', 'CREATE DATABASE new');
super('postgres', "GRANT CREATE ON DATABASE $_ TO app") for qw(app hostile new);

# ---- what the page shows, as it shows it

my @blocks = $page =~ /((?:^<!-- not run: [^\n]*\n)?^```sql\n.*?^```\n)/gms;
my $script = join "\n", map { /^<!--/ ? () : /^```sql\n(.*?)^```/ms } @blocks;
ok(@blocks > 5, 'the page has SQL');
my $said = app('app', $script);
unlike($said, qr/ERROR|FATAL/, 'an ordinary role can run it');
like($said, qr/Custom Scan \(IndexTable\) on customer/, 'the planner knows index tables after the call that loads the library');
like($said, qr/^99$/m, 'drain() applies what no worker does');
is(super('app', $installed), 'app', 'the extension is its own');
is(super('app', <<'SQL'), 'f', 'but nothing of it');
SELECT bool_or(owner <> 10) FROM (SELECT nspowner FROM pg_namespace WHERE nspname LIKE 'indextable%' UNION ALL SELECT evtowner FROM pg_event_trigger
UNION ALL SELECT relowner FROM pg_class WHERE relnamespace::regnamespace::text LIKE 'indextable%' UNION ALL SELECT proowner FROM pg_proc WHERE pronamespace::regnamespace::text LIKE 'indextable%') o (owner)
SQL

# ---- verify() removes a record of rows without entries also where it loads the library

my $recorded = q(SELECT count(*) FROM indextable_internal.completeness WHERE index_table = 'shop.lacks_k'::regclass AND fields <> 31);
app('app', q(CREATE TABLE shop.lacks (id int PRIMARY KEY, doc jsonb); SELECT indextable.create('lacks_k', 'shop.lacks', '{k::int}', on_mismatch => 'skip'); INSERT INTO shop.lacks VALUES (1, '{"k": "x"}'); DELETE FROM shop.lacks));
is(super('app', $recorded), 1, 'a row without an entry is recorded');
app('app', q(SELECT indextable.verify('shop.lacks_k')));
is(super('app', $recorded), 0, 'until there is none');
app('app', 'DROP TABLE shop.lacks');

# ---- every other function, and DDL

unlike(app('app', <<'SQL'), qr/ERROR/, 'everything else that an owner does');
SET search_path = shop;
SELECT indextable.create('ix.c_unique', 'customer', '{age::int, @id}', is_unique => true);
SELECT indextable.create('ix.c_parts', 'customer', '{tags[*]}', partitions => 3);
SELECT indextable.create('ix.c_filter', 'customer', '{town}', filter => $$(doc ->> 'age')::int > 50$$);
SELECT indextable.create('ix.c_built', 'customer', '{town}', strategy => 'denormalized', populate => false);
CALL indextable.build('ix.c_built');
CALL indextable.rebuild('ix.c_parts');
SELECT indextable.alter('ix.c_built', maintenance => 'async');
SELECT indextable.alter('ix.c_parts', partitions => 2);
SELECT indextable.alter('ix.c_filter', filter => '', populate => false);
CALL indextable.rebuild('ix.c_filter');
CALL indextable.rebuild('ix.customer_by_age');
SELECT indextable.drain('customer'), indextable.wait('ix.customer_by_age');
SELECT count(*) FROM indextable.lookup('ix.c_parts', '{"tags": "a"}');
SELECT count(*) FROM indextable.lookup(NULL::customer, 'ix.c_built', '{"town": "town 7"}');
SELECT count(*) FROM indextable.query('ix.c_unique', with_document => true);
SELECT count(*) FROM indextable.advise('customer', '{town}');
SELECT count(verdict) FROM indextable.profile('customer', '{town}', filter => 'id > 5');
SELECT indextable.reset_stats('ix.c_unique');
SELECT count(*) FROM indextable.workers();
SELECT count(*) FROM indextable.index_table_stats;
SELECT count(*) FROM indextable.queues;
TABLE indextable.progress; TABLE indextable.rejected; TABLE indextable.checks;
SELECT count(*) FROM indextable.distribution;
CREATE TABLE feed (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create_feed('feed');
SELECT indextable.drop_feed('feed');
ALTER TABLE customer DISABLE TRIGGER ALL;
CALL indextable.repair('ix.c_unique');
CALL indextable.repair('ix.c_parts');
CREATE TABLE p (id int, doc jsonb, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p2 (LIKE p INCLUDING ALL);
SELECT indextable.create('ix.p_k', 'p', '{k}', is_unique => true);
INSERT INTO p VALUES (1, '{"k": 1}');
INSERT INTO p2 VALUES (11, '{"k": 2}');
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (10) TO (20);
ALTER TABLE p DETACH PARTITION p1 CONCURRENTLY;
DROP TABLE p1;
ALTER TABLE ix.p_k RENAME TO p_key;
ALTER TABLE p RENAME COLUMN doc TO document;
VACUUM FULL ix.p_key;
REINDEX TABLE ix.p_key;
TRUNCATE p;
SELECT indextable.drop('ix.c_filter');
DROP TABLE p, ix.c_built;
SQL
is(app('app', <<'SQL'), '', 'index tables are in step');
SET indextable.planner = off;
CALL indextable.repair('ix.customer_by_age', NULL, NULL, NULL, NULL, NULL) \g /dev/null
SELECT indextable.drain() \g /dev/null
TABLE ix.c_parts EXCEPT ALL SELECT e, id, count(*)::int FROM shop.customer, jsonb_array_elements_text(doc -> 'tags') e GROUP BY 1, 2;
SELECT e, id, count(*)::int FROM shop.customer, jsonb_array_elements_text(doc -> 'tags') e GROUP BY 1, 2 EXCEPT ALL TABLE ix.c_parts;
TABLE ix.customer_by_age EXCEPT ALL SELECT (doc ->> 'age')::int, id FROM shop.customer;
SELECT (doc ->> 'age')::int, id FROM shop.customer EXCEPT ALL TABLE ix.customer_by_age;
SQL

# ---- rights that are missing, and what the messages say of them

like(app('app', 'SELECT indextable.start_workers()'), qr/permission denied for function start_workers/, 'workers are for who was granted them');
super('app', 'CREATE SCHEMA closed; GRANT USAGE ON SCHEMA closed TO app');
like(app('app', q(SELECT indextable.create('closed.x', 'shop.customer', '{town}'))),
	qr/permission denied for schema closed.*HINT:.*GRANT CREATE ON SCHEMA closed TO app;/s, 'no CREATE on the schema: what to grant');
super('app', 'ALTER SCHEMA ix OWNER TO postgres');
super('app', 'GRANT USAGE ON SCHEMA ix TO app');
unlike(app('app', <<'SQL'), qr/ERROR/, 'what there is can be changed without it');
CALL indextable.rebuild('ix.customer_by_town');
SELECT indextable.alter('ix.customer_by_town', strategy => 'denormalized');
SELECT indextable.alter('ix.c_parts', partitions => 3);
CALL indextable.repair('ix.customer_by_town');
SQL
super('app', 'ALTER SCHEMA ix OWNER TO app');
like(app('app', q(SELECT FROM indextable.explain('SELECT FROM shop.customer'))), qr/HINT:  Have each new session run SELECT FROM indextable\.explain\(NULL\)/, 'how to load the library without rights');
is(() = app('app', q(SELECT FROM indextable.explain('SELECT FROM shop.customer')) . ' \\; ' . q(SELECT FROM indextable.explain('SELECT FROM shop.customer'))) =~ /NOTICE/g, 1, 'once a session');
super('app', 'GRANT SET ON PARAMETER session_preload_libraries TO app; ALTER DATABASE app OWNER TO app');
like(app('app', q(SELECT FROM indextable.explain('SELECT FROM shop.customer'))), qr/HINT:  ALTER DATABASE app SET session_preload_libraries/, 'and with them');
unlike(app('app', q(ALTER DATABASE app SET session_preload_libraries = 'indextable')), qr/ERROR/, 'which works');
like(app('app', q(EXPLAIN SELECT id FROM shop.customer WHERE doc ->> 'town' = 'town 7')), qr/Custom Scan \(IndexTable\)/, 'in all sessions then');

# ---- dumps

super('app', 'DROP SCHEMA closed');
like(app('app', "\\! pg_dump -U app app 2>&1 >$dump"), qr/permission denied for (?:table|sequence|schema)/, 'an ordinary role cannot dump the catalog');
my ($command) = $page =~ /^(pg_dump .*) app >app\.sql$/m;
is(app('app', "\\! $command -U app app 2>&1 >$dump"), '', 'but its tables');
like(slurp_file($dump), qr/COPY shop\.customer/, 'they are in the dump');
is(app('new', "SET client_min_messages = error;\nCREATE EXTENSION indextable;\n\\o /dev/null\n\\i $dump\n"), '', 'it restores them');
unlike(app('new', 'UPDATE shop.customer SET doc = doc'), qr/ERROR/, 'they are written like any table');
unlike(app('new', q(CREATE SCHEMA ix; SELECT indextable.create('ix.customer_by_town', 'shop.customer', '{town}'); UPDATE shop.customer SET doc = '{"town": "x"}' WHERE id = 1)), qr/ERROR/, 'and create() is called anew');
is(app('new', q(SELECT count(*) FROM indextable.lookup('ix.customer_by_town', '{"town": "x"}'))), '1', 'then they have their index table');
super('app', 'GRANT pg_read_all_data TO app');
is(app('app', "\\! pg_dump -U app app 2>&1 >$dump"), '', 'who may read everything dumps as usual');

# ---- who installs a trusted extension is no superuser by that

like(as('other', 'hostile', 'CREATE EXTENSION indextable'), qr/permission denied/, 'who may not create in the database cannot install it');
my $not_super = qr/schema indextable is owned by role app, which is not a superuser/;
app('hostile', 'CREATE SCHEMA indextable');
like(app('hostile', 'CREATE EXTENSION indextable'), $not_super, 'a schema that was there');
like(app('hostile', 'BEGIN; GRANT USAGE ON SCHEMA indextable TO other; CREATE EXTENSION indextable; COMMIT'), $not_super, 'also with a row that this transaction has written');
app('hostile', 'DROP SCHEMA indextable');
like(app('hostile', 'BEGIN; CREATE SCHEMA indextable; CREATE FUNCTION indextable.f() RETURNS int LANGUAGE sql RETURN 1; CREATE EXTENSION indextable; COMMIT'), $not_super, 'a new one that is not empty');
app('hostile', 'ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO other, PUBLIC');
unlike(app('hostile', 'BEGIN; SAVEPOINT s; CREATE SCHEMA indextable; CREATE EXTENSION indextable; COMMIT'), qr/ERROR/, 'one that is new, and empty');
is(super('hostile', q(SELECT bool_or(has_schema_privilege(r, n, 'CREATE')) FROM unnest('{app,other}'::name[]) r, unnest('{indextable,indextable_internal,indextable_queues}'::text[]) n)),
	'f', 'nobody can add to the schemas');
is(super('hostile', q(SELECT has_schema_privilege('other', 'indextable_queues', 'USAGE'))), 'f', '... or name queue tables');
like(app('hostile', "CREATE SCHEMA mine; CREATE TABLE mine.definition (i int); $_"), qr/permission denied for schema/, $_)
	for ('ALTER TABLE mine.definition SET SCHEMA indextable', 'CREATE FUNCTION indextable.create(text, text, text[]) RETURNS int LANGUAGE sql RETURN 1');
like(app('hostile', $_), qr/ERROR: .*(?:must be owner|permission denied|cannot remove objects|cannot drop schema)/, $_)
	for ('ALTER EVENT TRIGGER indextable_on_drop DISABLE', 'ALTER EXTENSION indextable DROP TABLE indextable_internal.fact', 'DELETE FROM indextable_internal.definition',
		'DROP SCHEMA indextable CASCADE', 'ALTER FUNCTION indextable.stop_workers() OWNER TO app', 'GRANT EXECUTE ON FUNCTION indextable.stop_workers() TO app');
unlike(app('hostile', 'DROP EXTENSION indextable; CREATE EXTENSION indextable'), qr/ERROR/, 'it can be dropped, and installed again');

# Default privileges of the superuser give nothing of it to others.
super('postgres', 'CREATE DATABASE granted');
super('granted', 'ALTER DEFAULT PRIVILEGES GRANT ALL ON ' . $_ . ' TO other') for qw(TABLES SEQUENCES FUNCTIONS SCHEMAS);
super('granted', 'CREATE EXTENSION indextable');
is(super('granted', <<'SQL'), '0', 'default privileges of the superuser open nothing');
SELECT count(*) FROM (SELECT relacl FROM pg_class WHERE relnamespace::regnamespace::text LIKE 'indextable%' UNION ALL SELECT proacl FROM pg_proc WHERE pronamespace::regnamespace::text LIKE 'indextable%'
UNION ALL SELECT nspacl FROM pg_namespace WHERE nspname LIKE 'indextable%') x (acl) WHERE acl::text LIKE '%other=%'
SQL

$node->stop;
done_testing();
