-- Conditions on one element of an array are searched together, and those on different elements are not.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
LOAD 'indextable';
CREATE SCHEMA scopes;
SET search_path = scopes;
CREATE TYPE item AS (sku text, qty int, price numeric(8, 2));
CREATE TABLE f (id int PRIMARY KEY, tenant int, doc jsonb);
SELECT indextable.create('line', 'f', '{lines[*].sku, lines[*].qty::int}') \gset
SELECT indextable.create('of_tenant', 'f', '{@tenant, lines[*].sku}', include => '{lines[*].qty::int}') \gset
SELECT indextable.create('sparse', 'f', '{lines[*].qty::int, lines[*].sku}', sparse => true) \gset
SELECT indextable.create('deep', 'f', '{orders[*].no::int, orders[*].lines[*].sku}') \gset
-- one element with both, both in different elements, one of them only
INSERT INTO f VALUES
	(1, 1, '{"lines": [{"sku": "x", "qty": 5}, {"sku": "y", "qty": 1}]}'),
	(2, 1, '{"lines": [{"sku": "x", "qty": 1}, {"sku": "y", "qty": 5}]}'),
	(3, 1, '{"lines": [{"sku": "x", "qty": 5}, {"sku": "x", "qty": 5}, {"sku": "x", "qty": 7}]}'),
	(4, 2, '{"lines": [{"sku": "x"}, {"qty": 5}]}'),
	(5, 2, '{"orders": [{"no": 1, "lines": [{"sku": "x"}, {"sku": "y"}]}, {"no": 2, "lines": [{"sku": "z"}]}]}'),
	(6, 2, '{"orders": [{"no": 1, "lines": [{"sku": "z"}]}, {"no": 2, "lines": [{"sku": "x"}]}, {"no": 3}]}');

-- the rows of a query, and the entries that it searches
CREATE FUNCTION asked(query text) RETURNS TABLE (ids text, searched text) LANGUAGE plpgsql AS $$
DECLARE
	native text;
	plan text := '';
	l text;
BEGIN
	SET LOCAL indextable.planner = off;
	EXECUTE 'SELECT string_agg(id::text, '','' ORDER BY id) FROM (' || query || ') q' INTO native;
	SET LOCAL indextable.planner = force;
	EXECUTE 'SELECT string_agg(id::text, '','' ORDER BY id) FROM (' || query || ') q' INTO ids;
	FOR l IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		plan := plan || coalesce(substring(l FROM 'Index Table(?: Only)?: (\S+)') || ': ', '') || coalesce(substring(l FROM 'Entry Cond: (.*)'), '');
	END LOOP;
	searched := plan;
	IF ids IS DISTINCT FROM native THEN
		RAISE INFO 'wrong: %, not %: %', ids, native, query;
	END IF;
	RETURN NEXT;
