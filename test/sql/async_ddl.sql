-- Asynchronous index tables that are dropped, renamed and given away; who may
-- drain, and who sees what.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE ROLE regress_it_owner;
CREATE ROLE regress_it_other;
CREATE ROLE regress_it_member IN ROLE regress_it_owner;
CREATE SCHEMA asyncddl;
GRANT USAGE ON SCHEMA asyncddl TO PUBLIC;
GRANT CREATE ON SCHEMA asyncddl TO regress_it_owner;
SET search_path = asyncddl;
-- What is there of a queue: of which table, whether both tables exist; then tables that belong to none.
CREATE FUNCTION queues() RETURNS TABLE (fact_table text, queued bigint, tables bigint) LANGUAGE sql AS $$
	SELECT f.fact_table::text, (indextable_internal.queue_status(f.fact_table)).backlog, (SELECT count(*) FROM pg_class WHERE oid IN (queue, spare))
	FROM indextable_internal.fact f WHERE queue IS NOT NULL OR spare IS NOT NULL
	UNION ALL
	SELECT 'none', NULL, count(*) FROM pg_class WHERE relnamespace = 'indextable_queues'::regnamespace AND relname LIKE 'queue\_%' AND relkind = 'r'
		AND oid NOT IN (SELECT unnest(ARRAY[queue, spare]) FROM indextable_internal.fact WHERE queue IS NOT NULL) HAVING count(*) > 0
	ORDER BY 1
$$;
CREATE FUNCTION make() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	CREATE TABLE fact (id int PRIMARY KEY, doc jsonb);
	INSERT INTO fact SELECT i, jsonb_build_object('k', i, 'n', 'x') FROM generate_series(1, 3) i;
	PERFORM indextable.create('one', 'fact', '{k}', maintenance => 'async');
	PERFORM indextable.create('two', 'fact', '{k}', include => '{n}', maintenance => 'async');
	PERFORM indextable.create('sync', 'fact', '{k}', 'denormalized');
	UPDATE fact SET doc = doc || '{"k": "queued"}' WHERE id = 1;
END $$;

-- ---- one of two, the last asynchronous one, the last one, with changes queued
SELECT make() \gset
SELECT * FROM queues();
SELECT indextable.drop('two') \gset
SELECT * FROM queues();
SELECT indextable.drain();
CALL pg_temp.compare('one', $$SELECT doc ->> 'k', id FROM fact$$);
INSERT INTO fact VALUES (4, '{"k": 4}');
SELECT indextable.drop('one') \gset
CALL pg_temp.no_rows('queues()');
SELECT * FROM pg_temp.leftovers();
INSERT INTO fact VALUES (5, '{"k": 5}');
SELECT indextable.drain('fact');
CALL pg_temp.compare('sync', $$SELECT doc ->> 'k', id, doc FROM fact$$);
-- again, by DROP TABLE, and by the fact table
SELECT indextable.create('one', 'fact', '{k}', maintenance => 'async') \gset
DELETE FROM fact WHERE id = 1;
DROP TABLE one;
CALL pg_temp.no_rows('queues()');
INSERT INTO fact VALUES (6, '{"k": 6}');
SELECT indextable.create('one', 'fact', '{k}', maintenance => 'async') \gset
DROP TABLE sync;
INSERT INTO fact VALUES (7, '{"k": 7}');
SELECT * FROM queues();
SELECT indextable.drain('fact');
CALL pg_temp.compare('one', $$SELECT doc ->> 'k', id FROM fact$$);
INSERT INTO fact VALUES (8, '{"k": 8}');
DROP TABLE one;
CALL pg_temp.no_rows('queues()');
CALL pg_temp.no_rows('pg_temp.leftovers()');
\d fact
DROP TABLE fact;
SELECT make() \gset
DROP TABLE fact;
CALL pg_temp.no_rows('queues()');
CALL pg_temp.no_rows('pg_temp.leftovers()');
SELECT make() \gset
DROP TABLE two, fact, one;
CALL pg_temp.no_rows('queues()');
SELECT make() \gset
ALTER TABLE fact RENAME TO renamed;
DROP TABLE renamed CASCADE;
CALL pg_temp.no_rows('queues()');

