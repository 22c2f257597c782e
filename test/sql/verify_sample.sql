-- verify() of a sample; of nearly all it is, a small table's every block is in it.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA sampled;
SET search_path = sampled;
SET indextable.advice = off;
CREATE TABLE f (id int PRIMARY KEY, doc jsonb);
INSERT INTO f SELECT i, jsonb_build_object('k', i % 20, 'v', i, 't', jsonb_build_array(i % 3, i % 7)) FROM generate_series(1, 2000) i;
SELECT indextable.create('f_k', 'f', '{k}', include => '{v}'), indextable.create('f_t', 'f', '{t[*]}'),
	indextable.create('f_u', 'f', '{v::int}', is_unique => true, filter => 'id <> 7'), indextable.create('f_a', 'f', '{k}', maintenance => 'async') \gset
SELECT i.index_table, v.* FROM indextable.index_tables i, indextable.verify(i.index_table, 99.999) v;
UPDATE f SET doc = doc || '{"k": "queued"}' WHERE id = 1;
SELECT * FROM indextable.verify('f_a', 99.999);
SET session_replication_role = replica;
DELETE FROM f_k WHERE id = 10;
UPDATE f_k SET v = 'wrong' WHERE id = 11;
UPDATE f_k SET k = 'wrong' WHERE id = 12;
INSERT INTO f_k VALUES ('gone', 3000, NULL);
DELETE FROM f_t WHERE id = 13 AND t = '1';
UPDATE f_u SET id = 3001 WHERE v = 14;
RESET session_replication_role;
SELECT * FROM indextable.verify('f_k', 99.999);
SELECT * FROM indextable.verify('f_t', 99.999);
SELECT * FROM indextable.verify('f_u', 99.999);
-- it is what the exact form says, and a part of it finds nothing else
SELECT count(*) FROM (SELECT * FROM indextable.verify('f_k') EXCEPT ALL SELECT * FROM indextable.verify('f_k', 99.999)) x;
SELECT count(*) FROM (SELECT * FROM indextable.verify('f_k', 20) EXCEPT ALL SELECT * FROM indextable.verify('f_k')) x;
SELECT * FROM indextable.verify('f_k', 0);
SELECT * FROM indextable.verify('f_k', 'NaN');
SELECT count(*) FROM indextable.verify(NULL, 10);
SET client_min_messages = warning;
DROP SCHEMA sampled CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
