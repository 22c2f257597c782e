-- native B-tree on a stored generated column
ALTER TABLE bench.fact ADD COLUMN town text GENERATED ALWAYS AS (doc->>'town') STORED;
CREATE INDEX fact_town ON bench.fact (town);
