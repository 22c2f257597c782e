-- Statements that write or lock rows of a partitioned fact table, which are planned when they start, for the partitions of the rows that an
-- index table finds: they do what they do natively, whatever else is about them, and only lock partitions that have rows of theirs.
SET client_min_messages = warning;
CREATE SCHEMA planner_writes;
SET search_path = planner_writes;
CREATE ROLE partition_writer;
GRANT USAGE ON SCHEMA planner_writes TO partition_writer;

-- Partitions have their columns in other orders, and partitions of their own.
CREATE TABLE place (id int, note text, r int, doc jsonb NOT NULL, PRIMARY KEY (id, r)) PARTITION BY RANGE (r);
CREATE TABLE place_a PARTITION OF place FOR VALUES FROM (0) TO (100);
CREATE TABLE place_b (doc jsonb NOT NULL, gone int, r int NOT NULL, id int NOT NULL, note text);
ALTER TABLE place_b DROP COLUMN gone;
ALTER TABLE place ATTACH PARTITION place_b FOR VALUES FROM (100) TO (200);
CREATE TABLE place_c PARTITION OF place FOR VALUES FROM (200) TO (300) PARTITION BY HASH (id);
SELECT format('CREATE TABLE place_c%s PARTITION OF place_c FOR VALUES WITH (MODULUS 3, REMAINDER %s)', i, i) FROM generate_series(0, 2) i \gexec
CREATE TABLE place_rest PARTITION OF place DEFAULT;
INSERT INTO place SELECT i, 'note ' || i, i * 7 % 400, jsonb_build_object('town', 't' || i % 40, 'n', i % 5, 'owner', CASE WHEN i % 2 = 0 THEN 'partition_writer' ELSE 'other' END) FROM generate_series(1, 200) i;
SELECT indextable.create('by_town', 'place', '{town, n::int}', include => '{owner}');
ANALYZE place, by_town;
CREATE TABLE joined (id int PRIMARY KEY, town text);
INSERT INTO joined VALUES (1, 't1');
CREATE TABLE seen (line text);
CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO seen VALUES (concat_ws(' ', tg_table_name, tg_when, tg_op, old.id, old.r, new.r));
	RETURN CASE WHEN tg_op = 'DELETE' THEN old ELSE new END;
END $$;
CREATE TRIGGER see_a BEFORE UPDATE OR DELETE ON place_a FOR EACH ROW EXECUTE FUNCTION see();
CREATE TRIGGER see_c AFTER INSERT OR UPDATE OR DELETE ON place_c1 FOR EACH ROW EXECUTE FUNCTION see();
CREATE VIEW town_1 AS SELECT id, r, note, doc FROM place WHERE doc ->> 'town' = 't1' WITH CHECK OPTION;
CREATE VIEW barrier WITH (security_barrier) AS SELECT id, r, note, doc FROM place WHERE doc ->> 'town' IN ('t1', 't2');
CREATE FUNCTION settled(int) RETURNS boolean LANGUAGE plpgsql STABLE AS 'BEGIN RETURN $1 % 3 > 0; END';
GRANT SELECT, UPDATE, DELETE ON place, town_1, barrier TO partition_writer;
GRANT SELECT, INSERT ON seen TO partition_writer;

