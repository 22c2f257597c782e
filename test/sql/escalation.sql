-- A table's owner puts functions wherever the server may call them: nobody calls them as anybody but the owner.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE ROLE regress_it_mallory;
CREATE SCHEMA mal AUTHORIZATION regress_it_mallory;
SET ROLE regress_it_mallory;
CREATE TABLE mal.called_as (who name, by text);
CREATE FUNCTION mal.note(what text) RETURNS int VOLATILE LANGUAGE plpgsql AS $$
BEGIN
	IF current_user <> 'regress_it_mallory' THEN INSERT INTO mal.called_as VALUES (current_user, what); END IF;
	RETURN 1;
END $$;
CREATE FUNCTION mal.evil(what text) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM mal.note(what); RETURN 1; END $$;
-- in an index of the fact table
CREATE TABLE mal.f (id int PRIMARY KEY, doc jsonb);
INSERT INTO mal.f SELECT i, jsonb_build_object('k', i % 3) FROM generate_series(1, 10) i;
CREATE INDEX ON mal.f ((id + mal.evil('index of a fact table')));
SELECT indextable.create('mal.online', 'mal.f', '{k}', populate => false) \gset
-- in a domain
CREATE DOMAIN mal.d AS text DEFAULT repeat('x', mal.evil('default')) CHECK (value IS NULL OR mal.evil('check') = 1);
CREATE TABLE mal.g (id int PRIMARY KEY, doc jsonb, a mal.d);
INSERT INTO mal.g VALUES (1, '{"k": 1}', 'a');
SELECT indextable.create('mal.wider', 'mal.g', '{k}') \gset
-- in an index of the index table
SELECT indextable.create('mal.indexed', 'mal.f', '{k}') \gset
CREATE INDEX ON mal.indexed ((length(k) + mal.evil('index of an index table')));
-- in a cast of the primary key
CREATE TYPE mal.e AS ENUM ('a', 'b');
CREATE FUNCTION mal.e2j(mal.e) RETURNS json LANGUAGE plpgsql AS $$ BEGIN PERFORM mal.note('cast'); RETURN '"x"'::json; END $$;
CREATE CAST (mal.e AS json) WITH FUNCTION mal.e2j(mal.e);
CREATE TABLE mal.j (id mal.e PRIMARY KEY, doc jsonb);
INSERT INTO mal.j VALUES ('a', '{"k": "1"}');
SELECT indextable.create('mal.cast', 'mal.j', '{k}');
-- in the partition key of a table that a filter has the server open
CREATE TABLE mal.keyed (id int) PARTITION BY HASH ((id + mal.evil('partition key of a filter''s table')));
CREATE TABLE mal.h (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('mal.h_k', 'mal.h', '{k}', filter => format('satisfies_hash_partition(%s, 1, 0, id)', 'mal.keyed'::regclass::oid)) \gset
RESET ROLE;

-- what is planned once is kept: a new session each time
\c
INSERT INTO mal.h VALUES (1, '{"k": "1"}');
TABLE mal.h_k;
\c
CALL indextable.build('mal.online');
\c
SELECT indextable.alter('mal.wider', include => '{@a}') \gset
\c
CALL indextable.rebuild('mal.indexed');
\c
SELECT indextable.alter('mal.indexed', filter => 'id > 1') \gset
\c
SET session_replication_role = replica;
DELETE FROM mal.cast;
RESET session_replication_role;
SELECT kind, primary_key FROM indextable.verify('mal.cast');
CALL indextable.repair('mal.cast');
-- in a CHECK constraint of an index table, which is refused where event triggers fire, and planned by the server where a column becomes NOT NULL
SET session_replication_role = replica;
SET ROLE regress_it_mallory;
ALTER TABLE mal.wider ADD CONSTRAINT checked CHECK (mal.evil('check of an index table') = 1);
RESET ROLE;
RESET session_replication_role;
SELECT indextable.alter('mal.wider', include => '{b}');
SET ROLE regress_it_mallory;
SET client_min_messages = error;
ALTER TABLE mal.g DISABLE TRIGGER indextable_row;
ALTER TABLE mal.wider DROP CONSTRAINT wider_k_id_key;
ALTER TABLE mal.wider ALTER k DROP NOT NULL;
RESET client_min_messages;
RESET ROLE;
\c
CALL indextable.repair('mal.wider');
ALTER TABLE mal.wider DROP CONSTRAINT checked;
CALL indextable.repair('mal.wider');
-- in a CHECK constraint of a child by inheritance of an index table, which is refused as well
SET session_replication_role = replica;
SET ROLE regress_it_mallory;
CREATE TABLE mal.child (CHECK (mal.evil('check of a child') = 1)) INHERITS (mal.wider);
RESET ROLE;
RESET session_replication_role;
SELECT indextable.alter('mal.wider', include => '{b}');
SET ROLE regress_it_mallory;
SET client_min_messages = error;
ALTER TABLE mal.g DISABLE TRIGGER indextable_row;
ALTER TABLE mal.wider DROP CONSTRAINT wider_k_id_b_key;
ALTER TABLE mal.wider ALTER k DROP NOT NULL;
RESET client_min_messages;
RESET ROLE;
\c
CALL indextable.repair('mal.wider');
ALTER TABLE mal.child NO INHERIT mal.wider;
CALL indextable.repair('mal.wider');
-- in a partition key
SET ROLE regress_it_mallory;
CREATE TABLE mal.parts (id int NOT NULL, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE mal.parts1 PARTITION OF mal.parts (PRIMARY KEY (id)) FOR VALUES FROM (0) TO (10);
SELECT indextable.create('mal.parted', 'mal.parts', '{k}', primary_key => '{id}') \gset
RESET ROLE;
SET session_replication_role = replica;
SET ROLE regress_it_mallory;
CREATE TABLE mal.parts2 PARTITION OF mal.parts FOR VALUES FROM (10) TO (20) PARTITION BY RANGE ((id + mal.evil('partition key')));
SET client_min_messages = error;
ALTER TABLE mal.parts DISABLE TRIGGER indextable_row;
RESET ROLE;
RESET session_replication_role;
\c
SET ROLE regress_it_mallory;
CALL indextable.repair('mal.parted');
RESET ROLE;
SELECT * FROM mal.called_as;

-- Triggers are made on each table as its owner, also where the root's owner may make none on partitions: those of a superuser
-- here. Writes by either of them are followed, and so are partitions that come later.
SET ROLE regress_it_mallory;
CREATE TABLE mal.mixed (id int PRIMARY KEY, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE mal.mixed1 PARTITION OF mal.mixed FOR VALUES FROM (0) TO (10);
RESET ROLE;
CREATE TABLE mal.mixed2 PARTITION OF mal.mixed FOR VALUES FROM (10) TO (20);
SET ROLE regress_it_mallory;
CREATE TRIGGER native AFTER INSERT ON mal.mixed FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
SELECT indextable.create('mal.mixed_k', 'mal.mixed', '{k}'), indextable.create('mal.mixed_a', 'mal.mixed', '{k}', maintenance => 'async') \gset
INSERT INTO mal.mixed SELECT i, '{"k": "a"}' FROM generate_series(1, 19) i;
CREATE TABLE mal.mixed3 PARTITION OF mal.mixed FOR VALUES FROM (20) TO (30);
RESET ROLE;
INSERT INTO mal.mixed2 VALUES (0 + 10, '{"k": "b"}') ON CONFLICT (id) DO UPDATE SET doc = excluded.doc;
CREATE TABLE mal.mixed4 PARTITION OF mal.mixed FOR VALUES FROM (30) TO (40);
INSERT INTO mal.mixed SELECT i, '{"k": "c"}' FROM generate_series(20, 39) i;
SELECT indextable.drain('mal.mixed') > 0 AS drained;
SELECT k, count(*) FROM mal.mixed_k GROUP BY 1 ORDER BY 1;
SELECT tgrelid::regclass, tgname, tgenabled FROM pg_trigger WHERE tgrelid IN (SELECT relid FROM pg_partition_tree('mal.mixed')) AND tgname = 'indextable_row' ORDER BY 1;
ALTER TABLE mal.mixed DETACH PARTITION mal.mixed2;
ALTER TABLE mal.mixed ATTACH PARTITION mal.mixed2 FOR VALUES FROM (10) TO (20);
ALTER TABLE mal.mixed2 DISABLE TRIGGER indextable_row;
CALL indextable.repair('mal.mixed') \gset
SELECT * FROM indextable.verify('mal.mixed');
TABLE mal.mixed_k EXCEPT ALL SELECT doc ->> 'k', id FROM mal.mixed;
SELECT doc ->> 'k', id FROM mal.mixed EXCEPT ALL TABLE mal.mixed_k;
SELECT * FROM mal.called_as;

-- nor are tables of the extension locked for one who gives their names to his own, and takes them away while he alters these
SET ROLE regress_it_mallory;
CREATE TABLE mal.definition (i int);
CREATE FUNCTION mal.path() RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM set_config('search_path', 'indextable_internal', false); RETURN 1; END $$;
SET search_path = mal;
BEGIN;
ALTER TABLE definition DISABLE TRIGGER ALL, ADD COLUMN j int DEFAULT mal.path();
SHOW search_path;
SELECT relation::regclass, mode FROM pg_locks
WHERE pid = pg_backend_pid() AND relation = 'indextable_internal.definition'::regclass AND mode <> 'AccessShareLock';
ROLLBACK;
RESET search_path;
RESET ROLE;

-- nor does default_tablespace lead where the owner may not go
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE regress_it_space LOCATION '';
SET ROLE regress_it_mallory;
SET default_tablespace = regress_it_space;
CALL indextable.rebuild('mal.wider');
SELECT indextable.create('mal.more', 'mal.f', '{k}', maintenance => 'async');
SET default_tablespace = '';
SELECT indextable.create('mal.more', 'mal.f', '{k}') \gset
SET default_tablespace = regress_it_space;
SELECT indextable.alter('mal.more', maintenance => 'async') \gset
RESET default_tablespace;
RESET ROLE;
SELECT relname FROM pg_class WHERE reltablespace = (SELECT oid FROM pg_tablespace WHERE spcname = 'regress_it_space');
DROP TABLESPACE regress_it_space;

SET client_min_messages = warning;
DROP SCHEMA mal CASCADE;
DROP ROLE regress_it_mallory;
