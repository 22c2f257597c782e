-- Called by demo.sh: packages by section, a normalized index table on one scalar field.

\pset footer off
\set shells 'packages in section shells'
\set count 'packages counted by section'
\echo
\echo '== 1. Packages by section: a normalized index table (key to primary key)'
\echo
\echo 'Without an index, a question about a field reads every document:'
\echo
\set ECHO queries
CREATE VIEW shells_documents AS
SELECT doc->>'name' AS name, doc->>'version' AS version
  FROM package
 WHERE doc->>'section' = 'shells';

\echo
SELECT * FROM shells_documents LIMIT 4;

CREATE VIEW count_documents AS
SELECT doc->>'section' AS section, count(*) AS packages
  FROM package
 WHERE doc->>'section' IS NOT NULL
 GROUP BY doc->>'section'
 ORDER BY packages DESC;
\set ECHO none
CALL measure(:'shells', 'seq scan', 'shells_documents');
CALL measure(:'count', 'seq scan', 'count_documents');

\echo
\echo 'The native way, an index on the expression (kept for the comparison only):'
\echo
\set ECHO queries
\timing on
CREATE INDEX native_section ON package ((doc->>'section'));
\timing off
\set ECHO none
ANALYZE package;
CALL measure(:'shells', 'native index', 'shells_documents');
CALL measure(:'count', 'native index', 'count_documents');
CALL note_size('native_section', 'native B-tree');
DROP INDEX native_section;

\echo
\echo 'The index table: one call. It is a real table, kept right from now on. COLLATE "C" may be left'
\echo 'out; with it, texts are compared by their bytes, which is cheaper:'
\echo
\set ECHO queries
\timing on
SELECT indextable.create('pkg_by_section', 'package', key => ARRAY['section COLLATE "C"']);
\timing off
\echo '(VACUUM now what autovacuum would do in a while: it is what lets scans be index-only.)'
\echo
VACUUM (ANALYZE) pkg_by_section;
\echo
SELECT * FROM pkg_by_section ORDER BY section, id LIMIT 4;

\echo 'The same questions as above are answered from it now, the count from its keys alone:'
\echo
EXPLAIN (COSTS OFF) SELECT * FROM shells_documents;

EXPLAIN (COSTS OFF) SELECT * FROM count_documents;

SELECT * FROM count_documents LIMIT 6;

\echo 'lookup() does not leave it to the planner:'
\echo
CREATE VIEW shells_lookup AS
SELECT doc->>'name' AS name, doc->>'version' AS version
  FROM indextable.lookup('pkg_by_section', '{"section": "shells"}') AS doc;
\set ECHO none
CALL measure(:'shells', 'index table', 'shells_documents');
CALL measure(:'shells', 'lookup()', 'shells_lookup');
CALL measure(:'count', 'index table', 'count_documents');

\echo 'Packages in section shells:'
\set question :shells
\ir report.sql
\echo
\echo 'Packages counted by section:'
\set question :count
\ir report.sql
\echo
\echo 'To find a few rows of one unpartitioned table by one field, a native index is enough. But it does'
\echo 'not answer from the key alone: the count has to read the documents all the same.'
