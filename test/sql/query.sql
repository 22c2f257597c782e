-- query(): pages of an index table, cursors, and for whom.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA query;
SET search_path = query;
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb, owner text);
INSERT INTO fact SELECT i, jsonb_build_object('a', i % 2, 'b', 'b' || i % 3, 'c', i / 4, 'tags', jsonb_build_array('t' || i % 2, 't' || i % 3)), 'o' || i
FROM generate_series(1, 12) i;
SELECT indextable.create('abc', 'fact', ARRAY['a::int', 'b COLLATE "C"', 'c::int']) \gset
SELECT indextable.create('small', 'fact', '{c::int}', include => '{@owner,a::int}') \gset
SELECT indextable.create('whole', 'fact', '{c::int}', 'denormalized') \gset
SELECT indextable.create('by_tag', 'fact', '{tags[*] AS tag, c::int}') \gset
SELECT indextable.create('by_owner', 'fact', '{@owner}', is_unique => true) \gset
SELECT indextable.create('by_name', 'fact', ARRAY['b COLLATE "POSIX"', 'c::int']) \gset

-- ---- everything, in the order of the index table or the other way round
SELECT entry FROM indextable.query('abc');
SELECT entry FROM indextable.query('abc', descending => true, page_size => 3);
-- an entry has key fields, primary key and included fields; the document comes where it is asked for
SELECT entry, document FROM indextable.query('small', page_size => 2);
SELECT entry, document FROM indextable.query('small', page_size => 2, with_document => true);
SELECT entry, document FROM indextable.query('whole', page_size => 2);
SELECT entry, document FROM indextable.query('whole', page_size => 2, with_document => true);
-- entries are paged, not fact rows
SELECT entry FROM indextable.query('by_tag', '{"tag": "t1"}', '{"c": {">=": 1}}');
SELECT entry FROM indextable.query('by_owner', page_size => 3);

-- ---- key and condition
SELECT entry FROM indextable.query('abc', '{"a": 1}');
SELECT entry FROM indextable.query('abc', '{"b": "b1", "a": "1"}', descending => true);
SELECT entry FROM indextable.query('abc', '{"a": 1, "b": "b1", "c": 1}');
SELECT entry FROM indextable.query('abc', '{"a": 1, "b": "b1"}', '{"c": {"=": 1}}');
SELECT op, array_agg(entry -> 'id' ORDER BY ord) AS ids
FROM (VALUES (1, '{"<": 2}'), (2, '{"<=": 1}'), (3, '{">": 1}'), (4, '{">=": 2}'), (5, '{"=": 2}'), (6, '{"between": [1, 2]}'), (7, '{"between": [2, 1]}'),
    (8, '{">=": 1, "<": 2}'), (9, '{"<=": "2", ">": "1"}')) o (n, op)
LEFT JOIN LATERAL indextable.query('small', condition => jsonb_build_object('c', op::jsonb)) WITH ORDINALITY AS q (entry, document, cursor, ord) ON true
GROUP BY n, op ORDER BY n;
SELECT op, array_agg(entry -> 'id' ORDER BY ord) AS ids
FROM (VALUES (1, '{"<": 2}'), (2, '{"<=": 1}'), (3, '{">": 1}'), (4, '{">=": 2}'), (5, '{"=": 2}'), (6, '{"between": [1, 2]}'), (7, '{"between": [2, 1]}'),
    (8, '{">=": 1, "<": 2}'), (9, '{"<=": "2", ">": "1"}')) o (n, op)
