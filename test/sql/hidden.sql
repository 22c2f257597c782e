-- Index tables that are hidden: kept in step, and used by name, but not by plain SQL unless indextable.use_hidden is on.
SET client_min_messages = warning;
CREATE SCHEMA hidden;
SET search_path = hidden;
CREATE ROLE regress_it_hider;
CREATE ROLE regress_it_other;
GRANT ALL ON SCHEMA hidden TO regress_it_hider, regress_it_other;
CREATE TABLE place (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO place SELECT i, jsonb_build_object('town', 'Town ' || i % 50, 'name', 'Name ' || i, 'n', i % 7, 'tags', jsonb_build_array('a' || i % 9, 'b'))
FROM generate_series(1, 2000) i;
SELECT indextable.create('place_by_town', 'place', '{town}', include => '{name, n::int}') \gset
VACUUM ANALYZE place, place_by_town;
-- used(): the index tables in the plan of a query
CREATE FUNCTION used(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; found text[] = '{}';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		found := found || substring(line FROM '(?:Index Table|Index Table Only|Totals): (\S+)');
	END LOOP;
	RETURN coalesce((SELECT string_agg(DISTINCT f, ' ' ORDER BY f) FROM unnest(found) f), 'none');
END $$;
-- fallback(): why a query has not read the entries; NULL: it has
CREATE FUNCTION fallback(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; found text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		found := coalesce(found, substring(line FROM 'Fallback: (.*)'));
	END LOOP;
	RETURN found;
END $$;
\set ask 'SELECT count(*), min(doc ->> $$name$$) FROM place WHERE doc ->> $$town$$ = $$Town 7$$'
SET plan_cache_mode = force_generic_plan;
PREPARE ask(text) AS SELECT count(*), min(doc ->> 'name') FROM place WHERE doc ->> 'town' = $1;
SELECT used('EXECUTE ask($$Town 7$$)');

-- ---- plans that are kept notice both
SELECT indextable.alter('place_by_town', hidden => true);
SELECT index_table, state, hidden FROM indextable.index_tables WHERE fact_table = 'place'::regclass;
SELECT used('EXECUTE ask($$Town 7$$)');
EXECUTE ask('Town 7');
SELECT * FROM indextable.explain(:'ask');
SET indextable.use_hidden = on;
SELECT used('EXECUTE ask($$Town 7$$)');
EXECUTE ask('Town 7');
SELECT * FROM indextable.explain(:'ask');
SET indextable.use_hidden = off;
SELECT used('EXECUTE ask($$Town 7$$)');
BEGIN;
SET LOCAL indextable.use_hidden = on;
SELECT used('EXECUTE ask($$Town 7$$)');
ROLLBACK;
SELECT used('EXECUTE ask($$Town 7$$)');
CREATE FUNCTION asks() RETURNS text LANGUAGE plpgsql SET indextable.use_hidden = on AS $$BEGIN RETURN used('EXECUTE ask($q$Town 7$q$)'); END$$;
SELECT asks(), used('EXECUTE ask($$Town 7$$)');
SELECT indextable.alter('place_by_town', hidden => false);
SELECT used('EXECUTE ask($$Town 7$$)');

-- ---- transactional, and at once: the transaction and older snapshots go on to read it
BEGIN;
SELECT indextable.alter('place_by_town', hidden => true);
SELECT used('EXECUTE ask($$Town 7$$)');
SAVEPOINT s;
SELECT indextable.alter('place_by_town', hidden => false);
SELECT used('EXECUTE ask($$Town 7$$)');
ROLLBACK TO s;
SELECT used('EXECUTE ask($$Town 7$$)');
ROLLBACK;
SELECT used('EXECUTE ask($$Town 7$$)');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT indextable.alter('place_by_town', hidden => true);
SELECT indextable.alter('place_by_town', hidden => false);
SELECT used('EXECUTE ask($$Town 7$$)');
SELECT fallback('EXECUTE ask($$Town 7$$)');
SELECT count(*) FROM indextable.lookup('place_by_town', '{"town": "Town 7"}');
COMMIT;
-- no lock that a reader, a writer or autovacuum would wait for; nor is anything drained, or the catalog's definition written
SELECT xmin AS version FROM indextable_internal.definition WHERE index_table = 'place_by_town'::regclass \gset
BEGIN;
UPDATE place SET doc = doc || '{"n": 8}' WHERE id = 1;
SELECT indextable.alter('place_by_town', hidden => true);
SELECT relation::regclass, mode FROM pg_locks
WHERE pid = pg_backend_pid() AND relation IN ('place'::regclass, 'place_by_town'::regclass) AND mode NOT IN ('AccessShareLock', 'RowExclusiveLock');
COMMIT;
SELECT xmin = :version AS unchanged FROM indextable_internal.definition WHERE index_table = 'place_by_town'::regclass;
SELECT indextable.alter('place_by_town', hidden => true);
SELECT indextable.alter('place_by_town', hidden => NULL);
SELECT count(*) FROM indextable_internal.hidden;

-- ---- kept in step, and used by name
INSERT INTO place VALUES (2001, '{"town": "Town 7", "name": "A"}');
DELETE FROM place WHERE id = 7;
SELECT * FROM indextable.verify('place_by_town');
SELECT count(*) FROM indextable.lookup('place_by_town', '{"town": "Town 7"}');
SELECT count(*) FROM indextable.query('place_by_town', '{"town": "Town 7"}');
:ask;

-- ---- nothing of a plan is from it: neither estimates nor what is read, in any kind of query; all is again with the setting
CREATE VIEW queries AS SELECT * FROM (VALUES
	(1, 'SELECT * FROM place WHERE doc ->> ''town'' = ''Town 7'''),
	(2, 'SELECT doc ->> ''town'', count(*) FROM place GROUP BY 1'),
	(3, 'SELECT count(DISTINCT doc ->> ''town'') FROM place'),
	(4, 'SELECT id FROM place ORDER BY doc ->> ''town'', id LIMIT 3'),
	(5, 'SELECT id FROM place WHERE doc ->> ''town'' = ''Town 7'' OR doc ->> ''town'' = ''Town 8'''),
	(6, 'SELECT p.id FROM (VALUES (''Town 1'')) v(t) JOIN place p ON p.doc ->> ''town'' = v.t'),
	(7, 'SELECT id FROM place WHERE (doc ->> ''n'')::int = 8'),
	(8, 'UPDATE place SET doc = doc WHERE doc ->> ''town'' = ''Town 7'''),
	(9, 'SELECT id FROM place WHERE doc ->> ''town'' = ''Town 7'' FOR UPDATE'),
	(10, 'SELECT sum((doc ->> ''n'')::int) FROM place WHERE doc ->> ''town'' = ''Town 7''')) q(n, query);
CREATE INDEX place_n ON place_by_town (n);
VACUUM ANALYZE place, place_by_town;
-- expected(): how many rows the planner expects
CREATE FUNCTION expected(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan #> '{0,Plan,Plan Rows}';
END $$;
SELECT n, used(query) FROM queries ORDER BY n;
SELECT expected(query) FROM queries WHERE n = 1;
SET indextable.use_hidden = on;
SELECT n, used(query) FROM queries ORDER BY n;
SELECT expected(query) FROM queries WHERE n = 1;
SET indextable.planner = off;
SELECT expected(query) FROM queries WHERE n = 1;
RESET indextable.planner;
RESET indextable.use_hidden;

-- ---- the indexes that users have made, not those that are ours
BEGIN;
SELECT indextable.create('place_unique', 'place', '{name}', is_unique => true) \gset
SELECT indextable.create('place_totals', 'place', '{town}', totals => '{count(*)}') \gset
SELECT indextable.create('place_async', 'place', '{town}', maintenance => 'async') \gset
CREATE INDEX place_totals_n ON place_totals (rows, town);
CREATE INDEX place_async_name ON place_async USING hash (town);
CREATE UNIQUE INDEX place_unique_name ON place_unique (lower(name));
ALTER TABLE place_by_town ADD UNIQUE (id);
SELECT index_table, own_indexes FROM indextable.index_tables WHERE fact_table = 'place'::regclass ORDER BY index_table::text;
ROLLBACK;

-- ---- unique ones are enforced
SELECT indextable.create('place_by_name', 'place', '{name}', is_unique => true) \gset
SELECT indextable.alter('place_by_name', hidden => true);
INSERT INTO place VALUES (3000, '{"town": "x", "name": "Name 8"}');
SELECT used('SELECT id FROM place WHERE doc ->> ''name'' = ''Name 8''');

-- ---- totals, and elements
SELECT indextable.create('place_totals', 'place', '{town}', totals => '{count(*), sum(n::int)}') \gset
SELECT indextable.create('place_by_tag', 'place', '{tags[*] AS tag}') \gset
VACUUM ANALYZE place, place_totals, place_by_tag;
\set by_town 'SELECT doc ->> $$town$$, count(*) FROM place GROUP BY 1'
\set by_tag 'SELECT t, count(*) FROM place, jsonb_array_elements_text(doc -> $$tags$$) t GROUP BY 1'
SELECT used(:'by_town'), used(:'by_tag');
SELECT indextable.alter('place_totals', hidden => true), indextable.alter('place_by_tag', hidden => true);
SELECT used(:'by_town'), used(:'by_tag');
SELECT index_table, used, reason FROM indextable.explain(:'by_town') WHERE index_table::text = 'place_totals';
SELECT rows, sums FROM indextable.totals('place_totals', '{"town": "Town 8"}');
SET indextable.use_hidden = on;
SELECT used(:'by_town'), used(:'by_tag');
RESET indextable.use_hidden;
SELECT indextable.alter('place_totals', maintenance => 'async', hidden => true);
SELECT indextable.alter('place_totals', filter => 'id > 0', hidden => false);
SELECT index_table, filter, hidden FROM indextable.index_tables WHERE strategy = 'totals';
SELECT indextable.drop('place_totals');

-- ---- the flag stays through what makes the entries anew, and goes with the index table
SELECT indextable.alter('place_by_town', include => '{name}', populate => false);
SELECT indextable.alter('place_by_town', hidden => false);
SELECT indextable.alter('place_by_town', hidden => true, populate => false);
CALL indextable.rebuild('place_by_town');
SELECT index_table, include, hidden, own_indexes FROM indextable.index_tables WHERE index_table = 'place_by_town'::regclass;
ALTER TABLE place_by_town RENAME TO place_town;
SELECT indextable.alter('place_town', include => '{}', hidden => false);
SELECT index_table, include, hidden FROM indextable.index_tables WHERE index_table = 'place_town'::regclass;
SELECT indextable.alter('place_town', hidden => true);
SELECT indextable.drop('place_town');
SELECT index_table FROM indextable_internal.hidden ORDER BY index_table::text;
DROP TABLE place_by_tag;
SELECT index_table FROM indextable_internal.hidden;
-- in any state, before it is used at all
SELECT indextable.create('place_later', 'place', '{n::int}', populate => false) \gset
SELECT indextable.alter('place_later', hidden => true);
CALL indextable.build('place_later');
SELECT used('SELECT count(*) FROM place WHERE (doc ->> ''n'')::int = 8');

-- ---- not others' index tables, nor other tables
SELECT indextable.alter('place', hidden => true);
SELECT indextable.alter('place_later', include => '{name}', populate => false);
DO $$
BEGIN
	PERFORM indextable.alter(to_regclass('indextable_internal.rebuild_' || 'place_later'::regclass::oid), hidden => true);
EXCEPTION WHEN wrong_object_type THEN
	RAISE WARNING '%', regexp_replace(SQLERRM, '\d+', 'N');
END $$;
SET ROLE regress_it_other;
SELECT indextable.alter('place_later', hidden => false);
SELECT count(*) FROM indextable_internal.hidden;
RESET ROLE;
BEGIN READ ONLY;
SELECT indextable.alter('place_later', hidden => false);
ROLLBACK;
DELETE FROM place WHERE id > 100;
DROP TABLE place CASCADE;

-- ---- partitioned tables: no path for the whole table, and no statement that finds its rows by it
CREATE TABLE part (id int, day int, doc jsonb, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (10);
CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (10) TO (20);
INSERT INTO part SELECT i, i % 20, jsonb_build_object('k', 'k' || i % 500) FROM generate_series(1, 3000) i;
SELECT indextable.create('part_k', 'part', '{k}', partitions => 2) \gset
VACUUM ANALYZE part, part_k;
PREPARE part_ask AS SELECT id FROM part WHERE doc ->> 'k' = 'k7';
PREPARE part_update AS UPDATE part SET doc = doc WHERE doc ->> 'k' = 'k7';
SELECT used('EXECUTE part_ask');
SELECT used('EXECUTE part_update');
SELECT indextable.alter('part_k', hidden => true);
SELECT used('EXECUTE part_ask');
SELECT used('EXECUTE part_update');
SET indextable.use_hidden = on;
SELECT used('EXECUTE part_ask');
SELECT used('EXECUTE part_update');
RESET indextable.use_hidden;
DROP TABLE part;

-- ---- asynchronous ones: the setting is for the queries of the role that has set it, as stale_reads is
SET ROLE regress_it_hider;
CREATE TABLE late (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO late SELECT i, jsonb_build_object('k', 'k' || i) FROM generate_series(1, 3000) i;
SELECT indextable.create('late_k', 'late', '{k}', maintenance => 'async') \gset
SELECT indextable.alter('late_k', hidden => true);
GRANT SELECT ON late, late_k TO regress_it_other;
RESET ROLE;
VACUUM ANALYZE late, late_k;
SET ROLE regress_it_hider;
CREATE FUNCTION stale() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = hidden SET indextable.stale_reads = on
	AS $$BEGIN RETURN count(*) FROM late WHERE doc ->> 'k' = 'k7'; END$$;
CREATE FUNCTION staler() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = hidden SET indextable.stale_reads = on SET indextable.use_hidden = on
	AS $$BEGIN RETURN count(*) FROM late WHERE doc ->> 'k' = 'k7'; END$$;
DELETE FROM late WHERE id = 7;
SELECT stale(), staler();
SET indextable.stale_reads = on;
SELECT reason FROM indextable.explain('SELECT count(*) FROM late WHERE doc ->> ''k'' = ''k7''');
SELECT count(*) FROM late WHERE doc ->> 'k' = 'k7';
SET indextable.use_hidden = on;
SELECT reason FROM indextable.explain('SELECT count(*) FROM late WHERE doc ->> ''k'' = ''k7''');
SELECT count(*) FROM late WHERE doc ->> 'k' = 'k7';
PREPARE late_ask AS SELECT count(*) FROM late WHERE doc ->> 'k' = 'k7';
EXECUTE late_ask;
RESET ROLE;
-- a superuser has not set them
SELECT reason FROM indextable.explain('SELECT count(*) FROM late WHERE doc ->> ''k'' = ''k7''');
EXECUTE late_ask;
SET ROLE regress_it_other;
SET indextable.stale_reads = on;
EXECUTE late_ask;
SELECT reason FROM indextable.explain('SELECT count(*) FROM late WHERE doc ->> ''k'' = ''k7''');
SELECT stale(), staler();
SET indextable.use_hidden = on;
EXECUTE late_ask;
SELECT stale(), staler();
RESET ALL;
RESET ROLE;
SET search_path = hidden;
SELECT indextable.drain('late') > 0 AS drained;
SELECT stale(), staler();
SELECT * FROM indextable.verify('late_k');

SET client_min_messages = warning;
DROP SCHEMA hidden CASCADE;
DROP ROLE regress_it_hider, regress_it_other;
