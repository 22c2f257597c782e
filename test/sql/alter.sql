-- alter() and rebuild(): another maintenance, strategy, included fields or filter, and new contents, for an index
-- table that stays the same object.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
SET client_min_messages = warning;
CREATE SCHEMA altering;
CREATE EXTENSION amcheck SCHEMA altering;
SET search_path = altering, public;

CREATE TABLE doc (id int PRIMARY KEY, doc jsonb, note text, live boolean) WITH (autovacuum_enabled = off);
CREATE FUNCTION d(g int) RETURNS jsonb IMMUTABLE LANGUAGE sql AS $$ SELECT CASE
	WHEN g % 11 = 0 THEN jsonb_build_object('v', 'no key')
	WHEN g % 13 = 0 THEN jsonb_build_object('k', NULL, 'n', g)
	WHEN g % 7 = 0 THEN jsonb_build_object('k', 'k' || g % 4)
	ELSE jsonb_build_object('k', 'k' || g % 4, 'n', g, 'v', 'v' || g, 'w', g % 3, 'tags', jsonb_build_array(g % 3, g % 5, 10, NULL)) END $$;
INSERT INTO doc SELECT g, d(g), 'note ' || g, g % 2 = 0 FROM generate_series(1, 60) g;
INSERT INTO doc VALUES (-1, NULL, NULL, NULL), (-2, '{}', NULL, true), (-3, '{"k": "", "v": null}', NULL, false);

-- What an index table is to hold, by the names and types of its columns: a member of the document each, but for the
-- columns of the fact table and tag, an element of tags.
CREATE FUNCTION recompute(index_table regclass) RETURNS text LANGUAGE sql AS $$
	SELECT format('SELECT %s FROM %s WHERE %s', string_agg(expression, ', ' ORDER BY attnum),
		max(fact_table::text) || CASE WHEN bool_or(attname = 'tag') THEN ', LATERAL (SELECT e::int AS tag FROM jsonb_array_elements_text(doc -> ''tags'') e) t' ELSE '' END,
		string_agg(expression || ' IS NOT NULL', ' AND ') FILTER (WHERE attnotnull) || coalesce(' AND ' || max(filter), ''))
	FROM (SELECT attnum, attname, attnotnull, fact_table, filter,
			CASE WHEN attname IN ('id', 'doc', 'note', 'live', 'tag') THEN attname
				WHEN atttypid = 'jsonb'::regtype THEN format('(doc -> %L)', attname)
				ELSE format('(doc ->> %L)::%s', attname, format_type(atttypid, atttypmod)) END AS expression
		FROM pg_attribute, indextable.index_tables i
		WHERE attrelid = $1 AND i.index_table = $1 AND attnum > 0 AND NOT attisdropped AND attname <> 'elements') a
$$;
CREATE FUNCTION columns(index_table regclass) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod) || CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END, ', ' ORDER BY attnum)
	FROM pg_attribute WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped
$$;
CREATE FUNCTION indexes(index_table regclass) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT regexp_replace(pg_get_indexdef(indexrelid), '^CREATE (UNIQUE )?INDEX (\S+) ON \S+ USING', '\2 \1') || CASE WHEN indisvalid THEN '' ELSE ' INVALID' END
	FROM pg_index WHERE indrelid = $1 ORDER BY indexrelid::regclass::text COLLATE "C"
$$;
CREATE FUNCTION definition(index_table regclass) RETURNS TABLE (state text, strategy text, maintenance text, include text[], filter text, columns text, skipped bigint, backlog bigint, rejected bigint) LANGUAGE sql AS
	$$ SELECT state, strategy, maintenance, include, filter, altering.columns(index_table), skipped, backlog, rejected FROM indextable.index_tables JOIN indextable.index_table_stats USING (index_table, fact_table) WHERE index_table = $1 $$;

-- Tables that alter() and rebuild() have made and left, and whatever points to no table any more.
CREATE FUNCTION left_behind() RETURNS TABLE (what text, name text) LANGUAGE sql AS $$
	SELECT 'replacement', regexp_replace(relname, '[0-9]+', 'N') FROM pg_class WHERE relnamespace = 'indextable_internal'::regnamespace AND relname LIKE 'rebuild%' AND relkind = 'r'
	UNION ALL SELECT 'definition of nothing', index_table::oid::text FROM indextable_internal.definition d WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = d.index_table)
	UNION ALL SELECT 'progress', 'of ' || count(*) FROM indextable_internal.build HAVING count(*) > 0
	UNION ALL SELECT 'skipped of nothing', index_table::oid::text FROM indextable_internal.skipped s WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = s.index_table)
	UNION ALL SELECT 'rejection of nothing', index_table::oid::text FROM indextable_internal.rejection r WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = r.index_table)
	UNION ALL SELECT 'dependency of nothing', classid::regclass || ' ' || refclassid::regclass FROM pg_depend d
		WHERE (refclassid = 'pg_class'::regclass AND NOT EXISTS (SELECT FROM pg_class WHERE oid = refobjid))
			OR (classid = 'pg_class'::regclass AND NOT EXISTS (SELECT FROM pg_class WHERE oid = objid))
	UNION ALL SELECT 'TOAST table of nobody', relname FROM pg_class t WHERE relkind = 't' AND NOT EXISTS (SELECT FROM pg_class WHERE reltoastrelid = t.oid)
	UNION ALL SELECT 'queue of nobody', relname FROM pg_class t WHERE relnamespace = 'indextable_queues'::regnamespace AND relname LIKE 'queue\_%' AND relkind = 'r'
		AND NOT EXISTS (SELECT FROM indextable_internal.fact WHERE t.oid IN (queue, spare))
	UNION ALL SELECT 'file of two', relname FROM (SELECT relname, count(*) OVER (PARTITION BY relfilenode, reltablespace) FROM pg_class WHERE relfilenode <> 0) f WHERE count > 1
	ORDER BY 1, 2
$$;

-- What is wrong with index tables: by the oracle, by verify(), in their files and in what the catalogs say of these.
CREATE FUNCTION wrong() RETURNS TABLE (index_table text, what text, entry text) LANGUAGE plpgsql AS $$
DECLARE i record; x record;
BEGIN
	FOR i IN SELECT t.index_table AS t, t.fact_table AS f FROM indextable.index_tables t WHERE state = 'active' ORDER BY t.index_table::text LOOP
		RETURN QUERY SELECT i.t::text, o.side, o.entry FROM pg_temp.oracle(i.t::text, altering.recompute(i.t)) o;
		RETURN QUERY SELECT i.t::text, v.kind, v.problem FROM indextable.verify(i.t) v;
		RETURN QUERY SELECT i.t::text, 'heap', v.msg FROM altering.verify_heapam(i.t, check_toast => true) v;
		FOR x IN SELECT indexrelid::regclass AS o, am.amname FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am am ON am.oid = relam WHERE indrelid = i.t LOOP
			IF x.amname = 'btree' THEN PERFORM altering.bt_index_parent_check(x.o, true); END IF;
		END LOOP;
		RETURN QUERY SELECT i.t::text, 'index on the primary key', 'is too much' FROM indextable_internal.definition n
			WHERE n.index_table = i.t AND n.maintenance = 'transactional' AND EXISTS (SELECT FROM pg_index WHERE indrelid = i.t AND pg_get_indexdef(indexrelid) LIKE '% USING btree (id)');
		RETURN QUERY SELECT i.t::text, 'file', c.relname || ' frozen for a file that is not' FROM pg_class c
			WHERE c.oid IN (i.t, (SELECT reltoastrelid FROM pg_class WHERE oid = i.t)) AND (relfrozenxid = '0' OR age(relfrozenxid) < 0 OR relminmxid = '0');
		RETURN QUERY SELECT i.t::text, 'file', c.relname || ' is not there' FROM pg_class c
			WHERE c.oid = i.t AND pg_relation_size(c.oid) IS DISTINCT FROM (pg_stat_file(pg_relation_filepath(c.oid))).size;
	END LOOP;
