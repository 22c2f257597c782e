-- Messages that want SQL from the user print it, and what they print is run as it is: it mends, so that the statement
-- that failed then succeeds. Names need quotes everywhere.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA "Hints";
CREATE TABLE "Hints"."Fact" ("Id" int PRIMARY KEY, "Doc" jsonb, "Old" text);
INSERT INTO "Hints"."Fact" SELECT i, jsonb_build_object('k', i % 3, 'n', i) FROM generate_series(1, 9) i;
SET indextable.advice = off;
SELECT indextable.create('"Hints"."K''s"', '"Hints"."Fact"', '{k::int}') \gset

-- Tries a statement that must fail, and keeps it and the statement of its hint.
CREATE TEMPORARY TABLE tried (statement text, sql text);
CREATE FUNCTION pg_temp.told(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text; hint text; sql text;
BEGIN
	EXECUTE statement;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
	-- what is told first, if there is a choice
	sql := regexp_replace((regexp_match(hint, '(?:SELECT|CALL|ALTER|DROP|CREATE|REINDEX|SET) .*;'))[1], '; [a-z].*', ';');
	DELETE FROM tried;
	INSERT INTO tried VALUES (statement || ';', sql);
	RETURN message || CASE WHEN sql IS NULL THEN ' - no SQL: ' || hint ELSE '' END;
END $$;
-- what the hint tells to run, and then the statement again
CREATE TEMP VIEW run AS SELECT unnest(ARRAY[sql, statement]) FROM tried;
CREATE FUNCTION pg_temp.wrong() RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM (SELECT * FROM indextable.index_tables WHERE index_table IS NOT NULL) t, indextable.verify(t.index_table) v WHERE t.fact_table = '"Hints"."Fact"'::regclass
$$;
\pset tuples_only on
\pset format unaligned

-- ---- fact tables
CREATE TABLE "Hints"."No key" ("Id" int NOT NULL, "Doc" jsonb);
SELECT pg_temp.told($$SELECT indextable.create('"Hints"."X"', '"Hints"."No key"', '{k}')$$);
SELECT * FROM pg_temp.run \gexec
CREATE TABLE "Hints"."No id" ("Doc" jsonb);
SELECT pg_temp.told($$SELECT indextable.create('"Hints"."X2"', '"Hints"."No id"', '{k}')$$);
SELECT * FROM pg_temp.run \gexec
CREATE TABLE "Hints"."Unique" ("Id" int NOT NULL, "A" int NOT NULL UNIQUE, "B" int UNIQUE, "Doc" jsonb);
SELECT pg_temp.told($$SELECT indextable.create('"Hints"."X3"', '"Hints"."Unique"', '{k}')$$);
SELECT * FROM pg_temp.run \gexec
CREATE TABLE "Hints"."No jsonb" ("Id" int PRIMARY KEY, "Doc" json);
SELECT pg_temp.told($$SELECT indextable.create('"Hints"."Y"', '"Hints"."No jsonb"', '{k}')$$);
SELECT * FROM pg_temp.run \gexec

-- ---- states
SELECT indextable.create('"Hints"."B"', '"Hints"."Fact"', '{k}', populate => false);
SELECT pg_temp.told($$SELECT * FROM indextable.lookup('"Hints"."B"', '{"k": "1"}')$$);
SELECT * FROM pg_temp.run \gexec
-- what commits cannot be tried by told()
CALL indextable.build('"Hints"."B"');
CALL indextable.rebuild('"Hints"."B"');
SELECT indextable.create('"Hints"."C"', '"Hints"."Fact"', '{k}', populate => false);
CALL indextable.rebuild('"Hints"."C"');
CALL indextable.build('"Hints"."C"');
SELECT pg_temp.told($$SELECT indextable.alter('"Hints"."C"', strategy => 'denormalized', populate => false)$$);
SELECT indextable.alter('"Hints"."C"', strategy => 'denormalized', populate => false);
SELECT pg_temp.told($$SELECT indextable.alter('"Hints"."C"', maintenance => 'async')$$);
SELECT * FROM pg_temp.run \gexec
SELECT pg_temp.wrong();
-- an invalid one
ALTER TABLE "Hints"."Fact" DISABLE TRIGGER ALL;
SELECT state FROM indextable.index_tables WHERE index_table = '"Hints"."B"'::regclass;
SELECT pg_temp.told($$SELECT * FROM indextable.lookup('"Hints"."B"', '{"k": "1"}')$$);
SELECT * FROM pg_temp.run \gexec
-- what verify() finds is mended by the statement that it shows
SELECT regexp_replace(problem, '.*(CALL .*;)', '\1') AS sql FROM indextable.verify('"Hints"."K''s"') LIMIT 1 \gset
\echo :sql
:sql
CALL indextable.repair('"Hints"."C"');
SELECT pg_temp.wrong();

-- ---- an existing one that differs
SELECT pg_temp.told($$SELECT indextable.create('"Hints"."B"', '"Hints"."Fact"', '{k}', maintenance => 'async', if_not_exists => true)$$);
SELECT * FROM pg_temp.run \gexec
SELECT pg_temp.told($$SELECT indextable.create('"Hints"."B"', '"Hints"."Fact"', '{n}', if_not_exists => true)$$);
SELECT * FROM pg_temp.run \gexec

-- ---- rows that cannot have entries
SELECT pg_temp.told($$INSERT INTO "Hints"."Fact" VALUES (10, '{"k": "x"}')$$);
SELECT * FROM pg_temp.run \gexec
SELECT on_mismatch FROM indextable.index_tables WHERE index_table = '"Hints"."K''s"'::regclass;
SELECT pg_temp.wrong();
DELETE FROM "Hints"."Fact" WHERE "Id" = 10;
SELECT indextable.alter('"Hints"."K''s"', on_mismatch => 'error');
-- values that were skipped, and are to be refused: what finds them
SELECT indextable.alter('"Hints"."K''s"', on_mismatch => 'skip');
INSERT INTO "Hints"."Fact" VALUES (10, '{"k": "x"}');
SELECT pg_temp.told($$SELECT indextable.alter('"Hints"."K''s"', on_mismatch => 'error')$$);
SELECT sql FROM tried \gexec
CALL indextable.rebuild('"Hints"."K''s"');
SELECT primary_key FROM indextable.rejected WHERE index_table = '"Hints"."K''s"'::regclass;
DELETE FROM "Hints"."Fact" WHERE "Id" = 10;
CALL indextable.rebuild('"Hints"."K''s"');
SELECT on_mismatch FROM indextable.index_tables WHERE index_table = '"Hints"."K''s"'::regclass;
SELECT pg_temp.wrong();
-- one that is not there yet is made with it
INSERT INTO "Hints"."Fact" VALUES (10, '{"m": "x"}');
SELECT pg_temp.told($$SELECT indextable.create('"Hints"."M"', '"Hints"."Fact"', '{m::int}')$$);
SELECT pg_temp.told(format($$INSERT INTO "Hints"."Fact" VALUES (11, '{"n": "%s"}')$$, repeat(md5('x'), 100)));
DELETE FROM "Hints"."Fact" WHERE "Id" > 9;

-- ---- queues and feeds
SELECT indextable.create('"Hints"."As"', '"Hints"."Fact"', '{n}', maintenance => 'async');
SELECT indextable.create('"Hints"."At"', '"Hints"."Fact"', '{n}', maintenance => 'async');
SELECT pg_temp.told($$SELECT indextable.create_feed('"Hints"."Fact"')$$);
SELECT * FROM pg_temp.run \gexec
SELECT indextable.drop_feed('"Hints"."Fact"');
SELECT indextable.alter('"Hints"."As"', maintenance => 'async');
SELECT pg_temp.told($$SELECT indextable.drain('"Hints"."No jsonb"')$$);
SELECT * FROM pg_temp.run \gexec
BEGIN;
INSERT INTO "Hints"."Fact" VALUES (12, '{"n": 12}');
SELECT pg_temp.told($$SELECT indextable.wait('"Hints"."As"')$$);
SELECT * FROM pg_temp.run \gexec
COMMIT;
-- its queue, of which the name is that of an OID
SELECT pg_temp.told(format('DROP TABLE %s', (SELECT min(oid::regclass::text) FROM pg_class WHERE relname LIKE 'queue_%' AND relkind = 'r' AND relnamespace = 'indextable_queues'::regnamespace))) ~ '^cannot drop';
SELECT sql FROM pg_temp.tried;
SELECT pg_temp.told((SELECT format('DROP INDEX %s', indexrelid::regclass) FROM pg_index WHERE indrelid = '"Hints"."As"'::regclass AND NOT indisunique)) ~ '^cannot drop';
SELECT sql FROM pg_temp.tried \gexec
SELECT pg_temp.wrong();

-- ---- objects that index tables need
SELECT tgname FROM pg_trigger WHERE tgrelid = '"Hints"."Fact"'::regclass ORDER BY 1 LIMIT 1 \gset
SELECT pg_temp.told(format('ALTER TRIGGER %I ON "Hints"."Fact" RENAME TO "X"', :'tgname'));
SELECT sql FROM pg_temp.tried;
-- a trigger of ours on another table, made where no event trigger refuses it
CREATE TABLE "Hints"."Plain" (i int);
SET session_replication_role = replica;
CREATE TRIGGER "On it" AFTER INSERT ON "Hints"."Plain" FOR EACH ROW EXECUTE FUNCTION indextable_internal.maintain();
RESET session_replication_role;
SELECT pg_temp.told($$INSERT INTO "Hints"."Plain" VALUES (1)$$);
SELECT * FROM pg_temp.run \gexec
-- tables with other relatives
SELECT indextable.create('"Hints"."Z"', '"Hints"."No jsonb"', '{k}', populate => false);
SELECT pg_temp.told($$CREATE TABLE "Hints"."Heir" () INHERITS ("Hints"."No jsonb")$$);
SELECT * FROM pg_temp.run \gexec
SELECT pg_temp.told($$ALTER TABLE "Hints"."Fact" DROP COLUMN "Doc"$$);
SELECT * FROM pg_temp.run \gexec

\pset format aligned
\pset tuples_only off
SET client_min_messages = warning;
DROP SCHEMA "Hints" CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
