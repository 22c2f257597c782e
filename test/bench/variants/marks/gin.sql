-- native GIN over the array, kept up at once
CREATE INDEX fact_marks ON bench.fact USING gin ((doc->'marks') jsonb_path_ops) WITH (fastupdate = off);
