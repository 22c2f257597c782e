-- Index tables over partitioned fact tables: however a row comes, moves or goes, through the root, a partition
-- between or a leaf, and with the partition it is in.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA parttest;
SET search_path = parttest, public;
SET timezone = 'UTC';

-- What each index table should hold; drift() compares all there are, after a drain, and asks verify().
CREATE TABLE expected (index_table text PRIMARY KEY, recompute text);
CREATE FUNCTION drift() RETURNS TABLE (what text, side text, entry text) LANGUAGE plpgsql AS $$
DECLARE
	e expected;
BEGIN
	PERFORM indextable.drain();
	FOR e IN SELECT x.* FROM expected x WHERE to_regclass(x.index_table) IS NOT NULL ORDER BY x.index_table COLLATE "C" LOOP
		RETURN QUERY SELECT e.index_table, o.* FROM pg_temp.oracle(e.index_table, e.recompute) o;
		RETURN QUERY SELECT e.index_table, 'verify ' || v.kind, coalesce(v.primary_key::text, v.problem) FROM indextable.verify(e.index_table) v;
	END LOOP;
END $$;
-- how many entries each has: that there is something to compare
CREATE FUNCTION entries() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	e expected;
	n int;
	result text[];
BEGIN
	FOR e IN SELECT x.* FROM expected x WHERE to_regclass(x.index_table) IS NOT NULL ORDER BY x.index_table COLLATE "C" LOOP
		EXECUTE 'SELECT count(*) FROM ' || e.index_table INTO n;
		result := result || (e.index_table || ' ' || n);
	END LOOP;
	RETURN array_to_string(result, ', ');
END $$;
-- repair() for all of f
CREATE PROCEDURE mend() LANGUAGE plpgsql AS $$
DECLARE
	t regclass;
	missing bigint; dangling bigint; stale bigint; remaining bigint;
BEGIN
	FOREACH t IN ARRAY (SELECT array_agg(index_table ORDER BY index_table) FROM indextable.index_tables WHERE fact_table = 'parttest.f'::regclass) LOOP
		CALL indextable.repair(t, 1000, missing, dangling, stale, remaining);
	END LOOP;
