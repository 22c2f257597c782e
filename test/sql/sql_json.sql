-- SQL/JSON functions, which PostgreSQL has since 17, in conditions: nothing is printed if all is right, and nothing without them.
\set QUIET on
SET client_min_messages = warning;
SET indextable.advice = off;
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/planner.psql
\set ECHO none
\pset tuples_only on
\pset format unaligned
SELECT current_setting('server_version_num')::int >= 170000 AS has_sql_json \gset
\if :has_sql_json
CREATE SCHEMA sql_json;
SET search_path = sql_json;
-- All rows have all fields, and no field is an array or an object.
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb NOT NULL, note text DEFAULT 'note');
INSERT INTO fact (id, doc) SELECT row_number() OVER (), jsonb_build_object('town', town, 'age', age, 'ok', ok, 'o', jsonb_build_object('p', town), 'tags', jsonb_build_array('x' || id % 3, town))
	FROM (SELECT row_number() OVER () AS id, t AS town FROM unnest(ARRAY['"x"', 'true', 'false', '"true"', '"t"', '"f"', '1', '"1"', '1.0', '1e2', '"100"']::jsonb[]) t) t,
		unnest(ARRAY['1', '"1"', '" 7 "', '30']::jsonb[]) age, unnest(ARRAY['true', 'false', 'false', '"no"', '0', '"f"', 'false', 'false', 'false', 'false']::jsonb[]) ok;
SELECT 'no index tables' FROM (SELECT count(indextable.create('fact_' || name, 'fact', key)) AS n FROM (VALUES ('town', '{town}'::text[]), ('age', '{age::int}'), ('ok', '{ok::boolean}'), ('p', '{o.p}'), ('tags', '{tags[*]}')) i (name, key)) made WHERE n <> 5;
ANALYZE fact;
SELECT d FROM (VALUES
	('fact_town', $$SELECT * FROM fact WHERE JSON_VALUE(doc, '$.town') = 'x'$$),
	('fact_town', $$SELECT * FROM fact WHERE JSON_VALUE(doc, '$.town') = 'true'$$),
	('fact_town', $$SELECT * FROM fact WHERE '1' = JSON_VALUE(doc, '$.town')$$),
	(NULL, $$SELECT * FROM fact WHERE JSON_VALUE(doc, '$.town') = 't'$$),
	(NULL, $$SELECT * FROM fact WHERE JSON_VALUE(doc, '$.town') > 'f'$$),
	(NULL, $$SELECT * FROM fact WHERE JSON_VALUE(doc, '$.town' DEFAULT 'x' ON EMPTY) = 'x'$$),
	(NULL, $$SELECT * FROM fact WHERE JSON_VALUE(doc, '$.none' DEFAULT 'x' ON ERROR) = 'x'$$),
	('fact_p', $$SELECT * FROM fact WHERE JSON_VALUE(doc, '$.o.p') = 'x'$$),
	('fact_p', $$SELECT * FROM fact WHERE JSON_VALUE(doc -> 'o', '$.p') = 'x'$$),
	('fact_age', $$SELECT * FROM fact WHERE JSON_VALUE(doc, '$.age' RETURNING int) = 7$$),
	('fact_age', $$SELECT * FROM fact WHERE JSON_VALUE(doc, '$.age' RETURNING int) IN (1, 30)$$),
	('fact_age', $$SELECT * FROM fact WHERE JSON_VALUE(doc, '$.age' RETURNING int ERROR ON ERROR) < 5$$),
	('fact_age', $$SELECT * FROM fact WHERE JSON_VALUE(doc, '$.age' RETURNING numeric) = 30$$),
	(NULL, $$SELECT * FROM fact WHERE JSON_VALUE(doc, '$.ok' RETURNING boolean)$$),
	(NULL, $$SELECT * FROM fact WHERE JSON_VALUE(doc, '$.ok' RETURNING boolean) = true$$),
	(NULL, $$SELECT * FROM fact WHERE JSON_VALUE(doc, '$.ok' RETURNING boolean) = false AND id % 9 = 0$$),
	(NULL, $$SELECT * FROM fact WHERE NOT JSON_VALUE(doc, '$.ok' RETURNING boolean)$$),
	(NULL, $$SELECT * FROM fact WHERE JSON_VALUE(doc, '$.ok' RETURNING boolean) IS TRUE$$),
	('fact_town', $$SELECT * FROM fact WHERE JSON_QUERY(doc, '$.town') = '"x"'$$),
	('fact_town', $$SELECT * FROM fact WHERE JSON_QUERY(doc, '$.town') = 'true'$$),
	(NULL, $$SELECT * FROM fact WHERE JSON_QUERY(doc, '$.town' WITH WRAPPER) = '["x"]'$$),
	(NULL, $$SELECT * FROM fact WHERE JSON_QUERY(doc, '$.town' RETURNING text OMIT QUOTES) = 'x'$$),
	('fact_town', $$SELECT * FROM fact WHERE JSON_EXISTS(doc, '$.town ? (@ == "x")')$$),
	('fact_tags', $$SELECT * FROM fact WHERE JSON_EXISTS(doc, '$.tags[*] ? (@ == "x1")')$$),
	(NULL, $$SELECT * FROM fact WHERE JSON_EXISTS(doc, 'strict $.town.x' TRUE ON ERROR)$$),
	(NULL, $$SELECT * FROM fact WHERE JSON_EXISTS(doc, '$.town ? (@ == $t)' PASSING 'x' AS t)$$)
) q (scans, query), pg_temp.differences(query, scans) d;
-- A row in which a path finds what a field has not.
INSERT INTO fact VALUES (1000, '[{"town": "x", "age": 7, "ok": true, "o": {"p": "x"}, "tags": ["x1"]}]');
SELECT d FROM (VALUES
	($$SELECT * FROM fact WHERE JSON_VALUE(doc, '$.town') = 'x'$$),
	($$SELECT * FROM fact WHERE JSON_VALUE(doc, '$.age' RETURNING int) = 7$$),
	($$SELECT * FROM fact WHERE JSON_QUERY(doc, '$.town') = '"x"'$$),
	($$SELECT * FROM fact WHERE JSON_EXISTS(doc, '$.tags[*] ? (@ == "x1")')$$)
) q (query), pg_temp.differences(query, 'native') d;
SET client_min_messages = warning;
DROP SCHEMA sql_json CASCADE;
\endif
