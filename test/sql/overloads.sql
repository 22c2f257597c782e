-- Whoever may create objects in the schema of a function that an expression calls can add one that fits better: it is not called.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE ROLE regress_it_owner;
CREATE ROLE regress_it_evil;
CREATE SCHEMA overloads;
CREATE SCHEMA shared;
GRANT ALL ON SCHEMA overloads TO regress_it_owner;
GRANT ALL ON SCHEMA shared TO regress_it_owner, regress_it_evil;
SET search_path = overloads;

SET ROLE regress_it_owner;
CREATE FUNCTION shared.norm(value anyelement) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN lower(value::text); END $$;
CREATE FUNCTION shared.default_norm(value text, how int DEFAULT 1) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT lower(value) $$;
CREATE FUNCTION shared.same(a anyelement, b text) RETURNS boolean IMMUTABLE LANGUAGE sql AS $$ SELECT a::text = b $$;
CREATE OPERATOR shared.=== (LEFTARG = anyelement, RIGHTARG = text, FUNCTION = shared.same);
CREATE TABLE f (id int PRIMARY KEY, doc jsonb);
CREATE TABLE f_default (id int PRIMARY KEY, doc jsonb);
CREATE TABLE f_operator (id int PRIMARY KEY, doc jsonb);
CREATE TABLE f_pending (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('f_n', 'f', ARRAY['(shared.norm(doc ->> ''k'')) AS n']) \gset
SELECT indextable.create('f_default_k', 'f_default', '{k}', filter => 'shared.default_norm(doc ->> ''k'') <> ''x''') \gset
SELECT indextable.create('f_operator_k', 'f_operator', '{k}', filter => '(doc ->> ''k'') OPERATOR(shared.===) ''A''') \gset
SELECT indextable.create('f_pending_k', 'f_pending', '{k}') \gset
SELECT indextable.alter('f_pending_k', filter => 'shared.norm(doc ->> ''k'') <> ''x''', populate => false);
INSERT INTO f VALUES (1, '{"k": "A"}');
INSERT INTO f_default VALUES (1, '{"k": "A"}');
INSERT INTO f_operator VALUES (1, '{"k": "A"}');
INSERT INTO f_pending VALUES (1, '{"k": "A"}');

SET ROLE regress_it_evil;
CREATE TABLE shared.called (what text);
GRANT INSERT, SELECT ON shared.called TO PUBLIC;
CREATE FUNCTION shared.norm(value text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO shared.called VALUES ('norm'); RETURN value; END $$;
CREATE FUNCTION shared.default_norm(value text, how text DEFAULT '') RETURNS text IMMUTABLE LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO shared.called VALUES ('default_norm'); RETURN value; END $$;
CREATE FUNCTION shared.same(a text, b text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO shared.called VALUES ('same'); RETURN true; END $$;
CREATE OPERATOR shared.=== (LEFTARG = text, RIGHTARG = text, FUNCTION = shared.same);

-- who has used an expression goes on, but parses nothing anew
SET ROLE regress_it_owner;
INSERT INTO f VALUES (2, '{"k": "A"}');
INSERT INTO f_pending VALUES (2, '{"k": "A"}');
SELECT n, id FROM f_n ORDER BY id;
\set VERBOSITY terse
CALL indextable.rebuild('f_n');
CALL indextable.rebuild('f_pending_k');
SELECT indextable.alter('f_pending_k', include => '{v}');
SELECT indextable.alter('f_operator_k', include => '{v}');
SELECT indextable.create('f_m', 'f', ARRAY['(shared.norm((doc ->> ''k''::text))) AS m']);
\set VERBOSITY default
-- who has not is told why he cannot
ALTER TABLE f SET (fillfactor = 90);
ALTER TABLE f_default SET (fillfactor = 90);
ALTER TABLE f_operator SET (fillfactor = 90);
ALTER TABLE f_pending SET (fillfactor = 90);
INSERT INTO f VALUES (3, '{"k": "A"}');
-- the server says more of that since 19
DO $$
DECLARE
	hint text;
BEGIN
	INSERT INTO f_default VALUES (3, '{"k": "A"}');
EXCEPTION WHEN ambiguous_function THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RAISE NOTICE '%: %', sqlerrm, hint;
END $$;
INSERT INTO f_operator VALUES (3, '{"k": "A"}');
\set VERBOSITY terse
INSERT INTO f_pending VALUES (3, '{"k": "A"}');
SELECT indextable.lookup('f_n', '{"n": "a"}');
SELECT count(*) FROM f WHERE doc ->> 'k' = 'A';
CALL indextable.rebuild('f_n');
CALL indextable.rebuild('f_pending_k');
SELECT indextable.alter('f_operator_k', include => '{v}');
SELECT indextable.create('f_m', 'f', ARRAY['(shared.norm(doc ->> ''k'')) AS m']);
\set VERBOSITY default
SELECT * FROM shared.called;
RESET ROLE;
DROP FUNCTION shared.norm(text), shared.default_norm(text, text);
DROP OPERATOR shared.=== (text, text);
SET ROLE regress_it_owner;
INSERT INTO f VALUES (3, '{"k": "A"}');
INSERT INTO f_default VALUES (3, '{"k": "A"}');
INSERT INTO f_operator VALUES (3, '{"k": "A"}');
INSERT INTO f_pending VALUES (3, '{"k": "A"}');
CALL indextable.rebuild('f_n');
CALL indextable.rebuild('f_pending_k');
SELECT indextable.alter('f_operator_k', include => '{v}');
SELECT index_table, v.* FROM (VALUES ('f_n'), ('f_default_k'), ('f_operator_k'), ('f_pending_k')) i (index_table), indextable.verify(index_table::regclass) v;
SELECT n, id FROM f_n ORDER BY id;
-- what an index table that has been rebuilt or altered uses is known of it as well
DROP FUNCTION shared.norm(anyelement);

-- ---- where a column gets another type, another function is meant
CREATE FUNCTION shared.typed(value int) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT 'int' || value $$;
CREATE FUNCTION shared.typed(value text) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT 'text' || value $$;
CREATE TABLE g (id int PRIMARY KEY, i int, other int);
SELECT indextable.create('g_t', 'g', ARRAY['(shared.typed(i)) AS t'], maintenance => 'async') \gset
ALTER TABLE g ALTER i TYPE text;
INSERT INTO g VALUES (1, 1);
SELECT indextable.drain('g');
SELECT t FROM g_t;
DROP FUNCTION shared.typed(int);
DROP FUNCTION shared.typed(text);
CREATE FUNCTION shared.typed(value anyelement) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT 'any' || value::text $$;
SELECT indextable.create('g_o', 'g', ARRAY['(shared.typed(other)) AS t']) \gset
SET ROLE regress_it_evil;
CREATE FUNCTION shared.typed(value int) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT 'int' || value $$;
SET ROLE regress_it_owner;
\set VERBOSITY terse
ALTER TABLE g ALTER i TYPE varchar;
\set VERBOSITY default
RESET ROLE;
DROP FUNCTION shared.typed(int);
SET ROLE regress_it_owner;
DROP TABLE g_o;

-- ---- totals get another filter
SELECT indextable.create('g_s', 'g', '{}', totals => '{count(*)}', filter => 'shared.norm(i::int) <> ''x''') \gset
SELECT indextable.alter('g_s', filter => 'shared.norm(i) <> ''x''');
INSERT INTO g VALUES (2, 2);
SELECT rows FROM indextable.totals('g_s');
INSERT INTO g VALUES (3, 'X');
SELECT rows FROM indextable.totals('g_s');

RESET ROLE;
DROP TABLE g_s;
SET ROLE regress_it_owner;

-- ---- temporary objects, of which every session may have others by the same name
CREATE DOMAIN pg_temp.part AS text;
CREATE TYPE pg_temp.pair AS (a int, b int);
CREATE FUNCTION pg_temp.norm(text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT $1';
CREATE OPERATOR pg_temp.~~~ (RIGHTARG = text, FUNCTION = pg_temp.norm);
SELECT indextable.create('g_n', 'g', '{@i}', filter => 'pg_temp.norm(i) <> ''x''');
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY terse
SELECT indextable.create('g_n', 'g', '{@i}', filter => 'i::part <> ''x''');
SELECT indextable.create('g_n', 'g', '{@i}', filter => 'i::pg_temp.part IS NULL');
SELECT indextable.create('g_n', 'g', ARRAY['(OPERATOR(pg_temp.~~~) i) AS n']);
SELECT indextable.create('g_n', 'g', '{@i::part}');
SELECT indextable.create('f_m', 'f', '{m::pg_temp.part}');
SELECT indextable.create('f_m', 'f', '{m}', include => '{n::part}');
SELECT indextable.alter('f_n', filter => 'id = (NULL::pair).a');
SELECT indextable.alter('f_n', filter => 'pg_temp.norm(doc ->> ''k'') <> ''x''');
\set VERBOSITY default
DISCARD TEMP;
RESET ROLE;
\i :src/sql/include/oracle.psql

SET client_min_messages = warning;
DROP SCHEMA overloads, shared CASCADE;
DROP ROLE regress_it_owner, regress_it_evil;
CALL pg_temp.no_rows('pg_temp.leftovers()');
