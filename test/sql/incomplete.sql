-- It is recorded that rows have been skipped: every way to write such a row records it, and only what cannot be known
-- better is recorded without need.
SET client_min_messages = warning;
CREATE SCHEMA incomplete;
SET search_path = incomplete;

-- For how many leading key fields that are not null do rows of fact table f lack entries, and what of that is recorded?
-- keys are expressions; entries is how many a row should have.  An entry has the row's id.
CREATE FUNCTION lacking(idx regclass, keys text[], entries text DEFAULT '1', fact text DEFAULT 'f',
						OUT truth int[], OUT recorded int[], OUT verdict text)
LANGUAGE plpgsql AS $$
DECLARE
	k text := (SELECT string_agg(format('WHEN %s IS NULL THEN %s', e, i - 1), ' ' ORDER BY i) FROM unnest(keys) WITH ORDINALITY u (e, i));
BEGIN
	EXECUTE format('SELECT array_agg(DISTINCT k ORDER BY k) FROM (SELECT CASE %s ELSE %s END AS k FROM %s f WHERE (SELECT count(*) FROM %s e WHERE e.id = f.id) < %s) x',
				   k, cardinality(keys), fact, idx, entries) INTO truth;
	SELECT array_agg(DISTINCT c.fields & 31 ORDER BY c.fields & 31) FILTER (WHERE c.fields IS NOT NULL),
		   CASE count(*) FILTER (WHERE c.fields IS NULL) WHEN 1 THEN '' WHEN 0 THEN 'not kept ' ELSE 'kept too often ' END
	INTO recorded, verdict
	FROM indextable_internal.completeness c WHERE c.index_table = idx AND coalesce(c.fields, 0) NOT IN (25, 26, 28, 30, 31);
	verdict := verdict || CASE WHEN truth IS NOT DISTINCT FROM recorded THEN 'exact'
							   WHEN truth IS NULL OR truth[cardinality(truth)] <= recorded[cardinality(recorded)] THEN 'enough'
							   ELSE 'WRONG' END;
END $$;
CREATE FUNCTION town_last(idx text DEFAULT 'town_last', fact text DEFAULT 'f', OUT truth int[], OUT recorded int[], OUT verdict text)
LANGUAGE sql AS $$SELECT * FROM lacking(idx::regclass, '{doc ->> ''town'', doc ->> ''last''}', '1', fact)$$;

