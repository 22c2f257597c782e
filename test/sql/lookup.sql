-- lookup(): which rows, in which order, and for whom.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA lookup;
SET search_path = lookup;
CREATE TABLE fact (id int PRIMARY KEY, doc jsonb, owner text);
INSERT INTO fact SELECT i, jsonb_build_object('a', i % 2, 'b', 'b' || i % 3, 'c', 10 - i), CASE WHEN i < 5 THEN 'low' ELSE 'high' END
FROM generate_series(1, 9) i;
SELECT indextable.create('abc', 'fact', '{a::int, b, c::int}') \gset
SELECT indextable.create('abc_full', 'fact', '{a::int, b, c::int}', 'denormalized') \gset
SELECT indextable.create('by_tag', 'fact', '{tags[*]}') \gset

-- all key columns, or the leading ones, given in any order; in the order of the index table
SELECT id FROM indextable.lookup(NULL::fact, 'abc', '{"a": 1, "b": "b1", "c": 9}');
SELECT id, doc FROM indextable.lookup(NULL::fact, 'abc', '{"b": "b1", "a": 1}');
SELECT id, doc FROM indextable.lookup(NULL::fact, 'abc', '{"a": 1}');
SELECT * FROM indextable.lookup('abc', '{"a": 1}');
SELECT * FROM indextable.lookup('abc_full', '{"a": 1}');
-- values are cast as documents' values are
SELECT id FROM indextable.lookup(NULL::fact, 'abc', '{"a": "1", "b": "b1", "c": "9"}');
-- null matches nothing, in whatever column
SELECT id FROM indextable.lookup(NULL::fact, 'abc', '{"a": null}');
SELECT id FROM indextable.lookup(NULL::fact, 'abc', '{"a": 1, "b": null}');
SELECT id FROM indextable.lookup(NULL::fact, 'abc', '{"a": null, "b": "b1", "c": 9}');
-- nor do keys that are not there
SELECT id FROM indextable.lookup(NULL::fact, 'abc', '{"a": 7}');
-- NULL arguments give no rows
SELECT * FROM indextable.lookup('abc', NULL);
SELECT * FROM indextable.lookup(NULL, '{"a": 1}');
SELECT * FROM indextable.lookup(NULL::fact, 'abc', NULL);
SELECT * FROM indextable.lookup(NULL::fact, NULL, '{"a": 1}');
-- in a select list, joined, correlated, and in a subquery that stops early
SELECT a, (SELECT string_agg(id::text, ',') FROM indextable.lookup(NULL::fact, 'abc', jsonb_build_object('a', a))) AS ids
FROM generate_series(0, 2) a;
SELECT a, l.id FROM generate_series(0, 2) a, indextable.lookup(NULL::fact, 'abc', jsonb_build_object('a', a, 'b', 'b1')) l ORDER BY 1, 2;
SELECT EXISTS (SELECT FROM indextable.lookup('abc', '{"a": 0}'));
SELECT id FROM indextable.lookup(NULL::fact, 'abc', '{"a": 0}') LIMIT 1;
PREPARE by_a AS SELECT id FROM indextable.lookup(NULL::fact, 'abc', jsonb_build_object('a', $1::int)) ORDER BY id;
EXECUTE by_a(0);
EXECUTE by_a(1);
-- within a transaction, what the transaction wrote; a cursor keeps what it saw
BEGIN;
UPDATE fact SET doc = jsonb_set(doc, '{a}', '5') WHERE id IN (1, 2);
SELECT id FROM indextable.lookup(NULL::fact, 'abc', '{"a": 5}');
DELETE FROM fact WHERE id = 1;
SELECT id FROM indextable.lookup(NULL::fact, 'abc', '{"a": 5}');
ROLLBACK;
SELECT id FROM indextable.lookup(NULL::fact, 'abc', '{"a": 5}');

