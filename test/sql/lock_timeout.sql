-- lock_timeout and statement_timeout end commands that wait for writers of a fact table, here a prepared transaction.  Needs
-- max_prepared_transactions.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
SELECT current_setting('max_prepared_transactions')::int < 1 AS skip \gset
\if :skip
\quit
\endif
CREATE SCHEMA lock_timeout;
SET search_path = lock_timeout;
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb);
INSERT INTO fact VALUES (1, '{"k": "a"}'), (2, '{"k": "b"}');
SELECT indextable.create('by_k', 'fact', '{k}') \gset
SELECT indextable.create('built', 'fact', '{k}', populate => false) \gset
BEGIN;
UPDATE fact SET doc = '{"k": "c"}' WHERE id = 1;
PREPARE TRANSACTION 'regress_it_1';
SET lock_timeout = '0.5s';
\set VERBOSITY sqlstate
\set SHOW_CONTEXT never
SELECT indextable.create('other', 'fact', '{k}', populate => false);
SELECT indextable.create('other', 'fact', '{k}');
SELECT indextable.create_feed('fact');
SELECT indextable.alter('by_k', maintenance => 'async');
CALL indextable.rebuild('by_k');
CALL indextable.build('built');
-- less than the time of one attempt
SET lock_timeout = '10ms';
SELECT indextable.create('other', 'fact', '{k}');
CALL indextable.rebuild('by_k');
CALL indextable.build('built');
RESET lock_timeout;
SET statement_timeout = '0.5s';
SELECT indextable.create('other', 'fact', '{k}');
CALL indextable.rebuild('by_k');
RESET statement_timeout;
\set VERBOSITY terse
-- the table can be written meanwhile, and what was built stays
INSERT INTO fact VALUES (3, '{"k": "c"}');
SELECT index_table, command, phase, rows_done, pid, blocked_by FROM indextable.progress;
COMMIT PREPARED 'regress_it_1';
CALL indextable.build('built');
CALL indextable.rebuild('by_k');
SELECT index_table, state FROM indextable.index_tables WHERE fact_table = 'fact'::regclass ORDER BY 1;
SELECT * FROM indextable.verify('fact');
-- who has the lock already does not wait
BEGIN;
LOCK TABLE fact IN SHARE ROW EXCLUSIVE MODE;
SET LOCAL lock_timeout = '1ms';
SELECT indextable.create('other', 'fact', '{k}', populate => false);
COMMIT;
SET client_min_messages = warning;
DROP SCHEMA lock_timeout CASCADE;
