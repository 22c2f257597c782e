-- Long documents: a field is found wherever it stands, however the document is stored.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA documents;
SET search_path = documents;

-- Members in all places: before, among and behind long ones, nested and not, in
-- documents of 100 bytes to 40 kB, compressed, out of line, or both.
CREATE FUNCTION filler(seed int, bytes int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN seed % 2 = 0 THEN repeat(md5(seed::text), bytes / 32)
		ELSE (SELECT coalesce(string_agg(md5((seed + i)::text), ''), '') FROM generate_series(1, bytes / 32) i) END $$;
CREATE FUNCTION document(i int) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
	SELECT jsonb_strip_nulls(jsonb_build_object(
		'k', 'k' || i % 10,
		'n', CASE WHEN i % 7 > 0 THEN i * 1000000000000.5 END,
		'aa', filler(i, CASE i % 4 WHEN 0 THEN 10 WHEN 1 THEN 600 WHEN 2 THEN 3000 ELSE 9000 END),
		'deep', jsonb_build_object('fill', filler(i + 1, i % 5 * 900), 'inner', jsonb_build_object('k', 'd' || i % 6), 'zz', 'z' || i),
		'list', (SELECT jsonb_agg('e' || (i + e) % 13) FROM generate_series(0, CASE WHEN i % 3 = 0 THEN 400 ELSE 3 END) e),
		'a_long_name_that_sorts_last_of_all', 'last' || i % 4))
		|| CASE WHEN i % 11 = 0 THEN (SELECT jsonb_object_agg('member' || m, m) FROM generate_series(1, 400) m) ELSE '{}' END $$;

CREATE TABLE fact (id int PRIMARY KEY, doc jsonb);
ALTER TABLE fact ALTER doc SET STORAGE EXTENDED;
SELECT indextable.create('by_k', 'fact', '{k}', include => '{n::numeric, deep.inner.k AS dk}') \gset
SELECT indextable.create('by_last', 'fact', '{a_long_name_that_sorts_last_of_all AS last, deep.zz}') \gset
SELECT indextable.create('by_element', 'fact', '{list[*]}') \gset
SELECT indextable.create('by_third', 'fact', ARRAY['list[2] AS third', 'list[-1] AS final']) \gset
SELECT indextable.create('by_far', 'fact', '{member399::int}') \gset
SELECT indextable.create('copies', 'fact', '{k}', 'denormalized') \gset

CREATE FUNCTION check_all() RETURNS TABLE (index_table text, side text, entry text) LANGUAGE sql AS $$
	SELECT 'by_k', left(side, 20), left(entry, 40) FROM pg_temp.oracle('documents.by_k', $q$SELECT doc #>> '{k}', id, (doc #>> '{n}')::numeric, doc #>> '{deep,inner,k}' FROM documents.fact$q$)
	UNION ALL SELECT 'by_last', side, left(entry, 40) FROM pg_temp.oracle('documents.by_last', $q$SELECT doc #>> '{a_long_name_that_sorts_last_of_all}', doc #>> '{deep,zz}', id FROM documents.fact$q$)
	UNION ALL SELECT 'by_element', side, left(entry, 40) FROM pg_temp.oracle('documents.by_element', $q$SELECT DISTINCT e, id FROM documents.fact, jsonb_array_elements_text(doc -> 'list') e$q$)
	UNION ALL SELECT 'by_third', side, left(entry, 40) FROM pg_temp.oracle('documents.by_third', $q$SELECT doc #>> '{list,2}', doc #>> '{list,-1}', id FROM documents.fact$q$)
	UNION ALL SELECT 'by_far', side, left(entry, 40) FROM pg_temp.oracle('documents.by_far', $q$SELECT (doc #>> '{member399}')::int, id FROM documents.fact$q$)
	UNION ALL SELECT 'copies', side, left(entry, 40) FROM pg_temp.oracle('documents.copies', $q$SELECT doc #>> '{k}', id, doc FROM documents.fact$q$) $$;

INSERT INTO fact SELECT i, document(i) FROM generate_series(1, 120) i;
CALL pg_temp.no_rows('check_all()');
UPDATE fact SET doc = doc || jsonb_build_object('aa', filler(id + 3, 5000));          -- nothing that is a key
CALL pg_temp.no_rows('check_all()');
UPDATE fact SET doc = jsonb_set(doc, '{deep,zz}', to_jsonb('moved' || id)) WHERE id % 2 = 0;
UPDATE fact SET doc = jsonb_set(doc, '{list,1}', '"other"') WHERE id % 3 = 0;
UPDATE fact SET doc = document(id + 1) WHERE id % 5 = 0;
DELETE FROM fact WHERE id % 6 = 0;
CALL pg_temp.no_rows('check_all()');

-- out of line but not compressed, so that any part of it can be read alone
TRUNCATE fact;
ALTER TABLE fact ALTER doc SET STORAGE EXTERNAL;
INSERT INTO fact SELECT i, document(i) FROM generate_series(1, 60) i;
UPDATE fact SET doc = document(id + 2) WHERE id % 3 = 0;
CALL pg_temp.no_rows('check_all()');

-- documents that are no objects
INSERT INTO fact SELECT 100 + i, d FROM (VALUES
	(1, to_jsonb(filler(1, 9000))), (2, to_jsonb(ARRAY[filler(1, 9000), 'x'])), (3, '3'), (4, '[]'), (5, NULL)) v(i, d);
SELECT indextable.create('by_root', 'fact', ARRAY['$[1] AS second']) \gset
SELECT second, id FROM by_root WHERE second IS NOT NULL OR id > 100 ORDER BY id;
UPDATE fact SET doc = doc || '["y"]' WHERE id = 102;
UPDATE fact SET doc = jsonb_set(doc, '{1}', '"z"') WHERE id = 102;
SELECT second, id FROM by_root WHERE second IS NOT NULL OR id > 100 ORDER BY id;

-- updates of values and of others beside them, which leave the length of the documents and the keys as they are, or do not
CREATE TABLE pairs (id int PRIMARY KEY, doc jsonb);
INSERT INTO pairs SELECT row_number() OVER () - 1, d::jsonb FROM (VALUES
	('{"a": "x", "k": "one", "z": 1}'), ('{"a": "y", "k": "one", "z": 2}'), ('{"a": "x", "k": "two", "z": 1}'),
	('{"a": "x", "b": "one", "k": "two"}'), ('{"a": "longer", "k": "one"}'), ('{"b": "x", "k": "one", "z": 1}'),
	('{"k": true}'), ('{"k": false}'), ('{"k": null}'), ('{"k": ""}'), ('{"k": 1}'), ('{"k": 2}'), ('{"k": 1.0}'), ('{"k": "1"}'),
	('{"k": [1, 2]}'), ('{"k": [1, 3]}'), ('{"k": {"a": "b"}}'), ('{"k": {"a": "c"}}'), ('{"j": "one"}'), ('"k"'), ('["k"]'), ('{}')) f(d);
CREATE TABLE versions AS TABLE pairs;
SELECT indextable.create('by_text', 'pairs', '{k}') \gset
SELECT indextable.create('by_json', 'pairs', '{k::jsonb}') \gset
SELECT indextable.create('beside', 'pairs', '{a}', include => '{k::jsonb}') \gset
CREATE FUNCTION wrong_pairs() RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM (
		SELECT entry FROM pg_temp.oracle('documents.by_text', $q$SELECT doc #>> '{k}' AS k, id FROM documents.pairs$q$)
		UNION ALL SELECT entry FROM pg_temp.oracle('documents.by_json', $q$SELECT doc #> '{k}' AS k, id FROM documents.pairs$q$)
		UNION ALL SELECT entry FROM pg_temp.oracle('documents.beside', $q$SELECT doc #>> '{a}' AS a, id, doc #> '{k}' AS k FROM documents.pairs$q$)) AS d $$;
DO $$
BEGIN
	-- every document follows every other one
	FOR shift IN 0 .. 21 LOOP
		UPDATE pairs SET doc = v.doc FROM versions v WHERE v.id = (pairs.id + shift * (shift + 1) / 2) % 22;
		IF wrong_pairs() > 0 THEN
			RAISE EXCEPTION 'wrong entries after shift %', shift;
		END IF;
	END LOOP;
END $$;

DROP SCHEMA documents CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
