-- The fact tables of the soak, their documents and their hostile triggers. Model.pm says which index tables they have.

CREATE SCHEMA soak;

-- Documents follow from a number. Nearly a third of the fields are missing or null, of another type, or an empty array: k is
-- missing, null, text or a number (1 and 1.0); u and marks are rarely the same for
-- two numbers; n is now and then no integer, d no date, k too long for a key, wide too wide for an index, pad TOASTed.
CREATE FUNCTION soak.fields(i int) RETURNS jsonb IMMUTABLE PARALLEL SAFE LANGUAGE sql AS
$$
SELECT jsonb_build_object(
	'k', CASE WHEN i % 1997 = 0 THEN to_jsonb(repeat('long', 700)) WHEN i % 11 = 0 OR i % 11 = 5 THEN NULL WHEN i % 11 = 1 THEN to_jsonb(i % 4)
		WHEN i % 11 = 2 THEN to_jsonb((i % 4)::numeric(4, 1)) ELSE to_jsonb('k' || i % 97) END,
	'n', CASE WHEN i % 499 = 0 THEN to_jsonb('x' || i % 3) WHEN i % 9 < 3 THEN NULL ELSE to_jsonb(i % 50) END,
	'v', CASE WHEN i % 17 > 4 THEN 'v' || i % 7 END,
	'u', CASE WHEN i % 7 > 0 THEN 'u' || i END,
	'marks', jsonb_build_array('a' || i, 'b' || i / 2),
	'tags', CASE i % 13 WHEN 0 THEN '[]'::jsonb WHEN 1 THEN '"t1"' WHEN 2 THEN NULL WHEN 3 THEN '[null, "t2"]' ELSE jsonb_build_array('t' || i % 5, 't' || i % 3, i % 4) END,
	'items', CASE i % 10 WHEN 0 THEN '[]'::jsonb WHEN 1 THEN NULL WHEN 2 THEN '"none"' ELSE jsonb_build_array(jsonb_build_object('name', 'm' || i % 4), jsonb_build_object('name', 'm' || i % 6, 'z', 1), i % 2) END,
	'd', CASE WHEN i % 19 < 4 THEN NULL WHEN i % 211 = 0 THEN 'yesterday' WHEN i % 223 = 0 THEN '2024-02-30' ELSE '2024-01-' || 10 + i % 19 END,
	'wide', CASE WHEN i % 4999 = 0 THEN repeat(md5(i::text), 100) ELSE 'w' || i % 5 END,
	'pad', CASE WHEN i % 101 = 0 THEN repeat(md5(i::text), 90) END)
$$;
CREATE FUNCTION soak.doc(i int) RETURNS jsonb IMMUTABLE PARALLEL SAFE LANGUAGE sql AS
$$
SELECT CASE WHEN i % 59 = 0 THEN ('{"{}", [], "\"k\"", "null"}'::text[])[1 + i / 59 % 4]::jsonb
	WHEN i % 2 = 0 THEN jsonb_strip_nulls(soak.fields(i)) ELSE soak.fields(i) END
$$;
-- Numbers and bytes whose text follows extra_float_digits and bytea_output.
CREATE FUNCTION soak.x(i int) RETURNS float8 IMMUTABLE PARALLEL SAFE LANGUAGE sql AS $$ SELECT (i % 90)::float8 / 7 $$;
CREATE FUNCTION soak.b(i int) RETURNS bytea IMMUTABLE PARALLEL SAFE LANGUAGE sql AS $$ SELECT int4send(i % 90) $$;

-- What the oracle goes by: what can be an integer or a date is said by the look of it, not by trying.
CREATE FUNCTION soak.as_int(v text) RETURNS int IMMUTABLE LANGUAGE sql AS
$$ SELECT CASE WHEN v ~ '^[-+]?[0-9]{1,9}$' THEN v::int END $$;
CREATE FUNCTION soak.as_date(v text) RETURNS date IMMUTABLE LANGUAGE sql AS
$$ SELECT CASE WHEN v ~ '^2024-01-[0-9]{2}$' THEN v::date END $$;
CREATE FUNCTION soak.elements(v jsonb) RETURNS SETOF jsonb IMMUTABLE LANGUAGE sql ROWS 3 AS
$$ SELECT jsonb_array_elements(CASE WHEN jsonb_typeof(v) = 'array' THEN v WHEN jsonb_typeof(v) <> 'null' THEN jsonb_build_array(v) END) $$;

