-- A drain with many keys walks through indexes from one key to the next: whatever lies between them, each row gets its entries.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA async_walk;
SET search_path = async_walk;
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('town', 'fact', '{town}', maintenance => 'async') \gset
SELECT indextable.create('tags', 'fact', '{tags[*]}', maintenance => 'async') \gset
CREATE FUNCTION doc(i int, salt int) RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_build_object('town', 't' || (i * 7 + salt) % 50, 'tags', to_jsonb(ARRAY['a' || i % 3, 'b' || (i + salt) % 5, 'c' || salt]))
$$;
CREATE FUNCTION drained(batch_size int DEFAULT 10000) RETURNS TABLE (changes bigint, index_table text, side text, entry text) LANGUAGE plpgsql AS $$
BEGIN
	changes := indextable.drain('fact', batch_size);
	RETURN NEXT;
	RETURN QUERY SELECT NULL::bigint, t, d.* FROM (VALUES
		('town', 'SELECT doc ->> ''town'', id FROM fact'),
		('tags', 'SELECT DISTINCT t, id FROM fact, jsonb_array_elements_text(doc -> ''tags'') t')) v(t, recompute),
		pg_temp.oracle(t, recompute) d;
END $$;
-- all of them; every third one, with others between; some here and there
INSERT INTO fact SELECT i, doc(i, 0) FROM generate_series(1, 4000) i;
SELECT * FROM drained();
UPDATE fact SET doc = doc(id, 1) WHERE id % 3 = 0;
SELECT * FROM drained();
UPDATE fact SET doc = doc(id, 2) WHERE id % 13 = 0;
SELECT * FROM drained();
-- few, many, few and many again: walks are given up, and tried again
UPDATE fact SET doc = doc(id, 3) WHERE id < 1000 AND id % 100 = 0 OR id BETWEEN 1000 AND 1300 OR id % 90 = 0 OR id > 3500;
SELECT * FROM drained();
-- rows that are gone, and such as never had entries, between others, before the first and after the last one
DELETE FROM fact WHERE id % 5 = 0 OR id > 3900;
UPDATE fact SET doc = '{}' WHERE id % 7 = 0;
INSERT INTO fact SELECT i, doc(i, 4) FROM generate_series(-300, 0) i;
INSERT INTO fact SELECT i, doc(i, 4) FROM generate_series(5001, 5300) i;
SELECT * FROM drained();
-- the same rows several times, primary keys that change, small batches
UPDATE fact SET doc = doc(id, 5) WHERE id % 2 = 0;
UPDATE fact SET doc = doc(id, 6) WHERE id % 3 = 0;
UPDATE fact SET id = id + 10000 WHERE id % 4 = 0;
SELECT * FROM drained(150);
-- an index in another order, which the owner has made again, is searched row by row
SET session_replication_role = replica;
DROP INDEX town_row_idx;
RESET session_replication_role;
CREATE INDEX town_row_idx ON town (id DESC);
UPDATE fact SET doc = doc(id, 7);
SELECT * FROM drained();
DROP TABLE fact CASCADE;

-- two columns, one of them numbers that are equal although they are written otherwise
CREATE TABLE fact (kind text, n numeric, doc jsonb, PRIMARY KEY (kind, n));
SELECT indextable.create('two', 'fact', '{town}', maintenance => 'async') \gset
CREATE FUNCTION drained_two() RETURNS TABLE (changes bigint, side text, entry text) LANGUAGE plpgsql AS $$
BEGIN
	changes := indextable.drain('fact', 10000);
	RETURN NEXT;
	RETURN QUERY SELECT NULL::bigint, d.* FROM pg_temp.oracle('two', 'SELECT doc ->> ''town'', kind, n FROM fact') d;
END $$;
INSERT INTO fact SELECT 'k' || i % 3, i, doc(i, 0) FROM generate_series(1, 900) i;
SELECT * FROM drained_two();
UPDATE fact SET n = n + 0.0, doc = doc(n::int, 1) WHERE n % 2 = 0;
SELECT * FROM drained_two();
UPDATE fact SET n = n + 0.00, doc = doc(n::int, 2);
UPDATE fact SET doc = '{"town": "here"}' WHERE kind = 'k1';
DELETE FROM fact WHERE kind = 'k2' AND n % 4 = 1;
SELECT * FROM drained_two();
DROP TABLE fact CASCADE;

-- partitions of the fact table and of the index table, each with a walk of its own
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb) PARTITION BY HASH (id);
CREATE TABLE fact_0 PARTITION OF fact FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE fact_1 PARTITION OF fact FOR VALUES WITH (MODULUS 2, REMAINDER 1);
SELECT indextable.create('town', 'fact', '{town}', maintenance => 'async', partitions => 3) \gset
SELECT indextable.create('tags', 'fact', '{tags[*]}', maintenance => 'async') \gset
INSERT INTO fact SELECT i, doc(i, 0) FROM generate_series(1, 2000) i;
SELECT * FROM drained();
UPDATE fact SET doc = doc(id, 1) WHERE id % 2 = 0;
DELETE FROM fact WHERE id % 9 = 0;
INSERT INTO fact SELECT i, doc(i, 2) FROM generate_series(2001, 2400) i;
SELECT * FROM drained();
DROP SCHEMA async_walk CASCADE;
