-- Tables of totals: nothing is printed if all is right, but for errors.
\set QUIET on
SET client_min_messages = warning;
SET indextable.advice = off;
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/planner.psql
\i :src/sql/include/oracle.psql
\set ECHO none
\pset tuples_only on
\pset format unaligned
\set VERBOSITY default
CREATE SCHEMA totals;
SET search_path = totals;
-- How the totals of plain and part differ from a recompute, as it is and when it is folded.
CREATE FUNCTION pg_temp.wrong(fact text) RETURNS SETOF text LANGUAGE plpgsql SET indextable.planner = off AS $$
DECLARE folded boolean;
BEGIN
	FOREACH folded IN ARRAY ARRAY[false, true] LOOP
		IF folded THEN
			PERFORM indextable.drain(fact::regclass);
			RETURN QUERY EXECUTE format('SELECT ''several entries of '' || coalesce(a, ''null'') FROM %I GROUP BY a, b HAVING count(*) > 1', fact || '_totals');
		END IF;
		RETURN QUERY EXECUTE format($q$
			WITH native AS (SELECT doc ->> 'a', (doc ->> 'b')::int, count(*), count((doc ->> 'n')::numeric(8,2)), count((doc ->> 'i')::int), count(doc ->> 'i8'),
					sum((doc ->> 'n')::numeric(8,2)), sum((doc ->> 'i')::int), sum((doc ->> 'i8')::bigint) FROM %I GROUP BY 1, 2),
				kept AS (SELECT key ->> 'a', (key ->> 'b')::int, rows, (counts ->> 'n')::bigint, (counts ->> 'i')::bigint, (counts ->> 'i8')::bigint,
					(sums ->> 'n')::numeric, (sums ->> 'i')::bigint, (sums ->> 'i8')::numeric FROM indextable.totals(%L))
			SELECT %L || ' lacks ' || n::text FROM (SELECT * FROM native EXCEPT ALL SELECT * FROM kept) n
			UNION ALL SELECT %L || ' has ' || k::text FROM (SELECT * FROM kept EXCEPT ALL SELECT * FROM native) k$q$,
			fact, fact || '_totals', fact, fact);
		RETURN QUERY EXECUTE format('SELECT %L || rows FROM indextable.totals(%L) WHERE rows <> (SELECT count(*) FROM %I)', 'of all: ',
			fact || '_all', fact);
		RETURN QUERY SELECT 'verify: ' || v::text FROM indextable.verify(fact::regclass) v;
	END LOOP;
