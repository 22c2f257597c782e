-- Rows that asynchronous index tables cannot take: the writer is not refused, the
-- row is written down until it is mended, and nothing else is held up.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA asyncrejected;
SET search_path = asyncrejected;
SET DateStyle = 'ISO, YMD';
CREATE FUNCTION rejected() RETURNS TABLE (index_table text, primary_key text[], sqlstate text, message text, attempts int, retried boolean) LANGUAGE sql AS $$
	SELECT index_table::text, primary_key, sqlstate, message, attempts, next_try IS NOT NULL FROM indextable.rejected ORDER BY index_table::text, primary_key COLLATE "C"
$$;
-- without waiting for it
CREATE FUNCTION make_due() RETURNS bigint LANGUAGE sql AS
	$$WITH due AS (UPDATE indextable_internal.rejection SET next_try = clock_timestamp() WHERE next_try IS NOT NULL RETURNING 1) SELECT count(*) FROM due$$;

-- ---- values that cannot be cast
CREATE TABLE doc (a int, b text, doc jsonb, note text, PRIMARY KEY (a, b));
INSERT INTO doc VALUES (0, 'there', '{"n": 0}');
SELECT indextable.create('strict', 'doc', '{n::int}', include => '{d::date, x::int}', maintenance => 'async') \gset
SELECT indextable.create('lax', 'doc', '{n::int}', include => '{d::date}', on_mismatch => 'skip', maintenance => 'async') \gset
SELECT indextable.create('tags', 'doc', '{tags[*]::int AS tag}', maintenance => 'async') \gset
SELECT indextable.create('lax_tags', 'doc', '{tags[*]::int AS tag}', on_mismatch => 'skip', maintenance => 'async') \gset
SELECT indextable.create('any', 'doc', '{n}', maintenance => 'async');
CREATE FUNCTION differences() RETURNS TABLE (index_table text, side text, entry text) LANGUAGE sql AS $$
	SELECT t, d.* FROM (VALUES
		('strict', 'SELECT (doc ->> ''n'')::int, a, b, (doc ->> ''d'')::date, (doc ->> ''x'')::int FROM doc WHERE coalesce(doc ->> ''n'', ''1'') ~ ''^[0-9]{1,9}$'' AND coalesce(doc ->> ''d'', ''1'') ~ ''[0-9]$'' AND coalesce(doc ->> ''x'', ''1'') ~ ''^[0-9]+$'''),
		('lax', 'SELECT (doc ->> ''n'')::int, a, b, (doc ->> ''d'')::date FROM doc WHERE coalesce(doc ->> ''n'', ''1'') ~ ''^[0-9]{1,9}$'' AND coalesce(doc ->> ''d'', ''1'') ~ ''[0-9]$'''),
		('tags', 'SELECT DISTINCT e::int, a, b FROM doc, jsonb_array_elements_text(doc -> ''tags'') e WHERE coalesce(e, ''1'') ~ ''^[0-9]+$'''),
		('lax_tags', 'SELECT DISTINCT e::int, a, b FROM doc, jsonb_array_elements_text(doc -> ''tags'') e WHERE coalesce(e, ''1'') ~ ''^[0-9]+$'''),
		('any', 'SELECT doc ->> ''n'', a, b FROM doc')) v(t, recompute),
		pg_temp.oracle(quote_ident(t), recompute) d WHERE to_regclass(quote_ident(t)) IS NOT NULL
$$;
INSERT INTO doc VALUES (1, 'good', '{"n": 1, "d": "2024-01-01", "x": 1, "tags": [1, 2]}'), (2, 'bad', '{"n": "many"}'), (3, 'bad', '{"n": 1.5}'),
	(4, 'bad', '{"n": 3000000000}'), (5, 'bad', '{"n": 5, "d": "yesterday"}'), (6, 'bad', '{"n": 6, "x": "x"}'), (7, 'it''s, "b\ad"', '{"n": {"no": "number"}}'),
	(8, 'no key', '{"n": null, "d": "yesterday"}'), (9, 'array', '{"tags": [10, "ten", 11, null, "eleven", 10]}'), (10, 'good', '{"n": 10, "tags": []}');
