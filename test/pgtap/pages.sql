-- Properties of look-ups and of paging: over generated documents, for keys of many types and index tables of every shape,
-- the pages of query(), one after the other, are the rows that plain SQL gives over the fact table, in its order, none
-- twice and none left out, in both directions, with pages of several sizes, under keys and conditions of every kind; and
-- lookup() gives the documents that plain SQL finds, each once, in the order of the index table.
--
-- All is generated from one seed, so that each run is the same.
-- No transaction around it, because queued changes are applied when they are committed.
SET client_min_messages = warning;
SET jit = off;
SET TimeZone = 'UTC';
CREATE SCHEMA pages;
SET search_path = pages, public;
SELECT setseed(0.314159);

-- The values that a key of each type can have; few, so that many entries share one, and some equal ones that differ.
CREATE TABLE type (name text, pool text[], clause text DEFAULT '');
INSERT INTO type (name, pool) VALUES
	('text',             '{a,b,"",ab,abc,B,ä,"a b"," a","a\"b","a\\b"}'),
	('varchar(4)',       '{a,b,"",ab,abcd,B,ä}'),
	('int',              '{-5,0,1,2,3,2147483647}'),
	('bigint',           '{-5,0,1,9223372036854775807}'),
	('numeric',          '{1,1.0,1.00,-2.5,1e30,0}'),
	('numeric(8,2)',     '{1,1.25,-2.5,0}'),
	('double precision', '{0.1,0.30000000000000004,0.3,-0,0,1e300}'),
	('boolean',          '{true,false}'),
	('uuid',             '{00000001-0000-4000-8000-000000000000,00000002-0000-4000-8000-000000000000,f0000000-0000-4000-8000-000000000000}'),
	('bytea',            '{\\x,\\x00,\\x0001,\\xff,\\x61}'),
	('inet',             '{10.0.0.1,10.0.0.1/8,::1,10.0.0.2}'),
	('date',             '{2024-01-31,2023-12-01,0099-01-01}'),
	('timestamptz',      '{2024-01-31 01:02:03+00,2024-01-31 01:02:03.5+02,2023-01-01 00:00+00}'),
	('interval',         '{1 mon,30 days,720:00:00,-1 day,1 day 02:03:04.5}');
UPDATE type SET clause = 'COLLATE "C"' WHERE name = 'text';

-- What an index table can be, beside its key.
CREATE TABLE shape (name text, field text DEFAULT 'v', strategy text DEFAULT 'normalized', include text[], maintenance text DEFAULT 'transactional',
	partitions int DEFAULT 0, is_unique boolean DEFAULT false, sparse boolean DEFAULT false);
INSERT INTO shape (name) VALUES ('plain');
INSERT INTO shape (name, strategy) VALUES ('denormalized', 'denormalized');
INSERT INTO shape (name, strategy, include) VALUES ('partial', 'partial', '{more}');
INSERT INTO shape (name, partitions) VALUES ('partitioned', 3);
INSERT INTO shape (name, maintenance) VALUES ('async', 'async');
INSERT INTO shape (name, is_unique, sparse) VALUES ('unique', true, true);
INSERT INTO shape (name, sparse) VALUES ('sparse', true);
INSERT INTO shape (name, field) VALUES ('multi-valued', 'all[*]');

-- Every type with one of them, and text with all.
CREATE TABLE test (type type, shape shape);
INSERT INTO test
SELECT t.type, s.shape
FROM (SELECT type, row_number() OVER () % 8 AS number FROM type) t
JOIN (SELECT shape, row_number() OVER () % 8 AS number FROM shape) s ON s.number = t.number OR (t.type).name = 'text';

CREATE FUNCTION pick(choices text[]) RETURNS text LANGUAGE sql
RETURN choices[1 + floor(random() * cardinality(choices))];

-- The primary key has two columns in another order than the table, and collations that differ.
CREATE TABLE fact (p1 int, p2 text COLLATE "C", doc jsonb, PRIMARY KEY (p2, p1));

CREATE FUNCTION document(pool text[], unique_number int) RETURNS jsonb LANGUAGE sql
RETURN jsonb_strip_nulls(jsonb_build_object(
	'v', CASE WHEN random() < 0.8 THEN pick(pool) END,
	'all', jsonb_build_array(pick(pool), pick(pool), NULL, pick(pool)),
	'n', CASE WHEN random() < 0.9 THEN coalesce(unique_number, floor(random() * 4)) END,
	'more', jsonb_build_array(random())));

