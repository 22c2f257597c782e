-- Parallel workers read entries: the answers are those of native plans, also where entries cannot answer, whoever takes part.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/planner.psql
CREATE SCHEMA planner_parallel;
SET search_path = planner_parallel;
SET indextable.advice = off;
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET max_parallel_workers_per_gather = 2;

CREATE TABLE q (id int PRIMARY KEY, doc jsonb);
CREATE TABLE part (id int PRIMARY KEY, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (2000);
CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (2000) TO (9000);
CREATE TABLE dim (town text, name text);
INSERT INTO dim SELECT 't' || i, 'town ' || i FROM generate_series(0, 30) i;
CREATE FUNCTION rows(n int, first int DEFAULT 1) RETURNS TABLE (id int, doc jsonb) LANGUAGE sql AS $$
	SELECT i, jsonb_build_object('town', 't' || i % 37, 'n', i % 500, 'v', i) FROM generate_series(first, first + n - 1) i
$$;
INSERT INTO q SELECT * FROM rows(4000);
INSERT INTO part SELECT * FROM rows(4000);
SELECT count(indextable.create(fact || '_town', fact::regclass, '{town, n::int}', include => '{v::numeric}', on_mismatch => CASE fact WHEN 'q' THEN 'skip' END)) FROM unnest('{q, part}'::text[]) fact \gset
VACUUM ANALYZE q, q_town, part, part_town;

-- look(): the answer natively, and with index tables; how a plan with parallel workers came to it
CREATE FUNCTION pg_temp.plan(query text, OUT plan jsonb) LANGUAGE plpgsql AS $$ BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT json) ' || query INTO plan;
END $$;
CREATE FUNCTION pg_temp.look(query text, planner text DEFAULT 'force') RETURNS text LANGUAGE plpgsql AS $$
DECLARE native text[]; ours text[]; plan jsonb; scan jsonb; wrapped text := format('SELECT array_agg(x::text ORDER BY x::text) FROM (%s) x', query);
BEGIN
	PERFORM set_config('indextable.planner', 'off', true);
	EXECUTE wrapped INTO native;
	PERFORM set_config('indextable.planner', planner, true);
	EXECUTE wrapped INTO ours;
	plan := pg_temp.plan(query);
	PERFORM set_config('indextable.planner', 'off', true);
	scan := jsonb_path_query_first(plan, 'strict $.** ? (@."Custom Plan Provider" == "IndexTable")', silent => true);
	RETURN concat_ws(', ', CASE WHEN scan IS NULL THEN 'native' WHEN (scan ->> 'Parallel Aware')::boolean THEN 'parallel' ELSE 'serial' END,
		scan ->> 'Fallback', 'workers ' || NULLIF((jsonb_path_query_first(plan, 'strict $.**."Workers Launched"', silent => true))::int > 0, true),
		CASE WHEN native IS DISTINCT FROM ours THEN 'DIFFERENT: ' || array_length(native, 1) || ' and ' || array_length(ours, 1) || ' rows' END);
END $$;
CREATE TABLE queries (n int PRIMARY KEY, query text);
INSERT INTO queries VALUES
	(1, 'SELECT doc ->> ''town'' AS t, count(*) FROM q GROUP BY 1'),
	(2, 'SELECT doc ->> ''town'' AS t, sum((doc ->> ''v'')::numeric), max((doc ->> ''n'')::int) FROM q GROUP BY 1 HAVING count(*) > 3'),
	(3, 'SELECT sum((doc ->> ''v'')::numeric) FROM q WHERE doc ->> ''town'' >= ''t2'' AND doc ->> ''town'' < ''t5'''),
	(4, 'SELECT id, doc ->> ''town'' AS t, (doc ->> ''n'')::int AS n FROM q WHERE doc ->> ''town'' > ''t3'' AND (doc ->> ''n'')::int % 2 = 0'),
	(5, 'SELECT doc ->> ''town'' AS t, count(*), sum((doc ->> ''v'')::numeric) FROM part WHERE doc ->> ''town'' IS NOT NULL AND (doc ->> ''n'')::int IS NOT NULL GROUP BY 1'),
	(6, 'SELECT doc ->> ''n'' AS n, count(*), avg((doc ->> ''v'')::numeric) FROM q GROUP BY 1'),
	(7, 'SELECT count(*) FROM q WHERE doc ->> ''town'' = (SELECT max(town) FROM dim WHERE town < ''t3'')'),
	(8, 'SELECT id, (doc ->> ''v'')::numeric AS v FROM q WHERE doc ->> ''town'' IN (''t5'', ''t2'', NULL, ''none'', ''t2'') AND (doc ->> ''n'')::int > 100');
