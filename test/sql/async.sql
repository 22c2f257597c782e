-- Asynchronous index tables: writing the fact table queues primary keys, and
-- drain() has the index tables equal a recompute.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA async;
SET search_path = async;
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb, live boolean DEFAULT true, note text);
INSERT INTO fact VALUES (1, '{"k": "a", "v": 1, "tags": ["x", "y", "x"]}'), (2, '{"k": "b"}');
SELECT indextable.create('plain', 'fact', '{k}', maintenance => 'async') \gset
SELECT indextable.create('pair', 'fact', '{k, n::int}', include => '{v, @note}', maintenance => 'async') \gset
SELECT indextable.create('tags', 'fact', '{tags[*]}', 'denormalized', maintenance => 'async') \gset
SELECT indextable.create('live', 'fact', '{k}', filter => 'live', maintenance => 'async') \gset
SELECT indextable.create('note', 'fact', '{@note, @id}', maintenance => 'async') \gset
SELECT indextable.create('at_once', 'fact', '{k}', include => '{v}') \gset
-- filled when they are made; an index on the fact row's primary key besides their own
\d plain
\d pair
\d tags
\d note
SELECT index_table, maintenance, backlog, lag, rejected FROM indextable.index_tables JOIN indextable.index_table_stats USING (index_table, fact_table) ORDER BY index_table::text;

-- What drain() returns, and how index tables then differ from recomputes.
CREATE FUNCTION drained(batch_size int DEFAULT NULL) RETURNS TABLE (changes bigint, index_table text, side text, entry text) LANGUAGE plpgsql AS $$
BEGIN
	changes := indextable.drain('fact', batch_size);
	RETURN NEXT;
	RETURN QUERY SELECT NULL::bigint, * FROM differences();
END $$;
CREATE FUNCTION differences() RETURNS TABLE (index_table text, side text, entry text) LANGUAGE sql AS $$
	SELECT t, d.* FROM (VALUES
		('plain', 'SELECT doc ->> ''k'', id FROM fact'),
		('pair', 'SELECT doc ->> ''k'', (doc ->> ''n'')::int, id, doc ->> ''v'', note FROM fact'),
		('tags', 'SELECT DISTINCT t, id, doc FROM fact, jsonb_array_elements_text(doc -> ''tags'') t'),
		('live', 'SELECT doc ->> ''k'', id FROM fact WHERE live'),
		('note', 'SELECT note, id FROM fact'),
		('at_once', 'SELECT doc ->> ''k'', id, doc ->> ''v'' FROM fact')) v(t, recompute),
		pg_temp.oracle(t, recompute) d
$$;
CREATE FUNCTION queued() RETURNS bigint LANGUAGE sql AS $$SELECT backlog FROM indextable.queues WHERE fact_table = 'fact'::regclass$$;
SELECT * FROM drained();

-- ---- one key for each changed row, however many index tables there are; nothing is applied before drain()
INSERT INTO fact VALUES (3, '{"k": "c", "n": 3, "v": 3, "tags": ["x"]}', true, 'three'), (4, '{"k": "d"}', false, 'four'), (5, '{}', NULL, NULL);
UPDATE fact SET doc = doc || '{"k": "A", "n": 1}' WHERE id = 1;
DELETE FROM fact WHERE id = 2;
SELECT queued();
SELECT * FROM plain ORDER BY id;
SELECT * FROM at_once ORDER BY id;
SELECT * FROM drained();
SELECT * FROM plain ORDER BY id;
SELECT * FROM pair ORDER BY id;
SELECT tags, id, doc ->> 'k' FROM tags ORDER BY id, tags;
SELECT * FROM live ORDER BY id;
SELECT * FROM note ORDER BY id;
SELECT * FROM drained();
-- by a column that is a key, a payload, or in a filter
UPDATE fact SET note = 'THREE' WHERE id = 3;
UPDATE fact SET live = NULL WHERE id = 4;
UPDATE fact SET live = true, note = NULL WHERE id = 4;
SELECT * FROM drained();

-- ---- what changes no column that entries depend on queues nothing
ALTER TABLE fact ADD other int;
UPDATE fact SET other = 1;
UPDATE fact SET doc = doc, note = note, id = id;
UPDATE fact SET doc = doc || '{}';
UPDATE fact SET doc = '{}' WHERE false;
INSERT INTO fact VALUES (1, '{"k": "lost"}') ON CONFLICT DO NOTHING;
SELECT count(*) FROM (SELECT FROM fact FOR UPDATE) s;
SELECT queued();
-- one that changes the document elsewhere is queued, but writes no entry
INSERT INTO fact SELECT i, jsonb_build_object('k', i, 'n', i, 'v', i, 'other', 0) FROM generate_series(10, 19) i;
SELECT * FROM drained();
CREATE TEMP TABLE before AS SELECT ctid AS place, xmin AS writer, cmin AS command, id FROM pair;
UPDATE fact SET doc = jsonb_set(doc, '{other}', '1') WHERE id >= 10;
SELECT * FROM drained();
SELECT count(*) AS touched FROM pair t FULL JOIN before b ON t.ctid = place AND t.xmin = writer AND t.id = b.id WHERE t IS NULL OR b IS NULL;
-- 1 and 1.0 are not the same bytes
UPDATE fact SET doc = jsonb_set(doc, '{v}', '10.0') WHERE id = 10;
SELECT * FROM drained();
SELECT * FROM pair WHERE id = 10;

