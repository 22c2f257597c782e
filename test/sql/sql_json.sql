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
SELECT 'no index tables' FROM (SELECT count(indextable.create('fact_' || name, 'fact', key, sparse => true)) AS n FROM (VALUES ('town', '{town}'::text[]), ('age', '{age::int}'), ('ok', '{ok::boolean}'), ('p', '{o.p}'), ('tags', '{tags[*]}')) i (name, key)) made WHERE n <> 5;
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
-- JSON_TABLE() over the elements of an array: conditions on columns of one element are searched together.
CREATE TABLE purchase (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO purchase SELECT i, jsonb_build_object('lines', (SELECT coalesce(jsonb_agg(jsonb_build_object('sku', 's' || i * n % 7, 'qty', CASE WHEN n = 2 THEN to_jsonb((i % 9)::text) ELSE to_jsonb(i % 9) END)), '[]') FROM generate_series(1, i % 5) n),
	'orders', jsonb_build_array(jsonb_build_object('no', i % 3, 'lines', '[]'::jsonb), jsonb_build_object('no', i % 4, 'lines', jsonb_build_array(jsonb_build_object('sku', 's' || i % 7)))))
	FROM generate_series(1, 200) i;
SELECT indextable.create('line', 'purchase', '{lines[*].sku, lines[*].qty::int}') \gset
ANALYZE purchase;
CREATE TABLE unnested (scans text, query text);
INSERT INTO unnested VALUES
	('line', $$SELECT id FROM purchase WHERE EXISTS (SELECT FROM JSON_TABLE(doc, '$.lines[*]' COLUMNS (sku text PATH '$.sku', qty int PATH '$.qty')) WHERE sku = 's3' AND qty > 4)$$),
	('line', $$SELECT id, j.* FROM purchase, JSON_TABLE(doc, '$.lines[*]' COLUMNS (n FOR ORDINALITY, qty int, sku text, price numeric)) j WHERE sku = 's3' AND qty BETWEEN 3 AND 5$$),
	('line', $$SELECT id, j.* FROM purchase p CROSS JOIN LATERAL JSON_TABLE(p.doc -> 'lines', '$[*]' COLUMNS (qty int ERROR ON ERROR, sku text)) j WHERE sku = 's3' AND qty = 3$$),
	('line', $$SELECT id FROM purchase WHERE 's3' IN (SELECT sku FROM JSON_TABLE(doc, '$.lines[*]' COLUMNS (sku text, qty int)) WHERE qty = 3)$$),
	('line', $$SELECT id, j.* FROM purchase, JSON_TABLE(doc, '$.lines[*]' COLUMNS (sku text, NESTED PATH '$.parts[*]' COLUMNS (no int))) j WHERE sku = 's3'$$),
	(NULL, $$SELECT id, o.no, l.sku FROM purchase, JSON_TABLE(doc, '$.orders[*]' COLUMNS (no int, lines jsonb)) o, JSON_TABLE(o.lines, '$[*]' COLUMNS (sku text)) l WHERE no = 2 AND sku = 's3'$$),
	(NULL, $$SELECT id, j.* FROM purchase LEFT JOIN LATERAL JSON_TABLE(doc, '$.lines[*]' COLUMNS (sku text, qty int)) j ON sku = 's3' AND qty = 3$$),
	(NULL, $$SELECT id, j.* FROM purchase, JSON_TABLE(doc, '$.lines' COLUMNS (sku text)) j WHERE sku = 's3'$$),
	(NULL, $$SELECT id, j.* FROM purchase, JSON_TABLE(doc, 'strict $.lines[*]' COLUMNS (sku text)) j WHERE sku = 's3'$$),
	(NULL, $$SELECT id, j.* FROM purchase, JSON_TABLE(doc, '$.lines[*]' COLUMNS (sku text DEFAULT 's3' ON EMPTY)) j WHERE sku = 's3'$$),
	(NULL, $$SELECT id, j.* FROM purchase, JSON_TABLE(doc, '$' COLUMNS (id2 FOR ORDINALITY, NESTED PATH '$.lines[*]' COLUMNS (sku text))) j WHERE sku = 's3'$$),
	(NULL, $$SELECT id, j.* FROM purchase, JSON_TABLE(doc, '$.lines[*] ? (@.qty > $q)' PASSING 3 AS q COLUMNS (sku text)) j WHERE sku = 's3'$$);
SELECT d FROM unnested q, pg_temp.differences(query, scans) d;
-- rows in which such a path finds what entries have not, and others
INSERT INTO purchase VALUES (1001, '{"lines": {"sku": "s3", "qty": 3}}'), (1002, '{"lines": [{"qty": 3}, null, 5, {}]}'), (1003, '{"lines": "s3"}'), (1004, '{}'), (1005, 'null');
SELECT d FROM unnested q, pg_temp.differences(query, scans) d;
INSERT INTO purchase VALUES (1006, '{"lines": [[{"sku": "s3", "qty": 3}]]}');
SELECT d FROM unnested q, pg_temp.differences(query, 'native') d;
DELETE FROM purchase WHERE id = 1006;
SELECT 'differs' FROM indextable.verify('purchase');
INSERT INTO purchase VALUES (1007, '[{"lines": [{"sku": "s3", "qty": 3}]}]');
SELECT d FROM unnested q, pg_temp.differences(query, 'native') d;
DELETE FROM purchase WHERE id = 1007;
SELECT 'differs' FROM indextable.verify('purchase');
INSERT INTO purchase VALUES (1008, '{"lines": [{"sku": ["s3"], "qty": 3}]}');
SELECT d FROM unnested q, pg_temp.differences(query, 'native') d;
-- A comparison of enums calls nothing of a user's, so a filter with one is believed.
CREATE TYPE e AS ENUM ('a', 'b', 'c');
CREATE TABLE enums (id int PRIMARY KEY, doc jsonb, e e);
INSERT INTO enums VALUES (1, '{"k": 1}', 'a');
SELECT indextable.create('enums_k', 'enums', '{k}', filter => $$e = 'a' OR e IN ('b', 'c')$$) \gset
SELECT d FROM pg_temp.differences($$SELECT * FROM enums WHERE doc ->> 'k' = '1' AND e = 'a'$$, 'enums_k') d;
DROP TABLE enums;
DROP TYPE e;
-- A constructor of JSON looks up casts to json, also of an array's elements, a row's columns and a domain's type. They are called
-- as the owner.
CREATE ROLE regress_it_json;
GRANT CREATE ON SCHEMA sql_json TO regress_it_json;
GRANT USAGE ON SCHEMA sql_json TO PUBLIC;
SET ROLE regress_it_json;
CREATE TABLE called_as (who name, path text);
GRANT ALL ON called_as TO PUBLIC;
CREATE TYPE e AS ENUM ('a', 'b', 'c');
CREATE TYPE r AS (e e);
CREATE DOMAIN d AS e;
CREATE FUNCTION note() RETURNS void LANGUAGE plpgsql AS $$ BEGIN INSERT INTO sql_json.called_as VALUES (current_user, current_setting('search_path')); END $$;
CREATE FUNCTION to_j(value e) RETURNS json IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
	PERFORM sql_json.note();
	RETURN to_json('cast ' || value::text);
END $$;
CREATE CAST (e AS json) WITH FUNCTION to_j(e);
SELECT format('CREATE TABLE made%s (id int PRIMARY KEY, doc jsonb, e e, es e[], r r, d d)', i),
	format('DO $do$ BEGIN PERFORM indextable.create(%L, %L, %L, filter => %L); END $do$', 'made_' || i, 'made' || i, '{k}', filter)
	FROM (VALUES (1, $$JSON_OBJECT('a': e) IS NOT NULL$$), (2, $$JSON_SCALAR(d) IS NOT NULL$$),
		(3, $$JSON_SERIALIZE(JSON_ARRAY(1, e)) LIKE '%cast a%'$$), (4, $$JSON_ARRAY(COALESCE(e, e) RETURNING text) LIKE '%cast a%'$$),
		(5, $$JSON_VALUE(JSON_OBJECT('a': e RETURNING jsonb), '$.a') = 'cast a'$$), (6, $$JSON_OBJECT('a': CASE WHEN id > 0 THEN d END) IS NOT NULL$$)) c (i, filter) \gexec
RESET ROLE;
\c
SET search_path = sql_json;
SET client_min_messages = warning;
SELECT format('INSERT INTO made%s VALUES (1, %L, %L, %L, %L, %L)', i, '{"k": 1}', 'a', '{a}', '(a)', 'a') FROM generate_series(1, 6) i \gexec
SELECT 'cast called as', *, count(*) FROM called_as GROUP BY who, path HAVING NOT (who = 'regress_it_json' AND path = 'pg_catalog, pg_temp');
SELECT 'cast not called' WHERE NOT EXISTS (TABLE called_as);
SELECT 'entries missing', count(*) FROM (SELECT id FROM made_1 UNION ALL SELECT id FROM made_2 UNION ALL SELECT id FROM made_3 UNION ALL
	SELECT id FROM made_4 UNION ALL SELECT id FROM made_5 UNION ALL SELECT id FROM made_6) m HAVING count(*) <> 6;
-- A cast that is dropped or made is noticed: without it, the value depends on the labels.
DROP CAST (e AS json);
DO $$ BEGIN
	INSERT INTO made3 VALUES (2, '{"k": 2}', 'a');
	RAISE WARNING 'dropped cast is not noticed';
EXCEPTION WHEN invalid_object_definition THEN
END $$;
CREATE CAST (e AS json) WITH FUNCTION to_j(e);
INSERT INTO made3 VALUES (3, '{"k": 3}', 'a');
SELECT 'entry missing' WHERE NOT EXISTS (SELECT FROM made_3 WHERE id = 3);
SET client_min_messages = warning;
DROP SCHEMA sql_json CASCADE;
DROP ROLE regress_it_json;
\endif
