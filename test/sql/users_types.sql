-- Types whose code is users': when it raises an error, what it holds by then is let go, whoever goes on after that.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA userstypes;
SET search_path = userstypes;
CREATE TABLE locks (x int);
INSERT INTO locks VALUES (1), (2), (3);
-- raises an error in the middle of a statement of its own, when it has a lock
CREATE FUNCTION fails(sqlstate text, message text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE r record;
BEGIN
	PERFORM pg_advisory_xact_lock(1765, 1);
	FOR r IN SELECT * FROM userstypes.locks LOOP
		RAISE EXCEPTION USING ERRCODE = sqlstate, MESSAGE = message;
	END LOOP;
	RETURN true;
END $$;
-- writes index tables, whose guards then keep quiet
CREATE PROCEDURE damage(VARIADIC statements text[]) SET session_replication_role = replica LANGUAGE plpgsql AS $$
DECLARE s text; BEGIN FOREACH s IN ARRAY statements LOOP EXECUTE s; END LOOP; END $$;
CREATE FUNCTION locks() RETURNS bigint LANGUAGE sql AS
	$$SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND (locktype = 'advisory' OR relation = 'userstypes.locks'::regclass)$$;

-- A base type, whose length is checked by PL/pgSQL.
SET client_min_messages = warning;    -- shells are noticed
CREATE TYPE label;
CREATE FUNCTION label_in(cstring) RETURNS label LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION label_out(label) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE FUNCTION label_typmod_in(cstring[]) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'varchartypmodin';
CREATE FUNCTION label_typmod_out(int) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'varchartypmodout';
CREATE TYPE label (INPUT = label_in, OUTPUT = label_out, TYPMOD_IN = label_typmod_in, TYPMOD_OUT = label_typmod_out, LIKE = text, COLLATABLE = true);
RESET client_min_messages;
CREATE CAST (label AS text) WITHOUT FUNCTION AS IMPLICIT;
CREATE FUNCTION label_length(label, int, boolean) RETURNS label LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
	IF length($1) > $2 - 4 THEN
		PERFORM userstypes.fails(CASE WHEN $1 ~ 'odd' THEN 'P0001' ELSE '22001' END, format('"%s" is too long', $1));
	END IF;
	RETURN $1;
END $$;
CREATE CAST (label AS label) WITH FUNCTION label_length(label, int, boolean) AS IMPLICIT;
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb, n int);
CREATE FUNCTION differences() RETURNS TABLE (index_table text, side text, entry text) LANGUAGE sql AS $$
	SELECT t, d.* FROM (VALUES ('strict'), ('lax'), ('queued')) v(t),
		pg_temp.oracle(quote_ident(t), $q$SELECT doc ->> 'k', id FROM fact WHERE length(doc ->> 'k') <= 3$q$) d WHERE to_regclass(quote_ident(t)) IS NOT NULL
$$;
CREATE FUNCTION rejected() RETURNS TABLE (index_table text, primary_key text[], sqlstate text, message text) LANGUAGE sql AS $$
	SELECT index_table::text, primary_key, sqlstate, message FROM indextable.rejected ORDER BY index_table::text, primary_key COLLATE "C"
$$;

-- refused
SELECT indextable.create('strict', 'fact', '{k::label(3)}') \gset
INSERT INTO fact VALUES (1, '{"k": "one"}'), (2, '{"k": "three"}');
BEGIN;
INSERT INTO fact VALUES (1, '{"k": "one"}');
DO $$BEGIN UPDATE userstypes.fact SET doc = '{"k": "three"}'; EXCEPTION WHEN check_violation THEN RAISE NOTICE '%', SQLERRM; END$$;
SELECT locks();
COMMIT;
SELECT * FROM indextable.lookup('strict', '{"k": "one"}');
SELECT * FROM indextable.lookup('strict', '{"k": "three"}');
CALL pg_temp.no_rows('differences()');
SELECT indextable.drop('strict') \gset

-- skipped
SELECT indextable.create('lax', 'fact', '{k::label(3)}', on_mismatch => 'skip') \gset
BEGIN;
INSERT INTO fact VALUES (2, '{"k": "two"}'), (3, '{"k": "three"}'), (4, '{"k": "four"}');
UPDATE fact SET doc = '{"k": "1"}' WHERE id = 3;
UPDATE fact SET n = 1 WHERE id = 4;
SELECT locks();
COMMIT;
CALL pg_temp.no_rows('differences()');
-- an error that is not about the value is no reason to skip
INSERT INTO fact VALUES (5, '{"k": "odd one"}');
BEGIN;
SELECT * FROM indextable.verify('lax');
SELECT locks();
COMMIT;
CALL damage('DELETE FROM lax WHERE id = 2', $$INSERT INTO lax VALUES ('fou', 4)$$);
CALL indextable.repair('lax');
CALL pg_temp.no_rows('differences()');
SELECT indextable.drop('lax') \gset

