-- verify() finds what was damaged behind the back of an index table, and nothing
-- else; repair() mends it.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA verifying;
SET search_path = verifying;
-- writes index tables, whose guards then keep quiet
CREATE PROCEDURE damage(VARIADIC statements text[]) SET session_replication_role = replica LANGUAGE plpgsql AS $$
DECLARE s text; BEGIN FOREACH s IN ARRAY statements LOOP EXECUTE s; END LOOP; END $$;
CREATE TABLE doc (a int, b text, doc jsonb, note text, PRIMARY KEY (a, b));
INSERT INTO doc SELECT g, 'b' || g % 3, jsonb_build_object('k', 'k' || g % 4, 'n', g, 'v', 'v' || g, 'u', 'u' || g, 'tags', jsonb_build_array(g % 3, g % 5, 10)), 'note ' || g
	FROM generate_series(1, 12) g;
INSERT INTO doc VALUES (0, 'no keys', '{"x": 1}');
SELECT indextable.create('norm', 'doc', '{k}') \gset
SELECT indextable.create('part', 'doc', '{k,n::int}', include => '{v,@note,x::numeric}') \gset
SELECT indextable.create('deno', 'doc', '{n::int}', 'denormalized') \gset
SELECT indextable.create('tags', 'doc', '{tags[*]::int AS tag}', include => '{n::int}') \gset
SELECT indextable.create('uniq', 'doc', '{u}', include => '{n::int}', is_unique => true) \gset
SELECT indextable.create('filt', 'doc', '{k}', filter => 'doc -> ''n'' > ''6''') \gset
SELECT indextable.create('asyn', 'doc', '{k}', include => '{v}', maintenance => 'async') \gset
SELECT indextable.create('asyn_tags', 'doc', '{tags[*]::int AS tag}', maintenance => 'async') \gset
CREATE FUNCTION differences() RETURNS TABLE (index_table text, side text, entry text) LANGUAGE sql AS $$
	SELECT t, d.* FROM (VALUES
		('norm', 'SELECT doc ->> ''k'', a, b FROM doc'),
		('part', 'SELECT doc ->> ''k'', (doc ->> ''n'')::int, a, b, doc ->> ''v'', note, (doc ->> ''x'')::numeric FROM doc'),
		('deno', 'SELECT (doc ->> ''n'')::int, a, b, doc FROM doc'),
		('tags', 'SELECT DISTINCT t::int, a, b, (doc ->> ''n'')::int FROM doc, jsonb_array_elements_text(doc -> ''tags'') t'),
		('uniq', 'SELECT doc ->> ''u'', a, b, (doc ->> ''n'')::int FROM doc WHERE doc ->> ''u'' IS NOT NULL'),
		('filt', 'SELECT doc ->> ''k'', a, b FROM doc WHERE doc -> ''n'' > ''6'''),
		('asyn', 'SELECT doc ->> ''k'', a, b, doc ->> ''v'' FROM doc'),
		('asyn_tags', 'SELECT DISTINCT t::int, a, b FROM doc, jsonb_array_elements_text(doc -> ''tags'') t')) v(t, recompute),
		pg_temp.oracle(t, recompute) d
$$;
CREATE FUNCTION all_wrong() RETURNS TABLE (index_table text, kind text, n bigint) LANGUAGE sql AS $$
	SELECT i.index_table::text, v.kind, count(*) FROM indextable.index_tables i, indextable.verify(i.index_table) v
	WHERE i.fact_table = 'doc'::regclass GROUP BY 1, 2 ORDER BY 1, 2
$$;
CALL pg_temp.no_rows('all_wrong()');

-- ---- entries: deleted, altered (included fields, key, row), invented (of a row, of none)
CALL damage('DELETE FROM norm WHERE a = 1', 'UPDATE norm SET k = ''other'' WHERE a = 2', 'UPDATE norm SET b = ''gone'' WHERE a = 3',
	'UPDATE norm SET a = 5, b = ''b2'', k = ''k0'' WHERE a = 4', 'INSERT INTO norm VALUES (''new'', 6, ''b0''), (''k1'', 99, ''none''), (''x'', 0, ''no keys'')');
