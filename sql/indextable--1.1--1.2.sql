-- Upgrade script of indextable, from 1.1 to 1.2.  A table, a function or a view that changes here also changes in the
-- install script of 1.2: what both make is the same.

\echo Use "ALTER EXTENSION indextable UPDATE TO '1.2'" to load this file. \quit

-- Operators and functions of others in the schema of the extension are not to be taken for the server's own.
SET LOCAL search_path = pg_catalog, pg_temp;

COMMENT ON COLUMN indextable.queues.backlog       IS 'number of changes that are not applied yet; NULL, as lag, if it is not known: while somebody has a queue table locked (size is NULL, too), a node of Citus cannot be reached, or a server with feeds does not answer or is not asked by any worker. Of a distributed fact table the backlog is that of all nodes, and workers and errors are those of this one';
COMMENT ON COLUMN indextable.queues.last_error_at IS 'since when; or, if there is no error, since when the server with the feeds was not asked';

COMMENT ON COLUMN indextable.queues.last_error IS 'why it could not, or for what the worker waits';
COMMENT ON COLUMN indextable.queues.blocked_by IS 'processes that keep it waiting at this moment, as pg_blocking_pids() counts: 0 is a prepared transaction; NULL between two tries';

-- How plain SQL is run, EXPLAIN and explain() tell.
DROP FUNCTION indextable.explain_query(regclass, jsonb, jsonb, boolean, integer, text, boolean, boolean);
