-- Indexes that users put on index tables with [*]: what subqueries, and joins, test of elements is found by them. The answers are those
-- without index tables.
SET client_min_messages = warning;
CREATE SCHEMA usersindexeselements;
SET search_path = usersindexeselements;
CREATE EXTENSION pg_trgm;
LOAD 'indextable';
DO $$ BEGIN PERFORM FROM indextable.explain('SELECT 1'); END $$;
CREATE TABLE f (id int PRIMARY KEY, doc jsonb NOT NULL, names text[]);
INSERT INTO f SELECT i, jsonb_build_object('town', 't' || i % 40, 'tags', jsonb_build_array('Tag' || i % 300, 'Tag' || i % 7, 'all'), 'lines', (SELECT jsonb_agg(jsonb_build_object(
		'sku', 'Sku' || (i * l) % 400 || CASE WHEN l = 2 THEN ' Ann' ELSE ' bob' END, 'qty', i % 50 + l, 'note', 'word' || (i + l) % 60, 'low', i % 30, 'high', i % 30 + l,
		'parts', jsonb_build_array(jsonb_build_object('name', 'P' || i % 90, 'n', l), jsonb_build_object('name', 'P' || (i + l) % 90, 'n', 9)))) FROM generate_series(1, 1 + i % 3) l)),
	ARRAY['Name' || i % 200, 'Other' || i % 11] FROM generate_series(1, 2000) i;
-- an element that comes twice; what is no array, and what is within one and no object
INSERT INTO f SELECT 3000 + i, doc || jsonb_build_object('lines', (doc -> 'lines') || (doc -> 'lines')), names FROM f, generate_series(0, 2) i WHERE id = 2 LIMIT 3;
INSERT INTO f VALUES (0, '{}'), (-1, '{"lines": null, "tags": null}', '{}'), (-2, '{"lines": [], "tags": []}', '{NULL}'), (-3, '{"lines": [{"sku": null, "qty": 3}, {"qty": 3}, {"sku": "Sku12 Ann"}]}'),
	(-4, '{"lines": [null, {"sku": ""}], "tags": [null, "", 12]}'), (-5, '{"lines": [{"sku": 12, "qty": "12", "note": null}]}', '{Name12,Name12}'), (-6, '{"tags": [["Tag12"], {"Tag12": 1}]}');
CREATE TABLE parts (LIKE f INCLUDING ALL) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (1000);
CREATE TABLE parts_2 PARTITION OF parts DEFAULT;
INSERT INTO parts TABLE f;
SELECT indextable.create('f_line', 'f', '{lines[*].sku, lines[*].qty::int}', include => '{town, lines[*].note, lines[*].low::int, lines[*].high::int}'),
	indextable.create('f_sparse', 'f', '{lines[*].note, lines[*].low::int}', sparse => true), indextable.create('f_tag', 'f', '{tags[*]}'), indextable.create('f_name', 'f', '{@names[*]}'),
	indextable.create('f_part', 'f', '{lines[*].parts[*].name, lines[*].sku}', include => '{lines[*].parts[*].n::int}'),
	indextable.create('parts_line', 'parts', '{lines[*].sku, lines[*].qty::int}'), indextable.create('f_filtered', 'f', '{lines[*].qty::int}', include => '{lines[*].sku}', filter => $$doc ->> 'town' = 't12'$$) \gset
CREATE INDEX line_sku ON f_line USING gin (sku gin_trgm_ops);
CREATE INDEX line_qty ON f_line (qty);
CREATE INDEX line_note ON f_line USING gin (to_tsvector('simple', note));
CREATE INDEX line_span ON f_line USING gist (int4range(low, high));
CREATE INDEX sparse_note ON f_sparse USING gin (note gin_trgm_ops);
CREATE INDEX tag_trgm ON f_tag USING gin (tags gin_trgm_ops);
CREATE INDEX name_trgm ON f_name USING gin (names gin_trgm_ops);
CREATE INDEX part_name ON f_part USING gin (name gin_trgm_ops);
CREATE INDEX part_sku ON f_part USING gin (sku gin_trgm_ops);
CREATE INDEX parts_sku ON parts_line USING gin (sku gin_trgm_ops);
CREATE INDEX filtered_sku ON f_filtered USING gin (sku gin_trgm_ops);
VACUUM ANALYZE;

