-- Partitions of fact tables that go: their entries are found by the bounds of the partition, in one reading of the index
-- table, or row by row where a partition has few of many rows; and in those partitions of an index table alone that can have
-- such entries. Whatever the fact table and the index table are partitioned by.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA retention;
SET search_path = retention, public;
SET indextable.advice = off;

CREATE FUNCTION d(i int) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
	SELECT jsonb_build_object('k', 'k' || i % 97, 'u', i, 't', jsonb_build_array(i % 5, i % 7, i % 5), 'n', CASE WHEN i % 3 > 0 THEN i END) $$;
-- the index tables of f, compared after a drain; those that are wrong, and how many entries there are
CREATE FUNCTION wrong() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	t record;
	n int;
	counts text[];
BEGIN
	PERFORM indextable.drain();
	FOR t IN SELECT * FROM (VALUES
			('f_k', $q$SELECT doc ->> 'k', day, id, (doc ->> 'u')::int FROM f$q$),
			('f_u', $q$SELECT (doc ->> 'u')::int, day, id FROM f$q$),
			('f_t', $q$SELECT DISTINCT (e)::int, day, id FROM f, jsonb_array_elements_text(doc -> 't') e$q$),
			('f_day', $q$SELECT day, doc ->> 'k', id FROM f$q$),
			('f_h', $q$SELECT doc ->> 'k', day, id FROM f WHERE doc ->> 'n' IS NOT NULL$q$),
			('f_q', $q$SELECT doc ->> 'k', day, id FROM f$q$)) v (name, recompute) LOOP
		RETURN QUERY SELECT t.name || ' ' || o.side || ' ' || o.entry FROM pg_temp.oracle(t.name, t.recompute) o LIMIT 5;
		RETURN QUERY EXECUTE format('SELECT %L || '' '' || kind || coalesce('' '' || problem, '''') FROM indextable.verify(%L) LIMIT 5', t.name, t.name);
		EXECUTE 'SELECT count(*) FROM ' || t.name INTO n;
		counts := counts || (t.name || ' ' || n);
	END LOOP;
	RETURN NEXT array_to_string(counts, ', ');
END $$;
CREATE PROCEDURE make(fact text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE fact;
	PERFORM indextable.create('f_k', 'f', '{k}', include => '{u::int}'), indextable.create('f_u', 'f', '{u::int}', is_unique => true),
		indextable.create('f_t', 'f', '{t[*]::int}'), indextable.create('f_h', 'f', '{k}', filter => $q$doc ->> 'n' IS NOT NULL$q$, partitions => 3),
		indextable.create('f_day', 'f', '{@day, k}', partition_by => 'RANGE (day)',
			partition_bounds => ARRAY['FROM (0) TO (2)', 'FROM (2) TO (3)', 'FROM (3) TO (4)', 'FROM (MINVALUE) TO (0)']),
		indextable.create('f_q', 'f', '{k}', maintenance => 'async');
END $$;

-- ---- by ranges, with other columns, further partitions, a default partition; the last one is small
CALL make($$
	CREATE TABLE f (day int, id int, doc jsonb NOT NULL, PRIMARY KEY (day, id)) PARTITION BY RANGE (day);
	CREATE TABLE f_0 PARTITION OF f FOR VALUES FROM (0) TO (1);
	CREATE TABLE f_1 (doc jsonb NOT NULL, gone int, id int NOT NULL, day int NOT NULL, PRIMARY KEY (day, id));
	ALTER TABLE f_1 DROP gone;
	ALTER TABLE f ATTACH PARTITION f_1 FOR VALUES FROM (1) TO (2);
	CREATE TABLE f_2 PARTITION OF f FOR VALUES FROM (2) TO (4) PARTITION BY HASH (id);
	CREATE TABLE f_2a PARTITION OF f_2 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE f_2b PARTITION OF f_2 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	CREATE TABLE f_5 PARTITION OF f FOR VALUES FROM (5) TO (6);
	CREATE TABLE f_d PARTITION OF f DEFAULT;
	INSERT INTO f SELECT i % 5, i, retention.d(i) FROM generate_series(1, 2000) i$$);
INSERT INTO f SELECT 5, i, d(i) FROM generate_series(2001, 2010) i;
ANALYZE;
SELECT wrong();
BEGIN;
DROP TABLE f_1, f_5;
SELECT wrong();
ROLLBACK;
SELECT wrong();
DROP TABLE f_5;
SELECT wrong();
ALTER TABLE f DETACH PARTITION f_1;
SELECT wrong();
-- the keys are free
INSERT INTO f SELECT day + 1000, id, doc FROM f_1;
SELECT wrong();
ALTER TABLE f_2 DETACH PARTITION f_2a;
SELECT wrong();
TRUNCATE f_0;
SELECT wrong();
DROP TABLE f_d;
SELECT wrong();
ALTER TABLE f DETACH PARTITION f_2 CONCURRENTLY;
SELECT wrong();
ALTER TABLE f ATTACH PARTITION f_2 FOR VALUES FROM (2) TO (4);
INSERT INTO f SELECT 0, i, d(i) FROM generate_series(5001, 5100) i;
-- with the partition of the index table that has had its entries alone, and not without
DROP TABLE f_day_p1;
DROP TABLE f_2, f_day_p1, f_day_p2;
SELECT wrong();
-- a partition that is no more than one of several in a partition of the index table
DROP TABLE f_0, f_day_p0;
SELECT wrong();
SELECT count(*) FROM pg_class WHERE relname LIKE 'f\_day\_p%' AND relkind IN ('r', 'p');
DROP TABLE f, f_1, f_2a;

-- ---- by a list of texts, and by a range of two columns
CREATE TABLE g (region text, id int, doc jsonb NOT NULL, PRIMARY KEY (id, region)) PARTITION BY LIST (region);
CREATE TABLE g_a PARTITION OF g FOR VALUES IN ('a', 'b') PARTITION BY RANGE (region, id);
CREATE TABLE g_a1 PARTITION OF g_a FOR VALUES FROM ('a', 0) TO ('a', 500);
CREATE TABLE g_a2 PARTITION OF g_a FOR VALUES FROM ('a', 500) TO (MAXVALUE, MAXVALUE);
CREATE TABLE g_c PARTITION OF g FOR VALUES IN ('c');
INSERT INTO g SELECT chr(97 + i % 3), i, d(i) FROM generate_series(1, 900) i;
SELECT indextable.create('g_k', 'g', '{k}'), indextable.create('g_r', 'g', '{@region, k}', partition_by => 'LIST (region)', partition_bounds => ARRAY[$$IN ('a')$$, $$IN ('b')$$, $$IN ('c')$$]) \gset
CREATE TEMP VIEW g_wrong AS SELECT 'g_k' AS name, o.* FROM pg_temp.oracle('g_k', $$SELECT doc ->> 'k', id, region FROM g$$) o
	UNION ALL SELECT 'g_r', o.* FROM pg_temp.oracle('g_r', $$SELECT region, doc ->> 'k', id FROM g$$) o;
ANALYZE;
CALL pg_temp.no_rows('g_wrong');
DROP TABLE g_a1;
CALL pg_temp.no_rows('g_wrong');
ALTER TABLE g DETACH PARTITION g_c;
CALL pg_temp.no_rows('g_wrong');
ALTER TABLE g ATTACH PARTITION g_c FOR VALUES IN ('c');
DROP TABLE g_a;
CALL pg_temp.no_rows('g_wrong');
SELECT count(*) FROM g_k;
DROP TABLE g CASCADE;

-- ---- index tables that are partitioned along: where all entries of a partition are of the one that leaves, it is emptied, and no
-- entry is looked at; others are deleted one by one. A partition that is emptied has another file.
CREATE TABLE h (day int, id int, doc jsonb NOT NULL, PRIMARY KEY (day, id)) PARTITION BY RANGE (day);
CREATE TABLE h_0 PARTITION OF h FOR VALUES FROM (0) TO (2);
CREATE TABLE h_2 PARTITION OF h FOR VALUES FROM (2) TO (4);
CREATE TABLE h_4 PARTITION OF h FOR VALUES FROM (4) TO (6) PARTITION BY RANGE (day);
CREATE TABLE h_4a PARTITION OF h_4 FOR VALUES FROM (4) TO (5);
CREATE TABLE h_4b PARTITION OF h_4 FOR VALUES FROM (5) TO (6);
CREATE TABLE h_6 (id int NOT NULL, gone int, doc jsonb NOT NULL, day int NOT NULL);
ALTER TABLE h_6 DROP gone;
ALTER TABLE h ATTACH PARTITION h_6 FOR VALUES FROM (6) TO (8);
CREATE TABLE h_8 PARTITION OF h FOR VALUES FROM (8) TO (10);
CREATE TABLE h_d PARTITION OF h DEFAULT;
INSERT INTO h SELECT i % 12, i, d(i) FROM generate_series(1, 1200) i;
CREATE FUNCTION bounds(step int, first int DEFAULT 0, last int DEFAULT 9) RETURNS text[] LANGUAGE sql AS
	$$ SELECT array_agg(format('FROM (%s) TO (%s)', n, n + step)) FROM generate_series(first, last, step) n $$;
SELECT indextable.create('h_same', 'h', '{@day, k}', partition_by => 'RANGE (day)', partition_bounds => bounds(2)),
	indextable.create('h_fine', 'h', '{t[*]::int, @day}', include => '{u::int}', partition_by => 'RANGE (day)', partition_bounds => bounds(1)),
	indextable.create('h_wide', 'h', '{@day, k}', partition_by => 'RANGE (day)', partition_bounds => bounds(3)),
	indextable.create('h_some', 'h', '{k, @day}', filter => $q$doc ->> 'n' IS NOT NULL$q$, partition_by => 'RANGE (day)', partition_bounds => bounds(2, 2, 5)),
	indextable.create('h_list', 'h', '{u::int, @day}', is_unique => true, partition_by => 'LIST (day)', partition_bounds => '{"IN (0, 1)", "IN (2, 4)", "IN (3)", "IN (5)", "IN (6, 7)"}'),
	indextable.create('h_hash', 'h', '{@day}', partitions => 3), indextable.create('h_k', 'h', '{k}'),
	indextable.create('h_async', 'h', '{@day, k}', partition_by => 'RANGE (day)', partition_bounds => bounds(2), maintenance => 'async') \gset
CREATE TEMP TABLE files AS SELECT NULL::oid AS leaf, NULL::oid AS file;
-- which partitions of index tables have got another file since the last call; and the index tables that are wrong after a drain
CREATE FUNCTION emptied() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	t record;
BEGIN
	RETURN QUERY SELECT string_agg(relname, ' ' ORDER BY relname COLLATE "C") FROM pg_class JOIN files ON leaf = oid WHERE file <> pg_relation_filenode(oid);
	DELETE FROM files;
	INSERT INTO files SELECT oid, pg_relation_filenode(oid) FROM pg_class WHERE relname LIKE 'h\_%' AND relkind = 'r' AND relispartition;
	PERFORM indextable.drain();
	FOR t IN SELECT * FROM (VALUES
			('h_same', $q$SELECT day, doc ->> 'k', id FROM h$q$), ('h_wide', $q$SELECT day, doc ->> 'k', id FROM h$q$), ('h_async', $q$SELECT day, doc ->> 'k', id FROM h$q$),
			('h_fine', $q$SELECT DISTINCT (e)::int, day, id, (doc ->> 'u')::int FROM h, jsonb_array_elements_text(doc -> 't') e$q$),
			('h_some', $q$SELECT doc ->> 'k', day, id FROM h WHERE doc ->> 'n' IS NOT NULL$q$), ('h_list', $q$SELECT (doc ->> 'u')::int, day, id FROM h$q$),
			('h_hash', $q$SELECT day, id FROM h$q$), ('h_k', $q$SELECT doc ->> 'k', day, id FROM h$q$)) v (name, recompute) LOOP
		RETURN QUERY SELECT t.name || ' ' || o.side || ' ' || o.entry FROM pg_temp.oracle(t.name, t.recompute) o LIMIT 5;
		RETURN QUERY EXECUTE format('SELECT %L || '' '' || kind || coalesce('' '' || problem, '''') FROM indextable.verify(%L) LIMIT 5', t.name, t.name);
	END LOOP;
