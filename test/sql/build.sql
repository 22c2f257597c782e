-- create(..., populate => false) and build(): the index table is filled in batches
-- while its fact table is written.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA building;
SET search_path = building;
CREATE FUNCTION progress() RETURNS TABLE (index_table text, fact_table text, phase text, rows_done bigint, rows_total bigint) LANGUAGE sql AS
	$$ SELECT index_table::text, fact_table::text, phase, rows_done, rows_total FROM indextable.progress ORDER BY 1 $$;
CREATE FUNCTION states() RETURNS TABLE (index_table text, maintenance text, state text, backlog bigint, rejected bigint) LANGUAGE sql AS
	$$ SELECT index_table::text, maintenance, state, backlog, rejected FROM indextable.index_tables JOIN indextable.index_table_stats USING (index_table, fact_table) ORDER BY 1 $$;
CREATE TABLE doc (a int, b text, doc jsonb, note text, PRIMARY KEY (a, b)) WITH (autovacuum_enabled = off);
INSERT INTO doc SELECT g / 3, 'b' || g % 3, jsonb_build_object('k', 'k' || g % 4, 'n', g, 'v', 'v' || g, 'tags', jsonb_build_array(g % 3, g % 5, 10)), 'note ' || g
	FROM generate_series(1, 30) g;
INSERT INTO doc VALUES (0, 'no keys', '{"x": 1}');
ANALYZE doc;
CREATE FUNCTION differences() RETURNS TABLE (index_table text, side text, entry text) LANGUAGE sql AS $$
	SELECT t, d.* FROM (VALUES
		('norm', 'SELECT doc ->> ''k'', a, b FROM doc'),
		('part', 'SELECT (doc ->> ''n'')::int, doc ->> ''k'', a, b, doc ->> ''v'', note FROM doc'),
		('deno', 'SELECT doc ->> ''v'', a, b, doc FROM doc'),
		('tags', 'SELECT DISTINCT t::int, a, b FROM doc, jsonb_array_elements_text(doc -> ''tags'') t'),
		('uniq', 'SELECT (doc ->> ''n'')::int, a, b FROM doc WHERE doc ->> ''n'' IS NOT NULL'),
		('filt', 'SELECT doc ->> ''k'', a, b FROM doc WHERE doc -> ''n'' > ''10'''),
		('asyn', 'SELECT doc ->> ''k'', a, b, doc ->> ''v'' FROM doc')) v(t, recompute),
		pg_temp.oracle(t, recompute) d WHERE to_regclass(t) IS NOT NULL
$$;

-- ---- nothing but the table is made
SELECT indextable.create('norm', 'doc', '{k}', populate => false) \gset
SELECT * FROM states();
CALL pg_temp.no_rows('progress()');
SELECT count(*) FROM norm;
SELECT indextable.lookup('norm', '{"k": "k1"}');
SELECT indextable.lookup(NULL::doc, 'norm', '{"k": "k1"}');
SELECT fact_table, backlog FROM indextable.queues;
DELETE FROM norm;
CALL indextable.build('norm', 7);
SELECT * FROM states();
CALL pg_temp.no_rows('progress()');
SELECT count(*) FROM indextable.lookup('norm', '{"k": "k1"}');
CALL pg_temp.no_rows('differences()');
SELECT * FROM indextable.verify('norm');
-- as one that was filled at once: no queue is left, nor an index for it
SELECT fact_table, queue, spare FROM indextable_internal.fact;
SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'norm'::regclass;
SELECT tgname FROM pg_trigger WHERE tgrelid = 'doc'::regclass ORDER BY tgname;
CALL indextable.build('norm');

