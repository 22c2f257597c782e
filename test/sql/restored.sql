-- Tables that a dump has brought without the definitions of index tables: what is refused, and what messages say is to be
-- run. A comment is shown as SQL only if it is what the extension writes, whoever has written it.
CREATE SCHEMA restored;
SET search_path = restored;
CREATE ROLE regress_restored;
GRANT ALL ON SCHEMA restored TO regress_restored;

-- restore(): makes of a table what is left of an index table without its definition, and of the fact table, too
CREATE PROCEDURE restore(index_table text, fact_table text, comment text) LANGUAGE plpgsql SET client_min_messages = error AS $$
BEGIN
	EXECUTE format('CREATE TABLE %s (k text NOT NULL, id int NOT NULL, PRIMARY KEY (k, id))', index_table);
	EXECUTE format('COMMENT ON TABLE %s IS %L', index_table, comment);
	EXECUTE format('CREATE TRIGGER indextable_guard BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON %s FOR EACH STATEMENT EXECUTE FUNCTION indextable_internal.guard()', index_table);
	IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = fact_table::regclass) THEN
		EXECUTE format('CREATE TRIGGER indextable_row AFTER INSERT OR DELETE OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION indextable_internal.maintain()', fact_table);
		EXECUTE format('CREATE TRIGGER indextable_truncate AFTER TRUNCATE ON %s FOR EACH STATEMENT EXECUTE FUNCTION indextable_internal.maintain()', fact_table);
	END IF;
