-- Every way to write the fact table, followed by the oracle.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA dml;
SET search_path = dml;
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb, note text);
SELECT indextable.create('by_k', 'fact', '{k}', include => '{v}') \gset
SELECT indextable.create('by_tag', 'fact', '{tags[*]}', 'denormalized') \gset
CREATE FUNCTION differences() RETURNS TABLE (index_table text, side text, entry text) LANGUAGE sql AS $$
	SELECT 'by_k', d.* FROM pg_temp.oracle('by_k', 'SELECT doc ->> ''k'', id, doc ->> ''v'' FROM fact') d
	UNION ALL
	SELECT 'by_tag', d.* FROM pg_temp.oracle('by_tag', 'SELECT DISTINCT t, id, doc FROM fact, jsonb_array_elements_text(doc -> ''tags'') t') d
$$;

-- ---- COPY, ON CONFLICT, MERGE, WITH, UPDATE ... FROM
COPY fact FROM stdin;
1	{"k": "a", "v": 1, "tags": ["x", "y"]}	\N
2	{"k": "b", "v": 2, "tags": ["x"]}	\N
3	{"k": null}	\N
4	\N	\N
\.
SELECT * FROM by_k ORDER BY id;
INSERT INTO fact VALUES (1, '{"k": "lost"}'), (5, '{"k": "e"}') ON CONFLICT DO NOTHING;
INSERT INTO fact VALUES (1, '{"k": "A", "tags": ["y", "z"]}'), (6, '{"k": "f"}') ON CONFLICT (id) DO UPDATE SET doc = EXCLUDED.doc;
INSERT INTO fact VALUES (1, '{"k": "no"}') ON CONFLICT (id) DO UPDATE SET doc = EXCLUDED.doc WHERE false;
SELECT * FROM by_k ORDER BY id;
CALL pg_temp.no_rows('differences()');
MERGE INTO fact f USING (VALUES (1, 'gone'), (2, 'changed'), (7, 'new'), (8, 'nothing')) s(id, what) ON f.id = s.id
	WHEN MATCHED AND what = 'gone' THEN DELETE
	WHEN MATCHED THEN UPDATE SET doc = jsonb_build_object('k', what, 'tags', ARRAY[what])
	WHEN NOT MATCHED AND what = 'nothing' THEN DO NOTHING
	WHEN NOT MATCHED THEN INSERT VALUES (s.id, jsonb_build_object('k', what, 'tags', ARRAY[what]));
SELECT * FROM by_k ORDER BY id;
CALL pg_temp.no_rows('differences()');
WITH moved AS (DELETE FROM fact WHERE id IN (2, 7) RETURNING *), more AS (INSERT INTO fact VALUES (20, '{"k": "t"}') RETURNING id)
INSERT INTO fact SELECT id + 100, doc || '{"k": "moved"}' FROM moved RETURNING id, (SELECT count(*) FROM more);
CALL pg_temp.no_rows('differences()');
-- a row that is deleted and inserted again by one statement
WITH gone AS (DELETE FROM fact WHERE id = 5 RETURNING *) INSERT INTO fact SELECT id + 1000, doc FROM gone;
UPDATE fact SET doc = fact.doc || jsonb_build_object('v', s.n) FROM (SELECT id, row_number() OVER (ORDER BY id) n FROM fact) s WHERE s.id = fact.id;
DELETE FROM fact USING (VALUES (6), (20)) s(id) WHERE s.id = fact.id;
SELECT * FROM by_k ORDER BY id;
CALL pg_temp.no_rows('differences()');
-- an update that writes a row's old key back, within a transaction
BEGIN;
UPDATE fact SET doc = '{"k": "one", "tags": ["one"]}' WHERE id = 102;
UPDATE fact SET doc = '{"k": "two", "tags": ["one", "two"]}' WHERE id = 102;
UPDATE fact SET doc = '{"k": "one", "tags": ["two"]}' WHERE id = 102;
SELECT k, id FROM by_k WHERE id = 102;
CALL pg_temp.no_rows('differences()');
DELETE FROM fact WHERE id = 102;
INSERT INTO fact VALUES (102, '{"k": "one", "tags": ["two"]}');
CALL pg_temp.no_rows('differences()');
COMMIT;
CALL pg_temp.no_rows('differences()');

