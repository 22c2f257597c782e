# Dumps of every kind, restored in every way: index tables in all states, of several owners, with changes queued. What
# was dumped is there again, DDL is refused and followed as before, and upkeep continues. What cannot come back says so.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('restore');
my $dir = PostgreSQL::Test::Utils::tempdir;

# Fact tables in schemas that sort before and after the extension's, in which order pg_dump takes them; a dropped
# column, so that numbers differ after the restore.
my $functions = <<'SQL';
CREATE FUNCTION public.d(i bigint) RETURNS jsonb IMMUTABLE LANGUAGE sql AS
$$ SELECT jsonb_build_object('k', 'k' || i % 50, 'n', i % 7, 'v', 'v' || i, 'tags', ARRAY['t' || i % 5, 't' || i % 3]) $$;
SQL
$node->safe_psql('postgres', 'CREATE ROLE app_owner; CREATE ROLE "Other Owner"; CREATE ROLE reader; CREATE ROLE dba LOGIN; CREATE DATABASE origin OWNER dba');
$node->safe_psql('origin', $functions . <<'SQL');
CREATE EXTENSION indextable;
CREATE SCHEMA app AUTHORIZATION app_owner;
GRANT ALL ON SCHEMA app TO reader;
CREATE SCHEMA "An ""Own""" AUTHORIZATION "Other Owner";

SET ROLE app_owner;
CREATE FUNCTION app.keep(t text) RETURNS boolean IMMUTABLE LANGUAGE sql AS $$ SELECT t <> 'n1' $$;
CREATE TABLE app.f (pk int PRIMARY KEY, gone int, doc jsonb, note text);
ALTER TABLE app.f DROP COLUMN gone;
INSERT INTO app.f SELECT g, d(g), 'n' || g % 3 FROM generate_series(1, 300) g;
SELECT indextable.create('f_k', 'app.f', '{k}');
SELECT indextable.create('f_c', 'app.f', '{k}', include => '{@ctid}');
SELECT indextable.create('f_u', 'app.f', '{v}', is_unique => true);
SELECT indextable.create('f_p', 'app.f', '{n::int,k}', include => '{v,@note}', filter => 'app.keep(note)');
SELECT indextable.create('f_t', 'app.f', '{tags[*]}', include => '{n::int}');
SELECT indextable.create('f_d', 'app.f', '{v}', 'denormalized');
SELECT indextable.create('f_a', 'app.f', '{k}', maintenance => 'async');
SELECT indextable.create('f_af', 'app.f', '{tags[*]}', include => '{@note}', filter => 'app.keep(note)', maintenance => 'async');
CREATE VIEW app.uses AS SELECT * FROM app.f_k;
GRANT SELECT ON app.f_k TO reader;
CREATE INDEX ON app.f_d (pk);
RESET ROLE;

SET ROLE "Other Owner";
CREATE TABLE "An ""Own"""."Fact 'x'" ("B" text, a int, "Doc" jsonb, x jsonb, PRIMARY KEY ("B", a));
INSERT INTO "An ""Own"""."Fact 'x'" SELECT 'b', g, d(g) FROM generate_series(-5, 40) g;
SELECT indextable.create('"Key of it"', '"An ""Own"""."Fact ''x''"', '{k}', document => 'Doc', is_unique => true, filter => 'a > 0');
SELECT indextable.create('"Later of ""it"""', '"An ""Own"""."Fact ''x''"', '{n::int}', include => ARRAY['@"B" AS "The B"'], document => 'Doc', maintenance => 'async');
RESET ROLE;

CREATE TABLE building (pk int PRIMARY KEY, doc jsonb);
INSERT INTO building SELECT g, d(g) FROM generate_series(1, 300) g;
SELECT indextable.create('b_t', 'building', '{k}', populate => false);
SELECT indextable.create('b_a', 'building', '{v}', maintenance => 'async', populate => false);

CREATE TABLE invalid (pk int PRIMARY KEY, doc jsonb);
INSERT INTO invalid SELECT g, d(g) FROM generate_series(1, 300) g;
SELECT indextable.create('i_t', 'invalid', '{k}');
SELECT indextable.create('i_a', 'invalid', '{v}', maintenance => 'async');
ALTER TABLE invalid DISABLE TRIGGER indextable_row;
UPDATE invalid SET doc = d(pk + 10) WHERE pk % 3 = 0;
DROP TRIGGER indextable_truncate ON invalid;

CREATE TABLE mismatch (pk int PRIMARY KEY, doc jsonb);
SELECT indextable.create('m_s', 'mismatch', '{n::int}', on_mismatch => 'skip');
SELECT indextable.create('m_r', 'mismatch', '{n::int}', maintenance => 'async');
INSERT INTO mismatch SELECT g, jsonb_build_object('n', CASE g % 4 WHEN 0 THEN 'x' ELSE g::text END) FROM generate_series(1, 20) g;
SELECT indextable.drain();

CREATE TABLE altered (pk int PRIMARY KEY, doc jsonb);
INSERT INTO altered SELECT g, d(g) FROM generate_series(1, 300) g;
SELECT indextable.create('a_t', 'altered', '{k}', include => '{v}'), indextable.create('a_a', 'altered', '{v}', include => '{k}', maintenance => 'async'),
	indextable.create('r_t', 'altered', '{k}', include => '{v}'), indextable.create('r_a', 'altered', '{v}', include => '{k}', maintenance => 'async');
