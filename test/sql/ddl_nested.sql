-- Event triggers of users that run DDL themselves, before and after those of the extension: what was noted before a
-- command is there when it ends.
CREATE SCHEMA nested;
SET search_path = nested;
CREATE TABLE f (id int, r int, doc jsonb, PRIMARY KEY (id, r)) PARTITION BY LIST (r);
CREATE TABLE f_rest PARTITION OF f DEFAULT;
SELECT indextable.create('f_k', 'f', '{k}'), indextable.create('f_t', 'f', '{tags[*]}', maintenance => 'async') \gset
CREATE FUNCTION doc(i int) RETURNS jsonb IMMUTABLE LANGUAGE sql AS $$ SELECT jsonb_build_object('k', 'k' || i % 7, 'tags', ARRAY['t' || i % 3, 'u']) $$;
-- what differs from a recompute, when the queue is drained
CREATE FUNCTION drift(OUT missing bigint, OUT extra bigint) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM indextable.drain('nested.f');
	SET LOCAL indextable.planner = off;
	WITH expected AS MATERIALIZED (SELECT doc ->> 'k' AS key, id, r FROM nested.f UNION ALL SELECT DISTINCT t, id, r FROM nested.f, jsonb_array_elements_text(doc -> 'tags') t),
		found AS MATERIALIZED (SELECT * FROM nested.f_k UNION ALL SELECT tags, id, r FROM nested.f_t)
	SELECT (SELECT count(*) FROM (TABLE expected EXCEPT ALL TABLE found) x), (SELECT count(*) FROM (TABLE found EXCEPT ALL TABLE expected) x) INTO missing, extra;
END $$;
CREATE PROCEDURE fill(parts int[]) LANGUAGE plpgsql AS $$
DECLARE p int;
BEGIN
	FOREACH p IN ARRAY parts LOOP
		EXECUTE format('CREATE TABLE nested.f_%s PARTITION OF nested.f FOR VALUES IN (%s)', p, p);
		INSERT INTO nested.f SELECT i, p, nested.doc(i) FROM generate_series(1, 20) i;
	END LOOP;
	PERFORM indextable.drain('nested.f');
END $$;

-- The commands that the event triggers run, once each: by event and by the name of the trigger, which is before or after
-- those of the extension.
CREATE TABLE todo (event text, trigger text, command text);
CREATE FUNCTION run_first() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE todo text;
BEGIN
	FOR todo IN DELETE FROM nested.todo t WHERE t.event = tg_event AND t.trigger = 'first' RETURNING command LOOP EXECUTE todo; END LOOP;
END $$;
CREATE FUNCTION run_last() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE todo text;
BEGIN
	FOR todo IN DELETE FROM nested.todo t WHERE t.event = tg_event AND t.trigger = 'last' RETURNING command LOOP EXECUTE todo; END LOOP;
END $$;
CREATE EVENT TRIGGER a_first_start ON ddl_command_start EXECUTE FUNCTION run_first();
CREATE EVENT TRIGGER z_last_start ON ddl_command_start EXECUTE FUNCTION run_last();
CREATE EVENT TRIGGER a_first_drop ON sql_drop EXECUTE FUNCTION run_first();
CREATE EVENT TRIGGER z_last_drop ON sql_drop EXECUTE FUNCTION run_last();
CREATE EVENT TRIGGER a_first_end ON ddl_command_end EXECUTE FUNCTION run_first();
CREATE EVENT TRIGGER z_last_end ON ddl_command_end EXECUTE FUNCTION run_last();

