-- Prepared transactions.  Needs max_prepared_transactions.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
SELECT current_setting('max_prepared_transactions')::int < 2 AS skip \gset
\if :skip
\quit
\endif
CREATE SCHEMA prepared;
SET search_path = prepared;
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('by_k', 'fact', '{k}') \gset
BEGIN;
INSERT INTO fact VALUES (1, '{"k": "committed"}');
PREPARE TRANSACTION 'regress_it_1';
BEGIN;
INSERT INTO fact VALUES (2, '{"k": "rolled back"}');
PREPARE TRANSACTION 'regress_it_2';
INSERT INTO fact VALUES (3, '{"k": "meanwhile"}');
SELECT * FROM by_k ORDER BY id;
COMMIT PREPARED 'regress_it_1';
ROLLBACK PREPARED 'regress_it_2';
UPDATE fact SET doc = '{"k": "after"}' WHERE id = 1;
INSERT INTO fact VALUES (2, '{"k": "again"}');
SELECT * FROM by_k ORDER BY id;
-- create and drop
BEGIN;
SELECT indextable.create('late', 'fact', '{k}') \gset
INSERT INTO fact VALUES (4, '{"k": "late"}');
PREPARE TRANSACTION 'regress_it_1';
COMMIT PREPARED 'regress_it_1';
BEGIN;
SELECT indextable.drop('by_k') \gset
PREPARE TRANSACTION 'regress_it_1';
COMMIT PREPARED 'regress_it_1';
CALL pg_temp.compare('late', $$SELECT doc ->> 'k', id FROM fact$$);

SET client_min_messages = warning;
-- What drains of distributed tables ask each node for: no transaction that another role has prepared, with a table of such a name.
CREATE ROLE "regress_it.o'wner";
CREATE ROLE regress_it_other;
CREATE SCHEMA "a 'schema";
CREATE SCHEMA other AUTHORIZATION regress_it_other;
GRANT ALL ON SCHEMA "a 'schema" TO "regress_it.o'wner", regress_it_other;
SET ROLE "regress_it.o'wner";
CREATE TABLE "a 'schema"."by\k_102008" (id int PRIMARY KEY);
SET ROLE regress_it_other;
CREATE TABLE "a 'schema"."by\k_102009" ();
CREATE TABLE other."by\k_102008" ();
CREATE TABLE other."'regress_it.o''wner'.'a ''schema'.by\k_102008" ();
BEGIN;
LOCK TABLE "a 'schema"."by\k_102009", other."by\k_102008", other."'regress_it.o''wner'.'a ''schema'.by\k_102008";
PREPARE TRANSACTION 'citus_0_other';
RESET ROLE;
SELECT indextable_internal.prepared_here('^citus_', ARRAY[$$'regress_it.o''wner'.'a ''schema'.by\k$$]);
SET ROLE "regress_it.o'wner";
BEGIN;
LOCK TABLE "a 'schema"."by\k_102008";
PREPARE TRANSACTION 'citus_0_own';
RESET ROLE;
SELECT indextable_internal.prepared_here('^citus_', ARRAY[$$'regress_it.o''wner'.'a ''schema'.by\k$$]);
ROLLBACK PREPARED 'citus_0_own';
ROLLBACK PREPARED 'citus_0_other';
-- Nor any other that has locked the table itself without rights on it, but one that has written it, and its index.
SET ROLE regress_it_other;
BEGIN;
PREPARE delete_all AS DELETE FROM "a 'schema"."by\k_102008";
PREPARE TRANSACTION 'citus_0_other';
DEALLOCATE delete_all;
RESET ROLE;
SELECT indextable_internal.prepared_here('^citus_', ARRAY[$$'regress_it.o''wner'.'a ''schema'.by\k$$]);
ROLLBACK PREPARED 'citus_0_other';
GRANT DELETE ON "a 'schema"."by\k_102008" TO regress_it_other;
SET ROLE regress_it_other;
BEGIN;
DELETE FROM "a 'schema"."by\k_102008";
PREPARE TRANSACTION 'citus_0_other';
RESET ROLE;
SELECT indextable_internal.prepared_here('^citus_', ARRAY[$$'regress_it.o''wner'.'a ''schema'.by\k$$]);
ROLLBACK PREPARED 'citus_0_other';
DROP OWNED BY "regress_it.o'wner", regress_it_other;
DROP SCHEMA "a 'schema";
DROP ROLE "regress_it.o'wner", regress_it_other;
DROP SCHEMA prepared CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
