-- Functions that an index table calls change, while they are called, what belongs to it: they write the fact table, replace or
-- drop themselves, drop the index table, or give it to somebody else.  Either all is as it should be, or there is a proper error.
LOAD 'indextable';
SET client_min_messages = warning;
SET indextable.advice = off;
CREATE SCHEMA own;
SET search_path = own, public;
-- What is run, once for each time in todo, when act() is called.
CREATE TABLE todo (times int, sql text);
CREATE FUNCTION go() RETURNS void LANGUAGE plpgsql AS $$
DECLARE what text;
BEGIN
	UPDATE own.todo SET times = times - 1 WHERE times > 0 RETURNING sql INTO what;
	IF what IS NOT NULL THEN EXECUTE what; END IF;
END $$;
CREATE FUNCTION act(t text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM own.go(); RETURN t; END $$;
CREATE PROCEDURE will(n int, what text) LANGUAGE sql AS 'DELETE FROM own.todo; INSERT INTO own.todo VALUES (n, what)';

-- ---- they write the fact table: totals and entries are those of the rows

CREATE FUNCTION differences(fact text) RETURNS TABLE (kind text, k text, n numeric, total numeric) LANGUAGE plpgsql AS $$
BEGIN
	CALL own.will(0, '');
	FOR kind IN SELECT unnest('{filter,key,sum}'::text[]) LOOP
		RETURN QUERY EXECUTE format('SELECT %2$L, * FROM ((SELECT k, sum(rows)::numeric AS n, sum(sum_v)::numeric AS total FROM own.%1$s_%2$s GROUP BY k HAVING sum(rows) <> 0'
			' EXCEPT ALL SELECT doc ->> ''k'', count(*), sum((doc ->> ''v'')::int) FROM own.%1$s GROUP BY 1)'
			' UNION ALL (SELECT doc ->> ''k'', count(*), sum((doc ->> ''v'')::int) FROM own.%1$s GROUP BY 1'
			' EXCEPT ALL SELECT k, sum(rows), sum(sum_v) FROM own.%1$s_%2$s GROUP BY k HAVING sum(rows) <> 0)) AS d', fact, kind);
	END LOOP;
	FOR kind, n IN EXECUTE format('SELECT problem, count(*) FROM indextable.verify(%L) GROUP BY 1', 'own.' || fact || '_entries') LOOP
		RETURN NEXT;
	END LOOP;
END $$;
CREATE PROCEDURE index_it(fact text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM indextable.create(format('own.%s_filter', fact), format('own.%s', fact)::regclass, '{k}', totals => '{count(*),sum(v::int)}', filter => $f$own.act(doc->>'k') IS NOT NULL$f$);
	PERFORM indextable.create(format('own.%s_key', fact), format('own.%s', fact)::regclass, $f${"(own.act(doc->>'k')) AS k"}$f$, totals => '{count(*),sum(v::int)}');
	PERFORM indextable.create(format('own.%s_sum', fact), format('own.%s', fact)::regclass, '{k}', totals => $f${count(*),"sum((own.act(doc->>'v')::int) AS v)"}$f$);
	PERFORM indextable.create(format('own.%s_entries', fact), format('own.%s', fact)::regclass, '{k}', filter => $f$own.act(doc->>'k') IS NOT NULL$f$);
END $$;
CREATE SEQUENCE ids START 1000;
CREATE TABLE plain (pk int PRIMARY KEY, doc jsonb);
CREATE TABLE parts (pk int PRIMARY KEY, doc jsonb) PARTITION BY RANGE (pk);
-- The rows of this partition have to be converted.
CREATE TABLE parts_1 (doc jsonb, gone int, pk int NOT NULL);
ALTER TABLE parts_1 DROP COLUMN gone;
ALTER TABLE parts ATTACH PARTITION parts_1 FOR VALUES FROM (0) TO (50);
CREATE TABLE parts_2 PARTITION OF parts DEFAULT;
CALL index_it('plain');
CALL index_it('parts');
CREATE FUNCTION try_all(fact text, nested text) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	statement text;
	times int;
BEGIN
	FOREACH statement IN ARRAY ARRAY[
		'INSERT INTO own.%s VALUES (nextval(''own.ids''), ''{"k": "a", "v": 1}''), (nextval(''own.ids''), ''{"k": "b", "v": 2}''), (nextval(''own.ids'') %% 50, ''{"k": "c", "v": 3}'') ON CONFLICT DO NOTHING',
		'UPDATE own.%s SET doc = doc || ''{"k": "d"}'' WHERE doc ->> ''v'' <> ''2''',
		'UPDATE own.%s SET doc = jsonb_set(doc, ''{v}'', to_jsonb((doc ->> ''v'')::int + 10))',
		'DELETE FROM own.%s WHERE pk %% 3 = 0']
	LOOP
		FOREACH times IN ARRAY '{1,2,7}'::int[] LOOP
			CALL own.will(times, format(nested, fact));
			EXECUTE format(statement, fact);
			RETURN QUERY SELECT statement, times, d FROM own.differences(fact) AS d;
		END LOOP;
	END LOOP;
END $$;
CREATE TABLE nested (statement text);
INSERT INTO nested VALUES
	('INSERT INTO own.%s VALUES (nextval(''own.ids''), ''{"k": "n", "v": 5}''), (nextval(''own.ids'') %% 50, ''{"k": "a", "v": 6}'') ON CONFLICT DO NOTHING'),
	('UPDATE own.%s SET doc = doc || ''{"v": 7}'' WHERE pk %% 5 = 0'),
	('DELETE FROM own.%s WHERE pk %% 7 = 0'),
	('DO $do$ BEGIN INSERT INTO own.%s VALUES (nextval(''own.ids''), ''{"k": "s", "v": 8}''); EXCEPTION WHEN no_data_found THEN NULL; END $do$'),
	('DO $do$ BEGIN INSERT INTO own.%s VALUES (nextval(''own.ids''), ''{"k": "s", "v": 8}''); RAISE no_data_found; EXCEPTION WHEN no_data_found THEN NULL; END $do$');
SELECT fact, nested.statement, t.* FROM unnest('{plain,parts}'::text[]) AS fact, nested, try_all(fact, nested.statement) AS t(statement text, times int, difference record);
SELECT count(*) > 50 AS many FROM plain;
CALL will(3, 'INSERT INTO own.plain VALUES (nextval(''own.ids''), ''{"k": "n", "v": 5}'')');
COPY plain FROM stdin;
50001	{"k": "a", "v": 1}
50002	{"k": "b", "v": 1}
\.
SELECT * FROM differences('plain');
DROP TABLE plain, parts;

-- ---- they replace themselves: the drain goes on, also after errors

CREATE FUNCTION self(t text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM own.go(); RETURN t; END $$;
CREATE TABLE f (pk int PRIMARY KEY, doc jsonb);
SELECT indextable.create('own.f_k', 'own.f', '{k}', filter => $$own.self(doc ->> 'k') IS NOT NULL$$, maintenance => 'async');
SELECT indextable.create('own.f_x', 'own.f', $${"(own.self(doc ->> 'k')) AS k"}$$, maintenance => 'async');
INSERT INTO f VALUES (1, '{"k": "a"}'), (2, '{"k": "b"}'), (3, '{"k": "c"}');
CALL will(1, $$CREATE OR REPLACE FUNCTION own.self(t text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT t'$$);
SELECT indextable.drain('f');
SELECT k, pk FROM f_k ORDER BY 1;
SELECT k, pk FROM f_x ORDER BY 1;
SELECT * FROM indextable.verify('f_k');
SELECT * FROM indextable.verify('f_x');
-- The same with errors for some rows, when entries are verified, repaired and made anew.
CREATE OR REPLACE FUNCTION self(t text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM own.go(); RETURN t; END $$;
UPDATE f SET doc = '{"k": "x"}';
CALL will(1, $$CREATE OR REPLACE FUNCTION own.self(t text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT t'$$);
SELECT count(*) FROM indextable.verify('f_k', sample => 100);
CREATE OR REPLACE FUNCTION self(t text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM own.go(); RETURN t; END $$;
CALL will(1, $$CREATE OR REPLACE FUNCTION own.self(t text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT t'$$);
CALL indextable.repair('f_k');
SELECT indextable.drain('f');
SELECT * FROM indextable.verify('f_k');
SELECT * FROM indextable.verify('f_x');
DROP TABLE f;

-- ---- they drop the index table, or themselves

CREATE FUNCTION lone(t text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM own.go(); RETURN t; END $$;
CREATE TABLE f (pk int PRIMARY KEY, doc jsonb) PARTITION BY RANGE (pk);
CREATE TABLE f_1 PARTITION OF f FOR VALUES FROM (0) TO (10);
CREATE TABLE f_2 (pk int PRIMARY KEY, doc jsonb);
INSERT INTO f_2 VALUES (11, '{"k": "a"}'), (12, '{"k": "b"}');
CREATE PROCEDURE make(OUT done bool) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM indextable.create('own.f_n', 'own.f', '{k}', totals => '{count(*)}', filter => $f$own.lone(doc->>'k') IS NOT NULL AND own.lone(doc->>'k') <> 'z'$f$);
	PERFORM indextable.create('own.f_k', 'own.f', '{k}', filter => $f$own.act(doc->>'k') IS NOT NULL AND own.act(doc->>'k') <> 'z'$f$);
	done := true;
END $$;
CALL make(NULL);
SET client_min_messages = notice;
\set VERBOSITY terse
\set drops 'CALL own.will(1, ''DROP TABLE own.f_n'')'
:drops;
INSERT INTO f VALUES (1, '{"k": "a"}'), (2, '{"k": "b"}');
SELECT to_regclass('f_n'), (SELECT count(*) FROM f), (SELECT count(*) FROM f_k);
SELECT indextable.create('own.f_n', 'own.f', '{k}', totals => '{count(*)}', filter => $f$own.lone(doc->>'k') IS NOT NULL AND own.lone(doc->>'k') <> 'z'$f$);
BEGIN;
:drops;
ALTER TABLE f ATTACH PARTITION f_2 FOR VALUES FROM (10) TO (20);
SELECT to_regclass('f_n');
ROLLBACK;
BEGIN;
:drops;
ALTER TABLE f DETACH PARTITION f_1;
SELECT to_regclass('f_n');
ROLLBACK;
BEGIN;
CALL will(1, 'DROP FUNCTION own.lone CASCADE');
DO $$ BEGIN UPDATE own.f SET doc = '{"k": "c"}'; EXCEPTION WHEN object_in_use THEN RAISE NOTICE '% %', SQLSTATE, SQLERRM; END $$;
ROLLBACK;
BEGIN;
CALL will(1, 'DROP FUNCTION own.lone CASCADE');
DO $$ BEGIN ALTER TABLE own.f ATTACH PARTITION own.f_2 FOR VALUES FROM (10) TO (20); EXCEPTION WHEN object_in_use THEN RAISE NOTICE '% %', SQLSTATE, SQLERRM; END $$;
ROLLBACK;
BEGIN;
CALL will(1, 'DROP TABLE own.f_k');
INSERT INTO f VALUES (3, '{"k": "a"}'), (4, '{"k": "b"}');
SELECT to_regclass('f_k'), (SELECT count(*) FROM f);
ROLLBACK;
CALL will(0, '');
SELECT * FROM indextable.verify('f_k');
SELECT k, sum(rows) FROM f_n GROUP BY 1 ORDER BY 1;
SELECT indextable.drop('f_n');
SELECT indextable.drop('f_k');

SET client_min_messages = warning;

-- ---- the expression of an index gives the index table to somebody else while entries are written

CREATE ROLE own_b;
CREATE ROLE own_a IN ROLE own_b;
GRANT ALL ON SCHEMA own TO own_a, own_b;
GRANT ALL ON todo TO own_a, own_b;
CALL will(0, '');
SET ROLE own_a;
CREATE TABLE mine (pk int PRIMARY KEY, doc jsonb);
SELECT indextable.create('own.mine_k', 'own.mine', '{k}');
CREATE INDEX mine_i ON mine_k (act(k));
CALL will(1, 'REASSIGN OWNED BY own_a TO own_b');
INSERT INTO mine VALUES (1, '{"k": "a"}'), (2, '{"k": "b"}');
RESET ROLE;
SELECT count(*) FROM mine;
CALL will(0, '');
DROP OWNED BY own_a, own_b;
DROP ROLE own_a, own_b;

-- ---- what makes a definition change whenever it is read does not go on for ever

\set VERBOSITY default
CREATE FUNCTION other() RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 1';
CREATE TABLE loops (pk int PRIMARY KEY, doc jsonb);
SELECT indextable.create('own.loops_k', 'own.loops', '{k}', filter => $$own.act('x') IS NOT NULL OR own.other() = 2$$);
CALL will(1000000, 'ALTER FUNCTION own.other() COST 5');
INSERT INTO loops VALUES (1, '{"k": "a"}');
CALL will(0, '');
INSERT INTO loops VALUES (1, '{"k": "a"}');
SELECT * FROM indextable.verify('loops_k');

-- ---- while entries are written at the commit, the table is not emptied by the code of an index
CREATE TABLE emptied (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, doc jsonb);
SELECT indextable.create('own.emptied_k', 'own.emptied', '{k}');
CREATE FUNCTION do_it() RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXECUTE current_setting('own.what'); END $$;
CREATE FUNCTION empties(k text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM own.do_it(); RETURN k; END $$;
SET own.what = 'SELECT 1';
CREATE INDEX ON emptied_k (empties(k));
BEGIN;
INSERT INTO emptied VALUES (1, '{"k": "a"}');
INSERT INTO emptied VALUES (1, '{"k": "b"}');
DELETE FROM emptied WHERE doc ->> 'k' = 'a';
SET own.what = 'TRUNCATE own.emptied';
COMMIT;
SELECT * FROM emptied;
SELECT * FROM indextable.verify('emptied_k');
DROP SCHEMA own CASCADE;
