-- Rows whose value was skipped have no entry. A query uses an index table all the same if its conditions cannot be true of
-- such a row; else it does not. The answers are those without index tables, but for errors that only the native plan raises.
SET client_min_messages = warning;
CREATE SCHEMA skipped_rows;
SET search_path = skipped_rows;
LOAD 'indextable';
CREATE TABLE f (id int PRIMARY KEY, doc jsonb);

-- answered: how many rows a query finds with index tables, by which of them, and what that is to the answer without them. The rows
-- of its first column are compared.
CREATE FUNCTION answer(query text, planner text, OUT ids text, OUT rows bigint) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('indextable.planner', planner, true);
	EXECUTE format('SELECT coalesce(string_agg(id::text, '','' ORDER BY id), ''''), count(*) FROM (%s) q (id)', query) INTO ids, rows;
EXCEPTION WHEN data_exception THEN
	ids := SQLSTATE;
END $$;
CREATE FUNCTION answered(query text, OUT rows bigint, OUT found_by text, OUT verdict text) LANGUAGE plpgsql AS $$
DECLARE
	native record := answer(query, 'off');
	answer record := answer(query, 'force');
BEGIN
	PERFORM set_config('indextable.planner', 'force', true);
	SELECT string_agg(e.index_table::text || ' ' || e.reason, ', ' ORDER BY e.index_table::text) INTO found_by FROM indextable.explain(query) e WHERE e.used;
	rows := answer.rows;
	verdict := CASE WHEN answer.ids = native.ids THEN CASE WHEN rows IS NULL THEN 'the same error' ELSE 'the same' END
					WHEN native.rows IS NULL THEN 'natively an error' ELSE 'WRONG' END;
END $$;
-- The same of queries with each of several conditions; and of those that have a guard before it, too.
CREATE FUNCTION guarded(guard text, VARIADIC conditions text[]) RETURNS TABLE (condition text, rows bigint, found_by text, verdict text, behind_guard bigint, guarded_by text, guarded_verdict text) LANGUAGE sql AS $$
	SELECT c, a.rows, a.found_by, a.verdict, g.rows, g.found_by, g.verdict
	FROM unnest(conditions) WITH ORDINALITY u (c, i), answered('SELECT id FROM f WHERE ' || c) a, answered(format('SELECT id FROM f WHERE %s AND (%s)', guard, c)) g ORDER BY i
$$;
CREATE FUNCTION asked(VARIADIC conditions text[]) RETURNS TABLE (condition text, rows bigint, found_by text, verdict text) LANGUAGE sql AS $$
	SELECT c, a.* FROM unnest(conditions) WITH ORDINALITY u (c, i), answered('SELECT id FROM f WHERE ' || c) a ORDER BY i
$$;
CREATE VIEW records AS SELECT index_table::text, array_agg(fields ORDER BY fields) AS fields
	FROM indextable_internal.completeness WHERE fields <> 31 AND index_table IN (SELECT oid FROM pg_class WHERE relnamespace = 'skipped_rows'::regnamespace) GROUP BY 1;
\pset format unaligned
\pset fieldsep ' | '

-- ---- one field: casts, guards, and what is equal to it
SELECT indextable.create('n_int', 'f', '{n::int}', on_mismatch => 'skip') \gset
INSERT INTO f SELECT i, jsonb_build_object('n', i, 'k', 'k' || i % 5) FROM generate_series(1, 100) i;
INSERT INTO f VALUES (101, '{"n": "23"}'), (102, '{"n": null}'), (103, '{}'), (104, '{"n": " 24 "}');
SELECT * FROM asked('(doc ->> ''n'')::int BETWEEN 20 AND 25');
INSERT INTO f VALUES (201, '{"n": "x"}'), (202, '{"n": 23.0}'), (203, '{"n": 23.5}'), (204, '{"n": true}'), (205, '{"n": 99999999999}');
SELECT * FROM records;
SELECT * FROM guarded($$doc ->> 'n' ~ '^ *[0-9]{1,4} *$'$$,
	$$(doc ->> 'n')::int BETWEEN 20 AND 25$$, $$(doc ->> 'n')::int = 23$$, $$(doc ->> 'n')::int IN (23, 24)$$, $$24 > (doc ->> 'n')::int$$, $$(doc #>> '{n}')::int = 23$$,
	$$(doc ->> 'n')::int = ANY (ARRAY(SELECT 22 + i FROM generate_series(1, 2) i))$$, $$(doc ->> 'n')::int IS NOT DISTINCT FROM 23$$, $$coalesce((doc ->> 'n')::int, 0) = 23$$,
	$$((doc ->> 'n')::int = 23) IS TRUE$$, $$(doc ->> 'n')::int = 23 OR (doc ->> 'n')::int > 90$$, $$(doc ->> 'n')::int = 23 AND doc ->> 'k' = 'k3'$$,
	$$((doc ->> 'n')::int, id) > (98, 0)$$, $$(doc ->> 'n')::int = 23.0$$, $$(doc ->> 'n')::int < 5 AND (doc ->> 'n')::int % 2 = 0$$, $$(doc ->> 'n')::int = NULL$$);
SELECT * FROM asked($$CASE WHEN jsonb_typeof(doc -> 'n') = 'number' AND doc ->> 'n' ~ '^[0-9]{1,4}$' THEN (doc ->> 'n')::int END = 23$$,
	$$CASE WHEN doc ->> 'n' ~ '^[0-9]{1,4}$' THEN (doc ->> 'n')::int ELSE 23 END = 23$$,
	-- other rows of the text and the JSON may be equal to it than those that can be cast
	$$doc ->> 'n' = '23'$$, $$doc ->> 'n' IN ('23', '24')$$, $$doc ->> 'n' = 'x'$$, $$doc ->> 'n' IN ('23', 'x')$$, $$doc ->> 'n' = '23.0'$$,
	$$doc -> 'n' = '"23"'$$, $$doc -> 'n' = '23'$$, $$doc -> 'n' IN ('"23"', '"24"')$$, $$doc -> 'n' IN ('"23"', '24')$$, $$doc -> 'n' > '98'$$,
	$$doc @> '{"n": "23"}'$$, $$doc @> '{"n": 23}'$$, $$doc @> '{"n": "x"}'$$, $$doc @> ANY (ARRAY['{"n": "23"}', '{"n": " 24 "}']::jsonb[])$$, $$doc @> ANY (ARRAY['{"n": "23"}', '{"n": "x"}']::jsonb[])$$,
	$$doc @? '$.n ? (@ == "23")'$$, $$doc @? '$.n ? (@ == 23)'$$, $$doc @? '$.n ? (@ > 98)'$$, $$doc @@ '$.n == "23" || $.n == " 24 "'$$, $$doc @@ '$.n == "23" || $.n == "x"'$$, $$doc @@ '$.n == "x"'$$,
	-- nor does another cast tell
	$$(doc ->> 'n')::numeric = 23 AND doc ->> 'n' ~ '^[0-9.]+$'$$, $$(doc -> 'n')::int = 24 AND jsonb_typeof(doc -> 'n') = 'number' AND doc ->> 'n' < '3'$$,
	-- what is true of rows whose value cannot be cast, or is no condition on it
	$$doc ->> 'n' IS NOT NULL$$, $$doc ->> 'n' IS NULL$$, $$(doc ->> 'n')::int IS NULL$$, $$doc ->> 'k' = 'k3'$$, $$doc ->> 'n' ~ '^[0-9]+$' OR doc ->> 'n' = '23'$$,
	$$(doc ->> 'n' ~ '^[0-9]{1,4}$' AND (doc ->> 'n')::int = 23) OR doc ->> 'k' = 'k4'$$,
	-- an array in place of it is looked into by jsonpath only
	$$doc @> '{"n": "23"}' AND id > 0$$);
INSERT INTO f VALUES (206, '{"n": ["23", 24]}'), (207, '[{"n": "23"}]');
SELECT * FROM records;
SELECT * FROM asked($$doc @? '$.n ? (@ == "23")'$$, $$doc @> '{"n": "23"}'$$, $$doc ->> 'n' ~ '^[0-9]{1,4}$' AND (doc ->> 'n')::int = 23$$);
SELECT * FROM answered($$SELECT max((doc ->> 'n')::int) FROM f WHERE doc ->> 'n' ~ '^[0-9]{1,4}$' AND (doc ->> 'n')::int < 50$$);
SELECT * FROM answered($$SELECT max((doc ->> 'n')::int) FROM f$$);
SELECT * FROM answered($$SELECT (doc ->> 'n')::int FROM f WHERE doc ->> 'n' ~ '^[0-9]{1,4}$' ORDER BY 1$$);
SELECT * FROM answered($$SELECT DISTINCT (doc ->> 'n')::int FROM f WHERE doc ->> 'n' ~ '^[0-9]{1,4}$' AND (doc ->> 'n')::int < 9$$);
SELECT * FROM answered($$SELECT count(*) FROM f$$);
SELECT * FROM answered($$SELECT f.id FROM generate_series(20, 22) x LEFT JOIN f ON (doc ->> 'n')::int = x AND doc ->> 'n' ~ '^[0-9]{1,4}$'$$);
SELECT * FROM answered($$SELECT x FROM generate_series(99, 102) x WHERE NOT EXISTS (SELECT FROM f WHERE doc ->> 'n' ~ '^[0-9]{1,4}$' AND (doc ->> 'n')::int = x)$$);
-- what keeps it from a query is told
SELECT index_table, reason FROM indextable.explain($$SELECT id FROM f WHERE doc @> '{"n": 23}'$$);
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT index_table, reason FROM indextable.explain($$SELECT id FROM f WHERE (doc ->> 'n')::int = 23$$);
COMMIT;
SELECT indextable.drop('n_int') \gset

-- ---- other types
DELETE FROM f WHERE id > 205;
SELECT indextable.create('n_num', 'f', '{n::numeric}', on_mismatch => 'skip'), indextable.create('n_scale', 'f', ARRAY['n::numeric(6,1) AS ns'], on_mismatch => 'skip'),
	indextable.create('x_float', 'f', '{x::float8}', on_mismatch => 'skip'), indextable.create('b_bool', 'f', '{b::boolean}', on_mismatch => 'skip'), indextable.create('d_date', 'f', '{d::date}', on_mismatch => 'skip'),
	indextable.create('u_uuid', 'f', '{u::uuid}', on_mismatch => 'skip'), indextable.create('n_expr', 'f', '{((doc ->> ''n'')::int + 1) AS e}', on_mismatch => 'skip') \gset
INSERT INTO f VALUES (301, '{"x": 1.5, "b": true, "d": "2024-01-02", "u": "6fa459ea-ee8a-3ca4-894e-db77e160355e"}'), (302, '{"x": 1.50, "b": "yes", "d": "2024-01-02 "}'),
	(303, '{"x": 1e400, "b": "perhaps", "d": "1/2/2024", "u": "none"}'), (304, '{"x": 15e-1, "b": 1, "d": "x"}'), (305, '{"x": 1e-400}');
SELECT * FROM records;
SELECT * FROM asked($$doc @> '{"n": 23}'$$, $$doc @? '$.n ? (@ == 23)'$$, $$doc @? '$.n ? (@ > 98)'$$, $$doc @@ '$.n >= 23.5 && $.n < 24'$$, $$doc -> 'n' = '23'$$, $$doc -> 'n' > '98'$$,
	$$doc ->> 'n' ~ '^[0-9.]+$' AND (doc ->> 'n')::numeric > 98$$, $$doc ->> 'n' ~ '^[0-9.]+$' AND (doc ->> 'n')::float8 > 98$$, $$jsonb_typeof(doc -> 'n') = 'number' AND (doc -> 'n')::numeric = 23$$,
	$$doc ->> 'n' ~ '^[0-9.]{1,5}$' AND (doc ->> 'n')::numeric(6,1) = 23.5$$,
	$$jsonb_typeof(doc -> 'n') = 'number' AND doc ->> 'n' ~ '^[0-9]{1,4}$' AND (doc ->> 'n')::int + 1 = 24$$,
	$$doc @> '{"x": 1.5}'$$, $$doc @? '$.x ? (@ == 1.5)'$$, $$doc @? '$.x ? (@ > 1.5)'$$, $$doc @> '{"x": 1e400}'$$, $$length(doc ->> 'x') < 9 AND (doc ->> 'x')::float8 >= 1.5$$,
	$$doc ->> 'b' IN ('true', 'yes') AND (doc ->> 'b')::boolean$$, $$doc ->> 'b' IN ('true', 'yes') AND NOT (doc ->> 'b')::boolean$$, $$doc @> '{"b": true}'$$, $$doc @> '{"b": "yes"}'$$, $$doc -> 'b' = '1'$$,
	-- a text that is not in ISO form is a date natively
	$$length(doc ->> 'd') = 8 AND (doc ->> 'd')::date = '2024-01-02'$$, $$doc @> '{"d": "2024-01-02"}'$$, $$doc ->> 'd' IN ('2024-01-02', '2024-01-02 ')$$, $$doc @> '{"d": "1/2/2024"}'$$,
	$$doc ->> 'u' LIKE '6%' AND (doc ->> 'u')::uuid = '6fa459ea-ee8a-3ca4-894e-db77e160355e'$$, $$doc @> '{"u": "6fa459ea-ee8a-3ca4-894e-db77e160355e"}'$$, $$doc @> '{"u": "6FA459EA-ee8a-3ca4-894e-db77e160355e"}'$$);
SELECT count(indextable.drop(t)) AS dropped FROM unnest('{n_num,n_scale,x_float,b_bool,d_date,u_uuid,n_expr}'::regclass[]) t \gset

-- ---- several fields, one of which is at fault, or each, also an included one
SELECT indextable.create('k_n', 'f', '{k, n::int}', include => '{i::int, t}', on_mismatch => 'skip'), indextable.create('n_k', 'f', '{n::int, k}', on_mismatch => 'skip'),
	indextable.create('n_m', 'f', '{n::int, m::int}', on_mismatch => 'skip', sparse => true) \gset
TRUNCATE f;
INSERT INTO f SELECT i, jsonb_build_object('k', 'k' || i % 5, 'n', i, 'm', i % 7, 'i', i % 3, 't', 't' || i % 2) FROM generate_series(1, 100) i;
CREATE FUNCTION several() RETURNS TABLE (condition text, rows bigint, found_by text, verdict text) LANGUAGE sql AS $$
	SELECT * FROM asked($a$doc ->> 'k' = 'k3'$a$, $a$doc ->> 'k' = 'k3' AND doc ->> 'n' ~ '^[0-9]{1,4}$' AND (doc ->> 'n')::int < 50$a$, $a$doc ->> 'n' ~ '^[0-9]{1,4}$' AND (doc ->> 'n')::int < 10$a$,
		$a$doc ->> 'k' = 'k3' AND doc ->> 'i' ~ '^[0-9]$' AND (doc ->> 'i')::int = 1$a$, $a$doc ->> 'k' = 'k3' AND doc ->> 'i' ~ '^[0-9]$' AND (doc ->> 'i')::int = 1 AND doc ->> 'n' ~ '^[0-9]{1,4}$' AND (doc ->> 'n')::int < 50$a$,
		$a$doc ->> 'k' = 'k3' AND doc ->> 'n' ~ '^[0-9]{1,4}$' AND (doc ->> 'n')::int % 9 = 1 AND ((doc ->> 'i')::int = 1 OR (doc ->> 'i')::int + 1 = 3)$a$,
		$a$doc ->> 'n' ~ '^[0-9]{1,4}$' AND (doc ->> 'n')::int < 10 AND doc ->> 'm' ~ '^[0-9]$' AND (doc ->> 'm')::int > 0$a$,
		$a$doc ->> 'n' ~ '^[0-9]{1,4}$' AND (doc ->> 'n')::int < 10 AND doc ->> 'm' IS NOT NULL$a$)
$$;
SELECT * FROM several();
INSERT INTO f VALUES (201, '{"k": "k3", "n": 3, "m": 3, "i": "x"}');
SELECT * FROM records;
SELECT * FROM several();
INSERT INTO f VALUES (202, '{"k": "k3", "n": "x", "m": 3, "i": "x"}');
SELECT * FROM records;
SELECT * FROM several();
INSERT INTO f VALUES (203, '{"k": "k3", "n": 3, "m": "x"}'), (204, '{"n": "x"}'), (205, '{"m": "x"}');
SELECT * FROM records;
SELECT * FROM several();
-- verify() forgets each field that no row is left of
DELETE FROM f WHERE id = 202;
UPDATE f SET doc = '{"k": "k3", "n": 4}' WHERE id = 204;
SELECT * FROM indextable.verify('f');
SELECT * FROM records;
SELECT * FROM several();
UPDATE f SET doc = doc || '{"i": 1}' WHERE id = 201;
SELECT * FROM indextable.verify('f');
SELECT * FROM records;
-- a key that is too long is at no field's fault
SELECT indextable.create('s_n', 'f', '{s, n::int}', on_mismatch => 'skip') \gset
INSERT INTO f SELECT 301, jsonb_build_object('s', string_agg(md5(i::text), ''), 'n', 5) FROM generate_series(1, 200) i;
INSERT INTO f VALUES (302, '{"s": "a", "n": "x"}'), (303, '{"s": "a", "n": 5}');
SELECT * FROM records WHERE index_table = 's_n';
SELECT * FROM asked($$doc ->> 's' = 'a' AND doc ->> 'n' ~ '^[0-9]{1,4}$' AND (doc ->> 'n')::int = 5$$);
DELETE FROM f WHERE id = 301;
SELECT * FROM indextable.verify('s_n');
SELECT * FROM records WHERE index_table = 's_n';
SELECT * FROM asked($$doc ->> 's' = 'a' AND doc ->> 'n' ~ '^[0-9]{1,4}$' AND (doc ->> 'n')::int = 5$$, $$doc ->> 's' = 'a'$$);
-- where a record tells no field, as one of 1.1, verify() goes on to one that does
DELETE FROM indextable_internal.completeness WHERE index_table = 's_n'::regclass AND fields > 31;
INSERT INTO indextable_internal.completeness VALUES ('s_n'::regclass, 2);
SELECT * FROM asked($$doc ->> 's' = 'a' AND doc ->> 'n' ~ '^[0-9]{1,4}$' AND (doc ->> 'n')::int = 5$$);
SELECT * FROM indextable.verify('s_n');
SELECT * FROM records WHERE index_table = 's_n';
-- what is not recorded is found and mended
DELETE FROM indextable_internal.completeness WHERE index_table = 's_n'::regclass AND fields > 31;
SELECT kind, problem FROM indextable.verify('s_n');
CALL indextable.repair('s_n', NULL, NULL, NULL, NULL);
SELECT * FROM records WHERE index_table = 's_n';
SELECT kind, problem FROM indextable.verify('s_n');
-- a table that takes the place of another one has its own records, by its own fields
SELECT indextable.alter('s_n', include => '{m::int}') \gset
SELECT * FROM records WHERE index_table = 's_n';
UPDATE f SET doc = '{"s": "a", "n": 1, "m": "x"}' WHERE id = 302;
CALL indextable.rebuild('s_n');
SELECT * FROM records WHERE index_table = 's_n';
SELECT * FROM asked($$doc ->> 's' = 'a'$$, $$doc ->> 's' = 'a' AND doc ->> 'm' ~ '^[0-9]$' AND (doc ->> 'm')::int < 3$$);
SELECT count(indextable.drop(t)) AS dropped FROM unnest('{k_n,n_k,n_m,s_n}'::regclass[]) t \gset

-- ---- elements of arrays: an element that was skipped keeps all queries away; another field of the row does as above
SELECT indextable.create('e_int', 'f', '{e[*]::int}', on_mismatch => 'skip'), indextable.create('tag_n', 'f', '{tags[*], n::int}', on_mismatch => 'skip') \gset
TRUNCATE f;
INSERT INTO f SELECT i, jsonb_build_object('e', jsonb_build_array(i, i + 1), 'n', i, 'tags', jsonb_build_array('t' || i % 5)) FROM generate_series(1, 50) i;
INSERT INTO f VALUES (101, '{"e": [3, "x"], "tags": ["t3"], "n": "x"}');
SELECT * FROM records;
SELECT * FROM asked($$doc @> '{"e": [3]}'$$, $$doc -> 'tags' ? 't3'$$, $$doc -> 'tags' ? 't3' AND doc ->> 'n' ~ '^[0-9]{1,4}$' AND (doc ->> 'n')::int < 10$$);

-- ---- plans that are kept: one that was made before the first value was skipped
SELECT indextable.drop('e_int'), indextable.drop('tag_n'), indextable.create('n_int', 'f', '{n::int}', on_mismatch => 'skip'), indextable.create('k_n', 'f', '{k, n::int}', on_mismatch => 'skip') \gset
TRUNCATE f;
INSERT INTO f SELECT i, jsonb_build_object('k', 'k' || i % 5, 'n', i) FROM generate_series(1, 100) i;
SET plan_cache_mode = force_generic_plan;
SET indextable.planner = force;
PREPARE by_cast (int) AS SELECT id FROM f WHERE doc ->> 'n' ~ '^[0-9]{1,4}$' AND (doc ->> 'n')::int = $1 ORDER BY id;
PREPARE by_key (text) AS SELECT id FROM f WHERE doc ->> 'k' = $1 AND id > 95 ORDER BY id;
PREPARE by_document (jsonb) AS SELECT id FROM f WHERE doc @> jsonb_build_object('n', $1) ORDER BY id;
EXECUTE by_cast (7);
EXECUTE by_key ('k3');
EXECUTE by_document ('7');
INSERT INTO f VALUES (203, '{"k": "k3", "n": "x"}'), (207, '{"n": 7.0}');
EXECUTE by_cast (7);
EXECUTE by_key ('k3');
EXECUTE by_document ('7');
EXECUTE by_document ('"x"');
EXPLAIN (COSTS OFF) EXECUTE by_cast (7);
CREATE FUNCTION fallback(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
		IF line ~ 'Fallback' THEN RETURN NEXT trim(line); END IF;
	END LOOP;
END $$;
SELECT * FROM fallback('EXECUTE by_cast (7)');
SELECT * FROM fallback('EXECUTE by_key (''k3'')');
DEALLOCATE ALL;
RESET plan_cache_mode;
RESET indextable.planner;

-- ---- the own rows of a transaction, partitions, an asynchronous index table
BEGIN ISOLATION LEVEL REPEATABLE READ;
DELETE FROM f WHERE id > 200;
SELECT count(*) FROM f;
INSERT INTO f VALUES (303, '{"k": "k3", "n": "x"}');
SELECT * FROM asked($$doc ->> 'k' = 'k3' AND id > 95$$, $$doc ->> 'n' ~ '^[0-9]{1,4}$' AND (doc ->> 'n')::int = 7$$);
ROLLBACK;
CREATE TABLE p (id int PRIMARY KEY, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (100) TO (1000);
SELECT indextable.create('p_n', 'p', '{k, n::int}', on_mismatch => 'skip'), indextable.create('p_async', 'p', '{n::int}', on_mismatch => 'skip', maintenance => 'async') \gset
INSERT INTO p TABLE f;
SELECT indextable.drain('p') \gset
SELECT * FROM records WHERE index_table LIKE 'p%';
SELECT a.* FROM answered($$SELECT id FROM p WHERE doc ->> 'k' = 'k3' AND doc ->> 'n' ~ '^[0-9]{1,4}$' AND (doc ->> 'n')::int < 50$$) a;
SELECT a.* FROM answered($$SELECT id FROM p WHERE doc ->> 'k' = 'k3'$$) a;
SET indextable.stale_reads = on;
SELECT a.* FROM answered($$SELECT id FROM p WHERE doc ->> 'n' ~ '^[0-9]{1,4}$' AND (doc ->> 'n')::int < 50$$) a;
RESET indextable.stale_reads;
\pset format aligned
-- the entries that rows should have, and those that there are
SELECT * FROM ((SELECT k, n, id FROM p_n EXCEPT ALL SELECT doc ->> 'k', (doc ->> 'n')::int, id FROM p WHERE (doc ->> 'n' ~ '^[0-9]+$') IS NOT FALSE) UNION ALL
	(SELECT doc ->> 'k', (doc ->> 'n')::int, id FROM p WHERE (doc ->> 'n' ~ '^[0-9]+$') IS NOT FALSE EXCEPT ALL SELECT k, n, id FROM p_n)) d;

-- ---- misfits that are no numbers: comparisons with numbers in JSON cannot be true of them
\pset format unaligned
TRUNCATE f;
SELECT indextable.drop(i) FROM unnest(ARRAY(SELECT index_table FROM indextable.index_tables WHERE fact_table = 'f'::regclass)) i;
SELECT indextable.create('n_int', 'f', '{n::int}', on_mismatch => 'skip') \gset
INSERT INTO f SELECT i, jsonb_build_object('n', i) FROM generate_series(1, 100) i;
INSERT INTO f VALUES (201, '{"n": "unknown"}'), (202, '{"n": true}'), (203, '{"n": ""}');
SELECT * FROM records;
CREATE FUNCTION of_numbers() RETURNS TABLE (condition text, rows bigint, found_by text, verdict text) LANGUAGE sql AS $$
	SELECT * FROM asked($q$doc @> '{"n": 23}'$q$, $q$doc -> 'n' = '23'$q$, $q$doc -> 'n' IN ('23', '24', '"25"')$q$, $q$doc @? '$.n ? (@ > 98)'$q$, $q$doc @? '$.n ? (@ == 23)'$q$,
		$q$doc @@ '$.n >= 98 && $.n < 100'$q$, $q$doc @? '$.n ? (@ > 98 || @ == "unknown")'$q$, $q$doc -> 'n' > '98'$q$, $q$doc -> 'n' = 'true'$q$, $q$doc @? '$.n ? (@ <> 23)'$q$)
$$;
SELECT * FROM of_numbers();
-- to jsonpath, what is in an array stands there itself
INSERT INTO f VALUES (205, '{"n": [99]}');
SELECT * FROM of_numbers();
DELETE FROM f WHERE id = 205;
SELECT count(*) FROM indextable.verify('f');
INSERT INTO f VALUES (206, '{"n": 98.5}'), (207, '{"n": 23.0}');
SELECT * FROM records;
SELECT * FROM of_numbers();
DELETE FROM f WHERE id > 205;
SELECT count(*) FROM indextable.verify('f');
SELECT * FROM records;
SELECT * FROM of_numbers();
\pset format aligned
DROP SCHEMA skipped_rows CASCADE;
