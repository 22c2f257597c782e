-- Partitioned index tables: guards, rights, what is done to their partitions, alter(), rebuild(), verify(), repair(), drop.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA ipddl;
SET search_path = ipddl, public;
\i :src/sql/include/index_parts.psql
SET timezone = 'UTC';
SET datestyle = 'ISO, MDY';
CREATE FUNCTION d(i int, k text DEFAULT NULL) RETURNS jsonb IMMUTABLE LANGUAGE sql AS $$
	SELECT jsonb_build_object('k', coalesce(k, 'k' || i % 7), 'u', 'u' || i, 'n', i) $$;
CREATE TABLE f (id int PRIMARY KEY, doc jsonb);
INSERT INTO f SELECT i, d(i) FROM generate_series(1, 90) i;
SELECT indextable.create('f_h', 'f', '{k}', include => '{u}', partitions => 3),
	indextable.create('f_r', 'f', '{n::int}', partition_by => 'RANGE (n)', partition_bounds => '{FROM (1) TO (50),FROM (50) TO (100)}'),
	indextable.create('f_d', 'f', '{u}', 'denormalized', is_unique => true, partitions => 2),
	indextable.create('f_q', 'f', '{n::int}', maintenance => 'async', partition_by => 'RANGE (n)', partition_bounds => '{FROM (1) TO (50)}') \gset
INSERT INTO expected VALUES
	('f_h', $$SELECT doc ->> 'k', id, doc ->> 'u' FROM f$$),
	('f_r', $$SELECT (doc ->> 'n')::int, id FROM f$$),
	('f_d', $$SELECT doc ->> 'u', id, doc FROM f$$),
	('f_q', $$SELECT (doc ->> 'n')::int, id FROM f$$);
:check
CREATE FUNCTION states() RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(index_table || ' ' || state, ', ' ORDER BY index_table::text COLLATE "C") FROM indextable.index_tables WHERE fact_table = 'ipddl.f'::regclass AND state <> 'active' $$;

-- ---- nobody writes by hand, neither the index table nor a partition
SELECT command, sqlstate_of(command) FROM unnest(ARRAY[
	$$INSERT INTO f_r VALUES (1, 1000)$$, $$INSERT INTO f_r_p0 VALUES (1, 1000)$$, $$UPDATE f_r SET n = n + 1$$, $$UPDATE f_r_p1 SET id = 0$$, $$DELETE FROM f_r$$, $$DELETE FROM f_r_default$$,
	$$TRUNCATE f_r$$, $$TRUNCATE f_r_p0$$, $$TRUNCATE f_r_p0, f$$, $$MERGE INTO f_r USING (VALUES (1)) v (x) ON n = x WHEN MATCHED THEN DELETE$$,
	$$INSERT INTO f_d_p0 VALUES ('x', 1)$$, $$DELETE FROM f_d_p0$$]) command;
COPY f_r FROM stdin;
\.
COPY f_r_p0 FROM stdin;
\.
:check
-- without a guard it is invalid, until it is mended
SET client_min_messages = error;
ALTER TABLE f_r_p1 DISABLE TRIGGER indextable_guard;
SELECT states();
DELETE FROM f_r_p1 WHERE n > 80;
SELECT indextable.lookup('f_r', '{"n": 3}');
CALL mend('f_r');
SELECT states();
:check
ALTER TABLE f_h_p2 DISABLE TRIGGER USER;
SELECT states();
CALL mend('f_h');
ALTER TABLE f_h DISABLE TRIGGER indextable_guard_row;
SELECT states();
CALL mend('f_h');
DROP TRIGGER indextable_guard ON f_h_p0;
SELECT states();
CALL mend('f_h');
SELECT sqlstate_of('DROP TRIGGER indextable_guard_row ON f_h_p0'), sqlstate_of('ALTER TRIGGER indextable_guard ON f_h_p0 RENAME TO mine'), sqlstate_of('ALTER TRIGGER indextable_guard_row ON f_h RENAME TO mine');
SELECT states();
RESET client_min_messages;
SELECT sqlstate_of('DELETE FROM f_h_p0'), sqlstate_of('DELETE FROM f_h_p2');
:check

-- ---- verify() and repair(), with what is wrong in the partitions
CREATE FUNCTION broken() RETURNS void LANGUAGE plpgsql AS $$
-- as a superuser who means it: 3 missing, 2 dangling, 2 stale in f_h; in f_q and f_d, too
DECLARE
	p regclass;
