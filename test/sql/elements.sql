-- Rows of elements: several fields of the elements of one array stand together, and an entry says for how many of
-- them it stands.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA elements;
SET search_path = elements;
CREATE TABLE o (id int PRIMARY KEY, cust text, doc jsonb);
SELECT indextable.create('sku_qty', 'o', '{lines[*].sku, lines[*].qty::int}') \gset
SELECT indextable.create('price', 'o', '{@cust, lines[*].sku}', include => '{lines[*].price::numeric, note, lines[*].qty::int}') \gset
SELECT indextable.create('sparse', 'o', '{lines[*].sku, @cust, lines[*].qty::int}', include => '{lines[*].price::numeric}', sparse => true) \gset
SELECT indextable.create('copies', 'o', '{lines[*].qty::int, lines[*].sku}', 'denormalized') \gset
SELECT indextable.create('behind', 'o', '{lines[*].sku}', include => '{lines[*].qty::int, @cust}', maintenance => 'async') \gset
SELECT indextable.create('parted', 'o', '{lines[*].sku, lines[*].qty::int}', include => '{lines[*].price::numeric}', partitions => 3) \gset
SELECT indextable.create('whole', 'o', '{lines[*]::jsonb AS line, lines[*].sku}') \gset
SELECT indextable.create('deep', 'o', '{orders[*].no::int, orders[*].lines[*].sku}', include => '{orders[*].lines[*].qty::int}') \gset
SELECT indextable.create('of_a', 'o', '{lines[*].sku, lines[*].qty::int}', filter => 'cust = ''a''') \gset
\d sku_qty
\d price
\d sparse

-- ---- the recompute, by jsonb_array_elements()
-- what a path leads to: the elements of an array, or what is in place of it, unless that is null
CREATE FUNCTION elements(j jsonb) RETURNS SETOF jsonb LANGUAGE sql IMMUTABLE AS $$
	SELECT e FROM jsonb_array_elements(CASE jsonb_typeof(j) WHEN 'array' THEN j ELSE jsonb_build_array(j) END) e WHERE j <> 'null'
$$;
CREATE VIEW line AS SELECT o.*, e AS line, e #>> '{sku}' AS sku, (e #>> '{qty}')::int AS qty, (e #>> '{price}')::numeric AS price,
		jsonb_typeof(doc -> 'lines') = 'array' AS of_array
	FROM o, elements(doc -> 'lines') e;
