-- indextable.explain(query, what_if): what a query would be like with index tables that do not exist.
CREATE SCHEMA what_if;
SET search_path = what_if;
SET client_min_messages = warning;

CREATE TABLE person (id int PRIMARY KEY, doc jsonb, note text);
INSERT INTO person SELECT i, jsonb_build_object('name', 'n' || i % 500, 'town', 't' || i % 50, 'age', i % 90, 'tags', jsonb_build_array('a' || i % 40, 'b' || i % 30), 'pad', repeat(md5(i::text), 15))
	|| CASE WHEN i % 4 = 0 THEN jsonb_build_object('rare', i) ELSE '{}' END
FROM generate_series(1, 3000) i;
VACUUM ANALYZE person;

-- what does not depend on exact costs
CREATE FUNCTION asked(query text, what_if text) RETURNS TABLE (index_table text, used boolean, reason text, entries bigint, cheaper boolean) LANGUAGE sql AS
$$ SELECT index_table, used, reason, entries, cost < cost_without / 2 FROM indextable.explain(query, what_if) $$;

SELECT * FROM asked($$SELECT doc FROM person WHERE doc ->> 'name' = 'n7'$$, $$indextable.create('by_name', 'person', '{name}')$$);
SELECT * FROM asked($$SELECT doc ->> 'age' FROM person WHERE doc ->> 'town' = 't7'$$, what_if => $$
	SELECT indextable.create('by_town', 'person', '{town}', include => '{age}');
	SELECT indextable.create('by_name', 'person', ARRAY['name', 'town']), indextable.create(fact_table => 'what_if.person', key => '{age::int}', index_table => 'elsewhere.by_age')$$);
SELECT * FROM asked($$SELECT doc ->> 'age' FROM person WHERE doc ->> 'town' = 't7'$$, what_if => $$
	SELECT indextable.create('by_town', 'person', '{town}', include => '{age}');
	SELECT indextable.create('by_name', 'person', ARRAY['name', 'town']), indextable.create(fact_table => 'what_if.person', key => '{age::int}', index_table => 'what_if.by_age')$$);
-- elements; a row that lacks a key field; a filter; the document itself; in order
SELECT * FROM asked($$SELECT id FROM person WHERE doc @> '{"tags": ["a7"]}'$$, $$indextable.create('by_tag', 'person', '{tags[*]}')$$);
SELECT * FROM asked($$SELECT count(*) FROM person WHERE (doc ->> 'rare')::int = 8$$, $$indextable.create('by_rare', 'person', '{rare::int}')$$);
SELECT * FROM asked($$SELECT count(*) FROM person WHERE (doc ->> 'rare')::int = 8$$, $$indextable.create('by_rare', 'person', '{rare::int}', sparse => true)$$);
SELECT * FROM asked($$SELECT id FROM person WHERE doc ->> 'name' = 'n7' AND doc ->> 'town' = 't7'$$, $$indextable.create('by_name', 'person', '{name}', filter => $f$doc ->> 'town' = 't7'$f$)$$);
SELECT * FROM asked($$SELECT id FROM person WHERE doc ->> 'name' = 'n7'$$, $$indextable.create('by_name', 'person', '{name}', filter => $f$doc ->> 'town' = 't7'$f$)$$);
SELECT * FROM asked($$SELECT doc FROM person ORDER BY doc ->> 'name' COLLATE "C" LIMIT 3$$, $$indextable.create('by_name', 'person', '{"name COLLATE \"C\""}', strategy => 'denormalized')$$);
SELECT * FROM asked($$SELECT doc ->> 'name' FROM person WHERE id = 7$$, $$indextable.create('by_name', 'person', '{name}')$$);
SELECT * FROM asked($$SELECT doc FROM person WHERE doc ->> 'name' = 'n7'$$, $$indextable.create('by_name', 'person', '{name}', maintenance => 'async')$$);
SET indextable.stale_reads = on;
SELECT * FROM asked($$SELECT doc FROM person WHERE doc ->> 'name' = 'n7'$$, $$indextable.create('by_name', 'person', '{name}', maintenance => 'async')$$);
RESET indextable.stale_reads;
SELECT * FROM asked('SELECT 1', $$indextable.create('by_name', 'person', '{name}')$$);
-- values that do not fit
INSERT INTO person VALUES (0, '{"age": "old"}');
SELECT * FROM asked($$SELECT id FROM person WHERE (doc ->> 'age')::int = 7$$, $$indextable.create('by_age', 'person', '{age::int}')$$);
SELECT * FROM asked($$SELECT id FROM person WHERE (doc ->> 'age')::int = 7$$, $$indextable.create('by_age', 'person', '{age::int}', on_mismatch => 'skip')$$);
SELECT * FROM asked($$SELECT id FROM person WHERE doc ->> 'age' = '7'$$, $$indextable.create('by_age', 'person', '{age}')$$);
DELETE FROM person WHERE id = 0;

