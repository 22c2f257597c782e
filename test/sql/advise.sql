-- advise() and profile(), over data of which the right answer is known; and the notice of create(). The samples
-- are whole tables, so that what is printed is always the same.
CREATE SCHEMA advtest;
SET search_path = advtest, public;

CREATE TABLE page (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO page
SELECT i, jsonb_build_object('section', 'section ' || i % 40,
                             'priority', CASE WHEN i % 20 = 0 THEN 'p' || i / 20 % 4 ELSE 'optional' END,
                             'two', CASE i % 100 WHEN 0 THEN 'x' || i WHEN 1 THEN '7' ELSE CASE i % 2 WHEN 0 THEN 'it''s' ELSE '$' END END,
                             'level', i % 3,
                             'email', md5(i::text),
                             'views', i * 7 % 1999,
                             'day', '2024-03-04T05:06:0' || i % 10 || 'Z',
                             'mixed', CASE WHEN i % 4 = 0 THEN i::text ELSE 'x' || i END,
                             'almost', CASE WHEN i % 20 = 0 THEN 'none' ELSE i::text END,
                             'tags', (SELECT jsonb_agg('tag ' || i * k % 499) FROM generate_series(1, 5) k),
                             'nested', jsonb_build_object('odd name', i % 100),
                             'body', repeat(md5(i::text), 15))
       || CASE WHEN i % 100 = 0 THEN jsonb_build_object('rare', 'rare ' || i / 100 % 3) ELSE '{}' END
FROM generate_series(1, 2000) i;
VACUUM ANALYZE page;

-- What advise() says in the end, without the numbers, and what comes of it: the statements are run.
CREATE FUNCTION verdict(fact_table regclass, key text[], include text[] DEFAULT NULL, filter text DEFAULT NULL) RETURNS TABLE (what text, says text)
LANGUAGE plpgsql AS $$
DECLARE
	p record;
	made regclass;
	reason text;
BEGIN
	p := indextable.profile(fact_table, key, include, filter, sample_rows => 1000000);
	RETURN QUERY VALUES ('verdict', concat_ws(', ', p.verdict, p.strategy, p.maintenance, CASE WHEN p.is_unique THEN 'unique' END));
	FOREACH reason IN ARRAY p.reasons LOOP
		RETURN QUERY VALUES ('because', regexp_replace(regexp_replace(reason, '[0-9.]+ (bytes|kB|MB)', 'N', 'g'), 'invalid input .*', '(the server''s words)'));
	END LOOP;
	IF p.statement LIKE 'SELECT %' THEN
		EXECUTE p.statement INTO made;
		PERFORM indextable.drop(made);
	ELSIF p.statement IS NOT NULL THEN
		EXECUTE p.statement;
	END IF;
	RETURN QUERY SELECT 'do', p.statement WHERE p.statement IS NOT NULL;
	IF p.alternative LIKE 'SELECT %' THEN
		EXECUTE p.alternative INTO made;
		PERFORM indextable.drop(made);
	ELSIF p.alternative IS NOT NULL THEN
		EXECUTE p.alternative;
	END IF;
	RETURN QUERY SELECT 'or', p.alternative WHERE p.alternative IS NOT NULL;
	-- indexes that were made would change the next verdict
	FOR reason IN SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = fact_table AND NOT indisprimary LOOP
		EXECUTE 'DROP INDEX ' || reason;
	END LOOP;
END $$;

\pset format unaligned
\pset tuples_only on
SET indextable.advice = off;

-- some dozens of values, even: an index table; with included fields, a partial one
SELECT * FROM verdict('page', '{section}');
SELECT * FROM verdict('page', '{section}', '{views::int,email}');
-- the place of the row is for no query to show
SELECT * FROM verdict('page', '{section}', '{@ctid}');
SELECT * FROM verdict('page', '{email}', '{@ctid}');
-- one value in nearly all: a filter that leaves it out
SELECT * FROM verdict('page', '{priority}');
-- or two, however they are spelt; a filter that was asked for stays
SELECT * FROM verdict('page', '{two}');
SELECT * FROM verdict('page', '{priority}', filter => 'id > 100 OR doc ->> ''x'' = ''y''');
SELECT * FROM verdict('page', '{priority,level::int}');
-- few values: do without; unless documents are not read at all
SELECT * FROM verdict('page', '{level}');
SELECT * FROM verdict('page', '{level}', '{section}');
SELECT * FROM verdict('page', '{level,email}');
-- one row for a value: a native index
SELECT * FROM verdict('page', ARRAY['email COLLATE "C"']);
SELECT * FROM verdict('page', ARRAY['nested."odd name" AS odd', '@id']);
-- of an expression
SELECT * FROM verdict('page', ARRAY['(upper(doc ->> ''priority'')) AS upper']);
-- that it cannot be, for dates
SELECT * FROM verdict('page', '{day::timestamptz,@id}');
-- an array: in order, or by containment
SELECT * FROM verdict('page', '{tags[*]}');
SELECT * FROM verdict('page', '{tags[*],section}');
-- missing nearly everywhere, or everywhere
SELECT * FROM verdict('page', '{rare}');
SELECT * FROM verdict('page', '{Rare}');
SELECT * FROM verdict('page', '{section}', filter => 'id < 0');
-- values that do not fit: most, or some
SELECT * FROM verdict('page', '{mixed::int}');
SELECT * FROM verdict('page', '{almost::int}');
-- wide documents
CREATE TABLE wide (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO wide SELECT i, jsonb_build_object('k', i % 50, 'a', i, 'body', repeat(md5(i::text), 100)) FROM generate_series(1, 1000) i;
SELECT * FROM verdict('wide', '{k}');
SELECT * FROM verdict('wide', '{k}', '{a,nowhere}');
-- nearly all of the document
CREATE TABLE small (id int PRIMARY KEY, doc jsonb NOT NULL, "Other" jsonb);
INSERT INTO small SELECT i, jsonb_build_object('a', i % 100, 'b', md5(i::text)), '{}' FROM generate_series(1, 2000) i;
SELECT (indextable.profile('small', '{a}', '{b}', document => 'doc')).statement;
SELECT (indextable.profile('small', ARRAY['@"Other"'], document => 'doc')).verdict;

-- one unpartitioned table is enough for a native index; partitions are not
CREATE TABLE parted (id int PRIMARY KEY, doc jsonb NOT NULL) PARTITION BY HASH (id);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted_1 (doc jsonb NOT NULL, gone int, id int NOT NULL);
ALTER TABLE parted_1 DROP gone;
ALTER TABLE parted ATTACH PARTITION parted_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted SELECT * FROM page;
SELECT * FROM verdict('parted', '{email}');
SELECT * FROM verdict('parted', '{section}');

-- documents that are updated: HOT updates stay with an index table
CREATE TABLE counted (id int PRIMARY KEY, doc jsonb NOT NULL) WITH (fillfactor = 30, autovacuum_enabled = off);
INSERT INTO counted SELECT i, jsonb_build_object('views', i * 7 % 1999, 'email', md5(i::text)) FROM generate_series(1, 1000) i;
DO $$ BEGIN FOR i IN 1..2 LOOP UPDATE counted SET doc = jsonb_set(doc, '{views}', to_jsonb((doc ->> 'views')::int + 1)); END LOOP; END $$;
SELECT pg_stat_force_next_flush();
SELECT regexp_replace(says, '[0-9.]+ %', 'N %') FROM verdict('counted', '{email}');
SELECT * FROM verdict('counted', '{views}');
-- and if always, then of a number that may be what changes
DO $$ BEGIN FOR i IN 1..4 LOOP UPDATE counted SET doc = jsonb_set(doc, '{views}', to_jsonb((doc ->> 'views')::int + 1)); END LOOP; END $$;
SELECT pg_stat_force_next_flush();
SELECT * FROM verdict('counted', '{views}');
SELECT says FROM verdict('counted', '{email}') WHERE what = 'verdict';

-- The numbers.
SELECT documents, sampled, partitions, missing, mismatching, entries_per_document, entries, keys, common_keys[1], common_shares[1], found
FROM indextable.profile('page', '{priority}', sample_rows => 1000000);
SELECT filtered, missing, mismatching, entries, keys FROM indextable.profile('page', '{almost::int}', filter => 'id <= 1000', sample_rows => 1000000);
SELECT entries_per_document, entries, keys FROM indextable.profile('page', '{tags[*]}', sample_rows => 1000000);
-- a sample: about as many as asked for
SELECT documents BETWEEN 1000 AND 4000, sampled BETWEEN 50 AND 400 FROM indextable.profile('page', '{section}', sample_rows => 100);
-- what is taken to be the size of an index table is not far from it
SELECT indextable.create('sized', 'page', '{section}', include => '{email}');
SELECT pg_total_relation_size('sized') / partial_size::float8 BETWEEN 0.7 AND 1.5 FROM indextable.profile('page', '{section}', '{email}', sample_rows => 1000000);
SELECT reasons[3], statement FROM indextable.profile('page', '{section}', filter => 'id < 2000', sample_rows => 1000000);
SELECT indextable.drop('sized');

-- As people read it.
\pset format aligned
\pset tuples_only off
SELECT topic, CASE WHEN topic IN ('use', 'size') THEN '...' ELSE advice END AS advice FROM indextable.advise('page', '{priority}', sample_rows => 1000000);
SELECT * FROM indextable.advise('page', '{Rare}', sample_rows => 1000000);
SET client_encoding = 'LATIN1';
SELECT advice FROM indextable.advise('page', '{priority}', sample_rows => 1000000) WHERE advice LIKE '%#%';
RESET client_encoding;

-- Without a key: the fields of the documents. Each statement is run. What is known of queries is in test/tap/advise.pl.
CREATE FUNCTION fields(fact_table regclass) RETURNS TABLE (what text, says text)
LANGUAGE sql AS $$
	SELECT topic, CASE topic WHEN 'use' THEN '...' ELSE regexp_replace(advice, '[0-9.]+ (bytes|kB|MB)', 'N', 'g') END
	FROM indextable.advise(fact_table, sample_rows => 1000000)
$$;
CREATE FUNCTION run_all(fact_table regclass) RETURNS TABLE (statement text, rows bigint)
LANGUAGE plpgsql AS $$
DECLARE
	made regclass;
BEGIN
	FOR statement IN SELECT advice FROM indextable.advise(fact_table, sample_rows => 1000000) WHERE topic = 'do' LOOP
		EXECUTE statement INTO made;
		EXECUTE format('SELECT count(*) FROM %s', made) INTO rows;
		PERFORM indextable.drop(made);
		RETURN NEXT;
	END LOOP;
END $$;
\pset format unaligned
\pset tuples_only on
SELECT * FROM fields('page') WHERE what <> 'use';
SELECT * FROM run_all('page');
-- what an index or an index table serves is not recommended
CREATE INDEX page_section ON page ((doc ->> 'section'));
CREATE INDEX page_email ON page (((doc #>> '{nested,odd name}')::int)) WHERE id > 5;
CREATE INDEX page_tags ON page USING gin (doc jsonb_path_ops);
SELECT indextable.create('by_views', 'page', '{views::int,section}', filter => 'id > 5', maintenance => 'async');
SELECT * FROM fields('page') WHERE what = 'served' OR says ~ '(section|odd|tags|views)';
SELECT indextable.drop('by_views');
DROP INDEX page_section, page_email, page_tags;
-- partitions: a local index serves, too
CREATE INDEX ON parted ((doc ->> 'section'));
SELECT * FROM fields('parted') WHERE what IN ('documents', 'served') OR says ~ '(email|met twice)';
-- names that have to be quoted, that columns cannot have, or that the primary key has
SELECT field, f.field_as FROM unnest(ARRAY['user.id::int', 'id', 'a.b.id', '"o.d".id', 'items[*].id', '"user.i.d"', 'user.name']) field, indextable_internal.field_at('doc', '{id}', field) f;
CREATE TABLE "Odd names" (id int PRIMARY KEY, doc_id int, "do c" jsonb, other jsonb);
INSERT INTO "Odd names"
SELECT i, i, jsonb_build_object('id', i % 40, '', i % 41, 'xmin', i % 42, 'a.b[1],"c"', i % 43, $$it's$$, i % 44, '\$$', i % 45, U&'\00E9t\00E9', i % 46,
                                U&'\0001', i % 47, '0', jsonb_build_object('-1', i % 48), repeat('n', 64), i % 49)
FROM generate_series(1, 1200) i;
SELECT * FROM indextable.advise('"Odd names"');
SELECT advice FROM indextable.advise('"Odd names"', document => 'do c', sample_rows => 1000000) WHERE topic = 'do';
ALTER TABLE "Odd names" DROP other;
SELECT * FROM run_all('"Odd names"');
-- types
CREATE TABLE typed (id int PRIMARY KEY, doc jsonb);
INSERT INTO typed
SELECT i, jsonb_build_object('fraction', (i % 50) / 8.0, 'long', 12345678901 + i % 44, 'flag', i % 50 = 0, 'day', date '2024-01-01' + i % 99,
                             'at', timestamp '2024-01-01' + interval '1 hour' * (i % 99), 'instant', '2024-01-01 00:00:' || 10 + i % 40 || '.5+01',
                             'no day', '2024-02-3' || i % 10, 'uuid', md5((i % 66)::text)::uuid, 'some', CASE i % 3 WHEN 0 THEN to_jsonb(i % 70) ELSE to_jsonb('x' || i % 70) END,
                             'huge', '1e300'::numeric * (i % 40), 'same', 1, 'nothing', NULL)
FROM generate_series(1, 2000) i;
SELECT * FROM run_all('typed');
-- documents that are none, that are deep, that are maps, and large arrays
CREATE TABLE wild (id int PRIMARY KEY, doc jsonb);
INSERT INTO wild SELECT i, NULL FROM generate_series(1, 100) i;
INSERT INTO wild SELECT i + 100, to_jsonb(i) FROM generate_series(1, 100) i;
INSERT INTO wild SELECT i + 200, 'null' FROM generate_series(1, 100) i;
INSERT INTO wild SELECT i + 300, (repeat('{"a":', 1000) || '1' || repeat('}', 1000))::jsonb FROM generate_series(1, 100) i;
INSERT INTO wild SELECT i + 400, (repeat('[', 1000) || '1' || repeat(']', 1000))::jsonb FROM generate_series(1, 100) i;
INSERT INTO wild SELECT i + 500, (SELECT jsonb_object_agg('k' || i || '_' || k, k) FROM generate_series(1, 20000) k) FROM generate_series(1, 2) i;
INSERT INTO wild SELECT i + 600, jsonb_build_object('tags', (SELECT jsonb_agg(k % 7 || 'x') FROM generate_series(1, 5000) k), 'kind', i % 40) FROM generate_series(1, 20) i;
INSERT INTO wild SELECT i + 700, jsonb_build_array('element ' || i % 40, jsonb_build_object('n', i % 55)) FROM generate_series(1, 600) i;
INSERT INTO wild SELECT i + 1300, jsonb_build_object('key ' || i, 1, 'by_id', (SELECT jsonb_object_agg(i || '.' || k, k % 9) FROM generate_series(1, 5) k), 'n', i % 31) FROM generate_series(1, 700) i;
SELECT * FROM fields('wild') WHERE what <> 'use';
SELECT * FROM run_all('wild');
-- nothing to recommend
CREATE TABLE dull (id int PRIMARY KEY, doc jsonb);
SELECT * FROM indextable.advise('dull');
INSERT INTO dull SELECT i, '{"a": 1, "b": {}}' FROM generate_series(1, 1000) i;
SELECT * FROM fields('dull') WHERE what <> 'use';
SELECT indextable.advise('dull', filter => 'id > 5');
SELECT indextable.advise(NULL);
\pset format aligned
\pset tuples_only off

-- Where nothing can be said, and what is refused.
CREATE TABLE empty_one (id int PRIMARY KEY, doc jsonb NOT NULL);
SELECT * FROM indextable.advise('empty_one', '{a}');
SELECT * FROM indextable.advise('empty_one', NULL);
SELECT indextable.profile('empty_one', NULL);
SELECT indextable.advise('empty_one', '{}');
SELECT indextable.advise('empty_one', '{a b}');
SELECT indextable.advise('empty_one', '{a}', '{a}');
SELECT indextable.advise('empty_one', '{a}', sample_rows => 10);
SELECT indextable.advise('empty_one', '{a}', document => 'id');
SELECT indextable.advise('pg_class', '{a}');

-- Whoever may read the table may ask; what he brings along is not run as its owner.
CREATE ROLE advtest_reader;
GRANT USAGE ON SCHEMA advtest TO advtest_reader;
SET ROLE advtest_reader;
SELECT indextable.advise('page', '{section}');
RESET ROLE;
GRANT SELECT ON page TO advtest_reader;
SET ROLE advtest_reader;
SELECT verdict FROM indextable.profile('page', '{section,@id}', '{views::int}');
SELECT indextable.advise('page', '{section}', filter => 'id > 5');
SELECT indextable.advise('page', '{section,@id::text}');
SELECT indextable.profile('page', '{section}', ARRAY['(upper(doc ->> ''section'')) AS upper']);
SELECT count(*) > 5 FROM indextable.advise('page');
RESET ROLE;
ALTER TABLE page ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON page FOR SELECT USING (id < 100);
SET ROLE advtest_reader;
SELECT indextable.advise('page', '{section}');
SET row_security = off;
SELECT indextable.advise('page', '{section}');
RESET row_security;
RESET ROLE;
SELECT verdict FROM indextable.profile('page', '{section}');
ALTER TABLE page DISABLE ROW LEVEL SECURITY;

-- where values are that are not followed; few documents that are long
CREATE TABLE deep (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO deep SELECT i, jsonb_build_object('a', jsonb_build_array(jsonb_build_array(i))) || (repeat('{"b":', 6) || '[' || i || ']' || repeat('}', 6))::jsonb FROM generate_series(1, 1000) i;
SELECT * FROM indextable.advise('deep') WHERE topic NOT IN ('use', 'queries');
CREATE TABLE long (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO long SELECT i, jsonb_build_object('n', i, 'x', repeat('x', 100000)) FROM generate_series(1, 60) i;
SELECT advice FROM indextable.advise('long') WHERE topic = 'advice';
SELECT advice FROM indextable.advise('long', '{n}') WHERE advice LIKE 'There are%';

-- create() tells, too, where it is clear; and carries on.
-- (It looks at small tables as a whole.)
CREATE TABLE brief (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO brief SELECT id, doc - '{body,tags,email}'::text[] FROM page;
SET indextable.advice = on;
SELECT indextable.create('by_section', 'brief', '{section}') \gset
SELECT indextable.create('by_almost', 'brief', '{almost}') \gset
SELECT indextable.create('by_priority', 'brief', '{priority}');
SELECT indextable.alter('advtest.by_priority', filter => $$doc ->> 'priority' <> 'optional'$$) \gset
SELECT count(*) FROM by_priority;
SELECT indextable.create('by_rare', 'brief', '{rare}') \gset
-- it says nothing of a few rows
CREATE TABLE few_rows (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO few_rows SELECT i, '{}' FROM generate_series(1, 900) i;
SELECT indextable.create('by_few', 'few_rows', '{rare}') \gset
SELECT indextable.create('nowhere', 'brief', '{nowhere}', maintenance => 'async');
SELECT indextable.create('by_mixed', 'brief', '{mixed::int}', on_mismatch => 'skip');
\set VERBOSITY terse
SELECT indextable.create('by_level', 'brief', '{level}');
SELECT indextable.create('by_level_2', 'brief', '{level}', strategy => 'denormalized', populate => false);
SELECT indextable.create('by_views', 'counted', '{views}');
SELECT indextable.create('by_views_2', 'counted', '{views}', maintenance => 'async') \gset
SET indextable.advice = off;
SELECT indextable.create('by_level_3', 'brief', '{level}') \gset
SET indextable.advice = on;
-- for advice, no function of a user is called, and no error of a filter counts
CREATE SEQUENCE calls;
CREATE FUNCTION counts(int) RETURNS boolean IMMUTABLE LANGUAGE sql AS $$ SELECT nextval('advtest.calls') > 0 $$;
SELECT indextable.create('filtered', 'brief', '{level}', filter => 'advtest.counts(id)') \gset
SELECT last_value FROM calls;
SELECT indextable.create('divided', 'brief', '{level}', filter => '1 / (id - 1000) = 0', populate => false) \gset
SELECT indextable.advise('brief', '{level}', filter => '1 / (id - 1000) = 0');

-- the sizes are about those of the tables and indexes, which extend them by more or less at a time; a B-tree keeps equal keys once only if their type allows it
CREATE TABLE sized (id int PRIMARY KEY, doc jsonb);
INSERT INTO sized SELECT i, jsonb_build_object('n', i % 50, 's', 's' || i % 50) FROM generate_series(1, 20000) i;
VACUUM ANALYZE sized;
CREATE TABLE sizes (key text, expression text, normalized float8, native float8);
INSERT INTO sizes SELECT key, expression, normalized_size, native_size
FROM (VALUES ('n::int', $$(doc ->> 'n')::int$$), ('n::numeric', $$(doc ->> 'n')::numeric$$), ('n::float8', $$(doc ->> 'n')::float8$$), ('n::jsonb', $$doc -> 'n'$$), ('s', $$doc ->> 's'$$)) k(key, expression),
	LATERAL (SELECT * FROM indextable.profile('sized', ARRAY[key], sample_rows => 1000000)) p;
SET indextable.advice = off;
CREATE FUNCTION made(s sizes, OUT normalized_fits boolean, OUT native_fits boolean) LANGUAGE plpgsql AS $$
BEGIN
	normalized_fits := abs(s.normalized / pg_total_relation_size(indextable.create('of_size', 'advtest.sized', ARRAY[s.key])) - 1) <= 0.25;
	EXECUTE format('CREATE INDEX native ON advtest.sized ((%s))', s.expression);
	native_fits := abs(s.native / pg_relation_size('advtest.native') - 1) <= 0.25;
	PERFORM indextable.drop('advtest.of_size');
	DROP INDEX advtest.native;
END $$;
SELECT s.key, m.* FROM sizes s, made(s) m;

SET client_min_messages = warning;
DROP SCHEMA advtest CASCADE;
DROP ROLE advtest_reader;