-- one_way: what a statement returns, what it leaves, and what its triggers have seen
CREATE FUNCTION one_way(statement text, way text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r record; answer text[] = '{}'; rows text; lines text;
BEGIN
	PERFORM set_config('indextable.planner', way, true);
	BEGIN
		IF statement ~ 'RETURNING|^SELECT' THEN
			FOR r IN EXECUTE statement LOOP answer := answer || r::text; END LOOP;
			IF statement !~ 'ORDER' THEN SELECT array_agg(a ORDER BY a) INTO answer FROM unnest(answer) a; END IF;
		ELSE
			EXECUTE statement;
		END IF;
		SET LOCAL indextable.planner = off;
		SELECT string_agg(p::text || tableoid::regclass, ' ' ORDER BY id, p::text) INTO rows FROM place p;
		SELECT string_agg(line, ', ' ORDER BY line) INTO lines FROM seen;
		RAISE EXCEPTION USING errcode = 'TEST0', message = concat_ws(' | ', array_to_string(answer, ' '), lines, md5(rows));
	EXCEPTION WHEN OTHERS THEN RETURN concat_ws(' ', nullif(sqlstate, 'TEST0'), sqlerrm);
	END;
END $$;
-- served: whether a statement is planned late, or why it is not, what it does natively, and how it differs
CREATE FUNCTION served(statement text) RETURNS TABLE (late text, natively text, difference text) LANGUAGE plpgsql AS $$
DECLARE way text; answer text; whole text := one_way(statement, 'off');
BEGIN
	PERFORM set_config('indextable.planner', 'force', true);
	SELECT CASE WHEN count(*) FILTER (WHERE used) > 0 THEN 'yes' ELSE min(reason) FILTER (WHERE index_table IS NULL) END INTO late FROM indextable.explain(statement);
	FOREACH way IN ARRAY '{force,fallback,on}'::text[] LOOP
		answer := one_way(statement, way);
		IF answer IS DISTINCT FROM whole THEN difference := concat_ws(' | ', difference, way || ': ' || answer || ' instead of ' || whole); END IF;
	END LOOP;
	natively := regexp_replace(left(whole, 130), ' \| [0-9a-f]{32}$', '');
	PERFORM set_config('indextable.planner', 'off', true);
	RETURN NEXT;
END $$;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA planner_writes TO partition_writer;

\pset format unaligned
\pset tuples_only on
\pset fieldsep ' # '
CREATE TABLE statement (s text);
INSERT INTO statement VALUES
	('UPDATE place SET note = ''x'' WHERE doc ->> ''town'' = ''t1'' RETURNING id, r, note, tableoid::regclass'),
	('UPDATE place AS p SET doc = doc || ''{"town": "t2"}'' WHERE p.doc ->> ''town'' = ''t1'' AND p.id > 40 RETURNING p'),
	('UPDATE place SET r = 399 - r WHERE doc ->> ''town'' = ''t3'' RETURNING id, r, tableoid::regclass'),
	('UPDATE place SET id = id + 1000 WHERE doc ->> ''town'' = ''t4'' AND (doc ->> ''n'')::int >= 2 RETURNING id'),
	('UPDATE place SET id = 1 WHERE doc ->> ''town'' = ''t4'''),
	('UPDATE place SET doc = NULL WHERE doc ->> ''town'' = ''t4'''),
	('UPDATE place SET note = 1 / (id - 43) WHERE doc ->> ''town'' = ''t3'''),
	('DELETE FROM place WHERE doc ->> ''town'' = ''t5'' RETURNING id, doc'),
	('DELETE FROM place WHERE doc ->> ''town'' IN (''t1'', ''t2'', ''none'') AND note < ''note 5'' RETURNING id'),
	('DELETE FROM place WHERE doc ->> ''town'' = ''none'' RETURNING id'),
	('DELETE FROM place WHERE doc ->> ''town'' = NULL RETURNING id'),
	('DELETE FROM place WHERE doc ->> ''town'' = ''t5'' AND settled(id) RETURNING id'),
	('SELECT id, note FROM place WHERE doc ->> ''town'' = ''t6'' ORDER BY id FOR UPDATE'),
	('SELECT id, tableoid::regclass FROM place WHERE doc ->> ''town'' = ''t6'' ORDER BY id DESC LIMIT 2 FOR SHARE SKIP LOCKED'),
	('SELECT doc ->> ''owner'' FROM place WHERE doc ->> ''town'' = ''t7'' ORDER BY (doc ->> ''n'')::int, id OFFSET 1 FOR NO KEY UPDATE NOWAIT'),
	('UPDATE town_1 SET note = ''v'' WHERE id > 10 RETURNING id, r'),
	('UPDATE town_1 SET doc = ''{"town": "t2"}'' WHERE id > 10'),
	('DELETE FROM barrier WHERE id > 10 AND doc ->> ''town'' = ''t1'' RETURNING id, r'),
	('UPDATE barrier SET note = upper(note) RETURNING note'),
	('UPDATE place SET note = town FROM joined j WHERE doc ->> ''town'' = ''t1'' AND j.id = place.id RETURNING j.id, place.id, note'),
	('UPDATE place SET r = 399 - place.r FROM place q WHERE place.doc ->> ''town'' = ''t3'' AND q.doc ->> ''town'' = ''t3'' AND q.id > place.id RETURNING place.id'),
	('DELETE FROM place USING joined j LEFT JOIN joined k USING (town) WHERE doc ->> ''town'' = j.town AND doc ->> ''town'' = ''t1'' RETURNING place.id, k.id'),
	('DELETE FROM place WHERE doc ->> ''town'' = ''t1'' AND id NOT IN (SELECT id FROM joined) RETURNING id, (SELECT count(*) FROM place q WHERE q.doc ->> ''town'' = ''t1'')'),
	('UPDATE place SET note = ''x'' WHERE doc ->> ''town'' = ''t1'' AND EXISTS (SELECT FROM place q WHERE q.id = place.id + 40 AND q.doc ->> ''town'' = place.doc ->> ''town'') RETURNING id'),
	('WITH j AS (SELECT ''t1'' AS t) UPDATE place SET note = ''x'' WHERE doc ->> ''town'' = ''t1'' RETURNING (SELECT t FROM j)'),
	('WITH j AS MATERIALIZED (SELECT id, town FROM joined) DELETE FROM place USING j WHERE doc ->> ''town'' = ''t1'' AND j.id < place.id RETURNING place.id, town'),
	('SELECT id FROM place JOIN joined j USING (id) WHERE doc ->> ''town'' = ''t1'' ORDER BY id FOR UPDATE OF place'),
	('SELECT p.id, j.town FROM joined j RIGHT JOIN place p USING (id) WHERE doc ->> ''town'' = ''t1'' ORDER BY 1 FOR UPDATE OF p'),
	('SELECT p.id, q.id FROM joined j, place p JOIN place q ON q.id < p.id AND q.doc ->> ''town'' = ''t2'' WHERE p.doc ->> ''town'' = ''t2'' ORDER BY 1, 2 FOR SHARE'),
	('SELECT p.id, q.id FROM place p JOIN place q ON q.id = p.id + 40 WHERE q.doc ->> ''town'' = ''t1'' ORDER BY 1 FOR UPDATE'),
	('SELECT p.id, j.town FROM joined j JOIN place p USING (id) WHERE doc ->> ''town'' = ''t1'' ORDER BY 1 LIMIT 3 FOR UPDATE OF j FOR SHARE OF p SKIP LOCKED'),
	('SELECT p.id, j.town FROM place p LEFT JOIN joined j USING (id) WHERE doc ->> ''town'' = ''t1'' AND j.town = ''t1'' ORDER BY 1 FOR UPDATE'),
	-- These are not planned late.
	('UPDATE place SET note = ''x'' WHERE doc ->> ''town'' = ''t1'' AND random() >= 0 RETURNING id'),
	('UPDATE place SET note = ''x'' WHERE doc ->> ''town'' = (SELECT town FROM joined) RETURNING id'),
	('UPDATE place SET note = ''x'' FROM joined j WHERE doc ->> ''town'' = j.town RETURNING j.id'),
	('UPDATE place SET note = ''x'' FROM joined j LEFT JOIN place p USING (id) WHERE p.doc ->> ''town'' = ''t1'' AND place.id = p.id RETURNING j.id'),
	('WITH gone AS (DELETE FROM joined RETURNING id) UPDATE place SET note = ''x'' FROM gone WHERE doc ->> ''town'' = ''t1'' RETURNING gone.id'),
	('MERGE INTO place USING joined j ON doc ->> ''town'' = j.town WHEN MATCHED THEN DELETE'),
	('DELETE FROM place'),
	('DELETE FROM place WHERE note = ''note 7'' RETURNING id'),
	('DELETE FROM place WHERE r = 7 AND doc ->> ''town'' = ''t1'' RETURNING id'),
	('DELETE FROM ONLY place WHERE doc ->> ''town'' = ''t1'' RETURNING id'),
	('SELECT id FROM (SELECT id FROM place WHERE doc ->> ''town'' = ''t1'' FOR UPDATE) q ORDER BY id'),
	('SELECT id FROM town_1 ORDER BY id FOR UPDATE');
SELECT s, late, natively, difference FROM statement, served(s);
BEGIN;
SET LOCAL indextable.planner = force;
SELECT FROM place p LEFT JOIN joined j USING (id) WHERE doc ->> 'town' = 't1' FOR UPDATE;
ROLLBACK;
-- in a read-only transaction, and with what earlier statements of a transaction have written
BEGIN READ ONLY;
SET LOCAL indextable.planner = force;
SELECT id FROM place WHERE doc ->> 'town' = 't1' FOR UPDATE;
ROLLBACK;
BEGIN READ ONLY;
SET LOCAL indextable.planner = force;
DELETE FROM place WHERE doc ->> 'town' = 't1';
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
UPDATE place SET r = 399 - r, note = 'moved' WHERE id < 50;
DELETE FROM place WHERE id = 41;
INSERT INTO place VALUES (41, 'again', 41 * 7 % 400, '{"town": "t1", "n": 1}');
SELECT difference FROM statement, served(s) WHERE difference IS NOT NULL;
COMMIT;

-- Rights: conditions are not evaluated for whom a right is lacking. Rows are hidden by policies, which may be changed.
GRANT SELECT ON statement TO partition_writer;
REVOKE UPDATE, SELECT ON place FROM partition_writer;
GRANT SELECT (id, r, doc) ON place TO partition_writer;
CREATE FUNCTION tell(text) RETURNS boolean LANGUAGE plpgsql STABLE COST 0.0001 AS $$
BEGIN
	PERFORM set_config('t.told', current_setting('t.told', true) || ' ' || $1, false);
	RETURN true;
END $$;
SET t.told = 'nothing';
SET ROLE partition_writer;
SET indextable.planner = force;
UPDATE place SET note = 'x' WHERE doc ->> 'town' = 't1' AND tell(doc ->> 'owner');
SELECT id FROM place WHERE doc ->> 'town' = 't1' AND tell(doc ->> 'owner') FOR UPDATE;
DELETE FROM place WHERE doc ->> 'town' = 't1' AND note > '' AND tell(note);
SELECT current_setting('t.told') ~ 'other' AS told;
UPDATE town_1 SET note = 'by the view' WHERE id = 1 RETURNING note;
RESET ROLE;
RESET indextable.planner;
GRANT SELECT, UPDATE ON place TO partition_writer;
ALTER TABLE place ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON place USING (doc ->> 'owner' = current_user);
PREPARE mine AS UPDATE place SET note = 'mine' WHERE doc ->> 'town' = 't2' AND tell(doc ->> 'owner') RETURNING id;
SET plan_cache_mode = force_generic_plan;
SET ROLE partition_writer;
SELECT reason FROM indextable.explain($$DELETE FROM place WHERE doc ->> 'town' = 't2' AND id < 100$$);
SET indextable.planner = force;
UPDATE place SET note = 'mine' WHERE doc ->> 'town' = 't1' AND tell(doc ->> 'owner') RETURNING id, doc ->> 'owner';
DELETE FROM place WHERE doc ->> 'town' = 't2' AND id < 100 AND tell(doc ->> 'owner') RETURNING id;
SELECT count(*) FROM (SELECT FROM place WHERE doc ->> 'town' IN ('t2', 't3')) q;
SELECT id FROM place WHERE doc ->> 'town' = 't2' ORDER BY id FOR UPDATE;
UPDATE place SET doc = doc || '{"owner": "other"}' WHERE doc ->> 'town' = 't2';
EXECUTE mine;
SELECT current_setting('t.told') ~ 'other' AS told;
RESET ROLE;
SELECT s, late, difference FROM statement, served(s) WHERE difference IS NOT NULL;
EXECUTE mine;
DROP POLICY own ON place;
ALTER TABLE place DISABLE ROW LEVEL SECURITY;

-- Plans are kept while rows move, and partitions come and go. Only partitions that have rows are locked.
PREPARE hit (text) AS UPDATE place SET note = 'hit' WHERE doc ->> 'town' = $1 RETURNING id, tableoid::regclass;
PREPARE locked (text) AS SELECT id, note FROM place WHERE doc ->> 'town' = $1 ORDER BY id FOR SHARE;
PREPARE away (text) AS DELETE FROM place WHERE doc ->> 'town' = $1 RETURNING id, tableoid::regclass;
EXECUTE hit ('t8');
UPDATE place SET r = 250 WHERE doc ->> 'town' = 't8' AND id < 100;
EXECUTE hit ('t8');
CREATE TABLE place_d PARTITION OF place FOR VALUES FROM (1000) TO (2000);
INSERT INTO place VALUES (1, 'new', 1001, '{"town": "t8", "n": 1}');
EXECUTE hit ('t8');
ALTER TABLE place DETACH PARTITION place_b;
EXECUTE hit ('t8');
EXECUTE locked ('t8');
ALTER TABLE place ATTACH PARTITION place_b FOR VALUES FROM (100) TO (200);
EXECUTE away ('t8');
EXECUTE away ('t8');
EXPLAIN (COSTS OFF) EXECUTE hit ('t9');
BEGIN;
EXECUTE hit ('t39');
EXECUTE locked ('t39');
SELECT relation::regclass, mode FROM pg_locks WHERE relation IN (SELECT relid FROM pg_partition_tree('place') WHERE isleaf) ORDER BY 1, 2;
ROLLBACK;
ALTER TABLE place ADD COLUMN more int DEFAULT 3;
EXECUTE hit ('t9');
DROP TABLE by_town;
EXECUTE hit ('t9');
SELECT indextable.create('by_town', 'place', '{town, n::int}', include => '{owner}', maintenance => 'async');
EXECUTE hit ('t9');
SELECT indextable.drop('by_town'), indextable.create('by_town', 'place', '{town, n::int}', include => '{owner}');
SET enable_partition_pruning = off;
SELECT reason FROM indextable.explain($$DELETE FROM place WHERE doc ->> 'town' = 't10'$$) WHERE index_table IS NULL;
RESET enable_partition_pruning;

-- A plan that is executed again and again is made for one partition, and serves those that are like it, as long as they are.
CREATE TABLE code (id int PRIMARY KEY, note text, doc jsonb NOT NULL) PARTITION BY RANGE (id);
CREATE TABLE code_1 PARTITION OF code FOR VALUES FROM (0) TO (100);
CREATE TABLE code_2 PARTITION OF code FOR VALUES FROM (100) TO (200);
CREATE TABLE code_3 (doc jsonb NOT NULL, id int NOT NULL, note text);
ALTER TABLE code ATTACH PARTITION code_3 FOR VALUES FROM (200) TO (300);
CREATE TABLE code_4 PARTITION OF code FOR VALUES FROM (300) TO (400);
INSERT INTO code SELECT i % 4 * 100 + i, 'note ' || i, jsonb_build_object('code', 'c' || i) FROM generate_series(0, 39) i;
SELECT indextable.create('by_code', 'code', '{code}') \gset
PREPARE code_update (text) AS UPDATE code SET note = note || '.' WHERE doc ->> 'code' = $1 AND note > '' RETURNING id, note, tableoid::regclass;
PREPARE code_move (text) AS UPDATE code SET id = (id + 150) % 400 WHERE doc ->> 'code' = $1 RETURNING id, note, tableoid::regclass;
PREPARE code_lock (text) AS SELECT note, id, tableoid::regclass FROM code WHERE doc ->> 'code' = $1 LIMIT 1 FOR UPDATE;
PREPARE code_delete (text) AS DELETE FROM code WHERE doc ->> 'code' = $1 RETURNING doc, note, tableoid::regclass;
CREATE FUNCTION by_turns(way text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r record; answer text := '';
BEGIN
	PERFORM set_config('indextable.planner', way, true), set_config('plan_cache_mode', 'force_generic_plan', true);
	FOR i IN 0 .. 159 LOOP
		IF i = 60 THEN ALTER TABLE code_4 ADD CONSTRAINT few CHECK (id < 400), ALTER note SET NOT NULL; END IF;
		IF i = 70 THEN ALTER TABLE code ADD more int DEFAULT 7; END IF;
		-- each statement finds no row of one code, and a row of others in each partition
		FOR r IN EXECUTE format('EXECUTE code_%s (%L)', CASE WHEN i > 120 THEN 'delete' ELSE (ARRAY['update', 'move', 'lock'])[i % 3 + 1] END, 'c' || i * 7 % 41) LOOP
			answer := answer || r::text;
		END LOOP;
	END LOOP;
	SET LOCAL indextable.planner = off;
	RAISE EXCEPTION USING errcode = 'TEST0', message = answer || (SELECT string_agg(c::text || tableoid::regclass, ' ' ORDER BY id) FROM code c);
EXCEPTION WHEN SQLSTATE 'TEST0' THEN RETURN sqlerrm;
END $$;
CREATE FUNCTION difference(natively text, otherwise text) RETURNS text LANGUAGE sql AS
	$$ SELECT 'natively ' || natively || ', but ' || otherwise WHERE natively IS DISTINCT FROM otherwise $$;
SELECT difference(by_turns('off'), by_turns('force')), length(by_turns('off')) > 3000 AS much;

-- in loops, in functions, which need no more memory from call to call, and by cursors
CREATE FUNCTION hit_one(town text) RETURNS SETOF int LANGUAGE sql AS $$ UPDATE place SET note = note || '.' WHERE doc ->> 'town' = town RETURNING id $$;
CREATE FUNCTION hits(n int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r record; hits int := 0;
BEGIN
	FOR i IN 1 .. n LOOP
		FOR r IN SELECT id, p.r FROM place p WHERE doc ->> 'town' = 't' || i % 40 FOR UPDATE LOOP hits := hits + 1; END LOOP;
		UPDATE place SET note = 'loop' WHERE doc ->> 'town' = 't' || i % 40 AND id % 2 = 0;
	END LOOP;
	RETURN hits || ' ' || (SELECT count(*) FROM place WHERE note = 'loop');
END $$;
SELECT string_agg(hit_one::text, ' ' ORDER BY hit_one) FROM hit_one('t11');
SELECT count(*) FROM generate_series(0, 39) t, hit_one('t' || t);
SELECT hits(40);
CREATE FUNCTION memory() RETURNS bigint LANGUAGE sql AS $$ SELECT sum(total_bytes) FROM pg_backend_memory_contexts $$;
SELECT max(memory) FILTER (WHERE t > 80) - max(memory) FILTER (WHERE t < 40) > 1000000 AS kept
FROM (SELECT t, hit_one('t' || t % 40), memory() FROM generate_series(0, 99) t) q;
BEGIN;
DECLARE c CURSOR FOR SELECT id, note FROM place WHERE doc ->> 'town' = 't12' ORDER BY id FOR UPDATE;
FETCH c;
UPDATE place SET note = 'current' WHERE CURRENT OF c RETURNING id, note;
DELETE FROM place WHERE CURRENT OF c;
ROLLBACK;
-- WHERE CURRENT OF, and a policy that an index table could search by
CREATE TABLE pointed (id int PRIMARY KEY, doc jsonb);
INSERT INTO pointed SELECT i, '{"k": "a"}' FROM generate_series(1, 3) i;
SELECT indextable.create('pointed_k', 'pointed', '{k}') \gset
GRANT ALL ON place, pointed TO partition_writer;
ALTER TABLE place ENABLE ROW LEVEL SECURITY;
ALTER TABLE pointed ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON place USING (doc ->> 'town' = 't12');
CREATE POLICY own ON pointed USING (doc ->> 'k' = 'a');
SET ROLE partition_writer;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM place FOR UPDATE;
FETCH c \gset
UPDATE place SET note = 'current' WHERE CURRENT OF c RETURNING id = :id AS same;
DECLARE d CURSOR FOR SELECT id FROM pointed;
FETCH d \gset
DELETE FROM pointed WHERE CURRENT OF d RETURNING id = :id AS same;
ROLLBACK;
RESET ROLE;
RESET indextable.planner;
SELECT * FROM place WHERE doc ->> 'town' = 't1' AND id = 1;
-- Primary keys of types whose operators take a pseudo-type: nothing is printed.
\getenv src PG_ABS_SRCDIR
\set ECHO none
\i :src/sql/include/planner.psql
CREATE TYPE mood AS ENUM ('m0', 'm1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7', 'm8', 'm9');
CREATE DOMAIN numbers AS int[];
CREATE FUNCTION wrong_with(type text, key text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE keyed (k %s, doc jsonb NOT NULL, n int, PRIMARY KEY (k)) PARTITION BY HASH (k)', type);
	FOR i IN 0..3 LOOP EXECUTE format('CREATE TABLE keyed_%s PARTITION OF keyed FOR VALUES WITH (MODULUS 4, REMAINDER %s)', i, i); END LOOP;
	EXECUTE format($q$INSERT INTO keyed SELECT %s, jsonb_build_object('room', 'r' || i %% 2) FROM generate_series(0, 9) i$q$, key);
	PERFORM indextable.create('keyed_by_room', 'keyed', '{room}');
	RETURN QUERY SELECT type || ': ' || d FROM (VALUES ($q$DELETE FROM keyed WHERE doc ->> 'room' = 'r1' RETURNING k$q$), ($q$UPDATE keyed SET n = 1 WHERE doc ->> 'room' = 'r0' RETURNING k$q$)) s (statement),
		pg_temp.differences(statement, NULL, NULL, 'TABLE keyed') d;
	DROP TABLE keyed;
END $$;
SELECT wrong_with(type, key) FROM (VALUES ('int[]', 'ARRAY[i]'), ('numbers', 'ARRAY[i, i]'), ('text[]', $$ARRAY[repeat('x', i)]$$), ('inet[]', $$ARRAY['10.0.0.0'::inet + i]$$),
	('int4range', 'int4range(i, 2 * i + 1)'), ('numrange', 'numrange(i, i + 0.5)'), ('daterange', $$daterange(NULL, date '2026-01-01' + i)$$), ('int4multirange', 'int4multirange(int4range(i, 20))'),
	('mood', $$('m' || i)::mood$$), ('varchar(5)', $$'v' || i$$)) t (type, key);
DROP SCHEMA planner_writes CASCADE;
DROP ROLE partition_writer;
