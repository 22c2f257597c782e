# Whose code runs as whom: tenants who do not trust each other share a server, and none of them gets another's rights. What a
# user has written is evaluated as the owner of the table that it belongs to, in a security-restricted operation, whoever
# writes, reads or maintains the table, and when. Each subtest has a database of its own, and a role of that name, which
# owns the schema "m" there.

use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Oracle;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('rights', "shared_preload_libraries = 'indextable'", 'indextable.naptime = 200ms', 'max_worker_processes = 20', 'max_prepared_transactions = 5',
	'autovacuum = off');
my $db;

# sql ROLE, SQL: what it prints, errors too; SQL of ours has none
sub sql
{
	my ($role, $sql) = @_;
	my ($out, $err) = ('', '');
	$node->psql($db, $sql, stdout => \$out, stderr => \$err, extra_params => [ '-U', $role ], on_error_stop => 0);
	$err = join '', grep { !/NOTICE|is now invalid|^(?:DETAIL|HINT|CONTEXT|PL\/pgSQL)/ } split /^/, $err;
	chomp $err;
	return $err eq '' ? $out : $out eq '' ? $err : "$out\n$err";
}

# mine SQL: as the role of this database
sub mine { return sql($db, $_[0]); }
sub super { return sql('postgres', $_[0]); }

