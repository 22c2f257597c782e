-- Conditions as client libraries and people write them: each field has one index table, which serves all spellings of it. For each
-- condition: whether entries are searched, and on which documents answers differ from those without index tables. "clean" has what
-- an application writes, "whole" and "mixed" have values of other JSON types that all casts accept, in all rows and not, and "hostile" has
-- everything.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/planner.psql
CREATE SCHEMA clean;
CREATE SCHEMA mixed;
CREATE SCHEMA whole;
CREATE SCHEMA hostile;
SET search_path = clean;
\i :src/sql/include/spellings.psql

CREATE FUNCTION pg_temp.result(planner text, query text, caching text, OUT rows text[], OUT searched boolean, OUT state text) LANGUAGE plpgsql AS $$
DECLARE r record; plan jsonb;
BEGIN
	PERFORM set_config('indextable.planner', planner, true), set_config('plan_cache_mode', caching, true);
	IF query LIKE 'PREPARE %' THEN
		EXECUTE query;
		query := 'EXECUTE ' || regexp_replace(substring(query FROM '-- (.*)'), '''NULL''', 'NULL');
	END IF;
	BEGIN
		EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
		searched := jsonb_path_exists(plan, 'strict $.**."Entry Cond"', silent => true);
		FOR r IN EXECUTE query LOOP
			rows := array_append(rows, r::text);
		END LOOP;
		SELECT array_agg(x ORDER BY x COLLATE "C") INTO rows FROM unnest(rows) x;
	EXCEPTION WHEN OTHERS THEN
		state := SQLSTATE || ' ' || SQLERRM;
	END;
	IF query LIKE 'EXECUTE %' THEN
		DEALLOCATE tested;
	END IF;
	PERFORM set_config('indextable.planner', 'off', true), set_config('plan_cache_mode', 'auto', true);
END $$;

-- How a condition behaves over the documents of a schema: an error without index tables may be missing with them, but not the reverse.
CREATE FUNCTION pg_temp.tried(schema text, condition text, modes text[], OUT searched boolean, OUT fault text) LANGUAGE plpgsql AS $$
DECLARE query text; native record; other record; mode text; caching text;
BEGIN
	PERFORM set_config('search_path', schema, true);
	query := CASE WHEN condition ~ '^(SELECT|PREPARE)' THEN condition ELSE 'SELECT id FROM p WHERE ' || condition END;
	searched := true;
	FOREACH mode IN ARRAY modes LOOP
		FOREACH caching IN ARRAY CASE WHEN query LIKE 'PREPARE%' THEN '{force_custom_plan,force_generic_plan}' ELSE '{auto}' END::text[] LOOP
			native := pg_temp.result('off', query, caching);
			other := pg_temp.result(mode, query, caching);
			searched := searched AND other.searched;
			IF other.state IS NOT NULL AND (native.state IS NULL OR other.state ~ '^XX') THEN
				fault := format('%s %s: %s: %s', mode, schema, condition, other.state);
			ELSIF native.state IS NULL AND other.rows IS DISTINCT FROM native.rows THEN
				fault := format('%s %s: %s: %s instead of %s', mode, schema, condition, other.rows, native.rows);
			END IF;
		END LOOP;
	END LOOP;
	PERFORM set_config('search_path', 'clean', true);
END $$;

-- What is not as the list says.
SELECT s.n, library, what, clean.searched, fault
	FROM spelling s, pg_temp.tried('clean', sql, '{force,fallback}') clean(searched, fault)
	WHERE clean.searched <> s.searched OR fault IS NOT NULL ORDER BY n;
SELECT fault FROM spelling s, unnest('{mixed,whole,hostile}'::text[]) schema, pg_temp.tried(schema, sql, '{force,fallback}') WHERE fault IS NOT NULL ORDER BY n, schema;
SELECT fault FROM variation, unnest('{mixed,whole,hostile}'::text[]) schema, pg_temp.tried(schema, sql, '{force}') WHERE fault IS NOT NULL ORDER BY sql, schema LIMIT 20;
-- What looks into arrays and objects is searched until a key is one, whoever writes it, unless that is rolled back.
CREATE FUNCTION pg_temp.looks(OUT searched text, OUT faults text) LANGUAGE sql AS $$
	SELECT string_agg(CASE WHEN t.searched THEN 'searched' ELSE 'not' END, ', ' ORDER BY n), string_agg(t.fault, ', ')
		FROM (VALUES (1, $q$doc -> 'tags' ? 't7'$q$), (2, $q$doc @? '$.lines[*] ? (@.name == "L7")'$q$), (3, $q$doc @@ '$.town == "Town 7"'$q$)) c (n, sql), pg_temp.tried('whole', sql, '{force}') t
