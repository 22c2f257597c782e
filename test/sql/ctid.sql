-- @ctid among the included fields: the place where the fact row was when its entry was written, where look-ups look first.
\set VERBOSITY terse
\set QUIET on

CREATE TABLE fact (id int PRIMARY KEY, n int, doc jsonb) WITH (fillfactor = 50, autovacuum_enabled = false);
INSERT INTO fact SELECT i, 0, jsonb_build_object('town', 'town ' || i % 3) FROM generate_series(1, 9) i;
SELECT indextable.create('hinted', 'fact', '{town}', include => '{@ctid}') \gset
SELECT * FROM hinted ORDER BY id;

-- The rows of a key, and how often the primary key was searched for them.
CREATE FUNCTION rows_of(town text, index_table regclass DEFAULT 'hinted', primary_key regclass DEFAULT 'fact_pkey')
RETURNS TABLE (ids text, searches bigint)
LANGUAGE plpgsql AS $$
DECLARE
    before bigint := pg_stat_get_xact_numscans(primary_key);
BEGIN
    SELECT string_agg(doc || ' ' || id, ', ' ORDER BY id) INTO ids
    FROM (SELECT (l ->> 'town') AS doc, (l ->> 'i') AS id FROM indextable.lookup(index_table, jsonb_build_object('town', town)) l) l;
    searches := pg_stat_get_xact_numscans(primary_key) - before;
    RETURN NEXT;
END
$$;
UPDATE fact SET doc = doc || jsonb_build_object('i', id);
-- That has changed no index, so the places lead to the rows.
SELECT * FROM rows_of('town 1');

-- New rows; a row with another key, which changes no index either; one with its key again.
INSERT INTO fact VALUES (10, 0, '{"town": "town 1", "i": 10}');
UPDATE fact SET doc = '{"town": "town 1", "i": 5}' WHERE id = 5;
SELECT * FROM hinted WHERE town = 'town 1' ORDER BY id;
SELECT * FROM rows_of('town 1');

-- An update of another column writes no index table.
SELECT ctid AS at FROM hinted WHERE id = 4 \gset
UPDATE fact SET n = 1 WHERE id = 4;
SELECT ctid = :'at' AS left_alone FROM hinted WHERE id = 4;
SELECT * FROM rows_of('town 1');

-- Rows that moved: an update that changes an index begins another chain, which the place does not lead to.
CREATE INDEX ON fact (n);
UPDATE fact SET n = 2 WHERE id IN (4, 7);
SELECT ctid = :'at' AS left_alone FROM hinted WHERE id = 4;
SELECT * FROM rows_of('town 1');
DROP INDEX fact_n_idx;

-- A place where another row is now, with the same key or with another one; and one where no row is.
DELETE FROM fact WHERE id IN (1, 2);
VACUUM fact;
INSERT INTO fact VALUES (21, 0, '{"town": "town 1", "i": 21}'), (22, 0, '{"town": "town 1", "i": 22}'), (23, 0, '{"town": "town 2", "i": 23}');
SELECT ids FROM rows_of('town 1');
SELECT ids FROM rows_of('town 2');
VACUUM FULL fact;
SELECT ids FROM rows_of('town 1');
SELECT ids FROM rows_of('town 2');
SELECT * FROM indextable.verify('hinted');
DELETE FROM fact WHERE id > 9;
VACUUM FULL fact;
SELECT ids FROM rows_of('town 1');
CALL indextable.rebuild('hinted');
SELECT * FROM rows_of('town 1');

-- What can be no place, which only somebody who writes the index table by hand can have put there.
SET session_replication_role = replica;
UPDATE hinted SET fact_ctid = CASE id WHEN 4 THEN '(0,0)' WHEN 5 THEN '(4294967295,0)' ELSE '(0,65535)' END::tid WHERE town = 'town 1';
RESET session_replication_role;
SELECT ids FROM rows_of('town 1');
CALL indextable.rebuild('hinted');

-- query() and lookup() do not show it; nor is it taken for the ctid of a row.
SELECT entry, document FROM indextable.query('hinted', '{"town": "town 1"}');
SELECT entry, document FROM indextable.query('hinted', '{"town": "town 1"}', with_document => true);
BEGIN;
SET LOCAL indextable.planner = force;
EXPLAIN (COSTS OFF) SELECT ctid FROM fact WHERE doc ->> 'town' = 'town 1';
EXPLAIN (COSTS OFF) SELECT doc FROM fact WHERE doc ->> 'town' = 'town 1';
SELECT pg_stat_get_xact_numscans('fact_pkey'::regclass) AS before \gset
SELECT doc FROM fact WHERE doc ->> 'town' = 'town 1' ORDER BY id;
SELECT pg_stat_get_xact_numscans('fact_pkey'::regclass) - :before AS searches;
COMMIT;

-- A transaction that has its own snapshot may see two rows of a primary key, so it searches.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM rows_of('town 1');
COMMIT;