END $$;
CREATE TABLE plain (id int PRIMARY KEY, doc jsonb NOT NULL, at date DEFAULT '2026-01-01');
CREATE TABLE part (at date DEFAULT '2026-01-01', doc jsonb NOT NULL, id int, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (100);
CREATE TABLE part_2 (id int NOT NULL, gone int, doc jsonb NOT NULL, at date);
ALTER TABLE part_2 DROP COLUMN gone;
ALTER TABLE part ATTACH PARTITION part_2 FOR VALUES FROM (100) TO (2000);
CREATE VIEW documents AS SELECT id, jsonb_strip_nulls(jsonb_build_object('a', CASE WHEN id % 7 > 0 THEN 'a' || id % 4 END, 'b', CASE WHEN id % 5 > 0 THEN id % 3 END,
	'n', CASE WHEN id % 4 > 0 THEN id / 8.0 END, 'i', CASE WHEN id % 6 > 0 THEN id - 50 END, 'i8', id::bigint * 10000000000)) AS doc FROM generate_series(1, 150) id;
INSERT INTO plain (id, doc) SELECT id, doc FROM documents;
INSERT INTO part (id, doc) SELECT id, doc FROM documents;
INSERT INTO plain VALUES (0, '{"a": null, "b": null, "n": null, "i": null, "i8": null}');
SELECT indextable.create('plain_totals', 'plain', '{a, b::int}', strategy => 'totals', totals => '{count(*), sum(n::numeric(8,2)), Sum( i::int ), avg(i8::bigint), count(i8::bigint)}');
SELECT indextable.create('part_totals', 'part', '{a, b::int}', totals => ARRAY['sum(n::numeric(8,2))', 'sum(i::int)', 'sum(i8::bigint)']);
SELECT indextable.create(t || '_all', t::regclass, '{}', totals => '{}') FROM unnest(ARRAY['plain', 'part']) t;
SELECT indextable.definition(i) FROM unnest(ARRAY['plain_totals', 'part_all']::regclass[]) i;
-- What explain() says of them.
SELECT DISTINCT index_table, used, reason FROM unnest(ARRAY['count(*) FROM plain', '* FROM plain WHERE doc ->> ''a'' = ''a1''', 'count(*) FROM plain JOIN part USING (id)',
		'max(id) FROM plain', 'DISTINCT doc ->> ''a'' FROM plain']) query, indextable.explain('SELECT ' || query) WITH ORDINALITY
	WHERE fact_table = 'plain'::regclass AND (index_table IS NULL OR index_table IN ('plain_totals'::regclass, 'plain_all')) ORDER BY 1, 2, 3;
SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute WHERE attrelid = 'plain_totals'::regclass AND attnum > 0;
SELECT w FROM unnest(ARRAY['plain', 'part']) f, pg_temp.wrong(f) w;

-- What plain queries are answered by, and that the answers are the same.
CREATE FUNCTION pg_temp.queries() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT d FROM (VALUES
		('totals fact_totals', $q$SELECT count(*) FROM fact WHERE doc ->> 'a' = 'a1'$q$, NULL),
		('totals fact_totals', $q$SELECT count(*) FROM fact WHERE doc ->> 'a' = $1$q$, $q$'a2'$q$),
		('totals fact_totals', $q$SELECT count(*) FROM fact WHERE doc ->> 'a' IN ('a1', 'a2') AND (doc ->> 'b')::int > 0$q$, NULL),
		('totals fact_totals', $q$SELECT count(*) FROM fact WHERE doc ->> 'a' IS NULL$q$, NULL),
		('totals fact_totals', $q$SELECT count(*) FROM fact WHERE doc #>> '{a}' LIKE 'a%' OR (doc ->> 'b')::int = 1$q$, NULL),
		('totals fact_totals', $q$SELECT count(*) FROM fact WHERE upper(doc ->> 'a') = 'A3'$q$, NULL),
		('totals fact_totals', $q$SELECT count(*), count(doc ->> 'a'), count(1) FROM fact WHERE doc ->> 'a' = 'none'$q$, NULL),
		('totals fact_totals', $q$SELECT doc ->> 'a', count(*) FROM fact GROUP BY 1$q$, NULL),
		('totals fact_totals', $q$SELECT doc ->> 'a', (doc ->> 'b')::int, count(*), sum((doc ->> 'n')::numeric(8,2)), avg((doc ->> 'n')::numeric(8,2)), sum((doc ->> 'i')::int),
			avg((doc ->> 'i')::int), sum((doc ->> 'i8')::bigint), avg((doc ->> 'i8')::bigint), count((doc ->> 'i')::int) FROM fact GROUP BY 1, 2$q$, NULL),
		('totals fact_totals', $q$SELECT (doc ->> 'b')::int + 1 AS b, count(*) FROM fact GROUP BY 1 HAVING count(*) > 30$q$, NULL),
		('totals fact_totals', $q$SELECT doc ->> 'a' FROM fact GROUP BY 1$q$, NULL),
		('totals fact_totals', $q$SELECT doc ->> 'a', count(*) FROM fact WHERE doc ->> 'a' = 'a1' GROUP BY 1$q$, NULL),
		('totals fact_totals', $q$SELECT doc ->> 'a', (doc ->> 'b')::int, count(*) FROM fact WHERE doc ->> 'a' = 'none' GROUP BY 1, 2$q$, NULL),
		('totals fact_totals', $q$SELECT doc ->> 'a', count(*) FILTER (WHERE (doc ->> 'b')::int = 1), sum((doc ->> 'i')::int) FILTER (WHERE (doc ->> 'b')::int = 5) FROM fact GROUP BY doc ->> 'a'$q$, NULL),
		('totals fact_totals', $q$SELECT sum((doc ->> 'n')::numeric(8,2)), sum((doc ->> 'i')::int), avg((doc ->> 'i8')::bigint) FROM fact WHERE doc ->> 'a' = 'none'$q$, NULL),
		('totals fact_totals', $q$SELECT 1 FROM fact WHERE doc ->> 'a' = 'a1' HAVING count(*) > 3$q$, NULL),
		('totals fact_totals', $q$SELECT 1 FROM fact WHERE doc ->> 'a' = 'none' HAVING count(*) > 3$q$, NULL),
		('totals fact_totals', $q$SELECT max(n) FROM (SELECT count(*) AS n FROM fact GROUP BY doc ->> 'a') s$q$, NULL),
		('totals fact_totals', $q$SELECT doc ->> 'a', rank() OVER (ORDER BY count(*)), count(*) * 2 + 1 FROM fact GROUP BY 1$q$, NULL),
		('totals fact_totals', $q$SELECT a, (SELECT count(*) FROM fact WHERE doc ->> 'a' = v.a) FROM (VALUES ('a1'), ('a2'), ('x'), (NULL)) v (a)$q$, NULL),
		('totals fact_totals', $q$SELECT s.* FROM (VALUES ('a1'), ('x')) v (a), LATERAL (SELECT v.a, doc ->> 'a' AS b, count(*) FROM fact GROUP BY doc ->> 'a') s$q$, NULL),
		('totals fact_totals', $q$SELECT (SELECT 7 FROM pg_class LIMIT 1), doc ->> 'a', $1::text, count(*) FROM fact GROUP BY doc ->> 'a'$q$, $q$'a2'$q$),
		('totals fact_totals, totals fact_totals', $q$SELECT count(*) FROM fact WHERE doc ->> 'a' = 'a1' UNION ALL SELECT count(*) FROM fact WHERE doc ->> 'a' = 'a2'$q$, NULL),
		(NULL, $q$SELECT count(*) FROM fact$q$, NULL),
		('native', $q$SELECT count(*) FROM fact WHERE doc ->> 'c' = 'a1'$q$, NULL),
		('native', $q$SELECT count(*) FROM fact WHERE doc ->> 'a' = 'a1' AND id > 3$q$, NULL),
		('totals fact_totals', $q$SELECT count(DISTINCT doc ->> 'a'), max((doc ->> 'b')::int), min(upper(doc ->> 'a')), count(*), sum((doc ->> 'i')::int) FROM fact$q$, NULL),
		('totals fact_totals', $q$SELECT doc ->> 'a', string_agg(DISTINCT doc ->> 'a', ',' ORDER BY doc ->> 'a'), avg((doc ->> 'n')::numeric(8,2)) FROM fact GROUP BY 1$q$, NULL),
		('totals fact_totals', $q$SELECT DISTINCT (doc ->> 'b')::int FROM fact WHERE doc ->> 'a' <> 'a1'$q$, NULL),
		('totals fact_totals', $q$SELECT DISTINCT doc ->> 'a', (doc ->> 'b')::int + 1 FROM fact ORDER BY 1 DESC, 2 LIMIT 3$q$, NULL),
		('native', $q$SELECT count(DISTINCT doc ->> 'c') FROM fact$q$, NULL),
		('native', $q$SELECT DISTINCT ON (doc ->> 'a') doc ->> 'a', (doc ->> 'b')::int FROM fact ORDER BY 1, 2$q$, NULL),
		('native', $q$SELECT array_agg(doc ->> 'a' ORDER BY doc ->> 'a') FROM fact$q$, NULL),
		('native', $q$SELECT max(doc ->> 'b') FROM fact WHERE doc ->> 'a' = 'a1'$q$, NULL),
		('native', $q$SELECT sum((doc ->> 'n')::numeric) FROM fact WHERE doc ->> 'a' = 'a1'$q$, NULL),
		('native', $q$SELECT sum((doc ->> 'i')::bigint) FROM fact WHERE doc ->> 'a' = 'a1'$q$, NULL),
		('native', $q$SELECT count(*) FROM fact WHERE doc ->> 'a' = 'a1' AND random() < 2$q$, NULL),
		('native', $q$SELECT doc ->> 'a', count(*) FROM fact GROUP BY ROLLUP (1)$q$, NULL),
		('native', $q$SELECT jsonb_path_query_first(doc, '$.a') #>> '{}', count(*) FROM fact GROUP BY 1$q$, NULL),
		('native', $q$SELECT doc ->> 'a', sum((jsonb_path_query_first(doc, '$.i') #>> '{}')::int) FROM fact GROUP BY 1$q$, NULL),
		('native', $q$SELECT count(*) FROM fact WHERE doc ->> 'a' IN (SELECT 'a1' FROM pg_class)$q$, NULL)
	) q (scans, query, args), pg_temp.both(query, scans, args) d
$$;
SELECT pg_temp.queries();
-- Changes: of keys, of sums, of nothing; several rows, and several statements, in one transaction.
SELECT d FROM (VALUES
	($q$INSERT INTO fact (id, doc) SELECT id, doc FROM documents WHERE false$q$), ($q$INSERT INTO fact (id, doc) SELECT id + 200, doc FROM documents$q$),
	($q$UPDATE fact SET doc = doc || '{"a": "moved"}' WHERE id < 120$q$), ($q$UPDATE fact SET doc = doc || '{"n": 1.5}' WHERE id % 9 = 0$q$),
	($q$UPDATE fact SET doc = doc - 'a' - 'i'$q$), ($q$UPDATE fact SET doc = doc, at = '2026-02-02'$q$), ($q$UPDATE fact SET id = id + 100 WHERE id < 50 AND id NOT IN (SELECT id - 100 FROM fact)$q$),
	($q$DELETE FROM fact WHERE id % 2 = 0$q$), ($q$DELETE FROM fact$q$), ($q$TRUNCATE fact$q$),
	($q$INSERT INTO fact (id, doc) VALUES (1, '{"a": "a1"}'), (1999, '{"a": "a1"}') ON CONFLICT (id) DO UPDATE SET doc = excluded.doc$q$),
	($q$WITH d AS (DELETE FROM fact WHERE id < 20 RETURNING *) INSERT INTO fact (id, doc) SELECT id + 1000, doc || '{"b": 2}' FROM d$q$),
	($q$MERGE INTO fact USING documents d ON fact.id = d.id WHEN MATCHED AND fact.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET doc = '{"a": "merged"}'$q$)
) q (change), unnest(ARRAY[$q$SELECT doc ->> 'a', count(*), sum((doc ->> 'n')::numeric(8,2)), avg((doc ->> 'i')::int) FROM fact GROUP BY 1$q$, $q$SELECT count(*) FROM fact$q$,
	$q$SELECT count(*) FROM fact WHERE doc ->> 'a' = 'a1'$q$]) asked, pg_temp.both(change, NULL, NULL, asked) d;
INSERT INTO plain (id, doc) SELECT id + 200, doc FROM documents;
UPDATE plain SET doc = doc || '{"a": "moved", "n": 3}' WHERE id % 3 = 0;
DELETE FROM plain WHERE id % 11 = 0;
INSERT INTO part (id, doc) SELECT id + 200, doc FROM documents;
UPDATE part SET id = id + 1500, doc = doc || '{"a": "moved"}' WHERE id % 3 = 0;
DELETE FROM part WHERE id % 11 = 0;
BEGIN;
DELETE FROM part WHERE id % 2 = 0;
SAVEPOINT s;
UPDATE part SET doc = '{}';
ROLLBACK TO s;
INSERT INTO part (id, doc) SELECT id + 700, doc FROM documents;
SELECT w FROM pg_temp.wrong('part') w;
COMMIT;
SELECT w FROM unnest(ARRAY['plain', 'part']) f, pg_temp.wrong(f) w;
SELECT pg_temp.queries();
-- A trigger of the user writes the same table, and looks at the totals, which are never out of step.
CREATE TABLE seen (n int);
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() = 1 THEN
		UPDATE plain SET doc = doc || '{"a": "touched", "i": 7}' WHERE id = NEW.id;
		INSERT INTO plain (id, doc) VALUES (NEW.id + 5000, NEW.doc) ON CONFLICT DO NOTHING;
		BEGIN
			DELETE FROM plain WHERE id = NEW.id - 1;
			PERFORM 1 / 0;
		EXCEPTION WHEN division_by_zero THEN
			UPDATE plain SET doc = doc || '{"b": 9}' WHERE id = NEW.id - 2;
		END;
	END IF;
	INSERT INTO seen SELECT count(*) FROM plain WHERE doc ->> 'a' = 'touched';
	RETURN NULL;
END $$;
CREATE TRIGGER a_look AFTER INSERT OR UPDATE ON plain FOR EACH ROW EXECUTE FUNCTION look();
CREATE TRIGGER z_look AFTER INSERT OR UPDATE ON plain FOR EACH ROW EXECUTE FUNCTION look();
INSERT INTO plain (id, doc) SELECT 10000 + 10 * n, '{"a": "new", "n": 2}' FROM generate_series(1, 5) n;
DROP TRIGGER a_look ON plain;
UPDATE plain SET doc = doc || '{"i": 1}' WHERE id BETWEEN 10 AND 20;
SELECT w FROM pg_temp.wrong('plain') w;
SELECT d FROM pg_temp.differences($q$UPDATE plain SET doc = doc || '{"a": "touched"}' WHERE id < 30$q$, NULL, NULL, 'SELECT n, count(*) FROM seen GROUP BY n ORDER BY n') d;
DROP TRIGGER z_look ON plain;
-- Partitions.
CREATE TABLE part_3 (LIKE part INCLUDING ALL);
INSERT INTO part_3 (id, doc) SELECT id + 2000, doc FROM documents;
ALTER TABLE part ATTACH PARTITION part_3 FOR VALUES FROM (2000) TO (3000);
SELECT w FROM pg_temp.wrong('part') w;
UPDATE part SET id = id + 1000 WHERE id BETWEEN 1000 AND 1050;
TRUNCATE part_3;
SELECT w FROM pg_temp.wrong('part') w;
INSERT INTO part (id, doc) SELECT id + 2000, doc FROM documents;
ALTER TABLE part DETACH PARTITION part_1;
SELECT w FROM pg_temp.wrong('part') w;
INSERT INTO part_1 (id, doc) VALUES (77, '{"a": "a1"}') ON CONFLICT DO NOTHING;
ALTER TABLE part ATTACH PARTITION part_1 FOR VALUES FROM (0) TO (100);
SELECT w FROM pg_temp.wrong('part') w;
BEGIN;
DROP TABLE part_3;
SELECT w FROM pg_temp.wrong('part') w;
ROLLBACK;
DROP TABLE part_2;
SELECT w FROM pg_temp.wrong('part') w;
SELECT pg_temp.queries();
-- Row security: groups that a policy hides are shown to no function that may tell of them.
CREATE ROLE regress_totals;
GRANT USAGE ON SCHEMA totals TO regress_totals;
GRANT SELECT ON plain TO regress_totals;
ALTER TABLE plain ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON plain USING (doc ->> 'a' = 'a2');
CREATE FUNCTION tell(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS $$
BEGIN
	IF $1 <> 'a2' THEN RAISE 'saw %', $1; END IF;
	RETURN true;
END $$;
SET ROLE regress_totals;
SET indextable.planner = force;
EXPLAIN (COSTS OFF) SELECT doc ->> 'a', count(*) FROM plain WHERE (doc ->> 'b')::int = 1 GROUP BY 1;
SELECT doc ->> 'a', count(*) FROM plain WHERE (doc ->> 'b')::int = 1 GROUP BY 1;
SELECT doc ->> 'a', count(*) FROM plain WHERE (doc ->> 'b')::int = 1 AND tell(doc ->> 'a') GROUP BY 1;
SET indextable.planner = off;
SELECT doc ->> 'a', count(*) FROM plain WHERE (doc ->> 'b')::int = 1 GROUP BY 1;
RESET indextable.planner;
RESET ROLE;
DROP POLICY own ON plain;
ALTER TABLE plain DISABLE ROW LEVEL SECURITY;
DROP OWNED BY regress_totals;
DROP ROLE regress_totals;
-- A filter, values that are skipped, columns, expressions, dates.
SELECT indextable.create('filtered', 'plain', '{@at, (lower(doc ->> ''a'')) AS lower}', totals => '{count(*)}', filter => $$doc ? 'b'$$);
SELECT d FROM (VALUES ('totals filtered', $q$SELECT lower(doc ->> 'a'), at, count(*) FROM plain WHERE doc ? 'b' GROUP BY 1, 2$q$),
	('native', $q$SELECT at, count(*) FROM plain GROUP BY 1$q$)) q (scans, query), pg_temp.differences(query, scans) d;
INSERT INTO plain (id, doc) VALUES (20000, '{"a": "a1", "b": "x"}');
INSERT INTO plain (id, doc) VALUES (20000, '{"a": "a1", "n": "NaN"}');
INSERT INTO plain (id, doc) VALUES (20000, jsonb_build_object('a', repeat('long', 1000)));
SELECT indextable.create('skipping', 'plain', '{c::int}', totals => '{count(*), sum(d::int)}', on_mismatch => 'skip');
SELECT d FROM pg_temp.differences($q$SELECT (doc ->> 'c')::int, sum((doc ->> 'd')::int) FROM plain GROUP BY 1$q$, 'totals skipping') d;
INSERT INTO plain (id, doc) VALUES (20001, '{"c": 1, "d": "x"}');
SELECT d FROM pg_temp.differences($q$SELECT (doc ->> 'c')::int, count(*) FROM plain GROUP BY 1$q$, 'totals skipping') d;
SELECT d FROM pg_temp.differences($q$SELECT sum((doc ->> 'd')::int) FROM plain WHERE (doc ->> 'c')::int = 1$q$, 'native') d;
INSERT INTO plain (id, doc) VALUES (20002, '{"c": "x"}');
SELECT d FROM pg_temp.differences($q$SELECT count(*) FROM plain WHERE (doc ->> 'c')::int = 1$q$, 'native') d;
SELECT * FROM indextable.totals('skipping');
SELECT entries FROM indextable_internal.skipped WHERE index_table = 'skipping'::regclass;
DELETE FROM plain WHERE id > 20000;
SELECT * FROM indextable.totals('skipping');
SELECT v FROM unnest(ARRAY['filtered', 'skipping']::regclass[]) i, indextable.verify(i) v;
-- By the elements of an array: a row counts once for each of them.
CREATE TABLE tagged (id int PRIMARY KEY, doc jsonb NOT NULL) PARTITION BY RANGE (id);
CREATE TABLE tagged_1 PARTITION OF tagged FOR VALUES FROM (0) TO (100);
CREATE TABLE tagged_2 PARTITION OF tagged FOR VALUES FROM (100) TO (200);
INSERT INTO tagged SELECT id, doc || jsonb_build_object('tags', (SELECT coalesce(jsonb_agg('t' || g), '[]') FROM generate_series(1, id % 4) g),
	'nums', jsonb_build_array(id % 3, id % 3 + 1), 'lines', jsonb_build_array('{"name": "nut"}'::jsonb, jsonb_build_object('name', 'bolt ' || id % 2)), 'o', jsonb_build_object('tags', '["x"]'::jsonb)) FROM documents;
INSERT INTO tagged VALUES (191, '{"a": "a1"}'), (192, '{"tags": ["1", "t1"], "a": "a\"b"}');
SELECT indextable.create('by_tag', 'tagged', '{tags[*], a}', totals => '{count(*), sum(i::int)}');
SELECT indextable.create('by_number', 'tagged', '{nums[*]::int}', totals => '{}');
SELECT indextable.create('by_line', 'tagged', '{lines[*].name}', totals => '{}');
SELECT indextable.create('by_inner', 'tagged', '{o.tags[*]}', totals => '{}');
CREATE FUNCTION pg_temp.by_element(sums text, tags text, text text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT d FROM (VALUES
		(sums, $q$SELECT t, count(*), sum((doc ->> 'i')::int) FROM tagged, jsonb_array_elements_text(doc -> 'tags') t GROUP BY t$q$, NULL),
		(tags, $q$SELECT count(*), count(t), count(doc ->> 'a') FROM tagged JOIN LATERAL jsonb_array_elements_text(CASE jsonb_typeof(doc -> 'tags') WHEN 'array' THEN doc -> 'tags' END) t ON true$q$, NULL),
		(tags, $q$SELECT t, count(*) FROM tagged, jsonb_array_elements_text(coalesce(doc -> 'tags', '[]')) t GROUP BY t$q$, NULL),
		('native', $q$SELECT t, count(*) FROM tagged, jsonb_array_elements_text(NULLIF(doc -> 'tags', '["a"]')) t GROUP BY t$q$, NULL),
		('native', $q$SELECT DISTINCT jsonb_array_elements_text(CASE WHEN jsonb_typeof(doc -> 'tags') = 'array' THEN doc -> 'tags' END) FROM tagged$q$, NULL),
		('native', $q$SELECT t, count(*) FROM tagged, jsonb_array_elements_text(jsonb_path_query_first(doc, '$.tags')) t GROUP BY t$q$, NULL),
		('native', $q$SELECT count(*) FROM tagged WHERE jsonb_path_query_first(doc, '$.tags') ? 't1'$q$, NULL),
		('native', $q$SELECT t, count(*) FROM tagged, jsonb_array_elements_text(CASE WHEN doc ->> 'a' = 'a1' THEN doc -> 'tags' END) t GROUP BY t$q$, NULL),
		('native', $q$SELECT t, count(*) FROM tagged, jsonb_array_elements_text(CASE WHEN jsonb_typeof(doc -> 'nums') = 'array' THEN doc -> 'tags' END) t GROUP BY t$q$, NULL),
		(tags, $q$SELECT t, doc ->> 'a', count(*) FROM tagged, jsonb_array_elements_text(doc -> 'tags') t WHERE t <> 't2' AND doc ->> 'a' < 'a3' GROUP BY 1, 2 HAVING count(*) > 2$q$, NULL),
		(tags, $q$SELECT jsonb_array_elements_text(doc -> 'tags'), count(*) FROM tagged GROUP BY 1$q$, NULL),
		(tags, $q$SELECT DISTINCT jsonb_array_elements_text(doc -> 'tags') FROM tagged$q$, NULL),
		(tags, $q$SELECT max(t), count(DISTINCT t) FROM tagged, jsonb_array_elements_text(doc -> 'tags') t$q$, NULL),
		(tags, $q$SELECT count(*), generate_series(1, 2) FROM tagged, jsonb_array_elements_text(doc -> 'tags') t WHERE t = $1$q$, $q$'t2'$q$),
		(tags, $q$SELECT count(*), avg((doc ->> 'i')::int) FROM tagged WHERE doc -> 'tags' ? 't2'$q$, NULL),
		(text, $q$SELECT count(*) FROM tagged WHERE doc -> 'tags' ? $1$q$, $q$'1'$q$),
		(text, $q$SELECT count(*) FROM tagged WHERE doc @> '{"tags": ["1"]}'$q$, NULL),
		(tags, $q$SELECT count(*) FROM tagged WHERE doc @> '{"tags": ["t1"], "a": "a1"}'$q$, NULL),
		(tags, $q$SELECT doc ->> 'a', count(*) FROM tagged WHERE doc -> 'tags' @> '["t3"]' AND doc -> 'a' = '"a1"' GROUP BY 1$q$, NULL),
		('totals by_number', $q$SELECT n::int + 1, count(*) FROM tagged, jsonb_array_elements_text(doc -> 'nums') n GROUP BY 1$q$, NULL),
		('totals by_line', $q$SELECT l ->> 'name', count(*) FROM tagged, jsonb_array_elements(doc -> 'lines') l GROUP BY 1$q$, NULL),
		('totals by_line', $q$SELECT name, count(*) FROM tagged, jsonb_to_recordset(doc -> 'lines') AS l (name text) GROUP BY 1$q$, NULL),
		('totals by_inner', $q$SELECT count(*) FROM tagged WHERE doc @> '{"o": {"tags": ["x"]}}'$q$, NULL),
		('native', $q$SELECT count(*) FROM tagged$q$, NULL),
		('native', $q$SELECT count(*) FROM tagged WHERE doc -> 'tags' ? 't1' AND doc -> 'tags' ? 't2'$q$, NULL),
		('native', $q$SELECT count(*) FROM tagged WHERE doc @> '{"tags": ["t1", "t2"]}'$q$, NULL),
		('native', $q$SELECT count(*) FROM tagged WHERE doc -> 'tags' @> '"t1"'$q$, NULL),
		('native', $q$SELECT t, count(*) FROM tagged, jsonb_array_elements_text(doc -> 'tags') t WHERE doc -> 'tags' ? 't1' GROUP BY t$q$, NULL),
		('native', $q$SELECT t, count(*) FROM tagged LEFT JOIN jsonb_array_elements_text(doc -> 'tags') t ON true GROUP BY t$q$, NULL),
		('native', $q$SELECT t, count(*) FROM tagged, jsonb_array_elements_text(doc -> 'tags') WITH ORDINALITY e (t, n) GROUP BY t$q$, NULL),
		('native', $q$SELECT t, count(*) FROM tagged, jsonb_array_elements_text(doc -> 'tags') t, jsonb_array_elements_text(doc -> 'nums') n GROUP BY t$q$, NULL),
		('native', $q$SELECT l ->> 'price', count(*) FROM tagged, jsonb_array_elements(doc -> 'lines') l GROUP BY 1$q$, NULL),
		('native', $q$SELECT count(*) FROM tagged WHERE doc -> 'a' = '{"x": "a1"}' OR doc = '{"a": "a1"}'$q$, NULL)
	) q (scans, query, args), pg_temp.differences(query, scans, args) d
$$;
SELECT pg_temp.by_element('totals by_tag', 'totals by_tag', 'totals by_tag');
SELECT count(*) FROM indextable.totals('by_tag', '{"tags": "t1"}');
-- An element that is no string may have the text of one. Where one is repeated, a field of the row is added up once, and natively for each.
INSERT INTO tagged VALUES (193, '{"tags": [1, {"t2": 1}, ["t3"]]}');
SELECT pg_temp.by_element('totals by_tag', 'totals by_tag', 'native');
INSERT INTO tagged VALUES (194, '{"tags": ["t1", "t1"]}');
SELECT pg_temp.by_element('native', 'totals by_tag', 'native');
SELECT v FROM unnest(ARRAY['by_tag', 'by_number', 'by_line', 'by_inner']::regclass[]) i, indextable.verify(i) v;
SELECT pg_temp.by_element('native', 'totals by_tag', 'native');
DELETE FROM tagged WHERE id = 194;
SELECT v FROM indextable.verify('by_tag') v;
SELECT pg_temp.by_element('totals by_tag', 'totals by_tag', 'native');
BEGIN;
UPDATE tagged SET doc = doc || '{"tags": [null]}' WHERE id = 193;
SELECT pg_temp.by_element('totals by_tag', 'totals by_tag', 'native');
ROLLBACK;
BEGIN;
UPDATE tagged SET doc = doc || '{"tags": "t1", "lines": [{}]}' WHERE id = 193;
SELECT d FROM (VALUES ('native', $q$SELECT count(*) FROM tagged WHERE doc -> 'tags' ? 't1'$q$), ('totals by_line', $q$SELECT l ->> 'name', count(*) FROM tagged, jsonb_array_elements(doc -> 'lines') l GROUP BY 1$q$)) q (scans, query),
	pg_temp.differences(query, scans) d;
ROLLBACK;
DELETE FROM tagged WHERE id = 193;
ALTER TABLE tagged DETACH PARTITION tagged_2;
UPDATE tagged SET doc = doc || '{"tags": ["t9", "t1"]}' WHERE id < 9;
SELECT v FROM unnest(ARRAY['by_tag', 'by_number', 'by_line', 'by_inner']::regclass[]) i, indextable.verify(i) v;
SELECT pg_temp.by_element('totals by_tag', 'totals by_tag', 'totals by_tag');
INSERT INTO tagged VALUES (0, '{"nums": ["one"]}');
-- An ordinary index table by elements has an entry for each.
CREATE TABLE faceted (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO faceted SELECT * FROM tagged;
SELECT indextable.create('facets', 'faceted', '{tags[*]}', include => '{a, i::int}') \gset
SELECT indextable.create('facet_lines', 'faceted', '{lines[*].name, a}', filter => 'id > 3') \gset
CREATE FUNCTION pg_temp.facets(tags text, lines text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT d FROM (VALUES
		(tags, $q$SELECT t, count(*), sum((doc ->> 'i')::int), count(DISTINCT doc ->> 'a') FROM faceted, jsonb_array_elements_text(doc -> 'tags') t GROUP BY t$q$, NULL),
		(NULL, $q$SELECT doc ->> 'a', count(*), max(id), string_agg(t, ' ' ORDER BY t, id) FROM faceted, jsonb_array_elements_text(doc -> 'tags') t WHERE t > $1 AND (doc ->> 'i')::int > 0 GROUP BY 1$q$, $q$'t1'$q$),
		(tags, $q$SELECT jsonb_array_elements_text(doc -> 'tags'), count(*) FROM faceted GROUP BY 1$q$, NULL),
		(tags, $q$SELECT DISTINCT t FROM faceted, jsonb_array_elements_text(doc -> 'tags') t$q$, NULL),
		(lines, $q$SELECT l ->> 'name', count(*) FROM faceted, jsonb_array_elements(doc -> 'lines') l WHERE id > 3 AND doc ->> 'a' IS NOT NULL GROUP BY 1$q$, NULL),
		('native', $q$SELECT l ->> 'name', count(*) FROM faceted, jsonb_array_elements(doc -> 'lines') l GROUP BY 1$q$, NULL),
		('native', $q$SELECT t, count(*), max(doc ->> 'n') FROM faceted, jsonb_array_elements_text(doc -> 'tags') t GROUP BY t$q$, NULL),
		('native', $q$SELECT t, count(*) FROM faceted LEFT JOIN jsonb_array_elements_text(doc -> 'tags') t ON true GROUP BY t$q$, NULL)
	) q (scans, query, args), pg_temp.differences(query, scans, args) d
$$;
SELECT pg_temp.facets('only facets', 'only facet_lines');
UPDATE faceted SET doc = doc || '{"a": "a1"}' WHERE doc ->> 'a' IS NULL;
DELETE FROM faceted WHERE id IN (191, 192);
SELECT v FROM indextable.verify('faceted') v;
SELECT pg_temp.facets('only facets', 'only facet_lines');
CREATE FUNCTION pg_temp.facets_of(tags jsonb, scans text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO faceted VALUES (1000, jsonb_build_object('a', 'a1', 'tags', tags));
	RETURN QUERY SELECT pg_temp.facets(scans, 'only facet_lines');
	DELETE FROM faceted WHERE id = 1000;
END $$;
SELECT pg_temp.facets_of('[]', 'only facets');
SELECT pg_temp.facets_of('[1, true, {"t1": 1}]', 'only facets');
SELECT pg_temp.facets_of('["t1", "t2", "t1"]', 'only facets');
SELECT pg_temp.facets_of('[null]', 'only facets');
SELECT pg_temp.facets_of('["t1", null]', 'only facets');
SELECT pg_temp.facets_of('null', 'native');
SELECT pg_temp.facets_of('"t1"', 'native');
SELECT pg_temp.facets_of('{"t1": 1}', 'native');
SELECT v FROM indextable.verify('faceted') v;
SELECT pg_temp.facets('only facets', 'only facet_lines');
DROP TABLE facets, facet_lines;
DROP TABLE faceted;
-- repair() adds the difference, and rebuild() does the same.
ALTER TABLE plain DISABLE TRIGGER ALL;
DELETE FROM plain WHERE id < 20;
UPDATE plain SET doc = '{"a": "unknown", "b": 8}' WHERE id < 40;
ALTER TABLE plain ENABLE TRIGGER ALL;
SELECT count(*) FROM plain WHERE doc ->> 'a' = 'unknown';
SELECT kind, key, expected, found FROM indextable.verify('plain_totals') WHERE key @> '{"a": "unknown"}';
CALL indextable.repair('plain');
SELECT w FROM pg_temp.wrong('plain') w;
-- A group that has no rows any more may have sums.
INSERT INTO plain (id, doc) VALUES (40000, '{"a": "ghost", "b": 1, "n": 5}');
ALTER TABLE plain DISABLE TRIGGER ALL;
UPDATE plain SET doc = doc || '{"n": 7}' WHERE id = 40000;
ALTER TABLE plain ENABLE TRIGGER ALL;
DELETE FROM plain WHERE id = 40000;
SELECT kind, key, expected, found FROM indextable.verify('plain_totals') WHERE key @> '{"a": "ghost"}';
CALL indextable.repair('plain');
SELECT w FROM pg_temp.wrong('plain') w;
DROP INDEX plain_totals_a_b_idx;
SELECT problem FROM indextable.verify('plain_totals');
CALL indextable.repair('plain_totals');
SELECT pg_temp.queries();
CALL indextable.rebuild('plain_totals');
-- By name.
SELECT * FROM indextable.totals('plain_totals', '{"a": null, "b": 1}');
SELECT * FROM indextable.totals('plain_totals', '{"n": 1}');
SELECT * FROM indextable.totals('plain_all', '{"n": 1}');
SELECT * FROM indextable.totals('plain', '{}');
SELECT * FROM indextable.totals(NULL);
-- Names that follow, and a column of the owner's.
ALTER TABLE plain RENAME COLUMN doc TO document;
ALTER TABLE plain_totals ADD COLUMN note text;
ALTER TABLE plain_totals RENAME COLUMN a TO letter;
INSERT INTO plain (id, document) VALUES (30000, '{"a": "a1"}');
SELECT indextable.definition('plain_totals');
SELECT * FROM indextable.totals('plain_totals', '{"letter": "a1", "b": null}');
SELECT * FROM indextable.verify('plain');
-- Another filter and on_mismatch.
SELECT indextable.alter('plain_totals', filter => $$document ->> 'b' IS NOT NULL$$);
SELECT indextable.definition('plain_totals');
CALL pg_temp.no_rows($$indextable.verify('plain')$$);
BEGIN;
INSERT INTO plain (id, document) VALUES (30001, '{"a": "altered", "b": 1}'), (30002, '{"a": "altered"}');
SAVEPOINT s;
SELECT indextable.alter('plain_totals', filter => '');
ROLLBACK TO s;
SELECT * FROM indextable.totals('plain_totals', '{"letter": "altered"}');
COMMIT;
SELECT indextable.alter('plain_totals', filter => '', populate => false);
SELECT indextable.alter('plain_totals', filter => '', on_mismatch => 'skip');
SELECT * FROM indextable.totals('plain_totals', '{"letter": "altered"}');
INSERT INTO plain (id, document) VALUES (30003, '{"a": "altered", "n": "many"}');
SELECT indextable.alter('plain_totals', on_mismatch => 'error');
DELETE FROM plain WHERE id = 30003;
SELECT indextable.alter('plain_totals', on_mismatch => 'error');
CALL pg_temp.no_rows($$indextable.verify('plain')$$);
-- A cursor has the table in use.
BEGIN;
SET LOCAL indextable.planner = force;
DECLARE c CURSOR FOR SELECT count(*) FROM plain;
DROP TABLE plain;
ROLLBACK;
-- Nearly all groups have rows, and that is how many are expected.
CREATE TABLE many (id int PRIMARY KEY, doc jsonb);
INSERT INTO many SELECT i, jsonb_build_object('a', 'a' || i) FROM generate_series(1, 900) i;
SELECT indextable.create('many_totals', 'many', '{a}', totals => '{count(*)}') \gset
ANALYZE many_totals;
SET indextable.planner = force;
DO $$
DECLARE plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) SELECT doc ->> ''a'', count(*) FROM many GROUP BY 1' INTO plan;
	IF pg_temp.scans(plan) <> 'totals many_totals' OR (plan #>> '{0,Plan,Plan Rows}')::int < 850 THEN RAISE '%', plan; END IF;
END $$;
SET indextable.planner = off;
-- advise() looks for the fields that have an index table, also where totals have no key.
SELECT indextable.create('many_rows', 'many', '{}', totals => '{}') \gset
INSERT INTO many SELECT i, jsonb_build_object('b', 'b' || i % 50) FROM generate_series(901, 2000) i;
SELECT count(*) FROM indextable.advise('many') \gset
DROP TABLE many;
-- What cannot be.
SELECT indextable.create('no', 'plain', '{a}', totals => '{sum(n::float)}');
SELECT indextable.create('no', 'plain', '{a}', totals => '{sum(n::numeric)}');
SELECT indextable.create('no', 'plain', '{a}', totals => '{sum(a)}');
SELECT indextable.create('no', 'plain', '{a}', totals => '{max(n::int)}');
SELECT indextable.create('no', 'plain', '{n::numeric}', totals => '{count(*)}');
SELECT indextable.create('no', 'plain', '{a}', totals => '{count(*)}', is_unique => true);
SELECT indextable.create('no', 'plain', '{a}', totals => '{count(*)}', maintenance => 'async');
SELECT indextable.create('no', 'plain', '{a}', totals => '{count(*)}', partitions => 4);
SELECT indextable.create('no', 'plain', '{a}', totals => '{count(*)}', populate => false);
SELECT indextable.create('no', 'plain', '{a}', totals => '{count(*)}', include => '{b}', strategy => 'totals');
SELECT indextable.create('no', 'plain', '{a}', totals => '{count(*)}', strategy => 'normalized');
SELECT indextable.create('no', 'plain', '{rows}', totals => '{count(*)}');
SELECT indextable.alter('plain_totals', maintenance => 'async');
SELECT * FROM indextable.lookup('plain_totals', '["a1"]');
UPDATE plain_totals SET rows = 7;
ALTER TABLE part ALTER COLUMN doc TYPE text;
CREATE EXTENSION postgres_fdw;
CREATE SERVER nowhere FOREIGN DATA WRAPPER postgres_fdw;
CREATE TABLE far (id int NOT NULL, doc jsonb) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE away PARTITION OF far FOR VALUES FROM (0) TO (1) SERVER nowhere;
SELECT indextable.create('no', 'far', '{a}', totals => '{count(*)}', primary_key => '{id}');
SELECT indextable.drop('plain_all');
SELECT indextable.create('no_totals', 'plain', '{a}') \gset
SELECT * FROM indextable.totals('no_totals');
DROP TABLE plain_totals, filtered, skipping, no_totals;
DROP TABLE plain, part, far, tagged, tagged_2;
DROP EXTENSION postgres_fdw CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
DROP SCHEMA totals CASCADE;
