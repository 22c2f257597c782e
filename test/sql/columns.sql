-- Fact tables without documents: keys and included fields are columns and expressions.
\getenv src PG_ABS_SRCDIR
\i :src/sql/include/oracle.psql
CREATE SCHEMA columns;
SET search_path = columns, public;
CREATE TABLE account (region int, id bigint, email text, name text, age int, tags text[], PRIMARY KEY (region, id)) PARTITION BY LIST (region);
CREATE TABLE account_1 PARTITION OF account FOR VALUES IN (1);
CREATE TABLE account_2 PARTITION OF account FOR VALUES IN (2);
-- columns in another order, and dropped ones
CREATE TABLE account_3 (junk int, tags text[], name text, id bigint NOT NULL, region int NOT NULL, email text, age int);
ALTER TABLE account_3 DROP COLUMN junk;
ALTER TABLE account ATTACH PARTITION account_3 FOR VALUES IN (3);
INSERT INTO account SELECT 1 + i % 3, i, 'u' || i || '@x', 'name ' || i % 10, i % 90, ARRAY['a' || i % 5] FROM generate_series(1, 300) i;

-- what needs a document
SELECT indextable.create('by_email', 'account', '{email}');
SELECT indextable.create('by_email', 'account', '{mail}');
SELECT indextable.create('by_email', 'account', '{@email}', include => '{address.city}');
SELECT indextable.create('by_email', 'account', '{@email}', strategy => 'denormalized');
SELECT indextable.create('by_email', 'account', '{@email}', document => 'email');
SELECT indextable.create('by_email', 'account', '{}', totals => '{sum(age)}');
SELECT count(*) FROM indextable.advise('account');
SELECT count(*) FROM indextable.advise('account', '{email}');

-- what does not
SELECT indextable.create('by_email', 'account', '{@email}', is_unique => true, include => '{@name}');
SELECT indextable.create('by_name', 'account', '{@name,@age}', maintenance => 'async');
SELECT indextable.create('by_lower', 'account', '{(lower(email)) AS lower}', filter => 'age < 50');
SELECT indextable.create('by_tag', 'account', '{(tags[1]) AS tag}', partitions => 2, populate => false);
CALL indextable.build('by_tag');
SELECT indextable.create('ages', 'account', '{@name}', totals => '{sum(@age)}');
CREATE VIEW ages_now AS SELECT name, sum(rows)::bigint AS rows, CASE WHEN sum(count_age) > 0 THEN sum(sum_age) END AS age FROM ages GROUP BY 1 HAVING sum(rows) > 0;
CREATE PROCEDURE check_all() LANGUAGE plpgsql AS $$
BEGIN
	PERFORM indextable.drain();
	CALL pg_temp.no_rows('pg_temp.oracle(''by_email'', ''SELECT email, region, id, name FROM account WHERE email IS NOT NULL'')');
	CALL pg_temp.no_rows('pg_temp.oracle(''by_name'', ''SELECT name, age, region, id FROM account'')');
	CALL pg_temp.no_rows('pg_temp.oracle(''by_lower'', ''SELECT lower(email), region, id FROM account WHERE age < 50 AND email IS NOT NULL'')');
	CALL pg_temp.no_rows('pg_temp.oracle(''by_tag'', ''SELECT tags[1], region, id FROM account'')');
	CALL pg_temp.no_rows('pg_temp.oracle(''ages_now'', ''SELECT name, count(*), sum(age) FROM account GROUP BY 1'')');
	CALL pg_temp.no_rows('(SELECT v.* FROM unnest(ARRAY[''by_email'', ''by_name'', ''by_lower'', ''by_tag'', ''ages'']) t, indextable.verify(t) v) d');
END $$;
CALL check_all();
SELECT index_table, document, strategy, state FROM indextable.index_tables WHERE fact_table = 'account'::regclass ORDER BY index_table::text COLLATE "C";
SELECT indextable.definition('by_email'), indextable.definition('by_tag');

-- unique over all partitions
INSERT INTO account (region, id, email) VALUES (1, 1000, 'u7@x');
INSERT INTO account (region, id, email) VALUES (1, 1000, NULL), (2, 1000, NULL), (1, 1001, 'new');
UPDATE account SET email = 'new' WHERE id = 8;
UPDATE account SET name = 'other', email = upper(email) WHERE id < 10;
UPDATE account SET region = 2 WHERE id = 12;
DELETE FROM account WHERE id BETWEEN 20 AND 22;
CALL check_all();

