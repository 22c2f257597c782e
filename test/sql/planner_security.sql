-- Plain queries under row security and security barriers: entries are compared only by what is leakproof, policies are evaluated first, and
-- the answers are those without index tables.
SET client_min_messages = warning;
CREATE SCHEMA planner_security;
SET search_path = planner_security;
CREATE ROLE tenant_reader;
CREATE ROLE tenant_owner;
GRANT USAGE, CREATE ON SCHEMA planner_security TO tenant_reader, tenant_owner;

-- What rows of other tenants have makes casts and divisions fail, and must never be seen by a function of the user.
CREATE TABLE account (id int PRIMARY KEY, owner text, note text, doc jsonb);
CREATE TABLE part (LIKE account INCLUDING INDEXES) PARTITION BY HASH (id);
SELECT format('CREATE TABLE part%s PARTITION OF part FOR VALUES WITH (MODULUS 4, REMAINDER %s)', i, i) FROM generate_series(0, 3) i \gexec
CREATE FUNCTION document(id int) RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_build_object('tenant', tenant, 'town', 't' || id % 7, 'secret', tenant || '-' || id, 'n', id % 5, 'at', '2026-01-0' || 1 + id % 9,
		'amount', CASE tenant WHEN 'a' THEN 1 + id % 4 ELSE 0 END, 'born', CASE tenant WHEN 'a' THEN '2000-01-01' ELSE 'unknown' END)
	FROM (VALUES ((ARRAY['a', 'b', 'c'])[1 + id % 3])) t (tenant)
$$;
INSERT INTO account SELECT i, 'tenant_' || (ARRAY['reader', 'owner', 'other'])[1 + i % 3], 'note ' || i, document(i) FROM generate_series(1, 210) i;
INSERT INTO part SELECT * FROM account;
CREATE TABLE member (tenant text, login name);
INSERT INTO member VALUES ('a', 'tenant_reader'), ('b', 'tenant_owner');
SELECT indextable.create(t || '_town', t, ARRAY['town'], include => ARRAY['tenant', 'secret', 'amount::int']), indextable.create(t || '_tenant', t, ARRAY['tenant', 'town']),
	indextable.create(t || '_n', t, ARRAY['n::numeric']), indextable.create(t || '_amount', t, ARRAY['amount::int']), indextable.create(t || '_at', t, ARRAY['at::date'])
FROM unnest('{account,part}'::text[]) t;
ANALYZE;
CREATE FUNCTION leak(text) RETURNS boolean LANGUAGE plpgsql STABLE COST 0.0001 AS $$
BEGIN
	PERFORM set_config('t.seen', current_setting('t.seen') || coalesce($1, '~') || ' ', false);
	RETURN true;