BEGIN
	SET LOCAL session_replication_role = replica;
	DELETE FROM f_h WHERE id IN (7, 8, 9);
	INSERT INTO f_h VALUES ('k1', 1007, 'gone'), ('nowhere', 1008, 'gone');
	UPDATE f_h SET u = 'other' WHERE id IN (21, 22);
	UPDATE f_q SET n = n + 1000 WHERE id = 3;
	DELETE FROM f_q WHERE id = 4;
	UPDATE f_d SET doc = '{}' WHERE id = 5;
	DELETE FROM f_r WHERE n BETWEEN 45 AND 54;
END $$;
SELECT broken();
RESET session_replication_role;
SELECT 'f_h' AS t, kind, primary_key FROM indextable.verify('f_h') UNION ALL SELECT 'f_q', kind, primary_key FROM indextable.verify('f_q')
UNION ALL SELECT 'f_d', kind, primary_key FROM indextable.verify('f_d') UNION ALL SELECT 'f_r', kind, primary_key FROM indextable.verify('f_r') ORDER BY 1, 2, 3;
SELECT kind, primary_key FROM indextable.verify('f_h', sample => 100) ORDER BY 1, 2;
CALL mend('f_h');
CALL mend('f_q');
CALL mend('f_d');
CALL mend('f_r');
:check
SELECT broken();
RESET session_replication_role;
CALL indextable.rebuild('f_h');
CALL indextable.rebuild('f_q');
CALL indextable.rebuild('f_d', 7);
CALL indextable.rebuild('f_r', 7);
:check
-- No entry can be in another partition than its key says: the server itself sees to that.
SET session_replication_role = replica;
INSERT INTO f_r_p0 VALUES (70, 1);
RESET session_replication_role;

-- ---- a new partition
CREATE TABLE f_r_more PARTITION OF f_r FOR VALUES FROM (100) TO (200);
-- what is there already is left as it is
CREATE TABLE IF NOT EXISTS f_r_more PARTITION OF f_r FOR VALUES FROM (100) TO (200);
INSERT INTO f SELECT i, d(i) FROM generate_series(91, 150) i;
:check
SELECT tableoid::regclass, count(*), min(n), max(n) FROM f_r GROUP BY 1 ORDER BY tableoid::regclass::text COLLATE "C";
SELECT states(), sqlstate_of('DELETE FROM f_r_more'), sqlstate_of('TRUNCATE f_r_more');
SELECT relname, reloptions FROM pg_class WHERE relname IN ('f_r_p0', 'f_r_more') ORDER BY 1;
CREATE TABLE f_q_more PARTITION OF f_q FOR VALUES FROM (200) TO (300);
INSERT INTO f SELECT i, d(i) FROM generate_series(190, 220) i;
:check
-- not one that takes what the default partition has: that is for alter()
SELECT sqlstate_of('CREATE TABLE f_q_50 PARTITION OF f_q FOR VALUES FROM (50) TO (100)');
BEGIN;
CREATE TABLE f_r_200 PARTITION OF f_r FOR VALUES FROM (300) TO (400);
INSERT INTO f VALUES (300, d(300));
:check
ROLLBACK;
:check
-- not with what a partition of ours has not
CREATE FOREIGN DATA WRAPPER ipddl_w;
CREATE SERVER ipddl_v FOREIGN DATA WRAPPER ipddl_w;
SELECT sub, sqlstate_of('CREATE ' || kind || ' TABLE sub PARTITION OF f_r ' || columns || ' FOR VALUES FROM (1000) TO (1100) ' || more) FROM (VALUES
	('as it should be', '', '', ''),
	('in a tablespace', '', '', 'TABLESPACE pg_default'),
	('with options', '', '', 'WITH (fillfactor = 50)'),
	('sub-partitioned', '', '', 'PARTITION BY RANGE (n)'),
	('foreign', 'FOREIGN', '', 'SERVER ipddl_v'),
	('unlogged', 'UNLOGGED', '', ''),
	('temporary', 'TEMP', '', ''),
	('with a default', '', '(id DEFAULT 5)', ''),
	('with a check', '', '(CHECK (id > 0))', ''),
	('with a foreign key', '', '(FOREIGN KEY (id) REFERENCES f)', '')) v (sub, kind, columns, more);