-- ---- many changes of one row are one
SELECT pg_stat_force_next_flush();
SELECT n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_user_tables WHERE relid = 'plain'::regclass \gset was_
SELECT :was_n_tup_ins > 0 AS counted;
DO $$ BEGIN
	FOR i IN 1..100 LOOP
		UPDATE fact SET doc = jsonb_set(doc, '{k}', to_jsonb(i)) WHERE id = 10;
		IF i % 10 = 0 THEN COMMIT; END IF;
	END LOOP;
END $$;
INSERT INTO fact VALUES (20, '{"k": "short-lived"}');
DELETE FROM fact WHERE id = 20;
UPDATE fact SET doc = jsonb_set(doc, '{k}', '"there"') WHERE id = 11;
UPDATE fact SET doc = jsonb_set(doc, '{k}', '"11"') WHERE id = 11;
SELECT * FROM drained();
SELECT pg_stat_force_next_flush();
SELECT n_tup_ins - :was_n_tup_ins AS inserted, n_tup_upd - :was_n_tup_upd AS updated, n_tup_del - :was_n_tup_del AS deleted
FROM pg_stat_user_tables WHERE relid = 'plain'::regclass;

-- ---- batches of any size
INSERT INTO fact SELECT i, jsonb_build_object('k', i, 'n', 1, 'tags', ARRAY[i, i + 1]) FROM generate_series(30, 36) i;
UPDATE fact SET doc = doc || '{"v": 1}' WHERE id BETWEEN 31 AND 33;
SELECT * FROM drained(3);
UPDATE fact SET doc = doc || '{"k": "one by one", "tags": [0]}' WHERE id >= 30;
DELETE FROM fact WHERE id = 36;
SELECT * FROM drained(1);
SET indextable.batch_size = 2;
UPDATE fact SET doc = doc || '{"k": "two by two"}' WHERE id >= 30;
SELECT * FROM drained();
RESET indextable.batch_size;
DELETE FROM fact WHERE id >= 30;
SELECT * FROM drained(4);
SELECT indextable.drain('fact', 0);
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.drain(batch_size => -1);
SET indextable.batch_size = 0;

-- ---- COPY, ON CONFLICT, MERGE, WITH, UPDATE ... FROM
COPY fact (id, doc, note) FROM stdin;
40	{"k": "a", "n": 1, "tags": ["x", "y"]}	copied
41	{"k": null}	\N
42	\N	copied
\.
SELECT * FROM drained();
INSERT INTO fact VALUES (40, '{"k": "A", "tags": ["y", "z"]}'), (43, '{"k": "f"}') ON CONFLICT (id) DO UPDATE SET doc = EXCLUDED.doc;
INSERT INTO fact VALUES (40, '{"k": "no"}') ON CONFLICT (id) DO UPDATE SET doc = EXCLUDED.doc WHERE false;
SELECT * FROM drained();
MERGE INTO fact f USING (VALUES (40, 'gone'), (41, 'changed'), (44, 'new'), (45, 'nothing')) s(id, what) ON f.id = s.id
	WHEN MATCHED AND what = 'gone' THEN DELETE
	WHEN MATCHED THEN UPDATE SET doc = jsonb_build_object('k', what, 'tags', ARRAY[what])
	WHEN NOT MATCHED AND what = 'nothing' THEN DO NOTHING
	WHEN NOT MATCHED THEN INSERT (id, doc) VALUES (s.id, jsonb_build_object('k', what, 'tags', ARRAY[what]));
