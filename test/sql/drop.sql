-- However an index table or a fact table goes, nothing is left behind.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA droptest;
SET search_path = droptest;
CREATE FUNCTION make() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	CREATE TABLE fact (id int PRIMARY KEY, doc jsonb);
	INSERT INTO fact SELECT i, jsonb_build_object('k', i, 'n', 'x') FROM generate_series(1, 3) i;
	PERFORM indextable.create('one', 'fact', '{k}');
	PERFORM indextable.create('two', 'fact', '{n::int}', on_mismatch => 'skip');
END $$;

-- ---- drop() and DROP TABLE, one after the other
SELECT make() \gset
SELECT * FROM pg_temp.leftovers();
SELECT indextable.drop('two') \gset
SELECT * FROM pg_temp.leftovers();
INSERT INTO fact VALUES (4, '{"k": 4}');
DROP TABLE one;
CALL pg_temp.no_rows('pg_temp.leftovers()');
INSERT INTO fact VALUES (5, '{"k": 5}');
\d fact
-- again under the same name
SELECT indextable.create('one', 'fact', '{k}', include => '{n}') \gset
INSERT INTO fact VALUES (6, '{"k": 6}');
CALL pg_temp.compare('one', $$SELECT doc ->> 'k', id, doc ->> 'n' FROM fact WHERE doc ->> 'k' IS NOT NULL$$);
-- the fact table takes them along, as it takes its indexes
DROP TABLE fact;
CALL pg_temp.no_rows('pg_temp.leftovers()');
SELECT count(*) FROM pg_class WHERE relname IN ('one', 'two');

-- ---- both at once, in either order; IF EXISTS; CASCADE
SELECT make() \gset
DROP TABLE one, fact, two;
CALL pg_temp.no_rows('pg_temp.leftovers()');
SELECT make() \gset
DROP TABLE IF EXISTS two, nope, one;
CALL pg_temp.no_rows('pg_temp.leftovers()');
DROP TABLE fact;

-- ---- what depends on an index table keeps it, or goes with CASCADE
SELECT make() \gset
CREATE VIEW shown AS SELECT k FROM one;
SELECT indextable.drop('one');
\echo :LAST_ERROR_SQLSTATE
DROP TABLE one;
DROP TABLE fact;
SELECT count(*) FROM shown;
DROP TABLE fact CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');

-- ---- in a transaction, after writing; rolled back
SELECT make() \gset
BEGIN;
INSERT INTO fact VALUES (4, '{"k": 4}');
SELECT indextable.drop('one') \gset
INSERT INTO fact VALUES (5, '{"k": 5}');
SELECT * FROM pg_temp.leftovers() WHERE what = 'definition';
ROLLBACK;
SELECT * FROM pg_temp.leftovers();
INSERT INTO fact VALUES (6, '{"k": 6}');
CALL pg_temp.compare('one', $$SELECT doc ->> 'k', id FROM fact WHERE doc ->> 'k' IS NOT NULL$$);
BEGIN;
UPDATE fact SET doc = doc || '{"k": "u"}';
SAVEPOINT s;
DROP TABLE one, two;
UPDATE fact SET doc = doc || '{"k": "v"}' WHERE id = 1;
ROLLBACK TO s;
UPDATE fact SET doc = doc || '{"k": "w"}' WHERE id = 2;
COMMIT;
CALL pg_temp.compare('one', $$SELECT doc ->> 'k', id FROM fact WHERE doc ->> 'k' IS NOT NULL$$);
BEGIN;
INSERT INTO fact VALUES (7, '{"k": 7}');
DROP TABLE fact;
CALL pg_temp.no_rows('pg_temp.leftovers()');
ROLLBACK;
BEGIN; DELETE FROM fact WHERE id = 7; DROP TABLE one, two; COMMIT;
CALL pg_temp.no_rows('pg_temp.leftovers()');
INSERT INTO fact VALUES (7, '{"k": 7}');
DROP TABLE fact;
-- made and dropped in one transaction, with writes between
BEGIN;
SELECT make() \gset
INSERT INTO fact VALUES (8, '{"k": 8}');
SELECT * FROM one ORDER BY id;
SELECT indextable.drop('one') \gset
UPDATE fact SET doc = '{"k": 9}' WHERE id = 8;
SELECT indextable.create('one', 'fact', '{k}', 'denormalized') \gset
DELETE FROM fact WHERE id = 1;
SELECT * FROM one ORDER BY id;
COMMIT;
CALL pg_temp.compare('one', $$SELECT doc ->> 'k', id, doc FROM fact$$);
-- dropped by a trigger while the table is written
CREATE FUNCTION drop_it() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN DROP TABLE droptest.one; RETURN NULL; END$$;
CREATE TRIGGER a_drop AFTER INSERT ON fact FOR EACH ROW EXECUTE FUNCTION drop_it();
INSERT INTO fact VALUES (20, '{"k": 20}');
SELECT count(*) FROM pg_class WHERE relname = 'one';
CALL pg_temp.compare('two', $$SELECT (doc ->> 'n')::int, id FROM fact WHERE coalesce(doc ->> 'n', '0') ~ '^[0-9]+$'$$);
DROP TABLE fact;
CALL pg_temp.no_rows('pg_temp.leftovers()');

