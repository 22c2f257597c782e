-- native expression B-tree
CREATE INDEX fact_town ON bench.fact ((doc->>'town'));