-- ---- rolled back, after writing and before
SELECT make() \gset
BEGIN;
INSERT INTO fact VALUES (4, '{"k": 4}');
SELECT indextable.drop('one'), indextable.drop('two') \gset
INSERT INTO fact VALUES (5, '{"k": 5}');
CALL pg_temp.no_rows('queues()');
ROLLBACK;
SELECT * FROM queues();
BEGIN;
INSERT INTO fact VALUES (4, '{"k": 4}');
SAVEPOINT s;
DROP TABLE one, two;
INSERT INTO fact VALUES (5, '{"k": 5}');
ROLLBACK TO s;
INSERT INTO fact VALUES (6, '{"k": 6}');
COMMIT;
SELECT * FROM queues();
SELECT indextable.drain();
CALL pg_temp.compare('one', $$SELECT doc ->> 'k', id FROM fact$$);
BEGIN; INSERT INTO fact VALUES (7, '{"k": 7}'); DROP TABLE fact; ROLLBACK;
-- in the transaction that has drained, and that drains after
BEGIN;
INSERT INTO fact VALUES (8, '{"k": 8}');
SELECT indextable.drain();
SELECT indextable.drop('one') \gset
INSERT INTO fact VALUES (9, '{"k": 9}');
SELECT indextable.drain();
COMMIT;
SELECT * FROM queues();
CALL pg_temp.compare('two', $$SELECT doc ->> 'k', id, doc ->> 'n' FROM fact$$);
BEGIN; DELETE FROM fact WHERE id = 9; DROP TABLE two; COMMIT;
CALL pg_temp.no_rows('queues()');
SELECT indextable.drain();
DROP TABLE fact;
-- made and dropped in one transaction
BEGIN;
SELECT make() \gset
INSERT INTO fact VALUES (8, '{"k": 8}');
SELECT indextable.drop('one') \gset
UPDATE fact SET doc = '{"k": 9}' WHERE id = 8;
SELECT indextable.create('one', 'fact', '{k}', maintenance => 'async') \gset
SELECT indextable.drop('two') \gset
DELETE FROM fact WHERE id = 1;
COMMIT;
SELECT indextable.drain() > 0 AS some;
CALL pg_temp.compare('one', $$SELECT doc ->> 'k', id FROM fact$$);
-- dropped by a trigger while the table is written
CREATE FUNCTION drop_it() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN DROP TABLE asyncddl.one; RETURN NULL; END$$;
CREATE TRIGGER a_drop AFTER INSERT ON fact FOR EACH ROW EXECUTE FUNCTION drop_it();
INSERT INTO fact VALUES (20, '{"k": 20}');
CALL pg_temp.no_rows('queues()');
CALL pg_temp.compare('sync', $$SELECT doc ->> 'k', id, doc FROM fact$$);
DROP TABLE fact;
CALL pg_temp.no_rows('pg_temp.leftovers()');

-- ---- the extension: queue tables are no members of it, but go with it
SELECT make() \gset
SELECT count(*) FROM pg_depend d, indextable_internal.fact f WHERE d.classid = 'pg_class'::regclass AND d.objid IN (f.queue, f.spare)
	AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'a';
BEGIN;
SET client_min_messages = warning;
INSERT INTO fact VALUES (4, '{"k": 4}');
DROP EXTENSION indextable CASCADE;
RESET client_min_messages;
SELECT relname FROM pg_class WHERE relname ~ '^queue_[0-9]+';
INSERT INTO fact VALUES (11, '{"k": 11}');
CREATE EXTENSION indextable;
DROP TABLE one;
SELECT indextable.create('one', 'fact', '{k}', maintenance => 'async') \gset
INSERT INTO fact VALUES (12, '{"k": 12}');
SELECT indextable.drain() > 0 AS some;
CALL pg_temp.compare('one', $$SELECT doc ->> 'k', id FROM fact$$);
ROLLBACK;
SELECT * FROM queues();
-- they cannot have index tables themselves
DO $$ BEGIN PERFORM indextable.create('x', queue, '{k}') FROM indextable_internal.fact; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', regexp_replace(SQLERRM, 'queue_\d+', 'queue_N'); END $$;
DROP TABLE fact;

