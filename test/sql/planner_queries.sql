-- Plain queries of all shapes give the same answers, and the same order where they ask for one, natively, from index tables, and from their fallbacks.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/planner.psql
CREATE SCHEMA planner_queries;
SET search_path = planner_queries;
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
	('fact_t1', $$SELECT sum((doc ->> 'age')::int), avg((doc ->> 'age')::int), count(DISTINCT doc ->> 'name'), string_agg(doc ->> 'name', ',' ORDER BY id) FROM fact WHERE doc ->> 'town' = 't1'$$),
	('only fact_t1', $$SELECT sum((doc ->> 'age')::int) FILTER (WHERE doc ->> 'name' = 'n1'), count(*) FILTER (WHERE id > 5) FROM fact WHERE doc ->> 'town' = 't1'$$),
	('only fact_t1', $$SELECT doc ->> 'name', sum((doc ->> 'age')::int), max(id) FROM fact WHERE doc ->> 'town' = 't1' GROUP BY doc ->> 'name' HAVING count(*) > 1 AND max((doc ->> 'age')::int) > 5$$),
	('only fact_t1', $$SELECT doc ->> 'town', sum((doc ->> 'age')::int) FROM fact WHERE doc ->> 'town' = 't1' GROUP BY doc ->> 'town'$$),
	('fact_t1', $$SELECT upper(doc ->> 'town'), sum((doc ->> 'age')::int) FROM fact WHERE doc ->> 'town' IS NOT NULL GROUP BY 1$$),
	('fact_t1', $$SELECT doc ->> 'town', id, sum((doc ->> 'age')::int) FROM fact WHERE doc ->> 'town' IS NOT NULL GROUP BY GROUPING SETS ((1), (2), ())$$),
	('fact_t1', $$SELECT doc ->> 'town', doc ->> 'name', count(*) FROM fact WHERE doc ->> 'town' IS NOT NULL GROUP BY ROLLUP (1, 2)$$),
	('only fact_age, only fact_age', $$SELECT min((doc ->> 'age')::int), max((doc ->> 'age')::int) FROM fact$$),
	('only fact_age, only fact_age', $$SELECT min((doc ->> 'age')::int), max((doc ->> 'age')::int) FROM fact WHERE (doc ->> 'age')::int BETWEEN 3 AND 7$$),
	('only fact_doc', $$SELECT max(id) FROM fact WHERE doc ->> 'name' = 'n1'$$),
	('only fact_town', $$SELECT min(doc ->> 'name') FROM fact WHERE doc ->> 'town' = 't1'$$),
	('fact_t1', $$SELECT id, row_number() OVER (ORDER BY id), sum((doc ->> 'age')::int) OVER (PARTITION BY doc ->> 'name' ORDER BY id) FROM fact WHERE doc ->> 'town' = 't1'$$),
	('only fact_doc', $$SELECT id, rank() OVER w, first_value(id) OVER w FROM fact WHERE doc ->> 'name' > '' WINDOW w AS (ORDER BY doc ->> 'name', id)$$),
	('fact_t1', $$SELECT id, generate_series(1, 2), doc ->> 'name' FROM fact WHERE doc ->> 'town' = 't1'$$),
	('fact_t1', $$SELECT jsonb_array_elements_text(doc -> 'tags') FROM fact WHERE doc ->> 'town' = 't1' AND id < 20$$),
	('only fact_t1', $$SELECT generate_series(1, count(*)) FROM fact WHERE doc ->> 'town' = 't1'$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' LIMIT 0$$),
	('fact_t1', $$SELECT fact FROM fact WHERE doc ->> 'town' = 't1'$$),
	('fact_doc', $$SELECT fact.*, fact FROM fact WHERE doc ->> 'name' = 'n1'$$),
	('fact_doc', $$SELECT (fact).id, row_to_json(fact) FROM fact WHERE doc ->> 'name' = 'n1'$$),
	('fact_doc', $$SELECT count(fact) FROM fact WHERE doc ->> 'name' = 'n1'$$),
	('native', $$SELECT ctid IS NULL, tableoid::regclass, id FROM fact WHERE doc ->> 'name' = 'n1'$$),
	('native', $$SELECT id FROM fact WHERE doc ->> 'name' = 'n1' AND tableoid = 'plain'::regclass$$),
	('native', $$SELECT id FROM fact WHERE doc ->> 'name' = 'n1' AND xmin <> '0'$$),
	('native', $$SELECT max(tableoid::int) FROM fact WHERE doc ->> 'name' = 'n1'$$)
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
	('native', $$SELECT id FROM fact WHERE doc ->> 'name' = 'n1' ORDER BY tableoid, id$$)
) q (scans, query), pg_temp.both(query, scans, ordered => true) d;