-- ---- one partition is dropped or detached while another one is
CREATE FUNCTION each_moment(outer_command text, inner_command text) RETURNS TABLE (event text, trigger text, missing bigint, extra bigint, states text) LANGUAGE plpgsql AS $$
BEGIN
	FOR event, trigger IN SELECT * FROM unnest(ARRAY['ddl_command_start', 'sql_drop', 'ddl_command_end']) e, unnest(ARRAY['first', 'last']) t LOOP
		CONTINUE WHEN event = 'sql_drop' AND outer_command !~ '^DROP';
		CALL nested.fill('{1,2,3}');
		INSERT INTO nested.todo VALUES (event, trigger, inner_command);
		EXECUTE outer_command;
		SELECT d.missing, d.extra FROM nested.drift() d INTO missing, extra;
		states := (SELECT string_agg(state, ' ' ORDER BY index_table::text) FROM indextable.index_tables);
		RETURN NEXT;
		DROP TABLE IF EXISTS nested.f_1, nested.f_2, nested.f_3;
	END LOOP;
END $$;
SET client_min_messages = error;
SELECT * FROM each_moment('DROP TABLE nested.f_1', 'DROP TABLE nested.f_2');
SELECT * FROM each_moment('DROP TABLE nested.f_1', 'ALTER TABLE nested.f DETACH PARTITION nested.f_2');
SELECT * FROM each_moment('ALTER TABLE nested.f DETACH PARTITION nested.f_1', 'DROP TABLE nested.f_2');
SELECT * FROM each_moment('ALTER TABLE nested.f DETACH PARTITION nested.f_1', 'ALTER TABLE nested.f DETACH PARTITION nested.f_2');
RESET client_min_messages;

-- ---- rows are written to a partition, or deleted, while it is dropped or detached
CREATE FUNCTION written(outer_command text, inner_command text) RETURNS TABLE (event text, trigger text, error text, missing bigint, extra bigint) LANGUAGE plpgsql AS $$
BEGIN
	FOR event, trigger IN SELECT 'ddl_command_start', t FROM unnest(ARRAY['first', 'last']) t LOOP
		CALL nested.fill('{1,2}');
		INSERT INTO nested.todo VALUES (event, trigger, inner_command);
		error := NULL;
		BEGIN
			EXECUTE outer_command;
		EXCEPTION WHEN object_in_use THEN
			error := sqlerrm;
			DELETE FROM nested.todo;
			UPDATE nested.f SET doc = nested.doc(id + 1) WHERE r = 1;
		END;
		SELECT d.missing, d.extra FROM nested.drift() d INTO missing, extra;
		RETURN NEXT;
		-- detached, it is a table like others, until it is attached again
		IF to_regclass('nested.f_1') IS NOT NULL THEN
			INSERT INTO nested.f_1 VALUES (98, 1, nested.doc(98));
			IF NOT (SELECT relispartition FROM pg_class WHERE oid = 'nested.f_1'::regclass) THEN
				ALTER TABLE nested.f ATTACH PARTITION nested.f_1 FOR VALUES IN (1);
				INSERT INTO nested.f_1 VALUES (97, 1, nested.doc(97));
			END IF;
			event := 'afterwards';
			SELECT d.missing, d.extra FROM nested.drift() d INTO missing, extra;
			RETURN NEXT;
		END IF;
		DROP TABLE IF EXISTS nested.f_1, nested.f_2;
	END LOOP;
END $$;
SET client_min_messages = error;
SELECT * FROM written('DROP TABLE nested.f_1', 'INSERT INTO nested.f VALUES (99, 1, nested.doc(99))');
SELECT * FROM written('DROP TABLE nested.f_1', 'UPDATE nested.f_1 SET doc = nested.doc(id + 1)');
SELECT * FROM written('DROP TABLE nested.f_1', 'INSERT INTO nested.f VALUES (99, 2, nested.doc(99))');
SELECT * FROM written('DROP TABLE nested.f_1', 'DELETE FROM nested.f WHERE r = 1 AND id < 5');
SELECT * FROM written('ALTER TABLE nested.f DETACH PARTITION nested.f_1', 'INSERT INTO nested.f VALUES (99, 1, nested.doc(99))');
SELECT * FROM written('ALTER TABLE nested.f DETACH PARTITION nested.f_1', 'DELETE FROM nested.f WHERE r = 1 AND id < 5');
RESET client_min_messages;