-- ---- other names, other places
SELECT make() \gset
ALTER TABLE fact RENAME TO facts;
INSERT INTO facts VALUES (4, '{"k": "renamed"}');
ALTER TABLE facts RENAME id TO number;
ALTER TABLE facts RENAME doc TO document;
UPDATE facts SET document = document || '{"n": "y"}' WHERE number = 2;
ALTER TABLE one RENAME TO first;
ALTER TABLE first RENAME k TO town;
ALTER TABLE facts ADD COLUMN doc jsonb, ADD COLUMN id int;
UPDATE facts SET number = 30 WHERE number = 3;
SELECT * FROM queues();
SELECT indextable.drain('facts');
SELECT * FROM first ORDER BY id;
CALL pg_temp.compare('first', $$SELECT document ->> 'k', number FROM facts$$);
CALL pg_temp.compare('two', $$SELECT document ->> 'k', number, document ->> 'n' FROM facts$$);
CREATE SCHEMA asyncddl_elsewhere;
INSERT INTO facts VALUES (5, '{"k": "moved"}');
ALTER TABLE facts SET SCHEMA asyncddl_elsewhere;
ALTER TABLE two SET SCHEMA asyncddl_elsewhere;
INSERT INTO asyncddl_elsewhere.facts VALUES (6, '{"k": "moved"}');
SELECT number FROM indextable.lookup(NULL::asyncddl_elsewhere.facts, 'first', '{"town": "renamed"}');
SELECT indextable.drain();
SELECT index_table, fact_table, key, backlog FROM indextable.index_tables JOIN indextable.index_table_stats USING (index_table, fact_table) ORDER BY index_table::text;
CALL pg_temp.compare('first', $$SELECT document ->> 'k', number FROM asyncddl_elsewhere.facts$$);
CALL pg_temp.compare('asyncddl_elsewhere.two', $$SELECT document ->> 'k', number, document ->> 'n' FROM asyncddl_elsewhere.facts$$);
-- what they depend on stays as it is
ALTER TABLE asyncddl_elsewhere.facts DROP COLUMN number;
ALTER TABLE asyncddl_elsewhere.facts ALTER number TYPE bigint;
ALTER TABLE asyncddl_elsewhere.facts DROP COLUMN document;
SET client_min_messages = warning;
DROP SCHEMA asyncddl_elsewhere CASCADE;
RESET client_min_messages;
CALL pg_temp.no_rows('queues()');
CALL pg_temp.no_rows('pg_temp.leftovers()');

-- ---- types of the primary key are the users' own
CREATE SCHEMA asyncddl_types;
CREATE TYPE asyncddl_types.mood AS ENUM ('sad', 'ok');
CREATE TABLE typed (id asyncddl_types.mood PRIMARY KEY, doc jsonb);
SELECT indextable.create('typed_k', 'typed', '{k}', maintenance => 'async') \gset
INSERT INTO typed VALUES ('ok', '{"k": 1}');
ALTER TYPE asyncddl_types.mood ADD VALUE 'happy';
ALTER TYPE asyncddl_types.mood RENAME VALUE 'sad' TO 'glum';
INSERT INTO typed VALUES ('happy', '{"k": 1}'), ('glum', '{"k": 2}');
SELECT indextable.drain();
CALL pg_temp.compare('typed_k', $$SELECT doc ->> 'k', id FROM typed$$);
DROP TABLE typed;
DROP SCHEMA asyncddl_types CASCADE;
CALL pg_temp.no_rows('queues()');