END $$;

-- ---- maintenance, there and back; the index table stays the same
SELECT indextable.create('t', 'doc', '{k,n::int}', include => '{v,@note}') \gset
SELECT 't'::regclass::oid AS oid, pg_relation_filepath('t') AS file \gset
SELECT indextable.alter('t', maintenance => 'async') \gset
SELECT * FROM definition('t');
SELECT * FROM indexes('t');
SELECT 't'::regclass::oid = :oid AS same_table, pg_relation_filepath('t') = :'file' AS same_file;
INSERT INTO doc SELECT g, d(g), 'note ' || g, g % 2 = 0 FROM generate_series(61, 70) g;
SELECT backlog > 0 AS queued FROM definition('t');
SELECT count(*) AS not_yet FROM pg_temp.oracle('t', recompute('t'));
SELECT indextable.alter('t', maintenance => 'transactional') \gset
SELECT * FROM definition('t');
SELECT * FROM indexes('t');
CALL pg_temp.no_rows('wrong()');
UPDATE doc SET doc = doc || '{"v": "changed"}' WHERE id < 10;
DELETE FROM doc WHERE id = 10;
CALL pg_temp.no_rows('wrong()');
SELECT queue, spare FROM indextable_internal.fact;
CALL pg_temp.no_rows('left_behind()');
-- to what it is
SELECT indextable.alter('t', maintenance => 'transactional'), indextable.alter('t'), indextable.alter('t', strategy => 'partial'),
	indextable.alter('t', include => '{v,@note}'), indextable.alter('t', filter => '') \gset
SELECT * FROM definition('t');
SELECT pg_relation_filepath('t') = :'file' AS same_file;
SELECT indextable.alter('t', populate => false) \gset
CALL pg_temp.no_rows('left_behind()');

-- ---- every definition from every other: at once, and by rebuild(); between them rows are written
CREATE TABLE wanted (n serial, strategy text, include text[], filter text, maintenance text);
INSERT INTO wanted (strategy, include, filter, maintenance)
SELECT s, i, f, m
FROM (VALUES ('normalized', '{}'::text[]), ('partial', '{v,@note}'), ('partial', '{w::int,v}'), ('partial', '{w::bigint,v,@live}'), ('denormalized', '{}')) s(s, i)
CROSS JOIN LATERAL (VALUES ('', 'transactional'), ('live', 'async')) f(f, m);
-- from one definition to another, in an index table that is new: dropped columns stay in it for good
CREATE PROCEDURE go(from_n int, to_n int, at_once boolean) LANGUAGE plpgsql AS $$
DECLARE a altering.wanted; b altering.wanted; i record; oid oid;
BEGIN
	SELECT * INTO a FROM altering.wanted WHERE n = from_n;
	SELECT * INTO b FROM altering.wanted WHERE n = to_n;
	PERFORM indextable.drop('altering.t');
	oid := indextable.create('altering.t', 'altering.doc', '{k,n::int}', a.strategy, nullif(a.include, '{}'), nullif(a.filter, ''), a.maintenance);
	PERFORM indextable.alter('altering.t', b.maintenance, b.strategy, b.include, b.filter, at_once);
	UPDATE altering.doc SET doc = jsonb_set(doc, '{v}', to_jsonb('to ' || to_n)), live = NOT live WHERE id % 12 = to_n % 12;
	DELETE FROM altering.doc WHERE id = 1000 + to_n;
	INSERT INTO altering.doc SELECT 1000 + to_n, altering.d(to_n), 'note', at_once;
	IF NOT at_once AND EXISTS (SELECT FROM indextable_internal.definition WHERE replaces = oid) THEN
		CALL indextable.rebuild('altering.t', 30);
	END IF;
	UPDATE altering.doc SET doc = jsonb_set(doc, '{w}', to_jsonb(to_n)), note = note || 'x' WHERE id % 12 = (to_n + 1) % 12;
	PERFORM indextable.drain('altering.doc') WHERE b.maintenance = 'async';
	SELECT d.strategy, coalesce(d.include, '{}') AS include, coalesce(d.filter, '') AS filter, d.maintenance, d.state, d.index_table::oid INTO i
	FROM indextable.index_tables d WHERE d.index_table = 'altering.t'::regclass;
	IF (i.strategy, i.include, i.filter, i.maintenance, i.state, i.index_table) IS DISTINCT FROM (b.strategy, b.include, b.filter, b.maintenance, 'active', oid) THEN
		RAISE WARNING 'wanted %, got %', b, i;
	END IF;
	FOR i IN SELECT * FROM altering.wrong() LIMIT 3 LOOP
		RAISE WARNING '% to %, at once %: %', from_n, to_n, at_once, i;
	END LOOP;
END $$;
DO $$
DECLARE a int; b int;
BEGIN
	FOR a, b IN SELECT x, y FROM generate_series(1, 10) x, generate_series(1, 10) y WHERE x <> y LOOP
		CALL altering.go(a, b, (a + b / 2) % 2 = 0);
	END LOOP;
END $$;
CALL pg_temp.no_rows('wrong()');
CALL pg_temp.no_rows('left_behind()');
DROP TABLE wanted;
SELECT indextable.drop('t') \gset
TRUNCATE doc;
INSERT INTO doc SELECT g, d(g), 'note ' || g, g % 2 = 0 FROM generate_series(1, 60) g;
INSERT INTO doc VALUES (-1, NULL, NULL, NULL), (-2, '{}', NULL, true), (-3, '{"k": "", "v": null}', NULL, false);

