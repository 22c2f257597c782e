-- Every DDL under index tables: simply works, is refused with a reason, or makes them invalid. t is transactional, a
-- asynchronous, b being built, i invalid. After each command the fact table is written; what says it is active must
-- then equal the recompute, and so must all, once they are built and repaired. A line "at last" is what is not.
\getenv src PG_ABS_SRCDIR
SET client_min_messages = error;
\i :src/sql/include/ddl.psql
CREATE ROLE regress_ddl_owner;
CREATE ROLE regress_ddl_other;

\echo ---- the fact table
INSERT INTO ddl.matrix (command, off) VALUES
	('ALTER TABLE s.f RENAME TO g', false),
	('ALTER TABLE s.f SET SCHEMA elsewhere', false),
	('ALTER SCHEMA s RENAME TO r; ALTER TABLE r.f RENAME TO g; ALTER SCHEMA r RENAME TO s', false),
	('ALTER TABLE s.f RENAME id TO id2', true),
	('ALTER TABLE s.f RENAME doc TO doc2', true),
	('ALTER TABLE s.f RENAME c TO c2', false),
	('ALTER TABLE s.f RENAME live TO live2', false),
	('ALTER TABLE s.f ALTER doc TYPE text', true),
	('ALTER TABLE s.f ALTER doc TYPE jsonb USING ''{}''', false),
	('ALTER TABLE s.f ALTER id TYPE bigint', true),
	('ALTER TABLE s.f ALTER c TYPE varchar', false),
	('ALTER TABLE s.f ALTER c TYPE text COLLATE "C"', false),
	('ALTER TABLE s.f ALTER live TYPE boolean USING false', false),
	('ALTER TABLE s.f ALTER u TYPE text', false),
	('ALTER TABLE s.f DROP id', true),
	('ALTER TABLE s.f DROP doc', true),
	('ALTER TABLE s.f DROP c', false),
	('ALTER TABLE s.f DROP live CASCADE', false),
	('ALTER TABLE s.f DROP u', false),
	('ALTER TABLE s.f ADD x float8 DEFAULT random()', false),
	('ALTER TABLE s.f DROP CONSTRAINT f_pkey', true),
	('ALTER TABLE s.f DROP CONSTRAINT f_pkey, ADD PRIMARY KEY (u, id)', false),
	('ALTER TABLE s.f DROP CONSTRAINT f_pkey, ADD PRIMARY KEY (id) DEFERRABLE INITIALLY DEFERRED', false),
	('CREATE UNIQUE INDEX u ON s.f (id); ALTER TABLE s.f DROP CONSTRAINT f_pkey, ADD PRIMARY KEY USING INDEX u', false),
	('ALTER TABLE s.f DISABLE TRIGGER indextable_row', false),
	('ALTER TABLE s.f DISABLE TRIGGER indextable_truncate', false),
	('ALTER TABLE s.f DISABLE TRIGGER ALL', false),
	('ALTER TABLE s.f DISABLE TRIGGER USER', false),
	('ALTER TABLE s.f ENABLE TRIGGER indextable_end', false),
	('ALTER TABLE s.f ENABLE REPLICA TRIGGER indextable_row', false),
	('ALTER TABLE s.f ENABLE ALWAYS TRIGGER indextable_row', true),
	('ALTER TABLE s.f ENABLE TRIGGER ALL', false),
	('DROP TRIGGER indextable_row ON s.f', true),
	('ALTER TABLE s.f SET UNLOGGED', false),
	('ALTER TABLE s.f SET LOGGED, SET TABLESPACE pg_default, REPLICA IDENTITY FULL', false),
	('ALTER TABLE s.f SET ACCESS METHOD heap', false),
	('ALTER TABLE s.f OWNER TO regress_ddl_owner; REASSIGN OWNED BY regress_ddl_owner TO regress_ddl_other', false),
	('ALTER TABLE s.f OWNER TO regress_ddl_owner; DROP OWNED BY regress_ddl_owner', false),
	('CREATE TABLE s.p (LIKE s.f); ALTER TABLE s.f INHERIT s.p', false),
	('CREATE TABLE s.child () INHERITS (s.f)', false),
	('CREATE TABLE s.child (LIKE s.f); ALTER TABLE s.child INHERIT s.f', false),
	('TRUNCATE s.f RESTART IDENTITY CASCADE', true),
	('CREATE TABLE s.r (id int PRIMARY KEY); ALTER TABLE s.f ADD FOREIGN KEY (id) REFERENCES s.r NOT VALID; TRUNCATE s.r CASCADE; INSERT INTO s.r VALUES (100)', false),
	('ALTER TABLE s.f ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', false),
	('CREATE RULE r AS ON INSERT TO s.f DO INSTEAD NOTHING', false),
	('CREATE RULE r AS ON UPDATE TO s.f DO ALSO DELETE FROM s.f WHERE id = 6', false),
	('ALTER TABLE s.f ALTER doc SET STATISTICS 10, ALTER doc SET STORAGE EXTERNAL, ALTER doc SET COMPRESSION pglz, ALTER u SET NOT NULL, ADD CHECK (u > 0)', false),
	('CLUSTER s.f USING f_pkey', false),
	('CREATE TABLE s.l (LIKE s.f INCLUDING ALL); SELECT * INTO s.l2 FROM s.t; CREATE TABLE s.l3 (LIKE s.t INCLUDING ALL); INSERT INTO s.l (id) VALUES (1); INSERT INTO s.l3 SELECT * FROM s.t', false),
	('DROP TABLE s.f', false),
	('DROP SCHEMA s CASCADE', false);