SELECT * FROM indextable.verify('norm');
CALL indextable.repair('norm');
SELECT * FROM indextable.verify('norm');
CALL damage('DELETE FROM part WHERE a = 1', 'UPDATE part SET v = ''other'' WHERE a = 2', 'UPDATE part SET note = NULL WHERE a = 3', 'UPDATE part SET x = 0 WHERE a = 4',
	'UPDATE part SET n = -5 WHERE a = 5', 'UPDATE part SET b = ''gone'' WHERE a = 6', 'INSERT INTO part VALUES (''k'', 1, 7, ''b1'', ''v7'', ''note 7'')');
SELECT * FROM indextable.verify('part');
CALL indextable.repair('part', 1);
SELECT * FROM indextable.verify('part');
CALL damage('DELETE FROM deno WHERE a = 1', 'UPDATE deno SET doc = doc || ''{"v": "other", "more": [{"y": null}]}'' WHERE a = 2', 'UPDATE deno SET doc = NULL WHERE a = 3',
	'UPDATE deno SET n = n + 100 WHERE a = 4', 'INSERT INTO deno SELECT n, 99, ''gone'', doc FROM deno WHERE a = 5');
SELECT kind, key, primary_key, expected -> 'doc' ->> 'v' AS expected, found, problem FROM indextable.verify('deno');
CALL indextable.repair('deno', 3);
SELECT * FROM indextable.verify('deno');
CALL damage('DELETE FROM tags WHERE a = 1', 'DELETE FROM tags WHERE a = 2 AND tag = 10', 'UPDATE tags SET n = 0 WHERE a = 3 AND tag = 10', 'UPDATE tags SET tag = 11 WHERE a = 4 AND tag = 10',
	'INSERT INTO tags SELECT g, 5, ''b2'', 5, 1 FROM generate_series(100, 102) g', 'UPDATE tags SET b = ''gone'' WHERE a = 6');
SELECT * FROM indextable.verify('tags');
CALL indextable.repair('tags', 2);
SELECT * FROM indextable.verify('tags');
CALL damage('DELETE FROM uniq WHERE a = 1', 'UPDATE uniq SET n = 0 WHERE a = 2', 'UPDATE uniq SET u = ''other'' WHERE a = 3', 'DELETE FROM uniq WHERE a = 4', 'INSERT INTO uniq VALUES (''u'', 0, ''no keys''), (''gone'', 99, ''none'')');
SELECT * FROM indextable.verify('uniq');
CALL indextable.repair('uniq');
SELECT * FROM indextable.verify('uniq');
-- keys in each other's way
CALL damage('UPDATE uniq SET a = 99 WHERE a = 7', 'UPDATE uniq SET a = 100 WHERE a = 1', 'UPDATE uniq SET a = 1, b = ''b1'' WHERE a = 2', 'UPDATE uniq SET a = 2, b = ''b2'' WHERE a = 100',
	'UPDATE uniq SET u = ''x'' WHERE a = 3', 'UPDATE uniq SET u = ''u3'' WHERE a = 4', 'UPDATE uniq SET u = ''u4'' WHERE a = 5', 'UPDATE uniq SET a = 6, b = ''b0'' WHERE u = ''x''');
SELECT * FROM indextable.verify('uniq');
CALL indextable.repair('uniq', 1);
SELECT * FROM indextable.verify('uniq');
CALL damage('DELETE FROM filt WHERE a = 7', 'INSERT INTO filt VALUES (''k1'', 1, ''b1''), (''k3'', 99, ''none'')', 'UPDATE filt SET k = ''k'' WHERE a = 8');
SELECT * FROM indextable.verify('filt');
CALL indextable.repair('filt');
SELECT * FROM indextable.verify('filt');
CALL damage('DELETE FROM asyn WHERE a = 1', 'UPDATE asyn SET v = ''other'' WHERE a = 2', 'UPDATE asyn SET k = ''other'' WHERE a = 3', 'UPDATE asyn SET b = ''gone'' WHERE a = 4', 'INSERT INTO asyn VALUES (''x'', 0, ''no keys'', ''x'')');
SELECT * FROM indextable.verify('asyn');
CALL indextable.repair('asyn', 1);
SELECT * FROM indextable.verify('asyn');
CALL damage('DELETE FROM asyn_tags WHERE tag = 10 AND a < 3', 'UPDATE asyn_tags SET tag = 11 WHERE a = 3 AND tag = 10', 'INSERT INTO asyn_tags VALUES (0, 99, ''none'', 1)');
SELECT * FROM indextable.verify('asyn_tags');
CALL indextable.repair('asyn_tags');
CALL pg_temp.no_rows('all_wrong()');
CALL pg_temp.no_rows('differences()');
-- everything is gone
CALL damage('DELETE FROM norm', 'DELETE FROM uniq', 'DELETE FROM asyn', 'TRUNCATE deno');
SELECT * FROM all_wrong();
CALL indextable.repair('norm', 5);
CALL indextable.repair('uniq', 5);
CALL indextable.repair('asyn', 5);
CALL indextable.repair('deno', 5);
CALL pg_temp.no_rows('all_wrong()');
CALL pg_temp.no_rows('differences()');
-- nothing to mend
CALL indextable.repair('norm');
CALL indextable.repair(index_table => 'asyn', batch_size => NULL);

