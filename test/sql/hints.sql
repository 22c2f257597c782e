-- Messages that want SQL from the user print it, and what they print is run as it is: it mends, so that the statement
-- that failed then succeeds. Names need quotes everywhere.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA "Hints";
CREATE TABLE "Hints"."Fact" ("Id" int PRIMARY KEY, "Doc" jsonb, "Old" text);
INSERT INTO "Hints"."Fact" SELECT i, jsonb_build_object('k', i % 3, 'n', i) FROM generate_series(1, 9) i;
SET indextable.advice = off;
SELECT indextable.create('"Hints"."K''s"', '"Hints"."Fact"', '{k::int}');

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
	sql := (regexp_match(hint, '(?:SELECT|CALL|ALTER|DROP|CREATE|REINDEX|SET) .*;'))[1];
	DELETE FROM tried;
	INSERT INTO tried VALUES (statement || ';', sql);
	RETURN message || CASE WHEN sql IS NULL THEN ' - no SQL: ' || hint ELSE '' END;
END $$;
CREATE FUNCTION pg_temp.wrong() RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM (SELECT * FROM indextable.index_tables WHERE index_table IS NOT NULL) t, indextable.verify(t.index_table) v WHERE t.fact_table = '"Hints"."Fact"'::regclass
$$;
\pset tuples_only on
\pset format unaligned

-- ---- fact tables
CREATE TABLE "Hints"."No key" ("Id" int NOT NULL, "Doc" jsonb);
SELECT pg_temp.told($$SELECT indextable.create('"Hints"."X"', '"Hints"."No key"', '{k}')$$);
\i :src/sql/include/told.psql
CREATE TABLE "Hints"."No jsonb" ("Id" int PRIMARY KEY, "Doc" json);
SELECT pg_temp.told($$SELECT indextable.create('"Hints"."Y"', '"Hints"."No jsonb"', '{k}')$$);
\i :src/sql/include/told.psql

-- ---- states
SELECT indextable.create('"Hints"."B"', '"Hints"."Fact"', '{k}', populate => false);
SELECT pg_temp.told($$SELECT * FROM indextable.lookup('"Hints"."B"', '{"k": "1"}')$$);
\i :src/sql/include/told.psql
SELECT pg_temp.told($$CALL indextable.build('"Hints"."B"')$$);
SELECT sql FROM pg_temp.tried;
SELECT sql FROM pg_temp.tried \gexec
SELECT indextable.create('"Hints"."C"', '"Hints"."Fact"', '{k}', populate => false);
SELECT pg_temp.told($$CALL indextable.rebuild('"Hints"."C"')$$);
\i :src/sql/include/told.psql
SELECT pg_temp.wrong();
-- an invalid one
ALTER TABLE "Hints"."Fact" DISABLE TRIGGER ALL;
SELECT state FROM indextable.index_tables WHERE index_table = '"Hints"."B"'::regclass;
SELECT pg_temp.told($$SELECT * FROM indextable.lookup('"Hints"."B"', '{"k": "1"}')$$);
\i :src/sql/include/told.psql
-- what verify() finds is mended by the statement that it shows
SELECT regexp_replace(problem, '.*(CALL .*;)', '\1') AS sql FROM indextable.verify('"Hints"."K''s"') LIMIT 1 \gset
\echo :sql
:sql
CALL indextable.repair('"Hints"."C"');
SELECT pg_temp.wrong();

-- ---- an existing one that differs
SELECT pg_temp.told($$SELECT indextable.create('"Hints"."B"', '"Hints"."Fact"', '{k}', maintenance => 'async', if_not_exists => true)$$);
\i :src/sql/include/told.psql
SELECT pg_temp.told($$SELECT indextable.create('"Hints"."B"', '"Hints"."Fact"', '{n}', if_not_exists => true)$$);
\i :src/sql/include/told.psql

-- ---- rows that cannot have entries
SELECT pg_temp.told($$INSERT INTO "Hints"."Fact" VALUES (10, '{"k": "x"}')$$);
\i :src/sql/include/told.psql
CREATE VIEW pg_temp.skipped AS SELECT on_mismatch FROM indextable.index_tables WHERE index_table = '"Hints"."K''s"'::regclass;
SELECT * FROM pg_temp.skipped;
SELECT pg_temp.wrong();
SELECT indextable.alter('"Hints"."K''s"', on_mismatch => 'error');
DELETE FROM "Hints"."Fact" WHERE "Id" = 10;
ALTER TABLE "Hints"."K's" ADD CONSTRAINT "Small" CHECK (k < 3);
SELECT pg_temp.told($$INSERT INTO "Hints"."Fact" VALUES (11, '{"k": 11}')$$);
\i :src/sql/include/told.psql
SELECT pg_temp.wrong();

-- ---- queues and feeds
SELECT indextable.create('"Hints"."As"', '"Hints"."Fact"', '{n}', maintenance => 'async');
SELECT indextable.create('"Hints"."At"', '"Hints"."Fact"', '{n}', maintenance => 'async');
SELECT pg_temp.told($$SELECT indextable.create_feed('"Hints"."Fact"')$$);
\i :src/sql/include/told.psql
SELECT pg_temp.told($$ALTER TABLE "Hints"."Fact" ADD FOREIGN KEY ("Id") REFERENCES "Hints"."K's"$$);
SELECT indextable.drop_feed('"Hints"."Fact"');

-- ---- objects that index tables need
SELECT tgname FROM pg_trigger WHERE tgrelid = '"Hints"."Fact"'::regclass ORDER BY 1 LIMIT 1 \gset
SELECT pg_temp.told(format('ALTER TRIGGER %I ON "Hints"."Fact" RENAME TO "X"', :'tgname'));
SELECT sql FROM pg_temp.tried;
CREATE TABLE "Hints"."Child" () INHERITS ("Hints"."No key");
SELECT indextable.create('"Hints"."Z"', '"Hints"."No jsonb"', '{k}', populate => false);
SELECT pg_temp.told($$CREATE TABLE "Hints"."Heir" () INHERITS ("Hints"."No jsonb")$$);
\i :src/sql/include/told.psql
SELECT pg_temp.told($$ALTER TABLE "Hints"."Fact" DROP COLUMN "Doc"$$);
\i :src/sql/include/told.psql

\pset format aligned
\pset tuples_only off
SET client_min_messages = warning;
DROP SCHEMA "Hints" CASCADE;
SELECT * FROM pg_temp.leftovers();