INSERT INTO ddl.matrix (command, top) VALUES ('VACUUM FULL s.f', true), ('REINDEX TABLE CONCURRENTLY s.f', true);
SELECT * FROM ddl.script \gexec

\echo ---- the fact table as a partition
TRUNCATE ddl.matrix;
INSERT INTO ddl.matrix (command)
SELECT 'CREATE TABLE s.p (u int, doc jsonb, id int, live boolean, c text, PRIMARY KEY (id)) PARTITION BY RANGE (id); ALTER TABLE s.p ATTACH PARTITION s.f DEFAULT; ' || command FROM unnest(ARRAY[
	'INSERT INTO s.p VALUES (1, ''{"k": "p"}'', 50, true, ''p''); UPDATE s.p SET c = ''q'' WHERE id = 4; DELETE FROM s.p WHERE id = 5; ALTER TABLE s.p RENAME doc TO doc2; ALTER TABLE s.p RENAME id TO id2',
	'TRUNCATE s.p', 'ALTER TABLE s.p ALTER c TYPE varchar', 'ALTER TABLE s.p DROP c', 'ALTER TABLE s.p DROP CONSTRAINT p_pkey', 'ALTER TABLE s.p DISABLE TRIGGER ALL',
	'ALTER TABLE s.p DETACH PARTITION s.f', 'DROP TABLE s.p']) command;
SELECT * FROM ddl.script \gexec

