-- Prepared transactions and asynchronous index tables: what they change is
-- queued when they are committed.  Needs max_prepared_transactions.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
SELECT current_setting('max_prepared_transactions')::int < 2 AS skip \gset
\if :skip
\quit
\endif
CREATE SCHEMA asyncprepared;
SET search_path = asyncprepared;
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('by_k', 'fact', '{k}', maintenance => 'async') \gset
SELECT indextable.create('at_once', 'fact', '{k}') \gset
CREATE FUNCTION queued() RETURNS bigint LANGUAGE sql AS $$SELECT backlog FROM indextable.queues WHERE fact_table = 'fact'::regclass$$;
BEGIN;
INSERT INTO fact VALUES (1, '{"k": "committed"}');
SAVEPOINT s;
INSERT INTO fact VALUES (11, '{"k": "undone"}');
ROLLBACK TO s;
SELECT pg_current_xact_id() AS first \gset
PREPARE TRANSACTION 'regress_it_1';
BEGIN;
INSERT INTO fact VALUES (2, '{"k": "rolled back"}');
SELECT pg_current_xact_id() AS second \gset
PREPARE TRANSACTION 'regress_it_2';
INSERT INTO fact VALUES (3, '{"k": "meanwhile"}');
SELECT queued();
SELECT indextable.drain('fact');
SELECT * FROM by_k ORDER BY id;
-- others wait for what is committed, which this is not; by its number they do
SELECT indextable.wait('by_k', '0');
SELECT indextable.wait('by_k', '0', :'first'), indextable.wait('by_k', '0', :'second');
-- what comes after it is drained, before it and after it
INSERT INTO fact SELECT i, '{"k": "after"}' FROM generate_series(100, 1100) i;
SELECT indextable.drain('fact', 400);
DELETE FROM fact WHERE id > 100;
SELECT indextable.drain('fact');
SELECT indextable.drain('fact');
COMMIT PREPARED 'regress_it_1';
ROLLBACK PREPARED 'regress_it_2';
SELECT queued();
SELECT indextable.wait('by_k', '0', :'first'), indextable.wait('by_k', '0', :'second');
SELECT indextable.drain('fact');
SELECT indextable.wait('by_k', '0', :'first'), indextable.wait('by_k', '0', :'second');
SELECT * FROM by_k ORDER BY id;
UPDATE fact SET doc = '{"k": "now"}' WHERE id = 1;
SELECT indextable.drain('fact');
CALL pg_temp.compare('by_k', $$SELECT doc ->> 'k', id FROM fact$$);
CALL pg_temp.compare('at_once', $$SELECT doc ->> 'k', id FROM fact$$);
-- so many changes that they are queued before it is prepared
BEGIN;
INSERT INTO fact SELECT i, '{"k": "many"}' FROM generate_series(1000, 21000) i;
PREPARE TRANSACTION 'regress_it_1';
SELECT queued();
INSERT INTO fact VALUES (4, '{"k": "meanwhile"}');
SELECT indextable.drain('fact');
COMMIT PREPARED 'regress_it_1';
SELECT queued();
DELETE FROM fact WHERE id >= 1000;
SELECT indextable.drain('fact');
CALL pg_temp.compare('by_k', $$SELECT doc ->> 'k', id FROM fact$$);
-- TRUNCATE
INSERT INTO fact VALUES (5, '{"k": "truncated"}');
BEGIN;
TRUNCATE fact;
INSERT INTO fact VALUES (6, '{"k": "after"}');
PREPARE TRANSACTION 'regress_it_1';
COMMIT PREPARED 'regress_it_1';
SELECT indextable.drain('fact');
SELECT * FROM by_k;
-- a transaction that drains
INSERT INTO fact VALUES (7, '{"k": "before"}');
BEGIN;
INSERT INTO fact VALUES (8, '{"k": "drained"}');
SELECT indextable.drain('fact');
INSERT INTO fact VALUES (9, '{"k": "not drained"}');
PREPARE TRANSACTION 'regress_it_1';
COMMIT PREPARED 'regress_it_1';
SELECT queued();
BEGIN;
INSERT INTO fact VALUES (10, '{"k": "rolled back"}');
SELECT indextable.drain('fact');
PREPARE TRANSACTION 'regress_it_1';
ROLLBACK PREPARED 'regress_it_1';
SELECT queued();
SELECT indextable.drain('fact');
CALL pg_temp.compare('by_k', $$SELECT doc ->> 'k', id FROM fact$$);
-- create and drop
BEGIN;
INSERT INTO fact VALUES (20, '{"k": "before"}');
SELECT indextable.create('late', 'fact', '{k}', maintenance => 'async') \gset
INSERT INTO fact VALUES (21, '{"k": "late"}');
PREPARE TRANSACTION 'regress_it_1';
COMMIT PREPARED 'regress_it_1';
SELECT indextable.drain('fact');
CALL pg_temp.compare('late', $$SELECT doc ->> 'k', id FROM fact$$);
BEGIN;
INSERT INTO fact VALUES (22, '{"k": "queued"}');
SELECT indextable.drop('by_k'), indextable.drop('late') \gset
PREPARE TRANSACTION 'regress_it_1';
COMMIT PREPARED 'regress_it_1';
CALL pg_temp.compare('at_once', $$SELECT doc ->> 'k', id FROM fact$$);
SELECT queued();

-- a queue with a TOAST table
CREATE TABLE long (id text PRIMARY KEY, doc jsonb);
SELECT indextable.create('long_k', 'long', '{k}', maintenance => 'async') \gset
BEGIN;
INSERT INTO long VALUES ('x', '{"k": "a"}');
PREPARE TRANSACTION 'regress_it_1';
COMMIT PREPARED 'regress_it_1';
SELECT indextable.drain('long');
CALL pg_temp.compare('long_k', $$SELECT doc ->> 'k', id FROM long$$);

-- a queue that a prepared transaction has locked stays when its last index table goes, until the next drain
CREATE TABLE left_behind (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('left_k', 'left_behind', '{k}', maintenance => 'async'), indextable.create('left_s', 'left_behind', '{k}') \gset
BEGIN;
INSERT INTO left_behind VALUES (1, '{"k": "a"}');
PREPARE TRANSACTION 'regress_it_1';
DROP TABLE left_k;
COMMIT PREPARED 'regress_it_1';
SELECT backlog FROM indextable.queues WHERE fact_table = 'left_behind'::regclass;
SELECT indextable.drain('left_behind');
SELECT backlog FROM indextable.queues WHERE fact_table = 'left_behind'::regclass;
INSERT INTO left_behind VALUES (2, '{"k": "b"}');
CALL pg_temp.compare('left_s', $$SELECT doc ->> 'k', id FROM left_behind$$);

SET client_min_messages = warning;
DROP SCHEMA asyncprepared CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