-- ---- who may drain: the fact table's owner, and nobody for others
SET ROLE regress_it_owner;
SELECT make() \gset
GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON fact TO regress_it_other;
GRANT SELECT ON one TO regress_it_other;
RESET ROLE;
CREATE TABLE super (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('super_k', 'super', '{k::int}', maintenance => 'async') \gset
INSERT INTO super VALUES (1, '{"k": 1}'), (2, '{"k": "poison"}');
SET ROLE regress_it_other;
-- who may write, needs no rights on the queue
INSERT INTO fact VALUES (4, '{"k": 4}');
UPDATE fact SET doc = doc || '{"k": "other"}' WHERE id = 2;
SELECT indextable.drain('fact');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.drain();
SELECT k FROM indextable.lookup('one', '{"k": "2"}') k;
RESET ROLE;
SELECT * FROM queues();
SET ROLE regress_it_member;
SELECT indextable.drain('super');
SELECT indextable.drain();
CALL pg_temp.compare('one', $$SELECT doc ->> 'k', id FROM fact$$);
RESET ROLE;
SELECT * FROM queues();
SELECT indextable.drain();
SELECT indextable.drain(999999999);
SELECT indextable.drain(0);
CALL pg_temp.compare('super_k', $$SELECT 1, 1$$);
-- whoever drains: what a filter or an index calls, runs as the owner, in a restricted operation
SET ROLE regress_it_owner;
CREATE TABLE trace (who name, path text);
CREATE FUNCTION act(what text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	IF what = 'role' THEN EXECUTE 'SET ROLE ' || quote_ident(session_user); END IF;
	INSERT INTO asyncddl.trace VALUES (current_user, current_setting('search_path'));
	RETURN true;
END $$;
-- says it is immutable, but is not
CREATE FUNCTION spy(what text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN asyncddl.act($1); END';
SELECT indextable.create('spied', 'fact', '{k}', filter => 'asyncddl.spy(doc ->> ''do'')', maintenance => 'async') \gset
CREATE INDEX ON spied (asyncddl.spy(k));
TRUNCATE trace;
SET ROLE regress_it_other;
INSERT INTO fact VALUES (5, '{"k": 5}');
RESET ROLE;
SELECT count(*) FROM trace;
SELECT indextable.drain('fact'), current_user = session_user AS same;
SELECT who, path, count(*) FROM trace GROUP BY who, path;
UPDATE fact SET doc = '{"k": 5, "do": "role"}' WHERE id = 5;
SELECT indextable.drain('fact'), current_user = session_user AS same;
SELECT index_table, primary_key, sqlstate, message FROM indextable.rejected WHERE index_table = 'spied'::regclass;

-- ---- who sees what: queues and index tables everybody, rejected rows the owner
SET ROLE regress_it_other;
SELECT fact_table, backlog, rejected, rate, workers, worker_state, last_error, applied FROM indextable.queues ORDER BY fact_table::text;
SELECT index_table, maintenance, backlog, rejected FROM indextable.index_tables JOIN indextable.index_table_stats USING (index_table, fact_table) ORDER BY index_table::text;
SELECT index_table, primary_key FROM indextable.rejected ORDER BY primary_key;
SELECT * FROM indextable_internal.rejection;
DELETE FROM indextable_internal.rejection;
DELETE FROM indextable.rejected;
UPDATE indextable.queues SET backlog = 0;
SELECT indextable.start_workers();
SELECT indextable.stop_workers();
SELECT * FROM indextable.workers();
SET ROLE regress_it_member;
SELECT index_table, primary_key FROM indextable.rejected ORDER BY primary_key;
RESET ROLE;
SELECT index_table, primary_key FROM indextable.rejected ORDER BY index_table::text;
-- queue tables are closed, whatever the default privileges are
ALTER DEFAULT PRIVILEGES GRANT SELECT, INSERT ON TABLES TO PUBLIC;
CREATE TABLE closed (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('closed_k', 'closed', '{k}', maintenance => 'async') \gset
ALTER DEFAULT PRIVILEGES REVOKE SELECT, INSERT ON TABLES FROM PUBLIC;
SELECT has_table_privilege('regress_it_other', queue, 'SELECT, INSERT') AS queue, has_table_privilege('regress_it_other', spare, 'SELECT, INSERT') AS spare
FROM indextable_internal.fact WHERE fact_table = 'closed'::regclass;

-- ---- given to another owner, with changes queued
INSERT INTO fact VALUES (6, '{"k": 6}');
ALTER TABLE fact OWNER TO regress_it_other;
SET ROLE regress_it_owner;
SELECT indextable.drain('fact');
SET ROLE regress_it_other;
SELECT indextable.drain('fact');
CALL pg_temp.compare('one', $$SELECT doc ->> 'k', id FROM fact$$);
SELECT index_table, primary_key FROM indextable.rejected ORDER BY primary_key;
RESET ROLE;

-- ---- row security of the fact table is none of the drain's business, but of look-ups
ALTER TABLE fact ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY none ON fact FOR SELECT TO regress_it_owner USING (id > 4);
CREATE POLICY all_in ON fact FOR INSERT TO regress_it_other WITH CHECK (true);
GRANT SELECT ON fact, one TO regress_it_owner;
INSERT INTO fact VALUES (7, '{"k": "secured"}'), (3, '{"k": "secured"}') ON CONFLICT (id) DO UPDATE SET doc = EXCLUDED.doc;
SET ROLE regress_it_other;
SELECT count(*) FROM fact;
SELECT indextable.drain('fact');
RESET ROLE;
CALL pg_temp.compare('one', $$SELECT doc ->> 'k', id FROM fact$$);
UPDATE fact SET doc = '{"k": "secure"}' WHERE id = 7;
INSERT INTO fact VALUES (8, '{"k": "secured"}');
SET ROLE regress_it_owner;
SELECT id FROM indextable.lookup(NULL::fact, 'one', '{"k": "secured"}');
RESET ROLE;
SELECT indextable.drain('fact');
SET ROLE regress_it_owner;
SELECT id FROM indextable.lookup(NULL::fact, 'one', '{"k": "secured"}');
RESET ROLE;

-- entries of a row are not searched in an index that compares keys in another way
CREATE TABLE text_key (id text PRIMARY KEY, doc jsonb);
SELECT indextable.create('text_key_k', 'text_key', '{k}', maintenance => 'async') \gset
CREATE INDEX other ON text_key_k (id text_pattern_ops);
DROP INDEX text_key_k_row_idx;
CREATE INDEX ON text_key_k (id);
DROP INDEX text_key_k_row_idx;
INSERT INTO text_key VALUES ('a', '{"k": "x"}');
SELECT indextable.drain('text_key');
TABLE text_key_k;

SET client_min_messages = warning;
DROP SCHEMA asyncddl CASCADE;
DROP OWNED BY regress_it_owner, regress_it_other, regress_it_member;
DROP ROLE regress_it_owner, regress_it_other, regress_it_member;
CALL pg_temp.no_rows('pg_temp.leftovers()');
SELECT count(*) FROM indextable.queues;
SELECT count(*) FROM indextable_internal.rejection;
