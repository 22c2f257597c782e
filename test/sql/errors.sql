-- Every bad input: one clear error, with its SQLSTATE, and nothing left behind.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA errors;
SET search_path = errors;
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb, name text, other int);
INSERT INTO fact VALUES (1, '{"k": "a", "n": 1}');
\set VERBOSITY default

-- ---- fact tables
SELECT indextable.create('x', 'nope', '{k}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 0, '{k}');
\echo :LAST_ERROR_SQLSTATE
CREATE VIEW view AS SELECT * FROM fact;
SELECT indextable.create('x', 'view', '{k}');
\echo :LAST_ERROR_SQLSTATE
CREATE MATERIALIZED VIEW matview AS SELECT * FROM fact;
SELECT indextable.create('x', 'matview', '{k}');
\echo :LAST_ERROR_SQLSTATE
CREATE SEQUENCE seq;
SELECT indextable.create('x', 'seq', '{k}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'fact_pkey', '{k}');
\echo :LAST_ERROR_SQLSTATE
CREATE TYPE composite AS (id int, doc jsonb);
SELECT indextable.create('x', 'composite', '{k}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'pg_class', '{k}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'indextable_internal.definition', '{k}');
\echo :LAST_ERROR_SQLSTATE
CREATE TABLE no_pk (id int NOT NULL, doc jsonb);
SELECT indextable.create('x', 'no_pk', '{k}');
\echo :LAST_ERROR_SQLSTATE
CREATE TABLE unique_only (id int NOT NULL UNIQUE, doc jsonb);
SELECT indextable.create('x', 'unique_only', '{k}');
\echo :LAST_ERROR_SQLSTATE
CREATE TABLE no_doc (id int PRIMARY KEY, doc json);
SELECT indextable.create('x', 'no_doc', '{k}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'no_doc', '{k}', document => 'doc');
\echo :LAST_ERROR_SQLSTATE
CREATE DOMAIN document AS jsonb;
CREATE TABLE of_domain (id int PRIMARY KEY, note text, doc document);
SELECT indextable.create('x', 'of_domain', '{k}');
SELECT indextable.create('x', 'of_domain', '{k}', document => 'doc');
ALTER TABLE of_domain ALTER COLUMN doc TYPE jsonb USING doc::jsonb;
SELECT indextable.create('x', 'of_domain', '{k}') \gset
ALTER TABLE of_domain DROP CONSTRAINT of_domain_pkey;
\echo :LAST_ERROR_SQLSTATE
DROP TABLE of_domain;
DROP DOMAIN document;
CREATE TABLE two_docs (id int PRIMARY KEY, a jsonb, b jsonb);
SELECT indextable.create('x', 'two_docs', '{k}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'two_docs', '{k}', document => 'c');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'fact', '{k}', document => 'name');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'fact', '{k}', document => 'ctid');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'two_docs', '{k}', document => 'b') \gset
SELECT indextable.drop('x') \gset
CREATE TEMP TABLE temporary (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('x', 'temporary', '{k}');
\echo :LAST_ERROR_SQLSTATE
CREATE UNLOGGED TABLE unlogged (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('x', 'unlogged', '{k}');
\echo :LAST_ERROR_SQLSTATE
CREATE FOREIGN DATA WRAPPER regress_it_fdw;
CREATE SERVER regress_it_server FOREIGN DATA WRAPPER regress_it_fdw;
CREATE FOREIGN TABLE foreign_table (id int, doc jsonb) SERVER regress_it_server;
SELECT indextable.create('x', 'foreign_table', '{k}');
\echo :LAST_ERROR_SQLSTATE
CREATE TABLE parted (id int PRIMARY KEY, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF parted DEFAULT;
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'part', '{k}');
\echo :LAST_ERROR_SQLSTATE
CREATE TABLE parent (id int PRIMARY KEY, doc jsonb);
CREATE TABLE child (PRIMARY KEY (id)) INHERITS (parent);
SELECT indextable.create('x', 'parent', '{k}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'child', '{k}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('of_fact', 'fact', '{k}', 'denormalized') \gset
SELECT indextable.create('x', 'of_fact', '{k}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.drop('of_fact') \gset
-- a table that had children once, has none
CREATE TABLE had_children (id int PRIMARY KEY, doc jsonb);
CREATE TABLE gone () INHERITS (had_children);
DROP TABLE gone;
SELECT indextable.create('x', 'had_children', '{k}') \gset
DROP TABLE had_children;

-- ---- arguments
SELECT indextable.create(NULL, 'fact', '{k}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', NULL, '{k}');
SELECT indextable.create('x', 'fact', NULL);
SELECT indextable.create('x', 'fact', '{}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'fact', '{k,NULL}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'fact', '{{k},{n}}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'fact', '{k}', strategy => 'normalised');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'fact', '{k}', strategy => '');
SELECT indextable.create('x', 'fact', '{k}', strategy => 'PARTIAL');
SELECT indextable.create('x', 'fact', '{k}', maintenance => 'sync');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'fact', '{k}', on_mismatch => 'ignore');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'fact', '{k}', 'partial');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'fact', '{k}', 'partial', '{}');
SELECT indextable.create('x', 'fact', '{k}', 'normalized', '{n}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'fact', '{k}', 'denormalized', '{n}');
SELECT indextable.create('x', 'fact', '{k}', maintenance => 'async', is_unique => true);
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'fact', '{k}', partitions => -1);
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'fact', '{k}', partitions => 10001);
SELECT indextable.create('x', 'fact', '{k}', partition_by => 'RANGE (n)');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'fact', '{k}', partition_by => 'RANGE (k, n)');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'fact', '{k}', partition_by => 'RANGE (lower(k))');
SELECT indextable.create('x', 'fact', '{k}', partition_by => 'RANGE (k); DROP TABLE fact');
SELECT indextable.create('x', 'fact', '{k}', partition_by => 'anything');
SELECT indextable.create('x', 'fact', '{k}', partition_by => 'HASH (k)');
SELECT indextable.create('x', 'fact', '{k}', partition_bounds => '{IN (1)}');
SELECT indextable.create('x', 'fact', '{k}', partition_by => 'LIST (k)', partitions => 4);
SELECT indextable.create('x', 'fact', '{k}', partition_by => 'LIST (k)', partition_bounds => '{IN (''a''); DROP TABLE fact}');
SELECT indextable.create('x', 'fact', '{k}', partition_by => 'LIST (k)', partition_bounds => '{TO (1)}');
SELECT indextable.create('x', 'fact', '{k}', partition_by => 'LIST (k)', partition_bounds => '{IN (''a''), IN (''a'')}');
SELECT indextable.create('x', 'fact', '{k}', partitions => 4, partition_tablespaces => '{pg_default, pg_default}');
SELECT indextable.create('x', 'fact', '{k}', partition_tablespaces => '{pg_default}');
SELECT indextable.create('x', 'fact', '{k}', partitions => 4, partition_tablespaces => '{nowhere}');
\echo :LAST_ERROR_SQLSTATE

-- ---- names
SELECT indextable.create('fact', 'fact', '{k}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('view', 'fact', '{k}');
SELECT indextable.create('composite', 'fact', '{k}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('', 'fact', '{k}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('a b', 'fact', '{k}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('"unclosed', 'fact', '{k}');
DO $$ BEGIN PERFORM indextable.create('""', 'fact', '{k}'); EXCEPTION WHEN syntax_error OR invalid_name THEN RAISE NOTICE 'refused'; END $$;
SELECT indextable.create('nope.x', 'fact', '{k}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('a.b.c', 'fact', '{k}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('a.b.c.d', 'fact', '{k}');
DO $$ BEGIN PERFORM indextable.create('pg_temp.x', 'fact', '{k}'); EXCEPTION WHEN reserved_name THEN RAISE NOTICE 'refused'; END $$;
SELECT indextable.create('pg_toast.x', 'fact', '{k}');
SELECT indextable.create('x', 'fact', '{id}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'fact', '{k, a.k}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'fact', '{k}', include => '{k}');
SELECT indextable.create('x', 'fact', '{doc}', 'denormalized');
SELECT indextable.create('x', 'fact', '{k, n AS k}');
SELECT indextable.create('x', 'fact', '{@name, name}');
SELECT indextable.create('x', 'fact', '{@id, @id}');
SELECT indextable.create('x', 'fact', '{k AS ctid}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'fact', '{$[0]}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'fact', ARRAY['""']);
SELECT indextable.create('x', 'fact', array_agg('k' || i)) FROM generate_series(1, 33) i;
\echo :LAST_ERROR_SQLSTATE

-- ---- paths, with where the error is
CREATE FUNCTION field(spec text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	state text; message text; detail text; hint text;
BEGIN
	PERFORM indextable.create('x', 'fact', ARRAY[spec]);
	RETURN NEXT 'no error';
	PERFORM indextable.drop('x');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN NEXT state || ' ' || message;
	IF detail <> '' THEN RETURN NEXT '      ' || detail; END IF;
	IF hint <> '' THEN RETURN NEXT '      ' || hint; END IF;
END $$;
\pset tuples_only on
\pset format unaligned
SELECT field(spec) FROM unnest(ARRAY[
	'', '   ', '.', 'a.', 'a..b', '.a', 'a.b.', 'a b', 'a-b', 'a/b', '1a', 'a.1', 'a.*', '*', 'a[', 'a[]', 'a[1', 'a[x]', 'a[-]',
	'a[1.5]', 'a[ 1 ]', 'a]', 'a[*', 'a[*]b', 'a[9999999999]', '"a', '"a"b', '"a\x"', '"\u00zz"', '"\u0000"', '"\ud800"', '"a' || chr(9) || 'b"', '"a\', '"a\"', '"a""', '""', '"".b', 'a."', 'a.""', '$', '$a', '$.', '$..a', '@', '@ id', '@1',
	'@"', '@""', '@"id', '@"id""', '@"id"x', '@"id".x', '@"id"""', '@nope', '@ctid', '@ID', '@"ID"', '@id.x', '@doc[*]', 'a[*].b[*].c[*]', 'é.', 'a.é-b', 'a ''b''',
	-- what follows the path
	'k::', 'k::nope', 'k::int(3', 'k::int(3)', 'k::numeric(a)', 'k:int', 'k::int::text', 'k::int[]', 'k::int4range', 'k COLLATE', 'k COLLATE nope', 'k COLLATE "C" COLLATE "C"',
	'k::int COLLATE "C"', 'k AS', 'k as "', 'k as "a""', 'k as ""', 'k as "a"b', 'k AS 1', 'k AS a b', 'k name', 'k AS a.b', 'k::text AS a, b', 'k; DROP TABLE fact', 'k -- comment', 'k /* comment */ AS c',
	'k + 1', 'k::text || ''x''', 'k::text FROM fact', 'k AS x WHERE true', 'k UNION SELECT 1', 'k::SETOF text', 'k::int%TYPE',
	-- types whose input depends on settings, or that have no order, or are no types for values
	'k::money', 'k::regclass', 'k::regproc', 'k::json', 'k::xml', 'k::point', 'k::tsvector', 'k::record', 'k::anyelement', 'k::cstring', 'k::void', 'k::pg_lsn', 'k::oid',
	'k::timetz', 'k::refcursor', 'k::"char"', 'k::pg_class', 'k::bpchar', 'k::int8', 'none::xid8', 'k::jsonpath', 'k::unknown', 'k::errors.composite', 'k::daterange', 'k::int4multirange',
	'@doc::int', '@name::date', '@name::timestamptz', '@other::nope', '@other::text']) spec;
\pset format aligned
\pset tuples_only off
SELECT indextable.create('x', 'fact', '{a[*], b[*]}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('x', 'fact', '{k}', include => '{a[*]}');
\echo :LAST_ERROR_SQLSTATE

-- ---- filters
CREATE FUNCTION filter(filter text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	state text; message text; detail text; hint text;
BEGIN
	PERFORM indextable.create('x', 'fact', '{k}', filter => filter);
	RETURN NEXT 'no error';
	PERFORM indextable.drop('x');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN NEXT state || ' ' || message;
	IF state = '42883' THEN RETURN; END IF;    -- of which PostgreSQL 19 says more
	IF detail <> '' THEN RETURN NEXT '      ' || detail; END IF;
	IF hint <> '' THEN RETURN NEXT '      ' || hint; END IF;
END $$;
CREATE FUNCTION vol() RETURNS boolean LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN true; END';
\pset tuples_only on
\pset format unaligned
SELECT filter(f) FROM unnest(ARRAY[
	'', ' ', '(', 'true)', 'true; DROP TABLE fact', 'true, false', 'true AS x', 'true x', 'true FROM fact', 'true WHERE true', '-- nothing', 'SELECT true', '*', 'fact.*',
	'other', 'other + 1', '''x''', '1', 'nope', 'nope.id = 1', 'fact.id = 1', 'id = ''x''', 'nope(id)', 'name', 'doc',
	'random() < 0.5', 'now() > ''2024-01-01''', '(doc ->> ''at'')::timestamptz > ''2024-01-01Z''', 'errors.vol()', 'name::date > ''2024-01-01''', 'current_user = name', 'to_jsonb(name) = doc',
	'id IN (SELECT 1)', 'EXISTS (SELECT FROM fact)', '(SELECT true)', 'count(*) > 1', 'row_number() OVER () = 1', 'generate_series(1, 2) = 1', 'id = ANY (ARRAY(SELECT 1))',
	'ctid IS NOT NULL', 'tableoid = 1', 'fact IS NOT NULL', 'fact = fact', 'id = $1', 'id = DEFAULT', 'CURRENT OF c', 'GROUPING(id) = 1', 'xmin = 1',
	'id BETWEEN 1 AND 3 AND name IS NOT DISTINCT FROM ''x'' OR doc @> ''{"k": 1}''', 'doc ? ''k''', 'id = ANY (''{1,2}'')', 'NULL', 'true /* comment */', 'true -- comment']) f;
\pset format aligned
\pset tuples_only off

-- ---- what beginners write, and what the hints say
CREATE TABLE people (id int PRIMARY KEY, name text, doc jsonb);
INSERT INTO people (id, doc) SELECT i, jsonb_build_object('town', 'T' || i, 'age', i, 'odd name', 1, 'address', jsonb_build_object('City', 'C', 'zip', i),
	'items', jsonb_build_array(jsonb_build_object('sku', 's'))) FROM generate_series(1, 3) i;
\pset tuples_only on
\pset format unaligned
CREATE FUNCTION hint(spec text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
BEGIN
	PERFORM indextable.create('x', 'people', ARRAY[spec]);
	RETURN spec || ' - no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN spec || ' - ' || hint;
END $$;
SELECT hint(spec) FROM unnest(ARRAY[
	-- as in SQL
	'doc->>''town''', 'doc ->> ''town''', '(doc->>''age'')::int', 'doc->''address''->>''City''', 'p.doc->>''town''', 'doc #>> ''{address,City}''',
	'doc[''town'']', 'doc->''items''->0->>''sku''', 'doc->>''age''::int', 'lower(doc->>''town'')', '''town''', 'town DESC', 'age int', 'age integer', 'age:int',
	'town, age', 'town, age::int',
	-- as elsewhere
	'$[''town'']', '$.address["City"]', 'address->City', 'address/City', '/address/City', 'address:City', 'items[].sku', 'items.*.sku', 'items.0.sku', '@.town', '{town}',
	-- names that need quotes
	'odd name', 'first-name', '1st', 'a b c d e']) spec;
\pset format aligned
\pset tuples_only off
-- columns of the table, and types of elsewhere
\pset tuples_only on
\pset format unaligned
SELECT hint(spec) FROM unnest(ARRAY['id', 'address.id', 'town AS id', '@name::string', 'town::string', 'town::str AS t', '"odd name"::varchar2(20)', 'age::number(10,2)', 'age::long',
	'age::intger', 'at::datetime', 'town::nope', 'items::int8[]', 'items[*]::int8[]', 'items::string[]', 'items::money[] AS m', 'town::json', 'town::xml', 'town::point', 'town::regclass',
	'town::int4range', 'town::people']) spec;
CREATE FUNCTION filter_hint(filter text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	state text; hint text;
BEGIN
	PERFORM indextable.create('x', 'people', '{town}', filter => filter);
	PERFORM indextable.drop('x');
	RETURN filter || ' - no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, hint = PG_EXCEPTION_HINT;
	RETURN state || ' ' || filter || ' - ' || regexp_replace(hint, '^No operator matches the given name and argument types?\. ', '');    -- since 19 in the detail
END $$;
SELECT filter_hint(f) FROM unnest(ARRAY[
	-- members as if they were columns
	'town = ''x''', 'Town = ''x'' OR NOT active', 'doc.town = ''x''', 'people.town = ''x''', 'address.City <> ''x''', '"odd name" = 1', 'town LIKE ''T%''', 'town IS NOT NULL', 'town = name',
	'active', 'active = true', 'active IS NOT TRUE AND town > ''x''', 'age > 18', 'age = -1', '18 <= age', 'age BETWEEN 1 AND 3', 'age IN (1, 2)', 'nmae = ''x''',
	-- texts without quotes
	'town = open', 'doc ->> ''town'' = open', 'doc ->> ''town'' = "it''s"', 'town IN (open, closed)', 'name = open',
	-- as elsewhere
	'{town} = open', '$.town == "x"', '@.town === "x"', '@town = ''x''', '@name = ''x''', 'doc[''town''] = ''x''', 'doc->town !== ''x''', 'WHERE doc ->> ''town'' = ''x'';',
	-- JSON instead of text, and text instead of a number
	'doc -> ''town'' = ''x''', 'doc->>''age'' > 18', 'doc->''address''->>''zip'' < 5', 'doc->>''age''::int > 18', 'doc -> ''active''', 'doc.items @> ''[{"sku": "s"}]''', 'doc->''items'' @> ''[{"sku": "s"}]''',
	-- what nobody can tell
	'nope(town)', 'town = x && age', 'town =', 'town = $x$y$x$', 'town = E''x''', 'town = ''x'' -- y', '"town = ''x''', '{town = ''x''', '$1 = town', '::', '.', 'town.', '[', 'IN (', '= town', '''x'' = town']) f;
\pset format aligned
\pset tuples_only off
-- the fields of hints are fields
SELECT indextable.drop(indextable.create('x', 'people', ARRAY['"odd name"'])) \gset
SELECT indextable.drop(indextable.create('x', 'people', '{town, age::int}')) \gset
-- fields that no document has
DO $$
DECLARE
	key text[];
BEGIN
	FOREACH key SLICE 1 IN ARRAY ARRAY[['Town'], ['twon::text AS t'], ['doc.town'], ['doc'], ['doc.address.City'], ['address.city COLLATE "C"'], ['zip::int'], ['items.sku'], ['name'], ['items[7].sku'], ['nothing.like.it']] LOOP
		PERFORM indextable.drop(indextable.create('x', 'errors.people', key));
	END LOOP;
END $$;
SELECT indextable.drop(indextable.create('x', 'people', '{town}', include => '{Age::int, rare}')) \gset
SELECT indextable.drop(indextable.create('x', 'people', '{Town}', is_unique => true)) \gset
SELECT indextable.drop(indextable.create('x', 'people', '{Town}', filter => 'id > 3')) \gset
SELECT indextable.drop(indextable.create('x', 'people', '{Town}', filter => 'id = 3')) \gset
SET indextable.advice = off;
SELECT indextable.drop(indextable.create('x', 'people', '{Town}')) \gset
SET indextable.advice = on;
-- a field that is rare is not absent
INSERT INTO people (id, doc) SELECT i, CASE i WHEN 3000 THEN '{"rare": 1}' ELSE '{}' END::jsonb FROM generate_series(4, 3000) i;
SELECT indextable.drop(indextable.create('x', 'people', '{rare}')) \gset
SELECT indextable.drop(indextable.create('x', 'people', '{Town}', populate => false));
SELECT indextable.drop(indextable.create('x', 'people', '{nowhere}'));
-- a path that begins with a column
SELECT indextable.drop(indextable.create('x', 'people', '{doc.rare}')) \gset
SELECT indextable.drop(indextable.create('x', 'people', '{id AS ident}')) \gset
-- an empty table says nothing
DELETE FROM people;
SELECT indextable.drop(indextable.create('x', 'people', '{Town}')) \gset
-- columns
SELECT indextable.create('x', 'people', '{@Nmae}');
SELECT indextable.create('x', 'people', '{@town}');
SELECT indextable.create('x', 'people', '{town}', document => 'dok');
SELECT indextable.create('x', 'people', '{town}', filter => 'town = ''x''');
SELECT indextable.create('x', 'people', '{town}', filter => 'nmae = ''x''');
SELECT indextable.create('x', 'people', '{town}', filter => 'doc.active');
SELECT indextable.create('x', 'people', '{town}', filter => 'doc ->> ''active''');
-- values: the nearest first
SELECT indextable.create('x', 'people', '{town}', strategy => 'denormalised');
SELECT indextable.create('x', 'people', '{town}', maintenance => 'asynchronous');
-- keys and conditions
SELECT indextable.create('x', 'people', '{address.town AS city, age::int}') \gset
SELECT * FROM indextable.lookup('x', '"T1"');
SELECT * FROM indextable.lookup('x', '{}');
SELECT * FROM indextable.lookup('x', '{"City": "T1"}');
SELECT * FROM indextable.lookup('x', '{"address.town": "T1"}');
SELECT * FROM indextable.lookup('x', '{"name": "T1"}');
SELECT * FROM indextable.query('x', '{"city": "T1"}', '{"age": 3}');
SELECT * FROM indextable.query('x', '{"city": "T1"}', '{"age": {"gt": 3}}');
SELECT * FROM indextable.query('x', '{}', '{"city": {"$starts_with": "T"}}');
SELECT * FROM indextable.query('x', '{"city": "T1"}', '{"Age": {">": 3}}');
DROP TABLE people;

-- ---- what is no index table
CREATE TABLE "Odd fact" (id int, doc jsonb, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE "odd part" PARTITION OF "Odd fact" DEFAULT;
SELECT indextable.create('"odd index"', '"Odd fact"', '{k}', partitions => 2) \gset
CREATE VIEW look AS SELECT * FROM "odd index";
CREATE TABLE plain (id int PRIMARY KEY);
SELECT indextable.create_feed('fact');
CREATE FUNCTION not_one(call text, relation text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	state text; message text; detail text; hint text;
BEGIN
	EXECUTE replace(call, '$', quote_literal(relation));
	RETURN NEXT call || ' ' || relation || ': no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN NEXT concat_ws(E'\n      ', state || ' ' || message, nullif(detail, ''), nullif(hint, ''));
END $$;
\pset tuples_only on
\pset format unaligned
SELECT not_one('SELECT indextable.wait($)', r) FROM unnest(ARRAY['"Odd fact"', '"odd part"', (SELECT min(inhrelid::regclass::text) FROM pg_inherits WHERE inhparent = '"odd index"'::regclass), 'look', 'plain', 'fact', '16383', 'nowhere']) r;
-- all say the same
SELECT call, t FROM unnest(ARRAY['SELECT * FROM indextable.lookup($, ''{"k": 1}'')', 'SELECT * FROM indextable.query($, ''{"k": 1}'')', 'SELECT indextable.drop($)', 'SELECT indextable.alter($, maintenance => ''async'')',
	'CALL indextable.build($)', 'CALL indextable.rebuild($)', 'CALL indextable.repair($)', 'SELECT * FROM indextable.verify($)', 'SELECT indextable.definition($)']) call, not_one(call, '"odd part"') t;
\pset format aligned
\pset tuples_only off
SELECT indextable.drop_feed('fact') \gset
DROP TABLE "Odd fact", plain CASCADE;

-- ---- rights, and a read-only transaction
CREATE ROLE regress_it_nobody;
GRANT USAGE ON SCHEMA errors TO regress_it_nobody;
GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER ON fact TO regress_it_nobody;
SET ROLE regress_it_nobody;
SELECT indextable.create('x', 'fact', '{k}');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
BEGIN READ ONLY;
SELECT indextable.create('x', 'fact', '{k}');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;

-- ---- no arguments cause an internal error: each function is called with all odd values of each argument, and with odd relations
SET client_min_messages = error;
CREATE TABLE feed (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create_feed('feed') \gset
INSERT INTO feed VALUES (1);
SELECT indextable.create('argument_async', 'fact', '{k}', maintenance => 'async') \gset
SELECT indextable.create('argument_totals', 'fact', '{k}', totals => '{count(*)}') \gset
CREATE VIEW a_view AS SELECT * FROM fact;
CREATE SEQUENCE a_sequence;
CREATE TYPE a_type AS (a int);
CREATE FUNCTION call_oddly() RETURNS TABLE (function text, state text, message text) LANGUAGE plpgsql AS $$
DECLARE
	odd jsonb := $x${"regclass": ["feed", "fact", "argument_async", "argument_totals", "argument_async_pkey", "a_view", "a_sequence", "a_type",
		"pg_class", "pg_class_oid_index", "indextable_internal.fact", "0", "4294967295", null], "oid": ["0", "1259", "4294967295", null],
		"text": ["k", "", "{", "$[*]", "async", "SELECT 1", "(", null], "name": ["doc", "", "ctid", null],
		"name[]": ["{id}", "{}", "{NULL}", "{id,id}", "{{id},{doc}}", "[3:3]={id}", null],
		"text[]": ["{k}", "{}", "{NULL}", "{{k,n}}", "[3:4]={k,n}", "{0:0:0:0}", "{1:1:1:1}", "{-1:0:1:3}", "{99999999999:1:1:1}", null],
		"jsonb": ["{}", "null", "[]", "5", "{\"k\": {}}", "[[[]]]", null], "boolean": ["true", "false", null],
		"integer": ["1", "0", "-1", "2147483647", "-2147483648", null], "smallint": ["2", "0", "-6", "32767", "-32768", null],
		"bigint": ["1", "0", "-1", "1000", "-9223372036854775808", null], "bigint[]": ["{}", "{NULL}", "{{1,2}}", "{-1}", null],
		"double precision": ["1", "0", "-1", "NaN", "Infinity", "1e300", null], "interval": ["0", "-1 day", "1 ms", "100000000 years"],
		"xid8": ["0", "3", "18446744073709551615", null], "pg_snapshot": ["1:1:", "1:9223372036854775807:", null],
		"regtype": ["text", "0", "a_type", null], "fact": [null], "indextable_internal.key_profile": [null], "indextable_internal.checked": [null]}$x$;
	args text[];
BEGIN
	FOR function, args IN
		SELECT p.oid::regproc, c.args FROM (
			SELECT oid, array(SELECT replace(format_type(t, NULL), 'anyelement', 'fact') FROM unnest(proargtypes) WITH ORDINALITY x (t, o) ORDER BY o) AS types FROM pg_proc
			WHERE pronamespace IN ('indextable'::regnamespace, 'indextable_internal'::regnamespace) AND prokind = 'f' AND NOT 'internal'::regtype = ANY (proargtypes)
				AND has_function_privilege(oid, 'EXECUTE')) p,
			LATERAL (SELECT t, o, v.value FROM unnest(p.types) WITH ORDINALITY x (t, o), jsonb_array_elements_text(odd -> t) v) odd_one,
			LATERAL jsonb_array_elements_text(odd -> p.types[1]) odd_first,
			LATERAL (SELECT array_agg(format('%L::%s', CASE WHEN o = odd_one.o THEN odd_one.value WHEN o = 1 THEN odd_first.value ELSE odd -> t ->> 0 END, t) ORDER BY o)
				FROM unnest(p.types) WITH ORDINALITY x (t, o)) c (args)
	LOOP
		BEGIN
			EXECUTE format('SELECT count(*) FROM %s(%s)', function, array_to_string(args, ', '));
			RAISE feature_not_supported; -- undo it
		EXCEPTION WHEN OTHERS OR ASSERT_FAILURE THEN
			GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
			IF state LIKE 'XX%' OR state LIKE '53%' THEN
				RETURN NEXT;
			END IF;
		END;
	END LOOP;
END $$;
SELECT DISTINCT ON (function, state) * FROM call_oddly() ORDER BY 1, 2;
-- a feed whose changes one statement takes and acknowledges twice
SELECT indextable_internal.ack('feed', items), indextable_internal.ack('feed', items)
FROM (SELECT array_agg(item) AS items FROM indextable_internal.take('feed', 10, '{id}')) t;
-- what else is refused there
SELECT indextable_internal.take(0, 1, '{id}');
SELECT indextable_internal.feed_status(0);
SELECT indextable.drop_feed(0);
SELECT indextable_internal.ack('feed', '{1:2:3}');
SELECT indextable_internal.drain_shards('fact', 2000000);
DROP VIEW a_view;
SELECT indextable.drop('argument_async'), indextable.drop('argument_totals') \gset
DROP TABLE feed;
RESET client_min_messages;

-- ---- nothing is left behind by any of it
SELECT relname FROM pg_class WHERE relname LIKE 'x%' AND relnamespace = 'errors'::regnamespace;
CALL pg_temp.no_rows('pg_temp.leftovers()');
SELECT indextable.create('x', 'fact', '{k}') \gset
CALL pg_temp.compare('x', $$SELECT doc ->> 'k', id FROM fact$$);

SET client_min_messages = warning;
DROP SCHEMA errors CASCADE;
DROP FOREIGN DATA WRAPPER regress_it_fdw CASCADE;
DROP ROLE regress_it_nobody;
CALL pg_temp.no_rows('pg_temp.leftovers()');
