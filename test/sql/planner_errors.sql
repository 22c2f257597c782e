-- Errors are answers, too: a plan by index tables evaluates an expression of the query for no row, group or value for
-- which the native plan does not, and checks conditions in the server's order. Each condition here is put into queries of
-- all shapes that index tables answer; where the native plan returns rows, so do the others, and the same rows.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
SET indextable.advice = off;
CREATE SCHEMA planner_errors;
SET search_path = planner_errors;

-- A condition on n is an error for the rows whose kind is text, and one on i for those whose i is 0: all of these are
-- deleted, and their groups have entries still.
CREATE TABLE t (id int PRIMARY KEY, doc jsonb NOT NULL);
SELECT indextable.create('t_a', 't', '{a}'), indextable.create('t_b', 't', '{b}'), indextable.create('t_tag', 't', '{tags[*]}'),
	indextable.create('t_kind', 't', '{kind}', include => '{n,i::int}'), indextable.create('t_bn', 't', '{b,n}', include => '{i::int}'),
	indextable.create('t_all', 't', '{k,i::int,kind,n}', totals => '{count(*), sum(i::int)}'),
	indextable.create('t_k', 't', '{k}', totals => '{count(*), sum(i::int), count(n)}'),
	indextable.create('t_tags', 't', '{tags[*]}', totals => '{count(*)}') \gset
INSERT INTO t SELECT i, jsonb_build_object('a', 'a' || i % 20, 'b', 'b' || i % 30, 'k', 'k' || i % 3, 'i', i % 4, 'kind',
	CASE WHEN i % 7 = 0 THEN 'text' ELSE 'number' END, 'n', CASE WHEN i % 7 = 0 THEN 'large' ELSE (i % 10)::text END,
	'tags', jsonb_build_array((i % 4)::text, 'x' || i % 5)) FROM generate_series(1, 600) i;
DELETE FROM t WHERE doc ->> 'i' = '0';
INSERT INTO t VALUES (1001, '{"k": "k9", "i": 0, "a": "a1", "kind": "text", "n": "none"}');
UPDATE t SET doc = doc || '{"i": 7}' WHERE id = 1001;
ANALYZE;

