-- is_unique: as a unique index on the same expression would, row by row.  Each
-- statement runs against both: table "fact" has an index table, "native" an index.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA uniq;
SET search_path = uniq;
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb);
CREATE TABLE native (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('by_email', 'fact', '{email}', is_unique => true) \gset
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
CALL pg_temp.compare('by_email', $$SELECT doc ->> 'email', id FROM fact WHERE doc ->> 'email' IS NOT NULL$$);

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
SELECT indextable.create('by_pair', 'fact', '{x, n::numeric}', is_unique => true, include => '{email}') \gset
\d by_pair
INSERT INTO fact VALUES (20, '{"x": "x", "n": 1}'), (21, '{"x": "x", "n": 2}'), (22, '{"x": "y", "n": 1}'), (23, '{"x": "x"}'), (24, '{"x": "x"}');
INSERT INTO fact VALUES (25, '{"x": "x", "n": 1.00}');
UPDATE fact SET doc = '{"x": "x", "n": 1.0}' WHERE id = 20;
SELECT * FROM by_pair ORDER BY id;
CALL pg_temp.compare('by_pair', $$SELECT doc ->> 'x', (doc ->> 'n')::numeric, id, doc ->> 'email' FROM fact WHERE doc ->> 'x' IS NOT NULL AND doc ->> 'n' IS NOT NULL$$);

-- multi-valued: every element is unique across rows; within a row it may be there twice
SELECT indextable.create('by_tag', 'fact', '{tags[*]}', is_unique => true) \gset
INSERT INTO fact VALUES (30, '{"tags": ["a", "b", "a"]}'), (31, '{"tags": ["c"]}'), (32, '{"tags": []}');
INSERT INTO fact VALUES (33, '{"tags": ["x", "c"]}');
INSERT INTO fact VALUES (33, '{"tags": ["x"]}'), (34, '{"tags": ["y", "x"]}');
UPDATE fact SET doc = '{"tags": ["c", "b"]}' WHERE id = 30;
UPDATE fact SET doc = '{"tags": ["b", "d"]}' WHERE id = 30;
UPDATE fact SET doc = '{"tags": ["c", "a"]}' WHERE id = 31;
UPDATE fact SET id = 40 WHERE id = 30;
SELECT * FROM by_tag ORDER BY 1, 2;
CALL pg_temp.compare('by_tag', $$SELECT DISTINCT t, id FROM fact, jsonb_array_elements_text(doc -> 'tags') t$$);

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

-- Keys that are handed on while rows' events are still to come.  A unique index looks at the rows; so do we.
\pset format unaligned
CREATE FUNCTION same_on_both(label text, VARIADIC list text[]) RETURNS TABLE (what text, fact text, native text, same text) LANGUAGE plpgsql AS $$
DECLARE
	one text;
	b record;
	f text[];
	n text[];
BEGIN
	TRUNCATE fact, native;
	FOREACH one IN ARRAY list LOOP
		SELECT * INTO b FROM on_both(one);
		f := f || b.fact;
		n := n || b.native;
	END LOOP;
	what := label;
	fact := array_to_string(f, ' ');
	native := array_to_string(n, ' ');
	same := CASE WHEN EXISTS ((TABLE fact EXCEPT ALL TABLE native) UNION ALL (TABLE native EXCEPT ALL TABLE fact)) THEN 'other rows'
		WHEN f IS DISTINCT FROM n THEN 'other outcome'
		WHEN EXISTS (SELECT FROM pg_temp.oracle('by_email', $q$SELECT doc ->> 'email', id FROM uniq.fact WHERE doc ->> 'email' IS NOT NULL$q$)) THEN 'drift'
		ELSE 'same' END;
	RETURN NEXT;
END $$;
SELECT indextable.drop('by_pair'), indextable.drop('by_tag');
ALTER TABLE fact DISABLE ROW LEVEL SECURITY;
CREATE FUNCTION e(email text) RETURNS jsonb IMMUTABLE LANGUAGE sql RETURN jsonb_build_object('email', email);

-- What a trigger does for a row of either table is in the setting uniq.first and the like; depth 1: for rows of the user's statement.
CREATE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	acts text[] := string_to_array(current_setting('uniq.' || TG_ARGV[0], true), '/');
	r record := CASE WHEN TG_OP = 'INSERT' THEN NEW ELSE OLD END;
BEGIN
	IF acts[pg_trigger_depth()] <> '' THEN
		EXECUTE replace(acts[pg_trigger_depth()], 'THIS', TG_TABLE_NAME) USING r.id, r.doc;
	END IF;
	RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END $$;
DO $$
DECLARE
	t text;
BEGIN
	FOREACH t IN ARRAY '{fact,native}'::text[] LOOP
		EXECUTE format('CREATE TRIGGER before_us BEFORE INSERT OR UPDATE OR DELETE ON %I FOR EACH ROW EXECUTE FUNCTION act(before)', t);
		EXECUTE format('CREATE TRIGGER "!first" AFTER INSERT OR UPDATE OR DELETE ON %I FOR EACH ROW EXECUTE FUNCTION act(first)', t);
		EXECUTE format('CREATE TRIGGER zz_last AFTER INSERT OR UPDATE OR DELETE ON %I FOR EACH ROW EXECUTE FUNCTION act(last)', t);
	END LOOP;
END $$;

-- by the primary key
SELECT * FROM same_on_both('shift down', $$INSERT INTO TABLE VALUES (2, e('a')), (3, e('b')), (4, e('c'))$$,
	'UPDATE TABLE SET id = id - 1', 'UPDATE TABLE SET id = id + 10', 'UPDATE TABLE SET id = id - 1');
UPDATE fact SET id = id - 1;
TABLE by_email ORDER BY id;
SELECT * FROM same_on_both('shift the keys along', $$INSERT INTO TABLE VALUES (2, e('a')), (3, e('b')), (4, e('c'))$$,
	$$UPDATE TABLE SET id = id - 1, doc = e(chr(ascii(doc ->> 'email') - 1))$$,
	$$UPDATE TABLE SET id = id - 1, doc = e(chr(ascii(doc ->> 'email') + 1))$$);
SELECT * FROM same_on_both('onto a row that moved away', $$INSERT INTO TABLE VALUES (2, e('a')), (5, e('b')), (3, e('q'))$$,
	$$UPDATE TABLE SET id = CASE id WHEN 2 THEN 1 WHEN 5 THEN 6 ELSE 2 END, doc = e(CASE id WHEN 2 THEN 'a' WHEN 5 THEN 'z' ELSE 'b' END)$$);
SELECT * FROM same_on_both('swap', $$INSERT INTO TABLE VALUES (1, e('a')), (2, e('b'))$$,
	$$UPDATE TABLE SET doc = e(CASE id WHEN 1 THEN 'b' ELSE 'a' END)$$,
	$$UPDATE TABLE SET id = 3 - id$$,
	$$UPDATE TABLE SET id = id + 10, doc = e(CASE id WHEN 1 THEN 'b' ELSE 'a' END)$$);

-- by a trigger
SELECT * FROM same_on_both('first: after deletion', $$INSERT INTO TABLE VALUES (1, e('a')), (2, e('b'))$$,
	$$SET uniq.first = 'INSERT INTO THIS VALUES ($1 + 100, $2)'$$, $$DELETE FROM TABLE WHERE id = 1$$, $$DELETE FROM TABLE$$,
	$$UPDATE TABLE SET id = id + 20, doc = e('new' || id)$$, $$UPDATE TABLE SET doc = e('newer' || id) WHERE id < 200$$, $$SET uniq.first = ''$$);
SELECT * FROM same_on_both('last: after deletion', $$INSERT INTO TABLE VALUES (1, e('a')), (2, e('b'))$$,
	$$SET uniq.last = 'INSERT INTO THIS VALUES ($1 + 100, $2)'$$, $$DELETE FROM TABLE WHERE id = 1$$, $$DELETE FROM TABLE$$,
	$$UPDATE TABLE SET id = id + 20, doc = e('new' || id)$$, $$UPDATE TABLE SET doc = e('newer' || id) WHERE id < 200$$, $$SET uniq.last = ''$$);
SELECT * FROM same_on_both('the key goes to another row, or on to a third', $$INSERT INTO TABLE VALUES (1, e('a')), (2, e('b')), (3, e('c'))$$,
	$$SET uniq.first = 'UPDATE THIS SET doc = $2 WHERE id = 3'$$, $$UPDATE TABLE SET doc = e('x') WHERE id = 1$$,
	$$SET uniq.first = 'UPDATE THIS SET doc = $2 WHERE id = 2/UPDATE THIS SET doc = $2 WHERE id = 1'$$, $$DELETE FROM TABLE WHERE id = 3$$,
	$$SET uniq.first = ''$$);
SELECT * FROM same_on_both('there and back', $$INSERT INTO TABLE VALUES (1, e('a'))$$,
	$$SET uniq.first = 'INSERT INTO THIS VALUES ($1 + 100, $2)/UPDATE THIS SET doc = e(''x'') WHERE id = $1/UPDATE THIS SET doc = e(''a'') WHERE id = 1'$$,
	$$UPDATE TABLE SET doc = e('y')$$, $$DELETE FROM TABLE WHERE id = 1$$, $$SET uniq.first = ''$$);
-- three rows in a chain, of which none has been deleted when the entries are written
SELECT * FROM same_on_both('an insertion whose key goes on', $$SET uniq.last = 'UPDATE THIS SET doc = e(''x'') WHERE id = $1 AND id = 5'$$,
	$$SET uniq.first = '/INSERT INTO THIS VALUES (4, $2)'$$, $$INSERT INTO TABLE VALUES (5, e('a'))$$,
	$$TRUNCATE TABLE$$, $$SET uniq.first = '/INSERT INTO THIS VALUES (6, $2)'$$, $$INSERT INTO TABLE VALUES (5, e('a'))$$,
	$$SET uniq.first = ''$$, $$SET uniq.last = ''$$);
SELECT * FROM same_on_both('a BEFORE trigger frees it', $$INSERT INTO TABLE VALUES (1, e('a')), (2, e('b'))$$,
	$$SET uniq.before = 'DELETE FROM THIS WHERE doc ->> ''email'' = ''a'''$$, $$INSERT INTO TABLE VALUES (5, e('a'))$$,
	$$UPDATE TABLE SET doc = e('a') WHERE id = 2$$, $$INSERT INTO TABLE VALUES (7, e('a')), (8, e('a'))$$, $$SET uniq.before = ''$$);
SELECT * FROM same_on_both('a BEFORE trigger takes it from the row before', $$INSERT INTO TABLE VALUES (1, e('a')), (2, e('b'))$$,
	$$SET uniq.before = 'INSERT INTO THIS SELECT 9, e(''a'') WHERE $1 = 2'$$, $$UPDATE TABLE SET doc = e('x' || id)$$,
	$$SET uniq.before = ''$$);
-- it is still there: the row goes later, or its trigger is rolled back
SELECT * FROM same_on_both('too early', $$INSERT INTO TABLE VALUES (1, e('a')), (2, e('b'))$$,
	$$SET uniq.before = 'INSERT INTO THIS SELECT 9, e(''b'') WHERE $1 = 1'$$, $$DELETE FROM TABLE$$,
	$$UPDATE TABLE SET doc = e('x' || id)$$, $$SET uniq.before = ''$$);
SELECT * FROM same_on_both('the fixed one was refused already', $$INSERT INTO TABLE VALUES (1, e('a')), (2, e('b'))$$,
	$$SET uniq.last = 'UPDATE THIS SET doc = e(''fixed'') WHERE id = $1'$$, $$INSERT INTO TABLE VALUES (3, e('a'))$$,
	$$UPDATE TABLE SET doc = e('a') WHERE id = 2$$, $$SET uniq.last = ''$$);
SELECT * FROM same_on_both('rolled back', $$INSERT INTO TABLE VALUES (1, e('a')), (2, e('b'))$$,
	$$SET uniq.first = 'DO $d$ BEGIN INSERT INTO THIS VALUES (9, e(''a'')); RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN END $d$'$$,
	$$DELETE FROM TABLE WHERE id = 1$$, $$SET uniq.first = ''$$, $$INSERT INTO TABLE VALUES (4, e('a'))$$,
	$$SET uniq.first = 'DO $d$ BEGIN INSERT INTO THIS VALUES (9, e(''a'')); EXCEPTION WHEN division_by_zero THEN END $d$'$$,
	$$DELETE FROM TABLE WHERE id = 4$$, $$SET uniq.first = ''$$);
SELECT * FROM same_on_both('swap in a block', $$INSERT INTO TABLE VALUES (1, e('a')), (2, e('b')), (3, e('c'))$$,
	$$SET uniq.first = 'DO $d$ BEGIN UPDATE THIS SET doc = e(CASE id WHEN 1 THEN ''b'' ELSE ''a'' END) WHERE id < 3; EXCEPTION WHEN unique_violation THEN END $d$'$$,
	$$UPDATE TABLE SET doc = e('d') WHERE id = 3$$,
	$$SET uniq.first = 'DO $d$ BEGIN UPDATE THIS SET id = id - 1; EXCEPTION WHEN unique_violation THEN END $d$'$$,
	$$UPDATE TABLE SET doc = e('e') WHERE id = 3$$, $$SET uniq.first = ''$$);
-- in one statement of several parts
SELECT * FROM same_on_both('parts', $$INSERT INTO TABLE VALUES (1, e('a')), (2, e('b')), (3, e('c'))$$,
	$$WITH d AS (DELETE FROM TABLE WHERE id = 1 RETURNING *) INSERT INTO TABLE SELECT id + 10, doc FROM d$$,
	$$MERGE INTO TABLE t USING (VALUES (2), (20)) s(id) ON t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id, e('b'))$$,
	$$MERGE INTO TABLE t USING (VALUES (30), (3)) s(id) ON t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id, e('c'))$$,
	$$INSERT INTO TABLE VALUES (3, e('d')), (4, e('c')) ON CONFLICT (id) DO UPDATE SET doc = EXCLUDED.doc$$,
	$$INSERT INTO TABLE VALUES (4, e('d')), (3, e('c')) ON CONFLICT (id) DO UPDATE SET doc = EXCLUDED.doc$$,
	$$INSERT INTO TABLE VALUES (3, e('e')) ON CONFLICT (id) DO UPDATE SET id = 4, doc = EXCLUDED.doc$$);