SELECT sqlstate_of('CREATE TABLE child () INHERITS (f_r)'), sqlstate_of('CREATE TABLE child () INHERITS (f_r_p0)');
CREATE TABLE f_r_bad PARTITION OF f_r (id DEFAULT 5) FOR VALUES FROM (1000) TO (1100);
CREATE SCHEMA s CREATE TABLE f_r_s PARTITION OF ipddl.f_r FOR VALUES FROM (400) TO (410);
INSERT INTO f VALUES (405, d(405));
:check
SELECT sqlstate_of('DELETE FROM s.f_r_s');
-- after columns have gone
SELECT indextable.alter('f_h', include => '{n::int}'), indextable.alter('f_q', include => '{u}'), indextable.alter('f_q', include => '{k}') \gset
UPDATE expected SET recompute = $$SELECT doc ->> 'k', id, (doc ->> 'n')::int FROM f$$ WHERE index_table = 'f_h';
UPDATE expected SET recompute = $$SELECT (doc ->> 'n')::int, id, doc ->> 'k' FROM f$$ WHERE index_table = 'f_q';
:check
CREATE TABLE f_q_late PARTITION OF f_q FOR VALUES FROM (500) TO (600);
INSERT INTO f VALUES (501, d(501));
:check

-- ---- partitions that go, or come with rows
SELECT sqlstate_of('ALTER TABLE f_r DETACH PARTITION f_r_p0'), sqlstate_of('ALTER TABLE f_r DETACH PARTITION f_r_p0 FINALIZE');
CREATE TABLE stranger (LIKE f_r);
SELECT sqlstate_of('ALTER TABLE f_r ATTACH PARTITION stranger FOR VALUES FROM (1000) TO (1100)');
DROP TABLE f_r_p0;
DROP TABLE f_r_default;
CREATE TABLE f_r_void PARTITION OF f_r FOR VALUES FROM (1000) TO (1100);
DROP TABLE f_r_void;
SELECT states();
INSERT INTO f VALUES (1050, d(1050));
:check
DROP TABLE s.f_r_s;
DELETE FROM f WHERE id = 405;
DROP TABLE s.f_r_s;
SELECT states();
:check
-- several at once, in a transaction, by CASCADE; of no effect when it is refused
CREATE TABLE f_r_v1 PARTITION OF f_r FOR VALUES FROM (2000) TO (2100);
CREATE TABLE f_r_v2 PARTITION OF f_r FOR VALUES FROM (2100) TO (2200);
BEGIN;
INSERT INTO f VALUES (2100, d(2100));
SELECT sqlstate_of('DROP TABLE f_r_v1, f_r_v2');
DELETE FROM f WHERE id = 2100;
DROP TABLE f_r_v1, f_r_v2 CASCADE;
INSERT INTO f VALUES (2100, d(2100));
:check
COMMIT;
:check
-- what drops one without naming it: invalid, and mended
CREATE TABLE s.f_r_s PARTITION OF f_r FOR VALUES FROM (400) TO (410);
INSERT INTO f VALUES (405, d(405)), (406, d(406));
SET client_min_messages = error;
DROP SCHEMA s CASCADE;
RESET client_min_messages;
SELECT states();
SELECT * FROM indextable.verify('f_r');
CALL mend('f_r');
SELECT states();
:check

