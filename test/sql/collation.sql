-- Nondeterministic collations: which keys are equal is the collation's business,
-- which bytes are stored is not.  Needs a server with ICU.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
SELECT count(*) = 0 AS no_icu FROM pg_collation WHERE collprovider = 'i' \gset
\if :no_icu
\quit
\endif
CREATE SCHEMA collation_test;
SET search_path = collation_test;
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE doc (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('by_k', 'doc', '{k COLLATE collation_test.nocase}') \gset
SELECT indextable.create('by_tag', 'doc', '{tags[*] COLLATE collation_test.nocase AS tag}') \gset
\d by_k
INSERT INTO doc VALUES (1, '{"k": "ABC", "tags": ["x", "X", "y"]}'), (2, '{"k": "abc", "tags": ["Y"]}'), (3, '{"k": "abd"}');
-- equal keys are found whatever their case
SELECT id FROM indextable.lookup(NULL::doc, 'by_k', '{"k": "aBc"}') ORDER BY id;
SELECT id FROM indextable.lookup(NULL::doc, 'by_tag', '{"tag": "x"}');
SELECT entry FROM indextable.query('by_k', '{"k": "aBc"}');
SELECT entry FROM indextable.query('by_k', condition => '{"k": {">": "ABC"}}');
SELECT cursor FROM indextable.query('by_k', page_size => 1) \gset
SELECT entry FROM indextable.query('by_k', cursor => :'cursor');
SELECT entry FROM indextable.query('by_k', condition => '{"k": {"begins_with": "a"}}');
\echo :LAST_ERROR_SQLSTATE
-- a change of case alone is a change
UPDATE doc SET doc = '{"k": "Abc"}' WHERE id = 1;
SELECT * FROM by_k ORDER BY id;
UPDATE doc SET doc = '{"k": "abd", "tags": ["z"]}' WHERE id = 1;
UPDATE doc SET doc = doc || '{"tags": ["Z"]}' WHERE id = 1;
SELECT * FROM by_tag ORDER BY id;
CALL pg_temp.compare('by_k', $$SELECT doc #>> '{k}', id FROM doc WHERE doc #>> '{k}' IS NOT NULL$$);
CALL pg_temp.compare('by_tag', $$SELECT t, id FROM doc, jsonb_array_elements_text(doc -> 'tags') t$$);
-- unique under the collation
SELECT indextable.create('one', 'doc', '{u COLLATE collation_test.nocase}', is_unique => true) \gset
INSERT INTO doc VALUES (10, '{"u": "One"}');
INSERT INTO doc VALUES (11, '{"u": "oNE"}');
UPDATE doc SET doc = '{"u": "ONE"}' WHERE id = 10;
SELECT * FROM one;

-- many rows, in another order than their bytes
SELECT indextable.create('by_kind', 'doc', ARRAY['kind COLLATE "und-x-icu"']) \gset
CREATE FUNCTION doc(i int) RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_build_object('kind', v, 'tags', jsonb_build_array(v, lower(v))) FROM (SELECT (ARRAY['b', 'A', 'C'])[1 + i % 3] AS v) k
$$;
INSERT INTO doc SELECT i, doc(i) FROM generate_series(100, 2000) i;
UPDATE doc SET doc = doc(id + 1) WHERE id % 2 = 0 AND id >= 100;
DELETE FROM doc WHERE id % 5 > 0;
CALL pg_temp.compare('by_kind', $$SELECT doc #>> '{kind}', id FROM doc$$);
SET indextable.planner = off;
SELECT count(*) FROM by_tag WHERE id >= 100 AND NOT EXISTS (SELECT FROM doc, jsonb_array_elements_text(doc -> 'tags') t WHERE doc.id = by_tag.id AND t = by_tag.tag);

SET client_min_messages = warning;
DROP SCHEMA collation_test CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