\echo ---- index tables
TRUNCATE ddl.matrix;
INSERT INTO ddl.matrix (command) VALUES
	('ALTER TABLE s.t RENAME TO t1; ALTER TABLE s.a RENAME TO a1; ALTER TABLE s.b RENAME TO b1; ALTER TABLE s.i RENAME TO i1'),
	('ALTER TABLE s.t SET SCHEMA elsewhere; ALTER TABLE s.a SET SCHEMA elsewhere; ALTER TABLE s.b SET SCHEMA elsewhere; ALTER TABLE s.i SET SCHEMA elsewhere'),
	('ALTER TABLE s.t RENAME k TO x; ALTER TABLE s.a RENAME id TO k2; ALTER TABLE s.b RENAME v TO x; ALTER TABLE s.i RENAME c TO x'),
	('ALTER TABLE s.t ALTER k TYPE varchar'),
	('ALTER TABLE s.a ALTER id TYPE bigint'),
	('ALTER TABLE s.b ALTER v TYPE varchar'),
	('ALTER TABLE s.i ALTER k TYPE text COLLATE "C"'),
	('ALTER TABLE s.t DROP k'),
	('ALTER TABLE s.a DROP id CASCADE'),
	('ALTER TABLE s.b DROP v'),
	('ALTER TABLE s.t DROP CONSTRAINT t_k_c_id_v_key'),
	('ALTER TABLE s.a DROP CONSTRAINT a_k_c_id_v_key'),
	('ALTER TABLE s.b DROP CONSTRAINT b_k_c_id_v_key'),
	('ALTER TABLE s.t ADD x int; ALTER TABLE s.a ADD x int; ALTER TABLE s.b ADD x int; ALTER TABLE s.i ADD x int'),
	('ALTER TABLE s.t ADD x serial'),
	('ALTER TABLE s.t DISABLE TRIGGER indextable_guard_row; ALTER TABLE s.a DISABLE TRIGGER ALL'),
	('DROP TRIGGER indextable_guard ON s.t; DROP TRIGGER indextable_guard_row ON s.b'),
	('ALTER TABLE s.a SET UNLOGGED'),
	('ALTER TABLE s.t OWNER TO regress_ddl_owner'),
	('CREATE TABLE s.p (LIKE s.t); ALTER TABLE s.t INHERIT s.p'),
	('CREATE TABLE s.child () INHERITS (s.b)'),
	('CREATE TABLE s.p (LIKE s.a) PARTITION BY RANGE (id); ALTER TABLE s.p ATTACH PARTITION s.a DEFAULT'),
	('CREATE TABLE s.r (k text, c text, id int, FOREIGN KEY (k, c, id) REFERENCES s.i)'),
	('TRUNCATE s.b'),
	('TRUNCATE s.f, s.t'),
	('CLUSTER s.t USING t_k_c_id_v_key; CLUSTER s.a USING a_k_c_id_v_key; CLUSTER s.b USING b_k_c_id_v_key; REINDEX TABLE s.i; ALTER TABLE s.t SET TABLESPACE pg_default'),
	('ALTER TABLE s.t ALTER k SET STATISTICS 10, ALTER k SET STORAGE EXTERNAL, ALTER k SET COMPRESSION pglz, REPLICA IDENTITY FULL, ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY'),
	('CREATE RULE r AS ON DELETE TO s.t DO INSTEAD NOTHING; CREATE RULE r AS ON INSERT TO s.a DO INSTEAD NOTHING'),
	('CREATE UNIQUE INDEX ON s.t (c, k); CREATE UNIQUE INDEX ON s.a (c, k); CREATE UNIQUE INDEX ON s.b (c, k)'),
	('CREATE FUNCTION s.nothing() RETURNS trigger LANGUAGE plpgsql AS ''BEGIN RETURN NULL; END''; CREATE OR REPLACE TRIGGER indextable_row AFTER INSERT OR UPDATE OR DELETE ON s.f FOR EACH ROW EXECUTE FUNCTION s.nothing()'),
	('CREATE OR REPLACE TRIGGER indextable_row AFTER INSERT OR UPDATE OR DELETE ON s.f FOR EACH ROW WHEN (false) EXECUTE FUNCTION indextable_internal.maintain()'),
	('CREATE OR REPLACE TRIGGER indextable_guard BEFORE DELETE ON s.t FOR EACH STATEMENT EXECUTE FUNCTION indextable_internal.guard()'),
	('CREATE OR REPLACE TRIGGER indextable_guard_row AFTER DELETE ON s.a FOR EACH ROW EXECUTE FUNCTION indextable_internal.guard()'),
	('ALTER TRIGGER indextable_row ON s.f RENAME TO other'),
	('ALTER TABLE s.t ADD FOREIGN KEY (id) REFERENCES s.f'),
	('CREATE TABLE s.r (v text PRIMARY KEY); ALTER TABLE s.i ADD FOREIGN KEY (v) REFERENCES s.r NOT VALID'),
	('ALTER TABLE s.t ADD EXCLUDE USING btree (id WITH =)'),
	('ALTER TABLE s.t ADD UNIQUE (c, k, id) DEFERRABLE INITIALLY DEFERRED'),
	('ALTER TABLE s.t ALTER v SET DEFAULT ''d'', ALTER v SET (n_distinct = 5)'),
	('CREATE FUNCTION s.nothing() RETURNS trigger LANGUAGE plpgsql AS ''BEGIN RETURN NULL; END''; CREATE TRIGGER t BEFORE INSERT OR UPDATE OR DELETE ON s.t FOR EACH ROW EXECUTE FUNCTION s.nothing()'),
	('CREATE FUNCTION s.nothing() RETURNS trigger LANGUAGE plpgsql AS ''BEGIN RETURN NULL; END''; CREATE CONSTRAINT TRIGGER t AFTER DELETE ON s.a FOR EACH ROW EXECUTE FUNCTION s.nothing()'),
	('CREATE FUNCTION s.nothing() RETURNS trigger LANGUAGE plpgsql AS ''BEGIN RETURN NULL; END''; CREATE TRIGGER t BEFORE INSERT OR DELETE OR TRUNCATE ON s.t EXECUTE FUNCTION s.nothing(); TRUNCATE s.f'),
	('CREATE POLICY p ON s.t USING (false); ALTER TABLE s.t ENABLE ROW LEVEL SECURITY'),
	('CREATE PUBLICATION regress_ddl FOR TABLE s.t (k, c, id), s.a WHERE (c > ''c'')'),
	('DROP PUBLICATION regress_ddl'),
	('CREATE STATISTICS s.st ON k, c FROM s.t; CREATE STATISTICS s.st2 ON (k || c) FROM s.t; ANALYZE s.t'),
	('ALTER TABLE s.t SET (autovacuum_enabled = off, fillfactor = 50); ALTER TABLE s.a RESET (autovacuum_vacuum_scale_factor)'),
	('ALTER TABLE s.t ADD x float8 DEFAULT random()'),
	('ALTER TABLE s.t ADD own text; ALTER TABLE s.t DROP own'),
	('ALTER TYPE s.f RENAME ATTRIBUTE doc TO doc2'),
	('ALTER TABLE s.t ALTER v SET NOT NULL'),
	('DROP INDEX s.b_row_idx'),
	('DROP INDEX s.a_row_idx'),
	('SET LOCAL session_replication_role = replica; DROP INDEX s.b_row_idx'),
	('SET LOCAL session_replication_role = replica; DROP INDEX s.a_row_idx'),
	('CREATE INDEX ON s.a (id); DROP INDEX s.a_row_idx'),
	('CREATE INDEX other ON s.a (c); DROP INDEX s.other'),
	('DROP TABLE s.t; DROP TABLE s.b CASCADE'),
	('DROP TABLE s.a, s.b');