-- ---- owners and rights
CREATE ROLE regress_ip_owner;
CREATE ROLE regress_ip_other;
CREATE ROLE regress_ip_reader;
GRANT ALL ON SCHEMA ipddl TO regress_ip_owner, regress_ip_other;
GRANT USAGE ON SCHEMA ipddl TO regress_ip_reader;
ALTER TABLE f OWNER TO regress_ip_owner;
SELECT DISTINCT c.relkind, pg_get_userbyid(c.relowner) FROM pg_class c WHERE oid = ANY (ARRAY(SELECT t.relid FROM indextable.index_tables i, pg_partition_tree(i.index_table) t WHERE i.fact_table = 'f'::regclass)) ORDER BY 1;
SET ROLE regress_ip_owner;
SELECT sqlstate_of('ALTER TABLE f_r_p0 OWNER TO regress_ip_other'), sqlstate_of('ALTER TABLE f_r OWNER TO regress_ip_other');
RESET ROLE;
ALTER TABLE f_r_p0 OWNER TO regress_ip_other;
SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = 'f_r_p0'::regclass;
-- by its owner, of a reader, and by a superuser for the owner
SET ROLE regress_ip_owner;
CREATE TABLE f_r_own PARTITION OF f_r FOR VALUES FROM (3000) TO (3100);
SELECT indextable.create('f_o', 'f', '{k,n::int}', partition_by => 'LIST (k)', partition_bounds => ARRAY[$$IN ('k1')$$]) \gset
RESET ROLE;
INSERT INTO expected VALUES ('f_o', $$SELECT doc ->> 'k', (doc ->> 'n')::int, id FROM f$$);
CREATE TABLE f_r_super PARTITION OF f_r FOR VALUES FROM (3100) TO (3200);
ALTER DEFAULT PRIVILEGES FOR ROLE regress_ip_owner IN SCHEMA ipddl GRANT SELECT ON TABLES TO PUBLIC;
SET ROLE regress_ip_owner;
CREATE TABLE f_r_default_rights PARTITION OF f_r FOR VALUES FROM (3200) TO (3300);
RESET ROLE;
ALTER DEFAULT PRIVILEGES FOR ROLE regress_ip_owner IN SCHEMA ipddl REVOKE SELECT ON TABLES FROM PUBLIC;
SELECT relname, pg_get_userbyid(relowner), (SELECT count(*) FROM aclexplode(relacl) WHERE grantee <> relowner) AS others FROM pg_class WHERE relname IN ('f_r_own', 'f_r_super', 'f_r_default_rights', 'f_o', 'f_o_p0') ORDER BY 1;
SET ROLE regress_ip_owner;
INSERT INTO f SELECT i, d(i) FROM generate_series(3050, 3250, 50) i;
UPDATE f SET doc = doc || '{"k": "by owner"}' WHERE id % 9 = 0;
RESET ROLE;
:check
SET ROLE regress_ip_other;
SELECT sqlstate_of('CREATE TABLE f_r_x PARTITION OF f_r FOR VALUES FROM (5000) TO (5100)'), sqlstate_of('DROP TABLE f_r_own'), sqlstate_of($$SELECT indextable.alter('f_h', partitions => 2)$$),
	sqlstate_of('SELECT * FROM f_r'), sqlstate_of('SELECT * FROM f_r_p0');
RESET ROLE;
GRANT SELECT ON f_r, f TO regress_ip_reader;
SET ROLE regress_ip_reader;
SELECT count(*) FROM f_r WHERE n < 100;
SELECT sqlstate_of('SELECT * FROM f_r_p0');
SELECT lookup ->> 'u' FROM indextable.lookup('f_r', '{"n": 60}');
SELECT sqlstate_of($$SELECT indextable.lookup('f_h', '{"k": "k1"}')$$);
RESET ROLE;
-- a fact table that its owner gives partitions, and whose index tables have some
SET ROLE regress_ip_owner;
CREATE TABLE p (id int, r text, doc jsonb, PRIMARY KEY (id, r)) PARTITION BY LIST (r);
CREATE TABLE p_a PARTITION OF p FOR VALUES IN ('a');
SELECT indextable.create('p_n', 'p', '{n::int}', partition_by => 'RANGE (n)'), indextable.create('p_h', 'p', '{n::int}', partitions => 2) \gset
CREATE TABLE p_b PARTITION OF p FOR VALUES IN ('b');
CREATE TABLE p_c (r text NOT NULL, id int NOT NULL, doc jsonb);
INSERT INTO p_c SELECT 'c', i, d(i) FROM generate_series(1, 30) i;
ALTER TABLE p ATTACH PARTITION p_c FOR VALUES IN ('c');
CREATE TABLE p_n_100 PARTITION OF p_n FOR VALUES FROM (100) TO (200);
INSERT INTO p SELECT i, 'b', d(i) FROM generate_series(90, 110) i;
RESET ROLE;
INSERT INTO expected SELECT t, $$SELECT (doc ->> 'n')::int, id, r FROM p$$ FROM unnest('{p_n,p_h}'::text[]) t;
:check
SELECT tableoid::regclass, count(*) FROM p_n GROUP BY 1 ORDER BY tableoid::regclass::text COLLATE "C";
DROP TABLE p;
-- names, schemas
CREATE SCHEMA elsewhere;
GRANT ALL ON SCHEMA elsewhere TO regress_ip_owner;
ALTER TABLE f_h RENAME TO "F h";
ALTER TABLE f_h_p1 RENAME TO "a partition";
ALTER TABLE "a partition" SET SCHEMA elsewhere;
ALTER TABLE "F h" SET SCHEMA elsewhere;
UPDATE expected SET index_table = 'elsewhere."F h"' WHERE index_table = 'f_h';
UPDATE f SET doc = doc || jsonb_build_object('k', 'k' || id % 13);
:check
SELECT indextable.alter('elsewhere."F h"', partitions => 2, maintenance => 'async') \gset
UPDATE f SET doc = doc || jsonb_build_object('k', 'k' || id % 11);
:check
SELECT * FROM parts('elsewhere."F h"');
SELECT indextable.alter('elsewhere."F h"', partitions => 3, maintenance => 'transactional') \gset
ALTER TABLE elsewhere."F h" SET SCHEMA ipddl;
ALTER TABLE "F h" RENAME TO f_h;
UPDATE expected SET index_table = 'f_h' WHERE index_table = 'elsewhere."F h"';
:check

