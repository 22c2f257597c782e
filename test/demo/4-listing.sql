-- Called by demo.sh: a partial index table that answers a listing without reading a document.

\pset footer off
\set question 'listing of section admin, by name'
\echo
\echo '== 4. A listing without the documents: a partial index table (key and included fields)'
\echo
\set ECHO queries
CREATE VIEW listing_documents AS
SELECT doc->>'name' AS name, doc->>'version' AS version,
       (doc->>'installed_size')::int AS installed_size, doc #>> '{maintainer,name}' AS maintainer
  FROM package
 WHERE doc->>'section' = 'admin'
 ORDER BY (doc->>'name') COLLATE "C", id;

\echo
SET indextable.planner = off;
EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) SELECT * FROM listing_documents;
RESET indextable.planner;
\set ECHO none
CALL measure(:'question', 'seq scan', 'listing_documents', ordered => true);
\echo
\set ECHO queries
\timing on
CREATE INDEX native_listing ON package ((doc->>'section'), ((doc->>'name')) COLLATE "C", id);
\timing off
\set ECHO none
ANALYZE package;
CALL measure(:'question', 'native index', 'listing_documents', ordered => true);
CALL note_size('native_listing', 'native B-tree');
DROP INDEX native_listing;
\echo
\echo 'A native index finds the rows but cannot hold the other fields: INCLUDE takes no expressions.'
\echo 'A partial index table holds them:'
\echo
\set ECHO queries
\timing on
SELECT indextable.create('pkg_listing', 'package',
                         key     => ARRAY['section COLLATE "C"', 'name COLLATE "C"'],
                         include => ARRAY['version', 'installed_size::int',
                                          'maintainer.name AS maintainer']);
\timing off
VACUUM (ANALYZE) pkg_listing;

\echo
SELECT * FROM listing_documents LIMIT 5;

EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) SELECT * FROM listing_documents;
\set ECHO none
CALL measure(:'question', 'index table', 'listing_documents', ordered => true);
\pset tuples_only on
\pset format unaligned
SELECT check_index_only('listing_documents');
\pset format wrapped
\pset tuples_only off
\echo
\echo 'The listing of section admin:'
\ir report.sql
