-- Elements of arrays as rows of a query: what an index table of several of their fields answers from its entries is what is
-- answered natively, over arrays that repeat elements, with elements that are null, scalars or arrays and that lack members.
-- Nothing is printed but what differs, and whether entries alone have answered.
\set QUIET on
SET client_min_messages = warning;
SET indextable.advice = off;
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/planner.psql
\set ECHO none
\pset tuples_only on
\pset format unaligned
CREATE SCHEMA element_rows;
SET search_path = element_rows;
CREATE TYPE item AS (qty int, sku text, price numeric(8, 2));
CREATE TABLE f (id int PRIMARY KEY, tenant int, tags text[], doc jsonb);
CREATE TABLE product (sku text PRIMARY KEY, kind text, least int);
INSERT INTO product SELECT 's' || i, 'k' || i % 3, i % 4 FROM generate_series(0, 6) i;
-- a random value of some, and a random element
CREATE FUNCTION pg_temp.any_of(VARIADIC choices text[]) RETURNS jsonb LANGUAGE sql VOLATILE AS $$ SELECT choices[1 + floor(random() * cardinality(choices))::int]::jsonb $$;
CREATE FUNCTION pg_temp.element(objects boolean) RETURNS jsonb LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN NOT objects AND random() < 0.15 THEN pg_temp.any_of('null', '"s1"', '5', 'true', '[]', '[{"sku": "s1", "qty": 1}]', '[null]')
		ELSE jsonb_strip_nulls(jsonb_build_object('sku', pg_temp.any_of('"s1"', '"s1"', '"s2"', '"s3"', '"5"', '5', 'null'), 'qty', pg_temp.any_of('1', '1', '2', '3', '"3"', 'null'),
			'price', pg_temp.any_of('1', '1.0', '1.00', '2.5', 'null'), 'note', pg_temp.any_of('"x"', '"3"', '{"sku": "s1"}', '["a"]', 'null', 'null'))) ||
			pg_temp.any_of('{}', '{}', '{"sku": null}', '{"qty": null}')
	END
$$;
CREATE FUNCTION pg_temp.elements(objects boolean) RETURNS jsonb LANGUAGE sql VOLATILE AS $$
	SELECT coalesce(jsonb_agg(e), '[]') FROM (SELECT pg_temp.element(objects) FROM generate_series(1, floor(random() * 6)::int)) s (e)
$$;
CREATE FUNCTION pg_temp.fill(objects boolean) RETURNS void LANGUAGE sql AS $$
	DELETE FROM f;
	INSERT INTO f SELECT i, i % 3, ('{"{a,b,a}","{}","{a,NULL,NULL}","{c}",NULL}'::text[])[1 + floor(random() * 5)::int]::text[],
		jsonb_build_object('name', 'n' || i % 4) || CASE WHEN random() < 0.1 THEN '{}' ELSE jsonb_build_object('lines', pg_temp.elements(objects)) END ||
		jsonb_build_object('orders', (SELECT coalesce(jsonb_agg(jsonb_build_object('no', n) || CASE WHEN random() < 0.2 THEN '{}' ELSE jsonb_build_object('lines', pg_temp.elements(objects)) END ||
			pg_temp.any_of('{}', '{}', '{"no": 1}')), '[]') FROM generate_series(1, floor(random() * 4)::int) n))
		FROM (SELECT i, random() FROM generate_series(1, 40) i) r;
	INSERT INTO f VALUES (-1, NULL, NULL, NULL), (-2, 1, '{}', '{}')