-- ---- the owner's own indexes, on all and on one partition; what rewrites
CREATE INDEX f_r_by_id ON f_r (id DESC) INCLUDE (n);
CREATE UNIQUE INDEX f_r_p1_own ON f_r_p1 ((id * 2)) WHERE id > 0;
UPDATE f SET doc = doc || jsonb_build_object('n', (doc ->> 'n')::int + 7);
:check
SET enable_seqscan = off;
SELECT count(*) FROM f_r WHERE id = 60;
SELECT count(*) FROM f_r_p1 WHERE id * 2 = 120 AND id > 0;
RESET enable_seqscan;
CREATE INDEX f_r_p0_dup ON f_r_p0 (n);
REINDEX TABLE f_r;
REINDEX TABLE CONCURRENTLY f_r;
REINDEX INDEX CONCURRENTLY f_r_p1_own;
REINDEX TABLE CONCURRENTLY f_r_p0;
CLUSTER f_r_p0 USING f_r_p0_n_id_key;
VACUUM FULL f_r_p1;
VACUUM (FULL, ANALYZE) f_q;
UPDATE f SET doc = doc || jsonb_build_object('n', (doc ->> 'n')::int - 7);
:check
CALL indextable.rebuild('f_r');
SELECT indexrelid::regclass, indisvalid FROM pg_index WHERE indrelid::regclass::text IN ('f_r', 'f_r_p0', 'f_r_p1') ORDER BY indexrelid::regclass::text COLLATE "C";
UPDATE f SET doc = doc || jsonb_build_object('n', (doc ->> 'n')::int + 3) WHERE id < 100;
:check
SELECT sqlstate_of('ALTER TABLE f_r_p0 ADD CHECK (n > 0)'), sqlstate_of('ALTER TABLE f_r_p0 ALTER n SET DEFAULT 4'), sqlstate_of('ALTER TABLE f_r_p0 SET UNLOGGED'), sqlstate_of('ALTER TABLE f_r ADD CHECK (n > 0)'),
	sqlstate_of('ALTER TABLE f_r DROP COLUMN n'), sqlstate_of('ALTER TABLE f_r RENAME COLUMN n TO m'), sqlstate_of('ALTER TABLE f_r_p0 DROP CONSTRAINT f_r_p0_n_id_key'), sqlstate_of('ALTER TABLE f_r DROP CONSTRAINT f_r_n_id_key'),
	sqlstate_of('ALTER TABLE f_r ALTER n TYPE bigint'), sqlstate_of('ALTER TABLE f_r_p0 INHERIT stranger'), sqlstate_of('ALTER TABLE f_r_p0 ALTER id SET NOT NULL');
:check

-- ---- an included field that is too long for an index: the primary keys of all partitions are made anew
CREATE TABLE l (id int PRIMARY KEY, doc jsonb);
INSERT INTO l SELECT i, jsonb_build_object('k', 'k' || i % 5, 'v', 'short') FROM generate_series(1, 30) i;
SELECT indextable.create('l_k', 'l', '{k}', include => '{v}', partitions => 3), indextable.create('l_q', 'l', '{k}', include => '{v}', partitions => 3, maintenance => 'async') \gset
INSERT INTO expected VALUES ('l_k', $$SELECT doc ->> 'k', id, doc ->> 'v' FROM l$$), ('l_q', $$SELECT doc ->> 'k', id, doc ->> 'v' FROM l$$);
SELECT count(*) FROM pg_index WHERE indrelid IN (SELECT relid FROM pg_partition_tree('l_k')) AND indnatts = 3;
UPDATE l SET doc = doc || jsonb_build_object('v', (SELECT string_agg(md5(j::text), '') FROM generate_series(1, 300) j)) WHERE id = 7;
:check
SELECT count(*) FILTER (WHERE indnatts = 3) AS covering, count(*) FILTER (WHERE indisunique AND indisvalid) AS unique FROM pg_index WHERE indrelid IN (SELECT relid FROM pg_partition_tree('l_k'));
UPDATE l SET doc = doc || '{"k": "k9"}' WHERE id % 2 = 0;
:check
DROP TABLE l;