-- ---- in a transaction block: all or nothing
CALL damage('DELETE FROM tags WHERE a < 4', 'INSERT INTO tags VALUES (0, 99, ''none'', 1, 1)', 'DELETE FROM asyn WHERE a = 1');
BEGIN;
UPDATE doc SET doc = doc || '{"tags": [1, 50]}' WHERE a = 1;
SELECT * FROM indextable.verify('tags');
CALL indextable.repair('tags', 2);
SELECT * FROM indextable.verify('tags');
CALL indextable.repair('asyn');
SELECT * FROM indextable.verify('asyn');
ROLLBACK;
SELECT * FROM all_wrong();
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM doc;
CALL indextable.repair('tags');
CALL indextable.repair('asyn');
SAVEPOINT s;
INSERT INTO doc VALUES (13, 'in', '{"tags": [1], "k": "k"}');
SELECT * FROM indextable.verify('tags');
ROLLBACK TO s;
COMMIT;
CALL pg_temp.no_rows('all_wrong()');
DO $$ DECLARE missing bigint; dangling bigint; stale bigint; remaining bigint; BEGIN
	CALL verifying.damage('DELETE FROM verifying.norm WHERE a <= 2');
	CALL indextable.repair('verifying.norm', 1, missing, dangling, stale, remaining);
	RAISE NOTICE '% % % %', missing, dangling, stale, remaining;
END $$;
CALL pg_temp.no_rows('all_wrong()');
CALL pg_temp.no_rows('differences()');

-- ---- the fact table was written while a trigger did not fire
SET client_min_messages = error;    -- that they are invalid
ALTER TABLE doc DISABLE TRIGGER indextable_row;
RESET client_min_messages;
INSERT INTO doc VALUES (20, 'new', '{"k": "k", "n": 20, "v": "v", "u": "u20", "tags": [1]}', 'new');
UPDATE doc SET doc = doc || '{"v": "changed", "u": "u21", "tags": [21, 10]}' WHERE a = 2;
UPDATE doc SET b = 'moved' WHERE a = 3;
UPDATE doc SET doc = doc || '{"n": 0}' WHERE a = 7;
DELETE FROM doc WHERE a = 4;
SELECT * FROM indextable.verify('norm');
SELECT * FROM indextable.verify('part');
SELECT * FROM indextable.verify('uniq');
SELECT * FROM indextable.verify('asyn');
SELECT * FROM all_wrong();
SELECT index_table, state FROM indextable.index_tables ORDER BY index_table::text;
SELECT indextable.lookup('norm', '{"k": "k"}');
CALL indextable.repair('norm');
SELECT * FROM indextable.verify('norm');
SELECT indextable.lookup('norm', '{"k": "k"}');
SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid = 'doc'::regclass ORDER BY tgname;
SELECT index_table, state FROM indextable.index_tables ORDER BY index_table::text;
SELECT kind, problem FROM indextable.verify('part') WHERE kind = 'setup';
-- the others are kept in step from here on, too, but wait for their turn
INSERT INTO doc VALUES (21, 'after', '{"k": "k", "n": 21, "v": "v", "u": "after", "tags": [1]}', 'after');
SELECT * FROM indextable.verify('part') WHERE primary_key -> 'a' = '21';
CALL indextable.repair('part');
CALL indextable.repair('deno');
CALL indextable.repair('tags');
CALL indextable.repair('uniq');
CALL indextable.repair('filt');
CALL indextable.repair('asyn');
CALL indextable.repair('asyn_tags');
CALL pg_temp.no_rows('all_wrong()');
CALL pg_temp.no_rows('differences()');
SELECT state, count(*) FROM indextable.index_tables GROUP BY state;
-- dropped triggers
SET client_min_messages = error;    -- that they are invalid
DROP TRIGGER indextable_end ON doc;
DROP TRIGGER indextable_truncate ON doc;
RESET client_min_messages;
SELECT * FROM all_wrong();
BEGIN;
CALL indextable.repair('filt');
SELECT * FROM indextable.verify('filt');
ROLLBACK;
SELECT * FROM indextable.verify('filt');
TRUNCATE doc;
SELECT kind, count(*) FROM indextable.verify('filt') GROUP BY kind ORDER BY kind;
DO $$ DECLARE t regclass; BEGIN FOR t IN SELECT index_table FROM indextable.index_tables LOOP EXECUTE format('CALL indextable.repair(%L)', t); END LOOP; END $$;
CALL pg_temp.no_rows('all_wrong()');
CALL pg_temp.no_rows('differences()');
SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid = 'doc'::regclass ORDER BY tgname;
SELECT state, count(*) FROM indextable.index_tables GROUP BY state;