SELECT indextable.drain('doc');
SELECT * FROM rejected();
SELECT index_table, skipped, rejected FROM indextable.index_table_stats ORDER BY index_table::text;
SELECT fact_table, backlog, rejected FROM indextable.queues;
SELECT * FROM strict ORDER BY a;
SELECT * FROM lax ORDER BY a;
SELECT * FROM tags ORDER BY a, tag;
SELECT * FROM lax_tags ORDER BY a, tag;
CALL pg_temp.no_rows('differences()');
-- it is not tried again before the row changes; another column is no change, and a bad value for another is
SELECT indextable.drain('doc'), make_due();
UPDATE doc SET note = 'changed';
SELECT indextable.drain('doc');
UPDATE doc SET doc = doc || '{"n": "more"}' WHERE a = 2;
SELECT indextable.drain('doc');
SELECT * FROM rejected() WHERE primary_key[1] = '2';
SELECT max(attempts), count(*) FROM rejected();
-- many changes between two drains are one attempt
UPDATE doc SET doc = doc || '{"n": "still"}' WHERE a = 2;
UPDATE doc SET doc = doc || '{"n": "most"}' WHERE a = 2;
UPDATE doc SET doc = doc || '{"n": "all"}' WHERE a = 2;
SELECT indextable.drain('doc');
SELECT message, attempts FROM rejected() WHERE primary_key[1] = '2';
-- mended: by a good value, by none, by a change of the primary key, by deletion
UPDATE doc SET doc = '{"n": 2}' WHERE a = 2;
UPDATE doc SET doc = '{}' WHERE a = 3;
UPDATE doc SET a = -4, doc = '{"n": 4}' WHERE a = 4;
DELETE FROM doc WHERE a = 5;
UPDATE doc SET a = -6 WHERE a = 6;
UPDATE doc SET doc = '{"n": 7}' WHERE a = 7;
UPDATE doc SET doc = '{"tags": [10, 11, "eleven"]}' WHERE a = 9;
SELECT indextable.drain('doc', 1);
SELECT * FROM rejected();
CALL pg_temp.no_rows('differences()');
-- a good value becomes bad: the entry goes
UPDATE doc SET doc = doc || '{"n": "x", "tags": ["x"]}' WHERE a = 1;
UPDATE doc SET doc = doc || '{"x": "x"}' WHERE a = 10;
SELECT indextable.drain('doc');
SELECT * FROM rejected();
SELECT * FROM strict ORDER BY a;
CALL pg_temp.no_rows('differences()');
-- seen by nobody when it is rolled back
BEGIN;
UPDATE doc SET doc = '{"n": "x"}' WHERE a = 0;
DELETE FROM doc WHERE a = 1;
SELECT indextable.drain('doc');
SELECT * FROM rejected();
ROLLBACK;
SELECT index_table, primary_key FROM rejected();
-- an index table that is dropped takes its own along
SELECT indextable.drop('tags') \gset
SELECT index_table, primary_key FROM rejected();
-- so does TRUNCATE, all
INSERT INTO doc VALUES (20, 'queued', '{"n": "x"}');
BEGIN; TRUNCATE doc; SELECT count(*) FROM rejected(); ROLLBACK;
SELECT count(*) > 0 AS some FROM rejected();
TRUNCATE doc;
CALL pg_temp.no_rows('rejected()');
SELECT indextable.drain('doc');
CALL pg_temp.no_rows('rejected()');
-- with 'error' a row that is there already refuses the index table, as ever; with 'skip' it does not
INSERT INTO doc VALUES (21, 'there', '{"n": "x"}');
SELECT indextable.create('late', 'doc', '{n::int}', maintenance => 'async');
SELECT indextable.create('late', 'doc', '{n::int}', on_mismatch => 'skip', maintenance => 'async') \gset
-- values longer than a key can be
TRUNCATE doc;
INSERT INTO doc VALUES (22, 'long', jsonb_build_object('n', repeat('a', 3000))), (23, 'short', '{"n": 1}');
SELECT indextable.drain('doc');
SELECT index_table, primary_key, sqlstate, left(message, 66), right(message, 90) FROM rejected();
SELECT * FROM "any";
UPDATE doc SET doc = jsonb_build_object('n', 22) WHERE a = 22;
SELECT indextable.drain('doc');
CALL pg_temp.no_rows('rejected()');
CALL pg_temp.no_rows('differences()');
DROP TABLE doc;
-- primary keys, too, in whatever they are long
CREATE TABLE long (id text PRIMARY KEY, doc jsonb);
SELECT indextable.create('long_k', 'long', '{k}', maintenance => 'async') \gset
SELECT indextable.create('long_lax', 'long', '{k}', on_mismatch => 'skip', maintenance => 'async') \gset
INSERT INTO long SELECT repeat('a', n), '{"k": "x"}' FROM unnest(ARRAY[1, 2599, 2600, 10000, 100000]) n;
UPDATE long SET doc = '{"k": "y"}';
SELECT indextable.drain('long');
SELECT length(primary_key[1]), sqlstate, attempts FROM rejected() ORDER BY 1;
SELECT k, length(id) FROM long_k ORDER BY 2;
CALL pg_temp.compare('long_lax', 'SELECT k, id FROM long_k');
SELECT skipped FROM indextable.index_table_stats WHERE index_table = 'long_lax'::regclass;
DELETE FROM long WHERE length(id) > 10;
SELECT indextable.drain('long');
CALL pg_temp.no_rows('rejected()');
DROP TABLE long;
-- keys that are equal, though not the same
CREATE TABLE num (id numeric PRIMARY KEY, doc jsonb);
SELECT indextable.create('num_k', 'num', '{k::int}', maintenance => 'async') \gset
INSERT INTO num VALUES (1.0, '{"k": "x"}');
SELECT indextable.drain('num');
UPDATE num SET id = 1.00;
SELECT indextable.drain('num');
SELECT * FROM rejected();
UPDATE num SET doc = '{"k": 1}';
SELECT indextable.drain('num');
CALL pg_temp.no_rows('rejected()');
SELECT * FROM num_k;
DROP TABLE num;