-- ---- which queries must not be served, and what hides in subqueries
SELECT d AS difference FROM (VALUES
	('native', $$SELECT id FROM fact TABLESAMPLE system (100) WHERE doc ->> 'name' = 'n1'$$),
	(NULL, $$SELECT id FROM ONLY fact WHERE doc ->> 'name' = 'n1'$$),
	('native', $$SELECT id FROM part_b WHERE doc ->> 'name' = 'n1'$$),
	('native', $$SELECT id FROM part_b1 WHERE doc ->> 'name' = 'n1'$$),
	('native', $$SELECT id FROM fact WHERE doc ->> 'name' = 'n1' FOR UPDATE$$),
	('native', $$SELECT id FROM fact WHERE doc ->> 'name' = 'n1' FOR KEY SHARE SKIP LOCKED$$),
	('native', $$SELECT id FROM (SELECT id FROM fact WHERE doc ->> 'name' = 'n1' OFFSET 0) s FOR UPDATE$$),
	('native', $$SELECT id, n FROM fact, other WHERE doc ->> 'name' = 'n1' AND n = 1 FOR UPDATE OF other$$),
	('only fact_doc', $$SELECT n FROM other, (SELECT doc ->> 'town' AS town FROM fact WHERE doc ->> 'name' = 'n1' ORDER BY id LIMIT 3) s WHERE s.town = other.town FOR UPDATE OF other$$)
) q (scans, query), pg_temp.both(query, scans) d;

-- ---- conditions that do not depend on rows, and subqueries
SELECT d AS difference FROM (VALUES
	('native', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND 1 = 0$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND now() > '2000-01-01'$$),
	('only fact_t1', $$SELECT id, doc ->> 'town' || 'x' FROM fact WHERE doc ->> 'town' = 't1' AND now() > '2000-01-01'$$),
	('fact_t1', $$SELECT upper(doc ->> 'name'), sum((doc ->> 'age')::int) FROM fact WHERE doc ->> 'town' = 't1' AND now() < '2000-01-01' GROUP BY 1$$),
	('only fact_t1', $$SELECT sum((doc ->> 'age')::int) FROM fact WHERE doc ->> 'town' = 't1' AND now() < '2000-01-01'$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND random() > 2$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't' || (random() * 0 + 1)::int$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = (SELECT 't1')$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = (SELECT town FROM other WHERE n = 1)$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = (SELECT town FROM other WHERE n = -1)$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = ANY (ARRAY(SELECT town FROM other))$$),
	('fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' IN (SELECT town FROM other)$$),
	('native', $$SELECT id FROM fact WHERE doc ->> 'town' NOT IN (SELECT town FROM other)$$),
	('only fact_t1', $$SELECT id FROM fact f WHERE doc ->> 'town' = 't1' AND EXISTS (SELECT FROM other WHERE x = id)$$),
	('only fact_t1', $$SELECT id FROM fact f WHERE doc ->> 'town' = 't1' AND NOT EXISTS (SELECT FROM other WHERE x = id)$$),
	('native', $$SELECT id FROM fact f WHERE doc ->> 'town' = 't1' AND (id < 3 OR EXISTS (SELECT FROM other WHERE x = id))$$),
	('only fact_doc', $$SELECT id, (SELECT count(*) FROM other WHERE town = doc ->> 'town') FROM fact WHERE doc ->> 'name' = 'n1'$$),
	('only fact_t1', $$SELECT n, (SELECT count(*) FROM fact WHERE other.town = doc ->> 'town') FROM other$$),
	('fact_t1', $$SELECT n, (SELECT string_agg(note || id, ',' ORDER BY id) FROM fact WHERE other.town = doc ->> 'town') FROM other$$),
	('only fact_town', $$SELECT n, ARRAY(SELECT id FROM fact WHERE other.town = doc ->> 'town' AND doc ->> 'name' > 'n1' ORDER BY doc ->> 'name', id LIMIT 2) FROM other$$),
	('fact_t1', $$SELECT n FROM other WHERE EXISTS (SELECT FROM fact WHERE other.town = doc ->> 'town')$$),
	('fact_t1', $$SELECT n FROM other WHERE NOT EXISTS (SELECT FROM fact WHERE other.town = doc ->> 'town')$$),
	('fact_t1', $$SELECT n FROM other WHERE town IN (SELECT doc ->> 'town' FROM fact)$$),
	('only fact_t1', $$SELECT n FROM other WHERE town NOT IN (SELECT doc ->> 'town' FROM fact WHERE doc ->> 'town' IS NOT NULL)$$),
	(NULL, $$SELECT n FROM other WHERE age = ANY (SELECT (doc ->> 'age')::int FROM fact WHERE doc ->> 'name' = 'n1')$$),
	('fact_desc', $$SELECT n FROM other WHERE (town, age) IN (SELECT doc ->> 'town', (doc ->> 'age')::int FROM fact)$$)
) q (scans, query), pg_temp.both(query, scans) d;

