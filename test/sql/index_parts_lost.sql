-- Partitions that an index table cannot do without, those of hash and the default one: they are not dropped or detached by
-- hand, nor is the primary key dropped. Where they were lost all the same, verify() says so, and repair() makes them anew.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA "Lost";
SET search_path = "Lost";
CREATE TABLE f (id int PRIMARY KEY, doc jsonb NOT NULL);
CREATE FUNCTION d(i int) RETURNS jsonb LANGUAGE sql AS $$ SELECT jsonb_build_object('k', 'k' || i % 20, 'day', date '2025-01-01' + i) $$;
INSERT INTO f SELECT i, d(i) FROM generate_series(0, 59) i;
SELECT indextable.create('h', 'f', '{k}', include => '{day}', partitions => 4), indextable.create('a', 'f', '{k}', maintenance => 'async', partitions => 3),
	indextable.create('r', 'f', '{day::date}', partition_by => 'RANGE (day)', partition_bounds => ARRAY['FROM (''2025-01-01'') TO (''2025-02-01'')']),
	indextable.create('l', 'f', '{k}', partition_by => 'LIST (k)', partition_bounds => ARRAY['IN (''k1'', ''k2'')']) \gset
-- what is behind the back of the extension: event triggers do not fire
CREATE PROCEDURE damage(VARIADIC statements text[]) SET session_replication_role = replica LANGUAGE plpgsql AS $$
DECLARE s text; BEGIN FOREACH s IN ARRAY statements LOOP EXECUTE s; END LOOP; END $$;
CREATE FUNCTION wrong() RETURNS TABLE (index_table text, side text, entry text) LANGUAGE sql AS $$
	SELECT t, d.* FROM (VALUES
		('h', 'SELECT doc ->> ''k'', id, doc ->> ''day'' FROM f'), ('a', 'SELECT doc ->> ''k'', id FROM f'),
		('r', 'SELECT (doc ->> ''day'')::date, id FROM f'), ('l', 'SELECT doc ->> ''k'', id FROM f')) v (t, q), pg_temp.oracle(t, q) d $$;
CREATE FUNCTION setup() RETURNS TABLE (problem text, in_table regclass) LANGUAGE sql AS $$
	SELECT problem, in_table FROM indextable.verify('"Lost".f') WHERE kind = 'setup' ORDER BY in_table::text COLLATE "C", problem $$;
CREATE VIEW parts AS SELECT i.inhparent::regclass AS index_table, string_agg(c.relname || ' ' || pg_get_expr(c.relpartbound, c.oid), ', ' ORDER BY c.relname COLLATE "C") AS partitions,
		bool_and(c.relowner = p.relowner AND c.relpersistence = p.relpersistence AND c.relacl IS NOT DISTINCT FROM p.relacl) AS alike, bool_and(c.reloptions IS NOT NULL) AS options,
		bool_and((SELECT count(*) FROM pg_trigger t WHERE t.tgrelid = c.oid) = 2) AS guards, sum((SELECT count(*) FROM pg_index x WHERE x.indrelid = c.oid)) AS indexes
	FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
	WHERE c.relkind = 'r' AND p.relnamespace = '"Lost"'::regnamespace GROUP BY 1;
SELECT * FROM parts ORDER BY index_table::text COLLATE "C";
CALL pg_temp.no_rows('wrong()');

-- ---- what is refused: with entries or without
DROP TABLE h_p1;
DROP TABLE h_p0, h_p1, h_p2, h_p3;
DROP TABLE r_default;
ALTER TABLE h DETACH PARTITION h_p1;
ALTER TABLE h DROP CONSTRAINT h_k_id_day_key;
ALTER TABLE h_p1 DROP CONSTRAINT h_p1_k_id_day_key;
ALTER TABLE a DROP CONSTRAINT a_k_id_key;
ALTER TABLE r DROP CONSTRAINT IF EXISTS r_day_id_key, ADD COLUMN x int;
ALTER TABLE r DROP CONSTRAINT no_such;
ALTER TABLE r DROP CONSTRAINT IF EXISTS no_such;
BEGIN;
TRUNCATE f;
DROP TABLE h_p1;
ROLLBACK;
DROP TABLE h_p1, h;
SELECT indextable.create('h', 'f', '{k}', include => '{day}', partitions => 4) \gset
SELECT * FROM setup();
CALL pg_temp.no_rows('wrong()');

-- ---- lost all the same
CALL damage('DROP TABLE h_p1, h_p3, a_p0, r_default, l_default');
INSERT INTO f SELECT 100, d(0);
SELECT * FROM setup();
CALL indextable.repair('h');
SELECT * FROM setup();
BEGIN;
CALL indextable.repair('f');
COMMIT;
SELECT * FROM setup();
SELECT * FROM parts ORDER BY index_table::text COLLATE "C";
SELECT indextable.drain('f') >= 0 AS drained;
CALL pg_temp.no_rows('wrong()');
SELECT * FROM indextable.verify('f');

-- after columns have gone, and of what rejected rows for it
SELECT indextable.alter('h', include => '{"day AS \"The day\""}') \gset
CALL damage('DROP TABLE h_p2, a_p1, a_p2');
INSERT INTO f SELECT i, d(i) FROM generate_series(60, 80) i;
CALL damage('DELETE FROM f WHERE id > 80', 'ALTER TABLE f DISABLE TRIGGER ALL');
CALL indextable.repair('f');
INSERT INTO f SELECT i, d(i) FROM generate_series(60, 80) i;
SELECT indextable.drain('f') >= 0 AS drained;
CALL pg_temp.no_rows('wrong()');
SELECT * FROM indextable.verify('f');
CALL damage('DROP TABLE a_p1, a_p2');
UPDATE f SET doc = d(id + 7);
SELECT indextable.drain('f') > 0 AS drained;
SELECT DISTINCT kind, problem FROM indextable.verify('a') ORDER BY 1, 2;
CALL indextable.repair('a');
SELECT indextable.drain('f') >= 0 AS drained;
CALL pg_temp.no_rows('wrong()');
SELECT * FROM indextable.verify('f');

-- the last hash partition: one takes all values
CALL damage('DROP TABLE a_p0, a_p1, a_p2');
CALL indextable.repair('a');
SELECT * FROM parts ORDER BY index_table::text COLLATE "C";
SELECT indextable.alter('a', partitions => 3) \gset
CALL pg_temp.no_rows('wrong()');

-- by an owner who is no superuser
CREATE ROLE regress_lost_owner;
GRANT ALL ON SCHEMA "Lost" TO regress_lost_owner;
ALTER TABLE f OWNER TO regress_lost_owner;
CALL damage('DROP TABLE h_p0, r_default');
SET ROLE regress_lost_owner;
CALL indextable.repair('"Lost".f');
INSERT INTO f SELECT i, d(i) FROM generate_series(300, 310) i;
SELECT * FROM indextable.verify('f');
RESET ROLE;
SELECT indextable.drain('f') >= 0 AS drained;
SELECT * FROM parts ORDER BY index_table::text COLLATE "C";
CALL pg_temp.no_rows('wrong()');

SET client_min_messages = warning;
DROP SCHEMA "Lost" CASCADE;
DROP ROLE regress_lost_owner;
CALL pg_temp.no_rows('pg_temp.leftovers()');
