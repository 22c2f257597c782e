-- Called by demo.sh: reverse dependencies, a multi-valued key, against seq scan and GIN.

\pset footer off
\set few 'who depends on libsqlite3-0'
\set many 'who depends on libc6'
\set top 'ten packages most depended on'
\echo
\echo '== 3. Reverse dependencies: an entry for each element of an array'
\echo
\set ECHO queries
CREATE VIEW few_documents AS
SELECT doc->>'name' AS name FROM package WHERE doc @> '{"depends": ["libsqlite3-0"]}';

\echo
CREATE VIEW many_documents AS
SELECT doc->>'name' AS name FROM package WHERE doc @> '{"depends": ["libc6"]}';

\echo
CREATE VIEW top_documents AS
SELECT needed, count(*) AS packages
  FROM package, jsonb_array_elements_text(doc->'depends') AS needed
 GROUP BY needed
 ORDER BY packages DESC, needed COLLATE "C"
 LIMIT 10;
\set ECHO none
CALL measure(:'few', 'seq scan', 'few_documents');
CALL measure(:'many', 'seq scan', 'many_documents');
CALL measure(:'top', 'seq scan', 'top_documents', ordered => true, runs => 3);
\echo
\echo 'The native way for arrays is GIN:'
\echo
\set ECHO queries
\timing on
CREATE INDEX native_gin ON package USING gin (doc jsonb_path_ops);
\timing off
\set ECHO none
ANALYZE package;
CALL measure(:'few', 'native index', 'few_documents');
CALL measure(:'many', 'native index', 'many_documents');
CALL note_size('native_gin', 'native GIN');
DROP INDEX native_gin;
\echo
\set ECHO queries
\timing on
CREATE INDEX native_gin_depends ON package USING gin ((doc->'depends') jsonb_path_ops);
\timing off
\set ECHO none
CALL note_size('native_gin_depends', 'native GIN');
DROP INDEX native_gin_depends;
\echo
\echo 'A GIN index on that one member is smaller (sizes: section 7). The index table:'
\echo
\set ECHO queries
\timing on
SELECT indextable.create('pkg_by_depends', 'package', key => ARRAY['depends[*] COLLATE "C"']);
\timing off
VACUUM (ANALYZE) pkg_by_depends;

\echo
EXPLAIN (COSTS OFF) SELECT * FROM few_documents;

SELECT * FROM few_documents LIMIT 4;

\echo
CREATE VIEW few_lookup AS
SELECT doc->>'name' AS name
  FROM indextable.lookup('pkg_by_depends', '{"depends": "libsqlite3-0"}') AS doc;

\echo 'Who counts the elements themselves names the index table, as any table:'
\echo
CREATE VIEW top_index_table AS
SELECT depends AS needed, count(*) AS packages
  FROM pkg_by_depends
 GROUP BY depends
 ORDER BY packages DESC, needed
 LIMIT 10;

\echo
SELECT * FROM top_index_table;
\set ECHO none
CALL measure(:'few', 'index table', 'few_documents');
CALL measure(:'few', 'lookup()', 'few_lookup');
CALL measure(:'many', 'index table', 'many_documents');
CALL measure(:'top', 'index table', 'top_index_table', ordered => true);
\echo 'Who depends on libsqlite3-0 (few packages):'
\set question :few
\ir report.sql
\echo
\echo 'Who depends on libc6 (so many packages that most pages have to be read anyway):'
\set question :many
\ir report.sql
\echo
\echo 'The ten packages that most others depend on:'
\set question :top
\ir report.sql