SELECT indextable.alter('a_t', include => '{tags::jsonb,v}', filter => 'app.keep(doc ->> ''v'')'), indextable.alter('a_a', strategy => 'denormalized'), indextable.alter('a_a', maintenance => 'transactional');
-- partitioned: the fact table, in two levels and in another order of columns, and its index tables
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE parted (pk int, r text, doc jsonb, m mood, PRIMARY KEY (pk, r)) PARTITION BY LIST (r);
CREATE TABLE parted_a PARTITION OF parted FOR VALUES IN ('a') PARTITION BY HASH (pk);
CREATE TABLE parted_a0 PARTITION OF parted_a FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted_a1 (m mood, doc jsonb, gone int, r text NOT NULL, pk int NOT NULL);
ALTER TABLE parted_a1 DROP COLUMN gone;
ALTER TABLE parted_a ATTACH PARTITION parted_a1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE "parted rest" PARTITION OF parted DEFAULT;
INSERT INTO parted SELECT g, (ARRAY['a', 'b', 'c'])[1 + g % 3], d(g), (enum_range(NULL::mood))[1 + g % 3] FROM generate_series(1, 300) g;
SELECT indextable.create('"pt K"', 'parted', '{k}', include => '{v}', partitions => 3), indextable.create('pt_u', 'parted', '{v}', is_unique => true, partitions => 2),
	indextable.create('pt_m', 'parted', '{@m}', partition_by => 'LIST (m)', partition_bounds => ARRAY['IN (''sad'')', 'IN (''ok'')']), indextable.create('pt_x', 'parted', '{k}', include => '{@ctid}'),
	indextable.create('pt_r', 'parted', '{k,n::int}', partition_by => 'RANGE (n)', partition_bounds => '{FROM (0) TO (3),FROM (3) TO (5)}'),
	indextable.create('pt_q', 'parted', '{n::int}', include => '{v}', maintenance => 'async', partition_by => 'RANGE (n)', partition_bounds => '{FROM (0) TO (3)}');
CREATE TABLE pt_r_100 PARTITION OF pt_r FOR VALUES FROM (100) TO (200);
SELECT indextable.alter('pt_q', include => '{k}'), indextable.alter('pt_q', partition_bounds => '{FROM (0) TO (4)}');
CREATE INDEX ON pt_r (pk);
ALTER TABLE a_t ADD own text;
CREATE INDEX ON a_t (own);
SQL

# what two of them are about to be
my %alter = (r_t => q(include => '{n::int}'), r_a => q(strategy => 'denormalized', maintenance => 'transactional'));
$node->safe_psql('origin', "SELECT indextable.alter('$_', $alter{$_}, populate => false)") for sort keys %alter;

# a build that is half done: it stops at the row whose key is too long
$node->safe_psql('origin', q(UPDATE building SET doc = jsonb_build_object('k', (SELECT string_agg(md5(g::text), '') FROM generate_series(1, 300) g)) WHERE pk = 150));
my ($cut_off) = $node->psql('origin', q(CALL indextable.build('b_t', 100)));
$node->safe_psql('origin', 'UPDATE building SET doc = d(pk) WHERE pk = 150');
isnt($cut_off, 0, 'a build is cut off');
$node->safe_psql('origin', q(UPDATE altered SET doc = doc || '{"n": "none"}' WHERE pk = 150));
($cut_off) = $node->psql('origin', q(CALL indextable.rebuild('r_t', 100)));
$node->safe_psql('origin', 'UPDATE altered SET doc = d(pk) WHERE pk = 150');
isnt($cut_off, 0, 'a rebuild is');
is($node->safe_psql('origin', q(SELECT rows_done > 0, rows_done < 300 FROM indextable.progress WHERE index_table = 'b_t'::regclass)), 't|t', 'half-way');

# changes that are queued when it is dumped
$node->safe_psql('origin', <<'SQL');
UPDATE app.f SET doc = d(pk + 1000) WHERE pk % 4 = 0;
DELETE FROM app.f WHERE pk % 10 = 1;
UPDATE app.f SET pk = pk + 1000 WHERE pk % 10 = 2;
UPDATE "An ""Own"""."Fact 'x'" SET "Doc" = d(a + 100) WHERE a % 2 = 0;
UPDATE building SET doc = d(pk + 5) WHERE pk % 3 = 1;
UPDATE altered SET doc = d(pk + 5) WHERE pk % 3 = 1;
UPDATE parted SET doc = d(pk + 1000), r = 'd' WHERE pk % 3 = 1;
SQL

# ---- the oracle

my %recompute = (
	'app.f_k' => q(SELECT doc ->> 'k', pk FROM app.f),
	'app.f_c' => q(SELECT doc ->> 'k', pk FROM app.f),
	'app.f_u' => q(SELECT doc ->> 'v', pk FROM app.f WHERE doc ->> 'v' IS NOT NULL),
	'app.f_p' => q(SELECT (doc ->> 'n')::int, doc ->> 'k', pk, doc ->> 'v', note FROM app.f WHERE note <> 'n1'),
	'app.f_t' => q(SELECT e, pk, (doc ->> 'n')::int, count(*)::int FROM app.f, jsonb_array_elements_text(doc -> 'tags') e GROUP BY 1, 2, 3),
	'app.f_d' => q(SELECT doc ->> 'v', pk, doc FROM app.f),
	'app.f_a' => q(SELECT doc ->> 'k', pk FROM app.f),
	'app.f_af' => q(SELECT e, pk, note, count(*)::int FROM app.f, jsonb_array_elements_text(doc -> 'tags') e WHERE note <> 'n1' GROUP BY 1, 2, 3),
	'"An ""Own"""."Key of it"' => q(SELECT "Doc" ->> 'k', "B", a FROM "An ""Own"""."Fact 'x'" WHERE a > 0),
	'"An ""Own"""."Later of ""it"""' => q(SELECT ("Doc" ->> 'n')::int, "B", a, "B" FROM "An ""Own"""."Fact 'x'"),
	'public.b_t' => q(SELECT doc ->> 'k', pk FROM public.building),
	'public.b_a' => q(SELECT doc ->> 'v', pk FROM public.building),
	'public.i_t' => q(SELECT doc ->> 'k', pk FROM public.invalid),
	'public.i_a' => q(SELECT doc ->> 'v', pk FROM public.invalid),
	'public.a_t' => q(SELECT doc ->> 'k', pk, doc -> 'tags', doc ->> 'v', NULL FROM public.altered),
	'public.a_a' => q(SELECT doc ->> 'v', pk, doc FROM public.altered),
	'public.r_t' => q(SELECT doc ->> 'k', pk, doc ->> 'v' FROM public.altered),
	'public.r_a' => q(SELECT doc ->> 'v', pk, doc ->> 'k' FROM public.altered),
	'public."pt K"' => q(SELECT doc ->> 'k', pk, r, doc ->> 'v' FROM public.parted),
	'public.pt_u' => q(SELECT doc ->> 'v', pk, r FROM public.parted),
	'public.pt_m' => q(SELECT m, pk, r FROM public.parted),
	'public.pt_x' => q(SELECT doc ->> 'k', pk, r FROM public.parted),
	'public.pt_r' => q(SELECT doc ->> 'k', (doc ->> 'n')::int, pk, r FROM public.parted),
	'public.pt_q' => q(SELECT (doc ->> 'n')::int, pk, r, doc ->> 'k' FROM public.parted),
	'public.m_s' => q(SELECT (doc ->> 'n')::int, pk FROM public.mismatch WHERE doc ->> 'n' <> 'x'),
	'public.m_r' => q(SELECT (doc ->> 'n')::int, pk FROM public.mismatch WHERE doc ->> 'n' <> 'x'));