END $$;
SELECT a.*, q FROM unnest(ARRAY[
	$$SELECT id FROM f WHERE doc @> '{"lines": [{"sku": "x", "qty": 5}]}'$$,
	$$SELECT id FROM f WHERE doc -> 'lines' @> '[{"qty": 5, "sku": "x"}]'$$,
	$$SELECT id FROM f WHERE doc @> '{"lines": [{"sku": "x"}, {"qty": 5}]}'$$,
	$$SELECT id FROM f WHERE doc @> '{"lines": [{"sku": "x"}]}' AND doc @> '{"lines": [{"qty": 5}]}'$$,
	$$SELECT id FROM f WHERE doc @? '$.lines[*] ? (@.sku == "x" && @.qty > 4)'$$,
	$$SELECT id FROM f WHERE doc @? '$.lines ? (@.sku == "x" && @.qty > 4 && @.qty < 6)'$$,
	$$SELECT id FROM f WHERE doc @? '$.lines[*] ? (@.sku == "x") ? (@.qty == 5)'$$,
	$$SELECT id FROM f WHERE doc @? '$.lines[*] ? ((@.sku == "x" || @.sku == "y") && @.qty == 5)'$$,
	$$SELECT id FROM f WHERE doc @@ 'exists($.lines[*] ? (@.sku == "x" && @.qty == 5))'$$,
	$$SELECT id FROM f WHERE doc @@ '$.lines[*].sku == "x" && $.lines[*].qty == 5'$$,
	$$SELECT id FROM f WHERE doc @? '$ ? (@.lines[*].sku == "x" && @.lines[*].qty == 5)'$$,
	$$SELECT id FROM f WHERE doc @? 'strict $.lines ? (@[*].sku == "x" && @[*].qty == 5)'$$,
	$$SELECT id FROM f WHERE EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' = 'x' AND (l ->> 'qty')::int > 4)$$,
	$$SELECT id FROM f WHERE EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l, jsonb_array_elements(doc -> 'lines') m WHERE l ->> 'sku' = 'x' AND (m ->> 'qty')::int = 5)$$,
	$$SELECT id FROM f WHERE EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' = 'x') AND EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE (l ->> 'qty')::int = 5)$$,
	$$SELECT id FROM f WHERE EXISTS (SELECT FROM jsonb_to_recordset(doc -> 'lines') AS l (sku text, qty int) WHERE sku = 'x' AND qty BETWEEN 4 AND 6)$$,
	$$SELECT id FROM f WHERE EXISTS (SELECT FROM jsonb_populate_recordset(NULL::item, doc -> 'lines') WHERE sku = 'x' AND qty = 5 AND price < 3)$$,
	$$SELECT id FROM f WHERE EXISTS (SELECT FROM jsonb_populate_recordset(ROW ('x', 1, 2)::item, doc -> 'lines') WHERE sku = 'x' AND qty = 5)$$,
	$$SELECT id FROM f WHERE 5 = ANY (SELECT (l ->> 'qty')::int FROM jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' = 'x')$$,
	$$SELECT DISTINCT id FROM f, jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' = 'x' AND (l ->> 'qty')::int = 5$$,
	$$SELECT DISTINCT id FROM f CROSS JOIN LATERAL jsonb_to_recordset(doc -> 'lines') AS l (sku text, qty int) WHERE sku = 'x' AND qty = 5$$,
	$$SELECT id FROM f, jsonb_array_elements(doc -> 'lines') l, jsonb_array_elements(doc -> 'lines') m WHERE l ->> 'sku' = 'x' AND (m ->> 'qty')::int = 7$$,
	$$SELECT id FROM f WHERE tenant = 1 AND EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' = 'x' AND (l ->> 'qty')::int > 4)$$,
	$$SELECT id FROM f WHERE tenant = 1 AND doc @> '{"lines": [{"sku": "x"}]}'$$,
	$$SELECT id FROM f WHERE doc @> '{"lines": [{"sku": "x"}]}'$$,
	$$SELECT id FROM f WHERE EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE (l ->> 'qty')::int = 5)$$,
	$$SELECT id FROM f WHERE doc @> '{"orders": [{"no": 1, "lines": [{"sku": "x"}]}]}'$$,
	$$SELECT id FROM f WHERE doc @> '{"orders": [{"no": 1}, {"lines": [{"sku": "x"}]}]}'$$,
	$$SELECT id FROM f WHERE doc @> '{"orders": [{"no": 3}]}'$$,
	$$SELECT id FROM f WHERE doc @? '$.orders[*] ? (@.no == 1 && exists(@.lines[*] ? (@.sku == "x")))'$$,
	$$SELECT id FROM f WHERE doc @? '$.orders[*] ? (@.no == 1 && @.lines[*].sku == "x")'$$,
	$$SELECT id FROM f WHERE doc @? '$.orders[*] ? (@.no == 1 && exists($.orders[*].lines[*] ? (@.sku == "x")))'$$,
	$$SELECT id FROM f WHERE EXISTS (SELECT FROM jsonb_array_elements(doc -> 'orders') o, jsonb_array_elements(o -> 'lines') l WHERE (o ->> 'no')::int = 1 AND l ->> 'sku' = 'x')$$,
	$$SELECT id FROM f, jsonb_array_elements(doc -> 'orders') o, jsonb_array_elements(o -> 'lines') l WHERE (o ->> 'no')::int = 1 AND l ->> 'sku' = 'x'$$,
	$$SELECT id FROM f WHERE EXISTS (SELECT FROM jsonb_array_elements(doc -> 'orders') o WHERE (o ->> 'no')::int = 3)$$,
	$$SELECT count(*) AS id FROM f WHERE doc @> '{"lines": [{"sku": "x"}]}'$$]) WITH ORDINALITY q (q, n), asked(q) a ORDER BY n;

