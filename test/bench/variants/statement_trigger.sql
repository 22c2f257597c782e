-- a hand-written index table kept by PL/pgSQL statement triggers, set at a time, from transition tables
CREATE TABLE bench.by_town (town text, id bigint, PRIMARY KEY (town, id));

CREATE FUNCTION bench.keep_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO bench.by_town SELECT doc->>'town', id FROM new_rows WHERE doc->>'town' IS NOT NULL ORDER BY 1, 2;
	RETURN NULL;
END $$;

CREATE FUNCTION bench.keep_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM bench.by_town b USING old_rows o WHERE b.town = o.doc->>'town' AND b.id = o.id;
	RETURN NULL;
END $$;

-- a primary key may change as well, so old and new entries are compared as sets
CREATE FUNCTION bench.keep_updated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM bench.by_town b
		USING (SELECT doc->>'town' AS town, id FROM old_rows EXCEPT SELECT doc->>'town', id FROM new_rows) gone
		WHERE b.town = gone.town AND b.id = gone.id;
	INSERT INTO bench.by_town
		SELECT town, id FROM (SELECT doc->>'town' AS town, id FROM new_rows EXCEPT SELECT doc->>'town', id FROM old_rows) come
		WHERE town IS NOT NULL ORDER BY town, id;
	RETURN NULL;
END $$;

CREATE TRIGGER keep_inserted AFTER INSERT ON bench.fact
	REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION bench.keep_inserted();
CREATE TRIGGER keep_deleted AFTER DELETE ON bench.fact
	REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION bench.keep_deleted();
CREATE TRIGGER keep_updated AFTER UPDATE ON bench.fact
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION bench.keep_updated();