my @later = ('app.f_a', 'app.f_af', '"An ""Own"""."Later of ""it"""', 'public.b_t', 'public.b_a', 'public.i_t', 'public.i_a', 'public.m_r', 'public.r_a', 'public.pt_q');

# Those that have the places of rows, which a restore changes, but for these.
my %compared = ('app.f_c' => 'SELECT k, pk FROM app.f_c', 'public.pt_x' => 'SELECT k, pk, r FROM public.pt_x');

# drift: index tables that are not what a recompute gives, with how many entries they lack and have too much
sub drift
{
	my ($server, $database, @names) = @_;
	return $server->safe_psql($database, 'SET indextable.planner = off; SELECT * FROM (' . join(' UNION ALL ', map {
		my $there = $compared{$_} // "TABLE $_";
		"SELECT '$_', (SELECT count(*) FROM ($recompute{$_} EXCEPT ALL $there) l), (SELECT count(*) FROM ($there EXCEPT ALL $recompute{$_}) m)" }
		@names) . ') x (name, missing, extra) WHERE missing + extra > 0');
}

# ---- what has to be the same

my %same = (
	definitions => q(SELECT d.index_table, d.fact_table, d.state, d.strategy, d.maintenance, d.key, d.include, d.filter, d.is_unique, d.on_mismatch, d.document, d.replaces, skipped, backlog, rejected
		FROM indextable_internal.definition d LEFT JOIN indextable.index_table_stats i USING (index_table) ORDER BY index_table::text),
	partitions => q(SELECT i.inhparent::regclass, c.oid::regclass, pg_get_partkeydef(i.inhparent), pg_get_expr(relpartbound, c.oid), relowner::regrole, relacl FROM pg_inherits i JOIN pg_class c ON c.oid = inhrelid WHERE relkind IN ('r', 'p') ORDER BY c.oid::regclass::text),
	rejections => q(SELECT index_table, primary_key, sqlstate, message, attempts, first_at FROM indextable_internal.rejection ORDER BY index_table::text, primary_key),
	completeness => q(SELECT index_table, fields, count(*) FROM indextable_internal.completeness GROUP BY 1, 2 ORDER BY index_table::text, 2),
	builds => q(SELECT index_table, command, phase, rows_done, started_at FROM indextable.progress ORDER BY index_table::text),
	triggers => q(SELECT tgrelid::regclass, tgname, tgenabled FROM pg_trigger WHERE NOT tgisinternal ORDER BY tgrelid::regclass::text, tgname),
	entries => q(CREATE FUNCTION pg_temp.entries(t regclass) RETURNS bigint LANGUAGE plpgsql AS 'DECLARE n bigint; BEGIN EXECUTE format(''SELECT count(*) FROM %s'', t) INTO n; RETURN n; END';
		SELECT d.index_table, pg_temp.entries(d.index_table) FROM indextable_internal.definition d ORDER BY d.index_table::text),
	problems => q(SELECT d.index_table, v.kind, v.problem, count(*) FROM indextable_internal.definition d, indextable.verify(d.index_table) v GROUP BY 1, 2, 3 ORDER BY d.index_table::text, 2, 3));

# rows that are looked up where they were before the restore: those that are not found, and those that should not be
my $places = q(SET indextable.planner = off; SELECT count(*) FROM indextable_internal.definition WHERE '@ctid' = ANY (include)
UNION ALL SELECT count(*) FROM (WITH looked_up AS (SELECT l.* FROM (SELECT DISTINCT k FROM app.f_c) k, indextable.lookup(NULL::app.f, 'app.f_c', jsonb_build_object('k', k)) l)
	(TABLE app.f EXCEPT ALL TABLE looked_up) UNION ALL (TABLE looked_up EXCEPT ALL TABLE app.f)) x
UNION ALL SELECT count(*) FROM (WITH looked_up AS (SELECT l.* FROM (SELECT DISTINCT k FROM public.pt_x) k, indextable.lookup(NULL::public.parted, 'public.pt_x', jsonb_build_object('k', k)) l)
	(TABLE public.parted EXCEPT ALL TABLE looked_up) UNION ALL (TABLE looked_up EXCEPT ALL TABLE public.parted)) x);
my $owners = q(SELECT oid::regclass, relowner::regrole, relacl, reloptions FROM pg_class WHERE oid IN (SELECT index_table FROM indextable_internal.definition
	UNION SELECT fact_table FROM indextable_internal.definition UNION SELECT queue FROM indextable_internal.fact UNION SELECT spare FROM indextable_internal.fact) ORDER BY oid::regclass::text);

