-- Fields that are SQL expressions over the document and the columns.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/planner.psql
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE person (id int, part int, born date, "First name" text COLLATE "C", mood mood, doc jsonb, PRIMARY KEY (part, id)) PARTITION BY LIST (part);
CREATE TABLE person_1 PARTITION OF person FOR VALUES IN (1);
CREATE TABLE person_2 (doc jsonb, "First name" text COLLATE "C", mood mood, id int NOT NULL, part int NOT NULL, born date);
ALTER TABLE person ATTACH PARTITION person_2 DEFAULT;
INSERT INTO person SELECT i, i % 3, date '1970-01-01' + 10 * i, 'N' || i % 10, (enum_range(NULL::mood))[1 + i % 3], CASE i % 11 WHEN 0 THEN '{"n": 3}' WHEN 1 THEN '{"email": null, "town": "X", "n": 4}'
		ELSE jsonb_build_object('email', (ARRAY['A', 'b', 'C'])[1 + i % 3] || i || '@Example.org', 'n', i % 50, 'town', 'Town ' || i % 20, 'tags', ARRAY['t' || i % 3]) END
	FROM generate_series(1, 300) i;
SELECT indextable.create('person_by_email', 'person', ARRAY['(lower(doc ->> ''email'')) AS email'], is_unique => true) \gset
SELECT indextable.create('person_by_month', 'person', ARRAY['(date_trunc(''month'', born::timestamp)) AS month', '(upper("First name")) AS "Name"'],
	include => ARRAY['(length(doc ->> ''town'')) AS len', '((doc ->> ''n'')::int % 10)::bigint AS digit', 'town']) \gset
SELECT indextable.create('person_by_digit', 'person', ARRAY['((doc ->> ''n'')::int % 10) AS digit', '((doc -> ''tags'') -> 0) AS tag', '(mood <> ''sad'') AS fine'], maintenance => 'async', on_mismatch => 'skip') \gset
SELECT indextable.drain();
SELECT indextable.definition(t) FROM unnest('{person_by_email,person_by_month,person_by_digit}'::regclass[]) t;
SELECT attname, format_type(atttypid, atttypmod), attcollation::regcollation FROM pg_attribute WHERE attrelid = 'person_by_month'::regclass AND attnum > 0 ORDER BY attnum;
ANALYZE person;

CREATE FUNCTION pg_temp.wrong() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT t || ': ' || to_json(v)::text FROM unnest('{person_by_email,person_by_month,person_by_digit}'::text[]) t, indextable.verify(t::regclass) v
	UNION ALL (SELECT 'email ' || r::text FROM (TABLE person_by_email EXCEPT ALL SELECT lower(doc ->> 'email'), part, id FROM person) r)
	UNION ALL (SELECT 'no email ' || r::text FROM (SELECT lower(doc ->> 'email'), part, id FROM person WHERE doc ->> 'email' IS NOT NULL EXCEPT ALL TABLE person_by_email) r)
$$;
SELECT pg_temp.wrong();