-- alter() and names.
SELECT indextable.alter('hinted', strategy => 'normalized') \gset
SELECT * FROM rows_of('town 1');
SELECT indextable.alter('hinted', include => '{@n, @ctid AS place}') \gset
SELECT h.id, h.n, h.place = f.ctid AS right FROM hinted h JOIN fact f USING (id) WHERE town = 'town 1' ORDER BY id;
SELECT * FROM rows_of('town 1');
SELECT include FROM indextable.index_tables WHERE index_table = 'hinted'::regclass;

-- Through the queue; a row that was only looked at by a drain keeps its place.
SELECT indextable.create('queued', 'fact', '{town}', include => '{@ctid}', maintenance => 'async') \gset
UPDATE fact SET doc = doc || '{"town": "town 2"}' WHERE id = 4;
INSERT INTO fact VALUES (30, 0, '{"town": "town 2", "i": 30}');
SELECT indextable.drain('fact') > 0 AS drained;
SELECT q.town, q.id, q.fact_ctid = f.ctid AS right FROM queued q JOIN fact f USING (id) ORDER BY id;
SELECT * FROM rows_of('town 2', 'queued');
UPDATE fact SET doc = doc || '{"town": "town 0"}' WHERE id = 4;
SELECT * FROM rows_of('town 2', 'queued');

-- Arrays: the place is in each entry.
INSERT INTO fact VALUES (40, 0, '{"town": "town 4", "i": 40, "tags": ["a", "b"]}');
SELECT indextable.create('tags', 'fact', '{tags[*] AS town}', include => '{@ctid}') \gset
SELECT t.town, t.fact_ctid = f.ctid AS right FROM tags t JOIN fact f USING (id) ORDER BY 1;
SELECT * FROM rows_of('b', 'tags');

-- Partitions, whose columns may have other numbers: the place is in the partition.
CREATE TABLE parted (id int, doc jsonb, part int, PRIMARY KEY (part, id)) PARTITION BY LIST (part);
CREATE TABLE part_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE part_2 (gone int, part int NOT NULL, id int NOT NULL, doc jsonb);
ALTER TABLE part_2 DROP COLUMN gone;
ALTER TABLE parted ATTACH PARTITION part_2 FOR VALUES IN (2);
INSERT INTO parted SELECT i, jsonb_build_object('town', 'town 1', 'i', i), i % 2 + 1 FROM generate_series(1, 4) i;
SELECT indextable.create('parted_hinted', 'parted', '{town}', include => '{@ctid}') \gset
INSERT INTO parted SELECT i, jsonb_build_object('town', 'town 1', 'i', i), i % 2 + 1 FROM generate_series(5, 6) i;
SELECT h.id, h.fact_ctid = f.ctid AS right FROM parted_hinted h JOIN parted f USING (part, id) ORDER BY 1;
SELECT * FROM rows_of('town 1', 'parted_hinted', 'part_1_pkey');
SELECT * FROM rows_of('town 1', 'parted_hinted', 'part_2_pkey');
UPDATE parted SET part = 3 - part WHERE id < 3;
SELECT h.id, h.fact_ctid = f.ctid AS right FROM parted_hinted h JOIN parted f USING (part, id) ORDER BY 1;
SELECT * FROM rows_of('town 1', 'parted_hinted', 'part_2_pkey');
SELECT * FROM indextable.verify('parted_hinted');
-- Old rows lack a column, whose value only their partition knows.
ALTER TABLE parted ADD COLUMN late int DEFAULT 7;
INSERT INTO parted VALUES (7, '{"town": "town 1", "i": 7}', 1, 8);
SELECT id, late FROM indextable.lookup(NULL::parted, 'parted_hinted', '{"town": "town 1"}') ORDER BY id;
SELECT * FROM rows_of('town 1', 'parted_hinted', 'part_1_pkey');

-- A primary key that is checked later does not tell rows apart.
CREATE TABLE later (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, doc jsonb);
INSERT INTO later VALUES (1, '{"town": "town 1", "i": 1}');
SELECT indextable.create('later_hinted', 'later', '{town}', include => '{@ctid}') \gset
SELECT * FROM rows_of('town 1', 'later_hinted', 'later_pkey');
BEGIN;
INSERT INTO later VALUES (1, '{"town": "town 1", "i": 2}');
SELECT * FROM rows_of('town 1', 'later_hinted', 'later_pkey');
ROLLBACK;

-- What it cannot be.
SELECT indextable.create('e', 'fact', '{@ctid}');
SELECT indextable.create('e', 'fact', '{town}', include => '{@ctid::text}');
SELECT indextable.create('e', 'fact', '{town}', include => '{@ctid, @ctid AS place}');
SELECT indextable.create('e', 'fact', '{town}', include => '{fact_ctid, @ctid}');
SELECT indextable.create('e', 'fact', '{town}', 'denormalized', include => '{@ctid}');

DROP TABLE fact, parted, later CASCADE;