-- ---- joins
SELECT d AS difference FROM (VALUES
	('fact_t1', $$SELECT n, id FROM other JOIN fact ON doc ->> 'town' = town$$),
	('fact_town', $$SELECT n, id, note FROM other JOIN fact ON doc ->> 'town' = town AND doc ->> 'name' = 'n1'$$),
	('fact_t1', $$SELECT n, id, doc ->> 'name' FROM other LEFT JOIN fact ON doc ->> 'town' = town$$),
	('fact_desc', $$SELECT n, id FROM other LEFT JOIN fact ON doc ->> 'town' = town AND (doc ->> 'age')::int = age$$),
	('fact_t1', $$SELECT n, id FROM other LEFT JOIN fact ON doc ->> 'town' = town WHERE id IS NULL$$),
	('fact_t1', $$SELECT n, id FROM other LEFT JOIN fact ON doc ->> 'town' = town WHERE doc ->> 'name' IS NULL$$),
	('fact_town', $$SELECT n, id FROM other LEFT JOIN fact ON doc ->> 'town' = town WHERE doc ->> 'name' = 'n1'$$),
	('only fact_t1', $$SELECT n, id FROM other LEFT JOIN fact ON doc ->> 'town' = 't1' AND n < 3$$),
	('fact_t1', $$SELECT n, id FROM fact LEFT JOIN other ON doc ->> 'town' = town WHERE doc ->> 'town' = 't1'$$),
	('native', $$SELECT n, id FROM fact LEFT JOIN other ON doc ->> 'town' = town AND doc ->> 'name' = 'n1'$$),
	('fact_town', $$SELECT n, id FROM fact RIGHT JOIN other ON doc ->> 'town' = town AND doc ->> 'name' = 'n1' WHERE n < 5$$),
	('native', $$SELECT n, id FROM fact FULL JOIN other ON doc ->> 'town' = town$$),
	('only fact_doc', $$SELECT n, id FROM (SELECT * FROM fact WHERE doc ->> 'name' = 'n1') f FULL JOIN other ON doc ->> 'town' = town$$),
	('only fact_doc', $$SELECT n, id FROM fact FULL JOIN other ON doc ->> 'town' = town WHERE doc ->> 'name' = 'n1'$$),
	('native', $$SELECT n, id FROM fact FULL JOIN other ON doc ->> 'town' = town AND doc ->> 'name' = 'n1' WHERE coalesce(n, 1) = 1$$),
	('only fact_doc, fact_t1', $$SELECT a.id, b.id FROM fact a JOIN fact b ON a.doc ->> 'town' = b.doc ->> 'town' WHERE a.doc ->> 'name' = 'n1'$$),
	(NULL, $$SELECT a.id, b.id FROM fact a JOIN fact b USING (id) WHERE a.doc ->> 'name' = 'n1' AND b.doc ->> 'town' = 't1'$$),
	('only fact_doc, only fact_doc', $$SELECT a.id, b.id FROM fact a LEFT JOIN fact b ON b.doc ->> 'name' = a.doc ->> 'town' WHERE a.doc ->> 'name' = 'n1'$$),
	('only fact_doc, fact_t1', $$SELECT a.id FROM fact a WHERE a.doc ->> 'name' = 'n1' AND NOT EXISTS (SELECT FROM fact b WHERE b.doc ->> 'town' = a.doc ->> 'town' AND b.id < a.id)$$),
	('fact_t1', $$SELECT n, s.* FROM other, LATERAL (SELECT id, note FROM fact WHERE doc ->> 'town' = town ORDER BY id LIMIT 2) s$$),
	('fact_t1', $$SELECT n, s.* FROM other LEFT JOIN LATERAL (SELECT id, x + id AS y FROM fact WHERE doc ->> 'town' = town) s ON s.y > 4$$),
	('native', $$SELECT n, s.* FROM other LEFT JOIN LATERAL (SELECT id, coalesce(x, id) AS y FROM fact WHERE doc ->> 'town' = 't1') s ON n < 4$$),
	(NULL, $$SELECT s.y, count(*) FROM other, LATERAL (SELECT other.x + id AS y FROM fact WHERE doc ->> 'town' = 't1') s GROUP BY GROUPING SETS ((y), ())$$),
	(NULL, $$SELECT s.y, count(*) FROM other, LATERAL (SELECT other.x AS y FROM fact WHERE doc ->> 'town' = 't1') s GROUP BY GROUPING SETS ((y), ())$$),
	(NULL, $$SELECT n, s.town, s.id FROM other LEFT JOIN (SELECT doc ->> 'town' AS town, coalesce(doc ->> 'name', 'none') AS name, id FROM fact WHERE doc ->> 'town' = 't1') s ON s.town = other.town WHERE s.name = 'n1'$$),
	('fact_t1', $$SELECT n, s.town, s.id FROM other LEFT JOIN (SELECT doc ->> 'town' AS town, coalesce(doc ->> 'name', 'none') AS name, id FROM fact WHERE doc ->> 'town' = 't1') s ON s.town = other.town AND s.name = 'n1'$$),
	('fact_t1', $$SELECT n, s.name, s.id FROM other LEFT JOIN (SELECT doc ->> 'town' AS town, coalesce(doc ->> 'name', 'none') AS name, id FROM fact WHERE doc ->> 'town' = 't1') s ON s.town = other.town$$),
	('native', $$SELECT f.id, s.r, s.m FROM fact f, LATERAL (SELECT f.tableoid::regclass::text AS r, max(g) AS m FROM generate_series(1, 2) g) s WHERE f.doc ->> 'town' = 't1'$$),
	('native', $$SELECT f.id, g FROM fact f, generate_series(1, length(f.tableoid::text)) g WHERE f.doc ->> 'town' = 't1'$$),
	('fact_t1', $$SELECT f.id, g FROM fact f, generate_series(1, (f.doc ->> 'age')::int) g WHERE f.doc ->> 'town' = 't1' AND f.doc ->> 'age' <> ''$$),
	('native', $$SELECT f.id, v FROM fact f, LATERAL (VALUES (f.tableoid::regclass::text), (f.doc ->> 'name')) v WHERE f.doc ->> 'town' = 't1'$$),
	('native', $$SELECT f.id, (SELECT f.tableoid::regclass) FROM fact f WHERE f.doc ->> 'town' = 't1'$$),
	('fact_t1', $$SELECT f.id, t FROM fact f, jsonb_array_elements_text(f.doc -> 'tags') t WHERE f.doc ->> 'town' = 't1' AND jsonb_typeof(f.doc -> 'tags') = 'array'$$),
	('only fact_doc, only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' UNION ALL SELECT id FROM fact WHERE doc ->> 'name' = 'n1'$$),
	('only fact_doc, only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' INTERSECT SELECT id FROM fact WHERE doc ->> 'name' = 'n1'$$),
	('only fact_doc, only fact_t1', $$SELECT id, doc ->> 'name' FROM fact WHERE doc ->> 'town' = 't1' EXCEPT SELECT id, doc ->> 'name' FROM fact WHERE doc ->> 'name' = 'n1'$$),
	('native', $$SELECT * FROM (SELECT id, doc ->> 'name' AS k FROM fact UNION ALL SELECT n, town FROM other) u WHERE k = 'n1'$$),
	('only fact_t1', $$WITH w AS (SELECT id, doc ->> 'name' AS name FROM fact WHERE doc ->> 'town' = 't1') SELECT * FROM w a JOIN w b USING (id)$$),
	('only fact_t1', $$WITH w AS MATERIALIZED (SELECT id, doc ->> 'name' AS name FROM fact WHERE doc ->> 'town' = 't1') SELECT * FROM w WHERE name = 'n1'$$),
	('only fact_doc, only fact_town', $$WITH RECURSIVE r (id, depth) AS (SELECT id, 1 FROM fact WHERE doc ->> 'name' = 'n1' AND doc ->> 'town' = 't1' UNION ALL SELECT f.id, depth + 1 FROM r JOIN fact f ON f.doc ->> 'name' = 'n' || r.depth WHERE depth < 3) SELECT * FROM r$$),
	('fact_t1', $$SELECT * FROM other o JOIN fact f ON f.id = o.x AND f.doc ->> 'town' = o.town$$),
	('fact_doc', $$SELECT * FROM other o JOIN fact f ON f.doc ->> 'name' = 'n1' AND f.id = o.x$$),
	('fact_age', $$SELECT o.n, p.n, f.id FROM other o CROSS JOIN other p JOIN fact f ON f.doc ->> 'town' = o.town AND (f.doc ->> 'age')::int = p.age$$),
	('only fact_doc', $$SELECT o.n, f.id FROM other o JOIN fact f ON f.doc ->> 'town' = o.town || '' AND f.doc ->> 'name' > 'n' || o.age$$),
	('fact_t1', $$SELECT o.n, f.id FROM other o JOIN fact f ON f.doc ->> 'town' = ANY (ARRAY[o.town, 't' || o.age])$$),
	('fact_town', $$SELECT o.n, f.id, f.note FROM other o LEFT JOIN fact f ON f.doc ->> 'town' = ANY (ARRAY[o.town, 't' || o.age]) AND f.doc ->> 'name' = 'n1'$$),
	(NULL, $$SELECT n, id FROM other JOIN fact ON n = (SELECT count(*) FROM sample WHERE sample.id <= fact.id) AND n = (doc ->> 'age')::int WHERE doc ->> 'town' = 't1'$$)
) q (scans, query), pg_temp.both(query, scans) d;