-- an array stands for its elements: each row once, in the order of the index table, whatever the order there, with duplicates and nulls or without
SELECT id, doc FROM indextable.lookup(NULL::fact, 'abc', '{"a": [1, 7, null, 0, "1"], "b": ["b2", "b0"]}');
SELECT * FROM indextable.lookup('abc_full', '{"a": 1, "b": ["b2", "b0"], "c": [9, 7, 5]}');
SELECT count(*) FROM indextable.lookup('abc', '{"a": []}');
SELECT count(*) FROM indextable.lookup('abc', '{"a": [null], "b": "b0"}');
-- so are several keys
SELECT id, doc FROM indextable.lookup(NULL::fact, 'abc', '[{"b": "b2", "a": 1}, {"a": 0, "b": "b1"}, {"a": 1, "b": "b2"}, {"a": null, "b": "b0"}, {"a": 0, "b": ["b1", "b2"]}]');
SELECT count(*) FROM indextable.lookup('abc', '[]');
SELECT count(*) FROM indextable.lookup(NULL::fact, 'abc', (SELECT jsonb_agg(jsonb_build_object('a', i)) FROM generate_series(-500, 499) i));
-- a row whose array has several of them
UPDATE fact SET doc = doc || '{"tags": ["x", "y", "z"]}' WHERE id < 4;
UPDATE fact SET doc = doc || '{"tags": "y"}' WHERE id = 4;
SELECT id, doc -> 'tags' AS tags FROM indextable.lookup(NULL::fact, 'by_tag', '{"tags": ["z", "y", "w"]}');
SELECT id FROM indextable.lookup(NULL::fact, 'by_tag', '[{"tags": "z"}, {"tags": "y"}]');
UPDATE fact SET doc = doc - 'tags' WHERE id < 5;
-- jsonb may be an array, which is one value; several are several keys
SELECT indextable.create('by_json', 'fact', '{j::jsonb}') \gset
UPDATE fact SET doc = doc || '{"j": [1, 2]}' WHERE id = 1;
UPDATE fact SET doc = doc || '{"j": 1}' WHERE id = 2;
SELECT id FROM indextable.lookup(NULL::fact, 'by_json', '{"j": [1, 2]}');
SELECT id FROM indextable.lookup(NULL::fact, 'by_json', '[{"j": [1, 2]}, {"j": 1}]');
UPDATE fact SET doc = doc - 'j' WHERE id < 5;
SELECT indextable.drop('by_json') \gset
-- an array of a text field is its text, which is given as a text
UPDATE fact SET doc = doc || '{"tags": [["p", "q"], "p"]}' WHERE id = 1;
SELECT id FROM indextable.lookup(NULL::fact, 'by_tag', '{"tags": "[\"p\", \"q\"]"}');
SELECT id FROM indextable.lookup(NULL::fact, 'by_tag', '{"tags": [["p", "q"]]}');
UPDATE fact SET doc = doc - 'tags' WHERE id = 1;
-- the partition of each key
SELECT indextable.create('abc_parts', 'fact', '{a::int, b, c::int}', partitions => 3) \gset
SELECT id FROM indextable.lookup(NULL::fact, 'abc_parts', '{"a": [1, 0], "b": ["b0", "b1"]}');
SELECT indextable.drop('abc_parts') \gset
-- of an asynchronous one, rows that have one of the keys by now
SELECT indextable.create('late', 'fact', '{a::int}', maintenance => 'async') \gset
UPDATE fact SET doc = doc || '{"a": 5}' WHERE id = 4;
SELECT id FROM indextable.lookup(NULL::fact, 'late', '{"a": 0}');
SELECT id FROM indextable.lookup(NULL::fact, 'late', '{"a": [0, 5]}');
SELECT id FROM indextable.lookup(NULL::fact, 'late', '[{"a": 5}, {"a": 6}]');
UPDATE fact SET doc = doc || '{"a": 0}' WHERE id = 4;
SELECT indextable.drop('late') \gset
-- numbers keep their digits
CREATE TABLE price (id int PRIMARY KEY, doc jsonb);
INSERT INTO price VALUES (1, '{"p": 1.50}'), (2, '{"p": 1.5}'), (3, '{"p": "1.500"}'), (4, '{"p": 2.00}');
SELECT indextable.create('by_price', 'price', '{p::numeric}', include => '{p::text AS t, p::jsonb AS j}') \gset
SELECT * FROM indextable.lookup('by_price', '{"p": [1.50, 2]}');
SELECT entry FROM indextable.query('by_price', '{"p": [1.5, 2.000]}');
UPDATE price SET doc = '{"p": 2.0000}' WHERE id = 4;
SELECT cursor FROM indextable.query('by_price', page_size => 2) OFFSET 1 \gset
SELECT entry FROM indextable.query('by_price', cursor => :'cursor');
DROP TABLE price;

