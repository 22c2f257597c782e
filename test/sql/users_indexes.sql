-- Indexes that users put on index tables: plain SQL over the fact table finds entries by them. The answers are those without index
-- tables.
SET client_min_messages = warning;
CREATE SCHEMA usersindexes;
SET search_path = usersindexes;
CREATE EXTENSION pg_trgm;
LOAD 'indextable';
DO $$ BEGIN PERFORM FROM indextable.explain('SELECT 1'); END $$;
CREATE TABLE f (id int PRIMARY KEY, doc jsonb NOT NULL, since date);
CREATE TABLE parts (LIKE f INCLUDING ALL) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (1000);
CREATE TABLE parts_2 PARTITION OF parts DEFAULT;
INSERT INTO f SELECT i, jsonb_build_object('town', 't' || i % 40, 'name', 'Name' || i % 700 || CASE WHEN i % 3 = 0 THEN ' Ann' ELSE ' bob' END, 'age', i % 90, 'low', i % 50,
	'high', i % 50 + i % 7, 'from', '2024-01-01'::date + i % 200, 'till', '2024-01-02'::date + i % 200 + i % 5, 'body', 'word' || i % 60 || ' other' || i % 11), '2020-01-01'::date + i % 300 FROM generate_series(1, 3000) i;
INSERT INTO f VALUES (0, '{}'), (-1, '{"name": null, "town": "t1"}'), (-2, '{"name": ["ann"]}'), (-3, '{"name": {"x": "ann"}, "age": null}'), (-4, '{"name": 17}'), (-5, '{"name": ""}'), (-6, '{"body": "word7"}'), (-7, '[]'), (-8, '"Ann"');
INSERT INTO parts TABLE f;
SELECT indextable.create('f_town', 'f', '{town}', include => '{name, age::int, low::int, high::int, from::date, till::date, body, @since}'),
	indextable.create('parts_town', 'parts', '{town}', include => '{name, age::int}'),
	indextable.create('f_sparse', 'f', '{name}', sparse => true),
	indextable.create('f_old', 'f', '{town}', include => '{body}', filter => $$(doc ->> 'age')::int > 60$$),
	indextable.create('f_words', 'f', '{town}', include => ARRAY[$$(to_tsvector('simple', doc ->> 'body')) AS words$$]) \gset
CREATE INDEX town_name ON f_town USING gin (name gin_trgm_ops);
CREATE INDEX town_age ON f_town (age);
CREATE INDEX town_old ON f_town (low) WHERE age > 80;
CREATE INDEX town_days ON f_town USING gist (daterange("from", till));
CREATE INDEX town_span ON f_town USING gist (int4range(low, high));
CREATE INDEX town_body ON f_town USING gin (to_tsvector('simple', body));
CREATE INDEX town_since ON f_town USING brin (since) WITH (pages_per_range = 1);
CREATE INDEX town_hash ON f_town USING hash (body);
CREATE INDEX parts_name ON parts_town USING gin (name gin_trgm_ops);
CREATE INDEX sparse_name ON f_sparse USING gin (name gin_trgm_ops);
CREATE INDEX old_body ON f_old USING gin (body gin_trgm_ops);
CREATE INDEX words_words ON f_words USING gin (words);
VACUUM ANALYZE f, parts, f_town, parts_town, f_sparse, f_old, f_words;

