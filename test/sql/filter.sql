-- A filter is the WHERE of a partial index, over the columns of the fact table.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA filter;
SET search_path = filter;
CREATE TABLE doc (id int PRIMARY KEY, doc jsonb, live boolean, "Odd Name" text);
INSERT INTO doc VALUES (1, '{"k": "a", "n": 1}', true, 'x'), (2, '{"k": "b", "n": 5}', false, 'x'), (3, '{"k": "c"}', NULL, 'y'),
	(4, '{"n": 9}', true, 'x'), (5, '{"k": "bad", "n": "many"}', true, 'y');
SELECT indextable.create('live', 'doc', '{k}', filter => 'live', on_mismatch => 'error') \gset
SELECT indextable.create('big', 'doc', '{k}', filter => $$ jsonb_typeof(doc -> 'n') = 'number' AND (doc ->> 'n')::int > 3 $$) \gset
SELECT indextable.create('odd', 'doc', '{k}', filter => '"Odd Name" = ''x'' AND id > 0', include => '{n}') \gset
SELECT indextable.create('never', 'doc', '{k}', filter => 'false') \gset
SELECT indextable.create('always', 'doc', '{k}', filter => 'true') \gset
-- what the filter leaves out cannot be a mismatch
SELECT indextable.create('typed', 'doc', '{n::int}', filter => $$ jsonb_typeof(doc -> 'n') = 'number' $$) \gset
SELECT index_table, filter FROM indextable.index_tables ORDER BY index_table::text;
SELECT * FROM live ORDER BY id;
SELECT * FROM big ORDER BY id;
SELECT * FROM odd ORDER BY id;
SELECT * FROM typed ORDER BY id;
-- in, out, unknown, and by a column alone
UPDATE doc SET live = false WHERE id = 1;
UPDATE doc SET live = true WHERE id = 2;
UPDATE doc SET live = NULL WHERE id = 5;
UPDATE doc SET doc = '{"k": "c", "n": 4}' WHERE id = 3;
UPDATE doc SET doc = '{"k": "c", "n": "4"}' WHERE id = 3;
UPDATE doc SET "Odd Name" = 'x' WHERE id = 5;
UPDATE doc SET id = -2 WHERE id = 2;
INSERT INTO doc VALUES (6, '{"k": "f", "n": 6}', true, 'x'), (7, '{"k": "g", "n": 7}', NULL, NULL);
DELETE FROM doc WHERE id = 1;
SELECT * FROM live ORDER BY id;
SELECT * FROM odd ORDER BY id;
SELECT id FROM indextable.lookup(NULL::doc, 'live', '{"k": "f"}');
SELECT id FROM indextable.lookup(NULL::doc, 'live', '{"k": "g"}');
-- unique among the rows the filter keeps
SELECT indextable.create('one_live', 'doc', '{k}', filter => 'live', is_unique => true) \gset
INSERT INTO doc VALUES (8, '{"k": "f"}', false);
INSERT INTO doc VALUES (9, '{"k": "f"}', true);
UPDATE doc SET live = true WHERE id = 8;
-- a filter that fails makes the write fail, as the predicate of an index does
SELECT indextable.create('divided', 'doc', '{k}', filter => '100 / id > 0') \gset
INSERT INTO doc VALUES (0, '{"k": "zero"}');
SELECT indextable.drop('divided') \gset
-- columns keep their meaning when they are renamed
ALTER TABLE doc RENAME live TO is_live;
ALTER TABLE doc RENAME "Odd Name" TO odd;
INSERT INTO doc VALUES (10, '{"k": "j", "n": 10}', true, 'x');
SELECT * FROM live WHERE id = 10;
SELECT * FROM odd WHERE id = 10;
-- a filter's function that writes the fact table itself, whatever it is marked as
CREATE TABLE loop (id int PRIMARY KEY, doc jsonb);
CREATE FUNCTION write_loop(int) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$BEGIN
	IF $1 BETWEEN 1 AND 3 THEN
		INSERT INTO filter.loop VALUES ($1 + 100, '{"k": "nested"}') ON CONFLICT DO NOTHING;
		ANALYZE filter.loop_k;
		UPDATE filter.loop SET doc = '{"k": "changed"}' WHERE id = $1 + 100;
	END IF;
	RETURN true; END$$;
CREATE FUNCTION calls_it(int) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$SELECT filter.write_loop($1)$$;
CREATE FUNCTION keeps(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$BEGIN RETURN filter.calls_it($1); END$$;
SELECT indextable.create('loop_k', 'loop', '{k}', filter => 'filter.keeps(id) AND id <> 2') \gset
INSERT INTO loop SELECT i, jsonb_build_object('k', 'outer' || i) FROM generate_series(1, 5) i;
SELECT * FROM loop_k ORDER BY id;
CALL pg_temp.compare('loop_k', $$SELECT doc ->> 'k', id FROM loop WHERE id <> 2$$);

CALL pg_temp.compare('live', $$SELECT doc ->> 'k', id FROM doc WHERE is_live$$);
CALL pg_temp.compare('big', $$SELECT doc ->> 'k', id FROM doc WHERE jsonb_typeof(doc -> 'n') = 'number' AND (doc ->> 'n')::int > 3$$);
CALL pg_temp.compare('odd', $$SELECT doc ->> 'k', id, doc ->> 'n' FROM doc WHERE odd = 'x' AND id > 0$$);
CALL pg_temp.compare('never', $$SELECT doc ->> 'k', id FROM doc WHERE false$$);
CALL pg_temp.compare('always', $$SELECT doc ->> 'k', id FROM doc$$);
CALL pg_temp.compare('typed', $$SELECT (doc ->> 'n')::int, id FROM doc WHERE jsonb_typeof(doc -> 'n') = 'number'$$);
CALL pg_temp.compare('one_live', $$SELECT doc ->> 'k', id FROM doc WHERE doc ->> 'k' IS NOT NULL AND is_live$$);

SET client_min_messages = warning;
DROP SCHEMA filter CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
