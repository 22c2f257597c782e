-- Fields: a field holds what (document #>> path)::type gives, whatever the path,
-- the type and the session's settings.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA fields;
SET search_path = fields;
\pset null <null>
SET DateStyle = 'ISO, MDY'; SET TimeZone = 'UTC'; SET IntervalStyle = 'postgres';
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb, kind varchar(5), at timestamptz, tags jsonb, n numeric);
CREATE TABLE doc (id int PRIMARY KEY, doc jsonb);

-- ---- paths
INSERT INTO doc VALUES
	(1, '{"a": {"b": {"c": "abc"}, "1": "one", "x1": "x-one"}, "odd name": {"x": "odd"}, "list": ["first", "second", "last"], "A": "upper", "dot.ted": "dot", "é": "accent", "日本": "japan"}'),
	(2, '{"a": {"b": [{"c": "no member of an array"}]}, "list": {"0": "member 0", "-1": "member -1"}, "quo\"te": "q", "back\\slash": "b", "tab\there": "t", "": "empty"}'),
	(3, '{"list": [], "a": "scalar", "$dollar": "d", "a$b": "ab", "_u": "u"}');
CREATE FUNCTION try(field text, path text) RETURNS TABLE ("column" text, entries text, as_sql text)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM indextable.create('tried', 'doc', ARRAY[field]);
	RETURN QUERY EXECUTE format(
		'SELECT (SELECT attname::text FROM pg_attribute WHERE attrelid = ''tried''::regclass AND attnum = 1),
		        (SELECT string_agg(entry::text, '' '' ORDER BY id) FROM tried entry),
		        (SELECT string_agg(r::text, '' '' ORDER BY id) FROM (SELECT doc #>> %L AS v, id FROM doc) r WHERE v IS NOT NULL)', path);
	PERFORM indextable.drop('tried');
END $$;
SELECT field, t.*, entries IS NOT DISTINCT FROM as_sql AS same FROM (VALUES
	(1, 'a.b.c', '{a,b,c}'),
	(2, '$.a.b', '{a,b}'),
	(3, '  a.b  ', '{a,b}'),
	(4, 'a."1"', '{a,1}'),
	(5, 'a.x1', '{a,x1}'),
	(6, '"odd name".x', '{odd name,x}'),
	(7, 'list[0] AS first', '{list,0}'),
	(8, 'list[-1] AS last', '{list,-1}'),
	(9, '$.list[1] AS second', '{list,1}'),
	(10, 'list[7] AS none', '{list,7}'),
	(11, 'list."0"', '{list,0}'),
	(12, 'A', '{A}'),
	(13, '"dot.ted"', '{dot.ted}'),
	(14, 'é', '{é}'),
	(15, '"\u00e9"', '{é}'),
	(16, '日本', '{日本}'),
	(17, '"quo\"te"', '{"quo\"te"}'),
	(18, '"back\\slash"', '{"back\\slash"}'),
	(19, '"tab\there"', E'{"tab\there"}'),
	(20, '"" AS empty', '{""}'),
	(21, '"$dollar"', '{$dollar}'),
	(22, 'a$b', '{a$b}'),
	(23, '_u', '{_u}'),
	(24, 'a', '{a}'),
	(25, 'a.b[0].c', '{a,b,0,c}')
) AS v(no, field, path), try(field, path) t ORDER BY no;

-- ---- values of text fields: missing, null and JSON null have no entry; an empty string has
TRUNCATE doc;
INSERT INTO doc VALUES
	(1, '{}'), (2, NULL), (3, '{"k": null}'), (4, '{"k": ""}'), (5, '{"k": 1}'), (6, '{"k": "1"}'), (7, '{"k": 1.0}'),
	(8, '{"k": true}'), (9, '{"k": {"b": [1, {"c": null}], "a": "x"}}'), (10, '{"k": [1, 1, null, "é\n"]}'),
	(11, '"scalar"'), (12, '[1, 2]'), (13, '{"k": -0}'), (14, '{"k": 1E2}'), (15, '{"k": " x "}'), (16, 'null'),
	(17, '{"k": "null"}'), (18, '[{"k": 1}]'), (19, '{"k": {}}'), (20, '{"k": []}'), (21, '{"k": 1e400}');
SELECT indextable.create('k', 'doc', '{k}', include => '{k AS again, k::jsonb AS json}') \gset
SELECT CASE WHEN length(k) < 50 THEN k ELSE left(k, 9) || '...' END AS k, id,
       CASE WHEN length(again) < 50 THEN again END AS again, left(json::text, 50) AS json FROM k ORDER BY id;
-- 1 to "1" to 1.0: the same key only where the text is the same
UPDATE doc SET doc = '{"k": "1"}' WHERE id = 5;
UPDATE doc SET doc = '{"k": 1.0}' WHERE id = 6;
UPDATE doc SET doc = '{"k": 1.00}' WHERE id = 7;
SELECT * FROM k WHERE id IN (5, 6, 7) ORDER BY id;
CALL pg_temp.compare('k', $$SELECT doc #>> '{k}', id, doc #>> '{k}', doc #> '{k}' FROM doc$$);

-- a field of a root that is an array
SELECT indextable.create('root_array', 'doc', '{$[0] AS first}') \gset
SELECT * FROM root_array ORDER BY id;
CALL pg_temp.compare('root_array', $$SELECT doc #>> '{0}', id FROM doc$$);

-- a jsonb key: JSON null is no key, everything else is one; a nested null is a value
TRUNCATE doc;
INSERT INTO doc VALUES (1, '{"k": 1}'), (2, '{"k": "1"}'), (3, '{"k": null}'), (4, '{"k": [null]}'), (5, '{}'),
	(6, '{"k": {"b": 1, "a": 2}}'), (7, '{"k": false}');
SELECT indextable.create('data', 'doc', '{k::jsonb}') \gset
SELECT * FROM data ORDER BY id;
-- 1 and 1.0 are equal as jsonb, but not the same bytes
UPDATE doc SET doc = '{"k": 1.0}' WHERE id = 1;
SELECT * FROM data WHERE id = 1;
SELECT d FROM indextable.lookup('data', '{"k": 1}') d;
SELECT d FROM indextable.lookup('data', '{"k": {"a": 2, "b": 1}}') d;
SELECT d FROM indextable.lookup('data', '{"k": "1"}') d;
CALL pg_temp.compare('data', $$SELECT doc #> '{k}', id FROM doc$$);

-- the same for numeric keys: 1 = 1.0 = 1.00, and a reader sees which
TRUNCATE doc;
SELECT indextable.create('num', 'doc', ARRAY['k::numeric', 'k::numeric(5,1) AS rounded']) \gset
INSERT INTO doc VALUES (1, '{"k": 1}'), (2, '{"k": 1.25}'), (3, '{"k": "2.50"}');
SELECT * FROM num ORDER BY id;
UPDATE doc SET doc = '{"k": 1.0}' WHERE id = 1;
SELECT * FROM num WHERE id = 1;
UPDATE doc SET doc = '{"k": "1.000"}' WHERE id = 1;
SELECT * FROM num WHERE id = 1;
SELECT count(*) FROM indextable.lookup('num', '{"k": 1.0000}');
CALL pg_temp.compare('num', $$SELECT (doc #>> '{k}')::numeric, (doc #>> '{k}')::numeric(5,1), id FROM doc$$);

-- and for others whose equal values differ; unique or not, in the table and in its index
SELECT indextable.create('equal', 'doc', '{k::float8, v::interval}') \gset
SELECT indextable.create('equal_unique', 'doc', '{v::interval}', is_unique => true, include => '{k::float8}') \gset
UPDATE doc SET doc = '{"k": "0", "v": "1 month"}' WHERE id = 1;
UPDATE doc SET doc = '{"k": "-0", "v": "30 days"}' WHERE id = 1;
SELECT * FROM equal;
SELECT * FROM equal_unique;
VACUUM equal, equal_unique;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT k, v FROM equal WHERE k = 0;
SELECT k, v FROM equal WHERE k = 0;
SELECT v, k FROM equal_unique WHERE v = '1 month';
RESET enable_seqscan;
UPDATE doc SET doc = '{"k": 0, "v": "720:00:00"}' WHERE id = 1;
CALL pg_temp.compare('equal', $$SELECT (doc ->> 'k')::float8, (doc ->> 'v')::interval, id FROM doc$$);
CALL pg_temp.compare('equal_unique', $$SELECT (doc ->> 'v')::interval, id, (doc ->> 'k')::float8 FROM doc WHERE doc ->> 'v' IS NOT NULL$$);
SELECT indextable.drop('equal'), indextable.drop('equal_unique') \gset

-- ---- two documents in a row, each with its index tables
CREATE TABLE pair (id int PRIMARY KEY, a jsonb, b jsonb);
SELECT indextable.create('pair_a', 'pair', '{k}', include => '{@b}', document => 'a') \gset
SELECT indextable.create('pair_b', 'pair', '{k}', 'denormalized', document => 'b') \gset
INSERT INTO pair VALUES (1, '{"k": "a1"}', '{"k": "b1"}'), (2, '{"k": "a2"}', NULL);
UPDATE pair SET b = '{"k": "b2"}' WHERE id = 2;
UPDATE pair SET a = NULL WHERE id = 1;
SELECT * FROM pair_a ORDER BY id;
SELECT * FROM pair_b ORDER BY id;
SELECT d FROM indextable.lookup('pair_a', '{"k": "a2"}') d;
SELECT d FROM indextable.lookup('pair_b', '{"k": "b1"}') d;
CALL pg_temp.compare('pair_a', $$SELECT a ->> 'k', id, b FROM pair$$);
CALL pg_temp.compare('pair_b', $$SELECT b ->> 'k', id, b FROM pair$$);

-- ---- types
TRUNCATE doc;
INSERT INTO doc VALUES
	(1, '{"i": 42, "big": "9000000000", "s": "-7", "f8": 1.5, "f4": "0.1", "b": "yes", "u": "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
	      "d": "2024-02-29", "ts": "2024-02-29 12:34:56.789", "tz": "2024-02-29T12:34:56+02", "t": "23:59:59.5", "iv": "1 day 02:03:04",
	      "v": "Straße!", "c": "ab", "ip": "10.0.0.1/8", "net": "10.0.0.0/8", "mac": "08:00:2b:01:02:03", "by": "\\xDEADBEEF", "bits": "101", "nm": "name"}'),
	(2, '{"i": "-1", "big": 1, "s": 0, "f8": "-Infinity", "f4": "NaN", "b": false, "u": "{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a12}",
	      "d": "0044-03-15", "ts": "1999-01-01", "tz": "2024-02-29 12:34:56Z", "t": "00:00", "iv": "P1Y2M3DT4H5M6S",
	      "v": "ok", "c": "c", "ip": "::1", "net": "192.168.0.0/16", "mac": "08002b:010204", "by": "abc", "bits": "1", "nm": "n"}');
SELECT indextable.create('types1', 'doc', '{i::int}', include =>
	'{big::bigint,s::smallint,f8::float8,f4::real,b::boolean,u::uuid,d::date,ts::timestamp,tz::timestamptz,t::time,iv::interval}') \gset
SELECT indextable.create('types2', 'doc', '{"v::varchar(5)"}', include =>
	'{c::char(3),ip::inet,net::cidr,mac::macaddr,by::bytea,bits::varbit,nm::name,ts::timestamp(0) AS ts0,d::pg_catalog.date AS day}') \gset
\d types1
\d types2
\x
SELECT * FROM types1 ORDER BY id;
SELECT * FROM types2 ORDER BY id;
\x
CALL pg_temp.compare('types1', $$SELECT (doc #>> '{i}')::int, id, (doc #>> '{big}')::bigint, (doc #>> '{s}')::smallint,
	(doc #>> '{f8}')::float8, (doc #>> '{f4}')::real, (doc #>> '{b}')::boolean, (doc #>> '{u}')::uuid, (doc #>> '{d}')::date,
	(doc #>> '{ts}')::timestamp, (doc #>> '{tz}')::timestamptz, (doc #>> '{t}')::time, (doc #>> '{iv}')::interval FROM doc$$);
CALL pg_temp.compare('types2', $$SELECT (doc #>> '{v}')::varchar(5), id, (doc #>> '{c}')::char(3), (doc #>> '{ip}')::inet,
	(doc #>> '{net}')::cidr, (doc #>> '{mac}')::macaddr, (doc #>> '{by}')::bytea, (doc #>> '{bits}')::varbit, (doc #>> '{nm}')::name,
	(doc #>> '{ts}')::timestamp(0), (doc #>> '{d}')::date FROM doc$$);
SELECT indextable.drop('types1'), indextable.drop('types2') \gset

-- ---- dates and times: ISO form, whatever the session says
-- (interval: the forms of IntervalStyle postgres and ISO 8601)
TRUNCATE doc;
SELECT indextable.create('day', 'doc', '{d::date}', on_mismatch => 'skip') \gset
SELECT indextable.create('moment', 'doc', '{d::timestamptz}', on_mismatch => 'skip') \gset
SELECT indextable.create('hour', 'doc', '{d::time}', on_mismatch => 'skip') \gset
SELECT indextable.create('span', 'doc', '{d::interval}', on_mismatch => 'skip') \gset
INSERT INTO doc SELECT n, jsonb_build_object('d', d) FROM (VALUES
	(1, '2024-03-04'), (2, 'now'), (3, 'today'), (4, 'yesterday'), (5, 'tomorrow'), (6, 'infinity'), (7, '-infinity'), (8, 'epoch'),
	(9, '04/03/2024'), (10, '4 March 2024'), (11, '20240304'), (12, '2024-03-04 05:06:07'), (13, '2024-03-04T05:06:07Z'),
	(14, '2024-03-04T05:06:07.8+02:30'), (15, '2024-03-04 05:06:07 Europe/Berlin'), (16, '2024-02-30'), (17, '2024-3-4'),
	(18, '2024-03-04 BC'), (19, 'allballs'), (20, '05:06'), (21, '05:06:07 PM'), (22, '25:00'), (23, '3 days'), (24, 'P3D'),
	(25, '@ 3 days ago'), (26, ''), (27, 'J2460374'), (28, '04-03-2024'), (29, '2024-03-04 24:00:00'), (30, '24:00')) v(n, d);
SET TimeZone = 'UTC'; SET DateStyle = 'ISO, DMY';
SELECT d.id, d.doc ->> 'd' AS value, day.d AS date, moment.d AS timestamptz, hour.d AS time, span.d AS interval
FROM doc d LEFT JOIN day USING (id) LEFT JOIN moment USING (id) LEFT JOIN hour USING (id) LEFT JOIN span USING (id) ORDER BY 1;
SELECT index_table, skipped FROM indextable.index_tables JOIN indextable.index_table_stats USING (index_table, fact_table) WHERE on_mismatch = 'skip' ORDER BY index_table::text;
SELECT indextable.drop('hour'), indextable.drop('span') \gset
-- what was written under one setting, is updated and deleted under another
TRUNCATE doc;
SET DateStyle = 'ISO, MDY'; SET TimeZone = 'Asia/Tokyo'; SET IntervalStyle = 'sql_standard';
SELECT indextable.create('span', 'doc', '{span::interval, d::timestamp}') \gset
INSERT INTO doc VALUES (1, '{"d": "2024-01-02 03:04:05", "span": "-1 1:00:00"}'), (2, '{"d": "2024-01-02", "span": "1 2:00:00"}'), (3, '{"d": "2024-03-04", "span": "3 days"}');
SET DateStyle = 'German, DMY'; SET TimeZone = 'America/New_York'; SET IntervalStyle = 'postgres_verbose';
UPDATE doc SET doc = '{"d": "2024-01-03 03:04:05", "span": "-1 1:00:00"}' WHERE id = 1;
DELETE FROM doc WHERE id = 2;
SELECT id FROM indextable.lookup(NULL::doc, 'day', '{"d": "2024-01-03"}');
SELECT id FROM indextable.lookup(NULL::doc, 'moment', '{"d": "2024-01-03 03:04:05"}');
SELECT id FROM indextable.lookup(NULL::doc, 'span', '{"span": "-1 1:00:00"}');
SET DateStyle = 'ISO, YMD'; SET TimeZone = 'UTC'; SET IntervalStyle = 'postgres';
SELECT * FROM day ORDER BY id;
SELECT * FROM moment ORDER BY id;
SELECT * FROM span ORDER BY id;
CALL pg_temp.compare('day', $$SELECT (doc #>> '{d}')::date, id FROM doc$$);
CALL pg_temp.compare('moment', $$SELECT (doc #>> '{d}')::timestamptz, id FROM doc$$);
CALL pg_temp.compare('span', $$SELECT (doc #>> '{span}')::interval, (doc #>> '{d}')::timestamp, id FROM doc$$);
SELECT indextable.drop('day'), indextable.drop('moment'), indextable.drop('span') \gset

-- ---- columns: @column has its own type, or the one given
INSERT INTO fact VALUES
	(1, '{"x": "a"}', 'book', '2024-01-01 00:00Z', '{"t": 1}', 1.50),
	(2, '{"x": "b"}', NULL,   '2024-01-02 00:00Z', 'null',     2),
	(3, '{"x": "c"}', 'cd',   NULL,                '[]',       NULL);
SELECT indextable.create('by_kind', 'fact', '{@kind, x}', 'partial', '{@at, @n::int AS whole, @tags}', document => 'doc') \gset
SELECT indextable.create('by_tags', 'fact', '{@tags}', document => 'doc') \gset
SELECT indextable.create('by_n', 'fact', '{@n::text, @id}', document => 'doc') \gset
SELECT indextable.create('by_id', 'fact', '{x, @id}', 'denormalized', document => 'doc') \gset
\d by_kind
\d by_n
\d by_id
UPDATE fact SET kind = 'dvd' WHERE id = 2;
UPDATE fact SET n = 1.5, at = '2024-02-02 00:00Z' WHERE id = 1;
UPDATE fact SET id = 30, n = 3 WHERE id = 3;
SELECT * FROM by_kind ORDER BY id;
SELECT * FROM by_tags ORDER BY id;
SELECT * FROM by_n ORDER BY id;
SELECT * FROM by_id ORDER BY id;
SELECT id FROM indextable.lookup(NULL::fact, 'by_n', '{"n": "1.5"}');
SELECT id FROM indextable.lookup(NULL::fact, 'by_n', '{"n": "2", "id": 2}');
SELECT id FROM indextable.lookup(NULL::fact, 'by_kind', '{"kind": "dvd"}');
CALL pg_temp.compare('by_kind', $$SELECT kind, doc #>> '{x}', id, at, n::int, tags FROM fact$$);
CALL pg_temp.compare('by_tags', $$SELECT tags, id FROM fact$$);
CALL pg_temp.compare('by_n', $$SELECT n::text, id FROM fact$$);
CALL pg_temp.compare('by_id', $$SELECT doc #>> '{x}', id, doc FROM fact$$);

-- ---- names and collations
TRUNCATE doc;
SELECT indextable.drop('num') \gset
SELECT indextable.create('c', 'doc', ARRAY['k COLLATE "C"', 'k::varchar(3) COLLATE "POSIX" AS short']) \gset
\d c
INSERT INTO doc VALUES (1, '{"k": "b"}'), (2, '{"k": "B"}'), (3, '{"k": "ä"}'), (4, '{"k": "äbcdef"}');
SELECT d ->> 'k' AS k FROM indextable.lookup('c', '{"k": "äbcdef", "short": "äbc"}') d;
SELECT * FROM c ORDER BY k;
CALL pg_temp.compare('c', $$SELECT doc #>> '{k}', (doc #>> '{k}')::varchar(3), id FROM doc$$);
SELECT indextable.create('named', 'doc', ARRAY['k AS "Der Schlüssel"', 'k::text COLLATE "C" as twice', 'k AS select']) \gset
\d named
SELECT * FROM named WHERE id = 1;
SELECT count(*) FROM indextable.lookup('named', '{"Der Schlüssel": "b", "twice": "b"}');

-- ---- limits
\set VERBOSITY terse
SELECT indextable.create('no', 'doc', ARRAY[repeat('a', 300) || repeat('.a', 20000000)]);
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('no', 'doc', array_fill('a'::text, ARRAY[1000000]));
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('no', 'doc', '{a}', include => array_fill('b'::text, ARRAY[1000000]));
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('no', 'doc', '{a}', filter => repeat(' ', 1100000) || 'true');
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY default

SET client_min_messages = warning;
DROP SCHEMA fields CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
