-- Rows that are made of entries, for what plain queries compute above joins, windows and sorts, have the values of the fact table's rows.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/planner.psql
CREATE TABLE made (id int PRIMARY KEY, other text, doc jsonb);
INSERT INTO made SELECT i, 'o' || i, CASE WHEN i % 11 <> 0 THEN jsonb_build_object('s', (ARRAY['a', 'B"\', '', 'ö', E'\t', 'null'])[1 + i % 6]) ELSE '{"s": 7.50}' END || v.doc::jsonb
	FROM (VALUES (1, '{}'), (2, '{"v": "abcdef", "b": "yes", "i2": " 7 ", "n": "1e2", "f": 0.1, "d": "1e-320"}'),
		(3, '{"v": true, "b": false, "i2": -32768, "i8": 9223372036854775807, "n": 1.005, "m": "NaN", "f": "-0", "d": 0.1}'),
		(4, '{"b": "0", "m": 1.2300, "d": "-inf", "f": 16777217, "u": "{8F14E45FCEEA167A5A36DEDD4BEA2543}", "day": "0044-03-15"}'),
		(5, '{"d": 1.2345678901234567, "f": 1.2345678, "day": "2026-03-29", "at": "2026-03-29T01:30:00.123456+05", "tz": "2026-03-29 01:30:00.9999995-03:30"}'),
		(6, '{"tz": "1850-01-01T00:00:00Z", "at": "0001-01-01 00:00:00", "day": "12026-01-01", "o": {"p": {"q": "x", "r": 3}, "z": [1, {"a": null}]}}'),
		(7, '{"o": {"p": [{"q": "in an array", "r": "4"}], "z": "y"}, "j": [1, {"k": null}], "l": ["first"], "t": {"u": 1}}'),
		(8, '{"o": {"p": {"q": {"deep": 1}}, "odd \"name": 5}, "j": null, "l": {"0": "member"}, "t": {"u": "2"}}'),
		(9, '{"o": 5, "j": "text", "x": 1, "day": null, "day2": 1}')) v (n, doc), generate_series(v.n, 60, 9) i;
SELECT indextable.create('made_s', 'made', '{s}', include => ARRAY['@other', 'v::varchar(3)', 'b::boolean', 'i2::smallint', 'i8::bigint', 'n::numeric(8,2)', 'm::numeric', 'f::real',
	'd::float8', 'u::uuid', 'day::date', 'at::timestamp', 'tz::timestamptz(3)', 'o.p.q', 'o.p.r::int', 'o.z', 'j::jsonb', 'l[0] AS l', 't', 't.u AS t_u', 't.u::int AS t_int', '(lower(doc ->> ''v'')) AS low']) \gset
CREATE TABLE side (n int, s text);
INSERT INTO side SELECT i, (ARRAY['a', '', 'none', '7.50', NULL])[1 + i % 5] FROM generate_series(1, 10) i;
ANALYZE made, side;

CREATE FUNCTION pg_temp.answers() RETURNS SETOF text LANGUAGE sql AS $f$
SELECT d AS difference FROM (VALUES
	-- Each type, by what shows all of its value.
	('only made_s', $$SELECT row_number() OVER (ORDER BY id), id, other, doc ->> 's', (doc ->> 'v')::varchar(3), (doc ->> 'b')::boolean, (doc ->> 'i2')::smallint, (doc ->> 'i8')::bigint,
		(doc ->> 'n')::numeric(8,2), (doc ->> 'm')::numeric, float4send((doc ->> 'f')::real), float8send((doc ->> 'd')::float8), (doc ->> 'u')::uuid FROM made WHERE doc ->> 's' IS NOT NULL$$),
	('only made_s', $$SELECT row_number() OVER (ORDER BY id), id, (doc ->> 'day')::date, timestamp_send((doc ->> 'at')::timestamp), timestamptz_send((doc ->> 'tz')::timestamptz(3)) FROM made WHERE doc ->> 's' IS NOT NULL$$),
	('only made_s', $$SELECT row_number() OVER (ORDER BY id), doc #>> '{o,p,q}', doc -> 'o' -> 'p' ->> 'q', (doc #>> '{o,p,r}')::int, doc['o'] ->> 'z', doc -> 'j', doc -> 'j' -> 1, doc ->> 't' FROM made WHERE doc ->> 's' > ''$$),
	('only made_s', $$SELECT row_number() OVER (ORDER BY id), (doc #>> '{o,p,r}')::int FROM made WHERE doc ->> 's' > ''$$),
	('only made_s', $$SELECT s.n, m.other FROM made m RIGHT JOIN side s ON doc ->> 's' = s.s$$),
	-- NULL where an outer join has no row, and what is computed below it.
	('only made_s', $$SELECT s.n, m.id, m.doc ->> 's', m.doc #>> '{o,z}', coalesce(m.doc #>> '{o,p,q}', m.doc ->> 's', 'no row') FROM side s LEFT JOIN made m ON m.doc ->> 's' = s.s AND m.id > 9$$),
	('only made_s', $$SELECT s.n, m.id, m.v FROM side s LEFT JOIN (SELECT id, doc ->> 's' AS s, coalesce(doc #>> '{o,z}', 'inner') AS v FROM made WHERE doc ->> 's' < 'b') m USING (s) WHERE m.v IS DISTINCT FROM 'y'$$),
	('only made_s, only made_s', $$SELECT a.id, b.id, b.doc -> 'j' FROM made a FULL JOIN made b ON a.doc ->> 's' = b.doc ->> 's' AND a.id > 40 AND b.id < 20 WHERE a.doc ->> 's' <> '' OR a.id IS NULL$$),
	-- Which documents cannot be made.
	('made_s', $$SELECT m.doc, m.doc ->> 's' FROM side s JOIN made m ON m.doc ->> 's' = s.s$$),
	('made_s', $$SELECT m FROM side s JOIN made m ON m.doc ->> 's' = s.s$$),
	('made_s', $$SELECT m.id, m.doc -> 's' FROM side s JOIN made m ON m.doc ->> 's' = s.s$$),
	('made_s', $$SELECT m.doc ->> 't', m.doc #>> '{t,u}' FROM side s JOIN made m ON m.doc ->> 's' = s.s$$),
	('made_s', $$SELECT (m.doc #>> '{t,u}')::int, m.doc #>> '{t,u}' FROM side s JOIN made m ON m.doc ->> 's' = s.s$$),
	('made_s', $$SELECT m.doc #>> '{l,0}' FROM side s JOIN made m ON m.doc ->> 's' = s.s$$),
	('made_s', $$SELECT jsonb_path_query_first(m.doc, '$.o.p.q') #>> '{}' FROM side s JOIN made m ON m.doc ->> 's' = s.s$$),
	('made_s', $$SELECT jsonb_path_query_first(doc, '$.o.p.q') #>> '{}' FROM made WHERE doc ->> 's' > ''$$),
	('made_s', $$SELECT lower(m.doc ->> 'v') FROM side s JOIN made m ON m.doc ->> 's' = s.s$$),
	('made_s', $$SELECT s.n, (SELECT count(*) FROM side t WHERE t.s > m.doc ->> 's') FROM side s JOIN made m ON m.doc ->> 's' = s.s WHERE NOT EXISTS (SELECT FROM side t WHERE t.n = m.id)$$),
	('made_s', $$SELECT m.id FROM side s JOIN made m ON m.doc ->> 'v' = s.s WHERE m.doc ->> 's' = 'a'$$),
	('made_s', $$SELECT m.id FROM side s JOIN made m ON m.doc ->> 'v' < s.s WHERE m.doc ->> 's' = 'a'$$),
	('made_s', $$SELECT m.ctid, m.doc ->> 's' FROM side s JOIN made m ON m.doc ->> 's' = s.s$$),
	('made_s', $$SELECT m.id, l FROM side s JOIN made m ON m.doc ->> 's' = s.s, jsonb_array_elements(CASE WHEN m.doc ->> 's' = 'a' THEN m.doc -> 'j' END) l$$),
	('made_s', $$SELECT m.id, (SELECT max(k) FROM jsonb_object_keys(m.doc) k) FROM side s JOIN made m ON m.doc ->> 's' = s.s$$)
) q (scans, query), pg_temp.differences(query, scans) d
$f$;
SELECT pg_temp.answers();
SET extra_float_digits = -15;
SET DateStyle = 'German, DMY';
SET TimeZone = 'Europe/Amsterdam';
SELECT pg_temp.answers();
RESET ALL;


DROP TABLE made, side;
