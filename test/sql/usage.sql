-- How much index tables are read and written: what the upkeep reads is not counted, what others read is.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA usage;
SET search_path = usage;
SET client_min_messages = warning;      -- not what REINDEX and the like say
CREATE ROLE regress_it_usage;
CREATE ROLE regress_it_other;
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb);
INSERT INTO fact SELECT i, jsonb_build_object('k', i % 10, 'n', i, 'v', 'x', 'l', jsonb_build_array(i % 7, i % 5)) FROM generate_series(1, 1000) i;

-- What the view says, with all that this backend has done.
CREATE PROCEDURE flush() LANGUAGE sql AS $$SELECT pg_stat_force_next_flush()$$;
CREATE FUNCTION reads() RETURNS TABLE (index_table text, reads bigint, entries_read bigint) LANGUAGE sql AS
$$SELECT index_table::text, reads, entries_read FROM indextable.index_table_stats WHERE fact_table = 'usage.fact'::regclass ORDER BY 1$$;
-- Those of the upkeep's own reads, anywhere: there are none.
CREATE FUNCTION counted() RETURNS TABLE (index_table text, reads bigint, entries_read bigint) LANGUAGE sql AS
$$SELECT * FROM usage.reads() r WHERE r.reads <> 0 OR r.entries_read <> 0$$;
SET stats_fetch_consistency = none;

-- ---- making index tables is no read of them, by parallel workers neither
SET min_parallel_table_scan_size = 0;
SET max_parallel_maintenance_workers = 2;
SET maintenance_work_mem = '128MB';
SELECT indextable.create('by_k', 'fact', '{k}') \gset
SELECT indextable.create('by_n', 'fact', '{n::int}', is_unique => true) \gset
SELECT indextable.create('by_v', 'fact', '{k}', include => '{v}') \gset
SELECT indextable.create('by_l', 'fact', '{l[*]}', strategy => 'denormalized') \gset
SELECT indextable.create('later', 'fact', '{k}', maintenance => 'async') \gset
SELECT indextable.create('online', 'fact', '{k}', include => '{n}', populate => false) \gset
SELECT indextable.create('queued', 'fact', '{k}', maintenance => 'async', populate => false) \gset
SELECT indextable.create('parts', 'fact', '{k}', include => '{v}', partitions => 3) \gset
SELECT indextable.create('asyncparts', 'fact', '{k}', maintenance => 'async', partitions => 3) \gset
CALL flush();
CALL indextable.build('online', batch_size => 100);
CALL indextable.build('queued', batch_size => 100);
CALL flush();
SELECT index_table, strategy, maintenance, reads, last_read, entries_read, entries_written, skipped, rejected,
       table_size + indexes_size = (SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE oid = index_table OR oid IN (SELECT relid FROM pg_partition_tree(index_table))) AS bytes, since <= now() AS since, verdict
FROM indextable.index_tables JOIN indextable.index_table_stats USING (index_table, fact_table) WHERE fact_table = 'fact'::regclass ORDER BY index_table::text;

-- ---- nor is keeping them in step
BEGIN;
INSERT INTO fact SELECT i, jsonb_build_object('k', i % 10, 'n', i, 'v', 'x', 'l', jsonb_build_array(1, 2)) FROM generate_series(2001, 3000) i;
COMMIT;
UPDATE fact SET doc = doc || '{"k": 11}' WHERE id <= 1000;
UPDATE fact SET doc = doc || '{"v": "y"}' WHERE id <= 1000;
UPDATE fact SET doc = doc || jsonb_build_object('n', id + 10000, 'l', jsonb_build_array(8)) WHERE id <= 500;
UPDATE fact SET id = -id WHERE id <= 100;
DELETE FROM fact WHERE id > 2000;
INSERT INTO fact VALUES (1, '{"n": 10001}');        -- a duplicate
INSERT INTO fact SELECT i, jsonb_build_object('k', 1, 'n', i) FROM generate_series(4001, 4010) i ON CONFLICT DO NOTHING;
SELECT indextable.drain() > 0 AS drained;
CALL flush();
SELECT * FROM counted();

-- ---- nor looking whether they are right, and mending them
SELECT count(*) FROM indextable.verify('by_k');
SELECT count(*) FROM indextable.verify('by_l', sample => 60);
SELECT count(*) FROM indextable.verify('later', sample => 60);
SELECT count(*) FROM indextable.verify('parts', sample => 60);
SET client_min_messages = error;    -- which index tables are invalid now, in any order
ALTER TABLE fact DISABLE TRIGGER USER;
SET client_min_messages = warning;
UPDATE fact SET doc = doc || '{"k": 12}' WHERE id BETWEEN 200 AND 300;
DELETE FROM fact WHERE id BETWEEN 301 AND 310;
INSERT INTO fact VALUES (5000, '{"k": 13, "n": 5000, "l": [1]}');
CALL indextable.repair('by_k');
CALL indextable.repair('by_n');
CALL indextable.repair('by_l');
CALL indextable.repair('later');
CALL indextable.repair('by_v');
CALL indextable.repair('online');
CALL indextable.repair('queued');
CALL indextable.repair('parts');
CALL indextable.repair('asyncparts');
CALL flush();
SELECT * FROM counted();

