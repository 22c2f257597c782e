-- Names of any kind, primary keys of any type, and columns and tables that come,
-- go and change their names.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA names;
SET search_path = names;
SET DateStyle = 'ISO, YMD'; SET TimeZone = 'UTC';

-- ---- names of any kind
CREATE SCHEMA "Select ""from"" Ünï.côde";
CREATE TABLE "Select ""from"" Ünï.côde"."Fact table; DROP" (
	"Primary Key" int, "user" text, "Do'c" jsonb, "select" boolean DEFAULT true,
	PRIMARY KEY ("user", "Primary Key"));
SELECT indextable.create('"Select ""from"" Ünï.côde"."By ""Town"" 日本"', '"Select ""from"" Ünï.côde"."Fact table; DROP"',
	ARRAY['"The ""Town"""'], include => ARRAY['"where"', '"a.b"."c d" AS "Étage ""2"""', '@"select"'], filter => '"select"');
SELECT indextable.create('"Select ""from"" Ünï.côde"."By ""Town"" 日本"', '"Select ""from"" Ünï.côde"."Fact table; DROP"',
	ARRAY['"The \"Town\""'], include => ARRAY['"where"', '"a.b"."c d" AS "Étage ""2"""', '@"select"'], filter => '"select"') \gset
-- unqualified: the fact table's schema, and names fold as in SQL
SELECT indextable.create('Table', '"Select ""from"" Ünï.côde"."Fact table; DROP"', '{Order[*], @user}', 'denormalized');
SELECT indextable.create('"Table"', '"Select ""from"" Ünï.côde"."Fact table; DROP"', ARRAY['order', '@"Primary Key"']);
\d "Select ""from"" Ünï.côde"."By ""Town"" 日本"
INSERT INTO "Select ""from"" Ünï.côde"."Fact table; DROP" VALUES
	(1, 'a', '{"The \"Town\"": "X", "where": "here", "a.b": {"c d": "deep"}, "Order": ["p", "q"], "order": "o"}', true),
	(2, 'it''s', '{"The \"Town\"": "Y''; --", "Order": "r", "order": 2}', false),
	(3, 'c', '{"The \"Town\"": "Z"}', false);
UPDATE "Select ""from"" Ünï.côde"."Fact table; DROP" SET "select" = NOT "select" WHERE "Primary Key" > 1;
SELECT * FROM "Select ""from"" Ünï.côde"."By ""Town"" 日本" ORDER BY 1;
SELECT * FROM "Select ""from"" Ünï.côde"."table" ORDER BY 1;
SELECT * FROM "Select ""from"" Ünï.côde"."Table" ORDER BY 1;
SELECT "Primary Key", "user" FROM indextable.lookup(NULL::"Select ""from"" Ünï.côde"."Fact table; DROP",
	'"Select ""from"" Ünï.côde"."By ""Town"" 日本"', '{"The \"Town\"": "Y''; --"}');
CALL pg_temp.compare('"Select ""from"" Ünï.côde"."By ""Town"" 日本"',
	$$SELECT "Do'c" ->> 'The "Town"', "user", "Primary Key", "Do'c" ->> 'where', "Do'c" #>> '{a.b,c d}', "select"
	  FROM "Select ""from"" Ünï.côde"."Fact table; DROP" WHERE "select"$$);