INSERT INTO ddl.matrix (command, top) VALUES ('VACUUM FULL s.t', true), ('VACUUM FULL s.b', true), ('REINDEX TABLE CONCURRENTLY s.a', true);
SELECT * FROM ddl.script \gexec

CALL ddl.fresh('');
DROP SCHEMA ddl, s, elsewhere CASCADE;
DROP ROLE regress_ddl_owner, regress_ddl_other;
SELECT * FROM pg_temp.orphans();

\set ECHO all
-- ---- from code of others that runs while an index table is truncated or replaced: judged as at any other time
CREATE SCHEMA nested;
SET search_path = nested;
CREATE DOMAIN filled AS text CHECK (value <> '');
CREATE TABLE f (id int PRIMARY KEY, doc jsonb, d filled DEFAULT 'd');
CREATE TABLE g (LIKE f INCLUDING ALL);
CREATE TABLE h (LIKE f INCLUDING ALL) PARTITION BY RANGE (id);
CREATE TABLE h0 PARTITION OF h FOR VALUES FROM (0) TO (10);
CREATE TABLE h1 PARTITION OF h FOR VALUES FROM (10) TO (20);
SELECT indextable.create('f_k', 'f', '{k}'), indextable.create('f_v', 'f', '{v}'), indextable.create('g_k', 'g', '{k}'),
	indextable.create('g_a', 'g', '{k}', maintenance => 'async'), indextable.create('h_k', 'h', '{k}');