LEFT JOIN LATERAL indextable.query('small', condition => jsonb_build_object('c', op::jsonb), descending => true) WITH ORDINALITY AS q (entry, document, cursor, ord) ON true
GROUP BY n, op ORDER BY n;
SELECT count(*), min(entry ->> 'b'), max(entry ->> 'b') FROM indextable.query('abc', '{"a": 0}', '{"b": {"begins_with": "b2"}}');
SELECT count(*), min(entry ->> 'b'), max(entry ->> 'b') FROM indextable.query('abc', '{"a": 0}', '{"b": {"begins_with": "b"}}');
SELECT count(*) FROM indextable.query('abc', '{"a": 0}', '{"b": {"begins_with": ""}}');
SELECT count(*) FROM indextable.query('by_tag', '{}', '{"tag": {"begins_with": "t2"}}', descending => true);
-- null matches nothing; NULL arguments give no rows, or are the default
SELECT count(*) FROM indextable.query('abc', '{"a": null}');
SELECT count(*) FROM indextable.query('abc', '{"a": 1}', '{"b": {"=": null}}');
SELECT count(*) FROM indextable.query('abc', '{"a": 1}', '{"b": {"between": ["b1", null]}}');
SELECT count(*) FROM indextable.query('abc', '{"a": 1}', '{"b": {"begins_with": null}}');
SELECT count(*) FROM indextable.query(NULL);
SELECT count(*) FROM indextable.query('abc', NULL);
SELECT count(*) FROM indextable.query('abc', condition => NULL, descending => NULL, page_size => NULL, cursor => NULL, with_document => NULL);

-- ---- cursors: each entry has one, and the next page begins after it, whatever became of it
SELECT cursor FROM indextable.query('abc', '{"a": 1}', page_size => 2) OFFSET 1 \gset
SELECT entry FROM indextable.query('abc', '{"a": 1}', page_size => 2, cursor => :'cursor');
DELETE FROM fact WHERE id IN (1, 3);
INSERT INTO fact VALUES (13, '{"a": 1, "b": "b0", "c": 0}'), (15, '{"a": 1, "b": "b0", "c": 2, "d": 1}'), (17, '{"a": 1, "b": "b1", "c": 1}');
SELECT entry FROM indextable.query('abc', '{"a": 1}', page_size => 4, cursor => :'cursor');
SELECT entry FROM indextable.query('abc', '{"a": 1}', page_size => 10000, cursor => :'cursor');
-- from the end on, what has come since
SELECT cursor FROM indextable.query('abc') OFFSET 12 \gset
SELECT entry FROM indextable.query('abc', cursor => :'cursor');
INSERT INTO fact VALUES (19, '{"a": 7, "b": "x", "c": 0}');
SELECT entry FROM indextable.query('abc', cursor => :'cursor');
-- the last of all has one, too
SELECT cursor FROM indextable.query('abc', '{"a": 7, "b": "x", "c": 0}') \gset
SELECT count(*) FROM indextable.query('abc', '{"a": 7, "b": "x", "c": 0}', cursor => :'cursor');
SELECT cursor FROM indextable.query('by_owner', '{"owner": "o5"}') \gset
SELECT count(*) FROM indextable.query('by_owner', '{"owner": "o5"}', cursor => :'cursor');
DELETE FROM fact WHERE id > 12;
-- all pages together, by a recursive query
WITH RECURSIVE pages (page, ids, cursor) AS (
    SELECT 1, array_agg(entry -> 'id'), (array_agg(cursor))[4] FROM indextable.query('by_tag', page_size => 4)
    UNION ALL
    SELECT page + 1, q.* FROM pages p, LATERAL (
        SELECT array_agg(entry -> 'id'), (array_agg(n.cursor))[4] FROM indextable.query('by_tag', page_size => 4, cursor => p.cursor) n) q
    WHERE p.cursor IS NOT NULL)
