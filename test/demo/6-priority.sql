-- Called by demo.sh: why a field that says the same in nearly every row is a poor key.

\pset footer off
\set question 'packages of priority optional'
\echo
\echo '== 6. A poor key: priority, where nearly every document says the same'
\echo
\set ECHO queries
SELECT doc->>'priority' AS priority, count(*) AS packages,
       round(100.0 * count(*) / sum(count(*)) OVER (), 2) AS percent
  FROM package
 GROUP BY 1
 ORDER BY 2 DESC;

CREATE VIEW optional_documents AS
SELECT doc->>'name' AS name FROM package WHERE doc->>'priority' = 'optional';
\set ECHO none
CALL measure(:'question', 'seq scan', 'optional_documents', runs => 3);
\echo
\echo 'The index table is built anyhow:'
\echo
\set ECHO queries
SELECT indextable.create('pkg_by_priority', 'package', key => ARRAY['priority COLLATE "C"']);
VACUUM (ANALYZE) pkg_by_priority;

\echo
EXPLAIN (COSTS OFF) SELECT * FROM optional_documents;

\echo 'The planner knows better. lookup() does what it is told:'
\echo
CREATE VIEW optional_lookup AS
SELECT doc->>'name' AS name
  FROM indextable.lookup('pkg_by_priority', '{"priority": "optional"}') AS doc;
\set ECHO none
-- 'index table' in the summary is the look-up: the planner does not use it.
CALL measure(:'question', 'index table', 'optional_lookup', runs => 3);
\ir report.sql
\echo
\pset tuples_only on
\pset format unaligned
SELECT format(E'The look-up takes %s times as long as the seq scan. For this the entries take %s MB, and\n'
              'every insert has to write one more.',
              round(lookup / seq, 1),
              round(pg_total_relation_size('pkg_by_priority') / 1e6, 1))
  FROM (SELECT max(ms) FILTER (WHERE way = 'seq scan') AS seq,
               max(ms) FILTER (WHERE way = 'index table') AS lookup
          FROM timing WHERE question = :'question') AS t;
\echo
\pset format wrapped
\pset tuples_only off
SELECT count(*) AS entries FROM pkg_by_priority \gset
CALL note_size('pkg_by_priority', 'index table, dropped', :entries);
DROP VIEW optional_lookup;
\echo 'It is not worth its upkeep, and goes:'
\echo
\set ECHO queries
SELECT indextable.drop('pkg_by_priority');
SELECT to_regclass('pkg_by_priority') IS NULL AS gone;
\set ECHO none
\echo
\echo 'What such a key is good for is to count by it. That is what totals are for:'
\echo
\set question 'packages of each priority'
CREATE VIEW priority_counts AS
SELECT doc->>'priority' AS priority, count(*) AS packages FROM package GROUP BY 1;
CALL measure(:'question', 'seq scan', 'priority_counts', runs => 3);
\set ECHO queries
SELECT indextable.create('pkg_totals', 'package', '{priority}', totals => '{count(*)}');

\echo
EXPLAIN (COSTS OFF) SELECT * FROM priority_counts;

SELECT * FROM priority_counts ORDER BY 2 DESC;
\set ECHO none
CALL measure(:'question', 'index table', 'priority_counts', runs => 3);
\ir report.sql
SELECT indextable.drop('pkg_totals') \g /dev/null
DROP VIEW priority_counts;