# tenant NAME: a database with the extension, and a role that may create things in it. In its functions: m.spy() notes as whom
# it is called, and tries to become superuser; m.code() is what an index calls, m.arm() has it do more.
sub tenant
{
	($db) = @_;
	$node->safe_psql('postgres', "CREATE ROLE $db LOGIN");
	$node->safe_psql('postgres', "CREATE DATABASE $db");
	is(super("CREATE EXTENSION indextable; GRANT CREATE ON DATABASE $db TO $db;"), '', 'a database');
	is(mine(<<'SQL'), '', 'functions that note as whom they are called');
CREATE SCHEMA m;
GRANT USAGE ON SCHEMA m TO public;
CREATE TABLE m.log (what text, who name DEFAULT current_user, session name DEFAULT session_user, path text DEFAULT current_setting('search_path'),
	zone text DEFAULT current_setting('TimeZone'), pid int DEFAULT pg_backend_pid());
GRANT ALL ON m.log TO public;
CREATE FUNCTION m.spy(what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO m.log VALUES (what);
	BEGIN
		EXECUTE format('ALTER ROLE %I SUPERUSER', current_database());
		INSERT INTO m.log VALUES ('is superuser by ' || what);
	EXCEPTION WHEN insufficient_privilege THEN NULL;
	END;
	BEGIN
		EXECUTE 'SET SESSION AUTHORIZATION postgres';
		INSERT INTO m.log VALUES ('is postgres by ' || what);
	EXCEPTION WHEN insufficient_privilege THEN NULL;
	END;
END $$;
CREATE FUNCTION m.code(value anyelement, what text DEFAULT 'index') RETURNS anyelement IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	PERFORM m.spy(what);
	RETURN value;
END $$;
SQL
}

# runs_as_owner WHAT, NAME: it was called, by others than the owner; as the owner, restricted, under fixed settings; and got nobody's rights
sub runs_as_owner
{
	my ($what, $name) = @_;
	is(super("SELECT DISTINCT who, path, zone FROM m.log WHERE what = '$what' AND session <> '$db'"), "$db|pg_catalog, pg_temp|UTC", "$name: as the owner");
	got_nothing($name);
}

sub got_nothing
{
	my ($name) = @_;
	is(super("SELECT DISTINCT who, session FROM m.log WHERE who <> '$db'"), '', "$name: as nobody else");
	is(super("SELECT DISTINCT what FROM m.log WHERE what LIKE 'is %'"), '', "$name: with nobody's rights");
	is(super("SELECT rolname FROM pg_roles WHERE rolsuper AND rolname !~ '^(postgres|pg_)'"), '', "$name: nobody is superuser");
	super('TRUNCATE m.log');
}

# ---- indexes that owners put on index tables

# Native indexes show the values of a key to those who may read the table.
subtest 'errors of unique indexes' => sub {
	tenant('violation');
	is(super(<<'SQL'), '', 'others');
CREATE ROLE writer_violation LOGIN;
CREATE ROLE reader_violation LOGIN;
SQL
	is(mine(<<'SQL'), '', 'an index table with a unique index');
CREATE TABLE m.f (id int PRIMARY KEY, doc jsonb NOT NULL);
SELECT indextable.create('m.f_ix', 'm.f', '{k}') \gset
CREATE UNIQUE INDEX ours ON m.f_ix (m.code(upper(k)));
INSERT INTO m.f VALUES (1, '{"k": "a"}');
GRANT INSERT ON m.f TO writer_violation, reader_violation;
GRANT SELECT ON m.f_ix TO reader_violation;
TRUNCATE m.log;
SQL
	my $insert = '\\set VERBOSITY default' . qq(\nINSERT INTO m.f VALUES (2, '{"k": "A"}'););
	for my $role ('writer_violation', 'reader_violation', 'violation')
	{
		my $err = '';
		$node->psql($db, $insert, stderr => \$err, extra_params => [ '-U', $role ]);
		like($err, qr/duplicate key value violates unique constraint "ours"/, "an error of $role");
		is($err =~ /DETAIL/ ? 1 : 0, $role eq 'writer_violation' ? 0 : 1, 'shows the values to those who may read them');
	}
	got_nothing('an index that raises an error');
};

# The end of the statement writes nothing: what is pending is written when the transaction commits.
my $pending = <<'SQL';
CREATE TABLE m.f2 (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, doc jsonb NOT NULL);
SELECT indextable.create('m.f2_ix', 'm.f2', '{k}') \gset
CREATE INDEX ON m.f2_ix (m.code(k));
ALTER TABLE m.f2 DISABLE TRIGGER indextable_end;
SQL

subtest 'the worker, at its commit' => sub {
	tenant('at_commit');
	is(mine($pending . <<'SQL'), '', 'a filter that leaves something pending');
CREATE FUNCTION m.write() RETURNS void LANGUAGE sql AS $$ INSERT INTO m.f2 VALUES ((random() * 1e9)::int, '{"k": "x"}') $$;
CREATE FUNCTION m.filter(doc jsonb) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN IF doc ? 'go' THEN PERFORM m.write(); END IF; RETURN true; END $$;
CREATE TABLE m.f1 (id int PRIMARY KEY, doc jsonb NOT NULL);
SELECT indextable.create('m.f1_ix', 'm.f1', '{k}', filter => 'm.filter(doc)', maintenance => 'async') \gset
TRUNCATE m.log;
INSERT INTO m.f1 VALUES (1, '{"k": "a", "go": 1}');
SELECT indextable.wait('m.f1_ix', '10min') \gset
SQL
	is(mine('SELECT k FROM m.f2_ix'), 'x', 'it was written');
	runs_as_owner('index', 'an index');
};

subtest 'the worker, folding totals' => sub {
	tenant('folding');
	is(mine(<<'SQL'), '', 'totals with many entries');
CREATE TABLE m.f (id int PRIMARY KEY, doc jsonb NOT NULL);
SELECT indextable.create('m.f_tot', 'm.f', '{k}', totals => '{count(*)}') \gset
CREATE INDEX ON m.f_tot (m.code(k));
DO $$ BEGIN FOR i IN 1 .. 200 LOOP INSERT INTO m.f VALUES (i, '{"k": "a"}'); COMMIT; END LOOP; END $$;
SQL
	$node->poll_query_until($db, "SELECT count(*) > 0 FROM m.log WHERE session <> '$db'");
	runs_as_owner('index', 'an index');
};

# A restriction of the server ends with its command, and what is pending is written after that.
for my $command ('ANALYZE m.plain', 'REFRESH MATERIALIZED VIEW m.mv', 'CREATE INDEX ON m.plain (m.armed(i + 1))', 'REINDEX TABLE m.plain', 'CLUSTER m.plain USING plain_armed_idx')
{
	subtest "a superuser's $command" => sub {
		tenant($command =~ /^(\w+)/ ? lc("by_$1") : die);
		is(mine($pending . <<'SQL'), '', 'a plain table with an index that leaves something pending');
CREATE TABLE m.arms (yes boolean);
CREATE FUNCTION m.write() RETURNS void LANGUAGE sql AS $$ INSERT INTO m.f2 VALUES ((random() * 1e9)::int, '{"k": "x"}') $$;
CREATE FUNCTION m.armed(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN IF EXISTS (SELECT FROM m.arms) THEN PERFORM m.write(); END IF; RETURN i; END $$;
CREATE TABLE m.plain (i int);
CREATE INDEX ON m.plain (m.armed(i));
INSERT INTO m.plain SELECT generate_series(1, 3);
CREATE MATERIALIZED VIEW m.mv AS SELECT m.armed(i) FROM m.plain;
INSERT INTO m.arms VALUES (true);
TRUNCATE m.log;
SQL
		is(super("SET TimeZone = 'Asia/Tokyo'; $command"), '', 'the command');
		runs_as_owner('index', 'an index');
	};
}

subtest "a superuser's repair(), rebuild(), alter() and drain()" => sub {
	tenant('repairs');
	is(mine(<<'SQL'), '', 'index tables that lack an entry');
CREATE TABLE m.f (id int PRIMARY KEY, doc jsonb NOT NULL);
SELECT indextable.create('m.f_tot', 'm.f', '{k}', totals => '{count(*)}') \gset
SELECT indextable.create('m.f_ix', 'm.f', '{k}') \gset
SELECT indextable.create('m.f_parts', 'm.f', '{k}', partitions => 2) \gset
SELECT indextable.create('m.f_as', 'm.f', '{k}', maintenance => 'async') \gset
CREATE INDEX ON m.f_tot (m.code(k));
CREATE INDEX ON m.f_ix (m.code(k));
CREATE INDEX ON m.f_parts (m.code(k));
CREATE INDEX ON m.f_as (m.code(k)) WHERE m.code(true, 'predicate');
ALTER TABLE m.f DISABLE TRIGGER indextable_row;
INSERT INTO m.f VALUES (1, '{"k": "a"}');
ALTER TABLE m.f ENABLE ALWAYS TRIGGER indextable_row;
TRUNCATE m.log;
SQL
	for my $table ('f_ix', 'f_parts', 'f_as', 'f_tot')
	{
		is(super("CALL indextable.repair('m.$table') \\gset"), '', "repair() of $table");
		is(super("SELECT indextable.drain('m.f') \\gset"), '', 'drain()');
		runs_as_owner('index', "repair() of $table");
		is(super("CALL indextable.rebuild('m.$table')"), '', "rebuild() of $table");
		got_nothing("rebuild() of $table");
	}
	is(mine(<<'SQL'), '', 'an index table with a column of the fact table');
CREATE TABLE m.g (id int PRIMARY KEY, doc jsonb NOT NULL, v int);
INSERT INTO m.g VALUES (1, '{}', 1);
SELECT indextable.create('m.g_v', 'm.g', '{@v}') \gset
CREATE INDEX ON m.g_v (m.code(v)) WHERE m.code(true, 'predicate');
TRUNCATE m.log;
SQL
	is(super("SELECT indextable.alter('m.f_ix', include => '{n}') \\gset\nALTER TABLE m.g ALTER COLUMN v TYPE bigint"), '', 'alter() and ALTER TABLE');
	got_nothing('alter() and ALTER TABLE');
	is(super("INSERT INTO m.f SELECT i, '{\"k\": \"b\"}' FROM generate_series(2, 200) i; UPDATE m.f SET doc = '{\"k\": \"c\"}'; DELETE FROM m.f WHERE id > 100"), '', 'writes of a superuser');
	is(super("SELECT indextable.drain('m.f') \\gset"), '', 'drain()');
	is(super("SELECT DISTINCT who FROM m.log WHERE what = 'predicate' AND session <> 'repairs'"), 'repairs', 'a predicate: as the owner');
	runs_as_owner('index', 'writes of a superuser');
	is(mine('SELECT count(*) FROM indextable.verify(\'m.f\')'), 0, 'index tables are right');
};

subtest "a superuser's DROP and DETACH of a partition" => sub {
	tenant('partition');
	is(mine(<<'SQL'), '', 'a partitioned fact table');
CREATE TABLE m.f (id int PRIMARY KEY, doc jsonb NOT NULL) PARTITION BY RANGE (id);
CREATE TABLE m.f1 PARTITION OF m.f FOR VALUES FROM (0) TO (10);
CREATE TABLE m.f2 PARTITION OF m.f FOR VALUES FROM (10) TO (20);
CREATE TABLE m.f3 PARTITION OF m.f FOR VALUES FROM (20) TO (30);
INSERT INTO m.f SELECT i, '{"k": "a"}' FROM generate_series(0, 29) i;
SELECT indextable.create('m.f_tot', 'm.f', '{k}', totals => '{count(*)}') \gset
SELECT indextable.create('m.f_ix', 'm.f', '{k}') \gset
CREATE INDEX ON m.f_tot (m.code(k));
CREATE INDEX ON m.f_ix (m.code(k));
TRUNCATE m.log;
SQL
	for my $command ('ALTER TABLE m.f DETACH PARTITION m.f1', 'DROP TABLE m.f2', 'ALTER TABLE m.f ATTACH PARTITION m.f1 FOR VALUES FROM (0) TO (10)')
	{
		is(super($command), '', $command);
		runs_as_owner('index', $command);
	}
	is(super("SELECT count(*) FROM m.f WHERE doc ->> 'k' = 'a'; TRUNCATE m.f3; VACUUM ANALYZE m.f; VACUUM ANALYZE m.f_ix"), '20', 'queries and maintenance of a superuser');
	got_nothing('queries and maintenance of a superuser');
};

subtest 'the caller of a SECURITY DEFINER function, at commit' => sub {
	tenant('definer');
	is(super(<<'SQL'), '', 'a secret of another');
CREATE ROLE bob_definer LOGIN;
CREATE SCHEMA bob AUTHORIZATION bob_definer;
SET ROLE bob_definer;
CREATE TABLE bob.secret (s text);
SQL
	is(mine($pending . <<'SQL'), '', 'a function that leaves something pending');
CREATE FUNCTION m.ping() RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ INSERT INTO m.f2 VALUES ((random() * 1e9)::int, '{"k": "x"}') $$;
TRUNCATE m.log;
SQL
	is(sql('bob_definer', 'SELECT m.ping() \gset'), '', 'called');
	runs_as_owner('index', 'an index');
};

# The two rows share a key for a moment, and are written once more when the transaction commits.
subtest 'rows that shared a deferrable key' => sub {
	tenant('shared_key');
	is(mine(<<'SQL'), '', 'a filter that swaps two keys');
CREATE TABLE m.f2 (id int, doc jsonb NOT NULL, PRIMARY KEY (id) DEFERRABLE INITIALLY IMMEDIATE);
SELECT indextable.create('m.f2_ix', 'm.f2', '{k}') \gset
CREATE INDEX ON m.f2_ix (m.code(k));
INSERT INTO m.f2 VALUES (1, '{"k": "one"}'), (2, '{"k": "two"}');
CREATE FUNCTION m.write() RETURNS void LANGUAGE sql AS $$ UPDATE m.f2 SET id = 3 - id $$;
CREATE FUNCTION m.filter(doc jsonb) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN IF doc ? 'go' THEN PERFORM m.write(); END IF; RETURN true; END $$;
CREATE TABLE m.f1 (id int PRIMARY KEY, doc jsonb NOT NULL);
SELECT indextable.create('m.f1_ix', 'm.f1', '{k}', filter => 'm.filter(doc)', maintenance => 'async') \gset
TRUNCATE m.log;
INSERT INTO m.f1 VALUES (1, '{"k": "a", "go": 1}');
SELECT indextable.wait('m.f1_ix', '10min') \gset
SQL
	got_nothing('in the worker');
	is(super('UPDATE m.f2 SET id = 3 - id'), '', 'a superuser');
	runs_as_owner('index', 'a superuser');
};

# Such an index runs code of its owner without an expression: the range type's. While an index is written, nothing else can be.
subtest 'functions of a range type in a GiST index' => sub {
	tenant('ranges');
	is(mine(<<'SQL'), '', 'a range type with a function of a user');
SET client_min_messages = error;
CREATE FUNCTION m.diff(a int, b int) RETURNS float8 IMMUTABLE LANGUAGE plpgsql AS
$$ BEGIN RAISE WARNING 'called as %, %, %', current_user, current_setting('search_path'), current_setting('TimeZone'); RETURN a - b; END $$;
CREATE TYPE m.span AS RANGE (subtype = int, subtype_diff = m.diff);
CREATE TABLE m.f (id int PRIMARY KEY, doc jsonb NOT NULL, s m.span NOT NULL);
SELECT indextable.create('m.f_s', 'm.f', '{@s}') \gset
CREATE INDEX ON m.f_s USING gist (s);
INSERT INTO m.f SELECT i, '{}', m.span(i, i + 10) FROM generate_series(1, 500) i;
SQL
	my %said = map { $_ => 1 } super("SET TimeZone = 'Asia/Tokyo'; INSERT INTO m.f SELECT i, '{}', m.span(i, i + 10) FROM generate_series(501, 1000) i") =~ /WARNING:  (called as .*)/g;
	is_deeply([ keys %said ], [ 'called as ranges, pg_catalog, pg_temp, UTC' ], 'a superuser writes, and the owner is called');
};

# Queue tables have keys of users' types, and belong to a superuser.
subtest 'functions of a range type, while queue tables are analyzed' => sub {
	tenant('analyzed');
	is(mine(<<'SQL'), '', 'asynchronous index tables, and a feed, of keys that are ranges');
CREATE FUNCTION m.difference(a int, b int) RETURNS float8 IMMUTABLE LANGUAGE sql AS 'SELECT m.code(a - b, $$difference$$)';
CREATE TYPE m.span AS RANGE (subtype = int, subtype_diff = m.difference);
CREATE DOMAIN m.part AS m.span;
CREATE TABLE m.f (id m.span PRIMARY KEY, doc jsonb);
CREATE TABLE m.g (id m.part PRIMARY KEY, doc jsonb);
SELECT indextable.create('m.f_k', 'm.f', '{k}', maintenance => 'async') \gset
SELECT indextable.create_feed('m.g') \gset
BEGIN;
INSERT INTO m.f SELECT m.span(i, i + 10), '{"k": "a"}' FROM generate_series(1, 300) i;
INSERT INTO m.g SELECT m.span(i, i + 10), '{"k": "a"}' FROM generate_series(1, 300) i;
COMMIT;
SQL
	is(super(<<'SQL'), '', 'ANALYZE, VACUUM FULL and REINDEX');
ANALYZE;
VACUUM (FULL, ANALYZE);
REINDEX SCHEMA indextable_internal;
SQL
	cmp_ok(super("SELECT count(*) FROM m.log WHERE who = '$db'"), '>', 0, "the owner's tables are analyzed");
	got_nothing('ANALYZE');
};

# ---- what is planned

# A function with constant arguments is called when the expression around it is planned, or when the server opens an index. In
# a query the server itself plans those of all indexes of its tables as the user who asks: there are none on what is queried.
subtest 'what a superuser looks at, plans and alters' => sub {
	tenant('planned');
	is(mine(<<'SQL'), '', 'constants wherever a user may write them');
CREATE TABLE m.f (id int PRIMARY KEY, doc jsonb NOT NULL, t text CHECK (m.code(true, 'check')));
INSERT INTO m.f SELECT i, jsonb_build_object('k', 'k' || i % 10, 'v', i), 't' FROM generate_series(1, 100) i;
SELECT indextable.create('m.f_k', 'm.f', '{k}', filter => 'id > 0 AND m.code(true, ''filter'')') \gset
SELECT indextable.create('m.f_e', 'm.f', ARRAY['(m.code(doc ->> ''k'', ''field'') || m.code(''x''::text, ''field'')) AS e']) \gset
SELECT indextable.create('m.f_as', 'm.f', '{k,v::int}', maintenance => 'async') \gset
SELECT indextable.create('m.f_tot', 'm.f', '{k}', totals => '{count(*),sum(v::int)}') \gset
SELECT indextable.create('m.f_parts', 'm.f', '{v::int}', partition_by => 'RANGE (v)', partition_bounds => ARRAY['FROM (m.code(0, ''bound'')) TO (1000)']) \gset
CREATE INDEX ON m.f_k ((k || m.code('x'::text, 'index')), id);
CREATE INDEX ON m.f_as ((v + m.code(1, 'index'))) WHERE m.code(true, 'predicate');
CREATE INDEX ON m.f_tot (m.code(k));
CREATE INDEX ON m.f_parts ((m.code(v, 'index')));
CREATE STATISTICS m.s ON (k || m.code('x'::text, 'statistics')), id FROM m.f_k;
CREATE TYPE m.mood AS ENUM ('calm');
CREATE FUNCTION m.as_json(m.mood) RETURNS json LANGUAGE plpgsql AS $$ BEGIN PERFORM m.spy('cast'); RETURN '1'; END $$;
CREATE CAST (m.mood AS json) WITH FUNCTION m.as_json(m.mood);
CREATE TABLE m.row (id int PRIMARY KEY, k text, moods m.mood[]);
INSERT INTO m.row VALUES (1, 'k1', '{calm}');
SELECT indextable.create('m.row_k', 'm.row', '{@k}') \gset
ANALYZE m.f, m.f_k, m.f_as, m.f_tot, m.f_parts;
UPDATE m.f SET doc = jsonb_set(doc, '{k}', '"k1"') WHERE id % 7 = 0;
TRUNCATE m.log;
SQL
	my $n = 0;
	# each in a session of its own: what is planned once is kept
	for my $command (
		(map { "TABLE indextable.$_" } qw(index_tables queues progress rejected checks index_table_stats distribution missed)),
		(map { "SELECT * FROM indextable.verify('m.$_')" } qw(f_k f_e f_as f_tot f_parts f)),
		(map { "SELECT indextable.definition('m.$_')" } qw(f_k f_e f_parts)),
		"SELECT * FROM indextable.profile('m.f', '{k}')", "SELECT * FROM indextable.advise('m.f')", "SELECT * FROM indextable.advise('m.f', '{k}')",
		"SELECT * FROM indextable.lookup('m.f_k', '{\"k\": \"k1\"}')", "SELECT * FROM indextable.lookup('m.f_e', '{\"e\": \"k1x\"}')",
		"SELECT * FROM indextable.lookup('m.row_k', '{\"k\": \"k1\"}')", "SELECT * FROM indextable.query('m.row_k', '{\"k\": \"k1\"}', with_document => true)",
		"SELECT * FROM indextable.query('m.f_as', '{\"k\": \"k1\"}')", "SELECT * FROM indextable.totals('m.f_tot')",
		"SELECT indextable.wait('m.f_as')", "SELECT indextable.drain('m.f')",
		(map { "SET indextable.planner = $_; SELECT id FROM m.f WHERE doc ->> 'k' = 'k1'; SELECT doc ->> 'k', count(*) FROM m.f GROUP BY 1; SELECT id FROM m.f WHERE (doc ->> 'v')::int BETWEEN 5 AND 7" } qw(on force)),
		"SELECT * FROM indextable.explain(\$\$SELECT id FROM m.f WHERE doc ->> 'k' = 'k1'\$\$)",
		"SELECT * FROM indextable.explain(\$\$SELECT id FROM m.f WHERE doc ->> 'v' = '1'\$\$, \$\$indextable.create('m.f_if', 'm.f', ARRAY['(m.code(doc ->> ''v'', ''field'')) AS v', 'k'], filter => 'm.code(true, ''filter'')')\$\$)",
		"SELECT indextable.create('m.f_by_super', 'm.f', '{k}', filter => 'm.code(true, ''filter'')')",
		"SELECT indextable.alter('m.f_k', include => '{v}')", "SELECT indextable.alter('m.f_as', maintenance => 'transactional')",
		"CALL indextable.rebuild('m.f_e')", "CALL indextable.rebuild('m.f_parts')", "CALL indextable.repair('m.f')",
		'ALTER TABLE m.f ADD COLUMN u int', 'ALTER TABLE m.f RENAME COLUMN t TO tt', 'ALTER TABLE m.f_k RENAME TO f_kk', 'ALTER SCHEMA m RENAME TO mm; ALTER SCHEMA mm RENAME TO m',
		'ALTER FUNCTION m.spy(text) RENAME TO spy2; ALTER FUNCTION m.spy2(text) RENAME TO spy', 'VACUUM ANALYZE m.f_kk, m.f', 'REINDEX TABLE m.f_kk', 'REINDEX TABLE CONCURRENTLY m.f_kk',
		"SELECT indextable.drop('m.f_by_super')", 'DROP TABLE m.f_e')
	{
		my $out = super("ALTER ROLE planned NOSUPERUSER; TRUNCATE m.log; $command");
		unlike($out, qr/ERROR/, $command);
		is(super("SELECT DISTINCT who, what FROM m.log WHERE who <> 'planned' OR what LIKE 'is %'"), '', 'calls nothing as another');
		$n += super("SELECT count(*) FROM m.log");
	}
	cmp_ok($n, '>', 0, 'functions were called');
	super('TRUNCATE m.log');
	is(mine('SELECT * FROM indextable.verify(\'m.f\')'), '', 'index tables are right');

	# What errors undo is seen by warnings only.
	is(mine(<<'SQL'), '', 'indexes that are only looked at');
CREATE FUNCTION m.says(value anyelement) RETURNS anyelement IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'called as %', current_user; RETURN value; END $$;
SET client_min_messages = error;
CREATE TABLE m.native (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO m.native SELECT i, jsonb_build_object('k', i) FROM generate_series(1, 100) i;
CREATE INDEX ON m.native ((m.says((doc ->> 'k') || m.says('x'::text))));
CREATE TABLE m.keyless (id int NOT NULL, doc jsonb NOT NULL);
CREATE UNIQUE INDEX ON m.keyless (id) WHERE m.says(true);
SELECT indextable.create('m.native_k', 'm.native', '{k}') \gset
CREATE TABLE m.copy (LIKE m.native_k);
SELECT obj_description('m.native_k'::regclass) AS told \gset
COMMENT ON TABLE m.copy IS :'told';
DROP TABLE m.native_k;
ALTER TABLE m.copy RENAME TO native_k;
CREATE INDEX ON m.native_k ((k || m.says('x'::text)));
SQL
	like(super("SELECT indextable.create('m.keyless_k', 'm.keyless', '{k}')"), qr/^psql:<stdin>:1: ERROR:  .*primary key/, 'create() over a table without a primary key');
	for my $command ("SELECT * FROM indextable.advise('m.native', '{k}')",
		"SELECT indextable_internal.index_serves(i, 2::smallint, 'k', NULL) FROM (SELECT indexrelid FROM pg_index WHERE indrelid = 'm.native'::regclass) x(i)", "SELECT indextable.create('m.native_k', 'm.native', '{k}', if_not_exists => true)")
	{
		my $out = super("SET client_min_messages = warning; $command");
		unlike($out, qr/ERROR|called as (?!planned)/, $command);
	}
};

# ---- who somebody is afterwards

# JSON_VALUE() returns a type whose input is evaluated as the owner, and its errors are caught where they are skipped.
SKIP:
{
	skip 'JSON_VALUE() comes with PostgreSQL 17', 1 if $node->pg_version < 17;
	subtest 'a writer whose value is skipped' => sub {
		tenant('writer');
		my $create = "CREATE TABLE %s.f (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('%s.f_m', '%s.f', ARRAY['(JSON_VALUE(doc, ''\$.x'' RETURNING money ERROR ON ERROR)) AS m'], on_mismatch => 'skip'%s) \\gset";
		is(super(sprintf($create, ('public') x 3, '') . "\nGRANT INSERT ON f TO writer"), '', "a superuser's table");
		is(mine(<<'SQL'), "writer|writer|off\nwriter|writer|off", 'stays who it is');
INSERT INTO f VALUES (1, '{"x": "bad"}');
SELECT current_user, session_user, current_setting('is_superuser');
DISCARD ALL;
SET ROLE writer;
SELECT current_user, session_user, current_setting('is_superuser');
SQL
		is(mine(sprintf($create, ('m') x 3, ", maintenance => 'async'")), '', 'and the worker');
		is(super(<<'SQL'), '', 'after which it drains the queue of another');
CREATE ROLE other_writer;
CREATE SCHEMA o AUTHORIZATION other_writer;
SET ROLE other_writer;
CREATE TABLE o.f (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('o.f_k', 'o.f', '{k}', maintenance => 'async') \gset
SQL
		is(super(<<'SQL'), "t\nt\npostgres|3|1", 'by the worker');
INSERT INTO m.f VALUES (1, '{"x": "bad"}');
SELECT indextable.wait('m.f_m', '10min');
INSERT INTO o.f VALUES (1, '{"k": "a"}');
SELECT indextable.wait('o.f_k', '10min');
INSERT INTO m.f SELECT i, '{"x": "1"}' FROM generate_series(2, 4) i;
SELECT indextable.drain() \gset
SELECT current_user, (SELECT count(*) FROM m.f_m), (SELECT count(*) FROM o.f_k);
SQL
	};
}

subtest "a writer whose value a user's function refuses" => sub {
	tenant('refused');
	is(mine(<<'SQL'), '', 'a field that raises errors');
CREATE FUNCTION m.refuse(t text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
$$ BEGIN PERFORM set_config('DateStyle', 'German', false), set_config('search_path', 'm', false); RETURN t::int::text; END $$;
CREATE TABLE m.f (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('m.f_r', 'm.f', ARRAY['(m.refuse(doc ->> ''x'')) AS x']) \gset
CREATE INDEX ON m.f_r (m.refuse(x));
SQL
	is(super(<<'SQL') =~ s/psql:.*?ERROR:  invalid input syntax\N*\n?//r, "postgres|ISO, MDY|\"\$user\", public\npostgres|ISO, MDY|\"\$user\", public\n", 'a superuser stays who it is, by settings, too');
BEGIN;
INSERT INTO m.f VALUES (1, '{"x": "1"}');
SELECT current_user, current_setting('DateStyle'), current_setting('search_path');
SAVEPOINT a;
INSERT INTO m.f VALUES (2, '{"x": "bad"}');
ROLLBACK TO a;
SELECT current_user, current_setting('DateStyle'), current_setting('search_path');
SQL
};

# ---- who writes changes before the transaction ends

subtest 'a writer who is another at the commit' => sub {
	tenant('changing');
	is(super('CREATE ROLE writer_changing LOGIN; CREATE ROLE nobody_changing ROLE writer_changing'), '', 'others');
	is(mine(<<'SQL'), '', 'fields that tell as whom they are evaluated');
CREATE FUNCTION m.me(i int) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
	RETURN concat_ws('|', current_user, current_setting('search_path'), current_setting('DateStyle'), current_setting('row_security'));
END $$;
CREATE TABLE m.f (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, doc jsonb);
SELECT indextable.create('m.f_k', 'm.f', '{k, (m.me(id)) AS who}') \gset
SELECT indextable.create('m.f_as', 'm.f', '{k, (m.me(id)) AS who}', maintenance => 'async') \gset
SELECT indextable.create('m.f_tot', 'm.f', '{(m.me(id)) AS who}', totals => '{count(*)}') \gset
GRANT INSERT, UPDATE, DELETE, SELECT ON m.f TO writer_changing;
CREATE TABLE m.g (id int);
CREATE FUNCTION m.write() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN INSERT INTO m.f VALUES (NEW.id, '{"k": "deferred"}'); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON m.g DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION m.write();
GRANT INSERT ON m.g TO writer_changing;
SQL
	is(sql('writer_changing', <<'SQL'), '1', 'pending entries, a deferred trigger, cursors that are held, and a prepared transaction');
CREATE FUNCTION pg_temp.write(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO m.f VALUES (i, '{"k": "held"}'); RETURN i; END $$;
BEGIN;
SET LOCAL search_path = pg_temp;
SET LOCAL DateStyle = 'German';
SET LOCAL row_security = off;
INSERT INTO m.f VALUES (1, '{"k": "a"}'), (2, '{"k": "b"}');
UPDATE m.f SET id = 3 - id;
SET LOCAL ROLE nobody_changing;
COMMIT;
BEGIN;
INSERT INTO m.f VALUES (3, '{"k": "c"}');
INSERT INTO m.f VALUES (3, '{"k": "d"}');
DELETE FROM m.f WHERE doc ->> 'k' = 'c';
INSERT INTO m.g VALUES (4);
SET LOCAL ROLE nobody_changing;
COMMIT;
BEGIN;
DECLARE c CURSOR WITH HOLD FOR SELECT pg_temp.write(i) FROM generate_series(10, 13) i;
COMMIT;
BEGIN;
DECLARE c2 CURSOR WITH HOLD FOR SELECT count(*) FROM m.f WHERE doc ->> 'k' = 'a';
SET LOCAL ROLE nobody_changing;
COMMIT;
FETCH c2;
SQL
	is(sql('writer_changing', <<'SQL'), '', '... which a session without temporary tables leaves');
SET DateStyle = 'German';
BEGIN;
DELETE FROM m.f WHERE id >= 10;
INSERT INTO m.f VALUES (5, '{"k": "e"}');
SET LOCAL ROLE nobody_changing;
PREPARE TRANSACTION 'changing';
SQL
	is(super("SET search_path = pg_temp; COMMIT PREPARED 'changing'; SELECT indextable.drain() \\gset"), '', 'committed by another');
	is(super("SELECT who, count(*) FROM m.$_ GROUP BY 1"), 'changing|pg_catalog, pg_temp|ISO, YMD|on|5', "$_: as the owner, under fixed settings") for 'f_k', 'f_as';
	is(super('SELECT who, sum(rows) FROM m.f_tot GROUP BY 1'), 'changing|pg_catalog, pg_temp|ISO, YMD|on|5', 'and totals');
	is(super("SELECT k, id FROM m.f_k EXCEPT SELECT doc ->> 'k', id FROM m.f; SELECT doc ->> 'k', id FROM m.f EXCEPT SELECT k, id FROM m.f_k"), '', 'index tables are right');
	is(super("SELECT * FROM indextable.verify('m.f')"), '', '... says verify(), too');
};

# ---- what code may do while a transaction commits

# An entry that is too long for the primary key is written then, and the index of the owner calls the function.
subtest 'code of an owner while another role commits' => sub {
	tenant('commits');
	is(super(sprintf(<<'SQL', $node->host, $node->port, $db)), '', 'a foreign server');
CREATE EXTENSION postgres_fdw;
CREATE SERVER s FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%1$s', port '%2$s', dbname '%3$s', use_remote_estimate 'true');
GRANT USAGE ON FOREIGN SERVER s TO %3$s;
CREATE USER MAPPING FOR %3$s SERVER s OPTIONS (user '%3$s', password_required 'false');
CREATE ROLE commits_writer LOGIN;
CREATE TABLE once (i int UNIQUE DEFERRABLE INITIALLY DEFERRED);
GRANT INSERT ON once TO %3$s;
SQL
	is(mine(<<'SQL'), '', 'code that is called at the commit');
CREATE TABLE m.remote (i int);
CREATE FOREIGN TABLE m.there (i int) SERVER s OPTIONS (schema_name 'm', table_name 'remote');
CREATE TABLE m.parts (i int) PARTITION BY LIST (i);
CREATE FOREIGN TABLE m.part PARTITION OF m.parts DEFAULT SERVER s OPTIONS (schema_name 'm', table_name 'remote');
CREATE TABLE m.does (what text);
GRANT SELECT ON m.does TO public;
CREATE FUNCTION m.run(what text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXECUTE what; END $$;
CREATE FUNCTION m.at_commit(k text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN PERFORM m.run(what) FROM m.does; RETURN k; END $$;
CREATE TABLE m.f (id int PRIMARY KEY, doc jsonb NOT NULL);
SELECT indextable.create('m.f_k', 'm.f', '{k}', include => '{v}') \gset
CREATE INDEX ON m.f_k (m.at_commit(k));
GRANT INSERT ON m.f TO public;
SQL
	my $wide = q(INSERT INTO m.f VALUES (%d, jsonb_build_object('k', 'w', 'v', (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 200) i))));
	my $id = 0;
	for my $what ('SELECT count(*) FROM m.there', 'EXPLAIN SELECT FROM m.there', 'INSERT INTO m.there VALUES (1)', 'INSERT INTO m.parts VALUES (1)', 'ANALYZE m.there', 'ANALYZE', 'TRUNCATE m.parts',
		'COPY m.parts FROM PROGRAM $$echo 1$$', 'IMPORT FOREIGN SCHEMA m FROM SERVER s INTO m', 'INSERT INTO public.once VALUES (1), (1)', 'LISTEN x', 'SET LOCAL ROLE commits_writer')
	{
		mine("TRUNCATE m.does; INSERT INTO m.does VALUES (\$w\$$what\$w\$)");
		like(sql('commits_writer', sprintf($wide, ++$id)), qr/ERROR:  cannot (?:use foreign table|ask other servers|(?:fire|execute|set) .*within security-restricted operation)|permission denied/, $what);
	}
	mine(q(TRUNCATE m.does; INSERT INTO m.does VALUES ('DO $d$ DECLARE c refcursor := ''left''; BEGIN OPEN c FOR SELECT FROM pg_class; END $d$')));
	is(sql('commits_writer', sprintf("$wide; SELECT name FROM pg_cursors; SELECT 1", ++$id)), '1', 'a cursor that is left open');
	is(mine("TRUNCATE m.does; SELECT count(*) FROM m.there; SELECT id FROM m.f_k; SELECT indextable.verify('m.f')"), "0\n$id", 'all goes on');
};

# ---- what those can do who have few rights

subtest 'a role without rights' => sub {
	tenant('rightless');
	is(mine(<<'SQL'), '', 'tables of another');
CREATE TABLE m.f (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO m.f SELECT i, jsonb_build_object('k', 'secret' || i) FROM generate_series(1, 20) i;
SELECT indextable.create('m.f_k', 'm.f', '{k}') \gset
SELECT indextable.create('m.f_as', 'm.f', '{k}', maintenance => 'async') \gset
SELECT indextable.create('m.f_tot', 'm.f', '{k}', totals => '{count(*)}') \gset
SQL
	is(super('CREATE ROLE eve_rightless LOGIN; GRANT CREATE ON SCHEMA public TO eve_rightless'), '', 'another');
	# every function, with NULL for its arguments: nothing ends the session
	my $calls = super(<<'SQL');
SELECT CASE prokind WHEN 'p' THEN 'CALL ' ELSE 'SELECT ' END || oid::regproc || '(' ||
	coalesce((SELECT string_agg('NULL::' || CASE t WHEN 'anyelement'::regtype THEN 'text' ELSE format_type(t, NULL) END, ', ' ORDER BY o) FROM unnest(proargtypes) WITH ORDINALITY u (t, o)), '') || ')'
FROM pg_proc WHERE pronamespace IN ('indextable'::regnamespace, 'indextable_internal'::regnamespace) AND prokind IN ('f', 'p') AND has_function_privilege('eve_rightless', oid, 'EXECUTE')
	AND prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype) ORDER BY oid::regprocedure::text
SQL
	like(sql('eve_rightless', "$calls\n" =~ s/\n/;\n/gr . q(SELECT 'still here')), qr/^still here$/m, 'NULLs');
	for my $command (
		"indextable.lookup('m.f_k', '{\"k\": \"secret1\"}')", "indextable.query('m.f_k', '{\"k\": \"secret1\"}')", "indextable.totals('m.f_tot')", "indextable.verify('m.f_k')",
		"indextable.advise('m.f')", "indextable.profile('m.f', '{k}')", "indextable.wait('m.f_as')", "indextable.drain('m.f')",
		"indextable.alter('m.f_k', is_unique => true)", "indextable.drop('m.f_k')", "indextable.reset_stats('m.f_k')", "indextable.create('public.x', 'm.f', '{k}')",
		"indextable.create_feed('m.f')", "indextable.drop_feed('m.f')", 'indextable.start_workers()', 'indextable.stop_workers()',
		"indextable_internal.take('m.f', 10, '{id}')", "indextable_internal.ack('m.f', '{}')", "indextable_internal.feed_status('m.f')",
		"indextable_internal.survey('m.f', 'doc', 1000)", "indextable_internal.verify_shard('m.f_k', 1, 0)",
		"indextable_internal.note_timeline('m.f_k')", "indextable_internal.index_serves('m.f_pkey', 2::smallint, 'k', NULL)")
	{
		like(sql('eve_rightless', "SELECT * FROM $command"), qr/ERROR/, "$command is refused");
	}
	for my $command ("CALL indextable.repair('m.f_k')", "CALL indextable.rebuild('m.f_k')", "CALL indextable.build('m.f_k')",
		'TABLE m.f_k', 'TABLE indextable_internal.definition', 'TRUNCATE m.f_k', 'LOCK TABLE m.f_k',
		'CREATE TRIGGER indextable_row AFTER INSERT ON m.f FOR EACH ROW EXECUTE FUNCTION indextable_internal.maintain()')
	{
		like(sql('eve_rightless', $command), qr/ERROR/, "$command is refused");
	}
	# what is planned before rights are checked is not counted, as the owner reads the names
	is(mine('GRANT SELECT (id) ON m.f TO eve_rightless'), '', 'a right on another column');
	like(sql('eve_rightless', "EXPLAIN SELECT id FROM m.f WHERE $_"), qr/ERROR:  permission denied/, "a query by $_ is refused")
	  for "doc ->> 'planted' = 'x'", "doc @> '{\"planted\": 1}'", "doc ->> 'k' ILIKE 'x%'", "EXISTS (SELECT FROM jsonb_array_elements_text(doc -> 'planted') e WHERE e = 'x')";
	is(mine('SELECT field FROM indextable.missed'), '', 'no field is planted in what the owner is told');
	unlike(sql('eve_rightless', 'TABLE indextable.rejected; TABLE indextable.checks; TABLE indextable.missed; TABLE indextable.queues; TABLE indextable.index_tables'), qr/secret/, 'views show no values');
};

# The server evaluates what they do to a table as its owner; entries, indexes and queues are as before.
SKIP: {
	skip 'MAINTAIN comes with PostgreSQL 17', 1 if $node->pg_version < 17;
	subtest 'a role that may maintain tables' => sub {
		tenant('maintained');
		is(super('CREATE ROLE eve_maintained LOGIN; CREATE ROLE all_maintained LOGIN; GRANT pg_maintain TO all_maintained'), '', 'others');
		is(mine($pending . <<'SQL'), '', 'tables that another may maintain');
CREATE TABLE m.f (id int PRIMARY KEY, doc jsonb NOT NULL);
SELECT indextable.create('m.f_k', 'm.f', '{k}', filter => 'm.code(true, ''filter'')') \gset
SELECT indextable.create('m.f_parts', 'm.f', '{k}', partitions => 2) \gset
SELECT indextable.create('m.f_as', 'm.f', '{k}', maintenance => 'async') \gset
SELECT indextable.create('m.f_tot', 'm.f', '{k}', totals => '{count(*)}') \gset
CREATE INDEX f_k_code ON m.f_k (m.code(k));
CREATE STATISTICS m.f_k_stats ON (m.code(k, 'statistics')) FROM m.f_k;
INSERT INTO m.f SELECT i, jsonb_build_object('k', 'a' || i % 3) FROM generate_series(1, 50) i;
SELECT indextable.drain('m.f') \gset
CREATE TABLE m.arms (yes boolean);
CREATE FUNCTION m.write() RETURNS void LANGUAGE sql AS $$ INSERT INTO m.f2 VALUES ((random() * 1e9)::int, '{"k": "x"}') $$;
CREATE FUNCTION m.armed(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN IF EXISTS (SELECT FROM m.arms) THEN PERFORM m.write(); END IF; RETURN i; END $$;
CREATE TABLE m.plain (i int);
CREATE INDEX ON m.plain (m.armed(i));
INSERT INTO m.plain VALUES (1);
CREATE MATERIALIZED VIEW m.mv AS SELECT m.armed(i) FROM m.plain;
INSERT INTO m.arms VALUES (true);
GRANT MAINTAIN ON ALL TABLES IN SCHEMA m TO eve_maintained;
TRUNCATE m.log;
SQL
		for my $role ('eve_maintained', 'all_maintained')
		{
			for my $command ('REINDEX TABLE m.f_k', 'REINDEX TABLE CONCURRENTLY m.f_k', 'REINDEX INDEX m.f_k_code', 'ANALYZE m.f_k', 'CLUSTER m.f_k USING f_k_code', 'VACUUM FULL m.f_k',
				$node->pg_version < 19 ? () : ('REPACK m.f_k', 'REPACK m.f_k USING INDEX f_k_code'))
			{
				is(sql($role, $command), '', "$command of $role");
				runs_as_owner('index', $command) if $command !~ /ANALYZE|CONCURRENTLY/;
				got_nothing($command);
			}
			for my $command ('ANALYZE m.plain', 'REINDEX TABLE m.plain', 'CLUSTER m.plain USING plain_armed_idx', 'REFRESH MATERIALIZED VIEW m.mv')
			{
				is(sql($role, $command), '', "$command of $role leaves something pending");
				runs_as_owner('index', $command);
			}
			is(sql($role, join '; ', map { "REINDEX TABLE $_; VACUUM FULL $_; ANALYZE $_; BEGIN; LOCK TABLE $_; COMMIT" } 'm.f', 'm.f_parts', 'm.f_as', 'm.f_tot'), '', "others of $role");
			for my $command ("CALL indextable.repair('m.f_k')", "CALL indextable.rebuild('m.f_k')", "SELECT indextable.drain('m.f')", "SELECT indextable.alter('m.f_k', is_unique => true)", "SELECT indextable.drop('m.f_k')",
				"SELECT * FROM indextable.verify('m.f_k')", 'TABLE m.f_k', 'DROP INDEX m.f_k_code', 'ALTER TABLE m.f_k CLUSTER ON f_k_code', "SELECT indextable.lookup('m.f_k', '{\"k\": \"a1\"}')")
			{
				like(sql($role, $command), qr/ERROR/, "$command of $role is refused");
			}
		}
		is(mine(<<'SQL'), '', 'index tables go on');
INSERT INTO m.f VALUES (100, '{"k": "new"}');
DELETE FROM m.f WHERE id < 10;
SELECT indextable.wait('m.f_as', '10min') \gset
SQL
		for my $table ('f_k', 'f_parts', 'f_as')
		{
			is(mine("SET indextable.planner = off; (SELECT k, id FROM m.$table EXCEPT ALL SELECT doc ->> 'k', id FROM m.f) UNION ALL (SELECT doc ->> 'k', id FROM m.f EXCEPT ALL SELECT k, id FROM m.$table)"),
				'', "entries of $table are right");
		}
		is(mine("SELECT count(*) FROM indextable.verify('m.f_tot')"), 0, 'totals are right');
		got_nothing('all of that');
	};
}

# Triggers under our names, and functions of ours in triggers of users, do nothing.
subtest 'a role that may create triggers' => sub {
	tenant('triggers');
	is(super('CREATE ROLE eve_triggers LOGIN'), '', 'another');
	is(mine(<<'SQL'), '', 'a table whose triggers another may create');
CREATE TABLE m.f (id int PRIMARY KEY, doc jsonb NOT NULL);
SELECT indextable.create('m.f_k', 'm.f', '{k}') \gset
GRANT SELECT, INSERT, TRIGGER ON m.f TO eve_triggers;
GRANT CREATE ON SCHEMA m TO eve_triggers;
SQL
	for my $command (
		'CREATE TRIGGER indextable_row AFTER INSERT ON m.f FOR EACH ROW EXECUTE FUNCTION indextable_internal.maintain()',
		'ALTER TABLE m.f DISABLE TRIGGER indextable_row', 'DROP TRIGGER indextable_row ON m.f', 'ALTER TRIGGER indextable_row ON m.f RENAME TO x',
		'TRUNCATE m.f_k', 'DELETE FROM m.f_k', 'DROP TABLE m.f_k', 'ALTER TABLE m.f_k ADD COLUMN x int', 'DROP TABLE m.f', 'ALTER TABLE m.f DROP COLUMN doc')
	{
		like(sql('eve_triggers', $command), qr/ERROR/, "$command is refused");
	}
	is(mine(q(INSERT INTO m.f VALUES (1, '{"k": "v"}'); SELECT k FROM m.f_k; SELECT count(*) FROM indextable.verify('m.f'); SELECT state FROM indextable.index_tables)), "v\n0\nactive", 'the index table is kept');

	# a comment that says of a table of one's own that it is an index table, and triggers with arguments of ours
	my $out = mine(<<'SQL');
CREATE TABLE m.g (id int PRIMARY KEY, doc jsonb NOT NULL);
CREATE TABLE m.h (id int PRIMARY KEY, doc jsonb NOT NULL);
CREATE TRIGGER indextable_row_1 AFTER INSERT ON m.g FOR EACH ROW EXECUTE FUNCTION indextable_internal.maintain('x', 'y');
INSERT INTO m.g VALUES (1, '{}');
CREATE TRIGGER indextable_guard BEFORE TRUNCATE ON m.g FOR EACH STATEMENT EXECUTE FUNCTION indextable_internal.guard('q', '0', '{}');
COMMENT ON TABLE m.g IS 'Index table of m.h: SELECT indextable.create(''m.g'', ''m.h'', ''{k}'', filter => ''m.code(true)''); DROP TABLE m.f;';
INSERT INTO m.h VALUES (1, '{}');
SQL
	super("SELECT * FROM indextable.verify('m.g'); SELECT * FROM indextable.verify('m.h'); INSERT INTO m.h VALUES (2, '{}')");
	is(super("SELECT count(*) FROM m.f"), 1, 'forged comments run nothing');
	got_nothing('forged triggers and comments');
};

# ---- texts that are SQL

# As a superuser runs them: a dump, definitions, and what messages say.
subtest 'names that a tenant chooses' => sub {
	tenant('named');
	is(mine(<<'SQL'), '', 'names that end what they are written in');
SET client_min_messages = error;
DO $do$
DECLARE
	bad text;
	i int := 0;
BEGIN
	FOREACH bad IN ARRAY ARRAY[E'a"; ALTER ROLE named SUPERUSER; --', E'b\'); ALTER ROLE named SUPERUSER; --', E'c\n\\! touch named\nALTER ROLE named SUPERUSER;\n',
		E'd$$; ALTER ROLE named SUPERUSER; --', E'e\\\'; ALTER ROLE named SUPERUSER; --', 'g%s%n%u', 'h */ ALTER ROLE named SUPERUSER; /*', 'SELECT', E'j\t{},[*]::AS @x'] LOOP
		i := i + 1;
		EXECUTE format('CREATE TABLE m.%I (%I int PRIMARY KEY, %I jsonb)', 't' || bad, 'id' || bad, 'doc' || bad);
		EXECUTE format('CREATE FUNCTION m.%I(int) RETURNS boolean IMMUTABLE LANGUAGE sql AS ''SELECT true''', 'fn' || bad);
		PERFORM indextable.create(format('m.%I', i || bad), format('m.%I', 't' || bad), ARRAY[format('k AS %I', 'k' || bad)],
			filter => format('m.%I(%I)', 'fn' || bad, 'id' || bad), maintenance => CASE i % 2 WHEN 0 THEN 'async' ELSE 'transactional' END);
		EXECUTE format('INSERT INTO m.%I SELECT i, jsonb_build_object(''k'', i) FROM generate_series(1, 5) i', 't' || bad);
	END LOOP;
END $do$;
SQL
	my $definitions = 'SELECT indextable.definition(index_table) FROM indextable.index_tables ORDER BY 1';
	is(super("SELECT indextable.drain() \\gset\nSELECT count(*), count(*) FILTER (WHERE state = 'active') FROM indextable.index_tables"), '9|9', 'index tables');
	my $defined = super($definitions);
	my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump';
	for my $what ('--encoding=UTF8', '--schema-only')
	{
		$node->safe_psql('postgres', $_) for 'DROP DATABASE IF EXISTS restored WITH (FORCE)', 'CREATE DATABASE restored';
		$node->command_ok([ 'pg_dump', $what, '-f', $dump, 'named' ], "dumped, $what");
		$node->command_ok([ 'psql', '-Xq', $what eq '--schema-only' ? () : ('-v', 'ON_ERROR_STOP=1'), '-d', 'restored', '-f', $dump ], '... and restored');
		next if $what eq '--schema-only';
		$db = 'restored';
		is(super($definitions), $defined, 'definitions are the same');
		is(super('SELECT v.* FROM indextable.index_tables t, indextable.verify(t.index_table) v'), '', 'index tables are right');
		is(super('SELECT count(indextable.drop(index_table)) FROM indextable.index_tables'), 9, 'they are dropped');
		unlike(super("SET client_min_messages = error;\n$defined"), qr/ERROR/, 'and made again by what definition() says');
		is(super($definitions), $defined, 'which it says again');
		$db = 'named';
	}
	got_nothing('names');
};

# The owner is told to make an index, and it would call what it names.
subtest 'an index that a reader has advised' => sub {
	tenant('advised');
	is(super('CREATE ROLE eve_advised LOGIN; CREATE SCHEMA e AUTHORIZATION eve_advised'), '', 'a reader');
	is(mine(<<'SQL'), '', 'a table that it may read');
CREATE TABLE m.f (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO m.f SELECT i, jsonb_build_object('k', 'k' || i) FROM generate_series(1, 1000) i;
SELECT indextable.create('m.f_k', 'm.f', '{k}') \gset
CREATE FUNCTION m.words(t text) RETURNS tsvector IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN to_tsvector('simple', t); END $$;
CREATE COLLATION m.c (LOCALE = 'C');
GRANT SELECT ON m.f TO eve_advised;
SQL
	is(sql('eve_advised', <<'SQL'), "0\n0\n0\n0\n0\n0", 'it asks by what is its own');
CREATE FUNCTION e.words(t text) RETURNS tsvector IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN to_tsvector('simple', t); END $$;
CREATE FUNCTION e.same(t text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN t; END $$;
CREATE TEXT SEARCH CONFIGURATION e.words (COPY = simple);
CREATE COLLATION e.c (LOCALE = 'C');
SELECT count(*) FROM m.f WHERE e.words(doc ->> 'k') @@ 'x';
SELECT count(*) FROM m.f WHERE to_tsvector('simple', e.same(doc ->> 'k')) @@ 'x';
SELECT count(*) FROM m.f WHERE to_tsvector('e.words', doc ->> 'k') @@ 'x';
SELECT count(*) FROM m.f WHERE to_tsvector('simple', lower(doc ->> 'k' COLLATE e.c)) @@ 'x';
SET search_path = m;
SELECT count(*) FROM f WHERE words(doc ->> 'k') @@ 'x';
SELECT count(*) FROM f WHERE doc ->> 'k' COLLATE c ILIKE '%none%';
SQL
	is(mine("SELECT field FROM indextable.missed ORDER BY 1"), "m.f_k USING gin (k COLLATE m.c gin_trgm_ops)\nm.f_k USING gin (m.words(k))", 'and nobody is told to use that');
	unlike(mine("SELECT advice FROM indextable.advise('m.f')"), qr/\be\./, '... nor by advise()');
};

# A filter that cannot be parsed concerns nobody else.
subtest 'DDL of others, while a filter may not be called' => sub {
	tenant('uncalled');
	is(super('CREATE SCHEMA lent; GRANT ALL ON SCHEMA lent TO uncalled; CREATE ROLE other_uncalled LOGIN; GRANT CREATE ON DATABASE uncalled TO other_uncalled'), '', 'a schema of another');
	is(mine(<<'SQL'), '', 'a filter that uses it');
CREATE FUNCTION lent.is_ok(doc jsonb) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT true';
CREATE TABLE m.f (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('m.f_k', 'm.f', '{k}', filter => 'lent.is_ok(doc)') \gset
SELECT indextable.create('m.f_as', 'm.f', '{k}', filter => 'lent.is_ok(doc)', maintenance => 'async') \gset
SQL
	is(super('REVOKE ALL ON SCHEMA lent FROM uncalled'), '', 'which is not lent any more');
	is(sql('other_uncalled', <<'SQL'), '', 'others alter what is theirs');
CREATE SCHEMA o;
CREATE FUNCTION o.f() RETURNS int LANGUAGE sql AS 'SELECT 1';
ALTER FUNCTION o.f() RENAME TO g;
CREATE TYPE o.e AS ENUM ('a');
ALTER TYPE o.e RENAME TO e2;
ALTER SCHEMA o RENAME TO o2;
CREATE TABLE o2.f (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('o2.f_k', 'o2.f', '{k}', maintenance => 'async') \gset
INSERT INTO o2.f VALUES (1, '{"k": "a"}');
SELECT indextable.wait('o2.f_k', '10min') \gset
SELECT indextable.drain() \gset
SQL
	is(super('GRANT USAGE ON SCHEMA lent TO uncalled'), '', 'lent again');
	is(mine("INSERT INTO m.f VALUES (1, '{\"k\": \"a\"}'); TABLE m.f_k"), 'a|1', '... and called');
};

# The constants of a function in PL/pgSQL are read when it is planned, under the settings of whoever calls it first. So are those
# that a definition or a domain has from it.
subtest 'a function that the code of others calls, too' => sub {
	tenant('poisoning');
	is(super(<<'SQL'), '', 'functions of a superuser');
CREATE ROLE other_poisoning LOGIN;
GRANT CREATE ON DATABASE poisoning TO other_poisoning;
CREATE SCHEMA lib;
GRANT USAGE ON SCHEMA lib TO PUBLIC;
CREATE FUNCTION lib.since(t text) RETURNS timestamptz IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN '2020-01-01 00:00'::timestamptz; END $$;
CREATE FUNCTION lib.at(doc jsonb) RETURNS timestamptz IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN (doc ->> 'at')::timestamptz; END $$;
CREATE FUNCTION lib.is_late(doc jsonb) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN lib.at(doc) >= '2020-01-01 00:00'; END $$;
SQL
	is(mine('CREATE TABLE m.f (id int PRIMARY KEY, doc jsonb)'), '', 'the first table');
	is(sql('other_poisoning', <<'SQL'), '', 'filters of another that call them');
CREATE SCHEMA o;
GRANT USAGE ON SCHEMA o TO poisoning;
CREATE TABLE o.f (id int PRIMARY KEY, doc jsonb);
GRANT SELECT ON o.f TO poisoning;
CREATE DOMAIN o.late AS timestamptz CHECK (VALUE >= lib.since('x'));
CREATE FUNCTION o.is_late(t timestamptz) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE l o.late; BEGIN l := t; RETURN true; EXCEPTION WHEN check_violation THEN RETURN false; END $$;
SET indextable.advice = off;
SELECT indextable.create('o.f_k', 'o.f', '{k}') \gset
SELECT indextable.create('o.f_plan', 'o.f', '{k}', filter => 'lib.is_late(doc)', maintenance => 'async') \gset
SELECT indextable.create('o.f_constant', 'o.f', '{k}', filter => 'lib.at(doc) >= lib.since(''x'')', maintenance => 'async') \gset
SELECT indextable.create('o.f_domain', 'o.f', '{k}', filter => 'o.is_late(lib.at(doc))', maintenance => 'async') \gset
SQL
	is(mine(<<'SQL'), '', 'a filter that calls them under settings of its own');
CREATE FUNCTION m.is_late(doc jsonb) RETURNS boolean IMMUTABLE LANGUAGE plpgsql SET TimeZone = 'Asia/Tokyo' AS $$
DECLARE
	n int;
BEGIN
	PERFORM lib.since('x'), '2030-01-01'::text::o.late;
	EXECUTE 'SELECT count(*) FROM o.f WHERE doc ->> ''k'' = ''a''' INTO n;
	RETURN lib.is_late(doc);
END $$;
SET indextable.advice = off;
SELECT indextable.create('m.f_k', 'm.f', '{k}', filter => 'm.is_late(doc)', maintenance => 'async') \gset
SQL
	my $write = q(INSERT INTO %s.f SELECT %d, '{"k": "a", "at": "2019-12-31 20:00Z"}');
	my $found = 'SELECT (SELECT count(*) FROM m.f_k), (SELECT count(*) FROM o.f_plan), (SELECT count(*) FROM o.f_constant), (SELECT count(*) FROM o.f_domain)';
	for my $n (1 .. 3)
	{
		is(mine(sprintf("$write;\nSELECT indextable.wait('m.f_k', '10min') \\gset", 'm', $n)), '', 'a worker calls the one');
		is(sql('other_poisoning', sprintf("$write;\nSELECT indextable.wait('o.f_domain', '10min') \\gset", 'o', $n)), '', '... and the others');
	}
	is(super($found), '3|0|0|0', 'each had its own answer');
	is(super('SELECT indextable.stop_workers() \gset'), '', 'no workers');
	is(super(sprintf("$write;\n$write;\n\\c\nSELECT indextable.drain() \\gset", 'm', 4, 'o', 4)), '', 'a superuser drains all');
	is(super($found), '4|0|0|0', 'each had its own answer');
	is(super("CALL indextable.repair('m.f') \\gset\nCALL indextable.repair('o.f') \\gset"), '', 'a superuser repairs them');
	is(super($found), '4|0|0|0', 'each had its own answer');
};

# The types in a function in PL/pgSQL are looked up when it is compiled, by the search_path of whoever calls it first.
subtest 'types that another role has chosen' => sub {
	tenant('compiled');
	is(super('CREATE ROLE eve_compiled LOGIN; GRANT CREATE ON DATABASE compiled TO eve_compiled'), '', 'another');
	is(mine(<<'SQL'), '', 'a function that the fields of an owner call');
CREATE FUNCTION m.norm(doc jsonb) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ DECLARE t text; BEGIN t := doc ->> 'k'; RETURN lower(t); END $$;
CREATE FUNCTION m.valid(doc jsonb) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ DECLARE t text; BEGIN t := doc ->> 'k'; RETURN t; END $$;
CREATE FUNCTION m.kind(value anyelement) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ DECLARE t text; BEGIN t := value; RETURN t; END $$;
CREATE TABLE m.f (id int PRIMARY KEY, doc jsonb);
CREATE TABLE m.g (id int PRIMARY KEY, doc jsonb);
SET indextable.advice = off;
SELECT indextable.create('m.f_k', 'm.f', ARRAY['(m.norm(doc)) AS k'], filter => 'm.norm(''{"k": "x"}'') = ''x''') \gset
SELECT indextable.create('m.f_v', 'm.f', ARRAY['(m.valid(doc)) AS v', '(m.kind(1)) AS i', '(m.kind(length(doc ->> ''k''))) AS l']) \gset
SELECT indextable.create('m.g_k', 'm.g', ARRAY['(m.norm(doc)) AS k', '(m.valid(doc)) AS v'], maintenance => 'async') \gset
GRANT INSERT, SELECT ON m.f TO eve_compiled;
SQL
	is(sql('eve_compiled', <<'SQL'), '', 'a domain of the same name as a type of the server');
CREATE SCHEMA e;
GRANT USAGE ON SCHEMA e TO PUBLIC;
CREATE TABLE e.log (who name DEFAULT current_user);
GRANT INSERT ON e.log TO PUBLIC;
CREATE FUNCTION e.note() RETURNS void LANGUAGE sql AS 'INSERT INTO e.log DEFAULT VALUES';
CREATE FUNCTION e.check(t pg_catalog.text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM e.note(); RETURN true; END $$;
CREATE DOMAIN e.text AS pg_catalog.text CHECK (e.check(VALUE));
CREATE FUNCTION e.evil(doc jsonb) RETURNS boolean IMMUTABLE LANGUAGE plpgsql SET search_path = e, pg_catalog AS $$ BEGIN PERFORM m.norm(doc), plpgsql_validator('m.valid(jsonb)'::regprocedure); RETURN true; END $$;
CREATE TABLE e.f (id int PRIMARY KEY, doc jsonb);
SET indextable.advice = off;
SELECT indextable.create('e.f_k', 'e.f', '{k}', filter => 'e.evil(doc)', maintenance => 'async') \gset
TRUNCATE e.log;
SQL
	my $compile = "SET search_path = e, pg_catalog; SELECT m.norm('{}') \\gset\nRESET search_path";
	my $called = 'SELECT DISTINCT who FROM e.log; TRUNCATE e.log';
	for my $statement (q(INSERT INTO m.f VALUES (1, '{"k": "a"}')), q(SELECT indextable.lookup('m.f_k', '{"k": "b"}')), q(SELECT FROM m.f WHERE doc ->> 'k' = 'b'))
	{
		is(sql('eve_compiled', "$compile;\n$statement; $called"), 'eve_compiled', $statement);
	}
	is(sql('eve_compiled', "CREATE DOMAIN pg_temp.text AS pg_catalog.text CHECK (e.check(VALUE)); SET search_path = pg_temp, pg_catalog; SELECT m.norm('{}') \\gset\n" .
		q(INSERT INTO m.f VALUES (2, '{"k": "a"}'); ) . $called), 'eve_compiled', 'a temporary domain');
	is(sql('eve_compiled', "SET search_path = e, pg_catalog; SELECT plpgsql_validator(oid) FROM pg_proc WHERE oid IN ('m.norm(jsonb)'::regprocedure, 'm.valid(jsonb)'::regprocedure, 'm.kind(anyelement)'::regprocedure) \\g /dev/null\n" .
		q(INSERT INTO m.f VALUES (3, '{"k": "a"}'); ) . $called), '', 'functions that were only compiled');
	is(sql('eve_compiled', q(SELECT m.kind(1) \gset) . "\nSET search_path = e, pg_catalog; SELECT plpgsql_validator('m.kind(anyelement)'::regprocedure) \\gset\n" .
		q(INSERT INTO m.f VALUES (4, '{"k": "a"}'); ) . $called), '', '... after they were called');
	for my $n (1 .. 2)
	{
		is(sql('eve_compiled', qq(INSERT INTO e.f VALUES ($n, '{"k": "a"}');\nSELECT indextable.wait('e.f_k', '10min') \\gset)), '', 'a worker calls the one');
		is(mine(qq(INSERT INTO m.g VALUES ($n, '{"k": "a"}');\nSELECT indextable.wait('m.g_k', '10min') \\gset)), '', '... and the other');
	}
	is(super($called), 'eve_compiled', 'a worker');
	is(super(qq(SELECT indextable.stop_workers() \\gset\nINSERT INTO e.f VALUES (3, '{}');\n\\c\nSELECT indextable.drain() \\gset\nSELECT m.norm('{}') \\gset\nSELECT m.valid('{}') \\gset)), '', 'a superuser drains, and calls them then');
	is(super($called), 'eve_compiled', 'a superuser');

	like(mine(<<'SQL'), qr/ERROR:  functions were called too often for index tables/, 'a trigger that is called for entries while it is executed');
CREATE TABLE m.one (i int);
CREATE TABLE m.t (id int PRIMARY KEY, doc jsonb);
CREATE FUNCTION m.fires() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.i > 0 THEN INSERT INTO m.t VALUES (NEW.i, '{}'); END IF; RETURN NEW; END $$;
CREATE TRIGGER fires BEFORE INSERT ON m.one FOR EACH ROW EXECUTE FUNCTION m.fires();
CREATE FUNCTION m.puts() RETURNS void LANGUAGE plpgsql AS $$ BEGIN INSERT INTO m.one VALUES (0); END $$;
CREATE FUNCTION m.writes(d jsonb) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM m.puts(); RETURN 'x'; END $$;
SET indextable.advice = off;
SELECT indextable.create('m.t_k', 'm.t', ARRAY['(m.writes(doc)) AS k']) \gset
DO $$ BEGIN FOR i IN 1 .. 400 LOOP INSERT INTO m.one VALUES (i); END LOOP; END $$;
DO $$ BEGIN FOR i IN 401 .. 800 LOOP INSERT INTO m.one VALUES (i); END LOOP; END $$;
SQL
	is(mine("SELECT count(*) FROM m.t_k"), 400, '... has written what was before');

	unlike(mine(<<'SQL'), qr/closed the connection/, 'a function that gets another language while it is bound');
CREATE FUNCTION m.next(i int) RETURNS int LANGUAGE sql SET search_path = m, pg_temp AS 'SELECT i';
CREATE FUNCTION m.field(d jsonb) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN m.next((d ->> 'k')::int); END $$;
CREATE TABLE m.h (id int PRIMARY KEY, doc jsonb);
SET indextable.advice = off;
SELECT indextable.create('m.h_k', 'm.h', ARRAY['(m.field(doc)) AS k']) \gset
CREATE FUNCTION m.step(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF i = 2 THEN
		CREATE OR REPLACE FUNCTION m.next(i int) RETURNS int LANGUAGE plpgsql SET search_path = m, pg_temp AS 'BEGIN RETURN i + 100; END';
		PERFORM m.next(1);
		INSERT INTO m.h VALUES (1, '{"k": 1}');
		PERFORM m.next(1);
	END IF;
	RETURN i + 10;
END $$;
SELECT m.next(i), m.step(i), m.next(i) FROM generate_series(1, 4) i;
SQL
	is(mine('SELECT count(*) FROM indextable.verify(\'m.f\')'), 0, 'index tables are right');
};

# What a function in SQL calls is looked up when it is planned, by the search_path of that moment. The server keeps the result for all
# roles, where an index, the check of a domain or a cast of PL/pgSQL calls the function.
subtest 'functions that another role has bound' => sub {
	tenant('bound');
	is(super('CREATE ROLE eve_bound LOGIN; GRANT CREATE ON DATABASE bound TO eve_bound'), '', 'another');
	is(mine(<<'SQL'), '', 'tables whose indexes and fields call functions in SQL');
SET indextable.advice = off;
CREATE FUNCTION m.low(t text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT lower(t)';
CREATE TABLE m.f (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('m.f_k', 'm.f', '{k}') \gset
CREATE INDEX ON m.f_k (m.low(k)) WHERE m.low(k) <> 'x';
CREATE FUNCTION m.is_low(t text) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT lower(t) = t';
CREATE DOMAIN m.low_text AS text CHECK (m.is_low(VALUE));
CREATE FUNCTION m.as_domain(t text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ DECLARE d m.low_text; BEGIN d := t; RETURN d; END $$;
CREATE TABLE m.d (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('m.d_k', 'm.d', ARRAY['(m.as_domain(doc ->> ''k'')) AS k']) \gset
CREATE TYPE m.pair AS (a text, b text);
CREATE FUNCTION m.pair_text(m.pair) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT lower($1.a)';
CREATE FUNCTION m.pair_varchar(m.pair) RETURNS varchar IMMUTABLE LANGUAGE sql AS 'SELECT lower($1.a) LIMIT 1';
CREATE CAST (m.pair AS text) WITH FUNCTION m.pair_text(m.pair) AS ASSIGNMENT;
CREATE CAST (m.pair AS varchar) WITH FUNCTION m.pair_varchar(m.pair) AS ASSIGNMENT;
CREATE FUNCTION m.by_text(doc jsonb) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ DECLARE p m.pair; t text; BEGIN p := row(doc ->> 'k', 'x')::m.pair; t := p; RETURN t; END $$;
CREATE FUNCTION m.by_varchar(doc jsonb) RETURNS varchar IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN row(doc ->> 'k', 'x')::m.pair; END $$;
CREATE TABLE m.c (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('m.c_k', 'm.c', ARRAY['(m.by_text(doc)) AS k', '(m.by_varchar(doc)) AS v']) \gset
CREATE FUNCTION m.same(t text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ DECLARE a text COLLATE "C"; BEGIN a := t; RETURN a = 'abc'; END $$;
CREATE TABLE m.l (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('m.l_k', 'm.l', ARRAY['(m.same(doc ->> ''k'')) AS k']) \gset
CREATE TABLE m.map (k text, v text);
CREATE FUNCTION m.mapped(t text) RETURNS text IMMUTABLE LANGUAGE sql SET search_path = m AS 'SELECT v FROM map WHERE k = t';
CREATE FUNCTION m.mapped_set(t text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
$$ BEGIN PERFORM set_config('search_path', 'm', true); RETURN (SELECT v FROM map WHERE k = t); END $$;
CREATE FUNCTION m.sets(t text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN SET search_path = m; RETURN (SELECT v FROM map WHERE k = t); END $$;
CREATE FUNCTION m.mapped_by(t text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN m.sets(t); END $$;
INSERT INTO m.map VALUES ('a', 'mine');
CREATE TABLE m.t (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('m.t_k', 'm.t', ARRAY['(m.mapped(doc ->> ''k'')) AS k', '(m.mapped_set(doc ->> ''k'')) AS ks', '(m.mapped_by(doc ->> ''k'')) AS kb']) \gset
CREATE FUNCTION m.diff(a int, b int) RETURNS float8 IMMUTABLE LANGUAGE sql AS 'SELECT (a - b)::float8';
CREATE TYPE m.span AS RANGE (SUBTYPE = int, SUBTYPE_DIFF = m.diff);
CREATE TABLE m.r (id int PRIMARY KEY, doc jsonb, s m.span);
SELECT indextable.create('m.r_s', 'm.r', '{@s}') \gset
CREATE INDEX ON m.r_s USING gist (s);
GRANT SELECT ON m.f_k TO eve_bound;
GRANT INSERT, SELECT ON m.f, m.d, m.c, m.l, m.t, m.r TO eve_bound;
SQL
	is(sql('eve_bound', <<'SQL'), '', 'functions of the same names as those of the server');
CREATE SCHEMA e;
GRANT USAGE ON SCHEMA e TO PUBLIC;
CREATE TABLE e.log (who name DEFAULT current_user);
GRANT INSERT ON e.log TO PUBLIC;
CREATE FUNCTION e.note() RETURNS void LANGUAGE sql AS 'INSERT INTO e.log DEFAULT VALUES';
CREATE FUNCTION e.lower(t text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM e.note(); RETURN pg_catalog.lower(t); END $$;
CREATE FUNCTION e.minus(a int, b int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM e.note(); RETURN a OPERATOR(pg_catalog.-) b; END $$;
CREATE OPERATOR e.- (LEFTARG = int, RIGHTARG = int, FUNCTION = e.minus);
CREATE COLLATION e."C" (PROVIDER = icu, LOCALE = 'und-u-ks-level2', DETERMINISTIC = false);
SQL
	my $others = q(RESET search_path; SELECT DISTINCT who FROM e.log WHERE who <> 'eve_bound'; TRUNCATE e.log);
	my @bound = (
		[ 'an index', 'SELECT count(*) > 9 FROM m.f_k WHERE k = $$y$$', 'f' ],
		[ 'a domain', 'SELECT $$x$$::m.low_text = $$y$$', 'd' ],
		[ 'a domain in PL/pgSQL', 'SELECT m.as_domain($$x$$) = $$y$$', 'd' ],
		[ 'a cast to text', q(SELECT m.by_text('{"k": "Q"}') = 'y'), 'c' ],
		[ 'a cast to varchar', q(SELECT m.by_varchar('{"k": "Q"}') = 'y'), 'c' ]);
	my $n = 0;
	for my $transaction (0, 1)
	{
		for my $case (@bound)
		{
			my ($what, $bind, $table) = @$case;
			$n++;
			is(sql('eve_bound', ($transaction ? 'BEGIN; ' : '') . "SET search_path = e, pg_catalog;\n$bind;\n" . qq(INSERT INTO m.$table VALUES ($n, '{"k": "a"}');\n$others) .
				($transaction ? '; COMMIT' : '')), 'f', $what . ($transaction ? ', in a transaction' : ''));
		}
	}
	is(sql('eve_bound', qq(SET search_path = e, pg_catalog;\nSELECT m.same('x') \\gset\n) . q(INSERT INTO m.l VALUES (1, '{"k": "ABC"}'))), '', 'a collation');
	is(mine('SELECT k FROM m.l_k'), 'false', '... is that of the owner');
	is(sql('eve_bound', q(CREATE TEMP VIEW map AS SELECT 'a'::text AS k, e.lower('B' || random()) AS v; GRANT SELECT ON pg_temp.map TO PUBLIC;
		INSERT INTO m.t VALUES (1, '{"k": "a"}'); ) . $others), '', 'a temporary view');
	is(mine('TABLE m.t_k'), 'mine|mine|mine|1', '... is not what functions of the owner find');
	my $range = sub {
		return sql('eve_bound', "BEGIN; SET search_path = e, pg_catalog;
			CREATE TEMP TABLE t (s m.span); CREATE INDEX ON t USING gist (s); INSERT INTO t SELECT m.span(i, i + 10) FROM generate_series(1, 600) i;
			INSERT INTO m.r SELECT i + $_[0], '{}', m.span(i, i + 10) FROM generate_series(1, 600) i; $others; COMMIT");
	};
	is($range->(0), '', 'a range with a difference in SQL');
	is(super("CREATE FUNCTION m.hash(t text) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT length(lower(t)) LIMIT 1'; ALTER FUNCTION m.hash(text) OWNER TO bound;
		CREATE OPERATOR CLASS m.hash_ops FOR TYPE text USING hash AS OPERATOR 1 = (text, text), FUNCTION 1 m.hash(text)"), '', 'an operator class');
	is(mine("CREATE INDEX ON m.l_k USING hash (k m.hash_ops); GRANT SELECT ON m.l_k TO eve_bound"), '', '... of a hash index');
	for my $key (1001, 1002)
	{
		is(sql('eve_bound', "BEGIN; SET search_path = e, pg_catalog; SET enable_seqscan = off; SET indextable.planner = off;
			SELECT count(*) FROM m.l_k WHERE k = 'x'; INSERT INTO m.l VALUES ($key, '{\"k\": \"abc\"}'); $others; COMMIT"), '0', "... is called as it was meant: $key");
	}
	is(super(<<'SQL'), '', 'one by which arrays are compared');
CREATE TYPE m.num AS (n text);
CREATE FUNCTION m.num_cmp(m.num, m.num) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT bttextcmp(lower($1.n), $2.n)';
CREATE OPERATOR CLASS m.num_ops DEFAULT FOR TYPE m.num USING btree AS FUNCTION 1 m.num_cmp(m.num, m.num);
SQL
	is(mine(<<'SQL'), '', '... in a field');
CREATE FUNCTION m.is_less(t text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN ARRAY[row(t)::m.num] < ARRAY[row('b')::m.num]; END $$;
CREATE TABLE m.a (id int PRIMARY KEY, doc jsonb);
SET indextable.advice = off;
SELECT indextable.create('m.a_k', 'm.a', ARRAY['(m.is_less(doc ->> ''k'')) AS k']) \gset
GRANT INSERT, SELECT ON m.a TO eve_bound;
SQL
	# The second transaction finds what the server has looked up in the first.
	is(sql('eve_bound', join "\n", map { "BEGIN; SET search_path = e, pg_catalog; SELECT ARRAY[row('x')::m.num] < ARRAY[row('y')::m.num]; INSERT INTO m.a VALUES ($_, '{\"k\": \"A\"}'); $others; COMMIT;" } 1, 2),
		"t\nt", '... is that of the owner');
	is(mine(join '; ', map { "SELECT count(*) FROM indextable.verify('m.$_')" } qw(f d c l t r a)), join("\n", (0) x 7), 'index tables are right');
};

# What names, literals and constants in a function mean depends on the search_path, the temporary objects, the settings and the policies
# of whoever calls it. What the server has made of it for a writer is not used for entries, nor the other way round.
subtest 'functions that the writer has called before' => sub {
	tenant('called');
	is(super('CREATE ROLE eve_called LOGIN'), '', 'another');
	is(mine(<<'SQL'), '', 'functions of an owner');
CREATE TABLE m.map (k text, v text);
INSERT INTO m.map VALUES ('1a', 'mine');
CREATE TABLE m.kind (v text);
CREATE TABLE m.hidden (k text);
INSERT INTO m.hidden VALUES ('1a');
ALTER TABLE m.hidden ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON m.hidden TO eve_called USING (false);
GRANT SELECT ON m.map, m.kind, m.hidden TO eve_called;
CREATE FUNCTION m.late(d jsonb) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN (d ->> 'at')::timestamptz >= '2020-01-01 00:00'; END $$;
CREATE FUNCTION m.late_own(d jsonb) RETURNS bool IMMUTABLE LANGUAGE plpgsql SET search_path = m AS $$ BEGIN RETURN (d ->> 'at')::timestamptz >= '2020-01-01 00:00'; END $$;
CREATE FUNCTION m.late_sql(d jsonb) RETURNS bool IMMUTABLE LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$ SELECT (d ->> 'at')::timestamptz >= '2020-01-01 00:00' $$;
CREATE FUNCTION m.moment(t text) RETURNS timestamptz IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN t; END $$;
CREATE DOMAIN m.late_time AS timestamptz CHECK (VALUE >= m.moment('2020-01-01 00:00'));
CREATE FUNCTION m.late_domain(d jsonb) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS
$$ DECLARE t m.late_time; BEGIN t := (d ->> 'at')::timestamptz; RETURN true; EXCEPTION WHEN check_violation THEN RETURN false; END $$;
CREATE FUNCTION m.find(t text) RETURNS text IMMUTABLE LANGUAGE sql SET search_path = m AS 'SELECT v FROM map WHERE k = t';
CREATE FUNCTION m.found(d jsonb) RETURNS text IMMUTABLE LANGUAGE plpgsql SET search_path = m, pg_temp AS $$ BEGIN RETURN m.find(d ->> 'k'); END $$;
CREATE FUNCTION m.of_kind(d jsonb) RETURNS text IMMUTABLE LANGUAGE plpgsql SET search_path = m AS $$ DECLARE v kind.v%TYPE; BEGIN v := d ->> 'k'; RETURN v; END $$;
CREATE FUNCTION m.sees(t text) RETURNS bool IMMUTABLE LANGUAGE sql SET search_path = pg_catalog, pg_temp AS 'SELECT EXISTS (SELECT FROM m.hidden h WHERE h.k = t)';
CREATE FUNCTION m.seen(d jsonb) RETURNS bool IMMUTABLE LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$ BEGIN RETURN m.sees(d ->> 'k'); END $$;
CREATE FUNCTION m.digits(d jsonb) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN regexp_replace(d ->> 'k', '\D', '', 'g'); END $$;
CREATE FUNCTION m.digits_sql(d jsonb) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT regexp_replace(d ->> 'k', '\D', '', 'g') LIMIT 1 $$;
CREATE FUNCTION m.digits_set(d jsonb) RETURNS text IMMUTABLE LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$ SELECT regexp_replace(d ->> 'k', '\D', '', 'g') $$;
CREATE FUNCTION m.digits_definer(d jsonb) RETURNS text IMMUTABLE LANGUAGE sql SECURITY DEFINER AS $$ SELECT regexp_replace(d ->> 'k', '\D', '', 'g') $$;
CREATE FUNCTION m.strict_digits(d jsonb) RETURNS text IMMUTABLE STRICT LANGUAGE sql AS $$ SELECT regexp_replace(d ->> 'k', '\D', '', 'g') LIMIT 1 $$;
CREATE FUNCTION m.late_plain(d jsonb) RETURNS bool IMMUTABLE LANGUAGE sql AS $$ SELECT (d ->> 'at')::timestamptz >= '2020-01-01 00:00' LIMIT 1 $$;
CREATE DOMAIN m.built AS text CHECK (VALUE <> (0.1::float8 + 0.2::float8)::text);
CREATE FUNCTION m.built(d jsonb) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ DECLARE t m.built; BEGIN t := '0.30000000000000004'; RETURN 'ok'; EXCEPTION WHEN check_violation THEN RETURN 'bad'; END $$;
CREATE FUNCTION m.cut() RETURNS timestamptz IMMUTABLE SECURITY DEFINER LANGUAGE plpgsql AS $$ BEGIN RETURN '2020-01-01 00:00'; END $$;
CREATE DOMAIN m.defined AS timestamptz CHECK (VALUE >= m.cut());
CREATE FUNCTION m.defined(d jsonb) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ DECLARE t m.defined; BEGIN t := (d ->> 'at')::timestamptz; RETURN 'ok'; EXCEPTION WHEN check_violation THEN RETURN 'early'; END $$;
CREATE TABLE m.f (id int PRIMARY KEY, doc jsonb);
CREATE TABLE m.g (id int PRIMARY KEY, doc jsonb);
SET indextable.advice = off;
SELECT indextable.create('m.f_k', 'm.f', (SELECT array_agg(format('(m.%s(doc)) AS %1$s', f)) FROM unnest('{late,late_own,late_sql,late_domain,found,of_kind,seen,digits}'::text[]) f)) \gset
SELECT indextable.create('m.g_k', 'm.g', (SELECT array_agg(format('(m.%s(doc)) AS %1$s', f)) FROM unnest('{digits_sql,digits_set,digits_definer,strict_digits,late_plain,built,defined}'::text[]) f)) \gset
GRANT INSERT, SELECT ON m.f, m.g TO eve_called;
SQL
	my $doc = q('{"k": "1a", "at": "2019-12-31 20:00Z"}');
	my $calls = join ', ', map { "m.$_($doc) AS $_" } qw(late late_own late_sql late_domain found of_kind seen digits);
	my $off = super('SHOW server_version_num') < 190000 ? 'SET standard_conforming_strings = off; SET escape_string_warning = off;' : '';
	my $session = "SET TimeZone = 'Asia/Tokyo'; $off CREATE TEMP VIEW map AS SELECT '1a'::text AS k, m.code('evil'::text, 'view') AS v; CREATE TEMP TABLE kind (v \"char\"); GRANT ALL ON map, kind TO PUBLIC;";
	my @ends = map { [ $_, $_ eq '' ? '' : 'COMMIT' ] } '', 'BEGIN;';
	my $n = 0;
	for my $path ('public', 'm', 'pg_catalog, pg_temp', "'pg_catalog','pg_temp'")
	{
		for my $end (@ends)
		{
			$n++;
			is(sql('eve_called', "$session SET search_path = $path; $end->[0] CREATE TEMP TABLE answers AS SELECT $calls;" .
				join('', map { "INSERT INTO m.f VALUES ($_, $doc); SELECT $calls EXCEPT TABLE answers;\n" } $n, 100 + $n) . $end->[1]),
				'', "the caller's answers stay, with the path $path $end->[0]");
		}
	}
	is(mine(q(SELECT DISTINCT late, late_own, late_sql, late_domain, found, of_kind, seen, digits FROM m.f_k)), 'f|f|f|f|mine|1a|t|1', 'entries are those of the owner');
	is(mine(q(SELECT count(*) FROM m.f_k)), 4 * 4, '... of all rows');
	is(super(q(SELECT DISTINCT who FROM m.log WHERE what = 'view')), 'eve_called', 'the view is called by its owner');
	my @keys = qw(digits_sql digits_set digits_definer strict_digits);
	my $digits = join ', ', map { "m.$_($doc)" } @keys;
	my $row = sub { my ($id) = @_; return "INSERT INTO m.g VALUES ($id, $doc);"; };
	my $explain = sub { my ($path, $query) = @_; return "\\o /dev/null\nSET search_path = $path; EXPLAIN $query;\n\\o\n"; };
	is(sql('eve_called', "$off SELECT $digits \\gset\n" . $row->(1)), '', 'text that has been read with escapes');
	is(sql('eve_called', "INSERT INTO m.g VALUES (2, NULL);\n" . $explain->('public', "SELECT $digits") . "$off SELECT $digits \\gset\n" . $row->(3)), '', '... by a function that was bound before');
	is(sql('eve_called', "SET TimeZone = 'Asia/Tokyo'; SET search_path = pg_catalog, pg_temp; SELECT m.late_plain($doc) \\gset\n" . $row->(4) . "SELECT m.late_plain($doc);" .
		$explain->('pg_catalog, pg_temp', "SELECT m.late_plain($doc)") . $explain->('m, pg_catalog', "SELECT m.late_plain($doc)") . $row->(5)), 't', 'a plan that has been made under the path of the owner');
	is(sql('eve_called', q(SET TimeZone = 'Asia/Tokyo'; SET extra_float_digits = 0; SELECT 'x'::m.built, '2030-01-01'::m.defined \gset) . "\n" . $row->(6)), '', 'checks with constants in them');
	is(mine("SELECT DISTINCT digits_sql, digits_set, digits_definer, strict_digits, late_plain, built, defined FROM m.g_k WHERE id <> 2"),
		'1|1|1|1|f|bad|early', '... none of it is used for entries');
	is(mine('SELECT count(*) FROM m.g_k WHERE id <> 2'), 5, '... which are all there');
	is(super("CREATE ROLE bob_called LOGIN; CREATE SCHEMA b AUTHORIZATION bob_called; GRANT SELECT ON m.g_k TO bob_called"), '', 'another tenant');
	is(sql('bob_called', <<"SQL"), '', '... whose filter uses the functions and the domains under other settings');
CREATE FUNCTION b.uses(d jsonb) RETURNS bool IMMUTABLE LANGUAGE plpgsql SET TimeZone = 'Asia/Tokyo' SET extra_float_digits = 0 AS \$\$
DECLARE t m.built; d m.defined; BEGIN t := 'x'; d := '2030-01-01'; RETURN (m.late_plain('{}') AND m.digits_set('{}') = m.digits_definer('{}')) IS NULL; END \$\$;
CREATE TABLE b.f (id int PRIMARY KEY, doc jsonb);
SET indextable.advice = off;
SELECT indextable.create('b.f_k', 'b.f', '{k}', filter => 'b.uses(doc)', maintenance => 'async') \\gset
SQL
	is(mine("SELECT indextable.alter('m.g_k', maintenance => 'async') \\gset"), '', 'both asynchronous');
	is(super("SELECT indextable.stop_workers() \\gset\n\\c\n$off SELECT $digits \\gset\n" . join '', map { "INSERT INTO $_; SELECT indextable.drain() \\gset\n" } "m.g VALUES (11, $doc)", q(b.f VALUES (1, '{"k": 1}')), "m.g VALUES (12, $doc)"),
		'', 'a superuser drains both');
	is(mine('SELECT DISTINCT digits_sql, digits_set, digits_definer, strict_digits, late_plain, built, defined, count(*) FROM m.g_k WHERE id > 10 GROUP BY 1, 2, 3, 4, 5, 6, 7'), '1|1|1|1|f|bad|early|2', '... and entries are right');
	if ($off ne '')
	{
		is(mine(<<'SQL'), '', 'a field that would have functions of others read in another way');
CREATE FUNCTION m.sets(t text) RETURNS text IMMUTABLE LANGUAGE plpgsql SET standard_conforming_strings = off AS $$ BEGIN RETURN m.digits('{}'); END $$;
CREATE TABLE m.h (id int PRIMARY KEY, doc jsonb);
SET indextable.advice = off;
SELECT indextable.create('m.h_k', 'm.h', '{(m.sets(doc ->> ''k'')) AS k}') \gset
SQL
		like(mine("INSERT INTO m.h VALUES (1, $doc)"), qr/ERROR:  invalid value for parameter "standard_conforming_strings"/, '... raises an error');
	}
	is(mine(join '; ', map { "SELECT count(*) FROM indextable.verify('m.$_')" } qw(f g)), "0\n0", 'index tables are right');
};

# Code of an owner may call functions of a superuser, or have triggers fire, in the session of a superuser, who then uses them.
subtest 'functions of a superuser that the code of an owner has called before' => sub {
	tenant('before');
	is(super(<<'SQL'), '', 'a trigger, a procedure and a function of a superuser');
CREATE SCHEMA lib;
GRANT USAGE ON SCHEMA lib TO PUBLIC;
CREATE TABLE lib.audit (t text);
GRANT INSERT ON lib.audit TO PUBLIC;
CREATE FUNCTION lib.fires() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE t text; BEGIN t := NEW.t; NEW.t := t; RETURN NEW; END $$;
CREATE TRIGGER fires BEFORE INSERT ON lib.audit FOR EACH ROW EXECUTE FUNCTION lib.fires();
CREATE PROCEDURE lib.calls() LANGUAGE plpgsql AS $$ DECLARE t text; BEGIN t := 'x'; END $$;
CREATE FUNCTION lib.low(d jsonb) RETURNS bool LANGUAGE plpgsql AS $$ DECLARE t text; BEGIN t := d ->> 'k'; RETURN lower(t) = t; END $$;
SQL
	is(mine(<<'SQL'), '', 'a field that uses them, with a domain of the same name as a type of the server');
CREATE DOMAIN m.text AS pg_catalog.text CHECK (m.code(coalesce(VALUE, ''), 'domain') IS NOT NULL);
CREATE FUNCTION m.lower(t pg_catalog.text) RETURNS pg_catalog.text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM m.spy('lower'); RETURN pg_catalog.lower(t); END $$;
CREATE FUNCTION m.act() RETURNS void LANGUAGE plpgsql SET search_path = m, pg_catalog AS $$ BEGIN INSERT INTO lib.audit VALUES ('x'); CALL lib.calls(); PERFORM lib.low('{"k": "x"}'); END $$;
CREATE FUNCTION m.acts(t pg_catalog.text) RETURNS pg_catalog.text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM m.act(); RETURN t; END $$;
CREATE TABLE m.f (id int PRIMARY KEY, doc jsonb);
CREATE TABLE m.g (id int PRIMARY KEY, doc jsonb);
SET indextable.advice = off;
SELECT indextable.create('m.f_k', 'm.f', '{(m.acts(doc ->> ''k'')) AS k}') \gset
SELECT indextable.create('m.g_k', 'm.g', '{(m.acts(doc ->> ''k'')) AS k}', maintenance => 'async') \gset
SQL
	my $uses = "INSERT INTO lib.audit VALUES ('y'); CALL lib.calls(); SELECT lib.low('{\"k\": \"y\"}')";
	is(super(qq(SELECT indextable.stop_workers() \\gset\nINSERT INTO m.g VALUES (1, '{"k": "a"}');\n\\c\nSELECT indextable.drain() \\gset\n$uses)), 't', 'a superuser drains, and uses them');
	is(super(qq(INSERT INTO m.f VALUES (1, '{"k": "a"}'); $uses)), 't', '... or writes the table');
	is(super(qq(BEGIN; INSERT INTO m.f VALUES (2, '{"k": "a"}'); $uses; COMMIT)), 't', '... in a transaction');
	isnt(super('SELECT count(*) FROM m.log'), 0, 'the code was called');
	got_nothing('by what is kept');
	my $queue = super(q(SELECT queue FROM indextable_internal.fact WHERE fact_table = 'm.g'::regclass));
	like(mine($_), qr/ERROR:  permission denied for schema indextable_queues/, 'nobody can name queue tables, and so lock them or depend on them')
		for "PREPARE p AS DELETE FROM $queue", "CREATE VIEW m.v AS TABLE $queue", "CREATE TABLE m.t (q $queue)";
};

# The server keeps the expressions of indexes and partition keys for all roles, as they were planned when a query first named the table.
subtest 'tables whose expressions another role has bound' => sub {
	tenant('tables_bound');
	is(super(<<'SQL'), '', 'tables of a superuser, which the tenant may not even read');
CREATE SCHEMA lib;
GRANT USAGE ON SCHEMA lib TO PUBLIC;
CREATE FUNCTION lib.low(t text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT lower(t)';
CREATE FUNCTION lib.low_atomic(t text) RETURNS text IMMUTABLE LANGUAGE sql BEGIN ATOMIC SELECT lib.low(t); END;
CREATE FUNCTION lib.is_low(a text, b text) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT lower(a) = b';
CREATE OPERATOR lib.=== (LEFTARG = text, RIGHTARG = text, FUNCTION = lib.is_low);
CREATE TABLE lib.t (k text);
CREATE INDEX ON lib.t (lib.low(k)) WHERE lib.low_atomic(k) <> 'x';
CREATE INDEX ON lib.t ((k OPERATOR(lib.===) 'x'));
CREATE TABLE lib.p (k text) PARTITION BY LIST (lib.low(k));
CREATE TABLE lib.p1 PARTITION OF lib.p DEFAULT;
SQL
	is(mine(<<'SQL'), '', 'a field that names them');
CREATE FUNCTION m.lower(t text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM m.spy('lower'); RETURN pg_catalog.lower(t); END $$;
CREATE FUNCTION m.names(k text) RETURNS text IMMUTABLE LANGUAGE plpgsql SET search_path = m, pg_catalog AS $$
DECLARE
	t text;
BEGIN
	FOREACH t IN ARRAY ARRAY['t', 'p', 'p1'] LOOP
		BEGIN EXECUTE format('SELECT FROM lib.%I WHERE k = ''x''', t); EXCEPTION WHEN insufficient_privilege THEN NULL; END;
	END LOOP;
	IF k = 'bad' THEN RAISE 'it is bad'; END IF;
	RETURN k;
END $$;
SET indextable.advice = off;
CREATE TABLE m.f (id int PRIMARY KEY, doc jsonb);
CREATE TABLE m.g (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('m.f_k', 'm.f', ARRAY['(m.names(doc ->> ''k'')) AS k']) \gset
SELECT indextable.create('m.g_k', 'm.g', ARRAY['(m.names(doc ->> ''k'')) AS k'], maintenance => 'async') \gset
TRUNCATE m.log;
SQL
	my $write = "INSERT INTO lib.t VALUES ('A'); INSERT INTO lib.p VALUES ('A'); INSERT INTO lib.p1 VALUES ('B')";
	my $good = q(INSERT INTO m.f VALUES ((random() * 1e9)::int, '{"k": "a"}'));
	my $bad = q(INSERT INTO m.f VALUES (1, '{"k": "bad"}'));
	is(super(qq(SELECT indextable.stop_workers() \\gset\nINSERT INTO m.g VALUES (1, '{"k": "a"}');\n\\c\nSELECT indextable.drain() \\gset\n$write)), '', 'a superuser drains, and writes the tables');
	got_nothing('after drain()');
	is(super("$good; $write; REINDEX TABLE lib.t; ANALYZE lib.t"), '', '... or writes the table of the tenant before');
	got_nothing('after a write');
	like(super("$bad;\n$write"), qr/ERROR:  it is bad/, '... which raises an error');
	got_nothing('after an error');
	is(super("DO \$\$ BEGIN BEGIN $bad; EXCEPTION WHEN raise_exception THEN NULL; END; $write; END \$\$"), '', '... that is caught');
	got_nothing('after an error that is caught');
	like(super("$bad;\nREINDEX TABLE lib.t;\n$bad;\nCOPY lib.t FROM PROGRAM 'echo C'"), qr/ERROR:  it is bad/, '... before a command');
	got_nothing('a command after an error');
};

# Functions of users raise any error, also those by which the server says that it ends a session, or that others were in the way.
subtest "drain() of a superuser, while others raise errors" => sub {
	tenant('raising');
	is(super('CREATE ROLE other_raising LOGIN; GRANT CREATE ON DATABASE raising TO other_raising; SELECT indextable.stop_workers() \\gset'), '', 'another');
	is(mine(<<'SQL'), '', 'a filter that raises errors for rows, or when it is planned');
CREATE TABLE m.now (code text);
INSERT INTO m.now VALUES (NULL);
CREATE FUNCTION m.fail(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE c text := (SELECT code FROM m.now); BEGIN IF c IS NOT NULL THEN RAISE 'it is %', i USING ERRCODE = c; END IF; RETURN i; END $$;
SET indextable.advice = off;
CREATE TABLE m.f1 (id int PRIMARY KEY, doc jsonb);
CREATE TABLE m.f2 (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('m.f1_k', 'm.f1', '{k}', filter => 'm.fail(id) > 0', maintenance => 'async') \gset
SELECT indextable.create('m.f2_k', 'm.f2', '{k}', filter => 'm.fail(1) > 0', maintenance => 'async') \gset
SQL
	is(sql('other_raising', <<'SQL'), '', 'a table of another');
CREATE SCHEMA o;
SET indextable.advice = off;
CREATE TABLE o.f (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('o.f_k', 'o.f', '{k}', maintenance => 'async') \gset
SQL
	my $n = 0;
	for my $code ('57014', '57P01', '40001', '55P03', '08006', '53100')
	{
		$n++;
		is(sql('other_raising', "SET indextable.advice = off; INSERT INTO o.f VALUES ($n, '{\"k\": \"a\"}')"), '', 'a change of another');
		is(mine("SET indextable.advice = off; INSERT INTO m.f1 VALUES ($n, '{\"k\": \"a\"}'); INSERT INTO m.f2 VALUES ($n, '{\"k\": \"a\"}'); UPDATE m.now SET code = '$code'"), '', "the error $code");
		my $warnings = super('SELECT indextable.drain() \gset');
		is($warnings, join("\n", map { "psql:<stdin>:1: WARNING:  could not drain table \"$_\": it is " . ($_ eq 'f1' ? $n : 1) } 'f1', 'f2'), "$code: drain() warns");
		is(sql('other_raising', 'SELECT count(*) FROM o.f_k'), $n, "$code: and goes on");
		is(super("SELECT count(*) FROM m.f2 WHERE doc ->> 'k' = 'b'"), 0, "$code: plain SQL does, too");
		is(mine('UPDATE m.now SET code = NULL'), '', 'it raises none');
		is(super('SELECT indextable.drain() \gset'), '', '... and drain() has no warnings');
	}
	like(super("UPDATE m.now SET code = '57014'; INSERT INTO m.f1 VALUES (100, '{}'); SET statement_timeout = '100ms'; SELECT pg_sleep(10)"), qr/canceling statement/, 'a session');
	is(mine(<<'SQL'), '', 'a filter that sleeps');
UPDATE m.now SET code = NULL;
CREATE OR REPLACE FUNCTION m.fail(i int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN i; END $$;
SQL
	like(super("SET statement_timeout = '200ms'; SELECT indextable.drain()"), qr/ERROR:  canceling statement due to statement timeout/, 'drain() itself can be cancelled');
};

# ---- row security

subtest 'row security' => sub {
	tenant('secured');
	is(super('CREATE ROLE bob_secured LOGIN'), '', 'another');
	is(mine(<<'SQL'), '', 'a table with a policy');
CREATE TABLE m.f (id int PRIMARY KEY, who name NOT NULL, doc jsonb NOT NULL);
INSERT INTO m.f SELECT i, CASE WHEN i % 2 = 0 THEN 'bob_secured' ELSE 'secured' END,
	jsonb_build_object('k', x || i % 5, 'n', i, 't', jsonb_build_array(x || i % 5, 'of all'))
FROM generate_series(1, 2000) i, LATERAL (SELECT CASE WHEN i % 2 = 0 THEN 'open' ELSE 'secret' END) x (x);
SELECT indextable.create('m.f_k', 'm.f', '{k}', include => '{n::int}') \gset
SELECT indextable.create('m.f_d', 'm.f', '{n::int}', 'denormalized') \gset
SELECT indextable.create('m.f_tot', 'm.f', '{k}', totals => '{count(*),sum(n::int)}') \gset
SELECT indextable.create('m.f_as', 'm.f', '{k}', maintenance => 'async') \gset
SELECT indextable.create('m.f_t', 'm.f', '{t[*]}', include => '{@who}') \gset
CREATE INDEX ON m.f_k (upper(k));
ALTER TABLE m.f ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON m.f USING (who = current_user);
GRANT SELECT, UPDATE ON m.f TO bob_secured;
ANALYZE m.f, m.f_k, m.f_d, m.f_tot, m.f_as, m.f_t;
SQL
	for my $planner ('on', 'force')
	{
		my $begin = <<"SQL";
CREATE FUNCTION pg_temp.leak(t text) RETURNS boolean COST 0.0000001 LANGUAGE plpgsql AS
\$\$ BEGIN IF t ~ 'secret' THEN RAISE WARNING 'leaked %', t; END IF; RETURN true; END \$\$;
SET indextable.planner = $planner;
SQL
		for my $query (
			"SELECT count(*) FROM m.f WHERE doc ->> 'k' = 'secret1'", "SELECT count(*) FROM m.f WHERE doc ->> 'k' LIKE 'secret%'",
			"SELECT count(*) FROM m.f WHERE doc ->> 'k' = 'secret1' AND pg_temp.leak(doc ->> 'k')",
			"SELECT count(*) FROM m.f WHERE (doc ->> 'n')::int IN (1, 3) AND pg_temp.leak(doc ->> 'k')",
			"SELECT count(*) FROM (SELECT doc ->> 'k', count(*) FROM m.f GROUP BY 1 HAVING pg_temp.leak(doc ->> 'k') AND doc ->> 'k' ~ 'secret') x",
			"SELECT count(*) FROM (SELECT DISTINCT doc ->> 'k' AS k FROM m.f WHERE pg_temp.leak(doc ->> 'k')) x WHERE k ~ 'secret'",
			"SELECT count(*) FROM m.f WHERE upper(doc ->> 'k') LIKE 'SECRET%' AND pg_temp.leak(doc ->> 'k')",
			"SELECT count(*) FROM m.f WHERE doc -> 't' ? 'secret1' AND pg_temp.leak(doc ->> 't')",
			"SELECT count(*) FROM m.f, jsonb_array_elements_text(doc -> 't') e WHERE pg_temp.leak(e) AND e ~ 'secret'",
			"SELECT count(*) FROM m.f WHERE EXISTS (SELECT FROM jsonb_array_elements_text(doc -> 't') e WHERE pg_temp.leak(e) AND e LIKE 'secret%')",
			"SELECT count(*) FROM (SELECT e, count(*) FROM m.f, jsonb_array_elements_text(doc -> 't') e WHERE e > 'p' AND pg_temp.leak(e) GROUP BY 1) x",
			"SELECT count(*) FROM (VALUES ('secret1')) v (x) JOIN m.f ON doc -> 't' ? v.x AND pg_temp.leak(doc ->> 'k')",
			"WITH u AS (UPDATE m.f SET doc = doc WHERE doc ->> 'k' = 'secret1' AND pg_temp.leak(doc ->> 'k') RETURNING 1) SELECT count(*) FROM u")
		{
			is(sql('bob_secured', "$begin$query"), 0, "$query, $planner");
		}
		is(sql('bob_secured', "$begin SELECT count(*), sum((doc ->> 'n')::int) FROM m.f WHERE doc ->> 'k' = 'open1'"), '200|200200', 'own rows');
	}
	like(sql('bob_secured', $_), qr/ERROR/, "$_ is refused") for "SELECT * FROM indextable.totals('m.f_tot')", "SELECT * FROM indextable.query('m.f_k', '{\"k\": \"secret1\"}')",
		"SELECT * FROM indextable.profile('m.f', '{k}')", "SELECT * FROM indextable.verify('m.f_k')", 'TABLE m.f_k';
	unlike(sql('bob_secured', "SELECT * FROM indextable.lookup('m.f_k', '{\"k\": \"secret1\"}'); SELECT * FROM indextable.lookup('m.f_d', '{\"n\": 1}'); SELECT * FROM pg_stats WHERE schemaname = 'm'"), qr/secret\d/, 'look-ups and statistics');
};

# ---- parallel workers

# Anybody can name the table that rebuild() fills, and have something depend on it.
subtest 'what others make on the replacement of an index table' => sub {
	tenant('replaced');
	is(super('CREATE ROLE eve_replaced LOGIN; CREATE SCHEMA e AUTHORIZATION eve_replaced'), '', 'another');
	is(mine(<<'SQL'), '', 'an index table');
CREATE TABLE m.f (id int PRIMARY KEY, doc jsonb);
SET indextable.advice = off;
SELECT indextable.create('m.f_k', 'm.f', '{k}') \gset
INSERT INTO m.f SELECT i, jsonb_build_object('k', i, 'v', i) FROM generate_series(1, 10) i;
SQL
	my @include = ('v', 'k AS k2', 'v AS v2');
	my $holds = session($node, $db);
	$holds->query('SET SESSION AUTHORIZATION eve_replaced');
	for my $ends (q(CALL indextable.rebuild('m.f_k') \gset), "SELECT indextable.alter('m.f_k', filter => 'doc IS NOT NULL') \\gset", q(SELECT indextable.drop('m.f_k') \gset))
	{
		is(mine("SELECT indextable.alter('m.f_k', include => '{" . shift(@include) . "}', populate => false) \\gset"), '', 'a replacement');
		my $table = super(q(SELECT oid::regclass FROM pg_class WHERE relname ~ '^rebuild_' AND relkind = 'r'));
		is(sql('eve_replaced', "CREATE VIEW e.v AS SELECT FROM $table; CREATE FUNCTION e.f($table) RETURNS int LANGUAGE sql RETURN 1"), '', '... on which another makes something');
		$holds->query("BEGIN; COMMENT ON VIEW e.v IS 'held'");
		like(mine($ends), qr/ERROR:  canceling statement due to lock timeout/, '... and holds a lock on it, for which nobody waits long');
		$holds->query('COMMIT');
		is(mine("SET client_min_messages = warning; $ends"), '', $ends);
		is(super(q(SELECT to_regclass('e.v'), count(*) FROM pg_class WHERE relname ~ '^rebuild_')), '|0', '... leaves nothing of it');
	}
	$holds->finish;
};

# They cannot write, and the log is theirs.
subtest 'functions in parallel workers' => sub {
	tenant('parallel_workers');
	my $from = -s $node->logfile;
	is(mine(<<'SQL'), '', 'functions that log as whom they are called');
CREATE FUNCTION m.who(value anyelement) RETURNS anyelement IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS
$$ BEGIN IF current_user <> 'parallel_workers' THEN RAISE LOG 'called as % of %', current_user, session_user; END IF; RETURN value; END $$;
CREATE TABLE m.f (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO m.f SELECT i, jsonb_build_object('k', 'K' || i, 'pad', repeat('x', 200)) FROM generate_series(1, 5000) i;
SELECT indextable.create('m.f_k', 'm.f', ARRAY['(m.who(lower(doc ->> ''k''))) AS k'], filter => 'm.who(true)') \gset
SELECT indextable.create('m.f_as', 'm.f', '{k}', filter => 'm.who(doc) IS NOT NULL', maintenance => 'async') \gset
SELECT indextable.create('m.f_tot', 'm.f', ARRAY['(m.who(doc ->> ''pad'')) AS pad'], totals => '{count(*)}') \gset
CREATE INDEX ON m.f_k (m.who(k));
SQL
	my $parallel = $node->pg_version < 16 ? 'force_parallel_mode' : 'debug_parallel_query';
	for my $command ("SELECT * FROM indextable.verify('m.f')", "CALL indextable.rebuild('m.f_k')", "CALL indextable.repair('m.f') \\gset",
		"SELECT * FROM indextable.lookup('m.f_k', '{\"k\": \"k5\"}')", "SELECT entry FROM indextable.query('m.f_k', '{\"k\": \"k5\"}')", "SELECT * FROM indextable.advise('m.f')",
		"SELECT count(*) FROM indextable.profile('m.f', '{k}', filter => 'm.who(doc) IS NOT NULL')", "SELECT indextable.alter('m.f_k', include => '{k AS kk}')",
		"SELECT indextable.create('m.f_super', 'm.f', '{k}', filter => 'm.who(true)')", "VACUUM ANALYZE m.f, m.f_k", 'REINDEX TABLE m.f_k', "INSERT INTO m.f VALUES (0, '{\"k\": \"new\"}')")
	{
		unlike(super("SET max_parallel_maintenance_workers = 4; SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET $parallel = on; $command"),
			qr/ERROR/, $command);
	}
	unlike(slurp_file($node->logfile, $from), qr/LOG:  called as/, 'nothing was called as another');
};

done_testing();
