# pg_dump | psql carries definitions, triggers and entries into a new database, and upkeep continues there.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('dump');
my $file = PostgreSQL::Test::Utils::tempdir . '/dump';

# a dropped column in between, so that columns have other numbers after the restore
$node->safe_psql('postgres', fact_table() . <<'SQL' . index_tables());
ALTER TABLE f ADD gone int;
ALTER TABLE f ADD more text DEFAULT 'm';
ALTER TABLE f DROP COLUMN gone;
INSERT INTO f SELECT g, d(g), 'n' || g % 3 FROM generate_series(1, 500) g;
CREATE SCHEMA "Other";
CREATE TABLE "Other"."Fact" ("B" text, a int, "Doc" jsonb, x jsonb, PRIMARY KEY ("B", a));
SELECT indextable.create('"Key of it"', '"Other"."Fact"', '{k}', document => 'Doc', is_unique => true, filter => $f$a > 0$f$);
INSERT INTO "Other"."Fact" SELECT 'b', g, d(g) FROM generate_series(-5, 40) g;
SELECT indextable.create('f_m', 'f', '{@more,k}', filter => $f$note <> 'n1'$f$, on_mismatch => 'skip');
SELECT indextable.alter('f_m', hidden => true);
SQL

my $catalog = q(SELECT d.index_table, d.fact_table, d.state, d.strategy, d.key, d.include, d.filter, d.is_unique, d.on_mismatch, d.document, d.hidden FROM indextable.index_tables d ORDER BY d.index_table::text);
my $triggers = q(SELECT tgrelid::regclass, tgname, tgenabled FROM pg_trigger WHERE NOT tgisinternal ORDER BY tgrelid::regclass::text, tgname);
my $other = q(SET indextable.planner = off; SELECT count(*) FROM ((SELECT "Doc" ->> 'k', "B", a FROM "Other"."Fact" WHERE a > 0 EXCEPT ALL TABLE "Other"."Key of it")
	UNION ALL (TABLE "Other"."Key of it" EXCEPT ALL SELECT "Doc" ->> 'k', "B", a FROM "Other"."Fact" WHERE a > 0)
	UNION ALL (SELECT more || (doc ->> 'k'), '', pk FROM f WHERE note <> 'n1' EXCEPT ALL SELECT more || k, '', pk FROM f_m)
	UNION ALL (SELECT more || k, '', pk FROM f_m EXCEPT ALL SELECT more || (doc ->> 'k'), '', pk FROM f WHERE note <> 'n1')) x);
drift_free($node, 'before');
is($node->safe_psql('postgres', $other), 0, 'before: the others');

my $lookup = q(SELECT count(*) FROM indextable.lookup('f_k', '{"k": "k7"}'));

