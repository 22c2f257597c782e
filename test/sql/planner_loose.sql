-- Of each group of entries only the first one is read, or the last one, where the answer depends on no others.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/planner.psql
\set ECHO none
CREATE SCHEMA planner_loose;
SET search_path = planner_loose;
SET indextable.advice = off;
CREATE COLLATION planner_loose.folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE plain (id int, region text, doc jsonb NOT NULL, folded text COLLATE planner_loose.folded NOT NULL, PRIMARY KEY (id, region));
CREATE TABLE part (LIKE plain INCLUDING ALL) PARTITION BY LIST (region);
CREATE TABLE part_in_a PARTITION OF part FOR VALUES IN ('a');
CREATE TABLE part_in_b PARTITION OF part DEFAULT;
CREATE FUNCTION document(i int) RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_build_object('kind', 'k' || (i * 7 % 5), 'town', 't' || (i * 11 % 23), 'n', i * 37 % 101, 'amount', (i % 4)::numeric(9, 2), 'live', i % 3 = 0,
		'long', CASE i % 3 WHEN 0 THEN repeat('long', 300) END, 'seldom', CASE WHEN i % 10 = 0 THEN i % 20 END, 'tags', jsonb_build_array('a', 'b' || i % 3)) $$;
INSERT INTO plain SELECT i, chr(97 + i % 3), document(i), CASE i % 4 WHEN 0 THEN 'x' WHEN 1 THEN 'X' ELSE 'y' END FROM generate_series(1, 3000) i;
INSERT INTO part SELECT * FROM plain;
SELECT indextable.create(t || name, t::regclass, spec::text[], include => include::text[], filter => filter) FROM (VALUES ('plain'), ('part')) t (t),
	(VALUES ('_ktn', '{kind, town, n::int}', NULL, NULL), ('_kn', '{kind, n::int}', NULL, NULL), ('_a', '{amount::numeric, n::int}', NULL, NULL), ('_s', '{seldom::int}', NULL, NULL),
		('_f', '{@folded, n::int}', NULL, NULL), ('_r', '{@region, n::int}', NULL, NULL), ('_live', '{town}', NULL, $$(doc ->> 'live')::boolean$$),
		('_tags', '{tags[*], kind}', NULL, NULL)) i (name, spec, include, filter) ORDER BY 1 \g /dev/null