-- recompute(TEST): the entries, in plain SQL over the fact table
CREATE FUNCTION recompute(test) RETURNS text LANGUAGE sql
RETURN format('SELECT v, n, p2, p1 FROM (SELECT DISTINCT (e #>> ''{}'')::%s %s AS v, (doc #>> ''{n}'')::int AS n, p2, p1
	FROM fact, jsonb_array_elements(CASE WHEN %L THEN doc -> ''all'' ELSE jsonb_build_array(doc -> ''v'') END) e) y WHERE NOT %L OR v IS NOT NULL AND n IS NOT NULL',
	($1.type).name, ($1.type).clause, ($1.shape).field = 'all[*]', ($1.shape).sparse);

-- A condition on a column, as query() takes it and as SQL; the operator is any, or none.
CREATE FUNCTION condition(column_name text, pool text[], type text, OUT condition jsonb, OUT sql text) LANGUAGE plpgsql AS $$
DECLARE
	a  text := pick(pool);
	b  text := pick(pool);
	op text := pick('{=,<,<=,>,>=,between,range,none}');
BEGIN
	CASE op
	WHEN 'none' THEN
		sql := 'true';
	WHEN 'between' THEN
		condition := jsonb_build_object(column_name, jsonb_build_object('between', jsonb_build_array(a, b)));
		sql := format('%1$I BETWEEN %2$L::%4$s AND %3$L::%4$s', column_name, a, b, type);
	WHEN 'range' THEN
		condition := jsonb_build_object(column_name, jsonb_build_object('>', a, '<=', b));
		sql := format('%1$I > %2$L::%4$s AND %1$I <= %3$L::%4$s', column_name, a, b, type);
	ELSE
		IF op = '=' AND type = 'text' THEN
			condition := jsonb_build_object(column_name, jsonb_build_object('begins_with', left(a, 1)));
			sql := format('starts_with(%I, %L)', column_name, left(a, 1));
		ELSE
			condition := jsonb_build_object(column_name, jsonb_build_object(op, a));
			sql := format('%I %s %L::%s', column_name, op, a, type);
		END IF;
	END CASE;
END $$;

-- walk(ARGUMENTS): the entries of all pages, in the order in which they come, by p1 and p2
CREATE FUNCTION walk(index_table regclass, key jsonb, condition jsonb, descending boolean, page_size int, OUT entries text[], OUT problem text) LANGUAGE plpgsql AS $$
DECLARE
	place text;
	page  text[];
	n     int;
BEGIN
	entries := '{}';
	LOOP
		SELECT array_agg(format('%s|%s|%s|%s', q.entry ->> 'v', q.entry ->> 'n', q.entry ->> 'p2', q.entry ->> 'p1')), count(*), (array_agg(q.cursor))[count(*)]
			INTO page, n, place
			FROM indextable.query(index_table, key, condition, descending, page_size, place) q;
		entries := entries || page;
		EXIT WHEN n < page_size;
		IF n > page_size OR cardinality(entries) > 1000 THEN
			problem := format('a page of %s, after %s entries', n, cardinality(entries));
			EXIT;
		END IF;
	END LOOP;
END $$;

-- wrong_pages(TEST, DESCENDING): where pages are not as plain SQL has them; the first entry that differs
CREATE FUNCTION wrong_pages(t test, descending boolean)
RETURNS TABLE (key jsonb, condition jsonb, page_size int, at int, page text, "SQL" text) LANGUAGE plpgsql AS $$
DECLARE
	type   text := (t.type).name;
	pool   text[] := (t.type).pool;
	value  text;
	c      record;
	w      record;
	entries text[];