$$;
SELECT * FROM pg_temp.looks();
BEGIN;
INSERT INTO whole.p SELECT 5000, doc || '{"tags": {"t7": 1}}' FROM clean.p WHERE id = 1;
SELECT * FROM pg_temp.looks();
SAVEPOINT s;
UPDATE whole.p SET doc = doc || '{"town": ["Town 7"]}' WHERE id = 3;
SELECT * FROM pg_temp.looks();
ROLLBACK TO s;
SELECT * FROM pg_temp.looks();
ROLLBACK;
SELECT * FROM pg_temp.looks();
UPDATE whole.p SET doc = doc || '{"lines": [[{"name": "L7"}], {"name": "L8"}]}' WHERE id = 3;
SELECT * FROM pg_temp.looks();
DELETE FROM whole.p WHERE id = 3;
SELECT * FROM pg_temp.looks();
CALL indextable.rebuild('whole.p_lines');
SELECT * FROM pg_temp.looks();
TRUNCATE whole.p;
INSERT INTO whole.p SELECT * FROM clean.p WHERE id < 50;
SELECT * FROM pg_temp.looks();
SELECT indextable.alter('whole.p_tags', maintenance => 'async') \g /dev/null
INSERT INTO whole.p SELECT 5000, doc || '{"tags": {"t7": 1}}' FROM clean.p WHERE id = 1;
SELECT indextable.drain() \g /dev/null
SELECT indextable.alter('whole.p_tags', maintenance => 'transactional') \g /dev/null
SELECT * FROM pg_temp.looks();
-- It is verified, too, unless 1.1 has made the index table.
DELETE FROM indextable_internal.completeness WHERE index_table = 'whole.p_tags'::regclass AND fields = 30;
SELECT problem FROM indextable.verify('whole.p_tags');
CALL indextable.repair('whole.p_tags');
SELECT * FROM pg_temp.looks();
DELETE FROM indextable_internal.completeness WHERE index_table = 'whole.p_tags'::regclass AND fields IN (30, 31);
SELECT problem FROM indextable.verify('whole.p_tags');
SELECT * FROM pg_temp.looks();

SELECT count(*) FILTER (WHERE searched) AS searched, count(*) AS conditions FROM spelling;
-- Those that are not.
SELECT library, what FROM spelling WHERE NOT searched ORDER BY n;

-- Numbers in the order of another type: those that it makes equal come in the order of what is sorted by next.
CREATE TABLE near (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO near SELECT id, jsonb_build_object('n', n, 'i', 16777220 - id) FROM unnest(ARRAY['0.1', '0.10000000000000000000002', '0.10000000000000000000001', '0.0999999999999999999999', '-7', 'NaN', '7', 'Infinity', '1e-300', '7.00000000000000000000001']) WITH ORDINALITY t (n, id);
SELECT indextable.create('near_n', 'near', '{n::numeric}'), indextable.create('near_i', 'near', '{i::int, n}');
CREATE FUNCTION pg_temp.sorted(query text, OUT scan text, OUT same boolean, OUT rows text) LANGUAGE plpgsql AS $$
DECLARE plan json; native text;
BEGIN
	SET LOCAL enable_sort = off;
	SET LOCAL indextable.planner = force;
	EXECUTE 'EXPLAIN (COSTS off, FORMAT json) ' || query INTO plan;
	scan := concat_ws(' ', substring(plan::text FROM '"Index Table(?: Only)?": "([^"]+)"'), substring(plan::text FROM 'Incremental Sort'));
	EXECUTE 'SELECT string_agg(id::text, '','') FROM (' || query || ') q' INTO rows;
	SET LOCAL indextable.planner = off;
	EXECUTE 'SELECT string_agg(id::text, '','') FROM (' || query || ') q' INTO native;
	same := rows = native;
END $$;
SELECT s.*, query FROM (VALUES ($$SELECT id FROM near ORDER BY (doc ->> 'n')::float8, id$$), ($$SELECT id FROM near ORDER BY (doc ->> 'n')::float8 DESC, id LIMIT 5$$), ($$SELECT id FROM near ORDER BY (doc ->> 'i')::bigint, (doc ->> 'n')$$),
	($$SELECT id FROM near ORDER BY (doc ->> 'i')::real, id$$), ($$SELECT id FROM near WHERE (doc ->> 'n')::float8 >= 0.1 ORDER BY (doc ->> 'n')::float8, id$$)) q (query), pg_temp.sorted(query) s;
-- min() and max() do not fail at a number of a row that a condition leaves out.
INSERT INTO near SELECT 10 + i, jsonb_build_object('n', n, 'i', i) FROM unnest(ARRAY['1e400', '-1e400', '1e-400']) WITH ORDINALITY t (n, i);
SELECT s.*, query FROM (VALUES ($$SELECT min((doc ->> 'n')::float8) AS id FROM near WHERE lower(upper(doc ->> 'i')) || '' LIKE '1677%'$$), ($$SELECT max((doc ->> 'i')::numeric(4,2)) AS id FROM near WHERE lower(upper(doc ->> 'n')) || '' LIKE '%1e%400'$$)) q (query), pg_temp.sorted(query) s;
-- What a pattern shorter than n finds may be cut off.
CREATE TABLE cut (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO cut SELECT i, jsonb_build_object('a', repeat('x', i), 'b', repeat('x', i)) FROM generate_series(1, 12) i;
SELECT indextable.create('cut_a', 'cut', ARRAY['a COLLATE "C"']), indextable.create('cut_b', 'cut', ARRAY['b::varchar(10) COLLATE "C"']);
SELECT s.*, query FROM (SELECT format('SELECT id FROM cut WHERE (doc ->> %L)::varchar(10) %s', field, condition) AS query
	FROM unnest(ARRAY['a', 'b']) field, unnest(ARRAY['= ''xxx''', 'LIKE ''xxx%''', '~ ''^x{10}$''', '~ ''^x{9}''']) condition) q, pg_temp.sorted(query) s;

SET client_min_messages = warning;
DROP SCHEMA clean CASCADE;
DROP SCHEMA mixed CASCADE;
DROP SCHEMA whole CASCADE;
DROP SCHEMA hostile CASCADE;
