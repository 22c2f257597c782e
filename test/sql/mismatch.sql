-- Values that cannot be entries: on_mismatch => 'error' refuses the write and says
-- all there is to know; 'skip' stores the row without the entry, and counts it.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA mismatch;
SET search_path = mismatch;
SET DateStyle = 'ISO, YMD';
CREATE TABLE doc (a int, b text, doc jsonb, PRIMARY KEY (a, b));

-- ---- error
SELECT indextable.create('strict', 'doc', '{n::int}', include => '{d::date, x::int}', sparse => true) \gset
INSERT INTO doc VALUES (1, 'ok', '{"n": 1, "d": "2024-01-01", "x": 1}');
INSERT INTO doc VALUES (2, 'bad', '{"n": "many"}');
\echo :LAST_ERROR_SQLSTATE
INSERT INTO doc VALUES (2, 'bad', '{"n": 1.5}');
INSERT INTO doc VALUES (2, 'bad', '{"n": 3000000000}');
\echo :LAST_ERROR_SQLSTATE
INSERT INTO doc VALUES (2, 'bad', '{"n": {"no": "number"}}');
INSERT INTO doc VALUES (2, 'bad', '{"n": ""}');
-- included fields as well
INSERT INTO doc VALUES (2, 'bad', '{"n": 1, "d": "yesterday"}');
\echo :LAST_ERROR_SQLSTATE
INSERT INTO doc VALUES (2, 'bad', '{"n": 1, "d": "2023-02-29"}');
\echo :LAST_ERROR_SQLSTATE
INSERT INTO doc VALUES (2, 'bad', jsonb_build_object('n', 1, 'x', repeat('long ', 100)));
-- in an update, and among many rows: nothing is stored
UPDATE doc SET doc = jsonb_set(doc, '{n}', '"x"');
INSERT INTO doc SELECT i, 'many', jsonb_build_object('n', CASE WHEN i = 77 THEN 'seven' ELSE i::text END) FROM generate_series(1, 100) i;
-- a null key means no entry where it is sparse, whatever the other fields hold
INSERT INTO doc VALUES (3, 'null', '{"d": "yesterday", "x": "no number"}'), (4, 'null', '{"n": null, "x": []}');
TABLE doc;
TABLE strict;
-- a row that cannot be indexed can't be there when an index table is made
SELECT indextable.create('late', 'doc', '{d::date}');
SELECT count(*) FROM pg_class WHERE relname = 'late';
CALL pg_temp.compare('strict', $$SELECT (doc ->> 'n')::int, a, b, (doc ->> 'd')::date, (doc ->> 'x')::int FROM doc WHERE doc ->> 'n' IS NOT NULL$$);
SELECT indextable.drop('strict') \gset

-- ---- skip
TRUNCATE doc;
INSERT INTO doc VALUES (1, 'before', '{"n": "x", "tags": [1, "x", 2, "y"]}');
SELECT indextable.create('lax', 'doc', '{n::int}', include => '{d::date}', on_mismatch => 'skip') \gset
SELECT indextable.create('tags', 'doc', '{tags[*]::int AS tag}', include => '{d::date}', on_mismatch => 'skip') \gset
CREATE FUNCTION skipped() RETURNS TABLE (index_table regclass, skipped bigint) LANGUAGE sql AS
	'SELECT index_table, skipped FROM indextable.index_table_stats ORDER BY index_table::text';
