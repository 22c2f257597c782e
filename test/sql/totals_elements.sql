-- Totals over elements of arrays: order lines, counted and added up by their fields.
load 'indextable';
SET client_min_messages = warning;
SET indextable.planner = force;
CREATE SCHEMA totals_elements;
SET search_path = totals_elements;
CREATE TYPE item AS (sku text, qty int, price numeric(12, 2));

CREATE TABLE orders (id int PRIMARY KEY, doc jsonb NOT NULL);
CREATE FUNCTION order_lines(i int) RETURNS jsonb IMMUTABLE LANGUAGE sql AS
$$
SELECT jsonb_agg(CASE
	WHEN (i * 7 + n * 3) % 23 = 0 THEN 'null'
	WHEN (i * 5 + n) % 29 = 0 THEN '{}'
	ELSE jsonb_build_object('sku', 's' || (i * n * n) % 5, 'maker', CASE WHEN (i + n) % 4 > 0 THEN 'm' || (i + n) % 3 END,
		'qty', (i + n) % 4, 'price', round((i * n % 100) / 10.0, 2)) END)
FROM generate_series(1, i % 6) n
$$;
INSERT INTO orders
SELECT i, jsonb_strip_nulls(jsonb_build_object('status', (ARRAY['open', 'paid', NULL])[1 + i % 3], 'total', i % 50))
	|| CASE WHEN i % 11 > 0 THEN jsonb_build_object('lines', coalesce(order_lines(i), '[]')) ELSE '{}' END
FROM generate_series(1, 300) i;

-- by fields of elements, by those and one of the row, and by none of elements
SELECT indextable.create('by_sku', 'orders', '{lines[*].sku}',
	totals => '{count(*), count(lines[*]), sum(lines[*].qty::int), avg(lines[*].price::numeric(12,2)), sum(total::bigint)}');
SELECT indextable.create('by_maker', 'orders', '{lines[*].maker, status, lines[*].sku}', totals => '{sum(lines[*].qty::smallint), sum(lines[*].qty::bigint AS big), count(lines[*].price)}');
SELECT indextable.create('by_status', 'orders', '{status}', totals => '{sum(lines[*].qty::int), count(lines[*])}');
SELECT indextable.create('only_counted', 'orders', '{}', totals => '{count(lines[*])}');
\d by_sku
SELECT i, indextable.definition(i) FROM unnest('{by_sku,by_maker,by_status,only_counted}'::regclass[]) i;

-- ---- the oracle
CREATE VIEW line AS
SELECT o.id, o.doc ->> 'status' AS status, (o.doc ->> 'total')::bigint AS total, l AS line, l ->> 'sku' AS sku, l ->> 'maker' AS maker,
	(l ->> 'qty')::int AS qty, (l ->> 'price')::numeric(12,2) AS price
FROM orders o CROSS JOIN LATERAL jsonb_array_elements(CASE WHEN jsonb_typeof(o.doc -> 'lines') = 'array' THEN o.doc -> 'lines' ELSE '[]' END) l;
CREATE VIEW expected AS
SELECT 'by_sku' AS i, sku AS k1, NULL AS k2, NULL AS k3, count(DISTINCT id) AS rows, count(*) AS elements, coalesce(sum(qty), 0)::numeric AS s1, count(qty) AS c1,
	coalesce(sum(price), 0) AS s2, count(price) AS c2, (SELECT coalesce(sum(total), 0) FROM (SELECT DISTINCT id, total FROM line b WHERE b.sku IS NOT DISTINCT FROM a.sku) t) AS s3
FROM line a GROUP BY sku
UNION ALL
SELECT 'by_maker', maker, status, sku, count(DISTINCT id), count(*), coalesce(sum(qty), 0), count(qty), coalesce(sum(qty), 0), count(qty), count(price)
FROM line GROUP BY maker, status, sku
UNION ALL
SELECT 'by_status', o.doc ->> 'status', NULL, NULL, count(DISTINCT o.id), count(l.id), coalesce(sum(l.qty), 0), count(l.qty), NULL, NULL, NULL
FROM orders o LEFT JOIN line l USING (id) GROUP BY 2
UNION ALL
SELECT 'only_counted', NULL, NULL, NULL, count(*), (SELECT count(*) FROM line), NULL, NULL, NULL, NULL, (SELECT count(*) FROM line WHERE line <> 'null') FROM orders;
CREATE VIEW kept AS
SELECT 'by_sku' AS i, sku AS k1, NULL AS k2, NULL AS k3, sum(rows)::bigint AS rows, sum(elements)::bigint AS elements, sum(sum_qty)::numeric AS s1, sum(count_qty)::bigint AS c1,
	sum(sum_price) AS s2, sum(count_price)::bigint AS c2, sum(sum_total)::numeric AS s3