-- ---- savepoints
BEGIN;
INSERT INTO fact VALUES (30, '{"k": "outer"}');
SAVEPOINT a;
UPDATE fact SET doc = '{"k": "inner"}' WHERE id = 30;
INSERT INTO fact VALUES (31, '{"k": "inner"}');
SELECT * FROM by_k WHERE id IN (30, 31) ORDER BY id;
ROLLBACK TO a;
SELECT * FROM by_k WHERE id IN (30, 31) ORDER BY id;
DELETE FROM fact WHERE id = 30;
SAVEPOINT b;
INSERT INTO fact VALUES (30, '{"k": "again"}'), (31, '{"k": "again"}');
RELEASE b;
CALL pg_temp.no_rows('differences()');
COMMIT;
SELECT * FROM by_k WHERE id IN (30, 31) ORDER BY id;
BEGIN; DELETE FROM fact; SELECT count(*) FROM by_k; ROLLBACK;
CALL pg_temp.no_rows('differences()');

-- ---- exception blocks
DO $$
BEGIN
	FOR i IN 40..45 LOOP
		BEGIN
			INSERT INTO fact VALUES (i, jsonb_build_object('k', i, 'tags', ARRAY[i, i + 1]));
			IF i % 2 = 0 THEN RAISE EXCEPTION 'even'; END IF;
		EXCEPTION WHEN raise_exception THEN
			UPDATE fact SET doc = doc || jsonb_build_object('v', 'after ' || i) WHERE id = i - 1;
		END;
	END LOOP;
	BEGIN
		UPDATE fact SET doc = '{"k": "lost"}' WHERE id >= 40;
		UPDATE fact SET id = 41 WHERE id = 43;    -- duplicate
	EXCEPTION WHEN unique_violation THEN NULL;
	END;
END $$;
SELECT * FROM by_k WHERE id >= 40 AND id < 100 ORDER BY id;
CALL pg_temp.no_rows('differences()');
-- statements nested in a trigger's exception block, while a statement over the same table runs
CREATE FUNCTION nest() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() > 1 THEN RETURN NULL; END IF;
	BEGIN
		-- the next row, which the outer statement has changed too; a new row; and one that goes
		UPDATE fact SET doc = doc || jsonb_build_object('v', 'nested by ' || NEW.id) WHERE id = NEW.id + 1;
		INSERT INTO fact VALUES (NEW.id + 500, jsonb_build_object('k', 'nested', 'tags', ARRAY['nested']));
		DELETE FROM fact WHERE id = NEW.id + 499;
		IF NEW.id % 2 = 0 THEN RAISE EXCEPTION 'even'; END IF;
	EXCEPTION WHEN raise_exception THEN
		UPDATE fact SET doc = jsonb_set(doc, '{k}', '"caught"') WHERE id = NEW.id;
	END;
	RETURN NULL;
