-- Plain queries with parameters, through DDL, with constraints, filters, collations, writes and cursors: the same answers natively,
-- from index tables, and from fallbacks.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/planner.psql
CREATE SCHEMA planner_exact;
SET search_path = planner_exact;
\set sparse true
\i :src/sql/include/planner_data.psql

-- ---- parameters, with custom plans and with generic ones
SELECT d AS difference FROM (VALUES
	('only fact_t1', $$'t1'$$, $$SELECT id FROM fact WHERE doc ->> 'town' = $1$$),
	('only fact_t1', $$'t1', 't3'$$, $$SELECT id FROM fact WHERE doc ->> 'town' IN ($1, $2)$$),
	('only fact_t1', $$'t1', NULL$$, $$SELECT id FROM fact WHERE doc ->> 'town' IN ($1, $2)$$),
	('only fact_t1', $$'{t3,t1,NULL,t3}'$$, $$SELECT id FROM fact WHERE doc ->> 'town' = ANY ($1)$$),
	('only fact_t1', $$'{}'$$, $$SELECT id FROM fact WHERE doc ->> 'town' = ANY ($1::text[])$$),
	('only fact_age', $$7, 9$$, $$SELECT id FROM fact WHERE (doc ->> 'age')::int BETWEEN $1 AND $2$$),
	(NULL, $$9, 7$$, $$SELECT id FROM fact WHERE (doc ->> 'age')::int BETWEEN $1 AND $2$$),
	('only fact_age', $$'{7,8,80000000000}'$$, $$SELECT id FROM fact WHERE (doc ->> 'age')::int = ANY ($1::bigint[])$$),
	('only fact_age', $$'{7,8.5,7.0}'$$, $$SELECT id FROM fact WHERE (doc ->> 'age')::int = ANY ($1::numeric[])$$),
	(NULL, $$NULL, NULL$$, $$SELECT id FROM fact WHERE doc ->> 'town' = $1 AND doc ->> 'name' > $2$$),
	(NULL, $$'t1', NULL$$, $$SELECT id FROM fact WHERE doc ->> 'town' = $1 AND ($2::text IS NULL OR doc ->> 'name' = $2)$$),
	(NULL, $$'t1', true$$, $$SELECT id, doc ->> 'name' || $1 FROM fact WHERE doc ->> 'town' = $1 AND $2$$),
	(NULL, $$'t1', false$$, $$SELECT id, doc ->> 'name' || $1 FROM fact WHERE doc ->> 'town' = $1 AND $2$$),
	(NULL, $$'t1', 1$$, $$SELECT count(*), sum((doc ->> 'age')::int + $2) FROM fact WHERE doc ->> 'town' = $1$$),
	(NULL, $$'["x1"]'$$, $$SELECT id FROM fact WHERE doc -> 'tags' @> $1::jsonb$$),
	(NULL, $$'["x1", "x2"]'$$, $$SELECT id FROM fact WHERE doc -> 'tags' @> $1::jsonb$$), (NULL, $$'[]'$$, $$SELECT id FROM fact WHERE doc -> 'tags' @> $1::jsonb$$), (NULL, $$NULL$$, $$SELECT id FROM fact WHERE doc -> 'tags' @> $1::jsonb$$),
	(NULL, $$'"x1"'$$, $$SELECT id FROM fact WHERE doc -> 'tags' @> $1::jsonb$$), (NULL, $$'[1, "x1"]'$$, $$SELECT id FROM fact WHERE doc -> 'tags' @> $1::jsonb$$), (NULL, $$'[null]'$$, $$SELECT id FROM fact WHERE doc -> 'tags' @> $1::jsonb$$), (NULL, $$'null'$$, $$SELECT id FROM fact WHERE doc -> 'tags' @> $1::jsonb$$),
	(NULL, $$'{"x1": 1}'$$, $$SELECT id FROM fact WHERE doc -> 'tags' @> $1::jsonb$$), (NULL, $$'[["x1"]]'$$, $$SELECT id FROM fact WHERE doc -> 'tags' @> $1::jsonb$$), (NULL, $$'{}'$$, $$SELECT id FROM fact WHERE doc -> 'tags' @> $1::jsonb$$), (NULL, $$'{"tags": ["x1"]}'$$, $$SELECT id FROM fact WHERE doc @> $1::jsonb$$),
	('fact_t1', $$'t1'$$, $$SELECT id FROM fact WHERE doc @> jsonb_build_object('town', $1::text)$$), (NULL, $$NULL$$, $$SELECT id FROM fact WHERE doc @> jsonb_build_object('town', $1::text)$$),
	('fact_t1', $$'t1'$$, $$SELECT id FROM fact WHERE jsonb_build_object('town'::text, $1::varchar) <@ doc$$), ('only fact_doc', $$'t1', 'n1'$$, $$SELECT id FROM fact WHERE doc @> jsonb_build_object('town', $1::text, 'name', $2::text)$$),
	('fact_desc', $$'t1', 7$$, $$SELECT id FROM fact WHERE doc @> jsonb_build_object('age', $2::int, 'town', $1::text)$$), ('fact_tag', $$'x1'$$, $$SELECT id FROM fact WHERE doc @> jsonb_build_object('tags', jsonb_build_array($1::text))$$),
	('fact_tag', $$'{x1,x2}'$$, $$SELECT id FROM fact WHERE doc @> jsonb_build_object('tags', $1::text[])$$), (NULL, $$'{NULL}'$$, $$SELECT id FROM fact WHERE doc @> jsonb_build_object('tags', $1::text[])$$),
	(NULL, $$'{}'$$, $$SELECT id FROM fact WHERE doc @> jsonb_build_object('tags', $1::text[])$$), ('fact_tag', $$'{x1}'$$, $$SELECT id FROM fact WHERE doc -> 'tags' @> to_jsonb($1::text[])$$),
	('native', $$'x1'$$, $$SELECT id FROM fact WHERE doc @> jsonb_build_object('tags', $1::text)$$), ('native', $$1$$, $$SELECT id FROM fact WHERE doc @> jsonb_build_object('town', $1::int)$$),
	('native', $$1$$, $$SELECT id FROM fact WHERE doc -> 'tags' @> to_jsonb($1::int)$$), ('native', $$1$$, $$SELECT id FROM fact WHERE doc -> 'tags' @> jsonb_build_array($1::int)$$),
	('native', $$1$$, $$SELECT id FROM fact WHERE doc @> jsonb_build_object('town', 't1', 'town', $1::int)$$), ('fact_t1', $$1, 't1'$$, $$SELECT id FROM fact WHERE doc @> jsonb_build_object('town', $1::int, 'town', $2::text)$$),
	(NULL, $$'{town,t1}'$$, $$SELECT id FROM fact WHERE doc @> jsonb_build_object(VARIADIC $1::text[])$$), (NULL, $$'town', 't1'$$, $$SELECT id FROM fact WHERE doc @> jsonb_build_object($1::text, $2::text)$$),
	('only fact_j', $$'1'$$, $$SELECT id FROM fact WHERE doc -> 'o' @> jsonb_build_object('p', $1::text)$$), ('fact_op', $$'1'$$, $$SELECT id FROM fact WHERE doc @> jsonb_build_object('o', jsonb_build_object('p', $1::text))$$),
	(NULL, $$'t1'$$, $$SELECT n, id FROM other JOIN fact ON doc @> jsonb_build_object('town', town) WHERE age > 2 OR town = $1$$),
	(NULL, $$'t%'$$, $$SELECT id FROM fact WHERE doc ->> 'town' LIKE $1$$),
	(NULL, $$'t1', 'n1', 20$$, $$SELECT id FROM fact WHERE (doc ->> 'town', doc ->> 'name', id) > ($1, $2, $3) AND doc ->> 'name' IS NOT NULL$$),
	(NULL, $$'town'$$, $$SELECT id FROM fact WHERE doc ->> $1 = 't1'$$),
	(NULL, $$'t1'$$, $$SELECT n, id FROM other JOIN fact ON doc ->> 'town' = town WHERE town = $1$$),
	(NULL, $$3$$, $$SELECT id FROM fact WHERE doc ->> 'name' = 'n1' ORDER BY id LIMIT $1 OFFSET 1$$)
) q (scans, args, query), pg_temp.both(query, scans, args) d;