SELECT page, ids FROM pages;
-- an empty cursor is that of the first page, as in the URL of a list
SELECT entry FROM indextable.query('abc', cursor => '', page_size => 2);
-- the page before an entry, in the order of the list; without a cursor the last page of all
SELECT entry, cursor FROM indextable.query('abc', previous => true, page_size => 3) LIMIT 1 \gset last_
SELECT :'last_entry'::jsonb AS entry;
SELECT entry FROM indextable.query('abc', cursor => :'last_cursor', previous => true, page_size => 3);
SELECT entry FROM indextable.query('abc', cursor => :'last_cursor', page_size => 3);
SELECT entry FROM indextable.query('abc', descending => true, previous => true, page_size => 2);
SELECT cursor FROM indextable.query('abc', descending => true, previous => true, page_size => 2) LIMIT 1 \gset
SELECT entry FROM indextable.query('abc', descending => true, cursor => :'cursor', previous => true, page_size => 2);
SELECT entry -> 'id' AS id, document FROM indextable.query('abc', '{"a": 1}', previous => true, page_size => 2, with_document => true);
SELECT entry -> 'id' AS id, document FROM indextable.query('whole', previous => true, page_size => 2, with_document => true);
SELECT cursor FROM indextable.query('abc', page_size => 1) \gset
SELECT count(*) FROM indextable.query('abc', cursor => :'cursor', previous => true);
-- arrays, and several keys
SELECT entry FROM indextable.query('abc', '{"a": [1, 0, null, 1]}', '{"b": {"=": ["b2", "b1"]}}');
SELECT entry FROM indextable.query('abc', '[{"a": 1, "b": "b2"}, {"a": 0, "b": "b1"}]', '{"c": {">": 1}}');
SELECT entry, cursor FROM indextable.query('abc', '{"a": [1, 0], "b": ["b2", "b1"]}', '{"c": {">": 0}}', true, 3) OFFSET 2 \gset
SELECT :'entry'::jsonb AS entry;
SELECT entry FROM indextable.query('abc', '{"b": ["b1", "b2"], "a": [0, 1]}', '{"c": {">": 0}}', true, 3, :'cursor');
SELECT entry FROM indextable.query('abc', '{"b": ["b1", "b2"], "a": [0, 1]}', '{"c": {">": 0}}', true, 3, :'cursor', previous => true);
SELECT count(*) FROM indextable.query('abc', '{"a": []}', '{"b": {">": "b"}}');
SELECT count(*) FROM indextable.query('abc', '[]', page_size => 1, previous => true);
SELECT cursor FROM indextable.query('by_owner', '{"owner": ["o5", "o6"]}', page_size => 1) \gset
SELECT entry FROM indextable.query('by_owner', '{"owner": ["o5", "o6"]}', cursor => :'cursor');
SELECT count(*) FROM indextable.query('by_owner', '{"owner": ["o5", "o6"]}', cursor => :'cursor', previous => true);
-- the cursor is that of these keys
SELECT entry FROM indextable.query('by_owner', '{"owner": ["o5", "o7"]}', cursor => :'cursor');
-- the query is the same for a condition and its value in the key
SELECT cursor FROM indextable.query('abc', '{"a": 1}', '{"b": {"=": "b1"}}', page_size => 1) \gset
SELECT entry FROM indextable.query('abc', '{"a": 1, "b": "b1"}', cursor => :'cursor');
-- in a transaction, what the transaction wrote
BEGIN;
UPDATE fact SET doc = jsonb_set(doc, '{c}', '5') WHERE id IN (5, 6);
SELECT entry FROM indextable.query('small', condition => '{"c": {"=": 5}}');
ROLLBACK;
-- a cursor outlives what does not change the order
SELECT cursor FROM indextable.query('small', page_size => 9) OFFSET 8 \gset
ALTER TABLE small RENAME TO few;
ALTER TABLE few RENAME c TO cc;
SELECT indextable.alter('few', include => '{b}') \gset
SELECT entry FROM indextable.query('few', cursor => :'cursor');
ALTER TABLE few RENAME cc TO c;
ALTER TABLE few RENAME TO small;