BEGIN
	FOR round IN 1 .. 12 LOOP
		value := CASE WHEN round % 4 = 1 THEN pick(pool) END;
		key := CASE WHEN round % 4 = 1 THEN jsonb_build_object('v', value) ELSE '{}' END;
		SELECT * INTO c FROM condition(CASE WHEN round % 4 = 1 THEN 'n' ELSE 'v' END, CASE WHEN round % 4 = 1 THEN '{0,1,2,3}' ELSE pool END,
									   CASE WHEN round % 4 = 1 THEN 'int' ELSE type END);
		condition := c.condition;
		EXECUTE format('SELECT coalesce(array_agg(format(''%%s|%%s|%%s|%%s'', to_jsonb(x) ->> ''v'', n, p2, p1) ORDER BY v %1$s, n %1$s, p2 %1$s, p1 %1$s), ''{}'')
			FROM (%2$s) x WHERE %3$s AND (%4$L IS NULL OR v = %4$L::%5$s)', CASE WHEN descending THEN 'DESC' END, recompute(t), c.sql, value, type) INTO entries;
		FOREACH page_size IN ARRAY ARRAY[1 + round % 3, 17, 1000] LOOP
			SELECT * INTO w FROM walk('i', key, condition, descending, page_size);
			IF w.problem IS NOT NULL OR w.entries IS DISTINCT FROM entries THEN
				at := (SELECT min(n) FROM generate_series(1, 1000) n WHERE w.entries[n] IS DISTINCT FROM entries[n]);
				page := coalesce(w.problem, w.entries[at]);
				"SQL" := entries[at];
				RETURN NEXT;
			END IF;
		END LOOP;
	END LOOP;
END $$;

-- wrong_lookups(TEST): keys under which lookup() gives other documents than plain SQL, or in another order
CREATE FUNCTION wrong_lookups(t test) RETURNS TABLE (key jsonb, lookup text, "SQL" text) LANGUAGE plpgsql AS $$
DECLARE
	value  text;
	number int;
BEGIN
	FOREACH value IN ARRAY (t.type).pool LOOP
		FOREACH number IN ARRAY ARRAY[NULL, 0, 3, 7] LOOP
			key := jsonb_strip_nulls(jsonb_build_object('v', value, 'n', number));
			SELECT array_agg(d)::text INTO lookup FROM indextable.lookup('i', key) d;
			EXECUTE format('SELECT array_agg(f.doc ORDER BY x.n, x.p2, x.p1)::text FROM (%s) x JOIN fact f USING (p1, p2) WHERE x.v = %L::%s AND (%L IS NULL OR x.n = %4$L::int)',
				recompute(t), value, (t.type).name, number) INTO "SQL";
			IF lookup IS DISTINCT FROM "SQL" THEN
				RETURN NEXT;
			END IF;
		END LOOP;
	END LOOP;
END $$;

-- The index table i of a test: filled by half when it is made, the rest by writes.
CREATE PROCEDURE make(t test) LANGUAGE plpgsql AS $$
DECLARE
	s    shape := t.shape;
	pool text[] := (t.type).pool;
BEGIN
	DROP TABLE IF EXISTS i;
	TRUNCATE fact;
	INSERT INTO fact SELECT n, pick('{x,y,ä|\"}'), document(pool, CASE WHEN s.is_unique THEN n END) FROM generate_series(1, 60) n;
	PERFORM indextable.create('pages.i', 'fact', ARRAY[format('%s::%s %s AS v', s.field, (t.type).name, (t.type).clause), 'n::int'], s.strategy, s.include,
		maintenance => s.maintenance, is_unique => s.is_unique, partitions => s.partitions, sparse => s.sparse);
	INSERT INTO fact SELECT n, pick('{x,y,ä|\"}'), document(pool, CASE WHEN s.is_unique THEN n END) FROM generate_series(61, 120) n;
	UPDATE fact SET doc = document(pool, CASE WHEN s.is_unique THEN p1 END) WHERE random() < 0.2;
	UPDATE fact SET p1 = p1 + 1000 WHERE random() < 0.1;
	DELETE FROM fact WHERE random() < 0.1;
	COMMIT;
	PERFORM indextable.drain();
END $$;

-- Nothing is right because there is nothing.
CREATE FUNCTION entries() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) FROM i); END $$;

SELECT plan(4 * count(*)::int) FROM test;
SELECT format('CALL make(%L)', t),
	   format('SELECT cmp_ok(entries(), ''>'', 60::bigint, %L)', name || 'entries'),
	   format('SELECT is_empty(%L, %L)', format('SELECT * FROM wrong_pages(%L, false)', t), name || 'pages'),
	   format('SELECT is_empty(%L, %L)', format('SELECT * FROM wrong_pages(%L, true)', t), name || 'pages, descending'),
	   format('SELECT is_empty(%L, %L)', format('SELECT * FROM wrong_lookups(%L)', t), name || 'look-ups')
FROM test t, format('%s, key of type %s: ', (shape).name, (type).name) name \gexec
SELECT * FROM finish();
