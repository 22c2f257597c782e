-- What is written straight into index tables, and what is left to the general path on the way.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
SET client_min_messages = warning;
-- which of the writer's locks this transaction has on index tables and their indexes
CREATE FUNCTION pg_temp.locks() RETURNS SETOF regclass LANGUAGE sql AS $$
    SELECT relation::regclass FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation'
        AND mode = 'RowExclusiveLock' AND relation::regclass::text LIKE 'f\__%' ORDER BY relation::regclass::text$$;

CREATE TABLE f (id int PRIMARY KEY DEFERRABLE, doc jsonb);
SELECT indextable.create('f_k', 'f', '{k}') \gset
SELECT indextable.create('f_t', 'f', '{t[*]}') \gset
CREATE FUNCTION pg_temp.drift() RETURNS TABLE (side text, k text, id int) LANGUAGE sql SET indextable.planner = off AS $$
    (SELECT 'missing', doc ->> 'k', id FROM f EXCEPT ALL SELECT 'missing', k, id FROM f_k) UNION ALL
    (SELECT 'extra', k, id FROM f_k EXCEPT ALL SELECT 'extra', doc ->> 'k', id FROM f) UNION ALL
    (SELECT 'missing tag', e, id FROM (SELECT DISTINCT e, id FROM f, jsonb_array_elements_text(doc -> 't') e) x EXCEPT ALL SELECT 'missing tag', t, id FROM f_t) UNION ALL
    (SELECT 'extra tag', t, id FROM f_t EXCEPT ALL SELECT 'extra tag', e, id FROM (SELECT DISTINCT e, id FROM f, jsonb_array_elements_text(doc -> 't') e) x)$$;

-- ---- one row at a time
INSERT INTO f VALUES (1, '{"k": "a", "t": ["x", "y", "x"]}');
INSERT INTO f VALUES (2, '{"k": "a", "t": ["y"]}');
INSERT INTO f VALUES (3, '{"k": "c"}');
UPDATE f SET doc = doc || '{"k": "b"}' WHERE id = 1;
UPDATE f SET doc = doc || '{"t": ["z", "y"]}' WHERE id = 1;
UPDATE f SET doc = doc - 'k' WHERE id = 3;
DELETE FROM f WHERE id = 2;
CALL pg_temp.no_rows('pg_temp.drift()');
SELECT * FROM f_k ORDER BY k, id;
SELECT * FROM f_t ORDER BY t, id;

-- ---- in one transaction, where each command must see what the one before has written
BEGIN;
INSERT INTO f VALUES (4, '{"k": "d", "t": ["x"]}');
UPDATE f SET doc = doc || '{"k": "e"}' WHERE id = 4;
UPDATE f SET doc = doc || '{"k": "d"}' WHERE id = 4;
DELETE FROM f WHERE id = 4;
INSERT INTO f VALUES (4, '{"k": "d", "t": ["x"]}');
CALL pg_temp.no_rows('pg_temp.drift()');
COMMIT;
CALL pg_temp.no_rows('pg_temp.drift()');

-- ---- the locks that are remembered go with a subtransaction
BEGIN;
SAVEPOINT s;
INSERT INTO f VALUES (5, '{"k": "f", "t": ["x"]}');
SELECT * FROM pg_temp.locks();
ROLLBACK TO s;
SELECT * FROM pg_temp.locks();
INSERT INTO f VALUES (5, '{"k": "g", "t": ["x"]}');
SELECT * FROM pg_temp.locks();
DO $$ BEGIN
    BEGIN
        UPDATE f SET doc = '{"k": "h"}' WHERE id = 5;
        RAISE division_by_zero;
    EXCEPTION WHEN division_by_zero THEN NULL;
    END;
    UPDATE f SET doc = doc || '{"k": "i"}' WHERE id = 5;
END $$;
SELECT * FROM pg_temp.locks();
COMMIT;
BEGIN;
SELECT * FROM pg_temp.locks();
DELETE FROM f WHERE id = 5;
SELECT * FROM pg_temp.locks();
COMMIT;
CALL pg_temp.no_rows('pg_temp.drift()');

-- ---- ... and with a cursor that has taken them
CREATE FUNCTION pg_temp.change(int) RETURNS int LANGUAGE sql AS $$UPDATE f SET doc = doc || '{"k": "cursor"}' WHERE id = $1 RETURNING id$$;
BEGIN;
SAVEPOINT s;
DECLARE c CURSOR FOR SELECT pg_temp.change(i) FROM generate_series(1, 3) i;
FETCH 1 FROM c;
CLOSE c;
SELECT * FROM pg_temp.locks();
DECLARE c CURSOR FOR SELECT pg_temp.change(i), 1 / (i - 2) FROM generate_series(1, 3) i;
FETCH 1 FROM c;
FETCH 1 FROM c;
ROLLBACK TO s;
SELECT * FROM pg_temp.locks();
UPDATE f SET doc = doc || '{"k": "after the cursor"}' WHERE id = 1;
SELECT * FROM pg_temp.locks();
COMMIT;
CALL pg_temp.no_rows('pg_temp.drift()');