-- outcome: the rows of a query, in an order, or the code of its error
CREATE FUNCTION outcome(query text, planner text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
	PERFORM set_config('indextable.planner', planner, true);
	EXECUTE format('SELECT coalesce(string_agg(q::text, E''\n'' ORDER BY q::text), ''no rows'') FROM (%s) q', query) INTO result;
	RETURN result;
EXCEPTION WHEN OTHERS THEN RETURN 'error ' || SQLSTATE;
END $$;

CREATE TABLE conditions (c text);
INSERT INTO conditions VALUES
	($$10 / (doc ->> 'i')::int > 1$$), ($$10 / (doc ->> 'i')::int > 1 AND doc ->> 'k' = 'k1'$$),
	($$upper(upper(doc ->> 'k')) <> 'K9' AND 10 / (doc ->> 'i')::int > 1$$), ($$(doc ->> 'i')::int <> 0 AND 10 / (doc ->> 'i')::int > 1$$),
	($$(doc ->> 'n')::numeric(10,1) > 1 AND doc ->> 'kind' = 'number'$$), ($$doc ->> 'kind' = 'number' AND (doc ->> 'n')::int > 1$$),
	($$CASE WHEN doc ->> 'kind' = 'number' THEN (doc ->> 'n')::int > 1 END$$), ($$(doc ->> 'kind' = 'text' OR (doc ->> 'n')::int > 1)$$),
	($$(doc ->> 'n')::int > 1$$), ($$doc ->> 'kind' = 'number' AND (10 / (doc ->> 'n')::int > 1 OR doc ->> 'n' = '0')$$),
	($$doc ->> 'kind' = 'number' AND (doc ->> 'n' = '0' OR 10 / (doc ->> 'n')::int > 1)$$);

CREATE TABLE shapes (s text);
INSERT INTO shapes VALUES
	('SELECT id FROM t WHERE %1$s'), ($$SELECT id FROM t WHERE %1$s AND doc ->> 'a' = 'a3'$$),
	($$SELECT id FROM t WHERE %1$s AND doc ->> 'a' IN ('a3', 'a7')$$), ($$SELECT id FROM t WHERE %1$s AND doc ->> 'a' IN ('a3', 'a7') ORDER BY id LIMIT 5$$),
	($$SELECT id FROM t WHERE %1$s AND (doc ->> 'a' = 'a3' OR doc ->> 'b' = 'b7')$$),
	($$SELECT count(*) FROM t WHERE %1$s AND (doc ->> 'a' = 'a3' AND %1$s OR doc ->> 'b' = 'b7')$$),
	($$SELECT count(*) FROM t WHERE doc ->> 'a' = 'a3' OR doc ->> 'b' = 'b7' AND (%1$s)$$),
	-- entries have what some of the conditions need, and not what others do
	($$SELECT doc FROM t WHERE %1$s AND doc ->> 'b' IN ('b7', 'b8')$$), ($$SELECT doc FROM t WHERE %1$s AND doc ->> 'b' >= 'b1'$$),
	($$SELECT doc FROM t WHERE doc ->> 'kind' >= 'a' AND upper(doc ->> 'b') <> 'B7' AND %1$s$$),
	($$SELECT doc FROM t WHERE doc ->> 'b' >= 'b1' AND doc ->> 'kind' LIKE 'n%%' AND %1$s FOR UPDATE$$),
	($$SELECT doc FROM t WHERE doc ->> 'b' >= 'b1' AND doc ->> 'n' NOT LIKE '%%e' AND %1$s$$),
	($$SELECT doc FROM t WHERE doc ->> 'b' >= 'b1' AND doc ->> 'n' ~ '^\d+$' AND %1$s ORDER BY doc ->> 'b', id LIMIT 9$$),
	($$SELECT id FROM t WHERE %1$s AND doc -> 'tags' ? 'x1'$$), ($$SELECT id FROM t WHERE %1$s AND doc ->> 'a' = 'a3' AND doc -> 'tags' ? 'x1'$$),
	($$SELECT doc ->> 'n' FROM t WHERE %1$s AND doc ->> 'kind' = 'number'$$), ($$SELECT DISTINCT doc ->> 'k' FROM t WHERE %1$s$$),
	('SELECT count(*) FROM t WHERE %1$s'), ($$SELECT doc ->> 'k', count(*) FROM t WHERE %1$s GROUP BY 1$$),
	($$SELECT doc ->> 'k', count(*) FILTER (WHERE %1$s) FROM t GROUP BY 1$$), ($$SELECT sum((doc ->> 'i')::int) FILTER (WHERE %1$s) FROM t$$),
	($$SELECT max(doc ->> 'k') FROM t WHERE %1$s$$), ($$SELECT count(DISTINCT doc ->> 'k') FILTER (WHERE %1$s) FROM t$$),
	($$SELECT %1$s, count(*) FROM t GROUP BY 1$$), ($$SELECT DISTINCT %1$s FROM t$$), ($$SELECT bool_or(%1$s) FROM t$$),
	($$SELECT doc ->> 'k' FROM t GROUP BY doc ->> 'k', doc ->> 'kind', doc ->> 'n', (doc ->> 'i')::int, doc ->> 'i', doc HAVING %1$s$$),
	($$SELECT doc ->> 'k', count(*) FROM t GROUP BY 1 HAVING 10 / sum((doc ->> 'i')::int) > 0 OR 10 / count(*) > 0$$),
	($$SELECT 10 / (doc ->> 'i')::int, count(*) FROM t GROUP BY 1 HAVING 10 / (doc ->> 'i')::int > 1$$),
	($$SELECT 10 / x::int, count(*) FROM t, jsonb_array_elements_text(doc -> 'tags') x WHERE x NOT LIKE 'x%%' AND %1$s GROUP BY 1$$),
	($$SELECT x, count(*) FROM t, jsonb_array_elements_text(doc -> 'tags') x WHERE NOT starts_with(x, 'x') AND 10 / x::int > 1 GROUP BY 1$$),
	($$SELECT count(*) FILTER (WHERE 10 / x::int > 1) FROM t, jsonb_array_elements_text(doc -> 'tags') x WHERE x !~ '^x'$$);

-- Where the native plan returns rows: what came out otherwise. The number tells that there were many.
CREATE TABLE outcomes AS SELECT query, p AS planner, outcome(query, 'off') AS native, outcome(query, p) AS ours
FROM (SELECT DISTINCT format(s, c) AS query FROM shapes, conditions) q, unnest('{on,force}'::text[]) p;
SELECT count(*) > 250 AS many FROM outcomes WHERE native !~ '^error';
CALL pg_temp.no_rows($$(SELECT planner, query, native, ours FROM outcomes WHERE native !~ '^error' AND native <> ours) d$$);

-- The same while entries of the same transaction cancel each other.
BEGIN;
UPDATE t SET doc = doc || '{"i": 0}' WHERE id = 1;
UPDATE t SET doc = doc || '{"i": 1}' WHERE id = 1;
CALL pg_temp.no_rows($$(SELECT p, query FROM (SELECT DISTINCT query FROM outcomes) q, unnest('{on,force}'::text[]) p
	WHERE outcome(query, 'off') !~ '^error' AND outcome(query, 'off') <> outcome(query, p)) d$$);
ROLLBACK;
SET client_min_messages = warning;
DROP SCHEMA planner_errors CASCADE;