ANALYZE;
SET cpu_tuple_cost = 1;    -- to read many entries costs more than to search for a few
-- the ends of groups have entries of rows that are gone, that came later, and that were moved to other groups
CREATE PROCEDURE change(t text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('UPDATE %s SET doc = doc || ''{"n": 50}'' WHERE (doc ->> ''n'')::int IN (0, 1, 99, 100)', t);
	EXECUTE format('DELETE FROM %s WHERE doc ->> ''kind'' = ''k2'' OR id %% 50 = 0', t);
	EXECUTE format('UPDATE %s SET doc = doc || ''{"kind": "k9", "town": "t9"}'' WHERE doc ->> ''kind'' = ''k0''', t);
	EXECUTE format('INSERT INTO %s VALUES (9001, ''a'', ''{"kind": "", "town": "", "n": -1, "amount": 1.0, "tags": []}'', ''Y'')', t);
	-- groups of which some or all rows lack what the greatest is asked for
	EXECUTE format('INSERT INTO %s VALUES (9002, ''a'', ''{"kind": "k1", "town": "t3"}'', ''Y''), (9003, ''b'', ''{"kind": "k8", "town": "t3"}'', ''z''), (9004, ''d'', ''{"n": 7}'', ''z''), (9005, ''e'', ''{}'', ''z'')', t);
END $$;
-- what is read of each group, in a plan that has to read index tables
CREATE FUNCTION pg_temp.key(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
	PERFORM set_config('indextable.planner', 'force', true);
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	PERFORM set_config('indextable.planner', 'off', true);
	RETURN (SELECT string_agg(k #>> '{}', ' ') FROM jsonb_path_query(plan, 'strict $.**."Loose Key"[*]', silent => true) k);
END $$;
CREATE TABLE queries (key text, scans text, query text, ordered boolean DEFAULT false);
INSERT INTO queries VALUES
	('kind', NULL, $$SELECT DISTINCT doc ->> 'kind' FROM fact$$),
	(NULL, NULL, $$SELECT DISTINCT upper(doc ->> 'kind'), doc ->> 'kind' FROM fact$$),
	('kind town', 'only fact_ktn', $$SELECT DISTINCT doc ->> 'town', doc ->> 'kind' FROM fact$$),
	(NULL, 'only fact_ktn', $$SELECT DISTINCT doc ->> 'town', doc ->> 'kind', (doc ->> 'n')::int FROM fact$$),
	('town', 'only fact_ktn', $$SELECT DISTINCT doc ->> 'town' FROM fact WHERE doc ->> 'kind' = 'k1'$$),
	('town', 'only fact_ktn', $$SELECT DISTINCT doc ->> 'town', doc ->> 'kind' FROM fact WHERE doc ->> 'kind' = 'k1' AND doc ->> 'town' > 't3'$$),
	('town', 'only fact_ktn', $$SELECT DISTINCT doc ->> 'town' FROM fact WHERE doc ->> 'kind' = 'k1' AND doc ->> 'town' BETWEEN 't11' AND 't2' AND doc ->> 'town' NOT LIKE '%3'$$),
	('town', 'only fact_live', $$SELECT DISTINCT doc ->> 'town' FROM fact WHERE (doc ->> 'live')::boolean$$),
	(NULL, NULL, $$SELECT DISTINCT doc ->> 'town' FROM fact$$),
	(NULL, NULL, $$SELECT DISTINCT doc ->> 'kind' FROM fact WHERE (doc ->> 'n')::int > 30$$),
	(NULL, NULL, $$SELECT DISTINCT doc ->> 'kind' FROM fact WHERE doc ->> 'kind' IN ('k1', 'k3')$$),
	(NULL, NULL, $$SELECT DISTINCT doc ->> 'kind' FROM fact WHERE random() >= 0$$),
	('seldom', 'only fact_s', $$SELECT DISTINCT (doc ->> 'seldom')::int FROM fact$$),
	('seldom', 'only fact_s', $$SELECT DISTINCT (doc ->> 'seldom')::int FROM fact WHERE (doc ->> 'seldom')::int IS NOT NULL$$),
	('kind', 'only fact_tags', $$SELECT DISTINCT doc ->> 'kind' FROM fact WHERE doc -> 'tags' ? 'b1'$$),
	(NULL, NULL, $$SELECT DISTINCT doc ->> 'kind' FROM fact WHERE doc -> 'tags' ?| '{b1,b2}'$$),
	('region', 'only fact_r', $$SELECT DISTINCT region FROM fact$$),
	('folded', NULL, $$SELECT count(*) FROM (SELECT DISTINCT folded FROM fact) s$$),
	(NULL, NULL, $$SELECT DISTINCT folded COLLATE "C" FROM fact$$),
	(NULL, NULL, $$SELECT count(*) FROM (SELECT DISTINCT folded FROM fact WHERE folded COLLATE "C" <> 'x') s$$),
	('amount', 'only fact_a', $$SELECT count(*) FROM (SELECT DISTINCT (doc ->> 'amount')::numeric FROM fact) s$$),
	(NULL, NULL, $$SELECT count(*) FROM (SELECT DISTINCT (doc ->> 'amount')::numeric FROM fact WHERE (doc ->> 'amount')::numeric::text <> '1.00') s$$),
	('kind', NULL, $$SELECT doc ->> 'kind' FROM fact GROUP BY 1$$),
	('kind', 'only fact_kn', $$SELECT doc ->> 'kind', min((doc ->> 'n')::int) FROM fact GROUP BY 1$$),
	('kind', 'only fact_kn', $$SELECT doc ->> 'kind', max((doc ->> 'n')::int) FROM fact GROUP BY 1 HAVING max((doc ->> 'n')::int) > 98$$),
	('kind', 'only fact_kn', $$SELECT doc ->> 'kind', max((doc ->> 'n')::int) - min((doc ->> 'n')::int), min(doc ->> 'kind') FROM fact GROUP BY 1$$),
	('kind town', 'only fact_ktn', $$SELECT doc ->> 'kind', max((doc ->> 'n')::int), min((doc ->> 'n')::int) FROM fact GROUP BY 1, doc ->> 'town'$$),
	('kind', 'only fact_ktn', $$SELECT doc ->> 'kind', max(doc ->> 'town') FROM fact WHERE doc ->> 'kind' >= 'k1' GROUP BY 1$$),
	(NULL, NULL, $$SELECT doc ->> 'kind', max(doc ->> 'town' COLLATE "C") FROM fact GROUP BY 1$$),
	(NULL, NULL, $$SELECT doc ->> 'kind', max((doc ->> 'n')::int) FILTER (WHERE id > 5) FROM fact GROUP BY 1$$),
	(NULL, NULL, $$SELECT doc ->> 'kind', max((doc ->> 'n')::int), count(*) FROM fact GROUP BY 1$$),
	(NULL, NULL, $$SELECT doc ->> 'kind', max((doc ->> 'n')::int), max(doc ->> 'town') FROM fact GROUP BY 1$$),
	('kind', NULL, $$SELECT count(DISTINCT doc ->> 'kind'), min(doc ->> 'kind'), array_agg(DISTINCT doc ->> 'kind') FROM fact$$),
	('kind town', 'only fact_ktn', $$SELECT doc ->> 'kind', count(DISTINCT doc ->> 'town'), string_agg(DISTINCT doc ->> 'town', ',' ORDER BY doc ->> 'town') FROM fact GROUP BY 1$$),
	('kind town', 'only fact_ktn', $$SELECT count(DISTINCT (doc ->> 'kind', doc ->> 'town')) FROM (SELECT DISTINCT doc ->> 'kind' AS k, doc ->> 'town' FROM fact) s (k, t), LATERAL (SELECT jsonb_build_object('kind', k, 'town', t)) d (doc)$$),
	(NULL, NULL, $$SELECT count(DISTINCT doc ->> 'kind'), count(DISTINCT (doc ->> 'n')::int) FROM fact WHERE doc ->> 'town' > ''$$);
INSERT INTO queries VALUES
	('kind', NULL, $$SELECT DISTINCT doc ->> 'kind' FROM fact ORDER BY 1 LIMIT 3$$, true),
	('kind', NULL, $$SELECT DISTINCT doc ->> 'kind' FROM fact WHERE doc ->> 'kind' < 'k9' ORDER BY 1 DESC$$, true),
	('kind', 'only fact_kn', $$SELECT doc ->> 'kind', max((doc ->> 'n')::int) FROM fact GROUP BY 1 ORDER BY 1$$, true),
	('kind', 'only fact_kn', $$SELECT doc ->> 'kind', min((doc ->> 'n')::int), max((doc ->> 'n')::int) FROM fact GROUP BY 1 ORDER BY 1 DESC$$, true),
	('kind town', 'fact_ktn', $$SELECT DISTINCT ON (doc ->> 'kind', doc ->> 'town') * FROM fact ORDER BY doc ->> 'kind', doc ->> 'town', (doc ->> 'n')::int, id, region$$, true),
	('kind', 'fact_kn', $$SELECT DISTINCT ON (doc ->> 'kind') id, doc, note FROM (SELECT *, region AS note FROM fact) s ORDER BY doc ->> 'kind', (doc ->> 'n')::int, id, region$$, true),
	('kind', 'fact_kn', $$SELECT DISTINCT ON (doc ->> 'kind') * FROM fact ORDER BY doc ->> 'kind', (doc ->> 'n')::int DESC, id DESC, region DESC LIMIT 3$$, true),
	('kind', 'only fact_kn', $$SELECT DISTINCT ON (doc ->> 'kind') id, (doc ->> 'n')::int AS n FROM fact ORDER BY doc ->> 'kind' DESC, (doc ->> 'n')::int, id$$, true),
	('kind', 'only fact_kn', $$SELECT DISTINCT ON (doc ->> 'kind') id, (doc ->> 'n')::int AS n FROM fact ORDER BY doc ->> 'kind' DESC, (doc ->> 'n')::int DESC, id DESC$$, true),
	(NULL, NULL, $$SELECT DISTINCT ON (doc ->> 'kind') id FROM fact ORDER BY doc ->> 'kind', (doc ->> 'n')::int DESC, id$$, true),
	(NULL, NULL, $$SELECT DISTINCT ON (doc ->> 'kind') id FROM fact WHERE doc ->> 'town' > '' ORDER BY doc ->> 'kind', id$$, true),
	('region', 'only fact_r', $$SELECT r, (SELECT max(m) FROM (SELECT region, max((doc ->> 'n')::int) FROM fact WHERE region >= r GROUP BY 1) s (g, m)) FROM unnest('{a,b,c,d}'::text[]) r$$, true);
CREATE TEMP VIEW wrong AS SELECT d AS difference FROM queries, pg_temp.both(query, scans, NULL, NULL, ordered) d
	UNION ALL SELECT format('%s: by %s', query, k) FROM queries, (VALUES ('plain'), ('part')) t (fact), pg_temp.key(regexp_replace(query, '\mfact', fact, 'g')) k
		WHERE k IS DISTINCT FROM key;
\set ECHO all
SELECT * FROM wrong;
-- own writes, and those of a savepoint that is rolled back
BEGIN;
CALL change('part');
SAVEPOINT s;
CALL change('plain');
SELECT difference AS wrong_before_rollback FROM wrong;
ROLLBACK TO s;
SELECT difference AS wrong_after_rollback FROM wrong;
CALL change('plain');
COMMIT;
SELECT difference AS still_wrong FROM wrong;
DROP TABLE plain, part;
-- groups read backward past entries with NULL, which conditions that are only checked leave out
CREATE TABLE gaps (id int PRIMARY KEY, x text NOT NULL, y text, n int, m text);
INSERT INTO gaps SELECT i, 'X' || i % 4, 'Y' || i % 4, nullif(i % 5, 3), 'm' || nullif(i % 5, 3) FROM generate_series(1, 2000) i;
SELECT indextable.create('gaps_xn', 'gaps', '{@x, @n}'), indextable.create('gaps_xm', 'gaps', '{@x, @m}'), indextable.create('gaps_ym', 'gaps', '{@y, @m}') \gset
ANALYZE gaps, gaps_xn, gaps_xm, gaps_ym;
SELECT d AS difference FROM unnest(ARRAY['SELECT DISTINCT x, n FROM gaps WHERE n IS NOT NULL ORDER BY x DESC, n DESC', 'SELECT DISTINCT x, m FROM gaps WHERE m IS NOT NULL ORDER BY x DESC, m DESC',
	'SELECT x, m, max(id) FROM gaps WHERE m > ''m1'' AND x > ''X1'' GROUP BY x, m ORDER BY x DESC, m DESC', 'SELECT DISTINCT ON (x, m) x, m, id FROM gaps WHERE m <> ''m1'' ORDER BY x DESC, m DESC, id DESC',
	'SELECT DISTINCT y, m FROM gaps WHERE y > ''Y0'' AND m <> ''m1'' ORDER BY y DESC, m DESC', 'SELECT y, m FROM gaps WHERE y > ''Y0'' AND m IS NOT NULL GROUP BY y, m ORDER BY y DESC, m DESC']) query,
	pg_temp.differences(query, NULL, NULL, NULL, true) d;
EXPLAIN (COSTS OFF) SELECT DISTINCT x, n FROM gaps WHERE n IS NOT NULL ORDER BY x DESC, n DESC;
-- nor may a constraint be believed of entries that are older
SELECT indextable.alter('gaps_xm', maintenance => 'async') \gset
UPDATE gaps SET m = '0' WHERE m IS NULL;
ALTER TABLE gaps ALTER m SET NOT NULL;
SET indextable.stale_reads = on;
SET indextable.planner = force;
SELECT count(*) FROM (SELECT x, m FROM gaps WHERE x > 'X0' GROUP BY 1, 2 ORDER BY 1 DESC, 2 DESC OFFSET 0) q;
RESET indextable.planner;
RESET indextable.stale_reads;
SET client_min_messages = warning;
DROP SCHEMA planner_loose CASCADE;