-- ---- how it is read
-- an index table that is partitioned: in order over all partitions, or in the one that has the key
SELECT indextable.create('parts', 'fact', '{b, c::int}', partitions => 3) \gset
SELECT entry FROM indextable.query('parts', page_size => 5);
SELECT cursor FROM indextable.query('parts', page_size => 5) OFFSET 4 \gset
SELECT entry FROM indextable.query('parts', page_size => 5, cursor => :'cursor');
SELECT entry FROM indextable.query('parts', '{"b": ["b2", "b0", "b1"]}', previous => true, page_size => 5);
SELECT entry FROM indextable.query('parts', '{"b": "b1"}', '{"c": {">": 0}}');
DROP TABLE parts;
CREATE TABLE stale (id int PRIMARY KEY, doc jsonb);
INSERT INTO stale SELECT i, '{"k": "same"}' FROM generate_series(1, 1000) i;
SET indextable.advice = off;    -- many equal keys
SELECT indextable.create('stale_k', 'stale', '{k}', maintenance => 'async') \gset
VACUUM ANALYZE stale, stale_k;

-- many kinds of queries, in a read-only transaction, too
SELECT indextable.create('abc_2', 'fact', ARRAY['a::int', 'b COLLATE "C"', 'c::int']) \gset
SELECT indextable.create('abc_3', 'fact', ARRAY['a::int', 'b COLLATE "C"', 'c::int']) \gset
BEGIN READ ONLY;
SELECT t, round, count(*) AS kinds, sum(rest) AS entries
FROM generate_series(1, 2) round, unnest('{abc,abc_2,abc_3}'::text[]) t, unnest('{false,true}'::boolean[]) descending,
    (VALUES ('{}', 'a', '0', '2'), ('{"a": 1}', 'b', '"b"', '"b3"'), ('{"a": 1, "b": "b2"}', 'c', '0', '3')) k (key, col, low, high),
    unnest(ARRAY[NULL, '"<": H', '"<=": H', '">": L', '">=": L', '">": L, "<": H', '">": L, "<=": H', '">=": L, "<": H', '">=": L, "<=": H']) ops,
    LATERAL (SELECT format('{"%s": {%s}}', col, replace(replace(ops, 'L', low), 'H', high))::jsonb WHERE ops IS NOT NULL
        UNION ALL SELECT NULL WHERE ops IS NULL) c (condition),
    LATERAL indextable.query(t::regclass, key::jsonb, condition, descending, 1) first,
    LATERAL (SELECT count(*) FROM indextable.query(t::regclass, key::jsonb, condition, descending, cursor => first.cursor)) r (rest)
GROUP BY t, round ORDER BY t, round;
COMMIT;
DROP TABLE abc_2, abc_3;

-- ---- an asynchronous index table: entries as they are; a document only if the row has that entry
UPDATE stale SET doc = '{"k": "other"}' WHERE id = 2;
DELETE FROM stale WHERE id = 3;
INSERT INTO stale VALUES (0, '{"k": "same"}');
SELECT entry, document FROM indextable.query('stale_k', '{"k": "same"}', page_size => 4, with_document => true);
SELECT count(*) FROM indextable.query('stale_k', '{"k": "same"}', max_lag => '0');
SELECT indextable.drain('stale');
SELECT entry, document FROM indextable.query('stale_k', '{"k": "same"}', page_size => 3, with_document => true, max_lag => '0');
SELECT count(*) FROM indextable.query('stale_k', '{"k": "same"}', max_lag => '-1 s');