-- by a foreign key, whose cascade comes last
DROP TABLE fact, native CASCADE;
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE fact (id int PRIMARY KEY, pid int REFERENCES parent ON UPDATE SET NULL, doc jsonb);
CREATE TABLE native (id int PRIMARY KEY, pid int REFERENCES parent ON UPDATE SET NULL, doc jsonb);
SELECT indextable.create('by_pid', 'fact', '{@pid}', is_unique => true);
CREATE UNIQUE INDEX ON native (pid);
CREATE FUNCTION heir() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO parent VALUES (OLD.id);
	INSERT INTO native VALUES (OLD.id + 100, OLD.id);
	INSERT INTO fact VALUES (OLD.id + 100, OLD.id);
	RETURN NULL;
END $$;
CREATE TRIGGER zz AFTER UPDATE ON parent FOR EACH ROW EXECUTE FUNCTION heir();
INSERT INTO parent VALUES (1), (2);
INSERT INTO fact VALUES (1, 1), (2, 2), (3, NULL);
INSERT INTO native TABLE fact;
UPDATE parent SET id = id + 10;
TABLE fact EXCEPT ALL TABLE native;
SELECT * FROM by_pid ORDER BY id;
SELECT * FROM pg_temp.oracle('by_pid', 'SELECT pid, id FROM fact WHERE pid IS NOT NULL');
DROP TABLE fact, native CASCADE;
CREATE TABLE fact (pid int REFERENCES parent ON UPDATE CASCADE, n int, doc jsonb, PRIMARY KEY (pid, n));
INSERT INTO fact VALUES (1, 2, e('a')), (1, 3, e('b')), (2, 1, e('c'));
SELECT indextable.create('by_email', 'fact', '{email}', is_unique => true);
UPDATE fact SET n = n - 1;
DROP TRIGGER zz ON parent;
UPDATE parent SET id = id + 20 WHERE id < 3;
SELECT * FROM by_email ORDER BY email;

