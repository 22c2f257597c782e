-- Index tables with an entry for every row, sparse => false: how they are kept, and what is found by name.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA rowstest;
SET search_path = rowstest, public;
SELECT setseed(0.3);

-- A value for a field: missing (NULL) or of the wrong kind in 30 %, else one of the given.
CREATE FUNCTION a_value(good jsonb[]) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	odd jsonb[] := ARRAY[NULL, NULL, NULL, 'null', 'null', '[]', '{}', '"x"', '1.5', 'true', '[null]'];
BEGIN
	IF random() < 0.3 THEN
		RETURN odd[1 + floor(random() * array_length(odd, 1))];
	END IF;
	RETURN good[1 + floor(random() * array_length(good, 1))];
END $$;
CREATE FUNCTION a_document() RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	result jsonb := '{}';
	f text;
	v jsonb;
BEGIN
	IF random() < 0.03 THEN
		RETURN (ARRAY[NULL, 'null', '[]', '{}', '7']::jsonb[])[1 + floor(random() * 5)];
	END IF;
	FOREACH f IN ARRAY '{town,name,n,j,tags,lines,country,live}'::text[] LOOP
		v := a_value(CASE f
			WHEN 'town' THEN ARRAY['"Bern"', '"Graz"', '"Linz"', '""']
			WHEN 'name' THEN ARRAY['"Ann"', '"bob"', '"Cy"', '"dora"', '"Eve"']
			WHEN 'n' THEN ARRAY['1', '2', '"3"', '-4']
			WHEN 'j' THEN ARRAY['1', '1.0', '{"a": 1}', '[1, 2]', '"s"']
			WHEN 'tags' THEN ARRAY['["a"]', '["b", "a", "a"]', '["a", null, "c", null]', '"d"', '[[], {}, 1]', '[null, null]']
			WHEN 'lines' THEN ARRAY['[{"sku": "s1"}, {"sku": "s2"}]', '[{"sku": "s1"}, {"q": 1}]', '[{"sku": null}, 3, null]', '{"sku": "s3"}', '{"q": 1}', '[]']
			WHEN 'country' THEN ARRAY['"at"', '"ch"', '"it"']
			ELSE ARRAY['"yes"', '"no"']
		END::jsonb[]);
		IF v IS NOT NULL THEN
			result := result || jsonb_build_object(f, v);
		END IF;
	END LOOP;
	RETURN result;
END $$;

-- ---- which entries there are
CREATE TABLE f (id int PRIMARY KEY, tenant int, doc jsonb);
INSERT INTO f SELECT i, nullif(i % 5, 0), a_document() FROM generate_series(1, 100) i;

-- What each index table should hold.
CREATE TABLE expected (index_table text PRIMARY KEY, recompute text);
CREATE FUNCTION drift(pattern text DEFAULT '%') RETURNS TABLE (what text, side text, entry text) LANGUAGE plpgsql AS $$
DECLARE
	e expected;
BEGIN
	PERFORM indextable.drain();
	FOR e IN SELECT x.* FROM expected x WHERE to_regclass(x.index_table) IS NOT NULL AND x.index_table LIKE pattern ORDER BY x.index_table COLLATE "C" LOOP
		RETURN QUERY SELECT e.index_table, o.* FROM pg_temp.oracle(replace(e.index_table, 'f_place', '(SELECT town, id FROM f_place)'), e.recompute) o;
		RETURN QUERY SELECT e.index_table, 'verify ' || v.kind, coalesce(v.primary_key::text, v.problem) FROM indextable.verify(e.index_table) v;
	END LOOP;
END $$;
\set check 'CALL pg_temp.no_rows(''drift()'');'

