-- Called by demo.sh: asynchronous index tables; a burst of changes, the backlog, reading one's own writes.

\pset footer off
\set question 'first ten tested packages'
\echo
\echo '== 8. Off the write path: asynchronous index tables'
\echo
\echo 'Writers only queue the primary keys of the rows they change. A background worker applies that'
\echo 'later. It is stopped for the moment, to show what is queued:'
\echo
\set ECHO queries
SELECT indextable.stop_workers() IS NOT NULL AS stopped;

SELECT indextable.create('pkg_by_tag', 'package', key => ARRAY['tags[*] COLLATE "C" AS tag'],
                         maintenance => 'async');

SELECT indextable.create('pkg_by_source', 'package', key => ARRAY['source COLLATE "C"'],
                         maintenance => 'async');

SELECT indextable.create('pkg_by_state', 'package',
                         key     => ARRAY['state COLLATE "C"', 'name COLLATE "C"'],
                         include => ARRAY['version'], maintenance => 'async');
\set ECHO none

\echo 'All packages are rebuilt: three changes of every document, each a transaction.'
\echo
\set ECHO queries
\timing on
UPDATE package SET doc = doc || '{"state": "building"}';
UPDATE package SET doc = jsonb_set(doc, '{tags}', coalesce(doc->'tags', '[]') || '["rebuilt"]');
UPDATE package SET doc = doc || '{"state": "tested"}';
\timing off

\echo
SELECT backlog, backlog = 3 * (SELECT count(*) FROM package) AS three_each, lag > '0' AS behind,
       workers, pg_size_pretty(size) AS queue_size
  FROM indextable.queues
 WHERE fact_table = 'package'::regclass;
\set ECHO none

\echo 'The index tables show what was. wait() tells; here it has no time to wait:'
\echo
\set ECHO queries
SELECT (SELECT count(*) FROM pkg_by_state) AS entries, indextable.wait('pkg_by_state', '0');
\set ECHO none

\echo 'Now the worker:'
\echo
\set ECHO queries
SELECT indextable.start_workers();
\set ECHO none
\! bash "$here/backlog.sh"
\echo
\set ECHO queries
SELECT indextable.wait('pkg_by_state', '1 hour');
\set ECHO none

\echo 'Every one equals its recompute now:'
\echo
\set ECHO queries
SELECT * FROM check_index_tables(ARRAY['pkg_by_tag', 'pkg_by_source', 'pkg_by_state']);

\echo
CREATE VIEW tested_documents AS
SELECT doc->>'name' AS name, doc->>'version' AS version
  FROM package
 WHERE doc->>'state' = 'tested'
 ORDER BY (doc->>'name') COLLATE "C", id
 LIMIT 10;
\set ECHO none
VACUUM (ANALYZE) pkg_by_state;

\echo
\echo 'Plain SQL uses asynchronous index tables where that is allowed:'
\echo
\set ECHO queries
SET indextable.stale_reads = on;
EXPLAIN (COSTS OFF) SELECT * FROM tested_documents;
\set ECHO none
CALL measure(:'question', 'seq scan', 'tested_documents', ordered => true, runs => 3);
CALL measure(:'question', 'index table', 'tested_documents', ordered => true);
\echo
\echo 'The first ten tested packages, by name:'
\ir report.sql

SELECT min(id) AS bash FROM package WHERE doc->>'name' = 'bash' \gset

\echo
\echo 'Reading one''s own write: wait() returns when what was committed before is applied.'
\echo
\set ECHO queries
UPDATE package SET doc = doc || '{"state": "broken"}' WHERE id = :bash;
SELECT indextable.wait('pkg_by_state', '1 hour');

SELECT doc->>'name' AS name
  FROM indextable.lookup('pkg_by_state', '{"state": "broken"}') AS doc;
\set ECHO none

\echo 'Somebody else''s write, by the number of its transaction:'
\echo
\set ECHO queries
BEGIN;
UPDATE package SET doc = doc || '{"state": "mended"}' WHERE id = :bash;
SELECT pg_current_xact_id() AS xid \gset
COMMIT;
\set ECHO none
\connect -
\set ECHO queries
SELECT indextable.wait('pkg_by_state', '1 hour', :'xid');

SELECT name FROM pkg_by_state WHERE state = 'mended';
\set ECHO none

\echo 'Or the look-up itself says how far the index table may be behind, and how long it would wait:'
\echo
\set ECHO queries
UPDATE package SET doc = doc || '{"state": "tested"}' WHERE id = :bash;
SELECT count(*) AS tested_bash
  FROM indextable.lookup('pkg_by_state', '{"state": "tested", "name": "bash"}',
                         max_lag => '0', timeout => '1 hour');

SELECT * FROM check_index_tables(ARRAY['pkg_by_state']);
\set ECHO none
