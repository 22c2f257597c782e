-- Conditions as client libraries and people write them: each field has one index table, which serves all spellings of it. For each
-- condition: whether entries are searched, and on which documents answers differ from those without index tables. "clean" has what
-- an application writes, "mixed" has values of other JSON types that all casts accept, and "hostile" has everything.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/planner.psql
CREATE SCHEMA clean;
CREATE SCHEMA mixed;
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
CREATE FUNCTION pg_temp.tried(schema text, condition text, OUT searched boolean, OUT fault text) LANGUAGE plpgsql AS $$
DECLARE query text; native record; other record; mode text; caching text;
BEGIN
	PERFORM set_config('search_path', schema, true);
	query := CASE WHEN condition ~ '^(SELECT|PREPARE)' THEN condition ELSE 'SELECT id FROM p WHERE ' || condition END;
	searched := true;
	FOREACH mode IN ARRAY '{force,fallback}'::text[] LOOP
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
	FROM spelling s, pg_temp.tried('clean', sql) clean(searched, fault)
	WHERE clean.searched <> s.searched OR fault IS NOT NULL ORDER BY n;
SELECT fault FROM spelling s, unnest('{mixed,hostile}'::text[]) schema, pg_temp.tried(schema, sql) WHERE fault IS NOT NULL ORDER BY n, schema;
SELECT fault FROM variation, unnest('{mixed,hostile}'::text[]) schema, pg_temp.tried(schema, sql) WHERE fault IS NOT NULL ORDER BY sql, schema LIMIT 20;
SELECT count(*) FILTER (WHERE searched) AS searched, count(*) AS conditions FROM spelling;
-- Those that are not.
SELECT library, what FROM spelling WHERE NOT searched ORDER BY n;

SET client_min_messages = warning;
DROP SCHEMA clean CASCADE;
DROP SCHEMA mixed CASCADE;
DROP SCHEMA hostile CASCADE;
