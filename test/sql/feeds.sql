-- Feeds, as far as one server shows them: what is queued in them, taken and acknowledged. What takes from them is in
-- test/tap/feeds.pl.
CREATE SCHEMA feeds;
SET search_path = feeds;
CREATE TABLE fact (id int, "Part" text, doc jsonb, note text, PRIMARY KEY ("Part", id));
INSERT INTO fact VALUES (1, 'a', '{"k": "x"}');
CREATE FUNCTION taken(n bigint DEFAULT 100) RETURNS SETOF text[] LANGUAGE sql AS
$$ SELECT primary_key FROM indextable_internal.take('fact', n, '{id,Part}') $$;

SELECT indextable_internal.take('fact', 1, '{id,Part}');
SELECT * FROM indextable_internal.feed_status('fact');
SELECT indextable.create_feed('fact');
SELECT indextable.create_feed('fact');
SELECT * FROM taken();

INSERT INTO fact VALUES (2, 'b', '{"k": "y"}'), (3, '{,"', NULL);
UPDATE fact SET note = 'changed' WHERE id = 1;
UPDATE fact SET note = note;
UPDATE fact SET id = 4 WHERE id = 2;
DELETE FROM fact WHERE id = 4;
BEGIN; DELETE FROM fact; ROLLBACK;
BEGIN; SAVEPOINT s; DELETE FROM fact; ROLLBACK TO s; UPDATE fact SET note = 'kept' WHERE id = 1; COMMIT;
SELECT * FROM taken();
SELECT * FROM taken(2);
SELECT * FROM taken(0);
SELECT backlog, lag < '1 hour' AS young, pending, now IS NOT NULL AS now FROM indextable_internal.feed_status('fact');
SELECT backlog, server FROM indextable.queues;
SELECT primary_key FROM indextable_internal.take('fact', 1, '{Part,id}');
SELECT primary_key FROM indextable_internal.take('fact', 1, '{id}');
SELECT primary_key FROM indextable_internal.take('fact', 1, '{id,id}');

-- A snapshot tells which changes count.
SELECT now AS early FROM indextable_internal.feed_status('fact') \gset
SELECT pending FROM indextable_internal.feed_status('fact', :'early');
SELECT indextable_internal.ack('fact', array_agg(item)) FROM indextable_internal.take('fact', 100, '{id,Part}');
SELECT * FROM taken();
UPDATE fact SET note = 'later';
SELECT pending FROM indextable_internal.feed_status('fact', :'early');
SELECT pending FROM indextable_internal.feed_status('fact', NULL, '0');
SELECT pending FROM indextable_internal.feed_status('fact', NULL, '1 hour');
SELECT backlog, pending FROM indextable_internal.feed_status('fact');

-- Only items that name a change are acknowledged, and each once.
SELECT indextable_internal.ack('fact', '{}');
SELECT indextable_internal.ack('fact', '{x}');
SELECT indextable_internal.ack('fact', '{1:2:3:4}');
SELECT indextable_internal.ack('fact', array_agg(item || ':')) FROM indextable_internal.take('fact', 1, '{id,Part}');
SELECT indextable_internal.ack('fact', array_agg(regexp_replace(item, '[0-9]+$', '3'))) FROM indextable_internal.take('fact', 100, '{id,Part}');
BEGIN;
SELECT indextable_internal.ack('fact', array_agg(item)) FROM indextable_internal.take('fact', 100, '{id,Part}');
ROLLBACK;
SELECT count(*) FROM taken();

-- All rows may have changed.
TRUNCATE fact;
INSERT INTO fact VALUES (5, 'c', '{"k": "z"}');
SELECT * FROM taken();

-- Index tables beside a feed
SELECT indextable.create('by_k', 'fact', '{k}') \gset
SELECT indextable.create('later', 'fact', '{k}', maintenance => 'async');
SELECT indextable.create('built', 'fact', '{k}', populate => false);
SELECT indextable.alter('by_k', maintenance => 'async');
SELECT indextable.drain();
SELECT indextable.drain('fact');
UPDATE fact SET doc = '{"k": "zz"}';
SELECT * FROM by_k;
SELECT indextable.drop('by_k') \gset
SELECT count(*) FROM taken();
CREATE TABLE queued (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('queued_k', 'queued', '{k}', maintenance => 'async') \gset
SELECT indextable.create_feed('queued');

-- What a feed needs is not dropped under it; the table can be renamed.
SELECT format('DROP TABLE indextable_queues.%I', relname) AS drop_queue FROM pg_class
WHERE oid = (SELECT queue FROM indextable_internal.fact WHERE fact_table = 'fact'::regclass) \gset
\set VERBOSITY sqlstate
:drop_queue;
\set VERBOSITY default
CREATE TABLE child () INHERITS (fact);
ALTER TABLE fact RENAME TO renamed;
ALTER TABLE renamed RENAME id TO number;
UPDATE renamed SET note = 'renamed';
SELECT primary_key FROM indextable_internal.take('renamed', 100, '{number,Part}') OFFSET 5;

-- Privileges
CREATE ROLE feeds_reader;
GRANT USAGE ON SCHEMA feeds TO feeds_reader;
GRANT SELECT ON renamed TO feeds_reader;
SET ROLE feeds_reader;
SELECT indextable_internal.take('renamed', 1, '{number,Part}');
SELECT indextable_internal.ack('renamed', '{}');
SELECT indextable_internal.feed_status('renamed');
SELECT indextable.create_feed('renamed');
SELECT indextable.drop_feed('renamed');
RESET ROLE;
DROP OWNED BY feeds_reader;
DROP ROLE feeds_reader;

-- Partitions
CREATE TABLE parts (id int PRIMARY KEY, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10);
SELECT indextable.create_feed('parts_1');
SELECT indextable.create_feed('parts');
CREATE TABLE parts_2 (doc jsonb, id int PRIMARY KEY);
INSERT INTO parts_2 VALUES ('{}', 11);
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (10) TO (20);
CREATE TABLE parts_3 PARTITION OF parts FOR VALUES FROM (20) TO (30);
INSERT INTO parts VALUES (1), (21);
UPDATE parts SET id = 12 WHERE id = 1;
SELECT primary_key FROM indextable_internal.take('parts', 100, '{id}');
ALTER TABLE parts DETACH PARTITION parts_2;
DROP TABLE parts_3;
TRUNCATE parts_1;
SELECT primary_key FROM indextable_internal.take('parts', 100, '{id}') OFFSET 5;
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'parts_2'::regclass;

-- Feeds are dropped by themselves, or with their table.
SELECT indextable.drop_feed('renamed') \gset
SELECT indextable.drop_feed('renamed');
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'renamed'::regclass;
DROP TABLE parts;
SELECT fact_table, feed FROM indextable_internal.fact;
SELECT count(*) FROM pg_class WHERE relnamespace = 'indextable_queues'::regnamespace AND relname LIKE 'queue\_%' AND relkind = 'r';
\set VERBOSITY terse
SET client_min_messages = warning;
DROP SCHEMA feeds CASCADE;