END $$;
CREATE TRIGGER "!nest" AFTER INSERT OR UPDATE ON fact FOR EACH ROW EXECUTE FUNCTION nest();
INSERT INTO fact SELECT i, jsonb_build_object('k', 'n' || i, 'tags', ARRAY[i]) FROM generate_series(60, 65) i;
SELECT * FROM by_k WHERE id >= 60 AND (id < 100 OR id > 500) ORDER BY id;
CALL pg_temp.no_rows('differences()');
DELETE FROM fact WHERE id > 500;
UPDATE fact SET doc = doc || '{"k": "u"}' WHERE id BETWEEN 60 AND 65;
SELECT * FROM by_k WHERE id >= 60 AND (id < 100 OR id > 500) ORDER BY id;
CALL pg_temp.no_rows('differences()');
ALTER TRIGGER "!nest" ON fact RENAME TO zz_nest;
DELETE FROM fact WHERE id > 500;
UPDATE fact SET doc = doc || '{"k": "w"}' WHERE id BETWEEN 60 AND 65;
CALL pg_temp.no_rows('differences()');
DROP TRIGGER zz_nest ON fact;
-- triggers of every kind that write the same rows and others of the statement
CREATE FUNCTION other() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() = 1 THEN
		UPDATE fact SET doc = '{"k": "by trigger", "tags": ["t"]}' WHERE id = 61;
		DELETE FROM fact WHERE id = 62;
		INSERT INTO fact VALUES (62, '{"k": "reborn", "tags": ["t", "u"]}');
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER "!other" AFTER UPDATE ON fact FOR EACH ROW EXECUTE FUNCTION other();
UPDATE fact SET doc = doc || '{"k": "x", "v": "x"}' WHERE id BETWEEN 60 AND 65;
SELECT * FROM by_k WHERE id BETWEEN 60 AND 65 ORDER BY id;
CALL pg_temp.no_rows('differences()');
ALTER TRIGGER "!other" ON fact RENAME TO zz_other;
UPDATE fact SET doc = doc || '{"k": "y", "v": "y"}' WHERE id BETWEEN 60 AND 65;
CALL pg_temp.no_rows('differences()');
DROP TRIGGER zz_other ON fact;
CREATE TRIGGER stmt AFTER UPDATE ON fact FOR EACH STATEMENT EXECUTE FUNCTION other();
UPDATE fact SET doc = doc || '{"k": "z", "v": "z"}' WHERE id BETWEEN 60 AND 65;
CALL pg_temp.no_rows('differences()');
DROP TRIGGER stmt ON fact;
CREATE TRIGGER before_stmt BEFORE UPDATE ON fact FOR EACH STATEMENT EXECUTE FUNCTION other();
UPDATE fact SET doc = doc || '{"k": "0", "v": "0"}' WHERE id BETWEEN 63 AND 65;
CALL pg_temp.no_rows('differences()');
DROP TRIGGER before_stmt ON fact;
-- a row that its statement deletes and inserts again; a trigger gives the new row its old entries before the index tables hear of either
CREATE FUNCTION restore() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE fact SET doc = OLD.doc WHERE id = OLD.id;
	RETURN NULL;
END $$;
CREATE TRIGGER "!restore" AFTER DELETE ON fact FOR EACH ROW EXECUTE FUNCTION restore();
WITH d AS (DELETE FROM fact WHERE id BETWEEN 63 AND 65 RETURNING *) INSERT INTO fact SELECT id, '{"k": "again", "tags": ["v"]}' FROM d;
SELECT * FROM by_k WHERE id BETWEEN 63 AND 65 ORDER BY id;
CALL pg_temp.no_rows('differences()');
DROP TRIGGER "!restore" ON fact;

-- ---- BEFORE triggers that change the document, whatever the statement names
CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS
	$$BEGIN NEW.doc := NEW.doc || jsonb_build_object('k', 'stamped ' || coalesce(NEW.note, '')); RETURN NEW; END$$;
CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON fact FOR EACH ROW EXECUTE FUNCTION stamp();
UPDATE fact SET note = 'x' WHERE id = 60;
INSERT INTO fact VALUES (70, '{"k": "mine"}', 'y');
SELECT * FROM by_k WHERE id IN (60, 70) ORDER BY id;
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NULL; END$$;
CREATE TRIGGER refuse BEFORE INSERT OR UPDATE OR DELETE ON fact FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse();
INSERT INTO fact VALUES (71, '{"k": "refused"}');
UPDATE fact SET doc = '{"k": "refused"}';
DELETE FROM fact;
CALL pg_temp.no_rows('differences()');
DROP TRIGGER refuse ON fact;
DROP TRIGGER stamp ON fact;

