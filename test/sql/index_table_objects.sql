-- What an owner may put on an index table has no effect on how it is kept; what would break it is refused.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
SET client_min_messages = warning;
SET indextable.advice = off;
CREATE SCHEMA put;
SET search_path = put;
CREATE TABLE x (id int PRIMARY KEY, doc jsonb);
INSERT INTO x SELECT i, jsonb_build_object('k', 'k' || i % 7) FROM generate_series(1, 100) i;
SELECT indextable.create('x_k', 'x', '{k}') \gset
CREATE TABLE other (k text, id int);
CREATE FUNCTION fire() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''fired''; END';
\set VERBOSITY terse

-- ---- refused
CREATE TRIGGER t BEFORE INSERT ON x_k FOR EACH ROW EXECUTE FUNCTION fire();
SELECT indextable.create('x_q', 'x', '{k}', maintenance => 'async') \gset
SELECT min(queue_table::text) AS queue FROM (SELECT c.oid::regclass AS queue_table FROM pg_class c WHERE relkind = 'r' AND relnamespace = 'indextable_queues'::regnamespace
	AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')) q \gset
SELECT set_config('put.queue', :'queue', false) \gset
DO $$ BEGIN
	EXECUTE format('CREATE TRIGGER t AFTER INSERT ON %s FOR EACH ROW EXECUTE FUNCTION fire()', current_setting('put.queue'));
EXCEPTION WHEN feature_not_supported THEN
	RAISE WARNING '%', regexp_replace(SQLERRM, '\d+', 'N', 'g');
END $$;
SELECT indextable.drop('x_q') \gset
CREATE TRIGGER t AFTER INSERT ON indextable_internal.definition FOR EACH ROW EXECUTE FUNCTION fire();
CREATE CONSTRAINT TRIGGER t AFTER UPDATE ON indextable_internal.fact DEFERRABLE FOR EACH ROW EXECUTE FUNCTION fire();
ALTER TABLE x_k ADD CHECK (k <> 'a');
ALTER TABLE x_k ADD FOREIGN KEY (id) REFERENCES x (id);
ALTER TABLE x_k ADD EXCLUDE USING btree (id WITH =);
CREATE TABLE refers (k text, id int, FOREIGN KEY (k, id) REFERENCES x_k (k, id));
CREATE TABLE child () INHERITS (x_k);
ALTER TABLE x_k INHERIT other;
ALTER TABLE x_k ADD COLUMN extra int DEFAULT 5;
ALTER TABLE x_k SET UNLOGGED;

-- ---- without effect, or an index, which is kept
CREATE RULE r AS ON INSERT TO x_k DO INSTEAD NOTHING;
CREATE TRIGGER t AFTER INSERT ON x_k FOR EACH STATEMENT EXECUTE FUNCTION fire();
ALTER TABLE x_k ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON x_k USING (false) WITH CHECK (false);
ALTER TABLE x_k SET (autovacuum_enabled = off);
CREATE STATISTICS s ON k, id FROM x_k;
ALTER TABLE x_k ALTER k SET STATISTICS 500;
CLUSTER x_k USING x_k_k_id_key;
SET client_min_messages = error;    -- of wal_level
CREATE PUBLICATION put_id FOR TABLE x_k (id);
SET client_min_messages = warning;
ALTER TABLE x_k ADD COLUMN extra int;
ALTER TABLE x_k ALTER k SET DEFAULT 'z';
ALTER TABLE x_k REPLICA IDENTITY FULL;
CREATE INDEX ON x_k (lower(k));
COMMENT ON TABLE x_k IS 'mine';
INSERT INTO x VALUES (1000, '{"k": "new"}');
UPDATE x SET doc = '{"k": "moved"}' WHERE id = 1;
DELETE FROM x WHERE id = 2;
DROP PUBLICATION put_id;
SELECT * FROM indextable.verify('x_k');
CALL pg_temp.no_rows('pg_temp.oracle(''(SELECT k, id FROM put.x_k)'', $$SELECT doc ->> ''k'', id FROM put.x$$)');
CALL indextable.rebuild('x_k');
INSERT INTO x VALUES (1001, '{"k": "newer"}');
CALL pg_temp.no_rows('pg_temp.oracle(''(SELECT k, id FROM put.x_k)'', $$SELECT doc ->> ''k'', id FROM put.x$$)');
DROP SCHEMA put CASCADE;
CALL pg_temp.no_rows('pg_temp.leftovers()');
