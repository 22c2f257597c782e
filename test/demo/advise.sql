-- Called by demo.sh after the import: what advise() says of the keys that the next steps are about.

\pset footer off
\echo
\echo '== What is worth an index table? advise() takes a sample and says so'
\echo
\set ECHO queries
SELECT * FROM indextable.advise('package');

\echo
SELECT * FROM indextable.advise('package', '{section}');

\echo
SELECT * FROM indextable.advise('package', '{priority}');

\echo
SELECT * FROM indextable.advise('package', '{depends[*]}');

\echo
SELECT * FROM indextable.advise('package', '{name}');

\echo
SELECT * FROM indextable.advise('package', '{section,name}', include => '{version,summary}');
\set ECHO none
