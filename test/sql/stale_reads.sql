-- Whose setting lets asynchronous index tables answer, and whose queries. Nothing is drained here: entries are those from
-- before the updates.
CREATE ROLE regress_it_alice;
CREATE ROLE regress_it_mallory;
SET client_min_messages = warning;
CREATE SCHEMA stale;
GRANT ALL ON SCHEMA stale TO regress_it_alice, regress_it_mallory;
SET search_path = stale;
SET ROLE regress_it_alice;
CREATE TABLE acl (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO acl SELECT i, jsonb_build_object('u', 'user' || i, 'role', 'none') FROM generate_series(2, 3000) i;
INSERT INTO acl VALUES (1, '{"u": "regress_it_mallory", "role": "admin"}');
SELECT indextable.create('acl_ix', 'acl', '{u, role}', maintenance => 'async') \gset
GRANT SELECT ON acl, acl_ix TO regress_it_mallory;
RESET ROLE;
VACUUM ANALYZE acl, acl_ix;
SET ROLE regress_it_alice;
CREATE FUNCTION is_admin(name) RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	RETURN EXISTS (SELECT FROM stale.acl WHERE doc ->> 'u' = $1 AND doc ->> 'role' = 'admin');
-- this one says itself that it may be stale
CREATE FUNCTION was_admin(name) RETURNS boolean LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	SET indextable.stale_reads = on
	AS $$BEGIN RETURN EXISTS (SELECT FROM stale.acl WHERE doc ->> 'u' = $1 AND doc ->> 'role' = 'admin'); END$$;
-- as the caller
CREATE FUNCTION seems_admin(name) RETURNS boolean LANGUAGE plpgsql STABLE
	AS $$BEGIN RETURN EXISTS (SELECT FROM stale.acl WHERE doc ->> 'u' = $1 AND doc ->> 'role' = 'admin'); END$$;
CREATE FUNCTION admins() RETURNS refcursor LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS $$DECLARE c refcursor := 'admins'; BEGIN OPEN c FOR SELECT doc ->> 'u' FROM stale.acl WHERE doc ->> 'u' LIKE 'regress%' AND doc ->> 'role' = 'admin'; RETURN c; END$$;
CREATE VIEW users AS SELECT doc ->> 'u' AS u, doc ->> 'role' AS role FROM acl;
CREATE VIEW users_invoker WITH (security_invoker) AS SELECT doc ->> 'u' AS u, doc ->> 'role' AS role FROM acl;
CREATE VIEW users_barrier WITH (security_barrier) AS SELECT doc ->> 'u' AS u, doc ->> 'role' AS role FROM acl;
CREATE TABLE docs (id int PRIMARY KEY, t text);
INSERT INTO docs VALUES (1, 'secret');
ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON docs USING (EXISTS (SELECT FROM stale.acl WHERE doc ->> 'u' = current_user AND doc ->> 'role' = 'admin'));
GRANT SELECT ON docs, users, users_invoker, users_barrier TO regress_it_mallory;
UPDATE acl SET doc = doc || '{"role": "none"}' WHERE id = 1;
RESET ROLE;

-- ---- who has set it gets a stale answer, in queries and in functions that run as the caller; functions, policies, views and
-- cursors of others do not give one
\set ask 'SELECT count(*) FROM acl WHERE doc ->> $$u$$ = $$regress_it_mallory$$ AND doc ->> $$role$$ = $$admin$$'
SET ROLE regress_it_mallory;
SET indextable.stale_reads = on;
:ask;
SELECT is_admin(current_user), was_admin(current_user), seems_admin(current_user);
SELECT * FROM docs;
SELECT role FROM users WHERE u = 'regress_it_mallory';
SELECT role FROM users_invoker WHERE u = 'regress_it_mallory';
SELECT role FROM users_barrier WHERE u = 'regress_it_mallory';
BEGIN;
SELECT admins();
FETCH admins;
COMMIT;
-- a policy in any part of a query
SELECT count(*) FROM (SELECT doc ->> 'u' FROM acl WHERE doc ->> 'u' = 'regress_it_mallory' AND doc ->> 'role' = 'admin' OFFSET 0) a, (VALUES (1)) v;
SELECT count(*) FROM (SELECT doc ->> 'u' FROM acl WHERE doc ->> 'u' = 'regress_it_mallory' AND doc ->> 'role' = 'admin' OFFSET 0) a, docs;
SELECT reason FROM indextable.explain('SELECT t FROM stale.docs');
SELECT reason FROM indextable.explain('SELECT role FROM stale.users WHERE u = $$a$$');

-- ---- kept plans obey when they are executed
SET plan_cache_mode = force_generic_plan;
PREPARE ask AS :ask;
EXECUTE ask;
SELECT seems_admin(current_user);
SET indextable.stale_reads = off;
EXECUTE ask;
SELECT seems_admin(current_user);
SET indextable.stale_reads = on;
EXECUTE ask;
SELECT seems_admin(current_user);
BEGIN;
-- (a cursor's rows are those of the time when it is opened)
DECLARE c CURSOR FOR :ask;
RESET indextable.stale_reads;
FETCH c;
ROLLBACK;
-- another user has not set it, whom the plan is kept for, too
RESET ROLE;
GRANT regress_it_mallory TO regress_it_alice;
SET SESSION AUTHORIZATION regress_it_alice;
SET indextable.stale_reads = on;
SELECT seems_admin('regress_it_mallory');
SET ROLE regress_it_mallory;
SELECT current_setting('indextable.stale_reads'), seems_admin('regress_it_mallory');
SET indextable.stale_reads = on;
SELECT seems_admin('regress_it_mallory');
RESET ROLE;
SELECT seems_admin('regress_it_mallory');
EXECUTE ask;
RESET SESSION AUTHORIZATION;
REVOKE regress_it_mallory FROM regress_it_alice;
DEALLOCATE ask;
RESET plan_cache_mode;

-- ---- the owner of the fact table decides who may have stale answers, by the right to read the index table
SET ROLE regress_it_alice;
REVOKE SELECT ON acl_ix FROM regress_it_mallory;
SET ROLE regress_it_mallory;
SET indextable.stale_reads = on;
:ask;
SELECT seems_admin(current_user);
SELECT reason FROM indextable.explain($$SELECT doc ->> 'role' FROM stale.acl WHERE doc ->> 'u' = 'a'$$);
RESET ROLE;
GRANT SELECT ON acl_ix TO regress_it_mallory;

-- ---- foreign keys are checked exactly
SET ROLE regress_it_alice;
CREATE TABLE parent (id int PRIMARY KEY, doc jsonb, code int UNIQUE);
INSERT INTO parent SELECT i, jsonb_build_object('text', repeat('x', 200)), i FROM generate_series(1, 1000) i;
CREATE TABLE child (code int);
INSERT INTO child VALUES (7);
SELECT indextable.create('parent_code', 'parent', '{@code}', maintenance => 'async') \gset
UPDATE parent SET code = 1007 WHERE id = 7;
SET indextable.stale_reads = on;
SET indextable.planner = force;
ALTER TABLE child ADD FOREIGN KEY (code) REFERENCES parent (code);
ALTER TABLE child ADD FOREIGN KEY (code) REFERENCES parent (code) NOT VALID;
ALTER TABLE child VALIDATE CONSTRAINT child_code_fkey;
-- (the same query by hand)
SELECT count(*) FROM ONLY child c LEFT JOIN ONLY parent p ON p.code = c.code WHERE p.code IS NULL;
RESET indextable.planner;
RESET indextable.stale_reads;
RESET ROLE;

-- ---- ALTER ROLE … SET is the role's own choice, and so are the client's options. A session may begin without the library,
-- and load it in a function of somebody else.
SET ROLE regress_it_alice;
CREATE FUNCTION load() RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	AS $$SELECT FROM indextable.explain(NULL)$$;
RESET ROLE;
ALTER ROLE regress_it_mallory LOGIN;
SELECT current_user AS superuser, current_database() AS db \gset
\c - regress_it_mallory
SET search_path = stale;
SET indextable.stale_reads = on;
SELECT load();
:ask;
SELECT is_admin(current_user), seems_admin(current_user);
\c - :superuser
ALTER ROLE regress_it_mallory SET indextable.stale_reads = on;
\c - regress_it_mallory
SET search_path = stale;
SELECT load();
:ask;
SELECT is_admin(current_user), seems_admin(current_user);
SET indextable.stale_reads = off;
:ask;
RESET indextable.stale_reads;
:ask;
\c - :superuser
ALTER ROLE regress_it_mallory RESET indextable.stale_reads;
\set client_options 'dbname=' :db ' user=regress_it_mallory options=-cindextable.stale_reads=on'
\c :client_options
SET search_path = stale;
SELECT load();
:ask;
SELECT is_admin(current_user), seems_admin(current_user);
\set client_options 'dbname=' :db ' user=' :superuser ' options='
\c :client_options

SET client_min_messages = warning;
DROP SCHEMA stale CASCADE;
DROP ROLE regress_it_alice, regress_it_mallory;
