-- Documents that are stored out of line are read where the statement that stores them has them still. The counts of what reads
-- TOAST are those of a table without index tables, so entries are made without; whatever a statement does, they are right.
SET client_min_messages = warning;
CREATE SCHEMA writtenrows;
SET search_path = writtenrows;
SET indextable.planner = off;
-- doc: a document of about 6 KB that does not compress to what fits a page's quarter
CREATE FUNCTION doc(i int) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
	SELECT jsonb_build_object('a', 'k' || i % 5, 'n', i, 'tags', jsonb_build_array('t' || i % 3, 'all'), 'text', (SELECT string_agg(md5((i * 200 + g)::text), '') FROM generate_series(1, 190) g))
$$;
CREATE TABLE without (id int PRIMARY KEY, doc jsonb NOT NULL);
CREATE TABLE f (LIKE without INCLUDING ALL);
CREATE TABLE parts (id int PRIMARY KEY, doc jsonb NOT NULL) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (100);
CREATE TABLE parts_2 (doc jsonb NOT NULL, dropped int, id int PRIMARY KEY);
ALTER TABLE parts_2 DROP COLUMN dropped;
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (100) TO (MAXVALUE);
SELECT indextable.create('f_a', 'f', '{a, n::int}'), indextable.create('f_tags', 'f', '{tags[*]}'), indextable.create('f_totals', 'f', '{a}', totals => '{sum(n::int)}'),
	indextable.create('parts_a', 'parts', '{a, n::int}') \gset

-- scans: how often TOAST of a table was searched in this transaction, to read it, or for a number that is not taken
CREATE FUNCTION scans(relid regclass) RETURNS bigint LANGUAGE sql AS $$
	SELECT sum(pg_stat_get_xact_numscans(i.indexrelid))::bigint FROM pg_class c JOIN pg_index i ON i.indrelid = c.reltoastrelid WHERE c.oid = relid
