-- Plans that read entries give the answers of native plans also where a transaction writes the fact table: in triggers and
-- volatile functions within statements, and in cursors that these have opened.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA planner_in_step;
SET search_path = planner_in_step;
SET indextable.advice = off;
SET indextable.planner = force;

CREATE FUNCTION d(k text) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$ SELECT jsonb_build_object('k', k, 'v', k || ' row') $$;
CREATE TABLE parent (id int PRIMARY KEY, doc jsonb);
CREATE TABLE plain (id int PRIMARY KEY, parent int REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE, doc jsonb);
CREATE TABLE root (id int PRIMARY KEY, parent int REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE root_1 PARTITION OF root FOR VALUES FROM (0) TO (100);
CREATE TABLE root_2 (doc jsonb, parent int, id int NOT NULL) PARTITION BY RANGE (id);
ALTER TABLE root ATTACH PARTITION root_2 FOR VALUES FROM (100) TO (300);
CREATE TABLE root_21 PARTITION OF root_2 FOR VALUES FROM (100) TO (200);
CREATE TABLE root_22 PARTITION OF root_2 FOR VALUES FROM (200) TO (300);
-- below becomes a partition itself
CREATE TABLE above (id int PRIMARY KEY, parent int REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE below (id int PRIMARY KEY, parent int, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE below_1 PARTITION OF below FOR VALUES FROM (0) TO (100);
CREATE TABLE below_2 PARTITION OF below FOR VALUES FROM (100) TO (200);
CREATE TABLE above_2 PARTITION OF above FOR VALUES FROM (200) TO (300);
CREATE TABLE other (id int PRIMARY KEY, doc jsonb);
INSERT INTO parent SELECT i FROM generate_series(1, 9) i;
INSERT INTO plain SELECT i * 25, 1 + i % 5, d(CASE i % 3 WHEN 0 THEN 'a' ELSE 'b' || i END) FROM generate_series(0, 11) i;
INSERT INTO root SELECT * FROM plain;
SELECT indextable.create(fact || '_k', fact::regclass, '{k}', include => '{v}') FROM unnest('{plain, root, below, other}'::text[]) fact;
ALTER TABLE above ATTACH PARTITION below FOR VALUES FROM (0) TO (200);
INSERT INTO above SELECT * FROM plain;

-- rows_of(fact): those with one key, from entries alone and with all columns. look() compares the plans by one snapshot, and
-- stable_look() by that of the query that calls it.
CREATE FUNCTION rows_of(fact text) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE result text;
BEGIN
	EXECUTE format($q$SELECT concat_ws(' / ', (SELECT string_agg(concat_ws(' ', id, v), ', ' ORDER BY id)
			FROM (SELECT id, doc ->> 'v' AS v FROM %1$I WHERE doc ->> 'k' = 'a') q),
		(SELECT string_agg(concat_ws(' ', id, doc), ', ' ORDER BY id) FROM %1$I WHERE doc ->> 'k' = 'a'))$q$, fact) INTO result;
	RETURN result;
END $$;
CREATE FUNCTION native_rows(fact text) RETURNS text LANGUAGE sql STABLE SET indextable.planner = off AS $$ SELECT rows_of(fact) $$;
CREATE FUNCTION forced_rows(fact text) RETURNS text LANGUAGE sql STABLE SET indextable.planner = force AS $$ SELECT rows_of(fact) $$;
CREATE TABLE facts (fact text);
INSERT INTO facts VALUES ('plain'), ('root'), ('below'), ('other');
CREATE FUNCTION stable_look(place text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE r record;
BEGIN
	FOR r IN SELECT fact, native, forced FROM facts, native_rows(fact) native, forced_rows(fact) forced WHERE native IS DISTINCT FROM forced ORDER BY fact LOOP
		RAISE WARNING '%: % has %, and by its index table %', place, r.fact, r.native, r.forced;
	END LOOP;
	RETURN true;
END $$;
CREATE FUNCTION look(place text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE r record;
BEGIN
	FOR r IN SELECT fact, native, forced FROM facts, native_rows(fact) native, forced_rows(fact) forced WHERE native IS DISTINCT FROM forced ORDER BY fact LOOP
		RAISE WARNING '%: % has %, and by its index table %', place, r.fact, r.native, r.forced;
	END LOOP;
	RETURN true;
END $$;
-- what the statements do; %I is the table that they name, some of which are partitions or above fact tables
CREATE FUNCTION run(statements text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE s text; t text;
BEGIN
	FOREACH t IN ARRAY '{plain, root, root_1, root_2, root_21, above, below, below_2}'::text[] LOOP
		BEGIN
			FOREACH s IN ARRAY statements LOOP
				EXECUTE format(s, t);
				PERFORM look('after ' || s || ' on ' || t);
			END LOOP;
			RAISE SQLSTATE 'UNDO1';
		EXCEPTION WHEN SQLSTATE 'UNDO1' THEN NULL;
		END;
		PERFORM look('undone on ' || t);
	END LOOP;
END $$;
CREATE FUNCTION trigger_look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM look(concat_ws(' ', TG_WHEN, TG_OP, TG_LEVEL, 'trigger', TG_NAME, 'of', TG_TABLE_NAME));
	RETURN coalesce(NEW, OLD);
END $$;

-- statements, without triggers of users
SELECT run(ARRAY[
	$$UPDATE %I SET doc = d('a') WHERE doc ->> 'k' <> 'a' AND look('volatile') AND stable_look('stable')$$,
	$$UPDATE %I SET doc = d('b') WHERE id %% 50 = 0 AND look('volatile') AND stable_look('stable')$$,
	$$DELETE FROM %I WHERE id %% 75 = 0 AND look('volatile') AND stable_look('stable')$$,
	$$WITH w AS (UPDATE %1$I SET doc = d('a') WHERE doc ->> 'k' <> 'a' RETURNING id, look('returning')),
		x AS (DELETE FROM %1$I WHERE id = 75 RETURNING id) SELECT count(*) FROM w, x WHERE stable_look('with')$$]);
SELECT run(ARRAY[
	$$DELETE FROM parent WHERE id = 1 + length('%I') %% 5 AND look('volatile in cascade')$$,
	$$UPDATE parent SET id = id + 100 WHERE id < 6$$,
	$$DELETE FROM parent$$]);
SELECT run(ARRAY[
	$$INSERT INTO %1$I (id, parent, doc) SELECT id + 1, parent, d('a') FROM %1$I WHERE look('insert') LIMIT 1$$,
	$$INSERT INTO %1$I AS t (id, parent, doc) SELECT id, parent, d('c') FROM %1$I ON CONFLICT (id) DO UPDATE SET doc = d('a') WHERE look('on conflict')$$,
	$$MERGE INTO %1$I t USING (VALUES (102), (103)) v (i) ON t.id = v.i AND look('merge') WHEN MATCHED THEN UPDATE SET doc = d('b')$$]);

-- triggers of users, and beside them cursors that were opened before, and in triggers
DO $$
DECLARE t text;
BEGIN
	FOREACH t IN ARRAY '{plain, root_1, root_21, root_22, below_1, below_2, above_2, parent}'::text[] LOOP
		EXECUTE format('CREATE TRIGGER a_row BEFORE INSERT OR UPDATE OR DELETE ON %I FOR EACH ROW EXECUTE FUNCTION trigger_look()', t);
		EXECUTE format('CREATE TRIGGER a_after AFTER INSERT OR UPDATE OR DELETE ON %I FOR EACH ROW EXECUTE FUNCTION trigger_look()', t);
		EXECUTE format('CREATE TRIGGER z_after AFTER INSERT OR UPDATE OR DELETE ON %I FOR EACH ROW EXECUTE FUNCTION trigger_look()', t);
		EXECUTE format('CREATE CONSTRAINT TRIGGER deferred AFTER INSERT OR UPDATE OR DELETE ON %I DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION trigger_look()', t);
	END LOOP;
	FOREACH t IN ARRAY '{plain, root, root_1, root_2, root_21, above, below, below_2, parent}'::text[] LOOP
		EXECUTE format('CREATE TRIGGER a_statement BEFORE INSERT OR UPDATE OR DELETE ON %I FOR EACH STATEMENT EXECUTE FUNCTION trigger_look()', t);
		EXECUTE format('CREATE TRIGGER b_statement AFTER INSERT OR UPDATE OR DELETE ON %I FOR EACH STATEMENT EXECUTE FUNCTION trigger_look()', t);
		EXECUTE format('CREATE TRIGGER z_statement AFTER INSERT OR UPDATE OR DELETE ON %I FOR EACH STATEMENT EXECUTE FUNCTION trigger_look()', t);
	END LOOP;
END $$;
SELECT run(ARRAY[
	$$UPDATE %I SET doc = d('a') WHERE doc ->> 'k' <> 'a'$$,
	$$INSERT INTO %1$I (id, parent, doc) SELECT id + 1, parent, d('a') FROM %1$I LIMIT 2$$,
	$$DELETE FROM parent WHERE id = 2$$,
	$$SET CONSTRAINTS ALL IMMEDIATE$$,
	$$DELETE FROM %I WHERE id %% 75 = 0$$]);
BEGIN;
COPY plain FROM stdin;
1	1	{"k": "a", "v": "copied"}
2	1	{"k": "a", "v": "copied"}
\.
COPY above FROM stdin;
1	1	{"k": "a", "v": "copied"}
101	1	{"k": "a", "v": "copied"}
\.
COPY root_2 (id, doc) FROM stdin;
101	{"k": "a", "v": "copied"}
\.
SELECT look('after COPY');
COMMIT;
SELECT look('after deferred triggers');
DO $$ BEGIN UPDATE plain SET doc = d('a'); PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN PERFORM look('after an error'); END $$;
DO $$ BEGIN UPDATE plain SET doc = d('a'), id = 1; EXCEPTION WHEN unique_violation THEN PERFORM look('after an error in the statement'); END $$;

-- TRUNCATE
CREATE TRIGGER a_truncate BEFORE TRUNCATE ON plain EXECUTE FUNCTION trigger_look();
CREATE TRIGGER b_truncate AFTER TRUNCATE ON plain EXECUTE FUNCTION trigger_look();
CREATE TRIGGER z_truncate AFTER TRUNCATE ON plain EXECUTE FUNCTION trigger_look();
CREATE TRIGGER a_truncate BEFORE TRUNCATE ON root EXECUTE FUNCTION trigger_look();
CREATE TRIGGER b_truncate AFTER TRUNCATE ON root EXECUTE FUNCTION trigger_look();
CREATE TRIGGER z_truncate BEFORE TRUNCATE ON root_2 EXECUTE FUNCTION trigger_look();
CREATE TRIGGER z_truncate BEFORE TRUNCATE ON root_21 EXECUTE FUNCTION trigger_look();
CREATE TRIGGER z_truncate AFTER TRUNCATE ON root_22 EXECUTE FUNCTION trigger_look();
SET client_min_messages = warning;
BEGIN;
SAVEPOINT s;
TRUNCATE parent CASCADE;
SELECT look('after TRUNCATE');
ROLLBACK TO s;
SELECT look('after ROLLBACK TO');
TRUNCATE root_2;
SELECT look('after TRUNCATE of a partition');
ROLLBACK TO s;
TRUNCATE root_21, below_2;
INSERT INTO root VALUES (110, 1, d('a'));
SELECT look('after INSERT');
ROLLBACK;
SELECT look('after ROLLBACK');
-- and what else makes rows appear and vanish, with event triggers of users before and after those of the extension
CREATE FUNCTION event_look() RETURNS event_trigger LANGUAGE plpgsql SET search_path = planner_in_step, pg_catalog AS $$ BEGIN PERFORM look(TG_EVENT || ' of ' || TG_TAG); END $$;
CREATE EVENT TRIGGER planner_in_step_a_start ON ddl_command_start EXECUTE FUNCTION event_look();
CREATE EVENT TRIGGER planner_in_step_z_start ON ddl_command_start EXECUTE FUNCTION event_look();
CREATE EVENT TRIGGER planner_in_step_z_drop ON sql_drop EXECUTE FUNCTION event_look();
CREATE EVENT TRIGGER planner_in_step_a_end ON ddl_command_end EXECUTE FUNCTION event_look();
CREATE EVENT TRIGGER planner_in_step_z_end ON ddl_command_end EXECUTE FUNCTION event_look();
BEGIN;
ALTER TABLE root DETACH PARTITION root_1;
SELECT look('after DETACH');
ALTER TABLE root ATTACH PARTITION root_1 FOR VALUES FROM (0) TO (100);
SELECT look('after ATTACH');
DROP TABLE root_21, below_1;
SELECT look('after DROP');
ALTER TABLE plain ALTER COLUMN parent TYPE bigint;
SELECT look('after ALTER');
ROLLBACK;
BEGIN;
ALTER TABLE root DETACH PARTITION root_1;
COMMIT;
ALTER TABLE root ATTACH PARTITION root_1 FOR VALUES FROM (0) TO (100);
ALTER TABLE plain ALTER COLUMN parent TYPE bigint;
SELECT look('after DDL');
DROP EVENT TRIGGER planner_in_step_a_start, planner_in_step_z_start, planner_in_step_z_drop, planner_in_step_a_end, planner_in_step_z_end;
ALTER TABLE plain ALTER COLUMN parent TYPE int;

-- cursors
DO $$
DECLARE t text; g text;
BEGIN
	FOREACH t IN ARRAY '{plain, root_1, root_21, root_22, below_1, below_2, above_2, parent}'::text[] LOOP
		FOREACH g IN ARRAY '{a_row, a_after, z_after, deferred}'::text[] LOOP
			EXECUTE format('DROP TRIGGER %I ON %I', g, t);
		END LOOP;
	END LOOP;
	FOREACH t IN ARRAY '{plain, root, root_1, root_2, root_21, above, below, below_2, parent}'::text[] LOOP
		FOREACH g IN ARRAY '{a_statement, b_statement, z_statement}'::text[] LOOP
			EXECUTE format('DROP TRIGGER %I ON %I', g, t);
		END LOOP;
	END LOOP;
END $$;
-- the first row of a foreign key's action, before anything is known of its entries
CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent ON DELETE CASCADE, doc jsonb);
INSERT INTO child SELECT i, 9, d('a') FROM generate_series(1, 4) i;
SELECT indextable.create('child_k', 'child', '{k}') \gset
CREATE FUNCTION count_children() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE native bigint; forced bigint;
BEGIN
	SET LOCAL indextable.planner = off;
	EXECUTE $q$SELECT count(*) FROM child WHERE doc ->> 'k' = 'a'$q$ INTO native;
	SET LOCAL indextable.planner = force;
	EXECUTE $q$SELECT count(*) FROM child WHERE doc ->> 'k' = 'a'$q$ INTO forced;
	RAISE WARNING '%: %, %', old.id, native, forced;
	RETURN NULL;
END $$;
CREATE TRIGGER a AFTER DELETE ON child FOR EACH ROW EXECUTE FUNCTION count_children();
DELETE FROM parent WHERE id = 9;
-- A cursor has the snapshot with which it was opened, but a function in the language SQL that returns rows one by one may read: it
-- starts, with a snapshot of its own, when it is asked for the first row, which is of no table. Here cursors ask it.
-- One function is planned natively, the other one is forced, as plans of functions are kept since 18.
SELECT format($q$CREATE FUNCTION lazy_%1$s%2$s() RETURNS SETOF text LANGUAGE sql VOLATILE AS $$ SELECT '' UNION ALL SELECT concat_ws(' ', id, doc ->> 'v') FROM %1$I WHERE doc ->> 'k' = 'a' $$$q$, fact, i)
FROM unnest('{plain, below}'::text[]) fact, generate_series(1, 2) i \gexec
-- declare_cursors(name), start(name): two of them, native and forced
CREATE FUNCTION declare_cursors(name text, lazy text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..2 LOOP EXECUTE format('DECLARE %I CURSOR FOR SELECT %I()', name || i, lazy || i); END LOOP;
END $$;
CREATE FUNCTION start(name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE c refcursor; r text;
BEGIN
	FOR i IN 1..2 LOOP
		c := name || i;
		PERFORM set_config('indextable.planner', (ARRAY['off', 'force'])[i], true);
		FETCH c INTO r;
	END LOOP;
END $$;
CREATE FUNCTION fetched(cursor_name text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c refcursor := cursor_name; r text; result text[] := '{}';
BEGIN
	LOOP
		FETCH c INTO r;
		EXIT WHEN NOT FOUND;
		result := result || r;
	END LOOP;
	RETURN (SELECT string_agg(x, ', ' ORDER BY x) FROM unnest(result) x);
END $$;
CREATE FUNCTION opens() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	-- all in the first statement, and one in the second
	IF coalesce(current_setting('planner_in_step.started', true), '') = '' THEN
		PERFORM start(TG_NAME);
	ELSIF current_setting('planner_in_step.started') = 'first' AND TG_NAME = 'after_row' THEN
		PERFORM start('second');
	END IF;
	RETURN coalesce(NEW, OLD);
END $$;
CREATE TRIGGER before_row BEFORE UPDATE ON plain FOR EACH ROW WHEN (old.id = 0) EXECUTE FUNCTION opens();
CREATE TRIGGER after_row AFTER UPDATE ON plain FOR EACH ROW WHEN (old.id = 0) EXECUTE FUNCTION opens();
CREATE TRIGGER before_statement BEFORE UPDATE ON plain FOR EACH STATEMENT EXECUTE FUNCTION opens();
CREATE TRIGGER in_statement AFTER UPDATE ON plain FOR EACH STATEMENT EXECUTE FUNCTION opens();
CREATE TRIGGER last_statement AFTER UPDATE ON plain FOR EACH STATEMENT EXECUTE FUNCTION opens();
-- many statements, whose windows become one
BEGIN;
SELECT declare_cursors(name, 'lazy_plain') FROM unnest('{outer, before_statement, before_row, after_row, in_statement, last_statement, second}'::text[]) name;
SELECT start('outer') \gset
UPDATE plain SET doc = d('a') WHERE id < 60;
SET LOCAL planner_in_step.started = 'first';
UPDATE plain SET doc = d('b') WHERE id = 0;
SET LOCAL planner_in_step.started = 'all';
SELECT count(*) AS cursors FROM pg_cursors;
SET LOCAL indextable.planner = force;
SELECT look('after the first');
DO $$ BEGIN FOR i IN 1..50 LOOP UPDATE plain SET doc = d(CASE i % 2 WHEN 0 THEN 'a' ELSE 'b' END) WHERE id = 25; PERFORM look('after number ' || i); END LOOP; END $$;
SELECT name, native, native = fetched(name || 2) AS same
FROM (SELECT name, fetched(name || 1) AS native FROM unnest('{outer, before_statement, before_row, after_row, in_statement, last_statement, second}'::text[]) name) q;
SELECT look('after all');
ROLLBACK;
-- a statement on a table above the fact table fires no statement trigger of that: while another statement is under way, and before the
-- next row is written
CREATE FUNCTION nested() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	UPDATE above SET doc = d('a') WHERE id = 25;
	RETURN look('nested');
END $$;
BEGIN;
INSERT INTO other SELECT 1, NULL WHERE nested();
SELECT look('after it');
ROLLBACK;
BEGIN;
SELECT declare_cursors('between', 'lazy_below');
UPDATE above SET doc = d('a') WHERE id = 25;
SELECT start('between') \gset
UPDATE above SET doc = d('a') WHERE id = 50;
SELECT native, native = fetched('between2') AS same FROM (SELECT fetched('between1') AS native) q;
ROLLBACK;


-- a deferrable primary key: until it is checked two rows have one key and perhaps one entry
CREATE TABLE shared (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, doc jsonb);
INSERT INTO shared VALUES (1, d('a')), (2, d('a'));
SELECT indextable.create('shared_k', 'shared', '{k}', include => '{v}') \gset
INSERT INTO facts VALUES ('shared');
BEGIN;
INSERT INTO shared VALUES (1, d('a'));
SELECT look('two rows with one primary key');
DELETE FROM shared WHERE ctid = (SELECT min(ctid) FROM shared WHERE id = 1);
SELECT look('one is left');
COMMIT;
SELECT look('after all');

-- a plan that has begun keeps the definition that it has begun with
BEGIN;
SELECT declare_cursors('kept', 'lazy_plain');
SELECT start('kept') \gset
SELECT indextable.create('plain_v', 'plain', '{v}') \gset
SELECT look('with another index table');
SELECT native, native = fetched('kept2') AS same FROM (SELECT fetched('kept1') AS native) q;
ROLLBACK;

-- the library is loaded while a statement writes, and has not seen it begin
CREATE FUNCTION load_and_look() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	LOAD 'indextable';
	RETURN look('loaded in the middle');
END $$;
\c -
SET search_path = planner_in_step;
SET client_min_messages = warning;
SET planner_in_step.started = 'all';
BEGIN;
UPDATE plain SET doc = d('a') WHERE load_and_look();
SELECT look('after that');
ROLLBACK;
\i :src/sql/include/oracle.psql
CALL pg_temp.compare('plain_k', $$SELECT doc ->> 'k', id, doc ->> 'v' FROM plain$$);
CALL pg_temp.compare('root_k', $$SELECT doc ->> 'k', id, doc ->> 'v' FROM root$$);
CALL pg_temp.compare('below_k', $$SELECT doc ->> 'k', id, doc ->> 'v' FROM below$$);
CALL pg_temp.compare('shared_k', $$SELECT doc ->> 'k', id, doc ->> 'v' FROM shared$$);

SET client_min_messages = warning;
DROP SCHEMA planner_in_step CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
