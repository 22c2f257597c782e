-- How often the planner chooses the slower plan: psql -f test/bench/choices.sql, on a throw-away server with the library loaded.
-- Prints the queries for which a plan without index tables and one with them differ by more than 1.5 times and the slower one was
-- chosen, and of how many.  -v sizes='{1000,10000,100000}' sets the numbers of rows, -v native=1 has native indexes beside.
--
-- The set: documents of about 60, 560 and 3,000 bytes (the latter out of line), under a primary key in the order of the rows and
-- one in random order; fields that are unique, of 1 % of the rows and spread, of 1 % and beside each other; conditions for
-- one value, three values and ranges of up to a third of the rows; queries that fetch rows, that read included fields, that
-- count, group, sort and have a second condition.
\set QUIET 1
\set ON_ERROR_STOP 1
\if :{?sizes} \else \set sizes '{1000,10000}' \endif
\if :{?native} \else \set native 0 \endif
SET client_min_messages = warning;
SET jit = off;
SET max_parallel_workers_per_gather = 0;
CREATE EXTENSION IF NOT EXISTS indextable;
LOAD 'indextable';
DROP SCHEMA IF EXISTS bench CASCADE;
CREATE SCHEMA bench;
SET search_path = bench, public;

-- least_ms: the least of a few executions
CREATE FUNCTION least_ms(query text, planner text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	result float8;
BEGIN
	PERFORM set_config('indextable.planner', planner, true);
	FOR i IN 1 .. 5 LOOP
		EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
		result := least(result, (plan -> 0 ->> 'Execution Time')::float8);
	END LOOP;
	RETURN result;
END $$;

CREATE FUNCTION is_served(query text, planner text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	PERFORM set_config('indextable.planner', planner, true);
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan::text LIKE '%"IndexTable"%';
END $$;

CREATE TABLE choice (rows int, bytes int, primary_key text, query text, without float8, "with" float8, served boolean);

CREATE PROCEDURE measure(rows int, bytes int, primary_key text, native boolean) LANGUAGE plpgsql AS $$
DECLARE
	conditions text[] := ARRAY[
		$c$doc ->> 'one' = 'u5'$c$, $c$doc ->> 'hundred' = 'h3'$c$, $c$doc ->> 'spread' = 't3'$c$, $c$doc ->> 'beside' = 'c3'$c$,
		$c$doc ->> 'spread' >= 't3' AND doc ->> 'spread' < 't4'$c$, $c$doc ->> 'spread' >= 't3' AND doc ->> 'spread' < 't6'$c$,
		$c$doc ->> 'spread' IN ('t1', 't2', 't3')$c$, $c$doc ->> 'beside' IN ('c1', 'c2', 'c3')$c$,
		$c$doc ->> 'beside' >= 'c5' AND doc ->> 'beside' < 'c6'$c$];
	field text;
BEGIN
	DROP TABLE IF EXISTS fact CASCADE;
	EXECUTE format('CREATE TABLE fact (id %s PRIMARY KEY, doc jsonb NOT NULL)', CASE primary_key WHEN 'ordered' THEN 'int' ELSE 'uuid' END);
	EXECUTE format('INSERT INTO fact SELECT %s, jsonb_build_object(''one'', ''u'' || i * 7919 %% $1, ''hundred'', ''h'' || i * 7919 %% greatest($1 / 100, 1),
		''spread'', ''t'' || i * 7919 %% 100, ''beside'', ''c'' || i / greatest($1 / 100, 1), ''number'', i %% 1000,
		''pad'', (SELECT string_agg(md5((i * j)::text), '''') FROM generate_series(1, $2 / 32) j)) FROM generate_series(1, $1::bigint) i',
		CASE primary_key WHEN 'ordered' THEN 'i' ELSE 'md5(i::text)::uuid' END) USING rows, bytes;
	FOREACH field IN ARRAY '{one,hundred,spread,beside}'::text[] LOOP
		PERFORM indextable.create('by_' || field, 'fact', ARRAY[field], include => '{number::int}');
		IF native THEN EXECUTE format('CREATE INDEX ON fact ((doc ->> %L))', field); END IF;
	END LOOP;
	COMMIT;
	ANALYZE;
	INSERT INTO choice SELECT measure.rows, measure.bytes, measure.primary_key, query, least_ms(query, 'off'), least_ms(query, 'force'), is_served(query, 'on')
		FROM (SELECT format(form, condition) AS query FROM unnest(conditions) AS condition,
				unnest('{SELECT * FROM fact WHERE %s,SELECT (doc ->> ''number'')::int FROM fact WHERE %s,SELECT count(*) FROM fact WHERE %s}'::text[]) AS form
			UNION ALL VALUES
				($q$SELECT doc ->> 'spread', count(*) FROM fact WHERE doc ->> 'spread' IS NOT NULL GROUP BY 1$q$),
				($q$SELECT doc ->> 'spread', max((doc ->> 'number')::int) FROM fact WHERE doc ->> 'spread' IS NOT NULL GROUP BY 1$q$),
				($q$SELECT * FROM fact WHERE doc ->> 'spread' IS NOT NULL ORDER BY doc ->> 'spread' LIMIT 20$q$),
				($q$SELECT * FROM fact WHERE doc ->> 'spread' > 't5' AND (doc ->> 'number')::int = 7$q$),
				($q$SELECT * FROM fact WHERE doc ->> 'spread' = 't3' AND (doc ->> 'number')::int > 990$q$)) AS q
		WHERE is_served(query, 'force');
	COMMIT;
END $$;

SELECT format('CALL measure(%s, %s, %L, %L)', rows, bytes, key, :'native' = '1')
FROM unnest(:'sizes'::int[]) AS rows, unnest('{0,500,3000}'::int[]) AS bytes, unnest('{ordered,random}'::text[]) AS key \gexec

SELECT rows, bytes, primary_key, round(without::numeric, 3) AS ms_without, round("with"::numeric, 3) AS ms_with,
	CASE WHEN served THEN 'with' ELSE 'without' END AS chosen, query
FROM choice WHERE CASE WHEN served THEN "with" > 1.5 * without ELSE without > 1.5 * "with" END;

SELECT count(*) FILTER (WHERE CASE WHEN served THEN "with" > 1.5 * without ELSE without > 1.5 * "with" END) AS wrong, count(*) AS queries FROM choice;
DROP SCHEMA bench CASCADE;