CREATE PROCEDURE fill() LANGUAGE sql AS $$
	INSERT INTO f SELECT i, jsonb_build_object('k', i, 'v', -i) FROM generate_series(1, 3) i;
	INSERT INTO g SELECT i, jsonb_build_object('k', i) FROM generate_series(1, 3) i ON CONFLICT DO NOTHING;
	INSERT INTO h SELECT i, jsonb_build_object('k', i) FROM generate_series(8, 12) i ON CONFLICT DO NOTHING;
$$;
CALL fill();
CREATE TABLE outcome (n serial, event text, command text, what text);
CREATE TABLE attempts (command text);
CREATE VIEW differences AS
	SELECT x.* FROM (VALUES ('f_k', 'k', 'f'), ('f_v', 'v', 'f'), ('g_k', 'k', 'g'), ('h_k', 'k', 'h')) v (i, k, f),
		pg_temp.oracle(i, format('SELECT doc ->> %L, id FROM %s', k, f)) x;
-- does each of the attempts, notes what came of it, and rolls it back
CREATE FUNCTION attempt(event text) RETURNS void LANGUAGE plpgsql SET search_path = nested, pg_temp AS $$
DECLARE
	a text;
	what text;
BEGIN
	IF current_setting('nested.within', true) = 'yes' THEN RETURN; END IF;
	PERFORM set_config('nested.within', 'yes', false);
	FOR a IN SELECT * FROM attempts LOOP
		BEGIN
			EXECUTE a;
			SELECT concat_ws(', ', 'accepted', string_agg(index_table || ' is ' || state, ', ' ORDER BY index_table::text)) INTO what
				FROM indextable.index_tables WHERE state <> 'active';
			RAISE '%', concat_ws(', ', what, (SELECT count(*) || ' in h_k' FROM h_k HAVING count(*) <> 5)) USING errcode = 'P0099';
		EXCEPTION WHEN OTHERS THEN
			what := CASE SQLSTATE WHEN 'P0099' THEN '' ELSE SQLSTATE || ' ' END || SQLERRM;
		END;
		INSERT INTO outcome (event, command, what) VALUES (event, a, what);
	END LOOP;
	PERFORM set_config('nested.within', 'no', false);
END $$;
CREATE FUNCTION attempt_in_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM nested.attempt(TG_WHEN || ' ' || TG_OP);
	RETURN NULL;
END $$;
CREATE FUNCTION attempt_in_event_trigger() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM nested.attempt(TG_EVENT);
END $$;
INSERT INTO attempts VALUES ('ALTER TABLE g DROP doc'), ('ALTER TABLE g ALTER doc TYPE text'), ('ALTER TABLE g SET UNLOGGED'), ('ALTER TABLE g DISABLE TRIGGER ALL'),
	('ALTER TABLE g DROP CONSTRAINT g_pkey'), ('ALTER TABLE g RENAME doc TO doc2'), ('DROP TRIGGER indextable_row ON g'), ('ALTER TRIGGER indextable_row ON g RENAME TO other'), ('CREATE TABLE child () INHERITS (g)'),
	('ALTER TABLE g_k DROP k'), ('ALTER TABLE g_k SET UNLOGGED'), ('ALTER TABLE g_k ADD x int DEFAULT 1'), ('ALTER TABLE g_k DISABLE TRIGGER ALL'), ('DROP INDEX g_a_row_idx'), ('TRUNCATE g_k'), ('DROP TABLE g'), ('TRUNCATE g'),
	('DROP TABLE h1'), ('ALTER TABLE h DETACH PARTITION h1'), ('CREATE TABLE h2 PARTITION OF h FOR VALUES FROM (20) TO (30); INSERT INTO h VALUES (20, ''{"k": 20}'')'),
	('TRUNCATE f'), ('ALTER TABLE f DROP doc'), ('ALTER TABLE f_v DROP v'), ('ALTER TABLE f_v ADD x int'), ('DROP TABLE f_v'), ('SELECT indextable.alter(''g_k'', include => ''{v}'')');