SELECT * FROM skipped();
INSERT INTO doc VALUES (2, 'bad', '{"n": "many", "d": "2024-01-01"}'), (3, 'ok', '{"n": 3, "d": "2024-01-01"}');
SELECT * FROM skipped();
INSERT INTO doc VALUES (4, 'included', '{"n": 4, "d": "tomorrow"}'), (5, 'null', '{"d": "tomorrow"}');
SELECT * FROM skipped();
-- of an array, only that element
INSERT INTO doc VALUES (6, 'array', '{"tags": [10, "ten", 11, null, "eleven", 10]}');
SELECT * FROM skipped();
SELECT * FROM lax ORDER BY a;
SELECT * FROM tags ORDER BY a, tag;
-- a good value becomes bad, and a bad one good
UPDATE doc SET doc = '{"n": "three"}' WHERE a = 3;
UPDATE doc SET doc = '{"n": 2}' WHERE a = 2;
UPDATE doc SET doc = '{"n": 4, "d": "2024-04-04"}' WHERE a = 4;
UPDATE doc SET doc = '{"tags": [10, 12, "twelve"]}' WHERE a = 6;
DELETE FROM doc WHERE a = 3;
SELECT * FROM lax ORDER BY a;
SELECT * FROM tags ORDER BY a, tag;
SELECT * FROM skipped();
-- what is rolled back was not skipped
BEGIN; INSERT INTO doc VALUES (7, 'gone', '{"n": "x"}'); ROLLBACK;
SELECT * FROM skipped();
-- a value that was bad and still is, in a row that changes elsewhere: no entry, before and after
UPDATE doc SET doc = doc || '{"other": 1}' WHERE a = 1;
SELECT * FROM lax WHERE a = 1;
CALL pg_temp.compare('lax', $$SELECT (doc ->> 'n')::int, a, b, (doc ->> 'd')::date FROM doc WHERE coalesce(doc ->> 'n', '0') ~ '^[0-9]+$' AND a <> 5$$);
CALL pg_temp.compare('tags', $$SELECT DISTINCT e::int, a, b, (doc ->> 'd')::date FROM doc, jsonb_array_elements_text(doc -> 'tags') e WHERE coalesce(e, '0') ~ '^[0-9]+$'$$);
SELECT indextable.drop('lax'), indextable.drop('tags') \gset

-- ---- columns cast to a type: the same
CREATE TABLE plain (id int PRIMARY KEY, doc jsonb, name text, f float8);
SELECT indextable.create('by_name', 'plain', '{@name::int}', on_mismatch => 'skip') \gset
SELECT indextable.create('by_f', 'plain', '{k}', include => '{@f::int}', on_mismatch => 'skip') \gset
INSERT INTO plain VALUES (1, '{"k": 1}', 'abcd', 1), (2, '{"k": 2}', '12', 1e300), (3, '{"k": 3}', NULL, NULL), (4, '{"k": 4}', '14', 1.6);
SELECT * FROM by_name ORDER BY id;
SELECT * FROM by_f ORDER BY id;
SELECT * FROM skipped();
SELECT indextable.create('strict_f', 'plain', '{@f::int}');
SELECT indextable.drop('by_name'), indextable.drop('by_f') \gset
DELETE FROM plain;
SELECT indextable.create('strict_name', 'plain', '{@name::int}') \gset
INSERT INTO plain VALUES (1, '{"k": 1}', 'abcd', 1);
DROP TABLE plain;

-- ---- long keys: key and primary key have 2600 bytes together, before compression
CREATE TABLE long (id int PRIMARY KEY, doc jsonb);
CREATE FUNCTION noise(n int) RETURNS text LANGUAGE sql AS      -- does not compress
	$$SELECT left(string_agg(md5(i::text), '' ORDER BY i), n) FROM generate_series(1, n / 32 + 1) i$$;
