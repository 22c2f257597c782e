-- The entries of one row are not too large together: each of those of an array has a copy of the document, of included
-- fields and of the primary key, so that one row could be written as often as its array is long.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA large;
SET search_path = large;
SET indextable.advice = off;
CREATE TABLE f (id text PRIMARY KEY, doc jsonb);
-- elements, of a document with so many bytes
CREATE FUNCTION d(elements int, bytes int) RETURNS jsonb LANGUAGE sql AS
	$$ SELECT jsonb_build_object('t', (SELECT jsonb_agg(g) FROM generate_series(1, elements) g), 'x', repeat('x', bytes)) $$;

-- ---- error
SELECT indextable.create('f_doc', 'f', '{t[*]::int AS tag}', strategy => 'denormalized') \gset
SELECT indextable.create('f_x', 'f', '{t[*]::int AS tag}', include => '{x}') \gset
SELECT indextable.create('f_tag', 'f', '{t[*]::int AS tag}') \gset
INSERT INTO f VALUES ('fits', d(10, 5000000)), ('long', d(1000, 10)), ('one', d(1, 70000000));
INSERT INTO f VALUES ('large', d(70, 1000000));
\echo :LAST_ERROR_SQLSTATE
UPDATE f SET doc = d(14, 5000000) WHERE id = 'fits';
UPDATE f SET id = repeat('i', 2000), doc = d(40000, 10) WHERE id = 'long';
DELETE FROM f WHERE id = 'one';
-- who may not read the table is not told what is in it
CREATE ROLE regress_large;
GRANT USAGE ON SCHEMA large TO regress_large;
GRANT INSERT ON f TO regress_large;
SET ROLE regress_large;
INSERT INTO f SELECT 'secret', jsonb_build_object('t', (SELECT jsonb_agg(g) FROM generate_series(1, 70) g), 'x', repeat('x', 1000000));
RESET ROLE;
SELECT indextable.drop('f_doc'), indextable.drop('f_x'), indextable.drop('f_tag') \gset
INSERT INTO f VALUES ('large', d(70, 1000000));
SELECT indextable.create('f_doc', 'f', '{t[*]::int AS tag}', strategy => 'denormalized') \gset
-- what each has is small
SELECT indextable.create('f_tag', 'f', '{t[*]::int AS tag}') \gset
SELECT id, count(*) FROM f_tag GROUP BY 1 ORDER BY 1;

-- ---- skip
SELECT indextable.create('f_doc', 'f', '{t[*]::int AS tag}', strategy => 'denormalized', on_mismatch => 'skip') \gset
SELECT index_table, skipped FROM indextable.index_table_stats WHERE index_table = 'f_doc'::regclass;
SELECT id, count(*) FROM f_doc GROUP BY 1 ORDER BY 1;
UPDATE f SET doc = d(3, 1000000) WHERE id = 'large';
UPDATE f SET doc = d(20, 4000000) WHERE id = 'fits';
SELECT id, count(*) FROM f_doc GROUP BY 1 ORDER BY 1;
CALL pg_temp.no_rows($$indextable.verify('f_doc')$$);
SELECT indextable.drop('f_doc') \gset

-- ---- an asynchronous one rejects the row
UPDATE f SET doc = d(10, 4000000) WHERE id = 'fits';
SELECT indextable.create('f_doc', 'f', '{t[*]::int AS tag}', strategy => 'denormalized', maintenance => 'async') \gset
UPDATE f SET doc = d(30, 4000000) WHERE id = 'large';
INSERT INTO f VALUES ('small', d(2, 10));
SELECT indextable.drain('f') \gset
SELECT primary_key, sqlstate, message, next_try FROM indextable.rejected ORDER BY 1;
SELECT kind, primary_key, problem FROM indextable.verify('f_doc') ORDER BY 2;
UPDATE f SET doc = d(2, 10);
SELECT indextable.drain('f') \gset
CALL pg_temp.no_rows('indextable.rejected');
CALL pg_temp.compare('f_doc', $$SELECT e::int, id, doc FROM f, jsonb_array_elements_text(doc -> 't') e$$);

-- ---- many rows whose entries are many bytes: they are written part by part
TRUNCATE f;
CREATE VIEW text_of AS SELECT g, (SELECT string_agg(md5((g * 100 + h)::text), '') FROM generate_series(1, 40) h) AS x FROM generate_series(1, 200) g;
INSERT INTO f SELECT 'n' || g, jsonb_build_object('t', (SELECT jsonb_agg(e) FROM generate_series(g, g + 99) e), 'x', x) FROM text_of;
SELECT indextable.drain('f') AS changes;
CALL pg_temp.compare('f_doc', $$SELECT e::int, id, doc FROM f, jsonb_array_elements_text(doc -> 't') e$$);
UPDATE f SET doc = doc || jsonb_build_object('t', (SELECT jsonb_agg(e) FROM generate_series(1, 50 + length(id)) e)) WHERE id < 'n5';
DELETE FROM f WHERE id > 'n90';
SELECT indextable.drain('f') AS changes;
CALL pg_temp.compare('f_doc', $$SELECT e::int, id, doc FROM f, jsonb_array_elements_text(doc -> 't') e$$);
DROP SCHEMA large CASCADE;
DROP ROLE regress_large;
CALL pg_temp.no_rows('pg_temp.leftovers()');