-- ---- errors
SELECT * FROM indextable.lookup('abc', '{"nope": 1}');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM indextable.lookup('abc', '{"id": 1}');
SELECT * FROM indextable.lookup('abc', '{"A": 1}');
SELECT * FROM indextable.lookup('abc', '{}');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM indextable.lookup('abc', '[1]');
SELECT * FROM indextable.lookup('abc', '"a"');
SELECT * FROM indextable.lookup('abc', 'null');
SELECT * FROM indextable.lookup('abc', '{"b": "b1"}');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM indextable.lookup('abc', '{"a": 1, "c": 9}');
SELECT * FROM indextable.lookup('abc', '{"a": "one"}');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM indextable.lookup('abc', '{"a": [[1]]}');
SELECT * FROM indextable.lookup('abc', '{"a": [0, "one"]}');
SELECT * FROM indextable.lookup('abc', '[{"a": 1}, {"a": 0, "b": "b1"}]');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM indextable.lookup('abc', '[{"a": 1}, {}]');
SELECT * FROM indextable.lookup('abc', '[{"a": 1}, [{"a": 0}]]');
SELECT * FROM indextable.lookup('abc', '[{"a": null}, {"c": 1}]');
SELECT * FROM indextable.lookup('abc', (SELECT jsonb_build_object('a', jsonb_agg(i), 'b', jsonb_agg(i)) FROM generate_series(1, 400) i));
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM indextable.lookup('abc', '{"a": null, "nope": 1}');
SELECT * FROM indextable.lookup('abc', '{"a": null, "c": "x"}');
SELECT * FROM indextable.lookup('fact', '{"a": 1}');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM indextable.lookup('nope', '{"a": 1}');
SELECT * FROM indextable.lookup(0, '{"a": 1}');
SELECT * FROM indextable.lookup('pg_class', '{"a": 1}');
SELECT * FROM indextable.lookup('abc_a_b_c_id_key', '{"a": 1}');
SELECT * FROM indextable.lookup(NULL::abc, 'abc', '{"a": 1}');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM indextable.lookup(1, 'abc'::regclass, '{"a": 1}');
SELECT * FROM indextable.lookup(NULL, 'abc'::regclass, '{"a": 1}');
SELECT * FROM indextable.lookup(NULL::record, 'abc', '{"a": 1}') AS (x int);
SELECT indextable.lookup(ROW(1), 'abc', '{"a": 1}');
SELECT indextable.lookup(ROW(1), 'abc', NULL);
\set VERBOSITY terse
SELECT indextable.lookup('abc', '{"a": 1, "b": "b1", "c": 9}'::text);
\set VERBOSITY default

