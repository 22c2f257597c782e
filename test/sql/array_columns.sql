-- Elements of array columns: @tags[*] gives one entry for each distinct element.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
\i :src/sql/include/planner.psql
SET indextable.advice = off;
CREATE SCHEMA array_columns;
SET search_path = array_columns, public;
CREATE DOMAIN words AS text[];
CREATE DOMAIN word AS text CHECK (value <> 'forbidden');
CREATE DOMAIN codes AS varchar(5)[];
CREATE TABLE t (id int PRIMARY KEY, tenant int, name text, tags text[], nums int[], ids uuid[], prices numeric(10,2)[], days date[], codes codes, w words, each word[],
	js jsonb[], flags bool[], doc jsonb);

-- any array: NULL, empty, with NULL, with one element more than once, of two dimensions, with other lower bounds
CREATE FUNCTION any_array(i int) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
	SELECT (ARRAY[NULL, '{}', format('{%s,%s}', i % 7, i % 5), format('{%s,%1$s}', i % 7), format('{%s,NULL}', i % 7), '{NULL,NULL}',
		format('{{%s,%s},{%s,NULL}}', i % 7, i % 3, i % 5), format('[5:6]={%s,%s}', i % 5, i % 3), format('[0:1][-1:0]={{%s,%s},{%1$s,%2$s}}', i % 5, i % 7),
		format('{%s}', i % 7), format('{%s,%s,%s}', i % 3, 3 + i % 3, 6)])[1 + (i * 7919 + i / 11) % 11]::text[]