-- ---- guards: dropped, disabled
INSERT INTO doc VALUES (1, 'x', '{"k": "k", "n": 1, "u": "u"}');
SELECT indextable.drain('doc');
\set VERBOSITY terse
DROP TRIGGER indextable_guard ON norm;
ALTER TABLE part DISABLE TRIGGER indextable_guard_row;
ALTER TABLE deno DISABLE TRIGGER USER;
ALTER TABLE asyn DISABLE TRIGGER indextable_guard;
\set VERBOSITY default
DELETE FROM deno;
SELECT index_table, v.* FROM indextable.index_tables, indextable.verify(index_table) v ORDER BY index_table::text, problem;
CALL indextable.repair('norm');
CALL indextable.repair('part');
CALL indextable.repair('deno');
CALL indextable.repair('asyn');
CALL pg_temp.no_rows('all_wrong()');
DELETE FROM norm;
DELETE FROM deno;
SELECT tgrelid::regclass, tgname, tgenabled FROM pg_trigger WHERE tgname LIKE 'indextable\_guard%' ORDER BY tgrelid::regclass::text COLLATE "C", tgname;

-- ---- what is queued is not wrong yet, and is not repaired
SELECT indextable.create('asyn_m', 'doc', '{m[*]::int AS m}', maintenance => 'async') \gset
INSERT INTO doc SELECT g, 'q', jsonb_build_object('n', g, 'k', 'k', 'u', 'q' || g, 'tags', jsonb_build_array(g)) FROM generate_series(31, 34) g;
DELETE FROM doc WHERE a = 1;
UPDATE doc SET b = 'r' WHERE a = 32;
CALL damage('INSERT INTO asyn VALUES (''wrong'', 31, ''q'', NULL), (''wrong'', 32, ''q'', NULL), (''wrong'', 35, ''q'', NULL)');
SELECT * FROM indextable.verify('asyn');
SELECT * FROM all_wrong();
SELECT indextable.drain('doc');
SELECT * FROM indextable.verify('asyn');
CALL indextable.repair('asyn');
CALL pg_temp.no_rows('all_wrong()');
-- rejected rows: what they have in spite of it is wrong
INSERT INTO doc VALUES (36, 'bad', '{"k": "k", "m": [1, "x"]}'), (37, 'good', '{"k": "k", "m": [37]}');
SELECT * FROM indextable.verify('asyn_m');
SELECT indextable.drain('doc');
SELECT * FROM indextable.verify('asyn_m');
CALL indextable.repair('asyn_m');
SELECT index_table, primary_key, attempts FROM indextable.rejected;
TABLE asyn_m;
CALL damage('INSERT INTO asyn_m VALUES (36, 36, ''bad'', 1)', 'DELETE FROM asyn_m WHERE a = 37');
SELECT * FROM indextable.verify('asyn_m');
CALL indextable.repair('asyn_m');
TABLE asyn_m ORDER BY a, m;
SELECT * FROM indextable.verify('asyn_m');
DELETE FROM doc WHERE a = 36;
SELECT indextable.drain('doc');
CALL pg_temp.no_rows('all_wrong()');
-- a transactional one has them when its triggers did not fire
SET client_min_messages = error;
ALTER TABLE doc DISABLE TRIGGER indextable_row;
RESET client_min_messages;
INSERT INTO doc VALUES (38, 'bad', '{"k": "k", "n": "many"}');
SELECT kind, primary_key, problem FROM indextable.verify('part') WHERE kind <> 'setup';
CALL indextable.repair('part');
SELECT kind, primary_key, problem FROM indextable.verify('part');
DELETE FROM doc WHERE a = 38;
DO $$ DECLARE t regclass; BEGIN FOR t IN SELECT index_table FROM indextable.index_tables LOOP EXECUTE format('CALL indextable.repair(%L)', t); END LOOP; END $$;
CALL pg_temp.no_rows('all_wrong()');
CALL pg_temp.no_rows('differences()');
DROP TABLE doc;