-- ---- alter(): other partitions, at once and by rebuild(); with everything else
SELECT indextable.alter('f_h', partitions => 5) \gset
:check
SELECT * FROM parts('f_h');
UPDATE f SET doc = doc || jsonb_build_object('k', 'k' || id % 17);
:check
SELECT indextable.alter('f_h', partitions => 2, populate => false) \gset
SELECT index_table, partitions FROM indextable.index_tables WHERE index_table = 'f_h'::regclass;
UPDATE f SET doc = doc || jsonb_build_object('k', 'k' || id % 19) WHERE id % 2 = 0;
:check
SELECT indextable.alter('f_h', include => '{u,n::int}', populate => false) \gset
INSERT INTO f SELECT i, d(i) FROM generate_series(4000, 4010) i;
CALL indextable.rebuild('f_h', 11);
UPDATE expected SET recompute = $$SELECT doc ->> 'k', id, doc ->> 'u', (doc ->> 'n')::int FROM f$$ WHERE index_table = 'f_h';
SELECT index_table, partitions, include FROM indextable.index_tables WHERE index_table = 'f_h'::regclass;
:check
SELECT indextable.alter('f_h', partitions => 4, strategy => 'normalized', filter => 'id > 10', maintenance => 'async') \gset
UPDATE expected SET recompute = $$SELECT doc ->> 'k', id FROM f WHERE id > 10$$ WHERE index_table = 'f_h';
UPDATE f SET doc = doc || jsonb_build_object('k', 'k' || id % 23) WHERE id % 2 = 0;
:check
SELECT indextable.alter('f_h', maintenance => 'transactional', filter => '') \gset
UPDATE expected SET recompute = $$SELECT doc ->> 'k', id FROM f$$ WHERE index_table = 'f_h';
:check
SELECT index_table, partitions, maintenance, filter FROM indextable.index_tables WHERE index_table = 'f_h'::regclass;
-- bounds; what is said of the default partition
SELECT indextable.alter('f_r', partition_bounds => '{FROM (1) TO (20),FROM (20) TO (3000)}') \gset
:check
SELECT * FROM parts('f_r');
SELECT tableoid::regclass, count(*) FROM f_r GROUP BY 1 ORDER BY tableoid::regclass::text COLLATE "C";
SELECT indexrelid::regclass FROM pg_index WHERE indrelid::regclass::text LIKE 'f\_r%' AND NOT indisunique ORDER BY indexrelid::regclass::text COLLATE "C";
SELECT indextable.alter('f_r', partition_bounds => '{FROM (1) TO (20),FROM (20) TO (3000),FROM (3000) TO (MAXVALUE)}', populate => false) \gset
CALL indextable.rebuild('f_r');
:check
SELECT * FROM parts('f_r');
UPDATE f SET doc = doc || jsonb_build_object('n', (doc ->> 'n')::int * 2);
:check
-- in a transaction that is rolled back, or makes more of it
BEGIN;
SELECT indextable.alter('f_r', partition_bounds => '{FROM (1) TO (5)}') \gset
:check
SAVEPOINT a;
SELECT indextable.alter('f_r', partition_bounds => '{FROM (1) TO (6),FROM (6) TO (7)}') \gset
ROLLBACK TO a;
SELECT * FROM parts('f_r');
ROLLBACK;
SELECT * FROM parts('f_r');
:check
BEGIN;
SELECT indextable.alter('f_h', partitions => 6) \gset
SELECT indextable.alter('f_h', partitions => 3) \gset
UPDATE f SET doc = doc || jsonb_build_object('k', 'k' || id % 29);
:check
COMMIT;
:check
-- what is there stays: views, rights, comments, the index table itself
CREATE VIEW on_f_r AS SELECT n FROM f_r;
COMMENT ON TABLE f_r IS 'mine';
SELECT indextable.alter('f_r', partition_bounds => '{FROM (1) TO (30)}') \gset
SELECT count(*) > 0 AS rows, obj_description('f_r'::regclass) FROM on_f_r;
SELECT sqlstate_of('DELETE FROM f_r'), sqlstate_of('DELETE FROM f_r_p0');
SET ROLE regress_ip_reader;
SELECT count(*) > 0 AS rows FROM f_r;
RESET ROLE;
SELECT DISTINCT pg_get_userbyid(relowner) FROM pg_class, pg_partition_tree('f_r') WHERE oid = relid;
:check
-- not what would take away what somebody else needs, and that before anything is built
CREATE VIEW on_f_r_p0 AS SELECT n FROM f_r_p0;
SELECT sqlstate_of($$SELECT indextable.alter('f_r', partition_bounds => '{FROM (1) TO (40)}')$$), sqlstate_of($$SELECT indextable.alter('f_r', partition_bounds => '{FROM (1) TO (40)}', populate => false)$$);
SELECT indextable.alter('f_r', include => '{k}') \gset
UPDATE expected SET recompute = $$SELECT (doc ->> 'n')::int, id, doc ->> 'k' FROM f$$ WHERE index_table = 'f_r';
SELECT count(*) > 0 AS rows FROM on_f_r_p0;
:check
DROP VIEW on_f_r_p0;
-- tablespaces; alone they leave the bounds as they are
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE regress_ip_1 LOCATION '';
CREATE TABLESPACE regress_ip_2 LOCATION '';
CREATE FUNCTION places(index_table regclass) RETURNS TABLE (tab text, place text, key_place text) LANGUAGE sql AS $$
	SELECT c.oid::regclass::text, coalesce(t.spcname, 'default'), coalesce(s.spcname, 'default') FROM pg_partition_tree(index_table) p JOIN pg_class c ON c.oid = p.relid
		LEFT JOIN pg_tablespace t ON t.oid = c.reltablespace JOIN pg_index x ON x.indrelid = c.oid AND indisunique JOIN pg_class i ON i.oid = indexrelid LEFT JOIN pg_tablespace s ON s.oid = i.reltablespace ORDER BY c.oid::regclass::text COLLATE "C" $$;