-- rejected
UPDATE fact SET doc = '{"k": "4"}' WHERE id = 4;
SELECT indextable.create('queued', 'fact', '{k::label(3)}', maintenance => 'async') \gset
INSERT INTO fact VALUES (5, '{"k": "odd one"}'), (6, '{"k": "sixth"}'), (7, '{"k": "7"}');
BEGIN;
SELECT indextable.drain('fact');
SELECT locks();
COMMIT;
SELECT * FROM rejected();
CALL pg_temp.no_rows('differences()');
BEGIN;
SELECT kind, problem FROM indextable.verify('queued') ORDER BY problem;
SELECT kind, problem FROM indextable.verify('queued', 100) ORDER BY problem;
SELECT locks();
COMMIT;
CALL damage('DELETE FROM queued WHERE id = 2', $$INSERT INTO queued VALUES ('odd', 5), ('six', 6)$$);
CALL indextable.repair('queued');
SELECT * FROM rejected();
CALL pg_temp.no_rows('differences()');
SELECT indextable.drop('queued') \gset
TRUNCATE fact;

-- A domain, whose values are checked by PL/pgSQL: for a column only. What input functions can say without raising an
-- error, from PostgreSQL 16 on, this cannot.
CREATE FUNCTION is_even(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RETURN $1 % 2 = 0 OR userstypes.fails('22023', format('%s is odd', $1));
END $$;
CREATE DOMAIN even AS int CHECK (is_even(VALUE));
SELECT indextable.create('x', 'fact', '{n::even}');
SELECT indextable.create('x', 'fact', '{@n::even}', on_mismatch => 'skip');
SELECT indextable.create('strict', 'fact', '{@n::even}') \gset
BEGIN;
INSERT INTO fact VALUES (2, '{}', 2);
DO $$BEGIN INSERT INTO userstypes.fact VALUES (1, '{}', 1); EXCEPTION WHEN invalid_parameter_value THEN RAISE NOTICE '%', SQLERRM; END$$;
SELECT locks();
COMMIT;
SELECT * FROM indextable.lookup('strict', '{"n": 1}');
SELECT * FROM indextable.lookup('strict', '{"n": 2}');
SELECT indextable.drop('strict') \gset
SELECT indextable.create('queued', 'fact', '{@n::even}', maintenance => 'async') \gset
INSERT INTO fact VALUES (1, '{}', 1), (4, '{}', 4);
BEGIN;
SELECT indextable.drain('fact');
SELECT locks();
COMMIT;
SELECT * FROM rejected();
SELECT * FROM queued ORDER BY n;
BEGIN;
SELECT kind, problem FROM indextable.verify('queued');
SELECT locks();
COMMIT;
CALL indextable.repair('queued');
SELECT * FROM rejected();
SELECT indextable.drop('queued') \gset

-- A primary key of such a domain: it is written down as a text, and read again.
CREATE TABLE keyed (id even PRIMARY KEY, doc jsonb);
SELECT indextable.create('by_n', 'keyed', '{n::int}', maintenance => 'async') \gset
INSERT INTO keyed VALUES (2, '{"n": "x"}'), (4, '{"n": 4}');
SELECT indextable.drain('keyed');
SELECT * FROM rejected();
UPDATE keyed SET doc = '{"n": 2}' WHERE id = 2;
SELECT indextable.drain('keyed');
CALL pg_temp.no_rows('rejected()');
SELECT * FROM by_n ORDER BY id;

-- Totals by a type whose operators are in no schema of the search_path.
CREATE FUNCTION label_lt(label, label) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'text_lt';
CREATE FUNCTION label_le(label, label) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'text_le';
CREATE FUNCTION label_eq(label, label) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'texteq';
CREATE FUNCTION label_ge(label, label) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'text_ge';
CREATE FUNCTION label_gt(label, label) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'text_gt';
CREATE FUNCTION label_cmp(label, label) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'bttextcmp';
CREATE OPERATOR < (LEFTARG = label, RIGHTARG = label, FUNCTION = label_lt);
CREATE OPERATOR <= (LEFTARG = label, RIGHTARG = label, FUNCTION = label_le);
CREATE OPERATOR = (LEFTARG = label, RIGHTARG = label, FUNCTION = label_eq);
CREATE OPERATOR >= (LEFTARG = label, RIGHTARG = label, FUNCTION = label_ge);
CREATE OPERATOR > (LEFTARG = label, RIGHTARG = label, FUNCTION = label_gt);
CREATE OPERATOR CLASS label_ops DEFAULT FOR TYPE label USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 label_cmp(label, label), FUNCTION 4 btequalimage(oid);
DROP CAST (label AS text);
CREATE TABLE labelled (id int PRIMARY KEY, doc jsonb, l label, n int);
SELECT indextable.create('by_label', 'labelled', '{@l,n::int}', totals => '{count(*),sum(@n)}') \gset
INSERT INTO labelled VALUES (1, '{"n": 1}', 'one', 10), (2, '{"n": 1}', 'one', 20), (3, '{"n": 2}', 'two', 30), (4, '{}', NULL, 40);
SELECT * FROM indextable.totals('by_label');
SELECT * FROM indextable.totals('by_label', '{"l": "one"}');
SELECT * FROM indextable.totals('by_label', '{"l": "two", "n": 2}');
SELECT * FROM indextable.totals('by_label', '{"l": "none"}');
SELECT * FROM indextable.totals('by_label', '{"l": null, "n": null}');
SELECT * FROM indextable.totals('by_label', '{"l": "one", "n": "x"}');
\set VERBOSITY terse
SET client_min_messages = warning;
DROP SCHEMA userstypes CASCADE;
