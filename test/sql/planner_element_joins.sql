-- Joins of a fact table with elements of its own, and of these with other tables: the fact table is searched by their columns.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
\i :src/sql/include/planner.psql
SET indextable.advice = off;
CREATE SCHEMA planner_element_joins;
SET search_path = planner_element_joins;
CREATE TABLE product (sku text, x int, no int);
INSERT INTO product SELECT 's' || i % 40, i, i % 5 FROM generate_series(1, 60) i UNION ALL VALUES (NULL, 61, 1), ('5', 62, 2), ('', 63, NULL);
CREATE TABLE shop (id int PRIMARY KEY, name text);
INSERT INTO shop SELECT i, 'shop ' || i FROM generate_series(0, 6) i;
CREATE TABLE plain (id int PRIMARY KEY, shop int, doc jsonb);
CREATE TABLE part (id int PRIMARY KEY, shop int, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (-100) TO (300);
CREATE TABLE part_2 (doc jsonb, id int NOT NULL, shop int);
ALTER TABLE part ATTACH PARTITION part_2 FOR VALUES FROM (300) TO (2000);
INSERT INTO plain SELECT i, i % 7, jsonb_build_object('items', jsonb_build_array(jsonb_build_object('sku', 's' || i % 200, 'qty', i % 5, 'no', i % 5),
	jsonb_build_object('sku', 's' || i * 7 % 200, 'qty', i % 3)), 'tags', jsonb_build_array('s' || i % 90, 's' || i % 50), 'shop', i % 7) FROM generate_series(1, 900) i;
INSERT INTO plain VALUES (-1, 1, NULL), (-2, 1, '{}'), (-3, 2, '{"items": [], "tags": []}'), (-4, 2, '{"items": [null, 5, "s1", ["s1"], {"sku": null}, {"sku": 5}, {"sku": "5"}, {"sku": ["s1"]}]}'),
	(-5, 3, '{"items": [{"sku": "s1", "qty": 1}, {"sku": "s1", "qty": 1}, {"sku": "", "qty": 7}], "tags": ["s1", "s1", null, 5, ""]}');
INSERT INTO part SELECT * FROM plain;
SELECT count(indextable.create(t || '_sku', t, '{items[*].sku}')), count(indextable.create(t || '_tag', t, '{tags[*]}')),
	count(indextable.create(t || '_shop_tag', t, '{@shop, tags[*]}')), count(indextable.create(t || '_no', t, '{items[*].no::int}')) FROM unnest('{plain,part}'::regclass[]) t;
ANALYZE;

SELECT e FROM pg_temp.explain($$SELECT o.id, p.x, i ->> 'qty' FROM plain o, jsonb_array_elements(o.doc -> 'items') i JOIN product p ON p.sku = i ->> 'sku' WHERE p.x = 7$$, 'ANALYZE, BUFFERS OFF, COSTS OFF, TIMING OFF, SUMMARY OFF') e;
SELECT d AS difference FROM (VALUES
	('fact_sku', $$SELECT o.id, p.x, i ->> 'qty' FROM fact o, jsonb_array_elements(o.doc -> 'items') i JOIN product p ON p.sku = i ->> 'sku' WHERE p.x = 7$$),
	(NULL, $$SELECT o.*, p.*, i FROM fact o, jsonb_array_elements(o.doc -> 'items') i, product p WHERE p.sku = i ->> 'sku' AND p.x > 40 AND o.shop < 4$$),
	(NULL, $$SELECT o.id, p.x, i.qty FROM product p, fact o CROSS JOIN LATERAL jsonb_to_recordset(o.doc -> 'items') i (sku text, qty int) WHERE p.sku = i.sku AND p.x IN (7, 47) AND o.id <> -4$$),
	('only fact_tag', $$SELECT o.id, p.x FROM product p JOIN (fact o CROSS JOIN jsonb_array_elements_text(o.doc -> 'tags') t) ON t = p.sku WHERE p.x = 9$$),
	(NULL, $$SELECT o.id, p.x FROM product p JOIN (fact o CROSS JOIN jsonb_array_elements_text(o.doc -> 'tags') t) ON t = p.sku AND o.shop = p.no WHERE p.x IN (9, 10)$$),
	(NULL, $$SELECT o.id, p.x, i FROM product p JOIN (fact o CROSS JOIN jsonb_array_elements(o.doc -> 'items') i) ON (i ->> 'no')::int = p.no AND i ->> 'sku' = p.sku WHERE p.x < 9$$),
	(NULL, $$SELECT o.id, p.x, s.name FROM fact o JOIN shop s ON s.id = o.shop, jsonb_array_elements(o.doc -> 'items') i JOIN product p ON p.sku = i ->> 'sku' WHERE p.x = 7$$),
	(NULL, $$SELECT p.x FROM product p WHERE p.x < 20 AND EXISTS (SELECT FROM fact o, jsonb_array_elements(o.doc -> 'items') i WHERE i ->> 'sku' = p.sku AND o.shop = p.no)$$),
	(NULL, $$SELECT p.x FROM product p WHERE p.x < 20 AND NOT EXISTS (SELECT FROM fact o, jsonb_array_elements(o.doc -> 'items') i WHERE i ->> 'sku' = p.sku AND o.shop = p.no)$$),
	(NULL, $$SELECT p.x FROM product p WHERE p.x < 20 AND p.sku IN (SELECT i ->> 'sku' FROM fact o, jsonb_array_elements(o.doc -> 'items') i WHERE o.shop <> 3)$$),
	(NULL, $$SELECT p.x, o.id FROM product p LEFT JOIN (fact o CROSS JOIN jsonb_array_elements(o.doc -> 'items') i) ON p.sku = i ->> 'sku' AND o.shop = 3 WHERE p.x > 35$$),
	(NULL, $$SELECT s.name, o.id FROM shop s LEFT JOIN (fact o CROSS JOIN jsonb_array_elements(o.doc -> 'items') i JOIN product p ON p.sku = i ->> 'sku' AND p.x = 7) ON s.id = o.shop$$),
	(NULL, $$SELECT o.id, p.x FROM fact o LEFT JOIN jsonb_array_elements(o.doc -> 'items') i ON true JOIN product p ON p.sku = i ->> 'sku' WHERE p.x = 7$$),
	(NULL, $$SELECT o.id, p.x, n FROM fact o, jsonb_array_elements(o.doc -> 'items') WITH ORDINALITY i (e, n) JOIN product p ON p.sku = i.e ->> 'sku' WHERE p.x = 7$$),
	(NULL, $$SELECT o.id, a.x, b.x FROM product a, product b, fact o CROSS JOIN jsonb_array_elements(o.doc -> 'items') i WHERE a.sku || '' = i ->> 'sku' AND b.x = a.x + 1 AND a.x IN (3, 4)$$),
	(NULL, $$SELECT p.x, (SELECT count(*) FROM fact o, jsonb_array_elements(o.doc -> 'items') i JOIN product q ON q.sku = i ->> 'sku' WHERE q.x = p.x AND o.id < 99) FROM product p WHERE x < 4$$),
	(NULL, $$SELECT o.id FROM fact o, jsonb_array_elements(o.doc -> 'items') i JOIN product p ON p.sku = i ->> 'sku' WHERE p.x = 7 AND 10 / (p.no - 1) > 0 AND p.no <> 1 ORDER BY o.id, p.x LIMIT 3$$)
) q (scans, query), unnest('{plain,part}'::text[]) fact, pg_temp.differences(regexp_replace(query, '\mfact', fact, 'g'), regexp_replace(scans, '\mfact', fact, 'g')) d;
SELECT d AS difference FROM (VALUES
	($$SELECT o.id, p.x FROM fact o, jsonb_array_elements(o.doc -> 'items') i JOIN product p ON p.sku = i ->> 'sku' WHERE p.x = $1 AND o.shop < $2$$, $$7, 5$$)
) q (query, args), unnest('{plain,part}'::text[]) fact, pg_temp.differences(regexp_replace(query, '\mfact', fact, 'g'), NULL, args) d;
-- ---- a subquery of a row joins elements with another table, or compares them with a subquery: their values are found first
CREATE TABLE late (sku text, id int, d numeric);
INSERT INTO late SELECT 's' || i, i, i % 3 FROM generate_series(1, 30) i UNION ALL VALUES (NULL, 31, 1), ('5', 32, 2);
CREATE TABLE many AS SELECT 's' || i % 300 AS sku, i AS id FROM generate_series(1, 3000) i;
ANALYZE late, many;
SET indextable.planner = force;
SELECT regexp_replace(e, '\$\d+|\(InitPlan \w+\)\.col1', '$1') AS scan FROM pg_temp.explain($$SELECT id FROM plain o WHERE EXISTS (SELECT FROM jsonb_array_elements(doc -> 'items') i JOIN product p ON p.sku = i ->> 'sku' WHERE p.x = 7)$$) e WHERE e ~ 'Index Table|Entry Cond';
SELECT regexp_replace(e, '\$\d+|\(InitPlan \w+\)\.col1', '$1') AS scan FROM pg_temp.explain($$SELECT id FROM part o WHERE EXISTS (SELECT FROM jsonb_array_elements(doc -> 'items') i WHERE i ->> 'sku' = (SELECT sku FROM product WHERE x = 7))$$) e WHERE e ~ 'Index Table|Entry Cond';
RESET indextable.planner;
-- {a} is the array, where it is one
CREATE TABLE tried (searched boolean, condition text, args text);
INSERT INTO tried (searched, condition) VALUES
	(true, $$EXISTS (SELECT FROM jsonb_array_elements({a}) i JOIN product p ON p.sku = i ->> 'sku' WHERE p.x = 7)$$),
	(true, $$EXISTS (SELECT FROM product p CROSS JOIN jsonb_array_elements({a}) i WHERE i ->> 'sku' = p.sku AND p.x IN (7, 8) AND p.no IS NOT NULL)$$),
	(true, $$EXISTS (SELECT FROM jsonb_to_recordset({a}) i (sku text, qty int) JOIN late USING (sku) WHERE late.id BETWEEN 3 AND 5 AND i.qty > 1) AND o.id <> -4$$),
	(true, $$EXISTS (SELECT FROM jsonb_array_elements({a}) i WHERE i ->> 'sku' IN (SELECT sku FROM product WHERE x > 60))$$),
	(true, $$EXISTS (SELECT FROM jsonb_array_elements({a}) i WHERE EXISTS (SELECT FROM late l WHERE l.sku = i ->> 'sku' AND l.id = 7 AND o.shop = 0))$$),
	(true, $$EXISTS (SELECT FROM jsonb_array_elements({a}) i WHERE i ->> 'sku' = (SELECT sku FROM late WHERE id = 9))$$),
	(true, $$EXISTS (SELECT FROM jsonb_array_elements({a}) i WHERE i ->> 'sku' = (SELECT sku FROM late WHERE id < 9 ORDER BY id DESC LIMIT 1))$$),
	(true, $$EXISTS (SELECT FROM jsonb_array_elements({a}) i WHERE i ->> 'sku' = (SELECT sku FROM late WHERE id = 99))$$),
	(true, $$EXISTS (SELECT FROM jsonb_array_elements({a}) i WHERE i ->> 'sku' = (SELECT sku FROM late WHERE id = 31))$$),
	(true, $$EXISTS (SELECT FROM jsonb_array_elements({a}) i JOIN late l ON (i ->> 'no')::int = l.id WHERE l.sku = 's3' AND i ->> 'no' ~ '^[0-9]+$')$$),
	(true, $$EXISTS (SELECT FROM jsonb_array_elements({a}) i LEFT JOIN late l ON l.sku = i ->> 'sku' WHERE l.id = 7)$$),
	-- others follow from no join, or depend on the row, may raise errors, or are too many
	(false, $$EXISTS (SELECT FROM jsonb_array_elements({a}) i LEFT JOIN late l ON l.sku = i ->> 'sku' AND l.id = 7)$$),
	(false, $$EXISTS (SELECT FROM late l LEFT JOIN jsonb_array_elements({a}) i ON l.sku = i ->> 'sku' WHERE l.id = 7)$$),
	(false, $$EXISTS (SELECT FROM jsonb_array_elements({a}) i WHERE NOT EXISTS (SELECT FROM late l WHERE l.sku = i ->> 'sku' AND l.id = 7))$$),
	(false, $$EXISTS (SELECT FROM jsonb_array_elements({a}) i WHERE i ->> 'sku' NOT IN (SELECT sku FROM late l WHERE l.id < 7))$$),
	(false, $$EXISTS (SELECT FROM jsonb_array_elements({a}) i JOIN late l ON l.sku > i ->> 'sku' WHERE l.id = 7)$$),
	(false, $$EXISTS (SELECT FROM jsonb_array_elements({a}) i JOIN late l ON l.sku = i ->> 'sku' WHERE l.id < o.id AND l.id = 7)$$),
	(false, $$EXISTS (SELECT FROM jsonb_array_elements({a}) i JOIN late l ON l.sku = i ->> 'sku' WHERE 10 / l.d > 4)$$),
	(false, $$EXISTS (SELECT FROM jsonb_array_elements({a}) i JOIN late l ON 's' || 10 / l.d = i ->> 'sku')$$),
	(false, $$EXISTS (SELECT FROM jsonb_array_elements({a}) i JOIN many m ON m.sku = i ->> 'sku')$$),
	(false, $$EXISTS (SELECT FROM jsonb_array_elements({a}) i WHERE i ->> 'sku' = (SELECT max(sku) FROM late))$$),
	(false, $$EXISTS (SELECT FROM jsonb_array_elements({a}) i WHERE i ->> 'sku' = (SELECT l.sku FROM late l WHERE l.id = o.shop))$$);
INSERT INTO tried VALUES
	(true, $$EXISTS (SELECT FROM jsonb_array_elements({a}) i JOIN late l ON l.sku = i ->> 'sku' WHERE l.id = $1)$$, '7'),
	(true, $$EXISTS (SELECT FROM jsonb_array_elements({a}) i JOIN late l ON l.sku = i ->> 'sku' WHERE l.id = $1)$$, 'NULL');
SELECT d AS difference FROM tried, unnest('{plain,part}'::text[]) fact,
	format('SELECT id FROM %s o WHERE %s', fact, replace(condition, '{a}', $$CASE jsonb_typeof(doc -> 'items') WHEN 'array' THEN doc -> 'items' END$$)) query, pg_temp.differences(query, NULL, args) d;
CREATE FUNCTION pg_temp.searched(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
	SET LOCAL indextable.planner = force;
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN jsonb_path_exists(plan, 'strict $.** ? (@."Alias" == "o" && exists (@."Entry Cond"))', silent => true);
END $$;
SELECT fact, condition FROM tried, unnest('{plain,part}'::text[]) fact,
	format('SELECT id FROM %s o WHERE %s', fact, replace(replace(condition, '{a}', $$doc -> 'items'$$), '$1', '7')) query WHERE searched <> pg_temp.searched(query) ORDER BY condition, fact;
-- a scalar subquery that returns several rows is an error only where it is evaluated
SELECT pg_temp.differences($$SELECT id FROM plain WHERE id < -9 AND EXISTS (SELECT FROM jsonb_array_elements(doc -> 'items') i WHERE i ->> 'sku' = (SELECT sku FROM late WHERE id < 3))$$);
SELECT pg_temp.differences($$SELECT id FROM plain WHERE id > 0 AND EXISTS (SELECT FROM jsonb_array_elements(doc -> 'items') i WHERE i ->> 'sku' = (SELECT sku FROM late WHERE id < 3))$$);
-- rights on the other table are checked, and rows that its policies hide are not looked for
CREATE ROLE regress_joined;
GRANT USAGE ON SCHEMA planner_element_joins TO regress_joined;
GRANT SELECT ON plain TO regress_joined;
SET ROLE regress_joined;
SET indextable.planner = force;
SELECT count(*) FROM plain o WHERE EXISTS (SELECT FROM jsonb_array_elements(doc -> 'items') i JOIN late l ON l.sku = i ->> 'sku' WHERE l.id = 7 AND o.id > 0);
RESET ROLE;
GRANT SELECT ON late TO regress_joined;
SET ROLE regress_joined;
SELECT count(*) FROM plain o WHERE o.id > 0 AND EXISTS (SELECT FROM jsonb_array_elements(doc -> 'items') i JOIN late l ON l.sku = i ->> 'sku' WHERE l.id = 7);
RESET ROLE;
ALTER TABLE late ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON late USING (id <> 7);
SET ROLE regress_joined;
SELECT count(*) FROM plain o WHERE o.id > 0 AND EXISTS (SELECT FROM jsonb_array_elements(doc -> 'items') i JOIN late l ON l.sku = i ->> 'sku' WHERE l.id = 7);
RESET ROLE;
RESET indextable.planner;
ALTER TABLE late DISABLE ROW LEVEL SECURITY;
-- statements that write rows, and a table that changes between executions of a plan
BEGIN;
SET LOCAL indextable.planner = force;
SET LOCAL plan_cache_mode = force_generic_plan;
PREPARE joined AS SELECT count(*) FROM plain o WHERE o.id > 0 AND EXISTS (SELECT FROM jsonb_array_elements(doc -> 'items') i JOIN late l ON l.sku = i ->> 'sku' WHERE l.id = 7);
EXECUTE joined;
UPDATE late SET sku = 's8' WHERE id = 7;
EXECUTE joined;
UPDATE late SET id = 8 WHERE id = 7;
EXECUTE joined;
DEALLOCATE joined;
ROLLBACK;
SELECT pg_temp.differences($$UPDATE plain o SET shop = 99 WHERE o.id > 0 AND EXISTS (SELECT FROM jsonb_array_elements(doc -> 'items') i JOIN late l ON l.sku = i ->> 'sku' WHERE l.id = 9) RETURNING id$$);
SELECT pg_temp.differences($$DELETE FROM part o WHERE o.id > 0 AND EXISTS (SELECT FROM jsonb_array_elements(doc -> 'items') i JOIN late l ON l.sku = i ->> 'sku' WHERE l.id = 9) RETURNING id$$);
SELECT pg_temp.differences($$SELECT id FROM plain o WHERE o.id > 0 AND EXISTS (SELECT FROM jsonb_array_elements(doc -> 'items') i JOIN late l ON l.sku = i ->> 'sku' WHERE l.id = 9) FOR UPDATE$$);
SET client_min_messages = warning;
DROP SCHEMA planner_element_joins CASCADE;
DROP ROLE regress_joined;