-- ---- DROP SCHEMA, DROP OWNED
SELECT make() \gset
CREATE SCHEMA droptest_other;
SELECT indextable.create('droptest_other.three', 'fact', '{k}') \gset
DROP SCHEMA droptest_other;
DROP SCHEMA droptest_other CASCADE;
SELECT * FROM pg_temp.leftovers() WHERE what <> 'triggers';
CREATE SCHEMA droptest_facts;
ALTER TABLE fact SET SCHEMA droptest_facts;
DROP SCHEMA droptest_facts CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
CREATE ROLE regress_it_dropper;
GRANT ALL ON SCHEMA droptest TO regress_it_dropper;
SET ROLE regress_it_dropper;
SELECT make() \gset
DROP OWNED BY regress_it_dropper;
RESET ROLE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
-- an owner who is no superuser drops, too
GRANT ALL ON SCHEMA droptest TO regress_it_dropper;
SET ROLE regress_it_dropper;
SELECT make() \gset
INSERT INTO fact VALUES (10, '{"n": "x"}');
SELECT indextable.drop('one') \gset
DROP TABLE two;
RESET ROLE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
SET ROLE regress_it_dropper;
DROP TABLE fact;
RESET ROLE;
DROP OWNED BY regress_it_dropper;
DROP ROLE regress_it_dropper;

-- ---- what is no index table
CREATE TABLE plain (id int PRIMARY KEY, doc jsonb);
SELECT indextable.drop('plain');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.drop('nope');
SELECT indextable.drop(0);
SELECT indextable.drop(NULL) \gset
SELECT indextable.create('plain_k', 'plain', '{k}') \gset
SELECT indextable.drop('plain_k_k_id_key');
SELECT indextable.drop('plain');