$$;
-- Where elements come from: an expression that most index tables have, others, and an expression that tells rows apart.
CREATE TABLE source (items text, key text, exprs text[]);
INSERT INTO source VALUES
	('f, jsonb_array_elements(doc -> ''lines'') l', 'l ->> ''sku''', ARRAY['l ->> ''sku''', '(l ->> ''qty'')::int', '(l ->> ''price'')::numeric', '(l ->> ''price'')::numeric(8, 2)', 'l ->> ''note''',
		'l', 'l -> ''qty''', 'coalesce(l ->> ''qty'', l ->> ''sku'')', 'doc ->> ''name''', 'tenant', 'jsonb_path_query_first(l, ''$.sku'') #>> ''{}''']),
	('f CROSS JOIN LATERAL jsonb_array_elements(doc #> ''{lines}'') AS l (value)', 'l.value ->> ''sku''', ARRAY['(value ->> ''qty'')::int', 'id']),
	('f JOIN LATERAL jsonb_array_elements(CASE WHEN jsonb_typeof(doc -> ''lines'') = ''array'' THEN doc -> ''lines'' END) l ON l ->> ''sku'' > ''s1''', 'l ->> ''sku''', ARRAY['(l ->> ''qty'')::int']),
	('f, jsonb_to_recordset(doc -> ''lines'') l(sku text, qty int, price numeric)', 'sku', '{sku,qty,price,l,tenant}'),
	('f, jsonb_populate_recordset(NULL::item, doc -> ''lines'') l', 'sku', '{qty,price,l.sku,tenant}'),
	('f, jsonb_array_elements_text(doc -> ''lines'') l', 'l', '{l}'),
	('f, unnest(tags) l', 'l', '{l,length(l),tenant}'),
	('f, jsonb_array_elements(doc -> ''orders'') o, jsonb_array_elements(o -> ''lines'') l', 'l ->> ''sku''', ARRAY['(o ->> ''no'')::int', '(l ->> ''qty'')::int', 'l ->> ''sku''']),
	('f, jsonb_to_recordset(doc -> ''orders'') o (no int, lines jsonb), jsonb_array_elements(lines) l', 'l ->> ''sku''', ARRAY['no', '(l ->> ''qty'')::int']),
	('f, jsonb_array_elements(doc -> ''orders'') l', 'l ->> ''no''', ARRAY['(l ->> ''no'')::int']),
	('f, jsonb_array_elements(doc -> ''orders'') o CROSS JOIN LATERAL jsonb_array_elements(doc -> ''lines'') l', 'l ->> ''sku''', ARRAY['(o ->> ''no'')::int', '(l ->> ''qty'')::int']),
	('f, jsonb_array_elements(doc -> ''lines'') l, jsonb_array_elements(doc -> ''lines'') m', 'l ->> ''sku''', ARRAY['(m ->> ''qty'')::int']),
	('f, jsonb_array_elements(doc -> ''lines'') l JOIN product p ON p.sku = l ->> ''sku''', 'p.sku', ARRAY['(l ->> ''qty'')::int', 'kind', 'l ->> ''sku''', 'l ->> ''note''', 'tenant']),
	('product p LEFT JOIN (f CROSS JOIN jsonb_array_elements(doc -> ''lines'') l) ON p.sku = l ->> ''sku'' AND (l ->> ''qty'')::int > p.least', 'p.sku', ARRAY['(l ->> ''qty'')::int', 'doc ->> ''name''', 'coalesce(l ->> ''sku'', ''none'')']),
	('f LEFT JOIN LATERAL jsonb_array_elements(doc -> ''lines'') l ON true', 'l ->> ''sku''', ARRAY['(l ->> ''qty'')::int']),
	('f, jsonb_array_elements(doc -> ''lines'') WITH ORDINALITY l (l, n)', 'l ->> ''sku''', ARRAY['n', '(l ->> ''qty'')::int']),
	('(SELECT * FROM f WHERE doc ->> ''name'' = ''n1'' OFFSET 0) f, jsonb_array_elements(doc -> ''lines'') l', 'l ->> ''sku''', ARRAY['(l ->> ''qty'')::int']),
	('(SELECT id, tenant, l ->> ''sku'' AS sku, (l ->> ''qty'')::int AS qty, doc FROM f, jsonb_array_elements(doc -> ''lines'') l) q', 'sku', ARRAY['qty', 'doc ->> ''name''']);