$$;
-- more: how often more a statement that names $1 does that with index tables than without
CREATE FUNCTION more(statement text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE f bigint := scans('f'); without bigint := scans('without');
BEGIN
	EXECUTE format(statement, 'f');
	EXECUTE format(statement, 'without');
	RETURN (scans('f') - f) - (scans('without') - without);
END $$;
-- wrong: how many entries differ from what plain SQL makes of the rows
CREATE VIEW wrong AS
	SELECT (SELECT count(*) FROM ((TABLE f_a EXCEPT ALL SELECT doc ->> 'a', (doc ->> 'n')::int, id FROM f) UNION ALL (SELECT doc ->> 'a', (doc ->> 'n')::int, id FROM f EXCEPT ALL TABLE f_a)) d) AS f_a,
		(SELECT count(*) FROM ((SELECT tags, id FROM f_tags EXCEPT ALL SELECT DISTINCT jsonb_array_elements_text(doc -> 'tags'), id FROM f) UNION ALL
			(SELECT DISTINCT jsonb_array_elements_text(doc -> 'tags'), id FROM f EXCEPT ALL SELECT tags, id FROM f_tags)) d) AS f_tags,
		(SELECT count(*) FROM ((TABLE parts_a EXCEPT ALL SELECT doc ->> 'a', (doc ->> 'n')::int, id FROM parts) UNION ALL (SELECT doc ->> 'a', (doc ->> 'n')::int, id FROM parts EXCEPT ALL TABLE parts_a)) d) AS parts_a,
		(SELECT count(*) FROM (SELECT a, rows, sum_n FROM (SELECT a, sum(rows) AS rows, sum(sum_n) AS sum_n FROM f_totals GROUP BY a) t WHERE rows > 0
			EXCEPT ALL SELECT doc ->> 'a', count(*), sum((doc ->> 'n')::int) FROM f GROUP BY 1) d) AS f_totals;

-- ---- nothing is read that the statement has
BEGIN;
SELECT scans('f') AS before;
INSERT INTO f VALUES (0, doc(0));
SELECT scans('f') AS number_is_taken;
ROLLBACK;
SELECT more(s) AS more, s AS statement FROM unnest(ARRAY['INSERT INTO %s VALUES (1, doc(1))', 'INSERT INTO %s SELECT 2, doc(2) WHERE random() < 2', 'INSERT INTO %s VALUES (3, doc(3)) ON CONFLICT DO NOTHING',
	'INSERT INTO %s VALUES (4, doc(4)) ON CONFLICT (id) DO UPDATE SET doc = excluded.doc', 'MERGE INTO %s t USING (SELECT 5 AS id) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (5, doc(5))',
	-- the old version is read
	'UPDATE %s SET doc = doc(12) WHERE id = 2', 'INSERT INTO %s VALUES (3, doc(13)) ON CONFLICT (id) DO UPDATE SET doc = excluded.doc',
	'MERGE INTO %s t USING (SELECT 5 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET doc = doc(15)', 'DELETE FROM %s WHERE id = 1',
	-- the last row of several
	'INSERT INTO %s SELECT i, doc(i) FROM generate_series(6, 8) i', 'WITH a AS (INSERT INTO %1$s VALUES (9, doc(9)) RETURNING id) INSERT INTO %1$s SELECT 10, doc(10)']) s;
SELECT * FROM wrong;

-- ---- several rows, partitions of another layout, rows that move, rows that the server itself has not the last word on
INSERT INTO parts SELECT i, doc(i) FROM generate_series(95, 105) i;
INSERT INTO parts VALUES (1, doc(1));
INSERT INTO parts VALUES (200, doc(2));
UPDATE parts SET id = 150, doc = doc(3) WHERE id = 1;
UPDATE parts SET id = 2, doc = doc(4) WHERE id = 200;
UPDATE parts SET doc = doc(id + 7) WHERE id > 97;
INSERT INTO parts SELECT i, doc(i) FROM generate_series(98, 110) i ON CONFLICT (id) DO UPDATE SET doc = doc(excluded.id + 1);
INSERT INTO parts_2 VALUES (doc(300), 300);
SELECT * FROM wrong;
CREATE FUNCTION other_document() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN new.doc = doc(new.id + 1000); RETURN new; END $$;
CREATE TRIGGER other BEFORE INSERT OR UPDATE ON f FOR EACH ROW EXECUTE FUNCTION other_document();
CREATE TRIGGER other BEFORE INSERT OR UPDATE ON parts FOR EACH ROW EXECUTE FUNCTION other_document();
INSERT INTO f VALUES (20, doc(20));
UPDATE f SET doc = doc(21) WHERE id = 20;
INSERT INTO f VALUES (20, doc(22)) ON CONFLICT (id) DO UPDATE SET doc = doc(23);
INSERT INTO parts VALUES (20, doc(20)), (120, doc(20));
SELECT * FROM wrong;
DROP TRIGGER other ON f;
DROP TRIGGER other ON parts;

-- ---- statements within statements: one that writes the same table, the same row, fails after it has written
CREATE FUNCTION within() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF new.id % 2 = 0 AND new.id < 1000 AND pg_trigger_depth() < 3 THEN
		INSERT INTO f VALUES (new.id + 1001, doc(new.id));
		UPDATE f SET doc = doc(new.id + 3) WHERE id = new.id;
		BEGIN
			INSERT INTO f VALUES (new.id + 2001, doc(new.id + 9));
			UPDATE f SET doc = doc(new.id + 5) WHERE id = new.id;
			RAISE 'no';
		EXCEPTION WHEN raise_exception THEN NULL;
		END;
		INSERT INTO f VALUES (new.id + 3001, doc(new.id + 4));
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER a_within AFTER INSERT ON f FOR EACH ROW EXECUTE FUNCTION within();
INSERT INTO f VALUES (30, doc(30));
INSERT INTO f SELECT i, doc(i) FROM generate_series(40, 45) i;
SELECT * FROM wrong;
DROP TRIGGER a_within ON f;
CREATE CONSTRAINT TRIGGER deferred AFTER INSERT ON f DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION within();
BEGIN;
INSERT INTO f VALUES (50, doc(50));
INSERT INTO f VALUES (52, doc(52));
SAVEPOINT s;
INSERT INTO f VALUES (54, doc(54));
ROLLBACK TO s;
INSERT INTO f VALUES (54, doc(56));
SELECT * FROM wrong;
SET CONSTRAINTS ALL IMMEDIATE;
COMMIT;
SELECT * FROM wrong;
SELECT index_table, d.* FROM unnest('{f_a, f_tags, f_totals, parts_a}'::regclass[]) index_table, indextable.verify(index_table) d;
DROP SCHEMA writtenrows CASCADE;