-- Plain SQL: the same expression finds entries, and entries alone are enough where they have what is asked for.
SELECT pg_temp.differences(query, scans, args, ordered => query ~ 'ORDER') FROM (VALUES
	($$SELECT * FROM person WHERE lower(doc ->> 'email') = 'b4@example.org'$$, 'person_by_email', NULL),
	($$SELECT id FROM person WHERE lower(doc ->> 'email') IN ('b4@example.org', 'c5@example.org', 'A3@Example.org')$$, 'only person_by_email', NULL),
	($$SELECT id FROM person WHERE lower(doc #>> '{email}') = 'b4@example.org'$$, 'only person_by_email', NULL),
	($$SELECT lower(doc['email'] #>> '{}') FROM person WHERE lower(jsonb_extract_path_text(doc, 'email')) IN ('b4@example.org', 'c5@example.org')$$, 'only person_by_email', NULL),
	($$SELECT id FROM person WHERE lower(doc::json ->> 'email') = 'b4@example.org' AND lower(doc #>> '{email,0}') IS NULL$$, 'person_by_email', NULL),
	($$SELECT id FROM person WHERE lower(doc #>> '{email,x}') = 'b4@example.org' OR upper(doc #>> '{email}') = 'b4@example.org'$$, NULL, NULL),
	($$SELECT lower(doc ->> 'email') FROM person WHERE lower(doc ->> 'email') > 'b' ORDER BY lower(doc ->> 'email') DESC LIMIT 7$$, 'only person_by_email', NULL),
	($$SELECT id FROM person WHERE lower(doc ->> 'email') = $1$$, 'only person_by_email', $$'b4@example.org'$$),
	($$SELECT p.id, v.x FROM (VALUES ('b4@example.org'), ('c5@example.org')) v(x) LEFT JOIN person p ON lower(p.doc ->> 'email') = v.x$$, NULL, NULL),
	($$SELECT ((doc ->> 'n')::int % 10)::bigint, count(*) FROM person WHERE date_trunc('month', born::timestamp) >= '1972-02-01' AND upper("First name") > 'N5' GROUP BY 1$$, 'only person_by_month', NULL),
	($$SELECT doc ->> 'town', length(doc ->> 'town') + 1 FROM person WHERE date_trunc('month', born::timestamp) = '1972-02-01'$$, 'only person_by_month', NULL),
	($$SELECT id FROM person WHERE (doc ->> 'n')::int % 10 = 3 AND doc -> 'tags' -> 0 = '"t1"' AND mood <> 'sad'$$, NULL, NULL),
	($$SELECT id FROM person WHERE lower(doc ->> 'email') LIKE 'b%'$$, NULL, NULL),
	-- Others are not the same: an index table is read as a whole, under force.
	($$SELECT id FROM person WHERE upper(doc ->> 'email') = 'B4@EXAMPLE.ORG'$$, 'person_by_month', NULL),
	($$SELECT id FROM person WHERE lower(doc ->> 'emails') = 'b4@example.org'$$, 'person_by_month', NULL),
	($$SELECT id FROM person WHERE date_trunc('month', born) = '1972-02-01'$$, 'person_by_month', NULL)) q (query, scans, args);
SELECT entry FROM indextable.query('person_by_email', '{"email": "b4@example.org"}');

-- Writes.
UPDATE person SET doc = doc || '{"email": "B4@EXAMPLE.org"}' WHERE id = 4;
INSERT INTO person VALUES (1000, 1, '2000-01-01', 'x', 'ok', '{"email": "B4@example.ORG"}');
INSERT INTO person VALUES (1000, 1, '2000-01-01', 'x', 'ok', '{"email": "x", "n": "y"}');
UPDATE person SET doc = doc || '{"email": "New@x"}', born = '2001-02-03', part = 5 WHERE id = 7;
DELETE FROM person WHERE id = 8;
SELECT indextable.drain();
SELECT pg_temp.wrong();

-- What expressions use is renamed, and gets another type.
ALTER TABLE person RENAME "First name" TO first;
ALTER TYPE mood RENAME TO state_of_mind;
ALTER TYPE state_of_mind RENAME VALUE 'sad' TO 'blue';
ALTER TABLE person ALTER born TYPE timestamp;
SELECT indextable.drain();
SELECT indextable.definition(t) FROM unnest('{person_by_month,person_by_digit}'::regclass[]) t;
SELECT pg_temp.wrong();
SELECT pg_temp.differences($$SELECT upper(first) FROM person WHERE date_trunc('month', born) = '1972-02-01'$$, 'only person_by_month');
ALTER TABLE person DROP COLUMN first;
DROP TYPE state_of_mind;
-- A definition makes the same index table again, and is compared with what there is.
SELECT indextable.create('person_by_month', 'person', ARRAY['(date_trunc(''month'', born)) AS month', '(upper(first)) AS "Name"'],
	include => ARRAY['(length(doc ->> ''town'')) AS len', '((doc ->> ''n'')::int % 10)::bigint AS digit', 'town'], if_not_exists => true);
SELECT indextable.create('person_by_month', 'person', ARRAY['(date_trunc(''year'', born)) AS month', '(upper(first)) AS "Name"'],
	include => ARRAY['(length(doc ->> ''town'')) AS len', '((doc ->> ''n'')::int % 10)::bigint AS digit', 'town'], if_not_exists => true);
SELECT indextable.definition('person_by_month') AS again \gset
DROP TABLE person_by_month;
:again;
SELECT indextable.alter('person_by_month', include => ARRAY['(doc ->> ''town'' || ''!'') AS loud']) \gset
CALL indextable.rebuild('person_by_month');
SELECT pg_temp.wrong();

-- Functions of users run as the owner, and plain SQL does not take entries for what they return.
CREATE SCHEMA app;
CREATE FUNCTION app.domain(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$SELECT split_part($1, '@', 2)$$;
SELECT indextable.create('person_by_domain', 'person', ARRAY['(app.domain(doc ->> ''email'')) AS domain']) \gset
SELECT count(*) FROM person_by_domain WHERE domain = 'Example.org';
SELECT pg_temp.differences($$SELECT count(*) FROM person WHERE app.domain(doc ->> 'email') = 'Example.org'$$, 'person_by_month');
ALTER FUNCTION app.domain(text) RENAME TO host;
ALTER SCHEMA app RENAME TO lib;
SELECT indextable.definition('person_by_domain');
DROP FUNCTION lib.host(text);
UPDATE person SET doc = doc || '{"email": "z@z"}' WHERE id = 9;
SELECT * FROM indextable.verify('person_by_domain');
DROP TABLE person_by_domain;

-- Errors.
SELECT indextable.create('bad', 'person', ARRAY['(lower(doc ->> ''email''))']);
SELECT indextable.create('bad', 'person', ARRAY['(now()) AS n']);
SELECT indextable.create('bad', 'person', ARRAY['((doc ->> ''at'')::timestamptz) AS n']);
SELECT indextable.create('bad', 'person', ARRAY['(doc ->> ''at'') AS n; DROP TABLE person']);
SELECT indextable.create('bad', 'person', ARRAY['(doc ->> ''at'', 1) AS n']);
SELECT indextable.create('bad', 'person', ARRAY['(person) AS n']);
SELECT indextable.create('bad', 'person', ARRAY['((SELECT 1)) AS n']);
SELECT indextable.create('bad', 'person', ARRAY['(nope ->> ''x'') AS n']);
SELECT indextable.create('bad', 'person', ARRAY['(lower(doc ->> ''x'') AS n']);
SELECT indextable.create('bad', 'person', ARRAY['(point(1, 2)) AS n']);
SELECT indextable.create('bad', 'person', ARRAY['(1) AS id']);

-- a guard, in place of on_mismatch => 'skip', under which no plain query uses an index table any more
CREATE TABLE mixed (id int PRIMARY KEY, doc jsonb);
INSERT INTO mixed SELECT i, jsonb_build_object('age', i % 90) FROM generate_series(1, 2000) i;
INSERT INTO mixed VALUES (0, '{"age": "unknown"}'), (-1, '{"age": 88.5}'), (-2, '{"age": [89]}'), (-3, '{}');
SELECT indextable.create('mixed_skip', 'mixed', '{age::int}', on_mismatch => 'skip'),
	indextable.create('mixed_guard', 'mixed', ARRAY['(CASE jsonb_typeof(doc -> ''age'') WHEN ''number'' THEN (doc ->> ''age'')::numeric END) AS age']) \gset
ANALYZE mixed;
SELECT condition, index_table, used FROM unnest(ARRAY[$$CASE jsonb_typeof(doc -> 'age') WHEN 'number' THEN (doc ->> 'age')::numeric END > 88$$, $$doc -> 'age' = '30'$$]) condition,
	indextable.explain('SELECT id FROM mixed WHERE ' || condition) ORDER BY 1, 2;
SELECT count(*), min(id) FROM mixed WHERE CASE jsonb_typeof(doc -> 'age') WHEN 'number' THEN (doc ->> 'age')::numeric END > 88;
SET indextable.planner = off;
SELECT count(*), min(id) FROM mixed WHERE CASE jsonb_typeof(doc -> 'age') WHEN 'number' THEN (doc ->> 'age')::numeric END > 88;
RESET indextable.planner;
DROP TABLE mixed;

DROP TABLE person;
DROP SCHEMA lib CASCADE;
DROP TYPE state_of_mind;