SET ROLE regress_ip_owner;
SELECT sqlstate_of($$SELECT indextable.alter('f_h', partitions => 2, partition_tablespaces => '{regress_ip_1}')$$);
RESET ROLE;
GRANT CREATE ON TABLESPACE regress_ip_1, regress_ip_2 TO regress_ip_owner;
SET ROLE regress_ip_owner;
SELECT indextable.alter('f_h', partitions => 2, partition_tablespaces => '{regress_ip_1,regress_ip_2}') \gset
SELECT indextable.alter('f_r', partition_tablespaces => '{regress_ip_2}') \gset
SELECT indextable.create('f_ts', 'f', '{k,n::int}', partition_by => 'RANGE (n)', partition_bounds => '{FROM (0) TO (50),FROM (50) TO (100)}', partition_tablespaces => '{regress_ip_1,pg_default}') \gset
RESET ROLE;
INSERT INTO expected VALUES ('f_ts', $$SELECT doc ->> 'k', (doc ->> 'n')::int, id FROM f$$);
:check
SELECT * FROM places('f_h') UNION ALL SELECT * FROM places('f_r') UNION ALL SELECT * FROM places('f_ts');
SELECT * FROM parts('f_r');
CALL indextable.rebuild('f_ts');
SELECT indextable.alter('f_ts', maintenance => 'async'), indextable.alter('f_ts', include => '{u}') \gset
UPDATE expected SET recompute = $$SELECT doc ->> 'k', (doc ->> 'n')::int, id, doc ->> 'u' FROM f$$ WHERE index_table = 'f_ts';
:check
SELECT * FROM places('f_ts');
SELECT indextable.alter('f_r', partition_tablespaces => '{pg_default}'), indextable.alter('f_h', partitions => 3, partition_tablespaces => '{pg_default}') \gset
SELECT * FROM places('f_h') UNION ALL SELECT * FROM places('f_r');
SELECT indextable.drop('f_ts') \gset
DROP TABLESPACE regress_ip_1;
DROP TABLESPACE regress_ip_2;
RESET allow_in_place_tablespaces;
:check
-- refused: between partitioned and not, and by another field or in another way
SELECT indextable.create('f_plain', 'f', '{k}') \gset
SELECT indextable.alter('f_plain', partitions => 3);
SELECT indextable.alter('f_h', partitions => 0);
SELECT indextable.alter('f_r', partitions => 0);
SELECT indextable.alter('f_r', partitions => 4);
SELECT command, sqlstate_of(format('SELECT indextable.alter(%s)', command)) FROM unnest(ARRAY[
	$$'f_plain', partition_by => 'RANGE (k)', partition_bounds => '{FROM (1) TO (2)}'$$, $$'f_plain', partition_tablespaces => '{pg_default}'$$, $$'f_plain', partitions => 0$$, $$'f_h', partition_by => 'RANGE (k)'$$,
	$$'f_h', partition_by => 'HASH (k)', partitions => 2$$, $$'f_o', partition_by => 'LIST (n)'$$, $$'f_o', partition_by => 'RANGE (k)'$$, $$'f_h', partitions => -1$$, $$'f_r', partition_bounds => '{FROM (1) TO (5),FROM (4) TO (6)}'$$,
	$$'f_r', partition_bounds => '{IN (1)}'$$, $$'f_r', partition_bounds => '{FROM (''x'') TO (''y'')}'$$, $$'f_r_p0', partitions => 2$$]) command;
