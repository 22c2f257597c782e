-- Plain queries of all shapes give the same answers, and the same order where they ask for one, natively, from index tables, and from their fallbacks.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/planner.psql
CREATE SCHEMA planner_queries;
SET search_path = planner_queries;
-- any of them may be used
SET planner_test.any_scans = on;
\i :src/sql/include/planner_data.psql

-- ---- order, groups and windows
SELECT d AS difference FROM (VALUES
	('only fact_age', $$SELECT id FROM fact WHERE (doc ->> 'age')::int > 3 ORDER BY (doc ->> 'age')::int FETCH FIRST 7 ROWS WITH TIES$$),
	('only fact_age', $$SELECT id, (doc ->> 'age')::int FROM fact WHERE (doc ->> 'age')::int > 3 ORDER BY (doc ->> 'age')::int, random()$$),
	('only fact_doc', $$SELECT DISTINCT doc ->> 'name' FROM fact WHERE doc ->> 'name' > ''$$),
	('fact_t1', $$SELECT count(*), count(doc), count(doc ->> 'name'), min(id), max(id) FROM fact WHERE doc ->> 'town' = 't1'$$),
	('native', $$SELECT count(*) FROM fact$$),
	('only fact_t1', $$SELECT count(*) FROM fact WHERE doc ->> 'town' IS NOT NULL$$),
	('only fact_t1', $$SELECT 1 FROM fact WHERE doc ->> 'town' = 't1'$$),
	('only fact_t1', $$SELECT FROM fact WHERE doc ->> 'town' = 't1'$$),
	('only fact_t1', $$SELECT sum((doc ->> 'age')::int), avg((doc ->> 'age')::int), count(DISTINCT doc ->> 'name'), string_agg(doc ->> 'name', ',' ORDER BY id) FROM fact WHERE doc ->> 'town' = 't1'$$),
	('only fact_t1', $$SELECT sum((doc ->> 'age')::int) FILTER (WHERE doc ->> 'name' = 'n1'), count(*) FILTER (WHERE id > 5) FROM fact WHERE doc ->> 'town' = 't1'$$),
	('only fact_t1', $$SELECT doc ->> 'name', sum((doc ->> 'age')::int), max(id) FROM fact WHERE doc ->> 'town' = 't1' GROUP BY doc ->> 'name' HAVING count(*) > 1 AND max((doc ->> 'age')::int) > 5$$),
	('only fact_t1', $$SELECT doc ->> 'town', sum((doc ->> 'age')::int) FROM fact WHERE doc ->> 'town' = 't1' GROUP BY doc ->> 'town'$$),
	('only fact_t1', $$SELECT upper(doc ->> 'town'), sum((doc ->> 'age')::int) FROM fact WHERE doc ->> 'town' IS NOT NULL GROUP BY 1$$),
	('only fact_t1', $$SELECT doc ->> 'town', id, sum((doc ->> 'age')::int) FROM fact WHERE doc ->> 'town' IS NOT NULL GROUP BY GROUPING SETS ((1), (2), ())$$),
	('only fact_t1', $$SELECT doc ->> 'town', doc ->> 'name', count(*) FROM fact WHERE doc ->> 'town' IS NOT NULL GROUP BY ROLLUP (1, 2)$$),
	('only fact_age, only fact_age', $$SELECT min((doc ->> 'age')::int), max((doc ->> 'age')::int) FROM fact$$),
	('only fact_age, only fact_age', $$SELECT min((doc ->> 'age')::int), max((doc ->> 'age')::int) FROM fact WHERE (doc ->> 'age')::int BETWEEN 3 AND 7$$),
	('only fact_doc', $$SELECT max(id) FROM fact WHERE doc ->> 'name' = 'n1'$$),
	('only fact_town', $$SELECT min(doc ->> 'name') FROM fact WHERE doc ->> 'town' = 't1'$$),
	('only fact_t1', $$SELECT id, row_number() OVER (ORDER BY id), sum((doc ->> 'age')::int) OVER (PARTITION BY doc ->> 'name' ORDER BY id) FROM fact WHERE doc ->> 'town' = 't1'$$),
	('only fact_doc', $$SELECT id, rank() OVER w, first_value(id) OVER w FROM fact WHERE doc ->> 'name' > '' WINDOW w AS (ORDER BY doc ->> 'name', id)$$),
	('only fact_t1', $$SELECT id, generate_series(1, 2), doc ->> 'name' FROM fact WHERE doc ->> 'town' = 't1'$$),
	('only fact_t1', $$SELECT jsonb_array_elements_text(doc -> 'tags') FROM fact WHERE doc ->> 'town' = 't1' AND id < 20$$),
	('only fact_t1', $$SELECT generate_series(1, count(*)) FROM fact WHERE doc ->> 'town' = 't1'$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' LIMIT 0$$),
	('fact_t1', $$SELECT fact FROM fact WHERE doc ->> 'town' = 't1'$$),
	('fact_doc', $$SELECT fact.*, fact FROM fact WHERE doc ->> 'name' = 'n1'$$),
	('fact_doc', $$SELECT (fact).id, row_to_json(fact) FROM fact WHERE doc ->> 'name' = 'n1'$$),
	('fact_doc', $$SELECT count(fact) FROM fact WHERE doc ->> 'name' = 'n1'$$),
	('plain_doc', $$SELECT ctid IS NULL, tableoid::regclass, id FROM fact WHERE doc ->> 'name' = 'n1'$$),
	('plain_doc', $$SELECT id FROM fact WHERE doc ->> 'name' = 'n1' AND tableoid = 'plain'::regclass$$),
	('plain_doc', $$SELECT id FROM fact WHERE doc ->> 'name' = 'n1' AND xmin <> '0'$$),
	('plain_doc', $$SELECT max(tableoid::int) FROM fact WHERE doc ->> 'name' = 'n1'$$)
) q (scans, query), pg_temp.both(query, scans) d;

-- ---- order, groups and windows, in their order
SELECT d AS difference FROM (VALUES
	('only fact_doc', $$SELECT id, doc ->> 'name' FROM fact WHERE doc ->> 'name' IS NOT NULL ORDER BY doc ->> 'name', id$$),
	('only fact_doc', $$SELECT id, doc ->> 'name' FROM fact WHERE doc ->> 'name' IS NOT NULL ORDER BY doc ->> 'name' DESC, id DESC$$),
	('only fact_doc', $$SELECT id, doc ->> 'name' FROM fact WHERE doc ->> 'name' IS NOT NULL ORDER BY doc ->> 'name' DESC, id$$),
	('only fact_doc', $$SELECT id, doc ->> 'name' FROM fact WHERE doc ->> 'name' IS NOT NULL ORDER BY doc ->> 'name' DESC NULLS LAST, id DESC NULLS LAST LIMIT 5 OFFSET 2$$),
	('native', $$SELECT id, doc ->> 'name' FROM fact ORDER BY doc ->> 'name', id$$),
	('only fact_doc', $$SELECT id, doc ->> 'name' FROM fact WHERE doc ->> 'name' IS NOT NULL ORDER BY doc ->> 'name' COLLATE "C", id$$),
	('fact_doc', $$SELECT id, note FROM fact WHERE doc ->> 'name' IS NOT NULL ORDER BY doc ->> 'name', id LIMIT 7$$),
	('fact_doc', $$SELECT id, note FROM fact WHERE doc ->> 'name' >= 'n2' ORDER BY doc ->> 'name' DESC, id DESC LIMIT 7$$),
	('fact_town', $$SELECT id, doc FROM fact WHERE doc ->> 'town' IN ('t3', 't1') AND doc ->> 'name' IS NOT NULL ORDER BY doc ->> 'town', doc ->> 'name', id$$),
	('only fact_town', $$SELECT id FROM fact WHERE doc ->> 'town' IN ('t3', 't1') AND doc ->> 'name' IS NOT NULL ORDER BY doc ->> 'town' DESC, doc ->> 'name' DESC, id DESC$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' IN ('t3', 't1') AND doc ->> 'name' = 'n1' ORDER BY doc ->> 'town' DESC, id DESC$$),
	('only fact_doc', $$SELECT id FROM fact WHERE doc ->> 'town' IN ('t3', 't1') AND doc ->> 'name' = 'n1' ORDER BY id DESC$$),
	('only fact_town', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND doc ->> 'name' IN ('n1', 'n3', 'n2') ORDER BY doc ->> 'name' DESC, id DESC$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND doc ->> 'name' IN ('n1', 'n3', 'n2') ORDER BY id$$),
	('fact_tag', $$SELECT id FROM fact WHERE doc -> 'tags' @> '["x1"]' ORDER BY id DESC$$),
	(NULL, $$SELECT id FROM fact WHERE doc -> 'tags' @> '["x1"]' AND (doc ->> 'age')::int IS NOT NULL ORDER BY (doc ->> 'age')::int DESC, id DESC LIMIT 6$$),
	(NULL, $$SELECT id FROM fact WHERE doc -> 'tags' @> '["x1"]' AND (doc ->> 'age')::int BETWEEN 2 AND 8 ORDER BY (doc ->> 'age')::int, id LIMIT 6$$),
	('only fact_age', $$SELECT id FROM fact WHERE (doc ->> 'age')::int > 3 ORDER BY (doc ->> 'age')::int, id$$),
	('only fact_age', $$SELECT (doc ->> 'age')::int AS a, count(*) FROM fact WHERE (doc ->> 'age')::int > 3 GROUP BY 1 ORDER BY 1$$),
	('only fact_doc', $$SELECT DISTINCT ON (doc ->> 'name') doc ->> 'name', id FROM fact WHERE doc ->> 'name' > '' ORDER BY doc ->> 'name', id DESC$$),
	('fact_doc', $$SELECT DISTINCT ON (doc ->> 'name') doc ->> 'name', id, note FROM fact WHERE doc ->> 'name' > '' ORDER BY doc ->> 'name' DESC, id DESC$$),
	('only fact_t1', $$SELECT doc ->> 'town', doc ->> 'name', sum((doc ->> 'age')::int + 1) FROM fact WHERE doc ->> 'town' IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' ORDER BY id LIMIT NULL OFFSET 1$$),
	('only fact_t1', $$SELECT id, pg_sleep(0) FROM fact WHERE doc ->> 'town' = 't1' ORDER BY id LIMIT 3$$),
	('plain_doc', $$SELECT id FROM fact WHERE doc ->> 'name' = 'n1' ORDER BY tableoid, id$$)
) q (scans, query), pg_temp.both(query, scans, ordered => true) d;

-- ---- which queries must not be served, and what hides in subqueries
SELECT d AS difference FROM (VALUES
	('native', $$SELECT id FROM fact TABLESAMPLE system (100) WHERE doc ->> 'name' = 'n1'$$),
	(NULL, $$SELECT id FROM ONLY fact WHERE doc ->> 'name' = 'n1'$$),
	('native', $$SELECT id FROM part_b WHERE doc ->> 'name' = 'n1'$$),
	('native', $$SELECT id FROM part_b1 WHERE doc ->> 'name' = 'n1'$$),
	('plain_doc', $$SELECT id FROM fact WHERE doc ->> 'name' = 'n1' FOR UPDATE$$),
	('plain_doc', $$SELECT id FROM fact WHERE doc ->> 'name' = 'n1' FOR KEY SHARE SKIP LOCKED$$),
	('plain_doc', $$SELECT id FROM (SELECT id FROM fact WHERE doc ->> 'name' = 'n1' OFFSET 0) s FOR UPDATE$$),
	('plain_doc', $$SELECT id, n FROM fact, other WHERE doc ->> 'name' = 'n1' AND n = 1 FOR UPDATE OF other$$),
	('only fact_doc', $$SELECT n FROM other, (SELECT doc ->> 'town' AS town FROM fact WHERE doc ->> 'name' = 'n1' ORDER BY id LIMIT 3) s WHERE s.town = other.town FOR UPDATE OF other$$)
) q (scans, query), pg_temp.both(query, scans) d;

-- ---- conditions that do not depend on rows, and subqueries
SELECT d AS difference FROM (VALUES
	('native', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND 1 = 0$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND now() > '2000-01-01'$$),
	('only fact_t1', $$SELECT id, doc ->> 'town' || 'x' FROM fact WHERE doc ->> 'town' = 't1' AND now() > '2000-01-01'$$),
	('only fact_t1', $$SELECT upper(doc ->> 'name'), sum((doc ->> 'age')::int) FROM fact WHERE doc ->> 'town' = 't1' AND now() < '2000-01-01' GROUP BY 1$$),
	('only fact_t1', $$SELECT sum((doc ->> 'age')::int) FROM fact WHERE doc ->> 'town' = 't1' AND now() < '2000-01-01'$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND random() > 2$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't' || (random() * 0 + 1)::int$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = (SELECT 't1')$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = (SELECT town FROM other WHERE n = 1)$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = (SELECT town FROM other WHERE n = -1)$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = ANY (ARRAY(SELECT town FROM other))$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' IN (SELECT town FROM other)$$),
	('native', $$SELECT id FROM fact WHERE doc ->> 'town' NOT IN (SELECT town FROM other)$$),
	('only fact_t1', $$SELECT id FROM fact f WHERE doc ->> 'town' = 't1' AND EXISTS (SELECT FROM other WHERE x = id)$$),
	('only fact_t1', $$SELECT id FROM fact f WHERE doc ->> 'town' = 't1' AND NOT EXISTS (SELECT FROM other WHERE x = id)$$),
	('only fact_t1', $$SELECT id FROM fact f WHERE doc ->> 'town' = 't1' AND (id < 3 OR EXISTS (SELECT FROM other WHERE x = id))$$),
	('only fact_doc', $$SELECT id, (SELECT count(*) FROM other WHERE town = doc ->> 'town') FROM fact WHERE doc ->> 'name' = 'n1'$$),
	('only fact_t1', $$SELECT n, (SELECT count(*) FROM fact WHERE other.town = doc ->> 'town') FROM other$$),
	('fact_t1', $$SELECT n, (SELECT string_agg(note || id, ',' ORDER BY id) FROM fact WHERE other.town = doc ->> 'town') FROM other$$),
	('only fact_town', $$SELECT n, ARRAY(SELECT id FROM fact WHERE other.town = doc ->> 'town' AND doc ->> 'name' > 'n1' ORDER BY doc ->> 'name', id LIMIT 2) FROM other$$),
	('only fact_t1', $$SELECT n FROM other WHERE EXISTS (SELECT FROM fact WHERE other.town = doc ->> 'town')$$),
	('only fact_t1', $$SELECT n FROM other WHERE NOT EXISTS (SELECT FROM fact WHERE other.town = doc ->> 'town')$$),
	('only fact_t1', $$SELECT n FROM other WHERE town IN (SELECT doc ->> 'town' FROM fact)$$),
	('only fact_t1', $$SELECT n FROM other WHERE town NOT IN (SELECT doc ->> 'town' FROM fact WHERE doc ->> 'town' IS NOT NULL)$$),
	(NULL, $$SELECT n FROM other WHERE age = ANY (SELECT (doc ->> 'age')::int FROM fact WHERE doc ->> 'name' = 'n1')$$),
	('only fact_desc', $$SELECT n FROM other WHERE (town, age) IN (SELECT doc ->> 'town', (doc ->> 'age')::int FROM fact)$$)
) q (scans, query), pg_temp.both(query, scans) d;

-- ---- joins
SELECT d AS difference FROM (VALUES
	('only fact_t1', $$SELECT n, id FROM other JOIN fact ON doc ->> 'town' = town$$),
	('fact_town', $$SELECT n, id, note FROM other JOIN fact ON doc ->> 'town' = town AND doc ->> 'name' = 'n1'$$),
	('only fact_t1', $$SELECT n, id, doc ->> 'name' FROM other LEFT JOIN fact ON doc ->> 'town' = town$$),
	('only fact_desc', $$SELECT n, id FROM other LEFT JOIN fact ON doc ->> 'town' = town AND (doc ->> 'age')::int = age$$),
	('fact_age', $$SELECT n, id FROM other JOIN fact ON (doc ->> 'age')::bigint = age$$),
	('fact_age', $$SELECT n, id FROM other JOIN fact ON doc -> 'age' = to_jsonb(age)$$),
	('fact_desc', $$SELECT n, id FROM other JOIN fact ON doc ->> 'age' = age::text AND doc ->> 'town' = town$$),
	('fact_t1', $$SELECT n, id FROM other JOIN fact ON doc -> 'town' = to_jsonb(town)$$),
	('fact_t1', $$SELECT id FROM fact WHERE doc -> 'town' IN (SELECT to_jsonb(town) FROM other)$$),
	('only fact_t1', $$SELECT n, id FROM other LEFT JOIN fact ON doc ->> 'town' = town WHERE id IS NULL$$),
	('only fact_t1', $$SELECT n, id FROM other LEFT JOIN fact ON doc ->> 'town' = town WHERE doc ->> 'name' IS NULL$$),
	('only fact_town', $$SELECT n, id FROM other LEFT JOIN fact ON doc ->> 'town' = town WHERE doc ->> 'name' = 'n1'$$),
	('only fact_t1', $$SELECT n, id FROM other LEFT JOIN fact ON doc ->> 'town' = 't1' AND n < 3$$),
	('only fact_t1', $$SELECT n, id FROM fact LEFT JOIN other ON doc ->> 'town' = town WHERE doc ->> 'town' = 't1'$$),
	('native', $$SELECT n, id FROM fact LEFT JOIN other ON doc ->> 'town' = town AND doc ->> 'name' = 'n1'$$),
	('only fact_town', $$SELECT n, id FROM fact RIGHT JOIN other ON doc ->> 'town' = town AND doc ->> 'name' = 'n1' WHERE n < 5$$),
	('native', $$SELECT n, id FROM fact FULL JOIN other ON doc ->> 'town' = town$$),
	('only fact_doc', $$SELECT n, id FROM (SELECT * FROM fact WHERE doc ->> 'name' = 'n1') f FULL JOIN other ON doc ->> 'town' = town$$),
	('only fact_doc', $$SELECT n, id FROM fact FULL JOIN other ON doc ->> 'town' = town WHERE doc ->> 'name' = 'n1'$$),
	('native', $$SELECT n, id FROM fact FULL JOIN other ON doc ->> 'town' = town AND doc ->> 'name' = 'n1' WHERE coalesce(n, 1) = 1$$),
	('only fact_doc, only fact_t1', $$SELECT a.id, b.id FROM fact a JOIN fact b ON a.doc ->> 'town' = b.doc ->> 'town' WHERE a.doc ->> 'name' = 'n1'$$),
	(NULL, $$SELECT a.id, b.id FROM fact a JOIN fact b USING (id) WHERE a.doc ->> 'name' = 'n1' AND b.doc ->> 'town' = 't1'$$),
	('only fact_doc, only fact_doc', $$SELECT a.id, b.id FROM fact a LEFT JOIN fact b ON b.doc ->> 'name' = a.doc ->> 'town' WHERE a.doc ->> 'name' = 'n1'$$),
	('only fact_doc, only fact_t1', $$SELECT a.id FROM fact a WHERE a.doc ->> 'name' = 'n1' AND NOT EXISTS (SELECT FROM fact b WHERE b.doc ->> 'town' = a.doc ->> 'town' AND b.id < a.id)$$),
	('fact_t1', $$SELECT n, s.* FROM other, LATERAL (SELECT id, note FROM fact WHERE doc ->> 'town' = town ORDER BY id LIMIT 2) s$$),
	('only fact_t1', $$SELECT n, s.* FROM other LEFT JOIN LATERAL (SELECT id, x + id AS y FROM fact WHERE doc ->> 'town' = town) s ON s.y > 4$$),
	('native', $$SELECT n, s.* FROM other LEFT JOIN LATERAL (SELECT id, coalesce(x, id) AS y FROM fact WHERE doc ->> 'town' = 't1') s ON n < 4$$),
	(NULL, $$SELECT s.y, count(*) FROM other, LATERAL (SELECT other.x + id AS y FROM fact WHERE doc ->> 'town' = 't1') s GROUP BY GROUPING SETS ((y), ())$$),
	(NULL, $$SELECT s.y, count(*) FROM other, LATERAL (SELECT other.x AS y FROM fact WHERE doc ->> 'town' = 't1') s GROUP BY GROUPING SETS ((y), ())$$),
	(NULL, $$SELECT n, s.town, s.id FROM other LEFT JOIN (SELECT doc ->> 'town' AS town, coalesce(doc ->> 'name', 'none') AS name, id FROM fact WHERE doc ->> 'town' = 't1') s ON s.town = other.town WHERE s.name = 'n1'$$),
	('only fact_doc', $$SELECT n, s.town, s.id FROM other LEFT JOIN (SELECT doc ->> 'town' AS town, coalesce(doc ->> 'name', 'none') AS name, id FROM fact WHERE doc ->> 'town' = 't1') s ON s.town = other.town AND s.name = 'n1'$$),
	('only fact_t1', $$SELECT n, s.name, s.id FROM other LEFT JOIN (SELECT doc ->> 'town' AS town, coalesce(doc ->> 'name', 'none') AS name, id FROM fact WHERE doc ->> 'town' = 't1') s ON s.town = other.town$$),
	('plain_t1', $$SELECT f.id, s.r, s.m FROM fact f, LATERAL (SELECT f.tableoid::regclass::text AS r, max(g) AS m FROM generate_series(1, 2) g) s WHERE f.doc ->> 'town' = 't1'$$),
	('plain_t1', $$SELECT f.id, g FROM fact f, generate_series(1, length(f.tableoid::text)) g WHERE f.doc ->> 'town' = 't1'$$),
	('fact_t1', $$SELECT f.id, g FROM fact f, generate_series(1, (f.doc ->> 'age')::int) g WHERE f.doc ->> 'town' = 't1' AND f.doc ->> 'age' <> ''$$),
	('plain_t1', $$SELECT f.id, v FROM fact f, LATERAL (VALUES (f.tableoid::regclass::text), (f.doc ->> 'name')) v WHERE f.doc ->> 'town' = 't1'$$),
	('plain_t1', $$SELECT f.id, (SELECT f.tableoid::regclass) FROM fact f WHERE f.doc ->> 'town' = 't1'$$),
	('fact_t1', $$SELECT f.id, t FROM fact f, jsonb_array_elements_text(f.doc -> 'tags') t WHERE f.doc ->> 'town' = 't1' AND jsonb_typeof(f.doc -> 'tags') = 'array'$$),
	('only fact_doc, only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' UNION ALL SELECT id FROM fact WHERE doc ->> 'name' = 'n1'$$),
	('only fact_doc, only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' INTERSECT SELECT id FROM fact WHERE doc ->> 'name' = 'n1'$$),
	('only fact_doc, only fact_t1', $$SELECT id, doc ->> 'name' FROM fact WHERE doc ->> 'town' = 't1' EXCEPT SELECT id, doc ->> 'name' FROM fact WHERE doc ->> 'name' = 'n1'$$),
	('only fact_doc', $$SELECT * FROM (SELECT id, doc ->> 'name' AS k FROM fact UNION ALL SELECT n, town FROM other) u WHERE k = 'n1'$$),
	('only fact_t1', $$WITH w AS (SELECT id, doc ->> 'name' AS name FROM fact WHERE doc ->> 'town' = 't1') SELECT * FROM w a JOIN w b USING (id)$$),
	('only fact_t1', $$WITH w AS MATERIALIZED (SELECT id, doc ->> 'name' AS name FROM fact WHERE doc ->> 'town' = 't1') SELECT * FROM w WHERE name = 'n1'$$),
	('only fact_doc, only fact_town', $$WITH RECURSIVE r (id, depth) AS (SELECT id, 1 FROM fact WHERE doc ->> 'name' = 'n1' AND doc ->> 'town' = 't1' UNION ALL SELECT f.id, depth + 1 FROM r JOIN fact f ON f.doc ->> 'name' = 'n' || r.depth WHERE depth < 3) SELECT * FROM r$$),
	('fact_t1', $$SELECT * FROM other o JOIN fact f ON f.id = o.x AND f.doc ->> 'town' = o.town$$),
	('fact_doc', $$SELECT * FROM other o JOIN fact f ON f.doc ->> 'name' = 'n1' AND f.id = o.x$$),
	('fact_age', $$SELECT o.n, p.n, f.id FROM other o CROSS JOIN other p JOIN fact f ON f.doc ->> 'town' = o.town AND (f.doc ->> 'age')::int = p.age$$),
	('only fact_town', $$SELECT o.n, f.id FROM other o JOIN fact f ON f.doc ->> 'town' = o.town || '' AND f.doc ->> 'name' > 'n' || o.age$$),
	('only fact_t1', $$SELECT o.n, f.id FROM other o JOIN fact f ON f.doc ->> 'town' = ANY (ARRAY[o.town, 't' || o.age])$$),
	(NULL, $$SELECT o.n, f.id, f.note FROM other o LEFT JOIN fact f ON f.doc ->> 'town' = ANY (ARRAY[o.town, 't' || o.age]) AND f.doc ->> 'name' = 'n1'$$),
	(NULL, $$SELECT n, id FROM other JOIN fact ON n = (SELECT count(*) FROM sample WHERE sample.id <= fact.id) AND n = (doc ->> 'age')::int WHERE doc ->> 'town' = 't1'$$)
) q (scans, query), pg_temp.both(query, scans) d;

-- ---- tables below UNION ALL, by conditions outside of it
CREATE VIEW united AS SELECT id, doc, note FROM plain UNION ALL SELECT id + 1000, doc, note FROM part UNION ALL SELECT 5000 + id, doc, 'sample' FROM sample;
CREATE VIEW towns AS SELECT id, doc ->> 'town' AS town, doc ->> 'name' AS name, upper(doc ->> 'name') AS upper FROM plain
	UNION ALL (SELECT id, doc ->> 'town', doc ->> 'name', 'b' FROM part UNION ALL SELECT n, town, 'other', NULL FROM other);
CREATE VIEW barred WITH (security_barrier) AS SELECT id, doc FROM plain UNION ALL SELECT id, doc FROM part;
SELECT d AS difference FROM (VALUES
	('part_town, plain_town', $$SELECT * FROM united WHERE doc ->> 'town' = 't1' AND doc ->> 'name' = 'n1'$$),
	('part_t1, plain_t1', $$SELECT id, doc ->> 'town', note FROM united WHERE doc ->> 'town' = 't1' AND doc ->> 'name' LIKE 'n%' AND id < 1020$$),
	(NULL, $$SELECT count(*), min(id), max(doc ->> 'name') FROM united WHERE doc ->> 'town' = 't1' AND doc ->> 'name' > 'n2'$$),
	(NULL, $$SELECT id FROM united WHERE doc -> 'tags' ? 'x1' AND note <> 'x'$$),
	(NULL, $$SELECT u, u.note FROM united u WHERE u.doc ->> 'town' = 't1' AND u.doc ->> 'name' = 'n1'$$),
	('only part_t1, only plain_t1', $$SELECT name, upper, id FROM towns WHERE town = 't1'$$),
	(NULL, $$SELECT town, name FROM towns WHERE town = 't1' AND name >= 'n2' ORDER BY town, name, id LIMIT 9$$),
	(NULL, $$SELECT DISTINCT name FROM towns WHERE town IN ('t1', 't2') OR town = 't3' AND name = 'n3'$$),
	(NULL, $$SELECT o.n, t.id, t.name FROM other o JOIN towns t ON t.town = o.town WHERE o.n < 5$$),
	(NULL, $$SELECT o.n, t.id, t.name FROM other o LEFT JOIN towns t ON t.town = o.town AND t.name = 'n1' WHERE t.town IS NULL OR t.id < 40$$),
	(NULL, $$SELECT o.n, (SELECT max(t.name) FROM towns t WHERE t.town = o.town) FROM other o WHERE EXISTS (SELECT FROM united u WHERE u.doc ->> 'town' = o.town AND u.id = o.n)$$),
	(NULL, $$SELECT * FROM united a JOIN united b ON a.doc ->> 'town' = b.doc ->> 'town' AND a.id = b.id + 1000 WHERE b.doc ->> 'name' = 'n3'$$),
	(NULL, $$SELECT id, town FROM towns t CROSS JOIN LATERAL (SELECT count(*) FROM other o WHERE o.town = t.town) c WHERE t.town = 't1' AND t.name = 'n1'$$),
	(NULL, $$SELECT * FROM barred WHERE doc ->> 'town' = 't1' AND doc ->> 'name' = 'n1'$$),
	(NULL, $$SELECT o.*, t.id FROM other o JOIN towns t ON t.town = o.town AND t.name = 'n1' FOR UPDATE OF o$$),
	(NULL, $$SELECT 10 / (id - 7) FROM united WHERE doc ->> 'town' = 't1' AND id <> 7 AND 10 / (id - 7) < 9$$)
) q (scans, query), pg_temp.differences(query, scans, NULL, NULL, query ~ 'ORDER BY town, name, id') d;
SELECT d AS difference FROM (VALUES
	($$SELECT id FROM united WHERE doc ->> 'town' = $1 AND doc ->> 'name' = ANY ($2)$$, $$'t1', '{n1,n2}'$$), ($$SELECT id FROM towns WHERE town = $1 AND name > $2$$, $$'t1', 'n1'$$)
) q (query, args), pg_temp.differences(query, NULL, args) d;
SELECT d AS difference FROM (VALUES
	($$UPDATE other SET x = t.id FROM towns t WHERE t.town = other.town AND t.id < 9 AND other.n = 2 AND t.name = 'n2' RETURNING other.*$$, $$SELECT * FROM other$$),
	($$DELETE FROM plain USING towns t WHERE t.town = plain.doc ->> 'town' AND t.name = 'n2' AND plain.id < 9 RETURNING plain.id$$, $$SELECT count(*) FROM towns WHERE town = 't1'$$)
) q (query, afterwards), pg_temp.differences(query, NULL, NULL, afterwards) d;
SET indextable.planner = force;
SELECT fact_table, index_table, used, reason FROM indextable.explain($$SELECT * FROM towns WHERE town = 't1'$$) WHERE used;
-- a cursor may name rows of the tables below
BEGIN;
DECLARE c CURSOR FOR SELECT u.id FROM (SELECT id, doc FROM plain UNION ALL SELECT id, doc FROM sample) u WHERE doc ->> 'town' = 't1' AND doc ->> 'name' = 'n1';
FETCH NEXT FROM c;
UPDATE plain SET note = 'here' WHERE CURRENT OF c RETURNING id, note;
ROLLBACK;
RESET indextable.planner;
DROP VIEW united, towns, barred;

-- ---- joins, in their order
SELECT d AS difference FROM (VALUES
	('only fact_doc', $$SELECT s.x, f.id, f.name FROM (SELECT x FROM other) s LEFT JOIN (SELECT id, doc ->> 'name' AS name FROM fact WHERE doc ->> 'name' > '') f ON f.id = s.x ORDER BY f.name, f.id, s.x$$)
) q (scans, query), pg_temp.both(query, scans, ordered => true) d;

-- ---- views, functions, subqueries within each other, and what is evaluated after sorting or above joins
CREATE VIEW v AS SELECT id, doc ->> 'town' AS town, coalesce(doc ->> 'name', 'none') AS name, note FROM part;
CREATE FUNCTION inlined(t text) RETURNS SETOF part LANGUAGE sql STABLE AS $$ SELECT * FROM part WHERE doc ->> 'town' = t $$;
CREATE FUNCTION stable_town() RETURNS text LANGUAGE sql STABLE AS $$ SELECT 't1'::text $$;
CREATE FUNCTION plpgsql_town(i int) RETURNS text LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN 't' || (SELECT count(*) FROM plain WHERE doc ->> 'town' = 't1' AND id < i); END $$;
SELECT d AS difference FROM (VALUES
	($$SELECT * FROM v WHERE town = 't1'$$),
	($$SELECT n, v.* FROM other LEFT JOIN v ON v.town = other.town AND v.name = 'n1'$$),
	($$SELECT n, v.* FROM other LEFT JOIN v ON v.town = 't1' WHERE v.name <> 'none' OR n < 3$$),
	($$SELECT n, v.* FROM other JOIN v ON v.id = other.x LEFT JOIN v w ON w.town = v.town AND w.id = 1 WHERE v.town = 't1'$$),
	($$SELECT a.id, b.id, c.id FROM fact a LEFT JOIN fact b ON b.id = a.id + 1 AND b.doc ->> 'town' = 't2' LEFT JOIN fact c ON c.doc ->> 'town' = b.doc ->> 'town' AND c.id < 10 WHERE a.doc ->> 'town' = 't1'$$),
	($$SELECT * FROM inlined('t1')$$),
	($$SELECT n, i.id FROM other, inlined(other.town) i$$),
	($$SELECT n, i.id FROM other LEFT JOIN inlined(other.town) i ON i.id < 20$$),
	($$SELECT id FROM fact WHERE doc ->> 'town' = stable_town()$$),
	($$SELECT id FROM fact WHERE doc ->> 'town' = plpgsql_town(3)$$),
	($$SELECT n, (SELECT max(f.id) FROM fact f WHERE f.doc ->> 'town' = other.town AND f.doc ->> 'name' = (SELECT min(g.doc ->> 'name') FROM fact g WHERE g.doc ->> 'town' = other.town)) FROM other$$),
	($$SELECT n FROM other WHERE (SELECT count(*) FROM fact WHERE doc ->> 'town' = other.town) > 10$$),
	($$SELECT (doc ->> 'age')::int, count(*) FROM fact GROUP BY 1 HAVING count(*) > (SELECT count(*) FROM fact WHERE (doc ->> 'age')::int = 7)$$),
	($$SELECT sum((doc ->> 'age')::int) + (SELECT max(n) FROM other) FROM fact WHERE doc ->> 'town' = 't1' HAVING sum((doc ->> 'age')::int) > (SELECT min(n) FROM other)$$),
	($$SELECT DISTINCT sum((doc ->> 'age')::int) FROM fact WHERE doc ->> 'town' > '' GROUP BY doc ->> 'town'$$),
	($$SELECT doc ->> 'town', doc ->> 'town', count(doc ->> 'name') FROM fact WHERE doc ->> 'town' > '' GROUP BY 1, 2$$),
	($$SELECT id, sum((doc ->> 'age')::int), max(note) FROM plain WHERE doc ->> 'town' = 't1' GROUP BY id$$),
	($$SELECT id, doc ->> 'name', note, count(*) FROM plain WHERE doc ->> 'town' = 't1' GROUP BY id$$),
	($$SELECT id, doc, sum((doc ->> 'age')::int) FROM fact WHERE doc ->> 'name' = 'n1' GROUP BY id, doc$$),
	($$SELECT count(DISTINCT (doc ->> 'age')::int) FROM fact WHERE (doc ->> 'age')::int > 2$$),
	($$SELECT count(DISTINCT doc ->> 'town'), sum((doc ->> 'age')::int) FROM fact WHERE doc ->> 'town' > ''$$),
	($$SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY (doc ->> 'age')::int) FROM fact WHERE (doc ->> 'age')::int > 2$$),
	($$SELECT array_agg(doc ->> 'town' ORDER BY doc ->> 'town' DESC) FROM fact WHERE doc ->> 'town' > ''$$),
	($$SELECT every(doc ->> 'name' > ''), bool_or((doc ->> 'age')::int > 3) FROM fact WHERE doc ->> 'town' = 't1'$$),
	($$SELECT sum((doc ->> 'age')::int) OVER (), count(*) FROM fact WHERE doc ->> 'town' = 't1' GROUP BY doc ->> 'age'$$),
	($$SELECT max(doc ->> 'name') FROM fact WHERE doc ->> 'town' = 't1' AND doc ->> 'name' > 'n1'$$),
	($$SELECT max(doc ->> 'town') FROM fact WHERE doc ->> 'name' = 'n1'$$),
	($$SELECT (SELECT max((doc ->> 'age')::int) FROM fact WHERE doc ->> 'town' = other.town) FROM other$$),
	($$SELECT o.n FROM other o WHERE EXISTS (SELECT FROM fact f JOIN other p ON p.x = f.id WHERE f.doc ->> 'town' = o.town AND p.age = o.age)$$),
	($$SELECT o.n FROM other o WHERE NOT EXISTS (SELECT FROM fact f LEFT JOIN other p ON p.x = f.id WHERE f.doc ->> 'town' = o.town AND p.age IS NULL)$$),
	($$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND id = ANY (SELECT x FROM other WHERE other.town = doc ->> 'town')$$),
	($$SELECT id FROM fact f WHERE doc ->> 'town' = 't1' AND id = (SELECT min(id) FROM fact g WHERE g.doc ->> 'town' = f.doc ->> 'town')$$),
	($$SELECT id FROM fact f WHERE doc ->> 'town' = (SELECT o.town FROM other o WHERE o.n = f.id)$$),
	($$SELECT f.id FROM fact f, (SELECT town FROM other WHERE n = 1 OFFSET 0) o WHERE f.doc ->> 'town' = o.town AND f.doc ->> 'name' = (SELECT 'n1' WHERE o.town > '')$$),
	($$SELECT f.id, g.id FROM fact f, LATERAL (SELECT * FROM fact g WHERE g.doc ->> 'town' = f.doc ->> 'town' AND g.doc ->> 'name' > f.doc ->> 'name' ORDER BY g.doc ->> 'name', g.id LIMIT 1) g WHERE f.doc ->> 'name' = 'n1'$$),
	($$SELECT f.id, g FROM fact f LEFT JOIN LATERAL (SELECT g.id, f.id AS fid FROM fact g WHERE g.doc ->> 'town' = 't1' AND g.id = f.id) g ON true WHERE f.doc ->> 'name' = 'n1'$$),
	($$SELECT f.id, s.c FROM fact f CROSS JOIN LATERAL (SELECT count(*) AS c FROM other WHERE town = f.doc ->> 'town') s WHERE f.doc ->> 'town' IN ('t1', 't2')$$),
	($$SELECT s.y, s.z, count(*) FROM other o, LATERAL (SELECT o.x + id AS y, doc ->> 'name' AS z FROM fact WHERE doc ->> 'town' = 't1') s WHERE s.z > 'n1' AND s.y > 3 GROUP BY CUBE (y, z)$$),
	($$SELECT s.z, count(*) FROM other o, LATERAL (SELECT coalesce(o.town, doc ->> 'name') AS z, id FROM fact WHERE doc ->> 'town' = o.town) s WHERE s.z = 't1' GROUP BY GROUPING SETS ((z), ())$$),
	($$SELECT f.id FROM ROWS FROM (generate_series(1, 3)) g, fact f WHERE f.doc ->> 'town' = 't' || g$$),
	($$SELECT f.id FROM (VALUES ('t1'), ('t3'), (NULL)) t (t) LEFT JOIN fact f ON f.doc ->> 'town' = t.t$$),
	($$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND doc ->> 'town' = doc ->> 'name'$$),
	($$SELECT id FROM fact WHERE doc ->> 'town' = doc ->> 'name'$$),
	($$SELECT id FROM fact WHERE doc ->> 'town' IN ('t1', doc ->> 'name')$$),
	($$SELECT f.id FROM fact f JOIN other o ON o.town = f.doc ->> 'town' AND o.town = f.doc ->> 'name'$$),
	($$SELECT f.id FROM fact f JOIN other o ON (o.town = f.doc ->> 'town') IS TRUE$$),
	($$SELECT f.id FROM fact f JOIN other o ON o.town = f.doc ->> 'town' OR o.x = f.id WHERE f.doc ->> 'name' = 'n1'$$),
	($$SELECT f.id, o.n FROM other o JOIN fact f ON f.doc -> 'tags' @> to_jsonb(o.town) WHERE f.doc ->> 'town' > ''$$),
	($$SELECT f.doc -> 'tags' FROM fact f WHERE f.doc ->> 'town' = 't1' AND f.doc -> 'tags' <> 'null'$$),
	($$SELECT f.doc -> 'tags', f.doc -> 'tags' ->> 0 FROM fact f WHERE f.doc ->> 'town' IN ('t1', 't2')$$),
	($$SELECT EXISTS (SELECT FROM fact WHERE doc ->> 'town' = 't1'), EXISTS (SELECT FROM fact WHERE doc ->> 'town' = 'nowhere')$$),
	($$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND EXISTS (SELECT FROM other WHERE n = 1)$$),
	($$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND (SELECT true)$$),
	($$SELECT id + (SELECT 1) FROM fact WHERE doc ->> 'town' = 't1'$$),
	($$SELECT id, (doc ->> 'age')::int + (SELECT 1) FROM fact WHERE doc ->> 'town' = 't1'$$),
	($$SELECT doc ->> 'town', doc ->> 'name' IS NULL, (doc ->> 'age')::int::text || 'x', upper(doc ->> 'name') FROM fact WHERE doc ->> 'town' = 't1'$$),
	($$SELECT id FROM fact WHERE (doc ->> 'num')::numeric = 1::float8$$),
	($$SELECT id FROM fact WHERE (doc ->> 'age')::int = '7'$$),
	($$SELECT id FROM fact WHERE (doc ->> 'age')::int = 7::float8$$),
	($$SELECT id FROM fact WHERE id = 5 AND doc ->> 'town' = 't0'$$),
	($$SELECT id FROM fact WHERE id IN (1, 6, 11) AND doc ->> 'name' = 'n1'$$)
) q (query), pg_temp.both(query, ordered => false) d;

SELECT d AS difference FROM (VALUES
	($$SELECT doc ->> 'town' AS t, sum((doc ->> 'age')::int) AS s FROM fact WHERE doc ->> 'town' > '' GROUP BY 1 ORDER BY s DESC, t$$),
	($$SELECT doc ->> 'town' AS t, sum((doc ->> 'age')::int) AS s FROM fact WHERE doc ->> 'town' > '' GROUP BY 1 ORDER BY t DESC LIMIT 2$$),
	($$SELECT CASE WHEN doc ->> 'town' = 't1' THEN (doc ->> 'age')::int END FROM fact WHERE doc ->> 'town' > 't0' ORDER BY 1, id$$),
	($$SELECT id FROM fact WHERE doc ->> 'town' > '' ORDER BY doc ->> 'town' || 'x', id LIMIT 5$$),
	($$SELECT id, md5(md5(md5(doc ->> 'name'))) FROM fact WHERE doc ->> 'town' > '' ORDER BY doc ->> 'town', id LIMIT 5$$),
	($$SELECT id, plpgsql_town(id) || (doc ->> 'name') FROM fact WHERE doc ->> 'town' > '' ORDER BY doc ->> 'town', id LIMIT 5$$),
	($$SELECT id, plpgsql_town(id) || (doc ->> 'name') FROM fact WHERE doc ->> 'name' > '' ORDER BY doc ->> 'name', id LIMIT 5$$),
	($$SELECT DISTINCT ON (doc ->> 'town') id, plpgsql_town(id) || (doc ->> 'name') FROM fact WHERE doc ->> 'town' > '' ORDER BY doc ->> 'town', id DESC LIMIT 5$$),
	($$SELECT id, doc ->> 'name', random() > 2 FROM fact WHERE doc ->> 'town' > '' ORDER BY doc ->> 'town', id LIMIT 5$$),
	($$SELECT f.id, o.n FROM fact f JOIN other o ON o.town = f.doc ->> 'town' WHERE o.town = 't1' ORDER BY f.doc ->> 'name' NULLS FIRST, f.id, o.n$$),
	($$SELECT f.id, o.n FROM fact f JOIN other o ON o.age = (f.doc ->> 'age')::int ORDER BY (f.doc ->> 'age')::int DESC, f.id, o.n LIMIT 10$$),
	($$SELECT f.id, o.n FROM fact f LEFT JOIN other o ON o.age = (f.doc ->> 'age')::int WHERE (f.doc ->> 'age')::int > 4 ORDER BY (f.doc ->> 'age')::int, f.id, o.n LIMIT 30$$),
	($$SELECT f.id, o.n FROM other o LEFT JOIN fact f ON o.age = (f.doc ->> 'age')::int AND (f.doc ->> 'age')::int > 4 ORDER BY (f.doc ->> 'age')::int, f.id, o.n$$),
	($$SELECT f.id, o.n FROM other o FULL JOIN (SELECT * FROM fact WHERE (doc ->> 'age')::int > 4) f ON o.age = (f.doc ->> 'age')::int ORDER BY (f.doc ->> 'age')::int, f.id, o.n$$),
	($$SELECT * FROM (SELECT doc ->> 'town' AS t, 'x' || id AS y FROM fact WHERE doc ->> 'town' = 't1' UNION ALL SELECT town, 'y' || n FROM other) u ORDER BY 1, 2 LIMIT 10$$),
	($$SELECT id FROM fact WHERE id > 5 AND id < 30 AND doc ->> 'name' = 'n1' ORDER BY id DESC$$)
) q (query), pg_temp.both(query, ordered => true) d;

-- ---- conditions on different fields that are joined by OR; on elements that rows are joined with
SELECT d AS difference FROM (VALUES
	('fact_age, fact_t1', $$SELECT * FROM fact WHERE doc ->> 'town' = 't1' OR (doc ->> 'age')::int = 3$$),
	('fact_age, fact_t1, fact_tag', $$SELECT * FROM fact WHERE doc ->> 'town' = 't1' OR (doc ->> 'age')::int IN (3, 4) OR doc @> '{"tags": ["x1"]}'$$),
	('fact_age, fact_t1', $$SELECT count(*), sum(id) FROM fact WHERE (doc ->> 'town' = 't1' AND id > 20 OR (doc ->> 'age')::int = 3 AND note = 'note') AND id < 50$$),
	(NULL, $$SELECT id, note FROM fact WHERE (doc ->> 'town' IN ('t1', 't2') OR doc -> 'age' = '3') AND upper(doc ->> 'name') > 'N1' ORDER BY id DESC LIMIT 5$$),
	('native', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' OR note IS NULL$$),
	('native', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' OR random() < 0$$),
	(NULL, $$SELECT tableoid::regclass, doc FROM fact WHERE doc ->> 'town' = 't1' OR (doc ->> 'age')::int = 3$$),
	('fact_age, fact_t1', $$SELECT f.id, o.n FROM fact f JOIN other o ON o.n = f.id WHERE f.doc ->> 'town' = 't1' OR (f.doc ->> 'age')::int = 3$$),
	('fact_age, fact_t1', $$SELECT o.n, (SELECT count(note) FROM fact WHERE doc ->> 'town' = o.town OR (doc ->> 'age')::int = o.age) FROM other o$$),
	(NULL, $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' OR (doc ->> 'age')::int = 3 FOR UPDATE$$),
	('fact_tag', $$SELECT f.id, f.note, e FROM fact f, jsonb_array_elements_text(CASE WHEN jsonb_typeof(f.doc -> 'tags') = 'array' THEN f.doc -> 'tags' END) e WHERE e = 'x1'$$)
) q (scans, query), pg_temp.both(query, scans) d;
SELECT d AS difference FROM pg_temp.both($$SELECT id FROM fact WHERE doc ->> 'town' = $1 OR (doc ->> 'age')::int = $2$$, args => $$'t1', NULL$$) d;

-- ---- volatile conditions are evaluated once for each row, also of a fallback
CREATE SEQUENCE evaluated;
SET indextable.planner = fallback;
SELECT count(note) FROM plain WHERE doc ->> 'town' = 't1' AND nextval('evaluated') > 0;
SELECT last_value FROM evaluated;

-- ---- EXPLAIN ANALYZE of a scan that has needed its fallback for the first search only
SET indextable.planner = force;
CREATE FUNCTION pg_temp.first_is_fallback() RETURNS TABLE (scans text, reason text) LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
	EXECUTE $q$EXPLAIN (ANALYZE, FORMAT json) SELECT c FROM (SELECT n, set_config('indextable.planner', CASE n WHEN 1 THEN 'fallback' ELSE 'force' END, false) AS set FROM other ORDER BY n OFFSET 0) o,
		LATERAL (SELECT count(note) AS c FROM plain WHERE doc ->> 'town' = 't' || n || left(set, 0)) s$q$ INTO plan;
	RETURN QUERY SELECT pg_temp.scans(plan), jsonb_path_query_first(plan, '$.**."Fallback"') #>> '{}';
END $$;
SELECT * FROM pg_temp.first_is_fallback();

-- ---- sorted groups by a field that a condition makes constant: since 16 it is no grouping column
SET enable_hashagg = off;
SELECT d AS difference FROM pg_temp.both($$SELECT doc ->> 'town', doc ->> 'name', count(*) FROM fact WHERE doc ->> 'town' = 't1' GROUP BY 1, 2 ORDER BY 2 DESC$$, 'only fact_t1') d;
RESET enable_hashagg;

-- ---- rows may have changed since asynchronous entries were written, which come in order
CREATE TABLE late (id int PRIMARY KEY, doc jsonb, note text DEFAULT 'note');
INSERT INTO late SELECT i, jsonb_build_object('k', 'k' || i % 3) FROM generate_series(1, 12) i;
SELECT indextable.create('late_k', 'late', '{k}', maintenance => 'async') \gset
UPDATE late SET doc = jsonb_build_object('k', 'k' || (id + 1) % 3) WHERE id < 9;
SET indextable.stale_reads = on;
SET enable_hashagg = off;
SELECT * FROM pg_temp.explain($$SELECT doc ->> 'k', count(note) FROM late WHERE doc ->> 'k' > '' GROUP BY 1$$);
SELECT doc ->> 'k', count(note) FROM late WHERE doc ->> 'k' > '' GROUP BY 1;
RESET enable_hashagg;
RESET indextable.stale_reads;

-- ---- no rows are fetched by a deferrable primary key
CREATE TABLE deferred (id int PRIMARY KEY DEFERRABLE, doc jsonb);
SELECT indextable.create('deferred_k', 'deferred', '{k}') \gset
SELECT used, reason FROM indextable.explain($$SELECT doc FROM deferred WHERE doc ->> 'k' = 'k1'$$);
SELECT used FROM indextable.explain($$SELECT id FROM deferred WHERE doc ->> 'k' = 'k1'$$);

-- ---- plain columns of a partitioned table that is not expanded have their statistics
SELECT pg_temp.explain($$SELECT note FROM part WHERE doc ->> 'town' = 't1' AND note = 'note'$$, 'COSTS ON') ~ 'rows=1[0-9] ' AS estimated LIMIT 1;

-- ---- the planner's size of a partitioned table is not how many rows satisfy all conditions: nothing reads more entries than a search by the primary key
CREATE TABLE visit (id bigint, at timestamptz, doc jsonb NOT NULL, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
SELECT format('CREATE TABLE visit_%s PARTITION OF visit FOR VALUES FROM (%L) TO (%L)', n, timestamptz '2025-01-01' + n * interval '1 day', timestamptz '2025-01-02' + n * interval '1 day') FROM generate_series(0, 7) n \gexec
INSERT INTO visit SELECT i, timestamptz '2025-01-01' + i % 8 * interval '1 day' + i % 96 * interval '15 minutes', jsonb_build_object('user', 'u' || i % 500, 'town', 't' || i % 4, 'n', i) FROM generate_series(1, 12000) i;
SELECT indextable.create('visit_user', 'visit', '{user}'), indextable.create('visit_town', 'visit', '{town, n::int}'),
	indextable.create('visit_at', 'visit', '{@at, user}', partition_by => 'RANGE (at)', partition_bounds => ARRAY(
		SELECT format('FROM (%L) TO (%L)', timestamptz '2025-01-01' + n * interval '1 day', timestamptz '2025-01-02' + n * interval '1 day') FROM generate_series(0, 7) n));
VACUUM ANALYZE visit, visit_user, visit_town, visit_at;
SET indextable.planner = on;
CREATE FUNCTION pg_temp.planned(query text) RETURNS text LANGUAGE plpgsql AS $$ DECLARE plan jsonb; BEGIN EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan; RETURN pg_temp.scans(plan); END $$;
SELECT pg_temp.planned(query) AS scans, query FROM (VALUES
	($$SELECT * FROM visit WHERE id = 4242 AND at = '2025-01-03 04:30'$$),
	($$SELECT * FROM visit WHERE id = 4242$$),
	($$SELECT id, at FROM visit WHERE id = 4242$$),
	($$SELECT count(*) FROM visit WHERE id = 4242 AND at > '2025-01-02'$$),
	($$SELECT * FROM visit WHERE id = 4242 AND at > '2025-01-01' ORDER BY at LIMIT 10$$),
	($$SELECT * FROM visit WHERE id = 4242 AND at = '2025-01-03 04:30' AND doc ->> 'town' = 't2'$$),
	($$SELECT * FROM visit WHERE id = 4242 AND doc ->> 'town' = 't2'$$),
	($$SELECT * FROM visit WHERE at >= '2025-01-03' AND at < '2025-01-04'$$),
	($$SELECT * FROM visit WHERE id = 4242 AND doc ->> 'user' = 'u242'$$)
) q (query);
SET indextable.planner = force;

RESET planner_test.any_scans;
-- ---- several index tables, or one for several elements, are searched together, and only rows that all of them find are fetched
SET cpu_operator_cost = 1;
CREATE TABLE joint (id int, r text, doc jsonb, PRIMARY KEY (r, id));
CREATE TABLE split (LIKE joint INCLUDING ALL) PARTITION BY LIST (r);
CREATE TABLE split_a PARTITION OF split FOR VALUES IN ('a', 'b');
CREATE TABLE split_c PARTITION OF split DEFAULT;
INSERT INTO joint SELECT i, chr(97 + i % 5), CASE WHEN i % 50 = 0 THEN '[1]' ELSE jsonb_strip_nulls(jsonb_build_object('town', 't' || i % 7, 'state', nullif(i * 31 % 11, 4), 'n', i % 90,
	'tags', jsonb_build_array('x' || i % 6, 'y' || i * 17 % 5, 'x' || i % 6, i % 4), 'lines', jsonb_build_array(jsonb_build_object('sku', 's' || i % 8), jsonb_build_object('sku', 's' || i % 5)))) END
	FROM generate_series(1, 3000) i;
INSERT INTO split SELECT * FROM joint;
SELECT count(indextable.create(fact || '_' || name, fact::regclass, key, sparse => true)) FROM (VALUES ('joint'), ('split')) f (fact),
	(VALUES ('town', '{town}'::text[]), ('state', '{state::int}'), ('tag', '{tags[*]}'), ('sku', '{lines[*].sku}'), ('town_n', '{town, n::int}'), ('tag_n', '{tags[*], n::int}'), ('tag_town', '{tags[*], town}')) i (name, key) \gset
SELECT 'ANALYZE joint, split, ' || string_agg(index_table::text, ', ' ORDER BY index_table::text COLLATE "C") FROM indextable.index_tables WHERE fact_table IN ('joint'::regclass, 'split') \gexec
SELECT d AS difference FROM (VALUES ('joint'), ('split')) t (fact), (VALUES
	('fact_state, only fact_town', $$SELECT * FROM fact WHERE doc ->> 'town' = 't3' AND (doc ->> 'state')::int = 2$$),
	(NULL, $$SELECT id FROM fact WHERE doc @> '{"town": "t3", "state": 2}' ORDER BY r, id$$),
	(NULL, $$SELECT id FROM fact WHERE doc @> '{"town": "t3", "state": 2}' ORDER BY r DESC, id DESC LIMIT 7$$),
	('fact_state, only fact_town', $$SELECT count(doc) FROM fact WHERE doc ->> 'town' = 't3' AND (doc ->> 'state')::int = 2 AND r > 'b'$$),
	('fact_tag, only fact_tag', $$SELECT * FROM fact WHERE doc -> 'tags' @> '["x1", "y4"]'$$),
	('fact_tag, only fact_tag', $$SELECT * FROM fact WHERE doc @> '{"tags": ["x1", "y4"]}'$$),
	('fact_tag_town, only fact_tag_town', $$SELECT * FROM fact WHERE doc -> 'tags' ? 'x1' AND doc -> 'tags' ? 'y4' AND doc ->> 'town' <> 't1'$$),
	(NULL, $$SELECT * FROM fact WHERE doc -> 'tags' @> '["x1", "y4", 3]'$$),
	('fact_tag, only fact_tag', $$SELECT * FROM fact WHERE doc -> 'tags' @> '["x1", "x2"]'$$),
	('fact_sku, only fact_sku', $$SELECT * FROM fact WHERE doc @> '{"lines": [{"sku": "s1"}, {"sku": "s4"}]}'$$),
	('only fact_sku, fact_state', $$SELECT * FROM fact WHERE doc -> 'lines' @> '[{"sku": "s6"}]' AND (doc ->> 'state')::int = 2$$),
	('fact_tag_n, only fact_tag_n', $$SELECT * FROM fact WHERE doc -> 'tags' @> '["x1", "y4"]' AND (doc ->> 'n')::int > 60 ORDER BY (doc ->> 'n')::int, r, id$$),
	('fact_tag_n, only fact_tag_n', $$SELECT * FROM fact WHERE doc -> 'tags' @> '["x1", "y4"]' AND (doc ->> 'n')::int < 60 ORDER BY (doc ->> 'n')::int DESC, r DESC, id DESC$$),
	('only fact_tag_n, fact_town_n', $$SELECT * FROM fact WHERE doc -> 'tags' @> '["x1"]' AND doc ->> 'town' = 't3' AND (doc ->> 'n')::int > 60 ORDER BY (doc ->> 'n')::int, r, id$$),
	(NULL, $$SELECT * FROM fact WHERE doc -> 'tags' @> '["x1", "y4"]' AND doc ->> 'town' = 't3'$$),
	('only fact_tag, only fact_tag', $$SELECT count(*) FROM fact WHERE doc -> 'tags' ? 'x1' AND doc -> 'tags' ? 'y4'$$),
	('only fact_tag, only fact_tag', $$SELECT r, id FROM fact WHERE doc -> 'tags' @> '["x1", "y4"]'$$),
	(NULL, $$SELECT id FROM fact WHERE doc @> '{"tags": ["y4", "x1"]}' ORDER BY r DESC, id DESC LIMIT 7$$),
	('only fact_tag, only fact_tag', $$SELECT max(id) FROM fact WHERE doc -> 'tags' ?& '{x1,NULL,y4}' AND r > 'a'$$),
	('only fact_state, only fact_town', $$SELECT id, doc ->> 'town', (doc ->> 'state')::int FROM fact WHERE doc ->> 'town' = 't3' AND (doc ->> 'state')::int = 2$$),
	('only fact_state, only fact_tag', $$SELECT DISTINCT (doc ->> 'state')::int FROM fact WHERE doc -> 'tags' ? 'x1' AND (doc ->> 'state')::int = 2$$),
	('only fact_tag_n, only fact_town_n', $$SELECT (doc ->> 'n')::int, id FROM fact WHERE doc -> 'tags' @> '["x1"]' AND doc ->> 'town' = 't3' AND (doc ->> 'n')::int > 60 ORDER BY (doc ->> 'n')::int, r, id$$),
	(NULL, $$SELECT count(*) FROM fact WHERE doc -> 'tags' @> '["x1", "x1"]'$$), (NULL, $$SELECT count(*) FROM fact WHERE doc -> 'tags' ?& '{x1,1}'$$),
	(NULL, $$SELECT count(*) FROM fact WHERE doc -> 'tags' @> '["x1", "y4", 1]'$$), (NULL, $$SELECT count(*) FROM fact WHERE doc -> 'tags' @> '["x1", ["y4"]]'$$),
	(NULL, $$SELECT count(*) FROM fact WHERE doc -> 'tags' @> '["x1", "y4"]' OR doc -> 'tags' @> '["x2", "y3"]'$$),
	(NULL, $$SELECT count(*) FROM fact WHERE doc -> 'tags' @> '["x1", "y4"]' AND doc -> 'tags' @> '["x1", "y3"]'$$),
	(NULL, $$SELECT a.id, b.id FROM fact a JOIN fact b ON b.id = a.id + 1 WHERE a.doc -> 'tags' ?& '{x1,y4}' AND b.doc ->> 'town' = 't3'$$)
) q (scans, query), pg_temp.differences(regexp_replace(query, '\mfact', fact, 'g'), regexp_replace(scans, '\mfact', fact, 'g'), NULL, NULL, query ~ 'ORDER BY') d;
SELECT d AS difference FROM (VALUES
	($$SELECT * FROM joint WHERE doc ->> 'town' = $1 AND (doc ->> 'state')::int = $2$$, $$'t3', 2$$), ($$SELECT * FROM split WHERE doc -> 'tags' ? $1 AND doc -> 'tags' ? $2$$, $$'x1', 'y4'$$),
	($$SELECT * FROM joint WHERE doc ->> 'town' = $1 AND (doc ->> 'state')::int = $2$$, 'NULL, 2'), ($$SELECT count(*) FROM split WHERE doc -> 'tags' ?& $1 AND doc ->> 'town' = $2$$, $$'{x1,y4}', 't3'$$), ($$SELECT * FROM split WHERE doc @> $1$$, $$'{"town": "t3", "tags": ["x1", "y4"]}'$$)) q (query, args), pg_temp.differences(query, NULL, args) d;
SELECT d AS difference FROM (VALUES ($$UPDATE joint SET doc = doc || '{"state": 3}' WHERE doc ->> 'town' = 't3' AND (doc ->> 'state')::int = 2 RETURNING *$$, 'SELECT * FROM joint'),
	($$DELETE FROM joint WHERE doc -> 'tags' @> '["x1", "y4"]' RETURNING id$$, $$SELECT * FROM joint WHERE doc -> 'tags' @> '["x1", "y0"]'$$),
	($$SELECT a.id, (SELECT count(b.doc) FROM joint b WHERE b.doc ->> 'town' = a.doc ->> 'town' AND (b.doc ->> 'state')::int = 2) FROM split a WHERE a.id < 99$$, NULL)) q (query, afterwards), pg_temp.differences(query, NULL, NULL, afterwards) d;
-- but not if their entries come in different orders of the primary key
CREATE TABLE crossed (a int, b int, doc jsonb, PRIMARY KEY (a, b));
INSERT INTO crossed SELECT i / 10, i % 10, jsonb_build_object('town', 't' || i / 10 % 3, 'n', i / 7 % 4, 'tag', 'g' || i / 7 % 20) FROM generate_series(1, 3000) i;
SELECT indextable.create('crossed_town', 'crossed', '{town, @b}'), indextable.create('crossed_n', 'crossed', '{n::int, @b}'), indextable.create('crossed_tag', 'crossed', '{tag}') \gset
ANALYZE crossed, crossed_town, crossed_n, crossed_tag;
SELECT d AS difference FROM (VALUES ('crossed_tag', $$SELECT * FROM crossed WHERE doc ->> 'town' = 't1' AND b = 3 AND doc ->> 'tag' = 'g1'$$),
	('crossed_n, only crossed_town', $$SELECT * FROM crossed WHERE doc ->> 'town' = 't1' AND (doc ->> 'n')::int = 1$$)) q (scans, query), pg_temp.differences(query, scans) d;
RESET cpu_operator_cost;
DROP TABLE joint, split, crossed;

-- ---- every two of some conditions, on documents that are as expected, and on others: without an array or a text, with repeated and with other elements
SET cpu_operator_cost = 1;
CREATE TABLE pairs (odd boolean, id int, doc jsonb, PRIMARY KEY (id, odd));
INSERT INTO pairs SELECT odd, i, jsonb_strip_nulls(jsonb_build_object('tags', CASE WHEN odd AND i % 9 = 0 THEN (ARRAY['"red"', '{"red": 1}', '[]', 'null', '7', '[null]', '[["red", "blue"]]'])[1 + i % 7]::jsonb
	ELSE jsonb_build_array((ARRAY['red', 'blue', 'green'])[1 + i % 3], (ARRAY['red', 'blue', '1', ''])[1 + i / 3 % 4], CASE WHEN odd AND i % 4 = 0 THEN (ARRAY['1', 'true', '["blue"]', '{"blue": 2}', 'null'])[1 + i % 5]::jsonb END) END,
	'town', CASE WHEN odd AND i % 11 = 0 THEN (ARRAY['1', '["a"]', '{"a": 1}', 'null'])[1 + i % 4]::jsonb ELSE to_jsonb((ARRAY['a', 'b', '1'])[1 + i / 7 % 3]) END, 'n', i % 13)) FROM generate_series(1, 400) i, (VALUES (false), (true)) o (odd);
CREATE TABLE hostile AS TABLE pairs WITH NO DATA;
ALTER TABLE hostile ADD PRIMARY KEY (id, odd);
INSERT INTO hostile TABLE pairs;
DELETE FROM pairs WHERE odd;
SELECT count(indextable.create(fact || '_' || name, fact::regclass, key)) FROM (VALUES ('pairs'), ('hostile')) f (fact), (VALUES ('tag', '{tags[*]}'::text[]), ('town', '{town}'), ('tag_n', '{tags[*], n::int}'), ('town_n', '{town, n::int}')) i (name, key) \gset
ANALYZE pairs, pairs_tag, pairs_town, pairs_tag_n, pairs_town_n, hostile, hostile_tag, hostile_town, hostile_tag_n, hostile_town_n;
CREATE TEMP TABLE paired AS SELECT query, o.answer IS NOT DISTINCT FROM f.answer AS same, f.scans FROM (VALUES (1, $$doc -> 'tags' ? 'red'$$), (2, $$doc -> 'tags' ? 'blue'$$), (3, $$doc -> 'tags' @> '["blue"]'$$), (4, $$doc -> 'tags' @> '["red", "blue"]'$$), (5, $$doc @> '{"tags": ["red", "green"]}'$$),
	(6, $$doc -> 'tags' ?& '{red,blue}'$$), (7, $$doc -> 'tags' ?& '{red,1}'$$), (8, $$doc -> 'tags' @> '"red"'$$), (9, $$doc -> 'tags' @> '["1", "red"]'$$), (10, $$doc -> 'tags' ?| '{red,green}'$$),
	(11, $$doc ->> 'town' = 'a'$$), (12, $$doc -> 'town' = '"b"'$$), (13, $$doc @> '{"town": "a"}'$$), (14, $$doc ->> 'town' IN ('a', '1')$$), (15, $$(doc ->> 'n')::int > 6$$), (16, $$id % 2 = 0$$),
	(17, $$doc ->> 'town' IN ('b', 'b', NULL, '1')$$), (18, $$(doc ->> 'town' = 'a' OR doc -> 'tags' ? 'green')$$), (19, $$(doc -> 'tags' ? 'red' OR doc -> 'tags' @> '["blue"]')$$), (20, $$doc -> 'tags' ?| '{blue,""}'$$)) a (i, x), (VALUES ('pairs'), ('hostile')) t (fact),
	LATERAL (SELECT format('SELECT %s FROM %s WHERE %s AND %s %s', column1, fact, x, y, column2) AS query FROM (VALUES (1, $$doc -> 'tags' ? 'red'$$), (2, $$doc -> 'tags' @> '["blue"]'$$), (3, $$doc -> 'tags' ?& '{red,blue}'$$), (4, $$doc ->> 'town' = 'a'$$), (5, 'true')) b (j, y),
		(VALUES ('count(*)', ''), ('id, odd', 'ORDER BY id, odd'), ($$(doc ->> 'n')::int, doc ->> 'town', id$$, $$ORDER BY (doc ->> 'n')::int DESC, id DESC, odd DESC LIMIT 9$$), ('doc', $$ORDER BY (doc ->> 'n')::int, id, odd LIMIT 9$$)) c) q,
	LATERAL pg_temp.answer('off', query, NULL, NULL, 'auto') o, LATERAL pg_temp.answer('force', query, NULL, NULL, 'auto') f;
SELECT DISTINCT query AS difference, scans FROM paired WHERE NOT same;
SELECT count(*) FILTER (WHERE scans ~ '^only.*, only') > 40 AS merged_entries, count(*) FILTER (WHERE scans ~ ',') > 100 AS merged FROM paired;
-- the values of an IN, and the arms of an OR, are merged in the order of a LIMIT
SELECT d AS difference FROM (VALUES ('only pairs_town_n, only pairs_town_n', $$SELECT id FROM pairs WHERE doc ->> 'town' IN ('b', '1') ORDER BY (doc ->> 'n')::int, id LIMIT 5$$, NULL),
	('pairs_tag_n, pairs_town_n', $$SELECT doc FROM pairs WHERE doc ->> 'town' = 'b' OR doc -> 'tags' ? 'blue' ORDER BY (doc ->> 'n')::int DESC, id DESC, odd DESC LIMIT 7 OFFSET 2$$, NULL),
	(NULL, $$SELECT id FROM pairs WHERE doc ->> 'town' IN ($1, $2) ORDER BY (doc ->> 'n')::int, id LIMIT 5$$, $$'b', 'b'$$), (NULL, $$SELECT id FROM pairs WHERE doc ->> 'town' = ANY ($1) ORDER BY (doc ->> 'n')::int, id LIMIT 5$$, $$'{a,NULL,b,b}'$$),
	(NULL, $$SELECT t, x.id FROM unnest('{2,9}'::int[]) t, LATERAL (SELECT id FROM pairs WHERE doc ->> 'town' IN ('a', 'b') AND (doc ->> 'n')::int > t ORDER BY (doc ->> 'n')::int, id LIMIT 3) x$$, NULL)) q (scans, query, args), pg_temp.differences(query, scans, args, NULL, true) d;
-- so are those that are known later, also if they are NULL, or equal
CREATE TEMP TABLE later AS SELECT format('SELECT %s FROM %s WHERE coalesce($1, $2, %L) <> %L AND %s %s', what, fact, '', 'x', condition, o) AS query, args FROM (VALUES ('pairs'), ('hostile')) t (fact),
	(VALUES ($$doc -> 'tags' ? $1 AND doc -> 'tags' ? $2$$), ($$doc -> 'tags' ? $1 AND doc ->> 'town' = 'a'$$), ($$doc ->> 'town' IN ($1, $2, 'a', $1)$$), ($$doc -> 'town' IN (to_jsonb($1), to_jsonb($2))$$), ($$doc ->> 'town' IN (NULL, 'b', $2, $1)$$),
	($$doc -> 'tags' ?| ARRAY[$1, $2, 'green']$$), ($$doc -> 'tags' ?| ARRAY[$1, $2, $1] AND doc -> 'tags' ? 'blue'$$), ($$doc -> 'tags' ?| string_to_array(concat_ws(',', $1, $2), ',')$$), ($$doc -> 'tags' ?| '{red,1,red,NULL,5}'$$), ($$id IN (length($1), length($2), 7)$$)) c (condition),
	(VALUES ($$'red', 'blue'$$), ($$'red', 'red'$$), ($$'1', 'a'$$), ($$'b', '1'$$), ($$'', NULL$$)) a (args), (VALUES ('count(*)', ''), ($$id, doc ->> 'town', odd$$, $$ORDER BY (doc ->> 'n')::int DESC, id DESC, odd DESC LIMIT 9$$), ('*', 'ORDER BY id, odd')) s (what, o);
SELECT d AS difference FROM later, pg_temp.differences(query, NULL, args, NULL, true) d;
SELECT count(scans), count(*) FILTER (WHERE scans ~ '^only.*, only') > 30 AS merged_entries, count(*) FILTER (WHERE scans ~ ',') > 90 AS merged FROM later, pg_temp.answer('force', query, args, NULL, 'force_generic_plan');
SELECT pg_temp.explain($$SELECT id FROM pairs WHERE doc ->> 'town' IN ('b', '1') ORDER BY (doc ->> 'n')::int, id LIMIT 5$$, 'ANALYZE, BUFFERS OFF, COSTS OFF, TIMING OFF');
RESET cpu_operator_cost;
DROP TABLE pairs, hostile CASCADE;
-- the entries of one arm have the document, and those of another one its field
CREATE TABLE arms (id int PRIMARY KEY, doc jsonb);
INSERT INTO arms SELECT i, jsonb_build_object('town', 't' || i % 10, 'tags', jsonb_build_array('red', i % 5)) FROM generate_series(1, 200) i;
SELECT indextable.create('arms_town', 'arms', '{town}'), indextable.create('arms_tags', 'arms', '{tags[*]}', strategy => 'denormalized') \gset
ANALYZE;
SELECT d AS difference FROM (VALUES ($$SELECT id FROM arms WHERE doc ->> 'town' = 'none' OR doc @> '{"tags": ["red"]}' ORDER BY id, doc ->> 'town'$$),
	($$SELECT doc ->> 'town' FROM arms WHERE doc ->> 'town' = 't1' OR doc @> '{"tags": ["red", 3]}' ORDER BY id$$)) q (query), pg_temp.differences(query) d;
DROP TABLE arms CASCADE;

-- ---- explain() names the condition that is nearest to a field, and says once what is the same for several index tables
SET indextable.planner = on;
CREATE TABLE near (id int PRIMARY KEY, doc jsonb);
SELECT count(indextable.create('near_' || replace(field, '.', '_'), 'near', ARRAY[field || type])) FROM (VALUES ('town', ''), ('born', '::date'), ('address.city', ''), ('age', '::int'), ('tags', '[*]'), ('nums', '[*]::int')) f (field, type) \gset
SELECT condition, index_table, reason FROM (VALUES ($$doc ->> 'twon' = 'x'$$), ($$(doc ->> 'born')::int > 2000$$), ($$lower(doc ->> 'town') = 'x'$$),
	($$doc -> 'address' ->> 'town' = 'x' OR doc #>> '{address,cty}' < 'x'$$), ($$doc ->> 'other' = 'x'$$)) c (condition),
	LATERAL (SELECT index_table, split_part(reason, ', nor is', 1) AS reason FROM indextable.explain('SELECT doc FROM near WHERE ' || condition)) e
	WHERE index_table IS NOT NULL OR condition LIKE '%other%';
DROP TABLE near;
SET indextable.planner = force;

-- ---- explain() asks for the rights that EXPLAIN asks for
CREATE ROLE regress_planner_queries;
GRANT USAGE ON SCHEMA planner_queries TO regress_planner_queries;
SET ROLE regress_planner_queries;
SELECT * FROM indextable.explain($$SELECT note FROM plain WHERE doc ->> 'town' = 't1'$$);
RESET ROLE;

DROP SCHEMA planner_queries CASCADE;
DROP ROLE regress_planner_queries;
