-- What PostgreSQL has since 19: nothing is printed if all is right, and nothing without it.
\set QUIET on
SET client_min_messages = warning;
SET indextable.advice = off;
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
\set ECHO none
\set VERBOSITY terse
\pset tuples_only on
\pset format unaligned
SELECT current_setting('server_version_num')::int >= 190000 AS is_19 \gset
\if :is_19
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb NOT NULL, n int);
INSERT INTO fact SELECT i, jsonb_build_object('k', 'k' || i / 10, 'u', i), i FROM generate_series(1, 1000) i;
SELECT FROM indextable.create('fact_k', 'fact', '{k}', include => '{u, @ctid}', sparse => true);
SELECT FROM indextable.create('fact_u', 'fact', '{u::int}', is_unique => true);
SELECT FROM indextable.create('fact_p', 'fact', '{k}', partitions => 2);
SELECT FROM indextable.create('fact_a', 'fact', '{k}', maintenance => 'async');
CREATE FUNCTION pg_temp.wrong() RETURNS TABLE (index_table text, side text, entry text) LANGUAGE sql AS $$
	SELECT 'fact_k', o.* FROM pg_temp.oracle('(SELECT k, id, u FROM fact_k)', 'SELECT doc ->> ''k'', id, doc ->> ''u'' FROM fact') o
	UNION ALL SELECT 'fact_u', o.* FROM pg_temp.oracle('fact_u', 'SELECT (doc ->> ''u'')::int, id FROM fact WHERE doc ->> ''u'' IS NOT NULL') o
	UNION ALL SELECT 'fact_p', o.* FROM pg_temp.oracle('fact_p', 'SELECT doc ->> ''k'', id FROM fact') o
	UNION ALL SELECT 'fact_a', o.* FROM pg_temp.oracle('fact_a', 'SELECT doc ->> ''k'', id FROM fact') o
$$;

-- REPACK. Rows of fact tables go to other places. With CONCURRENTLY it needs a primary key, which only sparse index tables have.
DELETE FROM fact WHERE id % 3 = 0;
UPDATE fact SET doc = doc || '{"k": "moved"}' WHERE id % 10 = 0;
SELECT FROM indextable.drain('fact');
REPACK fact USING INDEX fact_pkey;
REPACK (CONCURRENTLY) fact;
REPACK (CONCURRENTLY) fact_k;
REPACK fact_p_p0;
REPACK fact_a;
REPACK fact_u;
REPACK fact_p;
SELECT * FROM pg_temp.wrong();
SELECT 'lookup', n FROM (SELECT count(*) AS n FROM indextable.lookup('fact_k', '{"k": "moved"}')) l WHERE n <> (SELECT count(*) FROM fact WHERE id % 10 = 0);

-- ON CONFLICT DO SELECT. A row that conflicts is not written.
CREATE TEMP TABLE selected (id int, k text);
WITH i AS (INSERT INTO fact VALUES (1, '{"k": "x"}'), (2001, '{"k": "x", "u": 2001}') ON CONFLICT (id) DO SELECT RETURNING id, doc ->> 'k') INSERT INTO selected TABLE i;
WITH i AS (INSERT INTO fact VALUES (1, '{"k": "x"}'), (2002, '{"k": "x", "u": 2002}') ON CONFLICT (id) DO SELECT FOR UPDATE WHERE fact.doc ->> 'k' = 'k0' RETURNING id, doc ->> 'k')
	INSERT INTO selected TABLE i;
SELECT 'selected', s FROM (SELECT string_agg(id || ' ' || k, ', ' ORDER BY id) AS s FROM selected) x WHERE s <> '1 k0, 1 k0, 2001 x, 2002 x';
UPDATE fact SET doc = doc || '{"k": "after"}' WHERE id = 1;
SELECT FROM indextable.drain('fact');
SELECT * FROM pg_temp.wrong();

-- Plan advice beside the planner's node: the plan is explained, and has the same rows.
LOAD 'pg_plan_advice';
SET indextable.planner = force;
CREATE FUNCTION pg_temp.explained(advice text, sql text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text = '';
	n bigint;
BEGIN
	PERFORM set_config('pg_plan_advice.advice', advice, false);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF, PLAN_ADVICE) ' || sql LOOP
		plan := plan || line || E'\n';
	END LOOP;
	IF plan NOT LIKE '%Custom Scan (IndexTable)%' OR plan NOT LIKE '%Generated Plan Advice%' THEN
		RETURN NEXT plan;
	END IF;
	EXECUTE sql INTO n;
	PERFORM set_config('indextable.planner', 'off', true);
	EXECUTE 'SELECT ''rows'' WHERE (' || sql || ') IS DISTINCT FROM ' || n INTO line;
	PERFORM set_config('indextable.planner', 'force', true);
	IF line IS NOT NULL THEN
		RETURN NEXT sql;
	END IF;
END $$;
SELECT e.* FROM (VALUES (''), ('SEQ_SCAN(f)'), ('INDEX_SCAN(f fact_pkey)'), ('INDEX_ONLY_SCAN(f fact_k_pkey)'), ('NESTED_LOOP_PLAIN(f)')) a (advice),
	(VALUES ('SELECT count(n) FROM fact f WHERE doc ->> ''k'' = ''moved'''), ('SELECT count(doc ->> ''u'') FROM fact f WHERE doc ->> ''k'' = ''moved'''),
		('SELECT count(g.n) FROM fact f JOIN fact g ON g.id = f.n WHERE f.doc ->> ''k'' = ''moved''')) q (sql), pg_temp.explained(advice, sql) e;
RESET indextable.planner;
DROP TABLE fact, selected;
SELECT * FROM pg_temp.leftovers();
\endif
