-- Conditions of plain queries in all spellings, over documents of all sorts: whatever index table is searched, the answers are the same.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/planner.psql
CREATE SCHEMA planner_conditions;
SET search_path = planner_conditions;
\i :src/sql/include/planner_data.psql

-- ---- texts
SELECT d AS difference FROM (VALUES
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1'$$),
	('fact_t1', $$SELECT id, doc FROM fact WHERE doc ->> 'town' = 't1'$$),
	('fact_t1', $$SELECT id, doc ->> 'town', (doc ->> 'age')::int, doc #>> '{o,p}' FROM fact WHERE doc ->> 'town' = 't1'$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc #>> '{town}' = 't1'$$),
	('only fact_t1', $$SELECT id FROM fact WHERE jsonb_extract_path_text(doc, 'town') = 't1'$$),
	('fact_t1', $$SELECT id FROM fact WHERE doc['town'] = '"t1"'$$),
	('fact_t1', $$SELECT id FROM fact WHERE doc -> 'town' = '"t1"'$$),
	('only fact_t1', $$SELECT id FROM fact WHERE 't1' = doc ->> 'town'$$),
	('only fact_t1', $$SELECT id FROM fact WHERE (doc ->> 'town')::varchar = 't1'$$),
	('only fact_t1', $$SELECT id FROM fact WHERE (doc ->> 'town')::varchar(1) = 't'$$),
	('only fact_t1', $$SELECT id FROM fact WHERE (doc ->> 'town')::bpchar = 't1'$$),
	('only fact_t1', $$SELECT id FROM fact WHERE (doc ->> 'town')::name = 't1'$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1'::name$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = ANY ('{t1,t2}'::name[])$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1'::bpchar$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' LIKE 't%'$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' ^@ 't1'$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' ~<~ 't2'$$),
	('only fact_t1', $$SELECT id FROM fact WHERE upper(doc ->> 'town') = 'T1'$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' COLLATE "C" = 't1'$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' COLLATE "C" > 't1'$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' > 't1'$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' <> 't1'$$)
) q (scans, query), pg_temp.both(query, scans) d;

-- ---- ranges, NULL, and nothing
SELECT d AS difference FROM (VALUES
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' BETWEEN 't1' AND 't3'$$),
	(NULL, $$SELECT id FROM fact WHERE doc ->> 'town' > 't3' AND doc ->> 'town' < 't1'$$),
	(NULL, $$SELECT id FROM fact WHERE doc ->> 'town' = 't3' AND doc ->> 'town' = 't1'$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't3' AND doc ->> 'town' > 't1'$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' >= 't1' AND doc ->> 'town' > 't1' AND doc ->> 'town' <= 't3' AND doc ->> 'town' < 't3'$$),
	('native', $$SELECT id FROM fact WHERE doc ->> 'town' = NULL$$),
	('native', $$SELECT id FROM fact WHERE doc ->> 'town' IS NULL$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' IS NOT NULL$$)
) q (scans, query), pg_temp.both(query, scans) d;

-- ---- what proves that there is an entry: a row without a name has none in (town, name)
SELECT d AS difference FROM (VALUES
	('only fact_town', $$SELECT id FROM fact WHERE doc ->> 'town' IS NOT NULL AND doc ->> 'name' IS NOT NULL$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' IS NOT DISTINCT FROM 't1'$$),
	('native', $$SELECT id FROM fact WHERE doc ->> 'town' IS DISTINCT FROM 't1'$$),
	('only fact_town', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND doc ->> 'name' = 'n1'$$),
	('only fact_town', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND doc ->> 'name' > 'n1'$$),
	('only fact_town', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND doc ->> 'name' <> 'n1'$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND (doc ->> 'name' = 'n1' OR doc ->> 'name' IS NULL)$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND (doc ->> 'name' = 'n1' OR doc ->> 'name' = 'n3')$$),
	('only fact_town', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND (doc ->> 'name' = 'n1') IS TRUE$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND (doc ->> 'name' = 'n1') IS NOT TRUE$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND (doc ->> 'name' = 'n1') IS NOT FALSE$$),
	('only fact_town', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND NOT (doc ->> 'name' = 'n1')$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND coalesce(doc ->> 'name', 'n1') = 'n1'$$),
	('only fact_town', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND (doc ->> 'name') || 'x' = 'n1x'$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND concat(doc ->> 'name', 'x') = 'x'$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND doc ->> 'name' = ALL ('{}'::text[])$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND doc ->> 'name' <> ALL ('{n1,n2}'::text[])$$),
	('fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND doc ->> 'name' <> ALL (array_remove(string_to_array(note, 'note'), ''))$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND doc ->> 'name' IN ('n1', NULL)$$),
	('only fact_town', $$SELECT id FROM fact WHERE (doc ->> 'town', doc ->> 'name') = ('t1', 'n1')$$),
	('only fact_t1', $$SELECT id FROM fact WHERE (doc ->> 'town', doc ->> 'name') > ('t1', 'n1')$$),
	('native', $$SELECT id FROM fact WHERE (doc ->> 'town', doc ->> 'name') <> ('t1', 'n1')$$),
	('only fact_town, only fact_town', $$SELECT id FROM fact WHERE (doc ->> 'town', doc ->> 'name') IN (('t1', 'n1'), ('t2', 'n2'))$$),
	('only fact_town', $$SELECT id FROM fact WHERE (doc ->> 'town', id) >= ('t1', 5) AND doc ->> 'town' > 't0' AND doc ->> 'name' IS NOT NULL$$),
	('only fact_town', $$SELECT id FROM fact WHERE ROW(doc ->> 'town', doc ->> 'name') IS NOT NULL AND doc ->> 'town' = 't1'$$),
	('only fact_age', $$SELECT id FROM fact WHERE doc ->> 'age' IS NOT NULL ORDER BY (doc ->> 'age')::int$$),
	('native', $$SELECT id FROM fact WHERE doc -> 'age' IS NOT NULL ORDER BY (doc ->> 'age')::int$$),
	('native', $$SELECT id FROM fact WHERE ROW(doc ->> 'town', doc ->> 'name') IS NULL$$)
) q (scans, query), pg_temp.both(query, scans) d;

-- ---- one of several values
SELECT d AS difference FROM (VALUES
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' IN ('t1', 't3', NULL, 't1')$$),
	('native', $$SELECT id FROM fact WHERE doc ->> 'town' NOT IN ('t1', 't3')$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = ANY ('{}')$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = ANY ('{NULL}'::text[])$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = ANY (NULL::text[])$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = ANY ('{{t1,t2},{t3,t1}}')$$),
	('only fact_doc', $$SELECT id FROM fact WHERE doc ->> 'town' = ANY (string_to_array('t3 t1', ' ')) AND doc ->> 'name' = ANY (string_to_array('n3 n1', ' '))$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' > ANY ('{t1,t3}')$$)
) q (scans, query), pg_temp.both(query, scans) d;

-- ---- numbers, compared with other types
SELECT d AS difference FROM (VALUES
	('only fact_age', $$SELECT id FROM fact WHERE (doc ->> 'age')::int = 7$$),
	('only fact_age', $$SELECT id FROM fact WHERE (doc ->> 'age')::int = 7::bigint$$),
	('only fact_age', $$SELECT id FROM fact WHERE (doc ->> 'age')::int = 7::smallint$$),
	('only fact_age', $$SELECT id FROM fact WHERE (doc ->> 'age')::int = 7.0$$),
	('only fact_age', $$SELECT id FROM fact WHERE (doc ->> 'age')::int = 10000000000$$),
	('only fact_age', $$SELECT id FROM fact WHERE (doc ->> 'age')::int < 10000000000$$),
	('only fact_age', $$SELECT id FROM fact WHERE (doc ->> 'age')::int > 7.5$$),
	('only fact_age', $$SELECT id FROM fact WHERE (doc ->> 'age')::int = ANY ('{7,8,10000000000}'::bigint[])$$),
	('only fact_age', $$SELECT id FROM fact WHERE (doc ->> 'age')::int = ANY ('{7,8,7}'::smallint[])$$),
	('only fact_age', $$SELECT id FROM fact WHERE (doc ->> 'age')::int = ANY ('{7,8.0}'::numeric[])$$),
	('only fact_age', $$SELECT id FROM fact WHERE (doc ->> 'age')::int IN (7, NULL, 8::bigint)$$),
	('only fact_age', $$SELECT id FROM fact WHERE (doc ->> 'age')::bigint = 7$$),
	('only fact_age', $$SELECT id FROM fact WHERE (doc ->> 'age')::numeric = 7$$),
	('fact_age', $$SELECT id FROM fact WHERE (doc ->> 'age') = '7'$$),
	('only fact_age', $$SELECT id FROM fact WHERE (doc ->> 'age')::int::text = '7'$$),
	('only fact_age', $$SELECT id FROM fact WHERE (doc ->> 'age')::int::oid = 7$$),
	('only fact_age', $$SELECT id FROM fact WHERE (doc ->> 'age')::int::oid > 7 ORDER BY (doc ->> 'age')::int::oid, id$$),
	('only fact_age', $$SELECT id FROM fact WHERE (doc ->> 'age')::int + 1 = 8$$),
	('only fact_age', $$SELECT id, (doc ->> 'age')::int + 1, -(doc ->> 'age')::int FROM fact WHERE (doc ->> 'age')::int > 8$$)
) q (scans, query), pg_temp.both(query, scans) d;

-- ---- booleans, dates and numbers
SELECT d AS difference FROM (VALUES
	('only fact_onoff', $$SELECT id FROM fact WHERE (doc ->> 'on')::boolean$$),
	('only fact_onoff', $$SELECT id FROM fact WHERE (doc ->> 'on')::boolean AND doc ->> 'town' = 't1'$$),
	('only fact_onoff', $$SELECT id FROM fact WHERE NOT (doc ->> 'on')::boolean AND doc ->> 'town' = 't1'$$),
	('fact_t1', $$SELECT id FROM fact WHERE (doc ->> 'on')::boolean IS NOT TRUE AND doc ->> 'town' = 't1'$$),
	('only fact_onoff', $$SELECT id FROM fact WHERE (doc ->> 'on')::boolean = true AND doc ->> 'town' = 't1'$$),
	('only fact_onoff', $$SELECT id FROM fact WHERE (doc ->> 'on')::boolean > false$$),
	('only fact_day', $$SELECT id, (doc ->> 'day')::date FROM fact WHERE (doc ->> 'day')::date = '2024-01-03'$$),
	('only fact_day', $$SELECT id, (doc ->> 'day')::date FROM fact WHERE (doc ->> 'day')::date > '2024-01-03'::timestamp$$),
	('only fact_day', $$SELECT id, (doc ->> 'day')::date FROM fact WHERE (doc ->> 'day')::date > '2024-01-03'::timestamptz$$),
	('only fact_day', $$SELECT id, (doc ->> 'day')::date FROM fact WHERE (doc ->> 'day')::date = ANY ('{2024-01-03,2024-01-05}'::timestamp[])$$),
	('fact_day', $$SELECT id, (doc ->> 'day')::timestamp FROM fact WHERE (doc ->> 'day')::timestamp = '2024-01-03'$$),
	('only fact_num', $$SELECT id, (doc ->> 'num')::numeric FROM fact WHERE (doc ->> 'num')::numeric = 1$$),
	('only fact_num', $$SELECT id, (doc ->> 'num')::numeric FROM fact WHERE (doc ->> 'num')::numeric = 1 AND doc ->> 'town' = 't3'$$),
	('only fact_num', $$SELECT id, (doc ->> 'num')::numeric FROM fact WHERE (doc ->> 'num')::numeric >= 1 AND doc ->> 'town' = 't3'$$),
	('only fact_num', $$SELECT id, (doc ->> 'num')::numeric FROM fact WHERE (doc ->> 'num')::numeric IN (1, 'NaN') AND doc ->> 'town' = 't3'$$),
	('fact_num', $$SELECT id FROM fact WHERE CASE jsonb_typeof(doc -> 'num') WHEN 'number' THEN (doc -> 'num')::numeric END = 1$$)
) q (scans, query), pg_temp.both(query, scans) d;

-- ---- paths
SELECT d AS difference FROM (VALUES
	('only fact_op', $$SELECT id FROM fact WHERE doc #>> '{o,p}' = '1'$$),
	('only fact_op', $$SELECT id FROM fact WHERE doc -> 'o' ->> 'p' = '1'$$),
	('only fact_op', $$SELECT id FROM fact WHERE doc #> '{o}' ->> 'p' = '1'$$),
	('only fact_op', $$SELECT id FROM fact WHERE doc['o'] ->> 'p' = '1'$$),
	('native', $$SELECT id FROM fact WHERE doc['o']['p'] = '1'$$),
	('only fact_op', $$SELECT id FROM fact WHERE doc['o'] #>> '{p}' = '1'$$),
	('fact_j', $$SELECT id FROM fact WHERE doc ->> 'o' = '1'$$),
	('only fact_op', $$SELECT id FROM fact WHERE doc #>> ARRAY['o', 'p'] = '1'$$),
	('native', $$SELECT id FROM fact WHERE doc #>> ARRAY['o', NULL] = '1'$$),
	('native', $$SELECT id FROM fact WHERE doc #>> ARRAY['o', left('p', id)] = '1'$$),
	('only fact_a0', $$SELECT id FROM fact WHERE doc #>> '{a,0}' = '1'$$),
	('native', $$SELECT id FROM fact WHERE doc -> 'a' ->> 0 = '1'$$),
	('native', $$SELECT id FROM fact WHERE doc -> 'a' ->> '0' = '1'$$),
	('only fact_a0', $$SELECT id FROM fact WHERE doc['a'] #>> '{0}' = '1'$$),
	('native', $$SELECT id FROM fact WHERE doc['a'][0] = '1'$$),
	('native', $$SELECT id FROM fact WHERE doc #>> '{a,-1}' = 'e1'$$),
	('native', $$SELECT id FROM fact WHERE doc #>> '{a,00}' = '1'$$),
	('only fact_o0', $$SELECT id FROM fact WHERE doc #>> '{o,0}' = 'zero1'$$),
	('only fact_j', $$SELECT id FROM fact WHERE doc -> 'o' ->> '0' = 'zero1'$$),
	('only fact_j', $$SELECT id FROM fact WHERE doc -> 'o' ->> 0 = 'zero1'$$),
	('only fact_j', $$SELECT id FROM fact WHERE doc -> 'o' = '{"p": null}'$$),
	('only fact_j', $$SELECT id FROM fact WHERE doc -> 'o' > '{"p": null}'$$),
	('only fact_j', $$SELECT id, doc -> 'o' FROM fact WHERE doc -> 'o' IS NOT NULL ORDER BY doc -> 'o', id$$),
	('only fact_j', $$SELECT id, doc -> 'o' FROM fact WHERE doc -> 'o' = 'null'$$)
) q (scans, query), pg_temp.both(query, scans) d;

-- ---- arrays, and documents that contain others
SELECT d AS difference FROM (VALUES
	('fact_tag', $$SELECT id FROM fact WHERE doc -> 'tags' @> '["x1"]'$$),
	('only fact_tag', $$SELECT id FROM fact WHERE doc -> 'tags' @> '"x1"'$$),
	('fact_tag, only fact_tag', $$SELECT id FROM fact WHERE doc -> 'tags' @> '["x1", "x2"]'$$),
	('native', $$SELECT id FROM fact WHERE doc -> 'tags' @> '[1]'$$),
	('fact_tag', $$SELECT id FROM fact WHERE doc -> 'tags' @> '["1"]'$$),
	('native', $$SELECT id FROM fact WHERE doc -> 'tags' @> '[null]'$$),
	('native', $$SELECT id FROM fact WHERE doc -> 'tags' @> '[["x1"]]'$$),
	('native', $$SELECT id FROM fact WHERE doc -> 'tags' @> '{"x1": 1}'$$),
	('native', $$SELECT id FROM fact WHERE doc -> 'tags' @> '[]'$$),
	('fact_tag', $$SELECT id FROM fact WHERE doc @> '{"tags": ["x1"]}'$$),
	('native', $$SELECT id FROM fact WHERE doc @> '{"tags": "x1"}'$$),
	('only fact_t1', $$SELECT id FROM fact WHERE doc @> '{"town": "t1"}'$$),
	('only fact_doc', $$SELECT id FROM fact WHERE doc @> '{"town": "t1", "name": "n1"}'$$),
	('fact_t1', $$SELECT id FROM fact WHERE doc @> '{"town": "1"}'$$),
	('native', $$SELECT id FROM fact WHERE doc @> '"t1"'$$),
	('native', $$SELECT id FROM fact WHERE doc @> '{"o": {"0": "zero1"}}'$$),
	('native', $$SELECT id FROM fact WHERE doc @> '{"o": ["zero1"]}'$$),
	('native', $$SELECT id FROM fact WHERE doc @> '{"a": ["e1"]}'$$),
	('only fact_j', $$SELECT id FROM fact WHERE doc -> 'o' @> '{"p": 1}'$$),
	('native', $$SELECT id FROM fact WHERE doc -> 'tags' ? 'x1'$$),
	('fact_tag', $$SELECT id FROM fact WHERE '["x1"]' <@ (doc -> 'tags')$$),
	('native', $$SELECT id FROM fact WHERE doc -> 'tags' <@ '["x1"]'$$),
	('only fact_tags', $$SELECT id FROM fact WHERE doc -> 'tags' @> '["x1"]' AND (doc ->> 'age')::int = 7$$),
	('only fact_tags', $$SELECT id FROM fact WHERE doc -> 'tags' @> '["x1"]' AND (doc ->> 'age')::int > 7$$),
	('fact_tags', $$SELECT id FROM fact WHERE doc -> 'tags' @> '["x1"]' AND doc -> 'tags' @> '["x2"]' AND (doc ->> 'age')::int IN (7, 8)$$)
) q (scans, query), pg_temp.both(query, scans) d;

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