my %flow = (
	plain => [ [ 'pg_dump', '-f', $file ], sub { [ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-f', $file, '-d', $_[0] ] } ],
	custom => [ [ 'pg_dump', '-Fc', '-f', $file ], sub { [ 'pg_restore', '--exit-on-error', '-d', $_[0], $file ] } ],
	parallel => [ [ 'pg_dump', '-Fd', '-j2', '-f', "$file.d" ], sub { [ 'pg_restore', '--exit-on-error', '-j2', '-d', $_[0], "$file.d" ] } ],
	inserts => [ [ 'pg_dump', '--inserts', '-f', $file ], sub { [ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-f', $file, '-d', $_[0] ] } ],
	twice => [ [ 'pg_dump', '-f', $file ], sub { [ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-f', $file, '-d', $_[0] ] } ],
);
my $from = 'postgres';
for my $name (sort keys %flow)
{
	my ($dump, $restore) = @{ $flow{$name} };
	$from = 'plain' if $name eq 'twice';    # a dump of what was restored
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->command_ok([ @$dump, $node->connstr($from) ], "$name: dump");
	$node->command_ok($restore->($node->connstr($name)), "$name: restore without an error");
	drift_free($node, "$name: index tables equal their recompute", $name);
	is($node->safe_psql($name, $other), 0, "$name: so do the others");
	is($node->safe_psql($name, $catalog), $node->safe_psql($from, $catalog), "$name: definitions");
	is($node->safe_psql($name, $triggers), $node->safe_psql($from, $triggers), "$name: triggers, and that they are enabled always");
	is($node->safe_psql($name, $lookup), $node->safe_psql($from, $lookup), "$name: look-up");
	next if $name eq 'twice';

	for my $sql (
		'INSERT INTO f SELECT g, d(g * 3), NULL FROM generate_series(1001, 1100) g', 'UPDATE f SET doc = d(pk + 3) WHERE pk % 3 = 0',
		"UPDATE f SET note = 'z', more = 'other' WHERE pk % 5 = 0", 'UPDATE f SET pk = pk + 5000 WHERE pk % 10 = 1', 'DELETE FROM f WHERE pk % 7 = 0',
		'UPDATE "Other"."Fact" SET "Doc" = d(a + 100); DELETE FROM "Other"."Fact" WHERE a > 30; UPDATE "Other"."Fact" SET a = 1000 - a WHERE a < 0')
	{
		$node->safe_psql($name, $sql);
		drift_free($node, "$name: $sql", $name);
		is($node->safe_psql($name, $other), 0, "$name: the others");
	}
	my ($status, $out, $err) = $node->psql($name, q(INSERT INTO "Other"."Fact" VALUES ('c', 1, '{"k": "k12"}')));
	like($err, qr/duplicate key/, "$name: a unique index table is unique");
	($status, $out, $err) = $node->psql($name, 'DELETE FROM f_k');
	like($err, qr/cannot change index table "f_k"/, "$name: nobody writes it by hand");
	is($node->safe_psql($name, q(SET client_min_messages = warning; SET search_path = public; SELECT indextable.create('f_new', 'f', '{n}'); SELECT indextable.drop('f_new'))),
		"f_new\n", "$name: create() and drop()");
	next if $name eq 'plain';
	$node->safe_psql($name, 'ALTER TABLE f RENAME more TO "More"; ALTER TABLE f RENAME note TO remark; ALTER TABLE f ADD more text');
	$node->safe_psql($name, q(INSERT INTO f (pk, doc, remark, "More", more) SELECT g, d(g), 'n2', 'new', 'no' FROM generate_series(20001, 20010) g));
	is($node->safe_psql($name, q(SELECT count(*) FROM f_m WHERE more = 'new')), $node->safe_psql($name, q(SELECT count(*) FROM f WHERE "More" = 'new')),
		"$name: columns can be renamed after the restore");
	$node->safe_psql($name, 'DROP VIEW drift; DROP TABLE f');
	is($node->safe_psql($name, q(SELECT to_regclass('f_k'), to_regclass('f_v'), (SELECT count(*) FROM indextable.index_tables))), '||1',
		"$name: plain DROP TABLE of the fact table takes its index tables along");
}

# ---- what was dropped where no event trigger fires leaves OIDs in the catalog, which in a dump are plain numbers. After
# the restore they may be anybody's: of a table that could be an index table by its columns, one that could not, one with
# documents, and one that looks like a queue table.

$node->safe_psql('postgres', 'CREATE DATABASE dangling');
$node->safe_psql('dangling', fact_table() . <<'SQL');
INSERT INTO f SELECT g, d(g) FROM generate_series(1, 50) g;
SELECT indextable.create('f_k', 'f', '{k}'), indextable.create('f_v', 'f', '{v}', maintenance => 'async'), indextable.create('f_gone', 'f', '{k}', 'denormalized');
CREATE TABLE t (pk int PRIMARY KEY, doc jsonb);
INSERT INTO t SELECT g, d(g) FROM generate_series(1, 50) g;
SELECT indextable.create('t_k', 't', '{k}'), indextable.create('t_gone', 't', '{n::int}');
CREATE TABLE gone (pk int PRIMARY KEY, doc jsonb);
SELECT indextable.create('gone_k', 'gone', '{k}'), indextable.create('gone_a', 'gone', '{v}', maintenance => 'async');
CREATE TABLE q (pk int PRIMARY KEY, doc jsonb);
INSERT INTO q SELECT g, d(g) FROM generate_series(1, 50) g;
SELECT indextable.create('q_k', 'q', '{k}'), indextable.create('q_a', 'q', '{v}', maintenance => 'async');
UPDATE q SET doc = d(pk + 1) WHERE pk % 3 = 0;
UPDATE f SET doc = d(pk + 1) WHERE pk % 3 = 0;
SQL
my %oid = map { $_ => $node->safe_psql('dangling', "SELECT '$_'::regclass::oid") } qw(f_gone t_gone gone gone_k);
$oid{queue} = $node->safe_psql('dangling', q(SELECT queue::oid FROM indextable_internal.fact WHERE fact_table = 'q'::regclass));
$node->safe_psql('dangling', q(SET session_replication_role = replica; DROP TABLE f_gone, t_gone, gone;
	DO $$ BEGIN EXECUTE (SELECT 'DROP TABLE ' || queue FROM indextable_internal.fact WHERE fact_table = 'q'::regclass); END $$));
$node->command_ok([ 'pg_dump', '-f', $file, $node->connstr('dangling') ], 'dangling: dumped');
my $dumped = slurp_file($file);
$node->safe_psql('postgres', 'CREATE DATABASE victims');
$node->safe_psql('victims', <<'SQL');
CREATE TABLE like_f_gone (k text, pk int, doc jsonb, PRIMARY KEY (k, pk));
CREATE TABLE unlike_t_gone (a date, b text);
CREATE TABLE documents (pk int PRIMARY KEY, doc jsonb);
CREATE TABLE like_gone_k (k text, pk int, PRIMARY KEY (k, pk));
CREATE TABLE queue_like (changed_at timestamptz, key1 int);
INSERT INTO like_f_gone VALUES ('k', 1, '{}');
INSERT INTO unlike_t_gone VALUES ('2026-01-01', 'b');
INSERT INTO documents VALUES (1, '{"k": 1}');
INSERT INTO like_gone_k VALUES ('k', 1);
INSERT INTO queue_like VALUES ('2026-01-01', 1);
SQL
my %victim = (f_gone => 'like_f_gone', t_gone => 'unlike_t_gone', gone => 'documents', gone_k => 'like_gone_k', queue => 'queue_like');
for my $old (keys %victim)
{
	my $new = $node->safe_psql('victims', "SELECT '$victim{$old}'::regclass::oid");
	ok($dumped =~ s/\b$oid{$old}\b/$new/g, "dangling: $old is a number in the dump");
}
unlink $file;
append_to_file($file, $dumped);
$node->command_ok([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-f', $file, '-d', $node->connstr('victims') ], 'victims: restored');
my $victims = join ' UNION ALL ', map { "SELECT '$_', string_agg(x::text, ' ' ORDER BY x::text) FROM $_ x" } sort values %victim;
my $whole = $node->safe_psql('victims', $victims);
my $guarded = q(SELECT count(*) FROM pg_trigger WHERE tgrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relname ~ 'like|documents') AND NOT tgisinternal);
is($node->safe_psql('victims', $guarded), 0, 'victims: nobody has triggers of ours');

# Theirs are written, altered and locked as ever; so are the tables whose definitions are in order.
for my $sql ("INSERT INTO like_f_gone VALUES ('l', 2, '{}')", "UPDATE unlike_t_gone SET b = 'c'", q(UPDATE documents SET doc = '{"k": 2}'), "INSERT INTO like_gone_k VALUES ('l', 2)", 'DELETE FROM queue_like',
	'TRUNCATE like_f_gone, documents', 'ALTER TABLE like_gone_k ADD more int NOT NULL DEFAULT 1', 'ALTER TABLE documents ALTER doc TYPE text', 'DROP TABLE like_f_gone', 'DROP TABLE documents, queue_like', 'ALTER TABLE like_gone_k RENAME k TO key',
	'CREATE ROLE victim; ALTER TABLE documents OWNER TO victim', 'ALTER TABLE t RENAME doc TO d; TRUNCATE t', 'DROP TABLE t', 'DROP TABLE f', 'DROP SCHEMA public CASCADE')
{
	is(($node->psql('victims', "SET client_min_messages = error; BEGIN; $sql; ROLLBACK"))[2], '', "victims: $sql");
}
is($node->safe_psql('victims', 'UPDATE t SET doc = d(pk + 3) WHERE pk % 5 = 0; SET indextable.planner = off; SELECT count(*) FROM ((SELECT doc ->> $$k$$, pk FROM t EXCEPT ALL TABLE t_k) UNION ALL (TABLE t_k EXCEPT ALL SELECT doc ->> $$k$$, pk FROM t)) x'), 0,
	'victims: upkeep goes on where the columns show that it is another table');
for my $sql ('UPDATE f SET doc = d(pk + 3) WHERE pk % 5 = 0', q(SELECT indextable.drain('f')))
{
	like(($node->psql('victims', $sql))[2], qr/index table "like_f_gone" of table "f" is not completely restored\n.*\n.*SELECT indextable.drop\('public.like_f_gone'\)/, "victims: where they do not, refused: $sql");
}
like(($node->psql('victims', 'SELECT indextable.drain()'))[2], qr/WARNING:  could not drain table "f": .*WARNING:  index table "q_a" is now invalid/s, 'victims: drain() goes on, and says whose queue is gone');
is($node->safe_psql('victims', $victims), $whole, 'victims: they are whole');
like(($node->psql('victims', q(SELECT indextable.drop('like_f_gone'))))[2], qr/WARNING:  removed the definition of "like_f_gone", which is not an index table/, 'victims: drop() forgets');
is($node->safe_psql('victims', q(SELECT string_agg(index_table::text, ' ' ORDER BY index_table::text) FROM indextable_internal.definition)), 'f_k f_v like_gone_k q_a q_k t_k unlike_t_gone', 'victims: only what it names');
$node->psql('victims', "SELECT indextable.drop('$_')") for 'like_gone_k', 'unlike_t_gone';
is($node->safe_psql('victims', q(SELECT string_agg(index_table::text, ' ' ORDER BY index_table::text) FROM indextable_internal.definition)), 'f_k f_v q_a q_k t_k', 'victims: and nothing else is left of them');
$node->safe_psql('victims', q(CALL indextable.repair('q_a'); UPDATE f SET doc = d(pk + 3) WHERE pk % 5 = 0; UPDATE q SET doc = d(pk + 3) WHERE pk % 5 = 0; SELECT indextable.drain()));
is($node->safe_psql('victims', 'SET indextable.planner = off; ' . join ' UNION ALL ', map { my ($i, $f, $k) = @$_; "SELECT * FROM ((SELECT '$i', doc ->> '$k', pk FROM $f EXCEPT ALL SELECT '$i', * FROM $i) UNION ALL (SELECT '$i', * FROM $i EXCEPT ALL SELECT '$i', doc ->> '$k', pk FROM $f)) x" }
	[ 'f_k', 'f', 'k' ], [ 'f_v', 'f', 'v' ], [ 't_k', 't', 'k' ], [ 'q_k', 'q', 'k' ], [ 'q_a', 'q', 'v' ]), '', 'victims: all index tables equal their recompute');
is($node->safe_psql('victims', q(SELECT d.index_table, v FROM indextable_internal.definition d, indextable.verify(d.index_table) v)), '', 'victims: verify() finds nothing');
is($node->safe_psql('victims', "$victims"), $whole, 'victims: they are whole, still');

$node->stop;
done_testing();
