-- verify() with parallel workers finds what it finds without them, and does without
-- them where they must not be used.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA parallelism;
SET search_path = parallelism;
SET indextable.advice = off;
-- workers read small tables, too, and whatever they do not count is missing
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
SET max_parallel_maintenance_workers = 2;
CREATE PROCEDURE damage(VARIADIC statements text[]) SET session_replication_role = replica LANGUAGE plpgsql AS $$
DECLARE s text; BEGIN FOREACH s IN ARRAY statements LOOP EXECUTE s; END LOOP; END $$;
-- the kinds that are found with workers, and what is found otherwise without them
CREATE FUNCTION found(regclass) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('max_parallel_maintenance_workers', '0', true);
	CREATE TEMP TABLE serial ON COMMIT DROP AS SELECT * FROM indextable.verify($1);
	PERFORM set_config('max_parallel_maintenance_workers', '2', true);
	CREATE TEMP TABLE parallel ON COMMIT DROP AS SELECT * FROM indextable.verify($1);
	RETURN QUERY SELECT kind || ' ' || count(*) FROM parallel GROUP BY kind ORDER BY kind;
	RETURN QUERY SELECT 'not the same: ' || d FROM ((TABLE serial EXCEPT ALL TABLE parallel) UNION ALL (TABLE parallel EXCEPT ALL TABLE serial)) d;
	DROP TABLE serial, parallel;
END $$;

-- ---- each kind of discrepancy
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb);
INSERT INTO fact SELECT g, jsonb_build_object('k', 'k' || g % 7, 'on', date '2026-01-01' + g, 'n', g, 'tags', jsonb_build_array(g % 3, g % 5))
	FROM generate_series(1, 2000) g;
SELECT indextable.create('norm', 'fact', '{k}') \gset
SELECT indextable.create('part', 'fact', '{on::date}', include => '{"n::numeric(9,2)", on::timestamptz AS at}', on_mismatch => 'skip') \gset
SELECT indextable.create('deno', 'fact', '{n::int}', 'denormalized', partitions => 3) \gset
SELECT indextable.create('tags', 'fact', '{tags[*]::int}') \gset
SELECT indextable.create('asyn', 'fact', '{k}', maintenance => 'async') \gset
SELECT t, f FROM unnest('{norm,part,deno,tags,asyn}'::regclass[]) t, found(t) f ORDER BY t::text, f;
-- that rows lack entries stays recorded as long as a worker finds one
INSERT INTO fact VALUES (3000, '{"n": 3000, "on": "never"}');
SELECT count(*) FROM indextable.verify('part');
SELECT count(*) FROM indextable_internal.completeness WHERE index_table = 'part'::regclass AND fields <> 31;
DELETE FROM fact WHERE id = 3000;
SELECT count(*) FROM indextable.verify('norm');
SELECT count(*) FROM indextable_internal.completeness WHERE index_table = 'norm'::regclass AND fields <> 31;
SELECT indextable.drain('fact') > 0 AS drained;
CALL damage('DELETE FROM norm WHERE id = 1', 'UPDATE norm SET k = ''other'' WHERE id = 2', 'INSERT INTO norm VALUES (''k'', 3), (''k'', -1)',
	'DELETE FROM part WHERE id = 4', 'UPDATE part SET n = 0 WHERE id = 5', 'UPDATE part SET id = -6 WHERE id = 6',
	'UPDATE deno SET doc = NULL WHERE id = 7', 'DELETE FROM tags WHERE id = 8', 'UPDATE asyn SET id = -9 WHERE id = 9');
SELECT t, f FROM unnest('{norm,part,deno,tags,asyn}'::regclass[]) t, found(t) f ORDER BY t::text, f;
-- a session's settings do not matter
SET DateStyle = 'German';
SET TimeZone = 'Asia/Tokyo';
SELECT found('part');
RESET DateStyle;
RESET TimeZone;
-- wrong ones all over the table
CALL indextable.repair('norm');
CALL damage('UPDATE norm SET k = ''other'' WHERE id % 300 = 0');
SELECT found('norm');

-- ---- what the transaction has written itself
BEGIN;
INSERT INTO fact SELECT g, jsonb_build_object('k', 'new', 'n', g) FROM generate_series(3001, 3100) g;
SAVEPOINT s;
UPDATE fact SET doc = doc || '{"k": "newer"}' WHERE id > 3050;
SELECT found('norm');
CALL damage('DELETE FROM norm WHERE id = 3051');
SELECT found('norm');
ROLLBACK TO s;
SELECT found('norm');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO fact VALUES (4000, '{"k": "new"}');
SELECT found('norm');
COMMIT;
-- a new index table, of a role that may see nothing else
CREATE ROLE indextable_parallel;
GRANT USAGE, CREATE ON SCHEMA parallelism TO indextable_parallel;
BEGIN;
SET LOCAL ROLE indextable_parallel;
CREATE TABLE own (id int PRIMARY KEY, doc jsonb);
INSERT INTO own SELECT g, '{"k": 1}' FROM generate_series(1, 1000) g;
SELECT indextable.create('own_k', 'own', '{k}') \gset
SELECT * FROM indextable.verify('own_k');
ROLLBACK;