SELECT indextable.create('key', 'long', '{k}') \gset
SELECT indextable.create('skip', 'long', '{k}', on_mismatch => 'skip') \gset
SELECT indextable.create('each', 'long', '{ks[*]}', on_mismatch => 'skip') \gset
INSERT INTO long VALUES (1, jsonb_build_object('k', noise(2596)));
INSERT INTO long VALUES (2, jsonb_build_object('k', repeat('a', 2596)));
INSERT INTO long VALUES (3, jsonb_build_object('k', repeat('é', 1298)));
INSERT INTO long VALUES (4, jsonb_build_object('k', noise(2597)));
\echo :LAST_ERROR_SQLSTATE
INSERT INTO long VALUES (4, jsonb_build_object('k', repeat('a', 2597)));
INSERT INTO long VALUES (4, jsonb_build_object('k', repeat('é', 1299)));
INSERT INTO long VALUES (4, jsonb_build_object('k', repeat('a', 1000000)));
SELECT length(k), id FROM key ORDER BY id;
SELECT id FROM indextable.lookup(NULL::long, 'key', jsonb_build_object('k', noise(2596)));
SELECT id FROM indextable.lookup(NULL::long, 'key', jsonb_build_object('k', repeat('a', 2596)));
UPDATE long SET doc = jsonb_build_object('k', noise(2595)) WHERE id = 1;
DELETE FROM long WHERE id = 2;
SELECT indextable.drop('key') \gset
INSERT INTO long VALUES (5, jsonb_build_object('k', noise(2597))), (6, jsonb_build_object('k', repeat('a', 9999))), (7, '{"k": "short"}');
INSERT INTO long VALUES (8, jsonb_build_object('ks', ARRAY['a', repeat('b', 2596), repeat('c', 2597), 'd']));
SELECT length(k), id FROM skip ORDER BY id;
SELECT left(ks, 1), length(ks), id FROM each ORDER BY 1;
SELECT * FROM skipped();
CALL pg_temp.compare('skip', $$SELECT doc ->> 'k', id FROM long WHERE coalesce(octet_length(doc ->> 'k'), 0) + 4 <= 2600$$);
-- the primary key counts
CREATE TABLE long_pk (pk text PRIMARY KEY, doc jsonb);
SELECT indextable.create('pks', 'long_pk', '{k}') \gset
INSERT INTO long_pk VALUES (repeat('p', 1300), jsonb_build_object('k', repeat('a', 1300)));
INSERT INTO long_pk VALUES (repeat('q', 1300), jsonb_build_object('k', repeat('a', 1301)));
-- even where the key alone is in a unique index
SELECT indextable.create('pks_unique', 'long_pk', '{k}', is_unique => true) \gset
INSERT INTO long_pk VALUES (repeat('q', 1300), jsonb_build_object('k', repeat('b', 1301)));
SELECT indextable.create('many_fields', 'long', '{a,b,c,d::int,e::bigint}') \gset
INSERT INTO long VALUES (20, jsonb_build_object('a', noise(862), 'b', noise(861), 'c', noise(861), 'd', 1, 'e', 2));
INSERT INTO long VALUES (21, jsonb_build_object('a', noise(862), 'b', noise(862), 'c', noise(861), 'd', 1, 'e', 2));
SELECT length(a), length(b), length(c), d, e, id FROM many_fields WHERE a IS NOT NULL;

-- ---- long included fields are stored; the primary key then does without them
INSERT INTO long VALUES (30, '{"t": "a", "text": "short"}');
SELECT indextable.create('before', 'long', '{t}', include => '{text, text::jsonb AS data}') \gset
SELECT pg_get_indexdef('before_t_id_text_data_key'::regclass);
INSERT INTO long VALUES (31, jsonb_build_object('t', 'a', 'text', noise(10000)));
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'before'::regclass;
SELECT indextable.create('after', 'long', '{t}', include => '{text}') \gset
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'after'::regclass;
UPDATE long SET doc = jsonb_build_object('t', 'b', 'text', noise(20000)) WHERE id = 31;
INSERT INTO long SELECT i, jsonb_build_object('t', 'c', 'text', noise(i * 100)) FROM generate_series(40, 60) i;
SELECT t, count(*), max(length(text)) FROM before GROUP BY t ORDER BY t;
-- in one statement with short ones, and one that compresses well; and rolled back
SELECT indextable.create('again', 'long', '{u}', include => '{text}') \gset
BEGIN;
INSERT INTO long SELECT i, jsonb_build_object('u', 'u', 'text', repeat('x', i)) FROM generate_series(1000, 4000, 1000) i;
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'again'::regclass;
ROLLBACK;
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'again'::regclass;
INSERT INTO long SELECT i, jsonb_build_object('u', 'u', 'text', repeat('x', i)) FROM generate_series(1000, 4000, 1000) i;
SELECT u, id, length(text) FROM again WHERE u IS NOT NULL ORDER BY id;
CALL pg_temp.compare('before', $$SELECT doc ->> 't', id, doc ->> 'text', doc -> 'text' FROM long$$);
CALL pg_temp.compare('after', $$SELECT doc ->> 't', id, doc ->> 'text' FROM long$$);
CALL pg_temp.compare('again', $$SELECT doc ->> 'u', id, doc ->> 'text' FROM long$$);
-- long documents in a denormalized one
SELECT indextable.create('full', 'long', '{t}', 'denormalized');
UPDATE long SET doc = doc || jsonb_build_object('text', noise(30000)) WHERE id = 31;
CALL pg_temp.compare('"full"', $$SELECT doc ->> 't', id, doc FROM long$$);