-- ---- how many rows the planner expects: by the statistics of the index table, where it knows the key
CREATE FUNCTION pg_temp.expected(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;
CREATE TABLE many (id int PRIMARY KEY, doc jsonb);
INSERT INTO many SELECT i, jsonb_build_object('t', CASE WHEN i % 4 = 0 THEN 'Paris' ELSE 'T' || i % 50 END, 'n', i % 100) FROM generate_series(1, 1000) i;
SELECT indextable.create('many_t', 'many', '{t, n::int}') \gset
SELECT indextable.create('many_parts', 'many', '{n::int}', partitions => 2) \gset
SELECT pg_temp.expected($$SELECT * FROM indextable.lookup('many_t', '{"t": "Paris"}')$$)::int < 100 AS "few without statistics";
VACUUM ANALYZE many, many_t, many_parts;
SELECT query, pg_temp.expected('SELECT * FROM ' || query) FROM unnest(ARRAY[
	$$indextable.lookup('many_t', '{"t": "Paris"}')$$,
	$$indextable.lookup(NULL::many, 'many_t', '{"t": "T1"}')$$,
	$$indextable.lookup('many_t', '{"t": ["T1", "Paris", null, "T1x"]}')$$,
	$$indextable.lookup('many_t', '{"t": "T1", "n": 51}')$$,
	$$indextable.lookup('many_t', '{"t": null}')$$,
	$$indextable.lookup('many_parts', '[{"n": 1}, {"n": "2"}]')$$,
	$$indextable.lookup('many_parts', (SELECT jsonb_agg(jsonb_build_object('n', i)) FROM generate_series(1, 50) i))$$,
	$$generate_series(1, 10) g, indextable.lookup('many_parts', jsonb_build_object('n', g))$$,
	$$indextable.lookup(key => jsonb_build_object('n', 7), index_table => 'many_parts')$$,
	$$indextable.query('many_parts')$$,
	$$indextable.query('many_parts', page_size => 7)$$,
	$$indextable.query('many_parts', '{"n": [1, 2]}')$$,
	$$indextable.query('many_parts', condition => '{"n": {">=": 90}}', page_size => 5000)$$,
	$$indextable.query('many_parts', condition => '{"n": {"between": [10, 19]}}', page_size => 5000)$$,
	$$indextable.query('many_parts', condition => '{"n": {"=": [1, 2]}}')$$,
	-- what is wrong is said when it is run
	$$indextable.lookup('many_parts', '{"n": "x"}')$$, $$indextable.lookup('many_parts', '{"x": 1}')$$, $$indextable.lookup('many_parts', '[1]')$$,
	$$indextable.lookup('many_parts', '1')$$, $$indextable.query('many_parts', condition => '{"n": {"?": 1}}')$$, $$indextable.query('many_parts', condition => '7')$$,
	$$indextable.query('many_parts', '{"x": 7}')$$, $$indextable.lookup('many_parts_n_id_key', '{"n": 1}')$$, $$indextable.lookup(0, '{"n": 1}')$$]) query;
-- in a join, a search costs a descent, and a row that is fetched another one
CREATE FUNCTION pg_temp.cost(call text) RETURNS float LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) SELECT FROM (VALUES (1), (2)) v, ' || call INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Total Cost';
END $$;
SELECT pg_temp.cost($$indextable.lookup('many_t', '{"t": "T1"}')$$) < pg_temp.cost($$indextable.lookup('many_t', '{"t": ["T1", "T3"]}')$$) AS keys,
	pg_temp.cost($$indextable.lookup('many_t', '{"t": "T1"}')$$) < pg_temp.cost($$indextable.lookup('many_t', '{"t": "Paris"}')$$) AS rows,
	pg_temp.cost($$indextable.query('many_t', '{"t": "Paris"}', page_size => 300)$$) < pg_temp.cost($$indextable.lookup('many_t', '{"t": "Paris"}')$$) AS entries;
-- nothing is locked for it, and statistics tell only those who may read the index table
BEGIN;
SELECT pg_temp.expected($$SELECT * FROM indextable.lookup('many_t', '{"t": "Paris"}')$$);
SELECT count(*) FROM pg_locks WHERE relation IN ('many'::regclass, 'many_t'::regclass, 'many_t_t_n_id_key'::regclass);
COMMIT;
CREATE ROLE regress_it_stranger;
GRANT USAGE ON SCHEMA lookup TO regress_it_stranger;
SET ROLE regress_it_stranger;
SELECT pg_temp.expected($$SELECT * FROM indextable.lookup('lookup.many_t', '{"t": "Paris"}')$$);
RESET ROLE;
DROP OWNED BY regress_it_stranger;
DROP ROLE regress_it_stranger;
DROP TABLE many;

-- ---- for whom: SELECT on the index table and on the fact table is needed, as for a join;
-- on the index table alone where it has a copy of the document
CREATE ROLE regress_it_owner;
CREATE ROLE regress_it_reader;
GRANT USAGE ON SCHEMA lookup TO PUBLIC;
SET ROLE regress_it_reader;
SELECT count(*) FROM abc;
SELECT count(*) FROM indextable.lookup('abc', '{"a": 1}');
\echo :LAST_ERROR_SQLSTATE
-- an error tells nothing before the rights are checked
SELECT count(*) FROM indextable.lookup('abc', '{"nope": 1}');
RESET ROLE;
GRANT SELECT ON abc, abc_full TO regress_it_reader;
SET ROLE regress_it_reader;
SELECT count(*) FROM abc;
SELECT count(*) FROM indextable.lookup('abc', '{"a": 1}');
SELECT count(*) FROM indextable.lookup(NULL::fact, 'abc_full', '{"a": 1}');
SELECT count(*) FROM indextable.lookup('abc_full', '{"a": 1}');
RESET ROLE;
GRANT SELECT (id, owner) ON fact TO regress_it_reader;
SET ROLE regress_it_reader;
SELECT count(*) FROM indextable.lookup('abc', '{"a": 1}');
SELECT count(*) FROM indextable.lookup(NULL::fact, 'abc', '{"a": 1}');
RESET ROLE;
REVOKE SELECT ON abc FROM regress_it_reader;
GRANT SELECT ON fact TO regress_it_reader;
SET ROLE regress_it_reader;
SELECT count(*) FROM indextable.lookup('abc', '{"a": 1}');
RESET ROLE;
GRANT SELECT ON abc, by_tag TO regress_it_reader;
SET ROLE regress_it_reader;
SELECT count(*) FROM indextable.lookup('abc', '{"a": 1}');
-- the view lists index tables to everybody
SELECT index_table, state FROM indextable.index_tables ORDER BY index_table::text COLLATE "C";
SELECT count(*) FROM indextable_internal.definition;
RESET ROLE;

