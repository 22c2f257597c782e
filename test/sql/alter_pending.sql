-- alter() and rebuild() where something comes in between, and what is the owner's.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
\set VERBOSITY terse
CREATE SCHEMA pending;
SET search_path = pending;
CREATE TABLE doc (id int PRIMARY KEY, doc jsonb) WITH (autovacuum_enabled = off);
INSERT INTO doc SELECT g, jsonb_build_object('k', 'k' || g % 4, 'n', g, 'v', 'v' || g) FROM generate_series(1, 60) g;
CREATE TABLE stops (n int);
CREATE FUNCTION stop(doc jsonb) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF doc ->> 'n' = (SELECT n::text FROM pending.stops) THEN RAISE query_canceled USING MESSAGE = 'stop here'; END IF;
	RETURN true;
END $$;
CREATE FUNCTION wrong() RETURNS TABLE (index_table text, side text, entry text) LANGUAGE sql AS $$
	SELECT 'a', o.* FROM pg_temp.oracle('a', 'SELECT doc ->> ''k'', id, doc ->> ''v'' FROM doc') o
	UNION ALL SELECT 't', o.* FROM pg_temp.oracle('t', 'SELECT doc ->> ''k'', id, doc ->> ''v'' FROM doc') o
	UNION ALL SELECT i.index_table::text, v.kind, v.problem FROM indextable.index_tables i, indextable.verify(i.index_table) v
$$;

-- ---- triggers are off while a replacement is half built: what is written then must be in it
SELECT indextable.create('a', 'doc', '{k}', include => '{v}', maintenance => 'async'), indextable.create('t', 'doc', '{k}', include => '{v}') \gset
INSERT INTO stops VALUES (30);
SELECT indextable.alter('a', filter => 'pending.stop(doc)', populate => false), indextable.alter('t', filter => 'pending.stop(doc)', populate => false) \gset
CALL indextable.rebuild('a', 10);
CALL indextable.rebuild('t', 10);
SET client_min_messages = error;
ALTER TABLE doc DISABLE TRIGGER ALL;
RESET client_min_messages;
UPDATE doc SET doc = doc || '{"v": "missed"}' WHERE id < 10;
DELETE FROM doc WHERE id = 3;
INSERT INTO doc VALUES (0, '{"k": "missed", "v": "missed"}');
UPDATE stops SET n = -1;
CALL indextable.rebuild('a', 10);
CALL indextable.rebuild('t', 10);
SELECT index_table, state FROM indextable.index_tables ORDER BY 1;
SELECT indextable.drain('doc') >= 0 AS drained;
CALL pg_temp.no_rows('wrong()');
-- the same with repair() in between
SELECT indextable.alter('t', filter => '', populate => false) \gset
SET client_min_messages = error;
ALTER TABLE doc DISABLE TRIGGER ALL;
RESET client_min_messages;
UPDATE doc SET doc = doc || '{"v": "missed again"}' WHERE id < 10;
CALL indextable.repair('a');
CALL indextable.repair('t');
CALL indextable.rebuild('t', 10);
SELECT index_table, state FROM indextable.index_tables ORDER BY 1;
CALL pg_temp.no_rows('wrong()');

-- ---- guards of an index table are put back, too
SET client_min_messages = error;
ALTER TABLE t DISABLE TRIGGER ALL;
RESET client_min_messages;
CALL indextable.rebuild('t');
DELETE FROM t WHERE id = 1;
CALL pg_temp.no_rows('wrong()');

-- ---- the last word holds
SELECT indextable.alter('t', include => '{n}', populate => false) \gset
SELECT indextable.alter('t', include => '{v}') \gset
CALL indextable.rebuild('t');
SELECT include FROM indextable.index_tables WHERE index_table = 't'::regclass;

-- ---- an index of the owner's stays, whatever ours were good for
CREATE INDEX mine ON t (id);
SELECT indextable.alter('t', 'async') \gset
SELECT indextable.alter('t', 'transactional') \gset
SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 't'::regclass ORDER BY indexrelid::regclass::text COLLATE "C";
SELECT indextable.alter('t', 'async') \gset
SELECT indextable.alter('t', 'transactional', strategy => 'normalized', populate => false) \gset
CALL indextable.rebuild('t');
SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 't'::regclass ORDER BY indexrelid::regclass::text COLLATE "C";

-- ---- TOAST tables are named after their tables, as pg_upgrade wants them, and keep their options
ALTER TABLE t SET (toast.autovacuum_enabled = off);
SELECT indextable.alter('t', strategy => 'denormalized') \gset
SELECT c.relname = 'pg_toast_' || t.oid AS named, i.relname = 'pg_toast_' || t.oid || '_index' AS index_named, c.reloptions
FROM pg_class t JOIN pg_class c ON c.oid = t.reltoastrelid JOIN pg_index x ON x.indrelid = c.oid JOIN pg_class i ON i.oid = x.indexrelid
WHERE t.oid = 't'::regclass;

-- ---- names of columns are checked as by create()
SELECT indextable.alter('t', include => '{v,v}');
SELECT indextable.alter('t', include => '{id}');
SELECT indextable.alter('t', include => '{"v AS ctid"}');
SELECT indextable.alter('t', include => ARRAY[repeat('x', 70)]);

-- ---- with the extension goes what waits to be a replacement
SELECT indextable.alter('t', strategy => 'normalized', populate => false) \gset
SET client_min_messages = error;
BEGIN;
DROP EXTENSION indextable CASCADE;
SELECT count(*) AS left_behind FROM pg_class WHERE relname ~ '^(rebuild|queue)_[0-9]';
ROLLBACK;
DROP SCHEMA pending CASCADE;
RESET client_min_messages;
CALL pg_temp.no_rows('pg_temp.leftovers()');