-- ---- whether the primary key covers the included fields is chosen beforehand: by their types, ...
CREATE VIEW keys AS SELECT tablename, regexp_replace(indexdef, '.*USING btree (.*?)( NULLS NOT DISTINCT)?$', '\1') AS key FROM pg_indexes WHERE schemaname = 'mismatch' AND indexdef LIKE 'CREATE UNIQUE%' AND tablename <> 'person';
CREATE DOMAIN short AS varchar(100);
CREATE TABLE person (id int PRIMARY KEY, n int, doc jsonb, title short);
INSERT INTO person VALUES (1, 1, jsonb_build_object('k', 1, 'name', 'a', 'bio', 'b'));
SELECT indextable.create('by_bounded', 'person', '{k::int}', include => '{@n, @title, bio::varchar(500), at::timestamptz, u::uuid}') \gset
SELECT indextable.create('by_text', 'person', '{k}', include => '{name, bio}') \gset
SELECT indextable.create('by_huge', 'person', '{k}', include => '{name, bio::varchar(3000)}') \gset
SELECT * FROM keys WHERE tablename LIKE 'by\_%' ORDER BY 1;
-- ... so that some are never too wide, not with the widest entry there can be
INSERT INTO person SELECT 2, 2, jsonb_build_object('k', 2, 'bio', string_agg(chr(65536 + i * 7919 % 60000), '' ORDER BY i), 'at', '2026-01-01T00:00:00Z', 'u', md5('u')::uuid), string_agg(chr(65536 + i), '' ORDER BY i) FILTER (WHERE i <= 100) FROM generate_series(1, 500) i;
SELECT k, pg_column_size(title) + pg_column_size(bio) AS bytes, key FROM by_bounded, keys WHERE tablename = 'by_bounded' ORDER BY k;
CALL pg_temp.compare('by_bounded', $$SELECT (doc ->> 'k')::int, id, n, title, doc ->> 'bio', (doc ->> 'at')::timestamptz, (doc ->> 'u')::uuid FROM person$$);
DROP TABLE by_bounded;
-- and by the entries that there are
SELECT indextable.create('by_wide', 'person', '{k}', include => '{name, bio}') \gset
SELECT * FROM keys WHERE tablename = 'by_wide';
SELECT indextable.alter('by_wide', include => '{name}') \gset
SELECT * FROM keys WHERE tablename = 'by_wide';
SELECT indextable.alter('by_wide', include => '{name, bio::varchar(100)}') \gset
SELECT * FROM keys WHERE tablename = 'by_wide';
SELECT indextable.alter('by_wide', include => '{name, bio}') \gset
SELECT * FROM keys WHERE tablename = 'by_wide';
DELETE FROM person;

-- ---- an entry that is getting too wide: at the commit of its transaction
SELECT indextable.create('early', 'person', '{k}', include => '{bio}', sparse => true), indextable.create('queued', 'person', '{k}', include => '{bio}', maintenance => 'async'),
	indextable.create('parts', 'person', '{k}', include => '{bio}', partitions => 2) \gset