-- ---- an entry that is there already stays, as two rows have it for a while
INSERT INTO f VALUES (6, '{"k": "both"}'), (7, '{"k": "both"}');
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
UPDATE f SET id = 7 WHERE id = 6;
SELECT count(*) FROM f_k WHERE k = 'both';
UPDATE f SET id = 6 WHERE ctid = (SELECT min(ctid) FROM f WHERE id = 7);
COMMIT;
CALL pg_temp.no_rows('pg_temp.drift()');

-- ---- several operations on one entry, and entries that nested statements move
CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE f SET doc = doc || '{"k": "again"}' WHERE id = NEW.id AND doc ->> 'k' = 'first';
    UPDATE f SET doc = doc || '{"k": "first and last"}' WHERE id = NEW.id AND doc ->> 'k' = 'again';
    RETURN NULL;
END $$;
CREATE TRIGGER again AFTER INSERT OR UPDATE ON f FOR EACH ROW EXECUTE FUNCTION again();
INSERT INTO f VALUES (8, '{"k": "first", "t": ["x", "y"]}');
UPDATE f SET doc = doc || '{"k": "first"}' WHERE id = 8;
CALL pg_temp.no_rows('pg_temp.drift()');
DROP TRIGGER again ON f;
DROP FUNCTION again;

-- ---- an index of the owner is kept, too, and so is the table once the index is gone
CREATE INDEX own ON f_k (id);
INSERT INTO f VALUES (9, '{"k": "own"}');
BEGIN;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
SELECT count(*) FROM f_k WHERE id = 9;
COMMIT;
BEGIN;
DROP INDEX own;
UPDATE f SET doc = '{"k": "dropped"}' WHERE id = 9;
CREATE INDEX own ON f_k (id);
UPDATE f SET doc = '{"k": "made"}' WHERE id = 9;
COMMIT;
CALL pg_temp.no_rows('pg_temp.drift()');
DROP INDEX own;
DROP TABLE f;

-- ---- pages are pruned where entries are updated all the time: 5000 new versions of 20 entries stay in a few pages
CREATE TABLE f (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('f_k', 'f', '{k}', include => '{n::int}') \gset
SELECT indextable.create('f_d', 'f', '{k}', strategy => 'denormalized') \gset
INSERT INTO f SELECT i, jsonb_build_object('k', i, 'n', 0, 'rest', repeat('x', 100)) FROM generate_series(1, 20) i;
DO $$ BEGIN
    FOR i IN 1..5000 LOOP
        UPDATE f SET doc = doc || jsonb_build_object('n', i) WHERE id = i % 20 + 1;
        COMMIT;
    END LOOP;
END $$;
SELECT relname, pg_relation_size(oid) < 25 * 8192 AS small FROM pg_class WHERE relname IN ('f_k', 'f_d') ORDER BY relname;
CALL pg_temp.compare('f_k', $$SELECT doc ->> 'k', id, (doc ->> 'n')::int FROM f$$);
CALL pg_temp.compare('f_d', $$SELECT doc ->> 'k', id, doc FROM f$$);
DROP TABLE f;

-- ---- ... and where the keys of a few rows change all the time: without that, 2000 old entries fill 200 pages
CREATE TABLE f (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('f_k', 'f', '{k}', include => '{rest}') \gset
INSERT INTO f SELECT i, jsonb_build_object('k', i, 'rest', repeat('x', 700)) FROM generate_series(1, 5) i;
DO $$ BEGIN
    FOR i IN 1..2000 LOOP
        UPDATE f SET doc = doc || jsonb_build_object('k', i) WHERE id = i % 5 + 1;
        COMMIT;
    END LOOP;
END $$;
SELECT pg_relation_size('f_k') < 50 * 8192 AS small;
CALL pg_temp.compare('f_k', $$SELECT doc ->> 'k', id, doc ->> 'rest' FROM f$$);
DROP TABLE f;

-- ---- ... and not where entries are only deleted, one or many at a time: that would be work for nothing
CREATE EXTENSION pageinspect;
CREATE TABLE f (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('f_k', 'f', '{k}') \gset
ALTER TABLE f_k SET (autovacuum_enabled = off);
INSERT INTO f SELECT i, jsonb_build_object('k', i) FROM generate_series(1, 2000) i;
DELETE FROM f WHERE id % 10 = 1;
DELETE FROM f WHERE id BETWEEN 2 AND 4;
DELETE FROM f WHERE id = 5;
DELETE FROM f WHERE id % 10 = 6;
SELECT count(*) = 0 OR current_setting('server_version_num')::int >= 190000 AS unpruned FROM generate_series(0, pg_relation_size('f_k')::int / 8192 - 1) b, heap_page_items(get_raw_page('f_k', b)) WHERE lp_flags = 3;
CALL pg_temp.compare('f_k', $$SELECT doc ->> 'k', id FROM f$$);
DROP TABLE f;
DROP EXTENSION pageinspect;
CALL pg_temp.no_rows('pg_temp.leftovers()');