END $$;
-- told(): the hint of a statement that fails; NULL: it does not fail
CREATE FUNCTION told(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE hint text;
BEGIN
	EXECUTE statement;
	RETURN NULL;
EXCEPTION WHEN others THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN hint;
END $$;
CREATE TABLE f (id int PRIMARY KEY, doc jsonb);
CALL restore('f_k', 'f', $c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}');$c$);

-- ---- what is refused, and what is told
INSERT INTO f VALUES (1, '{"k": "a"}');
TRUNCATE f;
UPDATE f SET doc = '{}' WHERE false;
INSERT INTO f_k VALUES ('a', 1);
SELECT * FROM indextable.verify('f_k');
CALL indextable.repair('f_k');
SELECT * FROM indextable.verify('f');
CALL indextable.repair('f');
SELECT indextable.lookup('f_k', '{"k": "a"}');
SELECT indextable.definition('f_k');
SELECT indextable.create('f_k', 'f', '{k}');
SELECT indextable.create('f_k', 'f', '{k}', if_not_exists => true);
SELECT indextable.create('restored.f_k', 'f', '{other}');

-- a transaction that goes back to a savepoint does not remember what was so after it
BEGIN;
SAVEPOINT s;
DROP TABLE f_k;
INSERT INTO f VALUES (1, '{"k": "a"}');
ROLLBACK TO SAVEPOINT s;
INSERT INTO f VALUES (1, '{"k": "a"}');
ROLLBACK TO SAVEPOINT s;
COMMENT ON TABLE f_k IS NULL;
INSERT INTO f VALUES (1, '{"k": "a"}');
ROLLBACK TO SAVEPOINT s;
INSERT INTO f VALUES (1, '{"k": "a"}');
ROLLBACK TO SAVEPOINT s;
ALTER TABLE f_k OWNER TO regress_restored;
INSERT INTO f VALUES (1, '{"k": "a"}');
ROLLBACK TO SAVEPOINT s;
INSERT INTO f VALUES (1, '{"k": "a"}');
ROLLBACK;
-- neither does a session
COMMENT ON TABLE f_k IS NULL;
INSERT INTO f VALUES (1, '{"k": "a"}');
COMMENT ON TABLE f_k IS 'index table of restored.f: SELECT indextable.create(''restored.f_k'', ''restored.f'', ''{k}'');';
DELETE FROM f;
COMMENT ON TABLE f_k IS NULL;
DELETE FROM f;
-- what is told and changes nothing takes no transaction ID
COMMENT ON TABLE f_k IS 'index table of restored.f: SELECT indextable.create(''restored.f_k'', ''restored.f'', ''{k}'');';
BEGIN;
SELECT told('SELECT * FROM indextable.verify(''restored.f_k'')'), told('SELECT indextable.definition(''restored.f'')');
SELECT pg_current_xact_id_if_assigned() IS NULL;
COMMIT;

-- ---- what definition() writes is shown, whatever the values are
CREATE FUNCTION keep(t text, u text) RETURNS boolean IMMUTABLE LANGUAGE sql AS $$ SELECT true $$;
CREATE TABLE o (id int PRIMARY KEY, doc jsonb, note text);
CREATE TABLE "O ""x"" 'y' $z" (id int PRIMARY KEY, doc jsonb, doc2 jsonb, note text);
SELECT indextable.create('c1', 'o', '{k}', include => ARRAY['@note', '"a b".c AS "D ''e''"', E'"back\\\\slash"'], filter => $$restored.keep(note, 'it''s $ \ E''x''')$$, is_unique => true, on_mismatch => 'skip') \gset
SELECT indextable.create('c2', 'o', '{tags[*]::int}', 'denormalized', maintenance => 'async', filter => $$note <> 'a'$$, partition_by => 'RANGE (tags)', partition_bounds => ARRAY['FROM (0) TO (5)']) \gset
SELECT indextable.create('"C3 ""x"" ''y'' \ $z"', '"O ""x"" ''y'' $z"', '{k}', document => 'doc2', partitions => 3) \gset
CREATE TABLE told (index_table text, comment text);
INSERT INTO told SELECT index_table, obj_description(index_table, 'pg_class') FROM indextable.index_tables;
SELECT indextable.drop('c1'), indextable.drop('c2'), indextable.drop('"C3 ""x"" ''y'' \ $z"') \gset
SELECT comment FROM told ORDER BY index_table COLLATE "C";
DO $$
DECLARE t restored.told;
BEGIN
	FOR t IN TABLE restored.told LOOP
		CALL restored.restore(t.index_table, substring(t.comment FROM 'index table of (.*?): SELECT'), t.comment);
	END LOOP;
END $$;
SELECT index_table, strpos(told(format('DELETE FROM %s', index_table)), format(' Run: DROP TABLE restored.%s; SELECT %s', index_table, substring(comment FROM ': SELECT (.*)$'))) > 0 AS shown FROM told ORDER BY index_table COLLATE "C";
-- and makes what it was
DO $$
DECLARE t restored.told;
BEGIN
	FOR t IN TABLE restored.told LOOP
		EXECUTE substring(restored.told(format('DELETE FROM %s', t.index_table)) FROM 'Run: (.*)');
	END LOOP;
END $$;
SELECT index_table, obj_description(index_table::regclass, 'pg_class') = comment AS same FROM told ORDER BY index_table COLLATE "C";
DROP TABLE o, "O ""x"" 'y' $z";

-- ---- nothing else is: the hint has words instead
CREATE TABLE comments (n serial, comment text);
INSERT INTO comments (comment) VALUES
	-- more than one statement, before, within and after
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}'); DROP TABLE x;$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}'); SELECT indextable.create('restored.f_k', 'restored.f', '{k}');$c$),
	($c$index table of restored.f: DROP TABLE x; SELECT indextable.create('restored.f_k', 'restored.f', '{k}');$c$),
	($c$index table of restored.f; DROP TABLE x: SELECT indextable.create('restored.f_k', 'restored.f', '{k}');$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}') FROM x;$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}'), x();$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}') --$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}'); -- x$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}' /* x */);$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}')$c$),
	-- what are no constants
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', x());$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}' || x());$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}'::x);$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', (SELECT x()));$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}', filter => x());$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}', is_unique => true AND x());$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}', partitions => 3 + x());$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', ARRAY['k', x()]);$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', ARRAY[x()]);$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}', x() => true);$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}', "filter" => 'true');$c$),
	-- strings that end where one does not think
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}', filter => $$a$$ || x() || $$b$$);$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}', filter => $x$a$$, x(), $$b$x$);$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}', filter => '\', filter => ', x(), \'');$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}', filter => E'\'', x(), '');$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}', filter => E'\', filter => ', x()); --');$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}', filter => E'\x27);$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}', filter => U&'\0027');$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}', filter => 'a$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}', filter => $$a$c$),
	-- lines that look like messages, and what a terminal acts upon
	(E'index table of restored.f: SELECT indextable.create(\'restored.f_k\', \'restored.f\', \'{k}\', filter => \'\nHINT:  Run: DROP TABLE x;\');'),
	(E'index table of restored.f: SELECT indextable.create(\'restored.f_k\', \'restored.f\', \'{k}\', filter => \'\x1b[2K\');'),
	-- other functions and tables
	($c$index table of restored.f: SELECT indextable.create('restored.g_k', 'restored.f', '{k}');$c$),
	($c$index table of restored.f: SELECT indextable.create('f_k', 'restored.f', '{k}');$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.told', '{k}');$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'f', '{k}');$c$),
	($c$index table of restored.f: SELECT x.create('restored.f_k', 'restored.f', '{k}');$c$),
	($c$index table of restored.f: select indextable.create('restored.f_k', 'restored.f', '{k}');$c$),
	($c$index table of restored.f: SELECT indextable.create$c$),
	($c$index table of restored.f: SELECT indextable.create($c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k'$c$),
	($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f'$c$),
	('an index table'), (NULL);
-- Only what says, up to the call, that it is an index table of the fact table has its writers refused.
CREATE FUNCTION forged(comment text, OUT by_hand text, OUT written text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('COMMENT ON TABLE restored.f_k IS %L', comment);
	by_hand := restored.told('DELETE FROM restored.f_k');
	written := restored.told('INSERT INTO restored.f VALUES (0)');
	DELETE FROM restored.f;
EXCEPTION WHEN object_not_in_prerequisite_state THEN NULL;
END $$;
SELECT by_hand, written, count(*), array_agg(n ORDER BY n) FROM comments, forged(comment) GROUP BY 1, 2 ORDER BY 4;
-- the one that is shown
SELECT forged($c$index table of restored.f: SELECT indextable.create('restored.f_k', 'restored.f', '{k}');$c$);
-- of a fact table that is not there, and of one that belongs to somebody else
SELECT forged($c$index table of nowhere.f: SELECT indextable.create('restored.f_k', 'nowhere.f', '{k}');$c$);
CREATE TABLE theirs (id int PRIMARY KEY, doc jsonb);
SELECT forged($c$index table of restored.theirs: SELECT indextable.create('restored.f_k', 'restored.theirs', '{k}');$c$);
ALTER TABLE theirs OWNER TO regress_restored;
SELECT forged($c$index table of restored.theirs: SELECT indextable.create('restored.f_k', 'restored.theirs', '{k}');$c$);
SELECT forged($c$index table of RESTORED."theirs": SELECT indextable.create('restored.f_k', 'RESTORED."theirs"', '{k}');$c$);
SELECT forged($c$index table of restored.theirs.: SELECT indextable.create('restored.f_k', 'restored.theirs.', '{k}');$c$);
-- a restore warns in the same words
COMMENT ON TABLE f_k IS 'index table of restored.f: SELECT indextable.create(''restored.f_k'', ''restored.f'', ''{k}''); DROP TABLE x;';
DROP TRIGGER indextable_guard ON f_k;
CREATE TRIGGER indextable_guard BEFORE INSERT OR DELETE OR UPDATE OR TRUNCATE ON f_k FOR EACH STATEMENT EXECUTE FUNCTION indextable_internal.guard();

-- several at once, of which one has no call
CALL restore('f_a', 'f', $c$index table of restored.f: SELECT indextable.create('restored.f_a', 'restored.f', '{a}', maintenance => 'async');$c$);
CALL restore('f_z', 'f', $c$index table of restored.f: SELECT indextable.create('restored.f_z', 'restored.f', '{z}');$c$);
INSERT INTO f VALUES (1, '{"k": "a"}');
DROP TABLE f_k;
SELECT told('INSERT INTO f VALUES (1)');
DROP TABLE restored.f_a; SELECT indextable.create('restored.f_a', 'restored.f', '{a}', maintenance => 'async'); DROP TABLE restored.f_z; SELECT indextable.create('restored.f_z', 'restored.f', '{z}');
INSERT INTO f VALUES (1, '{"k": "a", "z": "z", "a": "a"}');
SELECT indextable.drain();
SELECT * FROM indextable.verify('f');
TABLE f_a;
TABLE f_z;

-- ---- definitions that create() does not write, as a superuser may, or a dump that was edited
CREATE FUNCTION fickle(text) RETURNS text LANGUAGE sql STABLE AS 'SELECT current_user || $1';
CREATE AGGREGATE joined(text) (sfunc = textcat, stype = text);
CREATE TABLE d (id int PRIMARY KEY, doc jsonb, town text);
SELECT indextable.create('d_k', 'd', '{k,"(lower(town)) AS lt"}', include => '{v,w}', filter => 'id > 0'),
	indextable.create('d_u', 'd', '{u}', is_unique => true), indextable.create('d_a', 'd', '{a}', maintenance => 'async'),
	indextable.create('d_t', 'd', '{k}', totals => '{count(*),sum(n::int)}') \gset
INSERT INTO d VALUES (1, '{"k": "a", "u": "b", "n": 1}', 'Rome');
-- damaged(): what a writer is told of a definition with such a value, after which it is as before
CREATE FUNCTION damaged(index_table regclass, damage text, OUT told text, OUT hint text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('UPDATE indextable_internal.definition SET %s WHERE index_table = %L::regclass', damage, index_table);
	GRANT SELECT ON restored.d TO regress_restored; -- has the session load the definition
	INSERT INTO restored.d VALUES (2, '{"k": "c", "u": "d", "n": 2}', 'Oslo');
	told := 'accepted';
	RAISE SQLSTATE 'ROLLB';
EXCEPTION WHEN SQLSTATE 'ROLLB' THEN NULL;
WHEN others THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	told := SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE TABLE damages (n serial, index_table regclass, damage text);
INSERT INTO damages (index_table, damage) VALUES
	-- a filter, and an expression, of more, of another kind, or of anything but the row
	('d_k', $$filter = 'true; DROP TABLE restored.told'$$), ('d_k', $$filter = 'true) OR (true'$$), ('d_k', $$filter = ''$$),
	('d_k', $$filter = 'true FROM restored.told'$$), ('d_k', $$filter = 'true AS t'$$), ('d_k', $$filter = '*'$$), ('d_k', $$filter = 'town'$$),
	('d_k', $$filter = 'EXISTS (SELECT FROM restored.told)'$$), ('d_k', $$filter = 'max(id) > 0'$$),
	('d_k', $$filter = 'restored.joined(town) IS NULL'$$), ('d_k', $$filter = 'row_number() OVER () > 0'$$),
	('d_k', $$filter = 'generate_series(1, 2) > 0'$$), ('d_k', $$filter = '$1'$$), ('d_k', $$filter = 'told.comment IS NULL'$$),
	('d_k', $$filter = 'd IS NULL'$$), ('d_k', $$filter = 'restored.fickle(town) IS NULL'$$), ('d_k', $$filter = 'DEFAULT'$$),
	('d_k', $$key[2] = '(lower(town)), (1) AS lt'$$), ('d_k', $$key[2] = '(lower((SELECT comment FROM restored.told))) AS lt'$$),
	('d_k', $$key[2] = '(restored.joined(town)) AS lt'$$), ('d_k', $$key[2] = '(restored.fickle(town)) AS lt'$$), ('d_k', $$key[2] = '($1) AS lt'$$),
	('d_k', $$key[2] = '(regexp_split_to_table(town, '','')) AS lt'$$), ('d_k', $$key[2] = '(length(town)) AS lt'$$), ('d_k', $$key[2] = NULL$$),
	('d_k', $$include[1] = '(count(*)) AS v'$$),
	-- what does not go together
	('d_k', $$key = '{k[*],l[*]}'$$), ('d_k', $$include = '{v,w[*]}'$$), ('d_k', $$replaces = 'restored.g_k'$$),
	('d_u', $$maintenance = 'async'$$), ('d_a', $$is_unique = true$$), ('d_t', $$maintenance = 'async'$$), ('d_t', $$state = 'building'$$), ('d_t', $$is_unique = true$$),
	-- tables
	('d_k', $$document = 'town'$$), ('d_k', $$primary_key = '{doc}'$$), ('d_k', $$primary_key = '{NULL}'$$), ('d_k', $$fact_columns = '{doc,id,town}'$$), ('d_k', $$strategy = 'totals'$$);
CREATE TABLE g (id int PRIMARY KEY, doc jsonb);
SELECT indextable.create('g_k', 'g', '{k}') \gset
SELECT d.index_table, d.damage, x.told, x.hint FROM damages d, damaged(d.index_table, d.damage) x ORDER BY n \g (format=unaligned)
-- it can be dropped, whatever it is
UPDATE indextable_internal.definition SET filter = 'true FROM restored.told', key = '{NULL,k}' WHERE index_table = 'd_k'::regclass;
UPDATE indextable_internal.definition SET include = '{n[*]}', maintenance = 'async' WHERE index_table = 'd_t'::regclass;
DROP TABLE d_k;
SELECT indextable.drop('d_t') \gset
INSERT INTO d VALUES (3, '{"u": "e", "a": "e"}');
SELECT indextable.drain('d'), (SELECT count(*) FROM indextable.verify('d'));
DROP TABLE g;

-- a table that has our triggers, and another owner than the fact table, is no index table of it
CREATE TABLE g (id int PRIMARY KEY, doc jsonb);
CALL restore('g_k', 'g', NULL);
ALTER TABLE g_k OWNER TO regress_restored;
INSERT INTO indextable_internal.fact VALUES ('g');
INSERT INTO indextable_internal.definition VALUES ('g_k', 'g', 1, '{id,doc}', '{id}', 'doc', '{k}', NULL, NULL, 'normalized', 'transactional', false, 'error', 'active');
INSERT INTO g VALUES (1, '{"k": "a"}');
TABLE g_k;
CALL indextable.repair('g_k');
CALL indextable.repair('g');
SELECT relowner::regrole FROM pg_class WHERE oid = 'g_k'::regclass;
ALTER TABLE g OWNER TO regress_restored;
SET client_min_messages = error;
CALL indextable.repair('g_k');
RESET client_min_messages;
INSERT INTO g VALUES (1, '{"k": "a"}');
SELECT * FROM indextable.verify('g');
TABLE g_k;

SET client_min_messages = warning;
DROP SCHEMA restored CASCADE;
DROP ROLE regress_restored;
RESET client_min_messages;
SELECT index_table FROM indextable.index_tables;
