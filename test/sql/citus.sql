-- Tables of Citus are refused, and one that becomes a table of Citus is not trusted any more. Without Citus: what it would
-- have in its catalog is written by hand, in a database of its own, first without the indexes that Citus has.
\set before :DBNAME
CREATE DATABASE citus_stand_in;
ALTER DATABASE citus_stand_in SET session_preload_libraries = 'indextable';
\c citus_stand_in
CREATE EXTENSION indextable;
SET allow_system_table_mods = on;
CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass, partmethod "char", partkey text, colocationid int, repmodel "char");
CREATE TABLE pg_catalog.pg_dist_shard (logicalrelid regclass, shardid int8, shardstorage "char", shardalias text, shardminvalue text, shardmaxvalue text);
ALTER TABLE pg_catalog.pg_dist_shard DROP shardalias;
CREATE SEQUENCE pg_catalog.pg_dist_shardid_seq MINVALUE 102008;
RESET allow_system_table_mods;

-- the kinds of tables
CREATE TABLE hashed (id int PRIMARY KEY, doc jsonb);
CREATE TABLE hashed_102008 (LIKE hashed INCLUDING ALL);
CREATE TABLE single (LIKE hashed INCLUDING ALL);
CREATE TABLE reference (LIKE hashed INCLUDING ALL);
CREATE TABLE local (LIKE hashed INCLUDING ALL);
CREATE TABLE a_table_whose_name_is_so_long_that_citus_has_to_shorten_it_ok (LIKE hashed INCLUDING ALL);
CREATE TABLE a_table_whose_name_is_so_long_that_citus_has_to_ec95e073_102083 (LIKE hashed INCLUDING ALL);
INSERT INTO pg_dist_partition VALUES ('hashed', 'h', 'key', 1, 's'), ('single', 'n', NULL, 2, 's'), ('reference', 'n', NULL, 3, 't'),
	('local', 'n', NULL, 0, 's'), ('a_table_whose_name_is_so_long_that_citus_has_to_shorten_it_ok', 'h', 'key', 1, 's');
INSERT INTO pg_dist_shard VALUES ('hashed', 102008, 't', NULL, NULL),
	('a_table_whose_name_is_so_long_that_citus_has_to_shorten_it_ok', 102083, 't', NULL, NULL);
SELECT indextable.create('k', 'hashed', '{k}');
SELECT indextable.create('k', 'hashed', '{k}', populate => false);
SELECT indextable.create('k', 'single', '{k}');
SELECT indextable.create('k', 'reference', '{k}', maintenance => 'async');
SELECT indextable.create('k', 'local', '{k}');
SELECT indextable.create('k', 'local', '{k}', maintenance => 'async');
SELECT indextable.create('k', 'hashed_102008', '{k}', maintenance => 'async');
SELECT indextable.create('k', 'a_table_whose_name_is_so_long_that_citus_has_to_ec95e073_102083', '{k}');
SELECT * FROM indextable.advise('hashed', '{k}');

-- those that only look like shards: no such shard, one of another table, one in another schema, no number
CREATE SCHEMA elsewhere;
CREATE TABLE hashed_102009 (LIKE hashed INCLUDING ALL);
CREATE TABLE ordinary_102008 (LIKE hashed INCLUDING ALL);
CREATE TABLE elsewhere.hashed_102008 (LIKE hashed INCLUDING ALL);
CREATE TABLE "hashed_102008x" (LIKE hashed INCLUDING ALL);
CREATE TABLE "hashed_99999999999999999999102008" (LIKE hashed INCLUDING ALL);
SELECT indextable.create('k' || row_number() OVER (), t, '{k}') FROM unnest('{hashed_102009,ordinary_102008,elsewhere.hashed_102008,
	hashed_102008x,hashed_99999999999999999999102008}'::regclass[]) t;

-- the same with the indexes that Citus has
SET allow_system_table_mods = on;
CREATE UNIQUE INDEX pg_dist_partition_logical_relid_index ON pg_dist_partition (logicalrelid);
CREATE UNIQUE INDEX pg_dist_shard_shardid_index ON pg_dist_shard (shardid);
RESET allow_system_table_mods;
SET enable_seqscan = off;
SELECT indextable.create('k', 'hashed', '{k}');
SELECT indextable.create('k', 'hashed_102008', '{k}');
SELECT indextable.create('more', 'hashed_102009', '{k}') \gset
RESET enable_seqscan;

-- partitions
CREATE TABLE parent (id int PRIMARY KEY, doc jsonb) PARTITION BY RANGE (id);
SELECT indextable.create('parent_k', 'parent', '{k}') \gset
ALTER TABLE parent ATTACH PARTITION hashed_102008 FOR VALUES FROM (0) TO (10);
CREATE TABLE parent2 (id int PRIMARY KEY, doc jsonb) PARTITION BY RANGE (id);
ALTER TABLE parent2 ATTACH PARTITION hashed_102008 FOR VALUES FROM (0) TO (10);
SELECT indextable.create('parent2_k', 'parent2', '{k}');

-- An index table that Citus takes as soon as it is created, as it can do with all new tables.
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb);
INSERT INTO fact SELECT g, jsonb_build_object('k', 'k' || g % 100) FROM generate_series(1, 1000) g;
CREATE FUNCTION take() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO pg_catalog.pg_dist_partition SELECT objid, 'n', NULL, 0, 's' FROM pg_event_trigger_ddl_commands() WHERE object_identity ~ 'taken$';
END $$;
CREATE EVENT TRIGGER take ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION take();
SELECT indextable.create('taken', 'fact', '{k}');
DROP EVENT TRIGGER take;