SELECT * FROM drained();
WITH moved AS (DELETE FROM fact WHERE id IN (41, 44) RETURNING *)
INSERT INTO fact (id, doc) SELECT id + 100, doc || '{"k": "moved"}' FROM moved;
UPDATE fact SET doc = fact.doc || jsonb_build_object('v', s.n) FROM (SELECT id, row_number() OVER (ORDER BY id) n FROM fact) s WHERE s.id = fact.id AND fact.id > 100;
SELECT * FROM drained();
SELECT * FROM plain WHERE id >= 40 ORDER BY id;
BEGIN;
TRUNCATE fact;
COPY fact (id, doc, note) FROM stdin WITH (FREEZE);
40	{"k": "a", "n": 1, "tags": ["x", "y"]}	frozen
42	{"k": "b"}	\N
43	{"k": "c"}	\N
101	{"k": "d"}	\N
\.
UPDATE fact SET doc = doc || '{"k": "thawed"}' WHERE id = 40;
COMMIT;
SELECT * FROM drained();
-- primary keys that change, and change places
UPDATE fact SET id = -id WHERE id > 100;
BEGIN; UPDATE fact SET id = 50 WHERE id = 42; UPDATE fact SET id = 42 WHERE id = 43; COMMIT;
SELECT * FROM drained();
BEGIN; DELETE FROM fact WHERE id = 42; INSERT INTO fact VALUES (42, '{"k": "again"}'); COMMIT;
SELECT * FROM drained();
CREATE VIEW facts AS SELECT id, doc FROM fact WHERE id >= 60 WITH CHECK OPTION;
INSERT INTO facts VALUES (60, '{"k": "through a view"}');
SELECT * FROM drained();

-- ---- TRUNCATE: at once, since nobody can see the rows any more; what is queued before or after it is right
INSERT INTO fact VALUES (61, '{"k": "queued, not drained"}');
BEGIN;
INSERT INTO fact VALUES (62, '{"k": "before"}');
TRUNCATE fact;
SELECT count(*) FROM plain;
CALL pg_temp.no_rows('differences()');
INSERT INTO fact VALUES (1, '{"k": "after", "tags": ["t"]}');
COMMIT;
SELECT * FROM drained();
BEGIN;
UPDATE fact SET doc = doc || '{"k": "kept"}';
SAVEPOINT s;
TRUNCATE fact;
INSERT INTO fact VALUES (2, '{"k": "undone"}');
ROLLBACK TO s;
SELECT count(*) FROM plain;
COMMIT;
SELECT * FROM drained();
SELECT * FROM plain;
TRUNCATE fact;
SELECT * FROM drained();

-- ---- what is rolled back is not queued
BEGIN; INSERT INTO fact VALUES (1, '{"k": "aborted"}'); ROLLBACK;
INSERT INTO fact VALUES (2, '{"k": "fails"}'), (2, '{"k": "fails"}');
SELECT queued();
BEGIN;
INSERT INTO fact VALUES (1, '{"k": "outer"}');
SAVEPOINT a;
INSERT INTO fact VALUES (2, '{"k": "undone"}');
SAVEPOINT b;
INSERT INTO fact VALUES (3, '{"k": "undone, though released"}');
RELEASE b;
ROLLBACK TO a;
INSERT INTO fact VALUES (4, '{"k": "inner"}');
RELEASE a;
SAVEPOINT c;
SAVEPOINT d;
INSERT INTO fact VALUES (5, '{"k": "deeper"}');
RELEASE d;
SAVEPOINT e;
UPDATE fact SET doc = '{"k": "changed"}' WHERE id = 1;
RELEASE e;
RELEASE c;
SAVEPOINT f;
DELETE FROM fact;
ROLLBACK TO f;
COMMIT;
SELECT queued();
SELECT * FROM drained();
SELECT * FROM plain ORDER BY id;
DO $$
BEGIN
	FOR i IN 10..15 LOOP
		BEGIN
			INSERT INTO fact VALUES (i, jsonb_build_object('k', i, 'tags', ARRAY[i, i + 1]));
			IF i % 2 = 0 THEN RAISE EXCEPTION 'even'; END IF;
		EXCEPTION WHEN raise_exception THEN
			UPDATE fact SET doc = doc || jsonb_build_object('v', 'after ' || i) WHERE id = i - 1;
		END;
	END LOOP;
	BEGIN
		UPDATE fact SET doc = '{"k": "lost"}' WHERE id >= 10;
		UPDATE fact SET id = 11 WHERE id = 13;    -- duplicate
	EXCEPTION WHEN unique_violation THEN NULL;
	END;
END $$;
SELECT * FROM drained();
SELECT * FROM plain WHERE id >= 10 ORDER BY id;
-- so many that they are not kept until the commit, in subtransactions of either fate
BEGIN;
INSERT INTO fact SELECT i, jsonb_build_object('k', i % 7) FROM generate_series(100, 20100) i;
SAVEPOINT a;
UPDATE fact SET doc = '{"k": "undone"}' WHERE id >= 100;
ROLLBACK TO a;
UPDATE fact SET doc = '{"k": "kept"}' WHERE id >= 100 AND id % 2 = 0;
SAVEPOINT b;
DELETE FROM fact WHERE id > 10000;
COMMIT;
SELECT queued();
SELECT * FROM drained();
SELECT k, count(*) FROM plain WHERE id >= 100 GROUP BY k ORDER BY k;
BEGIN; DELETE FROM fact WHERE id >= 100; ROLLBACK;
DELETE FROM fact WHERE id >= 100;
SELECT * FROM drained(1000);