-- ---- a rule instead of a trigger
CREATE TABLE log (id int, doc jsonb);
CREATE RULE keep AS ON DELETE TO log DO ALSO DELETE FROM fact WHERE id = OLD.id;
INSERT INTO log VALUES (60), (61);
DELETE FROM log;
CALL pg_temp.no_rows('differences()');
-- ---- an updatable view
CREATE VIEW facts AS SELECT id, doc FROM fact WHERE id >= 60 WITH CHECK OPTION;
INSERT INTO facts VALUES (75, '{"k": "through a view"}');
UPDATE facts SET doc = doc || '{"v": "view"}' WHERE id = 75;
SELECT * FROM by_k WHERE id = 75;
CALL pg_temp.no_rows('differences()');

-- ---- primary keys that change: shift, swap, into a deleted one
UPDATE fact SET id = -id WHERE id IN (62, 63);
UPDATE fact SET id = 80, doc = doc || '{"k": "eighty"}' WHERE id = 75;
CALL pg_temp.no_rows('differences()');
BEGIN; DELETE FROM fact WHERE id = 64; UPDATE fact SET id = 64 WHERE id = 65; COMMIT;
CALL pg_temp.no_rows('differences()');
TRUNCATE fact;
SELECT count(*) FROM by_k;
CREATE TABLE swap (id int, doc jsonb, CONSTRAINT swap_pkey PRIMARY KEY (id) DEFERRABLE);
SELECT indextable.create('swap_k', 'swap', '{k}', include => '{v}') \gset
INSERT INTO swap SELECT i, jsonb_build_object('k', 'k' || i, 'v', i) FROM generate_series(1, 5) i;
UPDATE swap SET id = 3 - id WHERE id IN (1, 2);
UPDATE swap SET id = id + 1;
SELECT * FROM swap_k ORDER BY id;
CALL pg_temp.compare('swap_k', $$SELECT doc ->> 'k', id, doc ->> 'v' FROM swap$$);
BEGIN;
SET CONSTRAINTS swap_pkey DEFERRED;
-- two rows of one key, for a while, with different entries and the same
INSERT INTO swap VALUES (2, '{"k": "twice", "v": "twice"}'), (3, '{"k": "k1", "v": "second"}');
SELECT id, doc FROM swap WHERE id IN (2, 3) ORDER BY id, doc::text COLLATE "C";
UPDATE swap SET id = 20 WHERE id = 2 AND doc ->> 'k' = 'twice';
UPDATE swap SET id = 30 WHERE id = 3 AND doc ->> 'v' <> 'second';
UPDATE swap SET doc = '{"k": "3", "v": "3"}' WHERE id = 3;
COMMIT;
SELECT * FROM swap ORDER BY id;
CALL pg_temp.compare('swap_k', $$SELECT doc ->> 'k', id, doc ->> 'v' FROM swap$$);
BEGIN;
SET CONSTRAINTS swap_pkey DEFERRED;
INSERT INTO swap SELECT id, doc FROM swap;       -- the same rows again: the same entries
DELETE FROM swap s USING (SELECT id, max(ctid) AS last FROM swap GROUP BY id) d WHERE s.id = d.id AND s.ctid = d.last;
COMMIT;
CALL pg_temp.compare('swap_k', $$SELECT doc ->> 'k', id, doc ->> 'v' FROM swap$$);
BEGIN;
SET CONSTRAINTS swap_pkey DEFERRED;
INSERT INTO swap VALUES (2, '{"k": "left"}');
COMMIT;
CALL pg_temp.compare('swap_k', $$SELECT doc ->> 'k', id, doc ->> 'v' FROM swap$$);
CREATE TABLE late (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, doc jsonb);
SELECT indextable.create('late_k', 'late', '{k}') \gset
BEGIN;
INSERT INTO late VALUES (1, '{"k": "a"}'), (1, '{"k": "b"}'), (2, '{"k": "a"}');
SELECT * FROM late_k ORDER BY id, k;
UPDATE late SET doc = '{"k": "c"}' WHERE doc ->> 'k' = 'b';
CALL pg_temp.compare('late_k', $$SELECT doc ->> 'k', id FROM late$$);
UPDATE late SET id = 3 WHERE doc ->> 'k' = 'c';
DELETE FROM late WHERE id = 2;
UPDATE late SET id = 4 - id;
COMMIT;
SELECT * FROM late_k ORDER BY id;
CALL pg_temp.compare('late_k', $$SELECT doc ->> 'k', id FROM late$$);

