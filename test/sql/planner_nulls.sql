-- Index tables that are not sparse have an entry for every row, with NULL in the key fields that a row lacks. So no row turns
-- them off, and NULL is searched, ordered and grouped as SQL means it.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
SET indextable.advice = off;
CREATE SCHEMA planner_nulls;
SET search_path = planner_nulls;

CREATE TABLE t (id int PRIMARY KEY, tenant int, doc jsonb);
SELECT indextable.create('t_town', 't', '{town,name}', sparse => false), indextable.create('t_age', 't', '{age::int}', include => '{town}', sparse => false),
	indextable.create('t_tags', 't', '{tags[*],town}', sparse => false), indextable.create('t_json', 't', '{j::jsonb}', sparse => false),
	indextable.create('t_deep', 't', '{a.b}', sparse => false), indextable.create('t_tenant', 't', '{@tenant,town,name}', sparse => false),
	indextable.create('t_sku', 't', '{lines[*].sku}', sparse => false), indextable.create('t_hash', 't', '{name}', partitions => 3, sparse => false),
	indextable.create('t_expr', 't', '{(lower(doc ->> ''town'')) AS lower}', sparse => false), indextable.create('t_ok', 't', '{ok::boolean,name}', sparse => false) \gset
-- A third of what a document may have is missing, null, or of another kind.
INSERT INTO t SELECT i, nullif(i % 5, 4), CASE WHEN i % 23 = 0 THEN NULL WHEN i % 29 = 0 THEN '[{"a": {"b": "v7"}, "town": "t1"}]'
	WHEN i % 31 = 0 THEN '["town", "j", {"name": "n3"}]' WHEN i % 37 = 0 THEN '"town"' WHEN i % 41 = 0 THEN '{"town": [null], "j": [null], "a": {"b": []}}' ELSE
	CASE i % 3 WHEN 0 THEN '{}' ELSE jsonb_build_object('town', CASE i % 11 WHEN 0 THEN NULL ELSE 't' || i % 7 END) END ||
	CASE i % 4 WHEN 0 THEN '{}' WHEN 1 THEN '{"name": null}' ELSE jsonb_build_object('name', 'n' || i % 13) END ||
	CASE i % 6 WHEN 0 THEN '{"age": null}' WHEN 1 THEN '{}' WHEN 2 THEN jsonb_build_object('age', (i % 17)::text) ELSE jsonb_build_object('age', i % 17) END ||
	CASE i % 5 WHEN 0 THEN '{"j": null}' WHEN 1 THEN '{}' WHEN 2 THEN '{"j": "null"}' ELSE jsonb_build_object('j', i % 3) END ||
	CASE i % 8 WHEN 0 THEN '{"a": [{"b": "v7"}]}' WHEN 1 THEN '{"a": {"b": ["v7"]}}' WHEN 2 THEN '{"a": "v7"}' WHEN 3 THEN '{"a": {}}' WHEN 4 THEN '{"a": {"b": null}}' WHEN 5 THEN '{"a": []}' ELSE jsonb_build_object('a', jsonb_build_object('b', 'v' || i % 9)) END ||
	CASE i % 10 WHEN 0 THEN '{"ok": null}' WHEN 1 THEN '{}' WHEN 2 THEN '{"ok": "true"}' ELSE jsonb_build_object('ok', i % 3 <> 0) END ||
	CASE i % 9 WHEN 0 THEN '{"tags": null}' WHEN 1 THEN '{"tags": []}' WHEN 2 THEN '{"tags": "x1"}' WHEN 3 THEN '{"tags": [null, "x1"]}' WHEN 4 THEN '{}'
		ELSE jsonb_build_object('tags', jsonb_build_array('x' || i % 4, 'y' || i % 5)) END ||
	CASE i % 7 WHEN 0 THEN '{"lines": []}' WHEN 1 THEN '{"lines": [{"qty": 1}, {"sku": "s1"}, 5, null]}' WHEN 2 THEN '{"lines": {"sku": "s2"}}'
		ELSE jsonb_build_object('lines', jsonb_build_array(jsonb_build_object('sku', 's' || i % 6), jsonb_build_object('sku', 's' || i % 5))) END END
FROM generate_series(1, 400) i;
ANALYZE;

