-- is_unique: as a unique index on the same expression would, row by row.  Each
-- statement runs against both: table "fact" has an index table, "native" an index.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA uniq;
SET search_path = uniq;
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb);
CREATE TABLE native (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('by_email', 'fact', '{email}', is_unique => true);
CREATE UNIQUE INDEX native_email ON native ((doc ->> 'email'));
\d by_email

-- runs a statement on both; says how each went
CREATE FUNCTION on_both(statement text) RETURNS TABLE (fact text, native text) LANGUAGE plpgsql AS $$
BEGIN
	BEGIN EXECUTE replace(statement, 'TABLE', 'fact'); fact := 'ok'; EXCEPTION WHEN OTHERS THEN fact := SQLSTATE; END;
	BEGIN EXECUTE replace(statement, 'TABLE', 'native'); native := 'ok'; EXCEPTION WHEN OTHERS THEN native := SQLSTATE; END;
	RETURN NEXT;
END $$;
CREATE TEMP TABLE statements (no int GENERATED ALWAYS AS IDENTITY, statement text);
INSERT INTO statements (statement) VALUES
	($$INSERT INTO TABLE VALUES (1, '{"email": "a"}'), (2, '{"email": "b"}'), (3, '{}'), (4, '{}'), (5, '{"email": null}')$$),
	($$INSERT INTO TABLE VALUES (6, '{"email": "a"}')$$),
	($$INSERT INTO TABLE VALUES (6, '{"email": "c"}'), (7, '{"email": "c"}')$$),
	($$UPDATE TABLE SET doc = '{"email": "b"}' WHERE id = 1$$),
	($$UPDATE TABLE SET doc = '{"email": "a", "other": 1}' WHERE id = 1$$),
	-- swaps within one statement fail; so do shifts, if the rows come in the wrong order
	($$TRUNCATE TABLE; INSERT INTO TABLE VALUES (1, '{"email": "a"}'), (2, '{"email": "b"}')$$),
	($$UPDATE TABLE SET doc = CASE id WHEN 1 THEN '{"email": "b"}' ELSE '{"email": "a"}' END::jsonb$$),
	($$UPDATE TABLE SET doc = CASE id WHEN 1 THEN '{"email": "b"}' ELSE '{"email": "c"}' END::jsonb$$),
	($$UPDATE TABLE SET doc = CASE id WHEN 1 THEN '{"email": "c"}' ELSE '{"email": "a"}' END::jsonb$$),
	($$TRUNCATE TABLE; INSERT INTO TABLE VALUES (2, '{"email": "b"}'), (1, '{"email": "a"}')$$),
	($$UPDATE TABLE SET doc = CASE id WHEN 1 THEN '{"email": "c"}' ELSE '{"email": "a"}' END::jsonb$$),
	($$UPDATE TABLE SET doc = CASE id WHEN 1 THEN '{"email": "b"}' ELSE '{"email": "c"}' END::jsonb$$),
	-- pk moves with the key
	($$UPDATE TABLE SET id = 20 WHERE id = 2$$),
	($$UPDATE TABLE SET id = 2, doc = '{"email": "b2"}' WHERE id = 20$$),
	-- delete and insert
	($$DELETE FROM TABLE WHERE id = 1$$),
	($$INSERT INTO TABLE VALUES (8, '{"email": "c"}')$$),
	($$INSERT INTO TABLE VALUES (9, '{"email": "a"}')$$),
	-- on conflict of the primary key
	($$INSERT INTO TABLE VALUES (8, '{"email": "a"}') ON CONFLICT (id) DO NOTHING$$),
	($$INSERT INTO TABLE VALUES (8, '{"email": "e"}') ON CONFLICT (id) DO UPDATE SET doc = EXCLUDED.doc$$),
	($$INSERT INTO TABLE VALUES (9, '{"email": "e"}') ON CONFLICT (id) DO UPDATE SET doc = EXCLUDED.doc$$),
	-- a row that moves within a writing CTE
	($$WITH gone AS (DELETE FROM TABLE WHERE id = 8 RETURNING doc) INSERT INTO TABLE SELECT 80, doc FROM gone$$),
	-- to null and back
	($$UPDATE TABLE SET doc = '{}'$$),
	($$UPDATE TABLE SET doc = '{"email": "all"}'$$),
	($$UPDATE TABLE SET doc = jsonb_build_object('email', id)$$),
	-- 1, "1" and 1.0 as text
	($$TRUNCATE TABLE$$),
	($$INSERT INTO TABLE VALUES (1, '{"email": 1}')$$),
	($$INSERT INTO TABLE VALUES (2, '{"email": "1"}')$$),
	($$INSERT INTO TABLE VALUES (3, '{"email": 1.0}')$$);
SELECT no, b.*, b.fact = b.native AS same FROM statements, on_both(statement) b ORDER BY no;
SELECT * FROM fact EXCEPT ALL SELECT * FROM native;
SELECT * FROM native EXCEPT ALL SELECT * FROM fact;
SELECT * FROM pg_temp.oracle('by_email', $$SELECT doc ->> 'email', id FROM fact WHERE doc ->> 'email' IS NOT NULL$$);

-- what a user sees
INSERT INTO fact VALUES (10, '{"email": "1"}');
\echo :LAST_ERROR_SQLSTATE
INSERT INTO native VALUES (10, '{"email": "1"}');
\echo :LAST_ERROR_SQLSTATE
-- an error inside an exception block leaves both as they were
DO $$
BEGIN
	INSERT INTO fact VALUES (11, '{"email": "new"}');
	BEGIN
		INSERT INTO fact VALUES (12, '{"email": "newer"}'), (13, '{"email": "new"}');
	EXCEPTION WHEN unique_violation THEN RAISE NOTICE 'caught';
	END;
	INSERT INTO fact VALUES (14, '{"email": "newer"}');
END $$;
SELECT * FROM by_email ORDER BY id;

-- composite, numeric: equality of the type decides
SELECT indextable.create('by_pair', 'fact', '{x, n::numeric}', is_unique => true, include => '{email}');
\d by_pair
INSERT INTO fact VALUES (20, '{"x": "x", "n": 1}'), (21, '{"x": "x", "n": 2}'), (22, '{"x": "y", "n": 1}'), (23, '{"x": "x"}'), (24, '{"x": "x"}');
INSERT INTO fact VALUES (25, '{"x": "x", "n": 1.00}');
UPDATE fact SET doc = '{"x": "x", "n": 1.0}' WHERE id = 20;
SELECT * FROM by_pair ORDER BY id;
SELECT * FROM pg_temp.oracle('by_pair', $$SELECT doc ->> 'x', (doc ->> 'n')::numeric, id, doc ->> 'email' FROM fact WHERE doc ->> 'x' IS NOT NULL AND doc ->> 'n' IS NOT NULL$$);

-- multi-valued: every element is unique across rows; within a row it may be there twice
SELECT indextable.create('by_tag', 'fact', '{tags[*]}', is_unique => true);
INSERT INTO fact VALUES (30, '{"tags": ["a", "b", "a"]}'), (31, '{"tags": ["c"]}'), (32, '{"tags": []}');
INSERT INTO fact VALUES (33, '{"tags": ["x", "c"]}');
INSERT INTO fact VALUES (33, '{"tags": ["x"]}'), (34, '{"tags": ["y", "x"]}');
UPDATE fact SET doc = '{"tags": ["c", "b"]}' WHERE id = 30;
UPDATE fact SET doc = '{"tags": ["b", "d"]}' WHERE id = 30;
UPDATE fact SET doc = '{"tags": ["c", "a"]}' WHERE id = 31;
UPDATE fact SET id = 40 WHERE id = 30;
SELECT * FROM by_tag ORDER BY 1, 2;
SELECT * FROM pg_temp.oracle('by_tag', $$SELECT DISTINCT t, id FROM fact, jsonb_array_elements_text(doc -> 'tags') t$$);

-- duplicates that are there already
SELECT indextable.create('too_late', 'fact', '{x}', is_unique => true);
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM pg_class WHERE relname = 'too_late';

-- the key is not told to who may not read it
CREATE ROLE regress_it_writer;
GRANT USAGE ON SCHEMA uniq TO regress_it_writer;
GRANT INSERT ON fact, native TO regress_it_writer;
SET ROLE regress_it_writer;
INSERT INTO fact VALUES (50, '{"email": "1"}');
INSERT INTO native VALUES (50, '{"email": "1"}');
RESET ROLE;
GRANT SELECT (id) ON fact TO regress_it_writer;
SET ROLE regress_it_writer;
INSERT INTO fact VALUES (50, '{"email": "1"}');
RESET ROLE;
-- nor where row security hides the row
GRANT SELECT ON fact TO regress_it_writer;
ALTER TABLE fact ENABLE ROW LEVEL SECURITY;
CREATE POLICY none ON fact FOR SELECT TO regress_it_writer USING (false);
CREATE POLICY all_in ON fact FOR INSERT TO regress_it_writer WITH CHECK (true);
SET ROLE regress_it_writer;
INSERT INTO fact VALUES (50, '{"email": "1"}');
RESET ROLE;
-- who may read the index table, is told
GRANT SELECT ON by_email TO regress_it_writer;
SET ROLE regress_it_writer;
INSERT INTO fact VALUES (50, '{"email": "1"}');
RESET ROLE;

SET client_min_messages = warning;
DROP SCHEMA uniq CASCADE;
DROP ROLE regress_it_writer;
SELECT * FROM pg_temp.leftovers();
