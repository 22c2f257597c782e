-- Who may do what, and as whom code runs.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE ROLE regress_it_owner;
CREATE ROLE regress_it_writer;
CREATE ROLE regress_it_reader;
CREATE ROLE regress_it_evil;
CREATE SCHEMA security;
GRANT USAGE ON SCHEMA security TO PUBLIC;
GRANT CREATE ON SCHEMA security TO regress_it_owner;
SET search_path = security;

SET ROLE regress_it_owner;
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb, secret text);
SELECT indextable.create('by_k', 'fact', '{k}', include => '{v}') \gset
GRANT INSERT, UPDATE, DELETE, TRUNCATE, SELECT ON fact TO regress_it_writer;
GRANT SELECT ON fact TO regress_it_reader;
RESET ROLE;

-- ---- a writer without rights on the index table writes the fact table
SET ROLE regress_it_writer;
INSERT INTO fact VALUES (1, '{"k": "a", "v": 1}'), (2, '{"k": "b"}'), (3, '{"k": "c"}');
UPDATE fact SET doc = '{"k": "A", "v": 2}' WHERE id = 1;
DELETE FROM fact WHERE id = 3;
SELECT * FROM by_k;
BEGIN; TRUNCATE fact; ROLLBACK;
-- a long included value makes the primary key anew, whoever writes it
INSERT INTO fact SELECT 4, jsonb_build_object('k', 'long', 'v', string_agg(md5(i::text), '')) FROM generate_series(1, 200) i;
RESET ROLE;
SELECT k, id, length(v) FROM by_k ORDER BY id;
CALL pg_temp.compare('by_k', $$SELECT doc ->> 'k', id, doc ->> 'v' FROM fact$$);
DELETE FROM fact WHERE id = 4;
-- an error tells values only to who may read them, as the server's own do
SET ROLE regress_it_owner;
CREATE TABLE strict (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('strict_n', 'strict', '{n::int}') \gset
SELECT indextable.create('strict_secret', 'strict', '{secret}') \gset
INSERT INTO strict VALUES (1, '{"n": 1, "secret": "owner''s"}');
GRANT INSERT, UPDATE ON strict TO regress_it_writer;
INSERT INTO strict VALUES (2, '{"n": "two"}');
INSERT INTO strict VALUES (2, jsonb_build_object('n', repeat('1', 3000)));
SET ROLE regress_it_writer;
INSERT INTO strict VALUES (2, '{"n": "two"}');
UPDATE strict SET doc = jsonb_build_object('n', 'x');
UPDATE strict SET doc = jsonb_build_object('secret', repeat('s', 3000));
SET ROLE regress_it_owner;
GRANT SELECT ON strict TO regress_it_writer;
SET ROLE regress_it_writer;
INSERT INTO strict VALUES (2, '{"n": "two"}');
RESET ROLE;
-- who may not write the fact table, does not
SET ROLE regress_it_reader;
INSERT INTO fact VALUES (5, '{}');
SELECT * FROM by_k;
RESET ROLE;

-- ---- nobody writes an index table by hand
GRANT ALL ON by_k TO regress_it_writer;
SET ROLE regress_it_writer;
INSERT INTO by_k VALUES ('x', 9);
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
SET ROLE regress_it_owner;
INSERT INTO by_k VALUES ('x', 9);
UPDATE by_k SET k = 'x';
DELETE FROM by_k;
TRUNCATE by_k;
COPY by_k FROM stdin;
x	9	\N
\.
MERGE INTO by_k USING (VALUES (1)) v(id) ON by_k.id = v.id WHEN MATCHED THEN DELETE;
RESET ROLE;
-- nor a superuser, nor a statement without any row, nor one through a view or a rule
DELETE FROM by_k WHERE false;
INSERT INTO by_k SELECT 'x', 9, NULL ON CONFLICT DO NOTHING;
CREATE VIEW entries AS SELECT * FROM by_k;
DELETE FROM entries;
TRUNCATE fact, by_k;
WITH w AS (DELETE FROM by_k RETURNING *) SELECT count(*) FROM w;
-- (who may set session_replication_role switches off all guards, as everywhere: that is how entries are replicated)
BEGIN;
SET LOCAL session_replication_role = replica;
DELETE FROM by_k;
ROLLBACK;
-- nor is the guard up while the fact table is written
CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN DELETE FROM by_k; RETURN NULL; END$$;
CREATE TRIGGER meddle AFTER INSERT OR TRUNCATE ON fact EXECUTE FUNCTION meddle();
INSERT INTO fact VALUES (6, '{"k": "f"}');
TRUNCATE fact;
DROP TRIGGER meddle ON fact;
CALL pg_temp.compare('by_k', $$SELECT doc ->> 'k', id, doc ->> 'v' FROM fact$$);
-- reading and locking are allowed to who is granted
SET ROLE regress_it_owner;
SELECT k FROM by_k WHERE id = 1;
RESET ROLE;

-- ---- trigger functions are everybody's, as who adds a partition has the server clone a trigger, but only in triggers of ours
GRANT CREATE ON SCHEMA security TO regress_it_evil;
SET ROLE regress_it_evil;
CREATE TABLE mine (id int PRIMARY KEY, doc jsonb);
CREATE TRIGGER t AFTER INSERT ON mine FOR EACH ROW EXECUTE FUNCTION indextable_internal.maintain();
CREATE TRIGGER t BEFORE INSERT ON mine EXECUTE FUNCTION indextable_internal.guard();
CREATE TRIGGER indextable_row BEFORE INSERT ON mine FOR EACH ROW EXECUTE FUNCTION indextable_internal.maintain();
CREATE CONSTRAINT TRIGGER indextable_row AFTER INSERT OR UPDATE OR DELETE ON mine FOR EACH ROW EXECUTE FUNCTION indextable_internal.maintain();
CREATE TRIGGER guard BEFORE INSERT OR UPDATE OR DELETE ON mine FOR EACH ROW EXECUTE FUNCTION indextable_internal.guard();
SELECT indextable_internal.maintain();
-- nor is the catalog open
SELECT * FROM indextable_internal.definition;
INSERT INTO indextable_internal.definition DEFAULT VALUES;
DELETE FROM indextable_internal.fact;
DELETE FROM indextable_internal.skipped;
UPDATE indextable.index_tables SET state = 'invalid';
CREATE TABLE indextable.mine (id int);
RESET ROLE;
-- a superuser who attaches them where no event triggers fire gets an error, not an index table, nor does a row get lost
CREATE TABLE super (id int PRIMARY KEY, doc jsonb);
CREATE TRIGGER t AFTER INSERT ON super FOR EACH ROW EXECUTE FUNCTION indextable_internal.maintain();
SET session_replication_role = replica;
CREATE TRIGGER t AFTER INSERT ON super FOR EACH ROW EXECUTE FUNCTION indextable_internal.maintain();
RESET session_replication_role;
INSERT INTO super VALUES (1, '{"k": 1}');
SET session_replication_role = replica;
DROP TRIGGER t ON super;
CREATE TRIGGER indextable_row BEFORE INSERT ON super FOR EACH ROW EXECUTE FUNCTION indextable_internal.maintain();
RESET session_replication_role;
INSERT INTO super VALUES (1, '{"k": 1}');
DROP TABLE super;

-- ---- default privileges give nothing on an index table, whoever makes it, nor on a partition of one
CREATE ROLE regress_it_deploy IN ROLE regress_it_owner;
GRANT CREATE ON SCHEMA security TO regress_it_deploy;
ALTER DEFAULT PRIVILEGES FOR ROLE regress_it_owner IN SCHEMA security GRANT SELECT, INSERT ON TABLES TO regress_it_reader WITH GRANT OPTION;
ALTER DEFAULT PRIVILEGES FOR ROLE regress_it_owner GRANT SELECT, DELETE ON TABLES TO regress_it_writer, PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE regress_it_deploy GRANT SELECT ON TABLES TO regress_it_evil;
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO regress_it_evil;
SET ROLE regress_it_owner;
CREATE TABLE open (id int PRIMARY KEY, doc jsonb);
CREATE TABLE closed (id int PRIMARY KEY, doc jsonb);
CREATE TABLE policies (id int PRIMARY KEY, doc jsonb);
ALTER TABLE policies ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON open, closed, policies FROM PUBLIC;
REVOKE SELECT ON closed FROM regress_it_reader, regress_it_writer;
GRANT SELECT (id) ON closed TO regress_it_reader;
SELECT indextable.create('open_k', 'open', '{k}') \gset
SELECT indextable.create('open_parts', 'open', '{k}', partitions => 2, maintenance => 'async') \gset
SELECT indextable.create('closed_k', 'closed', '{k}') \gset
SELECT indextable.create('policies_k', 'policies', '{k}') \gset
SET ROLE regress_it_deploy;
SELECT indextable.create('open_deployed', 'open', '{k}') \gset
RESET ROLE;
SELECT indextable.create('open_made', 'open', '{k}', populate => false) \gset
REVOKE SELECT ON open_k FROM regress_it_writer;
GRANT SELECT ON open_parts TO PUBLIC;
CREATE FUNCTION rights() RETURNS TABLE (relname name, granted text) LANGUAGE sql SET search_path = security, pg_catalog AS $$
SELECT relname, string_agg(CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END || ' ' || privilege_type || CASE WHEN is_grantable THEN '*' ELSE '' END, ', '
       ORDER BY grantee::regrole::text COLLATE "C")
FROM pg_class LEFT JOIN aclexplode(relacl) a ON a.grantee <> relowner
WHERE relnamespace = 'security'::regnamespace AND relkind IN ('r', 'p') AND relname ~ '^(open|closed|policies)_' GROUP BY 1 ORDER BY 1$$;
SELECT * FROM rights();
SELECT count(*) FROM pg_class c, aclexplode(relacl) a WHERE relnamespace = 'indextable_internal'::regnamespace AND a.grantee NOT IN (0, c.relowner);
SET ROLE regress_it_owner;
CALL indextable.rebuild('open_k');
CALL indextable.rebuild('open_parts');
SELECT indextable.alter('open_deployed', include => '{v}') \gset
SELECT indextable.alter('open_parts', partitions => 3) \gset
SELECT * FROM rights();
INSERT INTO open VALUES (1, '{"k": "a"}');
SET ROLE regress_it_reader;
TABLE open_k;
RESET ROLE;
-- those of a restore, neither: it creates the guard last, and grants what the dump says after that
SET ROLE regress_it_owner;
CREATE TABLE open_restored (k text, id int NOT NULL);
CREATE TRIGGER indextable_guard BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON open_restored EXECUTE FUNCTION indextable_internal.guard();
RESET ROLE;
SELECT * FROM rights() WHERE relname = 'open_restored';
DROP TABLE open, closed, policies, open_restored;
DROP FUNCTION rights();
ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM regress_it_evil;
ALTER DEFAULT PRIVILEGES FOR ROLE regress_it_owner IN SCHEMA security REVOKE ALL ON TABLES FROM regress_it_reader;
ALTER DEFAULT PRIVILEGES FOR ROLE regress_it_owner REVOKE ALL ON TABLES FROM regress_it_writer, PUBLIC;
DROP OWNED BY regress_it_deploy;
DROP ROLE regress_it_deploy;

-- ---- without rights on an index table, look-ups tell what the fact table tells, and no more
SET ROLE regress_it_owner;
CREATE TABLE told (id int PRIMARY KEY, doc jsonb, who text);
CREATE FUNCTION hidden(jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$SELECT $1 ->> 's'$$;
SELECT indextable.create('told_k', 'told', '{k}', include => '{s}') \gset
SELECT indextable.create('told_copies', 'told', '{k}', strategy => 'denormalized') \gset
SELECT indextable.create('told_async', 'told', '{k}', maintenance => 'async') \gset
SELECT indextable.create('told_async_copies', 'told', '{k}', strategy => 'denormalized', maintenance => 'async') \gset
SELECT indextable.create('told_hidden', 'told', '{(security.hidden(doc)) AS h}') \gset
SELECT indextable.create('told_totals', 'told', '{k}', totals => '{count(*)}') \gset
INSERT INTO told VALUES (1, '{"k": "a", "s": "one"}', 'regress_it_reader'), (2, '{"k": "a", "s": "two"}', 'others');
SELECT indextable.drain('told') \gset
UPDATE told SET doc = doc || '{"s": "new"}' WHERE id = 2;
-- what a look-up and a page of each index table give
CREATE FUNCTION tells() RETURNS TABLE (what text, tells text) LANGUAGE plpgsql AS $$
DECLARE
	t text;
	key jsonb;
BEGIN
	FOREACH t IN ARRAY '{told_k,told_copies,told_async,told_async_copies,told_hidden}'::text[] LOOP
		key := CASE t WHEN 'told_hidden' THEN '{"h": "one"}' ELSE '{"k": "a"}' END;
		t := 'security.' || t;
		FOREACH what IN ARRAY '{documents,rows,page,page with documents}'::text[] LOOP
			BEGIN
				tells := CASE what
					WHEN 'documents' THEN (SELECT string_agg(d ->> 's', ', ' ORDER BY d) FROM indextable.lookup(t, key) d)
					WHEN 'rows' THEN (SELECT string_agg(r.doc ->> 's', ', ' ORDER BY r.id) FROM indextable.lookup(NULL::security.told, t, key) r)
					WHEN 'page' THEN (SELECT string_agg(q.entry ->> 'id', ', ' ORDER BY q.entry) FROM indextable.query(t, key) q)
					ELSE (SELECT string_agg((q.entry ->> 'id') || ' ' || coalesce(q.document ->> 's', '-'), ', ' ORDER BY q.entry) FROM indextable.query(t, key, with_document => true) q) END;
			EXCEPTION WHEN insufficient_privilege THEN
				tells := SQLERRM;
			END;
			what := substr(t, 10) || ' ' || what;
			RETURN NEXT;
		END LOOP;
	END LOOP;
END $$;
-- nothing without any right
SET ROLE regress_it_evil;
SELECT * FROM tells();
SELECT indextable.wait('told_async');
SELECT indextable.definition('told_k');
SELECT * FROM indextable.totals('told_totals');
SET ROLE regress_it_owner;
GRANT SELECT ON told TO regress_it_reader;
SET ROLE regress_it_reader;
SELECT * FROM tells();
SELECT * FROM indextable.totals('told_totals');
-- not by a function that he may not call
SET ROLE regress_it_owner;
REVOKE EXECUTE ON FUNCTION hidden FROM PUBLIC;
SET ROLE regress_it_reader;
SELECT * FROM tells() WHERE what LIKE '%hidden%';
-- nor by an operator, or by one of the server's own
SET ROLE regress_it_owner;
CREATE FUNCTION hidden2(jsonb, text) RETURNS text LANGUAGE sql IMMUTABLE AS $$SELECT $1 ->> $2$$;
CREATE OPERATOR ->>> (LEFTARG = jsonb, RIGHTARG = text, FUNCTION = hidden2);
SELECT indextable.create('told_operator', 'told', ARRAY[$$(doc OPERATOR(security.->>>) 's') AS o$$]), indextable.create('told_upper', 'told', $${k}$$, filter => $$upper(doc ->> 's') = 'ONE'$$) \gset
REVOKE EXECUTE ON FUNCTION hidden2 FROM PUBLIC;
CREATE VIEW looked_up AS SELECT indextable.lookup('told_operator', '{"o": "one"}') ->> 's' AS s;
GRANT SELECT ON looked_up TO regress_it_reader;
SET ROLE regress_it_reader;
SELECT indextable.lookup('told_operator', '{"o": "one"}') ->> 's';
SELECT * FROM indextable.query('told_operator', '{"o": "one"}');
TABLE looked_up;
SELECT indextable.lookup('told_upper', '{"k": "a"}') ->> 's';
RESET ROLE;
BEGIN;
REVOKE EXECUTE ON FUNCTION pg_catalog.upper(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_catalog.upper(text) TO regress_it_owner;
SET LOCAL ROLE regress_it_reader;
SELECT indextable.lookup('told_upper', '{"k": "a"}') ->> 's';
ROLLBACK;
SET ROLE regress_it_owner;
DROP VIEW looked_up;
SELECT indextable.drop('told_operator'), indextable.drop('told_upper') \gset
DROP OPERATOR ->>> (jsonb, text);
-- under row security, no entries
SET ROLE regress_it_owner;
CREATE POLICY own ON told USING (who = current_user);
ALTER TABLE told ENABLE ROW LEVEL SECURITY;
SET ROLE regress_it_reader;
SELECT * FROM tells();
-- a right on the index table is one to read its entries: who has it, and may read less of the fact table from now on, is named
SET ROLE regress_it_owner;
ALTER TABLE told DISABLE ROW LEVEL SECURITY;
GRANT SELECT ON told_k TO regress_it_reader;
GRANT SELECT (k) ON told_async TO regress_it_reader, PUBLIC;
ALTER TABLE told ENABLE ROW LEVEL SECURITY;
SET ROLE regress_it_reader;
SELECT * FROM tells() WHERE what LIKE 'told_k %';
SET ROLE regress_it_owner;
REVOKE SELECT ON told_async FROM regress_it_reader, PUBLIC;
ALTER TABLE told DISABLE ROW LEVEL SECURITY;
REVOKE INSERT ON told FROM regress_it_reader;
REVOKE SELECT ON fact FROM regress_it_evil;
REVOKE SELECT ON told FROM regress_it_reader;
GRANT SELECT ON told TO regress_it_reader;
REVOKE SELECT ON told FROM regress_it_reader;
SET ROLE regress_it_reader;
SELECT * FROM tells() WHERE what LIKE 'told_k %' OR what = 'told_copies documents';
RESET ROLE;
REVOKE SELECT ON ALL TABLES IN SCHEMA indextable FROM regress_it_reader;
BEGIN;
REVOKE SELECT ON ALL TABLES IN SCHEMA security FROM regress_it_evil;
ROLLBACK;
DROP TABLE told;
DROP FUNCTION hidden, hidden2, tells;

-- ---- rows are fetched by policies also if a column has the name that the query gives the table
SET ROLE regress_it_owner;
CREATE TABLE lettered (id int PRIMARY KEY, doc jsonb, f text);
SELECT indextable.create('lettered_k', 'lettered', '{k}') \gset
INSERT INTO lettered VALUES (1, '{"k": "a", "n": 1}', 'x'), (2, '{"k": "a", "n": 2}', 'y');
GRANT SELECT ON lettered TO regress_it_reader;
CREATE POLICY half ON lettered USING (f = 'x');
ALTER TABLE lettered ENABLE ROW LEVEL SECURITY;
SET ROLE regress_it_reader;
SELECT * FROM indextable.lookup('lettered_k', '{"k": "a"}');
SELECT * FROM indextable.lookup(NULL::lettered, 'lettered_k', '{"k": "a"}');
RESET ROLE;
DROP TABLE lettered;

-- ---- who may create, and who owns
SET ROLE regress_it_writer;
SELECT indextable.create('not_mine', 'fact', '{k}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.drop('by_k');
DROP TABLE by_k;
RESET ROLE;
REVOKE CREATE ON SCHEMA security FROM regress_it_owner;
SET ROLE regress_it_owner;
SELECT indextable.create('no_create', 'fact', '{k}');
\echo :LAST_ERROR_SQLSTATE
SELECT indextable.create('pg_catalog.x', 'fact', '{k}');
SELECT indextable.create('indextable.x', 'fact', '{k}');
RESET ROLE;
-- a superuser, and a member of the owning role, make one for the owner
SELECT indextable.create('for_owner', 'fact', '{k}') \gset
CREATE ROLE regress_it_member IN ROLE regress_it_owner;
GRANT CREATE ON SCHEMA security TO regress_it_member;
SET ROLE regress_it_member;
SELECT indextable.create('for_owner_too', 'fact', '{k}') \gset
RESET ROLE;
SELECT relname, relowner::regrole FROM pg_class WHERE relname LIKE 'for\_owner%' AND relkind = 'r' ORDER BY 1;
SELECT pg_get_userbyid(relowner) = 'regress_it_owner' AS same FROM pg_class WHERE relname = 'for_owner_k_id_key';
SET ROLE regress_it_owner;
SELECT indextable.drop('for_owner') \gset
SET ROLE regress_it_member;
SELECT indextable.drop('for_owner_too') \gset
RESET ROLE;
GRANT CREATE ON SCHEMA security TO regress_it_owner;

-- ---- the index table follows its fact table to a new owner
SET ROLE regress_it_owner;
CREATE TABLE given (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('given_k', 'given', '{k}') \gset
INSERT INTO given VALUES (1, '{"k": 1}');
RESET ROLE;
ALTER TABLE given OWNER TO regress_it_member;
SELECT relname, relowner::regrole FROM pg_class WHERE relname IN ('given', 'given_k') AND relnamespace = 'security'::regnamespace ORDER BY 1;
SET ROLE regress_it_member;
TRUNCATE given;
INSERT INTO given VALUES (2, '{"k": 2}');
SELECT count(*) FROM indextable.lookup('given_k', '{"k": 2}');
SELECT * FROM given_k;
SELECT indextable.drop('given_k') \gset
DROP TABLE given;
RESET ROLE;

-- ---- functions in a filter run as the fact table's owner, whoever writes, in a restricted operation
SET ROLE regress_it_owner;
CREATE TABLE trace (who name, path text);
CREATE FUNCTION act(what text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	CASE what
		WHEN 'who' THEN INSERT INTO security.trace VALUES (current_user, current_setting('search_path'));
		WHEN 'role' THEN EXECUTE 'SET ROLE ' || quote_ident(session_user);
		WHEN 'authorization' THEN EXECUTE 'SET SESSION AUTHORIZATION ' || quote_ident(session_user);
		WHEN 'temp' THEN CREATE TEMP TABLE left_behind (x int);
		WHEN 'path' THEN SET search_path = security;
		ELSE NULL;
	END CASE;
	RETURN true;
END $$;
-- says it is immutable, but is not
CREATE FUNCTION spy(jsonb) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN security.act($1 ->> ''do''); END';
CREATE TABLE spied (id int PRIMARY KEY, doc jsonb);
GRANT INSERT, UPDATE ON spied TO regress_it_writer;
SELECT indextable.create('spied_k', 'spied', '{do}', filter => 'security.spy(doc)') \gset
RESET ROLE;
INSERT INTO spied VALUES (1, '{"do": "who"}');
SET ROLE regress_it_writer;
INSERT INTO spied VALUES (2, '{"do": "who"}');
SELECT current_user;
RESET ROLE;
SELECT DISTINCT who, path FROM trace;
INSERT INTO spied VALUES (3, '{"do": "role"}');
INSERT INTO spied VALUES (3, '{"do": "authorization"}');
INSERT INTO spied VALUES (3, '{"do": "temp"}');
INSERT INTO spied VALUES (3, '{"do": "path"}');
SHOW search_path;
-- nor do those of a domain or a cast run as who asks for totals
SET ROLE regress_it_owner;
CREATE FUNCTION checks(text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN security.act('who'); END $$;
CREATE DOMAIN checked AS text CHECK (security.checks(VALUE));
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE FUNCTION mood_json(mood) RETURNS json LANGUAGE plpgsql AS $$ BEGIN PERFORM security.act('who'); RETURN to_json($1::text); END $$;
CREATE CAST (mood AS json) WITH FUNCTION mood_json(mood);
CREATE TABLE moods (id int PRIMARY KEY, doc jsonb, c checked, m mood);
SELECT indextable.create('moods_t', 'moods', '{@c,@m}', totals => '{count(*)}') \gset
INSERT INTO moods VALUES (1, '{}', 'a', 'sad'), (2, '{}', 'b', 'ok');
RESET ROLE;
TRUNCATE trace;
SELECT * FROM indextable.totals('moods_t', '{"c": "a", "m": "sad"}');
SELECT * FROM indextable.totals('moods_t');
SELECT * FROM indextable.totals('moods_t', '{"m": "glad"}');
SELECT DISTINCT who, path FROM trace;
-- and there are none where entries cannot be trusted
SET client_min_messages = error;
ALTER TABLE moods DISABLE TRIGGER indextable_row;
SELECT * FROM indextable.totals('moods_t');
DROP TABLE moods;
RESET client_min_messages;
-- as a superuser makes an index table over a table of another's: not as the superuser either
TRUNCATE trace;
SELECT indextable.create('made_by_super', 'spied', '{do}', filter => 'security.spy(doc)') \gset
SELECT DISTINCT who, path FROM trace;
CALL pg_temp.compare('spied_k', $$SELECT doc ->> 'do', id FROM spied$$);
-- after an error within the function, the user is the user again
UPDATE spied SET doc = '{"do": "role"}';
SELECT current_user = session_user AS same;
-- the filter must be the owner's to execute
CREATE FUNCTION private(jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
REVOKE ALL ON FUNCTION private(jsonb) FROM PUBLIC;
SET ROLE regress_it_owner;
SELECT indextable.create('private_k', 'spied', '{k}', filter => 'security.private(doc)');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;

-- ---- a hijacked search_path, and temporary tables with the right names, have no effect
CREATE SCHEMA evil AUTHORIZATION regress_it_evil;
SET ROLE regress_it_evil;
CREATE FUNCTION evil.bad(jsonb, text) RETURNS text LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'hijacked'; END$$;
CREATE FUNCTION evil.bad(jsonb, text[]) RETURNS text LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'hijacked'; END$$;
CREATE FUNCTION evil.eq(text, text) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'hijacked'; END$$;
CREATE FUNCTION evil.lower(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$BEGIN RAISE EXCEPTION 'hijacked'; END$$;
CREATE OPERATOR evil.->> (LEFTARG = jsonb, RIGHTARG = text, FUNCTION = evil.bad);
CREATE OPERATOR evil.#>> (LEFTARG = jsonb, RIGHTARG = text[], FUNCTION = evil.bad);
CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.eq);
CREATE TABLE evil.definition (index_table regclass, fact_table regclass);
CREATE DOMAIN evil.jsonb AS pg_catalog.text;
RESET ROLE;
SET ROLE regress_it_owner;
SELECT indextable.create('lowered', 'fact', '{k, v}', filter => $$lower(doc ->> 'k') = lower(doc ->> 'k')$$) \gset
RESET ROLE;
GRANT USAGE ON SCHEMA evil TO PUBLIC;
SET ROLE regress_it_writer;
SET search_path = evil, pg_catalog, security;
CREATE TEMP TABLE by_k (k text, id int, v text);
CREATE TEMP TABLE lowered (k text, v text, id int);
CREATE TEMP TABLE fact (id int, doc pg_catalog.jsonb, secret text);
CREATE TEMP TABLE definition (index_table regclass);
INSERT INTO security.fact VALUES (10, '{"k": "Ten", "v": "x"}');
UPDATE security.fact SET doc = '{"k": "Eleven", "v": "y"}' WHERE id OPERATOR(pg_catalog.=) 10;
SELECT count(*) FROM pg_temp.by_k;
SELECT count(*) FROM pg_temp.lowered;
RESET ROLE;
SET ROLE regress_it_owner;
SET search_path = evil, pg_catalog, security;
SELECT indextable.create('hijacked', 'security.fact', '{k, v}', filter => $$lower(doc ->> 'k') = lower(doc ->> 'k')$$) \gset
SELECT d FROM indextable.lookup('security.hijacked', '{"k": "Eleven"}') d;
SELECT indextable.drop('security.hijacked') \gset
RESET ROLE;
SET search_path = security;
DROP TABLE pg_temp.by_k, pg_temp.lowered, pg_temp.fact, pg_temp.definition;
SELECT k, v, id FROM lowered WHERE id = 10;
CALL pg_temp.compare('lowered', $$SELECT doc ->> 'k', doc ->> 'v', id FROM fact$$);
-- names and values in user data reach no SQL
INSERT INTO fact VALUES (20, '{"k": "''); DROP TABLE fact; --", "v": "$1 %s \\ \" "}');
SELECT * FROM by_k WHERE id = 20;
SELECT id FROM indextable.lookup(NULL::fact, 'by_k', '{"k": "''); DROP TABLE fact; --"}');
SELECT indextable.create('injected', 'fact', ARRAY['"k'') || (SELECT secret FROM fact)::text || (''"']) \gset
SELECT indextable.create('injected2', 'fact', ARRAY['k::text); DROP TABLE fact; --']);
SELECT indextable.create('injected2', 'fact', ARRAY['k::text AS x, (SELECT 1) AS y']);
DO $$ BEGIN PERFORM indextable.create('injected2', 'fact', '{k}', filter => 'true); DROP TABLE fact; --'); EXCEPTION WHEN syntax_error THEN RAISE NOTICE 'refused'; END $$;

-- ---- who may write all tables writes neither the catalog nor queues, whose rows decide what runs as the owner
SET ROLE regress_it_owner;
CREATE TABLE queued (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('queued_k', 'queued', '{k}', maintenance => 'async') \gset
INSERT INTO queued VALUES (1, '{"k": "a"}');
RESET ROLE;
CREATE ROLE regress_it_all IN ROLE pg_write_all_data, pg_read_all_data;
GRANT CREATE ON SCHEMA security TO regress_it_all;
CREATE PROCEDURE try(command text) LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE command;
	GET DIAGNOSTICS n = ROW_COUNT;
	RAISE NOTICE '%: % rows', regexp_replace(command, '_\d+_', '_N_', 'g'), n;
EXCEPTION WHEN OTHERS THEN
	RAISE NOTICE '%: % %', regexp_replace(command, '_\d+_', '_N_', 'g'), SQLSTATE, regexp_replace(SQLERRM, '_\d+_', '_N_', 'g');
END $$;
CREATE VIEW writes AS
SELECT format('CALL security.try(%L)', command) AS command FROM (
	SELECT 1, unnest(ARRAY['UPDATE indextable_internal.definition SET filter = ''security.pwn(id)''',
		'INSERT INTO indextable_internal.definition SELECT * FROM indextable_internal.definition ON CONFLICT DO NOTHING',
		'MERGE INTO indextable_internal.definition d USING (VALUES (1)) v ON true WHEN MATCHED THEN DELETE',
		'WITH d AS (DELETE FROM indextable_internal.fact RETURNING 1) SELECT FROM d',
		'INSERT INTO indextable_internal.fact VALUES (1, 1, 1, true)'])
	UNION ALL
	SELECT 2, format('INSERT INTO indextable_internal.%s VALUES (%s)', t, v)
	FROM (VALUES ('skipped', '1, now(), 1'), ('rejection', '1, ''{}'', ''22P02'', ''m'', 1, now(), now(), now()'), ('build', '1, ''p'', 1, ''{}'', 1, 1, now(), now()'),
		('checked', '1, now(), ''0'', 1, 0, 0, 0, 0, 0'), ('counted', '1, now(), 1, now()'), ('completeness', '1, 1')) x (t, v)
	UNION ALL
	SELECT 3, 'DELETE FROM ' || queue FROM indextable_internal.fact WHERE queue IS NOT NULL
	UNION ALL
	SELECT 4, format('INSERT INTO %s VALUES (now(), 1)', spare) FROM indextable_internal.fact WHERE queue IS NOT NULL) c (n, command) ORDER BY n, command;
GRANT SELECT ON writes TO regress_it_all;
SET ROLE regress_it_all;
CREATE FUNCTION pwn(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$BEGIN RAISE NOTICE 'pwned as %', current_user; RETURN true; END$$;
UPDATE indextable_internal.definition SET filter = 'security.pwn(id)';
\echo :LAST_ERROR_SQLSTATE
\set ECHO none
SELECT command FROM writes \gexec
\set ECHO all
COPY indextable_internal.fact FROM stdin;
1	1	1	t
\.
CALL try('TRUNCATE indextable_internal.definition');
CALL try('CREATE OR REPLACE TRIGGER guard BEFORE DELETE ON indextable_internal.definition EXECUTE FUNCTION indextable_internal.guard()');
CALL try('ALTER TABLE indextable_internal.definition DISABLE TRIGGER guard');
CALL try('CREATE RULE r AS ON DELETE TO indextable_internal.definition DO INSTEAD NOTHING');
CALL try('CREATE POLICY p ON indextable_internal.definition');
-- nor where triggers of users do not fire, nor with all rights that the owner of the catalog can grant
RESET ROLE;
BEGIN;
GRANT ALL ON ALL TABLES IN SCHEMA indextable_internal TO regress_it_all;
SET LOCAL session_replication_role = replica;
SET LOCAL ROLE regress_it_all;
\set ECHO none
SELECT command FROM writes \gexec
\set ECHO all
CALL try('TRUNCATE indextable_internal.definition');
ROLLBACK;
INSERT INTO queued VALUES (2, '{"k": "b"}');
SELECT indextable.drain('queued');
CALL pg_temp.compare('queued_k', $$SELECT doc ->> 'k', id FROM queued$$);
-- a superuser may, as a restore does; which also enables the triggers, as it does those of users
BEGIN;
CALL try('UPDATE indextable_internal.definition SET filter = filter WHERE index_table = ''queued_k''::regclass');
ALTER TABLE indextable_internal.definition DISABLE TRIGGER ALL;
ALTER TABLE indextable_internal.definition ENABLE TRIGGER ALL;
SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid = 'indextable_internal.definition'::regclass AND NOT tgisinternal ORDER BY 1;
SET LOCAL session_replication_role = replica;
SET LOCAL ROLE regress_it_all;
CALL try('DELETE FROM indextable_internal.definition');
ROLLBACK;
DROP TRIGGER guard ON indextable_internal.definition;
DROP VIEW writes;
DROP OWNED BY regress_it_all;
DROP ROLE regress_it_all;

-- ---- the right TRIGGER on a table is none to make triggers of ours on it, which would take rights away, or refuse writes
SET ROLE regress_it_owner;
ALTER DEFAULT PRIVILEGES IN SCHEMA security GRANT SELECT ON TABLES TO regress_it_reader;
CREATE TABLE ordinary (id int PRIMARY KEY, doc jsonb);
ALTER DEFAULT PRIVILEGES IN SCHEMA security REVOKE SELECT ON TABLES FROM regress_it_reader;
GRANT TRIGGER ON ordinary TO regress_it_evil;
SET ROLE regress_it_evil;
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
\set ECHO none
SELECT format('CALL security.try(%L)', 'CREATE ' || t) FROM unnest('{TRIGGER indextable_guard BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON ordinary EXECUTE FUNCTION indextable_internal.guard(),
	TRIGGER indextable_guard_row BEFORE INSERT OR UPDATE OR DELETE ON ordinary FOR EACH ROW EXECUTE FUNCTION indextable_internal.guard(),
	TRIGGER indextable_row AFTER INSERT OR UPDATE OR DELETE ON ordinary FOR EACH ROW EXECUTE FUNCTION indextable_internal.maintain(),
	TRIGGER indextable_row_1 AFTER INSERT ON ordinary FOR EACH ROW EXECUTE FUNCTION indextable_internal.maintain(1),
	TRIGGER t AFTER INSERT ON ordinary EXECUTE FUNCTION indextable_internal.maintain(),
	TRIGGER t AFTER INSERT ON ordinary EXECUTE FUNCTION indextable_internal.restored(),
	CONSTRAINT TRIGGER indextable_row AFTER INSERT ON ordinary FOR EACH ROW EXECUTE FUNCTION security.nothing()}'::text[]) t \gexec
\set ECHO all
CREATE TRIGGER t AFTER INSERT ON ordinary EXECUTE FUNCTION nothing();
SET ROLE regress_it_reader;
SELECT count(*) FROM ordinary;
SET ROLE regress_it_owner;
INSERT INTO ordinary VALUES (1, '{"k": "a"}');
SELECT indextable.create('ordinary_k', 'ordinary', '{k}') \gset
TABLE ordinary_k;
DROP TABLE ordinary;

-- ---- nor does it, or its owner, replace those that maintain or guard index tables
CREATE TABLE given (id int PRIMARY KEY, doc jsonb);
CREATE TABLE parted (id int PRIMARY KEY, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10);
SELECT indextable.create('given_k', 'given', '{k}'), indextable.create('parted_k', 'parted', '{k}') \gset
GRANT TRIGGER, INSERT ON given, given_k, parted, parted_1 TO regress_it_evil;
SET ROLE regress_it_evil;
CREATE OR REPLACE TRIGGER indextable_row AFTER INSERT OR UPDATE OR DELETE ON given FOR EACH ROW WHEN (false) EXECUTE FUNCTION indextable_internal.maintain();
\echo :LAST_ERROR_SQLSTATE
SET ROLE regress_it_owner;
CREATE VIEW replaced AS SELECT format('CREATE OR REPLACE TRIGGER %s EXECUTE FUNCTION indextable_internal.%s()', t, f) AS command
FROM (VALUES (1, 'indextable_row AFTER TRUNCATE ON given FOR EACH STATEMENT', 'maintain'),
	(2, 'indextable_row AFTER DELETE ON given FOR EACH ROW', 'maintain'),
	(3, 'indextable_row BEFORE INSERT OR UPDATE OR DELETE ON given FOR EACH ROW', 'maintain'),
	(4, 'indextable_row AFTER INSERT OR UPDATE OF id OR DELETE ON given FOR EACH ROW', 'maintain'),
	(5, 'indextable_row AFTER INSERT OR UPDATE OR DELETE ON given FOR EACH STATEMENT', 'maintain'),
	(6, 'indextable_row AFTER INSERT OR UPDATE OR DELETE ON given FOR EACH ROW WHEN (pg_trigger_depth() = 9)', 'maintain'),
	(7, 'indextable_row AFTER INSERT OR UPDATE OR DELETE ON given FOR EACH ROW', 'guard'),
	(8, 'indextable_row AFTER INSERT ON given REFERENCING NEW TABLE AS n FOR EACH ROW', 'maintain'),
	(9, 'indextable_row AFTER INSERT OR UPDATE OR DELETE ON given FOR EACH ROW', 'maintain'),
	(10, 'indextable_end AFTER DELETE ON given FOR EACH STATEMENT', 'maintain'),
	(11, 'indextable_truncate BEFORE TRUNCATE ON given FOR EACH STATEMENT', 'maintain'),
	(12, 'indextable_truncate AFTER TRUNCATE ON given FOR EACH STATEMENT WHEN (false)', 'maintain'),
	(13, 'indextable_guard BEFORE DELETE ON given_k FOR EACH STATEMENT', 'guard'),
	(14, 'indextable_guard_row BEFORE INSERT OR UPDATE OR DELETE ON given_k FOR EACH ROW WHEN (false)', 'guard'),
	(15, 'indextable_row AFTER DELETE ON parted FOR EACH ROW', 'maintain'),
	(16, 'indextable_before BEFORE TRUNCATE ON parted_1 FOR EACH STATEMENT WHEN (false)', 'maintain'),
	(17, 'indextable_end AFTER DELETE ON parted_1 FOR EACH STATEMENT', 'maintain'),
	(18, 'indextable_truncate AFTER TRUNCATE ON parted_1 FOR EACH STATEMENT', 'guard')) x (n, t, f) ORDER BY n;
\set ECHO none
SELECT format('CALL security.try(%L)', command) FROM replaced \gexec
\set ECHO all
INSERT INTO given_k VALUES ('x', 1);
RESET ROLE;
INSERT INTO given VALUES (1, '{"k": "a"}'), (2, '{"k": "b"}');
INSERT INTO parted VALUES (1, '{"k": "a"}');
TRUNCATE parted_1;
CALL pg_temp.compare('given_k', $$SELECT doc ->> 'k', id FROM given$$);
CALL pg_temp.compare('parted_k', $$SELECT doc ->> 'k', id FROM parted$$);
-- where event triggers do not fire, the index tables are not used then
CREATE PROCEDURE replace_behind(command text) LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL session_replication_role = replica;
	EXECUTE command;
	RESET session_replication_role;
	INSERT INTO given VALUES (3, '{"k": "c"}');
	RAISE NOTICE '%', command;
	SET LOCAL indextable.planner = force;
	RAISE NOTICE '% found, reading is %, setup has % problems', (SELECT count(*) FROM given WHERE doc ->> 'k' = 'c'),
		pg_temp.lookup_says('given_k'), (SELECT count(*) FROM indextable.verify('given_k') WHERE kind = 'setup');
	ROLLBACK;
END $$;
CREATE FUNCTION pg_temp.lookup_says(index_table regclass) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM indextable.lookup(index_table, '{"k": "c"}');
	RETURN 'allowed';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ': ' || SQLERRM;
END $$;
\set ECHO none
SELECT format('CALL security.replace_behind(%L)', command) FROM replaced WHERE command ~ ' given ' AND command !~ '_row BEFORE|guard' \gexec
\set ECHO all
-- a trigger of the user's that has the name before create(), and a table that is attached with one
SET ROLE regress_it_owner;
CREATE TABLE early (id int PRIMARY KEY, doc jsonb);
CREATE TRIGGER indextable_row AFTER DELETE ON early FOR EACH ROW EXECUTE FUNCTION nothing();
CREATE TRIGGER indextable_truncate AFTER TRUNCATE ON early FOR EACH STATEMENT WHEN (false) EXECUTE FUNCTION nothing();
ALTER TABLE early ENABLE ALWAYS TRIGGER indextable_row, ENABLE ALWAYS TRIGGER indextable_truncate;
SELECT indextable.create('early_k', 'early', '{k}') \gset
INSERT INTO early VALUES (1, '{"k": "a"}');
CALL pg_temp.compare('early_k', $$SELECT doc ->> 'k', id FROM early$$);
TRUNCATE early;
CALL pg_temp.compare('early_k', $$SELECT doc ->> 'k', id FROM early$$);
CREATE TABLE parted_2 (LIKE parted INCLUDING ALL);
CREATE TRIGGER indextable_before BEFORE TRUNCATE ON parted_2 FOR EACH STATEMENT WHEN (false) EXECUTE FUNCTION nothing();
CREATE TRIGGER indextable_end AFTER DELETE ON parted_2 FOR EACH STATEMENT EXECUTE FUNCTION nothing();
ALTER TABLE parted_2 ENABLE ALWAYS TRIGGER indextable_before, ENABLE ALWAYS TRIGGER indextable_end;
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES FROM (10) TO (20);
INSERT INTO parted_2 VALUES (11, '{"k": "b"}');
CALL pg_temp.compare('parted_k', $$SELECT doc ->> 'k', id FROM parted$$);
TRUNCATE parted_2;
CALL pg_temp.compare('parted_k', $$SELECT doc ->> 'k', id FROM parted$$);
-- triggers that pretend to be those of distributed tables, and comments to be of index tables
CREATE TABLE forged (id int PRIMARY KEY, doc jsonb);
CREATE TRIGGER indextable_row AFTER INSERT ON forged FOR EACH ROW EXECUTE FUNCTION indextable_internal.maintain('x', 'y');
CREATE TRIGGER zz BEFORE TRUNCATE ON forged FOR EACH STATEMENT EXECUTE FUNCTION indextable_internal.guard('q', '0', '{}');
ALTER TRIGGER zz ON forged RENAME TO indextable_guard;
CREATE SCHEMA forged CREATE TABLE t (id int) CREATE TRIGGER indextable_guard BEFORE TRUNCATE ON t FOR EACH STATEMENT EXECUTE FUNCTION indextable_internal.guard('q', '0', '{}');
CREATE TRIGGER indextable_row_1 AFTER INSERT ON forged FOR EACH ROW EXECUTE FUNCTION indextable_internal.maintain('x', 'y');
INSERT INTO forged VALUES (1, '{}');
DROP TRIGGER indextable_row_1 ON forged;
COMMENT ON TABLE forged IS 'index table of security.given: SELECT indextable.create(''security.forged'', ''security.given'', ''{k}''); DROP TABLE security.given;';
CREATE TRIGGER indextable_guard BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON forged FOR EACH STATEMENT EXECUTE FUNCTION indextable_internal.guard();
INSERT INTO given VALUES (9, '{"k": "z"}');
-- nor is a statement shown for a table that does not exist yet: it may be somebody else's when that is run
COMMENT ON TABLE forged IS 'index table of security.later: SELECT indextable.create(''security.forged'', ''security.later'', ''{k}'');';
INSERT INTO forged VALUES (2, '{}');
RESET ROLE;
DROP TABLE forged, early, given, parted, queued;

-- ---- who calls an owner's function does not get locks on the owner's tables: the key is made anew when he commits
SET ROLE regress_it_owner;
CREATE TABLE called (id int PRIMARY KEY, doc jsonb NOT NULL);
SELECT indextable.create('called_k', 'called', '{k}', include => '{v}') \gset
CREATE FUNCTION add_called(int, int) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = security AS $$
	INSERT INTO called SELECT $1, jsonb_build_object('k', 'a', 'v', (SELECT string_agg(md5(i::text), '') FROM generate_series(1, $2) i)) $$;
RESET ROLE;
GRANT USAGE ON SCHEMA security TO regress_it_writer;
SET ROLE regress_it_writer;
BEGIN;
SELECT security.add_called(1, 90);
SELECT count(*) AS locks FROM pg_locks WHERE pid = pg_backend_pid() AND relation IN ('security.called'::regclass, 'security.called_k'::regclass) AND mode LIKE '%Exclusive%' AND mode <> 'RowExclusiveLock';
COMMIT;
RESET ROLE;
SELECT id, length(v), (SELECT bool_and(indnatts = 2) FROM pg_index WHERE indrelid = 'called_k'::regclass) AS anew FROM called_k;
DROP TABLE called;
DROP FUNCTION add_called;

-- ---- a policy renames schemas: the rows of another table are not taken for those of the fact table
CREATE SCHEMA swap_one AUTHORIZATION regress_it_owner;
CREATE SCHEMA swap_two AUTHORIZATION regress_it_owner;
DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO regress_it_owner', current_database()); END $$;
SET ROLE regress_it_owner;
CREATE TABLE swap_one.f (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO swap_one.f SELECT i, '{"k": "a"}' FROM generate_series(1, 3) i;
SELECT indextable.create('swap_one.f_k', 'swap_one.f', '{k}') \gset
-- which would be a document at the address 0x4141414141414141
CREATE TABLE swap_two.f (id int PRIMARY KEY, doc int, x int, y int);
INSERT INTO swap_two.f SELECT i, x'41410301'::int, x'41414141'::int, x'41414141'::int FROM generate_series(1, 3) i;
CREATE FUNCTION swap() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	IF to_regclass('swap_three.f') IS NULL AND current_setting('swap.done', true) IS DISTINCT FROM 'yes' THEN
		ALTER SCHEMA swap_one RENAME TO swap_three;
		ALTER SCHEMA swap_two RENAME TO swap_one;
		ALTER SCHEMA swap_three RENAME TO swap_two;
		PERFORM set_config('swap.done', 'yes', true);
	END IF;
	RETURN true;
END $$;
ALTER TABLE swap_one.f ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY p ON swap_one.f USING (security.swap());
BEGIN;
SELECT * FROM indextable.lookup('swap_one.f_k', '{"k": "a"}');
ROLLBACK;
RESET ROLE;
DROP TABLE swap_one.f, swap_two.f;
DROP SCHEMA swap_one, swap_two;

-- ---- nobody adds to the extension, not even who has installed it
ALTER EXTENSION indextable ADD TABLE fact;
\echo :LAST_ERROR_SQLSTATE
ALTER EXTENSION indextable ADD FUNCTION act(text);
ALTER EXTENSION indextable ADD SCHEMA security;

SET client_min_messages = warning;
DROP SCHEMA security, evil CASCADE;
DROP OWNED BY regress_it_owner, regress_it_member, regress_it_evil;
DROP ROLE regress_it_owner, regress_it_writer, regress_it_reader, regress_it_evil, regress_it_member;
CALL pg_temp.no_rows('pg_temp.leftovers()');