-- outcome: the rows of a query, or the code of its error
CREATE FUNCTION outcome(query text, planner text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
	PERFORM set_config('indextable.planner', planner, true);
	EXECUTE format('SELECT coalesce(string_agg(q::text, E''\n'' ORDER BY n), ''no rows'') FROM (SELECT q, row_number() OVER () AS n FROM (%s) q) q', query) INTO result;
	RETURN result;
EXCEPTION WHEN OTHERS THEN RETURN 'error ' || SQLSTATE;
END $$;
-- searched: whether the plan searches entries
CREATE FUNCTION searched(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE line text; found bool := false;
BEGIN
	PERFORM set_config('indextable.planner', 'force', true);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP found := found OR line LIKE '%Entry Cond%'; END LOOP;
	RETURN found;
END $$;

-- entry_conditions: what the plan of a query searches entries by
CREATE FUNCTION entry_conditions(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	PERFORM set_config('indextable.planner', 'force', true);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Entry Cond' THEN RETURN NEXT substring(line, 'Entry Cond: (.*)'); END IF;
	END LOOP;
END $$;
CREATE TABLE conditions (c text);
INSERT INTO conditions VALUES
	($$doc ->> 'town' IS NULL$$), ($$doc ->> 'town' IS NOT NULL$$), ($$doc ->> 'town' = 't1'$$), ($$doc ->> 'town' > 't4'$$), ($$doc ->> 'town' < 't2'$$),
	($$doc ->> 'town' = 't1' AND doc ->> 'name' IS NULL$$), ($$doc ->> 'town' = 't1' AND doc ->> 'name' IS NOT NULL$$),
	($$doc ->> 'town' IS NULL AND doc ->> 'name' = 'n3'$$), ($$doc ->> 'town' IS NULL AND doc ->> 'name' > 'n3'$$), ($$doc ->> 'town' IS NULL AND doc ->> 'name' IS NULL$$),
	($$doc ->> 'town' = 't1' OR doc ->> 'town' IS NULL$$), ($$doc ->> 'town' IN ('t1', 't2') OR doc ->> 'name' IS NULL$$),
	($$doc ->> 'town' IS NOT DISTINCT FROM 't1'$$), ($$doc ->> 'town' IS NOT DISTINCT FROM NULL$$), ($$doc ->> 'town' IS DISTINCT FROM 't1'$$),
	($$doc ->> 'town' <> 't1'$$), ($$doc ->> 'town' <> 't1' OR doc ->> 'town' IS NULL$$), ($$coalesce(doc ->> 'town', 't1') = 't1'$$), ($$NOT (doc ? 'town')$$),
	($$doc @> '{"town": null}'$$), ($$doc -> 'town' IS NULL$$), ($$doc -> 'town' = 'null'$$), ($$(doc ->> 'town', doc ->> 'name') > ('t2', 'n3')$$), ($$(doc ->> 'town' IS NULL) = true$$),
	($$(doc ->> 'age')::int IS NULL$$), ($$doc ->> 'age' IS NULL$$), ($$doc ->> 'age' IS NOT NULL AND (doc ->> 'age')::int < 4$$), ($$(doc ->> 'age')::int = 5 OR (doc ->> 'age')::int IS NULL$$),
	($$(doc ->> 'age')::int BETWEEN 3 AND 5$$), ($$doc -> 'age' IS NULL$$), ($$doc -> 'age' > '5'$$), ($$(doc ->> 'age')::int IS NULL AND doc ->> 'town' = 't1'$$),
	($$doc -> 'j' IS NULL$$), ($$doc ->> 'j' IS NULL$$), ($$doc -> 'j' = 'null'$$), ($$doc ->> 'j' = 'null'$$), ($$doc -> 'j' IS NOT NULL$$), ($$doc -> 'j' = '1'$$), ($$doc @> '{"j": null}'$$),
	($$doc -> 'tags' ? 'x1'$$), ($$doc -> 'tags' ? 'x1' AND doc ->> 'town' IS NULL$$), ($$doc -> 'tags' ? 'x1' AND doc ->> 'town' = 't1'$$), ($$doc -> 'tags' @> '[null]'$$), ($$doc -> 'tags' @> '["x1", null]'$$),
	($$doc -> 'tags' ?| '{x1,y2}'$$), ($$doc -> 'tags' ?& '{x1,y2}'$$), ($$NOT (doc -> 'tags' ? 'x1')$$), ($$doc ->> 'tags' IS NULL$$), ($$doc @> '{"tags": []}'$$),
	($$EXISTS (SELECT FROM jsonb_array_elements_text(CASE jsonb_typeof(doc -> 'tags') WHEN 'array' THEN doc -> 'tags' END) e WHERE e = 'x1')$$),
	($$EXISTS (SELECT FROM jsonb_array_elements_text(CASE jsonb_typeof(doc -> 'tags') WHEN 'array' THEN doc -> 'tags' END) e WHERE e IS NULL)$$),
	($$doc @> '{"lines": [{"sku": "s1"}]}'$$), ($$doc @? '$.lines[*] ? (@.sku == "s1")'$$), ($$doc @? '$.lines[*] ? (!exists (@.sku))'$$), ($$doc @? '$.lines[*].sku ? (@ == null)'$$),
	($$doc @? '$.a.b ? (@ == "v7")'$$), ($$doc #>> '{a,b}' = 'v7'$$), ($$doc #>> '{a,b}' IS NULL$$), ($$doc -> 'a' ->> 'b' IS NOT NULL$$), ($$jsonb_path_query_first(doc, '$.a.b') = '"v7"'$$),
	($$jsonb_path_query_first(doc, '$.a.b') IS NULL$$), ($$doc @? '$.town ? (@ == "t1")'$$), ($$doc @? '$.town ? (@ == null)'$$), ($$doc @? '$ ? (!exists (@.town))'$$), ($$doc @@ '$.age > 5'$$),
	($$tenant IS NULL$$), ($$tenant IS NOT NULL AND doc ->> 'town' = 't1'$$), ($$tenant = 3$$), ($$tenant = 3 AND doc ->> 'town' IS NULL$$), ($$tenant = 3 AND doc ->> 'town' IS NULL AND doc ->> 'name' > 'n2'$$),
	($$tenant = 3 AND (doc ->> 'town' IS NULL OR doc ->> 'town' = 't2')$$), ($$tenant IN (1, 3) AND doc ->> 'town' IS NULL$$), ($$tenant IS NULL OR tenant = 2$$),
	($$doc ->> 'name' IS NULL$$), ($$doc ->> 'name' = 'n3'$$), ($$lower(doc ->> 'town') IS NULL$$), ($$lower(doc ->> 'town') = 't1'$$), ($$doc IS NULL$$), ($$doc IS NOT NULL$$), ('true'),
	($$coalesce(doc ->> 'town', 't2') = 't1'$$), ($$coalesce(doc ->> 'town', 't2') IN ('t1', 't2')$$), ($$coalesce(doc ->> 'town', 't2') <= 't1'$$), ($$coalesce(doc ->> 'town', 't2') >= 't2'$$), ($$coalesce(doc ->> 'town', 't2') IS DISTINCT FROM 't1'$$),
	($$coalesce((doc ->> 'age')::int, 5) = 5$$), ($$coalesce(doc ->> 'age', '5')::int = 5$$), ($$coalesce(tenant, 0) = 0 AND doc ->> 'town' = 't1'$$), ($$tenant = 3 AND coalesce(doc ->> 'town', 't2') = 't2'$$), ($$coalesce(lower(doc ->> 'town'), 't1') = 't1'$$),
	($$coalesce(doc ->> 'town', 't1') = 't1' OR doc ->> 'name' = 'n3'$$), ($$coalesce(doc ->> 'town', doc ->> 'name', 't1') = 't1'$$), ($$coalesce(doc -> 'j', '1') = '1'$$), ($$coalesce(doc -> 'town', '"t1"') = '"t1"'$$), ($$coalesce((doc ->> 'age')::int, 5) + 1 = 6$$),
	($$coalesce(doc -> 'tags' ->> 0, 'x1') = 'x1'$$), ($$coalesce((doc ->> 'ok')::boolean, true)$$), ($$NOT coalesce((doc ->> 'ok')::boolean, false)$$), ($$coalesce((doc ->> 'ok')::boolean, false)$$), ($$(doc ->> 'ok')::boolean IS NOT TRUE$$), ($$(doc ->> 'ok')::boolean IS NOT FALSE$$),
	($$(doc ->> 'ok')::boolean IS UNKNOWN$$), ($$(doc ->> 'ok')::boolean IS NOT UNKNOWN$$), ($$(doc ->> 'ok')::boolean IS NOT TRUE AND doc ->> 'name' = 'n3'$$),
	($$NOT (doc ? 'town') AND doc ->> 'name' = 'n2'$$), ($$(doc ? 'town') IS NOT TRUE$$), ($$(doc ? 'town') IS FALSE$$), ($$NOT (doc ? 'j')$$), ($$NOT (doc ? 'age')$$), ($$NOT (doc ? 'a')$$), ($$NOT (doc -> 'a' ? 'b')$$), ($$NOT (doc #> '{a}' ? 'b')$$), ($$NOT (doc ? 'b')$$),
	($$NOT (doc ?| '{town,age}')$$), ($$NOT (doc ?& '{town,age}')$$), ($$NOT (doc ? 'tags')$$), ($$NOT (doc ? 'lines')$$), ($$doc ? 'town'$$), ($$doc ? 'j'$$), ($$NOT EXISTS (SELECT FROM jsonb_array_elements(CASE jsonb_typeof(doc -> 'lines') WHEN 'array' THEN doc -> 'lines' END) e WHERE NOT (e ? 'sku'))$$),
	($$EXISTS (SELECT FROM jsonb_array_elements(CASE jsonb_typeof(doc -> 'lines') WHEN 'array' THEN doc -> 'lines' END) e WHERE NOT (e ? 'sku'))$$), ($$doc @> '{"a": {"b": null}}'$$), ($$doc -> 'a' @> '{"b": null}'$$), ($$doc -> 'a' @> 'null'$$), ($$doc -> 'town' @> 'null'$$), ($$doc @> '{"town": [null]}'$$),
	($$doc @> '{"j": 1}'$$), ($$doc @> '{"j": "null"}'$$), ($$doc @> '{"j": [null]}'$$), ($$doc -> 'j' @> 'null'$$), ($$doc @> '{"j": null, "town": "t1"}'$$), ($$doc @> '{"town": null, "name": "n2"}'$$), ($$doc @> ANY (ARRAY['{"town": null}', '{"town": "t1"}']::jsonb[])$$), ($$doc -> 'town' IN ('null', '"t1"')$$),
	($$doc ->> 'j' IS NOT NULL$$), ($$doc -> 'j' = 'null' AND doc ->> 'j' IS NOT NULL$$), ($$doc ->> 'j' IS NULL AND doc -> 'j' IS NOT NULL$$), ($$doc #>> '{j}' IS NULL$$), ($$doc ->> 'j' IS NULL OR doc -> 'j' = '2'$$), ($$doc -> 'a' -> 'b' IS NULL$$), ($$doc -> 'a' -> 'b' = 'null'$$),
	($$doc @@ '!exists($.town)'$$), ($$doc @? '$ ? (!exists (@.j))'$$), ($$doc @? '$ ? (!exists (@.age)) ? (@.town == "t1")'$$), ($$doc @? '$.a ? (!exists (@.b))'$$), ($$doc @@ '!exists($.a.b)'$$), ($$doc @@ '!exists($.a)'$$), ($$doc @@ '!exists($.a.b[*])'$$), ($$doc @@ '!exists($.town[*])'$$),
	($$doc @? '$[*] ? (!exists (@.town))'$$), ($$doc @? 'strict $ ? (!exists (@.town))'$$), ($$doc @@ '!exists($.tags)'$$), ($$doc @? '$.tags ? (!exists (@[*]))'$$), ($$doc @@ '!exists($.town ? (@ == "t1"))'$$), ($$doc @@ '!(exists($.town) && $.age > 3)'$$), ($$doc @@ '!($.town == "t1")'$$),
	($$doc @@ '$.town == null'$$), ($$doc @@ '$.age == null'$$), ($$doc @@ '$.a.b == null'$$), ($$doc @@ '$.j == null'$$), ($$doc @@ '$.town != null'$$), ($$doc @@ '$.town <= null'$$), ($$jsonb_path_exists(doc, '$ ? (@.town == $x)', '{"x": null}')$$), ($$doc @? '$ ? (@.town == null || @.town == "t1")'$$),
	($$doc @? '$ ? (!exists (@.town) || @.town == "t1")'$$), ($$doc @? '$ ? (!exists (@.town) && @.name == "n2")'$$), ($$NOT (doc @? '$.town')$$), ($$NOT (doc @? '$.a.b')$$), ($$NOT (doc @? 'strict $.a.b')$$), ($$NOT jsonb_path_exists(doc, 'strict $.a.b', '{}', true)$$), ($$NOT (doc @? '$.a.b[*]')$$),
	($$NOT (doc @? '$.town ? (@ == "t1")')$$), ($$(doc @? '$.town') IS NOT TRUE$$), ($$NOT (doc @@ '$.town == null')$$), ($$NOT (doc @@ 'exists($.town)')$$), ($$jsonb_path_query_first(doc, '$.a') IS NULL$$), ($$NOT (jsonb_path_query_first(doc, '$.a') ? 'b')$$), ($$jsonb_path_query_first(doc, '$.town') #>> '{}' IS NULL$$), ($$jsonb_path_query_first(doc, '$.j') #>> '{}' IS NULL$$),
	($$(doc ->> 'ok')::boolean IS DISTINCT FROM true$$), ($$(doc ->> 'age')::int IS DISTINCT FROM 5$$), ($$5 IS DISTINCT FROM (doc ->> 'age')::int$$), ($$(doc ->> 'age')::int IS DISTINCT FROM NULL$$), ($$doc -> 'j' IS DISTINCT FROM 'null'$$), ($$doc -> 'j' <> '1' OR doc -> 'j' IS NULL$$),
	($$tenant IS DISTINCT FROM 3 AND doc ->> 'town' = 't1'$$), ($$tenant = 3 AND doc ->> 'town' IS DISTINCT FROM 't1'$$), ($$tenant <> 3 OR tenant IS NULL OR doc ->> 'town' = 't1'$$), ($$doc -> 'town' IS DISTINCT FROM '"t1"'$$), ($$lower(doc ->> 'town') IS DISTINCT FROM 't1'$$);

-- In orders with ties, the primary key decides.
CREATE TABLE shapes (s text);
INSERT INTO shapes VALUES
	('SELECT id, doc FROM t WHERE %s ORDER BY id'), ('SELECT count(*), count(doc), count(doc ->> ''town''), count(DISTINCT doc ->> ''town'') FROM t WHERE %s'),
	($$SELECT doc ->> 'town', doc ->> 'name', id FROM t WHERE %s ORDER BY 1, 2, 3$$), ($$SELECT doc ->> 'town', doc ->> 'name', id FROM t WHERE %s ORDER BY 1 DESC, 2 DESC, 3 DESC LIMIT 40$$),
	($$SELECT doc ->> 'town', doc ->> 'name', id FROM t WHERE %s ORDER BY 1 NULLS FIRST, 2 NULLS FIRST, 3 LIMIT 40$$), ($$SELECT doc ->> 'town', doc ->> 'name', id FROM t WHERE %s ORDER BY 1 DESC NULLS LAST, 2 DESC NULLS LAST, 3 DESC LIMIT 300$$),
	($$SELECT doc ->> 'town', doc ->> 'name', id FROM t WHERE %s ORDER BY 1 NULLS FIRST, 2, 3 LIMIT 200$$), ($$SELECT doc, id FROM t WHERE %s ORDER BY doc ->> 'town' DESC NULLS LAST, doc ->> 'name' DESC, id DESC LIMIT 290$$),
	($$SELECT (doc ->> 'age')::int, doc ->> 'town', id FROM t WHERE %s ORDER BY 1 NULLS FIRST, 3$$), ($$SELECT doc ->> 'name', id FROM t WHERE %s ORDER BY 1 DESC NULLS LAST, 2 DESC LIMIT 300$$), ($$SELECT tenant, doc ->> 'town', id FROM t WHERE %s ORDER BY 1 NULLS FIRST, 2 NULLS FIRST, 3$$),
	($$SELECT doc -> 'j', id FROM t WHERE %s ORDER BY 1 NULLS FIRST, 2$$), ($$SELECT doc ->> 'town', count(*) FROM t WHERE %s GROUP BY 1 ORDER BY 1 NULLS FIRST$$), ($$SELECT DISTINCT ON (doc ->> 'town') doc ->> 'town', doc ->> 'name', id FROM t WHERE %s ORDER BY 1 DESC NULLS LAST, 2 DESC, 3 DESC$$),
	($$SELECT (doc ->> 'age')::int, id FROM t WHERE %s ORDER BY 1, 2 LIMIT 400$$), ($$SELECT (doc ->> 'age')::int, id FROM t WHERE %s ORDER BY 1 DESC, 2 DESC LIMIT 400$$), ($$SELECT tenant, doc ->> 'town', id FROM t WHERE %s ORDER BY 1, 2, doc ->> 'name', 3 LIMIT 300$$),
	($$SELECT tenant, doc ->> 'town' FROM t WHERE %s GROUP BY 1, 2 ORDER BY 1, 2$$), ($$SELECT doc ->> 'town', count(*), max(doc ->> 'name'), min(doc ->> 'name') FROM t WHERE %s GROUP BY 1 ORDER BY 1$$),
	($$SELECT DISTINCT doc ->> 'town' FROM t WHERE %s ORDER BY 1 DESC$$), ($$SELECT DISTINCT ON (doc ->> 'town') doc ->> 'town', doc ->> 'name' FROM t WHERE %s ORDER BY 1, 2$$), ($$SELECT DISTINCT ON (doc ->> 'town') doc ->> 'town', doc ->> 'name' FROM t WHERE %s ORDER BY 1, 2 DESC$$),
	($$SELECT min((doc ->> 'age')::int), max((doc ->> 'age')::int), min(doc ->> 'town'), max(doc ->> 'town') FROM t WHERE %s$$), ($$SELECT doc -> 'j' FROM t WHERE %s ORDER BY 1, id$$), ($$SELECT DISTINCT doc -> 'j' FROM t WHERE %s ORDER BY 1$$),
	($$SELECT e, count(*) FROM t, jsonb_array_elements_text(CASE jsonb_typeof(doc -> 'tags') WHEN 'array' THEN doc -> 'tags' END) e WHERE %s GROUP BY 1 ORDER BY 1$$),
	($$SELECT count(*), count(u.id) FROM (SELECT * FROM t WHERE %s) s LEFT JOIN (SELECT * FROM t WHERE id < 50) u ON u.doc ->> 'town' = s.doc ->> 'town' AND u.doc ->> 'name' IS NULL$$),
	($$SELECT count(*) FROM (SELECT * FROM t WHERE id < 60) u WHERE NOT EXISTS (SELECT FROM (SELECT * FROM t WHERE %s) s WHERE s.doc ->> 'town' = u.doc ->> 'town')$$),
	($$SELECT s.id FROM t s LEFT JOIN t u ON u.id = s.id + 1 AND (u.doc ->> 'town' = 't1') WHERE s.id < 100 AND u.doc ->> 'town' IS NULL AND s.id IN (SELECT id FROM t WHERE %s) ORDER BY 1$$);

CREATE TABLE outcomes AS SELECT query, outcome(query, 'off') AS natively, outcome(query, 'force') AS by_entries
FROM (SELECT format(s, c) AS query FROM (SELECT s, row_number() OVER () AS nth_s FROM shapes) s, (SELECT c, row_number() OVER () AS nth_c FROM conditions) c
	WHERE nth_c <= 80 OR nth_s % 7 = nth_c % 7) q;
SELECT count(*) > 2500 AS many FROM outcomes;
CALL pg_temp.no_rows($$(SELECT * FROM outcomes WHERE natively <> by_entries) d$$);

-- Which conditions are not searched for: those that no B-tree on the same fields serves, and those that are true of rows without elements.
SELECT c FROM conditions WHERE NOT searched(format('SELECT id, doc FROM t WHERE %s', c)) ORDER BY ctid;

-- By what those are searched for that are not spelled as IS NULL.
SELECT c, array_agg(e) AS searched_by FROM conditions, entry_conditions(format('SELECT id, doc FROM t WHERE %s', c)) e
WHERE c ~ 'coalesce|NOT \(doc.*\?|exists|null"*\}|IS NOT TRUE|IS NOT FALSE|UNKNOWN|''null|->> ''j'' IS' GROUP BY conditions.ctid, c ORDER BY conditions.ctid;

-- The same of documents without arrays, in which jsonpath finds what fields have.
CREATE SCHEMA planner_flat;
CREATE TABLE planner_flat.t AS SELECT * FROM (SELECT id, tenant, CASE jsonb_typeof(doc) WHEN 'object' THEN doc - '{tags,lines}'::text[] ELSE doc END AS doc FROM t) d WHERE (doc::text ~ '\[') IS NOT TRUE;
INSERT INTO planner_flat.t SELECT i, NULL, jsonb_build_object('town', NULL, 'a', jsonb_build_object('b', NULL), 'i', i) FROM generate_series(1001, 1010) i;
ALTER TABLE planner_flat.t ADD PRIMARY KEY (id);
SET search_path = planner_flat, planner_nulls;
SELECT count(indextable.create('planner_flat.' || name, 't', fields, include => include, sparse => false)) FROM (VALUES ('t_town', '{town,name}'::text[], NULL::text[]), ('t_age', '{age::int}', '{town}'),
	('t_json', '{j::jsonb}', NULL), ('t_deep', '{a.b}', NULL), ('t_ok', '{ok::boolean}', NULL)) v (name, fields, include);
ANALYZE;
CREATE TABLE outcomes AS SELECT query, outcome(query, 'off') AS natively, outcome(query, 'force') AS by_entries
FROM (SELECT format(s, c) AS query FROM (SELECT * FROM shapes LIMIT 2) s, conditions) q;
CALL pg_temp.no_rows($$(SELECT * FROM outcomes WHERE natively <> by_entries) d$$);
SELECT c FROM conditions WHERE c ~ '\$' AND c !~ 'tags|lines' AND NOT searched(format('SELECT id, doc FROM t WHERE %s', c)) ORDER BY ctid;
-- A sparse index table has no entry for a row that lacks the field, so it is not searched for NULL.
SELECT count(indextable.alter(index_table, sparse => true)) FROM indextable.index_tables WHERE fact_table = 't'::regclass;
TRUNCATE outcomes;
INSERT INTO outcomes SELECT query, outcome(query, 'off') AS natively, outcome(query, 'force') AS by_entries
FROM (SELECT format(s, c) AS query FROM (SELECT * FROM shapes LIMIT 2) s, conditions) q;
CALL pg_temp.no_rows($$(SELECT * FROM outcomes WHERE natively <> by_entries) d$$);
SELECT c FROM conditions WHERE (SELECT bool_or(e ~ 'IS NULL') FROM entry_conditions(format('SELECT id, doc FROM t WHERE %s', c)) e) ORDER BY ctid;
SET search_path = planner_nulls;
-- A constraint says that documents are objects, so that they have a member where a field of type jsonb is not NULL.
CREATE TABLE objects (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO objects SELECT id, doc FROM t WHERE jsonb_typeof(doc) = 'object';
SELECT indextable.create('objects_j', 'objects', '{j::jsonb}', sparse => false), indextable.create('objects_b', 'objects', '{a.b::jsonb}', sparse => false) \gset
ANALYZE objects, objects_j, objects_b;
SELECT * FROM entry_conditions($$SELECT * FROM objects WHERE doc ? 'j'$$);
ALTER TABLE objects ADD CHECK (jsonb_typeof(doc) = 'object');
SELECT c, (SELECT array_agg(e) FROM entry_conditions('SELECT * FROM objects WHERE ' || c) e) AS searched_by, by_entries = natively AS same
	FROM (SELECT c, outcome(format('SELECT id, doc FROM objects WHERE %s ORDER BY id', c), 'off') AS natively, outcome(format('SELECT id, doc FROM objects WHERE %s ORDER BY id', c), 'force') AS by_entries
		FROM unnest(ARRAY[$$doc ? 'j'$$, $$doc ?& '{j,town}'$$, $$doc ?| '{j,town}'$$, $$doc ? 'a'$$, $$doc -> 'a' ? 'b'$$, $$NOT (doc ? 'j')$$]) c) o;

-- One row among many changes no plan.
CREATE TABLE many (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO many SELECT i, jsonb_build_object('town', 't' || i % 500, 'name', 'n' || i) FROM generate_series(1, 5000) i;
SELECT indextable.create('many_town', 'many', '{town,name}', sparse => false) \gset
VACUUM ANALYZE many, many_town;
EXPLAIN (COSTS OFF) SELECT doc ->> 'name' FROM many WHERE doc ->> 'town' = 't7';
INSERT INTO many VALUES (0, '{"town": "elsewhere"}');
EXPLAIN (COSTS OFF) SELECT doc ->> 'name' FROM many WHERE doc ->> 'town' = 't7';
EXPLAIN (COSTS OFF) SELECT doc ->> 'name', id FROM many WHERE doc ->> 'town' IS NULL ORDER BY 1, 2;
EXPLAIN (COSTS OFF) SELECT doc ->> 'name' FROM many WHERE doc ->> 'town' = 't7' AND doc ->> 'name' IS NULL;
-- Of each group only the ends are read, of that of NULL, too.
INSERT INTO many VALUES (-1, '{"name": "n1"}'), (-2, '{"name": "n1"}'), (-3, '{}'), (-4, '{"town": "t7"}');
VACUUM ANALYZE many, many_town;
EXPLAIN (COSTS OFF) SELECT DISTINCT doc ->> 'town' FROM many;
SELECT count(*), count(town) FROM (SELECT DISTINCT doc ->> 'town' AS town FROM many) d;
EXPLAIN (COSTS OFF) SELECT doc ->> 'town', min(doc ->> 'name') FROM many GROUP BY 1;
SELECT count(*), count(town), max(n) FILTER (WHERE town = 't7'), max(n) FILTER (WHERE town IS NULL) FROM (SELECT doc ->> 'town', min(doc ->> 'name') FROM many GROUP BY 1) d (town, n);
CREATE TABLE few (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO few SELECT i, jsonb_strip_nulls(jsonb_build_object('a', nullif('a' || i % 3, 'a2'), 'b', nullif('b' || i % 5, 'b4'), 'c', i)) FROM generate_series(1, 3000) i;
SELECT indextable.create('few_ab', 'few', '{a,b}', sparse => false) \gset
VACUUM ANALYZE few, few_ab;
EXPLAIN (COSTS OFF) SELECT DISTINCT doc ->> 'a', doc ->> 'b' FROM few ORDER BY 1, 2;
SELECT DISTINCT doc ->> 'a', doc ->> 'b' FROM few ORDER BY 1, 2;
EXPLAIN (COSTS OFF) SELECT DISTINCT doc ->> 'a', doc ->> 'b' FROM few ORDER BY 1 DESC, 2 DESC;
SELECT DISTINCT doc ->> 'a', doc ->> 'b' FROM few ORDER BY 1 DESC, 2 DESC;
EXPLAIN (COSTS OFF) SELECT DISTINCT doc ->> 'b' FROM few WHERE doc ->> 'a' IS NULL;
SELECT DISTINCT doc ->> 'b' FROM few WHERE doc ->> 'a' IS NULL ORDER BY 1;
EXPLAIN (COSTS OFF) SELECT doc ->> 'a', max(doc ->> 'b') FROM few GROUP BY 1;
SELECT doc ->> 'a', max(doc ->> 'b') FROM few GROUP BY 1 ORDER BY 1;

-- NULLs at the other end than in entries: two searches, one after the other, of which LIMIT ends each. Where a later column has them
-- at the other end, too, the server sorts.
CREATE TABLE ordered (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO ordered SELECT i, jsonb_strip_nulls(jsonb_build_object('a', i % 4, 'b', nullif('b' || i % 40, 'b39'), 'c', nullif('c' || i % 700, 'c699'))) FROM generate_series(1, 8000) i;
SELECT indextable.create('ordered_abc', 'ordered', '{a::int,b,c}', sparse => false), indextable.create('ordered_c', 'ordered', '{c}', include => '{b}', partitions => 3, sparse => false) \gset
VACUUM ANALYZE ordered, ordered_abc;
-- entries_read: the searches of a query, and how many entries each reads
CREATE FUNCTION entries_read(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Entry Cond|Entries|Append|Sort' THEN RETURN NEXT regexp_replace(line, ' \(actual.*', ''); END IF;
	END LOOP;
END $$;
SELECT * FROM entries_read($$SELECT doc ->> 'c', id FROM ordered WHERE (doc ->> 'a')::int = 3 ORDER BY doc ->> 'b' NULLS FIRST, doc ->> 'c' LIMIT 5$$);
SELECT * FROM entries_read($$SELECT doc ->> 'c', id FROM ordered WHERE (doc ->> 'a')::int = 3 ORDER BY doc ->> 'b' DESC NULLS LAST, doc ->> 'c' DESC LIMIT 5$$);
EXPLAIN (COSTS OFF) SELECT * FROM ordered WHERE (doc ->> 'a')::int = 3 ORDER BY doc ->> 'b' DESC NULLS LAST, doc ->> 'c' DESC, id DESC LIMIT 5;
EXPLAIN (COSTS OFF) SELECT doc ->> 'c', id FROM ordered WHERE (doc ->> 'a')::int = 3 ORDER BY doc ->> 'b' NULLS FIRST, doc ->> 'c' NULLS FIRST LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM ordered WHERE (doc ->> 'a')::int = 3 AND doc ->> 'b' > 'b2' ORDER BY doc ->> 'b' NULLS FIRST LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM ordered WHERE (doc ->> 'a')::int = 3 AND doc ->> 'b' IS NULL ORDER BY doc ->> 'b', doc ->> 'c' LIMIT 5;
EXPLAIN (COSTS OFF) SELECT doc ->> 'b', doc ->> 'c' FROM ordered ORDER BY doc ->> 'c' DESC NULLS LAST LIMIT 5;
SELECT doc ->> 'c' AS c, count(*) FROM (SELECT * FROM ordered ORDER BY doc ->> 'c' NULLS FIRST LIMIT 20) o GROUP BY 1 ORDER BY 1;
BEGIN;
DECLARE halves SCROLL CURSOR FOR SELECT doc ->> 'c', id FROM ordered WHERE (doc ->> 'a')::int = 3 AND id < 1600 ORDER BY doc ->> 'b' NULLS FIRST, doc ->> 'c', id;
MOVE FORWARD 39 IN halves;
FETCH 3 IN halves;
FETCH BACKWARD 4 IN halves;
COMMIT;
EXPLAIN (COSTS OFF) SELECT doc ->> 'c' FROM ordered WHERE doc ->> 'c' <> 'c7' OR doc ->> 'c' IS NULL;
-- Where most rows are equal to the constant.
UPDATE ordered SET doc = doc || jsonb_build_object('state', CASE id % 400 WHEN 0 THEN 'open' WHEN 1 THEN 'waiting' WHEN 2 THEN NULL ELSE 'done' END);
SELECT indextable.create('ordered_state', 'ordered', '{state}', sparse => false) \gset
VACUUM ANALYZE ordered, ordered_state;
EXPLAIN (COSTS OFF) SELECT * FROM ordered WHERE doc ->> 'state' IS DISTINCT FROM 'done';
EXPLAIN (COSTS OFF) SELECT * FROM ordered WHERE 'done' <> doc ->> 'state' OR doc ->> 'state' IS NULL;
SELECT doc ->> 'state', count(*) FROM ordered WHERE doc ->> 'state' IS DISTINCT FROM 'done' GROUP BY 1 ORDER BY 1;
EXPLAIN (COSTS OFF) SELECT id FROM ordered WHERE (doc ->> 'a')::int = 3 AND coalesce(doc ->> 'b', 'b3') = 'b3' ORDER BY doc ->> 'c' LIMIT 5;
PREPARE halves(int) AS SELECT id FROM ordered WHERE (doc ->> 'a')::int = $1 ORDER BY doc ->> 'b' NULLS FIRST, doc ->> 'c' LIMIT 3;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE halves(3);
EXECUTE halves(3);
-- Such a scan is not marked and restored itself.
SET enable_hashjoin = off;
SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT o.id FROM ordered o JOIN ordered p ON o.doc ->> 'c' = p.doc ->> 'c' ORDER BY o.doc ->> 'c' NULLS FIRST;
SELECT count(*), sum(id) FROM (SELECT o.id FROM ordered o JOIN ordered p ON o.doc ->> 'c' = p.doc ->> 'c' ORDER BY o.doc ->> 'c' NULLS FIRST) j;
RESET enable_hashjoin;
RESET enable_nestloop;
PREPARE same(text) AS SELECT count(*) FROM ordered WHERE doc ->> 'c' IS NOT DISTINCT FROM $1;
EXECUTE same('c7');
EXECUTE same(NULL);
RESET plan_cache_mode;
PREPARE one(text) AS SELECT id FROM many WHERE doc ->> 'town' = $1 AND doc ->> 'name' IS NULL;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE one('elsewhere');
EXECUTE one('elsewhere');

-- An array on the way to a field is recorded, too, where the row lacked the field before.
CREATE TABLE way (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO way SELECT i, '{"a": {}}' FROM generate_series(1, 2000) i;
SELECT indextable.create('way_b', 'way', '{a.b}'), indextable.create('way_sparse', 'way', '{a.b}', sparse => true), indextable.create('way_0', 'way', '{a[0].b}') \gset
ANALYZE way, way_b, way_sparse, way_0;
UPDATE way SET doc = '{"a": [{"b": "v7"}]}' WHERE id = 7;
UPDATE way SET doc = '[{"a": {"b": "v7"}}]' WHERE id = 8;
SELECT planner, outcome($$SELECT id FROM way WHERE doc @? '$.a.b ? (@ == "v7")' ORDER BY id$$, planner) FROM unnest('{off,force}'::text[]) planner;
CALL pg_temp.no_rows($$indextable.verify('way_b')$$);
CALL pg_temp.no_rows($$indextable.verify('way_sparse')$$);
CALL pg_temp.no_rows($$indextable.verify('way_0')$$);

-- Entries tell that a text is there which they have as another type, where it is not searched for, too.
CREATE TABLE typed (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO typed SELECT i, CASE i % 3 WHEN 0 THEN '{"a": "a4"}' ELSE jsonb_build_object('a', 'a' || i % 10, 'n', nullif(i % 7, 3), 'born', date '2000-01-01' + i % 100, 'notes', repeat('x', 500)) END FROM generate_series(1, 2000) i;
SELECT indextable.create('typed_an', 'typed', '{a,n::int}', include => '{born::date}') \gset
VACUUM ANALYZE typed, typed_an;
EXPLAIN (COSTS OFF) SELECT id, doc ->> 'a' FROM typed WHERE doc ->> 'a' > 'a3' AND doc ->> 'n' IS NOT NULL;
EXPLAIN (COSTS OFF) SELECT * FROM typed WHERE doc ->> 'a' > 'a8' AND doc ->> 'n' IS NOT NULL AND doc #>> '{born}' IS NOT NULL;
SELECT query FROM unnest(ARRAY[$$SELECT id, doc ->> 'a' FROM typed WHERE doc ->> 'a' > 'a3' AND doc ->> 'n' IS NOT NULL ORDER BY id$$, $$SELECT * FROM typed WHERE doc ->> 'a' > 'a8' AND doc ->> 'n' IS NOT NULL AND doc #>> '{born}' IS NOT NULL ORDER BY id$$,
	$$SELECT doc ->> 'a', count(*) FILTER (WHERE doc ->> 'n' IS NOT NULL), count((doc ->> 'born')::date) FILTER (WHERE doc ->> 'born' IS NOT NULL) FROM typed GROUP BY 1 ORDER BY 1$$,
	$$SELECT x.id, y.doc ->> 'n' IS NOT NULL FROM typed x LEFT JOIN typed y ON x.id = y.id AND y.doc ->> 'a' = 'a7' WHERE x.doc ->> 'a' > 'a6' AND x.doc ->> 'born' IS NOT NULL ORDER BY x.id$$]) query
WHERE outcome(query, 'off') IN ('no rows', 'error') OR EXISTS (SELECT FROM unnest('{on,force,fallback}'::text[]) planner WHERE outcome(query, planner) <> outcome(query, 'off'));

SET client_min_messages = warning;
DROP SCHEMA planner_nulls, planner_flat CASCADE;