-- ---- errors of other kinds: a filter that fails, a unique index of the user's own
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('divided', 'fact', '{k}', filter => '100 / (doc ->> ''n'')::int > 0', maintenance => 'async') \gset
SELECT indextable.create('uniq', 'fact', '{k}', include => '{n}', maintenance => 'async') \gset
SELECT indextable.create('free', 'fact', '{k}', maintenance => 'async') \gset
CREATE UNIQUE INDEX uniq_k ON uniq (k);
INSERT INTO fact SELECT i, jsonb_build_object('k', i, 'n', i) FROM generate_series(1, 20) i;
UPDATE fact SET doc = jsonb_build_object('k', 1, 'n', 0) WHERE id IN (7, 11);
UPDATE fact SET doc = doc || '{"n": "zero"}' WHERE id = 13;
SELECT indextable.drain('fact');
SELECT * FROM rejected();
-- attempts that far apart, in seconds
SELECT index_table, primary_key, round(extract(epoch FROM next_try - last_at)) AS wait FROM indextable.rejected ORDER BY index_table::text, primary_key COLLATE "C";
CREATE FUNCTION differ() RETURNS TABLE (index_table text, side text, entry text) LANGUAGE sql AS $$
	SELECT t, d.* FROM (VALUES
		('divided', 'SELECT doc ->> ''k'', id FROM fact WHERE CASE WHEN doc ->> ''n'' ~ ''^[1-9][0-9]*$'' THEN 100 / (doc ->> ''n'')::int > 0 END'),
		('uniq', 'SELECT doc ->> ''k'', id, doc ->> ''n'' FROM fact WHERE NOT ARRAY[id::text] = ANY(SELECT primary_key FROM indextable.rejected WHERE index_table = ''uniq''::regclass)'),
		('free', 'SELECT doc ->> ''k'', id FROM fact')) v(t, recompute), pg_temp.oracle(t, recompute) d
$$;
CALL pg_temp.no_rows('differ()');
-- tried again when the row changes, and when it is time
SELECT indextable.drain('fact');
UPDATE fact SET doc = doc || '{"other": 1}' WHERE id = 7;
SELECT indextable.drain('fact');
SELECT make_due();
SELECT indextable.drain('fact');
SELECT index_table, primary_key, attempts, round(extract(epoch FROM next_try - last_at)) AS wait FROM indextable.rejected ORDER BY index_table::text, primary_key COLLATE "C";
UPDATE indextable_internal.rejection SET attempts = 50;
SELECT make_due();
SELECT indextable.drain('fact');
SELECT attempts, round(extract(epoch FROM next_try - last_at)) AS wait, first_at < last_at AS later, count(*) FROM indextable.rejected GROUP BY 1, 2, 3;
-- what is in the way goes: the row itself does not change
UPDATE fact SET doc = doc || '{"k": "other"}' WHERE id = 1;
SELECT indextable.drain('fact');
SELECT count(*) FROM rejected() WHERE index_table = 'uniq';
SELECT make_due();
SELECT indextable.drain('fact') > 0 AS some;
SELECT index_table, primary_key, message FROM rejected();
DROP INDEX uniq_k;
SELECT make_due();
SELECT indextable.drain('fact') > 0 AS some;
SELECT index_table, primary_key, sqlstate FROM rejected();
CALL pg_temp.no_rows('differ()');
-- one kind of error after another, and none
UPDATE fact SET doc = doc || '{"n": 0}' WHERE id = 13;
UPDATE fact SET doc = doc || '{"n": "zero"}' WHERE id = 11;
DELETE FROM fact WHERE id = 7;
SELECT indextable.drain('fact');
SELECT index_table, primary_key, sqlstate FROM rejected();
UPDATE fact SET doc = doc || '{"n": 1}';
SELECT indextable.drain('fact');
CALL pg_temp.no_rows('rejected()');
CALL pg_temp.no_rows('differ()');
-- a row whose entry is refused loses the old one, which could be in the way of others: here two rows swap their keys
UPDATE fact SET doc = jsonb_build_object('k', id, 'n', 1);
SELECT indextable.drain('fact') > 0 AS some;
CREATE UNIQUE INDEX uniq_k ON uniq (k);
BEGIN;
UPDATE fact SET doc = jsonb_build_object('k', 2, 'n', 1) WHERE id = 1;
UPDATE fact SET doc = jsonb_build_object('k', 1, 'n', 1) WHERE id = 2;
COMMIT;
SELECT indextable.drain('fact', 1);
SELECT index_table, primary_key, message FROM rejected();
SELECT * FROM uniq WHERE id IN (1, 2) ORDER BY id;
CALL pg_temp.no_rows('differ()');
SELECT make_due();
SELECT indextable.drain('fact', 1);
SELECT * FROM uniq WHERE id IN (1, 2) ORDER BY id;
CALL pg_temp.no_rows('rejected()');
-- within a batch nothing is in the way
UPDATE fact SET doc = jsonb_build_object('k', 21 - id, 'n', 1);
SELECT indextable.drain('fact');
CALL pg_temp.no_rows('rejected()');
CALL pg_temp.no_rows('differ()');
DROP INDEX uniq_k;

