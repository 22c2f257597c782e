-- How far asynchronous index tables are behind, waiting for them, look-ups that
-- must not be stale, and what happens to writers when the backlog is too large.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE ROLE regress_it_reader;
CREATE SCHEMA asyncwait;
GRANT USAGE ON SCHEMA asyncwait TO PUBLIC;
SET search_path = asyncwait;
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('by_k', 'fact', '{k}', maintenance => 'async') \gset
SELECT indextable.create('by_v', 'fact', '{v}', include => '{k}', maintenance => 'async') \gset
SELECT indextable.create('copies', 'fact', '{k}', 'denormalized', maintenance => 'async') \gset
SELECT indextable.create('at_once', 'fact', '{k}') \gset

-- ---- nothing is queued; something is; something else is
SELECT indextable.wait('by_k'), indextable.wait('by_k', '0'), indextable.wait('by_k', NULL);
INSERT INTO fact VALUES (1, '{"k": "a"}');
SELECT indextable.wait('by_k', '0'), indextable.wait('by_k', '20 ms'), indextable.wait('by_v', '0');
SELECT indextable.wait('at_once'), indextable.wait('at_once', NULL);
SELECT indextable.drain();
SELECT indextable.wait('by_k', '0'), indextable.wait('by_k', NULL), indextable.wait('by_v', '1 day'), indextable.wait('copies', '100 years');
SELECT indextable.wait(NULL) IS NULL AS null, indextable.wait(NULL, NULL, NULL) IS NULL AS null, indextable.wait('by_k', xid => NULL);
CREATE TABLE other (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('other_k', 'other', '{k}', maintenance => 'async') \gset
INSERT INTO other VALUES (1, '{"k": "a"}');
SELECT indextable.wait('by_k', '0'), indextable.wait('other_k', '0');
-- what was rejected is waited for no more
INSERT INTO other VALUES (2, jsonb_build_object('k', repeat('x', 3000)));
SELECT indextable.drain('other');
SELECT indextable.wait('other_k', '0'), rejected FROM indextable.index_table_stats WHERE index_table = 'other_k'::regclass;
-- who may read one of the two tables may wait, in a transaction that only reads, too
INSERT INTO fact VALUES (2, '{"k": "b"}');
GRANT SELECT ON fact, by_k TO regress_it_reader;
SET ROLE regress_it_reader;
BEGIN READ ONLY;
SELECT indextable.wait('by_k', '0');
COMMIT;
SELECT indextable.wait('by_v', '0');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
REVOKE SELECT ON fact FROM regress_it_reader;
SET ROLE regress_it_reader;
SELECT indextable.wait('by_v', '0');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.wait('by_k', '0');
RESET ROLE;
-- what is no index table, no interval
SELECT indextable.wait('fact');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.wait('by_k_k_id_key');
SELECT indextable.wait(0);
SELECT indextable.wait('by_k', '-1 ms');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.wait('by_k', '1 month -32 days');
SELECT indextable.drain();
SELECT indextable.wait('by_k', '1 month -29 days'), indextable.wait('by_k', '170000000 years');

-- ---- a transaction by its number
BEGIN;
INSERT INTO fact VALUES (3, '{"k": "c"}');
SELECT pg_current_xact_id() AS committed \gset
COMMIT;
BEGIN;
INSERT INTO fact VALUES (4, '{"k": "d"}');
SELECT pg_current_xact_id() AS aborted \gset
ROLLBACK;
SELECT indextable.wait('by_k', '0', :'committed'), indextable.wait('by_k', '0', :'aborted');
SELECT indextable.drain();
SELECT indextable.wait('by_k', '0', :'committed'), indextable.wait('by_k', NULL, :'aborted'), indextable.wait('by_k', '0', '3'), indextable.wait('by_k', '0', '0');
DO $$ BEGIN PERFORM indextable.wait('by_k', '0', (pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 1000000)::text::xid8);
	EXCEPTION WHEN invalid_parameter_value THEN RAISE NOTICE '%', regexp_replace(SQLERRM, '\d+', 'NNN'); END $$;
BEGIN;
SELECT indextable.wait('by_k', '0', pg_current_xact_id());
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
-- a transactional index table is in step with whatever is committed
SELECT indextable.wait('at_once', '0', :'committed');

-- ---- own changes cannot be waited for, whether they are written to the queue already or not
BEGIN;
INSERT INTO fact VALUES (4, '{"k": "own"}');
SELECT indextable.wait('by_k');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
BEGIN;
INSERT INTO fact VALUES (4, '{"k": "own"}');
SAVEPOINT s;
SELECT indextable.wait('by_k', NULL);
ROLLBACK TO s;
RELEASE s;
SELECT indextable.wait('at_once'), indextable.wait('other_k', '0');
SELECT indextable.drain();
SELECT indextable.wait('by_k');
SAVEPOINT t;
UPDATE fact SET doc = '{"k": "own again"}' WHERE id = 4;
ROLLBACK TO t;
SELECT indextable.wait('by_k');
ROLLBACK;
BEGIN;
INSERT INTO fact SELECT i, '{"k": "many"}' FROM generate_series(1000, 21000) i;
SELECT indextable.wait('by_k');
ROLLBACK;
SELECT indextable.wait('by_k');
-- what drain() has applied is no longer among them, in a subtransaction as well
BEGIN;
INSERT INTO fact VALUES (4, '{"k": "own"}');
SAVEPOINT s;
SELECT indextable.drain('fact');
SELECT indextable.wait('by_k', '0');
SELECT * FROM indextable.lookup('by_k', '{"k": "own"}', max_lag => '0');
UPDATE fact SET doc = '{"k": "mine"}' WHERE id = 4;
ROLLBACK TO s;
SELECT indextable.wait('by_k', '0');
ROLLBACK;
SELECT indextable.wait('by_k', '0');
-- nor what an unchanging snapshot would not show; outside of a transaction block there is none
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT indextable.wait('at_once');
SELECT indextable.wait('by_k');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY;
SELECT indextable.wait('by_k', '0');
ROLLBACK;
SET default_transaction_isolation = 'repeatable read';
SELECT indextable.wait('by_k', '0');
SET default_transaction_isolation = 'serializable';
SELECT indextable.wait('by_k', '0');
RESET default_transaction_isolation;

-- ---- look-ups: any lag by default, none with timeout, or so much
INSERT INTO fact VALUES (10, '{"k": "x", "v": 1}');
SELECT indextable.drain('fact');
UPDATE fact SET doc = '{"k": "y", "v": 2}' WHERE id = 10;
INSERT INTO fact VALUES (11, '{"k": "x", "v": 3}');
SELECT * FROM indextable.lookup('by_k', '{"k": "x"}');
SELECT * FROM indextable.lookup('by_k', '{"k": "y"}');
SELECT * FROM indextable.lookup('copies', '{"k": "x"}');
SELECT * FROM indextable.lookup('by_k', '{"k": "x"}', max_lag => '0');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM indextable.lookup('by_k', '{"k": "x"}', timeout => '0');
SELECT * FROM indextable.lookup('copies', '{"k": "x"}', timeout => '10 ms');
SELECT * FROM indextable.lookup(NULL::fact, 'by_k', '{"k": "x"}', max_lag => '1 us', timeout => '10 ms');
SELECT * FROM indextable.lookup('by_k', '{"k": "x"}', max_lag => '1 day');
SELECT * FROM indextable.lookup(NULL::fact, 'by_k', '{"k": "y"}', '1 day', '0');
-- transactional ones have none
SELECT * FROM indextable.lookup('at_once', '{"k": "x"}', max_lag => '0');
SELECT * FROM indextable.lookup('by_k', NULL, max_lag => '0');
SELECT * FROM indextable.lookup('by_k', '{"k": "x"}', max_lag => '-1 s');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM indextable.lookup('by_k', '{"k": "x"}', timeout => '-1 s');
SELECT indextable.drain('fact');
SELECT * FROM indextable.lookup('by_k', '{"k": "x"}', max_lag => '0');
SELECT * FROM indextable.lookup(NULL::fact, 'by_v', '{"v": "2"}', timeout => '0');
SELECT * FROM indextable.lookup('copies', '{"k": "y"}', max_lag => '1 day', timeout => '1 day');
-- own changes
BEGIN;
UPDATE fact SET doc = '{"k": "z"}' WHERE id = 10;
SELECT * FROM indextable.lookup('by_k', '{"k": "y"}');
SELECT * FROM indextable.lookup('by_k', '{"k": "z"}');
SAVEPOINT s;
SELECT * FROM indextable.lookup('by_k', '{"k": "z"}', max_lag => '0');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK TO s;
RELEASE s;
SELECT * FROM indextable.lookup('by_k', '{"k": "x"}', max_lag => '1 day');
SELECT indextable.drain('fact');
SELECT * FROM indextable.lookup('by_k', '{"k": "z"}', max_lag => '0');
COMMIT;
BEGIN;
UPDATE fact SET doc = '{"k": "zz"}' WHERE id = 10;
SELECT * FROM indextable.lookup('by_k', '{"k": "zz"}', max_lag => '1 day');
ROLLBACK;
-- an unchanging snapshot
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM indextable.lookup('by_k', '{"k": "z"}');
SELECT * FROM indextable.lookup('at_once', '{"k": "z"}', max_lag => '0');
SELECT * FROM indextable.lookup('by_k', '{"k": "z"}', max_lag => '0');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
-- what is queued is seen by no look-up that does not match: arrays, null, composite keys, a filter
CREATE TABLE many (id int PRIMARY KEY, doc jsonb, live boolean);
SELECT indextable.create('many_tags', 'many', '{tags[*], n::int}', maintenance => 'async') \gset
SELECT indextable.create('many_live', 'many', '{n::int}', filter => 'live', maintenance => 'async') \gset
INSERT INTO many SELECT i, jsonb_build_object('tags', ARRAY[1, 2, i], 'n', i % 2), true FROM generate_series(1, 6) i;
SELECT indextable.drain('many');
UPDATE many SET doc = jsonb_set(doc, '{tags}', '[2]') WHERE id = 1;
UPDATE many SET doc = jsonb_set(doc, '{n}', '5') WHERE id = 2;
UPDATE many SET doc = jsonb_set(doc, '{n}', 'null') WHERE id = 3;
UPDATE many SET live = false WHERE id = 4;
UPDATE many SET doc = jsonb_set(doc, '{n}', '"no number"') WHERE id = 5;
UPDATE many SET id = 7 WHERE id = 6;
SELECT id FROM indextable.lookup(NULL::many, 'many_tags', '{"tags": "1"}') ORDER BY id;
SELECT id FROM indextable.lookup(NULL::many, 'many_tags', '{"tags": "2"}') ORDER BY id;
SELECT id FROM indextable.lookup(NULL::many, 'many_tags', '{"tags": "2", "n": 1}') ORDER BY id;
SELECT id FROM indextable.lookup(NULL::many, 'many_live', '{"n": 0}') ORDER BY id;
SELECT id FROM indextable.lookup(NULL::many, 'many_live', '{"n": 1}') ORDER BY id;
SELECT indextable.drain('many');
SELECT id FROM indextable.lookup(NULL::many, 'many_tags', '{"tags": "2"}') ORDER BY id;
SELECT id FROM indextable.lookup(NULL::many, 'many_live', '{"n": 0}') ORDER BY id;

-- ---- how far they are behind
UPDATE fact SET doc = doc || '{"v": 9}';
UPDATE fact SET doc = doc || '{"v": 10}' WHERE id = 1;
SELECT index_table, maintenance, backlog, lag > '0' AS behind, lag < '1 day' AS not_much, rejected FROM indextable.index_tables JOIN indextable.index_table_stats USING (index_table, fact_table) ORDER BY index_table::text;
SELECT fact_table, backlog, lag > '0' AS behind, rejected, rate, workers, worker_state, last_error, last_error_at, applied, applied_at, size > 0 AS size
FROM indextable.queues ORDER BY fact_table::text;
SELECT fact_table, (indextable_internal.queue_status(fact_table)).backlog, (indextable_internal.queue_status(fact_table)).oldest < clock_timestamp() AS oldest,
	indextable_internal.queue_activity(fact_table, 0)
FROM indextable.queues ORDER BY fact_table::text;
SELECT indextable_internal.queue_status('by_k') IS NULL AS none, indextable_internal.queue_status(NULL) IS NULL AS none, indextable_internal.queue_status(0) IS NULL AS none,
	indextable_internal.queue_activity('by_k', 0) IS NULL AS none, indextable_internal.queue_activity(NULL, 0) IS NULL AS none;
-- the oldest change counts, from when its statement began
SELECT oldest AS before FROM indextable_internal.queue_status('fact') \gset
UPDATE fact SET doc = doc || '{"v": 11}' WHERE id = 2;
SELECT backlog, oldest = :'before' AS same FROM indextable_internal.queue_status('fact');
SELECT indextable.drain();
SELECT backlog, oldest FROM indextable_internal.queue_status('fact');
SELECT index_table, backlog, lag, rejected FROM indextable.index_table_stats ORDER BY index_table::text;
-- what is not committed is no backlog
BEGIN;
INSERT INTO fact VALUES (20, '{}');
SELECT backlog FROM indextable.queues WHERE fact_table = 'fact'::regclass;
COMMIT;
SELECT backlog FROM indextable.queues WHERE fact_table = 'fact'::regclass;

-- ---- a backlog that is too large: estimated now and then in each session, so each of these is a new one
SELECT name, context, vartype, unit, enumvals FROM pg_settings WHERE name LIKE 'indextable.%' ORDER BY name;
SELECT indextable.drain() > 0 AS some;
\c -
SET search_path = asyncwait;
SET indextable.backlog_limit = 1000;
INSERT INTO fact SELECT i, '{}' FROM generate_series(1001, 1800) i;
INSERT INTO many SELECT i, '{}' FROM generate_series(1001, 1800) i;
-- one warning, not one for each statement
\c -
SET search_path = asyncwait;
SET indextable.backlog_limit = 1000;
INSERT INTO fact SELECT i, '{}' FROM generate_series(2001, 4000) i;
INSERT INTO fact VALUES (4001, '{}');
\echo :SQLSTATE
-- it is the backlog of that table
\c -
SET search_path = asyncwait;
SET indextable.backlog_limit = 1000;
INSERT INTO many VALUES (4002, '{}');
SELECT indextable.drain('fact');
\c -
SET search_path = asyncwait;
SET indextable.backlog_limit = 1000;
INSERT INTO fact VALUES (4003, '{}');
\c -
SET search_path = asyncwait;
SET indextable.backlog_limit = 1000;
SET indextable.backlog_action = 'nothing';
INSERT INTO fact SELECT i, '{}' FROM generate_series(5001, 8000) i;
SET indextable.backlog_limit = 0;
SET indextable.backlog_action = 'slow';
INSERT INTO fact VALUES (8001, '{}');
SET indextable.backlog_limit = 1000;
INSERT INTO fact VALUES (8002, '{}');
-- the rows are there, whatever is said about it
SELECT backlog FROM indextable.queues WHERE fact_table = 'fact'::regclass;
-- a writer that is slowed down can be cancelled
SET statement_timeout = 1000;
DO $$ BEGIN FOR i IN 9000..9999 LOOP INSERT INTO asyncwait.fact VALUES (i, '{}'); COMMIT; END LOOP; END $$;
RESET statement_timeout;
\echo :LAST_ERROR_SQLSTATE
SET indextable.backlog_action = 'error';
SET indextable.backlog_limit = -1;
SELECT indextable.drain() > 0 AS some;
-- settings of the superuser's, and of everybody's
SET ROLE regress_it_reader;
SET indextable.backlog_limit = 0;
\echo :LAST_ERROR_SQLSTATE
SET indextable.backlog_action = 'nothing';
SET indextable.naptime = 10;
SET indextable.max_workers = 0;
SET indextable.batch_size = 7;
SHOW indextable.batch_size;
SET indextable.nope = 1;
RESET ROLE;

SET client_min_messages = warning;
DROP SCHEMA asyncwait CASCADE;
DROP ROLE regress_it_reader;
\i :src/sql/include/oracle.psql
CALL pg_temp.no_rows('pg_temp.leftovers()');
SELECT count(*) FROM indextable.queues;