-- ---- errors
SELECT * FROM indextable.query('fact');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM indextable.query('abc', '[1]');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM indextable.query('abc', '{"nope": 1}');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM indextable.query('abc', '{"b": "b1"}');
SELECT * FROM indextable.query('abc', '{"a": "one"}');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM indextable.query('abc', '{"a": 1}', '{}');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM indextable.query('abc', '{"a": 1}', 'null');
SELECT * FROM indextable.query('abc', '{"a": 1}', '{"b": {"=": "x"}, "c": {"=": 1}}');
SELECT * FROM indextable.query('abc', '{"a": 1}', '{"nope": {"=": 1}}');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM indextable.query('abc', '{"a": 1}', '{"c": {"=": 1}}');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM indextable.query('abc', '{"a": 1, "b": "b1", "c": 1}', '{"c": {"=": 1}}');
SELECT * FROM indextable.query('abc', '{"a": 1}', '{"b": 1}');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM indextable.query('abc', '{"a": 1}', '{"b": {}}');
SELECT * FROM indextable.query('abc', '{"a": 1}', '{"b": ["="]}');
SELECT * FROM indextable.query('abc', '{"a": 1}', '{"b": {"<>": "x"}}');
SELECT * FROM indextable.query('abc', '{"a": 1}', '{"b": {"=": "x", "<": "y"}}');
SELECT * FROM indextable.query('abc', '{"a": 1}', '{"b": {">": "x", ">=": "y"}}');
SELECT * FROM indextable.query('abc', '{"a": 1}', '{"b": {"between": "x"}}');
SELECT * FROM indextable.query('abc', '{"a": 1}', '{"b": {"between": ["x"]}}');
SELECT * FROM indextable.query('abc', '{"a": 1}', '{"b": {"between": {"x": 1, "y": 2}}}');
SELECT * FROM indextable.query('abc', '{"a": 1}', '{"b": {"begins_with": 1}}');
SELECT * FROM indextable.query('abc', '{}', '{"a": {"begins_with": "1"}}');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM indextable.query('abc', '{}', '{"a": {">": "one"}}');
SELECT * FROM indextable.query('abc', '{}', '{"a": {"between": [1, "two"]}}');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM indextable.query('abc', page_size => 0);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM indextable.query('abc', page_size => 10001);
SELECT indextable.create('building', 'fact', '{c}', populate => false) \gset
SELECT * FROM indextable.query('building');
\echo :LAST_ERROR_SQLSTATE