-- ---- row security of the fact table holds in look-ups, copies of the document or not
CREATE TABLE mine (id int PRIMARY KEY, doc jsonb, reader text);
INSERT INTO mine SELECT i, jsonb_build_object('k', i % 2), CASE WHEN i <= 4 THEN 'regress_it_reader' ELSE 'regress_it_owner' END FROM generate_series(1, 8) i;
ALTER TABLE mine OWNER TO regress_it_owner;
GRANT ALL ON SCHEMA lookup TO regress_it_owner;
SET ROLE regress_it_owner;
SELECT indextable.create('mine_k', 'mine', '{k::int}') \gset
SELECT indextable.create('mine_full', 'mine', '{k::int}', 'denormalized') \gset
GRANT SELECT ON mine, mine_k, mine_full TO regress_it_reader;
ALTER TABLE mine ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON mine USING (reader = current_user);
-- the owner is exempt, until row security is forced
SELECT id FROM indextable.lookup(NULL::mine, 'mine_k', '{"k": 1}');
SELECT count(*) FROM indextable.lookup('mine_full', '{"k": 1}');
SET ROLE regress_it_reader;
SELECT id FROM indextable.lookup(NULL::mine, 'mine_k', '{"k": 1}');
SELECT count(*) FROM indextable.lookup('mine_k', '{"k": 1}');
SELECT id FROM indextable.lookup(NULL::mine, 'mine_full', '{"k": 1}');
SELECT count(*) FROM indextable.lookup('mine_full', '{"k": 1}');
SET row_security = off;
SELECT id FROM indextable.lookup(NULL::mine, 'mine_k', '{"k": 1}');
RESET row_security;
SET ROLE regress_it_owner;
ALTER TABLE mine FORCE ROW LEVEL SECURITY;
SELECT id FROM indextable.lookup(NULL::mine, 'mine_k', '{"k": 1}');
SELECT count(*) FROM indextable.lookup('mine_full', '{"k": 1}');
-- the upkeep is not subject to it
SET ROLE regress_it_reader;
SET ROLE regress_it_owner;
GRANT INSERT, UPDATE, DELETE ON mine TO regress_it_reader;
CREATE POLICY insert_any ON mine FOR INSERT WITH CHECK (true);
SET ROLE regress_it_reader;
INSERT INTO mine VALUES (9, '{"k": 1}', 'regress_it_owner'), (10, '{"k": 1}', 'regress_it_reader');
UPDATE mine SET doc = '{"k": 2}';
RESET ROLE;
SELECT k, id FROM mine_k ORDER BY id;
SET ROLE regress_it_owner;
SELECT indextable.create('mine_late', 'mine', '{k}') \gset
RESET ROLE;
SELECT k, id FROM mine_late ORDER BY id;

CALL pg_temp.compare('abc', $$SELECT (doc ->> 'a')::int, doc ->> 'b', (doc ->> 'c')::int, id FROM fact$$);
CALL pg_temp.compare('mine_k', $$SELECT (doc ->> 'k')::int, id FROM mine$$);
CALL pg_temp.compare('mine_full', $$SELECT (doc ->> 'k')::int, id, doc FROM mine$$);
CALL pg_temp.compare('mine_late', $$SELECT doc ->> 'k', id FROM mine$$);

SET client_min_messages = warning;
DROP SCHEMA lookup CASCADE;
DROP ROLE regress_it_owner, regress_it_reader;
CALL pg_temp.no_rows('pg_temp.leftovers()');
