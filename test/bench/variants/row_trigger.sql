-- a hand-written index table kept by a PL/pgSQL row trigger. The comparison is in the function: in WHEN it would be planned anew
-- by every statement, which costs single rows more than the call saves.
CREATE TABLE bench.by_town (town text, id bigint, PRIMARY KEY (town, id));

CREATE FUNCTION bench.keep_row() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	old_town text;
	new_town text;
BEGIN
	IF TG_OP = 'INSERT' THEN
		new_town := NEW.doc->>'town';
		IF new_town IS NOT NULL THEN
			INSERT INTO bench.by_town VALUES (new_town, NEW.id);
		END IF;
	ELSIF TG_OP = 'DELETE' THEN
		old_town := OLD.doc->>'town';
		DELETE FROM bench.by_town WHERE town = old_town AND id = OLD.id;
	ELSE
		old_town := OLD.doc->>'town';
		new_town := NEW.doc->>'town';
		IF old_town IS NOT DISTINCT FROM new_town AND OLD.id = NEW.id THEN
			RETURN NULL;
		ELSIF old_town IS NULL THEN
			INSERT INTO bench.by_town SELECT new_town, NEW.id WHERE new_town IS NOT NULL;
		ELSIF new_town IS NULL THEN
			DELETE FROM bench.by_town WHERE town = old_town AND id = OLD.id;
		ELSE
			UPDATE bench.by_town SET town = new_town, id = NEW.id WHERE town = old_town AND id = OLD.id;
		END IF;
	END IF;
	RETURN NULL;
END $$;

CREATE TRIGGER keep AFTER INSERT OR UPDATE OR DELETE ON bench.fact FOR EACH ROW EXECUTE FUNCTION bench.keep_row();
