-- native GIN over the whole document, as it is usually made
CREATE INDEX fact_doc ON bench.fact USING gin (doc jsonb_path_ops);