CREATE VIEW three AS SELECT * FROM keys WHERE tablename IN ('early', 'queued', 'parts');
ALTER TABLE early CLUSTER ON early_pkey;
ALTER TABLE early REPLICA IDENTITY USING INDEX early_pkey;
-- half as wide as fits is not
INSERT INTO person SELECT 1, 1, jsonb_build_object('k', 'a', 'bio', noise(1300));
SELECT indextable.drain('person');
SELECT * FROM three ORDER BY 1;
BEGIN;
SAVEPOINT s;
INSERT INTO person SELECT 2, 2, jsonb_build_object('k', 'b', 'bio', noise(1500));
ROLLBACK TO s;
COMMIT;
SELECT * FROM three ORDER BY 1;
BEGIN;
SAVEPOINT s;
INSERT INTO person SELECT 2, 2, jsonb_build_object('k', 'b', 'bio', noise(1500));
RELEASE s;
SELECT * FROM three ORDER BY 1;
COMMIT;
SELECT * FROM three ORDER BY 1;
SELECT indextable.drain('person');
SELECT * FROM three ORDER BY 1;
SELECT indisclustered, indisreplident FROM pg_index WHERE indexrelid = 'early_pkey'::regclass;
INSERT INTO person SELECT i, i, jsonb_build_object('k', 'c', 'bio', noise(i * 1000)) FROM generate_series(3, 9) i;
SELECT indextable.drain('person');
SELECT o.* FROM unnest('{early,queued,parts}'::text[]) t, pg_temp.oracle(t, $$SELECT doc ->> 'k', id, doc ->> 'bio' FROM person$$) o;
-- a deletion is none
SELECT indextable.create('keyed', 'person', '{bio}', include => '{k}', filter => 'n = 1') \gset
UPDATE person SET n = 0 WHERE id = 1;
SELECT * FROM keys WHERE tablename = 'keyed';
DROP TABLE keyed;
-- an error of that takes back nothing else
SELECT indextable.create('needed', 'person', '{k}', include => '{bio}', filter => 'n > 10', sparse => true) \gset
CREATE VIEW grouped AS SELECT k, id, bio FROM needed GROUP BY k, id;
BEGIN;
INSERT INTO person SELECT 11, 11, jsonb_build_object('k', 'd', 'bio', noise(1500));
COMMIT;
SELECT * FROM keys WHERE tablename = 'needed';
DROP VIEW grouped;
INSERT INTO person SELECT 12, 12, jsonb_build_object('k', 'd', 'bio', noise(1500));
SELECT * FROM keys WHERE tablename = 'needed';
CALL pg_temp.compare('needed', $$SELECT doc ->> 'k', id, doc ->> 'bio' FROM person WHERE n > 10$$);
DROP TABLE needed;
-- not where it would take a while: then there is a warning, once, and rebuild() sees it
DELETE FROM person;
SELECT indextable.create('large', 'person', '{k}', include => '{bio}') \gset
ALTER TABLE large SET (fillfactor = 10);
INSERT INTO person SELECT i, i, jsonb_build_object('k', i % 10, 'bio', repeat('x', 800)) FROM generate_series(1, 4200) i;
INSERT INTO person SELECT -1, 1, jsonb_build_object('k', '1', 'bio', noise(1500));
INSERT INTO person SELECT -2, 1, jsonb_build_object('k', '1', 'bio', noise(1500));
SELECT * FROM keys WHERE tablename = 'large';
CALL pg_temp.compare('large', $$SELECT doc ->> 'k', id, doc ->> 'bio' FROM person$$);
DELETE FROM person;