-- as at any other time
SELECT attempt('by itself');
-- TRUNCATE triggers of the owner
CREATE TRIGGER a BEFORE TRUNCATE ON f_k EXECUTE FUNCTION attempt_in_trigger();
CREATE TRIGGER z AFTER TRUNCATE ON f_k EXECUTE FUNCTION attempt_in_trigger();
TRUNCATE f;
SELECT * FROM differences;
DROP TRIGGER a ON f_k;
DROP TRIGGER z ON f_k;
CALL fill();
-- event triggers, of which the extension's own commands fire none
CREATE EVENT TRIGGER a_start ON ddl_command_start EXECUTE FUNCTION attempt_in_event_trigger();
CREATE EVENT TRIGGER z_end ON ddl_command_end EXECUTE FUNCTION attempt_in_event_trigger();
CREATE EVENT TRIGGER a_drop ON sql_drop EXECUTE FUNCTION attempt_in_event_trigger();
CREATE EVENT TRIGGER a_rewrite ON table_rewrite EXECUTE FUNCTION attempt_in_event_trigger();
SELECT indextable.alter('f_k', include => '{v}');
SELECT indextable.alter('f_k', 'async');
SELECT indextable.alter('f_k', 'transactional', include => '{@d}');
SELECT indextable.alter('f_k', include => '{}');
DROP EVENT TRIGGER a_start;
DROP EVENT TRIGGER z_end;
DROP EVENT TRIGGER a_drop;
DROP EVENT TRIGGER a_rewrite;
SELECT * FROM differences;
-- the same everywhere, but for tables that the statement uses
SELECT command, what, string_agg(DISTINCT event, ', ' ORDER BY event) AS during FROM outcome GROUP BY command, what ORDER BY min(n), what;
SELECT index_table, state FROM indextable.index_tables ORDER BY index_table::text;
DROP SCHEMA nested CASCADE;

-- ---- index tables follow another type of a column: of the key, of a key field, of an included one and of the filter
CREATE SCHEMA types;
SET search_path = types, public;
SET client_min_messages = warning;
CREATE TABLE f (id int, part int, note varchar(10), doc jsonb, PRIMARY KEY (part, id)) PARTITION BY RANGE (part);
CREATE TABLE f1 PARTITION OF f FOR VALUES FROM (0) TO (10);
CREATE TABLE f2 (doc jsonb, note varchar(10), gone int, part int NOT NULL, id int NOT NULL);
ALTER TABLE f2 DROP COLUMN gone;
ALTER TABLE f ATTACH PARTITION f2 FOR VALUES FROM (10) TO (20);
INSERT INTO f SELECT g, g, 'n' || g % 3, jsonb_build_object('k', 'k' || g % 4, 'v', g) FROM generate_series(1, 15) g;
SELECT indextable.create('f_k', 'f', '{k}', include => '{v}'), indextable.create('f_id', 'f', '{k,@id}', include => '{@note}'),
	indextable.create('f_u', 'f', '{v::int}', is_unique => true, partitions => 2, include => '{@id::text AS id_text}'),
	indextable.create('f_a', 'f', '{@note,k}', maintenance => 'async', filter => 'note <> ''n1''');
CREATE INDEX f_own ON f_k (id) WHERE v > '3';
GRANT SELECT ON f_k TO PUBLIC;
CREATE VIEW types AS SELECT attrelid::regclass::text AS t, string_agg(attname || ' ' || format_type(atttypid, atttypmod) || CASE WHEN attnotnull THEN '' ELSE ' NULL' END, ', ' ORDER BY attnum) AS columns
	FROM pg_attribute WHERE attrelid IN (SELECT index_table FROM indextable.index_tables) AND attnum > 0 AND NOT attisdropped GROUP BY 1;