-- ---- refused
RESET client_min_messages;
SELECT indextable.create('e', 'doc', '{k}', include => '{v}') \gset
SELECT indextable.alter(NULL, strategy => 'normalized');
SELECT indextable.alter('doc', strategy => 'normalized');
SELECT indextable.alter(0, strategy => 'normalized');
SELECT indextable.alter('e', maintenance => 'sometimes');
SELECT indextable.alter('e', strategy => 'big');
SELECT indextable.alter('e', strategy => 'partial', include => '{}');
SELECT indextable.alter('e', strategy => 'normalized', include => '{v}');
SELECT indextable.alter('e', strategy => 'denormalized', include => '{v}');
SELECT indextable.alter('e', include => '{{v},{w}}');
SELECT indextable.alter('e', include => '{v,NULL}');
SELECT indextable.alter('e', include => '{v::nosuch}');
SELECT indextable.alter('e', include => '{v[*]}');
SELECT indextable.alter('e', include => '{@nosuch}');
SELECT indextable.alter('e', filter => 'nosuch > 1');
SELECT indextable.alter('e', filter => 'now() > ''2020-01-01''');
SELECT indextable.alter('e', filter => 'id');
SELECT indextable.alter('e', filter => 'id > (SELECT 1)');
SELECT indextable.alter('e', filter => 'id / 0 > 1');
CREATE ROLE altering_other;
GRANT USAGE ON SCHEMA altering TO altering_other;
SET ROLE altering_other;
SELECT indextable.alter('e', strategy => 'normalized');
CALL indextable.rebuild('e');
RESET ROLE;
BEGIN READ ONLY;
SELECT indextable.alter('e', strategy => 'normalized');
ROLLBACK;
CALL indextable.rebuild(NULL);
CALL indextable.rebuild('doc');
CALL indextable.rebuild(0);
CALL indextable.rebuild('e', 0);
CALL indextable.rebuild('e', 1, '-1 s');
BEGIN;
CALL indextable.rebuild('e');
ROLLBACK;
SELECT indextable.create('u', 'doc', '{n::int}', is_unique => true) \gset
SELECT indextable.alter('u', maintenance => 'async');
SELECT indextable.create('b', 'doc', '{n::int}', populate => false) \gset
SELECT indextable.alter('b', strategy => 'denormalized');
CALL indextable.rebuild('b');
SELECT indextable.drop('b') \gset
-- invalid: rebuild() is a repair, too
ALTER TABLE doc DISABLE TRIGGER ALL;
SELECT indextable.alter('e', strategy => 'denormalized');
UPDATE doc SET doc = doc || '{"v": "missed"}' WHERE id = 5;
CALL indextable.rebuild('e', 20);
CALL indextable.rebuild('u', 20);
SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid = 'doc'::regclass ORDER BY 1;
SELECT * FROM definition('e');
-- columns that go while something depends on them, and columns of the owner's
CREATE VIEW ev AS SELECT k, v FROM e;
SELECT indextable.alter('e', include => '{w}');
SELECT indextable.alter('e', strategy => 'normalized');
SELECT indextable.alter('e', include => '{v,w}') \gset
SELECT count(*), count(v) FROM ev;
DROP VIEW ev;
CREATE VIEW ev AS SELECT k, id, e FROM e;
SELECT indextable.alter('e', include => '{v,w,@note}') \gset
SELECT indextable.alter('e', include => '{v}') \gset
SELECT count(*), max(e::text) FROM ev;
-- the replacement waits until the view has gone
SELECT indextable.alter('e', include => '{@note}', populate => false) \gset
CREATE VIEW ev2 AS SELECT v FROM e;
\set VERBOSITY sqlstate
CALL indextable.rebuild('e', 20);
\set VERBOSITY default
SELECT * FROM left_behind();
CALL pg_temp.no_rows('wrong()');
UPDATE doc SET doc = doc || '{"v": "waits"}' WHERE id = 6;
DROP VIEW ev2;
CALL indextable.rebuild('e', 20);
SELECT * FROM definition('e');
DROP VIEW ev;
ALTER TABLE e ADD COLUMN mine text;
SELECT indextable.alter('e', include => '{@note,v}');
SELECT indextable.alter('e', filter => 'live') \gset
SELECT indextable.alter('e', include => '{}') \gset
CALL indextable.rebuild('e');
SELECT indextable.alter('e', filter => '', populate => false) \gset
ALTER TABLE e ADD COLUMN mine2 int;
CALL indextable.rebuild('e');
SELECT * FROM definition('e');
SELECT o.* FROM pg_temp.oracle('e', 'SELECT doc ->> ''k'', id, NULL::text, NULL::int FROM doc') o;
CALL pg_temp.no_rows('left_behind()');
DROP TABLE e, u;

-- ---- in transactions
SELECT indextable.create('t', 'doc', '{k}', include => '{v}') \gset
BEGIN;
SELECT indextable.alter('t', 'async', 'denormalized', filter => 'live') \gset
SELECT * FROM definition('t');
INSERT INTO doc VALUES (500, d(1), 'x', true);
SELECT indextable.alter('t', 'async', 'normalized');
ROLLBACK;
SELECT * FROM definition('t');
SELECT * FROM indexes('t');
CALL pg_temp.no_rows('wrong()');
BEGIN;
INSERT INTO doc VALUES (500, d(1), 'x', true);
SAVEPOINT a;
SELECT indextable.alter('t', strategy => 'denormalized', filter => 'live') \gset
INSERT INTO doc VALUES (501, d(1), 'x', true);
CALL pg_temp.no_rows('wrong()');
SELECT count(*) FROM indextable.lookup('t', '{"k": "k1"}');
ROLLBACK TO a;
INSERT INTO doc VALUES (502, d(1), 'x', true);
CALL pg_temp.no_rows('wrong()');
SAVEPOINT b;
SELECT indextable.alter('t', include => '{w::int,v}') \gset
UPDATE doc SET doc = doc || '{"w": 77}' WHERE id > 490;
RELEASE b;
SAVEPOINT c;
SELECT indextable.alter('t', strategy => 'denormalized') \gset
UPDATE doc SET doc = doc || '{"w": 78}' WHERE id > 490;
SELECT indextable.alter('t', include => '{@note}') \gset
UPDATE doc SET doc = doc || '{"w": 79}', note = 'c' WHERE id > 490;
CALL pg_temp.no_rows('wrong()');
ROLLBACK TO c;
CALL pg_temp.no_rows('wrong()');
UPDATE doc SET doc = doc || '{"w": 80}' WHERE id > 490;
COMMIT;
SELECT * FROM definition('t');
SELECT * FROM indexes('t');
CALL pg_temp.no_rows('wrong()');
CALL pg_temp.no_rows('left_behind()');
-- with the fact table, in one transaction
BEGIN;
CREATE TABLE g (id int PRIMARY KEY, doc jsonb);
INSERT INTO g SELECT id, doc FROM doc WHERE doc IS NOT NULL;
SELECT indextable.create('gk', 'g', '{k}') \gset
SELECT indextable.alter('gk', include => '{v}') \gset
SELECT indextable.alter('gk', maintenance => 'async') \gset
INSERT INTO g VALUES (5000, d(1));
SAVEPOINT x;
SELECT indextable.alter('gk', maintenance => 'transactional');
ROLLBACK TO x;
SELECT indextable.alter('gk', strategy => 'denormalized', populate => false);
ROLLBACK TO x;
COMMIT;
SELECT indextable.drain('g');
CALL pg_temp.no_rows('wrong()');
-- maintenance from here on: what came before is applied, or written
BEGIN;
UPDATE doc SET doc = doc || '{"v": 5}' WHERE id < 10;
SELECT indextable.alter('t', 'async') \gset
UPDATE doc SET doc = doc || '{"v": 6}' WHERE id BETWEEN 5 AND 15;
COMMIT;
SELECT backlog FROM definition('t');
BEGIN;
SELECT indextable.alter('t', 'transactional') \gset
UPDATE doc SET doc = doc || '{"v": 7}' WHERE id BETWEEN 5 AND 15;
CALL pg_temp.no_rows('wrong()');
COMMIT;
CALL pg_temp.no_rows('wrong()');
BEGIN;
SELECT indextable.alter('t', 'async', 'denormalized') \gset
UPDATE doc SET doc = doc || '{"v": 8}' WHERE id BETWEEN 5 AND 15;
COMMIT;
SELECT backlog FROM definition('t');
BEGIN;
SELECT indextable.alter('t', 'transactional', include => '{v}', populate => false) \gset
UPDATE doc SET doc = doc || '{"v": 9}' WHERE id BETWEEN 7 AND 15;
ROLLBACK;
CALL pg_temp.no_rows('left_behind()');
BEGIN;
SELECT indextable.alter('t', 'transactional', include => '{v}', populate => false) \gset
UPDATE doc SET doc = doc || '{"v": 9}' WHERE id BETWEEN 7 AND 15;
COMMIT;
CALL indextable.rebuild('t', 10);
SELECT * FROM definition('t');
CALL pg_temp.no_rows('wrong()');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM t;
SELECT indextable.alter('t', include => '{w::int}', filter => 'live') \gset
SELECT count(*) FROM t;
INSERT INTO doc VALUES (902, d(5), 'n', true);
SELECT count(*) FROM t;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM t;
SELECT indextable.alter('t', 'async', strategy => 'denormalized') \gset
INSERT INTO doc VALUES (903, d(5), 'n', true);
COMMIT;
SELECT indextable.drain('doc');
CALL pg_temp.no_rows('wrong()');
CALL pg_temp.no_rows('left_behind()');