-- DETACH ... CONCURRENTLY, which does not run in a function
CREATE TABLE c (id int, r int, doc jsonb, PRIMARY KEY (id, r)) PARTITION BY LIST (r);
CREATE TABLE c_1 PARTITION OF c FOR VALUES IN (1);
INSERT INTO c SELECT i, 1, doc(i) FROM generate_series(1, 5) i;
SELECT indextable.create('c_k', 'c', '{k}') \gset
INSERT INTO todo VALUES ('ddl_command_start', 'last', 'INSERT INTO nested.c VALUES (99, 1, nested.doc(99))');
ALTER TABLE c DETACH PARTITION c_1 CONCURRENTLY;
SELECT count(*), count(*) = (SELECT count(*) FROM c_k) AS in_step FROM c;
DELETE FROM todo;
INSERT INTO todo VALUES ('ddl_command_start', 'last', 'DELETE FROM nested.c WHERE id = 1');
ALTER TABLE c DETACH PARTITION c_1 CONCURRENTLY;
INSERT INTO c_1 VALUES (99, 1, doc(99));
SELECT count(*), count(*) = (SELECT count(*) FROM c_k) AS in_step FROM c;
DROP TABLE c, c_1;

-- ---- a partition is dropped with its schema: nothing is known of its rows then, and that shows, whatever else happens
CREATE FUNCTION with_schema(ev text, trig text, inner_command text, OUT states text, OUT missing bigint, OUT extra bigint) LANGUAGE plpgsql AS $$
BEGIN
	CREATE SCHEMA elsewhere;
	CREATE SCHEMA other;
	CALL nested.fill('{1,2}');
	ALTER TABLE nested.f_1 SET SCHEMA elsewhere;
	INSERT INTO nested.todo VALUES (ev, trig, inner_command);
	DROP SCHEMA elsewhere CASCADE;
	DROP SCHEMA IF EXISTS other CASCADE;
	states := (SELECT string_agg(state, ' ' ORDER BY index_table::text) FROM indextable.index_tables);
	-- what repair() is to do
	IF states ~ 'invalid' THEN
		DELETE FROM nested.f;
		PERFORM indextable.drop('nested.f_k'), indextable.drop('nested.f_t');
		PERFORM indextable.create('nested.f_k', 'nested.f', '{k}'), indextable.create('nested.f_t', 'nested.f', '{tags[*]}', maintenance => 'async');
	END IF;
	SELECT d.missing, d.extra FROM nested.drift() d INTO missing, extra;
	DROP TABLE IF EXISTS nested.f_1, nested.f_2;
END $$;
SET client_min_messages = error;
SELECT e, t, w.* FROM unnest(ARRAY['ddl_command_start', 'sql_drop']) e, unnest(ARRAY['first', 'last']) t, with_schema(e, t, 'DROP SCHEMA other') w;
SELECT e, t, w.* FROM unnest(ARRAY['ddl_command_start', 'sql_drop']) e, unnest(ARRAY['first', 'last']) t, with_schema(e, t, 'DROP TABLE nested.f_2') w;
-- it is dropped before its schema is, and all is as it should be
SELECT e, t, w.* FROM unnest(ARRAY['ddl_command_start']) e, unnest(ARRAY['first', 'last']) t, with_schema(e, t, 'DROP TABLE elsewhere.f_1') w;
-- another one is put into the schema in the meantime
SELECT e, t, w.* FROM unnest(ARRAY['ddl_command_start']) e, unnest(ARRAY['first', 'last']) t,
	with_schema(e, t, 'DROP TABLE elsewhere.f_1; CREATE TABLE elsewhere.f_9 PARTITION OF nested.f FOR VALUES IN (9); INSERT INTO nested.f SELECT i, 9, nested.doc(i) FROM generate_series(1, 5) i') w;