-- Of a document that is a parameter only a custom plan knows the fields, so the server keeps to these.
SELECT DISTINCT args, caching, scans FROM (VALUES ('{"town": "t1"}'), ('{"tags": ["x1"]}'), ('{"town": "t1", "name": "n1"}'), ('{"town": 1}'), ('{}')) a (args),
	unnest('{force_custom_plan,force_generic_plan}'::text[]) caching, pg_temp.answer('force', 'SELECT id FROM plain WHERE doc @> $1', quote_literal(args), NULL, caching) ORDER BY 2, 1;
SELECT index_table, used, reason FROM indextable.explain($$SELECT id FROM plain WHERE doc @> $1$$) WHERE index_table::text IN ('plain_t1', 'plain_tag', 'plain_age') ORDER BY 1;
CREATE TABLE guest (id int PRIMARY KEY, doc jsonb);
INSERT INTO guest SELECT i, jsonb_build_object('town', 't' || i % 500, 'name', 'n' || i, 'pad', repeat('x', 200)) FROM generate_series(1, 5000) i;
SELECT indextable.create('guest_town', 'guest', '{town, name}') \gset
VACUUM ANALYZE guest, guest_town;
PREPARE whole AS SELECT count(*) FROM guest WHERE doc @> $1;
PREPARE field AS SELECT count(*) FROM guest WHERE doc @> jsonb_build_object('town', $1::text);
SELECT format('EXECUTE whole (%L); EXECUTE field (%L)', '{"town": "t7"}', 't7') AS seven FROM generate_series(1, 7)
\o /dev/null
\gexec
\o
SELECT scan FROM pg_temp.explain($$EXECUTE whole ('{"town": "t7"}')$$, 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF') scan WHERE scan !~ 'Heap';
SELECT scan FROM pg_temp.explain($$EXECUTE field ('t7')$$, 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF') scan WHERE scan !~ 'Heap';
SELECT name, generic_plans > 0 AS generic FROM pg_prepared_statements WHERE name IN ('whole', 'field') ORDER BY 1;
DEALLOCATE whole;
DEALLOCATE field;

-- ---- patterns, rows and texts that are hard to compare
SELECT d AS difference FROM (VALUES
	($$SELECT id FROM fact WHERE doc ->> 'town' LIKE 't1%'$$), ($$SELECT id FROM fact WHERE doc ->> 'town' LIKE 't1'$$), ($$SELECT id FROM fact WHERE doc ->> 'town' LIKE ''$$),
	($$SELECT id FROM fact WHERE doc ->> 'town' LIKE '%1'$$), ($$SELECT id FROM fact WHERE doc ->> 'town' LIKE 't\_%'$$), ($$SELECT id FROM fact WHERE doc ->> 'town' ILIKE 't1%'$$),
	($$SELECT id FROM fact WHERE doc ->> 'town' ~ '^t1'$$), ($$SELECT id FROM fact WHERE doc ->> 'town' ~ '^(t1|t2)$'$$), ($$SELECT id FROM fact WHERE doc ->> 'town' ~* '^t1'$$),
	($$SELECT id FROM fact WHERE doc ->> 'town' SIMILAR TO 't1%'$$), ($$SELECT id FROM fact WHERE starts_with(doc ->> 'town', 't')$$), ($$SELECT id FROM fact WHERE doc ->> 'town' NOT LIKE 't1%'$$),
	($$SELECT id FROM fact WHERE doc ->> 'town' COLLATE "C" LIKE 't1%'$$), ($$SELECT id FROM fact WHERE (doc ->> 'town')::varchar LIKE 't1%'$$), ($$SELECT id FROM fact WHERE (doc ->> 'town')::bpchar LIKE 't1%'$$),
	($$SELECT id FROM fact WHERE doc ->> 'name' LIKE 'ñ%'$$), ($$SELECT id FROM fact WHERE doc ->> 'name' LIKE 'n1%' AND doc ->> 'town' > 't1'$$),
	($$SELECT id FROM fact WHERE (doc ->> 'town', doc ->> 'name', id) > ('t1', 'n1', 20)$$), ($$SELECT id FROM fact WHERE (doc ->> 'town', doc ->> 'name') <= ('t1', 'n1')$$),
	($$SELECT id FROM fact WHERE ('t1', 'n1') < (doc ->> 'town', doc ->> 'name')$$), ($$SELECT id FROM fact WHERE (doc ->> 'town', id) < ('t1', NULL)$$),
	($$SELECT id FROM fact WHERE (id, doc ->> 'town') < (5, 't1')$$), ($$SELECT id FROM fact WHERE ((doc ->> 'age')::int, doc ->> 'town') >= (7::bigint, 't1')$$),
	($$SELECT id FROM fact WHERE (doc ->> 'town' COLLATE "C", id) > ('t1', 5)$$), ($$SELECT n, id FROM other JOIN fact ON (doc ->> 'town', id) > (town, n) AND doc ->> 'town' LIKE town || '%'$$)
) q (query), pg_temp.both(query) d;

-- ---- writes; and what they leave
SELECT d AS difference FROM (VALUES
	('plain_t1', $$UPDATE fact SET note = 'new' WHERE doc ->> 'town' = 't1' RETURNING id, note$$, $$SELECT * FROM fact$$),
	('plain_t1', $$UPDATE fact SET doc = jsonb_set(doc, '{town}', '"t2"') WHERE doc ->> 'town' = 't1' RETURNING id$$, $$SELECT id, doc ->> 'town' FROM fact WHERE doc ->> 'town' > 't1'$$),
	('plain_t1', $$DELETE FROM fact WHERE doc ->> 'town' = 't1' RETURNING id$$, $$SELECT count(*) FROM fact WHERE doc ->> 'town' > ''$$),
	('plain_t1', $$UPDATE other SET x = id FROM fact WHERE doc ->> 'town' = 't1' AND id = n$$, $$SELECT * FROM other$$),
	('plain_t1', $$DELETE FROM other USING fact WHERE doc ->> 'town' = town AND id < 10$$, $$SELECT * FROM other$$),
	('plain_t1', $$MERGE INTO other USING fact ON doc ->> 'town' = 't1' AND id = n WHEN MATCHED THEN UPDATE SET x = -id$$, $$SELECT * FROM other$$),
	('only fact_t1', $$UPDATE other SET x = (SELECT count(*) FROM fact WHERE doc ->> 'town' = town)$$, $$SELECT * FROM other$$),
	(NULL, $$UPDATE other SET x = s.id FROM (SELECT id FROM fact WHERE doc ->> 'town' = 't1' ORDER BY id LIMIT 3) s WHERE s.id = n$$, $$SELECT * FROM other$$),
	(NULL, $$MERGE INTO other USING (SELECT DISTINCT doc ->> 'town' AS t FROM fact WHERE doc ->> 'name' = 'n1') s ON t = town WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (DEFAULT, t)$$, $$SELECT town, age, x FROM other$$),
	(NULL, $$UPDATE fact SET note = (SELECT count(*) FROM fact WHERE doc ->> 'town' = 't1') WHERE id < 5 RETURNING id, note, (SELECT count(*) FROM fact WHERE doc ->> 'town' = 't1')$$, NULL),
	('only fact_t1', $$INSERT INTO other (town, x) SELECT doc ->> 'town', id FROM fact WHERE doc ->> 'town' = 't1'$$, $$SELECT town, age, x FROM other$$),
	('fact_t1', $$INSERT INTO fact SELECT id + 1000, doc, note FROM fact WHERE doc ->> 'town' = 't1' RETURNING *$$, $$SELECT * FROM fact WHERE doc ->> 'town' = 't1'$$),
	('fact_t1', $$INSERT INTO fact (id, doc) SELECT id, doc FROM fact WHERE doc ->> 'town' = 't1' ON CONFLICT (id) DO UPDATE SET note = excluded.doc ->> 'name' RETURNING id, note$$, NULL),
	(NULL, $$WITH w AS (UPDATE fact SET doc = jsonb_set(doc, '{town}', '"t9"') WHERE doc ->> 'town' = 't1' RETURNING id) SELECT w.id, (SELECT count(*) FROM fact WHERE doc ->> 'town' = 't1'), (SELECT count(*) FROM fact WHERE doc ->> 'town' = 't9') FROM w$$, $$SELECT count(*) FROM fact WHERE doc ->> 'town' = 't9'$$),
	(NULL, $$WITH w AS (DELETE FROM fact WHERE id < 30 RETURNING id, doc) SELECT id FROM fact WHERE doc ->> 'town' = 't1' UNION ALL SELECT -id FROM w WHERE doc ->> 'town' = 't1'$$, NULL),
	(NULL, $$WITH w AS (INSERT INTO fact (id, doc) SELECT id + 1000, doc FROM fact WHERE doc ->> 'town' = 't1' RETURNING id) SELECT count(*), (SELECT count(*) FROM fact WHERE doc ->> 'town' = 't1') FROM w$$, $$SELECT count(*) FROM fact WHERE doc ->> 'town' = 't1'$$)
) q (scans, query, afterwards), pg_temp.both(query, scans, NULL, afterwards) d;
-- cursors, which go back and forth among writes: the same answers at each step
CREATE FUNCTION pg_temp.walk(planner text, declaration text, steps text[]) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE step text; row record; answer text[] := '{}';
BEGIN
	PERFORM set_config('indextable.planner', planner, true), set_config('enable_sort', 'off', true), set_config('enable_hashagg', 'off', true);
	EXECUTE declaration;
	FOREACH step IN ARRAY steps LOOP
		answer := answer || step;
		FOR row IN EXECUTE step || CASE WHEN step ~ 'FETCH' THEN ' FROM c' ELSE '' END LOOP answer := answer || row::text; END LOOP;
	END LOOP;
	answer := answer || (SELECT string_agg(f::text, ' ' ORDER BY id) FROM plain f WHERE note = 'current' OR doc ->> 'town' IN ('t1', 't9'));
	RAISE EXCEPTION 'undo';
EXCEPTION WHEN OTHERS THEN
	PERFORM set_config('indextable.planner', 'off', true);
	RETURN answer || SQLERRM;
END $$;
SELECT planner, declaration, steps, pg_temp.walk(planner, declaration, steps) AS answer, pg_temp.walk('off', declaration, steps) AS native INTO TEMP walks
FROM (VALUES ('force'), ('fallback')) p (planner), (VALUES (''), ('SCROLL '), ('NO SCROLL ')) k (kind),
	(VALUES ('SELECT id, doc, note FROM plain WHERE doc ->> ''town'' = ''t1'' ORDER BY id'), ('SELECT id, note FROM plain WHERE doc ->> ''town'' = ''t1'' AND id % 3 <> 0 ORDER BY id'),
		('SELECT id FROM plain WHERE doc ->> ''town'' = ''t1'' ORDER BY id FOR UPDATE'), ('SELECT count(*), doc ->> ''name'' FROM plain WHERE doc ->> ''town'' = ''t1'' GROUP BY 2 ORDER BY 2'),
		('SELECT p.id, n FROM plain p JOIN other ON n = id WHERE doc ->> ''town'' = ''t1'' ORDER BY id'), ('SELECT id, doc FROM part WHERE doc ->> ''town'' = ''t1'' ORDER BY id')) q (query),
	LATERAL (SELECT 'DECLARE c ' || kind || 'CURSOR FOR ' || query AS declaration) d,
	(VALUES ('{FETCH,FETCH 2,UPDATE plain SET note = ''current'' WHERE CURRENT OF c RETURNING id,FETCH ALL}'::text[]),
		('{FETCH,UPDATE plain SET note = ''set'' WHERE doc ->> ''town'' = ''t1'' RETURNING id,FETCH 2,"DELETE FROM plain WHERE id IN (SELECT id FROM plain WHERE doc ->> ''town'' = ''t1'' ORDER BY id DESC LIMIT 2) RETURNING id",FETCH ALL}'),
		('{FETCH 3,FETCH BACKWARD 1,FETCH BACKWARD 1,FETCH BACKWARD 1,FETCH BACKWARD 1,FETCH 2,FETCH ALL,FETCH,FETCH BACKWARD 2,FETCH 1,FETCH FIRST,FETCH LAST,FETCH ABSOLUTE 2,FETCH RELATIVE -1,FETCH BACKWARD ALL,FETCH BACKWARD ALL,FETCH ALL}'),
		('{FETCH 3,FETCH PRIOR,UPDATE plain SET note = ''current'' WHERE CURRENT OF c RETURNING id,FETCH LAST,FETCH PRIOR,DELETE FROM plain WHERE CURRENT OF c RETURNING id,FETCH BACKWARD ALL}')) s (steps)
WHERE kind <> '' OR query !~ 'part';
SELECT * FROM walks WHERE answer IS DISTINCT FROM native;
SELECT count(*), count(*) FILTER (WHERE array_to_string(answer, ' ') ~ 'undo') AS "without errors" FROM walks WHERE planner = 'force';
SET indextable.planner = force;
SELECT fact_table, index_table, used, reason FROM (VALUES ('DECLARE c CURSOR FOR SELECT id FROM plain WHERE doc ->> ''town'' = ''t1'''), ('DECLARE c CURSOR FOR SELECT id FROM part WHERE doc ->> ''town'' = ''t1'''), ('DECLARE c CURSOR FOR SELECT count(*) FROM part WHERE doc ->> ''town'' = ''t1'''), ('DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT doc FROM part WHERE doc ->> ''town'' = ''t1'' ORDER BY id LIMIT 3')) q (query), indextable.explain(query) WHERE used OR (index_table IS NULL AND reason !~ '^each');
-- a cursor that has yet to read a partition which its own transaction has emptied, or dropped: an error, as the server would not have let it
BEGIN ISOLATION LEVEL REPEATABLE READ;
DECLARE rows CURSOR FOR SELECT id, note FROM part WHERE doc ->> 'town' = 't1' ORDER BY id;
DECLARE groups CURSOR FOR SELECT count(*) FROM part WHERE doc ->> 'town' = 't1';
DECLARE others CURSOR FOR SELECT count(*) FROM part WHERE doc ->> 'town' = 't1';
SAVEPOINT s;
TRUNCATE part_a;
DECLARE later CURSOR FOR SELECT count(*) FROM part WHERE doc ->> 'town' = 't1' AND note IS NULL;
FETCH later \gset
FETCH rows;
ROLLBACK TO s;
DROP TABLE part_a;
FETCH groups;
ROLLBACK TO s;
FETCH others \gset
ROLLBACK;
-- a trigger of the command itself sees what is left, though its snapshot is older
BEGIN;
CREATE FUNCTION pg_temp.left_over() RETURNS trigger LANGUAGE plpgsql STABLE AS $$
DECLARE n int;
BEGIN
	EXECUTE 'SELECT count(*) FROM part WHERE doc ->> ''town'' = ''t1'' AND note IS NOT NULL' INTO n;
	RAISE WARNING '% rows', n;
	RETURN NULL;
END $$;
CREATE TRIGGER left_over AFTER TRUNCATE ON part_a EXECUTE FUNCTION pg_temp.left_over();
TRUNCATE part_a;
SET indextable.planner = off;
TRUNCATE part_a;
ROLLBACK;
SET indextable.planner = off;
-- own writes, at all levels of isolation, and after a rollback to a savepoint
BEGIN ISOLATION LEVEL REPEATABLE READ;
UPDATE plain SET doc = jsonb_set(doc, '{town}', '"t1"') WHERE id IN (2, 3);
DELETE FROM part WHERE id = 1;
INSERT INTO part (id, doc) VALUES (1, '{"town": "t1", "name": "again"}');
SAVEPOINT s;
DELETE FROM plain WHERE doc ->> 'town' = 't1';
ROLLBACK TO s;
SELECT d AS difference FROM (VALUES ('only fact_t1', $$SELECT id FROM fact WHERE doc ->> 'town' = 't1'$$), ('fact_t1', $$SELECT * FROM fact WHERE doc ->> 'town' = 't1'$$)) q (scans, query), pg_temp.both(query, scans) d;
SET indextable.planner = force;
SELECT pg_temp.explain($$SELECT * FROM plain WHERE doc ->> 'town' = 't1'$$, 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF') AS scan;
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO plain VALUES (1001, '{"town": "t1"}');
SELECT d AS difference FROM (VALUES ($$SELECT id FROM fact WHERE doc ->> 'town' = 't1'$$), ($$SELECT id FROM fact WHERE doc ->> 'town' = 't1' AND doc ->> 'name' = 'n1'$$)) q (query), pg_temp.both(query) d;
ROLLBACK;

-- ---- definitions: cached plans follow each change
CREATE TABLE f (id int PRIMARY KEY, doc jsonb NOT NULL, extra int);
INSERT INTO f SELECT i, jsonb_build_object('k', 'k' || i % 5, 'v', i, 'live', i % 2 = 0, 's', CASE WHEN i % 3 = 0 THEN 's' || i % 4 END) FROM generate_series(1, 50) i;
SET plan_cache_mode = force_generic_plan;
SET indextable.planner = force;
PREPARE entries AS SELECT id FROM f WHERE doc ->> 'k' = $1;
PREPARE rows AS SELECT id, extra::text FROM f WHERE doc ->> 'k' = $1;
-- state: the scan of each, and whether the answers are right
CREATE FUNCTION pg_temp.state() RETURNS TABLE (query text, scan text, is_right boolean) LANGUAGE plpgsql AS $$
DECLARE plan jsonb; expected bigint; n bigint;
BEGIN
	SET LOCAL indextable.planner = off;
	EXECUTE 'SELECT sum(id * id) FROM f WHERE doc ->> ''k'' || '''' = ''k1''' INTO expected;
	SET LOCAL indextable.planner = force;
	FOREACH query IN ARRAY '{entries,rows}'::text[] LOOP
		EXECUTE format('EXPLAIN (FORMAT json) EXECUTE %s (''k1'')', query) INTO plan;
		scan := pg_temp.scans(plan);
		n := 0;
		DECLARE r record;
		BEGIN
			FOR r IN EXECUTE format('EXECUTE %s (''k1'')', query) LOOP n := n + r.id * r.id; END LOOP;
		END;
		is_right := n IS NOT DISTINCT FROM coalesce(expected, 0);
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM pg_temp.state();
SELECT indextable.create('f_k', 'f', '{k}') \gset
SELECT * FROM pg_temp.state();
SELECT indextable.alter('f_k', maintenance => 'async') \gset
SELECT * FROM pg_temp.state();
SELECT indextable.alter('f_k', maintenance => 'transactional') \gset
SELECT * FROM pg_temp.state();
ALTER TABLE f_k RENAME TO f_renamed;
SELECT * FROM pg_temp.state();
SELECT indextable.alter('f_renamed', filter => $$(doc ->> 'live')::boolean$$) \gset
SELECT * FROM pg_temp.state();
SELECT indextable.alter('f_renamed', filter => '') \gset
SELECT * FROM pg_temp.state();
CALL indextable.rebuild('f_renamed');
ALTER TABLE f ADD COLUMN later text DEFAULT 'later';
ALTER TABLE f ALTER COLUMN extra TYPE bigint;
SELECT * FROM pg_temp.state();
BEGIN;
DELETE FROM f WHERE id = 1;
TRUNCATE f;
INSERT INTO f VALUES (5, '{"k": "k1"}'), (6, '{"k": "k2"}');
SELECT * FROM pg_temp.state();
ROLLBACK;
SELECT * FROM pg_temp.state();
SELECT indextable.drop('f_renamed') \gset
SELECT * FROM pg_temp.state();
RESET plan_cache_mode;
SET indextable.planner = off;
DEALLOCATE ALL;

-- ---- filters: served if the conditions imply them
SELECT indextable.create('f_live', 'f', '{k}', filter => $$(doc ->> 'live')::boolean$$), indextable.create('f_small', 'f', '{k}', include => '{v::int}', filter => $$(doc ->> 'v')::int < 20 AND doc ? 'live'$$),
	indextable.create('f_id', 'f', '{s}', filter => 'id > 10') \gset
SELECT d AS difference FROM (VALUES
	('native', NULL, $$SELECT id FROM f WHERE doc ->> 'k' = 'k1'$$),
	('only f_live', NULL, $$SELECT id FROM f WHERE doc ->> 'k' = 'k1' AND (doc ->> 'live')::boolean$$),
	('native', NULL, $$SELECT id FROM f WHERE doc ->> 'k' = 'k1' AND NOT (doc ->> 'live')::boolean$$),
	('only f_live', NULL, $$SELECT id FROM f WHERE doc ->> 'k' = 'k1' AND ((doc ->> 'live')::boolean OR id = 1)$$),
	('native', NULL, $$SELECT id FROM f WHERE doc ->> 'k' = 'k1' AND (doc ->> 'v')::int < 15$$),
	('only f_small', NULL, $$SELECT id FROM f WHERE doc ->> 'k' = 'k1' AND (doc ->> 'v')::int < 15 AND doc ? 'live'$$),
	('native', NULL, $$SELECT id FROM f WHERE doc ->> 'k' = 'k1' AND (doc ->> 'v')::int < 25 AND doc ? 'live'$$),
	('only f_id', NULL, $$SELECT id FROM f WHERE doc ->> 's' = 's1' AND id > 10$$),
	('only f_id', NULL, $$SELECT id FROM f WHERE doc ->> 's' = 's1' AND id BETWEEN 11 AND 30$$),
	('native', NULL, $$SELECT id FROM f WHERE doc ->> 's' = 's1' AND id >= 10$$),
	('native', NULL, $$SELECT id FROM f WHERE doc ->> 's' = 's1' AND id = ANY ('{5,15}')$$),
	('only f_id', NULL, $$SELECT id FROM f WHERE doc ->> 's' = 's1' AND id = ANY ('{25,15,27}')$$),
	(NULL, '5', $$SELECT id FROM f WHERE doc ->> 's' = 's1' AND id > $1$$),
	(NULL, '15', $$SELECT id FROM f WHERE doc ->> 's' = 's1' AND id > $1$$),
	(NULL, '5', $$SELECT id FROM f WHERE doc ->> 's' = 's1' AND id > greatest($1, 10)$$),
	('native', NULL, $$SELECT n, id FROM other LEFT JOIN f ON doc ->> 's' = 's1' WHERE id > 10 OR id IS NULL$$),
	(NULL, NULL, $$SELECT n, id FROM other LEFT JOIN f ON doc ->> 's' = 's1' AND id > 10$$),
	(NULL, NULL, $$SELECT n, id FROM other LEFT JOIN f ON doc ->> 's' = 's1' AND id = n + 10$$),
	('native', NULL, $$SELECT count(*) FROM f$$),
	(NULL, NULL, $$SELECT count(*) FROM f WHERE id > 10 AND doc ->> 's' IS NOT NULL$$)
) q (scans, args, query), pg_temp.differences(query, scans, args) d;
SELECT indextable.drop('f_live'), indextable.drop('f_small'), indextable.drop('f_id') \gset

-- ---- constraints: they say what is never NULL only if all rows comply
CREATE TABLE c (id int, doc jsonb, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE c_1 PARTITION OF c FOR VALUES FROM (0) TO (10);
CREATE TABLE c_2 PARTITION OF c FOR VALUES FROM (10) TO (20);
INSERT INTO c SELECT i, jsonb_build_object('a', 'a' || i % 3, 'b', 'b' || i % 4) FROM generate_series(1, 18) i;
SELECT indextable.create('c_ab', 'c', '{a, b}', sparse => true), indextable.create('c_tags', 'c', '{tags[*]}') \gset
-- a partition by its name, with the columns of the root
SELECT pg_temp.differences($$SELECT id FROM c_1 WHERE doc ->> 'a' = 'a1' AND doc ->> 'b' > 'b1'$$, 'native') AS difference;
-- nothing: a row without b makes the index table incomplete
INSERT INTO c VALUES (19, '{"a": "a1", "tags": {"x": 1}}');
-- settled: waits until no transaction runs that has begun before; then all snapshots see the constraint
CREATE PROCEDURE pg_temp.settled() LANGUAGE plpgsql AS $$
DECLARE before xid8 := pg_snapshot_xmax(pg_current_snapshot());
BEGIN
	WHILE pg_snapshot_xmin(pg_current_snapshot()) < before LOOP PERFORM pg_sleep(0.01); END LOOP;
END $$;
CREATE FUNCTION pg_temp.constrained(expected text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT pg_temp.differences('SELECT id FROM c WHERE doc ->> ''a'' = ''a1''', expected)
$$;
SELECT pg_temp.constrained('native') AS difference;
ALTER TABLE c_1 ADD CONSTRAINT b CHECK (doc ->> 'b' IS NOT NULL);
SELECT pg_temp.constrained('native') AS difference;
ALTER TABLE c_1 DROP CONSTRAINT b;
ALTER TABLE c ADD CONSTRAINT b CHECK (doc ->> 'b' IS NOT NULL) NOT VALID;
SELECT pg_temp.constrained('native') AS difference;
DELETE FROM c WHERE id = 19;
ALTER TABLE c VALIDATE CONSTRAINT b;
CALL pg_temp.settled();
SELECT pg_temp.constrained('only c_ab') AS difference;
ALTER TABLE c DROP CONSTRAINT b;
SELECT pg_temp.constrained('native') AS difference;
ALTER TABLE c ADD CHECK (doc ->> 'b' <> '');
SELECT pg_temp.constrained('native') AS difference;
SELECT pg_temp.differences($$SELECT id FROM c WHERE doc -> 'tags' ? 'x'$$, 'native') AS difference;
INSERT INTO c VALUES (0, '{"tags": ["x", "y"], "b": "b"}');
ALTER TABLE c ADD CONSTRAINT t CHECK (jsonb_typeof(doc -> 'tags') = 'array') NOT VALID;
SELECT pg_temp.differences($$SELECT id FROM c WHERE doc -> 'tags' ? 'x'$$, 'native') AS difference;
ALTER TABLE c VALIDATE CONSTRAINT t;
CALL pg_temp.settled();
SELECT pg_temp.differences($$SELECT id FROM c WHERE doc -> 'tags' ? 'x'$$, 'only c_tags') AS difference;
CREATE TABLE c_plain (id int PRIMARY KEY, doc jsonb);
INSERT INTO c_plain VALUES (1, '{"a": "a1"}'), (2, '{"a": "a1", "b": "b1"}');
SELECT indextable.create('cp_ab', 'c_plain', '{a, b}', sparse => true) \gset
SELECT pg_temp.differences($$SELECT id FROM c_plain WHERE doc ->> 'a' = 'a1'$$, 'native') AS difference;
UPDATE c_plain SET doc = doc || '{"b": "b2"}';
ALTER TABLE c_plain ADD CHECK (doc ->> 'b' IS NOT NULL) NO INHERIT;
SELECT pg_temp.differences($$SELECT id FROM c_plain WHERE doc ->> 'a' = 'a1'$$) AS difference;

-- ---- what is skipped, unique, and partitioned
CREATE TABLE odd (id int PRIMARY KEY, doc jsonb);
INSERT INTO odd SELECT i, jsonb_build_object('n', CASE WHEN i % 10 = 9 THEN '"x"' ELSE to_jsonb(i % 6) END, 'k', 'k' || i % 4, 'u', 'u' || i, 'o', CASE WHEN i % 5 = 0 THEN 'null'::jsonb ELSE to_jsonb(i % 3) END) FROM generate_series(1, 40) i;
SELECT indextable.create('odd_kn', 'odd', '{k, n::int}', on_mismatch => 'skip'), indextable.create('odd_u', 'odd', '{u}', is_unique => true, include => '{k}'), indextable.create('odd_o', 'odd', '{o::jsonb}') \gset
SELECT indextable.create('odd_hash', 'odd', '{k, u}', partitions => 3), indextable.create('odd_range', 'odd', '{u, k}', include => '{o::jsonb}', partition_by => 'RANGE (u)', partition_bounds => '{"FROM (''u1'') TO (''u2'')", "FROM (''u2'') TO (''u3'')"}') \gset
ANALYZE odd, odd_hash, odd_range;
SELECT d AS difference FROM (VALUES
	($$SELECT id FROM odd WHERE doc ->> 'k' = 'k1'$$), ($$SELECT id, doc ->> 'k', doc ->> 'u' FROM odd WHERE doc ->> 'k' = 'k1' ORDER BY doc ->> 'u'$$), ($$SELECT doc ->> 'k', doc ->> 'u' FROM odd WHERE doc ->> 'k' > 'k0' AND doc ->> 'u' IS NOT NULL ORDER BY 1, 2$$),
	($$SELECT doc ->> 'k', doc ->> 'u' FROM odd WHERE doc ->> 'k' > 'k0' AND doc ->> 'u' IS NOT NULL ORDER BY 1 DESC, 2 DESC LIMIT 7$$), ($$SELECT doc ->> 'u' FROM odd WHERE doc ->> 'u' > 'u1' ORDER BY 1$$), ($$SELECT doc ->> 'u' FROM odd WHERE doc ->> 'u' > 'u1' ORDER BY 1 DESC LIMIT 20$$),
	($$SELECT doc ->> 'u', doc ->> 'k', id FROM odd WHERE doc ->> 'u' IN ('u3', 'u1', 'u25', 'x') ORDER BY 1, id$$), ($$SELECT id FROM odd WHERE doc ->> 'u' = 'u7'$$), ($$SELECT doc ->> 'k' FROM odd WHERE doc ->> 'u' IN ('u7', 'u9') ORDER BY doc ->> 'u' DESC$$),
	($$SELECT min(doc ->> 'u'), max(doc ->> 'u') FROM odd$$), ($$SELECT id, doc -> 'o' FROM odd WHERE doc -> 'o' IS NOT NULL ORDER BY id$$), ($$SELECT id FROM odd WHERE doc -> 'o' = 'null' ORDER BY id$$), ($$SELECT id, doc -> 'o' FROM odd WHERE doc ->> 'u' > 'u2' ORDER BY doc ->> 'u'$$),
	($$SELECT count(*) FROM odd WHERE doc -> 'o' >= '1'$$), ($$SELECT doc -> 'o', count(*) FROM odd WHERE doc ->> 'u' > 'u2' GROUP BY 1 ORDER BY 1$$), ($$SELECT id FROM odd WHERE doc ->> 'k' IN ('k3', 'k1') AND doc ->> 'u' > 'u1' ORDER BY doc ->> 'k' DESC, doc ->> 'u' DESC$$)
) q (query), pg_temp.differences(query, ordered => query ~ 'ORDER BY') d;

-- a row comes once, however many elements it has
CREATE TABLE many (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO many SELECT i, jsonb_build_object('a', 'a' || i % 2, 'tags', jsonb_build_array('x', 'y' || i)) FROM generate_series(1, 6) i;
SELECT indextable.create('many_tags', 'many', '{tags[*]}'), indextable.create('many_a', 'many', '{a, tags[*]}') \gset
SELECT d AS difference FROM (VALUES ('native', $$SELECT id FROM many$$), ('native', $$SELECT count(*) FROM many WHERE doc ->> 'a' = 'a1'$$), ('only many_tags', $$SELECT id FROM many WHERE doc -> 'tags' @> '["x"]'$$), ('only many_a', $$SELECT id FROM many WHERE doc ->> 'a' = 'a1' AND doc -> 'tags' @> '["x"]'$$),
	(NULL, $$SELECT id FROM many WHERE doc -> 'tags' @> '["x", "y3"]'$$), (NULL, $$SELECT id FROM many WHERE doc ->> 'a' IN ('a0', 'a1') AND doc @> '{"tags": ["x"]}'$$)) q (scans, query), pg_temp.differences(query, scans) d;
-- an expression that fails is not evaluated for partitions that a native plan leaves out
CREATE TABLE cast_part (id int, p int, doc jsonb, PRIMARY KEY (id, p)) PARTITION BY LIST (p);
CREATE TABLE cast_part_1 PARTITION OF cast_part FOR VALUES IN (1, 2, 3, 4, 5, 6, 7, 8);
CREATE TABLE cast_part_2 PARTITION OF cast_part FOR VALUES IN (11);
INSERT INTO cast_part SELECT i, 1 + i % 8, jsonb_build_object('town', 't' || i % 3, 'n', i, 'kind', 'number') FROM generate_series(1, 30) i;
INSERT INTO cast_part SELECT i, 11, jsonb_build_object('town', 't' || i % 3, 'n', 'x', 'kind', 'text') FROM generate_series(31, 60) i;
SELECT indextable.create('cast_town', 'cast_part', '{town}') \gset
CREATE TABLE cast_other (town text, n int);
INSERT INTO cast_other VALUES ('t1', 1), ('t2', 9);
ANALYZE cast_part, cast_other;
SELECT pg_temp.differences($$SELECT id FROM cast_part WHERE doc ->> 'town' = 't1' AND (doc ->> 'n')::int > 5 AND p IN (1, 2, 3, 4, 5, 6, 7, 8)$$, 'cast_town') AS difference;
-- a condition of a join that fails is evaluated after those on the table alone, as natively
SET enable_mergejoin = off;
SELECT count(*) FROM cast_other o JOIN cast_part f ON doc ->> 'town' = o.town AND (doc ->> 'n')::int > o.n WHERE doc - 'a' - 'b' - 'c' - 'd' - 'e' - 'f' @> '{"kind": "number"}';
SET indextable.planner = force;
SELECT pg_temp.explain($$SELECT count(*) FROM cast_other o JOIN cast_part f ON doc ->> 'town' = o.town AND (doc ->> 'n')::int > o.n WHERE doc - 'a' - 'b' - 'c' - 'd' - 'e' - 'f' @> '{"kind": "number"}'$$) AS scan;
SELECT count(*) FROM cast_other o JOIN cast_part f ON doc ->> 'town' = o.town AND (doc ->> 'n')::int > o.n WHERE doc - 'a' - 'b' - 'c' - 'd' - 'e' - 'f' @> '{"kind": "number"}';
SET indextable.planner = off;
RESET enable_mergejoin;
-- what is volatile is evaluated for each row
SET indextable.planner = force;
SELECT pg_temp.explain($$SELECT id FROM plain WHERE doc ->> 'town' = 't' || random()::int$$) AS scan;
SELECT pg_temp.explain($$SELECT id FROM plain WHERE doc ->> 'town' = 't' || now()::text$$) AS scan;
SET indextable.planner = off;

DROP SCHEMA planner_exact CASCADE;