FROM by_sku GROUP BY sku HAVING sum(rows) > 0
UNION ALL
SELECT 'by_maker', maker, status, sku, sum(rows)::bigint, sum(elements)::bigint, sum(sum_qty), sum(count_qty)::bigint, sum(sum_big), sum(count_big)::bigint, sum(count_price)
FROM by_maker GROUP BY maker, status, sku HAVING sum(rows) > 0
UNION ALL
SELECT 'by_status', status, NULL, NULL, sum(rows)::bigint, sum(elements)::bigint, sum(sum_qty), sum(count_qty)::bigint, NULL, NULL, NULL
FROM by_status GROUP BY status HAVING sum(rows) > 0
UNION ALL
SELECT 'only_counted', NULL, NULL, NULL, sum(rows)::bigint, sum(elements)::bigint, NULL, NULL, NULL, NULL, sum(count_lines) FROM only_counted;
CREATE FUNCTION drift() RETURNS SETOF text LANGUAGE sql SET indextable.planner = off AS
$$
SELECT 'missing ' || r::text FROM (TABLE expected EXCEPT ALL TABLE kept) r
UNION ALL
SELECT 'extra ' || r::text FROM (TABLE kept EXCEPT ALL TABLE expected) r
UNION ALL
SELECT 'verify ' || v::text FROM indextable.verify('orders') v
$$;
SELECT drift();

-- ---- plain SQL: the same with index tables and without, and served by totals
CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS
$$
DECLARE
	plan json;
	served text;
	with_totals text;
	without text;
BEGIN
	EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO plan;
	served := CASE WHEN plan::text LIKE '%"Totals":%' THEN 'totals' WHEN plan::text LIKE '%"Index Table%' THEN 'index table' ELSE 'not served' END;
	EXECUTE format('SELECT string_agg(q::text, E''\n'' ORDER BY q::text) FROM (%s) q', query) INTO with_totals;
	SET LOCAL indextable.planner = off;
	EXECUTE format('SELECT string_agg(q::text, E''\n'' ORDER BY q::text) FROM (%s) q', query) INTO without;
	SET LOCAL indextable.planner = force;
	RETURN format('%s: %s', served, CASE WHEN with_totals IS NOT DISTINCT FROM without THEN 'equal' ELSE 'DIFFERENT' END);
