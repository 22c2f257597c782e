-- Conditions of many arms: lists of pairs, and ORs as applications write them. Planning takes time and memory in proportion to
-- their number; where it could not, they are left to the filter. The answers are those without index tables.
SET client_min_messages = warning;
CREATE SCHEMA arms;
SET search_path = arms;
CREATE TABLE o (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO o SELECT i, jsonb_build_object('shop', 's' || i % 100, 'no', i / 2, 'price', round(i / 4.0, 2), 'kind', 'k' || i % 10) FROM generate_series(1, 3000) i;
SELECT indextable.create('o_sn', 'o', '{shop, no::int}'), indextable.create('o_no', 'o', '{no::int}'), indextable.create('o_price', 'o', '{price::numeric}'),
	indextable.create('o_kind', 'o', '{kind, price::numeric}') \gset
ANALYZE o, o_sn, o_no, o_price, o_kind;

-- answered: how many rows a query finds, by which index tables, and whether that differs without them
CREATE FUNCTION answered(query text) RETURNS TABLE (rows bigint, found_by text, differs boolean) LANGUAGE plpgsql AS $$
DECLARE native text; answer text;
BEGIN
	SET LOCAL indextable.planner = off;
	EXECUTE format('SELECT count(*), string_agg(id::text, '','' ORDER BY id) FROM (%s) q', query) INTO rows, native;
	SET LOCAL indextable.planner = force;
	EXECUTE format('SELECT string_agg(id::text, '','' ORDER BY id) FROM (%s) q', query) INTO answer;
	SELECT string_agg(e.index_table::text || ' ' || e.reason, ', ' ORDER BY e.index_table::text) INTO found_by FROM indextable.explain(query) e WHERE e.used;
	differs := answer IS DISTINCT FROM native;
	RETURN NEXT;
END $$;
CREATE FUNCTION pairs(n int, pattern text, by text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(replace(replace(pattern, '@n', (i * 7 % 1500)::text), '@s', quote_literal('s' || i * 14 % 100)), by ORDER BY i) FROM generate_series(1, n) i
$$;

\pset format unaligned
\pset fieldsep ' | '
-- pairs, in both spellings: more than a thousand are left to the filter
SELECT n, a.* FROM unnest('{5,32,33,400,1000,1001}'::int[]) n, answered(format('SELECT id FROM o WHERE (doc ->> ''shop'', (doc ->> ''no'')::int) IN (%s)', pairs(n, '(@s, @n)', ', '))) a;
SELECT n, a.* FROM unnest('{5,33,400}'::int[]) n, answered('SELECT id FROM o WHERE ' || pairs(n, '(doc ->> ''shop'' = @s AND (doc ->> ''no'')::int = @n)', ' OR ')) a;
-- of two that are alike, or equal, each row comes once; and a NULL is equal to nothing
SELECT a.* FROM answered('SELECT id FROM o WHERE ' || pairs(40, '(doc ->> ''kind'' = ''k4'' AND (doc ->> ''price'')::numeric = @n)', ' OR ') || ' OR ' ||
	pairs(40, '(doc ->> ''kind'' = ''k4'' AND (doc ->> ''price'')::numeric = @n.00)', ' OR ')) a;
SELECT a.* FROM answered('SELECT id FROM o WHERE ' || pairs(40, '(doc ->> ''shop'' = @s AND (doc ->> ''no'')::int = @n)', ' OR ') || ' OR (doc ->> ''shop'' = NULL AND (doc ->> ''no'')::int = 7)') a;
-- in the order of the entries
SELECT a.* FROM answered('(SELECT id FROM o WHERE ' || pairs(40, '(doc ->> ''kind'' = ''k4'' AND (doc ->> ''price'')::numeric = @n)', ' OR ') || ' ORDER BY (doc ->> ''price'')::numeric LIMIT 3)') a;
-- one field, and two, of which the values are searched together
SELECT n, a.* FROM unnest('{20,400}'::int[]) n, answered('SELECT id FROM o WHERE ' || pairs(n, '(doc ->> ''no'')::int = @n', ' OR ')) a;
SELECT n, a.* FROM unnest('{5,20,400}'::int[]) n, answered('SELECT id FROM o WHERE ' || pairs(n, '(doc ->> ''no'')::int = @n OR (doc ->> ''price'')::numeric = @n', ' OR ')) a;
-- arms that may have rows in common leave out those of others, as long as they are few
SELECT n, a.* FROM unnest('{5,32,33}'::int[]) n, answered('SELECT id FROM o WHERE ' || pairs(n, '(doc ->> ''shop'' = @s AND (doc ->> ''no'')::int < @n)', ' OR ')) a;
SELECT n, a.* FROM unnest('{16,17}'::int[]) n, answered('SELECT id FROM o WHERE ' || pairs(n, '(doc ->> ''shop'' = @s AND (doc ->> ''no'')::int = @n) OR ((doc ->> ''no'')::int = @n AND doc ->> ''kind'' = ''k1'')', ' OR ')) a;
-- choices within each other
SELECT n, a.* FROM unnest('{1,8,9,300}'::int[]) n, answered(format('SELECT id FROM o WHERE %s (doc ->> ''no'')::int %s = 7', repeat('coalesce(', n), repeat(', 0)', n))) a;
-- AND and OR within each other: 64 levels; and so many ORs beside each other, of which only the last one can be searched
SELECT n, a.* FROM unnest('{32,33,600}'::int[]) n, answered('SELECT count(*) AS id FROM o WHERE ' || repeat('(doc ->> ''kind'' = ''k7'' OR (doc ->> ''kind'' = ''k8'' AND ', n) || 'doc ->> ''kind'' = ''k8''' || repeat('))', n)) a;
SELECT n, a.* FROM unnest('{30,40,300}'::int[]) n, answered('SELECT id FROM o WHERE ' || pairs(n, '(id % 7 <> @n OR doc ->> ''shop'' <> @s)', ' AND ') || ' AND (doc ->> ''shop'' = ''s7'' OR (doc ->> ''no'')::int = 4)') a;
-- an arm on columns of the table, which an index of its own finds: it is all that the arm says, and there is one
CREATE TABLE own (a int, b text COLLATE "C", c int, doc jsonb, PRIMARY KEY (a, b));
INSERT INTO own SELECT i, 'b' || i % 3, i % 7, jsonb_build_object('shop', 's' || i % 100, 'kind', 'k' || i % 10) FROM generate_series(1, 900) i;
CREATE INDEX ON own (c) WHERE c < 3;
SELECT indextable.create('own_shop', 'own', '{shop}'), indextable.create('own_kind', 'own', '{kind}') \gset
CREATE TABLE parts (LIKE own INCLUDING ALL) PARTITION BY RANGE (a);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (1) TO (400);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (400) TO (700) PARTITION BY LIST (b);
CREATE TABLE parts_2a PARTITION OF parts_2 FOR VALUES IN ('b0', 'b1');
CREATE TABLE parts_2b (doc jsonb, c int, b text COLLATE "C" NOT NULL, a int NOT NULL);
ALTER TABLE parts_2 ATTACH PARTITION parts_2b DEFAULT;
CREATE TABLE parts_3 PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT * FROM own;
SELECT indextable.create('parts_shop', 'parts', '{shop}') \gset
ANALYZE own, parts, own_shop, own_kind, parts_shop;
SELECT a.*, condition FROM unnest(ARRAY[$$doc ->> 'shop' = 's7' OR id = 8$$, $$id = 7 OR doc ->> 'shop' = 's7'$$, $$doc ->> 'shop' = 's7' OR id IN (7, 8, 8, NULL) OR (doc ->> 'no')::int = 70$$,
	$$doc ->> 'shop' = 's7' OR id < 5$$, $$doc ->> 'shop' = 's7' OR id BETWEEN 5 AND 8::bigint$$, $$(doc ->> 'shop' = 's7' OR id = 8) AND (doc ->> 'price')::numeric < 100$$, $$doc ->> 'shop' = 's7' OR 8 = id$$,
	$$doc ->> 'shop' = 's7' OR id = 8 OR id = 9$$, $$doc ->> 'shop' = 's7' OR (id = 8 AND doc ->> 'kind' = 'k7')$$, $$doc ->> 'shop' = 's7' OR id + 0 = 8$$, $$doc ->> 'shop' = 's7' OR id <> 8$$, $$doc ->> 'shop' = 's7' OR id = (doc ->> 'no')::int$$,
	$$doc ->> 'shop' = 's7' OR id = ANY (ARRAY(SELECT 8))$$, $$doc ->> 'shop' = 's7' OR id = length(current_user) - length(current_user) + 8$$]) condition, answered('SELECT id FROM o WHERE ' || condition) a;
SELECT a.*, condition FROM unnest(ARRAY[$$doc ->> 'shop' = 's7' OR (a, b) = (8, 'b2')$$, $$doc ->> 'shop' = 's7' OR (b = 'b2' AND a = 8)$$, $$doc ->> 'shop' = 's7' OR a = 8$$, $$doc ->> 'shop' = 's7' OR b = 'b2'$$,
	$$doc ->> 'shop' = 's7' OR (a = 8 AND b COLLATE "POSIX" = 'b2')$$, $$doc ->> 'shop' = 's7' OR c = 2$$, $$doc ->> 'shop' = 's7' OR (a = 8 AND c = 1)$$]) condition, answered('SELECT a AS id FROM own WHERE ' || condition) a;
-- of a partitioned table, by an index of each partition that may have such rows
SELECT a.*, condition FROM unnest(ARRAY[$$doc ->> 'shop' = 's7' OR a = 8$$, $$doc ->> 'shop' = 's7' OR (a, b) = (409, 'b1')$$, $$doc ->> 'shop' = 's7' OR a IN (8, 408, 500, 800, NULL)$$, $$doc ->> 'shop' = 's7' OR a BETWEEN 395 AND 405$$,
	$$(doc ->> 'shop' = 's7' OR a IN (8, 408)) AND a < 300$$, $$doc ->> 'shop' = 's7' OR b = 'b1'$$, $$doc ->> 'shop' = 's7' OR c = 2$$, $$doc ->> 'shop' = 's7' OR (a = 8 AND a = 9)$$]) condition, answered('SELECT a AS id FROM parts WHERE ' || condition) a;
SELECT a.* FROM answered($$SELECT parts.a AS id FROM parts JOIN own USING (a) WHERE parts.doc ->> 'shop' = 's7' OR parts.a IN (8, 408)$$) a;
-- answered from entries alone: with rows that satisfy several arms, lossy arms, values of an array, fields that all entries have, joins, and NULL
SELECT a.*, condition FROM unnest(ARRAY[$$doc ->> 'kind' = 'k4' OR (doc ->> 'no')::int = 7$$, $$doc ->> 'kind' = 'k4' OR (doc ->> 'no')::int IN (7, 12, 17) OR (doc ->> 'price')::numeric = 3.5$$,
	$$doc ->> 'kind' = 'k4' OR (doc ->> 'no')::int % 2 = 1$$, $$doc ->> 'kind' = 'k4' OR doc ->> 'no' = '7'$$, $$(doc ->> 'kind' = 'k4' OR (doc ->> 'no')::int = 7) AND id % 5 < 3$$,
	$$(doc ->> 'kind' = 'k4' AND (doc ->> 'price')::numeric > 100) OR (doc ->> 'shop' = 's7' AND (doc ->> 'no')::int > 700)$$, $$doc ->> 'kind' = 'k4' OR doc ->> 'shop' IS NULL$$,
	$$doc ->> 'kind' = 'k4' OR (doc ->> 'no')::int = NULL$$, $$(doc ->> 'kind' = 'k4' OR (doc ->> 'no')::int = 7) AND (doc ->> 'shop' = 's14' OR (doc ->> 'price')::numeric = 3.5)$$,
	$$doc ->> 'kind' = 'k4' OR (doc ->> 'no')::int = 7 OR id = 15$$]) condition, answered('SELECT id FROM o WHERE ' || condition) a;
SELECT a.* FROM answered($$SELECT o.id FROM own JOIN o ON o.id = own.a WHERE (o.doc ->> 'kind' = 'k4' OR (o.doc ->> 'no')::int = own.c)$$) a;
SELECT a.* FROM answered($$SELECT a AS id FROM own WHERE EXISTS (SELECT FROM o WHERE (o.doc ->> 'kind' = 'k4' OR (o.doc ->> 'no')::int = 7) AND o.id = own.a)$$) a;
-- its rows are sorted where others come in order
SELECT a.* FROM answered($$(SELECT id FROM o WHERE doc ->> 'kind' = 'k4' OR id IN (7, 2994) ORDER BY (doc ->> 'price')::numeric DESC LIMIT 4)$$) a;
\pset format aligned
\pset fieldsep '|'
SET indextable.planner = force;
EXPLAIN (COSTS OFF) SELECT id FROM o WHERE doc ->> 'shop' = 's7' OR id = 8;
-- entries alone: the second arm has no entry that tells of the first one, so the rows that were found are remembered
EXPLAIN (COSTS OFF) SELECT count(*) FROM o WHERE doc ->> 'kind' = 'k4' OR (doc ->> 'no')::int = 7;
EXPLAIN (COSTS OFF) SELECT id FROM o WHERE (doc ->> 'kind' = 'k4' OR (doc ->> 'shop' = 's7' AND (doc ->> 'no')::int > 700)) AND id % 3 = 0;
EXPLAIN (COSTS OFF) SELECT count(*) FROM o WHERE doc ->> 'shop' = 's7' OR id = 8;
EXPLAIN (COSTS OFF) SELECT c FROM parts WHERE doc ->> 'shop' = 's7' OR a IN (8, 408);
PREPARE parts(int) AS SELECT count(*), sum(a) FROM parts WHERE doc ->> 'shop' = 's7' OR a = $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE parts(8);
EXECUTE parts(408);
EXECUTE parts(NULL);
DEALLOCATE parts;
RESET plan_cache_mode;
PREPARE own(text, int) AS SELECT count(*), sum(id) FROM o WHERE doc ->> 'shop' = $1 OR id = $2;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE own('s7', 8);
EXECUTE own('s7', 8);
EXECUTE own('s7', 7);
EXECUTE own('s7', NULL);
EXECUTE own(NULL, 7);
DEALLOCATE own;
RESET plan_cache_mode;
RESET indextable.planner;

-- Arms that guard others are evaluated before them, also if there are so many that those of one field are taken together: where
-- the native plan raises no error, none is raised. Of the kind k1 no n is a number, and of k0 some d are 0.
CREATE TABLE g (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO g SELECT i, jsonb_build_object('kind', 'k' || i % 250, 'n', CASE WHEN i % 250 = 1 THEN 'bad' ELSE (i % 90)::text END, 'm', i % 900,
	'd', i % 1000, 'shop', 's' || i % 500, 'pad', repeat('x', 500)) FROM generate_series(1, 4000) i;
SELECT indextable.create('g_kind', 'g', '{kind}'), indextable.create('g_m', 'g', '{m::int}'), indextable.create('g_shop', 'g', '{shop}'), indextable.create('g_d', 'g', '{d::int}') \gset
ANALYZE g, g_kind, g_m, g_shop, g_d;
CREATE FUNCTION outcome(planner text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
	PERFORM set_config('indextable.planner', planner, true);
	EXECUTE format('SELECT coalesce(string_agg(id::text, '','' ORDER BY id), ''none'') FROM (%s) q', query) INTO result;
	RETURN result;
EXCEPTION WHEN data_exception THEN
	RETURN 'error ' || SQLSTATE;
END $$;
-- arm: an arm of one of nine kinds
CREATE FUNCTION arm(seed int, i int) RETURNS text LANGUAGE sql AS $$
	SELECT CASE (seed * 31 + i * i * 7 + i * (seed % 13)) % 9
		WHEN 0 THEN format('doc ->> ''kind'' = ''k%s''', (seed + i * 3) % 10)
		WHEN 1 THEN format('(doc ->> ''m'')::int = %s', (seed * 7 + i) % 90)
		WHEN 2 THEN format('doc ->> ''shop'' = ''s%s''', (seed * 3 + i * 11) % 50)
		WHEN 3 THEN format('(doc ->> ''kind'' = ''k%s'' AND 600 / (doc ->> ''d'')::int > %s)', (seed + i) % 10, i)
		WHEN 4 THEN format('(doc ->> ''d'')::int = %s', CASE i % 3 WHEN 0 THEN 0 ELSE seed + i END)
		WHEN 5 THEN format('(doc ->> ''kind'' = ''k%s'' AND (doc ->> ''n'')::int > %s)', (seed + i * 7) % 10, i)
		WHEN 6 THEN format('(doc ->> ''shop'' = ''s%s'' AND (doc ->> ''n'')::int = %s)', (seed + i) % 50, (seed + i * 3) % 90)
		WHEN 7 THEN format('id IN (%s, %s)', (seed + i * 13) % 900, 1 + 250 * (i % 4))
		ELSE format('doc ->> ''kind'' = ''k%s''', CASE i % 2 WHEN 0 THEN 1 ELSE (seed + i) % 10 END)
		END
$$;
SELECT guards, count(*) FILTER (WHERE native ~ '^error') > 5 AS native_errors, count(*) FILTER (WHERE native !~ '^error') > 5 AS native_answers,
	count(*) FILTER (WHERE served) > 5 AS served, count(*) FILTER (WHERE native !~ '^error' AND forced <> native) AS wrong
FROM (SELECT guards, outcome('off', query) AS native, outcome('force', query) AS forced, EXISTS (SELECT FROM indextable.explain(query) WHERE used) AS served
	FROM generate_series(1, 30) seed, unnest('{first,last}'::text[]) guards,
		LATERAL (SELECT string_agg(arm(seed, i), ' OR ' ORDER BY i) AS arms FROM generate_series(1, 34 + seed % 30) i) a,
		LATERAL (SELECT format('SELECT id FROM g WHERE %s%s%s', CASE guards WHEN 'first' THEN 'doc ->> ''kind'' = ''k1'' OR (doc ->> ''d'')::int = 0 OR ' END, arms,
			CASE guards WHEN 'last' THEN ' OR (doc ->> ''d'')::int = 0 OR doc ->> ''kind'' = ''k1''' END) AS query OFFSET 0) q OFFSET 0) x
GROUP BY guards ORDER BY guards;

-- where entries alone answer, an arm is evaluated for rows of others, so it must not raise an error
CREATE TABLE e (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO e SELECT i, jsonb_build_object('k', 'k' || i % 5, 'd', i % 20, 's', 's' || i % 20) FROM generate_series(1, 100) i;
SELECT indextable.create('e_k', 'e', '{k}'), indextable.create('e_s', 'e', '{s, d::int}') \gset
SELECT condition, outcome('off', query) = outcome('force', query) AS same, outcome('force', query) ~ '^error' AS error
FROM unnest(ARRAY[$$doc ->> 'k' = 'k0' OR (doc ->> 's' = 's0' AND 10 / (doc ->> 'd')::int > 1)$$, $$doc ->> 'k' = 'k1' OR (doc ->> 's' = 's0' AND 10 / (doc ->> 'd')::int > 1)$$,
	$$(doc ->> 'k' = 'k1' OR doc ->> 's' = 's1') AND 10 / id > 1$$]) condition, LATERAL (SELECT 'SELECT id FROM e WHERE ' || condition AS query) q;

-- searches that come in one order are merged, for AND and for OR: each row comes once, and in order. Some keys are NULL, and some orders
-- agree in their first columns only.
CREATE TABLE m (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO m SELECT i, jsonb_strip_nulls(jsonb_build_object('a', 'v' || i % 3, 'b', 'v' || i % 2, 'c', 'v' || i % 5, 'x', CASE WHEN i % 5 < 3 THEN i % 7 END, 'y', i * 7919 % 101, 'z', i * 104729 % 97,
	'tags', jsonb_build_array('v' || i % 3, 'v' || i % 4, 'v' || i % 11))) FROM generate_series(1, 3000) i;
SELECT indextable.create('m_a', 'm', '{a,x::int,y::int}', sparse => false), indextable.create('m_b', 'm', '{b,x::int,z::int}', sparse => false),
	indextable.create('m_c', 'm', '{c,y::int}'), indextable.create('m_tags', 'm', '{tags[*],y::int}'), indextable.create('m_t', 'm', '{tags[*],x::int,y::int}', sparse => false) \gset
ANALYZE m, m_a, m_b, m_c, m_tags, m_t;
-- condition: one on a field, or an element
CREATE FUNCTION condition(n int) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN n % 4 < 3 THEN format('doc ->> %L = %L', substr('abc', 1 + n % 4, 1), 'v' || n / 4 % 3) ELSE format('doc -> ''tags'' ? %L', 'v' || n / 4 % 5) END $$;
CREATE FUNCTION in_turn(planner text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
	PERFORM set_config('indextable.planner', planner, true);
	EXECUTE format('SELECT string_agg(q::text, '' '') FROM (%s) q', query) INTO result;
	RETURN result;
END $$;
CREATE FUNCTION plan(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; result text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP result := result || line || E'\n'; END LOOP;
	RETURN result;
END $$;
SET indextable.planner = force;
SELECT joined, count(*) FILTER (WHERE in_turn('off', query) IS DISTINCT FROM in_turn('force', query)) AS wrong,
	count(*) FILTER (WHERE CASE joined WHEN 'OR' THEN plan ~ 'Combines: OR' AND plan !~ 'Sort Key' ELSE plan ~ 'IndexTable(.*\n){1,7}.*-> .*IndexTable' END) > 15 AS merged
FROM unnest('{AND,OR}'::text[]) joined, generate_series(1, 300) n,
	LATERAL (SELECT CASE n % 3 WHEN 0 THEN condition(n * 31) || joined || ' (' || condition(n * 17 + n / 7) || ')' ELSE condition(n) || format(' %1$s %2$s %1$s %3$s', joined, condition(n / 3 + n % 5), condition(n / 7)) END AS a) c,
	LATERAL (SELECT CASE n % 4 WHEN 0 THEN '(doc ->> ''y'')::int' WHEN 1 THEN '(doc ->> ''x'')::int, (doc ->> ''y'')::int' WHEN 2 THEN '(doc ->> ''y'')::int DESC' ELSE '(doc ->> ''x'')::int' END AS b) o,
	LATERAL (SELECT CASE n % 4 WHEN 0 THEN ', id' WHEN 1 THEN ', id' WHEN 2 THEN ', id DESC' ELSE ', (doc ->> ''z'')::int, id' END AS e) i,
	LATERAL (SELECT format('SELECT id FROM m WHERE (%s)%s%s ORDER BY %s%s%s', a, CASE WHEN n % 4 IN (1, 3) AND n % 5 < 3 THEN ' AND doc ->> ''x'' IS NULL' END,
		CASE WHEN n % 7 < 2 THEN ' AND (doc ->> ''y'')::int > 50' END, b, e, CASE WHEN n % 2 = 0 THEN ' LIMIT 50 OFFSET ' || n END) AS query OFFSET 0) q,
	LATERAL (SELECT plan(query) AS plan OFFSET 0) p
GROUP BY joined ORDER BY joined;
RESET indextable.planner;

-- a plan that is kept has a few kB for each arm, however many these are
SET plan_cache_mode = force_generic_plan;
SET indextable.planner = force;
CREATE TABLE kept (n int, bytes bigint);
SELECT format('PREPARE p AS SELECT id FROM o WHERE (doc ->> ''shop'', (doc ->> ''no'')::int) IN (%s)', pairs(n, '(@s, @n)', ', ')) AS prepare100 FROM (VALUES (100)) v (n) \gset
SELECT format('PREPARE p AS SELECT id FROM o WHERE (doc ->> ''shop'', (doc ->> ''no'')::int) IN (%s)', pairs(n, '(@s, @n)', ', ')) AS prepare400 FROM (VALUES (400)) v (n) \gset
:prepare100;
DO $$ BEGIN EXECUTE 'EXPLAIN EXECUTE p'; END $$;
INSERT INTO kept SELECT 100, sum(total_bytes) FROM pg_backend_memory_contexts WHERE name = 'CachedPlan';
DEALLOCATE p;
:prepare400;
DO $$ BEGIN EXECUTE 'EXPLAIN EXECUTE p'; END $$;
INSERT INTO kept SELECT 400, sum(total_bytes) FROM pg_backend_memory_contexts WHERE name = 'CachedPlan';
DEALLOCATE p;
SELECT b.bytes < 5 * a.bytes AS in_proportion, b.bytes > 2 * a.bytes AS measured FROM kept a, kept b WHERE a.n = 100 AND b.n = 400;

DROP SCHEMA arms CASCADE;