-- ---- nor is changing them
CALL indextable.rebuild('by_k');
SELECT indextable.alter('by_k', maintenance => 'async') \gset
SELECT indextable.alter('later', maintenance => 'transactional') \gset
SELECT indextable.alter('by_v', include => '{v,n::int}') \gset
SELECT indextable.alter('by_l', filter => 'id <> 7', populate => false) \gset
CALL indextable.rebuild('by_l');
RESET min_parallel_table_scan_size;
RESET max_parallel_maintenance_workers;
RESET maintenance_work_mem;
TRUNCATE fact;
INSERT INTO fact SELECT i, jsonb_build_object('k', i % 10, 'n', i, 'v', 'x', 'l', jsonb_build_array(i % 7, i % 5)) FROM generate_series(1, 1000) i;
SELECT indextable.drain() > 0 AS drained;
CALL flush();
SELECT * FROM counted();
-- What an owner's index is made of was read; what it is made of again was not.
CALL indextable.rebuild('parts');
CREATE INDEX by_k_owners ON by_k (id, k);
CALL indextable.rebuild('by_k');
CALL flush();
SELECT * FROM counted();
SELECT indextable.reset_stats('by_k');

-- ---- what others read is, each time once
SELECT count(*) FROM indextable.lookup('by_k', '{"k": "3"}');
CALL flush();
SELECT * FROM reads() WHERE index_table = 'by_k';
SELECT count(*) FROM indextable.lookup(NULL::fact, 'by_n', '{"n": 7}');
SELECT count(*) FROM indextable.lookup('by_n', '{"n": -1}');
SELECT count(*) FROM indextable.lookup('by_n', '{"n": null}');        -- needs no scan
SELECT count(*) FROM indextable.lookup('parts', '{"k": "3"}');
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*) FROM by_v WHERE k = '3';
RESET enable_bitmapscan;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SELECT count(*) FROM by_l WHERE l = '3';
RESET enable_indexscan;
RESET enable_indexonlyscan;
RESET enable_seqscan;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;
SELECT count(*) FROM later;
RESET enable_indexscan;
RESET enable_bitmapscan;
RESET enable_indexonlyscan;
CALL flush();
SELECT * FROM reads();
-- also amid writes of the same transaction
BEGIN;
UPDATE fact SET doc = doc || '{"k": 3}' WHERE id = 1;
SELECT count(*) FROM indextable.lookup('later', '{"k": "3"}');
UPDATE fact SET doc = doc || '{"k": 4}' WHERE id = 1;
ROLLBACK;
CALL flush();
SELECT * FROM reads() WHERE index_table = 'later';
SELECT index_table, reads = 0 OR (last_read IS NULL) = (current_setting('server_version_num')::int < 160000) AS last_read, verdict
FROM indextable.index_table_stats WHERE fact_table = 'fact'::regclass ORDER BY index_table::text;

-- ---- entries written are those of writers and of builds, not those of a rebuild
SELECT entries_written AS written FROM indextable.index_table_stats WHERE index_table = 'by_v'::regclass \gset
INSERT INTO fact VALUES (1001, '{"k": "a", "v": 1}'), (1002, '{"k": "a", "v": 1}');
UPDATE fact SET doc = '{"k": "b", "v": 1}' WHERE id = 1001;
UPDATE fact SET doc = '{"k": "b", "v": 2}' WHERE id = 1001;
UPDATE fact SET doc = doc || '{"other": 1}' WHERE id = 1001;
DELETE FROM fact WHERE id = 1002;
CALL flush();
SELECT entries_written - :written AS written FROM indextable.index_table_stats WHERE index_table = 'by_v'::regclass;
CALL indextable.rebuild('by_v');
CALL flush();
SELECT entries_written - :written AS written, reads FROM indextable.index_table_stats WHERE index_table = 'by_v'::regclass;

-- ---- reads stay when the primary key is made anew: with other included fields, and without them because one is too long
SELECT indextable.alter('by_v', include => '{v}') \gset
CALL flush();
SELECT * FROM reads() WHERE index_table IN ('by_v', 'parts');
SELECT pg_stat_get_tuples_inserted('fact'::regclass) AS inserted \gset
BEGIN;
INSERT INTO fact SELECT i, jsonb_build_object('k', 'long', 'v', CASE WHEN i = 1101 THEN (SELECT string_agg(md5(j::text), '') FROM generate_series(1, 300) j) END)
FROM generate_series(1101, 1110) i;
COMMIT;
CALL flush();
SELECT * FROM reads() WHERE index_table IN ('by_v', 'parts');
-- and what is written afterwards is counted
INSERT INTO fact VALUES (1111, '{"k": "after"}');
CALL flush();
SELECT pg_stat_get_tuples_inserted('fact'::regclass) - :inserted AS inserted;