-- ---- what the upkeep needs cannot be taken from it unnoticed: that is refused, or the next write is, or the index
-- table is invalid afterwards
CREATE FUNCTION noticed(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	BEGIN
		EXECUTE command;
		BEGIN
			INSERT INTO plain VALUES (1, '{"k": 1}');
		EXCEPTION WHEN object_not_in_prerequisite_state THEN RAISE EXCEPTION 'noticed';
		END;
		IF EXISTS (SELECT FROM indextable.index_tables WHERE index_table = 'plain_k'::regclass AND state <> 'invalid') THEN
			PERFORM FROM pg_temp.oracle('plain_k', 'SELECT doc ->> ''k'', id FROM plain');
			IF FOUND OR (SELECT count(DISTINCT relpersistence) > 1 FROM pg_class WHERE oid IN ('plain'::regclass, 'plain_k'::regclass)) THEN
				RAISE EXCEPTION 'NOT NOTICED';
			END IF;
			RAISE EXCEPTION 'harmless';
		END IF;
		RAISE EXCEPTION 'noticed';
	EXCEPTION WHEN raise_exception THEN result := SQLERRM; WHEN OTHERS THEN result := 'noticed';    -- refused
	END;
	RETURN result;
END $$;
SELECT command, noticed(command) FROM (VALUES
	('DROP TRIGGER indextable_row ON plain'),
	('DROP TRIGGER indextable_end ON plain'),
	('ALTER TABLE plain DISABLE TRIGGER indextable_row'),
	('ALTER TABLE plain DISABLE TRIGGER ALL'),
	('ALTER TABLE plain DISABLE TRIGGER USER'),
	('ALTER TABLE plain DROP CONSTRAINT plain_pkey'),
	('ALTER TABLE plain DROP COLUMN id'),
	('ALTER TABLE plain DROP COLUMN doc'),
	('ALTER TABLE plain ALTER COLUMN id TYPE bigint'),
	('ALTER TABLE plain SET UNLOGGED'),
	('ALTER TABLE plain_k DROP COLUMN k'),
	('ALTER TABLE plain_k DROP CONSTRAINT plain_k_k_id_key'),
	('ALTER TABLE plain_k ADD COLUMN x int NOT NULL'),
	('ALTER TABLE plain_k ALTER COLUMN k TYPE varchar'),
	('ALTER TABLE plain_k ADD CHECK (k <> ''1'')'),
	('ALTER TABLE plain_k ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY'),
	('CREATE UNIQUE INDEX ON plain_k (k)'),
	('CREATE INDEX ON plain_k (length(k)) WHERE id > 0')) v(command);
DROP TABLE plain;

-- ---- the extension: its members are safe; dropping it is refused while there are index tables
SELECT make() \gset
\set VERBOSITY terse
DROP EXTENSION indextable;
\set VERBOSITY default
\echo :LAST_ERROR_SQLSTATE
DROP FUNCTION indextable_internal.maintain();
DROP TABLE indextable_internal.definition;
BEGIN;
SET client_min_messages = warning;
DROP EXTENSION indextable CASCADE;
RESET client_min_messages;
-- the fact table is there, and can be written; what were index tables are plain tables
INSERT INTO fact VALUES (11, '{"k": 11}');
SELECT count(*) FROM fact;
SELECT tgname FROM pg_trigger WHERE tgrelid IN ('fact'::regclass, 'one'::regclass);
CREATE EXTENSION indextable;
DROP TABLE one;
SELECT indextable.create('one', 'fact', '{k}') \gset
CALL pg_temp.compare('one', $$SELECT doc ->> 'k', id FROM fact$$);
ROLLBACK;
CALL pg_temp.compare('one', $$SELECT doc ->> 'k', id FROM fact$$);

-- indextable.drop_table keeps schema tools from dropping what they do not know
SET indextable.drop_table = off;
\set VERBOSITY terse
DROP TABLE IF EXISTS none, one CASCADE;
\set VERBOSITY default
BEGIN;
SELECT indextable.drop('one') \gset
ROLLBACK;
BEGIN;
DROP TABLE one, fact CASCADE;
ROLLBACK;
RESET indextable.drop_table;

-- and a table that they have made of an index table, without rows, is replaced
CREATE TABLE copied (LIKE one INCLUDING INDEXES);
SELECT replace(obj_description('one'::regclass), 'one', 'copied') AS comment \gset
\set VERBOSITY terse
SELECT indextable.create('copied', 'fact', '{k}', if_not_exists => true);
COMMENT ON TABLE copied IS :'comment';
INSERT INTO copied VALUES ('k', 1);
\set VERBOSITY default
SELECT indextable.create('copied', 'fact', '{k}', if_not_exists => true);
TRUNCATE copied;
CREATE ROLE regress_copied;
ALTER TABLE copied OWNER TO regress_copied;
\set VERBOSITY terse
SELECT indextable.create('copied', 'fact', '{k}', if_not_exists => true);
\set VERBOSITY default
ALTER TABLE copied OWNER TO CURRENT_USER;
DROP ROLE regress_copied;
SELECT indextable.create('copied', 'fact', '{k}', if_not_exists => true) \gset
SELECT indextable.create('copied', 'fact', '{k}', if_not_exists => true) \gset
CALL pg_temp.compare('copied', $$SELECT doc ->> 'k', id FROM fact$$);

SET client_min_messages = warning;
DROP SCHEMA droptest CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
