-- Values that are known only when a scan starts: prefixes in jsonpath, and those of other tables. The answers are those without
-- index tables.
SET client_min_messages = warning;
CREATE SCHEMA valuestest;
SET search_path = valuestest;
CREATE TABLE f (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO f SELECT i, jsonb_build_object('sku', 's' || i % 200, 'no', i % 150, 'kind', 'k' || i % 10, 'tags', jsonb_build_array('t' || i % 90)) FROM generate_series(1, 3000) i;
INSERT INTO f VALUES (0, '{"sku": "é"}'), (-1, '{"sku": "éa"}'), (-2, '{"sku": "ê"}'), (-3, '{"sku": ""}'), (-4, '{"sku": null}'), (-5, '{}'), (-6, '{"sku": 17}'), (-7, '{"sku": "s1\u007f"}'), (-8, '{"sku": "s2"}');
CREATE TABLE other (sku text, no int, kind text, doc jsonb);
INSERT INTO other SELECT 's' || i, i, 'k' || i % 50, jsonb_build_object('sku', 's' || i) FROM generate_series(1, 300) i;
CREATE TABLE parts (LIKE f INCLUDING ALL) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (1000);
CREATE TABLE parts_2 PARTITION OF parts DEFAULT;
INSERT INTO parts TABLE f;
SELECT indextable.create('f_sku', 'f', ARRAY['sku COLLATE "C"']), indextable.create('f_no', 'f', '{no::int}'), indextable.create('f_kn', 'f', '{kind, no::int}'),
	indextable.create('f_tags', 'f', '{tags[*]}'), indextable.create('parts_sku', 'parts', ARRAY['sku COLLATE "C"']) \gset
ANALYZE f, parts, other, f_sku, f_no, f_kn, f_tags, parts_sku;

-- answered: how many rows a query finds, whether an index table of the fact table is searched, and whether the answer differs without
CREATE FUNCTION answered(query text) RETURNS TABLE (rows bigint, searched boolean, differs boolean) LANGUAGE plpgsql AS $$
DECLARE native text; answer text;
BEGIN
	SET LOCAL indextable.planner = off;
	EXECUTE format('SELECT count(*), string_agg(q::text, '','' ORDER BY q::text) FROM (%s) q', query) INTO rows, native;
	SET LOCAL indextable.planner = force;
	EXECUTE format('SELECT string_agg(q::text, '','' ORDER BY q::text) FROM (%s) q', query) INTO answer;
	SELECT bool_or(e.reason = 'searched') INTO searched FROM indextable.explain(query) e WHERE e.used;
	differs := answer IS DISTINCT FROM native;
	RETURN NEXT;
END $$;

-- ---- starts with a variable
SET plan_cache_mode = force_generic_plan;
PREPARE starting(jsonb) AS SELECT string_agg(id::text, ' ' ORDER BY id) FROM f WHERE jsonb_path_exists(doc, '$.sku ? (@ starts with $x)', $1) AND id < 30;
SET indextable.planner = force;
PREPARE shown(jsonb) AS SELECT id FROM f WHERE jsonb_path_exists(doc, '$.sku ? (@ starts with $x)', $1) AND id < 30;
EXPLAIN (COSTS OFF) EXECUTE shown('{"x": "s2"}');
DEALLOCATE shown;
CREATE TABLE answers (planner text, value jsonb, answer text);
DO $$
DECLARE planner text; value jsonb; answer text;
BEGIN
	FOREACH planner IN ARRAY '{off,force}'::text[] LOOP
		PERFORM set_config('indextable.planner', planner, true);
		FOREACH value IN ARRAY ARRAY['{"x": "s2"}', '{"x": "s1"}', '{"x": "s1\u007f"}', '{"x": "é"}', '{"x": ""}', '{"x": 17}', '{"x": null}', '{"x": ["s1"]}', '{"x": "none"}']::jsonb[] LOOP
			EXECUTE format('EXECUTE starting(%L)', value) INTO answer;
			INSERT INTO answers VALUES (planner, value, answer);
		END LOOP;
	END LOOP;
END $$;
SELECT value, a.answer, a.answer IS DISTINCT FROM b.answer AS differs FROM answers a JOIN answers b USING (value) WHERE a.planner = 'off' AND b.planner = 'force' ORDER BY value::text COLLATE "C";
DEALLOCATE starting;
RESET plan_cache_mode;
SELECT a.*, c FROM unnest(ARRAY[$$jsonb_path_exists(doc, '$.sku ? (@ starts with $x)', jsonb_build_object('x', 's1'))$$, $$jsonb_path_match(doc, '$.sku starts with $x', jsonb_build_object('x', 's1'))$$,
	$$jsonb_path_exists(doc, '$ ? (@.sku starts with $x && @.kind == $y)', jsonb_build_object('x', 's1', 'y', 'k3'))$$, $$jsonb_path_exists(doc, '$.kind ? (@ starts with $x)', jsonb_build_object('x', 'k1'))$$,
	$$jsonb_path_exists(doc, '$.sku ? (@ starts with "s1")')$$, $$jsonb_path_exists(doc, '$.sku ? (@ starts with $x)', '{"x": "s1"}')$$]) c, answered('SELECT id FROM f WHERE ' || c) a;
SELECT a.* FROM answered($$SELECT f.id, o.no FROM other o JOIN f ON jsonb_path_exists(f.doc, '$.sku ? (@ starts with $sku)', o.doc) WHERE o.no IN (2, 17, 150)$$) a;

-- ---- semijoins: the rows of the other table come once each, as the outer side of a nested loop
SELECT a.*, c FROM unnest(ARRAY[$$doc ->> 'sku' IN (SELECT sku FROM other WHERE kind = 'k7')$$, $$EXISTS (SELECT FROM other o WHERE o.sku = f.doc ->> 'sku' AND kind = 'k7')$$, $$(doc ->> 'no')::int IN (SELECT no FROM other WHERE kind = 'k7')$$,
	$$(doc ->> 'no')::int IN (SELECT no::bigint FROM other WHERE kind = 'k7')$$, $$doc ->> 'sku' = ANY (ARRAY(SELECT sku FROM other WHERE kind = 'k7'))$$, $$(doc ->> 'no')::int = ANY (ARRAY(SELECT no FROM other WHERE kind = 'k7'))$$,
	$$doc ->> 'sku' IN (SELECT o.doc ->> 'sku' FROM other o WHERE kind = 'k7')$$, $$doc ->> 'sku' IN (SELECT sku FROM other WHERE kind = 'k7' UNION SELECT 's9')$$, $$doc ->> 'sku' IN (SELECT sku FROM other WHERE kind = 'k7' ORDER BY no LIMIT 3)$$,
	$$(doc ->> 'kind', (doc ->> 'no')::int) IN (SELECT kind, no FROM other WHERE kind = 'k7')$$, $$doc ->> 'kind' = 'k1' AND (doc ->> 'no')::int IN (SELECT no FROM other WHERE kind = 'k7')$$,
	$$doc -> 'tags' ?| ARRAY(SELECT 't' || no FROM other WHERE kind = 'k7')$$, $$doc ->> 'sku' = (SELECT sku FROM other WHERE no = 7)$$, $$id IN (SELECT id FROM f g WHERE g.doc ->> 'sku' IN (SELECT sku FROM other WHERE kind = 'k7'))$$]) c,
	answered('SELECT id FROM f WHERE ' || c) a;
SELECT a.*, q FROM unnest(ARRAY[$$SELECT sku FROM other o WHERE kind = 'k7' AND EXISTS (SELECT FROM f WHERE f.doc ->> 'sku' = o.sku)$$, $$SELECT sku FROM other o WHERE kind = 'k7' AND NOT EXISTS (SELECT FROM f WHERE f.doc ->> 'sku' = o.sku)$$,
	$$SELECT o.sku, id FROM other o LEFT JOIN f ON f.doc ->> 'sku' = o.sku WHERE kind = 'k7'$$, $$WITH w AS MATERIALIZED (SELECT sku FROM other WHERE kind = 'k7') SELECT id FROM f WHERE doc ->> 'sku' IN (TABLE w)$$,
	$$SELECT id FROM parts WHERE doc ->> 'sku' IN (SELECT sku FROM other WHERE kind = 'k7')$$, $$SELECT id FROM parts WHERE EXISTS (SELECT FROM other o WHERE o.sku = parts.doc ->> 'sku' AND kind = 'k7')$$,
	$$SELECT id FROM parts WHERE doc ->> 'sku' = ANY (ARRAY(SELECT sku FROM other WHERE kind = 'k7'))$$]) q, answered(q) a;

-- ---- a text that is not known yet: a number in an array may have it, too, and does not exist there as a string
CREATE TABLE mixed (id int PRIMARY KEY, doc jsonb NOT NULL);
SELECT indextable.create('mixed_tag', 'mixed', '{tags[*]}') \gset
INSERT INTO mixed VALUES (1, '{"tags": ["1", "a"]}'), (2, '{"tags": ["b"]}');
SET indextable.planner = force;
SET plan_cache_mode = force_generic_plan;
PREPARE existing(text) AS SELECT id FROM mixed WHERE doc -> 'tags' ? $1;
EXECUTE existing('1');
INSERT INTO mixed VALUES (3, '{"tags": [1, "a"]}');
EXECUTE existing('1');
SET indextable.planner = off;
EXECUTE existing('1');

DROP SCHEMA valuestest CASCADE;