CREATE TABLE form (query text);
INSERT INTO form VALUES ('SELECT %2$s, %1$s FROM %3$s'), ('SELECT %2$s, %1$s, count(*) FROM %3$s GROUP BY 1, 2'), ('SELECT DISTINCT %1$s FROM %3$s'), ('SELECT %2$s, count(%1$s), count(*) FROM %3$s GROUP BY 1'),
	('SELECT %2$s, sum(length((%1$s)::text)), min((%1$s)::text), count(DISTINCT %1$s) FROM %3$s GROUP BY 1'), ('SELECT max(%2$s), min(%2$s) FROM %3$s'), ('SELECT count(*) FROM %3$s'),
	('SELECT %2$s, %1$s FROM %3$s ORDER BY 1, 2 LIMIT 9'), ('SELECT %2$s, %1$s FROM %3$s ORDER BY 1 DESC NULLS LAST, 2 LIMIT 9'), ('SELECT %1$s, %2$s FROM %3$s ORDER BY 1 DESC, 2 DESC OFFSET 3 LIMIT 9'),
	('SELECT %2$s, %1$s FROM %3$s WHERE %2$s = ''s1'' ORDER BY 2 DESC LIMIT 5'), ('SELECT %1$s FROM %3$s WHERE %2$s IN (''s1'', ''s3'')'), ('SELECT %2$s, array_agg((%1$s)::text ORDER BY (%1$s)::text) FROM %3$s GROUP BY 1'),
	('SELECT %2$s FROM %3$s WHERE %1$s IS NULL'), ('SELECT %2$s, %1$s FROM %3$s WHERE (%1$s)::text > ''1'' AND %2$s IS NOT NULL'), ('SELECT count(*), sum(length(%2$s)) FROM %3$s WHERE (%1$s)::text BETWEEN ''1'' AND ''2'' AND %2$s >= ''s1'''),
	('SELECT %2$s, %1$s FROM %3$s WHERE tenant = 1 AND %2$s > ''s'''), ('SELECT count(*) FROM %3$s WHERE doc @> ''{"lines": [{"sku": "s1"}]}'' AND %2$s = ''s2'''),
	('SELECT %2$s, count(*) FROM %3$s WHERE EXISTS (SELECT FROM jsonb_array_elements(doc -> ''lines'') z WHERE z ->> ''sku'' = ''s1'') GROUP BY 1'),
	('SELECT %2$s, rank() OVER (ORDER BY %2$s, (%1$s)::text) FROM %3$s'), ('SELECT %2$s, count(*) FROM %3$s GROUP BY 1 HAVING count(*) > 3 ORDER BY 2 DESC, 1 LIMIT 3'),
	('SELECT %2$s, count(*) FROM %3$s GROUP BY ROLLUP (1)'), ('SELECT id, %2$s, (SELECT max(kind) FROM product WHERE product.sku = %2$s) FROM %3$s WHERE %1$s IS NOT NULL'),
	('SELECT p2.kind, %2$s FROM %3$s JOIN product p2 ON p2.sku = %2$s WHERE p2.kind = ''k1'''), ('SELECT %2$s FROM %3$s WHERE (%1$s)::text = ANY (SELECT least::text FROM product WHERE product.sku = %2$s)'),
	('SELECT (SELECT count(*) FROM %3$s WHERE %2$s = p2.sku) FROM product p2');
CREATE TABLE query AS SELECT DISTINCT format(query, expr, key, items) AS query FROM source, unnest(exprs) expr, form
	-- which of equal values that are not the same are first is left open
	WHERE NOT (query ~ 'LIMIT' AND expr ~ '^(l|price)$|numeric');
INSERT INTO query VALUES ('SELECT jsonb_array_elements(doc -> ''lines'') ->> ''sku'', jsonb_array_elements(doc -> ''lines'') ->> ''qty'', count(*) FROM f GROUP BY 1, 2'),
	('SELECT jsonb_array_elements(doc -> ''lines'') ->> ''sku'', jsonb_array_elements(doc -> ''orders'') ->> ''no'', count(*) FROM f GROUP BY 1, 2'), ('SELECT jsonb_array_elements(doc -> ''lines'') ->> ''sku'', count(*) FROM f GROUP BY 1'),
	('SELECT unnest(tags), count(*) FROM f GROUP BY 1'), ('SELECT DISTINCT unnest(tags), tenant FROM f'), ('SELECT DISTINCT jsonb_array_elements(doc -> ''lines'') ->> ''sku'' FROM f'),
	('SELECT jsonb_array_elements(doc -> ''lines'') ->> ''sku'', generate_series(1, 3), count(*) FROM f GROUP BY 1, 2'), ('SELECT DISTINCT jsonb_array_elements(doc -> ''lines'') ->> ''sku'', jsonb_array_elements(doc -> ''lines'') ->> ''qty'' FROM f');