-- ---- cursors that are not to be had here
SELECT cursor FROM indextable.query('abc', '{"a": 1}', '{"b": {">=": "b0"}}', page_size => 1) \gset
SELECT * FROM indextable.query('by_name', cursor => :'cursor');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM indextable.query('abc', '{"a": 1}', cursor => :'cursor');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM indextable.query('abc', '{"a": 0}', '{"b": {">=": "b0"}}', cursor => :'cursor');
SELECT * FROM indextable.query('abc', '{"a": 1}', '{"b": {">=": "b1"}}', cursor => :'cursor');
SELECT * FROM indextable.query('abc', '{"a": 1}', '{"b": {">": "b0"}}', cursor => :'cursor');
SELECT * FROM indextable.query('abc', '{"a": 1}', '{"b": {">=": "b0"}}', descending => true, cursor => :'cursor');
SELECT count(*) FROM indextable.query('abc', '{"a": 1}', '{"b": {">=": "b0"}}', cursor => :'cursor');
-- garbage
SELECT * FROM indextable.query('abc', cursor => ' ');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM indextable.query('abc', cursor => 'x');
SELECT * FROM indextable.query('abc', cursor => '''; DROP TABLE fact; --');
SELECT * FROM indextable.query('abc', cursor => 'a=b=');
SELECT * FROM indextable.query('abc', cursor => repeat('A', 10000));
-- one character less, or another one in some place
CREATE FUNCTION pg_temp.refusal(cursor text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT count(*) FROM indextable.query('abc', '{"a": 1}', '{"b": {">=": "b0"}}', cursor => refusal.cursor));
EXCEPTION WHEN invalid_parameter_value THEN
	RETURN sqlerrm;
END $$;
SELECT DISTINCT pg_temp.refusal(left(:'cursor', i)) FROM generate_series(1, length(:'cursor') - 1) i;
SELECT DISTINCT pg_temp.refusal(overlay(:'cursor' PLACING c FROM i FOR 1))
FROM generate_series(1, length(:'cursor') - 1) i, unnest('{A,Q,-}'::text[]) c WHERE substr(:'cursor', i, 1) <> c;
-- other values, with a checksum that is right
CREATE FUNCTION pg_temp.forged(cursor text, from_byte int, rest bytea) RETURNS text LANGUAGE sql AS $$
	SELECT rtrim(translate(encode(body || int4send(((hash_array_extended(ARRAY[body], 0) - 31)::bit(64) << 32)::bit(32)::int), 'base64'), E'+/\n', '-_'), '=')
	FROM (SELECT substring(decode(translate(cursor, '-_', '+/') || repeat('=', -length(cursor) & 3), 'base64') FOR from_byte) || rest AS body) x
$$;
SELECT what, pg_temp.refusal(pg_temp.forged(:'cursor', 17, rest)) FROM (VALUES
    (1, 'another place', 'b1\0001\0006\000'::bytea), (2, 'outside of the condition', 'a\0000\0006\000'), (3, 'no number', 'b1\000x\0006\000'),
    (4, 'too large a number', 'b1\0001\00099999999999\000'), (5, 'a value too few', 'b1\0001\000'), (6, 'a value too many', 'b1\0001\0006\0007\000'),
    (7, 'no end', 'b1\0001\0006'), (8, 'no text', 'b\377\0001\0006\000'), (9, 'nothing', ''), (10, 'SQL', 'b1\0001\0006) OR (true\000')) f (n, what, rest) ORDER BY n;
SELECT pg_temp.refusal(pg_temp.forged(:'cursor', 0, '\x03' || decode(repeat('00', 30), 'hex')));
SELECT pg_temp.refusal(pg_temp.forged(:'cursor', 1, decode(repeat('00', 30), 'hex')));
-- of an index table that is not there any more
SELECT cursor FROM indextable.query('by_name', page_size => 1) \gset
DROP TABLE by_name;
SELECT indextable.create('by_name', 'fact', '{b, c}') \gset
SELECT * FROM indextable.query('by_name', cursor => :'cursor');

-- ---- columns and types with names of their own; a domain, an enum, a composite type
CREATE TYPE "Co lour" AS ENUM ('red', 'green');
CREATE DOMAIN "Sha""de" AS "Co lour";
CREATE TYPE pair AS (x int, y text);
CREATE TABLE "Odd fact" ("Id" int PRIMARY KEY, "se""lect" "Sha""de" NOT NULL, p pair NOT NULL, d timestamptz NOT NULL, doc jsonb);
INSERT INTO "Odd fact" VALUES (1, 'green', '(1,"a b")', '2024-01-01 00:00+02', '{}'), (2, 'red', '(1,)', '2024-01-01 00:00+00', '{}'), (3, 'green', '(1,"a b")', 'infinity', '{}');
SELECT indextable.create('"Odd index"', '"Odd fact"', ARRAY['@"se""lect"', '@p', '@d']) \gset
SET TimeZone = 'Asia/Tokyo';
SET DateStyle = 'German';
SELECT entry, cursor FROM indextable.query('"Odd index"', page_size => 2) OFFSET 1 \gset
SELECT :'entry' AS entry;
SET TimeZone = 'America/New_York';
SET DateStyle = 'SQL, MDY';
SELECT entry FROM indextable.query('"Odd index"', cursor => :'cursor');
SELECT entry FROM indextable.query('"Odd index"', '{"se\"lect": "green", "p": "(1,\"a b\")"}', '{"d": {"<": "2024-01-01"}}');
RESET TimeZone;
RESET DateStyle;
ALTER TYPE "Co lour" RENAME VALUE 'green' TO 'olive';
SELECT entry FROM indextable.query('"Odd index"', cursor => :'cursor');

-- ---- for whom: SELECT on the index table, and for documents on the fact table, unless they are copies
CREATE ROLE regress_it_owner;
CREATE ROLE regress_it_reader;
GRANT USAGE ON SCHEMA query TO PUBLIC;
SET ROLE regress_it_reader;
SELECT count(*) FROM indextable.query('abc');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM indextable.query('abc', '{"nope": 1}');
RESET ROLE;
GRANT SELECT ON abc, whole TO regress_it_reader;
SET ROLE regress_it_reader;
SELECT count(*), count(document) FROM indextable.query('abc');
SELECT count(*), count(document) FROM indextable.query('abc', with_document => true);
\echo :LAST_ERROR_SQLSTATE
SELECT count(*), count(document) FROM indextable.query('whole', with_document => true);
RESET ROLE;
-- row security of the fact table holds for documents; entries are those of the index table
ALTER TABLE fact OWNER TO regress_it_owner;
GRANT SELECT ON fact TO regress_it_reader;
GRANT ALL ON SCHEMA query TO regress_it_owner;
ALTER TABLE fact ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON fact USING (id < 6);
SET ROLE regress_it_reader;
SELECT count(*), count(document) FROM indextable.query('abc', with_document => true);
SELECT count(*), count(document) FROM indextable.query('whole', with_document => true);
SET row_security = off;
SELECT count(*) FROM indextable.query('abc');
SELECT count(*) FROM indextable.query('abc', with_document => true);
RESET row_security;
RESET ROLE;
-- row security of index tables is not supported
ALTER TABLE abc ENABLE ROW LEVEL SECURITY;
SET ROLE regress_it_reader;
SELECT count(*) FROM indextable.query('abc');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
ALTER TABLE abc FORCE ROW LEVEL SECURITY;
SELECT count(*) FROM indextable.query('abc');
ALTER TABLE abc NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY;
-- the owner's code does not run as who reads, an index that he adds for example
SET ROLE regress_it_owner;
CREATE FUNCTION one(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF current_user <> 'regress_it_owner' THEN
		RAISE EXCEPTION 'run as %', current_user;
	END IF;
	RETURN 1;
END $$;
CREATE INDEX ON abc ((query.one(1) + a));
SET ROLE regress_it_reader;
SELECT count(*) FROM indextable.query('abc', descending => true, page_size => 9);
RESET ROLE;
DROP FUNCTION one CASCADE;

-- ---- snapshots that are older than the index table
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM fact;
SELECT indextable.create('late', 'fact', '{c}') \gset
SELECT count(*) FROM indextable.query('late');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
-- invalid
SET client_min_messages = error;
ALTER TABLE fact DISABLE TRIGGER USER;
RESET client_min_messages;
SELECT count(*) FROM indextable.query('abc');
\echo :LAST_ERROR_SQLSTATE

-- a cursor of any length, and intervals
SELECT indextable.create('long', 'fact', '{c}') \gset
SELECT count(*) FROM indextable.query('long', cursor => repeat('A', 720000000));
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) >= 0 AS ok FROM indextable.query('long', max_lag => '178000000 years', timeout => '2562047788 hours 178000000 years');
SELECT count(*) FROM indextable.query('long', timeout => '-2562047788 hours -178000000 years');

-- a forged cursor with NULL in a column that cannot have it
CREATE TABLE forged (p text, q text, x text, PRIMARY KEY (p, q));
INSERT INTO forged SELECT 'p' || i % 3, 'q' || i, nullif('x' || i % 3, 'x1') FROM generate_series(1, 20) i;
SELECT indextable.create('forged_x', 'forged', '{@x}') \gset
CREATE FUNCTION pg_temp.forge(cursor text, cut int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	old bytea := decode(rpad(translate(cursor, '-_', '+/'), (length(cursor) + 3) / 4 * 4, '='), 'base64');
	new bytea := substring(old FROM 1 FOR length(old) - 4 - cut) || '\x01'::bytea;
BEGIN
	new := new || substring(int8send(hash_record_extended(row(new), 0)) FROM 5 FOR 4);
	RETURN rtrim(translate(replace(encode(new, 'base64'), E'\n', ''), '+/', '-_'), '=');
END $$;
SELECT count(*) FROM indextable.query('forged_x', '{}', NULL, true, 1000, (SELECT pg_temp.forge(cursor, 4) FROM indextable.query('forged_x', '{}', NULL, true, 1)));

SET client_min_messages = warning;
DROP SCHEMA query CASCADE;
DROP ROLE regress_it_owner, regress_it_reader;
CALL pg_temp.no_rows('pg_temp.leftovers()');