-- ---- other triggers that write the same rows and others of the statement
CREATE FUNCTION nest() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() > 1 THEN RETURN NULL; END IF;
	BEGIN
		-- the next row, which the outer statement has changed too; a new row; and one that goes
		UPDATE fact SET doc = doc || jsonb_build_object('v', 'nested by ' || NEW.id) WHERE id = NEW.id + 1;
		INSERT INTO fact VALUES (NEW.id + 500, jsonb_build_object('k', 'nested', 'tags', ARRAY['nested']));
		DELETE FROM fact WHERE id = NEW.id + 499;
		IF NEW.id % 2 = 0 THEN RAISE EXCEPTION 'even'; END IF;
	EXCEPTION WHEN raise_exception THEN
		UPDATE fact SET doc = jsonb_set(doc, '{k}', '"caught"') WHERE id = NEW.id;
	END;
	RETURN NULL;
END $$;
CREATE TRIGGER "!nest" AFTER INSERT OR UPDATE ON fact FOR EACH ROW EXECUTE FUNCTION nest();
INSERT INTO fact SELECT i, jsonb_build_object('k', 'n' || i, 'tags', ARRAY[i]) FROM generate_series(60, 65) i;
SELECT * FROM drained();
CALL pg_temp.compare('plain', 'SELECT k, id FROM at_once');
DELETE FROM fact WHERE id > 500;
ALTER TRIGGER "!nest" ON fact RENAME TO zz_nest;
UPDATE fact SET doc = doc || '{"k": "u"}' WHERE id BETWEEN 60 AND 65;
SELECT * FROM drained(2);
SELECT * FROM plain WHERE id >= 60 ORDER BY id;
DROP TRIGGER zz_nest ON fact;
CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS
	$$BEGIN NEW.doc := NEW.doc || jsonb_build_object('k', 'stamped ' || coalesce(NEW.note, '')); RETURN NEW; END$$;
CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON fact FOR EACH ROW EXECUTE FUNCTION stamp();
UPDATE fact SET other = 2 WHERE id = 60;
UPDATE fact SET note = 'x' WHERE id = 61;
INSERT INTO fact VALUES (70, '{"k": "mine"}', true, 'y');
SELECT * FROM drained();
SELECT * FROM plain WHERE k LIKE 'stamped%' ORDER BY id;
DROP TRIGGER stamp ON fact;
-- one that drains
CREATE FUNCTION drain_now() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN PERFORM indextable.drain(TG_RELID); RETURN NULL; END$$;
CREATE TRIGGER zz_drain AFTER INSERT OR UPDATE OR DELETE ON fact FOR EACH ROW EXECUTE FUNCTION drain_now();
INSERT INTO fact VALUES (71, '{"k": "drained at once"}'), (72, '{"k": "this, too"}');
UPDATE fact SET id = id + 10 WHERE id IN (71, 72);
SELECT queued();
CALL pg_temp.no_rows('differences()');
DELETE FROM fact WHERE id > 80;
DROP TRIGGER zz_drain ON fact;
CREATE TRIGGER drain AFTER UPDATE ON fact FOR EACH STATEMENT EXECUTE FUNCTION drain_now();
UPDATE fact SET doc = doc || '{"k": "drained after the statement"}';
SELECT queued();
CALL pg_temp.no_rows('differences()');
DROP TRIGGER drain ON fact;
SELECT * FROM drained();

-- ---- drain() in the transaction of the writer: the changes are seen by it, and are gone when it is rolled back
INSERT INTO fact VALUES (90, '{"k": "committed before"}');
BEGIN;
UPDATE fact SET doc = '{"k": "own"}' WHERE id = 90;
INSERT INTO fact VALUES (91, '{"k": "own"}');
SELECT * FROM drained();
SELECT * FROM plain WHERE id >= 90 ORDER BY id;
UPDATE fact SET doc = '{"k": "own again"}' WHERE id = 91;
SELECT * FROM drained(1);
ROLLBACK;
SELECT queued();
SELECT * FROM plain WHERE id >= 90;
SELECT * FROM drained();
BEGIN;
UPDATE fact SET doc = '{"k": "one"}' WHERE id = 90;
SAVEPOINT s;
INSERT INTO fact VALUES (91, '{"k": "two"}');
SELECT indextable.drain('fact') > 0 AS some;
SELECT * FROM plain WHERE id = 91;
ROLLBACK TO s;
SELECT * FROM plain WHERE id = 91;
COMMIT;
SELECT * FROM drained();
BEGIN;
INSERT INTO fact VALUES (91, '{"k": "two"}');
SAVEPOINT s;
SELECT indextable.drain('fact') IS NOT NULL AS done;
DELETE FROM fact WHERE id = 91;
RELEASE s;
SELECT * FROM drained();
COMMIT;
SELECT * FROM drained();
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM plain WHERE k = 'rr';
INSERT INTO fact VALUES (92, '{"k": "rr"}');
SELECT * FROM drained();
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
UPDATE fact SET doc = '{"k": "serializable"}' WHERE id = 92;
SELECT * FROM drained();
COMMIT;
SELECT queued();
BEGIN READ ONLY;
SELECT indextable.drain();
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
-- on an exception
DO $$
BEGIN
	BEGIN
		INSERT INTO fact VALUES (93, '{"k": "caught"}');
		PERFORM indextable.drain();
		RAISE EXCEPTION 'after the drain';
	EXCEPTION WHEN raise_exception THEN
		INSERT INTO fact VALUES (94, '{"k": "in the handler"}');
	END;
	PERFORM indextable.drain();