-- ---- other partitions are counted anew
SELECT since AS before FROM indextable.index_table_stats WHERE index_table = 'parts'::regclass \gset
SELECT indextable.alter('parts', partitions => 2) \gset
CALL flush();
SELECT reads, since > :'before' AS since FROM indextable.index_table_stats WHERE index_table = 'parts'::regclass;
SELECT count(*) FROM indextable.lookup('parts', '{"k": "5"}');
CALL flush();
SELECT * FROM reads() WHERE index_table = 'parts';
SELECT indextable.reset_stats('parts');
SELECT reads, entries_read, entries_written FROM indextable.index_table_stats WHERE index_table = 'parts'::regclass;

-- ---- the verdict, as the view has it
DO $$
BEGIN
	EXECUTE format('CREATE FUNCTION verdict(bigint, bigint, timestamptz, timestamptz) RETURNS text LANGUAGE sql AS $f$
		SELECT %s FROM (SELECT $1 AS reads, $2 AS entries_written, $3 AS last_read, $4 AS since) s $f$',
		substring(pg_get_viewdef('indextable.index_table_stats') FROM '(CASE\s+WHEN \(\(s\.since.*) AS verdict'));
END $$;
SELECT name, verdict(reads, written, now() - read::interval, now() - since)
FROM (VALUES ('never', 0, 500, NULL, interval '2 days'), ('never, nor written', 0, 0, NULL, '2 days'), ('never, but new', 0, 500, NULL, '1 hour'),
             ('seldom', 2, 2001, '1 hour', '2 days'), ('seldom, but new', 2, 2001, '1 hour', '1 hour'), ('enough', 2, 2000, '1 hour', '2 days'),
             ('enough, at once', 2, 2000, '1 hour', '1 hour'), ('not for long', 2, 10, '31 days', '60 days'), ('not known when', 2, 10, NULL, '60 days'),
             ('not known since when', 0, 10, NULL, NULL))
     AS v (name, reads, written, read, since);

-- ---- reset: by its owner
ALTER TABLE fact OWNER TO regress_it_usage;
GRANT USAGE ON SCHEMA usage TO PUBLIC;
SELECT coalesce(stats_reset::text, 'never') AS database_reset FROM pg_stat_database WHERE datname = current_database() \gset
SET ROLE regress_it_other;
SELECT indextable.reset_stats('by_v');
SELECT reads FROM indextable.index_table_stats WHERE index_table = 'by_v'::regclass;
RESET ROLE;
SELECT since AS before FROM indextable.index_table_stats WHERE index_table = 'by_v'::regclass \gset
GRANT regress_it_usage TO regress_it_other;
SET ROLE regress_it_other;
SELECT count(*) FROM by_v WHERE k = 'none';
CALL flush();                                       -- what is not flushed yet comes afterwards
SELECT indextable.reset_stats('by_v');
CALL flush();
SELECT reads, last_read, entries_read, entries_written, since > :'before' AS since FROM indextable.index_table_stats WHERE index_table = 'by_v'::regclass;
SELECT count(*) FROM indextable.lookup('by_v', '{"k": "after"}');
CALL flush();
SELECT reads, entries_read FROM indextable.index_table_stats WHERE index_table = 'by_v'::regclass;
SELECT indextable.reset_stats('fact');
SELECT indextable.reset_stats(0);
SELECT indextable.reset_stats(NULL);
SET default_transaction_read_only = on;
SELECT indextable.reset_stats('by_v');
RESET default_transaction_read_only;
RESET ROLE;
-- the others are as they were, and the database knows nothing of it
SELECT index_table, reads FROM reads();
SELECT coalesce(stats_reset::text, 'never') = :'database_reset' AS same FROM pg_stat_database WHERE datname = current_database();

-- ---- nothing stays of one that is dropped
SELECT indextable.drop('by_v') \gset
DROP TABLE by_n;
SELECT count(*) FROM indextable_internal.counted c WHERE NOT EXISTS (SELECT FROM indextable_internal.definition d WHERE d.index_table = c.index_table);
DROP TABLE fact;
SELECT count(*) FROM indextable_internal.counted c WHERE NOT EXISTS (SELECT FROM indextable_internal.definition d WHERE d.index_table = c.index_table);
DROP SCHEMA usage CASCADE;
DROP ROLE regress_it_usage, regress_it_other;
