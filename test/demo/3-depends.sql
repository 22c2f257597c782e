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
\set version 'who needs version 2.34 of libc6'
\set versions 'versions of libc6 that are needed'
\echo
\echo 'Two fields of one element: the relations have versions, in arrays of alternatives.'
\echo
\set ECHO queries
CREATE VIEW version_documents AS
SELECT doc->>'name' AS name FROM package
 WHERE doc @? '$.relations.depends[*][*] ? (@.name == "libc6" && @.version == "2.34")';

\echo
CREATE VIEW versions_documents AS
SELECT need->>'version' AS version, count(*) AS relations
  FROM package, jsonb_array_elements(doc #> '{relations,depends}') AS alternatives,
       jsonb_array_elements(alternatives) AS need
 WHERE need->>'name' = 'libc6'
 GROUP BY version
 ORDER BY relations DESC, (need->>'version') COLLATE "C";
\set ECHO none
CALL measure(:'version', 'seq scan', 'version_documents', runs => 3);
CALL measure(:'versions', 'seq scan', 'versions_documents', ordered => true, runs => 3);
\echo
\set ECHO queries
\timing on
SELECT indextable.create('pkg_by_need', 'package',
    key => '{relations.depends[*][*].name, relations.depends[*][*].version}');
\timing off
VACUUM (ANALYZE) pkg_by_need;

\echo
EXPLAIN (COSTS OFF) SELECT * FROM versions_documents;

SELECT * FROM versions_documents LIMIT 4;
\set ECHO none
CALL measure(:'version', 'index table', 'version_documents');
CALL measure(:'versions', 'index table', 'versions_documents', ordered => true);
\echo
\echo 'Who needs version 2.34 of libc6 (each package once, however many relations say so):'
\set question :version
\ir report.sql
\echo
\echo 'How many relations need which version of libc6, from entries alone:'
\set question :versions
\ir report.sql