-- ---- TRUNCATE
INSERT INTO fact SELECT i, jsonb_build_object('k', i, 'tags', ARRAY[i]) FROM generate_series(1, 3) i;
BEGIN; TRUNCATE fact; INSERT INTO fact VALUES (9, '{"k": "nine"}'); SELECT * FROM by_k; ROLLBACK;
CALL pg_temp.no_rows('differences()');
BEGIN; INSERT INTO fact VALUES (8, '{"k": "eight"}'); SAVEPOINT s; TRUNCATE fact; ROLLBACK TO s; COMMIT;
-- Savepoints that are released leave no memory behind.
BEGIN;
DO $$ BEGIN
	FOR i IN 101..300 LOOP
		BEGIN INSERT INTO fact VALUES (i, '{"k": "nested"}'); EXCEPTION WHEN unique_violation THEN NULL; END;
	END LOOP;
END $$;
SELECT count(*) < 20 AS few FROM pg_backend_memory_contexts WHERE name = 'CurTransactionContext';
ROLLBACK;
CALL pg_temp.no_rows('differences()');
TRUNCATE fact, swap;
SELECT (SELECT count(*) FROM by_k), (SELECT count(*) FROM by_tag), (SELECT count(*) FROM swap_k);

-- ---- replication role, disabled triggers
SET session_replication_role = replica;
INSERT INTO fact VALUES (1, '{"k": "replica", "tags": ["r"]}'), (2, '{"k": "replica"}');
UPDATE fact SET doc = '{"k": "replica2"}' WHERE id = 2;
DELETE FROM fact WHERE id = 1;
SELECT * FROM by_k;
CALL pg_temp.no_rows('differences()');
TRUNCATE fact;
SELECT * FROM by_k;
RESET session_replication_role;

-- ---- foreign keys: into the fact table, and from it
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent ON UPDATE CASCADE ON DELETE CASCADE, doc jsonb);
CREATE TABLE grandchild (id int PRIMARY KEY, child int DEFAULT 0 REFERENCES child ON UPDATE CASCADE ON DELETE SET NULL, doc jsonb);
SELECT indextable.create('child_k', 'child', '{k, @parent}', include => '{v}') \gset
SELECT indextable.create('grandchild_k', 'grandchild', '{@child, k}') \gset
INSERT INTO parent SELECT generate_series(1, 3);
INSERT INTO child SELECT i, (i + 1) / 2, jsonb_build_object('k', 'k' || i, 'v', i) FROM generate_series(1, 6) i;
INSERT INTO grandchild SELECT i, i, jsonb_build_object('k', 'k' || i) FROM generate_series(1, 6) i;
UPDATE parent SET id = 10 WHERE id = 1;
DELETE FROM parent WHERE id = 2;
UPDATE child SET id = 50 WHERE id = 5;
SELECT * FROM child_k ORDER BY id;
SELECT * FROM grandchild_k ORDER BY id;
CALL pg_temp.compare('child_k', $$SELECT doc ->> 'k', parent, id, doc ->> 'v' FROM child$$);
CALL pg_temp.compare('grandchild_k', $$SELECT child, doc ->> 'k', id FROM grandchild$$);
TRUNCATE parent CASCADE;
SELECT (SELECT count(*) FROM child_k), (SELECT count(*) FROM grandchild_k);

-- ---- generated columns: as document, key and included field
CREATE TABLE gen (id int PRIMARY KEY, a text, doc jsonb GENERATED ALWAYS AS ((('{"k": "' || upper(a) || '"}')::jsonb)) STORED,
	len int GENERATED ALWAYS AS (length(a)) STORED);