:check

-- ---- build(): made empty, and filled while others write
SELECT indextable.create('f_b', 'f', '{k,n::int}', populate => false, partition_by => 'RANGE (n)', partition_bounds => '{FROM (0) TO (100)}') \gset
INSERT INTO expected VALUES ('f_b', $$SELECT doc ->> 'k', (doc ->> 'n')::int, id FROM f$$);
UPDATE f SET doc = doc || '{"k": "while it is built"}' WHERE id % 5 = 0;
CREATE TABLE f_b_100 PARTITION OF f_b FOR VALUES FROM (100) TO (200);
CALL indextable.build('f_b', 13);
SELECT states();
:check
-- a unique one meets its duplicates in one partition
SELECT sqlstate_of($$SELECT indextable.create('f_dup', 'f', '{k}', is_unique => true, partitions => 4)$$);
-- each partition has what the views say
ANALYZE f_h, f_r, f;
SELECT index_table, partitions, partition_by, entries = (SELECT count(*) FROM f) AS entries, table_size > 0 AS table, indexes_size > 0 AS indexes FROM indextable.index_tables JOIN indextable.index_table_stats USING (index_table, fact_table) WHERE index_table IN ('f_h'::regclass, 'f_r'::regclass) ORDER BY 1;
SELECT "table", partition, rows FROM indextable.distribution WHERE "table" IN ('f_r'::regclass, 'f'::regclass) ORDER BY 1, 2;
SELECT count(*), sum(rows) = (SELECT count(*) FROM f) AS rows FROM indextable.distribution WHERE "table" = 'f_h'::regclass;

-- ---- entries in the wrong partition, as after a change of a collation: verify() tells, the drain takes them from
-- where they are, and what it does not come to rebuild() puts right
SELECT indextable.create('f_m', 'f', '{k}', maintenance => 'async', partitions => 2) \gset
INSERT INTO expected VALUES ('f_m', $$SELECT doc ->> 'k', id FROM f$$);
UPDATE pg_class c SET relpartbound = o.relpartbound FROM pg_class o
	WHERE (c.oid, o.oid) IN (('f_m_p0'::regclass, 'f_m_p1'::regclass), ('f_m_p1'::regclass, 'f_m_p0'::regclass));
UPDATE pg_class SET relname = relname WHERE oid = 'f_m'::regclass;
SELECT kind, replace(problem, (SELECT count(*) FROM f)::text, 'all') AS problem FROM indextable.verify('f_m');
UPDATE f SET doc = doc || jsonb_build_object('k', 'moved ' || id) WHERE id % 2 = 0;
SELECT indextable.drain('f') > 0 AS drained;
SELECT kind, replace(problem, (SELECT count(*) FROM f WHERE id % 2 <> 0)::text, 'the others') AS problem FROM indextable.verify('f_m');
CALL indextable.rebuild('f_m');
SELECT * FROM indextable.verify('f_m');
:check
SELECT indextable.drop('f_m') \gset
DELETE FROM expected WHERE index_table = 'f_m';

-- ---- all goes
SELECT indextable.drop('f_h_p0');
SELECT indextable.drop('f_h') \gset
SELECT count(*) FROM pg_class WHERE relname LIKE 'f\_h%';
DROP TABLE f_b, f_plain;
SELECT sqlstate_of('DROP TABLE f_o_p0');
DROP TABLE f_o_p0, f_o;
:check
SET client_min_messages = error;
DROP OWNED BY regress_ip_other;
RESET client_min_messages;
SELECT states();
DROP VIEW on_f_r;
DROP TABLE f;
CALL pg_temp.no_rows('pg_temp.leftovers()');
SELECT relname FROM pg_class WHERE relnamespace IN ('ipddl'::regnamespace, 'elsewhere'::regnamespace, 'indextable_internal'::regnamespace, 'indextable_queues'::regnamespace) AND relname ~ '^(f|rebuild|queue)_' ORDER BY 1;
SET client_min_messages = warning;
DROP SCHEMA ipddl, elsewhere CASCADE;
DROP FOREIGN DATA WRAPPER ipddl_w CASCADE;
DROP OWNED BY regress_ip_owner, regress_ip_other, regress_ip_reader;
DROP ROLE regress_ip_owner, regress_ip_other, regress_ip_reader;
