-- Of the queries that a native B-tree on the same fields serves, at least 95 % are searched by an index table, in all spellings
-- that docs/planner.md lists. The last query shows the others.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
SET indextable.advice = off;
CREATE SCHEMA planner_searched;
SET search_path = planner_searched;
SET timezone = 'UTC';

CREATE TABLE f (id int PRIMARY KEY, tenant int, doc jsonb NOT NULL);
INSERT INTO f SELECT i, nullif(i % 50, 7), jsonb_strip_nulls(jsonb_build_object('town', nullif('t' || i % 300, 't7'), 'size', nullif(i % 200, 7), 'price', nullif(i % 200, 7) + 0.5,
	'born', date '2000-01-01' + nullif(i % 300, 7), 'at', to_char(timestamp '2024-01-01' + nullif(i % 300, 7) * interval '1 hour', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'ok', CASE i % 300 WHEN 7 THEN NULL WHEN 8 THEN true ELSE false END,
	'j', nullif(i % 300, 7), 'address', jsonb_build_object('city', nullif('c' || i % 300, 'c7')), 'name', nullif('n' || i % 400, 'n7'))) FROM generate_series(1, 3000) i;

-- field: the spec of a field of an index table; canonical: as a native index has it; type: of its values, of which one is x, and y is greater; spellings of it
CREATE TABLE field (name text, spec text, canonical text, type text, x text, y text, spellings text[]);
INSERT INTO field VALUES
	('town', 'town', $$(doc ->> 'town')$$, 'text', 't20', 't21', ARRAY[$$(doc #>> '{town}')$$, $$jsonb_extract_path_text(doc, 'town')$$, $$(doc::json ->> 'town')$$, $$((doc -> 'town') #>> '{}')$$, $$doc['town'] #>> '{}'$$]),
	('city', 'address.city', $$(doc -> 'address' ->> 'city')$$, 'text', 'c20', 'c21', ARRAY[$$(doc #>> '{address,city}')$$, $$jsonb_extract_path_text(doc, 'address', 'city')$$, $$(doc['address'] ->> 'city')$$, $$(jsonb_extract_path(doc, 'address') ->> 'city')$$]),
	('size', 'size::int', $$((doc ->> 'size')::int)$$, 'int', '20', '21', ARRAY[$$((doc #>> '{size}')::int)$$, $$CAST(doc ->> 'size' AS int)$$, $$((doc ->> 'size')::bigint)$$, $$((doc ->> 'size')::numeric)$$, $$((doc ->> 'size')::float8)$$]),
	('price', 'price::numeric', $$((doc ->> 'price')::numeric)$$, 'numeric', '20.5', '21.5', ARRAY[$$((doc #>> '{price}')::numeric)$$, $$(jsonb_extract_path_text(doc, 'price')::numeric)$$]),
	('born', 'born::date', $$((doc ->> 'born')::date)$$, 'date', '2000-01-21', '2000-01-22', ARRAY[$$((doc #>> '{born}')::date)$$]),
	('at', 'at::timestamptz', $$((doc ->> 'at')::timestamptz)$$, 'timestamptz', '2024-01-02T00:00:00Z', '2024-01-02T01:00:00Z', ARRAY[$$((doc #>> '{at}')::timestamptz)$$]),
	('j', 'j::jsonb', $$(doc -> 'j')$$, 'jsonb', '20', '21', ARRAY[$$(doc #> '{j}')$$, $$doc['j']$$, $$jsonb_extract_path(doc, 'j')$$]),
	('tenant', '@tenant', 'tenant', 'int', '20', '21', '{}'),
	('low', $$(lower(doc ->> 'town')) AS low$$, $$lower(doc ->> 'town')$$, 'text', 't20', 't21', ARRAY[$$lower(doc #>> '{town}')$$, $$lower(jsonb_extract_path_text(doc, 'town'))$$]);
SELECT count(indextable.create('f_' || name, 'f', ARRAY[spec, 'name'])) FROM field \gset
SELECT indextable.create('f_ok', 'f', '{ok::boolean,name}') \gset
SELECT indextable.create('f_tenant_town', 'f', '{@tenant,town,name}') \gset
-- the native table: dates and times of texts are no native index expressions, so these are columns there
CREATE TABLE native AS SELECT *, (doc ->> 'born')::date AS born, (doc ->> 'at')::timestamptz AS at FROM f;
ALTER TABLE native ADD PRIMARY KEY (id);
SELECT format('CREATE INDEX ON native (%s, (doc ->> ''name''))', CASE name WHEN 'born' THEN 'born' WHEN 'at' THEN 'at' ELSE '(' || canonical || ')' END) FROM field \gexec
CREATE INDEX ON native (((doc ->> 'ok')::boolean), (doc ->> 'name'));
CREATE INDEX ON native (tenant, (doc ->> 'town'), (doc ->> 'name'));
ANALYZE;

-- condition: of the first field, e, with values x and y; equal: whether the next field is searched behind it
CREATE TABLE condition (c text, equal boolean);
INSERT INTO condition VALUES ('e = x', true), ('x = e', true), ('e IN (x, y)', false), ('e = ANY (ARRAY[x, y])', false), ('e IS NULL', true), ('e IS NOT NULL', false), ('e IS NOT DISTINCT FROM x', true),
	('e > y', false), ('e >= y', false), ('e < x', false), ('e <= x', false), ('x > e', false), ('e BETWEEN x AND y', false), ('e > x AND e <= y', false), ('e = x OR e = y', false), ('e = x OR e IS NULL', false), ('NOT (e <> x)', true),
	('(e = x) IS TRUE', true), ('e = (SELECT x)', true), ('coalesce(e, y) = x', true), ('coalesce(e, x) = x', false), ('NULLIF(e, y) = x', true), ('CASE WHEN e IS NOT NULL THEN e END = x', true), ('(e, id) > (x, 5)', false), ('e IS DISTINCT FROM x', false), ('e <> x OR e IS NULL', false);
CREATE TABLE behind (c text);
INSERT INTO behind VALUES (''), (' AND name = ''n20'''), (' AND name IS NULL'), (' AND name IS NOT NULL'), (' AND name > ''n20'''), (' AND name IN (''n20'', ''n21'')'), (' ORDER BY name LIMIT 5'), (' ORDER BY name DESC LIMIT 5');
CREATE TABLE other (field text, native text, c text);
INSERT INTO other VALUES
	('town', $$doc ->> 'town' = 't20'$$, $$doc @> '{"town": "t20"}'$$), ('town', $$doc ->> 'town' = 't20'$$, $$doc -> 'town' = '"t20"'$$), ('town', $$doc ->> 'town' = 't20'$$, $$doc['town'] = '"t20"'$$), ('town', $$doc ->> 'town' = 't20'$$, $$doc #> '{town}' IN ('"t20"', '"t21"')$$),
	('town', $$doc ->> 'town' = 't20'$$, $$doc @? '$.town ? (@ == "t20")'$$), ('town', $$doc ->> 'town' = 't20'$$, $$doc @@ '$.town == "t20"'$$), ('town', $$doc ->> 'town' = 't20'$$, $$jsonb_path_exists(doc, '$.town ? (@ == $x)', '{"x": "t20"}')$$), ('town', $$doc ->> 'town' = 't20'$$, $$(doc ->> 'town')::varchar(255) = 't20'$$),
	('town', $$doc ->> 'town' = 't20'$$, $$jsonb_path_query_first(doc, '$.town') #>> '{}' = 't20'$$), ('town', $$doc ->> 'town' = 't20'$$, $$doc @> ANY (ARRAY['{"town": "t20"}', '{"town": "t21"}']::jsonb[])$$), ('town', $$doc ->> 'town' IS NULL$$, $$NOT (doc ? 'town')$$), ('town', $$doc ->> 'town' IS NULL$$, $$doc -> 'town' IS NULL$$),
	('town', $$doc ->> 'town' IS NULL$$, $$doc @> '{"town": null}'$$), ('town', $$doc ->> 'town' IS NULL$$, $$doc -> 'town' = 'null'$$), ('town', $$doc ->> 'town' IS NULL$$, $$doc @@ '!exists($.town)'$$), ('town', $$doc ->> 'town' IS NULL$$, $$doc @? '$ ? (!exists(@.town))'$$), ('town', $$doc ->> 'town' IS NULL$$, $$NOT (doc @? '$.town')$$), ('town', $$doc ->> 'town' IS NULL$$, $$NOT (doc ?| '{town,x}')$$),
	('city', $$doc -> 'address' ->> 'city' = 'c20'$$, $$doc @> '{"address": {"city": "c20"}}'$$), ('city', $$doc -> 'address' ->> 'city' = 'c20'$$, $$doc -> 'address' @> '{"city": "c20"}'$$), ('city', $$doc -> 'address' ->> 'city' IS NULL$$, $$NOT (doc -> 'address' ? 'city')$$),
	('size', $$(doc ->> 'size')::int = 20$$, $$doc ->> 'size' = '20'$$), ('size', $$(doc ->> 'size')::int = 20$$, $$doc @> '{"size": 20}'$$), ('size', $$(doc ->> 'size')::int = 20$$, $$(doc -> 'size')::int = 20$$), ('size', $$(doc ->> 'size')::int > 190$$, $$doc -> 'size' > '190'$$), ('size', $$(doc ->> 'size')::int > 190$$, $$doc @@ '$.size > 190'$$), ('size', $$(doc ->> 'size')::int IS NULL$$, $$doc ->> 'size' IS NULL$$), ('size', $$(doc ->> 'size')::int IS NULL$$, $$NOT (doc ? 'size')$$),
	('price', $$(doc ->> 'price')::numeric = 20.5$$, $$(doc -> 'price')::numeric = 20.5$$), ('price', $$(doc ->> 'price')::numeric > 190$$, $$(doc ->> 'price')::float8 > 190$$), ('price', $$(doc ->> 'price')::numeric IS NULL$$, $$doc ->> 'price' IS NULL$$),
	('ok', $$(doc ->> 'ok')::boolean$$, $$(doc ->> 'ok')::boolean$$), ('ok', $$(doc ->> 'ok')::boolean$$, $$(doc ->> 'ok')::boolean IS TRUE$$), ('ok', $$(doc ->> 'ok')::boolean$$, $$(doc ->> 'ok')::boolean = true$$), ('ok', $$(doc ->> 'ok')::boolean IS NULL$$, $$(doc ->> 'ok')::boolean IS UNKNOWN$$), ('ok', $$(doc ->> 'ok')::boolean$$, $$(doc ->> 'ok')::boolean IS NOT FALSE$$), ('ok', $$(doc ->> 'ok')::boolean$$, $$doc @> '{"ok": true}'$$),
	('ok', $$NOT (doc ->> 'ok')::boolean$$, $$NOT (doc ->> 'ok')::boolean AND doc ->> 'name' = 'n20'$$), ('ok', $$NOT (doc ->> 'ok')::boolean$$, $$(doc ->> 'ok')::boolean IS FALSE AND doc ->> 'name' = 'n20'$$),
	('at', $$at >= '2024-01-13'$$, $$(doc ->> 'at')::timestamptz::date = '2024-01-13'$$), ('born', $$born = '2000-01-21'$$, $$(doc ->> 'born')::timestamp = '2000-01-21'$$), ('born', $$born >= '2000-10-20'$$, $$date_trunc('day', (doc ->> 'born')::timestamp) >= '2000-10-20'$$),
	('j', $$(doc -> 'j') = '20'$$, $$doc @> '{"j": 20}'$$), ('j', $$(doc -> 'j') IS NULL$$, $$doc ->> 'j' IS NULL$$), ('j', $$(doc -> 'j') IS NULL$$, $$NOT (doc ? 'j')$$);
CREATE TABLE query (sql text, native text);
-- spelled: a condition with an expression and values in it
CREATE FUNCTION spelled(c text, e text, x text, y text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(CASE word WHEN 'e' THEN e WHEN 'x' THEN x WHEN 'y' THEN y ELSE word END, '' ORDER BY n) FROM regexp_matches(c, '[A-Za-z_]+|[^A-Za-z_]+', 'g') WITH ORDINALITY w(words, n), unnest(words) word $$;
INSERT INTO query SELECT format('SELECT id FROM f WHERE (%s)%s', spelled(c.c, sp, x, y), replace(b.c, 'name', $$doc ->> 'name'$$)),
	format('SELECT id FROM native WHERE (%s)%s', spelled(c.c, CASE name WHEN 'born' THEN 'born' WHEN 'at' THEN 'at' ELSE canonical END, x, y), replace(b.c, 'name', $$doc ->> 'name'$$))
FROM condition c, (SELECT name, canonical, spellings, format('%L::%s', x, type) AS x, format('%L::%s', y, type) AS y FROM field) f, unnest(canonical || spellings) sp, behind b WHERE b.c = '' OR c.equal;
INSERT INTO query SELECT 'SELECT id FROM f WHERE ' || c, 'SELECT id FROM native WHERE ' || native FROM other;
INSERT INTO query SELECT format('SELECT id FROM f WHERE tenant = 20 AND %s%s', t, b), format('SELECT id FROM native WHERE tenant = 20 AND %s%s', t, b)
FROM unnest(ARRAY[$$doc ->> 'town' = 't20'$$, $$doc ->> 'town' IS NULL$$, $$doc ->> 'town' IN ('t20', 't21')$$, $$doc ->> 'town' > 't20'$$]) t, unnest(ARRAY['', $$ AND doc ->> 'name' IS NULL$$, $$ AND doc ->> 'name' = 'n20'$$, $$ ORDER BY doc ->> 'name' LIMIT 5$$]) b;

-- search: what a plan searches by, and whether it sorts
CREATE FUNCTION search(query text, planner text, OUT by_first boolean, OUT by_name boolean, OUT sorts boolean) LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE line text;
BEGIN
	PERFORM set_config('indextable.planner', planner, true);
	by_first = false; by_name = false; sorts = false;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		by_first = by_first OR line ~ '(Entry|Index) Cond';
		by_name = by_name OR line ~ '(Entry|Index) Cond.*name';
		sorts = sorts OR line ~ 'Sort Key';
	END LOOP;
END $$;
CREATE TABLE served AS
SELECT sql, own.by_first AND own.by_name >= of_native.by_name AND own.sorts <= of_native.sorts AS searched FROM query, search(sql, 'force') AS own, search(native, 'off') AS of_native WHERE of_native.by_first;
SELECT count(*) > 2000 AS enough, count(*) FILTER (WHERE searched) >= 0.95 * count(*) AS nearly_all FROM served;
SELECT sql FROM served WHERE NOT searched ORDER BY sql COLLATE "C";
SET client_min_messages = warning;
DROP SCHEMA planner_searched CASCADE;
