-- Called by demo.sh: the space that documents, native indexes and index tables take.

\pset footer off
\echo
\echo '== 7. Sizes, in MB'
\echo
WITH size AS (
    SELECT 1 AS part, 0 AS n, 'package' AS name, 'documents' AS kind,
           (SELECT count(*) FROM package) AS entries,
           pg_table_size('package') AS heap, pg_indexes_size('package') AS indexes
    UNION ALL
    SELECT CASE WHEN kind LIKE 'native%' THEN 2 ELSE 4 END, n, name, kind, entries, heap, indexes
      FROM size_note
    UNION ALL
    SELECT 3, row_number() OVER (), t.index_table, 'index table', t.entries,
           pg_table_size(t.index_table::regclass), pg_indexes_size(t.index_table::regclass)
      FROM check_index_tables() AS t
)
SELECT name, kind, entries,
       round(heap / 1e6, 1) AS "table", round(indexes / 1e6, 1) AS indexes,
       round((heap + indexes) / 1e6, 1) AS total,
       round(100.0 * (heap + indexes) / sum(heap) FILTER (WHERE part = 1) OVER (), 1) AS "% of docs"
  FROM size
 ORDER BY part, n;