-- what to create is said
CREATE TABLE told (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('told_name', 'told', '{name}'), indextable.create('told_c', 'told', ARRAY['name COLLATE "C"'], include => '{note}') \gset
SET indextable.planner = on;
SELECT index_table, reason FROM indextable.explain($$SELECT doc FROM told WHERE doc ->> 'name' ILIKE '%x%'$$);
SELECT indextable.create('told_more', 'told', '{town}', include => '{name, low::int, high::int, from::date, till::date, body, tags::jsonb}') \gset
CREATE INDEX told_c_name ON told_c USING gin ((name COLLATE "default") gin_trgm_ops);
-- proposed(): what is to be created on told_more for a query; whether that can be run, and serves it then
CREATE FUNCTION proposed(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE statement text; used text;
BEGIN
	SELECT substring(reason FROM 'CREATE INDEX ON usersindexes\.told_more (.*)') INTO statement FROM indextable.explain(query) WHERE index_table::text = 'told_more';
	IF statement IS NULL THEN
		RETURN NULL;
	END IF;
	EXECUTE 'CREATE INDEX proposed ON told_more ' || statement;
	SET LOCAL indextable.planner = force;
	SELECT reason INTO used FROM indextable.explain(query) WHERE index_table::text = 'told_more';
	SET LOCAL indextable.planner = on;
	statement := statement || CASE WHEN used LIKE '%proposed%' THEN '' ELSE ', but: ' || used END
		|| CASE WHEN (SELECT count(*) FROM pg_index WHERE indexrelid = 'proposed'::regclass AND substring(pg_get_indexdef(indexrelid) FROM ' ON usersindexes\.told_more (.*)') = statement) = 1 THEN '' ELSE ', spelled otherwise' END;
	DROP INDEX proposed;
	RETURN statement;
END $$;
INSERT INTO told SELECT id, doc FROM f WHERE id > 0;
ANALYZE told_more;
SELECT c, proposed('SELECT doc FROM told ' || c) FROM unnest(ARRAY[$$WHERE doc ->> 'name' ILIKE '%ame12%'$$, $$WHERE doc ->> 'body' ~ 'word1'$$, $$WHERE doc ->> 'body' LIKE '%rd17 other3%' COLLATE "C"$$, $$WHERE lower(doc ->> 'body') LIKE '%rd17 other3%'$$, $$WHERE (doc ->> 'body') % 'x'$$,
	$$WHERE daterange((doc ->> 'from')::date, (doc ->> 'till')::date) && daterange('2024-01-05', '2024-01-06')$$, $$WHERE '2024-01-05'::date <@ daterange((doc ->> 'from')::date, (doc ->> 'till')::date, '[]')$$,
	$$WHERE to_tsvector('simple', doc ->> 'body') @@ 'word7 & other1'$$, $$WHERE doc -> 'tags' @> '["x"]'$$, $$ORDER BY doc ->> 'body' <-> 'word7' LIMIT 3$$,
	$$ORDER BY doc ->> 'body' <-> 'word7'$$, $$WHERE to_tsvector(doc ->> 'body') @@ 'word7'$$, $$WHERE daterange((doc ->> 'from')::date, '2024-02-03') && '[2024-01-05,2024-01-06]'$$, $$WHERE (doc ->> 'low')::int > 5$$, $$WHERE doc ->> 'body' <> 'x'$$,
	$$WHERE doc ->> 'town' = 't1' AND doc ->> 'body' ILIKE '%x%'$$, $$WHERE doc ->> 'other' ILIKE '%x%'$$, $$WHERE doc ->> 'body' ILIKE doc ->> 'town'$$]) c;
-- without the extension it is made first
DROP FUNCTION proposed;
BEGIN;
DROP EXTENSION pg_trgm CASCADE;
SELECT index_table, reason FROM indextable.explain($$SELECT doc FROM told WHERE doc ->> 'body' ILIKE '%x%'$$) WHERE index_table::text = 'told_more';
SELECT index_table, reason FROM indextable.explain($$SELECT doc FROM told WHERE to_tsvector('simple', doc ->> 'body') @@ 'x'$$) WHERE index_table::text = 'told_more';
ROLLBACK;
-- nor is it proposed where a policy comes first
CREATE ROLE regress_it_told;
GRANT USAGE ON SCHEMA usersindexes TO regress_it_told;
GRANT SELECT ON told TO regress_it_told;
ALTER TABLE told ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON told USING (doc ->> 'town' <> 'hidden');
SET ROLE regress_it_told;
SELECT index_table, reason FROM indextable.explain($$SELECT doc FROM told WHERE doc ->> 'body' ILIKE '%x%'$$) WHERE index_table::text = 'told_more';
RESET ROLE;
DROP TABLE told CASCADE;
DROP OWNED BY regress_it_told;
DROP ROLE regress_it_told;
SET indextable.planner = off;

-- answered: how many rows a query finds, whether it is said to use an index of a user, and whether the answer differs without.
-- Rows that are ordered by a distance may come in any order where it is the same.
CREATE FUNCTION answered(query text) RETURNS TABLE (rows bigint, by_index boolean, differs boolean) LANGUAGE plpgsql AS $$
DECLARE native text; answer text;
BEGIN
	SET LOCAL indextable.planner = off;
	BEGIN
		EXECUTE format('SELECT count(*), string_agg(q::text, '','' ORDER BY q::text) FROM (%s) q', query) INTO rows, native;
	EXCEPTION WHEN OTHERS THEN native := SQLSTATE;
	END;
	SET LOCAL indextable.planner = force;
	BEGIN
		EXECUTE format('SELECT string_agg(q::text, '','' ORDER BY q::text) FROM (%s) q', query) INTO answer;
	EXCEPTION WHEN OTHERS THEN answer := SQLSTATE;
	END;
	SELECT coalesce(bool_or(e.reason LIKE 'searched by its index %'), false) INTO by_index FROM indextable.explain(query) e WHERE e.used;
	differs := answer IS DISTINCT FROM native;
	RETURN NEXT;
END $$;

CREATE FUNCTION shown(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN RETURN QUERY EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query; END $$;

-- ---- conditions
SELECT a.*, c FROM unnest(ARRAY[$$doc ->> 'name' ILIKE '%me12% ANN'$$, $$doc ->> 'name' LIKE '%e12% Ann'$$, $$doc ->> 'name' ~ 'e(12|13) Ann'$$, $$doc ->> 'name' ~* 'E(12|13) ANN'$$, $$doc ->> 'name' = 'Name12 Ann'$$,
	$$(doc ->> 'name') % 'Name12 Ann'$$, $$doc ->> 'name' ILIKE '%me12% ANN' OR doc ->> 'name' ILIKE '%me13% BOB'$$, $$doc ->> 'name' NOT ILIKE '%a%'$$, $$doc ->> 'name' ILIKE '%me12%' AND doc ->> 'town' = 't12'$$,
	$$doc ->> 'name' ILIKE '%me12%' AND doc ->> 'other' IS NULL$$, $$doc ->> 'name' ILIKE '%me12%' AND doc @> '{"town": "t12"}'$$, $$doc ->> 'name' ILIKE '%me12%' AND id < 900$$,
	$$(doc ->> 'age')::int = 17$$, $$(doc ->> 'age')::int BETWEEN 3 AND 4 AND doc ->> 'body' LIKE '%other3'$$, $$(doc ->> 'age')::int IN (3, 4, 95)$$, $$(doc ->> 'age')::int > 80 AND (doc ->> 'low')::int = 7$$,
	$$daterange((doc ->> 'from')::date, (doc ->> 'till')::date) && daterange('2024-01-05', '2024-01-06')$$, $$daterange((doc ->> 'from')::date, (doc ->> 'till')::date) @> '2024-02-05'::date$$,
	$$int4range((doc ->> 'low')::int, (doc ->> 'high')::int) @> 48$$, $$to_tsvector('simple', doc ->> 'body') @@ 'word7 & other1'$$, $$to_tsvector('simple', doc ->> 'body') @@ to_tsquery('simple', 'other1 & !word7')$$,
	$$doc ->> 'body' = 'word7 other1'$$, $$since = '2020-02-03'$$, $$doc ->> 'body' LIKE 'word7 %' AND (doc ->> 'age')::int > 60$$, $$doc ->> 'name' ILIKE '%me12%' AND 10 / ((doc ->> 'age')::int - 5) > 1$$,
	$$doc ->> 'name' ILIKE (SELECT '%me12% ANN')$$, $$doc ->> 'name' ILIKE '%me12%' AND random() < 2$$]) c, answered('SELECT id FROM f WHERE ' || c) a;
-- what entries lack is fetched
SELECT a.*, q FROM unnest(ARRAY[$$SELECT doc FROM f WHERE doc ->> 'name' ILIKE '%me12% ANN'$$, $$SELECT id, doc ->> 'other' FROM f WHERE doc ->> 'name' ILIKE '%me12% ANN'$$, $$SELECT ctid FROM f WHERE doc ->> 'name' ILIKE '%me12% ANN'$$,
	$$SELECT count(*), max(doc ->> 'name') FROM f WHERE doc ->> 'name' ILIKE '%me12%'$$, $$SELECT doc ->> 'town', count(*) FROM f WHERE doc ->> 'name' ILIKE '%me12%' GROUP BY 1$$,
	$$SELECT doc FROM parts WHERE doc ->> 'name' ILIKE '%me12% ANN'$$, $$SELECT id, tableoid::regclass FROM parts WHERE doc ->> 'name' ILIKE '%me12% ANN'$$, $$SELECT doc ->> 'town' FROM parts WHERE doc ->> 'name' ILIKE '%me12% ANN'$$,
	$$SELECT x.id, y.id FROM f x JOIN parts y ON y.doc ->> 'name' = x.doc ->> 'name' WHERE x.doc ->> 'name' ILIKE '%me12% ANN'$$,
	$$SELECT id FROM f WHERE doc ->> 'name' ILIKE '%me12% ANN' UNION ALL SELECT id FROM parts WHERE doc ->> 'name' ILIKE '%me12% ANN'$$,
	$$SELECT o.n, (SELECT count(*) FROM f WHERE doc ->> 'name' ILIKE '%me12%' AND id > o.n) FROM (VALUES (5), (2000)) o (n)$$]) q, answered(q) a;
-- in the order of an index
CREATE INDEX town_near ON f_town USING gist (name gist_trgm_ops);
SELECT a.*, q FROM unnest(ARRAY[$$SELECT doc ->> 'name' <-> 'Name12 An' FROM f ORDER BY doc ->> 'name' <-> 'Name12 An' LIMIT 9$$, $$SELECT doc ->> 'name' <-> 'Name12 An' FROM f WHERE (doc ->> 'low')::int > 7 ORDER BY doc ->> 'name' <-> 'Name12 An' LIMIT 9$$,
	$$SELECT doc ->> 'name' <-> 'Name12 An' FROM f WHERE doc ? 'age' ORDER BY doc ->> 'name' <-> 'Name12 An' LIMIT 9$$, $$SELECT (doc ->> 'age')::int FROM f ORDER BY (doc ->> 'age')::int LIMIT 20$$, $$SELECT id FROM f ORDER BY (doc ->> 'age')::int DESC NULLS LAST, id LIMIT 20$$]) q, answered(q) a;
SET indextable.planner = force;
EXPLAIN (COSTS OFF) SELECT id, doc FROM f ORDER BY doc ->> 'name' <-> 'Name12 An' LIMIT 9;
DROP INDEX town_near;
SELECT regexp_replace(line, '(actual rows=\d+)(\.00)?', '\1') AS shown FROM shown($$SELECT count(*) FROM f WHERE doc ->> 'name' ILIKE '%me12% ANN'$$) line WHERE line ~ 'Custom|Entries|Bitmap|Table';

-- partitions are not looked at
BEGIN;
EXPLAIN (COSTS OFF) SELECT doc ->> 'town' FROM parts WHERE doc ->> 'name' ILIKE '%me12% ANN';
SELECT count(*) AS locked FROM pg_locks WHERE pid = pg_backend_pid() AND relation IN ('parts_1'::regclass, 'parts_2'::regclass);
ROLLBACK;

-- ---- statements that write or lock, cursors, own changes
SELECT a.* FROM answered($$SELECT id FROM f WHERE doc ->> 'name' ILIKE '%me12% ANN' FOR UPDATE$$) a;
BEGIN;
UPDATE f SET doc = doc || '{"name": "renamed"}' WHERE doc ->> 'name' ILIKE '%me12% ANN';
SELECT a.*, c FROM unnest(ARRAY[$$doc ->> 'name' ILIKE '%me12% ANN'$$, $$doc ->> 'name' ILIKE 'RENAMED'$$]) c, answered('SELECT id FROM f WHERE ' || c) a;
SAVEPOINT s;
DELETE FROM f WHERE doc ->> 'name' ILIKE 'RENAMED';
SELECT a.* FROM answered($$SELECT id FROM f WHERE doc ->> 'name' ILIKE 'RENAMED'$$) a;
ROLLBACK TO s;
DECLARE c SCROLL CURSOR FOR SELECT id FROM f WHERE doc ->> 'name' ILIKE 'RENAMED' ORDER BY id;
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
FETCH LAST FROM c;
ROLLBACK;

-- ---- kept plans, and DDL beside them
DROP INDEX sparse_name;
SET plan_cache_mode = force_generic_plan;
PREPARE kept(text) AS SELECT count(*) FROM f WHERE doc ->> 'name' ILIKE $1;
EXPLAIN (COSTS OFF) EXECUTE kept('%me12%');
EXECUTE kept('%me12%');
EXECUTE kept(NULL);
REINDEX INDEX CONCURRENTLY town_name;
EXECUTE kept('%me12%');
DROP INDEX town_name;
EXECUTE kept('%me12%');
EXPLAIN (COSTS OFF) EXECUTE kept('%me12%');
CREATE INDEX town_name ON f_town USING gin (name gin_trgm_ops);
EXECUTE kept('%me12%');
SELECT indextable.alter('f_town', include => '{name, age::int}') \gset
EXPLAIN (COSTS OFF) EXECUTE kept('%me12%');
EXECUTE kept('%me12%');
CALL indextable.rebuild('f_town');
EXECUTE kept('%me12%');
DEALLOCATE kept;
RESET plan_cache_mode;
SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'f_town'::regclass AND NOT indisunique ORDER BY 1;

-- ---- row security: what is not leakproof must not be compared before the policies
CREATE ROLE regress_users_indexes;
GRANT USAGE ON SCHEMA usersindexes TO regress_users_indexes;
GRANT SELECT ON f TO regress_users_indexes;
ALTER TABLE f ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON f USING (id % 2 = 0);
SET ROLE regress_users_indexes;
SELECT c, e.index_table, e.reason FROM unnest(ARRAY[$$doc ->> 'name' ILIKE '%me12% ANN'$$, $$(doc ->> 'age')::int = 17$$]) c, indextable.explain('SELECT id FROM f WHERE ' || c) e WHERE e.used;
SELECT count(*) FROM f WHERE doc ->> 'name' ILIKE '%me12% ANN';
SELECT count(*) FROM f WHERE (doc ->> 'age')::int = 17;
SET indextable.planner = off;
SELECT count(*) FROM f WHERE doc ->> 'name' ILIKE '%me12% ANN';
SELECT count(*) FROM f WHERE (doc ->> 'age')::int = 17;
RESET ROLE;
ALTER TABLE f DISABLE ROW LEVEL SECURITY;
-- the reader need not have rights on the index table, and the server has its statistics
REVOKE ALL ON f_town FROM regress_users_indexes;
SET ROLE regress_users_indexes;
SET indextable.planner = force;
SELECT count(*) FROM f WHERE doc ->> 'name' ILIKE '%me12% ANN';
RESET ROLE;
-- an operator of the reader's is shown no common values of a column that he may not read: a query is planned before rights are checked
CREATE FUNCTION seen(text, text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'seen: %', $1; RETURN true; END $$;
CREATE OPERATOR === (FUNCTION = seen, LEFTARG = text, RIGHTARG = text, RESTRICT = eqsel);
CREATE TABLE hidden (id int PRIMARY KEY, doc jsonb, secret text NOT NULL, open text NOT NULL);
INSERT INTO hidden SELECT i, '{"town": "hidden"}', 'hidden', 'open' FROM generate_series(1, 100) i;
SELECT indextable.create('hidden_ix', 'hidden', '{@secret}', include => '{@open, town}', sparse => true) \gset
CREATE INDEX hidden_both ON hidden_ix (secret text_pattern_ops, open, town);
ANALYZE hidden_ix;
GRANT SELECT (id, open) ON hidden TO regress_users_indexes;
SET ROLE regress_users_indexes;
EXPLAIN SELECT id FROM hidden WHERE secret === 'x';
EXPLAIN SELECT id FROM hidden WHERE doc ->> 'town' === 'x';
EXPLAIN SELECT id FROM hidden WHERE open = 'closed' AND secret === 'x';
RESET ROLE;
GRANT SELECT ON hidden TO regress_users_indexes;
SET ROLE regress_users_indexes;
SELECT count(*) FROM hidden WHERE open = 'closed' AND open === 'x';
RESET ROLE;

-- ---- index tables that are themselves partitioned
SET indextable.planner = off;
CREATE TABLE split (LIKE f INCLUDING ALL);
INSERT INTO split SELECT id + 10000 * n, doc, since FROM f, generate_series(0, 4) n;
SELECT indextable.create('split_town', 'split', '{town}', include => '{name, age::int, low::int, high::int, body}', partitions => 3),
	indextable.create('split_body', 'split', '{body}', include => '{age::int}', maintenance => 'async', partition_by => 'RANGE (body)', partition_bounds => ARRAY[$$FROM (MINVALUE) TO ('word30')$$, $$FROM ('word30') TO (MAXVALUE)$$, 'DEFAULT']) \gset
CREATE INDEX split_name ON split_town USING gin (name gin_trgm_ops);
CREATE INDEX split_age ON split_town (age);
CREATE INDEX split_old ON split_town (low) WHERE age > 80;
CREATE INDEX split_span ON split_town USING gist (int4range(low, high));
CREATE INDEX split_body_age ON split_body (age);
VACUUM ANALYZE split, split_town, split_body;
CREATE VIEW asked AS SELECT * FROM unnest(ARRAY[$$doc ->> 'name' ILIKE '%me12% ANN'$$, $$doc ->> 'name' ILIKE '%me12%' AND doc @> '{"town": "t12"}'$$, $$doc ->> 'name' ILIKE '%me12%' AND doc ->> 'town' IS NULL$$, $$doc ->> 'name' ILIKE '%me12%' AND doc ->> 'other' IS NULL AND id < 900$$,
	$$(doc ->> 'age')::int = 17$$, $$(doc ->> 'age')::int > 80 AND (doc ->> 'low')::int = 7$$, $$int4range((doc ->> 'low')::int, (doc ->> 'high')::int) @> 48$$, $$doc ->> 'name' ILIKE '%me12%' AND 10 / ((doc ->> 'age')::int - 5) > 1$$,
	$$doc ->> 'name' ILIKE (SELECT '%me12% ANN')$$, $$doc ->> 'name' NOT ILIKE '%a%'$$]) c;
SELECT a.*, c FROM asked, answered('SELECT id FROM split WHERE ' || c) a;
CREATE INDEX split_near ON split_town USING gist (name gist_trgm_ops);
SELECT a.*, q FROM unnest(ARRAY[$$SELECT doc ->> 'name' <-> 'Name12 An' FROM split ORDER BY doc ->> 'name' <-> 'Name12 An' LIMIT 9$$, $$SELECT (doc ->> 'age')::int FROM split ORDER BY (doc ->> 'age')::int LIMIT 20$$,
	$$SELECT count(*) FROM split WHERE doc ->> 'name' ILIKE '%me12% ANN'$$]) q, answered(q) a;
DROP INDEX split_near;
SET indextable.planner = force;
EXPLAIN (COSTS OFF) SELECT doc ->> 'town' FROM split WHERE doc ->> 'name' ILIKE '%me12% ANN';
SELECT reason FROM indextable.explain($$SELECT id FROM split WHERE doc ->> 'name' ILIKE '%me12% ANN'$$) WHERE used;
PREPARE of_split(text) AS SELECT id FROM split WHERE doc ->> 'name' ILIKE $1 AND id < 800 ORDER BY id;
EXECUTE of_split('%me12% ANN');
BEGIN;
UPDATE split SET doc = doc || '{"name": "renamed"}' WHERE doc ->> 'name' ILIKE '%me12% ANN';
EXECUTE of_split('renamed');
SELECT a.*, c FROM unnest(ARRAY[$$doc ->> 'name' ILIKE '%me12% ANN'$$, $$doc ->> 'name' ILIKE 'RENAMED'$$]) c, answered('SELECT id FROM split WHERE ' || c) a;
DELETE FROM split WHERE doc ->> 'name' ILIKE 'RENAMED' AND id > 1000;
SELECT a.* FROM answered($$SELECT id FROM split WHERE doc ->> 'name' ILIKE 'RENAMED'$$) a;
ROLLBACK;
SET indextable.stale_reads = on;
UPDATE split SET doc = doc || '{"age": 17}' WHERE id < 30;
SELECT e.reason FROM indextable.explain($$SELECT doc FROM split WHERE (doc ->> 'age')::int = 17 AND doc ->> 'body' ~ 'other'$$) e WHERE e.index_table = 'split_body'::regclass;
RESET indextable.stale_reads;
SELECT indextable.alter('split_town', partitions => 5);
ANALYZE split_town;
SELECT index_table, own_indexes FROM indextable.index_tables WHERE fact_table = 'split'::regclass ORDER BY 1::text;
SELECT a.*, c FROM asked, answered('SELECT id FROM split WHERE ' || c) a LIMIT 1;
EXECUTE of_split('%me12% ANN');
DEALLOCATE of_split;
-- what is missing there is said, too
DROP INDEX split_name;
SET indextable.planner = on;
SELECT reason FROM indextable.explain($$SELECT doc FROM split WHERE doc ->> 'name' ILIKE '%me12% ANN'$$) WHERE index_table::text = 'split_town';
DROP TABLE split CASCADE;

-- ---- asynchronous index tables: rows are checked
SELECT indextable.create('f_async', 'f', '{body}', maintenance => 'async') \gset
CREATE INDEX async_body ON f_async USING gin (body gin_trgm_ops);
ANALYZE f_async;
UPDATE f SET doc = doc || '{"body": "changed"}' WHERE id < 30;
SET indextable.stale_reads = on;
SELECT e.reason FROM indextable.explain($$SELECT doc FROM f WHERE doc ->> 'body' ~ 'word(7|8) '$$) e WHERE e.index_table = 'f_async'::regclass;
SELECT count(*) FROM f WHERE doc ->> 'body' ~ 'word(7|8) ' AND doc ? 'town';
SELECT indextable.drain('f') > 0 AS drained;
SELECT count(*) FROM f WHERE doc ->> 'body' ~ 'word(7|8) ' AND doc ? 'town';
SET indextable.planner = off;
SELECT count(*) FROM f WHERE doc ->> 'body' ~ 'word(7|8) ' AND doc ? 'town';

DROP SCHEMA usersindexes CASCADE;
DROP ROLE regress_users_indexes;
