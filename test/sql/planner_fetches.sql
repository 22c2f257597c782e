-- Conditions that entries decide are checked for them, before rows are fetched.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
\i :src/sql/include/planner.psql
SET indextable.advice = off;
CREATE SCHEMA planner_fetches;
SET search_path = planner_fetches;

CREATE TABLE plain (id int PRIMARY KEY, note text, doc jsonb);
CREATE TABLE part (id int PRIMARY KEY, note text, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (1) TO (150);
CREATE TABLE part_2 (doc jsonb, id int NOT NULL, note text);
ALTER TABLE part ATTACH PARTITION part_2 FOR VALUES FROM (150) TO (1000);
SELECT count(indextable.create(t || '_town', t, '{town, name}', include => '{age::int, state::varchar(8)}')),
	count(indextable.create(t || '_score', t, '{score::int}')), count(indextable.create(t || '_tag', t, '{tags[*], at::timestamptz}')),
	count(indextable.create(t || '_mail', t, ARRAY['(lower(doc ->> ''mail'')) AS mail'], partitions => 3)) FROM unnest('{plain,part}'::regclass[]) t;
INSERT INTO plain SELECT i, 'note ' || i % 5, jsonb_build_object('town', 't' || i % 5, 'name', CASE WHEN i % 7 = 0 THEN 'N' ELSE 'n' END || i % 50,
	'age', 1 + i % 11, 'state', 's' || i % 3, 'score', i % 4, 'tags', jsonb_build_array('x' || i % 6, 'y' || i % 4), 'mail', 'M' || i % 40,
	'at', to_char(timestamp '2024-01-01' + i * interval '5 h', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'other', 'o' || i % 3) FROM generate_series(1, 300) i;
INSERT INTO part SELECT * FROM plain;
VACUUM ANALYZE;

-- The condition that is checked for entries, and how many rows are fetched.
SET indextable.planner = force;
SELECT e FROM unnest(ARRAY[
	$$WHERE doc ->> 'town' = 't1' AND doc ->> 'name' LIKE '%6'$$,
	$$WHERE doc ->> 'town' = 't1' AND doc ->> 'name' ILIKE 'n1%' AND (doc ->> 'age')::int <> 3 AND doc ->> 'other' = 'o1'$$,
	$$WHERE doc ->> 'town' = 't1' AND (doc ->> 'age')::int % 3 = 0 AND doc ->> 'state' IN ('s1', 's2')$$,
	$$WHERE doc ->> 'town' = 't1' AND id < 100$$,
	$$WHERE ((doc ->> 'score')::int, id) > (2, 200) ORDER BY (doc ->> 'score')::int, id LIMIT 5$$,
	$$WHERE doc -> 'tags' ? 'x1' AND (doc ->> 'at')::timestamptz::date = '2024-02-01'$$,
	-- that might be an error for a row that another condition leaves out
	$$WHERE doc ->> 'town' = 't1' AND upper(doc ->> 'other') <> 'O1' AND 7 / (doc ->> 'age')::int > 100$$
]) q, pg_temp.explain('SELECT * FROM plain ' || q, 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF') e WHERE e ~ 'Custom Scan|Filter:|Fetched';

SELECT d AS difference FROM (VALUES
	('fact_town', $$SELECT * FROM fact WHERE doc ->> 'town' = 't1' AND doc ->> 'name' LIKE '%6'$$),
	('fact_town', $$SELECT * FROM fact WHERE doc ->> 'town' >= 't1' AND doc ->> 'town' < 't3' AND doc ->> 'name' ILIKE 'n_' AND note <> 'note 3'$$),
	('fact_town', $$SELECT * FROM fact WHERE doc ->> 'town' = 't1' AND (doc ->> 'age')::int BETWEEN 2 AND 5 AND coalesce(doc ->> 'state', '') <> 's1'$$),
	('fact_town', $$SELECT * FROM fact WHERE doc ->> 'town' IN ('t1', 't2') AND ((doc ->> 'age')::int > 7 OR doc ->> 'name' = 'n3' OR id = 17)$$),
	('fact_town', $$SELECT note FROM fact WHERE doc ->> 'town' = 't1' AND doc ->> 'name' > 'n2' AND (doc ->> 'state')::varchar(8) <> 's2' ORDER BY doc ->> 'name' DESC, id DESC LIMIT 7$$),
	('fact_score', $$SELECT note FROM fact WHERE ((doc ->> 'score')::int, id) > (2, 200) ORDER BY (doc ->> 'score')::int, id LIMIT 5$$),
	('fact_score', $$SELECT note FROM fact WHERE ((doc ->> 'score')::int, id) < (2, 200) ORDER BY (doc ->> 'score')::int DESC, id DESC LIMIT 5$$),
	('fact_tag', $$SELECT * FROM fact WHERE doc -> 'tags' ? 'x1' AND (doc ->> 'at')::timestamptz::date > '2024-02-01'$$),
	('fact_tag', $$SELECT * FROM fact WHERE doc -> 'tags' ?| '{x1,y2}' AND (doc ->> 'at')::timestamptz::date > '2024-02-01' AND note = 'note 1'$$),
	('fact_mail', $$SELECT * FROM fact WHERE lower(doc ->> 'mail') >= 'm1' AND length(lower(doc ->> 'mail')) = 2$$),
	(NULL, $$SELECT f.*, o.id FROM fact f JOIN plain o ON o.id = (f.doc ->> 'age')::int AND o.doc ->> 'name' < f.doc ->> 'name' WHERE f.doc ->> 'town' = 't1'$$),
	(NULL, $$SELECT * FROM plain o, LATERAL (SELECT note FROM fact f WHERE f.doc ->> 'town' = o.doc ->> 'town' AND f.doc ->> 'name' <> o.doc ->> 'name' ORDER BY f.id LIMIT 2) q WHERE o.id < 9$$),
	(NULL, $$SELECT * FROM fact WHERE doc ->> 'town' = 't1' AND doc ->> 'name' <> (SELECT max(doc ->> 'name') FROM plain) AND doc ->> 'name' NOT IN (SELECT doc ->> 'other' FROM plain WHERE id < 9)$$),
	(NULL, $$SELECT tableoid::regclass, ctid IS NULL, * FROM plain fact WHERE doc ->> 'town' = 't1' AND doc ->> 'name' LIKE '%6'$$),
	(NULL, $$SELECT * FROM fact WHERE doc ->> 'town' = 't1' AND doc ->> 'name' = 'n3' OR doc ->> 'town' = 't2' AND doc ->> 'name' LIKE '%6' AND id > 9$$)
) q (scans, query), pg_temp.both(query, scans) d;
SELECT d AS difference FROM (VALUES
	($$SELECT * FROM fact WHERE doc ->> 'town' = $1 AND doc ->> 'name' LIKE $2 AND doc ->> 'other' <> 'o1'$$, $$'t1', '%6'$$),
	($$SELECT * FROM fact WHERE doc ->> 'town' = $1 AND doc ->> 'name' LIKE $2 AND (doc ->> 'age')::int <> 4$$, $$'t1', '%\'$$),
	($$SELECT * FROM fact WHERE ((doc ->> 'score')::int, id) > ($1, $2) ORDER BY (doc ->> 'score')::int, id LIMIT 5$$, $$2, 200$$)
) q (query, args), pg_temp.both(query, NULL, args) d;
SELECT d AS difference FROM (VALUES
	($$UPDATE fact SET note = 'new' WHERE doc ->> 'town' = 't1' AND doc ->> 'name' LIKE '%6' RETURNING id, note$$, $$SELECT * FROM fact$$),
	($$DELETE FROM fact WHERE doc ->> 'town' = 't1' AND (doc ->> 'age')::int > 7 RETURNING id$$, $$SELECT * FROM fact$$)
) q (query, afterwards), pg_temp.both(query, NULL, NULL, afterwards) d;

-- A cursor that goes back reads the rows that were found.
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM plain WHERE doc ->> 'town' = 't1' AND doc ->> 'name' LIKE '%6' AND note <> 'note 9' ORDER BY doc ->> 'name', id LIMIT 6;
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH ALL FROM c;
COMMIT;

-- A time that is read otherwise than the entry has it: written after the plan was made.
PREPARE p AS SELECT id FROM plain WHERE doc -> 'tags' ? 'z' AND (doc ->> 'at')::timestamptz::date = '2030-01-01';
SET plan_cache_mode = force_generic_plan;
SET TimeZone = 'Asia/Tokyo';
EXECUTE p;
INSERT INTO plain VALUES (1000, '', '{"tags": ["z"], "at": "2030-01-01T03:00:00"}');
EXECUTE p;

-- Asynchronous entries may be older than their rows, and hidden rows are in the order of their policies.
CREATE TABLE late (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('late_k', 'late', '{k, n::int}', maintenance => 'async') \gset
INSERT INTO late SELECT i, jsonb_build_object('k', 'k1', 'n', i) FROM generate_series(1, 20) i;
SELECT FROM indextable.drain();
UPDATE late SET doc = '{"k": "k1", "n": 9}' WHERE id = 5;
SET indextable.stale_reads = on;
SELECT * FROM late WHERE doc ->> 'k' = 'k1' AND (doc ->> 'n')::int % 5 = 0;
SELECT pg_temp.explain($$SELECT * FROM late WHERE doc ->> 'k' = 'k1' AND (doc ->> 'n')::int % 5 = 0$$);
RESET indextable.stale_reads;
SET client_min_messages = warning;
DROP SCHEMA planner_fetches CASCADE;
