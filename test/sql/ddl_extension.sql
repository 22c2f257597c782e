-- DROP EXTENSION, DROP SCHEMA and DROP TABLE after DML in the same transaction, committed, rolled back and prepared;
-- with index tables of every kind. Nothing is left behind, and CREATE EXTENSION finds a clean place.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
SET client_min_messages = warning;
CREATE SCHEMA ext;
SET search_path = ext;
CREATE FUNCTION make() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE IF EXISTS f, t, u, d, a, b;
	CREATE TABLE f (id int PRIMARY KEY, doc jsonb);
	INSERT INTO f VALUES (1, '{"k": 1}'), (2, '{"k": 2}');
	PERFORM indextable.create('t', 'f', '{k}'), indextable.create('u', 'f', '{k}', is_unique => true),
		indextable.create('d', 'f', '{k}', 'denormalized'), indextable.create('a', 'f', '{k}', maintenance => 'async'),
		indextable.create('b', 'f', '{k}', populate => false);
	UPDATE f SET doc = '{"k": "queued"}' WHERE id = 1;
END $$;
-- what belongs to the extension or to its tables
CREATE VIEW remains AS
	SELECT 'trigger' AS what, tgname::text AS name FROM pg_trigger WHERE tgname ~ '^indextable_'
	UNION ALL SELECT 'event trigger', evtname FROM pg_event_trigger WHERE evtname ~ '^indextable_'
	UNION ALL SELECT 'relation', relname FROM pg_class WHERE relname ~ '^queue_[0-9]+' OR relnamespace = to_regnamespace('indextable')
	UNION ALL SELECT 'type', typname FROM pg_type WHERE typnamespace = to_regnamespace('indextable')
	UNION ALL SELECT 'function', proname FROM pg_proc WHERE pronamespace = to_regnamespace('indextable')
	UNION ALL SELECT 'dependency', d.objid::text FROM pg_depend d
		WHERE classid = 'pg_class'::regclass AND NOT EXISTS (SELECT FROM pg_class WHERE oid = objid)
			OR refclassid = 'pg_class'::regclass AND NOT EXISTS (SELECT FROM pg_class WHERE oid = refobjid);

-- ---- refused without CASCADE; with it, index tables are plain tables
SELECT make();
\set VERBOSITY terse
DROP EXTENSION indextable;
\set VERBOSITY default
BEGIN;
INSERT INTO f VALUES (3, '{"k": 3}');
SAVEPOINT s;
INSERT INTO f VALUES (4, '{"k": 4}');
DROP EXTENSION indextable CASCADE;
INSERT INTO f VALUES (5, '{"k": 5}');
TRUNCATE u;
COMMIT;
TABLE remains;
SELECT count(*) FROM f;
SELECT relname FROM pg_class WHERE relnamespace = 'ext'::regnamespace AND relkind = 'r' ORDER BY 1;
INSERT INTO t VALUES ('by hand', 9);
DROP TABLE f;
SELECT relname FROM pg_class WHERE relnamespace = 'ext'::regnamespace AND relkind = 'r' ORDER BY 1;

-- ---- made again; dropped, made again and used in one transaction
CREATE EXTENSION indextable;
SELECT index_table, state FROM indextable.index_tables;
SELECT make();
BEGIN;
INSERT INTO f VALUES (3, '{"k": 3}');
DROP EXTENSION indextable CASCADE;
CREATE EXTENSION indextable;
INSERT INTO f VALUES (4, '{"k": 4}');
SELECT indextable.create('t2', 'f', '{k}'), indextable.create('a2', 'f', '{k}', maintenance => 'async');
INSERT INTO f VALUES (5, '{"k": 5}');
COMMIT;
SELECT indextable.drain();
SELECT * FROM pg_temp.oracle('t2', $$SELECT doc ->> 'k', id FROM f$$);
SELECT * FROM pg_temp.oracle('a2', $$SELECT doc ->> 'k', id FROM f$$);
DROP TABLE f;
SELECT * FROM pg_temp.leftovers();

-- ---- rolled back to a savepoint
SELECT make();
BEGIN;
INSERT INTO f VALUES (3, '{"k": 3}');
SAVEPOINT s;
DROP EXTENSION indextable CASCADE;
INSERT INTO f VALUES (4, '{"k": 4}');
ROLLBACK TO s;
INSERT INTO f VALUES (5, '{"k": 5}');
COMMIT;
SELECT indextable.drain();
SELECT * FROM pg_temp.oracle('t', $$SELECT doc ->> 'k', id FROM f$$);
SELECT * FROM pg_temp.oracle('a', $$SELECT doc ->> 'k', id FROM f$$);
CALL indextable.build('b');
SELECT * FROM pg_temp.oracle('b', $$SELECT doc ->> 'k', id FROM f$$);

-- ---- DROP SCHEMA, DROP TABLE, after DML, committed and rolled back
BEGIN;
INSERT INTO f VALUES (7, '{"k": 7}');
UPDATE f SET doc = '{"k": "moved"}' WHERE id = 2;
DROP TABLE f;
COMMIT;
SELECT * FROM pg_temp.leftovers();
CREATE SCHEMA ext_more;
SET search_path = ext_more, ext;
SELECT make();
BEGIN;
INSERT INTO f VALUES (7, '{"k": 7}');
SAVEPOINT s;
DROP SCHEMA ext_more CASCADE;
ROLLBACK TO s;
INSERT INTO f VALUES (8, '{"k": 8}');
COMMIT;
SELECT indextable.drain();
SELECT * FROM pg_temp.oracle('t', $$SELECT doc ->> 'k', id FROM f$$);
SELECT * FROM pg_temp.oracle('a', $$SELECT doc ->> 'k', id FROM f$$);
BEGIN;
DELETE FROM f WHERE id = 1;
DROP SCHEMA ext_more CASCADE;
COMMIT;
SELECT * FROM pg_temp.leftovers();
SELECT * FROM remains WHERE name ~ 'queue_[0-9]' OR what = 'dependency';

SET search_path = ext;
DROP SCHEMA ext CASCADE;