END $$;
-- whether a command is an error; it is rolled back if not
CREATE FUNCTION refused(command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE command;
	RAISE 'done' USING errcode = 'P0099';
EXCEPTION
	WHEN SQLSTATE 'P0099' THEN RETURN 'accepted';
	WHEN OTHERS THEN RETURN 'refused';
END $$;
-- triggers of ours, by table
CREATE FUNCTION triggers(root text) RETURNS TABLE (tab text, names text) LANGUAGE sql AS $$
	SELECT relid::regclass::text, string_agg(substr(tgname, 12) || CASE tgenabled WHEN 'A' THEN '' ELSE ' (' || tgenabled::text || ')' END, ' ' ORDER BY tgname)
	FROM pg_partition_tree(root::regclass) LEFT JOIN pg_trigger ON tgrelid = relid AND tgname LIKE 'indextable\_%' GROUP BY relid ORDER BY min(relid::regclass::text COLLATE "C")
$$;
\set check 'CALL pg_temp.no_rows(''drift()'');'

-- ---- a table of lists, of which one is of ranges and the default one of hashes; columns in every order
CREATE TABLE f (gone int, doc jsonb, region text, id int, note text, PRIMARY KEY (id, region)) PARTITION BY LIST (region);
ALTER TABLE f DROP COLUMN gone;
CREATE TABLE f_a PARTITION OF f FOR VALUES IN ('a', 'b', 'b0');
CREATE TABLE f_c (note text, id int NOT NULL, gone1 int, region text NOT NULL, gone2 text, doc jsonb) PARTITION BY RANGE (id);
ALTER TABLE f_c DROP COLUMN gone1, DROP COLUMN gone2;
CREATE TABLE f_c1 (region text NOT NULL, doc jsonb, gone int, note text, id int NOT NULL);
ALTER TABLE f_c1 DROP COLUMN gone;
ALTER TABLE f_c ATTACH PARTITION f_c1 FOR VALUES FROM (0) TO (100);
CREATE TABLE f_c2 PARTITION OF f_c FOR VALUES FROM (100) TO (200);
CREATE TABLE f_cd PARTITION OF f_c DEFAULT;
ALTER TABLE f ATTACH PARTITION f_c FOR VALUES IN ('c', 'd');
CREATE TABLE f_x (id int NOT NULL, note text, doc jsonb, region text NOT NULL) PARTITION BY HASH (id);
CREATE TABLE f_x0 PARTITION OF f_x FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE f_x1 (doc jsonb, region text NOT NULL, note text, id int NOT NULL);
ALTER TABLE f_x ATTACH PARTITION f_x1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
ALTER TABLE f ATTACH PARTITION f_x DEFAULT;

-- what i has: in one of 8 regions, 3 of them in the default partition; now and then a number that is none
CREATE FUNCTION r(i int) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT (ARRAY['a', 'b', 'c', 'd', 'x', 'y', 'z', 'c'])[1 + i % 8] $$;
CREATE FUNCTION d(i int, k text DEFAULT NULL) RETURNS jsonb IMMUTABLE LANGUAGE sql AS $$
	SELECT jsonb_build_object('k', coalesce(k, 'k' || i % 5), 'u', 'u' || i, 'n', CASE WHEN i % 10 = 9 THEN '"x"' ELSE to_jsonb(i) END,
		't', jsonb_build_array('t' || i % 3, 't' || i % 2, 't' || i % 3), 'live', i % 3 > 0)
$$;
INSERT INTO f (id, region, doc, note) SELECT i, r(i), d(i), 'n' || i FROM generate_series(1, 250, 7) i;

INSERT INTO expected VALUES
	('f_k', $$SELECT doc ->> 'k', id, region FROM f$$),
	('f_p', $$SELECT doc ->> 'k', id, region, doc ->> 'u', note FROM f$$),
	('f_d', $$SELECT doc ->> 'u', id, region, doc FROM f$$),
	('f_t', $$SELECT DISTINCT t, id, region FROM f, jsonb_array_elements_text(CASE jsonb_typeof(doc -> 't') WHEN 'array' THEN doc -> 't' ELSE jsonb_build_array(doc -> 't') END) t WHERE doc ->> 't' IS NOT NULL$$),
	('f_u', $$SELECT doc ->> 'u', id, region FROM f WHERE doc ->> 'u' IS NOT NULL$$),
	('f_n', $$SELECT (doc ->> 'n')::int, id, region FROM f WHERE jsonb_typeof(doc -> 'n') IS DISTINCT FROM 'string'$$),
	('f_w', $$SELECT doc ->> 'k', note, id, region FROM f WHERE (doc -> 'live')::boolean$$),
	('f_q', $$SELECT doc ->> 'k', id, region, doc ->> 'u' FROM f$$);
CREATE FUNCTION make() RETURNS void LANGUAGE sql AS $$
	SELECT indextable.create('f_k', 'f', '{k}');
	SELECT indextable.create('f_p', 'f', '{k}', include => '{u,@note}');
	SELECT indextable.create('f_d', 'f', '{u}', 'denormalized');
	SELECT indextable.create('f_t', 'f', '{t[*]}');
	SELECT indextable.create('f_u', 'f', '{u}', is_unique => true);
	SELECT indextable.create('f_n', 'f', '{n::int}', on_mismatch => 'skip');
	SELECT indextable.create('f_w', 'f', '{k,@note}', filter => '(doc -> ''live'')::boolean');
	SELECT indextable.create('f_q', 'f', '{k}', include => '{u}', maintenance => 'async');
$$;
SELECT make() \gset
:check
SELECT entries();
SELECT * FROM triggers('f');
\d f_k

-- ---- DML on the root, on a partition between, on leaves
INSERT INTO f (id, region, doc) SELECT i, r(i), d(i) FROM generate_series(2, 250, 7) i;
:check
INSERT INTO f_c (id, region, doc) SELECT i, 'c', d(i) FROM generate_series(3, 250, 7) i WHERE r(i) = 'c';
:check
INSERT INTO f_a (id, region, doc) SELECT i, 'a', d(i) FROM generate_series(3, 250, 7) i WHERE r(i) = 'a';
INSERT INTO f_c1 (id, region, doc, note) VALUES (90, 'd', d(290), 'm');
INSERT INTO f_x1 (id, region, doc, note) SELECT i, 'new', d(i + 1000), 'x' FROM generate_series(300, 330) i WHERE satisfies_hash_partition('f_x'::regclass, 2, 1, i);
:check
COPY f (id, region, doc, note) FROM stdin;
400	a	{"k": "copied", "u": "c1", "t": ["t1"]}	\N
401	c	{"k": "copied", "u": "c2", "n": 7}	n
402	q	{"k": "copied", "u": "c3", "live": true}	n
\.
COPY f_c1 (region, id, doc) FROM stdin;
d	4	{"k": "copied", "u": "c4", "t": "t0", "live": true}
\.
:check
SELECT entries();
-- in place
UPDATE f SET doc = d(id + 3000, 'up') WHERE id % 3 = 0;
:check
UPDATE f_c SET note = 'between' WHERE id % 2 = 0;
UPDATE f_c1 SET doc = doc || '{"k": "leaf"}', note = 'leaf' WHERE id < 50;
UPDATE f_x SET doc = doc - 'k' WHERE id % 5 = 0;
:check
-- from partition to partition, with the same and with another key; the primary key changes either way
UPDATE f SET region = 'c' WHERE region = 'a' AND id % 2 = 1;
:check
UPDATE f SET region = 'a', doc = d(id + 5000) WHERE region IN ('c', 'z') AND id % 4 = 1;
:check
UPDATE f SET id = id + 1000 WHERE region = 'd';
:check
UPDATE f_c SET id = id % 100 + 100 WHERE id > 1000;
:check
UPDATE f_x SET id = id + 2000;
:check
-- a leaf does not let its rows go
UPDATE f_a SET region = 'c' WHERE id = 400;
UPDATE f_c1 SET id = 150;
:check
-- to a place that was just left, and the same key given on
BEGIN;
DELETE FROM f WHERE id = 400;
INSERT INTO f (id, region, doc) VALUES (400, 'a', '{"k": "again", "u": "c1"}');
UPDATE f SET region = 'd' WHERE id = 400;
UPDATE f SET region = 'nowhere else' WHERE id = 400;
:check
UPDATE f SET region = 'a' WHERE id = 400;
COMMIT;
:check
-- ON CONFLICT
INSERT INTO f (id, region, doc, note) VALUES (400, 'a', '{"k": "one", "u": "oc1"}', 'c'), (401, 'c', '{"k": "two", "u": "oc2"}', 'c'), (410, 'x', '{"k": "three", "u": "oc3"}', 'c')
	ON CONFLICT (id, region) DO UPDATE SET doc = excluded.doc, note = excluded.note;
:check
INSERT INTO f_a (id, region, doc) VALUES (400, 'a', '{"k": "four", "u": "oc4"}'), (411, 'b', '{"k": "five", "u": "oc5"}') ON CONFLICT (id, region) DO UPDATE SET doc = excluded.doc;
INSERT INTO f_c1 (id, region, doc) VALUES (4, 'd', '{"k": "six"}'), (5, 'd', '{"k": "seven", "u": "oc7"}') ON CONFLICT DO NOTHING;
:check
-- MERGE
MERGE INTO f USING (VALUES (400, 'a', 'm1'), (401, 'c', 'm2'), (402, 'q', 'm3'), (420, 'q', 'm4'), (421, 'b', 'm5')) s (id, region, k) ON f.id = s.id AND f.region = s.region
	WHEN MATCHED AND s.k = 'm2' THEN DELETE
	WHEN MATCHED AND s.k = 'm3' THEN UPDATE SET region = 'd', doc = f.doc || '{"k": "moved"}'
	WHEN MATCHED THEN UPDATE SET doc = f.doc || jsonb_build_object('k', s.k)
	WHEN NOT MATCHED THEN INSERT (id, region, doc) VALUES (s.id, s.region, jsonb_build_object('k', s.k, 'u', s.k));
:check
MERGE INTO f_a USING (VALUES (421, 'b', 'm6'), (422, 'b', 'm7')) s (id, region, k) ON f_a.id = s.id AND f_a.region = s.region
	WHEN MATCHED THEN UPDATE SET doc = jsonb_build_object('k', s.k, 'u', s.k)
	WHEN NOT MATCHED THEN INSERT (id, region, doc) VALUES (s.id, s.region, jsonb_build_object('k', s.k, 'u', s.k));
:check
-- DELETE
DELETE FROM f WHERE id % 11 = 0;
DELETE FROM f_c WHERE id % 13 = 0;
DELETE FROM f_x1 WHERE id % 3 = 0;
:check
WITH d AS (DELETE FROM f_c WHERE id > 150 AND region = 'c' RETURNING *) INSERT INTO f_a (id, region, doc, note) SELECT id, 'b0', doc, note FROM d;
:check
-- savepoints, exceptions
BEGIN;
UPDATE f SET region = 'b' WHERE region = 'c' AND id % 2 = 0;
SAVEPOINT s;
UPDATE f SET region = 'x' WHERE region = 'b';
DELETE FROM f_a;
ROLLBACK TO s;
UPDATE f_a SET doc = doc || '{"k": "saved"}' WHERE id % 3 = 0;
:check
COMMIT;
:check
DO $$ BEGIN UPDATE parttest.f SET region = 'y' WHERE region = 'b'; RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN UPDATE parttest.f_a SET note = 'ex' WHERE id % 2 = 0; END $$;
:check
SELECT entries();

-- ---- unique over all partitions
INSERT INTO f (id, region, doc) VALUES (501, 'a', '{"u": "same"}');
INSERT INTO f (id, region, doc) VALUES (501, 'c', '{"u": "same"}');
\echo :LAST_ERROR_SQLSTATE
INSERT INTO f_c1 (id, region, doc) VALUES (51, 'c', '{"u": "same"}');
UPDATE f SET doc = '{"u": "same"}' WHERE region = 'x';
UPDATE f SET region = 'x' WHERE id = 501;
:check
INSERT INTO f_a (id, region, doc) VALUES (502, 'a', '{"u": "same"}');
DELETE FROM f_x WHERE id = 501;
INSERT INTO f_a (id, region, doc) VALUES (502, 'a', '{"u": "same"}');
:check

-- ---- a value that does not fit
CREATE TABLE strict_n (id int PRIMARY KEY, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE strict_1 PARTITION OF strict_n FOR VALUES FROM (0) TO (10);
INSERT INTO expected VALUES ('strict_k', $$SELECT (doc ->> 'n')::int, id FROM strict_n$$);
SELECT indextable.create('strict_k', 'strict_n', '{n::int}') \gset
INSERT INTO strict_n VALUES (1, '{"n": 1}');
INSERT INTO strict_n VALUES (2, '{"n": "x"}');
INSERT INTO strict_1 VALUES (2, '{"n": "x"}');
CREATE TABLE strict_2 (doc jsonb, id int NOT NULL);
INSERT INTO strict_2 VALUES ('{"n": 1}', 11), ('{"n": "x"}', 12);
ALTER TABLE strict_n ATTACH PARTITION strict_2 FOR VALUES FROM (10) TO (20);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM triggers('strict_n');
DELETE FROM strict_2 WHERE id = 12;
ALTER TABLE strict_n ATTACH PARTITION strict_2 FOR VALUES FROM (10) TO (20);
:check
SELECT * FROM strict_k ORDER BY id;
DROP TABLE strict_n;

-- ---- foreign keys that cascade, into and from a leaf of its own
CREATE TABLE grp (name text PRIMARY KEY);
INSERT INTO grp VALUES ('g1'), ('g2'), ('g3');
UPDATE f SET note = NULL;
ALTER TABLE f ADD FOREIGN KEY (note) REFERENCES grp ON UPDATE CASCADE ON DELETE CASCADE;
UPDATE f SET note = 'g' || 1 + id % 3;
:check
UPDATE grp SET name = 'g9' WHERE name = 'g1';
:check
DELETE FROM grp WHERE name = 'g2';
:check
ALTER TABLE f DROP CONSTRAINT f_note_fkey;
ALTER TABLE f_x0 ADD FOREIGN KEY (note) REFERENCES grp ON UPDATE SET NULL;
UPDATE grp SET name = 'g8' WHERE name = 'g3';
:check
SELECT entries();
ALTER TABLE f_x0 DROP CONSTRAINT f_x0_note_fkey;

-- ---- TRUNCATE
CREATE FUNCTION fill() RETURNS void LANGUAGE sql AS $$
	TRUNCATE f;
	INSERT INTO f (id, region, doc, note) SELECT i, r(i), d(i), 'n' || i FROM generate_series(1, 250, 5) i;
$$;
SELECT fill() \gset
:check
SELECT entries();
TRUNCATE f_a;
:check
TRUNCATE f_c;
:check
TRUNCATE f_x1, f_x0;
:check
SELECT entries();
SELECT fill() \gset
TRUNCATE f_c1, f_c;
:check
SELECT fill() \gset
TRUNCATE f_a, f;
:check
SELECT entries();
SELECT fill() \gset
TRUNCATE f, f_c1;
SELECT fill() \gset
BEGIN;
TRUNCATE f_c;
SAVEPOINT s;
TRUNCATE f;
INSERT INTO f (id, region, doc) VALUES (1, 'a', d(1)), (2, 'c', d(2));
TRUNCATE f_a;
:check
ROLLBACK TO s;
:check
INSERT INTO f_c1 (id, region, doc) VALUES (2, 'c', d(2));
TRUNCATE f_x0;
COMMIT;
:check
SELECT entries();
-- an error between, and then a leaf: the root is not being truncated any more
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
CREATE TRIGGER z_refuse BEFORE TRUNCATE ON f_x1 FOR EACH STATEMENT EXECUTE FUNCTION refuse();
DO $$ BEGIN TRUNCATE parttest.f; EXCEPTION WHEN raise_exception THEN TRUNCATE parttest.f_c2; END $$;
:check
TRUNCATE f;
TRUNCATE f_cd;
:check
DROP TRIGGER z_refuse ON f_x1;
-- with a table that a foreign key of a leaf refers to
SELECT fill() \gset
CREATE TABLE ref (id int PRIMARY KEY);
INSERT INTO ref SELECT generate_series(1, 250);
ALTER TABLE f_c1 ADD FOREIGN KEY (id) REFERENCES ref;
TRUNCATE ref;
TRUNCATE ref, f_c1;
:check
INSERT INTO ref SELECT generate_series(1, 250);
SELECT fill() \gset
TRUNCATE ref CASCADE;
:check
SELECT entries();
ALTER TABLE f_c1 DROP CONSTRAINT f_c1_id_fkey;
INSERT INTO ref SELECT generate_series(1, 250);
ALTER TABLE f ADD FOREIGN KEY (id) REFERENCES ref;
TRUNCATE ref CASCADE;
:check
ALTER TABLE f DROP CONSTRAINT f_id_fkey;
SELECT entries();

-- ---- user triggers that change the same row, or others in another partition
SELECT fill() \gset
CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() = 1 THEN
		UPDATE parttest.f SET doc = doc || '{"k": "meddled"}' WHERE id = NEW.id;
		UPDATE parttest.f SET region = CASE region WHEN 'a' THEN 'd' WHEN 'd' THEN 'x' ELSE 'a' END, id = id + 10000 WHERE id = NEW.id + 5;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER "!meddle" AFTER INSERT OR UPDATE ON f FOR EACH ROW EXECUTE FUNCTION meddle();
UPDATE f SET doc = doc || '{"k": "first"}' WHERE id % 4 = 1 AND id < 100;
:check
UPDATE f_a SET doc = doc || '{"k": "second"}' WHERE id % 2 = 0;
:check
INSERT INTO f (id, region, doc) VALUES (800, 'c', d(800)), (805, 'a', d(805)), (810, 'x', d(810));
:check
SELECT count(*) FROM f WHERE doc ->> 'k' = 'meddled';
DROP TRIGGER "!meddle" ON f;
CREATE TRIGGER zz_meddle AFTER UPDATE ON f_a FOR EACH ROW EXECUTE FUNCTION meddle();
UPDATE f SET doc = doc || '{"k": "third"}' WHERE region IN ('a', 'c');
:check
DROP TRIGGER zz_meddle ON f_a;
CREATE FUNCTION elsewhere() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.note := 'by trigger'; NEW.doc := NEW.doc || '{"k": "before"}'; RETURN NEW; END $$;
CREATE TRIGGER b BEFORE INSERT OR UPDATE ON f FOR EACH ROW EXECUTE FUNCTION elsewhere();
UPDATE f SET region = 'b' WHERE region = 'c' AND id % 2 = 0;
:check
DROP TRIGGER b ON f;

-- ---- verify() and repair() over partitions
SELECT fill() \gset
SELECT count(*) FROM (SELECT indextable.verify('f_k', 50) UNION ALL SELECT indextable.verify('f_d', 10)) v;
SET session_replication_role = replica;
ALTER TABLE f_c1 DISABLE TRIGGER ALL;
UPDATE f_c1 SET doc = doc || '{"k": "unseen"}' WHERE id % 2 = 0;
DELETE FROM f_c1 WHERE id % 3 = 0;
ALTER TABLE f_c1 ENABLE TRIGGER ALL, ENABLE ALWAYS TRIGGER indextable_row, ENABLE ALWAYS TRIGGER indextable_end, ENABLE ALWAYS TRIGGER indextable_before;
DELETE FROM f_k WHERE id = 12;
INSERT INTO f_k VALUES ('dangling', 77777, 'a'), ('dangling', 77778, 'no partition has it');
RESET session_replication_role;
SELECT kind, key, primary_key, expected, found, problem FROM indextable.verify('f_k') ORDER BY kind, primary_key::text, key::text;
SELECT count(*) > 0 AS something FROM indextable.verify('f_k', 100);
CALL indextable.repair('f_k');
CALL indextable.repair('f_p');
CALL indextable.repair('f_d', 2);
CALL indextable.repair('f_t');
CALL indextable.repair('f_u');
CALL indextable.repair('f_n');
CALL indextable.repair('f_w');
CALL indextable.repair('f_q');
:check
SELECT entries();

-- ---- partitions that come
CREATE TABLE f_e PARTITION OF f FOR VALUES IN ('e');
SELECT * FROM triggers('f_e');
INSERT INTO f (id, region, doc) VALUES (1, 'e', d(9001));
INSERT INTO f_e (id, region, doc) VALUES (2, 'e', d(9002));
:check
CREATE TABLE f_g PARTITION OF f FOR VALUES IN ('g', 'h') PARTITION BY LIST (region);
CREATE TABLE f_g1 PARTITION OF f_g FOR VALUES IN ('g');
CREATE TABLE IF NOT EXISTS f_g1 PARTITION OF f_g FOR VALUES IN ('g');
SELECT * FROM triggers('f_g');
INSERT INTO f (id, region, doc) VALUES (1, 'g', d(9003));
INSERT INTO f_g1 (id, region, doc) VALUES (2, 'g', d(9004));
TRUNCATE f_g1;
:check
SELECT entries();
CREATE UNLOGGED TABLE f_i PARTITION OF f FOR VALUES IN ('i');
-- by the way of another
CREATE SCHEMA parttest_s CREATE TABLE f_j PARTITION OF parttest.f FOR VALUES IN ('j');
SELECT * FROM triggers('parttest_s.f_j');
INSERT INTO f (id, region, doc) VALUES (1, 'j', d(9005));
TRUNCATE parttest_s.f_j;
:check
CALL mend();
DROP TABLE parttest_s.f_j;
DO $$ BEGIN CREATE TABLE parttest.f_j PARTITION OF parttest.f FOR VALUES IN ('j'); INSERT INTO parttest.f (id, region, doc) VALUES (1, 'j', parttest.d(9005)); END $$;
:check
BEGIN;
DROP TABLE f_j;
:check
ROLLBACK;
:check
DROP TABLE f_j;
:check
-- ATTACH: rows in another order of columns, with dropped ones
CREATE TABLE f_l (note text, gone int, region text NOT NULL DEFAULT 'l', doc jsonb, gone2 int, id int NOT NULL, gone3 text DEFAULT 'x');
ALTER TABLE f_l DROP COLUMN gone, DROP COLUMN gone2;
INSERT INTO f_l (note, doc, id) SELECT 'l' || i, d(i + 20000), i FROM generate_series(1, 20) i;
ALTER TABLE f_l DROP COLUMN gone3;
SELECT entries();
BEGIN;
ALTER TABLE f ATTACH PARTITION f_l FOR VALUES IN ('l');
:check
SELECT entries();
UPDATE f SET region = 'a' WHERE region = 'l' AND id = 3;
UPDATE f_l SET doc = doc || '{"k": "attached"}' WHERE id = 4;
:check
ROLLBACK;
:check
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'f_l'::regclass;
ALTER TABLE f ATTACH PARTITION f_l FOR VALUES IN ('l');
:check
SELECT entries();
SELECT * FROM triggers('f_l');
-- counted, what is skipped
SELECT skipped FROM indextable.index_table_stats WHERE index_table = 'f_n'::regclass;
UPDATE f_l SET note = 'x', doc = doc || '{"k": "attached"}';
:check
-- and DETACH
BEGIN;
ALTER TABLE f DETACH PARTITION f_l;
:check
INSERT INTO f_l (doc, id) VALUES (d(20001), 100);
:check
ROLLBACK;
:check
ALTER TABLE f DETACH PARTITION f_l;
:check
SELECT * FROM triggers('f_l');
SELECT entries();
UPDATE f_l SET doc = '{"u": "u1", "k": "free"}' WHERE id = 1;
DELETE FROM f_l WHERE id = 2;
:check
-- a key that another partition has: refused, all of it
SELECT doc ->> 'u' AS taken FROM f_a ORDER BY id LIMIT 1 \gset
UPDATE f_l SET doc = jsonb_build_object('u', :'taken') WHERE id = 1;
ALTER TABLE f ATTACH PARTITION f_l FOR VALUES IN ('l');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'f_l'::regclass;
:check
UPDATE f_l SET doc = d(20001);
ALTER TABLE f ATTACH PARTITION f_l FOR VALUES IN ('l');
\echo :LAST_ERROR_SQLSTATE
UPDATE f_l SET doc = d(20000 + id);
ALTER TABLE f_x ATTACH PARTITION f_l FOR VALUES WITH (MODULUS 4, REMAINDER 0);
ALTER TABLE f ATTACH PARTITION f_l FOR VALUES IN ('l');
:check
-- as a subtree
CREATE TABLE f_m (LIKE f) PARTITION BY RANGE (id);
CREATE TABLE f_m1 (LIKE f_l);
INSERT INTO f_m1 (note, region, doc, id) SELECT 'm', 'm', d(i + 30000), i FROM generate_series(1, 20) i;
ALTER TABLE f_m ATTACH PARTITION f_m1 FOR VALUES FROM (0) TO (100);
CREATE TABLE f_m2 PARTITION OF f_m FOR VALUES FROM (100) TO (200);
INSERT INTO f_m (id, region, doc) SELECT i, 'm', d(i + 30000) FROM generate_series(120, 130) i;
ALTER TABLE f ATTACH PARTITION f_m FOR VALUES IN ('m');
:check
SELECT * FROM triggers('f_m');
SELECT entries();
UPDATE f_m SET id = 200 - id;
:check
ALTER TABLE f_m DETACH PARTITION f_m2;
:check
ALTER TABLE f DETACH PARTITION f_m;
:check
SELECT * FROM triggers('f_m');
ALTER TABLE f_m ATTACH PARTITION f_m2 FOR VALUES FROM (100) TO (200);
ALTER TABLE f ATTACH PARTITION f_m FOR VALUES IN ('m');
:check
SELECT entries();
-- what is not taken
CREATE TABLE f_own (LIKE f INCLUDING ALL);
SELECT indextable.create('own_k', 'f_own', '{k}') \gset
SELECT refused($$ALTER TABLE f ATTACH PARTITION f_own FOR VALUES IN ('own')$$);
SELECT indextable.drop('own_k') \gset
ALTER TABLE f ATTACH PARTITION f_own FOR VALUES IN ('own');
:check
DROP TABLE f_own;
CREATE UNLOGGED TABLE f_un (LIKE f INCLUDING ALL);
ALTER TABLE f ATTACH PARTITION f_un FOR VALUES IN ('un');
DROP TABLE f_un;
CREATE FOREIGN DATA WRAPPER parttest_w;
CREATE SERVER parttest_v FOREIGN DATA WRAPPER parttest_w;
CREATE FOREIGN TABLE f_for (doc jsonb, region text, id int, note text) SERVER parttest_v;
ALTER FOREIGN TABLE f_for ALTER region SET NOT NULL, ALTER id SET NOT NULL;
SELECT refused($$ALTER TABLE f ATTACH PARTITION f_for FOR VALUES IN ('for')$$);
SELECT refused($$CREATE FOREIGN TABLE f_for2 PARTITION OF f FOR VALUES IN ('for') SERVER parttest_v$$);
SET client_min_messages = warning;
DROP FOREIGN DATA WRAPPER parttest_w CASCADE;
RESET client_min_messages;
-- a partition is no fact table of its own
SELECT indextable.create('own_k', 'f_a', '{k}');
SELECT indextable.create('own_k', 'f_c', '{k}');
-- CONCURRENTLY; not beside a default partition
ALTER TABLE f DETACH PARTITION f_x;
:check
ALTER TABLE f DETACH PARTITION f_m CONCURRENTLY;
:check
ALTER TABLE f_m DETACH PARTITION f_m2 CONCURRENTLY;
ALTER TABLE f_m ATTACH PARTITION f_m2 FOR VALUES FROM (100) TO (200);
ALTER TABLE f ATTACH PARTITION f_m FOR VALUES IN ('m');
ALTER TABLE f_m DETACH PARTITION f_m1 CONCURRENTLY;
:check
SELECT * FROM triggers('f_m1');
ALTER TABLE f_m ATTACH PARTITION f_m1 FOR VALUES FROM (0) TO (100);
-- ones that an older version of this library has left half detached with their entries, and whose rows are others by now
CREATE FUNCTION half_detached(partition regclass) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
	UPDATE pg_inherits SET inhdetachpending = true WHERE inhrelid = partition;
	UPDATE pg_class SET relname = relname WHERE oid IN (SELECT inhparent FROM pg_inherits WHERE inhrelid = partition UNION ALL SELECT relid FROM pg_partition_tree(partition));
	RETURN EXISTS (SELECT FROM drift());
END $$;
SET allow_system_table_mods = on;
SELECT half_detached('f_m');
DELETE FROM f_m WHERE id = (SELECT min(id) FROM f_m);
UPDATE f_m SET doc = d(id + 31000) WHERE id = (SELECT max(id) FROM f_m);
ALTER TABLE f DETACH PARTITION f_m FINALIZE;
:check
ALTER TABLE f ATTACH PARTITION f_m FOR VALUES IN ('m');
:check
CREATE TABLE f_z PARTITION OF f FOR VALUES IN ('z');
INSERT INTO f (id, region, doc) VALUES (1, 'z', d(31101)), (2, 'z', d(31102));
SELECT half_detached('f_z');
DELETE FROM f_z WHERE id = 1;
RESET allow_system_table_mods;
DROP TABLE f_z;
:check
DROP FUNCTION half_detached;
ALTER TABLE f ATTACH PARTITION f_x DEFAULT;
:check
-- many rows, more than are kept in memory at a time
CREATE TABLE f_o (id int NOT NULL, region text NOT NULL, doc jsonb, note text);
INSERT INTO f_o SELECT i, 'o', d(i + 1000000), 'o' FROM generate_series(1, 12000) i;
ALTER TABLE f ATTACH PARTITION f_o FOR VALUES IN ('o');
:check
SELECT entries();
DROP TABLE f_o;
:check
-- DROP
DROP TABLE f_l, f_e;
:check
DROP TABLE f_m1, f_m;
:check
DROP TABLE IF EXISTS f_g1, nope;
CREATE VIEW f_g_view AS SELECT * FROM f_g;
INSERT INTO f (id, region, doc) VALUES (1, 'a', d(9006));
DROP TABLE f_g;
:check
CREATE TABLE f_g1 PARTITION OF f_g DEFAULT;
INSERT INTO f (id, region, doc) VALUES (1, 'h', d(9007));
:check
BEGIN;
INSERT INTO f (id, region, doc) VALUES (2, 'h', d(9008));
SAVEPOINT s;
DROP TABLE f_g CASCADE;
:check
ROLLBACK TO s;
UPDATE f SET doc = d(9009) WHERE id = 2 AND region = 'h';
COMMIT;
:check
DROP TABLE f_g CASCADE;
:check
SELECT entries();

-- ---- what drops a partition without naming it: noticed at the least, and then repair() mends it
CREATE FUNCTION wrong_but_active() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT DISTINCT d.what || ' is ' || t.state FROM drift() d JOIN indextable.index_tables t ON t.index_table = d.what::regclass WHERE t.state = 'active' ORDER BY 1 $$;
CREATE TABLE parttest_s.f_r PARTITION OF f FOR VALUES IN ('r');
INSERT INTO f (id, region, doc) VALUES (1, 'r', d(9009));
SET client_min_messages = error;
DROP SCHEMA parttest_s CASCADE;
RESET client_min_messages;
CALL pg_temp.no_rows('wrong_but_active()');
CALL mend();
:check
CREATE ROLE regress_it_leaf;
CREATE ROLE regress_it_schema;
GRANT ALL ON SCHEMA parttest TO regress_it_leaf;
CREATE TABLE f_r PARTITION OF f FOR VALUES IN ('r');
ALTER TABLE f_r OWNER TO regress_it_leaf;
INSERT INTO f (id, region, doc) VALUES (1, 'r', d(9009));
SET client_min_messages = error;
DROP OWNED BY regress_it_leaf;
RESET client_min_messages;
CALL pg_temp.no_rows('wrong_but_active()');
CALL mend();
:check
-- the owner of the schema may drop it, without owning it
CREATE SCHEMA parttest_s AUTHORIZATION regress_it_schema;
CREATE TABLE parttest_s.f_r PARTITION OF f FOR VALUES IN ('r');
INSERT INTO f (id, region, doc) VALUES (1, 'r', d(9009));
SET ROLE regress_it_schema;
DROP TABLE parttest_s.f_r;
RESET ROLE;
CALL pg_temp.no_rows('wrong_but_active()');
CALL mend();
:check

-- ---- owners and rights
GRANT ALL ON SCHEMA parttest TO regress_it_leaf;
CREATE TABLE f_r PARTITION OF f FOR VALUES IN ('r');
ALTER TABLE f_r OWNER TO regress_it_leaf;
INSERT INTO f (id, region, doc) VALUES (1, 'r', d(9009));
SET ROLE regress_it_leaf;
INSERT INTO f (id, region, doc) VALUES (2, 'r', d(9010));
INSERT INTO f_r (id, region, doc) VALUES (2, 'r', d(9010)), (3, 'r', d(9011));
UPDATE f_r SET doc = doc || '{"k": "by owner"}' WHERE id < 3;
SELECT * FROM indextable.lookup('f_k', '{"k": "by owner"}');
RESET ROLE;
:check
SET ROLE regress_it_leaf;
TRUNCATE f_r;
RESET ROLE;
:check
SET ROLE regress_it_leaf;
INSERT INTO f_r (id, region, doc) VALUES (2, 'r', d(9010)), (3, 'r', d(9011));
DROP TABLE f_r;
RESET ROLE;
:check
-- the root is enough to look up; rights on leaves do not count, nor their row security
GRANT SELECT ON f, f_k, f_d TO regress_it_leaf;
GRANT USAGE ON SCHEMA parttest TO regress_it_leaf;
SELECT d(12, 'seen') AS doc \gset
INSERT INTO f (id, region, doc) VALUES (9001, 'a', d(9012, 'seen')), (9002, 'c', d(9013, 'seen')), (9003, 'x', d(9014, 'seen'));
ALTER TABLE f_a ENABLE ROW LEVEL SECURITY;
SET ROLE regress_it_leaf;
SELECT lookup ->> 'u' FROM indextable.lookup('f_k', '{"k": "seen"}');
SELECT id, region, doc ->> 'u' FROM indextable.lookup(NULL::f, 'f_k', '{"k": "seen"}');
SELECT id, region FROM indextable.lookup(NULL::f, 'f_d', '{"u": "u9013"}');
SELECT count(*) FROM indextable.lookup('f_d', '{"u": "u9012"}');
RESET ROLE;
ALTER TABLE f ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON f FOR SELECT USING (region <> 'a');
SET ROLE regress_it_leaf;
SELECT lookup ->> 'u' FROM indextable.lookup('f_k', '{"k": "seen"}');
SELECT id, region, doc ->> 'u' FROM indextable.lookup(NULL::f, 'f_k', '{"k": "seen"}');
SELECT count(*) FROM indextable.lookup('f_d', '{"u": "u9012"}');
SELECT count(*) FROM indextable.lookup('f_d', '{"u": "u9013"}');
RESET ROLE;
DROP POLICY p ON f;
ALTER TABLE f DISABLE ROW LEVEL SECURITY;
ALTER TABLE f_a DISABLE ROW LEVEL SECURITY;
-- whole rows in the order of the root's columns, in the order of the index table; the type is the root's
SELECT indextable.lookup(NULL::f, 'f_k', '{"k": "seen"}');
SELECT indextable.drain() > 0;
SELECT count(*) FROM indextable.lookup(NULL::f, 'f_q', '{"k": "seen"}');
SELECT indextable.lookup(NULL::f_c1, 'f_k', '{"k": "seen"}');
SELECT count(*) FROM f, indextable.lookup(NULL::f, 'f_p', jsonb_build_object('k', f.doc ->> 'k')) l WHERE f.region = 'c';

-- ---- DDL on leaves and on the root
ALTER TABLE f_a RENAME TO f_a2;
ALTER TABLE f_a2 SET SCHEMA public;
UPDATE f SET doc = doc || '{"k": "renamed"}' WHERE region = 'a';
:check
ALTER TABLE public.f_a2 SET SCHEMA parttest;
ALTER TABLE f_a2 RENAME TO f_a;
ALTER TABLE f RENAME COLUMN note TO remark;
UPDATE expected SET recompute = replace(recompute, 'note', 'remark');
UPDATE f SET remark = 'r' || id WHERE id % 2 = 0;
:check
ALTER TABLE f RENAME COLUMN remark TO note;
UPDATE expected SET recompute = replace(recompute, 'remark', 'note');
ALTER TABLE f ADD COLUMN extra int DEFAULT 5;
UPDATE f SET extra = id, doc = doc || '{"k": "extra"}' WHERE id % 5 = 1;
:check
ALTER TABLE f DROP COLUMN extra;
UPDATE f SET doc = doc || '{"k": "no extra"}' WHERE id % 5 = 1;
:check
ALTER TABLE f ALTER COLUMN doc TYPE json USING doc::json;
\set VERBOSITY sqlstate
ALTER TABLE f ALTER COLUMN id TYPE bigint;
\set VERBOSITY default
ALTER TABLE f DROP COLUMN doc;
ALTER TABLE f DROP COLUMN note;
ALTER TABLE f DROP CONSTRAINT f_pkey;
SELECT refused('ALTER TABLE f_a ALTER COLUMN doc TYPE json USING doc::json'), refused('ALTER TABLE f_a DROP COLUMN doc');
SELECT refused('ALTER TABLE f_c1 SET UNLOGGED');
VACUUM FULL f_a;
CLUSTER f_c1 USING f_c1_pkey;
REINDEX TABLE CONCURRENTLY f_a;
UPDATE f SET doc = doc || '{"k": "vacuumed"}' WHERE id % 5 = 2;
:check
SELECT count(*) = (SELECT count(*) FROM f WHERE doc ->> 'k' = 'vacuumed') FROM indextable.lookup('f_k', '{"k": "vacuumed"}');
-- triggers: without one of them the index tables are invalid
CREATE FUNCTION states() RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(DISTINCT concat_ws(': ', state, problem), ', ') FROM indextable.index_tables WHERE fact_table = 'parttest.f'::regclass $$;
SET client_min_messages = error;
SELECT states();
ALTER TABLE f_c1 DISABLE TRIGGER indextable_row;
SELECT states();
UPDATE f SET doc = doc || '{"k": "missed"}' WHERE region = 'c';
CALL mend();
SELECT states();
:check
ALTER TABLE f_c1 DISABLE TRIGGER indextable_end;
SELECT states();
CALL mend();
ALTER TABLE f_x1 DISABLE TRIGGER indextable_before;
SELECT states();
CALL mend();
ALTER TABLE ONLY f DISABLE TRIGGER indextable_row;
SELECT states();
CALL mend();
ALTER TABLE f DISABLE TRIGGER USER;
SELECT states();
INSERT INTO f (id, region, doc) VALUES (9020, 'a', d(9020));
CALL mend();
DROP TRIGGER indextable_end ON f_c;
SELECT states();
CALL mend();
DROP TRIGGER indextable_before ON f_a;
SELECT states();
CALL mend();
SELECT refused('DROP TRIGGER indextable_row ON f_a');
ALTER TABLE f_x0 ENABLE TRIGGER ALL;
SELECT states();
CALL mend();
RESET client_min_messages;
SELECT states();
SELECT * FROM triggers('f');
:check

-- ---- alter(), rebuild(), build()
SELECT indextable.alter('f_k', maintenance => 'async'), indextable.alter('f_q', maintenance => 'transactional') \gset
UPDATE f SET region = 'b' WHERE region = 'c' AND id % 2 = 0;
:check
SELECT * FROM triggers('f');
SELECT indextable.alter('f_k', maintenance => 'transactional') \gset
SELECT indextable.alter('f_q', maintenance => 'async') \gset
SELECT indextable.alter('f_p', include => '{t::jsonb}') \gset
UPDATE expected SET recompute = $$SELECT doc ->> 'k', id, region, doc -> 't' FROM f$$ WHERE index_table = 'f_p';
:check
CALL indextable.rebuild('f_d', 7);
CALL indextable.rebuild('f_u');
CALL indextable.rebuild('f_q', 7);
:check
SELECT indextable.create('f_b', 'f', '{t[*],k}', populate => false) \gset
INSERT INTO expected VALUES ('f_b', replace((SELECT recompute FROM expected WHERE index_table = 'f_t'), 't, id, region FROM', 't, doc ->> ''k'', id, region FROM'));
INSERT INTO f (id, region, doc) VALUES (9030, 'c', d(9030)), (9031, 'd', d(9031));
CREATE TABLE f_q1 (LIKE f);
INSERT INTO f_q1 (id, region, doc) SELECT i, 'q', d(9040 + i) FROM generate_series(1, 10) i;
ALTER TABLE f ATTACH PARTITION f_q1 FOR VALUES IN ('q');
TRUNCATE f_cd;
ALTER TABLE f_c DETACH PARTITION f_c2;
CALL indextable.build('f_b', 10);
SELECT states();
:check
SELECT indextable.drop('f_b') \gset
SELECT indextable.create('f_b', 'f', '{t[*],k}', populate => false) \gset
CREATE TABLE f_q2 PARTITION OF f FOR VALUES IN ('q2');
INSERT INTO f_q2 (id, region, doc) VALUES (1, 'q2', d(9060));
DROP TABLE f_q1;
CALL indextable.build('f_b');
:check
SELECT entries();
ALTER TABLE f_c ATTACH PARTITION f_c2 FOR VALUES FROM (100) TO (200);
:check

-- ---- primary keys of several types; partitioned by a part of them
CREATE COLLATION parttest.nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE g (at timestamptz, u uuid, name text COLLATE nocase, "N o" numeric, doc jsonb, PRIMARY KEY ("N o", name, u, at)) PARTITION BY RANGE (at, "N o");
CREATE TABLE g_1 PARTITION OF g FOR VALUES FROM (MINVALUE, MINVALUE) TO ('2024-01-01', 5);
CREATE TABLE g_2 ("N o" numeric NOT NULL, doc jsonb, name text COLLATE nocase NOT NULL, at timestamptz NOT NULL, u uuid NOT NULL) PARTITION BY LIST (name);
ALTER TABLE g ATTACH PARTITION g_2 FOR VALUES FROM ('2024-01-01', 5) TO ('2025-01-01', MAXVALUE);
CREATE TABLE g_2a PARTITION OF g_2 FOR VALUES IN ('Anna', 'Bob');
CREATE TABLE g_2d PARTITION OF g_2 DEFAULT PARTITION BY HASH (name, u);
CREATE TABLE g_2d0 PARTITION OF g_2d FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE g_2d1 PARTITION OF g_2d FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO expected VALUES ('g_k', $$SELECT doc ->> 'k', "N o", name, u, at FROM g$$), ('g_q', $$SELECT doc ->> 'k', "N o", name, u, at FROM g$$);
SELECT indextable.create('g_k', 'g', '{k}'), indextable.create('g_q', 'g', '{k}', maintenance => 'async') \gset
INSERT INTO g SELECT '2023-06-01'::timestamptz + i * interval '9 days', md5((i % 7)::text)::uuid, (ARRAY['Anna', 'anna', 'BOB', 'Cy', 'cY', 'é'])[1 + i % 6], i % 9 + 0.50, d(i) FROM generate_series(1, 60) i;
:check
UPDATE g SET at = at + '100 days' WHERE at < '2024-09-01';
:check
UPDATE g SET name = upper(name), "N o" = "N o" * 1.000;
:check
UPDATE g SET u = md5(u::text)::uuid, doc = d(7) WHERE name > 'c';
:check
SELECT count(*) = (SELECT count(*) FROM g WHERE doc ->> 'k' = 'k2') AS same, count(*) > 3 AS some FROM indextable.lookup(NULL::g, 'g_k', '{"k": "k2"}');
SELECT count(*) = (SELECT count(*) FROM g WHERE doc ->> 'k' = 'k2') AS same FROM indextable.lookup(NULL::g, 'g_q', '{"k": "k2"}');
INSERT INTO g SELECT at, u, lower(name), "N o" + 0.0, doc || '{"k": "upserted"}' FROM g ON CONFLICT ("N o", name, u, at) DO UPDATE SET doc = excluded.doc;
:check
CALL indextable.rebuild('g_k', 5);
:check
DROP TABLE g_2a;
:check
-- (how many rows it had is the server's hash function's to say)
TRUNCATE g_2d1;
:check
DROP TABLE g;

-- ---- partitions of partitions come while nothing else of the table is locked
CREATE TABLE n (r int, id int, doc jsonb, PRIMARY KEY (r, id)) PARTITION BY LIST (r);
CREATE TABLE n_1 PARTITION OF n FOR VALUES IN (1) PARTITION BY HASH (id);
CREATE TABLE n_2 PARTITION OF n FOR VALUES IN (2);
SELECT indextable.create('n_k', 'n', '{k}') \gset
CREATE TABLE n_1a PARTITION OF n_1 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE n_1b (LIKE n INCLUDING ALL);
INSERT INTO n_1b SELECT 1, g, '{"k": "b"}' FROM generate_series(1, 20) g WHERE satisfies_hash_partition('n_1'::regclass, 2, 1, g);
ALTER TABLE n_1 ATTACH PARTITION n_1b FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO n SELECT 1 + g % 2, g, '{"k": "a"}' FROM generate_series(21, 40) g;
CALL pg_temp.compare('n_k', $$SELECT doc ->> 'k', r, id FROM n$$);
-- a command on the middle one only
ALTER TABLE n_1 OWNER TO CURRENT_USER;
ALTER TABLE n_1 DETACH PARTITION n_1a;
CALL pg_temp.compare('n_k', $$SELECT doc ->> 'k', r, id FROM n$$);
DROP TABLE n, n_1a;
-- its keys may be kept unique by each partition alone
CREATE TABLE n (r int NOT NULL, id int NOT NULL, doc jsonb) PARTITION BY LIST (r);
CREATE TABLE n_1 PARTITION OF n FOR VALUES IN (1) PARTITION BY HASH (id);
CREATE TABLE n_1a PARTITION OF n_1 (UNIQUE (r, id)) FOR VALUES WITH (MODULUS 1, REMAINDER 0);
SELECT indextable.create('n_k', 'n', '{k}', primary_key => '{r,id}') \gset
CREATE ROLE regress_it_middle;
GRANT CREATE ON SCHEMA parttest TO regress_it_middle;
ALTER TABLE n_1 OWNER TO regress_it_middle;
ALTER TABLE n_1 OWNER TO CURRENT_USER;
DROP OWNED BY regress_it_middle;
DROP ROLE regress_it_middle;
DROP TABLE n;

-- ---- all goes
SELECT indextable.drop(index_table) FROM (SELECT index_table FROM indextable.index_tables WHERE index_table <> 'f_k'::regclass ORDER BY index_table::text COLLATE "C" OFFSET 0) x;
SELECT * FROM triggers('f');
:check
SELECT indextable.drop('f_k') \gset
SELECT * FROM triggers('f');
INSERT INTO f (id, region, doc) VALUES (1, 'nothing', '{}');
DELETE FROM expected WHERE index_table = 'f_p';
SELECT make() \gset
:check
SELECT entries();
CREATE TABLE f_z PARTITION OF f FOR VALUES IN ('last');
INSERT INTO f_z (id, region, doc) VALUES (1, 'last', d(9999));
ALTER TABLE f DETACH PARTITION f_z;
DROP TABLE f;
CALL pg_temp.no_rows('pg_temp.leftovers()');
DROP TABLE f_z;

-- a partition whose primary key is checked later than the table's: two rows of one key share an entry
CREATE TABLE late (id int, r int, v int, doc jsonb, PRIMARY KEY (id, r)) PARTITION BY LIST (r);
CREATE TABLE late_1 (id int NOT NULL, r int NOT NULL, v int, doc jsonb, PRIMARY KEY (id, r) DEFERRABLE INITIALLY DEFERRED);
ALTER TABLE late ATTACH PARTITION late_1 FOR VALUES IN (1);
SELECT indextable.create('late_t', 'late', '{town}') \gset
INSERT INTO late VALUES (1, 1, 1, '{"town": "x"}');
BEGIN;
INSERT INTO late VALUES (1, 1, 2, '{"town": "x"}');
DELETE FROM late WHERE v = 1;
COMMIT;
CALL pg_temp.compare('late_t', $$SELECT doc ->> 'town', id, r FROM late$$);
DROP TABLE late;

-- functions that are called meanwhile may have the names mean other tables
CREATE SCHEMA parttest_other;
CREATE TABLE parttest_other.moved (id int, doc jsonb);
CREATE TABLE parttest_other.moved_2 (id int, doc jsonb);
CREATE FUNCTION elsewhere(i int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM set_config('search_path', 'parttest_other', false); RETURN true; END $$;
CREATE TABLE moved (id int PRIMARY KEY, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE moved_1 PARTITION OF moved FOR VALUES FROM (0) TO (10);
SELECT indextable.create('moved_k', 'moved', '{k}') \gset
CREATE TABLE moved_2 (id int PRIMARY KEY, doc jsonb, CONSTRAINT c CHECK (parttest.elsewhere(1)));
INSERT INTO moved_2 VALUES (11, '{"k": "a"}');
SET search_path = parttest;
ALTER TABLE moved ATTACH PARTITION moved_2 FOR VALUES FROM (10) TO (20);
SHOW search_path;
SET search_path = parttest;
SELECT * FROM moved_k;
CALL pg_temp.compare('moved_k', $$SELECT doc ->> 'k', id FROM moved$$);
DROP TABLE moved;
-- a constraint of the owner that is of the kind of that by which entries are found, and comes before it
CREATE TABLE own (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('own_k', 'own', '{k}', partitions => 2, sparse => false), indextable.create('own_whole', 'own', '{k}', sparse => false) \gset
INSERT INTO own SELECT i, jsonb_build_object('k', i) FROM generate_series(1, 20) i;
ALTER TABLE own_k_p0 ADD UNIQUE NULLS NOT DISTINCT (id);
ALTER TABLE own_whole ADD UNIQUE NULLS NOT DISTINCT (id);
REINDEX INDEX CONCURRENTLY own_k_p0_k_id_key;
REINDEX INDEX CONCURRENTLY own_whole_k_id_key;
UPDATE own SET doc = jsonb_build_object('k', id + 1);
SELECT count(*) FROM generate_series(1, 21) i, unnest('{own_k,own_whole}'::regclass[]) t, indextable.lookup(t, jsonb_build_object('k', i));
CALL pg_temp.compare('own_k', $$SELECT doc ->> 'k', id FROM own$$);
DROP TABLE own;
SET client_min_messages = warning;
DROP SCHEMA parttest, parttest_s, parttest_other CASCADE;
DROP OWNED BY regress_it_leaf, regress_it_schema;
DROP ROLE regress_it_leaf, regress_it_schema;