-- ---- in the middle of reading it
SELECT indextable.alter('t', 'transactional', include => '{v}', filter => '') \gset
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM t ORDER BY k, id;
FETCH 1 FROM c;
SELECT indextable.alter('t', strategy => 'normalized');
ROLLBACK;
SELECT count(indextable.alter('t', strategy => 'normalized')) FROM t;
BEGIN;
DECLARE c CURSOR FOR SELECT doc ->> 'n' FROM indextable.lookup('t', '{"k": "k1"}') doc;
FETCH 1 FROM c;
SELECT indextable.alter('t', strategy => 'normalized') \gset
FETCH 2 FROM c;
COMMIT;
SET plan_cache_mode = force_generic_plan;
PREPARE whole AS SELECT count(*), max(t::text) FROM t;
PREPARE rows AS SELECT * FROM t ORDER BY k, id LIMIT 1;
PREPARE point(text) AS SELECT k, id FROM t WHERE k = $1 ORDER BY id LIMIT 2;
CREATE FUNCTION reads() RETURNS text LANGUAGE plpgsql AS $$
DECLARE r altering.t; x text;
BEGIN
	SELECT * INTO r FROM altering.t WHERE k = 'k1' ORDER BY id LIMIT 1;
	SELECT string_agg(id::text, ' ' ORDER BY id) INTO x FROM altering.t WHERE k = 'k2';
	RETURN r::text || ': ' || x;
END $$;
EXECUTE whole; EXECUTE rows; EXECUTE point('k1'); SELECT reads();
SELECT indextable.alter('t', strategy => 'denormalized', filter => 'live') \gset
EXECUTE whole; EXECUTE rows; EXECUTE point('k1'); SELECT reads();
SELECT indextable.alter('t', strategy => 'normalized') \gset
EXECUTE whole; EXECUTE rows; EXECUTE point('k1'); SELECT reads();
CALL indextable.rebuild('t', 10);
INSERT INTO doc VALUES (904, d(5), 'n', true);
DELETE FROM doc WHERE id = 502;
EXECUTE whole; EXECUTE rows; EXECUTE point('k1'); SELECT reads();
DEALLOCATE ALL;
RESET plan_cache_mode;
DROP FUNCTION reads;
CALL pg_temp.no_rows('wrong()');

-- ---- wide documents, and values too wide for the primary key
CREATE FUNCTION wide(seed int, n int) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT string_agg(md5((seed * 10000 + g)::text), '') FROM generate_series(1, n) g $$;
UPDATE doc SET doc = doc || jsonb_build_object('big', wide(id, 640)) WHERE id BETWEEN 1 AND 12;
SELECT max(pg_column_size(doc)) > 10000 AS wide FROM doc;
SELECT indextable.alter('t', strategy => 'denormalized', filter => '') \gset
SELECT pg_relation_size(reltoastrelid) > 100000 AS toasted FROM pg_class WHERE oid = 't'::regclass;
CALL pg_temp.no_rows('wrong()');
CALL indextable.rebuild('t', 5);
UPDATE doc SET doc = doc || jsonb_build_object('big', wide(id + 1, 640)) WHERE id BETWEEN 5 AND 14;
CALL pg_temp.no_rows('wrong()');
SELECT indextable.alter('t', include => '{v,big}') \gset
SELECT * FROM indexes('t');
CALL pg_temp.no_rows('wrong()');
SELECT indextable.alter('t', strategy => 'normalized') \gset
SELECT indextable.alter('t', strategy => 'denormalized', maintenance => 'async', populate => false) \gset
UPDATE doc SET doc = doc || jsonb_build_object('big', wide(id + 2, 640)) WHERE id BETWEEN 5 AND 16;
CALL indextable.rebuild('t', 5);
CALL pg_temp.no_rows('wrong()');
VACUUM FULL t;
VACUUM (FREEZE) t;
SELECT relkind, age(relfrozenxid) < 100 AS fresh FROM pg_class c WHERE oid = 't'::regclass OR oid = (SELECT reltoastrelid FROM pg_class WHERE oid = 't'::regclass) ORDER BY 1;
REINDEX TABLE t;
CLUSTER t USING t_k_id_v_key;
REINDEX TABLE CONCURRENTLY t;
UPDATE doc SET doc = doc || '{"v": "after"}' WHERE id < 5;
SELECT indextable.drain('doc') > 0 AS some;
CALL pg_temp.no_rows('wrong()');
-- the primary key lets go of included fields, and gets them back
SELECT indextable.alter('t', 'transactional', include => '{w::int,v}') \gset
SELECT * FROM indexes('t');
UPDATE doc SET doc = doc || jsonb_build_object('v', wide(id, 120)) WHERE id = 20;
SELECT * FROM indexes('t');
CALL indextable.rebuild('t');
SELECT * FROM indexes('t');
UPDATE doc SET doc = doc || '{"v": "short"}' WHERE id = 20;
CALL indextable.rebuild('t');
SELECT * FROM indexes('t');
UPDATE doc SET doc = doc || jsonb_build_object('v', wide(id, 120)) WHERE id = 20;
SELECT indextable.alter('t', include => '{w::int}') \gset
SELECT * FROM indexes('t');
SELECT indextable.alter('t', include => '{v}', populate => false) \gset
INSERT INTO doc VALUES (21000, jsonb_build_object('k', 'k9', 'v', wide(0, 130)));
CALL indextable.rebuild('t', 7);
SELECT * FROM indexes('t');
CALL pg_temp.no_rows('wrong()');
CALL pg_temp.no_rows('left_behind()');
UPDATE doc SET doc = doc || '{"v": "short"}' WHERE length(doc ->> 'v') > 1000;
DROP TABLE t, gk;
DROP TABLE g;

-- ---- what belongs to it stays
CREATE ROLE altering_owner;
GRANT USAGE, CREATE ON SCHEMA altering TO altering_owner;
ALTER TABLE doc OWNER TO altering_owner;
ALTER DEFAULT PRIVILEGES IN SCHEMA indextable_internal GRANT SELECT ON TABLES TO PUBLIC;
SELECT indextable.create('t', 'doc', '{k}', include => '{v,w::int}') \gset
GRANT SELECT ON t TO altering_other;
GRANT SELECT (k) ON t TO PUBLIC;
COMMENT ON TABLE t IS 'of mine';
COMMENT ON COLUMN t.v IS 'the value';
ALTER TABLE t SET (fillfactor = 77, autovacuum_enabled = off);
ALTER TABLE t ALTER k SET STATISTICS 321, ALTER v SET STORAGE external;
ALTER TABLE t REPLICA IDENTITY FULL;
SET client_min_messages = error;    -- of wal_level
CREATE PUBLICATION altering_pub FOR TABLE t (k, id);
RESET client_min_messages;
CREATE VIEW tv AS SELECT k, id FROM t;
GRANT SELECT ON tv TO altering_other;
CREATE INDEX t_expr ON t (upper(v));
CREATE INDEX t_part ON t (w) WHERE v IS NOT NULL;
CREATE INDEX t_desc ON t (w DESC NULLS LAST, k COLLATE "C");
CREATE UNIQUE INDEX t_uniq ON t (id, k);
CREATE INDEX t_hash ON t USING hash (k);
CREATE INDEX t_brin ON t USING brin (id);
CREATE INDEX t_k1 ON t (k) WITH (fillfactor = 70);
CREATE INDEX t_k2 ON t (k);
CREATE INDEX t_inc ON t (w) INCLUDE (v);
CREATE STATISTICS t_stat ON k, v FROM t;
COMMENT ON INDEX t_part IS 'mine';
CREATE FUNCTION belongings() RETURNS TABLE (a text) LANGUAGE sql AS $$
	SELECT concat_ws(' ', relname, relowner::regrole, relacl::text, reloptions::text, relreplident, reltablespace, obj_description(oid)) FROM pg_class WHERE oid = 'altering.t'::regclass
	UNION ALL SELECT concat_ws(' ', attname, attacl::text, nullif(attstattarget, -1), attstorage, col_description(attrelid, attnum)) FROM pg_attribute WHERE attrelid = 'altering.t'::regclass AND attnum > 0 AND NOT attisdropped
	UNION ALL SELECT concat(pubname, tablename, attnames) FROM pg_publication_tables
	UNION ALL SELECT concat_ws(' ', indexrelid, x, obj_description(indexrelid)) FROM pg_index, pg_get_indexdef(indexrelid) x WHERE indrelid = 'altering.t'::regclass
	UNION ALL SELECT stxname FROM pg_statistic_ext WHERE stxrelid = 'altering.t'::regclass
	UNION ALL SELECT concat(tgname, tgenabled) FROM pg_trigger WHERE tgrelid = 'altering.t'::regclass