-- answered: how many rows a query finds, by which index of a user it is said to find entries, and whether the answer differs without;
-- -1: it is an error without
CREATE FUNCTION answered(query text) RETURNS TABLE (rows bigint, by_index text, differs boolean) LANGUAGE plpgsql AS $$
DECLARE native text; answer text;
BEGIN
	SET LOCAL indextable.planner = off;
	BEGIN
		EXECUTE format('SELECT count(*), string_agg(q::text, '','' ORDER BY q::text) FROM (%s) q', query) INTO rows, native;
	EXCEPTION WHEN OTHERS THEN rows := -1;
	END;
	SET LOCAL indextable.planner = force;
	BEGIN
		EXECUTE format('SELECT string_agg(q::text, '','' ORDER BY q::text) FROM (%s) q', query) INTO answer;
	EXCEPTION WHEN OTHERS THEN answer := SQLERRM;
	END;
	SELECT string_agg(substring(e.reason FROM 'searched by its index (.*)'), ' ' ORDER BY e.reason COLLATE "C") INTO by_index FROM indextable.explain(query) e WHERE e.used;
	-- Where a plan without index tables fails, one with them may have an answer.
	differs := rows >= 0 AND answer IS DISTINCT FROM native;
	RETURN NEXT;
END $$;

-- ---- of one element, of several, and of elements within elements
SELECT a.*, c FROM unnest(ARRAY[$$l ->> 'sku' ILIKE '%ku12%'$$, $$l ->> 'sku' ILIKE '%ku12%ANN' AND (l ->> 'qty')::int > 10$$, $$(l ->> 'qty')::int = 52$$, $$(l ->> 'qty')::int BETWEEN 51 AND 52 AND l ->> 'sku' LIKE '%Ann'$$,
	$$l ->> 'sku' ~ 'u1[23]. '$$, $$l ->> 'sku' ~* 'U12 A' AND l ->> 'other' IS NULL$$, $$l ->> 'sku' ILIKE '%ku12%' OR l ->> 'sku' ILIKE '%ku13%'$$, $$l ->> 'sku' NOT ILIKE '%u%'$$, $$l ->> 'sku' IS NULL$$,
	$$(l ->> 'sku' ILIKE '%ku12%') IS NOT TRUE$$, $$to_tsvector('simple', l ->> 'note') @@ 'word12'$$, $$int4range((l ->> 'low')::int, (l ->> 'high')::int) @> 30$$, $$int4range((l ->> 'low')::int, (l ->> 'high')::int) @> 30 AND l ->> 'sku' LIKE 'Sku%'$$, $$l ->> 'note' LIKE '%rd12%'$$, $$l ->> 'note' LIKE '%rd12%' AND (l ->> 'low')::int >= 0$$,
	$$l ->> 'sku' ILIKE '%ku12%' AND l ->> 'note' LIKE '%rd1%'$$, $$l ->> 'sku' ILIKE (SELECT '%ku12%')$$, $$l ->> 'sku' ILIKE '%' || f.id || ' %'$$, $$l ->> 'sku' ILIKE '%ku12%' AND 60 / (l ->> 'qty')::int > 5$$,
	$$l ->> 'sku' ILIKE '%ku12%' AND random() < 2$$, $$l ->> 'sku' ILIKE '%ku12%' AND f.id > 500$$, $$l -> 'sku' = '"Sku12 Ann"'$$]) c,
	answered($$SELECT id FROM f WHERE EXISTS (SELECT FROM jsonb_array_elements(CASE WHEN jsonb_typeof(doc -> 'lines') = 'array' THEN doc -> 'lines' END) l WHERE $$ || c || ')') a;
SELECT a.*, q FROM unnest(ARRAY[
	-- conditions of two elements, or of none
	$$SELECT id FROM f WHERE EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' ILIKE '%ku12%') AND EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE (l ->> 'qty')::int = 14) AND doc -> 'lines' <> 'null'$$,
	$$SELECT id FROM parts WHERE EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' ILIKE '%ku12%') AND id > 0$$,
	$$SELECT id FROM f WHERE id > 0 AND NOT EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' ILIKE '%ku%')$$,
	$$SELECT id FROM f WHERE id > 0 AND (doc ->> 'town' = 't3' OR EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' ILIKE '%ku12%'))$$,
	$$SELECT id FROM f WHERE id > 0 AND doc ->> 'town' = 't12' AND EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' ILIKE '%ku12%')$$,
	$$SELECT id FROM f WHERE id > 0 AND EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') a, jsonb_array_elements(doc -> 'lines') b WHERE a ->> 'sku' ILIKE '%ku12%' AND b ->> 'sku' ILIKE '%ku24%')$$,
	$$SELECT id FROM f WHERE id > 0 AND EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') a, jsonb_array_elements(doc -> 'lines') b WHERE (a ->> 'sku') || (b ->> 'sku') ILIKE '%ku12%')$$,
	-- other spellings
	$$SELECT id FROM f WHERE id > 0 AND EXISTS (SELECT FROM jsonb_to_recordset(doc -> 'lines') l (sku text, qty int) WHERE sku ILIKE '%ku12%' AND qty > 10)$$,
	$$SELECT id FROM f WHERE id > 0 AND EXISTS (SELECT FROM jsonb_array_elements_text(doc -> 'tags') t WHERE t ILIKE '%ag12%')$$,
	$$SELECT id FROM f WHERE jsonb_typeof(doc -> 'tags') = 'array' AND EXISTS (SELECT FROM jsonb_array_elements_text(CASE WHEN jsonb_typeof(doc -> 'tags') = 'array' THEN doc -> 'tags' END) t WHERE t ILIKE '%ag12%')$$,
	$$SELECT id FROM f WHERE EXISTS (SELECT FROM unnest(names) n WHERE n ILIKE '%me12%')$$, $$SELECT id FROM f WHERE 'Name12' IN (SELECT n FROM unnest(names) n WHERE n ILIKE '%me12%')$$,
	$$SELECT id, n FROM f, unnest(names) n WHERE n ILIKE '%me12%'$$,
	-- elements within elements
	$$SELECT id FROM f WHERE id > 0 AND EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l, jsonb_array_elements(l -> 'parts') p WHERE p ->> 'name' ILIKE '%p12%' AND l ->> 'sku' ILIKE '%ann%')$$,
	$$SELECT id FROM f WHERE id > 0 AND EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l, jsonb_array_elements(l -> 'parts') p WHERE p ->> 'name' ILIKE '%p12%' AND (p ->> 'n')::int > 8)$$,
	$$SELECT id, p FROM f, jsonb_array_elements(doc -> 'lines') l, jsonb_array_elements(l -> 'parts') p WHERE p ->> 'name' ILIKE '%p12%' AND id > 0$$,
	$$SELECT id FROM f WHERE id > 0 AND EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' ILIKE '%ku12%' AND EXISTS (SELECT FROM jsonb_array_elements(l -> 'parts') p WHERE p ->> 'name' ILIKE '%p1%'))$$,
	-- rows of elements
	$$SELECT id, l FROM f, jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' ILIKE '%ku12%' AND id > 0$$, $$SELECT id, l ->> 'sku' FROM f, jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' ILIKE '%ku12%' AND jsonb_typeof(doc -> 'lines') = 'array'$$,
	$$SELECT id, l ->> 'qty' FROM f, jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' ILIKE '%ku12%' AND doc ->> 'town' = 't12'$$, $$SELECT id, l ->> 'sku' FROM f LEFT JOIN jsonb_array_elements(doc -> 'lines') l ON l ->> 'sku' ILIKE '%ku12%' WHERE id > 0$$,
	$$SELECT count(*), sum((l ->> 'qty')::int) FROM f, jsonb_array_elements(CASE WHEN jsonb_typeof(doc -> 'lines') = 'array' THEN doc -> 'lines' END) l WHERE l ->> 'sku' ILIKE '%ku4%'$$,
	$$SELECT id FROM f WHERE id IN (SELECT id FROM f, jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' ILIKE '%ku12%' AND id > 0)$$,
	$$SELECT id FROM f WHERE id > 0 AND EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' ILIKE '%ku12%') FOR UPDATE$$]) q, answered(q) a;
-- once the rows are as they should be, elements are counted as rows by entries alone
DELETE FROM f WHERE id <= 0;
SELECT a.*, q FROM unnest(ARRAY[$$SELECT id, l ->> 'sku' FROM f, jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' ILIKE '%ku12%'$$, $$SELECT id, l ->> 'sku' FROM f, jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' ILIKE '%ku4%' AND doc ->> 'town' = 't2'$$,
	$$SELECT count(*), sum((l ->> 'qty')::int) FROM f, jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' ILIKE '%ku4 %'$$, $$SELECT l ->> 'sku', count(*) FROM f, jsonb_array_elements(doc -> 'lines') l WHERE (l ->> 'qty')::int = 52 GROUP BY 1$$,
	$$SELECT count(*) FROM f, unnest(names) n WHERE n ILIKE '%me12%'$$, $$SELECT p ->> 'name', count(*) FROM f, jsonb_array_elements(doc -> 'lines') l, jsonb_array_elements(l -> 'parts') p WHERE p ->> 'name' ILIKE '%p12%' GROUP BY 1$$,
	$$SELECT jsonb_array_elements_text(doc -> 'tags') FROM f WHERE id = 12$$]) q, answered(q) a;
SET indextable.planner = force;
EXPLAIN (COSTS OFF) SELECT count(*), sum((l ->> 'qty')::int) FROM f, jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' ILIKE '%ku4 %';

-- ---- statements that write, kept plans
BEGIN;
UPDATE f SET doc = jsonb_set(doc, '{lines,0,sku}', '"renamed"') WHERE EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' ILIKE '%ku12%');
SELECT a.*, c FROM unnest(ARRAY['%ku12%', 'RENAMED']) c, answered(format('SELECT id FROM f WHERE EXISTS (SELECT FROM jsonb_array_elements(doc -> ''lines'') l WHERE l ->> ''sku'' ILIKE %L)', c)) a;
ROLLBACK;
SET plan_cache_mode = force_generic_plan;
PREPARE kept(text) AS SELECT count(*) FROM f WHERE EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' ILIKE $1);
-- Each version writes in its own way that there is a subplan.
CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) %s', query) LOOP
		IF line !~ 'SubPlan' THEN RETURN NEXT line; END IF;
	END LOOP;
END $$;
SELECT plan_of($$EXECUTE kept('%ku12%')$$);
EXECUTE kept('%ku12%');
EXECUTE kept(NULL);
DROP INDEX line_sku, part_sku, filtered_sku;
EXECUTE kept('%ku12%');
DEALLOCATE kept;
RESET plan_cache_mode;
-- what to create is said
SET indextable.planner = on;
SELECT index_table, reason FROM indextable.explain($$SELECT doc FROM f WHERE EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' ILIKE '%ku12%')$$);
SELECT count(*) AS missed FROM f WHERE EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' ILIKE '%ku12%');
SELECT field, condition FROM indextable.missed WHERE fact_table = 'f'::regclass AND condition = 'index';

-- ---- row security: what is not leakproof must not be compared before the policies
CREATE INDEX line_sku ON f_line USING gin (sku gin_trgm_ops);
CREATE ROLE regress_users_elements;
GRANT USAGE ON SCHEMA usersindexeselements TO regress_users_elements;
GRANT SELECT ON f TO regress_users_elements;
ALTER TABLE f ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON f USING (id % 2 = 0);
SET indextable.planner = force;
SET ROLE regress_users_elements;
SELECT c, e.used, e.reason FROM unnest(ARRAY[$$l ->> 'sku' ILIKE '%ku12%'$$, $$(l ->> 'qty')::int = 52$$]) c, indextable.explain('SELECT id FROM f WHERE EXISTS (SELECT FROM jsonb_array_elements(doc -> ''lines'') l WHERE ' || c || ')') e WHERE e.index_table = 'f_line'::regclass;
SELECT count(*) FROM f WHERE EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' ILIKE '%ku12%');
RESET ROLE;
SET indextable.planner = off;
SELECT count(*) FROM f WHERE id % 2 = 0 AND EXISTS (SELECT FROM jsonb_array_elements(doc -> 'lines') l WHERE l ->> 'sku' ILIKE '%ku12%');
-- an operator of the reader's is shown no common values of elements that he may not read: a query is planned before rights are checked
CREATE FUNCTION seen(text, text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'seen: %', $1; RETURN $1 = $2; END $$;
CREATE OPERATOR === (FUNCTION = seen, LEFTARG = text, RIGHTARG = text, RESTRICT = eqsel);
CREATE TABLE hidden (id int PRIMARY KEY, doc jsonb, names text[]);
INSERT INTO hidden SELECT i, '{"tags": ["hidden"]}', '{hidden}' FROM generate_series(1, 100) i;
SELECT indextable.create('hidden_tags', 'hidden', '{tags[*]}'), indextable.create('hidden_names', 'hidden', '{@names[*]}') \gset
CREATE INDEX ON hidden_tags (tags text_pattern_ops);
CREATE INDEX ON hidden_names (names text_pattern_ops);
ANALYZE hidden_tags, hidden_names;
GRANT SELECT (id) ON hidden TO regress_users_elements;
SET indextable.planner = force;
SET ROLE regress_users_elements;
EXPLAIN SELECT FROM hidden, jsonb_array_elements_text(doc -> 'tags') t WHERE t === 'x';
EXPLAIN SELECT FROM hidden, jsonb_array_elements_text(doc -> 'tags') t WHERE t === 'x' AND id > 0;
EXPLAIN SELECT FROM hidden, unnest(names) n WHERE n === 'x';
EXPLAIN SELECT FROM hidden WHERE EXISTS (SELECT FROM unnest(names) n WHERE n === 'x');
EXPLAIN SELECT FROM hidden WHERE id IN (SELECT h.id FROM hidden h, unnest(names) n WHERE n === 'x');
RESET ROLE;
DROP EXTENSION pg_trgm CASCADE;
DROP SCHEMA usersindexeselements CASCADE;
DROP ROLE regress_users_elements;
