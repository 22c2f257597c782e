-- Rows that entries lead to are fetched in batches: each comes once, with all kinds of primary keys, orders and ways to ask.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
\i :src/sql/include/planner.psql
SET indextable.advice = off;
CREATE SCHEMA fetch_batches;
SET search_path = fetch_batches;

-- Primary keys of several types and columns, in the order of the rows and in another one; and the same rows in partitions.
CREATE FUNCTION doc(i int) RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_build_object('k', 'k' || i % 7, 'n', i % 1000, 'tags', jsonb_build_array('x' || i % 5, 'y' || i % 3), 'pad', repeat('p', 40)) $$;
CREATE TABLE ints (id int PRIMARY KEY, doc jsonb);
CREATE TABLE texts (id text COLLATE "C" PRIMARY KEY, doc jsonb) WITH (fillfactor = 40);
CREATE TABLE pairs (a smallint, b uuid, doc jsonb, PRIMARY KEY (b, a));
CREATE TABLE parts (id bigint PRIMARY KEY, doc jsonb) PARTITION BY HASH (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE parts_3 (doc jsonb, gone int, id bigint NOT NULL);
ALTER TABLE parts_3 DROP COLUMN gone;
ALTER TABLE parts ATTACH PARTITION parts_3 FOR VALUES WITH (MODULUS 3, REMAINDER 2);
CREATE TABLE hints (id int PRIMARY KEY, doc jsonb) WITH (fillfactor = 70);
SELECT count(indextable.create(t || '_k', t, '{k, n::int}')), count(indextable.create(t || '_t', t, '{tags[*]}')) FROM unnest('{ints,texts,pairs,parts}'::regclass[]) t;
SELECT indextable.create('hints_k', 'hints', '{k, n::int}', include => '{@ctid}'), indextable.create('hints_t', 'hints', '{tags[*]}', include => '{@ctid}');
INSERT INTO ints SELECT i * 3, doc(i) FROM generate_series(1, 3000) i ORDER BY i % 17;
INSERT INTO texts SELECT md5(i::text) || repeat('t', i % 60), doc(i) FROM generate_series(1, 3000) i;
INSERT INTO pairs SELECT i % 9, md5((i / 9)::text)::uuid, doc(i) FROM generate_series(1, 3000) i;
INSERT INTO parts SELECT i, doc(i) FROM generate_series(1, 3000) i;
INSERT INTO hints SELECT i, doc(i) FROM generate_series(1, 3000) i;
-- several versions of rows in one item of the index, and versions that one page holds of a row
CREATE INDEX ON ints ((doc -> 'n'));
UPDATE ints SET doc = doc || '{"n": -1}' WHERE id < 3000;
UPDATE ints SET doc = doc || '{"n": -2}' WHERE id < 1500;
UPDATE texts SET doc = doc || '{"z": 1}' WHERE id < '8';
UPDATE hints SET doc = doc || '{"z": 1}' WHERE id % 3 = 0;
DELETE FROM ints WHERE id % 5 = 0;
VACUUM ANALYZE;

SELECT q.of, d AS difference FROM unnest('{ints,texts,pairs,parts,hints}'::text[]) of,
	LATERAL (VALUES (of, 1, format($$SELECT * FROM %I WHERE doc ->> 'k' = 'k3'$$, of)),
		(of, 2, format($$SELECT * FROM %I WHERE doc ->> 'k' >= 'k2' AND doc ->> 'k' < 'k5' AND length(doc ->> 'pad') = 40$$, of)),
		(of, 3, format($$SELECT * FROM %I WHERE doc ->> 'k' IN ('k1', 'k5', 'none') AND (doc ->> 'n')::int > 100$$, of)),
		(of, 4, format($$SELECT doc, (doc ->> 'n')::int FROM %I WHERE doc ->> 'k' = 'k3' ORDER BY (doc ->> 'n')::int, doc LIMIT 100$$, of)),
		(of, 5, format($$SELECT doc ->> 'pad', (doc ->> 'n')::int FROM %I WHERE doc ->> 'k' = 'k3' ORDER BY (doc ->> 'n')::int DESC LIMIT 50$$, of)),
		(of, 6, format($$SELECT * FROM %I WHERE doc -> 'tags' ?| '{x1,y2}'$$, of)),
		(of, 7, format($$SELECT count(*), count(DISTINCT f.doc) FROM %I f, jsonb_array_elements_text(f.doc -> 'tags') e WHERE e IN ('x1', 'y2', 'x3') AND f.doc ->> 'pad' <> ''$$, of)),
		(of, 8, format($$SELECT x, f.* FROM generate_series(1, 9) x JOIN %I f ON f.doc ->> 'k' = 'k' || x AND (f.doc ->> 'n')::int < 40$$, of)),
		(of, 9, format($$SELECT x FROM generate_series(1, 9) x WHERE EXISTS (SELECT FROM %I f WHERE f.doc ->> 'k' = 'k' || x AND f.doc ->> 'pad' <> '')$$, of)),
		(of, 10, format($$SELECT * FROM %I WHERE doc ->> 'k' = 'k3' AND doc -> 'tags' ? 'x1'$$, of)),
		(of, 11, format($$SELECT * FROM %I WHERE doc ->> 'k' = 'k3' OR doc -> 'tags' ? 'x1'$$, of))) q (of, n, query),
	pg_temp.both(query, NULL) d;
-- in memory for a few rows only
SET work_mem = '64kB';
SELECT d AS difference FROM unnest('{ints,texts,pairs,parts,hints}'::text[]) of,
	pg_temp.both(format($$SELECT * FROM %I WHERE doc ->> 'k' >= 'k2' AND doc ->> 'k' < 'k5'$$, of), NULL) d;
RESET work_mem;
SELECT d AS difference FROM (VALUES
	($$UPDATE fact SET doc = doc || '{"k": "k3"}' WHERE doc ->> 'k' >= 'k3' AND doc ->> 'pad' <> '' RETURNING doc$$, $$SELECT * FROM fact$$),
	($$DELETE FROM fact WHERE doc ->> 'k' = 'k3' AND doc ->> 'pad' <> '' RETURNING doc$$, $$SELECT * FROM fact$$),
	($$SELECT * FROM fact WHERE doc ->> 'k' = 'k3' AND doc ->> 'pad' <> '' FOR UPDATE$$, $$SELECT * FROM fact$$)
) q (query, afterwards), unnest('{ints,parts,hints}'::text[]) of, pg_temp.both(replace(query, 'fact', of), NULL, NULL, replace(afterwards, 'fact', of)) d;

-- Who wants one row fetches one; who wants a few reads a few entries more.
SET indextable.planner = force;
SELECT e FROM unnest(ARRAY[
	$$SELECT * FROM ints WHERE doc ->> 'k' = 'k3' LIMIT 1$$,
	$$SELECT 1 WHERE EXISTS (SELECT FROM ints WHERE doc ->> 'k' = 'k3' AND doc ->> 'pad' <> '')$$,
	$$SELECT * FROM ints WHERE doc ->> 'k' = 'k3' LIMIT 5$$,
	$$SELECT * FROM ints WHERE doc ->> 'k' = 'k3' ORDER BY (doc ->> 'n')::int LIMIT 20$$
]) q, pg_temp.explain(q, 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF') e WHERE e ~ 'Custom Scan|Entries:|Fetched';
-- Rows that were stored together come together.
SELECT count(*) > 100 AS many, count(*) FILTER (WHERE block < before) <= 5 AS in_order FROM (SELECT block, lag(block) OVER () AS before
	FROM (SELECT (ctid::text::point)[0]::int AS block FROM ints WHERE doc ->> 'k' = 'k3') f) b;

-- A cursor goes back and on, and its rows are written where it is.
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM hints WHERE doc ->> 'k' = 'k3' AND doc ->> 'pad' <> '';
MOVE 30 FROM c;
FETCH BACKWARD 3 FROM c;
FETCH 3 FROM c;
MOVE LAST FROM c;
FETCH PRIOR FROM c;
COMMIT;
-- a row that the cursor comes to, or has come to, is written, too, and then has another version than that which the cursor finds
CREATE FUNCTION written(planner text) RETURNS text LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE n int := 0; r record; c refcursor := 'c';
BEGIN
	PERFORM set_config('indextable.planner', planner, true);
	OPEN c FOR SELECT * FROM ints WHERE doc ->> 'k' = 'k3';
	LOOP
		FETCH NEXT FROM c INTO r;
		EXIT WHEN NOT FOUND;
		n := n + 1;
		UPDATE ints SET doc = doc || '{"z": 2}' WHERE CURRENT OF c;
		IF r.id % 2 = 0 THEN
			UPDATE ints SET doc = doc || '{"k": "k9"}' WHERE id IN (r.id + 21, 9000 - r.id);
		END IF;
	END LOOP;
	CLOSE c;
	RETURN format('%s rows, %s were written', n, (SELECT count(*) FROM ints WHERE doc ? 'z'));
END $$;
BEGIN; SELECT written('force') AS force \gset
ROLLBACK;
BEGIN; SELECT written('off') AS off \gset
ROLLBACK;
SELECT :'force' AS force, split_part(:'force', ',', 1) = split_part(:'off', ',', 1) AS same;
SET client_min_messages = warning;
DROP SCHEMA fetch_batches CASCADE;
