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
	UNION ALL SELECT 'relation', relname FROM pg_class WHERE relname ~ '^queue_[0-9]+' OR relnamespace IN (to_regnamespace('indextable'), to_regnamespace('indextable_internal'), to_regnamespace('indextable_queues'))
	UNION ALL SELECT 'type', typname FROM pg_type WHERE typnamespace IN (to_regnamespace('indextable'), to_regnamespace('indextable_internal'), to_regnamespace('indextable_queues'))
	UNION ALL SELECT 'function', proname FROM pg_proc WHERE pronamespace IN (to_regnamespace('indextable'), to_regnamespace('indextable_internal'), to_regnamespace('indextable_queues'))
	UNION ALL SELECT 'dependency', d.objid::text FROM pg_depend d
		WHERE classid = 'pg_class'::regclass AND NOT EXISTS (SELECT FROM pg_class WHERE oid = objid)
			OR refclassid = 'pg_class'::regclass AND NOT EXISTS (SELECT FROM pg_class WHERE oid = refobjid);

-- ---- refused without CASCADE; with it, index tables are plain tables
SELECT make() \gset
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
SELECT make() \gset
BEGIN;
INSERT INTO f VALUES (3, '{"k": 3}');
DROP EXTENSION indextable CASCADE;
CREATE EXTENSION indextable;
INSERT INTO f VALUES (4, '{"k": 4}');
SELECT indextable.create('t2', 'f', '{k}'), indextable.create('a2', 'f', '{k}', maintenance => 'async') \gset
INSERT INTO f VALUES (5, '{"k": 5}');
COMMIT;
SELECT indextable.drain();
CALL pg_temp.compare('t2', $$SELECT doc ->> 'k', id FROM f$$);
CALL pg_temp.compare('a2', $$SELECT doc ->> 'k', id FROM f$$);
DROP TABLE f;
CALL pg_temp.no_rows('pg_temp.leftovers()');

-- ---- rolled back to a savepoint
SELECT make() \gset
BEGIN;
INSERT INTO f VALUES (3, '{"k": 3}');
SAVEPOINT s;
DROP EXTENSION indextable CASCADE;
INSERT INTO f VALUES (4, '{"k": 4}');
ROLLBACK TO s;
INSERT INTO f VALUES (5, '{"k": 5}');
COMMIT;
SELECT indextable.drain();
CALL pg_temp.compare('t', $$SELECT doc ->> 'k', id FROM f$$);
CALL pg_temp.compare('a', $$SELECT doc ->> 'k', id FROM f$$);
CALL indextable.build('b');
CALL pg_temp.compare('b', $$SELECT doc ->> 'k', id FROM f$$);

-- ---- DROP SCHEMA, DROP TABLE, after DML, committed and rolled back
BEGIN;
INSERT INTO f VALUES (7, '{"k": 7}');
UPDATE f SET doc = '{"k": "moved"}' WHERE id = 2;
DROP TABLE f;
COMMIT;
CALL pg_temp.no_rows('pg_temp.leftovers()');
CREATE SCHEMA ext_more;
SET search_path = ext_more, ext;
SELECT make() \gset
BEGIN;
INSERT INTO f VALUES (7, '{"k": 7}');
SAVEPOINT s;
DROP SCHEMA ext_more CASCADE;
ROLLBACK TO s;
INSERT INTO f VALUES (8, '{"k": 8}');
COMMIT;
SELECT indextable.drain();
CALL pg_temp.compare('t', $$SELECT doc ->> 'k', id FROM f$$);
CALL pg_temp.compare('a', $$SELECT doc ->> 'k', id FROM f$$);
BEGIN;
DELETE FROM f WHERE id = 1;
DROP SCHEMA ext_more CASCADE;
COMMIT;
CALL pg_temp.no_rows('pg_temp.leftovers()');
SELECT * FROM remains WHERE name ~ 'queue_[0-9]' OR what = 'dependency';