-- plain SQL
EXPLAIN (COSTS OFF) SELECT name FROM account WHERE email = 'u30@x';
SELECT name FROM account WHERE email = 'u30@x';
EXPLAIN (COSTS OFF) SELECT * FROM account WHERE email = 'u30@x';
SELECT * FROM account WHERE email = 'u30@x';
EXPLAIN (COSTS OFF) SELECT * FROM account WHERE lower(email) = 'u31@x' AND age < 50;
SELECT * FROM account WHERE lower(email) = 'u31@x' AND age < 50;
EXPLAIN (COSTS OFF) UPDATE account SET age = age + 1 WHERE email = 'u30@x';
UPDATE account SET age = age + 1 WHERE email = 'u30@x' RETURNING *;
EXPLAIN (COSTS OFF) SELECT name, count(*), sum(age) FROM account WHERE name IS NOT NULL GROUP BY name;
SELECT name, count(*), sum(age) FROM account WHERE name IS NOT NULL GROUP BY name ORDER BY name LIMIT 2;

-- a document is the row as to_jsonb() has it
SELECT indextable.lookup('by_email', '{"email": ["u30@x", "U7@X"]}');
SELECT count(*), bool_and(l = to_jsonb(a)) FROM account a, indextable.lookup('by_email', jsonb_build_object('email', a.email)) l;
SELECT * FROM indextable.lookup(NULL::account, 'by_tag', '{"tag": "a1"}') ORDER BY id LIMIT 2;
SELECT entry, document FROM indextable.query('by_name', '{"name": "name 3"}', '{"age": {">": 50}}', with_document => true, page_size => 2);
ALTER TABLE account ADD COLUMN more numeric DEFAULT 1.50;
SELECT indextable.lookup('by_email', '{"email": "u30@x"}');
-- row security, and a role that may not read all columns
CREATE ROLE regress_columns;
GRANT USAGE ON SCHEMA columns TO regress_columns;
GRANT SELECT (id, region, email) ON account TO regress_columns;
GRANT SELECT ON by_email TO regress_columns;
SET ROLE regress_columns;
SELECT indextable.lookup('by_email', '{"email": "u30@x"}');
RESET ROLE;
GRANT SELECT ON account TO regress_columns;
ALTER TABLE account ENABLE ROW LEVEL SECURITY;
CREATE POLICY even ON account USING (id % 2 = 0);
SET ROLE regress_columns;
SELECT indextable.lookup('by_email', '{"email": ["u30@x", "u31@x"]}');
RESET ROLE;
ALTER TABLE account DISABLE ROW LEVEL SECURITY;

-- it is altered, rebuilt and advised on like others
SELECT indextable.alter('by_name', include => '{city}');
SELECT indextable.alter('by_name', strategy => 'denormalized');
SELECT indextable.alter('by_name', include => '{@email}');
SELECT indextable.alter('by_name', include => '{}', maintenance => 'transactional');
CALL indextable.rebuild('by_name');
ALTER TABLE account RENAME COLUMN email TO mail;
ALTER TABLE account RENAME COLUMN mail TO email;
CALL check_all();
SELECT advice FROM indextable.advise('account', '{@email}') WHERE topic IN ('size', 'do');
SELECT indextable.create('by_email', 'account', '{@email}', is_unique => true, include => '{@name}', if_not_exists => true);

-- partitions that come and go
CREATE TABLE account_4 PARTITION OF account FOR VALUES IN (4);
INSERT INTO account (region, id, email, name) VALUES (4, 1, 'u30@x', 'name 4');
INSERT INTO account (region, id, email, name) VALUES (4, 1, 'four', 'name 4');
ALTER TABLE account DETACH PARTITION account_1;
DROP TABLE account_2;
CALL check_all();

-- of several JSONB columns none is used, until a path asks for one
CREATE TABLE several (id int PRIMARY KEY, code text, a jsonb, b jsonb);
INSERT INTO several SELECT i, 'c' || i, jsonb_build_object('x', i), '{}' FROM generate_series(1, 3) i;
SELECT indextable.create('by_code', 'several', '{@code}');
SELECT document FROM indextable.index_tables WHERE index_table = 'by_code'::regclass;
SELECT indextable.lookup('by_code', '{"code": "c2"}');
SELECT indextable.create('by_x', 'several', '{x}');
SELECT indextable.create('by_x', 'several', '{x}', document => 'a');
SELECT indextable.alter('by_code', include => '{x}');
SELECT indextable.definition('by_code'), indextable.definition('by_x');
UPDATE several SET a = '{"x": 7}', code = 'c9' WHERE id = 1;
SELECT * FROM by_x ORDER BY 1;
SELECT * FROM by_code ORDER BY 1;
-- a JSONB column that comes later is the document of what asks for one from then on
CREATE TABLE later (id int PRIMARY KEY, code text);
INSERT INTO later VALUES (1, 'one');
SELECT indextable.create('later_code', 'later', '{@code}');
ALTER TABLE later ADD COLUMN doc jsonb DEFAULT '{"x": "y"}';
SELECT indextable.lookup('later_code', '{"code": "one"}');
SELECT indextable.alter('later_code', include => '{x}');
SELECT * FROM later_code;
SELECT indextable.lookup('later_code', '{"code": "one"}');
DROP SCHEMA columns CASCADE;
DROP ROLE regress_columns;
