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
SQL

my $catalog = q(SELECT d.index_table, d.fact_table, d.state, d.strategy, d.key, d.include, d.filter, d.is_unique, d.on_mismatch, d.document FROM indextable.index_tables d ORDER BY d.index_table::text);
my $triggers = q(SELECT tgrelid::regclass, tgname, tgenabled FROM pg_trigger WHERE NOT tgisinternal ORDER BY tgrelid::regclass::text, tgname);
my $other = q(SELECT count(*) FROM ((SELECT "Doc" ->> 'k', "B", a FROM "Other"."Fact" WHERE a > 0 EXCEPT ALL TABLE "Other"."Key of it")
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
	like($err, qr/cannot write index table "f_k"/, "$name: nobody writes it by hand");
	is($node->safe_psql($name, q(SET client_min_messages = warning; SET search_path = public; SELECT indextable.create('f_new', 'f', '{n}'); SELECT indextable.drop('f_new'))),
		"f_new\n", "$name: create() and drop()");
	next if $name eq 'plain';
	$node->safe_psql($name, 'ALTER TABLE f RENAME more TO "More"; ALTER TABLE f RENAME note TO remark; ALTER TABLE f ADD more text');
	$node->safe_psql($name, q(INSERT INTO f (pk, doc, remark, "More", more) SELECT g, d(g), 'n2', 'new', 'no' FROM generate_series(20001, 20010) g));
	is($node->safe_psql($name, q(SELECT count(*) FROM f_m WHERE more = 'new')), $node->safe_psql($name, q(SELECT count(*) FROM f WHERE "More" = 'new' AND doc ->> 'k' IS NOT NULL)),
		"$name: columns can be renamed after the restore");
	$node->safe_psql($name, 'DROP VIEW drift; DROP TABLE f');
	is($node->safe_psql($name, q(SELECT to_regclass('f_k'), to_regclass('f_v'), (SELECT count(*) FROM indextable.index_tables))), '||1',
		"$name: plain DROP TABLE of the fact table takes its index tables along");
}

$node->stop;
done_testing();