CREATE VIEW deep_line AS SELECT o.id, (e #>> '{no}')::int AS no, f #>> '{sku}' AS sku, (f #>> '{qty}')::int AS qty,
		jsonb_typeof(e -> 'lines') = 'array' AS of_array
	FROM o, elements(doc -> 'orders') e, elements(e -> 'lines') f;
CREATE FUNCTION differences() RETURNS TABLE (index_table text, side text, entry text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM indextable.drain();
	RETURN QUERY SELECT t, d.* FROM (VALUES
		('sku_qty', 'SELECT sku, qty, id FROM line WHERE of_array OR sku IS NOT NULL OR qty IS NOT NULL'),
		('price', 'SELECT cust, sku, id, price, doc #>> ''{note}'', qty FROM line WHERE of_array OR sku IS NOT NULL OR qty IS NOT NULL OR price IS NOT NULL'),
		('sparse', 'SELECT sku, cust, qty, id, price FROM line WHERE sku IS NOT NULL AND cust IS NOT NULL AND qty IS NOT NULL'),
		('copies', 'SELECT qty, sku, id, doc FROM line WHERE of_array OR sku IS NOT NULL OR qty IS NOT NULL'),
		('behind', 'SELECT sku, id, qty, cust FROM line WHERE of_array OR sku IS NOT NULL OR qty IS NOT NULL'),
		('parted', 'SELECT sku, qty, id, price FROM line WHERE of_array OR sku IS NOT NULL OR qty IS NOT NULL OR price IS NOT NULL'),
		('whole', 'SELECT line, sku, id FROM line'),
		('deep', 'SELECT no, sku, id, qty FROM deep_line WHERE of_array OR sku IS NOT NULL OR qty IS NOT NULL'),
		('of_a', 'SELECT sku, qty, id FROM line WHERE cust = ''a'' AND (of_array OR sku IS NOT NULL OR qty IS NOT NULL)')) v(t, recompute),
		pg_temp.oracle(t, recompute) d WHERE to_regclass(t) IS NOT NULL;
	RETURN QUERY SELECT i.index_table::text, 'verify ' || v.kind, coalesce(v.primary_key::text, v.problem)
		FROM indextable.index_tables i, indextable.verify(i.index_table) v WHERE i.fact_table = 'o'::regclass;
END $$;

-- ---- every kind of element, and of what may be in place of the array
INSERT INTO o VALUES
	(1, 'a', '{"lines": [{"sku": "x", "qty": 5}, {"sku": "y", "qty": 1}, {"sku": "x", "qty": 5}, {"sku": "x", "qty": 6}], "note": "twice"}'),
	(2, 'a', '{"lines": [{"sku": "x"}, {"qty": 5}, {}, null, "x", 5, [{"sku": "nested", "qty": 5}], {"sku": null, "qty": null}]}'),
	(3, NULL, '{"lines": {"sku": "x", "qty": 5, "price": 1}}'), (4, 'b', '{"lines": {"other": 1}}'), (5, 'b', '{"lines": "x"}'),
	(6, 'b', '{"lines": []}'), (7, 'b', '{"lines": null}'), (8, 'b', '{}'), (9, 'b', NULL), (10, 'b', '{"lines": [[]]}'),
	-- equal numbers are one, and have the bytes of the first
	(11, 'c', '{"lines": [{"sku": "x", "qty": 5, "price": 1.5}, {"sku": "x", "qty": "5", "price": "1.50"}, {"sku": "x", "qty": 5, "price": 2}, {"sku": "x", "qty": 5}]}'),
	(12, 'c', '{"orders": [{"no": 1, "lines": [{"sku": "x", "qty": 1}, {"sku": "y"}, {"sku": "x", "qty": 1}]}, {"no": 2}, {"no": 3, "lines": []},
		{"no": 4, "lines": {"sku": "z"}}, {"no": 5, "lines": {"no": 5}}, {"no": 6, "lines": null}, {"lines": [{"sku": "x"}, null]}, "x", null]}'),
	(13, 'c', '{"orders": {"no": 7, "lines": [{"sku": "x"}]}}'), (14, 'c', '{"orders": [[{"no": 8, "lines": [{"sku": "x"}]}]]}');
SELECT * FROM sku_qty ORDER BY id, sku, qty;
SELECT * FROM sparse ORDER BY id, sku, qty, price;
SELECT cust, sku, id, price, qty, elements FROM price WHERE id IN (3, 11) ORDER BY id, sku, price;
UPDATE o SET doc = replace(doc::text, '1.50', '1.5')::jsonb WHERE id = 11;
SELECT * FROM deep ORDER BY id, no, sku, qty;
CALL pg_temp.no_rows('differences()');

-- ---- an update that only changes a count is one entry written
CREATE TEMP TABLE before AS SELECT ctid AS place, sku, qty, id, elements FROM sku_qty;
UPDATE o SET doc = jsonb_set(doc, '{lines,2}', '{"sku": "y", "qty": 1}') WHERE id = 1;
SELECT s.sku, s.qty, b.elements AS before, s.elements, s.ctid = b.place AS untouched FROM sku_qty s JOIN before b USING (sku, qty, id) WHERE id = 1 ORDER BY 1, 2;
CALL pg_temp.no_rows('differences()');

-- ---- by name: each row once
SELECT count(*) FROM indextable.lookup('sku_qty', '{"sku": "x"}');
SELECT id FROM indextable.lookup(NULL::o, 'sku_qty', '{"sku": "x", "qty": 5}') ORDER BY id;
SELECT id FROM indextable.lookup(NULL::o, 'price', '{"cust": "c", "sku": "x"}');
SELECT id FROM indextable.lookup(NULL::o, 'parted', '[{"sku": "x", "qty": 5}, {"sku": "y", "qty": 1}]') ORDER BY id;
SELECT entry FROM indextable.query('price', '{"cust": "c", "sku": "x"}', page_size => 10);
-- pages of one entry, in both directions, through NULL in each column
CREATE FUNCTION pages(index_table regclass, key jsonb, descending bool) RETURNS SETOF jsonb LANGUAGE plpgsql AS $$
DECLARE
	page record;
	at text;
BEGIN
	LOOP
		SELECT * INTO page FROM indextable.query(index_table, key, page_size => 1, cursor => at, descending => descending);
		EXIT WHEN NOT FOUND;
		RETURN NEXT page.entry;
		at := page.cursor;
	END LOOP;
END $$;
CREATE FUNCTION wrong_pages() RETURNS TABLE (index_table regclass, descending bool, paged bigint, entries bigint) LANGUAGE plpgsql AS $$
BEGIN
	FOR index_table IN SELECT i.index_table FROM indextable.index_tables i WHERE fact_table = 'o'::regclass ORDER BY i.index_table::text LOOP
		FOREACH descending IN ARRAY '{false,true}'::bool[] LOOP
			SELECT count(DISTINCT e) INTO paged FROM pages(index_table, '{}', descending) e;
			EXECUTE format('SELECT count(*) FROM %s', index_table) INTO entries;
			IF paged <> entries THEN
				RETURN NEXT;
			END IF;
		END LOOP;
	END LOOP;
END $$;
CALL pg_temp.no_rows('wrong_pages()');

-- ---- random documents
SELECT setseed(0.5) \gset
CREATE FUNCTION random_line() RETURNS jsonb LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN random() < 0.03 THEN 'null' WHEN random() < 0.03 THEN '"text"' WHEN random() < 0.03 THEN '[{"sku": "n", "qty": 1}]' ELSE
		CASE WHEN random() < 0.1 THEN '{}' ELSE jsonb_build_object('sku', CASE WHEN random() < 0.1 THEN NULL ELSE 's' || floor(random() * 4) END) END ||
		CASE WHEN random() < 0.2 THEN '{}' ELSE jsonb_build_object('qty', floor(random() * 3)::int) END ||
		CASE WHEN random() < 0.3 THEN '{}' ELSE jsonb_build_object('price', floor(random() * 2) / 2) END END
$$;
CREATE FUNCTION random_lines() RETURNS jsonb LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN random() < 0.05 THEN 'null' WHEN random() < 0.05 THEN '"text"' WHEN random() < 0.1 THEN random_line()
		ELSE (SELECT coalesce(jsonb_agg(random_line()), '[]') FROM generate_series(1, floor(random() * 7)::int)) END
$$;
CREATE FUNCTION random_doc() RETURNS jsonb LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN random() < 0.1 THEN '{}' ELSE jsonb_build_object('lines', random_lines()) END ||
		CASE WHEN random() < 0.5 THEN '{}' ELSE jsonb_build_object('note', floor(random() * 2)) END ||
		CASE WHEN random() < 0.5 THEN '{}' ELSE jsonb_build_object('orders', CASE WHEN random() < 0.1 THEN 'null' WHEN random() < 0.2 THEN jsonb_build_object('no', 1, 'lines', random_lines())
			ELSE (SELECT jsonb_agg(jsonb_build_object('no', floor(random() * 2), 'lines', random_lines())) FROM generate_series(1, 3)) END) END
$$;
INSERT INTO o SELECT g, chr(97 + g % 3), random_doc() FROM generate_series(100, 300) g;
CALL pg_temp.no_rows('differences()');
CALL pg_temp.no_rows('wrong_pages()');
DO $$ BEGIN
	FOR i IN 1 .. 8 LOOP
		UPDATE o SET doc = random_doc() WHERE id >= 100 AND id % 8 = i;
		UPDATE o SET doc = jsonb_set(doc, '{lines,0}', random_line()) WHERE id >= 100 AND id % 5 = i % 5 AND jsonb_typeof(doc -> 'lines') = 'array';
		UPDATE o SET cust = nullif(cust, 'b') WHERE id >= 100 AND id % 11 = i;
		UPDATE o SET id = id + 1000 WHERE id >= 100 AND id % 17 = i;
		DELETE FROM o WHERE id >= 100 AND id % 23 = i;
		INSERT INTO o SELECT g, 'a', random_doc() FROM generate_series(2000 + 10 * i, 2009 + 10 * i) g ON CONFLICT DO NOTHING;
	END LOOP;
END $$;
CALL pg_temp.no_rows('differences()');
CALL pg_temp.no_rows('wrong_pages()');

-- ---- built, rebuilt and altered: included fields of elements come and go, and the count stays the last column
SELECT indextable.create('later', 'o', '{lines[*].sku}', include => '{lines[*].qty::int}', populate => false) \gset
CALL indextable.build('later');
CALL pg_temp.compare('later', 'SELECT sku, id, qty FROM line WHERE of_array OR sku IS NOT NULL OR qty IS NOT NULL');
SELECT indextable.alter('later', include => '{lines[*].price::numeric, lines[*].qty::int, note}') \gset
CALL pg_temp.compare('later', $$SELECT sku, id, price, qty, doc #>> '{note}' FROM line WHERE of_array OR sku IS NOT NULL OR qty IS NOT NULL OR price IS NOT NULL$$);
SELECT indextable.alter('later', include => '{lines[*].price::numeric}', sparse => true) \gset
CALL pg_temp.compare('later', 'SELECT sku, id, price FROM line WHERE sku IS NOT NULL');
SELECT indextable.alter('later', include => '{}') \gset
CALL pg_temp.compare('later', 'SELECT sku, id FROM line WHERE sku IS NOT NULL');
\d later
ALTER TABLE later ADD own text;
SELECT indextable.alter('later', sparse => false) \gset
CALL indextable.rebuild('later');
SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'later'::regclass AND attnum > 0 AND NOT attisdropped;
CALL pg_temp.compare('(SELECT sku, id, elements FROM later)', 'SELECT sku, id, count(*) FROM line WHERE of_array OR sku IS NOT NULL GROUP BY sku, id');
SELECT indextable.alter('later', include => '{lines[*].qty}');
SELECT indextable.drop('later') \gset
SELECT indextable.alter('price', maintenance => 'async'), indextable.alter('behind', maintenance => 'transactional') \gset
UPDATE o SET doc = random_doc() WHERE id >= 100 AND id % 3 = 0;
CALL pg_temp.no_rows('differences()');
SELECT indextable.alter('price', maintenance => 'transactional') \gset
CALL indextable.rebuild('parted');
CALL pg_temp.no_rows('differences()');

-- ---- verify() compares the number of elements, and repair() mends it
CREATE PROCEDURE damage(VARIADIC statements text[]) SET session_replication_role = replica LANGUAGE plpgsql AS $$
DECLARE s text; BEGIN FOREACH s IN ARRAY statements LOOP EXECUTE s; END LOOP; END $$;
DELETE FROM o WHERE id > 14;
CALL damage('UPDATE sku_qty SET elements = 3 WHERE id = 1 AND sku = ''y''', 'UPDATE price SET price = 7 WHERE id = 3', 'DELETE FROM parted WHERE id = 11 AND price = 2');
SELECT indextable.drain() \gset
SELECT v.* FROM indextable.index_tables i, indextable.verify(i.index_table) v WHERE i.fact_table = 'o'::regclass ORDER BY v.in_table::text, v.kind, v.key;
CALL indextable.repair('sku_qty');
CALL indextable.repair('price');
CALL indextable.repair('parted');
CALL pg_temp.no_rows('differences()');

-- the column is told by being NOT NULL
ALTER TABLE sku_qty ALTER elements DROP NOT NULL;
ALTER TABLE sku_qty DROP elements;
ALTER TABLE sku_qty RENAME elements TO n;
UPDATE o SET doc = jsonb_set(doc, '{lines,0}', '{"sku": "y", "qty": 1}') WHERE id = 1;
SELECT * FROM sku_qty WHERE id = 1 ORDER BY sku, qty;
ALTER TABLE sku_qty RENAME n TO elements;
-- another column has its name
SELECT indextable.create('named', 'o', '{lines[*].sku AS elements}', include => '{lines[*].qty AS elements_1}') \gset
SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'named'::regclass AND attnum > 0;
CALL pg_temp.compare('named', $$SELECT sku, id, qty::text FROM line WHERE of_array OR sku IS NOT NULL OR line ->> 'qty' IS NOT NULL$$);
SELECT indextable.drop('named') \gset
SELECT indextable.create('sku_qty', 'o', '{lines[*].sku, lines[*].qty::int}', if_not_exists => true);
SELECT indextable.create('sku_qty', 'o', '{lines[*].sku, lines[*].qty}', if_not_exists => true);

-- ---- values that do not fit: an element with one has no entry
INSERT INTO o VALUES (20, 'a', '{"lines": [{"sku": "x", "qty": 1}, {"sku": "y", "qty": "many"}]}');
SELECT indextable.create('skips', 'o', '{lines[*].sku, lines[*].qty::smallint}', include => '{lines[*].price::smallint}', on_mismatch => 'skip') \gset
BEGIN;
SELECT indextable.drop(i::regclass) FROM unnest('{sku_qty,price,sparse,copies,behind,parted,of_a}'::text[]) i \gset ignored_
INSERT INTO o VALUES (20, 'a', '{"lines": [{"sku": "x", "qty": 1}, {"sku": "y", "qty": "many"}, {"sku": "z", "price": "dear", "qty": 2}]}');
SELECT * FROM skips WHERE id = 20;
SELECT skipped FROM indextable.index_table_stats WHERE index_table = 'skips'::regclass;
ROLLBACK;
SELECT indextable.drop('skips') \gset

-- ---- unique over all elements of all rows
CREATE TABLE device (id int PRIMARY KEY, doc jsonb);
INSERT INTO device VALUES (1, '{"serials": [{"maker": "m", "no": 1}, {"maker": "m", "no": 2}, {"maker": "m", "no": 1}, {"maker": "m"}]}');
SELECT indextable.create('serial', 'device', '{serials[*].maker, serials[*].no::int}', is_unique => true) \gset
TABLE serial;
INSERT INTO device VALUES (2, '{"serials": [{"maker": "n", "no": 1}, {"maker": "m", "no": 3}, {"maker": "m"}]}');
INSERT INTO device VALUES (3, '{"serials": [{"maker": "n", "no": 2}, {"maker": "m", "no": 2}]}');
SELECT indextable.create('u', 'device', '{serials[*].maker}', include => '{serials[*].no}', is_unique => true);
SELECT indextable.create('u', 'device', '{serials[*].maker}', include => '{serials[*].no}') \gset
SELECT indextable.alter('u', is_unique => true);

-- ---- what is refused
SELECT indextable.create('r', 'o', '{lines[*].sku, orders[*].no}');
SELECT indextable.create('r', 'o', '{a[*].b[*], a[*].c[*]}');
SELECT indextable.create('r', 'o', '{a[*].b[*].x, a[*].b.y[*]}');
SELECT indextable.create('r', 'o', '{lines[*].sku}', include => '{other[*]}');
SELECT indextable.create('r', 'o', '{@cust}', include => '{lines[*].sku}');
SELECT indextable.create('r', 'o', '{lines[*].sku}', include => '{lines[*].at::point}');

-- ---- array columns
CREATE TABLE nums (id int PRIMARY KEY, n int[]);
INSERT INTO nums VALUES (1, '{1,2,1,NULL}'), (2, '{{3,4},{3,4}}'), (3, '{}'), (4, NULL);
SELECT indextable.create('n_n', 'nums', '{@n[*], @n[*]::text AS t}') \gset
CALL pg_temp.compare('n_n', 'SELECT e, e::text, id FROM nums, unnest(n) e');
TABLE n_n;

-- ---- an index table of version 1.1 has no such column until it is rebuilt
CREATE TABLE t (id int PRIMARY KEY, doc jsonb);
INSERT INTO t VALUES (1, '{"tags": ["a", "b", "a"]}'), (2, '{"tags": ["b", null]}');
SELECT indextable.create('t_tag', 't', '{tags[*]}'), indextable.create('t_own', 't', '{tags[*]}', include => '{name}') \gset
CALL damage('ALTER TABLE t_tag DROP elements', 'ALTER TABLE t_tag ADD UNIQUE NULLS NOT DISTINCT (tags, id)',
	'ALTER TABLE t_own DROP elements', 'ALTER TABLE t_own ADD UNIQUE NULLS NOT DISTINCT (tags, id) INCLUDE (name)');
ALTER TABLE t_own ADD own int;
UPDATE t SET doc = '{"tags": ["a", "a", "c"], "name": "n"}' WHERE id = 1;
SELECT * FROM t_tag ORDER BY id, tags;
SELECT * FROM t_own ORDER BY id, tags;
SELECT v.* FROM unnest('{t_tag,t_own}'::regclass[]) i, indextable.verify(i) v;
SELECT id FROM indextable.lookup(NULL::t, 't_tag', '{"tags": "a"}');
CALL indextable.rebuild('t_tag');
CALL pg_temp.compare('t_tag', 'SELECT e, id FROM t, jsonb_array_elements_text(doc -> ''tags'') e');
UPDATE t SET doc = '{"tags": ["a", "c", "c"]}' WHERE id = 1;
SELECT * FROM t_tag ORDER BY id, tags;
-- but if its owner has added columns, it stays as it is
CALL indextable.rebuild('t_own');
SELECT * FROM t_own ORDER BY id, tags;
ALTER TABLE t_own DROP own;
CALL indextable.rebuild('t_own');
SELECT * FROM t_own ORDER BY id, tags;
SELECT v.* FROM unnest('{t_tag,t_own}'::regclass[]) i, indextable.verify(i) v;

SET client_min_messages = warning;
DROP SCHEMA elements CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