END $$;
SELECT queued();
CALL pg_temp.no_rows('differences()');

-- where triggers of users do not fire
SET session_replication_role = replica;
INSERT INTO fact VALUES (97, '{"k": "replica"}');
RESET session_replication_role;
SELECT * FROM drained();
-- VACUUM, and whoever reads queue tables, makes room in them
INSERT INTO fact SELECT i, jsonb_build_object('k', i) FROM generate_series(1000, 2000) i;
DELETE FROM fact WHERE id >= 1000;
SELECT * FROM drained();
VACUUM;
INSERT INTO fact VALUES (98, '{"k": "after VACUUM"}');
SELECT queued();
SELECT * FROM drained();
INSERT INTO fact SELECT i, jsonb_build_object('k', i) FROM generate_series(1000, 2000) i;
DELETE FROM fact WHERE id >= 1000;
SELECT * FROM drained();
\set ECHO none
SELECT format('VACUUM (TRUNCATE) %s', q) FROM indextable_internal.fact, unnest(ARRAY[queue, spare]) q WHERE fact_table = 'fact'::regclass \gexec
\set ECHO all
UPDATE fact SET doc = '{"k": "after VACUUM (TRUNCATE)"}' WHERE id = 98;
SELECT queued();
SELECT * FROM drained();
\set ECHO none
SELECT format('VACUUM FULL %s', q) FROM indextable_internal.fact, unnest(ARRAY[queue, spare]) q WHERE fact_table = 'fact'::regclass \gexec
\set ECHO all
INSERT INTO fact VALUES (99, '{"k": "after VACUUM FULL"}');
VACUUM FULL plain;
CLUSTER pair USING pair_row_idx;
SELECT * FROM drained();