-- Nothing is created, written or locked but as by a reader; not even where nothing may be written.
SELECT count(*) AS tables FROM pg_class \gset
BEGIN READ ONLY;
SELECT * FROM asked($$SELECT doc FROM person WHERE doc ->> 'name' = 'n7'$$, $$indextable.create('by_name', 'person', '{name}')$$);
SELECT pg_current_xact_id_if_assigned() IS NULL AS no_xid;
SELECT DISTINCT mode FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation' AND relation >= 16384;
COMMIT;
SELECT count(*) - :tables AS more_tables FROM pg_class;
SELECT count(*) FROM indextable_internal.definition WHERE fact_table = 'person'::regclass;
EXPLAIN (COSTS OFF) SELECT doc FROM person WHERE doc ->> 'name' = 'n7';

-- What was predicted comes true.
CREATE TEMP TABLE query AS SELECT * FROM (VALUES
	($$SELECT doc FROM person WHERE doc ->> 'name' = 'n7'$$, $$indextable.create('it', 'person', '{name}')$$),
	($$SELECT doc ->> 'age' FROM person WHERE doc ->> 'town' = 't7'$$, $$indextable.create('it', 'person', '{town}', include => '{age}')$$),
	($$SELECT doc ->> 'age' FROM person WHERE doc ->> 'town' < 't2'$$, $$indextable.create('it', 'person', '{town, name}', include => '{age}')$$),
	($$SELECT id FROM person WHERE doc @> '{"tags": ["a7"]}'$$, $$indextable.create('it', 'person', '{tags[*]}')$$),
	($$SELECT doc ->> 'town', count(*) FROM person GROUP BY 1$$, $$indextable.create('it', 'person', '{town}')$$),
	($$SELECT count(*) FROM person WHERE (doc ->> 'rare')::int = 8$$, $$indextable.create('it', 'person', '{rare::int}', is_unique => true)$$),
	($$SELECT doc FROM person WHERE doc ->> 'name' = 'n7'$$, $$indextable.create('it', 'person', '{name}', strategy => 'denormalized')$$)) q(query, call);
CREATE FUNCTION come_true() RETURNS TABLE (call text, used boolean, entries boolean, bytes boolean, cost boolean) LANGUAGE plpgsql AS
$$
DECLARE
	q query;
	predicted record;
	plan json;
BEGIN
	FOR q IN SELECT * FROM query LOOP
		SELECT * INTO STRICT predicted FROM indextable.explain(q.query, q.call) e WHERE e.index_table = 'it';
		EXECUTE 'SELECT ' || q.call;
		ANALYZE it;
		EXECUTE 'EXPLAIN (FORMAT json) ' || q.query INTO plan;
		call := q.call;
		used := predicted.used = (plan::text LIKE '%"it"%');
		entries := predicted.entries = (SELECT count(*) FROM it);
		bytes := predicted.bytes BETWEEN 0.5 * pg_total_relation_size('it') AND 2 * pg_total_relation_size('it');
		cost := predicted.cost / (plan -> 0 -> 'Plan' ->> 'Total Cost')::float8 BETWEEN 0.5 AND 2;
		RETURN NEXT;
		DROP TABLE it;
	END LOOP;
END
$$;
SELECT * FROM come_true();

-- Beside index tables that exist
SELECT indextable.create('by_town', 'person', '{town}') \gset
ANALYZE by_town;
SELECT * FROM asked($$SELECT id FROM person WHERE doc ->> 'town' = 't7' AND doc ->> 'name' = 'n7'$$, $$indextable.create('by_name', 'person', '{name}')$$);
SELECT * FROM asked($$SELECT id FROM person WHERE doc ->> 'town' = 't7' OR doc ->> 'name' = 'n7'$$, $$indextable.create('by_name', 'person', '{name}')$$);
SELECT * FROM asked($$SELECT id FROM person WHERE doc ->> 'town' = 't7'$$, NULL);
SELECT * FROM asked(NULL, $$indextable.create('by_name', 'person', '{name}')$$);
SET indextable.planner = off;
SELECT used FROM indextable.explain($$SELECT id FROM person WHERE doc ->> 'town' = 't7'$$, NULL);
RESET indextable.planner;

-- Partitioned, on either side; and a partition
CREATE TABLE event (id int PRIMARY KEY, doc jsonb) PARTITION BY HASH (id);
SELECT format('CREATE TABLE event_%s PARTITION OF event FOR VALUES WITH (MODULUS 4, REMAINDER %s)', i, i) FROM generate_series(0, 3) i \gexec
INSERT INTO event SELECT id, doc FROM person;
VACUUM ANALYZE event;
SELECT * FROM asked($$SELECT doc FROM event WHERE doc ->> 'name' = 'n7'$$, $$indextable.create('event_by_name', 'event', '{name}', partitions => 3)$$);
SELECT * FROM asked($$SELECT doc FROM event_1 WHERE doc ->> 'name' = 'n7'$$, $$indextable.create('event_by_name', 'event', '{name}')$$);
SELECT * FROM asked($$SELECT p.id FROM person p JOIN event e ON e.doc ->> 'name' = p.doc ->> 'name' WHERE p.id = 3$$, $$indextable.create('event_by_name', 'event', '{name}')$$);
-- nothing is in the table yet
CREATE TABLE empty (id int PRIMARY KEY, doc jsonb);
SELECT index_table, entries, bytes FROM indextable.explain('SELECT FROM empty', $$indextable.create('e', 'empty', '{k}')$$);