# What DDL does, and is refused; undone each time.
my $count = q(SELECT (SELECT count(*) FROM indextable_internal.definition), (SELECT count(*) FROM indextable_internal.fact),
	(SELECT count(*) FROM pg_class WHERE relnamespace::regnamespace::text LIKE 'indextable\_%' AND relname ~ '^(queue|rebuild)'),
	(SELECT string_agg(oid::regclass::text, ' ' ORDER BY oid::regclass::text) FROM pg_class WHERE relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname ~ '^(app|An|public)') AND relkind IN ('r', 'v')));
my @ddl = (
	[ 'DROP TABLE app.f', $count ],
	[ 'DROP TABLE app.f CASCADE', $count ],
	[ 'DROP VIEW app.uses; DROP TABLE app.f', $count ],
	[ 'DROP TABLE public.building, public.mismatch', $count ],
	[ 'DROP TABLE public.altered', $count ],
	[ 'DROP TABLE public.r_t', $count ],
	[ q(SELECT indextable.drop('public.r_a')), $count ],
	[ 'DROP SCHEMA "An ""Own""" CASCADE', $count ],
	[ 'DROP OWNED BY "Other Owner" CASCADE', $count ],
	[ 'DROP TABLE app.f_d', $count ],
	[ q(SELECT indextable.drop('app.f_a'), indextable.drop('app.f_af')), $count ],
	[ 'ALTER TABLE app.f DROP COLUMN note', '' ],
	[ 'ALTER TABLE app.f ALTER pk TYPE bigint', '' ],
	[ 'ALTER TABLE app.f DROP CONSTRAINT f_pkey', '' ],
	[ 'ALTER TABLE public.building DROP CONSTRAINT building_pkey', '' ],
	[ 'ALTER TABLE app.f OWNER TO reader', q(SELECT relname FROM pg_class WHERE relowner = 'reader'::regrole AND relkind = 'r' ORDER BY relname) ],
	[ 'ALTER TABLE app.f_k OWNER TO reader', '' ],
	[ 'ALTER TABLE app.f RENAME doc TO document; ALTER TABLE app.f RENAME note TO remark', q(SELECT index_table, document, filter, include FROM indextable_internal.definition WHERE fact_table = 'app.f'::regclass ORDER BY index_table::text) ],
	[ 'CREATE TABLE public.child () INHERITS (app.f)', '' ],
	[ 'DELETE FROM app.f_k', '' ],
	[ 'TRUNCATE app.f', 'SELECT (SELECT count(*) FROM app.f_k), (SELECT count(*) FROM app.f_af)' ],
	[ 'DROP EXTENSION indextable', '' ],
	[ q(INSERT INTO app.f VALUES (-1, '{"v": "v3"}', 'n2')), '' ]);
my @drop_extension = [ 'DROP EXTENSION indextable CASCADE', q(SELECT relname FROM pg_class WHERE relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname ~ '^indextable') ORDER BY relname) ];

sub outcomes
{
	my ($server, $database, @commands) = @_;
	my $out = '';
	my $sql = join '', "\\set VERBOSITY terse\nSET client_min_messages = error; SET search_path = '';\n",
	  map { my ($command, $query) = @$_; "\\echo -- $command\nBEGIN; $command;" . ($query && " $query;") . " ROLLBACK;\n" } @commands;
	IPC::Run::run([ 'psql', '-XAtq', '-d', $server->connstr($database) ], '<', \$sql, '>&', \$out);
	# Whether the fact table or the index table is what cannot be dropped depends on whose dependency is found first.
	$out =~ s/cannot drop table \S+ because/cannot drop a table because/g;
	# once refused is enough
	$out =~ s/^ERROR:  current transaction is aborted.*\n//mg;
	return $out;
}

my %expected = map { $_ => $node->safe_psql('origin', $same{$_}) } keys %same;
my $expected_drop = "-- DROP EXTENSION indextable CASCADE\n";    # and no table is left
my $expected_owners = $node->safe_psql('origin', $owners);
my $expected_outcomes = outcomes($node, 'origin', @ddl);
like($expected_outcomes, qr/cannot drop a table because other objects depend on it/, 'DDL is refused in the first place');
is(() = $expected_outcomes =~ /^ERROR/mg, 10, 'that many of the commands are');

