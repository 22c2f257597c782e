-- Operators and functions of a schema in front of pg_catalog in the caller's search_path are called by nothing of ours.
SET client_min_messages = warning;
SET indextable.advice = off;
CREATE SCHEMA app;
CREATE SCHEMA hostile;
DO $$
DECLARE
	t text;
	o text;
BEGIN
	FOREACH t IN ARRAY '{int4,int8,float8,bool,oid,name,text,"\"char\"",regclass,timestamptz,interval,jsonb,_text,_oid}'::text[] LOOP
		EXECUTE format('CREATE FUNCTION hostile.spy(%1$s, %1$s) RETURNS boolean LANGUAGE plpgsql AS ''BEGIN RAISE ''''called''''; END''', t);
		FOREACH o IN ARRAY '{=,<>,<,>,<=,>=}'::text[] LOOP
			EXECUTE format('CREATE OPERATOR hostile.%s (leftarg = %s, rightarg = %2$s, function = hostile.spy)', o, t);
		END LOOP;
	END LOOP;
	FOREACH t IN ARRAY '{quote_ident,quote_literal,lower,format_type,pg_get_expr,to_jsonb,coalesce_}'::text[] LOOP
		EXECUTE format('CREATE FUNCTION hostile.%s(text) RETURNS text LANGUAGE plpgsql AS ''BEGIN RAISE ''''called''''; END''', t);
	END LOOP;
END $$;
CREATE FUNCTION hostile.spy_text(text, text) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE ''called''; END';
CREATE OPERATOR hostile.|| (leftarg = text, rightarg = text, function = hostile.spy_text);
CREATE FUNCTION hostile.spy_json(jsonb, text) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE ''called''; END';
CREATE OPERATOR hostile.->> (leftarg = jsonb, rightarg = text, function = hostile.spy_json);
CREATE OPERATOR hostile.~ (leftarg = text, rightarg = text, function = hostile.spy);

SET search_path = hostile, pg_catalog, app;
CREATE TABLE app.f (id int PRIMARY KEY, doc jsonb NOT NULL) PARTITION BY RANGE (id);
CREATE TABLE app.f_1 PARTITION OF app.f FOR VALUES FROM (0) TO (100);
CREATE TABLE app.f_2 (LIKE app.f INCLUDING ALL);
INSERT INTO app.f SELECT i, jsonb_build_object('a', 'a', 'n', i, 'tags', jsonb_build_array('x')) FROM generate_series(1, 50) i;
INSERT INTO app.f_2 VALUES (101, '{"a": "attached", "n": 1}');
SELECT indextable.create('app.f_a', 'app.f', '{a}', include => '{n::int}') \gset
SELECT indextable.create('app.f_q', 'app.f', '{n::int}', maintenance => 'async') \gset
SELECT indextable.create('app.f_t', 'app.f', '{tags[*]}') \gset
SELECT indextable.create('app.f_u', 'app.f', '{n::int}', is_unique => true, filter => 'id OPERATOR(pg_catalog.<) 100') \gset
SELECT indextable.create('app.f_c', 'app.f', '{a}', totals => '{count(*),sum(n::int)}') \gset
SELECT indextable.create('app.f_a', 'app.f', '{a}', include => '{n::int}', if_not_exists => true) \gset
SELECT indextable.alter('app.f_a', include => '{n::int,tags::jsonb}') \gset
SELECT indextable.alter('app.f_a', strategy => 'normalized') \gset
SELECT indextable.alter('app.f_a', filter => 'id OPERATOR(pg_catalog.>) 0') \gset
SELECT indextable.alter('app.f_t', maintenance => 'async') \gset
SELECT indextable.alter('app.f_t', maintenance => 'transactional') \gset
INSERT INTO app.f VALUES (60, '{"a": "b", "n": 60}');
UPDATE app.f SET doc = '{"a": "c", "n": 60}' WHERE id OPERATOR(pg_catalog.=) 60;
DELETE FROM app.f WHERE id OPERATOR(pg_catalog.=) 5;
SELECT indextable.drain('app.f') \gset
SELECT indextable.wait('app.f_q') \gset
ALTER TABLE app.f ATTACH PARTITION app.f_2 FOR VALUES FROM (100) TO (200);
SELECT indextable.drain() \gset
SELECT count(*) FROM indextable.verify('app.f') \gset
CALL indextable.repair('app.f_a');
CALL indextable.repair('app.f_c');
CALL indextable.rebuild('app.f_q');
CALL indextable.rebuild('app.f_c');
SELECT count(*) FROM indextable.lookup('app.f_a', '{"a": "a"}') \gset
SELECT count(*) FROM indextable.query('app.f_a', '{"a": "a"}') \gset
SELECT count(*) FROM indextable.totals('app.f_c') \gset
SELECT count(*) FROM indextable.advise('app.f') \gset
SELECT count(*) FROM indextable.advise('app.f', '{a}') \gset
SELECT count(*) FROM indextable.profile('app.f', '{a}') \gset
SELECT count(*) FROM indextable.explain('SELECT 1') \gset
SELECT indextable.definition('app.f_a') \gset
SELECT count(*) FROM indextable.index_tables \gset
SELECT count(*) FROM indextable.queues \gset
SELECT count(*) FROM indextable.distribution \gset
ALTER TABLE app.f RENAME COLUMN doc TO document;
ALTER TABLE app.f RENAME TO g;
ALTER TABLE app.g ADD COLUMN note text;
ALTER TABLE app.f_a RENAME TO g_a;
ALTER TABLE app.g DETACH PARTITION app.f_2;
DROP TABLE app.f_1;
TRUNCATE app.g;
DROP TABLE app.g_a;
SELECT indextable.drop('app.f_q') \gset
RESET search_path;
DROP SCHEMA hostile, app CASCADE;