-- prepared: an object that is a parameter is searched by one of its fields
PREPARE contained (jsonb) AS SELECT id FROM f WHERE doc @> $1 ORDER BY id;
SET indextable.planner = force;
SET plan_cache_mode = force_generic_plan;
EXECUTE contained ('{"lines": [{"qty": 5}, {"sku": "x", "qty": 7}]}');
EXECUTE contained ('{"lines": [{"sku": "x", "qty": 5}]}');
RESET plan_cache_mode;
-- joined with another table
CREATE TABLE product (sku text PRIMARY KEY, least int);
INSERT INTO product VALUES ('x', 5), ('y', 2);
SELECT id, p.sku FROM f, jsonb_array_elements(doc -> 'lines') l JOIN product p ON p.sku = l ->> 'sku' WHERE (l ->> 'qty')::int = 5 ORDER BY 1, 2;
RESET indextable.planner;

-- ---- what may be in place of an array, of an element and of a member: each spelling finds what it finds natively
CREATE TABLE c (id int PRIMARY KEY, what text, doc jsonb);
SELECT indextable.create('c_line', 'c', '{lines[*].sku, lines[*].qty::int}') \gset
SELECT indextable.create('c_text', 'c', '{lines[*].sku, lines[*].qty}') \gset
INSERT INTO c VALUES (1, 'an element', '{"lines": [{"sku": "x", "qty": 5}]}'), (2, 'no array', '{}'), (3, 'JSON null', '{"lines": null}'), (4, 'a scalar', '{"lines": "x"}'),
	(5, 'an object', '{"lines": {"sku": "x", "qty": 5}}'), (6, 'an array in the array', '{"lines": [[{"sku": "x", "qty": 5}]]}'), (7, 'a null element', '{"lines": [null]}'),
	(8, 'a member is missing', '{"lines": [{"sku": "x"}]}'), (9, 'another type', '{"lines": [{"sku": "x", "qty": "5"}]}'), (10, 'an empty array', '{"lines": []}'), (11, 'no document', NULL);