# is_the_same: as it was dumped
sub is_the_same
{
	my ($server, $database, $name, %but) = @_;
	is($server->safe_psql($database, $same{$_}), $but{$_} // $expected{$_}, "$name: $_") for sort keys %same;
	is($server->safe_psql($database, $places), "2\n0\n0", "$name: rows are looked up where others are now");
	if (!$but{owners})
	{
		is($server->safe_psql($database, $owners), $expected_owners, "$name: owners, privileges, settings");
		is(outcomes($server, $database, @ddl), $expected_outcomes, "$name: what DDL does");
	}
	return;
}

# goes_on: writes are followed at once, or when drained; builds are finished, and what was invalid is mended
sub goes_on
{
	my ($server, $database, $name) = @_;
	my %later = map { $_ => 1 } @later;
	$server->safe_psql($database, <<'SQL');
INSERT INTO app.f (pk, doc, note) SELECT g, d(g * 3), 'z' FROM generate_series(5001, 5060) g;
UPDATE app.f SET doc = d(pk + 5000) WHERE pk % 3 = 0;
UPDATE app.f SET note = 'n1' WHERE pk % 5 = 0;
UPDATE app.f SET pk = pk + 50000 WHERE pk % 11 = 0;
DELETE FROM app.f WHERE pk % 7 = 0;
UPDATE "An ""Own"""."Fact 'x'" SET "Doc" = d(a + 1000) WHERE a % 3 = 0;
UPDATE "An ""Own"""."Fact 'x'" SET a = 1000 - a WHERE a < 0;
DELETE FROM "An ""Own"""."Fact 'x'" WHERE a > 30;
UPDATE mismatch SET doc = '{"n": 7}' WHERE pk = 4;
INSERT INTO building SELECT g, d(g) FROM generate_series(2001, 2010) g;
DELETE FROM building WHERE pk % 9 = 0;
INSERT INTO altered SELECT g, d(g) FROM generate_series(2001, 2010) g;
DELETE FROM altered WHERE pk % 9 = 0;
UPDATE altered SET doc = d(pk + 9) WHERE pk % 5 = 0;
INSERT INTO parted SELECT g, 'a', d(g) || '{"n": 150}', 'sad' FROM generate_series(5001, 5060) g;
UPDATE parted SET doc = d(pk + 50000), m = 'happy' WHERE pk % 3 = 0;
UPDATE parted SET r = 'a', pk = pk + 10000 WHERE r = 'b';
DELETE FROM parted WHERE pk % 7 = 0;
CREATE TABLE parted_new PARTITION OF parted FOR VALUES IN ('new');
CREATE TABLE pt_r_200 PARTITION OF pt_r FOR VALUES FROM (200) TO (300);
INSERT INTO parted_new SELECT g, 'new', d(g + 100000) || '{"n": 250}', 'ok' FROM generate_series(1, 20) g;
SQL
	is(drift($server, $database, grep { !$later{$_} } sort keys %recompute), '', "$name: writes are followed at once");
	isnt(drift($server, $database, 'app.f_a'), '', "$name: or later");
	$server->safe_psql($database, 'SELECT indextable.drain()');
	is(drift($server, $database, grep { !/public.[bi]_/ } sort keys %recompute), '', "$name: when drained");
	local @recompute{'public.r_t', 'public.r_a'} = (q(SELECT doc ->> 'k', pk, (doc ->> 'n')::int FROM public.altered), q(SELECT doc ->> 'v', pk, doc FROM public.altered));
	is($server->safe_psql($database, 'SELECT coalesce(sum(backlog), 0) FROM indextable.queues'), 0, "$name: nothing is queued");
	for my $table (sort keys %alter)
	{
		my ($status, $out, $err) = $server->psql($database, "CALL indextable.rebuild('$table')");
		is($err, '', "$name: the rebuild of $table goes on");
	}
	my $calls = $server->safe_psql($database, q(SELECT format('CALL indextable.%s(%L);', CASE state WHEN 'building' THEN 'build' ELSE 'repair' END, index_table)
		FROM indextable_internal.definition WHERE state <> 'active'));
	$server->safe_psql($database, $calls);
	is_right($server, $database, $name);
	return;
}

# is_right: everything is active, and as it should be but for the rows that are rejected
sub is_right
{
	my ($server, $database, $name) = @_;
	is(drift($server, $database, sort keys %recompute), '', "$name: all are what a recompute gives");
	is($server->safe_psql($database, q(SELECT d.index_table, d.state, v.kind, count(*) FROM indextable_internal.definition d LEFT JOIN indextable.verify(d.index_table) v ON true
		WHERE d.state <> 'active' OR v.kind IS NOT NULL GROUP BY 1, 2, 3)), 'm_r|active|rejected|4', "$name: verify() finds what is rejected, and nothing else");
	is($server->safe_psql($database, q(SELECT count(*) FROM pg_trigger WHERE tgname IN ('indextable_row', 'indextable_end', 'indextable_truncate') AND tgenabled <> 'A')), 0,
		"$name: triggers are enabled always");
	return;
}

sub psql_file
{
	my ($server, $database, $file, @options) = @_;
	return [ 'psql', '-XAtq', @options, '-v', 'ON_ERROR_STOP=1', '-f', $file, '-d', $server->connstr($database) ];
}

# goes: a command that must succeed, and says nothing on stderr but warnings
sub goes
{
	my ($name, @command) = @_;
	my ($out, $err) = ('', '');
	my $ok = IPC::Run::run(\@command, '>', \$out, '2>', \$err);
	ok($ok && $err !~ /^(?!.*WARNING).*error/mi, $name) || diag($err);
	return $err;
}

# complains: a command that runs on after errors; what it says
sub complains
{
	my (@command) = @_;
	my $err = '';
	my $out = '';
	IPC::Run::run(\@command, '>', \$out, '2>', \$err);
	return $err;
}

sub dump_origin
{
	my ($file, @options) = @_;
	$node->command_ok([ 'pg_dump', @options, '-f', "$dir/$file", $node->connstr('origin') ], "dumped: $file");
	return "$dir/$file";
}

sub database { $node->safe_psql('postgres', "CREATE DATABASE $_[0] OWNER dba"); return $_[0]; }

# ---- formats and options that restore all of it

my $plain = dump_origin('plain');
my $custom = dump_origin('custom', '-Fc');
my $directory = dump_origin('directory', '-Fd', '-j2');
my $clean = dump_origin('clean', '--clean', '--if-exists');
my @sections = map { dump_origin($_, "--section=$_") } 'pre-data', 'data', 'post-data';
my $named = dump_origin('named', '-e', 'indextable', map { ('-n', $_) } 'indextable', 'indextable_internal', 'indextable_queues', 'app', 'public', '"An ""Own"""');

my $drop_parted = sub { [ 'psql', '-Xqc', 'DROP TABLE parted', '-d', $node->connstr($_[0]) ] };
my @flow = (
	[ 'plain', sub { psql_file($node, $_[0], $plain, '-1') } ],
	[ 'custom', sub { [ 'pg_restore', '--exit-on-error', '-d', $node->connstr($_[0]), $custom ] } ],
	[ 'parallel', sub { [ 'pg_restore', '-j2', '--exit-on-error', '-d', $node->connstr($_[0]), $directory ] } ],
	# Somebody makes an index table before the triggers are restored: what is there without them is not forgotten.
	[ 'sections', sub { psql_file($node, $_[0], $sections[0]) }, sub { psql_file($node, $_[0], $sections[1]) },
		sub { [ 'psql', '-Xqc', "CREATE TABLE other (id int PRIMARY KEY, doc jsonb)", '-c', "SELECT indextable.create('other_k', 'other', '{k}', maintenance => 'async')",
			'-c', 'DROP TABLE other', '-d', $node->connstr($_[0]) ] },
		sub { psql_file($node, $_[0], $sections[2]) } ],
	[ 'schemas', sub { [ 'psql', '-Xqc', 'DROP SCHEMA public', '-d', $node->connstr($_[0]) ] }, sub { psql_file($node, $_[0], $named) } ],
	# --clean cannot drop the primary keys of partitions, whosever they are
	[ 'over_the_same', sub { psql_file($node, $_[0], $plain) }, sub { $drop_parted->($_[0]) }, sub { psql_file($node, $_[0], $clean) }, sub { $drop_parted->($_[0]) },
		sub { [ 'pg_restore', '--clean', '--if-exists', '-1', '-d', $node->connstr($_[0]), $custom ] } ]);
for my $flow (@flow)
{
	my ($name, @steps) = @$flow;
	database($name);
	goes("$name: restored", @{ $_->($name) }) for @steps;
	is_the_same($node, $name, $name);
	goes_on($node, $name, $name);
	# A parallel restore may make the dependencies as late as when something is drained.
	is(outcomes($node, $name, @drop_extension), $expected_drop, "$name: the extension takes its queues along");
}

# ---- over a database that has other things under the same names, and index tables of its own

database('over_others');
$node->safe_psql('over_others', <<'SQL');
CREATE EXTENSION indextable;
CREATE SCHEMA app;
CREATE TABLE app.f (id text PRIMARY KEY, d jsonb);
SELECT indextable.create('f_k', 'app.f', '{z}', maintenance => 'async');
INSERT INTO app.f VALUES ('a', '{"z": 1}');
CREATE TABLE own (pk int PRIMARY KEY, doc jsonb);
SELECT indextable.create('own_q', 'own', '{q}'), indextable.create('own_a', 'own', '{q}', maintenance => 'async');
INSERT INTO own VALUES (1, '{"q": 1}');
SQL
my $said = complains('psql', '-XAtqf', $clean, '-d', $node->connstr('over_others'));
is(join(' ', sort $said =~ /ERROR:  (cannot drop \w+ \w+|schema "indextable" already exists)/g), 'cannot drop extension indextable cannot drop schema indextable schema "indextable" already exists',
	'over_others: the extension stays for the index tables that the dump does not know');
is(() = $said =~ /ERROR/g, 3, 'over_others: no other error');
is(outcomes($node, 'over_others', [ 'SELECT', $_ ]) =~ s/^(--.*\n|\n|public\.own.*\n|indextable_queues\.queue_.*\n)//mgr,
	outcomes($node, 'origin', [ 'SELECT', $_ ]) =~ s/^(--.*\n|\n|indextable_queues\.queue_.*\n)//mgr, 'over_others: the same')
  for @same{'definitions', 'triggers', 'problems', 'rejections', 'entries'};
goes_on($node, 'over_others', 'over_others');
$node->safe_psql('over_others', q(UPDATE own SET doc = '{"q": 2}'; INSERT INTO own VALUES (2, '{"q": 3}'); SELECT indextable.drain()));
is($node->safe_psql('over_others', 'TABLE own_q; TABLE own_a'), "2|1\n3|2\n2|1\n3|2", 'over_others: and those go on');

# ---- by other owners

database('no_owner');
goes('no_owner: restored', 'pg_restore', '--no-owner', '--no-privileges', '--exit-on-error', '-d', $node->connstr('no_owner'), $custom);
is_the_same($node, 'no_owner', 'no_owner', owners => 1);
is($node->safe_psql('no_owner', q(SELECT DISTINCT relowner::regrole FROM pg_class WHERE oid IN (SELECT index_table FROM indextable_internal.definition UNION SELECT fact_table FROM indextable_internal.definition))),
	$node->safe_psql('no_owner', 'SELECT current_user'), 'no_owner: all belong to who restored them');
is($node->safe_psql('no_owner', q(SELECT count(*) FROM pg_class WHERE relacl IS NOT NULL AND oid IN (SELECT index_table FROM indextable_internal.definition))), 0, 'no_owner: and are open to nobody else');
goes_on($node, 'no_owner', 'no_owner');
$node->safe_psql('no_owner', 'GRANT ALL ON SCHEMA app TO dba; ALTER TABLE app.f OWNER TO dba');
is($node->safe_psql('no_owner', q(SELECT count(*) FROM pg_class WHERE relowner = 'dba'::regrole AND oid IN (SELECT index_table FROM indextable_internal.definition))), 8, 'no_owner: index tables follow a new owner');

# Who is no superuser cannot write the catalog of the extension, nor create that in a schema of his own, which the dump creates.
$node->safe_psql('postgres', 'CREATE DATABASE not_superuser OWNER dba');
my @as_dba = ('pg_restore', '--no-owner', '--no-privileges', '-U', 'dba', '-d', $node->connstr('not_superuser'), $custom);
like(complains(@as_dba), qr/schema indextable is owned by role dba, which is not a superuser/, 'not_superuser: the extension is refused');
is($node->safe_psql('not_superuser', q(SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'indextable%')), 0, 'not_superuser: no triggers');
$node->safe_psql('postgres', 'DROP DATABASE not_superuser');
$node->safe_psql('postgres', 'CREATE DATABASE not_superuser OWNER dba');
$node->safe_psql('not_superuser', 'CREATE EXTENSION indextable');
like(complains(@as_dba), qr/permission denied for table definition/, 'not_superuser: definitions are refused where the extension is there');
is($node->safe_psql('not_superuser', 'SELECT (SELECT count(*) FROM indextable_internal.definition), (SELECT count(*) FROM app.f) > 0'), '0|t', 'not_superuser: fact tables have their rows');
like(complains('psql', '-XAtqc', 'DELETE FROM app.f', '-d', $node->connstr('not_superuser')), qr/has triggers of indextable but is not registered/, 'not_superuser: but are not written without index tables');
$node->safe_psql('not_superuser', q(SET ROLE dba; DROP TABLE app.f_k CASCADE; SELECT indextable.create('f_k', 'app.f', '{k}'); UPDATE app.f SET doc = d(pk + 1);));
is(drift($node, 'not_superuser', 'app.f_k'), '', 'not_superuser: create() does');

# ---- without the data, and the data by itself

my $schema_only = dump_origin('schema_only', '--schema-only');
my $data_only = dump_origin('data_only', '--data-only');
my $disabled = dump_origin('disabled', '--data-only', '--disable-triggers');

# Each table that was an index table has the statement to make it one again, at once.
database('schema_only');
like(goes('schema_only: restored', @{ psql_file($node, 'schema_only', $schema_only) }),
	qr/WARNING:  table "f_k" was an index table, but its definition has not been restored.*HINT:  When the tables are restored, run: DROP TABLE app.f_k; SELECT indextable.create\('app.f_k', 'app.f', '\{k\}', sparse => false\);$/ms,
	'schema_only: with the statements to run');
for my $sql (q(INSERT INTO app.f VALUES (1, '{"k": "a", "v": "b"}', 'x')), 'TRUNCATE app.f')
{
	my ($status, $out, $err) = $node->psql('schema_only', $sql);
	like($err, qr/table "f" has triggers of indextable but is not registered/, "schema_only: refused: $sql");
}
my ($status, $out, $err) = $node->psql('schema_only', q(INSERT INTO app.f_k VALUES ('a', 1)));
like($err, qr/cannot change index table "f_k"/, 'schema_only: nobody writes what was an index table');
# what the error of a write says
($status, $out, $err) = $node->psql('schema_only', q(INSERT INTO app.f VALUES (1, '{"k": "a", "v": "b"}', 'x')));
my ($statements) = $err =~ /HINT:  Run: (.*)/;
is(() = $statements =~ /DROP TABLE/g, 8, 'schema_only: the error has the statements for all index tables');
$node->safe_psql('schema_only', "DROP VIEW app.uses; $statements");
$node->safe_psql('schema_only', q(INSERT INTO app.f SELECT g, d(g), 'x' FROM generate_series(1, 30) g; SELECT indextable.drain()));
is(drift($node, 'schema_only', grep { /^app/ } sort keys %recompute), '', 'schema_only: made again');
is($node->safe_psql('schema_only', 'SELECT index_table, v FROM indextable.index_tables i, indextable.verify(i.index_table) v'), '', 'schema_only: with nothing wrong');
is($node->safe_psql('schema_only', q(SELECT string_agg(indextable.definition(index_table), ' ' ORDER BY index_table::text) FROM indextable.index_tables WHERE index_table::text LIKE 'app.%')),
	$node->safe_psql('origin', q(SELECT string_agg(indextable.definition(index_table), ' ' ORDER BY index_table::text) FROM indextable.index_tables WHERE index_table::text LIKE 'app.%')), 'schema_only: as they were');

# The data alone: index tables are not written by hand, and fact tables that come before their definitions neither.
database('data_only');
goes('data_only: schema restored', @{ psql_file($node, 'data_only', $schema_only) });
my $n = $node->safe_psql('origin', q(SELECT count(*) FROM indextable_internal.definition d, pg_class c LEFT JOIN pg_inherits i ON inhrelid = c.oid WHERE relkind = 'r' AND index_table IN (c.oid, inhparent)));
$said = complains('psql', '-XAtqf', $data_only, '-d', $node->connstr('data_only'));
is(() = $said =~ /ERROR:  cannot change index table/g, $n, 'data_only: index tables are refused');
is(join(' ', sort $said =~ /ERROR:  table "(.*)" has triggers of indextable but is not registered/g), q(Fact 'x' f), 'data_only: so are fact tables without definitions');
is(() = $said =~ /ERROR/g, $n + 2, 'data_only: no other error');
is($node->safe_psql('data_only', 'SELECT (SELECT count(*) FROM app.f), (SELECT count(*) FROM building), (SELECT count(*) FROM mismatch)'), '0|300|20', 'data_only: other fact tables are there');
goes_on($node, 'data_only', 'data_only');

database('disabled');
goes('disabled: schema restored', @{ psql_file($node, 'disabled', $schema_only) });
goes('disabled: data restored', @{ psql_file($node, 'disabled', $disabled) });
is($node->safe_psql('disabled', q(SELECT count(*) FROM indextable_internal.definition d WHERE state = 'active' AND EXISTS (SELECT FROM indextable.verify(d.index_table) WHERE kind = 'setup'))), 0,
	'disabled: no index table is active without triggers that are enabled always');
is($node->safe_psql('disabled', $same{entries}), $expected{entries}, 'disabled: all entries are there');
$node->safe_psql('disabled', join '', map { "CALL indextable.repair($_);\n" } split /\n/, $node->safe_psql('disabled', 'SELECT quote_literal(index_table) FROM indextable.index_tables'));
is($node->safe_psql('disabled', q(SELECT DISTINCT state FROM indextable.index_tables)), 'active', 'disabled: repair() makes all of them active');
goes_on($node, 'disabled', 'disabled');

# ---- a table, a schema

my $table = dump_origin('table', '-t', 'app.f');
my $schema = dump_origin('schema', '-n', 'app');
my $needed = "CREATE SCHEMA app; $functions; CREATE FUNCTION app.keep(t text) RETURNS boolean IMMUTABLE LANGUAGE sql AS \$\$ SELECT t <> 'n1' \$\$;";

database('bare');
$node->safe_psql('bare', $needed);
is(join(' ', sort { $a cmp $b } complains('psql', '-XAtqf', $table, '-d', $node->connstr('bare')) =~ /ERROR:  (schema "indextable_internal" does not exist|trigger "\w+" for table "f" does not exist)/g),
	join(' ', ('schema "indextable_internal" does not exist') x 3, map { qq(trigger "indextable_$_" for table "f" does not exist) } 'end', 'row', 'truncate'), 'bare: without the extension there are no triggers');
$node->safe_psql('bare', q(UPDATE app.f SET doc = d(pk + 1)));
is($node->safe_psql('bare', 'SELECT count(*) FROM app.f'), $node->safe_psql('origin', 'SELECT count(*) FROM app.f'), 'bare: a plain table, with its data');

database('single');
$node->safe_psql('single', "CREATE EXTENSION indextable; $needed");
goes('single: restored', @{ psql_file($node, 'single', $table) });
$node->safe_psql('single', 'DELETE FROM app.f WHERE pk = 3');
is($node->safe_psql('single', 'SELECT count(*) FROM app.f WHERE pk = 3'), 0, 'single: without index tables it is a plain table');
$node->safe_psql('single', q(SELECT indextable.create('f_k', 'app.f', '{k}'); UPDATE app.f SET doc = d(pk + 1)));
is(drift($node, 'single', 'app.f_k'), '', 'single: which may have one');
is($node->safe_psql('single', q(SELECT * FROM indextable.verify('app.f_k'))), '', 'single: which is right');

database('alone');
$node->safe_psql('alone', "CREATE EXTENSION indextable; $functions");
like(goes('alone: restored', @{ psql_file($node, 'alone', $schema) }), qr/run: DROP TABLE app.f_k; SELECT indextable.create\('app.f_k', 'app.f', '\{k\}', sparse => false\);$/m, 'alone: with the statements to run');
($status, $out, $err) = $node->psql('alone', 'DELETE FROM app.f WHERE pk = 3');
like($err, qr/table "f" has triggers of indextable but is not registered/, 'alone: writes are refused');
($status, $out, $err) = $node->psql('alone', q(CALL indextable.repair('app.f_k')));
like($err, qr/"f_k" is not an index table/, 'alone: its index tables are none');
$node->safe_psql('alone', q(DROP TABLE app.f_k CASCADE; SELECT indextable.create('f_k', 'app.f', '{k}'); UPDATE app.f SET doc = d(pk + 1)));
is(drift($node, 'alone', 'app.f_k'), '', 'alone: until they are dropped and created again');

# an index table alone, and without its fact table; all but one index table, whose absence the catalog does not survive
my $index_only = dump_origin('index_only', '-t', 'app.f_u');
database('index_only');
$node->safe_psql('index_only', "CREATE EXTENSION indextable; CREATE SCHEMA app");
like(goes('index_only: restored', @{ psql_file($node, 'index_only', $index_only) }), qr/run: DROP TABLE app.f_u; Then create app.f_u again with indextable.create\(\)/,
	'index_only: without a statement, as the fact table may be made by anybody');
$node->safe_psql('index_only', q(CREATE TABLE app.f (pk int PRIMARY KEY, doc jsonb);
SELECT format('ALTER TABLE app.f OWNER TO %I', pg_get_userbyid(relowner)) FROM pg_class WHERE oid = 'app.f_u'::regclass \gexec));
($status, $out, $err) = $node->psql('index_only', 'DELETE FROM app.f_u');
like($err, qr/HINT:  It was restored without its definition. Run: DROP TABLE app.f_u; SELECT indextable.create\('app.f_u', 'app.f', '\{v\}', is_unique => true, sparse => true\);$/m,
	'index_only: which a write by hand says, once there is one of the same owner');

my $without = dump_origin('without', '-T', 'app.f_u');
database('without');
$said = complains('psql', '-XAtqf', $without, '-d', $node->connstr('without'));
like($said, qr/ERROR:  relation "app.f_u" does not exist/, 'without: the definitions name a table that is not there');
($status, $out, $err) = $node->psql('without', 'DELETE FROM app.f WHERE pk = 3');
($statements) = $err =~ /HINT:  Run: (.*)/;
is(() = $statements =~ /DROP TABLE/g, 7, 'without: an error has the statements for all others');
$node->safe_psql('without', "DROP VIEW app.uses; $statements; UPDATE app.f SET doc = d(pk + 1) WHERE pk % 2 = 0; SELECT indextable.drain()");
is(drift($node, 'without', grep { /^app/ && !/f_u/ } sort keys %recompute), '', 'without: which make them again');

# ---- another cluster

my $other = new_server('other');
my $all = "$dir/all";
$node->safe_psql('postgres', join '', map { "DROP DATABASE $_;\n" } split /\n/, $node->safe_psql('postgres', q(SELECT datname FROM pg_database WHERE datname NOT IN ('postgres', 'template0', 'template1', 'origin'))));
for my $way ('all', 'all_clean')
{
	$node->command_ok([ 'pg_dumpall', '-f', $all, $way eq 'all' ? () : ('--clean', '--if-exists'), '-d', $node->connstr('postgres') ], "$way: dumped");
	is(join('', grep { /ERROR/ && !/role ".*" already exists|current user cannot be dropped/ } split /^/m, complains('psql', '-XAtqf', $all, '-d', $other->connstr('postgres'))), '', "$way: restored");
	is_the_same($other, 'origin', $way);
}
goes_on($other, 'origin', 'all_clean');
$other->stop;

# ---- pg_upgrade keeps OIDs

my $new = PostgreSQL::Test::Cluster->new('new');
$new->init;
$new->append_conf('postgresql.conf', "fsync = off\nmax_prepared_transactions = 10\n");
$node->stop;
my $bin = `pg_config --bindir`;
chomp $bin;
chdir $dir;
ok(IPC::Run::run([ 'pg_upgrade', '-d', $node->data_dir, '-D', $new->data_dir, '-b', $bin, '-B', $bin, '-s', $new->host, '-p', $node->port, '-P', $new->port ],
	'>', \$out, '2>', \$err), 'upgraded') || diag("$out$err");
$new->start;
is_the_same($new, 'origin', 'upgraded');
goes_on($new, 'origin', 'upgraded');
is(outcomes($new, 'origin', @drop_extension), $expected_drop, 'upgraded: the extension takes its queues along');
$new->stop;

done_testing();