-- ---- each way to write one
CREATE TABLE f (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('town_last', 'f', '{town, last::int}', on_mismatch => 'skip') \gset
SELECT * FROM town_last();
INSERT INTO f SELECT i, '{"town": "t", "last": 7}' FROM generate_series(1, 9) i;
SELECT * FROM town_last();
INSERT INTO f VALUES (10, '{"town": "t", "last": "x"}');
SELECT * FROM town_last();
UPDATE f SET doc = '{"town": "t", "last": "x"}' WHERE id = 1;
SELECT * FROM town_last();
-- not again, as it is there
INSERT INTO f VALUES (11, '{"town": "t", "last": "x"}'), (12, NULL), (13, '[]');
UPDATE f SET doc = '{"town": "t", "last": "x"}' WHERE id = 2;
SELECT count(*) FROM indextable_internal.completeness WHERE fields IS DISTINCT FROM 31;
-- the rows are gone, the record is not
UPDATE f SET doc = '{"town": "t", "last": 7}';
SELECT * FROM town_last();
CALL indextable.rebuild('town_last');
SELECT * FROM town_last();
COPY f FROM stdin;
20	{"town": "t", "last": "x"}
\.
SELECT * FROM town_last();
TRUNCATE f;
SELECT * FROM town_last();
INSERT INTO f VALUES (1, '{"town": "t", "last": 7}');
INSERT INTO f VALUES (1, '{"town": "t", "last": "x"}') ON CONFLICT (id) DO UPDATE SET doc = excluded.doc;
SELECT * FROM town_last();
TRUNCATE f;
MERGE INTO f USING (VALUES (1)) v (i) ON id = i WHEN NOT MATCHED THEN INSERT VALUES (i, '{"town": "t", "last": "x"}');
SELECT * FROM town_last();
-- a statement in a trigger
TRUNCATE f;
CREATE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF new.id < 100 THEN
		INSERT INTO f VALUES (new.id + 100, '{"town": "t", "last": "x"}');
	END IF;
	RETURN new;
END $$;
CREATE TRIGGER more AFTER INSERT ON f FOR EACH ROW EXECUTE FUNCTION more();
INSERT INTO f VALUES (1, '{}');
SELECT * FROM town_last();
DROP TRIGGER more ON f;
-- when the index table is made, and while it is built
SELECT indextable.create('made', 'f', '{town, last::int}', on_mismatch => 'skip') \gset
SELECT * FROM town_last('made');
SELECT indextable.create('built', 'f', '{town, last::int}', on_mismatch => 'skip', populate => false) \gset
SELECT count(*) FROM indextable_internal.completeness WHERE index_table = 'built'::regclass AND fields IS DISTINCT FROM 31;
CALL indextable.build('built', 1);
SELECT * FROM town_last('built');
DELETE FROM f WHERE doc <> '{}';
SELECT indextable.alter('made', include => '{a}') \gset
SELECT * FROM town_last('made');
INSERT INTO f VALUES (2, '{"town": "t", "last": "x"}');
SELECT indextable.alter('made', include => '{b}', populate => false) \gset
CALL indextable.rebuild('made', 1);
SELECT * FROM town_last('made');
SELECT indextable.drop('made'), indextable.drop('built') \gset
-- one of asynchronous index tables is written with the entries
TRUNCATE f;
SELECT indextable.alter('town_last', maintenance => 'async') \gset
INSERT INTO f VALUES (1, '{"town": "t", "last": "x"}');
SELECT * FROM indextable.verify('town_last');
SELECT indextable.drain('f');
SELECT * FROM town_last();
INSERT INTO f VALUES (2, '{}');
SELECT indextable.alter('town_last', maintenance => 'transactional') \gset
SELECT * FROM town_last();

-- ---- transactions and savepoints that are rolled back
TRUNCATE f;
BEGIN;
INSERT INTO f VALUES (1, '{"town": "t", "last": "x"}');
SELECT * FROM town_last();
ROLLBACK;
SELECT * FROM town_last();
BEGIN;
SAVEPOINT a;
INSERT INTO f VALUES (1, '{"town": "t", "last": "x"}');
ROLLBACK TO a;
SELECT * FROM town_last();
INSERT INTO f VALUES (2, '{"town": "t", "last": "x"}');
COMMIT;
SELECT * FROM town_last();
TRUNCATE f;
BEGIN;
SAVEPOINT a;
SAVEPOINT b;
INSERT INTO f VALUES (1, '{"town": "t", "last": "x"}');
RELEASE b;
INSERT INTO f VALUES (2, '{"town": "t", "last": "x"}');
ROLLBACK TO a;
INSERT INTO f VALUES (3, '{"town": "t", "last": "x"}');
SAVEPOINT c;
INSERT INTO f VALUES (4, '{"town": "t", "last": "x"}'), (5, '{}');
ROLLBACK TO c;
COMMIT;
SELECT * FROM town_last();
SELECT count(*) FROM indextable_internal.completeness WHERE fields NOT IN (30, 31);
INSERT INTO f VALUES (5, '{"town": "t", "last": "x"}');
SELECT * FROM town_last();
-- a statement that fails in a block with a handler, after one whose rows are still collected
TRUNCATE f;
CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		IF new.id < 100 THEN
			INSERT INTO f VALUES (new.id + 100, '{"town": "t", "last": "x"}');
			RAISE 'rolled back';
		END IF;
	EXCEPTION WHEN raise_exception THEN
	END;
	RETURN new;
END $$;
CREATE TRIGGER zz_fails AFTER INSERT ON f FOR EACH ROW EXECUTE FUNCTION fails();
INSERT INTO f VALUES (1, '{"town": "t", "last": "x"}'), (2, '{"town": "t", "last": "x"}');
SELECT * FROM town_last();
DROP TRIGGER zz_fails ON f;
-- TRUNCATE and what was recorded before and after it
BEGIN;
TRUNCATE f;
INSERT INTO f VALUES (1, '{"town": "t", "last": "x"}');
SELECT * FROM town_last();
TRUNCATE f;
INSERT INTO f VALUES (2, '{"town": "t", "last": "x"}');
SELECT * FROM town_last();
SAVEPOINT a;
TRUNCATE f;
SELECT * FROM town_last();
ROLLBACK TO a;
SELECT * FROM town_last();
ROLLBACK;
SELECT * FROM town_last();
-- of a table that was made in the same transaction, where it invalidates nothing
BEGIN;
CREATE TABLE g (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('g_i', 'g', '{town, last::int}', on_mismatch => 'skip') \gset
INSERT INTO g VALUES (1, '{"town": "t", "last": "x"}');
TRUNCATE g;
INSERT INTO g VALUES (2, '{"town": "t", "last": "x"}');
SELECT * FROM town_last('g_i', 'g');
COMMIT;
DROP TABLE g;

-- ---- which rows lack entries
-- of sparse index tables nothing is recorded: the conditions of a query say which rows it asks for
TRUNCATE f;
SELECT indextable.create('three', 'f', '{a, b, c}', sparse => true) \gset
SELECT indextable.create('j_jsonb', 'f', '{j::jsonb}', sparse => true) \gset
SELECT indextable.create('tags_town', 'f', '{tags[*], town}', sparse => true) \gset
INSERT INTO f VALUES (1, '{"a": 1, "c": 3, "tags": ["x"]}'), (2, '{"b": 2, "c": 2, "tags": []}'), (3, '{"a": 1, "b": 2, "c": 3, "j": null}');
SELECT index_table, fields FROM indextable_internal.completeness
	WHERE index_table IN ('three'::regclass, 'j_jsonb'::regclass, 'tags_town'::regclass) AND fields <> 31 ORDER BY 1, 2;
SELECT index_table, reason FROM indextable.explain($$SELECT id FROM f WHERE doc ->> 'a' = '1' AND doc ->> 'b' = '2'$$) WHERE index_table = 'three'::regclass;
-- JSON null is a value of a field of type jsonb
TABLE j_jsonb;
SET indextable.planner = force;
EXPLAIN (COSTS OFF) SELECT id FROM f WHERE doc -> 'j' = 'null';
-- version 1.1 made no entry of it, and recorded that
UPDATE indextable_internal.completeness SET fields = 1 WHERE index_table = 'j_jsonb'::regclass AND fields = 31;
EXPLAIN (COSTS OFF) SELECT id FROM f WHERE doc -> 'j' = 'null';
DELETE FROM indextable_internal.completeness WHERE index_table = 'j_jsonb'::regclass AND fields = 1;
EXPLAIN (COSTS OFF) SELECT id FROM f WHERE doc -> 'j' = 'null';
RESET indextable.planner;
SELECT indextable.drop('three'), indextable.drop('j_jsonb'), indextable.drop('tags_town') \gset
-- entries that are skipped
TRUNCATE f;
SELECT indextable.create('numbers', 'f', '{n::int, m}', include => '{d::date}', on_mismatch => 'skip') \gset
SELECT indextable.create('elements', 'f', '{e[*]::int}', on_mismatch => 'skip') \gset
SELECT indextable.create('long', 'f', '{s}', on_mismatch => 'skip') \gset
CREATE FUNCTION all_skipped(OUT index_table text, OUT truth int[], OUT recorded int[], OUT verdict text) RETURNS SETOF record LANGUAGE sql AS $$
	SELECT 'numbers', * FROM lacking('numbers', '{doc ->> ''n'', doc ->> ''m''}') UNION ALL
	SELECT 'elements', * FROM lacking('elements', '{doc ->> ''e''}', 'coalesce(jsonb_array_length(doc -> ''e''), 1)') UNION ALL
	SELECT 'long', * FROM lacking('long', '{doc ->> ''s''}')
$$;
INSERT INTO f VALUES (1, '{"n": 1, "m": 1, "e": [1, 2], "s": "x"}');
SELECT * FROM all_skipped();
UPDATE f SET doc = '{"n": "one", "m": 1, "e": [1, "two"]}' || jsonb_build_object('s', (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 1000) i));
SELECT * FROM all_skipped();
TRUNCATE f;
INSERT INTO f VALUES (1, '{"n": "one", "e": [1], "s": "x"}');
SELECT * FROM all_skipped();
INSERT INTO f VALUES (2, '{"n": 1, "m": 2, "e": [1], "s": "x", "d": "tomorrow"}');
SELECT * FROM all_skipped();
SELECT indextable.drop('numbers'), indextable.drop('elements'), indextable.drop('long') \gset
-- a row that the filter leaves out lacks nothing
TRUNCATE f;
SELECT indextable.create('filtered', 'f', '{town, last::int}', on_mismatch => 'skip', filter => $$doc ? 'in'$$) \gset
INSERT INTO f VALUES (1, '{"town": "t", "last": "x"}');
SELECT * FROM town_last('filtered', $$(SELECT * FROM f WHERE doc ? 'in')$$);
INSERT INTO f VALUES (2, '{"town": "t", "last": "x", "in": 1}');
SELECT * FROM town_last('filtered', $$(SELECT * FROM f WHERE doc ? 'in')$$);
SELECT indextable.drop('filtered') \gset
-- a row that is rejected by an asynchronous index table lacks its entry until it is corrected, which is noted elsewhere
SELECT indextable.create('rejects', 'f', '{n::int}', maintenance => 'async') \gset
TRUNCATE f;
INSERT INTO f VALUES (1, '{"n": "one"}');
SELECT indextable.drain('f');
SELECT fields, (SELECT count(*) FROM indextable.rejected r WHERE r.index_table = c.index_table) AS rejected
	FROM indextable_internal.completeness c WHERE index_table = 'rejects'::regclass AND fields IS DISTINCT FROM 31;
SELECT indextable.drop('rejects') \gset
-- two rows under one primary key for a while
DROP TABLE f;
CREATE TABLE f (id int, doc jsonb, PRIMARY KEY (id) DEFERRABLE INITIALLY DEFERRED);
SELECT indextable.create('town_last', 'f', '{town, last::int}', on_mismatch => 'skip') \gset
BEGIN;
INSERT INTO f VALUES (1, '{"town": "t", "last": 7}'), (1, '{"town": "t", "last": "x"}');
SELECT * FROM town_last();
DELETE FROM f WHERE doc ? 'last';
COMMIT;
SELECT * FROM town_last();

-- ---- partitions
DROP TABLE f;
CREATE TABLE f (id int PRIMARY KEY, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE f1 PARTITION OF f FOR VALUES FROM (0) TO (10);
CREATE TABLE f2 PARTITION OF f FOR VALUES FROM (10) TO (20);
CREATE TABLE f3 (doc jsonb, id int PRIMARY KEY);
SELECT indextable.create('town_last', 'f', '{town, last::int}', on_mismatch => 'skip') \gset
INSERT INTO f3 VALUES ('{"town": "t", "last": "x"}', 20);
SELECT * FROM town_last();
ALTER TABLE f ATTACH PARTITION f3 FOR VALUES FROM (20) TO (30);
SELECT * FROM town_last();
ALTER TABLE f DETACH PARTITION f3;
SELECT * FROM town_last();
CALL indextable.rebuild('town_last');
SELECT * FROM town_last();
INSERT INTO f VALUES (1, '{"town": "t", "last": 7}');
UPDATE f SET id = 11, doc = '{}';
SELECT * FROM town_last();
UPDATE f2 SET doc = '{"town": "t", "last": "x"}';
SELECT * FROM town_last();
-- what a partition had is not known when that is truncated, but when all are
TRUNCATE f2;
SELECT * FROM town_last();
INSERT INTO f VALUES (11, '{"town": "t", "last": "x"}');
TRUNCATE f;
SELECT * FROM town_last();
INSERT INTO f VALUES (11, '{"town": "t", "last": "x"}');
SELECT * FROM town_last();

-- ---- what is not recorded is found and mended
DELETE FROM indextable_internal.completeness WHERE index_table = 'town_last'::regclass AND fields IS NOT NULL;
SELECT kind, problem FROM indextable.verify('town_last');
CALL indextable.repair('town_last', NULL, NULL, NULL, NULL);
SELECT * FROM town_last();
SELECT kind, problem FROM indextable.verify('town_last');
-- as it happens where triggers were missing
UPDATE f SET doc = '{"town": "t", "last": 7}';
CALL indextable.rebuild('town_last');
SELECT * FROM town_last();
DROP TABLE f;
CREATE TABLE f (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('town_last', 'f', '{town, last::int}', on_mismatch => 'skip') \gset
SET session_replication_role = replica;
DO $$
DECLARE
	name text;
BEGIN
	FOR name IN SELECT tgname FROM pg_trigger WHERE tgrelid = 'f'::regclass LOOP
		EXECUTE format('DROP TRIGGER %I ON f', name);
	END LOOP;
END $$;
INSERT INTO f VALUES (1, '{"town": "t", "last": "x"}'), (2, '{}'), (3, '{"town": "t", "last": 7}');
RESET session_replication_role;
SELECT count(*) FROM indextable_internal.completeness WHERE fields IS DISTINCT FROM 31;
SELECT kind, problem FROM indextable.verify('town_last');
CALL indextable.repair('town_last', NULL, NULL, NULL, NULL);
SELECT * FROM town_last();
SELECT kind, problem FROM indextable.verify('town_last');
-- even if this session has found it there before
INSERT INTO f VALUES (4, '{"town": "t", "last": "x"}');
DELETE FROM indextable_internal.completeness WHERE index_table = 'town_last'::regclass AND fields & 31 = 2;
CALL indextable.repair('town_last', NULL, NULL, NULL, NULL);
SELECT * FROM town_last();
-- where nothing is recorded, nothing is claimed
DELETE FROM indextable_internal.completeness WHERE index_table = 'town_last'::regclass;
INSERT INTO f VALUES (5, '{"town": "t", "last": "x"}'), (6, '{}');
SELECT * FROM town_last();
SELECT kind, problem FROM indextable.verify('town_last');
CALL indextable.rebuild('town_last');
SELECT * FROM town_last();
DROP TABLE f;
-- ---- verify() removes what is recorded of rows that are gone, and plain SQL uses the index table again
CREATE TABLE f (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('town_last', 'f', '{town, last::int}', on_mismatch => 'skip'), indextable.create('numbers', 'f', '{n::int}', on_mismatch => 'skip') \gset
INSERT INTO f SELECT i, jsonb_build_object('town', 't' || i % 10, 'last', i, 'n', i) FROM generate_series(1, 100) i;
CREATE FUNCTION used(OUT index_table regclass, OUT used boolean, OUT recorded int[]) RETURNS SETOF record LANGUAGE sql AS $$
	SELECT x.index_table, x.used, (SELECT array_agg(c.fields ORDER BY c.fields) FROM indextable_internal.completeness c WHERE c.index_table = x.index_table AND c.fields NOT IN (30, 31))
	FROM (SELECT * FROM indextable.explain('SELECT id FROM f WHERE doc ->> ''town'' = ''t1''') e WHERE e.index_table = 'town_last'::regclass
		  UNION ALL SELECT * FROM indextable.explain('SELECT id FROM f WHERE (doc ->> ''n'')::int = 7') e WHERE e.index_table = 'numbers'::regclass) x
$$;
SET indextable.planner = force;
SELECT * FROM used();
INSERT INTO f VALUES (101, '{"town": "t1", "last": "x", "n": "many"}'), (102, '{"last": 8}');
SELECT * FROM used();
SELECT reason FROM indextable.explain($$SELECT id FROM f WHERE doc ->> 'town' = 't1'$$) WHERE index_table = 'town_last'::regclass;
SELECT * FROM indextable.verify('f');
SELECT * FROM used();
-- only what no row is left of, if all rows are read, and the transaction may write
UPDATE f SET doc = '{"town": "t1", "last": 7, "n": 7}' WHERE id = 101;
SELECT * FROM indextable.verify('f', 50);
BEGIN READ ONLY;
SELECT * FROM indextable.verify('f');
COMMIT;
SELECT * FROM used();
SELECT * FROM indextable.verify('f');
SELECT * FROM used();
EXPLAIN (COSTS OFF) SELECT id FROM f WHERE doc ->> 'town' = 't1' ORDER BY (doc ->> 'last')::int, id LIMIT 2;
SELECT id FROM f WHERE doc ->> 'town' = 't1' ORDER BY (doc ->> 'last')::int, id LIMIT 2;
-- the next row is recorded again; repair() removes it, too
INSERT INTO f VALUES (103, '{"town": "t1", "last": "x"}');
SELECT * FROM used();
DELETE FROM f WHERE id > 101;
CALL indextable.repair('town_last', NULL, NULL, NULL, NULL);
SELECT * FROM used();
-- not in a transaction that has written the fact table, nor in one that has an older snapshot
INSERT INTO f VALUES (103, '{"town": "t1", "last": "x"}');
BEGIN;
DELETE FROM f WHERE id = 103;
SELECT * FROM indextable.verify('f');
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM indextable.verify('f');
COMMIT;
SELECT * FROM used();
-- the transaction itself records the next row; a cursor that was opened before sees what it removed
BEGIN;
DECLARE c CURSOR FOR SELECT count(*) FROM indextable_internal.completeness WHERE index_table = 'town_last'::regclass AND fields IS DISTINCT FROM 31;
SELECT * FROM indextable.verify('f');
SELECT * FROM used();
FETCH c;
SAVEPOINT a;
INSERT INTO f VALUES (103, '{"town": "t1", "last": "x"}');
SELECT * FROM used();
ROLLBACK TO a;
SELECT * FROM used();
INSERT INTO f VALUES (103, '{"town": "t1", "last": "x"}');
COMMIT;
SELECT * FROM used();
-- a row whose key is queued still lacks the entry that an asynchronous index table does not have
SELECT indextable.alter('town_last', maintenance => 'async') \gset
SET indextable.stale_reads = on;
UPDATE f SET doc = doc || '{"other": 1}' WHERE id = 103;
SELECT * FROM indextable.verify('f');
SELECT * FROM used();
DELETE FROM f WHERE id = 103;
SELECT indextable.drain('f');
SELECT * FROM indextable.verify('f');
SELECT * FROM used();
-- partitions
DROP TABLE f;
CREATE TABLE f (id int PRIMARY KEY, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE f1 PARTITION OF f FOR VALUES FROM (0) TO (10);
CREATE TABLE f2 PARTITION OF f FOR VALUES FROM (10) TO (20);
SELECT indextable.create('town_last', 'f', '{town, last::int}', on_mismatch => 'skip'), indextable.create('numbers', 'f', '{n::int}', on_mismatch => 'skip') \gset
INSERT INTO f VALUES (1, '{"town": "t1", "last": 7, "n": 1}'), (11, '{"town": "t1", "n": "x"}');
SELECT * FROM indextable.verify('f');
SELECT * FROM used();
TRUNCATE f2;
SELECT * FROM indextable.verify('f');
SELECT * FROM used();
-- so many key fields that their numbers would be taken for other records
DROP TABLE f;
CREATE TABLE f (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('many', 'f', (SELECT array_agg('k' || i) FROM generate_series(1, 31) i)) \gset
INSERT INTO f SELECT i, (SELECT jsonb_object_agg('k' || k, '{}'::text) FROM generate_series(1, CASE i WHEN 1 THEN 31 ELSE 25 + i END) k) FROM generate_series(1, 5) i;
SELECT * FROM indextable.verify('f');
SELECT count(*), count(doc ->> 'k31') FROM f WHERE doc ->> 'k1' = '{}';
SELECT count(*) FROM f WHERE doc ->> 'k28' = '{}' AND doc ->> 'k31' IS NULL;
DELETE FROM f WHERE id > 1;
SELECT * FROM indextable.verify('f');
EXPLAIN (COSTS OFF) SELECT count(*) FROM f WHERE doc ->> 'k1' = '{}';
RESET indextable.planner;
RESET indextable.stale_reads;
DROP TABLE f;

SELECT count(*) FROM indextable_internal.completeness WHERE fields IS DISTINCT FROM 31;
DROP SCHEMA incomplete CASCADE;
