-- Conditions of plain queries in all spellings, over documents of all sorts: whatever index table is searched, the answers are the same.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/planner.psql
CREATE SCHEMA planner_conditions;
SET search_path = planner_conditions;
\set sparse true
\i :src/sql/include/planner_data.psql
\i :src/sql/include/planner_conditions.psql

-- ---- what sparse index tables serve, others serve as well
SET client_min_messages = warning;
DROP SCHEMA planner_conditions CASCADE;
CREATE SCHEMA planner_conditions;
\set sparse false
\i :src/sql/include/planner_data.psql
SET planner_test.any_scans = on;
\set ECHO none
\i :src/sql/include/planner_conditions.psql
\set ECHO all
RESET planner_test.any_scans;

-- ---- a constant that cannot be cast is an error only where a row has none of its own
CREATE TABLE planner_conditions.aged (id int PRIMARY KEY, doc jsonb);
INSERT INTO planner_conditions.aged SELECT i, jsonb_build_object('age', i % 100) FROM generate_series(1, 2000) i;
SELECT indextable.create('planner_conditions.by_age', 'planner_conditions.aged', '{age::int}') \gset
SELECT count(*) FROM planner_conditions.aged WHERE coalesce(doc ->> 'age', '')::int = 30;
SELECT count(*) FROM planner_conditions.aged WHERE coalesce(doc ->> 'age', 'xy') LIKE 'x\';

-- ---- times of numbers
CREATE TABLE event (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO event SELECT i, CASE WHEN i % 500 = 0 THEN '{}' ELSE jsonb_build_object('ts', 1700000000 + i * 60 + i % 3 * 0.4999999, 'at', 1700000000 + i * 60) END FROM generate_series(1, 3000) i;
INSERT INTO event VALUES (0, '{"ts": "Infinity"}'), (-1, '{"ts": "-Infinity"}');
SELECT indextable.create('planner_conditions.event_' || n, 'event', ARRAY[f], sparse => false) FROM (VALUES ('ts', 'ts::numeric'), ('float', 'ts::float8'), ('at', 'at::bigint')) v (n, f) \g /dev/null
ANALYZE event, event_ts, event_float, event_at;
SELECT d AS difference FROM (VALUES
	('event_ts', $$SELECT doc FROM event WHERE to_timestamp((doc ->> 'ts')::numeric) > '2023-11-16 23:00Z'$$),
	('event_float', $$SELECT doc FROM event WHERE to_timestamp((doc ->> 'ts')::float8) <= '2023-11-14 23:00Z'$$),
	('event_float', $$SELECT doc FROM event WHERE to_timestamp((doc ->> 'ts')::float8) = '2023-11-14 22:14:20.4999999Z'$$),
	('event_float', $$SELECT doc FROM event WHERE '2023-11-14 22:14:20Z' < to_timestamp((doc ->> 'ts')::float8) AND to_timestamp((doc ->> 'ts')::float8) < '2023-11-14 22:16:20.5Z'$$),
	('event_float', $$SELECT doc FROM event WHERE to_timestamp((doc ->> 'ts')::float8) >= 'infinity'$$),
	(NULL, $$SELECT doc FROM event WHERE to_timestamp((doc ->> 'ts')::float8) = '-infinity'$$),
	(NULL, $$SELECT a.id, e.id FROM event a JOIN event e ON to_timestamp((e.doc ->> 'at')::bigint) = to_timestamp((a.doc ->> 'at')::bigint) WHERE a.id < 4$$),
	('event_at', $$SELECT doc FROM event WHERE to_timestamp((doc ->> 'at')::bigint) BETWEEN '2023-11-14 23:00Z' AND '2023-11-14 23:10Z'$$),
	('event_at', $$SELECT doc FROM event WHERE to_timestamp((doc ->> 'at')::bigint) > (SELECT timestamptz '2023-11-16 23:00Z') - interval '1 hour'$$),
	(NULL, $$SELECT doc FROM event WHERE to_timestamp((doc ->> 'at')::bigint) > NULL::timestamptz$$)
) q (scans, query), pg_temp.both(query, scans) d;

DROP SCHEMA planner_conditions CASCADE;
