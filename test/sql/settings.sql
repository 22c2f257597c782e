-- Entries are the same whatever the settings of those who write, drain, verify and look up.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA settings;
SET search_path = settings;
SET indextable.advice = off;
-- Two sets of settings, and what the server's defaults are.
CREATE PROCEDURE one() LANGUAGE sql AS $$
	SELECT set_config('extra_float_digits', '0', false), set_config('bytea_output', 'escape', false), set_config('IntervalStyle', 'iso_8601', false),
		set_config('DateStyle', 'SQL, DMY', false), set_config('TimeZone', 'America/New_York', false), set_config('xmlbinary', 'hex', false),
		set_config('array_nulls', 'off', false), set_config('row_security', 'off', false), set_config('xmloption', 'document', false)
$$;
CREATE PROCEDURE two() LANGUAGE sql AS $$
	SELECT set_config('extra_float_digits', '-3', false), set_config('bytea_output', 'hex', false), set_config('IntervalStyle', 'postgres_verbose', false),
		set_config('DateStyle', 'German', false), set_config('TimeZone', 'Asia/Kolkata', false), set_config('xmlbinary', 'base64', false),
		set_config('array_nulls', 'on', false), set_config('row_security', 'on', false), set_config('xmloption', 'content', false)
$$;
CREATE PROCEDURE usual() LANGUAGE sql AS $$
	SELECT set_config('extra_float_digits', '1', false), set_config('bytea_output', 'hex', false), set_config('IntervalStyle', 'postgres', false),
		set_config('DateStyle', 'ISO, MDY', false), set_config('TimeZone', 'UTC', false), set_config('xmlbinary', 'base64', false),
		set_config('array_nulls', 'on', false), set_config('row_security', 'on', false), set_config('xmloption', 'content', false),
		set_config('standard_conforming_strings', 'on', false)
$$;
CALL usual();
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb, x float8, y float4, b bytea, p point, i interval, since timestamptz, until timestamptz, d date);
-- what a user's function makes of settings that it has no business to read
CREATE FUNCTION shown(float8, bytea, interval, timestamptz, date) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$BEGIN
	RETURN concat_ws(' ', $1, $2, $3, $4, $5, '{a,NULL}'::text[] IS NULL, current_setting('TimeZone'), current_setting('row_security')); END$$;
-- and one that changes them
CREATE FUNCTION changes(float8) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$DECLARE result text := $1; BEGIN
	PERFORM set_config('extra_float_digits', '-5', false), set_config('bytea_output', 'escape', false), set_config('TimeZone', 'Asia/Tokyo', true);
	RETURN result; END$$;