-- a mismatch and a duplicate name them as they are
SELECT indextable.create('"It''s unique"', '"Select ""from"" Ünï.côde"."Fact table; DROP"', '{order::int}', is_unique => true);
DELETE FROM "Select ""from"" Ünï.côde"."Fact table; DROP" WHERE "user" = 'a';
SELECT indextable.create('"It''s unique"', '"Select ""from"" Ünï.côde"."Fact table; DROP"', '{order::int}', is_unique => true);
INSERT INTO "Select ""from"" Ünï.côde"."Fact table; DROP" VALUES (4, 'd', '{"order": "%s"}');
INSERT INTO "Select ""from"" Ünï.côde"."Fact table; DROP" VALUES (4, 'd', '{"order": 2}');
TRUNCATE "Select ""from"" Ünï.côde"."Fact table; DROP";
SELECT indextable.drop('"Select ""from"" Ünï.côde"."By ""Town"" 日本"') \gset
DROP TABLE "Select ""from"" Ünï.côde"."Table", "Select ""from"" Ünï.côde"."It's unique";
SELECT index_table FROM indextable.index_tables;
SET client_min_messages = warning;
DROP SCHEMA "Select ""from"" Ünï.côde" CASCADE;
RESET client_min_messages;
-- a name that is as long as names can be, and one that is longer
CREATE TABLE plain (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create(repeat('i', 63), 'plain', '{a}');
SELECT indextable.create('many_bytes', 'plain', ARRAY['"' || repeat('é', 31) || 'e"']) \gset
INSERT INTO plain VALUES (1, jsonb_build_object(repeat('é', 31) || 'e', 'x'));
TABLE many_bytes;
SELECT indextable.create('too_many', 'plain', ARRAY['"' || repeat('é', 32) || '"']);
SELECT indextable.create('too_many', 'plain', ARRAY['"' || repeat('é', 32) || '" AS short']) \gset
INSERT INTO plain VALUES (2, jsonb_build_object(repeat('é', 32), 'y'));
TABLE too_many;
-- what the server would cut is refused: the index table's name, its schema's, and a column's
SELECT indextable.create(repeat('i', 64), 'plain', '{a}');
SELECT indextable.create('"' || repeat('é', 32) || '"', 'plain', '{a}');
SELECT indextable.create(repeat('é', 32), 'plain', '{a}');
SELECT indextable.create('names."a.' || repeat('""', 62) || '"', 'plain', '{a}');
SELECT indextable.create(repeat('s', 64) || '.x', 'plain', '{a}');
SELECT indextable.create('x', 'plain', ARRAY['a AS ' || repeat('i', 64)]);
SELECT indextable.create('x', 'plain', ARRAY['a::text COLLATE "C" as "' || repeat('é', 32) || '" ']);
SELECT indextable.create('x', 'plain', ARRAY['a AS "' || repeat('""', 64) || '"']);
SELECT indextable.create('x', 'plain', ARRAY['@' || repeat('c', 64)]);
SELECT indextable.create('x', 'plain', '{a}', include => ARRAY['b', 'b.' || repeat('i', 64)]);
SELECT indextable.alter(repeat('i', 63)::regclass, include => ARRAY['b', 'b AS ' || repeat('i', 64)]);
SELECT indextable.alter(repeat('i', 63)::regclass, include => ARRAY['b', 'b.' || repeat('i', 64)]);
SELECT statement FROM indextable.profile('plain', ARRAY['a AS ' || repeat('i', 64)]);
-- and no name that fits, nor a member that has another name in the index table
SELECT indextable.create('"' || repeat('""', 63) || '"', 'plain', ARRAY[repeat('m', 70) || '.a AS "' || repeat('""', 62) || 'z"']);
SELECT relname, attname FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid AND attnum = 1 WHERE relname LIKE '""%' AND relkind = 'r';
-- names that are made of it are shortened, as the server does: of partitions and their indexes, and beside it
SELECT indextable.create(repeat('é', 31) || 'p', 'plain', '{a}', partitions => 3, maintenance => 'async');
SELECT indextable.create(repeat('é', 31) || 'q', 'plain', '{a}', partitions => 3, maintenance => 'async');
INSERT INTO plain SELECT i, jsonb_build_object('a', i) FROM generate_series(10, 20) i;
SELECT indextable.drain('plain');
SELECT repeat('é', 31) AS long \gset
CALL indextable.rebuild((:'long' || 'p')::regclass);
SELECT count(*), count(DISTINCT relname) FROM pg_class WHERE relname LIKE 'éééé%';
SELECT * FROM indextable.verify((:'long' || 'p')::regclass);
CALL pg_temp.compare(:'long' || 'p', $$SELECT doc ->> 'a', id FROM plain$$);
CALL pg_temp.compare(:'long' || 'q', $$SELECT doc ->> 'a', id FROM plain$$);
DROP TABLE plain;

-- ---- composite primary keys of several types
CREATE DOMAIN code AS text CHECK (VALUE <> '');
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE many_keys (extra int, t text, u uuid, doc jsonb, z timestamptz, n numeric(10,2), i int, c char(4), b bytea, m mood, d code, more text,
	PRIMARY KEY (i, u, t, n, z, c, b, m, d));
ALTER TABLE many_keys DROP COLUMN extra;
SELECT indextable.create('by_k', 'many_keys', '{k}', include => '{v}') \gset
SELECT indextable.create('by_k_part', 'many_keys', '{k, @n, @t}') \gset
SELECT indextable.create('by_tags', 'many_keys', '{tags[*]}', 'denormalized') \gset
\d by_k
INSERT INTO many_keys SELECT 't' || i, ('00000000-0000-0000-0000-00000000000' || i)::uuid, jsonb_build_object('k', i % 2, 'v', i, 'tags', ARRAY[i, i + 1]),
	'2024-01-01Z'::timestamptz + i * interval '1 day', i * 1.5, i, 'c' || i, 'b'::bytea, 'ok', 'd', 'more' FROM generate_series(1, 6) i;
UPDATE many_keys SET t = 'other' WHERE i = 1;
UPDATE many_keys SET n = n + 0.01, z = 'infinity', m = 'happy' WHERE i = 2;
UPDATE many_keys SET more = 'nothing to see' WHERE i = 3;
UPDATE many_keys SET doc = doc || '{"k": "new", "v": "new", "tags": [0]}' WHERE i = 4;
DELETE FROM many_keys WHERE i = 5;
SELECT k, i, t, n, z, c, m, d, v FROM by_k ORDER BY i;
SELECT i, t FROM indextable.lookup(NULL::many_keys, 'by_k_part', '{"k": "1", "n": 1.5}');
SELECT i FROM indextable.lookup(NULL::many_keys, 'by_tags', '{"tags": "3"}');
CALL pg_temp.compare('by_k', $$SELECT doc ->> 'k', i, u, t, n, z, c, b, m, d, doc ->> 'v' FROM many_keys$$);
CALL pg_temp.compare('by_k_part', $$SELECT doc ->> 'k', n, t, i, u, z, c, b, m, d FROM many_keys$$);
CALL pg_temp.compare('by_tags', $$SELECT e, i, u, t, n, z, c, b, m, d, doc FROM many_keys, jsonb_array_elements_text(doc -> 'tags') e$$);
DROP TABLE many_keys;

-- ---- columns and tables that change
CREATE TABLE fact (a int, gone text, id int PRIMARY KEY, doc jsonb, live boolean DEFAULT true, note text DEFAULT 'n');
ALTER TABLE fact DROP COLUMN gone;
SELECT indextable.create('by_k', 'fact', '{k}', include => '{@note, @live}', filter => 'live') \gset
SELECT indextable.create('full', 'fact', '{k, @a}', 'denormalized');
INSERT INTO fact VALUES (1, 1, '{"k": "a"}');
-- added, with and without a default; dropped; renamed: each followed by writes
ALTER TABLE fact ADD COLUMN added int DEFAULT 7, ADD COLUMN other jsonb;
INSERT INTO fact VALUES (2, 2, '{"k": "b"}');
UPDATE fact SET added = 8, doc = '{"k": "a2"}' WHERE id = 1;
ALTER TABLE fact DROP COLUMN added;
INSERT INTO fact VALUES (3, 3, '{"k": "c"}');
ALTER TABLE fact RENAME note TO remark;
ALTER TABLE fact RENAME a TO alpha;
ALTER TABLE fact RENAME id TO key;
ALTER TABLE fact RENAME doc TO document;
ALTER TABLE fact RENAME live TO alive;
ALTER TABLE fact ADD COLUMN note text, ADD COLUMN live boolean, ADD COLUMN doc jsonb;
INSERT INTO fact (alpha, key, document, note, live, doc) VALUES (4, 4, '{"k": "d"}', 'new column', false, '{"k": "wrong"}');
UPDATE fact SET remark = 'changed', doc = '{"k": "wrong"}' WHERE key = 3;
UPDATE fact SET alive = false WHERE key = 2;
SELECT * FROM by_k ORDER BY id;
SELECT * FROM "full" ORDER BY id;
SELECT key FROM indextable.lookup(NULL::fact, 'by_k', '{"k": "c"}');
SELECT d FROM indextable.lookup('by_k', '{"k": "d"}') d;
-- a session that begins now sees the same
\c -
SET search_path = names;
\pset null <null>
INSERT INTO fact (alpha, key, document) VALUES (5, 5, '{"k": "e"}');
UPDATE fact SET document = '{"k": "d5"}' WHERE key = 4;
-- tables, schema and index table under other names and in other places
ALTER TABLE fact RENAME TO facts;
INSERT INTO facts (alpha, key, document) VALUES (6, 6, '{"k": "f"}');
ALTER TABLE by_k RENAME TO by_key;
INSERT INTO facts (alpha, key, document) VALUES (7, 7, '{"k": "g"}');
CREATE SCHEMA names_elsewhere;
ALTER TABLE by_key SET SCHEMA names_elsewhere;
INSERT INTO facts (alpha, key, document) VALUES (8, 8, '{"k": "h"}');
ALTER SCHEMA names_elsewhere RENAME TO names_far;
INSERT INTO facts (alpha, key, document) VALUES (9, 9, '{"k": "i"}');
ALTER TABLE facts SET SCHEMA names_far;
INSERT INTO names_far.facts (alpha, key, document) VALUES (10, 10, '{"k": "j"}');
ALTER TABLE names_far.by_key RENAME k TO town;
ALTER TABLE names_far.by_key RENAME note TO remark;
UPDATE names_far.facts SET document = '{"k": "z"}' WHERE key IN (1, 10);
DELETE FROM names_far.facts WHERE key = 9;
SELECT index_table, fact_table, key, include, filter FROM indextable.index_tables ORDER BY index_table::text COLLATE "C";
SELECT * FROM names_far.by_key ORDER BY id;
SELECT key FROM indextable.lookup(NULL::names_far.facts, 'names_far.by_key', '{"town": "z"}');
\set SHOW_CONTEXT never
SELECT key FROM indextable.lookup(NULL::names_far.facts, 'names_far.by_key', '{"k": "z"}');
-- the oracle was temporary, and went with the session
\i :src/sql/include/oracle.psql
CALL pg_temp.compare('names_far.by_key', $$SELECT document ->> 'k', key, remark, alive FROM names_far.facts WHERE alive$$);
CALL pg_temp.compare('"full"', $$SELECT document ->> 'k', alpha, key, document FROM names_far.facts WHERE alpha IS NOT NULL$$);
-- what fields depend on can be dropped, or change its type, only when the index tables are gone
ALTER TABLE names_far.facts DROP COLUMN remark;
ALTER TABLE names_far.facts ALTER alpha TYPE bigint;
INSERT INTO names_far.facts (alpha, key, document) VALUES (11, 11, '{"k": "k"}');
CALL pg_temp.compare('names_far.by_key', $$SELECT document ->> 'k', key, remark, alive FROM names_far.facts WHERE alive$$);
CALL pg_temp.compare('"full"', $$SELECT document ->> 'k', alpha, key, document FROM names_far.facts WHERE alpha IS NOT NULL$$);
SELECT indextable.drop('names_far.by_key'), indextable.drop('"full"') \gset
ALTER TABLE names_far.facts DROP COLUMN remark;
ALTER TABLE names_far.facts ALTER alpha TYPE bigint;
SELECT indextable.create('full', 'names_far.facts', '{k, @alpha}', 'denormalized', document => 'document');
INSERT INTO names_far.facts (alpha, key, document) VALUES (5000000000, 12, '{"k": "l"}');
CALL pg_temp.compare('names_far."full"', $$SELECT document ->> 'k', alpha, key, document FROM names_far.facts WHERE alpha IS NOT NULL$$);

SET client_min_messages = warning;
DROP SCHEMA names, names_far CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
