-- Multi-valued keys: [*] gives one entry for each distinct element, with the number of times that it is there.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA multivalued;
SET search_path = multivalued;
CREATE TABLE doc (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('by_tag', 'doc', '{tags[*]}') \gset
SELECT indextable.create('by_num', 'doc', '{nums[*]::numeric AS num}') \gset
SELECT indextable.create('by_json', 'doc', '{tags[*]::jsonb AS tag}') \gset
SELECT indextable.create('by_cast', 'doc', '{cast[*].name}') \gset
SELECT indextable.create('by_deep', 'doc', '{a[*].b[*]}') \gset
SELECT indextable.create('by_first', 'doc', '{a[0].b[*] AS first}') \gset
SELECT indextable.create('by_root', 'doc', '{$[*] AS element}') \gset
SELECT indextable.create('by_root_name', 'doc', '{$[*].name}') \gset
\d by_tag

INSERT INTO doc VALUES
	-- duplicates; mixed types; nested arrays and objects; nulls skipped
	(1, '{"tags": ["a", "b", "a"]}'),
	(2, '{"tags": [1, 1.0, "1", null, {"a": 1}, [2, [3]], true, "true", "", "null"]}'),
	-- anything that is no array counts as one; null, an empty array and nothing there as none
	(3, '{"tags": "scalar"}'), (4, '{"tags": {"k": "v"}}'), (5, '{"tags": []}'), (6, '{"tags": null}'), (7, '{}'),
	(8, '{"tags": [null, null]}'), (9, NULL), (10, '{"tags": [[]]}'), (11, '{"tags": 5}'),
	-- distinct after the cast: 1, 1.0 and "1.00" are one number
	(20, '{"nums": [1, 1.0, "1.00", 2, "-0", 0]}'),
	-- members of the elements
	(30, '{"cast": [{"name": "Ann"}, {"name": "Bob"}, {"name": "Ann"}, {"no": 1}, {"name": null}, "x", [{"name": "nested"}]]}'),
	(31, '{"cast": {"name": "Alone"}}'),
	(40, '{"a": [{"b": [1, 2]}, {"b": [2, 3]}, {"b": 4}, {"b": []}, {}, {"b": [[5]]}]}'),
	(41, '{"a": {"b": "x"}}'), (42, '{"a": {"b": ["y", "z"]}}'),
	-- roots
	(50, '["r1", {"name": "r2"}, null, "r1", ["r3"]]'), (51, '"root"'), (52, 'null'), (53, '[]'), (54, '{"name": "object"}');

SELECT id, tags FROM by_tag ORDER BY id, tags COLLATE "C";
SELECT id, num FROM by_num ORDER BY id, num;
SELECT id, tag FROM by_json ORDER BY id, tag::text COLLATE "C";
SELECT id, name FROM by_cast ORDER BY id, name COLLATE "C";
SELECT id, b FROM by_deep ORDER BY id, b COLLATE "C";
SELECT id, first FROM by_first ORDER BY id, first COLLATE "C";
SELECT id, element FROM by_root WHERE id >= 50 ORDER BY id, element COLLATE "C";
SELECT id, name FROM by_root_name ORDER BY id, name COLLATE "C";

-- the recompute: the elements under a path, in plain SQL
CREATE FUNCTION elements(j jsonb) RETURNS SETOF jsonb LANGUAGE sql IMMUTABLE AS $$
	SELECT e FROM jsonb_array_elements(CASE jsonb_typeof(j) WHEN 'array' THEN j ELSE jsonb_build_array(j) END) e WHERE j <> 'null'
$$;
CREATE VIEW recompute AS
	SELECT 'by_tag' AS t, e #>> '{}' AS v, id FROM doc, elements(doc -> 'tags') e
	UNION ALL SELECT 'by_cast', e #>> '{name}', id FROM doc, elements(doc -> 'cast') e WHERE jsonb_typeof(doc -> 'cast') = 'array' OR e ->> 'name' IS NOT NULL
	UNION ALL SELECT 'by_deep', f #>> '{}', id FROM doc, elements(doc -> 'a') e, elements(e -> 'b') f
	UNION ALL SELECT 'by_first', e #>> '{}', id FROM doc, elements(doc #> '{a,0,b}') e
	UNION ALL SELECT 'by_root', e #>> '{}', id FROM doc, elements(doc) e
	UNION ALL SELECT 'by_root_name', e #>> '{name}', id FROM doc, elements(doc) e WHERE jsonb_typeof(doc) = 'array' OR e ->> 'name' IS NOT NULL;
CREATE FUNCTION differences() RETURNS TABLE (index_table text, side text, entry text) LANGUAGE sql AS $$
	SELECT t, d.* FROM (VALUES ('by_tag'), ('by_cast'), ('by_deep'), ('by_first'), ('by_root'), ('by_root_name')) v(t),
		pg_temp.oracle(t, format('SELECT v, id FROM recompute WHERE t = %L', t)) d
	-- which of 1 and 1.0 stands for both is not promised, so these compare as numbers and as jsonb
	UNION ALL SELECT 'by_num', 'differs', count(*)::text FROM
		(SELECT num::text::numeric, id FROM by_num) n FULL JOIN
		(SELECT DISTINCT (e #>> '{}')::numeric AS num, id FROM doc, elements(doc -> 'nums') e) r USING (num, id)
		WHERE n IS NULL OR r IS NULL HAVING count(*) > 0
	UNION ALL SELECT 'by_json', 'differs', count(*)::text FROM
		(SELECT tag, id FROM by_json) n FULL JOIN
		(SELECT DISTINCT e AS tag, id FROM doc, elements(doc -> 'tags') e) r USING (tag, id)
		WHERE n IS NULL OR r IS NULL HAVING count(*) > 0
$$;
CALL pg_temp.no_rows('differences()');

-- changing one element leaves the other entries untouched: same place, same writer
CREATE TEMP TABLE before AS SELECT ctid AS place, xmin AS writer, tags, id FROM by_tag;
UPDATE doc SET doc = '{"tags": ["a", "c", "b", "a"]}' WHERE id = 1;
SELECT t.tags, t.ctid = b.place AND t.xmin = b.writer AS untouched
FROM by_tag t LEFT JOIN before b USING (tags, id) WHERE t.id = 1 ORDER BY tags;
UPDATE doc SET doc = '{"tags": ["c", "b"]}' WHERE id = 1;
SELECT t.tags, t.ctid = b.place AND t.xmin = b.writer AS untouched
FROM by_tag t LEFT JOIN before b USING (tags, id) WHERE t.id = 1 ORDER BY tags;
-- another order is no change; another number of equal elements is one of their entry alone
TRUNCATE before;
INSERT INTO before SELECT ctid, xmin, tags, id FROM by_tag;
UPDATE doc SET doc = '{"tags": ["b", "c", "c"], "other": 1}' WHERE id = 1;
SELECT t.tags, t.ctid = b.place AND t.xmin = b.writer AS untouched
FROM by_tag t LEFT JOIN before b USING (tags, id) WHERE t.id = 1 ORDER BY tags;
-- array to scalar to nothing
UPDATE doc SET doc = '{"tags": "b"}' WHERE id = 1;
SELECT tags FROM by_tag WHERE id = 1;
UPDATE doc SET doc = '{"tags": []}' WHERE id = 1;
SELECT tags FROM by_tag WHERE id = 1;
CALL pg_temp.no_rows('differences()');
-- the same number in another form: the entry has one of the forms that are there
UPDATE doc SET doc = '{"nums": ["1.000"]}' WHERE id = 20;
SELECT num FROM by_num WHERE id = 20;
CALL pg_temp.no_rows('differences()');

-- composite: the multi-valued key first, between, and last; each fact row once by the leading columns
CREATE TABLE book (author text, no int, doc jsonb, PRIMARY KEY (author, no));
INSERT INTO book VALUES
	('x', 1, '{"lang": "de", "subjects": ["art", "law", "art"], "year": 2000}'),
	('x', 2, '{"lang": "en", "subjects": ["law"], "year": 1990}'),
	('y', 1, '{"lang": "de", "subjects": ["law", "zoo"], "year": 1980}'),
	('y', 2, '{"lang": "de", "subjects": ["law", "zoo"]}'),
	('z', 1, '{"subjects": ["law"], "year": 1}');
SELECT indextable.create('s_first', 'book', '{subjects[*] AS subject, lang, year::int}', include => '{year::text AS again}') \gset
SELECT indextable.create('s_middle', 'book', '{lang, subjects[*] AS subject, year::int}', 'denormalized') \gset
SELECT indextable.create('s_last', 'book', '{lang, year::int, subjects[*] AS subject}') \gset
SELECT indextable.create('s_author', 'book', '{lang, subjects[*] AS subject, @author}') \gset
SELECT * FROM s_first ORDER BY 1, 2, 3, 4, 5;
SELECT * FROM s_author ORDER BY 1, 2, 3, 4;
SELECT author, no FROM indextable.lookup(NULL::book, 's_first', '{"subject": "law"}');
SELECT author, no FROM indextable.lookup(NULL::book, 's_middle', '{"lang": "de"}');
SELECT count(*) FROM indextable.lookup('s_middle', '{"lang": "de"}');
SELECT author, no FROM indextable.lookup(NULL::book, 's_middle', '{"lang": "de", "subject": "law"}');
SELECT author, no FROM indextable.lookup(NULL::book, 's_last', '{"lang": "de"}');
SELECT author, no FROM indextable.lookup(NULL::book, 's_last', '{"lang": "de", "year": 2000}');
SELECT author, no FROM indextable.lookup(NULL::book, 's_author', '{"lang": "de", "subject": "zoo", "author": "y"}');
UPDATE book SET doc = jsonb_set(doc, '{year}', '2024', true) WHERE author = 'y';
UPDATE book SET author = 'w', doc = doc || '{"subjects": ["zoo", "art"]}' WHERE author = 'x' AND no = 1;
CREATE VIEW subject AS SELECT author, no, doc, s FROM book, jsonb_array_elements_text(doc -> 'subjects') s;
CALL pg_temp.compare('s_first', $$SELECT s, doc ->> 'lang', (doc ->> 'year')::int, author, no, doc ->> 'year'
	FROM subject$$);
CALL pg_temp.compare('s_middle', $$SELECT doc ->> 'lang', s, (doc ->> 'year')::int, author, no, doc
	FROM subject$$);
CALL pg_temp.compare('s_last', $$SELECT doc ->> 'lang', (doc ->> 'year')::int, s, author, no
	FROM subject$$);
CALL pg_temp.compare('s_author', $$SELECT doc ->> 'lang', s, author, no FROM subject$$);

-- ten thousand elements, one of them changed
SELECT indextable.drop('by_root'), indextable.drop('by_root_name') \gset
INSERT INTO doc SELECT 100, jsonb_build_object('tags', jsonb_agg(i)) FROM generate_series(1, 10000) i;
TRUNCATE before;
INSERT INTO before SELECT ctid, xmin, tags, id FROM by_tag;
UPDATE doc SET doc = jsonb_set(doc, '{tags,5000}', '"new"') WHERE id = 100;
SELECT count(*), count(*) FILTER (WHERE t.ctid = b.place AND t.xmin = b.writer) AS untouched
FROM by_tag t LEFT JOIN before b USING (tags, id) WHERE t.id = 100;
CALL pg_temp.compare('by_tag', $$SELECT v, id FROM recompute WHERE t = 'by_tag'$$);

-- a path of thousands of steps into a document that ends after the first, or goes on and on
SELECT indextable.drop('by_tag') \gset
SELECT indextable.create('deep', 'doc', ARRAY['deep' || repeat('[*]', 10000) || ' AS k']) \gset
INSERT INTO doc VALUES (200, '{"deep": ["a", ["b", ["c"]]]}');
INSERT INTO doc SELECT 201, jsonb_build_object('deep', (repeat('[', 1000) || '"d"' || repeat(']', 1000))::jsonb);
SELECT * FROM deep ORDER BY k, id;
\set VERBOSITY terse
SELECT indextable.create('deeper', 'doc', ARRAY['deep' || repeat('[*]', 200000) || ' AS k']);
\set VERBOSITY default

SET client_min_messages = warning;
DROP SCHEMA multivalued CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