-- ---- joins, in their order
SELECT d AS difference FROM (VALUES
	('only fact_doc', $$SELECT s.x, f.id, f.name FROM (SELECT x FROM other) s LEFT JOIN (SELECT id, doc ->> 'name' AS name FROM fact WHERE doc ->> 'name' > '') f ON f.id = s.x ORDER BY f.name, f.id, s.x$$)
) q (scans, query), pg_temp.both(query, scans, ordered => true) d;

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

-- ---- rows may have changed since asynchronous entries were written, which come in order
CREATE TABLE late (id int PRIMARY KEY, doc jsonb, note text DEFAULT 'note');
INSERT INTO late SELECT i, jsonb_build_object('k', 'k' || i % 3) FROM generate_series(1, 12) i;
SELECT indextable.create('late_k', 'late', '{k}', maintenance => 'async');
UPDATE late SET doc = jsonb_build_object('k', 'k' || (id + 1) % 3) WHERE id < 9;
SET indextable.stale_reads = on;
SET enable_hashagg = off;
SELECT * FROM pg_temp.explain($$SELECT doc ->> 'k', count(note) FROM late WHERE doc ->> 'k' > '' GROUP BY 1$$);
SELECT doc ->> 'k', count(note) FROM late WHERE doc ->> 'k' > '' GROUP BY 1;
RESET enable_hashagg;
RESET indextable.stale_reads;

-- ---- no rows are fetched by a deferrable primary key
CREATE TABLE deferred (id int PRIMARY KEY DEFERRABLE, doc jsonb);
SELECT indextable.create('deferred_k', 'deferred', '{k}');
SELECT used, reason FROM indextable.explain($$SELECT doc FROM deferred WHERE doc ->> 'k' = 'k1'$$);
SELECT used FROM indextable.explain($$SELECT id FROM deferred WHERE doc ->> 'k' = 'k1'$$);

-- ---- plain columns of a partitioned table that is not expanded have their statistics
SELECT pg_temp.explain($$SELECT note FROM part WHERE doc ->> 'town' = 't1' AND note = 'note'$$, 'COSTS ON') ~ 'rows=1[0-9] ' AS estimated LIMIT 1;

-- ---- explain() asks for the rights that EXPLAIN asks for
CREATE ROLE regress_planner_queries;
GRANT USAGE ON SCHEMA planner_queries TO regress_planner_queries;
SET ROLE regress_planner_queries;
SELECT * FROM indextable.explain($$SELECT note FROM plain WHERE doc ->> 'town' = 't1'$$);
RESET ROLE;

DROP SCHEMA planner_queries CASCADE;
DROP ROLE regress_planner_queries;