-- ---- partitions
CREATE TABLE parts (id int PRIMARY KEY, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (100);
CREATE TABLE parts_2 (doc jsonb, more int, id int NOT NULL);
ALTER TABLE parts_2 DROP COLUMN more;
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (100) TO (500);
CREATE TABLE parts_3 PARTITION OF parts FOR VALUES FROM (500) TO (900) PARTITION BY HASH (id);
CREATE TABLE parts_3_1 PARTITION OF parts_3 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_3_2 PARTITION OF parts_3 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT g, jsonb_build_object('k', g % 10) FROM generate_series(1, 800) g;
SELECT indextable.create('parts_k', 'parts', '{k}', partitions => 2) \gset
SELECT found('parts_k');
CALL damage('DELETE FROM parts_k WHERE id IN (50, 150, 450, 550, 750)', 'INSERT INTO parts_k VALUES (''x'', 5), (''x'', 950)');
SELECT found('parts_k');

-- ---- A worker that calls this function says so once, and fails.  What it has to do is done without it then.
CREATE FUNCTION serial_only(jsonb) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
	IF pg_backend_pid() <> current_setting('parallelism.leader')::int THEN
		RAISE NOTICE 'called by a worker';
		RAISE 'it fails';
	END IF;
	RETURN $1 ->> 'k' <> 'k1';
END $$;
SELECT set_config('parallelism.leader', pg_backend_pid()::text, false) <> '' AS set;
SET max_parallel_maintenance_workers = 1;
SELECT indextable.create('filt', 'fact', '{k}', filter => 'parallelism.serial_only(doc)') \gset
SELECT * FROM indextable.verify('filt');
CALL damage('DELETE FROM filt WHERE id = 2', 'INSERT INTO filt VALUES (''k1'', 1)');
SELECT kind, primary_key FROM indextable.verify('filt');
-- none is asked for
SET max_parallel_maintenance_workers = 0;
SELECT kind, primary_key FROM indextable.verify('filt');
SET max_parallel_maintenance_workers = 1;
SET min_parallel_table_scan_size = '1GB';
SELECT kind, primary_key FROM indextable.verify('filt');
SET min_parallel_table_scan_size = 0;
ALTER TABLE fact SET (parallel_workers = 0);
SELECT kind, primary_key FROM indextable.verify('filt');
ALTER TABLE fact RESET (parallel_workers);
SELECT count(*) >= 0 AS sampled FROM indextable.verify('filt', sample => 50);
-- there is none
SET max_parallel_workers = 0;
SELECT kind, primary_key FROM indextable.verify('filt');
RESET max_parallel_workers;
-- the function must not be called by workers
ALTER FUNCTION serial_only PARALLEL RESTRICTED;
SELECT kind, primary_key FROM indextable.verify('filt');
ALTER FUNCTION serial_only PARALLEL UNSAFE;
SELECT kind, primary_key FROM indextable.verify('filt');
-- it may be, and fails for a row wherever it is called
CREATE OR REPLACE FUNCTION serial_only(jsonb) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
	RETURN 1 / (($1 ->> 'n')::int - 20) IS NOT NULL AND $1 ->> 'k' <> 'k1';
END $$;
SELECT kind, primary_key, problem FROM indextable.verify('filt');
-- it begins a subtransaction, which nobody may in parallel mode, whatever it says of itself
CREATE OR REPLACE FUNCTION serial_only(jsonb) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
	RETURN ($1 ->> 'k')::int > 0;
EXCEPTION WHEN data_exception THEN
	RETURN $1 ->> 'k' <> 'k1';
END $$;
SELECT kind, primary_key FROM indextable.verify('filt');
-- ---- workers that are ended, or whose leader is, leave nothing behind
CREATE OR REPLACE FUNCTION serial_only(jsonb) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
	IF pg_backend_pid() <> current_setting('parallelism.leader')::int THEN
		PERFORM pg_terminate_backend(pg_backend_pid());
		PERFORM pg_sleep(600);
	END IF;
	RETURN $1 ->> 'k' <> 'k1';
END $$;
DO $$ BEGIN PERFORM indextable.verify('filt'); EXCEPTION WHEN admin_shutdown THEN RAISE NOTICE 'ended with its worker'; END $$;
CREATE OR REPLACE FUNCTION serial_only(jsonb) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
	IF pg_backend_pid() <> current_setting('parallelism.leader')::int THEN
		PERFORM pg_cancel_backend(current_setting('parallelism.leader')::int);
		PERFORM pg_sleep(600);
	END IF;
	RETURN $1 ->> 'k' <> 'k1';
END $$;
SELECT * FROM indextable.verify('filt');
SET max_parallel_maintenance_workers = 0;
SELECT kind, primary_key FROM indextable.verify('filt');
SELECT count(*) FROM pg_stat_activity WHERE leader_pid = pg_backend_pid() AND pid <> leader_pid;

SET client_min_messages = warning;
DROP TABLE fact, parts;
DROP SCHEMA parallelism CASCADE;
DROP ROLE indextable_parallel;
CALL pg_temp.no_rows('pg_temp.leftovers()');