-- ---- what is its own is refused to superusers, too; %s is the queue table of f
SET search_path = ext;
SELECT make() \gset
CREATE FUNCTION refused(command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE replace(command, '%s', (SELECT queue::text FROM indextable_internal.fact));
	RAISE 'done' USING errcode = 'P0099';
EXCEPTION WHEN OTHERS THEN
	RETURN CASE SQLSTATE WHEN 'P0099' THEN 'accepted' ELSE SQLSTATE || ' ' || regexp_replace(SQLERRM, 'queue_\d+', 'queue_N') END;
END $$;
SELECT command, refused(command) FROM unnest(ARRAY[
	'DROP TABLE %s', 'DROP TABLE %s CASCADE', 'DROP TABLE IF EXISTS plain, %s',
	'ALTER TABLE %s RENAME TO other', 'ALTER TABLE %s RENAME key1 TO other', 'ALTER TABLE %s SET SCHEMA ext', 'ALTER TABLE %s OWNER TO current_user',
	'ALTER TABLE %s ADD x int', 'ALTER TABLE %s DROP key1', 'ALTER TABLE %s DROP key1 CASCADE', 'ALTER TABLE %s ALTER key1 TYPE bigint', 'ALTER TABLE %s SET UNLOGGED', 'ALTER TABLE %s ADD PRIMARY KEY (key1)',
	'ALTER TABLE %s SET (fillfactor = 50), SET TABLESPACE pg_default', 'ALTER TABLE %s DISABLE TRIGGER ALL',
	'DROP TABLE indextable_internal.definition CASCADE', 'ALTER TABLE indextable_internal.definition RENAME TO other', 'ALTER TABLE indextable_internal.fact ADD x int', 'ALTER TABLE indextable_internal.fact RENAME queue TO other',
	'ALTER TABLE indextable_internal.fact SET SCHEMA ext', 'ALTER TABLE indextable_internal.definition DROP CONSTRAINT definition_pkey', 'ALTER TABLE indextable_internal.definition_pkey RENAME TO other',
	'DROP INDEX indextable_internal.definition_fact_table', 'DROP INDEX indextable_internal.definition_pkey', 'DROP TRIGGER restored ON indextable_internal.fact', 'ALTER TRIGGER restored ON indextable_internal.fact RENAME TO other',
	'ALTER VIEW indextable.queues RENAME TO other', 'DROP VIEW indextable.queues CASCADE', 'ALTER FUNCTION indextable_internal.maintain() RENAME TO other', 'ALTER FUNCTION indextable_internal.maintain() SET SCHEMA ext',
	'DROP FUNCTION indextable_internal.maintain() CASCADE', 'DROP EVENT TRIGGER indextable_on_drop', 'ALTER EXTENSION indextable DROP TABLE indextable_internal.definition', 'ALTER EXTENSION indextable DROP EVENT TRIGGER indextable_on_drop',
	'ALTER INDEX indextable_internal.definition_pkey RENAME TO other', 'ALTER PROCEDURE indextable.build(regclass, integer, interval) RENAME TO other',
	'ALTER SCHEMA indextable_internal RENAME TO other', 'DROP SCHEMA indextable_internal CASCADE',
	'ALTER SCHEMA indextable RENAME TO other', 'ALTER SCHEMA indextable OWNER TO current_user', 'DROP SCHEMA indextable', 'DROP SCHEMA indextable CASCADE',
	'DROP INDEX a_row_idx', 'ALTER INDEX a_row_idx RENAME TO other', 'CREATE INDEX ON a (id); DROP INDEX a_row_idx', 'DROP TABLE a', 'DROP TABLE f', 'DROP EXTENSION indextable CASCADE']) command;
SELECT indextable.drain(), queue IS NOT NULL FROM indextable_internal.fact;
CALL pg_temp.compare('a', $$SELECT doc ->> 'k', id FROM f$$);

-- ---- where no event trigger fires, a queue table is lost: that is trouble of one fact table's asynchronous index
-- tables, which say so, and of nobody else's; it is mended by repair(), drop() or rebuild()
CREATE TABLE g (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('g_a', 'g', '{k}', maintenance => 'async'), indextable.create('a2', 'f', '{k}', maintenance => 'async') \gset
CALL indextable.build('b');
CREATE PROCEDURE lose(which text) LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL session_replication_role = replica;
	EXECUTE (SELECT replace(replace(which, 'queue', queue::text), 'spare', spare::text) FROM indextable_internal.fact WHERE fact_table = 'f'::regclass);
END $$;
CREATE VIEW states AS SELECT index_table, state, problem, backlog FROM indextable.index_tables JOIN indextable.index_table_stats USING (index_table, fact_table) WHERE maintenance = 'async' ORDER BY index_table::text;
CREATE VIEW drift AS
	SELECT x.* FROM (VALUES ('a', 'f'), ('a2', 'f'), ('g_a', 'g'), ('t', 'f')) v (i, f), pg_temp.oracle(i, format('SELECT doc ->> ''k'', id FROM %s', f)) x;
-- one of the two: writers use the other one
INSERT INTO f VALUES (21, '{"k": "in the queue table"}');
INSERT INTO g VALUES (21, '{"k": "of the other"}');
CALL lose('DROP TABLE queue');
INSERT INTO f VALUES (22, '{"k": "in the spare table"}');
SET client_min_messages = notice;
SELECT fact_table, backlog FROM indextable.queues ORDER BY 1::text;
SELECT indextable.wait('a', '0');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM indextable.lookup('a', '{"k": "1"}');
SELECT kind, primary_key, problem FROM indextable.verify('a');
SELECT * FROM indextable.verify('t');
SELECT indextable.drain();
SELECT indextable.drain('f'), indextable.drain('g'), indextable.wait('g_a');
SELECT * FROM states;
CALL pg_temp.compare('g_a', $$SELECT doc ->> 'k', id FROM g$$);
SELECT indextable.alter('a', maintenance => 'transactional');
CALL indextable.repair('a');
SELECT * FROM states;
CALL indextable.repair('a2');
INSERT INTO f VALUES (23, '{"k": "again"}');
SELECT indextable.drain();
CALL pg_temp.no_rows('drift');
SELECT * FROM indextable.verify('a');
-- both: a change is refused, before it is lost
CALL lose('DROP TABLE queue, spare');
INSERT INTO f VALUES (24, '{"k": "lost"}');
\echo :LAST_ERROR_SQLSTATE
INSERT INTO g VALUES (24, '{"k": "of the other"}');
SELECT indextable.drain();
SELECT * FROM states;
SELECT indextable.drop('a') \gset
INSERT INTO f VALUES (24, '{"k": "lost"}');
CALL indextable.rebuild('a2');
INSERT INTO f VALUES (24, '{"k": "queued 24"}');
SELECT indextable.drain();
SELECT * FROM states;
-- one that is another's, or not what it was
CALL lose('ALTER TABLE queue ALTER key1 TYPE bigint');
INSERT INTO f VALUES (25, '{"k": "queued 25"}');
SELECT indextable.drain();
CALL indextable.repair('a2');
UPDATE indextable_internal.fact SET queue = (SELECT queue FROM indextable_internal.fact WHERE fact_table = 'g'::regclass) WHERE fact_table = 'f'::regclass;
INSERT INTO f VALUES (26, '{"k": "queued 26"}');
INSERT INTO g VALUES (26, '{"k": "queued"}');
SELECT indextable.drain();
SELECT * FROM states;
-- a new one is not concerned; nor is one that becomes asynchronous
SELECT indextable.create('a', 'f', '{k}', maintenance => 'async') \gset
CALL lose('DROP TABLE spare');
SELECT indextable.alter('t', maintenance => 'async');
SELECT * FROM states;
CALL indextable.repair('a');
CALL indextable.repair('a2');
INSERT INTO f VALUES (27, '{"k": "queued 27"}');
SELECT indextable.drain();
CALL pg_temp.no_rows('drift');
SELECT * FROM states;
CALL lose('DROP TABLE queue, spare');
TRUNCATE f;
CALL pg_temp.no_rows('drift');
SET client_min_messages = warning;
DROP TABLE f;
DROP TABLE g;
CALL pg_temp.no_rows('pg_temp.leftovers()');

-- ---- definitions that are left where no event trigger fires are forgotten by whoever comes next
SELECT make() \gset
CREATE TABLE g (id int PRIMARY KEY, doc jsonb);
SET session_replication_role = replica;
DROP TABLE f;
RESET session_replication_role;
SELECT count(*) FROM pg_temp.leftovers();
SELECT indextable.create('g_k', 'g', '{k}') \gset
SELECT * FROM pg_temp.leftovers();
SET session_replication_role = replica;
DROP TABLE g_k;
RESET session_replication_role;
INSERT INTO g VALUES (1, '{"k": 1}');
SELECT indextable.create('g_k', 'g', '{k}') \gset
INSERT INTO g VALUES (2, '{"k": 1}');
CALL pg_temp.compare('g_k', $$SELECT doc ->> 'k', id FROM g$$);
SELECT * FROM pg_temp.leftovers();
-- a table that is no index table, nor a fact table, whatever the catalog says, is nobody's business
CREATE TABLE victim (k text, id int, PRIMARY KEY (k, id));
CREATE TABLE other (id int PRIMARY KEY, doc jsonb);
INSERT INTO victim VALUES ('a', 1);
INSERT INTO other VALUES (1, '{"k": 1}');
SET session_replication_role = replica;
INSERT INTO indextable_internal.definition SELECT 'victim', 'g', 'g'::regclass, fact_columns, primary_key, document, key, include, filter, strategy, maintenance, is_unique, on_mismatch, state FROM indextable_internal.definition;
INSERT INTO indextable_internal.fact VALUES ('other', 'victim', 'victim');
RESET session_replication_role;
INSERT INTO victim VALUES ('b', 2);
ALTER TABLE g SET (fillfactor = 90);
-- it could be one that a restore has not come to the triggers of
INSERT INTO g VALUES (3, '{"k": 1}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.lookup('victim', '{"k": "a"}');
CALL indextable.repair('victim');
ALTER TABLE victim ADD more int NOT NULL DEFAULT 1;
INSERT INTO g VALUES (3, '{"k": 1}');
ALTER TABLE other OWNER TO current_user, ALTER doc TYPE text;
SELECT indextable.drain();
BEGIN;
DROP TABLE g, other;
SELECT count(*) FROM victim;
ROLLBACK;
SELECT * FROM pg_temp.leftovers();
SELECT indextable.drop('victim');
INSERT INTO g VALUES (4, '{"k": 1}');
SELECT * FROM pg_temp.leftovers();
SELECT * FROM victim;
CALL pg_temp.compare('g_k', $$SELECT doc ->> 'k', id FROM g$$);

SET search_path = ext;
DROP SCHEMA ext CASCADE;