-- ---- all kinds, built one after the other, with writes before, between and after
SELECT indextable.create('part', 'doc', '{n::int,k}', include => '{v,@note}', populate => false) \gset
SELECT indextable.create('deno', 'doc', '{v}', 'denormalized', populate => false) \gset
SELECT indextable.create('tags', 'doc', '{tags[*]::int AS tag}', populate => false) \gset
SELECT indextable.create('uniq', 'doc', '{n::int}', is_unique => true, populate => false) \gset
SELECT indextable.create('filt', 'doc', '{k}', filter => 'doc -> ''n'' > ''10''', populate => false) \gset
SELECT indextable.create('asyn', 'doc', '{k}', include => '{v}', maintenance => 'async', populate => false) \gset
CREATE FUNCTION write(i int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO doc SELECT 100 + i, 'b' || g, jsonb_build_object('k', 'k' || g, 'n', 1000 * i + 500 + g, 'v', 'v', 'tags', jsonb_build_array(g, i)), 'new' FROM generate_series(1, 3) g;
	INSERT INTO doc VALUES (0, 'first' || i, jsonb_build_object('k', 'first', 'n', -10 - i));
	UPDATE doc SET doc = doc || '{"k": "changed", "v": "changed", "tags": [11]}' WHERE a = i;
	UPDATE doc SET note = 'changed' WHERE a = i + 1;
	UPDATE doc SET a = a + 50 WHERE a = 9 - i AND b = 'b1';
	UPDATE doc SET a = a - 20 WHERE a = 8 - i AND b = 'b2';
	UPDATE doc SET doc = doc - 'k' - 'n' WHERE a = i + 2 AND b = 'b0';
	DELETE FROM doc WHERE a = 10 - i AND b = 'b0';
	DELETE FROM doc WHERE a = 100 + i - 1 AND b = 'b3';
$$;
SELECT write(0) \gset
SELECT * FROM states();
CALL indextable.build('part', 1);
CALL pg_temp.no_rows($$differences() WHERE index_table IN ('norm', 'part')$$);
SELECT write(1) \gset
BEGIN;
UPDATE doc SET doc = doc || '{"v": "all"}';
SAVEPOINT s;
DELETE FROM doc;
ROLLBACK TO s;
DELETE FROM doc WHERE a = 101;
INSERT INTO doc VALUES (101, 'b1', '{"k": "again", "n": 10100, "v": "again", "tags": [1, 1]}');
COMMIT;
CALL pg_temp.no_rows($$differences() WHERE index_table IN ('norm', 'part')$$);
CALL indextable.build('deno', 2);
SELECT write(2) \gset
CALL indextable.build('tags', 1000000, '1 millisecond');
CALL indextable.build('uniq', batch_size => 5, pause => '0');
SELECT * FROM states();
SELECT indextable.drain('doc') > 0 AS some;
SELECT count(*) > 0 AS some FROM filt;
SELECT write(3) \gset
CALL indextable.build('filt', NULL, NULL);
CALL indextable.build('asyn', 3);
SELECT * FROM states();
CALL pg_temp.no_rows('differences()');
SELECT write(4) \gset
SELECT index_table, count(*) FROM differences() GROUP BY index_table;
SELECT indextable.drain('doc') > 0 AS some;
CALL pg_temp.no_rows('differences()');
SELECT index_table, v.* FROM indextable.index_tables, indextable.verify(index_table) v;
SELECT i.indrelid::regclass, i.indexrelid::regclass, i.indisprimary FROM pg_index i JOIN indextable.index_tables t ON t.index_table = i.indrelid ORDER BY i.indexrelid::regclass::text COLLATE "C";
INSERT INTO doc VALUES (200, 'taken', '{"n": 1000}'), (201, 'taken', '{"n": 1000}');
SELECT indextable.drop('asyn') \gset
SELECT * FROM states();
SELECT queue IS NOT NULL AS queued FROM indextable_internal.fact;
CALL pg_temp.no_rows('differences()');
DROP TABLE doc;

-- ---- cut off in the middle, and gone on with
CREATE TABLE doc (id int PRIMARY KEY, doc jsonb) WITH (autovacuum_enabled = off);
INSERT INTO doc SELECT g, jsonb_build_object('k', g % 10, 'n', g) FROM generate_series(1, 100) g;
ANALYZE doc;
-- whose expression fails once: in the middle of a batch
CREATE TABLE stops (n int);
INSERT INTO stops VALUES (55);
CREATE FUNCTION stop(doc jsonb) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
	IF doc ->> 'n' = (SELECT n::text FROM building.stops) THEN RAISE query_canceled USING MESSAGE = 'stop here'; END IF; RETURN true; END $$;
SELECT indextable.create('cut', 'doc', '{k::int}', filter => 'building.stop(doc)', populate => false) \gset
CALL indextable.build('cut', 10);
SELECT * FROM progress();
SELECT * FROM states();
SELECT count(*) FROM cut;
UPDATE stops SET n = -1;
SELECT kind, count(*) FROM indextable.verify('cut') GROUP BY kind ORDER BY kind;
-- of a fact table, what is not built yet is left out
SELECT kind, problem, in_table FROM indextable.verify('doc');
UPDATE stops SET n = 55;
UPDATE doc SET doc = doc || '{"k": 20}' WHERE id IN (5, 95);
UPDATE doc SET id = id + 200 WHERE id IN (6, 96);
UPDATE doc SET id = id - 200 WHERE id IN (7, 97);
DELETE FROM doc WHERE id IN (8, 98);
INSERT INTO doc VALUES (0, '{"k": 0}'), (300, '{"k": 300}');
CALL indextable.build('cut', 10);
SELECT * FROM progress();
UPDATE stops SET n = 56;
CALL indextable.build('cut', 1);
SELECT * FROM progress();
UPDATE stops SET n = -1;
CALL indextable.build('cut', 10);
CALL pg_temp.no_rows('progress()');
SELECT * FROM states();
CALL pg_temp.compare('cut', 'SELECT (doc ->> ''k'')::int, id FROM doc');
SELECT * FROM indextable.verify('cut');
SELECT indextable.drop('cut') \gset
-- TRUNCATE while it is built, and after the first part of it
SELECT indextable.create('cut', 'doc', '{k::int}', filter => 'building.stop(doc)', populate => false) \gset
UPDATE stops SET n = 55;
CALL indextable.build('cut', 10);
TRUNCATE doc;
SELECT count(*) FROM cut;
INSERT INTO doc SELECT g, jsonb_build_object('k', g % 10) FROM generate_series(1, 60) g;
CALL indextable.build('cut', 10);
CALL pg_temp.compare('cut', 'SELECT (doc ->> ''k'')::int, id FROM doc');
-- dropped while it is built, each way
SELECT indextable.create('dropped', 'doc', '{n::int}', filter => 'building.stop(doc)', populate => false) \gset
UPDATE stops SET n = -1;
UPDATE doc SET doc = doc || jsonb_build_object('n', id);
UPDATE stops SET n = 55;
CALL indextable.build('dropped', 10);
SELECT * FROM progress();
SELECT indextable.drop('dropped') \gset
CALL pg_temp.no_rows('progress()');
SELECT fact_table, queue IS NOT NULL AS queued FROM indextable_internal.fact;
SELECT count(*) FROM indextable_internal.build;
UPDATE doc SET doc = doc || '{"k": 3}' WHERE id < 10;
SELECT indextable.create('dropped', 'doc', '{n::int}', filter => 'building.stop(doc)', populate => false) \gset
CALL indextable.build('dropped', 10);
BEGIN;
DROP TABLE dropped;
CALL pg_temp.no_rows('progress()');
ROLLBACK;
SELECT * FROM progress();
DROP TABLE dropped;
SELECT count(*) FROM indextable_internal.build;
SELECT indextable.create('dropped', 'doc', '{n::int}', filter => 'building.stop(doc)', populate => false) \gset
CALL indextable.build('dropped', 10);
CALL pg_temp.compare('cut', 'SELECT (doc ->> ''k'')::int, id FROM doc');
DROP TABLE doc CASCADE;
SELECT count(*) FROM indextable_internal.build;
CALL pg_temp.no_rows('pg_temp.leftovers()');

-- ---- without rows, and other primary keys
CREATE TABLE none (id uuid PRIMARY KEY, doc jsonb);
SELECT indextable.create('none_k', 'none', '{k}', populate => false) \gset
CALL indextable.build('none_k');
SELECT * FROM states();
INSERT INTO none VALUES ('00000000-0000-0000-0000-000000000001', '{"k": "k"}');
SELECT * FROM none_k;
INSERT INTO none SELECT md5(g::text)::uuid, jsonb_build_object('k', g) FROM generate_series(1, 50) g;
SELECT indextable.create('none_u', 'none', '{k}', is_unique => true, populate => false) \gset
CALL indextable.build('none_u', 7);
CALL pg_temp.compare('none_u', 'SELECT doc ->> ''k'', id FROM none');
DROP TABLE none;
CREATE DOMAIN code AS text COLLATE "C" CHECK (value <> '');
CREATE TYPE colour AS ENUM ('red', 'green', 'blue');
CREATE TABLE odd ("Ä b" code, c colour, d numeric, e timestamptz, f bytea, "select" date, doc jsonb, PRIMARY KEY (d, "Ä b", e, c, f, "select"));
INSERT INTO odd SELECT 'x"''\' || g % 3, ('{red,green,blue}'::colour[])[1 + g % 3], (g / 10)::numeric / 3, '2024-03-31 00:30+00'::timestamptz + g * interval '1 microsecond', decode(md5(g::text), 'hex'),
	'4711-01-01 BC'::date + g, jsonb_build_object('k', 'k' || g % 5) FROM generate_series(1, 60) g;
INSERT INTO odd VALUES ('x', 'red', 'NaN', 'infinity', '', '-infinity', '{"k": "infinite"}'), ('x', 'red', '-Infinity', '-infinity', '', 'infinity', '{"k": "infinite"}');
SET DateStyle = 'SQL, DMY';
SET TimeZone = 'Europe/Berlin';
SET bytea_output = escape;
SET extra_float_digits = -10;
SELECT indextable.create('odd_k', 'odd', '{k}', populate => false) \gset
CALL indextable.build('odd_k', 1);
CALL pg_temp.compare('odd_k', 'SELECT doc ->> ''k'', d, "Ä b", e, c, f, "select" FROM odd');
SELECT * FROM indextable.verify('odd_k');
RESET DateStyle; RESET TimeZone; RESET bytea_output; RESET extra_float_digits;
DROP TABLE odd;
CREATE TABLE words (id text PRIMARY KEY, deleted text, doc jsonb);
ALTER TABLE words DROP deleted;
INSERT INTO words SELECT w || n, jsonb_build_object('k', w) FROM unnest('{a,A,b,B,ä,Ä,é,"a b","",Z}'::text[]) w, generate_series(0, 3) n;
SELECT indextable.create('words_k', 'words', '{k}', populate => false, maintenance => 'async') \gset
CALL indextable.build('words_k', 3);
CALL pg_temp.compare('words_k', 'SELECT doc ->> ''k'', id FROM words');
DROP TABLE words;

-- ---- rows that cannot be taken
CREATE TABLE doc (id int PRIMARY KEY, doc jsonb) WITH (autovacuum_enabled = off);
INSERT INTO doc VALUES (1, '{"n": 1}'), (2, '{"n": "two"}'), (3, '{"n": 3}'), (4, '{"n": 3}'), (5, '{"n": 5}');
SELECT indextable.create('strict', 'doc', '{n::int}', populate => false) \gset
SELECT indextable.create('lax', 'doc', '{n::int}', on_mismatch => 'skip', populate => false) \gset
SELECT indextable.create('strict_async', 'doc', '{n::int}', maintenance => 'async', populate => false) \gset
SELECT indextable.create('uniq', 'doc', '{n}', is_unique => true, populate => false) \gset
-- the writer is not refused yet
INSERT INTO doc VALUES (6, '{"n": "six"}'), (7, '{"n": 1}');
CALL indextable.build('lax', 2);
CALL indextable.build('strict_async', 2);
CALL indextable.build('strict', 2);
CALL indextable.build('uniq', 2);
SELECT index_table, primary_key, sqlstate, message FROM indextable.rejected ORDER BY index_table::text COLLATE "C", primary_key;
SELECT * FROM states();
SELECT index_table, skipped FROM indextable.index_table_stats ORDER BY index_table::text COLLATE "C";
SELECT index_table, count(*) FROM indextable.index_tables, indextable.verify(index_table) WHERE kind = 'rejected' GROUP BY 1 ORDER BY index_table::text COLLATE "C";
UPDATE doc SET doc = '{"n": 2}' WHERE id = 2;
CALL indextable.build('strict', 2);
DELETE FROM doc WHERE id = 6;
UPDATE doc SET doc = '{"n": 30}' WHERE id = 4;
UPDATE doc SET doc = '{"n": 70}' WHERE id = 7;
CALL indextable.build('strict', 2);
-- the one that was rejected can have its entry now, though it has not changed itself
CALL indextable.build('uniq', 2);
SELECT * FROM states();
CALL pg_temp.no_rows('progress()');
SELECT count(*) FROM indextable.rejected;
INSERT INTO doc VALUES (8, '{"n": "eight"}');
INSERT INTO doc VALUES (8, '{"n": 70}');
INSERT INTO doc VALUES (8, '{"n": 8}');
SELECT indextable.drain('doc');
CALL pg_temp.compare('strict', 'SELECT (doc ->> ''n'')::int, id FROM doc');
CALL pg_temp.compare('lax', 'SELECT (doc ->> ''n'')::int, id FROM doc');
CALL pg_temp.compare('strict_async', 'SELECT (doc ->> ''n'')::int, id FROM doc');
CALL pg_temp.compare('uniq', 'SELECT doc ->> ''n'', id FROM doc');
-- one that was rejected, and has been dropped since
SELECT indextable.create('late', 'doc', '{n::date}', populate => false) \gset
CALL indextable.build('late', 2);
SELECT indextable.drop('late') \gset
SELECT count(*) FROM indextable.rejected;

-- ---- a unique key that goes from row to row while the index table is built
CREATE TABLE moves (id int PRIMARY KEY, doc jsonb);
INSERT INTO moves SELECT g, jsonb_build_object('n', g) FROM generate_series(1, 20) g;
SELECT indextable.create('moves_n', 'moves', '{n::int}', is_unique => true, populate => false) \gset
UPDATE moves SET doc = doc || '{"x": 1}';
SELECT indextable.drain('moves');
UPDATE moves SET id = -5 WHERE id = 5;
DELETE FROM moves WHERE id = 6;
INSERT INTO moves VALUES (0, '{"n": 6}');
UPDATE moves SET doc = jsonb_build_object('n', 27 - (doc ->> 'n')::int) WHERE id IN (13, 14);
CALL indextable.build('moves_n', 3);
CALL pg_temp.compare('moves_n', 'SELECT (doc ->> ''n'')::int, id FROM moves');
SELECT * FROM states() WHERE index_table = 'moves_n';
DROP TABLE moves;

-- ---- refused
SELECT indextable.create('late', 'doc', '{n::int}', populate => false) \gset
BEGIN; CALL indextable.build('late'); ROLLBACK;
CREATE FUNCTION calls() RETURNS void LANGUAGE plpgsql AS $$ BEGIN CALL indextable.build('building.late'); END $$;
SELECT calls();
CALL indextable.build(NULL);
CALL indextable.build('doc');
CALL indextable.build(0);
CALL indextable.build('late', 0);
CALL indextable.build('late', 100000000);
CALL indextable.build('late', 1, '-1 second');
CREATE ROLE building_other;
GRANT USAGE ON SCHEMA building TO building_other;
SET ROLE building_other;
CALL indextable.build('late');
SELECT count(*) FROM indextable.progress;
RESET ROLE;
-- a procedure may
DO $$ BEGIN CALL indextable.build('building.late', 1); END $$;
SELECT * FROM states();
CALL pg_temp.compare('late', 'SELECT (doc ->> ''n'')::int, id FROM doc');
-- in the transaction that has created it, it is not there to be built
BEGIN;
SELECT indextable.create('later', 'doc', '{n::int}', populate => false) \gset
INSERT INTO doc VALUES (9, '{"n": 9}');
ROLLBACK;
SELECT * FROM states();
-- at every isolation level
SET default_transaction_isolation = 'serializable';
SELECT indextable.create('later', 'doc', '{n::int}', populate => false) \gset
CALL indextable.build('later', 1);
RESET default_transaction_isolation;
CALL pg_temp.compare('later', 'SELECT (doc ->> ''n'')::int, id FROM doc');
-- whether the primary key covers the included fields depends on the entries, also where they come in batches
CREATE FUNCTION noise(n int) RETURNS text LANGUAGE sql AS $$ SELECT left(string_agg(md5(i::text), ''), n) FROM generate_series(0, n / 32) i $$;
CREATE TABLE wide (id int PRIMARY KEY, doc jsonb);
INSERT INTO wide SELECT i, jsonb_build_object('k', i % 3, 'v', noise(CASE i WHEN 15 THEN 1500 ELSE i END)) FROM generate_series(1, 30) i;
SELECT indextable.create('wide_k', 'wide', '{k}', include => '{v}', populate => false) \gset
CREATE VIEW wide_key AS SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'wide_k'::regclass;
SELECT * FROM wide_key;
CALL indextable.build('wide_k', 10);
SELECT * FROM wide_key;
CALL pg_temp.compare('wide_k', 'SELECT doc ->> ''k'', id, doc ->> ''v'' FROM wide');
UPDATE wide SET doc = doc || '{"v": "short"}' WHERE id = 15;
CALL indextable.rebuild('wide_k', 10);
SELECT * FROM wide_key;
INSERT INTO wide VALUES (31, jsonb_build_object('k', 'late', 'v', noise(3000)));
CALL indextable.rebuild('wide_k', 10);
SELECT * FROM wide_key;
CALL pg_temp.compare('wide_k', 'SELECT doc ->> ''k'', id, doc ->> ''v'' FROM wide');
-- with row security, which the owner is not exempt from
CREATE TABLE own (id int PRIMARY KEY, doc jsonb);
INSERT INTO own SELECT g, jsonb_build_object('k', g) FROM generate_series(1, 10) g;
GRANT CREATE ON SCHEMA building TO building_other;
ALTER TABLE own OWNER TO building_other;
ALTER TABLE own ENABLE ROW LEVEL SECURITY;
ALTER TABLE own FORCE ROW LEVEL SECURITY;
SET ROLE building_other;
SELECT indextable.create('own_k', 'own', '{k}', populate => false) \gset
CALL indextable.build('own_k', 3);
RESET ROLE;
CALL pg_temp.compare('own_k', 'SELECT doc ->> ''k'', id FROM own');
DROP OWNED BY building_other;
DROP ROLE building_other;
-- ---- a primary key of one column, of two, and in descending order
CREATE TABLE one (id int PRIMARY KEY, doc jsonb);
INSERT INTO one SELECT g, jsonb_build_object('k', g) FROM generate_series(1, 20) g;
SELECT indextable.create('one_k', 'one', '{k::int}', populate => false) \gset
CALL indextable.build('one_k', 3);
CALL indextable.rebuild('one_k', 3);
CALL pg_temp.compare('one_k', 'SELECT (doc ->> ''k'')::int, id FROM one');
CREATE TABLE down (r int NOT NULL, id int NOT NULL, doc jsonb) PARTITION BY LIST (r);
CREATE TABLE down_1 PARTITION OF down FOR VALUES IN (1);
CREATE TABLE down_2 PARTITION OF down FOR VALUES IN (2);
CREATE UNIQUE INDEX ON down_1 (r, id DESC);
CREATE UNIQUE INDEX ON down_2 (r DESC, id DESC NULLS LAST);
INSERT INTO down SELECT 1 + g % 2, g, jsonb_build_object('k', g) FROM generate_series(1, 20) g;
SELECT indextable.create('down_k', 'down', '{k::int}', primary_key => '{r,id}', populate => false) \gset
CALL indextable.build('down_k', 3);
CALL pg_temp.compare('down_k', 'SELECT (doc ->> ''k'')::int, r, id FROM down');
CREATE TABLE down_one (id text NOT NULL, doc jsonb) PARTITION BY HASH (id);
CREATE TABLE down_one_1 PARTITION OF down_one FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE UNIQUE INDEX ON down_one_1 (id DESC);
INSERT INTO down_one SELECT g, jsonb_build_object('k', g) FROM generate_series(1, 20) g;
SELECT indextable.create('down_one_k', 'down_one', '{k::int}', primary_key => '{id}', populate => false) \gset
CALL indextable.build('down_one_k', 3);
CALL pg_temp.compare('down_one_k', 'SELECT (doc ->> ''k'')::int, id FROM down_one');

-- ---- small partitions share a batch, which is one subtransaction for its entries
CREATE TABLE small (id int PRIMARY KEY, doc jsonb) PARTITION BY HASH (id);
SELECT format('CREATE TABLE small_%1$s PARTITION OF small FOR VALUES WITH (MODULUS 20, REMAINDER %1$s)', g) FROM generate_series(0, 19) g \gexec
CREATE INDEX ON small_7 (id DESC);
INSERT INTO small SELECT g, jsonb_build_object('k', g) FROM generate_series(1, 400) g;
SELECT indextable.create('small_k', 'small', '{k::int}', partitions => 3, populate => false) \gset
CALL indextable.build('small_k');
SELECT count(DISTINCT xmin::text) AS batches FROM small_k;
CALL pg_temp.compare('small_k', 'SELECT (doc ->> ''k'')::int, id FROM small');
-- some of them, and parts of them
CALL indextable.rebuild('small_k', 390);
SELECT count(DISTINCT xmin::text) BETWEEN 5 AND 15 AS few_batches FROM small_k;
CALL pg_temp.compare('small_k', 'SELECT (doc ->> ''k'')::int, id FROM small');
CALL indextable.rebuild('small_k', 15);
CALL pg_temp.compare('small_k', 'SELECT (doc ->> ''k'')::int, id FROM small');
DROP TABLE small;

-- ---- all rows are read at once, and the entries take the place of the contents, or in batches
CREATE TABLE once (id int PRIMARY KEY, doc jsonb);
INSERT INTO once SELECT g, jsonb_build_object('k', g % 9) FROM generate_series(1, 40) g;
\echo all rows at once, in a table of its own
SELECT indextable.create('once_k', 'once', '{k::int}', populate => false) \gset
UPDATE once SET doc = doc || '{"new": true}' WHERE id = 5;
SELECT pg_relation_filenode('once_k') AS file \gset
CALL indextable.build('once_k');
SELECT pg_relation_filenode('once_k') <> :file AS at_once;
CALL pg_temp.compare('once_k', 'SELECT (doc ->> ''k'')::int, id FROM once');
SELECT indextable.drop('once_k') \gset
\echo as fast as possible
SELECT indextable.create('once_k', 'once', '{k::int}', populate => false) \gset
UPDATE once SET doc = doc || '{"new": true}' WHERE id = 5;
SELECT pg_relation_filenode('once_k') AS file \gset
CALL indextable.build('once_k', pause => '0');
SELECT pg_relation_filenode('once_k') <> :file AS at_once;
CALL pg_temp.compare('once_k', 'SELECT (doc ->> ''k'')::int, id FROM once');
SELECT indextable.drop('once_k') \gset
\echo in batches: of a given size
SELECT indextable.create('once_k', 'once', '{k::int}', populate => false) \gset
UPDATE once SET doc = doc || '{"new": true}' WHERE id = 5;
SELECT pg_relation_filenode('once_k') AS file \gset
CALL indextable.build('once_k', batch_size => 7);
SELECT pg_relation_filenode('once_k') <> :file AS at_once;
CALL pg_temp.compare('once_k', 'SELECT (doc ->> ''k'')::int, id FROM once');
SELECT indextable.drop('once_k') \gset
\echo with a pause
SELECT indextable.create('once_k', 'once', '{k::int}', populate => false) \gset
UPDATE once SET doc = doc || '{"new": true}' WHERE id = 5;
SELECT pg_relation_filenode('once_k') AS file \gset
CALL indextable.build('once_k', pause => '1us');
SELECT pg_relation_filenode('once_k') <> :file AS at_once;
CALL pg_temp.compare('once_k', 'SELECT (doc ->> ''k'')::int, id FROM once');
SELECT indextable.drop('once_k') \gset
\echo of an index table that is published
SELECT indextable.create('once_k', 'once', '{k::int}', populate => false) \gset
SET client_min_messages = error;
CREATE PUBLICATION once_p FOR TABLE once_k;
RESET client_min_messages;
UPDATE once SET doc = doc || '{"new": true}' WHERE id = 5;
SELECT pg_relation_filenode('once_k') AS file \gset
CALL indextable.build('once_k');
SELECT pg_relation_filenode('once_k') <> :file AS at_once;
CALL pg_temp.compare('once_k', 'SELECT (doc ->> ''k'')::int, id FROM once');
DROP PUBLICATION once_p;
SELECT indextable.drop('once_k') \gset
\echo beside another asynchronous one
SELECT indextable.create('once_k', 'once', '{k::int}', populate => false) \gset
SELECT indextable.create('once_a', 'once', '{k}', maintenance => 'async') \gset
UPDATE once SET doc = doc || '{"new": true}' WHERE id = 5;
SELECT pg_relation_filenode('once_k') AS file \gset
CALL indextable.build('once_k');
SELECT pg_relation_filenode('once_k') <> :file AS at_once;
CALL pg_temp.compare('once_k', 'SELECT (doc ->> ''k'')::int, id FROM once');
SELECT indextable.drop('once_a') \gset
SELECT indextable.drop('once_k') \gset
\echo with a row that is rejected
SELECT indextable.create('once_k', 'once', '{k::int}', populate => false) \gset
INSERT INTO once VALUES (0, '{"k": "x"}');
UPDATE once SET doc = doc || '{"new": true}' WHERE id = 5;
SELECT pg_relation_filenode('once_k') AS file \gset
CALL indextable.build('once_k');
SELECT pg_relation_filenode('once_k') <> :file AS at_once;
SELECT primary_key FROM indextable.rejected;
DELETE FROM once WHERE id = 0;
CALL indextable.build('once_k');
CALL pg_temp.compare('once_k', 'SELECT (doc ->> ''k'')::int, id FROM once');
SELECT indextable.drop('once_k') \gset
-- indexes of its owner, a column that was dropped, entries that do not fit into an index with all that is included, elements, partitions
ALTER TABLE once ADD COLUMN long text;
UPDATE once SET long = (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 300) i), doc = doc || jsonb_build_object('tags', jsonb_build_array(id, id % 3, 'x'));
SELECT indextable.create('once_k', 'once', '{k::int}', include => '{@long}', populate => false),
	indextable.create('once_t', 'once', '{tags[*]}', populate => false) \gset
