-- The statistics of index tables, lent to the planner for queries of their fact tables: estimates change, and nothing else.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA planner_statistics;
SET search_path = planner_statistics;
SET max_parallel_workers_per_gather = 0;
SET indextable.advice = off;
SET indextable.planner = on;

-- estimated(query): rows, by the planner. right(query): within a factor of 3 of those that come.
CREATE FUNCTION estimated(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan #>> '{0,Plan,Plan Rows}';
END $$;
CREATE FUNCTION q_error(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE estimate numeric := estimated(query); actual numeric;
BEGIN
	EXECUTE 'SELECT count(*) FROM (' || query || ') q' INTO actual;
	RETURN greatest(estimate, 1) / greatest(actual, 1);
END $$;
CREATE FUNCTION "right"(query text) RETURNS boolean LANGUAGE sql AS $$ SELECT q_error(query) BETWEEN 1.0 / 3 AND 3 $$;

-- 20,000 rows, all of which ANALYZE reads; 5 % have opt, 90 % have a town
CREATE TABLE person (id int PRIMARY KEY, doc jsonb NOT NULL) WITH (autovacuum_enabled = off);
INSERT INTO person SELECT i, jsonb_build_object('last_name', 'name' || i % 200, 'rank', i % 250, 'even', i % 2 = 0, 'age', i * 37 % 1000, 'code', 'x' || i % 50 || '-' || i, 'a', jsonb_build_object('b', 'v' || i % 8),
		'list', jsonb_build_array('e' || i % 3))
	|| CASE WHEN i % 10 = 0 THEN '{}' ELSE jsonb_build_object('town', CASE WHEN i % 2 = 0 THEN 'common' WHEN i % 1001 = 0 THEN 'rare' ELSE 'town' || i % 180 END) END
	|| CASE WHEN i % 20 = 0 THEN jsonb_build_object('opt', 'o' || i / 20 % 500) ELSE '{}' END
FROM generate_series(1, 20000) i;
CREATE TABLE visit (id int PRIMARY KEY, person_name text, doc jsonb);
INSERT INTO visit SELECT i, 'name' || i % 200 FROM generate_series(1, 5000) i;
SELECT indextable.create('by_town', 'person', '{town}', include => '{age::numeric, a.b AS ab}') \gset
SELECT indextable.create('by_name', 'person', '{last_name}', include => '{code, list[0] AS first}') \gset
SELECT indextable.create('by_opt', 'person', '{opt}') \gset
CREATE TABLE part (id int PRIMARY KEY, doc jsonb) PARTITION BY HASH (id);
DO $$ BEGIN FOR i IN 0..63 LOOP EXECUTE format('CREATE TABLE part_%s PARTITION OF part FOR VALUES WITH (MODULUS 64, REMAINDER %s)', i, i); END LOOP; END $$;
INSERT INTO part SELECT id, doc FROM person;
SELECT indextable.create('part_town', 'part', '{town}') \gset
ALTER TABLE by_town SET (autovacuum_enabled = off);
ANALYZE person, visit, part, by_town, by_name, by_opt, part_town;

CREATE TABLE shape (n int, what text, query text);
INSERT INTO shape VALUES
	(1, 'a common value', $$SELECT 1 FROM person WHERE doc ->> 'town' = 'common'$$),
	(2, 'a rare value', $$SELECT 1 FROM person WHERE doc ->> 'town' = 'rare'$$),
	(3, 'one of 200', $$SELECT 1 FROM person WHERE doc ->> 'last_name' = 'name7'$$),
	(4, 'another value', $$SELECT 1 FROM person WHERE doc ->> 'town' <> 'common'$$),
	(5, 'a range', $$SELECT 1 FROM person WHERE (doc ->> 'age')::numeric > 990$$),
	(6, 'between', $$SELECT 1 FROM person WHERE (doc ->> 'age')::numeric BETWEEN 100 AND 400$$),
	(7, 'of which most have none', $$SELECT 1 FROM person WHERE doc ->> 'opt' IS NOT NULL$$),
	(8, 'a value of these', $$SELECT 1 FROM person WHERE doc ->> 'opt' = 'o7'$$),
	(9, 'one of two', $$SELECT 1 FROM person WHERE doc #>> '{a,b}' IN ('v3', 'v4')$$),
	(10, 'groups', $$SELECT doc ->> 'town', count(*) FROM person GROUP BY 1$$),
	(11, 'a join', $$SELECT 1 FROM person p JOIN visit v ON p.doc ->> 'last_name' = v.person_name WHERE p.doc ->> 'opt' = 'o7'$$),
	(12, 'a prefix', $$SELECT 1 FROM person WHERE doc ->> 'code' LIKE 'x7-%'$$),
	(13, 'partitions', $$SELECT 1 FROM part WHERE doc ->> 'town' = 'common'$$),
	(14, 'a value of partitions', $$SELECT 1 FROM part WHERE doc ->> 'town' = 'town7'$$),
	(15, 'NULL', $$SELECT 1 FROM person WHERE doc ->> 'opt' IS NULL$$),
	(16, 'a path by steps', $$SELECT 1 FROM person WHERE doc -> 'a' ->> 'b' = 'v3'$$),
	(17, 'groups of partitions', $$SELECT doc ->> 'town', count(*) FROM part GROUP BY 1$$),
	(18, 'an element by number', $$SELECT 1 FROM person WHERE doc #>> '{list,0}' = 'e1'$$),
	(19, 'one partition', $$SELECT 1 FROM part_7 WHERE doc ->> 'town' = 'common'$$),
	(20, 'both sides of UNION ALL', $$SELECT 1 FROM (SELECT doc FROM person UNION ALL SELECT doc FROM part) u WHERE doc ->> 'town' = 'common'$$),
	(21, 'groups above an outer join', $$SELECT p.doc ->> 'town', count(*) FROM visit v LEFT JOIN person p ON p.id = v.id GROUP BY 1$$),
	(22, 'two conditions of partitions', $$SELECT 1 FROM part WHERE doc ->> 'town' > 'd' AND doc ->> 'town' < 'u' AND id < 10000$$),
	(23, 'both sides of UNION ALL of documents', $$SELECT 1 FROM (SELECT doc -> 'a' AS a FROM person UNION ALL SELECT doc FROM visit) u WHERE a ->> 'b' = 'v3'$$);
SET indextable.planner = off;
SELECT n, what, "right"(query) FROM shape ORDER BY n;
SET indextable.planner = on;
SELECT n, what, "right"(query) FROM shape ORDER BY n;
-- with indexes on the partitions
CREATE INDEX ON part ((doc ->> 'town'));
ANALYZE part;
SELECT n, what, "right"(query) FROM shape WHERE n IN (13, 14, 17, 19) ORDER BY n;

-- the index that has the statistics is in no plan
CREATE FUNCTION indexes(query text) RETURNS TABLE (index text) LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN QUERY SELECT DISTINCT m[1] FROM regexp_matches(plan::text, '"Index Name": "(\w+)"', 'g') m ORDER BY 1;
END $$;
SET enable_seqscan = off;
SELECT s.n, i.index FROM shape s, indexes(s.query) i WHERE s.n < 13 ORDER BY 1, 2;
SELECT * FROM indexes('SELECT count(*) FROM person');
SELECT * FROM indexes($$SELECT doc ->> 'town' FROM person ORDER BY doc ->> 'town'$$);
SELECT * FROM indexes($$SELECT 1 FROM person p JOIN person q ON p.doc ->> 'town' = q.doc ->> 'town'$$);
SELECT * FROM indexes($$SELECT 1 FROM person WHERE doc ->> 'town' = 'a' OR doc ->> 'last_name' = 'b'$$);
RESET enable_seqscan;

-- what is written in another way gets no statistics: the planner takes its half percent
SELECT expr, estimated('SELECT 1 FROM person WHERE ' || expr) FROM unnest(ARRAY[
	$$doc -> 'town' = '"common"'$$, $$doc['town'] = '"common"'$$, $$lower(doc ->> 'town') = 'common'$$,
	$$(doc ->> 'town')::varchar(3) = 'com'$$, $$(doc ->> 'age')::int = 7$$, $$doc ->> 'nothing' = 'x'$$,
	$$doc -> 'list' ->> 0 = 'e1'$$, $$doc -> 'list' ->> '0' = 'e1'$$, $$doc #>> '{list,00}' = 'e1'$$, $$(doc -> 'age')::numeric(9,1) = 7$$,
	$$doc #>> '{a,b,c}' = 'v3'$$, $$doc #>> '{a,NULL}' = 'v3'$$, $$doc #>> '{a}' = 'v3'$$, $$doc -> 'a' #>> '{}' = 'v3'$$]) expr;
-- a number as another type, and what is a text at last, have those of the field
SELECT indextable.create('by_rank', 'person', '{rank::int}', include => '{even::boolean}') \gset
SELECT indextable.create('part_rank', 'part', '{rank::int}', include => '{age::numeric, even::boolean}') \gset
ANALYZE by_rank, part_rank;
SELECT "right"('SELECT 1 FROM person WHERE ' || expr), "right"('SELECT 1 FROM part WHERE ' || expr), expr FROM unnest(ARRAY[
	$$(doc ->> 'rank')::bigint = 7$$, $$(doc ->> 'rank')::bigint > 195$$, $$(doc ->> 'rank')::numeric BETWEEN 20 AND 30$$, $$(doc ->> 'rank')::float8 < 3$$, $$(doc ->> 'rank')::real IN (1, 2)$$,
	$$(doc ->> 'rank')::int::bigint <> 7$$, $$(doc ->> 'rank')::bigint IS NOT NULL$$, $$doc ->> 'rank' = '7'$$, $$doc ->> 'even' = 'true'$$, $$(doc ->> 'age')::float8 > 990$$, $$(doc -> 'age')::numeric > 990$$, $$(doc ->> 'town')::varchar(100) = 'common'$$]) expr;
SELECT "right"($$SELECT (doc ->> 'rank')::bigint FROM person GROUP BY 1$$) AS grouped;
-- all spellings of a path are one
SELECT expr, "right"('SELECT 1 FROM person WHERE ' || expr) FROM unnest(ARRAY[
	$$jsonb_extract_path_text(doc, 'town') = 'common'$$, $$jsonb_extract_path_text(doc, VARIADIC '{town}') = 'common'$$, $$doc #>> ARRAY['town'] = 'common'$$,
	$$doc['town'] #>> '{}' = 'common'$$, $$doc #> '{}' ->> 'town' = 'common'$$, $$doc #> '{a}' ->> 'b' = 'v3'$$, $$doc['a'] ->> 'b' = 'v3'$$,
	$$doc['a']['b'] #>> '{}' = 'v3'$$, $$jsonb_extract_path(doc, 'a') #>> '{b}' = 'v3'$$, $$doc['list'][0] #>> '{}' = 'e1'$$, $$doc['list'] #>> '{0}' = 'e1'$$,
	$$doc -> 'list' #>> '{0}' = 'e1'$$, $$jsonb_extract_path_text(doc, 'list', '0') = 'e1'$$]) expr;
-- and have the same value, whatever is in a document
SELECT count(*), count(*) FILTER (WHERE false IN (doc #>> '{a}' IS NOT DISTINCT FROM doc ->> 'a', doc #>> '{a}' IS NOT DISTINCT FROM doc['a'] #>> '{}',
	doc #>> '{a}' IS NOT DISTINCT FROM doc #> '{}' ->> 'a', doc #>> '{a,b}' IS NOT DISTINCT FROM doc -> 'a' ->> 'b', doc #>> '{a,b}' IS NOT DISTINCT FROM doc['a'] ->> 'b',
	doc #>> '{a,b}' IS NOT DISTINCT FROM doc['a']['b'] #>> '{}', doc #>> '{a,0}' IS NOT DISTINCT FROM doc['a'] #>> '{0}', doc #>> '{a,0}' IS NOT DISTINCT FROM doc['a'][0] #>> '{}',
	doc #>> '{a,-1}' IS NOT DISTINCT FROM doc['a'][-1] #>> '{}', doc #>> '{a,0,b}' IS NOT DISTINCT FROM doc -> 'a' #> '{0}' ->> 'b', doc #> '{a}' IS NOT DISTINCT FROM doc -> 'a',
	doc #> '{a}' IS NOT DISTINCT FROM doc['a'])) AS other,
	count(*) FILTER (WHERE doc #>> '{a,0}' IS DISTINCT FROM doc -> 'a' ->> 0) AS numbers, count(*) FILTER (WHERE doc #>> '{a,0}' IS DISTINCT FROM doc -> 'a' ->> '0') AS names
FROM (SELECT v::jsonb AS doc FROM unnest(ARRAY[NULL, '1', 'null', '"a"', '[]', '{}', '[1, {"b": 2}]']) v
	UNION ALL SELECT jsonb_build_object('a', v::jsonb) FROM unnest(ARRAY['1', 'null', '"b"', '[]', '{}', '[1]', '[[2]]', '[null]', '[{"b": 3}]', '{"b": 4}', '{"b": null}', '{"0": 5}', '{"-1": 6}', '{"0": {"b": 7}}', '[1, 2]']) v) d;
-- casts are those of the field's type; a collation does not matter
SELECT expr, "right"('SELECT 1 FROM person WHERE ' || expr) FROM unnest(ARRAY[
	$$CAST(doc ->> 'age' AS numeric) < 20$$, $$(doc ->> 'town') COLLATE "C" = 'common'$$, $$(doc ->> 'town') COLLATE "C" < 'd'$$, $$(doc ->> 'town')::varchar = 'common'$$]) expr;

-- types
CREATE TABLE typed (id int PRIMARY KEY, doc jsonb);
INSERT INTO typed SELECT i, jsonb_build_object('i', i, 'b', i % 10 = 0, 'd', date '2020-01-01' + i % 1000, 'ts', timestamptz '2020-01-01Z' + i * interval '1 hour',
	'u', md5((i % 4)::text)::uuid, 'v', 'v' || i % 5, 'n', i % 7 + 0.25, 'c', 'c' || i % 3) FROM generate_series(1, 4000) i;
SELECT indextable.create('typed_i', 'typed', '{i::int}', include => '{b::boolean, d::date, ts::timestamptz, u::uuid, v::varchar(20), "n::numeric(6,2)", "c::char(4)", v::jsonb AS jv}') \gset
ANALYZE typed, typed_i;
SELECT expr, round(q_error('SELECT 1 FROM typed WHERE ' || expr), 1) BETWEEN 0.5 AND 2 AS "right" FROM unnest(ARRAY[
	$$(doc ->> 'i')::int < 100$$, $$(doc ->> 'b')::boolean$$, $$(doc ->> 'd')::date < '2020-01-11'$$, $$(doc ->> 'ts')::timestamptz < '2020-01-05'$$,
	$$(doc ->> 'u')::uuid = 'cfcd2084-95d5-65ef-66e7-dff9f98764da'$$, $$(doc ->> 'v')::varchar(20) = 'v1'$$, $$(doc ->> 'n')::numeric(6,2) = 3.25$$, $$(doc ->> 'c')::char(4) = 'c1'$$,
	$$doc -> 'v' = '"v1"'$$, $$doc['v'] = '"v1"'$$, $$doc #> '{v}' IN ('"v1"', '"v2"')$$]) expr;

-- Rows without an entry. In an index table with two key fields it is not known which of the two they lack: they are lent as long as half of
-- the rows have entries, as if they were NULL in a part of the others; included fields as if they were NULL as often. In both cases what is
-- known of common values is that they have at least as many rows as entries.
CREATE TABLE sparse (id int PRIMARY KEY, doc jsonb);
INSERT INTO sparse SELECT i, jsonb_build_object('k', 'k' || i % 4, 'x', i % 2) || CASE WHEN i % 2 = 0 THEN jsonb_build_object('half', 'h' || i % 8) ELSE '{}' END
	|| CASE WHEN i % 10 = 0 THEN jsonb_build_object('tenth', 't' || i % 20) ELSE '{}' END FROM generate_series(1, 4000) i;
SELECT indextable.create('sparse_half', 'sparse', '{k, half}', include => '{x}', sparse => true) \gset
ANALYZE sparse, sparse_half;
SELECT expr, estimated('SELECT 1 FROM sparse WHERE ' || expr) FROM unnest(ARRAY[$$doc ->> 'half' IS NOT NULL$$, $$doc ->> 'k' = 'k2'$$, $$doc ->> 'k' = 'k1'$$, $$doc ->> 'x' = '0'$$, $$doc ->> 'x' = '1'$$]) expr;
SELECT indextable.drop('sparse_half') \gset
SELECT indextable.create('sparse_tenth', 'sparse', '{k, tenth}', include => '{x}', sparse => true) \gset
ANALYZE sparse_tenth;
SELECT expr, estimated('SELECT 1 FROM sparse WHERE ' || expr) FROM unnest(ARRAY[$$doc ->> 'tenth' IS NOT NULL$$, $$doc ->> 'k' = 'k2'$$, $$doc ->> 'k' = 'k1'$$, $$doc ->> 'x' = '0'$$, $$doc ->> 'x' = '1'$$]) expr;
-- of several index tables the most certain one
SELECT indextable.create('sparse_k', 'sparse', '{k}', include => '{tenth}') \gset
ANALYZE sparse_k;
SELECT expr, estimated('SELECT 1 FROM sparse WHERE ' || expr) FROM unnest(ARRAY[$$doc ->> 'tenth' IS NOT NULL$$, $$doc ->> 'k' = 'k2'$$]) expr;
-- not lent: with a filter, multi-valued, being built, invalid; lent: asynchronous ones
SELECT indextable.create('sparse_x', 'sparse', '{x}', filter => $$doc ->> 'x' = '1'$$) \gset
ANALYZE sparse_x;
SELECT estimated($$SELECT 1 FROM sparse WHERE doc ->> 'x' = '1'$$);
SELECT indextable.drop('sparse_x') \gset
SELECT indextable.create('sparse_x', 'sparse', '{x}', maintenance => 'async') \gset
ANALYZE sparse_x;
SELECT estimated($$SELECT 1 FROM sparse WHERE doc ->> 'x' = '1'$$);

-- what somebody has asked for goes first: extended statistics, indexes
CREATE STATISTICS sparse_expr ON (doc ->> 'x') FROM sparse;
ALTER TABLE sparse_x SET (autovacuum_enabled = off);
INSERT INTO sparse SELECT i, '{"x": 5}' FROM generate_series(4001, 8000) i;
ANALYZE sparse;
SELECT "right"($$SELECT 1 FROM sparse WHERE doc ->> 'x' = '5'$$);
DROP STATISTICS sparse_expr;
SELECT "right"($$SELECT 1 FROM sparse WHERE doc ->> 'x' = '5'$$);
CREATE INDEX ON sparse ((doc ->> 'x'));
ANALYZE sparse;
SELECT "right"($$SELECT 1 FROM sparse WHERE doc ->> 'x' = '5'$$);

-- partitions with other columns, an index table that is partitioned, and partitions that come and go
CREATE TABLE odd (x int, id int PRIMARY KEY, gone int, doc jsonb) PARTITION BY RANGE (id);
ALTER TABLE odd DROP COLUMN gone;
CREATE TABLE odd_1 (doc jsonb, gone int, id int NOT NULL, x int);
ALTER TABLE odd_1 DROP COLUMN gone;
ALTER TABLE odd ATTACH PARTITION odd_1 FOR VALUES FROM (1) TO (1001);
CREATE TABLE odd_2 PARTITION OF odd FOR VALUES FROM (1001) TO (10001) PARTITION BY RANGE (id);
CREATE TABLE odd_2_1 PARTITION OF odd_2 FOR VALUES FROM (1001) TO (2001);
INSERT INTO odd (id, doc) SELECT i, jsonb_build_object('k', CASE WHEN i % 2 = 0 THEN 'even' ELSE 'k' || i % 100 END) FROM generate_series(1, 2000) i;
SELECT indextable.create('odd_k', 'odd', '{k}', partitions => 4) \gset
ANALYZE odd, odd_k;
SELECT estimated($$SELECT 1 FROM odd WHERE doc ->> 'k' = 'even'$$), estimated($$SELECT 1 FROM odd_1 WHERE doc ->> 'k' = 'even'$$),
	estimated($$SELECT 1 FROM odd_2 WHERE doc ->> 'k' = 'even'$$), estimated($$SELECT doc ->> 'k' FROM odd GROUP BY 1$$);
ALTER TABLE odd DETACH PARTITION odd_2;
SELECT estimated($$SELECT 1 FROM odd_2_1 WHERE doc ->> 'k' = 'even'$$), estimated($$SELECT 1 FROM odd_2 WHERE doc ->> 'k' = 'even'$$);
ALTER TABLE odd ATTACH PARTITION odd_2 FOR VALUES FROM (1001) TO (10001);
SELECT estimated($$SELECT 1 FROM odd_2_1 WHERE doc ->> 'k' = 'even'$$), estimated($$SELECT 1 FROM odd_2 WHERE doc ->> 'k' = 'even'$$);
-- a table that another one inherits from has rows of that one, too
CREATE TABLE heir () INHERITS (visit);
SELECT estimated($$SELECT 1 FROM visit WHERE doc ->> 'town' = 'common'$$) > 0 AS planned;

-- prepared statements, over index tables that are dropped or altered
PREPARE q AS SELECT 1 FROM person WHERE doc ->> 'town' = 'common';
CREATE FUNCTION prepared() RETURNS numeric LANGUAGE sql AS $$ SELECT estimated('EXECUTE q') $$;
SELECT prepared();
BEGIN;
SELECT indextable.drop('by_town') \gset
SELECT prepared();
ROLLBACK;
SELECT prepared();
SELECT indextable.alter('by_town', include => '{age::numeric}') \gset
ANALYZE by_town;
SELECT prepared(), estimated($$SELECT 1 FROM person WHERE doc #>> '{a,b}' = 'v1'$$);
BEGIN;
DROP TABLE by_town CASCADE;
SELECT prepared();
ROLLBACK;
BEGIN;
TRUNCATE person;
SELECT count(*) FROM (SELECT prepared()) p;
ROLLBACK;
ALTER TABLE person RENAME COLUMN doc TO document;
SELECT "right"($$SELECT 1 FROM person WHERE document ->> 'town' = 'common'$$);
ALTER TABLE person RENAME COLUMN document TO doc;
SELECT prepared();

-- Bad states: planning never fails. The ALTER TABLE has everything read anew.
CREATE FUNCTION try(VARIADIC statements text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE s text; result text;
BEGIN
	BEGIN
		PERFORM set_config('session_replication_role', 'replica', true);
		FOREACH s IN ARRAY statements LOOP EXECUTE s; END LOOP;
		IF to_regclass('person') IS NOT NULL THEN ALTER TABLE person SET (fillfactor = 90); END IF;
		ALTER TABLE odd ALTER doc SET STATISTICS -1;
		result := concat_ws(' ', estimated('SELECT 1 FROM person WHERE doc ->> ''town'' = ''common'''),
			estimated('SELECT 1 FROM odd WHERE doc ->> ''k'' = ''even'''), estimated('SELECT 1 FROM odd_1 WHERE doc ->> ''k'' = ''even'''));
		RAISE SQLSTATE 'P0099';
	EXCEPTION WHEN SQLSTATE 'P0099' THEN RETURN result;
	END;
END $$;
SELECT try('SELECT 1');
SET client_min_messages = warning;
SELECT what, try(VARIADIC statements) FROM (VALUES
	('no extension', ARRAY['DROP EXTENSION indextable CASCADE']),
	('no catalog', ARRAY['ALTER EXTENSION indextable DROP TABLE indextable_internal.definition', 'DROP TABLE indextable_internal.definition CASCADE']),
	('a catalog with an index less', ARRAY['ALTER TABLE indextable_internal.definition DROP CONSTRAINT definition_pkey CASCADE', 'DROP INDEX indextable_internal.definition_fact_table']),
	('a catalog of another version', ARRAY['ALTER TABLE indextable_internal.definition ADD COLUMN x int']),
	('half restored', ARRAY['DELETE FROM pg_depend WHERE objid = ''by_town''::regclass AND refobjid = ''person''::regclass', 'DROP TRIGGER indextable_guard ON by_town', 'DROP TRIGGER indextable_guard_row ON by_town']),
	('invalid', ARRAY['UPDATE indextable_internal.definition SET state = ''invalid''']),
	('being built', ARRAY['UPDATE indextable_internal.definition SET state = ''building''']),
	('being replaced', ARRAY['UPDATE indextable_internal.definition SET replaces = 1, state = ''building''']),
	('a field that is none', ARRAY['UPDATE indextable_internal.definition SET key = ''{"[*"}''']),
	('a column that is not there', ARRAY['UPDATE indextable_internal.definition SET document = ''nothing''']),
	('no primary key', ARRAY['ALTER TABLE person DROP CONSTRAINT person_pkey CASCADE', 'ALTER TABLE odd DROP CONSTRAINT odd_pkey CASCADE']),
	('an index table that is altered', ARRAY['DROP TRIGGER indextable_guard_row ON by_town', 'ALTER TABLE by_town DROP COLUMN town CASCADE']),
	('an index table of another type', ARRAY['ALTER TABLE by_town ALTER town TYPE bytea USING ''''::bytea', 'ANALYZE by_town']),
	('no index table', ARRAY['DROP TABLE by_town', 'DROP TABLE odd_k']),
	('no triggers', ARRAY['DROP TRIGGER indextable_row ON person', 'DROP TRIGGER indextable_end ON person', 'DROP TRIGGER indextable_truncate ON person'])
) s (what, statements);
RESET client_min_messages;
-- documents that are none: a query of them fails by itself
BEGIN;
SET LOCAL session_replication_role = replica;
ALTER TABLE person ALTER doc TYPE text;
SELECT estimated('SELECT 1 FROM person WHERE id = 1');
ROLLBACK;
-- a queue that is lost
BEGIN;
SET LOCAL session_replication_role = replica;
DO $$ DECLARE q regclass; BEGIN FOR q IN SELECT queue FROM indextable_internal.fact WHERE fact_table = 'sparse'::regclass LOOP EXECUTE 'DROP TABLE ' || q; END LOOP; END $$;
ALTER TABLE sparse SET (fillfactor = 90);
SELECT estimated($$SELECT 1 FROM sparse WHERE doc ->> 'k' = 'k2'$$) > 0 AS planned;
ROLLBACK;

-- Rights. An operator that tells what it has seen gets no values that the user may not read.
CREATE ROLE regress_planner_reader;
GRANT USAGE, CREATE ON SCHEMA planner_statistics TO regress_planner_reader;
CREATE FUNCTION planned(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'EXPLAIN ' || query;
	RETURN 'planned';
EXCEPTION WHEN insufficient_privilege THEN RETURN SQLERRM;
END $$;
CREATE FUNCTION tell(text, text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE COST 0.0001 AS $$ BEGIN RAISE NOTICE 'seen: %', $1; RETURN $1 = $2; END $$;
CREATE OPERATOR === (FUNCTION = tell, LEFTARG = text, RIGHTARG = text, RESTRICT = eqsel);
CREATE TABLE secret (id int PRIMARY KEY, doc jsonb, other jsonb);
INSERT INTO secret SELECT i, jsonb_build_object('k', 'secret') FROM generate_series(1, 1000) i;
SELECT indextable.create('secret_k', 'secret', '{k}', document => 'doc') \gset
ANALYZE secret, secret_k;
CREATE VIEW open_view AS SELECT * FROM secret;
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM secret WHERE id > 1;
GRANT SELECT ON open_view, barrier TO regress_planner_reader;
SELECT planned($$SELECT 1 FROM secret WHERE doc ->> 'k' === 'x'$$);
-- no rights
SET ROLE regress_planner_reader;
SELECT planned($$SELECT 1 FROM secret WHERE doc ->> 'k' === 'x'$$);
RESET ROLE;
-- of another column
GRANT SELECT (id, other) ON secret TO regress_planner_reader;
SET ROLE regress_planner_reader;
SELECT planned($$SELECT 1 FROM secret WHERE doc ->> 'k' === 'x'$$);
RESET ROLE;
-- of the column: may see it
GRANT SELECT (doc) ON secret TO regress_planner_reader;
SET ROLE regress_planner_reader;
SELECT planned($$SELECT 1 FROM secret WHERE doc ->> 'k' === 'x'$$);
RESET ROLE;
-- by a view: its owner's rights; not through a barrier
REVOKE ALL ON secret FROM regress_planner_reader;
REVOKE SELECT (id, other, doc) ON secret FROM regress_planner_reader;
SET ROLE regress_planner_reader;
SELECT planned($$SELECT 1 FROM open_view WHERE doc ->> 'k' === 'x'$$);
SELECT planned($$SELECT 1 FROM barrier WHERE doc ->> 'k' === 'x'$$);
RESET ROLE;
-- row security
GRANT SELECT ON secret TO regress_planner_reader;
ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON secret USING (id % 2 = 0);
SET ROLE regress_planner_reader;
SELECT planned($$SELECT 1 FROM secret WHERE doc ->> 'k' === 'x'$$);
-- = tells nothing
SELECT estimated($$SELECT 1 FROM secret WHERE doc ->> 'k' = 'x'$$), estimated($$SELECT 1 FROM secret WHERE doc ->> 'k' = 'secret'$$);
SELECT count(*) FROM secret WHERE doc ->> 'k' = 'secret';
RESET ROLE;
-- partitions: rights are those on the table that is named
CREATE TABLE secrets (id int, doc jsonb, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE secrets_1 (doc jsonb, id int NOT NULL);
ALTER TABLE secrets ATTACH PARTITION secrets_1 FOR VALUES FROM (1) TO (10000);
INSERT INTO secrets SELECT id, doc FROM secret;
SELECT indextable.create('secrets_k', 'secrets', '{k}') \gset
ANALYZE secrets, secrets_k;
GRANT SELECT (doc) ON secrets TO regress_planner_reader;
GRANT SELECT (id) ON secrets_1 TO regress_planner_reader;
SET ROLE regress_planner_reader;
SELECT planned($$SELECT 1 FROM secrets WHERE doc ->> 'k' === 'x'$$);
SELECT planned($$SELECT 1 FROM secrets_1 WHERE doc ->> 'k' === 'x'$$);
RESET ROLE;

-- other commands, and tables that are no fact tables
SELECT planned($$UPDATE person SET id = id WHERE doc ->> 'town' = 'common'$$);
SELECT planned($$DELETE FROM person WHERE doc ->> 'town' = 'common'$$);
CLUSTER person USING person_pkey;
SELECT estimated($$SELECT 1 FROM by_opt WHERE opt = 'o7'$$) > 0 AS planned, estimated('SELECT 1 FROM pg_statistic WHERE starelid = 1') > 0 AS planned;

-- The server takes a condition on the elements of an array to be true of a hundredth of the rows. Entries tell better what a LIMIT leaves
-- to be fetched.
CREATE TABLE tagged (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO tagged SELECT i, jsonb_build_object('tags', jsonb_build_array('t' || i % 10), 'n', i % 1000, 'x', repeat('x', 300)) FROM generate_series(1, 20000) i;
SELECT indextable.create('tagged_tags', 'tagged', '{tags[*], n::int}') \gset
VACUUM ANALYZE tagged, tagged_tags;
SET indextable.planner = on;
EXPLAIN (COSTS OFF) SELECT doc FROM tagged WHERE doc -> 'tags' @> '["t1"]' ORDER BY (doc ->> 'n')::int LIMIT 200;
EXPLAIN (COSTS OFF) SELECT doc FROM tagged WHERE doc -> 'tags' ? 't1' AND doc ->> 'x' > 'a' ORDER BY (doc ->> 'n')::int LIMIT 200;
EXPLAIN (COSTS OFF) SELECT doc FROM tagged WHERE doc -> 'tags' ?| '{t1,t2}' ORDER BY (doc ->> 'n')::int LIMIT 200;

SET client_min_messages = warning;
DROP SCHEMA planner_statistics CASCADE;
DROP ROLE regress_planner_reader;
