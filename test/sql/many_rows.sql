-- Statements that delete and move many rows walk through the index table from one entry to the next: whatever lies between them, the
-- entries are those of the rows.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA many_rows;
SET search_path = many_rows;
SET client_min_messages = warning;
SET indextable.planner = off;
CREATE TABLE fact (id int, doc jsonb);
CREATE FUNCTION doc(i int, salt int) RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_build_object('town', 't' || (i * 7 + salt) % 50, 'n', i % 20, 'tags', to_jsonb(ARRAY['a' || i % 3, 'B' || (i + salt) % 5, 'c' || salt]), 'note', salt)
$$;
CREATE FUNCTION drift() RETURNS TABLE (index_table text, side text, entry text) LANGUAGE sql AS $$
	SELECT t, d.* FROM (VALUES
		('town', 'SELECT doc ->> ''town'', id, (doc ->> ''note'')::int FROM fact WHERE doc ->> ''town'' IS NOT NULL'),
		('number', 'SELECT (doc ->> ''n'')::numeric, doc ->> ''town'', id FROM fact WHERE doc ->> ''n'' IS NOT NULL'),
		('parts', 'SELECT doc ->> ''town'', id FROM fact WHERE doc ->> ''town'' IS NOT NULL'),
		('tags', 'SELECT DISTINCT t, id FROM fact, jsonb_array_elements_text(doc -> ''tags'') t')) v(t, recompute),
		pg_temp.oracle(t, recompute) d
$$;
CREATE PROCEDURE tables() LANGUAGE plpgsql AS $$
BEGIN
	PERFORM indextable.create('town', 'fact', '{town}', include => '{note::int}');
	PERFORM indextable.create('number', 'fact', '{n::numeric, town}');
	PERFORM indextable.create('parts', 'fact', '{town}', partitions => 3);
	PERFORM indextable.create('tags', 'fact', '{tags[*]}');
END $$;
ALTER TABLE fact ADD PRIMARY KEY (id);
CALL tables();

-- all of them; every third one, with others between; some here and there, and few and many in turn
INSERT INTO fact SELECT i, doc(i, 0) FROM generate_series(1, 1500) i;
UPDATE fact SET doc = doc(id, 1);
CALL pg_temp.no_rows('drift()');
UPDATE fact SET doc = doc(id, 2) WHERE id % 3 = 0;
UPDATE fact SET doc = doc(id, 3) WHERE id % 13 = 0;
UPDATE fact SET doc = doc(id, 4) WHERE id < 400 AND id % 100 = 0 OR id BETWEEN 400 AND 600 OR id % 90 = 0 OR id > 1300;
CALL pg_temp.no_rows('drift()');
-- the same keys that were there before: the index has dead entries of them, and such as were rolled back
BEGIN;
DELETE FROM fact;
CALL pg_temp.no_rows('drift()');
ROLLBACK;
UPDATE fact SET doc = doc(id, 2);
UPDATE fact SET doc = doc(id, 1);
UPDATE fact SET doc = doc(id, 2);
CALL pg_temp.no_rows('drift()');
-- entries that the transaction has written itself, several times, and in a subtransaction
BEGIN;
INSERT INTO fact SELECT i, doc(i, 1) FROM generate_series(5000, 5500) i;
UPDATE fact SET doc = doc(id, 3) WHERE id > 1100;
SAVEPOINT s;
DELETE FROM fact WHERE id % 2 = 0;
UPDATE fact SET doc = doc(id, 1) WHERE id > 1100;
ROLLBACK TO s;
UPDATE fact SET doc = doc(id, 1) WHERE id > 1300;
DELETE FROM fact WHERE id % 5 = 0;
CALL pg_temp.no_rows('drift()');
COMMIT;
CALL pg_temp.no_rows('drift()');
-- several times in one statement: the row moves away and is deleted; it comes back with the same key
WITH moved AS (UPDATE fact SET doc = doc(id, 5) WHERE id % 2 = 0 RETURNING id)
INSERT INTO fact SELECT id + 10000, doc(id, 5) FROM moved;
UPDATE fact SET id = -id WHERE id % 4 = 1;
CALL pg_temp.no_rows('drift()');
-- primary keys of the whole table in another order; nothing left
UPDATE fact SET id = 100000 - id;
CALL pg_temp.no_rows('drift()');
DELETE FROM fact;
SELECT count(*) FROM town;
SELECT count(*) FROM tags;
DROP TABLE fact CASCADE;

-- a deferrable primary key: rows exchange their keys
CREATE TABLE fact (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, doc jsonb);
CALL tables();
INSERT INTO fact SELECT i, doc(i, 0) FROM generate_series(1, 500) i;
UPDATE fact SET id = 501 - id;
CALL pg_temp.no_rows('drift()');
UPDATE fact SET id = id + 1, doc = doc(id, 1);
CALL pg_temp.no_rows('drift()');
DROP TABLE fact CASCADE;

-- keys of several columns, of other types, that are equal although they are written otherwise
CREATE TABLE fact (kind name, n numeric, doc jsonb, PRIMARY KEY (kind, n));
SELECT indextable.create('two', 'fact', '{n::numeric AS number}') \gset
SELECT indextable.create('names', 'fact', '{town::name}') \gset
INSERT INTO fact SELECT 'k' || i % 3, i, doc(i, 0) FROM generate_series(1, 500) i;
UPDATE fact SET n = n + 0.0, doc = jsonb_set(doc(n::int, 1), '{n}', to_jsonb((n % 20) + 0.00)) WHERE n % 3 > 0;
CALL pg_temp.compare('two', 'SELECT (doc ->> ''n'')::numeric, kind, n FROM fact');
CALL pg_temp.compare('names', 'SELECT doc ->> ''town'', kind, n FROM fact');
DELETE FROM fact WHERE n % 4 = 1;
UPDATE fact SET doc = doc(n::int, 7);
CALL pg_temp.compare('two', 'SELECT (doc ->> ''n'')::numeric, kind, n FROM fact');
CALL pg_temp.compare('names', 'SELECT doc ->> ''town'', kind, n FROM fact');
DROP TABLE fact CASCADE;

-- entries between, that nobody deletes
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb);
CALL tables();
INSERT INTO fact SELECT i, doc(i, 0) FROM generate_series(1, 1500) i;
VACUUM fact, town, number, parts, tags;
DELETE FROM fact WHERE id % 40 = 0;
DELETE FROM fact WHERE id % 10 = 1 AND id < 700 OR doc ->> 'town' IN ('t7', 't8', 't9');
CALL pg_temp.no_rows('drift()');
DELETE FROM fact WHERE id % 2 = 0;
CALL pg_temp.no_rows('drift()');
DROP SCHEMA many_rows CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