-- What is called while the query is planned does not see such index tables.
CREATE FUNCTION plan(name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	EXECUTE format('EXPLAIN (COSTS OFF) SELECT doc FROM person WHERE doc ->> ''name'' = %L', name) INTO line;
	IF line NOT LIKE 'Seq Scan%' THEN
		RAISE WARNING 'planned meanwhile: %', line;
	END IF;
END $$;
CREATE FUNCTION found(name text) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM plan(name); RETURN (SELECT count(*) FROM person WHERE doc ->> 'name' = found.name); END $$;
SELECT index_table, used FROM indextable.explain($$SELECT id FROM person WHERE doc ->> 'name' = 'n7' AND id < found('n7')$$, $$indextable.create('by_name', 'person', '{name}')$$);
SELECT found('n7');

-- Errors are those of create(), of SQL, and of explain().
\set VERBOSITY default
SELECT * FROM indextable.explain('SELECT 1', '');
SELECT * FROM indextable.explain('SELECT 1', '{"key": "{town}"}');
SELECT * FROM indextable.explain('SELECT 1', 'SELECT 1');
SELECT * FROM indextable.explain('SELECT 1', 'DROP TABLE person');
SELECT * FROM indextable.explain('SELECT 1', $$SELECT indextable.create('x', 'person', '{town}') FROM person$$);
SELECT * FROM indextable.explain('SELECT 1', $$indextable.drop('by_town')$$);
\set VERBOSITY terse
SELECT * FROM indextable.explain('SELECT 1', $$indextable.create('x', 'person', '{town}', nix => 1)$$);
\set VERBOSITY default
SELECT * FROM indextable.explain('SELECT 1', $$indextable.create('x', 'person', '{town')$$);
SELECT * FROM indextable.explain('SELECT 1', $$indextable.create('x', 'nobody', '{town}')$$);
SELECT * FROM indextable.explain('SELECT 1', $$indextable.create('x', 'person', '{town}', $1)$$);
SELECT * FROM indextable.explain('SELECT 1', $$indextable.create('x', 'person', ARRAY[now()::text])$$);
SELECT * FROM indextable.explain('SELECT 1', $$indextable.create('x', 'person', NULL)$$);
SELECT * FROM indextable.explain('SELECT 1', $$indextable.create('x', 'person', '{}')$$);
SELECT * FROM indextable.explain('SELECT 1', $$indextable.create('x', 'person', '{town}', 'partial')$$);
SELECT * FROM indextable.explain('SELECT 1', $$indextable.create('x', 'person', '{town::nix}')$$);
SELECT * FROM indextable.explain('SELECT 1', $$indextable.create('x', 'person', '{town}', filter => 'nix = 1')$$);
SELECT * FROM indextable.explain('SELECT 1', $$indextable.create('person', 'person', '{town}')$$);
SELECT * FROM indextable.explain('SELECT 1', $$indextable.create('x', 'person', '{town}', totals => '{count(*)}')$$);
SELECT * FROM indextable.explain('SELECT nix', $$indextable.create('x', 'person', '{town}')$$);
\set VERBOSITY terse

-- Only who might create it may ask; and what it calls is called as the owner.
CREATE ROLE regress_it_supposer;
CREATE ROLE regress_it_guest;
GRANT CREATE, USAGE ON SCHEMA what_if TO regress_it_supposer, regress_it_guest;
SET ROLE regress_it_supposer;
CREATE TABLE owned (id int PRIMARY KEY, doc jsonb);
INSERT INTO owned SELECT i, jsonb_build_object('k', i) FROM generate_series(1, 100) i;
GRANT SELECT ON owned TO regress_it_guest;
CREATE FUNCTION who(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN $1 || current_user; END $$;
CREATE FUNCTION told(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'called by %', current_user; END $$;
SELECT index_table, entries FROM indextable.explain('SELECT 1', $$indextable.create('o', 'owned', ARRAY['(what_if.who(doc ->> ''k'')) AS k'])$$);
SET ROLE regress_it_guest;
SELECT * FROM indextable.explain('SELECT 1', $$indextable.create('o', 'owned', '{k}')$$);
SELECT * FROM indextable.explain('SELECT 1', $$indextable.create('o', 'owned', '{k}', filter => 'told(doc ->> ''k'') IS NULL')$$);
RESET ROLE;
SELECT * FROM indextable.explain('SELECT 1', $$indextable.create('o', 'owned', '{k}', filter => 'what_if.told(doc ->> ''k'') IS NULL')$$);
ALTER TABLE owned ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
SET ROLE regress_it_supposer;
SELECT * FROM indextable.explain('SELECT 1', $$indextable.create('o', 'owned', '{k}')$$);
RESET ROLE;

DROP SCHEMA what_if CASCADE;
DROP ROLE regress_it_supposer, regress_it_guest;
