-- Properties of fields: for generated documents and generated field specs, of every kind of path and of many types, the
-- entries are what plain SQL gives for (document #>> path)::type, compared both ways: after the index table was filled,
-- and after documents came, went and changed. Writers have other settings than the comparison has.
--
-- All is generated from one seed, so that each run is the same.
BEGIN;
SELECT plan(26);
SET LOCAL client_min_messages = warning;
SET LOCAL jit = off;
CREATE SCHEMA fields;
SET LOCAL search_path = fields, public;
SELECT setseed(0.271828);

-- ---- documents

CREATE FUNCTION pick(VARIADIC choices text[]) RETURNS text LANGUAGE sql
RETURN choices[1 + floor(random() * cardinality(choices))];

-- A value that is no object and no array: of each kind some that a type takes, and some that it does not.
CREATE FUNCTION leaf() RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	n int := floor(random() * 200) - 100;
BEGIN
	CASE floor(random() * 14)::int
	WHEN 0 THEN RETURN to_jsonb(n);
	WHEN 1 THEN RETURN to_jsonb(n::text);
	WHEN 2 THEN RETURN pick('0', '-0', '1.0', '1.00', '2.5', '2.50', '99999', '1e30', '1e-7', '9223372036854775807', '1e400')::jsonb;
	WHEN 3 THEN RETURN to_jsonb(pick('true', 'f', 'yes', 'off', '1', 't '));
	WHEN 4 THEN RETURN to_jsonb(random() < 0.5);
	WHEN 5 THEN RETURN jsonb 'null';
	WHEN 6 THEN RETURN to_jsonb((date '2024-02-28' + n)::text);
	WHEN 7 THEN RETURN to_jsonb(timestamp '2024-02-28' + n * interval '7:13:17.125');
	WHEN 8 THEN RETURN to_jsonb((timestamptz '2024-02-28 00:00Z' + n * interval '7:13:17')::text);
	WHEN 9 THEN RETURN to_jsonb(pick('23:59:59.5', '00:00', '24:00:00', '12:30', '3 days', '1 month', '30 days', '-1 day 02:00:00', 'P1Y2M3DT4H5M6S'));
	WHEN 10 THEN RETURN to_jsonb(format('%s0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1%s', pick('a', 'A', 'b'), abs(n) % 10));
	WHEN 11 THEN RETURN to_jsonb(pick('10.0.0.1', '10.0.0.1/8', '::1', '192.168.0.0/16', '\x00ff', '\xDEADBEEF', '101', '0', '\\', 'NaN', 'Infinity'));
	WHEN 12 THEN RETURN to_jsonb(pick('', ' ', 'a', 'ab', 'abcdef', 'ä', 'Straße!', '日本', 'a"b', 'a\b', E'a\nb', 'now', 'null', '{}', '[1]', 'infinity'));
	ELSE RETURN to_jsonb(pick('02/03/2024', '2024-02-30', '2024-1-1', 'today', '25:00', 'x', '1 2', '--1', '0x10', '1_000', '99999999999999999999'));
	END CASE;
END $$;

-- Objects and arrays of these; members have names of every kind.
CREATE FUNCTION value(depth int) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
	IF depth = 0 OR random() < 0.5 THEN
		RETURN leaf();
	ELSIF random() < 0.5 THEN
		RETURN coalesce((SELECT jsonb_agg(value(depth - 1)) FROM generate_series(1, floor(random() * 5)::int)), '[]');
	ELSE
		RETURN coalesce((SELECT jsonb_object_agg(pick('a', 'b', 'A', 'é', '日本', 'odd name', 'dot.ted', 'quo"te', 'back\slash', '', '0', '-1', '$', 'select'), value(depth - 1))
						 FROM generate_series(1, floor(random() * 4)::int)), '{}');
	END IF;
END $$;

CREATE FUNCTION document() RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
	IF random() < 0.05 THEN
		RETURN CASE WHEN random() < 0.5 THEN value(2) END;    -- a scalar, an array, NULL
	END IF;
	RETURN (SELECT jsonb_object_agg(name, value(2)) FROM unnest('{a,b,c,d,odd name,"",0}'::text[]) name WHERE random() < 0.8);
END $$;

CREATE TABLE fact (id int PRIMARY KEY, doc jsonb);
INSERT INTO fact SELECT n, document() FROM generate_series(1, 300) n;

-- ---- field specs

CREATE TYPE field AS (spec text, path text[], multi boolean, type text);

-- A path into one of the documents, or past what is there, as a spec has it and as #>> takes it.
CREATE FUNCTION field(type text, name text, may_be_multi boolean) RETURNS field LANGUAGE plpgsql AS $$
DECLARE
	at    jsonb;
	path  text[] := '{}';
	spec  text := '';
	step  text;
	multi boolean := false;
BEGIN
	SELECT doc INTO at FROM fact WHERE jsonb_typeof(doc) IN ('object', 'array') ORDER BY random() LIMIT 1;
	LOOP
		IF jsonb_typeof(at) = 'array' AND random() < 0.9 THEN
			IF may_be_multi AND random() < 0.4 THEN
				multi := true;
				spec := CASE spec WHEN '' THEN '$' ELSE spec END || '[*]';
				EXIT;
			END IF;
			step := (floor(random() * (2 * jsonb_array_length(at) + 1)) - jsonb_array_length(at))::int;
			spec := CASE spec WHEN '' THEN '$' ELSE spec END || '[' || step || ']';
		ELSE
			SELECT k INTO step FROM jsonb_object_keys(CASE jsonb_typeof(at) WHEN 'object' THEN at ELSE '{"0": 1, "-1": 1, "a": 1}' END) k ORDER BY random() LIMIT 1;
			IF step IS NULL OR random() < 0.05 THEN
				step := pick('none', '1', 'a"]', '''');
			END IF;
			spec := CASE WHEN spec <> '' THEN spec || '.' ELSE pick('', '$.') END
				|| CASE WHEN step ~ '^[a-z]+$' AND random() < 0.8 THEN step ELSE to_json(step)::text END;
		END IF;
		path := path || step;
		at := at #> ARRAY[step];
		EXIT WHEN at IS NULL OR cardinality(path) >= 4 OR jsonb_typeof(at) NOT IN ('object', 'array') OR random() < 0.2;
	END LOOP;
	RETURN (pick('', ' ') || spec || CASE WHEN type = 'text' AND random() < 0.5 THEN '' ELSE pick('::', ' :: ') || type END
			|| CASE WHEN type IN ('text', 'varchar(5)') THEN pick('', ' COLLATE "C"') ELSE '' END || ' AS ' || name, path, multi, type);
END $$;

-- ---- plain SQL

-- as_TYPE(VALUE): what the cast gives, as text, '<none>' where it gives an error. Dates and times are values in ISO form only.
CREATE TABLE type (name text, shape text DEFAULT '');
INSERT INTO type (name) VALUES ('text'), ('varchar(5)'), ('char(3)'), ('int'), ('smallint'), ('bigint'), ('oid'), ('numeric'), ('numeric(6,2)'),
	('real'), ('double precision'), ('boolean'), ('uuid'), ('bytea'), ('varbit'), ('bit(3)'), ('inet'), ('cidr'), ('name'), ('jsonb');
INSERT INTO type VALUES ('date', '^\d{4}-\d\d-\d\d'), ('timestamp', '^\d{4}-\d\d-\d\d'), ('timestamptz', '^\d{4}-\d\d-\d\d'),
	('time', '(^|^\d{4}-\d\d-\d\d[T ])\d\d:\d\d'), ('interval', '\d');
DO $$
DECLARE
	t type;
BEGIN
	FOR t IN SELECT * FROM type LOOP
		EXECUTE format('CREATE FUNCTION %I(value text) RETURNS text LANGUAGE plpgsql AS $body$
			BEGIN
				IF value !~ %L THEN RETURN ''<none>''; END IF;
				RETURN (value::%s)::text;
			EXCEPTION WHEN data_exception OR program_limit_exceeded THEN RETURN ''<none>'';
			END $body$', 'as_' || t.name, t.shape, t.name);
	END LOOP;
END $$;

-- recompute(FIELD): SQL for the field's values in a row of fact. JSON null is a value of a field of type jsonb, and an element,
-- but in place of an array it is none.
CREATE FUNCTION recompute(f field) RETURNS text LANGUAGE sql
RETURN CASE WHEN f.multi THEN
	format('(SELECT DISTINCT %I(e #>> ''{}'') FROM jsonb_array_elements(CASE WHEN jsonb_typeof(doc #> %2$L) = ''array'' THEN doc #> %2$L WHEN jsonb_typeof(doc #> %2$L) <> ''null'' THEN jsonb_build_array(doc #> %2$L) END) e)',
		   'as_' || f.type, f.path)
WHEN f.type = 'jsonb' THEN
	format('(SELECT (doc #> %L)::text)', f.path)
ELSE
	format('(SELECT %I(doc #>> %L))', 'as_' || f.type, f.path)
END;

-- differences(): between each index table and plain SQL
CREATE TABLE made (index_table text, fields field[], sparse boolean, entries bigint DEFAULT 0);

CREATE FUNCTION differences(moment text) RETURNS TABLE (at text, index_table text, fields text, side text, entry text) LANGUAGE plpgsql SET indextable.planner = off AS $$
DECLARE
	m     made;
	mine  text;
	plain text;
	n     bigint;
BEGIN
	FOR m IN SELECT * FROM made LOOP
		IF cardinality(m.fields) = 1 THEN
			mine := format('SELECT (id, v::text)::text COLLATE "C" FROM %s', m.index_table);
			plain := format('SELECT (id, v)::text COLLATE "C" FROM fact, LATERAL %s a(v) WHERE v IS DISTINCT FROM ''<none>''', recompute(m.fields[1]));
		ELSE
			mine := format('SELECT (id, v::text, w::text)::text COLLATE "C" FROM %s', m.index_table);
			plain := format('SELECT (id, v, w)::text COLLATE "C" FROM fact, LATERAL %s a(v) LEFT JOIN LATERAL %s b(w) ON true
				WHERE v IS DISTINCT FROM ''<none>'' AND w IS DISTINCT FROM ''<none>''', recompute(m.fields[1]), recompute(m.fields[2]));
		END IF;
		IF m.sparse THEN
			plain := plain || ' AND v IS NOT NULL';
		END IF;
		RETURN QUERY EXECUTE format('SELECT %L, %L, %L, * FROM (
			SELECT ''only in the index table'', x FROM (%4$s EXCEPT ALL %5$s) a(x) UNION ALL SELECT ''only in plain SQL'', x FROM (%5$s EXCEPT ALL %4$s) b(x)) y LIMIT 5',
			moment, m.index_table, (SELECT string_agg(f.spec, ', ') FROM unnest(m.fields) f), mine, plain);
		EXECUTE format('SELECT count(*) FROM %s', m.index_table) INTO n;
		UPDATE made SET entries = made.entries + n WHERE made.index_table = m.index_table;
	END LOOP;
END $$;

-- settings(THEIRS): those of the writers, or those that values are read and shown with
CREATE FUNCTION settings(theirs boolean) RETURNS void LANGUAGE sql
BEGIN ATOMIC
	SELECT set_config('DateStyle', CASE WHEN theirs THEN 'German, DMY' ELSE 'ISO, YMD' END, true),
		   set_config('TimeZone', CASE WHEN theirs THEN 'Asia/Tokyo' ELSE 'UTC' END, true),
		   set_config('IntervalStyle', CASE WHEN theirs THEN 'sql_standard' ELSE 'postgres' END, true),
		   set_config('extra_float_digits', CASE WHEN theirs THEN '-5' ELSE '1' END, true),
		   set_config('bytea_output', CASE WHEN theirs THEN 'escape' ELSE 'hex' END, true);
END;

-- ---- the property, for some fields of a type

CREATE TABLE total (type text, fields bigint, entries bigint);

CREATE FUNCTION wrong(of_type text) RETURNS TABLE (at text, index_table text, fields text, side text, entry text) LANGUAGE plpgsql AS $$
DECLARE
	f field[];
	m made;
BEGIN
	TRUNCATE made;
	PERFORM settings(true);
	FOR n IN 1 .. 10 LOOP
		f := ARRAY[field(of_type, 'v', of_type IN ('text', 'int', 'uuid', 'date') AND n <= 5)];
		IF n % 4 = 0 THEN
			f := f || field((SELECT name FROM type ORDER BY random() LIMIT 1), 'w', false);
		END IF;
		INSERT INTO made VALUES ('fields.i' || n, f, n % 3 = 0);
		PERFORM indextable.create('fields.i' || n, 'fact', ARRAY[f[1].spec], include => CASE WHEN n % 4 = 0 THEN ARRAY[f[2].spec] END, on_mismatch => 'skip',
			sparse => n % 3 = 0);
	END LOOP;
	PERFORM settings(false);
	RETURN QUERY SELECT * FROM differences('when filled');

	PERFORM settings(true);
	UPDATE fact SET doc = document() WHERE random() < 0.3;
	DELETE FROM fact WHERE id > 1000 OR random() < 0.1;
	UPDATE fact SET id = id + 1000 WHERE id < 1000 AND random() < 0.05;
	INSERT INTO fact SELECT n, document() FROM generate_series(1, 300) n ON CONFLICT (id) DO UPDATE SET doc = jsonb_build_array(fact.doc) WHERE random() < 0.05;
	PERFORM settings(false);
	RETURN QUERY SELECT * FROM differences('when written to');

	INSERT INTO total SELECT of_type, count(*), sum(entries) FROM made;
	PERFORM indextable.drop(made.index_table::regclass) FROM made;
END $$;

SELECT is_empty(format('SELECT * FROM fields.wrong(%L)', name), 'fields of type ' || name) FROM type;
SELECT is_empty('SELECT * FROM total WHERE entries = 0', 'there were entries of each type');
SELECT * FROM finish();
ROLLBACK;