-- partitions, which are written directly as well; the index table has partitions, too
DROP TABLE fact CASCADE;
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE leaf PARTITION OF fact FOR VALUES FROM (0) TO (100);
CREATE TABLE rest (doc jsonb, id int NOT NULL);
ALTER TABLE fact ATTACH PARTITION rest DEFAULT;
SELECT indextable.create('by_email', 'fact', '{email}', is_unique => true, partitions => 2, include => '{x}');
SELECT indextable.create('by_tag', 'fact', '{tags[*]}', is_unique => true);
CREATE TEMP VIEW drift AS SELECT * FROM pg_temp.oracle('uniq.by_email', $$SELECT doc ->> 'email', id, doc ->> 'x' FROM uniq.fact WHERE doc ->> 'email' IS NOT NULL$$)
	UNION ALL SELECT * FROM pg_temp.oracle('uniq.by_tag', $$SELECT DISTINCT t, id FROM uniq.fact, jsonb_array_elements_text(doc -> 'tags') t$$);
INSERT INTO fact SELECT g, e('e' || g) || jsonb_build_object('x', g, 'tags', ARRAY['t' || g, 'u' || g]) FROM generate_series(2, 6) g;
UPDATE leaf SET id = id - 1;
SELECT * FROM drift;
DO $$ BEGIN UPDATE leaf SET id = id - 1; EXCEPTION WHEN unique_violation THEN RAISE NOTICE 'refused'; END $$;
SELECT * FROM drift;
UPDATE leaf SET doc = e(CASE id WHEN 1 THEN 'e4' ELSE 'e3' END) WHERE id IN (1, 2);
UPDATE fact SET id = CASE WHEN id < 2 THEN id + 200 ELSE id - 1 END;
SELECT * FROM drift;
SELECT * FROM by_email ORDER BY id;
-- elements that go from row to row, and to another partition, while the event of their row is still to come
CREATE FUNCTION inherit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() = 1 THEN
		INSERT INTO fact VALUES (OLD.id + 300, jsonb_build_object('email', OLD.doc -> 'email', 'tags', (OLD.doc -> 'tags') - 0));
		UPDATE fact SET doc = doc || jsonb_build_object('tags', (doc -> 'tags') || jsonb_build_array(OLD.doc #> '{tags,0}')) WHERE id = 3;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER "!inherit" AFTER DELETE ON fact FOR EACH ROW EXECUTE FUNCTION inherit();
DELETE FROM fact WHERE id = 2;
DELETE FROM leaf WHERE id = 1;
DELETE FROM rest WHERE id < 300;
SELECT * FROM drift;
SELECT * FROM by_tag ORDER BY id, tags;
DROP TRIGGER "!inherit" ON fact;

-- a filter, numbers that are equal but for their bytes, and a primary key that is checked late
DROP TABLE fact CASCADE;
CREATE TABLE fact (id int PRIMARY KEY DEFERRABLE, doc jsonb);
CREATE TABLE native (id int PRIMARY KEY DEFERRABLE, doc jsonb);
SELECT indextable.create('by_n', 'fact', '{n::numeric}', is_unique => true, filter => $$doc ->> 'on' = 'yes'$$);
CREATE UNIQUE INDEX ON native (((doc ->> 'n')::numeric)) WHERE doc ->> 'on' = 'yes';
CREATE FUNCTION succeed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() = 1 AND NEW.doc ->> 'on' = 'no' THEN
		EXECUTE format('INSERT INTO %I SELECT $1 + 100, $2 || jsonb_build_object(''n'', ($2 ->> ''n'')::numeric::numeric(5, 2))', TG_TABLE_NAME) USING OLD.id, OLD.doc;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER "!first" AFTER UPDATE ON fact FOR EACH ROW EXECUTE FUNCTION succeed();
CREATE TRIGGER "!first" AFTER UPDATE ON native FOR EACH ROW EXECUTE FUNCTION succeed();
SELECT no, b.* FROM unnest(ARRAY[
	$$INSERT INTO TABLE SELECT g, jsonb_build_object('n', g, 'on', 'yes') FROM generate_series(1, 3) g$$,
	$$UPDATE TABLE SET doc = doc || '{"on": "no"}' WHERE id < 3$$,
	$$UPDATE TABLE SET id = 104 - id WHERE id IN (3, 101)$$,
	$$UPDATE TABLE SET id = CASE id WHEN 101 THEN 3 ELSE 101 END, doc = doc || jsonb_build_object('n', 104 - id) WHERE id IN (3, 101)$$,
	$$UPDATE TABLE SET doc = '{"n": 3, "on": "yes"}' WHERE id = 2$$]) WITH ORDINALITY s(statement, no), on_both(statement) b ORDER BY no;
TABLE fact EXCEPT ALL TABLE native;
TABLE native EXCEPT ALL TABLE fact;
SELECT * FROM by_n ORDER BY n;
SELECT * FROM pg_temp.oracle('by_n', $$SELECT (doc ->> 'n')::numeric, id FROM fact WHERE doc ->> 'on' = 'yes'$$);
\pset format aligned

SET client_min_messages = warning;
DROP SCHEMA uniq CASCADE;
DROP ROLE regress_it_writer;
CALL pg_temp.no_rows('pg_temp.leftovers()');