-- All have the columns id, r, n, doc, note, x, b; their order differs, also from one partition to the next.
CREATE TABLE soak.grp (name text PRIMARY KEY);
INSERT INTO soak.grp VALUES ('a'), ('b'), ('c');

CREATE TABLE plain (gone int, note text, id int PRIMARY KEY, doc jsonb, r text, n int, x float8, b bytea);
ALTER TABLE plain DROP COLUMN gone;
ALTER TABLE plain ALTER COLUMN doc SET STORAGE EXTERNAL;

CREATE TABLE pair (id int, r text REFERENCES soak.grp ON UPDATE CASCADE, n int, doc jsonb, note text, x float8, b bytea, PRIMARY KEY (id, r));

-- What the native unique index accepts the index table must accept.
CREATE TABLE uniq (doc jsonb, id int PRIMARY KEY, r text, n int, note text, x float8, b bytea);
CREATE UNIQUE INDEX ON uniq ((doc #>> '{u}'));

CREATE TABLE listed (gone int, id int, r text, n int, doc jsonb, note text, x float8, b bytea, PRIMARY KEY (id, r)) PARTITION BY LIST (r);
ALTER TABLE listed DROP COLUMN gone;
CREATE TABLE listed_s PARTITION OF listed FOR VALUES IN ('s', 't');
CREATE TABLE listed_n (r text NOT NULL, note text, gone int, id int NOT NULL, b bytea, x float8, doc jsonb, n int) PARTITION BY RANGE (id);
ALTER TABLE listed_n DROP COLUMN gone;
CREATE TABLE listed_n1 PARTITION OF listed_n FOR VALUES FROM (MINVALUE) TO (300);
CREATE TABLE listed_n2 (id int NOT NULL, doc jsonb, n int, note text, x float8, b bytea, r text NOT NULL);
ALTER TABLE listed_n ATTACH PARTITION listed_n2 DEFAULT;
ALTER TABLE listed ATTACH PARTITION listed_n FOR VALUES IN ('n');
CREATE TABLE listed_h PARTITION OF listed FOR VALUES IN ('h') PARTITION BY HASH (id);
CREATE TABLE listed_h0 PARTITION OF listed_h FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE listed_h1 PARTITION OF listed_h FOR VALUES WITH (MODULUS 2, REMAINDER 1);

CREATE TABLE ranged (id int PRIMARY KEY, doc jsonb, r text, n int, note text, x float8, b bytea) PARTITION BY RANGE (id);
CREATE TABLE ranged_a PARTITION OF ranged FOR VALUES FROM (MINVALUE) TO (1000);
CREATE TABLE ranged_b PARTITION OF ranged FOR VALUES FROM (1000) TO (2000) PARTITION BY HASH (id);
CREATE TABLE ranged_b0 PARTITION OF ranged_b FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE ranged_b1 (b bytea, x float8, note text, n int, r text, doc jsonb, id int NOT NULL);
ALTER TABLE ranged_b ATTACH PARTITION ranged_b1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE ranged_c PARTITION OF ranged FOR VALUES FROM (2000) TO (10000);

-- A native unique index over a partitioned table, which needs the partition key.
CREATE TABLE keyed (n int, id int, doc jsonb, r text, note text, x float8, b bytea, PRIMARY KEY (id, n), UNIQUE (n)) PARTITION BY HASH (n);
CREATE TABLE keyed_0 PARTITION OF keyed FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE keyed_1 (x float8, id int NOT NULL, n int NOT NULL, r text, b bytea, doc jsonb, note text);
ALTER TABLE keyed ATTACH PARTITION keyed_1 FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE keyed_2 PARTITION OF keyed FOR VALUES WITH (MODULUS 3, REMAINDER 2);

-- The setting soak.act says what a trigger does: which trigger, action, number, and for which share of the rows. Deeper
-- than two triggers there is nothing.
CREATE FUNCTION soak.act() RETURNS trigger LANGUAGE plpgsql AS
$$
DECLARE
	plan text[] := string_to_array(current_setting('soak.act'), ' ');
	own int := CASE WHEN TG_OP = 'DELETE' THEN OLD.id ELSE NEW.id END;
	i int := plan[3]::int + own;
BEGIN
	IF plan[1] <> TG_ARGV[0] OR pg_trigger_depth() > 2 OR own % plan[4]::int <> 0 THEN
		RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
	END IF;
	CASE plan[2]
	WHEN 'change' THEN
		IF TG_OP <> 'DELETE' AND TG_WHEN = 'BEFORE' THEN
			NEW.doc := soak.doc(i);
		END IF;
	WHEN 'cancel' THEN
		IF TG_WHEN = 'BEFORE' THEN
			RETURN NULL;
		END IF;
	WHEN 'own' THEN EXECUTE format('UPDATE %I SET doc = soak.doc($1) WHERE id = $2', TG_ARGV[1]) USING i, own;
	WHEN 'twice' THEN
		EXECUTE format('UPDATE %I SET doc = soak.doc($1) WHERE id = $2', TG_ARGV[1]) USING i, own;
		EXECUTE format('UPDATE %I SET doc = soak.doc($1), x = x + 1 WHERE id = $2', TG_ARGV[1]) USING i + 1, own;
	WHEN 'other' THEN EXECUTE format('UPDATE %I SET doc = soak.doc($1) WHERE id = $2 + 1', TG_ARGV[1]) USING i, own;
	WHEN 'columns' THEN EXECUTE format('UPDATE %I SET note = ''a'', x = x + 1 WHERE id = $1', TG_ARGV[1]) USING own;
	WHEN 'delete' THEN EXECUTE format('DELETE FROM %I WHERE id = $1', TG_ARGV[1]) USING own;
	WHEN 'delete_other' THEN EXECUTE format('DELETE FROM %I WHERE id = $1 + 1', TG_ARGV[1]) USING own;
	WHEN 'reinsert' THEN
		EXECUTE format('WITH d AS (DELETE FROM %1$I WHERE id = $1 RETURNING id, r, n) SELECT soak.insert_one(%1$L, id, r, n, $2) FROM d', TG_ARGV[1]) USING own, i;
	WHEN 'undone' THEN
		BEGIN
			EXECUTE format('UPDATE %I SET doc = soak.doc($1) WHERE id IN ($2, $2 + 1)', TG_ARGV[1]) USING i, own;
			EXECUTE format('DELETE FROM %I WHERE id = $1 + 1', TG_ARGV[1]) USING own;
			RAISE EXCEPTION 'undone';
		EXCEPTION WHEN raise_exception THEN NULL;
		END;
	-- A row that goes, or changes, leaves what it was to a new one; and one that comes takes its key from another.
	WHEN 'hand_on' THEN
		IF TG_OP <> 'INSERT' AND TG_WHEN = 'AFTER' AND pg_trigger_depth() = 1 THEN
			EXECUTE format('INSERT INTO %I (id, r, n, doc, note) VALUES ($1 + 40000, $2, $3, $4, ''h'') ON CONFLICT DO NOTHING', TG_ARGV[1])
				USING own, OLD.r, OLD.n, OLD.doc;
		END IF;
	WHEN 'take' THEN
		IF TG_OP <> 'DELETE' AND TG_WHEN = 'BEFORE' AND pg_trigger_depth() = 1 THEN
			EXECUTE format('DELETE FROM %I WHERE doc #>> ''{u}'' = $1 AND id <> $2', TG_ARGV[1]) USING NEW.doc #>> '{u}', own;
		END IF;
	ELSE
	END CASE;
	RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END
$$;
CREATE FUNCTION soak.insert_one(fact text, id int, r text, n int, i int) RETURNS void LANGUAGE plpgsql AS
$$
BEGIN
	EXECUTE format('INSERT INTO %I (id, r, n, doc, note, x, b) VALUES ($1, $2, $3, soak.doc($4), ''r'', soak.x($4), soak.b($4)) ON CONFLICT DO NOTHING', fact)
		USING id, r, n, i;
END
$$;
DO $$
DECLARE
	fact text;
BEGIN
	FOREACH fact IN ARRAY '{plain,pair,uniq,listed,ranged,keyed}'::text[] LOOP
		EXECUTE format($f$
			CREATE TRIGGER "!a" AFTER INSERT OR UPDATE OR DELETE ON %1$I FOR EACH ROW WHEN (current_setting('soak.act', true) <> '') EXECUTE FUNCTION soak.act('a', %1$L);
			CREATE TRIGGER zz AFTER INSERT OR UPDATE OR DELETE ON %1$I FOR EACH ROW WHEN (current_setting('soak.act', true) <> '') EXECUTE FUNCTION soak.act('z', %1$L);
			CREATE TRIGGER b BEFORE INSERT OR UPDATE OR DELETE ON %1$I FOR EACH ROW WHEN (current_setting('soak.act', true) <> '') EXECUTE FUNCTION soak.act('b', %1$L)$f$, fact);
	END LOOP;
END
$$;