CREATE VIEW wrong AS
	SELECT 'f_k' AS t, side, entry FROM pg_temp.oracle('types.f_k', 'SELECT doc ->> ''k'', part, id, doc ->> ''v'' FROM types.f WHERE doc ->> ''k'' IS NOT NULL')
	UNION ALL SELECT 'f_id', side, entry FROM pg_temp.oracle('types.f_id', 'SELECT doc ->> ''k'', id, part, note FROM types.f WHERE doc ->> ''k'' IS NOT NULL')
	UNION ALL SELECT 'f_u', side, entry FROM pg_temp.oracle('types.f_u', 'SELECT (doc ->> ''v'')::int, part, id, id::text FROM types.f WHERE doc ->> ''v'' IS NOT NULL')
	UNION ALL SELECT 'f_a', side, entry FROM pg_temp.oracle('types.f_a', 'SELECT note, doc ->> ''k'', part, id FROM types.f WHERE doc ->> ''k'' IS NOT NULL AND note <> ''n1''')
	UNION ALL SELECT in_table::text, kind, problem FROM indextable.verify('types.f');
UPDATE f SET doc = doc || '{"k": "queued"}' WHERE id = 3;
SELECT array_agg(oid ORDER BY oid) AS oids FROM pg_class WHERE relname ~ '^f_(k|id|u|a)$' \gset
CREATE VIEW needed AS SELECT id FROM f_k;
ALTER TABLE f ALTER COLUMN id TYPE bigint;
DROP VIEW needed;
BEGIN;
INSERT INTO f VALUES (16, 16, 'n0', '{"k": "k16"}');
ALTER TABLE f ALTER COLUMN id TYPE bigint;
ROLLBACK;
BEGIN;
ALTER TABLE f ALTER COLUMN id TYPE bigint;
SELECT * FROM wrong;
ROLLBACK;
TABLE types ORDER BY t;
SELECT * FROM f_a WHERE k = 'queued';
ALTER TABLE f ALTER COLUMN id TYPE bigint;
TABLE types ORDER BY t;
SELECT * FROM wrong;
SELECT array_agg(oid ORDER BY oid) = :'oids' AS same_tables, has_table_privilege('pg_monitor', 'f_k', 'select') AS granted FROM pg_class WHERE relname ~ '^f_(k|id|u|a)$';
SELECT pg_get_indexdef('f_own'::regclass);
INSERT INTO f VALUES (10000000000, 16, 'n2', '{"k": "k16", "v": 16}');
SELECT indextable.drain('f');
SELECT * FROM wrong;
SELECT note, id FROM indextable.lookup(NULL::f, 'f_a', '{"note": "n2", "k": "k16"}');
-- sorted in another way, and by any expression; other subcommands beside it
ALTER TABLE f ALTER COLUMN id TYPE text COLLATE "C" USING 'x' || id, ADD COLUMN more int DEFAULT 1, ALTER COLUMN note TYPE text;
TABLE types ORDER BY t;
SELECT * FROM wrong;
SELECT id FROM f_k ORDER BY id LIMIT 3;
UPDATE f SET id = id || 'y', note = 'a longer note than before' WHERE part > 14;
SELECT indextable.drain('f');
SELECT * FROM wrong;
-- the same type, with other values; a value that is in the way of a unique key
ALTER TABLE f ALTER COLUMN id TYPE text COLLATE "C" USING upper(id);
SELECT * FROM wrong;
ALTER TABLE f ALTER COLUMN id TYPE int USING part;
SELECT * FROM wrong;
ALTER TABLE f ALTER COLUMN note TYPE varchar(30) USING note || '!';
SELECT * FROM wrong;
-- a column that is dropped beside it
ALTER TABLE f ALTER COLUMN id TYPE bigint, DROP COLUMN more;
SELECT * FROM wrong;
-- another primary key beside it: its columns would be stored under each other's names
CREATE TABLE pair (a int, b int, doc jsonb, PRIMARY KEY (a, b));
SELECT indextable.create('pair_k', 'pair', '{k}');
ALTER TABLE pair DROP CONSTRAINT pair_pkey, ALTER a TYPE bigint, ALTER b TYPE bigint, ADD PRIMARY KEY (b, a);
ALTER TABLE pair DROP CONSTRAINT pair_pkey, ALTER a TYPE bigint, ALTER b TYPE bigint, ADD PRIMARY KEY (a, b);
DROP TABLE pair;
-- a key field that is the primary key's column itself under one type, and a cast of it under another
SELECT indextable.create('f_cast', 'f', '{k,@id::int AS number}');
\set VERBOSITY default
ALTER TABLE f ALTER COLUMN id TYPE int;
\set VERBOSITY terse
ALTER TABLE f ALTER COLUMN id TYPE numeric(9);
SELECT * FROM wrong;
SELECT indextable.drop('f_cast');
ALTER TABLE f ALTER COLUMN id TYPE int;
SELECT indextable.create('f_cast', 'f', '{k,@id::int AS number}');
\set VERBOSITY default
ALTER TABLE f ALTER COLUMN id TYPE bigint;
\set VERBOSITY terse
SELECT indextable.drop('f_cast');
ALTER TABLE f ALTER COLUMN id TYPE bigint;
-- a filter is still the one that it was created with, also where the new type needs a cast in it
SELECT indextable.create('f_filter', 'f', '{k}', filter => $$note <> 'n1'$$);
ALTER TABLE f ALTER COLUMN note TYPE text;
SELECT indextable.create('f_filter', 'f', '{k}', filter => $$note <> 'n1'$$, if_not_exists => true);
-- beside totals that do not use the column; those that do are in its way
SELECT indextable.create('f_totals', 'f', '{k,@note}', totals => '{count(*),sum(@part)}');
ALTER TABLE f ALTER COLUMN id TYPE numeric(20);
SELECT * FROM wrong;
\set VERBOSITY default
ALTER TABLE f ALTER COLUMN note TYPE varchar(40);
ALTER TABLE f ALTER COLUMN part TYPE bigint;
ALTER TABLE f ALTER COLUMN doc TYPE json;
\set VERBOSITY terse
INSERT INTO f VALUES (17, 17, 'n1', '{"k": "k16"}');
SELECT k, note, sum(rows) AS rows, sum(sum_part) AS sum_part FROM f_totals WHERE k = 'k16' GROUP BY 1, 2
	EXCEPT SELECT doc ->> 'k', note, count(*), sum(part) FROM f GROUP BY 1, 2;