-- ---- values: equal is not the same; long, null
CREATE TABLE vals (id numeric PRIMARY KEY, doc jsonb, t text);
INSERT INTO vals VALUES (1.0, '{"n": 1.0, "k": "x"}', NULL), (2, jsonb_build_object('n', 2, 'k', (SELECT string_agg(md5(g::text), '') FROM generate_series(1, 500) g)), repeat('long', 5000)), (3, '{"n": null}', NULL);
SELECT indextable.create('vals_n', 'vals', '{n::numeric}', include => '{k,@t}') \gset
SELECT indextable.create('vals_d', 'vals', '{n::numeric}', 'denormalized') \gset
SELECT * FROM indextable.verify('vals_n');
SELECT * FROM indextable.verify('vals_d');
CALL damage('UPDATE vals_n SET n = 1.00 WHERE id = 1', 'UPDATE vals_d SET id = 1.000 WHERE id = 1', 'UPDATE vals_n SET t = t || '' '' WHERE id = 2', 'UPDATE vals_d SET doc = doc || ''{"n": 2.0}'' WHERE id = 2');
SELECT kind, key, primary_key, expected ->> 'k' = found ->> 'k' AS k, length(expected ->> 't') AS expected, length(found ->> 't') AS found FROM indextable.verify('vals_n');
SELECT kind, key, primary_key, expected -> 'doc' -> 'n' AS expected, found -> 'doc' -> 'n' AS found FROM indextable.verify('vals_d');
CALL indextable.repair('vals_n');
CALL indextable.repair('vals_d');
SELECT * FROM indextable.verify('vals_n');
SELECT * FROM indextable.verify('vals_d');
CALL pg_temp.compare('vals_n', 'SELECT (doc ->> ''n'')::numeric, id, doc ->> ''k'', t FROM vals');
CALL pg_temp.compare('vals_d', 'SELECT (doc ->> ''n'')::numeric, id, doc FROM vals');
-- values that are stored otherwise are not wrong
ALTER TABLE vals ALTER doc SET STORAGE EXTERNAL;
UPDATE vals SET doc = doc || '{"n": 3}' WHERE id = 2;
ALTER TABLE vals ALTER doc SET STORAGE EXTENDED, ALTER t SET STORAGE EXTERNAL;
UPDATE vals SET t = t || 'er' WHERE id = 2;
SELECT * FROM indextable.verify('vals_n');
SELECT * FROM indextable.verify('vals_d');
-- many, in several batches
INSERT INTO vals SELECT g, jsonb_build_object('n', g, 'k', 'k') FROM generate_series(10, 5009) g;
CALL damage('DELETE FROM vals_n WHERE id % 3 = 0', 'UPDATE vals_n SET k = ''l'' WHERE id % 3 = 1', 'INSERT INTO vals_n SELECT n, -id, k FROM vals_n WHERE id % 3 = 2');
SELECT kind, count(*) FROM indextable.verify('vals_n') GROUP BY kind ORDER BY kind;
CALL indextable.repair('vals_n', 100);
SELECT * FROM indextable.verify('vals_n');
CALL pg_temp.compare('vals_n', 'SELECT (doc ->> ''n'')::numeric, id, doc ->> ''k'', t FROM vals');
DROP TABLE vals;
CREATE TABLE pairs (id uuid PRIMARY KEY, doc jsonb);
SELECT indextable.create('pairs_k', 'pairs', '{k}') \gset
SELECT * FROM indextable.verify('pairs_k');
CALL damage('INSERT INTO pairs_k VALUES (''k'', ''00000000-0000-0000-0000-000000000001'')');
SELECT * FROM indextable.verify('pairs_k');
CALL indextable.repair('pairs_k');
SELECT * FROM indextable.verify('pairs_k');
-- on_mismatch => 'skip': nothing is missing
SELECT indextable.create('pairs_skip', 'pairs', '{n::int}', on_mismatch => 'skip') \gset
INSERT INTO pairs VALUES ('00000000-0000-0000-0000-000000000002', '{"k": "k", "n": "x"}'), ('00000000-0000-0000-0000-000000000003', '{"n": 3}');
SELECT * FROM indextable.verify('pairs_skip');
CALL damage('INSERT INTO pairs_skip VALUES (2, ''00000000-0000-0000-0000-000000000002'')', 'DELETE FROM pairs_skip WHERE n = 3');
SELECT * FROM indextable.verify('pairs_skip');
CALL indextable.repair('pairs_skip');
SELECT * FROM indextable.verify('pairs_skip');
TABLE pairs_skip;

