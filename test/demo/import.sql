-- Called by demo.sh after the import: what the documents look like.

\echo
\set ECHO queries
\pset footer off

VACUUM (ANALYZE) package;
\echo
SELECT count(*) AS documents,
       round(avg(length(doc::text))) AS avg_bytes,
       max(length(doc::text)) AS max_bytes,
       round(pg_table_size('package') / 1e6, 1) AS megabytes
  FROM package;

\pset tuples_only on
\pset format unaligned
SELECT jsonb_pretty(doc - '{homepage,details,tags,relations,file,other}'::text[]
                    #- '{maintainer,email}')
  FROM package WHERE doc->>'name' = 'bash' LIMIT 1;

\echo
\echo 'And nested in it, the relations with versions; the first of them:'
\echo
SELECT doc #> '{relations,depends,0}' AS relation
  FROM package WHERE doc->>'name' = 'bash' LIMIT 1;