CREATE TABLE made (n int, name text, key text, options text);
INSERT INTO made VALUES (1, 'line', '{lines[*].sku, lines[*].qty::int}', $$include => '{name}'$$), (2, 'line_note', '{lines[*].sku}', $$include => '{lines[*].note, lines[*].qty::int, name, @tenant}'$$),
	(3, 'of_tenant', '{@tenant, lines[*].sku}', $$include => '{lines[*].qty::int}'$$), (4, 'sparse', '{lines[*].qty::int, lines[*].sku}', $$sparse => true$$), (5, 'price', '{lines[*].sku, lines[*].price::numeric}', $$include => '{lines[*].qty::int}'$$),
	(6, 'scaled', '{lines[*].sku, "lines[*].price::numeric(8,2)"}', $$include => '{lines[*].qty::int}'$$), (7, 'deep', '{orders[*].no::int, orders[*].lines[*].sku}', $$include => '{orders[*].lines[*].qty::int}'$$),
	(8, 'copied', '{lines[*].sku}', $$strategy => 'denormalized'$$), (9, 'parted', '{lines[*].sku, lines[*].qty::int}', $$partitions => 3$$), (10, 'of_one', '{lines[*].sku, lines[*].qty::int}', $$filter => 'tenant = 1'$$),
	(11, 'line_text', '{lines[*]}', $$strategy => 'normalized'$$), (12, 'tag', '{@tags[*]}', $$include => '{@tenant}'$$);
CREATE TABLE native (query text, answer text[]);
-- what an error comes after depends on the order of rows
CREATE FUNCTION pg_temp.sorted(answer text[]) RETURNS text[] LANGUAGE sql AS $$
	SELECT CASE WHEN bool_or(line ~ '^[0-9A-Z]{5} ') THEN array_agg(left(line, 5)) FILTER (WHERE line ~ '^[0-9A-Z]{5} ') ELSE array_agg(line ORDER BY line COLLATE "C") END FROM unnest(answer) line
$$;
-- Each index table is asked a share of the queries, here a 20th of them.
SELECT CASE WHEN current_setting('element_rows.share', true) > '' THEN NULL ELSE set_config('element_rows.share', '20', false) END \g /dev/null
CREATE FUNCTION pg_temp.is_asked(query text, name text) RETURNS boolean LANGUAGE sql AS $$
	SELECT ('x' || left(md5(query || name), 7))::bit(28)::int % greatest(current_setting('element_rows.share')::int / CASE name WHEN 'sparse' THEN 5 ELSE 1 END, 1) = 0
$$;
CREATE FUNCTION pg_temp.ask_natively(names text, without text) RETURNS void LANGUAGE sql AS $$
	TRUNCATE native;
	INSERT INTO native SELECT query, pg_temp.sorted(a.answer) FROM query, pg_temp.answer('off', query, NULL, NULL, 'auto') a
		WHERE query !~ without AND EXISTS (SELECT FROM made WHERE name ~ names AND pg_temp.is_asked(query, name))
$$;
-- try: what differs with the only index table that there is, and drops it
CREATE FUNCTION pg_temp.try(name regclass) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE q record; other record; way text; kinds text[] = '{}';
BEGIN
	FOR q IN SELECT * FROM native WHERE pg_temp.is_asked(query, name::text) ORDER BY query COLLATE "C" LOOP
		FOREACH way IN ARRAY ARRAY['force', 'fallback'] LOOP
			other := pg_temp.answer(way, q.query, NULL, NULL, 'auto');
			-- a search of rows, which may have documents in their entries, leaves out some for which it is an error natively
			IF pg_temp.sorted(other.answer) IS DISTINCT FROM q.answer AND (q.answer[1] !~ '^[0-9A-Z]{5}$' OR (other.scans ~ '^only ' AND other.scans <> 'only copied')) IS NOT FALSE THEN
				RETURN NEXT format('%s, %s, %s: %s: %s, natively %s', name, way, other.scans, q.query, left(other.answer::text, 200), left(q.answer::text, 200));
			END IF;
			kinds := kinds || other.scans;
			EXIT WHEN other.scans = 'native';
		END LOOP;
	END LOOP;
	RETURN NEXT name || CASE WHEN 'only ' || name = ANY (kinds) THEN ': by entries alone' ELSE ': never by entries alone' END;
	PERFORM indextable.drop(name);
