-- Definitions as SQL: the statement that makes an index table again, the comment that has it, create(if_not_exists),
-- and what is left of an index table without its definition.
CREATE SCHEMA defs;
SET search_path = defs;
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE COLLATION folded FROM "C";
CREATE FUNCTION keep(t text) RETURNS boolean IMMUTABLE LANGUAGE sql AS $$ SELECT t <> 'x' $$;
CREATE TABLE f (id int, region text, doc jsonb, note text, m mood DEFAULT 'ok', PRIMARY KEY (id, region));
INSERT INTO f SELECT g, 'r' || g % 3, jsonb_build_object('k', 'k' || g % 7, 'n', g % 10, 'v', 'v' || g, 'tags', ARRAY['t' || g % 3, 'u'],
	'd', '2026-01-01'::date + g % 30, 'a', '{"b": 1}'::jsonb, 'm', 'ok'), 'n' || g % 4 FROM generate_series(1, 40) g;

-- What makes up an index table: the texts of its fields count by the statement, because a column may have been renamed.
-- again(): the statement makes the same as it was.
CREATE FUNCTION pg_temp.facts(t regclass) RETURNS text LANGUAGE sql AS $$
	SELECT jsonb_pretty(jsonb_build_array((SELECT to_jsonb(d) - '{index_table,state,problem,key,include}'::text[] FROM indextable_internal.definition d WHERE index_table = t),
		(SELECT jsonb_agg(format('%s %s %s %s', attname, format_type(atttypid, atttypmod), attcollation::regcollation, attnotnull) ORDER BY attnum) FROM pg_attribute WHERE attrelid = t AND attnum > 0 AND NOT attisdropped),
		(SELECT jsonb_agg(regexp_replace(pg_get_indexdef(indexrelid), ' INDEX .* ON ', ' INDEX ON ') ORDER BY indisprimary, indexrelid) FROM pg_index WHERE indrelid = t), pg_get_partkeydef(t), obj_description(t, 'pg_class'),
		(SELECT jsonb_agg(format('%s %s', pg_get_expr(relpartbound, c.oid), spcname) ORDER BY pg_get_expr(relpartbound, c.oid)) FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid LEFT JOIN pg_tablespace s ON s.oid = reltablespace WHERE inhparent = t))) $$;