SELECT n, pg_temp.look(query) FROM queries ORDER BY n;
SET parallel_leader_participation = off;
SELECT n, pg_temp.look(query) FROM queries ORDER BY n;
RESET parallel_leader_participation;

-- in both orders
SET indextable.planner = force;
EXPLAIN (COSTS OFF) SELECT doc ->> 'town', (doc ->> 'n')::int FROM q ORDER BY 1 DESC, 2 DESC;
SELECT count(*) FILTER (WHERE t < before) FROM (SELECT t, lag(t) OVER () AS before FROM (SELECT doc ->> 'town' AS t FROM q WHERE doc ->> 'town' > 't1' ORDER BY 1, (doc ->> 'n')::int OFFSET 0) s) x;
SELECT pg_temp.look('SELECT doc ->> ''town'' AS t, (doc ->> ''n'')::int AS n FROM q ORDER BY 1 DESC, 2 DESC LIMIT 500');

-- What workers have read is counted, and what they cannot do is not given to them.
SET enable_hashagg = off;
SELECT scan FROM pg_temp.explain('SELECT doc ->> ''town'', count(*) FROM q GROUP BY 1', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF') scan WHERE scan !~ 'Heap';
RESET enable_hashagg;
CREATE FUNCTION unsafe(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL UNSAFE AS $$ SELECT $1 || current_user || random() * 0 $$;
SELECT pg_temp.look('SELECT count(*) FROM q WHERE unsafe(doc ->> ''town'') > ''t2''');
SELECT pg_temp.look('SELECT id, doc FROM q WHERE doc ->> ''town'' = ''t2''');
SELECT pg_temp.look('SELECT doc ->> ''town'' AS t, count(DISTINCT (doc ->> ''n'')::int), string_agg(doc ->> ''n'', '','' ORDER BY (doc ->> ''v'')::numeric) FROM q GROUP BY 1');
SET indextable.planner = force;
EXPLAIN (VERBOSE, COSTS OFF) SELECT doc ->> 'town', count(DISTINCT (doc ->> 'n')::int) FROM q GROUP BY 1;
-- There is nothing to merge by where a condition leaves one group; the planner considers workers, too.
SELECT doc ->> 'town', sum((doc ->> 'v')::numeric) FROM q WHERE doc ->> 'town' = 't2' GROUP BY 1;

-- Scanned again and again, and left early
SET indextable.planner = force;
SET enable_material = off;
SET enable_memoize = off;
SELECT sum(c), count(*) FROM dim d CROSS JOIN LATERAL (SELECT count(*) AS c FROM q WHERE doc ->> 'town' > 't2' AND d.name <> '') x WHERE d.town < 't12';
SELECT pg_temp.look('SELECT d.town, x.n FROM dim d LEFT JOIN (SELECT (doc ->> ''n'')::int AS n, count(*) FROM q WHERE doc ->> ''town'' > ''t30'' GROUP BY 1) x ON x.n <= length(d.name) WHERE d.town < ''t12''');
SELECT pg_temp.look('SELECT d.town, (SELECT count(*) FROM (SELECT doc ->> ''town'' FROM q WHERE doc ->> ''town'' > ''t30'' LIMIT 50) x) FROM dim d');
SELECT pg_temp.look('SELECT d.town, n FROM dim d, LATERAL (SELECT (doc ->> ''n'')::int AS n FROM q WHERE doc ->> ''town'' >= ''t36'' ORDER BY doc ->> ''town'', 1 LIMIT 3) x WHERE n < length(d.town) OR n > 0');
-- values of several lengths
SELECT length(v) AS length, c FROM unnest(ARRAY['u', repeat('t', 60), 't36', repeat('t', 30), 't3']) v, LATERAL (SELECT count(*) AS c FROM (SELECT id FROM q WHERE doc ->> 'town' >= (SELECT v) ORDER BY 1 LIMIT 2000) s) x;
RESET enable_material;
RESET enable_memoize;

-- ---- entries cannot answer: the leader alone reads rows
SELECT n, pg_temp.look(query, 'fallback') FROM queries ORDER BY n;
SET parallel_leader_participation = off;
SELECT n, pg_temp.look(query, 'fallback') FROM queries WHERE n IN (1, 2, 5) ORDER BY n;
RESET parallel_leader_participation;
-- within a statement that writes, in a trigger of the user
CREATE TABLE looks (place text, n int, look text);
CREATE FUNCTION look_inside() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO looks SELECT TG_NAME, n, pg_temp.look(query) FROM queries WHERE n IN (1, 2, 4);
	RETURN NULL;
END $$;
CREATE TRIGGER a_look AFTER INSERT ON q EXECUTE FUNCTION look_inside();
INSERT INTO q SELECT * FROM rows(10, 20000);
SELECT DISTINCT look FROM looks;
DROP TRIGGER a_look ON q;
-- own writes before
BEGIN ISOLATION LEVEL REPEATABLE READ;
UPDATE q SET doc = doc || '{"town": "t31"}' WHERE id < 300;
INSERT INTO part SELECT * FROM rows(500, 5000);
SAVEPOINT s;
DELETE FROM q WHERE id % 3 = 0;
SELECT n, pg_temp.look(query) FROM queries ORDER BY n;
ROLLBACK TO s;
SELECT n, pg_temp.look(query) FROM queries WHERE n < 3 ORDER BY n;
TRUNCATE part_1;
SELECT pg_temp.look(query) FROM queries WHERE n = 5;
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT n, pg_temp.look(query) FROM queries WHERE n IN (4, 5) ORDER BY n;
COMMIT;
-- ---- kept plans: values that change, and values that nothing can be searched for by
SET indextable.planner = force;
SET plan_cache_mode = force_generic_plan;
PREPARE p (text) AS SELECT count(*), sum((doc ->> 'v')::numeric) FROM q WHERE doc ->> 'town' > $1;

EXPLAIN (COSTS OFF) EXECUTE p ('');
EXECUTE p ('t20');
EXECUTE p ('t9');
EXECUTE p (NULL);
EXECUTE p (repeat('t', 2000));
PREPARE several (text[]) AS SELECT count(*), sum((doc ->> 'v')::numeric) FROM q WHERE doc ->> 'town' = ANY ($1);
EXECUTE several ('{t2,t3,t2}');
EXECUTE several ('{NULL}');
EXECUTE several ('{none}');
EXECUTE several (NULL);
DEALLOCATE p;
RESET plan_cache_mode;

-- ---- rights, row security, and whatever else the server makes parallel
SET indextable.planner = force;
CREATE ROLE planner_parallel_reader;
GRANT USAGE ON SCHEMA planner_parallel TO planner_parallel_reader;
GRANT SELECT ON q, part, queries, dim TO planner_parallel_reader;
SET ROLE planner_parallel_reader;
SELECT n, pg_temp.look(query) FROM queries WHERE n < 4 ORDER BY n;
RESET ROLE;
ALTER TABLE q ENABLE ROW LEVEL SECURITY;
CREATE POLICY theirs ON q TO planner_parallel_reader USING (doc ->> 'town' > 't25');
SET ROLE planner_parallel_reader;
SELECT n, pg_temp.look(query) FROM queries WHERE n < 4 ORDER BY n;
RESET ROLE;
ALTER TABLE q DISABLE ROW LEVEL SECURITY;
SELECT CASE WHEN current_setting('server_version_num')::int < 160000 THEN 'force_parallel_mode' ELSE 'debug_parallel_query' END AS setting \gset
SET :setting = on;
SELECT n, pg_temp.look(query) FROM queries ORDER BY n;
RESET :setting;
BEGIN;
SET LOCAL indextable.planner = force;
DECLARE c CURSOR FOR SELECT doc ->> 'town', count(*) FROM q GROUP BY 1 ORDER BY 1;
FETCH 2 FROM c;
MOVE ALL FROM c;
ROLLBACK;

-- ---- rows without entries
SET indextable.planner = force;
SET plan_cache_mode = force_generic_plan;
PREPARE kept AS SELECT count(*) FROM q WHERE doc ->> 'town' < 't2';
EXECUTE kept;
INSERT INTO q SELECT 30000, jsonb_build_object('town', 't1' || string_agg(md5(i::text), ''), 'v', 5) FROM generate_series(1, 1000) i;
EXECUTE kept;
SELECT scan FROM pg_temp.explain('EXECUTE kept', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF') scan;
SELECT n, pg_temp.look(query) FROM queries ORDER BY n;

SET client_min_messages = warning;
DROP SCHEMA planner_parallel CASCADE;
DROP ROLE planner_parallel_reader;
