-- Queries of the elements of arrays that ask for a member which an index table does not have, wherever a query may ask for
-- something: they return, and raise, what they do natively. Nothing is printed but what differs, and which kinds of plans were tried.
\set QUIET on
SET client_min_messages = warning;
SET indextable.advice = off;
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/planner.psql
\set ECHO none
\pset tuples_only on
\pset format unaligned
CREATE SCHEMA elements;
SET search_path = elements;
CREATE TABLE f (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO f SELECT i, jsonb_build_object('name', 'n' || i % 4, 'tags', jsonb_build_array('t' || i % 5, 'u' || i % 3), 'lines', jsonb_build_array(
	jsonb_build_object('sku', 's' || i % 7, 'qty', i % 5), jsonb_strip_nulls(jsonb_build_object('sku', 't' || i % 3, 'qty', 5 + i % 4, 'note', CASE WHEN i % 2 = 0 THEN 'x' END))))
	FROM generate_series(1, 40) i;
INSERT INTO f VALUES (0, '{"name": "none"}'), (-1, '{"lines": [], "tags": []}');
ANALYZE f;
-- Where elements come from: %s are an expression of an element, and one that all index tables have.
CREATE TABLE source (items text, key text, exprs text[]);
INSERT INTO source VALUES
	('f, jsonb_array_elements(doc -> ''lines'') l', 'l ->> ''sku''', ARRAY['l ->> ''sku''', '(l ->> ''qty'')::int', 'l ->> ''note''', 'l ->> ''absent''', 'l', 'l -> ''qty''',
		'coalesce(l ->> ''qty'', l ->> ''sku'')', '(l ->> ''note'')::int', 'doc ->> ''name''', 'doc -> ''lines'' -> 0 ->> ''qty''', 'id']),
	('f, jsonb_to_recordset(doc -> ''lines'') l(sku text, qty int, note text)', 'sku', '{sku,qty,note,note::int,l,name}'),
	('f CROSS JOIN LATERAL jsonb_array_elements_text(doc -> ''tags'') l', 'l', ARRAY['l', 'length(l)', 'doc ->> ''name''', 'l::int']),
	('f LEFT JOIN LATERAL jsonb_array_elements(doc -> ''lines'') l ON true', 'l ->> ''sku''', ARRAY['l ->> ''sku''', '(l ->> ''qty'')::int', 'doc ->> ''name'''])
	;
UPDATE source SET exprs = array_replace(exprs, 'name', 'doc ->> ''name''');
CREATE TABLE form (query text);
INSERT INTO form VALUES ('SELECT %1$s FROM %3$s'), ('SELECT %1$s, count(*) FROM %3$s GROUP BY 1'), ('SELECT DISTINCT %1$s FROM %3$s'), ('SELECT DISTINCT %2$s, %1$s FROM %3$s'),
	('SELECT count(%1$s) FROM %3$s'), ('SELECT %2$s, max((%1$s)::text) FROM %3$s GROUP BY 1'), ('SELECT %2$s, count(DISTINCT %1$s) FROM %3$s GROUP BY 1'),
	('SELECT avg(length((%1$s)::text)), count(*) FROM %3$s'), ('SELECT count(*) FILTER (WHERE %1$s IS NOT NULL) FROM %3$s'),
	('SELECT %2$s, count(*) FILTER (WHERE (%1$s)::text > ''3''), count(*) FROM %3$s GROUP BY 1'), ('SELECT sum(CASE WHEN (%1$s)::text > ''3'' THEN 1 ELSE 0 END) FROM %3$s'),
	('SELECT string_agg((%1$s)::text, '','' ORDER BY (%1$s)::text) FROM %3$s'), ('SELECT array_agg(%2$s ORDER BY (%1$s)::text, %2$s) FROM %3$s'),
	('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY (%1$s)::text) FROM %3$s'),
	('SELECT %2$s, count(*) FROM %3$s GROUP BY 1 HAVING count(%1$s) > 3'), ('SELECT %2$s, count(*) FROM %3$s GROUP BY 1 HAVING max((%1$s)::text) > ''3'''),
	('SELECT count(*) FROM %3$s WHERE (%1$s)::text > ''3'''), ('SELECT %2$s, count(*) FROM %3$s WHERE %1$s IS NOT NULL GROUP BY 1'),
	('SELECT %2$s FROM %3$s WHERE (%1$s)::text = ''3'''), ('SELECT %2$s, count(*) FROM %3$s GROUP BY %1$s, 1'), ('SELECT count(*) FROM %3$s GROUP BY %1$s, %2$s'),
	('SELECT %2$s, count(*) FROM %3$s GROUP BY 1 ORDER BY max((%1$s)::text), 1'), ('SELECT %2$s FROM %3$s GROUP BY %2$s, (%1$s)::text ORDER BY (%1$s)::text, 1 LIMIT 50'),
	('SELECT %2$s, %1$s, count(*) FROM %3$s GROUP BY ROLLUP (1, 2)'), ('SELECT %2$s, (%1$s)::text, rank() OVER (PARTITION BY %2$s ORDER BY (%1$s)::text) FROM %3$s'),
	('SELECT %2$s, count(%1$s) FROM %3$s WHERE %2$s = ''t1'' GROUP BY 1'), ('SELECT %1$s FROM %3$s WHERE %2$s IN (''s1'', ''t1'')'), ('SELECT (SELECT max((%1$s)::text)) FROM %3$s'),
	('SELECT count(*) FROM (SELECT %2$s, %1$s FROM %3$s GROUP BY 1, 2) q'), ('SELECT max((SELECT (%1$s)::text)) FROM %3$s');
CREATE TABLE query AS SELECT DISTINCT format(query, expr, key, items) AS query FROM source, unnest(exprs) expr, form;
-- and elements that the target list unnests
INSERT INTO query SELECT DISTINCT format(q, e, 'jsonb_array_elements(doc -> ''lines'') ->> ''sku''') FROM unnest(ARRAY['SELECT %1$s FROM f', 'SELECT %1$s, count(*) FROM f GROUP BY 1', 'SELECT DISTINCT %1$s FROM f',
		'SELECT %2$s, %1$s, count(*) FROM f GROUP BY 1, 2', 'SELECT %2$s, count(*) FROM f GROUP BY 1, %1$s', 'SELECT %2$s, max(doc ->> ''name'') FROM f WHERE id > 3 GROUP BY 1',
		'SELECT count(*), max(x::text) FROM (SELECT %1$s x, %2$s FROM f) s', 'SELECT %1$s, count(*) FROM f WHERE doc @> ''{"lines": [{"sku": "s1"}]}'' GROUP BY 1']) q,
	unnest(ARRAY['jsonb_array_elements(doc -> ''lines'') ->> ''sku''', 'jsonb_array_elements(doc -> ''lines'') ->> ''qty''', '(jsonb_array_elements(doc -> ''lines'') ->> ''note'')::int',
		'jsonb_array_elements(doc -> ''lines'')', 'jsonb_array_elements_text(doc -> ''tags'')', 'length(jsonb_array_elements_text(doc -> ''tags''))']) e;
CREATE TABLE native AS SELECT query, a.answer FROM query, pg_temp.answer('off', query, NULL, NULL, 'auto') a;
CREATE FUNCTION pg_temp.sorted(answer text[]) RETURNS text[] LANGUAGE sql AS $$
	SELECT CASE WHEN bool_or(line ~ '^22P02 ') THEN '{22P02}' ELSE array_agg(line ORDER BY line COLLATE "C") END FROM unnest(answer) line
$$;
-- try: what differs with the only index table that there is, and drops it
CREATE FUNCTION pg_temp.try(name regclass) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE q record; other record; way text; kinds text[] = '{}';
BEGIN
	FOR q IN SELECT * FROM native ORDER BY query COLLATE "C" LOOP
		FOREACH way IN ARRAY ARRAY['force', 'fallback'] LOOP
			other := pg_temp.answer(way, q.query, NULL, NULL, 'auto');
			-- which of the values that are no numbers comes first, and after what, is left open
			IF pg_temp.sorted(other.answer) IS DISTINCT FROM pg_temp.sorted(q.answer) THEN
				RETURN NEXT format('%s, %s: %s: %s, natively %s', name, way, q.query, left(other.answer::text, 200), left(q.answer::text, 200));
			END IF;
			kinds := kinds || other.scans;
			EXIT WHEN other.scans = 'native';
		END LOOP;
	END LOOP;
	RETURN NEXT name || ': ' || array_to_string(ARRAY(SELECT DISTINCT k COLLATE "C" FROM unnest(kinds) k ORDER BY 1), '; ');
	PERFORM indextable.drop(name);
END $$;
SELECT count(*) > 500, count(*) FILTER (WHERE answer[1] ~ '^22P02 ') > 50, count(*) FILTER (WHERE answer[1] ~ '^(0A|42|XX)') FROM native;
SELECT indextable.create('sku', 'f', '{lines[*].sku}', 'normalized') \gset
ANALYZE sku;
SELECT pg_temp.try('sku');
SELECT indextable.create('sku_lines', 'f', '{lines[*].sku}', 'partial', include => '{name,lines::jsonb}') \gset
ANALYZE sku_lines;
SELECT pg_temp.try('sku_lines');
SELECT indextable.create('sku_doc', 'f', '{lines[*].sku}', 'denormalized') \gset
ANALYZE sku_doc;
SELECT pg_temp.try('sku_doc');
SELECT indextable.create('sku_totals', 'f', '{lines[*].sku}', 'totals', totals => '{count(*)}') \gset
ANALYZE sku_totals;
SELECT pg_temp.try('sku_totals');
SELECT indextable.create('line', 'f', '{lines[*]::jsonb AS line}', 'normalized') \gset
ANALYZE line;
SELECT pg_temp.try('line');
SELECT indextable.create('line_doc', 'f', '{lines[*]::jsonb AS line}', 'denormalized') \gset
ANALYZE line_doc;
SELECT pg_temp.try('line_doc');
SELECT indextable.create('tag_doc', 'f', '{tags[*]}', 'denormalized') \gset
ANALYZE tag_doc;
SELECT pg_temp.try('tag_doc');
SELECT indextable.create('tag_totals', 'f', '{tags[*],name}', 'totals', totals => '{count(*)}') \gset
ANALYZE tag_totals;
SELECT pg_temp.try('tag_totals');
DROP SCHEMA elements CASCADE;