END $$;
-- try_all: makes each index table, and asks it; in transactions of their own, as entries do not answer before that of create() has ended
\set try_all 'SELECT format($q$DO $do$ BEGIN PERFORM indextable.create(%L, ''f'', %L, %s); END $do$ $q$, name, key, options), ''ANALYZE '' || name, format(''SELECT pg_temp.try(%L)'', name) FROM made WHERE name ~ :''part'' ORDER BY n \\gexec'
SELECT setseed(0.5) \g /dev/null
SELECT pg_temp.fill(false) \g /dev/null
ANALYZE f;
ANALYZE product;
\set part '.'
SELECT pg_temp.ask_natively(:'part', '^$') \g /dev/null
:try_all
SELECT count(*) > 500, count(*) FILTER (WHERE answer[1] ~ '^(0A|42|XX)') FROM native;
-- objects only, which jsonb_to_recordset() asks for
SELECT pg_temp.fill(true) \g /dev/null
\set part '^(line|line_note|sparse|price)$'
SELECT pg_temp.ask_natively(:'part', '^$') \g /dev/null
:try_all
-- equal elements that are not the same, as 1 and 1.0, are seen natively; verify() forgets them
SELECT indextable.create('price', 'f', '{lines[*].sku, lines[*].price::numeric}') \g /dev/null
\set prices '$q$SELECT l ->> ''sku'', array_agg((l ->> ''price'')::numeric ORDER BY (l ->> ''price'')::numeric) FROM f, jsonb_array_elements(doc -> ''lines'') l WHERE (l ->> ''price'')::numeric > 2 GROUP BY 1$q$'
SELECT pg_temp.differences(:prices, 'native');
UPDATE f SET doc = regexp_replace(doc::text, '1\.0+', '1', 'g')::jsonb;
SELECT v FROM indextable.verify('price') v;
SELECT pg_temp.differences(:prices, 'only price');
INSERT INTO f VALUES (200, 1, NULL, '{"lines": [{"sku": "z", "price": 2.5}, {"sku": "z", "price": 2.50}]}');
SELECT pg_temp.differences(:prices, 'native');
DELETE FROM f WHERE id = 200;
SELECT v FROM indextable.verify('price') v;
SELECT pg_temp.differences(:prices, 'only price');
DROP TABLE price;
-- in partitions, which the planner looks at or not, and with parallel workers
ALTER TABLE f RENAME TO whole;
CREATE TABLE f (LIKE whole INCLUDING ALL) PARTITION BY HASH (id);
SELECT format('CREATE TABLE f%s PARTITION OF f FOR VALUES WITH (MODULUS 3, REMAINDER %1$s)', i) FROM generate_series(0, 2) i \gexec
INSERT INTO f TABLE whole;
ANALYZE f;
\set part '^(line|of_tenant|sparse|deep)$'
SELECT pg_temp.ask_natively(:'part', '^$') \g /dev/null
:try_all
DROP TABLE f;
ALTER TABLE whole RENAME TO f;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
SET parallel_leader_participation = off;
\set part '^(line|sparse|scaled)$'
SELECT pg_temp.ask_natively(:'part', '^$') \g /dev/null
:try_all
RESET parallel_leader_participation;
RESET min_parallel_table_scan_size;
RESET min_parallel_index_scan_size;
-- something else in place of an array, which is an error natively unless a condition leaves it out
INSERT INTO f VALUES (100, 2, '{x}', '{"lines": {"sku": "s1", "qty": 1}, "orders": [{"lines": "s1", "no": 1}]}'), (101, 2, NULL, '{"lines": null, "orders": null}');
-- (a join with another table may come before it)
\set part '^(line|of_tenant|deep)$'
SELECT pg_temp.ask_natively(:'part', 'product') \g /dev/null
:try_all
DROP SCHEMA element_rows CASCADE;