SELECT * FROM wrong;
SELECT indextable.drop('f_totals');
ALTER TABLE f ALTER COLUMN id TYPE bigint;
-- a column that was renamed where event triggers do not fire
SET session_replication_role = replica;
ALTER TABLE f RENAME note TO remark;
RESET session_replication_role;
ALTER TABLE f ALTER COLUMN id TYPE numeric;
SELECT indextable.create('f_filter', 'f', '{k}', filter => $$remark <> 'n1'$$, if_not_exists => true);
SELECT key FROM indextable.index_tables WHERE index_table = 'f_a'::regclass;
ALTER TABLE f RENAME remark TO note;
SELECT indextable.drop('f_filter');
ALTER TABLE f ALTER COLUMN id TYPE bigint;
SELECT * FROM wrong;
-- two rows that would have the same unique key: as an index of the fact table would say, whether the type changes or not
CREATE TABLE u (id int PRIMARY KEY, number int, doc jsonb);
SELECT indextable.create('u_number', 'u', '{@number}', is_unique => true);
INSERT INTO u VALUES (1, 1, '{}'), (2, 2, '{}');
ALTER TABLE u ALTER COLUMN number TYPE int USING 1;
ALTER TABLE u ALTER COLUMN number TYPE bigint USING number / 3;
ALTER TABLE u ALTER COLUMN number TYPE bigint USING number * 10;
TABLE u_number;
-- what cannot be followed
ALTER TABLE f ALTER COLUMN doc TYPE json;
SELECT indextable.create('f_b', 'f', '{v}', populate => false);
\set VERBOSITY default
ALTER TABLE f ALTER COLUMN id TYPE bigint;
SELECT indextable.drop('f_b');
SELECT indextable.alter('f_k', include => '{}', populate => false);
\set VERBOSITY terse
ALTER TABLE f ALTER COLUMN id TYPE bigint;
CALL indextable.rebuild('f_k');
SELECT indextable.drop('f_k');
ALTER TABLE f ALTER COLUMN id TYPE numeric;
DROP VIEW wrong, types;
SELECT * FROM indextable.verify('f');
SET client_min_messages = error;
DROP SCHEMA types CASCADE;
SELECT * FROM pg_temp.leftovers();