-- ---- among many rows, in one batch and in several
INSERT INTO fact SELECT i, jsonb_build_object('k', i, 'n', CASE WHEN i % 400 = 0 THEN 0 ELSE 1 END) FROM generate_series(1001, 3000) i;
SELECT indextable.drain('fact');
SELECT index_table, primary_key, sqlstate, attempts FROM rejected();
CALL pg_temp.no_rows('differ()');
UPDATE fact SET doc = doc || '{"k": "x"}' WHERE id > 1000;
SELECT indextable.drain('fact', 300);
SELECT index_table, primary_key, sqlstate, attempts FROM rejected();
CALL pg_temp.no_rows('differ()');
UPDATE fact SET doc = doc || '{"n": 5}' WHERE id % 400 = 0;
DELETE FROM fact WHERE id % 400 <> 0;
SELECT indextable.drain('fact', 150);
CALL pg_temp.no_rows('rejected()');
CALL pg_temp.no_rows('differ()');

-- ---- errors that are of no row: nothing is applied, nothing is lost
CREATE FUNCTION fail(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF $1 = '57014' THEN PERFORM pg_sleep(600); END IF;
	IF $1 IS NOT NULL THEN RAISE EXCEPTION 'fails on purpose' USING ERRCODE = $1; END IF;
	RETURN true;
END $$;
SELECT indextable.create('failing', 'fact', '{k}', filter => 'asyncrejected.fail(doc ->> ''code'')', maintenance => 'async') \gset
UPDATE fact SET doc = doc || '{"code": "40001"}' WHERE id = 1200;
UPDATE fact SET doc = doc || '{"k": "waits"}' WHERE id = 1600;
SELECT indextable.drain('fact');
\echo :LAST_ERROR_SQLSTATE
UPDATE fact SET doc = doc || '{"code": "57014"}' WHERE id = 1200;
SET statement_timeout = 500;
SELECT indextable.drain('fact');
RESET statement_timeout;
\echo :LAST_ERROR_SQLSTATE
UPDATE fact SET doc = doc || '{"code": "53100"}' WHERE id = 1200;
SELECT indextable.drain('fact', 1);
SELECT backlog, rejected FROM indextable.queues;
SELECT k, id FROM free WHERE id IN (1200, 1600) ORDER BY id;
-- and those that are of a row
UPDATE fact SET doc = doc || '{"code": "22000", "k": "mine"}' WHERE id = 1200;
UPDATE fact SET doc = doc || '{"code": "P0001"}' WHERE id = 2000;
UPDATE fact SET doc = doc || '{"code": "23514"}' WHERE id = 2400;
UPDATE fact SET doc = doc || '{"code": "XX000"}' WHERE id = 2800;
SELECT indextable.drain('fact');
SELECT * FROM rejected();
SELECT k, id FROM free WHERE id IN (1200, 1600) ORDER BY id;
SELECT * FROM failing ORDER BY id;
-- a function that is mended: when it is time
CREATE OR REPLACE FUNCTION fail(text) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
SELECT make_due();
SELECT indextable.drain('fact');
CALL pg_temp.no_rows('rejected()');
CALL pg_temp.compare('failing', $$SELECT doc ->> 'k', id FROM fact$$);
CALL pg_temp.no_rows('differ()');

SET client_min_messages = warning;
DROP SCHEMA asyncrejected CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
SELECT count(*) FROM indextable_internal.rejection;
