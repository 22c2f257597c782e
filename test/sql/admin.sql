-- What an administrator does to fact and index tables; upkeep goes on.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA admin;
SET search_path = admin;
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb, note text, extra int);
CREATE FUNCTION noise(n int) RETURNS text LANGUAGE sql AS      -- does not compress
	$$SELECT left(string_agg(md5(i::text), '' ORDER BY i), n) FROM generate_series(1, n / 32 + 1) i$$;
INSERT INTO fact SELECT i, jsonb_build_object('k', i % 5, 'v', i, 'long', noise(3000)), 'n', i FROM generate_series(1, 50) i;
SELECT indextable.create('by_k', 'fact', '{k}', include => '{v::int}') \gset
SELECT indextable.create('"full"', 'fact', '{v::int}', 'denormalized') \gset
CREATE FUNCTION differences() RETURNS TABLE (index_table text, side text, entry text) LANGUAGE sql AS $$
	SELECT 'by_k', d.* FROM pg_temp.oracle('by_k', 'SELECT doc ->> ''k'', id, (doc ->> ''v'')::int FROM fact WHERE doc ->> ''k'' IS NOT NULL') d
	UNION ALL
	SELECT 'full', d.side, left(d.entry, 30) FROM pg_temp.oracle('"full"', 'SELECT (doc ->> ''v'')::int, id, doc FROM fact WHERE doc ->> ''v'' IS NOT NULL') d
$$;

-- ---- a long document is copied, not shared: the fact row may go
UPDATE fact SET note = 'rewritten';
UPDATE fact SET doc = doc || jsonb_build_object('long', noise(9000)) WHERE id <= 5;
DELETE FROM fact WHERE id = 6;
VACUUM fact;
SELECT count(*), sum(length(doc ->> 'long')) FROM "full";
CALL pg_temp.no_rows('differences()');

-- ---- VACUUM, CLUSTER, REINDEX, in both tables
VACUUM FULL fact;
UPDATE fact SET doc = doc || '{"k": "vacuumed"}' WHERE id = 1;
VACUUM FULL by_k;
UPDATE fact SET doc = doc || '{"k": "vacuumed"}' WHERE id = 2;
CLUSTER fact USING fact_pkey;
UPDATE fact SET doc = doc || '{"k": "clustered"}' WHERE id = 3;
CLUSTER by_k USING by_k_k_id_v_key;
UPDATE fact SET doc = doc || '{"k": "clustered"}' WHERE id = 4;
REINDEX TABLE fact;
REINDEX TABLE by_k;
REINDEX TABLE CONCURRENTLY by_k;
UPDATE fact SET doc = doc || '{"k": "reindexed"}' WHERE id = 5;
ANALYZE fact, by_k, "full";
SELECT k, id FROM by_k WHERE id <= 5 ORDER BY id;
CALL pg_temp.no_rows('differences()');
SELECT index_table, entries FROM indextable.index_table_stats ORDER BY index_table::text;

-- ---- the fact table is rewritten, without a change of what entries depend on
ALTER TABLE fact ADD COLUMN random float8 DEFAULT random();
ALTER TABLE fact ALTER COLUMN extra TYPE bigint;
ALTER TABLE fact ALTER COLUMN note SET STORAGE EXTERNAL;
ALTER TABLE fact SET (fillfactor = 70);
UPDATE fact SET doc = doc || '{"k": "altered"}' WHERE id = 7;
DELETE FROM fact WHERE id = 8;
CALL pg_temp.no_rows('differences()');
-- with a change of it: of documents it is refused, of the key it is followed
ALTER TABLE fact ALTER COLUMN doc TYPE jsonb USING doc || '{"k": "rewritten"}';
ALTER TABLE fact ALTER COLUMN id TYPE bigint;
CALL pg_temp.no_rows('differences()');

-- ---- indexes that users add to an index table are kept, too
CREATE INDEX by_v ON by_k (v);
CREATE INDEX by_half ON by_k ((v / 2)) WHERE k <> 'x';
CREATE INDEX by_full ON "full" USING gin (doc);
INSERT INTO fact (id, doc) VALUES (100, '{"k": "x", "v": 1000}'), (101, '{"k": "y", "v": 1001}');
UPDATE fact SET doc = doc || '{"v": 2000}' WHERE id = 101;
UPDATE fact SET doc = doc || '{"v": 3000}' WHERE id = 10;
UPDATE fact SET doc = doc || '{"k": "z"}' WHERE id = 100;
SET enable_seqscan = off;
SET enable_indexonlyscan = off; SET enable_bitmapscan = off;    -- which of two indexes is cheaper depends on the major version
EXPLAIN (COSTS OFF) SELECT id FROM by_k WHERE v >= 1000;
RESET enable_indexonlyscan; RESET enable_bitmapscan;
SELECT k, v, id FROM by_k WHERE v >= 1000 ORDER BY v;
SELECT k, v, id FROM by_k WHERE v / 2 >= 500 AND k <> 'x' ORDER BY v;
SELECT id FROM "full" WHERE doc @> '{"k": "z"}';
SELECT count(*) FROM by_k WHERE v IN (10, 101, 1001);
-- and the primary key answers alone
VACUUM by_k;
EXPLAIN (COSTS OFF) SELECT v FROM by_k WHERE k = 'z';
SELECT v FROM by_k WHERE k = 'z';
RESET enable_seqscan;
-- a unique one refuses what it must
CREATE UNIQUE INDEX ON by_k (v);
INSERT INTO fact (id, doc) VALUES (102, '{"k": "w", "v": 2000}');
CALL pg_temp.no_rows('differences()');

-- ---- a table that is made from another
CREATE TABLE copy (LIKE fact INCLUDING ALL);
INSERT INTO copy SELECT * FROM fact;
SELECT tgname FROM pg_trigger WHERE tgrelid = 'copy'::regclass;
CALL pg_temp.no_rows('differences()');

SET client_min_messages = warning;
DROP SCHEMA admin CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