CREATE FUNCTION diagnostics(statement text) RETURNS TABLE (state text, schema text, "table" text, "column" text, "constraint" text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, schema = SCHEMA_NAME, "table" = TABLE_NAME, "column" = COLUMN_NAME, "constraint" = CONSTRAINT_NAME;
	RETURN NEXT;
END $$;
-- ---- an entry that is too wide, while the session itself uses the index table: it is written when that has ended
SELECT indextable.create('used', 'person', '{k}', include => '{name, bio}') \gset
INSERT INTO person SELECT i, i, jsonb_build_object('k', 'k', 'bio', 'b') FROM generate_series(1, 3) i;
UPDATE person SET doc = person.doc || jsonb_build_object('bio', noise(4000)) FROM used WHERE used.id = person.id AND used.id = 1;
SELECT * FROM keys WHERE tablename = 'used';
DELETE FROM person WHERE id = 1;
SELECT indextable.create('held', 'person', '{k}', include => '{name, bio}', partitions => 2) \gset
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM held;
FETCH c;
UPDATE person SET doc = doc || jsonb_build_object('bio', noise(4000)) WHERE id = 2;
SELECT * FROM keys WHERE tablename = 'held';
SELECT id, length(doc ->> 'bio') FROM person WHERE doc ->> 'k' = 'k' ORDER BY 1;
FETCH c;
-- until then it is not read by its name, nor replaced
SELECT d.* FROM unnest(ARRAY[$$SELECT indextable.lookup('held', '{"k": "k"}')$$, $$SELECT indextable.query('held')$$, $$TABLE held$$, $$SELECT indextable.verify('held')$$,
	$$SELECT indextable.alter('held', include => '{name}')$$, $$ALTER TABLE person ALTER COLUMN id TYPE bigint$$, $$TABLE used LIMIT 0$$]) q, diagnostics(q) d;
SAVEPOINT s;
INSERT INTO person VALUES (4, 4, '{"k": "k"}');
ROLLBACK TO s;
INSERT INTO person VALUES (5, 5, '{"k": "k"}');
CLOSE c;
SELECT * FROM keys WHERE tablename = 'held';
SELECT o.* FROM unnest('{used,held,by_text,by_wide}'::text[]) t, pg_temp.oracle(t, $$SELECT doc ->> 'k', id, doc ->> 'name', doc ->> 'bio' FROM person$$) o;
-- what a subtransaction has written that aborts is written again
ROLLBACK TO s;
SELECT id, length(doc ->> 'bio') FROM person WHERE doc ->> 'k' = 'k' ORDER BY 1;
SELECT * FROM keys WHERE tablename = 'held';
SELECT o.* FROM unnest('{used,held,by_text,by_wide}'::text[]) t, pg_temp.oracle(t, $$SELECT doc ->> 'k', id, doc ->> 'name', doc ->> 'bio' FROM person$$) o;
ROLLBACK;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM held;
FETCH c;
UPDATE person SET doc = doc || jsonb_build_object('bio', noise(4000)) WHERE id = 2;
COMMIT;
SELECT * FROM keys WHERE tablename IN ('used', 'held') ORDER BY 1;
SELECT o.* FROM unnest('{used,held,by_text,by_wide}'::text[]) t, pg_temp.oracle(t, $$SELECT doc ->> 'k', id, doc ->> 'name', doc ->> 'bio' FROM person$$) o;
SELECT DISTINCT v.* FROM indextable.index_tables i, indextable.verify(i.index_table) v WHERE fact_table = 'person'::regclass;

-- ---- what applications read of an error: its SQLSTATE, and the fields that name tables
-- the table is the one that was written to, even if it has partitions, and the constraint the index table, even if it has
CREATE TABLE parted (region text, id int, doc jsonb, PRIMARY KEY (region, id)) PARTITION BY LIST (region);
CREATE TABLE parted_eu PARTITION OF parted FOR VALUES IN ('eu');
CREATE TABLE parted_us PARTITION OF parted FOR VALUES IN ('us');
SELECT indextable.create('by_age', 'parted', '{person.age::int AS years}', include => '{person.born::date}') \gset
SELECT indextable.create('by_name', 'parted', '{@region, person.name}', partitions => 3) \gset
SELECT indextable.create('by_email', 'parted', '{emails[*] AS email}', is_unique => true) \gset
SELECT indextable.create('by_phone', 'parted', '{phone}', is_unique => true, partitions => 3) \gset
INSERT INTO parted VALUES ('eu', 1, '{"emails": ["a", "b"], "phone": 1, "person": {"name": "A"}}');
SELECT s.statement, d.* FROM (VALUES
	($$INSERT INTO parted VALUES ('us', 1, '{"person": {"age": "young"}}')$$),
	($$INSERT INTO parted_us VALUES ('us', 1, '{"person": {"age": 3000000000}}')$$),
	($$INSERT INTO parted VALUES ('us', 1, '{"person": {"age": 1, "born": "yesterday"}}')$$),
	($$UPDATE parted SET doc = jsonb_build_object('person', jsonb_build_object('name', repeat('long', 1000)))$$),
	($$INSERT INTO parted VALUES ('us', 1, '{"emails": ["c", "b"]}')$$),
	($$INSERT INTO parted VALUES ('us', 1, '{"phone": 1}')$$),
	($$INSERT INTO parted VALUES ('us', 1, '{"phone": 2}'), ('us', 2, '{"phone": 2}')$$),
	($$INSERT INTO parted VALUES ('us', 1, '{"phone": 2}'); UPDATE parted SET doc = '{"phone": 1}' WHERE id = 1 AND region = 'us'$$),
	-- an error of the statement's own, and of the table's primary key
	($$INSERT INTO parted SELECT 'us', 'young'::int$$),
	($$INSERT INTO parted VALUES ('eu', 1)$$)) s (statement), diagnostics(s.statement) d;
-- a unique index of the user's own on an index table speaks for itself
CREATE UNIQUE INDEX ages_once ON by_age (years);
CREATE UNIQUE INDEX emails_once ON by_email (lower(email));
INSERT INTO parted VALUES ('eu', 2, '{"person": {"age": 7}}');
SELECT * FROM diagnostics($$INSERT INTO parted VALUES ('us', 2, '{"person": {"age": 7}}')$$);
SELECT * FROM diagnostics($$INSERT INTO parted VALUES ('us', 2, '{"emails": ["A"]}')$$);
CALL pg_temp.compare('by_email', $$SELECT e, region, id FROM parted, jsonb_array_elements_text(doc -> 'emails') e$$);
CALL pg_temp.compare('by_phone', $$SELECT doc ->> 'phone', region, id FROM parted WHERE doc ? 'phone'$$);
DROP TABLE parted;

SET client_min_messages = warning;
DROP SCHEMA mismatch CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