END
$$;
CREATE TABLE asked (n int GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO asked (query) VALUES
	($q$SELECT l ->> 'sku', count(*), sum((l ->> 'qty')::int), avg((l ->> 'price')::numeric(12,2)), count(l ->> 'sku') FROM orders, jsonb_array_elements(doc -> 'lines') l GROUP BY 1$q$),
	($q$SELECT sum((l ->> 'qty')::int) FROM orders, jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' = 's1'$q$),
	($q$SELECT l ->> 'sku' AS sku, sum((l ->> 'qty')::int) AS sold FROM orders o CROSS JOIN LATERAL jsonb_array_elements(o.doc -> 'lines') AS l(l) GROUP BY 1 HAVING sum((l ->> 'qty')::int) > 10 ORDER BY 2 DESC, 1 LIMIT 2$q$),
	($q$SELECT count(*) FROM orders, jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' IS NULL$q$),
	($q$SELECT count(*) FROM orders, jsonb_array_elements(doc -> 'lines')$q$),
	($q$SELECT DISTINCT l ->> 'sku' FROM orders, jsonb_array_elements(doc -> 'lines') l$q$),
	($q$SELECT min(l ->> 'sku'), max(l ->> 'sku'), count(DISTINCT l ->> 'sku') FROM orders, jsonb_array_elements(doc -> 'lines') l$q$),
	($q$SELECT sum((l ->> 'qty')::int) FILTER (WHERE l ->> 'sku' > 's2') FROM orders, jsonb_array_elements(doc -> 'lines') l$q$),
	($q$SELECT l ->> 'maker', doc ->> 'status', sum((l ->> 'qty')::bigint), sum((l ->> 'qty')::smallint), count(l ->> 'price') FROM orders, jsonb_array_elements(doc -> 'lines') l GROUP BY 1, 2$q$),
	($q$SELECT doc ->> 'status', l ->> 'sku', count(*) FROM orders, jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'maker' = 'm1' AND doc ->> 'status' = 'open' GROUP BY 1, 2$q$),
	($q$SELECT doc ->> 'status', sum((l ->> 'qty')::int), count(*) FROM orders, jsonb_array_elements(doc -> 'lines') l GROUP BY 1$q$),
	($q$SELECT doc ->> 'status', count(*) FROM orders GROUP BY 1$q$),
	($q$SELECT sum(sku_qty.qty) FROM (SELECT (l ->> 'qty')::int AS qty FROM orders, jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' = 's3') sku_qty$q$),
	($q$SELECT jsonb_array_elements(doc -> 'lines') ->> 'sku' AS sku, count(*) FROM orders GROUP BY 1$q$),
	-- the total of an order counts for each of its lines, and lines of one order are in one group
	($q$SELECT l ->> 'sku', sum((doc ->> 'total')::bigint) FROM orders, jsonb_array_elements(doc -> 'lines') l GROUP BY 1$q$),
	-- orders, not lines
	($q$SELECT count(*) FROM orders WHERE doc @> '{"lines": [{"sku": "s1"}]}'$q$),
	($q$SELECT count(DISTINCT id) FROM orders, jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' = 's1'$q$),
	-- other elements, or more than those
	($q$SELECT count(*) FROM orders, jsonb_array_elements(doc -> 'others') l$q$),
	($q$SELECT l ->> 'sku', count(*) FROM orders LEFT JOIN LATERAL jsonb_array_elements(doc -> 'lines') l ON true GROUP BY 1$q$),
	($q$SELECT l.value ->> 'sku', count(*) FROM orders, jsonb_array_elements(doc -> 'lines') WITH ORDINALITY l WHERE l.ordinality < 2 GROUP BY 1$q$),
	($q$SELECT l ->> 'sku', max((l ->> 'qty')::int) FROM orders, jsonb_array_elements(doc -> 'lines') l GROUP BY 1$q$);
SELECT n, compare(query) FROM asked ORDER BY n;
EXPLAIN (COSTS OFF) SELECT l ->> 'sku', sum((l ->> 'qty')::int) FROM orders, jsonb_array_elements(doc -> 'lines') l GROUP BY 1;
SELECT key, rows, counts, sums FROM indextable.totals('by_sku', '{"sku": "s1"}');
SELECT key, rows, counts ? 'elements' FROM indextable.totals('by_sku', '{"sku": null}');

-- ---- writes
UPDATE orders SET doc = jsonb_set(doc, '{lines}', coalesce(order_lines(id + 1), '[]')) WHERE id % 3 = 0;
SELECT drift();
UPDATE orders SET doc = doc - 'lines' WHERE id % 17 = 0;
UPDATE orders SET doc = jsonb_set(doc, '{lines, 0, qty}', '3') WHERE doc @> '{"lines": [{"qty": 2}]}';
UPDATE orders SET doc = jsonb_set(doc, '{status}', '"sent"') WHERE id % 5 = 0;
DELETE FROM orders WHERE id % 7 = 0;
BEGIN;
SAVEPOINT s;
UPDATE orders SET doc = jsonb_set(doc, '{lines}', '[{"sku": "s9", "qty": 7}, {"sku": "s9", "qty": 7}]') WHERE id < 20;
SELECT compare(query) FROM asked WHERE n = 1;
ROLLBACK TO s;
INSERT INTO orders VALUES (1000, '{"lines": [{"sku": "s8", "qty": 1}, {"sku": "s8", "qty": 1}, {"sku": "s8"}]}');
SELECT l ->> 'sku', count(*), sum((l ->> 'qty')::int) FROM orders, jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' >= 's8' GROUP BY 1;
COMMIT;
SELECT drift();
SELECT indextable.drain();
SELECT drift();
SELECT n, compare(query) FROM asked WHERE n IN (1, 9, 11, 15) ORDER BY n;

-- a total of the order is added up for each line as long as no order has two in one group
CREATE TABLE single (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO single SELECT i, jsonb_build_object('total', i, 'tags', jsonb_build_array('t' || i % 3, 'all', NULL)) FROM generate_series(1, 30) i;
SELECT indextable.create('by_tag', 'single', '{tags[*]}', totals => '{sum(total::int)}');
SELECT compare($q$SELECT tag, count(*), sum((doc ->> 'total')::int) FROM single, jsonb_array_elements_text(doc -> 'tags') tag GROUP BY tag$q$);
INSERT INTO single VALUES (31, '{"total": 5, "tags": ["t1", "t1"]}');
SELECT compare($q$SELECT tag, count(*), sum((doc ->> 'total')::int) FROM single, jsonb_array_elements_text(doc -> 'tags') tag GROUP BY tag$q$);
SELECT compare($q$SELECT tag, count(*) FROM single, jsonb_array_elements_text(doc -> 'tags') tag GROUP BY tag$q$);
SELECT compare($q$SELECT count(*) FROM single WHERE doc -> 'tags' ? 't1'$q$);
SELECT tags, sum(rows) AS rows, sum(elements) AS elements FROM by_tag WHERE tags IS NULL OR tags = 't1' GROUP BY 1 ORDER BY 1;
DELETE FROM single WHERE id = 31;
SELECT indextable.verify('single');
SELECT compare($q$SELECT tag, sum((doc ->> 'total')::int) FROM single, jsonb_array_elements_text(doc -> 'tags') tag GROUP BY tag$q$);

-- jsonb_to_recordset() asks for objects
SELECT compare($q$SELECT l.sku, sum(l.qty) FROM orders, jsonb_to_recordset(doc -> 'lines') AS l(sku text, qty int) GROUP BY 1$q$);
UPDATE orders SET doc = jsonb_set(doc, '{lines}', (SELECT coalesce(jsonb_agg(l) FILTER (WHERE jsonb_typeof(l) = 'object'), '[]') FROM jsonb_array_elements(doc -> 'lines') l))
WHERE doc -> 'lines' @> '[null]';
UPDATE orders SET doc = doc - 'lines' WHERE doc -> 'lines' = 'null';
SELECT count(*) FROM indextable.verify('orders');
SELECT drift();
SELECT compare($q$SELECT l.sku, sum(l.qty) FROM orders, jsonb_to_recordset(doc -> 'lines') AS l(sku text, qty int) GROUP BY 1$q$);
SELECT compare($q$SELECT sku, sum(qty), avg(price) FROM orders, jsonb_populate_recordset(NULL::item, doc -> 'lines') GROUP BY 1$q$);

-- what is no array raises the error that it raises without index tables
INSERT INTO orders VALUES (1001, '{"lines": {"sku": "s1"}}');
SELECT l ->> 'sku', count(*) FROM orders, jsonb_array_elements(doc -> 'lines') l GROUP BY 1;
DELETE FROM orders WHERE id = 1001;
SELECT count(*) FROM indextable.verify('orders');
SELECT compare(query) FROM asked WHERE n = 1;

-- ---- values that cannot be added up
INSERT INTO orders VALUES (1002, '{"lines": [{"sku": "s1", "qty": 1}, {"sku": "s2", "qty": "many"}]}');
INSERT INTO orders VALUES (1002, '{"lines": [{"sku": "s1", "price": "NaN"}]}');
CREATE TABLE skipping (id int PRIMARY KEY, doc jsonb NOT NULL);
SELECT indextable.create('skipped', 'skipping', '{lines[*].sku, lines[*].no::int}', totals => '{sum(lines[*].qty::int), count(lines[*])}', on_mismatch => 'skip');
INSERT INTO skipping VALUES (1, '{"lines": [{"sku": "s1", "no": 1, "qty": 1}, {"sku": "s2", "no": 2, "qty": "many"}, {"sku": "s2", "no": 2, "qty": 2}]}');
SELECT * FROM skipped ORDER BY sku;
SELECT compare($q$SELECT l ->> 'sku', count(*) FROM skipping, jsonb_array_elements(doc -> 'lines') l GROUP BY 1$q$);
SELECT sum((l ->> 'qty')::int) FROM skipping, jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' = 's1';
INSERT INTO skipping VALUES (2, '{"lines": [{"sku": "s1", "no": "none", "qty": 1}, {"sku": "s3", "no": 3, "qty": 4}]}');
SELECT * FROM skipped ORDER BY sku, sum_qty;
SELECT compare($q$SELECT l ->> 'sku', count(*) FROM skipping, jsonb_array_elements(doc -> 'lines') l GROUP BY 1$q$);
SELECT skipped FROM indextable.index_table_stats WHERE index_table = 'skipped'::regclass;

-- a row does not write a long key for each of many elements
CREATE TABLE many (id int PRIMARY KEY, doc jsonb NOT NULL);
SELECT indextable.create('of_many', 'many', '{customer, items[*]::int}', totals => '{count(*)}');
INSERT INTO many SELECT 1, jsonb_build_object('customer', repeat('c', 2400), 'items', jsonb_agg(i)) FROM generate_series(1, 40000) i;
INSERT INTO many SELECT 1, jsonb_build_object('customer', repeat('c', 2400), 'items', jsonb_agg(i % 10)) FROM generate_series(1, 40000) i;
SELECT count(*), sum(rows), sum(elements) FROM of_many;

-- ---- array columns, nested arrays, partitions, filters
CREATE TABLE post (id int PRIMARY KEY, tags text[], nums int[]);
INSERT INTO post SELECT i, CASE WHEN i % 4 > 0 THEN ARRAY['a', NULL, 'a', 't' || i % 2] END, ARRAY[i, i, NULL] FROM generate_series(1, 20) i;
SELECT indextable.create('by_tags', 'post', '{@tags[*]}', totals => '{count(@tags[*])}');
SELECT indextable.create('of_nums', 'post', '{}', totals => '{sum(@nums[*]), count(*)}');
\d by_tags
SELECT compare($q$SELECT tag, count(*) FROM post, unnest(tags) tag GROUP BY tag$q$);
SELECT compare($q$SELECT sum(n), count(n), count(*) FROM post, unnest(nums) n$q$);
CREATE TABLE nested (id int PRIMARY KEY, doc jsonb NOT NULL) PARTITION BY RANGE (id);
CREATE TABLE nested_1 PARTITION OF nested FOR VALUES FROM (0) TO (50);
CREATE TABLE nested_2 PARTITION OF nested FOR VALUES FROM (50) TO (100);
SELECT indextable.create('by_no', 'nested', '{orders[*].no, orders[*].lines[*].sku}', totals => '{sum(orders[*].lines[*].qty::int)}', filter => $$doc ->> 'draft' IS NULL$$);
INSERT INTO nested SELECT i, jsonb_build_object('orders', jsonb_build_array(jsonb_build_object('no', i % 3, 'lines', order_lines(i)), jsonb_build_object('no', i % 3, 'lines', order_lines(i + 2)), jsonb '{}'))
	|| CASE WHEN i % 5 = 0 THEN jsonb '{"draft": true}' ELSE '{}' END
FROM generate_series(0, 99) i;
CREATE VIEW nested_difference AS
WITH e (no, sku, rows, elements, qty, n) AS (SELECT o ->> 'no', l ->> 'sku', count(DISTINCT id), count(*), coalesce(sum((l ->> 'qty')::int), 0), count(l ->> 'qty')
	FROM nested, jsonb_array_elements(doc -> 'orders') o, jsonb_array_elements(CASE jsonb_typeof(o -> 'lines') WHEN 'array' THEN o -> 'lines' ELSE '[]' END) l
	WHERE doc ->> 'draft' IS NULL GROUP BY 1, 2),
k (no, sku, rows, elements, qty, n) AS (SELECT no, sku, sum(rows)::bigint, sum(elements)::bigint, sum(sum_qty)::bigint, sum(count_qty)::bigint FROM by_no GROUP BY 1, 2 HAVING sum(rows) > 0)
(TABLE e EXCEPT ALL TABLE k) UNION ALL (TABLE k EXCEPT ALL TABLE e);
TABLE nested_difference;
ALTER TABLE nested DETACH PARTITION nested_2;
TABLE nested_difference;
UPDATE nested SET doc = jsonb_set(doc, '{orders, 0, lines, 0}', '{"sku": "x", "qty": 9}') WHERE id % 2 = 0;
TABLE nested_difference;

-- ---- changed, mended, dropped
SELECT indextable.alter('by_sku', filter => $$doc ->> 'status' = 'open'$$);
SELECT compare($q$SELECT l ->> 'sku', count(*) FROM orders, jsonb_array_elements(doc -> 'lines') l WHERE doc ->> 'status' = 'open' GROUP BY 1$q$);
SELECT compare(query) FROM asked WHERE n = 1;
SELECT count(*) FROM indextable.verify('orders');

-- ---- refused
SELECT indextable.create('no', 'orders', '{lines[*].sku}', totals => '{sum(parts[*].qty::int)}');
SELECT indextable.create('no', 'orders', '{lines[*].sku, parts[*].no}', totals => '{count(*)}');
SELECT indextable.create('no', 'orders', '{lines[*].sku}', totals => '{sum(lines[*].price::float8)}');
DROP SCHEMA totals_elements CASCADE;