-- ---- who may, and what it can be called with
CREATE ROLE verifying_owner;
CREATE ROLE verifying_reader;
GRANT USAGE, CREATE ON SCHEMA verifying TO verifying_owner;
GRANT USAGE ON SCHEMA verifying TO verifying_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA verifying TO verifying_reader, verifying_owner;
SET ROLE verifying_reader;
SELECT * FROM indextable.verify('pairs_k');
CALL indextable.repair('pairs_k');
SELECT * FROM indextable.verify('pairs');
RESET ROLE;
SET ROLE verifying_owner;
CREATE TABLE own (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('own_k', 'own', '{k}') \gset
INSERT INTO own VALUES (1, '{"k": "1"}'), (2, '{"k": "2"}');
RESET ROLE;
-- whom row security does not keep from it
ALTER TABLE own ENABLE ROW LEVEL SECURITY;
ALTER TABLE own FORCE ROW LEVEL SECURITY;
CALL damage('DELETE FROM own_k WHERE id = 1', 'INSERT INTO own_k VALUES (''3'', 3)');
SET ROLE verifying_owner;
SELECT * FROM own;
SELECT * FROM indextable.verify('own_k');
CALL indextable.repair('own_k');
SELECT * FROM indextable.verify('own_k');
RESET ROLE;
\set VERBOSITY terse
ALTER TABLE own DISABLE TRIGGER indextable_row;
\set VERBOSITY default
DELETE FROM own WHERE id = 1;
SET ROLE verifying_owner;
CALL indextable.repair('own_k');
SELECT * FROM indextable.verify('own_k');
TABLE own_k;
RESET ROLE;
SELECT * FROM indextable.verify(NULL);
SELECT * FROM indextable.verify('pairs');
SELECT * FROM indextable.verify(0);
CALL indextable.repair(NULL);
CALL indextable.repair('pairs');
CALL indextable.repair(0);
CALL indextable.repair('pairs_k', 0);
CALL indextable.repair('pairs_k', -1);
CALL indextable.repair('pairs_k', 2147483647);

-- ---- the setup: all that verify() reports is mended, or SQL is shown that does; each text names SQL that can be run
\set VERBOSITY default
CREATE SCHEMA "Set""up";
SET search_path = "Set""up";
CREATE TABLE "Fact" (id int PRIMARY KEY, doc jsonb);
INSERT INTO "Fact" SELECT g, jsonb_build_object('k', 'k' || g % 4, 'v', repeat('x', g)) FROM generate_series(1, 20) g;
SELECT indextable.create('"By k"', '"Fact"', '{k}', include => '{v}'), indextable.create('asyn', '"Fact"', '{k}', include => '{v}', maintenance => 'async'),
	indextable.create('later', '"Fact"', '{v}', populate => false) \gset
CREATE PROCEDURE damage_setup(VARIADIC statements text[]) SET session_replication_role = replica LANGUAGE plpgsql AS $$
DECLARE s text; BEGIN FOREACH s IN ARRAY statements LOOP EXECUTE s; END LOOP; END $$;
CREATE FUNCTION found() RETURNS TABLE (kind text, problem text, in_table regclass) LANGUAGE sql AS $$ SELECT kind, problem, in_table FROM indextable.verify('"Set""up"."Fact"') WHERE kind = 'setup' $$;
SELECT * FROM found();
SELECT rtrim(substring(problem FROM 'run (.*)$'), '.') FROM found() LIMIT 1 \gexec
SELECT * FROM found();
SELECT problem AS told, in_table FROM indextable.verify('asyn');
CALL damage_setup('ALTER TABLE "By k" DROP CONSTRAINT "By k_k_id_v_key"', 'DELETE FROM "By k" WHERE id = 3');
INSERT INTO "Fact" VALUES (21, '{"k": "k21"}');
SELECT * FROM found();
SELECT DISTINCT rtrim(substring(problem FROM 'run (.*)$'), '.') FROM found() \gexec
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = '"By k"'::regclass;
CALL damage_setup('ALTER TABLE "By k" DROP CONSTRAINT "By k_k_id_v_key"', 'DROP INDEX asyn_row_idx', 'ALTER TABLE asyn SET UNLOGGED', 'ALTER TABLE asyn OWNER TO verifying_owner',
	'ALTER TABLE "Fact" DISABLE TRIGGER ALL', 'DROP TRIGGER indextable_guard ON later');
INSERT INTO "Fact" VALUES (22, jsonb_build_object('k', 'k22', 'v', (SELECT string_agg(md5(g::text), '') FROM generate_series(1, 100) g)));
CALL indextable.repair('"Fact"');
SELECT * FROM found();
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid IN ('"By k"'::regclass, 'asyn'::regclass) ORDER BY 1;
SELECT relname, relpersistence, relowner = (SELECT relowner FROM pg_class WHERE oid = '"Fact"'::regclass) AS same_owner FROM pg_class WHERE oid IN ('"By k"'::regclass, 'asyn'::regclass) ORDER BY 1;
CALL pg_temp.compare('"By k"', 'SELECT doc ->> ''k'', id, doc ->> ''v'' FROM "Fact"');
CALL pg_temp.compare('asyn', 'SELECT doc ->> ''k'', id, doc ->> ''v'' FROM "Fact"');
-- several at once, seen and mended one by one
CALL damage_setup('DROP INDEX asyn_row_idx', 'ALTER TABLE asyn SET UNLOGGED', 'ALTER TABLE asyn OWNER TO verifying_owner', 'ALTER TABLE "Fact" DISABLE TRIGGER indextable_row',
	'DROP TRIGGER indextable_guard ON asyn');
SELECT * FROM found();
CALL indextable.repair('asyn');
SELECT * FROM found();
-- all index tables of a fact table, in one transaction and with counts of all
CALL damage_setup('DELETE FROM "By k" WHERE id IN (1, 2)', 'DELETE FROM asyn WHERE id IN (1, 2, 3)', 'UPDATE "By k" SET v = ''wrong'' WHERE id = 5', 'UPDATE asyn SET id = 99 WHERE id = 6',
	'DELETE FROM later WHERE id = 7');
SELECT kind, count(*), in_table FROM indextable.verify('"Fact"') GROUP BY 1, 3 ORDER BY in_table::text COLLATE "C", kind;
BEGIN;
CALL indextable.repair('"Fact"', 2);
ROLLBACK;
CALL indextable.repair('"Fact"', 2);
CALL indextable.repair('"Fact"', 2);
SELECT * FROM indextable.verify('"Fact"');
-- what this transaction has changed is queued
BEGIN;
UPDATE "Fact" SET doc = doc || '{"k": "mine"}' WHERE id = 3;
SELECT * FROM indextable.verify('"Fact"');
ROLLBACK;
-- what could be put on index tables before it was refused, and has no effect when entries are written
CREATE TABLE towns (k text PRIMARY KEY);
CALL damage_setup('ALTER TABLE "By k" ADD CONSTRAINT "a key" FOREIGN KEY (k) REFERENCES towns NOT VALID',
	'CREATE TRIGGER "copies rows" AFTER INSERT OR UPDATE OR DELETE ON asyn FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()');
SELECT * FROM found();
SELECT substring(problem FROM 'run (.*)$') FROM found() \gexec
SELECT * FROM found();
GRANT USAGE ON SCHEMA "Set""up" TO verifying_owner;
SET ROLE verifying_owner;
SELECT * FROM indextable.verify('"Set""up"."Fact"');
CALL indextable.repair('"Set""up"."Fact"');
RESET ROLE;
SELECT indextable.drop('"By k"'), indextable.drop('asyn'), indextable.drop('later') \gset
SELECT * FROM indextable.verify('"Fact"');
SET search_path = verifying;
SET client_min_messages = warning;
DROP SCHEMA "Set""up" CASCADE;
RESET client_min_messages;
DROP OWNED BY verifying_owner, verifying_reader;
DROP ROLE verifying_owner, verifying_reader;
DROP SCHEMA verifying CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