$$;
CREATE FUNCTION with_prefix(a text[], prefix text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT regexp_replace(a::text, '(?<=[{,])(\d)', prefix, 'g')
$$;
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT i, i % 4, 'n' || i % 3, with_prefix(a, 't\1')::text[], a::int[], with_prefix(a, '00000000-0000-0000-0000-00000000000\1')::uuid[], a::numeric[],
		with_prefix(a, '2020-01-1\1')::date[], a::varchar(5)[], a, a::word[], regexp_replace(with_prefix(a, '"{\\"a\\": \1}"'), 'NULL', CASE WHEN i % 2 = 0 THEN 'null' ELSE 'NULL' END)::jsonb[],
		with_prefix(regexp_replace(a::text, '(?<=[{,])[2-9]', '0', 'g')::text[], '\1')::bool[], to_jsonb(a)
		FROM generate_series(first, last) i, any_array(i) a
$$;
SELECT fill(1, 150);
SELECT id, tags, js, flags FROM t WHERE id BETWEEN 2 AND 12 ORDER BY 1;

SELECT indextable.create('t_tag', 't', '{@tags[*] AS tag}', sparse => false);
SELECT indextable.create('t_sparse', 't', '{@tags[*] AS tag}', sparse => true);
SELECT indextable.create('t_tenant', 't', '{@tenant, @tags[*] AS tag, @name}', include => '{@prices}', sparse => false);
SELECT indextable.create('t_num', 't', '{@nums[*] AS num, @tenant}', filter => 'tenant < 3', sparse => false);
SELECT indextable.create('t_async', 't', '{@nums[*] AS num}', maintenance => 'async', sparse => false);
SELECT indextable.create('t_id', 't', '{@ids[*] AS uuid}', partitions => 3, sparse => false);
SELECT indextable.create('t_price', 't', '{@prices[*] AS price}', populate => false, sparse => false);
CALL indextable.build('t_price');
SELECT indextable.create('t_day', 't', '{@days[*] AS day}', strategy => 'denormalized', sparse => false);
SELECT indextable.create('t_code', 't', ARRAY['@codes[*] COLLATE "C" AS code'], sparse => false);
SELECT indextable.create('t_w', 't', '{@w[*]}', sparse => false);
SELECT indextable.create('t_each', 't', '{@each[*]}', sparse => false);
SELECT indextable.create('t_json', 't', '{@js[*] AS j}', sparse => false);
SELECT indextable.create('t_flag', 't', '{@flags[*] AS flag}', sparse => false);
SELECT indextable.create('t_cast', 't', '{@nums[*]::text AS num}', sparse => false);
SELECT indextable.create('t_totals', 't', '{@tags[*] AS tag, @tenant}', totals => '{sum(@id)}');
SELECT indextable.create('t_element', 't', '{$[*] AS element}', sparse => false);
CREATE VIEW totals_now AS SELECT tag, tenant, sum(rows)::bigint AS rows, sum(sum_id) AS id FROM t_totals GROUP BY 1, 2 HAVING sum(rows) > 0;
SELECT attrelid::regclass, string_agg(format('%s %s%s', attname, format_type(atttypid, atttypmod), CASE WHEN collname = 'C' THEN ' C' END), ', ' ORDER BY attnum)
	FROM pg_attribute LEFT JOIN pg_collation c ON c.oid = attcollation WHERE attnum > 0 AND attrelid = ANY ('{t_tag,t_price,t_code,t_w,t_each,t_day}'::regclass[]) GROUP BY 1 ORDER BY 1::text COLLATE "C";
SELECT indextable.definition(i) FROM unnest('{t_tenant,t_code,t_cast}'::regclass[]) i;

CREATE PROCEDURE check_all() LANGUAGE plpgsql SET indextable.planner = off AS $$
BEGIN
	PERFORM indextable.drain();
	CALL pg_temp.compare('t_tag', 'SELECT DISTINCT e, id FROM t, unnest(tags) e');
	CALL pg_temp.compare('t_sparse', 'SELECT DISTINCT e, id FROM t, unnest(tags) e WHERE e IS NOT NULL');
	CALL pg_temp.compare('t_tenant', 'SELECT tenant, e, name, id, prices FROM t, unnest(tags) e');
	CALL pg_temp.compare('t_num', 'SELECT DISTINCT e, tenant, id FROM t, unnest(nums) e WHERE tenant < 3');
	CALL pg_temp.compare('t_async', 'SELECT DISTINCT e, id FROM t, unnest(nums) e');
	CALL pg_temp.compare('t_id', 'SELECT DISTINCT e, id FROM t, unnest(ids) e');
	CALL pg_temp.compare('t_price', 'SELECT DISTINCT e, id FROM t, unnest(prices) e');
	CALL pg_temp.compare('t_day', 'SELECT DISTINCT e, id, doc FROM t, unnest(days) e');
	CALL pg_temp.compare('t_code', 'SELECT DISTINCT e, id FROM t, unnest(codes) e');
	CALL pg_temp.compare('t_w', 'SELECT DISTINCT e, id FROM t, unnest(w) e');
	CALL pg_temp.compare('t_each', 'SELECT DISTINCT e, id FROM t, unnest(each) e');
	CALL pg_temp.compare('t_json', 'SELECT DISTINCT e, id FROM t, unnest(js) e');
	CALL pg_temp.compare('t_flag', 'SELECT DISTINCT e, id FROM t, unnest(flags) e');
	CALL pg_temp.compare('t_cast', 'SELECT DISTINCT e::text, id FROM t, unnest(nums) e');
	CALL pg_temp.compare('totals_now', 'SELECT e, tenant, count(*), sum(id) FROM t, LATERAL (SELECT DISTINCT e FROM unnest(tags) e) e GROUP BY 1, 2');
	CALL pg_temp.no_rows('indextable.verify(''t'')');
END $$;
CALL check_all();
SELECT tag, id FROM t_tag WHERE id IN (5, 7, 9, 10) ORDER BY 2, 1;

-- writes: an update that leaves the elements, or reorders or repeats them, writes no entry
CREATE TEMP TABLE before AS SELECT ctid AS place, xmin AS writer, * FROM t_tag;
UPDATE t SET tenant = tenant + 1, tags = (SELECT array_agg(x ORDER BY n DESC) || array_agg(x) FROM unnest(tags) WITH ORDINALITY u(x, n)) WHERE id < 60;
SELECT count(*) > 60 AS entries, bool_and(n.ctid = b.place AND n.xmin = b.writer) AS untouched FROM t_tag n FULL JOIN before b ON b.id = n.id AND b.tag IS NOT DISTINCT FROM n.tag WHERE coalesce(n.id, b.id) < 60;
CALL check_all();
UPDATE t SET tags = ARRAY(SELECT unnest(tags)) || 'new'::text, nums = array_replace(nums, 1, NULL), w = ARRAY(SELECT unnest(w)) || NULL::text, codes = ARRAY(SELECT unnest(codes)) || 'abcde'::varchar WHERE id % 3 = 0;
UPDATE t SET tags = NULL, nums = '{}' WHERE id % 10 = 1;
UPDATE t SET tags[3] = 'third', nums[-1] = 8 WHERE id % 10 = 2 AND array_ndims(tags) IS DISTINCT FROM 2 AND array_ndims(nums) IS DISTINCT FROM 2;
UPDATE t SET tags[1][0] = 'second', nums[0][-1] = 8 WHERE id % 10 = 3 AND array_ndims(tags) = 2 AND array_ndims(nums) = 2 AND array_lower(nums, 1) = 0;
DELETE FROM t WHERE id % 13 = 0;
CALL check_all();
-- as many elements as before
UPDATE t SET ids = array_replace(ids, '00000000-0000-0000-0000-000000000003', '00000000-0000-0000-0000-000000000009'), prices = array_replace(prices, 3, 4), days = array_replace(days, '2020-01-13', '2020-01-19'),
	flags = array_replace(flags, true, false);
CALL check_all();
UPDATE t SET id = id + 1000, each = ARRAY(SELECT unnest(each)) || 'x'::word WHERE id BETWEEN 100 AND 110;
INSERT INTO t (id, tags) VALUES (3, '{conflict}') ON CONFLICT (id) DO UPDATE SET tags = ARRAY(SELECT unnest(t.tags)) || excluded.tags;
BEGIN;
UPDATE t SET tags = '{gone}' WHERE id < 20;
SAVEPOINT s;
DELETE FROM t;
ROLLBACK TO s;
UPDATE t SET nums = '{77,77}' WHERE id < 10;
COMMIT;
BEGIN;
UPDATE t SET tags = '{gone}', nums = NULL;
ROLLBACK;
CALL check_all();
-- what is stored out of line, or compressed
INSERT INTO t (id, tenant, tags, nums) SELECT 2000, 1, array_agg('long ' || i), array_agg(i) FROM generate_series(1, 3000) i;
UPDATE t SET name = 'long' WHERE id = 2000;
UPDATE t SET tags = tags[:2999] WHERE id = 2000;
SELECT count(*) FROM t_tag WHERE id = 2000;
CALL check_all();
DELETE FROM t WHERE id = 2000;
INSERT INTO t (id, tags) VALUES (2001, ARRAY['short', repeat('long ', 1000)]);
TRUNCATE t;
SELECT fill(1, 150);
CALL check_all();
-- verify() and repair()
SET session_replication_role = replica;
DELETE FROM t_tag WHERE id = 9;
UPDATE t_tag SET tag = 'unseen' WHERE id = 8;
INSERT INTO t_tag VALUES ('none', 10, 1);
DELETE FROM t_tag WHERE id = 7 AND tag IS NULL;
RESET session_replication_role;
SELECT kind, key, primary_key, in_table FROM indextable.verify('t_tag') ORDER BY 1, 2, 3;
CALL indextable.repair('t');
CALL check_all();

-- by name
SELECT (l).id, (l).tags FROM indextable.lookup(NULL::t, 't_tenant', '{"tenant": 1, "tag": ["t0", "t4"]}') l ORDER BY 1 LIMIT 5;
SELECT indextable.lookup('t_id', '{"uuid": "00000000-0000-0000-0000-000000000004"}') LIMIT 2;
SELECT (l).id FROM indextable.lookup(NULL::t, 't_async', '{"num": 6}') l ORDER BY 1 LIMIT 3;
SELECT entry FROM indextable.query('t_tenant', '{"tenant": 2}', '{"tag": {"begins_with": "t"}}', page_size => 3);
SELECT entry FROM indextable.query('t_day', '{"day": "2020-01-12"}', page_size => 2);
SELECT count(*) FROM indextable.lookup('t_tag', '{"tag": null}');

-- definitions: alter, rename, change of type, drop
SELECT indextable.alter('t_tag', sparse => true);
CALL pg_temp.compare('t_tag', 'SELECT DISTINCT e, id FROM t, unnest(tags) e WHERE e IS NOT NULL');
SELECT indextable.alter('t_tag', sparse => false, include => '{@nums}');
CALL pg_temp.compare('t_tag', 'SELECT e, id, nums FROM t, unnest(tags) e');
SELECT indextable.alter('t_tag', strategy => 'normalized', maintenance => 'async');
SELECT indextable.alter('t_tag', maintenance => 'transactional');
CALL indextable.rebuild('t_tag');
CALL check_all();
SELECT indextable.create('t_tag', 't', '{@tags[*] AS tag}', sparse => false, if_not_exists => true);
SELECT indextable.create('t_tag', 't', '{@tags AS tag}', sparse => false, if_not_exists => true);
BEGIN;
ALTER TABLE t RENAME COLUMN tags TO "All Tags";
SELECT indextable.definition('t_tenant');
UPDATE t SET "All Tags" = '{renamed}' WHERE id = 4;
SELECT * FROM t_tag WHERE id = 4;
ROLLBACK;
BEGIN;
ALTER TABLE t ALTER COLUMN nums TYPE bigint[];
SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 't_num'::regclass AND attname = 'num';
UPDATE t SET nums = nums || 5000000000 WHERE id = 4;
CALL pg_temp.compare('t_num', 'SELECT DISTINCT e, tenant, id FROM t, unnest(nums) e WHERE tenant < 3');
CALL pg_temp.compare('t_cast', 'SELECT DISTINCT e::text, id FROM t, unnest(nums) e');
ROLLBACK;
ALTER TABLE t ALTER COLUMN nums TYPE int USING nums[1];
ALTER TABLE t ALTER COLUMN codes TYPE varchar(4)[] USING (codes::text[])::varchar(4)[];
ALTER TABLE t DROP COLUMN nums;
CALL pg_temp.compare('t_code', 'SELECT DISTINCT e, id FROM t, unnest(codes) e');
-- unique: no two rows have the same element
CREATE TABLE u (id int PRIMARY KEY, emails text[]);
INSERT INTO u VALUES (1, '{a,b,a}'), (2, '{c}'), (3, NULL), (4, '{NULL}'), (5, '{NULL,d}');
SELECT indextable.create('u_email', 'u', '{@emails[*] AS email}', is_unique => true);
INSERT INTO u VALUES (6, '{e,b}');
UPDATE u SET emails = '{d,b}' WHERE id = 1;
UPDATE u SET emails = '{d}' WHERE id = 5;
UPDATE u SET emails = CASE id WHEN 1 THEN '{c,e}' ELSE '{a}'::text[] END WHERE id < 3;
CALL pg_temp.compare('u_email', 'SELECT DISTINCT e, id FROM u, unnest(emails) e WHERE e IS NOT NULL');
-- an array as the primary key is there twice
CREATE TABLE k (ids int[] PRIMARY KEY);
SELECT indextable.create('k_id', 'k', '{@ids[*] AS id}', sparse => false);
INSERT INTO k VALUES ('{1,2}'), ('{2,3}'), ('{}');
UPDATE k SET ids = '{4,5}' WHERE ids = '{1,2}';
CALL pg_temp.compare('k_id', 'SELECT DISTINCT e, ids FROM k, unnest(ids) e');
-- a value that does not fit
SELECT indextable.create('u_skip', 'u', '{@emails[*] AS email}', on_mismatch => 'skip', sparse => false);
SELECT indextable.drop('u_email');
INSERT INTO u SELECT 10, ARRAY['short', string_agg(md5(i::text), '')] FROM generate_series(1, 100) i;
SELECT email FROM u_skip WHERE id = 10;
SELECT scans FROM pg_temp.answer('force', $$SELECT id FROM u WHERE 'short' = ANY (emails)$$, NULL, NULL, 'auto');

-- plain SQL: what each spelling is answered by, and that all answers are those without index tables
CREATE TABLE p (tag text PRIMARY KEY, kind int);
INSERT INTO p VALUES ('t3', 1), ('t5', 2), ('t8', 1);
CREATE TABLE spelling (n int GENERATED ALWAYS AS IDENTITY, query text, args text);
INSERT INTO spelling (query) SELECT unnest(ARRAY[
	$q$SELECT id FROM t WHERE 't3' = ANY (tags)$q$, $q$SELECT * FROM t WHERE 't3' = ANY (tags)$q$, $q$SELECT id FROM t WHERE 't3' = SOME (tags) IS TRUE$q$,
	$q$SELECT id FROM t WHERE tags @> ARRAY['t3']$q$, $q$SELECT id FROM t WHERE '{t3}' <@ tags$q$, $q$SELECT id FROM t WHERE tags @> '{t3,t4}'$q$,
	$q$SELECT id FROM t WHERE tags @> '{t3,t3}'$q$, $q$SELECT id FROM t WHERE tags @> '{t0,t1,t2,t3,t4,t5,t6}'$q$, $q$SELECT id FROM t WHERE tags @> '{{t3},{t4}}'$q$,
	$q$SELECT id FROM t WHERE tags @> '{t3,NULL}'$q$, $q$SELECT id FROM t WHERE tags @> ARRAY[NULL]::text[]$q$, $q$SELECT id FROM t WHERE tags @> '{}'$q$,
	$q$SELECT id FROM t WHERE tags && '{t3,t4}'$q$, $q$SELECT id FROM t WHERE '{t3,NULL}' && tags$q$, $q$SELECT id FROM t WHERE tags && '{}'$q$, $q$SELECT id FROM t WHERE tags && '{NULL}'$q$,
	$q$SELECT id FROM t WHERE tags = '{t3,t1}'$q$, $q$SELECT id FROM t WHERE tags = '{t3,NULL}'$q$, $q$SELECT id FROM t WHERE tags = '{}'$q$, $q$SELECT id FROM t WHERE '{NULL,NULL}' = tags$q$,
	$q$SELECT id FROM t WHERE tags <@ '{t3,t4}'$q$, $q$SELECT id FROM t WHERE 't3' <> ALL (tags)$q$, $q$SELECT id FROM t WHERE 't3' = ALL (tags)$q$, $q$SELECT id FROM t WHERE NOT tags @> '{t3}'$q$,
	$q$SELECT id FROM t WHERE NOT ('t3' = ANY (tags))$q$, $q$SELECT id FROM t WHERE 't3' <> ANY (tags)$q$, $q$SELECT id FROM t WHERE NULL = ANY (tags)$q$, $q$SELECT id FROM t WHERE tags IS NULL$q$,
	$q$SELECT id FROM t WHERE 't3' < ANY (tags)$q$, $q$SELECT id FROM t WHERE 't3' = ANY (tags) OR 't5' = ANY (tags)$q$, $q$SELECT id FROM t WHERE 't3' = ANY (tags) AND tags && '{t5,t6}'$q$,
	$q$SELECT id FROM t WHERE coalesce('t3' = ANY (tags), false)$q$, $q$SELECT id FROM t WHERE coalesce('t3' = ANY (tags), true)$q$, $q$SELECT id FROM t WHERE 't3' = ANY (coalesce(tags, '{}'))$q$,
	$q$SELECT id FROM t WHERE tags[1] = 't3'$q$, $q$SELECT id FROM t WHERE tags[1][0] = 't3'$q$, $q$SELECT id FROM t WHERE tags[1] IS NULL$q$, $q$SELECT id FROM t WHERE coalesce(tags[1], 't3') = 't3'$q$,
	$q$SELECT id FROM t WHERE tenant = 1 AND 't3' = ANY (tags)$q$, $q$SELECT tags FROM t WHERE tenant = 1 AND 't3' = ANY (tags) AND name = 'n1'$q$, $q$SELECT id, name, prices FROM t WHERE tenant = 1 AND 't3' = ANY (tags) ORDER BY name, id$q$,
	$q$SELECT id FROM t WHERE tenant = 1$q$, $q$SELECT id FROM t WHERE tenant = 1 AND tags && '{t3,t4}' ORDER BY name, id LIMIT 3$q$,
	$q$SELECT id FROM t WHERE EXISTS (SELECT FROM unnest(tags) x WHERE x = 't3')$q$, $q$SELECT id FROM t WHERE EXISTS (SELECT FROM unnest(tags) x WHERE x > 't5')$q$,
	$q$SELECT id FROM t WHERE EXISTS (SELECT FROM unnest(tags) x WHERE x IS NULL)$q$, $q$SELECT id FROM t WHERE EXISTS (SELECT FROM unnest(tags) x WHERE coalesce(x, 't3') = 't3')$q$,
	$q$SELECT id FROM t WHERE NOT EXISTS (SELECT FROM unnest(tags) x WHERE x = 't3')$q$, $q$SELECT id FROM t WHERE EXISTS (SELECT FROM unnest(tags) WITH ORDINALITY u(x, n) WHERE x = 't3' AND n = 1)$q$,
	$q$SELECT id FROM t WHERE EXISTS (SELECT FROM unnest(tags, nums) u(x, n) WHERE x = 't3')$q$, $q$SELECT id FROM t WHERE EXISTS (SELECT FROM unnest(coalesce(tags, '{}')) x WHERE x IN ('t3', 't5'))$q$,
	$q$SELECT id FROM t WHERE 't3' IN (SELECT unnest(tags))$q$, $q$SELECT id FROM t WHERE 't3' IN (SELECT x FROM unnest(tags) x)$q$, $q$SELECT id FROM t WHERE 't3' = ANY (ARRAY(SELECT unnest(tags)))$q$,
	$q$SELECT id FROM t WHERE ARRAY(SELECT unnest(tags)) && '{t3}'$q$, $q$SELECT id FROM t WHERE 't3' NOT IN (SELECT unnest(tags))$q$,
	$q$SELECT id, x FROM t, unnest(tags) x WHERE x = 't3'$q$, $q$SELECT id, x FROM t, unnest(tags) x WHERE x LIKE 't3%'$q$, $q$SELECT id, x, n FROM t, unnest(tags) WITH ORDINALITY u(x, n) WHERE x = 't3'$q$,
	$q$SELECT id, x, y FROM t, unnest(tags, nums) u(x, y) WHERE x = 't3'$q$, $q$SELECT id, x FROM t LEFT JOIN LATERAL unnest(tags) x ON x = 't3'$q$, $q$SELECT id, x FROM t LEFT JOIN LATERAL unnest(tags) x ON true WHERE x = 't3'$q$,
	$q$SELECT id FROM t, unnest(tags) x, unnest(tags) y WHERE x = 't3' AND y = 't4'$q$, $q$SELECT DISTINCT id FROM t CROSS JOIN LATERAL unnest(tags) x JOIN (VALUES ('t3'), ('t5')) v(y) ON x = y$q$,
	$q$SELECT v.x, t.id FROM (VALUES ('t3'), ('t5'), (NULL)) v(x) JOIN t ON v.x = ANY (tags)$q$, $q$SELECT v.x, t.id FROM (VALUES ('t3'), ('t5')) v(x) LEFT JOIN t ON tags @> ARRAY[v.x]$q$,
	$q$SELECT v.x, t.id FROM (VALUES ('{t3,t4}'::text[]), ('{}'), ('{t5,NULL}'), (NULL)) v(x) JOIN t ON tags @> v.x$q$, $q$SELECT v.x, t.id FROM (VALUES ('{t3,t4}'::text[]), ('{}'), ('{t5,NULL}')) v(x) JOIN t ON tags && v.x$q$,
	$q$SELECT id FROM t WHERE EXISTS (SELECT FROM unnest(tags) x JOIN p ON p.tag = x WHERE p.kind = 1)$q$, $q$SELECT id, kind FROM t, unnest(tags) x JOIN p ON p.tag = x$q$,
	$q$SELECT x, count(*) FROM t, unnest(tags) x GROUP BY x$q$, $q$SELECT unnest(tags), count(*) FROM t GROUP BY 1$q$, $q$SELECT DISTINCT unnest(tags) FROM t$q$, $q$SELECT count(*) FROM t WHERE 't3' = ANY (tags)$q$,
	$q$SELECT tenant, count(*), sum(id) FROM t WHERE tags @> '{t3}' GROUP BY 1$q$, $q$SELECT count(*) FROM t WHERE tags && '{t3}'$q$, $q$SELECT count(*) FROM t WHERE tags && '{t3,t4}'$q$, $q$SELECT count(*) FROM t WHERE tags @> '{t3,t4}'$q$,
	$q$SELECT count(*) FROM t WHERE 't3' = ANY (tags) AND 't4' = ANY (tags)$q$, $q$SELECT count(*) FROM t WHERE 't3' > ANY (tags)$q$,
	$q$SELECT x, count(*) FROM t, unnest(tags) WITH ORDINALITY u(x, n) GROUP BY x$q$, $q$SELECT x, count(*) FROM t, unnest(tags, nums) u(x, n) GROUP BY x$q$,
	$q$SELECT x, count(*) FROM t, unnest(tags) x WHERE tenant = 1 GROUP BY x HAVING count(*) > 3$q$, $q$SELECT count(DISTINCT x), min(x), max(x) FROM t, unnest(tags) x$q$, $q$SELECT x, sum(id) FROM t, unnest(tags) x GROUP BY 1$q$,
	$q$SELECT id FROM t WHERE 3 = ANY (nums) AND tenant < 3$q$, $q$SELECT id FROM t WHERE 3::bigint = ANY (nums) AND tenant < 3$q$, $q$SELECT id FROM t WHERE 3.0 = ANY (nums) AND tenant < 3$q$, $q$SELECT id FROM t WHERE 5 < ANY (nums) AND tenant < 3$q$,
	$q$SELECT id FROM t WHERE 3 = ANY (nums)$q$, $q$SELECT id FROM t WHERE nums @> '{3}'$q$, $q$SELECT id FROM t WHERE nums && '{3,4}' AND tenant = 2$q$, $q$SELECT id FROM t, unnest(nums) x WHERE x BETWEEN 3 AND 4 AND tenant < 2$q$,
	$q$SELECT x, count(*) FROM t, unnest(nums) x WHERE tenant < 3 GROUP BY x$q$,
	$q$SELECT id FROM t WHERE '00000000-0000-0000-0000-000000000003' = ANY (ids)$q$, $q$SELECT id FROM t WHERE ids && '{00000000-0000-0000-0000-000000000003,00000000-0000-0000-0000-000000000004}'$q$,
	$q$SELECT id FROM t WHERE 3 = ANY (prices)$q$, $q$SELECT id FROM t WHERE 3.000 = ANY (prices)$q$, $q$SELECT id FROM t WHERE prices @> '{3}'$q$, $q$SELECT x, count(*) FROM t, unnest(prices) x GROUP BY x$q$,
	$q$SELECT doc FROM t WHERE '2020-01-13' = ANY (days)$q$, $q$SELECT id FROM t WHERE timestamp '2020-01-13' = ANY (days)$q$, $q$SELECT id FROM t WHERE days && ARRAY[date '2020-01-13', '2020-01-15']$q$,
	$q$SELECT id FROM t WHERE '3' = ANY (codes)$q$, $q$SELECT id FROM t WHERE codes @> '{3}'$q$, $q$SELECT id FROM t WHERE codes && '{3,4}'$q$, $q$SELECT id FROM t WHERE codes::text[] @> '{3}'$q$, $q$SELECT id FROM t WHERE EXISTS (SELECT FROM unnest(codes) x WHERE x = '3')$q$,
	$q$SELECT id FROM t, unnest(codes) x WHERE x LIKE '3%'$q$, $q$SELECT id FROM t, unnest(codes) x WHERE x COLLATE "C" > '3'$q$, $q$SELECT id FROM t WHERE (codes)[1] = '3'$q$, $q$SELECT x, count(*) FROM t, unnest(codes) x GROUP BY x$q$,
	$q$SELECT id FROM t WHERE '3' = ANY (w)$q$, $q$SELECT id FROM t WHERE w @> '{3}'$q$, $q$SELECT id FROM t, unnest(w) x WHERE x = '3'$q$, $q$SELECT x, count(*) FROM t, unnest(w) x GROUP BY x$q$,
	$q$SELECT id FROM t WHERE '3' = ANY (each)$q$, $q$SELECT id FROM t WHERE each @> '{3}'$q$, $q$SELECT id FROM t WHERE each @> ARRAY['3'::word]$q$, $q$SELECT id FROM t, unnest(each) x WHERE x = '3'$q$, $q$SELECT id FROM t WHERE each && '{3,4}'$q$,
	$q$SELECT x, count(*) FROM t, unnest(each) x GROUP BY x$q$,
	$q$SELECT id FROM t WHERE '{"a": 3}' = ANY (js)$q$, $q$SELECT id FROM t WHERE js @> ARRAY['{"a": 3}'::jsonb]$q$, $q$SELECT id FROM t WHERE 'null' = ANY (js)$q$, $q$SELECT id FROM t, unnest(js) x WHERE x @> '{"a": 3}'$q$, $q$SELECT id FROM t, unnest(js) x WHERE x ->> 'a' = '3'$q$,
	$q$SELECT x, count(*) FROM t, unnest(js) x GROUP BY x$q$,
	$q$SELECT id FROM t WHERE true = ANY (flags)$q$, $q$SELECT id FROM t WHERE flags @> '{f}'$q$, $q$SELECT id FROM t, unnest(flags) x WHERE x$q$, $q$SELECT id FROM t WHERE EXISTS (SELECT FROM unnest(flags) x WHERE NOT x)$q$,
	$q$SELECT id FROM t WHERE '3' = ANY (nums::text[])$q$
	]);
INSERT INTO spelling (query, args) VALUES
	('SELECT id FROM t WHERE $1 = ANY (tags)', '''t3'''), ('SELECT id FROM t WHERE $1 = ANY (tags)', 'NULL'), ('SELECT id FROM t WHERE tags @> $1', '''{t3,t4}'''), ('SELECT id FROM t WHERE tags @> $1', '''{NULL,t4}'''),
	('SELECT id FROM t WHERE tags @> $1', '''{}'''), ('SELECT id FROM t WHERE tags @> $1', 'NULL'), ('SELECT id FROM t WHERE $1 <@ tags AND tenant = $2', '''{t3}'', 1'), ('SELECT id FROM t WHERE tags && $1', '''{t3,NULL}'''),
	('SELECT id FROM t WHERE tags && $1', '''{}'''), ('SELECT id FROM t WHERE tags = $1', '''{t3,t1}'''), ('SELECT id FROM t WHERE tags = $1', '''{NULL,NULL}'''), ('SELECT id FROM t WHERE tags = $1', '''{}'''),
	('SELECT id FROM t WHERE tags = $1', '''{t6,NULL}'''), ('SELECT id FROM t WHERE tags @> ARRAY[$1, $2]', '''t3'', NULL'), ('SELECT id FROM t WHERE tags @> ARRAY[$1, $2]', '''t3'', ''t4'''), ('SELECT id FROM t WHERE tags @> ARRAY[$1, $2]', '''t3'', ''t3'''),
	('SELECT id FROM t WHERE tags = ARRAY[$1, $2]', '''t6'', NULL'), ('SELECT id FROM t WHERE tags = ARRAY[$1, ''t1'']', '''t3'''), ('SELECT id FROM t WHERE nums @> $1::int[] AND tenant < 3', '''{3}'''), ('SELECT id FROM t WHERE ids @> $1', '''{00000000-0000-0000-0000-000000000003}'''),
	('SELECT id FROM t, unnest(tags) x WHERE x = ANY ($1)', '''{t3,t4}'''), ('SELECT count(*) FROM t WHERE $1 = ANY (tags)', '''t3'''), ('SELECT count(*) FROM t WHERE tags @> ARRAY[$1]', '''t3'''), ('SELECT id FROM t WHERE codes @> $1', '''{3}'''),
	('SELECT id FROM t WHERE tags @> $1 OR tags @> $2', '''{t3}'', ''{t5}'''), ('SELECT id FROM t WHERE tags && $1 OR tags && $2', '''{t3}'', ''{t5}'''), ('SELECT id FROM t WHERE w @> $1::words OR w @> $2::words', '''{3}'', ''{5}'''),
	('SELECT id FROM t WHERE tags[$1] = $2', '1, ''t3'''), ('SELECT id FROM t WHERE tags[1] = ($1::text[])[1]', '''{t3}'''), ('SELECT id FROM t WHERE doc -> 0 = to_jsonb(($1::text[])[1])', '''{3}''');
VACUUM ANALYZE t, p;
-- which of several index tables is the cheapest depends on the server
CREATE FUNCTION kind(scans text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN scans = 'native' THEN scans WHEN scans ~ '(^|, )(?!only |totals )' THEN 'rows' ELSE 'entries' END
$$;
CREATE FUNCTION try() RETURNS TABLE (scans text, query text, args text) LANGUAGE plpgsql AS $$
DECLARE s record;
BEGIN
	PERFORM indextable.drain();
	FOR s IN SELECT * FROM spelling ORDER BY n LOOP
		RETURN QUERY SELECT 'DIFFERS', d, s.args FROM pg_temp.differences(s.query, NULL, s.args) d;
		RETURN QUERY SELECT 'DIFFERS', 'on: ' || s.query, s.args FROM pg_temp.answer('on', s.query, s.args, NULL, 'auto') a, pg_temp.answer('off', s.query, s.args, NULL, 'auto') b
			WHERE ARRAY(SELECT unnest(a.answer) ORDER BY 1) <> ARRAY(SELECT unnest(b.answer) ORDER BY 1);
		RETURN QUERY SELECT kind(a.scans), s.query, s.args FROM pg_temp.answer('force', s.query, s.args, NULL, 'force_generic_plan') a;
	END LOOP;
END $$;
SELECT * FROM try();
SELECT q, scans FROM unnest(ARRAY[$q$SELECT count(*) FROM t WHERE 't3' = ANY (tags)$q$, $q$SELECT tenant, count(*), sum(id) FROM t WHERE tags @> '{t3}' GROUP BY 1$q$]) q, pg_temp.answer('force', q, NULL, NULL, 'auto');
-- only where elements are repeated, or NULL, facets are not read from entries
UPDATE t SET tags = ARRAY(SELECT DISTINCT x FROM unnest(tags) x WHERE x IS NOT NULL), nums = ARRAY(SELECT DISTINCT x FROM unnest(nums) x WHERE x IS NOT NULL),
	prices = ARRAY(SELECT DISTINCT x FROM unnest(prices) x WHERE x IS NOT NULL), codes = ARRAY(SELECT DISTINCT x FROM unnest(codes) x WHERE x IS NOT NULL),
	w = ARRAY(SELECT DISTINCT x FROM unnest(w) x WHERE x IS NOT NULL), each = ARRAY(SELECT DISTINCT x FROM unnest(each) x WHERE x IS NOT NULL),
	js = ARRAY(SELECT DISTINCT x FROM unnest(js) x WHERE x <> 'null');
SELECT count(*) FROM indextable.verify('t');
CALL check_all();
SELECT * FROM try() WHERE scans = 'DIFFERS' OR query ~ 'GROUP BY|DISTINCT|count';
-- NULL alone keeps them from it, and a JSON null
CREATE TABLE facet (id int PRIMARY KEY, tags text[], js jsonb[]);
INSERT INTO facet VALUES (1, '{a,b}', '{1,2}'), (2, '{a,NULL}', '{1,null}');
SELECT indextable.create('facet_tag', 'facet', '{@tags[*] AS tag}', sparse => false), indextable.create('facet_j', 'facet', '{@js[*] AS j}', sparse => false);
CREATE TEMP VIEW facets AS SELECT q, scans, ARRAY(SELECT pg_temp.differences(q)) AS differences FROM unnest(ARRAY['SELECT x, count(*) FROM facet, unnest(tags) x GROUP BY x', 'SELECT x, count(*) FROM facet, unnest(js) x GROUP BY x']) q,
	pg_temp.answer('force', q, NULL, NULL, 'auto');
TABLE facets;
UPDATE facet SET tags = '{a}', js = '{1,3}' WHERE id = 2;
SELECT * FROM indextable.verify('facet');
TABLE facets;
-- with other index tables: sparse ones, and totals alone
SELECT indextable.drop('t_tag'), indextable.drop('t_tenant');
DROP TABLE t_totals CASCADE;
SELECT fill(200, 300);
SELECT DISTINCT ON (scans) scans, query FROM try() WHERE query ~ 'tags' ORDER BY scans, query;

-- partitions, with columns in another order; asynchronous, and unique over all of them
CREATE TABLE part (id int, region int, tags text[], nums int[], PRIMARY KEY (region, id)) PARTITION BY LIST (region);
CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1);
CREATE TABLE part_2 (junk int, nums int[], region int NOT NULL, tags text[], id int NOT NULL);
ALTER TABLE part_2 DROP COLUMN junk;
ALTER TABLE part ATTACH PARTITION part_2 FOR VALUES IN (2);
INSERT INTO part SELECT id, 1 + id % 2, tags, ARRAY[id, id + 1000] FROM t;
SELECT indextable.create('part_tag', 'part', '{@tags[*] AS tag}', sparse => false);
SELECT indextable.create('part_num', 'part', '{@nums[*] AS num}', is_unique => true);
SELECT indextable.create('part_async', 'part', '{@region, @tags[*] AS tag}', maintenance => 'async', sparse => false);
CREATE PROCEDURE check_part() LANGUAGE plpgsql SET indextable.planner = off AS $$
BEGIN
	PERFORM indextable.drain();
	CALL pg_temp.compare('part_tag', 'SELECT DISTINCT e, region, id FROM part, unnest(tags) e');
	CALL pg_temp.compare('part_num', 'SELECT DISTINCT e, region, id FROM part, unnest(nums) e');
	CALL pg_temp.compare('part_async', 'SELECT DISTINCT region, e, id FROM part, unnest(tags) e');
	CALL pg_temp.no_rows('indextable.verify(''part'')');
END $$;
CALL check_part();
UPDATE part SET tags = tags || 'new'::text WHERE array_ndims(tags) = 1 AND id % 3 = 0;
UPDATE part SET region = 3 - region WHERE id % 5 = 0;
INSERT INTO part VALUES (400, 2, '{x,x}', '{5000,7}');
INSERT INTO part VALUES (400, 2, '{x,x}', '{5000,5000}');
DELETE FROM part WHERE id % 7 = 0;
CREATE TABLE part_3 (LIKE part);
INSERT INTO part_3 VALUES (500, 3, '{t3,y}', '{6000}');
ALTER TABLE part ATTACH PARTITION part_3 FOR VALUES IN (3);
CALL check_part();
ALTER TABLE part DETACH PARTITION part_2;
CALL check_part();
ALTER TABLE part ATTACH PARTITION part_2 FOR VALUES IN (2);
CALL check_part();
VACUUM ANALYZE part;
SELECT pg_temp.differences(q) FROM unnest(ARRAY[$q$SELECT id FROM part WHERE 't3' = ANY (tags)$q$, $q$SELECT * FROM part WHERE tags @> '{t3,t4}'$q$, $q$SELECT * FROM part WHERE 5000 = ANY (nums)$q$,
	$q$UPDATE part SET tags = '{}' WHERE 'x' = ANY (tags) RETURNING *$q$]) q;
SELECT kind(scans), q FROM unnest(ARRAY[$q$SELECT id FROM part WHERE 't3' = ANY (tags)$q$, $q$SELECT * FROM part WHERE tags @> '{t3,t4}'$q$, $q$SELECT * FROM part WHERE 5000 = ANY (nums)$q$]) q, pg_temp.answer('force', q, NULL, NULL, 'auto');

-- advice
CREATE TABLE advised (id int PRIMARY KEY, tags text[]);
INSERT INTO advised SELECT i, ARRAY['a' || i % 500, 'b' || i % 300] FROM generate_series(1, 2000) i;
ANALYZE advised;
SELECT advice FROM indextable.advise('advised', '{@tags[*] AS tag}') WHERE topic = 'do' OR advice LIKE 'CREATE INDEX%';

-- what is refused
SELECT indextable.create('e', 't', '{@id[*]}');
SELECT indextable.create('e', 't', '{@doc[*]}');
SELECT indextable.create('e', 't', '{@none[*]}');
SELECT indextable.create('e', 't', '{@tags[*].x}');
SELECT indextable.create('e', 't', '{@tags[*][*]}');
SELECT indextable.create('e', 't', '{@tags[0]}');
SELECT indextable.create('e', 't', '{@tags[*}');
SELECT indextable.create('e', 't', '{@tags[*], @nums[*]}');
SELECT indextable.create('e', 't', '{@tags[*], list[*]}');
SELECT indextable.create('e', 't', '{@id}', include => '{@tags[*]}');
SELECT indextable.alter('t_sparse', include => '{@nums[*]}');
SELECT indextable.create('e', 't', '{@nums[*]::text AS num}', on_mismatch => 'skip');
SELECT indextable.create('e', 't', '{@tags[*]::int AS num}');
SELECT indextable.create('e', 't', '{@nums[*]::json AS num}');
SELECT indextable.create('e', 't', ARRAY['@nums[*] COLLATE "C"']);
CREATE TABLE unordered (id int PRIMARY KEY, places point[]);
SELECT indextable.create('e', 'unordered', '{@places[*]}');
SET client_min_messages = warning;
DROP SCHEMA array_columns CASCADE;
SELECT * FROM pg_temp.leftovers();