CREATE TABLE spelling (n int, name text, condition text);
INSERT INTO spelling VALUES
	(1, '@>', $$doc @> '{"lines": [{"sku": "x", "qty": 5}]}'$$),
	(2, 'lax @?', $$doc @? '$.lines[*] ? (@.sku == "x" && @.qty == 5)'$$),
	(3, 'lax @? without [*]', $$doc @? '$.lines ? (@.sku == "x" && @.qty == 5)'$$),
	(4, 'strict @?', $$doc @? 'strict $.lines[*] ? (@.sku == "x" && @.qty == 5)'$$),
	(5, 'elements', $$EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' = 'x' AND (l ->> 'qty')::int = 5)$$),
	(6, 'recordset', $$EXISTS (SELECT FROM jsonb_to_recordset(doc -> 'lines') AS l (sku text, qty int) WHERE sku = 'x' AND qty = 5)$$),
	(7, 'guarded elements', $$EXISTS (SELECT FROM jsonb_array_elements(CASE jsonb_typeof(doc -> 'lines') WHEN 'array' THEN doc -> 'lines' ELSE '[]' END) l WHERE l ->> 'sku' = 'x' AND (l ->> 'qty')::int = 5)$$),
	(9, 'populated', $$EXISTS (SELECT FROM jsonb_populate_recordset(NULL::item, doc -> 'lines') WHERE sku = 'x' AND qty = 5)$$),
	(8, '@> of two', $$doc @> '{"lines": [{"sku": "x"}]}' AND doc @> '{"lines": [{"qty": 5}]}'$$);
CREATE FUNCTION found(mode text, condition text, row_id int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE found bool;
BEGIN
	PERFORM set_config('indextable.planner', mode, true);
	EXECUTE format('SELECT count(*) > 0 FROM c WHERE id = %s AND %s', row_id, condition) INTO found;
	RETURN CASE WHEN found THEN 'found' ELSE '' END;
EXCEPTION WHEN OTHERS THEN
	RETURN 'error';
END $$;
SELECT what, max(found('off', condition, id)) FILTER (WHERE n = 1) AS "@>", max(found('off', condition, id)) FILTER (WHERE n = 2) AS "lax @?", max(found('off', condition, id)) FILTER (WHERE n = 4) AS "strict @?",
	max(found('off', condition, id)) FILTER (WHERE n = 5) AS elements, max(found('off', condition, id)) FILTER (WHERE n = 6) AS recordset
FROM c, spelling GROUP BY id, what ORDER BY id;
-- row by row, and all rows for which no spelling is an error
SELECT name, what, found('off', condition, id) AS native, found('force', condition, id) AS searched FROM c, spelling
WHERE found('off', condition, id) <> found('force', condition, id) ORDER BY n, id;
DELETE FROM c WHERE id BETWEEN 3 AND 7;
CREATE FUNCTION ids(mode text, condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE ids text;
BEGIN
	PERFORM set_config('indextable.planner', mode, true);
	EXECUTE format('SELECT string_agg(id::text, '','' ORDER BY id) FROM c WHERE %s', condition) INTO ids;
	RETURN ids;
END $$;
SELECT name, ids('off', condition) AS native, ids('force', condition) AS searched FROM spelling ORDER BY n;

-- ---- random documents, by all spellings, in all modes
SELECT setseed(0.25) \gset
CREATE FUNCTION random_line() RETURNS jsonb LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN random() < 0.03 THEN 'null' WHEN random() < 0.02 THEN '[{"sku": "s1", "qty": 1}]' ELSE
		CASE WHEN random() < 0.1 THEN '{}' ELSE jsonb_build_object('sku', CASE WHEN random() < 0.1 THEN NULL ELSE 's' || floor(random() * 4) END) END ||
		CASE WHEN random() < 0.1 THEN '{}' ELSE jsonb_build_object('qty', floor(random() * 5)::int) END END
$$;
CREATE FUNCTION random_lines() RETURNS jsonb LANGUAGE sql VOLATILE AS $$
	SELECT (SELECT coalesce(jsonb_agg(random_line()), '[]') FROM generate_series(1, floor(random() * 5)::int))
$$;
TRUNCATE f;
INSERT INTO f SELECT g, g % 3, CASE WHEN random() < 0.1 THEN '{}' ELSE jsonb_build_object('lines', random_lines()) END ||
	jsonb_build_object('orders', (SELECT jsonb_agg(jsonb_build_object('no', floor(random() * 3)::int, 'lines', random_lines())) FROM generate_series(1, 3)))
FROM generate_series(1, 400) g;
CREATE FUNCTION compare_all() RETURNS TABLE (query text, native text, searched text) LANGUAGE plpgsql AS $$
DECLARE
	form text;
BEGIN
	FOREACH form IN ARRAY ARRAY[
		$f$doc @> '{"lines": [{"sku": "s%1$s", "qty": %2$s}]}'$f$,
		$f$doc @> '{"lines": [{"sku": "s%1$s"}, {"qty": %2$s}]}'$f$,
		$f$doc @> '{"lines": [{"sku": "s%1$s", "qty": %2$s}, {"qty": %3$s}]}'$f$,
		$f$doc -> 'lines' @> '[{"sku": "s%1$s", "qty": %2$s}]' AND tenant = 1$f$,
		$f$doc @? '$.lines[*] ? (@.sku == "s%1$s" && @.qty > %2$s)'$f$,
		$f$doc @? '$.lines ? (@.qty >= %2$s && @.sku == "s%1$s" && @.qty <= %3$s)'$f$,
		$f$doc @? '$.lines[*] ? (@.sku == "s%1$s" || @.sku == "s%3$s") ? (@.qty == %2$s)'$f$,
		$f$doc @@ '$.lines[*].sku == "s%1$s" && $.lines[*].qty > %2$s'$f$,
		$f$doc @? 'strict $.lines ? (@[*].sku == "s%1$s" && @[*].qty == %2$s)'$f$,
		$f$EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' = 's%1$s' AND (l ->> 'qty')::int > %2$s)$f$,
		$f$EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' = 's%1$s' AND (l ->> 'qty')::int BETWEEN %2$s AND %3$s) AND tenant = 2$f$,
		$f$EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' = 's%1$s' AND (l ->> 'qty')::int = %2$s OR l ->> 'sku' = 's%3$s' AND (l ->> 'qty')::int = %2$s)$f$,
		$f$EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l, jsonb_array_elements(doc -> 'lines') m WHERE l ->> 'sku' = 's%1$s' AND (m ->> 'qty')::int = %2$s)$f$,
		$f$EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' = 's%1$s') AND EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE (l ->> 'qty')::int = %2$s)$f$,
		$f$EXISTS (SELECT FROM jsonb_to_recordset(doc -> 'lines') AS l (sku text, qty int) WHERE sku IN ('s%1$s', 's%3$s') AND qty = %2$s)$f$,
		$f$EXISTS (SELECT FROM jsonb_populate_recordset(NULL::item, doc -> 'lines') WHERE sku = 's%1$s' AND qty >= %2$s)$f$,
		$f$%2$s IN (SELECT (l ->> 'qty')::int FROM jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' = 's%1$s')$f$,
		$f$EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE l @> '{"sku": "s%1$s", "qty": %2$s}')$f$,
		$f$doc @> '{"orders": [{"no": %2$s, "lines": [{"sku": "s%1$s"}]}]}'$f$,
		$f$doc @> '{"orders": [{"no": %2$s}, {"lines": [{"sku": "s%1$s"}, {"sku": "s%3$s"}]}]}'$f$,
		$f$doc @? '$.orders[*] ? (@.no == %2$s && exists(@.lines[*] ? (@.sku == "s%1$s")))'$f$,
		$f$doc @? '$.orders ? (@.no == %2$s && @.lines.sku == "s%1$s")'$f$,
		$f$doc @? '$.orders[*] ? (@.no == %2$s && exists($.orders[*].lines[*] ? (@.sku == "s%1$s")))'$f$,
		$f$EXISTS (SELECT FROM jsonb_array_elements(doc -> 'orders') o, jsonb_array_elements(o -> 'lines') l WHERE (o ->> 'no')::int = %2$s AND l ->> 'sku' = 's%1$s')$f$,
		$f$EXISTS (SELECT FROM jsonb_array_elements(doc -> 'orders') o WHERE (o ->> 'no')::int = %2$s) AND EXISTS (SELECT FROM jsonb_array_elements(doc -> 'orders') o, jsonb_array_elements(o -> 'lines') l WHERE l ->> 'sku' = 's%1$s')$f$,
		$f$id IN (SELECT f.id FROM f, jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' = 's%1$s' AND (l ->> 'qty')::int = %2$s)$f$,
		$f$doc -> 'lines' -> 0 ->> 'sku' = 's%1$s' AND (doc -> 'lines' -> 0 ->> 'qty')::int = %2$s$f$] LOOP
		FOR s IN 0 .. 4 LOOP
			query := format(form, s, (s * 2) % 5, (s + 2) % 5);
			PERFORM set_config('indextable.planner', 'off', true);
			BEGIN
				EXECUTE format('SELECT string_agg(id::text, '','' ORDER BY id) FROM f WHERE %s', query) INTO native;
			EXCEPTION WHEN data_exception THEN
				CONTINUE;	-- some element is no object
			END;
			PERFORM set_config('indextable.planner', 'force', true);
			EXECUTE format('SELECT string_agg(id::text, '','' ORDER BY id) FROM f WHERE %s', query) INTO searched;
			IF native IS DISTINCT FROM searched THEN
				RETURN NEXT;
			END IF;
		END LOOP;
	END LOOP;
END $$;
CALL pg_temp.no_rows('compare_all()');
DELETE FROM f WHERE doc @? 'strict $.lines[*] ? (@.type() != "object")';
CALL pg_temp.no_rows('compare_all()');
-- with each index table alone
SELECT indextable.drop('line') \gset
CALL pg_temp.no_rows('compare_all()');
SELECT indextable.drop('of_tenant') \gset
CALL pg_temp.no_rows('compare_all()');
SELECT indextable.drop('sparse'), indextable.create('all_sparse', 'f', '{lines[*].sku}', include => '{lines[*].qty::int}', sparse => true) \gset
CALL pg_temp.no_rows('compare_all()');

-- ---- bounds: those of one element are searched together, and of two that may be true of different elements, one is
CREATE TABLE survey (id int PRIMARY KEY, item text, scores int[], doc jsonb NOT NULL);
INSERT INTO survey (id, doc) VALUES
	(1, '{"item": "ABC", "ratings": [2, 9], "votes": [{"score": 2, "by": "mn"}, {"score": 9, "by": "anon"}]}'),
	(2, '{"item": "XYZ", "ratings": [4, 3], "votes": [{"score": 5, "by": "anon"}, {"score": 7, "by": "wv"}]}'),
	(3, '{"item": "XYZ", "ratings": [9, 1], "votes": [{"score": 9, "by": "anon"}, {"score": 4, "by": "mn"}]}'),
	(4, '{"item": "XYZ", "ratings": []}'), (5, '{"item": "PQR"}');
UPDATE survey SET item = doc ->> 'item', scores = ARRAY(SELECT r::int FROM jsonb_array_elements(doc -> 'ratings') r);
SELECT indextable.create('by_rating', 'survey', '{item, ratings[*]::int}') \gset
SELECT indextable.create('by_vote', 'survey', '{votes[*].by, votes[*].score::int}') \gset
SELECT indextable.create('by_score', 'survey', '{@scores[*]}') \gset
SELECT a.*, q FROM unnest(ARRAY[
	$$SELECT id FROM survey WHERE doc ->> 'item' = 'XYZ' AND doc @? '$.ratings[*] ? (@ >= 3)'$$,
	$$SELECT id FROM survey WHERE doc ->> 'item' = 'XYZ' AND doc @? '$.ratings[*] ? (@ >= 3 && @ <= 6)'$$,
	$$SELECT id FROM survey WHERE doc ->> 'item' = 'XYZ' AND doc @? 'strict $.ratings[*] ? (@ > 3 && @ < 6)'$$,
	$$SELECT id FROM survey WHERE doc ->> 'item' = 'XYZ' AND doc @? '$.ratings ? (@ >= 3 && @ <= 6)'$$,
	$$SELECT id FROM survey WHERE doc ->> 'item' = 'XYZ' AND doc @? '$.ratings[*] ? (@ >= 3) ? (@ <= 6)'$$,
	$$SELECT id FROM survey WHERE doc ->> 'item' = 'XYZ' AND doc @? '$ ? (@.ratings[*] >= 3 && @.ratings[*] <= 6)'$$,
	$$SELECT id FROM survey WHERE doc ->> 'item' = 'XYZ' AND doc @@ '$.ratings[*] >= 3 && $.ratings[*] <= 6'$$,
	$$SELECT id FROM survey WHERE doc ->> 'item' = 'XYZ' AND doc @? '$.ratings[*] ? (@ >= 3)' AND doc @? '$.ratings[*] ? (@ <= 6)'$$,
	$$SELECT id FROM survey WHERE doc ->> 'item' = 'XYZ' AND EXISTS (SELECT FROM jsonb_array_elements(doc -> 'ratings') r WHERE r::int BETWEEN 3 AND 6)$$,
	$$SELECT id FROM survey WHERE doc ->> 'item' = 'XYZ' AND EXISTS (SELECT FROM jsonb_array_elements(doc -> 'ratings') a, jsonb_array_elements(doc -> 'ratings') b WHERE a::int >= 3 AND b::int <= 6)$$,
	$$SELECT DISTINCT id FROM survey, jsonb_array_elements(doc -> 'ratings') r WHERE doc ->> 'item' = 'XYZ' AND r::int BETWEEN 3 AND 6$$,
	$$SELECT id FROM survey WHERE doc @? '$.votes[*] ? (@.by == "anon" && @.score <= 5)'$$,
	$$SELECT id FROM survey WHERE doc @? '$.votes[*] ? (@.by == "anon" && @.score >= 5 && @.score <= 8)'$$,
	$$SELECT id FROM survey WHERE doc @@ '$.votes[*].by == "anon" && $.votes[*].score <= 5'$$,
	$$SELECT id FROM survey WHERE doc @? '$.votes[*].by ? (@ == "anon")' AND doc @? '$.votes[*].score ? (@ <= 5)'$$,
	$$SELECT id FROM survey WHERE EXISTS (SELECT FROM unnest(scores) s WHERE s BETWEEN 3 AND 6)$$,
	$$SELECT id FROM survey WHERE 3 <= ANY (scores) AND 6 >= ANY (scores)$$]) WITH ORDINALITY q (q, n), asked(q) a ORDER BY n;

SET client_min_messages = warning;
DROP SCHEMA scopes CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