-- ---- several fact tables in one transaction; drain() takes them all, drain(table) one
CREATE TABLE second (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('second_k', 'second', '{k}', maintenance => 'async') \gset
BEGIN; INSERT INTO fact VALUES (95, '{"k": "x"}'); INSERT INTO second VALUES (1, '{"k": "y"}'); INSERT INTO fact VALUES (96, '{"k": "z"}'); COMMIT;
SELECT indextable.drain('second');
SELECT queued(), * FROM second_k;
INSERT INTO second VALUES (2, '{"k": "y"}');
SELECT indextable.drain();
CALL pg_temp.no_rows('differences()');
CALL pg_temp.compare('second_k', $$SELECT doc ->> 'k', id FROM second$$);
-- what is no fact table, or has no asynchronous index tables
CREATE TABLE none (id int PRIMARY KEY, doc jsonb);
SELECT indextable.drain('none');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('none_k', 'none', '{k}') \gset
SELECT indextable.drain('none');
SELECT indextable.drain('none_k');
SELECT indextable.drain('plain');
INSERT INTO none VALUES (1, '{"k": 1}');
SELECT indextable.drain();

-- ---- made in the transaction that writes, before and after; dropped there; and made again
BEGIN;
INSERT INTO none VALUES (2, '{"k": 2}');
SELECT indextable.create('none_async', 'none', '{k}', maintenance => 'async') \gset
UPDATE none SET doc = '{"k": "two"}' WHERE id = 2;
SELECT * FROM none_async ORDER BY id;
SELECT indextable.create('none_more', 'none', '{k}', 'denormalized', maintenance => 'async') \gset
COMMIT;
SELECT indextable.drain('none');
CALL pg_temp.compare('none_async', $$SELECT doc ->> 'k', id FROM none$$);
CALL pg_temp.compare('none_more', $$SELECT doc ->> 'k', id, doc FROM none$$);
BEGIN;
INSERT INTO none VALUES (3, '{"k": 3}');
SELECT indextable.drop('none_async') \gset
INSERT INTO none VALUES (4, '{"k": 4}');
SELECT indextable.drop('none_more') \gset
DELETE FROM none WHERE id = 1;
SELECT indextable.create('none_async', 'none', '{k}', maintenance => 'async') \gset
INSERT INTO none VALUES (5, '{"k": 5}');
COMMIT;
SELECT indextable.drain('none') > 0 AS some;
CALL pg_temp.compare('none_async', $$SELECT doc ->> 'k', id FROM none$$);
-- the same undone: what was changed before is not forgotten
BEGIN;
INSERT INTO none VALUES (50, '{"k": "before"}');
SAVEPOINT s;
SELECT indextable.drop('none_async') \gset
SELECT indextable.create('none_async', 'none', '{k}', 'denormalized', maintenance => 'async') \gset
INSERT INTO none VALUES (51, '{"k": "undone"}');
ROLLBACK TO s;
SAVEPOINT s;
DROP TABLE none;
ROLLBACK TO s;
INSERT INTO none VALUES (52, '{"k": "after"}');
COMMIT;
SELECT indextable.drain('none');
CALL pg_temp.compare('none_async', $$SELECT doc ->> 'k', id FROM none$$);
-- asynchronous ones alone, then beside one that is not
SELECT indextable.drop('none_k') \gset
INSERT INTO none VALUES (6, '{"k": 6}');
SELECT indextable.create('none_k', 'none', '{k}') \gset
INSERT INTO none VALUES (7, '{"k": 7}');
SELECT indextable.drain('none');
CALL pg_temp.compare('none_async', $$SELECT doc ->> 'k', id FROM none$$);
CALL pg_temp.compare('none_k', $$SELECT doc ->> 'k', id FROM none$$);
-- a snapshot that is older than the index table
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM none;
INSERT INTO none VALUES (8, '{"k": 8}');
SELECT indextable.create('none_late', 'none', '{k}', maintenance => 'async') \gset
UPDATE none SET doc = '{"k": "eight"}' WHERE id = 8;
COMMIT;
SELECT indextable.drain('none');
CALL pg_temp.compare('none_late', $$SELECT doc ->> 'k', id FROM none$$);

-- ---- primary keys of any type
CREATE DOMAIN code AS text CHECK (VALUE <> '');
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE many_keys (extra int, t text, u uuid, doc jsonb, z timestamptz, n numeric(10,2), i int, c char(4), b bytea, m mood, d code, more text,
	PRIMARY KEY (i, u, t, n, z, c, b, m, d));
ALTER TABLE many_keys DROP COLUMN extra;
SELECT indextable.create('many_k', 'many_keys', '{k}', include => '{v}', maintenance => 'async') \gset
SELECT indextable.create('many_part', 'many_keys', '{k, @n, @t}', maintenance => 'async') \gset
SELECT indextable.create('many_tags', 'many_keys', '{tags[*]}', 'denormalized', maintenance => 'async') \gset
-- a queue table has the time and the primary key, and is logged; vacuum leaves it alone
SELECT attname, format_type(atttypid, atttypmod), attstorage FROM pg_attribute
WHERE attrelid = (SELECT queue FROM indextable_internal.fact WHERE fact_table = 'many_keys'::regclass) AND attnum > 0 ORDER BY attnum;
SELECT count(*), relpersistence, relhasindex, reltoastrelid <> 0 AS toast, reloptions FROM pg_class, indextable_internal.fact
WHERE fact_table = 'many_keys'::regclass AND oid IN (queue, spare) GROUP BY 2, 3, 4, 5;
INSERT INTO many_keys SELECT 't' || i, ('00000000-0000-0000-0000-00000000000' || i)::uuid, jsonb_build_object('k', i % 2, 'v', i, 'tags', ARRAY[i, i + 1]),
	'2024-01-01Z'::timestamptz + i * interval '1 day', i * 1.5, i, 'c' || i, 'b'::bytea, 'ok', 'd', 'more' FROM generate_series(1, 6) i;
SELECT indextable.drain('many_keys');
UPDATE many_keys SET t = 'other' WHERE i = 1;
UPDATE many_keys SET n = n + 0.01, z = 'infinity', m = 'happy' WHERE i = 2;
UPDATE many_keys SET more = 'nothing to see' WHERE i = 3;
UPDATE many_keys SET doc = doc || '{"k": "new", "v": "new", "tags": [0]}' WHERE i = 4;
DELETE FROM many_keys WHERE i = 5;
SELECT indextable.drain('many_keys', 1);
CALL pg_temp.compare('many_k', $$SELECT doc ->> 'k', i, u, t, n, z, c, b, m, d, doc ->> 'v' FROM many_keys$$);
CALL pg_temp.compare('many_part', $$SELECT doc ->> 'k', n, t, i, u, z, c, b, m, d FROM many_keys$$);
CALL pg_temp.compare('many_tags', $$SELECT e, i, u, t, n, z, c, b, m, d, doc FROM many_keys, jsonb_array_elements_text(doc -> 'tags') e$$);
-- a drain under other settings finds the same rows
SET TimeZone = 'Asia/Tokyo'; SET DateStyle = 'SQL, DMY'; SET IntervalStyle = 'iso_8601'; SET bytea_output = 'escape'; SET extra_float_digits = -3;
UPDATE many_keys SET doc = doc || '{"k": "other settings"}' WHERE z < 'infinity';
SELECT indextable.drain('many_keys');
RESET TimeZone; RESET DateStyle; RESET IntervalStyle; RESET bytea_output; RESET extra_float_digits;
CALL pg_temp.compare('many_k', $$SELECT doc ->> 'k', i, u, t, n, z, c, b, m, d, doc ->> 'v' FROM many_keys$$);
-- keys that are equal, though not the same
CREATE TABLE num (id numeric PRIMARY KEY, doc jsonb);
SELECT indextable.create('num_k', 'num', '{k}', maintenance => 'async') \gset
INSERT INTO num VALUES (1.0, '{"k": 1}'), (2, '{"k": 2}');
SELECT indextable.drain('num');
UPDATE num SET id = 1.00 WHERE id = 1;
SELECT indextable.drain('num');
BEGIN; DELETE FROM num WHERE id = 1; UPDATE num SET id = 1.000; COMMIT;
SELECT indextable.drain('num');
SELECT * FROM num_k;
CALL pg_temp.compare('num_k', $$SELECT doc ->> 'k', id FROM num$$);
-- long ones, and documents that are stored out of line
CREATE FUNCTION noise(n int) RETURNS text LANGUAGE sql AS      -- does not compress
	$$SELECT left(string_agg(md5(i::text), '' ORDER BY i), n) FROM generate_series(1, n / 32 + 1) i$$;
CREATE TABLE long (id text PRIMARY KEY, doc jsonb);
SELECT indextable.create('long_k', 'long', '{k}', include => '{text}', maintenance => 'async') \gset
SELECT indextable.create('long_copy', 'long', '{k}', 'denormalized', maintenance => 'async') \gset
SELECT pg_get_indexdef('long_k_k_id_text_key'::regclass);
INSERT INTO long SELECT i || noise(i * 25), jsonb_build_object('k', i % 5, 'text', noise(i * 200)) FROM generate_series(1, 100) i;
UPDATE long SET doc = doc || '{"other": 1}' WHERE id LIKE '5%';
UPDATE long SET doc = doc || '{"k": "x"}' WHERE id LIKE '7%';
SELECT indextable.drain('long', 33);
SELECT pg_get_indexdef('long_k_k_id_text_key'::regclass);
CALL pg_temp.compare('long_k', $$SELECT doc ->> 'k', id, doc ->> 'text' FROM long$$);
CALL pg_temp.compare('long_copy', $$SELECT doc ->> 'k', id, doc FROM long$$);
-- checked at commit only: two rows of one key, for a while
CREATE TABLE swap (id int, doc jsonb, CONSTRAINT swap_pkey PRIMARY KEY (id) DEFERRABLE);
SELECT indextable.create('swap_k', 'swap', '{k}', include => '{v}', maintenance => 'async') \gset
INSERT INTO swap SELECT i, jsonb_build_object('k', 'k' || i, 'v', i) FROM generate_series(1, 5) i;
UPDATE swap SET id = 3 - id WHERE id IN (1, 2);
UPDATE swap SET id = id + 1;
SELECT indextable.drain('swap');
CALL pg_temp.compare('swap_k', $$SELECT doc ->> 'k', id, doc ->> 'v' FROM swap$$);
BEGIN;
SET CONSTRAINTS swap_pkey DEFERRED;
INSERT INTO swap VALUES (2, '{"k": "twice", "v": "twice"}'), (3, '{"k": "k1", "v": "second"}');
SELECT indextable.drain('swap');
UPDATE swap SET id = 20 WHERE id = 2 AND doc ->> 'k' = 'twice';
DELETE FROM swap WHERE id = 3 AND doc ->> 'v' <> 'second';
COMMIT;
SELECT indextable.drain('swap');
CALL pg_temp.compare('swap_k', $$SELECT doc ->> 'k', id, doc ->> 'v' FROM swap$$);

-- ---- values are read under fixed settings, not those of whoever drains
CREATE TABLE dates (id int PRIMARY KEY, doc jsonb, f float8);
SELECT indextable.create('dates_d', 'dates', '{d::date}', include => '{z::timestamptz, f::float8, @f AS plain}', maintenance => 'async') \gset
SET TimeZone = 'Asia/Tokyo'; SET DateStyle = 'SQL, DMY'; SET extra_float_digits = -10;
INSERT INTO dates VALUES (1, '{"d": "2024-02-01", "z": "2024-02-01 12:00", "f": 0.1}', 0.1::float4), (2, '{"d": "2024-12-13", "f": 1e-7}', 1.0 / 3);
SELECT indextable.drain('dates');
RESET TimeZone; RESET DateStyle; RESET extra_float_digits;
SELECT indextable.create('dates_now', 'dates', '{d::date}', include => '{z::timestamptz, f::float8, @f AS plain}') \gset
CALL pg_temp.compare('dates_d', 'SELECT * FROM dates_now');
SELECT d = '2024-02-01' AND z = '2024-02-01 12:00Z' AS same FROM dates_d WHERE id = 1;

-- ---- look-ups never give a row that does not match now, whatever is queued
INSERT INTO dates SELECT i, '{"d": "2025-01-01"}' FROM generate_series(10, 12) i;
SELECT indextable.drain('dates');
UPDATE dates SET doc = '{"d": "2025-01-02"}' WHERE id = 10;
UPDATE dates SET f = 1 WHERE id = 11;
DELETE FROM dates WHERE id = 12;
SELECT id, f FROM indextable.lookup(NULL::dates, 'dates_d', '{"d": "2025-01-01"}');
SELECT id, f FROM indextable.lookup(NULL::dates, 'dates_d', '{"d": "2025-01-02"}');
SELECT indextable.drain('dates');
SELECT id, f FROM indextable.lookup(NULL::dates, 'dates_d', '{"d": "2025-01-02"}');
INSERT INTO fact VALUES (200, '{"k": "look", "tags": ["l", "m"]}');
SELECT indextable.drain('fact') > 0 AS some;
UPDATE fact SET doc = '{"k": "look", "tags": ["m"], "v": "new"}' WHERE id = 200;
SELECT id, doc FROM indextable.lookup(NULL::fact, 'tags', '{"tags": "l"}');
SELECT id, doc FROM indextable.lookup(NULL::fact, 'tags', '{"tags": "m"}');
-- but a denormalized one answers from its copies where documents are asked for
SELECT * FROM indextable.lookup('tags', '{"tags": "l"}');
UPDATE fact SET live = false WHERE id = 200;
SELECT * FROM indextable.lookup('live', '{"k": "look"}');
SELECT * FROM indextable.lookup('plain', '{"k": "look"}');
SELECT * FROM drained();
SELECT * FROM indextable.lookup('tags', '{"tags": "l"}');

-- ---- the index on the primary key is needed: without it nothing is applied, and nothing lost
DROP INDEX plain_row_idx;
SET session_replication_role = replica;
DROP INDEX plain_row_idx;
RESET session_replication_role;
INSERT INTO fact VALUES (201, '{"k": "waits"}');
SELECT indextable.drain('fact');
\echo :LAST_ERROR_SQLSTATE
SELECT queued();
CREATE INDEX ON plain (id);
SELECT * FROM drained();
-- indexes of the owner's own are kept as well
CREATE INDEX plain_upper ON plain (upper(k)) WHERE id > 100;
UPDATE fact SET doc = '{"k": "Upper"}' WHERE id = 201;
SELECT * FROM drained();
SET enable_seqscan = off;
SELECT id FROM plain WHERE upper(k) = 'UPPER' AND id > 100;
RESET enable_seqscan;

-- ---- writing an index table by hand is refused as ever, whatever is queued
INSERT INTO fact VALUES (202, '{"k": "queued"}');
DELETE FROM plain;
TRUNCATE plain;
SELECT * FROM drained();

-- ---- a queue with a TOAST table is written when a transaction commits, or a subtransaction, and no statement runs
CREATE TABLE texts (id text PRIMARY KEY, doc jsonb);
SELECT indextable.create('texts_k', 'texts', '{k}', maintenance => 'async') \gset
INSERT INTO texts VALUES ('x', '{"k": "a"}');
BEGIN;
INSERT INTO texts SELECT repeat(md5(g::text), 60) || g, '{"k": "outer"}' FROM generate_series(1, 400) g;
SAVEPOINT s;
INSERT INTO texts SELECT repeat(md5(g::text), 60) || g, '{"k": "inner"}' FROM generate_series(401, 800) g;
RELEASE s;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO texts VALUES ('y', '{"k": "b"}');
COMMIT;
SELECT indextable.drain('texts');
DELETE FROM texts WHERE id > 'd';
SELECT indextable.drain('texts') > 0 AS some;
CALL pg_temp.compare('texts_k', $$SELECT doc ->> 'k', id FROM texts$$);

SET client_min_messages = warning;
DROP SCHEMA async CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
SELECT count(*) FROM indextable.queues;
SELECT relname FROM pg_class WHERE relnamespace = 'indextable_queues'::regnamespace AND relname LIKE 'queue\_%';
SELECT indextable.drain();
