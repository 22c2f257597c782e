-- Definitions are cached in each session: what puts one out of date, and what does not.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA cached;
SET search_path = cached;

-- changes of this transaction, and their end
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb);
INSERT INTO fact VALUES (1, '{"k": "a", "v": 1}');
SELECT indextable.create('by_k', 'fact', '{k}') \gset
BEGIN;
INSERT INTO fact VALUES (2, '{"k": "b", "v": 2}');
SAVEPOINT s;
SELECT indextable.alter('by_k', include => '{v}') \gset
INSERT INTO fact VALUES (3, '{"k": "c", "v": 3}');
SELECT * FROM by_k ORDER BY id;
ROLLBACK TO s;
INSERT INTO fact VALUES (4, '{"k": "d", "v": 4}');
SELECT * FROM by_k ORDER BY id;
COMMIT;
BEGIN;
SELECT indextable.create('by_v', 'fact', '{v}') \gset
INSERT INTO fact VALUES (5, '{"k": "e", "v": 5}');
ROLLBACK;
INSERT INTO fact VALUES (6, '{"k": "f", "v": 6}');
CALL pg_temp.compare('by_k', $$SELECT doc ->> 'k', id FROM fact$$);

-- functions and domains that a filter uses, and others
CREATE FUNCTION wanted(v int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN v < 100; END';
CREATE FUNCTION inlined(v int) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT v < 100';
CREATE FUNCTION outer_one(v int) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT cached.inlined(v)';
CREATE DOMAIN low AS int;
CREATE DOMAIN lower AS low;
CREATE TABLE filtered (id int PRIMARY KEY, v int, doc jsonb);
SELECT indextable.create('by_plpgsql', 'filtered', '{k}', filter => 'cached.wanted(v)') \gset
SELECT indextable.create('by_sql', 'filtered', '{k}', filter => 'cached.outer_one(v)') \gset
SELECT indextable.create('by_domain', 'filtered', '{k}', filter => '(v::cached.lower) IS NOT NULL') \gset
INSERT INTO filtered VALUES (1, 1, '{"k": "a"}');
CREATE OR REPLACE FUNCTION wanted(v int) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT v < 10';
CREATE OR REPLACE FUNCTION inlined(v int) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT v < 10';
INSERT INTO filtered VALUES (2, 50, '{"k": "b"}');
SELECT id FROM by_plpgsql;
SELECT id FROM by_sql;
ALTER DOMAIN low ADD CONSTRAINT low CHECK (VALUE < 1000);
INSERT INTO filtered VALUES (3, 1001, '{"k": "c"}');
ALTER DOMAIN low DROP CONSTRAINT low;
INSERT INTO filtered VALUES (3, 1001, '{"k": "c"}');
SELECT id FROM by_domain ORDER BY id;

-- everything is forgotten all the time: only servers built with assertions do that, and there it takes a while
CREATE TABLE asked (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('now', 'asked', '{k}') \gset
SELECT indextable.create('later', 'asked', '{k}', maintenance => 'async') \gset
DO $$
BEGIN
	SET debug_discard_caches = 1;
EXCEPTION WHEN invalid_parameter_value THEN
	NULL;
END $$;
INSERT INTO asked VALUES (1, '{"k": "a"}'), (2, '{"k": "b"}');
SELECT indextable.drain('asked');
SELECT * FROM indextable.lookup('later', '{"k": "b"}');
RESET debug_discard_caches;
CALL pg_temp.compare('now', $$SELECT doc ->> 'k', id FROM asked$$);
CALL pg_temp.compare('later', $$SELECT doc ->> 'k', id FROM asked$$);

SET client_min_messages = warning;
DROP SCHEMA cached CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
