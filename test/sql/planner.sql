-- Which plain queries index tables serve, how EXPLAIN shows it, and that whoever reads a table in another way, or with other rights, reads
-- the same.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/planner.psql
CREATE SCHEMA planner;
SET search_path = planner;
\i :src/sql/include/planner_data.psql

-- ---- EXPLAIN
SET indextable.planner = force;
SELECT pg_temp.explain($$SELECT id, doc ->> 'name' FROM plain WHERE doc ->> 'town' = 't1'$$) AS scan;
SELECT pg_temp.explain($$SELECT id, note FROM plain WHERE doc ->> 'town' IN ('t1', 't3') AND doc ->> 'name' > 'n1' AND note <> '' ORDER BY doc ->> 'town' DESC, doc ->> 'name' DESC$$) AS scan;
SELECT pg_temp.explain($$SELECT id, note FROM part WHERE doc ->> 'town' IN ('t1', 't3')$$, 'VERBOSE, COSTS OFF') AS scan;
SELECT pg_temp.explain($$SELECT n, (SELECT count(*) FROM part WHERE doc ->> 'town' = other.town || '') FROM other$$) AS scan;
SELECT scan FROM pg_temp.explain($$SELECT count(*), max(note) FROM part WHERE doc ->> 'town' IN ('t1', 't3', NULL, 't1', 'none')$$, 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF') AS scan WHERE scan !~ 'Heap Fetches';
SET indextable.planner = fallback;
SELECT scan FROM pg_temp.explain($$SELECT count(*) FROM part WHERE doc ->> 'town' = 't1'$$, 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF') AS scan WHERE scan !~ 'Heap Fetches';
SET indextable.planner = force;
CREATE FUNCTION pg_temp.formats(query text) RETURNS TABLE (format text, has_node boolean) LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOREACH format IN ARRAY '{text,json,xml,yaml}'::text[] LOOP
		has_node := false;
		FOR line IN EXECUTE format('EXPLAIN (ANALYZE, VERBOSE, FORMAT %s) %s', format, query) LOOP has_node := has_node OR line ~ 'Index.Table.Only.*part_town'; END LOOP;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM pg_temp.formats($$SELECT id FROM part WHERE doc ->> 'town' = 't1'$$);
SET indextable.planner = off;

-- ---- cursors, COPY, and tables made of queries
CREATE FUNCTION pg_temp.through(query text, way text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE r record; c refcursor; result text[]; n int := 0;
BEGIN
	CASE way
	WHEN 'cursor' THEN
		OPEN c SCROLL FOR EXECUTE query;
		LOOP FETCH c INTO r; EXIT WHEN NOT FOUND; result := result || r::text; END LOOP;
		LOOP FETCH PRIOR FROM c INTO r; EXIT WHEN NOT FOUND; result := result || r::text; END LOOP;
	WHEN 'table' THEN
		EXECUTE 'CREATE TEMP TABLE made AS ' || query;
		SELECT array_agg(m::text ORDER BY m::text) FROM made m INTO result;
		DROP TABLE made;
	WHEN 'matview' THEN
		EXECUTE 'CREATE MATERIALIZED VIEW made AS ' || query;
		REFRESH MATERIALIZED VIEW made;
		SELECT array_agg(m::text ORDER BY m::text) FROM made m INTO result;
		DROP MATERIALIZED VIEW made;
	WHEN 'view' THEN
		EXECUTE 'CREATE VIEW made AS ' || query;
		SELECT array_agg(m::text ORDER BY m::text) FROM made m INTO result;
		DROP VIEW made;
	WHEN 'function' THEN
		EXECUTE format('CREATE FUNCTION made() RETURNS SETOF record LANGUAGE sql STABLE AS %L', query);
		SELECT array_agg(m::text ORDER BY m::text) FROM made() AS m (id int, x text) INTO result;
		DROP FUNCTION made();
	WHEN 'volatile function' THEN
		EXECUTE format('CREATE FUNCTION made() RETURNS SETOF record LANGUAGE sql VOLATILE SECURITY DEFINER AS %L', query);
		SELECT array_agg(m::text ORDER BY m::text) FROM made() AS m (id int, x text) INTO result;
		DROP FUNCTION made();
	END CASE;
	RETURN result;
END $$;
CREATE FUNCTION pg_temp.answers(planner text, query text, way text) RETURNS text[] LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('indextable.planner', planner, true);
	RETURN pg_temp.through(query, way);
END $$;
SELECT way, fact FROM unnest('{cursor,table,matview,view,function,volatile function}'::text[]) way, unnest('{plain,part}'::text[]) fact, unnest('{doc ->> ''name'',note}'::text[]) x,
	format('SELECT id, %s AS x FROM %s WHERE doc ->> ''town'' = ''t1'' ORDER BY id', x, fact) query
	WHERE pg_temp.answers('off', query, way) IS DISTINCT FROM pg_temp.answers('force', query, way) OR pg_temp.answers('off', query, way) IS DISTINCT FROM pg_temp.answers('fallback', query, way)
		OR pg_temp.answers('off', query, way) IS NULL;
SET indextable.planner = force;
COPY (SELECT id, doc ->> 'name', note FROM plain WHERE doc ->> 'town' = 't1' AND id < 20 ORDER BY id) TO STDOUT;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, note FROM plain WHERE doc ->> 'town' = 't1' AND id < 20 ORDER BY id;
FETCH 2 FROM c;
FETCH PRIOR FROM c;
ROLLBACK;
BEGIN;
DECLARE c CURSOR WITH HOLD FOR SELECT id FROM plain WHERE doc ->> 'town' = 't1' AND id < 20 ORDER BY id;
COMMIT;
FETCH ALL FROM c;
CLOSE c;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM plain WHERE doc ->> 'town' = 't1';
MOVE 1 FROM c;
UPDATE plain SET note = 'current' WHERE CURRENT OF c RETURNING note;
ROLLBACK;
-- a portal that is no declared cursor
DO $$
DECLARE r record; name text;
BEGIN
	FOR r IN SELECT id FROM plain WHERE doc ->> 'town' = 't1' LOOP
		SELECT p.name INTO name FROM pg_cursors p WHERE p.name LIKE '<%';
		EXECUTE format('UPDATE plain SET note = %L WHERE CURRENT OF %I', 'current', name);
	END LOOP;
EXCEPTION WHEN invalid_cursor_state THEN RAISE WARNING '%', regexp_replace(SQLERRM, 'portal [0-9]+', 'portal');
END $$;
SELECT count(*) FROM plain WHERE note = 'current';
-- with ORDER BY, as far as natively: the first is sorted by no plan, and the last by all of them
CREATE TABLE positioned (id int PRIMARY KEY, note text, doc jsonb);
INSERT INTO positioned SELECT i, NULL, jsonb_build_object('k', 'k' || i % 300, 'pad', repeat('z', 500)) FROM generate_series(1, 10000) i;
SELECT indextable.create('positioned_k', 'positioned', '{k}') \gset
VACUUM ANALYZE positioned, positioned_k;
CREATE FUNCTION pg_temp.positioned(planner text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan text := '';
	line text;
	result text;
BEGIN
	PERFORM set_config('indextable.planner', planner, true);
	EXECUTE 'DECLARE positioned CURSOR FOR ' || query;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) DECLARE positioned CURSOR FOR ' || query LOOP plan := plan || line; END LOOP;
	EXECUTE 'MOVE 2 FROM positioned';
	EXECUTE 'UPDATE positioned SET note = ''current'' WHERE CURRENT OF positioned RETURNING id' INTO result;
	EXECUTE 'CLOSE positioned';
	RETURN result || CASE WHEN plan LIKE '%Index Table%' THEN ' by index table' ELSE '' END;
EXCEPTION WHEN invalid_cursor_state THEN
	RETURN SQLSTATE || CASE WHEN plan LIKE '%Index Table%' THEN ' by index table' ELSE '' END;
END $$;
SELECT condition, planner, pg_temp.positioned(planner, 'SELECT id, doc FROM positioned WHERE ' || condition) FROM
	unnest(ARRAY[$$doc ->> 'k' = 'k98' ORDER BY id$$, $$doc ->> 'k' >= 'k98' ORDER BY id$$, $$doc ->> 'k' IN ('k98', 'k99') ORDER BY id LIMIT 10$$,
		$$doc ->> 'k' > 'k98' ORDER BY doc ->> 'pad', id$$]) condition, unnest('{off,on,force}'::text[]) planner;
SET indextable.planner = off;

-- ---- collations
CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE COLLATION reordered (provider = icu, locale = 'en-u-kf-upper');
CREATE TABLE texts (id int PRIMARY KEY, doc jsonb, name text COLLATE folded, plain_name text COLLATE "C");
INSERT INTO texts SELECT i, jsonb_build_object('a', a), a, a FROM unnest('{a,A,b,B,ä,Ä,Z,z,a b,ab,"",ss,ß}'::text[]) WITH ORDINALITY t (a, i);
SELECT indextable.create('texts_c', 'texts', ARRAY['a COLLATE "C"']), indextable.create('texts_folded', 'texts', '{@name}'), indextable.create('texts_plain', 'texts', '{@plain_name}') \gset
SELECT d AS difference FROM (VALUES
	('only texts_c', false, $$SELECT id FROM texts WHERE doc ->> 'a' = 'a'$$), ('only texts_c', false, $$SELECT id FROM texts WHERE doc ->> 'a' = 'a' COLLATE reordered$$), ('only texts_c', false, $$SELECT id FROM texts WHERE doc ->> 'a' = 'a' COLLATE folded$$),
	(NULL, false, $$SELECT id FROM texts WHERE doc ->> 'a' > 'a'$$), (NULL, false, $$SELECT id FROM texts WHERE doc ->> 'a' COLLATE "C" > 'a'$$), (NULL, false, $$SELECT id FROM texts WHERE doc ->> 'a' COLLATE reordered > 'a'$$),
	(NULL, true, $$SELECT id FROM texts WHERE doc ->> 'a' IS NOT NULL ORDER BY doc ->> 'a' COLLATE reordered, id$$), (NULL, true, $$SELECT id FROM texts WHERE doc ->> 'a' IS NOT NULL ORDER BY doc ->> 'a' COLLATE "C", id$$), (NULL, true, $$SELECT id FROM texts WHERE doc ->> 'a' IS NOT NULL ORDER BY doc ->> 'a', id$$),
	('only texts_folded', false, $$SELECT id, name FROM texts WHERE name = 'A'$$), ('only texts_folded', false, $$SELECT id FROM texts WHERE name = 'A' COLLATE "C"$$), (NULL, true, $$SELECT id, name FROM texts WHERE name > '' ORDER BY name, id$$), (NULL, true, $$SELECT id FROM texts WHERE name COLLATE "C" > 'A' ORDER BY name COLLATE "C"$$),
	(NULL, false, $$SELECT id FROM texts WHERE name IN ('a', 'A', 'SS')$$), (NULL, false, $$SELECT lower(min(name)), count(*) FROM texts WHERE name > '' GROUP BY name$$), (NULL, false, $$SELECT id FROM texts WHERE doc ->> 'a' = ANY ('{a,b}'::text[] COLLATE folded)$$),
	('only texts_plain', false, $$SELECT id FROM texts WHERE plain_name = 'a'$$), ('only texts_plain', false, $$SELECT id FROM texts WHERE plain_name = 'a' COLLATE folded$$), (NULL, false, $$SELECT id FROM texts WHERE plain_name > 'a' COLLATE reordered$$), (NULL, false, $$SELECT a.id, b.id FROM texts a JOIN texts b ON a.name = b.plain_name COLLATE folded$$),
	(NULL, false, $$SELECT DISTINCT name COLLATE "C" FROM texts WHERE name = 'a'$$)
) q (scans, ordered, query), pg_temp.differences(query, scans, ordered => ordered) d;

-- ---- tables of other kinds: with children, generated columns, deferrable keys, domains
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE TABLE parent (id int PRIMARY KEY, doc jsonb, twice int GENERATED ALWAYS AS (id * 2) STORED, p positive, gone int);
ALTER TABLE parent DROP COLUMN gone;
ALTER TABLE parent ADD COLUMN late int DEFAULT 5;
CREATE TABLE late_key (id int, doc jsonb, CONSTRAINT k PRIMARY KEY (id) DEFERRABLE);
INSERT INTO parent (id, doc, p) SELECT id, doc, 1 + id % 3 FROM sample;
INSERT INTO late_key SELECT id, doc FROM sample;
SELECT indextable.create('parent_t', 'parent', '{town}', include => '{@twice}'), indextable.create('parent_p', 'parent', '{@p, town}'), indextable.create('late_t', 'late_key', '{town}') \gset
SELECT d AS difference FROM (VALUES
	('only parent_t', $$SELECT id, twice FROM parent WHERE doc ->> 'town' = 't1'$$), ('parent_t', $$SELECT parent, late FROM parent WHERE doc ->> 'town' = 't1'$$), ('only parent_p', $$SELECT id FROM parent WHERE p = 2 AND doc ->> 'town' > 't1'$$), (NULL, $$SELECT id FROM parent WHERE p IN (2, 3, 7::bigint) AND doc ->> 'town' > 't1'$$),
	('only parent_t', $$SELECT id FROM ONLY parent WHERE doc ->> 'town' = 't1'$$), ('only late_t', $$SELECT id FROM late_key WHERE doc ->> 'town' = 't1'$$), ('native', $$SELECT * FROM late_key WHERE doc ->> 'town' = 't1'$$)
) q (scans, query), pg_temp.differences(query, scans) d;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO late_key VALUES (1, '{"town": "t1", "name": "second"}'), (1, '{"town": "t2", "name": "third"}');
SELECT d AS difference FROM (VALUES ($$SELECT id FROM late_key WHERE doc ->> 'town' = 't1'$$), ($$SELECT * FROM late_key WHERE doc ->> 'town' = 't1'$$), ($$SELECT * FROM late_key WHERE doc ->> 'town' IN ('t1', 't2')$$)) q (query), pg_temp.differences(query) d;
ROLLBACK;
-- a child that got in while no event trigger fired
SET session_replication_role = replica;
CREATE TABLE child (more text) INHERITS (parent);
INSERT INTO child (id, doc) VALUES (1, '{"town": "t1"}');
RESET session_replication_role;
SELECT d AS difference FROM (VALUES ('native', $$SELECT id FROM parent WHERE doc ->> 'town' = 't1'$$), ('only parent_t', $$SELECT id FROM ONLY parent WHERE doc ->> 'town' = 't1'$$), ('native', $$SELECT id FROM child WHERE doc ->> 'town' = 't1'$$)) q (scans, query), pg_temp.differences(query, scans) d;
DROP TABLE child;

-- ---- rights and row security
CREATE ROLE planner_reader;
CREATE ROLE planner_owner;
GRANT USAGE ON SCHEMA planner TO planner_reader, planner_owner;
GRANT SELECT ON part TO planner_reader;
GRANT SELECT (id, doc) ON plain TO planner_reader;
SET indextable.planner = force;
SET plan_cache_mode = force_generic_plan;
PREPARE of_plain AS SELECT count(*) FROM plain WHERE doc ->> 'town' = $1;
PREPARE of_part AS SELECT count(*), max(note) FROM part WHERE doc ->> 'town' = $1;
PREPARE of_note AS SELECT count(*), max(note) FROM plain WHERE doc ->> 'town' = $1;
EXECUTE of_plain ('t1');
EXECUTE of_part ('t1');
EXECUTE of_note ('t1');
SET ROLE planner_reader;
EXECUTE of_plain ('t1');
EXECUTE of_part ('t1');
EXECUTE of_note ('t1');
SELECT count(*) FROM plain_t1;
SELECT id FROM plain WHERE doc ->> 'town' = 't1' AND note = 'note';
SET indextable.planner = fallback;
SELECT count(*), max(length(doc::text)) > 0 FROM plain WHERE doc ->> 'town' = 't1';
SELECT count(*), max(note) FROM part WHERE doc ->> 'town' = 't1';
SELECT count(*), max(note) FROM plain WHERE doc ->> 'town' = 't1';
SET indextable.planner = force;
RESET ROLE;
REVOKE SELECT (doc) ON plain FROM planner_reader;
SET ROLE planner_reader;
EXECUTE of_plain ('t1');
SELECT count(*) FROM plain WHERE doc ->> 'town' = 't1';
RESET ROLE;
GRANT SELECT (doc) ON plain TO planner_reader;
-- views: with the rights of their owner, with those of their reader, and with a barrier
CREATE VIEW owned AS SELECT id, doc ->> 'town' AS town, note FROM plain;
CREATE VIEW barrier WITH (security_barrier) AS SELECT id, doc ->> 'town' AS town, doc FROM plain WHERE id < 30;
CREATE VIEW invoked WITH (security_invoker) AS SELECT id, doc ->> 'town' AS town, note FROM plain;
GRANT SELECT ON owned, barrier, invoked TO planner_reader;
CREATE FUNCTION leak(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS $$ BEGIN IF $1 = 't3' THEN RAISE WARNING 'leaked'; END IF; RETURN true; END $$;
SELECT d AS difference FROM (VALUES ('plain_t1', $$SELECT * FROM owned WHERE town = 't1'$$), ('only plain_t1', $$SELECT id FROM barrier WHERE town = 't1' AND leak(town)$$), ('plain_t1', $$SELECT id, doc FROM barrier WHERE town = 't1'$$), ('plain_t1', $$SELECT * FROM invoked WHERE town = 't1'$$)) q (scans, query), pg_temp.differences(query, scans) d;
SET indextable.planner = force;
SET ROLE planner_reader;
SELECT count(*), max(note) FROM owned WHERE town = 't1';
SELECT count(*) FROM invoked WHERE town = 't1';
SELECT count(*), max(note) FROM invoked WHERE town = 't1';
RESET ROLE;
-- policies come and go under cached plans
CREATE FUNCTION uses_index_table(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE plan text;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan ~ 'Index Table';
END $$;
ALTER TABLE plain ENABLE ROW LEVEL SECURITY;
CREATE POLICY low ON plain FOR SELECT TO planner_reader USING (id < 10);
EXECUTE of_plain ('t1');
SELECT uses_index_table($$EXECUTE of_plain ('t1')$$);
SET ROLE planner_reader;
EXECUTE of_plain ('t1');
SELECT uses_index_table($$EXECUTE of_plain ('t1')$$), uses_index_table($$SELECT id FROM plain WHERE doc ->> 'town' = 't1' AND leak(doc ->> 'name')$$);
RESET ROLE;
EXECUTE of_plain ('t1');
SET ROLE planner_reader;
SET row_security = off;
EXECUTE of_plain ('t1');
RESET row_security;
RESET ROLE;
DROP POLICY low ON plain;
SET ROLE planner_reader;
EXECUTE of_plain ('t1');
RESET ROLE;
ALTER TABLE plain DISABLE ROW LEVEL SECURITY;
SET ROLE planner_reader;
EXECUTE of_plain ('t1');
RESET ROLE;
CREATE FUNCTION defined(text) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN RETURN (SELECT count(note) FROM plain WHERE doc ->> 'town' = $1); END $$;
SELECT defined('t1');
SET ROLE planner_reader;
SELECT defined('t1');
RESET ROLE;
SET indextable.planner = off;
RESET plan_cache_mode;
DEALLOCATE ALL;

-- ---- settings that have the server do all in another way
CREATE FUNCTION pg_temp.all_ways() RETURNS SETOF text LANGUAGE sql AS $all$
	SELECT d FROM (VALUES ($$SELECT id, doc ->> 'name' FROM fact WHERE doc ->> 'town' = 't1'$$), ($$SELECT count(*), max(note) FROM fact WHERE doc ->> 'town' = 't1'$$), ($$SELECT n, id FROM other JOIN fact ON doc ->> 'town' = town$$),
		($$SELECT n, (SELECT count(*) FROM fact WHERE doc ->> 'town' = town) FROM other$$), ($$SELECT doc ->> 'name', sum((doc ->> 'age')::int) FROM fact WHERE doc ->> 'town' > '' GROUP BY 1$$), ($$SELECT a.id, b.id FROM fact a LEFT JOIN fact b ON a.id = b.id AND b.doc ->> 'town' = 't1' WHERE a.doc ->> 'name' = 'n1'$$)) q (query), pg_temp.both(query) d
$all$;
SELECT set_config(CASE WHEN current_setting('server_version_num')::int < 160000 THEN 'force_parallel_mode' ELSE 'debug_parallel_query' END, 'on', false) AS parallel;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT pg_temp.all_ways() AS difference;
SELECT set_config(CASE WHEN current_setting('server_version_num')::int < 160000 THEN 'force_parallel_mode' ELSE 'debug_parallel_query' END, 'off', false) AS parallel;
SELECT pg_temp.all_ways() AS difference;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
SET jit = on;
SET jit_above_cost = 0;
SET jit_inline_above_cost = 0;
SELECT pg_temp.all_ways() AS difference;
SET jit = off;
SET enable_partitionwise_join = on;
SET enable_partitionwise_aggregate = on;
SELECT pg_temp.all_ways() AS difference;
SET enable_nestloop = off;
SELECT pg_temp.all_ways() AS difference;
SET enable_hashjoin = off;
SELECT pg_temp.all_ways() AS difference;
SET enable_sort = off;
SET enable_hashagg = off;
SET enable_memoize = off;
SELECT pg_temp.all_ways() AS difference;
SET work_mem = '64kB';
SET geqo_threshold = 2;
SELECT pg_temp.all_ways() AS difference;

DROP SCHEMA planner CASCADE;
DROP ROLE planner_reader, planner_owner;