END $$;
ANALYZE;
SELECT * FROM emptied();
-- undone, as a whole or to a savepoint, and done again; rows that were written just before go, too
BEGIN;
INSERT INTO h SELECT 0, i, d(i) FROM generate_series(2001, 2020) i;
DROP TABLE h_0;
SELECT * FROM emptied();
ROLLBACK;
SELECT * FROM emptied();
BEGIN;
SAVEPOINT s;
ALTER TABLE h DETACH PARTITION h_2;
ROLLBACK TO s;
SELECT count(*) FROM h_same WHERE day BETWEEN 2 AND 3;
INSERT INTO h SELECT 0, i, d(i) FROM generate_series(2001, 2020) i;
ALTER TABLE h DETACH PARTITION h_0;
ALTER TABLE h ATTACH PARTITION h_0 FOR VALUES FROM (0) TO (2);
SELECT count(*), count(*) FILTER (WHERE id > 2000) FROM h_same WHERE day BETWEEN 0 AND 1;
SELECT * FROM emptied();
ROLLBACK TO s;
COMMIT;
SELECT * FROM emptied();
DROP TABLE h_0;
SELECT * FROM emptied();
-- what is read at the moment is not emptied
BEGIN;
DECLARE c CURSOR FOR SELECT day, count(*) FROM h_fine WHERE day IN (2, 3, 11) GROUP BY day ORDER BY day;
ALTER TABLE h DETACH PARTITION h_2;
FETCH ALL FROM c;
CLOSE c;
SELECT * FROM emptied();
ROLLBACK;
SELECT * FROM emptied();
-- the fact table may have readers who have not locked a partition of a partition; and so has what is detached beside them
DROP TABLE h_4a;
SELECT * FROM emptied();
ALTER TABLE h DETACH PARTITION h_d;
SELECT * FROM emptied();
ALTER TABLE h DETACH PARTITION h_6 CONCURRENTLY;
SELECT * FROM emptied();
-- several at a time, with partitions that are partitioned; and with some of the index tables, which go
DROP TABLE h_2, h_4, h_same_p1, h_fine_p4, h_fine_p5;
SELECT * FROM emptied();
SELECT count(*) FROM pg_class WHERE relname ~ '^h_(same|fine)_p' AND relkind = 'r';
-- in a serializable transaction, too
BEGIN ISOLATION LEVEL SERIALIZABLE;
DROP TABLE h_8;
COMMIT;
SELECT * FROM emptied();
-- what the planner and look-ups find then
CREATE TABLE h_0 PARTITION OF h FOR VALUES FROM (0) TO (2);
INSERT INTO h SELECT i % 2, i, d(i) FROM generate_series(3001, 3100) i;
SELECT count(*) FROM indextable.lookup('h_same', '{"day": 1}');
SELECT count(*) FROM indextable.lookup('h_same', '{"day": 3}');
ALTER TABLE h ATTACH PARTITION h_d DEFAULT;
SELECT * FROM emptied();
DROP TABLE h, h_6;

CALL pg_temp.no_rows('pg_temp.leftovers()');
SET client_min_messages = warning;
DROP SCHEMA retention CASCADE;
