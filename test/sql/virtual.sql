-- Virtual generated columns, which PostgreSQL has since 18: nothing is printed if all is right, and nothing without them.
\set QUIET on
SET client_min_messages = warning;
SET indextable.advice = off;
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
\set ECHO none
\set VERBOSITY terse
\pset tuples_only on
\pset format unaligned
SELECT current_setting('server_version_num')::int >= 180000 AS has_virtual \gset
\if :has_virtual

-- What an error says, if it is not what is expected; the hint, too.
CREATE FUNCTION pg_temp.refused(sql text, expected text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
BEGIN
	EXECUTE sql;
	RETURN NEXT sql || ': no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	IF SQLERRM || ' ' || hint NOT LIKE expected THEN
		RETURN NEXT SQLERRM || ' ' || hint;
	END IF;
END $$;
CREATE TABLE part (id int PRIMARY KEY, doc jsonb NOT NULL, n int, v text GENERATED ALWAYS AS (doc ->> 'v') VIRTUAL, w jsonb GENERATED ALWAYS AS (doc -> 'w') VIRTUAL,
	x int GENERATED ALWAYS AS (100 / n) VIRTUAL) PARTITION BY RANGE (id);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (100);
CREATE TABLE part_2 (n int, doc jsonb NOT NULL, x int GENERATED ALWAYS AS (100 / n) VIRTUAL, w jsonb GENERATED ALWAYS AS (doc -> 'w') VIRTUAL, id int PRIMARY KEY,
	v text GENERATED ALWAYS AS (doc ->> 'v') VIRTUAL);
ALTER TABLE part ATTACH PARTITION part_2 FOR VALUES FROM (100) TO (1000);
INSERT INTO part SELECT i, jsonb_build_object('v', 'v' || i % 10, 'w', CASE i % 3 WHEN 0 THEN 'null' ELSE to_jsonb(i % 7) END), i % 20 + 1 FROM generate_series(1, 300) i;
INSERT INTO part VALUES (500, '{}', NULL);
SELECT FROM indextable.create('part_v', 'part', '{@v}', include => '{@x, @w}');
SELECT FROM indextable.create('part_x', 'part', '{@v, @x}', partitions => 2);
SELECT FROM indextable.create('part_w', 'part', '{@w}');
SELECT FROM indextable.create('part_a', 'part', '{@v}', include => '{@x::text}', maintenance => 'async');
CREATE FUNCTION pg_temp.wrong() RETURNS TABLE (index_table text, side text, entry text) LANGUAGE sql AS $$
	SELECT 'part_v', o.* FROM pg_temp.oracle('part_v', 'SELECT doc ->> ''v'', id, 100 / n, doc -> ''w'' FROM part') o
	UNION ALL SELECT 'part_x', o.* FROM pg_temp.oracle('part_x', 'SELECT doc ->> ''v'', 100 / n, id FROM part') o
	UNION ALL SELECT 'part_w', o.* FROM pg_temp.oracle('part_w', 'SELECT doc -> ''w'', id FROM part') o
	UNION ALL SELECT 'part_a', o.* FROM pg_temp.oracle('part_a', 'SELECT doc ->> ''v'', id, (100 / n)::text FROM part') o
$$;
SELECT * FROM pg_temp.wrong();
UPDATE part SET n = n + 1 WHERE id % 3 = 0;
UPDATE part SET doc = doc || '{"v": "new"}' WHERE id % 5 = 0;
UPDATE part SET id = id + 300 WHERE id BETWEEN 90 AND 100;
DELETE FROM part WHERE id % 7 = 0;
INSERT INTO part VALUES (800, '{"v": "new", "w": {"a": 1}}', 5);
SELECT FROM indextable.drain('part');
SELECT * FROM pg_temp.wrong();
SELECT v.* FROM indextable.index_tables i, indextable.verify(i.index_table) v;

-- Rows that are looked up have the values of these columns.
SELECT 'looked up', * FROM (
	(SELECT * FROM indextable.lookup(NULL::part, 'part_v', '{"v": "new"}') EXCEPT ALL SELECT * FROM part WHERE doc ->> 'v' = 'new')
	UNION ALL (SELECT * FROM part WHERE doc ->> 'v' = 'new' EXCEPT ALL SELECT * FROM indextable.lookup(NULL::part, 'part_v', '{"v": "new"}'))) x;
SELECT 'documents', * FROM (SELECT count(*) AS n FROM indextable.lookup('part_x', '{"v": "new", "x": 20}')) l WHERE n <> (SELECT count(*) FROM part WHERE n = 5 AND doc ->> 'v' = 'new');

-- Plain SQL.
SET indextable.planner = force;
SELECT 'plain', * FROM (SELECT count(*) AS n FROM part WHERE v = 'new') p WHERE n <> (SELECT count(*) FROM part_v WHERE v = 'new');
RESET indextable.planner;

-- What has no value, and what is refused.
SELECT * FROM pg_temp.refused($$INSERT INTO part VALUES (900, '{"v": "zero"}', 0)$$, 'field "@x" of index table "part_v" cannot hold the value "(100 / n)" % on_mismatch => ''skip'');');
SELECT * FROM pg_temp.refused($$SELECT indextable.create('part_f', 'part', '{v}', filter => 'x > 10 AND id < 50')$$,
	'virtual generated column "x" cannot be used in a filter or an expression Use the expression that generates it: ''(((100 / n) > 10) AND (id < 50))''.');
SELECT FROM indextable.create('part_f', 'part', '{v}', filter => '(((100 / n) > 10) AND (id < 50))');
SELECT * FROM pg_temp.oracle('part_f', 'SELECT doc ->> ''v'', id FROM part WHERE 100 / n > 10 AND id < 50');
SELECT * FROM pg_temp.refused($$SELECT indextable.create('part_d', 'part', '{a}', document => 'w')$$, 'column "w" of table "part" is not a stored JSONB column%');
SELECT * FROM pg_temp.refused('ALTER TABLE part DROP COLUMN v', 'ALTER action DROP COLUMN cannot be performed%');
SELECT * FROM pg_temp.refused('ALTER TABLE part DROP COLUMN n CASCADE', 'ALTER action DROP COLUMN cannot be performed%');
SELECT * FROM pg_temp.refused('ALTER TABLE part ALTER v SET EXPRESSION AS (doc ->> ''w'')', 'ALTER action % SET EXPRESSION cannot be performed%');

-- What the index tables follow.
ALTER TABLE part RENAME n TO m;
ALTER TABLE part RENAME m TO n;
ALTER TABLE part ALTER x TYPE bigint;
UPDATE part SET n = 3 WHERE id = 10;
CREATE TABLE part_3 PARTITION OF part FOR VALUES FROM (1000) TO (2000);
INSERT INTO part VALUES (1000, '{"v": "new", "w": null}', 5);
ALTER TABLE part DETACH PARTITION part_1;
SELECT FROM indextable.drain('part');
SELECT * FROM pg_temp.wrong();
DROP TABLE part, part_1;
SELECT * FROM pg_temp.leftovers();
\endif
