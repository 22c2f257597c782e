-- Called by the steps: prints what was measured for the psql variable "question".

\set ECHO none
\pset tuples_only on
\pset format unaligned
\echo
SELECT * FROM report(:'question');
\pset format wrapped
\pset tuples_only off
