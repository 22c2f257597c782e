-- Called by demo.sh: a composite, typed key; the N largest of a section by an ordered scan.

\pset footer off
\set question 'ten largest in section libs'
\echo
\echo '== 2. By section and installed size, in order: a composite key with a type'
\echo
\set ECHO queries
CREATE VIEW largest_documents AS
SELECT doc->>'name' AS name, (doc->>'installed_size')::int AS installed_size
  FROM package
 WHERE doc->>'section' = 'libs' AND doc->>'installed_size' IS NOT NULL
 ORDER BY (doc->>'installed_size')::int DESC, id DESC
 LIMIT 10;
\set ECHO none
CALL measure(:'question', 'seq scan', 'largest_documents', ordered => true);
\echo
\set ECHO queries
\timing on
CREATE INDEX native_size ON package ((doc->>'section'), ((doc->>'installed_size')::int), id)
 WHERE doc->>'installed_size' IS NOT NULL;
\timing off
\set ECHO none
ANALYZE package;
CALL measure(:'question', 'native index', 'largest_documents', ordered => true);
CALL note_size('native_size', 'native B-tree');
DROP INDEX native_size;
\echo
\set ECHO queries
\timing on
SELECT indextable.create('pkg_by_size', 'package',
                         key => ARRAY['section COLLATE "C"', 'installed_size::int']);
\timing off
VACUUM (ANALYZE) pkg_by_size;

\echo
SELECT * FROM largest_documents;

EXPLAIN (COSTS OFF) SELECT * FROM largest_documents;

\echo 'Packages that do not state their size have an entry, too, with NULL. In descending order they would'
\echo 'come first, as SQL has it. So the question says IS NOT NULL.'
\echo
SELECT (SELECT count(*) FROM package)     AS documents,
       (SELECT count(*) FROM pkg_by_size) AS entries,
       (SELECT count(*) FROM package WHERE doc->>'installed_size' IS NULL) AS without_size;
\set ECHO none
CALL measure(:'question', 'index table', 'largest_documents', ordered => true);
\echo 'The ten largest packages of section libs:'
\ir report.sql
