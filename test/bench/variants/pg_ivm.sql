-- an incrementally maintained materialized view of the extension pg_ivm, indexed as an index table is
SELECT pgivm.create_immv('bench.by_town', $$SELECT doc->>'town' AS town, id FROM bench.fact$$);
CREATE INDEX ON bench.by_town (town, id);