-- Registered tables become tables of Citus. The invalidation message is that of another change of the table.
SELECT indextable.create('by_k', 'fact', '{k}'), indextable.create('by_k_async', 'fact', '{k}', maintenance => 'async'),
	indextable.create('by_k_later', 'fact', '{k}', populate => false) \gset
ANALYZE fact;
CREATE PROCEDURE becomes(regclass, kinds text) LANGUAGE plpgsql AS $$ BEGIN
	DELETE FROM pg_dist_partition WHERE logicalrelid = $1;
	IF kinds <> '' THEN INSERT INTO pg_dist_partition VALUES ($1, left(kinds, 1)::"char", NULL, right(kinds, 1)::int, substr(kinds, 2, 1)::"char"); END IF;
	EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = on)', $1);
END $$;
CREATE FUNCTION problems() RETURNS TABLE (index_table regclass, kind text, problem text) LANGUAGE sql AS
	$$ SELECT i, v.kind, v.problem FROM unnest('{by_k,by_k_async}'::regclass[]) i, indextable.verify(i) v $$;
SET indextable.stale_reads = off;
\set query 'SELECT count(*) FROM fact WHERE doc ->> ''k'' = ''k1'''
EXPLAIN (COSTS OFF) :query;
INSERT INTO fact VALUES (1001, '{"k": "k1"}');
CALL becomes('fact', 'hs1');
SELECT * FROM problems();
SELECT indextable.lookup('by_k', '{"k": "k1"}');
SELECT indextable.lookup(NULL::fact, 'by_k_async', '{"k": "k1"}');
SELECT indextable.lookup('by_k_async', '{"k": "k1"}', max_lag => '0');
SELECT * FROM indextable.query('by_k', '{"k": "k1"}');
SELECT indextable.wait('by_k_async');
SELECT indextable.drain('fact');
SELECT indextable.drain();
SELECT indextable.alter('by_k', strategy => 'denormalized');
SELECT indextable.alter('by_k', maintenance => 'async');
CALL indextable.build('by_k_later');
CALL indextable.rebuild('by_k');
CALL indextable.repair('by_k_async');
SELECT indextable.create('by_k_new', 'fact', '{k}');
EXPLAIN (COSTS OFF) :query;
:query;
SELECT index_table, used, reason FROM indextable.explain($$SELECT * FROM fact WHERE doc ->> 'k' = 'k1'$$) ORDER BY 1;
CALL becomes('fact', 'nt3');
SELECT * FROM problems();
CALL becomes('fact', 'ns0');
SELECT * FROM problems();

-- and ordinary tables again: nothing was lost
CALL becomes('fact', '');
SELECT * FROM problems();
SELECT indextable.drain('fact') <= 1 AS drained;    -- a worker may have been faster
SELECT * FROM problems();
EXPLAIN (COSTS OFF) :query;
SELECT count(*) FROM indextable.lookup('by_k_async', '{"k": "k1"}');
CALL indextable.build('by_k_later');
SET indextable.planner = off;
(SELECT doc ->> 'k', id FROM fact EXCEPT ALL TABLE by_k_async) UNION ALL (TABLE by_k_async EXCEPT ALL SELECT doc ->> 'k', id FROM fact);
RESET indextable.planner;

-- An index table does.
CALL becomes('by_k', 'ns0');
SELECT * FROM problems();
SELECT indextable.lookup('by_k', '{"k": "k1"}');
SELECT count(*) FROM indextable.lookup('by_k_async', '{"k": "k1"}');
SELECT index_table, used, reason FROM indextable.explain($$SELECT * FROM fact WHERE doc ->> 'k' = 'k1'$$) ORDER BY 1;
SELECT indextable.drop('by_k') \gset

-- A prepared plan that uses an index table is not used any more.
SET indextable.stale_reads = on;
PREPARE p AS SELECT count(*) FROM fact WHERE doc ->> 'k' = 'k1';
EXPLAIN (COSTS OFF) EXECUTE p;
CALL becomes('fact', 'hs1');
EXPLAIN (COSTS OFF) EXECUTE p;
EXECUTE p;
CALL becomes('fact', '');
SELECT indextable.drop('by_k_later') \gset

-- A local table that is about to become a shard: Citus renames it first, to the number that it has taken for that.
SELECT nextval('pg_dist_shardid_seq');
ALTER TABLE fact RENAME TO fact_102009;
ALTER TABLE fact_102009 RENAME TO fact;
ALTER TABLE fact RENAME TO other_102008;
ALTER TABLE other_102008 RENAME TO fact;
ALTER TABLE fact RENAME TO fact_102008;
ALTER TABLE by_k_async RENAME TO by_k_async_102008;
CREATE TABLE plain (id int);
ALTER TABLE plain RENAME TO plain_102008;
-- and without event triggers
SET session_replication_role = replica;
ALTER TABLE fact RENAME TO fact_102008;
RESET session_replication_role;
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb);
INSERT INTO pg_dist_partition VALUES ('fact', 'n', NULL, 0, 's');
UPDATE pg_dist_shard SET logicalrelid = 'fact' WHERE shardid = 102008;
ALTER TABLE fact_102008 SET (autovacuum_enabled = on);
SELECT kind, problem FROM indextable.verify('by_k_async');
SELECT indextable.lookup('by_k_async', '{"k": "k1"}');
SELECT indextable.drop('by_k_async') \gset

-- A catalog of another shape, and one that is gone.
SET allow_system_table_mods = on;
ALTER TABLE pg_dist_partition DROP repmodel, DROP colocationid;
SELECT indextable.create('k', 'hashed', '{k}');
DROP TABLE pg_dist_partition, pg_dist_shard;
SELECT indextable.create('reference_k', 'reference', '{k}') \gset
\c :before
DROP DATABASE citus_stand_in WITH (FORCE);