$$;
CREATE TABLE before AS SELECT * FROM belongings();
SELECT count(*) FROM before;
CALL indextable.rebuild('t', 20);
SELECT * FROM (TABLE before EXCEPT ALL SELECT * FROM belongings()) x UNION ALL SELECT * FROM (SELECT * FROM belongings() EXCEPT ALL TABLE before) x;
SELECT indextable.alter('t', filter => 'live'), indextable.alter('t', filter => '', populate => false);
CALL indextable.rebuild('t', 20);
SELECT * FROM (TABLE before EXCEPT ALL SELECT * FROM belongings()) x UNION ALL SELECT * FROM (SELECT * FROM belongings() EXCEPT ALL TABLE before) x;
SELECT indextable.alter('t', include => '{v,w::int,@note}');
SELECT indextable.alter('t', 'async', include => '{v,w::int}', populate => false);
CALL indextable.rebuild('t', 20);
SELECT indextable.alter('t', 'transactional') \gset
SELECT regexp_replace(a, '^[0-9]+ ', '') FROM ((TABLE before EXCEPT ALL SELECT * FROM belongings()) UNION ALL (SELECT * FROM belongings() EXCEPT ALL TABLE before)) x(a) WHERE a !~ 't_k_id_v.*_key';
CALL pg_temp.no_rows('wrong()');
CALL pg_temp.no_rows('left_behind()');
SET enable_seqscan = off;
SET enable_bitmapscan = off;
INSERT INTO doc VALUES (950, '{"k": "k1", "v": "new", "w": 1}');
SELECT id FROM t WHERE upper(v) = 'NEW';
SELECT id FROM t WHERE w = 1 AND v = 'new';
SELECT id FROM t ORDER BY w DESC NULLS LAST, k COLLATE "C", id LIMIT 1;
RESET enable_seqscan;
RESET enable_bitmapscan;
SET ROLE altering_other;
SELECT count(*) > 0 AS may FROM t;
SELECT count(*) > 0 AS may FROM tv;
RESET ROLE;
-- made meanwhile
SELECT indextable.alter('t', include => '{v}', populate => false);
CREATE INDEX t_late ON t (id, k);
DROP INDEX t_k1, t_expr;
CREATE INDEX t_expr ON t (lower(v));
CREATE UNIQUE INDEX t_one ON t (v) WHERE v = 'new';
GRANT SELECT ON t TO altering_owner;
CALL indextable.rebuild('t', 20);
SELECT * FROM indexes('t');
CALL pg_temp.no_rows('wrong()');
INSERT INTO doc VALUES (951, '{"k": "k2", "v": "new"}');
-- one that new entries violate
SELECT indextable.create('f', 'doc', '{k}', filter => 'id = 950') \gset
CREATE UNIQUE INDEX f_k ON f (k);
\set VERBOSITY sqlstate
SELECT indextable.alter('f', filter => '');
\set VERBOSITY default
CALL pg_temp.no_rows('wrong()');
DROP TABLE f;
-- for an owner who is no superuser, and for nobody else
SET ROLE altering_owner;
SELECT indextable.alter('t', 'async', 'denormalized');
SELECT indextable.alter('t', 'transactional', include => '{w::int}', populate => false);
SELECT relowner::regrole, (SELECT string_agg(DISTINCT grantee::regrole::text, ' ') FROM aclexplode(relacl)) AS grantees FROM pg_class WHERE relname ~ '^rebuild_[0-9]+$';
CALL indextable.rebuild('t', 20);
RESET ROLE;
CALL pg_temp.no_rows('wrong()');
ALTER DEFAULT PRIVILEGES IN SCHEMA indextable_internal REVOKE SELECT ON TABLES FROM PUBLIC;
-- the replacement is nobody's to use
SELECT indextable.alter('t', include => '{v}', populate => false);
SELECT oid::regclass AS replacement FROM pg_class WHERE relname ~ '^rebuild_[0-9]+$' \gset
CREATE FUNCTION refused(sql text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN EXECUTE sql; RETURN 'not refused'; EXCEPTION WHEN OTHERS THEN RETURN regexp_replace(sqlerrm, '[0-9]+', 'N', 'g'); END $$;
SELECT refused(format(s, :'replacement')) FROM (VALUES ('DELETE FROM %s'), ('SELECT * FROM indextable.lookup(%L, ''{"k": "k1"}'')'), ('SELECT indextable.alter(%L, ''async'')'), ('ALTER TABLE %s DROP COLUMN k'), ('ALTER TABLE %s OWNER TO altering_other')) s(s);
SELECT refused(format('SELECT indextable.alter(%L, %L)', 't', 'async'));
SELECT count(*) FROM indextable.index_tables;
DROP VIEW tv;
DROP PUBLICATION altering_pub;
DROP TABLE t, before;
CALL pg_temp.no_rows('left_behind()');
ALTER TABLE doc OWNER TO CURRENT_USER;

-- where it was put, and its indexes
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE altering_table LOCATION '';
CREATE TABLESPACE altering_index LOCATION '';
SELECT indextable.create('t', 'doc', '{k}', include => '{v}') \gset
CREATE INDEX t_v ON t (v) TABLESPACE altering_index;
ALTER TABLE t SET TABLESPACE altering_table;
CALL indextable.rebuild('t', 20);
SELECT c.relname, spcname FROM pg_class c LEFT JOIN pg_tablespace s ON s.oid = reltablespace WHERE c.oid = 't'::regclass OR c.oid = 't_v'::regclass ORDER BY 1;
SELECT indextable.alter('t', strategy => 'denormalized');
UPDATE doc SET doc = doc || '{"v": "elsewhere"}' WHERE id = 1;
SELECT c.relname, spcname FROM pg_class c LEFT JOIN pg_tablespace s ON s.oid = reltablespace WHERE c.oid = 't'::regclass ORDER BY 1;
SELECT spcname = 'altering_table' AS toast_along FROM pg_class c JOIN pg_class t ON t.oid = c.reltoastrelid LEFT JOIN pg_tablespace s ON s.oid = t.reltablespace WHERE c.oid = 't'::regclass;
CALL pg_temp.no_rows('wrong()');
CALL pg_temp.no_rows('left_behind()');
DROP TABLE t;
DROP TABLESPACE altering_table;
DROP TABLESPACE altering_index;

-- ---- unique, with elements of arrays, with values that do not fit
TRUNCATE doc;
INSERT INTO doc SELECT g, d(g), 'note ' || g, g % 2 = 0 FROM generate_series(1, 60) g;
SELECT indextable.create('u', 'doc', '{n::int}', is_unique => true) \gset
SELECT indextable.alter('u', include => '{v}') \gset
SELECT * FROM indexes('u');
\set VERBOSITY sqlstate
INSERT INTO doc VALUES (700, '{"n": 1}');
SELECT indextable.alter('u', filter => 'live', populate => false) \gset
INSERT INTO doc VALUES (700, '{"n": 1}', NULL, false);
INSERT INTO doc VALUES (701, '{"n": 2001}', NULL, true);
INSERT INTO doc VALUES (702, '{"n": 2001}', NULL, true);
UPDATE doc SET doc = jsonb_set(doc, '{n}', to_jsonb(100 - (doc ->> 'n')::int)) WHERE id = 3;
CALL indextable.rebuild('u', 3);
INSERT INTO doc VALUES (700, '{"n": 1}', NULL, false);
INSERT INTO doc VALUES (703, '{"n": 2001}', NULL, true);
CALL pg_temp.no_rows('wrong()');
-- back again there is a duplicate
SELECT indextable.alter('u', filter => '');
SELECT indextable.alter('u', filter => '', populate => false) \gset
CALL indextable.rebuild('u', 7);
SELECT index_table, primary_key, sqlstate FROM indextable.rejected;
SELECT * FROM definition('u');
CALL pg_temp.no_rows('wrong()');
INSERT INTO doc VALUES (703, '{"n": 2001}', NULL, true);
\set VERBOSITY default
DELETE FROM doc WHERE id = 700;
CALL indextable.rebuild('u', 7);
SELECT count(*) FROM indextable.rejected;
SELECT * FROM definition('u');
SELECT indextable.create('m', 'doc', '{"tags[*]::int AS tag"}') \gset
SELECT indextable.alter('m', include => '{w::int}') \gset
SELECT indextable.alter('m', 'async', 'denormalized', filter => 'live', populate => false) \gset
UPDATE doc SET doc = doc || '{"tags": [1,2,2,99]}' WHERE id < 9;
CALL indextable.rebuild('m', 4);
SELECT indextable.drain('doc');
CALL pg_temp.no_rows('wrong()');
SELECT indextable.create('s', 'doc', '{"k::int AS k"}', on_mismatch => 'skip') \gset
SELECT skipped = (SELECT count(*) FROM doc WHERE doc ->> 'k' IS NOT NULL) AS all_skipped FROM definition('s');
UPDATE doc SET doc = doc || '{"k": 5}' WHERE id BETWEEN 1 AND 4;
SELECT indextable.alter('s', strategy => 'denormalized') \gset
SELECT skipped = (SELECT count(*) FROM doc WHERE doc ->> 'k' IS NOT NULL) - 4 AS counted_anew FROM definition('s');
SELECT indextable.alter('s', strategy => 'normalized', populate => false) \gset
UPDATE doc SET doc = doc || '{"k": 6}' WHERE id BETWEEN 5 AND 6;
CALL indextable.rebuild('s', 10);
SELECT skipped = (SELECT count(*) FROM doc WHERE doc ->> 'k' IS NOT NULL) - 6 AS counted_anew FROM definition('s');
SELECT indextable.alter('s', 'async'), indextable.alter('s', 'transactional') \gset
SELECT skipped = (SELECT count(*) FROM doc WHERE doc ->> 'k' IS NOT NULL) - 6 AS still FROM definition('s');
DROP TABLE s;
SELECT count(*) FROM indextable_internal.skipped;
-- rejected rows: an asynchronous one may have them, a transactional one not
SELECT indextable.create('r', 'doc', '{w::smallint}', maintenance => 'async') \gset
UPDATE doc SET doc = doc || '{"w": 99999}' WHERE id IN (8, 12);
SELECT indextable.drain('doc');
SELECT primary_key, sqlstate FROM indextable.rejected ORDER BY 1;
SELECT indextable.alter('r', 'transactional');
CALL indextable.rebuild('r', 10);
SELECT index_table, primary_key, sqlstate FROM indextable.rejected ORDER BY 2;
\set VERBOSITY sqlstate
SELECT indextable.alter('r', include => '{v}');
\set VERBOSITY default
SELECT indextable.alter('r', include => '{v}', populate => false) \gset
CALL indextable.rebuild('r', 10);
SELECT index_table, primary_key, sqlstate FROM indextable.rejected ORDER BY 2;
SELECT indextable.alter('r', 'transactional', 'denormalized', populate => false) \gset
CALL indextable.rebuild('r', 10);
SELECT * FROM definition('r');
UPDATE doc SET doc = doc || '{"w": 9}' WHERE id = 8;
DELETE FROM doc WHERE id = 12;
CALL indextable.rebuild('r', 10);
SELECT * FROM definition('r');
SELECT index_table, primary_key, sqlstate FROM indextable.rejected ORDER BY 2;
CALL pg_temp.no_rows('wrong()');
CALL pg_temp.no_rows('left_behind()');
SELECT count(*) FROM indextable_internal.rejection;
DROP TABLE u, m, r;
CALL pg_temp.no_rows('pg_temp.leftovers()');

-- ---- dropped while a replacement is pending, or half built
CREATE FUNCTION pending(maintenance text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF maintenance IS NOT NULL THEN PERFORM indextable.create('altering.t', 'altering.doc', '{k}', include => '{v}', maintenance => maintenance); END IF;
	PERFORM indextable.alter('altering.t', strategy => 'denormalized', populate => false);
END $$;
SELECT pending('transactional');
SELECT * FROM left_behind();
SELECT queue IS NOT NULL AS queued FROM indextable_internal.fact;
DROP TABLE t;
CALL pg_temp.no_rows('left_behind()');
CALL pg_temp.no_rows('pg_temp.leftovers()');
SELECT pending('async');
DROP TABLE t;
CALL pg_temp.no_rows('left_behind()');
CALL pg_temp.no_rows('pg_temp.leftovers()');
SELECT pending('transactional');
SELECT indextable.drop('t') \gset
CALL pg_temp.no_rows('left_behind()');
SELECT pending('async');
SELECT indextable.drop('t') \gset
CALL pg_temp.no_rows('left_behind()');
SELECT pending('transactional');
SELECT oid::regclass AS replacement FROM pg_class WHERE relname ~ '^rebuild_[0-9]+$' \gset
DROP TABLE :replacement;
CALL pg_temp.no_rows('left_behind()');
SELECT * FROM definition('t');
SELECT queue FROM indextable_internal.fact;
UPDATE doc SET doc = doc || '{"v": "z"}' WHERE id = 1;
CALL pg_temp.no_rows('wrong()');
SELECT pending(NULL);
SELECT oid::regclass AS replacement FROM pg_class WHERE relname ~ '^rebuild_[0-9]+$' \gset
SELECT indextable.drop(:'replacement') \gset
CALL pg_temp.no_rows('left_behind()');
SELECT queue FROM indextable_internal.fact;
-- one at a time: another alter() takes its place
SELECT pending(NULL), pending(NULL);
SELECT indextable.alter('t', include => '{w::int}', populate => false) \gset
SELECT * FROM left_behind();
SELECT indextable.alter('t', filter => 'live') \gset
CALL pg_temp.no_rows('left_behind()');
SELECT * FROM definition('t');
CALL pg_temp.no_rows('wrong()');
-- TRUNCATE
SELECT pending(NULL);
BEGIN;
TRUNCATE doc;
CALL pg_temp.no_rows('wrong()');
INSERT INTO doc VALUES (1, d(1), 'x', true);
CALL pg_temp.no_rows('wrong()');
ROLLBACK;
TRUNCATE doc;
INSERT INTO doc SELECT g, d(g), 'note ' || g, g % 2 = 0 FROM generate_series(1, 60) g;
CALL indextable.rebuild('t', 20);
SELECT * FROM definition('t');
CALL pg_temp.no_rows('wrong()');
-- half built
CREATE TABLE stops (n int);
INSERT INTO stops VALUES (30);
CREATE FUNCTION stop(doc jsonb) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF doc ->> 'n' = (SELECT n::text FROM altering.stops) THEN RAISE query_canceled USING MESSAGE = 'stop here'; END IF;
	RETURN true;
END $$;
SELECT indextable.alter('t', include => '{v}', filter => 'altering.stop(doc)', populate => false) \gset
CALL indextable.rebuild('t', 10);
SELECT index_table, command, phase, rows_done FROM indextable.progress;
INSERT INTO doc VALUES (0, d(1), 'x', true);
DELETE FROM doc WHERE id IN (2, 55);
BEGIN; DROP TABLE t; SELECT * FROM left_behind(); SELECT * FROM pg_temp.leftovers(); ROLLBACK;
BEGIN; SELECT indextable.drop('t'); SELECT * FROM left_behind(); ROLLBACK;
BEGIN; DROP TABLE doc; SELECT * FROM left_behind(); SELECT * FROM pg_temp.leftovers(); ROLLBACK;
\set VERBOSITY terse
BEGIN; DROP FUNCTION stop; ROLLBACK;
\set VERBOSITY default
UPDATE stops SET n = -1;
CALL indextable.rebuild('t', 10);
SELECT * FROM definition('t');
CALL pg_temp.no_rows('wrong()');
CALL pg_temp.no_rows('left_behind()');
-- TRUNCATE of what is half built
UPDATE stops SET n = 30;
SELECT indextable.alter('t', include => '{w::int}', populate => false) \gset
CALL indextable.rebuild('t', 10);
TRUNCATE doc;
INSERT INTO doc SELECT g, d(g + 1), 'note ' || g, g % 2 = 0 FROM generate_series(1, 20) g;
UPDATE stops SET n = -1;
CALL indextable.rebuild('t', 3);
SELECT * FROM definition('t');
CALL pg_temp.no_rows('wrong()');
\set VERBOSITY terse
BEGIN; DROP FUNCTION stop; ROLLBACK;
SELECT indextable.alter('t', filter => '') \gset
DROP FUNCTION stop;
\set VERBOSITY default

-- ---- renamed, moved, handed on between alter() and rebuild()
SELECT indextable.alter('t', 'transactional', include => '{v,@note}', filter => 'live', populate => false) \gset
ALTER TABLE doc RENAME COLUMN note TO remark;
ALTER TABLE doc RENAME COLUMN live TO alive;
ALTER TABLE doc RENAME COLUMN id TO ident;
ALTER TABLE doc RENAME COLUMN doc TO document;
ALTER TABLE t RENAME COLUMN k TO kk;
ALTER TABLE t RENAME COLUMN id TO pk;
ALTER TABLE t RENAME TO tt;
INSERT INTO doc VALUES (50, d(1), 'y', true);
CALL indextable.rebuild('tt', 5);
SELECT * FROM definition('tt');
CALL pg_temp.compare('tt', 'SELECT document ->> ''k'', ident, document ->> ''v'', remark FROM doc WHERE alive');
SELECT indextable.alter('tt', 'async', include => '{v}', populate => false) \gset
ALTER TABLE tt RENAME COLUMN v TO v2;
ALTER TABLE tt RENAME COLUMN note TO v;
CALL indextable.rebuild('tt', 5);
SELECT * FROM definition('tt');
CREATE SCHEMA altering2;
GRANT USAGE, CREATE ON SCHEMA altering2 TO altering_owner;
SELECT indextable.alter('tt', strategy => 'denormalized', populate => false) \gset
ALTER TABLE doc SET SCHEMA altering2;
ALTER TABLE tt SET SCHEMA altering2;
ALTER SCHEMA altering2 RENAME TO altering3;
ALTER TABLE altering3.doc OWNER TO altering_owner;
ALTER TABLE altering3.doc RENAME TO document;
SELECT relname ~ 'rebuild' AS replacement, relowner::regrole FROM pg_class WHERE relname ~ '^rebuild_[0-9]+$|^tt$|^queue_[0-9]+_1$' ORDER BY 1, 2;
CALL indextable.rebuild('altering3.tt', 5);
SELECT * FROM definition('altering3.tt');
CALL pg_temp.compare('altering3.tt', 'SELECT document ->> ''k'', ident, document FROM altering3.document WHERE alive');
SELECT * FROM indextable.verify('altering3.tt');
SELECT indextable.alter('altering3.tt', include => '{@remark}', populate => false) \gset
\set VERBOSITY terse
ALTER TABLE altering3.document ALTER COLUMN ident TYPE bigint;
ALTER TABLE altering3.document DROP COLUMN remark;
ALTER TABLE altering3.document DROP CONSTRAINT doc_pkey;
CALL indextable.rebuild('altering3.tt', 5);
SELECT * FROM definition('altering3.tt');
DROP SCHEMA altering3 CASCADE;
CALL pg_temp.no_rows('left_behind()');
-- ---- uniqueness of one that is sparse, and on_mismatch, which leave the entries where they are
CREATE TABLE u (id int PRIMARY KEY, doc jsonb);
INSERT INTO u SELECT g, jsonb_build_object('k', 'k' || g, 'v', g, 'n', g) FROM generate_series(1, 5) g;
SELECT indextable.create('u_k', 'u', '{k}', include => '{v}', on_mismatch => 'skip', sparse => true) \gset
CREATE INDEX u_own ON u_k (v);
ALTER TABLE u_k REPLICA IDENTITY USING INDEX u_k_pkey;
CREATE FUNCTION u_wrong() RETURNS TABLE (what text, entry text) LANGUAGE sql AS $$
	SELECT side, entry FROM pg_temp.oracle('altering.u_k', 'SELECT doc ->> ''k'', id, doc ->> ''v'' FROM altering.u WHERE doc ->> ''k'' IS NOT NULL')
	UNION ALL SELECT kind, problem FROM indextable.verify('altering.u_k') $$;
CREATE FUNCTION u_is() RETURNS TABLE (maintenance text, is_unique boolean, on_mismatch text, state text, skipped bigint, rejected bigint, same_file boolean) LANGUAGE sql AS $$
	SELECT maintenance, is_unique, on_mismatch, state, skipped, rejected, pg_relation_filepath(index_table) = current_setting('altering.file')
	FROM indextable.index_tables JOIN indextable.index_table_stats USING (index_table, fact_table) WHERE index_table = 'altering.u_k'::regclass $$;
SELECT set_config('altering.file', pg_relation_filepath('u_k'), false) IS NOT NULL AS noted;
INSERT INTO u VALUES (6, '{"k": "k1"}');
SELECT indextable.alter('u_k', is_unique => true);
DELETE FROM u WHERE id = 6;
SELECT indextable.alter('u_k', is_unique => true) \gset
SELECT * FROM indexes('u_k');
SELECT * FROM u_is();
SELECT relreplident, i.indisreplident FROM pg_class c JOIN pg_index i ON indrelid = c.oid AND indisprimary WHERE c.oid = 'u_k'::regclass;
INSERT INTO u VALUES (6, '{"k": "k1"}');
UPDATE u SET doc = '{"k": "k2"}' WHERE id = 1;
UPDATE u SET doc = '{"k": "k7"}' WHERE id = 1;
SELECT indextable.alter('u_k', maintenance => 'async');
CALL pg_temp.no_rows('u_wrong()');
-- an asynchronous one cannot be unique; both are changed in one call, there and back
SELECT indextable.alter('u_k', is_unique => false, maintenance => 'async') \gset
INSERT INTO u VALUES (6, '{"k": "k2"}');
SELECT indextable.drain('u');
CALL pg_temp.no_rows('u_wrong()');
SELECT indextable.alter('u_k', is_unique => true, maintenance => 'transactional');
SELECT * FROM u_is();
DELETE FROM u WHERE id = 6;
SELECT indextable.alter('u_k', is_unique => true, maintenance => 'transactional') \gset
SELECT * FROM u_is();
CALL pg_temp.no_rows('u_wrong()');
-- with other contents at the same time, and online
SELECT indextable.alter('u_k', is_unique => false, filter => 'id < 100') \gset
SELECT * FROM indexes('u_k');
INSERT INTO u VALUES (6, '{"k": "k2"}'), (100, '{"k": "k2"}');
SELECT indextable.alter('u_k', is_unique => true, populate => false) \gset
SELECT indextable.alter('u_k', is_unique => true);
CALL indextable.rebuild('u_k');
SELECT is_unique FROM u_is();
DELETE FROM u WHERE id = 6;
CALL indextable.rebuild('u_k');
SELECT is_unique, state FROM u_is();
INSERT INTO u VALUES (6, '{"k": "k2"}'), (101, '{"k": "k2"}');
SELECT indextable.alter('u_k', filter => '', is_unique => false) \gset
CALL pg_temp.no_rows('u_wrong()');
-- what depends on the primary key
CREATE VIEW u_view AS SELECT k, id, v FROM u_k GROUP BY k, id;
SELECT indextable.alter('u_k', is_unique => true);
SELECT indextable.alter('u_k', is_unique => true, populate => false);
DROP VIEW u_view;
-- in a cursor
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM u_k;
FETCH c;
SELECT indextable.alter('u_k', is_unique => true);
ROLLBACK;
-- on_mismatch: rows are read only where an entry was skipped
SELECT indextable.alter('u_k', on_mismatch => 'sometimes');
SELECT indextable.alter('u_k', on_mismatch => 'error') \gset
INSERT INTO u VALUES (7, jsonb_build_object('k', (SELECT string_agg(md5(g::text), '') FROM generate_series(1, 100) g)));
SELECT set_config('altering.file', pg_relation_filepath('u_k'), false) IS NOT NULL AS noted;
SELECT indextable.alter('u_k', on_mismatch => 'skip') \gset
INSERT INTO u VALUES (7, jsonb_build_object('k', (SELECT string_agg(md5(g::text), '') FROM generate_series(1, 100) g)));
SELECT * FROM u_is();
SELECT indextable.alter('u_k', on_mismatch => 'error');
SELECT * FROM u_is();
DELETE FROM u WHERE id = 7;
SELECT indextable.alter('u_k', on_mismatch => 'error') \gset
SELECT * FROM u_is();
CALL pg_temp.no_rows('u_wrong()');
-- an asynchronous one: rejected rows lose what cannot be a key
SELECT indextable.drop('u_k') \gset
SELECT indextable.create('u_k', 'u', '{k,n::int}', include => '{v}', maintenance => 'async') \gset
INSERT INTO u VALUES (8, '{"k": "k8", "n": "many"}'), (9, '{"k": "k9", "n": "9"}');
SELECT indextable.drain('u');
SELECT indextable.alter('u_k', maintenance => 'transactional');
SELECT indextable.alter('u_k', on_mismatch => 'skip') \gset
SELECT maintenance, on_mismatch, skipped, rejected FROM u_is();
CALL pg_temp.compare('u_k', 'SELECT doc ->> ''k'', (doc ->> ''n'')::int, id, doc ->> ''v'' FROM u WHERE id <> 8');
SELECT indextable.alter('u_k', on_mismatch => 'error');
SELECT indextable.alter('u_k', on_mismatch => 'error', populate => false) \gset
CALL indextable.rebuild('u_k');
SELECT maintenance, on_mismatch, skipped, rejected FROM u_is();
SELECT indextable.alter('u_k', on_mismatch => 'skip', maintenance => 'transactional') \gset
SELECT maintenance, on_mismatch, skipped, rejected FROM u_is();
CALL pg_temp.compare('u_k', 'SELECT doc ->> ''k'', (doc ->> ''n'')::int, id, doc ->> ''v'' FROM u WHERE id <> 8');
-- of a partitioned index table over a partitioned fact table
CREATE TABLE up (id int, r int, doc jsonb, PRIMARY KEY (r, id)) PARTITION BY LIST (r);
CREATE TABLE up1 PARTITION OF up FOR VALUES IN (1);
CREATE TABLE up2 PARTITION OF up FOR VALUES IN (2);
INSERT INTO up SELECT g, 1 + g % 2, jsonb_build_object('k', g / 2) FROM generate_series(1, 20) g;
SELECT indextable.create('up_k', 'up', '{k::int}', partitions => 3, sparse => true) \gset
SELECT indextable.alter('up_k', is_unique => true);
DELETE FROM up1;
SELECT indextable.alter('up_k', is_unique => true) \gset
INSERT INTO up VALUES (50, 1, '{"k": 3}');
SELECT indextable.alter('up_k', is_unique => false) \gset
INSERT INTO up VALUES (50, 1, '{"k": 3}');
CALL pg_temp.compare('up_k', 'SELECT (doc ->> ''k'')::int, r, id FROM up');
SELECT * FROM indextable.verify('up_k');
DROP TABLE u, up;
DROP FUNCTION u_wrong, u_is;
-- Its error names the index table, also where it is filled anew; its constraint is named as create() names one of its kind.
CREATE TABLE named (id int PRIMARY KEY, doc jsonb);
INSERT INTO named VALUES (1, '{"k": 1}'), (2, '{"k": 1}'), (3, '{}');
SELECT indextable.create('named_k', 'named', '{k}'), indextable.create('named_parts', 'named', '{k}', partitions => 2) \gset
SELECT indextable.alter('named_k', is_unique => true);
SELECT indextable.alter('named_parts', is_unique => true);
DELETE FROM named WHERE id = 2;
SELECT indextable.alter('named_k', is_unique => true), indextable.alter('named_parts', is_unique => true) \gset
SELECT conname, contype FROM pg_constraint WHERE conrelid IN ('named_k'::regclass, 'named_parts'::regclass) AND contype IN ('p', 'u') ORDER BY 1;
SELECT indextable.alter('named_k', is_unique => false, sparse => false), indextable.alter('named_parts', is_unique => false, include => '{v}') \gset
SELECT conname, contype FROM pg_constraint WHERE conrelid IN ('named_k'::regclass, 'named_parts'::regclass) AND contype IN ('p', 'u') ORDER BY 1;
ALTER TABLE named_parts RENAME CONSTRAINT named_parts_pkey TO of_its_owner;
SELECT indextable.alter('named_parts', include => '{v, w}') \gset
SELECT conname, contype FROM pg_constraint WHERE conrelid = 'named_parts'::regclass AND contype IN ('p', 'u');
DROP TABLE named;
-- beside an asynchronous one, in the transaction that has created both
BEGIN;
CREATE TABLE both_new (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('both_k', 'both_new', '{k}'), indextable.create('both_n', 'both_new', '{n}', maintenance => 'async') \gset
SELECT indextable.alter('both_k', include => '{v}');
COMMIT;
INSERT INTO both_new VALUES (1, '{"k": "k", "v": "v"}');
CALL pg_temp.compare('both_k', 'SELECT doc ->> ''k'', id, doc ->> ''v'' FROM both_new');
DROP TABLE both_new;
-- Code of the owner, which is called when definitions are loaded, drops what is to take the place.
CREATE FUNCTION drop_replacements() RETURNS void LANGUAGE plpgsql AS $$
DECLARE replacement text;
BEGIN
	FOR replacement IN SELECT relname FROM pg_class WHERE relnamespace = 'indextable_internal'::regnamespace AND relname LIKE 'rebuild\_%' AND relkind = 'r' LOOP
		BEGIN
			EXECUTE format('DROP TABLE indextable_internal.%I', replacement);
			RAISE NOTICE 'dropped';
		EXCEPTION WHEN object_in_use THEN NULL;
		END;
	END LOOP;
END $$;
CREATE FUNCTION drops() RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM altering.drop_replacements(); RETURN 0; END $$;
CREATE PROCEDURE try(command text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE command;
EXCEPTION WHEN undefined_table THEN RAISE NOTICE '%', regexp_replace(SQLERRM, '\d+', 'N');
END $$;
CREATE TABLE dropping (id int PRIMARY KEY, doc jsonb);
INSERT INTO dropping VALUES (1, '{"k": "k", "v": "v"}');
SELECT indextable.create('dropping_k', 'dropping', '{k}'), indextable.create('dropping_as', 'dropping', '{k}', filter => 'id > altering.drops()', maintenance => 'async') \gset
CALL try($$SELECT indextable.alter('dropping_k', include => '{v}')$$);
CALL try($$SELECT indextable.alter('dropping_as', include => '{v}')$$);
SELECT * FROM indextable.verify('dropping');
DROP TABLE dropping;
DROP FUNCTION drops, drop_replacements;
DROP PROCEDURE try;
CALL pg_temp.no_rows('left_behind()');
DROP SCHEMA altering CASCADE;
DROP OWNED BY altering_other, altering_owner;
DROP ROLE altering_other, altering_owner;
CALL pg_temp.no_rows('pg_temp.leftovers()');
