-- Times with a zone, in plain SQL: their values are those of entries in every session as long as each text has a zone of its own.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/planner.psql
CREATE TABLE event (id int PRIMARY KEY, doc jsonb);
INSERT INTO event SELECT i, jsonb_build_object('at', to_char(timestamp '2026-03-28' + i * interval '37 minutes', 'YYYY-MM-DD"T"HH24:MI:SS')
		|| (ARRAY['Z', 'z', '+02:00', '-0530', ' +05:30', '.25+00', ' -12'])[1 + i % 7], 'until', to_char(timestamp '2026-03-29' + i % 5 * interval '5 hours', 'YYYY-MM-DD HH24:MI') || '+01', 'kind', 'k' || i % 3)
	FROM generate_series(1, 400) i;
INSERT INTO event VALUES (501, '{"kind": "k1", "until": "2026-03-29 10:00Z"}'), (502, '{"at": null, "kind": "k2", "until": "2026-03-29 10:00Z"}');
SELECT indextable.create('event_at', 'event', '{at::timestamptz}', include => '{kind, until::timestamptz(0)}') \gset
SELECT indextable.create('event_kind', 'event', '{kind, until::timestamptz(0)}') \gset
ANALYZE event;

-- Queries, and the index tables that they are to read.
CREATE TEMP TABLE query (query text, scans text, args text, ordered boolean DEFAULT false);
INSERT INTO query VALUES
	($$SELECT id FROM event WHERE (doc ->> 'at')::timestamptz >= '2026-03-29' AND (doc ->> 'at')::timestamptz < '2026-03-30'$$, 'only event_at'),
	($$SELECT id, doc FROM event WHERE (doc ->> 'at')::timestamptz BETWEEN '2026-03-29 01:30' AND '2026-03-29 03:30'$$, 'event_at'),
	($$SELECT id FROM event WHERE (doc ->> 'at')::timestamptz >= date '2026-03-31' AND (doc ->> 'at')::timestamptz < timestamp '2026-04-01 02:30'$$, 'only event_at'),
	($$SELECT id FROM event WHERE (doc #>> '{at}')::timestamptz IN ('2026-03-28 00:37Z', '2026-03-28 03:05+02')$$, 'only event_at'),
	($$SELECT date_trunc('day', (doc ->> 'at')::timestamptz), count(*) FROM event WHERE (doc ->> 'at')::timestamptz >= '2026-03-29' GROUP BY 1$$, 'only event_at'),
	($$SELECT (doc ->> 'at')::timestamptz::date AS day, max((doc ->> 'until')::timestamptz(0)) FROM event WHERE (doc ->> 'at')::timestamptz > '2026-03-29' GROUP BY 1$$, 'only event_at'),
	($$SELECT (doc ->> 'at')::timestamptz, doc ->> 'kind' FROM event WHERE doc ->> 'at' IS NOT NULL ORDER BY (doc ->> 'at')::timestamptz DESC, id LIMIT 20$$, 'only event_at'),
	($$SELECT max((doc ->> 'at')::timestamptz), min((doc ->> 'at')::timestamptz) FROM event WHERE doc ->> 'at' IS NOT NULL$$, 'only event_at'),
	($$SELECT id FROM event WHERE doc ->> 'kind' = 'k1' AND (doc ->> 'until')::timestamptz(0) = '2026-03-29 09:00Z'$$, 'only event_kind'),
	-- other types and whole days are near the value
	($$SELECT id FROM event WHERE (doc ->> 'at')::timestamptz::date = '2026-03-30'$$, 'only event_at'),
	($$SELECT id, doc FROM event WHERE (doc ->> 'at')::timestamptz::date > '2026-04-04' AND (doc ->> 'at')::date <= '2026-04-06'$$, 'event_at'),
	($$SELECT id FROM event WHERE (doc ->> 'at')::timestamp < '2026-03-29 12:00' OR (doc ->> 'at')::timestamp::date = '2026-04-06'$$, NULL),
	($$SELECT id FROM event WHERE date_trunc('day', (doc ->> 'at')::timestamptz) = '2026-03-30'::timestamptz$$, 'only event_at'),
	($$SELECT id FROM event WHERE date_trunc('month', (doc ->> 'at')::timestamp) < '2026-04-01' AND date_trunc('week', (doc ->> 'at')::timestamptz::timestamp)::date >= '2026-03-30'$$, 'event_at'),
	($$SELECT id FROM event WHERE (doc ->> 'at')::timestamp <= timestamptz '2026-03-28 05:00Z' AND '2026-03-28' <= (doc ->> 'at')::date$$, 'event_at'),
	($$SELECT id FROM event WHERE (doc ->> 'at')::date > '5874897-12-30' OR (doc ->> 'at')::timestamptz::date < '4713-01-01 BC'$$, NULL),
	($$SELECT id FROM event WHERE (doc ->> 'at')::date <= 'infinity' AND (doc ->> 'at')::date > '4712-01-01 BC' AND (doc ->> 'at')::timestamp::date < '294276-12-31'$$, NULL),
	($$SELECT a.id, b.id FROM event a JOIN event b ON (a.doc ->> 'at')::timestamptz = (b.doc ->> 'until')::timestamptz(0) WHERE a.id < 20$$, NULL);
INSERT INTO query VALUES
	($$SELECT id FROM event WHERE (doc ->> 'at')::timestamptz > $1$$, 'only event_at', $$'2026-03-30'::timestamptz$$),
	($$SELECT id FROM event WHERE (doc ->> 'at')::timestamptz > $1$$, 'only event_at', $$'2026-03-30'::date$$),
	($$SELECT id FROM event WHERE (doc ->> 'at')::timestamptz::date = $1$$, 'only event_at', $$'2026-03-30'::date$$),
	($$SELECT id FROM event WHERE (doc ->> 'at')::date BETWEEN $1 AND $2$$, 'event_at', $$'2026-03-30'::date, '2026-03-31'::date$$),
	($$SELECT id FROM event WHERE (doc ->> 'at')::timestamptz = ANY ($1)$$, 'only event_at', $$'{2026-03-28 00:37Z,2026-03-28 03:05+02}'::timestamptz[]$$);
CREATE FUNCTION pg_temp.in_all_zones(served boolean) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE zone text;
BEGIN
	FOREACH zone IN ARRAY '{UTC,America/New_York,Asia/Kolkata,Europe/Rome,-3:30,FOO+100}'::text[] LOOP
		PERFORM set_config('TimeZone', zone, true), set_config('DateStyle', CASE WHEN zone = 'UTC' THEN 'ISO' ELSE 'German, DMY' END, true);
		RETURN QUERY SELECT zone || ': ' || d FROM query, pg_temp.differences(query.query, CASE WHEN served THEN scans END, args, NULL, ordered) d;
	END LOOP;
END $$;
SELECT pg_temp.in_all_zones(true);

-- A plan that is kept goes by the zone of the session, and falls back when a time comes that has none.
SET client_min_messages = warning;
SET plan_cache_mode = force_generic_plan;
PREPARE since(date) AS SELECT count(*) FROM event WHERE (doc ->> 'at')::timestamptz >= $1;
SET TimeZone = 'Asia/Kolkata';
EXECUTE since('2026-03-30');
SET TimeZone = 'America/New_York';
EXECUTE since('2026-03-30');
BEGIN;
INSERT INTO event VALUES (600, '{"at": "2026-03-30 01:00", "kind": "k1"}');
EXECUTE since('2026-03-30');
SELECT pg_temp.explain('EXECUTE since(''2026-03-30'')', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF');
SELECT pg_temp.in_all_zones(false);
ROLLBACK;
SELECT pg_temp.in_all_zones(true);

-- An update that changes no entry, and one of a field that is included.
BEGIN;
UPDATE event SET doc = jsonb_set(doc, '{at}', '"2026-03-28 04:19"') WHERE doc ->> 'at' = '2026-03-28T04:19:00Z';
SELECT used, reason FROM indextable.explain($$SELECT id FROM event WHERE (doc ->> 'at')::timestamptz >= '2026-03-29'$$) WHERE index_table = 'event_at'::regclass;
SET LOCAL indextable.planner = force;
SELECT e FROM pg_temp.explain($$SELECT id FROM event WHERE (doc ->> 'at')::timestamptz > '2026-04-06' AND (doc ->> 'at')::timestamptz < '2026-04-07'$$) e WHERE e ~ 'Entry Cond';
SELECT pg_temp.in_all_zones(false);
ROLLBACK;
BEGIN;
UPDATE event SET doc = doc || '{"until": "2026-03-29"}' WHERE id = 7;
SELECT pg_temp.in_all_zones(false);
ROLLBACK;

-- verify() sees that the times without a zone are gone again.
UPDATE event SET doc = doc || '{"at": "2026-03-28"}' WHERE id = 7;
UPDATE event SET doc = doc || '{"at": "2026-03-28T00:00:00Z"}' WHERE id = 7;
SELECT used, reason FROM indextable.explain($$SELECT id FROM event WHERE (doc ->> 'at')::timestamptz >= '2026-03-29'$$) WHERE index_table = 'event_at'::regclass;
SELECT * FROM indextable.verify('event_at');
SELECT pg_temp.in_all_zones(false);
SELECT used, reason FROM indextable.explain($$SELECT id FROM event WHERE (doc ->> 'at')::timestamptz >= '2026-03-29'$$) WHERE index_table = 'event_at'::regclass;

-- What is not recorded is found by verify(), and put right by repair().
SET indextable.planner = off;
SET allow_system_table_mods = on;
UPDATE event SET doc = doc || '{"at": "2026-03-28"}' WHERE id = 7;
DELETE FROM indextable_internal.completeness WHERE index_table = 'event_at'::regclass AND fields = 29;
SELECT kind, problem FROM indextable.verify('event_at');
CALL indextable.repair('event_at');
RESET indextable.planner;
SELECT pg_temp.in_all_zones(false);
SELECT count(*) FROM indextable_internal.completeness WHERE index_table = 'event_at'::regclass AND fields = 29;

-- A condition that no entries tell of does not keep the others from being searched.
UPDATE event SET doc = doc || '{"kind": ["k1"]}' WHERE id = 7;
SELECT pg_temp.differences($$SELECT id, doc -> 'n' FROM event WHERE doc ->> 'kind' = 'k1' AND doc @? '$.kind ? (@ == "k1")'$$, 'event_kind');
SELECT pg_temp.differences($$SELECT id FROM event WHERE doc ->> 'kind' = 'k1' AND (doc ->> 'at')::timestamptz >= '2026-03-29'$$, 'event_kind');

DROP TABLE event;