-- one command fails, and is undone
SELECT e, t, w.* FROM unnest(ARRAY['ddl_command_start', 'sql_drop']) e, unnest(ARRAY['first', 'last']) t,
	with_schema(e, t, 'DO $d$ BEGIN DROP SCHEMA other; DROP SCHEMA nowhere; EXCEPTION WHEN others THEN NULL; END $d$') w;
RESET client_min_messages;

-- ---- a command that drops nothing leaves nothing behind that a later one takes for its own notes, even if its parse tree
-- comes to the same place in memory
SET client_min_messages = error;
CALL fill('{1}');
BEGIN;
DROP SCHEMA IF EXISTS aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa;
DROP TABLE f_1 /*xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx*/;
COMMIT;
SELECT index_table, state FROM indextable.index_tables ORDER BY index_table::text;
SELECT * FROM drift();
RESET client_min_messages;

-- ---- the commands by which an index table is made, but for CREATE TABLE, and altered are the extension's: a policy of who may
-- run DDL, which an event trigger enforces, is not asked when a row needs another primary key, and nothing is written between them
CREATE ROLE regress_ddl_writer;
CREATE FUNCTION refuse_ddl() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE '% by %', tg_tag, current_user; END $$;
CREATE TABLE wide (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('wide_k', 'wide', '{k}', include => '{v}') \gset
GRANT USAGE ON SCHEMA nested TO regress_ddl_writer;
GRANT INSERT ON wide TO regress_ddl_writer;
CREATE EVENT TRIGGER a_refuse ON ddl_command_start EXECUTE FUNCTION refuse_ddl();
\set VERBOSITY terse
SELECT indextable.create('wide_t', 'wide', '{v}');
SET ROLE regress_ddl_writer;
INSERT INTO wide SELECT 1, jsonb_build_object('k', 'k', 'v', string_agg(md5(i::text), '')) FROM generate_series(1, 1000) i;
RESET ROLE;
SELECT indextable.alter('wide_k', include => '{}') \gset
SELECT indextable.alter('wide_k', maintenance => 'async') \gset
CALL indextable.rebuild('wide_k');
SELECT indextable.drop('wide_k');
\set VERBOSITY default
DROP EVENT TRIGGER a_refuse;
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'wide_k'::regclass AND contype = 'u';
TABLE wide_k;
DROP TABLE wide;
REVOKE ALL ON SCHEMA nested FROM regress_ddl_writer;
DROP ROLE regress_ddl_writer;
SELECT * FROM drift();

-- ---- what a filter uses is renamed, and something else while it is
CREATE FUNCTION wanted(jsonb) RETURNS boolean IMMUTABLE LANGUAGE sql AS $$ SELECT $1 ? 'k' $$;
CREATE FUNCTION other(jsonb) RETURNS boolean IMMUTABLE LANGUAGE sql AS $$ SELECT true $$;
SELECT indextable.create('f_w', 'f', '{k}', filter => 'nested.wanted(doc) AND nested.other(doc)') \gset
CREATE FUNCTION renamed(ev text, trig text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE filter text;
BEGIN
	INSERT INTO nested.todo VALUES (ev, trig, 'ALTER FUNCTION nested.other(jsonb) RENAME TO other_' || trig);
	ALTER FUNCTION nested.wanted(jsonb) RENAME TO kept;
	SELECT i.filter FROM indextable.index_tables i WHERE index_table = 'nested.f_w'::regclass INTO filter;
	INSERT INTO nested.f VALUES (-1, 0, '{"k": "w"}');
	ALTER FUNCTION nested.kept(jsonb) RENAME TO wanted;
	EXECUTE 'ALTER FUNCTION nested.other_' || trig || '(jsonb) RENAME TO other';
	DELETE FROM nested.f WHERE id = -1;
	RETURN filter;
END $$;
SELECT e, t, renamed(e, t) FROM unnest(ARRAY['ddl_command_start', 'ddl_command_end']) e, unnest(ARRAY['first', 'last']) t;
SELECT * FROM drift();

-- ---- a partition is attached, renamed or dropped while it is detached or attached, also while triggers of the extension are made
-- or dropped for that: after SO_MANY other commands
CREATE FUNCTION later(event text, trigger text, command text, so_many int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. so_many LOOP command := format('INSERT INTO nested.todo VALUES (%L, %L, %L)', event, trigger, command); END LOOP;
	RETURN command;
END $$;
CREATE FUNCTION meanwhile(ev text, trig text, so_many int, outer_command text, inner_command text, OUT error text, OUT missing bigint, OUT extra bigint, OUT states text) LANGUAGE plpgsql AS $$
BEGIN
	CALL nested.fill('{1,2}');
	IF outer_command ~ 'ATTACH' THEN ALTER TABLE nested.f DETACH PARTITION nested.f_1; END IF;
	INSERT INTO nested.todo VALUES (ev, trig, nested.later(ev, trig, inner_command, so_many));
	BEGIN
		EXECUTE outer_command;
	EXCEPTION WHEN others THEN
		error := CASE WHEN sqlstate = 'XX000' THEN sqlerrm ELSE sqlstate END;
	END;
	DELETE FROM nested.todo;
	SELECT d.missing, d.extra FROM nested.drift() d INTO missing, extra;
	states := (SELECT string_agg(state, ' ' ORDER BY index_table::text) FROM indextable.index_tables);
	DROP TABLE IF EXISTS nested.f_1, nested.f_2, nested.moved;
END $$;
SET client_min_messages = error;
SELECT t, m.* FROM unnest(ARRAY['first', 'last']) t, meanwhile('sql_drop', t, 0, 'ALTER TABLE nested.f DETACH PARTITION nested.f_1', 'ALTER TABLE nested.f ATTACH PARTITION nested.f_1 FOR VALUES IN (1)') m;
SELECT t, m.* FROM unnest(ARRAY['first', 'last']) t, meanwhile('ddl_command_end', t, 0, 'ALTER TABLE nested.f ATTACH PARTITION nested.f_1 FOR VALUES IN (1)', 'ALTER TABLE nested.f_1 RENAME TO moved') m;
SELECT meanwhile('ddl_command_end', 'first', 0, 'ALTER TABLE nested.f ATTACH PARTITION nested.f_1 FOR VALUES IN (1)', 'ALTER TABLE nested.f_1 RENAME TO moved; ALTER TABLE nested.f_2 RENAME TO f_1');
-- rows are written into a new one before it has the triggers of the extension
SELECT DISTINCT m.* FROM unnest(ARRAY['ddl_command_start', 'ddl_command_end']) e, unnest(ARRAY['first', 'last']) t, generate_series(CASE e WHEN 'ddl_command_end' THEN 0 ELSE 1 END, 5) n,
	meanwhile(e, t, n, 'CREATE TABLE nested.moved PARTITION OF nested.f FOR VALUES IN (7)', 'INSERT INTO nested.moved SELECT i, 7, nested.doc(i) FROM generate_series(1, 5) i') m;
SELECT DISTINCT m.* FROM generate_series(0, 8) n, meanwhile('ddl_command_end', 'last', n, 'ALTER TABLE nested.f ATTACH PARTITION nested.f_1 FOR VALUES IN (1)', 'DROP TABLE nested.f_1') m ORDER BY 1;
RESET client_min_messages;

DROP EVENT TRIGGER a_first_start;
DROP EVENT TRIGGER z_last_start;
DROP EVENT TRIGGER a_first_drop;
DROP EVENT TRIGGER z_last_drop;
DROP EVENT TRIGGER a_first_end;
DROP EVENT TRIGGER z_last_end;
-- The customary log of DDL, which names its table by the search_path of the session: event triggers run as whoever has run a
-- command, under his search_path, and never as anybody else.
CREATE ROLE regress_ddl_log;
CREATE SCHEMA logged AUTHORIZATION regress_ddl_log;
SET search_path = logged, nested;
CREATE TABLE ddl_log (tag text, object text, by name);
CREATE FUNCTION log_ddl() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
	FOR r IN SELECT * FROM pg_event_trigger_ddl_commands() LOOP INSERT INTO ddl_log VALUES (tg_tag, r.object_identity, current_user); END LOOP;
END $$;
CREATE FUNCTION log_drop() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
	FOR r IN SELECT * FROM pg_event_trigger_dropped_objects() LOOP INSERT INTO ddl_log VALUES (tg_tag, r.object_identity, current_user); END LOOP;
END $$;
-- with settings of its own, and with the rights of its owner
CREATE FUNCTION log_settings() RETURNS event_trigger LANGUAGE plpgsql SET work_mem = '1MB' AS $$ BEGIN INSERT INTO ddl_log VALUES (tg_tag, 'settings', current_user); END $$;
CREATE FUNCTION log_as_owner() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = logged AS $$ BEGIN INSERT INTO ddl_log VALUES (tg_tag, 'owner', session_user); END $$;
CREATE EVENT TRIGGER log_ddl ON ddl_command_end EXECUTE FUNCTION log_ddl();
CREATE EVENT TRIGGER log_drop ON sql_drop EXECUTE FUNCTION log_drop();
CREATE EVENT TRIGGER log_settings ON ddl_command_end EXECUTE FUNCTION log_settings();
CREATE EVENT TRIGGER log_as_owner ON ddl_command_start EXECUTE FUNCTION log_as_owner();
GRANT USAGE ON SCHEMA nested TO regress_ddl_log;
GRANT INSERT, SELECT ON ddl_log TO regress_ddl_log;
CREATE PROCEDURE ddl() LANGUAGE plpgsql AS $$
BEGIN
	CREATE TABLE logged.part (id int PRIMARY KEY, doc jsonb) PARTITION BY RANGE (id);
	CREATE TABLE logged.part_1 PARTITION OF logged.part FOR VALUES FROM (0) TO (10);
	PERFORM indextable.create('logged.part_k', 'logged.part', '{k}'), indextable.create('logged.part_q', 'logged.part', '{k}', maintenance => 'async', partitions => 2);
	INSERT INTO logged.part SELECT i, '{"k": "k"}' FROM generate_series(1, 9) i;
	PERFORM indextable.drain('logged.part');
	CREATE TABLE logged.part_2 PARTITION OF logged.part FOR VALUES FROM (10) TO (20);
	ALTER TABLE logged.part DETACH PARTITION logged.part_2;
	ALTER TABLE logged.part ATTACH PARTITION logged.part_2 FOR VALUES FROM (10) TO (20);
	CREATE TABLE logged.fact (id int PRIMARY KEY, n int, doc jsonb);
	PERFORM indextable.create('logged.fact_k', 'logged.fact', '{k}'), indextable.create('logged.fact_n', 'logged.fact', '{@n}', maintenance => 'async'),
		indextable.create('logged.fact_t', 'logged.fact', '{k}', totals => '{count(*)}');
	COMMIT;
	PERFORM indextable.alter('logged.fact_k', include => '{v}');
	COMMIT;
	PERFORM indextable.alter('logged.fact_k', maintenance => 'async');
	COMMIT;
	PERFORM indextable.alter('logged.fact_n', maintenance => 'transactional');
	COMMIT;
	ALTER TABLE logged.fact ALTER COLUMN id TYPE bigint;
	DROP TABLE logged.fact_k;
	PERFORM indextable.drop('logged.fact_n');
	DROP TABLE logged.fact, logged.part;
END $$;
SET client_min_messages = warning;
CALL ddl();
SELECT by, count(*) > 20 AS logged, bool_or(object = 'logged.part_k') AS index_tables, bool_or(tag = 'CREATE TABLE' AND object LIKE 'indextable_internal.%') AS internal FROM ddl_log WHERE object NOT IN ('settings', 'owner') GROUP BY 1;
SELECT object, count(*) > 10 AS logged FROM ddl_log WHERE object IN ('settings', 'owner') GROUP BY 1 ORDER BY 1;
-- somebody else's table, by somebody who has a table of that name: its trigger runs as him
TRUNCATE ddl_log;
CREATE SCHEMA evil AUTHORIZATION regress_ddl_log;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA logged, nested TO regress_ddl_log;
GRANT ALL ON SCHEMA logged TO regress_ddl_log;
SET ROLE regress_ddl_log;
SET search_path = evil, pg_catalog, logged;
CREATE TABLE evil.caught (by name, as_session name);
CREATE FUNCTION evil.catch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO evil.caught VALUES (current_user, session_user); RETURN NULL; END $$;
CREATE TABLE evil.ddl_log (tag text, object text, by name);
CREATE TRIGGER catch BEFORE INSERT ON evil.ddl_log FOR EACH ROW EXECUTE FUNCTION evil.catch();
CALL logged.ddl();
RESET ROLE;
SELECT by, count(*) > 20 AS many FROM evil.caught GROUP BY 1;
SET search_path = logged, nested;
SELECT by, count(*) > 10 FROM ddl_log WHERE object NOT IN ('settings', 'owner') GROUP BY 1;
DROP EVENT TRIGGER log_ddl;
DROP EVENT TRIGGER log_drop;
DROP EVENT TRIGGER log_settings;
DROP EVENT TRIGGER log_as_owner;
-- what a policy does, which a query of ours calls as the owner of a table, is not what the caller does
TRUNCATE ddl_log;
CREATE FUNCTION log_user() RETURNS event_trigger LANGUAGE plpgsql SET search_path = logged AS $$ BEGIN INSERT INTO ddl_log VALUES (tg_tag, 'user', current_user); END $$;
GRANT EXECUTE ON FUNCTION log_user TO regress_ddl_log;
SET ROLE regress_ddl_log;
CREATE TABLE logged.fact (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('logged.fact_k', 'logged.fact', '{k}') \gset
SELECT obj_description('logged.fact_k'::regclass) AS comment \gset
DROP TABLE logged.fact_k;
CREATE TABLE logged.fact_k (k text NOT NULL, id int NOT NULL, PRIMARY KEY (k, id));
COMMENT ON TABLE logged.fact_k IS :'comment';
INSERT INTO logged.fact_k VALUES ('k', 1);
CREATE FUNCTION logged.make() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN CREATE SEQUENCE logged.made; RETURN false; END $$;
CREATE POLICY make ON logged.fact_k USING (logged.make());
ALTER TABLE logged.fact_k ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
RESET ROLE;
CREATE EVENT TRIGGER log_user ON ddl_command_end WHEN tag IN ('CREATE SEQUENCE') EXECUTE FUNCTION log_user();
SELECT indextable.create('logged.fact_k', 'logged.fact', '{k}', if_not_exists => true);
SELECT tag, by FROM ddl_log;
DROP EVENT TRIGGER log_user;
-- nor is another table dropped to whose schema it gives the name
CREATE SCHEMA swapped AUTHORIZATION regress_ddl_log;
SELECT format('GRANT CREATE ON DATABASE %I TO regress_ddl_log', current_database()) \gexec
SET ROLE regress_ddl_log;
DROP TABLE logged.fact_k;
CREATE TABLE logged.fact_k (k text NOT NULL, id int NOT NULL, PRIMARY KEY (k, id));
COMMENT ON TABLE logged.fact_k IS :'comment';
INSERT INTO logged.fact_k VALUES ('k', 1);
CREATE FUNCTION swapped.swap() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	ALTER SCHEMA logged RENAME TO renamed;
	ALTER SCHEMA swapped RENAME TO logged;
	RETURN false;
END $$;
CREATE POLICY swap ON logged.fact_k USING (swapped.swap());
ALTER TABLE logged.fact_k ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
RESET ROLE;
CREATE TABLE swapped.fact_k (k text);
SELECT indextable.create('logged.fact_k', 'logged.fact', '{k}', if_not_exists => true);
TABLE swapped.fact_k;
SELECT format('REVOKE CREATE ON DATABASE %I FROM regress_ddl_log', current_database()) \gexec
RESET client_min_messages;

-- ---- within REFRESH MATERIALIZED VIEW the server does not tell what commands change: they are refused
CREATE SCHEMA refreshed;
SET search_path = refreshed;
CREATE TABLE f (id int PRIMARY KEY, doc jsonb, c int);
CREATE TABLE p (id int PRIMARY KEY, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE other (id int PRIMARY KEY, doc jsonb);
INSERT INTO f VALUES (1, '{"k": 1}', 1);
SELECT indextable.create('f_k', 'f', '{k,@c}'), indextable.create('p_k', 'p', '{k}') \gset
CREATE TABLE command (c text, result text);
CREATE FUNCTION run(c text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE c;
	RETURN 'done';
EXCEPTION WHEN OTHERS THEN
	RETURN sqlstate || ' ' || sqlerrm;
END $$;
CREATE MATERIALIZED VIEW ran AS SELECT c, refreshed.run(c) AS result FROM command;
CREATE UNIQUE INDEX ON ran (c);
INSERT INTO command VALUES
	('CREATE OR REPLACE TRIGGER indextable_row AFTER DELETE ON refreshed.f FOR EACH ROW EXECUTE FUNCTION indextable_internal.maintain()'),
	('CREATE TRIGGER own AFTER DELETE ON refreshed.other FOR EACH ROW EXECUTE FUNCTION indextable_internal.maintain(''x'')'),
	('ALTER TABLE refreshed.f ALTER c TYPE text'),
	('ALTER TABLE refreshed.f RENAME doc TO document'),
	('ALTER TABLE refreshed.f RENAME TO g'),
	('ALTER TABLE refreshed.f DISABLE TRIGGER indextable_row'),
	('ALTER TABLE refreshed.f OWNER TO regress_ddl_log'),
	('ALTER TABLE refreshed.p ATTACH PARTITION refreshed.other FOR VALUES FROM (0) TO (9)'),
	('CREATE TABLE refreshed.p1 PARTITION OF refreshed.p FOR VALUES FROM (0) TO (9)'),
	('CREATE TABLE IF NOT EXISTS refreshed.f ()'),
	('CREATE SCHEMA refreshed_too CREATE TABLE f ()');
REFRESH MATERIALIZED VIEW ran;
SELECT result, c FROM ran ORDER BY c COLLATE "C";
SELECT index_table, state, problem FROM indextable.index_tables WHERE fact_table IN ('f'::regclass, 'p'::regclass) ORDER BY index_table::text;
SELECT * FROM indextable.verify('f');
-- also where the command comes from an index of the view, or what is refreshed is compared
REFRESH MATERIALIZED VIEW CONCURRENTLY ran;
SELECT DISTINCT result FROM ran ORDER BY 1;
-- what changes nothing, and what is run by itself, is not
CREATE TABLE IF NOT EXISTS f ();
ALTER TABLE IF EXISTS nothing RENAME c TO d;
DO $$ BEGIN ALTER TABLE refreshed.f RENAME c TO d; END $$;
SELECT attname FROM pg_attribute WHERE attrelid = 'f_k'::regclass AND attnum > 0;
-- no event trigger sees what it is found out by
CREATE FUNCTION tell() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% %', tg_tag, (SELECT array_agg(object_identity) FROM pg_event_trigger_ddl_commands());
END $$;
CREATE EVENT TRIGGER z_tell ON ddl_command_end EXECUTE FUNCTION tell();
CREATE TABLE IF NOT EXISTS f ();
ALTER TABLE f ALTER d SET STATISTICS 10;
DROP EVENT TRIGGER z_tell;
SET client_min_messages = warning;
DROP SCHEMA refreshed CASCADE;
DROP SCHEMA nested, logged, swapped, evil CASCADE;
DROP ROLE regress_ddl_log;
RESET client_min_messages;
SELECT index_table FROM indextable.index_tables;