CREATE INDEX once_id ON once_k (id DESC) WHERE k > 3;
ALTER TABLE once_k ADD COLUMN own int;
ALTER TABLE once_k DROP COLUMN own;
CALL indextable.build('once_k');
CALL indextable.build('once_t');
CALL indextable.rebuild('once_t');
CALL indextable.rebuild('once_k');
SELECT indexrelid::regclass, indnatts, indisvalid FROM pg_index WHERE indrelid IN ('once_k'::regclass, 'once_t'::regclass) ORDER BY 1;
SELECT relname FROM pg_class WHERE oid IN (SELECT reltoastrelid FROM pg_class WHERE oid = 'once_k'::regclass) AND relname <> 'pg_toast_' || 'once_k'::regclass::oid;
CALL pg_temp.no_rows('indextable.verify(''once_k'')');
CALL pg_temp.no_rows('indextable.verify(''once_t'')');
CALL pg_temp.compare('once_k', 'SELECT (doc ->> ''k'')::int, id, long FROM once');
CALL pg_temp.compare('once_t', 'SELECT t, id FROM once, jsonb_array_elements_text(doc -> ''tags'') t');
DROP TABLE once;

-- ---- a pause may be longer than a latch waits
SELECT indextable.create('one_paused', 'one', '{k}', populate => false) \gset
\set VERBOSITY terse
SET statement_timeout = '1s';
CALL indextable.build('one_paused', 1, '1 month');
RESET statement_timeout;
\set VERBOSITY default
CALL indextable.build('one_paused');
CALL pg_temp.compare('one_paused', 'SELECT doc ->> ''k'', id FROM one');
-- and overflow
CALL indextable.rebuild('one_paused', 100, '2562047788 hours 178000000 years');
CALL indextable.rebuild('one_paused', 100, '-2562047788 hours -178000000 years');

\set VERBOSITY terse
DROP SCHEMA building CASCADE;
SELECT count(*) FROM indextable_internal.build;
CALL pg_temp.no_rows('pg_temp.leftovers()');
