-- Called by demo.sh: updates and a delete, followed through every index table.

\pset footer off
\ir recompute.sql
\echo
\echo '== 5. Changes: every index table follows, within the same transaction'
\echo
\echo 'An index table is right when it equals its recompute, plain SQL over the documents, compared'
\echo 'with EXCEPT ALL both ways, after SET indextable.planner = off: otherwise the planner may answer the'
\echo 'recompute from the index table itself. That is checked after each change.'
\echo
\set ECHO queries
SELECT * FROM check_index_tables();

CREATE VIEW entries AS
SELECT id, 'pkg_by_section' AS index_table, e::text AS entry FROM pkg_by_section AS e
UNION ALL SELECT id, 'pkg_by_size',    e::text FROM pkg_by_size AS e
UNION ALL SELECT id, 'pkg_by_depends', e::text FROM pkg_by_depends AS e
UNION ALL SELECT id, 'pkg_listing',    e::text FROM pkg_listing AS e;
\set ECHO none
SELECT min(id) FILTER (WHERE doc->>'name' = 'bash') AS bash,
       min(id) FILTER (WHERE doc->>'name' = 'dash') AS dash
  FROM package \gset

\echo
\echo 'bash, before:'
\echo
\set ECHO queries
SELECT index_table, entry FROM entries WHERE id = :bash ORDER BY 1, 2;
\set ECHO none

\echo 'It moves to another section:'
\echo
\set ECHO queries
UPDATE package SET doc = jsonb_set(doc, '{section}', '"interpreters"') WHERE id = :bash;
\echo
SELECT index_table, entry FROM entries WHERE id = :bash ORDER BY 1, 2;

SELECT * FROM check_index_tables();
\set ECHO none

\echo 'It depends on another C library:'
\echo
\set ECHO queries
UPDATE package
   SET doc = jsonb_set(doc, '{depends}', (doc->'depends') - 'libc6' || '["musl"]')
 WHERE id = :bash;
\echo
SELECT index_table, entry
  FROM entries
 WHERE id = :bash AND index_table = 'pkg_by_depends'
 ORDER BY 2;

SELECT doc->>'name' AS name, doc->>'section' AS section, doc->'depends' AS depends
  FROM package
 WHERE doc @> '{"depends": ["musl"]}' AND doc->>'name' = 'bash';

SELECT * FROM check_index_tables();
\set ECHO none

\echo 'dash is deleted:'
\echo
\set ECHO queries
SELECT index_table, entry FROM entries WHERE id = :dash ORDER BY 1, 2;

DELETE FROM package WHERE id = :dash;
\echo
SELECT count(*) AS entries_left FROM entries WHERE id = :dash;

SELECT * FROM check_index_tables();
\set ECHO none