SELECT indextable.create('gen_k', 'gen', '{k, @len}', include => '{@a}') \gset
INSERT INTO gen VALUES (1, 'one'), (2, 'two'), (3, NULL);
UPDATE gen SET a = 'three' WHERE id IN (1, 3);
SELECT * FROM gen_k ORDER BY id;
CALL pg_temp.compare('gen_k', $$SELECT doc ->> 'k', len, id, a FROM gen$$);
-- ---- identity and defaults
CREATE TABLE ident (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, doc jsonb DEFAULT '{"k": "default"}');
SELECT indextable.create('ident_k', 'ident', '{k}') \gset
INSERT INTO ident DEFAULT VALUES;
INSERT INTO ident (doc) VALUES ('{"k": "a"}');
UPDATE ident SET doc = DEFAULT WHERE id = 2;
SELECT * FROM ident_k ORDER BY id;

-- ---- updates that change neither key nor included fields: the index table is not touched, the fact table stays HOT
TRUNCATE fact;
ALTER TABLE fact SET (fillfactor = 50);
INSERT INTO fact SELECT i, jsonb_build_object('k', i, 'v', i, 'other', 0), 'note' FROM generate_series(1, 20) i;
DROP TABLE by_tag;
CREATE TEMP TABLE before AS SELECT ctid AS place, xmin AS writer, cmin AS command, * FROM by_k;
SELECT pg_stat_force_next_flush();
SELECT n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_user_tables WHERE relid = 'by_k'::regclass \gset was_
SELECT :was_n_tup_ins > 0 AS counted;
UPDATE fact SET note = 'other';
UPDATE fact SET doc = jsonb_set(doc, '{other}', '1');
UPDATE fact SET doc = doc;
SELECT count(*) AS touched FROM by_k t FULL JOIN before b ON t.ctid = place AND t.xmin = writer AND t.id = b.id AND t.k = b.k WHERE t IS NULL OR b IS NULL;
SELECT pg_stat_force_next_flush();
SELECT n_tup_ins - :was_n_tup_ins AS inserted, n_tup_upd - :was_n_tup_upd AS updated, n_tup_del - :was_n_tup_del AS deleted
FROM pg_stat_user_tables WHERE relid = 'by_k'::regclass;
CREATE TABLE hot (id int PRIMARY KEY, doc jsonb) WITH (fillfactor = 50);
SELECT indextable.create('hot_k', 'hot', '{k}', include => '{v}') \gset
INSERT INTO hot SELECT i, jsonb_build_object('k', i, 'v', i) FROM generate_series(1, 20) i;
BEGIN;
UPDATE hot SET doc = jsonb_set(doc, '{other}', '1');
UPDATE hot SET doc = jsonb_set(doc, '{v}', '"included"') WHERE id <= 5;
UPDATE hot SET doc = jsonb_set(doc, '{k}', '"key"') WHERE id <= 5;
-- even those that change the key, unlike with an expression index
SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_user_tables WHERE relid = 'hot'::regclass;
COMMIT;
CALL pg_temp.compare('hot_k', $$SELECT doc ->> 'k', id, doc ->> 'v' FROM hot$$);
CALL pg_temp.compare('by_k', $$SELECT doc ->> 'k', id, doc ->> 'v' FROM fact$$);

-- rows that share a deferrable primary key, which then gets another type
CREATE TABLE retyped (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, doc jsonb);
SELECT indextable.create('retyped_k', 'retyped', '{k}') \gset
INSERT INTO retyped VALUES (1, '{"k": "z"}');
BEGIN;
INSERT INTO retyped VALUES (1, '{"k": "x"}');
DELETE FROM retyped WHERE doc ->> 'k' = 'z';
SET CONSTRAINTS ALL IMMEDIATE;
SELECT indextable.drop('retyped_k') \gset
ALTER TABLE retyped DROP CONSTRAINT retyped_pkey;
ALTER TABLE retyped ALTER id TYPE text;
ALTER TABLE retyped ADD PRIMARY KEY (id);
SELECT indextable.create('retyped_k', 'retyped', '{k}') \gset
COMMIT;
CALL pg_temp.compare('retyped_k', $$SELECT doc ->> 'k', id FROM retyped$$);

SET client_min_messages = warning;
DROP SCHEMA dml CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