INSERT INTO expected VALUES
	('f_town', $$SELECT doc #>> '{town}', doc #>> '{name}', id FROM f$$),
	('f_n', $$SELECT (doc #>> '{n}')::int, doc #>> '{town}', id, doc #>> '{name}' FROM f WHERE doc #>> '{n}' IS NULL OR doc #>> '{n}' ~ '^-?[0-9]+$'$$),
	('f_j', $$SELECT doc #> '{j}', id FROM f$$),
	('f_tag', $$SELECT DISTINCT e.v #>> '{}', doc #>> '{town}', id FROM f, LATERAL (
		SELECT v FROM jsonb_array_elements(CASE jsonb_typeof(doc -> 'tags') WHEN 'array' THEN doc -> 'tags' ELSE '[]' END) v
		UNION ALL SELECT doc -> 'tags' WHERE jsonb_typeof(doc -> 'tags') NOT IN ('array', 'null')) e$$),
	('f_sku', $$SELECT DISTINCT e.v, id FROM f, LATERAL (
		SELECT v ->> 'sku' AS v FROM jsonb_array_elements(CASE jsonb_typeof(doc -> 'lines') WHEN 'array' THEN doc -> 'lines' ELSE '[]' END) v
		UNION ALL SELECT doc #>> '{lines,sku}' WHERE jsonb_typeof(doc -> 'lines') <> 'array' AND doc #>> '{lines,sku}' IS NOT NULL) e$$),
	('f_tagj', $$SELECT DISTINCT e.v, id FROM f, LATERAL (
		SELECT v FROM jsonb_array_elements(CASE jsonb_typeof(doc -> 'tags') WHEN 'array' THEN doc -> 'tags' ELSE '[]' END) v
		UNION ALL SELECT doc -> 'tags' WHERE jsonb_typeof(doc -> 'tags') NOT IN ('array', 'null')) e$$),
	('f_tenant', $$SELECT tenant, doc #>> '{country}', id FROM f$$),
	('f_id', $$SELECT doc #>> '{country}', id, doc #>> '{town}' FROM f$$),
	('f_lower', $$SELECT lower(doc ->> 'name'), tenant * 2, id FROM f$$),
	('f_live', $$SELECT doc #>> '{town}', id, doc #>> '{country}' FROM f WHERE doc ->> 'live' = 'yes'$$),
	('f_async', $$SELECT doc #>> '{country}', doc #>> '{town}', id, doc #>> '{name}' FROM f$$),
	('f_doc', $$SELECT doc #>> '{town}', id, doc FROM f$$),
	('f_hash', $$SELECT doc #>> '{town}', doc #>> '{name}', id FROM f$$),
	('f_range', $$SELECT tenant, doc #>> '{name}', id FROM f$$),
	('f_list', $$SELECT doc #>> '{country}', doc #>> '{name}', id, doc #>> '{town}' FROM f$$),
	('f_place', $$SELECT doc #>> '{town}', id FROM f$$),
	('s_town', $$SELECT doc #>> '{town}', doc #>> '{name}', id FROM f WHERE doc #>> '{town}' IS NOT NULL AND doc #>> '{name}' IS NOT NULL$$);

SELECT indextable.create('f_town', 'f', '{town,name}', sparse => false);
SELECT indextable.create('f_n', 'f', '{n::int,town}', include => '{name}', on_mismatch => 'skip', sparse => false);
SELECT indextable.create('f_j', 'f', '{j::jsonb}', sparse => false);
SELECT indextable.create('f_tag', 'f', '{tags[*],town}', sparse => false);
SELECT indextable.create('f_sku', 'f', '{lines[*].sku}', sparse => false);
SELECT indextable.create('f_tagj', 'f', '{tags[*]::jsonb}', sparse => false);
SELECT indextable.create('f_tenant', 'f', '{@tenant,country}', sparse => false);
SELECT indextable.create('f_id', 'f', '{country,@id}', include => '{town}', sparse => false);
SELECT indextable.create('f_lower', 'f', ARRAY['(lower(doc ->> ''name'')) AS lname', '(tenant * 2) AS twice'], sparse => false);
SELECT indextable.create('f_live', 'f', '{town}', include => '{country}', filter => 'doc ->> ''live'' = ''yes''', sparse => false);
SELECT indextable.create('f_async', 'f', '{country,town}', include => '{name}', maintenance => 'async', sparse => false);
SELECT indextable.create('f_doc', 'f', '{town}', 'denormalized', sparse => false);
SELECT indextable.create('f_hash', 'f', '{town,name}', partitions => 3, sparse => false);
SELECT indextable.create('f_range', 'f', '{@tenant,name}', partition_by => 'RANGE (tenant)', partition_bounds => '{FROM (MINVALUE) TO (2),FROM (2) TO (4)}', sparse => false);
SELECT indextable.create('f_list', 'f', '{country,name}', include => '{town}', partition_by => 'LIST (country)', partition_bounds => '{"IN (''at'')","IN (''ch'', NULL)"}', maintenance => 'async', sparse => false);
SELECT indextable.create('f_place', 'f', '{town}', include => '{@ctid}', sparse => false);
SELECT indextable.create('s_town', 'f', '{town,name}', sparse => true);
:check
-- where NULL is
SELECT tableoid::regclass, count(*) > 0 FROM f_range WHERE tenant IS NULL GROUP BY 1;
SELECT tableoid::regclass, count(*) > 0 FROM f_list WHERE country IS NULL GROUP BY 1;
SELECT count(DISTINCT tableoid) FROM f_hash WHERE town IS NULL;
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid IN ('f_town'::regclass, 'f_id'::regclass, 's_town'::regclass) AND contype IN ('p', 'u') ORDER BY 1;

-- ---- writes
CREATE PROCEDURE churn(n int) LANGUAGE plpgsql AS $$
DECLARE
	k int;
BEGIN
	FOR i IN 1 .. n LOOP
		k := 1 + floor(random() * 200);
		CASE floor(random() * 9)::int
			WHEN 0 THEN INSERT INTO f VALUES (k, nullif(k % 5, 0), a_document()) ON CONFLICT DO NOTHING;
			WHEN 1 THEN INSERT INTO f VALUES (k, nullif(k % 5, 0), a_document()) ON CONFLICT (id) DO UPDATE SET doc = excluded.doc;
			WHEN 2 THEN UPDATE f SET doc = a_document() WHERE id = k;
			WHEN 3 THEN UPDATE f SET doc = a_document() WHERE id BETWEEN k AND k + 5;
			WHEN 4 THEN UPDATE f SET tenant = nullif(floor(random() * 4), 0) WHERE id BETWEEN k AND k + 9;
			WHEN 5 THEN UPDATE f SET doc = doc - 'town' WHERE id BETWEEN k AND k + 5;
			WHEN 6 THEN DELETE FROM f WHERE id BETWEEN k AND k + 2;
			WHEN 7 THEN UPDATE f SET id = id + 1000 WHERE id = k AND NOT EXISTS (SELECT FROM f WHERE id = k + 1000);
			ELSE
				BEGIN
					UPDATE f SET doc = a_document() WHERE id BETWEEN k AND k + 5;
					DELETE FROM f WHERE id = k + 1;
					IF random() < 0.5 THEN
						RAISE 'undone' USING errcode = 'P0099';
					END IF;
				EXCEPTION WHEN SQLSTATE 'P0099' THEN
					NULL;
				END;
		END CASE;
	END LOOP;
END $$;
CALL churn(150);
:check
BEGIN;
CALL churn(60);
SAVEPOINT a;
CALL churn(60);
ROLLBACK TO a;
UPDATE f SET doc = a_document() WHERE id % 3 = 0;
CALL pg_temp.no_rows('drift(''f_t%'')');
COMMIT;
:check
-- many at once, which are found by walking through the index
UPDATE f SET doc = doc || '{"town": null}';
UPDATE f SET doc = jsonb_set(doc, '{town}', to_jsonb('t' || id % 7)) WHERE jsonb_typeof(doc) = 'object' AND id % 2 = 0;
:check
INSERT INTO f SELECT i, nullif(i % 5, 0), a_document() FROM generate_series(2000, 2999) i;
UPDATE f SET doc = a_document() WHERE id BETWEEN 2000 AND 2999;
DELETE FROM f WHERE id BETWEEN 2300 AND 2999;
:check
COPY f FROM stdin;
5000	\N	\N
5001	\N	{}
5002	1	{"tags": [null], "town": null}
5003	1	{"j": null, "n": null}
\.
:check
-- a key that is null beside one that does not fit
INSERT INTO f VALUES (5004, NULL, '{"n": "x"}');
SELECT count(*) FROM f_n WHERE id = 5004;
SELECT indextable.create('f_strict', 'f', '{country, z::int}', sparse => false);
INSERT INTO expected VALUES ('f_strict', $$SELECT doc #>> '{country}', (doc #>> '{z}')::int, id FROM f$$);
INSERT INTO f VALUES (5005, NULL, '{"z": "x"}');
INSERT INTO f VALUES (5005, NULL, '{"z": 3}');
UPDATE f SET doc = '{"z": []}' WHERE id = 5005;
:check
-- ---- look-ups by name
-- null matches nothing, not even what is missing
SELECT count(*) FROM indextable.lookup('f_town', '{"town": null}');
SELECT count(*) FROM indextable.lookup('f_town', '{"town": "Bern", "name": null}');
SELECT count(*) FROM indextable.lookup('f_j', '{"j": null}');
SELECT count(*) FROM indextable.query('f_town', '{"town": "Bern", "name": [null]}');
SELECT count(*) FROM indextable.query('f_town', '{"town": "Bern"}', '{"name": {">=": null}}');
-- by the first field, also what lacks the others
SELECT (SELECT count(*) FROM indextable.lookup('f_town', '{"town": ["Bern", "t3"]}')) = (SELECT count(*) FROM f WHERE doc ->> 'town' IN ('Bern', 't3') AND doc IS NOT NULL) AS same,
	(SELECT count(*) FROM indextable.lookup('f_tenant', '{"tenant": 1}')) = (SELECT count(*) FROM f WHERE tenant = 1) AS tenant,
	(SELECT count(*) FROM indextable.lookup('f_async', '{"country": "at"}')) = (SELECT count(*) FROM f WHERE doc ->> 'country' = 'at') AS async;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT (SELECT count(*) FROM indextable.lookup('f_town', '{"town": ["Bern", "t3"]}')) = (SELECT count(*) FROM f WHERE doc ->> 'town' IN ('Bern', 't3')) AS same;
COMMIT;

-- All pages of a query, from its beginning or its end; the documents are checked.
CREATE FUNCTION pages(t regclass, key jsonb, condition jsonb, descending boolean, size int, back boolean) RETURNS SETOF jsonb LANGUAGE plpgsql AS $$
DECLARE
	cur text;
	page record;
	result jsonb[] := '{}';
BEGIN
	LOOP
		SELECT array_agg(q.entry) AS entries, (array_agg(q.cursor))[1] AS first, (array_agg(q.cursor))[count(*)] AS last, count(*) AS n,
			bool_and(q.document IS NOT DISTINCT FROM (SELECT doc FROM f WHERE id = (q.entry ->> 'id')::int)) AS good
		INTO page FROM indextable.query(t, key, condition, descending, size, cur, true, previous => back) q;
		EXIT WHEN page.n = 0;
		IF NOT page.good THEN
			RAISE INFO 'other documents: %', page.entries;
		END IF;
		result := CASE WHEN back THEN page.entries || result ELSE result || page.entries END;
		cur := CASE WHEN back THEN page.first ELSE page.last END;
	END LOOP;
	RETURN QUERY SELECT unnest(result);
END $$;
-- Compares the pages of all sizes and directions with what plain SQL says.
CREATE PROCEDURE compare_pages(t text, key jsonb, condition jsonb, recompute text, ordering text) LANGUAGE plpgsql SET indextable.planner = off AS $$
DECLARE
	want jsonb[];
	got jsonb[];
	size int;
BEGIN
	FOR d IN 0 .. 1 LOOP
		EXECUTE format('SELECT array_agg(to_jsonb(e) ORDER BY %s) FROM (%s) e',
			CASE d WHEN 0 THEN ordering ELSE replace(ordering, ',', ' DESC,') || ' DESC' END, recompute) INTO want;
		FOREACH size IN ARRAY '{1,2,7,1000}'::int[] LOOP
			FOR back IN 0 .. 1 LOOP
				SELECT array_agg(p) INTO got FROM pages(t::regclass, key, condition, d = 1, size, back = 1) p;
				IF got IS DISTINCT FROM want THEN
					RAISE INFO '% % % descending % size % back %: % of %', t, key, condition, d, size, back, array_length(got, 1), array_length(want, 1);
				END IF;
			END LOOP;
		END LOOP;
	END LOOP;
END $$;
DELETE FROM f WHERE id > 130;
:check
CALL compare_pages('f_town', '{}', NULL, $$SELECT doc ->> 'town' AS town, doc ->> 'name' AS name, id FROM f$$, 'town, name, id');
CALL compare_pages('f_hash', '{}', NULL, $$SELECT doc ->> 'town' AS town, doc ->> 'name' AS name, id FROM f$$, 'town, name, id');
CALL compare_pages('f_range', '{}', NULL, $$SELECT tenant, doc ->> 'name' AS name, id FROM f$$, 'tenant, name, id');
CALL compare_pages('f_list', '{}', NULL, $$SELECT doc ->> 'country' AS country, doc ->> 'name' AS name, id, doc ->> 'town' AS town FROM f$$, 'country, name, id');
CALL compare_pages('f_id', '{}', NULL, $$SELECT doc ->> 'country' AS country, id, doc ->> 'town' AS town FROM f$$, 'country, id');
CALL compare_pages('f_async', '{}', NULL, $$SELECT doc ->> 'country' AS country, doc ->> 'town' AS town, id, doc ->> 'name' AS name FROM f$$, 'country, town, id');
CALL compare_pages('f_doc', '{}', NULL, $$SELECT doc ->> 'town' AS town, id FROM f$$, 'town, id');
CALL compare_pages('f_live', '{}', NULL, $$SELECT doc ->> 'town' AS town, id, doc ->> 'country' AS country FROM f WHERE doc ->> 'live' = 'yes'$$, 'town, id');
CALL compare_pages('s_town', '{}', NULL, $$SELECT doc ->> 'town' AS town, doc ->> 'name' AS name, id FROM f WHERE doc ->> 'town' || (doc ->> 'name') IS NOT NULL$$, 'town, name, id');
-- with a key, with several, and with conditions
CALL compare_pages('f_town', '{"town": "t3"}', NULL, $$SELECT doc ->> 'town' AS town, doc ->> 'name' AS name, id FROM f WHERE doc ->> 'town' = 't3'$$, 'town, name, id');
CALL compare_pages('f_town', '{"town": ["t3", "Bern", "t5", null]}', NULL, $$SELECT doc ->> 'town' AS town, doc ->> 'name' AS name, id FROM f WHERE doc ->> 'town' IN ('t3', 't5', 'Bern')$$, 'town, name, id');
CALL compare_pages('f_hash', '{"town": ["t3", "Bern", "t5"]}', NULL, $$SELECT doc ->> 'town' AS town, doc ->> 'name' AS name, id FROM f WHERE doc ->> 'town' IN ('t3', 't5', 'Bern')$$, 'town, name, id');
CALL compare_pages('f_town', '{}', '{"town": {">": "Graz"}}', $$SELECT doc ->> 'town' AS town, doc ->> 'name' AS name, id FROM f WHERE doc ->> 'town' > 'Graz'$$, 'town, name, id');
CALL compare_pages('f_town', '{}', '{"town": {"<=": "t3"}}', $$SELECT doc ->> 'town' AS town, doc ->> 'name' AS name, id FROM f WHERE doc ->> 'town' <= 't3'$$, 'town, name, id');
CALL compare_pages('f_range', '{}', '{"tenant": {">=": 2, "<": 4}}', $$SELECT tenant, doc ->> 'name' AS name, id FROM f WHERE tenant >= 2 AND tenant < 4$$, 'tenant, name, id');
CALL compare_pages('f_town', '{"town": ["t3", "t5"]}', '{"name": {">=": "B"}}', $$SELECT doc ->> 'town' AS town, doc ->> 'name' AS name, id FROM f WHERE doc ->> 'town' IN ('t3', 't5') AND doc ->> 'name' >= 'B'$$, 'town, name, id');
CALL compare_pages('f_town', '{}', '{"town": {"begins_with": "t"}}', $$SELECT doc ->> 'town' AS town, doc ->> 'name' AS name, id FROM f WHERE starts_with(doc ->> 'town', 't')$$, 'town, name, id');
CALL compare_pages('f_tenant', '{"tenant": 1}', '{"country": {"begins_with": ""}}', $$SELECT tenant, doc ->> 'country' AS country, id FROM f WHERE tenant = 1 AND doc ->> 'country' IS NOT NULL$$, 'tenant, country, id');
-- rows that may have changed are looked at again
BEGIN ISOLATION LEVEL REPEATABLE READ;
CALL compare_pages('f_town', '{}', NULL, $$SELECT doc ->> 'town' AS town, doc ->> 'name' AS name, id FROM f$$, 'town, name, id');
CALL compare_pages('f_async', '{}', NULL, $$SELECT doc ->> 'country' AS country, doc ->> 'town' AS town, id, doc ->> 'name' AS name FROM f$$, 'country, town, id');
COMMIT;
-- a cursor at NULL
SELECT cursor AS at_null FROM indextable.query('f_town', '{}', page_size => 1, previous => true) \gset
SELECT count(*) FROM indextable.query('f_town', '{}', cursor => :'at_null');
-- one of before the index table became sparse
SELECT cursor AS at_null FROM indextable.query('f_hash', '{}', page_size => 1, previous => true) \gset
SELECT indextable.alter('f_hash', sparse => true);
SELECT count(*) FROM indextable.query('f_hash', '{}', cursor => :'at_null');
SELECT (SELECT count(*) FROM indextable.query('f_hash', '{}', cursor => :'at_null', previous => true, page_size => 1000)) = (SELECT count(*) FROM f_hash) AS same;
SELECT indextable.alter('f_hash', sparse => false);
:check

-- ---- alter(), rebuild(), build()
UPDATE expected SET recompute = recompute || $$ WHERE doc #>> '{town}' IS NOT NULL AND doc #>> '{name}' IS NOT NULL$$ WHERE index_table = 'f_town';
UPDATE expected SET recompute = replace(recompute, 'WHERE', 'WHERE 0 < 1 OR') WHERE index_table = 's_town';
CREATE INDEX f_town_name ON f_town (name);
CREATE UNIQUE INDEX s_town_id ON s_town (id) NULLS NOT DISTINCT;
SELECT indextable.alter('f_town', sparse => true);
SELECT indextable.alter('s_town', sparse => false);
:check
SELECT indexrelid::regclass, indisprimary FROM pg_index WHERE indrelid IN ('f_town'::regclass, 's_town'::regclass) ORDER BY indexrelid::regclass::text COLLATE "C";
SELECT a.attrelid::regclass, a.attname FROM pg_attribute a WHERE a.attrelid IN ('f_town'::regclass, 's_town'::regclass) AND a.attnum > 0 AND NOT a.attisdropped AND a.attnotnull ORDER BY 1, a.attnum;
DROP INDEX s_town_id;
CALL churn(30);
:check
UPDATE expected SET recompute = replace(recompute, 'WHERE', 'WHERE 0 < 1 OR') WHERE index_table = 'f_town';
SELECT indextable.alter('f_town', sparse => false, populate => false);
CALL churn(30);
CALL indextable.rebuild('f_town');
CALL churn(30);
:check
-- everything at once
UPDATE expected SET recompute = $$SELECT doc #>> '{town}', doc #>> '{name}', id, doc #>> '{country}' FROM f$$ WHERE index_table = 'f_town';
SELECT indextable.alter('f_town', maintenance => 'async', strategy => 'partial', include => '{country}');
CALL churn(30);
:check
SELECT indextable.alter('f_town', sparse => true, maintenance => 'transactional');
SELECT indextable.alter('f_hash', sparse => true, partitions => 4);
SELECT indextable.alter('f_hash', sparse => false, partitions => 2);
UPDATE expected SET recompute = recompute || $$ WHERE doc #>> '{town}' IS NOT NULL AND doc #>> '{name}' IS NOT NULL$$ WHERE index_table = 'f_town';
CALL churn(30);
:check
UPDATE expected SET recompute = split_part(recompute, ' WHERE', 1) WHERE index_table = 'f_town';
SELECT indextable.alter('f_town', sparse => false, include => '{country,tags::jsonb}');
UPDATE expected SET recompute = replace(recompute, ' FROM', $$, doc #> '{tags}' FROM$$) WHERE index_table = 'f_town';
CALL churn(30);
:check
CALL indextable.rebuild('f_range');
CALL indextable.rebuild('f_list');
CALL indextable.rebuild('f_tag');
CALL indextable.rebuild('f_place');
:check
SELECT indextable.create('f_built', 'f', '{name,town}', populate => false, sparse => false);
INSERT INTO expected VALUES ('f_built', $$SELECT doc #>> '{name}', doc #>> '{town}', id FROM f$$);
CALL churn(20);
CALL indextable.build('f_built');
CALL churn(20);
:check

-- ---- unique ones are sparse
SELECT indextable.create('u', 'f', '{@tenant,@id}', is_unique => true, sparse => false);
SELECT indextable.create('u', 'f', '{@tenant,@id}', is_unique => true);
SELECT indextable.alter('u', sparse => false);
SELECT indextable.alter('u', is_unique => false);
SELECT sparse, is_unique FROM indextable.index_tables WHERE index_table = 'u'::regclass;
INSERT INTO expected VALUES ('u', 'SELECT tenant, id FROM f WHERE tenant IS NOT NULL');
CALL churn(10);
:check
SELECT indextable.alter('u', sparse => false);
UPDATE expected SET recompute = 'SELECT tenant, id FROM f' WHERE index_table = 'u';
CALL churn(20);
:check
SELECT indextable.alter('u', is_unique => true);
SELECT sparse, is_unique FROM indextable.index_tables WHERE index_table = 'u'::regclass;
UPDATE expected SET recompute = 'SELECT tenant, id FROM f WHERE tenant IS NOT NULL' WHERE index_table = 'u';
CALL churn(20);
:check
SELECT indextable.alter('u', is_unique => false, sparse => false);
UPDATE expected SET recompute = 'SELECT tenant, id FROM f' WHERE index_table = 'u';
CALL churn(20);
:check

-- ---- what is said of them
SELECT indextable.definition('f_tag');
SELECT indextable.definition('s_town');
SELECT obj_description('f_tag'::regclass);
SELECT indextable.create('f_tag', 'f', '{tags[*],town}', sparse => false, if_not_exists => true);
SELECT indextable.create('f_tag', 'f', '{tags[*],town}', sparse => true, if_not_exists => true);
SELECT indextable.create('f_tag', 'f', '{tags[*],town}', if_not_exists => true);
SELECT index_table, sparse FROM indextable.index_tables WHERE index_table IN ('f_tag'::regclass, 's_town'::regclass) ORDER BY 1;

-- ---- drift is found and mended
CREATE FUNCTION enable_triggers(t text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	name text;
BEGIN
	FOR name IN SELECT tgname FROM pg_trigger WHERE tgrelid = t::regclass AND tgname LIKE 'indextable\_%' LOOP
		EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER %I', t, name);
	END LOOP;
END $$;
SET client_min_messages = error;
ALTER TABLE f DISABLE TRIGGER USER;
INSERT INTO f VALUES (7000, NULL, '{}'), (7001, 3, '{"town": "Bern", "tags": [null]}');
UPDATE f SET doc = '{}', tenant = NULL WHERE id BETWEEN 20 AND 25;
DELETE FROM f WHERE id BETWEEN 30 AND 40;
SELECT enable_triggers('f');
CALL pg_temp.no_rows($$(SELECT index_table FROM indextable.index_tables i WHERE fact_table = 'f'::regclass AND NOT EXISTS (SELECT FROM indextable.verify(i.index_table))) AS nothing_found$$);
DO $$
DECLARE
	t regclass;
	missing bigint; dangling bigint; stale bigint; remaining bigint;
BEGIN
	FOREACH t IN ARRAY (SELECT array_agg(index_table) FROM indextable.index_tables WHERE fact_table = 'f'::regclass) LOOP
		CALL indextable.repair(t, 1000, missing, dangling, stale, remaining);
	END LOOP;
END $$;
RESET client_min_messages;
:check
CALL churn(20);
:check

-- ---- DDL
SELECT indextable.drop('f_range');
ALTER TABLE f ALTER COLUMN tenant TYPE bigint;
UPDATE expected SET recompute = replace(recompute, 'tenant', 'tenant::bigint');
CALL churn(30);
:check
UPDATE f SET tenant = 0 WHERE tenant IS NULL;
ALTER TABLE f ALTER COLUMN tenant SET NOT NULL;
:check
ALTER TABLE f ALTER COLUMN tenant DROP NOT NULL;
CALL churn(30);
:check
-- what finds entries stays
ALTER TABLE f_tag DROP CONSTRAINT f_tag_tags_town_id_elements_key;
ALTER TABLE f_tag ALTER COLUMN town SET NOT NULL;
DROP INDEX f_tag_tags_town_id_elements_key;
CLUSTER f_tag USING f_tag_tags_town_id_elements_key;
ALTER TABLE f_tag CLUSTER ON f_tag_tags_town_id_elements_key;
ALTER TABLE f_tag REPLICA IDENTITY FULL;
-- an entry too wide for the included fields
SELECT indextable.create('f_note', 'f', '{country,@tenant}', include => '{note}', sparse => false);
INSERT INTO expected VALUES ('f_note', $$SELECT doc #>> '{country}', tenant, id, doc #>> '{note}' FROM f$$);
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'f_note'::regclass AND contype = 'u';
INSERT INTO f VALUES (8000, NULL, jsonb_build_object('note', (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 300) i)));
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'f_note'::regclass AND contype = 'u';
CALL pg_temp.no_rows('drift(''f_note'')');
DELETE FROM f WHERE id = 8000;
CALL churn(20);
:check
TRUNCATE f;
:check
INSERT INTO f SELECT i, nullif(i % 5, 0), a_document() FROM generate_series(1, 200) i;
:check

-- ---- partitions of the fact table, and a primary key that is a key field
CREATE TABLE p (region text, id int, tenant int, doc jsonb, PRIMARY KEY (region, id)) PARTITION BY LIST (region);
CREATE TABLE p_a PARTITION OF p FOR VALUES IN ('a');
CREATE TABLE p_b PARTITION OF p FOR VALUES IN ('b');
CREATE TABLE p_c (tenant int, doc jsonb, region text NOT NULL, id int NOT NULL, PRIMARY KEY (region, id));
INSERT INTO p SELECT (ARRAY['a', 'b'])[1 + i % 2], i, nullif(i % 4, 0), a_document() FROM generate_series(1, 200) i;
INSERT INTO p_c SELECT nullif(i % 4, 0), a_document(), 'c', i FROM generate_series(1, 100) i;
SELECT indextable.create('p_town', 'p', '{town,@region,country}', sparse => false);
SELECT indextable.create('p_tenant', 'p', '{@tenant,@id}', include => '{town}', partitions => 2, sparse => false);
SELECT indextable.create('p_region', 'p', '{country,@region}', partition_by => 'LIST (region)', partition_bounds => '{"IN (''a'')"}', sparse => false);
SELECT indextable.create('p_tag', 'p', '{tags[*],town}', maintenance => 'async', sparse => false);
INSERT INTO expected VALUES
	('p_town', $$SELECT doc #>> '{town}', region, doc #>> '{country}', id FROM p$$),
	('p_tenant', $$SELECT tenant, id, region, doc #>> '{town}' FROM p$$),
	('p_region', $$SELECT doc #>> '{country}', region, id FROM p$$),
	('p_tag', $$SELECT DISTINCT e.v #>> '{}', doc #>> '{town}', region, id FROM p, LATERAL (
		SELECT v FROM jsonb_array_elements(CASE jsonb_typeof(doc -> 'tags') WHEN 'array' THEN doc -> 'tags' ELSE '[]' END) v
		UNION ALL SELECT doc -> 'tags' WHERE jsonb_typeof(doc -> 'tags') NOT IN ('array', 'null')) e$$);
CALL pg_temp.no_rows('drift(''p%'')');
ALTER TABLE p ATTACH PARTITION p_c FOR VALUES IN ('c');
CALL pg_temp.no_rows('drift(''p%'')');
UPDATE p SET region = 'c', id = id + 1000 WHERE id % 7 = 0 AND region = 'a';
UPDATE p SET doc = a_document(), tenant = NULL WHERE id % 5 = 0;
CALL pg_temp.no_rows('drift(''p%'')');
TRUNCATE p_b;
CALL pg_temp.no_rows('drift(''p%'')');
ALTER TABLE p DETACH PARTITION p_c;
CALL pg_temp.no_rows('drift(''p%'')');
DROP TABLE p_a;
CALL pg_temp.no_rows('drift(''p%'')');
INSERT INTO p SELECT 'b', i, nullif(i % 4, 0), a_document() FROM generate_series(1, 50) i;
CALL pg_temp.no_rows('drift(''p%'')');
DROP TABLE p, p_c;

-- ---- a primary key that is deferrable
CREATE TABLE d (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, doc jsonb);
INSERT INTO d SELECT i, a_document() FROM generate_series(1, 50) i;
SELECT indextable.create('d_town', 'd', '{town,name}', include => '{country}', sparse => false);
INSERT INTO expected VALUES ('d_town', $$SELECT doc #>> '{town}', doc #>> '{name}', id, doc #>> '{country}' FROM d$$);
UPDATE d SET id = 51 - id;
UPDATE d SET id = id + 1, doc = a_document();
BEGIN;
INSERT INTO d VALUES (7, '{}'), (8, '{"name": "Ann"}');
DELETE FROM d WHERE id = 7 AND doc = '{}';
UPDATE d SET id = 100 WHERE id = 8 AND doc = '{"name": "Ann"}';
COMMIT;
CALL pg_temp.no_rows('drift(''d%'')');

-- ---- constraints of the owner that look like ours
SELECT indextable.create('d_own', 'd', '{town,name}', include => '{country,live}', sparse => false);
INSERT INTO expected VALUES ('d_own', $$SELECT doc #>> '{town}', doc #>> '{name}', id, doc #>> '{country}', doc #>> '{live}' FROM d$$);
DELETE FROM d WHERE id > 1;
ALTER TABLE d_own ADD CONSTRAINT d_own_town UNIQUE NULLS NOT DISTINCT (town), ADD CONSTRAINT d_own_all UNIQUE NULLS NOT DISTINCT (town, name, id, country);
CREATE FUNCTION constraints() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'd_own'::regclass AND contype IN ('p', 'u') ORDER BY 1
$$;
INSERT INTO d VALUES (11, '{"town": "only"}');
INSERT INTO d VALUES (12, '{"town": "only"}');
CALL pg_temp.no_rows('drift(''d_own'')');
CALL indextable.rebuild('d_own');
SELECT * FROM constraints();
-- an entry too wide, whose key is made anew
INSERT INTO d VALUES (13, jsonb_build_object('live', (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 300) i)));
SELECT * FROM constraints();
UPDATE d SET doc = doc || '{"town": "other", "live": null}' WHERE id = 13;
CALL pg_temp.no_rows('drift(''d_own'')');
-- what is included goes: ours is not said to be lost
UPDATE expected SET recompute = $$SELECT doc #>> '{town}', doc #>> '{name}', id, doc #>> '{live}' FROM d$$ WHERE index_table = 'd_own';
SELECT indextable.alter('d_own', include => '{live}');
SELECT * FROM constraints();
INSERT INTO d VALUES (14, '{"town": "last"}');
CALL pg_temp.no_rows('drift(''d_own'')');
-- a replica identity that cannot have NULL
SELECT indextable.create('d_id', 'd', '{country}', sparse => true);
ALTER TABLE d_id REPLICA IDENTITY USING INDEX d_id_pkey;
SELECT indextable.alter('d_id', sparse => false);
INSERT INTO expected VALUES ('d_id', $$SELECT doc #>> '{country}', id FROM d$$);
CALL pg_temp.no_rows('drift(''d%'')');

-- ---- totals
CREATE TABLE t (id int PRIMARY KEY, tenant int, doc jsonb);
INSERT INTO t SELECT i, nullif(i % 5, 0), a_document() FROM generate_series(1, 300) i;
SELECT indextable.create('t_all', 't', '{@tenant,town}', totals => '{count(*)}');
SELECT indextable.create('t_some', 't', '{@tenant,town}', totals => '{count(*)}', sparse => true);
CREATE FUNCTION totals_drift() RETURNS TABLE (what text, key jsonb, rows bigint) LANGUAGE sql SET indextable.planner = off AS $$
	(SELECT 'all', o.* FROM ((SELECT key, rows FROM indextable.totals('t_all') EXCEPT ALL
		SELECT jsonb_build_object('tenant', tenant, 'town', doc ->> 'town'), count(*) FROM t GROUP BY 1) UNION ALL
		(SELECT jsonb_build_object('tenant', tenant, 'town', doc ->> 'town'), count(*) FROM t GROUP BY 1 EXCEPT ALL SELECT key, rows FROM indextable.totals('t_all'))) o)
	UNION ALL
	(SELECT 'some', o.* FROM ((SELECT key, rows FROM indextable.totals('t_some') EXCEPT ALL
		SELECT jsonb_build_object('tenant', tenant, 'town', doc ->> 'town'), count(*) FROM t WHERE tenant IS NOT NULL AND doc ->> 'town' IS NOT NULL GROUP BY 1) UNION ALL
		(SELECT jsonb_build_object('tenant', tenant, 'town', doc ->> 'town'), count(*) FROM t WHERE tenant IS NOT NULL AND doc ->> 'town' IS NOT NULL GROUP BY 1 EXCEPT ALL SELECT key, rows FROM indextable.totals('t_some'))) o)
	UNION ALL SELECT 'verify all', coalesce(expected, found), NULL FROM indextable.verify('t_all')
	UNION ALL SELECT 'verify some', coalesce(expected, found), NULL FROM indextable.verify('t_some')
$$;
CALL pg_temp.no_rows('totals_drift()');
UPDATE t SET doc = a_document() WHERE id % 2 = 0;
UPDATE t SET tenant = NULL WHERE id % 11 = 0;
DELETE FROM t WHERE id % 13 = 0;
INSERT INTO t SELECT i, nullif(i % 5, 0), a_document() FROM generate_series(301, 400) i;
CALL pg_temp.no_rows('totals_drift()');
SELECT indextable.drop('t_all');
-- a sparse one has not all groups
SELECT (SELECT count(*) FROM (SELECT tenant, doc ->> 'town', count(*) FROM t GROUP BY 1, 2) g) = (SELECT count(DISTINCT (tenant, doc ->> 'town')) FROM t) AS all_groups;
-- it answers where conditions or constraints say that no key field is NULL
CREATE FUNCTION by_totals(query text) RETURNS TABLE (used boolean, reason text, differs boolean) LANGUAGE plpgsql AS $$
DECLARE native text; answer text;
BEGIN
	SET LOCAL indextable.planner = off;
	EXECUTE format('SELECT string_agg(q::text, '' '' ORDER BY q::text) FROM (%s) q', query) INTO native;
	SET LOCAL indextable.planner = force;
	EXECUTE format('SELECT string_agg(q::text, '' '' ORDER BY q::text) FROM (%s) q', query) INTO answer;
	differs := answer IS DISTINCT FROM native;
	SELECT e.used, e.reason INTO used, reason FROM indextable.explain(query) e WHERE e.index_table = 't_some'::regclass;
	RETURN NEXT;
END $$;
CREATE TABLE sparse_queries (query text);
INSERT INTO sparse_queries VALUES ($$SELECT tenant, count(*) FROM t WHERE doc ->> 'town' = 'Rome' AND tenant > 1 GROUP BY 1$$), ($$SELECT doc ->> 'town', count(*) FROM t WHERE doc ->> 'town' IS NOT NULL AND tenant = 2 GROUP BY 1$$),
	($$SELECT count(*) FROM t WHERE doc @> '{"town": "Rome"}' AND tenant IN (1, 2)$$), ($$SELECT count(*) FROM t WHERE tenant = 2$$), ($$SELECT tenant, count(*) FROM t WHERE doc ->> 'town' = 'Rome' GROUP BY 1$$),
	($$SELECT count(*) FROM t WHERE tenant = 2 AND doc ->> 'town' IS NULL$$), ($$SELECT count(*) FROM t WHERE tenant = 2 OR doc ->> 'town' = 'Rome'$$), ($$SELECT count(*) FROM t WHERE tenant = 2 AND doc @> '{"town": null}'$$);
SET client_min_messages = warning;	-- explain() says that other sessions may not have the library
SELECT b.*, query FROM sparse_queries, by_totals(query) b;
RESET client_min_messages;
DELETE FROM t WHERE tenant IS NULL;
ALTER TABLE t ALTER tenant SET NOT NULL;
SELECT b.* FROM by_totals($$SELECT tenant, count(*) FROM t WHERE doc ->> 'town' = 'Rome' GROUP BY 1$$) b;
ALTER TABLE t ALTER tenant DROP NOT NULL;
SELECT b.* FROM by_totals($$SELECT tenant, count(*) FROM t WHERE doc ->> 'town' = 'Rome' GROUP BY 1$$) b;
SELECT indextable.create('t_all', 't', '{@tenant,town}', totals => '{count(*)}', sparse => false);
ALTER TABLE t DISABLE TRIGGER USER;
INSERT INTO t VALUES (1001, NULL, '{}'), (1002, 2, NULL), (1003, 3, '{"town": "Bern"}');
DELETE FROM t WHERE id < 20;
SELECT enable_triggers('t');
CALL indextable.repair('t_all');
CALL indextable.repair('t_some');
CALL pg_temp.no_rows('totals_drift()');

SET client_min_messages = warning;
DROP SCHEMA rowstest CASCADE;
SELECT * FROM pg_temp.leftovers();