CREATE FUNCTION pg_temp.again(name text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	statement text := indextable.definition(name::regclass);
	was text := pg_temp.facts(name::regclass);
BEGIN
	PERFORM indextable.drop(name::regclass);
	PERFORM set_config('search_path', 'defs', true);
	EXECUTE statement;
	IF pg_temp.facts(name::regclass) <> was OR indextable.definition(name::regclass) <> statement THEN
		RAISE 'another one: % instead of %', pg_temp.facts(name::regclass), was;
	END IF;
	RETURN statement;
END $$;

SELECT indextable.create('f_k', 'f', '{k}') \gset
SELECT pg_temp.again('f_k');
SELECT indextable.create('f_two', 'f', ARRAY['n::int', '"k" AS "The ""Key"""'], include => ARRAY['v', '@note', 'a.b::numeric(10,2) AS ab', 'tags::jsonb'], filter => $$defs.keep(note) AND doc ->> 'v' <> 'it''s'$$) \gset
SELECT pg_temp.again('f_two');
SELECT indextable.create('f_tags', 'f', ARRAY['tags[*] COLLATE "C" AS tag', '@region'], is_unique => false, on_mismatch => 'skip', maintenance => 'async') \gset
SELECT pg_temp.again('f_tags');
SELECT indextable.create('f_unique', 'f', ARRAY['v COLLATE folded'], is_unique => true, include => '{@ctid}') \gset
SELECT pg_temp.again('f_unique');
SELECT indextable.create('f_copy', 'f', '{@m,d::date}', 'denormalized', filter => $$doc ? 'm'$$) \gset
SELECT pg_temp.again('f_copy');
CREATE SCHEMA "An ""Own""";
SELECT indextable.create('"An ""Own"""."It''s \ a $"', 'f', ARRAY['"a".b AS "a\b"', '"x,y" AS "x,y"']) \gset
SELECT pg_temp.again('"An ""Own"""."It''s \ a $"');
-- partitions
SELECT indextable.create('f_hash', 'f', '{k}', partitions => 3) \gset
SELECT pg_temp.again('f_hash');
SELECT indextable.create('f_hash2', 'f', ARRAY['k', 'n::int AS "N"'], partition_by => 'hash ("N")', partitions => 2, maintenance => 'async', partition_tablespaces => '{pg_default}') \gset
SELECT pg_temp.again('f_hash2');
SELECT indextable.create('f_range', 'f', '{k,n::int}', partition_by => 'RANGE (n)', partition_bounds => '{FROM (0) TO (3),for values from (3) to (6)}') \gset
CREATE TABLE f_range_more PARTITION OF f_range FOR VALUES FROM (100) TO (MAXVALUE);
SELECT pg_temp.again('f_range');
SELECT indextable.create('f_list', 'f', '{@m}', partition_by => 'LIST (m)', partition_bounds => ARRAY['IN (''sad'')']) \gset
SELECT pg_temp.again('f_list');
SELECT indextable.create('f_date', 'f', '{d::date}', partition_by => 'RANGE (d)', partition_bounds => ARRAY['FROM (''2026-01-01'') TO (''2026-01-10'')']) \gset
SELECT pg_temp.again('f_date');
SET DateStyle = 'SQL, DMY';
SELECT pg_temp.again('f_date');
RESET DateStyle;
SELECT indextable.create('f_rest', 'f', '{n::int}', partition_by => 'RANGE (n)', partition_bounds => '{DEFAULT}') \gset
SELECT pg_temp.again('f_rest');
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE defs_1 LOCATION '';
RESET allow_in_place_tablespaces;
SELECT indextable.create('f_space', 'f', '{k}', partitions => 2, partition_tablespaces => '{defs_1}'),
	indextable.create('f_spaces', 'f', '{n::int}', partition_by => 'RANGE (n)', partition_bounds => '{FROM (0) TO (5)}', partition_tablespaces => '{defs_1}'),
	indextable.create('f_mixed', 'f', '{n::int}', partition_by => 'RANGE (n)', partition_bounds => '{FROM (0) TO (5),FROM (5) TO (8)}', partition_tablespaces => '{pg_default,defs_1}') \gset
SELECT pg_temp.again('f_space');
SELECT pg_temp.again('f_spaces');
SELECT pg_temp.again('f_mixed');
DROP TABLE f_space, f_spaces, f_mixed;
DROP TABLESPACE defs_1;
-- a column that was renamed since, of the fact table and of the index table; several documents
ALTER TABLE f RENAME note TO "Note";
ALTER TABLE f_two RENAME "The ""Key""" TO key;
ALTER TABLE f_tags RENAME tag TO "Tag";
ALTER TABLE f ADD other jsonb;
SELECT pg_temp.again('f_two');
SELECT pg_temp.again('f_tags');
-- what is no index table has none
SELECT indextable.definition('f');
SELECT indextable.definition(NULL);
SELECT indextable.definition(0);
-- a fact table without a primary key
CREATE TABLE away (id int NOT NULL, region text NOT NULL, doc jsonb) PARTITION BY LIST (region);
CREATE TABLE away_here PARTITION OF away (PRIMARY KEY (region, id)) FOR VALUES IN ('here');
SELECT indextable.create('away_k', 'away', '{k}', primary_key => '{region,id}') \gset
SELECT pg_temp.again('away_k');
DROP TABLE away;

-- ---- the comment: what \d+ shows, in step with what is altered and renamed
CREATE FUNCTION pg_temp.comment(t text) RETURNS text LANGUAGE sql AS $$ SELECT obj_description(t::regclass, 'pg_class') $$;
CREATE TABLE told (id int PRIMARY KEY, doc jsonb, note text);
SELECT indextable.create('told_k', 'told', '{k}'), indextable.create('told_n', 'told', '{n::int}', partition_by => 'RANGE (n)') \gset
SELECT pg_temp.comment('told_k');
SELECT indextable.alter('told_k', include => '{v,@note}', filter => 'id > 0') \gset
SELECT pg_temp.comment('told_k');
SELECT indextable.alter('told_k', maintenance => 'async') \gset
ALTER TABLE told RENAME note TO remark;
ALTER TABLE told_k RENAME v TO value;
SELECT pg_temp.comment('told_k');
ALTER TABLE told RENAME TO "Told";
ALTER TABLE told_k RENAME TO "Told_k";
ALTER TABLE "Told" ADD more jsonb;
SELECT pg_temp.comment('"Told_k"');
CREATE SCHEMA later;
ALTER TABLE "Told_k" SET SCHEMA later;
ALTER SCHEMA later RENAME TO sooner;
ALTER TABLE "Told" RENAME doc TO "Doc";
ALTER TABLE "Told" DROP more;
SELECT pg_temp.comment('sooner."Told_k"');
CREATE TABLE told_n_1 PARTITION OF told_n FOR VALUES FROM (1) TO (2);
SELECT pg_temp.comment('told_n');
-- on rebuild() it is written where there is none; a user's own stays, and none stays none
COMMENT ON TABLE told_n IS 'my own';
COMMENT ON TABLE sooner."Told_k" IS NULL;
ALTER TABLE "Told" RENAME TO told;
SELECT indextable.alter('told_n', partition_bounds => '{FROM (1) TO (3)}') \gset
SELECT pg_temp.comment('told_n'), pg_temp.comment('sooner."Told_k"');
CALL indextable.rebuild('told_n');
CALL indextable.rebuild('sooner."Told_k"');
SELECT pg_temp.comment('told_n'), pg_temp.comment('sooner."Told_k"');
DROP TABLE told;

-- ---- create(if_not_exists)
CREATE TABLE g (id int PRIMARY KEY, doc jsonb, note text);
INSERT INTO g SELECT i, jsonb_build_object('k', i, 'tags', ARRAY[i]) FROM generate_series(1, 3) i;
SELECT indextable.create('g_k', 'g', '{k}', if_not_exists => true) \gset
SELECT indextable.create('g_k', 'g', '{k}', if_not_exists => true);
SELECT indextable.create('defs.g_k', 'g', ARRAY[' $.k ::text  as K'], 'normalized', if_not_exists => true);
SELECT indextable.create('g_k', 'g', '{k}');
SELECT indextable.create('g_p', 'g', ARRAY['tags[*]::int', 'k'], include => '{@note}', filter => 'note IS NULL', maintenance => 'async', partitions => 2, on_mismatch => 'skip', if_not_exists => true) \gset
SELECT indextable.create('g_p', 'g', ARRAY['tags[*]::int', 'k'], include => '{@note}', filter => ' (note IS NULL) ', maintenance => 'async', partitions => 2, on_mismatch => 'skip', if_not_exists => true);
-- it differs: in what alter() changes, and in more
SELECT indextable.create('g_k', 'g', '{k}', include => ARRAY['v', '@note AS "N"'], maintenance => 'async', filter => $$doc ? 'v'$$, if_not_exists => true);
SELECT indextable.alter('defs.g_k', strategy => 'partial', include => ARRAY['v', '@note AS "N"'], filter => $$doc ? 'v'$$, maintenance => 'async') \gset
SELECT indextable.create('g_k', 'g', '{k}', include => ARRAY['v', '@note AS "N"'], maintenance => 'async', filter => $$doc ? 'v'$$, if_not_exists => true);
SELECT indextable.create('g_k', 'g', '{k}', if_not_exists => true);
SELECT indextable.create('g_k', 'g', '{k::int}', if_not_exists => true);
SELECT indextable.create('g_k', 'g', '{x.k}', include => '{v}', is_unique => true, on_mismatch => 'skip', if_not_exists => true);
SELECT indextable.create('g_k', 'g', ARRAY['k AS other'], partitions => 3, if_not_exists => true);
SELECT indextable.create('g_p', 'g', ARRAY['tags[*]::int', 'k'], include => '{@note}', filter => 'note IS NULL', maintenance => 'async', partitions => 4, on_mismatch => 'skip', if_not_exists => true);
SELECT indextable.create('g_p', 'g', ARRAY['tags[*]::int', 'k'], include => '{@note}', filter => 'note IS NULL', maintenance => 'async', partition_by => 'RANGE (k)', on_mismatch => 'skip', if_not_exists => true);
-- partitions by range come and go
SELECT indextable.create('g_r', 'g', '{k::int}', partition_by => 'RANGE (k)', partition_bounds => '{FROM (0) TO (5)}') \gset
CREATE TABLE g_r_5 PARTITION OF g_r FOR VALUES FROM (5) TO (10);
SELECT indextable.create('g_r', 'g', '{k::int}', partition_by => 'RANGE (k)', partition_bounds => '{FROM (0) TO (5)}', if_not_exists => true);
SELECT indextable.create('g_r', 'g', '{k::int}', if_not_exists => true);
-- the name is another table's, another fact table's index table's, or wrong
SELECT indextable.create('g', 'g', '{k}', if_not_exists => true);
SELECT indextable.create('f_k', 'g', '{k}', if_not_exists => true);
SELECT indextable.create('g_k_pkey', 'g', '{k}', if_not_exists => true);
SELECT indextable.create('nowhere.g_k', 'g', '{k}', if_not_exists => true);
SELECT indextable.create('g_k', 'g', '{k}', include => '{}', strategy => 'partial', if_not_exists => true);
-- what is not filled yet is the same, too
SELECT indextable.create('g_b', 'g', '{k}', populate => false), indextable.create('g_b', 'g', '{k}', if_not_exists => true);
-- it waits for no writer
BEGIN;
SELECT indextable.create('g_r', 'g', '{k::int}', partition_by => 'RANGE (k)', if_not_exists => true);
SELECT mode FROM pg_locks WHERE relation = 'g'::regclass AND pid = pg_backend_pid() AND mode <> 'AccessShareLock';
COMMIT;
DROP TABLE g;

-- ---- what a dump brings without the definitions, which is much as if they were deleted
CREATE TABLE h (id int PRIMARY KEY, doc jsonb);
CREATE TABLE h_k (k text NOT NULL, id int NOT NULL, PRIMARY KEY (k, id));
CREATE TRIGGER indextable_row AFTER INSERT OR DELETE OR UPDATE ON h FOR EACH ROW EXECUTE FUNCTION indextable_internal.maintain();
CREATE TRIGGER indextable_end AFTER INSERT OR DELETE OR UPDATE ON h FOR EACH STATEMENT EXECUTE FUNCTION indextable_internal.maintain();
CREATE TRIGGER indextable_truncate AFTER TRUNCATE ON h FOR EACH STATEMENT EXECUTE FUNCTION indextable_internal.maintain();
ALTER TABLE h ENABLE ALWAYS TRIGGER indextable_row, ENABLE ALWAYS TRIGGER indextable_end, ENABLE ALWAYS TRIGGER indextable_truncate;
-- the fact table alone is a plain table
INSERT INTO h VALUES (1, '{"k": "a"}'), (2, '{"k": "b"}');
UPDATE h SET id = 3 WHERE id = 2;
DELETE FROM h WHERE id = 3;
TRUNCATE h;
INSERT INTO h VALUES (1, '{"k": "a"}');
-- with an index table it is not
CREATE TRIGGER indextable_guard BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON h_k FOR EACH STATEMENT EXECUTE FUNCTION indextable_internal.guard();
DROP TRIGGER indextable_guard ON h_k;
COMMENT ON TABLE h_k IS 'index table of defs.h: SELECT indextable.create(''defs.h_k'', ''defs.h'', ''{k}'');';
CREATE TRIGGER indextable_guard BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON h_k FOR EACH STATEMENT EXECUTE FUNCTION indextable_internal.guard();
CREATE TRIGGER indextable_guard_row BEFORE INSERT OR DELETE OR UPDATE ON h_k FOR EACH ROW EXECUTE FUNCTION indextable_internal.guard();
INSERT INTO h VALUES (2, '{"k": "b"}');
TRUNCATE h;
DELETE FROM h_k;
-- neither where the catalog still knows the fact table
INSERT INTO indextable_internal.fact VALUES ('h');
INSERT INTO h VALUES (2, '{"k": "b"}');
DELETE FROM indextable_internal.fact WHERE fact_table = 'h'::regclass;
-- what tables of other owners say does not count
CREATE ROLE regress_defs;
ALTER TABLE h_k OWNER TO regress_defs;
BEGIN; INSERT INTO h VALUES (2, '{"k": "b"}'); ROLLBACK;
ALTER TABLE h_k OWNER TO CURRENT_USER;
DROP ROLE regress_defs;
DROP TABLE defs.h_k; SELECT indextable.create('defs.h_k', 'defs.h', '{k}');
INSERT INTO h VALUES (2, '{"k": "b"}');
TABLE h_k;
SELECT * FROM indextable.verify('h_k');
SET client_min_messages = warning;
DROP SCHEMA defs, sooner, "An ""Own""" CASCADE;
RESET client_min_messages;
SELECT index_table FROM indextable.index_tables;