END $$;
CREATE FUNCTION volatile_leak(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS $$ BEGIN RETURN leak($1); END $$;
GRANT SELECT, UPDATE, DELETE ON account, part TO tenant_reader;
GRANT SELECT ON member TO tenant_reader, tenant_owner;
SET t.tenant = 'a';

-- one_way: what a query answers, and what its functions have seen of rows of other tenants
CREATE FUNCTION one_way(query text, way text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r record; answer text := '';
BEGIN
	PERFORM set_config('t.seen', '', false), set_config('indextable.planner', way, false);
	BEGIN
		IF query ~ '^(UPDATE|DELETE)' THEN
			EXECUTE query INTO answer;
			RAISE EXCEPTION USING errcode = 'TEST0', message = concat(answer, ' ' || substring(current_setting('t.seen') FROM '[b-z]-\d+|~'));
		END IF;
		FOR r IN EXECUTE query LOOP answer := answer || r::text; END LOOP;
	EXCEPTION WHEN OTHERS THEN answer := sqlstate || ' ' || sqlerrm;
	END;
	SET indextable.planner = off;
	RETURN answer || coalesce(' seen: ' || substring(current_setting('t.seen') FROM '[b-z]-\d+|~'), '');
END $$;
-- served: which index tables a query uses, and how its answers differ
CREATE FUNCTION served(query text) RETURNS TABLE (searched text, difference text) LANGUAGE plpgsql AS $$
DECLARE native text := one_way(query, 'off'); way text; answer text;
BEGIN
	PERFORM set_config('indextable.planner', 'force', false);
	SELECT string_agg(CASE e.reason WHEN 'searched' THEN e.index_table::text ELSE 'whole' END, ', ' ORDER BY e.reason DESC) INTO searched FROM indextable.explain(query) e WHERE e.used;
	FOREACH way IN ARRAY '{force,fallback,on}'::text[] LOOP
		answer := one_way(query, way);
		IF answer IS DISTINCT FROM native THEN difference := concat_ws(' | ', difference, way || ': ' || left(answer, 100) || ' instead of ' || left(native, 100)); END IF;
	END LOOP;
	difference := concat_ws(' | ', difference, substring(native FROM 'seen.*'));
	RETURN NEXT;
END $$;
CREATE TABLE query (q text);
INSERT INTO query VALUES
	('SELECT id, note FROM t WHERE doc ->> ''town'' = ''t1'' ORDER BY id'),
	('SELECT id FROM t WHERE doc ->> ''town'' = ''t1'' AND leak(doc ->> ''secret'') ORDER BY id'),
	('SELECT id FROM t WHERE doc ->> ''town'' IN (''t1'', ''t2'') AND volatile_leak(doc ->> ''secret'') ORDER BY id'),
	('SELECT count(*) FROM t WHERE doc ->> ''town'' = ''t1'' AND leak(doc ->> ''secret'')'),
	('SELECT count(*) FROM t WHERE doc ->> ''town'' = ''t1'' AND random() >= 0'),
	('SELECT id FROM t WHERE doc ->> ''town'' = ''t3'' AND 12 / (doc ->> ''amount'')::int > 2 ORDER BY id'),
	('SELECT id, (doc ->> ''born'')::date FROM t WHERE doc ->> ''town'' > ''t4'' AND (doc ->> ''born'')::date < ''2026-01-01'' ORDER BY id'),
	('SELECT id FROM t WHERE (doc ->> ''n'')::numeric = 3 AND leak(doc ->> ''secret'') ORDER BY id'),
	('SELECT id FROM t WHERE (doc ->> ''amount'')::int = 2 AND leak((doc ->> ''secret'') || note) ORDER BY id'),
	('SELECT id FROM t WHERE (doc ->> ''at'')::date = ''2026-01-03'' AND leak(doc ->> ''secret'') ORDER BY id'),
	('SELECT doc ->> ''town'', id FROM t WHERE leak(doc ->> ''secret'') ORDER BY doc ->> ''town'', id LIMIT 5'),
	('SELECT doc ->> ''town'', sum((doc ->> ''amount'')::int), min(doc ->> ''secret'') FROM t WHERE doc ->> ''town'' < ''t3'' GROUP BY 1 ORDER BY 1'),
	('SELECT id FROM t WHERE (doc ->> ''town'' = ''t1'' OR doc ->> ''town'' = ''t5'') AND EXISTS (SELECT FROM member m WHERE leak(doc ->> ''secret'')) ORDER BY id'),
	('SELECT v.x, id FROM (VALUES (''t1''), (''t6'')) v (x) JOIN t ON doc ->> ''town'' = v.x AND leak(doc ->> ''secret'') ORDER BY 1, 2'),
	('SELECT v.x, (SELECT count(*) FROM t WHERE doc ->> ''town'' = v.x AND leak(doc ->> ''secret'')) FROM (VALUES (''t1''), (''t6'')) v (x) ORDER BY 1'),
	('SELECT v.x, id FROM (VALUES (''t1''), (''t9'')) v (x) LEFT JOIN t ON doc ->> ''town'' = v.x AND 10 / (doc ->> ''amount'')::int > 2 ORDER BY 1, 2'),
	('SELECT a.id, b.id FROM t a JOIN t b ON a.doc ->> ''town'' = b.doc ->> ''town'' WHERE a.id < 9 AND leak(b.doc ->> ''secret'') ORDER BY 1, 2'),
	('SELECT id FROM t WHERE doc ->> ''town'' = ''t1'' AND leak(doc ->> ''secret'') ORDER BY id FOR UPDATE'),
	('WITH u AS (SELECT id FROM t WHERE doc ->> ''town'' >= ''t1'' AND doc ->> ''town'' < ''t2'' AND leak(doc ->> ''secret'')) SELECT count(*) FROM u'),
	('UPDATE t SET note = ''changed'' WHERE doc ->> ''town'' = ''t1'' AND leak(doc ->> ''secret'') AND 8 / (doc ->> ''amount'')::int > 2 RETURNING (SELECT count(*) FROM t WHERE doc ->> ''town'' = ''t1'')'),
	('DELETE FROM t WHERE doc ->> ''town'' = ''t1'' AND leak(doc ->> ''secret'') RETURNING (SELECT count(*) FROM t WHERE doc ->> ''town'' = ''t1'')');
GRANT SELECT ON query TO tenant_reader, tenant_owner;
CREATE FUNCTION all_served(of text, OUT queries bigint, OUT searched bigint, OUT whole bigint, OUT differences text) LANGUAGE sql AS $$
	SELECT count(*), count(s.searched) FILTER (WHERE s.searched !~ 'whole'), count(s.searched) FILTER (WHERE s.searched ~ 'whole'), string_agg(q || ': ' || nullif(s.difference, ''), E'\n')
	FROM query, served(regexp_replace(q, '(FROM|JOIN|UPDATE) t\M', '\1 ' || of, 'g')) s
$$;

-- ---- policies: each is applied to both tables, and all queries are run
CREATE PROCEDURE under(VARIADIC policies text[] DEFAULT '{}') LANGUAGE plpgsql AS $$
DECLARE name text; t text;
BEGIN
	FOREACH t IN ARRAY '{account,part}'::text[] LOOP
		FOR name IN SELECT polname FROM pg_policy WHERE polrelid = t::regclass LOOP EXECUTE format('DROP POLICY %I ON %s', name, t); END LOOP;
		FOR i IN 1 .. cardinality(policies) LOOP EXECUTE format('CREATE POLICY p%s ON %s %s', i, t, replace(policies[i], '@', t)); END LOOP;
		EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', t);
	END LOOP;
END $$;
CALL under('USING (owner = current_user)');
SET ROLE tenant_reader;
\pset format unaligned
\pset fieldsep ' | '
SELECT q, s.* FROM query, served(regexp_replace(q, '(FROM|JOIN|UPDATE) t\M', '\1 account', 'g')) s;
\pset format aligned
\pset fieldsep '|'
SELECT * FROM all_served('part');
SELECT index_table, used, reason FROM indextable.explain('SELECT id FROM account WHERE (doc ->> ''n'')::numeric = 3 AND doc ->> ''town'' = ''t1''');
RESET ROLE;
-- what applications do: the policy itself is searched by
CALL under('USING (doc ->> ''tenant'' = current_setting(''t.tenant''))');
SET ROLE tenant_reader;
SELECT t, a.* FROM unnest('{account,part}'::text[]) t, all_served(t) a;
SELECT s.* FROM served('SELECT count(*) FROM account') s;
SELECT s.* FROM served('SELECT id FROM part WHERE leak(doc ->> ''secret'') ORDER BY id') s;
RESET ROLE;
-- a policy may use what is not leakproof, which is then the first that is evaluated
CALL under('USING ((doc ->> ''n'')::numeric = 3 AND doc ->> ''tenant'' = ''a'')');
SET ROLE tenant_reader;
SELECT t, a.* FROM unnest('{account,part}'::text[]) t, all_served(t) a;
SELECT s.* FROM served('SELECT id FROM account WHERE leak(doc ->> ''secret'') ORDER BY id') s;
RESET ROLE;
-- subqueries, several policies, those with functions that the user must not see through, and none that lets a row through
CALL under('USING (doc ->> ''tenant'' IN (SELECT tenant FROM member WHERE login = current_user))');
SET ROLE tenant_reader;
SELECT t, a.* FROM unnest('{account,part}'::text[]) t, all_served(t) a;
RESET ROLE;
CALL under('USING (EXISTS (SELECT FROM member WHERE login = current_user AND tenant = doc ->> ''tenant''))', 'AS RESTRICTIVE USING (id % 2 = 0)');
SET ROLE tenant_reader;
SELECT t, a.* FROM unnest('{account,part}'::text[]) t, all_served(t) a;
RESET ROLE;
CALL under('USING (doc ->> ''tenant'' = (SELECT tenant FROM member WHERE login = current_user))', 'USING (false)', 'AS RESTRICTIVE USING (owner <> ''x'')');
SET ROLE tenant_reader;
SELECT t, a.* FROM unnest('{account,part}'::text[]) t, all_served(t) a;
RESET ROLE;
CALL under('USING (id > 0)', 'AS RESTRICTIVE USING (owner LIKE ''%reader'')', 'AS RESTRICTIVE USING (100 / (doc ->> ''amount'')::int > 0)');
SET ROLE tenant_reader;
SELECT t, a.* FROM unnest('{account,part}'::text[]) t, all_served(t) a;
RESET ROLE;
CALL under('USING (current_setting(''t.tenant'') = ''a'' AND owner = ''tenant_reader'')');
SET ROLE tenant_reader;
SELECT t, a.* FROM unnest('{account,part}'::text[]) t, all_served(t) a;
SET t.tenant = 'b';
SELECT t, a.* FROM unnest('{account,part}'::text[]) t, all_served(t) a;
SET t.tenant = 'a';
RESET ROLE;
CALL under();
SET ROLE tenant_reader;
SELECT t, a.queries, a.differences FROM unnest('{account,part}'::text[]) t, all_served(t) a;
RESET ROLE;

-- ---- EXPLAIN ANALYZE shows of what only hidden rows satisfy what it shows of what no row satisfies
CALL under('USING (owner = current_user)');
CREATE FUNCTION shown(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	SET LOCAL indextable.planner = force;
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP RETURN NEXT line; END LOOP;
END $$;
CREATE TABLE hidden (q text);
INSERT INTO hidden VALUES
	('SELECT id FROM t WHERE (doc ->> ''amount'')::int = @n'),
	('SELECT count(*) FROM t WHERE (doc ->> ''amount'')::int = @n'),
	('SELECT id FROM t WHERE (doc ->> ''amount'')::int IN (@n, 8) AND id > 0'),
	('SELECT id FROM t WHERE (doc ->> ''amount'')::int >= @n AND (doc ->> ''amount'')::int <= @n'),
	('SELECT id FROM t WHERE doc ->> ''tenant'' = ''@t'' AND (doc ->> ''amount'')::int = @n'),
	('SELECT id FROM t WHERE doc ->> ''tenant'' = ''@t'' OR (doc ->> ''amount'')::int = @n'),
	('SELECT id FROM t WHERE doc ->> ''tenant'' = ''@t'' ORDER BY doc ->> ''town'' LIMIT 3'),
	('SELECT id FROM t WHERE doc ->> ''tenant'' IN (''@t'', ''x'') ORDER BY doc ->> ''town'' LIMIT 3'),
	('SELECT DISTINCT doc ->> ''town'' FROM t WHERE doc ->> ''tenant'' = ''@t'''),
	('SELECT id FROM (VALUES (@n)) v (x) JOIN t ON (doc ->> ''amount'')::int = v.x'),
	('SELECT id FROM t WHERE (doc ->> ''amount'')::int = @n FOR UPDATE');
GRANT SELECT ON hidden TO tenant_reader;
SET ROLE tenant_reader;
SELECT t, q, count FROM unnest('{account,part}'::text[]) t, hidden, LATERAL (SELECT replace(q, ' t ', ' ' || t || ' ')) one (q1), LATERAL (
	SELECT count FROM shown(replace(replace(q1, '@n', '0'), '@t', 'b')) l, substring(l FROM '(?:Removed|Entries|Fetche[sd]|Searches).*') count
	EXCEPT ALL SELECT count FROM shown(replace(replace(q1, '@n', '7'), '@t', 'y')) l, substring(l FROM '(?:Removed|Entries|Fetche[sd]|Searches).*') count) x;
SELECT regexp_replace(shown, ' \(actual.*', '') AS shown FROM shown('SELECT id FROM account WHERE doc ->> ''tenant'' = ''b''');
RESET ROLE;
-- nor does the other search of two that are merged
CREATE TABLE both_hidden AS SELECT i AS id, 'x' AS owner, jsonb_build_object('dept', i % 5, 'salary', i % 4) AS doc FROM generate_series(1, 3000) i;
ALTER TABLE both_hidden ADD PRIMARY KEY (id);
SELECT indextable.create('hidden_dept', 'both_hidden', '{dept}'), indextable.create('hidden_salary', 'both_hidden', '{salary::int}') \gset
ALTER TABLE both_hidden ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON both_hidden USING (owner = current_user);
GRANT SELECT ON both_hidden TO tenant_reader;
VACUUM ANALYZE both_hidden, hidden_dept, hidden_salary;
SET ROLE tenant_reader;
SELECT regexp_replace(shown, '(actual rows=\d+)(\.00)?', '\1') AS shown FROM shown('SELECT count(*) FROM both_hidden WHERE doc ->> ''dept'' = ''1'' AND (doc ->> ''salary'')::int = 3');
RESET ROLE;
DROP TABLE both_hidden;
-- where no policy applies it does
SELECT regexp_replace(regexp_replace(shown, ' \(actual.*', ''), '\d+', 'N') AS shown FROM shown('SELECT id FROM account WHERE doc ->> ''tenant'' = ''b'' AND note = ''x''');
DROP FUNCTION shown;

-- ---- kept plans, roles, and policies that change
CALL under('USING (owner = current_user)');
ALTER TABLE account OWNER TO tenant_owner;
SET plan_cache_mode = force_generic_plan;

CREATE FUNCTION kept(role name) RETURNS TABLE (way text, answer text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SET ROLE %I', role);
	FOREACH way IN ARRAY '{off,force,fallback}'::text[] LOOP
		PERFORM set_config('indextable.planner', way, false), set_config('t.seen', '', false);
		answer := town_of();
		answer := answer || ' ' || (SELECT string_agg(DISTINCT left(x, 1), '' ORDER BY left(x, 1)) FROM unnest(string_to_array(rtrim(current_setting('t.seen')), ' ')) x);
		RETURN NEXT;
	END LOOP;
	RESET ROLE;
END $$;
CREATE FUNCTION town_of() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT concat_ws(' ', count(*), count(note), min(doc ->> 'tenant'), max(doc ->> 'tenant')) FROM account WHERE doc ->> 'town' = 't1' AND leak(doc ->> 'secret'));
END $$;
SELECT 'reader' AS who, way, answer FROM kept('tenant_reader') UNION ALL SELECT 'owner', way, answer FROM kept('tenant_owner') UNION ALL SELECT 'superuser', way, answer FROM kept('postgres');
ALTER TABLE account FORCE ROW LEVEL SECURITY;
SELECT 'owner, forced' AS who, way, answer FROM kept('tenant_owner') UNION ALL SELECT 'superuser', way, answer FROM kept('postgres');
DROP POLICY p1 ON account;
CREATE POLICY p2 ON account USING (doc ->> 'tenant' <> 'c');
SELECT 'reader, another policy' AS who, way, answer FROM kept('tenant_reader');
ALTER TABLE account DISABLE ROW LEVEL SECURITY;
SELECT 'reader, none' AS who, way, answer FROM kept('tenant_reader');
ALTER TABLE account ENABLE ROW LEVEL SECURITY;
-- (a plan that is kept takes no notice of this, with or without index tables)
ALTER ROLE tenant_reader BYPASSRLS;
DISCARD PLANS;
SELECT 'reader, exempt' AS who, way, answer FROM kept('tenant_reader');
ALTER ROLE tenant_reader NOBYPASSRLS;
DISCARD PLANS;
SELECT 'reader, no longer' AS who, way, answer FROM kept('tenant_reader');
ALTER TABLE account OWNER TO CURRENT_USER;
RESET plan_cache_mode;

-- ---- views: security barriers, one within another, and views that read as whoever asks
CALL under('USING (owner = current_user)');
ALTER TABLE account OWNER TO tenant_owner;
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM account WHERE doc ->> 'tenant' = 'a';
CREATE VIEW inner_barrier WITH (security_barrier) AS SELECT * FROM account WHERE doc ->> 'tenant' = 'a' AND 10 / (doc ->> 'amount')::int > 1;
CREATE VIEW outer_barrier WITH (security_barrier) AS SELECT id, note, doc FROM inner_barrier WHERE doc ->> 'town' = 't1' AND leak(doc ->> 'secret');
CREATE VIEW invoker WITH (security_invoker) AS SELECT * FROM account;
CREATE VIEW united WITH (security_invoker) AS SELECT * FROM account UNION ALL SELECT id + 1000, owner, note, doc FROM part;
CREATE VIEW united_barrier WITH (security_barrier) AS SELECT * FROM united;
GRANT SELECT, UPDATE, DELETE ON barrier, inner_barrier, outer_barrier, invoker, united, united_barrier TO tenant_reader;
SET ROLE tenant_reader;
SELECT v, a.* FROM unnest('{barrier,inner_barrier,outer_barrier,invoker}'::text[]) v, all_served(v) a;
SELECT v, count(*) AS queries, count(s.searched) AS used, string_agg(q || ': ' || nullif(s.difference, ''), E'\n') AS differences
	FROM unnest('{united,united_barrier}'::text[]) v, query, served(regexp_replace(q, '(FROM|JOIN) t\M', '\1 ' || v, 'g')) s
	WHERE q !~ '^(UPDATE|DELETE)|FOR UPDATE' GROUP BY v ORDER BY v;
RESET ROLE;

-- ---- functions that a user may not call are not called for him by entries: neither is a native plan started
CREATE ROLE tenant_caller;
GRANT USAGE ON SCHEMA planner_security TO tenant_caller;
CREATE TABLE called (id int PRIMARY KEY, doc jsonb);
INSERT INTO called SELECT i, jsonb_build_object('t', 't' || i, 'n', i % 5) FROM generate_series(1, 200) i;
SELECT indextable.create('called_u', 'called', ARRAY['(upper(doc ->> ''t'')) AS u']), indextable.create('called_n', 'called', '{n::int}', include => ARRAY['(upper(doc ->> ''t'')) AS u']),
	indextable.create('called_f', 'called', '{n::int,t}', filter => 'upper(doc ->> ''t'') = ''T5'''),
	indextable.create('called_t', 'called', '{n::int}', totals => '{count(*)}', filter => 'upper(doc ->> ''t'') <> ''T3''');
VACUUM ANALYZE called, called_u, called_n, called_f, called_t;
GRANT SELECT ON called TO tenant_caller;
CREATE TABLE calls (n serial, q text);
INSERT INTO calls (q) VALUES ('SELECT id FROM called WHERE upper(doc ->> ''t'') = ''T7'''), ('SELECT doc FROM called WHERE upper(doc ->> ''t'') = ''T7'''),
	('SELECT id FROM called WHERE upper(doc ->> ''t'') IN (''T7'', ''T8'') ORDER BY 1'), ('SELECT id FROM called WHERE upper(doc ->> ''t'') = ''T7'' OR upper(doc ->> ''t'') = ''T8'' ORDER BY 1'),
	('SELECT id FROM called ORDER BY upper(doc ->> ''t'') LIMIT 1'), ('SELECT upper(doc ->> ''t'') FROM called ORDER BY 1 LIMIT 1'), ('SELECT max(upper(doc ->> ''t'')) FROM called'),
	('SELECT count(DISTINCT upper(doc ->> ''t'')) FROM called'), ('SELECT min(upper(doc ->> ''t'')) FROM called WHERE (doc ->> ''n'')::int = 1'),
	('SELECT id FROM called WHERE upper(doc ->> ''t'') = ''T5'' AND (doc ->> ''n'')::int = 0'), ('SELECT count(*) FROM called WHERE upper(doc ->> ''t'') <> ''T3'' AND (doc ->> ''n'')::int = 3'),
	('SELECT count(*) FROM called WHERE (doc ->> ''n'')::int = 2'), ('SELECT id FROM called WHERE (doc ->> ''n'')::int = 2 ORDER BY 1 LIMIT 1');
CREATE FUNCTION call(q text, way text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text;
BEGIN
	PERFORM set_config('indextable.planner', way, true);
	EXECUTE q INTO answer;
	RETURN coalesce(answer, '~');
EXCEPTION WHEN insufficient_privilege THEN
	RETURN SQLERRM;
END $$;
CREATE FUNCTION is_served(q text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	SET LOCAL indextable.planner = force;
	FOR line IN EXECUTE 'EXPLAIN ' || q LOOP
		IF line ~ 'IndexTable' THEN RETURN true; END IF;
	END LOOP;
	RETURN false;
END $$;
GRANT SELECT ON calls TO tenant_caller;
SELECT n, is_served(q) FROM calls WHERE NOT is_served(q);
BEGIN;
SELECT format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f) FROM unnest('{pg_catalog.upper(text),pg_catalog.count()}'::text[]) f \gexec
SET LOCAL ROLE tenant_caller;
SELECT q, call(q, 'off') AS native, call(q, 'force') AS force FROM calls ORDER BY n;
RESET ROLE;
GRANT EXECUTE ON FUNCTION pg_catalog.upper(text), pg_catalog.count() TO tenant_caller;
SET LOCAL ROLE tenant_caller;
SELECT count(*) FROM calls WHERE call(q, 'off') <> call(q, 'force') OR call(q, 'force') ~ 'denied';
RESET ROLE;
-- a plan that is kept asks when it is executed
PREPARE one AS SELECT id FROM called WHERE upper(doc ->> 't') = $1;
SET LOCAL plan_cache_mode = force_generic_plan;
SET LOCAL indextable.planner = force;
EXECUTE one('T7');
SET LOCAL ROLE tenant_caller;
EXECUTE one('T7');
RESET ROLE;
REVOKE EXECUTE ON FUNCTION pg_catalog.upper(text) FROM tenant_caller;
SET LOCAL ROLE tenant_caller;
EXECUTE one('T7');
ROLLBACK;
DEALLOCATE one;
DROP SCHEMA planner_security CASCADE;
DROP ROLE tenant_reader;
DROP ROLE tenant_owner;
DROP ROLE tenant_caller;