CREATE TABLE recompute (index_table text PRIMARY KEY, query text);
CREATE PROCEDURE over(name text, key text[], query text, include text[] DEFAULT NULL, filter text DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE mode text;
BEGIN
	FOREACH mode IN ARRAY ARRAY['transactional', 'async'] LOOP
		PERFORM indextable.create(name || '_' || mode, 'fact', key, include => include, filter => filter, maintenance => mode);
		INSERT INTO recompute VALUES (name || '_' || mode, query);
	END LOOP;
END$$;
CALL over('x', '{@x::text}', 'SELECT x::text, id FROM fact WHERE x IS NOT NULL');
CALL over('y', '{@y::varchar(12), k}', $$SELECT y::varchar(12), doc ->> 'k', id FROM fact WHERE y IS NOT NULL AND doc ->> 'k' IS NOT NULL$$);
CALL over('b', '{@b::text}', 'SELECT b::text, id, p::text, x::text FROM fact WHERE b IS NOT NULL', '{@p::text, @x::text}');
CALL over('rest', '{k}', $$SELECT doc ->> 'k', id, b::text, p::text, x FROM fact WHERE doc ->> 'k' IS NOT NULL$$, '{@b::text, @p::text, @x}');
CALL over('narrow', '{k}', $$SELECT doc ->> 'k', id FROM fact WHERE doc ->> 'k' IS NOT NULL AND x::text = '0.30000000000000004'$$, NULL, $$x::text = '0.30000000000000004'$$);
CALL over('hex', '{k}', $$SELECT doc ->> 'k', id FROM fact WHERE doc ->> 'k' IS NOT NULL AND b::text LIKE '\\x%'$$, NULL, $$b::text LIKE '\\x%'$$);
-- marked as immutable, and yet a matter of the time zone
CALL over('age', '{k}', $$SELECT doc ->> 'k', id FROM fact WHERE doc ->> 'k' IS NOT NULL AND age(until, since) = '1 mon'$$, NULL, $$age(until, since) = '1 mon'$$);
CALL over('shown', '{k}', $$SELECT doc ->> 'k', id FROM fact WHERE doc ->> 'k' IS NOT NULL AND x IS NOT NULL$$, NULL,
	$$settings.shown(x, b, i, since, d) = x::text || ' \x' || encode(b, 'hex') || ' 1 year 2 mons 3 days 04:05:06 2024-02-29 23:30:00+00 2024-02-01 f UTC on'$$);
CALL over('changes', '{k}', $$SELECT doc ->> 'k', id FROM fact WHERE doc ->> 'k' IS NOT NULL AND x::text = '0.30000000000000004'$$, NULL, $$settings.changes(x) = '0.30000000000000004'$$);
CALL over('dates', '{when::date}', $$SELECT (doc ->> 'when')::date, id, (doc ->> 'at')::timestamptz, (doc ->> 'span')::interval FROM fact WHERE doc ->> 'when' IS NOT NULL$$,
	'{at::timestamptz, span::interval}');
-- on servers that have it, JSON_VALUE, of which the server does not ask whether the input of its type is immutable
SELECT CASE WHEN current_setting('server_version_num')::int >= 170000 THEN $$json_value(doc, '$.ymd' RETURNING date) = make_date(2001, 2, 3)$$
	ELSE $$doc ->> 'ymd' = '01-02-03'$$ END AS json_date,
	CASE WHEN current_setting('server_version_num')::int >= 170000 THEN $$json_value(doc, '$.list' RETURNING text[]) = ARRAY['a', NULL]$$
	ELSE $$doc ->> 'list' = '{a,NULL}'$$ END AS json_list \gset
CALL over('json', '{k}', $$SELECT doc ->> 'k', id FROM fact WHERE doc ->> 'k' IS NOT NULL$$, NULL, :'json_date');
CALL over('list', '{k}', $$SELECT doc ->> 'k', id FROM fact WHERE doc ->> 'k' IS NOT NULL$$, NULL, :'json_list');
SELECT index_table, filter FROM indextable.index_tables WHERE filter LIKE '%shown%' ORDER BY index_table::text;

-- All that is wrong, by plain SQL under the server's defaults, and by verify() under the caller's settings.
CREATE FUNCTION oracle() RETURNS TABLE (index_table text, side text, entry text) LANGUAGE sql
	SET extra_float_digits = 1 SET bytea_output = hex SET IntervalStyle = postgres SET DateStyle = 'ISO, MDY' SET TimeZone = 'UTC'
	AS $$SELECT r.index_table, o.* FROM settings.recompute r, pg_temp.oracle('settings.' || r.index_table, r.query) o$$;
CREATE FUNCTION wrong() RETURNS TABLE (index_table text, side text, entry text) LANGUAGE sql AS $$
	SELECT indextable.drain();
	SELECT * FROM settings.oracle()
	UNION ALL SELECT r.index_table, v.kind, v.key::text FROM settings.recompute r, indextable.verify(('settings.' || r.index_table)::regclass) v
	UNION ALL SELECT r.index_table, v.kind, v.key::text FROM settings.recompute r, indextable.verify(('settings.' || r.index_table)::regclass, 50) v
	UNION ALL SELECT format('%s rows', n), NULL, NULL FROM (SELECT count(*) AS n FROM settings.fact) f
$$;
-- rows that all of the filters keep, and rows that some leave out
CREATE PROCEDURE put(a int, z int) LANGUAGE sql BEGIN ATOMIC
	INSERT INTO fact SELECT n, jsonb_build_object('k', n % 3, 'when', '2024-02-01', 'at', '2024-02-01 10:00', 'span', '-1 1:00:00', 'ymd', '01-02-03', 'list', '{a,NULL}'),
		0.1::float8 + 0.2 + (n % 2) / 3.0, 0.1::float4 + n / 7.0, decode(lpad(n::text, 4, '0'), 'hex'), point(n / 3.0, 0.1::float8 + 0.2),
		make_interval(1, 2, 0, 3, 4, 5, 6), make_timestamptz(2024, 2, 29, 23, 30, 0, 'UTC'), make_timestamptz(2024, 3, 29, 23, 30, 0, 'UTC'), make_date(2024, 2, 1)
	FROM generate_series(a, z) n;
END;
CREATE PROCEDURE change(a int, z int) LANGUAGE sql BEGIN ATOMIC
	UPDATE fact SET x = x + 1 / 7.0, b = b || '\x01'::bytea, p = p + point(1, 0.1), y = -y WHERE id BETWEEN a AND z;
	UPDATE fact SET id = -id WHERE id = a;
END;
-- whoever writes, and whoever goes on from there
CALL put(1, 10);
SELECT * FROM wrong();
CALL one();
CALL put(11, 20);
SELECT * FROM wrong();
SHOW extra_float_digits;
SHOW bytea_output;
SHOW TimeZone;
CALL change(5, 15);
CALL two();
SELECT * FROM wrong();
CALL put(21, 30);
CALL change(14, 22);
DELETE FROM fact WHERE id IN (6, 12, 21) OR id = -5;
CALL usual();
SELECT * FROM wrong();
-- and whoever drains
CALL put(31, 34);
CALL two();
SELECT indextable.drain('fact');
CALL one();
SELECT * FROM wrong();
SELECT index_table, count(*) FROM recompute r, LATERAL (SELECT FROM indextable.query(('settings.' || r.index_table)::regclass, '{}', page_size => 100)) q GROUP BY 1 ORDER BY 1;

-- ---- look-ups, pages and their cursors
SELECT count(*) FROM indextable.lookup('x_transactional', '{"x": "0.30000000000000004"}');
SELECT count(*) FROM indextable.lookup('x_async', '{"x": "0.30000000000000004"}');
SELECT count(*) FROM indextable.lookup('b_async', '{"b": "\\x0002"}');
SELECT entry FROM indextable.query('b_transactional', '{"b": "\\x0002"}');
CREATE TEMP TABLE page AS SELECT entry, cursor FROM indextable.query('x_transactional', '{}', page_size => 5);
CALL two();
CREATE TEMP TABLE rest AS SELECT entry FROM indextable.query('x_transactional', '{}', cursor => (SELECT cursor FROM page OFFSET 4));
CALL usual();
SELECT (SELECT count(*) FROM page) + (SELECT count(*) FROM rest) = (SELECT count(*) FROM x_transactional) AS all_pages;
SELECT 'twice' FROM page JOIN rest USING (entry);
-- columns of any type as keys: what text means does not depend on who looks up
SELECT indextable.create('as_they_are', 'fact', '{@x, @b, @d}') \gset
SELECT indextable.create('day', 'fact', '{@d}') \gset
SELECT indextable.create('spans', 'fact', '{@i}', include => '{@x}') \gset
CALL one();
SELECT indextable.lookup('as_they_are', '{"x": 0.30000000000000004, "b": "\\x0002", "d": "2024-02-01"}') ->> 'k' AS k;
SELECT indextable.lookup('as_they_are', '{"x": "0.30000000000000004", "b": "\\000\\002"}') ->> 'k' AS k;
SELECT indextable.lookup('day', '{"d": "01/02/2024"}');
SELECT count(*) FROM indextable.lookup('spans', '{"i": "1 year 2 mons 3 days 04:05:06"}');
SELECT entry, cursor IS NOT NULL FROM indextable.query('spans', '{}', page_size => 1);
ALTER TABLE fact ADD during daterange;
UPDATE fact SET during = daterange('2024-02-01', '2024-02-04') WHERE id = 2;
SELECT indextable.create('during', 'fact', '{@during}') \gset
SELECT indextable.lookup('during', '{"during": "[2024-02-01,2024-02-04)"}') ->> 'k' AS k;
SELECT indextable.lookup('during', '{"during": "[01/02/2024,04/02/2024)"}') ->> 'k' AS k;
CALL two();
SELECT indextable.lookup('during', '{"during": "[01/02/2024,04/02/2024)"}') ->> 'k' AS k;
SELECT indextable.lookup('during', '{"during": "[2024-02-01,2024-02-04)"}') ->> 'k' AS k;

-- ---- what verify() shows, and repair()
CALL usual();
SET client_min_messages = error;
ALTER TABLE fact DISABLE TRIGGER USER;
UPDATE fact SET x = x / 3, b = '\x0a0b' WHERE id BETWEEN 2 AND 4;
ALTER TABLE fact ENABLE TRIGGER USER;
RESET client_min_messages;
CALL one();
SELECT kind, key, primary_key, expected, found FROM indextable.verify('rest_transactional') WHERE kind <> 'setup' AND primary_key ->> 'id' = '2';
CALL indextable.repair('rest_transactional');
CALL two();
CREATE PROCEDURE repair_all() LANGUAGE plpgsql AS $$
DECLARE t text; a bigint; b bigint; c bigint; d bigint;
BEGIN
	FOR t IN SELECT index_table FROM settings.recompute LOOP
		CALL indextable.repair(('settings.' || t)::regclass, 1000, a, b, c, d);
	END LOOP;
END$$;
CALL repair_all();
CALL one();
SELECT * FROM wrong();

-- ---- made anew: with an error in a filter's constants, or a bound's, they would be others
CALL two();
CALL indextable.rebuild('narrow_transactional');
SELECT indextable.alter('b_transactional', include => '{@p::text, @x::text, @y::text}') \gset
SELECT indextable.alter('b_transactional', include => '{@p::text, @x::text}') \gset
SELECT indextable.alter('hex_async', maintenance => 'transactional') \gset
CALL indextable.rebuild('age_async');
CALL one();
SELECT * FROM wrong();
-- constants are a user's as his settings have them, and from then on the same for everybody
-- (strings have been standard-conforming always since PostgreSQL 19)
SELECT current_setting('server_version_num')::int < 190000 AS escapes, CASE WHEN current_setting('server_version_num')::int < 190000 THEN $$'a\\tb'$$ ELSE $$'a\tb'$$ END AS tab \gset
\if :escapes
SET escape_string_warning = off;
SET standard_conforming_strings = off;
\endif
SELECT indextable.create('constants', 'fact', '{k}', filter => $$d = '01/02/2024' AND since >= '29/02/2024 18:30' AND x >= '0.30000000000000004' AND i <> 'P1Y2M' AND doc ->> 'k' <> $$ || :'tab') \gset
SELECT filter FROM indextable.index_tables WHERE index_table = 'constants'::regclass;
CALL two();
UPDATE fact SET x = x + 1;
\c -
SET search_path = settings;
\if :escapes
SET standard_conforming_strings = off;
SET escape_string_warning = off;
\endif
CALL two();
UPDATE fact SET x = x - 1, doc = jsonb_set(doc, '{k}', to_jsonb(:tab::text)) WHERE id % 2 = 0;
ALTER TABLE fact RENAME d TO day;
INSERT INTO fact (id, doc, x, since, day, i) VALUES (100, '{"k": "late"}', 0.1::float8 + 0.2, '2024-02-29 23:30Z', '2024-02-01', '1 day'), (101, '{"k": "early"}', 0.1::float8 + 0.2, '2024-02-29 23:29Z', '2024-02-01', '1 day'),
	(102, '{"k": "other"}', 0.1::float8 + 0.2, '2024-02-29 23:30Z', '2024-01-02', '1 day'), (103, '{"k": "less"}', 0.3, '2024-02-29 23:30Z', '2024-02-01', '1 day');
CALL usual();
SELECT filter FROM indextable.index_tables WHERE index_table = 'constants'::regclass;
\i :src/sql/include/oracle.psql
SELECT * FROM constants WHERE id >= 100;
CALL pg_temp.compare('constants', $$SELECT doc ->> 'k', id FROM fact WHERE day = '2024-02-01' AND since >= '2024-02-29 23:30Z' AND x >= '0.30000000000000004'
	AND i <> '1 year 2 mons' AND doc ->> 'k' <> 'a\tb'$$);
DELETE FROM fact WHERE id >= 100;
CALL two();
-- bounds
SELECT indextable.create('parts', 'fact', '{@x}', partition_by => 'RANGE (x)', partition_bounds => ARRAY['FROM (MINVALUE) TO (0.30000000000000004)', 'FROM (0.30000000000000004) TO (1)']) \gset
CALL indextable.rebuild('parts');
SELECT indextable.alter('parts', include => '{@b}') \gset
CALL usual();
SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE relname LIKE 'parts\_%' AND relispartition AND relkind = 'r' ORDER BY 1;
CALL pg_temp.compare('parts', 'SELECT x, id, b FROM fact WHERE x IS NOT NULL');
-- a sample shows the values, and the advice repeats them, in one form
CALL one();
SELECT common_keys[1] FROM indextable.profile('fact', '{@x::text}', filter => $$day = '01/02/2024'$$);
SELECT common_keys[1] FROM indextable.profile('fact', '{@since}', filter => 'id > 0');
CALL usual();

-- ---- rows that are rejected are written down by their primary keys
CREATE TABLE keyed (x float8, b bytea, at timestamptz, i interval, doc jsonb, PRIMARY KEY (x, b, at, i));
SELECT indextable.create('keyed_k', 'keyed', '{k::int}', maintenance => 'async') \gset
CALL one();
INSERT INTO keyed SELECT 0.1::float8 + n / 5.0, '\x01', '2024-01-01 00:00Z', '1 day', jsonb_build_object('k', 'not ' || n) FROM generate_series(1, 3) n;
SELECT indextable.drain('keyed');
CALL usual();
SELECT primary_key FROM indextable_internal.rejection WHERE index_table = 'keyed_k'::regclass ORDER BY 1;
CALL two();
SELECT kind, problem, primary_key FROM indextable.verify('keyed_k') ORDER BY primary_key ->> 'x';
UPDATE keyed SET doc = '{"k": 7}' WHERE x < 0.5;
DELETE FROM keyed WHERE x BETWEEN 0.45 AND 0.55;
SELECT indextable.drain('keyed');
CALL one();
SELECT count(*) FROM indextable_internal.rejection WHERE index_table = 'keyed_k'::regclass;
SELECT kind FROM indextable.verify('keyed_k');
UPDATE keyed SET doc = '{"k": 8}';
SELECT indextable.drain('keyed');
CALL usual();
SELECT count(*) FROM indextable_internal.rejection WHERE index_table = 'keyed_k'::regclass;
CALL pg_temp.compare('keyed_k', $$SELECT (doc ->> 'k')::int, x, b, at, i FROM keyed$$);
SELECT indextable.drop('keyed_k') \gset
-- and the last of a batch of a build
SELECT indextable.create('keyed_b', 'keyed', '{@x::text AS t, k}', populate => false) \gset
INSERT INTO keyed SELECT n / 7.0, '\x02', '2024-01-01 00:00Z', '1 day', '{"k": 1}' FROM generate_series(1, 20) n;
CALL two();
CALL indextable.build('keyed_b', 3);
CALL usual();
CALL pg_temp.compare('keyed_b', $$SELECT x::text, doc ->> 'k', x, b, at, i FROM keyed$$);

-- ---- partitions that come and go, and the end
CREATE TABLE tree (id int, doc jsonb, x float8, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE tree_1 PARTITION OF tree FOR VALUES FROM (0) TO (100);
CREATE TABLE tree_2 (LIKE tree INCLUDING INDEXES);
SELECT indextable.create('tree_x', 'tree', '{@x::text}', filter => $$x::text <> '0.3'$$) \gset
SELECT indextable.create('tree_a', 'tree', '{@x::text}', filter => $$x::text <> '0.3'$$, maintenance => 'async') \gset
INSERT INTO tree_2 SELECT n, '{}', n * 0.1::float8 FROM generate_series(100, 110) n;
INSERT INTO tree SELECT n, '{}', n * 0.1::float8 FROM generate_series(1, 10) n;
CALL one();
INSERT INTO tree SELECT n, '{}', n * 0.1::float8 FROM generate_series(11, 20) n;
ALTER TABLE tree ATTACH PARTITION tree_2 FOR VALUES FROM (100) TO (200);
SELECT indextable.drain('tree');
CALL two();
UPDATE tree SET id = id + 100 WHERE id BETWEEN 15 AND 17;
SELECT indextable.drain('tree');
CALL usual();
CALL pg_temp.compare('tree_x', $$SELECT x::text, id FROM tree WHERE x::text <> '0.3'$$);
CALL pg_temp.compare('tree_a', $$SELECT x::text, id FROM tree WHERE x::text <> '0.3'$$);
CALL one();
ALTER TABLE tree DETACH PARTITION tree_1;
TRUNCATE tree_2;
SELECT indextable.drain('tree');
TABLE tree_x;
TABLE tree_a;
CALL two();
DELETE FROM fact;
SELECT * FROM wrong();

SET client_min_messages = warning;
DROP SCHEMA settings CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
