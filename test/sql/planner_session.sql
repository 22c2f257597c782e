-- Plain queries in a session that gets the library in the middle, or from settings; and while the extension is dropped and created
-- under cached plans. Answers stay as they are, whatever there is to plan with.
CREATE SCHEMA planner_session;
SET search_path = planner_session;
SET client_min_messages = warning;

CREATE TABLE person (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO person SELECT i, jsonb_build_object('town', CASE WHEN i % 2 = 0 THEN 'common' ELSE 'town' || i % 500 END, 'age', i % 90, 'tags', jsonb_build_array('t' || i % 10)) FROM generate_series(1, 4000) i;
INSERT INTO person VALUES (4001, '{"town": null}'), (4002, '{}'), (4003, '[]');
CREATE TABLE part (LIKE person INCLUDING ALL) PARTITION BY HASH (id);
SELECT format('CREATE TABLE part_%s PARTITION OF part FOR VALUES WITH (MODULUS 8, REMAINDER %s)', i, i) FROM generate_series(0, 7) i \gexec
INSERT INTO part SELECT * FROM person;
CREATE FUNCTION create_index_tables() RETURNS void LANGUAGE sql AS $$
	SELECT indextable.create('by_town', 'person', '{town}', include => '{age::int}');
	SELECT indextable.create('by_tag', 'person', '{tags[*], age::int}');
	SELECT indextable.create('part_by_town', 'part', '{town}', include => '{age::int}');
$$;
SELECT create_index_tables() \gset
ANALYZE person, part, by_town, by_tag, part_by_town;

-- known: whether the planner knows how many rows have the common town
CREATE FUNCTION known() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
	EXECUTE $q$EXPLAIN (FORMAT json) SELECT id FROM person WHERE doc ->> 'town' = 'common'$q$ INTO plan;
	RETURN (plan #>> '{0,Plan,Plan Rows}')::numeric BETWEEN 1500 AND 2500;
END $$;
-- in_function(): its plan is cached, too
CREATE FUNCTION in_function(town text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT count(*) || ' of age ' || avg((doc ->> 'age')::int)::int FROM part WHERE doc ->> 'town' = town);
END $$;
-- prepare, answers: queries of each kind, by generic plans that are made when they are first executed, and what they answer
CREATE PROCEDURE prepare() LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('plan_cache_mode', 'force_generic_plan', false);
	PREPARE entries (text) AS SELECT string_agg(id || ':' || age, ' ') FROM (SELECT id, (doc ->> 'age')::int AS age FROM person WHERE doc ->> 'town' = $1 ORDER BY 1) AS q;
	PREPARE documents (text) AS SELECT string_agg(doc ->> 'age', ' ' ORDER BY id) FROM part WHERE doc ->> 'town' = $1;
	PREPARE element (text) AS SELECT string_agg(id::text, ' ') FROM (SELECT id FROM person WHERE doc -> 'tags' @> to_jsonb($1) ORDER BY (doc ->> 'age')::int, id LIMIT 3) AS q;
	PREPARE groups AS SELECT string_agg(town || ':' || n, ' ') FROM (SELECT doc ->> 'town' AS town, count(*) AS n FROM part GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 2) AS q;
	PREPARE lacking AS SELECT string_agg(id::text, ' ') FROM (SELECT id FROM person WHERE doc ->> 'town' IS NULL ORDER BY 1) AS q;
	PREPARE joined (int) AS SELECT count(*) FROM person AS p JOIN part AS q ON q.doc ->> 'town' = p.doc ->> 'town' WHERE p.id = $1;
END $$;
CREATE FUNCTION answers() RETURNS TABLE (query text, answer text) LANGUAGE plpgsql AS $$
BEGIN
	FOREACH query IN ARRAY ARRAY['entries (''town7'')', 'documents (''town7'')', 'element (''t3'')', 'groups', 'lacking', 'joined (7)'] LOOP
		EXECUTE 'EXECUTE ' || query INTO answer;
		RETURN NEXT;
	END LOOP;
	RETURN QUERY VALUES ('in_function', in_function('town7'));
END $$;
-- used: whether index tables answer some of them
CREATE FUNCTION used() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
	query text;
BEGIN
	FOREACH query IN ARRAY ARRAY['entries (''town7'')', 'documents (''town7'')', 'element (''t3'')', 'groups', 'lacking', 'joined (7)'] LOOP
		FOR line IN EXECUTE 'EXPLAIN (COSTS off) EXECUTE ' || query LOOP
			IF line LIKE '%Custom Scan (IndexTable)%' THEN RETURN true; END IF;
		END LOOP;
	END LOOP;
	RETURN false;
END $$;
CREATE TABLE first_answers (query text, answer text);
-- other: which of them are not what they were at first
CREATE FUNCTION other() RETURNS TABLE (query text, answer text) LANGUAGE sql AS $$ SELECT * FROM answers() EXCEPT SELECT * FROM first_answers $$;

-- loaded in the middle of a session, which has set what the planner is to do already
\c -
SET search_path = planner_session;
SET indextable.planner = off;
CALL prepare();
INSERT INTO first_answers SELECT * FROM answers();
SELECT * FROM first_answers;
SELECT used();
DEALLOCATE ALL;
CALL prepare();
SET indextable.planner = force;
SELECT * FROM other();
LOAD 'indextable';
SHOW indextable.planner;
SELECT known();
SELECT * FROM other();
DEALLOCATE ALL;
CALL prepare();
SELECT used();
SELECT * FROM other();
SET indextable.planner = off;
SELECT known();
SELECT * FROM other();
BEGIN;
SET LOCAL indextable.planner = force;
SELECT known();
DEALLOCATE ALL;
CALL prepare();
SELECT used();
SELECT * FROM other();
ROLLBACK;
SELECT known();
SELECT * FROM other();

-- explain() says how others load it, too, beside what they load already; an error in a query is shown in that query
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET session_preload_libraries = plpgsql, ''plpgsql''', current_database()); END $$;
\c -
SET search_path = planner_session;
SELECT * FROM indextable.explain('SELECT 1');
SELECT * FROM indextable.explain($$SELECT id FROM fact WHERE dok ->> 'town' = 'x'$$);
SELECT * FROM indextable.explain($$SELECT id FRM fact$$);
DO $$ BEGIN PERFORM FROM indextable.explain('SELECT FROM nix'); END $$;

-- loaded by each session of a database, and of a role in it
DO $$
BEGIN
	EXECUTE format('ALTER DATABASE %I SET session_preload_libraries = indextable', current_database());
	EXECUTE format('ALTER DATABASE %I SET indextable.planner = force', current_database());
END $$;
\c -
SET search_path = planner_session;
SHOW indextable.planner;
SELECT known();
CALL prepare();
SELECT used();
SELECT * FROM other();
DO $$
BEGIN
	EXECUTE format('ALTER DATABASE %I RESET session_preload_libraries', current_database());
	EXECUTE format('ALTER DATABASE %I RESET indextable.planner', current_database());
	EXECUTE format('ALTER ROLE %I IN DATABASE %I SET session_preload_libraries = indextable', current_user, current_database());
	EXECUTE format('ALTER ROLE %I IN DATABASE %I SET indextable.planner = force', current_user, current_database());
END $$;
\c -
SET search_path = planner_session;
SHOW indextable.planner;
SELECT known();
CALL prepare();
SELECT used();
SELECT * FROM other();
DO $$
BEGIN
	EXECUTE format('ALTER ROLE %I IN DATABASE %I RESET session_preload_libraries', current_user, current_database());
	EXECUTE format('ALTER ROLE %I IN DATABASE %I RESET indextable.planner', current_user, current_database());
END $$;

-- the extension goes from under plans that are cached, and comes back
\c -
SET search_path = planner_session;
LOAD 'indextable';
SET indextable.planner = force;
SET client_min_messages = warning;
CALL prepare();
SELECT used();
SELECT * FROM other();
BEGIN;
DROP EXTENSION indextable CASCADE;
SELECT known(), used();
SELECT * FROM other();
CREATE EXTENSION indextable;
SELECT * FROM other();
DROP TABLE by_town, by_tag, part_by_town;
SELECT create_index_tables() \gset
SELECT used();
SELECT * FROM other();
ROLLBACK;
SELECT known(), used();
SELECT * FROM other();
BEGIN;
SAVEPOINT s;
DROP EXTENSION indextable CASCADE;
SELECT * FROM other();
ROLLBACK TO s;
SELECT known(), used();
SELECT * FROM other();
COMMIT;
SELECT * FROM other();
DROP EXTENSION indextable CASCADE;
SELECT known(), used(), to_regclass('by_town');
SELECT * FROM other();
-- rows come and go meanwhile, of which the tables that were index tables learn nothing
INSERT INTO person SELECT 9000, doc FROM person WHERE id = 7;
DELETE FROM part WHERE id = 7;
TRUNCATE first_answers;
INSERT INTO first_answers SELECT * FROM answers();
SELECT * FROM first_answers;
CREATE EXTENSION indextable;
SELECT used();
SELECT * FROM other();
DROP TABLE by_town, by_tag, part_by_town;
SELECT create_index_tables() \gset
ANALYZE person, part, by_town, by_tag, part_by_town;
SELECT known(), used();
SELECT * FROM other();
-- the same with plans that are prepared for index tables, and executed without them
SET indextable.planner = fallback;
DEALLOCATE ALL;
CALL prepare();
SELECT used();
SELECT * FROM other();
DROP EXTENSION indextable CASCADE;
SELECT used();
SELECT * FROM other();
CREATE EXTENSION indextable;
\c -
SET search_path = planner_session;
CALL prepare();
SELECT * FROM other();

SET client_min_messages = warning;
DROP SCHEMA planner_session CASCADE;
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
SELECT * FROM pg_temp.leftovers();
